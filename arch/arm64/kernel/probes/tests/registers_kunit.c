// SPDX-License-Identifier: GPL-2.0-only
/*
 * All registers, from the call of a function to its return: handlers see them, and may change
 * all but the stack pointer, whatever leads to them; and what a probe saves is restored.
 */

#include "suite.h"

#include <linux/cpufeature.h>

#include <asm/daifflags.h>
#include <asm/virt.h>

#include "helpers.h"

/* What the function is called with, what it sees, and what its caller gets back. */
struct kpb_state kpb_given, kpb_found, kpb_got;

/* Where the function returns to even if a handler has changed x30; 0: to x30. */
u64 kpb_way_back;

asmlinkage void kpb_note_found(struct kpb_state *s);
asmlinkage void kpb_note_got(struct kpb_state *s);

/* On the stack, an instance of struct kpb_state. */
#define STATE_SIZE	"272"
#define NZCV_AND_SP	"248"
#define DAIF		"264"

static_assert(sizeof(struct kpb_state) == 272);
static_assert(offsetof(struct kpb_state, nzcv) == 248);
static_assert(offsetof(struct kpb_state, daif) == 264);

/* Changes nothing, and then x0 and x1. */
#define STORE_STATE							\
	"	sub sp, sp, #" STATE_SIZE "\n"				\
	"	stp x0, x1, [sp]\n"					\
	"	stp x2, x3, [sp, #16]\n"				\
	"	stp x4, x5, [sp, #32]\n"				\
	"	stp x6, x7, [sp, #48]\n"				\
	"	stp x8, x9, [sp, #64]\n"				\
	"	stp x10, x11, [sp, #80]\n"				\
	"	stp x12, x13, [sp, #96]\n"				\
	"	stp x14, x15, [sp, #112]\n"				\
	"	stp x16, x17, [sp, #128]\n"				\
	"	stp x18, x19, [sp, #144]\n"				\
	"	stp x20, x21, [sp, #160]\n"				\
	"	stp x22, x23, [sp, #176]\n"				\
	"	stp x24, x25, [sp, #192]\n"				\
	"	stp x26, x27, [sp, #208]\n"				\
	"	stp x28, x29, [sp, #224]\n"				\
	"	str x30, [sp, #240]\n"					\
	"	mrs x0, nzcv\n"						\
	"	add x1, sp, #" STATE_SIZE "\n"				\
	"	stp x0, x1, [sp, #" NZCV_AND_SP "]\n"			\
	"	mrs x0, daif\n"						\
	"	str x0, [sp, #" DAIF "]\n"				\
	"	mov x0, sp\n"

/* All but x0 and x30, from where x0 points to. */
#define LOAD_STATE							\
	"	ldr x1, [x0, #" NZCV_AND_SP "]\n"			\
	"	msr nzcv, x1\n"						\
	"	ldp x2, x3, [x0, #16]\n"				\
	"	ldp x4, x5, [x0, #32]\n"				\
	"	ldp x6, x7, [x0, #48]\n"				\
	"	ldp x8, x9, [x0, #64]\n"				\
	"	ldp x10, x11, [x0, #80]\n"				\
	"	ldp x12, x13, [x0, #96]\n"				\
	"	ldp x14, x15, [x0, #112]\n"				\
	"	ldp x16, x17, [x0, #128]\n"				\
	"	ldp x18, x19, [x0, #144]\n"				\
	"	ldp x20, x21, [x0, #160]\n"				\
	"	ldp x22, x23, [x0, #176]\n"				\
	"	ldp x24, x25, [x0, #192]\n"				\
	"	ldp x26, x27, [x0, #208]\n"				\
	"	ldp x28, x29, [x0, #224]\n"				\
	"	ldr x1, [x0, #8]\n"

/* Before a function that is called through a pointer. */
#ifdef CONFIG_CFI
#define TYPE_HASH(fn)	"	.4byte __kcfi_typeid_" #fn "\n"
#else
#define TYPE_HASH(fn)
#endif

/*
 * kpb_enter_NAME() calls kpb_entered_NAME() with everything set as in kpb_given. The function
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
	"	stp x29, x30, [sp, #-112]!\n"				\
	"	mov x29, sp\n"						\
	"	stp x18, x19, [sp, #16]\n"				\
	"	stp x20, x21, [sp, #32]\n"				\
	"	stp x22, x23, [sp, #48]\n"				\
	"	stp x24, x25, [sp, #64]\n"				\
	"	stp x26, x27, [sp, #80]\n"				\
	"	str x28, [sp, #96]\n"					\
	"	adrp x0, kpb_given\n"					\
	"	add x0, x0, :lo12:kpb_given\n"				\
	LOAD_STATE							\
	"	ldr x0, [x0]\n"						\
	"	bl kpb_entered_" #name "\n"				\
	STORE_STATE							\
	"	bl kpb_note_got\n"					\
	"	add sp, sp, #" STATE_SIZE "\n"				\
	"	ldp x18, x19, [sp, #16]\n"				\
	"	ldp x20, x21, [sp, #32]\n"				\
	"	ldp x22, x23, [sp, #48]\n"				\
	"	ldp x24, x25, [sp, #64]\n"				\
	"	ldp x26, x27, [sp, #80]\n"				\
	"	ldr x28, [sp, #96]\n"					\
	"	ldp x29, x30, [sp], #112\n"				\
	"	ret\n"							\
	".size kpb_enter_" #name ", . - kpb_enter_" #name "\n"		\
	".popsection\n");						\
void kpb_enter_##name(void);						\
void kpb_elsewhere_##name(void)

/* One that is copied and computes, one that is copied, and one that is simulated. */
ENTERED(copy, "orr x1, x1, x1");
ENTERED(access, "ldr xzr, [sp]");
ENTERED(branch, "b 1f");

asmlinkage void kpb_note_found(struct kpb_state *s)
{
	kpb_found = *s;
	if (kpb_way_back)
		s->regs[30] = kpb_way_back;
}

asmlinkage void kpb_note_got(struct kpb_state *s)
{
	kpb_got = *s;
}

#define NZCV	(PSR_N_BIT | PSR_Z_BIT | PSR_C_BIT | PSR_V_BIT)

/* Not for a test to play with. */
#define IS_FIXED(i)	(IS_ENABLED(CONFIG_SHADOW_CALL_STACK) && (i) == 18)

static void give(u64 nzcv)
{
	register unsigned long x18 asm("x18");
	unsigned int i;

	asm volatile("" : "=r" (x18));
	for (i = 0; i < ARRAY_SIZE(kpb_given.regs); i++)
		kpb_given.regs[i] = IS_FIXED(i) ? x18 : 0x1111222233334444ULL * (i + 1);
	kpb_given.nzcv = nzcv;
	memset(&kpb_found, 0, sizeof(kpb_found));
	memset(&kpb_got, 0, sizeof(kpb_got));
	kpb_way_back = 0;
}

struct how {
	const char	*name;
	const char	*symbol;
	void		(*enter)(void);
	void		(*elsewhere)(void);
	const char	*mode;		/* NULL: a jump */
	bool		post;
};

#define HOW(name, which, mode, post) {					\
	name, "kpb_entered_" #which, kpb_enter_##which, kpb_elsewhere_##which, mode, post }

static const struct how hows[] = {
	HOW("boosted", copy, "boosted", false),
	HOW("stepped", access, "stepped", true),
	HOW("emulated by a copy", copy, "emulated", true),
	HOW("emulated", branch, "emulated", false),
	HOW("emulated, with a post handler", branch, "emulated", true),
	HOW("optimized", copy, NULL, false),
	HOW("optimized branch", branch, NULL, false),
};
KUNIT_ARRAY_PARAM_DESC(how, hows, name);

static void change(u64 *regs)
{
	unsigned int i;

	for (i = 0; i < 31; i++) {
		if (!IS_FIXED(i))
			regs[i] ^= 0x0123456789abcdefULL;
	}
}

/* All of them are for handlers to change. */
static bool has_own_data(const struct pt_regs *regs)
{
	return true;
}

static void change_on_return(struct pt_regs *regs)
{
	unsigned long back = regs->regs[30];

	change(regs->regs);
	regs->regs[30] = back;
	regs->pstate ^= NZCV;
}

#include "registers_words.h"

static u64 mode_of_kernel(void)
{
	return is_kernel_in_hyp_mode() ? PSR_MODE_EL2h : PSR_MODE_EL1h;
}

static void expect_regs(struct kunit *test, const char *what, const u64 *regs, const u64 *want)
{
	unsigned int i;

	for (i = 0; i < 31; i++)
		KUNIT_EXPECT_EQ_MSG(test, regs[i], want[i], "x%u %s", i, what);
}

/* x30 is what the call has set. */
static void expect_given(struct kunit *test)
{
	kpb_given.regs[30] = kpb_found.regs[30];
	expect_regs(test, "in the function", kpb_found.regs, kpb_given.regs);
	expect_regs(test, "after it", kpb_got.regs, kpb_given.regs);
	KUNIT_EXPECT_EQ(test, kpb_found.nzcv, kpb_given.nzcv);
	KUNIT_EXPECT_EQ(test, kpb_got.nzcv, kpb_given.nzcv);
	KUNIT_EXPECT_EQ(test, kpb_got.sp, kpb_found.sp);
	KUNIT_EXPECT_EQ(test, kpb_got.daif, kpb_found.daif);
}

static void handlers_see_all_registers(struct kunit *test)
{
	static const u64 flags[] = {
		0, PSR_N_BIT, PSR_Z_BIT, PSR_C_BIT, PSR_V_BIT, NZCV,
	};
	const struct how *how = test->param_value;
	unsigned int i, off;

	look(test, how, NULL);
	for (i = 0; i < 2 * ARRAY_SIZE(flags); i++) {
		off = i & 1;
		give(flags[i / 2]);
		if (off)
			local_irq_disable();
		how->enter();
		if (off)
			local_irq_enable();
		KUNIT_EXPECT_EQ(test, seer.hits, i + 1);
		expect_given(test);
		expect_regs(test, "in the handler", seer.regs.regs, kpb_given.regs);
		KUNIT_EXPECT_EQ(test, seer.regs.pc, (unsigned long)seer.kp.addr);
		KUNIT_EXPECT_EQ(test, seer.regs.sp, kpb_found.sp);
		KUNIT_EXPECT_EQ(test, seer.regs.pstate & NZCV, flags[i / 2]);
		KUNIT_EXPECT_EQ(test, seer.regs.pstate & DAIF_MASK, kpb_found.daif);
		/* With NMIs, the interrupt controller masks the others. */
		KUNIT_EXPECT_EQ(test, !!(kpb_found.daif & PSR_I_BIT),
				off && !system_uses_irq_prio_masking());
		KUNIT_EXPECT_EQ(test, seer.regs.pstate & PSR_MODE_MASK, mode_of_kernel());
		/* Nothing else, although it may be set; see jumps_hide_fields(). */
		if (!how->mode)
			KUNIT_EXPECT_EQ(test, seer.regs.pstate,
					flags[i / 2] | kpb_found.daif | mode_of_kernel());
		/* A breakpoint masks interrupts, a jump does not. */
		KUNIT_EXPECT_EQ(test, seer.irqs_off, off || how->mode);
		if (how->post) {
			expect_regs(test, "in the post handler", seer.post.regs,
				    kpb_given.regs);
			KUNIT_EXPECT_EQ(test, seer.post.sp, kpb_found.sp);
			KUNIT_EXPECT_EQ(test, seer.post.pstate, seer.regs.pstate);
		}
	}
	look_away();
}

static int change_all(struct pt_regs *regs)
{
	kpb_way_back = regs->regs[30];
	change(regs->regs);
	regs->pstate ^= NZCV;
	/* Of no effect, as is the address if the handler returns 0. */
	regs->sp += 16;
	regs->pc = (unsigned long)seer.how->elsewhere;
	return 0;
}

static void handlers_change_all_registers(struct kunit *test)
{
	const struct how *how = test->param_value;

	look(test, how, change_all);
	give(PSR_Z_BIT | PSR_C_BIT);
	how->enter();
	kpb_given.regs[30] = kpb_way_back;
	change(kpb_given.regs);
	expect_regs(test, "in the function", kpb_found.regs, kpb_given.regs);
	KUNIT_EXPECT_EQ(test, kpb_found.nzcv, PSR_N_BIT | PSR_V_BIT);
	KUNIT_EXPECT_EQ(test, kpb_found.sp, seer.regs.sp);
	KUNIT_EXPECT_EQ(test, seer.hits, 1);
	look_away();
}

static int go_elsewhere(struct pt_regs *regs)
{
	kpb_way_back = regs->regs[30];
	change(regs->regs);
	regs->pstate ^= NZCV;
	regs->sp += 16;
	regs->pc = (unsigned long)seer.how->elsewhere;
	return 1;
}

/* Not where the program would have gone, but with the registers of the handler. */
static void handlers_redirect(struct kunit *test)
{
	const struct how *how = test->param_value;
	unsigned int off;

	look(test, how, go_elsewhere);
	for (off = 0; off < 2; off++) {
		give(PSR_Z_BIT | PSR_C_BIT);
		if (off)
			local_irq_disable();
		how->enter();
		KUNIT_EXPECT_EQ(test, irqs_disabled(), off);
		if (off)
			local_irq_enable();
		kpb_given.regs[30] = kpb_way_back;
		change(kpb_given.regs);
		kpb_given.regs[0] += 16;
		expect_regs(test, "elsewhere", kpb_found.regs, kpb_given.regs);
		KUNIT_EXPECT_EQ(test, kpb_found.nzcv, PSR_N_BIT | PSR_V_BIT);
		KUNIT_EXPECT_EQ(test, kpb_found.sp, seer.regs.sp);
		KUNIT_EXPECT_EQ(test, kpb_found.daif, seer.regs.pstate & DAIF_MASK);
		KUNIT_EXPECT_EQ(test, seer.hits, off + 1);
	}
	KUNIT_EXPECT_EQ(test, preempt_count(), 0);
	look_away();
}

static int return_at_once(struct pt_regs *regs)
{
	change_on_return(regs);
	regs->pc = regs->regs[30];
	return 1;
}

/* As error injection does. */
static void handlers_return(struct kunit *test)
{
	const struct how *how = test->param_value;
	unsigned int off;

	look(test, how, return_at_once);
	for (off = 0; off < 2; off++) {
		give(PSR_Z_BIT | PSR_C_BIT);
		if (off)
			local_irq_disable();
		how->enter();
		KUNIT_EXPECT_EQ(test, irqs_disabled(), off);
		if (off)
			local_irq_enable();
		change(kpb_given.regs);
		kpb_given.regs[30] = seer.regs.regs[30];
		expect_regs(test, "after the call", kpb_got.regs, kpb_given.regs);
		KUNIT_EXPECT_EQ(test, kpb_got.nzcv, PSR_N_BIT | PSR_V_BIT);
		KUNIT_EXPECT_EQ(test, kpb_got.sp, seer.regs.sp);
		/* The function was not executed. */
		KUNIT_EXPECT_EQ(test, kpb_found.sp, 0);
	}
	look_away();
}

/*
 * Return probes
 */

#ifdef CONFIG_KRETPROBES
/* The function finds the trampoline in x30; everything else is as without a probe. */
static void expect_returned(struct kunit *test, u64 *way_back)
{
	u64 found = kpb_found.regs[30];

	KUNIT_EXPECT_NE(test, found, kpb_got.regs[30]);
	KUNIT_EXPECT_TRUE(test, is_kretprobe_trampoline(found));
	*way_back = kpb_got.regs[30];
	kpb_found.regs[30] = *way_back;
}

static void returns_keep_all_registers(struct kunit *test)
{
	const struct entry *e = test->param_value;
	unsigned int i, off;
	u64 back;

	follow(test, e, note_return);
	for (i = 0; i < 4; i++) {
		off = i & 1;
		give(i & 2 ? NZCV : PSR_C_BIT);
		if (off)
			local_irq_disable();
		kpb_enter_copy();
		if (off)
			local_irq_enable();
		KUNIT_EXPECT_EQ(test, returner.returns, i + 1);
		expect_returned(test, &back);
		expect_given(test);
		expect_regs(test, "in the return handler", returner.regs.regs, kpb_got.regs);
		KUNIT_EXPECT_EQ(test, returner.regs.pc, back);
		KUNIT_EXPECT_EQ(test, returner.regs.sp, kpb_got.sp);
		KUNIT_EXPECT_EQ(test, returner.regs.pstate,
				kpb_given.nzcv | kpb_got.daif | mode_of_kernel());
	}
	if (e->join)
		KUNIT_EXPECT_EQ(test, atomic_read(&returner.join.pre), 4);
	KUNIT_EXPECT_EQ(test, returner.rp.nmissed, 0);
	unfollow(e);
}

static void return_handlers_change_registers(struct kunit *test)
{
	const struct entry *e = test->param_value;
	u64 back;

	follow(test, e, note_return);
	returner.changes = true;
	give(PSR_Z_BIT | PSR_C_BIT);
	kpb_enter_copy();
	expect_returned(test, &back);
	kpb_given.regs[30] = back;
	expect_regs(test, "in the function", kpb_found.regs, kpb_given.regs);
	change(kpb_given.regs);
	kpb_given.regs[30] = back;
	expect_regs(test, "after it", kpb_got.regs, kpb_given.regs);
	KUNIT_EXPECT_EQ(test, kpb_got.nzcv, PSR_N_BIT | PSR_V_BIT);
	unfollow(e);
}

/* Inside another hit, which is missed. */
static int enter_again(struct pt_regs *regs)
{
	give(PSR_V_BIT | PSR_C_BIT);
	kpb_enter_copy();
	return 0;
}

static void returns_that_are_missed_keep_registers(struct kunit *test)
{
	const struct entry *e = test->param_value;
	struct seer *s = &seer;

	follow(test, e, note_return);
	memset(s, 0, sizeof(*s));
	s->kp.addr = KPB_AT(add);
	s->kp.pre_handler = seer_pre;
	s->then = enter_again;
	KUNIT_ASSERT_EQ(test, register_kprobe(&s->kp), 0);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_add, 1), 4);
	KUNIT_EXPECT_EQ(test, s->hits, 1);
	KUNIT_EXPECT_EQ(test, returner.returns, 0);
	KUNIT_EXPECT_EQ(test, returner.rp.kp.nmissed + returner.rp.nmissed, 1);
	expect_given(test);
	unregister_kprobe(&s->kp);
	unfollow(e);
}
#endif

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
static u64 enter_with(const struct pstate_field *f, u64 value)
{
	u64 old = f->get(), left;

	/* Among them is the pointer to the shadow call stack of this task. */
	give(0);
	local_irq_disable();
	f->set(value);
	kpb_enter_copy();
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
		KUNIT_EXPECT_EQ(test, enter_with(f, value), value);
		KUNIT_EXPECT_EQ(test, seer.regs.pstate & f->bit, value);
		look_away();

		look(test, &by_jump, change_fields);
		KUNIT_EXPECT_EQ(test, enter_with(f, value), value);
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

			KUNIT_EXPECT_EQ_MSG(test, enter_with(f, value), value, "%s",
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
	KUNIT_CASE_PARAM(jumps_hide_fields, pstate_field_gen_params),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_PARAM(returns_hide_fields, pstate_field_gen_params),
#endif
	{}
};

static struct kunit_suite registers_suite = {
	.name		= "kprobes_arm64_registers",
	.test_cases	= registers_cases,
};
kunit_test_suite(registers_suite);
