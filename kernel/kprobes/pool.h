/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_POOL_H
#define _KERNEL_KPROBES_POOL_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>

#include "internal.h"

/**
 * DOC: kprobes return pools
 *
 * A return probe needs an instance for each call in flight. Its pool is a list of blocks. Each
 * block has a word and up to BITS_PER_LONG - 1 instances; a bit of the word is set while its
 * instance is free. Any context takes an instance by clearing the bit, and gives it back by
 * setting it. Both exchange the word, so they need no lock: an NMI may interrupt them, and
 * another CPU may use the same block. Free instances are not linked, so there is no ABA problem:
 * an exchange that finds the word as it was read is right.
 *
 * Each block belongs to a CPU, which looks for instances there first, and in all others before a
 * hit is missed. An instance returns to its block. A pool that may grow gets more blocks, which
 * go with the pool. The pool outlives its kretprobe until the last instance in flight has come
 * back.
 */

/*
 * Hits take an instance with kretprobe_pool_get_local(), or if that fails with
 * kretprobe_pool_get_remote(). They give it back with kretprobe_pool_put(), after which the pool
 * may be freed one grace period later, or at once where RCU does not watch.
 */
struct kretprobe_holder *kretprobe_pool_create(int nr, size_t data_size, bool grows);
void kretprobe_pool_destroy(struct kretprobe_holder *rph);

/* Bytes that all pools have grown by, and the most that they may, in debugfs. */
extern unsigned long kretprobe_pools_grown;
extern unsigned long kretprobe_pools_limit;

#ifndef CONFIG_KRETPROBE_ON_RETHOOK

/* Instances of one block: the bits of a word but for the sign. */
#define KRETPROBE_BLOCK_INSTANCES	(BITS_PER_LONG - 1)

/* In place of a word: no instance may be taken any more. */
#define KRETPROBE_BLOCK_CLOSED		LONG_MIN

struct kretprobe_block {
	long			free;		/* a bit for each free instance */
	struct kretprobe_block	*next;
	int			cpu;		/* that looks here first */
	unsigned int		stride;		/* bytes of an instance */
	u8			instances[] __aligned(8);
};

/* The most instances a pool grows to. */
#define KRETPROBE_POOL_CAP	4096

/* The instances of a kretprobe. Only the worker of @grow adds blocks. */
struct kretprobe_pool {
	struct kretprobe_holder	rph;				/* what instances know of it */
	struct kretprobe_block	* __percpu *home;		/* the block to look at first */
	struct kretprobe_block	*blocks, *last;
	struct kretprobe_chunk	*chunks;			/* the memory of blocks */
	int			nr;				/* instances */
	unsigned int		stride;				/* bytes of one */
	/* Bytes of the chunks after the first. */
	size_t			grown;
	/* The user has not chosen the number of instances. */
	bool			by_default;
	bool			grows;				/* more can be added now */
	/*
	 * References: the kretprobe and the instances, free or in flight. After the pool was
	 * closed, only those in flight.
	 */
	atomic_t		refs;
	/* Raised when instances run out; queues @grow, as hits cannot. */
	struct irq_work		ask;
	/* Adds a chunk; after a failure, allows another attempt. */
	struct delayed_work	grow;
	/* Raised when @refs is zero; queues @free, as hits cannot. */
	struct irq_work		gone;
	struct rcu_work		free;
};

int kretprobe_pool_count(void);
size_t kretprobe_pool_size(unsigned int stride, unsigned int nr);
bool kretprobe_pool_get_remote(struct kretprobe_holder *rph,
			       struct kretprobe_instance **ri);
void kretprobe_pool_put_closed(struct kretprobe_pool *pool);

static nokprobe_inline struct kretprobe_pool *to_kretprobe_pool(struct kretprobe_holder *rph)
{
	return container_of(rph, struct kretprobe_pool, rph);
}

static nokprobe_inline struct kretprobe_instance *
kretprobe_block_instance(struct kretprobe_block *block, unsigned int nr)
{
	return (void *)block->instances + (size_t)nr * block->stride;
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

static nokprobe_inline bool kretprobe_pool_get_local(struct kretprobe_holder *rph,
						     struct kretprobe_instance **ri)
{
	return kretprobe_block_get(*raw_cpu_ptr(to_kretprobe_pool(rph)->home), ri);
}

static nokprobe_inline void kretprobe_pool_put(struct kretprobe_instance *ri)
{
	struct kretprobe_block *block = ri->block;
	long old = READ_ONCE(block->free);

	do {
		if (unlikely(old < 0)) {
			kretprobe_pool_put_closed(to_kretprobe_pool(ri->rph));
			return;
		}
	} while (unlikely(!raw_try_cmpxchg_release(&block->free, &old, old | ri->bit)));
}

#endif

#endif /* _KERNEL_KPROBES_POOL_H */
