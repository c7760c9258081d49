// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization on arm64: builds the detour of a probe, and switches between the breakpoint
 * and a branch to the detour. detour_entry.S has the code that detours share, reencode.c
 * builds the replacement for the probed instruction.
 *
 * One branch replaces one instruction, so no other instruction is affected, and no task can be
 * in the middle of what is replaced.
 */

#include <linux/cpu.h>
#include <linux/cpufeature.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/text-patching.h>

#include <asm/debug-monitors.h>
#include <asm/insn.h>

#include "common.h"
#include "detour.h"

/* A detour that is being built, with literals after its instructions. */
struct detour_draft {
	u32		insn[MAX_OPTINSN_SIZE];
	unsigned int	nr;
	unsigned long	slot;
	u64		literal[3];
	unsigned int	nr_literals;
};

/* The address of the next instruction to be added. */
static unsigned long draft_at(const struct detour_draft *d)
{
	return d->slot + d->nr * AARCH64_INSN_SIZE;
}

/* From the end of the slot downwards. */
static unsigned long literal_at(const struct detour_draft *d, unsigned int i)
{
	return d->slot + sizeof(d->insn) - (i + 1) * sizeof(u64);
}

static void put(struct detour_draft *d, u32 insn)
{
	d->insn[d->nr++] = insn;
}

static void put_load_literal(struct detour_draft *d, enum aarch64_insn_register reg, u64 value)
{
	put(d, aarch64_insn_gen_load_literal(draft_at(d), literal_at(d, d->nr_literals), reg,
					     true));
	d->literal[d->nr_literals++] = value;
}

static u32 pair_at_sp(enum aarch64_insn_register reg1, enum aarch64_insn_register reg2,
		      int offset, enum aarch64_insn_ldst_type type)
{
	return aarch64_insn_gen_load_store_pair(reg1, reg2, AARCH64_INSN_REG_SP, offset,
						AARCH64_INSN_VARIANT_64BIT, type);
}

/*
 * aarch64_insn_gen_load_store_pair() cannot generate an STP with an offset and no writeback. It
 * differs from the pre-indexed form only in this bit.
 */
#define STP_WRITEBACK	BIT(23)

/* With a struct pt_regs on the stack, whose first members are x0 and x1. */
static void put_enter(struct detour_draft *d)
{
	int size = sizeof(struct pt_regs);

	BUILD_BUG_ON(offsetof(struct pt_regs, regs[0]) || sizeof(struct pt_regs) > 504);

	put(d, pair_at_sp(AARCH64_INSN_REG_0, AARCH64_INSN_REG_1, -size,
			  AARCH64_INSN_LDST_STORE_PAIR_PRE_INDEX));
	put(d, pair_at_sp(AARCH64_INSN_REG_29, AARCH64_INSN_REG_30,
			  offsetof(struct pt_regs, regs[29]),
			  AARCH64_INSN_LDST_STORE_PAIR_PRE_INDEX) & ~STP_WRITEBACK);
}

/**
 * kprobe_common_detour() - what all detours have in common
 * @insns: set to MAX_OPTINSN_SIZE instructions; those that differ are traps
 *
 * Context: any.
 */
void kprobe_common_detour(u32 *insns)
{
	struct detour_draft d = { };

	put_enter(&d);
	memset32(insns, AARCH64_BREAK_FAULT, MAX_OPTINSN_SIZE);
	memcpy(insns, d.insn, d.nr * sizeof(*insns));
}

static void put_leave(struct detour_draft *d)
{
	put(d, aarch64_insn_gen_load_store_imm(AARCH64_INSN_REG_LR, AARCH64_INSN_REG_SP,
					       offsetof(struct pt_regs, regs[30]),
					       AARCH64_INSN_SIZE_64,
					       AARCH64_INSN_LDST_LOAD_IMM_OFFSET));
	put(d, pair_at_sp(AARCH64_INSN_REG_0, AARCH64_INSN_REG_1, sizeof(struct pt_regs),
			  AARCH64_INSN_LDST_LOAD_PAIR_POST_INDEX));
}

static unsigned long common_code(bool of_return, bool far)
{
	if (of_return)
		return (unsigned long)(far ? kretprobe_detour_far : kretprobe_detour_near);
	return (unsigned long)(far ? kprobe_detour_far : kprobe_detour_near);
}

static void draft_call(struct detour_draft *d, bool of_return)
{
	unsigned long near = common_code(of_return, false);

	if (kprobe_in_reach(draft_at(d), near)) {
		put(d, aarch64_insn_gen_branch_imm(draft_at(d), near, AARCH64_INSN_BRANCH_LINK));
		return;
	}

	put_load_literal(d, AARCH64_INSN_REG_1, common_code(of_return, true));
	put(d, aarch64_insn_gen_branch_reg(AARCH64_INSN_REG_1, AARCH64_INSN_BRANCH_LINK));
}

/* MADD and its kin with 64-bit results. */
#define MULTIPLY_ADD_MASK	0xff000000
#define MULTIPLY_ADD		0x9b000000

/*
 * Erratum 835769 of Cortex-A53: directly after a memory access, such an instruction may compute
 * a wrong result. Compilers have an option that separates the two. A detour must not join them.
 */
static void put_separator(struct detour_draft *d, u32 insn)
{
	if ((insn & MULTIPLY_ADD_MASK) == MULTIPLY_ADD)
		put(d, aarch64_insn_gen_nop());
}

/* The code of a detour at @slot. */
static int draft_detour(struct detour_draft *d, struct optimized_kprobe *op, unsigned long slot)
{
	struct kprobe_reencoded r;
	unsigned int i;
	int ret;

	*d = (struct detour_draft){ .slot = slot };
	put_enter(d);
	put_load_literal(d, AARCH64_INSN_REG_0, (unsigned long)op);
	draft_call(d, kretprobe_is_alone(&op->kp));
	put_leave(d);
	put_separator(d, op->kp.opcode);

	ret = kprobe_reencode(&r, &op->kp, draft_at(d), literal_at(d, d->nr_literals));
	if (ret)
		return ret;
	for (i = 0; i < r.nr; i++)
		put(d, r.insn[i]);
	if (r.has_literal)
		d->literal[d->nr_literals++] = r.literal;

	if (WARN_ON_ONCE(draft_at(d) > literal_at(d, d->nr_literals - 1)))
		return -EILSEQ;
	return 0;
}

static int write_detour(const struct detour_draft *d)
{
	unsigned int i;
	int ret;

	ret = kprobe_write_slot((void *)d->slot, d->insn, d->nr);
	for (i = 0; i < d->nr_literals && !ret; i++)
		ret = kprobe_write_literal((void *)literal_at(d, i), d->literal[i]);
	if (!ret)
		kprobe_log_slot((void *)d->slot, (void *)d->slot, sizeof(d->insn), true);
	return ret;
}

static int refuse(struct optimized_kprobe *op, enum kprobe_noopt why)
{
	op->why = why;
	return -EILSEQ;
}

/* An indirect branch must land on a landing pad, and B is not one. */
static bool may_be_landed_on(u32 insn)
{
	return system_supports_bti_kernel() && probe_insn_is_landing_pad(insn);
}

/*
 * A detour calls this function at its end if the task is to be preempted. A detour in
 * the function itself would recurse without end.
 */
#ifdef CONFIG_PREEMPTION
static bool ends_detours(unsigned long addr)
{
	unsigned long size, into;

	return kallsyms_lookup_size_offset(addr, &size, &into) &&
	       addr - into == (unsigned long)preempt_schedule_notrace;
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
	struct detour_draft d;
	int ret;

	if (may_be_landed_on(op->kp.opcode))
		return refuse(op, KPROBE_NOOPT_LANDING);
	if (ends_detours(addr))
		return refuse(op, KPROBE_NOOPT_ARCH);

	/* A trial at the probed address, where only a branch target can be out of reach. */
	ret = draft_detour(&d, op, addr);
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
	/* The caller's own site: to decide would change how a live one continues after a hit. */
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

	ret = draft_detour(&d, op, (unsigned long)slot) ?: write_detour(&d);
	if (ret) {
		free_optinsn_slot(slot, 0);
		return ret;
	}
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

	kprobe_log_slot(slot, slot, MAX_OPTINSN_SIZE * sizeof(*slot), false);
	op->optinsn.insn = NULL;
	free_optinsn_slot(slot, 0);
}

/*
 * Switching
 */

static u32 branch_of(const struct optimized_kprobe *op)
{
	return aarch64_insn_gen_branch_imm((unsigned long)op->kp.addr,
					   (unsigned long)op->optinsn.insn,
					   AARCH64_INSN_BRANCH_NOLINK);
}

void arch_optimize_kprobes(struct list_head *oplist)
{
	struct optimized_kprobe *op, *tmp;
	int ret;

	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	/*
	 * A CPU enters a detour without an exception, so it might execute the former contents of
	 * the slot. If a CPU still executes the breakpoint afterwards, that does no harm.
	 */
	kprobe_sync_cpus();
	list_for_each_entry_safe(op, tmp, oplist, list) {
		ret = kprobe_patch_live(op->kp.addr, BRK64_OPCODE_KPROBES, branch_of(op));
		WARN_ON_ONCE(ret == -EINVAL);
		if (!ret)
			list_del_init(&op->list);
	}
}

void arch_unoptimize_kprobes(struct list_head *oplist, struct list_head *done_list)
{
	struct optimized_kprobe *op, *tmp;

	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	list_for_each_entry_safe(op, tmp, oplist, list) {
		if (!kprobe_patch_live(op->kp.addr, branch_of(op), BRK64_OPCODE_KPROBES))
			list_move_tail(&op->list, done_list);
	}
	kprobe_sync_cpus();
}
