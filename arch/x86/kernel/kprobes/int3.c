// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hit path of kprobes on x86: the breakpoint, the instruction under it, and
 * the faults of both.
 *
 * An instruction is executed in the cheapest way that will do. A boosted copy
 * jumps back by itself; with somebody waiting for its end, an emulated one is
 * over in the same trap; the rest is stepped, with interrupts off, up to a
 * second breakpoint behind the copy.
 *
 * All state is of the CPU, and an NMI may come between any two accesses to it.
 * It leaves everything as it was; so each of these functions has only to keep
 * what is half written out of its sight.
 */

#include <linux/extable.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include <asm/trapnr.h>

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

/* Interrupts stay off for the step, so that it stays on this CPU. */
static nokprobe_inline void step_begin(struct kprobe *p, struct pt_regs *regs,
				       unsigned long status)
{
	__this_cpu_write(kprobe_ctlblk.saved_flags, regs->flags & X86_EFLAGS_IF);
	regs->flags &= ~X86_EFLAGS_IF;
	regs->ip = step_addr(p);
	barrier();
	set_status(status);
}

/* The probe that is being stepped on this CPU, or NULL. */
static nokprobe_inline struct kprobe *stepped_kprobe(void)
{
	struct kprobe *p = kprobe_running();

	return p && kprobe_status() & (KPROBE_HIT_SS | KPROBE_REENTER) ? p : NULL;
}

/**
 * kprobe_unwind_ip() - where an unwinder looks up what the stack is like
 * @ip: of registers that are on the current stack
 *
 * Those that handlers get have it behind the breakpoint. But the instruction there
 * has not been executed, and may be one of a single byte, such as PUSH.
 *
 * Context: any.
 * Return: the address of the instruction that is next.
 */
unsigned long kprobe_unwind_ip(unsigned long ip)
{
	/* There is none where this could be preempted. */
	struct kprobe *p = raw_cpu_read(current_kprobe);

	if (p && raw_cpu_read(kprobe_ctlblk.kprobe_status) == KPROBE_HIT_ACTIVE &&
	    ip == (unsigned long)p->addr + INT3_INSN_SIZE)
		return (unsigned long)p->addr;

	return ip;
}
NOKPROBE_SYMBOL(kprobe_unwind_ip);

/**
 * kprobe_unwind_trap_ip() - the same for registers that a breakpoint has saved
 * @ip: of these registers
 *
 * An NMI may come before there is a current probe, and a hit inside another one
 * never becomes the current probe. A probe that does not emulate its instruction
 * leaves with the address of a copy, so @ip shows that it has not yet left.
 *
 * Context: any; preemption off.
 * Return: the address of the instruction that is next.
 */
unsigned long kprobe_unwind_trap_ip(unsigned long ip)
{
	struct kprobe *p = find_kprobe(ip - INT3_INSN_SIZE);

	if (p && (kprobe_is_boosted(p) || !kprobe_op_is_emulated(p->ainsn.op)))
		return (unsigned long)p->addr;

	return kprobe_unwind_ip(ip);
}
NOKPROBE_SYMBOL(kprobe_unwind_trap_ip);

/*
 * A hit inside another one. The depth comes first and goes last: an NMI in
 * between uses the place above.
 */
static nokprobe_inline void nesting_begin(struct kprobe *p)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();
	struct prev_kprobe *prev = &kcb->prev_kprobe[kcb->depth];

	if (unlikely(kcb->depth == KPROBE_MAX_NESTING)) {
		dump_kprobe(p);
		BUG();
	}

	kcb->depth++;
	barrier();
	prev->kp = kprobe_running();
	prev->status = kcb->kprobe_status;
	prev->saved_flags = kcb->saved_flags;
	__this_cpu_write(current_kprobe, p);
}

static nokprobe_inline void nesting_end(void)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();
	struct prev_kprobe *prev = &kcb->prev_kprobe[kcb->depth - 1];

	kcb->kprobe_status = prev->status;
	kcb->saved_flags = prev->saved_flags;
	__this_cpu_write(current_kprobe, prev->kp);
	barrier();
	kcb->depth--;
}

/* Handlers of another probe are running: only the instruction is executed. */
static void kprobe_hit_missed(struct kprobe *p, struct pt_regs *regs)
{
	kprobes_inc_nmissed_count(p);

	if (kprobe_enter_copies(p, regs))
		return;
	if (p->ainsn.boost) {
		regs->ip = (unsigned long)p->ainsn.insn + KPROBE_BOOST_OFFSET;
	} else if (kprobe_op_is_emulated(p->ainsn.op)) {
		kprobe_emulate(p, regs);
	} else {
		nesting_begin(p);
		step_begin(p, regs, KPROBE_REENTER);
	}
}
NOKPROBE_SYMBOL(kprobe_hit_missed);

static nokprobe_inline void hit_end(struct kprobe *p, struct pt_regs *regs)
{
	/* A user may come meanwhile, but it stays: the site's own is sticky. */
	if (READ_ONCE(p->post_handler)) {
		set_status(KPROBE_HIT_SSDONE);
		kprobe_site_post_handler(p, regs, 0);
	}
	reset_current_kprobe();
}

/* Executes the instruction, or sees to it that the CPU will. */
static nokprobe_inline void resume(struct kprobe *p, struct pt_regs *regs)
{
	if (unlikely(kprobe_enter_copies(p, regs))) {
		reset_current_kprobe();
	} else if (likely(kprobe_is_boosted(p))) {
		reset_current_kprobe();
		regs->ip = (unsigned long)p->ainsn.insn + KPROBE_BOOST_OFFSET;
	} else if (kprobe_op_is_emulated(p->ainsn.op)) {
		kprobe_emulate(p, regs);
		hit_end(p, regs);
	} else {
		step_begin(p, regs, KPROBE_HIT_SS);
	}
}

/* Where the program would be now, had the copy been the instruction itself. */
static nokprobe_inline void leave_copy(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long next = (unsigned long)p->addr + p->ainsn.len;

	regs->flags |= __this_cpu_read(kprobe_ctlblk.saved_flags);
	regs->ip = next;

	/* The target was pushed. */
	if (p->ainsn.op == KPROBE_OP_STEP_CALL || p->ainsn.op == KPROBE_OP_STEP_JMP)
		regs->ip = int3_emulate_pop(regs);
	if (p->ainsn.op == KPROBE_OP_STEP_CALL)
		int3_emulate_push(regs, next);
}

/* Is it the breakpoint at the end of a step? */
static int kprobe_step_end(struct pt_regs *regs, unsigned long addr)
{
	struct kprobe *p = stepped_kprobe();

	if (!p || addr != step_addr(p) + p->ainsn.len)
		return 0;

	leave_copy(p, regs);
	if (kprobe_status() == KPROBE_REENTER)
		nesting_end();
	else
		hit_end(p, regs);
	return 1;
}
NOKPROBE_SYMBOL(kprobe_step_end);

/**
 * kprobe_int3_handler() - a breakpoint was executed
 * @regs: state behind it
 *
 * A site stays in the table until all CPUs have passed its breakpoint, so what
 * is not found is not ours.
 *
 * Context: the exception, interrupts off; also in NMI.
 * Return: 1 if it was a probe's, else 0.
 */
int kprobe_int3_handler(struct pt_regs *regs)
{
	unsigned long addr = regs->ip - INT3_INSN_SIZE;
	struct kprobe *p;

	if (user_mode(regs))
		return 0;

	p = find_kprobe(addr);
	if (unlikely(!p))
		return kprobe_step_end(regs, addr);

	if (unlikely(kprobe_running())) {
		kprobe_hit_missed(p, regs);
		return 1;
	}

	kprobe_hit_begin(p);
	/* Non-zero: the handler has said where to go on. */
	if (unlikely(kprobe_call_pre(p, regs))) {
		kprobe_redirect(regs);
		reset_current_kprobe();
	} else {
		resume(p, regs);
	}
	return 1;
}
NOKPROBE_SYMBOL(kprobe_int3_handler);

/* As if the instruction had not begun; it will be hit again. */
static nokprobe_inline void abandon_step(struct kprobe *p, struct pt_regs *regs)
{
	regs->flags |= __this_cpu_read(kprobe_ctlblk.saved_flags);
	if (kprobe_status() == KPROBE_REENTER)
		nesting_end();
	else
		reset_current_kprobe();
}

/**
 * kprobe_fault_handler() - a fault while a probe is current
 * @regs: state at the fault
 * @trapnr: X86_TRAP_PF, before fixups; or another, for which the address of the
 *	    copy has none
 *
 * The fault of a copy becomes one of the instruction itself, which then has its
 * entry in the exception table. After the page is there, or the task has slept,
 * it is executed again, and its handlers are called again. But first it is for
 * fault handlers, as are faults in handlers.
 *
 * Context: the exception.
 * Return: 1 if a fault handler or a fixup settled it, else 0.
 */
int kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	struct kprobe *p = stepped_kprobe();

	if (!p || regs->ip != step_addr(p)) {
		if (!kprobe_handler_fault(regs, trapnr))
			return 0;
		kprobe_redirect(regs);
		return 1;
	}

	if (kprobe_status() == KPROBE_HIT_SS && p->fault_handler) {
		/* What faults in there is not a fault of the step. */
		set_status(KPROBE_HIT_ACTIVE);
		if (kprobe_site_fault_handler(p, regs, trapnr)) {
			set_status(KPROBE_HIT_SS);
			if (regs->ip != step_addr(p)) {
				abandon_step(p, regs);
				kprobe_redirect(regs);
			}
			return 1;
		}
		set_status(KPROBE_HIT_SS);
	}

	abandon_step(p, regs);
	regs->ip = (unsigned long)p->addr;

	if (trapnr == X86_TRAP_PF)
		return 0;
	return fixup_exception(regs, trapnr, current->thread.error_code, 0);
}
NOKPROBE_SYMBOL(kprobe_fault_handler);

/**
 * kprobe_exceptions_notify() - a trap that is not reported to kprobes otherwise
 * @self: the notifier block of the core
 * @val: what has come
 * @data: struct die_args
 *
 * A copy or a handler may divide by zero, use an invalid opcode, or load a segment
 * that is not present, too. What a handler has a fixup for is not for its fault
 * handler, as with protection faults.
 *
 * Context: the exception.
 * Return: NOTIFY_STOP if it was settled, else NOTIFY_DONE.
 */
int kprobe_exceptions_notify(struct notifier_block *self, unsigned long val,
			     void *data)
{
	struct die_args *args = data;
	struct kprobe *p;

	if (val != DIE_TRAP || user_mode(args->regs) || preemptible())
		return NOTIFY_DONE;
	/* Nothing can be resumed. */
	if (!kprobe_running() || args->trapnr == X86_TRAP_DF)
		return NOTIFY_DONE;

	p = stepped_kprobe();
	if ((!p || args->regs->ip != step_addr(p)) &&
	    search_exception_tables(args->regs->ip))
		return NOTIFY_DONE;

	return kprobe_fault_handler(args->regs, args->trapnr) ? NOTIFY_STOP : NOTIFY_DONE;
}
NOKPROBE_SYMBOL(kprobe_exceptions_notify);
