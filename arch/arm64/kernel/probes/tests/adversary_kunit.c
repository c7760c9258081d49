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
	"	stp	x29, x30, [sp, -112]!\n"
	"	mov	x29, sp\n"
	"	stp	x19, x20, [sp, 16]\n"
	"	stp	x21, x22, [sp, 32]\n"
	"	stp	x23, x24, [sp, 48]\n"
	"	stp	x25, x26, [sp, 64]\n"
	"	stp	x27, x28, [sp, 80]\n"
	"	str	x0, [sp, 96]\n"
	"	mov	x16, x1\n"
	"	ldr	x2, [x0, 8 * 31]\n"
	"	msr	nzcv, x2\n"
	"	ldp	x2, x3, [x0, 8 * 2]\n"
	"	ldp	x4, x5, [x0, 8 * 4]\n"
	"	ldp	x6, x7, [x0, 8 * 6]\n"
	"	ldp	x8, x9, [x0, 8 * 8]\n"
	"	ldp	x10, x11, [x0, 8 * 10]\n"
	"	ldp	x12, x13, [x0, 8 * 12]\n"
	"	ldp	x14, x15, [x0, 8 * 14]\n"
	"	ldr	x17, [x0, 8 * 17]\n"
	"	ldp	x19, x20, [x0, 8 * 19]\n"
	"	ldp	x21, x22, [x0, 8 * 21]\n"
	"	ldp	x23, x24, [x0, 8 * 23]\n"
	"	ldp	x25, x26, [x0, 8 * 25]\n"
	"	ldp	x27, x28, [x0, 8 * 27]\n"
	"	ldp	x0, x1, [x0]\n"
	"	blr	x16\n"
	"	ldr	x16, [sp, 96]\n"
	"	stp	x0, x1, [x16]\n"
	"	stp	x2, x3, [x16, 8 * 2]\n"
	"	stp	x4, x5, [x16, 8 * 4]\n"
	"	stp	x6, x7, [x16, 8 * 6]\n"
	"	stp	x8, x9, [x16, 8 * 8]\n"
	"	stp	x10, x11, [x16, 8 * 10]\n"
	"	stp	x12, x13, [x16, 8 * 12]\n"
	"	stp	x14, x15, [x16, 8 * 14]\n"
	"	stp	x19, x20, [x16, 8 * 19]\n"
	"	stp	x21, x22, [x16, 8 * 21]\n"
	"	stp	x23, x24, [x16, 8 * 23]\n"
	"	stp	x25, x26, [x16, 8 * 25]\n"
	"	str	x28, [x16, 8 * 28]\n"
	"	mrs	x0, nzcv\n"
	"	str	x0, [x16, 8 * 31]\n"
	"	ldp	x19, x20, [sp, 16]\n"
	"	ldp	x21, x22, [sp, 32]\n"
	"	ldp	x23, x24, [sp, 48]\n"
	"	ldp	x25, x26, [sp, 64]\n"
	"	ldp	x27, x28, [sp, 80]\n"
	"	ldp	x29, x30, [sp], 112\n"
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

static struct kunit_suite adversary_suite = {
	.name		= "kprobes_arm64_adversary",
	.test_cases	= adversary_cases,
};
kunit_test_suite(adversary_suite);
