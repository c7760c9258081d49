// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the return trampolines of powerpc, that of return probes and that of rethook: which
 * registers handlers see and can change, access to user memory, and functions that have no
 * return probes.
 */

#include "suite.h"

#include <linux/mman.h>
#include <linux/rethook.h>

#include <asm/interrupt.h>
#include <asm/kup.h>
#include <asm/return-hooks.h>

#include "entered.h"
#include "helpers.h"

/* Calls kpr_followed() without a frame, like helpers of prologues. Returns its argument. */
unsigned long kpr_frameless(unsigned long v);

/*
 * What diverts the return of a function: a return probe, or rethook.
 */

static struct {
	/* At the entry and at the return. */
	struct pt_regs	entry, regs;
	unsigned long	paca, value;
	unsigned int	entries, returns;
	void		(*then)(struct pt_regs *regs);
} seen;

static void see_entry(struct pt_regs *regs)
{
	seen.entry = *regs;
	seen.entries++;
}

static void see_return(struct pt_regs *regs)
{
	seen.regs = *regs;
	seen.value = regs_return_value(regs);
	seen.returns++;
#ifdef CONFIG_PPC64
	seen.paca = (unsigned long)local_paca;
#endif
	if (seen.then)
		seen.then(regs);
}

static int rp_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	see_entry(regs);
	return 0;
}

static int rp_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	see_return(regs);
	return 0;
}

static struct kretprobe rp[2];

static int rp_on(const char *symbol, int i)
{
	rp[i] = (struct kretprobe) {
		.kp.symbol_name	= symbol,
		.entry_handler	= rp_entry,
		.handler	= rp_return,
		.maxactive	= 4,
	};
	return register_kretprobe(&rp[i]);
}

static int one_rp_on(const char *symbol)
{
	return rp_on(symbol, 0);
}

static void one_rp_off(void)
{
	unregister_kretprobe(&rp[0]);
}

static int two_rps_on(const char *symbol)
{
	int ret = rp_on(symbol, 0);

	if (ret)
		return ret;
	ret = rp_on(symbol, 1);
	if (ret)
		one_rp_off();
	return ret;
}

static void two_rps_off(void)
{
	unregister_kretprobe(&rp[1]);
	one_rp_off();
}

#ifdef CONFIG_RETHOOK
static struct rethook *rh;

static void rh_return(struct rethook_node *node, void *data, unsigned long ret_addr,
		      struct pt_regs *regs)
{
	see_return(regs);
}

static int rh_entry(struct kprobe *p, struct pt_regs *regs)
{
	struct rethook_node *node = rethook_try_get(rh);

	see_entry(regs);
	if (node)
		rethook_hook(node, regs, false);
	return 0;
}

static struct kprobe rh_probe;

static int rethook_on(const char *symbol)
{
	int ret;

	rh = rethook_alloc(&rh_probe, rh_return, sizeof(struct rethook_node), 4);
	if (IS_ERR(rh))
		return PTR_ERR(rh);

	rh_probe = (struct kprobe) {
		.symbol_name	= symbol,
		.pre_handler	= rh_entry,
	};
	ret = register_kprobe(&rh_probe);
	if (ret)
		rethook_free(rh);
	return ret;
}

static void rethook_off(void)
{
	unregister_kprobe(&rh_probe);
	rethook_free(rh);
}
#else
#define rethook_on	NULL
#define rethook_off	NULL
#endif

struct hook {
	const char	*name;
	int		(*on)(const char *symbol);
	void		(*off)(void);
	unsigned int	returns;
};

static const struct hook hooks[] = {
	{ "return probe",	one_rp_on,	one_rp_off,	1 },
	{ "two return probes",	two_rps_on,	two_rps_off,	2 },
	{ "rethook",		rethook_on,	rethook_off,	1 },
};
KUNIT_ARRAY_PARAM_DESC(hook, hooks, name);

static const struct hook *hook_on(struct kunit *test, const char *symbol)
{
	const struct hook *h = test->param_value;

	KP_SKIP_IF(test, !h->on, "needs RETHOOK");
	memset(&seen, 0, sizeof(seen));
	KUNIT_ASSERT_EQ(test, h->on(symbol), 0);
	return h;
}

/*
 * Registers
 */

/* SO and CA, which are the same everywhere. */
#define GIVEN_XER	0xa0000000
#define CHANGED_XER	0x40000000

static struct kpb_states s;

static void give(void)
{
	int i;

	memset(&s, 0, sizeof(s));
	for (i = 0; i < ARRAY_SIZE(s.given.gpr); i++)
		s.given.gpr[i] = 0x5eed0000 + 0x101 * i;
	s.given.ctr = 0x1234567c;
	s.given.xer = GIVEN_XER;
	/* With SO in CR0, where only system calls return errors. */
	s.given.cr = 0x99abcdef;
}

/* The others belong to the kernel. */
static bool is_compared(int i)
{
	return i != 1 && i != 13 && (i != 2 || IS_ENABLED(CONFIG_PPC64));
}

/* What is given becomes what the function returns with. */
static void call_followed(void)
{
	kpb_enter_followed(&s);
	s.given.gpr[0] = ~s.given.gpr[0];
}

static void expect_regs(struct kunit *test, const struct kpb_state *found,
			const struct kpb_state *want)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(found->gpr); i++) {
		if (is_compared(i))
			KUNIT_EXPECT_EQ_MSG(test, found->gpr[i], want->gpr[i], "r%d", i);
	}
	KUNIT_EXPECT_EQ(test, found->ctr, want->ctr);
	KUNIT_EXPECT_EQ(test, found->xer & (GIVEN_XER | CHANGED_XER), want->xer);
	KUNIT_EXPECT_EQ(test, found->cr, want->cr);
}

static void expect_seen(struct kunit *test, const struct hook *h)
{
	const struct pt_regs *regs = &seen.regs;
	struct kpb_state found = {
		.ctr	= regs->ctr,
		.xer	= regs->xer,
		.cr	= regs->ccr,
	};

	KUNIT_EXPECT_EQ(test, seen.entries, h->returns);
	KUNIT_EXPECT_EQ(test, seen.returns, h->returns);
	memcpy(found.gpr, regs->gpr, sizeof(found.gpr));
	expect_regs(test, &found, &s.given);
	KUNIT_EXPECT_EQ(test, seen.value, s.given.gpr[3]);
	KUNIT_EXPECT_EQ(test, regs->gpr[1], seen.entry.gpr[1]);
	KUNIT_EXPECT_EQ(test, regs->nip, (unsigned long)kpr_back);
	KUNIT_EXPECT_EQ(test, TRAP(regs), INTERRUPT_PROGRAM);
	KUNIT_EXPECT_EQ(test, regs->msr & (MSR_IR | MSR_DR | MSR_PR),
			mfmsr() & (MSR_IR | MSR_DR | MSR_PR));
#ifdef CONFIG_PPC64
	KUNIT_EXPECT_EQ(test, regs->gpr[13], seen.paca);
	KUNIT_EXPECT_EQ(test, regs->softe, IRQS_ENABLED);
#endif
}

static void returns_keep_all_registers(struct kunit *test)
{
	const struct hook *h = hook_on(test, "kpr_followed");

	give();
	call_followed();
	h->off();

	expect_seen(test, h);
	expect_regs(test, &s.got, &s.given);
	KUNIT_EXPECT_EQ(test, s.got.lr, (unsigned long)kpr_back);
}

/* Where a return handler makes r1 point. */
static unsigned long other_frame[8];

static void change(struct pt_regs *regs)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(regs->gpr); i++) {
		if (is_compared(i))
			regs->gpr[i] = 0xc4a00000 + 0x33 * i;
	}
	regs->ctr = 0x77777778;
	regs->xer = CHANGED_XER;
	regs->ccr = 0x13572468;
	/* These are not honoured, but their change does no harm. */
	regs->gpr[1] = (unsigned long)other_frame;
	regs->gpr[13] = 0;
	regs->msr = 0;
	regs->nip = 0;
}

static void return_handlers_change_registers(struct kunit *test)
{
	const struct hook *h = test->param_value;
	struct kpb_state want = {
		.ctr	= 0x77777778,
		.xer	= CHANGED_XER,
		.cr	= 0x13572468,
	};
	int i;

	if (h->returns > 1)
		kunit_skip(test, "the second handler would see what the first one has changed");
	hook_on(test, "kpr_followed");
	for (i = 0; i < ARRAY_SIZE(want.gpr); i++)
		want.gpr[i] = 0xc4a00000 + 0x33 * i;
	give();
	seen.then = change;
	memset(other_frame, 0, sizeof(other_frame));
	call_followed();
	h->off();
	for (i = 0; i < ARRAY_SIZE(other_frame); i++)
		KUNIT_EXPECT_EQ(test, other_frame[i], 0);

	expect_seen(test, h);
	expect_regs(test, &s.got, &want);
	KUNIT_EXPECT_EQ(test, s.got.lr, (unsigned long)kpr_back);
}

static void go_elsewhere(struct pt_regs *regs)
{
	regs->link = (unsigned long)kpr_elsewhere;
}

static void return_handlers_change_the_address(struct kunit *test)
{
	const struct hook *h = test->param_value;

	/* Rethook sets it again after the handlers. */
	KP_SKIP_IF(test, h->on == rethook_on, "rethook has no way to do this");
	hook_on(test, "kpr_followed");
	give();
	seen.then = go_elsewhere;
	call_followed();
	h->off();

	expect_regs(test, &s.got, &s.given);
	KUNIT_EXPECT_EQ(test, s.got.lr, (unsigned long)kpr_elsewhere);
}

/* A call that is not followed, for lack of an instance. */
static void returns_that_are_missed_keep_registers(struct kunit *test)
{
	struct kprobe p = { .symbol_name = "kpr_followed", .pre_handler = kp_nothing_pre };

	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	give();
	call_followed();
	unregister_kprobe(&p);
	expect_regs(test, &s.got, &s.given);
	KUNIT_EXPECT_EQ(test, s.got.lr, (unsigned long)kpr_back);
}

static void caller_without_a_frame_keeps_its_return(struct kunit *test)
{
	const struct hook *h = hook_on(test, "kpr_followed");
	unsigned long (*volatile fn)(unsigned long v) = kpr_frameless;

	KUNIT_EXPECT_EQ(test, fn(0x5eed), 0x5eed);
	KUNIT_EXPECT_EQ(test, seen.returns, h->returns);
	h->off();
}

/* The caller is hooked, too, so its slot may hold the address of the same trampoline. */
static void hooked_caller_without_a_frame_keeps_its_return(struct kunit *test)
{
	struct kretprobe caller = { .kp.symbol_name = "kpr_frameless", .handler = rp_return };
	const struct hook *h = hook_on(test, "kpr_followed");
	unsigned long (*volatile fn)(unsigned long v) = kpr_frameless;

	/* No assertion: the hook has to be removed. */
	KUNIT_EXPECT_EQ(test, register_kretprobe(&caller), 0);
	KUNIT_EXPECT_EQ(test, fn(0x5eed), 0x5eed);
	KUNIT_EXPECT_EQ(test, seen.returns, h->returns + 1);
	unregister_kretprobe(&caller);
	h->off();
}

/* The slot is for unwinders in the handlers of other hooks, and for callers without a frame. */
static void slot_holds_the_hook_that_comes_next(struct kunit *test)
{
	unsigned long hook = (unsigned long)kpr_elsewhere, caller = (unsigned long)kpr_back;
	unsigned long next[] = {
#ifdef CONFIG_KRETPROBE_NATIVE
		(unsigned long)__kretprobe_trampoline,
#endif
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
		ppc_function_entry(return_to_handler),
#endif
#ifdef CONFIG_RETHOOK
		(unsigned long)arch_rethook_trampoline,
#endif
	};
	int i;

	KUNIT_EXPECT_EQ(test, ppc_lr_slot_after_hook(hook, hook, caller), hook);
	KUNIT_EXPECT_EQ(test, ppc_lr_slot_after_hook(caller, hook, caller), caller);
	KUNIT_EXPECT_EQ(test, ppc_lr_slot_after_hook(0, hook, caller), 0);
	for (i = 0; i < ARRAY_SIZE(next); i++) {
		KUNIT_EXPECT_EQ(test, ppc_lr_slot_after_hook(hook, hook, next[i]), next[i]);
		KUNIT_EXPECT_EQ(test, ppc_lr_slot_after_hook(0, hook, next[i]), 0);
	}
}

/*
 * Access to user memory
 */

#ifdef CONFIG_PPC_KUAP
static struct {
	u32 __user	*word;
	bool		locked;
	long		copied;
	u32		value;
} user;

static void read_user(struct pt_regs *regs)
{
	user.locked = kpb_user_access_is_locked();
	user.copied = copy_from_user_nofault(&user.value, user.word + 1, sizeof(user.value));
}

/* Between two accesses, without a fault in either. */
static noinline bool access_user_around(void)
{
	unsigned long (*volatile fn)(unsigned long v) = kpr_frameless;

	if (!user_access_begin(user.word, 2 * sizeof(*user.word)))
		return false;
	unsafe_put_user(1, user.word, fault);
	fn(0);
	if (kpb_user_access_is_locked())
		goto fault;
	unsafe_put_user(2, user.word, fault);
	user_access_end();
	return true;
fault:
	user_access_end();
	return false;
}

static void handlers_run_with_user_access_locked(struct kunit *test)
{
	const struct hook *h = test->param_value;
	u32 value = 0x5eed;

	KP_SKIP_IF(test, kuap_is_disabled(), "needs an MMU with KUAP");
	KP_SKIP_IF(test, !h->on, "needs RETHOOK");
	memset(&user, 0, sizeof(user));
	user.word = kp_user_word(test);
	KUNIT_ASSERT_EQ(test, put_user(value, user.word + 1), 0);
	KUNIT_ASSERT_EQ(test, put_user(0, user.word), 0);

	hook_on(test, "kpr_followed");
	seen.then = read_user;
	KUNIT_EXPECT_TRUE(test, access_user_around());
	h->off();
	KUNIT_EXPECT_EQ(test, seen.returns, h->returns);
	KUNIT_EXPECT_TRUE(test, user.locked);
	KUNIT_EXPECT_EQ(test, user.copied, 0);
	KUNIT_EXPECT_EQ(test, user.value, value);
	KUNIT_EXPECT_EQ(test, get_user(value, user.word), 0);
	KUNIT_EXPECT_EQ(test, value, 2);
	KUNIT_EXPECT_TRUE(test, kpb_user_access_is_locked());
}

/*
 * A detour that only hooks the return is left by preempt_enable(), which may switch to another
 * task. The interrupt that usually wants this is replaced by a wake-up before.
 */

static struct {
	struct task_struct	*task;
	bool			ran, locked;
} succ;

static int successor(void *data)
{
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		schedule();
		WRITE_ONCE(succ.locked, kpb_user_access_is_locked());
		WRITE_ONCE(succ.ran, true);
	}
	return 0;
}

static void wait_until_it_sleeps(void)
{
	while (!wait_task_inactive(succ.task, TASK_INTERRUPTIBLE))
		msleep(1);
}

/* True if access is still open afterwards. */
static noinline bool call_and_be_preempted(void)
{
	unsigned long (*volatile fn)(unsigned long v) = kpr_frameless;
	bool open;

	preempt_disable();
	wake_up_process(succ.task);
	if (!user_access_begin(user.word, sizeof(*user.word))) {
		preempt_enable();
		return false;
	}
	preempt_enable_no_resched();
	fn(0);
	open = !kpb_user_access_is_locked();
	user_access_end();
	return open;
}

static void next_task_has_no_user_access(struct kunit *test)
{
	struct kretprobe one = { .kp.symbol_name = "kpr_followed" };
	int i, cpu = raw_smp_processor_id();

	if (!IS_ENABLED(CONFIG_PREEMPTION) || !IS_ENABLED(CONFIG_OPTPROBES))
		kunit_skip(test, "needs PREEMPTION and OPTPROBES");
	KP_SKIP_IF(test, kuap_is_disabled(), "needs an MMU with KUAP");
	user.word = kp_user_word(test);

	succ.task = kthread_create_on_cpu(successor, NULL, cpu, "kpr_successor/%u");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, succ.task);
	sched_set_fifo(succ.task);
	wake_up_process(succ.task);
	KUNIT_EXPECT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(cpu)), 0);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&one), 0);
	wait_for_kprobe_optimizer();

	for (i = 0; i < 20; i++) {
		wait_until_it_sleeps();
		WRITE_ONCE(succ.ran, false);
		KUNIT_EXPECT_TRUE(test, call_and_be_preempted());
		KUNIT_EXPECT_TRUE(test, READ_ONCE(succ.ran));
		KUNIT_EXPECT_TRUE(test, READ_ONCE(succ.locked));
	}

	unregister_kretprobe(&one);
	kthread_stop(succ.task);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#else
KP_SKIPPED(handlers_run_with_user_access_locked, "needs PPC_KUAP")

KP_SKIPPED(next_task_has_no_user_access, "needs PPC_KUAP")
#endif

/*
 * Refusals
 */

static const char * const refused[] = {
	"setjmp", "isa206_idle_insn_mayloss", "isa300_idle_stop_mayloss",
	"isa300_idle_stop_noloss", "_mcount", "ftrace_caller", "ftrace_regs_caller",
	"__kretprobe_trampoline", "arch_rethook_trampoline",
};

static void functions_that_return_otherwise_are_refused(struct kunit *test)
{
	int i, nr = 0, ret;

	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		struct kretprobe one = { .kp.symbol_name = refused[i], .handler = rp_return };

		ret = register_kretprobe(&one);
		if (!ret)
			unregister_kretprobe(&one);
		nr += ret == -EINVAL;
		/* Not all of them are part of each kernel. */
		KUNIT_EXPECT_TRUE_MSG(test, ret == -EINVAL || ret == -ENOENT, "%s: %d",
				      refused[i], ret);
	}
	KUNIT_EXPECT_GE(test, nr, 1);
}

/* They return for their caller. Modules have copies of those that the compiler uses. */
static const char * const epilogues[] = {
	IS_ENABLED(CONFIG_PPC64) ? "_restgpr0_of_kunit" : "_restgpr_of_kunit_x",
	"_restgpr0_14", "_restgpr0_29", "_restgpr0_31",
#ifdef CONFIG_PPC32
	"_restgpr_14_x", "_restgpr_31_x", "_rest32gpr_31_x",
#endif
};

static void epilogues_have_no_return_probes(struct kunit *test)
{
	struct kprobe kp = { .symbol_name = epilogues[0] };
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(epilogues); i++) {
		struct kretprobe one = { .kp.symbol_name = epilogues[i], .handler = rp_return };

		ret = register_kretprobe(&one);
		if (!ret)
			unregister_kretprobe(&one);
		KUNIT_EXPECT_TRUE_MSG(test, ret == -EINVAL || (i && ret == -ENOENT), "%s: %d",
				      epilogues[i], ret);
	}

	/* Other probes are possible. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
	unregister_kprobe(&kp);
}

static struct kunit_case kretprobe_testcases[] = {
	KUNIT_CASE_PARAM(returns_keep_all_registers, hook_gen_params),
	KUNIT_CASE_PARAM(return_handlers_change_registers, hook_gen_params),
	KUNIT_CASE_PARAM(return_handlers_change_the_address, hook_gen_params),
	KUNIT_CASE(returns_that_are_missed_keep_registers),
	KUNIT_CASE_PARAM(caller_without_a_frame_keeps_its_return, hook_gen_params),
	KUNIT_CASE_PARAM(hooked_caller_without_a_frame_keeps_its_return, hook_gen_params),
	KUNIT_CASE(slot_holds_the_hook_that_comes_next),
	KUNIT_CASE_PARAM(handlers_run_with_user_access_locked, hook_gen_params),
	KUNIT_CASE(next_task_has_no_user_access),
	KUNIT_CASE(functions_that_return_otherwise_are_refused),
	KUNIT_CASE(epilogues_have_no_return_probes),
	{}
};

KP_SUITE(kretprobe_testcases, .name = "kprobes_powerpc_kretprobe");
