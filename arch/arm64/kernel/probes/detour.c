// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of optimized probes on arm64: how a detour is left other than by its end.
 * The code of detours is in detour_entry.S.
 */

#include <linux/cpufeature.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>

#include <asm/arch_gicv3.h>
#include <asm/daifflags.h>

#include "common.h"
#include "detour.h"

/**
 * struct kprobe_redirection - where a task continues that a handler has redirected
 * @pc: the address
 * @daif: the interrupt masks of the program
 * @pmr: its interrupt priority mask, with pseudo-NMI
 *
 * Used with interrupts masked, from arch_leave_detour() to the exception at the end of
 * the detour. Only firmware can interrupt that, whose handlers have no probes.
 */
struct kprobe_redirection {
	unsigned long	pc;
	unsigned long	daif;
	unsigned long	pmr;
};

static DEFINE_PER_CPU(struct kprobe_redirection, kprobe_redirection);

/* For the end of the callback, too, which must not reschedule. */
static nokprobe_inline unsigned long mask_priorities(void)
{
	unsigned long pmr = 0;

	if (system_uses_irq_prio_masking()) {
		pmr = gic_read_pmr();
		gic_write_pmr(GIC_PRIO_IRQON | GIC_PRIO_PSR_I_SET);
	}
	return pmr;
}

int arch_leave_detour(struct optimized_kprobe *op, struct pt_regs *regs, bool redirected)
{
	unsigned long pc = instruction_pointer(regs), daif;

	if (pc == regs->regs[30])
		return KPROBE_DETOUR_RETURN;

	/* Not known to lockdep, as in an exception; it sees them on again after it. */
	daif = read_sysreg(daif);
	asm volatile("msr daifset, #0xf" ::: "memory");
	__this_cpu_write(kprobe_redirection.pc, pc);
	__this_cpu_write(kprobe_redirection.daif, daif & DAIF_MASK);
	__this_cpu_write(kprobe_redirection.pmr, mask_priorities());
	return KPROBE_DETOUR_REDIRECT;
}
NOKPROBE_SYMBOL(arch_leave_detour);

/**
 * kprobe_detour_redirect() - continue where a handler in a detour has said
 * @regs: state at a breakpoint
 *
 * Context: the exception, interrupts masked.
 * Return: true if it is the breakpoint at the end of a detour.
 */
bool kprobe_detour_redirect(struct pt_regs *regs)
{
	if (instruction_pointer(regs) != (unsigned long)kprobe_detour_brk)
		return false;

	instruction_pointer_set(regs, __this_cpu_read(kprobe_redirection.pc));
	regs->pstate &= ~DAIF_MASK;
	regs->pstate |= __this_cpu_read(kprobe_redirection.daif);
	if (system_uses_irq_prio_masking())
		regs->pmr_save = __this_cpu_read(kprobe_redirection.pmr);
	kprobe_forget_branch(regs);
	return true;
}
NOKPROBE_SYMBOL(kprobe_detour_redirect);
