/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_REGISTER_H
#define _KERNEL_KPROBES_REGISTER_H

#include "address.h"
#include "internal.h"

/**
 * struct kprobe_batch_ops - what a kind of probes adds to registration
 * @vet: called for each before anything is registered; a negative error refuses the
 *	 probe. The structure is claimed: no other call uses it. May sleep.
 * @registered: called for each when all are registered; still claimed, but another call
 *		may have begun to unregister it
 * @stop: called for each as it is detached, by unregistration or because a later
 *	  probe of its batch failed; kprobe_mutex held
 * @done: called for each probe that passed @vet, when no hit can use it any more
 */
struct kprobe_batch_ops {
	int	(*vet)(struct kprobe *p, const struct kprobe_where *where);
	void	(*registered)(struct kprobe *p);
	void	(*stop)(struct kprobe *p);
	void	(*done)(struct kprobe *p);
};

int kprobe_batch_register(struct kprobe **kps, int num,
			  const struct kprobe_batch_ops *ops);
void kprobe_batch_unregister(struct kprobe **kps, int num,
			     const struct kprobe_batch_ops *ops);

#endif /* _KERNEL_KPROBES_REGISTER_H */
