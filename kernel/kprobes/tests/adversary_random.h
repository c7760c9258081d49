/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the adversaries of all architectures share. The suite includes it once it has defined
 *
 *  - struct kpa_machine: what functions take and leave, with registers r[] in front, and
 *    kpa_enter(), which calls a function with them;
 *  - before_call() and after_call(): make random values such that a function can be called with
 *    them, and such that two calls can be compared;
 *  - insn_size() of the instruction at an address, 0 if there is none, is_skipped(), whether it is
 *    no instruction to be probed, and count_live(), which is called for an optimized one;
 *  - is_breakpoint();
 *  - LEAST_LIVE: how many of a hundred probes have to be optimized.
 */
#ifndef _KERNEL_KPROBES_TESTS_ADVERSARY_RANDOM_H
#define _KERNEL_KPROBES_TESTS_ADVERSARY_RANDOM_H

#include <linux/jhash.h>

#include "adversary.h"

/* From gen_adversary.c. */
extern const struct kpa_function kpa_functions[], kpa_functions_end[];

/* What a function leaves behind. */
struct kpa_result {
	struct kpa_machine	m;
	u32			data;
	u32			unused;
};

/* Instructions that were probed without a post handler, and the outcome. */
static struct {
	unsigned int	all, live;
} counts;

static void call(void (*fn)(void), u64 seed, unsigned int round, struct kpa_result *got)
{
	u8 data[256] __aligned(16);
	struct rnd_state rnd;
	unsigned int i;

	memset(got, 0, sizeof(*got));
	prandom_seed_state(&rnd, seed);
	prandom_bytes_state(&rnd, &got->m, sizeof(got->m));
	prandom_bytes_state(&rnd, data, sizeof(data));

	/* Half of the values are small, so that comparisons go either way. */
	for (i = 0; i < ARRAY_SIZE(got->m.r); i++) {
		if (round % 2)
			got->m.r[i] = (s8)got->m.r[i];
	}
	before_call(&got->m, data);
	kpa_enter(&got->m, fn);
	after_call(&got->m);
	got->data = jhash(data, sizeof(data), 0);
}

static void complain(struct kunit *test, const char *what, const struct kpa_result *got,
		     const struct kpa_result *want)
{
	const unsigned long *g = (void *)&got->m, *w = (void *)&want->m;
	unsigned int i;

	for (i = 0; i < sizeof(got->m) / sizeof(*g); i++)
		KUNIT_EXPECT_EQ_MSG(test, g[i], w[i], "%s, word %u of the machine", what, i);
	KUNIT_EXPECT_EQ_MSG(test, got->data, want->data, "%s", what);
}

static u8 *nth_insn(u8 *at, u8 *end, unsigned int *n)
{
	for (; at < end && insn_size(at); at += insn_size(at)) {
		if (!is_skipped(at) && !(*n)--)
			return at;
	}
	return NULL;
}

static void count_jump(const u8 *at)
{
	counts.all++;
	if (is_breakpoint(at))
		return;
	counts.live++;
	count_live(at);
}

static const struct kpa_arch adversary_arch = {
	.functions	= kpa_functions,
	.end		= kpa_functions_end,
	.result_size	= sizeof(struct kpa_result),
	.call		= call,
	.complain	= complain,
	.insn		= nth_insn,
	.count		= count_jump,
};

static void run_random_functions(struct kunit *test)
{
	unsigned int nr = kpa_nr_functions(&adversary_arch);

	memset(&counts, 0, sizeof(counts));
	KUNIT_EXPECT_GT(test, kpa_run(test, &adversary_arch), 10 * nr);
	kunit_info(test, "%u functions: of %u probes %u were optimized\n", nr, counts.all,
		   counts.live);
	if (IS_ENABLED(CONFIG_OPTPROBES))
		KUNIT_EXPECT_GT(test, counts.live, counts.all / 100 * LEAST_LIVE);
}

#endif /* _KERNEL_KPROBES_TESTS_ADVERSARY_RANDOM_H */
