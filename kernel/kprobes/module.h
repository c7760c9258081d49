/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_MODULE_H
#define _KERNEL_KPROBES_MODULE_H

#include <linux/kallsyms.h>
#include <linux/kprobes-refusal.h>
#include <linux/types.h>

struct module;

void kprobe_kill_text(unsigned long start, unsigned long end, bool writable);

#ifdef CONFIG_MODULES

void kprobe_module_init(void);
bool kprobe_module_known(const struct module *mod);
enum kprobe_refusal kprobe_module_vet(unsigned long addr);

#else

static inline void kprobe_module_init(void) { }

static inline enum kprobe_refusal kprobe_module_vet(unsigned long addr)
{
	return core_kernel_text(addr) ? KPROBE_REFUSAL_NONE : KPROBE_REFUSAL_NOT_TEXT;
}

#endif

#endif /* _KERNEL_KPROBES_MODULE_H */
