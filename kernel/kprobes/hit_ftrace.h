/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _KERNEL_KPROBES_HIT_FTRACE_H
#define _KERNEL_KPROBES_HIT_FTRACE_H

#include <linux/kprobes.h>

/**
 * struct kprobe_ftrace_mute - calls to ignore
 * @ops: calls through these ops, NULL for none
 * @ip: at this address
 */
struct kprobe_ftrace_mute {
	struct ftrace_ops	*ops;
	unsigned long		ip;
};

extern struct kprobe_ftrace_mute kprobe_ftrace_muted;

void kprobe_ftrace_entry(unsigned long ip, unsigned long parent_ip,
			 struct ftrace_ops *ops, struct ftrace_regs *fregs);

#endif /* _KERNEL_KPROBES_HIT_FTRACE_H */
