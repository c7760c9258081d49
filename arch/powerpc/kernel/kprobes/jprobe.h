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

/* Where that begins, from the stack pointer: as STK_PARAM_AREA, which only assembly knows. */
#if defined(CONFIG_PPC64_ELF_ABI_V2)
#define JPROBE_STACK_AT		32
#elif defined(CONFIG_PPC64_ELF_ABI_V1)
#define JPROBE_STACK_AT		48
#else
#define JPROBE_STACK_AT		8
#endif

/* Offsets in struct jprobe_frame. */
#define JPROBE_FRAME_sp		0
#ifdef CONFIG_PPC64
#define JPROBE_FRAME_stack	8
#else
#define JPROBE_FRAME_stack	4
#endif

#ifndef __ASSEMBLY__

#include <linux/build_bug.h>
#include <linux/stddef.h>

struct pt_regs;

/**
 * struct jprobe_frame - a call of the handler of a jprobe, for jprobe_call.S
 * @sp: set by kprobe_jprobe_call(): the stack pointer that the handler finds
 * @stack: what is on the stack
 */
struct jprobe_frame {
	unsigned long	sp;
	unsigned long	stack[JPROBE_STACK_BYTES / sizeof(long)];
};

static_assert(offsetof(struct jprobe_frame, sp) == JPROBE_FRAME_sp);
static_assert(offsetof(struct jprobe_frame, stack) == JPROBE_FRAME_stack);

void kprobe_jprobe_call(struct jprobe_frame *f, void *entry, struct pt_regs *regs);
void kprobe_jprobe_unwind(struct jprobe_frame *f);

#endif /* !__ASSEMBLY__ */

#endif /* _POWERPC_KERNEL_KPROBES_JPROBE_H */
