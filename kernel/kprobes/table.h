/* SPDX-License-Identifier: GPL-2.0-only */
/* For the core. <linux/kprobes-table.h> has the lookup, which architectures use, too. */
#ifndef _KERNEL_KPROBES_TABLE_H
#define _KERNEL_KPROBES_TABLE_H

#include <linux/kprobes-table.h>

int kprobe_table_reserve(unsigned int nr);
void kprobe_table_insert(unsigned long addr, struct kprobe *kp);
void kprobe_table_remove(unsigned long addr, const struct kprobe *kp);
void kprobe_wait_for_switches(void);

/* Before anything that a hit may have found is freed or handed back. */
void kprobe_wait_for_hits(void);

#endif /* _KERNEL_KPROBES_TABLE_H */
