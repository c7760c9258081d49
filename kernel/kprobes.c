// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernel probes: registering, enabling and arming.
 *
 * Everything comes in batches, and one probe is a batch of one. A batch is
 * resolved, vetted, prepared, published and armed, each for all its probes
 * before the next; when one of them fails, all are undone. So thousands of
 * probes share the cross-CPU synchronizations and the grace periods that one
 * of them needs.
 *
 * The rooms that this stands on are in kernel/kprobes/; internal.h tells how
 * they fit together, Documentation/trace/kprobes.rst what it is for.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/cacheflush.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "kprobes/address.h"
#include "kprobes/batch.h"
#include "kprobes/blacklist.h"
#include "kprobes/ftrace.h"
#include "kprobes/hit.h"
#include "kprobes/internal.h"
#include "kprobes/optimizer.h"
#include "kprobes/site.h"
#include "kprobes/slots.h"
#include "kprobes/table.h"

/* What it protects, and its place among the locks: kprobes/internal.h. */
DEFINE_MUTEX(kprobe_mutex);

/* The core is set up: probes can be registered. Set once. */
static bool kprobes_initialized __ro_after_init;

/* The global switch; kprobe_mutex. */
static bool kprobes_all_disarmed;

/* Preparing may decode whole functions: let others at the text in between. */
#define PREPARE_CHUNK	256

/*
 * Nothing is freed or handed back before this: it ends the handlers and the
 * steps of all hits that had begun, and lets traps that were taken before the
 * text changed find their site.
 */
static void wait_for_hits(void)
{
	synchronize_rcu_expedited();
	/* And those of breakpoints where RCU does not watch. */
	kprobe_table_sync();
}

/*
 * Calls that use users' structures after they have dropped kprobe_mutex. Such a
 * structure names its call until the call ends: in its hlist node, which nothing
 * else uses.
 */

/* Oldest first; kprobe_mutex. */
static LIST_HEAD(calls);
static u64 calls_begun;

/* All calls with lower numbers have ended. Changed under kprobe_mutex. */
static atomic64_t oldest_call = ATOMIC64_INIT(1);
static DECLARE_WAIT_QUEUE_HEAD(call_ended);

/**
 * kprobe_call_take() - a call begins to use a structure
 * @call: the call
 * @p: the structure; if another call uses it, this one waits for the other's end
 *
 * Context: kprobe_mutex held.
 */
void kprobe_call_take(struct kprobe_call *call, struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);

	if (!call->nr) {
		call->nr = ++calls_begun;
		list_add_tail(&call->list, &calls);
	}
	p->hlist.pprev = (struct hlist_node **)call;
}

/**
 * kprobe_call_of() - which call uses a structure?
 * @p: the structure, which may hold anything
 *
 * Context: kprobe_mutex held.
 * Return: the call, or NULL.
 */
struct kprobe_call *kprobe_call_of(const struct kprobe *p)
{
	struct kprobe_call *call;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry(call, &calls, list) {
		if (p->hlist.pprev == (struct hlist_node **)call)
			return call;
	}
	return NULL;
}

static void call_end(struct kprobe_call *call, struct kprobe **kps, int num)
{
	struct kprobe_call *oldest;
	int i;

	lockdep_assert_held(&kprobe_mutex);

	for (i = 0; i < num; i++) {
		if (kps[i] && kps[i]->hlist.pprev == (struct hlist_node **)call)
			INIT_HLIST_NODE(&kps[i]->hlist);
	}

	list_del(&call->list);
	oldest = list_first_entry_or_null(&calls, struct kprobe_call, list);
	/* Pairs with wait_for_calls(): the structures are no longer touched. */
	atomic64_set_release(&oldest_call, oldest ? oldest->nr : calls_begun + 1);
	wake_up_all(&call_ended);
}

/**
 * kprobe_call_end() - a call has no more use of structures
 * @call: the call, which may have taken none
 * @kps: the structures it may have taken
 * @num: how many
 *
 * Context: process context, sleeps.
 */
void kprobe_call_end(struct kprobe_call *call, struct kprobe **kps, int num)
{
	if (!call->nr)
		return;

	guard(mutex)(&kprobe_mutex);
	call_end(call, kps, num);
}

/* Calls wait for older ones only, so they cannot wait for each other. */
static void wait_for_calls(u64 last)
{
	/* Pairs with call_end(). */
	wait_event(call_ended, atomic64_read_acquire(&oldest_call) > last);
}

/*
 * Arming
 */

#ifndef __ARCH_WANT_KPROBES_BATCH
void arch_arm_kprobes(struct list_head *kps)
{
	struct kprobe *kp;

	list_for_each_entry(kp, kps, list) {
		arch_arm_kprobe(kp);
		cond_resched();
	}
}

void arch_disarm_kprobes(struct list_head *kps)
{
	struct kprobe *kp;

	list_for_each_entry(kp, kps, list) {
		arch_disarm_kprobe(kp);
		cond_resched();
	}
}
#endif

/**
 * struct site_lists - sites to be armed or disarmed together
 * @ftrace: those at call sites of ftrace, linked by kp.list
 * @text: those with a breakpoint
 */
struct site_lists {
	struct list_head	ftrace;
	struct list_head	text;
};

#define DEFINE_SITE_LISTS(name) struct site_lists name = {		\
	.ftrace = LIST_HEAD_INIT((name).ftrace),			\
	.text = LIST_HEAD_INIT((name).text),				\
}

static void site_lists_add(struct site_lists *lists, struct kprobe_site *site)
{
	if (site->kind == KPROBE_SITE_FTRACE)
		list_move_tail(&site->head.kp.list, &lists->ftrace);
	else
		list_move_tail(&site->head.kp.list, &lists->text);
}

/* All sites of a list have got to a new state. */
static void list_moved(struct list_head *kps, enum kprobe_site_state to)
{
	struct kprobe *kp, *tmp;

	list_for_each_entry_safe(kp, tmp, kps, list) {
		list_del_init(&kp->list);
		kprobe_site_move(kprobe_to_site(kp), to);
		kprobe_opt_site_changed(kprobe_to_site(kp));
	}
}

static void list_forget(struct list_head *kps)
{
	struct kprobe *kp, *tmp;

	list_for_each_entry_safe(kp, tmp, kps, list)
		list_del_init(&kp->list);
}

static bool site_to_be_armed(const struct kprobe_site *site)
{
	return site->nr_enabled && !kprobes_all_disarmed;
}

/*
 * Breakpoints cannot fail. Returns whether tasks may go around one, in a detour
 * of an optimized probe that had to give way.
 */
static bool arm_text(struct list_head *kps)
{
	bool bypassed;

	if (list_empty(kps))
		return false;

	bypassed = kprobe_opt_revert_over(kps);
	scoped_guard(kprobe_text)
		arch_arm_kprobes(kps);
	list_moved(kps, KPROBE_SITE_ARMED);
	return bypassed;
}

static void disarm_text(struct list_head *kps)
{
	if (list_empty(kps))
		return;

	kprobe_opt_revert_at(kps);
	scoped_guard(kprobe_text)
		arch_disarm_kprobes(kps);
	list_moved(kps, KPROBE_SITE_READY);
}

static int arm_ftrace(struct list_head *kps)
{
	int ret = kprobe_ftrace_arm(kps);

	if (ret)
		list_forget(kps);
	else
		list_moved(kps, KPROBE_SITE_ARMED);
	return ret;
}

static int disarm_ftrace(struct list_head *kps)
{
	struct kprobe *kp, *tmp;
	int ret = kprobe_ftrace_disarm(kps);

	list_for_each_entry_safe(kp, tmp, kps, list) {
		if (kprobe_to_site(kp)->ftrace)
			list_del_init(&kp->list);
	}
	list_moved(kps, KPROBE_SITE_READY);
	return ret;
}

/* One site follows what its users want. @bypassed: see arm_text(). */
static int site_follow(struct kprobe_site *site, bool *bypassed)
{
	DEFINE_SITE_LISTS(lists);

	if (site->state == KPROBE_SITE_READY && site_to_be_armed(site)) {
		site_lists_add(&lists, site);
		*bypassed = arm_text(&lists.text);
		return arm_ftrace(&lists.ftrace);
	}

	if (site->state == KPROBE_SITE_ARMED && !site_to_be_armed(site)) {
		site_lists_add(&lists, site);
		disarm_text(&lists.text);
		return disarm_ftrace(&lists.ftrace);
	}

	return 0;
}

/*
 * Leaving
 */

/*
 * Sites on @reap have had a grace period since their last user left. Those
 * that found a new user meanwhile are no longer on it.
 */
static void reap_sites(struct list_head *reap)
{
	struct kprobe_site *site, *tmp;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry_safe(site, tmp, reap, reap) {
		if (site->ftrace)
			kprobe_ftrace_abandon(site);
		else
			kprobe_site_destroy(site);
	}
}

/*
 * A user goes. What it leaves behind is collected in @lists, to be disarmed,
 * and in @reap, to be freed one grace period after that.
 */
static void user_leaves(struct kprobe_site *site, struct kprobe *p,
			struct site_lists *lists, struct list_head *reap)
{
	kprobe_site_del_user(site, p);
	kprobe_ftrace_note_leave(site);

	if (!site->nr_users)
		list_move_tail(&site->reap, reap);
	if (site->state == KPROBE_SITE_ARMED && !site->nr_enabled)
		site_lists_add(lists, site);
	else if (site->state == KPROBE_SITE_ARMED)
		/* It has perhaps taken the only post handler along. */
		kprobe_opt_update(site, NULL);
	else if (site->state == KPROBE_SITE_READY && !site->nr_enabled)
		/* It was to be armed, and in the way of others. */
		kprobe_opt_site_changed(site);
}

static void disarm_left(struct site_lists *lists)
{
	int ret = disarm_ftrace(&lists->ftrace);

	if (ret)
		pr_warn_ratelimited("probes stay in ftrace for now: %d\n", ret);
	kprobe_ftrace_settle();
	disarm_text(&lists->text);
}

/**
 * kprobe_batch_unregister() - end many probes with one grace period
 * @kps: the probes; one that is not registered gets addr = NULL
 * @num: how many
 * @stop: called for each as it is taken out, or NULL; kprobe_mutex held
 * @done: called for each after the grace period, or NULL
 *
 * Where another call still uses one of the structures, this waits for its end.
 *
 * Context: process context, waits for a grace period.
 */
void kprobe_batch_unregister(struct kprobe **kps, int num,
			     void (*stop)(struct kprobe *p),
			     void (*done)(struct kprobe *p))
{
	struct hlist_node *left = NULL, *node;
	struct kprobe_call *other;
	struct kprobe_site *site;
	DEFINE_SITE_LISTS(lists);
	DEFINE_KPROBE_CALL(call);
	LIST_HEAD(reap);
	struct kprobe *p;
	u64 others = 0;
	int i;

	mutex_lock(&kprobe_mutex);
	for (i = 0; i < num; i++) {
		p = kps[i];
		if (!p)
			continue;
		site = kprobe_site_of_user(p);
		other = kprobe_call_of(p);
		/* Ours, if it is here for a second time. */
		if (other && other != &call)
			others = max(others, other->nr);
		if (!site) {
			if (!other)
				p->addr = NULL;
			continue;
		}

		user_leaves(site, p, &lists, &reap);
		if (stop)
			stop(p);

		/* The other half of the node carries our chain. */
		kprobe_call_take(&call, p);
		p->hlist.next = left;
		left = &p->hlist;
	}
	disarm_left(&lists);
	mutex_unlock(&kprobe_mutex);

	if (left) {
		wait_for_hits();
		for (node = left; node && done; node = node->next)
			done(container_of(node, struct kprobe, hlist));

		guard(mutex)(&kprobe_mutex);
		for (node = left; node; node = node->next)
			INIT_LIST_HEAD(&container_of(node, struct kprobe, hlist)->list);
		reap_sites(&reap);
		/* From here on the structures are the users' again. */
		call_end(&call, kps, num);
	}
	wait_for_calls(others);
}

/*
 * Coming
 */

/**
 * struct kprobe_reg - one probe of a batch that is being registered
 * @p: the user's probe
 * @where: where it will be
 * @site: the site there
 * @mod: the module it is in, pinned, or NULL
 * @flags: flags of @p before the call
 * @nmissed: nmissed of @p before the call
 * @addr: addr of @p before the call
 * @creator: @site was made for this probe
 * @linked: @p is a user of @site
 */
struct kprobe_reg {
	struct kprobe		*p;
	struct kprobe_where	where;
	struct kprobe_site	*site;
	struct module		*mod;
	u32			flags;
	unsigned long		nmissed;
	kprobe_opcode_t		*addr;
	bool			creator;
	bool			linked;
};

/**
 * struct kprobe_batch - probes that are being registered
 * @reg: one for each probe
 * @num: how many
 * @limit: the first that failed; those behind it do not matter any more
 * @err: how it failed
 * @bypassed: tasks may go around a breakpoint for one more grace period
 * @call: takes what is registered while it is taken out again
 * @stop: called for each that is taken out again, or NULL
 */
struct kprobe_batch {
	struct kprobe_reg	*reg;
	int			num;
	int			limit;
	int			err;
	bool			bypassed;
	struct kprobe_call	*call;
	void			(*stop)(struct kprobe *p);
};

/*
 * Phases go through all probes one after another, but the batch is to fail as
 * if each probe had gone through all phases in its turn: so only a failure
 * further to the front counts more than the one known.
 */
static void batch_fail(struct kprobe_batch *b, int i, int err)
{
	if (i >= b->limit)
		return;
	b->limit = i;
	b->err = err;
}

#define for_each_reg(i, r, b) \
	for ((i) = 0, (r) = (b)->reg; (i) < (b)->limit; (i)++, (r)++)

static int resolve(struct kprobe_reg *r)
{
	struct kprobe *p = r->p;
	int ret;

	if (!p)
		return -EINVAL;

	ret = kprobe_address_resolve(p->addr, p->symbol_name, p->offset, &r->where);
	if (ret)
		return ret;

	if (p->fault_handler && !IS_ENABLED(CONFIG_HAVE_KPROBE_FAULT_HANDLER))
		return -EOPNOTSUPP;
	return 0;
}

/*
 * The module stays until the probe is armed, no longer. Before our notifier has seen
 * it, its blacklist is not known, and it may go without notice. Its init text, and the
 * kernel's, is freed only after somebody has killed the probes there, for
 * which kprobe_mutex is needed: no pin for that.
 */
#ifdef CONFIG_MODULES
static int pin_module(struct kprobe_reg *r)
{
	unsigned long addr = r->where.addr;
	struct module *mod = __module_text_address(addr);

	if (!mod)
		return 0;

	if (!try_module_get(mod))
		return -ENOENT;

	if (!kprobe_module_known(mod) ||
	    (within_module_init(addr, mod) && mod->state != MODULE_STATE_COMING)) {
		module_put(mod);
		return -ENOENT;
	}

	r->mod = mod;
	return 0;
}
#else
static int pin_module(struct kprobe_reg *r)
{
	return 0;
}
#endif

static int vet(struct kprobe_reg *r)
{
	int ret;

	jump_label_lock();
	preempt_disable();

	/* First, as what vets the address looks the module up more than once. */
	ret = pin_module(r);
	if (!ret)
		ret = kprobe_address_vet(&r->where);
	if (ret && r->mod) {
		module_put(r->mod);
		r->mod = NULL;
	}

	preempt_enable();
	jump_label_unlock();
	return ret;
}

static int find_or_create_site(struct kprobe_reg *r)
{
	r->site = kprobe_site_at(r->where.addr);
	if (!r->site) {
		r->site = kprobe_site_create(r->where.addr, r->where.kind);
		if (!r->site)
			return -ENOMEM;

		if (r->where.on_entry)
			kprobe_publish_flag(&r->site->head.kp, KPROBE_FLAG_ON_FUNC_ENTRY, true);
		r->creator = true;
	}

	/* A backend may want to know before it makes the copy. */
	if (r->site->state == KPROBE_SITE_NEW)
		kprobe_site_note_handlers(r->site, r->p);
	return 0;
}

static int prepare(struct kprobe_site *site)
{
	struct kprobe *kp = &site->head.kp;
	int ret;

	if (site->kind == KPROBE_SITE_FTRACE) {
		ret = arch_prepare_kprobe_ftrace(kp);
	} else {
		ret = arch_prepare_kprobe(kp);
		if (!ret)
			flush_insn_slot(kp);
	}

	site->prepared = !ret;
	if (ret)
		pr_debug_ratelimited("cannot prepare a probe at %pS: %d\n",
				     kp->addr, ret);
	return ret;
}

static void batch_prepare(struct kprobe_batch *b)
{
	struct kprobe_reg *r;
	int i, ret, end;

	for_each_reg(i, r, b) {
		ret = find_or_create_site(r);
		if (ret)
			batch_fail(b, i, ret);
	}

	for (i = 0; i < b->limit; i = end) {
		end = min(i + PREPARE_CHUNK, b->limit);

		guard(kprobe_text)();
		for (r = b->reg + i; r < b->reg + min(end, b->limit); r++) {
			ret = r->creator ? prepare(r->site) : 0;
			if (ret)
				batch_fail(b, r - b->reg, ret);
		}
	}
}

/* Registered already, or by an earlier one of this very call, or in use by another. */
static bool already_used(struct kprobe *p, struct kprobe_call *by, struct kprobe_call *us)
{
	return (p->addr && kprobe_site_of_user(p)) || (by && by != us);
}

static void batch_publish(struct kprobe_batch *b)
{
	struct kprobe_call *call;
	struct kprobe_reg *r;
	int i, first = 0, new = 0;

	for_each_reg(i, r, b) {
		if (r->creator && !new++)
			first = i;
	}
	if (new && kprobe_table_reserve(new))
		batch_fail(b, first, -ENOMEM);

	for_each_reg(i, r, b) {
		call = kprobe_call_of(r->p);
		if (WARN_ON_ONCE(already_used(r->p, call, b->call))) {
			batch_fail(b, i, -EINVAL);
			break;
		}

		r->flags = r->p->flags;
		r->nmissed = r->p->nmissed;
		r->addr = r->p->addr;
		kprobe_site_add_user(r->site, r->p);
		/* That has cleared it. */
		if (call)
			kprobe_call_take(call, r->p);
		r->linked = true;
		if (r->site->state == KPROBE_SITE_NEW)
			kprobe_site_move(r->site, KPROBE_SITE_READY);
	}
}

/*
 * Why a batch of ftrace sites failed is known, not because of which: all of
 * them had passed everything else, and ftrace has few reasons to refuse.
 */
static void batch_arm_ftrace(struct kprobe_batch *b)
{
	LIST_HEAD(outgrown);
	LIST_HEAD(unarmed);
	struct kprobe_reg *r;
	int i, ret, first = b->limit;

	for_each_reg(i, r, b) {
		struct kprobe_site *site = r->site;

		if (site->kind != KPROBE_SITE_FTRACE)
			continue;
		if (site->state == KPROBE_SITE_READY && site_to_be_armed(site))
			list_move_tail(&site->head.kp.list, &unarmed);
		else if (site->state == KPROBE_SITE_ARMED && kprobe_ftrace_outgrown(site))
			list_move_tail(&site->head.kp.list, &outgrown);
		else
			continue;
		first = min(first, i);
	}

	ret = kprobe_ftrace_upgrade(&outgrown);
	list_forget(&outgrown);
	if (ret)
		list_forget(&unarmed);
	else
		ret = arm_ftrace(&unarmed);
	if (!ret)
		return;

	pr_debug_ratelimited("cannot arm %pS, or another of its batch: %d\n",
			     b->reg[first].site->head.kp.addr, ret);
	batch_fail(b, first, ret);
}

/* What can fail goes first; breakpoints cannot. */
static void batch_arm(struct kprobe_batch *b)
{
	struct kprobe_reg *r;
	LIST_HEAD(revert);
	LIST_HEAD(text);
	int i;

	batch_arm_ftrace(b);

	/* For a batch that will be undone there is no use in breakpoints. */
	if (b->limit < b->num)
		return;

	for_each_reg(i, r, b) {
		if (r->site->kind == KPROBE_SITE_BREAKPOINT &&
		    r->site->state == KPROBE_SITE_READY && site_to_be_armed(r->site))
			list_move_tail(&r->site->head.kp.list, &text);
		/* With post handlers and the like there can be no jump. */
		else if (r->site->state == KPROBE_SITE_ARMED)
			kprobe_opt_update(r->site, &revert);
	}
	kprobe_opt_revert(&revert);
	b->bypassed = arm_text(&text);
}

/* Returns whether hits may have seen any of it. */
static bool batch_undo(struct kprobe_batch *b, struct list_head *reap)
{
	bool seen = false;
	struct kprobe_reg *r;
	DEFINE_SITE_LISTS(lists);

	for (r = b->reg + b->num - 1; r >= b->reg; r--) {
		seen |= r->linked;
		if (r->linked) {
			user_leaves(r->site, r->p, &lists, reap);
			if (b->stop)
				b->stop(r->p);
			kprobe_call_take(b->call, r->p);
		} else if (r->creator && r->site->state == KPROBE_SITE_NEW) {
			/* No hit can have found it, and nobody else shall. */
			kprobe_site_destroy(r->site);
		}
	}
	disarm_left(&lists);
	return seen;
}

static void batch_restore_users(struct kprobe_batch *b)
{
	struct kprobe_reg *r;

	lockdep_assert_held(&kprobe_mutex);

	for (r = b->reg; r < b->reg + b->num; r++) {
		if (!r->linked)
			continue;
		INIT_LIST_HEAD(&r->p->list);
		r->p->nmissed = r->nmissed;
		WRITE_ONCE(r->p->flags, r->flags);
		r->p->addr = r->addr;
	}
}

/* Returns whether tasks have to be waited for, which needs the mutex dropped. */
static bool batch_vacate(struct kprobe_batch *b)
{
	struct kprobe_reg *r;
	bool wait = false;
	int i;

	for_each_reg(i, r, b) {
		if (r->where.kind == KPROBE_SITE_BREAKPOINT)
			wait |= kprobe_opt_vacate(r->where.addr);
	}

	return wait;
}

static int batch_register(struct kprobe_batch *b)
{
	struct kprobe_reg *r;
	LIST_HEAD(reap);
	bool wait = false;
	int i, ret;

	for_each_reg(i, r, b) {
		ret = resolve(r);
		if (ret)
			batch_fail(b, i, ret);
	}

	mutex_lock(&kprobe_mutex);
	/* From here to where the sites are published no other jump can come there. */
	while (batch_vacate(b)) {
		mutex_unlock(&kprobe_mutex);
		kprobe_opt_wait_for_tasks();
		mutex_lock(&kprobe_mutex);
	}
	for_each_reg(i, r, b) {
		ret = vet(r);
		if (ret)
			batch_fail(b, i, ret);
		cond_resched();
	}
	batch_prepare(b);
	batch_publish(b);
	batch_arm(b);
	if (b->limit < b->num)
		wait = batch_undo(b, &reap);
	/* Before a module whose init fails can go: its notifier needs the mutex. */
	for (i = 0; i < b->num; i++)
		module_put(b->reg[i].mod);
	mutex_unlock(&kprobe_mutex);

	if (b->bypassed)
		kprobe_opt_wait_for_tasks();
	if (b->limit == b->num)
		return 0;

	if (wait)
		wait_for_hits();

	guard(mutex)(&kprobe_mutex);
	batch_restore_users(b);
	reap_sites(&reap);
	return b->err;
}

/**
 * kprobe_batch_register() - register many probes, all or none
 * @kps: the probes
 * @num: how many
 * @tail_err: 0; else one more probe follows, of which the caller knows already
 *	      that it fails with this error
 * @stop: called on failure for each that was registered already, as it is taken
 *	  out, or NULL; kprobe_mutex held
 * @call: the call that uses what is taken out again; the caller ends it
 *
 * Context: process context, sleeps; waits for a grace period on failure, and where
 *	    tasks may still go around a breakpoint in a detour.
 * Return: 0, or the error of the first probe that fails, with all of them as
 *	   they were before.
 */
int kprobe_batch_register(struct kprobe **kps, int num, int tail_err,
			  void (*stop)(struct kprobe *p), struct kprobe_call *call)
{
	struct kprobe_reg few[2] = {};
	struct kprobe_batch b = {
		.reg	= few,
		.num	= num + !!tail_err,
		.limit	= num,
		.err	= tail_err,
		.call	= call,
		.stop	= stop,
	};
	int i, ret;

	if (!kprobes_initialized)
		return -EAGAIN;

	if (b.num > ARRAY_SIZE(few)) {
		b.reg = kvcalloc(b.num, sizeof(*b.reg), GFP_KERNEL);
		if (!b.reg)
			return -ENOMEM;
	}

	for (i = 0; i < num; i++)
		b.reg[i].p = kps[i];

	ret = batch_register(&b);

	if (b.reg != few)
		kvfree(b.reg);
	return ret;
}

/*
 * The API
 */

static int register_array(struct kprobe **kps, int num)
{
	DEFINE_KPROBE_CALL(call);
	int ret = kprobe_batch_register(kps, num, 0, NULL, &call);

	kprobe_call_end(&call, kps, num);
	return ret;
}

/**
 * register_kprobe() - put a probe on an instruction
 * @p: the probe; symbol_name or addr, offset and handlers are filled in, flags
 *     is 0 or KPROBE_FLAG_DISABLED
 *
 * Several probes may be at one address; their handlers are called newest
 * first. A probe does not keep the module that it is in from being unloaded:
 * it is gone then, and has still to be unregistered.
 *
 * Context: process context, sleeps, and may wait for grace periods of RCU and of
 *	    tasks-RCU. Not from a handler, and with none of the locks below
 *	    kprobe_mutex held.
 * Return: 0 with addr set to the address really used, else @p is as before and
 *	   the error is
 *	   -EINVAL not exactly one of symbol_name and addr, an address that
 *	   cannot be probed, or @p is registered already, or another call has
 *	   not returned that registers or unregisters it (both warn, once);
 *	   -ENOENT no such symbol, no symbol at the address, a module (or its
 *	   init text) that is going away, or one that is being loaded and whose
 *	   notifier has not run yet;
 *	   -EILSEQ not at the start of an instruction, where the architecture
 *	   can tell;
 *	   -EBUSY a post handler, and another claims the function for itself,
 *	   such as livepatch;
 *	   -ENODEV ftrace is broken;
 *	   -EOPNOTSUPP a fault handler, and the architecture has none;
 *	   -EAGAIN too early at boot, or a post handler and a BPF trampoline on
 *	   the function is just being changed;
 *	   -ENOMEM, or another error of the architecture or of ftrace.
 */
int register_kprobe(struct kprobe *p)
{
	return register_array(&p, 1);
}
EXPORT_SYMBOL_GPL(register_kprobe);

/**
 * register_kprobes() - register many probes, all or none
 * @kps: the probes
 * @num: how many
 *
 * Much cheaper than one call for each. Only where the architecture patches text in
 * batches (today x86) is the number of cross-CPU synchronizations independent of
 * @num; elsewhere that is true of grace periods alone.
 *
 * Context: as register_kprobe().
 * Return: 0, -EINVAL if there is no array, -ENOMEM, or the error of the
 *	   first in the array that cannot be registered, as register_kprobe()
 *	   would return it. All probes are then as before.
 */
int register_kprobes(struct kprobe **kps, int num)
{
	if (!kps || num <= 0)
		return -EINVAL;

	return register_array(kps, num);
}
EXPORT_SYMBOL_GPL(register_kprobes);

/**
 * unregister_kprobe() - end a probe
 * @p: the probe; if it is not registered, its addr becomes NULL
 *
 * On return no handler of @p runs or will run, and it may be freed. If another
 * call is unregistering it, or undoing its registration, this waits for that call.
 *
 * Context: process context, waits for a grace period. Not from a handler.
 */
void unregister_kprobe(struct kprobe *p)
{
	/*
	 * One backend does this from a trap, with the probe that it knows,
	 * which is none that anybody registered.
	 */
	if (p && p->flags & KPROBE_FLAG_SITE)
		return;

	unregister_kprobes(&p, 1);
}
EXPORT_SYMBOL_GPL(unregister_kprobe);

/**
 * unregister_kprobes() - end many probes with one grace period
 * @kps: the probes; one that is not registered gets addr = NULL
 * @num: how many; nothing happens when it is not positive
 *
 * Context: as unregister_kprobe().
 */
void unregister_kprobes(struct kprobe **kps, int num)
{
	if (kps)
		kprobe_batch_unregister(kps, num, NULL, NULL);
}
EXPORT_SYMBOL_GPL(unregister_kprobes);

static int change_enabled(struct kprobe *p, bool on, bool *bypassed)
{
	struct kprobe_site *site;
	int ret;

	guard(mutex)(&kprobe_mutex);

	site = kprobe_site_of_user(p);
	if (!site)
		return -EINVAL;
	if (site->state == KPROBE_SITE_GONE)
		return on ? -EINVAL : 0;
	if (!(p->flags & KPROBE_FLAG_DISABLED) == on)
		return 0;

	kprobe_site_enable_user(site, p, on);
	/* Arming may have been refused before: no reason for @p to stay enabled. */
	if (!on && site_to_be_armed(site))
		return 0;
	ret = site_follow(site, bypassed);
	if (ret)
		kprobe_site_enable_user(site, p, !on);
	return ret;
}

static int set_enabled(struct kprobe *p, bool on)
{
	bool bypassed = false;
	int ret = change_enabled(p, on, &bypassed);

	if (bypassed)
		kprobe_opt_wait_for_tasks();
	return ret;
}

/**
 * disable_kprobe() - switch a probe off, but keep it registered
 * @p: the probe
 *
 * Handlers may still be running on return.
 *
 * Context: process context, sleeps; at function entries, the last post handler of
 *	    a batch waits for a grace period of tasks-RCU. Not from a handler.
 * Return: 0, also if it was disabled or is gone; -EINVAL if it is not
 *	   registered; or an error of ftrace, and it is still enabled.
 */
int disable_kprobe(struct kprobe *p)
{
	return set_enabled(p, false);
}
EXPORT_SYMBOL_GPL(disable_kprobe);

/**
 * enable_kprobe() - switch a probe on
 * @p: the probe
 *
 * While all probes are switched off this is remembered.
 *
 * Context: process context, sleeps, and may wait for a grace period of tasks-RCU.
 *	    Not from a handler.
 * Return: 0; -EINVAL if it is not registered or gone; or an error of ftrace,
 *	   and it is still disabled.
 */
int enable_kprobe(struct kprobe *p)
{
	return set_enabled(p, true);
}
EXPORT_SYMBOL_GPL(enable_kprobe);

/*
 * All of them
 */

/**
 * kprobes_are_armed() - state of the global switch
 *
 * Return: true unless all probes are switched off.
 */
bool kprobes_are_armed(void)
{
	return !READ_ONCE(kprobes_all_disarmed);
}

/*
 * Arms what can be armed of @kps: where ftrace refuses sites together, it may take
 * each half. So a few that it refuses cost a logarithm of the number of sites. The
 * recursion is no deeper than that.
 */
static int arm_ftrace_halves(struct list_head *kps, unsigned int *failed)
{
	struct list_head *middle = kps;
	unsigned int half;
	LIST_HEAD(front);
	int ret, err;

	ret = kprobe_ftrace_arm(kps);
	if (!ret) {
		list_moved(kps, KPROBE_SITE_ARMED);
		return 0;
	}

	if (list_is_singular(kps)) {
		list_forget(kps);
		++*failed;
		return ret;
	}

	for (half = list_count_nodes(kps) / 2; half; half--)
		middle = middle->next;
	list_cut_position(&front, kps, middle);
	err = arm_ftrace_halves(&front, failed);
	ret = arm_ftrace_halves(kps, failed);
	return ret ?: err;
}

/*
 * All are to be armed, but ftrace has refused to arm them together. Mostly that is
 * because of another's claim, which does not concern sites without a post handler.
 */
static int arm_ftrace_rest(unsigned int *failed)
{
	LIST_HEAD(exclusive);
	struct kprobe_site *site;
	LIST_HEAD(shared);
	int err, ret;

	for (site = kprobe_site_from(0); site; site = kprobe_site_next(site)) {
		if (site->state == KPROBE_SITE_READY && site_to_be_armed(site) &&
		    site->kind == KPROBE_SITE_FTRACE)
			list_move_tail(&site->head.kp.list, kprobe_site_has_post(site) ?
							&exclusive : &shared);
	}

	err = arm_ftrace_halves(&shared, failed);
	ret = arm_ftrace_halves(&exclusive, failed);
	return ret ?: err;
}

/*
 * Arms or disarms what is to change, and counts how many did not. A site may be armed
 * for no enabled user, if disarming it has failed before: it gets another try.
 */
static int follow_all(bool on, unsigned int *total, unsigned int *failed)
{
	enum kprobe_site_state from = on ? KPROBE_SITE_READY : KPROBE_SITE_ARMED;
	struct kprobe_site *site;
	DEFINE_SITE_LISTS(lists);
	int err = 0, ret;
	/* Not looked at: sites of ftrace have no jump. */
	bool bypassed = false;

	for (site = kprobe_site_from(0); site; site = kprobe_site_next(site)) {
		if (site->state != from || (on && !site->nr_enabled))
			continue;
		/* Calls in flight still return through these. */
		if (!on && arch_trampoline_kprobe(&site->head.kp))
			continue;
		site_lists_add(&lists, site);
		++*total;
	}

	if (on) {
		arm_text(&lists.text);
		return arm_ftrace(&lists.ftrace) ? arm_ftrace_rest(failed) : 0;
	}

	disarm_text(&lists.text);
	disarm_ftrace(&lists.ftrace);

	/* What ftrace did not let go of together, it may let go of one by one. */
	for (site = kprobe_site_from(0); site; site = kprobe_site_next(site)) {
		if (site->state != from || site->kind != KPROBE_SITE_FTRACE)
			continue;
		ret = site_follow(site, &bypassed);
		if (!ret)
			continue;
		++*failed;
		err = ret;
	}

	return err;
}

/**
 * kprobes_arm_all() - switch all probes on or off
 * @on: the new state
 *
 * Goes on after an error. Which probes are disabled does not change.
 *
 * Context: process context, sleeps.
 * Return: 0, or the last error.
 */
int kprobes_arm_all(bool on)
{
	unsigned int total = 0, failed = 0;
	int ret;

	guard(mutex)(&kprobe_mutex);

	if (kprobes_all_disarmed == !on)
		return 0;

	WRITE_ONCE(kprobes_all_disarmed, !on);
	ret = follow_all(on, &total, &failed);

	if (failed)
		pr_warn("Kprobes globally %s, but %u of %u failed\n",
			on ? "enabled" : "disabled", failed, total);
	else
		pr_info("Kprobes globally %s\n", on ? "enabled" : "disabled");
	return ret;
}

/*
 * Code that goes away
 */

/* @writable: the text can still be changed, and may still be executed. */
static void kill_range(unsigned long start, unsigned long end, bool writable)
{
	struct kprobe_site *site;
	bool any = false;
	DEFINE_SITE_LISTS(lists);

#define for_each_site_in_range(site)					\
	for (site = kprobe_site_from(start);				\
	     site && kprobe_site_addr(site) < end;			\
	     site = kprobe_site_next(site))

	scoped_guard(mutex, &kprobe_mutex) {
		for_each_site_in_range(site) {
			if (site->ftrace ||
			    (writable && site->kind == KPROBE_SITE_BREAKPOINT &&
			     site->state == KPROBE_SITE_ARMED))
				site_lists_add(&lists, site);
		}
		disarm_ftrace(&lists.ftrace);
		kprobe_ftrace_purge(start, end);
		disarm_text(&lists.text);

		for_each_site_in_range(site) {
			if (site->state == KPROBE_SITE_GONE)
				continue;
			kprobe_opt_kill(site);
			kprobe_site_move(site, KPROBE_SITE_GONE);
			any = true;
		}
		kprobe_opt_forget(start, end);
	}

	if (!any)
		return;
	wait_for_hits();

	guard(mutex)(&kprobe_mutex);
	for_each_site_in_range(site) {
		if (site->state == KPROBE_SITE_GONE)
			kprobe_site_release(site);
	}

#undef for_each_site_in_range
}

/**
 * kprobe_kill_range() - the code in a range is about to be freed
 * @start: first byte
 * @end: byte behind the last
 *
 * The probes there are gone for good, but registered until their users see to
 * it. They are taken out of the text, jumps too, as one batch: the code may still
 * be executed, by functions that async_schedule() has left behind. The module
 * loader waits for these after its notifiers, and only then frees the text.
 *
 * Context: process context, sleeps, may wait for a grace period. The text is still
 *	    mapped, and nothing new can be registered there.
 */
void kprobe_kill_range(unsigned long start, unsigned long end)
{
	kill_range(start, end, true);
}

/**
 * kprobe_free_init_mem() - the kernel's init text is about to be freed
 *
 * That has no more users: async_synchronize_full() comes before. It is not kernel
 * text any more for what patches text, either, so breakpoints stay in it.
 *
 * Context: process context, once at boot.
 */
void kprobe_free_init_mem(void)
{
	kill_range((unsigned long)__init_begin, (unsigned long)__init_end, false);
}

/**
 * kprobe_get_kallsym() - the core's own symbols for /proc/kallsyms
 * @symnum: number of the symbol
 * @value: set to its address
 * @type: set to its type
 * @sym: set to its name, KSYM_NAME_LEN bytes
 *
 * Context: process context.
 * Return: 0, or -ERANGE if there are not so many.
 */
int kprobe_get_kallsym(unsigned int symnum, unsigned long *value, char *type,
		       char *sym)
{
#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
	if (kprobe_slots_kallsym(&kprobe_insn_slots, &symnum, value, type, sym))
		return 0;
#endif
#ifdef CONFIG_OPTPROBES
	if (kprobe_slots_kallsym(&kprobe_optinsn_slots, &symnum, value, type, sym))
		return 0;
#endif
	return arch_kprobe_get_kallsym(&symnum, value, type, sym);
}

int __weak arch_kprobe_get_kallsym(unsigned int *symnum, unsigned long *value,
				   char *type, char *sym)
{
	return -ERANGE;
}

/*
 * Boot
 */

int __weak kprobe_exceptions_notify(struct notifier_block *self,
				    unsigned long val, void *data)
{
	return NOTIFY_DONE;
}
NOKPROBE_SYMBOL(kprobe_exceptions_notify);

/* Before every debugger: the trap of a probe is nobody else's. */
static struct notifier_block kprobe_exceptions_nb = {
	.notifier_call	= kprobe_exceptions_notify,
	.priority	= INT_MAX,
};

static int __init kprobes_init(void)
{
	int ret;

	ret = kprobe_blacklist_init();
	if (ret)
		pr_err("the blacklist is not complete: %d\n", ret);

	kretprobe_init();
#ifdef CONFIG_OPTPROBES
	kprobe_optinsn_slots_init();
#endif

	/* The architecture may register a probe in the very next call. */
	kprobes_initialized = true;
	ret = arch_init_kprobes();
	if (ret) {
		kprobes_initialized = false;
		return ret;
	}

	ret = register_die_notifier(&kprobe_exceptions_nb);
	if (ret)
		return ret;

	kprobe_module_init();
	return 0;
}
early_initcall(kprobes_init);
