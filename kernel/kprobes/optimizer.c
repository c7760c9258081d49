// SPDX-License-Identifier: GPL-2.0-only
/*
 * The optimizer: replaces breakpoints with jumps where that is possible. This is the
 * state machine; optimizer_round.c has the worker.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/init.h>
#include <linux/kprobes.h>

#include "optimizer_internal.h"
#include "site.h"

/**
 * DOC: kprobes optimizer
 *
 * A jump is longer than a breakpoint, and overwrites instructions after it. A task may
 * have been interrupted there. Only a grace period of tasks-RCU shows that all tasks
 * have left. It begins after hits were diverted to the detour, which bypasses
 * these instructions; from then on no task can enter them.
 *
 * A worker works in rounds. In each round it prepares detours for the sites in the
 * queue, diverts their hits, waits for one grace period with no lock held, and then
 * writes the jumps of all sites that have not changed. Sites that were queued during
 * the wait are left to the next round. The same grace period serves detours that are
 * to be given back. A jump that replaces only the probed instruction needs no wait.
 *
 * Reverting a jump needs no wait, so it is done synchronously. Jumps that are reverted
 * together share their cross-CPU synchronizations.
 */

/* How many jumps are reverted before the text is unlocked for others. */
#define REVERT_CHUNK	256

/* kprobe_mutex */
static bool opt_allowed;
struct rb_root kprobe_opt_leaving = RB_ROOT;
unsigned int kprobe_opt_transient;

/*
 * States
 *
 *   NONE       no detour, or there can be none
 *   PREPARED   there is a detour, which no hit enters
 *   QUEUED     for the next round
 *   WAITING    hits continue in the detour; a grace period is running
 *   LIVE       the jump is in the text
 *   REVERTING  the jump is being removed
 *   RECLAIMING the site is dead, but a task may still be in its detour
 *
 * Row = from, bit = to.
 */
static const u8 opt_moves[NR_KPROBE_OPT_STATES] = {
	[KPROBE_OPT_NONE]	= BIT(KPROBE_OPT_QUEUED),
	[KPROBE_OPT_PREPARED]	= BIT(KPROBE_OPT_QUEUED) |
				  BIT(KPROBE_OPT_RECLAIMING) |
				  BIT(KPROBE_OPT_NONE),
	[KPROBE_OPT_QUEUED]	= BIT(KPROBE_OPT_NONE) |
				  BIT(KPROBE_OPT_PREPARED) |
				  BIT(KPROBE_OPT_WAITING),
	[KPROBE_OPT_WAITING]	= BIT(KPROBE_OPT_PREPARED) |
				  BIT(KPROBE_OPT_LIVE),
	[KPROBE_OPT_LIVE]	= BIT(KPROBE_OPT_REVERTING),
	[KPROBE_OPT_REVERTING]	= BIT(KPROBE_OPT_PREPARED),
	[KPROBE_OPT_RECLAIMING]	= BIT(KPROBE_OPT_NONE),
};

static_assert(NR_KPROBE_OPT_STATES <= BITS_PER_BYTE);

/* The flags that each state publishes. */
#define FLAGS_OF_OPT	(KPROBE_FLAG_OPTIMIZED | KPROBE_FLAG_DETOUR | KPROBE_FLAG_JUMP)

static const u32 opt_flags[NR_KPROBE_OPT_STATES] = {
	[KPROBE_OPT_QUEUED]	= KPROBE_FLAG_OPTIMIZED,
	[KPROBE_OPT_WAITING]	= KPROBE_FLAG_OPTIMIZED | KPROBE_FLAG_DETOUR,
	[KPROBE_OPT_LIVE]	= FLAGS_OF_OPT,
	[KPROBE_OPT_REVERTING]	= FLAGS_OF_OPT,
};

bool kprobe_opt_may_move(enum kprobe_opt_state from, enum kprobe_opt_state to)
{
	return opt_moves[from] & BIT(to);
}

/* The caller links op.list. */
void kprobe_opt_move(struct kprobe_site *site, enum kprobe_opt_state to)
{
	u32 was = opt_flags[site->opt];
	struct kprobe *kp = &site->head.kp;

	lockdep_assert_held(&kprobe_mutex);

	if (WARN_ON_ONCE(!kprobe_opt_may_move(site->opt, to)))
		return;

	site->opt = to;
	if (opt_flags[to] & KPROBE_FLAG_DETOUR)
		site->opt_used = true;
	else if (was & KPROBE_FLAG_DETOUR)
		site->opt_left = kprobe_opt_begun;
	/* Hits read the flags, so they change in one store. */
	WRITE_ONCE(kp->flags, (kp->flags & ~FLAGS_OF_OPT) | opt_flags[to]);
}

/* Hits enter the detour, or no grace period has both begun and ended since they did. */
static bool tasks_may_be_in_detour(const struct kprobe_site *site)
{
	if (opt_flags[site->opt] & KPROBE_FLAG_DETOUR || site->opt_stuck)
		return true;

	return site->opt_used && site->opt_left >= kprobe_opt_over;
}

static void opt_enqueue(struct kprobe_site *site)
{
	kprobe_opt_move(site, KPROBE_OPT_QUEUED);
	list_move_tail(&site->head.op.list, kprobe_has_detour(site) ?
					    &kprobe_opt_queue : &kprobe_opt_fresh);
	kprobe_opt_kick();
}

/* Give up the jump of a QUEUED or WAITING site: the text has not been changed yet. */
void kprobe_opt_cancel(struct kprobe_site *site, enum kprobe_noopt why)
{
	lockdep_assert_held(&kprobe_mutex);

	list_del_init(&site->head.op.list);
	kprobe_opt_move(site, kprobe_has_detour(site) ? KPROBE_OPT_PREPARED : KPROBE_OPT_NONE);
	site->opt_why = why;
}

/* Is another probe armed, or about to be, in the text that the jump replaces? */
static bool is_jump_in_the_way(struct optimized_kprobe *op)
{
	unsigned long addr = (unsigned long)op->kp.addr;
	struct kprobe_site *site;

	for_each_kprobe_site_in(site, addr + 1, addr + MAX_OPTIMIZED_LENGTH) {
		if (site->kind == KPROBE_SITE_BREAKPOINT && site->nr_enabled &&
		    (site->state == KPROBE_SITE_READY || site->state == KPROBE_SITE_ARMED) &&
		    arch_within_optimized_kprobe(op, site->head.kp.addr))
			return true;
	}

	return false;
}

/* The first reason that prevents a jump. */
enum kprobe_noopt kprobe_opt_obstacle(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	if (site->kind == KPROBE_SITE_FTRACE)
		return KPROBE_NOOPT_FTRACE;
	if (site->state != KPROBE_SITE_ARMED)
		return KPROBE_NOOPT_DISARMED;
	if (kprobe_site_has_post(site))
		return KPROBE_NOOPT_POST;
	if (kprobe_site_has_fault(site))
		return KPROBE_NOOPT_FAULT;
	/* The architecture has refused before. */
	if (site->head.op.why)
		return site->head.op.why;
	if (!opt_allowed)
		return KPROBE_NOOPT_OFF;
	if (kprobe_has_detour(site) && is_jump_in_the_way(&site->head.op))
		return KPROBE_NOOPT_NEIGHBOUR;
	return KPROBE_NOOPT_NONE;
}

/*
 * Decide again, after a change, whether a site is to have a jump. @revert takes the site if its
 * jump has to be removed, for kprobe_opt_revert(); NULL if the change cannot require that.
 */
void kprobe_opt_update(struct kprobe_site *site, struct list_head *revert)
{
	enum kprobe_noopt why;

	lockdep_assert_held(&kprobe_mutex);

	why = kprobe_opt_obstacle(site);
	switch (site->opt) {
	case KPROBE_OPT_NONE:
	case KPROBE_OPT_PREPARED:
		site->opt_why = why;
		if (!why)
			opt_enqueue(site);
		return;
	case KPROBE_OPT_QUEUED:
	case KPROBE_OPT_WAITING:
		if (why)
			kprobe_opt_cancel(site, why);
		return;
	case KPROBE_OPT_LIVE:
		/* Without @revert, a user is leaving. */
		if (!why || !revert)
			return;
		site->opt_why = why;
		list_move_tail(&site->head.op.list, revert);
		return;
	default:
		WARN_ON_ONCE(1);
	}
}

/* No more than a chunk, so that others can lock the text in between. */
static void kprobe_opt_revert_some(struct list_head *ops)
{
	struct optimized_kprobe *op, *tmp;
	unsigned int nr = 0;
	LIST_HEAD(some);
	LIST_HEAD(done);

	while (nr++ < REVERT_CHUNK && !list_empty(ops)) {
		op = list_first_entry(ops, struct optimized_kprobe, list);
		kprobe_opt_move(kprobe_op_to_site(op), KPROBE_OPT_REVERTING);
		list_move_tail(&op->list, &some);
	}

	scoped_guard(kprobe_text)
		arch_unoptimize_kprobes(&some, &done);

	/* Only now may hits continue after the breakpoint again. */
	list_for_each_entry_safe(op, tmp, &done, list) {
		list_del_init(&op->list);
		kprobe_opt_move(kprobe_op_to_site(op), KPROBE_OPT_PREPARED);
	}
	/* Hits still enter these detours, and no grace period shows when that ends. */
	list_for_each_entry_safe(op, tmp, &some, list) {
		pr_warn_once("cannot write to %pS: its detour is never freed\n", op->kp.addr);
		kprobe_op_to_site(op)->opt_stuck = true;
		list_del_init(&op->list);
		kprobe_opt_move(kprobe_op_to_site(op), KPROBE_OPT_PREPARED);
	}
}

/* Replace the jumps of LIVE sites, linked by op.list, with breakpoints. */
void kprobe_opt_revert(struct list_head *ops)
{
	lockdep_assert_held(&kprobe_mutex);

	while (!list_empty(ops)) {
		kprobe_opt_revert_some(ops);
		cond_resched();
	}
}

/* Breakpoints will be written where this site may have its jump. */
static void step_aside(struct kprobe_site *site, enum kprobe_noopt why,
		       struct list_head *revert)
{
	switch (site->opt) {
	case KPROBE_OPT_QUEUED:
	case KPROBE_OPT_WAITING:
		kprobe_opt_cancel(site, why);
		break;
	case KPROBE_OPT_LIVE:
		site->opt_why = why;
		list_move_tail(&site->head.op.list, revert);
		break;
	default:
		break;
	}
}

/* Sites before an address whose jump may cover it; see jump_covers(). */
#define for_each_site_before(site, addr)				\
	for_each_kprobe_site_in(site, (addr) - (MAX_OPTIMIZED_LENGTH - 1), addr)

static bool jump_covers(struct kprobe_site *site, unsigned long addr)
{
	return site->state != KPROBE_SITE_GONE && kprobe_has_detour(site) &&
	       arch_within_optimized_kprobe(&site->head.op, (kprobe_opcode_t *)addr);
}

/*
 * May tasks execute a copy of the instruction at @addr, and so bypass its breakpoint? Until
 * kprobe_opt_wait_for_tasks() they may: in a detour that has copies of several instructions, and
 * whose jump has been removed because of the breakpoint. A detour of an earlier probe at the same
 * address does not count: tasks in it had reached the address before.
 */
bool kprobe_opt_is_bypassed(unsigned long addr)
{
	struct kprobe_site *site;

	lockdep_assert_held(&kprobe_mutex);

	for_each_site_before(site, addr) {
		if (jump_covers(site, addr) && tasks_may_be_in_detour(site))
			return true;
	}

	/* No task enters these any more, but some may still be inside. */
	for_each_kprobe_site_in_tree(site, &kprobe_opt_leaving,
				     addr - (MAX_OPTIMIZED_LENGTH - 1), addr) {
		if (jump_covers(site, addr) && tasks_may_be_in_detour(site))
			return true;
	}

	return false;
}

/* Remove the jumps over breakpoints that will be written. Returns whether some are bypassed. */
bool kprobe_opt_revert_over(struct list_head *kps)
{
	struct kprobe_site *site;
	LIST_HEAD(revert);
	bool any = false;
	struct kprobe *kp;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry(kp, kps, list) {
		unsigned long addr = (unsigned long)kp->addr;

		any = any || kprobe_opt_is_bypassed(addr);
		for_each_site_before(site, addr) {
			if (jump_covers(site, addr))
				step_aside(site, KPROBE_NOOPT_NEIGHBOUR, &revert);
		}
	}

	kprobe_opt_revert(&revert);
	return any;
}

/* What the architecture has found out no longer holds. */
static void forget_refusal(struct optimized_kprobe *op)
{
	kprobe_opt_transient -= op->why_transient;
	op->why = KPROBE_NOOPT_NONE;
	op->why_at = 0;
	op->why_transient = false;
}

/*
 * A probe that prevented jumps may be gone. @addr is that of the probe, or of what its jump used.
 */
void kprobe_opt_reconsider(unsigned long addr)
{
	struct kprobe_site *site;

	lockdep_assert_held(&kprobe_mutex);

	if (!kprobe_opt_transient)
		return;

	for_each_kprobe_site_in(site, addr - KPROBE_OPT_NEARBY, addr + KPROBE_OPT_NEARBY + 1) {
		struct optimized_kprobe *op = &site->head.op;

		if (!op->why_transient || site->opt != KPROBE_OPT_NONE)
			continue;
		forget_refusal(op);
		kprobe_opt_update(site, NULL);
	}
}

struct optimized_kprobe * __weak arch_optimizer_borrower(unsigned long addr)
{
	lockdep_assert_held(&kprobe_mutex);

	return NULL;
}

int __weak arch_prepared_optinsn(struct arch_optimized_insn *optinsn)
{
	lockdep_assert_held(&kprobe_mutex);

	return !!optinsn->insn;
}

int __weak arch_within_optimized_kprobe(struct optimized_kprobe *op,
					kprobe_opcode_t *addr)
{
	lockdep_assert_held(&kprobe_mutex);

	return addr == op->kp.addr;
}

/*
 * A probe is being registered at @addr, and the jump of another one may use that text, although
 * it is away from the jump's own address. End that: no hit enters the text any more, but it stays
 * as it is until kprobe_opt_vacate().
 *
 * Returns 1 if tasks may still be in that text: call it again after kprobe_opt_wait_for_tasks(),
 * until it returns 0. Or -EBUSY if hits will always enter it, because the jump cannot be removed.
 */
int kprobe_opt_evict(unsigned long addr)
{
	struct optimized_kprobe *op;
	struct kprobe_site *site;
	LIST_HEAD(revert);

	lockdep_assert_held(&kprobe_mutex);

	op = arch_optimizer_borrower(addr);
	if (!op)
		return 0;

	site = kprobe_op_to_site(op);
	if (!site->opt_stuck) {
		step_aside(site, KPROBE_NOOPT_NEIGHBOUR, &revert);
		kprobe_opt_revert(&revert);
	}
	if (site->opt_stuck)
		return -EBUSY;
	/* The worker gives back the detours of dead sites. */
	return site->opt == KPROBE_OPT_RECLAIMING || tasks_may_be_in_detour(site);
}

/*
 * After kprobe_opt_evict() has returned 0 for @addr, and with the mutex held since: prepare the
 * probe whose jump used the address again, as if it had come later. Until the new probe has been
 * published, the same address may be chosen for that jump. So the caller holds the mutex until
 * then, and has evicted all others of its batch before.
 */
void kprobe_opt_vacate(unsigned long addr)
{
	struct optimized_kprobe *op;
	struct kprobe_site *site;

	lockdep_assert_held(&kprobe_mutex);

	op = arch_optimizer_borrower(addr);
	if (!op)
		return;

	site = kprobe_op_to_site(op);
	arch_remove_optimized_kprobe(op);
	kprobe_opt_move(site, KPROBE_OPT_NONE);
	kprobe_opt_update(site, NULL);
	kprobe_opt_reconsider(addr);
}

/* Remove the jumps of breakpoints that will be removed. */
void kprobe_opt_revert_at(struct list_head *kps)
{
	LIST_HEAD(revert);
	struct kprobe *kp;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry(kp, kps, list)
		step_aside(kprobe_to_site(kp), KPROBE_NOOPT_DISARMED, &revert);

	kprobe_opt_revert(&revert);
}

/* The breakpoint of a site has been written or removed. */
void kprobe_opt_site_changed(struct kprobe_site *site)
{
	struct kprobe_site *other;

	lockdep_assert_held(&kprobe_mutex);

	kprobe_opt_update(site, NULL);
	if (site->state == KPROBE_SITE_ARMED)
		return;

	/* It may have been the last one in the way of a jump. */
	for_each_site_before(other, kprobe_site_addr(site)) {
		if (other->opt == KPROBE_OPT_PREPARED &&
		    jump_covers(other, kprobe_site_addr(site)))
			kprobe_opt_update(other, NULL);
	}
}

/* A site is being killed, and has no jump any more. */
void kprobe_opt_kill(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	switch (site->opt) {
	case KPROBE_OPT_QUEUED:
	case KPROBE_OPT_WAITING:
		kprobe_opt_cancel(site, KPROBE_NOOPT_DISARMED);
		return;
	case KPROBE_OPT_LIVE:
		WARN_ON_ONCE(1);
		return;
	default:
		return;
	}
}

/*
 * Take over a DEAD site while a task may be in its detour. Returns true if the optimizer will
 * release and free it, or must keep it forever; false if the caller has to.
 */
bool kprobe_opt_reclaim(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	if (site->head.op.why_transient)
		kprobe_opt_transient--;
	kprobe_opt_reconsider(kprobe_site_addr(site));

	/* It was never armed, or was killed before it had a detour. */
	if (!kprobe_has_detour(site)) {
		WARN_ON_ONCE(site->opt != KPROBE_OPT_NONE);
		return false;
	}

	if (!tasks_may_be_in_detour(site)) {
		arch_remove_optimized_kprobe(&site->head.op);
		kprobe_opt_move(site, KPROBE_OPT_NONE);
		return false;
	}

	kprobe_opt_move(site, KPROBE_OPT_RECLAIMING);
	kprobe_site_add_to(&kprobe_opt_leaving, site);
	if (!site->opt_stuck) {
		list_add_tail(&site->head.op.list, &kprobe_opt_reclaimed);
		kprobe_opt_kick();
	}
	return true;
}

bool kprobe_opt_is_allowed(void)
{
	guard(mutex)(&kprobe_mutex);
	return opt_allowed;
}

/*
 * When optimization is switched off, all jumps have been removed on return. When it is switched on,
 * all sites without a detour are examined again: a debugger, for example, may have
 * removed breakpoints that made a function undecodable.
 */
void kprobe_opt_allow(bool on)
{
	struct kprobe_site *site;
	LIST_HEAD(revert);

	guard(mutex)(&kprobe_mutex);

	if (opt_allowed == on)
		return;

	opt_allowed = on;
	for_each_kprobe_site(site) {
		if (on && site->opt == KPROBE_OPT_NONE)
			forget_refusal(&site->head.op);
		if (site->state == KPROBE_SITE_ARMED)
			kprobe_opt_update(site, &revert);
	}
	kprobe_opt_revert(&revert);
}

/* Not earlier: before ksoftirqd runs, grace periods of tasks-RCU do not end. */
static int __init kprobe_opt_init(void)
{
	kprobe_opt_allow(true);
	return 0;
}
subsys_initcall(kprobe_opt_init);

bool kprobe_opt_is_live(const struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	return site->opt == KPROBE_OPT_LIVE;
}

/* Whether or not hits enter it. */
bool kprobe_opt_has_detour(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	return kprobe_has_detour(site);
}
