// SPDX-License-Identifier: GPL-2.0-only
/* How often, and for how long, other CPUs are disturbed while many probes are armed. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/stringify.h>

#include "arch.h"
#include "bench.h"

/*
 * How often, and for how long, all CPUs are stopped.
 */

static unsigned long stops;
static u64 longest_stop;

static int stop_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	*(u64 *)ri->data = bench_clock();
	return 0;
}

/* Only one CPU at a time stops the others. */
static int stop_ends(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	stops++;
	longest_stop = max(longest_stop, bench_clock() - *(u64 *)ri->data);
	return 0;
}

static struct kretprobe stopper = {
	.kp.symbol_name	= BENCH_STOP,
	.entry_handler	= stop_begins,
	.handler	= stop_ends,
	.data_size	= sizeof(u64),
};

int __init stop_rows(struct kprobe **kps, const char *what, int nr)
{
	int ret;
	u64 cost;

	if (!stopper.kp.symbol_name)
		return 0;
	ret = register_kretprobe(&stopper);
	if (ret) {
		pr_err("no probe on %s: %d\n", stopper.kp.symbol_name, ret);
		return ret;
	}

	stops = longest_stop = 0;
	ret = register_many(kps, nr, 0, &cost);
	if (!ret) {
		row(stops, "stops-%s-%d", what, nr);
		row(longest_stop, "longest-stop-%s-%d", what, nr);
		stops = 0;
		unregister_many(kps, nr);
		row(stops, "unstops-%s-%d", what, nr);
	}
	unregister_kretprobe(&stopper);
	stopper.kp.addr = NULL;
	stopper.kp.flags = 0;
	return ret;
}

/*
 * Optimization: cross-CPU synchronizations and grace periods of tasks until it is
 * complete, counted by probes on ftrace sites.
 */

static unsigned long sync_fn;
static atomic_t syncs, tasks_waits;

static int count_sync(struct kprobe *p, struct pt_regs *regs)
{
	/* The second argument, if it matters. */
	if (!BENCH_SYNC_ARGUMENT || regs_get_kernel_argument(regs, 1) == sync_fn)
		atomic_inc(&syncs);
	return 0;
}

static int count_wait(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&tasks_waits);
	return 0;
}

static struct kprobe counters[] = {
	{ .symbol_name = BENCH_SYNC, .pre_handler = count_sync },
	{ .symbol_name = "synchronize_rcu_tasks", .pre_handler = count_wait },
};

static unsigned long __init address_of(const char *symbol)
{
	struct kprobe kp = { .symbol_name = symbol, .flags = KPROBE_FLAG_DISABLED };
	unsigned long addr;

	if (register_kprobe(&kp))
		return 0;
	addr = (unsigned long)kp.addr;
	unregister_kprobe(&kp);
	/* The probe may be after a landing pad. */
	return addr & ~0xful;
}

static int __init jumps_at(struct kprobe **kps, int nr)
{
	int i, n = 0;

	for (i = 0; i < nr; i++)
		n += bench_is_jump(kps[i]->addr);
	return n;
}

/* Waits until no jump has been added for a second. @when: set to when the last one was */
static int __init wait_for_jumps(struct kprobe **kps, int nr, u64 *when)
{
	int now, last = 0;
	u64 clock;

	*when = bench_clock();
	do {
		usleep_range(1000, 1000);
		now = jumps_at(kps, nr);
		clock = bench_clock();
		if (now != last)
			*when = clock;
		last = now;
	} while (clock - *when < NSEC_PER_SEC);
	return last;
}

/* @what: "" for mid-function addresses */
static int __init optimizer_rows(struct kprobe **kps, const char *what, int nr)
{
	u64 cost, start, end;
	int ret, n;

	/* Cleaning the slots of earlier probes takes synchronizations, too. */
	msleep(1000);
	atomic_set(&syncs, 0);
	atomic_set(&tasks_waits, 0);
	start = bench_clock();
	ret = register_many(kps, nr, 0, &cost);
	if (ret)
		return ret;
	n = wait_for_jumps(kps, nr, &end);
	row(div_u64(end - start, nr), "jumps-%s%d", what, nr);
	row(n, "optimized-of-%s%d", what, nr);
	row(atomic_read(&tasks_waits), "rounds-%s%d", what, nr);
	row(atomic_read(&syncs), "syncs-%s%d", what, nr);
	atomic_set(&syncs, 0);
	unregister_many(kps, nr);
	row(atomic_read(&syncs), "unsyncs-%s%d", what, nr);
	return 0;
}

/* A function of which each instruction gets a probe. */
#define MANY	2000
asm(".pushsection .text, \"ax\"\n"
    ".balign 16\n"
    "bench_many:\n"
    ".rept " __stringify(MANY) "\n"
    "	" BENCH_QUICK "\n"
    ".endr\n"
    "bench_many_end:\n"
    "	" BENCH_RET "\n"
    ".popsection\n");
extern u8 bench_many[], bench_many_end[];

static int __init module_rows(struct kprobe **kps)
{
	size_t size = (bench_many_end - bench_many) / MANY;
	int i;

	for (i = 0; i < MANY; i++)
		kps[i]->addr = (kprobe_opcode_t *)(bench_many + i * size);
	return optimizer_rows(kps, "module-", MANY);
}

int __init measure_optimizer(void)
{
	struct kprobe **kps = kprobes_alloc(10000);
	int i, nr, ret = 0;

	if (BENCH_SYNC_ARGUMENT)
		sync_fn = address_of(BENCH_SYNC_ARGUMENT);
	if (!kps || (BENCH_SYNC_ARGUMENT && !sync_fn))
		return -ENOMEM;
	nr = accepted_mids(kps, 10000);
	/* Without SMP, there is no such function. */
	if (IS_ENABLED(CONFIG_SMP))
		ret = register_kprobe(&counters[0]);
	ret = ret ?: register_kprobe(&counters[1]);
	if (ret == -ENOENT) {
		/* Without preemption, both kinds of grace periods are the same. */
		counters[1].symbol_name = "synchronize_rcu";
		ret = register_kprobe(&counters[1]);
	}
	ret = ret ?: nr < 10000 ? -ENOENT : 0;
	ret = ret ?: optimizer_rows(kps, "", 100);
	ret = ret ?: optimizer_rows(kps, "", 1000);
	ret = ret ?: optimizer_rows(kps, "", 5000);
	/* Where entries have jumps, too, a limit has to be kept with so many. */
	if (!ret && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE)) {
		ret = optimizer_rows(kps, "", 10000);
		nr = accepted_entries(kps, 10000);
		ret = ret ?: nr < 10000 ? -ENOENT : optimizer_rows(kps, "entry-", nr);
	}
	ret = ret ?: module_rows(kps);
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		unregister_kprobe(&counters[i]);
	return ret;
}
