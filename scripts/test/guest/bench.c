// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first process of a guest of scripts/measure/bench for which there is no busybox. Does what
 * letters.sh or the first part of bench.sh in scripts/measure/bench-module do: loads the module
 * that guest= on the command line of the kernel stands for, which prints what it measures.
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
	int letters;

	name = name ? name + 1 : guest;
	letters = !strcmp(name, "letters");
	begin(name);
	put(SWITCH, "0");
	if (letters)
		measure("kprobe_bench_letters", "", "measured by letter");
	else
		measure("kprobe_bench", contents("/bin/bench.param"), "measured");
	if (put(SWITCH, "1"))
		measure(letters ? "kprobe_bench_letters" : "kprobe_bench", "optimized=1",
			"measured optimized");
	return end(name);
}
