// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of probes, in guest instructions.
 *
 * Meant for QEMU's "-icount shift=0", where the clock advances by one for each
 * instruction that the guest executes. Uses only API that the base has, too. Each
 * result is one line "kprobe_bench: row NAME N".
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "hits.h"

static bool big;
module_param(big, bool, 0444);
MODULE_PARM_DESC(big, "also register 10,000 in one call, and 1,000 one by one");

static bool optimized;
module_param(optimized, bool, 0444);
MODULE_PARM_DESC(optimized, "measure nothing but optimized probes");

static int hold;
module_param(hold, int, 0444);
MODULE_PARM_DESC(hold, "measure nothing; register as many probes, disabled, and keep them");

static bool traced;
module_param(traced, bool, 0444);
MODULE_PARM_DESC(traced, "measure nothing; wait for scripts/measure/bench-where before each hit");

struct target {
	const char	*symbol;
	unsigned int	offset;
};

/* entry_targets[] and mid_targets[], made by scripts/measure/bench. */
#include "targets.h"

BENCH_FUNCTION(bench_stepped, BENCH_STEPPED);
BENCH_FUNCTION(bench_quick, BENCH_QUICK);
BENCH_FUNCTION(bench_kept, BENCH_KEPT);

/* Starts with an ftrace site. */
static noinline void bench_ftrace(void)
{
	barrier();
}

static void ignore_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static int ignore_pre(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static int go;

/* The debugger learns where the hit starts, and sets go when it is ready. */
static int traced_hit(const char *name, void (*fn)(void), void *handler)
{
	int i;

	WRITE_ONCE(go, 0);
	/* Warm up. */
	for (i = 0; i < 3; i++)
		fn();
	pr_info("trace %s %px %px %px\n", name, fn, handler, &go);
	while (!READ_ONCE(go))
		cpu_relax();
	fn();
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
static u64 __init unregister_many(struct kprobe **kps, int nr)
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

static int __init register_many(struct kprobe **kps, int nr, u32 flags, u64 *cost)
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

/* Other probes, to be registered after each probe that is measured. */
static struct kprobe **crowd;
static int crowd_size;
static u32 crowd_flags;

static int __init crowded_row(const char *name, void (*fn)(void), u64 bare)
{
	u64 cost;
	int ret;

	if (!crowd)
		return hits_row(name, fn, bare, 1);

	ret = register_many(crowd, crowd_size, crowd_flags, &cost);
	if (!ret) {
		ret = hits_row(name, fn, bare, 1);
		unregister_many(crowd, crowd_size);
	}
	return ret;
}

static int __init k_row(const char *name, void (*fn)(void), unsigned int offset,
			kprobe_post_handler_t post)
{
	struct kprobe *kp = kzalloc(sizeof(*kp), GFP_KERNEL);
	u64 bare = loop_cost(fn);
	int ret;

	if (!kp)
		return -ENOMEM;

	kp->addr = (void *)fn;
	kp->offset = offset;
	kp->pre_handler = count_pre;
	kp->post_handler = post;
	ret = register_kprobe(kp);
	if (ret) {
		pr_err("%s: registration failed: %d\n", name, ret);
		kfree(kp);
		return ret;
	}

	if (!optimized || jump_at(kp->addr))
		ret = traced ? traced_hit(name, fn, count_pre) : crowded_row(name, fn, bare);
	unregister_kprobe(kp);
	kfree(kp);
	return ret;
}

static int __init r_row(const char *name, void (*fn)(void))
{
	struct kretprobe *rp = kzalloc(sizeof(*rp), GFP_KERNEL);
	u64 bare = loop_cost(fn);
	int ret;

	if (!rp)
		return -ENOMEM;

	rp->kp.addr = (void *)fn;
	rp->handler = count_return;
	ret = register_kretprobe(rp);
	if (ret) {
		pr_err("%s: registration failed: %d\n", name, ret);
		kfree(rp);
		return ret;
	}

	if (!optimized || jump_at(rp->kp.addr))
		ret = traced ? traced_hit(name, fn, count_return) : crowded_row(name, fn, bare);
	unregister_kretprobe(rp);
	kfree(rp);
	return ret;
}

#ifdef CONFIG_JPROBES
static void count_and_leave(void)
{
	hits++;
	jprobe_return();
}

static int ignore_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

/* A jprobe, perhaps with a return probe on the same function. */
static int __init j_row(const char *name, void (*fn)(void), bool returns)
{
	struct kretprobe *rp = kzalloc(sizeof(*rp), GFP_KERNEL);
	struct jprobe *jp = kzalloc(sizeof(*jp), GFP_KERNEL);
	u64 bare = loop_cost(fn);
	int ret = -ENOMEM;

	if (!rp || !jp)
		goto out;

	rp->kp.addr = jp->kp.addr = (void *)fn;
	rp->handler = ignore_return;
	jp->entry = JPROBE_ENTRY(count_and_leave);
	ret = register_jprobe(jp);
	if (!ret && returns) {
		ret = register_kretprobe(rp);
		if (ret)
			unregister_jprobe(jp);
	}
	if (ret) {
		pr_err("%s: registration failed: %d\n", name, ret);
		goto out;
	}

	if (!optimized || jump_at(jp->kp.addr))
		ret = hits_row(name, fn, bare, 1);
	if (returns)
		unregister_kretprobe(rp);
	unregister_jprobe(jp);
out:
	kfree(jp);
	kfree(rp);
	return ret;
}

static int __init measure_jprobes(void)
{
	int ret;

	if (optimized) {
		ret = j_row("j-optimized", bench_quick, false);
		return ret ?: j_row("jr-optimized", bench_quick, true);
	}

	ret = j_row("j-" BENCH_QUICK_NAME, bench_quick, false);
	ret = ret ?: j_row("jr-" BENCH_QUICK_NAME, bench_quick, true);
	ret = ret ?: j_row("j-ftrace", bench_ftrace, false);
	return ret ?: j_row("jr-ftrace", bench_ftrace, true);
}
#else
static int __init measure_jprobes(void)
{
	return 0;
}
#endif

/*
 * Which of the targets this kernel accepts: try each, without arming it.
 * Returns how many of @kps were filled in, at most @max.
 */
static int __init accepted(struct kprobe **kps, int max,
			   const struct target *targets, int nr, bool ftrace)
{
	int i, n = 0, refused = 0;
	struct kprobe *kp;

	for (i = 0; i < nr && n < max; i++) {
		kp = kps[n];
		clean(kp, NULL, KPROBE_FLAG_DISABLED);
		kp->symbol_name = targets[i].symbol;
		kp->offset = targets[i].offset;
		if (register_kprobe(kp)) {
			refused++;
			continue;
		}
		/* Without probes at ftrace sites, entries are like any other address. */
		if (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) &&
		    !!(kp->flags & KPROBE_FLAG_FTRACE) != ftrace) {
			unregister_kprobe(kp);
			refused++;
			continue;
		}
		n++;
	}

	unregister_many(kps, n);
	pr_info("%d targets, %d others passed over\n", n, refused);
	return n;
}

/* Rows in nanoseconds per probe. */
static int __init registration_rows(struct kprobe **kps, const char *what, int nr)
{
	char name[48];
	u64 cost;
	int ret;

	ret = register_many(kps, nr, 0, &cost);
	if (ret)
		return ret;

	scnprintf(name, sizeof(name), "reg-%s-%d", what, nr);
	row(name, div_u64(cost, nr));
	cost = unregister_many(kps, nr);
	scnprintf(name, sizeof(name), "unreg-%s-%d", what, nr);
	row(name, div_u64(cost, nr));
	return 0;
}

/* The same one by one, as tracers do it. */
static int __init single_rows(struct kprobe **kps, const char *what, int nr)
{
	char name[48];
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
	scnprintf(name, sizeof(name), "reg-%s-single-%d", what, nr);
	row(name, div_u64(cost, nr));

	cost = 0;
	for (i = 0; i < nr; i++)
		cost += unregister_many(kps + i, 1);
	scnprintf(name, sizeof(name), "unreg-%s-single-%d", what, nr);
	row(name, div_u64(cost, nr));
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
	row("filter-entry-single-100", div_u64(come, nr - 1));
	row("unfilter-entry-single-100", div_u64(go, nr - 1));
	return 0;
}

static u64 __init free_bytes_now(void)
{
	struct sysinfo info;

	rcu_barrier();
	si_meminfo(&info);
	return (u64)info.freeram * info.mem_unit;
}

/* Waits for deferred freeing: until nothing has been freed for a second. */
static u64 __init free_bytes(void)
{
	u64 now, last = free_bytes_now();
	int same = 0, i;

	for (i = 0; i < 100 && same < 5; i++) {
		msleep(200);
		now = free_bytes_now();
		same = now > last ? 0 : same + 1;
		last = now;
	}
	return last;
}

/* Bytes of memory per probe, without the struct kprobe itself. */
static int __init memory_row(struct kprobe **kps, const char *what, int nr)
{
	u64 before, after, cost;
	char name[48];
	int ret;

	/* Fill the caches first. */
	ret = register_many(kps, nr, 0, &cost);
	if (ret)
		return ret;
	unregister_many(kps, nr);

	before = free_bytes();
	ret = register_many(kps, nr, 0, &cost);
	if (ret)
		return ret;
	after = free_bytes();
	unregister_many(kps, nr);

	scnprintf(name, sizeof(name), "memory-%s-%d", what, nr);
	row(name, before > after ? div_u64(before - after, nr) : 0);
	return 0;
}

static struct kprobe **__init kprobes_alloc(int nr)
{
	struct kprobe *kp = vcalloc(nr, sizeof(*kp));
	struct kprobe **kps = vcalloc(nr, sizeof(*kps));
	int i;

	/* Never freed; the guest powers off soon. */
	for (i = 0; kp && kps && i < nr; i++)
		kps[i] = &kp[i];

	return kp ? kps : NULL;
}

static const struct {
	const char		*name, *crowded;
	void			(*fn)(void);
	unsigned int		offset;
	bool			ftrace, returns;
	kprobe_post_handler_t	post;
} hit_rows[] __initconst = {
	{
		.name	= "k-stepped",
		.crowded = "k-stepped-10000",
		.fn	= bench_stepped,
		.offset	= BENCH_LANDING_SIZE,
	}, {
		.name	= "k-" BENCH_QUICK_NAME,
		.crowded = "k-" BENCH_QUICK_NAME "-10000",
		.fn	= bench_quick,
		.offset	= BENCH_LANDING_SIZE,
	}, {
		.name	= "k-post",
		.crowded = "k-post-10000",
		.fn	= bench_stepped,
		.offset	= BENCH_LANDING_SIZE,
		.post	= ignore_post,
	}, {
		.name	= "k-post-kept",
		.fn	= bench_kept,
		.offset	= BENCH_LANDING_SIZE,
		.post	= ignore_post,
	}, {
		.name	= "k-ftrace",
		.crowded = "k-ftrace-10000",
		.fn	= bench_ftrace,
		.ftrace	= true,
	}, {
		.name	= "r-" BENCH_RETURN_NAME,
		.crowded = "r-" BENCH_RETURN_NAME "-10000",
		.fn	= bench_quick,
		.returns = true,
	}, {
		.name	= "r-ftrace",
		.crowded = "r-ftrace-10000",
		.fn	= bench_ftrace,
		.ftrace	= true,
		.returns = true,
	},
};

static int __init measure_hits(void)
{
	int i, ret = 0;

	for (i = 0; i < ARRAY_SIZE(hit_rows) && !ret; i++) {
		const char *name = crowd ? hit_rows[i].crowded : hit_rows[i].name;

		if (!name || (hit_rows[i].ftrace && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE)))
			continue;
		ret = hit_rows[i].returns ? r_row(name, hit_rows[i].fn) :
		      k_row(name, hit_rows[i].fn, hit_rows[i].offset, hit_rows[i].post);
	}

	return ret;
}

static int __init crowd_row(const char *name, struct kprobe **kps, int nr)
{
	int ret;

	crowd = kps;
	crowd_size = nr;
	ret = name ? k_row(name, bench_stepped, BENCH_LANDING_SIZE, NULL) : measure_hits();
	crowd = NULL;
	return ret;
}

static int __init max_targets(void)
{
	return ARRAY_SIZE(entry_targets) + ARRAY_SIZE(mid_targets);
}

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

static int __init stop_rows(struct kprobe **kps, const char *what, int nr)
{
	char name[48];
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
		scnprintf(name, sizeof(name), "stops-%s-%d", what, nr);
		row(name, stops);
		scnprintf(name, sizeof(name), "longest-stop-%s-%d", what, nr);
		row(name, longest_stop);
		stops = 0;
		unregister_many(kps, nr);
		scnprintf(name, sizeof(name), "unstops-%s-%d", what, nr);
		row(name, stops);
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

/* Waits until no jump has been added for a second. */
static int __init wait_for_jumps(struct kprobe **kps, int nr)
{
	int now, last = -1, same = 0;

	while (same < 10) {
		msleep(100);
		now = jumps_at(kps, nr);
		same = now == last ? same + 1 : 0;
		last = now;
	}
	return last;
}

/* @what: "" for mid-function addresses */
static int __init optimizer_rows(struct kprobe **kps, const char *what, int nr)
{
	char name[48];
	int ret, n;
	u64 cost;

	/* Cleaning the slots of earlier probes takes synchronizations, too. */
	msleep(1000);
	atomic_set(&syncs, 0);
	atomic_set(&tasks_waits, 0);
	ret = register_many(kps, nr, 0, &cost);
	if (ret)
		return ret;
	n = wait_for_jumps(kps, nr);
	scnprintf(name, sizeof(name), "optimized-of-%s%d", what, nr);
	row(name, n);
	scnprintf(name, sizeof(name), "rounds-%s%d", what, nr);
	row(name, atomic_read(&tasks_waits));
	scnprintf(name, sizeof(name), "syncs-%s%d", what, nr);
	row(name, atomic_read(&syncs));
	atomic_set(&syncs, 0);
	unregister_many(kps, nr);
	scnprintf(name, sizeof(name), "unsyncs-%s%d", what, nr);
	row(name, atomic_read(&syncs));
	return 0;
}

static int __init optimizer(void)
{
	struct kprobe **kps = kprobes_alloc(10000);
	int i, nr, ret = 0;

	if (BENCH_SYNC_ARGUMENT)
		sync_fn = address_of(BENCH_SYNC_ARGUMENT);
	if (!kps || (BENCH_SYNC_ARGUMENT && !sync_fn))
		return -ENOMEM;
	nr = accepted(kps, 10000, mid_targets, ARRAY_SIZE(mid_targets), false);
	ret = register_kprobe(&counters[0]);
	ret = ret ?: register_kprobe(&counters[1]);
	if (ret == -ENOENT) {
		/* Without preemption, both kinds of grace periods are the same. */
		counters[1].symbol_name = "synchronize_rcu";
		ret = register_kprobe(&counters[1]);
	}
	ret = ret ?: nr < 10000 ? -ENOENT : 0;
	ret = ret ?: optimizer_rows(kps, "", 1000);
	ret = ret ?: optimizer_rows(kps, "", 5000);
	/* Where entries have jumps, too, a limit has to be kept with so many. */
	if (!ret && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE)) {
		ret = optimizer_rows(kps, "", 10000);
		nr = accepted(kps, 10000, entry_targets, ARRAY_SIZE(entry_targets), true);
		ret = ret ?: nr < 10000 ? -ENOENT : optimizer_rows(kps, "entry-", nr);
	}
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		unregister_kprobe(&counters[i]);
	return ret;
}

/* Probes that are held until the module is removed. */
static struct kprobe **held;

static int __init hold_many(void)
{
	int nr;
	u64 cost;

	held = kprobes_alloc(max_targets());
	if (!held)
		return -ENOMEM;

	nr = accepted(held, hold, entry_targets, ARRAY_SIZE(entry_targets), true);
	nr += accepted(held + nr, hold - nr, mid_targets, ARRAY_SIZE(mid_targets), false);
	if (nr < hold) {
		pr_err("only %d of %d targets\n", nr, hold);
		return -ENOENT;
	}
	return register_many(held, nr, KPROBE_FLAG_DISABLED, &cost);
}

static int __init many(void)
{
	struct kprobe **kps = kprobes_alloc(max_targets());
	int ret, nr, mid;

	if (!kps)
		return -ENOMEM;

	nr = accepted(kps, big ? 10000 : 1000, entry_targets,
		      ARRAY_SIZE(entry_targets), true);
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
	if (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		ret = ret ?: filter_rows(kps, 100);
	ret = ret ?: memory_row(kps, "entry", 1000);

	mid = accepted(kps, 10000, mid_targets, ARRAY_SIZE(mid_targets), false);
	ret = ret ?: mid < 10000 ? -ENOENT : 0;
	ret = ret ?: registration_rows(kps, "mid", 100);
	ret = ret ?: registration_rows(kps, "mid", 1000);
	ret = ret ?: registration_rows(kps, "mid", 3000);
	ret = ret ?: single_rows(kps, "mid", 100);
	if (big)
		ret = ret ?: single_rows(kps, "mid", 1000);
	ret = ret ?: memory_row(kps, "mid", 3000);
	ret = ret ?: crowd_row("k-stepped-1000", kps, 1000);
	ret = ret ?: crowd_row("k-stepped-3000", kps, 3000);
	/* The base would take too long to arm so many. */
	crowd_flags = KPROBE_FLAG_DISABLED;
	ret = ret ?: crowd_row("k-stepped-among-1000", kps, 1000);
	ret = ret ?: crowd_row("k-stepped-among-2000", kps, 2000);
	ret = ret ?: crowd_row("k-stepped-among-5000", kps, 5000);
	return ret ?: crowd_row(NULL, kps, mid);
}

static int __init kprobe_bench_init(void)
{
	int ret;

	if (optimized) {
		ret = k_row("k-optimized", BENCH_OPTIMIZED, BENCH_LANDING_SIZE, NULL);
		ret = ret ?: r_row("r-optimized", bench_quick);
		if (!traced)
			ret = ret ?: measure_jprobes();
		return ret ?: traced ? 0 : optimizer();
	}
	if (hold)
		return hold_many();

	ret = measure_hits();
	if (ret || traced)
		return ret;
	ret = measure_jprobes();
	if (ret)
		return ret;
	return many();
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
