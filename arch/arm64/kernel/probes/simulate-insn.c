// SPDX-License-Identifier: GPL-2.0-only
/*
 * Simulates instructions that do not have the same effect at another address, and a few whose
 * copies would be slower. Part of the hit path.
 *
 * PSTATE.BTYPE tells which kind of indirect branch has led to an instruction; the exception saves
 * it. Any other instruction clears it, and so does its simulation, or the next instruction would
 * have to be a landing pad. A simulated instruction does not check the type of the branch to it:
 * the breakpoint in its place has accepted every type.
 *
 * In a kernel with landing pads, a simulated indirect branch sets its own type, so that its
 * target is checked as if the branch had not been probed. This is exact, because all kernel text
 * is guarded in such a kernel. In user space, the type of BR depends on whether its page is
 * guarded, which is not known here. So the type stays 0, and the target is not checked.
 */

#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/unaligned.h>

#include <asm/insn.h>
#include <asm/ptrace.h>

#include "decode-insn.h"
#include "simulate-insn.h"

/* Fields of instructions. */
#define INSN_RD		GENMASK(4, 0)
#define INSN_RN		GENMASK(9, 5)
#define INSN_RM		GENMASK(20, 16)
#define INSN_COND	GENMASK(3, 0)
#define INSN_CRM	GENMASK(11, 8)
#define INSN_IMM26	GENMASK(25, 0)
#define INSN_IMM19	GENMASK(23, 5)
#define INSN_IMM14	GENMASK(18, 5)
#define INSN_B40	GENMASK(23, 19)
#define INSN_B5		BIT(31)
#define INSN_SF		BIT(31)		/* 64 bits instead of 32 */
#define INSN_LDR_X	BIT(30)		/* the same for LDR (literal) */
#define INSN_LDRSW	BIT(31)
#define INSN_DAIFCLR	BIT(5)		/* clear the bits instead of setting them */
#define INSN_NONZERO	BIT(24)		/* CBNZ, TBNZ */

/* Conditions come in pairs: one is the other one inverted. */
#define COND_INVERTED	BIT(0)

/* Adjacent bits, in the order of MSR (immediate). */
#define PSTATE_DAIF	(PSR_D_BIT | PSR_A_BIT | PSR_I_BIT | PSR_F_BIT)

/* A branch through one of these may be that of a linker's veneer, which has a type of its own. */
#define REG_IP0		16
#define REG_IP1		17
#define REG_LR		AARCH64_INSN_REG_LR

static nokprobe_inline void set_pc(struct pt_regs *regs, unsigned long pc, u64 btype)
{
	regs->pstate = (regs->pstate & ~(u64)PSR_BTYPE_MASK) | btype;
	regs->pc = pc;
}

static nokprobe_inline void skip_insn(struct pt_regs *regs, long addr)
{
	set_pc(regs, addr + AARCH64_INSN_SIZE, PSR_BTYPE_NONE);
}

static nokprobe_inline void branch_indirectly(struct pt_regs *regs, unsigned long pc, u64 btype)
{
	bool checked = system_supports_bti_kernel() && !user_mode(regs);

	set_pc(regs, pc, checked ? btype : PSR_BTYPE_NONE);
}

/* The offset of a branch, in instructions. */
#define insn_offset(opcode, field)						\
	(sign_extend64(FIELD_GET(field, opcode), hweight32(field) - 1) * AARCH64_INSN_SIZE)

void __kprobes probe_simulate_b(u32 opcode, long addr, struct pt_regs *regs)
{
	set_pc(regs, addr + insn_offset(opcode, INSN_IMM26), PSR_BTYPE_NONE);
}

void __kprobes probe_simulate_bl(u32 opcode, long addr, struct pt_regs *regs)
{
	pt_regs_write_reg(regs, REG_LR, addr + AARCH64_INSN_SIZE);
	probe_simulate_b(opcode, addr, regs);
}

/* AL and NV are an exception to the pairs: both hold. */
static nokprobe_inline bool condition_holds(u32 cond, u64 pstate)
{
	bool n = pstate & PSR_N_BIT, z = pstate & PSR_Z_BIT;
	bool c = pstate & PSR_C_BIT, v = pstate & PSR_V_BIT;
	bool holds;

	switch (cond & ~COND_INVERTED) {
	case AARCH64_INSN_COND_EQ:
		holds = z;
		break;
	case AARCH64_INSN_COND_CS:
		holds = c;
		break;
	case AARCH64_INSN_COND_MI:
		holds = n;
		break;
	case AARCH64_INSN_COND_VS:
		holds = v;
		break;
	case AARCH64_INSN_COND_HI:
		holds = c && !z;
		break;
	case AARCH64_INSN_COND_GE:
		holds = n == v;
		break;
	case AARCH64_INSN_COND_GT:
		holds = n == v && !z;
		break;
	default:
		return true;
	}

	return holds != (cond & COND_INVERTED);
}

static nokprobe_inline void branch_if(bool taken, long offset, long addr, struct pt_regs *regs)
{
	set_pc(regs, addr + (taken ? offset : AARCH64_INSN_SIZE), PSR_BTYPE_NONE);
}

void __kprobes probe_simulate_b_cond(u32 opcode, long addr, struct pt_regs *regs)
{
	branch_if(condition_holds(FIELD_GET(INSN_COND, opcode), regs->pstate),
		  insn_offset(opcode, INSN_IMM19), addr, regs);
}

void __kprobes probe_simulate_cbz(u32 opcode, long addr, struct pt_regs *regs)
{
	u64 value = pt_regs_read_reg(regs, FIELD_GET(INSN_RD, opcode));

	if (!(opcode & INSN_SF))
		value = (u32)value;

	branch_if(!value != !!(opcode & INSN_NONZERO), insn_offset(opcode, INSN_IMM19), addr,
		  regs);
}

void __kprobes probe_simulate_tbz(u32 opcode, long addr, struct pt_regs *regs)
{
	u64 value = pt_regs_read_reg(regs, FIELD_GET(INSN_RD, opcode));
	unsigned int bit = FIELD_GET(INSN_B5, opcode) << hweight32(INSN_B40) |
			   FIELD_GET(INSN_B40, opcode);

	branch_if(!(value & BIT_ULL(bit)) != !!(opcode & INSN_NONZERO),
		  insn_offset(opcode, INSN_IMM14), addr, regs);
}

void __kprobes probe_simulate_br(u32 opcode, long addr, struct pt_regs *regs)
{
	unsigned int rn = FIELD_GET(INSN_RN, opcode);

	branch_indirectly(regs, pt_regs_read_reg(regs, rn),
			  rn == REG_IP0 || rn == REG_IP1 ? PSR_BTYPE_JC : PSR_BTYPE_J);
}

void __kprobes probe_simulate_blr(u32 opcode, long addr, struct pt_regs *regs)
{
	/* This may be LR. */
	unsigned long target = pt_regs_read_reg(regs, FIELD_GET(INSN_RN, opcode));

	pt_regs_write_reg(regs, REG_LR, addr + AARCH64_INSN_SIZE);
	branch_indirectly(regs, target, PSR_BTYPE_C);
}

/* A return needs no landing pad. */
void __kprobes probe_simulate_ret(u32 opcode, long addr, struct pt_regs *regs)
{
	set_pc(regs, pt_regs_read_reg(regs, FIELD_GET(INSN_RN, opcode)), PSR_BTYPE_NONE);
}

void __kprobes probe_simulate_adr(u32 opcode, long addr, struct pt_regs *regs)
{
	pt_regs_write_reg(regs, FIELD_GET(INSN_RD, opcode), probe_insn_adr(opcode, addr));
	skip_insn(regs, addr);
}

/*
 * Literals have the byte order of data. One of 64 bits is aligned to 4 bytes only. READ_ONCE()
 * may be a load-acquire, which would fault on it.
 */
void __kprobes probe_simulate_ldr_lit(u32 opcode, long addr, struct pt_regs *regs)
{
	unsigned long from = addr + probe_insn_literal_offset(opcode);
	u64 value;

	if (opcode & INSN_LDR_X)
		value = get_unaligned((const u64 *)from);
	else if (opcode & INSN_LDRSW)
		value = *(const s32 *)from;
	else
		value = *(const u32 *)from;

	pt_regs_write_reg(regs, FIELD_GET(INSN_RD, opcode), value);
	skip_insn(regs, addr);
}

void __kprobes probe_simulate_mov(u32 opcode, long addr, struct pt_regs *regs)
{
	u64 value = pt_regs_read_reg(regs, FIELD_GET(INSN_RM, opcode));

	pt_regs_write_reg(regs, FIELD_GET(INSN_RD, opcode),
			  opcode & INSN_SF ? value : (u32)value);
	skip_insn(regs, addr);
}

void __kprobes probe_simulate_mrs_daif(u32 opcode, long addr, struct pt_regs *regs)
{
	pt_regs_write_reg(regs, FIELD_GET(INSN_RD, opcode), regs->pstate & PSTATE_DAIF);
	skip_insn(regs, addr);
}

/* With pseudo-NMI, the exception has saved the priority mask and changed it. */
void __kprobes probe_simulate_mrs_pmr(u32 opcode, long addr, struct pt_regs *regs)
{
	pt_regs_write_reg(regs, FIELD_GET(INSN_RD, opcode), regs->pmr);
	skip_insn(regs, addr);
}

void __kprobes probe_simulate_msr_daif(u32 opcode, long addr, struct pt_regs *regs)
{
	u64 value = pt_regs_read_reg(regs, FIELD_GET(INSN_RD, opcode));

	regs->pstate = (regs->pstate & ~(u64)PSTATE_DAIF) | (value & PSTATE_DAIF);
	skip_insn(regs, addr);
}

void __kprobes probe_simulate_msr_daif_imm(u32 opcode, long addr, struct pt_regs *regs)
{
	u64 bits = FIELD_PREP(PSTATE_DAIF, FIELD_GET(INSN_CRM, opcode));

	if (opcode & INSN_DAIFCLR)
		regs->pstate &= ~bits;
	else
		regs->pstate |= bits;
	skip_insn(regs, addr);
}

/* NOP, landing pads, and prefetches, which nothing depends on. */
void __kprobes probe_simulate_nop(u32 opcode, long addr, struct pt_regs *regs)
{
	skip_insn(regs, addr);
}
