/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For unwinders: return addresses that probes and tracers have replaced.
 */
#ifndef _ASM_POWERPC_UNWIND_PROBES_H
#define _ASM_POWERPC_UNWIND_PROBES_H

#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/unwind_hooks.h>

#include <asm/return-hooks.h>

struct task_struct;

#ifdef CONFIG_OPTPROBES
unsigned long kprobe_unwind_detour(struct task_struct *task, unsigned long addr,
				   unsigned long sp);
#else
static inline unsigned long kprobe_unwind_detour(struct task_struct *task, unsigned long addr,
						 unsigned long sp)
{
	return addr;
}
#endif

/**
 * ppc_unwind_ret_addr() - find out where a function returns to
 * @task: the task; it is current or does not run
 * @hooks: positions after the newer frames of @task; zero before the first frame
 * @addr: what is in the LR save slot of a frame, or in LR if the function may not have saved
 *	  it yet
 * @sp: the frame with the slot, that is r1 at the entry of the function
 *
 * Function graph tracing, rethook and return probes replace return addresses. All of them store
 * r1 with the real address. So a replaced address that an earlier call has left in the slot is not
 * mistaken for that of a call in progress.
 *
 * Context: any.
 * Return: the real address; 0 if @addr was replaced, but is not that of a call in progress, or
 *	   if the task runs.
 */
static inline unsigned long ppc_unwind_ret_addr(struct task_struct *task,
						struct unwind_hooks *hooks,
						unsigned long addr, unsigned long sp)
{
	/* A search that finds nothing leaves its position at the end. */
	struct unwind_hooks after = *hooks;
	bool error = false;

	addr = unwind_recover_hooks(task, &after, addr, (unsigned long *)sp, (void *)sp, &error);
	if (!addr || error || ppc_is_graph_hook(addr))
		return 0;

	*hooks = after;
	return addr;
}

/**
 * ppc_unwind_is_probe_code() - is an address in a slot or in a detour?
 * @addr: the address
 *
 * From there, the address in the program is not known reliably.
 *
 * Context: any where RCU watches.
 * Return: true if it is.
 */
static inline bool ppc_unwind_is_probe_code(unsigned long addr)
{
	return is_kprobe_insn_slot(addr) || is_kprobe_optinsn_slot(addr);
}

#endif /* _ASM_POWERPC_UNWIND_PROBES_H */
