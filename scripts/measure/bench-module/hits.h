/* SPDX-License-Identifier: GPL-2.0-only */
/* How the modules of the benchmark count hits, and see that each was one. */
#ifndef _KPROBE_BENCH_HITS_H
#define _KPROBE_BENCH_HITS_H

#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/math64.h>

#include "loop.h"

static unsigned long hits;

static int count_pre(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	hits++;
	return 0;
}

/* Is there a jump at the address of the probe? Waits for the optimizer. */
static bool __init jump_at(void *addr)
{
	int i;

	for (i = 0; i < 100; i++) {
		if (bench_is_jump(addr))
			return true;
		msleep(20);
	}

	return false;
}

/* @bare: what the calls cost without a probe; @probes: how many of them count */
static int hits_row(const char *name, void (*fn)(void), u64 bare, int probes)
{
	u64 cost;

	hits = 0;
	cost = loop_cost(fn) - bare;
	if (hits != probes * RUNS * LOOPS) {
		pr_err("%s: %lu hits of %d\n", name, hits, probes * RUNS * LOOPS);
		return -EINVAL;
	}

	row(name, DIV_ROUND_CLOSEST_ULL(cost, LOOPS));
	return 0;
}

#endif /* _KPROBE_BENCH_HITS_H */
