/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Macros that lay out the instructions of the differential test, for assembly.
 */
#ifndef _POWERPC_KERNEL_KPROBES_TESTS_DIFFERENTIAL_MACROS_S
#define _POWERPC_KERNEL_KPROBES_TESTS_DIFFERENTIAL_MACROS_S

#include <asm/asm-compat.h>

#include "differential_forms.h"

#define DIFF_PTR		PPC_LONG
#define DIFF_ANY_CPU		CPU_ANY
#include "differential_lists.S"

/*
 * Each form is a function of its own, so that no instruction is near another one that is part
 * of an atomic sequence. kpd_run() needs three registers to branch to a form, which sets them
 * itself. No prefixed instruction crosses a boundary of 64 bytes.
 */
.macro form kind:req, insn:req, text="", with=0, cpu=0
	.pushsection .text, "ax"
	.balign 32
	.type kpd_form_\@, @function
kpd_form_\@:
0:	b	kpd_back
.Lentry_\@:
	PPC_LL	r11, DIFF_CTR(r12)
	mtctr	r11
	PPC_LL	r11, DIFF_REG(11)(r12)
	PPC_LL	r12, DIFF_REG(12)(r12)
.Linsn_\@:
	\insn
.Lnext_\@:
	b	kpd_next
1:	b	kpd_taken
	.size kpd_form_\@, . - kpd_form_\@
	.popsection

	.ifb	\text
	row_of_form "\insn", \kind, \with, \cpu, 0b, .Lentry_\@, 1b, \
		.Linsn_\@ - .Lentry_\@, .Lnext_\@ - .Linsn_\@
	.else
	row_of_form "\text", \kind, \with, \cpu, 0b, .Lentry_\@, 1b, \
		.Linsn_\@ - .Lentry_\@, .Lnext_\@ - .Linsn_\@
	.endif
.endm

/* For what not all assemblers know. */
.macro plain_word word:req, text:req, with=0, cpu=0
	form DIFF_PLAIN, ".long \word", "\text", \with, \cpu
.endm

.macro fast_word word:req, text:req, with=0, cpu=0
	form DIFF_FAST, ".long \word", "\text", \with, \cpu
.endm

.macro emulated_word word:req, text:req, with=0, cpu=0
	form DIFF_EMULATED, ".long \word", "\text", \with, \cpu
.endm

/* Prefixed instructions: these have two words. */
.macro plain_pair prefix:req, suffix:req, text:req, with=0
	form DIFF_PLAIN, ".long \prefix, \suffix", "\text", \with, CPU_310
.endm

.macro fast_pair prefix:req, suffix:req, text:req, with=0
	form DIFF_FAST, ".long \prefix, \suffix", "\text", \with, CPU_310
.endm

#endif /* _POWERPC_KERNEL_KPROBES_TESTS_DIFFERENTIAL_MACROS_S */
