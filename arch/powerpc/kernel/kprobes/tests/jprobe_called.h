/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The handler of a jprobe, in assembly, which stores what it finds. Also for assembly.
 */
#ifndef _POWERPC_KERNEL_KPROBES_TESTS_JPROBE_CALLED_H
#define _POWERPC_KERNEL_KPROBES_TESTS_JPROBE_CALLED_H

#include "../jprobe.h"

/* Where struct kpj_found has the stack, in longs. */
#define KPJ_FOUND_STACK		13

#ifndef __ASSEMBLY__

#include <linux/build_bug.h>
#include <linux/stddef.h>

#define KPJ_WORDS		(JPROBE_STACK_BYTES / sizeof(long))

/**
 * struct kpj_found - what kpj_handler() finds
 * @gpr: r1 to r12
 * @stack: the parameter save area of its caller
 */
struct kpj_found {
	unsigned long	gpr[KPJ_FOUND_STACK];
	unsigned long	stack[KPJ_WORDS];
};

static_assert(offsetof(struct kpj_found, stack) == KPJ_FOUND_STACK * sizeof(long));

/*
 * Finds in r10 where to store, and in r9 NULL or where the frame is of the call that it has to
 * leave. To leave, it destroys all registers that a function preserves, as functions that it has
 * called could do.
 */
void kpj_handler(void);

/* The code of jprobe_call.S where it can be probed. */
void kpj_copied_call(const unsigned long *stack, void *entry, struct pt_regs *regs, void **frame);
void kpj_copied_unwind(void *frame);

#endif /* !__ASSEMBLY__ */

#endif /* _POWERPC_KERNEL_KPROBES_TESTS_JPROBE_CALLED_H */
