// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of probes, in guest instructions.
 *
 * Meant for QEMU's "-icount shift=0", where the clock advances by one for each
 * instruction that the guest executes. Uses only API that the base has, too. Each
 * result is one line "kprobe_bench: row NAME N".
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>

#include "bench.h"
#include "prepare.h"

bool big;
module_param(big, bool, 0444);
MODULE_PARM_DESC(big, "also register 10,000 in one call, and 1,000 one by one");

bool optimized;
module_param(optimized, bool, 0444);
MODULE_PARM_DESC(optimized, "measure nothing but optimized probes");

static int hold;
module_param(hold, int, 0444);
MODULE_PARM_DESC(hold, "measure nothing; register as many probes, disabled, and keep them");

static char *memory;
module_param(memory, charp, 0444);
MODULE_PARM_DESC(memory, "mid or entry: measure nothing but what these take, and keep them");

static bool among;
module_param(among, bool, 0444);
MODULE_PARM_DESC(among, "measure nothing but hits among 10,000 others");

bool letters;
module_param(letters, bool, 0444);
MODULE_PARM_DESC(letters, "measure nothing but the rows that are called by letters");

static bool together;
module_param(together, bool, 0444);
MODULE_PARM_DESC(together, "measure nothing but hits of several CPUs");

bool traced;
module_param(traced, bool, 0444);
MODULE_PARM_DESC(traced, "measure nothing; wait for scripts/measure/bench-where before each hit");

/* Probes that are held until the module is removed. */
static struct kprobe **held;

static int __init hold_many(void)
{
	int nr;
	u64 cost;

	held = kprobes_alloc(max_targets());
	if (!held)
		return -ENOMEM;

	nr = accepted_entries(held, hold);
	nr += accepted_mids(held + nr, hold - nr);
	if (nr < hold) {
		pr_err("only %d of %d targets\n", nr, hold);
		return -ENOENT;
	}
	return register_many(held, nr, KPROBE_FLAG_DISABLED, &cost);
}

static int __init among_many(void)
{
	struct kprobe **kps = kprobes_alloc(10000);

	if (!kps)
		return -ENOMEM;
	return accepted_mids(kps, 10000) < 10000 ? -ENOENT : measure_among(kps, 10000);
}

static int __init kprobe_bench_init(void)
{
	int ret;

	prepare_base();
	if (hold)
		return hold_many();
	if (memory)
		return measure_memory(memory);
	if (among)
		return among_many();
	if (together)
		return measure_together();

	ret = measure_hits();
	if (ret || traced || letters)
		return ret;
	return optimized ? measure_optimizer() : measure_many();
}
module_init(kprobe_bench_init);

static void __exit kprobe_bench_exit(void)
{
	if (held)
		unregister_kprobes(held, hold);
}
module_exit(kprobe_bench_exit);

MODULE_DESCRIPTION("What probes cost");
MODULE_LICENSE("GPL");
