/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by optimizer.c and optimizer_round.c.
 */
#ifndef _KERNEL_KPROBES_OPTIMIZER_INTERNAL_H
#define _KERNEL_KPROBES_OPTIMIZER_INTERNAL_H

#include <linux/workqueue.h>

#include "optimizer.h"

/* Sites by their state, linked by op.list; kprobe_mutex. */
extern struct list_head kprobe_opt_fresh;	/* QUEUED, without a detour yet */
extern struct list_head kprobe_opt_queue;	/* QUEUED, with a detour */
extern struct list_head kprobe_opt_reclaimed;	/* RECLAIMING, for the next round */
extern struct rb_root kprobe_opt_leaving;	/* RECLAIMING, by address */

/* How many sites have no jump because of other probes, op.why_transient; kprobe_mutex. */
extern unsigned int kprobe_opt_transient;

/* Examines sites again that have no jump for a reason that may pass. */
extern struct delayed_work kprobe_opt_retry_work;

/* Grace periods of tasks-RCU: how many began, and the latest that ended; kprobe_mutex. */
extern u64 kprobe_opt_begun, kprobe_opt_over;

static inline struct kprobe_site *kprobe_op_to_site(struct optimized_kprobe *op)
{
	return container_of(op, struct kprobe_site, head.op);
}

static inline bool kprobe_has_detour(struct kprobe_site *site)
{
	return arch_prepared_optinsn(&site->head.op.optinsn);
}

void kprobe_opt_move(struct kprobe_site *site, enum kprobe_opt_state to);
void kprobe_opt_cancel(struct kprobe_site *site, enum kprobe_noopt why);
enum kprobe_noopt kprobe_opt_obstacle(struct kprobe_site *site);
void kprobe_opt_reconsider(unsigned long addr);
void kprobe_opt_kick(void);

#endif /* _KERNEL_KPROBES_OPTIMIZER_INTERNAL_H */
