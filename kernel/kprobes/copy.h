/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_COPY_H
#define _KERNEL_KPROBES_COPY_H

#include <linux/kprobes.h>

/* What arch_prepare_kprobe() would decide. That may still fail for lack of memory. */
int kprobe_vet_insn(struct kprobe *p);

/* How the instruction under a breakpoint is executed: a word for the file "sites" in debugfs. */
const char *kprobe_mode(const struct kprobe *p);

#endif /* _KERNEL_KPROBES_COPY_H */
