/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_KRETPROBE_H
#define _KERNEL_KPROBES_KRETPROBE_H

#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/minmax.h>

#include "address.h"
#include "internal.h"
#include "site.h"

extern const struct kprobe_batch_ops kretprobe_batch_ops;

/*
 * The interface between the API (kretprobe.c) and the mechanism that diverts returns: rethook
 * here and in hit_rethook.c, or for architectures with a trampoline of their own
 * kretprobe.c and hit_stack.c, with the pools of pool.h.
 */

/* What the user of a kretprobe wants to have called, or NULL. */
static inline void *kretprobe_handler_of(const struct kprobe *p)
{
	const struct kretprobe *rp = container_of(p, struct kretprobe, kp);

	return rp->handler ? rp->handler : rp->entry_handler;
}

/* Calls that were not followed for lack of instances. */
static inline int kretprobe_missed(const struct kprobe *p)
{
	return is_kretprobe(p) ? container_of(p, struct kretprobe, kp)->nmissed : 0;
}

/* What maxactive becomes if the user has not set it. */
static inline int kretprobe_default_instances(void)
{
	return max(10u, 2 * num_possible_cpus());
}

#ifdef CONFIG_KRETPROBES

void kretprobe_init(void);
void kretprobe_resolve_blackpoints(struct kretprobe_blackpoint *points, int nr);

#ifdef CONFIG_KRETPROBE_ON_RETHOOK

void kretprobe_rethook_handler(struct rethook_node *node, void *data,
			       unsigned long ret_addr, struct pt_regs *regs);

static inline int kretprobe_attach_pool(struct kretprobe *rp, int nr)
{
	struct rethook *rh;

	rh = rethook_alloc(rp, kretprobe_rethook_handler,
			   sizeof(struct kretprobe_instance) + rp->data_size, nr);
	if (IS_ERR(rh))
		return PTR_ERR(rh);

	rp->rh = rh;
	return 0;
}

static inline void kretprobe_stop_handler(struct kretprobe *rp)
{
	rethook_stop(rp->rh);
}

static inline void kretprobe_detach_pool(struct kretprobe *rp)
{
	rethook_free(rp->rh);
	rp->rh = NULL;
}

#else

int kretprobe_attach_pool(struct kretprobe *rp, int nr);
void kretprobe_stop_handler(struct kretprobe *rp);
void kretprobe_detach_pool(struct kretprobe *rp);

#endif

#else /* !CONFIG_KRETPROBES */

static inline void kretprobe_init(void)
{
}

#endif /* CONFIG_KRETPROBES */

#endif /* _KERNEL_KPROBES_KRETPROBE_H */
