// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first process of a guest of scripts/measure/bench for which there is no busybox. Does what
 * bench.sh in scripts/measure/bench-module does, but only the first part for the guest "bench":
 * loads the module, which prints what it measures.
 */
#include "small.h"

static void measure(const char *params)
{
	check(load("kprobe_bench", params), "measured", params);
}

int main(void)
{
	const char *what = getenv("what") ?: "bench", *params = contents("/bin/bench.param");
	int jumps, memory = !strncmp(what, "memory-", 7);

	begin("bench");
	jumps = put(SWITCH, "0") && strcmp(what, "among") && !memory;
	if (!strcmp(what, "letters"))
		params = "letters=1";
	else if (!strcmp(what, "among"))
		params = "among=1";
	else if (memory)
		params = strcmp(what, "memory-entry") ? "memory=mid" : "memory=entry";
	if (strcmp(what, "memory-optimized"))
		measure(params);
	else if (put(SWITCH, "1"))
		measure("memory=mid optimized=1");
	if (!memory)
		check(unload("kprobe_bench"), "rmmod", NULL);
	if (jumps && put(SWITCH, "1"))
		measure(strcmp(what, "letters") ? "optimized=1" : "letters=1 optimized=1");
	return end("bench");
}
