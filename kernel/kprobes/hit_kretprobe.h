/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_HIT_KRETPROBE_H
#define _KERNEL_KPROBES_HIT_KRETPROBE_H

#include "hit.h"

#ifdef CONFIG_KRETPROBE_ON_RETHOOK
void kretprobe_rethook_handler(struct rethook_node *node, void *data,
			       unsigned long ret_addr, struct pt_regs *regs);
#endif

/*
 * get_kretprobe() without the check that RCU is held: that calls functions that may be probed,
 * and whose returns would end up here again. Preemption is off, and RCU watches.
 */
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
static nokprobe_inline struct kretprobe *kretprobe_of(struct kretprobe_instance *ri)
{
	return get_kretprobe(ri);
}
#else
static nokprobe_inline struct kretprobe *kretprobe_of(struct kretprobe_instance *ri)
{
	return rcu_dereference_raw(ri->rph->rp);
}
#endif

static nokprobe_inline bool kretprobe_wants_return(struct kretprobe *rp,
						   struct kretprobe_instance *ri,
						   struct pt_regs *regs)
{
	ri->rp = rp;
	ri->task = current;
	ri->ret_addr = NULL;

	return !rp->entry_handler || !rp->entry_handler(ri, regs);
}

/*
 * A return where RCU does not watch. Unregistration of the kretprobe does not wait for this CPU,
 * so it is looked up again with RCU watching.
 */
static noinline void kretprobe_miss_unwatched(struct kretprobe_instance *ri)
{
	struct kprobe_rcu_state w = kprobe_rcu_enter();
	struct kretprobe *rp = kretprobe_of(ri);

	if (rp)
		kprobe_count_unwatched(&rp->kp);
	kprobe_rcu_exit(w);
}
NOKPROBE_SYMBOL(kretprobe_miss_unwatched);

/* The hit that a return handler interrupts. */
struct kretprobe_outer_hit {
	struct kprobe			*running;
	unsigned long			status;
#ifdef KPROBE_MAX_NESTING
	unsigned int			context;
#endif
	struct kprobe_fault_owner	owner;
};

/* Return handlers run as a hit of @p, perhaps inside a hit of another probe. */
static nokprobe_inline struct kretprobe_outer_hit kretprobe_hit_begin(struct kprobe *p)
{
	struct kretprobe_outer_hit outer = {
		.running	= kprobe_running(),
		.status		= __this_cpu_read(kprobe_ctlblk.kprobe_status),
#ifdef KPROBE_MAX_NESTING
		.context	= __this_cpu_read(kprobe_current.context),
#endif
		.owner		= {
			.user		= __this_cpu_read(kprobe_fault_owner.user),
			.context	= __this_cpu_read(kprobe_fault_owner.context),
		},
	};

	/*
	 * An interrupt may see the outer probe with this status, which is always safe: no step or
	 * fault is to end that hit now.
	 */
	__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_ACTIVE);
	barrier();
	kprobe_hit_begin(kprobe_cpu_addr(current_kprobe), p);
#ifdef KPROBE_MAX_NESTING
	/* In a section of kprobe_busy_begin(), it stays the only one. */
	if (unlikely(outer.running && outer.context == KPROBE_CONTEXT_CLOSED))
		__this_cpu_write(kprobe_current.context, KPROBE_CONTEXT_CLOSED);
#endif
	/* Before the hit has begun, one in an NMI would clear the owner. */
	barrier();
	__this_cpu_write(kprobe_fault_owner.user, NULL);
	kprobe_own_faults(p);
	return outer;
}

static nokprobe_inline void kretprobe_hit_end(struct kretprobe_outer_hit outer)
{
	kprobe_set_fault_owner(outer.owner);
	/* Likewise, in reverse: until this hit is over, hits in NMIs call no fault handler. */
	barrier();
#ifdef KPROBE_MAX_NESTING
	__this_cpu_write(kprobe_current.context, outer.context);
#endif
	/*
	 * The status of the outer hit, which may be being stepped, must never be seen with the
	 * probe of this one.
	 */
	__this_cpu_write(current_kprobe, outer.running);
	barrier();
	__this_cpu_write(kprobe_ctlblk.kprobe_status, outer.status);
}

/* One return, as a hit of its own: probes in the handler are missed. */
static nokprobe_inline void kretprobe_call_handler(struct kretprobe *rp,
						   struct kretprobe_instance *ri,
						   unsigned long ret_addr,
						   struct pt_regs *regs)
{
	struct kretprobe_outer_hit outer;
	bool irqs_off;

	ri->ret_addr = (kprobe_opcode_t *)ret_addr;
	ri->rp = rp;
	if (!rp->handler)
		return;

	outer = kretprobe_hit_begin(&rp->kp);
	irqs_off = kprobe_irqs_are_off();
	rp->handler(ri, regs);
	kprobe_check_irqs(irqs_off, rp->handler);
	kretprobe_hit_end(outer);
}

/*
 * The same outside of any other hit, with ret_addr and rp of @ri already set. @rp has a handler,
 * but no fault handler, so faults need no owner.
 */
static nokprobe_inline void kretprobe_call_handler_alone(struct kprobe *__kprobe_cpu *running,
							 struct kretprobe *rp,
							 struct kretprobe_instance *ri,
							 struct pt_regs *regs)
{
	bool irqs_off;

	kprobe_hit_begin(running, &rp->kp);
	irqs_off = kprobe_irqs_are_off();
	rp->handler(ri, regs);
	kprobe_check_irqs(irqs_off, rp->handler);
	kprobe_cpu_write(running, NULL);
}

#endif /* _KERNEL_KPROBES_HIT_KRETPROBE_H */
