// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generates the operations of a sequence. Each one depends on the seed and on its
 * number only, so leaving some out does not change the others.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "model.h"

/* Relative frequency of each kind. */
static const u16 weights[NR_KINDS] = {
	[OP_REGISTER]	= 300,
	[OP_UNREGISTER]	= 220,
	[OP_ENABLE]	= 80,
	[OP_DISABLE]	= 80,
	[OP_SWITCH]	= 30,
	[OP_SYSCTL]	= 10,
	[OP_CLAIM]	= 20,
	[OP_RELEASE]	= 25,
	[OP_LOAD]	= 6,
	[OP_UNLOAD]	= 4,
	[OP_CALL]	= 200,
	[OP_CROWD]	= 15,
	[OP_UNCROWD]	= 10,
};

static const char * const names[NR_KINDS] = {
	[OP_REGISTER]	= "register",
	[OP_UNREGISTER]	= "unregister",
	[OP_ENABLE]	= "enable",
	[OP_DISABLE]	= "disable",
	[OP_SWITCH]	= "switch",
	[OP_SYSCTL]	= "sysctl",
	[OP_CLAIM]	= "claim",
	[OP_RELEASE]	= "release",
	[OP_LOAD]	= "load",
	[OP_UNLOAD]	= "unload",
	[OP_CALL]	= "call",
	[OP_CROWD]	= "register the crowd",
	[OP_UNCROWD]	= "unregister the crowd",
};

/* splitmix64 */
u64 model_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static unsigned int below(u64 *state, unsigned int n)
{
	return (model_random(state) >> 32) % n;
}

static bool chance(u64 *state, unsigned int percent)
{
	return below(state, 100) < percent;
}

/* May this thread use the probe? */
bool model_owns(unsigned int p, unsigned int thread, unsigned int threads)
{
	return p < MODEL_SHARED || (p - MODEL_SHARED) % threads == thread;
}

static u8 random_probe(u64 *state, const struct model_op *op, unsigned int threads)
{
	u8 p;

	do {
		p = below(state, MODEL_PROBES);
	} while (!model_owns(p, op->thread, threads) || model_is_return(p) != op->returns);
	return p;
}

static u8 random_where(u64 *state)
{
	/* Mostly a valid target. */
	return chance(state, 90) ? below(state, NR_SITES) :
	       NR_SITES + below(state, NR_WHERE - NR_SITES);
}

/* Some targets have an address only while a module is loaded, others no symbol. */
u8 model_fit_variant(unsigned int p, u8 where, u8 variant)
{
	if (where == T_NOWHERE)
		return variant & ~(V_SYMBOL | V_BOTH);
	if (where == T_UNKNOWN || model_targets[where].coming)
		return (variant | V_SYMBOL) & ~V_BOTH;
	/* With a symbol, it could not be registered twice in a round. */
	if (p < MODEL_SHARED)
		return variant & ~(V_SYMBOL | V_BOTH);
	return variant;
}

static u8 random_variant(u64 *state)
{
	static const struct {
		u8	bit, percent;
	} often[] = {
		{ V_OFF, 20 }, { V_SYMBOL, 50 }, { V_BOTH, 3 }, { V_POST, 25 },
		{ V_FAULT, 10 }, { V_NEST, 8 }, { V_NO_PRE, 5 },
	};
	u8 variant = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(often); i++) {
		if (chance(state, often[i].percent))
			variant |= often[i].bit;
	}
	return variant;
}

static const u8 claimable[] = { T_F0, T_F1, T_F2 };

/*
 * Post handlers on traced entries, each of which claims its function. If one of them is
 * refused, the claims of the others have to go as well.
 */
static void claim_all(struct model_op *op, u64 *state)
{
	int i;

	for (i = 0; i < op->n; i++) {
		op->item[i].where = claimable[below(state, ARRAY_SIZE(claimable))];
		op->item[i].variant |= V_POST;
		op->item[i].variant &= ~V_BOTH;
	}
}

static void generate_items(struct model_op *op, u64 *state, unsigned int threads)
{
	bool one = op->kind == OP_ENABLE || op->kind == OP_DISABLE;
	int i;

	op->returns = chance(state, 30);
	op->batch = !one && chance(state, 40);
	op->n = op->batch ? 1 + below(state, MODEL_BATCH) : 1;
	for (i = 0; i < op->n; i++) {
		struct model_item *item = &op->item[i];

		item->probe = random_probe(state, op, threads);
		item->where = random_where(state);
		item->variant = model_fit_variant(item->probe, item->where,
						  random_variant(state));
		item->fresh = chance(state, 80) && item->probe >= MODEL_SHARED;
		if (op->batch && chance(state, 2)) {
			item->probe = MODEL_NO_PROBE;
			item->fresh = false;
		}
	}
	if (op->kind == OP_REGISTER && op->batch && !op->returns && chance(state, 30))
		claim_all(op, state);
}

static enum model_kind random_kind(u64 *state)
{
	unsigned int sum = 0, pick;
	int k;

	for (k = 0; k < NR_KINDS; k++)
		sum += weights[k];
	pick = below(state, sum);
	for (k = 0; pick >= weights[k]; k++)
		pick -= weights[k];
	return k;
}

/* Some operations belong to one thread; claims belong to one thread each. */
static bool allowed(const struct model_op *op, unsigned int threads)
{
	switch (op->kind) {
	case OP_LOAD:
	case OP_UNLOAD:
	case OP_CROWD:
	case OP_UNCROWD:
		return !op->thread;
	case OP_CLAIM:
	case OP_RELEASE:
		return op->arg % threads == op->thread;
	default:
		return true;
	}
}

static u8 random_arg(const struct model_op *op, u64 *state)
{
	switch (op->kind) {
	case OP_SWITCH:
	case OP_SYSCTL:
		return chance(state, 65);
	case OP_CLAIM:
	case OP_RELEASE:
		return claimable[below(state, ARRAY_SIZE(claimable))];
	case OP_CROWD:
		return chance(state, 50);
	default:
		return below(state, NR_FNS);
	}
}

static void generate_any(struct model_op *op, u64 *state, unsigned int threads)
{
	op->kind = random_kind(state);
	op->arg = random_arg(op, state);
	if (!allowed(op, threads)) {
		op->kind = OP_CALL;
		op->arg = random_arg(op, state);
	}
	if (op->kind <= OP_DISABLE)
		generate_items(op, state, threads);
}

/* A post handler on a traced entry, with a structure that no other thread uses. */
static void claim_one(struct model_op *op, u8 where, u64 *state, unsigned int threads)
{
	struct model_item *item = &op->item[0];

	op->kind = OP_REGISTER;
	op->n = 1;
	do {
		item->probe = random_probe(state, op, threads);
	} while (item->probe < MODEL_SHARED);
	item->where = where;
	item->variant = V_POST;
	item->fresh = true;
}

/*
 * About half of all blocks of this many operations contain a dispute: while probes are
 * switched off, another user claims a function, and post handlers on it and the crowd
 * are registered. When probes are switched on, ftrace refuses some of the sites.
 */
#define DISPUTE		64

/*
 * The operations of a dispute; random ones rarely amount to one. Its three steps are in
 * three rounds, so they are in order with several threads, too. Return false for
 * other operations.
 */
static bool generate_dispute(struct model_op *op, u64 seed, u64 *state, unsigned int threads)
{
	u64 of_block = seed * 0x100000001b3 - op->nr / DISPUTE - 1;
	unsigned int step = op->nr % DISPUTE;
	u8 where;

	if (chance(&of_block, 50))
		return false;

	where = claimable[below(&of_block, ARRAY_SIZE(claimable))];
	switch (step) {
	case MODEL_ROUND - 1:
	case 2 * MODEL_ROUND:
		op->kind = OP_SWITCH;
		op->arg = step > MODEL_ROUND;
		return true;
	case MODEL_ROUND ... MODEL_ROUND + MODEL_THREADS - 1:
		op->kind = OP_CLAIM;
		op->arg = where;
		if (!allowed(op, threads) || step >= MODEL_ROUND + threads)
			claim_one(op, where, state, threads);
		return true;
	case MODEL_ROUND + MODEL_THREADS:
		op->kind = OP_CROWD;
		op->arg = random_arg(op, state);
		return allowed(op, threads);
	default:
		return false;
	}
}

void model_generate(struct model_op *op, u64 seed, unsigned int nr, unsigned int threads)
{
	u64 state = seed * 0x100000001b3 + nr;

	memset(op, 0, sizeof(*op));
	op->nr = nr;
	op->thread = nr % threads;
	if (!generate_dispute(op, seed, &state, threads))
		generate_any(op, &state, threads);
	/* Small numbers more often: many operations allocate little. */
	if ((op->kind <= OP_SWITCH || op->kind >= OP_CROWD) && chance(&state, 15))
		op->fail = 1 + below(&state, 1 << (1 + below(&state, 5)));
}

static void print_probe(char *buf, size_t size, const struct model_item *item, bool where)
{
	const struct model_target *t = &model_targets[item->where];

	if (item->probe == MODEL_NO_PROBE) {
		strlcat(buf, " NULL", size);
		return;
	}
	snprintf(buf + strlen(buf), size - strlen(buf), " %c%u",
		 model_is_return(item->probe) ? 'r' : 'k', item->probe);
	if (where)
		snprintf(buf + strlen(buf), size - strlen(buf), "@%s+%u(%#x%s)",
			 t->symbol ?: "nowhere", t->offset, item->variant,
			 item->fresh ? "" : " again");
}

void model_print_op(const struct model_op *op)
{
	char buf[400] = "";
	int i;

	for (i = 0; i < op->n; i++)
		print_probe(buf, sizeof(buf), &op->item[i], op->kind == OP_REGISTER);
	if (op->kind == OP_SWITCH || op->kind == OP_SYSCTL)
		strlcat(buf, op->arg ? " on" : " off", sizeof(buf));
	if (op->kind == OP_CLAIM || op->kind == OP_RELEASE)
		snprintf(buf, sizeof(buf), " %s", model_targets[op->arg].symbol);
	if (op->kind == OP_CALL)
		snprintf(buf, sizeof(buf), " %u", op->arg);
	if (op->fail)
		snprintf(buf + strlen(buf), sizeof(buf) - strlen(buf), ", allocation %u %s",
			 op->fail, op->failed ? "failed" : "did not come");
	pr_info("  %u: thread %u %llu-%llu: %s%s%s = %d\n", op->nr, op->thread, op->begin,
		op->end, names[op->kind], op->batch ? " array" : "", buf, op->err);
}
