/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instructions of the differential test:
 *
 *	KIND "instruction", ...
 *	with WITH, KIND, "instruction", ...
 *	on CPU, WITH, KIND, "instruction", ...
 *
 * KIND is how they have to be executed under a probe (DIFF_* in differential_forms.h): fast,
 * plain, emulated or stepped. "1f" in one is a label after it, "0b" one before it. WITH is what
 * they require of the state, CPU a feature without which they are skipped. Most are for both
 * modes, see form; the others are at the end, and in differential_forms_32.S.
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

/*
 * Arithmetic: emulated between registers, except for operations with carry.
 */
.irp op, add, or, and, sub, xor, cmp
	fast "\op\()l %eax, %edx", ".byte .Lload_\op, 0xd0", "\op\()l $0x12345678, %ebx"
	fast "\op\()l $-5, %esi", "\op\()l $0x7fffffff, %eax"
	plain "\op\()b $0x80, %al", "\op\()b %cl, %dl", "\op\()b %ah, %bh"
	plain ".byte .Lload_\op - 1, 0xd1", "\op\()b $3, %cl", "\op\()w %cx, %dx"
	plain "\op\()w $-3, %cx", "\op\()w $0x1234, %cx", "\op\()l %ecx, (\bx)"
	plain "\op\()l 16(\bx), %ecx", "\op\()b $3, 0x80(\si)", "\op\()\q $-3, kpd_data+8\rip"
	plain "\op\()l $0x11223344, kpd_data+100\rip", "\op\()w %ax, 8(\sp)"
.endr
.irp op, adc, sbb
	plain "\op\()l %eax, %edx", "\op\()l $0x12345678, %ebx", "\op\()l $-5, %esi"
	plain "\op\()\q $0x7fffffff, \ax", "\op\()b %cl, %dl", "\op\()w %cx, %dx"
	plain "\op\()\q \cx, (\bx)", "\op\()b $3, (\si)", "\op\()l $-3, kpd_data+8\rip"
.endr
	fast "cmp\q \sp, \bp", "cmpl $8, %esp", "testl %ecx, %edi", "testl %edx, %edx"
	fast "test\q \sp, \sp", "testl $0x80000001, %esi", "testl $0x10, %eax"
	plain "testb $0x55, %al", "testb %cl, %dl", "testw %cx, %dx", "testb $1, %ch"
	plain "testw $0x8001, %dx", "testb $1, (\bx)", "testl $0x100, 4(\bx)"
	plain "test\q \cx, kpd_data\rip"

.irp op, not, neg
	plain "\op\()b %cl", "\op\()w %cx", "\op\()l %ecx", "\op\()l (\bx)", "lock \op\()\q 8(\bx)"
.endr
.irp op, mul, imul
	plain "\op\()b %cl", "\op\()w %cx", "\op\()l %ecx", "\op\()l (\bx)"
.endr
.irp op, div, idiv
	with DIVIDE, plain, "\op\()b %cl", "\op\()w %cx", "\op\()l %ecx"
.endr
	plain "imull %ecx, %edx", "imul\q 8(\bx), \dx", "imull $0x12345, %ecx, %edx"
	plain "imul\q $-3, \cx, \dx", "imulw $300, kpd_data\rip, %cx"
.irp op, inc, dec
	plain "\op\()b %cl", "\op\()w %cx", "\op\()l %ecx", "\op\()b (\bx)", "\op\()l 4(\bx,\dx,8)"
	plain "lock \op\()l kpd_data\rip"
.endr
.irp op, rol, ror, rcl, rcr, shl, shr, sar
	plain "\op\()b $3, %dl", "\op\()l $3, %edx", "\op\()l $1, %edx", "\op\()b $1, %dl"
	plain "\op\()l %cl, %edx", "\op\()b %cl, %dl", "\op\()w %cl, %dx", "\op\()l $7, (\bx)"
	plain "\op\()\q %cl, kpd_data\rip"
.endr
	plain "shldl $5, %eax, %edx", "shld\q %cl, \ax, \dx", "shrdl $5, %eax, %edx"
	plain "shrd\q %cl, \ax, (\bx)"

/* With a lock prefix, and other atomic operations. */
.irp op, add, or, adc, sbb, and, sub, xor
	plain "lock \op\()l %ecx, (\bx)", "lock \op\()\q $1, 8(\bx)"
.endr
	plain "xaddl %ecx, %edx", "xaddb %cl, %dl", "lock xadd\q \cx, (\bx)"
	plain "lock xaddl %ecx, kpd_data\rip", "cmpxchgl %ecx, %edx", "cmpxchgb %cl, %dl"
	with EQUAL, plain, "lock cmpxchg\q \cx, (\bx)", "lock cmpxchgw %cx, kpd_data\rip"
	plain "xchgl %ecx, %edx", "xchgb %cl, %dh", "xchg\q \cx, (\bx)", "xchgl %eax, %ecx"
	plain "xchgw %ax, %dx"

/*
 * Moves.
 */
	fast "movl %eax, %ebx", ".byte 0x8b, 0xd8", "mov\q \sp, \bp", "movl $0x89abcdef, %ecx"
	fast ".byte 0xc7, 0xc2, 0xff, 0xff, 0xff, 0xff"
	plain "movb %cl, %dl", "movb %ah, %ch", ".byte 0x8a, 0xd1", "movw %cx, %dx"
	plain "movb $0x12, %cl", "movb $0x12, %ah", "movw $0x1234, %cx", "movl %ecx, (\bx)"
	plain "mov\q \cx, 8(\sp)", "mov\q \cx, 0x70(\bp)", "mov\q \sp, (\bx)", "movl (\bx), %ecx"
	plain "mov\q (\sp), \cx", "mov\q 0x10(\bx), \cx", "mov\q 0xa0(\bx), \cx"
	plain "movl (\bx,\cx), %edx", "movl 4(\bx,\cx,2), %edx", "movl 0x88(\bx,\cx,4), %edx"
	plain "mov\q 8(\sp,\cx,8), \dx", "movl kpd_data\rip, %ecx", "movb (\bx), %cl"
	plain "movb %ch, (\bx)", "movw (\bx), %cx", "movb $0x12, (\bx)", "movl $0x12345678, 4(\bx)"
	plain "mov\q $-3, kpd_data+24\rip", "movw $0x1234, kpd_data+24\rip"
	plain ".byte 0x3e; movl (\bx), %ecx", ".byte 0x2e; movl (\bx), %ecx"
	plain ".byte 0x26; movl (\bx), %ecx", "movzbl %cl, %edx", "movzbl %ch, %edx"
	plain "movzb\q (\bx), \dx", "movzwl %cx, %edx", "movzwl kpd_data\rip, %edx"
	plain "movzbw %cl, %dx", "movsbl %cl, %edx", "movsb\q (\bx), \dx", "movswl %cx, %edx"
	plain "movsw\q 2(\bx), \dx", "movnti \cx, (\bx)"
	on X86_FEATURE_MOVBE, 0, plain, "movbel (\bx), %ecx", "movbe\q \cx, 8(\bx)"
	plain "bswapl %ecx", "cbtw", "cwtl", "cwtd", "cltd"
	with TABLE, plain, "xlatb"

	fast "lea\q -8(\bx), \ax", "lea\q 0x12345(\si), \di", "lea\q (\cx,\dx,4), \ax"
	fast "lea\q (\cx,\dx), \ax", "leal 0x10(\bp,\dx,8), %eax", "lea\q 0x100(,\di,2), \ax"
	fast "lea\q (\bp), \ax", "lea\q (\ax), \cx", "lea\q 0x18(\sp), \ax"
	plain "leaw 8(\bx), %cx"

	fast "nop", "xchgw %ax, %ax", "pause", "nopl (\ax)", "nopl 8(\ax,\ax,2)", "nopl 0x1000(\ax)"
	fast "nopw %cs:0x1000(\ax,\ax)", "nopl %ecx", ".byte 0x67; nop", ".byte 0x2e; nop"
	plain "prefetcht0 (\bx)"
	on X86_FEATURE_3DNOWPREFETCH, 0, plain, "prefetchw (\bx)"
	plain ".byte 0x0f, 0x1e, 0xc8"

/*
 * Conditions and bits.
 */
.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	emulated "j\cc 1f", "j\cc kpd_taken"
	plain "set\cc %cl", "cmov\cc\()l %ecx, %edx"
.endr
	emulated "je 0b", ".byte 0x3e; je 1f", ".byte 0x2e; jne kpd_taken", ".byte 0xf2; jne 1f"
	plain "setne (\bx)", "setl kpd_data\rip", "cmovne\q (\bx), \dx", "cmovsw %cx, %dx"
	plain "cmovg\q kpd_data\rip, \dx"
.irp op, bt, bts, btr, btc
	plain "\op\()l %ecx, %edx", "\op\()l $17, %edx", "\op\()l $5, (\bx)"
	with BITS, plain, "\op\()\q \ax, (\bx)"
.endr
.irp op, bts, btr, btc
	plain "lock \op\()l $5, kpd_data\rip"
	with BITS, plain, "lock \op\()\q \ax, 8(\bx)"
.endr
	plain "bsfl %ecx, %edx", "bsr\q \cx, \dx", "tzcntl %ecx, %edx", "lzcnt\q (\bx), \dx"
	on X86_FEATURE_POPCNT, 0, plain, "popcntl %ecx, %edx", "popcnt\q (\bx), \dx"
	on X86_FEATURE_XMM4_2, 0, plain, "crc32b %cl, %edx", "crc32\q (\bx), \dx"
	on X86_FEATURE_ADX, 0, plain, "adcx\q \cx, \dx"
	on X86_FEATURE_BMI1, 0, plain, "andnl %ecx, %edx, %edi", "bextr\q \cx, (\bx), \dx"
	on X86_FEATURE_BMI1, 0, plain, "blsil %ecx, %edx", "blsr\q \cx, \dx", "blsmskl (\bx), %edx"
	on X86_FEATURE_BMI2, 0, plain, "bzhil %ecx, %edx, %edi", "mulx\q \cx, \bx, \di"
	on X86_FEATURE_BMI2, 0, plain, "pdepl %ecx, %edx, %edi", "pext\q \cx, \dx, \di"
	on X86_FEATURE_BMI2, 0, plain, "rorxl $5, kpd_data\rip, %edx", "sarxl %ecx, %edx, %edi"
	on X86_FEATURE_BMI2, 0, plain, "shlx\q \cx, (\bx), \di"
	plain "clc", "stc", "cmc", "cld", "std", "lahf", "sahf"
	on X86_FEATURE_SMAP, 0, plain, "clac", "stac"
	emulated "cli"
	with IRQ_ON, emulated, "sti"

/*
 * Branches.
 */
	emulated "jmp 1f", "jmp 0b", "jmp kpd_taken", ".byte 0x2e; jmp kpd_back"
	emulated ".byte 0xf2; jmp 1f"
	with SHORT_COUNT, emulated, "loop 0b", ".byte 0x67; loop 1f", ".byte 0x67; loope 1f"
	with SHORT_COUNT, emulated, ".byte 0x67; loopne 1f"
	emulated "call 1f", ".byte 0x2e; call 1f", ".byte 0x2e, 0x2e; call kpd_back"
	with CALLEE, emulated, ".byte 0x2e, 0x3e; call kpd_callee"
	emulated ".byte 0xf2; call 1f"
	with INDIRECT, emulated, "call *\ax", "call *\bp", ".byte 0x2e; call *\dx", "jmp *\dx"
	with INDIRECT, emulated, "jmp *\bp"
	with INDIRECT, stepped, "call *(\bx)", "call *8(\bx)", "call *(\bx,\cx,8)", "call *8(\sp)"
	with INDIRECT, stepped, "call *(\sp)", "call *kpd_data+16\rip", ".byte 0x2e; call *(\bx)"
	with INDIRECT, stepped, "jmp *(\bx)", "jmp *8(\sp)", "jmp *-8(\bx,\cx,8)"
	with INDIRECT, stepped, "jmp *kpd_data+16\rip"
	with INDIRECT, emulated, ".byte 0xc3", ".byte 0xc2, 16, 0", ".byte 0xf3, 0xc3"
	with INDIRECT, emulated, ".byte 0xf2, 0xc3"

/*
 * The stack.
 */
	fast ".byte 0x67; push\q \ax"
	plain "pushw %ax", "popw %cx", ".byte 0xff, 0xf1", ".byte 0x8f, 0xc1", "push\q $5"
	plain "push\q $0x12345678", "pushw $0x1234", "push\q 8(\sp)", "push\q (\bx)"
	plain "push\q kpd_data\rip", "pop\q 8(\sp)", "pop\q (\bx)", "pop\q kpd_data\rip"
	plain "push\q %fs", "push\q %gs"
	with ALLOCATES, plain, "enter $16, $0"
	with BP_STACK|ALLOCATES, plain, "enter $32, $2"
	with BP_STACK, plain, "leave"
	emulated "pushf\q", "pushfw", "popf\q", "popfw"

/*
 * Strings.
 */
	with STRING, plain, "stosb", "stos\q", "lodsb", "rep lodsl", "lods\q", "cmpsb"
	with STRING, plain, "repne cmpsl", "scasb", "repe scas\q"

/*
 * System instructions.
 */
	with ZEROS, plain, "cpuid"
	with MSR, plain, "rdmsr"
	on X86_FEATURE_OSXSAVE, ZEROS, plain, "xgetbv"
	plain "mov\q %cr0, \cx", "mov\q %db7, \cx", "movl %ds, %ecx", "movl %ss, %edx"
	plain "movw %cs, (\bx)"
	with ZEROS, plain, "movl %ecx, %es"
	plain "lfence", "mfence", "sfence", "clflush (\bx)", "invlpg (\bx)", "sgdt (\bx)"
	plain "sidt 16(\bx)", "smswl %ecx", "strl %ecx", "sldtl %ecx"
	with ZEROS, plain, "verr %cx"
	plain "verw (\bx)"
	with ZEROS, plain, "larl %ecx, %edx", "lsll %ecx, %edx"

/*
 * Floating point and vectors. In other maps, the AVX opcodes chosen are branches, flag
 * operations, or refused.
 */
	with FPU, plain, "movups (\bx), %xmm1", "movaps %xmm1, %xmm2", "movdqu kpd_data\rip, %xmm3"
	with FPU, plain, "movdqa %xmm1, (\bx)", "movd %ecx, %xmm1", "movq (\bx), %xmm4"
	with FPU, plain, "mulsd %xmm1, %xmm2", "divss (\bx), %xmm2", "cvtsi2sd \cx, %xmm1"
	with FPU, plain, "ucomisd %xmm1, %xmm2", "shufps $0x1b, %xmm1, %xmm2"
	with FPU, plain, "pmovmskb %xmm1, %ecx", "pshufd $0x1b, kpd_data\rip, %xmm2"
	with FPU, plain, "pinsrw $3, %ecx, %xmm2"
	on X86_FEATURE_SSSE3, FPU, plain, "pshufb %xmm1, %xmm2", "palignr $3, %xmm1, %xmm2"
	on X86_FEATURE_XMM4_1, FPU, plain, "ptest %xmm1, %xmm2"
	on X86_FEATURE_AES, FPU, plain, "aesenc %xmm1, %xmm2"
	with FPU, plain, "ldmxcsr kpd_mxcsr\rip", "stmxcsr (\bx)", "movq %mm1, %mm2"
	with FPU, plain, "paddb (\bx), %mm2", "emms", "fldl (\bx)", "fldt (\bx)", "fadd %st(1), %st"
	with FPU, plain, "fdivs 4(\bx)", "fstpl 8(\bx)", "fistpll kpd_data\rip"
	with FPU, plain, "fucomip %st(1), %st", "fnstsw %ax", "fninit"
	on X86_FEATURE_AVX, FPU, plain, "vmovups (\bx), %ymm1", "vxorps %xmm1, %xmm2, %xmm3"
	on X86_FEATURE_AVX, FPU, plain, "vzeroupper", "vcmpps $1, %ymm1, %ymm2, %ymm3"
	on X86_FEATURE_AVX2, FPU, plain, "vpsubd %ymm1, %ymm2, %ymm3", "vpsubq %ymm1, %ymm2, %ymm3"
	on X86_FEATURE_AVX2, FPU, plain, "vpor %ymm1, %ymm2, %ymm3", "vpsubsb %ymm1, %ymm2, %ymm3"
	on X86_FEATURE_AVX2, FPU, plain, "vpshufd $0x1b, %ymm2, %ymm3"
	on X86_FEATURE_AVX2, FPU, plain, "vpcmpeqw kpd_data\rip, %ymm2, %ymm3"
	on X86_FEATURE_AVX2, FPU, plain, "vpavgb %ymm1, %ymm2, %ymm3"
	on X86_FEATURE_FMA, FPU, plain, "vfmadd213pd kpd_data\rip, %ymm2, %ymm3"

/*
 * Many prefixes, up to the maximum length of an instruction.
 */
	plain ".byte 0x26, 0x3e, 0x66, 0xf0; addl %ecx, (\bx)"
	with STRING, plain, ".byte 0x66, 0x2e, 0x64, 0xf3; stosl"
	fast ".skip 14, 0x2e; push\q \ax", ".skip 5, 0x66; nopw %cs:0x1000(\ax,\ax)"
	emulated ".skip 9, 0x2e; jne kpd_taken", ".skip 10, 0x2e; call kpd_taken"

/*
 * Segment overrides, also of string instructions.
 */
	plain "movl %fs, %ecx", "mov\q %gs, \dx", "movw %es, 4(\bx)"
	with STRING, plain, ".byte 0x2e; rep movsb"
	with ZEROS, plain, ".byte 0x67; rep movsb", ".byte 0x67; rep stos\q"
	with ZEROS, plain, ".byte 0x67; repne scasb"

/*
 * Ports, clocks and model-specific registers.
 */
	plain "outb %al, $0x80", "outl %eax, $0x80"
	with PORT, plain, "outb %al, (%dx)"
	plain "inb $0x80, %al"
	with PORT, plain, "inw (%dx), %ax", "inl (%dx), %eax"
	with STRING|PORT, plain, "insb", "rep insw", "rep outsb"
	with CLOCK, plain, "rdtsc"
	with SAME_MSR, plain, "wrmsr"

/*
 * The state of the FPU, in memory.
 */
	with FPU|AREA, plain, "fxsave (\bx)", "fxrstor (\bx)"
	on X86_FEATURE_OSXSAVE, FPU|AREA, plain, "xsave (\bx)", "xrstor (\bx)"
	with FPU|AREA, plain, "fnsave (\bx)", "frstor (\bx)", "fnstenv (\bx)", "fldenv (\bx)"

/* Vector indices; the masks are random, and cleared by the instruction. */
	on X86_FEATURE_AVX2, FPU|GATHER, plain, "vgatherdps %ymm1, (\bx,%ymm2,4), %ymm3"
	on X86_FEATURE_AVX2, FPU|GATHER, plain, "vpgatherqq %ymm1, kpd_data(,%ymm2,8), %ymm3"

#ifdef CONFIG_X86_32
#include "differential_forms_32.S"
#else
/*
 * Arithmetic: emulated between registers, except for operations with carry.
 */
.irp op, add, or, and, sub, xor, cmp
	fast "\op\()q %rbx, %rcx", "\op\()q %r14, %rax", "\op\()l %ecx, %r9d"
	fast "\op\()q $-0x12345678, %r10", "\op\()q $127, %rdi", "\op\()q $-0x80000000, %rax"
	plain "\op\()b %sil, %dl", "\op\()q %rcx, 8(%r12)", "\op\()q -8(%r13,%rcx,4), %rdx"
.endr
.irp op, adc, sbb
	plain ".byte 0x48, .Lload_\op, 0xd0"
.endr
	with ALLOCATES, fast, "subq $0x28, %rsp"
	fast "addq $0x108, %rsp"
	with ALLOCATES, fast, "andq $-32, %rsp"
	fast "testq %r8, %r8", "testq $-0x80000000, %rbx", "testq $-2, %rax"

.irp op, not, neg
	plain "\op\()q %r10"
.endr
.irp op, mul, imul
	plain "\op\()q %r10"
.endr
.irp op, div, idiv
	with DIVIDE, plain, "\op\()q %rcx"
.endr
.irp op, inc, dec
	plain "\op\()q %r10"
.endr
.irp op, rol, ror, rcl, rcr, shl, shr, sar
	plain "\op\()q $33, %r10"
.endr

/* With a lock prefix, and other atomic operations. */
	with EQUAL, plain, "lock cmpxchgl %ecx, 4(%rbx)", "lock cmpxchg8b (%rsi)"
	on X86_FEATURE_CX16, EQUAL, plain, "lock cmpxchg16b (%rsi)"
	plain "xchgq %rax, %r8"

/*
 * Moves.
 */
	fast "movq %rcx, %rdx", "movq %r8, %r15", "movl %r9d, %eax", ".byte 0x48, 0x8b, 0xec"
	with BP_STACK, fast, "movq %rbp, %rsp"
	fast "movl $1, %r11d", "movabsq $0x123456789abcdef0, %rdx"
	fast "movabsq $0xfedcba9876543210, %r11", "movq $-2, %rcx", "movq $-2, %r10"
	plain "movb %sil, %dil", "movq (%r12), %rcx", "movq (%r13), %rcx", "movq (%r8,%r9,8), %r10"
	plain "movq %r15, kpd_data+16(%rip)"
	plain ".byte 0x2e, 0x2e, 0x2e; movq $0x12345678, 0x88(%rbx,%rcx,4)"
	plain "movabsl kpd_data, %eax", "movabsq %rax, kpd_data", "movabsb kpd_data, %al"
#ifdef CONFIG_SMP
	plain "movq %gs:kpd_percpu(%rip), %rcx", "movl %ecx, %gs:kpd_percpu(%rip)"
	plain "addl $3, %gs:kpd_percpu(%rip)"
#endif
	plain "movslq %ecx, %rdx", "movslq kpd_data(%rip), %rdx", "bswapq %rdx", "bswapq %r9"
	plain "cltq", "cqto"

	fast "leaq 0(,%r9,8), %rax", "leaq 8(%r12), %rax", "leaq (%r13), %rax"
	fast "leaq 4(%rax,%r12,8), %rcx", "leaq 0x1000(%r13,%rdx,2), %rcx"
	with ALLOCATES, fast, "leaq -0x40(%rsp), %rsp"
	with BP_STACK, fast, "leaq 8(%rbp), %rsp"
	fast "leaq kpd_data+0x1000(%rip), %rsi", "leal kpd_data+0x1000(%rip), %esi"
	fast "leaq kpd_data(%rip), %r8"
	plain "leal 8(%ebx), %ecx", "leaq 8(%ebx,%ecx,2), %rcx"

	fast ".byte 0x48, 0x90"
	plain "endbr64", "xchgl %eax, %r8d"

/* A traced function, made by the compiler. */
#ifdef CONFIG_KPROBES_ON_FTRACE
	row_of_form "call __fentry__", DIFF_FTRACE, TRACED, X86_FEATURE_ALWAYS, \
		kpd_back, kpd_traced, kpd_taken, 4*HAS_KERNEL_IBT, 5
#endif

/*
 * Conditions and bits.
 */
	emulated ".byte 0x48; jl 1f"
.irp op, bt, bts, btr, btc
	plain "\op\()q %rcx, %rdx", "\op\()q $63, %r10"
.endr

/*
 * Branches.
 */
.irp op, loop, loope, loopne, jrcxz
	with SHORT_COUNT, emulated, "\op 1f"
.endr
	with SHORT_COUNT, emulated, "jecxz 1f", ".byte 0x48; loop 1f"
	emulated ".byte 0x48; call 1f"
	with INDIRECT, emulated, "call *%r11", "jmp *%r10"
	with INDIRECT, stepped, "call *0x80(%r12)", "call *kpd_data", "jmp *0x20(%r13)"
	with INDIRECT, stepped, "jmp *kpd_data"

/*
 * The stack.
 */
.irp reg, rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r12, r15
	fast "pushq %\reg"
.endr
.irp reg, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r13, r15
	fast "popq %\reg"
.endr
	with STACK_ADDR, fast, "popq %rsp"
	with ZEROS, plain, "popq %fs"
	with BP_STACK, plain, ".byte 0x48; leave"

/*
 * Strings.
 */
.irp size, b, w, l, q
	with STRING, plain, "rep movs\size", "rep stos\size", "movs\size", "repe cmps\size"
	with STRING, plain, "repne scas\size"
.endr

/*
 * System instructions.
 */
	plain "movq %cr4, %r8"

/*
 * Floating point and vectors. In other maps, the AVX opcodes chosen are branches, flag
 * operations, or refused.
 */
	with FPU, plain, "movups %xmm2, 16(%rbx)", "movaps %xmm9, kpd_data+32(%rip)"
	with FPU, plain, "movq %xmm1, %rcx", "movss (%rbx), %xmm1", "movsd %xmm1, 8(%rbx)"
	with FPU, plain, "addps %xmm1, %xmm2", "sqrtsd %xmm1, %xmm2", "cmpps $1, %xmm1, %xmm2"
	with FPU, plain, "cvttsd2si %xmm1, %rcx", "pxor %xmm1, %xmm2", "paddd (%rbx), %xmm2"
	with FPU, plain, "psubd %xmm1, %xmm2", "por %xmm1, %xmm2", "pcmpeqb %xmm1, %xmm2"
	with FPU, plain, "pslld $3, %xmm2"
	on X86_FEATURE_XMM4_1, FPU, plain, "pextrq $1, %xmm1, %rcx"
	on X86_FEATURE_PCLMULQDQ, FPU, plain, "pclmulqdq $0x11, %xmm1, %xmm2"
	with FPU, plain, "movntdq %xmm1, (%rbx)", "fld1", "fmulp %st, %st(1)", "fxch %st(2)"
	with FPU, plain, "fcmovne %st(1), %st", "fnstcw (%rbx)", "fnclex"
	on X86_FEATURE_AVX, FPU, plain, "vmovdqu %ymm9, kpd_data+32(%rip)"
	on X86_FEATURE_AVX, FPU, plain, "vaddpd %ymm1, %ymm2, %ymm3", "vzeroall"
	on X86_FEATURE_AVX, FPU, plain, "vshufps $1, %ymm1, %ymm2, %ymm3"
	on X86_FEATURE_AVX, FPU, plain, "vpinsrw $1, %ecx, %xmm2, %xmm3", "vmovq %xmm1, %rcx"
	on X86_FEATURE_AVX, FPU, plain, "vpermilps %xmm1, %xmm2, %xmm3"
	on X86_FEATURE_AVX, FPU, plain, "vbroadcastss (%rbx), %ymm3", "vtestps %ymm1, %ymm2"
	on X86_FEATURE_AVX2, FPU, plain, "vpsubb (%rbx), %ymm2, %ymm3"
	on X86_FEATURE_AVX2, FPU, plain, "vpsubsw %ymm1, %ymm2, %ymm3"
	on X86_FEATURE_AVX2, FPU, plain, "vpshufhw $0x1b, %ymm2, %ymm3", "vpslld $3, %ymm2, %ymm3"
	on X86_FEATURE_AVX2, FPU, plain, "vpsllw %xmm1, %ymm2, %ymm3", "vpsrlq $3, %ymm2, %ymm3"
	on X86_FEATURE_AVX2, FPU, plain, "vpcmpeqb %ymm1, %ymm2, %ymm3"
	on X86_FEATURE_AVX2, FPU, plain, "vpsraw %xmm1, %ymm2, %ymm3", "vpsrad %xmm1, %ymm2, %ymm3"
	on X86_FEATURE_AVX2, FPU, plain, "vpavgw %ymm1, %ymm2, %ymm3"
	on X86_FEATURE_AVX2, FPU, plain, "vpmuludq %ymm1, %ymm2, %ymm3"
	on X86_FEATURE_AVX2, FPU, plain, "vpaddb %ymm1, %ymm2, %ymm3"
	on X86_FEATURE_AVX2, FPU, plain, "vpmaskmovd (%rbx), %ymm2, %ymm3", "vpmovmskb %ymm1, %ecx"
	on X86_FEATURE_FMA, FPU, plain, "vfnmadd132ps %ymm1, %ymm2, %ymm3"
	on X86_FEATURE_FMA, FPU, plain, "vfnmadd132ss %xmm1, %xmm2, %xmm3"

/*
 * Many prefixes, up to the maximum length of an instruction.
 */
	plain ".byte 0x64, 0x2e, 0xf3, 0x67; addq %rcx, %rdx"
	fast ".skip 5, 0x2e; movabsq $0x123456789abcdef0, %rdx"
	plain ".byte 0x26, 0x26; lock addq $0x12345678, 0x88(%rbx,%rcx,4)"
	plain ".byte 0x2e, 0x2e, 0x2e, 0x2e; addq $0x12345678, kpd_data+8(%rip)"
	with INDIRECT, stepped, ".skip 9, 0x26; call *kpd_data+16(%rip)"
	with INDIRECT|NOTRACK, emulated, ".byte 0x2e; jmp *%rdx", ".byte 0x2e; call *%r11"
	with INDIRECT|NOTRACK, stepped, ".byte 0x2e; jmp *(%rbx)", ".byte 0x2e; call *8(%rsp)"

/*
 * Segment overrides, also of string instructions.
 */
	plain "movl %fs:(%rbx), %ecx", "addq %rcx, %fs:8(%rbx)"
	with ZEROS, plain, "movl %ecx, %fs", "movl %ecx, %ds"
	with SELECTOR, plain, "lfsl (%rbx), %ecx"
#ifdef CONFIG_SMP
	with PERCPU, plain, "movq %gs:(%rbx), %rcx", "addl %ecx, %gs:(%rbx)"
	with STRING|PERCPU, plain, "lodsq %gs:(%rsi), %rax", "movsl %gs:(%rsi), %es:(%rdi)"
#endif
	with STRING, plain, "rep movsb %fs:(%rsi), %es:(%rdi)", "lodsw %fs:(%rsi), %ax"
	with STRING, plain, "repe cmpsb %es:(%rdi), %fs:(%rsi)"
	with ZEROS, plain, ".byte 0x67; repe cmpsl"

/*
 * Ports, clocks and model-specific registers.
 */
	with PORT, plain, "outw %ax, (%dx)", "inb (%dx), %al"
	with STRING|PORT, plain, "outsl"
	on X86_FEATURE_RDTSCP, CLOCK, plain, "rdtscp"

/*
 * The state of the FPU, in memory.
 */
	with FPU|AREA, plain, "fxsave64 (%rbx)", "fxrstor64 (%rbx)"
	on X86_FEATURE_OSXSAVE, FPU|AREA, plain, "xsave64 (%rbx)", "xrstor64 (%rbx)"
	with FPU|AREA, plain, "fldcw (%rbx)"
	with FPU, plain, "ffree %st(1)", "fincstp", "fbstp (%rbx)", "fprem", "fxam"

/* Vector indices; the masks are random, and cleared by the instruction. */
	on X86_FEATURE_AVX2, FPU|GATHER, plain, "vgatherqps %xmm1, (%rbx,%xmm2,4), %xmm3"
	on X86_FEATURE_AVX2, FPU|GATHER, plain, "vgatherdpd %ymm1, 8(%rbx,%xmm2,4), %ymm3"
	on X86_FEATURE_AVX2, FPU|GATHER, plain, "vgatherqpd %ymm1, -8(%rbx,%ymm2,8), %ymm3"
	on X86_FEATURE_AVX2, FPU|GATHER, plain, "vpgatherdd %xmm1, (%rbx,%xmm2,2), %xmm3"
#endif /* CONFIG_X86_64 */

	.pushsection .rodata, "a"
SYM_DATA_END_LABEL(kpd_forms, SYM_L_GLOBAL, kpd_forms_end)
	.popsection
