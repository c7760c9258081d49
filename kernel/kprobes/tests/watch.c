// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes that record their hits, and which way these come; see watch.h.
 */

#include <linux/preempt.h>
#include <linux/ptrace.h>

#include "watch.h"

/**
 * kp_watch_pre() - pre handler of a struct kp_watch
 * @p: its probe
 * @regs: registers of the hit
 *
 * Context: that of a hit.
 * Return: 0.
 */
int kp_watch_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct kp_watch *w = container_of(p, struct kp_watch, kp);

	WRITE_ONCE(w->ip, instruction_pointer(regs));
	WRITE_ONCE(w->trapped, in_nmi());
	atomic_inc(&w->pre);
	return 0;
}

/**
 * kp_watch_post() - post handler of a struct kp_watch
 * @p: its probe
 * @regs: registers after the probed instruction
 * @flags: always 0
 *
 * Context: that of a hit.
 */
void kp_watch_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	struct kp_watch *w = container_of(p, struct kp_watch, kp);

	WRITE_ONCE(w->post_ip, instruction_pointer(regs));
	atomic_inc(&w->post);
}

/**
 * kp_watch_fault() - fault handler of a struct kp_watch
 * @p: its probe
 * @regs: registers of the fault
 * @trapnr: what the architecture calls the fault
 *
 * Context: that of the fault.
 * Return: 0, the fault is not handled.
 */
int kp_watch_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	struct kp_watch *w = container_of(p, struct kp_watch, kp);

	w->trapnr = trapnr;
	atomic_inc(&w->faults);
	return 0;
}

/**
 * kp_nothing_pre() - a pre handler that does nothing
 * @p: the probe
 * @regs: registers of the hit
 *
 * Context: that of a hit.
 * Return: 0.
 */
int kp_nothing_pre(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

/**
 * kp_nothing_post() - a post handler that does nothing
 * @p: the probe
 * @regs: registers after the probed instruction
 * @flags: always 0
 *
 * A post handler keeps a probe from being optimized.
 *
 * Context: that of a hit.
 */
void kp_nothing_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

/**
 * kp_without_jumps() - have all hits come through breakpoints
 * @suite: the suite that begins
 *
 * Context: process context, may sleep.
 * Return: 0.
 */
int kp_without_jumps(struct kunit_suite *suite)
{
	kprobe_test_allow_optimization(false);
	return 0;
}

/**
 * kp_with_jumps() - undo kp_without_jumps()
 * @suite: the suite that ends
 *
 * Context: process context, may sleep.
 */
void kp_with_jumps(struct kunit_suite *suite)
{
	kprobe_test_allow_optimization(true);
}

/**
 * kp_allow_jumps() - have hits come through jumps again after a case
 * @test: the case that ends
 *
 * Context: process context, may sleep.
 */
void kp_allow_jumps(struct kunit *test)
{
	kprobe_test_allow_optimization(true);
}
