/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _X86_KERNEL_KPROBES_JPROBE_H
#define _X86_KERNEL_KPROBES_JPROBE_H

/* Bytes of the stack that a handler gets a copy of. */
#define JPROBE_STACK_BYTES	64

#ifdef CONFIG_X86_64
#define JPROBE_WORD_BYTES	8
#else
#define JPROBE_WORD_BYTES	4
#endif

/* Offsets in struct jprobe_frame. */
#define JPROBE_FRAME_sp		(0 * JPROBE_WORD_BYTES)
#define JPROBE_FRAME_entry	(1 * JPROBE_WORD_BYTES)
#define JPROBE_FRAME_ax		(2 * JPROBE_WORD_BYTES)
#define JPROBE_FRAME_dx		(3 * JPROBE_WORD_BYTES)
#define JPROBE_FRAME_cx		(4 * JPROBE_WORD_BYTES)
#ifdef CONFIG_X86_64
#define JPROBE_FRAME_si		(5 * JPROBE_WORD_BYTES)
#define JPROBE_FRAME_di		(6 * JPROBE_WORD_BYTES)
#define JPROBE_FRAME_r8		(7 * JPROBE_WORD_BYTES)
#define JPROBE_FRAME_r9		(8 * JPROBE_WORD_BYTES)
#define JPROBE_FRAME_stack	(9 * JPROBE_WORD_BYTES)
#else
#define JPROBE_FRAME_stack	(5 * JPROBE_WORD_BYTES)
#endif

#ifndef __ASSEMBLY__

#include <linux/build_bug.h>
#include <linux/linkage.h>
#include <linux/stddef.h>

/**
 * struct jprobe_frame - a call of the handler of a jprobe, for jprobe_call.S
 * @sp: set by kprobe_jprobe_call(): where it has pushed the handler's return address
 * @entry: where the handler is entered
 * @ax: in a call of a variadic function, the number of vector registers
 * @dx: argument register, as those that follow
 * @cx: argument register
 * @si: argument register
 * @di: argument register
 * @r8: argument register
 * @r9: argument register
 * @stack: what is above the return address
 */
struct jprobe_frame {
	unsigned long	sp;
	unsigned long	entry;
	unsigned long	ax;
	unsigned long	dx;
	unsigned long	cx;
#ifdef CONFIG_X86_64
	unsigned long	si;
	unsigned long	di;
	unsigned long	r8;
	unsigned long	r9;
#endif
	unsigned long	stack[JPROBE_STACK_BYTES / sizeof(long)];
};

static_assert(offsetof(struct jprobe_frame, sp) == JPROBE_FRAME_sp);
static_assert(offsetof(struct jprobe_frame, entry) == JPROBE_FRAME_entry);
static_assert(offsetof(struct jprobe_frame, ax) == JPROBE_FRAME_ax);
static_assert(offsetof(struct jprobe_frame, dx) == JPROBE_FRAME_dx);
static_assert(offsetof(struct jprobe_frame, cx) == JPROBE_FRAME_cx);
#ifdef CONFIG_X86_64
static_assert(offsetof(struct jprobe_frame, si) == JPROBE_FRAME_si);
static_assert(offsetof(struct jprobe_frame, di) == JPROBE_FRAME_di);
static_assert(offsetof(struct jprobe_frame, r8) == JPROBE_FRAME_r8);
static_assert(offsetof(struct jprobe_frame, r9) == JPROBE_FRAME_r9);
#endif
static_assert(offsetof(struct jprobe_frame, stack) == JPROBE_FRAME_stack);

void kprobe_jprobe_call(struct jprobe_frame *f);
void kprobe_jprobe_enter(void);
void kprobe_jprobe_unwind(unsigned long sp, struct jprobe_frame *f);

#endif /* __ASSEMBLY__ */
#endif /* _X86_KERNEL_KPROBES_JPROBE_H */
