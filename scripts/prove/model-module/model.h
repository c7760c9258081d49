/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Executes sequences of calls of the kprobes API, and reports what comes of them. What has to come
 * of them only scripts/prove/model_predict.py knows, which has the same numbers for targets,
 * properties and operations.
 *
 *   execute.c	the probes, and the operations
 *   main.c	threads, rounds, and how they are written and printed
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

enum model_kind {
	OP_REGISTER, OP_UNREGISTER, OP_ENABLE, OP_DISABLE, OP_SWITCH, OP_SYSCTL,
	OP_CLAIM, OP_RELEASE, OP_LOAD, OP_UNLOAD, OP_CALL, OP_CROWD, OP_UNCROWD,
};

#define MODEL_NO_PROBE	0xff

/* A probe in a call; its target and properties as executed, filled in anew if not registered. */
struct model_item {
	unsigned int	probe, where, variant, fresh;
	/* When unregistering returned, its list was in use, and a handler was running. */
	bool		linked, running;
};

/* An operation and its result. */
struct model_op {
	/*
	 * The argument is the new state of a switch, the target of a claim, the function of a call,
	 * or whether the crowd gets post handlers; the allocation that fails is counted from 1.
	 */
	unsigned int		nr, kind, thread, arg, fail, batch, returns, n;
	struct model_item	item[MODEL_BATCH];
	int			err;
	/* An allocation has failed; and how often the thread synchronized all CPUs meanwhile. */
	bool			failed;
	unsigned int		syncs;
	/* On a common clock. */
	u64			begin, end;
	/*
	 * Of each probe, by this call of a function; for return probes, of the handlers of return and
	 * of entry. The last are the crowd's.
	 */
	u8			hits[MODEL_PROBES + 1], posts[MODEL_PROBES + 1];
};

/* execute.c */
int model_execute_init(void);
void model_execute_exit(void);
void model_slot_set(unsigned int slot, struct task_struct *task);
void model_fill(unsigned int p, u8 where, u8 variant);
void model_execute(struct model_op *op);
void model_check(struct model_op *check, unsigned int slot);
void model_take_back(void);

/* main.c */
int model_write(bool sysctl, bool on, unsigned int slot);

#endif /* _MODEL_H */
