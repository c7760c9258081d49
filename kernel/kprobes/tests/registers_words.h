/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suites of registers of arm64 and powerpc share. All registers are set when a function
 * is called. Handlers see them, and may change them, however the probe is hit; and what a
 * probe saves is restored. The suite includes this once it has defined
 *
 *  - struct kpb_state, all registers: gpr[NR_GPRS] for the general ones, and others; and struct
 *    kpb_states, those that a function is given, those that it has found, and those that its
 *    caller has got back;
 *  - kpb_enter_NAME(), which calls kpb_entered_NAME() with what is given. That begins with the
 *    probed instruction, which can be copied and emulated ("copy"), has to be stepped if there is
 *    a post handler ("step"), or is a branch; a handler may continue at kpb_elsewhere_NAME(),
 *    which adds 16 to the first argument. FIRST_ARG is the number of its register;
 *  - LINK() of a state, REGS_LINK() and REGS_PC() of struct pt_regs;
 *  - IS_FIXED(), which registers are not for a test to play with, and IS_OF_CPU(), which of these
 *    depends on the CPU;
 *  - struct flags and flags[], at least three values of what is no general register;
 *  - kpb_code(), the address of a function, and DESTROY_REGISTERS(), what a jprobe's handler does.
 *
 * After it, the suite defines the functions that are declared below.
 */
#ifndef _KERNEL_KPROBES_TESTS_REGISTERS_WORDS_H
#define _KERNEL_KPROBES_TESTS_REGISTERS_WORDS_H

#include <linux/limits.h>

/* Of what is no general register: give it, expect it, and change it. */
static void give_others(struct kpb_state *state, const struct flags *f);
static void expect_others(struct kunit *test, const char *what, const struct kpb_state *got,
			  const struct kpb_state *want);
static void change_others(struct kpb_state *state);

static void state_of(struct kpb_state *state, const struct pt_regs *regs);
static void set_regs(struct pt_regs *regs, const struct kpb_state *state);

/* What the probed instruction does. */
static void execute(struct kpb_state *state, void (*enter)(struct kpb_states *s));
/* The function returns to where it was called from, even if a handler changes the link. */
static void set_way_back(struct pt_regs *regs);
/* Changes that have no effect. */
static void change_in_vain(struct pt_regs *regs);

/* The state of the machine, with interrupts off or on; and what handlers see of that. */
static unsigned long machine(const struct kpb_state *state, bool off);

enum seen_by { PRE_HANDLER, POST_HANDLER, RETURN_HANDLER };

static void expect_machine(struct kunit *test, const struct pt_regs *regs, enum seen_by by,
			   bool off);
/* Do registers that are not for handlers to change have the data of this CPU? */
static bool has_own_data(const struct pt_regs *regs);

/* What the function is called with, what it sees, and what its caller gets back. */
static struct kpb_states s;

#define PATTERN(bits)	((unsigned long)((bits) & ULONG_MAX))

static void give(const struct flags *f)
{
	unsigned int i;

	memset(&s, 0, sizeof(s));
	for (i = 0; i < NR_GPRS; i++)
		s.given.gpr[i] = PATTERN(0x1111222233334444ULL) * (i + 1);
	give_others(&s.given, f);
}

/* What a test has not set has the value that it had at the entry. */
static void take(const struct kpb_state *from)
{
	unsigned int i;

	for (i = 0; i < NR_GPRS; i++) {
		if (IS_FIXED(i))
			s.given.gpr[i] = from->gpr[i];
	}
	LINK(&s.given) = LINK(from);
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

static void change_state(struct kpb_state *state)
{
	unsigned int i;

	for (i = 0; i < NR_GPRS; i++) {
		if (!IS_FIXED(i))
			state->gpr[i] ^= PATTERN(0x0123456789abcdefULL);
	}
	change_others(state);
}

static void change(struct pt_regs *regs)
{
	struct kpb_state state;

	state_of(&state, regs);
	change_state(&state);
	set_regs(regs, &state);
}

static void change_but_link(struct pt_regs *regs)
{
	unsigned long link = REGS_LINK(regs);

	change(regs);
	REGS_LINK(regs) = link;
}

static void expect_state(struct kunit *test, const char *what, const struct kpb_state *got,
			 const struct kpb_state *want)
{
	unsigned int i;

	for (i = 0; i < NR_GPRS; i++) {
		if (!IS_OF_CPU(i))
			KUNIT_EXPECT_EQ_MSG(test, got->gpr[i], want->gpr[i], "register %u %s", i,
					    what);
	}
	expect_others(test, what, got, want);
}

static void expect_regs(struct kunit *test, const char *what, const struct pt_regs *regs,
			const struct kpb_state *want)
{
	struct kpb_state state;

	state_of(&state, regs);
	expect_state(test, what, &state, want);
}

/* The function and its caller have what was given. */
static void expect_given(struct kunit *test, bool off)
{
	expect_state(test, "in the function", &s.found, &s.given);
	expect_state(test, "after it", &s.got, &s.given);
	KUNIT_EXPECT_EQ(test, machine(&s.got, off), machine(&s.found, off));
}

/*
 * Handlers
 */

struct how {
	const char	*name;
	const char	*symbol;
	void		(*enter)(struct kpb_states *s);
	void		(*elsewhere)(void);
	const char	*mode;		/* NULL: a jump */
	bool		post;
};

#define HOW(name, which, mode, post) {					\
	name, "kpb_entered_" #which, kpb_enter_##which, kpb_elsewhere_##which, mode, post }

static const struct how hows[] = {
	HOW("boosted", copy, "boosted", false),
	HOW("stepped", step, "stepped", true),
	HOW("emulated where a copy would do", copy, "emulated", true),
	HOW("emulated", branch, "emulated", false),
	HOW("emulated, with a post handler", branch, "emulated", true),
	HOW("optimized", copy, NULL, false),
	HOW("optimized branch", branch, NULL, false),
};
KUNIT_ARRAY_PARAM_DESC(how, hows, name);

/* A probe that records all registers. */
static struct seer {
	struct kprobe		kp;
	const struct how	*how;
	int			(*then)(struct pt_regs *regs);
	struct pt_regs		regs, post;
	unsigned int		hits, posts;
	bool			irqs_off, own_data;
} seer;

static int seer_pre(struct kprobe *p, struct pt_regs *regs)
{
	seer.regs = *regs;
	seer.irqs_off = irqs_disabled();
	seer.own_data &= has_own_data(regs);
	seer.hits++;
	return seer.then ? seer.then(regs) : 0;
}

static void seer_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	seer.post = *regs;
	seer.own_data &= has_own_data(regs);
	seer.posts++;
}

static void set_seer(kprobe_opcode_t *addr, int (*then)(struct pt_regs *regs), bool post)
{
	memset(&seer, 0, sizeof(seer));
	seer.kp.addr = addr;
	seer.kp.pre_handler = seer_pre;
	seer.kp.post_handler = post ? seer_post : NULL;
	seer.then = then;
	seer.own_data = true;
}

static void look(struct kunit *test, const struct how *how, int (*then)(struct pt_regs *regs))
{
	set_seer(NULL, then, how->post);
	seer.kp.symbol_name = how->symbol;
	seer.how = how;
	kp_need_mode(test, how->mode);
	kp_register_in_mode(test, &seer.kp, how->mode);
}

static void look_away(void)
{
	unregister_kprobe(&seer.kp);
	kprobe_test_allow_optimization(true);
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
		KUNIT_EXPECT_EQ(test, REGS_PC(&seer.regs), (unsigned long)seer.kp.addr);
		expect_machine(test, &seer.regs, PRE_HANDLER, off);
		/* A breakpoint masks interrupts, a jump does not. */
		KUNIT_EXPECT_EQ(test, seer.irqs_off, off || how->mode);

		take(&s.found);
		expect_regs(test, "in the handler", &seer.regs, &s.given);
		execute(&s.given, how->enter);
		expect_given(test, off);
		if (how->post) {
			expect_regs(test, "in the post handler", &seer.post, &s.given);
			expect_machine(test, &seer.post, POST_HANDLER, off);
		}
	}
	KUNIT_EXPECT_EQ(test, seer.posts, how->post ? seer.hits : 0);
	KUNIT_EXPECT_TRUE(test, seer.own_data);
	look_away();
}

static int change_all(struct pt_regs *regs)
{
	set_way_back(regs);
	change(regs);
	change_in_vain(regs);
	/* Of no effect if the handler returns 0. */
	REGS_PC(regs) = kpb_code(seer.how->elsewhere);
	return 0;
}

/* From now on, what the handler has left is what is given. */
static void expect_changes(void)
{
	struct kpb_state seen;

	state_of(&seen, &seer.regs);
	take(&seen);
	change_state(&s.given);
}

static void handlers_change_all_registers(struct kunit *test)
{
	const struct how *how = test->param_value;
	unsigned int i;

	look(test, how, change_all);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		give(&flags[i]);
		how->enter(&s);
		expect_changes();
		execute(&s.given, how->enter);
		expect_state(test, "in the function", &s.found, &s.given);
		KUNIT_EXPECT_EQ(test, seer.hits, i + 1);
	}
	look_away();
}

/* Without the accessors, and with everything else changed. */
static int go_elsewhere(struct pt_regs *regs)
{
	change_all(regs);
	return 1;
}

/* Not where the program would have gone, but with the registers of the handler. */
static void handlers_redirect(struct kunit *test)
{
	const struct how *how = test->param_value;
	unsigned int off;

	look(test, how, go_elsewhere);
	for (off = 0; off < 2; off++) {
		enter_with(test, how->enter, &flags[1 + off], off);
		expect_machine(test, &seer.regs, PRE_HANDLER, off);
		expect_changes();
		s.given.gpr[FIRST_ARG] += 16;
		expect_state(test, "elsewhere", &s.found, &s.given);
		KUNIT_EXPECT_EQ(test, seer.hits, off + 1);
	}
	KUNIT_EXPECT_EQ(test, preempt_count(), 0);
	KUNIT_EXPECT_EQ(test, seer.posts, 0);
	look_away();
}

static int return_at_once(struct pt_regs *regs)
{
	change_but_link(regs);
	REGS_PC(regs) = REGS_LINK(regs);
	return 1;
}

/* As error injection does. */
static void handlers_return(struct kunit *test)
{
	const struct how *how = test->param_value;
	unsigned int off;

	look(test, how, return_at_once);
	for (off = 0; off < 2; off++) {
		enter_with(test, how->enter, &flags[1 + off], off);
		expect_changes();
		LINK(&s.given) = REGS_LINK(&seer.regs);
		expect_state(test, "after the call", &s.got, &s.given);
		/* The function was not executed, so it has not stored its registers. */
		KUNIT_EXPECT_NE(test, s.found.gpr[FIRST_ARG], s.given.gpr[FIRST_ARG]);
		KUNIT_EXPECT_EQ(test, seer.hits, off + 1);
	}
	KUNIT_EXPECT_EQ(test, preempt_count(), 0);
	look_away();
}

/*
 * Return probes
 */

#ifdef CONFIG_KRETPROBES
static struct returner {
	struct kretprobe	rp;
	struct kp_watch		join;
	struct pt_regs		regs;
	unsigned int		returns;
	bool			changes, own_data;
} returner;

static int note_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	returner.regs = *regs;
	returner.own_data &= has_own_data(regs);
	returner.returns++;
	if (returner.changes)
		change_but_link(regs);
	return 0;
}

/* How the entry is reached, and whether a few registers are enough there. */
static const struct entry {
	const char	*name;
	bool		jump, join;
} entries[] = {
	{ "by breakpoint", false, false },
	{ "by jump", true, false },
	{ "by jump, with a kprobe", true, true },
};
KUNIT_ARRAY_PARAM_DESC(entry, entries, name);

static void follow(struct kunit *test, const struct entry *e, kretprobe_handler_t handler)
{
	KP_SKIP_IF(test, e->jump && !IS_ENABLED(CONFIG_OPTPROBES), "needs OPTPROBES");

	memset(&returner, 0, sizeof(returner));
	returner.rp.kp.symbol_name = "kpb_entered_copy";
	returner.rp.handler = handler;
	returner.rp.maxactive = 1;
	returner.own_data = true;
	kprobe_test_allow_optimization(e->jump);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&returner.rp), 0);
	if (e->join) {
		returner.join = (struct kp_watch)KP_WATCH(returner.rp.kp.addr);
		KUNIT_EXPECT_EQ(test, register_kprobe(&returner.join.kp), 0);
	}
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpb_has_jump(returner.rp.kp.addr), e->jump);
}

static void unfollow(const struct entry *e)
{
	if (e->join)
		unregister_kprobe(&returner.join.kp);
	unregister_kretprobe(&returner.rp);
	kprobe_test_allow_optimization(true);
}

/* The function finds the trampoline as its link; everything else is as without a probe. */
static void expect_returned(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, is_kretprobe_trampoline(LINK(&s.found)));
	KUNIT_EXPECT_FALSE(test, is_kretprobe_trampoline(LINK(&s.got)));
	take(&s.found);
	expect_state(test, "in the function", &s.found, &s.given);
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
		LINK(&s.given) = LINK(&s.got);
		expect_state(test, "after it", &s.got, &s.given);
		KUNIT_EXPECT_EQ(test, machine(&s.got, off), machine(&s.found, off));
		expect_regs(test, "in the return handler", &returner.regs, &s.got);
		expect_machine(test, &returner.regs, RETURN_HANDLER, off);
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
		LINK(&s.given) = LINK(&s.got);
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
	set_seer(KPB_AT(add), enter_again, false);
	KUNIT_ASSERT_EQ(test, register_kprobe(&seer.kp), 0);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_add, 1), 4);
	KUNIT_EXPECT_EQ(test, seer.hits, 1);
	KUNIT_EXPECT_EQ(test, returner.returns, 0);
	KUNIT_EXPECT_EQ(test, returner.rp.kp.nmissed + returner.rp.nmissed, 1);
	take(&s.found);
	expect_given(test, true);
	unregister_kprobe(&seer.kp);
	unfollow(e);
}

#endif /* CONFIG_KRETPROBES */

/*
 * Jprobes
 */

#ifdef CONFIG_JPROBES
static unsigned int jprobe_calls;

/* With wrong values in all that a function may change, and all that it preserves. */
static noinline void destroy_and_leave(void)
{
	DESTROY_REGISTERS();
	jprobe_return();
}

static void count_and_destroy(unsigned long a1, unsigned long a2, unsigned long a3,
			      unsigned long a4, unsigned long a5, unsigned long a6,
			      unsigned long a7, unsigned long a8)
{
	unsigned long args[] = { a1, a2, a3, a4, a5, a6, a7, a8 };

	jprobe_calls += !memcmp(args, &s.given.gpr[FIRST_ARG], sizeof(args));
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
		take(&s.found);
		execute(&s.given, how->enter);
		expect_given(test, off);
	}
	KUNIT_EXPECT_EQ(test, seer.hits, 2 * ARRAY_SIZE(flags));
	unregister_jprobe(&jp);
	look_away();
}

#endif /* CONFIG_JPROBES */

#endif /* _KERNEL_KPROBES_TESTS_REGISTERS_WORDS_H */
