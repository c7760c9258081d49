/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that is stopped where a test wants it, such as in a detour: by an interrupt that
 * takes long, or because another thread preempts it.
 *
 * An architecture provides what the thread does, and lets interrupts come on its CPU. They call
 * kp_stopped_catch(), which stops the thread if it is at the right place.
 */
#ifndef _KERNEL_KPROBES_TESTS_STOPPED_H
#define _KERNEL_KPROBES_TESTS_STOPPED_H

#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/sched.h>

struct kunit;

/**
 * struct kp_stopped - a thread to be stopped
 * @task: the thread
 * @hog: what preempts it; NULL if an interrupt stops it
 * @cpu: the CPU of both
 * @spin: the part of the interrupt that takes long
 * @caught: @hog is to preempt it now
 * @there: the thread is stopped
 * @may_go: the thread may continue
 * @go_at: when it may continue in any case, in jiffies; or 0
 */
struct kp_stopped {
	struct task_struct	*task, *hog;
	int			cpu;
	struct tasklet_struct	spin;
	struct completion	caught;
	bool			there, may_go;
	unsigned long		go_at;
};

struct task_struct *kp_bound_thread(struct kunit *test, int (*fn)(void *data), void *data,
				    int cpu);

void kp_stopped_begin(struct kunit *test, struct kp_stopped *s, int (*fn)(void *data),
		      bool preempt);
bool kp_stopped_catch(struct kp_stopped *s, bool (*is_there)(unsigned long ip));
void kp_stopped_wait(struct kunit *test, struct kp_stopped *s);
void kp_stopped_end(struct kp_stopped *s);

void kp_stopped_when_probe_goes(struct kunit *test, struct kp_stopped *s, struct kprobe *p,
				struct kprobe *other, const void *detour);

static inline void kp_let_go(struct kp_stopped *s)
{
	WRITE_ONCE(s->may_go, true);
}

/* The test may be held up by stop_machine(), which waits for the CPU of the thread. */
static inline void kp_let_go_later(struct kp_stopped *s)
{
	WRITE_ONCE(s->go_at, (jiffies + HZ / 10) | 1);
}

/* How long others have the chance to do what they must not. */
static inline void kp_give_it_time(void)
{
	schedule_timeout_uninterruptible(HZ / 4);
}

#endif /* _KERNEL_KPROBES_TESTS_STOPPED_H */
