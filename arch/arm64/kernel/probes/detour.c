// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of optimized probes on arm64: redirections from a detour, and unwinding in one.
 * The code of detours is in detour_entry.S.
 */

#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>

#include "common.h"
#include "detour.h"

/**
 * struct kprobe_redirection - where a task continues that a handler has redirected
 * @pc: the address
 * @masks: the interrupt masks of the program
 *
 * Used from arch_leave_detour() to the breakpoint at the end of the detour. In between,
 * interrupts are masked, so the task stays on its CPU. The hit ends only at that breakpoint, so
 * that probes in the tracers that the exception entry calls are missed. Hence no other handler can
 * redirect on this CPU in the meantime, not even one in an NMI.
 */
struct kprobe_redirection {
	unsigned long		pc;
	struct kprobe_masks	masks;
};

static DEFINE_PER_CPU(struct kprobe_redirection, kprobe_redirection);

/* The callback ends by enabling preemption, which must see that interrupts are off. */
static nokprobe_inline u32 mask_priorities(void)
{
	u32 pmr = 0;

	if (system_uses_irq_prio_masking()) {
		pmr = gic_read_pmr();
		gic_write_pmr(KPROBE_PMR_MASKED);
	}
	return pmr;
}

int arch_leave_detour(struct optimized_kprobe *op, struct pt_regs *regs, bool redirected)
{
	unsigned long pc = instruction_pointer(regs), daif;
	struct kprobe_redirection *r;

	if (pc == regs->regs[30]) {
		reset_current_kprobe();
		return KPROBE_DETOUR_RETURN;
	}

	/*
	 * local_daif_mask() would notify lockdep, which runs code that can be probed. Lockdep need
	 * not know: the breakpoint handler restores the masks that it has on record.
	 */
	daif = read_sysreg(daif);
	asm volatile("msr daifset, #0xf" ::: "memory");
	r = this_cpu_ptr(&kprobe_redirection);
	r->pc = pc;
	r->masks.daif = daif & DAIF_MASK;
	r->masks.pmr = mask_priorities();
	return KPROBE_DETOUR_REDIRECT;
}
NOKPROBE_SYMBOL(arch_leave_detour);

/**
 * kprobe_detour_redirect() - resume at the address that a handler in a detour has set
 * @regs: state at a breakpoint
 *
 * Context: the exception, interrupts masked.
 * Return: true if it is the breakpoint at the end of a detour.
 */
bool kprobe_detour_redirect(struct pt_regs *regs)
{
	struct kprobe_redirection *r = this_cpu_ptr(&kprobe_redirection);

	if (instruction_pointer(regs) != (unsigned long)kprobe_detour_brk)
		return false;

	instruction_pointer_set(regs, r->pc);
	kprobe_restore_masks(regs, &r->masks);
	kprobe_clear_btype(regs);
	reset_current_kprobe();
	return true;
}
NOKPROBE_SYMBOL(kprobe_detour_redirect);

static nokprobe_inline bool is_unframed(unsigned long pc)
{
	return kprobe_is_between(pc, kprobe_detour_far, kprobe_detour_framed) ||
	       pc == (unsigned long)kprobe_detour_restored ||
	       kprobe_is_between(pc, kretprobe_detour_far, kretprobe_detour_framed) ||
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

/**
 * kprobe_unwind_detour() - the part of kprobe_unwind_pc() for detours
 * @pc: an address
 * @regs: the registers that an exception there has saved, or NULL
 *
 * In a detour, the program is at the probe. x30 holds an address in the detour until the common
 * code has built a frame record with the address of the probe, and again after x29 is restored.
 * After a redirection to the caller, x30 holds the address of the caller.
 *
 * Where RCU does not watch, a detour could be freed meanwhile. There @pc is returned unchanged.
 *
 * Context: any.
 * Return: @pc, or the address of the program that it stands for.
 */
unsigned long kprobe_unwind_detour(unsigned long pc, const struct pt_regs *regs)
{
	struct optimized_kprobe *op;

	if (regs && kprobe_is_between(pc, kprobe_detour_unframed, kprobe_detour_end))
		return READ_ONCE(regs->regs[30]);

	preempt_disable_notrace();
	op = owner_of(pc, regs);
	if (op)
		pc = (unsigned long)op->kp.addr;
	preempt_enable_notrace();
	return pc;
}
NOKPROBE_SYMBOL(kprobe_unwind_detour);
