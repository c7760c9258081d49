/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hit path inside the core. <linux/kprobes-hit.h> has what architectures use, too.
 */
#ifndef _KERNEL_KPROBES_HIT_H
#define _KERNEL_KPROBES_HIT_H

#include <linux/atomic.h>
#include <linux/context_tracking_irq.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>

#include "site.h"

int kprobe_miss_unwatched(struct kprobe *kp);

/*
 * Counters of misses are plain fields of the API. An atomic operation on the field
 * keeps them exact on any number of CPUs. The raw_ variants do not call sanitizers,
 * which could be probed.
 */
static nokprobe_inline void kprobe_count_miss(struct kprobe *p)
{
	raw_atomic_long_inc((atomic_long_t *)&p->nmissed);
}

static nokprobe_inline void kprobe_count_unwatched(struct kprobe *p)
{
	kprobe_count_miss(p);
	raw_atomic_inc((atomic_t *)&p->nmissed_rcu);
}

static nokprobe_inline void kretprobe_count_miss(struct kretprobe *rp)
{
	raw_atomic_inc((atomic_t *)&rp->nmissed);
}

/**
 * struct kprobe_rcu_state - state before RCU was made to watch
 * @flags: the interrupt flag
 * @entered: RCU did not watch
 */
struct kprobe_rcu_state {
	unsigned long	flags;
	bool		entered;
};

/*
 * Grace periods do not wait for a CPU where RCU does not watch. So RCU has to be made
 * to watch before the lookup of anything that they free: a table, a site, or a user.
 * This is done as in an NMI, because ct_irq_enter() may be probed itself and
 * checks with lockdep, which considers interrupts enabled in the idle loop.
 */
static nokprobe_inline struct kprobe_rcu_state kprobe_rcu_enter(void)
{
	struct kprobe_rcu_state w = { .entered = !kprobe_rcu_is_watching() };

	if (unlikely(w.entered)) {
		raw_local_irq_save(w.flags);
		ct_nmi_enter();
	}
	return w;
}

static nokprobe_inline void kprobe_rcu_exit(struct kprobe_rcu_state w)
{
	if (unlikely(w.entered)) {
		ct_nmi_exit();
		raw_local_irq_restore(w.flags);
	}
}

/*
 * Handlers must leave interrupts as they found them. The core and some backends rely
 * on it, and nothing else would notice a violation.
 */
static nokprobe_inline bool kprobe_irqs_are_off(void)
{
	return IS_ENABLED(CONFIG_PROVE_LOCKING) && raw_irqs_disabled();
}

static nokprobe_inline void kprobe_check_irqs(bool were_off, const void *handler)
{
	WARN_ONCE(kprobe_irqs_are_off() != were_off,
		  "kprobes: handler %ps changed the interrupt state\n", handler);
}

/**
 * struct kprobe_fault_owner - the probe whose fault handler gets faults of this CPU
 * @user: a probe with a fault handler while another of its handlers runs, or NULL
 * @context: context that the handler runs in; an interrupt of it has its own faults
 */
struct kprobe_fault_owner {
	struct kprobe	*user;
	unsigned int	context;
};

DECLARE_PER_CPU(struct kprobe_fault_owner, kprobe_fault_owner);

/*
 * With CONFIG_JPROBES: the call of a jprobe's handler in progress on this CPU, or NULL. An NMI
 * finds it complete, and calls no handler of a jprobe.
 */
struct jprobe_call;
DECLARE_PER_CPU(struct jprobe_call *, jprobe_call);

int jprobe_pre_handler(struct kprobe *p, struct pt_regs *regs);
bool jprobe_may_return(void);

static nokprobe_inline unsigned int kprobe_fault_context(void)
{
	return preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET);
}

/* An NMI must not find one user with the context of another, which may equal its own. */
static nokprobe_inline void kprobe_set_fault_owner(struct kprobe_fault_owner owner)
{
	__this_cpu_write(kprobe_fault_owner.user, NULL);
	barrier();
	__this_cpu_write(kprobe_fault_owner.context, owner.context);
	barrier();
	__this_cpu_write(kprobe_fault_owner.user, owner.user);
}

/* Before a handler of @p is called, outside of any other handler. */
static nokprobe_inline void kprobe_own_faults(struct kprobe *p)
{
	if (IS_ENABLED(CONFIG_HAVE_KPROBE_FAULT_HANDLER) && unlikely(p->fault_handler))
		kprobe_set_fault_owner((struct kprobe_fault_owner) {
			.user		= p,
			.context	= kprobe_fault_context(),
		});
}

/* After it, before the hit ends and its probe may be freed. */
static nokprobe_inline void kprobe_disown_faults(void)
{
	/* Unconditional, as a test would cost more. */
	if (IS_ENABLED(CONFIG_HAVE_KPROBE_FAULT_HANDLER))
		__this_cpu_write(kprobe_fault_owner.user, NULL);
}

#endif /* _KERNEL_KPROBES_HIT_H */
