// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The optimizer: where it can, it lets a jump take the place of a breakpoint.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <asm/sections.h>

#include "optimizer.h"
#include "site.h"
#include "slots.h"

/**
 * DOC: kprobes optimizer
 *
 * The jump is longer than a breakpoint and overwrites instructions behind it,
 * in which a task may just have been interrupted. Nothing but a grace period of
 * tasks-RCU tells that all have left. It begins when hits go on in the detour
 * only, which leads around these instructions; so they have no way in any more.
 *
 * A worker goes in rounds. In each it prepares detours for what is queued, closes
 * the ways in, waits for one grace period with no lock held, and then writes all
 * jumps for which nothing has changed meanwhile. What came during the wait is for
 * the next round. The same grace period serves detours that can be given back.
 *
 * Taking a jump out needs no wait, so it is done at once by who wants it; all
 * that go together share their cross-CPU synchronizations.
 */

/* Sites to be prepared, or to be patched, before others get at the text. */
#define PREPARE_CHUNK	32
#define PATCH_CHUNK	256

/* All of these: kprobe_mutex. */
static bool opt_allowed;
static LIST_HEAD(opt_fresh);		/* QUEUED, without a detour yet */
static LIST_HEAD(opt_queue);		/* QUEUED, with one */
static LIST_HEAD(opt_waiting);		/* WAITING */
static LIST_HEAD(opt_reclaim);		/* RECLAIMING, for the next round */
static struct rb_root opt_leaving = RB_ROOT;	/* RECLAIMING, by address */
/* Sites that were refused a jump because of other probes, op.why_transient. */
static unsigned int opt_transient;
/* Grace periods of tasks: how many began, and the last begun of those that are over. */
static u64 opt_begun, opt_over;

/* The worker has something to do; set under kprobe_mutex, read without. */
static bool opt_busy;
static DECLARE_WAIT_QUEUE_HEAD(opt_idle);

static void kprobe_optimizer_round(struct work_struct *work);
static DECLARE_WORK(opt_work, kprobe_optimizer_round);

static const char * const state_names[NR_KPROBE_OPT_STATES] = {
	[KPROBE_OPT_NONE]	= "none",
	[KPROBE_OPT_PREPARED]	= "prepared",
	[KPROBE_OPT_QUEUED]	= "queued",
	[KPROBE_OPT_WAITING]	= "waiting",
	[KPROBE_OPT_LIVE]	= "live",
	[KPROBE_OPT_REVERTING]	= "reverting",
	[KPROBE_OPT_RECLAIMING]	= "reclaiming",
};

static const char * const why_names[NR_KPROBE_NOOPTS] = {
	[KPROBE_NOOPT_NONE]	= "-",
	[KPROBE_NOOPT_FTRACE]	= "ftrace",
	[KPROBE_NOOPT_DISARMED]	= "disarmed",
	[KPROBE_NOOPT_OFF]	= "switched-off",
	[KPROBE_NOOPT_POST]	= "post-handler",
	[KPROBE_NOOPT_FAULT]	= "fault-handler",
	[KPROBE_NOOPT_NEIGHBOUR]	= "other-probe",
	[KPROBE_NOOPT_INIT]	= "init-text",
	[KPROBE_NOOPT_LIVEPATCH]	= "livepatch",
	[KPROBE_NOOPT_NOMEM]	= "no-memory",
	[KPROBE_NOOPT_CHANGED]	= "text-changed",
	[KPROBE_NOOPT_ARCH]	= "architecture",
	[KPROBE_NOOPT_RANGE]	= "out-of-reach",
	[KPROBE_NOOPT_END]	= "end-of-function",
	[KPROBE_NOOPT_INSN]	= "instruction",
	[KPROBE_NOOPT_CALL]	= "short-call",
	[KPROBE_NOOPT_EXTABLE]	= "exception-table",
	[KPROBE_NOOPT_PATCHED]	= "patched-text",
	[KPROBE_NOOPT_TARGET]	= "jump-target",
	[KPROBE_NOOPT_LANDING]	= "landing-pad",
	[KPROBE_NOOPT_INDIRECT]	= "indirect-jump",
	[KPROBE_NOOPT_SEGMENT]	= "segment",
	[KPROBE_NOOPT_UNDECODED]	= "undecodable",
};

/*
 * States
 *
 *   NONE       nothing is prepared, or it was refused
 *   PREPARED   there is a detour, and nothing leads to it
 *   QUEUED     for the next round
 *   WAITING    hits go on in the detour; a grace period is running
 *   LIVE       the jump is in the text
 *   REVERTING  it is being taken out
 *   RECLAIMING the site is gone, but perhaps not all tasks from its detour
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

/* What is published of each state. */
#define FLAGS_OF_OPT	(KPROBE_FLAG_OPTIMIZED | KPROBE_FLAG_DETOUR | KPROBE_FLAG_JUMP)

static const u32 opt_flags[NR_KPROBE_OPT_STATES] = {
	[KPROBE_OPT_QUEUED]	= KPROBE_FLAG_OPTIMIZED,
	[KPROBE_OPT_WAITING]	= KPROBE_FLAG_OPTIMIZED | KPROBE_FLAG_DETOUR,
	[KPROBE_OPT_LIVE]	= FLAGS_OF_OPT,
	[KPROBE_OPT_REVERTING]	= FLAGS_OF_OPT,
};

/**
 * kprobe_opt_may_move() - is this change of state a legal one?
 * @from: state now
 * @to: state wanted
 *
 * Return: true if it is.
 */
bool kprobe_opt_may_move(enum kprobe_opt_state from, enum kprobe_opt_state to)
{
	return opt_moves[from] & BIT(to);
}

/* The mover. Where op.list is linked is up to the caller. */
static void opt_move(struct kprobe_site *site, enum kprobe_opt_state to)
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
		site->opt_left = opt_begun;
	/* Hits read them: all at once. */
	WRITE_ONCE(kp->flags, (kp->flags & ~FLAGS_OF_OPT) | opt_flags[to]);
}

/*
 * Hits are led into the detour, or no grace period has both begun and ended since.
 */
static bool tasks_may_be_in_detour(const struct kprobe_site *site)
{
	if (opt_flags[site->opt] & KPROBE_FLAG_DETOUR)
		return true;

	return site->opt_used && site->opt_left >= opt_over;
}

static struct kprobe_site *op_to_site(struct optimized_kprobe *op)
{
	return container_of(op, struct kprobe_site, head.op);
}

static struct kprobe_site *first_site(struct list_head *list)
{
	return op_to_site(list_first_entry(list, struct optimized_kprobe, list));
}

static bool has_detour(struct kprobe_site *site)
{
	return arch_prepared_optinsn(&site->head.op.optinsn);
}

/* A running round looks at the queues again before it ends. */
static void opt_kick(void)
{
	lockdep_assert_held(&kprobe_mutex);

	if (opt_busy)
		return;
	WRITE_ONCE(opt_busy, true);
	queue_work(system_unbound_wq, &opt_work);
}

static void opt_enqueue(struct kprobe_site *site)
{
	opt_move(site, KPROBE_OPT_QUEUED);
	list_move_tail(&site->head.op.list, has_detour(site) ? &opt_queue : &opt_fresh);
	opt_kick();
}

/* Not any more: the text has not been touched yet. */
static void opt_cancel(struct kprobe_site *site, enum kprobe_noopt why)
{
	list_del_init(&site->head.op.list);
	opt_move(site, has_detour(site) ? KPROBE_OPT_PREPARED : KPROBE_OPT_NONE);
	site->opt_why = why;
}

/* What stands against a jump, the first of it. */
static enum kprobe_noopt obstacle(struct kprobe_site *site)
{
	if (site->kind == KPROBE_SITE_FTRACE)
		return KPROBE_NOOPT_FTRACE;
	if (site->state != KPROBE_SITE_ARMED)
		return KPROBE_NOOPT_DISARMED;
	if (kprobe_site_has_post(site))
		return KPROBE_NOOPT_POST;
	if (kprobe_site_has_fault(site))
		return KPROBE_NOOPT_FAULT;
	/* What the architecture refused once. */
	if (site->head.op.why)
		return site->head.op.why;
	if (!opt_allowed)
		return KPROBE_NOOPT_OFF;
	if (has_detour(site) && arch_check_optimized_kprobe(&site->head.op) < 0)
		return KPROBE_NOOPT_NEIGHBOUR;
	return KPROBE_NOOPT_NONE;
}

/**
 * kprobe_opt_update() - something has changed that decides about the jump
 * @site: at this site
 * @revert: takes the site if its jump has to go, for kprobe_opt_revert(); NULL
 *	    if that cannot be
 *
 * Context: kprobe_mutex held.
 */
void kprobe_opt_update(struct kprobe_site *site, struct list_head *revert)
{
	enum kprobe_noopt why = obstacle(site);

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
			opt_cancel(site, why);
		return;
	case KPROBE_OPT_LIVE:
		/* Without @revert, it is about users who are just leaving. */
		if (!why || !revert)
			return;
		site->opt_why = why;
		list_move_tail(&site->head.op.list, revert);
		return;
	default:
		WARN_ON_ONCE(1);
	}
}

/* Not more at a time, so that others get at the text in between. */
static void revert_some(struct list_head *ops)
{
	struct optimized_kprobe *op, *tmp;
	unsigned int nr = 0;
	LIST_HEAD(some);
	LIST_HEAD(done);

	while (nr++ < PATCH_CHUNK && !list_empty(ops)) {
		op = list_first_entry(ops, struct optimized_kprobe, list);
		opt_move(op_to_site(op), KPROBE_OPT_REVERTING);
		list_move_tail(&op->list, &some);
	}

	scoped_guard(kprobe_text)
		arch_unoptimize_kprobes(&some, &done);

	/* Only now may hits go on behind the breakpoint again. */
	list_for_each_entry_safe(op, tmp, &done, list) {
		list_del_init(&op->list);
		opt_move(op_to_site(op), KPROBE_OPT_PREPARED);
	}
	WARN_ON_ONCE(!list_empty(&some));
}

/**
 * kprobe_opt_revert() - put breakpoints in place of jumps
 * @ops: LIVE sites, linked by op.list; none is left on it
 *
 * Context: kprobe_mutex held, sleeps.
 */
void kprobe_opt_revert(struct list_head *ops)
{
	while (!list_empty(ops)) {
		revert_some(ops);
		cond_resched();
	}
}

/* Breakpoints go to where this site may have its jump. */
static void step_aside(struct kprobe_site *site, struct list_head *revert)
{
	switch (site->opt) {
	case KPROBE_OPT_QUEUED:
	case KPROBE_OPT_WAITING:
		opt_cancel(site, KPROBE_NOOPT_NEIGHBOUR);
		break;
	case KPROBE_OPT_LIVE:
		site->opt_why = KPROBE_NOOPT_NEIGHBOUR;
		list_move_tail(&site->head.op.list, revert);
		break;
	default:
		break;
	}
}

/* Sites of a tree, in front of an address, that may reach it with their jump. */
#define for_each_site_up_to(site, addr, first)				\
	for (site = first((addr) - (MAX_OPTIMIZED_LENGTH - 1));		\
	     site && kprobe_site_addr(site) < (addr);			\
	     site = kprobe_site_next(site))

#define for_each_site_before(site, addr)				\
	for_each_site_up_to(site, addr, kprobe_site_from)

static struct kprobe_site *leaving_from(unsigned long addr)
{
	return kprobe_site_from_in(&opt_leaving, addr);
}

static bool reaches(struct kprobe_site *site, unsigned long addr)
{
	return site->state != KPROBE_SITE_GONE && has_detour(site) &&
	       arch_within_optimized_kprobe(&site->head.op, (kprobe_opcode_t *)addr);
}

/**
 * kprobe_opt_revert_over() - breakpoints are about to be written
 * @kps: where, linked by their list
 *
 * No jump is over any of them on return.
 *
 * Context: kprobe_mutex held, sleeps.
 * Return: true if tasks may still go around some of them in a detour, until
 *	   kprobe_opt_wait_for_tasks().
 */
bool kprobe_opt_revert_over(struct list_head *kps)
{
	struct kprobe_site *site;
	LIST_HEAD(revert);
	bool any = false;
	struct kprobe *kp;

	list_for_each_entry(kp, kps, list) {
		unsigned long addr = (unsigned long)kp->addr;

		for_each_site_before(site, addr) {
			if (!reaches(site, addr))
				continue;
			any |= tasks_may_be_in_detour(site);
			step_aside(site, &revert);
		}

		/* Nobody gets in there any more, but perhaps not all are out. */
		for_each_site_up_to(site, addr, leaving_from)
			any |= reaches(site, addr) && tasks_may_be_in_detour(site);
	}

	kprobe_opt_revert(&revert);
	return any;
}

/* Probes that were refused because of what was near an address, which has gone. */
static void look_again(unsigned long addr)
{
	struct kprobe_site *site;

	if (!opt_transient)
		return;

	site = kprobe_site_from(addr - KPROBE_OPT_NEARBY);
	for (; site && kprobe_site_addr(site) <= addr + KPROBE_OPT_NEARBY;
	     site = kprobe_site_next(site)) {
		struct optimized_kprobe *op = &site->head.op;

		if (!op->why_transient || site->opt != KPROBE_OPT_NONE)
			continue;
		op->why = KPROBE_NOOPT_NONE;
		op->why_at = 0;
		op->why_transient = false;
		opt_transient--;
		kprobe_opt_update(site, NULL);
	}
}

struct optimized_kprobe * __weak arch_optimizer_borrower(unsigned long addr)
{
	return NULL;
}

/**
 * kprobe_opt_vacate() - a probe is about to come to an address
 * @addr: the address
 *
 * The jump of another probe may use the text there, elsewhere than at its own probe.
 * It gives way as if it had come later, and is prepared anew.
 *
 * Context: kprobe_mutex held, sleeps.
 * Return: true if tasks may still be in that text: to be called again after
 *	   kprobe_opt_wait_for_tasks(), until it returns false.
 */
bool kprobe_opt_vacate(unsigned long addr)
{
	struct optimized_kprobe *op;

	lockdep_assert_held(&kprobe_mutex);

	while ((op = arch_optimizer_borrower(addr))) {
		struct kprobe_site *site = op_to_site(op);
		LIST_HEAD(revert);

		step_aside(site, &revert);
		kprobe_opt_revert(&revert);
		/* The worker gives back what a leaving site has. */
		if (site->opt == KPROBE_OPT_RECLAIMING || tasks_may_be_in_detour(site))
			return true;

		arch_remove_optimized_kprobe(op);
		opt_move(site, KPROBE_OPT_NONE);
		kprobe_opt_update(site, NULL);
		look_again(addr);
	}

	return false;
}

/**
 * kprobe_opt_revert_at() - breakpoints are about to be removed
 * @kps: where, linked by their list
 *
 * These have no jump on return.
 *
 * Context: kprobe_mutex held, sleeps.
 */
void kprobe_opt_revert_at(struct list_head *kps)
{
	LIST_HEAD(revert);
	struct kprobe *kp;

	list_for_each_entry(kp, kps, list) {
		struct kprobe_site *site = kprobe_to_site(kp);

		switch (site->opt) {
		case KPROBE_OPT_QUEUED:
		case KPROBE_OPT_WAITING:
			opt_cancel(site, KPROBE_NOOPT_DISARMED);
			break;
		case KPROBE_OPT_LIVE:
			list_move_tail(&site->head.op.list, &revert);
			break;
		default:
			break;
		}
	}

	kprobe_opt_revert(&revert);
}

/**
 * kprobe_opt_site_changed() - a breakpoint was written or removed
 * @site: the site, in its new state
 *
 * Context: kprobe_mutex held.
 */
void kprobe_opt_site_changed(struct kprobe_site *site)
{
	struct kprobe_site *other;

	kprobe_opt_update(site, NULL);
	if (site->state == KPROBE_SITE_ARMED)
		return;

	/* It was perhaps the last one in the way. */
	for_each_site_before(other, kprobe_site_addr(site)) {
		if (other->opt == KPROBE_OPT_PREPARED &&
		    reaches(other, kprobe_site_addr(site)))
			kprobe_opt_update(other, NULL);
	}
}

/**
 * kprobe_opt_kill() - the code has gone away
 * @site: a site that is being killed; it has no jump
 *
 * Context: kprobe_mutex held.
 */
void kprobe_opt_kill(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	switch (site->opt) {
	case KPROBE_OPT_QUEUED:
	case KPROBE_OPT_WAITING:
		opt_cancel(site, KPROBE_NOOPT_DISARMED);
		return;
	case KPROBE_OPT_LIVE:
		WARN_ON_ONCE(1);
		return;
	default:
		return;
	}
}

/**
 * kprobe_opt_reclaim() - take over a site that is to be freed
 * @site: a DEAD site
 *
 * Context: kprobe_mutex held, sleeps.
 * Return: true if the optimizer will release and free it, when no task can be
 *	   in its detour any more.
 */
bool kprobe_opt_reclaim(struct kprobe_site *site)
{
	if (site->head.op.why_transient)
		opt_transient--;
	look_again(kprobe_site_addr(site));

	/* One that was never armed, or that nobody disarmed as it was killed. */
	if (!has_detour(site)) {
		WARN_ON_ONCE(site->opt != KPROBE_OPT_NONE);
		return false;
	}

	if (!tasks_may_be_in_detour(site)) {
		arch_remove_optimized_kprobe(&site->head.op);
		opt_move(site, KPROBE_OPT_NONE);
		return false;
	}

	opt_move(site, KPROBE_OPT_RECLAIMING);
	list_add_tail(&site->head.op.list, &opt_reclaim);
	kprobe_site_add_to(&opt_leaving, site);
	opt_kick();
	return true;
}

/*
 * Rounds
 */

bool __weak arch_optimizer_begin(unsigned long addr)
{
	return false;
}

void __weak arch_optimizer_forget(unsigned long start, unsigned long end)
{
}

/**
 * kprobe_opt_forget() - text is about to be freed
 * @start: where it begins
 * @end: where it ends
 *
 * Context: kprobe_mutex held, the sites there have been dropped.
 */
void kprobe_opt_forget(unsigned long start, unsigned long end)
{
	lockdep_assert_held(&kprobe_mutex);

	arch_optimizer_forget(start, end);
}

static void nothing(struct work_struct *work)
{
}

/**
 * kprobe_opt_wait_for_tasks() - until all tasks have left what they were in
 *
 * Afterwards, text that no hit gets into may be written: what jumps replace, detours,
 * and what leads there.
 *
 * Context: process context, no lock held.
 */
void kprobe_opt_wait_for_tasks(void)
{
	u64 mine;

	scoped_guard(mutex, &kprobe_mutex)
		mine = ++opt_begun;

	synchronize_rcu_tasks();

	/*
	 * Without preemption, but with its counter, RCU takes any tick for the
	 * end of what was interrupted. Let all CPUs schedule instead.
	 */
	if (!IS_ENABLED(CONFIG_PREEMPTION) && IS_ENABLED(CONFIG_PREEMPT_COUNT))
		schedule_on_each_cpu(nothing);

	/*
	 * RCU waits for no CPU that is idle, although it may be in a detour, or in the
	 * middle of what a jump will replace, in the code that makes it so.
	 */
	arch_sync_insn_slots();

	guard(mutex)(&kprobe_mutex);
	opt_over = max(opt_over, mine);
}

#ifdef CONFIG_MODULES
static bool in_init_text(unsigned long addr)
{
	struct module *mod;

	if (is_kernel_inittext(addr))
		return true;

	guard(preempt)();

	mod = __module_text_address(addr);
	return mod && within_module_init(addr, mod);
}
#else
static bool in_init_text(unsigned long addr)
{
	return is_kernel_inittext(addr);
}
#endif

/*
 * The base's backend of powerpc ends a detour with the stack pointer and the per-CPU
 * pointer that it began with, and may emulate a call without knowing where it is. So
 * no detour for what may set r1 or r13: these numbers in the places of operands.
 */
static bool breaks_in_detour(const struct kprobe *p)
{
#ifdef CONFIG_PPC
	u32 insn = p->opcode, rt = insn >> 21 & 31, ra = insn >> 16 & 31;

	/* A branch: to link is bit 0. */
	if (insn >> 26 == 18)
		return insn & 1;
	return rt == 1 || rt == 13 || ra == 1 || ra == 13;
#else
	return false;
#endif
}

/* Freed before long, or relocated again by somebody who looks at it. */
static enum kprobe_noopt why_text_changes(unsigned long addr)
{
	if (in_init_text(addr))
		return KPROBE_NOOPT_INIT;
	if (kprobe_in_livepatch(addr))
		return KPROBE_NOOPT_LIVEPATCH;
	return KPROBE_NOOPT_NONE;
}

static enum kprobe_noopt make_detour(struct kprobe_site *site)
{
	struct optimized_kprobe *op = &site->head.op;
	int ret;

	if (breaks_in_detour(&op->kp)) {
		op->why = KPROBE_NOOPT_INSN;
		return op->why;
	}

	ret = arch_prepare_optimized_kprobe(op, &op->kp);
	if (has_detour(site)) {
		kprobe_own_optinsn_slot(op->optinsn.insn, op);
		return KPROBE_NOOPT_NONE;
	}
	if (ret == -ENOMEM) {
		/* What stood against one way to do it does not any more. */
		op->why = KPROBE_NOOPT_NONE;
		op->why_transient = false;
		return KPROBE_NOOPT_NOMEM;
	}
	opt_transient += op->why_transient;
	if (!op->why)
		op->why = ret == -ERANGE ? KPROBE_NOOPT_RANGE : KPROBE_NOOPT_ARCH;
	pr_debug_ratelimited("no jump at %pS: %s+%u\n", op->kp.addr,
			     why_names[op->why], op->why_at);
	return op->why;
}

static void prepare_one(struct kprobe_site *site)
{
	enum kprobe_noopt why = obstacle(site);

	if (!why)
		why = why_text_changes(kprobe_site_addr(site));
	if (!why)
		why = make_detour(site);
	/* What it reaches is known only now. */
	if (!why)
		why = obstacle(site);
	if (why)
		opt_cancel(site, why);
	else
		list_move_tail(&site->head.op.list, &opt_queue);
}

/*
 * What the architecture has to know about the text that the next few are in. Returns
 * whether they are ready; if not, it is to be called again after others had the mutex.
 */
static bool begin_some(unsigned int *nr)
{
	struct optimized_kprobe *op;

	*nr = 0;
	list_for_each_entry(op, &opt_fresh, list) {
		unsigned long addr = (unsigned long)op->kp.addr;

		if (*nr == PREPARE_CHUNK)
			break;
		if (!why_text_changes(addr) && arch_optimizer_begin(addr))
			return false;
		++*nr;
	}

	return true;
}

/* Returns whether there are more. */
static bool prepare_some(void)
{
	unsigned int nr;

	guard(mutex)(&kprobe_mutex);

	if (list_empty(&opt_fresh))
		return false;
	if (!begin_some(&nr))
		return true;

	cpus_read_lock();
	jump_label_lock();
	mutex_lock(&text_mutex);
	while (nr--)
		prepare_one(first_site(&opt_fresh));
	mutex_unlock(&text_mutex);
	jump_label_unlock();
	cpus_read_unlock();

	return !list_empty(&opt_fresh);
}

/* From here on nobody gets into what the jumps will replace. */
static void close_queue(void)
{
	struct optimized_kprobe *op, *tmp;

	list_for_each_entry_safe(op, tmp, &opt_queue, list) {
		opt_move(op_to_site(op), KPROBE_OPT_WAITING);
		list_move_tail(&op->list, &opt_waiting);
	}
}

static void patch_some(void)
{
	/* Only the worker is here. */
	static struct kprobe_site *sites[PATCH_CHUNK];
	unsigned int i, nr = 0;
	LIST_HEAD(list);

	while (nr < PATCH_CHUNK && !list_empty(&opt_waiting)) {
		struct kprobe_site *site = first_site(&opt_waiting);
		enum kprobe_noopt why = obstacle(site);

		if (WARN_ON_ONCE(why)) {
			opt_cancel(site, why);
			continue;
		}
		list_move_tail(&site->head.op.list, &list);
		sites[nr++] = site;
	}

	if (!nr)
		return;

	scoped_guard(kprobe_text)
		arch_optimize_kprobes(&list);

	for (i = 0; i < nr; i++) {
		if (list_empty(&sites[i]->head.op.list))
			opt_move(sites[i], KPROBE_OPT_LIVE);
		else
			opt_cancel(sites[i], KPROBE_NOOPT_CHANGED);
	}
}

static void patch_waiting(void)
{
	while (!list_empty(&opt_waiting)) {
		patch_some();
		cond_resched();
	}
}

static void free_reclaimed(struct list_head *list)
{
	struct optimized_kprobe *op, *tmp;

	list_for_each_entry_safe(op, tmp, list, list) {
		struct kprobe_site *site = op_to_site(op);

		list_del_init(&op->list);
		rb_erase(&site->node, &opt_leaving);
		arch_remove_optimized_kprobe(op);
		look_again(kprobe_site_addr(site));
		opt_move(site, KPROBE_OPT_NONE);
		kprobe_site_release(site);
		kfree_rcu(site, rcu);
	}
}

static void kprobe_optimizer_round(struct work_struct *work)
{
	LIST_HEAD(reclaim);
	bool wait;

	while (prepare_some())
		cond_resched();

	scoped_guard(mutex, &kprobe_mutex) {
		close_queue();
		list_splice_init(&opt_reclaim, &reclaim);
		wait = !list_empty(&opt_waiting) || !list_empty(&reclaim);
	}

	if (wait)
		kprobe_opt_wait_for_tasks();

	guard(mutex)(&kprobe_mutex);

	patch_waiting();
	free_reclaimed(&reclaim);

	if (!list_empty(&opt_fresh) || !list_empty(&opt_queue) ||
	    !list_empty(&opt_reclaim)) {
		queue_work(system_unbound_wq, &opt_work);
		return;
	}

	WRITE_ONCE(opt_busy, false);
	wake_up_all(&opt_idle);
}

/**
 * wait_for_kprobe_optimizer() - until there is nothing to be done any more
 *
 * Context: process context, kprobe_mutex not held.
 */
void wait_for_kprobe_optimizer(void)
{
	wait_event(opt_idle, !READ_ONCE(opt_busy));
}

/*
 * The switch
 */

/**
 * kprobe_opt_allow() - switch jump optimization on or off
 * @on: the new state
 *
 * All jumps are out on return when it is off.
 *
 * Context: process context, sleeps.
 */
void kprobe_opt_allow(bool on)
{
	struct kprobe_site *site;
	LIST_HEAD(revert);

	guard(mutex)(&kprobe_mutex);

	if (opt_allowed == on)
		return;

	opt_allowed = on;
	for (site = kprobe_site_from(0); site; site = kprobe_site_next(site)) {
		if (site->state == KPROBE_SITE_ARMED)
			kprobe_opt_update(site, &revert);
	}
	kprobe_opt_revert(&revert);
}

#ifdef CONFIG_SYSCTL
/* Who writes last wins, whole. */
static DEFINE_MUTEX(opt_sysctl_mutex);

static int opt_sysctl(const struct ctl_table *table, int write, void *buffer,
		      size_t *lenp, loff_t *ppos)
{
	struct ctl_table shown = *table;
	int value, ret;
	bool old;

	guard(mutex)(&opt_sysctl_mutex);

	scoped_guard(mutex, &kprobe_mutex)
		old = opt_allowed;

	value = old;
	shown.data = &value;
	ret = proc_dointvec_minmax(&shown, write, buffer, lenp, ppos);
	if (ret || !write || !value == !old)
		return ret;

	kprobe_opt_allow(value);
	if (!value)
		wait_for_kprobe_optimizer();
	pr_info("jump optimization is %s\n", value ? "enabled" : "disabled");
	return 0;
}

static struct ctl_table opt_sysctls[] = {
	{
		.procname	= "kprobes-optimization",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= opt_sysctl,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

static void __init opt_sysctl_init(void)
{
	register_sysctl_init("debug", opt_sysctls);
}
#else
static void __init opt_sysctl_init(void)
{
}
#endif

/* Not earlier: before there is ksoftirqd, grace periods of tasks do not end. */
static int __init kprobe_opt_init(void)
{
	opt_sysctl_init();
	kprobe_opt_allow(true);
	return 0;
}
subsys_initcall(kprobe_opt_init);

/*
 * For debugfs
 */

/**
 * kprobe_opt_is_live() - is there a jump?
 * @site: the site
 *
 * Context: kprobe_mutex held.
 * Return: true if there is.
 */
bool kprobe_opt_is_live(const struct kprobe_site *site)
{
	return site->opt == KPROBE_OPT_LIVE;
}

/**
 * kprobe_opt_show() - say how far a site is, and what is against more
 * @m: where to
 * @site: the site
 *
 * Context: kprobe_mutex held.
 */
void kprobe_opt_show(struct seq_file *m, struct kprobe_site *site)
{
	bool idle = site->opt == KPROBE_OPT_NONE || site->opt == KPROBE_OPT_PREPARED;
	u8 why = idle ? site->opt_why : KPROBE_NOOPT_NONE;

	seq_printf(m, " opt=%s why=%s", state_names[site->opt], why_names[why]);
	if (why && why == site->head.op.why && site->head.op.why_at)
		seq_printf(m, "+%u", site->head.op.why_at);
}
