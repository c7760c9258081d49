// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of jprobes: what handlers see, the ways to leave them, and what remains of the
 * functions that are left without their end.
 */

#include "suite.h"

#include <linux/fprobe.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <linux/stacktrace.h>

#include "../hit.h"
#include "../jprobe.h"
#include "../register.h"
#include "../site.h"
#include "helpers.h"
#include "traces.h"
#include "signatures.h"

/*
 * On x86_64, six of the arguments are in registers, and the rest is all that is copied
 * of the stack. On arm64, eight are in registers; the rest of the copy is in a suite of
 * its own.
 */
#define ARGS	14
#define PARAMETERS							\
	long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8, \
	long a9, long a10, long a11, long a12, long a13, long a14
#define SUM(v)								\
	((a1) + 2 * (a2) + 3 * (a3) + 4 * (a4) + 5 * (a5) + 6 * (a6) + 7 * (a7) + \
	 8 * (a8) + 9 * (a9) + 10 * (a10) + 11 * (a11) + 12 * (a12) + 13 * (a13) + \
	 14 * (a14) + (v))

typedef long (*target_fn)(PARAMETERS);

static noinline __noclone notrace long kpj_plain(PARAMETERS)
{
	KP_PADDING;
	return SUM(1);
}

static noinline __noclone notrace long kpj_jumped(PARAMETERS)
{
	KP_PADDING;
	return SUM(2);
}

static noinline __noclone long kpj_traced(PARAMETERS)
{
	OPTIMIZER_HIDE_VAR(a1);
	return SUM(3);
}

enum hit { BREAKPOINT, DETOUR, FTRACE };

struct mode {
	const char	*name;
	const char	*symbol;
	target_fn	fn;
	enum hit	hit;
	long		add;
};

static const struct mode modes[] = {
	{ "breakpoint",	"kpj_plain",	kpj_plain,	BREAKPOINT,	1 },
	{ "detour",	"kpj_jumped",	kpj_jumped,	DETOUR,		2 },
	{ "ftrace",	"kpj_traced",	kpj_traced,	FTRACE,		3 },
};
KUNIT_ARRAY_PARAM_DESC(mode, modes, name);

/* What handlers look at. It is there once, as there is one call at a time. */
static struct {
	const struct mode	*mode;
	long			arg[ARGS];
	int			calls, others, went_on;
	bool			may[4];
	void			(*inside)(void);
	unsigned long		trace[64];
	unsigned int		traced;
} now;

struct jprobe_test {
	struct jprobe	jp;
	struct kprobe	post;
	bool		on, post_on;
};

static noinline long call_with(long a1)
{
	long (*volatile fn)(PARAMETERS) = now.mode->fn;

	/* Not a tail call, so that stack traces have this function. */
	return fn(a1, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140) + 1000;
}

static long result_with(long a1)
{
	int i;

	for (i = 2; i <= ARGS; i++)
		a1 += 10 * i * i;
	return a1 + now.mode->add + 1000;
}

#define EXPECT_RESULT(test)	KUNIT_EXPECT_EQ(test, call_with(10), result_with(10))

static bool is_optimized(void *addr)
{
	struct kprobe *p;

	guard(preempt)();

	p = get_kprobe(addr);
	return p && kprobe_optimized(p);
}

/* A jprobe on the function of the mode, which is then hit as the mode says. */
static void jprobe_on(struct kunit *test, const struct mode *mode, void *entry)
{
	struct jprobe_test *t = test->priv;

	now.mode = mode;
	if (mode->hit == FTRACE && !KPROBES_TEST_HAS_FTRACE_NAMES)
		kunit_skip(test, "probes by name are not on ftrace sites");

	/* A post handler rules a jump out. */
	if (mode->hit == BREAKPOINT) {
		t->post.symbol_name = mode->symbol;
		t->post.post_handler = kp_nothing_post;
		KUNIT_ASSERT_EQ(test, register_kprobe(&t->post), 0);
		t->post_on = true;
	}

	t->jp.kp.symbol_name = mode->symbol;
	t->jp.entry = entry;
	KUNIT_ASSERT_EQ(test, register_jprobe(&t->jp), 0);
	t->on = true;

	wait_for_kprobe_optimizer();
	KP_SKIP_IF(test, mode->hit == DETOUR && !is_optimized(t->jp.kp.addr), "not optimized");
	KUNIT_ASSERT_EQ(test, is_optimized(t->jp.kp.addr), mode->hit == DETOUR);
}

static void jprobe_off(struct kunit *test)
{
	struct jprobe_test *t = test->priv;

	if (t->on)
		unregister_jprobe(&t->jp);
	if (t->post_on)
		unregister_kprobe(&t->post);
	t->on = false;
	t->post_on = false;
	memset(&t->jp, 0, sizeof(t->jp));
	memset(&t->post, 0, sizeof(t->post));
}

/* Outside of exceptions, if there is a way. */
static const struct mode *quiet_mode(void)
{
	return KPROBES_TEST_HAS_FTRACE_NAMES ? &modes[FTRACE] : &modes[DETOUR];
}

/*
 * Arguments
 */

static long see_arguments(PARAMETERS)
{
	long args[ARGS] = { a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14 };

	memcpy(now.arg, args, sizeof(args));
	now.calls++;
	/* In memory, where the probed function has its own. */
	WRITE_ONCE(a9, -1);
	WRITE_ONCE(a14, -1);
	jprobe_return();
	now.went_on++;
	return 0;
}

static void jprobe_handler_sees_arguments(struct kunit *test)
{
	int i;

	jprobe_on(test, test->param_value, see_arguments);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 1);
	KUNIT_EXPECT_EQ(test, now.went_on, 0);
	for (i = 0; i < ARGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, now.arg[i], 10 * (i + 1), "argument %d", i + 1);

	jprobe_off(test);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 1);
}

/*
 * Ways to leave
 */

static noinline __noclone void leave_from(int depth)
{
	u8 frame[40];

	memset(frame, depth, sizeof(frame));
	OPTIMIZER_HIDE_VAR(depth);
	if (depth)
		leave_from(depth - 1);
	else
		jprobe_return();
	/* Reached only if that returns. */
	now.went_on += 1 + frame[depth & 7];
}

static void leave_deep(long a1)
{
	now.calls++;
	leave_from(a1);
	now.went_on++;
}

static void jprobe_return_at_any_depth(struct kunit *test)
{
	int depth;

	jprobe_on(test, test->param_value, leave_deep);
	for (depth = 0; depth < 8; depth++)
		KUNIT_EXPECT_EQ(test, call_with(depth), result_with(depth));
	KUNIT_EXPECT_EQ(test, now.calls, 8);
	KUNIT_EXPECT_EQ(test, now.went_on, 0);
}

static long return_instead(long a1)
{
	now.calls++;
	return -a1;
}

static void jprobe_handler_may_not_return(struct kunit *test)
{
	jprobe_on(test, test->param_value, return_instead);
	kp_expect_splat("return_instead of a jprobe returned without jprobe_return");
	EXPECT_RESULT(test);
	/* Without another warning. */
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 2);
}

/*
 * Others on the same function
 */

static void count_and_leave(void)
{
	now.calls++;
	jprobe_return();
}

static void count_other_and_leave(long a1)
{
	now.others += a1;
	jprobe_return();
}

static int count_kprobe(struct kprobe *p, struct pt_regs *regs)
{
	now.others += 100;
	return 0;
}

#ifdef CONFIG_KRETPROBES
static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	now.others += 1000;
	return 0;
}

static struct kretprobe other_return = { .handler = count_return };
#endif

static void jprobe_shares_its_function(struct kunit *test)
{
	const struct mode *mode = test->param_value;
	struct jprobe other = { .kp.symbol_name = mode->symbol, .entry = count_other_and_leave };
	struct kprobe kp = { .symbol_name = mode->symbol, .pre_handler = count_kprobe };
	int want = 110;

	jprobe_on(test, mode, count_and_leave);
	KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
	KUNIT_EXPECT_EQ(test, register_jprobe(&other), 0);
#ifdef CONFIG_KRETPROBES
	other_return.kp = (struct kprobe) { .symbol_name = mode->symbol };
	KUNIT_EXPECT_EQ(test, register_kretprobe(&other_return), 0);
	want += 1000;
#endif
	wait_for_kprobe_optimizer();

	EXPECT_RESULT(test);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 2);
	KUNIT_EXPECT_EQ(test, now.others, 2 * want);

#ifdef CONFIG_KRETPROBES
	unregister_kretprobe(&other_return);
#endif
	unregister_jprobe(&other);
	unregister_kprobe(&kp);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 3);
	KUNIT_EXPECT_EQ(test, now.others, 2 * want);
}

static void call_probed(long a1)
{
	now.calls++;
	if (now.calls == 1)
		now.others = call_with(a1 + 1) == result_with(a1 + 1);
	jprobe_return();
}

static void jprobe_nested_hit_is_missed(struct kunit *test)
{
	struct jprobe_test *t = test->priv;

	jprobe_on(test, test->param_value, call_probed);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 1);
	KUNIT_EXPECT_EQ(test, now.others, 1);
	KUNIT_EXPECT_EQ(test, t->jp.kp.nmissed, 1);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 2);
	KUNIT_EXPECT_EQ(test, t->jp.kp.nmissed, 1);
}

static void call_from_irq(struct irq_work *work)
{
	now.others = call_with(7) == result_with(7);
}

static void jprobe_in_interrupt(struct kunit *test)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(call_from_irq);

	jprobe_on(test, test->param_value, leave_deep);
	irq_work_queue(&work);
	irq_work_sync(&work);
	KUNIT_EXPECT_EQ(test, now.others, 1);
	KUNIT_EXPECT_EQ(test, now.calls, 1);
}

/*
 * Registration
 */

static void jprobe_disable_and_enable(struct kunit *test)
{
	struct jprobe_test *t = test->priv;

	jprobe_on(test, test->param_value, count_and_leave);
	KUNIT_EXPECT_EQ(test, disable_jprobe(&t->jp), 0);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 0);
	KUNIT_EXPECT_EQ(test, enable_jprobe(&t->jp), 0);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 1);
}

static long some_data[4];

struct refusal_case {
	const char	*name;
	void		*entry;
	unsigned int	entry_offset;
	const char	*symbol;
	unsigned int	offset;
	int		want;
	u32		flags;
};

static const struct refusal_case refusal_cases[] = {
	{ "no handler",		NULL,		 0, "kpj_plain",	0, -EINVAL },
	{ "not a start",	count_and_leave, 1, "kpj_plain",	0, -EINVAL },
	{ "data",		some_data,	 0, "kpj_plain",	0, -EINVAL },
	{ "nowhere",		(void *)0x1000,	 0, "kpj_plain",	0, -EINVAL },
	{ "no symbol",		count_and_leave, 0, "kpj_nobody",	0, -ENOENT },
	{ "not an entry",	count_and_leave, 0, "kpj_plain",	40, -EINVAL },
	{ "reentrant",		count_and_leave, 0, "kpj_plain",	0, -EINVAL,
	  KPROBE_FLAG_REENTRANT },
	{ "unknown flag",	count_and_leave, 0, "kpj_plain",	0, -EINVAL,
	  KPROBE_FLAGS + 1 },
};
KUNIT_ARRAY_PARAM_DESC(refusal, refusal_cases, name);

static void jprobe_refused(struct kunit *test)
{
	const struct refusal_case *c = test->param_value;
	struct jprobe jp = {
		.kp.symbol_name	= c->symbol,
		.kp.offset	= c->offset,
		.kp.flags	= c->flags,
		.entry		= c->entry + c->entry_offset,
	}, good = {
		.kp.symbol_name	= "kpj_jumped",
		.entry		= count_and_leave,
	}, *both[] = { &good, &jp };

	now.mode = &modes[DETOUR];
	KUNIT_EXPECT_EQ(test, register_jprobe(&jp), c->want);
	KUNIT_EXPECT_NULL(test, jp.kp.addr);
	KUNIT_EXPECT_EQ(test, jp.kp.flags, c->flags);

	/* All or none. */
	KUNIT_EXPECT_EQ(test, register_jprobes(both, 2), c->want);
	KUNIT_EXPECT_NULL(test, good.kp.addr);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 0);

	/* As they are, except for what was wrong. */
	jp.kp.symbol_name = "kpj_plain";
	jp.kp.offset = 0;
	jp.kp.flags = 0;
	jp.entry = JPROBE_ENTRY(count_and_leave);
	KUNIT_ASSERT_EQ(test, register_jprobes(both, 2), 0);
	EXPECT_RESULT(test);
	now.mode = &modes[BREAKPOINT];
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 2);
	unregister_jprobes(both, 2);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 2);
}

static void jprobe_arguments(struct kunit *test)
{
	struct jprobe jp = {
		.kp.symbol_name		= "kpj_plain",
		.kp.pre_handler		= count_kprobe,
		.kp.post_handler	= kp_nothing_post,
		.entry			= count_and_leave,
	}, *jps[] = { &jp };

	now.mode = &modes[BREAKPOINT];
	KUNIT_EXPECT_EQ(test, register_jprobes(NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_jprobes(jps, 0), -EINVAL);
	unregister_jprobes(NULL, 1);

	/* Its own handlers replace those of the user. */
	KUNIT_ASSERT_EQ(test, register_jprobe(&jp), 0);
	KUNIT_EXPECT_TRUE(test, is_jprobe(&jp.kp));
	KUNIT_EXPECT_NULL(test, jp.kp.post_handler);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 1);
	KUNIT_EXPECT_EQ(test, now.others, 0);
	unregister_jprobe(&jp);
	unregister_jprobe(&jp);
	KUNIT_EXPECT_NULL(test, jp.kp.addr);
}

/*
 * State
 */

static DEFINE_RAW_SPINLOCK(left_locked);

static noinline void keep_preemption_off(void)
{
	preempt_disable();
	jprobe_return();
}

static noinline void keep_softirqs_off(void)
{
	local_bh_disable();
	jprobe_return();
}

static noinline void keep_interrupts_off(void)
{
	local_irq_disable();
	jprobe_return();
}

static noinline void keep_interrupts_on(void)
{
	local_irq_enable();
	jprobe_return();
}

static noinline void keep_rcu_locked(void)
{
	rcu_read_lock();
	rcu_read_lock();
	jprobe_return();
	/* Not reached. */
	__release(RCU);
	__release(RCU);
}

static noinline void keep_lock(void)
{
	raw_spin_lock(&left_locked);
	jprobe_return();
	/* Not reached. */
	__release(&left_locked);
}

static noinline void keep_faults_off(void)
{
	pagefault_disable();
	jprobe_return();
}

static noinline void keep_migration_off(void)
{
	migrate_disable();
	jprobe_return();
}

static void call_inside(void)
{
	now.calls++;
	now.inside();
	now.went_on++;
}

struct state_case {
	const char	*name;
	void		(*fn)(void);
	const char	*text;
	/* It changes nothing that this kernel keeps a record of. */
	bool		unseen;
	bool		irqs_off;
};

static const struct state_case state_cases[] = {
	{ "preemption",		keep_preemption_off,	"preemption +1,",
	  .unseen = !IS_ENABLED(CONFIG_PREEMPT_COUNT) },
	{ "softirqs",		keep_softirqs_off,	"preemption +512,",
	  .unseen = IS_ENABLED(CONFIG_PREEMPT_RT) },
	{ "interrupts off",	keep_interrupts_off,	"interrupts off,", },
	{ "interrupts on",	keep_interrupts_on,	"interrupts on,", .irqs_off = true },
	{ "rcu",		keep_rcu_locked,
	  IS_ENABLED(CONFIG_PREEMPT_RCU) ? "RCU +2," : "preemption +2,",
	  .unseen = !IS_ENABLED(CONFIG_PREEMPT_COUNT) && !IS_ENABLED(CONFIG_PREEMPT_RCU) },
	{ "lock",		keep_lock,
	  IS_ENABLED(CONFIG_LOCKDEP) ? "locks +1," : "preemption +1,",
	  .unseen = !IS_ENABLED(CONFIG_LOCKDEP) && !IS_ENABLED(CONFIG_PREEMPT_COUNT) },
	{ "page faults",	keep_faults_off,	"page faults +1,", },
	{ "migration",		keep_migration_off,	"migration +1",
	  .unseen = !IS_ENABLED(CONFIG_SMP) },
};
KUNIT_ARRAY_PARAM_DESC(state, state_cases, name);

static int lock_depth(void)
{
#ifdef CONFIG_LOCKDEP
	return current->lockdep_depth;
#else
	return 0;
#endif
}

static int migration_disabled(void)
{
#ifdef CONFIG_SMP
	return current->migration_disabled;
#else
	return 0;
#endif
}

/* Called after the jprobe. The end of the hit restores the flags in any case. */
static int note_irqs(struct kprobe *p, struct pt_regs *regs)
{
	now.others = raw_irqs_disabled();
	return 0;
}

static void jprobe_state_is_restored(struct kunit *test)
{
	struct jprobe_test *t = test->priv;
	const struct state_case *c = test->param_value;
	int preempt, locks, rcu, i;
	long ret[2];
	bool irqs;

	KP_SKIP_IF(test, c->unseen, "this kernel does not count it");

	t->post.symbol_name = quiet_mode()->symbol;
	t->post.pre_handler = note_irqs;
	KUNIT_ASSERT_EQ(test, register_kprobe(&t->post), 0);
	t->post_on = true;
	jprobe_on(test, quiet_mode(), call_inside);
	now.inside = c->fn;
	kp_expect_splat(c->text);
	preempt = preempt_count();
	locks = lock_depth();
	rcu = rcu_preempt_depth();

	/* The warning comes only once. */
	for (i = 0; i < 2; i++) {
		if (c->irqs_off)
			local_irq_disable();
		ret[i] = call_with(10);
		irqs = raw_irqs_disabled();
		if (c->irqs_off)
			local_irq_enable();
		/* For the memory, it is still locked. */
		raw_spin_lock_init(&left_locked);

		KUNIT_EXPECT_EQ(test, ret[i], result_with(10));
		KUNIT_EXPECT_EQ(test, irqs, c->irqs_off);
		KUNIT_EXPECT_EQ(test, now.others, c->irqs_off);
		KUNIT_EXPECT_EQ(test, preempt_count(), preempt);
		KUNIT_EXPECT_EQ(test, lock_depth(), locks);
		KUNIT_EXPECT_EQ(test, rcu_preempt_depth(), rcu);
		KUNIT_EXPECT_EQ(test, pagefault_disabled(), 0);
		KUNIT_EXPECT_EQ(test, migration_disabled(), 0);
	}
	KUNIT_EXPECT_EQ(test, now.calls, 2);
	KUNIT_EXPECT_EQ(test, now.went_on, 0);
}

/*
 * Arrays of functions that come later lie where there were frames that did not end. On
 * kernels with KASAN, accesses to them are checked.
 */

static noinline __noclone int use_stack(int v)
{
	u8 big[1024];
	int i, sum = 0;

	memset(big, v, sizeof(big));
	OPTIMIZER_HIDE_VAR(v);
	for (i = 0; i < ARRAY_SIZE(big); i++)
		sum += big[i] == v;
	return sum;
}

static void use_stack_or_leave(long a1)
{
	now.calls++;
	if (a1)
		leave_from(a1);
	now.others = use_stack(3);
	jprobe_return();
}

static void jprobe_stack_is_usable_again(struct kunit *test)
{
	int i;

	jprobe_on(test, test->param_value, use_stack_or_leave);
	for (i = 0; i < 8; i++) {
		now.others = 0;
		/* First on this stack, then on that of the handler. */
		KUNIT_EXPECT_EQ(test, call_with(8 - i), result_with(8 - i));
		KUNIT_EXPECT_EQ(test, use_stack(i), 1024);
		KUNIT_EXPECT_EQ(test, call_with(0), result_with(0));
		KUNIT_EXPECT_EQ(test, now.others, 1024);
	}
	KUNIT_EXPECT_EQ(test, now.went_on, 0);
}

/*
 * Stack traces
 */

static noinline void take_trace_and_leave(void)
{
	now.traced = stack_trace_save(now.trace, ARRAY_SIZE(now.trace), 0);
	jprobe_return();
}

static void trace_and_leave(void)
{
	now.calls++;
	take_trace_and_leave();
	now.went_on++;
}

static bool trace_has(void *fn)
{
	unsigned int i;

	for (i = 0; i < now.traced; i++) {
		if (kp_is_within(now.trace[i], fn))
			return true;
	}

	return false;
}

static void jprobe_handler_can_be_unwound(struct kunit *test)
{
	KP_SKIP_IF(test, !KPROBES_TEST_HAS_EXACT_TRACES, "needs exact stack traces");

	jprobe_on(test, test->param_value, trace_and_leave);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 1);
	KUNIT_EXPECT_TRUE(test, trace_has(take_trace_and_leave));
	KUNIT_EXPECT_TRUE(test, trace_has(trace_and_leave));
	KUNIT_EXPECT_TRUE(test, !KPROBES_TEST_HAS_CALLER_AT_ENTRY || trace_has(call_with));
	KUNIT_EXPECT_TRUE(test, trace_has(jprobe_handler_can_be_unwound));
}

/*
 * Hooks of returns
 */

#if IS_ENABLED(CONFIG_DYNAMIC_FTRACE) || IS_ENABLED(CONFIG_FUNCTION_GRAPH_TRACER)
static noinline __noclone void kpj_callee(void)
{
	if (now.inside)
		now.inside();
	else
		jprobe_return();
	now.went_on++;
}

static noinline __noclone void kpj_handler(void)
{
	now.calls++;
	kpj_callee();
	now.went_on++;
}
#endif

#if IS_ENABLED(CONFIG_FPROBE) || IS_ENABLED(CONFIG_FUNCTION_GRAPH_TRACER)
static noinline __noclone void kpj_outside(void)
{
	now.others++;
}

/* The compiler must not conclude that the call changes nothing else. */
static void call_outside(void)
{
	void (*volatile fn)(void) = kpj_outside;

	fn();
}
#endif

#ifdef CONFIG_FPROBE
static unsigned int fprobe_entries, fprobe_exits;

static KP_FPROBE_ENTRY(count_entry)
{
	fprobe_entries++;
	now.may[0] |= jprobe_may_return();
	return 0;
}

static KP_FPROBE_EXIT(count_exit)
{
	fprobe_exits++;
}

/* Where the next return that fprobe diverts is noted, which tells how many are. */
static unsigned long diverted_returns(void)
{
#ifdef CONFIG_RETHOOK
	return (unsigned long)current->rethooks.first;
#else
	return current->curr_ret_stack;
#endif
}

static void jprobe_with_fprobe(struct kunit *test)
{
	static const char * const syms[] = { "kpj_handler", "kpj_callee", "kpj_outside" };
	struct fprobe fp = { .entry_handler = count_entry, .exit_handler = count_exit };
	unsigned long before;
	int i;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE), "needs ftrace");

	jprobe_on(test, test->param_value, kpj_handler);
	KUNIT_ASSERT_EQ(test, register_fprobe_syms(&fp, (const char **)syms, ARRAY_SIZE(syms)), 0);
	fprobe_entries = 0;
	fprobe_exits = 0;
	before = diverted_returns();

	/* More often than there are instances. */
	for (i = 0; i < 200; i++) {
		EXPECT_RESULT(test);
		KUNIT_EXPECT_EQ(test, diverted_returns(), before);
	}
	KUNIT_EXPECT_EQ(test, now.calls, 200);
	KUNIT_EXPECT_EQ(test, now.went_on, 0);
	/* The function graph tracer is paused in a handler. */
	KUNIT_EXPECT_EQ(test, fprobe_entries, KP_FPROBE_IS_GRAPH ? 0 : 2 * 200);
	KUNIT_EXPECT_EQ(test, fprobe_exits, 0);

	call_outside();
	KUNIT_EXPECT_EQ(test, fprobe_exits, 1);
	KUNIT_EXPECT_EQ(test, fp.nmissed, 0);
	/* A callback of ftrace is not the handler. */
	KUNIT_EXPECT_FALSE(test, now.may[0]);
	unregister_fprobe(&fp);
}
#endif

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
static int graph_entries, graph_returns;

static KP_GRAPH_ENTRY(graph_entry)
{
	graph_entries++;
	return 1;
}

static KP_GRAPH_RETURN(graph_return)
{
	graph_returns++;
}

static struct fgraph_ops graph;

static void graph_on(struct kunit *test)
{
	void * const fns[] = { kpj_handler, kpj_callee, kpj_outside };
	int i, ret;

	graph_entries = 0;
	graph_returns = 0;
	/* Nothing of an earlier registration. */
	graph = (struct fgraph_ops) { .entryfunc = graph_entry, .retfunc = graph_return };
	for (i = 0; i < ARRAY_SIZE(fns); i++) {
		ret = ftrace_set_filter_ip(&graph.ops, ftrace_location(kp_code(fns[i])), 0, 0);
		/* Without a filter, all functions would be traced. */
		KUNIT_ASSERT_EQ(test, ret, 0);
	}
	KUNIT_EXPECT_EQ(test, register_ftrace_graph(&graph), 0);
}

static void graph_off(void)
{
	unregister_ftrace_graph(&graph);
	ftrace_free_filter(&graph.ops);
}

static void jprobe_with_graph(struct kunit *test)
{
	int stack, depth;

	jprobe_on(test, test->param_value, kpj_handler);
	graph_on(test);
	stack = current->curr_ret_stack;
	depth = current->curr_ret_depth;

	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 1);
	KUNIT_EXPECT_EQ(test, graph_entries, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&current->tracing_graph_pause), 0);

	/* Outside of the handler, calls are traced again. */
	call_outside();
	KUNIT_EXPECT_EQ(test, graph_entries, 1);
	KUNIT_EXPECT_EQ(test, graph_returns, 1);
	KUNIT_EXPECT_EQ(test, current->curr_ret_stack, stack);
	KUNIT_EXPECT_EQ(test, current->curr_ret_depth, depth);
	graph_off();
}

static void trace_callee(void)
{
	now.calls++;
	unpause_graph_tracing();
	kpj_callee();
	now.went_on++;
}

static void pause_and_leave(void)
{
	pause_graph_tracing();
	jprobe_return();
}

static void jprobe_with_graph_that_goes_on(struct kunit *test)
{
	int stack, depth;

	jprobe_on(test, test->param_value, trace_callee);
	now.inside = pause_and_leave;
	graph_on(test);
	stack = current->curr_ret_stack;
	depth = current->curr_ret_depth;

	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 1);
	KUNIT_EXPECT_EQ(test, now.went_on, 0);
	KUNIT_EXPECT_EQ(test, graph_entries, 1);
	KUNIT_EXPECT_EQ(test, graph_returns, 0);
	KUNIT_EXPECT_EQ(test, current->curr_ret_stack, stack);
	KUNIT_EXPECT_EQ(test, current->curr_ret_depth, depth);

	call_outside();
	KUNIT_EXPECT_EQ(test, graph_returns, 1);
	graph_off();
}
#endif

/*
 * Where jprobe_return() cannot be called
 */

static void look_from_irq(struct irq_work *work)
{
	now.may[2] = jprobe_may_return();
	WRITE_ONCE(now.others, 1);
}

static struct irq_work look_work = IRQ_WORK_INIT_HARD(look_from_irq);

static noinline bool look_from_callee(void)
{
	return jprobe_may_return();
}

static void look_around(void)
{
	int patience = 100000000;

	now.calls++;
	now.may[0] = jprobe_may_return();
	now.may[1] = look_from_callee();
	if (!irqs_disabled() && irq_work_queue(&look_work)) {
		while (!READ_ONCE(now.others) && patience--)
			cpu_relax();
	}
	now.may[3] = jprobe_may_return();
	jprobe_return();
}

static void jprobe_return_only_inside(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, jprobe_may_return());
	jprobe_on(test, test->param_value, look_around);
	EXPECT_RESULT(test);
	irq_work_sync(&look_work);
	KUNIT_EXPECT_EQ(test, now.calls, 1);
	KUNIT_EXPECT_TRUE(test, now.may[0]);
	KUNIT_EXPECT_TRUE(test, now.may[1]);
	KUNIT_EXPECT_FALSE(test, now.may[2]);
	KUNIT_EXPECT_TRUE(test, now.may[3]);
	/* In a breakpoint, interrupts are off. */
	KUNIT_EXPECT_EQ(test, now.others, now.mode->hit != BREAKPOINT);
	KUNIT_EXPECT_FALSE(test, jprobe_may_return());
}

static void call_from_softirq(struct tasklet_struct *unused)
{
	now.went_on = call_with(7) == result_with(7);
}

static DECLARE_TASKLET(softirq_call, call_from_softirq);

/* An interrupt of a softirq may use the same stack. */
static void jprobe_return_not_from_interrupt_of_softirq(struct kunit *test)
{
	jprobe_on(test, test->param_value, look_around);
	/* Not in the thread that handles softirqs, which has a stack of its own. */
	local_bh_disable();
	tasklet_schedule(&softirq_call);
	local_bh_enable();
	tasklet_kill(&softirq_call);
	irq_work_sync(&look_work);
	KUNIT_EXPECT_EQ(test, now.calls, 1);
	KUNIT_EXPECT_EQ(test, now.went_on, 1);
	KUNIT_EXPECT_TRUE(test, now.may[0]);
	KUNIT_EXPECT_FALSE(test, now.may[2]);
	KUNIT_EXPECT_EQ(test, now.others, now.mode->hit != BREAKPOINT);
}

static int look_from_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	now.others++;
	now.may[2] |= jprobe_may_return();
	return 0;
}

static void fault_and_leave(void)
{
	/* The last page is never mapped. */
	long *nowhere = (long *)-PAGE_SIZE, v;

	now.calls++;
	now.may[0] = jprobe_may_return();
	now.may[1] = get_kernel_nofault(v, nowhere);
	now.may[3] = jprobe_may_return();
	jprobe_return();
}

static void jprobe_return_not_from_fault_handler(struct kunit *test)
{
	struct jprobe_test *t = test->priv;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_HAVE_KPROBE_FAULT_HANDLER), "needs fault handlers");

	t->jp.kp.fault_handler = look_from_fault;
	jprobe_on(test, test->param_value, fault_and_leave);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 1);
	KUNIT_EXPECT_EQ(test, now.others, 1);
	KUNIT_EXPECT_TRUE(test, now.may[0]);
	KUNIT_EXPECT_TRUE(test, now.may[1]);
	KUNIT_EXPECT_FALSE(test, now.may[2]);
	KUNIT_EXPECT_TRUE(test, now.may[3]);
}

#ifdef CONFIG_DYNAMIC_FTRACE
static void look_from_callback(unsigned long ip, unsigned long parent_ip,
			       struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	now.others++;
	now.may[0] |= jprobe_may_return();
}

static void jprobe_return_not_from_callback_of_ftrace(struct kunit *test)
{
	struct ftrace_ops *ops = kp_zalloc(test, sizeof(*ops));

	ops->func = look_from_callback;
	ops->flags = FTRACE_OPS_FL_RECURSION;
	jprobe_on(test, test->param_value, kpj_handler);
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(ops, ftrace_location(kp_code(kpj_callee)), 0, 0),
			0);
	KUNIT_ASSERT_EQ(test, register_ftrace_function(ops), 0);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, unregister_ftrace_function(ops), 0);
	ftrace_free_filter(ops);

	KUNIT_EXPECT_EQ(test, now.calls, 1);
	KUNIT_EXPECT_EQ(test, now.others, 1);
	KUNIT_EXPECT_FALSE(test, now.may[0]);
}
#endif

/*
 * Leaves what an oops in the handler leaves on the CPU, and then undoes that. The call must not
 * be found by the next hit: it is on the stack of a task that is gone.
 */
static long die_in_handler(PARAMETERS)
{
	struct jprobe_call *call = __this_cpu_read(jprobe_call);
	struct kprobe *running = kprobe_running();

	now.calls++;
	now.may[0] = jprobe_may_return();
	kprobe_abandon_hit();
	now.may[1] = __this_cpu_read(jprobe_call);
	__this_cpu_write(current_kprobe, running);
	now.may[2] = jprobe_may_return();

	__this_cpu_write(jprobe_call, call);
	jprobe_return();
	now.went_on++;
	return 0;
}

static void jprobe_call_of_dead_task_is_forgotten(struct kunit *test)
{
	jprobe_on(test, test->param_value, die_in_handler);
	EXPECT_RESULT(test);
	KUNIT_EXPECT_EQ(test, now.calls, 1);
	KUNIT_EXPECT_EQ(test, now.went_on, 0);
	KUNIT_EXPECT_TRUE(test, now.may[0]);
	KUNIT_EXPECT_FALSE(test, now.may[1]);
	KUNIT_EXPECT_FALSE(test, now.may[2]);
}

/*
 * The function that switches tasks is entered as one task and left as another; on x86, its
 * caller is already on the stack of the other.
 */

static atomic_t switches, odd_switches;

static struct task_struct *see_switch(struct task_struct *prev, struct task_struct *next)
{
	atomic_inc(&switches);
	if (prev != current || next == current || !irqs_disabled())
		atomic_inc(&odd_switches);
	jprobe_return();
	atomic_inc(&odd_switches);
	return prev;
}

static void jprobe_on_task_switch(struct kunit *test)
{
	struct jprobe_test *t = test->priv;
	unsigned long slept;
	int i;

	atomic_set(&switches, 0);
	atomic_set(&odd_switches, 0);
	t->jp.kp.symbol_name = "__switch_to";
	t->jp.entry = see_switch;
	KUNIT_ASSERT_EQ(test, register_jprobe(&t->jp), 0);
	t->on = true;

	/*
	 * With a breakpoint, and perhaps with a jump; each sleep takes at least two. But it takes
	 * none if its time is over before the task has been switched away.
	 */
	slept = current->nvcsw;
	for (i = 0; i < 20; i++) {
		if (i == 10)
			wait_for_kprobe_optimizer();
		schedule_timeout_uninterruptible(1);
	}
	slept = current->nvcsw - slept;
	KUNIT_EXPECT_GT(test, slept, 0);
	KUNIT_EXPECT_GE(test, atomic_read(&switches), 2 * slept);
	KUNIT_EXPECT_EQ(test, atomic_read(&odd_switches), 0);
	KUNIT_EXPECT_EQ(test, t->jp.kp.nmissed, 0);
}

static int jprobe_test_init(struct kunit *test)
{
	memset(&now, 0, sizeof(now));
	test->priv = kp_zalloc(test, sizeof(struct jprobe_test));
	return 0;
}

static void jprobe_test_exit(struct kunit *test)
{
	if (test->priv)
		jprobe_off(test);
	/* Other suites expect warnings, too. */
	kp_warn_again();
}

static struct kunit_case jprobe_cases[] = {
	KUNIT_CASE_PARAM(jprobe_handler_sees_arguments, mode_gen_params),
	KUNIT_CASE_PARAM(jprobe_return_at_any_depth, mode_gen_params),
	KUNIT_CASE_PARAM(jprobe_handler_may_not_return, mode_gen_params),
	KUNIT_CASE_PARAM(jprobe_shares_its_function, mode_gen_params),
	KUNIT_CASE_PARAM(jprobe_nested_hit_is_missed, mode_gen_params),
	KUNIT_CASE_PARAM(jprobe_in_interrupt, mode_gen_params),
	KUNIT_CASE_PARAM(jprobe_disable_and_enable, mode_gen_params),
	KUNIT_CASE_PARAM(jprobe_refused, refusal_gen_params),
	KUNIT_CASE(jprobe_arguments),
	KUNIT_CASE_PARAM(jprobe_state_is_restored, state_gen_params),
	KUNIT_CASE_PARAM(jprobe_stack_is_usable_again, mode_gen_params),
	KUNIT_CASE_PARAM(jprobe_handler_can_be_unwound, mode_gen_params),
#ifdef CONFIG_FPROBE
	KUNIT_CASE_PARAM(jprobe_with_fprobe, mode_gen_params),
#endif
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	KUNIT_CASE_PARAM(jprobe_with_graph, mode_gen_params),
	KUNIT_CASE_PARAM(jprobe_with_graph_that_goes_on, mode_gen_params),
#endif
	KUNIT_CASE_PARAM(jprobe_return_only_inside, mode_gen_params),
	KUNIT_CASE_PARAM(jprobe_return_not_from_interrupt_of_softirq, mode_gen_params),
	KUNIT_CASE_PARAM(jprobe_return_not_from_fault_handler, mode_gen_params),
	KUNIT_CASE_PARAM(jprobe_call_of_dead_task_is_forgotten, mode_gen_params),
	KUNIT_CASE(jprobe_on_task_switch),
#ifdef CONFIG_DYNAMIC_FTRACE
	KUNIT_CASE_PARAM(jprobe_return_not_from_callback_of_ftrace, mode_gen_params),
#endif
	{}
};

KP_SUITE(jprobe_cases, .name = "kprobes_jprobe",
	 .init = jprobe_test_init, .exit = jprobe_test_exit);
