/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_SLOTS_H
#define _KERNEL_KPROBES_SLOTS_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#define KPROBE_SLOT_BUCKETS	64

/**
 * struct kprobe_slot_region - pages that serve one part of the address space
 * @list: in kprobe_slot_cache.regions
 * @start: first address of the part; not used in kprobe_slot_cache.anywhere
 * @partial: pages with a free slot
 * @nr_empty: pages in which no slot is in use
 *
 * Protected by the cache's mutex.
 */
struct kprobe_slot_region {
	struct list_head	list;
	unsigned long		start;
	struct list_head	partial;
	unsigned int		nr_empty;
};

/**
 * struct kprobe_slot_cache - executable memory in pieces of one size
 * @alloc: allocates PAGE_SIZE bytes of executable memory, or returns NULL
 * @alloc_near: the same for the region that starts at an address; only with
 *	@region_shift
 * @free: frees a page of either kind
 * @sync: called before used slots are overwritten, or NULL
 * @symbol: name of the pages in kallsyms and perf
 * @slot_size: bytes of one slot
 * @head_size: bytes at the start of each page that the architecture fills when
 *	it allocates the page, and that are never part of a slot
 * @region_shift: log2 of a region's size; 0 if a slot serves any address
 * @tasks_rcu: tasks can be preempted in a slot
 * @owned: the cache records the owner of each slot
 * @mutex: protects all fields below, except against readers of @by_addr
 * @pages: all pages, oldest first; RCU
 * @regions: regions that have a page
 * @anywhere: pages that serve any address
 * @by_addr: all pages, by address; RCU
 * @dirty: pages with slots that wait for a grace period to start
 * @waiting: a grace period is running for the slots that were dirty
 * @rcu: that grace period
 * @work: what is done after it
 */
struct kprobe_slot_cache {
	void			*(*alloc)(void);
	void			*(*alloc_near)(unsigned long start);
	void			(*free)(void *page);
	void			(*sync)(void);
	const char		*symbol;
	size_t			slot_size;
	size_t			head_size;
	unsigned int		region_shift;
	bool			tasks_rcu;
	bool			owned;
	struct mutex		mutex;
	struct list_head	pages;
	struct list_head	regions;
	struct kprobe_slot_region anywhere;
	struct hlist_head	by_addr[KPROBE_SLOT_BUCKETS];
	struct list_head	dirty;
	bool			waiting;
	struct rcu_head		rcu;
	struct work_struct	work;
};

#define KPROBE_SLOT_CACHE_INIT(name)					\
	.mutex		= __MUTEX_INITIALIZER((name).mutex),		\
	.pages		= LIST_HEAD_INIT((name).pages),			\
	.regions	= LIST_HEAD_INIT((name).regions),		\
	.anywhere	= {						\
		.partial = LIST_HEAD_INIT((name).anywhere.partial),	\
	},								\
	.dirty		= LIST_HEAD_INIT((name).dirty),			\
	.work		= __WORK_INITIALIZER((name).work, kprobe_slots_work)

void *kprobe_slot_get(struct kprobe_slot_cache *cache);
void *kprobe_slot_get_near(struct kprobe_slot_cache *cache, unsigned long addr);
void kprobe_slot_free(struct kprobe_slot_cache *cache, void *slot, bool dirty);
void kprobe_slot_own(struct kprobe_slot_cache *cache, void *slot, void *owner);
void *kprobe_slot_owner(struct kprobe_slot_cache *cache, unsigned long addr);
bool kprobe_slots_contain(struct kprobe_slot_cache *cache, unsigned long addr);
bool kprobe_slots_kallsym(struct kprobe_slot_cache *cache, unsigned int *nr,
			  unsigned long *value, char *type, char *sym);
void kprobe_slots_call_rcu_tasks(struct rcu_head *rcu, rcu_callback_t func);
void kprobe_slots_work(struct work_struct *work);
void kprobe_slots_flush(struct kprobe_slot_cache *cache);
unsigned int kprobe_slots_taken(struct kprobe_slot_cache *cache);

#endif /* _KERNEL_KPROBES_SLOTS_H */
