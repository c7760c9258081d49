/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which instructions can be probed, and what a copy of one needs. For kprobes and uprobes;
 * decode-insn.c has the table.
 */
#ifndef _ARM64_PROBES_DECODE_INSN_H
#define _ARM64_PROBES_DECODE_INSN_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/types.h>

#include <asm/probes.h>

/* What uprobes do with an instruction. */
enum probe_insn {
	INSN_REJECTED,
	INSN_GOOD_NO_SLOT,	/* simulate it */
	INSN_GOOD,		/* execute a copy of it */
};

/* What a copy elsewhere needs to behave like the original. */
enum probe_form {
	PROBE_FORM_REJECT,	/* no copy can have it, or none is allowed */
	PROBE_FORM_COPY,	/* nothing */
	PROBE_FORM_CONTEXT,	/* the DAIF bits of the program, which an exception changes */
	PROBE_FORM_B,		/* another offset */
	PROBE_FORM_BCOND,	/* another offset; also CBZ and TBZ */
	PROBE_FORM_BL,		/* another offset, and the return address of the original */
	PROBE_FORM_BR,		/* nothing, but control does not come back; also RET */
	PROBE_FORM_BLR,		/* the return address of the original */
	PROBE_FORM_ADR,		/* a constant in its place; also ADRP */
	PROBE_FORM_LDR_LIT,	/* a load from a constant address; also LDRSW */
	PROBE_FORM_PRFM_LIT,	/* a NOP in its place */
	NR_PROBE_FORMS,
};

/*
 * The registers of instructions that only compute: they write one general-purpose register, and
 * possibly the flags, and read only general-purpose registers and the flags. Register 31 is the
 * zero register, except where noted.
 */
#define PROBE_COMPUTES_RD	BIT(0)	/* bits 4 to 0 name a register, the result */
#define PROBE_COMPUTES_RN	BIT(1)	/* bits 9 to 5 name one */
#define PROBE_COMPUTES_RM	BIT(2)	/* bits 20 to 16 */
#define PROBE_COMPUTES_RA	BIT(3)	/* bits 14 to 10 */
#define PROBE_COMPUTES_RN_SP	BIT(4)	/* Rn may be the stack pointer, ... */
#define PROBE_COMPUTES_RD_SP	BIT(5)	/* ... and so may Rd */

/* Instructions that are treated alike: those with @value in the bits of @mask. */
struct probe_insn_row {
	u32			mask;
	u32			value;
	u8			form;		/* enum probe_form */
	u8			refusal;	/* why kprobes refuse them, enum kprobe_refusal */
	u8			user;		/* enum probe_insn: what uprobes do with them */
	u8			computes;	/* PROBE_COMPUTES_*, if they only compute */
	/* Exceptions to a later row that would match, too. */
	bool			narrow;
	/*
	 * NULL if that is not possible. With PROBE_FORM_COPY, simulation saves a second exception
	 * where a copy would end with one.
	 */
	probes_handler_t	*simulate;
};

#define PROBE_INSN_WFE			0xd503205f

/* BTI with any targets; PACIASP and PACIBSP, which are landing pads, too. */
#define PROBE_INSN_BTI_MASK		0xffffff3f
#define PROBE_INSN_BTI			0xd503241f
#define PROBE_INSN_PACISP_MASK		0xffffffbf
#define PROBE_INSN_PACISP		0xd503233f

/* MOVPRFX: all of a register, and parts of it that a predicate selects. */
#define PROBE_INSN_MOVPRFX_MASK		0xfffffc00
#define PROBE_INSN_MOVPRFX		0x0420bc00
#define PROBE_INSN_MOVPRFX_P_MASK	0xff3ee000
#define PROBE_INSN_MOVPRFX_P		0x04102000

/* For LDR, LDRSW and PRFM (literal): where the literal is, in bytes from the instruction. */
static __always_inline long probe_insn_literal_offset(u32 insn)
{
	/* The upper 19 bits of the lower 24. */
	return ((s32)(insn << 8) >> 13) * 4L;
}

#define PROBE_INSN_ADRP			BIT(31)
#define PROBE_ADRP_PAGE			4096UL

/* The result of ADR, or of ADRP. Pages of the latter do not depend on those of the kernel. */
static __always_inline unsigned long probe_insn_adr(u32 insn, unsigned long addr)
{
	/* Bits 30 and 29 are the low bits of the offset. Bits 23 to 5 are as in a literal load. */
	long offset = probe_insn_literal_offset(insn) | (insn >> 29 & 3);

	if (insn & PROBE_INSN_ADRP)
		return (addr & ~(PROBE_ADRP_PAGE - 1)) + offset * PROBE_ADRP_PAGE;
	return addr + offset;
}

extern const struct probe_insn_row probe_insn_rows[];
extern const unsigned int nr_probe_insn_rows;

const struct probe_insn_row *probe_insn_decode(u32 insn);
u32 probe_insn_computation(u32 insn);
bool probe_insn_is_load_exclusive(u32 insn);
bool probe_insn_is_store_exclusive(u32 insn);
bool probe_insn_is_landing_pad(u32 insn);
bool probe_insn_is_prefix(u32 insn);

bool probe_user_push_return(unsigned long addr);
bool probe_user_pop_return(unsigned long addr);
enum probe_insn arm_probe_decode_insn(probe_opcode_t insn, struct arch_probe_insn *api);

/* Only for kprobes. */

/* The number of probes that are patched per stop_machine(). */
#define KPROBE_PATCH_CHUNK	256

bool kprobe_alternatives_are_final(void);
bool kprobe_insn_is_live(u32 insn);

#endif /* _ARM64_PROBES_DECODE_INSN_H */
