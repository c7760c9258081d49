// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first process of a guest of scripts/measure/bench for which there is no busybox. Does what
 * the script in scripts/measure/bench-module does that guest= on the command line of the kernel
 * names, but only the first part of bench.sh: loads the module, which prints what it measures.
 */
#include "small.h"

static void measure(const char *module, const char *params, const char *what)
{
	check(load(module, params), what, NULL);
	check(unload(module), "rmmod", NULL);
}

int main(void)
{
	const char *guest = getenv("guest") ?: "", *name = strrchr(guest, '/');

	name = name ? name + 1 : guest;
	begin(name);
	put(SWITCH, "0");
	if (!strcmp(name, "letters")) {
		measure("kprobe_bench_letters", "", "measured by letter");
		if (put(SWITCH, "1"))
			measure("kprobe_bench_letters", "optimized=1", "measured optimized");
	} else if (!strcmp(name, "among")) {
		measure("kprobe_bench", "among=1", "measured among others");
	} else if (!strcmp(name, "memory-optimized")) {
		if (put(SWITCH, "1"))
			check(load("kprobe_bench", "memory=mid optimized=1"), "memory with jumps",
			      NULL);
	} else if (!strncmp(name, "memory-", 7)) {
		/* The module stays, as its probes do. */
		check(load("kprobe_bench", strcmp(name, "memory-mid") ? "memory=entry" :
			   "memory=mid"), "memory", NULL);
	} else {
		measure("kprobe_bench", contents("/bin/bench.param"), "measured");
		if (put(SWITCH, "1"))
			measure("kprobe_bench", "optimized=1", "measured optimized");
	}
	return end(name);
}
