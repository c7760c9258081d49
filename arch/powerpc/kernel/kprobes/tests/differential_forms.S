/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instructions of the differential test:
 *
 *	KIND "instruction", ...
 *	with WITH, KIND, "instruction", ...
 *	on CPU, WITH, KIND, "instruction", ...
 *	named KIND, "instruction", "text" [, with=...] [, cpu=...]
 *
 * KIND is how they have to be executed under a probe (DIFF_* in differential_forms.h): plain,
 * fast or emulated; there is one more, for the tracer. "1f" in one is a label after it, "0b" one
 * before it. WITH is what they require of the state, CPU what they require of the CPU.
 *
 * All registers but those that the kernel needs, the stack and kpd_data are random. r4
 * addresses memory, if at all, and r5 is the index. No form sets r13 on 64 bits, where it
 * has the address of the data of the CPU, or r2 on 32 bits, which is the current task.
 */

#include <asm/asm-offsets.h>
#include <asm/page.h>
#include <asm/ppc_asm.h>
#include <asm/ptrace.h>
#include <asm/reg.h>

#include "differential_forms.h"
#include "differential_macros.S"

/* Those that are written by name; others have their encoding. */
	.machine "power8"

/* Strings are not expanded by the preprocessor. */
#ifdef CONFIG_PPC64
	.set	paca_index, PACAPACAINDEX
	.set	paca_current, PACACURRENT
	.set	paca_kernelbase, PACAKBASE
	.set	paca_soft_mask, PACAIRQSOFTMASK
#endif

/* What kpd_run() keeps, in words. */
#define KEPT_CR			(STACK_FRAME_MIN_SIZE + DIFF_REG(0))
#define KEPT_XER		(STACK_FRAME_MIN_SIZE + DIFF_REG(1))
#define KEPT_TOC		(STACK_FRAME_MIN_SIZE + DIFF_REG(2))
/* By the number of the register. */
#define KEPT_REGS		(STACK_FRAME_MIN_SIZE - DIFF_REG(10))
#define KEPT_SIZE		(STACK_FRAME_MIN_SIZE + DIFF_REG(24))

/* What needs a register at the end of a form is put below the red zone of the form's stack. */
#ifdef CONFIG_PPC64
#define LEAVE_SIZE		320
#else
#define LEAVE_SIZE		16
#endif

/* The address of kpd_machine, without any other register, as the kernel's TOC is not in r2. */
.macro machine reg:req
#if defined(CONFIG_PPC64) && !defined(CONFIG_PPC_KERNEL_PCREL)
	ld	\reg, PACATOC(r13)
	addis	\reg, \reg, kpd_machine@toc@ha
	addi	\reg, \reg, kpd_machine@toc@l
#elif defined(CONFIG_PPC64)
	pla	\reg, kpd_machine@pcrel
#else
	lis	\reg, kpd_machine@ha
	addi	\reg, \reg, kpd_machine@l
#endif
.endm

.macro registers op:req, first:req, last:req, base:req, offset=0
	OP_REGS \op, DIFF_WORD, \first, \last, \base, \offset
.endm

/*
 * Runs kpd_machine.code in the state of kpd_machine, and saves the resulting state. Interrupts
 * use the stack of the state.
 */
	.text
_GLOBAL(kpd_run)
	mflr	r0
	PPC_STL	r0, LRSAVE(r1)
	PPC_STLU r1, -KEPT_SIZE(r1)
	registers PPC_STL, 13, 31, r1, KEPT_REGS
	mfcr	r0
	mfxer	r3
	PPC_STL	r0, KEPT_CR(r1)
	PPC_STL	r3, KEPT_XER(r1)
	PPC_STL	r2, KEPT_TOC(r1)
	machine	r12
	PPC_STL	r1, DIFF_HOST_SP(r12)
	PPC_LL	r0, DIFF_CR(r12)
	PPC_LL	r3, DIFF_XER(r12)
	PPC_LL	r4, DIFF_LR(r12)
	PPC_LL	r5, DIFF_CODE(r12)
	mtcr	r0
	mtxer	r3
	mtlr	r4
	mtctr	r5
	PPC_LL	r0, DIFF_REG(0)(r12)
#ifdef CONFIG_PPC64
	registers PPC_LL, 1, 11, r12
#else
	registers PPC_LL, 1, 1, r12
	registers PPC_LL, 3, 11, r12
	registers PPC_LL, 13, 13, r12
#endif
	registers PPC_LL, 14, 31, r12
	bctr

.macro leave exit:req
	PPC_STLU r12, -LEAVE_SIZE(r1)
	machine	r12
	PPC_STL	r11, DIFF_REG(11)(r12)
	li	r11, \exit
	PPC_STL	r11, DIFF_EXIT(r12)
.endm

	.globl	kpd_next
kpd_next:
	leave	DIFF_NEXT
	b	.Lstore
	.globl	kpd_back
kpd_back:
	leave	DIFF_BACK
	b	.Lstore
	.globl	kpd_taken
kpd_taken:
	leave	DIFF_TAKEN
.Lstore:
	PPC_STL	r0, DIFF_REG(0)(r12)
	registers PPC_STL, 2, 10, r12
	registers PPC_STL, 13, 31, r12
	PPC_LL	r3, 0(r1)
	addi	r4, r1, LEAVE_SIZE
	PPC_STL	r3, DIFF_REG(12)(r12)
	PPC_STL	r4, DIFF_REG(1)(r12)
	mfcr	r3
	mfxer	r4
	mfctr	r5
	mflr	r6
	mfmsr	r7
	PPC_STL	r3, DIFF_CR(r12)
	PPC_STL	r4, DIFF_XER(r12)
	PPC_STL	r5, DIFF_CTR(r12)
	PPC_STL	r6, DIFF_LR(r12)
	PPC_STL	r7, DIFF_MSR(r12)
	PPC_LL	r1, DIFF_HOST_SP(r12)
	PPC_LL	r3, KEPT_CR(r1)
	PPC_LL	r4, KEPT_XER(r1)
	mtcr	r3
	mtxer	r4
#ifdef CONFIG_PPC64
	PPC_LL	r2, KEPT_TOC(r1)
#else
	registers PPC_LL, 13, 13, r1, KEPT_REGS
#endif
	registers PPC_LL, 14, 31, r1, KEPT_REGS
	addi	r1, r1, KEPT_SIZE
	PPC_LL	r0, LRSAVE(r1)
	mtlr	r0
	blr

/* A function to be inside of: its NOP is probed. */
_GLOBAL(kpd_outer)
	.globl	kpd_outer_insn
kpd_outer_insn:
	nop
	blr

/* A function to be called by a form. */
_GLOBAL(kpd_callee)
.Lcallee:
	nop
	blr

	.pushsection .rodata, "a"
	.balign 8
	.globl	kpd_forms
kpd_forms:
	.popsection

/*
 * Branches.
 */
	emulated "b 1f", "b 0b", "b $+4", "bl 1f", "bl 0b", "bl $+4"
	named emulated, "bl .Lcallee", "bl kpd_callee", with=CALLEE

/* With a condition, a counter, both or neither; some with hints. */
.irp target, 1f, 0b
.irp bo, 0, 2, 8, 10
.irp bi, 0, 5, 10, 31
	with CONDITION, emulated, "bc \bo, \bi, \target"
.endr
.endr
.irp bi, 0, 1, 2, 3, 4, 9, 14, 19, 20, 25, 30, 31
	with CONDITION, emulated, "bc 4, \bi, \target", "bc 12, \bi, \target"
.endr
.irp bo, 6, 7, 14, 15
	with CONDITION, emulated, "bc \bo, 2, \target"
.endr
.irp bo, 16, 18, 24, 25, 26, 27
	with CONDITION, emulated, "bc \bo, 0, \target"
.endr
	emulated "bc 20, 0, \target"

	with CONDITION, emulated, "bcl 0, 6, \target", "bcl 2, 13, \target", "bcl 4, 24, \target"
	with CONDITION, emulated, "bcl 8, 17, \target", "bcl 10, 31, \target", "bcl 12, 2, \target"
	with CONDITION, emulated, "bcl 16, 0, \target", "bcl 18, 0, \target"
	emulated "bcl 20, 0, \target"
.endr
	emulated "bcl 20, 31, $+4", "bcl 20, 31, $+8", "bcl 12, 30, $+4", "bc 4, 2, $+4"
	emulated "bc 16, 0, $+4"

	with TARGET, fast, "blr", "bctr"
	with TARGET, emulated, "bctrl"
	named emulated, "bctrl", "bctrl, to a function", with=CALLEE
	with TARGET|NO_JUMP, emulated, "blrl"
	named emulated, "blrl", "blrl, to a function", with=CALLEE|NO_JUMP
.irp bi, 0, 6, 13, 18, 31
	with TARGET|CONDITION, fast, "bclr 4, \bi", "bclr 12, \bi", "bcctr 4, \bi", "bcctr 12, \bi"
	with TARGET|CONDITION, emulated, "bcctrl 4, \bi", "bcctrl 12, \bi"
.endr
.irp bo, 0, 2, 8, 10
	with TARGET|CONDITION, fast, "bclr \bo, 2"
	with TARGET|CONDITION|NO_JUMP, emulated, "bclrl \bo, 29"
.endr
	with TARGET|CONDITION, fast, "bclr 16, 0", "bclr 18, 0"
	with TARGET, fast, "bclr 20, 0, 1"
	with TARGET|CONDITION, fast, "bclr 6, 2", "bclr 15, 2"
	with TARGET|CONDITION|NO_JUMP, emulated, "bclrl 4, 2", "bclrl 12, 31", "bclrl 16, 0"
	with TARGET|CONDITION|NO_JUMP, emulated, "bclrl 18, 0"

/*
 * LR, CTR, XER and the condition register.
 */
.irp reg, r0, r3, r11, r12, r31
	fast "mflr \reg", "mtlr \reg", "mfctr \reg", "mtctr \reg", "mfxer \reg", "mtxer \reg"
.endr
.irp op, crand, crandc, creqv, crnand, crnor, cror, crorc, crxor
	fast "\op 2, 3, 13", "\op 30, 0, 31", "\op 7, 7, 7"
.endr
	fast "mcrf cr0, cr7", "mcrf cr5, cr2", "mcrf cr7, cr7", "mfcr r3", "mfcr r0", "mfcr r12"
.irp field, 0x80, 0x40, 0x20, 0x10, 8, 4, 2, 1
	fast "mfocrf r3, \field", "mtocrf \field, r3"
.endr
	fast "mtcrf 0xff, r3", "mtcrf 0x38, r12", "mtcrf 0x81, r0", "mtcrf 0, r3"
	on CPU_MCRXR, 0, plain, "mcrxr cr0", "mcrxr cr6"
	plain_word 0x7d800480, "mcrxrx cr3", cpu=CPU_300

/*
 * Other special registers, and the machine state.
 */
	named plain, "mfspr r3, 287", "mfpvr r3"
	named plain, "mfspr r3, 22", "mfdec r3", with=VARIES
	named plain, "mfspr r3, 256", "mfvrsave r3", cpu=CPU_VRSAVE
	named plain, "mtspr 256, r3", "mtvrsave r3", cpu=CPU_VRSAVE
	named plain, "mfspr r31, 815", "mftar r31", cpu=CPU_207
	named plain, "mtspr 815, r0", "mttar r0", cpu=CPU_207
#ifdef CONFIG_PPC64
	named plain, "mfspr r3, 268", "mftb r3", with=VARIES
	named plain, "mfspr r3, 17", "mfdscr r3", cpu=CPU_207
	named plain, "mtspr 17, r3", "mtdscr r3", cpu=CPU_207
	named plain, "mfspr r3, 259", "mfsprg r3, 3, unprivileged"
	named plain, "mfspr r3, 29", "mfamr r3", cpu=CPU_206
	named plain, "mtspr 29, r3", "mtamr r3", with=KEEPS_SPR, cpu=CPU_206
#else
	named plain, "mfspr r3, 275", "mfsprg r3, 3"
	plain_word 0x7c6c42e6, "mftb r3", with=VARIES
	plain_word 0x7c6d42e6, "mftbu r3", with=VARIES
	named plain, "mfspr r3, 1008", "mfspr r3, HID0"
	on CPU_SEGMENTS, 0, plain, "mfsr r3, 12", "mfsrin r3, r4"
	named plain, "mfspr r3, 48", "mfpid r3", cpu=CPU_BOOKE
#endif
	with SHOWS_MSR, fast, "mfmsr r3", "mfmsr r31"

/*
 * Barriers, hints and caches.
 */
	fast "nop", "xori r0, r0, 0", "ori r31, r31, 0", "ori r30, r30, 0", "or r1, r1, r1"
	fast "or r6, r6, r6", "or r2, r2, r2", "sync"
	on CPU_LWSYNC, 0, fast, "lwsync"
	fast "isync", "eieio"
#ifdef CONFIG_PPC64
	fast "ptesync"
#endif
	with MEM|ODD, fast, "dcbt 0, r4"
	with MEM|INDEX, fast, "dcbt r4, r5"
	with MEM|ODD, fast, "dcbtst 0, r4", "dcbst 0, r4"
	with MEM|INDEX, fast, "dcbf r4, r5"
	with MEM|ODD, fast, "icbi 0, r4"
	with MEM|FILLS, fast, "dcbz 0, r4"
	with MEM|FILLS|INDEX, fast, "dcbz r4, r5"
	plain_word 0x7c00068c, "cpabort", cpu=CPU_300

/*
 * Arithmetic with immediates.
 */
	fast "li r3, -32768", "li r0, 1", "lis r3, -32768", "lis r12, 32767", "addi r3, r4, -1"
	fast "addi r3, r1, 32", "addi r11, r12, 0x7ff0", "addi r1, r1, 64", "addi r1, r1, 16"
	with ALLOCATES, fast, "addi r1, r1, -64"
	with STACK|ALLOCATES, fast, "addi r1, r4, 0"
	fast "addis r3, r4, 1", "addis r30, r31, -32768", "addic r3, r4, 32767", "addic r0, r0, -1"
	fast "addic. r3, r4, -1", "addic. r31, r3, 1", "subfic r3, r4, 0", "subfic r3, r4, -1"
	fast "subfic r3, r4, 100", "mulli r3, r4, -7", "mulli r3, r4, 32767"
.irp field, cr0, cr1, cr6, cr7
	fast "cmpwi \field, r3, 0", "cmpwi \field, r4, -32768", "cmplwi \field, r3, 1"
	fast "cmplwi \field, r4, 0xffff"
.endr

/*
 * Arithmetic with registers, with and without the record of a result and of an overflow.
 */
.irp op, add, subf, addc, subfc, adde, subfe
	fast "\op r3, r4, r5", "\op\(). r3, r4, r5"
	plain "\op\()o r3, r4, r5", "\op\()o. r3, r4, r5"
	fast "\op r12, r11, r0"
.endr
.irp op, addme, addze, subfme, subfze, neg
	fast "\op r3, r4", "\op\(). r3, r4"
	plain "\op\()o r3, r4", "\op\()o. r3, r4"
	fast "\op r4, r4"
.endr
	fast "add r3, r3, r3", "add r0, r1, r4", "subf. r31, r30, r0", "subf r3, r1, r4"
	fast "mullw r3, r4, r5", "mullw. r3, r4, r5"
	plain "mullwo r3, r4, r5", "mullwo. r3, r4, r5"
	fast "mulhw r3, r4, r5", "mulhwu r3, r4, r5"
.irp op, divw, divwu
	with DIVIDES, fast, "\op r3, r4, r5"
	with DIVIDES, plain, "\op\()o r3, r4, r5"
.endr
	on CPU_206, DIVIDES, plain, "divwe r3, r4, r5", "divweu r3, r4, r5"
.irp field, cr0, cr3, cr7
	fast "cmpw \field, r3, r4", "cmplw \field, r3, r4", "cmpw \field, r5, r5"
.endr
.irp bit, 0, 5, 14, 31
	on CPU_ISEL, 0, fast, "isel r3, r4, r5, \bit"
.endr
	on CPU_ISEL, 0, fast, "isel r3, 0, r5, 2", "isel r3, r3, r31, 30"

/*
 * Logic, rotation and shifts.
 */
.irp op, and, andc, or, orc, xor, nor, nand, eqv
	fast "\op r3, r4, r5", "\op\(). r3, r4, r5", "\op r0, r12, r11"
.endr
	fast "mr r3, r4", "mr r31, r1"
	with STACK|ALLOCATES, fast, "mr r1, r4"
	fast "mr r0, r3", "not r3, r4", "ori r3, r4, 0xffff", "ori r0, r12, 1"
	fast "oris r3, r4, 0x8000", "xori r3, r4, 0x5555", "xoris r3, r4, 0xaaaa"
	fast "andi. r3, r4, 0xff", "andi. r3, r4, 0x8000", "andis. r3, r4, 0x8000"
	fast "andis. r0, r31, 0xffff"
.irp op, extsb, extsh, cntlzw
	fast "\op r3, r4", "\op\(). r3, r4"
.endr
	fast "rlwinm r3, r4, 5, 3, 20", "rlwinm r3, r4, 31, 30, 2", "rlwinm. r3, r4, 0, 31, 31"
	fast "rlwinm. r12, r0, 16, 0, 31", "rlwimi r3, r4, 8, 8, 15", "rlwimi r3, r4, 31, 28, 3"
	fast "rlwimi. r3, r4, 1, 0, 30", "rlwnm r3, r4, r5, 0, 31", "rlwnm. r3, r4, r5, 20, 10"
.irp op, slw, srw, sraw
	fast "\op r3, r4, r5", "\op\(). r3, r4, r5"
.endr
.irp shift, 0, 1, 31
	fast "srawi r3, r4, \shift", "srawi. r3, r4, \shift"
.endr

/*
 * Loads and stores.
 */
.irp op, lbz, lhz, lha, lwz
	with MEM|ODD, fast, "\op r3, 4(r4)", "\op r3, -6(r4)"
	with MEM, fast, "\op r4, 0(r4)"
	with MEM|ODD, fast, "\op\()u r3, 8(r4)"
	with MEM|INDEX, fast, "\op\()x r3, r4, r5"
	with MEM|ODD, fast, "\op\()x r3, 0, r4"
	with MEM|INDEX, fast, "\op\()ux r3, r4, r5"
	fast "\op r0, 16(r1)"
.endr
.irp op, stb, sth, stw
	with MEM|ODD, fast, "\op r3, 4(r4)", "\op r3, -6(r4)"
	with MEM, fast, "\op r4, 0(r4)"
	with MEM|ODD, fast, "\op\()u r3, -8(r4)"
	with MEM, fast, "\op\()u r4, 8(r4)"
	with MEM|INDEX, fast, "\op\()x r3, r4, r5"
	with MEM|ODD, fast, "\op\()x r3, 0, r4"
	with MEM|INDEX, fast, "\op\()ux r3, r4, r5"
	fast "\op r0, 16(r1)", "\op r31, 12(r1)"
.endr
.irp op, lhbrx, lwbrx, sthbrx, stwbrx
	with MEM|INDEX, fast, "\op r3, r4, r5"
	with MEM|ODD, fast, "\op r3, 0, r4"
.endr
#ifdef CONFIG_CPU_BIG_ENDIAN
	with MEM, fast, "lmw r31, 0(r4)", "lmw r25, -16(r4)", "lmw r14, 8(r4)"
	fast "lmw r30, 8(r1)"
	with MEM, fast, "stmw r31, 0(r4)", "stmw r25, -16(r4)", "stmw r14, 8(r4)", "stmw r3, 0(r4)"
	fast "stmw r30, 8(r1)"
	on CPU_STRING, MEM|ODD, fast, "lswi r5, r4, 1", "lswi r5, r4, 19", "lswi r14, r4, 32"
	on CPU_STRING, MEM|ODD, fast, "stswi r3, r4, 7", "stswi r30, r4, 16"
	on CPU_STRING, MEM|ODD|COUNTED, fast, "lswx r5, 0, r4", "stswx r5, 0, r4"
	on CPU_STRING, MEM|INDEX|COUNTED, fast, "stswx r6, r4, r5"
#endif

/* Handlers run with another one. */
	with PREEMPTION, fast, "lwz r3, 0(r4)", "stw r3, 0(r4)"

/* Frames. The emulation of such a store would write into the frame of the exception. */
#ifdef CONFIG_PPC64
	plain "stdu r1, -32(r1)"
	with ALLOCATES, plain, "stdu r1, -112(r1)", "stdu r1, -496(r1)", "stdu r0, -48(r1)"
	plain "stdu r1, 16(r1)"
	with STEP|ALLOCATES, plain, "stdux r1, r1, r5"
	with ALLOCATES, plain, "stwu r3, -64(r1)"
	fast "std r0, 16(r1)", "std r2, 24(r1)", "std r31, -8(r1)", "std r3, -288(r1)"
	fast "stw r12, 8(r1)", "ld r0, 16(r1)", "ld r2, 24(r1)", "ld r31, -8(r1)"
	with STACK, fast, "ld r1, 0(r1)"
	fast "ldu r3, 32(r1)"
#else
	plain "stwu r1, -16(r1)"
	with ALLOCATES, plain, "stwu r1, -64(r1)", "stwu r1, -256(r1)", "stwu r0, -32(r1)"
	plain "stwu r1, 16(r1)"
	with STEP|ALLOCATES, plain, "stwux r1, r1, r5"
	fast "stw r0, 4(r1)", "lwz r0, 4(r1)"
	with STACK, fast, "lwz r1, 0(r1)"
	fast "lwzu r3, 16(r1)"
#endif

#ifdef CONFIG_PPC64
/* r13 has the address of the data of the CPU. */
	fast "mr r3, r13", "addi r3, r13, 8"
	with SHOWS_MASK, fast, "lbz r3, paca_soft_mask(r13)", "lbz r31, paca_soft_mask(r13)"
	with MASKS, fast, "stb r3, paca_soft_mask(r13)"
	/* Handlers need what is there, and change it. */
	plain "lhz r3, paca_index(r13)", "ld r3, paca_current(r13)", "ld r31, paca_kernelbase(r13)"
	with KEEPS_CURRENT, plain, "std r3, paca_current(r13)"

/*
 * Only on 64 bits.
 */
.irp field, cr0, cr3, cr7
	fast "cmpd \field, r3, r4", "cmpld \field, r3, r4", "cmpdi \field, r3, -1"
	fast "cmpldi \field, r4, 0xffff"
.endr
	fast "mulld r3, r4, r5", "mulld. r3, r4, r5"
	plain "mulldo r3, r4, r5", "mulldo. r3, r4, r5"
	fast "mulhd r3, r4, r5", "mulhd. r3, r4, r5", "mulhdu r3, r4, r5", "mulhdu. r3, r4, r5"
.irp op, divd, divdu
	with DIVIDES, fast, "\op r3, r4, r5", "\op\(). r3, r4, r5"
	with DIVIDES, plain, "\op\()o r3, r4, r5", "\op\()o. r3, r4, r5"
.endr
	on CPU_206, DIVIDES, fast, "divde r3, r4, r5", "divdeu r3, r4, r5", "divdeu. r3, r4, r5"
	on CPU_206, DIVIDES, plain, "divdeo r3, r4, r5"
	fast "extsw r3, r4", "extsw. r3, r4", "cntlzd r3, r4", "cntlzd. r3, r4", "popcntb r3, r4"
	on CPU_206, 0, fast, "popcntw r3, r4", "popcntd r3, r4", "prtyw r3, r4", "prtyd r3, r4"
	on CPU_206, 0, fast, "bpermd r3, r4, r5", "cmpb r3, r4, r5", "cmpb r4, r4, r5"
	on CPU_206, 0, plain, "addg6s r3, r4, r5", "cbcdtd r3, r4"
	fast "rldicl r3, r4, 8, 8", "rldicl r3, r4, 0, 32", "rldicl. r3, r4, 63, 63"
	fast "rldicr r3, r4, 3, 60", "rldicr. r3, r4, 32, 31", "rldic r3, r4, 8, 24"
	fast "rldic. r3, r4, 33, 2", "rldimi r3, r4, 32, 0", "rldimi. r3, r4, 5, 40"
	fast "rldcl r3, r4, r5, 0", "rldcl. r3, r4, r5, 33", "rldcr r3, r4, r5, 20"
	fast "rldcr. r3, r4, r5, 63"
.irp op, sld, srd, srad
	fast "\op r3, r4, r5", "\op\(). r3, r4, r5"
.endr
.irp shift, 0, 1, 32, 63
	fast "sradi r3, r4, \shift", "sradi. r3, r4, \shift"
.endr

.irp op, ld, lwa
	with MEM|ODD, fast, "\op r3, 8(r4)", "\op r3, -16(r4)"
	with MEM, fast, "\op r4, 0(r4)"
	with MEM|INDEX, fast, "\op\()x r3, r4, r5", "\op\()ux r3, r4, r5"
.endr
	with MEM|ODD, fast, "ldu r3, 8(r4)", "ldx r31, 0, r4", "std r3, 8(r4)", "std r3, -16(r4)"
	with MEM, fast, "std r4, 0(r4)"
	with MEM|ODD, fast, "stdu r3, -8(r4)"
	with MEM, fast, "stdu r4, 16(r4)"
	with MEM|INDEX, fast, "stdx r3, r4, r5"
	with MEM|ODD, fast, "stdx r1, 0, r4"
	with MEM|INDEX, fast, "stdux r3, r4, r5"
	with MEM, fast, "std r12, 0(r4)", "std r11, 0(r4)"
	on CPU_206, MEM|INDEX, fast, "ldbrx r3, r4, r5"
	on CPU_206, MEM|ODD, fast, "ldbrx r3, 0, r4"
	on CPU_206, MEM|INDEX, fast, "stdbrx r3, r4, r5"
	on CPU_206, MEM|ODD, fast, "stdbrx r3, 0, r4"
	on CPU_207, MEM, fast, "lq r6, 16(r4)", "lq r30, -32(r4)", "stq r6, 16(r4)"
	on CPU_207, MEM, fast, "stq r30, -32(r4)"

/*
 * ISA 3.0.
 */
	emulated_word 0x4c600004, "addpcis r3, 0", cpu=CPU_300
	emulated_word 0x4c600005, "addpcis r3, 1", cpu=CPU_300
	emulated_word 0x4fdfffc5, "addpcis r30, -1", cpu=CPU_300
	emulated_word 0x4c1f7fc5, "addpcis r0, 32767", cpu=CPU_300
	emulated_word 0x4d808004, "addpcis r12, -32768", cpu=CPU_300
	emulated_word 0x4c4a5545, "addpcis r2, 21845", cpu=CPU_300
	emulated_word 0x4fe00104, "addpcis r31, 256", cpu=CPU_300
	fast_word 0x106429b0, "maddhd r3, r4, r5, r6", cpu=CPU_300
	fast_word 0x10642ff1, "maddhdu r3, r4, r5, r31", cpu=CPU_300
	fast_word 0x100429b3, "maddld r0, r4, r5, r6", cpu=CPU_300
	fast_word 0x7c830434, "cnttzw r3, r4", cpu=CPU_300
	fast_word 0x7c830435, "cnttzw. r3, r4", cpu=CPU_300
	fast_word 0x7c830474, "cnttzd r3, r4", cpu=CPU_300
	fast_word 0x7c800475, "cnttzd. r0, r4", cpu=CPU_300
	fast_word 0x7c8306f4, "extswsli r3, r4, 0", cpu=CPU_300
	fast_word 0x7c832ef4, "extswsli r3, r4, 5", cpu=CPU_300
	fast_word 0x7c83fef7, "extswsli. r3, r4, 63", cpu=CPU_300
	fast_word 0x7c642e16, "modsw r3, r4, r5", with=DIVIDES, cpu=CPU_300
	fast_word 0x7c642a16, "moduw r3, r4, r5", with=DIVIDES, cpu=CPU_300
	fast_word 0x7c642e12, "modsd r3, r4, r5", with=DIVIDES, cpu=CPU_300
	fast_word 0x7c642a12, "modud r3, r4, r5", with=DIVIDES, cpu=CPU_300
	fast_word 0x7c600100, "setb r3, cr0", cpu=CPU_300
	fast_word 0x7ff40100, "setb r31, cr5", cpu=CPU_300
	fast_word 0x7c6005e6, "darn r3, 0", with=VARIES, cpu=CPU_300
	fast_word 0x7c6105e6, "darn r3, 1", with=VARIES, cpu=CPU_300
	fast_word 0x7c6205e6, "darn r3, 2", with=VARIES, cpu=CPU_300
	plain_word 0x7c842980, "cmprb cr1, 0, r4, r5", cpu=CPU_300
	plain_word 0x7f242980, "cmprb cr6, 1, r4, r5", cpu=CPU_300
	plain_word 0x7f8429c0, "cmpeqb cr7, r4, r5", cpu=CPU_300
	plain_word 0x7c642954, "addex r3, r4, r5, 0", cpu=CPU_300

/*
 * ISA 3.1.
 */
	plain_word 0x7c8301b6, "brh r3, r4", cpu=CPU_310
	plain_word 0x7c830136, "brw r3, r4", cpu=CPU_310
	plain_word 0x7c9f0176, "brd r31, r4", cpu=CPU_310
	plain_word 0x7c600300, "setbc r3, lt", cpu=CPU_310
	plain_word 0x7c7e0340, "setbcr r3, 30", cpu=CPU_310
	plain_word 0x7c690380, "setnbc r3, 9", cpu=CPU_310
	plain_word 0x7fc303c0, "setnbcr r30, so", cpu=CPU_310
	plain_word 0x7c8329b8, "cfuged r3, r4, r5", cpu=CPU_310
	plain_word 0x7c832938, "pdepd r3, r4, r5", cpu=CPU_310
	plain_word 0x7c832978, "pextd r3, r4, r5", cpu=CPU_310
	plain_word 0x7c832876, "cntlzdm r3, r4, r5", cpu=CPU_310
	plain_word 0x7c832c76, "cnttzdm r3, r4, r5", cpu=CPU_310
	plain_pair 0x07000000, 0x00000000, "pnop"
	fast_pair 0x06001234, 0x38645678, "paddi r3, r4, 0x12345678"
	fast_pair 0x0603ffff, 0x3864ffff, "paddi r3, r4, -1"
	fast_pair 0x06012345, 0x3bc06789, "paddi r30, 0, 0x123456789"
	fast_pair 0x06020000, 0x38000000, "paddi r0, 0, -8589934592"
	fast_pair 0x06000000, 0x38210040, "paddi r1, r1, 64"
	fast_pair 0x06100000, 0x38600000, "paddi r3, 0, 0, 1"
	fast_pair 0x06100000, 0x38600008, "paddi r3, 0, 8, 1"
	fast_pair 0x0613edcb, 0x3980a988, "paddi r12, 0, -0x12345678, 1"
	fast_pair 0x0610ffff, 0x3800ffff, "paddi r0, 0, 0xffffffff, 1"
	fast_pair 0x06000000, 0x80640004, "plwz r3, 4(r4)", with=MEM|ODD
	fast_pair 0x0603ffff, 0x8864fffb, "plbz r3, -5(r4)", with=MEM|ODD
	fast_pair 0x06000000, 0xa0640002, "plhz r3, 2(r4)", with=MEM|ODD
	fast_pair 0x06000000, 0xabe40006, "plha r31, 6(r4)", with=MEM|ODD
	fast_pair 0x04000000, 0xa4640008, "plwa r3, 8(r4)", with=MEM|ODD
	fast_pair 0x0403ffff, 0xe464fff8, "pld r3, -8(r4)", with=MEM|ODD
	fast_pair 0x04000000, 0xe4840000, "pld r4, 0(r4)", with=MEM
	fast_pair 0x06000000, 0x90640004, "pstw r3, 4(r4)", with=MEM|ODD
	fast_pair 0x0603ffff, 0x9864fffd, "pstb r3, -3(r4)", with=MEM|ODD
	fast_pair 0x06000000, 0xb0040002, "psth r0, 2(r4)", with=MEM|ODD
	fast_pair 0x04000000, 0xf4640010, "pstd r3, 16(r4)", with=MEM|ODD
	fast_pair 0x0403ffff, 0xf461ffe0, "pstd r3, -32(r1)"
	/* The emulation of these swaps the two registers in little-endian kernels. */
	plain_pair 0x04000000, 0xe0c40010, "plq r6, 16(r4)", with=MEM
	plain_pair 0x04000000, 0xf0c40010, "pstq r6, 16(r4)", with=MEM
	/* Relative to the instruction: what loads its registers. */
	fast_pair 0x0413ffff, 0xe460fff8, "pld r3, -8(0), 1"
	fast_pair 0x0413ffff, 0xe580fff0, "pld r12, -16(0), 1"
	fast_pair 0x0613ffff, 0x8060fffc, "plwz r3, -4(0), 1"
	fast_pair 0x0413ffff, 0xa460fff8, "plwa r3, -8(0), 1"
	fast_pair 0x0613ffff, 0x8800fffd, "plbz r0, -3(0), 1"
	fast_pair 0x0613ffff, 0xabe0fffa, "plha r31, -6(0), 1"
	fast_pair 0x0613ffff, 0xa060fffe, "plhz r3, -2(0), 1"
#endif

#ifdef CONFIG_KPROBES_ON_FTRACE
/*
 * The second instruction of a function, where the tracer is called. The first one moves LR to r0.
 */
	row_of_form "bl _mcount", DIFF_FTRACE, TRACED, CPU_ANY, kpd_back, kpd_traced, \
		kpd_taken, 4, 4
#endif

	.pushsection .rodata, "a"
	.globl	kpd_forms_end
kpd_forms_end:
	.popsection
