// SPDX-License-Identifier: GPL-2.0-only
/* The rare cases of pools on the hit path. */

#include <linux/cpumask.h>

#include "hit.h"
#include "pool.h"

/*
 * The list of this CPU is empty: take an instance from any other. If all are empty, return false;
 * then the pool may grow.
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

/* The pool may be gone one grace period later. Also called when a dead task is cleaned up. */
void kretprobe_pool_put_closed(struct kretprobe_pool *pool)
{
	struct kprobe_rcu_state w;

	if (!raw_atomic_dec_and_test(&pool->left))
		return;

	/*
	 * Callees may have return probes, which would recurse here, and some architectures trace
	 * the interrupt that they send to themselves. Work that is queued on a CPU going down
	 * would block all its later work, see kretprobe_pool_get_remote(). There, this pool is
	 * lost instead.
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
