// SPDX-License-Identifier: GPL-2.0-only
/*
 * What probes cost on x86_64, in guest instructions.
 *
 * Meant for QEMU's "-icount shift=0", where the time stamp counter advances by
 * one for each instruction the guest executes. Uses nothing but the API that
 * the base has, too. Each measured row is one line "kprobe_bench: row NAME N".
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <asm/msr.h>

#define LOOPS	1000
#define RUNS	7

static bool big;
module_param(big, bool, 0444);
MODULE_PARM_DESC(big, "also register as many as there are targets");

static bool optimized;
module_param(optimized, bool, 0444);
MODULE_PARM_DESC(optimized, "measure nothing but optimized probes");

static bool traced;
module_param(traced, bool, 0444);
MODULE_PARM_DESC(traced, "measure nothing; wait before each hit for scripts/bench-where");

struct target {
	const char	*symbol;
	unsigned int	offset;
};

/* entry_targets[] and mid_targets[], made by scripts/bench. */
#include "targets.h"

/*
 * No ENDBR counts as the first instruction, so the probe goes behind it.
 * BT with an immediate bit number is a common form that the base steps.
 */
#define BENCH_FUNCTION(name, insn)					\
asm(".pushsection .text, \"ax\", @progbits\n"				\
    ".balign 16\n"							\
    ".globl " #name "\n"						\
    ".type " #name ", @function\n"					\
    #name ":\n"								\
    "	endbr64\n"							\
    "	" insn "\n"							\
    "	ret\n"								\
    ".size " #name ", . - " #name "\n"					\
    ".popsection\n");							\
void name(void)

BENCH_FUNCTION(bench_stepped, "btl $3, %eax");
/* Room for a jump, so that it can be optimized as well. */
BENCH_FUNCTION(bench_boosted, "mov %rdi, %rax; nop; nop; nop; nop");

/* Starts with the call of ftrace. */
static noinline void bench_ftrace(void)
{
	barrier();
}

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

static int ignore_pre(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

/* Instructions of LOOPS calls, undisturbed. */
static noinline notrace u64 loop_cost(void (*fn)(void))
{
	u64 best = U64_MAX, start, cost;
	unsigned long flags;
	int run, i;

	for (run = 0; run < RUNS; run++) {
		local_irq_save(flags);
		start = rdtsc();
		for (i = 0; i < LOOPS; i++)
			fn();
		cost = rdtsc() - start;
		local_irq_restore(flags);
		best = min(best, cost);
	}

	return best;
}

static void row(const char *name, u64 value)
{
	pr_info("row %s %llu\n", name, value);
}

static int hit_row(const char *name, void (*fn)(void), u64 bare)
{
	u64 cost;

	hits = 0;
	cost = loop_cost(fn) - bare;
	if (hits != RUNS * LOOPS) {
		pr_err("%s: %lu hits of %d\n", name, hits, RUNS * LOOPS);
		return -EINVAL;
	}

	row(name, DIV_ROUND_CLOSEST_ULL(cost, LOOPS));
	return 0;
}

static int go;

/* Whoever follows one hit wants to know where it starts, and sets go. */
static void traced_hit(const char *name, void (*fn)(void), void *handler)
{
	int i;

	WRITE_ONCE(go, 0);
	/* What is slow only the first time. */
	for (i = 0; i < 3; i++)
		fn();
	pr_info("trace %s %px %px %px\n", name, fn, handler, &go);
	while (!READ_ONCE(go))
		cpu_relax();
	fn();
}

/* Is there a jump where the probe was asked for? Waits for the optimizer. */
static bool __init jump_at(void *addr)
{
	int i;

	for (i = 0; i < 100; i++) {
		if (*(u8 *)addr == 0xe9)
			return true;
		msleep(20);
	}

	return false;
}

static int __init k_row(const char *name, void (*fn)(void), unsigned int offset)
{
	struct kprobe *kp = kzalloc(sizeof(*kp), GFP_KERNEL);
	u64 bare = loop_cost(fn);
	int ret;

	if (!kp)
		return -ENOMEM;

	kp->addr = (void *)fn;
	kp->offset = offset;
	kp->pre_handler = count_pre;
	ret = register_kprobe(kp);
	if (ret) {
		pr_err("%s: registration failed: %d\n", name, ret);
		kfree(kp);
		return ret;
	}

	if (traced)
		traced_hit(name, fn, count_pre);
	else if (!optimized || jump_at(kp->addr))
		ret = hit_row(name, fn, bare);
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

	if (traced)
		traced_hit(name, fn, count_return);
	else if (!optimized || jump_at(rp->kp.addr))
		ret = hit_row(name, fn, bare);
	unregister_kretprobe(rp);
	kfree(rp);
	return ret;
}

static void __init clean(struct kprobe *kp, void *addr)
{
	memset(kp, 0, sizeof(*kp));
	kp->addr = addr;
	kp->pre_handler = ignore_pre;
}

/* The addresses stay what they are, whatever the kernel does with them. */
static u64 __init unregister_many(struct kprobe **kps, int nr)
{
	void **addrs = kvcalloc(nr, sizeof(*addrs), GFP_KERNEL);
	u64 start, cost;
	int i;

	for (i = 0; addrs && i < nr; i++)
		addrs[i] = kps[i]->addr;
	start = rdtsc();
	unregister_kprobes(kps, nr);
	cost = rdtsc() - start;
	for (i = 0; addrs && i < nr; i++)
		kps[i]->addr = addrs[i];
	kvfree(addrs);
	return cost;
}

/*
 * Which of the targets this kernel accepts: try each, without arming it.
 * Returns how many of @kps are then filled in, at most @max.
 */
static int __init accepted(struct kprobe **kps, int max,
			   const struct target *targets, int nr, bool ftrace)
{
	int i, n = 0, refused = 0;
	struct kprobe *kp;

	for (i = 0; i < nr && n < max; i++) {
		kp = kps[n];
		clean(kp, NULL);
		kp->symbol_name = targets[i].symbol;
		kp->offset = targets[i].offset;
		kp->flags = KPROBE_FLAG_DISABLED;
		if (register_kprobe(kp)) {
			refused++;
			continue;
		}
		if (!!(kp->flags & KPROBE_FLAG_FTRACE) != ftrace) {
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

static int __init register_many(struct kprobe **kps, int nr, u64 *cost)
{
	u64 start;
	int i, ret;

	for (i = 0; i < nr; i++)
		clean(kps[i], kps[i]->addr);
	start = rdtsc();
	ret = register_kprobes(kps, nr);
	*cost = rdtsc() - start;
	if (ret)
		pr_err("registration of %d failed: %d\n", nr, ret);

	return ret;
}

/* Rows in nanoseconds for each probe. */
static int __init registration_rows(struct kprobe **kps, const char *what, int nr)
{
	char name[48];
	u64 cost;
	int ret;

	ret = register_many(kps, nr, &cost);
	if (ret)
		return ret;

	scnprintf(name, sizeof(name), "reg-%s-%d", what, nr);
	row(name, div_u64(cost, nr));
	cost = unregister_many(kps, nr);
	scnprintf(name, sizeof(name), "unreg-%s-%d", what, nr);
	row(name, div_u64(cost, nr));
	return 0;
}

/* A hit when other probes were registered after the probe, and armed. */
static int __init crowd_row(const char *name, struct kprobe **kps, int nr)
{
	struct kprobe *kp = kzalloc(sizeof(*kp), GFP_KERNEL);
	u64 bare = loop_cost(bench_stepped), cost;
	int ret;

	if (!kp)
		return -ENOMEM;

	kp->addr = (void *)bench_stepped;
	kp->offset = 4;
	kp->pre_handler = count_pre;
	ret = register_kprobe(kp);
	if (!ret) {
		ret = register_many(kps, nr, &cost);
		if (!ret) {
			ret = hit_row(name, bench_stepped, bare);
			unregister_many(kps, nr);
		}
		unregister_kprobe(kp);
	}

	kfree(kp);
	return ret;
}

static struct kprobe **__init kprobes_alloc(int nr)
{
	struct kprobe *kp = vcalloc(nr, sizeof(*kp));
	struct kprobe **kps = vcalloc(nr, sizeof(*kps));
	int i;

	/* Freed with the guest. */
	for (i = 0; kp && kps && i < nr; i++)
		kps[i] = &kp[i];

	return kp ? kps : NULL;
}

static int __init many(void)
{
	int max = max(ARRAY_SIZE(entry_targets), ARRAY_SIZE(mid_targets));
	struct kprobe **kps = kprobes_alloc(max);
	int ret, nr;

	if (!kps)
		return -ENOMEM;

	nr = accepted(kps, big ? 10000 : 1000, entry_targets,
		      ARRAY_SIZE(entry_targets), true);
	ret = nr < 1000 ? -ENOENT : 0;
	ret = ret ?: registration_rows(kps, "entry", 100);
	ret = ret ?: registration_rows(kps, "entry", 1000);
	if (nr >= 10000)
		ret = ret ?: registration_rows(kps, "entry", 10000);

	nr = accepted(kps, 3000, mid_targets, ARRAY_SIZE(mid_targets), false);
	ret = ret ?: nr < 3000 ? -ENOENT : 0;
	ret = ret ?: registration_rows(kps, "mid", 100);
	ret = ret ?: registration_rows(kps, "mid", 1000);
	ret = ret ?: registration_rows(kps, "mid", 3000);
	ret = ret ?: crowd_row("k-stepped-1000", kps, 1000);
	ret = ret ?: crowd_row("k-stepped-3000", kps, 3000);
	return ret;
}

static int __init kprobe_bench_init(void)
{
	int ret;

	if (optimized) {
		ret = k_row("k-optimized", bench_boosted, 4);
		return ret ?: r_row("r-optimized", bench_boosted);
	}

	ret = k_row("k-stepped", bench_stepped, 4);
	ret = ret ?: k_row("k-boosted", bench_boosted, 4);
	ret = ret ?: k_row("k-ftrace", bench_ftrace, 0);
	ret = ret ?: r_row("r-boosted", bench_boosted);
	ret = ret ?: r_row("r-ftrace", bench_ftrace);
	return ret ?: traced ? 0 : many();
}
module_init(kprobe_bench_init);

static void __exit kprobe_bench_exit(void)
{
}
module_exit(kprobe_bench_exit);

MODULE_DESCRIPTION("What probes cost");
MODULE_LICENSE("GPL");
