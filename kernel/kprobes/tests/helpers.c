// SPDX-License-Identifier: GPL-2.0-only
/*
 * What several suites share.
 */

#include <linux/bug.h>
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jump_label.h>
#include <linux/kthread.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/string.h>

#include "../address.h"
#include "helpers.h"

/* check_kunit.c has another function of this name. */
static noinline __noclone __used int kp_twin(int v)
{
	KP_PADDING;
	OPTIMIZER_HIDE_VAR(v);
	return v + 2;
}

static int sleeper_thread(void *data)
{
	struct kp_sleeper *s = data;

	s->returned = s->fn(s);
	return 0;
}

/**
 * kp_sleeper_start() - put a thread to sleep inside a function
 * @s: the sleeper, which need not be initialized
 * @fn: the function, which calls kp_sleep()
 *
 * On success, the thread sleeps in @fn on return. It has to be ended with
 * kp_sleeper_wake().
 *
 * Context: process context, sleeps.
 * Return: 0, or the error of kthread_create().
 */
int kp_sleeper_start(struct kp_sleeper *s, u32 (*fn)(struct kp_sleeper *s))
{
	s->fn = fn;
	init_completion(&s->inside);
	init_completion(&s->leave);
	s->task = kthread_create(sleeper_thread, s, "kp_sleeper");
	if (IS_ERR(s->task))
		return PTR_ERR(s->task);

	get_task_struct(s->task);
	wake_up_process(s->task);
	wait_for_completion(&s->inside);
	/* It may be preempted before it sleeps. */
	while (!wait_task_inactive(s->task, TASK_UNINTERRUPTIBLE))
		msleep(1);
	return 0;
}

/**
 * kp_sleeper_wake() - let the function return, and the thread end
 * @s: a sleeper that was started
 *
 * Context: process context, sleeps.
 * Return: what the function has returned, KP_SLEEPER_RETURNS if nothing changed it.
 */
u32 kp_sleeper_wake(struct kp_sleeper *s)
{
	complete(&s->leave);
	kthread_stop(s->task);
	put_task_struct(s->task);
	return s->returned;
}

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
static bool is_graph_trampoline(unsigned long addr)
{
	return addr == (unsigned long)dereference_kernel_function_descriptor(return_to_handler);
}
#else
static bool is_graph_trampoline(unsigned long addr)
{
	return false;
}
#endif

/**
 * kp_is_return_hook() - is an address where diverted returns go to?
 * @addr: the address
 *
 * Context: any.
 * Return: true if @addr is the trampoline of kretprobes, of rethook or of function
 *	   graph.
 */
bool kp_is_return_hook(unsigned long addr)
{
	if (is_kretprobe_trampoline(addr))
		return true;
	if (IS_ENABLED(CONFIG_RETHOOK) && is_rethook_trampoline(addr))
		return true;
	return is_graph_trampoline(addr);
}

/* Why there can be no probe at an address, as far as the core decides that. */
enum kprobe_refusal kp_vet(unsigned long addr)
{
	struct kprobe_where where = { .addr = addr };
	enum kprobe_refusal why;

	jump_label_lock();
	scoped_guard(preempt)
		why = kprobe_address_vet(&where);
	jump_label_unlock();
	return why;
}

extern char __start_once[], __end_once[];

/* What is printed once is printed again. */
void kp_warn_again(void)
{
	generic_bug_clear_once();
	memset(__start_once, 0, __end_once - __start_once);
}

/* scripts/test/results.py accepts a splat that is announced. */
void kp_expect_splat(const char *text)
{
	kp_warn_again();
	pr_info("expect splat: %s\n", text);
}
