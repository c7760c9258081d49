/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instructions of the differential test:
 *
 *	KIND "instruction", ...
 *	with WITH, KIND, "instruction", ...
 *	on CPU, WITH, KIND, "instruction", ...
 *	at_end WITH, KIND, "instruction", ...
 *	named KIND, "instruction", "text" [, with=...] [, cpu=...]
 *
 * KIND is how they have to be executed under a probe (DIFF_* in differential_forms.h): plain,
 * fast or emulated. "1f" in one is a label after it, "0b" one before it. WITH is what they
 * require of the state, CPU a feature without which they are skipped. Each row of the decoder's
 * table that accepts instructions has at least one form.
 *
 * All registers, the stack and kpd_data are random. x1 addresses memory, if at all, and x2
 * is the index. x18 belongs to the shadow call stack, so no form names it.
 */

#include <linux/linkage.h>

#include <asm/assembler.h>

#include "differential_forms.h"
#include "differential_macros.S"

/* Those that are written by name; others have their encoding. */
	.arch	armv8.5-a+fp16+fp16fml+crypto+sha3+sm4+memtag+bf16+i8mm+sve

/*
 * Runs kpd_machine.code in the state of kpd_machine, and saves the resulting state. TPIDR_EL0
 * is of no use to a task without user space, and frees a register. Interrupts use the stack
 * of the state.
 */
	.text
SYM_FUNC_START(kpd_run)
	stp	x29, x30, [sp, -256]!
	.irp	n, 19,20,21,22,23,24,25,26,27,28
	str	x\n, [sp, 8 * \n]
	.endr
	adr_l	x16, kpd_machine
	mrs	x0, daif
	mov	x1, sp
	str	x0, [x16, DIFF_HOST_DAIF]
	str	x1, [x16, DIFF_HOST_SP]
	ldr	x0, [x16, DIFF_SP]
	ldr	x1, [x16, DIFF_NZCV]
	ldr	x2, [x16, DIFF_DAIF]
	mov	sp, x0
	msr	nzcv, x1
	msr	daif, x2
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,17,19,20,21,22,23,24,25,26,27,28,29,30
	ldr	x\n, [x16, DIFF_REG(\n)]
	.endr
#ifndef CONFIG_SHADOW_CALL_STACK
	ldr	x18, [x16, DIFF_REG(18)]
#endif
	ldr	x16, [x16, DIFF_CODE]
	br	x16

.macro leave exit:req
	msr	tpidr_el0, x16
	adr_l	x16, kpd_machine
	str	x17, [x16, DIFF_REG(17)]
	mov	x17, \exit
	str	x17, [x16, DIFF_EXIT]
.endm

SYM_INNER_LABEL(kpd_next, SYM_L_GLOBAL)
	leave	DIFF_NEXT
	b	.Lstore
SYM_INNER_LABEL(kpd_back, SYM_L_GLOBAL)
	leave	DIFF_BACK
	b	.Lstore
SYM_INNER_LABEL(kpd_taken, SYM_L_GLOBAL)
	leave	DIFF_TAKEN
.Lstore:
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,18,19,20,21,22,23,24,25,26,27,28,29,30
	str	x\n, [x16, DIFF_REG(\n)]
	.endr
	mrs	x0, tpidr_el0
	mov	x1, sp
	str	x0, [x16, DIFF_REG(16)]
	str	x1, [x16, DIFF_SP]
	mrs	x0, nzcv
	mrs	x1, daif
	stp	x0, x1, [x16, DIFF_NZCV]
	ldr	x0, [x16, DIFF_HOST_SP]
	ldr	x1, [x16, DIFF_HOST_DAIF]
	mov	sp, x0
	msr	daif, x1
	.irp	n, 19,20,21,22,23,24,25,26,27,28
	ldr	x\n, [sp, 8 * \n]
	.endr
	ldp	x29, x30, [sp], 256
	ret
SYM_FUNC_END(kpd_run)

/* A function to be inside of: its NOP is probed. */
SYM_FUNC_START(kpd_outer)
SYM_INNER_LABEL(kpd_outer_insn, SYM_L_GLOBAL)
	nop
	ret
SYM_FUNC_END(kpd_outer)

/* A function to be called by a form. With landing pads, it begins with one. */
SYM_FUNC_START(kpd_callee)
	nop
	ret
SYM_FUNC_END(kpd_callee)

/*
 * Functions to be called through a register while their first instructions are probed. A
 * breakpoint is a landing pad of any kind, and they are not called otherwise. They return 0.
 */
.macro landing insn:vararg
	.pushsection .text, "ax"
	.balign 16
	.type kpd_landing_\@, %function
kpd_landing_\@:
	\insn
	mov	w0, 0
	ret
	.size kpd_landing_\@, . - kpd_landing_\@
	.popsection
	.quad	kpd_landing_\@
.endm

	.pushsection .rodata, "a"
	.balign 8
SYM_DATA_START(kpd_landings)
	landing	nop
	landing	mov x9, x30
	landing	hint 34
	landing	add x9, x9, 1
	landing	stp x29, x30, [sp, -16]
	landing	adr x9, .
	landing	ldr w9, .+8
	landing	mrs x9, daif
	landing	b .+4
	landing	b.eq .+4
	landing	cbz x9, .+4
	landing	tbnz x9, 63, .+4
	landing	prfm pldl1keep, .
SYM_DATA_END_LABEL(kpd_landings, SYM_L_GLOBAL, kpd_landings_end)
	.popsection

	.pushsection .rodata, "a"
	.balign 8
SYM_DATA_START(kpd_forms)
	.popsection

/*
 * Data processing, immediate.
 */
	emulated "adr x0, 1f", "adr x30, 0b", "adr x1, .", "adr xzr, 1f"
	emulated_word 0x10800000, "adr x0, .-1048576"
	emulated_word 0x707fffe0, "adr x0, .+1048575"
	emulated_word 0x70ffffe2, "adr x2, .-1"
	at_end 0, emulated, "adr x0, .+4", "adr x0, .+8", "adr x0, .-4092", "adr x0, .-4096"
	emulated "adrp x0, kpd_machine", "adrp x0, kpd_run", "adrp xzr, kpd_run"
	emulated_word 0x9000001e, "adrp x30, ."
	emulated_word 0x9000001e, "adrp x30, ., at the end of a page", at_end=1
	emulated_word 0xb0000000, "adrp x0, .+4096", at_end=1
	emulated_word 0xf0ffffe0, "adrp x0, .-4096", at_end=1
	emulated_word 0x90800000, "adrp x0, .-(1 << 32)"
	emulated_word 0xf07fffe0, "adrp x0, .+(1 << 32)-4096"

	fast "add w0, w1, 4095", "add x0, x1, 1, lsl 12", "add x30, x30, 1"
	fast "adds x0, x1, 4095, lsl 12", "cmn w1, 1", "cmp x1, 5", "subs w0, w1, 1"
	fast "sub x0, sp, 16", "mov x29, sp", "add x29, sp, 64"
	with STACK|ALLOCATES, plain, "mov sp, x1"
	plain "add sp, sp, 16"
	with ALLOCATES, plain, "sub sp, sp, 48"
	fast "cmn sp, 5", "add x30, sp, 4095", "subs x29, sp, 1", "cmp x30, 7"
	on CPU_MTE, 0, plain, "addg x0, x1, 16, 1", "subg x0, x1, 32, 3"
	plain_word 0x91cffc20, "umin x0, x1, 255", cpu=CPU_CSSC
	plain_word 0x11c3fc20, "smax w0, w1, -1", cpu=CPU_CSSC

	fast "and x0, x1, 0xff00ff00ff00ff"
	with STACK|ALLOCATES, plain, "and sp, x1, ~15"
	fast "tst w0, 1", "ands x0, x1, 0x8000000000000000", "orr x0, x1, 0x5555555555555555"
	fast "orr w0, wzr, 0x3fc", "eor w0, w1, 0x0f0f0f0f", "mov w0, -1", "mov x0, -2"
	fast "movz w0, 1", "movk w0, 0xffff, lsl 16", "movz x0, 1, lsl 48"
	fast "movk x30, 0x1234, lsl 32", "sxtb w0, w1", "sxtw x0, w1", "asr x0, x1, 63"
	fast "bfi w0, w1, 4, 4", "bfi x0, x1, 4, 60", "bfxil x0, x1, 8, 8", "lsr w0, w1, 31"
	fast "lsl x0, x1, 63", "ubfx x0, x1, 5, 20", "movk x17, 1", "bfi x30, x29, 7, 9"
	fast "extr x30, x29, x28, 7", "extr w0, w1, w2, 31", "extr x0, x1, x2, 63", "ror x0, x1, 1"

/*
 * Branches.
 */
	emulated "b 1f", "b 0b", "b .+4"
	at_end 0, emulated, "b 1f", "b 0b"
	emulated "bl 1f", "bl 0b", "bl .+4"
	at_end 0, emulated, "bl 1f"
	with CALLEE, emulated, "bl kpd_callee"
	at_end CALLEE, emulated, "bl kpd_callee"

.irp cond, eq, ne, cs, cc, mi, pl, vs, vc, hi, ls, ge, lt, gt, le, al, nv
	with CONDITION, emulated, "b.\cond 1f", "b.\cond 0b"
.endr
	at_end CONDITION, emulated, "b.ne 1f"
	emulated "b.ne .+4"
	emulated_word 0x54000050, "bc.eq .+8", with=CONDITION, cpu=CPU_HBC

.irp op, cbz, cbnz
	with CONDITION, emulated, "\op w1, 1f", "\op x1, 1f", "\op w1, 0b", "\op x1, 0b"
	with CONDITION, emulated, "\op w30, 1f", "\op x16, 1f", "\op x0, 0b"
	emulated "\op wzr, 1f", "\op xzr, 0b"
	at_end CONDITION, emulated, "\op x29, 1f"
.endr

.macro test_bits op:req, first:req
.irp bit, 0, 1, 2, 3, 4, 5, 6, 7
	with CONDITION, emulated, "\op x1, \first + \bit, 1f"
.endr
.endm
.irp first, 0, 8, 16, 24, 32, 40, 48, 56
	test_bits tbz, \first
	test_bits tbnz, \first
.endr
.irp op, tbz, tbnz
	with CONDITION, emulated, "\op w1, 0, 0b", "\op w30, 31, 0b", "\op x30, 32, 0b"
	with CONDITION, emulated, "\op x16, 63, 0b"
	emulated "\op wzr, 31, 1f", "\op xzr, 63, 0b"
	at_end CONDITION, emulated, "\op x0, 33, 1f"
.endr

.irp reg, x0, x9, x16, x17, x19, x29, x30
	with TARGET, emulated, "br \reg", "ret \reg"
.endr
.irp reg, x0, x9, x16, x17, x29
	with TARGET|NO_JUMP_BTI, emulated, "blr \reg"
	with CALLEE|NO_JUMP_BTI, emulated, "blr \reg"
.endr
	with TARGET|NO_JUMP, emulated, "blr x30"
	with CALLEE|NO_JUMP, emulated, "blr x30"
	at_end CALLEE|NO_JUMP_BTI, emulated, "blr x1"
	at_end TARGET, emulated, "br x1"

/*
 * Hints, barriers, PSTATE and system registers.
 */
	fast "nop"
	at_end 0, fast, "nop"
	named fast, "hint 32", "bti", with=NO_JUMP_BTI
	named fast, "hint 34", "bti c", with=NO_JUMP_BTI
	named fast, "hint 36", "bti j", with=NO_JUMP_BTI
	named fast, "hint 38", "bti jc", with=NO_JUMP_BTI
	named plain, "hint 7", "xpaclri"
	named plain, "hint 8", "pacia1716"
	named plain, "hint 10", "pacib1716"
	named plain, "hint 24", "paciaz"
	named plain, "hint 25", "paciasp", with=NO_JUMP_BTI
	named plain, "hint 26", "pacibz"
	named plain, "hint 27", "pacibsp", with=NO_JUMP_BTI
	named plain, "hint 12", "autia1716", with=SIGNED
	named plain, "hint 14", "autib1716", with=SIGNED
	named plain, "hint 28", "autiaz", with=SIGNED
	named plain, "hint 29", "autiasp", with=SIGNED
	named plain, "hint 30", "autibz", with=SIGNED
	named plain, "hint 31", "autibsp", with=SIGNED
	plain "isb", "dsb sy", "dsb ishst", "dmb ishld", "clrex"
	plain_word 0xd503309f, "ssbb"
	plain_word 0xd503349f, "pssbb"
	plain_word 0xd5033a3f, "dsb ishnxs", cpu=CPU_XS
	plain_word 0xd50330ff, "sb", cpu=CPU_SB

	plain_word 0xd500401f, "cfinv", cpu=CPU_FLAGM
	plain_word 0xd500403f, "xaflag", cpu=CPU_FLAGM2
	plain_word 0xd500405f, "axflag", cpu=CPU_FLAGM2
.irp mask, 0, 1, 2, 3, 4, 8, 9, 15
	emulated "msr daifset, \mask"
	with IRQ_ON, emulated, "msr daifclr, \mask"
.endr
	emulated "mrs x0, daif", "mrs x30, daif", "mrs xzr, daif"
	with IRQ_ON, emulated, "msr daif, x0", "msr daif, x30", "msr daif, xzr"
	at_end 0, emulated, "mrs x0, daif"

	plain "mrs x0, nzcv", "mrs x0, fpcr", "mrs x0, fpsr", "mrs x0, currentel", "mrs x0, spsel"
	plain "mrs x0, midr_el1", "mrs x0, sp_el0", "mrs x0, tpidr_el1", "mrs x0, ttbr0_el1"
	plain "mrs xzr, cntvct_el0"
	with VARIES, plain, "mrs x0, cntvct_el0"

	with MEM, plain, "dc civac, x1", "dc cvau, x1"
	with MEM|FILLS, plain, "dc zva, x1"
	with MEM, plain, "ic ivau, x1"
	plain "ic iallu", "tlbi vmalle1", "tlbi vaae1is, x2"
	with MEM, plain, "at s1e1r, x1"

/*
 * Loads and stores.
 */
	with MEM, plain, "ldar x0, [x1]"
	with MEM|ODD, plain, "ldarb w0, [x1]"
	with MEM, plain, "ldarh w0, [x1]", "stlr w0, [x1]"
	plain "stlr x0, [sp]"
	with MEM, plain, "stlrh wzr, [x1]"
	plain_word 0x88df7c20, "ldlar w0, [x1]", with=MEM, cpu=CPU_LOR
	plain_word 0xc89f7c20, "stllr x0, [x1]", with=MEM, cpu=CPU_LOR
	on CPU_LSE, MEM|EQUAL, plain, "casp x2, x3, x4, x5, [x1]", "caspal w2, w3, w4, w5, [x1]"
	on CPU_LSE, MEM|EQUAL, plain, "cas x2, x0, [x1]", "casal w2, w0, [x1]"
	on CPU_LSE, MEM|ODD|EQUAL, plain, "casab w2, w0, [x1]"
	on CPU_LSE, MEM|EQUAL, plain, "casl x2, xzr, [x1]", "caslh w2, w30, [x1]"

	plain_word 0xd9408020, "ldapur x0, [x1, 8]", with=MEM, cpu=CPU_LRCPC2
	plain_word 0x191ff020, "stlurb w0, [x1, -1]", with=MEM, cpu=CPU_LRCPC2
	plain_word 0x19800020, "ldapursb x0, [x1]", with=MEM|ODD, cpu=CPU_LRCPC2
	plain_word 0x99800020, "ldapursw x0, [x1]", with=MEM, cpu=CPU_LRCPC2
	plain_word 0x1dc00820, "ldapur q0, [x1]", with=MEM, cpu=CPU_LRCPC3
	plain_word 0xd9421820, "ldiapp x0, x2, [x1]", with=MEM, cpu=CPU_LRCPC3
	plain_word 0xd9c00820, "ldapr x0, [x1], 8", with=MEM, cpu=CPU_LRCPC3
	plain_word 0x99800820, "stlr w0, [x1, -4]!", with=MEM, cpu=CPU_LRCPC3
	plain_word 0x19e21020, "ldclrpal x0, x2, [x1]", with=MEM, cpu=CPU_LSE128
	plain_word 0x19223020, "ldsetp x0, x2, [x1]", with=MEM, cpu=CPU_LSE128
	plain_word 0x19a28020, "swppa x0, x2, [x1]", with=MEM, cpu=CPU_LSE128

	plain_word 0xd9201c20, "stg x0, [x1, 16]!", with=MEM, cpu=CPU_MTE
	plain_word 0xd9a02420, "st2g x0, [x1], 32", with=MEM, cpu=CPU_MTE
	plain_word 0xd9601820, "stzg x0, [x1, 16]", with=MEM, cpu=CPU_MTE
	plain_word 0xd9600020, "ldg x0, [x1]", with=MEM, cpu=CPU_MTE
	plain_word 0xd9200020, "stzgm x0, [x1]", with=MEM|FILLS, cpu=CPU_MTE2
	plain_word 0xd9a00020, "stgm x0, [x1]", with=MEM|FILLS, cpu=CPU_MTE2
	plain_word 0xd9e00020, "ldgm x0, [x1]", with=MEM|FILLS, cpu=CPU_MTE2

	emulated "ldr w0, 1f", "ldr w0, 0b", "ldr x0, 1f", "ldr x0, 1f + 4", "ldr x30, 0b"
	emulated "ldr wzr, 1f", "ldr xzr, 0b"
	at_end 0, emulated, "ldr x29, 1f", "ldr w16, 0b"
	emulated "ldrsw x0, 1f", "ldrsw x30, 0b", "ldrsw xzr, 1f"
	at_end 0, emulated, "ldrsw x0, 1f"
	emulated "prfm pldl1keep, 1f", "prfm pstl1strm, 0b"

	with MEM, plain, "ldnp x0, x3, [x1]"
	with MEM|ODD, plain, "stnp w0, w3, [x1, -8]"
	plain "stp x29, x30, [sp, -16]!"
	at_end 0, plain, "stp x29, x30, [sp, -16]!"
	with ALLOCATES, plain, "stp x29, x30, [sp, -512]!"
	plain "stp x19, x20, [sp, 16]", "stp x0, xzr, [sp], 32", "ldp x29, x30, [sp], 16"
	plain "ldp x29, x30, [sp, 32]!"
	with MEM|ODD, plain, "ldp x0, x1, [x1]", "stp w0, w2, [x1, -256]", "ldpsw x0, x2, [x1], 8"
	with MEM, plain, "ldpsw x0, x2, [x1, 8]"
	on CPU_MTE, MEM, plain, "stgp x0, x2, [x1, 16]!"
	with MEM, plain, "ldp q0, q1, [x1]", "stnp d0, d1, [x1]"
	plain "stp q2, q3, [sp, -32]!"

	with MEM|ODD, plain, "ldr x0, [x1], 8"
	plain "ldr x30, [sp], 16"
	with ALLOCATES, plain, "str x30, [sp, -16]!"
	with MEM|ODD, plain, "str w0, [x1, -4]!", "strb wzr, [x1], 1", "ldur x0, [x1, -1]"
	with MEM|ODD, plain, "sturh w0, [x1, 3]", "ldrsb x0, [x1], 1", "ldursh w0, [x1, -2]"
	with MEM|ODD, plain, "ldursw x0, [x1, -4]", "ldrsw x0, [x1, 4]!"
	with MEM, plain, "prfum pldl1keep, [x1, -8]"
	with MEM|INDEX, plain, "ldr x0, [x1, w2, sxtw 3]"
	with MEM|WINDEX, plain, "ldr x0, [x1, w2, uxtw 3]"
	with MEM|INDEX, plain, "ldr w0, [x1, x2, lsl 2]", "strb wzr, [x1, x2]"
	with MEM|INDEX, plain, "strh w0, [x1, x2, sxtx 1]", "str x1, [x1, x2]", "ldrsh w0, [x1, x2]"
	with MEM|INDEX, plain, "ldrsb x2, [x1, x2]", "ldrsw x0, [x1, x2, lsl 2]"
	with MEM|INDEX, plain, "prfm pldl1strm, [x1, x2]"
	with MEM, plain, "ldr x0, [x1, 512]"
	plain "ldr x0, [sp, 64]"
	with MEM, plain, "ldr x1, [x1]"
	plain "str xzr, [sp, 8]"
	with MEM, plain, "ldrb w0, [x1, 511]", "strh w0, [x1, 2]", "ldrsb w0, [x1, 1]"
	with MEM, plain, "ldrsh x0, [x1, 2]", "ldrsw x0, [x1, 4]", "prfm pstl1strm, [x1]"

.irp op, ldadd, ldclr, ldeor, ldset, ldsmax, ldsmin, ldumax, ldumin, swp
	on CPU_LSE, MEM, plain, "\op x0, x2, [x1]", "\op\()al w0, w2, [x1]"
	on CPU_LSE, MEM|ODD, plain, "\op\()ab w0, w30, [x1]"
	on CPU_LSE, MEM, plain, "\op\()lh w0, wzr, [x1]"
.endr
	on CPU_LSE, MEM, plain, "stadd x0, [x1]"
	on CPU_LSE, 0, plain, "ldadd x29, x30, [sp]"
	on CPU_PAUTH, MEM|SIGNED, plain, "ldraa x0, [x1]", "ldrab x0, [x1, 8]!"
	on CPU_LRCPC, MEM, plain, "ldapr w0, [x1]"
	on CPU_LRCPC, MEM|ODD, plain, "ldaprb w0, [x1]"

	with MEM, plain, "ld1 {v0.16b-v3.16b}, [x1]", "st4 {v0.4s-v3.4s}, [x1], 64"
	with MEM|INDEX, plain, "ld3 {v5.8b-v7.8b}, [x1], x2"
	with MEM|ODD, plain, "ld1 {v0.b}[15], [x1]"
	with MEM, plain, "st1 {v31.d}[1], [x1]", "ld2r {v0.2d, v1.2d}, [x1], 16"
	plain_word 0x4d418420, "ldap1 {v0.d}[1], [x1]", with=MEM, cpu=CPU_LRCPC3
	with MEM|ODD, plain, "ldr q0, [x1], 16"
	plain "str q31, [sp, -16]!"
	with MEM|ODD, plain, "stur d0, [x1, -8]"
	with MEM|INDEX, plain, "ldr s0, [x1, x2]", "str b7, [x1, x2]"
	plain "str q0, [sp, 16]"
	with MEM, plain, "ldr h3, [x1, 2]"

/*
 * Data processing, registers.
 */
	fast "mov x9, x30", "mov x0, x1", "mov x30, x16", "mov x0, xzr", "mov xzr, x1", "mov w0, w1"
	fast "mov w1, w1", "mov wzr, w1"
	at_end 0, fast, "mov x9, x30"

	fast "and w0, w1, w2", "mvn w0, w1", "bic x0, x1, x2, lsr 3", "bics x0, x1, x2, ror 63"
	fast "ands w0, w1, w2, asr 31", "orr x0, xzr, x1, lsl 1", "orn x0, x1, xzr"
	fast "eor x0, x0, x0", "eon w0, w1, w2", "add w0, w1, w2, lsl 31", "adds x0, x1, x2, lsr 63"
	fast "sub w0, w1, w2, asr 31", "subs x0, x1, x2", "cmp x0, x1", "cmp xzr, x1"
	fast "neg x0, x1, asr 63", "add x1, x1, x1", "sub x30, x17, x28", "adds xzr, x29, x30"
	fast "subs x30, x30, x29", "add x30, sp, x29", "add x0, sp, w1, uxtb 3"
	fast "add x0, x1, w2, sxtw 4", "subs x0, sp, x1, sxtx 4", "cmn w1, w2, sxth 2"
.irp op, adc, adcs, sbc, sbcs
	fast "\op x0, x1, x2", "\op w0, wzr, w2"
.endr
	plain_word 0x9a022020, "addpt x0, x1, x2", cpu=CPU_CPA
	plain_word 0xba008402, "rmif x0, 1, 2", cpu=CPU_FLAGM
	plain_word 0x3a00080d, "setf8 w0", cpu=CPU_FLAGM
	plain_word 0x3a00480d, "setf16 w0", cpu=CPU_FLAGM
.irp cond, eq, ne, cs, cc, mi, pl, vs, vc, hi, ls, ge, lt, gt, le, al
	plain "ccmp x0, x1, 15, \cond"
	fast "csel x0, x1, x2, \cond"
.endr
	plain "ccmn w0, 31, 0, al", "ccmp w0, wzr, 5, ne"
	fast "cset w0, eq", "csel xzr, x1, x2, ne", "csel x30, x28, x29, hi"
	fast "csinc x0, x1, xzr, cs", "csinv w0, w1, w2, mi", "csneg x0, x1, x2, lt"
	fast "udiv x0, x1, x2", "udiv x0, x1, xzr", "sdiv w0, w1, w2", "lsl x0, x1, x2"
	fast "ror w0, w1, w2"
	on CPU_CRC32, 0, plain, "crc32b w0, w1, w2", "crc32cw w0, w1, w2", "crc32x w0, w1, x2"
	plain_word 0x1ac26820, "smin w0, w1, w2", cpu=CPU_CSSC
	on CPU_MTE, 0, plain, "subp x0, x1, x2", "subps x0, x1, x2"
	on CPU_MTE, VARIES, plain, "irg x0, x1"
	on CPU_MTE, 0, plain, "gmi x0, x1, x2"
	on CPU_PACGA, 0, plain, "pacga x0, x1, x2"
	fast "rbit x0, x1", "rev16 w0, w1", "rev w0, w1", "rev32 x0, x1", "rev x0, x1", "clz w0, w1"
	fast "cls x0, x1"
	plain_word 0xdac01c20, "cnt x0, x1", cpu=CPU_CSSC
	plain_word 0x5ac02020, "abs w0, w1", cpu=CPU_CSSC
	on CPU_PAUTH, 0, plain, "pacia x0, x1", "pacdb x0, sp", "pacdzb x0"
	on CPU_PAUTH, SIGNED, plain, "autia x0, x1", "autdb x0, sp", "autdza x0"
	on CPU_PAUTH, 0, plain, "xpaci x0", "xpacd x30"
	fast "madd w0, w1, w2, w3", "msub x0, x1, x2, x3", "madd x30, x29, x28, x27"
	fast "msub x1, x1, x1, x1", "madd xzr, x1, x2, x3", "mul x0, x1, xzr", "smull x0, w1, w2"
	fast "smsubl x0, w1, w2, x3"
	plain "smulh x0, x1, x2"
	plain_word 0x9b620c20, "maddpt x0, x1, x2, x3", cpu=CPU_CPA
	fast "umaddl x0, w1, w2, x3", "umsubl x0, w1, w2, x3"
	plain "umulh x0, x1, x2"

/*
 * Vectors and floating point.
 */
	plain "add v0.16b, v1.16b, v2.16b", "sqadd v0.8h, v1.8h, v2.8h", "fmla v31.4s, v1.4s, v2.4s"
	plain "tbl v0.16b, {v1.16b-v3.16b}, v4.16b", "umov x0, v1.d[1]", "ins v0.s[3], w1"
	plain "dup v0.2d, x1", "movi v0.2d, 0xff00ff00ff00ff00"
	on CPU_RDM, 0, plain, "sqrdmlah v0.4s, v1.4s, v2.4s"
	on CPU_DP, 0, plain, "udot v0.4s, v1.16b, v2.16b"
	on CPU_AES, 0, plain, "aese v0.16b, v1.16b"
	on CPU_PMULL, 0, plain, "pmull2 v0.1q, v1.2d, v2.2d"
	on CPU_FP16, 0, plain, "fadd v0.8h, v1.8h, v2.8h"
	on CPU_I8MM, 0, plain, "smmla v0.4s, v1.16b, v2.16b"
	on CPU_BF16, 0, plain, "bfdot v0.4s, v1.8h, v2.8h"
	plain "add d0, d1, d2", "sqadd b0, b1, b2", "fcvtas d0, d1"
	on CPU_SHA1, 0, plain, "sha1h s0, s1"
	on CPU_SHA2, 0, plain, "sha256h q0, q1, v2.4s"
	plain "fadd d0, d1, d2", "fdiv s0, s1, s2", "fsqrt d31, d30", "fmadd d0, d1, d2, d3"
	plain "fcmp d0, d1", "fccmp s0, s1, 5, lt", "fcsel d0, d1, d2, hi", "fcvtzs x0, d0"
	on CPU_JSCVT, 0, plain, "fjcvtzs w0, d0"
	plain "ucvtf d0, x1, 5", "fmov x0, d0", "fmov v0.d[1], x1", "fmov s0, 1.5"
	on CPU_FRINTTS, 0, plain, "frint64x d0, d1"
	on CPU_SHA3, 0, plain, "eor3 v0.16b, v1.16b, v2.16b, v3.16b"
	on CPU_SHA512, 0, plain, "sha512h q0, q1, v2.2d"
	on CPU_SM3, 0, plain, "sm3ss1 v0.4s, v1.4s, v2.4s, v3.4s"
	on CPU_SM4, 0, plain, "sm4e v0.4s, v1.4s"
	on CPU_SVE, 0, plain, "add z0.b, z1.b, z2.b", "rdvl x0, 1"
	on CPU_SVE, MEM, plain, "ldr z0, [x1]"

	.pushsection .rodata, "a"
SYM_DATA_END_LABEL(kpd_forms, SYM_L_GLOBAL, kpd_forms_end)
	.popsection
