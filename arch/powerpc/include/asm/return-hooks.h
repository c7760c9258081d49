/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Return addresses that probes and tracers put in place of the real ones. Included by or after
 * <linux/kprobes.h>.
 */
#ifndef _ASM_POWERPC_RETURN_HOOKS_H
#define _ASM_POWERPC_RETURN_HOOKS_H

#include <linux/ftrace.h>
#include <linux/rethook.h>

#include <asm/text-patching.h>

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
static __always_inline bool ppc_is_graph_hook(unsigned long addr)
{
	return addr == ppc_function_entry(return_to_handler);
}
#else
static __always_inline bool ppc_is_graph_hook(unsigned long addr)
{
	return false;
}
#endif

#ifdef CONFIG_RETHOOK
static __always_inline bool ppc_is_rethook(unsigned long addr)
{
	return addr == (unsigned long)arch_rethook_trampoline;
}
#else
static __always_inline bool ppc_is_rethook(unsigned long addr)
{
	return false;
}
#endif

#ifdef CONFIG_KRETPROBE_NATIVE
static __always_inline bool ppc_is_kretprobe_hook(unsigned long addr)
{
	return addr == (unsigned long)__kretprobe_trampoline;
}
#else
static __always_inline bool ppc_is_kretprobe_hook(unsigned long addr)
{
	return false;
}
#endif

/**
 * ppc_lr_slot_after_hook() - what a return trampoline leaves in the LR save slot
 * @found: what the trampoline found in the slot
 * @hook: address of the trampoline
 * @ret_addr: where the trampoline returns to
 *
 * Usually this is @found: the caller of a helper such as _savegpr0_31() may have its own return
 * address there, even if that is @hook.
 *
 * If @ret_addr is another hook, unwinders that start in the handler of that one read the slot, but no
 * list has @hook any more, which the function saved there. The frame returns to @ret_addr, so the
 * slot is its own: the return address of such a helper is in its caller.
 *
 * Context: any.
 * Return: the new content of the slot.
 */
static __always_inline unsigned long ppc_lr_slot_after_hook(unsigned long found,
							    unsigned long hook,
							    unsigned long ret_addr)
{
	if (found == hook && (ppc_is_graph_hook(ret_addr) || ppc_is_rethook(ret_addr) ||
			      ppc_is_kretprobe_hook(ret_addr)))
		return ret_addr;
	return found;
}

#endif /* _ASM_POWERPC_RETURN_HOOKS_H */
