// SPDX-License-Identifier: GPL-2.0-only
/*
 * The adversary of powerpc: random functions (gen_adversary.c), with an optimized probe on
 * each of their instructions in turn, and with probes that come and go while all CPUs call
 * them. Registers and memory have to be the same as without. kernel/kprobes/tests/adversary.c
 * has the engine.
 */

#include "suite.h"

#include <linux/extable.h>

#include <asm/inst.h>
#include <asm/probes.h>
#include <asm/ptrace.h>

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

/* The address of a function is that of its code, not of a descriptor. */
asmlinkage void kpa_enter(struct kpa_machine *m, void (*fn)(void));

static void before_call(struct kpa_machine *m, u8 *data)
{
	m->cr = (u32)m->cr;
	m->xer &= XER_RANDOM;
	m->r[31] = (unsigned long)data;
}

static void after_call(struct kpa_machine *m)
{
	static const unsigned int untouched[] = { 0, 1, 2, 11, 12, 13, 31 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(untouched); i++)
		m->r[untouched[i]] = 0;
	m->xer &= XER_COMPARED;
}

static unsigned int insn_size(const u8 *at)
{
	return ppc_inst_len(ppc_inst_read((u32 *)at));
}

/* A fixup, and the zero words after some branches. */
static bool is_skipped(const u8 *at)
{
	return !*(const u32 *)at || search_exception_tables((unsigned long)at);
}

static void count_live(const u8 *at)
{
}

static bool is_breakpoint(const u8 *at)
{
	return *(const u32 *)at == BREAKPOINT_INSTRUCTION;
}

/* BLRL is not optimized, which is rare. */
#define LEAST_LIVE	97

#include "adversary_random.h"

static void adversary_random_functions(struct kunit *test)
{
	run_random_functions(test);
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

KP_SUITE(adversary_cases, .name = "kprobes_powerpc_adversary");
