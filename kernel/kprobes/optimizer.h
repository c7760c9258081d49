/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_OPTIMIZER_H
#define _KERNEL_KPROBES_OPTIMIZER_H

#include "site.h"

/**
 * struct kprobe_forecast - whether there would be a jump at a probe
 * @jump: the kind of jump, enum kprobe_jump, if @why is 0
 * @why: why there would be none, enum kprobe_noopt
 * @at: offset of the obstacle
 */
struct kprobe_forecast {
	u8	jump;
	u8	why;
	u8	at;
};

#ifdef CONFIG_OPTPROBES

bool kprobe_opt_may_move(enum kprobe_opt_state from, enum kprobe_opt_state to);

bool kprobe_opt_is_bypassed(unsigned long addr);
bool kprobe_opt_revert_over(struct list_head *kps);
int kprobe_opt_leave_hop(unsigned long addr);
void kprobe_opt_remove_hop(unsigned long addr);
void kprobe_opt_revert_at(struct list_head *kps);
void kprobe_opt_update(struct kprobe_site *site, struct list_head *revert);
void kprobe_opt_site_changed(struct kprobe_site *site);
void kprobe_opt_revert(struct list_head *ops);
bool kprobe_opt_reclaim(struct kprobe_site *site);
void kprobe_opt_wait_for_tasks(void);
int kprobe_opt_forecast(struct kprobe_site *site, struct kprobe_forecast *f);
bool kprobe_opt_allow(bool on);

/* Examines sites again that have no jump for a reason that may pass. */
extern struct delayed_work kprobe_opt_retry_work;

/* Whether or not hits enter it. */
static inline bool kprobe_has_detour(const struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	return site->kind == KPROBE_SITE_BREAKPOINT && site->head.op.optinsn.insn;
}

#else

static inline bool kprobe_opt_is_bypassed(unsigned long addr) { return false; }
static inline bool kprobe_opt_revert_over(struct list_head *kps) { return false; }
static inline int kprobe_opt_leave_hop(unsigned long addr) { return 0; }
static inline void kprobe_opt_remove_hop(unsigned long addr) { }
static inline void kprobe_opt_revert_at(struct list_head *kps) { }

static inline void kprobe_opt_update(struct kprobe_site *site,
				     struct list_head *revert)
{
}

static inline void kprobe_opt_site_changed(struct kprobe_site *site) { }
static inline void kprobe_opt_revert(struct list_head *ops) { }
static inline void arch_optimizer_forget(unsigned long start, unsigned long end) { }
static inline bool kprobe_opt_reclaim(struct kprobe_site *site) { return false; }
static inline void kprobe_opt_wait_for_tasks(void) { }
static inline bool kprobe_opt_allow(bool on) { return false; }

#endif /* CONFIG_OPTPROBES */

#endif /* _KERNEL_KPROBES_OPTIMIZER_H */
