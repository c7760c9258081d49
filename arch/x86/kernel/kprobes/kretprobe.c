// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Return probes of x86: the return address of a probed function is replaced by
 * the trampoline, which saves the registers and calls the core.
 */

#include <linux/bug.h>
#include <linux/kprobes.h>
#include <linux/objtool.h>
#include <linux/stringify.h>

#include <asm/segment.h>

#include "common.h"

#ifndef ANNOTATE_NOENDBR
#define ANNOTATE_NOENDBR
#endif

/*
 * RET has just taken the trampoline's address off the stack. Pushed again, the
 * slot tells unwinders that the real address has to be looked up, until the core
 * stores that one there. Below the slot comes a struct pt_regs of the moment
 * after the return.
 *
 * SAVE_REGS_STRING would leave a part of it unset, which an unwinder in an NMI
 * may look at. Nothing before PUSHF and behind POPF changes the flags. The
 * addition makes the saved stack pointer that of the caller.
 */
asm(
	".text\n"
	".global __kretprobe_trampoline\n"
	".type __kretprobe_trampoline, @function\n"
	"__kretprobe_trampoline:\n"
	ANNOTATE_NOENDBR	/* only RET comes here */
#ifdef CONFIG_X86_64
	"	pushq $__kretprobe_trampoline\n"
	UNWIND_HINT_FUNC
	"	pushq $" __stringify(__KERNEL_DS) "\n"
	"	pushq %rsp\n"
	"	pushfq\n"
	"	addq $16, 8(%rsp)\n"
	"	pushq $" __stringify(__KERNEL_CS) "\n"
	"	pushq $__kretprobe_trampoline\n"
	"	pushq $-1\n"		/* orig_ax */
	"	pushq %rdi; pushq %rsi; pushq %rdx; pushq %rcx\n"
	"	pushq %rax; pushq %r8; pushq %r9; pushq %r10\n"
	"	pushq %r11; pushq %rbx; pushq %rbp; pushq %r12\n"
	"	pushq %r13; pushq %r14; pushq %r15\n"
	ENCODE_FRAME_POINTER
	"	movq %rsp, %rdi\n"
	"	call kretprobe_native_handler\n"
	RESTORE_REGS_STRING
	"	popfq\n"
	"	leaq 16(%rsp), %rsp\n"	/* sp, ss */
#else
	"	pushl $__kretprobe_trampoline\n"
	UNWIND_HINT_FUNC
	"	pushl %ss\n"
	"	pushl %esp\n"
	"	pushfl\n"
	"	addl $8, 4(%esp)\n"
	"	pushl $" __stringify(__KERNEL_CS) "\n"
	"	pushl $__kretprobe_trampoline\n"
	"	pushl $-1\n"		/* orig_ax */
	"	pushl $0\n"		/* gs */
	"	pushl %fs; pushl %es; pushl %ds\n"
	"	pushl %eax; pushl %ebp; pushl %edi; pushl %esi\n"
	"	pushl %edx; pushl %ecx; pushl %ebx\n"
	ENCODE_FRAME_POINTER
	"	movl %esp, %eax\n"
	"	call kretprobe_native_handler\n"
	RESTORE_REGS_STRING
	"	popfl\n"
	"	leal 8(%esp), %esp\n"	/* sp, ss */
#endif
	ASM_RET
	".size __kretprobe_trampoline, .-__kretprobe_trampoline\n"
);
NOKPROBE_SYMBOL(__kretprobe_trampoline);

/* What the trampoline counts on. */
static_assert(sizeof(struct pt_regs) == (IS_ENABLED(CONFIG_X86_64) ? 168 : 68));

/*
 * It sets up no frame of its own: the frame pointer leads to the saved
 * registers, and from there to the caller.
 */
STACK_FRAME_NON_STANDARD_FP(__kretprobe_trampoline);
