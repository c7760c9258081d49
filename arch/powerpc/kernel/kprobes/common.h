/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the powerpc backend of kprobes.
 */
#ifndef _POWERPC_KERNEL_KPROBES_COMMON_H
#define _POWERPC_KERNEL_KPROBES_COMMON_H

#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include <asm/inst.h>

/*
 * Does an instruction access the soft interrupt mask of this CPU? In an exception, the mask of
 * the program is in struct pt_regs.
 */
enum kprobe_soft_mask {
	KPROBE_SOFT_MASK_NONE,
	KPROBE_SOFT_MASK_READ,
	KPROBE_SOFT_MASK_WRITE,
};

/* Enters the function to which a handler at an ftrace site redirects; see hit.c. */
void kprobe_ftrace_redirected(void);

static nokprobe_inline bool kprobe_is_between(unsigned long addr, const void *start,
					      const void *end)
{
	return addr >= (unsigned long)start && addr < (unsigned long)end;
}

/* The instruction of a probe. */
static nokprobe_inline ppc_inst_t kprobe_insn(const struct kprobe *p)
{
	return ppc_inst_prefix(p->opcode, p->ainsn.suffix);
}

/* The address of the next instruction. */
static nokprobe_inline unsigned long kprobe_next(const struct kprobe *p)
{
	return (unsigned long)p->addr + p->ainsn.len;
}

/* kprobes.c */
enum kprobe_refusal kprobe_decide(struct kprobe *p);
int kprobe_write_slot(void *slot, u32 *words, unsigned int nr);
void kprobe_sync_cpus(void);

/* reserved.c */
enum kprobe_refusal kprobe_addr_refused(unsigned long addr);

/* The linker script: pages at the end of the text, and before the text of init. */
extern char __kprobes_pages_start[], __kprobes_pages_end[];
extern char __kprobes_padding_start[], __kprobes_padding_end[];

/* pages.c */
bool kprobe_in_reach(unsigned long from, unsigned long to);
bool kprobe_in_reach_of_region(unsigned long addr, unsigned long target);
bool kprobe_is_in_image_pages(unsigned long addr);

/* optimize.c */
int kprobe_fill_head(void *page);

#endif /* _POWERPC_KERNEL_KPROBES_COMMON_H */
