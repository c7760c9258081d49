// SPDX-License-Identifier: GPL-2.0-only
/*
 * The adversary of arm64: random functions (gen_adversary.c), with an optimized probe on
 * each of their instructions in turn, and with probes that come and go while all CPUs call
 * them. Registers, flags and memory have to be the same as without.
 * kernel/kprobes/tests/adversary.c has the engine.
 */

#include "suite.h"

#include <linux/extable.h>

#include <asm/debug-monitors.h>
#include <asm/insn.h>
#include <asm/ptrace.h>

#include "helpers.h"

#define NZCV		(PSR_N_BIT | PSR_Z_BIT | PSR_C_BIT | PSR_V_BIT)

/* What functions take and leave, except for x16 to x18, x27 and x29 to x31. */
struct kpa_machine {
	u64	r[31];
	u64	nzcv;
};

asmlinkage void kpa_enter(struct kpa_machine *m, void (*fn)(void));

/* x16 has the address, and the stack the place of the registers. */
asm(".pushsection .text\n"
	".type kpa_enter, %function\n"
	"kpa_enter:\n"
	"	hint	34\n"
	KPB_PUSH
	"	str	x0, [sp, 96]\n"
	"	mov	x16, x1\n"
	"	ldr	x2, [x0, 8 * 31]\n"
	"	msr	nzcv, x2\n"
	KPB_LOAD(KPB_X2_TO_X15 ",17," KPB_X19_TO_X28, "x0")
	"	ldp	x0, x1, [x0]\n"
	"	blr	x16\n"
	"	ldr	x16, [sp, 96]\n"
	/* Not x27, which points to the data. */
	KPB_STORE("0,1," KPB_X2_TO_X15 ",19,20,21,22,23,24,25,26,28", "x16")
	"	mrs	x0, nzcv\n"
	"	str	x0, [x16, 8 * 31]\n"
	KPB_POP
	"	ret\n"
	".size kpa_enter, . - kpa_enter\n"
	".popsection\n");

static_assert(offsetof(struct kpa_machine, nzcv) == 8 * 31);

static void before_call(struct kpa_machine *m, u8 *data)
{
	m->nzcv &= NZCV;
	m->r[27] = (unsigned long)data;
	m->r[28] %= 4;
}

/* The address differs from task to task. */
static void after_call(struct kpa_machine *m)
{
	m->r[27] = 0;
}

static unsigned int insn_size(const u8 *at)
{
	return AARCH64_INSN_SIZE;
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
	return le32_to_cpup((const __le32 *)at) == BRK64_OPCODE_KPROBES;
}

/* With landing pads, these and BLR are not; they are rare. */
#define LEAST_LIVE	85

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

KP_SUITE(adversary_cases, .name = "kprobes_arm64_adversary");
