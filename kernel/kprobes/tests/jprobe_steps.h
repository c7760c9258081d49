/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A breakpoint at each instruction of the call of a jprobe's handler, as an interrupt could come
 * there: it uses the stack below the stack pointer, and the stack must be unwound past the call.
 */
#ifndef _KERNEL_KPROBES_TESTS_JPROBE_STEPS_H
#define _KERNEL_KPROBES_TESTS_JPROBE_STEPS_H

#include <linux/types.h>

struct kunit;

/**
 * struct kp_jprobe_steps_arch - what an architecture provides
 * @call: call a handler by the copy of kprobe_jprobe_call() that can be probed
 * @unwind: leave that call by the copy of kprobe_jprobe_unwind()
 * @code: where the code of both copies begins
 * @is_insn: is there an instruction of them? There may be something else at the end.
 */
struct kp_jprobe_steps_arch {
	void		(*call)(void *entry);
	void		(*unwind)(void);
	unsigned long	code[2];
	bool		(*is_insn)(unsigned long addr, unsigned long end);
};

/**
 * struct kp_jprobe_steps - what was found
 * @nr: number of instructions
 * @hits: of these, with a handler that leaves and with one that returns
 * @without_caller: traces without the function that has called the copy
 */
struct kp_jprobe_steps {
	unsigned int	nr, hits, without_caller;
};

void kp_jprobe_steps(struct kunit *test, const struct kp_jprobe_steps_arch *arch,
		     struct kp_jprobe_steps *found);

#endif /* _KERNEL_KPROBES_TESTS_JPROBE_STEPS_H */
