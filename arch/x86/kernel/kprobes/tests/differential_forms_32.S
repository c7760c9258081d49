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
.irp op, adc, sbb
	plain ".byte .Lload_\op, 0xd0"
.endr
	with ALLOCATES, plain, "subl $0x28, %esp"
	plain "addl $0x84, %esp"
	with ALLOCATES, plain, "andl $-32, %esp"

	plain ".byte 0xff, 0xc1", ".byte 0xff, 0xc9", ".byte 0x82, 0xc1, 5", ".byte 0x82, 0xe9, 5"
.irp op, aaa, aas, daa, das
	plain "\op"
.endr
	plain ".byte 0xd6", "aam", "aad"

/* With a lock prefix, and other atomic operations. */
	on X86_FEATURE_CX8, EQUAL, plain, "lock cmpxchg8b (%esi)"

/*
 * Moves.
 */
	fast ".byte 0x8b, 0xec"
	with BP_STACK, plain, "movl %ebp, %esp"
	plain "movl kpd_data, %eax", "movl %eax, kpd_data+4", "movb kpd_data, %al"
	plain "movb %al, kpd_data+4"
	plain ".byte 0x2e, 0x2e, 0x2e, 0x2e; movl $0x12345678, 0x88(%ebx,%ecx,4)"
#ifdef CONFIG_SMP
	plain "movl %fs:kpd_percpu, %ecx", "movl %ecx, %fs:kpd_percpu", "addl $3, %fs:kpd_percpu"
#endif

	with ALLOCATES, plain, "leal -0x40(%esp), %esp"
	with BP_STACK, plain, "leal 8(%ebp), %esp"
	fast "leal kpd_data, %esi"
	plain "leal 8(%bx), %ecx"

/*
 * Branches.
 */
.irp op, loop, loope, loopne, jecxz
	with SHORT_COUNT, emulated, "\op 1f"
.endr
	with SHORT_COUNT, emulated, "jcxz 1f", ".byte 0x2e; loop 1f"
	emulated ".byte 0x3e; call 1f"
	with INDIRECT, emulated, "call *%esi", "jmp *%esi"
	with INDIRECT, stepped, "call *0x80(%esi)", "jmp *0x20(%esi)"

/*
 * The stack.
 */
.irp reg, eax, ecx, edx, ebx, esp, ebp, esi, edi
	fast "pushl %\reg"
.endr
.irp reg, eax, ecx, edx, ebx, ebp, esi, edi
	fast "popl %\reg"
.endr
	with STACK_ADDR, plain, "popl %esp"
	plain "pushal", "popal", "pushaw", "popaw", "pushl %cs", "pushl %ss", "pushl %ds"
	plain "pushl %es"
	with ZEROS, plain, "popl %es", "popl %gs"

/*
 * Strings.
 */
.irp size, b, w, l
	with STRING, plain, "rep movs\size", "rep stos\size", "movs\size", "repe cmps\size"
	with STRING, plain, "repne scas\size"
.endr

/*
 * System instructions.
 */
	plain "movl %cr4, %ecx"

/*
 * Floating point and vectors. In other modes C4 and C5 are LES and LDS.
 */
	with FPU, plain, "movd %xmm1, %ecx"

/*
 * Many prefixes, up to the maximum length of an instruction.
 */
	plain ".byte 0x64, 0x2e, 0xf3, 0x67; adcl %ecx, %edx"
	plain ".byte 0x26, 0x26, 0x26; lock addl $0x12345678, 0x88(%ebx,%ecx,4)"
	with INDIRECT, emulated, ".byte 0x3e; jmp *%edx", ".byte 0x3e; call *%esi"
	with INDIRECT, stepped, ".byte 0x3e; jmp *(%ebx)", ".byte 0x3e; call *8(%esp)"

/*
 * Segment overrides, also of string instructions, and bounds.
 */
	with SELECTOR, plain, "lesl (%ebx), %ecx", "lgsl (%ebx), %ecx"
	with ZEROS, plain, "movl %ecx, %gs"
	plain "arpl %cx, %dx", "arpl %cx, (%ebx)"
	with RANGE, plain, "boundl %ecx, (%ebx)", "boundw %cx, (%ebx)"
#ifdef CONFIG_SMP
	with PERCPU, plain, "movl %fs:(%ebx), %ecx"
	with STRING|PERCPU, plain, "lodsl %fs:(%esi), %eax"
#endif
	with STRING, plain, "rep movsb %es:(%esi), %es:(%edi)", "lodsw %es:(%esi), %ax"

/* Addresses of 16 bits, which are only computed. */
	plain "leal (%bx,%si), %ecx", "leal -2(%bp,%di), %ecx", "leal 0x1234(%bp,%si), %ecx"
	plain "leal (%di), %ecx", ".byte 0x67, 0x8d, 0x0e, 0x34, 0x12", "leaw 0x12(%bx,%di), %cx"
	fast ".byte 0x67, 0x0f, 0x1f, 0x46, 0x08", ".byte 0x67, 0x0f, 0x1f, 0x06, 0x34, 0x12"
