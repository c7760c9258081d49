/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _KERNEL_KPROBES_SLOTS_H
#define _KERNEL_KPROBES_SLOTS_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#define KPROBE_SLOT_BUCKETS	64

/**
 * struct kprobe_slot_cache - executable memory in pieces of one size
 * @alloc: gets PAGE_SIZE bytes of executable memory, or NULL
 * @free: gives them back
 * @symbol: name of the pages in kallsyms and perf
 * @slot_size: bytes of one slot
 * @tasks_rcu: tasks can be preempted in a slot
 * @owned: who has a slot can be asked for
 * @unaligned: some of the pages are none to the MMU
 * @mutex: all below, but for readers of @by_addr
 * @pages: all pages, oldest first; RCU
 * @partial: pages with a free slot
 * @by_addr: all pages, by address; RCU
 * @nr_empty: pages in which no slot is in use
 * @dirty: pages with slots that wait for a grace period to begin
 * @waiting: a grace period is running for the slots that were dirty
 * @rcu: that grace period
 * @work: what is done after it
 */
struct kprobe_slot_cache {
	void			*(*alloc)(void);
	void			(*free)(void *page);
	const char		*symbol;
	size_t			slot_size;
	bool			tasks_rcu;
	bool			owned;
	bool			unaligned;
	struct mutex		mutex;
	struct list_head	pages;
	struct list_head	partial;
	struct hlist_head	by_addr[KPROBE_SLOT_BUCKETS];
	unsigned int		nr_empty;
	struct list_head	dirty;
	bool			waiting;
	struct rcu_head		rcu;
	struct work_struct	work;
};

#define KPROBE_SLOT_CACHE_INIT(name)					\
	.mutex		= __MUTEX_INITIALIZER((name).mutex),		\
	.pages		= LIST_HEAD_INIT((name).pages),			\
	.partial	= LIST_HEAD_INIT((name).partial),		\
	.dirty		= LIST_HEAD_INIT((name).dirty),			\
	.work		= __WORK_INITIALIZER((name).work, kprobe_slots_work)

void *kprobe_slot_get(struct kprobe_slot_cache *cache);
void kprobe_slot_free(struct kprobe_slot_cache *cache, void *slot, bool dirty);
void kprobe_slot_own(struct kprobe_slot_cache *cache, void *slot, void *owner);
void *kprobe_slot_owner(struct kprobe_slot_cache *cache, unsigned long addr);
bool kprobe_slots_contain(struct kprobe_slot_cache *cache, unsigned long addr);
bool kprobe_slots_kallsym(struct kprobe_slot_cache *cache, unsigned int *nr,
			  unsigned long *value, char *type, char *sym);
void kprobe_slots_work(struct work_struct *work);
void kprobe_slots_flush(struct kprobe_slot_cache *cache);

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
extern struct kprobe_slot_cache kprobe_insn_slots;
#endif
#ifdef CONFIG_OPTPROBES
extern struct kprobe_slot_cache kprobe_optinsn_slots;
void kprobe_optinsn_slots_init(void);
#endif

#endif /* _KERNEL_KPROBES_SLOTS_H */
