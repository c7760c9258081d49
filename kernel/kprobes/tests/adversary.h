/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine of adversaries: random functions, made by a program of the architecture,
 * with a probe on each of their instructions in turn.
 *
 * In each step every function has one probe. First it has a post handler, so each hit
 * comes through a breakpoint; these hits are counted. Then it has none, so it may be
 * optimized, and must be hit as often. The functions have to give the same results as
 * without probes.
 *
 * Probes also come and go on random instructions while each CPU calls the functions.
 *
 * An architecture provides the functions, made by a program that includes gen_adversary.h,
 * and a struct kpa_arch; its cases are calls of kpa_run() and kpa_run_on_all_cpus().
 */
#ifndef _KERNEL_KPROBES_TESTS_ADVERSARY_H
#define _KERNEL_KPROBES_TESTS_ADVERSARY_H

#include <linux/types.h>

struct kunit;

/* How often each function is called in each step, each time with other arguments. */
#define KPA_NR_RUNS	4

/**
 * struct kpa_function - a random function, as the generated assembly lays it out
 * @fn: its start
 * @size: its size in bytes
 * @cold: distance from this member to the part that is elsewhere, 0 if there is none
 * @cold_size: size of that part in bytes
 * @unused: 0
 */
struct kpa_function {
	void		(*fn)(void);
	u32		size;
	s32		cold;
	u32		cold_size;
	u32		unused;
};

/* Its content belongs to the suite of the architecture. */
struct kpa_result;

/**
 * struct kpa_arch - what the engine does not know about an architecture
 * @functions: the random functions
 * @end: end of the functions
 * @result_size: size of a struct kpa_result
 * @call: call a function with random registers and memory, which are the same for the
 *	same seed and round, and store what it leaves there. Two results are the same if
 *	all their bytes are. For kpa_run_on_all_cpus(), several tasks may call it at once.
 * @complain: let the case fail, as two results are not the same; @what tells which
 *	instruction of which function is probed, and how
 * @insn: find the nth instruction that can be probed, starting at an address. Returns
 *	NULL if there are fewer before the end, with the rest in @n.
 * @count: called for each probe that may be optimized, after it would have been;
 *	optional
 */
struct kpa_arch {
	const struct kpa_function	*functions, *end;
	size_t				result_size;

	void	(*call)(void (*fn)(void), u64 seed, unsigned int round,
			struct kpa_result *got);
	void	(*complain)(struct kunit *test, const char *what, const struct kpa_result *got,
			    const struct kpa_result *want);
	u8	*(*insn)(u8 *at, u8 *end, unsigned int *n);
	void	(*count)(const u8 *addr);
};

unsigned int kpa_nr_functions(const struct kpa_arch *arch);
unsigned int kpa_run(struct kunit *test, const struct kpa_arch *arch);
void kpa_run_on_all_cpus(struct kunit *test, const struct kpa_arch *arch, unsigned int rounds);

#endif /* _KERNEL_KPROBES_TESTS_ADVERSARY_H */
