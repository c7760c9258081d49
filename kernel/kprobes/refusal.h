/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_REFUSAL_H
#define _KERNEL_KPROBES_REFUSAL_H

#include <linux/kprobes.h>

int kprobe_refusal_error(enum kprobe_refusal why);
enum kprobe_refusal kprobe_refusal_of_error(int err);
const char *kprobe_refusal_name(enum kprobe_refusal why);
#ifdef CONFIG_OPTPROBES
const char *kprobe_noopt_name(enum kprobe_noopt why);
#endif

#endif /* _KERNEL_KPROBES_REFUSAL_H */
