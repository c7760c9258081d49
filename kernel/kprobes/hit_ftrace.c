// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where ftrace calls the core; the architecture does the rest.
 */

#include <linux/ftrace.h>

#include "hit_ftrace.h"
#include "table.h"

bool kprobe_ftrace_moving;

/*
 * Is this call to be ignored, because the hit comes through another ops as
 * well? The site says which one counts; a struct kprobe_ftrace_ops begins with
 * its ops.
 */
static bool is_second_call(unsigned long ip, const struct ftrace_ops *ops)
{
	struct kprobe_site *site;

	guard(preempt_notrace)();

	site = kprobe_table_find(ip);
	return site && (const void *)READ_ONCE(site->ftrace) != ops;
}
NOKPROBE_SYMBOL(is_second_call);

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
	if (unlikely(READ_ONCE(kprobe_ftrace_moving)) && is_second_call(ip, ops))
		return;

	kprobe_ftrace_handler(ip, parent_ip, ops, fregs);
}
NOKPROBE_SYMBOL(kprobe_ftrace_entry);
