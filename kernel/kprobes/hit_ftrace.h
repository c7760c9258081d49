/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _KERNEL_KPROBES_HIT_FTRACE_H
#define _KERNEL_KPROBES_HIT_FTRACE_H

#include "internal.h"

/* Sites are in two filters at the moment. */
extern bool kprobe_ftrace_moving;

void kprobe_ftrace_entry(unsigned long ip, unsigned long parent_ip,
			 struct ftrace_ops *ops, struct ftrace_regs *fregs);

#endif /* _KERNEL_KPROBES_HIT_FTRACE_H */
