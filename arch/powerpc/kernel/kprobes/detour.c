// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of optimized probes on powerpc: redirections from a detour, and unwinding in one.
 * The code of detours is in detour_head.S.
 */

#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#include <asm/processor.h>
#include <asm/unwind-probes.h>

#include "detour.h"

/* The usual redirection is to the caller of the function, with the stack pointer unchanged. */
static nokprobe_inline bool goes_to_caller(const struct pt_regs *regs)
{
	unsigned long frame = (unsigned long)regs - STACK_INT_FRAME_REGS;

	return regs->nip == regs->link && regs->gpr[1] == frame + STACK_INT_FRAME_SIZE;
}

/* Does not return to the detour, so that detours need not test what it returns. */
int arch_leave_detour(struct optimized_kprobe *op, struct pt_regs *regs, bool redirected)
{
	reset_current_kprobe();
	preempt_enable_notrace();
	arch_handlers_end(regs);
	kprobe_detour_leave(goes_to_caller(regs) ? KPROBE_DETOUR_RETURN : KPROBE_DETOUR_LEAVE,
			    regs);
}
NOKPROBE_SYMBOL(arch_leave_detour);

/* Where the head for return probes begins in each page of detours; see detour_head.S. */
static nokprobe_inline unsigned long offset_of_return_head(void)
{
	return KPROBE_HEAD_CODE + (unsigned long)kretprobe_head - (unsigned long)kprobe_head;
}

/**
 * kprobe_unwind_detour() - the probed instruction, if a return address is in a detour
 * @task: the task, for the limits of its stacks; it must not run on another CPU
 * @addr: the return address
 * @sp: the frame in which it is saved
 *
 * Only the head of a page of detours calls C code. Its frame has the registers, and their nip
 * is the address of the probe. The head for return probes first saves only some registers,
 * and nip is not among them. The return address may be a leftover of an earlier call, so the
 * frame is checked.
 *
 * Context: any.
 * Return: @addr, or the address of the probed instruction.
 */
unsigned long __no_sanitize_address kprobe_unwind_detour(struct task_struct *task,
							 unsigned long addr, unsigned long sp)
{
	const struct pt_regs *regs = (struct pt_regs *)(sp + STACK_INT_FRAME_REGS);
	bool inside;

	/* Pages of detours are freed a grace period after they have left the list. */
	preempt_disable_notrace();
	inside = kprobe_rcu_is_watching() && is_kprobe_optinsn_slot(addr);
	preempt_enable_notrace();

	if (likely(!inside) || offset_in_page(addr) >= offset_of_return_head() ||
	    !validate_sp_size(sp, task, STACK_INT_FRAME_SIZE) ||
	    *(unsigned long *)sp != sp + STACK_INT_FRAME_SIZE)
		return addr;

	return READ_ONCE(regs->nip);
}
NOKPROBE_SYMBOL(kprobe_unwind_detour);
