/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _KERNEL_KPROBES_HIT_H
#define _KERNEL_KPROBES_HIT_H

#include <linux/atomic.h>
#include <linux/context_tracking_irq.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>

#include "internal.h"

/*
 * Counters of misses are plain fields by interface; one atomic operation on
 * the field itself keeps them exact on any number of CPUs. The raw_ variants
 * do not call sanitizers, which could be probed.
 */
static nokprobe_inline void kprobe_count_miss(struct kprobe *p)
{
	raw_atomic_long_inc((atomic_long_t *)&p->nmissed);
}

static nokprobe_inline void kretprobe_count_miss(struct kretprobe *rp)
{
	raw_atomic_inc((atomic_t *)&rp->nmissed);
}

static nokprobe_inline void kprobe_site_count_miss(struct kprobe_site *site,
						   enum kprobe_miss cause)
{
	raw_atomic_long_inc(&site->misses[cause]);
}

/**
 * struct kprobe_rcu_state - RCU was made to watch for a moment
 * @flags: the interrupt flag before
 * @entered: RCU did not watch before
 */
struct kprobe_rcu_state {
	unsigned long	flags;
	bool		entered;
};

/*
 * Grace periods take no notice of a CPU where RCU does not watch. So before
 * anything is looked up that they free, whether a table, a site, or a user,
 * RCU has to be made to watch. As in an NMI, since ct_irq_enter() may be probed
 * itself, and asks lockdep, which in the idle loop takes interrupts for enabled.
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
 * Handlers must leave interrupts as they found them: the core and some
 * backends rely on it, and nothing else would notice.
 */
struct kprobe_irq_check {
	bool	off;
};

static nokprobe_inline struct kprobe_irq_check kprobe_irq_check_begin(void)
{
	struct kprobe_irq_check c = {};

	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		c.off = raw_irqs_disabled();
	return c;
}

static nokprobe_inline void kprobe_irq_check_end(struct kprobe_irq_check c,
						 const void *handler)
{
	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		WARN_ONCE(raw_irqs_disabled() != c.off,
			  "kprobes: handler %ps changed the interrupt state\n",
			  handler);
}

/**
 * struct kprobe_fault_owner - whom faults on this CPU are told to
 * @user: a probe with a fault handler while another handler of it runs, or NULL
 * @context: where that runs; what interrupts it has faults of its own
 */
struct kprobe_fault_owner {
	struct kprobe	*user;
	unsigned int	context;
};

DECLARE_PER_CPU(struct kprobe_fault_owner, kprobe_fault_owner);

static nokprobe_inline unsigned int kprobe_fault_context(void)
{
	return preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET);
}

/*
 * An NMI in between finds a user that is still there, and itself in another
 * context than noted.
 */
static nokprobe_inline void kprobe_set_fault_owner(struct kprobe_fault_owner owner)
{
	__this_cpu_write(kprobe_fault_owner.context, owner.context);
	barrier();
	__this_cpu_write(kprobe_fault_owner.user, owner.user);
}

/* Before a handler of @p is called, with nobody else's around it. */
static nokprobe_inline void kprobe_own_faults(struct kprobe *p)
{
	if (IS_ENABLED(CONFIG_HAVE_KPROBE_FAULT_HANDLER) && unlikely(p->fault_handler))
		kprobe_set_fault_owner((struct kprobe_fault_owner) {
			.user		= p,
			.context	= kprobe_fault_context(),
		});
}

/* And after it, before the hit ends and its probe may be freed. */
static nokprobe_inline void kprobe_disown_faults(void)
{
	/* To ask whether that is needed would take longer. */
	if (IS_ENABLED(CONFIG_HAVE_KPROBE_FAULT_HANDLER))
		__this_cpu_write(kprobe_fault_owner.user, NULL);
}

/**
 * struct kprobe_hit_state - which hit this CPU was in
 * @running: its current_kprobe
 * @status: its kprobe_status
 * @owner: whom its faults are told to
 */
struct kprobe_hit_state {
	struct kprobe			*running;
	unsigned long			status;
	struct kprobe_fault_owner	owner;
};

/* Return handlers run as a hit of @p, and perhaps inside one of another. */
static nokprobe_inline struct kprobe_hit_state kprobe_hit_enter(struct kprobe *p)
{
	struct kprobe_hit_state outer = {
		.running	= kprobe_running(),
		.status		= __this_cpu_read(kprobe_ctlblk.kprobe_status),
		.owner		= {
			.user		= __this_cpu_read(kprobe_fault_owner.user),
			.context	= __this_cpu_read(kprobe_fault_owner.context),
		},
	};

	kprobe_hit_begin(p);
	/* A hit of an NMI before this would have let go of it. */
	barrier();
	__this_cpu_write(kprobe_fault_owner.user, NULL);
	kprobe_own_faults(p);
	return outer;
}

static nokprobe_inline void kprobe_hit_leave(struct kprobe_hit_state outer)
{
	kprobe_set_fault_owner(outer.owner);
	/* As there: until the hit is over, those of NMIs are missed and keep off. */
	barrier();
	/*
	 * The reverse of kprobe_hit_begin(), for the same reason: the status of the
	 * outer hit, which may be being stepped, is never seen with the probe of
	 * this one.
	 */
	__this_cpu_write(current_kprobe, outer.running);
	barrier();
	__this_cpu_write(kprobe_ctlblk.kprobe_status, outer.status);
}

#endif /* _KERNEL_KPROBES_HIT_H */
