/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_HIT_FTRACE_H
#define _KERNEL_KPROBES_HIT_FTRACE_H

#include <linux/percpu-defs.h>

#include "internal.h"

/*
 * Set in kprobe_site.ftrace while the site moves between the shared ops and the one named there,
 * which has a claim. Each CPU decides for itself which of them counts.
 */
#define KPROBE_FTRACE_MOVES	1ul

DECLARE_PER_CPU(bool, kprobe_ftrace_by_claim);
extern bool kprobe_ftrace_check_owner;

bool kprobe_ftrace_set_check(bool on);

#ifdef arch_kprobe_ftrace_regs
void kprobe_ftrace_claimed_handler(unsigned long ip, unsigned long parent_ip,
				   struct ftrace_ops *ops, struct ftrace_regs *fregs);
#define kprobe_ftrace_entry		kprobe_ftrace_handler
#define kprobe_ftrace_claimed_entry	kprobe_ftrace_claimed_handler
#else
#define kprobe_ftrace_claimed_entry	kprobe_ftrace_entry
void kprobe_ftrace_entry(unsigned long ip, unsigned long parent_ip,
			 struct ftrace_ops *ops, struct ftrace_regs *fregs);
#endif

#endif /* _KERNEL_KPROBES_HIT_FTRACE_H */
