// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of optimized probes on powerpc: redirections from a detour. The code of detours is
 * in detour_head.S.
 */

#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include "common.h"
#include "detour.h"
#include "insn.h"

/*
 * If a handler has only changed the stack pointer, the instruction is still to be executed, from
 * its copy in the detour. A copy of a call expects the new value of LR.
 */
int arch_leave_detour(struct optimized_kprobe *op, struct pt_regs *regs, bool redirected)
{
	bool stack_changed = arch_detour_is_left(regs);

	if (!redirected) {
		if (kprobe_insn_links(op->kp.opcode))
			regs->link = kprobe_next(&op->kp);
		regs->nip = (unsigned long)op->optinsn.insn + op->optinsn.copy;
	}
	kprobe_hit_leave();

	return !stack_changed && regs->nip == regs->link ? KPROBE_DETOUR_RETURN :
							   KPROBE_DETOUR_LEAVE;
}
NOKPROBE_SYMBOL(arch_leave_detour);
