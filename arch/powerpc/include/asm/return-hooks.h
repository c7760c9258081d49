/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Return addresses that probes and tracers put in place of the real ones.
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

/**
 * ppc_lr_slot_after_hook() - what a return trampoline leaves in the LR save slot
 * @found: what the trampoline found in the slot
 * @hook: address of the trampoline
 * @ret_addr: where the trampoline returns to
 *
 * Usually this is @found: the caller of a helper such as _savegpr0_31() may have its own return
 * address there, even if that is @hook.
 *
 * If @ret_addr is the hook of ftrace or rethook, unwinders that start in its handler read the slot,
 * and @hook, which the function saved there, is no longer known to anyone. Such a function has an
 * ftrace site, so it is none of these helpers, and the slot is its own.
 *
 * Context: any.
 * Return: the new content of the slot.
 */
static __always_inline unsigned long ppc_lr_slot_after_hook(unsigned long found,
							    unsigned long hook,
							    unsigned long ret_addr)
{
	if (found == hook && (ppc_is_graph_hook(ret_addr) || ppc_is_rethook(ret_addr)))
		return ret_addr;
	return found;
}

#endif /* _ASM_POWERPC_RETURN_HOOKS_H */
