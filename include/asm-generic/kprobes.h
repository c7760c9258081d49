/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_GENERIC_KPROBES_H
#define _ASM_GENERIC_KPROBES_H

/*
 * Marks for code that must not be probed because it is part of the hit path. Without
 * CONFIG_KPROBES they are empty, so that their users need no #ifdef.
 */
#if defined(__KERNEL__) && !defined(__ASSEMBLY__)

#ifdef CONFIG_KPROBES

/* The whole function goes to a text section that no probe may enter. */
#define __kprobes		notrace __section(".kprobes.text")

/* Small helpers of such functions: no body of their own, nothing to hit. */
#define nokprobe_inline		__always_inline

/*
 * NOKPROBE_SYMBOL() - refuse probes in one function, which stays in place
 *
 * Leaves the function's address in a section that the core reads at boot, or
 * when the module that holds it is loaded. The second level lets a macro be
 * given as the name.
 */
#define _KPROBE_BLACKLIST_ENTRY(fn)					\
	static unsigned long __used					\
	__section("_kprobe_blacklist") _kbl_addr_##fn = (unsigned long)fn;
#define NOKPROBE_SYMBOL(fn)	_KPROBE_BLACKLIST_ENTRY(fn)

#else /* !CONFIG_KPROBES */

#define __kprobes
#define nokprobe_inline		inline
#define NOKPROBE_SYMBOL(fn)

#endif /* CONFIG_KPROBES */

#endif /* __KERNEL__ && !__ASSEMBLY__ */

#endif /* _ASM_GENERIC_KPROBES_H */
