// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model: what an operation returns and changes, according to the manual. It
 * neither calls the core nor knows its internals.
 *
 * Where the manual allows several outcomes, or where concurrent operations make
 * several possible, the model accepts the observed one if it is among them.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/string.h>

#include "model.h"

/* Its handlers are called while its site is armed. */
bool model_enabled(const struct model_state *s, unsigned int p)
{
	const struct model_user *u = &s->user[p];

	return u->registered && !(u->flags & (KPROBE_FLAG_DISABLED | KPROBE_FLAG_GONE));
}

static bool uses(const struct model_state *s, unsigned int p, enum model_where t)
{
	const struct model_user *u = &s->user[p];

	return u->registered && u->where == t && !(u->flags & KPROBE_FLAG_GONE);
}

static bool used(const struct model_state *s, enum model_where t)
{
	unsigned int p;

	for (p = 0; p < MODEL_PROBES; p++) {
		if (uses(s, p, t))
			return true;
	}
	return false;
}

/* Does a site have an enabled user? */
static bool has_enabled(const struct model_state *s, enum model_where t)
{
	unsigned int p;

	for (p = 0; p < MODEL_PROBES; p++) {
		if (uses(s, p, t) && model_enabled(s, p))
			return true;
	}
	return false;
}

/* ... with the global switch on? */
bool model_wanted(const struct model_state *s, enum model_where t)
{
	return s->on && has_enabled(s, t);
}

/* Does a site have a post handler, which claims the function while it is armed? */
bool model_claims(const struct model_state *s, enum model_where t)
{
	unsigned int p;

	for (p = 0; p < MODEL_PROBES && model_targets[t].traced; p++) {
		if (uses(s, p, t) && model_has_post(p, s->user[p].variant))
			return true;
	}
	return false;
}

/* Would arming the site, or claiming its function, be refused now? */
static enum model_maybe conflicts(const struct model_state *s, enum model_where t)
{
	if (!s->held[t] || !model_claims(s, t))
		return NO;
	if (s->armed[t] == MAYBE)
		return MAYBE;
	if (s->armed[t] == YES)
		return s->claimed[t] == YES ? NO : s->claimed[t] == MAYBE ? MAYBE : YES;
	return model_wanted(s, t) ? YES : NO;
}

/* Claims that an allocation that failed has left end when the next user leaves. */
static void forget_stale(struct model_state *s)
{
	enum model_where t;

	for (t = 0; t < NR_SITES; t++)
		s->stale[t] = false;
}

/*
 * Whatever detaches users disarms the sites again that ftrace has failed to disarm. A
 * registration that fails does so, too.
 */
static void retry_disarming(struct model_state *s, bool failed)
{
	enum model_where t;

	for (t = 0; t < NR_SITES; t++) {
		if (!model_targets[t].traced || model_wanted(s, t) || s->armed[t] == NO)
			continue;
		s->armed[t] = failed ? MAYBE : NO;
		s->claimed[t] = s->armed[t];
	}
}

/*
 * Update a site after a change of its users. With @arming, a wanted site becomes
 * armed; otherwise a wanted site keeps its state.
 * A site that is not wanted is disarmed.
 */
static void follow(struct model_state *s, enum model_where t, bool arming, bool failed)
{
	if (t >= NR_SITES)
		return;

	if (t == T_INNER && !used(s, t))
		s->inner_missed = 0;
	if (!model_wanted(s, t) && s->armed[t] != NO && (arming || has_enabled(s, t)))
		/* Disarming it failed before; this operation need not try again. */
		s->armed[t] = MAYBE;
	else if (!model_wanted(s, t))
		s->armed[t] = NO;
	else if (arming)
		s->armed[t] = YES;
	if (model_claims(s, t))
		s->claimed[t] = s->armed[t];
	else if (s->armed[t] == NO || s->claimed[t] != MAYBE)
		s->claimed[t] = NO;

	if (failed && model_targets[t].traced) {
		s->armed[t] = MAYBE;
		s->claimed[t] = MAYBE;
		s->stale[t] = true;
		s->left[t] = true;
	}
}

/* A site that was refused because of its post handlers is armed once they have left. */
static void arm_refused(struct model_state *s, enum model_where t, bool failed)
{
	if (t >= NR_SITES || !model_targets[t].traced || failed)
		return;
	if (s->armed[t] == NO && model_wanted(s, t) && !model_claims(s, t))
		s->armed[t] = YES;
}

/*
 * A registration failed, after it may have been at a site. Where arming or disarming
 * had failed before, it may have succeeded now.
 */
static void pass_by(struct model_state *s, enum model_where t, bool failed)
{
	if (t >= NR_SITES || !model_targets[t].traced)
		return;
	if (failed) {
		s->armed[t] = MAYBE;
		s->claimed[t] = MAYBE;
		s->stale[t] = true;
		s->left[t] = true;
	} else if ((s->armed[t] == YES) != model_wanted(s, t)) {
		s->armed[t] = MAYBE;
		if (model_claims(s, t))
			s->claimed[t] = MAYBE;
	}
}

/* The user has filled in a structure that is not registered. */
void model_filled(struct model_state *s, unsigned int p, u8 where, u8 variant)
{
	s->user[p] = (struct model_user) {
		.symbol		= variant & (V_SYMBOL | V_BOTH) && model_targets[where].symbol,
		.addr		= variant & V_BOTH || !(variant & V_SYMBOL) ? YES : NO,
		.where		= where,
		.variant	= variant,
		.flags		= variant & V_OFF ? KPROBE_FLAG_DISABLED : 0,
	};
}

/*
 * Registering
 */

/* The error of the i-th probe alone, before anything is armed. @loaded: the module. */
static int item_error(const struct model_state *s, const struct model_op *op, int i,
		      bool loaded)
{
	const struct model_item *item = &op->item[i];
	const struct model_target *t = &model_targets[item->where];
	const struct model_user *u;
	bool addr;

	if (item->probe == MODEL_NO_PROBE)
		return -EINVAL;

	u = &s->user[item->probe];
	addr = u->addr == YES || (u->addr == MAYBE && op->err != -EINVAL);
	/* It is in this array for the second time. */
	if (u->age == s->age + 1 && u->registered)
		return -EINVAL;
	if (u->symbol == addr)
		return -EINVAL;
	if (t->err == -ENOENT || (t->coming && !loaded))
		return -ENOENT;
	if (op->returns && !t->entry)
		return -EINVAL;
	if (u->registered)
		return -EINVAL;
	if (op->returns && u->variant & V_BIG)
		return -E2BIG;
	return t->err;
}

static void add_user(struct model_state *s, const struct model_item *item)
{
	const struct model_target *t = &model_targets[item->where];
	struct model_user *u = &s->user[item->probe];

	u->registered = true;
	u->addr = YES;
	u->flags &= KPROBE_FLAG_DISABLED;
	if (t->traced)
		u->flags |= KPROBE_FLAG_FTRACE;
	if (t->entry)
		u->flags |= KPROBE_FLAG_ON_FUNC_ENTRY;
	u->missed = 0;
	u->slop = 0;
}

/* Without memory, a claim that was left before cannot be given up and refuses a new one. */
static bool refused_by_stale(const struct model_state *s, const struct model_op *op,
			     enum model_where t)
{
	return op->failed && op->err == -EBUSY && t < NR_SITES && s->stale[t];
}

/* The first @good probes are users already. */
static bool register_allowed(const struct model_state *s, const struct model_op *op,
			     const struct model_overlap *over, int good, int expected,
			     enum model_maybe busy)
{
	int i;

	if (op->err == expected || (busy != NO && op->err == -EBUSY) ||
	    (op->failed && op->err == -ENOMEM))
		return true;

	for (i = 0; i < op->n; i++) {
		const struct model_item *item = &op->item[i];

		if (item->probe == MODEL_NO_PROBE)
			continue;
		if (op->err == -EINVAL && (over->leaving | over->coming) & BIT(item->probe))
			return true;
		if (refused_by_stale(s, op, item->where))
			return true;
		if (!op->err || !over->module || !model_targets[item->where].coming)
			continue;
		/* Symbols of a module outlive its probes. */
		if (op->err == -ENOENT ||
		    (i >= good && op->err == item_error(s, op, i, true)))
			return true;
	}
	return false;
}

static bool predict_register(struct model_state *s, const struct model_op *op,
			     const struct model_overlap *over, char *why)
{
	struct model_user before[MODEL_BATCH];
	enum model_maybe busy = NO;
	int i, k, err = 0;

	for (i = 0; i < op->n; i++) {
		if (op->item[i].fresh)
			model_filled(s, op->item[i].probe, op->item[i].where,
				     op->item[i].variant);
	}
	for (k = 0; k < op->n && !err; k++) {
		err = item_error(s, op, k, s->loaded);
		if (err)
			break;
		before[k] = s->user[op->item[k].probe];
		add_user(s, &op->item[k]);
		s->user[op->item[k].probe].age = s->age + 1;
	}
	/* An error from arming the probes before it takes precedence. */
	for (i = 0; i < k; i++)
		busy = max(busy, conflicts(s, op->item[i].where));
	if (busy == YES)
		err = -EBUSY;

	if (!register_allowed(s, op, over, k, err, busy))
		return because(why, "registering should return %d, not %d", err, op->err);

	if (op->err) {
		while (k--)
			s->user[op->item[k].probe] = before[k];
		for (i = 0; i < op->n; i++) {
			if (op->item[i].probe != MODEL_NO_PROBE)
				pass_by(s, op->item[i].where, op->failed);
		}
		retry_disarming(s, op->failed);
		return true;
	}

	/* A later one in the array is a newer user. */
	for (i = 0; i < op->n; i++)
		s->user[op->item[i].probe].age = ++s->age;
	for (i = 0; i < op->n; i++)
		follow(s, op->item[i].where, true, op->failed);
	return true;
}

/* Is the i-th probe in the array already? */
static bool item_is_second(const struct model_op *op, int i)
{
	int j;

	for (j = 0; j < i; j++) {
		if (op->item[j].probe == op->item[i].probe)
			return true;
	}
	return false;
}

static bool predict_unregister(struct model_state *s, const struct model_op *op,
			       const struct model_overlap *over, char *why)
{
	bool leaves = false;
	int i;

	for (i = 0; i < op->n; i++) {
		const struct model_item *item = &op->item[i];
		struct model_user *u;
		bool again;

		if (item->probe == MODEL_NO_PROBE)
			continue;
		u = &s->user[item->probe];
		again = over->coming & BIT(item->probe);
		if (item->linked && !again)
			return because(why, "probe %u is in use after unregistering", item->probe);
		if (item->running && !again)
			return because(why, "a handler of probe %u runs after unregistering",
				       item->probe);
		if (u->registered) {
			u->registered = false;
			u->flags |= KPROBE_FLAG_DISABLED;
			follow(s, item->where, false, op->failed);
			arm_refused(s, item->where, op->failed);
			leaves = true;
		} else if (!item_is_second(op, i)) {
			u->addr = (over->leaving | over->coming) & BIT(item->probe) &&
				  u->addr ? MAYBE : NO;
		}
	}

	retry_disarming(s, op->failed);
	if (leaves && !op->failed)
		forget_stale(s);
	return true;
}

/*
 * Switches
 */

static bool predict_enable(struct model_state *s, const struct model_op *op,
			   const struct model_overlap *over, char *why)
{
	struct model_user *u = &s->user[op->item[0].probe];
	u32 disabled = u->flags & KPROBE_FLAG_DISABLED;
	enum model_maybe busy;
	int err = 0;

	if (!u->registered || u->flags & KPROBE_FLAG_GONE)
		return op->err == -EINVAL ? true :
		       because(why, "enabling should return %d, not %d", -EINVAL, op->err);

	/* Where an enabled one was refused before, this tries again. */
	u->flags &= ~KPROBE_FLAG_DISABLED;
	busy = conflicts(s, u->where);
	if (busy == YES)
		err = -EBUSY;
	if (op->err != err && !(busy == MAYBE && op->err == -EBUSY) &&
	    !(op->failed && op->err == -ENOMEM) && !refused_by_stale(s, op, u->where))
		return because(why, "enabling should return %d, not %d", err, op->err);

	if (op->err)
		u->flags |= disabled;
	follow(s, u->where, !op->err, op->failed);
	return true;
}

static bool predict_disable(struct model_state *s, const struct model_op *op, char *why)
{
	struct model_user *u = &s->user[op->item[0].probe];
	int err = u->registered ? 0 : -EINVAL;

	if (op->failed && op->err == -ENOMEM) {
		follow(s, u->where, false, true);
		return true;
	}
	if (op->err != err)
		return because(why, "disabling should return %d, not %d", err, op->err);
	if (err || u->flags & (KPROBE_FLAG_GONE | KPROBE_FLAG_DISABLED))
		return true;
	u->flags |= KPROBE_FLAG_DISABLED;
	follow(s, u->where, false, op->failed);
	return true;
}

/*
 * Limits on how often a call synchronizes all CPUs. Sites are armed and disarmed in batches,
 * so the number of sites does not matter.
 */
#define SYNCS		16
/* For each ftrace_ops that is registered, refused or unregistered. */
#define SYNCS_OF_OPS	6

static bool syncs_right(const struct model_state *s, const struct model_op *op, char *why)
{
	unsigned int limit = SYNCS + SYNCS_OF_OPS * s->crowd_ops;
	enum model_where t;

	/* Without memory, a batch is halved, and addresses stay in a filter until later. */
	if (op->failed)
		limit += 2 * SYNCS_OF_OPS;
	if (s->crowd_left)
		limit += 2 * SYNCS_OF_OPS * (1 + s->crowd_ops);
	for (t = 0; t < NR_SITES; t++) {
		if (model_claims(s, t))
			limit += SYNCS_OF_OPS;
		if (s->left[t] || s->stale[t])
			limit += 2 * SYNCS_OF_OPS;
	}
	return op->syncs <= limit ? true :
	       because(why, "all CPUs were synchronized %u times, not up to %u times",
		       op->syncs, limit);
}

/*
 * At most how many ftrace_ops claim functions of the crowd after probes were switched on?
 * All claims of a batch share one. If ftrace refuses some of them, the batch is halved,
 * again and again, and each half that it accepts gets an ops of its own. An allocation
 * that fails refuses a batch once.
 */
static unsigned int crowd_ops(const struct model_state *s, const struct model_op *op,
			      const struct model_overlap *over)
{
	unsigned int n = MODEL_CROWD, refused = op->failed;
	enum model_where t;

	if (!s->crowd || !s->crowd_post)
		return 0;
	for (t = 0; t < NR_SITES; t++) {
		if (!model_claims(s, t))
			continue;
		n++;
		refused += s->held[t] || over->others & BIT(t);
	}
	return 1 + refused * order_base_2(n);
}

static bool switch_error_right(const struct model_op *op, enum model_maybe busy, char *why)
{
	int err = busy == YES ? -EBUSY : 0;

	if (op->err == err || (busy == MAYBE && (!op->err || op->err == -EBUSY)) ||
	    (op->failed && op->err == -ENOMEM))
		return true;
	return because(why, "switching should return %d, not %d", err, op->err);
}

static bool predict_switch(struct model_state *s, const struct model_op *op,
			   const struct model_overlap *over, char *why)
{
	enum model_maybe busy = NO;
	enum model_where t;

	if (s->on == op->arg)
		return switch_error_right(op, NO, why);

	s->on = op->arg;
	if (s->on)
		s->crowd_ops = crowd_ops(s, op, over);
	if (!syncs_right(s, op, why))
		return false;

	for (t = 0; t < NR_SITES; t++) {
		enum model_maybe no = s->on ? conflicts(s, t) : NO;

		if (refused_by_stale(s, op, t))
			busy = max(busy, MAYBE);
		busy = max(busy, no);
		if (!s->on)
			s->armed[t] = NO;
		follow(s, t, no == NO, op->failed);
		if (no == MAYBE || (no == YES && s->armed[t] == YES)) {
			s->armed[t] = MAYBE;
			s->claimed[t] = MAYBE;
		}
	}
	if (op->failed && s->crowd_left)
		busy = max(busy, MAYBE);
	s->crowd_armed = s->crowd && s->on ? YES : NO;
	if (op->failed) {
		s->crowd_armed = MAYBE;
		s->crowd_left |= s->crowd;
	}
	return switch_error_right(op, busy, why);
}

/*
 * Others
 */

static bool predict_claim(struct model_state *s, const struct model_op *op,
			  const struct model_overlap *over, char *why)
{
	bool open = s->claimed[op->arg] == MAYBE || s->stale[op->arg] ||
		    over->claims & BIT(op->arg);
	int err = s->held[op->arg] ? -EEXIST : s->claimed[op->arg] == YES ? -EBUSY : 0;

	if (op->err != err && !(open && err != -EEXIST && (!op->err || op->err == -EBUSY)))
		return because(why, "a claim should return %d, not %d", err, op->err);
	if (!op->err)
		s->held[op->arg] = true;
	return true;
}

static bool predict_release(struct model_state *s, const struct model_op *op, char *why)
{
	int err = s->held[op->arg] ? 0 : -ENOENT;

	if (op->err != err)
		return because(why, "a release should return %d, not %d", err, op->err);
	s->held[op->arg] = false;
	return true;
}

static bool predict_module(struct model_state *s, const struct model_op *op,
			   const struct model_overlap *over, char *why)
{
	bool load = op->kind == OP_LOAD;
	int err = s->loaded == load ? -EIO : 0;
	unsigned int p;

	if (!load && !err && op->err == -EIO && over->pinned)
		return true;
	if (op->err != err)
		return because(why, "the module should return %d, not %d", err, op->err);
	s->loaded = load;
	for (p = 0; p < MODEL_PROBES && !load; p++) {
		struct model_user *u = &s->user[p];

		if (!u->registered || !model_targets[u->where].coming)
			continue;
		u->flags |= KPROBE_FLAG_GONE;
		s->armed[u->where] = NO;
		s->claimed[u->where] = NO;
	}
	return true;
}

/* A handler called FN_INNER @n times; hits there are missed. */
static void nest(struct model_state *s, const struct model_overlap *over, unsigned int n)
{
	unsigned int p;

	if (s->armed[T_INNER] == YES)
		s->inner_missed += n;
	for (p = 0; p < MODEL_PROBES; p++) {
		if (over->fuzzy & BIT(p) || (model_enabled(s, p) && uses(s, p, T_INNER) &&
					     s->armed[T_INNER] == MAYBE))
			s->user[p].slop += n;
		else if (uses(s, p, T_INNER) && model_enabled(s, p) && s->armed[T_INNER])
			s->user[p].missed += n;
	}
}

static bool predict_hits(struct model_state *s, const struct model_op *op, unsigned int p,
			 bool fuzzy, char *why)
{
	const struct model_user *u = &s->user[p];
	unsigned int hits = 0, posts = 0;
	enum model_maybe armed = NO;

	if (model_enabled(s, p) && model_targets[u->where].fn == op->arg)
		armed = s->armed[u->where];
	if (model_is_return(p)) {
		hits = !(u->variant & V_SKIP);
		posts = !!(u->variant & (V_SKIP | V_ENTRY));
	} else {
		hits = !(u->variant & V_NO_PRE);
		posts = !!(u->variant & V_POST);
	}

	if (fuzzy || armed == MAYBE)
		return op->hits[p] <= 2 && op->posts[p] <= 2 ? true :
		       because(why, "probe %u was called far too often", p);
	if (armed == NO)
		hits = posts = 0;
	if (op->hits[p] != hits || op->posts[p] != posts)
		return because(why, "probe %u should be called %u and %u times, not %u and %u",
			       p, hits, posts, op->hits[p], op->posts[p]);
	return true;
}

static bool predict_call(struct model_state *s, const struct model_op *op,
			 const struct model_overlap *over, char *why)
{
	bool there = op->arg == FN_M_TEXT || op->arg == FN_M_TRACED ? s->loaded : true;
	int err = there ? 0 : -ENODEV;
	unsigned int p;

	if (op->err != err && !(over->module && (!op->err || op->err == -ENODEV)))
		return because(why, "the call should return %d, not %d", err, op->err);
	if (op->err)
		return true;
	if (op->arg == FN_CROWD) {
		unsigned int hits = s->crowd_armed == YES ? MODEL_CROWD : 0;
		unsigned int posts = s->crowd_post ? hits : 0;

		return over->fuzzy & MODEL_FUZZY_CROWD || s->crowd_armed == MAYBE ||
		       (op->crowd_hits == hits && op->crowd_posts == posts) ? true :
		       because(why, "the crowd should be called %u and %u times, not %u and %u",
			       hits, posts, op->crowd_hits, op->crowd_posts);
	}

	for (p = 0; p < MODEL_PROBES; p++) {
		if (!predict_hits(s, op, p, over->fuzzy & BIT(p), why))
			return false;
	}
	for (p = 0; p < MODEL_KPROBES; p++) {
		if (s->user[p].variant & V_NEST)
			nest(s, over, op->hits[p]);
	}
	return true;
}

static bool predict_crowd(struct model_state *s, const struct model_op *op, char *why)
{
	bool come = op->kind == OP_CROWD;
	int err = come && s->crowd ? -EINVAL : 0;

	if (op->err || !come)
		retry_disarming(s, op->failed);
	/* Claims that were left may not end without memory. */
	if (op->failed && (op->err == -ENOMEM || (op->err == -EBUSY && s->crowd_left))) {
		s->crowd_armed = s->crowd ? MAYBE : NO;
		s->crowd_left = true;
		return true;
	}
	if (op->err != err)
		return because(why, "the crowd should return %d, not %d", err, op->err);
	if (err)
		return true;
	if (come) {
		s->crowd_post = op->arg;
		s->crowd_ops = op->arg;
	}
	if (!syncs_right(s, op, why))
		return false;
	s->crowd = come;
	s->crowd_armed = come && s->on ? YES : NO;
	s->crowd_left |= op->failed;
	return true;
}

/**
 * model_predict() - let an operation happen to the model
 * @s: the state, which becomes the one after it
 * @op: the operation, as executed
 * @over: what happened at the same time
 * @why: set if what came of it is not what had to
 *
 * Return: false if that is so.
 */
bool model_predict(struct model_state *s, const struct model_op *op,
		   const struct model_overlap *over, char *why)
{
	switch (op->kind) {
	case OP_REGISTER:
		return predict_register(s, op, over, why);
	case OP_UNREGISTER:
		return predict_unregister(s, op, over, why);
	case OP_ENABLE:
		return predict_enable(s, op, over, why);
	case OP_DISABLE:
		return predict_disable(s, op, why);
	case OP_SWITCH:
		return predict_switch(s, op, over, why);
	case OP_SYSCTL:
		s->jumps = op->arg;
		return op->err ? because(why, "the sysctl returned %d", op->err) : true;
	case OP_CLAIM:
		return predict_claim(s, op, over, why);
	case OP_RELEASE:
		return predict_release(s, op, why);
	case OP_LOAD:
	case OP_UNLOAD:
		return predict_module(s, op, over, why);
	case OP_CALL:
		return predict_call(s, op, over, why);
	case OP_CROWD:
	case OP_UNCROWD:
		return predict_crowd(s, op, why);
	default:
		return because(why, "unknown operation");
	}
}
