/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kernel/kprobes.c offers to the rooms above the table and the sites.
 */
#ifndef _KERNEL_KPROBES_BATCH_H
#define _KERNEL_KPROBES_BATCH_H

#include "internal.h"

int kprobe_batch_register(struct kprobe **kps, int num, int tail_err,
			  void (*stop)(struct kprobe *p));
void kprobe_batch_unregister(struct kprobe **kps, int num,
			     void (*stop)(struct kprobe *p),
			     void (*done)(struct kprobe *p));
void kprobe_kill_range(unsigned long start, unsigned long end);

bool kprobes_are_armed(void);
int kprobes_arm_all(bool on);

void kretprobe_init(void);

#ifdef CONFIG_MODULES
void kprobe_module_init(void);
#else
static inline void kprobe_module_init(void)
{
}
#endif

#endif /* _KERNEL_KPROBES_BATCH_H */
