/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of the handlers of jprobes on arm64. Also for assembly.
 */
#ifndef _ARM64_KERNEL_PROBES_JPROBE_H
#define _ARM64_KERNEL_PROBES_JPROBE_H

/* Bytes of the stack that a handler gets a copy of; a multiple of 16. */
#define JPROBE_STACK_BYTES	64

#ifndef __ASSEMBLY__
struct pt_regs;

void kprobe_jprobe_call(const unsigned long *stack, void *entry, struct pt_regs *regs,
			void **frame);
#endif

#endif /* _ARM64_KERNEL_PROBES_JPROBE_H */
