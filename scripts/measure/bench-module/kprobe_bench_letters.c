// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of probes in the form of the first manual of kprobes, which names each kind by
 * letters: k, a kprobe; j, a jprobe; r, a return probe; kr and jr, both at one function;
 * b, boosted; o, optimized; rb and ro, return probes like these. Everything is at the
 * entry of a function, with a handler that counts; see kprobe_bench.c.
 */
#define pr_fmt(fmt) "kprobe_bench: " fmt

#include <linux/kprobes.h>
#include <linux/module.h>

#include "hits.h"
#include "prepare.h"

static bool optimized;
module_param(optimized, bool, 0444);
MODULE_PARM_DESC(optimized, "measure nothing but optimized probes");

/* Its first instruction is stepped by both kernels, ... */
BENCH_FUNCTION(bench_kept, BENCH_KEPT);
/* ... and that of this one is not. */
BENCH_FUNCTION(bench_quick, BENCH_QUICK);

static struct kprobe kp;
static struct kretprobe rp;

static int __init kprobe_on(void *fn)
{
	kp = (struct kprobe) { .addr = bench_code(fn), .pre_handler = count_pre };
	return register_kprobe(&kp);
}

static int __init kretprobe_on(void *fn)
{
	rp = (struct kretprobe) { .kp.addr = bench_code(fn), .handler = count_return };
	return register_kretprobe(&rp);
}

#ifdef CONFIG_JPROBES

static struct jprobe jp;

static void count_entry(void)
{
	hits++;
	jprobe_return();
}

static int __init jprobe_on(void *fn)
{
	jp = (struct jprobe) { .kp.addr = bench_code(fn), .entry = count_entry };
	return register_jprobe(&jp);
}

static void __init jprobe_off(void)
{
	unregister_jprobe(&jp);
}

#else

static int __init jprobe_on(void *fn)
{
	return -EOPNOTSUPP;
}

static void __init jprobe_off(void)
{
}

#endif

/* @letters: which probes there are, of k, j and r; others only describe them. */
static int __init letters_row(const char *name, const char *letters, void (*fn)(void))
{
	bool k = strchr(letters, 'k'), j = strchr(letters, 'j'), r = strchr(letters, 'r');
	u64 bare = loop_cost(fn);
	int ret = 0;

	if (k)
		ret = kprobe_on(fn);
	if (ret)
		goto refused;
	if (j)
		ret = jprobe_on(fn);
	if (ret)
		goto undo_k;
	if (r)
		ret = kretprobe_on(fn);
	if (ret)
		goto undo_j;

	/* A row without a jump would be that of another kind. */
	if (!optimized || jump_at(k ? kp.addr : rp.kp.addr))
		ret = hits_row(name, fn, bare, k + j + r);
	else if (BENCH_JUMPS_IN_MODULES)
		ret = -EAGAIN;
	if (r)
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

static const struct {
	const char	*name, *letters;
	void		(*fn)(void);
	bool		optimized;
} rows[] __initconst = {
	{ "k",	"k",	bench_kept },
	{ "j",	"j",	bench_kept },
	{ "r",	"r",	bench_kept },
	{ "kr",	"kr",	bench_kept },
	{ "jr",	"jr",	bench_kept },
	{ "b",	"k",	bench_quick },
	{ "rb",	"r",	bench_quick },
	{ "o",	"k",	bench_quick,	true },
	{ "ro",	"r",	bench_quick,	true },
};

static int __init kprobe_bench_letters_init(void)
{
	int i, ret = 0;

	prepare_base();
	for (i = 0; i < ARRAY_SIZE(rows) && !ret; i++) {
		if (rows[i].optimized != optimized)
			continue;
		if (strchr(rows[i].letters, 'j') && !IS_ENABLED(CONFIG_JPROBES))
			continue;
		ret = letters_row(rows[i].name, rows[i].letters, rows[i].fn);
	}

	return ret;
}
module_init(kprobe_bench_letters_init);

static void __exit kprobe_bench_letters_exit(void)
{
}
module_exit(kprobe_bench_letters_exit);

MODULE_DESCRIPTION("What probes cost, by letter");
MODULE_LICENSE("GPL");
