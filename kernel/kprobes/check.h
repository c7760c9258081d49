/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_CHECK_H
#define _KERNEL_KPROBES_CHECK_H

#include <linux/kprobes.h>

#include "address.h"
#include "optimizer.h"
#include "refusal.h"

/* What would become of a probe. */
struct kprobe_verdict {
	struct kprobe_where	where;	/* addr is 0 if that is not known */
	enum kprobe_refusal	why;	/* why it would be refused, with ... */
	int			err;	/* this error */
	const char		*mode;	/* how the instruction would be executed otherwise */
};

void kprobe_check_probe(struct kprobe *p, bool is_return, struct kprobe_verdict *v);

extern const struct file_operations kprobe_check_fops;
extern const struct file_operations kprobe_available_fops;
#ifdef CONFIG_OPTPROBES
int kprobe_check_jump(const struct kprobe_where *where, struct kprobe_forecast *f);
#endif

#endif /* _KERNEL_KPROBES_CHECK_H */
