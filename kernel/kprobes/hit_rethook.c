// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of return probes on rethook, which diverts the return and keeps the list of each
 * task's calls in flight.
 */

#include <linux/rethook.h>

#include "hit_kretprobe.h"

static nokprobe_inline struct kretprobe_instance *
node_to_instance(struct rethook_node *node)
{
	return container_of(node, struct kretprobe_instance, node);
}

int kretprobe_pre_handler(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	struct rethook_node *node = rethook_try_get(rp->rh);

	if (unlikely(!node)) {
		kretprobe_count_miss(rp);
		return 0;
	}

	if (kretprobe_wants_return(rp, node_to_instance(node), regs))
		rethook_hook(node, regs, kprobe_ftrace(p));
	else
		rethook_recycle(node);

	return 0;
}
NOKPROBE_SYMBOL(kretprobe_pre_handler);

/* Where RCU watches, the kretprobe in @data is registered or being unregistered. */
void kretprobe_rethook_handler(struct rethook_node *node, void *data,
			       unsigned long ret_addr, struct pt_regs *regs)
{
	struct kretprobe *rp = data;

	if (unlikely(!kprobe_rcu_is_watching()))
		kretprobe_miss_unwatched(node_to_instance(node));
	else
		kretprobe_call_handler(rp, node_to_instance(node), ret_addr, regs);
}
NOKPROBE_SYMBOL(kretprobe_rethook_handler);
