/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _KERNEL_KPROBES_HIT_KRETPROBE_H
#define _KERNEL_KPROBES_HIT_KRETPROBE_H

#include "hit.h"

/*
 * get_kretprobe() without the check that RCU is held, which calls functions that
 * may be probed: their returns would come back here. Preemption is off, and RCU
 * watches.
 */
static nokprobe_inline struct kretprobe *kretprobe_of(struct kretprobe_instance *ri)
{
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	return get_kretprobe(ri);
#else
	return rcu_dereference_raw(ri->rph->rp);
#endif
}

static nokprobe_inline bool kretprobe_wants_return(struct kretprobe *rp,
						   struct kretprobe_instance *ri,
						   struct pt_regs *regs)
{
	ri->rp = rp;
	ri->task = current;
	ri->ret_addr = NULL;

	return !rp->entry_handler || !rp->entry_handler(ri, regs);
}

/* The site that is being hit; a kretprobe is one of its users. */
static nokprobe_inline void kretprobe_miss_hit(struct kretprobe *rp,
					       enum kprobe_miss cause)
{
	struct kprobe *running = kprobe_running();

	if (running && (running->flags & KPROBE_FLAG_SITE))
		kprobe_site_count_miss(kprobe_to_site(running), cause);
	kretprobe_count_miss(rp);
}

/*
 * A return where RCU does not watch. Whoever unregisters the kretprobe does not
 * wait for this CPU: so it is looked up again, with RCU watching.
 */
static noinline void kretprobe_miss_unwatched(struct kretprobe_instance *ri)
{
	struct kprobe_rcu_state w = kprobe_rcu_enter();
	struct kretprobe *rp = kretprobe_of(ri);
	struct kprobe_site *site;

	if (rp) {
		site = kprobe_table_find((unsigned long)rp->kp.addr);
		if (site)
			kprobe_site_count_miss(site, KPROBE_MISS_RCU);
		kretprobe_count_miss(rp);
	}
	kprobe_rcu_exit(w);
}
NOKPROBE_SYMBOL(kretprobe_miss_unwatched);

/* One return, as a hit of its own: probes in the handler are missed. */
static nokprobe_inline void kretprobe_call_handler(struct kretprobe *rp,
						   struct kretprobe_instance *ri,
						   unsigned long ret_addr,
						   struct pt_regs *regs)
{
	struct kprobe_hit_state outer;
	struct kprobe_irq_check check;

	ri->ret_addr = (kprobe_opcode_t *)ret_addr;
	ri->rp = rp;
	if (!rp->handler)
		return;

	outer = kprobe_hit_enter(&rp->kp);
	check = kprobe_irq_check_begin();
	rp->handler(ri, regs);
	kprobe_irq_check_end(check, rp->handler);
	kprobe_hit_leave(outer);
}

/* The same where no other hit is going on and the fields are as they must be. */
static nokprobe_inline void kretprobe_call_handler_alone(struct kretprobe *rp,
							 struct kretprobe_instance *ri,
							 struct pt_regs *regs)
{
	struct kprobe_irq_check check;

	kprobe_hit_begin(&rp->kp);
	kprobe_own_faults(&rp->kp);
	check = kprobe_irq_check_begin();
	rp->handler(ri, regs);
	kprobe_irq_check_end(check, rp->handler);
	kprobe_disown_faults();
	reset_current_kprobe();
}

#endif /* _KERNEL_KPROBES_HIT_KRETPROBE_H */
