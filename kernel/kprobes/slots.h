/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_SLOTS_H
#define _KERNEL_KPROBES_SLOTS_H

#include <linux/limits.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#define KPROBE_SLOT_BUCKETS	64

/* Executable memory in pieces of one size. */
struct kprobe_slot_cache {
	/* A page of executable memory, or NULL; and one for the region at an address. */
	void			*(*alloc)(void);
	void			*(*alloc_near)(unsigned long start);
	void			(*free)(void *page);
	const char		*symbol;	/* of the pages, in kallsyms and perf */
	size_t			slot_size;
	size_t			head_size;	/* filled by the architecture; in no slot */
	unsigned int		region_shift;	/* 0 if a slot serves any address */
	bool			owned;		/* record the owner of each slot */
	struct mutex		mutex;		/* all below, except against readers of @by_addr */
	struct list_head	pages;		/* oldest first; RCU */
	struct list_head	partial;	/* pages with a free slot */
	struct hlist_head	by_addr[KPROBE_SLOT_BUCKETS];	/* all pages; RCU */
	struct list_head	dirty;		/* pages that wait for a grace period to start */
	bool			waiting;	/* a grace period runs for those that were dirty */
	struct rcu_head		rcu;
	struct work_struct	work;		/* when it is over */
};

#define KPROBE_SLOT_CACHE_INIT(name)					\
	.mutex		= __MUTEX_INITIALIZER((name).mutex),		\
	.pages		= LIST_HEAD_INIT((name).pages),			\
	.partial	= LIST_HEAD_INIT((name).partial),		\
	.dirty		= LIST_HEAD_INIT((name).dirty),			\
	.work		= __WORK_INITIALIZER((name).work, kprobe_slots_work)

/* In place of an address: branches need not reach the slot. */
#define KPROBE_SLOT_ANYWHERE	ULONG_MAX

void *kprobe_slot_get(struct kprobe_slot_cache *cache, unsigned long addr);
void kprobe_slot_free(struct kprobe_slot_cache *cache, void *slot, bool dirty);
void kprobe_slot_own(struct kprobe_slot_cache *cache, void *slot, void *owner);
void *kprobe_slot_owner(struct kprobe_slot_cache *cache, unsigned long addr);
bool kprobe_slots_contain(struct kprobe_slot_cache *cache, unsigned long addr);
bool kprobe_slots_kallsym(struct kprobe_slot_cache *cache, unsigned int *nr,
			  unsigned long *value, char *type, char *sym);
void kprobe_slots_call_rcu_tasks(struct rcu_head *rcu, rcu_callback_t func);
void kprobe_slots_work(struct work_struct *work);
unsigned int kprobe_slots_taken(struct kprobe_slot_cache *cache);

extern struct kprobe_slot_cache kprobe_insn_slots;
extern struct kprobe_slot_cache kprobe_optinsn_slots;

#endif /* _KERNEL_KPROBES_SLOTS_H */
