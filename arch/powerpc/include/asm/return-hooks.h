/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Return addresses that probes and tracers put in place of the real ones.
 */
#ifndef _ASM_POWERPC_RETURN_HOOKS_H
#define _ASM_POWERPC_RETURN_HOOKS_H

#include <linux/ftrace.h>
#include <linux/rethook.h>
#include <linux/text-patching.h>

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
static __always_inline bool ppc_is_graph_hook(unsigned long addr)
{
	return addr == ppc_function_entry(return_to_handler);
}
#else
static __always_inline bool ppc_is_graph_hook(unsigned long addr) { return false; }
#endif

/*
 * Declared here because <linux/kprobes.h> includes this file before it declares it, and declared
 * always because IS_ENABLED() does not hide the name.
 */
void __kretprobe_trampoline(void);

/* Is it the address of a return trampoline, which replaces a return address? */
static __always_inline bool ppc_is_return_hook(unsigned long addr)
{
	return ppc_is_graph_hook(addr) ||
	       (IS_ENABLED(CONFIG_RETHOOK) && addr == (unsigned long)arch_rethook_trampoline) ||
	       (IS_ENABLED(CONFIG_KRETPROBE_NATIVE) &&
		addr == (unsigned long)__kretprobe_trampoline);
}

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
	return found == hook && ppc_is_return_hook(ret_addr) ? ret_addr : found;
}

#endif /* _ASM_POWERPC_RETURN_HOOKS_H */
