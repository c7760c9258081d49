// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path on arm64: the breakpoint, the instruction under it, the faults of both, and
 * redirections from detours. <linux/kprobes-breakpoint.h> has what all architectures share, and
 * detour_entry.S the code of detours.
 *
 * Emulated are the instructions that cannot be copied, which are simulated, as are NOPs, landing
 * pads and moves of registers. If an instruction only computes, the handler of the breakpoint calls
 * a copy of it.
 *
 * The exceptions mask interrupts and pseudo-NMIs. A firmware event (SDEI) or a fault may still come
 * anywhere, and may hit probes.
 */

#include <linux/cpufeature.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>

#include <asm/arch_gicv3.h>
#include <asm/daifflags.h>
#include <asm/debug-monitors.h>
#include <asm/insn.h>

#include "detour.h"

/*
 * After an indirect branch, PSTATE.BTYPE is non-zero, and the branch target must be a landing pad.
 * All other instructions clear it. Code that changes the PC must clear it as well.
 */
static nokprobe_inline void clear_btype(struct pt_regs *regs)
{
	regs->pstate &= ~PSR_BTYPE_MASK;
}

/*
 * With pseudo-NMIs, the priority mask in the handler of an exception. It masks no priority, but
 * GIC_PRIO_PSR_I_SET records that PSTATE masks interrupts. irqs_disabled() looks only at this mask.
 */
#define PMR_MASKED	(GIC_PRIO_IRQON | GIC_PRIO_PSR_I_SET)

#define arch_kprobe_len(p)		AARCH64_INSN_SIZE

/* A simulated indirect branch asks for a landing pad. No step does. */
#define arch_kprobe_redirect(regs)	clear_btype(regs)

/* A fault in a step inherits the priority mask, which therefore has to mask interrupts as well. */
static nokprobe_inline void arch_kprobe_mask(struct pt_regs *regs, struct arch_kprobe_step *step)
{
	step->daif = regs->pstate & DAIF_MASK;
	regs->pstate |= DAIF_MASK;
	if (system_uses_irq_prio_masking()) {
		step->pmr = regs->pmr;
		regs->pmr = PMR_MASKED;
	}
}

static nokprobe_inline void arch_kprobe_unmask(struct pt_regs *regs,
					       const struct arch_kprobe_step *step)
{
	regs->pstate = (regs->pstate & ~DAIF_MASK) | step->daif;
	if (system_uses_irq_prio_masking())
		regs->pmr = step->pmr;
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

	*result = call_copy((unsigned long)p->ainsn.insn + KPROBE_STEP_OFFSET, &flags, *result,
			    n == 31 ? program_sp(regs) : file[n], file[m], file[a]);
	regs->pstate = (regs->pstate & ~(FLAGS | PSR_BTYPE_MASK)) | flags;
	instruction_pointer_set(regs, (unsigned long)p->addr + AARCH64_INSN_SIZE);
}

static nokprobe_inline bool arch_kprobe_emulate(struct kprobe *p, struct pt_regs *regs)
{
	if (p->ainsn.api.handler)
		p->ainsn.api.handler(p->opcode, (long)p->addr, regs);
	else if (p->ainsn.computes)
		compute(p, regs);
	else
		return false;
	return true;
}

#include <linux/kprobes-breakpoint.h>

/**
 * struct kprobe_redirection - where a task continues that a handler has redirected
 * @pc: the address
 * @masks: the interrupt masks of the program
 *
 * Used from arch_leave_detour() to the breakpoint at the end of the detour. In between,
 * interrupts are masked, so the task stays on its CPU. The hit ends only at that breakpoint, so
 * that probes in the tracers that the exception entry calls are missed. Hence no other handler can
 * redirect on this CPU in the meantime.
 */
struct kprobe_redirection {
	unsigned long		pc;
	struct arch_kprobe_step	masks;
};

static DEFINE_PER_CPU(struct kprobe_redirection, kprobe_redirection);

/* The callback ends by enabling preemption, which must see that interrupts are off. */
static nokprobe_inline u32 mask_priorities(void)
{
	u32 pmr = 0;

	if (system_uses_irq_prio_masking()) {
		pmr = gic_read_pmr();
		gic_write_pmr(PMR_MASKED);
	}
	return pmr;
}

int arch_leave_detour(struct optimized_kprobe *op, struct pt_regs *regs)
{
	unsigned long pc = instruction_pointer(regs), daif;
	struct kprobe_redirection *r;

	if (pc == regs->regs[30]) {
		kprobe_hit_leave();
		return KPROBE_DETOUR_RETURN;
	}

	/*
	 * local_daif_mask() would notify lockdep, which runs code that can be probed. Lockdep need
	 * not know: the breakpoint handler restores the masks that it has on record.
	 */
	daif = read_sysreg(daif);
	asm volatile("msr daifset, #0xf" ::: "memory");
	/* A handler in a firmware event must not redirect now. */
	__this_cpu_write(kprobe_current.context, KPROBE_CONTEXT_CLOSED);
	r = this_cpu_ptr(&kprobe_redirection);
	r->pc = pc;
	r->masks.daif = daif & DAIF_MASK;
	r->masks.pmr = mask_priorities();
	return KPROBE_DETOUR_REDIRECT;
}
NOKPROBE_SYMBOL(arch_leave_detour);

/* Resume at the address that a handler in a detour has set, after the breakpoint at its end. */
static nokprobe_inline bool detour_redirect(struct pt_regs *regs)
{
	struct kprobe_redirection *r = this_cpu_ptr(&kprobe_redirection);

	if (instruction_pointer(regs) != (unsigned long)kprobe_detour_brk)
		return false;

	instruction_pointer_set(regs, r->pc);
	arch_kprobe_unmask(regs, &r->masks);
	clear_btype(regs);
	kprobe_hit_leave();
	return true;
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

	kprobe_hit(p, regs);
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
	if (likely(kprobe_step_end(regs, instruction_pointer(regs))) ||
	    detour_redirect(regs))
		return DBG_HOOK_HANDLED;

	return DBG_HOOK_ERROR;
}
NOKPROBE_SYMBOL(kprobe_ss_brk_handler);

/**
 * kprobe_fault_handler() - a fault while a probe is current
 * @regs: state at the fault
 * @esr: syndrome of the exception, which fault handlers see as the trap number
 *
 * Context: the exception.
 * Return: 1 if a fault handler has handled it, else 0.
 */
int kprobe_fault_handler(struct pt_regs *regs, unsigned int esr)
{
	bool stepped = kprobe_stepped_at(regs);
	bool handled = kprobe_hit_fault(regs, esr);

	/*
	 * The step has been abandoned. From here on, this is a fault of the program, which may kill
	 * the task, or be preempted at its exit: use the masks of the program.
	 */
	if (stepped && !kprobe_stepped_at(regs))
		local_daif_inherit(regs);
	return handled;
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
	p = kprobe_stepped_at(regs);
	if (p) {
		kprobe_step_abandon(regs);
		instruction_pointer_set(regs, (unsigned long)p->addr);
		local_daif_inherit(regs);
	} else {
		instruction_pointer_set(regs, kprobe_unwind_pc(instruction_pointer(regs), regs));
	}
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(kprobe_leave_slot);
