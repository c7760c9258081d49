// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decides which instructions can be probed, and what a copy of each needs. Reads and changes
 * nothing. All instructions are numbers in the byte order of the CPU.
 */

#include <linux/array_size.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/kprobes-refusal.h>

#include <asm/ptrace.h>

#include "decode-insn.h"
#include "simulate-insn.h"

#define ROW(m, v, f, ...)						\
	{ .mask = (m) + BUILD_BUG_ON_ZERO((v) & ~(m)), .value = (v),	\
	  .form = PROBE_FORM_##f, __VA_ARGS__ }

/* A copy has the same effect at any address. */
#define COPY(m, v, ...)							\
	ROW(m, v, COPY, .user = INSN_GOOD, ##__VA_ARGS__)
/* The same, computing a register. The last argument says which fields name registers. */
#define COMPUTE(m, v, fields)						\
	COPY(m, v, .computes = COMPUTES_##fields)
/* Copied or simulated, whichever is quicker. */
#define QUICK(m, v, how, whether)					\
	ROW(m, v, COPY, NARROW, .user = whether, .simulate = probe_simulate_##how)
/* Simulated at a breakpoint. A detour executes an equivalent instead, if there is one. */
#define SIMULATE(m, v, f, how)						\
	ROW(m, v, f, .user = INSN_GOOD_NO_SLOT, .simulate = probe_simulate_##how)
/*
 * The same for kprobes only: the kernel must not dereference the addresses of a user program, and
 * user programs must not change PSTATE.DAIF.
 */
#define KERNEL(m, v, f, how, ...)					\
	ROW(m, v, f, .simulate = probe_simulate_##how, ##__VA_ARGS__)
#define REJECT(m, v, why, ...)						\
	ROW(m, v, REJECT, .refusal = KPROBE_REFUSAL_##why, ##__VA_ARGS__)
/* Refused for kprobes. Uprobes single-step a copy in hardware, so the reason does not apply. */
#define STEP(m, v, why, ...)						\
	REJECT(m, v, why, .user = INSN_GOOD, ##__VA_ARGS__)

#define COMPUTES_D	PROBE_COMPUTES_RD
#define COMPUTES_DN	(PROBE_COMPUTES_RD | PROBE_COMPUTES_RN)
#define COMPUTES_DNM	(COMPUTES_DN | PROBE_COMPUTES_RM)
#define COMPUTES_DNMA	(COMPUTES_DNM | PROBE_COMPUTES_RA)
/* "S" after a field: it may be the stack pointer. */
#define COMPUTES_DNS	(COMPUTES_DN | PROBE_COMPUTES_RN_SP)
#define COMPUTES_DNSM	(COMPUTES_DNM | PROBE_COMPUTES_RN_SP)
/* For ANDS, which is in the same row, see probe_insn_computation(). */
#define COMPUTES_DSN	(COMPUTES_DN | PROBE_COMPUTES_RD_SP)
#define COMPUTES_DSNS	(COMPUTES_DNS | PROBE_COMPUTES_RD_SP)
#define COMPUTES_DSNSM	(COMPUTES_DNSM | PROBE_COMPUTES_RD_SP)

/* An exception from a row further down. */
#define NARROW	.narrow = true

/*
 * In the order of the Arm ARM's chapter "A64 Instruction Set Encoding". Instructions without a
 * row of their own match the last row and are refused. So are all unallocated encodings, except
 * those among the vector instructions, which are too sparse to list; none of those depends on its
 * own address.
 */
const struct probe_insn_row probe_insn_rows[] = {
	/* Reserved: UDF, which data looks like, too. SME. */
	REJECT(0x9e000000, 0x00000000, INVALID),
	STEP(0x9e000000, 0x80000000, ENCODING),

	/* SVE. Only some instructions may follow MOVPRFX: neither a branch nor a trap. */
	STEP(PROBE_INSN_MOVPRFX_MASK, PROBE_INSN_MOVPRFX, SEQUENCE, NARROW),
	STEP(PROBE_INSN_MOVPRFX_P_MASK, PROBE_INSN_MOVPRFX_P, SEQUENCE, NARROW),
	COPY(0x1e000000, 0x04000000),

	/*
	 * Two groups that are not allocated. Uprobes accept them: the program still gets its
	 * signal, and tools place uprobes on the headers of files.
	 */
	STEP(0x1a000000, 0x02000000, ENCODING),

	/* Data processing, immediate. */

	/* ADR, ADRP */
	SIMULATE(0x1f000000, 0x10000000, ADR, adr),
	/* ADD and SUB; ADDS and SUBS */
	COMPUTE(0x3f800000, 0x11000000, DSNS),
	COMPUTE(0x3f800000, 0x31000000, DNS),
	/* ADDG, SUBG */
	COPY(0xbfc0c000, 0x91800000),
	/* SMAX, UMAX, SMIN, UMIN */
	COPY(0x7ff00000, 0x11c00000),
	/* AND, ORR, EOR, ANDS: patterns that are all ones, or too wide for a W register */
	REJECT(0x9fc00000, 0x12400000, INVALID, NARROW),
	REJECT(0x9fc0fc00, 0x9240fc00, INVALID, NARROW),
	REJECT(0x1fc0fc00, 0x12007c00, INVALID, NARROW),
	REJECT(0x1fc0fc00, 0x1200bc00, INVALID, NARROW),
	REJECT(0x1fc0fc00, 0x1200dc00, INVALID, NARROW),
	REJECT(0x1fc0fc00, 0x1200ec00, INVALID, NARROW),
	REJECT(0x1fc0fc00, 0x1200f400, INVALID, NARROW),
	REJECT(0x1fc0f800, 0x1200f800, INVALID, NARROW),
	COMPUTE(0x1f800000, 0x12000000, DSN),
	/* MOVN, MOVZ and MOVK of W and of X */
	COMPUTE(0xffc00000, 0x12800000, D),
	COMPUTE(0xdfc00000, 0x52800000, D),
	COMPUTE(0xff800000, 0x92800000, D),
	COMPUTE(0xdf800000, 0xd2800000, D),
	/* SBFM and BFM, UBFM, of W and of X */
	COMPUTE(0xdfe08000, 0x13000000, DN),
	COMPUTE(0xffe08000, 0x53000000, DN),
	COMPUTE(0xdfc00000, 0x93400000, DN),
	COMPUTE(0xffc00000, 0xd3400000, DN),
	/* EXTR of W and of X */
	COMPUTE(0xffe08000, 0x13800000, DNM),
	COMPUTE(0xffe00000, 0x93c00000, DNM),
	/* AUTIASPPC, AUTIBSPPC: relative to themselves */
	REJECT(0xffc0001f, 0xf380001f, ENCODING),

	/*
	 * Branches, exceptions, system instructions. The list is complete: anything else may be a
	 * branch.
	 */

	SIMULATE(0xfc000000, 0x14000000, B, b),
	SIMULATE(0xfc000000, 0x94000000, BL, bl),
	SIMULATE(0xff000000, 0x54000000, BCOND, b_cond),
	SIMULATE(0x7e000000, 0x34000000, BCOND, cbz),
	SIMULATE(0x7e000000, 0x36000000, BCOND, tbz),
	SIMULATE(0xfffffc1f, 0xd61f0000, BR, br),
	SIMULATE(0xfffffc1f, 0xd63f0000, BLR, blr),
	SIMULATE(0xfffffc1f, 0xd65f0000, BR, ret),
	/* CB<cc>: compare and branch */
	REJECT(0x7e000000, 0x74000000, ENCODING),
	/* RETAASPPC, RETABSPPC; the latter with a register */
	REJECT(0xffc0001f, 0x5500001f, ENCODING),
	REJECT(0xfffffbe0, 0xd65f0be0, ENCODING),
	/* BRAA, BLRAA and the like */
	REJECT(0xfefff800, 0xd61f0800, ENCODING),
	REJECT(0xfefff800, 0xd63f0800, ENCODING),
	/* ERET, ERETAA, ERETAB, DRPS */
	REJECT(0xffffffff, 0xd69f03e0, FAR),
	REJECT(0xfffffbff, 0xd69f0bff, FAR),
	REJECT(0xffffffff, 0xd6bf03e0, FAR),
	/* TCANCEL; SVC, HVC, SMC, BRK, HLT, DCPS */
	REJECT(0xffe0001f, 0xd4600000, TRANSACTION, NARROW),
	REJECT(0xff000000, 0xd4000000, TRAP),
	/* TSTART and TTEST, TCOMMIT */
	REJECT(0xfffffee0, 0xd5233060, TRANSACTION),
	REJECT(0xffffffff, 0xd503307f, TRANSACTION),
	/* WFET and WFIT */
	REJECT(0xffffffc0, 0xd5031000, SLEEP),

	/* Hints: NOP; BTI; XPACLRI; PACIA1716, PACIB1716; PACIAZ, PACIASP, PACIBZ, PACIBSP */
	QUICK(0xffffffff, 0xd503201f, nop, INSN_GOOD_NO_SLOT),
	QUICK(PROBE_INSN_BTI_MASK, PROBE_INSN_BTI, nop, INSN_GOOD),
	COPY(0xffffffff, 0xd50320ff, NARROW),
	COPY(0xffffffbf, 0xd503211f, NARROW),
	COPY(0xffffff9f, 0xd503231f, NARROW),
	/*
	 * AUTIA1716, AUTIB1716; AUTIAZ, AUTIASP, AUTIBZ, AUTIBSP. Their own address is no input,
	 * so kprobes copy them. Uprobes still refuse these hints.
	 */
	ROW(0xffffffbf, 0xd503219f, COPY, NARROW),
	ROW(0xffffff9f, 0xd503239f, COPY, NARROW),
	/* WFE and WFI. Others: some bind their neighbours. */
	REJECT(0xffffffdf, 0xd503205f, SLEEP, NARROW),
	REJECT(0xfffff01f, 0xd503201f, ENCODING),

	/* Barriers: DSB nXS; CLREX; DSB, SSBB and PSSBB; DMB; ISB; SB */
	COPY(0xfffff3ff, 0xd503323f),
	COPY(0xfffff0ff, 0xd503305f),
	COPY(0xfffff0ff, 0xd503309f),
	COPY(0xfffff0ff, 0xd50330bf),
	COPY(0xfffff0ff, 0xd50330df),
	COPY(0xffffffff, 0xd50330ff),

	/* PSTATE: CFINV, XAFLAG, AXFLAG; DAIFSet, DAIFClr; others */
	COPY(0xffffffff, 0xd500401f, NARROW),
	COPY(0xffffffff, 0xd500403f, NARROW),
	COPY(0xffffffff, 0xd500405f, NARROW),
	KERNEL(0xfffff0df, 0xd50340df, CONTEXT, msr_daif_imm, NARROW),
	REJECT(0xfff8f01f, 0xd500401f, CONTROL),

	/* GCSPUSHX and GCSPOPCX, GCSPOPX: they access ELR and SPSR. SYS, SYSL: AT, DC, IC, TLBI */
	STEP(0xffffffc0, 0xd5087780, SYNDROME, NARROW),
	STEP(0xffffffe0, 0xd50877c0, SYNDROME, NARROW),
	COPY(0xffd80000, 0xd5080000),

	/* MRS: DAIF; SPSR and ELR, ESR, FAR, each of EL1 and EL2; others */
	KERNEL(0xffffffe0, 0xd53b4220, CONTEXT, mrs_daif, NARROW),
	STEP(0xfffbffc0, 0xd5384000, SYNDROME, NARROW),
	STEP(0xfffbffe0, 0xd5385200, SYNDROME, NARROW),
	STEP(0xfffbffe0, 0xd5386000, SYNDROME, NARROW),
	COPY(0xfff00000, 0xd5300000),
	/* MSR: DAIF; others */
	KERNEL(0xffffffe0, 0xd51b4220, CONTEXT, msr_daif, NARROW),
	REJECT(0xfff00000, 0xd5100000, CONTROL),

	/* Loads and stores. */

	/* LDXR, STXR and the like; LDXP, STXP and the like: an exception breaks them. */
	REJECT(0x3fa00000, 0x08000000, SEQUENCE),
	REJECT(0xbfa00000, 0x88200000, SEQUENCE),
	/* LDAR, LDLAR, STLR, STLLR; CASP; CAS */
	COPY(0x3fbf7c00, 0x089f7c00),
	COPY(0xbfa17c01, 0x08207c00),
	COPY(0x3fa07c00, 0x08a07c00),

	/* LDAPUR, STLUR: all sizes; loads with sign extension */
	COPY(0x3fa00c00, 0x19000000),
	COPY(0xbfa00c00, 0x19800000),
	COPY(0xffe00c00, 0x99800000),
	/* The same of vector registers */
	COPY(0x3f200c00, 0x1d000800),
	/* CPY*, SET*: three in a row, and an exception may have to go back to the first */
	REJECT(0xfb200c00, 0x19000400, SEQUENCE),
	/* LDIAPP, STILP; LDAPR and STLR with an index */
	COPY(0xbfa0ec00, 0x99000800),
	COPY(0xbfbffc00, 0x99800800),
	/* LDCLRP, LDSETP, SWPP; RCWCLRP, RCWSWPP and RCWSETP; RCWCAS, RCWCASP */
	COPY(0xff20fc00, 0x19201000),
	COPY(0xff20fc00, 0x19203000),
	COPY(0xff20fc00, 0x19208000),
	COPY(0xbf20fc00, 0x19209000),
	COPY(0xbf20ec00, 0x1920a000),
	COPY(0xbf20fc00, 0x19200800),
	COPY(0xbf21fc01, 0x19200c00),

	/* STG, STZG, ST2G, STZ2G with an index; without; LDG; STZGM; STGM, LDGM */
	COPY(0xff200400, 0xd9200400),
	COPY(0xff200c00, 0xd9200800),
	COPY(0xffe00c00, 0xd9600000),
	COPY(0xfffffc00, 0xd9200000),
	COPY(0xffbffc00, 0xd9a00000),
	/* GCSSTR, GCSSTTR */
	COPY(0xffffec00, 0xd91f0c00),

	/* LDR, LDRSW, PRFM (literal). A handler does not load vector registers. */
	KERNEL(0xbf000000, 0x18000000, LDR_LIT, ldr_lit),
	KERNEL(0xff000000, 0x98000000, LDR_LIT, ldr_lit),
	SIMULATE(0xff000000, 0xd8000000, PRFM_LIT, nop),
	REJECT(0xbf000000, 0x1c000000, REACH),
	REJECT(0xff000000, 0x9c000000, REACH),

	/* LDNP, STNP; LDP, STP; LDPSW, STGP */
	COPY(0x7f800000, 0x28000000),
	COPY(0x7f800000, 0x28800000),
	COPY(0x7f000000, 0x29000000),
	COPY(0xff800000, 0x68800000),
	COPY(0xff000000, 0x69000000),
	/* The same of vector registers */
	COPY(0x3e000000, 0x2c000000),

	/* LDR, STR, LDTR, STTR with an index: all sizes; loads with sign extension; PRFUM */
	COPY(0x3fa00000, 0x38000000),
	COPY(0xbfa00000, 0x38800000),
	COPY(0xffe00000, 0xb8800000),
	COPY(0xffe00c00, 0xf8800000),
	/* With a register as offset; PRFM */
	COPY(0x3fa04c00, 0x38204800),
	COPY(0xbfa04c00, 0x38a04800),
	COPY(0xffe04c00, 0xb8a04800),
	COPY(0xffe04c00, 0xf8a04800),
	/* With a positive offset; PRFM */
	COPY(0x3f800000, 0x39000000),
	COPY(0xbf800000, 0x39800000),
	COPY(0xffc00000, 0xb9800000),
	COPY(0xffc00000, 0xf9800000),
	/* LDADD to LDUMIN; SWP; LDAPR; ST64B, LD64B; ST64BV, ST64BV0; RCWCLR, RCWSWP, RCWSET */
	COPY(0x3f208c00, 0x38200000),
	COPY(0x3f20fc00, 0x38208000),
	COPY(0x3ffffc00, 0x38bfc000),
	COPY(0xffffbc00, 0xf83f9000),
	COPY(0xffe0ec00, 0xf820a000),
	COPY(0xbf20fc00, 0x38209000),
	COPY(0xbf20ec00, 0x3820a000),
	/* LDRAA, LDRAB */
	COPY(0xff200400, 0xf8200400),

	/* Of vector registers: LD1 to LD4, ST1 to ST4; LDAP1, STL1; LDR, STR */
	COPY(0xbfbf0000, 0x0c000000),
	COPY(0xbfa00000, 0x0c800000),
	COPY(0xbf9f0000, 0x0d000000),
	COPY(0xbf800000, 0x0d800000),
	COPY(0xbfbffc00, 0x0d018400),
	COPY(0x3f200000, 0x3c000000),
	COPY(0x3f200c00, 0x3c200800),
	COPY(0x3f000000, 0x3d000000),

	/* Data processing, registers. */

	/* AND to BICS, of W and of X; MOV, which is ORR with XZR */
	QUICK(0xffe0ffe0, 0x2a0003e0, mov, INSN_GOOD),
	QUICK(0xffe0ffe0, 0xaa0003e0, mov, INSN_GOOD),
	COMPUTE(0x9f008000, 0x0a000000, DNM),
	COMPUTE(0x9f000000, 0x8a000000, DNM),
	/* ADD, ADDS, SUB, SUBS: shifted left or right, or as a signed number */
	COMPUTE(0x9fa08000, 0x0b000000, DNM),
	COMPUTE(0x9fe08000, 0x0b800000, DNM),
	COMPUTE(0x9fa00000, 0x8b000000, DNM),
	COMPUTE(0x9fe00000, 0x8b800000, DNM),
	/* Extended, and shifted by at most 4: without, and with a change of the flags */
	COMPUTE(0x3fe01000, 0x0b200000, DSNSM),
	COMPUTE(0x3fe01c00, 0x0b201000, DSNSM),
	COMPUTE(0x3fe01000, 0x2b200000, DNSM),
	COMPUTE(0x3fe01c00, 0x2b201000, DNSM),
	/* ADC to SBCS; ADDPT, SUBPT; RMIF; SETF8, SETF16 */
	COMPUTE(0x1fe0fc00, 0x1a000000, DNM),
	COPY(0xbfe0e000, 0x9a002000),
	COPY(0xffe07c10, 0xba000400),
	COPY(0xffffbc1f, 0x3a00080d),
	/* CCMN, CCMP; CSEL to CSNEG */
	COPY(0x3fe00410, 0x3a400000),
	COMPUTE(0x3fe00800, 0x1a800000, DNM),
	/* UDIV, SDIV; LSLV to RORV; CRC32; SMAX to UMIN; SUBP, SUBPS; IRG, GMI; PACGA */
	COMPUTE(0x7fe0f800, 0x1ac00800, DNM),
	COMPUTE(0x7fe0f000, 0x1ac02000, DNM),
	COPY(0xffe0e800, 0x1ac04000),
	COPY(0xffe0ec00, 0x1ac04800),
	COPY(0xffe0ec00, 0x9ac04c00),
	COPY(0x7fe0f000, 0x1ac06000),
	COPY(0xdfe0fc00, 0x9ac00000),
	COPY(0xffe0f800, 0x9ac01000),
	COPY(0xffe0fc00, 0x9ac03000),
	/* RBIT, REV16; REV of W, REV32; REV; CLZ, CLS; CTZ, CNT; ABS */
	COMPUTE(0x7ffff800, 0x5ac00000, DN),
	COMPUTE(0x7ffffc00, 0x5ac00800, DN),
	COMPUTE(0xfffffc00, 0xdac00c00, DN),
	COMPUTE(0x7ffff800, 0x5ac01000, DN),
	COPY(0x7ffff800, 0x5ac01800),
	COPY(0x7ffffc00, 0x5ac02000),
	/* PACIA to PACDB, PACIZA to PACDZB; AUTIA to AUTDB, AUTIZA to AUTDZB; XPACI, XPACD */
	COPY(0xfffff000, 0xdac10000),
	COPY(0xfffff3e0, 0xdac123e0),
	COPY(0xfffff000, 0xdac11000),
	COPY(0xfffff3e0, 0xdac133e0),
	COPY(0xfffffbe0, 0xdac143e0),
	/* MADD, MSUB; SMADDL, SMSUBL; SMULH; MADDPT, MSUBPT; UMADDL, UMSUBL; UMULH */
	COMPUTE(0x7fe00000, 0x1b000000, DNMA),
	COMPUTE(0xffe00000, 0x9b200000, DNMA),
	COPY(0xffe08000, 0x9b400000),
	COPY(0xffe00000, 0x9b600000),
	COMPUTE(0xffe00000, 0x9ba00000, DNMA),
	COPY(0xffe08000, 0x9bc00000),

	/* Vectors and floating point: both; scalars; floating point; cryptography. */

	COPY(0x9e000000, 0x0e000000),
	COPY(0xde000000, 0x5e000000),
	COPY(0x7e000000, 0x1e000000),
	COPY(0xff000000, 0xce000000),

	/* Not allocated, or not known. */
	REJECT(0x00000000, 0x00000000, ENCODING),
};

const unsigned int nr_probe_insn_rows = ARRAY_SIZE(probe_insn_rows);

/*
 * The first row that has the instruction. A kprobe is refused if its form is PROBE_FORM_REJECT.
 * Otherwise the instruction can be copied if the form is PROBE_FORM_COPY, and simulated if the
 * row has a handler, or both.
 */
const struct probe_insn_row *probe_insn_decode(u32 insn)
{
	const struct probe_insn_row *row = probe_insn_rows;

	/* The last row matches all. */
	while ((insn & row->mask) != row->value)
		row++;

	return row;
}

/* ANDS is the only logical instruction with an immediate that may have the zero register as Rd. */
#define ANDS_IMM_MASK	0x7f800000
#define ANDS_IMM	0x72000000

/* Positions of the fields, in the order of the bits of PROBE_COMPUTES_*. */
static const u8 register_fields[] = { 0, 5, 16, 10 };

#define REGISTER_MASK	GENMASK(4, 0)

/*
 * The same computation with the first four registers: x0 stands for Rd, x1 for Rn, which may be
 * the stack pointer, x2 for Rm, and x3 for Ra. The zero register stays what it is, also as Rd.
 * Returns 0 if @insn does something else than compute, or if it changes the stack pointer.
 */
u32 probe_insn_computation(u32 insn)
{
	u8 computes = probe_insn_decode(insn)->computes;
	unsigned int i, reg;

	if ((insn & ANDS_IMM_MASK) == ANDS_IMM)
		computes &= ~PROBE_COMPUTES_RD_SP;
	if (computes & PROBE_COMPUTES_RD_SP && (insn & REGISTER_MASK) == REGISTER_MASK)
		return 0;

	for (i = 0; i < ARRAY_SIZE(register_fields); i++) {
		reg = insn >> register_fields[i] & REGISTER_MASK;
		if (!(computes & BIT(i)))
			continue;
		if (reg == REGISTER_MASK &&
		    !(BIT(i) == PROBE_COMPUTES_RN && computes & PROBE_COMPUTES_RN_SP))
			continue;
		insn &= ~(REGISTER_MASK << register_fields[i]);
		insn |= i << register_fields[i];
	}

	return computes ? insn : 0;
}

/*
 * Exclusive accesses have bit 23 clear. If it is set, the instruction is LDAR, STLR or CAS. CASP
 * has bit 23 clear, too. It takes the encodings that would mean a pair of bytes or halfwords.
 */
#define EXCLUSIVE_MASK		0x3fc00000
#define EXCLUSIVE_LOAD		0x08400000
#define EXCLUSIVE_STORE		0x08000000
#define CASP_MASK		0x80200000
#define CASP			0x00200000

static bool is_exclusive(u32 insn, u32 value)
{
	return (insn & EXCLUSIVE_MASK) == value && (insn & CASP_MASK) != CASP;
}

/*
 * LDXR, LDAXR, LDXP, LDAXP of any size. An exception between this and the store loses the
 * reservation: the store fails, however often the sequence is retried.
 */
bool probe_insn_is_load_exclusive(u32 insn)
{
	return is_exclusive(insn, EXCLUSIVE_LOAD);
}

/* STXR, STLXR, STXP, STLXP of any size. */
bool probe_insn_is_store_exclusive(u32 insn)
{
	return is_exclusive(insn, EXCLUSIVE_STORE);
}

/* MOVPRFX is a part of the next instruction. */
bool probe_insn_is_prefix(u32 insn)
{
	return (insn & PROBE_INSN_MOVPRFX_MASK) == PROBE_INSN_MOVPRFX ||
	       (insn & PROBE_INSN_MOVPRFX_P_MASK) == PROBE_INSN_MOVPRFX_P;
}

/*
 * BTI, even one that no branch may go to, PACIASP and PACIBSP. In a kernel that checks where
 * indirect branches go, a breakpoint may take their place, but no branch.
 */
bool probe_insn_is_landing_pad(u32 insn)
{
	return (insn & PROBE_INSN_BTI_MASK) == PROBE_INSN_BTI ||
	       (insn & PROBE_INSN_PACISP_MASK) == PROBE_INSN_PACISP;
}
