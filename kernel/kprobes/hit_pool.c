// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pools of return probe instances, what the hit path does rarely.
 */

#include <linux/cpumask.h>

#include "pool.h"

/**
 * kretprobe_pool_get_remote() - take an instance from any CPU
 * @rph: the holder in the pool, of which this CPU's list is empty
 * @ri: set to the instance
 *
 * Context: hit path.
 * Return: false if no list had one; the pool may then grow.
 */
bool kretprobe_pool_get_remote(struct kretprobe_holder *rph,
			   struct kretprobe_instance **ri)
{
	struct kretprobe_pool *pool = to_kretprobe_pool(rph);
	unsigned int cpu = raw_smp_processor_id(), i;

	for (i = 0; i < nr_cpu_ids; i++) {
		if (++cpu >= nr_cpu_ids)
			cpu = 0;
		if (cpu_possible(cpu) &&
		    kretprobe_pool_pop(pool, per_cpu_ptr(pool->heads, cpu), ri))
			return true;
	}

	/*
	 * A CPU that goes down does what is pending as it stops being online, and
	 * no more; who destroys the pool would wait for the rest for ever.
	 */
	if (READ_ONCE(pool->grows) && cpu_online(raw_smp_processor_id()))
		irq_work_queue(&pool->ask);
	return false;
}
NOKPROBE_SYMBOL(kretprobe_pool_get_remote);

/**
 * kretprobe_pool_put_closed() - an instance comes back to a pool that is closed
 * @pool: the pool; it may be gone one grace period later
 *
 * Context: hit path, or where a dead task is cleaned up.
 */
void kretprobe_pool_put_closed(struct kretprobe_pool *pool)
{
	if (!raw_atomic_dec_and_test(&pool->left))
		return;

	/* A return probe on what this calls would come back here. */
	kprobe_busy_begin();
	irq_work_queue(&pool->gone);
	kprobe_busy_end();
}
NOKPROBE_SYMBOL(kretprobe_pool_put_closed);
