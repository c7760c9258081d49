// SPDX-License-Identifier: GPL-2.0-only
/* The slow path of pools: creation, growth and end. pool.h describes how they work. */

#include <linux/init.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "pool.h"

/* After this time a failed growth is tried again. Not each missed hit should raise an interrupt. */
#define GROW_AGAIN	HZ

/* All pools together may grow by this share of memory. */
#define LIMIT_SHARE	128

/* Bytes by which all pools have grown, and the limit; growth_mutex. */
static DEFINE_MUTEX(growth_mutex);
unsigned long kretprobe_pools_grown;
unsigned long kretprobe_pools_limit;

static atomic_t nr_pools = ATOMIC_INIT(0);

/* For tests. Includes the pools of kretprobes that are gone, while calls are in flight. */
int kretprobe_pool_count(void)
{
	return atomic_read(&nr_pools);
}

static struct kretprobe_instance *nth_instance(struct kretprobe_pool *pool, int chunk,
					       int i)
{
	return pool->mem[chunk] + (size_t)i * pool->stride;
}

/* Give the instances from @from to before @to to a CPU. */
static void put_range(struct kretprobe_pool *pool, int chunk, int from, int to, int cpu)
{
	struct kretprobe_instance *first = nth_instance(pool, chunk, from);
	struct kretprobe_instance *last = nth_instance(pool, chunk, to - 1);
	int i;

	for (i = from; i < to - 1; i++)
		nth_instance(pool, chunk, i)->next = pool->stride / KRETPROBE_POOL_UNIT +
						     KRETPROBE_POOL_TAG;

	WARN_ON_ONCE(!kretprobe_pool_push(per_cpu_ptr(pool->heads, cpu), last,
					  last->ref - first->ref));
}

/* Adjacent instances go to one CPU, for cache locality. */
static void put_chunk(struct kretprobe_pool *pool, int chunk, int nr)
{
	int nr_cpus = num_possible_cpus(), i = 0, from = 0, to, cpu;

	for_each_possible_cpu(cpu) {
		to = div_u64((u64)nr * ++i, nr_cpus);
		if (from < to)
			put_range(pool, chunk, from, to, cpu);
		from = to;
	}
}

static bool charge_growth(struct kretprobe_pool *pool, size_t size)
{
	unsigned long grown;

	guard(mutex)(&growth_mutex);

	if (check_add_overflow(kretprobe_pools_grown, size, &grown) ||
	    grown > READ_ONCE(kretprobe_pools_limit))
		return false;
	WRITE_ONCE(kretprobe_pools_grown, grown);
	pool->grown += size;
	return true;
}

static void uncharge_growth(struct kretprobe_pool *pool, size_t size)
{
	guard(mutex)(&growth_mutex);

	WRITE_ONCE(kretprobe_pools_grown, kretprobe_pools_grown - size);
	pool->grown -= size;
}

/*
 * Growth is optional: it neither warns nor invokes the OOM killer, except for page tables of
 * vmalloc(), which ignores the flags for these.
 */
static void *alloc_growth(struct kretprobe_pool *pool, size_t size)
{
	void *mem;

	if (!charge_growth(pool, size))
		return NULL;
	mem = kvzalloc(size, GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	if (!mem)
		uncharge_growth(pool, size);
	return mem;
}

static int add_chunk(struct kretprobe_pool *pool, int chunk, int nr)
{
	/* KRETPROBE_POOL_EMPTY and KRETPROBE_POOL_CLOSED are no names. */
	u32 name = ((u32)chunk << KRETPROBE_POOL_SHIFT) + KRETPROBE_POOL_CLOSED + 1;
	struct kretprobe_instance *ri;
	size_t size;
	void *mem;
	int i;

	if (check_mul_overflow(pool->stride, nr, &size) ||
	    size / KRETPROBE_POOL_UNIT >= BIT(KRETPROBE_POOL_SHIFT) - KRETPROBE_POOL_CLOSED - 1)
		return -ENOMEM;
	mem = chunk ? alloc_growth(pool, size) : kvzalloc(size, GFP_KERNEL);
	if (!mem)
		return -ENOMEM;

	pool->mem[chunk] = mem;
	pool->chunk[chunk] = (unsigned long)mem - (unsigned long)name * KRETPROBE_POOL_UNIT;
	for (i = 0; i < nr; i++) {
		ri = nth_instance(pool, chunk, i);
		ri->rph = &pool->rph;
		ri->ref = name + (size_t)i * pool->stride / KRETPROBE_POOL_UNIT -
			  KRETPROBE_POOL_TAG;
	}

	pool->nr += nr;
	atomic_add(nr, &pool->left);
	put_chunk(pool, chunk, nr);
	return 0;
}

/* Double the pool. Chunks double, too, so there is always a free one. */
static void kretprobe_pool_grow(struct work_struct *work)
{
	struct kretprobe_pool *pool = container_of(work, struct kretprobe_pool, grow.work);
	int chunk = 0;

	if (pool->nr >= KRETPROBE_POOL_CAP)
		return;
	/* The time after a failure has passed. */
	if (!pool->grows) {
		WRITE_ONCE(pool->grows, true);
		return;
	}

	while (pool->mem[chunk])
		chunk++;

	if (add_chunk(pool, chunk, min(pool->nr, KRETPROBE_POOL_CAP - pool->nr))) {
		WRITE_ONCE(pool->grows, false);
		/* A miss may just have queued it without a delay. */
		mod_delayed_work(system_percpu_wq, &pool->grow, GROW_AGAIN);
	} else if (pool->nr >= KRETPROBE_POOL_CAP) {
		WRITE_ONCE(pool->grows, false);
	}
}

static void kretprobe_pool_ask(struct irq_work *work)
{
	schedule_delayed_work(&container_of(work, struct kretprobe_pool, ask)->grow, 0);
}

static void free_pool(struct kretprobe_pool *pool)
{
	int i;

	for (i = 0; i < KRETPROBE_POOL_CHUNKS; i++)
		kvfree(pool->mem[i]);
	uncharge_growth(pool, pool->grown);
	free_percpu(pool->heads);
	kfree(pool);
	atomic_dec(&nr_pools);
}

static void kretprobe_pool_free(struct work_struct *work)
{
	free_pool(container_of(to_rcu_work(work), struct kretprobe_pool, free));
}

/* Unwinders may be reading instances of the pool, so RCU frees it. */
static void kretprobe_pool_gone(struct irq_work *work)
{
	queue_rcu_work(system_percpu_wq, &container_of(work, struct kretprobe_pool, gone)->free);
}

/* @grows: more instances are added when they run out. */
struct kretprobe_holder *kretprobe_pool_create(int nr, size_t data_size, bool grows)
{
	struct kretprobe_pool *pool = kzalloc_obj(*pool);

	BUILD_BUG_ON(BIT(KRETPROBE_POOL_CHUNKS - 1) < KRETPROBE_POOL_CAP);

	if (!pool)
		return ERR_PTR(-ENOMEM);

	atomic_inc(&nr_pools);
	atomic_set(&pool->left, 1);
	pool->stride = round_up(sizeof(struct kretprobe_instance) + data_size,
				KRETPROBE_POOL_UNIT);
	pool->ask = IRQ_WORK_INIT_HARD(kretprobe_pool_ask);
	pool->gone = IRQ_WORK_INIT_HARD(kretprobe_pool_gone);
	INIT_DELAYED_WORK(&pool->grow, kretprobe_pool_grow);
	INIT_RCU_WORK(&pool->free, kretprobe_pool_free);

	pool->heads = alloc_percpu(u64);
	if (!pool->heads || add_chunk(pool, 0, nr)) {
		free_pool(pool);
		return ERR_PTR(-ENOMEM);
	}

	pool->by_default = grows;
	pool->grows = grows && nr < KRETPROBE_POOL_CAP;
	return &pool->rph;
}

/* Returns the name of the first instance on the list. */
static u32 close_list(u64 *head)
{
	u64 old = READ_ONCE(*head);

	while (!try_cmpxchg64(head, &old, KRETPROBE_POOL_CLOSED))
		;

	return old;
}

/*
 * No kretprobe_pool_get_*() runs or will run. The pool is freed as soon as no instance is in
 * flight.
 */
void kretprobe_pool_destroy(struct kretprobe_holder *rph)
{
	struct kretprobe_pool *pool = to_kretprobe_pool(rph);
	/* One for the kretprobe. */
	int cpu, drained = 1;
	u32 ref;

	/*
	 * No hit can queue it any more. If it is idle, at most the end of irq_work_single() still
	 * reads it, in a hard interrupt, and the pool is freed after a grace period. So
	 * irq_work_sync() is not needed, which waits for a grace period of its own on
	 * architectures without an interrupt for irq_work.
	 */
	if (irq_work_is_busy(&pool->ask))
		irq_work_sync(&pool->ask);
	cancel_delayed_work_sync(&pool->grow);

	/*
	 * An instance that comes back is either found on a list here, or kretprobe_pool_put()
	 * finds the list closed and counts it. Who counts the last instance, here or there, owns
	 * the pool.
	 */
	for_each_possible_cpu(cpu) {
		ref = close_list(per_cpu_ptr(pool->heads, cpu));
		for (; ref != KRETPROBE_POOL_EMPTY; ref += kretprobe_pool_instance(pool, ref)->next)
			drained++;
	}

	if (atomic_sub_and_test(drained, &pool->left))
		queue_rcu_work(system_percpu_wq, &pool->free);
}

/* Before this, pools do not grow. */
static int __init kretprobe_pool_init(void)
{
	kretprobe_pools_limit = totalram_pages() / LIMIT_SHARE * PAGE_SIZE;
	return 0;
}
early_initcall(kretprobe_pool_init);
