// SPDX-License-Identifier: GPL-2.0-only
/* The slow path of pools: creation, growth and end. pool.h describes how they work. */

#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "pool.h"

/* Blocks that are added in one interrupt. */
#define MOST_AT_ONCE	16

/* All pools together may grow by this share of memory. */
#define LIMIT_SHARE	128

/* Bytes by which all pools have grown, and the limit; growth_lock. */
static DEFINE_RAW_SPINLOCK(growth_lock);
unsigned long kretprobe_pools_grown;
unsigned long kretprobe_pools_limit;

static atomic_t nr_pools = ATOMIC_INIT(0);

/* For tests. Includes the pools of kretprobes that are gone, while calls are in flight. */
int kretprobe_pool_count(void)
{
	return atomic_read(&nr_pools);
}

static bool charge_growth(size_t size)
{
	unsigned long limit = READ_ONCE(kretprobe_pools_limit);

	guard(raw_spinlock_irqsave)(&growth_lock);

	if (size > limit || kretprobe_pools_grown > limit - size)
		return false;
	WRITE_ONCE(kretprobe_pools_grown, kretprobe_pools_grown + size);
	return true;
}

static void uncharge_growth(size_t size)
{
	guard(raw_spinlock_irqsave)(&growth_lock);

	WRITE_ONCE(kretprobe_pools_grown, kretprobe_pools_grown - size);
}

static size_t block_size(unsigned int nr, unsigned int stride)
{
	return sizeof(struct kretprobe_block) + (size_t)nr * stride;
}

/* A page is easily available even in an interrupt. A single instance may need more. */
static unsigned int most_per_block(unsigned int stride)
{
	return clamp((PAGE_SIZE - block_size(0, stride)) / stride, 1ul,
		     (unsigned long)KRETPROBE_BLOCK_INSTANCES);
}

static struct kretprobe_block *alloc_block(unsigned int nr, unsigned int stride, gfp_t flags)
{
	struct kretprobe_block *block = kzalloc(block_size(nr, stride), flags);

	if (block) {
		block->nr = nr;
		block->stride = stride;
	}
	return block;
}

static struct kretprobe_block *alloc_growth(unsigned int nr, unsigned int stride)
{
	struct kretprobe_block *block;

	if (!charge_growth(block_size(nr, stride)))
		return NULL;
	block = alloc_block(nr, stride, GFP_NOWAIT | __GFP_NOWARN);
	if (block)
		block->grown = true;
	else
		uncharge_growth(block_size(nr, stride));
	return block;
}

/* Hits may find the block from then on. */
static void add_block(struct kretprobe_blocks *blocks, struct kretprobe_block *block)
{
	struct kretprobe_pool *pool = blocks->pool;
	unsigned int i;

	block->free = BIT(block->nr) - 1;
	for (i = 0; i < block->nr; i++) {
		struct kretprobe_instance *ri = kretprobe_block_instance(block, i);

		ri->rph = &pool->rph;
		ri->rp = rcu_access_pointer(pool->rph.rp);
		ri->block = block;
		ri->bit = BIT(i);
	}

	atomic_add(block->nr, &pool->refs);
	llist_add(&block->node, &blocks->list);
}

/* Double the instances of a CPU, if it needs that. */
static bool double_blocks(struct kretprobe_blocks *blocks)
{
	unsigned int nr = 0, available = 0, want = 0, stride = blocks->pool->stride;
	unsigned int most = most_per_block(stride);
	struct kretprobe_block *block;

	for_each_kretprobe_block(block, blocks) {
		nr++;
		want += block->nr;
		available += READ_ONCE(block->free) > 0;
	}
	if (kretprobe_pool_has_spares(nr, available))
		return true;

	for (want = clamp(want, 1u, MOST_AT_ONCE * most); want; want -= block->nr) {
		block = alloc_growth(min(want, most), stride);
		if (!block)
			return false;
		add_block(blocks, block);
	}
	return true;
}

/* Inside any code that does not disable interrupts, so this does not wait for memory. */
static void kretprobe_pool_grow(struct irq_work *work)
{
	struct kretprobe_blocks *blocks = container_of(work, struct kretprobe_blocks, grow);
	bool failed = !double_blocks(blocks);

	if (failed)
		WRITE_ONCE(blocks->pool->failed_at, jiffies);
	WRITE_ONCE(blocks->pool->failed, failed);
}

/* Share instances among the CPUs, and those of each between two blocks or more. */
static int add_first_blocks(struct kretprobe_pool *pool, unsigned int nr)
{
	unsigned int cpus = num_possible_cpus(), stride = pool->stride, share, most;
	struct kretprobe_block *block = NULL;
	struct kretprobe_blocks *blocks;
	int cpu;

	for_each_possible_cpu(cpu) {
		blocks = per_cpu_ptr(pool->blocks, cpu);
		blocks->pool = pool;
		init_irq_work(&blocks->grow, kretprobe_pool_grow);
		share = DIV_ROUND_UP(nr, cpus);
		nr -= share;
		cpus--;
		most = min(DIV_ROUND_UP(share, 2), most_per_block(stride));
		for (; share; share -= block->nr) {
			block = alloc_block(min(share, most), stride, GFP_KERNEL);
			if (!block)
				return -ENOMEM;
			add_block(blocks, block);
		}
		/* The last CPUs have none if there are fewer instances than CPUs. */
		blocks->home = block;
	}
	return 0;
}

static void free_pool(struct kretprobe_pool *pool)
{
	struct kretprobe_block *block, *next;
	struct llist_node *first;
	int cpu;

	for_each_possible_cpu(cpu) {
		first = pool->blocks ? per_cpu_ptr(pool->blocks, cpu)->list.first : NULL;
		llist_for_each_entry_safe(block, next, first, node) {
			if (block->grown)
				uncharge_growth(block_size(block->nr, block->stride));
			kfree(block);
		}
	}
	free_percpu(pool->blocks);
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

/*
 * After this, no growth is in progress. If work is idle, at most the end of irq_work_single() still
 * reads it, under RCU or in an interrupt. irq_work_sync() would wait for that, too, for a grace
 * period on architectures without an interrupt for irq_work.
 */
void kretprobe_pool_wait_for_growth(struct kretprobe_pool *pool)
{
	struct irq_work *work;
	int cpu;

	for_each_possible_cpu(cpu) {
		work = &per_cpu_ptr(pool->blocks, cpu)->grow;
		if (irq_work_is_busy(work))
			irq_work_sync(work);
	}
}

static void kretprobe_pool_close(struct work_struct *work)
{
	struct kretprobe_pool *pool = container_of(work, struct kretprobe_pool, close);
	struct kretprobe_block *block;
	/* One for the kretprobe. */
	int drained = 1, cpu;

	/* No hit can start it any more. The pool is freed after a grace period. */
	kretprobe_pool_wait_for_growth(pool);

	/*
	 * An instance that comes back is either found free here, or kretprobe_pool_put() finds the
	 * block closed and counts it. Who counts the last instance, here or there, owns the pool.
	 */
	for_each_possible_cpu(cpu) {
		for_each_kretprobe_block(block, per_cpu_ptr(pool->blocks, cpu))
			drained += hweight_long(xchg(&block->free, KRETPROBE_BLOCK_CLOSED));
	}

	if (atomic_sub_and_test(drained, &pool->refs))
		queue_rcu_work(system_percpu_wq, &pool->free);
}

/* @grows: more instances are added before they run out. */
struct kretprobe_holder *kretprobe_pool_create(struct kretprobe *rp, int nr, size_t data_size,
					       bool grows)
{
	size_t stride = round_up(sizeof(struct kretprobe_instance) + data_size, 8);
	struct kretprobe_pool *pool;

	if (array_size(nr, stride) > INT_MAX)
		return ERR_PTR(-ENOMEM);
	pool = kzalloc_obj(*pool);
	if (!pool)
		return ERR_PTR(-ENOMEM);

	atomic_inc(&nr_pools);
	atomic_set(&pool->refs, 1);
	pool->gone = IRQ_WORK_INIT_HARD(kretprobe_pool_gone);
	INIT_WORK(&pool->close, kretprobe_pool_close);
	INIT_RCU_WORK(&pool->free, kretprobe_pool_free);
	rcu_assign_pointer(pool->rph.rp, rp);
	pool->stride = stride;
	pool->grows = grows;

	pool->blocks = alloc_percpu(struct kretprobe_blocks);
	if (!pool->blocks || add_first_blocks(pool, nr)) {
		free_pool(pool);
		return ERR_PTR(-ENOMEM);
	}
	return &pool->rph;
}

/*
 * No kretprobe_pool_get_*() runs or will run. The pool is freed as soon as no instance is in
 * flight.
 *
 * The rest is left to a worker: with PREEMPT_RT, growth that has begun waits for a thread of low
 * priority, and so may never end on a CPU that is busy with others.
 */
void kretprobe_pool_destroy(struct kretprobe_holder *rph)
{
	queue_work(system_percpu_wq, &to_kretprobe_pool(rph)->close);
}

/* How many instances of a block were in use at once: the lowest free one is taken first. */
static unsigned int most_in_use(struct kretprobe_block *block)
{
	unsigned int nr = block->nr;

	while (nr && !READ_ONCE(kretprobe_block_instance(block, nr - 1)->task))
		nr--;
	return nr;
}

/* The pool is that of a registered kretprobe, and kprobe_mutex is held. */
struct kretprobe_pool_use kretprobe_pool_use(struct kretprobe_holder *rph)
{
	struct kretprobe_pool_use use = { };
	struct kretprobe_block *block;
	int cpu;

	for_each_possible_cpu(cpu) {
		for_each_kretprobe_block(block, per_cpu_ptr(to_kretprobe_pool(rph)->blocks, cpu)) {
			use.instances += block->nr;
			use.in_flight += block->nr - hweight_long(READ_ONCE(block->free));
			use.most += most_in_use(block);
			use.grown += block->grown ? block->nr : 0;
		}
	}
	return use;
}

/* Before this, pools do not grow. */
static int __init kretprobe_pool_init(void)
{
	kretprobe_pools_limit = totalram_pages() / LIMIT_SHARE * PAGE_SIZE;
	return 0;
}
early_initcall(kretprobe_pool_init);
