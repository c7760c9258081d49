// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of breakpoints on x86: the breakpoint, the instruction under it, and
 * the faults of both. <linux/kprobes-breakpoint.h> has what all architectures share.
 */

#include <linux/extable.h>
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include <asm/trapnr.h>

#include "common.h"

/*
 * A value of orig_ax, which the entry of a breakpoint sets to -1 and nothing else uses: ip
 * is where the program continues. Before that, it is the address after the breakpoint,
 * which is the same address if the instruction has a single byte.
 */
#define ORIG_AX_CONTINUES		0x6b700cc3
#define arch_kprobe_continue(regs)	((regs)->orig_ax = ORIG_AX_CONTINUES)

#define arch_kprobe_len(p)		((p)->ainsn.len)

/* Post handlers see orig_ax as it was. */
#define arch_kprobe_begin_post(regs)							\
do {											\
	__this_cpu_write(kprobe_ctlblk.step.post_regs, regs);				\
	barrier();									\
} while (0)

static nokprobe_inline bool arch_kprobe_emulate(struct kprobe *p, struct pt_regs *regs)
{
	bool emulated = kprobe_op_is_emulated(p->ainsn.op);

	if (emulated)
		kprobe_emulate(p, regs);
	return emulated;
}

static nokprobe_inline void arch_kprobe_mask(struct pt_regs *regs,
					     struct arch_kprobe_step __percpu *step)
{
	kprobe_cpu_write(&step->flags, regs->flags & X86_EFLAGS_IF);
	regs->flags &= ~X86_EFLAGS_IF;
}

static nokprobe_inline void arch_kprobe_unmask(struct pt_regs *regs,
					       struct arch_kprobe_step __percpu *step)
{
	regs->flags |= kprobe_cpu_read(&step->flags);
}

/* The copy of an indirect call or jump has pushed the target. */
static nokprobe_inline void arch_kprobe_leave_copy(const struct kprobe *p, struct pt_regs *regs)
{
	unsigned long next = regs->ip;

	if (p->ainsn.op == KPROBE_OP_STEP_CALL || p->ainsn.op == KPROBE_OP_STEP_JMP)
		regs->ip = int3_emulate_pop(regs);
	if (p->ainsn.op == KPROBE_OP_STEP_CALL)
		int3_emulate_push(regs, next);
}

#define arch_kprobe_leave_copy arch_kprobe_leave_copy
#include <linux/kprobes-breakpoint.h>

/*
 * Does a breakpoint at the address of @p belong to another subsystem? ftrace calls the
 * probe of an ftrace site, so it has none. A disabled probe may still be hit by a CPU that
 * trapped before.
 */
static bool kprobe_is_foreign(const struct kprobe *p, u32 flags)
{
	return flags & KPROBE_FLAG_FTRACE || kprobe_is_kgdb_breakpoint((unsigned long)p->addr);
}
NOKPROBE_SYMBOL(kprobe_is_foreign);

/* The probe that owns the breakpoint at an address. */
static nokprobe_inline struct kprobe *find_breakpoint(unsigned long addr)
{
	struct kprobe *p = get_kprobe((void *)addr);
	u32 flags;

	if (!p)
		return NULL;

	flags = READ_ONCE(p->flags);
	if (unlikely(flags & (KPROBE_FLAG_FTRACE | KPROBE_FLAG_DISABLED)) &&
	    kprobe_is_foreign(p, flags))
		return NULL;
	return p;
}

/**
 * kprobe_unwind_ip() - the address whose unwind data describes the stack
 * @ip: from registers that are on the current stack
 *
 * In the registers of a handler, ip is the address after the breakpoint. But the probed
 * instruction has not been executed, and may have a single byte, such as PUSH.
 *
 * Context: any.
 * Return: the address of the next instruction.
 */
unsigned long kprobe_unwind_ip(unsigned long ip)
{
	/* Where this could be preempted there is no current probe. */
	const struct kprobe_ctlblk *kcb = raw_cpu_ptr(&kprobe_ctlblk);
	const struct kprobe *p = raw_cpu_read(current_kprobe);
	unsigned long status = READ_ONCE(kcb->kprobe_status);
	unsigned int depth = READ_ONCE(kcb->depth);

	while (p) {
		if (status == KPROBE_HIT_ACTIVE && ip == (unsigned long)p->addr + INT3_INSN_SIZE)
			return (unsigned long)p->addr;
		if (!depth--)
			break;
		p = READ_ONCE(kcb->prev_kprobe[depth].kp);
		status = READ_ONCE(kcb->prev_kprobe[depth].status);
	}

	return ip;
}
NOKPROBE_SYMBOL(kprobe_unwind_ip);

/* Does a post handler run on this CPU, or has been interrupted, that was passed these registers? */
static nokprobe_inline bool is_in_post_handler(const struct pt_regs *regs)
{
	const struct kprobe_ctlblk *kcb = raw_cpu_ptr(&kprobe_ctlblk);
	unsigned int depth = READ_ONCE(kcb->depth);

	if (!raw_cpu_read(current_kprobe))
		return false;
	if (READ_ONCE(kcb->kprobe_status) == KPROBE_HIT_SSDONE &&
	    READ_ONCE(kcb->step.post_regs) == regs)
		return true;

	while (depth--) {
		if (READ_ONCE(kcb->prev_kprobe[depth].status) == KPROBE_HIT_SSDONE &&
		    READ_ONCE(kcb->prev_kprobe[depth].step.post_regs) == regs)
			return true;
	}
	return false;
}

/**
 * kprobe_unwind_trap_ip() - kprobe_unwind_ip() for registers saved by a breakpoint
 * @ip: from these registers
 * @regs: the registers, or NULL while the entry of the exception has not completed them
 *
 * An NMI may come before there is a current probe, or when there is none any more. And a
 * hit inside another one may never be the current one.
 *
 * Context: any; preemption off.
 * Return: the address of the next instruction.
 */
unsigned long kprobe_unwind_trap_ip(unsigned long ip, const struct pt_regs *regs)
{
	struct kprobe *p;

	if (regs && (READ_ONCE(regs->orig_ax) == ORIG_AX_CONTINUES || is_in_post_handler(regs)))
		return ip;

	p = find_breakpoint(ip - INT3_INSN_SIZE);
	return p ? (unsigned long)p->addr : ip;
}
NOKPROBE_SYMBOL(kprobe_unwind_trap_ip);

/* Not inline, so that a hit need not save registers for it. */
static noinline int kprobe_int3_of_step(struct pt_regs *regs, unsigned long addr)
{
	if (user_mode(regs) || !kprobe_step_end(regs, addr))
		return 0;
	/*
	 * After an exception of the step, interrupts are off for lockdep: its end did not change
	 * that, as the step runs with interrupts off. Nor would the end of this exception, which
	 * restores what lockdep knew at its start.
	 */
	if (IS_ENABLED(CONFIG_PROVE_LOCKING) && regs->flags & X86_EFLAGS_IF)
		lockdep_hardirqs_on(_RET_IP_);
	return 1;
}
NOKPROBE_SYMBOL(kprobe_int3_of_step);

/**
 * kprobe_int3_handler() - a breakpoint was executed
 * @regs: state after it
 *
 * A site stays in the table until all CPUs have left its breakpoint. So a breakpoint
 * whose site is not found belongs to another subsystem, as does one at a site that has no
 * breakpoint of its own.
 *
 * Context: the exception, interrupts off; also in NMI.
 * Return: 1 if it was that of a probe, else 0.
 */
int kprobe_int3_handler(struct pt_regs *regs)
{
	unsigned long addr = regs->ip - INT3_INSN_SIZE;
	struct kprobe *p;

	/* In a segment with a base, the ip of a program may seem to be an address of the kernel. */
	if (IS_ENABLED(CONFIG_X86_32) && user_mode(regs))
		return 0;

	p = find_breakpoint(addr);
	if (unlikely(!p))
		return kprobe_int3_of_step(regs, addr);

	kprobe_hit(p, regs);
	return 1;
}
NOKPROBE_SYMBOL(kprobe_int3_handler);

/**
 * kprobe_fault_handler() - a fault while a probe is current
 * @regs: state at the fault
 * @trapnr: X86_TRAP_PF, before fixups; or another trap, for which the address of the copy
 *	    has no fixup
 *
 * A fault of a copy may have an entry in the exception table for the instruction itself. When the
 * page is present, or after the task has slept, the instruction is executed again, and its handlers
 * are called again.
 *
 * Context: the exception.
 * Return: 1 if a fault handler or a fixup has handled it, else 0.
 */
int kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	if (kprobe_hit_fault(regs, trapnr))
		return 1;

	return trapnr != X86_TRAP_PF &&
	       fixup_exception(regs, trapnr, current->thread.error_code, 0);
}
NOKPROBE_SYMBOL(kprobe_fault_handler);

/*
 * A copy or a handler may also divide by zero, execute an invalid opcode, or load a
 * segment that is not present. As with protection faults, a trap of a handler that has
 * a fixup is not offered to its fault handler.
 */
int kprobe_exceptions_notify(struct notifier_block *self, unsigned long val,
			     void *data)
{
	struct die_args *args = data;

	if (val != DIE_TRAP || user_mode(args->regs) || preemptible())
		return NOTIFY_DONE;
	/* After a double fault nothing can be resumed. */
	if (!kprobe_running() || args->trapnr == X86_TRAP_DF)
		return NOTIFY_DONE;

	if (!kprobe_stepped_at(args->regs) && search_exception_tables(args->regs->ip))
		return NOTIFY_DONE;

	return kprobe_fault_handler(args->regs, args->trapnr) ? NOTIFY_STOP : NOTIFY_DONE;
}
NOKPROBE_SYMBOL(kprobe_exceptions_notify);
