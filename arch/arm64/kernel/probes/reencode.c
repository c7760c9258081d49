// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a detour executes in place of the probed instruction: its equivalent at the address of
 * the detour.
 */

#include <linux/bits.h>
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/sizes.h>

#include <asm/insn.h>

#include "common.h"
#include "detour.h"

#define LINK_REG	AARCH64_INSN_REG_LR
#define ZERO_REG	AARCH64_INSN_REG_ZR

/* Loads from the address in a register, without an offset. */
#define LDR_W		0xb9400000
#define LDR_X		0xf9400000
#define LDRSW_X		0xb9800000

static u32 branch(unsigned long from, unsigned long to)
{
	return aarch64_insn_gen_branch_imm(from, to, AARCH64_INSN_BRANCH_NOLINK);
}

/* Load a literal into the register that holds its address. */
static u32 load_from(u32 insn, unsigned int reg)
{
	if (aarch64_insn_is_ldrsw_lit(insn))
		return LDRSW_X | reg << 5 | reg;
	return (insn & BIT(30) ? LDR_X : LDR_W) | reg << 5 | reg;
}

/**
 * kprobe_branch_target() - the branch target of a probed instruction
 * @p: a prepared probe
 *
 * Context: any.
 * Return: the address, or 0 if it does not branch or the target is in a register.
 */
unsigned long kprobe_branch_target(const struct kprobe *p)
{
	switch (p->ainsn.form) {
	case PROBE_FORM_B:
	case PROBE_FORM_BL:
	case PROBE_FORM_BCOND:
	case PROBE_FORM_CBZ:
	case PROBE_FORM_TBZ:
		return (unsigned long)p->addr + aarch64_get_branch_offset(p->opcode);
	default:
		return 0;
	}
}

static void put(struct kprobe_reencoded *r, u32 insn)
{
	r->insn[r->nr++] = insn;
}

static void put_literal(struct kprobe_reencoded *r, unsigned int reg, unsigned long to,
			unsigned long literal, u64 value)
{
	put(r, aarch64_insn_gen_load_literal(to + r->nr * AARCH64_INSN_SIZE, literal, reg,
					     true));
	r->literal = value;
	r->has_literal = true;
}

/**
 * kprobe_reencode() - build the equivalent of the probed instruction at another address
 * @r: set to the instructions
 * @p: a prepared probe
 * @to: where they will be
 * @literal: where a literal of 64 bits will be that they may need, in reach of @to
 *
 * Context: process context.
 * Return: 0; -ERANGE if a branch target is out of reach; -EILSEQ if there is no way.
 */
int kprobe_reencode(struct kprobe_reencoded *r, const struct kprobe *p, unsigned long to,
		    unsigned long literal)
{
	unsigned long addr = (unsigned long)p->addr, next = addr + AARCH64_INSN_SIZE;
	unsigned long target = kprobe_branch_target(p);
	unsigned int rd = aarch64_insn_decode_register(AARCH64_INSN_REGTYPE_RD, p->opcode);
	unsigned int rn = aarch64_insn_decode_register(AARCH64_INSN_REGTYPE_RN, p->opcode);

	*r = (struct kprobe_reencoded){ };

	/* At most two instructions before it. */
	if (target && (!kprobe_in_reach(to, target) ||
		       !kprobe_in_reach(to + 2 * AARCH64_INSN_SIZE, target)))
		return -ERANGE;

	switch (p->ainsn.form) {
	case PROBE_FORM_COPY:
	case PROBE_FORM_CONTEXT:
		put(r, p->opcode);
		break;
	case PROBE_FORM_BR:
	case PROBE_FORM_RET:
		put(r, p->opcode);
		return 0;
	case PROBE_FORM_BL:
		put_literal(r, LINK_REG, to, literal, next);
		fallthrough;
	case PROBE_FORM_B:
		put(r, branch(to + r->nr * AARCH64_INSN_SIZE, target));
		return 0;
	case PROBE_FORM_BCOND:
	case PROBE_FORM_CBZ:
	case PROBE_FORM_TBZ:
		put(r, aarch64_set_branch_offset(p->opcode, 2 * AARCH64_INSN_SIZE));
		put(r, branch(to + AARCH64_INSN_SIZE, next));
		put(r, branch(to + 2 * AARCH64_INSN_SIZE, target));
		return 0;
	case PROBE_FORM_BLR:
		/* Loading x30 destroys the target. With BTI, a target may accept only BLR. */
		if (rn == LINK_REG || system_supports_bti_kernel())
			return -EILSEQ;
		put_literal(r, LINK_REG, to, literal, next);
		put(r, aarch64_insn_gen_branch_reg(rn, AARCH64_INSN_BRANCH_NOLINK));
		return 0;
	case PROBE_FORM_ADR:
		if (rd != ZERO_REG)
			put_literal(r, rd, to, literal, addr + probe_insn_adr_offset(p->opcode));
		break;
	case PROBE_FORM_ADRP:
		if (rd != ZERO_REG)
			put_literal(r, rd, to, literal,
				    ALIGN_DOWN(addr, SZ_4K) +
				    probe_insn_adr_offset(p->opcode) * SZ_4K);
		break;
	case PROBE_FORM_LDR_LIT:
	case PROBE_FORM_LDRSW_LIT:
		if (rd == ZERO_REG)
			break;
		put_literal(r, rd, to, literal, addr + probe_insn_literal_offset(p->opcode));
		put(r, load_from(p->opcode, rd));
		break;
	case PROBE_FORM_PRFM_LIT:
		break;
	default:
		return -EILSEQ;
	}

	put(r, branch(to + r->nr * AARCH64_INSN_SIZE, next));
	return 0;
}
