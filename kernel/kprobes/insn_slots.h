/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_INSN_SLOTS_H
#define _KERNEL_KPROBES_INSN_SLOTS_H

#include <linux/kprobes.h>

#include "slots.h"

extern struct kprobe_slot_cache kprobe_insn_slots;
extern struct kprobe_slot_cache kprobe_optinsn_slots;

#ifdef CONFIG_OPTPROBES
void kprobe_optinsn_slots_init(void);
#else
static inline void kprobe_optinsn_slots_init(void)
{
}
#endif

#endif /* _KERNEL_KPROBES_INSN_SLOTS_H */
