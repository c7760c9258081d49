/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_MODULE_H
#define _KERNEL_KPROBES_MODULE_H

#include <linux/kprobes-refusal.h>
#include <linux/types.h>

struct module;

void kprobe_kill_range(unsigned long start, unsigned long end);

#ifdef CONFIG_MODULES

void kprobe_module_init(void);
bool kprobe_module_known(const struct module *mod);
enum kprobe_refusal kprobe_module_pin(unsigned long addr, struct module **pinned);

#else

static inline void kprobe_module_init(void)
{
}

static inline enum kprobe_refusal kprobe_module_pin(unsigned long addr,
						    struct module **pinned)
{
	return KPROBE_REFUSAL_NONE;
}

#endif

#endif /* _KERNEL_KPROBES_MODULE_H */
