// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of breakpoints on x86: the breakpoint, the instruction under it, and
 * the faults of both.
 *
 * Instructions are executed in the cheapest possible way. A boosted copy
 * jumps back by itself. With a post handler, an emulated instruction is done in the
 * same trap. All others are stepped: their copy runs with interrupts off up to a
 * second breakpoint after it.
 *
 * All state is per CPU, and an NMI may come between any two accesses to it. It restores
 * everything that it changes, so these functions only have to hide half-written
 * state from it.
 */

#include <linux/extable.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include <asm/trapnr.h>

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

static nokprobe_inline unsigned long step_addr(const struct kprobe *p)
{
	return (unsigned long)p->ainsn.insn + KPROBE_STEP_OFFSET;
}

/* Interrupts stay off for the step, so that it stays on this CPU. */
static nokprobe_inline void step_begin(struct kprobe *p, struct pt_regs *regs,
				       unsigned long status)
{
	__this_cpu_write(kprobe_ctlblk.step.flags, regs->flags & X86_EFLAGS_IF);
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
	struct kprobe *p = raw_cpu_read(current_kprobe);

	if (p && raw_cpu_read(kprobe_ctlblk.kprobe_status) == KPROBE_HIT_ACTIVE &&
	    ip == (unsigned long)p->addr + INT3_INSN_SIZE)
		return (unsigned long)p->addr;

	return ip;
}
NOKPROBE_SYMBOL(kprobe_unwind_ip);

/*
 * A value of orig_ax, which the entry of a breakpoint sets to -1 and nothing else uses: ip
 * is where the program continues. Before that, it is the address after the breakpoint,
 * which is the same address if the instruction has a single byte.
 */
#define ORIG_AX_CONTINUES	0x6b700cc3

static nokprobe_inline void set_continues(struct pt_regs *regs)
{
	regs->orig_ax = ORIG_AX_CONTINUES;
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

	if (regs && READ_ONCE(regs->orig_ax) == ORIG_AX_CONTINUES)
		return ip;

	/* Post handlers see orig_ax as it was. */
	if (raw_cpu_read(current_kprobe) &&
	    raw_cpu_read(kprobe_ctlblk.kprobe_status) == KPROBE_HIT_SSDONE &&
	    raw_cpu_read(kprobe_ctlblk.step.post_regs) == regs)
		return ip;

	p = find_breakpoint(ip - INT3_INSN_SIZE);
	return p ? (unsigned long)p->addr : ip;
}
NOKPROBE_SYMBOL(kprobe_unwind_trap_ip);

/* A hit inside another one, which has been counted: only execute the instruction. */
static void kprobe_hit_nested(struct kprobe *p, struct pt_regs *regs)
{
	if (kprobe_enter_copies(p, regs))
		return;
	if (p->ainsn.boost) {
		regs->ip = (unsigned long)p->ainsn.insn + KPROBE_BOOST_OFFSET;
	} else if (kprobe_op_is_emulated(p->ainsn.op)) {
		kprobe_emulate(p, regs);
		set_continues(regs);
	} else {
		kprobe_nesting_begin(p);
		step_begin(p, regs, KPROBE_REENTER);
	}
}
NOKPROBE_SYMBOL(kprobe_hit_nested);

static nokprobe_inline void hit_end(struct kprobe *p, struct pt_regs *regs)
{
	/* Once it is set, the post handler of a site stays. */
	if (READ_ONCE(p->post_handler)) {
		__this_cpu_write(kprobe_ctlblk.step.post_regs, regs);
		barrier();
		set_status(KPROBE_HIT_SSDONE);
		kprobe_site_post_handler(p, regs, 0);
	}
	set_continues(regs);
	kprobe_hit_leave_changed();
}

/* Execute the instruction, or have the CPU do so. */
static nokprobe_inline void resume(struct kprobe *p, struct pt_regs *regs)
{
	if (unlikely(kprobe_enter_copies(p, regs))) {
		kprobe_hit_leave();
	} else if (likely(kprobe_is_boosted(p))) {
		kprobe_hit_leave();
		regs->ip = (unsigned long)p->ainsn.insn + KPROBE_BOOST_OFFSET;
	} else if (kprobe_op_is_emulated(p->ainsn.op)) {
		kprobe_emulate(p, regs);
		hit_end(p, regs);
	} else {
		step_begin(p, regs, KPROBE_HIT_SS);
	}
}

/* The state of the program as if the instruction itself had been executed. */
static nokprobe_inline void leave_copy(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long next = (unsigned long)p->addr + p->ainsn.len;

	regs->flags |= __this_cpu_read(kprobe_ctlblk.step.flags);
	regs->ip = next;

	/* The copy has pushed the target. */
	if (p->ainsn.op == KPROBE_OP_STEP_CALL || p->ainsn.op == KPROBE_OP_STEP_JMP)
		regs->ip = int3_emulate_pop(regs);
	if (p->ainsn.op == KPROBE_OP_STEP_CALL)
		int3_emulate_push(regs, next);
}

/* Returns 1 if this is the breakpoint at the end of a step. */
static int kprobe_step_end(struct pt_regs *regs, unsigned long addr)
{
	struct kprobe *p = stepped_kprobe();

	if (!p || addr != step_addr(p) + p->ainsn.len)
		return 0;

	leave_copy(p, regs);
	if (kprobe_status() == KPROBE_REENTER) {
		set_continues(regs);
		kprobe_nesting_end();
	} else {
		hit_end(p, regs);
	}
	return 1;
}
NOKPROBE_SYMBOL(kprobe_step_end);

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

	if (user_mode(regs))
		return 0;

	p = find_breakpoint(addr);
	if (unlikely(!p))
		return kprobe_step_end(regs, addr);

	if (unlikely(!kprobe_hit_enter(p))) {
		kprobe_hit_nested(p, regs);
		return 1;
	}

	/* Non-zero: the handler has set where execution continues. */
	if (unlikely(kprobe_call_pre(p, regs))) {
		kprobe_redirect(regs);
		set_continues(regs);
		kprobe_hit_leave();
	} else {
		resume(p, regs);
	}
	return 1;
}
NOKPROBE_SYMBOL(kprobe_int3_handler);

/* As if the instruction had not begun: it will be hit again. */
static nokprobe_inline void abandon_step(struct kprobe *p, struct pt_regs *regs)
{
	regs->flags |= __this_cpu_read(kprobe_ctlblk.step.flags);
	if (kprobe_status() == KPROBE_REENTER)
		kprobe_nesting_end();
	else
		kprobe_hit_leave_changed();
}

/**
 * kprobe_fault_handler() - a fault while a probe is current
 * @regs: state at the fault
 * @trapnr: X86_TRAP_PF, before fixups; or another trap, for which the address of the copy
 *	    has no fixup
 *
 * Fault handlers come first, for faults of the instruction and of handlers. Then the
 * fault of a copy becomes one of the instruction itself, which may have an entry in the
 * exception table. When the page is present, or after the task has slept, the
 * instruction is executed again, and its handlers are called again.
 *
 * Context: the exception.
 * Return: 1 if a fault handler or a fixup has handled it, else 0.
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
		/* A fault in the fault handler is not a fault of the step. */
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

/*
 * A copy or a handler may also divide by zero, execute an invalid opcode, or load a
 * segment that is not present. As with protection faults, a trap of a handler that has
 * a fixup is not offered to its fault handler.
 */
int kprobe_exceptions_notify(struct notifier_block *self, unsigned long val,
			     void *data)
{
	struct die_args *args = data;
	struct kprobe *p;

	if (val != DIE_TRAP || user_mode(args->regs) || preemptible())
		return NOTIFY_DONE;
	/* After a double fault nothing can be resumed. */
	if (!kprobe_running() || args->trapnr == X86_TRAP_DF)
		return NOTIFY_DONE;

	p = stepped_kprobe();
	if ((!p || args->regs->ip != step_addr(p)) &&
	    search_exception_tables(args->regs->ip))
		return NOTIFY_DONE;

	return kprobe_fault_handler(args->regs, args->trapnr) ? NOTIFY_STOP : NOTIFY_DONE;
}
NOKPROBE_SYMBOL(kprobe_exceptions_notify);
