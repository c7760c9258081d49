/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_REGISTER_H
#define _KERNEL_KPROBES_REGISTER_H

#include <linux/sched.h>

#include "address.h"
#include "internal.h"
#include "refusal.h"
#include "site.h"

/*
 * What a kind of probes adds to registration. All but @vet and @prepare are optional.
 *
 * @vet: may it be registered at this address? Only decides; kprobe_check() asks it, too
 * @prepare: called for each that may be registered, under kprobe_mutex and before anything of it
 *	     is; an error refuses the probe. No other call uses the structure.
 * @registered: called for each when all are registered, before another call may use it
 * @stop: called for each as it is detached, by unregistration or because a later
 *	  probe of its batch failed; kprobe_mutex held
 * @done: called for each probe that was prepared, when no hit can use it any more
 */
struct kprobe_batch_ops {
	enum kprobe_refusal (*vet)(const struct kprobe *p, const struct kprobe_where *where);
	int	(*prepare)(struct kprobe *p);
	void	(*registered)(struct kprobe *p);
	void	(*stop)(struct kprobe *p);
	void	(*done)(struct kprobe *p);
};

/*
 * Who has registered probes. Consecutive registrations by one process, from threads of the
 * same name, share it. A reference to the process would keep its PID namespace as long as the
 * probe is there. kprobe_mutex.
 */
struct kprobe_origin {
	unsigned int	users;	/* probes, and calls in progress */
	pid_t		tgid;	/* in the initial namespace; the process may have ended */
	u64		start;	/* when it began, as the number may be used again */
	char		comm[TASK_COMM_LEN];
};

/* A call of the API; on a list while it uses structures of its user. */
struct kprobe_call {
	struct list_head	list;
};

enum kprobe_refusal kprobe_resolve(const struct kprobe *p, struct kprobe_where *where);
enum kprobe_refusal kprobe_vet(const struct kprobe *p, const struct kprobe_batch_ops *ops,
			       struct kprobe_where *where);
enum kprobe_refusal kprobe_site_refusal(const struct kprobe_site *site, int err);

struct kprobe_call *kprobe_call_of(const struct kprobe *p);
bool kprobe_is_used(struct kprobe *p, const struct kprobe_call *us);
void kprobe_set_pre_handler(struct kprobe *p, kprobe_pre_handler_t pre);

int kprobe_batch_register(struct kprobe **kps, int num,
			  const struct kprobe_batch_ops *ops);
void kprobe_batch_unregister(struct kprobe **kps, int num,
			     const struct kprobe_batch_ops *ops);

#endif /* _KERNEL_KPROBES_REGISTER_H */
