/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Templates of detours on x86. Each detour starts with a copy of a template in which
 * optimize.c has filled in the blanks; copies of the program's instructions follow.
 * The table of kinds at the end tells optimize.c where the blanks are.
 *
 * A template is never executed in place. It is valid code all the same, so that
 * objtool describes its stack; kprobe_detour_place() derives the stack layout of
 * detours from that.
 */

#include <linux/linkage.h>
#include <linux/objtool.h>

#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include <asm/orc_types.h>
#include <asm/unwind_hints.h>

#include "regs.h"

	.text

/* Blanks: an instruction with an operand that is filled in later. */
.macro PUSH_BLANK label:req
	.byte	0x68			/* push $imm32 */
\label:
	.long	0
.endm

.macro LOAD_OP_BLANK label:req
#ifdef CONFIG_X86_64
	.byte	0x48, 0xbf		/* movabsq $op, %rdi */
\label:
	.quad	0
#else
	.byte	0xb8			/* movl $op, %eax */
\label:
	.long	0
#endif
.endm

.macro JNZ_BLANK
	.byte	0x0f, 0x85		/* jnz rel32 */
	.long	0
.endm

/*
 * Handlers are C code. The probed code may run with the direction flag set, or between STAC and
 * CLAC: CLD replaces the first blank NOP, and CLAC the second one on CPUs that have it.
 */
.macro FLAGS_BLANK
	nop				/* cld */
	.byte	0x0f, 0x1f, 0x00	/* clac */
.endm

/*
 * Build a struct pt_regs with the state before the probed instruction, call the
 * handlers, and restore the registers.
 */
SYM_START(kprobe_detour_template, SYM_L_GLOBAL, SYM_F_ALIGN)
	ANNOTATE_NOENDBR
	PUSH_PROGRAM_STATE
	PUSH_BLANK .Ldetour_ip
	PUSH_REST_OF_REGS
.Ldetour_regs:
	FLAGS_BLANK
	LOAD_OP_BLANK .Ldetour_op
	mov	%_ASM_SP, %__ASM_SEL_RAW(edx, rsi)
.Ldetour_call:
	call	kprobe_detour_callback
	testl	%eax, %eax
.Ldetour_leave:
	JNZ_BLANK			/* kprobe_detour_leave */
.Ldetour_restore:
	POP_GENERAL_REGS
	POP_PROGRAM_STATE
.Ldetour_end:
	RET
SYM_FUNC_END(kprobe_detour_template)
_ASM_NOKPROBE(kprobe_detour_template)

/* With frame pointers, that of the callback refers to the registers. */
#ifdef CONFIG_FRAME_POINTER
STACK_FRAME_NON_STANDARD kprobe_detour_template
#endif

/*
 * A handler has redirected execution, or has changed the stack pointer. Store the new
 * ip and flags right below the new top of the stack, where POPF and RET find them.
 * The slot of orig_ax takes the resulting stack pointer.
 */
SYM_START(kprobe_detour_leave, SYM_L_GLOBAL, SYM_F_ALIGN)
	ANNOTATE_NOENDBR
	mov	PTREGS_sp(%_ASM_SP), %_ASM_AX
	mov	PTREGS_ip(%_ASM_SP), %_ASM_CX
	mov	PTREGS_flags(%_ASM_SP), %_ASM_DX
	lea	-2 * __ASM_SEL(4, 8)(%_ASM_AX), %_ASM_AX
	mov	%_ASM_CX, __ASM_SEL(4, 8)(%_ASM_AX)
	mov	%_ASM_DX, (%_ASM_AX)
	mov	%_ASM_AX, PTREGS_orig_ax(%_ASM_SP)
	POP_GENERAL_REGS
	pop	%_ASM_SP
	popf
	RET
SYM_FUNC_END(kprobe_detour_leave)
_ASM_NOKPROBE(kprobe_detour_leave)

/* It switches stacks in a way that cannot be described. */
STACK_FRAME_NON_STANDARD kprobe_detour_leave

#ifdef KPROBE_DETOURS_OF_RETURNS
/*
 * At the entry of a function that has only a return probe: build the upper part of a
 * struct pt_regs, and set only the flags and the registers that C code may change.
 */
#define RETURN_FRAME	(PTREGS_SIZE - PTREGS_r11)

SYM_START(kretprobe_detour_template, SYM_L_GLOBAL, SYM_F_ALIGN)
	ANNOTATE_NOENDBR
	leaq	-(PTREGS_SIZE - PTREGS_sp)(%rsp), %rsp
	pushfq
	leaq	-(PTREGS_flags - PTREGS_orig_ax)(%rsp), %rsp
	PUSH_EACH SCRATCH_REGS
.Lreturn_regs:
	FLAGS_BLANK
	LOAD_OP_BLANK .Lreturn_op
	leaq	RETURN_FRAME(%rsp), %rsi
.Lreturn_call:
	call	kretprobe_native_entry
	testq	%rax, %rax
.Lreturn_leave:
	JNZ_BLANK			/* kretprobe_detour_complete */
.Lreturn_restore:
	POP_EACH SCRATCH_REGS
	POP_PROGRAM_STATE
.Lreturn_end:
	RET
SYM_FUNC_END(kretprobe_detour_template)
_ASM_NOKPROBE(kretprobe_detour_template)

/*
 * That was not enough: complete the struct pt_regs from the probe, which
 * kretprobe_native_entry() has returned. Like the code of an exception, this is not a
 * function.
 */
SYM_START(kretprobe_detour_complete, SYM_L_GLOBAL, SYM_A_NONE)
	ANNOTATE_NOENDBR
	UNWIND_HINT type=UNWIND_HINT_TYPE_CALL sp_reg=ORC_REG_SP sp_offset=RETURN_FRAME + 8
	PUSH_EACH SAVED_REGS
	movq	OPTPROBE_addr(%rax), %rcx
	leaq	1(%rcx), %rcx
	leaq	PTREGS_SIZE(%rsp), %rdx
	movq	$__KERNEL_DS, PTREGS_ss(%rsp)
	movq	%rdx, PTREGS_sp(%rsp)
	movq	$__KERNEL_CS, PTREGS_cs(%rsp)
	movq	%rcx, PTREGS_ip(%rsp)
	movq	$-1, PTREGS_orig_ax(%rsp)
	/*
	 * Without signal=1: the saved ip is that after a breakpoint, and unwinders
	 * must look up the byte before it. The instruction there, which may be of
	 * one byte, has not been executed.
	 */
	UNWIND_HINT type=UNWIND_HINT_TYPE_REGS sp_reg=ORC_REG_SP sp_offset=0
	movq	%rax, %rdi
	movq	%rsp, %rsi
	call	kretprobe_detour_callback
	jmp	kprobe_detour_leave
SYM_CODE_END(kretprobe_detour_complete)
_ASM_NOKPROBE(kretprobe_detour_complete)
.Lcomplete_end:
#endif

	.section .rodata

/* struct kprobe_detour_kind */
.macro KIND template:req callback:req leave:req name:req ip=0
	_ASM_PTR \template
	_ASM_PTR \callback
	_ASM_PTR \leave
	.byte	\ip
	.byte	.L\name\()_regs - \template
	.byte	.L\name\()_op - \template
	.byte	.L\name\()_call - \template
	.byte	.L\name\()_leave - \template
	.byte	.L\name\()_restore - \template
	.byte	.L\name\()_end - \template
	_ASM_ALIGN
.endm

	_ASM_ALIGN
SYM_DATA_START(kprobe_detour_kinds)
	KIND kprobe_detour_template kprobe_detour_callback kprobe_detour_leave detour	\
	     ip=(.Ldetour_ip - kprobe_detour_template)
#ifdef KPROBE_DETOURS_OF_RETURNS
	KIND kretprobe_detour_template kretprobe_native_entry kretprobe_detour_complete return
#endif
SYM_DATA_END(kprobe_detour_kinds)

#ifdef KPROBE_DETOURS_OF_RETURNS
	.balign 4
SYM_DATA(kretprobe_detour_complete_size, .long .Lcomplete_end - kretprobe_detour_complete)
#endif
