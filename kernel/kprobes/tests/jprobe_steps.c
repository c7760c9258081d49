// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stack traces from each instruction of the call of a jprobe's handler; see jprobe_steps.h.
 */

#include "suite.h"

#include <linux/compiler.h>
#include <linux/stacktrace.h>

#include "jprobe_steps.h"
#include "traces.h"

#define MAX_STEPS	144

static struct {
	const struct kp_jprobe_steps_arch	*arch;
	struct kp_jprobe_steps			found;
	struct kprobe				kp[MAX_STEPS];
	struct kprobe				*kps[MAX_STEPS];
	bool					hit[MAX_STEPS];
	unsigned int				lost;
	unsigned long				lost_at;
	unsigned long				trace[48];
} step;

static noinline void leave(void)
{
	step.arch->unwind();
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

static noinline void step_outer(void *entry)
{
	step.arch->call(entry);
	/* Not a tail call. */
	barrier();
}

static bool trace_has(unsigned int n, void *fn)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (kp_is_within(step.trace[i], fn))
			return true;
	return false;
}

static int on_step(struct kprobe *p, struct pt_regs *regs)
{
	unsigned int n;

	step.found.hits++;
	step.hit[p - step.kp] = true;
	n = stack_trace_save_regs(regs, step.trace, ARRAY_SIZE(step.trace), 0);
	if (!trace_has(n, step_outer)) {
		step.lost++;
		step.lost_at = instruction_pointer(regs);
	}
	step.found.without_caller += !trace_has(n, step.arch->call);
	return 0;
}

static void add_steps(struct kunit *test, unsigned long start)
{
	unsigned int *nr = &step.found.nr;
	unsigned long size, at;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, NULL));
	for (at = start; at < start + size; at += sizeof(kprobe_opcode_t)) {
		if (!step.arch->is_insn(at, start + size))
			continue;
		KUNIT_ASSERT_LT(test, *nr, MAX_STEPS);
		/* A post handler rules a jump out. */
		step.kp[*nr] = (struct kprobe) {
			.addr		= (kprobe_opcode_t *)at,
			.pre_handler	= on_step,
			.post_handler	= kp_nothing_post,
		};
		step.kps[*nr] = &step.kp[*nr];
		(*nr)++;
	}
}

/**
 * kp_jprobe_steps() - expect that a trace from each instruction has all that is outside of the call
 * @test: the case
 * @arch: what the architecture provides
 * @found: numbers that depend on the architecture
 *
 * Context: process context, may sleep.
 */
void kp_jprobe_steps(struct kunit *test, const struct kp_jprobe_steps_arch *arch,
		     struct kp_jprobe_steps *found)
{
	unsigned int i;

	memset(&step, 0, sizeof(step));
	step.arch = arch;
	for (i = 0; i < ARRAY_SIZE(arch->code); i++)
		add_steps(test, arch->code[i]);
	KUNIT_ASSERT_EQ(test, register_kprobes(step.kps, step.found.nr), 0);

	step_outer(handler_that_leaves);
	/* All were executed: the landing of the one is where the other one goes. */
	for (i = 0; i < step.found.nr; i++)
		KUNIT_EXPECT_TRUE_MSG(test, step.hit[i], "%pS", step.kp[i].addr);
	step_outer(handler_that_returns);
	unregister_kprobes(step.kps, step.found.nr);

	KUNIT_EXPECT_EQ_MSG(test, step.lost, 0, "of %u, the last one at %pS", step.found.hits,
			    (void *)step.lost_at);
	*found = step.found;
}
