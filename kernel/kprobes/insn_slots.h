/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_INSN_SLOTS_H
#define _KERNEL_KPROBES_INSN_SLOTS_H

#include <linux/kprobes.h>

#include "slots.h"

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
extern struct kprobe_slot_cache kprobe_insn_slots;

static inline bool kprobe_insn_slots_kallsym(unsigned int *nr, unsigned long *value,
					     char *type, char *sym)
{
	return kprobe_slots_kallsym(&kprobe_insn_slots, nr, value, type, sym);
}
#else
static inline bool kprobe_insn_slots_kallsym(unsigned int *nr, unsigned long *value,
					     char *type, char *sym)
{
	return false;
}
#endif

#ifdef CONFIG_OPTPROBES
extern struct kprobe_slot_cache kprobe_optinsn_slots;

void kprobe_optinsn_slots_init(void);

static inline bool kprobe_optinsn_slots_kallsym(unsigned int *nr, unsigned long *value,
						char *type, char *sym)
{
	return kprobe_slots_kallsym(&kprobe_optinsn_slots, nr, value, type, sym);
}
#else
static inline void kprobe_optinsn_slots_init(void)
{
}

static inline bool kprobe_optinsn_slots_kallsym(unsigned int *nr, unsigned long *value,
						char *type, char *sym)
{
	return false;
}
#endif

#endif /* _KERNEL_KPROBES_INSN_SLOTS_H */
