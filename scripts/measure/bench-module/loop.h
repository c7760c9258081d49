/* SPDX-License-Identifier: GPL-2.0-only */
/* How the modules of the benchmark measure a hit. */
#ifndef _KPROBE_BENCH_LOOP_H
#define _KPROBE_BENCH_LOOP_H

#include <linux/irqflags.h>
#include <linux/limits.h>
#include <linux/minmax.h>

#include "arch.h"
#include "row.h"

#define LOOPS	1000
#define RUNS	7

/* The cost of LOOPS calls, without interrupts. */
static noinline notrace u64 loop_cost(void (*fn)(void))
{
	u64 best = U64_MAX, start, cost;
	unsigned long flags;
	int run, i;

	for (run = 0; run < RUNS; run++) {
		local_irq_save(flags);
		start = bench_clock();
		for (i = 0; i < LOOPS; i++)
			fn();
		cost = bench_clock() - start;
		local_irq_restore(flags);
		best = min(best, cost);
	}

	return best;
}

#endif /* _KPROBE_BENCH_LOOP_H */
