// SPDX-License-Identifier: GPL-2.0-only
/*
 * First process of the guest of scripts/measure/bench on arm64, for which there is no
 * shell: does what bench.sh and bench-where.sh do on x86_64. Uses nolibc.
 */

static int failed;

/* Printed like the results of the guest scripts. */
static void check(const char *name, int ok)
{
	printf("%sok %s\n", ok ? "" : "not ", name);
	failed += !ok;
}

static void run(const char *params)
{
	int fd = open("/kprobe_bench.ko", O_RDONLY, 0);

	check(params, !my_syscall3(__NR_finit_module, fd, params, 0));
	close(fd);
	check("rmmod", !my_syscall2(__NR_delete_module, "kprobe_bench", 0));
}

int main(void)
{
	/* The kernel passes what it does not know of its command line. */
	const char *guest = getenv("guest");
	int traced = guest && !strcmp(guest, "../bin/bench-where");

	printf("guest: begin bench\n");
	run(traced ? "traced=1" : "hits_only=1");
	printf("guest: failed %d\nguest: end bench\n", failed);

	reboot(LINUX_REBOOT_CMD_POWER_OFF);
	return 0;
}
