// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of return probes on rethook, which diverts the return and keeps each
 * task's list of calls in flight.
 */

#include <linux/rethook.h>

#include "hit_kretprobe.h"
#include "kretprobe.h"

static nokprobe_inline struct kretprobe_instance *
node_to_instance(struct rethook_node *node)
{
	return container_of(node, struct kretprobe_instance, node);
}

/**
 * kretprobe_pre_handler() - a function with a return probe is entered
 * @p: the entry probe of a kretprobe
 * @regs: state at the entry
 *
 * Context: hit path.
 * Return: 0.
 */
int kretprobe_pre_handler(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	struct rethook_node *node = rethook_try_get(rp->rh);

	if (unlikely(!node)) {
		kretprobe_miss_hit(rp, KPROBE_MISS_POOL);
		return 0;
	}

	if (kretprobe_wants_return(rp, node_to_instance(node), regs))
		rethook_hook(node, regs, kprobe_ftrace(p));
	else
		rethook_recycle(node);

	return 0;
}
NOKPROBE_SYMBOL(kretprobe_pre_handler);

/**
 * kretprobe_rethook_handler() - a hooked function has returned
 * @node: its instance
 * @data: the kretprobe; where RCU watches, it is registered or being unregistered
 * @ret_addr: the real return address
 * @regs: state after the return
 *
 * Context: hit path, called by rethook with preemption off.
 */
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
