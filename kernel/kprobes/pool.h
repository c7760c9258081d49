/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_POOL_H
#define _KERNEL_KPROBES_POOL_H

#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/llist.h>
#include <linux/workqueue.h>

#include "internal.h"

/*
 * Pools of the instances that return probes need, one for each call in flight. A pool outlives
 * its kretprobe until the last instance in flight has come back.
 *
 * Hits take an instance with kretprobe_pool_get_local(), from the list of this CPU, or if that is
 * empty with kretprobe_pool_get_remote(), from any list. They give it back with
 * kretprobe_pool_put(), after which the pool may be freed one grace period later, or at once
 * where RCU does not watch.
 */
struct kretprobe_holder *kretprobe_pool_create(int nr, size_t data_size, bool grows);
void kretprobe_pool_destroy(struct kretprobe_holder *rph);

/* Bytes that all pools have grown by, and the most that they may, in debugfs. */
extern unsigned long kretprobe_pools_grown;
extern unsigned long kretprobe_pools_limit;

#ifdef CONFIG_KRETPROBE_POOL

/**
 * DOC: kprobes return pools
 *
 * Each CPU has a list of free instances. Its head is one 64-bit word: a tag in the
 * upper half, and the name of the first instance in the lower half. Any context can
 * take an instance or give one back by exchanging the word: an NMI in the middle of
 * such an exchange, or another CPU whose list is empty. Every get changes the tag.
 * A get that was interrupted after it has read the head has seen an instance and its
 * successor. The successor can only change while the instance is taken, so in that case
 * the exchange fails. The tag is read no later than the name.
 *
 * Names instead of pointers leave room for the tag. The upper bits of a name give the
 * chunk, the others the place in it. A pool starts with one chunk; it grows by adding
 * chunks, and frees none before the end.
 *
 * An instance does not store the name of the next one, but what a get adds to a head
 * that names this instance: the difference between the names, plus one for the tag. Its
 * own name is stored with that one subtracted, so that a put need not add it.
 */

#define KRETPROBE_POOL_EMPTY	0	/* end of a list */
#define KRETPROBE_POOL_CLOSED	1	/* none may be added any more */

#define KRETPROBE_POOL_TAG	BIT_ULL(32)

/* In a name: the unit of the place, and the position of the chunk's number. */
#define KRETPROBE_POOL_UNIT	8
#define KRETPROBE_POOL_SHIFT	28
#define KRETPROBE_POOL_CHUNKS	BIT(32 - KRETPROBE_POOL_SHIFT)

/* The most instances a pool grows to. */
#define KRETPROBE_POOL_CAP	4096

/* The instances of a kretprobe. Only the worker of @grow changes @mem and @nr. */
struct kretprobe_pool {
	struct kretprobe_holder	rph;				/* what instances know of it */
	u64 __percpu		*heads;				/* lists of free instances */
	/* Where a name of zero would be, for each chunk. */
	unsigned long		chunk[KRETPROBE_POOL_CHUNKS];
	void			*mem[KRETPROBE_POOL_CHUNKS];	/* the chunks, to free them */
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
	atomic_t		left;
	/* Raised when instances run out; queues @grow, as hits cannot. */
	struct irq_work		ask;
	/* Adds a chunk; after a failure, allows another attempt. */
	struct delayed_work	grow;
	/* Raised when @left is zero; queues @free, as hits cannot. */
	struct irq_work		gone;
	struct rcu_work		free;
};

int kretprobe_pool_count(void);
bool kretprobe_pool_get_remote(struct kretprobe_holder *rph,
			       struct kretprobe_instance **ri);
void kretprobe_pool_put_closed(struct kretprobe_pool *pool);

static nokprobe_inline struct kretprobe_pool *to_kretprobe_pool(struct kretprobe_holder *rph)
{
	return container_of(rph, struct kretprobe_pool, rph);
}

static inline bool kretprobe_pool_has_default_size(struct kretprobe_holder *rph)
{
	return to_kretprobe_pool(rph)->by_default;
}

static nokprobe_inline struct kretprobe_instance *
kretprobe_pool_instance(struct kretprobe_pool *pool, u32 ref)
{
	unsigned long addr = pool->chunk[ref >> KRETPROBE_POOL_SHIFT] +
			     (unsigned long)ref * KRETPROBE_POOL_UNIT;

	/* Without this, each access adds the two again, which occupies one more register. */
	OPTIMIZER_HIDE_VAR(addr);
	return (void *)addr;
}

/*
 * i386, the only architecture of 32 bits here, needs two loads. The tag comes first: if it is
 * still the same at the exchange, no instance has been taken in between, so the first one and its
 * successor belong together.
 */
static nokprobe_inline u64 kretprobe_pool_head(const u64 *head)
{
#ifdef CONFIG_64BIT
	return READ_ONCE(*head);
#else
	const u32 *half = (const u32 *)head;
	u64 tag = READ_ONCE(half[1]);

	/* Both halves are written at once, so this pairs with no other barrier. */
	smp_rmb();
	return tag << 32 | READ_ONCE(half[0]);
#endif
}

static nokprobe_inline bool kretprobe_pool_pop(struct kretprobe_pool *pool, u64 *head,
					       struct kretprobe_instance **ri)
{
	u64 old = kretprobe_pool_head(head);

	/*
	 * Instances stay mapped while their pool is in use, so @next can be read even if another
	 * context has just taken the instance; then the exchange fails. The acquire pairs with
	 * the release of kretprobe_pool_push().
	 */
	do {
		if (unlikely((u32)old <= KRETPROBE_POOL_CLOSED))
			return false;
		*ri = kretprobe_pool_instance(pool, old);
	} while (unlikely(!raw_try_cmpxchg64_acquire(head, &old, old +
						     READ_ONCE((*ri)->next))));

	return true;
}

/*
 * Give back instances that are linked up to @last, whose name is higher than that of the first by
 * @span. Returns false if the list is closed.
 */
static nokprobe_inline bool kretprobe_pool_push(u64 *head,
						struct kretprobe_instance *last,
						u32 span)
{
	u64 old = READ_ONCE(*head), ref = last->ref;

	do {
		if (unlikely((u32)old == KRETPROBE_POOL_CLOSED))
			return false;
		WRITE_ONCE(last->next, (u32)old - ref);
	} while (unlikely(!raw_try_cmpxchg64_release(head, &old, (old & ~(u64)U32_MAX) |
						     (u32)(ref - span))));

	return true;
}

static nokprobe_inline bool kretprobe_pool_get_local(struct kretprobe_holder *rph,
						     struct kretprobe_instance **ri)
{
	struct kretprobe_pool *pool = to_kretprobe_pool(rph);

	return kretprobe_pool_pop(pool, raw_cpu_ptr(pool->heads), ri);
}

/* To the list of this CPU, where it is likely to be needed next. */
static nokprobe_inline void kretprobe_pool_put(struct kretprobe_instance *ri)
{
	struct kretprobe_pool *pool = to_kretprobe_pool(ri->rph);

	if (unlikely(!kretprobe_pool_push(raw_cpu_ptr(pool->heads), ri, 0)))
		kretprobe_pool_put_closed(pool);
}

#elif !defined(CONFIG_KRETPROBE_ON_RETHOOK)

/* Instances that have come back on this CPU after their kretprobe has gone. */
struct kretprobe_pool_late {
	struct llist_head	instances;
	struct irq_work		work;	/* passes them to RCU, as hits cannot */
};

DECLARE_PER_CPU(struct kretprobe_pool_late, kretprobe_pool_late);

void kretprobe_pool_put_closed(struct kretprobe_instance *ri);

/*
 * kretprobe_native_entry() calls this outside of any hit. To search the lists of other CPUs,
 * objpool_pop() calls functions that may have return probes themselves, so that would recurse.
 * Interrupts are off as in objpool_pop(): the list must stay that of this CPU.
 */
static nokprobe_inline bool kretprobe_pool_get_local(struct kretprobe_holder *rph,
						     struct kretprobe_instance **ri)
{
	unsigned long flags;

	raw_local_irq_save(flags);
	*ri = __objpool_try_get_slot(&rph->pool, raw_smp_processor_id());
	raw_local_irq_restore(flags);
	return *ri;
}

/* It does not grow. */
static inline bool kretprobe_pool_has_default_size(struct kretprobe_holder *rph)
{
	return false;
}

/* Inside a hit, so hits in these functions are missed. */
static nokprobe_inline bool kretprobe_pool_get_remote(struct kretprobe_holder *rph,
						      struct kretprobe_instance **ri)
{
	*ri = objpool_pop(&rph->pool);
	return *ri;
}

static nokprobe_inline void kretprobe_pool_put(struct kretprobe_instance *ri)
{
	if (likely(rcu_access_pointer(ri->rph->rp)))
		objpool_push(ri, &ri->rph->pool);
	else
		kretprobe_pool_put_closed(ri);
}

#endif

#endif /* _KERNEL_KPROBES_POOL_H */
