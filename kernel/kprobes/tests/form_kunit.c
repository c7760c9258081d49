// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions with a probed instruction of each kind: their results must be the same without a
 * probe, in each mode that the instruction has under a breakpoint, and in a detour.
 */

#include "suite.h"

#include "storm.h"
#include "targets.h"

/* Each function is called with all of these. */
static const unsigned long args[] = {
	0, 1, 5, 8, 0x7fffffff, -0x1234567UL,
};

KP_TARGET_PARAM(form, kp_forms)

/* The form under test, and what its function returns without a probe. */
static const struct kp_form *form;
static unsigned long want[ARRAY_SIZE(args)];
static kprobe_opcode_t text;

static kprobe_opcode_t *form_begin(struct kunit *test)
{
	kprobe_opcode_t *addr;
	unsigned int i;

	form = test->param_value;
	KP_SKIP_IF(test, !kp_form_exists(form), "not for this CPU");
	for (i = 0; i < ARRAY_SIZE(args); i++)
		want[i] = kp_target_run(&form->target, args[i]);
	addr = kp_target_addr(&form->target);
	text = READ_ONCE(*addr);
	return addr;
}

static void form_call(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(args); i++)
		KUNIT_EXPECT_EQ_MSG(test, kp_target_run(&form->target, args[i]), want[i],
				    "argument %lx", args[i]);
}

static void form_end(struct kunit *test, const struct kp_watch *w)
{
	int pre = atomic_read(&w->pre);

	form_call(test);
	KUNIT_EXPECT_EQ(test, READ_ONCE(*kp_target_addr(&form->target)), text);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->pre), pre);
	KUNIT_EXPECT_EQ(test, w->kp.nmissed, 0);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_EQ(test, preempt_count(), 0);
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
}

/* With a pre handler, and with a late post handler. */
static void same_results_in_all_modes(struct kunit *test)
{
	kprobe_opcode_t *addr = form_begin(test);
	unsigned int hits = ARRAY_SIZE(args) * form->hits;
	struct kp_watch first = KP_WATCH(addr);
	struct kp_watch late = KP_WATCH_POST(addr);

	kprobe_test_allow_optimization(false);
	KUNIT_ASSERT_EQ(test, register_kprobe(&first.kp), 0);
	KUNIT_EXPECT_TRUE(test, kp_target_has_breakpoint(addr));
	KUNIT_EXPECT_STREQ(test, kp_mode(addr), kp_target_boosts() ? form->alone : form->watched);
	form_call(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&first.pre), hits);
	KUNIT_EXPECT_EQ(test, first.ip, (unsigned long)addr + KPROBE_FTRACE_IP);

	KUNIT_EXPECT_EQ(test, register_kprobe(&late.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(addr), form->watched);
	form_call(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&first.pre), 2 * hits);
	KUNIT_EXPECT_EQ(test, atomic_read(&late.post), hits);

	unregister_kprobe(&late.kp);
	unregister_kprobe(&first.kp);
	form_end(test, &first);
}

#ifdef CONFIG_KPROBES_TEST_DETOURS
static void expect_jump(struct kunit *test, const void *addr)
{
	enum kp_form_jump jump = kp_form_jump(form);

	if (jump == KP_FORM_MAY_JUMP)
		return;
	KUNIT_EXPECT_EQ(test, kp_target_has_jump(addr), jump == KP_FORM_ALWAYS_JUMPS);
	KUNIT_EXPECT_EQ(test, kp_target_has_breakpoint(addr), jump == KP_FORM_NEVER_JUMPS);
}

/* Also after a post handler has come and gone. */
static void same_results_in_a_detour(struct kunit *test)
{
	kprobe_opcode_t *addr = form_begin(test);
	unsigned int hits = ARRAY_SIZE(args) * form->hits;
	struct kp_watch w = KP_WATCH(addr);
	struct kprobe post = { .addr = addr, .post_handler = kp_nothing_post };

	KP_REGISTER_AND_WAIT(test, &w.kp);
	expect_jump(test, addr);
	form_call(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), hits);
	KUNIT_EXPECT_EQ(test, w.ip, (unsigned long)addr + KPROBE_FTRACE_IP);

	KUNIT_EXPECT_EQ(test, register_kprobe(&post), 0);
	KUNIT_EXPECT_TRUE(test, kp_target_has_breakpoint(addr));
	form_call(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2 * hits);

	unregister_kprobe(&post);
	wait_for_kprobe_optimizer();
	expect_jump(test, addr);
	form_call(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 3 * hits);

	unregister_kprobe(&w.kp);
	form_end(test, &w);
}

static const struct kp_form *storm_forms[64];

static kprobe_opcode_t *storm_at(unsigned int n)
{
	return kp_target_addr(&storm_forms[n]->target);
}

static unsigned long storm_call(unsigned int n, unsigned long arg)
{
	return kp_target_run(&storm_forms[n]->target, arg);
}

static void results_while_jumps_come_and_go(struct kunit *test)
{
	struct kp_storm_arch arch = {
		.at		= storm_at,
		.call		= storm_call,
		.args		= args,
		.nr_args	= ARRAY_SIZE(args),
	};
	const struct kp_form *f;

	for (f = kp_forms; f < kp_forms + nr_kp_forms; f++) {
		if (kp_form_exists(f) && !f->shares_memory && arch.nr < ARRAY_SIZE(storm_forms))
			storm_forms[arch.nr++] = f;
	}
	kp_storm(test, &arch);
}
#endif /* CONFIG_KPROBES_TEST_DETOURS */

static struct kunit_case form_cases[] = {
	KUNIT_CASE_PARAM(same_results_in_all_modes, form_gen_params),
#ifdef CONFIG_KPROBES_TEST_DETOURS
	KUNIT_CASE_PARAM(same_results_in_a_detour, form_gen_params),
	KUNIT_CASE_SLOW(results_while_jumps_come_and_go),
#endif
	{}
};

KP_SUITE(form_cases, .name = "kprobes_form", .exit = kp_allow_jumps);
