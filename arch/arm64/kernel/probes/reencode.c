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

/* Load a literal into the register that holds its address. */
static u32 load_from(u32 insn, unsigned int reg)
{
	if (aarch64_insn_is_ldrsw_lit(insn))
		return LDRSW_X | reg << 5 | reg;
	return (insn & BIT(30) ? LDR_X : LDR_W) | reg << 5 | reg;
}

unsigned long arch_branch_target(const struct kprobe *p)
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

/**
 * kprobe_put_load() - add the load of a constant to a detour
 * @d: the draft of the detour
 * @reg: the register to be loaded
 * @value: the constant
 *
 * Context: process context.
 */
void kprobe_put_load(struct kprobe_draft *d, enum aarch64_insn_register reg, u64 value)
{
	unsigned long literal = kprobe_put_constant(d, value);

	kprobe_put(d, aarch64_insn_gen_load_literal(kprobe_draft_at(d), literal, reg, true));
}

/**
 * kprobe_reencode() - add the equivalent of the probed instruction to a detour
 * @d: the draft of the detour
 * @p: a prepared probe
 *
 * Control never runs past it.
 *
 * Context: process context.
 * Return: 0; -ERANGE if a branch target is out of reach; -EILSEQ if there is no way.
 */
int kprobe_reencode(struct kprobe_draft *d, const struct kprobe *p)
{
	unsigned long addr = (unsigned long)p->addr, next = addr + AARCH64_INSN_SIZE;
	unsigned long target = arch_branch_target(p);
	unsigned int rd = aarch64_insn_decode_register(AARCH64_INSN_REGTYPE_RD, p->opcode);
	unsigned int rn = aarch64_insn_decode_register(AARCH64_INSN_REGTYPE_RN, p->opcode);

	switch (p->ainsn.form) {
	case PROBE_FORM_COPY:
	case PROBE_FORM_CONTEXT:
		kprobe_put(d, p->opcode);
		break;
	case PROBE_FORM_BR:
	case PROBE_FORM_RET:
		kprobe_put(d, p->opcode);
		return 0;
	case PROBE_FORM_BL:
		kprobe_put_load(d, LINK_REG, next);
		fallthrough;
	case PROBE_FORM_B:
		return kprobe_put_branch(d, target);
	case PROBE_FORM_BCOND:
	case PROBE_FORM_CBZ:
	case PROBE_FORM_TBZ:
		kprobe_put(d, aarch64_set_branch_offset(p->opcode, 2 * AARCH64_INSN_SIZE));
		return kprobe_put_branch(d, next) ?: kprobe_put_branch(d, target);
	case PROBE_FORM_BLR:
		/* Loading x30 destroys the target. With BTI, a target may accept only BLR. */
		if (rn == LINK_REG || system_supports_bti_kernel())
			return -EILSEQ;
		kprobe_put_load(d, LINK_REG, next);
		kprobe_put(d, aarch64_insn_gen_branch_reg(rn, AARCH64_INSN_BRANCH_NOLINK));
		return 0;
	case PROBE_FORM_ADR:
		if (rd != ZERO_REG)
			kprobe_put_load(d, rd, addr + probe_insn_adr_offset(p->opcode));
		break;
	case PROBE_FORM_ADRP:
		if (rd != ZERO_REG)
			kprobe_put_load(d, rd, ALIGN_DOWN(addr, SZ_4K) +
					       probe_insn_adr_offset(p->opcode) * SZ_4K);
		break;
	case PROBE_FORM_LDR_LIT:
	case PROBE_FORM_LDRSW_LIT:
		if (rd == ZERO_REG)
			break;
		kprobe_put_load(d, rd, addr + probe_insn_literal_offset(p->opcode));
		kprobe_put(d, load_from(p->opcode, rd));
		break;
	case PROBE_FORM_PRFM_LIT:
		break;
	default:
		return -EILSEQ;
	}

	return kprobe_put_branch(d, next);
}
