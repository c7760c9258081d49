/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_JPROBE_H
#define _KERNEL_KPROBES_JPROBE_H

#include "hit.h"

extern const struct kprobe_batch_ops jprobe_batch_ops;

static inline bool is_jprobe(const struct kprobe *p)
{
	return IS_ENABLED(CONFIG_JPROBES) && p->pre_handler == jprobe_pre_handler;
}

#endif /* _KERNEL_KPROBES_JPROBE_H */
