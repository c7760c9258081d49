/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Macros that lay out the instructions of the differential tests, for assembly.
 */
#ifndef _X86_KERNEL_KPROBES_TESTS_DIFFERENTIAL_MACROS_S
#define _X86_KERNEL_KPROBES_TESTS_DIFFERENTIAL_MACROS_S

#include <linux/linkage.h>
#include <linux/objtool.h>

#include <asm/asm.h>
#include <asm/cpufeatures.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>

#include "differential_forms.h"

#define DIFF_PTR		_ASM_PTR
#define DIFF_ANY_CPU		X86_FEATURE_ALWAYS
#include "differential_lists.S"

/*
 * Each form is a function, since instruction boundaries are only known from the start
 * of one. All targets of indirect branches have a landing pad.
 */
.macro form_as_written kind:req insn:req with:req cpu:req unused
	.pushsection .text, "ax"
	.balign 16
	.type kpd_form_\@, @function
kpd_form_\@:
0:	ENDBR
	jmp	kpd_back
.Lentry_\@:
	ENDBR
	/* No table of landing pads has the address of the form, which would keep jumps off it. */
	nop
	.if (\with) & INDIRECT
	ANNOTATE_RETPOLINE_SAFE
	.endif
.Linsn_\@:
	\insn
.Lend_\@:
	jmp	kpd_next
1:	ENDBR
	jmp	kpd_taken
	.size kpd_form_\@, . - kpd_form_\@
	STACK_FRAME_NON_STANDARD kpd_form_\@
	.popsection

	row_of_form "\insn", \kind, \with, \cpu, 0b, .Lentry_\@, 1b, \
		.Linsn_\@-.Lentry_\@, .Lend_\@-.Linsn_\@
.endm

/*
 * An instruction may be written for both modes: \bx is %rbx or %ebx, \q the suffix of words, and
 * \rip what makes an address relative. An assembler warns of an instruction that uses none of
 * them, so all do.
 */
#ifdef CONFIG_X86_64
#define OF_THIS_MODE	q, "(%rip)", %rax, %rbx, %rcx, %rdx, %rsi, %rdi, %rbp, %rsp
#else
#define OF_THIS_MODE	l, "", %eax, %ebx, %ecx, %edx, %esi, %edi, %ebp, %esp
#endif

.macro form kind:req insn:req with=0 cpu=X86_FEATURE_ALWAYS
	.macro form_of_mode q, rip, ax, bx, cx, dx, si, di, bp, sp
	form_as_written \kind, "\insn", \with, \cpu, \q
	.endm
	form_of_mode OF_THIS_MODE
	.purgem form_of_mode
.endm

.Lstepped = DIFF_STEPPED

.macro stepped insns:vararg
	with 0, stepped, \insns
.endm

#endif /* _X86_KERNEL_KPROBES_TESTS_DIFFERENTIAL_MACROS_S */
