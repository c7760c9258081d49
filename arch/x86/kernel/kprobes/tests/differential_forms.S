/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instructions of the differential test, one per row:
 *
 *	KIND "instruction" [, with=...] [, cpu=...]
 *
 * KIND is how it has to be executed under a probe (DIFF_* in differential_forms.h): fast,
 * plain, emulated or stepped. "1f" in it is a label after it, "0b" one before it;
 * with= is what it requires of the state, cpu= a feature without which it is skipped.
 *
 * All registers, the stack and kpd_data are random. Registers that address memory
 * point to the middle of kpd_data, indices are small; branches through registers,
 * memory and the stack find "1f" there. Only LEA and NOP may address anything.
 */

#include <linux/linkage.h>
#include <linux/objtool.h>

#include <asm/asm.h>
#include <asm/cpufeatures.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>

#include "differential_forms.h"
#include "differential_macros.S"

/*
 * Runs kpd_machine.code in the state of kpd_machine, and saves the resulting state.
 * Nothing between the load of the flags and their store changes them. With all
 * registers in use, the state can only be addressed absolutely.
 */
#ifdef CONFIG_X86_64
#define STATE(field)		kpd_machine + field(%rip)
#else
#define STATE(field)		kpd_machine + field
#endif

.macro each_reg op:req
	\op 0, %_ASM_AX
	\op 1, %_ASM_CX
	\op 2, %_ASM_DX
	\op 3, %_ASM_BX
	\op 5, %_ASM_BP
	\op 6, %_ASM_SI
	\op 7, %_ASM_DI
#ifdef CONFIG_X86_64
	\op 8, %r8
	\op 9, %r9
	\op 10, %r10
	\op 11, %r11
	\op 12, %r12
	\op 13, %r13
	\op 14, %r14
	\op 15, %r15
#endif
	\op 4, %_ASM_SP
.endm

/* Callee-saved registers. */
#ifdef CONFIG_X86_64
#define CALLEE_SAVED		rbx, rbp, r12, r13, r14, r15
#define CALLEE_SAVED_BACK	r15, r14, r13, r12, rbp, rbx
#else
#define CALLEE_SAVED		ebx, ebp, esi, edi
#define CALLEE_SAVED_BACK	edi, esi, ebp, ebx
#endif

.macro load_reg n:req reg:req
	mov	STATE(DIFF_REG(\n)), \reg
.endm

.macro store_reg n:req reg:req
	mov	\reg, STATE(DIFF_REG(\n))
.endm

	.text
SYM_FUNC_START(kpd_run)
.irp reg, CALLEE_SAVED
	push	%\reg
.endr
	pushf
	movw	%es, STATE(DIFF_HOST_ES)
	movw	STATE(DIFF_ES), %es
	mov	%_ASM_SP, STATE(DIFF_HOST_SP)
	push	STATE(DIFF_FLAGS)
	popf
	each_reg load_reg
	ANNOTATE_RETPOLINE_SAFE
	jmp	*STATE(DIFF_CODE)

SYM_INNER_LABEL(kpd_next, SYM_L_GLOBAL)
	movl	$DIFF_NEXT, STATE(DIFF_EXIT)
	jmp	.Lstore
SYM_INNER_LABEL(kpd_back, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	movl	$DIFF_BACK, STATE(DIFF_EXIT)
	jmp	.Lstore
SYM_INNER_LABEL(kpd_taken, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	movl	$DIFF_TAKEN, STATE(DIFF_EXIT)
.Lstore:
	each_reg store_reg
	mov	STATE(DIFF_HOST_SP), %_ASM_SP
	pushf
	pop	STATE(DIFF_FLAGS)
	movw	%es, STATE(DIFF_ES)
	movw	STATE(DIFF_HOST_ES), %es
	popf
.irp reg, CALLEE_SAVED_BACK
	pop	%\reg
.endr
	RET
SYM_FUNC_END(kpd_run)
/* Its intermediate states cannot be described to the unwinder. */
STACK_FRAME_NON_STANDARD kpd_run

/* A function to be inside of: its NOP is probed. */
SYM_FUNC_START(kpd_outer)
SYM_INNER_LABEL(kpd_outer_insn, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	nop
	RET
SYM_FUNC_END(kpd_outer)

/*
 * A function to be called by a form: its NOPs are room for a jump. Before it there must be
 * no room for what counts the depth of calls: the kernel would replace a call of five bytes,
 * and that of the form has prefixes.
 */
	.balign 16, 0xcc
	.skip 16, 0xcc
SYM_FUNC_START_NOALIGN(kpd_callee)
	ANNOTATE_NOENDBR
.rept 5
	nop
.endr
	RET
SYM_FUNC_END(kpd_callee)

	.pushsection .rodata, "a"
	.balign 8
SYM_DATA_START(kpd_forms)
	.popsection

/*
 * Between two registers, assemblers choose the opcodes that store. These are the ones
 * that load a word; one less loads a byte. Not all assemblers have a syntax for them.
 */
.Lload_add = 0x03
.Lload_or  = 0x0b
.Lload_adc = 0x13
.Lload_sbb = 0x1b
.Lload_and = 0x23
.Lload_sub = 0x2b
.Lload_xor = 0x33
.Lload_cmp = 0x3b

#ifdef CONFIG_X86_32
#include "differential_forms_32.S"
#else
/*
 * Arithmetic: emulated between registers, except for operations with carry.
 */
.irp op, add, or, and, sub, xor, cmp
	fast "\op\()l %eax, %edx"
	fast ".byte .Lload_\op, 0xd0"
	fast "\op\()q %rbx, %rcx"
	fast "\op\()q %r14, %rax"
	fast "\op\()l %ecx, %r9d"
	fast "\op\()l $0x12345678, %ebx"
	fast "\op\()q $-0x12345678, %r10"
	fast "\op\()l $-5, %esi"
	fast "\op\()q $127, %rdi"
	fast "\op\()l $0x7fffffff, %eax"
	fast "\op\()q $-0x80000000, %rax"
	plain "\op\()b $0x80, %al"
	plain "\op\()b %cl, %dl"
	plain "\op\()b %ah, %bh"
	plain "\op\()b %sil, %dl"
	plain ".byte .Lload_\op - 1, 0xd1"
	plain "\op\()b $3, %cl"
	plain "\op\()w %cx, %dx"
	plain "\op\()w $-3, %cx"
	plain "\op\()w $0x1234, %cx"
	plain "\op\()l %ecx, (%rbx)"
	plain "\op\()l 16(%rbx), %ecx"
	plain "\op\()q %rcx, 8(%r12)"
	plain "\op\()q -8(%r13,%rcx,4), %rdx"
	plain "\op\()b $3, 0x80(%rsi)"
	plain "\op\()q $-3, kpd_data+8(%rip)"
	plain "\op\()l $0x11223344, kpd_data+100(%rip)"
	plain "\op\()w %ax, 8(%rsp)"
.endr
.irp op, adc, sbb
	plain "\op\()l %eax, %edx"
	plain ".byte 0x48, .Lload_\op, 0xd0"
	plain "\op\()l $0x12345678, %ebx"
	plain "\op\()l $-5, %esi"
	plain "\op\()q $0x7fffffff, %rax"
	plain "\op\()b %cl, %dl"
	plain "\op\()w %cx, %dx"
	plain "\op\()q %rcx, (%rbx)"
	plain "\op\()b $3, (%rsi)"
	plain "\op\()l $-3, kpd_data+8(%rip)"
.endr
	fast "subq $0x28, %rsp", with=ALLOCATES
	fast "addq $0x108, %rsp"
	fast "andq $-32, %rsp", with=ALLOCATES
	fast "cmpq %rsp, %rbp"
	fast "cmpl $8, %esp"
	fast "testl %ecx, %edi"
	fast "testl %edx, %edx"
	fast "testq %r8, %r8"
	fast "testq %rsp, %rsp"
	fast "testl $0x80000001, %esi"
	fast "testq $-0x80000000, %rbx"
	fast "testl $0x10, %eax"
	fast "testq $-2, %rax"
	plain "testb $0x55, %al"
	plain "testb %cl, %dl"
	plain "testw %cx, %dx"
	plain "testb $1, %ch"
	plain "testw $0x8001, %dx"
	plain "testb $1, (%rbx)"
	plain "testl $0x100, 4(%rbx)"
	plain "testq %rcx, kpd_data(%rip)"

.irp op, not, neg
	plain "\op\()b %cl"
	plain "\op\()w %cx"
	plain "\op\()l %ecx"
	plain "\op\()q %r10"
	plain "\op\()l (%rbx)"
	plain "lock \op\()q 8(%rbx)"
.endr
.irp op, mul, imul
	plain "\op\()b %cl"
	plain "\op\()w %cx"
	plain "\op\()l %ecx"
	plain "\op\()q %r10"
	plain "\op\()l (%rbx)"
.endr
.irp op, div, idiv
	plain "\op\()b %cl", with=DIVIDE
	plain "\op\()w %cx", with=DIVIDE
	plain "\op\()l %ecx", with=DIVIDE
	plain "\op\()q %rcx", with=DIVIDE
.endr
	plain "imull %ecx, %edx"
	plain "imulq 8(%rbx), %rdx"
	plain "imull $0x12345, %ecx, %edx"
	plain "imulq $-3, %rcx, %rdx"
	plain "imulw $300, kpd_data(%rip), %cx"
.irp op, inc, dec
	plain "\op\()b %cl"
	plain "\op\()w %cx"
	plain "\op\()l %ecx"
	plain "\op\()q %r10"
	plain "\op\()b (%rbx)"
	plain "\op\()l 4(%rbx,%rdx,8)"
	plain "lock \op\()l kpd_data(%rip)"
.endr
.irp op, rol, ror, rcl, rcr, shl, shr, sar
	plain "\op\()b $3, %dl"
	plain "\op\()l $3, %edx"
	plain "\op\()q $33, %r10"
	plain "\op\()l $1, %edx"
	plain "\op\()b $1, %dl"
	plain "\op\()l %cl, %edx"
	plain "\op\()b %cl, %dl"
	plain "\op\()w %cl, %dx"
	plain "\op\()l $7, (%rbx)"
	plain "\op\()q %cl, kpd_data(%rip)"
.endr
	plain "shldl $5, %eax, %edx"
	plain "shldq %cl, %rax, %rdx"
	plain "shrdl $5, %eax, %edx"
	plain "shrdq %cl, %rax, (%rbx)"

/* With a lock prefix, and other atomic operations. */
.irp op, add, or, adc, sbb, and, sub, xor
	plain "lock \op\()l %ecx, (%rbx)"
	plain "lock \op\()q $1, 8(%rbx)"
.endr
	plain "xaddl %ecx, %edx"
	plain "xaddb %cl, %dl"
	plain "lock xaddq %rcx, (%rbx)"
	plain "lock xaddl %ecx, kpd_data(%rip)"
	plain "cmpxchgl %ecx, %edx"
	plain "cmpxchgb %cl, %dl"
	plain "lock cmpxchgq %rcx, (%rbx)", with=EQUAL
	plain "lock cmpxchgl %ecx, 4(%rbx)", with=EQUAL
	plain "lock cmpxchgw %cx, kpd_data(%rip)", with=EQUAL
	plain "lock cmpxchg8b (%rsi)", with=EQUAL
	plain "lock cmpxchg16b (%rsi)", with=EQUAL, cpu=X86_FEATURE_CX16
	plain "xchgl %ecx, %edx"
	plain "xchgb %cl, %dh"
	plain "xchgq %rcx, (%rbx)"
	plain "xchgl %eax, %ecx"
	plain "xchgq %rax, %r8"
	plain "xchgw %ax, %dx"

/*
 * Moves.
 */
	fast "movl %eax, %ebx"
	fast ".byte 0x8b, 0xd8"
	fast "movq %rcx, %rdx"
	fast "movq %r8, %r15"
	fast "movl %r9d, %eax"
	fast "movq %rsp, %rbp"
	fast ".byte 0x48, 0x8b, 0xec"
	fast "movq %rbp, %rsp", with=BP_STACK
	fast "movl $0x89abcdef, %ecx"
	fast "movl $1, %r11d"
	fast "movabsq $0x123456789abcdef0, %rdx"
	fast "movabsq $0xfedcba9876543210, %r11"
	fast ".byte 0xc7, 0xc2, 0xff, 0xff, 0xff, 0xff"
	fast "movq $-2, %rcx"
	fast "movq $-2, %r10"
	plain "movb %cl, %dl"
	plain "movb %ah, %ch"
	plain "movb %sil, %dil"
	plain ".byte 0x8a, 0xd1"
	plain "movw %cx, %dx"
	plain "movb $0x12, %cl"
	plain "movb $0x12, %ah"
	plain "movw $0x1234, %cx"
	plain "movl %ecx, (%rbx)"
	plain "movq %rcx, 8(%rsp)"
	plain "movq %rcx, 0x70(%rbp)"
	plain "movq %rsp, (%rbx)"
	plain "movl (%rbx), %ecx"
	plain "movq (%rsp), %rcx"
	plain "movq 0x10(%rbx), %rcx"
	plain "movq 0xa0(%rbx), %rcx"
	plain "movq (%r12), %rcx"
	plain "movq (%r13), %rcx"
	plain "movl (%rbx,%rcx), %edx"
	plain "movl 4(%rbx,%rcx,2), %edx"
	plain "movl 0x88(%rbx,%rcx,4), %edx"
	plain "movq (%r8,%r9,8), %r10"
	plain "movq 8(%rsp,%rcx,8), %rdx"
	plain "movl kpd_data(%rip), %ecx"
	plain "movq %r15, kpd_data+16(%rip)"
	plain "movb (%rbx), %cl"
	plain "movb %ch, (%rbx)"
	plain "movw (%rbx), %cx"
	plain "movb $0x12, (%rbx)"
	plain "movl $0x12345678, 4(%rbx)"
	plain "movq $-3, kpd_data+24(%rip)"
	plain "movw $0x1234, kpd_data+24(%rip)"
	plain ".byte 0x2e, 0x2e, 0x2e; movq $0x12345678, 0x88(%rbx,%rcx,4)"
	plain "movabsl kpd_data, %eax"
	plain "movabsq %rax, kpd_data"
	plain "movabsb kpd_data, %al"
	plain ".byte 0x3e; movl (%rbx), %ecx"
	plain ".byte 0x2e; movl (%rbx), %ecx"
	plain ".byte 0x26; movl (%rbx), %ecx"
#ifdef CONFIG_SMP
	plain "movq %gs:kpd_percpu(%rip), %rcx"
	plain "movl %ecx, %gs:kpd_percpu(%rip)"
	plain "addl $3, %gs:kpd_percpu(%rip)"
#endif
	plain "movzbl %cl, %edx"
	plain "movzbl %ch, %edx"
	plain "movzbq (%rbx), %rdx"
	plain "movzwl %cx, %edx"
	plain "movzwl kpd_data(%rip), %edx"
	plain "movzbw %cl, %dx"
	plain "movsbl %cl, %edx"
	plain "movsbq (%rbx), %rdx"
	plain "movswl %cx, %edx"
	plain "movswq 2(%rbx), %rdx"
	plain "movslq %ecx, %rdx"
	plain "movslq kpd_data(%rip), %rdx"
	plain "movnti %rcx, (%rbx)"
	plain "movbel (%rbx), %ecx", cpu=X86_FEATURE_MOVBE
	plain "movbeq %rcx, 8(%rbx)", cpu=X86_FEATURE_MOVBE
	plain "bswapl %ecx"
	plain "bswapq %rdx"
	plain "bswapq %r9"
	plain "cbtw"
	plain "cwtl"
	plain "cltq"
	plain "cwtd"
	plain "cltd"
	plain "cqto"
	plain "xlatb", with=TABLE

	fast "leaq -8(%rbx), %rax"
	fast "leaq 0x12345(%rsi), %rdi"
	fast "leaq (%rcx,%rdx,4), %rax"
	fast "leaq (%rcx,%rdx), %rax"
	fast "leal 0x10(%rbp,%rdx,8), %eax"
	fast "leaq 0x100(,%rdi,2), %rax"
	fast "leaq 0(,%r9,8), %rax"
	fast "leaq (%rbp), %rax"
	fast "leaq (%rax), %rcx"
	fast "leaq 0x18(%rsp), %rax"
	fast "leaq 8(%r12), %rax"
	fast "leaq (%r13), %rax"
	fast "leaq 4(%rax,%r12,8), %rcx"
	fast "leaq 0x1000(%r13,%rdx,2), %rcx"
	fast "leaq -0x40(%rsp), %rsp", with=ALLOCATES
	fast "leaq 8(%rbp), %rsp", with=BP_STACK
	fast "leaq kpd_data+0x1000(%rip), %rsi"
	fast "leal kpd_data+0x1000(%rip), %esi"
	fast "leaq kpd_data(%rip), %r8"
	plain "leaw 8(%rbx), %cx"
	plain "leal 8(%ebx), %ecx"
	plain "leaq 8(%ebx,%ecx,2), %rcx"

	fast "nop"
	fast "xchgw %ax, %ax"
	fast "pause"
	fast ".byte 0x48, 0x90"
	fast "nopl (%rax)"
	fast "nopl 8(%rax,%rax,2)"
	fast "nopl 0x1000(%rax)"
	fast "nopw %cs:0x1000(%rax,%rax)"
	fast "nopl %ecx"
	fast ".byte 0x67; nop"
	fast ".byte 0x2e; nop"
	plain "endbr64"
	plain "prefetcht0 (%rbx)"
	plain "prefetchw (%rbx)", cpu=X86_FEATURE_3DNOWPREFETCH
	plain "xchgl %eax, %r8d"
	plain ".byte 0x0f, 0x1e, 0xc8"

/* A traced function, made by the compiler. */
#ifdef CONFIG_KPROBES_ON_FTRACE
	row_of_form "call __fentry__", DIFF_FTRACE, TRACED, X86_FEATURE_ALWAYS, \
		kpd_back, kpd_traced, kpd_taken, 4*HAS_KERNEL_IBT, 5
#endif

/*
 * Conditions and bits.
 */
.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	emulated "j\cc 1f"
	emulated "j\cc kpd_taken"
	plain "set\cc %cl"
	plain "cmov\cc\()l %ecx, %edx"
.endr
	emulated "je 0b"
	emulated ".byte 0x3e; je 1f"
	emulated ".byte 0x2e; jne kpd_taken"
	emulated ".byte 0xf2; jne 1f"
	emulated ".byte 0x48; jl 1f"
	plain "setne (%rbx)"
	plain "setl kpd_data(%rip)"
	plain "cmovneq (%rbx), %rdx"
	plain "cmovsw %cx, %dx"
	plain "cmovgq kpd_data(%rip), %rdx"
.irp op, bt, bts, btr, btc
	plain "\op\()l %ecx, %edx"
	plain "\op\()q %rcx, %rdx"
	plain "\op\()l $17, %edx"
	plain "\op\()q $63, %r10"
	plain "\op\()l $5, (%rbx)"
	plain "\op\()q %rax, (%rbx)", with=BITS
.endr
.irp op, bts, btr, btc
	plain "lock \op\()l $5, kpd_data(%rip)"
	plain "lock \op\()q %rax, 8(%rbx)", with=BITS
.endr
	plain "bsfl %ecx, %edx"
	plain "bsrq %rcx, %rdx"
	plain "tzcntl %ecx, %edx"
	plain "lzcntq (%rbx), %rdx"
	plain "popcntl %ecx, %edx", cpu=X86_FEATURE_POPCNT
	plain "popcntq (%rbx), %rdx", cpu=X86_FEATURE_POPCNT
	plain "crc32b %cl, %edx", cpu=X86_FEATURE_XMM4_2
	plain "crc32q (%rbx), %rdx", cpu=X86_FEATURE_XMM4_2
	plain "adcxq %rcx, %rdx", cpu=X86_FEATURE_ADX
	plain "andnl %ecx, %edx, %edi", cpu=X86_FEATURE_BMI1
	plain "bextrq %rcx, (%rbx), %rdx", cpu=X86_FEATURE_BMI1
	plain "blsil %ecx, %edx", cpu=X86_FEATURE_BMI1
	plain "blsrq %rcx, %rdx", cpu=X86_FEATURE_BMI1
	plain "blsmskl (%rbx), %edx", cpu=X86_FEATURE_BMI1
	plain "bzhil %ecx, %edx, %edi", cpu=X86_FEATURE_BMI2
	plain "mulxq %rcx, %rbx, %rdi", cpu=X86_FEATURE_BMI2
	plain "pdepl %ecx, %edx, %edi", cpu=X86_FEATURE_BMI2
	plain "pextq %rcx, %rdx, %rdi", cpu=X86_FEATURE_BMI2
	plain "rorxl $5, kpd_data(%rip), %edx", cpu=X86_FEATURE_BMI2
	plain "sarxl %ecx, %edx, %edi", cpu=X86_FEATURE_BMI2
	plain "shlxq %rcx, (%rbx), %rdi", cpu=X86_FEATURE_BMI2
	plain "clc"
	plain "stc"
	plain "cmc"
	plain "cld"
	plain "std"
	plain "lahf"
	plain "sahf"
	plain "clac", cpu=X86_FEATURE_SMAP
	plain "stac", cpu=X86_FEATURE_SMAP
	emulated "cli"
	emulated "sti", with=IRQ_ON

/*
 * Branches.
 */
	emulated "jmp 1f"
	emulated "jmp 0b"
	emulated "jmp kpd_taken"
	emulated ".byte 0x2e; jmp kpd_back"
	emulated ".byte 0xf2; jmp 1f"
.irp op, loop, loope, loopne, jrcxz
	emulated "\op 1f", with=SHORT_COUNT
.endr
	emulated "loop 0b", with=SHORT_COUNT
	emulated ".byte 0x67; loop 1f", with=SHORT_COUNT
	emulated ".byte 0x67; loope 1f", with=SHORT_COUNT
	emulated ".byte 0x67; loopne 1f", with=SHORT_COUNT
	emulated "jecxz 1f", with=SHORT_COUNT
	emulated ".byte 0x48; loop 1f", with=SHORT_COUNT
	emulated "call 1f"
	emulated ".byte 0x2e; call 1f"
	emulated ".byte 0x2e, 0x2e; call kpd_back"
	emulated ".byte 0x2e, 0x3e; call kpd_callee", with=CALLEE
	emulated ".byte 0xf2; call 1f"
	emulated ".byte 0x48; call 1f"
	emulated "call *%rax", with=INDIRECT
	emulated "call *%r11", with=INDIRECT
	emulated "call *%rbp", with=INDIRECT
	emulated ".byte 0x2e; call *%rdx", with=INDIRECT
	emulated "jmp *%rdx", with=INDIRECT
	emulated "jmp *%r10", with=INDIRECT
	emulated "jmp *%rbp", with=INDIRECT
	stepped "call *(%rbx)", with=INDIRECT
	stepped "call *8(%rbx)", with=INDIRECT
	stepped "call *0x80(%r12)", with=INDIRECT
	stepped "call *(%rbx,%rcx,8)", with=INDIRECT
	stepped "call *8(%rsp)", with=INDIRECT
	stepped "call *(%rsp)", with=INDIRECT
	stepped "call *kpd_data+16(%rip)", with=INDIRECT
	stepped ".byte 0x2e; call *(%rbx)", with=INDIRECT
	stepped "call *kpd_data", with=INDIRECT
	stepped "jmp *(%rbx)", with=INDIRECT
	stepped "jmp *0x20(%r13)", with=INDIRECT
	stepped "jmp *8(%rsp)", with=INDIRECT
	stepped "jmp *-8(%rbx,%rcx,8)", with=INDIRECT
	stepped "jmp *kpd_data+16(%rip)", with=INDIRECT
	stepped "jmp *kpd_data", with=INDIRECT
	emulated ".byte 0xc3", with=INDIRECT
	emulated ".byte 0xc2, 16, 0", with=INDIRECT
	emulated ".byte 0xf3, 0xc3", with=INDIRECT
	emulated ".byte 0xf2, 0xc3", with=INDIRECT

/*
 * The stack.
 */
.irp reg, rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r12, r15
	fast "pushq %\reg"
.endr
.irp reg, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r13, r15
	fast "popq %\reg"
.endr
	fast "popq %rsp", with=STACK_ADDR
	fast ".byte 0x67; pushq %rax"
	plain "pushw %ax"
	plain "popw %cx"
	plain ".byte 0xff, 0xf1"
	plain ".byte 0x8f, 0xc1"
	plain "pushq $5"
	plain "pushq $0x12345678"
	plain "pushw $0x1234"
	plain "pushq 8(%rsp)"
	plain "pushq (%rbx)"
	plain "pushq kpd_data(%rip)"
	plain "popq 8(%rsp)"
	plain "popq (%rbx)"
	plain "popq kpd_data(%rip)"
	plain "pushq %fs"
	plain "pushq %gs"
	plain "popq %fs", with=ZEROS
	plain "enter $16, $0", with=ALLOCATES
	plain "enter $32, $2", with=BP_STACK|ALLOCATES
	plain "leave", with=BP_STACK
	plain ".byte 0x48; leave", with=BP_STACK
	emulated "pushfq"
	emulated "pushfw"
	emulated "popfq"
	emulated "popfw"

/*
 * Strings.
 */
.irp size, b, w, l, q
	plain "rep movs\size", with=STRING
	plain "rep stos\size", with=STRING
	plain "movs\size", with=STRING
	plain "repe cmps\size", with=STRING
	plain "repne scas\size", with=STRING
.endr
	plain "stosb", with=STRING
	plain "stosq", with=STRING
	plain "lodsb", with=STRING
	plain "rep lodsl", with=STRING
	plain "lodsq", with=STRING
	plain "cmpsb", with=STRING
	plain "repne cmpsl", with=STRING
	plain "scasb", with=STRING
	plain "repe scasq", with=STRING

/*
 * System instructions.
 */
	plain "cpuid", with=ZEROS
	plain "rdmsr", with=MSR
	plain "xgetbv", with=ZEROS, cpu=X86_FEATURE_OSXSAVE
	plain "movq %cr0, %rcx"
	plain "movq %cr4, %r8"
	plain "movq %db7, %rcx"
	plain "movl %ds, %ecx"
	plain "movl %ss, %edx"
	plain "movw %cs, (%rbx)"
	plain "movl %ecx, %es", with=ZEROS
	plain "lfence"
	plain "mfence"
	plain "sfence"
	plain "clflush (%rbx)"
	plain "invlpg (%rbx)"
	plain "sgdt (%rbx)"
	plain "sidt 16(%rbx)"
	plain "smswl %ecx"
	plain "strl %ecx"
	plain "sldtl %ecx"
	plain "verr %cx", with=ZEROS
	plain "verw (%rbx)"
	plain "larl %ecx, %edx", with=ZEROS
	plain "lsll %ecx, %edx", with=ZEROS

/*
 * Floating point and vectors. In other maps, the AVX opcodes chosen are branches, flag
 * operations, or refused.
 */
	plain "movups (%rbx), %xmm1", with=FPU
	plain "movups %xmm2, 16(%rbx)", with=FPU
	plain "movaps %xmm1, %xmm2", with=FPU
	plain "movaps %xmm9, kpd_data+32(%rip)", with=FPU
	plain "movdqu kpd_data(%rip), %xmm3", with=FPU
	plain "movdqa %xmm1, (%rbx)", with=FPU
	plain "movd %ecx, %xmm1", with=FPU
	plain "movq %xmm1, %rcx", with=FPU
	plain "movq (%rbx), %xmm4", with=FPU
	plain "movss (%rbx), %xmm1", with=FPU
	plain "movsd %xmm1, 8(%rbx)", with=FPU
	plain "addps %xmm1, %xmm2", with=FPU
	plain "mulsd %xmm1, %xmm2", with=FPU
	plain "divss (%rbx), %xmm2", with=FPU
	plain "sqrtsd %xmm1, %xmm2", with=FPU
	plain "cmpps $1, %xmm1, %xmm2", with=FPU
	plain "cvtsi2sd %rcx, %xmm1", with=FPU
	plain "cvttsd2si %xmm1, %rcx", with=FPU
	plain "ucomisd %xmm1, %xmm2", with=FPU
	plain "shufps $0x1b, %xmm1, %xmm2", with=FPU
	plain "pxor %xmm1, %xmm2", with=FPU
	plain "paddd (%rbx), %xmm2", with=FPU
	plain "psubd %xmm1, %xmm2", with=FPU
	plain "por %xmm1, %xmm2", with=FPU
	plain "pcmpeqb %xmm1, %xmm2", with=FPU
	plain "pmovmskb %xmm1, %ecx", with=FPU
	plain "pshufd $0x1b, kpd_data(%rip), %xmm2", with=FPU
	plain "pslld $3, %xmm2", with=FPU
	plain "pinsrw $3, %ecx, %xmm2", with=FPU
	plain "pshufb %xmm1, %xmm2", with=FPU, cpu=X86_FEATURE_SSSE3
	plain "palignr $3, %xmm1, %xmm2", with=FPU, cpu=X86_FEATURE_SSSE3
	plain "pextrq $1, %xmm1, %rcx", with=FPU, cpu=X86_FEATURE_XMM4_1
	plain "ptest %xmm1, %xmm2", with=FPU, cpu=X86_FEATURE_XMM4_1
	plain "aesenc %xmm1, %xmm2", with=FPU, cpu=X86_FEATURE_AES
	plain "pclmulqdq $0x11, %xmm1, %xmm2", with=FPU, cpu=X86_FEATURE_PCLMULQDQ
	plain "ldmxcsr kpd_mxcsr(%rip)", with=FPU
	plain "stmxcsr (%rbx)", with=FPU
	plain "movntdq %xmm1, (%rbx)", with=FPU
	plain "movq %mm1, %mm2", with=FPU
	plain "paddb (%rbx), %mm2", with=FPU
	plain "emms", with=FPU
	plain "fldl (%rbx)", with=FPU
	plain "fldt (%rbx)", with=FPU
	plain "fld1", with=FPU
	plain "fadd %st(1), %st", with=FPU
	plain "fmulp %st, %st(1)", with=FPU
	plain "fdivs 4(%rbx)", with=FPU
	plain "fstpl 8(%rbx)", with=FPU
	plain "fistpll kpd_data(%rip)", with=FPU
	plain "fxch %st(2)", with=FPU
	plain "fucomip %st(1), %st", with=FPU
	plain "fcmovne %st(1), %st", with=FPU
	plain "fnstsw %ax", with=FPU
	plain "fnstcw (%rbx)", with=FPU
	plain "fninit", with=FPU
	plain "fnclex", with=FPU
	plain "vmovups (%rbx), %ymm1", with=FPU, cpu=X86_FEATURE_AVX
	plain "vmovdqu %ymm9, kpd_data+32(%rip)", with=FPU, cpu=X86_FEATURE_AVX
	plain "vaddpd %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX
	plain "vxorps %xmm1, %xmm2, %xmm3", with=FPU, cpu=X86_FEATURE_AVX
	plain "vzeroupper", with=FPU, cpu=X86_FEATURE_AVX
	plain "vzeroall", with=FPU, cpu=X86_FEATURE_AVX
	plain "vcmpps $1, %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX
	plain "vshufps $1, %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX
	plain "vpinsrw $1, %ecx, %xmm2, %xmm3", with=FPU, cpu=X86_FEATURE_AVX
	plain "vmovq %xmm1, %rcx", with=FPU, cpu=X86_FEATURE_AVX
	plain "vpermilps %xmm1, %xmm2, %xmm3", with=FPU, cpu=X86_FEATURE_AVX
	plain "vbroadcastss (%rbx), %ymm3", with=FPU, cpu=X86_FEATURE_AVX
	plain "vtestps %ymm1, %ymm2", with=FPU, cpu=X86_FEATURE_AVX
	plain "vpsubd %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpsubq %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpsubb (%rbx), %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpor %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpsubsb %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpsubsw %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpshufd $0x1b, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpshufhw $0x1b, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpslld $3, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpsllw %xmm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpsrlq $3, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpcmpeqb %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpcmpeqw kpd_data(%rip), %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpavgb %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpsraw %xmm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpsrad %xmm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpavgw %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpmuludq %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpaddb %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpmaskmovd (%rbx), %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpmovmskb %ymm1, %ecx", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vfnmadd132ps %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_FMA
	plain "vfnmadd132ss %xmm1, %xmm2, %xmm3", with=FPU, cpu=X86_FEATURE_FMA
	plain "vfmadd213pd kpd_data(%rip), %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_FMA

/*
 * Many prefixes, up to the maximum length of an instruction.
 */
	plain ".byte 0x26, 0x3e, 0x66, 0xf0; addl %ecx, (%rbx)"
	plain ".byte 0x64, 0x2e, 0xf3, 0x67; addq %rcx, %rdx"
	plain ".byte 0x66, 0x2e, 0x64, 0xf3; stosl", with=STRING
	fast ".skip 14, 0x2e; pushq %rax"
	fast ".skip 5, 0x66; nopw %cs:0x1000(%rax,%rax)"
	fast ".skip 5, 0x2e; movabsq $0x123456789abcdef0, %rdx"
	plain ".byte 0x26, 0x26; lock addq $0x12345678, 0x88(%rbx,%rcx,4)"
	plain ".byte 0x2e, 0x2e, 0x2e, 0x2e; addq $0x12345678, kpd_data+8(%rip)"
	emulated ".skip 9, 0x2e; jne kpd_taken"
	emulated ".skip 10, 0x2e; call kpd_taken"
	stepped ".skip 9, 0x26; call *kpd_data+16(%rip)", with=INDIRECT
	emulated ".byte 0x2e; jmp *%rdx", with=INDIRECT|NOTRACK
	emulated ".byte 0x2e; call *%r11", with=INDIRECT|NOTRACK
	stepped ".byte 0x2e; jmp *(%rbx)", with=INDIRECT|NOTRACK
	stepped ".byte 0x2e; call *8(%rsp)", with=INDIRECT|NOTRACK

/*
 * Segment overrides, also of string instructions.
 */
	plain "movl %fs:(%rbx), %ecx"
	plain "addq %rcx, %fs:8(%rbx)"
	plain "movl %ecx, %fs", with=ZEROS
	plain "movl %ecx, %ds", with=ZEROS
	plain "movl %fs, %ecx"
	plain "movq %gs, %rdx"
	plain "movw %es, 4(%rbx)"
	plain "lfsl (%rbx), %ecx", with=SELECTOR
#ifdef CONFIG_SMP
	plain "movq %gs:(%rbx), %rcx", with=PERCPU
	plain "addl %ecx, %gs:(%rbx)", with=PERCPU
	plain "lodsq %gs:(%rsi), %rax", with=STRING|PERCPU
	plain "movsl %gs:(%rsi), %es:(%rdi)", with=STRING|PERCPU
#endif
	plain "rep movsb %fs:(%rsi), %es:(%rdi)", with=STRING
	plain "lodsw %fs:(%rsi), %ax", with=STRING
	plain "repe cmpsb %es:(%rdi), %fs:(%rsi)", with=STRING
	plain ".byte 0x2e; rep movsb", with=STRING
	plain ".byte 0x67; rep movsb", with=ZEROS
	plain ".byte 0x67; rep stosq", with=ZEROS
	plain ".byte 0x67; repne scasb", with=ZEROS
	plain ".byte 0x67; repe cmpsl", with=ZEROS

/*
 * Ports, clocks and model-specific registers.
 */
	plain "outb %al, $0x80"
	plain "outl %eax, $0x80"
	plain "outb %al, (%dx)", with=PORT
	plain "outw %ax, (%dx)", with=PORT
	plain "inb $0x80, %al"
	plain "inb (%dx), %al", with=PORT
	plain "inw (%dx), %ax", with=PORT
	plain "inl (%dx), %eax", with=PORT
	plain "insb", with=STRING|PORT
	plain "rep insw", with=STRING|PORT
	plain "rep outsb", with=STRING|PORT
	plain "outsl", with=STRING|PORT
	plain "rdtsc", with=CLOCK
	plain "rdtscp", with=CLOCK, cpu=X86_FEATURE_RDTSCP
	plain "wrmsr", with=SAME_MSR

/*
 * The state of the FPU, in memory.
 */
	plain "fxsave (%rbx)", with=FPU|AREA
	plain "fxsave64 (%rbx)", with=FPU|AREA
	plain "fxrstor (%rbx)", with=FPU|AREA
	plain "fxrstor64 (%rbx)", with=FPU|AREA
	plain "xsave (%rbx)", with=FPU|AREA, cpu=X86_FEATURE_OSXSAVE
	plain "xsave64 (%rbx)", with=FPU|AREA, cpu=X86_FEATURE_OSXSAVE
	plain "xrstor (%rbx)", with=FPU|AREA, cpu=X86_FEATURE_OSXSAVE
	plain "xrstor64 (%rbx)", with=FPU|AREA, cpu=X86_FEATURE_OSXSAVE
	plain "fnsave (%rbx)", with=FPU|AREA
	plain "frstor (%rbx)", with=FPU|AREA
	plain "fnstenv (%rbx)", with=FPU|AREA
	plain "fldenv (%rbx)", with=FPU|AREA
	plain "fldcw (%rbx)", with=FPU|AREA
	plain "ffree %st(1)", with=FPU
	plain "fincstp", with=FPU
	plain "fbstp (%rbx)", with=FPU
	plain "fprem", with=FPU
	plain "fxam", with=FPU

/* Vector indices; the masks are random, and cleared by the instruction. */
	plain "vgatherdps %ymm1, (%rbx,%ymm2,4), %ymm3", with=FPU|GATHER, cpu=X86_FEATURE_AVX2
	plain "vgatherqps %xmm1, (%rbx,%xmm2,4), %xmm3", with=FPU|GATHER, cpu=X86_FEATURE_AVX2
	plain "vgatherdpd %ymm1, 8(%rbx,%xmm2,4), %ymm3", with=FPU|GATHER, cpu=X86_FEATURE_AVX2
	plain "vgatherqpd %ymm1, -8(%rbx,%ymm2,8), %ymm3", with=FPU|GATHER, cpu=X86_FEATURE_AVX2
	plain "vpgatherdd %xmm1, (%rbx,%xmm2,2), %xmm3", with=FPU|GATHER, cpu=X86_FEATURE_AVX2
	plain "vpgatherqq %ymm1, kpd_data(,%ymm2,8), %ymm3", with=FPU|GATHER, cpu=X86_FEATURE_AVX2
#endif /* CONFIG_X86_64 */

	.pushsection .rodata, "a"
SYM_DATA_END_LABEL(kpd_forms, SYM_L_GLOBAL, kpd_forms_end)
	.popsection
