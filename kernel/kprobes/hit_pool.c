// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools of return probe instances: the rare cases of the hit path.
 */

#include <linux/cpumask.h>

#include "hit.h"
#include "pool.h"

/**
 * kretprobe_pool_get_remote() - take an instance from any CPU
 * @rph: the holder; this CPU's list is empty
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
	 * A CPU that goes down runs pending work when it stops being online, and none
	 * afterwards. The end of the pool would wait for such work forever.
	 */
	if (READ_ONCE(pool->grows) && cpu_online(raw_smp_processor_id()))
		irq_work_queue(&pool->ask);
	return false;
}
NOKPROBE_SYMBOL(kretprobe_pool_get_remote);

/**
 * kretprobe_pool_put_closed() - give an instance back to a closed pool
 * @pool: the pool; it may be gone one grace period later
 *
 * Context: hit path, or the cleanup of a dead task.
 */
void kretprobe_pool_put_closed(struct kretprobe_pool *pool)
{
	struct kprobe_rcu_state w;

	if (!raw_atomic_dec_and_test(&pool->left))
		return;

	/*
	 * Callees may have return probes, which would recurse here, and some architectures
	 * trace the interrupt that they send to themselves. Work that is queued on a CPU that
	 * goes down would block all its later work, see kretprobe_pool_get_remote(). There,
	 * this pool is lost instead.
	 */
	kprobe_busy_begin();
	if (likely(cpu_online(raw_smp_processor_id()))) {
		w = kprobe_rcu_enter();
		irq_work_queue(&pool->gone);
		kprobe_rcu_exit(w);
	}
	kprobe_busy_end();
}
NOKPROBE_SYMBOL(kretprobe_pool_put_closed);
