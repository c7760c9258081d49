// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the decoder: whether each kind of instruction can be probed, how, and why not;
 * and of the effect that simulated instructions have on the registers.
 */

#include "suite.h"

#include <kunit/static_stub.h>
#include <linux/bits.h>
#include <linux/cpufeature.h>

#include <asm/insn.h>
#include <asm/ptrace.h>

#include "../decode-insn.h"
#include "../simulate-insn.h"

/**
 * struct word - an instruction and what is to become of it
 * @name: its assembly; in parentheses if assemblers do not know or not accept it
 * @insn: the instruction
 * @form: what a copy of it needs
 * @why: a kprobe is refused
 * @user: what uprobes do with it
 * @quick: it can be copied as well as simulated
 */
struct word {
	const char	*name;
	u32		insn;
	u8		form;
	u8		why;
	u8		user;
	bool		quick;
};

#define COPY(i, text) \
	{ .name = text, .insn = i, .form = PROBE_FORM_COPY, .user = INSN_GOOD }
#define QUICK(i, text) \
	{ .name = text, .insn = i, .form = PROBE_FORM_COPY, .user = INSN_GOOD, .quick = true }
#define SIMULATE(f, i, text) \
	{ .name = text, .insn = i, .form = PROBE_FORM_##f, .user = INSN_GOOD_NO_SLOT }
#define KERNEL(f, i, text) \
	{ .name = text, .insn = i, .form = PROBE_FORM_##f, .user = INSN_REJECTED }
#define REFUSE(reason, i, text) \
	{ .name = text, .insn = i, .why = KPROBE_REFUSAL_##reason, .user = INSN_REJECTED }
#define STEP(reason, i, text) \
	{ .name = text, .insn = i, .why = KPROBE_REFUSAL_##reason, .user = INSN_GOOD }

static const struct word words[] = {
	/* Data processing, immediate. */
	COPY(0x917ffc20, "add x0, x1, 4095, lsl 12"),
	COPY(0x910003fd, "mov x29, sp"),
	COPY(0x71000420, "subs w0, w1, 1"),
	COPY(0x91810420, "addg x0, x1, 16, 1"),
	COPY(0xd18107ff, "subg sp, sp, 16, 1"),
	COPY(0x91cffc20, "umin x0, x1, 255"),
	COPY(0x11c3fc20, "smax w0, w1, -1"),
	COPY(0x92009c20, "and x0, x1, 0xff00ff00ff00ff"),
	COPY(0x7200001f, "tst w0, 1"),
	COPY(0xb200f020, "orr x0, x1, 0x5555555555555555"),
	COPY(0x12800000, "mov w0, -1"),
	COPY(0x92800020, "mov x0, -2"),
	COPY(0x52800020, "mov w0, 1"),
	COPY(0x72a00020, "movk w0, 1, lsl 16"),
	COPY(0xd2800020, "mov x0, 1"),
	COPY(0xf2e00020, "movk x0, 1, lsl 48"),
	COPY(0x13001c20, "sxtb w0, w1"),
	COPY(0x331c0c20, "bfi w0, w1, 4, 4"),
	COPY(0x531f7c20, "lsr w0, w1, 31"),
	COPY(0x93407c20, "sxtw x0, w1"),
	COPY(0xb37cec20, "bfi x0, x1, 4, 60"),
	COPY(0xd3410020, "lsl x0, x1, 63"),
	COPY(0x13827c20, "extr w0, w1, w2, 31"),
	COPY(0x93c2fc20, "extr x0, x1, x2, 63"),

	/* Barriers and other system instructions. */
	COPY(0xd50320ff, "xpaclri"),
	COPY(0xd503211f, "pacia1716"),
	COPY(0xd503215f, "pacib1716"),
	KERNEL(COPY, 0xd50323bf, "autiasp"),
	KERNEL(COPY, 0xd503239f, "autiaz"),
	KERNEL(COPY, 0xd50321df, "autib1716"),
	COPY(0xd503231f, "paciaz"),
	COPY(0xd503233f, "paciasp"),
	COPY(0xd503235f, "pacibz"),
	COPY(0xd503237f, "pacibsp"),
	COPY(0xd5033a3f, "dsb ishnxs"),
	COPY(0xd5033f5f, "clrex"),
	COPY(0xd5033b9f, "dsb ish"),
	COPY(0xd503309f, "ssbb"),
	COPY(0xd503349f, "pssbb"),
	COPY(0xd50339bf, "dmb ishld"),
	COPY(0xd5033fdf, "isb"),
	COPY(0xd50330ff, "sb"),
	COPY(0xd500401f, "cfinv"),
	COPY(0xd500403f, "xaflag"),
	COPY(0xd500405f, "axflag"),
	COPY(0xd50b7e20, "dc civac, x0"),
	COPY(0xd508751f, "ic iallu"),
	COPY(0xd508831f, "tlbi vmalle1is"),
	COPY(0xd5087800, "at s1e1r, x0"),
	COPY(0xd5287000, "sysl x0, 0, c7, c0, 0"),
	COPY(0xd538d080, "mrs x0, tpidr_el1"),
	COPY(0xd5384100, "mrs x0, sp_el0"),
	COPY(0xd53b4200, "mrs x0, nzcv"),
	COPY(0xd5384240, "mrs x0, currentel"),
	COPY(0xd53d4020, "mrs x0, elr_el12"),
	COPY(0xd5384600, "mrs x0, icc_pmr_el1"),
	COPY(0xd53be05f, "mrs xzr, cntvct_el0"),

	/* Loads and stores. */
	COPY(0xc8dffc20, "ldar x0, [x1]"),
	COPY(0x08dffc20, "ldarb w0, [x1]"),
	COPY(0x88df7c20, "ldlar w0, [x1]"),
	COPY(0xc89fffe0, "stlr x0, [sp]"),
	COPY(0x489ffc20, "stlrh w0, [x1]"),
	COPY(0xc89f7c20, "stllr x0, [x1]"),
	COPY(0x48207c82, "casp x0, x1, x2, x3, [x4]"),
	COPY(0x0860fc82, "caspal w0, w1, w2, w3, [x4]"),
	COPY(0xc8e0fc41, "casal x0, x1, [x2]"),
	COPY(0x08a07c41, "casb w0, w1, [x2]"),
	COPY(0xd9408020, "ldapur x0, [x1, 8]"),
	COPY(0x191ff020, "stlurb w0, [x1, -1]"),
	COPY(0x19800020, "ldapursb x0, [x1]"),
	COPY(0x99800020, "ldapursw x0, [x1]"),
	COPY(0x1dc00820, "ldapur q0, [x1]"),
	COPY(0xd9411840, "ldiapp x0, x1, [x2]"),
	COPY(0x99010840, "stilp w0, w1, [x2, -8]!"),
	COPY(0xd9c00820, "ldapr x0, [x1], 8"),
	COPY(0x99800820, "stlr w0, [x1, -4]!"),
	COPY(0x19e11040, "ldclrpal x0, x1, [x2]"),
	COPY(0x19213040, "ldsetp x0, x1, [x2]"),
	COPY(0x19a18040, "swppa x0, x1, [x2]"),
	COPY(0x19219040, "rcwclrp x0, x1, [x2]"),
	COPY(0x1921b040, "rcwsetp x0, x1, [x2]"),
	COPY(0x19200841, "rcwcas x0, x1, [x2]"),
	COPY(0x19200c82, "rcwcasp x0, x1, x2, x3, [x4]"),
	COPY(0xd9201c20, "stg x0, [x1, 16]!"),
	COPY(0xd9a0243f, "st2g sp, [x1], 32"),
	COPY(0xd9601820, "stzg x0, [x1, 16]"),
	COPY(0xd9600020, "ldg x0, [x1]"),
	COPY(0xd9200020, "stzgm x0, [x1]"),
	COPY(0xd9a00020, "stgm x0, [x1]"),
	COPY(0xd9e00020, "ldgm x0, [x1]"),
	COPY(0xd91f0c20, "gcsstr x0, [x1]"),
	COPY(0xd91f1c20, "gcssttr x0, [x1]"),
	COPY(0xa8400440, "ldnp x0, x1, [x2]"),
	COPY(0xa9bf7bfd, "stp x29, x30, [sp, -16]!"),
	COPY(0xa8c17bfd, "ldp x29, x30, [sp], 16"),
	COPY(0x29200440, "stp w0, w1, [x2, -256]"),
	COPY(0x68c10440, "ldpsw x0, x1, [x2], 8"),
	COPY(0x69410440, "ldpsw x0, x1, [x2, 8]"),
	COPY(0x69808440, "stgp x0, x1, [x2, 16]!"),
	COPY(0xad400440, "ldp q0, q1, [x2]"),
	COPY(0x6c000440, "stnp d0, d1, [x2]"),
	COPY(0xf8408420, "ldr x0, [x1], 8"),
	COPY(0xb81fcc20, "str w0, [x1, -4]!"),
	COPY(0xf85ff020, "ldur x0, [x1, -1]"),
	COPY(0xf8000820, "sttr x0, [x1]"),
	COPY(0x78400820, "ldtrh w0, [x1]"),
	COPY(0x38801420, "ldrsb x0, [x1], 1"),
	COPY(0x78dfe020, "ldursh w0, [x1, -2]"),
	COPY(0xb8800820, "ldtrsw x0, [x1]"),
	COPY(0xb89fc020, "ldursw x0, [x1, -4]"),
	COPY(0xf89f8000, "prfum pldl1keep, [x0, -8]"),
	COPY(0xf862d820, "ldr x0, [x1, w2, sxtw 3]"),
	COPY(0x38206bff, "strb wzr, [sp, x0]"),
	COPY(0x78a26820, "ldrsh x0, [x1, x2]"),
	COPY(0xb8a27820, "ldrsw x0, [x1, x2, lsl 2]"),
	COPY(0xf8a16801, "prfm pldl1strm, [x0, x1]"),
	COPY(0xf97fffe0, "ldr x0, [sp, 32760]"),
	COPY(0x393ffc20, "strb w0, [x1, 4095]"),
	COPY(0x39c00420, "ldrsb w0, [x1, 1]"),
	COPY(0xb9800420, "ldrsw x0, [x1, 4]"),
	COPY(0xf9800011, "prfm pstl1strm, [x0]"),
	COPY(0xf8200041, "ldadd x0, x1, [x2]"),
	COPY(0x3860603f, "stumaxlb w0, [x1]"),
	COPY(0xf8e08041, "swpal x0, x1, [x2]"),
	COPY(0xb8bfc020, "ldapr w0, [x1]"),
	COPY(0xf83f9020, "st64b x0, [x1]"),
	COPY(0xf83fd020, "ld64b x0, [x1]"),
	COPY(0xf820b022, "st64bv x0, x2, [x1]"),
	COPY(0xf820a022, "st64bv0 x0, x2, [x1]"),
	COPY(0xf8200420, "ldraa x0, [x1]"),
	COPY(0xf8a01c20, "ldrab x0, [x1, 8]!"),
	COPY(0x38209041, "rcwclr x0, x1, [x2]"),
	COPY(0x3820a041, "rcwswp x0, x1, [x2]"),
	COPY(0x4c402000, "ld1 {v0.16b-v3.16b}, [x0]"),
	COPY(0x4c9f0800, "st4 {v0.4s-v3.4s}, [x0], 64"),
	COPY(0x4d401c00, "ld1 {v0.b}[15], [x0]"),
	COPY(0x4dffcc00, "ld2r {v0.2d, v1.2d}, [x0], 16"),
	COPY(0x4d418400, "ldap1 {v0.d}[1], [x0]"),
	COPY(0x3cc10420, "ldr q0, [x1], 16"),
	COPY(0xfc1f8020, "stur d0, [x1, -8]"),
	COPY(0xbc626820, "ldr s0, [x1, x2]"),
	COPY(0x3d8007e0, "str q0, [sp, 16]"),

	/* Data processing, registers. */
	COPY(0x0a020020, "and w0, w1, w2"),
	COPY(0x2a2103e0, "mvn w0, w1"),
	COPY(0xeae2fc20, "bics x0, x1, x2, ror 63"),
	COPY(0xaa0107e0, "orr x0, xzr, x1, lsl 1"),
	COPY(0x0b027c20, "add w0, w1, w2, lsl 31"),
	COPY(0x4b827c20, "sub w0, w1, w2, asr 31"),
	COPY(0xeb01001f, "cmp x0, x1"),
	COPY(0xcb81ffe0, "neg x0, x1, asr 63"),
	COPY(0x8b210fe0, "add x0, sp, w1, uxtb 3"),
	COPY(0x8b2273ff, "add sp, sp, x2, uxtx 4"),
	COPY(0x2b22a03f, "cmn w1, w2, sxth"),
	COPY(0xeb21f3e0, "subs x0, sp, x1, sxtx 4"),
	COPY(0xba020020, "adcs x0, x1, x2"),
	COPY(0x9a022020, "addpt x0, x1, x2"),
	COPY(0xba008402, "rmif x0, 1, 2"),
	COPY(0x3a00080d, "setf8 w0"),
	COPY(0x3a00480d, "setf16 w0"),
	COPY(0xfa41100f, "ccmp x0, x1, 15, ne"),
	COPY(0x3a5fe800, "ccmn w0, 31, 0, al"),
	COPY(0x1a9f17e0, "cset w0, eq"),
	COPY(0xda82b420, "csneg x0, x1, x2, lt"),
	COPY(0x9ac20820, "udiv x0, x1, x2"),
	COPY(0x1ac22c20, "ror w0, w1, w2"),
	COPY(0x1ac24020, "crc32b w0, w1, w2"),
	COPY(0x1ac25820, "crc32cw w0, w1, w2"),
	COPY(0x9ac24c20, "crc32x w0, w1, x2"),
	COPY(0x1ac26820, "smin w0, w1, w2"),
	COPY(0x9ac20020, "subp x0, x1, x2"),
	COPY(0xbac20020, "subps x0, x1, x2"),
	COPY(0x9adf1020, "irg x0, x1"),
	COPY(0x9ac21420, "gmi x0, x1, x2"),
	COPY(0x9ac23020, "pacga x0, x1, x2"),
	COPY(0xdac00020, "rbit x0, x1"),
	COPY(0x5ac00820, "rev w0, w1"),
	COPY(0xdac00820, "rev32 x0, x1"),
	COPY(0xdac00c20, "rev x0, x1"),
	COPY(0x5ac01020, "clz w0, w1"),
	COPY(0xdac01c20, "cnt x0, x1"),
	COPY(0x5ac02020, "abs w0, w1"),
	COPY(0xdac10020, "pacia x0, x1"),
	COPY(0xdac12fe0, "pacdzb x0"),
	COPY(0xdac11020, "autia x0, x1"),
	COPY(0xdac13fe0, "autdzb x0"),
	COPY(0xdac143e0, "xpaci x0"),
	COPY(0x1b020c20, "madd w0, w1, w2, w3"),
	COPY(0x9b227c20, "smull x0, w1, w2"),
	COPY(0x9b427c20, "smulh x0, x1, x2"),
	COPY(0x9b620c20, "maddpt x0, x1, x2, x3"),
	COPY(0x9ba28c20, "umsubl x0, w1, w2, x3"),
	COPY(0x9bc27c20, "umulh x0, x1, x2"),

	/* Vectors and floating point. */
	COPY(0x4e228420, "add v0.16b, v1.16b, v2.16b"),
	COPY(0x4e284820, "aese v0.16b, v1.16b"),
	COPY(0x1e622820, "fadd d0, d1, d2"),
	COPY(0x5ee28420, "add d0, d1, d2"),
	COPY(0x9e780000, "fcvtzs x0, d0"),
	COPY(0x9e660000, "fmov x0, d0"),
	COPY(0xce020c20, "eor3 v0.16b, v1.16b, v2.16b, v3.16b"),
	COPY(0x04220020, "add z0.b, z1.b, z2.b"),
	COPY(0x04e2a020, "adr z0.d, [z1.d, z2.d]"),
	COPY(0x85800000, "ldr p0, [x0]"),
	COPY(0x04bf5020, "rdvl x0, 1"),
	COPY(0x04bf5820, "rdsvl x0, 1"),

	/* Executed by the handler where a copy would cost a second exception. */
	{ .name = "nop", .insn = 0xd503201f, .form = PROBE_FORM_COPY, .quick = true,
	  .user = INSN_GOOD_NO_SLOT },
	QUICK(0xd503241f, "bti"),
	QUICK(0xd503245f, "bti c"),
	QUICK(0xd503249f, "bti j"),
	QUICK(0xd50324df, "bti jc"),
	QUICK(0xaa1e03e9, "mov x9, x30"),
	QUICK(0xaa1f03e0, "mov x0, xzr"),
	QUICK(0x2a0103e0, "mov w0, w1"),
	QUICK(0x2a0103ff, "mov wzr, w1"),

	/* Executed by the handler. */
	SIMULATE(ADR, 0x10800000, "adr x0, .-1048576"),
	SIMULATE(ADR, 0x90000000, "adrp x0, .+4096"),
	SIMULATE(B, 0x14000000, "b ."),
	SIMULATE(BL, 0x94000001, "bl .+4"),
	SIMULATE(BCOND, 0x54000020, "b.eq .+4"),
	SIMULATE(BCOND, 0x54ffffef, "b.nv .-4"),
	SIMULATE(BCOND, 0x54000031, "bc.ne .+4"),
	SIMULATE(BCOND, 0x34000000, "cbz w0, ."),
	SIMULATE(BCOND, 0xb57ffffe, "cbnz x30, .+1048572"),
	SIMULATE(BCOND, 0x36f80020, "tbz w0, 31, .+4"),
	SIMULATE(BCOND, 0xb7fc0000, "tbnz x0, 63, .-32768"),
	SIMULATE(BR, 0xd61f0200, "br x16"),
	SIMULATE(BLR, 0xd63f03c0, "blr x30"),
	SIMULATE(BR, 0xd65f03c0, "ret"),
	SIMULATE(BR, 0xd65f0020, "ret x1"),
	SIMULATE(PRFM_LIT, 0xd8000040, "prfm pldl1keep, .+8"),

	/* The same, but not for user space. */
	KERNEL(LDR_LIT, 0x18000040, "ldr w0, .+8"),
	KERNEL(LDR_LIT, 0x58800000, "ldr x0, .-1048576"),
	KERNEL(LDR_LIT, 0x98000040, "ldrsw x0, .+8"),
	KERNEL(CONTEXT, 0xd53b4220, "mrs x0, daif"),
	KERNEL(CONTEXT, 0xd51b4220, "msr daif, x0"),
	KERNEL(CONTEXT, 0xd50342df, "msr daifset, 2"),
	KERNEL(CONTEXT, 0xd5034fff, "msr daifclr, 15"),

	/* Refused: no instruction, or none that comes back. */
	REFUSE(INVALID, 0x00000000, "udf 0"),
	REFUSE(INVALID, 0x0000ffff, "udf 65535"),
	REFUSE(INVALID, 0x01234567, "(not an instruction)"),
	REFUSE(INVALID, 0x12400000, "(and w0, w0, pattern of 64 bits)"),
	REFUSE(INVALID, 0x9240fc00, "(and x0, x0, 64 ones)"),
	REFUSE(INVALID, 0x12007c00, "(and w0, w0, 32 ones)"),
	REFUSE(INVALID, 0x9200bc00, "(and x0, x0, 16 ones)"),
	REFUSE(INVALID, 0x9200dc00, "(and x0, x0, 8 ones)"),
	REFUSE(INVALID, 0x9200ec00, "(and x0, x0, 4 ones)"),
	REFUSE(INVALID, 0x9200f400, "(and x0, x0, 2 ones)"),
	REFUSE(INVALID, 0x9200f800, "(and x0, x0, 1 one)"),
	REFUSE(TRAP, 0xd4000001, "svc 0"),
	REFUSE(TRAP, 0xd4000002, "hvc 0"),
	REFUSE(TRAP, 0xd4000003, "smc 0"),
	REFUSE(TRAP, 0xd4210000, "brk 0x800"),
	REFUSE(TRAP, 0xd4400000, "hlt 0"),
	REFUSE(TRAP, 0xd4a00001, "dcps1"),
	REFUSE(FAR, 0xd69f03e0, "eret"),
	REFUSE(FAR, 0xd69f0bff, "eretaa"),
	REFUSE(FAR, 0xd69f0fff, "eretab"),
	REFUSE(FAR, 0xd6bf03e0, "drps"),
	REFUSE(TRANSACTION, 0xd5233060, "tstart x0"),
	REFUSE(TRANSACTION, 0xd5233160, "ttest x0"),
	REFUSE(TRANSACTION, 0xd503307f, "tcommit"),
	REFUSE(TRANSACTION, 0xd4600000, "tcancel 0"),
	REFUSE(SLEEP, 0xd503205f, "wfe"),
	REFUSE(SLEEP, 0xd503207f, "wfi"),
	REFUSE(SLEEP, 0xd5031000, "wfet x0"),
	REFUSE(SLEEP, 0xd5031020, "wfit x0"),
	REFUSE(CONTROL, 0xd5182000, "msr ttbr0_el1, x0"),
	REFUSE(CONTROL, 0xd5181000, "msr sctlr_el1, x0"),
	REFUSE(CONTROL, 0xd5184020, "msr elr_el1, x0"),
	REFUSE(CONTROL, 0xd5184600, "msr icc_pmr_el1, x0"),
	REFUSE(CONTROL, 0xd500409f, "msr pan, 0"),
	REFUSE(CONTROL, 0xd50041bf, "msr spsel, 1"),
	REFUSE(CONTROL, 0xd503477f, "smstart"),

	/* Refused: broken by the exception. */
	REFUSE(SEQUENCE, 0xc85f7c20, "ldxr x0, [x1]"),
	REFUSE(SEQUENCE, 0x085ffc20, "ldaxrb w0, [x1]"),
	REFUSE(SEQUENCE, 0xc8007c41, "stxr w0, x1, [x2]"),
	REFUSE(SEQUENCE, 0x4800fc41, "stlxrh w0, w1, [x2]"),
	REFUSE(SEQUENCE, 0xc87f0440, "ldxp x0, x1, [x2]"),
	REFUSE(SEQUENCE, 0x887f8440, "ldaxp w0, w1, [x2]"),
	REFUSE(SEQUENCE, 0xc8208861, "stlxp w0, x1, x2, [x3]"),
	REFUSE(SEQUENCE, 0x19010440, "cpyfp [x0]!, [x1]!, x2!"),
	REFUSE(SEQUENCE, 0x1d410440, "cpym [x0]!, [x1]!, x2!"),
	REFUSE(SEQUENCE, 0x19812440, "cpyfert [x0]!, [x1]!, x2!"),
	REFUSE(SEQUENCE, 0x19c20420, "setp [x0]!, x1!, x2"),
	REFUSE(SEQUENCE, 0x1dc28420, "setge [x0]!, x1!, x2"),

	/* Refused: branches and literals of other kinds, and hints that bind neighbours. */
	REFUSE(REACH, 0x1c000040, "ldr s0, .+8"),
	REFUSE(REACH, 0x5c000040, "ldr d0, .+8"),
	REFUSE(REACH, 0x9c000050, "ldr q16, .+8"),
	REFUSE(ENCODING, 0xd71f0801, "braa x0, x1"),
	REFUSE(ENCODING, 0xd61f0c1f, "brabz x0"),
	REFUSE(ENCODING, 0xd73f0801, "blraa x0, x1"),
	REFUSE(ENCODING, 0xd63f0c1f, "blrabz x0"),
	REFUSE(ENCODING, 0xd65f0bff, "retaa"),
	REFUSE(ENCODING, 0xd65f0fff, "retab"),
	REFUSE(ENCODING, 0xd65f0be0, "retaasppcr x0"),
	REFUSE(ENCODING, 0x5500005f, "retaasppc .-8"),
	REFUSE(ENCODING, 0xf3a0003f, "autibsppc .-4"),
	REFUSE(ENCODING, 0x74000000, "(cbgt w0, w0, .)"),
	REFUSE(ENCODING, 0xf5400000, "(cblo x0, 0, .)"),
	REFUSE(ENCODING, 0xd503203f, "yield"),
	REFUSE(ENCODING, 0xd503209f, "sev"),
	REFUSE(ENCODING, 0xd50320bf, "sevl"),
	REFUSE(ENCODING, 0xd503221f, "esb"),
	REFUSE(ENCODING, 0xd503223f, "psb csync"),
	REFUSE(ENCODING, 0xd503225f, "tsb csync"),
	REFUSE(ENCODING, 0xd503229f, "csdb"),
	REFUSE(ENCODING, 0xd50322df, "clrbhb"),
	REFUSE(ENCODING, 0xd50320df, "dgh"),
	REFUSE(ENCODING, 0xd503251f, "chkfeat x16"),
	REFUSE(ENCODING, 0xd5032fff, "(hint 127)"),
	REFUSE(ENCODING, 0xd5782000, "mrrs x0, x1, ttbr0_el1"),
	REFUSE(ENCODING, 0xd55ff492, "(msrr)"),
	REFUSE(ENCODING, 0xd5480000, "(sysp)"),
	REFUSE(ENCODING, 0xd5000000, "(msr, not allocated)"),
	REFUSE(ENCODING, 0xd69f07e0, "(eret, not allocated)"),
	REFUSE(ENCODING, 0xdc000000, "(ldr, not allocated)"),
	REFUSE(ENCODING, 0x32800000, "(move wide, not allocated)"),
	REFUSE(ENCODING, 0x08c07c20, "(ldlarb, without a field of ones)"),

	/* Refused, but uprobes step over them. */
	STEP(SYNDROME, 0xd5384000, "mrs x0, spsr_el1"),
	STEP(SYNDROME, 0xd5384020, "mrs x0, elr_el1"),
	STEP(SYNDROME, 0xd5385200, "mrs x0, esr_el1"),
	STEP(SYNDROME, 0xd5386000, "mrs x0, far_el1"),
	STEP(SYNDROME, 0xd53c4000, "mrs x0, spsr_el2"),
	STEP(SYNDROME, 0xd53c4020, "mrs x0, elr_el2"),
	STEP(SYNDROME, 0xd53c5200, "mrs x0, esr_el2"),
	STEP(SYNDROME, 0xd53c6000, "mrs x0, far_el2"),
	STEP(SYNDROME, 0xd508779f, "gcspushx"),
	STEP(SYNDROME, 0xd50877bf, "gcspopcx"),
	STEP(SYNDROME, 0xd50877df, "gcspopx"),
	STEP(SEQUENCE, 0x0420bc20, "movprfx z0, z1"),
	STEP(SEQUENCE, 0x04912460, "movprfx z0.s, p1/m, z3.s"),
	STEP(ENCODING, 0xc00800ff, "zero {za}"),
	STEP(ENCODING, 0x464c457f, "(not allocated, the start of an ELF file)"),
	STEP(ENCODING, 0x03ffffff, "(not allocated)"),
};
KUNIT_ARRAY_PARAM_DESC(word, words, name);

/* Uprobes have others for what also changes the guarded control stack. */
static bool is_call_or_return(probes_handler_t *simulate)
{
	return simulate == probe_simulate_bl || simulate == probe_simulate_blr ||
	       simulate == probe_simulate_ret;
}

static void decode_verdict(struct kunit *test)
{
	const struct word *w = test->param_value;
	const struct probe_insn_row *row = probe_insn_decode(w->insn);
	struct arch_probe_insn api = { .handler = (void *)-1L };

	KUNIT_ASSERT_NOT_NULL(test, row);
	KUNIT_EXPECT_EQ(test, row->form, w->form);
	KUNIT_EXPECT_EQ(test, row->refusal, w->why);
	if (w->form != PROBE_FORM_COPY)
		KUNIT_EXPECT_EQ(test, probe_insn_computation(w->insn), 0);
	if (w->quick || w->form > PROBE_FORM_COPY)
		KUNIT_EXPECT_NOT_NULL(test, row->simulate);
	else
		KUNIT_EXPECT_NULL(test, row->simulate);

	KUNIT_EXPECT_EQ(test, arm_probe_decode_insn(w->insn, &api), w->user);
	if (w->user != INSN_GOOD_NO_SLOT)
		KUNIT_EXPECT_NULL(test, api.handler);
	else if (is_call_or_return(row->simulate))
		KUNIT_EXPECT_PTR_NE(test, api.handler, row->simulate);
	else
		KUNIT_EXPECT_PTR_EQ(test, api.handler, row->simulate);
}

/* What computes, with x0 for Rd, x1 for Rn, x2 for Rm and x3 for Ra; 0 for all else. */
static const struct computation {
	const char	*name;
	u32		insn;
	u32		computation;
} computations[] = {
	{ "add x9, x10, 4095", 0x913ffd49, 0x913ffc20 },
	{ "sub w30, w29, 1, lsl 12", 0x514007be, 0x51400420 },
	{ "mov x29, sp", 0x910003fd, 0x91000020 },
	{ "sub x9, sp, 16", 0xd10043e9, 0xd1004020 },
	{ "mov sp, x9", 0x9100013f, 0 },
	{ "sub sp, sp, 48", 0xd100c3ff, 0 },
	{ "cmp x9, 5", 0xf100153f, 0xf100143f },
	{ "cmn sp, 5", 0xb10017ff, 0xb100143f },
	{ "subs w9, w10, 1", 0x71000549, 0x71000420 },
	{ "addg x9, x10, 16, 1", 0x91810549, 0 },
	{ "and x9, x10, 0xff", 0x92401d49, 0x92401c20 },
	{ "orr w9, wzr, 0x3fc", 0x321e1fe9, 0x321e1fe0 },
	{ "and sp, x9, ~15", 0x927ced3f, 0 },
	{ "tst w9, 1", 0x7200013f, 0x7200003f },
	{ "ands x9, x10, 0xff", 0xf2401d49, 0xf2401c20 },
	{ "mov w9, -1", 0x12800009, 0x12800000 },
	{ "movz x9, 1, lsl 48", 0xd2e00029, 0xd2e00020 },
	{ "movk w9, 0xffff, lsl 16", 0x72bfffe9, 0x72bfffe0 },
	{ "movk x30, 0x1234, lsl 32", 0xf2c2469e, 0xf2c24680 },
	{ "sxtb w9, w10", 0x13001d49, 0x13001c20 },
	{ "lsr w9, w10, 31", 0x531f7d49, 0x531f7c20 },
	{ "bfi x30, x29, 4, 60", 0xb37cefbe, 0xb37cec20 },
	{ "ubfx x9, x10, 5, 20", 0xd3456149, 0xd3456020 },
	{ "extr w9, w10, w11, 31", 0x138b7d49, 0x13827c20 },
	{ "ror x9, x10, 1", 0x93ca0549, 0x93c20420 },
	{ "bics x9, x10, x11, ror 63", 0xeaebfd49, 0xeae2fc20 },
	{ "mvn w9, w10", 0x2a2a03e9, 0x2a2203e0 },
	{ "tst x9, x10", 0xea0a013f, 0xea02003f },
	{ "add w9, w10, w11, lsl 31", 0x0b0b7d49, 0x0b027c20 },
	{ "sub w9, w10, w11, asr 31", 0x4b8b7d49, 0x4b827c20 },
	{ "adds x9, x9, x9, lsr 63", 0xab49fd29, 0xab42fc20 },
	{ "cmp xzr, x9, asr 1", 0xeb8907ff, 0xeb8207ff },
	{ "add x9, sp, w10, uxtb 3", 0x8b2a0fe9, 0x8b220c20 },
	{ "add x9, x10, wzr, sxtw 4", 0x8b3fd149, 0x8b3fd020 },
	{ "add sp, sp, x9", 0x8b2963ff, 0 },
	{ "sub sp, x9, x10, sxtx 4", 0xcb2af13f, 0 },
	{ "cmp sp, x9", 0xeb2963ff, 0xeb22603f },
	{ "subs x9, sp, x10, sxtx 4", 0xeb2af3e9, 0xeb22f020 },
	{ "adcs x9, x10, x11", 0xba0b0149, 0xba020020 },
	{ "ngc w9, w10", 0x5a0a03e9, 0x5a0203e0 },
	{ "ccmp x9, x10, 15, ne", 0xfa4a112f, 0 },
	{ "csel x9, x10, x11, lt", 0x9a8bb149, 0x9a82b020 },
	{ "cset w9, eq", 0x1a9f17e9, 0x1a9f17e0 },
	{ "udiv x9, x10, xzr", 0x9adf0949, 0x9adf0820 },
	{ "ror w9, w10, w11", 0x1acb2d49, 0x1ac22c20 },
	{ "crc32b w9, w10, w11", 0x1acb4149, 0 },
	{ "rbit x9, x10", 0xdac00149, 0xdac00020 },
	{ "rev16 w9, w10", 0x5ac00549, 0x5ac00420 },
	{ "rev w9, w10", 0x5ac00949, 0x5ac00820 },
	{ "rev32 x9, x10", 0xdac00949, 0xdac00820 },
	{ "rev x9, x10", 0xdac00d49, 0xdac00c20 },
	{ "clz w9, w10", 0x5ac01149, 0x5ac01020 },
	{ "madd x9, x10, x11, x12", 0x9b0b3149, 0x9b020c20 },
	{ "mul x9, x10, x11", 0x9b0b7d49, 0x9b027c20 },
	{ "smsubl x9, w10, w11, x12", 0x9b2bb149, 0x9b228c20 },
	{ "smulh x9, x10, x11", 0x9b4b7d49, 0 },
	{ "umaddl x9, w10, w11, x12", 0x9bab3149, 0x9ba20c20 },
	{ "mov x9, x10", 0xaa0a03e9, 0 },
	{ "nop", 0xd503201f, 0 },
	{ "b .", 0x14000000, 0 },
	{ "ldr x9, [x10]", 0xf9400149, 0 },
	{ "fmov x9, d1", 0x9e660029, 0 },
	{ "mrs x9, tpidr_el0", 0xd53bd049, 0 },
};
KUNIT_ARRAY_PARAM_DESC(computation, computations, name);

static void decode_computation(struct kunit *test)
{
	const struct computation *c = test->param_value;

	KUNIT_EXPECT_EQ_MSG(test, probe_insn_computation(c->insn), c->computation, "%08x",
			    probe_insn_computation(c->insn));
}

/* No row is there without a word above. */
static void decode_each_row(struct kunit *test)
{
	unsigned int nr, i;

	for (nr = 0; nr < nr_probe_insn_rows; nr++) {
		const struct probe_insn_row *row = &probe_insn_rows[nr];

		for (i = 0; i < ARRAY_SIZE(words); i++) {
			if (probe_insn_decode(words[i].insn) == row)
				break;
		}
		KUNIT_EXPECT_LT_MSG(test, i, ARRAY_SIZE(words), "%08x %08x", row->mask,
				    row->value);
	}
}

/* Only exceptions, which come first, have words in common with another row. */
static void decode_order(struct kunit *test)
{
	const struct probe_insn_row *a = probe_insn_rows, *b;
	const struct probe_insn_row *last = a + nr_probe_insn_rows - 1;

	KUNIT_EXPECT_EQ(test, last->mask, 0);
	KUNIT_EXPECT_EQ(test, last->form, PROBE_FORM_REJECT);

	for (; a < last; a++) {
		for (b = a + 1; b < last; b++) {
			if ((a->value ^ b->value) & a->mask & b->mask)
				continue;
			KUNIT_EXPECT_TRUE_MSG(test, a->narrow && !(b->mask & ~a->mask),
					      "%08x %08x", a->mask, a->value);
		}
	}
}

/* Neighbours of exclusive accesses in the table are no such accesses. */
static void decode_exclusive(struct kunit *test)
{
	static const struct {
		const char	*name;
		u32		insn;
		bool		load;
		bool		store;
	} rows[] = {
		{ "ldxr x0, [x1]", 0xc85f7c20, .load = true },
		{ "ldxrb w0, [x1]", 0x085f7c20, .load = true },
		{ "ldaxrh w0, [x1]", 0x485ffc20, .load = true },
		{ "ldxp w0, w1, [x2]", 0x887f0440, .load = true },
		{ "ldaxp x0, x1, [x2]", 0xc87f8440, .load = true },
		{ "stxr w0, x1, [x2]", 0xc8007c41, .store = true },
		{ "stlxrb w0, w1, [x2]", 0x0800fc41, .store = true },
		{ "stxp w0, x1, x2, [x3]", 0xc8200861, .store = true },
		{ "stlxp w0, w1, w2, [x3]", 0x88208861, .store = true },
		{ "ldar x0, [x1]", 0xc8dffc20 },
		{ "ldarb w0, [x1]", 0x08dffc20 },
		{ "ldlar w0, [x1]", 0x88df7c20 },
		{ "stlr x0, [x1]", 0xc89ffc20 },
		{ "stlrh w0, [x1]", 0x489ffc20 },
		{ "stllr w0, [x1]", 0x889f7c20 },
		{ "cas x0, x1, [x2]", 0xc8a07c41 },
		{ "casalb w0, w1, [x2]", 0x08e0fc41 },
		{ "casp x0, x1, x2, x3, [x4]", 0x48207c82 },
		{ "caspal w0, w1, w2, w3, [x4]", 0x0860fc82 },
		{ "ldadd x0, x1, [x2]", 0xf8200041 },
		{ "swpal x0, x1, [x2]", 0xf8e08041 },
		{ "ldapr x0, [x1]", 0xf8bfc020 },
		{ "ldr x0, [x1]", 0xf9400020 },
		{ "stp x29, x30, [sp, -16]!", 0xa9bf7bfd },
		{ "clrex", 0xd5033f5f },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ_MSG(test, probe_insn_is_load_exclusive(rows[i].insn),
				    rows[i].load, "%s", rows[i].name);
		KUNIT_EXPECT_EQ_MSG(test, probe_insn_is_store_exclusive(rows[i].insn),
				    rows[i].store, "%s", rows[i].name);
	}
}

static void decode_landing_pad(struct kunit *test)
{
	static const u32 pads[] = {
		0xd503241f, 0xd503245f, 0xd503249f, 0xd50324df, 0xd503233f, 0xd503237f,
	};
	/* nop, pacia1716, paciaz, pacibz, autiasp, xpaclri, chkfeat x16, b . */
	static const u32 others[] = {
		0xd503201f, 0xd503211f, 0xd503231f, 0xd503235f, 0xd50323bf, 0xd50320ff,
		0xd503251f, 0x14000000,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pads); i++)
		KUNIT_EXPECT_TRUE_MSG(test, probe_insn_is_landing_pad(pads[i]), "%08x", pads[i]);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		KUNIT_EXPECT_FALSE_MSG(test, probe_insn_is_landing_pad(others[i]), "%08x",
				       others[i]);
}

/*
 * Simulated instructions. Everything that they do not change has to stay. differential_kunit.c
 * compares them with the CPU, which also evaluates each condition and tests each bit.
 */

#define REG_ZR		31
#define NO_REG		(-1)
#define HERE		0xffff800012345ff8UL
#define BTYPES		((u64)PSR_BTYPE_MASK)
#define DAIF		(PSR_D_BIT | PSR_A_BIT | PSR_I_BIT | PSR_F_BIT)

/* Every register has a different value, and so do the members after them. */
static void fill(struct pt_regs *regs, u64 pc)
{
	unsigned int i;

	for (i = 0; i < sizeof(*regs) / sizeof(u64); i++)
		((u64 *)regs)[i] = 0x8123456789abcdefUL + i * 0x1111111111111111UL;
	regs->pc = pc;
	/* Some indirect branch has led here. */
	regs->pstate = PSR_MODE_EL1h | PSR_PAN_BIT | PSR_D_BIT | PSR_C_BIT | BTYPES;
}

static void simulate(struct kunit *test, u32 insn, u64 addr, struct pt_regs *regs)
{
	const struct probe_insn_row *row = probe_insn_decode(insn);

	KUNIT_ASSERT_NOT_NULL_MSG(test, row->simulate, "%08x", insn);
	row->simulate(insn, addr, regs);
}

static void expect_regs(struct kunit *test, const char *name, const struct pt_regs *got,
			const struct pt_regs *want)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(want->regs); i++)
		KUNIT_EXPECT_EQ_MSG(test, got->regs[i], want->regs[i], "%s: x%u", name, i);
	KUNIT_EXPECT_EQ_MSG(test, got->pc, want->pc, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, got->pstate, want->pstate, "%s", name);
	KUNIT_EXPECT_MEMEQ_MSG(test, got, want, sizeof(*want), "%s", name);
}

/**
 * struct step - an instruction and its effect
 * @name: its assembly
 * @insn: the instruction
 * @at: its address; HERE by default
 * @rs: a register whose value matters, if that is not 0
 * @in: this value
 * @pc: the next program counter; if @far is not set, relative to @at
 * @far: @pc is absolute
 * @rd: the register that it writes, if that is not 0
 * @out: what it writes
 * @btype: type of branch, for the landing pad of its target
 *
 * Registers are numbered from 1 for x0.
 */
struct step {
	const char	*name;
	u32		insn;
	u64		at;
	u8		rs;
	u64		in;
	u64		pc;
	bool		far;
	u8		rd;
	u64		out;
	u64		btype;
};

#define X(nr)	((nr) + 1)
#define TO(offset)	.pc = (u64)(offset)
#define NEXT		TO(4)

static const struct step steps[] = {
	/* Offsets have 28, 21 and 16 bits, and a sign. */
	{ "b .+134217724", 0x15ffffff, TO(SZ_128M - 4) },
	{ "b .-134217728", 0x16000000, TO(-(long)SZ_128M) },
	{ "b .-4", 0x17ffffff, TO(-4) },
	{ "bl .+134217724", 0x95ffffff, TO(SZ_128M - 4), .rd = X(30), .out = HERE + 4 },
	{ "bl .-134217728", 0x96000000, TO(-(long)SZ_128M), .rd = X(30), .out = HERE + 4 },
	{ "b.al .+1048572", 0x547fffee, TO(SZ_1M - 4) },
	{ "b.nv .-1048576", 0x5480000f, TO(-(long)SZ_1M) },
	{ "bc.al .+8", 0x5400005e, TO(8) },
	{ "cbz x1, .+1048572", 0xb47fffe1, .rs = X(1), .in = 0, TO(SZ_1M - 4) },
	{ "cbnz x1, .-1048576", 0xb5800001, .rs = X(1), .in = 1, TO(-(long)SZ_1M) },
	{ "tbz x1, 0, .+32764", 0x3603ffe1, .rs = X(1), .in = ~1UL, TO(SZ_32K - 4) },
	{ "tbnz x1, 0, .-32768", 0x37040001, .rs = X(1), .in = 1, TO(-SZ_32K) },

	/* W registers have no upper half. */
	{ "cbz w1, .+8, upper half set", 0x34000041, .rs = X(1), .in = 1UL << 32, TO(8) },
	{ "cbz x1, .+8, upper half set", 0xb4000041, .rs = X(1), .in = 1UL << 32, NEXT },
	{ "cbnz w1, .+8, upper half set", 0x35000041, .rs = X(1), .in = 1UL << 63, NEXT },
	{ "cbnz x1, .+8, upper half set", 0xb5000041, .rs = X(1), .in = 1UL << 63, TO(8) },
	{ "cbz w1, .+8, lower half set", 0x34000041, .rs = X(1), .in = 1UL << 31, NEXT },
	{ "cbnz w1, .+8, lower half set", 0x35000041, .rs = X(1), .in = 1UL << 31, TO(8) },
	{ "cbz w30, .+8", 0x3400005e, .rs = X(30), .in = 0, TO(8) },

	/* Register 31 is zero, not the stack pointer. */
	{ "cbz xzr, .+8", 0xb400005f, TO(8) },
	{ "cbz wzr, .+8", 0x3400005f, TO(8) },
	{ "cbnz xzr, .+8", 0xb500005f, NEXT },
	{ "tbz xzr, 63, .+8", 0xb6f8005f, TO(8) },
	{ "tbnz xzr, 0, .+8", 0x3700005f, NEXT },
	{ "br xzr", 0xd61f03e0, .far = true, .btype = PSR_BTYPE_J },
	{ "ret xzr", 0xd65f03e0, .far = true },
	{ "blr xzr", 0xd63f03e0, .far = true, .rd = X(30), .out = HERE + 4,
	  .btype = PSR_BTYPE_C },

	/* Indirect branches; x30 is read before it is written. */
	{ "br x0", 0xd61f0000, .rs = X(0), .in = 0x1234, .pc = 0x1234, .far = true,
	  .btype = PSR_BTYPE_J },
	{ "br x16", 0xd61f0200, .rs = X(16), .in = 0x1234, .pc = 0x1234, .far = true,
	  .btype = PSR_BTYPE_JC },
	{ "br x17", 0xd61f0220, .rs = X(17), .in = 0x1234, .pc = 0x1234, .far = true,
	  .btype = PSR_BTYPE_JC },
	{ "br x30", 0xd61f03c0, .rs = X(30), .in = 0x1234, .pc = 0x1234, .far = true,
	  .btype = PSR_BTYPE_J },
	{ "blr x16", 0xd63f0200, .rs = X(16), .in = 0x1234, .pc = 0x1234, .far = true,
	  .rd = X(30), .out = HERE + 4, .btype = PSR_BTYPE_C },
	{ "blr x30", 0xd63f03c0, .rs = X(30), .in = 0x1234, .pc = 0x1234, .far = true,
	  .rd = X(30), .out = HERE + 4, .btype = PSR_BTYPE_C },
	{ "ret", 0xd65f03c0, .rs = X(30), .in = -4UL, .pc = -4UL, .far = true },
	{ "ret x1", 0xd65f0020, .rs = X(1), .in = 0x1234, .pc = 0x1234, .far = true },

	/* Addresses; those of pages count from that of the instruction, and wrap around. */
	{ "adr x0, .", 0x10000000, NEXT, .rd = X(0), .out = HERE },
	{ "adr x1, .+1048575", 0x707fffe1, NEXT, .rd = X(1), .out = HERE + SZ_1M - 1 },
	{ "adr x30, .-1048576", 0x1080001e, NEXT, .rd = X(30), .out = HERE - SZ_1M },
	{ "adr x2, .-1", 0x70ffffe2, NEXT, .rd = X(2), .out = HERE - 1 },
	{ "adr xzr, .+4", 0x1000003f, NEXT },
	{ "adr x0, .+8, wraps", 0x10000040, .at = -4UL, NEXT, .rd = X(0), .out = 4 },
	{ "adrp x0, .", 0x90000000, NEXT, .rd = X(0), .out = 0xffff800012345000UL },
	{ "adrp x0, .+4096", 0xb0000000, NEXT, .rd = X(0), .out = 0xffff800012346000UL },
	{ "adrp x0, .-4096", 0xf0ffffe0, NEXT, .rd = X(0), .out = 0xffff800012344000UL },
	{ "adrp x0, .+4294963200", 0xf07fffe0, NEXT, .rd = X(0),
	  .out = 0xffff800112344000UL },
	{ "adrp x30, .-4294967296", 0x9080001e, NEXT, .rd = X(30),
	  .out = 0xffff7fff12345000UL },
	{ "adrp xzr, .", 0x9000001f, NEXT },
	{ "adrp x0, .+4096, last word of a page", 0xb0000000, .at = 0xffff800012345ffcUL, NEXT,
	  .rd = X(0), .out = 0xffff800012346000UL },
	{ "adrp x0, .+4096, first word of a page", 0xb0000000, .at = 0xffff800012346000UL, NEXT,
	  .rd = X(0), .out = 0xffff800012347000UL },
	{ "adrp x0, .+4096, wraps", 0xb0000000, .at = -4UL, NEXT, .rd = X(0), .out = 0 },

	/* Moves. W registers are extended with zeros. */
	{ "mov x9, x30", 0xaa1e03e9, .rs = X(30), .in = -2UL, NEXT, .rd = X(9), .out = -2UL },
	{ "mov w9, w30", 0x2a1e03e9, .rs = X(30), .in = -2UL, NEXT, .rd = X(9),
	  .out = 0xfffffffe },
	{ "mov x9, xzr", 0xaa1f03e9, NEXT, .rd = X(9), .out = 0 },
	{ "mov xzr, x9", 0xaa0903ff, NEXT },

	/* Nothing. */
	{ "nop", 0xd503201f, NEXT },
	{ "bti", 0xd503241f, NEXT },
	{ "bti c", 0xd503245f, NEXT },
	{ "bti jc", 0xd50324df, NEXT },
	{ "prfm pldl1keep, .+8", 0xd8000040, NEXT },
	{ "prfm pldl1keep, .-1048576, nothing there", 0xd8800000, .at = SZ_1M, NEXT },
};
KUNIT_ARRAY_PARAM_DESC(step, steps, name);

static void simulate_step(struct kunit *test)
{
	const struct step *s = test->param_value;
	u64 at = s->at ?: HERE;
	struct pt_regs regs, want;

	fill(&regs, at);
	if (s->rs)
		regs.regs[s->rs - 1] = s->in;

	want = regs;
	want.pc = s->far ? s->pc : at + s->pc;
	want.pstate &= ~BTYPES;
	if (system_supports_bti_kernel())
		want.pstate |= s->btype;
	if (s->rd)
		want.regs[s->rd - 1] = s->out;

	simulate(test, s->insn, at, &regs);
	expect_regs(test, s->name, &regs, &want);
}

/* In user space, it is not known whether the target of a branch needs a landing pad. */
static void simulate_user_branch(struct kunit *test)
{
	static const u32 insns[] = { 0xd61f0000, 0xd63f0000, 0xd65f0000 };
	struct pt_regs regs;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(insns); i++) {
		fill(&regs, SZ_64K);
		regs.pstate = PSR_MODE_EL0t | BTYPES | PSR_Z_BIT;
		regs.regs[0] = SZ_1M;
		simulate(test, insns[i], SZ_64K, &regs);
		KUNIT_EXPECT_EQ_MSG(test, regs.pc, SZ_1M, "%08x", insns[i]);
		KUNIT_EXPECT_EQ_MSG(test, regs.pstate, PSR_Z_BIT, "%08x", insns[i]);
	}
}

/* The guarded control stack of a user program. */
static struct {
	unsigned long	pushed, popped;
	bool		full;
} user_gcs;

static bool note_push(unsigned long addr)
{
	user_gcs.pushed = addr;
	return !user_gcs.full;
}

static bool note_pop(unsigned long addr)
{
	user_gcs.popped = addr;
	return !user_gcs.full;
}

static void simulate_user_calls_and_returns(struct kunit *test)
{
	static const struct {
		u32		insn;
		unsigned long	to, pushed, popped;
	} rows[] = {
		{ 0x94000002, SZ_64K + 8, .pushed = SZ_64K + 4 },	/* bl .+8 */
		{ 0xd63f0000, SZ_1M, .pushed = SZ_64K + 4 },		/* blr x0 */
		{ 0xd65f0000, SZ_1M, .popped = SZ_1M },			/* ret x0 */
		{ 0xd65f03c0, SZ_2M, .popped = SZ_2M },			/* ret */
		{ 0x14000002, SZ_64K + 8 },				/* b .+8 */
		{ 0xd61f0000, SZ_1M },					/* br x0 */
	};
	struct pt_regs regs, before;
	struct arch_probe_insn api;
	unsigned int i;

	kunit_activate_static_stub(test, probe_user_push_return, note_push);
	kunit_activate_static_stub(test, probe_user_pop_return, note_pop);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fill(&before, SZ_64K);
		before.pstate = PSR_MODE_EL0t;
		before.regs[0] = SZ_1M;
		before.regs[30] = SZ_2M;
		KUNIT_ASSERT_EQ(test, arm_probe_decode_insn(rows[i].insn, &api),
				INSN_GOOD_NO_SLOT);

		memset(&user_gcs, 0, sizeof(user_gcs));
		regs = before;
		api.handler(rows[i].insn, SZ_64K, &regs);
		KUNIT_EXPECT_EQ(test, regs.pc, rows[i].to);
		KUNIT_EXPECT_EQ(test, regs.regs[30], rows[i].pushed ?: SZ_2M);
		KUNIT_EXPECT_EQ(test, user_gcs.pushed, rows[i].pushed);
		KUNIT_EXPECT_EQ(test, user_gcs.popped, rows[i].popped);

		/* The signal comes at the instruction. */
		if (!rows[i].pushed && !rows[i].popped)
			continue;
		user_gcs.full = true;
		regs = before;
		api.handler(rows[i].insn, SZ_64K, &regs);
		KUNIT_EXPECT_MEMEQ(test, &regs, &before, sizeof(regs));
	}
}

/* What the kernel's own generators encode is what is simulated. */
static void simulate_generated(struct kunit *test)
{
	static const long offsets[] = {
		0, 4, -4, 0x100, -0x100, SZ_16K, -(long)SZ_16K, 0x54320, -0x54320,
		SZ_1M - 4, -(long)SZ_1M,
	};
	unsigned int i, reg = 7;
	struct pt_regs regs;
	u64 to;
	u32 insn;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		to = HERE + offsets[i];

		fill(&regs, HERE);
		insn = aarch64_insn_gen_branch_imm(HERE, to, AARCH64_INSN_BRANCH_NOLINK);
		simulate(test, insn, HERE, &regs);
		KUNIT_EXPECT_EQ_MSG(test, regs.pc, to, "b %ld", offsets[i]);

		fill(&regs, HERE);
		insn = aarch64_insn_gen_branch_imm(HERE, to, AARCH64_INSN_BRANCH_LINK);
		simulate(test, insn, HERE, &regs);
		KUNIT_EXPECT_EQ_MSG(test, regs.pc, to, "bl %ld", offsets[i]);
		KUNIT_EXPECT_EQ(test, regs.regs[30], HERE + 4);

		fill(&regs, HERE);
		insn = aarch64_insn_gen_cond_branch_imm(HERE, to, AARCH64_INSN_COND_CS);
		simulate(test, insn, HERE, &regs);
		KUNIT_EXPECT_EQ_MSG(test, regs.pc, to, "b.cs %ld", offsets[i]);

		fill(&regs, HERE);
		insn = aarch64_insn_gen_comp_branch_imm(HERE, to, reg,
							AARCH64_INSN_VARIANT_64BIT,
							AARCH64_INSN_BRANCH_COMP_NONZERO);
		simulate(test, insn, HERE, &regs);
		KUNIT_EXPECT_EQ_MSG(test, regs.pc, to, "cbnz %ld", offsets[i]);

		fill(&regs, HERE);
		insn = aarch64_insn_gen_adr(HERE, to, reg, AARCH64_INSN_ADR_TYPE_ADR);
		simulate(test, insn, HERE, &regs);
		KUNIT_EXPECT_EQ_MSG(test, regs.regs[reg], to, "adr %ld", offsets[i]);

		to = HERE + offsets[i] * (long)SZ_2K;
		fill(&regs, HERE);
		insn = aarch64_insn_gen_adr(HERE, to, reg, AARCH64_INSN_ADR_TYPE_ADRP);
		simulate(test, insn, HERE, &regs);
		KUNIT_EXPECT_EQ_MSG(test, regs.regs[reg], to & ~(SZ_4K - 1UL), "adrp %ld",
				    offsets[i]);
	}
}

/* Literals around the instruction, one of 64 bits at a multiple of only 4. */
static void simulate_literals(struct kunit *test)
{
	static const struct {
		const char	*name;
		u32		insn;
		int		rd;
		u64		out;
	} loads[] = {
		{ "ldr w1, .+4", 0x18000021, 1, 0x89abcdef },
		{ "ldr x1, .+4", 0x58000021, 1,
		  IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) ? 0x89abcdef01234567 : 0x0123456789abcdef },
		{ "ldr x1, .+8", 0x58000041, 1,
		  IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) ? 0x0123456776543210 : 0x7654321001234567 },
		{ "ldrsw x1, .+4", 0x98000021, 1, 0xffffffff89abcdef },
		{ "ldrsw x30, .+8", 0x9800005e, 30, 0x01234567 },
		{ "ldr w30, .-4", 0x18fffffe, 30, 0xfedcba98 },
		{ "ldrsw x1, .-4", 0x98ffffe1, 1, 0xfffffffffedcba98 },
		{ "ldr wzr, .+4", 0x1800003f, NO_REG, 0 },
		{ "ldr xzr, .+4", 0x5800003f, NO_REG, 0 },
		{ "ldrsw xzr, .+4", 0x9800003f, NO_REG, 0 },
	};
	static const u32 code[] __aligned(8) = {
		0, 0xfedcba98, 0, 0x89abcdef, 0x01234567, 0x76543210,
	};
	u64 at = (u64)&code[2];
	struct pt_regs regs, want;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(loads); i++) {
		fill(&regs, at);
		want = regs;
		want.pc += 4;
		want.pstate &= ~BTYPES;
		if (loads[i].rd != NO_REG)
			want.regs[loads[i].rd] = loads[i].out;
		simulate(test, loads[i].insn, at, &regs);
		expect_regs(test, loads[i].name, &regs, &want);
	}
}

#define LDR_W1		0x18000001	/* ldr w1, . */

/* The literals furthest away. */
static void simulate_far_literals(struct kunit *test)
{
	u32 *first = vzalloc(SZ_2M + SZ_4K), *here, *last;
	struct pt_regs regs;

	KUNIT_ASSERT_NOT_NULL(test, first);
	here = first + SZ_1M / sizeof(u32);
	last = here + SZ_1M / sizeof(u32) - 1;
	*first = 0x11111111;
	*last = 0x22222222;

	fill(&regs, (u64)here);
	simulate(test, LDR_W1 | 0x40000 << 5, (u64)here, &regs);
	KUNIT_EXPECT_EQ(test, regs.regs[1], 0x11111111);

	fill(&regs, (u64)here);
	simulate(test, LDR_W1 | 0x3ffff << 5, (u64)here, &regs);
	KUNIT_EXPECT_EQ(test, regs.regs[1], 0x22222222);
	vfree(first);
}

#define MRS_X1_DAIF	0xd53b4221
#define MRS_XZR_DAIF	0xd53b423f
#define MSR_DAIF_X1	0xd51b4221
#define MSR_DAIF_XZR	0xd51b423f
#define MSR_DAIFSET	0xd50340df
#define MSR_DAIFCLR	0xd50340ff
/* D is the most significant of the four. */
#define DAIF_OF(nr)	((u64)(nr) << 6)

static void run_daif(struct kunit *test, u32 insn, u64 daif, u64 x1, u64 want_daif,
		     u64 want_x1)
{
	struct pt_regs regs, want;

	fill(&regs, HERE);
	regs.pstate = (regs.pstate & ~(u64)DAIF) | daif;
	regs.regs[1] = x1;
	want = regs;
	want.pc += 4;
	want.pstate = (want.pstate & ~(DAIF | BTYPES)) | want_daif;
	want.regs[1] = want_x1;
	simulate(test, insn, HERE, &regs);
	expect_regs(test, "daif", &regs, &want);
}

/* All four bits, and no others: those of the program, not those of the handler. */
static void simulate_daif(struct kunit *test)
{
	unsigned int old, new;

	KUNIT_ASSERT_EQ(test, DAIF_OF(15), DAIF);
	KUNIT_ASSERT_EQ(test, DAIF_OF(8), PSR_D_BIT);

	for (old = 0; old < 16; old++) {
		run_daif(test, MRS_X1_DAIF, DAIF_OF(old), -1UL, DAIF_OF(old), DAIF_OF(old));
		run_daif(test, MRS_XZR_DAIF, DAIF_OF(old), 5, DAIF_OF(old), 5);
		run_daif(test, MSR_DAIF_XZR, DAIF_OF(old), 5, 0, 5);
		for (new = 0; new < 16; new++) {
			run_daif(test, MSR_DAIF_X1, DAIF_OF(old), DAIF_OF(new), DAIF_OF(new),
				 DAIF_OF(new));
			run_daif(test, MSR_DAIF_X1, DAIF_OF(old), ~DAIF_OF(new),
				 DAIF & ~DAIF_OF(new), ~DAIF_OF(new));
			run_daif(test, MSR_DAIFSET | new << 8, DAIF_OF(old), 5,
				 DAIF_OF(old | new), 5);
			run_daif(test, MSR_DAIFCLR | new << 8, DAIF_OF(old), 5,
				 DAIF_OF(old & ~new), 5);
		}
	}
}

static struct kunit_case decode_cases[] = {
	KUNIT_CASE_PARAM(decode_verdict, word_gen_params),
	KUNIT_CASE_PARAM(decode_computation, computation_gen_params),
	KUNIT_CASE(decode_each_row),
	KUNIT_CASE(decode_order),
	KUNIT_CASE(decode_exclusive),
	KUNIT_CASE(decode_landing_pad),
	KUNIT_CASE_PARAM(simulate_step, step_gen_params),
	KUNIT_CASE(simulate_user_branch),
	KUNIT_CASE(simulate_user_calls_and_returns),
	KUNIT_CASE(simulate_generated),
	KUNIT_CASE(simulate_literals),
	KUNIT_CASE(simulate_far_literals),
	KUNIT_CASE(simulate_daif),
	{}
};

KP_SUITE(decode_cases, .name = "kprobes_arm64_decode");
