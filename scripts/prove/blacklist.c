// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a guest: it prints the blacklist of the kernel, each line with a mark, and
 * resets. Built against the kernel's tools/include/nolibc.
 */
#include <linux/reboot.h>
#include <linux/unistd.h>

int main(void)
{
	static char buf[4096];
	int fd, i, n, start = 1;

	mkdir("/d", 0700);
	if (mount("d", "/d", "debugfs", 0, NULL) < 0)
		perror("debugfs");
	fd = open("/d/kprobes/blacklist", O_RDONLY);
	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0) {
		for (i = 0; i < n; i++) {
			if (start)
				printf("blacklist: ");
			putchar(buf[i]);
			start = buf[i] == '\n';
		}
	}
	printf("blacklist: end\n");
	reboot(LINUX_REBOOT_CMD_RESTART);
	return 0;
}
