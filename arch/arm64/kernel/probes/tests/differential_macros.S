/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Macros that lay out the instructions of the differential test, for assembly.
 */
#ifndef _ARM64_KERNEL_PROBES_TESTS_DIFFERENTIAL_MACROS_S
#define _ARM64_KERNEL_PROBES_TESTS_DIFFERENTIAL_MACROS_S

#include <linux/linkage.h>

#include "differential_forms.h"

/* Bytes from the start of a form to its instruction. */
#define FORM_HEAD		20

/*
 * Each form is a function of its own, so that no instruction is near another one that is
 * part of an exclusive access. All targets of indirect branches have a landing pad, BTI of
 * both kinds. kpd_run() needs one register to branch to a form, which sets it itself.
 *
 * With at_end=1, the instruction is the last one of a page of 4 KiB.
 */
.macro form kind:req, insn:req, text="", with=0, cpu=0, at_end=0
	.pushsection .text, "ax"
	.if \at_end
	.balign 4096
	.skip	4096 - 4 - FORM_HEAD
	.else
	.balign 16
	.endif
	.type kpd_form_\@, %function
kpd_form_\@:
0:	hint	38
	b	kpd_back
.Lentry_\@:
	hint	38
	adrp	x16, kpd_machine
	ldr	x16, [x16, :lo12:kpd_machine + DIFF_REG(16)]
.Linsn_\@:
	\insn
	b	kpd_next
1:	hint	38
	b	kpd_taken
	.size kpd_form_\@, . - kpd_form_\@
	.popsection

	.pushsection .rodata.str1.1, "aMS", %progbits, 1
.Ltext_\@:
	.ifb	\text
	.asciz	"\insn"
	.else
	.asciz	"\text"
	.endif
	.popsection

	/* A struct kpd_form. */
	.pushsection .rodata, "a"
	.quad	.Ltext_\@
	.quad	0b, .Lentry_\@, 1b
	.long	\with
	.short	\cpu
	.byte	\kind
	.byte	.Linsn_\@ - .Lentry_\@
	.byte	4
	.balign 8
	.popsection
.endm

/*
 * Lists of instructions of one kind: for a CPU and a state, for a state, and for any.
 */
.Lfast = DIFF_FAST
.Lplain = DIFF_PLAIN
.Lemulated = DIFF_EMULATED

.macro on cpu:req, with:req, kind:req, insns:vararg
	.irp insn, \insns
	form .L\kind, "\insn", with=\with, cpu=\cpu
	.endr
.endm

.macro with with:req, kind:req, insns:vararg
	on 0, \with, \kind, \insns
.endm

.macro fast insns:vararg
	with 0, fast, \insns
.endm

.macro plain insns:vararg
	with 0, plain, \insns
.endm

.macro emulated insns:vararg
	with 0, emulated, \insns
.endm

/* The last instruction of a page. */
.macro at_end with:req, kind:req, insns:vararg
	.irp insn, \insns
	form .L\kind, "\insn", with=\with, at_end=1
	.endr
.endm

/* With a text of its own. */
.macro named kind:req, args:vararg
	form .L\kind, \args
.endm

/* For what not all assemblers know. */
.macro plain_word word:req, text:req, with=0, cpu=0, at_end=0
	form DIFF_PLAIN, ".inst \word", "\text", \with, \cpu, \at_end
.endm

.macro emulated_word word:req, text:req, with=0, cpu=0, at_end=0
	form DIFF_EMULATED, ".inst \word", "\text", \with, \cpu, \at_end
.endm

#endif /* _ARM64_KERNEL_PROBES_TESTS_DIFFERENTIAL_MACROS_S */
