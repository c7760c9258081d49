/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call the handler of a jprobe, and leave it from any depth.
 */

#include <linux/linkage.h>
#include <linux/objtool.h>

#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/cpufeatures.h>
#include <asm/nospec-branch.h>
#include <asm/ptrace-abi.h>
#include <asm/unwind_hints.h>

#include "jprobe.h"

/* From the handler's return address to the saved frame pointer. */
#ifdef CONFIG_X86_64
#define TO_SAVED_BP	((1 + 5) * 8 + JPROBE_STACK_BYTES)
#else
#define TO_SAVED_BP	((1 + 3) * 4 + JPROBE_STACK_BYTES)
#endif

/* From the highest word down. */
.macro PUSH_STACK_WORDS from:req
	.set offset, JPROBE_FRAME_stack + JPROBE_STACK_BYTES
	.rept JPROBE_STACK_BYTES / JPROBE_WORD_BYTES
	.set offset, offset - JPROBE_WORD_BYTES
	push	offset(\from)
	.endr
.endm

	.text

#ifdef CONFIG_X86_64

/*
 * (struct jprobe_frame *f): returns when the handler does, or is made to return by
 * kprobe_jprobe_unwind(). The latter restores no register but the stack pointer and, for
 * unwinders, the frame pointer.
 */
SYM_START(kprobe_jprobe_call, SYM_L_GLOBAL, SYM_F_ALIGN)
	ANNOTATE_NOENDBR
	pushq	%rbp
#ifdef CONFIG_FRAME_POINTER
	movq	%rsp, %rbp
#endif
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rdi, %rbx
	PUSH_STACK_WORDS %rbx
	leaq	-8(%rsp), %rax
	movq	%rax, JPROBE_FRAME_sp(%rbx)
	movq	JPROBE_FRAME_regs(%rbx), %rax
	movq	RDI(%rax), %rdi
	movq	RSI(%rax), %rsi
	movq	RDX(%rax), %rdx
	movq	RCX(%rax), %rcx
	movq	R8(%rax), %r8
	movq	R9(%rax), %r9
	movq	RAX(%rax), %rax
	call	kprobe_jprobe_enter
SYM_INNER_LABEL(kprobe_jprobe_landing, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR	/* only RET gets here */
	addq	$JPROBE_STACK_BYTES, %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	RET
SYM_FUNC_END(kprobe_jprobe_call)

/*
 * Enter the handler by RET. It may have any type, and may not be a legal target of
 * indirect branches; and RET is subject to the mitigations for it that are in use.
 *
 * To unwinders, the RET looks as if this had interrupted the handler at its first
 * instruction. If the handler had called this, they would look up the byte before.
 * objtool lets no function do that, so this is none.
 */
SYM_START(kprobe_jprobe_enter, SYM_L_GLOBAL, SYM_F_ALIGN)
	ANNOTATE_NOENDBR
	UNWIND_HINT_FUNC
	pushq	JPROBE_FRAME_entry(%rbx)
	UNWIND_HINT type=UNWIND_HINT_TYPE_CALL sp_reg=ORC_REG_SP sp_offset=8 signal=1
	RET
SYM_CODE_END(kprobe_jprobe_enter)

/*
 * (unsigned long sp, struct jprobe_frame *f): return to the landing, with the stack
 * pointer that it expects. The return address there may have been replaced.
 *
 * The frames of the handler and of what it calls are of no use to unwinders any more, so
 * from the second instruction on, unwinders no longer see them.
 */
SYM_START(kprobe_jprobe_unwind, SYM_L_GLOBAL, SYM_F_ALIGN)
	ANNOTATE_NOENDBR
	movq	$kprobe_jprobe_landing, (%rdi)
	UNWIND_HINT type=UNWIND_HINT_TYPE_CALL sp_reg=ORC_REG_DI sp_offset=8
#ifdef CONFIG_FRAME_POINTER
	leaq	TO_SAVED_BP(%rdi), %rbp
#endif
	movq	%rdi, %rsp
	UNWIND_HINT_FUNC
#ifdef CONFIG_MITIGATION_CALL_DEPTH_TRACKING
	/* The returns of these frames will never be counted. */
	ALTERNATIVE "", __stringify(RESET_CALL_DEPTH), X86_FEATURE_CALL_DEPTH
#endif
	RET
SYM_FUNC_END(kprobe_jprobe_unwind)

#else /* CONFIG_X86_32 */

/*
 * The handler may return a structure, and then pops the pointer to it. So the stack
 * pointer is not what it was.
 */
SYM_START(kprobe_jprobe_call, SYM_L_GLOBAL, SYM_F_ALIGN)
	ANNOTATE_NOENDBR
	pushl	%ebp
#ifdef CONFIG_FRAME_POINTER
	movl	%esp, %ebp
#endif
	pushl	%ebx
	pushl	%esi
	pushl	%edi
	movl	%eax, %ebx
	PUSH_STACK_WORDS %ebx
	leal	-4(%esp), %eax
	movl	%eax, JPROBE_FRAME_sp(%ebx)
	movl	JPROBE_FRAME_regs(%ebx), %eax
	movl	4 * EDX(%eax), %edx
	movl	4 * ECX(%eax), %ecx
	movl	4 * EAX(%eax), %eax
	call	kprobe_jprobe_enter
SYM_INNER_LABEL(kprobe_jprobe_landing, SYM_L_GLOBAL)
	movl	JPROBE_FRAME_sp(%ebx), %esp
	addl	$(JPROBE_STACK_BYTES + 4), %esp
	popl	%edi
	popl	%esi
	popl	%ebx
	popl	%ebp
	RET
SYM_FUNC_END(kprobe_jprobe_call)

SYM_START(kprobe_jprobe_enter, SYM_L_GLOBAL, SYM_F_ALIGN)
	ANNOTATE_NOENDBR
	pushl	JPROBE_FRAME_entry(%ebx)
	RET
SYM_FUNC_END(kprobe_jprobe_enter)

SYM_START(kprobe_jprobe_unwind, SYM_L_GLOBAL, SYM_F_ALIGN)
	ANNOTATE_NOENDBR
	movl	%edx, %ebx
	movl	$kprobe_jprobe_landing, (%eax)
#ifdef CONFIG_FRAME_POINTER
	leal	TO_SAVED_BP(%eax), %ebp
#endif
	movl	%eax, %esp
	RET
SYM_FUNC_END(kprobe_jprobe_unwind)

#endif

_ASM_NOKPROBE(kprobe_jprobe_call)
/* Its second half, which is a symbol of its own. */
_ASM_NOKPROBE(kprobe_jprobe_landing)
_ASM_NOKPROBE(kprobe_jprobe_enter)
_ASM_NOKPROBE(kprobe_jprobe_unwind)
