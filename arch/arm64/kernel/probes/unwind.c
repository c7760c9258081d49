// SPDX-License-Identifier: GPL-2.0-only
/*
 * For the unwinder of arm64: addresses in the code of probes.
 */

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>

#include <asm/insn.h>

#include "detour.h"

static nokprobe_inline bool is_between(unsigned long pc, void (*start)(void), void (*end)(void))
{
	return pc - (unsigned long)start < (unsigned long)end - (unsigned long)start;
}

/*
 * An address in a slot stands for the probed instruction. Only its probe executes a slot without a
 * copy that branches back, in a step. Otherwise there may be no current probe, and preemption may
 * be on: the branch at the end of the boosted copy identifies the slot, whichever copy runs.
 */
static nokprobe_inline unsigned long unwind_copy(unsigned long pc)
{
	unsigned long slot = ALIGN_DOWN(pc, KPROBE_INSN_SLOT_SIZE), addr = 0;
	unsigned long back = slot + AARCH64_INSN_SIZE;
	const struct kprobe *p;
	u32 insn;

	if (!slot || __is_kernel_text(pc))
		return pc;

	preempt_disable_notrace();
	p = kprobe_running();
	if (p && (unsigned long)p->ainsn.insn == slot) {
		addr = (unsigned long)p->addr;
	} else if (kprobe_rcu_is_watching() && is_kprobe_insn_slot(pc)) {
		insn = le32_to_cpu(READ_ONCE(*(__le32 *)back));
		if (aarch64_insn_is_b(insn))
			addr = back - AARCH64_INSN_SIZE +
			       sign_extend64((u64)(insn & GENMASK(25, 0)) << 2, 27);
	}
	preempt_enable_notrace();
	return addr ? addr + pc % KPROBE_STEP_OFFSET : pc;
}

/*
 * Until the trampoline has a frame record, any address in it stands for its start, which the
 * unwinder looks up. Once x29 has been restored, the hook is no longer on record, but x30 holds
 * the return address.
 */
static nokprobe_inline unsigned long unwind_trampoline(unsigned long pc, const struct pt_regs *regs)
{
	if (is_between(pc, __kretprobe_trampoline, kretprobe_trampoline_framed))
		return (unsigned long)__kretprobe_trampoline;
	if (regs &&
	    is_between(pc, kretprobe_trampoline_unframed, kretprobe_trampoline_end))
		return READ_ONCE(regs->regs[30]);
	return pc;
}

static nokprobe_inline bool is_unframed(unsigned long pc)
{
	return is_between(pc, kprobe_detour_far, kprobe_detour_framed) ||
	       pc == (unsigned long)kprobe_detour_restored ||
	       is_between(pc, kretprobe_detour_far, kretprobe_detour_framed) ||
	       pc == (unsigned long)kretprobe_detour_restored;
}

/* The probe in whose detour @pc is. The detour cannot be freed while RCU watches. */
static nokprobe_inline struct optimized_kprobe *owner_of(unsigned long pc,
							 const struct pt_regs *regs)
{
	if (!kprobe_rcu_is_watching())
		return NULL;
	if (regs && is_unframed(pc))
		return kprobe_optinsn_owner(READ_ONCE(regs->regs[30]));
	return __is_kernel_text(pc) ? NULL : kprobe_optinsn_owner(pc);
}

/*
 * In a detour, the program is at the probe. x30 holds an address in the detour until the common
 * code has built a frame record with the address of the probe, and again after x29 is restored.
 * After a redirection to the caller, x30 holds the address of the caller.
 *
 * Where RCU does not watch, a detour could be freed meanwhile. There @pc is returned unchanged.
 */
static nokprobe_inline unsigned long unwind_detour(unsigned long pc, const struct pt_regs *regs)
{
	struct optimized_kprobe *op;

	if (regs && is_between(pc, kprobe_detour_unframed, kprobe_detour_end))
		return READ_ONCE(regs->regs[30]);

	preempt_disable_notrace();
	op = owner_of(pc, regs);
	if (op)
		pc = (unsigned long)op->kp.addr;
	preempt_enable_notrace();
	return pc;
}

/**
 * kprobe_unwind_pc() - map an address in the code of probes to the one to be reported
 * @pc: where the program was interrupted, or a return address
 * @regs: candidate registers around the frame record, or NULL; they may be anything, and are
 *	  used only if their pc equals @pc
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

	pc = unwind_trampoline(pc, regs);
	pc = unwind_detour(pc, regs);
	return unwind_copy(pc);
}
NOKPROBE_SYMBOL(kprobe_unwind_pc);
