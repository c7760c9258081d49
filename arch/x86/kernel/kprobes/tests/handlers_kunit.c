// SPDX-License-Identifier: GPL-2.0-only
/*
 * What of x86 handlers that are called from a detour see, and what they may change: flags, the
 * stack pointer, and the address, which may be in what a jump has replaced. And the context of
 * handlers of each kind of hit.
 */

#include "suite.h"

#include <asm/asm.h>
#include <asm/segment.h>

#include "detours.h"

/* A handler must not access user memory by accident. */
static atomic_t with_ac;

static int look_for_ac(struct kprobe *p, struct pt_regs *regs)
{
	if (native_save_fl() & X86_EFLAGS_AC || !(regs->flags & X86_EFLAGS_AC))
		atomic_inc(&with_ac);
	return 0;
}

static void handler_runs_with_ac_clear(struct kunit *test)
{
	struct kprobe p = { .addr = AT(under_ac), .pre_handler = look_for_ac };
	unsigned long before = native_save_fl() & X86_EFLAGS_AC;

	KP_SKIP_IF(test, !boot_cpu_has(X86_FEATURE_SMAP), "needs SMAP");
	KUNIT_ASSERT_NE(test, kp_run(kpo_under_ac, 1) & X86_EFLAGS_AC, 0);

	atomic_set(&with_ac, 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	KUNIT_EXPECT_NE(test, kp_run(kpo_under_ac, 1) & X86_EFLAGS_AC, 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(p.addr));
	KUNIT_EXPECT_NE(test, kp_run(kpo_under_ac, 1) & X86_EFLAGS_AC, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&with_ac), 0);
	KUNIT_EXPECT_EQ(test, native_save_fl() & X86_EFLAGS_AC, before);
	unregister_kprobe(&p);
}

/* C code requires DF clear, whatever the probed code uses. */
static atomic_t wrong_df;

static int look_for_df(struct kprobe *p, struct pt_regs *regs)
{
	if (native_save_fl() & X86_EFLAGS_DF || !(regs->flags & X86_EFLAGS_DF))
		atomic_inc(&wrong_df);
	return kp_watch_pre(p, regs);
}

static void handler_runs_with_df_clear(struct kunit *test)
{
	struct kp_watch w = { .kp = { .addr = AT(under_df), .pre_handler = look_for_df } };

	KUNIT_ASSERT_NE(test, kp_run(kpo_under_df, 1) & X86_EFLAGS_DF, 0);

	atomic_set(&wrong_df, 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_NE(test, kp_run(kpo_under_df, 1) & X86_EFLAGS_DF, 0);
	KUNIT_EXPECT_TRUE(test, w.trapped);
	KUNIT_EXPECT_EQ(test, atomic_read(&wrong_df), 0);

	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_NE(test, kp_run(kpo_under_df, 1) & X86_EFLAGS_DF, 0);
	KUNIT_EXPECT_FALSE(test, w.trapped);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&wrong_df), 0);
	KUNIT_EXPECT_EQ(test, native_save_fl() & X86_EFLAGS_DF, 0);
	unregister_kprobe(&w.kp);
}

/* Drop one word of the stack, and continue after the NOPs, if that is to count. */
static bool sp_counts;

static int raise_sp(struct kprobe *p, struct pt_regs *regs)
{
	regs->sp += sizeof(long);
	regs->ip = (unsigned long)AT(two_words) + 5;
	return sp_counts;
}

/* Like ip, sp counts if the handler says so. */
static void handler_changes_stack_pointer(struct kunit *test)
{
	struct kprobe p = { .addr = AT(two_words), .pre_handler = raise_sp };

	KUNIT_EXPECT_EQ(test, kp_run(kpo_two_words, 5), 7);
	KP_REGISTER_AND_WAIT(test, &p);
	KUNIT_EXPECT_TRUE(test, is_live(p.addr));
	sp_counts = false;
	KUNIT_EXPECT_EQ(test, kp_run(kpo_two_words, 5), 7);
	sp_counts = true;
	KUNIT_EXPECT_EQ(test, kp_run(kpo_two_words, 5), 5);
	unregister_kprobe(&p);
}

/* Redirect into the instructions that a jump has replaced. */
static int go_to_second(struct kprobe *p, struct pt_regs *regs)
{
	regs->ip = (unsigned long)AT(mov) + 2;
	regs->cx = 40;
	return 1;
}

static void go_to_second_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	go_to_second(p, regs);
}

static void redirection_into_replaced_instructions(struct kunit *test)
{
	struct kprobe target = { .addr = AT(mov), .pre_handler = kpo_change_ax };
	struct kprobe p = { .addr = AT(nops), .pre_handler = go_to_second };
	struct kprobe post = { .addr = AT(nops), .post_handler = kp_nothing_post };

	KUNIT_ASSERT_EQ(test, register_kprobe(&target), 0);
	KP_REGISTER_AND_WAIT(test, &p);
	KUNIT_ASSERT_TRUE(test, is_live(target.addr));
	KUNIT_ASSERT_TRUE(test, is_live(p.addr));
	KUNIT_EXPECT_EQ(test, kp_run(kpo_nops, 5), 43);

	/* The same from a breakpoint. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&post), 0);
	KUNIT_EXPECT_FALSE(test, is_live(p.addr));
	KUNIT_EXPECT_EQ(test, kp_run(kpo_nops, 5), 43);
	unregister_kprobe(&post);
	unregister_kprobe(&p);

	/* And from its post handler. */
	post = (struct kprobe){ .addr = AT(nops), .post_handler = go_to_second_after };
	KUNIT_ASSERT_EQ(test, register_kprobe(&post), 0);
	KUNIT_EXPECT_EQ(test, kp_run(kpo_nops, 5), 43);
	unregister_kprobe(&post);
	unregister_kprobe(&target);
}

static unsigned long avoided(unsigned long ip)
{
	struct pt_regs regs = { .ip = ip };

	guard(preempt)();

	kprobe_avoid_jump(&regs);
	return regs.ip;
}

/* Only where the jump has replaced an instruction is there a copy to be executed. */
static void redirection_near_a_jump(struct kunit *test)
{
	struct kprobe p = { .addr = AT(mov), .pre_handler = kpo_change_ax };
	struct kprobe post = { .addr = AT(mov), .post_handler = kp_nothing_post };
	const struct arch_optimized_insn *o;
	unsigned long addr = (unsigned long)p.addr;
	unsigned int i, next = 1;

	KP_REGISTER_AND_WAIT(test, &p);
	KUNIT_EXPECT_TRUE(test, is_live(p.addr));
	o = &op_at(p.addr)->optinsn;
	KUNIT_EXPECT_GT(test, o->nr, 1);
	KUNIT_EXPECT_GT(test, o->detour->from[1], 1);

	KUNIT_EXPECT_EQ(test, avoided(addr), addr);
	for (i = 1; i < o->jump; i++) {
		bool starts = next < o->nr && o->detour->from[next] == i;

		KUNIT_EXPECT_EQ(test, avoided(addr + i),
				starts ? (unsigned long)o->insn + o->detour->to[next] : addr + i);
		next += starts;
	}
	KUNIT_EXPECT_EQ(test, avoided(addr + o->jump), addr + o->jump);

	/* After a breakpoint the instructions are still in place. */
	KUNIT_EXPECT_EQ(test, register_kprobe(&post), 0);
	KUNIT_EXPECT_FALSE(test, is_live(p.addr));
	for (i = 0; i <= JMP32_INSN_SIZE; i++)
		KUNIT_EXPECT_EQ(test, avoided(addr + i), addr + i);
	unregister_kprobe(&post);
	unregister_kprobe(&p);
}

/* The same from the fault handler of another probe's step. */
FUNCTION(bad_load, "777: mov (%" R "ax), %eax; jmp 2f; 1: mov $-14, %eax; 2:\n"
	 _ASM_EXTABLE(777b, 1b));

static int fault_to_second(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	return go_to_second(p, regs);
}

static void fault_redirection_into_replaced_instructions(struct kunit *test)
{
	struct kprobe target = { .addr = AT(mov), .pre_handler = kpo_change_ax };
	struct kprobe p = {
		.addr		= AT(bad_load),
		.post_handler	= kp_nothing_post,
		.fault_handler	= fault_to_second,
	};

	KUNIT_ASSERT_EQ(test, register_kprobe(&target), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&p), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(target.addr));
	/* Nothing is ever mapped there. */
	KUNIT_EXPECT_EQ(test, kp_run(kpo_bad_load, -PAGE_SIZE), 43);
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
	unregister_kprobe(&p);
	unregister_kprobe(&target);
	KUNIT_EXPECT_EQ(test, (int)kp_run(kpo_bad_load, -PAGE_SIZE), -EFAULT);
}

/* The context of handlers, which Documentation/trace/kprobes.rst describes. */
static struct {
	unsigned int	calls;
	bool		in_nmi, in_hardirq, irqs_off, preemptible;
} context;

static void look_at_context(void)
{
	context.calls++;
	context.in_nmi = in_nmi();
	context.in_hardirq = in_hardirq();
	context.irqs_off = irqs_disabled();
	context.preemptible = preemptible();
}

static int context_pre(struct kprobe *p, struct pt_regs *regs)
{
	look_at_context();
	return 0;
}

static void context_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	look_at_context();
}

static int context_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	look_at_context();
	return 0;
}

static noinline void kpo_described(void)
{
	/* Not to be inlined, cloned or left out. */
	asm volatile("");
}

static void call_nops(void)
{
	kp_run(kpo_nops, 5);
}

/* A breakpoint is an NMI to the kernel, and keeps interrupts off; other hits are calls. */
static void expect_context(struct kunit *test, void (*fn)(void), unsigned int calls, bool trap)
{
	int off;

	for (off = 0; off < 2; off++) {
		memset(&context, 0, sizeof(context));
		if (off)
			local_irq_disable();
		fn();
		if (off)
			local_irq_enable();
		KUNIT_EXPECT_EQ(test, context.calls, calls);
		KUNIT_EXPECT_EQ(test, context.in_nmi, trap);
		KUNIT_EXPECT_EQ(test, context.in_hardirq, trap);
		KUNIT_EXPECT_EQ(test, context.irqs_off, trap || off);
		KUNIT_EXPECT_FALSE(test, context.preemptible);
	}
}

static void handlers_run_in_the_documented_context(struct kunit *test)
{
	struct kprobe post = { .addr = AT(nops), .post_handler = context_post };
	struct kprobe p = { .addr = AT(nops), .pre_handler = context_pre };
	struct kprobe entry = { .symbol_name = "kpo_described", .pre_handler = context_pre };
	struct kretprobe rp = { .kp.symbol_name = "kpo_described", .handler = context_return };

	KUNIT_ASSERT_EQ(test, register_kprobe(&post), 0);
	expect_context(test, call_nops, 1, true);
	KUNIT_EXPECT_EQ(test, register_kprobe(&p), 0);
	expect_context(test, call_nops, 2, true);
	unregister_kprobe(&post);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(p.addr));
	expect_context(test, call_nops, 1, false);
	unregister_kprobe(&p);

	KP_REGISTER_AND_WAIT(test, &entry);
	if (kprobe_ftrace(&entry) || is_live(entry.addr))
		expect_context(test, kpo_described, 1, false);
	unregister_kprobe(&entry);

	/* By a trampoline. */
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	expect_context(test, kpo_described, 1, false);
	unregister_kretprobe(&rp);
}

static struct kunit_case handlers_cases[] = {
	KUNIT_CASE(handler_runs_with_ac_clear),
	KUNIT_CASE(handler_runs_with_df_clear),
	KUNIT_CASE(handler_changes_stack_pointer),
	KUNIT_CASE(redirection_into_replaced_instructions),
	KUNIT_CASE(redirection_near_a_jump),
	KUNIT_CASE(fault_redirection_into_replaced_instructions),
	KUNIT_CASE(handlers_run_in_the_documented_context),
	{}
};

KP_SUITE(handlers_cases, .name = "kprobes_x86_handlers");
