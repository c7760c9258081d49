// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization on powerpc: builds the detour of a probe, and switches between the breakpoint
 * and a branch to the detour. detour_head.S has the code that detours share, reencode.c builds the
 * replacement for the probed instruction.
 *
 * One branch replaces one word, so no other instruction is affected, and no task can be in the
 * middle of what is replaced.
 */

#include <linux/cacheflush.h>
#include <linux/cpu.h>
#include <linux/extable.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
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

/* A detour under construction. It ends with a pointer to its optimized_kprobe. */
struct detour_draft {
	u32		word[MAX_OPTINSN_SIZE];
	unsigned int	nr;
	unsigned long	slot;
};

/* The address of the next instruction to be added. */
static unsigned long draft_at(const struct detour_draft *d)
{
	return d->slot + d->nr * INSN_WORD;
}

static void put(struct detour_draft *d, u32 word)
{
	d->word[d->nr++] = word;
}

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

/**
 * kprobe_fill_head() - write what the detours of a page share
 * @page: a new page of detours
 *
 * Context: as alloc_insn_page().
 * Return: 0, or an error of patch_instructions().
 */
int kprobe_fill_head(void *page)
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

static int put_enter(struct detour_draft *d, bool is_return)
{
	ppc_inst_t call;

	put(d, RAW_STORE_UPDATE(_R1, -FRAME_SIZE));
	put(d, RAW_STORE(_R0, IN_FRAME(gpr[0])));
	put(d, PPC_RAW_MFLR(_R0));
	if (create_branch(&call, (u32 *)draft_at(d), head_addr(d->slot, is_return),
			  BRANCH_SET_LINK))
		return -ERANGE;
	put(d, ppc_inst_val(call));
	return 0;
}

/*
 * LR still has the address to which the head has returned. It shares its upper 32 bits with the
 * required value unless they straddle a 4 GiB boundary, so two XORs are enough.
 */
static int put_link(struct detour_draft *d, unsigned long next)
{
	unsigned long differ = next ^ (d->slot + KPROBE_DETOUR_ENTER * INSN_WORD);

	if (upper_32_bits(differ))
		return -ERANGE;
	put(d, PPC_RAW_MFLR(_R0));
	put(d, PPC_RAW_XORIS(_R0, _R0, differ >> 16));
	put(d, PPC_RAW_XORI(_R0, _R0, differ & 0xffff));
	put(d, PPC_RAW_MTLR(_R0));
	return 0;
}

static void put_restore_link(struct detour_draft *d)
{
	put(d, RAW_LOAD(_R0, IN_FRAME(link)));
	put(d, PPC_RAW_MTLR(_R0));
}

static void put_leave(struct detour_draft *d)
{
	put(d, RAW_LOAD(_R0, IN_FRAME(gpr[0])));
	put(d, RAW_LOAD(_R1, IN_FRAME(gpr[1])));
}

static void put_probe(struct detour_draft *d, struct optimized_kprobe *op)
{
	unsigned long addr = (unsigned long)op;

	memcpy(&d->word[KPROBE_DETOUR_OP / INSN_WORD], &addr, sizeof(addr));
}

/* The code of a detour at @slot. */
static int draft_detour(struct detour_draft *d, struct optimized_kprobe *op, unsigned long slot)
{
	struct kprobe_reencoded r;
	unsigned int i;
	int ret;

	*d = (struct detour_draft){ .slot = slot };
	memset32(d->word, BREAKPOINT_INSTRUCTION, ARRAY_SIZE(d->word));
	put_probe(d, op);

	ret = put_enter(d, kretprobe_is_alone(&op->kp));
	if (ret)
		return ret;

	if (kprobe_insn_links(op->kp.opcode)) {
		ret = put_link(d, kprobe_next(&op->kp));
		if (ret)
			return ret;
	} else {
		put_restore_link(d);
	}
	put_leave(d);

	ret = kprobe_reencode(&r, &op->kp, draft_at(d));
	if (ret)
		return ret;
	for (i = 0; i < r.nr; i++)
		put(d, r.words[i]);

	return WARN_ON_ONCE(d->nr > KPROBE_DETOUR_OP / INSN_WORD) ? -EILSEQ : 0;
}

static int refuse(struct optimized_kprobe *op, enum kprobe_noopt why)
{
	op->why = why;
	return -EILSEQ;
}

/*
 * preempt_enable_notrace() at the end of a detour calls preempt_schedule_notrace(). A detour inside
 * that function would recurse forever.
 */
#ifdef CONFIG_PREEMPTION
/* kallsyms has the global entry, ppc_function_entry() the local one. */
static unsigned long kallsyms_addr(void *fn)
{
	return (unsigned long)dereference_kernel_function_descriptor(fn);
}

static bool ends_detours(unsigned long addr)
{
	unsigned long size, into;

	return kallsyms_lookup_size_offset(addr, &size, &into) &&
	       addr - into == kallsyms_addr(preempt_schedule_notrace);
}
#else
static bool ends_detours(unsigned long addr)
{
	return false;
}
#endif

/* Everything that does not depend on where the detour is. */
static int plan(struct optimized_kprobe *op)
{
	unsigned long addr = (unsigned long)op->kp.addr;
	unsigned long target = kprobe_branch_target(&op->kp);
	unsigned long near = ALIGN_DOWN(addr, MAX_OPTINSN_SIZE * INSN_WORD);
	struct detour_draft d;
	int ret;

	/* A fault in the detour would not find the fixup, which belongs to the probed address. */
	if (search_exception_tables(addr))
		return refuse(op, KPROBE_NOOPT_EXTABLE);
	if (ends_detours(addr))
		return refuse(op, KPROBE_NOOPT_ARCH);

	/* Try a slot next to the probe: only an out-of-range branch target can fail there. */
	ret = draft_detour(&d, op, near);
	if (ret == -EILSEQ)
		return refuse(op, KPROBE_NOOPT_INSN);
	if (ret)
		return ret;

	return !target || kprobe_in_reach_of_region(addr, target) ? KPROBE_JUMP_LONG :
								    KPROBE_JUMP_UNKNOWN;
}

int arch_plan_optimized_kprobe(struct optimized_kprobe *op)
{
	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	if (op->optinsn.insn)
		return KPROBE_JUMP_LONG;
	/* The site must be the caller's own: kprobe_decide() affects hits of a live one. */
	if (WARN_ON_ONCE(op->kp.ainsn.insn))
		return -EINVAL;
	if (kprobe_decide(&op->kp))
		return refuse(op, KPROBE_NOOPT_INSN);
	return plan(op);
}

int arch_prepare_optimized_kprobe(struct optimized_kprobe *op, struct kprobe *orig)
{
	unsigned long addr = (unsigned long)op->kp.addr;
	struct detour_draft d;
	kprobe_opcode_t *slot;
	int ret;

	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	ret = plan(op);
	if (ret < 0)
		return ret;

	slot = get_optinsn_slot_near(addr);
	if (!slot)
		return -ENOMEM;

	ret = draft_detour(&d, op, (unsigned long)slot);
	if (!ret) {
		kprobe_log_slot(slot, d.word, sizeof(d.word), true);
		ret = kprobe_write_slot(slot, d.word, ARRAY_SIZE(d.word));
	}
	if (ret) {
		free_optinsn_slot(slot, 0);
		return ret;
	}
	op->optinsn.call = head_call(kretprobe_is_alone(&op->kp));
	op->optinsn.insn = slot;
	return 0;
}

int arch_prepared_optinsn(struct arch_optimized_insn *optinsn)
{
	kprobe_assert_locked();

	return !!optinsn->insn;
}

void arch_remove_optimized_kprobe(struct optimized_kprobe *op)
{
	kprobe_opcode_t *slot = op->optinsn.insn;

	kprobe_assert_locked();

	if (!slot)
		return;

	kprobe_log_slot(slot, slot, MAX_OPTINSN_SIZE * INSN_WORD, false);
	op->optinsn.insn = NULL;
	free_optinsn_slot(slot, 0);
}

/*
 * Switching
 */

static ppc_inst_t branch_of(const struct optimized_kprobe *op)
{
	ppc_inst_t insn;

	WARN_ON_ONCE(create_branch(&insn, op->kp.addr, (unsigned long)op->optinsn.insn, 0));
	return insn;
}

/*
 * Fails if the text is not what kprobes have written. Nobody else may change it: code patchers
 * such as jump labels, ftrace and static calls look for probes first, or their text is refused.
 */
static int replace(struct optimized_kprobe *op, ppc_inst_t old, ppc_inst_t new)
{
	if (!ppc_inst_val(new) || READ_ONCE(*op->kp.addr) != ppc_inst_val(old))
		return -EINVAL;
	return patch_instruction(op->kp.addr, new);
}

void arch_optimize_kprobes(struct list_head *oplist)
{
	struct optimized_kprobe *op, *tmp;

	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	/*
	 * A CPU enters a detour without an exception, so it might execute the former contents of
	 * the slot, which it has fetched ahead. If a CPU still executes the breakpoint afterwards,
	 * that does no harm.
	 */
	kprobe_sync_cpus();
	list_for_each_entry_safe(op, tmp, oplist, list) {
		if (!replace(op, ppc_inst(BREAKPOINT_INSTRUCTION), branch_of(op)))
			list_del_init(&op->list);
	}
}

void arch_unoptimize_kprobes(struct list_head *oplist, struct list_head *done_list)
{
	struct optimized_kprobe *op, *tmp;

	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	list_for_each_entry_safe(op, tmp, oplist, list) {
		if (!replace(op, branch_of(op), ppc_inst(BREAKPOINT_INSTRUCTION)))
			list_move_tail(&op->list, done_list);
	}
	/* From here on, no CPU executes an old branch, whose detour may be freed. */
	kprobe_sync_cpus();
}
