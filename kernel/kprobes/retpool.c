// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pools of return probe instances, the slow part: their making, growth and
 * end. See retpool.h for how they work.
 */

#include <linux/percpu.h>
#include <linux/slab.h>

#include "retpool.h"

/* Pools not yet freed. */
static atomic_t nr_pools = ATOMIC_INIT(0);

/**
 * retpool_count() - how many pools there are
 *
 * Also those of kretprobes that are gone, while calls are in flight. For tests.
 *
 * Context: any.
 * Return: the number.
 */
int retpool_count(void)
{
	return atomic_read(&nr_pools);
}

static struct kretprobe_instance *nth_instance(struct retpool *pool, int chunk,
					       int i)
{
	return pool->mem[chunk] + (size_t)i * pool->stride;
}

/* Give the instances from @from to @to of a chunk to a CPU. */
static void put_range(struct retpool *pool, int chunk, int from, int to, int cpu)
{
	struct kretprobe_instance *first = nth_instance(pool, chunk, from);
	struct kretprobe_instance *last = nth_instance(pool, chunk, to - 1);
	int i;

	for (i = from; i < to - 1; i++)
		nth_instance(pool, chunk, i)->next = pool->stride / RETPOOL_UNIT;

	/* Only a pool that is gone has closed lists. */
	WARN_ON_ONCE(!retpool_put_to(per_cpu_ptr(pool->heads, cpu), last,
				     last->ref - first->ref));
}

/* Neighbours go to one CPU, for the sake of its caches. */
static void put_chunk(struct retpool *pool, int chunk, int nr)
{
	int nr_cpus = num_possible_cpus(), i = 0, from = 0, to, cpu;

	for_each_possible_cpu(cpu) {
		to = div_u64((u64)nr * ++i, nr_cpus);
		if (from < to)
			put_range(pool, chunk, from, to, cpu);
		from = to;
	}
}

static int add_chunk(struct retpool *pool, int chunk, int nr)
{
	/* Small names have a meaning of their own. */
	u32 name = ((u32)chunk << RETPOOL_SHIFT) + RETPOOL_CLOSED + 1;
	struct kretprobe_instance *ri;
	size_t size;
	void *mem;
	int i;

	if (check_mul_overflow(pool->stride, nr, &size) ||
	    size / RETPOOL_UNIT >= BIT(RETPOOL_SHIFT) - RETPOOL_CLOSED - 1)
		return -ENOMEM;
	mem = kvzalloc(size, GFP_KERNEL);
	if (!mem)
		return -ENOMEM;

	pool->mem[chunk] = mem;
	pool->chunk[chunk] = (unsigned long)mem - (unsigned long)name * RETPOOL_UNIT;
	for (i = 0; i < nr; i++) {
		ri = nth_instance(pool, chunk, i);
		ri->rph = &pool->rph;
		ri->ref = name + (size_t)i * pool->stride / RETPOOL_UNIT;
	}

	pool->nr += nr;
	atomic_add(nr, &pool->left);
	put_chunk(pool, chunk, nr);
	return 0;
}

/*
 * Twice as many as before. Chunks double too, so there is always one left to
 * be added.
 */
static void retpool_grow(struct work_struct *work)
{
	struct retpool *pool = container_of(work, struct retpool, grow);
	int chunk = 0;

	while (pool->mem[chunk])
		chunk++;

	/* Without memory the next call that is missed asks again. */
	add_chunk(pool, chunk, min(pool->nr, RETPOOL_CAP - pool->nr));
	if (pool->nr >= RETPOOL_CAP)
		WRITE_ONCE(pool->grows, false);
}

static void retpool_ask(struct irq_work *work)
{
	schedule_work(&container_of(work, struct retpool, ask)->grow);
}

static void free_pool(struct retpool *pool)
{
	int i;

	for (i = 0; i < RETPOOL_CHUNKS; i++)
		kvfree(pool->mem[i]);
	free_percpu(pool->heads);
	kfree(pool);
	atomic_dec(&nr_pools);
}

static void retpool_free(struct work_struct *work)
{
	free_pool(container_of(to_rcu_work(work), struct retpool, free));
}

/* Unwinders may still look at the instances: a grace period first. */
static void retpool_gone(struct irq_work *work)
{
	queue_rcu_work(system_wq, &container_of(work, struct retpool, gone)->free);
}

struct kretprobe_holder *retpool_create(int nr, size_t data_size, bool grows)
{
	struct retpool *pool = kzalloc(sizeof(*pool), GFP_KERNEL);

	BUILD_BUG_ON(BIT(RETPOOL_CHUNKS - 1) < RETPOOL_CAP);

	if (!pool)
		return ERR_PTR(-ENOMEM);

	atomic_inc(&nr_pools);
	atomic_set(&pool->left, 1);
	pool->stride = round_up(sizeof(struct kretprobe_instance) + data_size,
				RETPOOL_UNIT);
	pool->ask = IRQ_WORK_INIT_HARD(retpool_ask);
	pool->gone = IRQ_WORK_INIT_HARD(retpool_gone);
	INIT_WORK(&pool->grow, retpool_grow);
	INIT_RCU_WORK(&pool->free, retpool_free);

	pool->heads = alloc_percpu(u64);
	if (!pool->heads || add_chunk(pool, 0, nr)) {
		free_pool(pool);
		return ERR_PTR(-ENOMEM);
	}

	pool->by_default = grows;
	pool->grows = grows && nr < RETPOOL_CAP;
	return &pool->rph;
}

/* Close a list, and return the name of the first instance on it. */
static u32 close_list(u64 *head)
{
	u64 old = READ_ONCE(*head);

	while (!try_cmpxchg64(head, &old, RETPOOL_CLOSED))
		;

	return old;
}

void retpool_destroy(struct kretprobe_holder *rph)
{
	struct retpool *pool = to_retpool(rph);
	/* The kretprobe goes. */
	int cpu, drained = 1;
	u32 ref;

	/* Nobody asks any more. */
	irq_work_sync(&pool->ask);
	cancel_work_sync(&pool->grow);

	/*
	 * Of an instance that comes back either this finds it on a list, or
	 * retpool_put() finds the list closed and counts it. Who counts the
	 * last one, in the end or now, has the pool for himself.
	 */
	for_each_possible_cpu(cpu) {
		ref = close_list(per_cpu_ptr(pool->heads, cpu));
		for (; ref != RETPOOL_EMPTY; ref += retpool_instance(pool, ref)->next)
			drained++;
	}

	if (atomic_sub_and_test(drained, &pool->left))
		queue_rcu_work(system_wq, &pool->free);
}
