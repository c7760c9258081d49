/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine of differential tests, which architectures fill with instructions.
 *
 * An instruction under test is called a form. Each form is executed without a probe,
 * from random states, and then from the same states in every mode that probes on it
 * can have. Both executions have to end in the same state.
 *
 * An architecture provides
 *
 *  - the forms, an array of struct kpd_form that its assembly lays out;
 *  - the entry stub: kpd_run(), kpd_outer(), kpd_outer_insn and kpd_callee(), also in
 *    assembly;
 *  - struct kpd_state: everything that a form can change, and where it continues;
 *  - struct kpd_arch: how a state is made up, loaded, saved and compared.
 *
 * Its suite calls kpd_init() and kpd_exit(), and has a case for each of the functions
 * kpd_compare*() and kpd_check*() that it wants.
 */
#ifndef _KERNEL_KPROBES_TESTS_DIFFERENTIAL_H
#define _KERNEL_KPROBES_TESTS_DIFFERENTIAL_H

#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/prandom.h>
#include <linux/ptrace.h>
#include <linux/types.h>

#include "signatures.h"

struct kunit;

/* Probes on the same instruction, at most. */
#define KPD_MAX_USERS	2

/**
 * struct kpd_form - an instruction under test, as assembly lays it out
 * @text: the instruction, for messages
 * @back: a target for branches to lower addresses
 * @entry: where the stub enters the code
 * @taken: a target for branches to higher addresses
 * @with: what the form requires of the state; bits that the architecture defines
 * @cpu: what it requires of the CPU, as the architecture defines it
 * @kind: how it has to be executed, as the architecture defines it
 * @skip: distance in bytes from @entry to the instruction
 * @len: length of the instruction in bytes
 */
struct kpd_form {
	const char	*text;
	u8		*back;
	u8		*entry;
	u8		*taken;
	u32		with;
	u16		cpu;
	u8		kind;
	u8		skip;
	u8		len;
} __aligned(8);

/* The address to be probed. */
static inline void *kpd_insn(const struct kpd_form *f)
{
	return f->entry + f->skip;
}

/*
 * The entry stub. kpd_run() loads the state that &kpd_arch.load has set up, executes a
 * form and stores the resulting state. kpd_outer() is a function to be inside of: the
 * instruction at kpd_outer_insn does nothing, and is probed. kpd_callee() is a function
 * to be called by forms: it changes nothing, and has room for a jump.
 */
asmlinkage void kpd_run(void);
asmlinkage void kpd_outer(void);
asmlinkage void kpd_callee(void);
extern kprobe_opcode_t kpd_outer_insn[];

/* Whether a form is executed by the test itself, or by a handler of another probe. */
enum kpd_inside {
	KPD_NOT_INSIDE,
	KPD_IN_PRE_HANDLER,
	KPD_IN_POST_HANDLER,
};

/**
 * struct kpd_mode - the probes on all forms
 * @name: what is special about them
 * @users: number of probes on each form
 * @pre: bit mask of the users with a pre handler
 * @post: bit mask of the users with a post handler
 * @fault: bit mask of the users with a fault handler
 * @trapped: a debugger steps: there is a debug exception after each instruction
 * @jumps: only forms whose probes get a jump are executed
 * @exits: only forms that call kpd_callee() are executed, and it has a return probe
 * @inside: the form is executed in the handler of another probe, so that these miss
 */
struct kpd_mode {
	const char	*name;
	unsigned int	users;
	unsigned int	pre;
	unsigned int	post;
	unsigned int	fault;
	bool		trapped;
	bool		jumps;
	bool		exits;
	enum kpd_inside	inside;
};

/* The modes of forms that complete, and of forms that are interrupted. */
KP_GENERATOR(kpd_mode_gen_params);
KP_GENERATOR(kpd_fault_mode_gen_params);

/* Its content belongs to the suite of the architecture. */
struct kpd_state;
struct kpd;

/**
 * struct kpd_judge - what is being compared
 * @d: the test
 * @test: the KUnit case, which fails on a difference
 * @f: the form
 * @round: number of the random state
 * @wrong: differences so far
 */
struct kpd_judge {
	struct kpd		*d;
	struct kunit		*test;
	const struct kpd_form	*f;
	unsigned int		round;
	unsigned int		wrong;
};

void __printf(2, 3) kpd_complain(struct kpd_judge *j, const char *fmt, ...);
void kpd_same(struct kpd_judge *j, const char *what, unsigned long got, unsigned long want);
void kpd_shown(struct kpd_judge *j, bool post, const char *what, unsigned long got,
	       unsigned long want);

/**
 * struct kpd_arch - what the engine does not know about an architecture
 * @state_size: size of a struct kpd_state
 * @min_forms: each mode has to apply to that many forms
 * @min_jumps: that many of them have to get a jump; 0 if the architecture has none
 * @min_traps: debug exceptions in each run while @trap is in effect, at least
 * @skip: why a form cannot be executed on this CPU, or NULL if it can; optional
 * @applies: whether a form can be executed in a mode; with &kpd_mode.inside, it must not
 *	enable interrupts, for example. Optional.
 * @calls: whether a form calls kpd_callee(), and continues after itself. Without it,
 *	modes with return probes are skipped.
 * @executed: how a form has to be executed under probes, in the words of
 *	kprobe_mode(), or "ftrace". The second argument is true if one of the
 *	probes has a post or a fault handler. Optional.
 * @jumps: whether a probe of a form has to get a jump; optional
 * @callee_jumps: whether a return probe of kpd_callee() gets a jump; it does if this is
 *	missing
 * @fill: make up a random state, the same for the same random numbers. Writes to the
 *	memory that forms access; registers are only recorded in the state, for @load.
 *	In odd rounds, interrupts are on.
 * @load: prepare for kpd_run() to start from a state
 * @save: read the state after kpd_run()
 * @same: compare the state after a run with the one after a run without probes, using
 *	kpd_same() and kpd_complain(). The third state is the one that both started from.
 * @same_regs: compare what a handler was shown. @post tells which handler. The first
 *	state is the one that it has to show, the second the one before the form.
 *	Optional.
 * @trap: make the CPU raise a debug exception after each instruction from a state on;
 *	the suite has to count them in &kpd.traps. Without it, such modes are skipped.
 * @faulted: whether the form did not complete in the run that ended in a state;
 *	optional
 * @branched: whether the run that ended in a state did not continue after the form;
 *	for kpd_check_branches()
 * @takes_any: whether a form can start from registers with any content; for
 *	kpd_compare_changed()
 * @change: change registers of a state; for kpd_compare_changed()
 * @change_regs: the same, when a handler does it
 *
 * @fill, @load and @save are called with preemption disabled, and so are @trap and
 * @change before @load. @change_regs is called in a pre handler. All others are called
 * from the case, may sleep, and may let it fail. @trap is also called for a state after
 * a run without probes, to make it the one that is wanted.
 */
struct kpd_arch {
	size_t		state_size;
	unsigned int	min_forms;
	unsigned int	min_jumps;
	unsigned int	min_traps;

	const char	*(*skip)(const struct kpd_form *f);
	bool		(*applies)(const struct kpd_form *f, const struct kpd_mode *m);
	bool		(*calls)(const struct kpd_form *f);
	const char	*(*executed)(const struct kpd_form *f, bool watched);
	bool		(*jumps)(const struct kpd_form *f);
	bool		(*callee_jumps)(void);

	void		(*fill)(const struct kpd_form *f, unsigned int round,
				struct rnd_state *rnd, struct kpd_state *start);
	void		(*load)(const struct kpd_form *f, const struct kpd_state *start);
	void		(*save)(const struct kpd_form *f, struct kpd_state *out);

	void		(*same)(struct kpd_judge *j, const struct kpd_state *got,
				const struct kpd_state *want, const struct kpd_state *start);
	void		(*same_regs)(struct kpd_judge *j, struct pt_regs *regs, bool post,
				     const struct kpd_state *want,
				     const struct kpd_state *start);

	void		(*trap)(struct kpd_state *state);
	bool		(*faulted)(const struct kpd_state *out);
	bool		(*branched)(const struct kpd_state *out);

	bool		(*takes_any)(const struct kpd_form *f);
	void		(*change)(struct kpd_state *state);
	void		(*change_regs)(struct pt_regs *regs);
};

/**
 * struct kpd_record - what is known about a form
 * @modes: number of modes in which it was compared
 * @wrong: differences that were found
 */
struct kpd_record {
	unsigned int	modes;
	unsigned int	wrong;
};

/**
 * struct kpd_seen - what the probes on one form have recorded in one run
 * @addr: the address of the form
 * @pre: calls of the pre handler of each user
 * @post: calls of their post handlers
 * @faults: calls of their fault handlers
 * @strange: hits of another form
 * @outer: runs from inside a handler
 * @exits: calls of the handler of the return probe
 * @at_pre: what the last pre handler was shown
 * @at_post: what the last post handler was shown
 */
struct kpd_seen {
	const void	*addr;
	unsigned int	pre[KPD_MAX_USERS];
	unsigned int	post[KPD_MAX_USERS];
	unsigned int	faults[KPD_MAX_USERS];
	unsigned int	strange;
	unsigned int	outer;
	unsigned int	exits;
	struct pt_regs	at_pre;
	struct pt_regs	at_post;
};

/**
 * struct kpd - a differential test
 * @name: name of the suite; like the next three, set by the suite
 * @arch: the functions of the architecture
 * @forms: the forms
 * @end: end of the forms
 * @rounds: number of states in which each form is executed; if the suite leaves it at
 *	0, it is the parameter kprobes.differential_rounds
 * @seed: what the states follow from, the parameter kprobes.differential_seed
 * @cpu: the CPU on which everything runs, as some registers belong to it
 * @records: of each form
 * @usable: numbers of the forms that this CPU can execute
 * @nr_usable: how many there are
 * @states: memory of all states
 * @start: the state before the last run
 * @got: the state after it
 * @wanted: scratch state
 * @balance: what the last run has left of preemption, or of the current probe
 * @seen: what handlers have recorded in the last run
 * @outer: the probe whose handlers execute forms
 * @callee: the return probe of kpd_callee()
 * @trapped: debug exceptions after each instruction are expected
 * @traps: number of debug exceptions, counted by the suite
 * @shown: states that handlers were shown
 * @shown_wrong: those that differed
 * @unbalanced: runs that left something behind
 */
struct kpd {
	const char		*name;
	const struct kpd_arch	*arch;
	const struct kpd_form	*forms;
	const struct kpd_form	*end;
	unsigned int		rounds;

	u64			seed;
	int			cpu;
	struct kpd_record	*records;
	unsigned int		*usable;
	unsigned int		nr_usable;
	void			*states;
	struct kpd_state	*start, *got, *wanted;

	long			balance;
	struct kpd_seen		seen;
	struct kprobe		outer;
#ifdef CONFIG_KRETPROBES
	struct kretprobe	callee;
#endif
	bool			trapped;
	unsigned long		traps;

	unsigned long		shown;
	unsigned long		shown_wrong;
	unsigned long		unbalanced;
};

int kpd_init(struct kpd *d);
void kpd_exit(struct kpd *d);

const struct kpd_form *kpd_usable(const struct kpd *d, unsigned int n);
const struct kpd_state *kpd_native(const struct kpd *d, const struct kpd_form *f,
				   unsigned int round);
unsigned int kpd_count_faulted(const struct kpd *d, const struct kpd_form *f);
void kpd_record_native(struct kpd *d);

void kpd_pin(struct kunit *test, const struct kpd *d);
void kpd_compare(struct kunit *test, struct kpd *d, const struct kpd_mode *m);
void kpd_compare_changed(struct kunit *test, struct kpd *d, const struct kpd_mode *m,
			 unsigned int *kinds);
void kpd_check_branches(struct kunit *test, const struct kpd *d,
			bool (*is_conditional)(const struct kpd_form *f));
unsigned int kpd_check_flags(struct kunit *test, struct kpd *d,
			     bool (*depends)(const struct kpd_form *f), unsigned int nr,
			     void (*set)(struct kpd_state *state, unsigned int flags));
unsigned int kpd_check_group(struct kunit *test, const struct kpd *d,
			     bool (*has)(const struct kpd_form *f, const void *group),
			     const void *group);
void kpd_check_shown(struct kunit *test, const struct kpd *d);
void kpd_check_balance(struct kunit *test, const struct kpd *d);

unsigned long kpd_random_value(struct rnd_state *rnd);
u32 kpd_random_below(struct rnd_state *rnd, u32 ceil);
void kpd_random_words(struct rnd_state *rnd, void *buf, size_t size);

#endif /* _KERNEL_KPROBES_TESTS_DIFFERENTIAL_H */
