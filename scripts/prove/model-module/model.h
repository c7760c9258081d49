/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random sequences of calls of the kprobes API against a model of it.
 *
 *   generate.c	generates the operations from a seed
 *   execute.c	executes them and records their results
 *   predict.c	the model: result and effect of an operation in a given state
 *   judge.c	searches an order of concurrent operations that the model explains
 *   faces.c	compares what debugfs and ftrace show with the model
 *   main.c	threads, rounds, parameters
 *
 * The model is written from the manual, not from the core.
 */
#ifndef _MODEL_H
#define _MODEL_H

#include <linux/bitops.h>
#include <linux/kprobes.h>
#include <linux/types.h>

#include "text.h"

#define MODEL_THREADS	4
/* Counters of each thread, and of the calls between rounds. */
#define MODEL_SLOTS	(MODEL_THREADS + 1)
/* Operations of all threads between two comparisons of the whole state. */
#define MODEL_ROUND	16
#define MODEL_BATCH	6

/* The first probes are shared by all threads; the last ones are return probes. */
#define MODEL_SHARED	3
#define MODEL_KPROBES	15
#define MODEL_PROBES	22
/* Operations that only check: a call of each function, and a claim that is released. */
#define MODEL_CHECKS	(NR_FNS + 1)
/* A large batch of kprobes on function entries of its own. */
#define MODEL_CROWD	40

enum model_fn {
	FN_TEXT, FN_INNER, FN_F0, FN_F1, FN_F2, FN_M_TEXT, FN_M_TRACED, FN_CROWD, NR_FNS
};

/* Targets of probes; those from NR_SITES on are refused. */
enum model_where {
	T_TEXT, T_TEXT_NEXT, T_TEXT_TWO, T_TEXT_FAR, T_INNER, T_F0, T_F0_BODY, T_F1,
	T_F2, T_M_TEXT, T_M_FAR, T_M_TRACED,
	NR_SITES,
	T_BLACK = NR_SITES, T_SPLIT, T_UNKNOWN, T_NOWHERE,
	NR_WHERE,
};

/**
 * struct model_target - a place for probes
 * @symbol: its function
 * @offset: of the instruction in there; 0 for an entry
 * @fn: the function whose call reaches it
 * @entry: a function's entry
 * @traced: a call site of ftrace
 * @coming: in the module that is loaded and unloaded
 * @err: the error with which a kprobe there is refused
 */
struct model_target {
	const char	*symbol;
	unsigned int	offset;
	enum model_fn	fn;
	bool		entry, traced, coming;
	int		err;
};

extern const struct model_target model_targets[NR_WHERE];

/* Address of a target, the instruction's; 0 if it is not there. */
unsigned long model_target_addr(enum model_where t);

/* Properties of a probe as its user fills it in. */
#define V_OFF		BIT(0)	/* KPROBE_FLAG_DISABLED */
#define V_SYMBOL	BIT(1)	/* by symbol, not by address */
#define V_BOTH		BIT(2)	/* by symbol and by address, which is refused */
/* Of kprobes. */
#define V_POST		BIT(3)	/* a post handler */
#define V_FAULT		BIT(4)	/* a fault handler */
#define V_NEST		BIT(5)	/* its handler calls FN_INNER */
#define V_NO_PRE	BIT(6)	/* no pre handler */
/* Of return probes. */
#define V_SKIP		BIT(3)	/* an entry handler that does not want the return */
#define V_ENTRY		BIT(4)	/* an entry handler */
#define V_BIG		BIT(5)	/* data_size is too large */

struct model_probe {
	struct kretprobe	rp;
	u8			where, variant;
	/* Its user has registered it. */
	bool			up;
	/* By who called the function. */
	unsigned int		hits[MODEL_SLOTS], posts[MODEL_SLOTS];
	atomic_t		running;
};

extern struct model_probe model_probes[MODEL_PROBES];

static inline bool model_is_return(unsigned int p)
{
	return p >= MODEL_KPROBES;
}

static inline bool model_has_post(unsigned int p, u8 variant)
{
	return !model_is_return(p) && variant & V_POST;
}

static inline bool model_has_fault(unsigned int p, u8 variant)
{
	return !model_is_return(p) && variant & V_FAULT;
}

enum model_kind {
	OP_REGISTER, OP_UNREGISTER, OP_ENABLE, OP_DISABLE, OP_SWITCH, OP_SYSCTL,
	OP_CLAIM, OP_RELEASE, OP_LOAD, OP_UNLOAD, OP_CALL, OP_CROWD, OP_UNCROWD,
	NR_KINDS,
};

#define MODEL_NO_PROBE	0xff

/**
 * struct model_item - a probe in a call
 * @probe: its number, or MODEL_NO_PROBE for a NULL in the array
 * @where: its target, and @variant: its properties; as executed
 * @fresh: fill the structure in anew, if it is not registered
 * @linked: @list was in use when unregistering returned
 * @running: a handler was running then
 */
struct model_item {
	u8	probe, where, variant;
	bool	fresh, linked, running;
};

/**
 * struct model_op - an operation and its result
 * @nr: its number in the sequence
 * @kind: what it is
 * @thread: who does it
 * @arg: the new state of a switch, the target of a claim, the function of a call,
 *	 whether the crowd gets post handlers
 * @fail: fail this allocation, counted from 1; or 0
 * @batch: one call for an array, also if it is of one
 * @returns: of return probes
 * @n: how many probes
 * @item: these
 * @err: what the call returned
 * @failed: an allocation has failed
 * @syncs: how often the thread synchronized all CPUs meanwhile
 * @begin: when it began, and @end: when it had returned, on a common clock
 * @hits: of each probe, by this call of a function; for return probes, of the
 *	  return handler
 * @posts: of post handlers; for return probes, of the entry handler
 */
struct model_op {
	unsigned int		nr;
	enum model_kind		kind;
	u8			thread, arg, fail, n;
	bool			batch, returns;
	struct model_item	item[MODEL_BATCH];
	int			err;
	bool			failed;
	unsigned int		syncs;
	u64			begin, end;
	u8			hits[MODEL_PROBES], posts[MODEL_PROBES];
	u8			crowd_hits, crowd_posts;
};

/* generate.c */
u64 model_random(u64 *state);
bool model_owns(unsigned int p, unsigned int thread, unsigned int threads);
u8 model_fit_variant(unsigned int p, u8 where, u8 variant);
void model_generate(struct model_op *op, u64 seed, unsigned int nr, unsigned int threads);
void model_print_op(const struct model_op *op);

/* execute.c */
int model_execute_init(void);
void model_execute_exit(void);
void model_slot_set(unsigned int slot, struct task_struct *task);
void model_fill(unsigned int p, u8 where, u8 variant);
void model_execute(struct model_op *op);
unsigned int model_check(struct model_op *checks, unsigned int round, unsigned int slot);
int model_unload(void);
void model_take_back(void);

/* MAYBE: the model cannot know, and accepts both. */
enum model_maybe { NO, YES, MAYBE };

/**
 * struct model_user - what the model knows of a probe
 * @registered: it is
 * @symbol: its user gave a symbol
 * @addr: its addr is set
 * @where: its target
 * @variant: its properties
 * @flags: the public flags
 * @age: when it was registered
 * @missed: nmissed, at least
 * @slop: how much more it may be
 */
struct model_user {
	bool			registered, symbol;
	enum model_maybe	addr;
	u8			where, variant;
	u32			flags;
	u32			age;
	unsigned long		missed, slop;
};

/**
 * struct model_state - everything that the model knows
 * @user: of each probe
 * @armed: of each target, whether it is armed
 * @claimed: whether our claim on the function is in force
 * @held: another user's claim is in force
 * @stale: an allocation failed: ours may be in force longer than needed
 * @left: an allocation failed: the address may be in more filters than needed
 * @on: the global switch
 * @jumps: the sysctl
 * @loaded: the module is there
 * @inner_missed: hits that the site of FN_INNER has missed
 * @crowd: the crowd is registered
 * @crowd_armed: and armed
 * @crowd_post: its probes have post handlers
 * @crowd_ops: how many ftrace_ops may claim its functions, at most
 * @crowd_left: an allocation failed: its functions may be in more filters than needed
 * @age: the newest of the probes
 */
struct model_state {
	struct model_user	user[MODEL_PROBES];
	enum model_maybe	armed[NR_SITES], claimed[NR_SITES];
	bool			held[NR_SITES], stale[NR_SITES], left[NR_SITES];
	bool			on, jumps, loaded, crowd, crowd_post, crowd_left;
	unsigned long		inner_missed;
	enum model_maybe	crowd_armed;
	unsigned int		crowd_ops;
	u32			age;
};

/* What other threads did while an operation was running. */
struct model_overlap {
	/* Probes whose handlers this call may have run or not. */
	u32	fuzzy;
	/* Probes being unregistered. */
	u32	leaving;
	/* Probes being registered. */
	u32	coming;
	/* The module was being loaded or unloaded. */
	bool	module;
	/* A registration may have pinned the module. */
	bool	pinned;
	/* Targets whose function may be claimed for a moment. */
	u32	claims;
	/* Targets whose function another user was claiming or releasing. */
	u32	others;
};

/* In @fuzzy: the crowd. */
#define MODEL_FUZZY_CROWD	BIT(31)

#define MODEL_WHY	160

#define because(why, fmt, ...)						\
({									\
	snprintf(why, MODEL_WHY, fmt, ##__VA_ARGS__);			\
	false;								\
})

/* There is one thread only. */
extern bool model_alone;

/* predict.c */
bool model_predict(struct model_state *s, const struct model_op *op,
		   const struct model_overlap *over, char *why);
bool model_enabled(const struct model_state *s, unsigned int p);
bool model_wanted(const struct model_state *s, enum model_where t);
bool model_claims(const struct model_state *s, enum model_where t);
void model_filled(struct model_state *s, unsigned int p, u8 where, u8 variant);

/* A line of the file "list", as a byte. */
#define LINE_RETURN	BIT(0)
#define LINE_DISABLED	BIT(1)
#define LINE_FTRACE	BIT(2)
#define LINE_OPTIMIZED	BIT(3)
#define MODEL_LINES	MODEL_PROBES

/**
 * struct model_seen - what debugfs and ftrace show while no operation is running
 * @line: lines of each target that is there, in their order
 * @lines: how many
 * @site: there is a line in "sites"
 * @armed: its state
 * @users: how many
 * @enabled: how many of them
 * @optimized: there is a jump
 * @on_the_way: to a jump
 * @missed: hits that called no handler
 * @ops: how many ftrace_ops the function has, and @exclusive: one of them claims it
 * @gone: lines of kprobes, and of return probes, that are gone
 * @crowd: lines of the crowd
 * @crowd_armed: its sites that are armed
 * @crowd_ops: how many ftrace_ops its functions have together
 * @crowd_exclusive: how many of its functions are claimed
 * @on: the switch
 * @probe: what is in the structures
 */
struct model_seen {
	u8		line[NR_SITES][MODEL_LINES];
	u8		lines[NR_SITES];
	bool		site[NR_SITES], armed[NR_SITES];
	unsigned int	users[NR_SITES], enabled[NR_SITES];
	bool		optimized[NR_SITES], on_the_way[NR_SITES];
	unsigned int	ops[NR_SITES];
	bool		exclusive[NR_SITES];
	unsigned long	missed[NR_SITES];
	unsigned int	gone[2], crowd, crowd_armed, crowd_ops, crowd_exclusive;
	bool		on;
	struct {
		unsigned long	addr, nmissed;
		u32		flags;
		bool		linked;
	} probe[MODEL_PROBES];
};

/* faces.c */
int model_faces_init(void);
void model_faces_exit(void);
bool model_see(struct model_seen *seen, char *why);
bool model_looks_right(const struct model_state *s, const struct model_seen *seen,
		       char *why);
void model_adopt(struct model_state *s, const struct model_seen *seen);
int model_write(bool sysctl, bool on, unsigned int slot);

/* judge.c */
int model_judge_init(void);
void model_judge_exit(void);
bool model_judge(struct model_state *state, struct model_op *ops, unsigned int n,
		 const struct model_op *checks, unsigned int nr_checks,
		 const struct model_seen *seen);

#endif /* _MODEL_H */
