/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A call with known registers, which are known again after the return. Also for assembly.
 */
#ifndef _POWERPC_KERNEL_KPROBES_TESTS_KRETPROBE_CALL_H
#define _POWERPC_KERNEL_KPROBES_TESTS_KRETPROBE_CALL_H

/* struct kpr_regs, in longs. */
#define KPR_CTR		32
#define KPR_XER		33
#define KPR_CR		34
#define KPR_LINK	35
#define KPR_ELSEWHERE	36
#define KPR_LONGS	37

#ifndef __ASSEMBLY__

/**
 * struct kpr_regs - registers before and after a call
 * @gpr: all but r1 and r13, and on 32 bits r2, which is current
 * @ctr: CTR
 * @xer: XER
 * @cr: all of CR
 * @link: LR, after the call
 * @elsewhere: the call returned to kpr_elsewhere, not to kpr_back
 */
struct kpr_regs {
	unsigned long	gpr[32];
	unsigned long	ctr;
	unsigned long	xer;
	unsigned long	cr;
	unsigned long	link;
	unsigned long	elsewhere;
};

/* Calls kpr_followed(), which inverts r0, and writes to the stack only below its red zone. */
void kpr_call(const struct kpr_regs *given, struct kpr_regs *found);
extern char kpr_back[], kpr_elsewhere[];

/* Calls it as helpers of prologues are called, without a frame. It returns its argument. */
unsigned long kpr_frameless(unsigned long v);

#endif /* !__ASSEMBLY__ */

#endif /* _POWERPC_KERNEL_KPROBES_TESTS_KRETPROBE_CALL_H */
