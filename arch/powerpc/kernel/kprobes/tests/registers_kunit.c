// SPDX-License-Identifier: GPL-2.0-only
/*
 * All registers, from the call of a function to its return: handlers see them, and may change
 * all but r13 and MSR, whatever leads to them; and what a probe saves is restored.
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

/* What the function is called with, what it sees, and what its caller gets back. */
static struct kpb_states s;

/* Not for a test to play with: the stack, and what finds the data of this CPU. */
#define IS_FIXED(i)	((i) == 1 || (i) == (IS_ENABLED(CONFIG_PPC64) ? 13 : 2))

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

static void give(const struct flags *f)
{
	unsigned int i;

	memset(&s, 0, sizeof(s));
	for (i = 0; i < ARRAY_SIZE(s.given.gpr); i++)
		s.given.gpr[i] = KPB_BITS(0x1111222233334444ULL) * (i + 1);
	s.given.ctr = KPB_BITS(0x0123456789abcdefULL);
	s.given.cr = f->cr;
	s.given.xer = f->xer;
}

/* Call the function with interrupts on or off, and expect that they stay so. */
static void enter_with(struct kunit *test, void (*enter)(struct kpb_states *s),
		       const struct flags *f, bool off)
{
	bool was_off;

	give(f);
	if (off)
		local_irq_disable();
	enter(&s);
	was_off = irqs_disabled();
	if (off)
		local_irq_enable();
	KUNIT_EXPECT_EQ(test, was_off, off);
}

struct how {
	const char	*name;
	const char	*symbol;
	void		(*enter)(struct kpb_states *s);
	void		(*elsewhere)(void);
	const char	*mode;		/* NULL: a jump */
	bool		post;
	bool		sets_r0;	/* to the version of the processor */
};

#define HOW(name, which, mode, post, ...) {				\
	name, "kpb_entered_" #which, kpb_enter_##which, kpb_elsewhere_##which, mode, post,	\
	##__VA_ARGS__ }

static const struct how hows[] = {
	HOW("boosted", copy, "boosted", false),
	HOW("stepped", step, "stepped", true, .sets_r0 = true),
	HOW("emulated where a copy would do", copy, "emulated", true),
	HOW("emulated", branch, "emulated", false),
	HOW("emulated, with a post handler", branch, "emulated", true),
	HOW("optimized", copy, NULL, false),
	HOW("optimized branch", branch, NULL, false),
};
KUNIT_ARRAY_PARAM_DESC(how, hows, name);

/* r13 is not for handlers to change. */
static bool has_own_data(const struct pt_regs *regs)
{
#ifdef CONFIG_PPC64
	return regs->gpr[13] == (unsigned long)local_paca;
#else
	return true;
#endif
}

#ifdef CONFIG_KRETPROBES
static void change_on_return(struct pt_regs *regs);
#endif

#include "registers_words.h"

static void expect_gprs(struct kunit *test, const char *what, const unsigned long *gpr,
			const unsigned long *want)
{
	unsigned int i;

	for (i = 0; i < 32; i++) {
		if (!IS_FIXED(i))
			KUNIT_EXPECT_EQ_MSG(test, gpr[i], want[i], "r%u %s", i, what);
	}
}

static void expect_state(struct kunit *test, const char *what, const struct kpb_state *got,
			 const struct kpb_state *want)
{
	expect_gprs(test, what, got->gpr, want->gpr);
	KUNIT_EXPECT_EQ_MSG(test, got->cr, want->cr, "CR %s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->xer & XER_FLAGS, want->xer & XER_FLAGS, "XER %s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->ctr, want->ctr, "CTR %s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->lr, want->lr, "LR %s", what);
}

static void expect_regs(struct kunit *test, const char *what, const struct pt_regs *regs,
			const struct kpb_state *want)
{
	expect_gprs(test, what, regs->gpr, want->gpr);
	KUNIT_EXPECT_EQ_MSG(test, regs->gpr[1], s.found.gpr[1], "r1 %s", what);
	KUNIT_EXPECT_EQ_MSG(test, regs->ccr, want->cr, "CR %s", what);
	KUNIT_EXPECT_EQ_MSG(test, regs->xer & XER_FLAGS, want->xer & XER_FLAGS, "XER %s", what);
	KUNIT_EXPECT_EQ_MSG(test, regs->ctr, want->ctr, "CTR %s", what);
	KUNIT_EXPECT_EQ_MSG(test, regs->link, want->lr, "LR %s", what);
}

/* An exception adds the reason to others. */
#define MSR_SEEN	(MSR_EE | MSR_PR | MSR_ME | MSR_IR | MSR_DR | MSR_RI)

static unsigned long soft_mask(const struct pt_regs *regs)
{
#ifdef CONFIG_PPC64
	return regs->softe;
#else
	return 0;
#endif
}

/* An interrupt that comes while the soft mask is on clears MSR[EE]. */
static unsigned long comparable(unsigned long msr, bool off)
{
	return IS_ENABLED(CONFIG_PPC64) && off ? msr & ~MSR_EE : msr;
}

/* What begins a hit outside of others relies on it. No other probe is hit meanwhile. */
static void expect_no_status(struct kunit *test)
{
	int cpu;

	for_each_online_cpu(cpu)
		KUNIT_EXPECT_EQ_MSG(test, per_cpu(kprobe_ctlblk.kprobe_status, cpu),
				    KPROBE_HIT_ACTIVE, "CPU %d", cpu);
}

static void handlers_see_all_registers(struct kunit *test)
{
	const struct how *how = test->param_value;
	unsigned int i, off;

	look(test, how, NULL);
	for (i = 0; i < 2 * ARRAY_SIZE(flags); i++) {
		off = i & 1;
		enter_with(test, how->enter, &flags[i / 2], off);
		KUNIT_EXPECT_EQ(test, seer.hits, i + 1);

		/* LR is what the call has set. */
		s.given.lr = s.found.lr;
		expect_regs(test, "in the handler", &seer.regs, &s.given);
		if (how->sets_r0)
			s.given.gpr[0] = mfspr(SPRN_PVR);
		expect_state(test, "in the function", &s.found, &s.given);
		expect_state(test, "after it", &s.got, &s.given);
		KUNIT_EXPECT_EQ(test, s.got.gpr[1], s.found.gpr[1]);
		KUNIT_EXPECT_EQ(test, comparable(s.got.msr, off), comparable(s.found.msr, off));

		KUNIT_EXPECT_EQ(test, seer.regs.nip, (unsigned long)seer.kp.addr);
		KUNIT_EXPECT_EQ(test, comparable(seer.regs.msr & MSR_SEEN, off),
				comparable(s.found.msr & MSR_SEEN, off));
		KUNIT_EXPECT_EQ(test, TRAP(&seer.regs), INTERRUPT_PROGRAM);
		if (IS_ENABLED(CONFIG_PPC64))
			KUNIT_EXPECT_EQ(test, soft_mask(&seer.regs), off);
		else
			KUNIT_EXPECT_EQ(test, !(seer.regs.msr & MSR_EE), off);
		KUNIT_EXPECT_TRUE(test, seer.own_data);
		/* A breakpoint masks interrupts, a jump does not. */
		KUNIT_EXPECT_EQ(test, seer.irqs_off, off || how->mode);

		if (how->post) {
			expect_regs(test, "in the post handler", &seer.post, &s.given);
			KUNIT_EXPECT_EQ(test, comparable(seer.post.msr & MSR_SEEN, off),
					comparable(s.found.msr & MSR_SEEN, off));
			KUNIT_EXPECT_EQ(test, seer.post.msr & MSR_SINGLESTEP, 0);
			KUNIT_EXPECT_EQ(test, soft_mask(&seer.post), soft_mask(&seer.regs));
		}
	}
	KUNIT_EXPECT_EQ(test, seer.posts, how->post ? seer.hits : 0);
	expect_no_status(test);
	look_away();
}

#define PATTERN		KPB_BITS(0x0123456789abcdefULL)

static void change_gprs(unsigned long *gpr)
{
	unsigned int i;

	for (i = 0; i < 32; i++) {
		if (!IS_FIXED(i))
			gpr[i] ^= PATTERN;
	}
}

static void change(struct pt_regs *regs)
{
	change_gprs(regs->gpr);
	regs->ctr ^= PATTERN;
	regs->xer ^= XER_FLAGS;
	regs->ccr ^= 0xffffffff;
}

static void change_state(struct kpb_state *state)
{
	change_gprs(state->gpr);
	state->ctr ^= PATTERN;
	state->xer ^= XER_FLAGS;
	state->cr ^= 0xffffffff;
}

static int change_all(struct pt_regs *regs)
{
	kpb_set_way_back(regs->gpr[1], regs->link);
	change(regs);
	regs->link ^= PATTERN;
	/* Of no effect if the handler returns 0. */
	regs->nip = kpb_code(seer.how->elsewhere);
	return 0;
}

static void handlers_change_all_registers(struct kunit *test)
{
	const struct how *how = test->param_value;
	unsigned int i;

	look(test, how, change_all);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		give(&flags[i]);
		how->enter(&s);
		change_state(&s.given);
		s.given.lr = seer.regs.link ^ PATTERN;
		if (how->sets_r0)
			s.given.gpr[0] = mfspr(SPRN_PVR);
		expect_state(test, "in the function", &s.found, &s.given);
		KUNIT_EXPECT_EQ(test, s.found.gpr[1], seer.regs.gpr[1]);
		KUNIT_EXPECT_EQ(test, seer.hits, i + 1);
	}
	look_away();
}

/* Without the accessors, and with everything else changed. */
static int go_elsewhere(struct pt_regs *regs)
{
	kpb_set_way_back(regs->gpr[1], regs->link);
	change(regs);
	regs->link ^= PATTERN;
	regs->nip = kpb_code(seer.how->elsewhere);
	return 1;
}

/* Not where the program would have gone, but with the registers of the handler. */
static void handlers_redirect(struct kunit *test)
{
	const struct how *how = test->param_value;
	unsigned int off;

	look(test, how, go_elsewhere);
	for (off = 0; off < 2; off++) {
		enter_with(test, how->enter, &flags[2 + off], off);
		change_state(&s.given);
		s.given.gpr[3] += 16;
		s.given.lr = seer.regs.link ^ PATTERN;
		expect_state(test, "elsewhere", &s.found, &s.given);
		KUNIT_EXPECT_EQ(test, s.found.gpr[1], seer.regs.gpr[1]);
		KUNIT_EXPECT_EQ(test, comparable(s.found.msr & MSR_SEEN, off),
				comparable(seer.regs.msr & MSR_SEEN, off));
		KUNIT_EXPECT_EQ(test, seer.hits, off + 1);
	}
	KUNIT_EXPECT_EQ(test, preempt_count(), 0);
	KUNIT_EXPECT_EQ(test, seer.posts, 0);
	look_away();
}

static int return_at_once(struct pt_regs *regs)
{
	change(regs);
	regs->nip = regs->link;
	return 1;
}

/* As error injection does. */
static void handlers_return(struct kunit *test)
{
	const struct how *how = test->param_value;
	unsigned int off;

	look(test, how, return_at_once);
	for (off = 0; off < 2; off++) {
		enter_with(test, how->enter, &flags[2 + off], off);
		change_state(&s.given);
		s.given.lr = seer.regs.link;
		expect_state(test, "after the call", &s.got, &s.given);
		KUNIT_EXPECT_EQ(test, s.got.gpr[1], seer.regs.gpr[1]);
		/* The function was not executed: a frame that nobody has written. */
		KUNIT_EXPECT_NE(test, s.found.gpr[3], s.given.gpr[3]);
		KUNIT_EXPECT_EQ(test, seer.hits, off + 1);
	}
	KUNIT_EXPECT_EQ(test, preempt_count(), 0);
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

static int lower_sp(struct kprobe *p, struct pt_regs *regs)
{
	container_of(p, struct seer, kp)->hits++;
	regs->gpr[1] -= LOWER;
	return 0;
}

static int lower_sp_and_return(struct kprobe *p, struct pt_regs *regs)
{
	lower_sp(p, regs);
	regs->nip = regs->link;
	return 1;
}

static void handlers_change_the_stack_pointer(struct kunit *test)
{
	const struct lowered *l = test->param_value;

	kp_need_mode(test, l->mode);
	KUNIT_ASSERT_EQ(test, kpb_run(l->place.fn, 1), 1 + l->add);

	memset(&seer, 0, sizeof(seer));
	seer.kp.addr = kpb_addr(&l->place);
	seer.kp.pre_handler = l->returns ? lower_sp_and_return : lower_sp;
	seer.kp.post_handler = l->post ? seer_post : NULL;
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

	memset(&seer, 0, sizeof(seer));
	seer.kp.addr = kpb_addr(&l->place);
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

static int return_its_value(struct kprobe *p, struct pt_regs *regs)
{
	container_of(p, struct seer, kp)->hits++;
	regs->gpr[3] = 77;
	regs_set_return_ip(regs, regs->link);
	return 1;
}

static int call_another(struct kprobe *p, struct pt_regs *regs)
{
	container_of(p, struct seer, kp)->hits++;
	regs_set_return_ip(regs, (unsigned long)kpb_instead);
	return 1;
}

static const struct diversion {
	const char	*name;
	kprobe_pre_handler_t handler;
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

	memset(&seer, 0, sizeof(seer));
	seer.kp.symbol_name = "kpb_traced";
	seer.kp.pre_handler = d->handler;
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

/*
 * Return probes
 */

#ifdef CONFIG_KRETPROBES
static void change_on_return(struct pt_regs *regs)
{
	change(regs);
}

/* The function finds the trampoline in LR; everything else is as without a probe. */
static void expect_returned(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, is_kretprobe_trampoline(s.found.lr));
	KUNIT_EXPECT_FALSE(test, is_kretprobe_trampoline(s.got.lr));
	s.given.lr = s.found.lr;
	expect_state(test, "in the function", &s.found, &s.given);
	s.given.lr = s.got.lr;
}

static void returns_keep_all_registers(struct kunit *test)
{
	const struct entry *e = test->param_value;
	unsigned int i, off;

	follow(test, e, note_return);
	for (i = 0; i < 2 * ARRAY_SIZE(flags); i++) {
		off = i & 1;
		enter_with(test, kpb_enter_copy, &flags[i / 2], off);
		KUNIT_EXPECT_EQ(test, returner.returns, i + 1);
		expect_returned(test);
		expect_state(test, "after it", &s.got, &s.given);
		KUNIT_EXPECT_EQ(test, s.got.gpr[1], s.found.gpr[1]);
		expect_regs(test, "in the return handler", &returner.regs, &s.got);
		KUNIT_EXPECT_EQ(test, comparable(returner.regs.msr & MSR_SEEN, off),
				comparable(s.got.msr & MSR_SEEN, off));
		if (IS_ENABLED(CONFIG_PPC64))
			KUNIT_EXPECT_EQ(test, soft_mask(&returner.regs), off);
		KUNIT_EXPECT_TRUE(test, returner.own_data);
	}
	if (e->join)
		KUNIT_EXPECT_EQ(test, atomic_read(&returner.join.pre), 2 * ARRAY_SIZE(flags));
	KUNIT_EXPECT_EQ(test, returner.rp.nmissed, 0);
	unfollow(e);
}

static void return_handlers_change_registers(struct kunit *test)
{
	const struct entry *e = test->param_value;
	unsigned int i;

	follow(test, e, note_return);
	returner.changes = true;
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		give(&flags[i]);
		kpb_enter_copy(&s);
		expect_returned(test);
		change_state(&s.given);
		expect_state(test, "after it", &s.got, &s.given);
	}
	unfollow(e);
}

/* Inside another hit, which is missed. */
static int enter_again(struct pt_regs *regs)
{
	give(&flags[2]);
	kpb_enter_copy(&s);
	return 0;
}

static void returns_that_are_missed_keep_registers(struct kunit *test)
{
	const struct entry *e = test->param_value;

	follow(test, e, note_return);
	memset(&seer, 0, sizeof(seer));
	seer.kp.addr = KPB_AT(add);
	seer.kp.pre_handler = seer_pre;
	seer.then = enter_again;
	KUNIT_ASSERT_EQ(test, register_kprobe(&seer.kp), 0);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_add, 1), 4);
	KUNIT_EXPECT_EQ(test, seer.hits, 1);
	KUNIT_EXPECT_EQ(test, returner.returns, 0);
	KUNIT_EXPECT_EQ(test, returner.rp.kp.nmissed + returner.rp.nmissed, 1);
	s.given.lr = s.found.lr;
	expect_state(test, "in the function", &s.found, &s.given);
	expect_state(test, "after it", &s.got, &s.given);
	unregister_kprobe(&seer.kp);
	unfollow(e);
}
#endif /* CONFIG_KRETPROBES */

/*
 * Jprobes
 */

#ifdef CONFIG_JPROBES
static unsigned int jprobe_calls;

/* Leaves with wrong values in all that a function may change, and all that it preserves. */
static noinline void destroy_and_leave(void)
{
	asm volatile("mtcr %0; mtxer %0; mtctr %0" : : "r" (0x5a5a5a5aUL) : "cr0", "cr1", "cr2",
		     "cr3", "cr4", "cr5", "cr6", "cr7", "xer", "ctr");
	asm volatile(".irp n, 14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
		     "	li \\n, 0\n"
		     ".endr" : : : "r14", "r15", "r16", "r17", "r18", "r19", "r20", "r21", "r22",
		     "r23", "r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31");
	jprobe_return();
}

static void count_and_destroy(unsigned long a1, unsigned long a2, unsigned long a3,
			      unsigned long a4, unsigned long a5, unsigned long a6,
			      unsigned long a7, unsigned long a8)
{
	unsigned long args[] = { a1, a2, a3, a4, a5, a6, a7, a8 };

	jprobe_calls += !memcmp(args, &s.given.gpr[3], sizeof(args));
	destroy_and_leave();
}

static void jprobes_change_no_register(struct kunit *test)
{
	const struct how *how = test->param_value;
	struct jprobe jp = { .kp.symbol_name = how->symbol, .entry = count_and_destroy };
	unsigned int i, off;

	look(test, how, NULL);
	KUNIT_ASSERT_EQ(test, register_jprobe(&jp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpb_has_jump(seer.kp.addr), !how->mode);

	jprobe_calls = 0;
	for (i = 0; i < 2 * ARRAY_SIZE(flags); i++) {
		off = i & 1;
		enter_with(test, how->enter, &flags[i / 2], off);
		KUNIT_EXPECT_EQ(test, jprobe_calls, i + 1);

		s.given.lr = s.found.lr;
		if (how->sets_r0)
			s.given.gpr[0] = mfspr(SPRN_PVR);
		expect_state(test, "in the function", &s.found, &s.given);
		expect_state(test, "after it", &s.got, &s.given);
		KUNIT_EXPECT_EQ(test, s.got.gpr[1], s.found.gpr[1]);
		KUNIT_EXPECT_EQ(test, comparable(s.got.msr, off), comparable(s.found.msr, off));
	}
	KUNIT_EXPECT_EQ(test, seer.hits, 2 * ARRAY_SIZE(flags));
	unregister_jprobe(&jp);
	look_away();
}
#endif /* CONFIG_JPROBES */

static struct kunit_case registers_cases[] = {
	KUNIT_CASE_PARAM(handlers_see_all_registers, how_gen_params),
	KUNIT_CASE_PARAM(handlers_change_all_registers, how_gen_params),
	KUNIT_CASE_PARAM(handlers_redirect, how_gen_params),
	KUNIT_CASE_PARAM(handlers_return, how_gen_params),
	KUNIT_CASE_PARAM(handlers_change_the_stack_pointer, lowered_gen_params),
	KUNIT_CASE_PARAM(post_handlers_redirect, late_gen_params),
#ifdef CONFIG_LIVEPATCH_64
	KUNIT_CASE_PARAM(redirections_release_the_livepatch_stack, diversion_gen_params),
#endif
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_PARAM(returns_keep_all_registers, entry_gen_params),
	KUNIT_CASE_PARAM(return_handlers_change_registers, entry_gen_params),
	KUNIT_CASE_PARAM(returns_that_are_missed_keep_registers, entry_gen_params),
#endif
#ifdef CONFIG_JPROBES
	KUNIT_CASE_PARAM(jprobes_change_no_register, how_gen_params),
#endif
	{}
};

static struct kunit_suite registers_suite = {
	.name		= "kprobes_powerpc_registers",
	.test_cases	= registers_cases,
};
kunit_test_suite(registers_suite);
