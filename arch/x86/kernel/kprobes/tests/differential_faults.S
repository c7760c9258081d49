/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instructions of the differential test of faults and watchpoints:
 *
 *	faulting "instruction" [, with=...]
 *	watched "instruction" [, with=...]
 *
 * Where the first kind faults, execution continues at a fixup. with= selects the part
 * of the state that makes it fault, or leads it to the watched word.
 */

#include "differential_macros.S"

#include "differential_faults.h"

.macro faulting insn:req with=0 cpu=X86_FEATURE_ALWAYS
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

	row_of_form "\insn", DIFF_PLAIN, \with, \cpu, .Lfixup_\@, kpd_fault_\@, .Lfixup_\@, \
		.Linsn_\@-kpd_fault_\@, .Lend_\@-.Linsn_\@
.endm

.macro watched insn:req with=0 cpu=X86_FEATURE_ALWAYS
	form DIFF_PLAIN, "\insn", \with, \cpu
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
	faulting "movl (%\reg), %ecx", with=AT_END
	faulting "movb 1(%\reg), %cl", with=AT_END
	faulting "movzwl (%\reg), %ecx", with=AT_END
	faulting "addl (%\reg), %ecx", with=AT_END
	faulting "cmpl %ecx, (%\reg)", with=AT_END
	faulting "testb $1, 4(%\reg)", with=AT_END
	faulting "imull (%\reg), %edx", with=AT_END
	faulting "cmovnel (%\reg), %edx", with=AT_END
.endr
	faulting "lodsb", with=SI_END
	faulting "lodsl", with=SI_END

/* Writes to unmapped and to read-only memory. */
.irp reg, ADDRESS
	faulting "movl %ecx, (%\reg)", with=AT_END
	faulting "movb %cl, 2(%\reg)", with=READ_ONLY
	faulting "movl $0x12345678, (%\reg)", with=READ_ONLY
	faulting "addl %ecx, (%\reg)", with=READ_ONLY
	faulting "lock xaddl %ecx, (%\reg)", with=READ_ONLY
	faulting "lock cmpxchgl %ecx, (%\reg)", with=READ_ONLY
	faulting "lock btsl $5, (%\reg)", with=READ_ONLY
	faulting "xchgl %ecx, (%\reg)", with=AT_END
	faulting "incl (%\reg)", with=AT_END
	faulting "shll $3, (%\reg)", with=AT_END
	faulting "setc (%\reg)", with=READ_ONLY
.endr
	faulting "stosb", with=DI_END
	faulting "stosl", with=DI_READ_ONLY

/* Partially executed: counters and pointers show how far. */
.irp size, b, w, l
	faulting "rep movs\size", with=SI_END|REPEATS
	faulting "rep movs\size", with=DI_END|REPEATS
	faulting "rep stos\size", with=DI_END|REPEATS
	faulting "rep lods\size", with=SI_END|REPEATS
	faulting "repe cmps\size", with=SI_END|REPEATS
	faulting "repne scas\size", with=DI_END|REPEATS
.endr
	faulting "rep movsb", with=SI_START|REPEATS
	faulting "rep stosl", with=DI_START|REPEATS
	faulting "rep stosb", with=DI_READ_ONLY|REPEATS
	faulting ".byte 0x2e; rep movsb", with=SI_END|REPEATS
	faulting ".byte 0x67; rep movsb", with=LOW|REPEATS
	faulting ".byte 0x67; lodsb", with=LOW
	faulting ".byte 0x67; stosl", with=LOW

/* Traps other than page faults. */
	faulting "divl %ecx", with=NO_DIVISOR
	faulting "idivb %cl", with=NO_DIVISOR

#ifdef CONFIG_X86_64
	faulting "movq (%rbx), %rcx", with=AT_END
	faulting "movq %rcx, (%rbx)", with=AT_END
	faulting "movl (%ebx), %ecx", with=LOW
	faulting "movl %ecx, 8(%ebx)", with=LOW
	faulting "rep movsq", with=SI_END|REPEATS
	faulting "rep stosq", with=DI_END|REPEATS
	faulting "rep movsq", with=SI_START|REPEATS
	faulting "rep movsb %fs:(%rsi), %es:(%rdi)", with=SI_END|REPEATS
	/* Nothing is mapped below the kernel's text. */
	faulting "movl _text-0x10000(%rip), %ecx"
	faulting "movq _text-0x10000(%rip), %r9"
	faulting "addq %rcx, _text-0x10000(%rip)"
	faulting "cmpl $0x11223344, _text-0x10000(%rip)"
	faulting "movb $0x12, _text-0x10000(%rip)"
	faulting "pushq _text-0x10000(%rip)"
	faulting "pushq (%rbx)", with=AT_END
	faulting "popq (%rbx)", with=READ_ONLY
	faulting "movl (%rbx), %ecx", with=NOT_CANONICAL
	faulting "movl %ecx, (%rbx)", with=NOT_CANONICAL
#else
	faulting "pushl (%ebx)", with=AT_END
	faulting "popl (%ebx)", with=READ_ONLY
	faulting "boundl %ecx, (%ebx)", with=AT_END
	faulting "lesl (%ebx), %ecx", with=AT_END
	faulting "arpl %cx, (%ebx)", with=AT_END
	/* Addresses of 16 bits. */
	faulting "movl (%bx), %ecx", with=LOW
	faulting "movl (%bx,%si), %ecx", with=LOW
	faulting "movl 0x12(%bx,%di), %ecx", with=LOW
	faulting "addl $3, 0x1234(%bx)", with=LOW
	faulting "movw %cx, (%si)", with=LOW
	faulting ".byte 0x67, 0x8b, 0x0e, 0x34, 0x12", with=LOW
#endif

	.pushsection .rodata, "a"
SYM_DATA_END_LABEL(kpd_faults, SYM_L_GLOBAL, kpd_faults_end)
	.balign 8
SYM_DATA_START(kpd_watched)
	.popsection

.irp reg, ADDRESS
	watched "movl %ecx, (%\reg)", with=WATCHED
	watched "movl (%\reg), %ecx", with=WATCHED
	watched "movb %cl, 1(%\reg)", with=WATCHED
	watched "addl $3, (%\reg)", with=WATCHED
	watched "lock xaddl %ecx, (%\reg)", with=WATCHED
	watched "xchgl %ecx, (%\reg)", with=WATCHED
	watched "push (%\reg)", with=WATCHED
	watched "movl %ecx, 0x40(%\reg)", with=WATCHED
.endr
	watched "stosl", with=WATCHED
	watched "lodsb", with=WATCHED
	watched "movsb", with=WATCHED
	watched "movl kpd_watch, %ecx"
#ifdef CONFIG_X86_64
	watched "movl kpd_watch(%rip), %ecx"
	watched "addq %rcx, kpd_watch(%rip)"
#endif

	.pushsection .rodata, "a"
SYM_DATA_END_LABEL(kpd_watched, SYM_L_GLOBAL, kpd_watched_end)
	.popsection
