/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Building a struct pt_regs on the stack of probed code, without an exception. For assembly, from
 * one source for 32 and 64 bits.
 *
 * The frame is that of an exception, so that the offsets of <asm/asm-offsets.h> apply, and the
 * red zone below the program's r1 is spared. It has no marker, since its registers are not those
 * of an interrupt: unwinders continue with the back chain.
 */
#ifndef _POWERPC_KERNEL_KPROBES_REGS_H
#define _POWERPC_KERNEL_KPROBES_REGS_H

#include <asm/asm-offsets.h>
#include <asm/feature-fixups.h>
#include <asm/interrupt.h>
#include <asm/ppc_asm.h>
#include <asm/processor.h>
#include <asm/ptrace.h>
#include <asm/reg.h>

/*
 * r2 to r31. r2 holds the TOC pointer of the program (64-bit) or current (32-bit). The r13 of ppc64
 * is not part of the task's state and is never saved or restored here: the task may be on another
 * CPU afterwards. arch_handlers_begin() sets regs->gpr[13] for handlers.
 */
.macro	save_most_regs
#ifdef CONFIG_PPC32
	stmw	r2, GPR2(r1)
#else
	SAVE_GPRS(2, 12, r1)
	SAVE_NVGPRS(r1)
#endif
.endm

.macro	restore_most_regs
#ifdef CONFIG_PPC32
	lmw	r2, GPR2(r1)
#else
	REST_NVGPRS(r1)
	REST_GPRS(2, 12, r1)
#endif
.endm

/* CTR, XER and CR, through r3 to r5, which have been saved. */
.macro	save_special_regs
	mfctr	r3
	mfxer	r4
	mfcr	r5
	PPC_STL	r3, _CTR(r1)
	PPC_STL	r4, _XER(r1)
	PPC_STL	r5, _CCR(r1)
.endm

.macro	restore_special_regs
	PPC_LL	r3, _CTR(r1)
	PPC_LL	r4, _XER(r1)
	PPC_LL	r5, _CCR(r1)
	mtctr	r3
	mtxer	r4
	mtcr	r5
.endm

/*
 * Fill in the rest of pt_regs except nip. Members set only by exceptions or system calls are
 * undefined, as each store would add to the cost of a hit: orig_gpr3, dar, dsisr, result, and on
 * 64 bits ppr and iamr. Handlers find there what was on the stack. None of the members is
 * restored, but return trampolines keep a word for themselves in dar. Clobbers r3 to r6.
 */
.macro	describe_regs
	addi	r3, r1, INT_FRAME_SIZE
	mfmsr	r4
	PPC_STL	r3, GPR1(r1)
	PPC_STL	r4, _MSR(r1)
#ifdef CONFIG_PPC64
	lbz	r5, PACAIRQSOFTMASK(r13)
	std	r5, SOFTE(r1)
#endif
	li	r6, INTERRUPT_PROGRAM
	PPC_STL	r6, _TRAP(r1)
.endm

/* Registers that C code of the kernel expects; the program may be a module. */
.macro	load_kernel_regs
#ifdef CONFIG_PPC64
	LOAD_PACA_TOC()
#endif
.endm

#endif /* _POWERPC_KERNEL_KPROBES_REGS_H */
