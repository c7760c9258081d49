// SPDX-License-Identifier: GPL-2.0-only
/*
 * The adversary of powerpc: random functions (gen_adversary.c), with an optimized probe on
 * each of their instructions in turn, and with probes that come and go while all CPUs call
 * them. Registers and memory have to be the same as without. kernel/kprobes/tests/adversary.c
 * has the engine.
 */

#include "suite.h"

#include <linux/extable.h>
#include <linux/jhash.h>

#include <asm/inst.h>
#include <asm/probes.h>
#include <asm/ptrace.h>

#include "adversary.h"

#define DATA_SIZE	256

/* SO, OV and CA; later processors have two more. */
#define XER_COMPARED	0xe00c0000
#define XER_RANDOM	0xe0000000

/* What functions take and leave. adversary_call.S knows it. */
struct kpa_machine {
	unsigned long	r[32];
	unsigned long	cr;
	unsigned long	xer;
	unsigned long	ctr;
};

static_assert(offsetof(struct kpa_machine, cr) == 32 * sizeof(long));

/* From gen_adversary.c. */
extern const struct kpa_function kpa_functions[], kpa_functions_end[];
asmlinkage void kpa_call(struct kpa_machine *m, unsigned long entry);

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

static void fill(u64 seed, unsigned int round, struct kpa_machine *m, u8 *data)
{
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, seed);
	prandom_bytes_state(&rnd, m, sizeof(*m));
	prandom_bytes_state(&rnd, data, DATA_SIZE);

	/* Half of the values are small, so that comparisons go either way. */
	for (i = 0; i < ARRAY_SIZE(m->r); i++) {
		if (round % 2)
			m->r[i] = (s8)m->r[i];
	}
	m->cr = (u32)m->cr;
	m->xer &= XER_RANDOM;
	m->r[31] = (unsigned long)data;
}

/* The address of a function is that of its code, not of a descriptor. */
static void call(void (*fn)(void), u64 seed, unsigned int round, struct kpa_result *got)
{
	static const unsigned int untouched[] = { 0, 1, 2, 11, 12, 13, 31 };
	u8 data[DATA_SIZE] __aligned(16);
	unsigned int i;

	memset(got, 0, sizeof(*got));
	fill(seed, round, &got->m, data);
	kpa_call(&got->m, (unsigned long)fn);
	for (i = 0; i < ARRAY_SIZE(untouched); i++)
		got->m.r[untouched[i]] = 0;
	got->m.xer &= XER_COMPARED;
	got->data = jhash(data, sizeof(data), 0);
}

static void complain(struct kunit *test, const char *what, const struct kpa_result *got,
		     const struct kpa_result *want)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(got->m.r); i++)
		KUNIT_EXPECT_EQ_MSG(test, got->m.r[i], want->m.r[i], "%s, r%u", what, i);
	KUNIT_EXPECT_EQ_MSG(test, got->m.cr, want->m.cr, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->m.xer, want->m.xer, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->m.ctr, want->m.ctr, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->data, want->data, "%s", what);
}

/* Skip instructions with a fixup, and the zero words after some branches. */
static u8 *nth_insn(u8 *at, u8 *end, unsigned int *n)
{
	for (; at < end; at += ppc_inst_len(ppc_inst_read((u32 *)at))) {
		if (!*(u32 *)at || search_exception_tables((unsigned long)at))
			continue;
		if (!(*n)--)
			return at;
	}
	return NULL;
}

static void count_jump(const u8 *at)
{
	counts.all++;
	counts.live += *(const u32 *)at != BREAKPOINT_INSTRUCTION;
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

static void adversary_random_functions(struct kunit *test)
{
	unsigned int nr = kpa_nr_functions(&adversary_arch);

	memset(&counts, 0, sizeof(counts));
	KUNIT_EXPECT_GT(test, kpa_run(test, &adversary_arch), 10 * nr);
	kunit_info(test, "%u functions: of %u probes %u were optimized\n", nr, counts.all,
		   counts.live);
	/* BLRL is not, which is rare. */
	if (IS_ENABLED(CONFIG_OPTPROBES))
		KUNIT_EXPECT_GT(test, counts.live, counts.all / 100 * 97);
}

static void adversary_on_all_cpus(struct kunit *test)
{
	kpa_run_on_all_cpus(test, &adversary_arch, 40);
}

static struct kunit_case adversary_cases[] = {
	KUNIT_CASE_SLOW(adversary_random_functions),
	KUNIT_CASE_SLOW(adversary_on_all_cpus),
	{}
};

static struct kunit_suite adversary_suite = {
	.name		= "kprobes_powerpc_adversary",
	.test_cases	= adversary_cases,
};
kunit_test_suite(adversary_suite);
