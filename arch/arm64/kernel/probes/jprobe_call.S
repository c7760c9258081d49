/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call the handler of a jprobe, and leave it from any depth.
 */

#include <linux/linkage.h>

#include <asm/asm-offsets.h>

#include "jprobe.h"

/* What kprobe_jprobe_call() saves: a frame record, x19 to x28, and x18. */
#define SAVED_BYTES	112
#define SAVED_SCS	96

	/* NOKPROBE() would end at the next symbol. */
	.section .kprobes.text, "ax"

/*
 * (const unsigned long *stack, void *entry, struct pt_regs *regs, void **frame): call the handler
 * with a copy of the stack at its stack pointer, to which *frame is set. Returns when the handler
 * does, or is made to return by arch_jprobe_unwind().
 */
SYM_FUNC_START(kprobe_jprobe_call)
	stp	x29, x30, [sp, #-SAVED_BYTES]!
	mov	x29, sp
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
#ifdef CONFIG_SHADOW_CALL_STACK
	str	x18, [sp, #SAVED_SCS]
#endif

	sub	sp, sp, #JPROBE_STACK_BYTES
	.set	.Loffset, 0
	.rept	JPROBE_STACK_BYTES / 16
	ldp	x9, x10, [x0, #.Loffset]
	stp	x9, x10, [sp, #.Loffset]
	.set	.Loffset, .Loffset + 16
	.endr

	mov	x9, sp
	str	x9, [x3]

	mov	x16, x1
	mov	x9, x2
	ldp	x0, x1, [x9, #S_X0]
	ldp	x2, x3, [x9, #S_X2]
	ldp	x4, x5, [x9, #S_X4]
	ldp	x6, x7, [x9, #S_X6]
	ldr	x8, [x9, #S_X8]
	/*
	 * Enter the handler by RET. It may have any type, and need not begin with a
	 * landing pad: RET clears BTYPE. It returns to the next instruction.
	 */
	adr	x30, .Llanding
	ret	x16

.Llanding:
	add	sp, sp, #JPROBE_STACK_BYTES
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	x29, x30, [sp], #SAVED_BYTES
	ret
SYM_FUNC_END(kprobe_jprobe_call)

/*
 * (void *frame): continue at the return address of the handler, with the stack pointers that it
 * was entered with.
 *
 * An interrupt overwrites what is below sp. So x29 is moved first, out of the frames that are
 * abandoned, and sp after it. In between, unwinders ignore what lies between sp and the frame
 * record at x29.
 */
SYM_FUNC_START(arch_jprobe_unwind)
	add	x29, x0, #JPROBE_STACK_BYTES
	mov	sp, x0
#ifdef CONFIG_SHADOW_CALL_STACK
	ldr	x18, [x29, #SAVED_SCS]
#endif
	b	.Llanding
SYM_FUNC_END(arch_jprobe_unwind)
