/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Macros for the instructions of a differential test, in assembly. Before an architecture includes
 * this, it defines
 *
 *  - DIFF_PTR, the directive for an address, and DIFF_ANY_CPU, what any CPU has;
 *  - kinds of forms, see differential.h, in differential_forms.h.
 *
 * It also defines the macro form, which lays out one instruction, and ends with row_of_form.
 */
#ifndef _KERNEL_KPROBES_TESTS_DIFFERENTIAL_LISTS_S
#define _KERNEL_KPROBES_TESTS_DIFFERENTIAL_LISTS_S

/* A struct kpd_form. */
.macro row_of_form text:req, kind:req, with:req, cpu:req, back:req, entry:req, taken:req, \
		skip:req, len:req
	.pushsection .rodata.str1.1, "aMS", %progbits, 1
.Ltext_\@:
	.asciz	"\text"
	.popsection

	.pushsection .rodata, "a"
	DIFF_PTR .Ltext_\@
	DIFF_PTR \back
	DIFF_PTR \entry
	DIFF_PTR \taken
	.long	\with
	.short	\cpu
	.byte	\kind
	.byte	\skip
	.byte	\len
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
	on DIFF_ANY_CPU, \with, \kind, \insns
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

/* With a text of its own. */
.macro named kind:req, args:vararg
	form .L\kind, \args
.endm

#endif /* _KERNEL_KPROBES_TESTS_DIFFERENTIAL_LISTS_S */
