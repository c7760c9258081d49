/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of the handlers of jprobes on powerpc. Also for assembly.
 */
#ifndef _POWERPC_KERNEL_KPROBES_JPROBE_H
#define _POWERPC_KERNEL_KPROBES_JPROBE_H

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

/* Offsets in struct jprobe_frame. */
#define JPROBE_FRAME_sp		0
#ifdef CONFIG_PPC64
#define JPROBE_FRAME_stack	8
#else
#define JPROBE_FRAME_stack	4
#endif

#include <asm/ppc_asm.h>

#ifndef __ASSEMBLY__

#include <linux/build_bug.h>
#include <linux/stddef.h>

struct pt_regs;

/**
 * struct jprobe_frame - a call of the handler of a jprobe, for jprobe_call.S
 * @sp: set by kprobe_jprobe_call(): the stack pointer that the handler finds
 * @stack: what the handler finds on the stack
 */
struct jprobe_frame {
	unsigned long	sp;
	unsigned long	stack[JPROBE_STACK_BYTES / sizeof(long)];
};

static_assert(offsetof(struct jprobe_frame, sp) == JPROBE_FRAME_sp);
static_assert(offsetof(struct jprobe_frame, stack) == JPROBE_FRAME_stack);

/* jprobe_call.S */

/**
 * kprobe_jprobe_call() - call the handler of a jprobe
 * @f: where to keep the stack pointer; has what the handler is to find on the stack
 * @entry: the handler
 * @regs: the registers of the probed function, from which it gets its arguments
 *
 * Context: the hit path of a breakpoint or a detour.
 * Return: when @entry returns or arch_jprobe_unwind() is called for @f.
 */
void kprobe_jprobe_call(struct jprobe_frame *f, void *entry, struct pt_regs *regs);

#endif /* !__ASSEMBLY__ */

#endif /* _POWERPC_KERNEL_KPROBES_JPROBE_H */
