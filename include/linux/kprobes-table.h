/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table in which hits find the site of an address: the lookup, for hit paths of the
 * core and of architectures. kernel/kprobes/table.h has what changes the table, for the
 * core only.
 */
#ifndef _LINUX_KPROBES_TABLE_H
#define _LINUX_KPROBES_TABLE_H

#include <linux/hash.h>
#include <linux/rcupdate.h>
#include <linux/stddef.h>
#include <linux/types.h>

#include <asm/kprobes.h>

struct kprobe;

/*
 * Whether the entry code of the breakpoint exception makes RCU watch, whatever
 * was interrupted, as irqentry_nmi_enter() does. Elsewhere each hit checks, and
 * before the core frees what a hit may have found, it waits until each CPU has
 * scheduled; see kprobe_table_sync().
 */
#ifndef KPROBE_TRAP_IS_WATCHED
#define KPROBE_TRAP_IS_WATCHED	0
#endif

/**
 * struct kprobe_table_entry - one entry of the table
 * @addr: 0 if the entry was never used, else an address that never changes
 * @kp: the probe of the site at @addr, NULL after its removal
 */
struct kprobe_table_entry {
	unsigned long	addr;
	struct kprobe	*kp;
};

/**
 * struct kprobe_table_number - a number in the place of an entry
 * @addr: an address that is that of no code, so that no lookup finds it
 * @n: the number
 */
struct kprobe_table_number {
	unsigned long	addr;
	unsigned long	n;
};

/**
 * struct kprobe_table - open-addressed hash table from addresses to sites
 * @mask: number of entries - 1
 * @factor: GOLDEN_RATIO_PRIME; many architectures need more instructions to build the
 *	    constant than to load it from here
 * @shift: BITS_PER_LONG - log2 of the number of entries
 * @used: entries with the address of a site, present or past
 * @live: entries with a site
 * @entry: the entries, the first of which are the numbers above: this way, the size of the table
 *	   is a power of two, as the memory is that kmalloc() takes for it. Some entries have no
 *	   address, so that a walk ends.
 */
struct kprobe_table {
	union {
		struct {
			struct kprobe_table_number	mask, factor, shift, used, live;
		};
		DECLARE_FLEX_ARRAY(struct kprobe_table_entry, entry);
	};
};

extern struct kprobe_table __rcu *kprobe_table;

/* Fibonacci hashing: the high bits of the product are well mixed. */
static __always_inline unsigned long
kprobe_table_home(const struct kprobe_table *t, unsigned long addr)
{
	return (addr * t->factor.n) >> t->shift.n;
}

/**
 * kprobe_table_find() - find the site at an address
 * @addr: the address
 *
 * Context: any, also NMI. Preemption off where RCU watches, or kprobe_mutex held.
 * Return: the probe of the site, or NULL.
 */
static __always_inline struct kprobe *kprobe_table_find(unsigned long addr)
{
	const struct kprobe_table *t = rcu_dereference_raw(kprobe_table);
	const struct kprobe_table_entry *e = t->entry + kprobe_table_home(t, addr);
	unsigned long key;

	for (;;) {
		/* Pairs with the release in kprobe_table_insert(). */
		key = smp_load_acquire(&e->addr);
		if (likely(key == addr))
			return READ_ONCE(e->kp);
		/* Ends the walk: the table is never full. */
		if (!key)
			return NULL;
		if (++e > t->entry + t->mask.n)
			e = t->entry;
	}
}

#endif /* _LINUX_KPROBES_TABLE_H */
