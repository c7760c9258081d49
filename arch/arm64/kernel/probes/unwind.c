// SPDX-License-Identifier: GPL-2.0-only
/*
 * For the unwinder of arm64: addresses in the code of probes.
 */

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include <asm/insn.h>

#include "detour.h"

static nokprobe_inline bool is_between(unsigned long pc, void (*start)(void), void (*end)(void))
{
	return pc - (unsigned long)start < (unsigned long)end - (unsigned long)start;
}

#ifdef CONFIG_KRETPROBE_NATIVE

/*
 * Before the trampoline has a frame record, its own address would be in the record, and is
 * looked up. When it has none any more, the hook has been forgotten, but x30 has the
 * return address.
 */
static nokprobe_inline unsigned long unwind_trampoline(unsigned long pc,
						       const struct pt_regs *regs)
{
	if (is_between(pc, __kretprobe_trampoline, kretprobe_trampoline_framed))
		return (unsigned long)__kretprobe_trampoline;
	if (regs && is_between(pc, kretprobe_trampoline_unframed, kretprobe_trampoline_end))
		return READ_ONCE(regs->regs[30]);
	return pc;
}
#else
static nokprobe_inline unsigned long unwind_trampoline(unsigned long pc,
						       const struct pt_regs *regs)
{
	return pc;
}
#endif

#ifdef CONFIG_OPTPROBES
#ifdef CONFIG_KRETPROBE_NATIVE
static nokprobe_inline bool is_unframed_lean(unsigned long pc)
{
	return is_between(pc, kretprobe_detour_far, kretprobe_detour_framed) ||
	       pc == (unsigned long)kretprobe_detour_restored;
}
#else
static nokprobe_inline bool is_unframed_lean(unsigned long pc)
{
	return false;
}
#endif

static nokprobe_inline bool is_unframed(unsigned long pc)
{
	return is_between(pc, kprobe_detour_far, kprobe_detour_framed) ||
	       pc == (unsigned long)kprobe_detour_restored || is_unframed_lean(pc);
}

/*
 * In a detour, the program is at the probe. Until what detours share has made a frame record
 * with its address, and when x29 does not point to it any more, x30 has the address in the
 * detour. After a redirection to the caller, x30 has the address of the caller.
 */
static nokprobe_inline unsigned long unwind_detour(unsigned long pc, const struct pt_regs *regs)
{
	struct optimized_kprobe *op = NULL;
	unsigned long addr = pc;

	preempt_disable_notrace();
	if (regs && is_unframed(pc))
		op = kprobe_optinsn_owner(READ_ONCE(regs->regs[30]));
	else if (regs && is_between(pc, kprobe_detour_unframed, kprobe_detour_end))
		addr = READ_ONCE(regs->regs[30]);
	else if (!core_kernel_text(pc))
		op = kprobe_optinsn_owner(pc);
	if (op)
		addr = (unsigned long)op->kp.addr;
	preempt_enable_notrace();
	return addr;
}
#else
static nokprobe_inline unsigned long unwind_detour(unsigned long pc, const struct pt_regs *regs)
{
	return pc;
}
#endif

/*
 * An address in a slot stands for the probed instruction. The branch at the end of the boosted
 * copy leads to the next one, also while the stepped copy runs. No probe need be current,
 * and preemption may be on.
 */
static nokprobe_inline unsigned long unwind_copy(unsigned long pc)
{
	unsigned long back = ALIGN_DOWN(pc, KPROBE_INSN_SLOT_SIZE) + KPROBE_BOOST_OFFSET +
			     AARCH64_INSN_SIZE;
	unsigned long addr = pc;
	u32 insn;

	if (core_kernel_text(pc))
		return pc;

	preempt_disable_notrace();
	if (kprobe_rcu_is_watching() && is_kprobe_insn_slot(pc)) {
		insn = le32_to_cpu(READ_ONCE(*(__le32 *)back));
		if (aarch64_insn_is_b(insn))
			addr = back + sign_extend64((u64)(insn & GENMASK(25, 0)) << 2, 27);
		if (addr != pc && pc != back && pc != back + KPROBE_STEP_OFFSET)
			addr -= AARCH64_INSN_SIZE;
	}
	preempt_enable_notrace();
	return addr;
}

/**
 * kprobe_unwind_pc() - the address that a stack trace shows for another one
 * @pc: where the program was interrupted, or a return address
 * @regs: on a stack, where the registers would be if an exception had saved @pc, or NULL;
 *	  read without looking at the frame record, so they may be anything
 *
 * The task may be running, and change them meanwhile.
 *
 * Context: any.
 * Return: @pc, or the address of the program that it stands for.
 */
unsigned long kprobe_unwind_pc(unsigned long pc, const struct pt_regs *regs)
{
	if (regs && READ_ONCE(regs->pc) != pc)
		regs = NULL;

	return unwind_copy(unwind_detour(unwind_trampoline(pc, regs), regs));
}
NOKPROBE_SYMBOL(kprobe_unwind_pc);
