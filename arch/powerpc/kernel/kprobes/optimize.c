// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization on powerpc: the code of a detour, which ends with the equivalent of the probed
 * instruction. detour_head.S has the code that detours share.
 */

#include <linux/array_size.h>
#include <linux/bitops.h>
#include <linux/cacheflush.h>
#include <linux/errno.h>
#include <linux/extable.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/text-patching.h>

#include <asm/ppc-opcode.h>
#include <asm/probes.h>

#include "common.h"
#include "detour.h"

/*
 * The frame of a detour: that of an interrupt, with a struct pt_regs above a minimal frame.
 */
#define FRAME_SIZE		((int)STACK_INT_FRAME_SIZE)
#define IN_FRAME(member)						\
	((int)(STACK_INT_FRAME_REGS + offsetof(struct pt_regs, member)))

#ifdef CONFIG_PPC64
#define RAW_STORE(reg, offset)		PPC_RAW_STD(reg, _R1, offset)
#define RAW_LOAD(reg, offset)		PPC_RAW_LD(reg, _R1, offset)
#define RAW_STORE_UPDATE(reg, offset)	PPC_RAW_STDU(reg, _R1, offset)
#else
#define RAW_STORE(reg, offset)		PPC_RAW_STW(reg, _R1, offset)
#define RAW_LOAD(reg, offset)		PPC_RAW_LWZ(reg, _R1, offset)
#define RAW_STORE_UPDATE(reg, offset)	PPC_RAW_STWU(reg, _R1, offset)
#endif

/*
 * The head of a page
 */

static unsigned long head_addr(unsigned long slot, bool is_return)
{
	const u32 *head = is_return ? kretprobe_head : kprobe_head;

	return ALIGN_DOWN(slot, PAGE_SIZE) + KPROBE_HEAD_CODE + (head - kprobe_head) * INSN_WORD;
}

/* The C code that it calls first. */
static unsigned long head_call(bool is_return)
{
	return is_return ? ppc_function_entry(kretprobe_native_entry) :
			   ppc_function_entry(kprobe_detour_callback);
}

int arch_fill_optinsn_head(void *page)
{
	size_t size = (kprobe_head_end - kprobe_head) * INSN_WORD;
	unsigned long callback = head_call(false);
	int ret;

	ret = patch_instructions(page + KPROBE_HEAD_CALLBACK, (u32 *)&callback, sizeof(callback),
				 false) ?:
	      patch_instructions(page + KPROBE_HEAD_CODE, kprobe_head, size, false);
	flush_icache_range((unsigned long)page, (unsigned long)page + KPROBE_OPTINSN_HEAD_SIZE);
	return ret;
}

/*
 * A detour
 */

static void put_enter(struct kprobe_draft *d, bool is_return)
{
	unsigned long head = head_addr(d->slot, is_return);

	kprobe_put(d, RAW_STORE_UPDATE(_R1, -FRAME_SIZE));
	kprobe_put(d, RAW_STORE(_R0, IN_FRAME(gpr[0])));
	kprobe_put(d, PPC_RAW_MFLR(_R0));
	kprobe_put(d, arch_kprobe_branch(kprobe_draft_at(d), head) | INSN_LK);
}

/*
 * LR still has the address to which the head has returned. It shares its upper 32 bits with the
 * required value unless they straddle a 4 GiB boundary, so two XORs are enough.
 */
static int put_link(struct kprobe_draft *d, unsigned long next)
{
	unsigned long differ = next ^ (d->slot + KPROBE_DETOUR_ENTER * INSN_WORD);

	if (upper_32_bits(differ))
		return -ERANGE;
	kprobe_put(d, PPC_RAW_MFLR(_R0));
	kprobe_put(d, PPC_RAW_XORIS(_R0, _R0, differ >> 16));
	kprobe_put(d, PPC_RAW_XORI(_R0, _R0, differ & 0xffff));
	kprobe_put(d, PPC_RAW_MTLR(_R0));
	return 0;
}

static void put_restore_link(struct kprobe_draft *d)
{
	kprobe_put(d, RAW_LOAD(_R0, IN_FRAME(link)));
	kprobe_put(d, PPC_RAW_MTLR(_R0));
}

static void put_leave(struct kprobe_draft *d)
{
	kprobe_put(d, RAW_LOAD(_R0, IN_FRAME(gpr[0])));
	kprobe_put(d, RAW_LOAD(_R1, IN_FRAME(gpr[1])));
}

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

/* The immediate is in three pieces. The result is a constant. Only CPUs of 64 bits have it. */
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

/*
 * The equivalent of the probed instruction, past which control never runs. An instruction that
 * sets LR sets it to the address after it. So its replacement leaves LR alone, which has been set
 * beforehand; see kprobe_insn_links(). Returns -ERANGE if a target is out of reach, or -EILSEQ if
 * there is no way. Not static for the tests.
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

int arch_draft_detour(struct kprobe_draft *d, struct optimized_kprobe *op)
{
	bool is_return = kretprobe_is_only_user(&op->kp);

	/* A fault in it would not find the fixup, which belongs to the probed address. */
	if (search_exception_tables((unsigned long)op->kp.addr)) {
		op->why = KPROBE_NOOPT_EXTABLE;
		return -EILSEQ;
	}

	/* KPROBE_DETOUR_OP */
	kprobe_put_constant(d, (unsigned long)op);
	op->optinsn.call = head_call(is_return);

	put_enter(d, is_return);
	if (!kprobe_insn_links(op->kp.opcode))
		put_restore_link(d);
	else if (put_link(d, kprobe_next(&op->kp)))
		return -ERANGE;
	put_leave(d);
	return kprobe_reencode(d, &op->kp);
}

/*
 * Fails if the text is not what kprobes have written. Nobody else may change it: code patchers
 * such as jump labels, ftrace and static calls look for probes first, or their text is refused.
 */
int arch_replace_word(void *addr, u32 old, u32 new)
{
	if (READ_ONCE(*(u32 *)addr) != old)
		return -EINVAL;
	return patch_instruction(addr, ppc_inst(new));
}
