/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call the handler of a jprobe, and leave it from any depth.
 */

#include <linux/linkage.h>

#include <asm/asm-offsets.h>
#include <asm/ppc_asm.h>
#include <asm/ptrace.h>

#include "jprobe.h"

/* The frame: what the ABI requires, the copy of the stack, and what C code preserves. */
#define SAVED_AT	(JPROBE_STACK_AT + JPROBE_STACK_BYTES)
#ifdef CONFIG_PPC64
#define FIRST_SAVED	14
#define SAVE_OP		std
#define REST_OP		ld
#else
#define FIRST_SAVED	13
#define SAVE_OP		stw
#define REST_OP		lwz
#endif
#define SAVED_BASE	(SAVED_AT - FIRST_SAVED * SZL)
#define CR_AT		(SAVED_AT + (32 - FIRST_SAVED) * SZL)
#define FRAME_BYTES	((CR_AT + SZL + 15) & ~15)

/* The offset of a member within struct pt_regs: asm-offsets has offsets within a frame. */
#define IN_REGS(offset)	((offset) - STACK_INT_FRAME_REGS)

	.section .kprobes.text, "ax"

/*
 * (const unsigned long *stack, void *entry, struct pt_regs *regs, void **frame): call the handler
 * with a copy of the stack in its caller's frame, and set *frame to its stack pointer. Returns when
 * the handler does, or is made to return by arch_jprobe_unwind().
 */
_GLOBAL(kprobe_jprobe_call)
	mflr	r0
	PPC_STL	r0, LRSAVE(r1)
	mfcr	r12
	PPC_STLU r1, -FRAME_BYTES(r1)
	OP_REGS	SAVE_OP, SZL, FIRST_SAVED, 31, r1, SAVED_BASE
	PPC_STL	r12, CR_AT(r1)
#ifdef CONFIG_PPC64
	std	r2, STK_GOT(r1)
#endif

	.set	.Loffset, 0
	.rept	JPROBE_STACK_BYTES / SZL
	PPC_LL	r0, .Loffset(r3)
	PPC_STL	r0, JPROBE_STACK_AT + .Loffset(r1)
	.set	.Loffset, .Loffset + SZL
	.endr
	PPC_STL	r1, 0(r6)

#if defined(CONFIG_PPC64_ELF_ABI_V1)
	ld	r12, 0(r4)
	ld	r2, 8(r4)
#else
	mr	r12, r4
#endif
	mtctr	r12
	mr	r11, r5
	OP_REGS	REST_OP, SZL, 3, 10, r11, IN_REGS(GPR0)
	bctrl

.Llanding:
#ifdef CONFIG_PPC64
	ld	r2, STK_GOT(r1)
#endif
	PPC_LL	r12, CR_AT(r1)
	OP_REGS	REST_OP, SZL, FIRST_SAVED, 31, r1, SAVED_BASE
	addi	r1, r1, FRAME_BYTES
	PPC_LL	r0, LRSAVE(r1)
	mtlr	r0
	mtcr	r12
	blr

/*
 * (void *frame): continue at the return address of the handler, with the stack pointer that it was
 * entered with. The frames of the handler are dropped by one instruction, so an
 * interrupt finds either all of them or none.
 */
_GLOBAL(arch_jprobe_unwind)
	mr	r1, r3
	b	.Llanding
