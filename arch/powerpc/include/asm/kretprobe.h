/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_POWERPC_KRETPROBE_H
#define _ASM_POWERPC_KRETPROBE_H

#include <asm/return-hooks.h>

/*
 * Return probes of powerpc: where the return address is, and how it is replaced.
 * Included by <linux/kprobes-arch.h>, which says what these are for.
 *
 * At the entry of a function, the return address is in LR. Frames are distinguished by r1,
 * which is the same when the function has returned. A frame is the struct pt_regs with both;
 * a detour that saves only a few registers keeps these two in their places.
 */

static nokprobe_inline void *arch_kretprobe_entry_frame(struct pt_regs *regs)
{
	return regs;
}

static nokprobe_inline void arch_kretprobe_note_return(struct kretprobe_instance *ri,
						       void *fp)
{
	const struct pt_regs *regs = fp;

	ri->fp = (void *)regs->gpr[1];
	ri->ret_addr = (kprobe_opcode_t *)regs->link;
}

static nokprobe_inline void arch_kretprobe_divert_return(void *fp)
{
	struct pt_regs *regs = fp;

	regs->link = (unsigned long)__kretprobe_trampoline;
}

static nokprobe_inline void *arch_kretprobe_frame(struct pt_regs *regs)
{
	return (void *)regs->gpr[1];
}

/*
 * The trampoline returns to LR; unwinders read the slot in the frame of the caller, where the
 * function has saved LR, or the trampoline on its behalf. There is no exception to return from, so
 * nip is only what handlers see.
 *
 * The trampoline has what it found in the slot in dar, and puts that back.
 */
static nokprobe_inline void arch_kretprobe_restore_return(struct pt_regs *regs,
							  unsigned long ret_addr)
{
	regs->nip = ret_addr;
	regs->link = ret_addr;
	((unsigned long *)regs->gpr[1])[STACK_FRAME_LR_SAVE] = ret_addr;
	regs->dar = ppc_lr_slot_after_hook(regs->dar, (unsigned long)__kretprobe_trampoline,
					   ret_addr);
}

/* The end of the trampoline. */
void kretprobe_trampoline_end(void);

#endif /* _ASM_POWERPC_KRETPROBE_H */
