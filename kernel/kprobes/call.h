/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_CALL_H
#define _KERNEL_KPROBES_CALL_H

#include "internal.h"

/**
 * struct kprobe_call - a call of the API that uses structures of its user
 * @list: in the list of calls in progress; kprobe_mutex
 * @nr: number of the call, or 0 while it has claimed no structure
 */
struct kprobe_call {
	struct list_head	list;
	u64			nr;
};

#define DEFINE_KPROBE_CALL(name) struct kprobe_call name = {		\
	.list = LIST_HEAD_INIT((name).list),				\
}

void kprobe_call_claim(struct kprobe_call *call, struct kprobe *p);
struct kprobe_call *kprobe_call_of(const struct kprobe *p);
void kprobe_call_end(struct kprobe_call *call, struct kprobe **kps, int num);
void kprobe_call_wait(u64 last);

#endif /* _KERNEL_KPROBES_CALL_H */
