/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kernel/kprobes.c offers to the rooms above the table and the sites.
 */
#ifndef _KERNEL_KPROBES_BATCH_H
#define _KERNEL_KPROBES_BATCH_H

#include "internal.h"

/**
 * struct kprobe_call - a call that uses structures of users without kprobe_mutex
 * @list: in the list of these calls; kprobe_mutex
 * @nr: its number, or 0 while it has taken no structure
 */
struct kprobe_call {
	struct list_head	list;
	u64			nr;
};

#define DEFINE_KPROBE_CALL(name) struct kprobe_call name = {		\
	.list = LIST_HEAD_INIT((name).list),				\
}

void kprobe_call_take(struct kprobe_call *call, struct kprobe *p);
struct kprobe_call *kprobe_call_of(const struct kprobe *p);
void kprobe_call_end(struct kprobe_call *call, struct kprobe **kps, int num);

int kprobe_batch_register(struct kprobe **kps, int num, int tail_err,
			  void (*stop)(struct kprobe *p), struct kprobe_call *call);
void kprobe_batch_unregister(struct kprobe **kps, int num,
			     void (*stop)(struct kprobe *p),
			     void (*done)(struct kprobe *p));
void kprobe_kill_range(unsigned long start, unsigned long end);

bool kprobes_are_armed(void);
int kprobes_arm_all(bool on);

void kretprobe_init(void);

#ifdef CONFIG_MODULES
void kprobe_module_init(void);
bool kprobe_module_known(const struct module *mod);
#else
static inline void kprobe_module_init(void)
{
}
#endif

#endif /* _KERNEL_KPROBES_BATCH_H */
