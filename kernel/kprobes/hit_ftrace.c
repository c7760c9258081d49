// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where ftrace calls the core; the architecture does the rest.
 */

#include <linux/ftrace.h>

#include "hit_ftrace.h"

/* One hit must not be delivered twice while its site is in two filters. */
struct kprobe_ftrace_mute kprobe_ftrace_muted;

/**
 * kprobe_ftrace_entry() - callback of all of the core's ftrace_ops
 * @ip: address of the site
 * @parent_ip: its caller
 * @ops: which of the ops
 * @fregs: state of the traced code
 *
 * Context: ftrace callback.
 */
void kprobe_ftrace_entry(unsigned long ip, unsigned long parent_ip,
			 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	/* Pairs with kprobe_ftrace_mute(). */
	if (unlikely(ops == smp_load_acquire(&kprobe_ftrace_muted.ops)) &&
	    ip == READ_ONCE(kprobe_ftrace_muted.ip))
		return;

	kprobe_ftrace_handler(ip, parent_ip, ops, fregs);
}
NOKPROBE_SYMBOL(kprobe_ftrace_entry);
