/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Detours of powerpc. Also for assembly.
 */
#ifndef _POWERPC_KERNEL_KPROBES_DETOUR_H
#define _POWERPC_KERNEL_KPROBES_DETOUR_H

/* How kprobe_detour_leave() continues. */
#define KPROBE_DETOUR_RETURN	1	/* to the caller of the probed function */
#define KPROBE_DETOUR_LEAVE	2	/* to the address in regs->nip, with all registers */

/* Words of a detour before the address to which its call of the head returns. */
#define KPROBE_DETOUR_ENTER	4

/* At the start of each page: the address of kprobe_detour_callback(), of 8 or 4 bytes. */
#define KPROBE_HEAD_CALLBACK	0
#define KPROBE_HEAD_CODE	8

#ifndef __ASSEMBLY__

#include <linux/build_bug.h>
#include <linux/kprobes.h>

/* The head uses one address for the struct optimized_kprobe and its struct kprobe. */
static_assert(!offsetof(struct optimized_kprobe, kp));

/* The last bytes of a detour are the address of its probe. */
#define KPROBE_DETOUR_OP	(MAX_OPTINSN_SIZE * sizeof(kprobe_opcode_t) - sizeof(long))

/* detour_head.S */
extern u32 kprobe_head[], kretprobe_head[], kprobe_head_end[];

/**
 * kprobe_detour_leave() - continue the program at a redirected address
 * @how: KPROBE_DETOUR_RETURN or KPROBE_DETOUR_LEAVE
 * @regs: registers to restore; must be the ones in the detour's own frame
 *
 * Context: detour, preemption enabled, user access restored. Clobbers SRR0 and SRR1.
 * Return: does not return.
 */
void __noreturn kprobe_detour_leave(int how, struct pt_regs *regs);

/* optimize.c */
int kprobe_reencode(struct kprobe_draft *d, const struct kprobe *p);

#endif /* !__ASSEMBLY__ */

#endif /* _POWERPC_KERNEL_KPROBES_DETOUR_H */
