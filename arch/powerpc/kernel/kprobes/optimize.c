// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization on powerpc: the code of a detour. detour_head.S has the code that detours
 * share, reencode.c the replacement for the probed instruction.
 */

#include <linux/cacheflush.h>
#include <linux/extable.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/text-patching.h>

#include <asm/ppc-opcode.h>
#include <asm/probes.h>

#include "common.h"
#include "detour.h"
#include "insn.h"

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
#ifdef CONFIG_KRETPROBE_NATIVE
	if (is_return)
		return ppc_function_entry(kretprobe_native_entry);
#endif
	return ppc_function_entry(kprobe_detour_callback);
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

int arch_draft_detour(struct kprobe_draft *d, struct optimized_kprobe *op)
{
	bool is_return = kretprobe_is_alone(&op->kp);

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
