/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suites of calls of jprobe handlers of arm64 and powerpc share: a breakpoint at each
 * instruction of the call, as an interrupt could come there. It uses the stack below the stack
 * pointer, and the stack must be unwound past the call. The suite includes it once it has declared
 *
 *  - kpj_copied_call() and kpj_copied_unwind(), copies of kprobe_jprobe_call() and
 *    arch_jprobe_unwind() that can be probed;
 *  - KPJ_CODE(), where the code of these functions begins;
 *  - KPJ_PADDING, the word that may follow them.
 *
 * After it, the suite defines the functions that are declared below.
 */
#ifndef _KERNEL_KPROBES_TESTS_JPROBE_WORDS_H
#define _KERNEL_KPROBES_TESTS_JPROBE_WORDS_H

#include <linux/stacktrace.h>

#include "traces.h"
#include "words.h"

#define MAX_STEPS	144

static struct {
	void			*called;
	/* The instructions, hits of a handler that leaves and of one that returns, and traces. */
	unsigned int		nr, hits, without_caller, lost;
	unsigned long		lost_at;
	struct kprobe		kp[MAX_STEPS];
	struct kprobe		*kps[MAX_STEPS];
	bool			hit[MAX_STEPS];
	struct kp_trace		trace;
} step;

/* Where the numbers depend on the code. */
static void expect_steps(struct kunit *test);

static noinline void leave(void)
{
	kpj_copied_unwind(step.called);
	/* Reached only if that returns. */
	step.lost += 1000;
}

static void handler_that_leaves(void)
{
	leave();
	step.lost += 1000;
}

static void handler_that_returns(void)
{
}

static noinline void call_copy(void *entry)
{
	unsigned long stack[NR_COPIED] = {};
	struct pt_regs regs = {};

	kpj_copied_call(stack, entry, &regs, &step.called);
	/* Not a tail call. */
	barrier();
}

static noinline void step_outer(void *entry)
{
	call_copy(entry);
	barrier();
}

static int on_step(struct kprobe *p, struct pt_regs *regs)
{
	step.hits++;
	step.hit[p - step.kp] = true;
	step.trace.nr = stack_trace_save_regs(regs, step.trace.entries, KP_MAX_ENTRIES, 0);
	if (kp_trace_find(&step.trace, step_outer) < 0) {
		step.lost++;
		step.lost_at = instruction_pointer(regs);
	}
	step.without_caller += kp_trace_find(&step.trace, call_copy) < 0;
	return 0;
}

/* Up to the next function, there may be padding, and what belongs to that function. */
static bool is_insn(unsigned long addr)
{
	u32 word = *(u32 *)addr;

	return word && word != KPJ_PADDING && kp_decide(addr) != KPROBE_REFUSAL_PREAMBLE;
}

static void add_steps(struct kunit *test, unsigned long start)
{
	unsigned long size, at;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, NULL));
	for (at = start; at < start + size; at += sizeof(kprobe_opcode_t)) {
		if (!is_insn(at))
			continue;
		KUNIT_ASSERT_LT(test, step.nr, MAX_STEPS);
		/* A post handler rules a jump out. */
		step.kp[step.nr] = (struct kprobe) {
			.addr		= (kprobe_opcode_t *)at,
			.pre_handler	= on_step,
			.post_handler	= kp_nothing_post,
		};
		step.kps[step.nr] = &step.kp[step.nr];
		step.nr++;
	}
}

static void jprobe_unwinds_at_each_instruction(struct kunit *test)
{
	unsigned int i;

	memset(&step, 0, sizeof(step));
	add_steps(test, KPJ_CODE(kpj_copied_call));
	add_steps(test, KPJ_CODE(kpj_copied_unwind));
	KUNIT_ASSERT_EQ(test, register_kprobes(step.kps, step.nr), 0);

	step_outer(handler_that_leaves);
	/* All were executed: the landing of the one is where the other one goes. */
	for (i = 0; i < step.nr; i++)
		KUNIT_EXPECT_TRUE_MSG(test, step.hit[i], "%pS", step.kp[i].addr);
	step_outer(handler_that_returns);
	unregister_kprobes(step.kps, step.nr);

	KUNIT_EXPECT_EQ_MSG(test, step.lost, 0, "of %u, the last one at %pS", step.hits,
			    (void *)step.lost_at);
	expect_steps(test);
}

#endif /* _KERNEL_KPROBES_TESTS_JPROBE_WORDS_H */
