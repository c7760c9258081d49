/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_POOL_H
#define _KERNEL_KPROBES_POOL_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/llist.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>

#include "internal.h"

/**
 * DOC: kprobes return pools
 *
 * A return probe needs an instance for each call in flight. Its pool is a list of blocks. Each
 * block has a word and up to BITS_PER_LONG - 1 instances; a bit of the word is set while its
 * instance is free. Any context takes an instance by clearing the bit, and gives it back by
 * setting it. Both are atomic, so they need no lock: an NMI may interrupt them, and
 * another CPU may use the same block. Free instances are not linked, so there is no ABA problem:
 * an exchange that finds the word as it was read is right.
 *
 * Each CPU has a list of blocks, and takes all its instances from one of them, its home. When that
 * is empty, another of its blocks becomes its home; a block of another CPU is the last resort
 * before a hit is missed. An instance returns to its block.
 *
 * There are two blocks for each CPU at first. If a new home is the last block of its CPU with free
 * instances, or most other blocks have none, and the pool grows, the hit raises an interrupt of its
 * own CPU that doubles them, before the home is empty as well. It is not left to another CPU, which
 * may be late, as in a guest whose host does not run it. So the number of instances follows the
 * number of calls in flight. Blocks go with the pool, which outlives its kretprobe until the last
 * instance in flight has come back.
 */

/*
 * Hits take an instance with kretprobe_pool_get_home(), or if that fails with
 * kretprobe_pool_get_elsewhere(). They give it back with kretprobe_pool_put(), after which the
 * pool may be freed one grace period later, or at once where RCU does not watch.
 */
struct kretprobe_holder *kretprobe_pool_create(struct kretprobe *rp, int nr, size_t data_size,
					       bool grows);
void kretprobe_pool_destroy(struct kretprobe_holder *rph);

/* Bytes that all pools have grown by, and the most that they may: pools_grown, pools_limit. */
extern unsigned long kretprobe_pools_grown;
extern unsigned long kretprobe_pools_limit;

#ifndef CONFIG_KRETPROBE_ON_RETHOOK

/* Instances of one block: the bits of a word but for the sign. */
#define KRETPROBE_BLOCK_INSTANCES	(BITS_PER_LONG - 1)

/* In place of a word: no instance may be taken any more. */
#define KRETPROBE_BLOCK_CLOSED		LONG_MIN

struct kretprobe_block {
	long			free;		/* a bit for each free instance */
	struct llist_node	node;		/* in kretprobe_blocks.list */
	u16			nr;		/* instances */
	u16			stride;		/* bytes of one */
	bool			grown;		/* not from the beginning */
	u8			instances[] __aligned(8);
};

/* The blocks of a CPU. */
struct kretprobe_blocks {
	struct kretprobe_block	*home;		/* perhaps of another CPU, if the list is empty */
	struct llist_head	list;		/* newest first */
	struct kretprobe_pool	*pool;
	struct irq_work		grow;		/* raised by the CPU itself, to add blocks */
};

/* The instances of a kretprobe. */
struct kretprobe_pool {
	struct kretprobe_holder	rph;				/* what instances know of it */
	struct kretprobe_blocks	__percpu *blocks;
	unsigned int		stride;				/* bytes of an instance */
	bool			grows;				/* the user chose no size */
	/* Growth has failed, when, in jiffies; it is not attempted for a while. */
	bool			failed;
	unsigned long		failed_at;
	/*
	 * References: the kretprobe and the instances, free or in flight. After the pool was
	 * closed, only those in flight.
	 */
	atomic_t		refs;
	struct work_struct	close;			/* when the kretprobe is gone */
	/* Raised when @refs is zero; queues @free, as hits cannot. */
	struct irq_work		gone;
	struct rcu_work		free;
};

/* Numbers of instances. */
struct kretprobe_pool_use {
	unsigned int		instances;
	unsigned int		in_flight;
	unsigned int		most;		/* in flight at once, as a sum over blocks */
	unsigned int		grown;		/* not from the beginning */
};

struct kretprobe_pool_use kretprobe_pool_use(struct kretprobe_holder *rph);
int kretprobe_pool_count(void);
void kretprobe_pool_wait_for_growth(struct kretprobe_pool *pool);
bool kretprobe_pool_get_elsewhere(struct kretprobe_holder *rph,
				  struct kretprobe_instance **ri);
void kretprobe_pool_put_closed(struct kretprobe_pool *pool);

/* After a failure, growth is not attempted for this time: each attempt takes an interrupt. */
#define KRETPROBE_GROW_AGAIN	HZ

/* Are enough of the @nr blocks of a CPU available, so that no more need to be added? */
static nokprobe_inline bool kretprobe_pool_has_spares(unsigned int nr, unsigned int available)
{
	return available > 1 && 2 * available >= nr;
}

/* More blocks may be added meanwhile. */
#define for_each_kretprobe_block(block, blocks)				\
	llist_for_each_entry(block, READ_ONCE((blocks)->list.first), node)

static nokprobe_inline struct kretprobe_pool *to_kretprobe_pool(struct kretprobe_holder *rph)
{
	return container_of(rph, struct kretprobe_pool, rph);
}

static nokprobe_inline struct kretprobe_instance *
kretprobe_block_instance(struct kretprobe_block *block, unsigned long nr)
{
	return (void *)block->instances + nr * block->stride;
}

/* The acquire pairs with the release of kretprobe_pool_put(). */
static nokprobe_inline bool kretprobe_block_get(struct kretprobe_block *block,
						struct kretprobe_instance **ri)
{
	long old = READ_ONCE(block->free);

	do {
		if (unlikely(old <= 0))
			return false;
		*ri = kretprobe_block_instance(block, __ffs(old));
	} while (unlikely(!raw_try_cmpxchg_acquire(&block->free, &old, old & (old - 1))));

	return true;
}

static nokprobe_inline bool kretprobe_pool_get_home(struct kretprobe_holder *rph,
						    struct kretprobe_instance **ri)
{
	return kretprobe_block_get(raw_cpu_read(to_kretprobe_pool(rph)->blocks->home), ri);
}

static nokprobe_inline void kretprobe_pool_put(struct kretprobe_instance *ri)
{
	atomic_long_t *free = (atomic_long_t *)&ri->block->free;

	/* The bit is clear, so this sets it, and never another one. */
	if (unlikely(raw_atomic_long_fetch_add_release(ri->bit, free) < 0))
		kretprobe_pool_put_closed(to_kretprobe_pool(ri->rph));
}

#endif

#endif /* _KERNEL_KPROBES_POOL_H */
