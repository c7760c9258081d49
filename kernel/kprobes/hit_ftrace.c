// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where ftrace calls the core; the architecture does the rest.
 */

#include <linux/ftrace.h>

#include "hit.h"
#include "hit_ftrace.h"
#include "table.h"

bool kprobe_ftrace_check_owner __read_mostly;

/**
 * __kprobe_ftrace_owns() - is this call of ftrace one to be handled?
 * @p: the probe of the site
 * @ops: one of the core's ops
 *
 * Context: hit path, preemption off.
 * Return: true if ftrace works, and the site says that this ops counts.
 */
bool __kprobe_ftrace_owns(struct kprobe *p, const struct ftrace_ops *ops)
{
	/* A struct kprobe_ftrace_ops begins with its ops. */
	return !kprobe_ftrace_disabled &&
	       (const void *)READ_ONCE(kprobe_to_site(p)->ftrace) == ops;
}
NOKPROBE_SYMBOL(__kprobe_ftrace_owns);

/**
 * kprobe_ftrace_miss_unwatched() - ftrace calls where RCU does not watch
 * @ip: address of the site
 * @ops: one of the core's ops
 *
 * Context: hit path, preemption off.
 */
void kprobe_ftrace_miss_unwatched(unsigned long ip, const struct ftrace_ops *ops)
{
	struct kprobe_rcu_state w = kprobe_rcu_enter();
	struct kprobe *p = find_kprobe(ip);

	if (p && kprobe_ftrace_owns(p, ops)) {
		if (kprobe_running())
			kprobes_inc_nmissed_count(p);
		else
			kprobe_miss_unwatched(p);
	}
	kprobe_rcu_exit(w);
}
NOKPROBE_SYMBOL(kprobe_ftrace_miss_unwatched);

#ifndef __ARCH_WANT_KPROBES_FTRACE_ENTRY
/*
 * Architectures look the probe up first of all. So they are not called where RCU
 * does not watch, as there the probe could be freed before they are done.
 */
static nokprobe_inline bool is_handled(unsigned long ip, const struct ftrace_ops *ops)
{
	struct kprobe *p;

	guard(preempt_notrace)();

	if (unlikely(!kprobe_rcu_is_watching())) {
		kprobe_ftrace_miss_unwatched(ip, ops);
		return false;
	}
	if (likely(!READ_ONCE(kprobe_ftrace_check_owner)))
		return true;

	p = find_kprobe(ip);
	return p && kprobe_ftrace_owns(p, ops);
}

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
	if (likely(is_handled(ip, ops)))
		kprobe_ftrace_handler(ip, parent_ip, ops, fregs);
}
NOKPROBE_SYMBOL(kprobe_ftrace_entry);
#endif
