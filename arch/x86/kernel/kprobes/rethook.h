/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For arch/x86/kernel/rethook.c: saves and restores the registers in its trampoline.
 */
#ifndef _X86_KERNEL_KPROBES_RETHOOK_H
#define _X86_KERNEL_KPROBES_RETHOOK_H

#include <asm/frame.h>

/*
 * With ss, sp and flags on the stack, SAVE_REGS_STRING completes a struct
 * pt_regs; cs, ip and orig_ax in it, and gs on 32 bit, are left unset.
 * RESTORE_REGS_STRING takes all of it off again, up to flags.
 */
#ifdef CONFIG_X86_64
#define SAVE_REGS_STRING						\
	"	leaq -24(%rsp), %rsp\n"					\
	"	pushq %rdi; pushq %rsi; pushq %rdx; pushq %rcx\n"	\
	"	pushq %rax; pushq %r8; pushq %r9; pushq %r10\n"		\
	"	pushq %r11; pushq %rbx; pushq %rbp; pushq %r12\n"	\
	"	pushq %r13; pushq %r14; pushq %r15\n"			\
	ENCODE_FRAME_POINTER
#define RESTORE_REGS_STRING						\
	"	popq %r15; popq %r14; popq %r13; popq %r12\n"		\
	"	popq %rbp; popq %rbx; popq %r11; popq %r10\n"		\
	"	popq %r9; popq %r8; popq %rax; popq %rcx\n"		\
	"	popq %rdx; popq %rsi; popq %rdi\n"			\
	"	leaq 24(%rsp), %rsp\n"
#else
#define SAVE_REGS_STRING						\
	"	leal -16(%esp), %esp\n"					\
	"	pushl %fs; pushl %es; pushl %ds\n"			\
	"	pushl %eax; pushl %ebp; pushl %edi; pushl %esi\n"	\
	"	pushl %edx; pushl %ecx; pushl %ebx\n"			\
	ENCODE_FRAME_POINTER
#define RESTORE_REGS_STRING						\
	"	popl %ebx; popl %ecx; popl %edx; popl %esi\n"		\
	"	popl %edi; popl %ebp; popl %eax\n"			\
	/* The callback changes neither ds, es, fs nor gs. */		\
	"	leal 28(%esp), %esp\n"
#endif

#endif /* _X86_KERNEL_KPROBES_RETHOOK_H */
