// SPDX-License-Identifier: GPL-2.0-only
/* Many probes: what they cost to register and to unregister, and in memory. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/vmstat.h>

#include "arch.h"
#include "bench.h"

struct target {
	const char	*symbol;
	unsigned int	offset;
};

/* entry_targets[] and mid_targets[], made by scripts/measure/bench. */
#include "targets.h"

static int ignore_pre(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static void __init clean(struct kprobe *kp, void *addr, u32 flags)
{
	memset(kp, 0, sizeof(*kp));
	kp->addr = addr;
	kp->flags = flags;
	kp->pre_handler = ignore_pre;
}

/* Restores the addresses, which the kernel may clear or move. */
u64 __init unregister_many(struct kprobe **kps, int nr)
{
	void **addrs = kvcalloc(nr, sizeof(*addrs), GFP_KERNEL);
	u64 start, cost;
	int i;

	for (i = 0; addrs && i < nr; i++)
		addrs[i] = kps[i]->addr;
	start = bench_clock();
	unregister_kprobes(kps, nr);
	cost = bench_clock() - start;
	for (i = 0; addrs && i < nr; i++)
		kps[i]->addr = addrs[i];
	kvfree(addrs);
	return cost;
}

int __init register_many(struct kprobe **kps, int nr, u32 flags, u64 *cost)
{
	u64 start;
	int i, ret;

	for (i = 0; i < nr; i++)
		clean(kps[i], kps[i]->addr, flags);
	start = bench_clock();
	ret = register_kprobes(kps, nr);
	*cost = bench_clock() - start;
	if (ret)
		pr_err("registration of %d failed: %d\n", nr, ret);

	return ret;
}

/*
 * Registers one by one what this kernel accepts of the targets. Returns how many of @kps were
 * filled in and are registered now, at most @max.
 */
static int __init register_accepted(struct kprobe **kps, int max, u32 flags,
				    const struct target *targets, int nr, bool ftrace)
{
	int i, n = 0, refused = 0;
	struct kprobe *kp;

	for (i = 0; i < nr && n < max; i++) {
		kp = kps[n];
		clean(kp, NULL, flags);
		kp->symbol_name = targets[i].symbol;
		kp->offset = targets[i].offset;
		if (register_kprobe(kp)) {
			refused++;
			continue;
		}
		/* Without probes at ftrace sites, entries are like any other address. */
		if (BENCH_ENTRIES_ON_FTRACE &&
		    !!(kp->flags & KPROBE_FLAG_FTRACE) != ftrace) {
			unregister_kprobe(kp);
			refused++;
			continue;
		}
		n++;
	}

	pr_info("%d targets, %d others passed over\n", n, refused);
	return n;
}

static int __init register_entries(struct kprobe **kps, int max, u32 flags)
{
	return register_accepted(kps, max, flags, entry_targets, ARRAY_SIZE(entry_targets), true);
}

static int __init register_mids(struct kprobe **kps, int max, u32 flags)
{
	return register_accepted(kps, max, flags, mid_targets, ARRAY_SIZE(mid_targets), false);
}

/* Finds out what would be accepted, without arming it. */
int __init accepted_entries(struct kprobe **kps, int max)
{
	int nr = register_entries(kps, max, KPROBE_FLAG_DISABLED);

	unregister_many(kps, nr);
	return nr;
}

int __init accepted_mids(struct kprobe **kps, int max)
{
	int nr = register_mids(kps, max, KPROBE_FLAG_DISABLED);

	unregister_many(kps, nr);
	return nr;
}

/* Rows in nanoseconds per probe. */
static int __init registration_rows(struct kprobe **kps, const char *what, int nr)
{
	u64 cost;
	int ret;

	ret = register_many(kps, nr, 0, &cost);
	if (ret)
		return ret;

	row(div_u64(cost, nr), "reg-%s-%d", what, nr);
	cost = unregister_many(kps, nr);
	row(div_u64(cost, nr), "unreg-%s-%d", what, nr);
	return 0;
}

/* The same one by one, as tracers do it. */
static int __init single_rows(struct kprobe **kps, const char *what, int nr)
{
	u64 start, cost;
	int i, ret;

	for (i = 0; i < nr; i++)
		clean(kps[i], kps[i]->addr, 0);
	start = bench_clock();
	for (i = 0; i < nr; i++) {
		ret = register_kprobe(kps[i]);
		if (ret) {
			pr_err("registration at %pS failed: %d\n", kps[i]->addr, ret);
			unregister_many(kps, i);
			return ret;
		}
	}
	cost = bench_clock() - start;
	row(div_u64(cost, nr), "reg-%s-single-%d", what, nr);

	cost = 0;
	for (i = 0; i < nr; i++)
		cost += unregister_many(kps + i, 1);
	row(div_u64(cost, nr), "unreg-%s-single-%d", what, nr);
	return 0;
}

static void notrace ignore_call(unsigned long ip, unsigned long parent,
				struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

static struct ftrace_ops bench_ops = {
	.func	= ignore_call,
	.flags	= FTRACE_OPS_FL_SAVE_REGS,
};

/* The share of ftrace: adding functions to a filter one by one, and removing them. */
static int __init filter_rows(struct kprobe **kps, int nr)
{
	u64 start, come, go;
	int i, ret;

	ret = ftrace_set_filter_ip(&bench_ops, (unsigned long)kps[0]->addr, 0, 0);
	ret = ret ?: register_ftrace_function(&bench_ops);
	if (ret) {
		pr_err("no function tracing: %d\n", ret);
		return ret;
	}

	start = bench_clock();
	for (i = 1; i < nr && !ret; i++)
		ret = ftrace_set_filter_ip(&bench_ops, (unsigned long)kps[i]->addr, 0, 0);
	come = bench_clock() - start;
	start = bench_clock();
	for (i = 1; i < nr && !ret; i++)
		ret = ftrace_set_filter_ip(&bench_ops, (unsigned long)kps[i]->addr, 1, 0);
	go = bench_clock() - start;

	unregister_ftrace_function(&bench_ops);
	ftrace_free_filter(&bench_ops);
	if (ret)
		return ret;
	row(div_u64(come, nr - 1), "filter-entry-single-100");
	row(div_u64(go, nr - 1), "unfilter-entry-single-100");
	return 0;
}

struct kprobe **__init kprobes_alloc(int nr)
{
	struct kprobe *kp = vcalloc(nr, sizeof(*kp));
	struct kprobe **kps = vcalloc(nr, sizeof(*kps));
	int i;

	/* Never freed; the guest powers off soon. */
	for (i = 0; kp && kps && i < nr; i++)
		kps[i] = &kp[i];

	return kp ? kps : NULL;
}

int __init max_targets(void)
{
	return ARRAY_SIZE(entry_targets) + ARRAY_SIZE(mid_targets);
}

int __init measure_many(void)
{
	struct kprobe **kps = kprobes_alloc(max_targets());
	int ret, nr, mid;

	if (!kps)
		return -ENOMEM;

	nr = accepted_entries(kps, big ? 10000 : 1000);
	ret = nr < 1000 ? -ENOENT : 0;
	ret = ret ?: registration_rows(kps, "entry", 100);
	ret = ret ?: registration_rows(kps, "entry", 1000);
	if (nr >= 10000) {
		ret = ret ?: registration_rows(kps, "entry", 10000);
		ret = ret ?: stop_rows(kps, "entry", 10000);
	}
	ret = ret ?: single_rows(kps, "entry", 100);
	if (big)
		ret = ret ?: single_rows(kps, "entry", 1000);
	if (BENCH_ENTRIES_ON_FTRACE)
		ret = ret ?: filter_rows(kps, 100);

	mid = accepted_mids(kps, 10000);
	ret = ret ?: mid < 10000 ? -ENOENT : 0;
	ret = ret ?: registration_rows(kps, "mid", 100);
	ret = ret ?: registration_rows(kps, "mid", 1000);
	ret = ret ?: registration_rows(kps, "mid", 3000);
	ret = ret ?: single_rows(kps, "mid", 100);
	if (big)
		ret = ret ?: single_rows(kps, "mid", 1000);
	return ret ?: measure_crowds(kps, mid);
}

/* Give back the slabs that are empty but kept for later allocations. */
static void __init shrink_slabs(void)
{
	int type, i;

	for (type = 0; type < NR_KMALLOC_TYPES; type++) {
		for (i = 0; i < ARRAY_SIZE(kmalloc_caches[type]); i++) {
			if (kmalloc_caches[type][i])
				kmem_cache_shrink(kmalloc_caches[type][i]);
		}
	}
}

/* What is free, to the page: also what waits in the lists of each CPU. */
static u64 __init free_bytes_now(void)
{
	struct zone *zones = NODE_DATA(numa_node_id())->node_zones;
	u64 pages = 0;
	int i, cpu;

	kvfree_rcu_barrier();
	rcu_barrier();
	shrink_slabs();
	for (i = 0; i < MAX_NR_ZONES; i++) {
		if (!populated_zone(&zones[i]))
			continue;
		pages += zone_page_state_snapshot(&zones[i], NR_FREE_PAGES);
		for_each_online_cpu(cpu)
			pages += per_cpu_ptr(zones[i].per_cpu_pageset, cpu)->count;
	}
	return pages << PAGE_SHIFT;
}

/* Waits until nothing has been freed or allocated for a second. */
static u64 __init free_bytes(void)
{
	u64 now, last = free_bytes_now();
	int same = 0, i;

	for (i = 0; i < 300 && same < 5; i++) {
		msleep(200);
		now = free_bytes_now();
		same = now != last ? 0 : same + 1;
		last = now;
	}
	return last;
}

/*
 * What each of many probes takes, without its struct kprobe. They are the first since the kernel
 * has booted, and stay like the module, so none of them gets what another one has left. There are
 * so many that single pages do not count.
 */
int __init measure_memory(const char *what)
{
	bool entry = !strcmp(what, "entry");
	int nr = entry ? 3000 : 5000, n;
	struct kprobe **kps = kprobes_alloc(nr);
	u64 before, after;

	if (!kps)
		return -ENOMEM;

	before = free_bytes();
	n = entry ? register_entries(kps, nr, 0) : register_mids(kps, nr, 0);
	after = free_bytes();
	if (n < nr || after >= before) {
		pr_err("memory: %d probes, %llu bytes free, then %llu\n", n, before, after);
		unregister_many(kps, n);
		return -ENODATA;
	}
	row(div_u64(before - after, nr), "memory-%s%s", what, optimized ? "-optimized" : "");
	return 0;
}
