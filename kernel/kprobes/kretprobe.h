/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_KRETPROBE_H
#define _KERNEL_KPROBES_KRETPROBE_H

#include "address.h"
#include "internal.h"
#include "site.h"

extern const struct kprobe_batch_ops kretprobe_batch_ops;

/* What the user of a kretprobe wants to have called, or NULL. */
static inline void *kretprobe_handler_of(const struct kprobe *p)
{
	const struct kretprobe *rp = container_of(p, struct kretprobe, kp);

	return rp->handler ? rp->handler : rp->entry_handler;
}

#ifdef CONFIG_KRETPROBES

void kretprobe_init(void);
void kretprobe_resolve_blackpoints(struct kretprobe_blackpoint *points, int nr);

#else /* !CONFIG_KRETPROBES */

static inline void kretprobe_init(void) { }

#endif /* CONFIG_KRETPROBES */

#endif /* _KERNEL_KPROBES_KRETPROBE_H */
