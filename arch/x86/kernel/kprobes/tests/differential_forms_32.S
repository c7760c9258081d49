/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instructions of the differential test on 32 bit, for differential_forms.S,
 * which explains the rows. What changes the stack pointer is not emulated,
 * as the exception returns through a frame that is built below it. There is no
 * function that is traced: the tracer's entry code changes the flags.
 */

/*
 * Arithmetic: emulated between registers, except for operations with carry.
 */
.irp op, add, or, and, sub, xor, cmp
	fast "\op\()l %eax, %edx"
	fast ".byte .Lload_\op, 0xd0"
	fast "\op\()l $0x12345678, %ebx"
	fast "\op\()l $-5, %esi"
	fast "\op\()l $0x7fffffff, %eax"
	plain "\op\()b $0x80, %al"
	plain "\op\()b %cl, %dl"
	plain "\op\()b %ah, %bh"
	plain ".byte .Lload_\op - 1, 0xd1"
	plain "\op\()b $3, %cl"
	plain "\op\()w %cx, %dx"
	plain "\op\()w $-3, %cx"
	plain "\op\()w $0x1234, %cx"
	plain "\op\()l %ecx, (%ebx)"
	plain "\op\()l 16(%ebx), %ecx"
	plain "\op\()b $3, 0x80(%esi)"
	plain "\op\()l $-3, kpd_data+8"
	plain "\op\()l $0x11223344, kpd_data+100"
	plain "\op\()w %ax, 8(%esp)"
.endr
.irp op, adc, sbb
	plain "\op\()l %eax, %edx"
	plain ".byte .Lload_\op, 0xd0"
	plain "\op\()l $0x12345678, %ebx"
	plain "\op\()l $-5, %esi"
	plain "\op\()l $0x7fffffff, %eax"
	plain "\op\()b %cl, %dl"
	plain "\op\()w %cx, %dx"
	plain "\op\()l %ecx, (%ebx)"
	plain "\op\()b $3, (%esi)"
	plain "\op\()l $-3, kpd_data+8"
.endr
	plain "subl $0x28, %esp", with=ALLOCATES
	plain "addl $0x84, %esp"
	plain "andl $-32, %esp", with=ALLOCATES
	fast "cmpl %esp, %ebp"
	fast "cmpl $8, %esp"
	fast "testl %ecx, %edi"
	fast "testl %edx, %edx"
	fast "testl %esp, %esp"
	fast "testl $0x80000001, %esi"
	fast "testl $0x10, %eax"
	plain "testb $0x55, %al"
	plain "testb %cl, %dl"
	plain "testw %cx, %dx"
	plain "testb $1, %ch"
	plain "testw $0x8001, %dx"
	plain "testb $1, (%ebx)"
	plain "testl $0x100, 4(%ebx)"
	plain "testl %ecx, kpd_data"

.irp op, not, neg
	plain "\op\()b %cl"
	plain "\op\()w %cx"
	plain "\op\()l %ecx"
	plain "\op\()l (%ebx)"
	plain "lock \op\()l 8(%ebx)"
.endr
.irp op, mul, imul
	plain "\op\()b %cl"
	plain "\op\()w %cx"
	plain "\op\()l %ecx"
	plain "\op\()l (%ebx)"
.endr
.irp op, div, idiv
	plain "\op\()b %cl", with=DIVIDE
	plain "\op\()w %cx", with=DIVIDE
	plain "\op\()l %ecx", with=DIVIDE
.endr
	plain "imull %ecx, %edx"
	plain "imull 8(%ebx), %edx"
	plain "imull $0x12345, %ecx, %edx"
	plain "imull $-3, %ecx, %edx"
	plain "imulw $300, kpd_data, %cx"
.irp op, inc, dec
	plain "\op\()b %cl"
	plain "\op\()w %cx"
	plain "\op\()l %ecx"
	plain "\op\()b (%ebx)"
	plain "\op\()l 4(%ebx,%edx,8)"
	plain "lock \op\()l kpd_data"
.endr
	plain ".byte 0xff, 0xc1"
	plain ".byte 0xff, 0xc9"
	plain ".byte 0x82, 0xc1, 5"
	plain ".byte 0x82, 0xe9, 5"
.irp op, aaa, aas, daa, das
	plain "\op"
.endr
	plain ".byte 0xd6"
	plain "aam"
	plain "aad"
.irp op, rol, ror, rcl, rcr, shl, shr, sar
	plain "\op\()b $3, %dl"
	plain "\op\()l $3, %edx"
	plain "\op\()l $1, %edx"
	plain "\op\()b $1, %dl"
	plain "\op\()l %cl, %edx"
	plain "\op\()b %cl, %dl"
	plain "\op\()w %cl, %dx"
	plain "\op\()l $7, (%ebx)"
	plain "\op\()l %cl, kpd_data"
.endr
	plain "shldl $5, %eax, %edx"
	plain "shldl %cl, %eax, %edx"
	plain "shrdl $5, %eax, %edx"
	plain "shrdl %cl, %eax, (%ebx)"

/* With a lock prefix, and other atomic operations. */
.irp op, add, or, adc, sbb, and, sub, xor
	plain "lock \op\()l %ecx, (%ebx)"
	plain "lock \op\()l $1, 8(%ebx)"
.endr
	plain "xaddl %ecx, %edx"
	plain "xaddb %cl, %dl"
	plain "lock xaddl %ecx, (%ebx)"
	plain "lock xaddl %ecx, kpd_data"
	plain "cmpxchgl %ecx, %edx"
	plain "cmpxchgb %cl, %dl"
	plain "lock cmpxchgl %ecx, (%ebx)", with=EQUAL
	plain "lock cmpxchgw %cx, kpd_data", with=EQUAL
	plain "lock cmpxchg8b (%esi)", with=EQUAL, cpu=X86_FEATURE_CX8
	plain "xchgl %ecx, %edx"
	plain "xchgb %cl, %dh"
	plain "xchgl %ecx, (%ebx)"
	plain "xchgl %eax, %ecx"
	plain "xchgw %ax, %dx"

/*
 * Moves.
 */
	fast "movl %eax, %ebx"
	fast ".byte 0x8b, 0xd8"
	fast "movl %esp, %ebp"
	fast ".byte 0x8b, 0xec"
	plain "movl %ebp, %esp", with=BP_STACK
	fast "movl $0x89abcdef, %ecx"
	fast ".byte 0xc7, 0xc2, 0xff, 0xff, 0xff, 0xff"
	plain "movb %cl, %dl"
	plain "movb %ah, %ch"
	plain ".byte 0x8a, 0xd1"
	plain "movw %cx, %dx"
	plain "movb $0x12, %cl"
	plain "movb $0x12, %ah"
	plain "movw $0x1234, %cx"
	plain "movl %ecx, (%ebx)"
	plain "movl %ecx, 8(%esp)"
	plain "movl %ecx, 0x70(%ebp)"
	plain "movl %esp, (%ebx)"
	plain "movl (%ebx), %ecx"
	plain "movl kpd_data, %eax"
	plain "movl %eax, kpd_data+4"
	plain "movb kpd_data, %al"
	plain "movb %al, kpd_data+4"
	plain "movl (%esp), %ecx"
	plain "movl 0x10(%ebx), %ecx"
	plain "movl 0xa0(%ebx), %ecx"
	plain "movl (%ebx,%ecx), %edx"
	plain "movl 4(%ebx,%ecx,2), %edx"
	plain "movl 0x88(%ebx,%ecx,4), %edx"
	plain "movl 8(%esp,%ecx,8), %edx"
	plain "movl kpd_data, %ecx"
	plain "movb (%ebx), %cl"
	plain "movb %ch, (%ebx)"
	plain "movw (%ebx), %cx"
	plain "movb $0x12, (%ebx)"
	plain "movl $0x12345678, 4(%ebx)"
	plain "movl $-3, kpd_data+24"
	plain "movw $0x1234, kpd_data+24"
	plain ".byte 0x2e, 0x2e, 0x2e, 0x2e; movl $0x12345678, 0x88(%ebx,%ecx,4)"
	plain ".byte 0x3e; movl (%ebx), %ecx"
	plain ".byte 0x2e; movl (%ebx), %ecx"
	plain ".byte 0x26; movl (%ebx), %ecx"
#ifdef CONFIG_SMP
	plain "movl %fs:kpd_percpu, %ecx"
	plain "movl %ecx, %fs:kpd_percpu"
	plain "addl $3, %fs:kpd_percpu"
#endif
	plain "movzbl %cl, %edx"
	plain "movzbl %ch, %edx"
	plain "movzbl (%ebx), %edx"
	plain "movzwl %cx, %edx"
	plain "movzwl kpd_data, %edx"
	plain "movzbw %cl, %dx"
	plain "movsbl %cl, %edx"
	plain "movsbl (%ebx), %edx"
	plain "movswl %cx, %edx"
	plain "movswl 2(%ebx), %edx"
	plain "movnti %ecx, (%ebx)"
	plain "movbel (%ebx), %ecx", cpu=X86_FEATURE_MOVBE
	plain "movbel %ecx, 8(%ebx)", cpu=X86_FEATURE_MOVBE
	plain "bswapl %ecx"
	plain "cbtw"
	plain "cwtl"
	plain "cwtd"
	plain "cltd"
	plain "xlatb", with=TABLE

	fast "leal -8(%ebx), %eax"
	fast "leal 0x12345(%esi), %edi"
	fast "leal (%ecx,%edx,4), %eax"
	fast "leal (%ecx,%edx), %eax"
	fast "leal 0x10(%ebp,%edx,8), %eax"
	fast "leal 0x100(,%edi,2), %eax"
	fast "leal (%ebp), %eax"
	fast "leal (%eax), %ecx"
	fast "leal 0x18(%esp), %eax"
	plain "leal -0x40(%esp), %esp", with=ALLOCATES
	plain "leal 8(%ebp), %esp", with=BP_STACK
	fast "leal kpd_data, %esi"
	plain "leal 8(%bx), %ecx"
	plain "leaw 8(%ebx), %cx"

	fast "nop"
	fast "xchgw %ax, %ax"
	fast "pause"
	fast "nopl (%eax)"
	fast "nopl 8(%eax,%eax,2)"
	fast "nopl 0x1000(%eax)"
	fast "nopw %cs:0x1000(%eax,%eax)"
	fast "nopl %ecx"
	fast ".byte 0x67; nop"
	fast ".byte 0x2e; nop"
	plain "prefetcht0 (%ebx)"
	plain "prefetchw (%ebx)", cpu=X86_FEATURE_3DNOWPREFETCH
	plain ".byte 0x0f, 0x1e, 0xc8"

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
	plain "setne (%ebx)"
	plain "setl kpd_data"
	plain "cmovnel (%ebx), %edx"
	plain "cmovsw %cx, %dx"
	plain "cmovgl kpd_data, %edx"
.irp op, bt, bts, btr, btc
	plain "\op\()l %ecx, %edx"
	plain "\op\()l $17, %edx"
	plain "\op\()l $5, (%ebx)"
	plain "\op\()l %eax, (%ebx)", with=BITS
.endr
.irp op, bts, btr, btc
	plain "lock \op\()l $5, kpd_data"
	plain "lock \op\()l %eax, 8(%ebx)", with=BITS
.endr
	plain "bsfl %ecx, %edx"
	plain "bsrl %ecx, %edx"
	plain "tzcntl %ecx, %edx"
	plain "lzcntl (%ebx), %edx"
	plain "popcntl %ecx, %edx", cpu=X86_FEATURE_POPCNT
	plain "popcntl (%ebx), %edx", cpu=X86_FEATURE_POPCNT
	plain "crc32b %cl, %edx", cpu=X86_FEATURE_XMM4_2
	plain "crc32l (%ebx), %edx", cpu=X86_FEATURE_XMM4_2
	plain "adcxl %ecx, %edx", cpu=X86_FEATURE_ADX
	plain "andnl %ecx, %edx, %edi", cpu=X86_FEATURE_BMI1
	plain "bextrl %ecx, (%ebx), %edx", cpu=X86_FEATURE_BMI1
	plain "blsil %ecx, %edx", cpu=X86_FEATURE_BMI1
	plain "blsrl %ecx, %edx", cpu=X86_FEATURE_BMI1
	plain "blsmskl (%ebx), %edx", cpu=X86_FEATURE_BMI1
	plain "bzhil %ecx, %edx, %edi", cpu=X86_FEATURE_BMI2
	plain "mulxl %ecx, %ebx, %edi", cpu=X86_FEATURE_BMI2
	plain "pdepl %ecx, %edx, %edi", cpu=X86_FEATURE_BMI2
	plain "pextl %ecx, %edx, %edi", cpu=X86_FEATURE_BMI2
	plain "rorxl $5, kpd_data, %edx", cpu=X86_FEATURE_BMI2
	plain "sarxl %ecx, %edx, %edi", cpu=X86_FEATURE_BMI2
	plain "shlxl %ecx, (%ebx), %edi", cpu=X86_FEATURE_BMI2
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
.irp op, loop, loope, loopne, jecxz
	emulated "\op 1f", with=SHORT_COUNT
.endr
	emulated "loop 0b", with=SHORT_COUNT
	emulated ".byte 0x67; loop 1f", with=SHORT_COUNT
	emulated ".byte 0x67; loope 1f", with=SHORT_COUNT
	emulated ".byte 0x67; loopne 1f", with=SHORT_COUNT
	emulated "jcxz 1f", with=SHORT_COUNT
	emulated ".byte 0x2e; loop 1f", with=SHORT_COUNT
	emulated "call 1f"
	emulated ".byte 0x2e; call 1f"
	emulated ".byte 0x2e, 0x2e; call kpd_back"
	emulated ".byte 0x2e, 0x3e; call kpd_callee", with=CALLEE
	emulated ".byte 0xf2; call 1f"
	emulated ".byte 0x3e; call 1f"
	emulated "call *%eax", with=INDIRECT
	emulated "call *%esi", with=INDIRECT
	emulated "call *%ebp", with=INDIRECT
	emulated ".byte 0x2e; call *%edx", with=INDIRECT
	emulated "jmp *%edx", with=INDIRECT
	emulated "jmp *%esi", with=INDIRECT
	emulated "jmp *%ebp", with=INDIRECT
	stepped "call *(%ebx)", with=INDIRECT
	stepped "call *8(%ebx)", with=INDIRECT
	stepped "call *0x80(%esi)", with=INDIRECT
	stepped "call *(%ebx,%ecx,8)", with=INDIRECT
	stepped "call *8(%esp)", with=INDIRECT
	stepped "call *(%esp)", with=INDIRECT
	stepped "call *kpd_data+16", with=INDIRECT
	stepped ".byte 0x2e; call *(%ebx)", with=INDIRECT
	stepped "jmp *(%ebx)", with=INDIRECT
	stepped "jmp *0x20(%esi)", with=INDIRECT
	stepped "jmp *8(%esp)", with=INDIRECT
	stepped "jmp *-8(%ebx,%ecx,8)", with=INDIRECT
	stepped "jmp *kpd_data+16", with=INDIRECT
	emulated ".byte 0xc3", with=INDIRECT
	emulated ".byte 0xc2, 16, 0", with=INDIRECT
	emulated ".byte 0xf3, 0xc3", with=INDIRECT
	emulated ".byte 0xf2, 0xc3", with=INDIRECT

/*
 * The stack.
 */
.irp reg, eax, ecx, edx, ebx, esp, ebp, esi, edi
	fast "pushl %\reg"
.endr
.irp reg, eax, ecx, edx, ebx, ebp, esi, edi
	fast "popl %\reg"
.endr
	plain "popl %esp", with=STACK_ADDR
	fast ".byte 0x67; pushl %eax"
	plain "pushw %ax"
	plain "popw %cx"
	plain ".byte 0xff, 0xf1"
	plain ".byte 0x8f, 0xc1"
	plain "pushl $5"
	plain "pushl $0x12345678"
	plain "pushw $0x1234"
	plain "pushl 8(%esp)"
	plain "pushl (%ebx)"
	plain "pushl kpd_data"
	plain "popl 8(%esp)"
	plain "popl (%ebx)"
	plain "popl kpd_data"
	plain "pushal"
	plain "popal"
	plain "pushaw"
	plain "popaw"
	plain "pushl %cs"
	plain "pushl %ss"
	plain "pushl %ds"
	plain "pushl %es"
	plain "popl %es", with=ZEROS
	plain "pushl %fs"
	plain "pushl %gs"
	plain "popl %gs", with=ZEROS
	plain "enter $16, $0", with=ALLOCATES
	plain "enter $32, $2", with=BP_STACK|ALLOCATES
	plain "leave", with=BP_STACK
	emulated "pushfl"
	emulated "pushfw"
	emulated "popfl"
	emulated "popfw"

/*
 * Strings.
 */
.irp size, b, w, l
	plain "rep movs\size", with=STRING
	plain "rep stos\size", with=STRING
	plain "movs\size", with=STRING
	plain "repe cmps\size", with=STRING
	plain "repne scas\size", with=STRING
.endr
	plain "stosb", with=STRING
	plain "stosl", with=STRING
	plain "lodsb", with=STRING
	plain "rep lodsl", with=STRING
	plain "lodsl", with=STRING
	plain "cmpsb", with=STRING
	plain "repne cmpsl", with=STRING
	plain "scasb", with=STRING
	plain "repe scasl", with=STRING

/*
 * System instructions.
 */
	plain "cpuid", with=ZEROS
	plain "rdmsr", with=MSR
	plain "xgetbv", with=ZEROS, cpu=X86_FEATURE_OSXSAVE
	plain "movl %cr0, %ecx"
	plain "movl %cr4, %ecx"
	plain "movl %db7, %ecx"
	plain "movl %ds, %ecx"
	plain "movl %ss, %edx"
	plain "movw %cs, (%ebx)"
	plain "movl %ecx, %es", with=ZEROS
	plain "lfence"
	plain "mfence"
	plain "sfence"
	plain "clflush (%ebx)"
	plain "invlpg (%ebx)"
	plain "sgdt (%ebx)"
	plain "sidt 16(%ebx)"
	plain "smswl %ecx"
	plain "strl %ecx"
	plain "sldtl %ecx"
	plain "verr %cx", with=ZEROS
	plain "verw (%ebx)"
	plain "larl %ecx, %edx", with=ZEROS
	plain "lsll %ecx, %edx", with=ZEROS

/*
 * Floating point and vectors. In other modes C4 and C5 are LES and LDS.
 */
	plain "movups (%ebx), %xmm1", with=FPU
	plain "movaps %xmm1, %xmm2", with=FPU
	plain "movdqu kpd_data, %xmm3", with=FPU
	plain "movdqa %xmm1, (%ebx)", with=FPU
	plain "movd %ecx, %xmm1", with=FPU
	plain "movd %xmm1, %ecx", with=FPU
	plain "movq (%ebx), %xmm4", with=FPU
	plain "mulsd %xmm1, %xmm2", with=FPU
	plain "divss (%ebx), %xmm2", with=FPU
	plain "cvtsi2sd %ecx, %xmm1", with=FPU
	plain "ucomisd %xmm1, %xmm2", with=FPU
	plain "shufps $0x1b, %xmm1, %xmm2", with=FPU
	plain "pmovmskb %xmm1, %ecx", with=FPU
	plain "pshufd $0x1b, kpd_data, %xmm2", with=FPU
	plain "pinsrw $3, %ecx, %xmm2", with=FPU
	plain "pshufb %xmm1, %xmm2", with=FPU, cpu=X86_FEATURE_SSSE3
	plain "palignr $3, %xmm1, %xmm2", with=FPU, cpu=X86_FEATURE_SSSE3
	plain "ptest %xmm1, %xmm2", with=FPU, cpu=X86_FEATURE_XMM4_1
	plain "aesenc %xmm1, %xmm2", with=FPU, cpu=X86_FEATURE_AES
	plain "ldmxcsr kpd_mxcsr", with=FPU
	plain "stmxcsr (%ebx)", with=FPU
	plain "movq %mm1, %mm2", with=FPU
	plain "paddb (%ebx), %mm2", with=FPU
	plain "emms", with=FPU
	plain "fldl (%ebx)", with=FPU
	plain "fldt (%ebx)", with=FPU
	plain "fadd %st(1), %st", with=FPU
	plain "fdivs 4(%ebx)", with=FPU
	plain "fstpl 8(%ebx)", with=FPU
	plain "fistpll kpd_data", with=FPU
	plain "fucomip %st(1), %st", with=FPU
	plain "fnstsw %ax", with=FPU
	plain "fninit", with=FPU
	plain "vmovups (%ebx), %ymm1", with=FPU, cpu=X86_FEATURE_AVX
	plain "vxorps %xmm1, %xmm2, %xmm3", with=FPU, cpu=X86_FEATURE_AVX
	plain "vzeroupper", with=FPU, cpu=X86_FEATURE_AVX
	plain "vcmpps $1, %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX
	plain "vpsubd %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpsubq %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpor %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpsubsb %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpshufd $0x1b, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpcmpeqw kpd_data, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vpavgb %ymm1, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_AVX2
	plain "vfmadd213pd kpd_data, %ymm2, %ymm3", with=FPU, cpu=X86_FEATURE_FMA

/*
 * Many prefixes, up to the maximum length of an instruction.
 */
	plain ".byte 0x26, 0x3e, 0x66, 0xf0; addl %ecx, (%ebx)"
	plain ".byte 0x64, 0x2e, 0xf3, 0x67; adcl %ecx, %edx"
	plain ".byte 0x66, 0x2e, 0x64, 0xf3; stosl", with=STRING
	fast ".skip 14, 0x2e; pushl %eax"
	fast ".skip 5, 0x66; nopw %cs:0x1000(%eax,%eax)"
	plain ".byte 0x26, 0x26, 0x26; lock addl $0x12345678, 0x88(%ebx,%ecx,4)"
	emulated ".skip 9, 0x2e; jne kpd_taken"
	emulated ".skip 10, 0x2e; call kpd_taken"
	emulated ".byte 0x3e; jmp *%edx", with=INDIRECT
	emulated ".byte 0x3e; call *%esi", with=INDIRECT
	stepped ".byte 0x3e; jmp *(%ebx)", with=INDIRECT
	stepped ".byte 0x3e; call *8(%esp)", with=INDIRECT

/*
 * Segment overrides, also of string instructions, and bounds.
 */
	plain "lesl (%ebx), %ecx", with=SELECTOR
	plain "lgsl (%ebx), %ecx", with=SELECTOR
	plain "movl %ecx, %gs", with=ZEROS
	plain "movl %fs, %ecx"
	plain "movl %gs, %edx"
	plain "movw %es, 4(%ebx)"
	plain "arpl %cx, %dx"
	plain "arpl %cx, (%ebx)"
	plain "boundl %ecx, (%ebx)", with=RANGE
	plain "boundw %cx, (%ebx)", with=RANGE
#ifdef CONFIG_SMP
	plain "movl %fs:(%ebx), %ecx", with=PERCPU
	plain "lodsl %fs:(%esi), %eax", with=STRING|PERCPU
#endif
	plain "rep movsb %es:(%esi), %es:(%edi)", with=STRING
	plain "lodsw %es:(%esi), %ax", with=STRING
	plain ".byte 0x2e; rep movsb", with=STRING
	plain ".byte 0x67; rep movsb", with=ZEROS
	plain ".byte 0x67; rep stosl", with=ZEROS
	plain ".byte 0x67; repne scasb", with=ZEROS

/* Addresses of 16 bits, which are only computed. */
	plain "leal (%bx,%si), %ecx"
	plain "leal -2(%bp,%di), %ecx"
	plain "leal 0x1234(%bp,%si), %ecx"
	plain "leal (%di), %ecx"
	plain ".byte 0x67, 0x8d, 0x0e, 0x34, 0x12"
	plain "leaw 0x12(%bx,%di), %cx"
	fast ".byte 0x67, 0x0f, 0x1f, 0x46, 0x08"
	fast ".byte 0x67, 0x0f, 0x1f, 0x06, 0x34, 0x12"

/*
 * Ports, clocks and model-specific registers.
 */
	plain "outb %al, $0x80"
	plain "outl %eax, $0x80"
	plain "outb %al, (%dx)", with=PORT
	plain "inb $0x80, %al"
	plain "inw (%dx), %ax", with=PORT
	plain "inl (%dx), %eax", with=PORT
	plain "insb", with=STRING|PORT
	plain "rep insw", with=STRING|PORT
	plain "rep outsb", with=STRING|PORT
	plain "rdtsc", with=CLOCK
	plain "wrmsr", with=SAME_MSR

/*
 * The state of the FPU, in memory.
 */
	plain "fxsave (%ebx)", with=FPU|AREA
	plain "fxrstor (%ebx)", with=FPU|AREA
	plain "xsave (%ebx)", with=FPU|AREA, cpu=X86_FEATURE_OSXSAVE
	plain "xrstor (%ebx)", with=FPU|AREA, cpu=X86_FEATURE_OSXSAVE
	plain "fnsave (%ebx)", with=FPU|AREA
	plain "frstor (%ebx)", with=FPU|AREA
	plain "fnstenv (%ebx)", with=FPU|AREA
	plain "fldenv (%ebx)", with=FPU|AREA
	plain "vgatherdps %ymm1, (%ebx,%ymm2,4), %ymm3", with=FPU|GATHER, cpu=X86_FEATURE_AVX2
	plain "vpgatherqq %ymm1, kpd_data(,%ymm2,8), %ymm3", with=FPU|GATHER, cpu=X86_FEATURE_AVX2
