/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The code that all detours of powerpc share. Each page of detours begins with a copy, since a
 * module may be out of branch range of the kernel. So the code is position independent.
 *
 * A detour itself, which optimize.c writes, makes a frame with a struct pt_regs below the red zone,
 * saves r0, moves LR to r0, and calls the head of its page. After that it restores LR, r0 and r1,
 * and executes the instruction.
 */

#include <linux/linkage.h>

#include <asm/hw_irq.h>
#include <asm/page.h>

#ifdef CONFIG_PPC_BOOK3S_64
#include <asm/exception-64s.h>
#elif defined(CONFIG_PPC64)
#include <asm/exception-64e.h>
#endif

#include "detour.h"
#include "regs.h"

/* The address of the probe, from the return address in the detour. */
#define KPROBE_DETOUR_OP_OF_LR	(KPROBE_DETOUR_OP - 4 * KPROBE_DETOUR_ENTER)

	.section .kprobes.text, "ax"

/*
 * What C code may change. r31 keeps the return address, since C code preserves it. Leaves the
 * program's r1 in r8, its MSR in r7, and the probe in r3.
 */
.macro	save_volatile
	PPC_STL	r0, _LINK(r1)
	SAVE_GPRS(2, 12, r1)
	SAVE_GPR(31, r1)
	mflr	r31
	save_special_regs
	PPC_LL	r3, KPROBE_DETOUR_OP_OF_LR(r31)
	mfmsr	r7
	addi	r8, r1, INT_FRAME_SIZE
	PPC_STL	r8, GPR1(r1)
.endm

/*
 * gpr[13] is left out on ppc64: arch_handlers_begin() stores it once the task can no longer
 * migrate. Members that describe_regs leaves undefined are undefined here, too.
 */
.macro	save_rest
#ifdef CONFIG_PPC64
	SAVE_GPRS(14, 30, r1)
	lbz	r5, PACAIRQSOFTMASK(r13)
	std	r5, SOFTE(r1)
#else
	SAVE_GPRS(13, 30, r1)
#endif
	PPC_LL	r9, OPTPROBE_ADDR(r3)
	li	r10, INTERRUPT_PROGRAM
	PPC_STL	r7, _MSR(r1)
	PPC_STL	r9, _NIP(r1)
	PPC_STL	r10, _TRAP(r1)
.endm

.macro	restore_volatile
	mtlr	r31
	restore_special_regs
	REST_GPRS(2, 12, r1)
	REST_GPR(31, r1)
.endm

/*
 * In real mode, neither the handlers nor the state of kprobes can be accessed, and without MSR[RI]
 * no exception can return. Such a hit is not counted: no counter is safe to access. On BookE, the
 * bits mean something else.
 */
#define MSR_FOR_HANDLERS	(MSR_IR | MSR_DR | MSR_RI)

.macro	skip_unless_safe label:req
#ifndef CONFIG_BOOKE
	andi.	r0, r7, MSR_FOR_HANDLERS
	cmpwi	r0, MSR_FOR_HANDLERS
	bne-	\label
#endif
.endm

/* C code of the kernel, at the address in r12, with the probe in r3 and the registers. */
.macro	call_c
	load_kernel_regs
	mtctr	r12
	addi	r4, r1, STACK_INT_FRAME_REGS
	bctrl
.endm

	.balign	8
	.globl	kprobe_head
kprobe_head:
	save_volatile
	skip_unless_safe .Lrestore
	PPC_LL	r12, OPTPROBE_CALL(r3)
.Lcomplete:
	save_rest
	call_c
#ifdef CONFIG_PPC64
	REST_GPRS(14, 30, r1)
#else
	REST_GPRS(13, 30, r1)
#endif
.Lrestore:
	restore_volatile
	blr

/*
 * At the entry of a function that has only a return probe: save what C code may change. If that
 * is not enough, save the rest as well, and call the handlers.
 */
	.globl	kretprobe_head
kretprobe_head:
	save_volatile
	skip_unless_safe .Lrestore
	PPC_LL	r12, OPTPROBE_CALL(r3)
	call_c
	PPC_LCMPI r3, 0
	beq+	.Lrestore
	mfmsr	r7
#ifdef CONFIG_PPC64
	clrrdi	r12, r31, PAGE_SHIFT
#else
	clrrwi	r12, r31, PAGE_SHIFT
#endif
	PPC_LL	r12, KPROBE_HEAD_CALLBACK(r12)
	b	.Lcomplete

	.globl	kprobe_head_end
kprobe_head_end:
	.if	KPROBE_HEAD_CODE + kprobe_head_end - kprobe_head > KPROBE_OPTINSN_HEAD_SIZE
	.error	"the head of detours does not fit"
	.endif

/* The bit of PACA_IRQ_HARD_DIS, counted from the right. */
#define PACA_IRQ_HARD_DIS_LG	0

/* All registers of the program but r1. */
.macro	restore_program
	PPC_LL	r0, _LINK(r1)
	mtlr	r0
	restore_special_regs
	restore_most_regs
	REST_GPR(0, r1)
.endm

/*
 * A handler has redirected execution. r3 says where to, and r4 is the address of the registers in
 * the frame of the detour.
 *
 * Only rfid can jump to an arbitrary address with all registers restored. SRR0 and SRR1 are live
 * from when they are written, so interrupts are off, and so is MSR[RI]: a non-maskable interrupt is
 * fatal until the rfid, so all but three registers are restored first. The exit to user space
 * must not assume that SRR0 and SRR1 still hold its own values.
 *
 * If an interrupt has been masked in MSR[EE], it stays masked. CR already holds the program's
 * value, so shift the HARD_DIS bit into place instead of testing it.
 */
_GLOBAL(kprobe_detour_leave)
	subi	r1, r4, STACK_INT_FRAME_REGS
	cmpwi	r3, KPROBE_DETOUR_RETURN
	bne	.Ljump
	restore_program
	addi	r1, r1, INT_FRAME_SIZE
	blr

.Ljump:
	restore_program
	PPC_LL	r10, _NIP(r1)
	mfmsr	r12
#ifdef CONFIG_PPC_BOOK3S_64
	li	r11, 0
	mtmsrd	r11, 1
	stb	r11, PACASRR_VALID(r13)
#else
	LOAD_REG_IMMEDIATE(r11, MSR_EE | MSR_RI)
	andc	r11, r12, r11
	mtmsr	r11
	isync
#endif
#ifdef CONFIG_PPC64
	lbz	r11, PACAIRQHAPPENED(r13)
	rlwinm	r11, r11, MSR_EE_LG - PACA_IRQ_HARD_DIS_LG, MSR_EE
	andc	r12, r12, r11
#else
	/*
	 * Keep the sequence in one page: an ITLB miss would overwrite SRR0 and SRR1. The frame is
	 * in the DTLB, because it has just been read.
	 */
	.balign	32
#endif
	mtspr	SPRN_SRR0, r10
	mtspr	SPRN_SRR1, r12
	REST_GPRS(10, 12, r1)
	REST_GPR(1, r1)
#ifdef CONFIG_PPC64
	RFI_TO_KERNEL
#else
	rfi
#endif
	b	.
