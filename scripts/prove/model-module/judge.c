// SPDX-License-Identifier: GPL-2.0-only
/*
 * Linearizability: is there an order of a round's operations in which the model
 * predicts all that was observed? An operation that returned before another one
 * began precedes it. With one thread there is exactly one order.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "model.h"

#define MAX_TRIES	200000
#define MAX_REASONS	8

/**
 * struct model_reason - why orders were rejected
 * @depth: how many operations were explained before
 * @nr: the operation that differs, or -1 for what was seen after all of them
 * @orders: how many orders were rejected so
 * @why: what differs
 */
struct model_reason {
	unsigned int	depth, orders;
	int		nr;
	char		why[MODEL_WHY];
};

/* The round that is being judged. */
static struct {
	struct model_op			*ops;
	unsigned int			n, nr_checks;
	const struct model_op		*checks;
	const struct model_seen		*seen;
	/* Before the first operation, and after each of an order. */
	struct model_state		*states;
	struct model_overlap		over[MODEL_ROUND];
	unsigned int			tries;
	/* Why orders were rejected: those that explained most operations. */
	struct model_reason		reasons[MAX_REASONS];
	unsigned int			nr_reasons;
	char				last[MODEL_WHY];
} *judge;

int model_judge_init(void)
{
	judge = kvzalloc(sizeof(*judge), GFP_KERNEL);
	if (!judge)
		return -ENOMEM;
	judge->states = kvcalloc(MODEL_ROUND + 1, sizeof(*judge->states), GFP_KERNEL);
	if (judge->states)
		return 0;
	kvfree(judge);
	return -ENOMEM;
}

void model_judge_exit(void)
{
	kvfree(judge->states);
	kvfree(judge);
}

/*
 * Concurrent operations
 */

/* Probes that are at a target, or were when the round began. */
static u32 probes_at(const struct model_state *s, enum model_where t)
{
	unsigned int p;
	u32 mask = 0;

	for (p = 0; p < MODEL_PROBES; p++) {
		if (s->user[p].where == t || model_probes[p].where == t)
			mask |= BIT(p);
	}
	return mask;
}

static u32 probes_of_module(const struct model_state *s)
{
	enum model_where t;
	u32 mask = 0;

	for (t = 0; t < NR_SITES; t++) {
		if (model_targets[t].coming)
			mask |= probes_at(s, t);
	}
	return mask;
}

/* Another thread's @op ran at the same time. */
static void add_overlap(const struct model_state *s, struct model_overlap *over,
			const struct model_op *op)
{
	int i;

	for (i = 0; i < op->n; i++) {
		const struct model_item *item = &op->item[i];

		if (item->probe == MODEL_NO_PROBE)
			continue;
		over->fuzzy |= BIT(item->probe);
		if (item->where < NR_SITES && model_targets[item->where].traced) {
			over->claims |= BIT(item->where);
			/* Their site may be moving from one ftrace_ops to another. */
			over->fuzzy |= probes_at(s, item->where);
		}
		if (op->kind == OP_UNREGISTER)
			over->leaving |= BIT(item->probe);
		if (op->kind == OP_REGISTER) {
			over->coming |= BIT(item->probe);
			over->pinned |= model_targets[item->where].coming;
		}
	}

	switch (op->kind) {
	case OP_SWITCH:
		over->fuzzy = U32_MAX;
		over->claims = U32_MAX;
		break;
	case OP_LOAD:
	case OP_UNLOAD:
		over->module = true;
		over->fuzzy |= probes_of_module(s);
		break;
	case OP_CROWD:
	case OP_UNCROWD:
		over->fuzzy |= MODEL_FUZZY_CROWD;
		break;
	case OP_CLAIM:
	case OP_RELEASE:
		over->others |= BIT(op->arg);
		break;
	default:
		break;
	}
}

static void find_overlaps(const struct model_state *s)
{
	unsigned int i, k;

	for (i = 0; i < judge->n; i++) {
		const struct model_op *op = &judge->ops[i];

		memset(&judge->over[i], 0, sizeof(judge->over[i]));
		for (k = 0; k < judge->n; k++) {
			const struct model_op *other = &judge->ops[k];

			if (other->thread != op->thread && other->begin < op->end &&
			    op->begin < other->end)
				add_overlap(s, &judge->over[i], other);
		}
	}
}

/*
 * The search for an order
 */

/* An order explains @depth operations, and differs at number @nr. */
static void note_why(unsigned int depth, int nr)
{
	struct model_reason *r, *least = judge->reasons;

	for (r = judge->reasons; r < judge->reasons + judge->nr_reasons; r++) {
		if (r->depth == depth && r->nr == nr && !strcmp(r->why, judge->last)) {
			r->orders++;
			return;
		}
		if (r->depth < least->depth)
			least = r;
	}

	if (judge->nr_reasons < MAX_REASONS)
		least = &judge->reasons[judge->nr_reasons++];
	else if (least->depth >= depth)
		return;
	least->depth = depth;
	least->orders = 1;
	least->nr = nr;
	strscpy(least->why, judge->last, sizeof(least->why));
}

static int deeper(const void *a, const void *b)
{
	const struct model_reason *x = a, *y = b;

	return (int)y->depth - (int)x->depth;
}

/* The deepest come first, although one of the others may be the true one. */
static void print_reasons(void)
{
	unsigned int i;

	sort(judge->reasons, judge->nr_reasons, sizeof(judge->reasons[0]), deeper, NULL);
	for (i = 0; i < judge->nr_reasons; i++) {
		const struct model_reason *r = &judge->reasons[i];

		if (r->nr < 0)
			pr_err("difference after the round: %s (orders: %u)\n", r->why,
			       r->orders);
		else
			pr_err("difference at %d, after %u others: %s (orders: %u)\n", r->nr,
			       r->depth, r->why, r->orders);
	}
}

/* Compare the state after the last operation with what was seen. */
static bool end_is_right(void)
{
	static const struct model_overlap none;
	struct model_state *s = &judge->states[judge->n];
	bool held[NR_SITES];
	unsigned int i;

	if (!model_looks_right(s, judge->seen, judge->last))
		return false;
	model_adopt(s, judge->seen);
	memcpy(held, s->held, sizeof(held));
	for (i = 0; i < judge->nr_checks; i++) {
		/* Misses in these calls are compared after the next round. */
		if (!model_predict(s, &judge->checks[i], &none, judge->last))
			return false;
	}
	/* The claim has been released. */
	memcpy(s->held, held, sizeof(held));
	return true;
}

static bool search(unsigned int depth, u32 done)
{
	u64 first_end = U64_MAX;
	unsigned int i;

	if (depth == judge->n) {
		if (end_is_right())
			return true;
		note_why(depth, -1);
		return false;
	}

	for (i = 0; i < judge->n; i++) {
		if (!(done & BIT(i)))
			first_end = min(first_end, judge->ops[i].end);
	}
	for (i = 0; i < judge->n && judge->tries < MAX_TRIES; i++) {
		if (done & BIT(i) || judge->ops[i].begin > first_end)
			continue;
		judge->tries++;
		judge->states[depth + 1] = judge->states[depth];
		if (!model_predict(&judge->states[depth + 1], &judge->ops[i],
				   &judge->over[i], judge->last)) {
			note_why(depth, judge->ops[i].nr);
			continue;
		}
		if (search(depth + 1, done | BIT(i)))
			return true;
	}
	return false;
}

static void sort_by_end(struct model_op *ops, unsigned int n)
{
	unsigned int i, k;

	for (i = 1; i < n; i++) {
		for (k = i; k && ops[k].end < ops[k - 1].end; k--)
			swap(ops[k], ops[k - 1]);
	}
}

/**
 * model_judge() - is there an order that explains what was observed?
 * @state: the state before the operations; becomes the state after them
 * @ops: the operations of a round with their results
 * @n: how many
 * @checks: of model_check(), after them
 * @nr_checks: how many
 * @seen: what was seen between @ops and @checks
 *
 * Return: false if there is none; then the round is printed.
 */
bool model_judge(struct model_state *state, struct model_op *ops, unsigned int n,
		 const struct model_op *checks, unsigned int nr_checks,
		 const struct model_seen *seen)
{
	unsigned int i;

	/* The likeliest order first. */
	sort_by_end(ops, n);
	judge->ops = ops;
	judge->n = n;
	judge->checks = checks;
	judge->nr_checks = nr_checks;
	judge->seen = seen;
	judge->tries = 0;
	judge->nr_reasons = 0;
	judge->states[0] = *state;
	find_overlaps(state);

	if (search(0, 0)) {
		*state = judge->states[n];
		return true;
	}

	if (judge->tries == MAX_TRIES)
		pr_err("no order found in %u tries\n", MAX_TRIES);
	print_reasons();
	for (i = 0; i < n; i++)
		model_print_op(&ops[i]);
	return false;
}
