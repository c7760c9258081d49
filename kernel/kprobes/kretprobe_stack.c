// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Return probes on architectures with a trampoline of their own: the pools,
 * and tasks that die with calls in flight. The hit path is in hit_stack.c.
 */

#include <linux/objpool.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "kretprobe.h"

static int init_instance(void *obj, void *context)
{
	struct kretprobe_instance *ri = obj;

	ri->rph = context;
	return 0;
}

static int free_holder(struct objpool_head *head, void *context)
{
	kfree(context);
	return 0;
}

int kretprobe_pool_attach(struct kretprobe *rp, int nr)
{
	struct kretprobe_holder *rph = kzalloc(sizeof(*rph), GFP_KERNEL);
	int ret;

	if (!rph)
		return -ENOMEM;

	ret = objpool_init(&rph->pool, nr,
			   sizeof(struct kretprobe_instance) + rp->data_size,
			   GFP_KERNEL, rph, init_instance, free_holder);
	if (ret) {
		kfree(rph);
		return ret;
	}

	rcu_assign_pointer(rph->rp, rp);
	rp->rph = rph;
	return 0;
}

void kretprobe_pool_stop(struct kretprobe *rp)
{
	rcu_assign_pointer(rp->rph->rp, NULL);
}

/* The holder itself goes with the last instance. */
void kretprobe_pool_detach(struct kretprobe *rp)
{
	RCU_INIT_POINTER(rp->rph->rp, NULL);
	objpool_fini(&rp->rph->pool);
	rp->rph = NULL;
}

/**
 * kprobe_flush_task() - a task is gone, and calls of it will never return
 * @tsk: the dead task
 *
 * Context: RCU callback.
 */
void kprobe_flush_task(struct task_struct *tsk)
{
	struct llist_node *node, *next;

	/* Nothing was ever hooked: also true before the core is set up. */
	if (likely(llist_empty(&tsk->kretprobe_instances)))
		return;

	kprobe_busy_begin();
	for (node = __llist_del_all(&tsk->kretprobe_instances); node; node = next) {
		next = node->next;
		kretprobe_recycle(container_of(node, struct kretprobe_instance, llist));
	}
	kprobe_busy_end();
}
NOKPROBE_SYMBOL(kprobe_flush_task);
