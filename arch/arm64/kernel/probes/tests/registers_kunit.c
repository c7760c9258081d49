// SPDX-License-Identifier: GPL-2.0-only
/*
 * All registers, from the call of a function to its return: handlers see them, and may change
 * all but the stack pointer, however the probe is hit; and what a probe saves is restored.
 */

#include "suite.h"

#include <linux/cpufeature.h>

#include <asm/daifflags.h>
#include <asm/virt.h>

#include "helpers.h"

/* All registers. The last general one is the stack pointer. */
struct kpb_state {
	unsigned long	gpr[32];
	unsigned long	nzcv;
	unsigned long	daif;
};

/* The stack pointer and x30 of what is given are not used. */
struct kpb_states {
	struct kpb_state	given, found, got;
};

/* Where the function returns to even if a handler has changed x30; 0: to x30. */
static unsigned long way_back;

asmlinkage void kpb_note_found(struct kpb_state *found);
asmlinkage void kpb_note_got(struct kpb_state *got);

/* On the stack, an instance of struct kpb_state. */
#define STATE_SIZE	"272"
#define SP_AND_NZCV	"248"
#define NZCV_AND_DAIF	"256"

static_assert(sizeof(struct kpb_state) == 272);
static_assert(offsetof(struct kpb_state, nzcv) == 256);

/* Changes nothing, and then x0 and x1. */
#define STORE_STATE							\
	"	sub sp, sp, #" STATE_SIZE "\n"				\
	KPB_STORE("0,1," KPB_X2_TO_X15 ",16,17,18," KPB_X19_TO_X28 ",29,30", "sp") \
	"	add x0, sp, #" STATE_SIZE "\n"				\
	"	mrs x1, nzcv\n"						\
	"	stp x0, x1, [sp, #" SP_AND_NZCV "]\n"			\
	"	mrs x0, daif\n"						\
	"	stp x1, x0, [sp, #" NZCV_AND_DAIF "]\n"			\
	"	mov x0, sp\n"

/* All but x0 and x30, from where x0 points to. */
#define LOAD_STATE							\
	"	ldr x1, [x0, #" NZCV_AND_DAIF "]\n"			\
	"	msr nzcv, x1\n"						\
	KPB_LOAD(KPB_X2_TO_X15 ",16,17,18," KPB_X19_TO_X28 ",29", "x0")	\
	"	ldr x1, [x0, #8]\n"

/* Before a function that is called through a pointer. */
#ifdef CONFIG_CFI
#define TYPE_HASH(fn)	"	.4byte __kcfi_typeid_" #fn "\n"
#else
#define TYPE_HASH(fn)
#endif

/*
 * kpb_enter_NAME() calls kpb_entered_NAME() with everything set as it is given. The function
 * begins with the probed instruction; a handler may continue at kpb_elsewhere_NAME instead.
 */
#define ENTERED(name, insn)						\
asm(".pushsection .text\n"						\
	".balign 16\n"							\
	".type kpb_entered_" #name ", %function\n"			\
	"kpb_entered_" #name ":\n"					\
	"	" insn "\n"						\
	"1:\n"								\
	STORE_STATE							\
	"	bl kpb_note_found\n"					\
	"	mov x0, sp\n"						\
	LOAD_STATE							\
	"	ldr x30, [x0, #240]\n"					\
	"	ldr x0, [x0]\n"						\
	"	add sp, sp, #" STATE_SIZE "\n"				\
	"	ret\n"							\
	".globl kpb_elsewhere_" #name "\n"				\
	"kpb_elsewhere_" #name ":\n"					\
	KPB_LANDING_PAD							\
	"	add x0, x0, #16\n"					\
	"	b 1b\n"							\
	".size kpb_entered_" #name ", . - kpb_entered_" #name "\n"	\
	TYPE_HASH(kpb_enter_##name)					\
	".globl kpb_enter_" #name "\n"					\
	".type kpb_enter_" #name ", %function\n"			\
	"kpb_enter_" #name ":\n"					\
	KPB_LANDING_PAD							\
	KPB_PUSH							\
	LOAD_STATE							\
	"	ldr x0, [x0]\n"						\
	"	bl kpb_entered_" #name "\n"				\
	STORE_STATE							\
	"	bl kpb_note_got\n"					\
	"	add sp, sp, #" STATE_SIZE "\n"				\
	KPB_POP								\
	"	ret\n"							\
	".size kpb_enter_" #name ", . - kpb_enter_" #name "\n"		\
	".popsection\n");						\
void kpb_enter_##name(struct kpb_states *s);				\
void kpb_elsewhere_##name(void)

/* One that is copied and computes, one that is copied, and one that is simulated. */
ENTERED(copy, "orr x1, x1, x1");
ENTERED(step, "ldr xzr, [sp]");
ENTERED(branch, "b 1f");

#define NZCV	(PSR_N_BIT | PSR_Z_BIT | PSR_C_BIT | PSR_V_BIT)

static const struct flags {
	unsigned long	nzcv;
} flags[] = {
	{ 0 }, { PSR_Z_BIT | PSR_C_BIT }, { NZCV }, { PSR_N_BIT }, { PSR_Z_BIT }, { PSR_C_BIT },
	{ PSR_V_BIT },
};

#define NR_GPRS		32
#define FIRST_ARG	0
#define IS_FIXED(i)	((i) == 31 || (IS_ENABLED(CONFIG_SHADOW_CALL_STACK) && (i) == 18))
#define IS_OF_CPU(i)	false
#define LINK(state)	((state)->gpr[30])
#define REGS_LINK(r)	((r)->regs[30])
#define REGS_PC(r)	((r)->pc)

static unsigned long kpb_code(void (*fn)(void))
{
	return (unsigned long)fn;
}

#define DESTROY_REGISTERS()						\
do {									\
	asm volatile(".irp n, " KPB_X19_TO_X28 "\n"			\
		     "	mov x\\n, #0\n"				\
		     ".endr" : : : "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26",	\
		     "x27", "x28");					\
	asm volatile("msr nzcv, %0" : : "r" ((unsigned long)(PSR_Z_BIT | PSR_V_BIT)) : "cc");	\
} while (0)

#include "registers_words.h"

asmlinkage void kpb_note_found(struct kpb_state *found)
{
	s.found = *found;
	if (way_back)
		LINK(found) = way_back;
}

asmlinkage void kpb_note_got(struct kpb_state *got)
{
	s.got = *got;
}

static void give_others(struct kpb_state *state, const struct flags *f)
{
	register unsigned long x18 asm("x18");

	asm volatile("" : "=r" (x18));
	if (IS_FIXED(18))
		state->gpr[18] = x18;
	state->nzcv = f->nzcv;
	way_back = 0;
}

static void expect_others(struct kunit *test, const char *what, const struct kpb_state *got,
			  const struct kpb_state *want)
{
	KUNIT_EXPECT_EQ_MSG(test, got->nzcv, want->nzcv, "flags %s", what);
}

static void change_others(struct kpb_state *state)
{
	state->nzcv ^= NZCV;
}

/* The stack pointer follows the others. */
static void state_of(struct kpb_state *state, const struct pt_regs *regs)
{
	memcpy(state->gpr, regs, sizeof(state->gpr));
	state->nzcv = regs->pstate & NZCV;
	state->daif = regs->pstate & DAIF_MASK;
}

static void set_regs(struct pt_regs *regs, const struct kpb_state *state)
{
	memcpy(regs, state->gpr, sizeof(state->gpr));
	regs->pstate = (regs->pstate & ~NZCV) | state->nzcv;
}

/* None of the instructions has an effect. */
static void execute(struct kpb_state *state, void (*enter)(struct kpb_states *s))
{
}

static void set_way_back(struct pt_regs *regs)
{
	way_back = regs->regs[30];
}

static void change_in_vain(struct pt_regs *regs)
{
	regs->sp += 16;
}

static unsigned long machine(const struct kpb_state *state, bool off)
{
	return state->daif;
}

static void expect_machine(struct kunit *test, const struct pt_regs *regs, enum seen_by by,
			   bool off)
{
	u64 mode = is_kernel_in_hyp_mode() ? PSR_MODE_EL2h : PSR_MODE_EL1h;

	KUNIT_EXPECT_EQ(test, regs->pstate & PSR_MODE_MASK, mode);
	KUNIT_EXPECT_EQ(test, regs->pstate & DAIF_MASK, s.found.daif);
	/* With NMIs, the interrupt controller masks the others. */
	KUNIT_EXPECT_EQ(test, !!(s.found.daif & PSR_I_BIT),
			off && !system_uses_irq_prio_masking());
	if (by == POST_HANDLER)
		KUNIT_EXPECT_EQ(test, regs->pstate, seer.regs.pstate);
	if (by == RETURN_HANDLER)
		KUNIT_EXPECT_EQ(test, regs->pc, LINK(&s.got));
	/* Nothing else, although it may be set; see jumps_hide_fields(). */
	if (by == RETURN_HANDLER || (by == PRE_HANDLER && !seer.how->mode))
		KUNIT_EXPECT_EQ(test, regs->pstate, s.given.nzcv | s.found.daif | mode);
}

/* All of them are for handlers to change. */
static bool has_own_data(const struct pt_regs *regs)
{
	return true;
}

/*
 * Bits of PSTATE that are no flags. An exception saves them, and its end restores them, with
 * what a handler has changed. Jumps and return probes show them as zero, and leave them alone.
 */

#define PSTATE_REG(op1, op2)	sys_reg(3, op1, 4, 2, op2)

/* By the register, as not every assembler knows the names. */
#define PSTATE_FIELD(name, reg)								\
static u64 get_##name(void)								\
{											\
	return read_sysreg_s(reg);							\
}											\
											\
static void set_##name(u64 value)							\
{											\
	write_sysreg_s(value, reg);							\
}

PSTATE_FIELD(pan, PSTATE_REG(0, 3))
PSTATE_FIELD(uao, PSTATE_REG(0, 4))
PSTATE_FIELD(dit, PSTATE_REG(3, 5))
PSTATE_FIELD(ssbs, PSTATE_REG(3, 6))
PSTATE_FIELD(tco, PSTATE_REG(3, 7))

static u64 mmfr1(void)
{
	return read_sysreg_s(SYS_ID_AA64MMFR1_EL1);
}

static u64 mmfr2(void)
{
	return read_sysreg_s(SYS_ID_AA64MMFR2_EL1);
}

static u64 pfr0(void)
{
	return read_sysreg_s(SYS_ID_AA64PFR0_EL1);
}

static u64 pfr1(void)
{
	return read_sysreg_s(SYS_ID_AA64PFR1_EL1);
}

static const struct pstate_field {
	const char	*name;
	u64		bit;
	u64		(*get)(void);
	void		(*set)(u64 value);
	/* Since when the CPU has it. */
	u64		(*id)(void);
	unsigned int	shift, least;
} pstate_fields[] = {
	{ "PAN", PSR_PAN_BIT, get_pan, set_pan, mmfr1, ID_AA64MMFR1_EL1_PAN_SHIFT, 1 },
	{ "UAO", PSR_UAO_BIT, get_uao, set_uao, mmfr2, ID_AA64MMFR2_EL1_UAO_SHIFT, 1 },
	{ "DIT", PSR_DIT_BIT, get_dit, set_dit, pfr0, ID_AA64PFR0_EL1_DIT_SHIFT, 1 },
	{ "SSBS", PSR_SSBS_BIT, get_ssbs, set_ssbs, pfr1, ID_AA64PFR1_EL1_SSBS_SHIFT, 2 },
	{ "TCO", PSR_TCO_BIT, get_tco, set_tco, pfr1, ID_AA64PFR1_EL1_MTE_SHIFT, 2 },
};
KUNIT_ARRAY_PARAM_DESC(pstate_field, pstate_fields, name);

#define PSTATE_FIELDS	(PSR_PAN_BIT | PSR_UAO_BIT | PSR_DIT_BIT | PSR_SSBS_BIT | PSR_TCO_BIT)

static int change_fields(struct pt_regs *regs)
{
	regs->pstate ^= PSTATE_FIELDS;
	return 0;
}

/* The function runs with the field set or clear; returns what is left of it afterwards. */
static u64 enter_with_field(const struct pstate_field *f, u64 value)
{
	u64 old = f->get(), left;

	/* Among them is the pointer to the shadow call stack of this task. */
	give(&flags[0]);
	local_irq_disable();
	f->set(value);
	kpb_enter_copy(&s);
	left = f->get();
	f->set(old);
	local_irq_enable();
	return left & f->bit;
}

static void need_field(struct kunit *test, const struct pstate_field *f)
{
	if (cpuid_feature_extract_unsigned_field(f->id(), f->shift) < f->least)
		kunit_skip(test, "not for this CPU");
}

static void jumps_hide_fields(struct kunit *test)
{
	static const struct how by_exception = HOW("boosted", copy, "boosted", false);
	static const struct how by_jump = HOW("optimized", copy, NULL, false);
	const struct pstate_field *f = test->param_value;
	unsigned int i;

	need_field(test, f);
	for (i = 0; i < 2; i++) {
		u64 value = i ? f->bit : 0;

		look(test, &by_exception, NULL);
		KUNIT_EXPECT_EQ(test, enter_with_field(f, value), value);
		KUNIT_EXPECT_EQ(test, seer.regs.pstate & f->bit, value);
		look_away();

		look(test, &by_jump, change_fields);
		KUNIT_EXPECT_EQ(test, enter_with_field(f, value), value);
		KUNIT_EXPECT_EQ(test, seer.hits, 1);
		KUNIT_EXPECT_EQ(test, seer.regs.pstate & PSTATE_FIELDS, 0);
		look_away();
	}
}

#ifdef CONFIG_KRETPROBES
static int change_fields_on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	returner.regs = *regs;
	returner.returns++;
	return change_fields(regs);
}

static void returns_hide_fields(struct kunit *test)
{
	const struct pstate_field *f = test->param_value;
	unsigned int i, k;

	need_field(test, f);
	for (i = 0; i < ARRAY_SIZE(entries); i++) {
		follow(test, &entries[i], change_fields_on_return);
		for (k = 0; k < 2; k++) {
			u64 value = k ? f->bit : 0;

			KUNIT_EXPECT_EQ_MSG(test, enter_with_field(f, value), value, "%s",
					    entries[i].name);
			KUNIT_EXPECT_EQ(test, returner.returns, k + 1);
			KUNIT_EXPECT_EQ(test, returner.regs.pstate & PSTATE_FIELDS, 0);
		}
		unfollow(&entries[i]);
	}
}
#endif

static struct kunit_case registers_cases[] = {
	KUNIT_CASE_PARAM(handlers_see_all_registers, how_gen_params),
	KUNIT_CASE_PARAM(handlers_change_all_registers, how_gen_params),
	KUNIT_CASE_PARAM(handlers_redirect, how_gen_params),
	KUNIT_CASE_PARAM(handlers_return, how_gen_params),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_PARAM(returns_keep_all_registers, entry_gen_params),
	KUNIT_CASE_PARAM(return_handlers_change_registers, entry_gen_params),
	KUNIT_CASE_PARAM(returns_that_are_missed_keep_registers, entry_gen_params),
#endif
#ifdef CONFIG_JPROBES
	KUNIT_CASE_PARAM(jprobes_change_no_register, how_gen_params),
#endif
	KUNIT_CASE_PARAM(jumps_hide_fields, pstate_field_gen_params),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_PARAM(returns_hide_fields, pstate_field_gen_params),
#endif
	{}
};

KP_SUITE(registers_cases, .name = "kprobes_arm64_registers");
