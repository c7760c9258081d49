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

#ifdef CONFIG_X86_64

/* What C code may change. */
.macro PUSH_SCRATCH_REGS
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%rax
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
.endm

.macro POP_SCRATCH_REGS
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rax
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
.endm

/* What C code preserves. */
.macro PUSH_SAVED_REGS
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
.endm

.macro POP_SAVED_REGS
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
.endm

/* From orig_ax to the end. The caller has pushed ip before. */
.macro PUSH_REST_OF_REGS
	pushq	$-1
	PUSH_SCRATCH_REGS
	PUSH_SAVED_REGS
	ENCODE_FRAME_POINTER
.endm

/* All general registers, up to orig_ax. */
.macro POP_GENERAL_REGS
	POP_SAVED_REGS
	POP_SCRATCH_REGS
.endm

#else /* CONFIG_X86_32 */

.macro PUSH_REST_OF_REGS
	pushl	$-1
	/* gs is the program's, and not saved. */
	pushl	$0
	pushl	%fs
	pushl	%es
	pushl	%ds
	pushl	%eax
	pushl	%ebp
	pushl	%edi
	pushl	%esi
	pushl	%edx
	pushl	%ecx
	pushl	%ebx
	ENCODE_FRAME_POINTER
.endm

/* The segment registers have not changed. */
.macro POP_GENERAL_REGS
	popl	%ebx
	popl	%ecx
	popl	%edx
	popl	%esi
	popl	%edi
	popl	%ebp
	popl	%eax
	leal	(PTREGS_orig_ax - PTREGS_ds)(%esp), %esp
.endm

#endif /* CONFIG_X86_32 */
#endif /* __ASSEMBLY__ */
#endif /* _X86_KERNEL_KPROBES_REGS_H */
