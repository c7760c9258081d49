// SPDX-License-Identifier: GPL-2.0-only
/* The rare cases of pools on the hit path, with objpool. */

#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>

#include "hit.h"
#include "pool.h"

/*
 * The kretprobe is gone, and the pool may be gone one grace period later. A return may be in an
 * NMI, or inside RCU with its locks held, where call_rcu() is not allowed: an interrupt of this
 * CPU calls it instead. Also called when a dead task is cleaned up.
 */
void kretprobe_pool_put_closed(struct kretprobe_instance *ri)
{
	struct kretprobe_pool_late *late;
	struct kprobe_rcu_state w;
	unsigned long flags;

	/*
	 * Functions called here may have return probes, which would end up here again. The
	 * interrupt itself has to come later: probes in it need not be missed.
	 */
	raw_local_irq_save(flags);
	kprobe_busy_begin();
	late = this_cpu_ptr(&kretprobe_pool_late);
	/* Pairs with llist_del_all() in kretprobe_pool_free_late(). */
	llist_add(&ri->llist, &late->instances);
	/*
	 * Work that is queued on a CPU going down, after it has run its last work, would stay
	 * pending and block later work. The instance waits for the next one that comes late on
	 * this CPU.
	 */
	if (cpu_online(raw_smp_processor_id())) {
		w = kprobe_rcu_enter();
		irq_work_queue(&late->work);
		kprobe_rcu_exit(w);
	}
	kprobe_busy_end();
	raw_local_irq_restore(flags);
}
NOKPROBE_SYMBOL(kretprobe_pool_put_closed);
