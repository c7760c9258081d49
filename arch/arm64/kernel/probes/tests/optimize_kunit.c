// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization: each kind of instruction in a detour, what has to keep its breakpoint, and
 * tasks that are stopped in a detour when its probe goes.
 */

#include <kunit/test.h>
#include <linux/cpufeature.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/irq_regs.h>

#include "forms.h"
#include "stopped.h"
#include "storm.h"

KUNIT_ARRAY_PARAM_DESC(form, kpb_forms, name);

static void nothing_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

/* Whether a jump may replace the instruction in this kernel. */
static bool is_optimized(const struct kpb_form *f)
{
	u32 insn = kpb_word(kpb_addr(&f->place));

	if (!system_supports_bti_kernel())
		return true;
	/* A landing pad, and a call that has to land on one. */
	return !probe_insn_is_landing_pad(insn) && !aarch64_insn_is_blr(insn);
}

static void call_form(struct kunit *test, const struct kpb_form *f, const unsigned long *want)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kpb_args); i++)
		KUNIT_EXPECT_EQ_MSG(test, kpb_run(f->place.fn, kpb_args[i]), want[i],
				    "argument %lx", kpb_args[i]);
}

/* The same results, also after a post handler has come and gone. */
static void optimize_forms(struct kunit *test)
{
	const struct kpb_form *f = test->param_value;
	void *at = kpb_addr(&f->place);
	struct kpb_watch w = { .kp = { .addr = at, .pre_handler = kpb_watch_pre } };
	struct kprobe post = { .addr = at, .post_handler = nothing_post };
	unsigned int i, hits = ARRAY_SIZE(kpb_args) * f->hits;
	unsigned long want[ARRAY_SIZE(kpb_args)];
	bool optimized = is_optimized(f);
	u32 word = kpb_word(at);

	for (i = 0; i < ARRAY_SIZE(kpb_args); i++)
		want[i] = kpb_run(f->place.fn, kpb_args[i]);

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpb_has_jump(at), optimized);
	KUNIT_EXPECT_EQ(test, kpb_has_breakpoint(at), !optimized);
	call_form(test, f, want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), hits);
	KUNIT_EXPECT_EQ(test, w.pc, (unsigned long)at);

	KUNIT_EXPECT_EQ(test, register_kprobe(&post), 0);
	KUNIT_EXPECT_TRUE(test, kpb_has_breakpoint(at));
	call_form(test, f, want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2 * hits);

	unregister_kprobe(&post);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpb_has_jump(at), optimized);
	call_form(test, f, want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 3 * hits);
	KUNIT_EXPECT_EQ(test, w.kp.nmissed, 0);

	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, kpb_word(at), word);
	call_form(test, f, want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 3 * hits);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
}

static void expect_reason(struct kunit *test, void *addr, u8 want)
{
	u8 jump = 0, why = 0, at = 0;

	KUNIT_EXPECT_EQ(test, kprobe_test_forecast(addr, &jump, &why, &at), 0);
	KUNIT_EXPECT_EQ_MSG(test, why, want, "%pS", addr);
}

/* The link register would be overwritten before it is used. */
KPB_FUNCTION(blr_x30, "mov x9, x30\n adrp x30, kpb_callee\n add x30, x30, :lo12:kpb_callee\n"
	     "777: blr x30\n mov x30, x9\n add x0, x0, #1");

static void no_jump_for_a_call_through_the_link(struct kunit *test)
{
	struct kpb_watch w = { .kp = { .addr = KPB_AT(blr_x30), .pre_handler = kpb_watch_pre } };

	expect_reason(test, KPB_AT(blr_x30), KPROBE_NOOPT_INSN);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, kpb_has_breakpoint(w.kp.addr));
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_blr_x30, 1), 102);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	unregister_kprobe(&w.kp);
}

/* Where indirect branches are checked, they must not find a jump. */
static void no_jump_at_a_landing_pad(struct kunit *test)
{
	u8 want = system_supports_bti_kernel() ? KPROBE_NOOPT_LANDING : KPROBE_NOOPT_NONE;

	expect_reason(test, KPB_AT(pad), want);
	expect_reason(test, KPB_AT(sign), want);
	expect_reason(test, kpb_add, want);
	expect_reason(test, KPB_AT(add), KPROBE_NOOPT_NONE);
	expect_reason(test, KPB_AT(blr), system_supports_bti_kernel() ? KPROBE_NOOPT_INSN :
								       KPROBE_NOOPT_NONE);
}

/* It is what a detour ends with if the task is to be preempted. */
#ifdef CONFIG_PREEMPTION
static void no_jump_in_what_ends_detours(struct kunit *test)
{
	expect_reason(test, preempt_schedule_notrace, KPROBE_NOOPT_ARCH);
	expect_reason(test, (void *)preempt_schedule_notrace + AARCH64_INSN_SIZE,
		      KPROBE_NOOPT_ARCH);
}
#else
static void no_jump_in_what_ends_detours(struct kunit *test)
{
	kunit_skip(test, "needs PREEMPTION");
}
#endif

/*
 * Access to user memory
 */

static unsigned int with_access, nr_looks;

static bool has_user_access(void)
{
	if (system_uses_hw_pan())
		return !(read_sysreg_s(SYS_PSTATE_PAN) & PSR_PAN_BIT);
#ifdef CONFIG_ARM64_SW_TTBR0_PAN
	return read_sysreg(ttbr0_el1) & TTBR_ASID_MASK;
#else
	return true;
#endif
}

static int look_for_access(struct kprobe *p, struct pt_regs *regs)
{
	nr_looks++;
	with_access += has_user_access();
	return 0;
}

static int look_on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return look_for_access(NULL, regs);
}

/* Handlers are C code, in which such an access would be an error. The program has it again. */
static void handlers_have_no_user_access(struct kunit *test)
{
	struct kprobe p = { .addr = KPB_AT(add), .pre_handler = look_for_access };
	struct kretprobe rp = { .kp.symbol_name = "kpb_add", .handler = look_on_return };
	unsigned int i, lost = 0;

	if (!system_uses_hw_pan() && !system_uses_ttbr0_pan())
		kunit_skip(test, "needs PAN");

	with_access = 0;
	nr_looks = 0;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	for (i = 0; i < 2; i++) {
		uaccess_enable_privileged();
		lost += !has_user_access();
		kpb_run(kpb_add, 1);
		lost += !has_user_access();
		uaccess_disable_privileged();
		kpb_run(kpb_add, 1);
		lost += has_user_access();
		/* At first by breakpoints. */
		wait_for_kprobe_optimizer();
	}
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(p.addr));
	unregister_kprobe(&p);
	unregister_kretprobe(&rp);
	KUNIT_EXPECT_EQ(test, nr_looks, 8);
	KUNIT_EXPECT_EQ(test, with_access, 0);
	KUNIT_EXPECT_EQ(test, lost, 0);
}

/*
 * Tasks that are stopped in a detour: with interrupts off, an interrupt is requested. The
 * probed instruction enables them, so the interrupt comes when its copy has been executed.
 */

KPB_FUNCTION(unmask, "777: msr daifclr, #3\n add x0, x0, #1");

static struct {
	struct kp_stopped	stopped;
	struct irq_work		work;
	unsigned long		shown;
	unsigned long		result;
} unmasking;

static void stop_here(struct irq_work *work)
{
	struct pt_regs *regs = get_irq_regs();

	unmasking.shown = kprobe_unwind_pc(instruction_pointer(regs), regs);
	kp_stopped_catch(&unmasking.stopped, is_kprobe_optinsn_slot);
}

static int unmasking_thread(void *data)
{
	local_irq_disable();
	irq_work_queue(&unmasking.work);
	/* This enables them. */
	unmasking.result = kpb_run(kpb_unmask, 1);
	return 0;
}

static void stop_in_detour(struct kunit *test, struct kpb_watch *w, bool preempt)
{
	if (!arch_irq_work_has_interrupt())
		kunit_skip(test, "needs irq_work with an interrupt");
	kp_stopped_begin(test, &unmasking.stopped, unmasking_thread, preempt);

	*w = (struct kpb_watch){
		.kp = { .addr = KPB_AT(unmask), .pre_handler = kpb_watch_pre },
	};
	KUNIT_EXPECT_EQ(test, register_kprobe(&w->kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(w->kp.addr));

	unmasking.shown = 0;
	unmasking.result = 0;
	unmasking.work = IRQ_WORK_INIT_HARD(stop_here);
	wake_up_process(unmasking.stopped.task);
	kp_stopped_wait(test, &unmasking.stopped);
	KUNIT_EXPECT_EQ(test, unmasking.shown, (unsigned long)KPB_AT(unmask));
}

static void let_go(struct kunit *test)
{
	kp_stopped_end(&unmasking.stopped);
	KUNIT_EXPECT_EQ(test, unmasking.result, 2);
}

static void *detour_of(const void *addr)
{
	return (void *)addr + aarch64_get_branch_offset(kpb_word(addr));
}

static void stopped_when_jumps_are_switched_off(struct kunit *test)
{
	u32 copy[MAX_OPTINSN_SIZE];
	struct kpb_watch w;
	void *detour;

	stop_in_detour(test, &w, false);
	detour = detour_of(w.kp.addr);
	memcpy(copy, detour, sizeof(copy));

	kprobe_test_allow_optimization(false);
	KUNIT_EXPECT_TRUE(test, kpb_has_breakpoint(w.kp.addr));
	local_irq_disable();
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_unmask, 3), 4);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	kp_give_it_time();
	KUNIT_EXPECT_MEMEQ(test, detour, copy, sizeof(copy));

	let_go(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	kprobe_test_allow_optimization(true);
	unregister_kprobe(&w.kp);
}

static void stopped_when_its_probe_goes(struct kunit *test)
{
	struct kpb_watch other = { .kp = { .addr = KPB_AT(add), .pre_handler = kpb_watch_pre } };
	struct kpb_watch w;

	stop_in_detour(test, &w, true);
	kp_stopped_when_probe_goes(test, &unmasking.stopped, &w.kp, &other.kp,
				   detour_of(w.kp.addr));
	let_go(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
}

static kprobe_opcode_t *form_at(unsigned int n)
{
	return kpb_addr(&kpb_forms[n].place);
}

static unsigned long run_form(unsigned int n, unsigned long arg)
{
	return kpb_run(kpb_forms[n].place.fn, arg);
}

static const struct kp_storm_arch all_forms = {
	.nr		= NR_KPB_FORMS,
	.at		= form_at,
	.call		= run_form,
	.args		= kpb_args,
	.nr_args	= ARRAY_SIZE(kpb_args),
};

static void results_while_jumps_come_and_go(struct kunit *test)
{
	kp_storm(test, &all_forms);
}

static struct kunit_case optimize_cases[] = {
	KUNIT_CASE_PARAM(optimize_forms, form_gen_params),
	KUNIT_CASE(no_jump_for_a_call_through_the_link),
	KUNIT_CASE(no_jump_at_a_landing_pad),
	KUNIT_CASE(no_jump_in_what_ends_detours),
	KUNIT_CASE(handlers_have_no_user_access),
	KUNIT_CASE(stopped_when_jumps_are_switched_off),
	KUNIT_CASE(stopped_when_its_probe_goes),
	KUNIT_CASE_SLOW(results_while_jumps_come_and_go),
	{}
};

static struct kunit_suite optimize_suite = {
	.name		= "kprobes_arm64_optimize",
	.test_cases	= optimize_cases,
};
kunit_test_suite(optimize_suite);

MODULE_DESCRIPTION("KUnit tests of jump optimization on arm64");
MODULE_LICENSE("GPL");
