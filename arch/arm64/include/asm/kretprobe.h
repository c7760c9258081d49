/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_ARM64_KRETPROBE_H
#define _ASM_ARM64_KRETPROBE_H

/*
 * Return probes of arm64: where the return address is, and how it is replaced.
 * Included by <linux/kprobes-arch.h>, which says what these are for.
 *
 * At the entry of a function, the return address is in x30, and x29 is what the function
 * returns with. A frame is the address of that pair: in struct pt_regs, or where a detour
 * that saves only a few registers has put it.
 */

static nokprobe_inline void *arch_kretprobe_entry_frame(struct pt_regs *regs)
{
	return &regs->regs[29];
}

static nokprobe_inline void arch_kretprobe_note_return(struct kretprobe_instance *ri,
						       void *fp)
{
	const u64 *pair = fp;

	ri->fp = (void *)pair[0];
	ri->ret_addr = (kprobe_opcode_t *)pair[1];
}

static nokprobe_inline void arch_kretprobe_divert_return(void *fp)
{
	u64 *pair = fp;

	pair[1] = (unsigned long)__kretprobe_trampoline;
}

static nokprobe_inline void *arch_kretprobe_frame(struct pt_regs *regs)
{
	return (void *)regs->regs[29];
}

/* The trampoline returns to x30; unwinders read the frame record. */
static nokprobe_inline void arch_kretprobe_restore_return(struct pt_regs *regs,
							  unsigned long ret_addr)
{
	/* x29 and x30, in whatever type the record has. */
	u64 *record = (u64 *)&regs->stackframe;

	instruction_pointer_set(regs, ret_addr);
	regs->regs[30] = ret_addr;
	record[1] = ret_addr;
}

/* The first instruction of the trampoline after its frame record is complete. */
void kretprobe_trampoline_framed(void);
/* The first instruction after x29 is restored, and the end. */
void kretprobe_trampoline_unframed(void);
void kretprobe_trampoline_end(void);

#endif /* _ASM_ARM64_KRETPROBE_H */
