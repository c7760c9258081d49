/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_CHECK_H
#define _KERNEL_KPROBES_CHECK_H

#include <linux/kprobes.h>

#include "address.h"
#include "optimizer.h"
#include "refusal.h"

/**
 * struct kprobe_verdict - what would become of a probe
 * @where: where it would be; addr is 0 if that is not known
 * @why: why it would be refused, or KPROBE_REFUSAL_NONE
 * @known: the architecture has decided, too
 * @mode: how the instruction would be executed, if it is known and accepted
 */
struct kprobe_verdict {
	struct kprobe_where	where;
	enum kprobe_refusal	why;
	bool			known;
	const char		*mode;
};

void kprobe_check_probe(struct kprobe *p, struct kprobe_verdict *v);
void kprobe_check_return(struct kretprobe *rp, struct kprobe_verdict *v);
#ifdef CONFIG_OPTPROBES
int kprobe_check_jump(const struct kprobe_where *where, struct kprobe_forecast *f);
#endif

#endif /* _KERNEL_KPROBES_CHECK_H */
