// SPDX-License-Identifier: GPL-2.0-only
/*
 * All registers, from the call of a function to its return: handlers see them, and may change
 * all but r13 and MSR, however the probe is hit; and what a probe saves is restored.
 */

#include "suite.h"

#include <asm/hw_irq.h>
#include <asm/interrupt.h>
#include <asm/reg.h>

#ifdef CONFIG_PPC64
#include <asm/paca.h>
#endif

#include "entered.h"
#include "helpers.h"

/* Carry, overflow and summary overflow. */
#define XER_FLAGS	0xe0000000UL

static const struct flags {
	unsigned long	cr, xer;
} flags[] = {
	{ 0, 0 },
	{ 0xffffffff, XER_FLAGS },
	{ 0x84218421, 0x20000000 },
	{ 0x12481248, 0x80000000 },
};

#define NR_GPRS		32
#define FIRST_ARG	3
/* The stack, and what finds the data of this CPU. */
#define IS_FIXED(i)	((i) == 1 || (i) == (IS_ENABLED(CONFIG_PPC64) ? 13 : 2))
#define IS_OF_CPU(i)	(IS_ENABLED(CONFIG_PPC64) && (i) == 13)
#define LINK(state)	((state)->lr)
#define REGS_LINK(regs)	((regs)->link)
#define REGS_PC(regs)	((regs)->nip)

#define DESTROY_REGISTERS()						\
do {									\
	asm volatile("mtcr %0; mtxer %0; mtctr %0" : : "r" (0x5a5a5a5aUL) : "cr0", "cr1",	\
		     "cr2", "cr3", "cr4", "cr5", "cr6", "cr7", "xer", "ctr");	\
	asm volatile(".irp n, 14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"	\
		     "	li \\n, 0\n"					\
		     ".endr" : : : "r14", "r15", "r16", "r17", "r18", "r19", "r20", "r21",	\
		     "r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31");	\
} while (0)

#include "registers_words.h"

static void give_others(struct kpb_state *state, const struct flags *f)
{
	state->ctr = PATTERN(0x0123456789abcdefULL);
	state->cr = f->cr;
	state->xer = f->xer;
}

static void expect_others(struct kunit *test, const char *what, const struct kpb_state *got,
			  const struct kpb_state *want)
{
	KUNIT_EXPECT_EQ_MSG(test, got->cr, want->cr, "CR %s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->xer & XER_FLAGS, want->xer & XER_FLAGS, "XER %s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->ctr, want->ctr, "CTR %s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->lr, want->lr, "LR %s", what);
}

static void change_others(struct kpb_state *state)
{
	state->ctr ^= PATTERN(0x0123456789abcdefULL);
	state->lr ^= PATTERN(0x0123456789abcdefULL);
	state->xer ^= XER_FLAGS;
	state->cr ^= 0xffffffff;
}

static void state_of(struct kpb_state *state, const struct pt_regs *regs)
{
	memcpy(state->gpr, regs->gpr, sizeof(state->gpr));
	state->cr = regs->ccr;
	state->xer = regs->xer;
	state->ctr = regs->ctr;
	state->lr = regs->link;
	state->msr = regs->msr;
}

static void set_regs(struct pt_regs *regs, const struct kpb_state *state)
{
	memcpy(regs->gpr, state->gpr, sizeof(state->gpr));
	regs->ccr = state->cr;
	regs->xer = state->xer;
	regs->ctr = state->ctr;
	regs->link = state->lr;
}

static void execute(struct kpb_state *state, void (*enter)(struct kpb_states *s))
{
	if (enter == kpb_enter_step)
		state->gpr[0] = mfspr(SPRN_PVR);
}

static void set_way_back(struct pt_regs *regs)
{
	kpb_set_way_back(regs->gpr[1], regs->link);
}

static void change_in_vain(struct pt_regs *regs)
{
}

/* An interrupt that comes while the soft mask is on clears MSR[EE]. */
static unsigned long comparable(unsigned long msr, bool off)
{
	return IS_ENABLED(CONFIG_PPC64) && off ? msr & ~MSR_EE : msr;
}

static unsigned long machine(const struct kpb_state *state, bool off)
{
	return comparable(state->msr, off);
}

/* An exception adds the reason to others. */
#define MSR_SEEN	(MSR_EE | MSR_PR | MSR_ME | MSR_IR | MSR_DR | MSR_RI)

static void expect_machine(struct kunit *test, const struct pt_regs *regs, enum seen_by by,
			   bool off)
{
	KUNIT_EXPECT_EQ(test, comparable(regs->msr & MSR_SEEN, off),
			comparable(s.found.msr & MSR_SEEN, off));
#ifdef CONFIG_PPC64
	KUNIT_EXPECT_EQ(test, regs->softe, off);
#else
	KUNIT_EXPECT_EQ(test, !(regs->msr & MSR_EE), off);
#endif
	if (by == PRE_HANDLER)
		KUNIT_EXPECT_EQ(test, TRAP(regs), INTERRUPT_PROGRAM);
	if (by == POST_HANDLER)
		KUNIT_EXPECT_EQ(test, regs->msr & MSR_SINGLESTEP, 0);
}

/* r13 is not for handlers to change. */
static bool has_own_data(const struct pt_regs *regs)
{
#ifdef CONFIG_PPC64
	return regs->gpr[13] == (unsigned long)local_paca;
#else
	return true;
#endif
}

/* What begins a hit outside of others relies on it. No other probe is hit meanwhile. */
static void hits_leave_no_status(struct kunit *test)
{
	const struct how *how = test->param_value;
	int cpu;

	look(test, how, NULL);
	enter_with(test, how->enter, &flags[0], false);
	for_each_online_cpu(cpu)
		KUNIT_EXPECT_EQ_MSG(test, per_cpu(kprobe_ctlblk.kprobe_status, cpu),
				    KPROBE_HIT_ACTIVE, "CPU %d", cpu);
	look_away();
}

/*
 * The stack pointer
 */

/* They return by how much a handler has lowered it, and the second one calls a function. */
KPB_FUNCTION(sp_nop, "mr 9, 1\n 777: nop\n subf 6, 1, 9\n mr 1, 9\n add 3, 3, 6");
KPB_FUNCTION(sp_bl, "mr 9, 1\n mflr 8\n 777: bl " KPB_CODE(callee) "\n subf 6, 1, 9\n"
	     "mr 1, 9\n mtlr 8\n add 3, 3, 6");
KPB_FUNCTION(sp_pvr, "mr 9, 1\n 777: mfspr 6, 287\n subf 6, 1, 9\n mr 1, 9\n add 3, 3, 6");
KPB_FUNCTION(sp_b, "mr 9, 1\n 777: b 1f\n nop\n1: subf 6, 1, 9\n mr 1, 9\n add 3, 3, 6");
/*
 * The handler returns to the caller, which is the function itself. To objtool, BL within a function
 * is an error, and then it would record no site of ftrace in this file.
 */
KPB_FUNCTION(sp_blr, "mr 9, 1\n mflr 8\n bcl 20, 31, 1f\n subf 6, 1, 9\n mr 1, 9\n mtlr 8\n"
	     "add 3, 3, 6\n blr\n1: 777: nop");

struct lowered {
	const char		*name;
	struct kpb_place	place;
	const char		*mode;		/* NULL: a jump */
	bool			post, returns;
	unsigned long		add;
};

static const struct lowered lowered[] = {
	{ "boosted", KPB_PLACE(sp_nop), "boosted" },
	{ "emulated", KPB_PLACE(sp_nop), "emulated", .post = true },
	{ "emulated call", KPB_PLACE(sp_bl), "emulated", .add = 100 },
	{ "stepped", KPB_PLACE(sp_pvr), "stepped", .post = true },
	{ "optimized", KPB_PLACE(sp_nop) },
	{ "optimized branch", KPB_PLACE(sp_b) },
	{ "optimized call", KPB_PLACE(sp_bl), .add = 100 },
	{ "returning", KPB_PLACE(sp_blr), "boosted", .returns = true },
	{ "optimized, returning", KPB_PLACE(sp_blr), .returns = true },
};
KUNIT_ARRAY_PARAM_DESC(lowered, lowered, name);

#define LOWER	64

static int lower_sp(struct pt_regs *regs)
{
	regs->gpr[1] -= LOWER;
	return 0;
}

static int lower_sp_and_return(struct pt_regs *regs)
{
	lower_sp(regs);
	regs->nip = regs->link;
	return 1;
}

static void handlers_change_the_stack_pointer(struct kunit *test)
{
	const struct lowered *l = test->param_value;

	kp_need_mode(test, l->mode);
	KUNIT_ASSERT_EQ(test, kpb_run(l->place.fn, 1), 1 + l->add);

	set_seer(kpb_addr(&l->place), l->returns ? lower_sp_and_return : lower_sp, l->post);
	kp_register_in_mode(test, &seer.kp, l->mode);
	KUNIT_EXPECT_EQ(test, kpb_run(l->place.fn, 1), 1 + l->add + LOWER);
	KUNIT_EXPECT_EQ(test, seer.hits, 1);
	KUNIT_EXPECT_EQ(test, seer.posts, l->post);
	KUNIT_EXPECT_EQ(test, preempt_count(), 0);
	look_away();
}

/*
 * Post handlers
 */

static void go_elsewhere_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	seer_post(p, regs, flags);
	regs->nip = kpb_code(kpb_callee);
}

struct late {
	const char		*name;
	struct kpb_place	place;
	const char		*mode;
};

static const struct late lates[] = {
	{ "emulated", KPB_PLACE(add), "emulated" },
	{ "stepped", KPB_PLACE(pvr), "stepped" },
};
KUNIT_ARRAY_PARAM_DESC(late, lates, name);

static void post_handlers_redirect(struct kunit *test)
{
	const struct late *l = test->param_value;

	set_seer(kpb_addr(&l->place), NULL, false);
	seer.kp.post_handler = go_elsewhere_post;
	KUNIT_ASSERT_EQ(test, register_kprobe(&seer.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(seer.kp.addr), l->mode);
	/* Instead of the rest of the function. */
	KUNIT_EXPECT_EQ(test, kpb_run(l->place.fn, 1), l->place.fn == kpb_add ? 104 : 101);
	KUNIT_EXPECT_EQ(test, seer.posts, 1);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	look_away();
}

/*
 * Sites of ftrace
 */

#ifdef CONFIG_LIVEPATCH_64
static noinline __noclone long kpb_traced(long v)
{
	/* Without an effect, it would be called only once. */
	barrier();
	OPTIMIZER_HIDE_VAR(v);
	return v * 3;
}

static noinline __noclone long kpb_instead(long v)
{
	barrier();
	OPTIMIZER_HIDE_VAR(v);
	return v * 5;
}

static int return_its_value(struct pt_regs *regs)
{
	regs->gpr[3] = 77;
	regs_set_return_ip(regs, regs->link);
	return 1;
}

static int call_another(struct pt_regs *regs)
{
	regs_set_return_ip(regs, (unsigned long)kpb_instead);
	return 1;
}

static const struct diversion {
	const char	*name;
	int		(*then)(struct pt_regs *regs);
	long		want;
} diversions[] = {
	{ "to the caller", return_its_value, 77 },
	{ "to another function", call_another, 500 },
};
KUNIT_ARRAY_PARAM_DESC(diversion, diversions, name);

/*
 * To ftrace, each redirection is the call of a livepatched function. What it pushes on the stack
 * of these calls has to be popped, or else that stack grows into the other one.
 */
static void redirections_release_the_livepatch_stack(struct kunit *test)
{
	const struct diversion *d = test->param_value;
	struct thread_info *ti = task_thread_info(current);
	unsigned long before = (unsigned long)ti->livepatch_sp;
	unsigned int i;

	set_seer(NULL, d->then, false);
	seer.kp.symbol_name = "kpb_traced";
	KUNIT_ASSERT_EQ(test, register_kprobe(&seer.kp), 0);
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&seer.kp));
	for (i = 1; i <= 20; i++) {
		KUNIT_EXPECT_EQ(test, kpb_traced(100), d->want);
		KUNIT_EXPECT_EQ(test, seer.hits, i);
	}
	KUNIT_EXPECT_EQ(test, (unsigned long)ti->livepatch_sp, before);
	unregister_kprobe(&seer.kp);
	KUNIT_EXPECT_EQ(test, kpb_traced(100), 300);
}
#endif /* CONFIG_LIVEPATCH_64 */

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
	KUNIT_CASE_PARAM(hits_leave_no_status, how_gen_params),
	KUNIT_CASE_PARAM(handlers_change_the_stack_pointer, lowered_gen_params),
	KUNIT_CASE_PARAM(post_handlers_redirect, late_gen_params),
#ifdef CONFIG_LIVEPATCH_64
	KUNIT_CASE_PARAM(redirections_release_the_livepatch_stack, diversion_gen_params),
#endif
	{}
};

KP_SUITE(registers_cases, .name = "kprobes_powerpc_registers");
