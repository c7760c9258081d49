// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization on arm64: the code of a detour, which ends with the equivalent of the probed
 * instruction. detour_entry.S has what detours share.
 */

#include <linux/bits.h>
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include <asm/insn.h>

#include "decode-insn.h"
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
		return (unsigned long)p->addr + aarch64_get_branch_offset(p->opcode);
	default:
		return 0;
	}
}

/* Load a constant into a register. */
static void put_load(struct kprobe_draft *d, enum aarch64_insn_register reg, u64 value)
{
	unsigned long literal = kprobe_put_constant(d, value);

	kprobe_put(d, aarch64_insn_gen_load_literal(kprobe_draft_at(d), literal, reg, true));
}

/*
 * The equivalent of the probed instruction, past which control never runs. Returns -ERANGE if a
 * branch target is out of reach, or -EILSEQ if there is no way. Not static for the tests.
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
		kprobe_put(d, p->opcode);
		return 0;
	case PROBE_FORM_BL:
		put_load(d, LINK_REG, next);
		fallthrough;
	case PROBE_FORM_B:
		return kprobe_put_branch(d, target);
	case PROBE_FORM_BCOND:
		kprobe_put(d, aarch64_set_branch_offset(p->opcode, 2 * AARCH64_INSN_SIZE));
		return kprobe_put_branch(d, next) ?: kprobe_put_branch(d, target);
	case PROBE_FORM_BLR:
		/* Loading x30 destroys the target. With BTI, a target may accept only BLR. */
		if (rn == LINK_REG || system_supports_bti_kernel())
			return -EILSEQ;
		put_load(d, LINK_REG, next);
		kprobe_put(d, aarch64_insn_gen_branch_reg(rn, AARCH64_INSN_BRANCH_NOLINK));
		return 0;
	case PROBE_FORM_ADR:
		if (rd != ZERO_REG)
			put_load(d, rd, probe_insn_adr(p->opcode, addr));
		break;
	case PROBE_FORM_LDR_LIT:
		if (rd == ZERO_REG)
			break;
		put_load(d, rd, addr + probe_insn_literal_offset(p->opcode));
		kprobe_put(d, load_from(p->opcode, rd));
		break;
	case PROBE_FORM_PRFM_LIT:
		break;
	default:
		return -EILSEQ;
	}

	return kprobe_put_branch(d, next);
}

static void put_code(struct kprobe_draft *d, const __le32 *code, const __le32 *end)
{
	for (; code < end; code++)
		kprobe_put(d, le32_to_cpu(*code));
}

static unsigned long common_code(bool of_return, bool far)
{
	if (of_return)
		return (unsigned long)(far ? kretprobe_detour_far : kretprobe_detour_near);
	return (unsigned long)(far ? kprobe_detour_far : kprobe_detour_near);
}

static void put_call(struct kprobe_draft *d, bool of_return)
{
	unsigned long at = kprobe_draft_at(d), near = common_code(of_return, false);

	if (kprobe_in_reach(at, near)) {
		kprobe_put(d, aarch64_insn_gen_branch_imm(at, near, AARCH64_INSN_BRANCH_LINK));
		return;
	}

	put_load(d, AARCH64_INSN_REG_1, common_code(of_return, true));
	kprobe_put(d, aarch64_insn_gen_branch_reg(AARCH64_INSN_REG_1, AARCH64_INSN_BRANCH_LINK));
}

/* MADD and its kin with 64-bit results. */
#define MULTIPLY_ADD_MASK	0xff000000
#define MULTIPLY_ADD		0x9b000000

/*
 * Erratum 835769 of Cortex-A53: directly after a memory access, such an instruction may compute
 * a wrong result. Compilers have an option that separates the two. A detour must not join them.
 */
static void put_separator(struct kprobe_draft *d, u32 insn)
{
	if ((insn & MULTIPLY_ADD_MASK) == MULTIPLY_ADD)
		kprobe_put(d, aarch64_insn_gen_nop());
}

int arch_draft_detour(struct kprobe_draft *d, struct optimized_kprobe *op)
{
	/* An indirect branch must land on a landing pad, and B is not one. */
	if (system_supports_bti_kernel() && probe_insn_is_landing_pad(op->kp.opcode)) {
		op->why = KPROBE_NOOPT_LANDING;
		return -EILSEQ;
	}

	put_code(d, kprobe_detour_enter, kprobe_detour_exit);
	put_load(d, AARCH64_INSN_REG_0, (unsigned long)op);
	put_call(d, kretprobe_is_only_user(&op->kp));
	put_code(d, kprobe_detour_exit, kprobe_detour_exit_end);
	put_separator(d, op->kp.opcode);
	return kprobe_reencode(d, &op->kp);
}
