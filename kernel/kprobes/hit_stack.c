// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hit path of return probes on architectures with a trampoline of their
 * own. Each task has a list of its calls in flight, newest first; it is local
 * to the task, and an interrupt that adds to it has taken its own entries off
 * again before the task goes on.
 */

#include <linux/llist.h>
#include <linux/sched.h>

#include "hit_kretprobe.h"
#include "kretprobe.h"

static nokprobe_inline struct kretprobe_instance *
llist_to_instance(struct llist_node *node)
{
	return container_of(node, struct kretprobe_instance, llist);
}

static void free_instance_rcu(struct rcu_head *head)
{
	struct kretprobe_instance *ri = container_of(head, struct kretprobe_instance,
						     rcu);

	objpool_drop(ri, &ri->rph->pool);
}

/**
 * kretprobe_recycle() - a call is not followed any more
 * @ri: its instance
 *
 * Context: preemption off. The pool may be gone one grace period later.
 */
void kretprobe_recycle(struct kretprobe_instance *ri)
{
	if (likely(get_kretprobe(ri)))
		objpool_push(ri, &ri->rph->pool);
	else
		call_rcu(&ri->rcu, free_instance_rcu);
}
NOKPROBE_SYMBOL(kretprobe_recycle);

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
	struct kretprobe_instance *ri = objpool_pop(&rp->rph->pool);

	if (unlikely(!ri)) {
		kretprobe_miss_hit(rp, KPROBE_MISS_POOL);
	} else if (kretprobe_wants_return(rp, ri, regs)) {
		arch_prepare_kretprobe(ri, regs);
		__llist_add(&ri->llist, &current->kretprobe_instances);
	} else {
		objpool_push(ri, &rp->rph->pool);
	}

	return 0;
}
NOKPROBE_SYMBOL(kretprobe_pre_handler);

/*
 * Behind @from, or at the head of the list, the instance that holds a real
 * return address. The others have the trampoline's: their frame had been
 * hooked before.
 */
static struct llist_node *find_real(struct task_struct *tsk,
				    struct llist_node *from)
{
	struct llist_node *node = from ? from->next : tsk->kretprobe_instances.first;
	void *trampoline = kretprobe_trampoline_addr();

	while (node && (void *)llist_to_instance(node)->ret_addr == trampoline)
		node = node->next;

	return node;
}
NOKPROBE_SYMBOL(find_real);

/**
 * kretprobe_find_ret_addr() - look through the trampoline, for unwinders
 * @tsk: current, or a task that does not run
 * @fp: frame as the architecture's arch_prepare_kretprobe() notes it
 * @cur: cursor, NULL before the first frame of the task
 *
 * Context: any.
 * Return: the return address of the frame, or 0 if it is not hooked.
 */
unsigned long kretprobe_find_ret_addr(struct task_struct *tsk, void *fp,
				      struct llist_node **cur)
{
	struct llist_node *node;

	if (WARN_ON_ONCE(!cur))
		return 0;

	for (node = find_real(tsk, *cur); node; node = find_real(tsk, node)) {
		*cur = node;
		if (llist_to_instance(node)->fp == fp)
			return (unsigned long)llist_to_instance(node)->ret_addr;
	}

	return 0;
}
NOKPROBE_SYMBOL(kretprobe_find_ret_addr);

void __weak arch_kretprobe_fixup_return(struct pt_regs *regs,
					kprobe_opcode_t *correct_ret_addr)
{
}

/**
 * __kretprobe_trampoline_handler() - a hooked function has returned
 * @regs: state after the return
 * @frame_pointer: the frame, as arch_prepare_kretprobe() notes it
 *
 * For architectures whose trampoline is itself probed.
 *
 * Context: hit of that probe, preemption off.
 * Return: the real return address.
 */
unsigned long __kretprobe_trampoline_handler(struct pt_regs *regs,
					     void *frame_pointer)
{
	struct llist_node *last = find_real(current, NULL), *node, *next;
	struct kretprobe_instance *ri;
	unsigned long ret_addr;
	struct kretprobe *rp;

	/* There is nowhere to return to. */
	if (unlikely(!last))
		panic("kprobes: a return was diverted that nobody knows of\n");

	ret_addr = (unsigned long)llist_to_instance(last)->ret_addr;
	instruction_pointer_set(regs, ret_addr);

	/*
	 * The instances stay linked for as long as handlers run: these may
	 * take stack traces.
	 */
	for (node = current->kretprobe_instances.first; ; node = node->next) {
		ri = llist_to_instance(node);
		if (WARN_ONCE(ri->fp != frame_pointer,
			      "kprobes: return address belongs to another frame\n"))
			break;

		rp = get_kretprobe(ri);
		if (rp && likely(rcu_is_watching()))
			kretprobe_call_handler(rp, ri, ret_addr, regs);
		else if (rp)
			kretprobe_count_miss(rp);

		if (node == last)
			break;
	}

	arch_kretprobe_fixup_return(regs, (kprobe_opcode_t *)ret_addr);

	/* An interrupt may use the list, but leaves it as it was. */
	node = current->kretprobe_instances.first;
	WRITE_ONCE(current->kretprobe_instances.first, last->next);
	last->next = NULL;

	for (; node; node = next) {
		next = node->next;
		kretprobe_recycle(llist_to_instance(node));
	}

	return ret_addr;
}
NOKPROBE_SYMBOL(__kretprobe_trampoline_handler);

/**
 * kretprobe_trampoline_handler() - a hooked function has returned
 * @regs: state after the return
 * @frame_pointer: the frame, as arch_prepare_kretprobe() notes it
 *
 * For trampolines that call it directly.
 *
 * Context: any.
 * Return: the real return address.
 */
unsigned long kretprobe_trampoline_handler(struct pt_regs *regs,
					   void *frame_pointer)
{
	unsigned long ret_addr;

	kprobe_busy_begin();
	ret_addr = __kretprobe_trampoline_handler(regs, frame_pointer);
	kprobe_busy_end();

	return ret_addr;
}
NOKPROBE_SYMBOL(kretprobe_trampoline_handler);
