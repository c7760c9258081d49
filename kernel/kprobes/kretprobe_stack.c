// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return probes on architectures with a trampoline of their own: a kretprobe and its pool, and
 * tasks that die with calls in flight. The hit path is in hit_stack.c.
 */

#include <linux/sched.h>

#include "kretprobe.h"
#include "pool.h"

/* No hit uses @rp. After an error it is untouched. */
int kretprobe_attach_pool(struct kretprobe *rp, int nr)
{
	/* Does not grow if the user has chosen a size. */
	struct kretprobe_holder *rph = kretprobe_pool_create(nr, rp->data_size,
						      rp->maxactive <= 0);

	if (IS_ERR(rph))
		return PTR_ERR(rph);

	rcu_assign_pointer(rph->rp, rp);
	rcu_assign_pointer(rph->plain, rp->handler && !rp->kp.fault_handler ? rp : NULL);
	rp->rph = rph;
	return 0;
}

/* From now on, no handler is called. Calls that have begun are over after one grace period. */
void kretprobe_stop_handler(struct kretprobe *rp)
{
	kprobe_assert_locked();

	rcu_assign_pointer(rp->rph->rp, NULL);
	rcu_assign_pointer(rp->rph->plain, NULL);
}

/*
 * @rp was stopped a grace period ago, or never registered. Instances in flight are freed when
 * their calls return.
 */
void kretprobe_detach_pool(struct kretprobe *rp)
{
	/*
	 * Kprobe events of a module are registered again and again. What register_kretprobes()
	 * has written there must not be taken for the choice of the user, as such a pool does not
	 * grow.
	 */
	if (kretprobe_pool_has_default_size(rp->rph) &&
	    rp->maxactive == kretprobe_default_instances())
		rp->maxactive = 0;

	RCU_INIT_POINTER(rp->rph->rp, NULL);
	RCU_INIT_POINTER(rp->rph->plain, NULL);
	kretprobe_pool_destroy(rp->rph);
	rp->rph = NULL;
}

/**
 * kprobe_flush_task() - a task is dead, and its calls in flight will never return
 * @tsk: the dead task
 *
 * Context: RCU callback.
 */
void kprobe_flush_task(struct task_struct *tsk)
{
	struct llist_node *node, *next;

	/* The usual case, and the only one before the core is set up. */
	if (likely(llist_empty(&tsk->kretprobe_instances)))
		return;

	kprobe_busy_begin();
	for (node = __llist_del_all(&tsk->kretprobe_instances); node; node = next) {
		next = node->next;
		kretprobe_pool_put(container_of(node, struct kretprobe_instance, llist));
	}
	kprobe_busy_end();
}
NOKPROBE_SYMBOL(kprobe_flush_task);
