// SPDX-License-Identifier: GPL-2.0-only
/* The cost of a hit, alone and among many other probes. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/slab.h>

#include "bench.h"
#include "hits.h"

BENCH_FUNCTION(bench_stepped, BENCH_STEPPED);
BENCH_FUNCTION(bench_quick, BENCH_QUICK);
BENCH_FUNCTION(bench_kept, BENCH_KEPT);

/*
 * Starts with an ftrace site. On powerpc, the base searches 16 bytes for it, so in a shorter
 * function it may find that of the next one.
 */
static noinline void bench_ftrace(void)
{
	asm volatile("nop; nop; nop; nop" ::: "memory");
}

static void ignore_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
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

/* On some architectures, the base finds the site of ftrace by name only. */
static void __init name_entry(struct kprobe *kp, const char *name)
{
	kp->addr = NULL;
	kp->symbol_name = name;
}

static int __init k_row(const char *name, void (*fn)(void), unsigned int offset,
			kprobe_post_handler_t post)
{
	struct kprobe *kp = kzalloc(sizeof(*kp), GFP_KERNEL);
	u64 bare = loop_cost(fn);
	int ret;

	if (!kp)
		return -ENOMEM;

	kp->addr = bench_code(fn);
	kp->offset = offset;
	if (fn == bench_ftrace)
		name_entry(kp, "bench_ftrace");
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

	rp->kp.addr = bench_code(fn);
	if (fn == bench_ftrace)
		name_entry(&rp->kp, "bench_ftrace");
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

	rp->kp.addr = jp->kp.addr = bench_code(fn);
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
	if (!BENCH_ENTRIES_ON_FTRACE)
		return ret;
	ret = ret ?: j_row("j-ftrace", bench_ftrace, false);
	return ret ?: j_row("jr-ftrace", bench_ftrace, true);
}
#else
static int __init measure_jprobes(void)
{
	return 0;
}
#endif

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
		.offset	= BENCH_SITE,
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

static int __init measure_rows(void)
{
	int i, ret = 0;

	for (i = 0; i < ARRAY_SIZE(hit_rows) && !ret; i++) {
		const char *name = crowd ? hit_rows[i].crowded : hit_rows[i].name;

		if (!name || (hit_rows[i].ftrace && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE)))
			continue;
		if (hit_rows[i].ftrace && hit_rows[i].returns && !BENCH_ENTRIES_ON_FTRACE)
			continue;
		ret = hit_rows[i].returns ? r_row(name, hit_rows[i].fn) :
		      k_row(name, hit_rows[i].fn, hit_rows[i].offset, hit_rows[i].post);
	}

	return ret;
}

int __init measure_hits(void)
{
	int ret = measure_rows();

	return ret ?: traced ? 0 : measure_jprobes();
}

int __init measure_optimized_hits(void)
{
	int ret;

	ret = k_row("k-optimized", BENCH_OPTIMIZED, BENCH_LANDING_SIZE, NULL);
	ret = ret ?: r_row("r-optimized", bench_quick);
#ifdef BENCH_OF_KERNEL
	ret = ret ?: k_row("k-optimized-kernel", BENCH_OF_KERNEL, 0, NULL);
	ret = ret ?: r_row("r-optimized-kernel", BENCH_OF_KERNEL);
#endif
	return ret ?: traced ? 0 : measure_jprobes();
}

static int __init crowd_row(const char *name, struct kprobe **kps, int nr)
{
	int ret;

	crowd = kps;
	crowd_size = nr;
	ret = k_row(name, bench_stepped, BENCH_LANDING_SIZE, NULL);
	crowd = NULL;
	return ret;
}

/* The cost of a hit among @nr other probes, which the base would take too long to arm. */
int __init measure_among(struct kprobe **kps, int nr)
{
	crowd = kps;
	crowd_size = nr;
	crowd_flags = KPROBE_FLAG_DISABLED;
	return measure_rows();
}

/* The cost of a hit among more and more probes, in the end among all @nr. */
int __init measure_crowds(struct kprobe **kps, int nr)
{
	int ret;

	ret = crowd_row("k-stepped-1000", kps, 1000);
	ret = ret ?: crowd_row("k-stepped-3000", kps, 3000);
	crowd_flags = KPROBE_FLAG_DISABLED;
	ret = ret ?: crowd_row("k-stepped-among-1000", kps, 1000);
	ret = ret ?: crowd_row("k-stepped-among-2000", kps, 2000);
	ret = ret ?: crowd_row("k-stepped-among-5000", kps, 5000);
	return ret ?: measure_among(kps, nr);
}
