/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_FTRACE_OPS_H
#define _KERNEL_KPROBES_FTRACE_OPS_H

#include <linux/ftrace.h>
#include <linux/workqueue.h>

#include "internal.h"

/* A filter and what is in it. */
struct kprobe_ftrace_ops {
	struct ftrace_ops	ops;	/* registered exactly while @nr is not 0 */
	unsigned int		nr;	/* sites armed by it, and those with in_plain */
	struct list_head	list;	/* in kprobe_ftrace_all */
	struct work_struct	free;	/* after a registration that failed */
};

/* The ops of all sites without a post handler. */
extern struct kprobe_ftrace_ops kprobe_ftrace_plain;

/* All registered ops; kprobe_mutex. */
extern struct list_head kprobe_ftrace_all;

/* How many sites have in_plain set; kprobe_mutex. */
extern unsigned int kprobe_ftrace_nr_in_plain;

struct kprobe_ftrace_ops *kprobe_ftrace_ops_alloc(void);
int kprobe_ftrace_ops_add(struct kprobe_ftrace_ops *fo, unsigned long *ips,
			  unsigned int n);
int kprobe_ftrace_ops_remove(struct kprobe_ftrace_ops *fo, unsigned long *ips,
			     unsigned int n);
int kprobe_ftrace_ops_retire(struct kprobe_ftrace_ops *fo);

void kprobe_ftrace_move_begin(void);
void kprobe_ftrace_move_end(void);
void kprobe_ftrace_wait_for_tasks(void);

int kprobe_ftrace_filter(struct ftrace_ops *ops, unsigned long *ips,
			 unsigned int n, int remove, int reset);

#endif /* _KERNEL_KPROBES_FTRACE_OPS_H */
