// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an exception takes away from the program and its end gives back, such as access to user
 * memory: handlers in a detour, which are C code, must not inherit it, and neither must a task
 * that runs when the end of a detour reschedules.
 */

#include "suite.h"

#include "helpers.h"
#include "targets.h"
#include "words.h"

KP_TARGET_PARAM(privilege, kp_privileges)

static struct {
	const struct kp_privilege *privilege;
	u32 __user		*word;
	unsigned int		looks, seen;
	bool			exception;
	/* What the program has lost or gained; and who has run in its place. */
	unsigned int		lost, gained;
	struct task_struct	*hog;
	struct completion	done;
	bool			ran, hog_has;
} seen;

static bool has_privilege(void)
{
	return seen.privilege->exists() && seen.privilege->has();
}

/* It also reads user memory, or tries to. */
static int look(struct kprobe *p, struct pt_regs *regs)
{
	u32 v;

	seen.looks++;
	if (seen.exception && seen.privilege->of_exceptions)
		return 0;
	seen.seen += has_privilege();
	copy_from_user_nofault(&v, seen.word, sizeof(v));
	seen.seen += has_privilege();
	return 0;
}

/* The program continues after the probed instruction. */
static int look_and_skip(struct kprobe *p, struct pt_regs *regs)
{
	look(p, regs);
	instruction_pointer_set(regs, (unsigned long)p->addr + sizeof(u32));
	return 1;
}

static int look_and_return(struct kprobe *p, struct pt_regs *regs)
{
	look(p, regs);
	kp_target_go_back(regs);
	return 1;
}

static void begin(struct kunit *test)
{
	memset(&seen, 0, sizeof(seen));
	seen.privilege = test->param_value;
	init_completion(&seen.done);
	/* On some machines, a task needs user memory to get access to it. */
	seen.word = kp_user_word(test);
}

static void need_privilege(struct kunit *test)
{
	begin(test);
	KP_SKIP_IF(test, !seen.privilege->exists(), "not for this CPU or this kernel");
}

/* With and without the privilege. */
static unsigned long call(const struct kp_target *t)
{
	unsigned long ret;

	seen.privilege->set(seen.word, true);
	seen.lost += !has_privilege();
	ret = kp_target_run(t, 1);
	seen.lost += !has_privilege();
	seen.privilege->set(seen.word, false);
	ret += kp_target_run(t, 1);
	seen.gained += has_privilege();
	return ret;
}

static void expect(struct kunit *test, const char *how, unsigned int looks)
{
	KUNIT_EXPECT_EQ_MSG(test, seen.looks, looks, "%s", how);
	KUNIT_EXPECT_EQ_MSG(test, seen.seen, 0, "%s", how);
	KUNIT_EXPECT_EQ_MSG(test, seen.lost, 0, "%s", how);
	KUNIT_EXPECT_EQ_MSG(test, seen.gained, 0, "%s", how);
	seen.looks = 0;
	seen.seen = 0;
	seen.lost = 0;
	seen.gained = 0;
}

/* Hits come through breakpoints, or through jumps if they can. */
static void set_jump(struct kunit *test, const struct kprobe *p, bool jump)
{
	bool is_entry = p->addr != kp_target_addr(&kp_target_add);

	kprobe_test_allow_optimization(jump);
	wait_for_kprobe_optimizer();
	jump &= !is_entry || kp_target_optimizes_entries();
	KUNIT_EXPECT_EQ(test, kp_target_has_jump(p->addr), jump);
	seen.exception = !jump;
}

/* In each way out of a detour. */
static void handlers_have_no_privileges(struct kunit *test)
{
	static const struct {
		const char		*name;
		kprobe_pre_handler_t	pre;
		unsigned long		result;
	} ways[] = {
		{ "to its end", look, 4 },
		{ "redirected", look_and_skip, 1 },
		{ "to the caller", look_and_return, 1 },
	};
	unsigned int i;

	need_privilege(test);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		struct kprobe p = {
			.addr = kp_target_addr(&kp_target_add), .pre_handler = ways[i].pre,
		};

		KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
		set_jump(test, &p, false);
		KUNIT_EXPECT_EQ(test, call(&kp_target_add), 2 * ways[i].result);
		expect(test, "breakpoint", 2);
		set_jump(test, &p, true);
		KUNIT_EXPECT_EQ(test, call(&kp_target_add), 2 * ways[i].result);
		expect(test, ways[i].name, 2);
		unregister_kprobe(&p);
	}
}

#ifdef CONFIG_KRETPROBES
static int look_on_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return look(NULL, regs);
}

/* The trampoline is no exception. */
static int look_on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	bool exception = seen.exception;

	seen.exception = false;
	look(NULL, regs);
	seen.exception = exception;
	return 0;
}

/* A return probe alone has a detour that saves fewer registers, if no handler is called in it. */
static void return_handlers_have_no_privileges(struct kunit *test)
{
	static const struct {
		const char		*name;
		kretprobe_handler_t	entry;
		bool			join;
	} ways[] = {
		{ "alone", NULL, false },
		{ "with an entry handler", look_on_entry, false },
		{ "with a kprobe", look_on_entry, true },
	};
	unsigned int i, looks;

	need_privilege(test);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		struct kprobe p = {
			.symbol_name = kp_target_callee.symbol, .pre_handler = look,
		};
		struct kretprobe rp = {
			.kp.symbol_name	= kp_target_callee.symbol,
			.entry_handler	= ways[i].entry,
			.handler	= look_on_return,
		};

		looks = 2 * (1 + !!ways[i].entry + ways[i].join);
		KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
		if (ways[i].join)
			KUNIT_EXPECT_EQ(test, register_kprobe(&p), 0);
		set_jump(test, &rp.kp, false);
		KUNIT_EXPECT_EQ(test, call(&kp_target_callee), 202);
		expect(test, "breakpoint", looks);
		set_jump(test, &rp.kp, true);
		KUNIT_EXPECT_EQ(test, call(&kp_target_callee), 202);
		expect(test, ways[i].name, looks);
		if (ways[i].join)
			unregister_kprobe(&p);
		unregister_kretprobe(&rp);
	}
}
#endif

#ifdef CONFIG_PREEMPTION
static int hog_thread(void *data)
{
	seen.hog_has = has_privilege();
	WRITE_ONCE(seen.ran, true);
	complete(&seen.done);
	return 0;
}

/* The end of the detour reschedules, as nothing else has done so before. */
static void call_preempted(struct kunit *test, const char *how, const struct kp_target *t,
			   unsigned long want)
{
	bool early, ran, has = seen.privilege->exists();
	unsigned long ret;

	seen.ran = false;
	seen.hog_has = false;
	reinit_completion(&seen.done);
	seen.hog = kthread_create(hog_thread, NULL, "kp_hog");
	KUNIT_EXPECT_FALSE(test, IS_ERR(seen.hog));
	/* The caller has a probe on the stack, so the test must not end here. */
	if (IS_ERR(seen.hog))
		return;
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	kthread_bind(seen.hog, raw_smp_processor_id());
	sched_set_fifo_low(seen.hog);

	preempt_disable();
	wake_up_process(seen.hog);
	if (has)
		seen.privilege->set(seen.word, true);
	early = READ_ONCE(seen.ran);
	preempt_enable_no_resched();
	ret = kp_target_run(t, 1);
	seen.lost = has && !has_privilege();
	ran = READ_ONCE(seen.ran);
	if (has)
		seen.privilege->set(seen.word, false);
	wait_for_completion(&seen.done);
	set_cpus_allowed_ptr(current, cpu_possible_mask);

	KUNIT_EXPECT_EQ_MSG(test, ret, want, "%s", how);
	KUNIT_EXPECT_FALSE_MSG(test, early, "%s", how);
	KUNIT_EXPECT_TRUE_MSG(test, ran, "%s", how);
	KUNIT_EXPECT_FALSE_MSG(test, seen.hog_has, "%s", how);
	expect(test, how, 1);
}

/* A privilege is not passed on to the other task, and is not lost. */
static void preempted_at_the_end(struct kunit *test)
{
	struct kprobe p = { .addr = kp_target_addr(&kp_target_add), .pre_handler = look };

	begin(test);
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	set_jump(test, &p, true);
	call_preempted(test, "kprobe", &kp_target_add, 4);
	unregister_kprobe(&p);

#ifdef CONFIG_KRETPROBES
	{
		struct kretprobe rp = {
			.kp.symbol_name = kp_target_callee.symbol, .handler = look_on_return,
		};

		KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
		set_jump(test, &rp.kp, true);
		call_preempted(test, "return probe", &kp_target_callee, 101);
		unregister_kretprobe(&rp);
	}
#endif
}

/* It is what a detour ends with if the task is to be preempted, called by its local entry. */
static unsigned long end_of_detours(void)
{
#if KPROBES_TEST_HAS_SINGLE_ENTRY
	return kp_code(preempt_schedule_notrace);
#else
	return ppc_function_entry(preempt_schedule_notrace);
#endif
}

static void no_jump_in_what_ends_detours(struct kunit *test)
{
	unsigned long entry = end_of_detours(), at;
	u8 jump = 0, why = 0, nr = 0;

	for (at = entry; at <= entry + sizeof(u32); at += sizeof(u32)) {
		KUNIT_EXPECT_EQ(test, kprobe_test_forecast((void *)at, &jump, &why, &nr), 0);
		KUNIT_EXPECT_EQ_MSG(test, why, KPROBE_NOOPT_ARCH, "%pS", (void *)at);
	}
}
#else
KP_SKIPPED(preempted_at_the_end, "needs PREEMPTION")
KP_SKIPPED(no_jump_in_what_ends_detours, "needs PREEMPTION")
#endif

static struct kunit_case privileges_cases[] = {
	KUNIT_CASE_PARAM(handlers_have_no_privileges, privilege_gen_params),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_PARAM(return_handlers_have_no_privileges, privilege_gen_params),
#endif
	KUNIT_CASE_PARAM(preempted_at_the_end, privilege_gen_params),
	KUNIT_CASE(no_jump_in_what_ends_detours),
	{}
};

KP_SUITE(privileges_cases, .name = "kprobes_privileges", .exit = kp_allow_jumps);
