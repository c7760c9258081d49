/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_BREAKPOINT_H
#define _LINUX_KPROBES_BREAKPOINT_H

/**
 * DOC: kprobes breakpoints
 *
 * <linux/kprobes-breakpoint.h> handles the hits of breakpoints. An architecture includes it in one
 * file, which finds the probe of a breakpoint with get_kprobe() and calls kprobe_hit() and
 * kprobe_step_end(), both with interrupts off, whoever masks them. Its kprobe_fault_handler() calls
 * kprobe_hit_fault(). A probe stays findable until all CPUs have left its breakpoint. So a
 * breakpoint without a probe is the end of a step, or belongs to another subsystem.
 *
 * A hit inside another one usually calls no handler, but its instruction has to be executed. Each
 * instruction is executed in the cheapest possible way. A boosted copy jumps back by itself. With a
 * post handler or a fault handler, or where there is no such copy, the instruction is emulated in
 * the exception. If that is impossible, too, it is stepped: its copy runs with interrupts off, up
 * to a second exception, which is raised directly after the copy.
 *
 * All state is per CPU. An NMI may come between any two accesses to it, and hit probes. It restores
 * whatever it changes, so it only must not find half-written state.
 *
 * <asm/kprobes.h> supplies:
 *
 *  - KPROBE_MAX_NESTING, how many steps and handlers can be inside of others; one more step is a
 *    BUG. NMIs interrupt a step, and so does a fault of its instruction;
 *  - KPROBE_TRAP_CONTEXT, if the exception adds to KPROBE_CONTEXT of preempt_count(), as
 *    irqentry_nmi_enter() does;
 *  - struct arch_kprobe_step, what arch_kprobe_mask() saves;
 *  - in struct arch_specific_insn, insn, the slot, and boost, whether a copy that jumps back is
 *    at its beginning. It may always be false;
 *  - KPROBE_STEP_OFFSET, where in the slot the copy is that is stepped.
 *
 * The file defines first, as functions or macros:
 *
 *  - arch_kprobe_len(p), the length of the instruction;
 *  - arch_kprobe_emulate(p, regs), which executes it, so that regs become those after it, or
 *    returns false if it has to be stepped;
 *  - arch_kprobe_mask(regs, step), which makes regs mask interrupts, so that a step stays on its
 *    CPU, and saves in step what arch_kprobe_unmask(regs, step) needs to undo this; step points
 *    to a struct arch_kprobe_step __kprobe_cpu;
 *  - arch_kprobe_redirect(regs), for when a handler has set the instruction pointer. Most have
 *    nothing to do then.
 *
 * And where they apply, as macros, or as functions with macros of the same name:
 *
 *  - arch_kprobe_enter_copies(p, regs), which returns true if regs have to continue, and now do,
 *    in copies that are not in the slot;
 *  - arch_kprobe_leave_copy(p, regs), for what else a stepped copy has changed, when the
 *    instruction pointer is already that of the next instruction;
 *  - arch_kprobe_begin_post(regs), for when post handlers are about to be called;
 *  - arch_kprobe_continue(regs), for when a hit is about to end, and regs are where the program
 *    itself continues.
 */

#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>

#ifndef arch_kprobe_enter_copies
#define arch_kprobe_enter_copies(p, regs)	false
#endif
#ifndef arch_kprobe_leave_copy
#define arch_kprobe_leave_copy(p, regs)		do { } while (0)
#endif
#ifndef arch_kprobe_begin_post
#define arch_kprobe_begin_post(regs)		do { } while (0)
#endif
#ifndef arch_kprobe_continue
#define arch_kprobe_continue(regs)		do { } while (0)
#endif

DEFINE_PER_CPU(struct kprobe_current, kprobe_current);
DEFINE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk) = {
	.kprobe_status = KPROBE_HIT_ACTIVE,
};

/*
 * Steps
 */

static nokprobe_inline unsigned long kprobe_step_addr(const struct kprobe *p)
{
	return (unsigned long)p->ainsn.insn + KPROBE_STEP_OFFSET;
}

/* The probe that is being stepped on this CPU, or NULL. */
static nokprobe_inline struct kprobe *kprobe_stepped(void)
{
	struct kprobe *p = kprobe_running();

	return p && __this_cpu_read(kprobe_ctlblk.kprobe_status) &
		    (KPROBE_HIT_SS | KPROBE_REENTER) ? p : NULL;
}

/* The same, if @regs are at the beginning of the copy. Else NULL. */
static nokprobe_inline struct kprobe *kprobe_stepped_at(struct pt_regs *regs)
{
	struct kprobe *p = kprobe_stepped();

	return p && instruction_pointer(regs) == kprobe_step_addr(p) ? p : NULL;
}

/* An interrupt between the two stores sees the probe with KPROBE_HIT_ACTIVE, which is safe. */
static nokprobe_inline void kprobe_hit_end(void)
{
	struct kprobe *__kprobe_cpu *running = kprobe_cpu_addr(current_kprobe);
	struct kprobe_ctlblk __kprobe_cpu *kcb = kprobe_cpu_addr(kprobe_ctlblk);

	kprobe_cpu_write(&kcb->kprobe_status, KPROBE_HIT_ACTIVE);
	barrier();
	kprobe_cpu_write(running, NULL);
}

static nokprobe_inline void kprobe_step_begin(struct kprobe *p, struct pt_regs *regs,
					      unsigned long status)
{
	struct kprobe_ctlblk __kprobe_cpu *kcb = kprobe_cpu_addr(kprobe_ctlblk);

	arch_kprobe_mask(regs, &kcb->step);
	instruction_pointer_set(regs, kprobe_step_addr(p));
	barrier();
	kprobe_cpu_write(&kcb->kprobe_status, status);
}

/* As if the instruction had not begun. If it is restarted, it is hit again. */
static nokprobe_inline void kprobe_step_abandon(struct pt_regs *regs)
{
	struct kprobe_ctlblk __kprobe_cpu *kcb = kprobe_cpu_addr(kprobe_ctlblk);

	arch_kprobe_unmask(regs, &kcb->step);
	if (kprobe_cpu_read(&kcb->kprobe_status) & KPROBE_REENTER)
		kprobe_nesting_end();
	else
		kprobe_hit_end();
}

/*
 * Hits
 */

/*
 * Where RCU does not always watch in the exception, preemption is not counted as disabled either.
 * Handlers expect both. An emulated instruction may access the count, so it is restored.
 */
static nokprobe_inline int kprobe_hit_pre(struct kprobe *p, struct pt_regs *regs)
{
	int ret;

	if (KPROBE_TRAP_IS_WATCHED)
		return kprobe_call_pre(p, regs);

	preempt_disable_notrace();
	ret = likely(kprobe_rcu_is_watching()) ? kprobe_call_pre(p, regs) :
						 kprobe_site_pre_handler(p, regs);
	preempt_enable_no_resched_notrace();
	return ret;
}

static nokprobe_inline void kprobe_hit_post(struct kprobe *p, struct pt_regs *regs)
{
	if (KPROBE_TRAP_IS_WATCHED)
		return kprobe_call_post(p, regs);

	preempt_disable_notrace();
	if (likely(kprobe_rcu_is_watching()))
		kprobe_call_post(p, regs);
	else
		kprobe_site_post_handler(p, regs, 0);
	preempt_enable_no_resched_notrace();
}

/* The instruction has been executed. */
static nokprobe_inline void kprobe_hit_finish(struct kprobe_ctlblk __kprobe_cpu *kcb,
					      struct kprobe *p, struct pt_regs *regs)
{
	/* Once it is set, the post handler of a site stays. */
	if (READ_ONCE(p->post_handler)) {
		unsigned long ip = instruction_pointer(regs);

		arch_kprobe_begin_post(regs);
		kprobe_cpu_write(&kcb->kprobe_status, KPROBE_HIT_SSDONE);
		kprobe_hit_post(p, regs);
		if (unlikely(instruction_pointer(regs) != ip))
			arch_kprobe_redirect(regs);
	}
	arch_kprobe_continue(regs);
	kprobe_hit_end();
}

static nokprobe_inline void kprobe_enter_boosted(struct kprobe *p, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)p->ainsn.insn);
}

/* The same inside another hit. */
static nokprobe_inline void kprobe_nested_finish(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long ip = instruction_pointer(regs);

	if (p->post_handler) {
		arch_kprobe_begin_post(regs);
		__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_SSDONE);
		kprobe_nested_post(p, regs);
		if (instruction_pointer(regs) != ip)
			arch_kprobe_redirect(regs);
	}
	arch_kprobe_continue(regs);
	kprobe_nesting_end();
}

/*
 * A hit inside another one. If no handler may be called, it has been counted as missed, and only
 * the instruction is executed. A step has the status KPROBE_REENTER then, else KPROBE_HIT_SS as
 * well.
 */
static void kprobe_hit_nested(struct kprobe *p, struct pt_regs *regs)
{
	bool handled = kprobe_nested_begin(p, KPROBE_TRAP_CONTEXT), in_copy = true;

	if (handled && kprobe_nested_pre(p, regs)) {
		arch_kprobe_redirect(regs);
		arch_kprobe_continue(regs);
	} else if (arch_kprobe_enter_copies(p, regs)) {
		;
	} else if (handled ? kprobe_is_boosted(p) : p->ainsn.boost) {
		kprobe_enter_boosted(p, regs);
	} else {
		in_copy = false;
	}
	if (in_copy) {
		if (handled)
			kprobe_nesting_end();
		return;
	}

	if (arch_kprobe_emulate(p, regs)) {
		if (handled)
			kprobe_nested_finish(p, regs);
		else
			arch_kprobe_continue(regs);
		return;
	}
	if (!handled)
		kprobe_nesting_begin(p);
	kprobe_step_begin(p, regs, handled ? KPROBE_HIT_SS | KPROBE_REENTER : KPROBE_REENTER);
}
NOKPROBE_SYMBOL(kprobe_hit_nested);

/* The end of a step inside another hit. */
static void kprobe_nested_step_end(struct kprobe *p, struct pt_regs *regs)
{
	if (__this_cpu_read(kprobe_ctlblk.kprobe_status) & KPROBE_HIT_SS) {
		kprobe_nested_finish(p, regs);
	} else {
		arch_kprobe_continue(regs);
		kprobe_nesting_end();
	}
}
NOKPROBE_SYMBOL(kprobe_nested_step_end);

/**
 * kprobe_hit() - a breakpoint was hit
 * @p: its probe
 * @regs: state at the breakpoint; set to where execution continues
 *
 * Context: the exception, interrupts off.
 */
static nokprobe_inline void kprobe_hit(struct kprobe *p, struct pt_regs *regs)
{
	if (unlikely(!kprobe_hit_enter(kprobe_cpu_addr(current_kprobe), p))) {
		kprobe_hit_nested(p, regs);
		return;
	}

	/* Non-zero: the handler has set where execution continues. */
	if (unlikely(kprobe_hit_pre(p, regs))) {
		arch_kprobe_redirect(regs);
		arch_kprobe_continue(regs);
		reset_current_kprobe();
	} else if (unlikely(arch_kprobe_enter_copies(p, regs))) {
		reset_current_kprobe();
	} else if (likely(READ_ONCE(p->flags) & KPROBE_FLAG_BOOSTED)) {
		reset_current_kprobe();
		kprobe_enter_boosted(p, regs);
	} else if (arch_kprobe_emulate(p, regs)) {
		kprobe_hit_finish(kprobe_cpu_addr(kprobe_ctlblk), p, regs);
	} else {
		kprobe_step_begin(p, regs, KPROBE_HIT_SS);
	}
}

/**
 * kprobe_step_end() - an exception that may be the end of a step
 * @regs: state at it; set to that of the program after the instruction
 * @addr: where the exception was raised, or that of the breakpoint
 *
 * Context: the exception, interrupts off.
 * Return: true if it is the end of a step.
 */
static nokprobe_inline bool kprobe_step_end(struct pt_regs *regs, unsigned long addr)
{
	struct kprobe_ctlblk __kprobe_cpu *kcb;
	struct kprobe *p = kprobe_stepped();

	if (unlikely(!p || addr != kprobe_step_addr(p) + arch_kprobe_len(p)))
		return false;

	kcb = kprobe_cpu_addr(kprobe_ctlblk);
	arch_kprobe_unmask(regs, &kcb->step);
	instruction_pointer_set(regs, (unsigned long)p->addr + arch_kprobe_len(p));
	arch_kprobe_leave_copy(p, regs);
	if (unlikely(kprobe_cpu_read(&kcb->kprobe_status) != KPROBE_HIT_SS))
		kprobe_nested_step_end(p, regs);
	else
		kprobe_hit_finish(kcb, p, regs);
	return true;
}

/**
 * kprobe_hit_fault() - a fault while a probe is current
 * @regs: state at the fault
 * @trapnr: what fault handlers see as its number
 *
 * Fault handlers come first, for faults of the instruction and of handlers. If they do not handle
 * it, a fault of a copy becomes one of the instruction itself.
 *
 * Context: the exception.
 * Return: true if a fault handler has handled it. It may have abandoned the step. False otherwise:
 *	   a step has been abandoned.
 */
static nokprobe_inline bool kprobe_hit_fault(struct pt_regs *regs, int trapnr)
{
	struct kprobe *p = kprobe_stepped_at(regs);
	int handled = 0;

	if (!p) {
		handled = kprobe_handler_fault(regs, trapnr);
		if (handled)
			arch_kprobe_redirect(regs);
		return handled;
	}

	if (__this_cpu_read(kprobe_ctlblk.kprobe_status) == KPROBE_HIT_SS && p->fault_handler) {
		/* A fault in the fault handler is not a fault of the step. */
		__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_ACTIVE);
		handled = kprobe_site_fault_handler(p, regs, trapnr);
		__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_SS);
	}
	if (!handled) {
		kprobe_step_abandon(regs);
		instruction_pointer_set(regs, (unsigned long)p->addr);
	} else if (instruction_pointer(regs) != kprobe_step_addr(p)) {
		kprobe_step_abandon(regs);
		arch_kprobe_redirect(regs);
	}
	return handled;
}

#endif /* _LINUX_KPROBES_BREAKPOINT_H */
