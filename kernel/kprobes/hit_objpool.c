// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pools of return probe instances on objpool, what the hit path does rarely.
 */

#include "retpool.h"

static void free_instance_rcu(struct rcu_head *head)
{
	struct kretprobe_instance *ri = container_of(head, struct kretprobe_instance,
						     rcu);

	objpool_drop(ri, &ri->rph->pool);
}

/**
 * retpool_put_late() - an instance comes back when its kretprobe is gone
 * @ri: the instance; the pool may be gone one grace period later
 *
 * Context: hit path, or where a dead task is cleaned up.
 */
void retpool_put_late(struct kretprobe_instance *ri)
{
	/* A return probe on what this calls would come back here. */
	kprobe_busy_begin();
	call_rcu(&ri->rcu, free_instance_rcu);
	kprobe_busy_end();
}
NOKPROBE_SYMBOL(retpool_put_late);
