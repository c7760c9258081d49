// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of breakpoints on arm64: the breakpoint, the instruction under it, and the
 * faults of both.
 *
 * A boosted copy of the instruction branches back by itself. Instructions that cannot be copied
 * are simulated in the exception.
 *
 * With a post handler or a fault handler, or without a slot in reach, there is no boosted copy to
 * use. In these cases, NOPs, landing pads and moves of registers are simulated as well. If the
 * instruction only computes, the handler of the breakpoint calls a copy of it. Any other copy is
 * stepped: it runs with interrupts masked, up to a second breakpoint.
 *
 * The exceptions mask interrupts and pseudo-NMIs. All state is per CPU. A firmware event (SDEI) or
 * a fault may still come between any two accesses to it, and may hit probes. Both restore
 * everything that they change, so they only must not find half-written state.
 */

#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include <asm/debug-monitors.h>

#include "common.h"

DEFINE_PER_CPU(struct kprobe *, current_kprobe);
DEFINE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk) = {
	.kprobe_status = KPROBE_HIT_ACTIVE,
};

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
 * Interrupts stay masked during the step, so that it ends on this CPU. A fault in the step
 * inherits the priority mask, which therefore has to mask interrupts as well.
 */
static nokprobe_inline void step_begin(struct kprobe *p, struct pt_regs *regs,
				       unsigned long status)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();

	kcb->step.masks.daif = regs->pstate & DAIF_MASK;
	regs->pstate |= DAIF_MASK;
	if (system_uses_irq_prio_masking()) {
		kcb->step.masks.pmr = regs->pmr;
		regs->pmr = KPROBE_PMR_MASKED;
	}
	instruction_pointer_set(regs, step_addr(p));
	barrier();
	kcb->kprobe_status = status;
}

/* Is the current probe of this CPU being stepped? */
static nokprobe_inline bool is_stepping(const struct kprobe *running,
					const struct kprobe_ctlblk *kcb)
{
	return running && kcb->kprobe_status & (KPROBE_HIT_SS | KPROBE_REENTER);
}

static nokprobe_inline void continue_in_slot(struct kprobe *p, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)p->ainsn.insn + KPROBE_BOOST_OFFSET);
}

#define FLAGS	((u64)(PSR_N_BIT | PSR_Z_BIT | PSR_C_BIT | PSR_V_BIT))

/*
 * The stack pointer of the program. Handlers cannot change it, whatever they write to @regs,
 * which the exception has put below it.
 */
static nokprobe_inline u64 program_sp(struct pt_regs *regs)
{
	return (unsigned long)(regs + 1);
}

/* Call a copy that computes: x0 from x0 to x3 and the flags. RET needs no landing pad there. */
static nokprobe_inline u64 call_copy(unsigned long copy, u64 *flags, u64 d, u64 n, u64 m, u64 a)
{
	register u64 rd asm("x0") = d;
	register u64 rn asm("x1") = n;
	register u64 rm asm("x2") = m;
	register u64 ra asm("x3") = a;

	asm volatile("	msr	nzcv, %[flags]\n"
		     "	adr	x30, 1f\n"
		     "	ret	%[copy]\n"
		     "1:	mrs	%[flags], nzcv\n"
		     : "+r" (rd), [flags] "+&r" (*flags)
		     : "r" (rn), "r" (rm), "r" (ra), [copy] "r" (copy)
		     : "x30", "cc");
	return rd;
}

/*
 * See probe_insn_computation(). Every field that can name a register provides an operand. The copy
 * ignores the operand if the field encodes something else or names the zero register. Only the
 * stack pointer is a special case. Struct pt_regs has it in place of register 31, but handlers may
 * have written to that member.
 */
static nokprobe_inline void compute(struct kprobe *p, struct pt_regs *regs)
{
	u64 *file = (u64 *)&regs->user_regs, *result = &file[p->opcode & 31];
	unsigned int n = p->opcode >> 5 & 31, m = p->opcode >> 16 & 31, a = p->opcode >> 10 & 31;
	u64 flags = regs->pstate & FLAGS;

	*result = call_copy(step_addr(p), &flags, *result,
			    n == 31 ? program_sp(regs) : file[n], file[m], file[a]);
	regs->pstate = (regs->pstate & ~(FLAGS | PSR_BTYPE_MASK)) | flags;
	instruction_pointer_set(regs, (unsigned long)p->addr + AARCH64_INSN_SIZE);
}

/* Execute the instruction here, if that is possible. */
static nokprobe_inline bool emulate(struct kprobe *p, struct pt_regs *regs)
{
	if (p->ainsn.api.handler)
		p->ainsn.api.handler(p->opcode, (long)p->addr, regs);
	else if (p->ainsn.computes)
		compute(p, regs);
	else
		return false;
	return true;
}

/* A nested hit, already counted as missed: only execute the instruction. */
static void kprobe_hit_nested(struct kprobe *p, struct pt_regs *regs)
{
	if (p->ainsn.boost) {
		continue_in_slot(p, regs);
	} else if (!emulate(p, regs)) {
		kprobe_nesting_begin(p);
		step_begin(p, regs, KPROBE_REENTER);
	}
}
NOKPROBE_SYMBOL(kprobe_hit_nested);

static nokprobe_inline void hit_end(struct kprobe *p, struct pt_regs *regs, bool emulated)
{
	unsigned long pc;

	/* Once it is set, the post handler of a site stays. */
	if (READ_ONCE(p->post_handler)) {
		pc = instruction_pointer(regs);
		set_status(KPROBE_HIT_SSDONE);
		kprobe_call_post(p, regs);
		/* A simulated indirect branch would ask for a landing pad there. */
		if (emulated && unlikely(instruction_pointer(regs) != pc))
			kprobe_clear_btype(regs);
	}
	kprobe_hit_leave_changed();
}

/* Execute the instruction, or have the CPU do so. */
static nokprobe_inline void resume(struct kprobe *p, struct pt_regs *regs)
{
	if (likely(kprobe_is_boosted(p))) {
		kprobe_hit_leave();
		continue_in_slot(p, regs);
	} else if (emulate(p, regs)) {
		hit_end(p, regs, true);
	} else {
		step_begin(p, regs, KPROBE_HIT_SS);
	}
}

/**
 * kprobe_brk_handler() - handle the breakpoint of a probe
 * @regs: registers at the breakpoint
 * @esr: syndrome of the exception
 *
 * A site stays in the table until all CPUs have left its breakpoint. Therefore a breakpoint
 * without a site does not belong to kprobes.
 *
 * Context: the exception, interrupts masked.
 * Return: DBG_HOOK_HANDLED, or DBG_HOOK_ERROR if there is no probe.
 */
int kprobe_brk_handler(struct pt_regs *regs, unsigned long esr)
{
	struct kprobe *p = get_kprobe((void *)instruction_pointer(regs));

	if (unlikely(!p))
		return DBG_HOOK_ERROR;

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

	if (unlikely(!is_stepping(p, kcb) ||
		     instruction_pointer(regs) != step_addr(p) + AARCH64_INSN_SIZE))
		return kprobe_detour_redirect(regs) ? DBG_HOOK_HANDLED : DBG_HOOK_ERROR;

	kprobe_restore_masks(regs, &kcb->step.masks);
	instruction_pointer_set(regs, (unsigned long)p->addr + AARCH64_INSN_SIZE);
	if (unlikely(kcb->kprobe_status == KPROBE_REENTER))
		kprobe_nesting_end();
	else
		hit_end(p, regs, false);
	return DBG_HOOK_HANDLED;
}
NOKPROBE_SYMBOL(kprobe_ss_brk_handler);

/**
 * kretprobe_brk_handler() - refuse KRETPROBES_BRK_IMM, as no return trampoline has a breakpoint
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

/* End a step as if its instruction had not started. If it is restarted, it is hit again. */
static nokprobe_inline void abandon_step(struct kprobe *p, struct pt_regs *regs)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();

	kprobe_restore_masks(regs, &kcb->step.masks);
	if (kcb->kprobe_status == KPROBE_REENTER)
		kprobe_nesting_end();
	else
		kprobe_hit_leave_changed();
}

/**
 * kprobe_fault_handler() - a fault while a probe is current
 * @regs: state at the fault
 * @esr: syndrome of the exception, which fault handlers see as the trap number
 *
 * Fault handlers are called first, for faults of the instruction and of handlers. Then a fault
 * in a copy is attributed to the probed instruction.
 *
 * Context: the exception.
 * Return: 1 if a fault handler has handled it, else 0.
 */
int kprobe_fault_handler(struct pt_regs *regs, unsigned int esr)
{
	struct kprobe *p = kprobe_running();

	if (!is_stepping(p, get_kprobe_ctlblk()) || instruction_pointer(regs) != step_addr(p)) {
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
				/* Use the program's masks: the exit may preempt the task. */
				local_daif_inherit(regs);
			}
			return 1;
		}
		set_status(KPROBE_HIT_SS);
	}

	abandon_step(p, regs);
	instruction_pointer_set(regs, (unsigned long)p->addr);
	/* From here on, this is a fault of the program, which may kill the task: use its masks. */
	local_daif_inherit(regs);
	return 0;
}
NOKPROBE_SYMBOL(kprobe_fault_handler);

/**
 * kprobe_leave_slot() - report a fatal exception at the probed instruction
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
	if (is_stepping(p, get_kprobe_ctlblk()) && instruction_pointer(regs) == step_addr(p)) {
		abandon_step(p, regs);
		instruction_pointer_set(regs, (unsigned long)p->addr);
		local_daif_inherit(regs);
	} else {
		instruction_pointer_set(regs, kprobe_unwind_pc(instruction_pointer(regs), regs));
	}
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(kprobe_leave_slot);
