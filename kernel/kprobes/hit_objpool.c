// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pools of return probe instances on objpool, what the hit path does rarely.
 */

#include <linux/irqflags.h>
#include <linux/percpu.h>

#include "retpool.h"

/**
 * retpool_put_late() - an instance comes back when its kretprobe is gone
 * @ri: the instance; the pool may be gone one grace period later
 *
 * A return may be in an NMI, or inside RCU with its locks held, where call_rcu() is
 * not allowed. An interrupt of this CPU calls it.
 *
 * Context: hit path, or where a dead task is cleaned up.
 */
void retpool_put_late(struct kretprobe_instance *ri)
{
	struct retpool_late *late;
	unsigned long flags;

	/*
	 * A return probe on what this calls would come back here. The interrupt
	 * itself is to come later, as probes in it need not be missed.
	 */
	raw_local_irq_save(flags);
	kprobe_busy_begin();
	late = this_cpu_ptr(&retpool_late);
	/* Pairs with llist_del_all() in retpool_free_late(). */
	if (llist_add(&ri->llist, &late->instances))
		irq_work_queue(&late->work);
	kprobe_busy_end();
	raw_local_irq_restore(flags);
}
NOKPROBE_SYMBOL(retpool_put_late);
