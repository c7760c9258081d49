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

unsigned long arch_branch_target(const struct kprobe *p)
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
static int reencode_bc(struct kprobe_draft *d, const struct kprobe *p)
{
	kprobe_put(d, (p->opcode & ~(INSN_BD_MASK | INSN_AA | INSN_LK)) | 2 * INSN_WORD);
	return kprobe_put_branch(d, kprobe_next(p)) ?: kprobe_put_branch(d, arch_branch_target(p));
}

/* To LR or CTR. */
static int reencode_indirect(struct kprobe_draft *d, const struct kprobe *p)
{
	kprobe_put(d, p->opcode & ~INSN_LK);
	if ((kprobe_insn_bo(p->opcode) & INSN_BO_ALWAYS) == INSN_BO_ALWAYS)
		return 0;
	return kprobe_put_branch(d, kprobe_next(p));
}

#ifdef CONFIG_PPC64
/* The immediate is in three pieces. The result is a constant. */
static int reencode_addpcis(struct kprobe_draft *d, const struct kprobe *p)
{
	u32 word = p->opcode, rt = get_rt(word);
	s32 pages = sign_extend32((word & 0xffc1) | (word >> 15 & 0x3e), 15);
	u64 value = kprobe_next(p) + ((s64)pages << 16);

	/* The stack pointer must point to a stack at all times. */
	if (rt == 1)
		return -EILSEQ;
	kprobe_put(d, PPC_RAW_LIS(rt, value >> 48 & 0xffff));
	kprobe_put(d, PPC_RAW_ORI(rt, rt, value >> 32 & 0xffff));
	kprobe_put(d, PPC_RAW_SLDI(rt, rt, 32));
	kprobe_put(d, PPC_RAW_ORIS(rt, rt, value >> 16 & 0xffff));
	kprobe_put(d, PPC_RAW_ORI(rt, rt, value & 0xffff));
	return kprobe_put_branch(d, kprobe_next(p));
}
#else
static int reencode_addpcis(struct kprobe_draft *d, const struct kprobe *p)
{
	return -EILSEQ;
}
#endif

static int reencode_copy(struct kprobe_draft *d, const struct kprobe *p)
{
	ppc_inst_t insn = kprobe_insn(p);

	if (!kprobe_insn_move(&insn, (unsigned long)p->addr, kprobe_draft_at(d)))
		return -ERANGE;
	kprobe_put(d, ppc_inst_val(insn));
	if (ppc_inst_prefixed(insn))
		kprobe_put(d, ppc_inst_suffix(insn));
	return kprobe_put_branch(d, kprobe_next(p));
}

/**
 * kprobe_reencode() - add the equivalent of the probed instruction to a detour
 * @d: the draft of the detour
 * @p: a probe whose instruction has been decoded
 *
 * Control never runs past it. An instruction that sets LR sets it to the address after it. So its
 * replacement leaves LR alone, and the caller sets LR beforehand; see kprobe_insn_links().
 *
 * Context: any.
 * Return: 0; -ERANGE if a target is out of reach; -EILSEQ if it cannot be expressed.
 */
int kprobe_reencode(struct kprobe_draft *d, const struct kprobe *p)
{
	u32 word = p->opcode;

	if (kprobe_insn_is_b(word))
		return kprobe_put_branch(d, arch_branch_target(p));
	if (kprobe_insn_is_bc(word))
		return reencode_bc(d, p);
	if (kprobe_insn_is_bclr(word))
		/* With LK, it needs the old value of LR and sets a new one. */
		return word & INSN_LK ? -EILSEQ : reencode_indirect(d, p);
	if (kprobe_insn_is_bcctr(word))
		return reencode_indirect(d, p);
	if (kprobe_insn_is_addpcis(word))
		return reencode_addpcis(d, p);
	return reencode_copy(d, p);
}
