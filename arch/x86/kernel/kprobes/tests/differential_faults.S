/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instructions of the differential test of faults and watchpoints:
 *
 *	faulting WITH, "instruction", ...
 *	watched WITH, "instruction", ...
 *
 * Where the first kind faults, execution continues at a fixup. WITH selects the part
 * of the state that makes it fault, or leads it to the watched word.
 */

#include "differential_macros.S"

#include "differential_faults.h"

.macro faulting_form insn:req with:req
	.pushsection .text, "ax"
	.balign 16
	.type kpd_fault_\@, @function
kpd_fault_\@:
	ENDBR
.Linsn_\@:
	\insn
.Lend_\@:
	jmp kpd_next
.Lfixup_\@:
	ENDBR
	jmp kpd_taken
	.size kpd_fault_\@, . - kpd_fault_\@
	STACK_FRAME_NON_STANDARD kpd_fault_\@
	_ASM_EXTABLE(.Linsn_\@, .Lfixup_\@)
	.popsection

	row_of_form "\insn", DIFF_PLAIN, \with, X86_FEATURE_ALWAYS, .Lfixup_\@, kpd_fault_\@, \
		.Lfixup_\@, .Linsn_\@-kpd_fault_\@, .Lend_\@-.Linsn_\@
.endm

.macro faulting with:req insns:vararg
	.irp insn, \insns
	faulting_form "\insn", \with
	.endr
.endm

.macro watched with:req insns:vararg
	with \with, plain, \insns
.endm

	.pushsection .rodata, "a"
	.balign 8
SYM_DATA_START(kpd_faults)
	.popsection

#ifdef CONFIG_X86_64
#define ADDRESS	rbx
#else
#define ADDRESS	ebx
#endif

/* Reads. */
.irp reg, ADDRESS
	faulting AT_END, "movl (%\reg), %ecx", "movb 1(%\reg), %cl", "movzwl (%\reg), %ecx"
	faulting AT_END, "addl (%\reg), %ecx", "cmpl %ecx, (%\reg)", "testb $1, 4(%\reg)"
	faulting AT_END, "imull (%\reg), %edx", "cmovnel (%\reg), %edx"
.endr
	faulting SI_END, "lodsb", "lodsl"

/* Writes to unmapped and to read-only memory. */
.irp reg, ADDRESS
	faulting AT_END, "movl %ecx, (%\reg)"
	faulting READ_ONLY, "movb %cl, 2(%\reg)", "movl $0x12345678, (%\reg)", "addl %ecx, (%\reg)"
	faulting READ_ONLY, "lock xaddl %ecx, (%\reg)", "lock cmpxchgl %ecx, (%\reg)"
	faulting READ_ONLY, "lock btsl $5, (%\reg)"
	faulting AT_END, "xchgl %ecx, (%\reg)", "incl (%\reg)", "shll $3, (%\reg)"
	faulting READ_ONLY, "setc (%\reg)"
.endr
	faulting DI_END, "stosb"
	faulting DI_READ_ONLY, "stosl"

/* Partially executed: counters and pointers show how far. */
.irp size, b, w, l
	faulting SI_END|REPEATS, "rep movs\size"
	faulting DI_END|REPEATS, "rep movs\size", "rep stos\size"
	faulting SI_END|REPEATS, "rep lods\size", "repe cmps\size"
	faulting DI_END|REPEATS, "repne scas\size"
.endr
	faulting SI_START|REPEATS, "rep movsb"
	faulting DI_START|REPEATS, "rep stosl"
	faulting DI_READ_ONLY|REPEATS, "rep stosb"
	faulting SI_END|REPEATS, ".byte 0x2e; rep movsb"
	faulting LOW|REPEATS, ".byte 0x67; rep movsb"
	faulting LOW, ".byte 0x67; lodsb", ".byte 0x67; stosl"

/* Traps other than page faults. */
	faulting NO_DIVISOR, "divl %ecx", "idivb %cl"

#ifdef CONFIG_X86_64
	faulting AT_END, "movq (%rbx), %rcx", "movq %rcx, (%rbx)"
	faulting LOW, "movl (%ebx), %ecx", "movl %ecx, 8(%ebx)"
	faulting SI_END|REPEATS, "rep movsq"
	faulting DI_END|REPEATS, "rep stosq"
	faulting SI_START|REPEATS, "rep movsq"
	faulting SI_END|REPEATS, "rep movsb %fs:(%rsi), %es:(%rdi)"
	/* Nothing is mapped below the kernel's text. */
	faulting 0, "movl _text-0x10000(%rip), %ecx", "movq _text-0x10000(%rip), %r9"
	faulting 0, "addq %rcx, _text-0x10000(%rip)", "cmpl $0x11223344, _text-0x10000(%rip)"
	faulting 0, "movb $0x12, _text-0x10000(%rip)", "pushq _text-0x10000(%rip)"
	faulting AT_END, "pushq (%rbx)"
	faulting READ_ONLY, "popq (%rbx)"
	faulting NOT_CANONICAL, "movl (%rbx), %ecx", "movl %ecx, (%rbx)"
#else
	faulting AT_END, "pushl (%ebx)"
	faulting READ_ONLY, "popl (%ebx)"
	faulting AT_END, "boundl %ecx, (%ebx)", "lesl (%ebx), %ecx", "arpl %cx, (%ebx)"
	/* Addresses of 16 bits. */
	faulting LOW, "movl (%bx), %ecx", "movl (%bx,%si), %ecx", "movl 0x12(%bx,%di), %ecx"
	faulting LOW, "addl $3, 0x1234(%bx)", "movw %cx, (%si)"
	faulting LOW, ".byte 0x67, 0x8b, 0x0e, 0x34, 0x12"
#endif

	.pushsection .rodata, "a"
SYM_DATA_END_LABEL(kpd_faults, SYM_L_GLOBAL, kpd_faults_end)
	.balign 8
SYM_DATA_START(kpd_watched)
	.popsection

.irp reg, ADDRESS
	watched WATCHED, "movl %ecx, (%\reg)", "movl (%\reg), %ecx", "movb %cl, 1(%\reg)"
	watched WATCHED, "addl $3, (%\reg)", "lock xaddl %ecx, (%\reg)", "xchgl %ecx, (%\reg)"
	watched WATCHED, "push (%\reg)", "movl %ecx, 0x40(%\reg)"
.endr
	watched WATCHED, "stosl", "lodsb", "movsb"
	watched 0, "movl kpd_watch, %ecx"
#ifdef CONFIG_X86_64
	watched 0, "movl kpd_watch(%rip), %ecx", "addq %rcx, kpd_watch(%rip)"
#endif

	.pushsection .rodata, "a"
SYM_DATA_END_LABEL(kpd_watched, SYM_L_GLOBAL, kpd_watched_end)
	.popsection
