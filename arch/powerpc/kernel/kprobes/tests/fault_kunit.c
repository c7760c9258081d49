// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of copies of instructions, and steps in handlers.
 */

#include "suite.h"

#include <asm/hw_irq.h>
#include <asm/interrupt.h>
#include <asm/reg.h>

#include "../../../../../kernel/kprobes/slots.h"
#include "helpers.h"
#include "targets.h"

/* Nothing emulates these. */
#define PVR(add)	"777: mfspr 6, 287\n addi 3, 3, " #add
KPB_FUNCTION(deep_0, PVR(0));
KPB_FUNCTION(deep_1, PVR(1));
KPB_FUNCTION(deep_2, PVR(2));
KPB_FUNCTION(deep_3, PVR(3));
KPB_FUNCTION(deep_4, PVR(4));
KPB_FUNCTION(deep_5, PVR(5));
KPB_FUNCTION(deep_6, PVR(6));
KPB_FUNCTION(deep_7, PVR(7));
KPB_FUNCTION(deep_8, PVR(8));
KPB_FUNCTION(deep_9, PVR(9));
KPB_FUNCTION(deep_10, PVR(10));

static void expect_nothing_left(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_FALSE(test, kp_target_steps_or_masks());
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
	KUNIT_EXPECT_EQ(test, preempt_count(), 0);
}

/* Masked as in the program, and what else a step must not lose. */
static const struct state {
	const char	*name;
	unsigned long	msr;
	unsigned long	softe;
} states[] = {
	{ "interrupts on", MSR_KERNEL | MSR_EE, 0 },
#ifdef CONFIG_PPC64
	{ "interrupts masked", MSR_KERNEL | MSR_EE, IRQS_DISABLED },
	{ "all masked", MSR_KERNEL | MSR_EE, IRQS_ALL_DISABLED },
	{ "hard masked", MSR_KERNEL, IRQS_ALL_DISABLED },
#else
	{ "interrupts masked", MSR_KERNEL, 0 },
#endif
	{ "floating point", MSR_KERNEL | MSR_EE | MSR_FP, 0 },
};
KUNIT_ARRAY_PARAM_DESC(state, states, name);

#ifdef CONFIG_PPC64
static void set_softe(struct pt_regs *regs, unsigned long softe)
{
	regs->softe = softe;
}

static unsigned long get_softe(const struct pt_regs *regs)
{
	return regs->softe;
}

static bool is_masked(const struct pt_regs *regs)
{
	return regs->softe == IRQS_ALL_DISABLED;
}
#else
static void set_softe(struct pt_regs *regs, unsigned long softe)
{
}

static unsigned long get_softe(const struct pt_regs *regs)
{
	return 0;
}

static bool is_masked(const struct pt_regs *regs)
{
	return !(regs->msr & MSR_EE);
}
#endif

static struct state other_state(const struct state *state)
{
	return states[state == states];
}

static struct state nth_state(unsigned int n)
{
	return states[n % ARRAY_SIZE(states)];
}

static void set_state(struct pt_regs *regs, struct state state)
{
	regs->msr = state.msr;
	set_softe(regs, state.softe);
}

#define BEFORE_STEP	sizeof(u32)
#define OTHER_STEP	KPB_AT(pvr)
#define ELSEWHERE	kpb_code(kpb_callee)
#define IN_A_DETOUR	(8 * sizeof(u32))

#include "faults_words.h"

static void expect_state(struct kunit *test, struct stepped *s, struct state want,
			 unsigned long nip)
{
	KUNIT_EXPECT_EQ(test, s->regs.nip, nip);
	KUNIT_EXPECT_EQ(test, s->regs.msr, want.msr);
	KUNIT_EXPECT_EQ(test, get_softe(&s->regs), want.softe);
}

static void begin(struct kunit *test, struct stepped *s)
{
	KUNIT_EXPECT_EQ(test, kprobe_handler(&s->regs), 1);
	KUNIT_EXPECT_EQ(test, s->regs.nip, s->copy);
	KUNIT_EXPECT_EQ(test, !(s->regs.msr & MSR_SINGLESTEP), IS_ENABLED(CONFIG_BOOKE));
	KUNIT_EXPECT_TRUE(test, is_masked(&s->regs));
}

/*
 * What follows a step: a trace interrupt, which has switched off what is switched on for one step;
 * or a trap.
 */
static int after_step(struct pt_regs *regs)
{
	if (IS_ENABLED(CONFIG_BOOKE))
		return kprobe_handler(regs);
	regs->msr &= ~MSR_SINGLESTEP;
	return kprobe_post_handler(regs);
}

static void end(struct kunit *test, struct stepped *s, struct state state)
{
	s->regs.nip += sizeof(u32);
	KUNIT_EXPECT_EQ(test, after_step(&s->regs), 1);
	expect_state(test, s, state, (unsigned long)s->w.kp.addr + sizeof(u32));
}

static void fault(struct kunit *test, struct stepped *s, struct state state)
{
	KUNIT_EXPECT_EQ(test, kprobe_fault_handler(&s->regs, KPB_PAGE_FAULT), 0);
	expect_state(test, s, state, (unsigned long)s->w.kp.addr);
}

static void fault_elsewhere(struct kunit *test, unsigned long nip)
{
	struct pt_regs regs = { .nip = nip, .msr = MSR_KERNEL };

	KUNIT_EXPECT_EQ(test, kprobe_fault_handler(&regs, KPB_PAGE_FAULT), 0);
	KUNIT_EXPECT_EQ(test, regs.nip, nip);
	KUNIT_EXPECT_EQ(test, regs.msr, MSR_KERNEL);
}

/* An interrupt that cannot be masked softly clears MSR[EE], and its return leaves it so. */
static void step_restores_what_an_interrupt_has_masked(struct kunit *test)
{
	const struct state *state = test->param_value;
	struct stepped s;

	prepare(test, &s, KPB_AT(deep_0), *state);
	scoped_guard(irqsave) {
		begin(test, &s);
		s.regs.msr &= ~MSR_EE;
		end(test, &s, *state);
		s.regs.nip = (unsigned long)s.w.kp.addr;
		begin(test, &s);
		s.regs.msr &= ~MSR_EE;
		fault(test, &s, *state);
	}
	unregister_kprobe(&s.w.kp);
}

/* Other bits are those that the instruction leaves: one of transactional memory changes some. */
static void step_keeps_what_the_instruction_has_changed(struct kunit *test)
{
	const struct state *state = test->param_value;
	struct state after = *state;
	struct stepped s;

	after.msr ^= MSR_FP;
	prepare(test, &s, KPB_AT(deep_0), *state);
	scoped_guard(irqsave) {
		begin(test, &s);
		s.regs.msr ^= MSR_FP;
		end(test, &s, after);
	}
	unregister_kprobe(&s.w.kp);
}

/* Trace interrupts or traps of a debugger, during a step. */
static void other_steps_are_not_the_probes(struct kunit *test)
{
	struct pt_regs regs = { .nip = kpb_code(kpb_callee), .msr = MSR_KERNEL };
	struct stepped s;

	prepare(test, &s, KPB_AT(deep_0), states[0]);
	scoped_guard(irqsave) {
		begin(test, &s);
		KUNIT_EXPECT_EQ(test, after_step(&regs), 0);
		regs.nip = s.copy;
		KUNIT_EXPECT_EQ(test, after_step(&regs), 0);
		regs.nip = s.copy + 2 * sizeof(u32);
		KUNIT_EXPECT_EQ(test, after_step(&regs), 0);
		KUNIT_EXPECT_NOT_NULL(test, kprobe_running());
		end(test, &s, states[0]);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&s.w.post), 1);

	/* One that steps over the probe, and so waits for the same interrupt, if there is one. */
	s.regs.nip = (unsigned long)s.w.kp.addr;
	s.regs.msr = states[0].msr | MSR_SINGLESTEP;
	scoped_guard(irqsave) {
		KUNIT_EXPECT_EQ(test, kprobe_handler(&s.regs), 1);
		s.regs.nip += sizeof(u32);
		KUNIT_EXPECT_EQ(test, after_step(&s.regs), IS_ENABLED(CONFIG_BOOKE));
	}
	KUNIT_EXPECT_EQ(test, s.regs.nip, (unsigned long)s.w.kp.addr + sizeof(u32));
	KUNIT_EXPECT_EQ(test, s.regs.msr, states[0].msr | MSR_SINGLESTEP);
	KUNIT_EXPECT_EQ(test, atomic_read(&s.w.post), 2);
	unregister_kprobe(&s.w.kp);
}

/* The instruction has stepped in a handler: for real, and without its handlers. */
static unsigned long stepped_inside;

static int run_pvr(struct kprobe *p, struct pt_regs *regs)
{
	stepped_inside = kpb_run(kpb_pvr, 1);
	return 0;
}

static void steps_in_handlers(struct kunit *test)
{
	struct kprobe outer = { .addr = KPB_AT(add), .pre_handler = run_pvr };
	struct kp_watch inner = KP_WATCH_POST(KPB_AT(pvr));
	unsigned long want = kpb_run(kpb_pvr, 1);
	unsigned int round;

	KUNIT_ASSERT_EQ(test, register_kprobe(&outer), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&inner.kp), 0);
	/* From a copy that branches back, and stepped. */
	for (round = 0; round < 2; round++) {
		stepped_inside = 0;
		KUNIT_EXPECT_EQ(test, kpb_run(kpb_add, 1), 4);
		KUNIT_EXPECT_EQ(test, stepped_inside, want);
		expect_nothing_left(test);
		step_always(get_kprobe(inner.kp.addr));
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&inner.post), 0);
	unregister_kprobe(&inner.kp);
	unregister_kprobe(&outer);
	KUNIT_EXPECT_EQ(test, inner.kp.nmissed, 2);
}

static void run_pvr_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	run_pvr(p, regs);
}

/*
 * The end of one step is where another one happens. What the first one has still to restore must
 * not be overwritten.
 */
static void steps_in_post_handlers_of_steps(struct kunit *test)
{
	struct kprobe outer = { .addr = KPB_AT(deep_3), .post_handler = run_pvr_after };
	struct kp_watch inner = KP_WATCH_POST(KPB_AT(pvr));
	unsigned long want = kpb_run(kpb_pvr, 1);
	unsigned int i, wrong = 0;

	KUNIT_ASSERT_EQ(test, register_kprobe(&outer), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&inner.kp), 0);
	step_always(get_kprobe(outer.addr));
	step_always(get_kprobe(inner.kp.addr));
	for (i = 0; i < 100; i++) {
		stepped_inside = 0;
		wrong += kpb_run(kpb_deep_3, i) != i + 3;
		wrong += stepped_inside != want;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	expect_nothing_left(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner.post), 0);
	unregister_kprobe(&inner.kp);
	unregister_kprobe(&outer);
	KUNIT_EXPECT_EQ(test, inner.kp.nmissed, 100);
}

/*
 * Access to user memory
 */

/* In the middle of several accesses, the exceptions of a step come and go. */
static void steps_keep_user_access(struct kunit *test)
{
	struct kp_watch w = KP_WATCH_POST(KPB_AT(pvr));
	unsigned long want = kpb_run(kpb_pvr, 1);
	u32 __user *word;
	bool kept;
	u32 value;

	KP_SKIP_IF(test, kuap_is_disabled(), "needs an MMU with KUAP");
	word = kp_user_word(test);
	KUNIT_ASSERT_EQ(test, put_user(0x5eed, word), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), "stepped");
	KUNIT_EXPECT_TRUE(test, kpb_user_access_is_locked());

	kpb_set_user_access(word, true);
	want -= kpb_run(kpb_pvr, 1);
	kept = !kpb_user_access_is_locked();
	kpb_set_user_access(word, false);

	KUNIT_EXPECT_EQ(test, want, 0);
	KUNIT_EXPECT_TRUE(test, kept);
	kpb_run(kpb_pvr, 1);
	KUNIT_EXPECT_TRUE(test, kpb_user_access_is_locked());
	KUNIT_EXPECT_EQ(test, get_user(value, word), 0);
	KUNIT_EXPECT_EQ(test, value, 0x5eed);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.post), 2);
	unregister_kprobe(&w.kp);
}

/*
 * Copies that branch back, and detours
 */

/* The address that a report of a fault has, and that the exception table is searched for. */
static unsigned long reported(unsigned long nip)
{
	struct pt_regs regs = { .nip = nip, .msr = MSR_KERNEL, .trap = INTERRUPT_DATA_STORAGE };

	guard(irqsave)();
	if (kprobe_bad_page_fault(&regs))
		return 1;
	return regs.nip;
}

#ifdef CONFIG_OPTPROBES
/* As a load that is optimized faults: nothing but the detour knows whose copy it is. */
static void fault_in_a_detour(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(bad_load));

	kprobe_test_allow_optimization(true);
	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(w.kp.addr));
	KUNIT_EXPECT_EQ(test, reported((unsigned long)kpb_copy(w.kp.addr)), kpb_bad_load_at);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_bad_load, (unsigned long)&kpb_data), KPB_VALUE);
	unregister_kprobe(&w.kp);
	kprobe_test_allow_optimization(false);
}
#else
KP_SKIPPED(fault_in_a_detour, "needs OPTPROBES")
#endif

static struct kunit_case fault_cases[] = {
	KUNIT_CASE_PARAM(fault_of_step_is_one_of_the_instruction, state_gen_params),
	KUNIT_CASE_PARAM(step_restores_what_an_interrupt_has_masked, state_gen_params),
	KUNIT_CASE_PARAM(step_keeps_what_the_instruction_has_changed, state_gen_params),
	KUNIT_CASE_PARAM(other_faults_are_not_the_steps, state_gen_params),
	KUNIT_CASE(other_steps_are_not_the_probes),
	KUNIT_CASE_PARAM(fault_of_nested_step, state_gen_params),
	KUNIT_CASE(steps_nest),
	KUNIT_CASE(steps_nest_in_busy_sections),
	KUNIT_CASE(steps_in_handlers),
	KUNIT_CASE(steps_in_post_handlers_of_steps),
	KUNIT_CASE(steps_keep_user_access),
	KUNIT_CASE(fault_of_boosted_copy_is_one_of_the_instruction),
	KUNIT_CASE(fault_of_detour_is_one_of_the_instruction),
	KUNIT_CASE(fault_in_a_detour),
	{}
};

KP_SUITE(fault_cases, .name = "kprobes_powerpc_fault",
	 .suite_init = kp_without_jumps, .suite_exit = kp_with_jumps);
