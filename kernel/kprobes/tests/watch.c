// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes that record their hits, and which way these come; see watch.h.
 */

#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#include "../slots.h"
#include "watch.h"

static void remove_probe(void *p)
{
	unregister_kprobe(p);
}

int kp_add(struct kunit *test, struct kprobe *p)
{
	return register_kprobe(p) ?: kunit_add_action_or_reset(test, remove_probe, p);
}

static void remove_return_probe(void *rp)
{
	unregister_kretprobe(rp);
}

int kp_add_return(struct kunit *test, struct kretprobe *rp)
{
	if (!IS_ENABLED(CONFIG_KRETPROBES))
		kunit_skip(test, "needs KRETPROBES");
	return register_kretprobe(rp) ?: kunit_add_action_or_reset(test, remove_return_probe, rp);
}

struct kprobe *kp_add_copy(struct kunit *test, const struct kprobe *p)
{
	struct kprobe *copy = kp_zalloc(test, sizeof(*copy));

	*copy = *p;
	KP_ADD(test, copy);
	return copy;
}

struct kretprobe *kp_add_return_copy(struct kunit *test, const struct kretprobe *rp)
{
	struct kretprobe *copy = kp_zalloc(test, sizeof(*copy));

	*copy = *rp;
	KP_ADD_RETURN(test, copy);
	return copy;
}

struct kp_watch *kp_add_watch(struct kunit *test, const struct kprobe *p)
{
	struct kp_watch *w = kp_zalloc(test, sizeof(*w));

	w->kp = *p;
	KP_ADD(test, &w->kp);
	return w;
}

void *kp_calloc(struct kunit *test, size_t n, size_t size)
{
	void *p = kunit_kcalloc(test, n, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	return p;
}

void *kp_zalloc(struct kunit *test, size_t size)
{
	return kp_calloc(test, 1, size);
}

int kp_await_stop(void)
{
	while (!kthread_should_stop())
		schedule_timeout_uninterruptible(1);
	return 0;
}

void kp_flush_slots(struct kprobe_slot_cache *cache)
{
	bool waiting;

	do {
		if (IS_ENABLED(CONFIG_TASKS_RCU))
			rcu_barrier_tasks();
		rcu_barrier();
		flush_work(&cache->work);
		scoped_guard(mutex, &cache->mutex)
			waiting = cache->waiting;
	} while (waiting);
}

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
