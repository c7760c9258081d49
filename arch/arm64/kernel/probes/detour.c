// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of optimized probes on arm64: how a detour is left other than by its end.
 * The code of detours is in detour_entry.S.
 */

#include <linux/cpufeature.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
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
 * the detour. Only events of the firmware (SDEI) can interrupt that. They count as NMIs, so
 * each level of NMIs has its own.
 */
struct kprobe_redirection {
	unsigned long	pc;
	unsigned long	daif;
	unsigned long	pmr;
};

/* None, a pseudo-NMI, and a normal and a critical event. */
#define NR_LEVELS	4

static DEFINE_PER_CPU(struct kprobe_redirection, kprobe_redirections[NR_LEVELS]);

static nokprobe_inline struct kprobe_redirection *this_redirection(void)
{
	unsigned long level = (preempt_count() & NMI_MASK) >> NMI_SHIFT;

	return this_cpu_ptr(&kprobe_redirections[min(level, NR_LEVELS - 1UL)]);
}

/*
 * The end of the callback enables preemption, and must not reschedule: with pseudo-NMI, it
 * judges by the priority mask whether interrupts are off. The value is that of a handler of
 * an exception.
 */
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
	struct kprobe_redirection *r;

	if (pc == regs->regs[30])
		return KPROBE_DETOUR_RETURN;

	/*
	 * local_daif_mask() would tell lockdep, which runs code that can be probed, and would
	 * have to be told again at the end of the exception. So lockdep continues to believe that
	 * interrupts are as the program had them, and after the exception they are.
	 */
	daif = read_sysreg(daif);
	asm volatile("msr daifset, #0xf" ::: "memory");
	r = this_redirection();
	r->pc = pc;
	r->daif = daif & DAIF_MASK;
	r->pmr = mask_priorities();
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
	struct kprobe_redirection *r = this_redirection();

	if (instruction_pointer(regs) != (unsigned long)kprobe_detour_brk)
		return false;

	instruction_pointer_set(regs, r->pc);
	regs->pstate &= ~DAIF_MASK;
	regs->pstate |= r->daif;
	if (system_uses_irq_prio_masking())
		regs->pmr_save = r->pmr;
	kprobe_clear_btype(regs);
	return true;
}
NOKPROBE_SYMBOL(kprobe_detour_redirect);
