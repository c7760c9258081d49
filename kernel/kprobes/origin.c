// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who has registered a probe. The structure of a probe belongs to its user, and says
 * nothing about that.
 */

#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "lock.h"
#include "origin.h"

/* The newest one, for a caller that registers many probes one by one; kprobe_mutex. */
static struct kprobe_origin *newest;

/**
 * kprobe_origin_of_caller() - describe the caller
 *
 * Context: process context, sleeps.
 * Return: a description with one more user; NULL without memory.
 */
struct kprobe_origin *kprobe_origin_of_caller(void)
{
	struct kprobe_origin now = { .users = 1, .tgid = task_tgid_nr(current) };
	struct kprobe_origin *origin;

	scoped_guard(rcu)
		now.start = READ_ONCE(current->group_leader)->start_time;
	get_task_comm(now.comm, current);

	guard(mutex)(&kprobe_mutex);

	if (newest && newest->tgid == now.tgid && newest->start == now.start &&
	    !strcmp(newest->comm, now.comm))
		return kprobe_origin_get(newest);

	origin = kmemdup(&now, sizeof(now), GFP_KERNEL);
	if (origin)
		newest = origin;
	return origin;
}

/**
 * kprobe_origin_get() - add a user
 * @origin: what it refers to
 *
 * Context: kprobe_mutex held.
 * Return: @origin.
 */
struct kprobe_origin *kprobe_origin_get(struct kprobe_origin *origin)
{
	lockdep_assert_held(&kprobe_mutex);

	origin->users++;
	return origin;
}

/**
 * kprobe_origin_put() - remove a user; the last one frees it
 * @origin: what it referred to
 *
 * Context: kprobe_mutex held.
 */
void kprobe_origin_put(struct kprobe_origin *origin)
{
	lockdep_assert_held(&kprobe_mutex);

	if (--origin->users)
		return;

	if (newest == origin)
		newest = NULL;
	kfree(origin);
}
