// SPDX-License-Identifier: GPL-2.0-only
/*
 * The optimizer: replaces breakpoints with jumps where that is possible.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sysctl.h>
#include <linux/workqueue.h>

#include <asm/sections.h>

#include "optimizer.h"
#include "refusal.h"
#include "site.h"
#include "slots.h"
#include "table.h"

/**
 * DOC: kprobes optimizer
 *
 * A jump is longer than a breakpoint, and overwrites instructions after it. A task may
 * have been interrupted there. Only a grace period of tasks-RCU shows that all tasks
 * have left. It begins after hits were diverted to the detour, which bypasses
 * these instructions; from then on no task can enter them. Where a jump replaces one
 * word, as on arm64 and powerpc, no task can be in the middle of it. Then jumps are
 * written without that wait, but detours are still given back after one.
 *
 * A worker works in rounds. In each round it prepares detours for the sites in the
 * queue, diverts their hits, waits for one grace period with no lock held, and then
 * writes the jumps of all sites that have not changed. Sites that were queued during
 * the wait are left to the next round. The same grace period serves detours that are
 * to be given back.
 *
 * Whether anything is in the way of a jump is decided when a site enters the queue, and
 * again after each change that concerns it, which takes the site out of the queue if necessary.
 * So the worker only looks for what it learns with the detour: which bytes the jump replaces.
 *
 * Reverting a jump needs no wait, so it is done synchronously. Jumps that are reverted
 * together share their cross-CPU synchronizations.
 */

/* How many sites are prepared, or patched, before the text is unlocked for others. */
#define DETOUR_CHUNK	32
#define PATCH_CHUNK	256

/*
 * kprobe_mutex protects all of these.
 */
static bool opt_allowed;	/* also read without */

/* Sites by their state, linked by op.list. */
static LIST_HEAD(opt_queue);		/* QUEUED */
static LIST_HEAD(opt_waiting);		/* WAITING */
static LIST_HEAD(opt_reclaimed);	/* RECLAIMING, for the next round */

/*
 * Grace periods of tasks-RCU: how many began, and the latest that ended. At ten a second, they wrap
 * after 13 years.
 */
static u32 tasks_begun, tasks_over;

static void kprobe_optimizer_round(struct work_struct *work);
static DECLARE_WORK(opt_work, kprobe_optimizer_round);

/*
 * States
 *
 *   NONE       no detour, or there can be none
 *   PREPARED   there is a detour, which no hit enters
 *   QUEUED     for the next round
 *   WAITING    hits continue in the detour; a grace period is running
 *   LIVE       the jump is in the text
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
	[KPROBE_OPT_LIVE]	= BIT(KPROBE_OPT_PREPARED),
	[KPROBE_OPT_RECLAIMING]	= BIT(KPROBE_OPT_NONE),
};

static_assert(NR_KPROBE_OPT_STATES <= BITS_PER_BYTE);

/* The flags that each state publishes. */
#define FLAGS_OF_OPT	(KPROBE_FLAG_OPTIMIZED | KPROBE_FLAG_DETOUR | KPROBE_FLAG_JUMP)

static const u32 opt_flags[NR_KPROBE_OPT_STATES] = {
	[KPROBE_OPT_QUEUED]	= KPROBE_FLAG_OPTIMIZED,
	[KPROBE_OPT_WAITING]	= KPROBE_FLAG_OPTIMIZED | KPROBE_FLAG_DETOUR,
	[KPROBE_OPT_LIVE]	= FLAGS_OF_OPT,
};

static struct kprobe_site *op_to_site(struct optimized_kprobe *op)
{
	return container_of(op, struct kprobe_site, head.op);
}

static struct kprobe_site *first_site(struct list_head *list)
{
	return op_to_site(list_first_entry(list, struct optimized_kprobe, list));
}

static bool hits_enter_detour(const struct kprobe_site *site)
{
	return opt_flags[site->opt] & KPROBE_FLAG_DETOUR;
}

bool kprobe_opt_may_move(enum kprobe_opt_state from, enum kprobe_opt_state to)
{
	return opt_moves[from] & BIT(to);
}

/* The caller links op.list. */
static void opt_move(struct kprobe_site *site, enum kprobe_opt_state to)
{
	bool entered = hits_enter_detour(site);
	struct kprobe *kp = &site->head.kp;

	lockdep_assert_held(&kprobe_mutex);

	if (WARN_ON_ONCE(!kprobe_opt_may_move(site->opt, to)))
		return;

	site->opt = to;
	if (entered && !hits_enter_detour(site) && site->opt_until != KPROBE_OPT_FOREVER)
		site->opt_until = tasks_begun + 1;
	/* Hits read the flags, so they change in one store. */
	WRITE_ONCE(kp->flags, (kp->flags & ~FLAGS_OF_OPT) | opt_flags[to]);
}

/* Hits enter the detour, or no grace period has both begun and ended since they did. */
static bool tasks_may_be_in_detour(const struct kprobe_site *site)
{
	return hits_enter_detour(site) || site->opt_until > tasks_over;
}

/* Let a round begin, if there is one already after its end. */
static void kick(void)
{
	queue_work(system_dfl_wq, &opt_work);
}

/*
 * Whether there may be a jump
 */

/* How many bytes of text a jump makes unusable. */
#ifdef CONFIG_HAVE_OPTPROBES_RANGE
static unsigned int size_of(const struct optimized_kprobe *op)
{
	return op->optinsn.size;
}
#else
static unsigned int size_of(const struct optimized_kprobe *op)
{
	return sizeof(kprobe_opcode_t);
}
#endif

/* Is another probe armed, or about to be, in the text that the jump replaces? */
static bool is_jump_in_the_way(struct optimized_kprobe *op)
{
	unsigned long addr = (unsigned long)op->kp.addr;
	struct kprobe_site *site;

	for_each_kprobe_site_in(site, addr + 1, addr + size_of(op)) {
		if (site->kind == KPROBE_SITE_BREAKPOINT && site->nr_enabled &&
		    (site->state == KPROBE_SITE_READY || site->state == KPROBE_SITE_ARMED))
			return true;
	}

	return false;
}

/* The first reason that prevents a jump. */
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
	/* An attempt has failed before. */
	if (site->head.op.why)
		return site->head.op.why;
	if (!opt_allowed)
		return KPROBE_NOOPT_OFF;
	if (kprobe_has_detour(site) && is_jump_in_the_way(&site->head.op))
		return KPROBE_NOOPT_NEIGHBOUR;
	return KPROBE_NOOPT_NONE;
}

/*
 * There is to be no jump. @revert takes a site that has one, for kprobe_opt_revert(); NULL if it
 * may keep it.
 */
static void give_up(struct kprobe_site *site, enum kprobe_noopt why, struct list_head *revert)
{
	if (site->opt == KPROBE_OPT_LIVE && !revert)
		return;

	site->opt_why = why;
	if (site->opt == KPROBE_OPT_LIVE) {
		list_move_tail(&site->head.op.list, revert);
	} else if (site->opt == KPROBE_OPT_QUEUED || site->opt == KPROBE_OPT_WAITING) {
		/* The text has not been changed yet. */
		list_del_init(&site->head.op.list);
		opt_move(site, kprobe_has_detour(site) ? KPROBE_OPT_PREPARED : KPROBE_OPT_NONE);
	}
}

/*
 * Decide again, after a change, whether a site is to have a jump. @revert takes the site if its
 * jump has to be removed, for kprobe_opt_revert(); NULL if the change cannot require that, as
 * when a user is leaving.
 */
void kprobe_opt_update(struct kprobe_site *site, struct list_head *revert)
{
	enum kprobe_noopt why;

	lockdep_assert_held(&kprobe_mutex);

	why = obstacle(site);
	if (why) {
		give_up(site, why, revert);
	} else if (site->opt == KPROBE_OPT_NONE || site->opt == KPROBE_OPT_PREPARED) {
		site->opt_why = KPROBE_NOOPT_NONE;
		opt_move(site, KPROBE_OPT_QUEUED);
		list_add_tail(&site->head.op.list, &opt_queue);
		kick();
	}
}

/* Forget why the last attempt has failed: the next one may succeed. */
static void forget_refusal(struct optimized_kprobe *op)
{
	op->why = KPROBE_NOOPT_NONE;
	op->why_at = 0;
	op->why_transient = false;
}

/* A probe that prevented jumps may be gone. @addr is that of the probe, or of its hop. */
static void reconsider(unsigned long addr)
{
	struct kprobe_site *site;

	for_each_kprobe_site_in(site, addr - KPROBE_OPT_NEARBY, addr + KPROBE_OPT_NEARBY + 1) {
		if (site->kind == KPROBE_SITE_FTRACE || site->opt != KPROBE_OPT_NONE ||
		    !site->head.op.why_transient)
			continue;
		forget_refusal(&site->head.op);
		kprobe_opt_update(site, NULL);
	}
}

/*
 * Memory may become free, and a debugger may remove a breakpoint that has changed text.
 * Nothing notifies us, so these sites are examined again after a delay, which doubles
 * until a run finds none of them.
 */
#define RETRY_FIRST	(10 * HZ)
#define RETRY_LAST	(600 * HZ)

static unsigned long opt_retry_delay = RETRY_FIRST;

static bool is_passing(const struct kprobe_site *site)
{
	return site->opt_why == KPROBE_NOOPT_NOMEM || site->opt_why == KPROBE_NOOPT_CHANGED;
}

static void kprobe_opt_retry(struct work_struct *work);
DECLARE_DELAYED_WORK(kprobe_opt_retry_work, kprobe_opt_retry);

static void retry_later(void)
{
	queue_delayed_work(system_dfl_wq, &kprobe_opt_retry_work, opt_retry_delay);
}

static void kprobe_opt_retry(struct work_struct *work)
{
	struct kprobe_site *site;
	bool any = false;

	guard(mutex)(&kprobe_mutex);

	for_each_kprobe_site(site) {
		if (!is_passing(site) ||
		    (site->opt != KPROBE_OPT_NONE && site->opt != KPROBE_OPT_PREPARED))
			continue;
		any = true;
		kprobe_opt_update(site, NULL);
	}
	opt_retry_delay = any ? min_t(unsigned long, 2 * opt_retry_delay, RETRY_LAST) :
				RETRY_FIRST;
	/* The next run shows whether this one was of use. */
	if (any)
		retry_later();
}

/* As give_up(), and try again later if the reason may pass. */
static void give_up_for_now(struct kprobe_site *site, enum kprobe_noopt why)
{
	give_up(site, why, NULL);
	if (is_passing(site))
		retry_later();
}

/*
 * Removing jumps
 */

static void revert_some(struct list_head *ops)
{
	struct optimized_kprobe *op, *tmp;
	unsigned int nr = 0;
	LIST_HEAD(some);
	LIST_HEAD(done);

	while (nr++ < PATCH_CHUNK && !list_empty(ops))
		list_move_tail(ops->next, &some);

	scoped_guard(kprobe_text)
		arch_unoptimize_kprobes(&some, &done);

	/* Hits still enter these detours, and no grace period shows when that ends. */
	list_for_each_entry(op, &some, list) {
		pr_warn_once("cannot write to %pS: its detour is never freed\n", op->kp.addr);
		op_to_site(op)->opt_until = KPROBE_OPT_FOREVER;
	}
	list_splice(&some, &done);
	/* Only now may hits continue after the breakpoint again. */
	list_for_each_entry_safe(op, tmp, &done, list) {
		list_del_init(&op->list);
		opt_move(op_to_site(op), KPROBE_OPT_PREPARED);
	}
}

/* Replace the jumps of LIVE sites, linked by op.list, with breakpoints. */
void kprobe_opt_revert(struct list_head *ops)
{
	lockdep_assert_held(&kprobe_mutex);

	while (!list_empty(ops)) {
		revert_some(ops);
		cond_resched();
	}
}

/* Remove the jumps of breakpoints that will be removed. */
void kprobe_opt_revert_at(struct list_head *kps)
{
	LIST_HEAD(revert);
	struct kprobe *kp;

	list_for_each_entry(kp, kps, list)
		give_up(kprobe_to_site(kp), KPROBE_NOOPT_DISARMED, &revert);

	kprobe_opt_revert(&revert);
}

/* Sites before an address whose jump may cover it; see jump_covers(). */
#define for_each_site_before(site, addr)				\
	for_each_kprobe_site_in(site, (addr) - (MAX_OPTIMIZED_LENGTH - 1), addr)

static bool jump_covers(struct kprobe_site *site, unsigned long addr)
{
	return site->state != KPROBE_SITE_GONE && kprobe_has_detour(site) &&
	       addr - kprobe_site_addr(site) < size_of(&site->head.op);
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

	for_each_site_before(site, addr) {
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

	list_for_each_entry(kp, kps, list) {
		unsigned long addr = (unsigned long)kp->addr;

		any = any || kprobe_opt_is_bypassed(addr);
		for_each_site_before(site, addr) {
			if (jump_covers(site, addr))
				kprobe_opt_update(site, &revert);
		}
	}

	kprobe_opt_revert(&revert);
	return any;
}

/* The breakpoint of a site has been written or removed. */
void kprobe_opt_site_changed(struct kprobe_site *site)
{
	struct kprobe_site *other;

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

/*
 * Giving detours back
 */

/* The caller ensures that no task is in the detour. */
static void remove_detour(struct kprobe_site *site)
{
	arch_remove_optimized_kprobe(&site->head.op);
	opt_move(site, KPROBE_OPT_NONE);
}

static struct optimized_kprobe *hop_at(unsigned long addr)
{
	return IS_ENABLED(CONFIG_HAVE_OPTPROBES_RANGE) ? arch_hop_at(addr) : NULL;
}

/*
 * A probe is being registered at @addr, and the hop of another one may be there. Remove the jump
 * to the hop: no hit enters that any more, but it stays until kprobe_opt_remove_hop().
 *
 * Returns 1 if tasks may still be in the hop: call it again after kprobe_opt_wait_for_tasks(),
 * until it returns 0. Or -EBUSY if hits will always enter it, because the jump cannot be removed.
 */
int kprobe_opt_leave_hop(unsigned long addr)
{
	struct optimized_kprobe *op = hop_at(addr);
	struct kprobe_site *site;
	LIST_HEAD(revert);

	if (!op)
		return 0;

	site = op_to_site(op);
	if (site->opt_until != KPROBE_OPT_FOREVER) {
		give_up(site, KPROBE_NOOPT_NEIGHBOUR, &revert);
		kprobe_opt_revert(&revert);
	}
	if (site->opt_until == KPROBE_OPT_FOREVER)
		return -EBUSY;
	/* The worker gives back the detours of dead sites. */
	return site->opt == KPROBE_OPT_RECLAIMING || tasks_may_be_in_detour(site);
}

/*
 * After kprobe_opt_leave_hop() has returned 0 for @addr, and with the mutex held since: prepare
 * the probe whose hop it was again, as if it had come later. Until the new probe has been
 * published, the same address may be chosen for a hop. So the caller holds the mutex until
 * then, and has left all other hops in the way of its batch before.
 */
void kprobe_opt_remove_hop(unsigned long addr)
{
	struct optimized_kprobe *op = hop_at(addr);

	if (!op)
		return;

	remove_detour(op_to_site(op));
	kprobe_opt_update(op_to_site(op), NULL);
	reconsider(addr);
}

/*
 * Take over a DEAD site while a task may be in its detour. Returns true if the optimizer will
 * release and free it, or must keep it forever; false if the caller has to.
 */
bool kprobe_opt_reclaim(struct kprobe_site *site)
{
	reconsider(kprobe_site_addr(site));

	/* It was never armed, or was killed before it had a detour. */
	if (!kprobe_has_detour(site)) {
		WARN_ON_ONCE(site->opt != KPROBE_OPT_NONE);
		return false;
	}

	if (!tasks_may_be_in_detour(site)) {
		remove_detour(site);
		return false;
	}

	opt_move(site, KPROBE_OPT_RECLAIMING);
	if (site->opt_until != KPROBE_OPT_FOREVER) {
		list_add_tail(&site->head.op.list, &opt_reclaimed);
		kick();
	}
	return true;
}

static void free_reclaimed(struct list_head *list)
{
	struct optimized_kprobe *op, *tmp;

	list_for_each_entry_safe(op, tmp, list, list) {
		struct kprobe_site *site = op_to_site(op);

		list_del_init(&op->list);
		remove_detour(site);
		reconsider(kprobe_site_addr(site));
		kprobe_site_free(site);
	}
}

/*
 * Wait until each task has left the text it was in. Afterwards, text that no hit enters may be
 * overwritten: instructions that jumps replace, detours, and hops to them. No lock is held.
 */
void kprobe_opt_wait_for_tasks(void)
{
	u32 mine;

	scoped_guard(mutex, &kprobe_mutex)
		mine = ++tasks_begun;

	synchronize_rcu_tasks();

	/*
	 * Without preemption, but with its counter, a tick anywhere counts as a
	 * quiescent state of RCU.
	 */
	if (!IS_ENABLED(CONFIG_PREEMPTION) && IS_ENABLED(CONFIG_PREEMPT_COUNT))
		kprobe_wait_for_switches();

	/*
	 * RCU does not wait for idle CPUs. But the code that makes a CPU idle can have
	 * probes, so a CPU may be in a detour, or between instructions that a jump will
	 * replace.
	 */
	arch_sync_insn_slots();

	guard(mutex)(&kprobe_mutex);
	tasks_over = max(tasks_over, mine);
}

/*
 * Preparing detours
 */

int __weak arch_plan_optimized_kprobe(struct optimized_kprobe *op)
{
	lockdep_assert_held(&text_mutex);

	return KPROBE_JUMP_UNKNOWN;
}

static bool in_init_text(unsigned long addr)
{
	struct module *mod;

	if (is_kernel_inittext(addr))
		return true;

	guard(preempt)();

	mod = __module_text_address(addr);
	return mod && within_module_init(addr, mod);
}

/*
 * kprobe_detour_callback() calls this function at its end if the task is to be preempted. A detour
 * in the function itself would recurse without end.
 */
#ifdef CONFIG_PREEMPTION
static bool ends_detours(unsigned long addr)
{
	unsigned long size, into;

	return kallsyms_lookup_size_offset(addr, &size, &into) && addr - into ==
	       (unsigned long)dereference_kernel_function_descriptor(preempt_schedule_notrace);
}
#else
static bool ends_detours(unsigned long addr)
{
	return false;
}
#endif

/*
 * Where no detour may be, whatever the instruction. Some text is freed soon, or livepatch relocates
 * it again and checks it before.
 */
static enum kprobe_noopt why_not_there(unsigned long addr)
{
	if (in_init_text(addr))
		return KPROBE_NOOPT_INIT;
	if (kprobe_in_livepatch(addr))
		return KPROBE_NOOPT_LIVEPATCH;
	return ends_detours(addr) ? KPROBE_NOOPT_ARCH : KPROBE_NOOPT_NONE;
}

/*
 * Look at the place of a site that may get a detour, and let the architecture examine the text
 * around it. If that returns true, it has to be called again after others had the mutex.
 */
static bool begin_detour(struct optimized_kprobe *op)
{
	unsigned long addr = (unsigned long)op->kp.addr;

	op->why = why_not_there(addr);
	return !op->why && IS_ENABLED(CONFIG_HAVE_OPTPROBES_RANGE) && arch_optimizer_begin(addr);
}

/* As kprobe_text, and jump labels stay where they are. */
DEFINE_LOCK_GUARD_0(detour_text,
		    ({ cpus_read_lock(); jump_label_lock(); mutex_lock(&text_mutex); }),
		    ({ mutex_unlock(&text_mutex); jump_label_unlock(); cpus_read_unlock(); }))

/* Without memory, what the architecture has found so far is not the reason. */
static enum kprobe_noopt noopt_of(const struct optimized_kprobe *op, int err)
{
	if (err == -ENOMEM)
		return KPROBE_NOOPT_NOMEM;
	if (op->why)
		return op->why;
	return err == -ERANGE ? KPROBE_NOOPT_RANGE : KPROBE_NOOPT_ARCH;
}

/*
 * Would a probe get a jump, alone and with a pre handler only? Nothing else finds @site, unless
 * it has a detour. -EAGAIN if the architecture has to examine more text first: call it again
 * after others had the mutex.
 */
int kprobe_opt_forecast(struct kprobe_site *site, struct kprobe_forecast *f)
{
	struct optimized_kprobe *op = &site->head.op;
	int ret;

	lockdep_assert_held(&kprobe_mutex);

	*f = (struct kprobe_forecast){ };
	if (site->kind == KPROBE_SITE_FTRACE)
		f->why = KPROBE_NOOPT_FTRACE;
	else if (!opt_allowed)
		f->why = KPROBE_NOOPT_OFF;
	if (!f->why && begin_detour(op))
		return -EAGAIN;
	f->why = f->why ?: op->why;
	if (f->why)
		return 0;

	scoped_guard(detour_text)
		ret = arch_plan_optimized_kprobe(op);

	if (ret < 0) {
		f->why = noopt_of(op, ret);
		f->at = f->why == op->why ? op->why_at : 0;
	} else {
		f->jump = ret;
	}
	return 0;
}

static enum kprobe_noopt make_detour(struct kprobe_site *site)
{
	struct optimized_kprobe *op = &site->head.op;
	int ret;

	ret = arch_prepare_optimized_kprobe(op, &op->kp);
	if (kprobe_has_detour(site)) {
		kprobe_slot_own(&kprobe_optinsn_slots, op->optinsn.insn, op);
		/* Which instructions the jump replaces is known only now. */
		return is_jump_in_the_way(op) ? KPROBE_NOOPT_NEIGHBOUR : KPROBE_NOOPT_NONE;
	}
	if (ret == -ENOMEM) {
		/* A reason against one kind of jump does not hold for a later attempt. */
		forget_refusal(op);
		return KPROBE_NOOPT_NOMEM;
	}
	op->why = noopt_of(op, ret);
	pr_debug_ratelimited("no jump at %pS: %s+%u\n", op->kp.addr,
			     kprobe_noopt_name(op->why), op->why_at);
	return op->why;
}

/* From here on no task enters the instructions that the jump will replace. */
static void divert(struct kprobe_site *site)
{
	enum kprobe_noopt why = site->head.op.why;

	if (!why && !kprobe_has_detour(site))
		why = make_detour(site);
	if (why) {
		give_up_for_now(site, why);
		return;
	}
	opt_move(site, KPROBE_OPT_WAITING);
	list_move_tail(&site->head.op.list, &opt_waiting);
}

/* Returns whether there are more. */
static bool divert_some(void)
{
	struct optimized_kprobe *op;
	unsigned int nr = 0;

	guard(mutex)(&kprobe_mutex);

	if (list_empty(&opt_queue))
		return false;

	list_for_each_entry(op, &opt_queue, list) {
		if (nr == DETOUR_CHUNK)
			break;
		if (!kprobe_has_detour(op_to_site(op)) && begin_detour(op))
			return true;
		nr++;
	}

	guard(detour_text)();
	while (nr--)
		divert(first_site(&opt_queue));
	return !list_empty(&opt_queue);
}

/*
 * The worker
 */

static void write_some(void)
{
	/* Only the worker gets here. */
	static struct kprobe_site *sites[PATCH_CHUNK];
	unsigned int i, nr = 0;
	LIST_HEAD(list);

	while (nr < PATCH_CHUNK && !list_empty(&opt_waiting)) {
		sites[nr] = first_site(&opt_waiting);
		list_move_tail(&sites[nr++]->head.op.list, &list);
	}

	scoped_guard(kprobe_text)
		arch_optimize_kprobes(&list);

	for (i = 0; i < nr; i++) {
		if (list_empty(&sites[i]->head.op.list))
			opt_move(sites[i], KPROBE_OPT_LIVE);
		else
			give_up_for_now(sites[i], KPROBE_NOOPT_CHANGED);
	}
}

static void write_jumps(void)
{
	while (!list_empty(&opt_waiting)) {
		write_some();
		cond_resched();
	}
}

static void kprobe_optimizer_round(struct work_struct *work)
{
	LIST_HEAD(reclaim);
	bool wait;

	while (divert_some())
		cond_resched();

	scoped_guard(mutex, &kprobe_mutex) {
		/* No task can be inside a single instruction. */
		if (!IS_ENABLED(CONFIG_HAVE_OPTPROBES_RANGE))
			write_jumps();
		list_splice_init(&opt_reclaimed, &reclaim);
		wait = !list_empty(&opt_waiting) || !list_empty(&reclaim);
	}

	if (wait)
		kprobe_opt_wait_for_tasks();

	guard(mutex)(&kprobe_mutex);

	write_jumps();
	free_reclaimed(&reclaim);
}

/**
 * wait_for_kprobe_optimizer() - wait until the optimizer has no more work
 *
 * Context: process context, kprobe_mutex not held.
 */
void wait_for_kprobe_optimizer(void)
{
	/* Work that has come during a round waits for the next one. */
	while (flush_work(&opt_work))
		;
}

/*
 * The switch
 */

/*
 * When optimization is switched off, all jumps have been removed on return. When it is switched on,
 * all sites without a detour are examined again: a debugger, for example, may have
 * removed breakpoints that made a function undecodable. Returns whether that was a change.
 */
bool kprobe_opt_allow(bool on)
{
	struct kprobe_site *site;
	LIST_HEAD(revert);

	guard(mutex)(&kprobe_mutex);

	if (opt_allowed == on)
		return false;

	WRITE_ONCE(opt_allowed, on);
	for_each_kprobe_site(site) {
		if (on && site->kind == KPROBE_SITE_BREAKPOINT && site->opt == KPROBE_OPT_NONE)
			forget_refusal(&site->head.op);
		if (site->state == KPROBE_SITE_ARMED)
			kprobe_opt_update(site, &revert);
	}
	kprobe_opt_revert(&revert);
	return true;
}

/* debug.kprobes-optimization */
static int opt_sysctl(const struct ctl_table *table, int write, void *buffer,
		      size_t *lenp, loff_t *ppos)
{
	int value = READ_ONCE(opt_allowed), ret;
	struct ctl_table shown = *table;

	shown.data = &value;
	ret = proc_dointvec_minmax(&shown, write, buffer, lenp, ppos);
	if (ret || !write || !kprobe_opt_allow(value))
		return ret;

	if (!value)
		wait_for_kprobe_optimizer();
	pr_info("jump optimization is %s\n", value ? "enabled" : "disabled");
	return 0;
}

static const struct ctl_table opt_sysctls[] = {
	{
		.procname	= "kprobes-optimization",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= opt_sysctl,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

/* Not earlier: before ksoftirqd runs, grace periods of tasks-RCU do not end. */
static int __init kprobe_opt_init(void)
{
	kprobe_optinsn_slots.slot_size = MAX_OPTINSN_SIZE * sizeof(kprobe_opcode_t);
	kprobe_opt_allow(true);
	register_sysctl_init("debug", opt_sysctls);
	return 0;
}
subsys_initcall(kprobe_opt_init);
