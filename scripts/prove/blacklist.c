// SPDX-License-Identifier: GPL-2.0-only
/* The only program of a guest: it prints the blacklist of the kernel, each line with a mark. */
#include "../test/guest/small.h"

int main(void)
{
	char *line, *end;

	begin("blacklist");
	for (line = contents(KPROBES "blacklist"); (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		printf("blacklist: %s\n", line);
	}
	puts("blacklist: end");
	return reboot(LINUX_REBOOT_CMD_RESTART);
}
