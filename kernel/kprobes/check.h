/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_CHECK_H
#define _KERNEL_KPROBES_CHECK_H

#include <linux/kprobes.h>

#include "address.h"
#include "optimizer.h"
#include "refusal.h"

struct dentry;

/* What would become of a probe. */
struct kprobe_verdict {
	struct kprobe_where	where;	/* addr is 0 if that is not known */
	enum kprobe_refusal	why;	/* why it would be refused, with ... */
	int			err;	/* this error */
	const char		*mode;	/* how the instruction would be executed otherwise */
};

void kprobe_check_probe(struct kprobe *p, struct kprobe_verdict *v);
void kprobe_check_return(struct kretprobe *rp, struct kprobe_verdict *v);
void kprobe_check_debugfs_init(struct dentry *dir);
#ifdef CONFIG_OPTPROBES
int kprobe_check_jump(const struct kprobe_where *where, struct kprobe_forecast *f);
#endif

#endif /* _KERNEL_KPROBES_CHECK_H */
