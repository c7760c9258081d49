/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions that are called with all registers set, in entered.S. Also for assembly.
 */
#ifndef _POWERPC_KERNEL_KPROBES_TESTS_ENTERED_H
#define _POWERPC_KERNEL_KPROBES_TESTS_ENTERED_H

#include <asm/types.h>

/* Members of struct kpb_state, in longs. */
#define KPB_STATE_CR		32
#define KPB_STATE_XER		33
#define KPB_STATE_CTR		34
#define KPB_STATE_LR		35
#define KPB_STATE_MSR		36
#define KPB_STATE_LONGS		37

/* The frame of kpb_enter_NAME(), in longs: the states found and got are next to each other. */
#define KPB_FRAME_WAY_BACK	16
#define KPB_FRAME_STATES	17
#define KPB_FRAME_CR		18
#define KPB_FRAME_R2		19
#define KPB_FRAME_GPRS		20	/* of all 32, though not all are used */
#define KPB_FRAME_FOUND		52
#define KPB_FRAME_GOT		(KPB_FRAME_FOUND + KPB_STATE_LONGS)
#define KPB_FRAME_LONGS		128	/* a multiple of 16 bytes */

#ifndef __ASSEMBLY__

#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/stddef.h>

/* As many of 64 bits as a register has. */
#define KPB_BITS(bits)		((unsigned long)((bits) & ULONG_MAX))

/**
 * struct kpb_state - all registers
 * @gpr: the general ones
 * @cr: condition register
 * @xer: carry and overflow
 * @ctr: count register
 * @lr: link register
 * @msr: machine state
 */
struct kpb_state {
	unsigned long	gpr[32];
	unsigned long	cr;
	unsigned long	xer;
	unsigned long	ctr;
	unsigned long	lr;
	unsigned long	msr;
};

static_assert(sizeof(struct kpb_state) == KPB_STATE_LONGS * sizeof(long));
static_assert(offsetof(struct kpb_state, msr) == KPB_STATE_MSR * sizeof(long));

/**
 * struct kpb_states - registers around a call
 * @given: what the function is called with; r1, r13 on 64 bits, r2 on 32 bits, LR and MSR are not
 *	used
 * @found: what the function sees after its first instruction
 * @got: what its caller gets back
 */
struct kpb_states {
	struct kpb_state	given, found, got;
};

#define KPB_ENTERED(name)						\
void kpb_enter_##name(struct kpb_states *s);				\
void kpb_entered_##name(void);						\
void kpb_elsewhere_##name(void)

/*
 * kpb_enter_NAME() calls kpb_entered_NAME(), whose first instruction is probed. A handler may
 * continue at kpb_elsewhere_NAME() instead, which adds 16 to r3 and continues after the
 * instruction.
 */
KPB_ENTERED(copy);
KPB_ENTERED(step);
KPB_ENTERED(branch);

/*
 * Calls kpr_followed() instead, which inverts r0, and writes to the stack only below its red zone;
 * so s->found is not set. It returns to kpr_back, or where a handler makes it return to.
 */
void kpb_enter_followed(struct kpb_states *s);
extern char kpr_back[], kpr_elsewhere[];

/* Calls kprobe_jprobe_call() instead, so s->found is not set. */
void kpb_enter_jprobe(struct kpb_states *s);

/* Where kpb_entered_NAME() returns to even if a handler has changed LR; 0: to LR. */
static inline void kpb_set_way_back(unsigned long sp, unsigned long addr)
{
	((unsigned long *)sp)[KPB_FRAME_WAY_BACK] = addr;
}

#endif /* !__ASSEMBLY__ */

#endif /* _POWERPC_KERNEL_KPROBES_TESTS_ENTERED_H */
