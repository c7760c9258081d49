// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of breakpoints on arm64: the breakpoint, the instruction under it, and the
 * faults of both.
 *
 * A boosted copy of the instruction branches back by itself. Other instructions are
 * simulated in the same exception. With a post handler or a fault handler, or if no slot is
 * in reach, the copy is stepped: it runs with interrupts masked up to a second breakpoint
 * after it.
 *
 * The exceptions mask interrupts. All state is per CPU, and a pseudo-NMI, or a fault with
 * its probes, may come between any two accesses to it. They restore everything that they
 * change, so the only requirement here is that they never see half-written state.
 */

#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include <asm/debug-monitors.h>

#include "common.h"

DEFINE_PER_CPU(struct kprobe *, current_kprobe);
DEFINE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);

static nokprobe_inline unsigned long kprobe_status(void)
{
	return __this_cpu_read(kprobe_ctlblk.kprobe_status);
}

static nokprobe_inline void set_status(unsigned long status)
{
	__this_cpu_write(kprobe_ctlblk.kprobe_status, status);
}

static nokprobe_inline unsigned long step_addr(const struct kprobe *p)
{
	return (unsigned long)p->ainsn.insn + KPROBE_STEP_OFFSET;
}

/*
 * Interrupts stay masked for the step, so that it stays on this CPU. A fault of the step
 * inherits the priority mask, so that has to agree.
 */
static nokprobe_inline void step_begin(struct kprobe *p, struct pt_regs *regs,
				       unsigned long status)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();

	kcb->step.masks.daif = regs->pstate & DAIF_MASK;
	if (IS_ENABLED(CONFIG_TRACE_IRQFLAGS))
		kcb->step.lockdep_hardirqs = regs->lockdep_hardirqs;
	regs->pstate |= DAIF_MASK;
	if (system_uses_irq_prio_masking()) {
		kcb->step.masks.pmr = regs->pmr_save;
		regs->pmr_save = KPROBE_PMR_MASKED;
	}
	instruction_pointer_set(regs, step_addr(p));
	barrier();
	kcb->kprobe_status = status;
}

/* Is the current probe being stepped on this CPU? */
static nokprobe_inline bool is_step_of(const struct kprobe *running,
				       const struct kprobe_ctlblk *kcb)
{
	return running && kcb->kprobe_status & (KPROBE_HIT_SS | KPROBE_REENTER);
}

static nokprobe_inline void continue_in_slot(struct kprobe *p, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)p->ainsn.insn + KPROBE_BOOST_OFFSET);
}

static nokprobe_inline void simulate(struct kprobe *p, struct pt_regs *regs)
{
	p->ainsn.api.handler(p->opcode, (long)p->addr, regs);
}

/* A hit inside another one, which has been counted: only execute the instruction. */
static void kprobe_hit_nested(struct kprobe *p, struct pt_regs *regs)
{
	if (p->ainsn.boost) {
		continue_in_slot(p, regs);
	} else if (kprobe_is_emulated(p)) {
		simulate(p, regs);
	} else {
		kprobe_nesting_begin(p);
		step_begin(p, regs, KPROBE_REENTER);
	}
}
NOKPROBE_SYMBOL(kprobe_hit_nested);

static nokprobe_inline void hit_end(struct kprobe *p, struct pt_regs *regs, bool simulated)
{
	unsigned long pc = instruction_pointer(regs);

	/* Once it is set, the post handler of a site stays. */
	if (READ_ONCE(p->post_handler)) {
		set_status(KPROBE_HIT_SSDONE);
		kprobe_site_post_handler(p, regs, 0);
		/* A simulated indirect branch would ask for a landing pad there. */
		if (simulated && unlikely(instruction_pointer(regs) != pc))
			kprobe_clear_btype(regs);
	}
	kprobe_hit_leave();
}

/* Execute the instruction, or have the CPU do so. */
static nokprobe_inline void resume(struct kprobe *p, struct pt_regs *regs)
{
	if (likely(kprobe_is_boosted(p))) {
		kprobe_hit_leave();
		continue_in_slot(p, regs);
	} else if (kprobe_is_emulated(p)) {
		simulate(p, regs);
		hit_end(p, regs, true);
	} else {
		step_begin(p, regs, KPROBE_HIT_SS);
	}
}

/*
 * If lockdep believed before the exception that interrupts were on, the exit tells lockdep and
 * tracers that they are on again. This calls functions that can be probed, with interrupts
 * masked. Normally lockdep knows that, so that the exit from a breakpoint there does not call
 * them again. But lockdep takes no note of interrupts while it runs itself, or after it has
 * switched itself off. Then each exit would lead to the next breakpoint.
 */
static nokprobe_inline void end_at_unnoted_masks(struct pt_regs *regs)
{
	if (unlikely(lockdep_hardirqs_enabled()) && !interrupts_enabled(regs))
		regs->lockdep_hardirqs = 0;
}

/**
 * kprobe_brk_handler() - handle the breakpoint of a probe
 * @regs: registers at the breakpoint
 * @esr: syndrome of the exception
 *
 * A site stays in the table until all CPUs have left its breakpoint. So a breakpoint
 * whose site is not found is none of ours.
 *
 * Context: the exception, interrupts masked.
 * Return: DBG_HOOK_HANDLED, or DBG_HOOK_ERROR if there is no probe.
 */
int kprobe_brk_handler(struct pt_regs *regs, unsigned long esr)
{
	struct kprobe *p = get_kprobe((void *)instruction_pointer(regs));

	if (unlikely(!p))
		return DBG_HOOK_ERROR;

	end_at_unnoted_masks(regs);
	if (unlikely(!kprobe_hit_enter(p))) {
		kprobe_hit_nested(p, regs);
		return DBG_HOOK_HANDLED;
	}

	/* Non-zero: the handler has set where execution continues. */
	if (unlikely(kprobe_call_pre(p, regs))) {
		kprobe_clear_btype(regs);
		kprobe_hit_leave();
	} else {
		resume(p, regs);
	}
	return DBG_HOOK_HANDLED;
}
NOKPROBE_SYMBOL(kprobe_brk_handler);

/**
 * kprobe_ss_brk_handler() - handle the breakpoint that ends a step or a redirected detour
 * @regs: registers at the breakpoint
 * @esr: syndrome of the exception
 *
 * Context: the exception, interrupts masked.
 * Return: DBG_HOOK_HANDLED, or DBG_HOOK_ERROR if this CPU is not stepping.
 */
int kprobe_ss_brk_handler(struct pt_regs *regs, unsigned long esr)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();
	struct kprobe *p = kprobe_running();

	if (unlikely(!is_step_of(p, kcb) ||
		     instruction_pointer(regs) != step_addr(p) + AARCH64_INSN_SIZE))
		return kprobe_detour_redirect(regs) ? DBG_HOOK_HANDLED : DBG_HOOK_ERROR;

	kprobe_restore_masks(regs, &kcb->step.masks);
	/*
	 * A fault in the copy that was resolved has returned to masked interrupts, so lockdep
	 * believes that they are off. The exit from this exception tells it what is true.
	 */
	if (IS_ENABLED(CONFIG_TRACE_IRQFLAGS))
		regs->lockdep_hardirqs = kcb->step.lockdep_hardirqs;
	instruction_pointer_set(regs, (unsigned long)p->addr + AARCH64_INSN_SIZE);
	if (unlikely(kcb->kprobe_status == KPROBE_REENTER))
		kprobe_nesting_end();
	else
		hit_end(p, regs, false);
	return DBG_HOOK_HANDLED;
}
NOKPROBE_SYMBOL(kprobe_ss_brk_handler);

/**
 * kretprobe_brk_handler() - refuse a breakpoint that no return trampoline has
 * @regs: registers at the breakpoint
 * @esr: syndrome of the exception
 *
 * Context: the exception.
 * Return: DBG_HOOK_ERROR.
 */
int kretprobe_brk_handler(struct pt_regs *regs, unsigned long esr)
{
	return DBG_HOOK_ERROR;
}
NOKPROBE_SYMBOL(kretprobe_brk_handler);

/* As if the instruction had not begun: it will be hit again. */
static nokprobe_inline void abandon_step(struct kprobe *p, struct pt_regs *regs)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();

	kprobe_restore_masks(regs, &kcb->step.masks);
	if (kcb->kprobe_status == KPROBE_REENTER)
		kprobe_nesting_end();
	else
		kprobe_hit_leave();
}

/**
 * kprobe_fault_handler() - a fault while a probe is current
 * @regs: state at the fault
 * @esr: syndrome of the exception, which fault handlers see as the trap number
 *
 * Fault handlers come first, for faults of the instruction and of handlers. Then the fault
 * of a copy becomes one of the instruction itself.
 *
 * Context: the exception.
 * Return: 1 if a fault handler has handled it, else 0.
 */
int kprobe_fault_handler(struct pt_regs *regs, unsigned int esr)
{
	struct kprobe *p = kprobe_running();

	if (!is_step_of(p, get_kprobe_ctlblk()) || instruction_pointer(regs) != step_addr(p)) {
		if (!kprobe_handler_fault(regs, esr))
			return 0;
		kprobe_clear_btype(regs);
		return 1;
	}

	if (kprobe_status() == KPROBE_HIT_SS && p->fault_handler) {
		/* A fault in the fault handler is not a fault of the step. */
		set_status(KPROBE_HIT_ACTIVE);
		if (kprobe_site_fault_handler(p, regs, esr)) {
			set_status(KPROBE_HIT_SS);
			if (instruction_pointer(regs) != step_addr(p)) {
				abandon_step(p, regs);
				kprobe_clear_btype(regs);
			}
			return 1;
		}
		set_status(KPROBE_HIT_SS);
	}

	abandon_step(p, regs);
	instruction_pointer_set(regs, (unsigned long)p->addr);
	/* What follows handles a fault of the program, which may end the task. */
	local_daif_inherit(regs);
	return 0;
}
NOKPROBE_SYMBOL(kprobe_fault_handler);

/**
 * kprobe_leave_slot() - attribute the exception that ends a task to the instruction
 * @regs: state at the exception; the address of a copy in it becomes that of the probe
 *
 * A step ends here, too. Otherwise, all later hits on this CPU would be missed.
 *
 * If the task was in a detour, the other registers and the stack are still those of the
 * detour. So @regs are for reports then; execution must not resume from them.
 *
 * Context: the exception, RCU watches.
 */
void kprobe_leave_slot(struct pt_regs *regs)
{
	struct kprobe *p;

	preempt_disable_notrace();
	p = kprobe_running();
	if (is_step_of(p, get_kprobe_ctlblk()) && instruction_pointer(regs) == step_addr(p)) {
		abandon_step(p, regs);
		instruction_pointer_set(regs, (unsigned long)p->addr);
		local_daif_inherit(regs);
	} else {
		instruction_pointer_set(regs, kprobe_unwind_pc(instruction_pointer(regs), regs));
	}
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(kprobe_leave_slot);
