/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads call functions all the time, while their probes and jumps come and go. The functions
 * have to give the same results as without probes.
 */
#ifndef _KERNEL_KPROBES_TESTS_STORM_H
#define _KERNEL_KPROBES_TESTS_STORM_H

#include <linux/kprobes.h>

struct kunit;

/**
 * struct kp_storm_arch - what an architecture provides
 * @nr: number of functions
 * @at: the instruction of the nth function that is probed
 * @call: call the nth function; several threads do it at once
 * @args: arguments that each function is called with in turn
 * @nr_args: their number
 */
struct kp_storm_arch {
	unsigned int		nr;
	kprobe_opcode_t		*(*at)(unsigned int n);
	unsigned long		(*call)(unsigned int n, unsigned long arg);
	const unsigned long	*args;
	unsigned int		nr_args;
};

void kp_storm(struct kunit *test, const struct kp_storm_arch *arch);

#endif /* _KERNEL_KPROBES_TESTS_STORM_H */
