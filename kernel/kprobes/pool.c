// SPDX-License-Identifier: GPL-2.0-only
/* The slow path of pools: creation, growth and end. pool.h describes how they work. */

#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
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

struct kretprobe_chunk {
	struct kretprobe_chunk	*next;
	u8			blocks[] __aligned(8);
};

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

/* The bytes of a chunk with @nr instances, or SIZE_MAX. */
size_t kretprobe_pool_size(unsigned int stride, unsigned int nr)
{
	/* Each CPU may have a block that is not full. */
	size_t blocks = min(nr, nr / KRETPROBE_BLOCK_INSTANCES + num_possible_cpus());

	return size_add(sizeof(struct kretprobe_chunk),
			size_add(array_size(stride, nr),
				 array_size(sizeof(struct kretprobe_block), blocks)));
}

/* Initialize a block, and return its end. Hits may find it from then on. */
static void *add_block(struct kretprobe_pool *pool, struct kretprobe_block *block,
		       int cpu, unsigned int nr)
{
	struct kretprobe_block **home = per_cpu_ptr(pool->home, cpu);
	unsigned int i;

	block->free = BIT(nr) - 1;
	block->cpu = cpu;
	block->stride = pool->stride;
	for (i = 0; i < nr; i++) {
		struct kretprobe_instance *ri = kretprobe_block_instance(block, i);

		ri->rph = &pool->rph;
		ri->block = block;
		ri->bit = BIT(i);
	}

	if (pool->last) {
		/* Pairs with the address dependency in kretprobe_pool_get_remote(). */
		smp_store_release(&pool->last->next, block);
	} else {
		pool->blocks = block;
	}
	pool->last = block;
	if (!*home)
		*home = block;
	return kretprobe_block_instance(block, nr);
}

/* Share instances among the CPUs. */
static void add_blocks(struct kretprobe_pool *pool, void *block, unsigned int nr)
{
	unsigned int cpus = num_possible_cpus(), share, some;
	int cpu;

	for_each_possible_cpu(cpu) {
		share = DIV_ROUND_UP(nr, cpus);
		nr -= share;
		cpus--;
		for (; share; share -= some) {
			some = min(share, KRETPROBE_BLOCK_INSTANCES);
			block = add_block(pool, block, cpu, some);
		}
	}
}

static int add_chunk(struct kretprobe_pool *pool, unsigned int nr)
{
	size_t size = kretprobe_pool_size(pool->stride, nr);
	struct kretprobe_chunk *chunk;

	if (size > INT_MAX)
		return -ENOMEM;
	chunk = pool->chunks ? alloc_growth(pool, size) : kvzalloc(size, GFP_KERNEL);
	if (!chunk)
		return -ENOMEM;

	chunk->next = pool->chunks;
	pool->chunks = chunk;
	pool->nr += nr;
	atomic_add(nr, &pool->refs);
	add_blocks(pool, chunk->blocks, nr);
	return 0;
}

/* Double the pool. */
static void kretprobe_pool_grow(struct work_struct *work)
{
	struct kretprobe_pool *pool = container_of(work, struct kretprobe_pool, grow.work);

	if (pool->nr >= KRETPROBE_POOL_CAP)
		return;
	/* The time after a failure has passed. */
	if (!pool->grows) {
		WRITE_ONCE(pool->grows, true);
		return;
	}

	if (add_chunk(pool, min(pool->nr, KRETPROBE_POOL_CAP - pool->nr))) {
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
	struct kretprobe_chunk *chunk, *next;

	for (chunk = pool->chunks; chunk; chunk = next) {
		next = chunk->next;
		kvfree(chunk);
	}
	uncharge_growth(pool, pool->grown);
	free_percpu(pool->home);
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
	int cpu;

	if (!pool)
		return ERR_PTR(-ENOMEM);

	atomic_inc(&nr_pools);
	atomic_set(&pool->refs, 1);
	pool->stride = round_up(sizeof(struct kretprobe_instance) + data_size, 8);
	pool->ask = IRQ_WORK_INIT_HARD(kretprobe_pool_ask);
	pool->gone = IRQ_WORK_INIT_HARD(kretprobe_pool_gone);
	INIT_DELAYED_WORK(&pool->grow, kretprobe_pool_grow);
	INIT_RCU_WORK(&pool->free, kretprobe_pool_free);

	pool->home = alloc_percpu(struct kretprobe_block *);
	if (!pool->home || add_chunk(pool, nr)) {
		free_pool(pool);
		return ERR_PTR(-ENOMEM);
	}
	/* There are fewer instances than CPUs. */
	for_each_possible_cpu(cpu) {
		if (!*per_cpu_ptr(pool->home, cpu))
			*per_cpu_ptr(pool->home, cpu) = pool->blocks;
	}

	pool->by_default = grows;
	pool->grows = grows && nr < KRETPROBE_POOL_CAP;
	return &pool->rph;
}

/*
 * No kretprobe_pool_get_*() runs or will run. The pool is freed as soon as no instance is in
 * flight.
 */
void kretprobe_pool_destroy(struct kretprobe_holder *rph)
{
	struct kretprobe_pool *pool = to_kretprobe_pool(rph);
	struct kretprobe_block *block;
	/* One for the kretprobe. */
	int drained = 1;

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
	 * An instance that comes back is either found free here, or kretprobe_pool_put() finds the
	 * block closed and counts it. Who counts the last instance, here or there, owns the pool.
	 */
	for (block = pool->blocks; block; block = block->next)
		drained += hweight_long(xchg(&block->free, KRETPROBE_BLOCK_CLOSED));

	if (atomic_sub_and_test(drained, &pool->refs))
		queue_rcu_work(system_percpu_wq, &pool->free);
}

/* Before this, pools do not grow. */
static int __init kretprobe_pool_init(void)
{
	kretprobe_pools_limit = totalram_pages() / LIMIT_SHARE * PAGE_SIZE;
	return 0;
}
early_initcall(kretprobe_pool_init);
