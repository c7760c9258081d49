// SPDX-License-Identifier: GPL-2.0-only
/* The cost of a hit, alone and among many other probes. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "bench.h"

#define LOOPS	1000
#define RUNS	7

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

/*
 * Probes and their handlers
 */

static unsigned long hits;

static int count_pre(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static void ignore_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static int ignore_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

static struct kprobe kp;
static struct kretprobe rp;

#ifdef CONFIG_JPROBES
static struct jprobe jp;
#define JPROBE_ADDR	jp.kp.addr

static void count_entry(void)
{
	hits++;
	jprobe_return();
}

static int __init jprobe_on(void *fn)
{
	jp = (struct jprobe) { .kp.addr = bench_code(fn), .entry = JPROBE_ENTRY(count_entry) };
	return register_jprobe(&jp);
}

static void __init jprobe_off(void)
{
	unregister_jprobe(&jp);
}
#else
#define JPROBE_ADDR	NULL

static int __init jprobe_on(void *fn)
{
	return -EOPNOTSUPP;
}

static void __init jprobe_off(void)
{
}
#endif

/* Is there a jump at the address of the probe? Waits for the optimizer. */
static bool __init jump_at(void *addr)
{
	int i;

	for (i = 0; i < 100 && !bench_is_jump(addr); i++)
		msleep(20);
	return bench_is_jump(addr);
}

/*
 * Rows
 */

/* When a row is measured: always, with optimized=1, letters=1 or both. */
enum when { PLAIN, OPTIMIZED, LETTERS, LETTERS_OPTIMIZED };

/*
 * @probes: k, a kprobe; j, a jprobe; r, a return probe, or q, one whose handler does not count
 * @crowded: also measured among 10,000 other probes
 * @offset: of the kprobe
 *
 * Rows with letters have the form of the first manual of kprobes: all is at the entry of a function
 * whose first instruction is stepped by both kernels, or which is not (b), is optimized (o), or has
 * a return probe like these (rb, ro).
 */
static const struct hit_row {
	const char		*name, *probes;
	void			(*fn)(void);
	enum when		when;
	bool			crowded;
	unsigned int		offset;
	kprobe_post_handler_t	post;
} rows[] __initconst = {
	{ "k-stepped", "k", bench_stepped, PLAIN, true, BENCH_LANDING_SIZE },
	{ "k-" BENCH_QUICK_NAME, "k", bench_quick, PLAIN, true, BENCH_LANDING_SIZE },
	{ "k-post", "k", bench_stepped, PLAIN, true, BENCH_LANDING_SIZE, ignore_post },
	{ "k-post-kept", "k", bench_kept, PLAIN, false, BENCH_LANDING_SIZE, ignore_post },
	{ "k-ftrace", "k", bench_ftrace, PLAIN, true, BENCH_SITE },
	{ "r-" BENCH_RETURN_NAME, "r", bench_quick, PLAIN, true },
	{ "r-ftrace", "r", bench_ftrace, PLAIN, true },
	{ "j-" BENCH_QUICK_NAME, "j", bench_quick },
	{ "jr-" BENCH_QUICK_NAME, "jq", bench_quick },
	{ "j-ftrace", "j", bench_ftrace },
	{ "jr-ftrace", "jq", bench_ftrace },
	{ "k-optimized", "k", BENCH_OPTIMIZED, OPTIMIZED, false, BENCH_LANDING_SIZE },
	{ "r-optimized", "r", bench_quick, OPTIMIZED },
#ifdef BENCH_OF_KERNEL
	{ "k-optimized-kernel", "k", BENCH_OF_KERNEL, OPTIMIZED },
	{ "r-optimized-kernel", "r", BENCH_OF_KERNEL, OPTIMIZED },
#endif
	{ "j-optimized", "j", bench_quick, OPTIMIZED },
	{ "jr-optimized", "jq", bench_quick, OPTIMIZED },
	{ "k", "k", bench_kept, LETTERS },
	{ "j", "j", bench_kept, LETTERS },
	{ "r", "r", bench_kept, LETTERS },
	{ "kr", "kr", bench_kept, LETTERS },
	{ "jr", "jr", bench_kept, LETTERS },
	{ "b", "k", bench_quick, LETTERS },
	{ "rb", "r", bench_quick, LETTERS },
	{ "o", "k", bench_quick, LETTERS_OPTIMIZED },
	{ "ro", "r", bench_quick, LETTERS_OPTIMIZED },
};

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

/* @bare: what the calls cost without a probe; @probes: how many of them count */
static int counted_hits(const char *name, void (*fn)(void), u64 bare, int probes)
{
	u64 cost;

	hits = 0;
	cost = loop_cost(fn) - bare;
	if (hits != probes * RUNS * LOOPS) {
		pr_err("%s: %lu hits of %d\n", name, hits, probes * RUNS * LOOPS);
		return -EINVAL;
	}

	row(DIV_ROUND_CLOSEST_ULL(cost, LOOPS), "%s", name);
	return 0;
}

/* Other probes, to be registered after each probe that is measured. */
static struct kprobe **crowd;
static int crowd_size;
static u32 crowd_flags;

static int __init measure(const char *name, const struct hit_row *r, u64 bare)
{
	bool k = strchr(r->probes, 'k'), j = strchr(r->probes, 'j'), counts = strchr(r->probes, 'r');
	u64 cost;
	int ret;

	/* A row without a jump would be that of another kind. */
	if (optimized && !jump_at(k ? kp.addr : j ? JPROBE_ADDR : rp.kp.addr))
		return BENCH_JUMPS_IN_MODULES ? -EAGAIN : 0;
	if (traced)
		return traced_hit(name, r->fn, k ? (void *)count_pre : count_return);
	if (!crowd)
		return counted_hits(name, r->fn, bare, k + j + counts);

	ret = register_many(crowd, crowd_size, crowd_flags, &cost);
	if (!ret) {
		ret = counted_hits(name, r->fn, bare, k + j + counts);
		unregister_many(crowd, crowd_size);
	}
	return ret;
}

static int __init measure_row(const char *name, const struct hit_row *r)
{
	bool k = strchr(r->probes, 'k'), j = strchr(r->probes, 'j');
	bool returns = strpbrk(r->probes, "rq");
	u64 bare = loop_cost(r->fn);
	int ret = 0;

	kp = (struct kprobe) {
		.addr = bench_code(r->fn), .offset = r->offset,
		.pre_handler = count_pre, .post_handler = r->post,
	};
	rp = (struct kretprobe) {
		.kp.addr = bench_code(r->fn),
		.handler = strchr(r->probes, 'q') ? ignore_return : count_return,
	};
	/* On some architectures, the base finds the site of ftrace by name only. */
	if (r->fn == bench_ftrace) {
		kp.addr = rp.kp.addr = NULL;
		kp.symbol_name = rp.kp.symbol_name = "bench_ftrace";
	}

	if (k)
		ret = register_kprobe(&kp);
	if (ret)
		goto refused;
	if (j)
		ret = jprobe_on(r->fn);
	if (ret)
		goto undo_k;
	if (returns)
		ret = register_kretprobe(&rp);
	if (ret)
		goto undo_j;

	ret = measure(name, r, bare);
	if (returns)
		unregister_kretprobe(&rp);
undo_j:
	if (j)
		jprobe_off();
undo_k:
	if (k)
		unregister_kprobe(&kp);
refused:
	if (ret)
		pr_err("%s: failed: %d\n", name, ret);
	return ret;
}

int __init measure_hits(void)
{
	enum when now = letters ? LETTERS + optimized : PLAIN + optimized;
	char name[48];
	int i, ret = 0;

	for (i = 0; i < ARRAY_SIZE(rows) && !ret; i++) {
		const struct hit_row *r = &rows[i];
		bool entry = r->fn == bench_ftrace;

		if (r->when != now || (crowd && !r->crowded))
			continue;
		if (strchr(r->probes, 'j') && (traced || !IS_ENABLED(CONFIG_JPROBES)))
			continue;
		if (entry && !(r->offset ? IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) :
			       BENCH_ENTRIES_ON_FTRACE))
			continue;
		scnprintf(name, sizeof(name), "%s%s", r->name, crowd ? "-10000" : "");
		ret = measure_row(name, r);
	}

	return ret;
}

/* The cost of a hit among @nr other probes, which the base would take too long to arm. */
int __init measure_among(struct kprobe **kps, int nr)
{
	crowd = kps;
	crowd_size = nr;
	crowd_flags = KPROBE_FLAG_DISABLED;
	return measure_hits();
}

static int __init crowd_row(const char *name, struct kprobe **kps, int nr, u32 flags)
{
	crowd = kps;
	crowd_size = nr;
	crowd_flags = flags;
	return measure_row(name, &rows[0]);
}

/* The cost of a hit among more and more probes, in the end among all @nr. */
int __init measure_crowds(struct kprobe **kps, int nr)
{
	int ret;

	ret = crowd_row("k-stepped-1000", kps, 1000, 0);
	ret = ret ?: crowd_row("k-stepped-3000", kps, 3000, 0);
	ret = ret ?: crowd_row("k-stepped-among-1000", kps, 1000, KPROBE_FLAG_DISABLED);
	ret = ret ?: crowd_row("k-stepped-among-2000", kps, 2000, KPROBE_FLAG_DISABLED);
	ret = ret ?: crowd_row("k-stepped-among-5000", kps, 5000, KPROBE_FLAG_DISABLED);
	return ret ?: measure_among(kps, nr);
}
