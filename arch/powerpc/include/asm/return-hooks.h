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

#ifdef CONFIG_KRETPROBE_NATIVE
/* <linux/kprobes.h> includes this file before it is complete. */
void __kretprobe_trampoline(void);

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
 * If @ret_addr is another hook, unwinders in its handler read the slot. @hook is in no list any
 * more, so they need @ret_addr there. The slot is that of the function itself: a helper returns
 * into its caller, and not to a hook.
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
