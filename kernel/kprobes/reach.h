/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_REACH_H
#define _KERNEL_KPROBES_REACH_H

int kprobe_reach(int (*fn)(unsigned long start, unsigned long end, unsigned long root));

#endif /* _KERNEL_KPROBES_REACH_H */
