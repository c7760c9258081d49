/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _KERNEL_KPROBES_TABLE_H
#define _KERNEL_KPROBES_TABLE_H

#include <linux/rcupdate.h>
#include <linux/types.h>

struct kprobe_site;

/**
 * struct kprobe_table_entry - one place of the table
 * @addr: 0 if it was never used; else it keeps its address for good
 * @site: the site there, NULL after it was removed
 */
struct kprobe_table_entry {
	unsigned long		addr;
	struct kprobe_site	*site;
};

/**
 * struct kprobe_table - open-addressed hash table from address to site
 * @mask: number of entries - 1
 * @shift: BITS_PER_LONG - log2 of the number
 * @used: entries with an address
 * @live: entries with a site
 * @rcu: to free it after it was replaced
 * @entry: the entries; at least one in eight has no address
 */
struct kprobe_table {
	unsigned long			mask;
	unsigned int			shift;
	unsigned int			used;
	unsigned int			live;
	struct rcu_head			rcu;
	struct kprobe_table_entry	entry[];
};

extern struct kprobe_table __rcu *kprobe_table;

/* Fibonacci hashing: the high bits of the product are the good ones. */
static __always_inline unsigned long
kprobe_table_home(const struct kprobe_table *t, unsigned long addr)
{
#if BITS_PER_LONG == 64
	return (addr * 0x9e3779b97f4a7c15ul) >> t->shift;
#else
	return (addr * 0x9e3779b9ul) >> t->shift;
#endif
}

/**
 * kprobe_table_find() - the site at an address
 * @addr: the address
 *
 * Context: any, also NMI. Preemption off, or kprobe_mutex held.
 * Return: the site, or NULL.
 */
static __always_inline struct kprobe_site *kprobe_table_find(unsigned long addr)
{
	const struct kprobe_table *t = rcu_dereference_raw(kprobe_table);
	unsigned long i = kprobe_table_home(t, addr);
	unsigned long key;

	for (;;) {
		/* Pairs with the release in kprobe_table_insert(). */
		key = smp_load_acquire(&t->entry[i].addr);
		if (key == addr)
			return READ_ONCE(t->entry[i].site);
		/* Ends the walk: the table is never full. */
		if (!key)
			return NULL;
		i = (i + 1) & t->mask;
	}
}

int kprobe_table_reserve(unsigned int nr);
void kprobe_table_insert(unsigned long addr, struct kprobe_site *site);
void kprobe_table_remove(unsigned long addr, const struct kprobe_site *site);

#endif /* _KERNEL_KPROBES_TABLE_H */
