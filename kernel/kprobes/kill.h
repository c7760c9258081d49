/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_KILL_H
#define _KERNEL_KPROBES_KILL_H

void kprobe_kill_range(unsigned long start, unsigned long end);

#endif /* _KERNEL_KPROBES_KILL_H */
