// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that are stopped where a test wants them; see stopped.h.
 */

#include "suite.h"

#include <asm/irq_regs.h>

#include "stopped.h"

/*
 * Longer than any test stops a thread, or takes to get it there. But not so long that the kernel
 * would complain.
 */
#define PATIENCE	(15 * HZ)

static void spin(struct kp_stopped *s)
{
	unsigned long end = jiffies + PATIENCE, at;

	WRITE_ONCE(s->there, true);
	while (!READ_ONCE(s->may_go) && time_before(jiffies, end)) {
		at = READ_ONCE(s->go_at);
		if (at && time_after_eq(jiffies, at))
			kp_let_go(s);
		cpu_relax();
	}
}

static void spin_tasklet(struct tasklet_struct *tasklet)
{
	struct kp_stopped *s = from_tasklet(s, tasklet, spin);

	spin(s);
}

static int hog_thread(void *data)
{
	struct kp_stopped *s = data;

	wait_for_completion(&s->caught);
	/* Otherwise, the scheduler would let the thread run for a part of each second. */
	sched_set_fifo_low(s->task);
	spin(s);
	sched_set_normal(s->task, 0);
	return 0;
}

/**
 * kp_bound_thread() - create a thread that runs on one CPU
 * @test: the case, which ends if there is no memory
 * @fn: what it runs
 * @data: argument of @fn
 * @cpu: the CPU
 *
 * It has to be started with wake_up_process(), and ended with kthread_stop_put(), also
 * if @fn has returned by then.
 *
 * Context: process context, may sleep.
 * Return: the thread.
 */
struct task_struct *kp_bound_thread(struct kunit *test, int (*fn)(void *data), void *data,
				    int cpu)
{
	struct task_struct *task = kthread_create(fn, data, "kp_bound");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, cpu);
	return get_task_struct(task);
}

/**
 * kp_stopped_begin() - create a thread that is to be stopped
 * @test: the case, which is skipped if that is not possible here
 * @s: the thread, which need not be initialized
 * @fn: what it runs, with @s as its argument
 * @preempt: it is to be preempted, not interrupted for long
 *
 * The thread does not run before wake_up_process(). From now on, the test has another CPU.
 *
 * Context: process context, may sleep.
 */
void kp_stopped_begin(struct kunit *test, struct kp_stopped *s, int (*fn)(void *data),
		      bool preempt)
{
	KP_SKIP_IF(test, num_online_cpus() < 2, "needs two CPUs");
	KP_SKIP_IF(test, preempt && !IS_ENABLED(CONFIG_PREEMPTION), "needs PREEMPTION");

	memset(s, 0, sizeof(*s));
	s->cpu = cpumask_last(cpu_online_mask);
	init_completion(&s->caught);
	tasklet_setup(&s->spin, spin_tasklet);
	/* Earlier work would wait for the thread as well. */
	wait_for_kprobe_optimizer();
	set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));

	s->task = kp_bound_thread(test, fn, s, s->cpu);
	if (preempt) {
		s->hog = kp_bound_thread(test, hog_thread, s, s->cpu);
		sched_set_fifo_low(s->hog);
		wake_up_process(s->hog);
	}
}

/**
 * kp_stopped_catch() - stop a thread if it is at the right place
 * @s: the thread
 * @is_there: is it, if it is interrupted at @ip?
 *
 * Context: hard interrupt, on the CPU of the thread.
 * Return: true if the thread is stopped when this interrupt ends.
 */
bool kp_stopped_catch(struct kp_stopped *s, bool (*is_there)(unsigned long ip))
{
	struct pt_regs *regs = get_irq_regs();

	if (current != s->task || !regs || !is_there(instruction_pointer(regs)))
		return false;

	if (s->hog)
		complete(&s->caught);
	else
		tasklet_hi_schedule(&s->spin);
	return true;
}

/**
 * kp_stopped_wait() - wait until a thread is stopped
 * @test: the case, which fails if it is not
 * @s: the thread
 *
 * Context: process context, sleeps.
 */
void kp_stopped_wait(struct kunit *test, struct kp_stopped *s)
{
	unsigned long end = jiffies + PATIENCE;

	while (!READ_ONCE(s->there) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(s->there));
}

/**
 * kp_stopped_end() - let a thread continue and end
 * @s: the thread, which nothing tries to stop any more
 *
 * Context: process context, sleeps.
 */
void kp_stopped_end(struct kp_stopped *s)
{
	kp_let_go(s);
	if (s->hog) {
		complete(&s->caught);
		kthread_stop_put(s->hog);
	}
	tasklet_kill(&s->spin);
	kthread_stop_put(s->task);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/**
 * kp_stopped_when_probe_goes() - unregister a probe while a thread is stopped in its detour
 * @test: the case
 * @s: the thread, which is stopped there and then let go
 * @p: the probe
 * @other: a probe of another instruction, which is not registered
 * @detour: start of the detour
 *
 * The detour has to stay as it is until the thread has left it, and to go then.
 *
 * Context: process context, sleeps.
 */
void kp_stopped_when_probe_goes(struct kunit *test, struct kp_stopped *s, struct kprobe *p,
				struct kprobe *other, const void *detour)
{
	u8 copy[MAX_OPTINSN_SIZE * sizeof(kprobe_opcode_t)];
	unsigned long start = (unsigned long)detour;

	memcpy(copy, detour, sizeof(copy));
	unregister_kprobe(p);
	/* Another detour must not take its place. */
	KUNIT_EXPECT_EQ(test, register_kprobe(other), 0);
	kp_give_it_time();
	KUNIT_EXPECT_TRUE(test, is_kprobe_optinsn_slot(start));
	scoped_guard(preempt)
		KUNIT_EXPECT_NOT_NULL(test, kprobe_optinsn_owner(start));
	KUNIT_EXPECT_MEMEQ(test, detour, copy, sizeof(copy));
	unregister_kprobe(other);

	kp_let_go(s);
	wait_for_kprobe_optimizer();
	scoped_guard(preempt)
		KUNIT_EXPECT_NULL(test, kprobe_optinsn_owner(start));
}
