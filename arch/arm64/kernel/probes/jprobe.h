/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of the handlers of jprobes on arm64. Also for assembly.
 */
#ifndef _ARM64_KERNEL_PROBES_JPROBE_H
#define _ARM64_KERNEL_PROBES_JPROBE_H

/* Bytes of the stack that a handler gets a copy of; a multiple of 16. */
#define JPROBE_STACK_BYTES	64

/* Offsets in struct jprobe_frame. */
#define JPROBE_FRAME_sp		0
#define JPROBE_FRAME_scs	8
#define JPROBE_FRAME_stack	16

#ifndef __ASSEMBLY__

#include <linux/build_bug.h>
#include <linux/stddef.h>

struct pt_regs;

/**
 * struct jprobe_frame - a call of the handler of a jprobe, for jprobe_call.S
 * @sp: set by kprobe_jprobe_call(): the stack pointer that the handler finds
 * @scs: set by it, with a shadow call stack: the pointer to that
 * @stack: what is on the stack
 */
struct jprobe_frame {
	unsigned long	sp;
	unsigned long	scs;
	unsigned long	stack[JPROBE_STACK_BYTES / sizeof(long)];
};

static_assert(offsetof(struct jprobe_frame, sp) == JPROBE_FRAME_sp);
static_assert(offsetof(struct jprobe_frame, scs) == JPROBE_FRAME_scs);
static_assert(offsetof(struct jprobe_frame, stack) == JPROBE_FRAME_stack);

void kprobe_jprobe_call(struct jprobe_frame *f, void *entry, struct pt_regs *regs);

#endif /* !__ASSEMBLY__ */

#endif /* _ARM64_KERNEL_PROBES_JPROBE_H */
