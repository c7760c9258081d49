/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _KERNEL_KPROBES_HIT_H
#define _KERNEL_KPROBES_HIT_H

#include <linux/atomic.h>

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
 * struct kprobe_hit_state - which hit this CPU was in
 * @running: its current_kprobe
 * @status: its kprobe_status
 * @user: its kprobe_running_user
 */
struct kprobe_hit_state {
	struct kprobe	*running;
	unsigned long	status;
	struct kprobe	*user;
};

/* Return handlers run as a hit of @p, and perhaps inside one of another. */
static nokprobe_inline struct kprobe_hit_state kprobe_hit_enter(struct kprobe *p)
{
	struct kprobe_hit_state outer = {
		.running	= kprobe_running(),
		.status		= __this_cpu_read(kprobe_ctlblk.kprobe_status),
		.user		= __this_cpu_read(kprobe_running_user),
	};

	kprobe_note_user(p);
	__this_cpu_write(current_kprobe, p);
	__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_ACTIVE);
	return outer;
}

static nokprobe_inline void kprobe_hit_leave(struct kprobe_hit_state outer)
{
	kprobe_note_user(outer.user);
	__this_cpu_write(kprobe_ctlblk.kprobe_status, outer.status);
	__this_cpu_write(current_kprobe, outer.running);
}

#endif /* _KERNEL_KPROBES_HIT_H */
