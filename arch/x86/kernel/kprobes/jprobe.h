/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _X86_KERNEL_KPROBES_JPROBE_H
#define _X86_KERNEL_KPROBES_JPROBE_H

#include <asm/bitsperlong.h>

/* Bytes of the stack that a handler gets a copy of. */
#define JPROBE_STACK_BYTES	64

#define JPROBE_WORD_BYTES	(BITS_PER_LONG / 8)

#ifndef __ASSEMBLY__
struct pt_regs;

void kprobe_jprobe_call(unsigned long *stack, unsigned long entry, const struct pt_regs *regs);
void kprobe_jprobe_enter(void);
#endif /* __ASSEMBLY__ */
#endif /* _X86_KERNEL_KPROBES_JPROBE_H */
