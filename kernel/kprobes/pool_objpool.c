// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools of return probe instances where 64 bits cannot be exchanged atomically: the kernel's
 * objpool, which does not grow.
 */

#include <linux/objpool.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "pool.h"

static void kretprobe_free_instance_rcu(struct rcu_head *head)
{
	struct kretprobe_instance *ri = container_of(head, struct kretprobe_instance,
						     rcu);

	objpool_drop(ri, &ri->rph->pool);
}

/* Unwinders may still read the instances, so they are freed by RCU. */
static void kretprobe_pool_free_late(struct irq_work *work)
{
	struct kretprobe_pool_late *late = container_of(work, struct kretprobe_pool_late, work);
	struct kretprobe_instance *ri, *next;

	/* Pairs with llist_add() in kretprobe_pool_put_closed(). */
	llist_for_each_entry_safe(ri, next, llist_del_all(&late->instances), llist)
		call_rcu(&ri->rcu, kretprobe_free_instance_rcu);
}

/* Not in the pool, which may be gone before an interrupt that was raised twice is over. */
DEFINE_PER_CPU(struct kretprobe_pool_late, kretprobe_pool_late) = {
	.work	= IRQ_WORK_INIT_HARD(kretprobe_pool_free_late),
};

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

/* @grows is ignored: these pools have a fixed size. */
struct kretprobe_holder *kretprobe_pool_create(int nr, size_t data_size, bool grows)
{
	struct kretprobe_holder *rph = kzalloc_obj(*rph);
	int ret;

	if (!rph)
		return ERR_PTR(-ENOMEM);

	ret = objpool_init(&rph->pool, nr,
			   sizeof(struct kretprobe_instance) + data_size,
			   GFP_KERNEL, rph, init_instance, free_holder);
	if (ret) {
		kfree(rph);
		return ERR_PTR(ret);
	}

	return rph;
}

/* No kretprobe_pool_get_*() runs or will run. The holder is freed with the last instance. */
void kretprobe_pool_destroy(struct kretprobe_holder *rph)
{
	objpool_fini(&rph->pool);
}
