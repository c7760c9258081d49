/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions to be probed by generic suites of hits, and what these have to know about
 * registers and text. An architecture that selects HAVE_KPROBES_TEST_TARGETS defines all of
 * it. The functions are in assembly, so that it is known what handlers see and may change.
 */
#ifndef _KERNEL_KPROBES_TESTS_TARGETS_H
#define _KERNEL_KPROBES_TESTS_TARGETS_H

#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/types.h>

#include "signatures.h"

struct kunit;
struct pt_regs;

/* Nothing is ever mapped there, and it is no user address, whose fixup may differ. */
#define KP_BAD_ADDRESS	(-PAGE_SIZE)

/**
 * struct kp_target - a function to be probed
 * @fn: the function, which kp_target_run() calls; NULL if the architecture has none of its kind
 * @symbol: its name
 * @at: where kp_target_addr() finds the address of the probed instruction
 *
 * The function has an argument and a result, which are in the same register throughout.
 * Before the probed instruction, it changes neither the stack pointer nor the address that it
 * returns to. That instruction can be optimized, except where noted below.
 */
struct kp_target {
	void		(*fn)(void);
	const char	*symbol;
	const void	*at;
};

/* Adds 3. */
extern const struct kp_target kp_target_add;
/* Adds 100, and has the probed instruction at its entry. */
extern const struct kp_target kp_target_callee;
/* Has an address, and loads a long from it. */
extern const struct kp_target kp_target_load;
/* Adds 1, but first waits until *kp_target_flag is not 0: it repeats the probed instruction. */
extern const struct kp_target kp_target_spin;
extern unsigned long *const kp_target_flag;
/*
 * Has a user address, and loads 32 bits from it as get_user() does, or returns -EFAULT if it
 * cannot. The instruction has a fixup, and so is not optimized.
 */
extern const struct kp_target kp_target_user_load;

unsigned long kp_target_run(const struct kp_target *t, unsigned long arg);
kprobe_opcode_t *kp_target_addr(const struct kp_target *t);

/* The argument or the result. */
unsigned long kp_target_value(const struct pt_regs *regs);
void kp_target_set_value(struct pt_regs *regs, unsigned long value);

/* Where to continue: at the start of a function, or after the call of the probed one. */
void kp_target_go_to(struct pt_regs *regs, const struct kp_target *t);
void kp_target_go_back(struct pt_regs *regs);

/* Are interrupts on where these registers are from? */
bool kp_target_has_irqs_on(const struct pt_regs *regs);

/* Does the CPU step, or mask interrupts that the kernel does not mask? */
bool kp_target_steps_or_masks(void);

/* The text: is it a breakpoint? The detour that a jump in it branches to, or NULL. */
bool kp_target_has_breakpoint(const void *addr);
void *kp_target_detour(const void *addr);

/* May jumps replace the entries of functions, which may have to stay landing pads? */
bool kp_target_optimizes_entries(void);

/*
 * Where a return probe is alone, a detour may save fewer registers: does the architecture make
 * such detours, and is this one?
 */
bool kp_target_has_return_detours(void);
bool kp_target_is_return_detour(const void *detour);

/* May copies of instructions branch back by themselves? */
bool kp_target_boosts(void);

/**
 * struct kp_form - a function with a probed instruction of some kind
 * @name: of the instruction
 * @target: the function
 * @alone: how the instruction is executed with a pre handler, see kprobe_mode()
 * @watched: the same with a post handler, or if no copy may branch back
 * @hits: of one call, whatever the argument is
 * @isa: what the CPU must have, for kp_form_exists()
 * @shares_memory: with other functions, so that they must not run at the same time
 */
struct kp_form {
	const char		*name;
	struct kp_target	target;
	const char		*alone;
	const char		*watched;
	unsigned int		hits;
	unsigned int		isa;
	bool			shares_memory;
};

extern const struct kp_form kp_forms[];
extern const unsigned int nr_kp_forms;

/* Does this CPU have the instruction? */
bool kp_form_exists(const struct kp_form *f);

/* Does a jump replace it? On x86, this depends on what surrounds the function, too. */
enum kp_form_jump {
	KP_FORM_NEVER_JUMPS,
	KP_FORM_ALWAYS_JUMPS,
	KP_FORM_MAY_JUMP,
};

enum kp_form_jump kp_form_jump(const struct kp_form *f);

/* Addresses in memory that a test provides: in a page that is read-only, and in none. */
#define KP_READ_ONLY	0UL
#define KP_UNMAPPED	1UL

/**
 * struct kp_fault - a function that faults at some addresses, unless a fault handler helps
 * @name: for messages
 * @target: it loads a long from its argument; or it stores its argument there, and then loads it
 * @bad: an address where it faults
 * @trapnr: what kp_fault_is() knows the fault by
 * @mode: how the instruction is executed under a probe that has all handlers, see kprobe_mode()
 * @stores: the second kind of @target
 */
struct kp_fault {
	const char		*name;
	struct kp_target	target;
	unsigned long		bad;
	unsigned int		trapnr;
	const char		*mode;
	bool			stores;
};

/* The first one is that of kp_target_load at KP_BAD_ADDRESS. */
extern const struct kp_fault kp_faults[];
extern const unsigned int nr_kp_faults;

/* Is this the number that fault handlers get for the fault? */
bool kp_fault_is(const struct kp_fault *f, int trapnr);

/**
 * struct kp_area - text in which the architecture allows no probes
 * @name: for messages
 * @start: its first address
 * @end: the address after it, or NULL
 * @why: why a probe at @start is refused; KPROBE_REFUSAL_NONE if there may be several reasons
 * @size: how large it is, if there is no @end: objtool warns about references past a function
 */
struct kp_area {
	const char		*name;
	const char		*start, *end;
	enum kprobe_refusal	why;
	unsigned int		size;
};

extern const struct kp_area kp_areas[];
extern const unsigned int nr_kp_areas;

/* Does this kernel have it, and run it where it is? */
bool kp_area_exists(const struct kp_area *a);

/**
 * struct kp_protected - a function of the architecture in which there must be no probe
 * @name: its name
 * @exists: this kernel must have it; other functions may be inlined
 */
struct kp_protected {
	const char	*name;
	bool		exists;
};

/*
 * What a CPU executes before exceptions can be handled, or after other CPUs have stopped waiting
 * for it; and what a hit executes before it is guarded against recursion, or in a detour. The
 * last element of each has no name.
 */
extern const struct kp_protected kp_waking_path[], kp_hit_path[];

void kp_expect_protected(struct kunit *test, const struct kp_protected *p);

/**
 * struct kp_privilege - what exceptions take away from the program and give back at their end
 * @name: for messages
 * @exists: do this kernel and this CPU have it?
 * @has: does the program have it now?
 * @set: give it to the program, with some user memory that it may be about, or take it away
 * @of_exceptions: exceptions are given it, or keep it where it does not matter
 *
 * Only architectures whose instructions are words define them.
 */
struct kp_privilege {
	const char	*name;
	bool		(*exists)(void);
	bool		(*has)(void);
	void		(*set)(u32 __user *word, bool on);
	bool		of_exceptions;
};

extern const struct kp_privilege kp_privileges[];
extern const unsigned int nr_kp_privileges;

/* A generator of parameters from such an array and the number of its elements. */
#define KP_TARGET_PARAM(what, array)					\
static KP_GENERATOR(what##_gen_params)					\
{									\
	const typeof(*(array)) *p = prev ? prev + sizeof(*p) : (array);	\
									\
	if (p == (array) + nr_##array)					\
		return NULL;						\
	strscpy(desc, p->name, KUNIT_PARAM_DESC_SIZE);			\
	return p;							\
}

/* Where the instruction of a probe at an address is stepped. */
static inline unsigned long kp_target_step(const kprobe_opcode_t *addr)
{
	return (unsigned long)get_kprobe((void *)addr)->ainsn.insn + KPROBE_STEP_OFFSET;
}

static inline bool kp_target_has_jump(const void *addr)
{
	return kp_target_detour(addr);
}

#endif /* _KERNEL_KPROBES_TESTS_TARGETS_H */
