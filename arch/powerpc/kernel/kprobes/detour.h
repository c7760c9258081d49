/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Detours of powerpc. Also for assembly.
 */
#ifndef _POWERPC_KERNEL_KPROBES_DETOUR_H
#define _POWERPC_KERNEL_KPROBES_DETOUR_H

/* How kprobe_detour_leave() continues. */
#define KPROBE_DETOUR_RETURN	1	/* to the caller of the probed function */
#define KPROBE_DETOUR_LEAVE	2	/* to the address in regs->nip, with all registers */

/* Words of a detour before the call of the head returns. */
#define KPROBE_DETOUR_ENTER	4

/* The last bytes of a detour are the address of its probe. */
#ifdef CONFIG_PPC64
#define KPROBE_DETOUR_OP	56
#else
#define KPROBE_DETOUR_OP	60
#endif

/* The same, from the return address in the detour. */
#define KPROBE_DETOUR_OP_OF_LR	(KPROBE_DETOUR_OP - 4 * KPROBE_DETOUR_ENTER)

/* At the start of each page: the address of kprobe_detour_callback(), of 8 or 4 bytes. */
#define KPROBE_HEAD_CALLBACK	0
#define KPROBE_HEAD_CODE	8
/* Room for both. Equals KPROBE_OPTINSN_HEAD_SIZE, whose header is not for assembly. */
#ifdef CONFIG_PPC64
#define KPROBE_HEAD_SIZE	1024
#else
#define KPROBE_HEAD_SIZE	576
#endif

#ifndef __ASSEMBLY__

#include <linux/build_bug.h>
#include <linux/kprobes.h>

/* The head converts between pointers to the two without an offset. */
static_assert(!offsetof(struct optimized_kprobe, kp));
static_assert(KPROBE_HEAD_SIZE == KPROBE_OPTINSN_HEAD_SIZE);

/* detour_head.S */
extern u32 kprobe_head[], kretprobe_head[], kprobe_head_end[];
void __noreturn kprobe_detour_leave(int how, struct pt_regs *regs);

/**
 * struct kprobe_reencoded - the equivalent of a probed instruction at another address
 * @words: the instructions; control never runs past the last one
 * @nr: how many words
 */
struct kprobe_reencoded {
	u32		words[8];
	unsigned int	nr;
};

/* reencode.c */
int kprobe_reencode(struct kprobe_reencoded *r, const struct kprobe *p, unsigned long to);
unsigned long kprobe_branch_target(const struct kprobe *p);

#endif /* !__ASSEMBLY__ */

#endif /* _POWERPC_KERNEL_KPROBES_DETOUR_H */
