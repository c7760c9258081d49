/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_FTRACE_H
#define _KERNEL_KPROBES_FTRACE_H

#include <linux/ftrace.h>
#include <linux/list.h>
#include <linux/workqueue.h>

#include "internal.h"

#ifdef CONFIG_KPROBES_ON_FTRACE

/* A filter and what is in it. */
struct kprobe_ftrace_ops {
	struct ftrace_ops	ops;	/* registered exactly while @nr is not 0 */
	unsigned int		nr;	/* sites armed by it, and those with in_shared */
	struct work_struct	free;	/* after a registration that failed */
};

/* The ops of all sites without a post handler. */
extern struct kprobe_ftrace_ops kprobe_ftrace_shared;

/* How many sites have in_shared set; kprobe_mutex. */
extern unsigned int kprobe_ftrace_nr_in_shared;

int kprobe_ftrace_arm(struct list_head *kps);
int kprobe_ftrace_disarm(struct list_head *kps);
bool kprobe_ftrace_outgrown(const struct kprobe_site *site);
void kprobe_ftrace_note_users(const struct kprobe_site *site);
void kprobe_ftrace_settle(void);
void kprobe_ftrace_purge(unsigned long start, unsigned long end);

/* Redirected by tests. */
void kprobe_ftrace_wait_for_tasks(void);
int kprobe_ftrace_filter(struct ftrace_ops *ops, unsigned long *ips,
			 unsigned int n, int remove, int reset);

#else

static inline int kprobe_ftrace_arm(struct list_head *kps)
{
	return list_empty(kps) ? 0 : -ENODEV;
}

static inline int kprobe_ftrace_disarm(struct list_head *kps) { return 0; }
static inline bool kprobe_ftrace_outgrown(const struct kprobe_site *site) { return false; }
static inline void kprobe_ftrace_note_users(const struct kprobe_site *site) { }
static inline void kprobe_ftrace_settle(void) { }
static inline void kprobe_ftrace_purge(unsigned long start, unsigned long end) { }

#endif /* CONFIG_KPROBES_ON_FTRACE */

#endif /* _KERNEL_KPROBES_FTRACE_H */
