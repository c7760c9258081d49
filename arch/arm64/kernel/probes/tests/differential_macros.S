/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Macros that lay out the instructions of the differential test, for assembly.
 */
#ifndef _ARM64_KERNEL_PROBES_TESTS_DIFFERENTIAL_MACROS_S
#define _ARM64_KERNEL_PROBES_TESTS_DIFFERENTIAL_MACROS_S

#include <linux/linkage.h>

#include "differential_forms.h"

#define DIFF_PTR		.quad
#define DIFF_ANY_CPU		0
#include "differential_lists.S"

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

	.ifb	\text
	row_of_form "\insn", \kind, \with, \cpu, 0b, .Lentry_\@, 1b, .Linsn_\@ - .Lentry_\@, 4
	.else
	row_of_form "\text", \kind, \with, \cpu, 0b, .Lentry_\@, 1b, .Linsn_\@ - .Lentry_\@, 4
	.endif
.endm

/* The last instruction of a page. */
.macro at_end with:req, kind:req, insns:vararg
	.irp insn, \insns
	form .L\kind, "\insn", with=\with, at_end=1
	.endr
.endm

/* For what not all assemblers know. */
.macro plain_word word:req, text:req, with=0, cpu=0, at_end=0
	form DIFF_PLAIN, ".inst \word", "\text", \with, \cpu, \at_end
.endm

.macro emulated_word word:req, text:req, with=0, cpu=0, at_end=0
	form DIFF_EMULATED, ".inst \word", "\text", \with, \cpu, \at_end
.endm

#endif /* _ARM64_KERNEL_PROBES_TESTS_DIFFERENTIAL_MACROS_S */
