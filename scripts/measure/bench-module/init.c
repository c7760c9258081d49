// SPDX-License-Identifier: GPL-2.0-only
/*
 * First process of the guest of scripts/measure/bench on arm64, for which there is no
 * shell: does what bench.sh, letters.sh and bench-where.sh do on x86_64. Uses nolibc.
 */

static int failed;

/* Printed like the results of the guest scripts. */
static void check(const char *name, int ok)
{
	printf("%sok %s\n", ok ? "" : "not ", name);
	failed += !ok;
}

static void run(const char *file, const char *module, const char *params)
{
	int fd = open(file, O_RDONLY, 0);

	check(module, !my_syscall3(__NR_finit_module, fd, params, 0));
	close(fd);
	check("rmmod", !my_syscall2(__NR_delete_module, module, 0));
}

int main(void)
{
	/* The kernel passes what it does not know of its command line. */
	const char *guest = getenv("guest");
	int letters = guest && !strcmp(guest, "../bin/letters");
	int traced = guest && !strcmp(guest, "../bin/bench-where");

	printf("guest: begin bench\n");
	if (letters)
		run("/kprobe_bench_letters.ko", "kprobe_bench_letters", "");
	else
		run("/kprobe_bench.ko", "kprobe_bench", traced ? "traced=1" : "hits_only=1");
	printf("guest: failed %d\nguest: end bench\n", failed);

	reboot(LINUX_REBOOT_CMD_POWER_OFF);
	return 0;
}
