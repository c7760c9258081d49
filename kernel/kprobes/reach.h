/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_REACH_H
#define _KERNEL_KPROBES_REACH_H

int kprobe_for_each_named(const char *prefix, const char * const *names, unsigned int nr,
			  int (*fn)(void *data, unsigned long addr), void *data);
int kprobe_reach(int (*fn)(unsigned long start, unsigned long end, unsigned long root));

#endif /* _KERNEL_KPROBES_REACH_H */
