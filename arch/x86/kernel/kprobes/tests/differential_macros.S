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

/*
 * Each form is a function, since instruction boundaries are only known from the start
 * of one. All targets of indirect branches have a landing pad.
 */
.macro form kind:req insn:req with=0 cpu=X86_FEATURE_ALWAYS
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

/* A struct form. */
.macro row_of_form text:req kind:req with:req cpu:req back:req entry:req taken:req skip:req len:req
	.pushsection .rodata.str1.1, "aMS", @progbits, 1
.Ltext_\@:
	.asciz	"\text"
	.popsection

	.pushsection .rodata, "a"
	_ASM_PTR .Ltext_\@
	_ASM_PTR \back
	_ASM_PTR \entry
	_ASM_PTR \taken
	.long	\with
	.short	\cpu
	.byte	\kind
	.byte	\skip
	.byte	\len
	.balign 8
	.popsection
.endm

.macro fast args:vararg
	form DIFF_FAST, \args
.endm

.macro plain args:vararg
	form DIFF_PLAIN, \args
.endm

.macro emulated args:vararg
	form DIFF_EMULATED, \args
.endm

.macro stepped args:vararg
	form DIFF_STEPPED, \args
.endm

#endif /* _X86_KERNEL_KPROBES_TESTS_DIFFERENTIAL_MACROS_S */
