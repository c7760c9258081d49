/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_KRETPROBE_H
#define _ASM_X86_KRETPROBE_H

/*
 * Return probes of x86: where the return address is, and how it is replaced.
 * Included by <linux/kprobes-arch.h>, which says what these are for.
 *
 * The slot on the stack is the frame. The trampoline puts its registers right
 * below the slot, so it finds it again.
 */

static nokprobe_inline void *arch_kretprobe_entry_frame(struct pt_regs *regs)
{
	return (void *)regs->sp;
}

static nokprobe_inline void arch_kretprobe_note_return(struct kretprobe_instance *ri,
						       void *fp)
{
	ri->ret_addr = *(kprobe_opcode_t **)fp;
	ri->fp = fp;
}

static nokprobe_inline void arch_kretprobe_divert_return(void *fp)
{
	*(unsigned long *)fp = (unsigned long)__kretprobe_trampoline;
}

static nokprobe_inline void *arch_kretprobe_frame(struct pt_regs *regs)
{
	return regs + 1;
}

static nokprobe_inline void arch_kretprobe_restore_return(struct pt_regs *regs,
							  unsigned long ret_addr)
{
	instruction_pointer_set(regs, ret_addr);
	*(unsigned long *)arch_kretprobe_frame(regs) = ret_addr;
}

#endif /* _ASM_X86_KRETPROBE_H */
