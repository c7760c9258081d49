// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of optimized probes on powerpc: redirections from a detour. The code of detours is
 * in detour_head.S.
 */

#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>

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
