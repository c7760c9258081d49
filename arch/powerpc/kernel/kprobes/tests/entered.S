/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions that need to know about the kernel's data: those that are called with all registers
 * set, and those that access what says whether interrupts are masked.
 */

#include <linux/linkage.h>

#include <asm/asm-offsets.h>
#include <asm/hw_irq.h>
#include <asm/ppc_asm.h>
#include <asm/ptrace.h>
#include <asm/reg.h>

#include "entered.h"

#define FRAME(member)		((KPB_FRAME_##member) * SZL)
#define STATE(member)		((KPB_STATE_##member) * SZL)
#define FRAME_SIZE		(KPB_FRAME_LONGS * SZL)

#ifdef CONFIG_PPC64
#define STORE_REGS(first, last, offset)	OP_REGS std, 8, first, last, r1, offset
#define LOAD_REGS(first, last, base, offset)	OP_REGS ld, 8, first, last, base, offset
#else
#define STORE_REGS(first, last, offset)	OP_REGS stw, 4, first, last, r1, offset
#define LOAD_REGS(first, last, base, offset)	OP_REGS lwz, 4, first, last, base, offset
#endif

	.text

/* All registers to the frame, of which this only changes r0. */
.macro	store_state at:req
	STORE_REGS(0, 31, \at)
	mflr	r0
	PPC_STL	r0, \at + STATE(LR)(r1)
	mfctr	r0
	PPC_STL	r0, \at + STATE(CTR)(r1)
	mfxer	r0
	PPC_STL	r0, \at + STATE(XER)(r1)
	mfcr	r0
	PPC_STL	r0, \at + STATE(CR)(r1)
	mfmsr	r0
	PPC_STL	r0, \at + STATE(MSR)(r1)
.endm

/* From where r3 points to. */
.macro	load_state
	PPC_LL	r0, STATE(CR)(r3)
	mtcr	r0
	PPC_LL	r0, STATE(XER)(r3)
	mtxer	r0
	PPC_LL	r0, STATE(CTR)(r3)
	mtctr	r0
#ifdef CONFIG_PPC64
	LOAD_REGS(2, 2, r3, 0)
	LOAD_REGS(4, 12, r3, 0)
	LOAD_REGS(14, 31, r3, 0)
#else
	LOAD_REGS(4, 31, r3, 0)
#endif
	LOAD_REGS(0, 0, r3, 0)
	LOAD_REGS(3, 3, r3, 0)
.endm

/* What kpb_enter_NAME() and kpb_entered_NAME() have in common; see entered.h. */
.macro	enter_body
	mflr	r0
	PPC_STL	r0, LRSAVE(r1)
	PPC_STLU r1, -FRAME_SIZE(r1)
	STORE_REGS(13, 31, FRAME(GPRS))
	mfcr	r0
	PPC_STL	r0, FRAME(CR)(r1)
	PPC_STL	r2, FRAME(R2)(r1)
	PPC_STL	r3, FRAME(STATES)(r1)
	li	r0, 0
	PPC_STL	r0, FRAME(WAY_BACK)(r1)
	load_state
.endm

.macro	leave_body
	store_state FRAME(GOT)
	PPC_LL	r2, FRAME(R2)(r1)
	PPC_LL	r0, FRAME(CR)(r1)
	mtcr	r0
#ifdef CONFIG_PPC64
	LOAD_REGS(14, 31, r1, FRAME(GPRS))
#else
	LOAD_REGS(13, 31, r1, FRAME(GPRS))
#endif

	/* To s->found and s->got. */
	li	r0, 2 * KPB_STATE_LONGS
	mtctr	r0
	PPC_LL	r4, FRAME(STATES)(r1)
	addi	r4, r4, (KPB_STATE_LONGS - 1) * SZL
	addi	r5, r1, FRAME(FOUND) - SZL
1:
#ifdef CONFIG_PPC64
	ldu	r0, SZL(r5)
	stdu	r0, SZL(r4)
#else
	lwzu	r0, SZL(r5)
	stwu	r0, SZL(r4)
#endif
	bdnz	1b

	addi	r1, r1, FRAME_SIZE
	PPC_LL	r0, LRSAVE(r1)
	mtlr	r0
	blr
.endm

.macro	entered_body
	store_state FRAME(FOUND)
	PPC_LL	r0, FRAME(WAY_BACK)(r1)
	PPC_LCMPI r0, 0
	beq	1f
	mtlr	r0
1:	PPC_LL	r0, FRAME(FOUND) + STATE(CR)(r1)
	mtcr	r0
	LOAD_REGS(0, 0, r1, FRAME(FOUND))
	blr
.endm

/* An instruction that was emulated at the nop would skip only the nop, and r3 would tell. */
#define ENTERED(name, insn...)			\
_GLOBAL(kpb_entered_##name)			;\
	insn					;\
2:	entered_body				;\
_GLOBAL(kpb_elsewhere_##name)			;\
	nop					;\
	addi	r3, r3, 16			;\
	b	2b				;\
_GLOBAL(kpb_enter_##name)			;\
	enter_body				;\
	bl	DOTSYM(kpb_entered_##name)	;\
	leave_body

ENTERED(copy, addi r4, r4, 0)
ENTERED(step, mfspr r0, SPRN_PVR)
ENTERED(branch, b 2f)

/* The return is hooked; see entered.h. What the link register says tells where it led. */
_GLOBAL(kpb_enter_followed)
	enter_body
	bl	DOTSYM(kpr_followed)
	.globl	kpr_back
kpr_back:
	leave_body
	.globl	kpr_elsewhere
kpr_elsewhere:
	b	kpr_back

_GLOBAL(kpr_followed)
	.rept	7
	nop
	.endr
	/* Overwrite what the exception at the entry has left where the trampoline has its frame. */
	.set	below, KERNEL_REDZONE_SIZE
	.rept	128
	.set	below, below + SZL
	PPC_STL	r0, -below(r1)
	.endr
	not	r0, r0
	blr
#ifdef CONFIG_PPC64_ELF_ABI_V1
	.size	.kpr_followed, . - .kpr_followed
#else
	.type	kpr_followed, @function
	.size	kpr_followed, . - kpr_followed
#endif

#ifdef CONFIG_JPROBES
_GLOBAL(kpb_enter_jprobe)
	enter_body
	bl	DOTSYM(kprobe_jprobe_call)
	leave_body
#endif

#ifdef CONFIG_PPC64
/* Both return what the soft interrupt mask is after the probed instruction, at their start. */
_GLOBAL(kpb_read_mask)
	lbz	r3, PACAIRQSOFTMASK(r13)
	blr

_GLOBAL(kpb_write_mask)
	stb	r3, PACAIRQSOFTMASK(r13)
	lbz	r3, PACAIRQSOFTMASK(r13)
	blr
#endif

#ifdef CONFIG_PPC_BOOK3S_64
/* Only for its instructions: interrupts are disabled, which is recorded or not. */
_GLOBAL(kpb_hard_disables)
	b	1f
	mtmsrd	r3, 1
	nop
	lbz	r4, PACAIRQHAPPENED(r13)
	ori	r4, r4, PACA_IRQ_HARD_DIS
	stb	r4, PACAIRQHAPPENED(r13)
	nop
	mtmsrd	r3, 1
	.rept	14
	nop
	.endr
1:	blr
#endif
