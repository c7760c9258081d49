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
#include "regs.h"

/* What C code preserves, without the frame pointer. */
#ifdef CONFIG_X86_64
#define PRESERVED	rbx, r12, r13, r14, r15
#define NR_PRESERVED	5
#else
#define PRESERVED	ebx, esi, edi
#define NR_PRESERVED	3
#endif

/* From the handler's return address to the saved frame pointer. */
#define TO_SAVED_BP	((1 + NR_PRESERVED) * JPROBE_WORD_BYTES + JPROBE_STACK_BYTES)

/* Once the copy of the stack has been pushed, its first two words are used for these. */
#define HANDLER_SP	(0 * JPROBE_WORD_BYTES)		/* where its return address is */
#define HANDLER_ENTRY	(1 * JPROBE_WORD_BYTES)

/* From the highest word down. */
.macro PUSH_STACK_WORDS from:req
	.set offset, JPROBE_STACK_BYTES
	.rept JPROBE_STACK_BYTES / JPROBE_WORD_BYTES
	.set offset, offset - JPROBE_WORD_BYTES
	push	offset(\from)
	.endr
.endm

	.text

/*
 * (unsigned long *stack, unsigned long entry, const struct pt_regs *regs): call the handler with
 * @stack above its return address. On 64 bit, ax of @regs is the number of vector registers in a
 * call of a variadic function.
 *
 * Returns when the handler does, or is made to return by arch_jprobe_unwind(). The latter restores
 * no register but the stack pointer and, for unwinders, the frame pointer.
 *
 * A handler on 32 bit may return a structure, and then pops the pointer to it. So the stack
 * pointer is not what it was.
 */
SYM_START(kprobe_jprobe_call, SYM_L_GLOBAL, SYM_F_ALIGN)
	ANNOTATE_NOENDBR
	push	%_ASM_BP
#ifdef CONFIG_FRAME_POINTER
	mov	%_ASM_SP, %_ASM_BP
#endif
	PUSH_EACH PRESERVED
	mov	%_ASM_ARG1, %_ASM_BX
	PUSH_STACK_WORDS %_ASM_BX
	lea	-JPROBE_WORD_BYTES(%_ASM_SP), %_ASM_AX
	mov	%_ASM_AX, HANDLER_SP(%_ASM_BX)
	mov	%_ASM_ARG2, HANDLER_ENTRY(%_ASM_BX)
	mov	%_ASM_ARG3, %_ASM_AX
#ifdef CONFIG_X86_64
	movq	RDI(%rax), %rdi
	movq	RSI(%rax), %rsi
	movq	RDX(%rax), %rdx
	movq	RCX(%rax), %rcx
	movq	R8(%rax), %r8
	movq	R9(%rax), %r9
	movq	RAX(%rax), %rax
#else
	movl	4 * EDX(%eax), %edx
	movl	4 * ECX(%eax), %ecx
	movl	4 * EAX(%eax), %eax
#endif
	call	kprobe_jprobe_enter
SYM_INNER_LABEL(kprobe_jprobe_landing, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR	/* only RET gets here */
#ifdef CONFIG_X86_64
	addq	$JPROBE_STACK_BYTES, %rsp
#else
	movl	HANDLER_SP(%ebx), %esp
	addl	$(JPROBE_STACK_BYTES + JPROBE_WORD_BYTES), %esp
#endif
	POP_EACH PRESERVED
	pop	%_ASM_BP
	RET
SYM_FUNC_END(kprobe_jprobe_call)

	/* For the padding: with call depth tracking, calls of the next function begin there. */
	UNWIND_HINT_FUNC

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
	__ASM_SIZE(push) HANDLER_ENTRY(%_ASM_BX)
	UNWIND_HINT type=UNWIND_HINT_TYPE_CALL sp_reg=ORC_REG_SP sp_offset=8 signal=1
	RET
SYM_CODE_END(kprobe_jprobe_enter)

/*
 * (void *stack): return to the landing, with the stack pointer that it expects. The return address
 * there may have been replaced.
 *
 * The frames of the handler and of what it calls are of no use to unwinders any more. Once the
 * stack pointer is set, unwinders no longer see them.
 */
SYM_START(arch_jprobe_unwind, SYM_L_GLOBAL, SYM_F_ALIGN)
	ANNOTATE_NOENDBR
#ifdef CONFIG_X86_32
	movl	%eax, %ebx
#endif
	mov	HANDLER_SP(%_ASM_ARG1), %_ASM_ARG1
#ifdef CONFIG_FRAME_POINTER
	lea	TO_SAVED_BP(%_ASM_ARG1), %_ASM_BP
#endif
	mov	%_ASM_ARG1, %_ASM_SP
	UNWIND_HINT_FUNC
	__ASM_SIZE(mov) $kprobe_jprobe_landing, (%_ASM_SP)
#ifdef CONFIG_MITIGATION_CALL_DEPTH_TRACKING
	/* The returns of these frames will never be counted. */
	ALTERNATIVE "", __stringify(RESET_CALL_DEPTH), X86_FEATURE_CALL_DEPTH
#endif
	RET
SYM_FUNC_END(arch_jprobe_unwind)

_ASM_NOKPROBE(kprobe_jprobe_call)
/* Its second half, which is a symbol of its own. */
_ASM_NOKPROBE(kprobe_jprobe_landing)
_ASM_NOKPROBE(kprobe_jprobe_enter)
_ASM_NOKPROBE(arch_jprobe_unwind)
