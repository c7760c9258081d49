// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who has registered a probe. The structure of a probe belongs to its user, and says
 * nothing about that.
 */

#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "lock.h"
#include "origin.h"

/**
 * kprobe_origin_create() - describe the caller
 *
 * Context: process context, sleeps.
 * Return: a description with one user; NULL without memory.
 */
struct kprobe_origin *kprobe_origin_create(void)
{
	struct kprobe_origin *origin = kmalloc_obj(*origin);

	if (!origin)
		return NULL;

	origin->users = 1;
	origin->tgid = task_tgid_nr(current);
	scoped_guard(rcu)
		origin->start = READ_ONCE(current->group_leader)->start_time;
	get_task_comm(origin->comm, current);
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

	if (!--origin->users)
		kfree(origin);
}
