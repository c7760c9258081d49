/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the arm64 backend of kprobes.
 */
#ifndef _ARM64_KERNEL_PROBES_COMMON_H
#define _ARM64_KERNEL_PROBES_COMMON_H

#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include <asm/arch_gicv3.h>
#include <asm/daifflags.h>
#include <asm/insn.h>

#include "decode-insn.h"

/* The number of probes that are patched per stop_machine(). */
#define KPROBE_PATCH_CHUNK	256

/*
 * After an indirect branch, PSTATE.BTYPE is non-zero, and the branch target must be a landing pad.
 * All other instructions clear it. Code that changes the PC must clear it as well.
 */
static nokprobe_inline void kprobe_clear_btype(struct pt_regs *regs)
{
	regs->pstate &= ~PSR_BTYPE_MASK;
}

/*
 * With pseudo-NMIs, the priority mask in the handler of an exception. It masks no priority, but
 * GIC_PRIO_PSR_I_SET records that PSTATE masks interrupts. irqs_disabled() looks only at this mask.
 */
#define KPROBE_PMR_MASKED	(GIC_PRIO_IRQON | GIC_PRIO_PSR_I_SET)

static nokprobe_inline void kprobe_restore_masks(struct pt_regs *regs,
						 const struct kprobe_masks *masks)
{
	regs->pstate = (regs->pstate & ~DAIF_MASK) | masks->daif;
	if (system_uses_irq_prio_masking())
		regs->pmr = masks->pmr;
}

static nokprobe_inline bool kprobe_is_between(unsigned long pc, void (*start)(void),
					      void (*end)(void))
{
	return pc - (unsigned long)start < (unsigned long)end - (unsigned long)start;
}

/* kprobes.c */
bool kprobe_alternatives_are_final(void);

/* patch.c */
bool kprobe_insn_is_live(u32 insn);

/* detour.c, with CONFIG_OPTPROBES */
unsigned long kprobe_unwind_detour(unsigned long pc, const struct pt_regs *regs);

#ifdef CONFIG_OPTPROBES
bool kprobe_detour_redirect(struct pt_regs *regs);
#else
static nokprobe_inline bool kprobe_detour_redirect(struct pt_regs *regs)
{
	return false;
}
#endif

#endif /* _ARM64_KERNEL_PROBES_COMMON_H */
