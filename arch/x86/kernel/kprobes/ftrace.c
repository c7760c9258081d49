// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes at the call sites of ftrace.
 */

#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include "common.h"

/**
 * kprobe_ftrace_handler() - a function with a probe at its entry is called
 * @ip: address of the site
 * @parent_ip: its caller
 * @ops: which of the core's ftrace_ops
 * @fregs: state of the traced code
 *
 * Handlers may call traced functions: what those hit is counted as missed, so
 * this needs no other lock against recursion.
 *
 * Context: ftrace callback.
 */
void kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
			   struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	/* The core's ops ask for all of it. */
	struct pt_regs *regs = &arch_ftrace_regs(fregs)->regs;
	unsigned long next = regs->ip;
	struct kprobe *p;
	int ret;

	preempt_disable_notrace();

	/* Before the lookup: table and site are freed by RCU, too. */
	if (unlikely(!kprobe_rcu_is_watching())) {
		kprobe_ftrace_miss_unwatched(ip, ops);
		goto out;
	}

	p = find_kprobe(ip);
	if (unlikely(!p) || !kprobe_ftrace_owns(p, ops))
		goto out;

	if (unlikely(kprobe_running())) {
		kprobes_inc_nmissed_count(p);
		goto out;
	}

	kprobe_hit_begin(p);

	/* Handlers see what they would see behind a breakpoint. */
	regs->ip = ip + INT3_INSN_SIZE;
	ret = kprobe_call_pre(p, regs);
	if (likely(!ret)) {
		if (unlikely(READ_ONCE(p->post_handler))) {
			regs->ip = ip + MCOUNT_INSN_SIZE;
			__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_SSDONE);
			kprobe_site_post_handler(p, regs, 0);
		}
		/* Which livepatch may have set to a function of its own. */
		regs->ip = next;
	} else {
		kprobe_avoid_jump(regs);
	}
	reset_current_kprobe();
out:
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(kprobe_ftrace_handler);

/**
 * arch_prepare_kprobe_ftrace() - nothing is copied
 * @p: the probe
 *
 * Context: kprobe_mutex held.
 * Return: 0.
 */
int arch_prepare_kprobe_ftrace(struct kprobe *p)
{
	p->ainsn = (struct arch_specific_insn) { .len = MCOUNT_INSN_SIZE };
	return 0;
}
