/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _X86_KERNEL_KPROBES_REGS_H
#define _X86_KERNEL_KPROBES_REGS_H

/*
 * Where the only user is a return probe, a detour saves just what C code may change. With frame
 * pointers, unwinders need the complete registers.
 */
#if defined(CONFIG_X86_64) && defined(CONFIG_KRETPROBES) && !defined(CONFIG_FRAME_POINTER)
#define KPROBE_DETOURS_OF_RETURNS	1
#endif

#ifdef __ASSEMBLY__

#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/frame.h>
#include <asm/segment.h>

/*
 * Assembler macros that build a struct pt_regs on the stack, for code that was not entered by an
 * exception, and take it off again. No instruction before PUSHF or after POPF changes the flags.
 * In an NMI, unwinders may look at the registers, so all fields are set, even those that nothing
 * else reads.
 */

/*
 * From ss to cs. The saved stack pointer is that of the program; @above is the number of bytes
 * that have been pushed since.
 */
.macro PUSH_PROGRAM_STATE above=0
	push	__ASM_SEL_RAW(%ss, $__KERNEL_DS)
	push	%_ASM_SP
	pushf
	__ASM_SIZE(add) $(__ASM_SEL(4, 8) + \above), __ASM_SEL(4, 8)(%_ASM_SP)
	push	$__KERNEL_CS
.endm

/* All but the general registers, up to the stack of the program. */
.macro POP_PROGRAM_STATE
	lea	(PTREGS_flags - PTREGS_orig_ax)(%_ASM_SP), %_ASM_SP
	popf
	lea	(PTREGS_SIZE - PTREGS_sp)(%_ASM_SP), %_ASM_SP
.endm

/* The general registers in the order of struct pt_regs. C code may change the scratch registers. */
#ifdef CONFIG_X86_64
#define SCRATCH_REGS	rdi, rsi, rdx, rcx, rax, r8, r9, r10, r11
#define SAVED_REGS	rbx, rbp, r12, r13, r14, r15
#define GENERAL_REGS	SCRATCH_REGS, SAVED_REGS
#else
#define GENERAL_REGS	eax, ebp, edi, esi, edx, ecx, ebx
#endif

.macro PUSH_EACH reg:req, more:vararg
	push	%\reg
	.ifnb \more
	PUSH_EACH \more
	.endif
.endm

/* The last one first. */
.macro POP_EACH reg:req, more:vararg
	.ifnb \more
	POP_EACH \more
	.endif
	pop	%\reg
.endm

/* From orig_ax to the end. The caller has pushed ip before. */
.macro PUSH_REST_OF_REGS
	push	$-1
#ifdef CONFIG_X86_32
	/* gs is the program's, and not saved. */
	push	$0
	PUSH_EACH fs, es, ds
#endif
	PUSH_EACH GENERAL_REGS
	ENCODE_FRAME_POINTER
.endm

/* All general registers, up to orig_ax. The segment registers have not changed. */
.macro POP_GENERAL_REGS
	POP_EACH GENERAL_REGS
#ifdef CONFIG_X86_32
	leal	(PTREGS_orig_ax - PTREGS_ds)(%esp), %esp
#endif
.endm

#endif /* __ASSEMBLY__ */
#endif /* _X86_KERNEL_KPROBES_REGS_H */
