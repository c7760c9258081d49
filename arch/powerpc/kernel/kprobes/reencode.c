// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization on powerpc: what a detour executes instead of the probed instruction.
 */

#include <linux/array_size.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/text-patching.h>

#include <asm/ppc-opcode.h>

#include "common.h"
#include "detour.h"
#include "insn.h"

static void put(struct kprobe_reencoded *r, u32 word)
{
	r->words[r->nr++] = word;
}

static int put_branch(struct kprobe_reencoded *r, unsigned long to, unsigned long target)
{
	unsigned long at = to + r->nr * INSN_WORD;
	ppc_inst_t insn;

	if (create_branch(&insn, (u32 *)at, target, 0))
		return -ERANGE;
	put(r, ppc_inst_val(insn));
	return 0;
}

static int put_back(struct kprobe_reencoded *r, const struct kprobe *p, unsigned long to)
{
	return put_branch(r, to, kprobe_next(p));
}

/**
 * kprobe_branch_target() - the target of a direct branch
 * @p: a probe whose instruction has been decoded
 *
 * Context: any.
 * Return: the address, or 0 if the instruction is not a direct branch.
 */
unsigned long kprobe_branch_target(const struct kprobe *p)
{
	unsigned long base = p->opcode & INSN_AA ? 0 : (unsigned long)p->addr;

	if (kprobe_insn_is_b(p->opcode))
		return base + (long)sign_extend32(p->opcode & PPC_LI_MASK, 25);
	if (kprobe_insn_is_bc(p->opcode))
		return base + (long)sign_extend32(p->opcode & INSN_BD_MASK, 15);
	return 0;
}

/*
 * A conditional branch may not reach its target from the detour. So its copy skips the branch back,
 * and an unconditional branch to the target follows.
 */
static int reencode_bc(struct kprobe_reencoded *r, const struct kprobe *p, unsigned long to)
{
	put(r, (p->opcode & ~(INSN_BD_MASK | INSN_AA | INSN_LK)) | 2 * INSN_WORD);
	return put_back(r, p, to) ?: put_branch(r, to, kprobe_branch_target(p));
}

/* To LR or CTR. */
static int reencode_indirect(struct kprobe_reencoded *r, const struct kprobe *p, unsigned long to)
{
	put(r, p->opcode & ~INSN_LK);
	if ((kprobe_insn_bo(p->opcode) & INSN_BO_ALWAYS) == INSN_BO_ALWAYS)
		return 0;
	return put_back(r, p, to);
}

#ifdef CONFIG_PPC64
/* The immediate is in three pieces. The result is a constant. */
static int reencode_addpcis(struct kprobe_reencoded *r, const struct kprobe *p, unsigned long to)
{
	u32 word = p->opcode, rt = get_rt(word);
	s32 d = sign_extend32((word & 0xffc1) | (word >> 15 & 0x3e), 15);
	u64 value = kprobe_next(p) + ((s64)d << 16);

	/* The stack pointer must point to a stack at all times. */
	if (rt == 1)
		return -EILSEQ;
	put(r, PPC_RAW_LIS(rt, value >> 48 & 0xffff));
	put(r, PPC_RAW_ORI(rt, rt, value >> 32 & 0xffff));
	put(r, PPC_RAW_SLDI(rt, rt, 32));
	put(r, PPC_RAW_ORIS(rt, rt, value >> 16 & 0xffff));
	put(r, PPC_RAW_ORI(rt, rt, value & 0xffff));
	return put_back(r, p, to);
}
#else
static int reencode_addpcis(struct kprobe_reencoded *r, const struct kprobe *p, unsigned long to)
{
	return -EILSEQ;
}
#endif

static int reencode_copy(struct kprobe_reencoded *r, const struct kprobe *p, unsigned long to)
{
	ppc_inst_t insn = kprobe_insn(p);

	if (!kprobe_insn_move(&insn, (unsigned long)p->addr, to))
		return -ERANGE;
	put(r, ppc_inst_val(insn));
	if (ppc_inst_prefixed(insn))
		put(r, ppc_inst_suffix(insn));
	return put_back(r, p, to);
}

/**
 * kprobe_reencode() - re-encode an instruction for another address
 * @r: set to the instructions
 * @p: a probe whose instruction has been decoded
 * @to: where the instructions will be
 *
 * An instruction that sets LR sets it to the address after it. So its replacement leaves LR alone,
 * and the caller sets LR beforehand; see kprobe_insn_links().
 *
 * Context: any.
 * Return: 0; -ERANGE if a target is out of reach; -EILSEQ if it cannot be expressed.
 */
int kprobe_reencode(struct kprobe_reencoded *r, const struct kprobe *p, unsigned long to)
{
	u32 word = p->opcode;

	r->nr = 0;

	if (kprobe_insn_is_b(word))
		return put_branch(r, to, kprobe_branch_target(p));
	if (kprobe_insn_is_bc(word))
		return reencode_bc(r, p, to);
	if (kprobe_insn_is_bclr(word))
		/* With LK, it needs the old value of LR and sets a new one. */
		return word & INSN_LK ? -EILSEQ : reencode_indirect(r, p, to);
	if (kprobe_insn_is_bcctr(word))
		return reencode_indirect(r, p, to);
	if (kprobe_insn_is_addpcis(word))
		return reencode_addpcis(r, p, to);
	return reencode_copy(r, p, to);
}
