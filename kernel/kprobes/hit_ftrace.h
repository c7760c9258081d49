/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_HIT_FTRACE_H
#define _KERNEL_KPROBES_HIT_FTRACE_H

#include "internal.h"

void kprobe_ftrace_set_check(bool on);

#ifdef arch_kprobe_ftrace_regs
#define kprobe_ftrace_entry	kprobe_ftrace_handler
#else
void kprobe_ftrace_entry(unsigned long ip, unsigned long parent_ip,
			 struct ftrace_ops *ops, struct ftrace_regs *fregs);
#endif

#endif /* _KERNEL_KPROBES_HIT_FTRACE_H */
