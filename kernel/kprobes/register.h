/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_REGISTER_H
#define _KERNEL_KPROBES_REGISTER_H

#include "address.h"
#include "internal.h"
#include "refusal.h"

struct module;

/**
 * struct kprobe_batch_ops - what a kind of probes adds to registration
 * @vet: called for each before anything is registered; a negative error refuses the
 *	 probe, for the reason that is set. The structure is claimed: no other call uses
 *	 it. May sleep.
 * @registered: called for each when all are registered; still claimed, but another call
 *		may have begun to unregister it
 * @stop: called for each as it is detached, by unregistration or because a later
 *	  probe of its batch failed; kprobe_mutex held
 * @done: called for each probe that passed @vet, when no hit can use it any more
 *
 * All but @vet are optional.
 */
struct kprobe_batch_ops {
	int	(*vet)(struct kprobe *p, const struct kprobe_where *where,
		       enum kprobe_refusal *why);
	void	(*registered)(struct kprobe *p);
	void	(*stop)(struct kprobe *p);
	void	(*done)(struct kprobe *p);
};

enum kprobe_refusal kprobe_resolve(const struct kprobe *p, struct kprobe_where *where);
bool kprobe_is_used(struct kprobe *p);
void kprobe_set_pre_handler(struct kprobe *p, kprobe_pre_handler_t pre);
enum kprobe_refusal kprobe_vet_where(struct kprobe_where *where, struct module **mod);

int kprobe_batch_register(struct kprobe **kps, int num,
			  const struct kprobe_batch_ops *ops);
void kprobe_batch_unregister(struct kprobe **kps, int num,
			     const struct kprobe_batch_ops *ops);

#endif /* _KERNEL_KPROBES_REGISTER_H */
