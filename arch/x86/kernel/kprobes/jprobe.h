/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _X86_KERNEL_KPROBES_JPROBE_H
#define _X86_KERNEL_KPROBES_JPROBE_H

#include <asm/bitsperlong.h>

/* Bytes of the stack that a handler gets a copy of. */
#define JPROBE_STACK_BYTES	64

#define JPROBE_WORD_BYTES	(BITS_PER_LONG / 8)

/* Offsets in struct jprobe_frame. */
#define JPROBE_FRAME_sp		(0 * JPROBE_WORD_BYTES)
#define JPROBE_FRAME_entry	(1 * JPROBE_WORD_BYTES)
#define JPROBE_FRAME_regs	(2 * JPROBE_WORD_BYTES)
#define JPROBE_FRAME_stack	(3 * JPROBE_WORD_BYTES)

#ifndef __ASSEMBLY__

#include <linux/build_bug.h>
#include <linux/linkage.h>
#include <linux/stddef.h>

struct pt_regs;

/**
 * struct jprobe_frame - a call of the handler of a jprobe, for jprobe_call.S
 * @sp: set by kprobe_jprobe_call(): where it has pushed the handler's return address
 * @entry: where the handler is entered
 * @regs: registers with its arguments; on 64 bit, ax is the number of vector registers in a
 *	  call of a variadic function
 * @stack: what is above the return address
 */
struct jprobe_frame {
	unsigned long		sp;
	unsigned long		entry;
	const struct pt_regs	*regs;
	unsigned long		stack[JPROBE_STACK_BYTES / sizeof(long)];
};

static_assert(offsetof(struct jprobe_frame, sp) == JPROBE_FRAME_sp);
static_assert(offsetof(struct jprobe_frame, entry) == JPROBE_FRAME_entry);
static_assert(offsetof(struct jprobe_frame, regs) == JPROBE_FRAME_regs);
static_assert(offsetof(struct jprobe_frame, stack) == JPROBE_FRAME_stack);

void kprobe_jprobe_call(struct jprobe_frame *f);
void kprobe_jprobe_enter(void);
void kprobe_jprobe_unwind(unsigned long sp, struct jprobe_frame *f);

#endif /* __ASSEMBLY__ */
#endif /* _X86_KERNEL_KPROBES_JPROBE_H */
