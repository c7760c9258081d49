/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_REFUSAL_H
#define _KERNEL_KPROBES_REFUSAL_H

#include <linux/kprobes-refusal.h>

int kprobe_refusal_error(enum kprobe_refusal why);
enum kprobe_refusal kprobe_refusal_of_error(int err);
const char *kprobe_refusal_name(enum kprobe_refusal why);

#endif /* _KERNEL_KPROBES_REFUSAL_H */
