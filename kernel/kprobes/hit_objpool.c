// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools of return probe instances on objpool: the rare cases of the hit path.
 */

#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>

#include "hit.h"
#include "pool.h"

/**
 * kretprobe_pool_put_closed() - give an instance back after its kretprobe is gone
 * @ri: the instance; the pool may be gone one grace period later
 *
 * A return may be in an NMI, or inside RCU with its locks held, where call_rcu() is
 * not allowed. An interrupt of this CPU calls it instead.
 *
 * Context: hit path, or the cleanup of a dead task.
 */
void kretprobe_pool_put_closed(struct kretprobe_instance *ri)
{
	struct kretprobe_pool_late *late;
	struct kprobe_rcu_state w;
	unsigned long flags;

	/*
	 * Functions called here may have return probes, which would end up here again.
	 * The interrupt itself has to come later: probes in it need not be missed.
	 */
	raw_local_irq_save(flags);
	kprobe_busy_begin();
	late = this_cpu_ptr(&kretprobe_pool_late);
	/* Pairs with llist_del_all() in kretprobe_pool_free_late(). */
	llist_add(&ri->llist, &late->instances);
	/*
	 * Work that is queued on a CPU going down, after it has run its last work, would
	 * stay pending and block later work. The instance waits for the next one that
	 * comes late on this CPU.
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
