/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of the handlers of jprobes on powerpc. Also for assembly.
 */
#ifndef _POWERPC_KERNEL_KPROBES_JPROBE_H
#define _POWERPC_KERNEL_KPROBES_JPROBE_H

#include <asm/ppc_asm.h>

/*
 * Bytes of the stack that a handler gets a copy of; a multiple of 16. On 64 bits, arguments on the
 * stack follow the places of those in registers, where the handler may store them.
 */
#ifdef CONFIG_PPC64
#define JPROBE_STACK_BYTES	128
#else
#define JPROBE_STACK_BYTES	64
#endif

/* Where that begins, from the stack pointer. */
#define JPROBE_STACK_AT		STACK_FRAME_PARAMS

#ifndef __ASSEMBLY__
struct pt_regs;

void kprobe_jprobe_call(const unsigned long *stack, void *entry, struct pt_regs *regs,
			void **frame);
#endif

#endif /* _POWERPC_KERNEL_KPROBES_JPROBE_H */
