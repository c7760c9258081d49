// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registration and unregistration. Everything is a batch, and one probe is a batch
 * of one.
 *
 * A batch is resolved, vetted, prepared, published and armed, each for all its
 * probes before the next; if one of them fails, all are undone. So thousands of
 * probes share the cross-CPU synchronizations and the grace periods that a single
 * one needs.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "arm.h"
#include "call.h"
#include "ftrace.h"
#include "module.h"
#include "optimizer.h"
#include "origin.h"
#include "register.h"
#include "site.h"
#include "table.h"

/* Preparing may decode whole functions: let others at the text in between. */
#define PREPARE_CHUNK	256

/*
 * Unregistration
 */

static void kprobe_site_reap(struct kprobe_site *site)
{
	/* ftrace could not disarm it: its address stays in a filter. */
	if (site->ftrace) {
		kprobe_site_move(site, KPROBE_SITE_READY);
		kprobe_site_remove(site);
		kprobe_site_release(site);
		kprobe_ftrace_abandon(site);
		return;
	}

	kprobe_site_remove(site);
	/* A task may be in its detour. */
	if (!kprobe_opt_reclaim(site))
		kprobe_site_free(site);
}

/*
 * Sites on @reap have had a grace period since their last user left. Those that
 * found a new user in the meantime are no longer on it.
 */
static void reap_sites(struct list_head *reap)
{
	struct kprobe_site *site, *tmp;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry_safe(site, tmp, reap, reap)
		kprobe_site_reap(site);
}

/*
 * A user leaves. Sites to be disarmed are collected in @lists, those to be freed one
 * grace period later in @reap.
 */
static void user_leaves(struct kprobe_site *site, struct kprobe *p,
			const struct kprobe_batch_ops *ops,
			struct kprobe_arm_lists *lists, struct list_head *reap)
{
	kprobe_site_del_user(site, p);
	kprobe_origin_put(p->origin);
	p->origin = NULL;
	if (!site->nr_users)
		list_move_tail(&site->reap, reap);
	kprobe_arm_leave(site, lists);
	if (ops && ops->stop)
		ops->stop(p);
}

static void disarm_left(struct kprobe_arm_lists *lists)
{
	int ret;

	kprobe_arm_retry(lists);
	ret = kprobe_disarm_ftrace(lists);
	if (ret)
		pr_warn_ratelimited("ftrace sites not disarmed, retried later: %d\n", ret);
	kprobe_ftrace_settle();
	kprobe_arm_refused(lists);
	kprobe_disarm_text(lists);
}

/* Detach all users; returns them as a chain through kprobe.next. */
static struct kprobe *kprobe_batch_detach(struct kprobe **kps, int num,
					  const struct kprobe_batch_ops *ops,
					  struct kprobe_call *call, u64 *others,
					  struct list_head *reap)
{
	DEFINE_KPROBE_ARM_LISTS(lists);
	struct kprobe *left = NULL, *p;
	struct kprobe_call *other;
	struct kprobe_site *site;
	int i;

	lockdep_assert_held(&kprobe_mutex);

	for (i = 0; i < num; i++) {
		p = kps[i];
		if (!p)
			continue;
		site = kprobe_site_of_user(p);
		other = kprobe_call_of(p);
		/* It is ours if @p is in the array twice. */
		if (other && other != call)
			*others = max(*others, other->nr);
		if (!site) {
			if (!other)
				p->addr = NULL;
			continue;
		}

		user_leaves(site, p, ops, &lists, reap);
		kprobe_call_claim(call, p);
		p->next = left;
		left = p;
	}
	disarm_left(&lists);

	return left;
}

/**
 * kprobe_batch_unregister() - remove many probes with one grace period
 * @kps: the probes; one that is not registered gets addr = NULL
 * @num: how many
 * @ops: what is particular about these probes, or NULL
 *
 * If another call still uses one of the structures, this waits for its end.
 *
 * Context: process context, waits for a grace period.
 */
void kprobe_batch_unregister(struct kprobe **kps, int num,
			     const struct kprobe_batch_ops *ops)
{
	struct kprobe *left, *next, *p;
	DEFINE_KPROBE_CALL(call);
	LIST_HEAD(reap);
	u64 others = 0;

	scoped_guard(mutex, &kprobe_mutex)
		left = kprobe_batch_detach(kps, num, ops, &call, &others, &reap);

	if (left) {
		kprobe_wait_for_hits();
		for (p = left; p && ops && ops->done; p = p->next)
			ops->done(p);

		guard(mutex)(&kprobe_mutex);
		for (p = left; p; p = next) {
			INIT_LIST_HEAD(&p->list);
			next = p->next;
			p->next = NULL;
		}
		reap_sites(&reap);
		/* From here on the structures belong to their users again. */
		kprobe_call_end(&call, kps, num);
	}
	kprobe_call_wait(others);
}

/*
 * Registration
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
 * @vetted: it has passed kprobe_batch_ops.vet
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
	bool			vetted;
	bool			creator;
	bool			linked;
};

/**
 * struct kprobe_batch - probes that are being registered
 * @reg: one for each probe
 * @num: how many
 * @limit: the first probe that failed; later ones do not matter any more
 * @err: its error
 * @why: the reason of that
 * @ops: what is particular about these probes, or NULL
 * @origin: who registers them
 * @call: claims the structures
 * @lists: what is armed
 */
struct kprobe_batch {
	struct kprobe_reg		*reg;
	int				num;
	int				limit;
	int				err;
	enum kprobe_refusal		why;
	const struct kprobe_batch_ops	*ops;
	struct kprobe_origin		*origin;
	struct kprobe_call		*call;
	struct kprobe_arm_lists		*lists;
};

/*
 * Each phase goes through all probes, but the batch is to fail as if each probe had
 * gone through all phases in its turn. So after a failure, only the probes before it
 * are looked at: a later failure is always further to the front.
 */
static void batch_fail(struct kprobe_batch *b, int i, int err, enum kprobe_refusal why)
{
	b->limit = i;
	b->err = err;
	b->why = why;
}

static void batch_refuse(struct kprobe_batch *b, int i, enum kprobe_refusal why)
{
	batch_fail(b, i, kprobe_refusal_error(why), why);
}

#define for_each_reg(i, r, b) \
	for ((i) = 0, (r) = (b)->reg; (i) < (b)->limit; (i)++, (r)++)

/**
 * kprobe_resolve() - find the address that a probe is to have
 * @p: the probe, or NULL
 * @where: set to the address
 *
 * Context: process context.
 * Return: KPROBE_REFUSAL_NONE, or why the probe has no address or cannot be registered at
 *	   all.
 */
enum kprobe_refusal kprobe_resolve(const struct kprobe *p, struct kprobe_where *where)
{
	enum kprobe_refusal why;

	if (!p)
		return KPROBE_REFUSAL_ARGUMENTS;

	why = kprobe_address_resolve(p->addr, p->symbol_name, p->offset, where);
	if (why)
		return why;

	if (p->symbol_name && p->flags & KPROBE_FLAG_UNIQUE &&
	    kprobe_symbol_is_ambiguous(p->symbol_name))
		return KPROBE_REFUSAL_AMBIGUOUS;
	if (p->fault_handler && !IS_ENABLED(CONFIG_HAVE_KPROBE_FAULT_HANDLER))
		return KPROBE_REFUSAL_FAULT_HANDLER;
	return KPROBE_REFUSAL_NONE;
}

/* Registered already, or by an earlier element of this array, or in use elsewhere. */
static bool is_used(struct kprobe *p, const struct kprobe_call *by,
		    const struct kprobe_call *us)
{
	return (p->addr && kprobe_site_of_user(p)) || (by && by != us);
}

/**
 * kprobe_is_used() - is a probe registered, or does a call use it?
 * @p: the probe
 *
 * Context: kprobe_mutex held.
 * Return: true if it cannot be registered now.
 */
bool kprobe_is_used(struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);

	return is_used(p, kprobe_call_of(p), NULL);
}

/*
 * Probes with ops have resources, which must not be replaced while hits use them, nor
 * by two registrations at a time. So they are claimed before they are vetted.
 */
static void batch_claim(struct kprobe_batch *b)
{
	struct kprobe_reg *r;
	int i;

	guard(mutex)(&kprobe_mutex);

	for_each_reg(i, r, b) {
		struct kprobe_call *by = kprobe_call_of(r->p);

		if (WARN_ON_ONCE(by || is_used(r->p, by, b->call)))
			batch_refuse(b, i, KPROBE_REFUSAL_IN_USE);
		else
			kprobe_call_claim(b->call, r->p);
	}
}

static void batch_vet_probes(struct kprobe_batch *b)
{
	struct kprobe_reg *r;
	int i, ret;

	batch_claim(b);
	for_each_reg(i, r, b) {
		enum kprobe_refusal why = KPROBE_REFUSAL_NONE;

		ret = b->ops->vet(r->p, &r->where, &why);
		if (ret)
			batch_fail(b, i, ret, why ?: kprobe_refusal_of_error(ret));
		else
			r->vetted = true;
	}
}

/**
 * kprobe_vet_where() - check whether an address may be probed
 * @where: its address; kind is set
 * @mod: NULL; set to the module that it is in, which is kept until module_put()
 *
 * Context: kprobe_mutex held, sleeps.
 * Return: KPROBE_REFUSAL_NONE, or why not, and no module is kept.
 */
enum kprobe_refusal kprobe_vet_where(struct kprobe_where *where, struct module **mod)
{
	enum kprobe_refusal why;

	lockdep_assert_held(&kprobe_mutex);

	jump_label_lock();
	preempt_disable();

	/* First, as the vetting of the address looks the module up more than once. */
	why = kprobe_module_pin(where->addr, mod);
	if (!why)
		why = kprobe_address_vet(where);
	if (why && *mod) {
		module_put(*mod);
		*mod = NULL;
	}

	preempt_enable();
	jump_label_unlock();
	return why;
}

static void batch_vet_addresses(struct kprobe_batch *b)
{
	enum kprobe_refusal why;
	struct kprobe_reg *r;
	int i;

	for_each_reg(i, r, b) {
		why = kprobe_vet_where(&r->where, &r->mod);
		if (why)
			batch_refuse(b, i, why);
		cond_resched();
	}
}

static int find_or_create_site(struct kprobe_reg *r)
{
	r->site = kprobe_site_at(r->where.addr);
	if (!r->site) {
		r->site = kprobe_site_create(r->where.addr, r->where.kind);
		if (!r->site)
			return -ENOMEM;

		if (r->where.on_entry)
			kprobe_publish_flag(&r->site->head.kp, KPROBE_FLAG_ON_FUNC_ENTRY,
					    true);
		r->creator = true;
	}

	/* Before preparation, as a backend may depend on it. */
	if (r->site->state == KPROBE_SITE_NEW)
		kprobe_site_note_handlers(r->site, r->p);
	return 0;
}

/*
 * p->opcode is a value, not a copy of text: where instructions differ in length (arm's
 * Thumb, riscv, csky), it has the halfwords in another order or lacks the second.
 */
static void save_text(struct kprobe_site *site)
{
	unsigned long addr = kprobe_site_addr(site);
	u8 *to = (u8 *)&site->saved;
	unsigned int i;

	/* One by one, as text may end after a short instruction. */
	for (i = 0; i < sizeof(site->saved); i++) {
		if (kprobe_read_text(addr + i, to + i, 1))
			return;
	}
}

static int kprobe_site_prepare(struct kprobe_site *site)
{
	struct kprobe *kp = &site->head.kp;
	int ret;

	if (site->kind == KPROBE_SITE_FTRACE) {
		ret = arch_prepare_kprobe_ftrace(kp);
	} else {
		save_text(site);
		ret = arch_prepare_kprobe(kp);
		if (!ret)
			flush_insn_slot(kp);
	}

	site->prepared = !ret;
	return ret;
}

static void kprobe_batch_prepare(struct kprobe_batch *b)
{
	struct kprobe_reg *r;
	int i, ret, end;

	for_each_reg(i, r, b) {
		if (find_or_create_site(r))
			batch_refuse(b, i, KPROBE_REFUSAL_NO_MEMORY);
	}

	for (i = 0; i < b->limit; i = end) {
		end = min(i + PREPARE_CHUNK, b->limit);

		guard(kprobe_text)();
		for (r = b->reg + i; r < b->reg + min(end, b->limit); r++) {
			ret = r->creator ? kprobe_site_prepare(r->site) : 0;
			if (ret)
				batch_fail(b, r - b->reg, ret,
					   r->site->refusal ?: kprobe_refusal_of_error(ret));
		}
	}
}

static void batch_publish(struct kprobe_batch *b)
{
	int i, first = 0, new = 0;
	struct kprobe_call *call;
	struct kprobe_reg *r;

	for_each_reg(i, r, b) {
		if (r->creator && !new++)
			first = i;
	}
	if (new && kprobe_table_reserve(new))
		batch_refuse(b, first, KPROBE_REFUSAL_NO_MEMORY);

	for_each_reg(i, r, b) {
		call = kprobe_call_of(r->p);
		if (WARN_ON_ONCE(is_used(r->p, call, b->call))) {
			batch_refuse(b, i, KPROBE_REFUSAL_IN_USE);
			break;
		}

		r->flags = r->p->flags;
		r->nmissed = r->p->nmissed;
		r->addr = r->p->addr;
		kprobe_site_add_user(r->site, r->p);
		r->p->origin = kprobe_origin_get(b->origin);
		/* That has cleared the field. */
		if (call)
			kprobe_call_claim(call, r->p);
		r->linked = true;
		if (r->site->state == KPROBE_SITE_NEW)
			kprobe_site_move(r->site, KPROBE_SITE_READY);
	}
}

static enum kprobe_refusal refusal_of_ftrace(int err)
{
	switch (err) {
	case -ENOMEM:
		return KPROBE_REFUSAL_NO_MEMORY;
	case -EBUSY:
		return KPROBE_REFUSAL_CLAIMED;
	case -EAGAIN:
		return KPROBE_REFUSAL_CHANGING;
	}

	return KPROBE_REFUSAL_FTRACE;
}

/* ftrace reports an error for the batch, not for a site; blame the first one. */
static void batch_arm_ftrace(struct kprobe_batch *b)
{
	LIST_HEAD(outgrown);
	struct kprobe_reg *r;
	int i, ret, first = b->limit;

	for_each_reg(i, r, b) {
		struct kprobe_site *site = r->site;

		if (site->kind != KPROBE_SITE_FTRACE)
			continue;
		if (site->state == KPROBE_SITE_READY && kprobe_arm_wanted(site))
			kprobe_arm_add(b->lists, site);
		else if (site->state == KPROBE_SITE_ARMED && kprobe_ftrace_outgrown(site))
			list_move_tail(&site->head.kp.list, &outgrown);
		else
			continue;
		first = min(first, i);
	}

	ret = kprobe_ftrace_upgrade(&outgrown);
	kprobe_arm_unlink(&outgrown);
	if (!ret)
		ret = kprobe_arm_ftrace(b->lists);
	if (!ret)
		return;

	kprobe_arm_unlink(&b->lists->ftrace);
	batch_fail(b, first, ret, refusal_of_ftrace(ret));
}

/* What can fail comes first; breakpoints cannot. */
static void batch_arm(struct kprobe_batch *b)
{
	struct kprobe_reg *r;
	LIST_HEAD(revert);
	int i;

	batch_arm_ftrace(b);

	/* A batch that will be undone needs no breakpoints. */
	if (b->limit < b->num)
		return;

	for_each_reg(i, r, b) {
		if (r->site->kind == KPROBE_SITE_BREAKPOINT &&
		    r->site->state == KPROBE_SITE_READY && kprobe_arm_wanted(r->site)) {
			kprobe_arm_add(b->lists, r->site);
			continue;
		}
		if (r->site->state == KPROBE_SITE_ARMED && !kprobe_disabled(r->p))
			kprobe_arm_join(r->site, b->lists);
		/* A new post handler, for example, rules a jump out. */
		kprobe_opt_update(r->site, &revert);
	}
	kprobe_opt_revert(&revert);
	kprobe_arm_text(b->lists);
}

/* Returns whether hits may have seen any of it. */
static bool batch_undo(struct kprobe_batch *b, struct list_head *reap)
{
	DEFINE_KPROBE_ARM_LISTS(lists);
	bool seen = false;
	struct kprobe_reg *r;
	int i;

	for (i = b->num - 1; i >= 0; i--) {
		r = &b->reg[i];
		seen |= r->linked;
		if (r->linked) {
			user_leaves(r->site, r->p, b->ops, &lists, reap);
			kprobe_call_claim(b->call, r->p);
		} else if (r->creator) {
			/* No hit can have found it, and no other user may. */
			kprobe_site_reap(r->site);
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

/*
 * Returns whether tasks have to be waited for, with the mutex dropped. No jump that used
 * one of the addresses is prepared again before all of them have been evicted: while the
 * mutex is dropped, it would take the same address again.
 */
static bool batch_vacate(struct kprobe_batch *b)
{
	struct kprobe_reg *r;
	bool wait = false;
	int i, ret;

	/* The kind of a site is known only after its address has been vetted. */
	for_each_reg(i, r, b) {
		ret = kprobe_opt_evict(r->where.addr);
		if (ret < 0)
			batch_refuse(b, i, KPROBE_REFUSAL_PATCHED);
		else
			wait |= ret;
	}
	if (wait)
		return true;

	for_each_reg(i, r, b)
		kprobe_opt_vacate(r->where.addr);

	return false;
}

/* Returns whether hits may have seen any of it, which was undone then. */
static bool kprobe_batch_try(struct kprobe_batch *b, struct list_head *reap)
{
	bool seen = false;
	int i;

	mutex_lock(&kprobe_mutex);
	/* From here to the publication of the sites no other jump can come there. */
	while (batch_vacate(b)) {
		mutex_unlock(&kprobe_mutex);
		kprobe_opt_wait_for_tasks();
		mutex_lock(&kprobe_mutex);
	}
	batch_vet_addresses(b);
	kprobe_batch_prepare(b);
	batch_publish(b);
	batch_arm(b);
	if (b->limit < b->num)
		seen = batch_undo(b, reap);
	/* Before a module whose init fails can go: its notifier needs the mutex. */
	for (i = 0; i < b->num; i++)
		module_put(b->reg[i].mod);
	mutex_unlock(&kprobe_mutex);

	kprobe_arm_finish(b->lists);
	return seen;
}

static int kprobe_batch_do_register(struct kprobe_batch *b)
{
	enum kprobe_refusal why;
	struct kprobe_reg *r;
	LIST_HEAD(reap);
	int i;

	for_each_reg(i, r, b) {
		why = kprobe_resolve(r->p, &r->where);
		if (why)
			batch_refuse(b, i, why);
	}

	if (b->ops)
		batch_vet_probes(b);

	if (kprobe_batch_try(b, &reap))
		kprobe_wait_for_hits();
	if (b->limit == b->num) {
		for (i = 0; i < b->num && b->ops && b->ops->registered; i++)
			b->ops->registered(b->reg[i].p);
		return 0;
	}

	scoped_guard(mutex, &kprobe_mutex) {
		batch_restore_users(b);
		reap_sites(&reap);
	}

	for (r = b->reg; r < b->reg + b->num; r++) {
		if (r->vetted && b->ops->done)
			b->ops->done(r->p);
	}
	return b->err;
}

/* For kprobe_why_refused(). Only while the probe is unused: the field shares its storage. */
static void leave_refusal(struct kprobe *p, enum kprobe_refusal why,
			  const struct kprobe_call *us)
{
	if (p && !is_used(p, kprobe_call_of(p), us))
		p->refusal = why;
}

static int refuse_all(struct kprobe *first, enum kprobe_refusal why)
{
	guard(mutex)(&kprobe_mutex);

	leave_refusal(first, why, NULL);
	return kprobe_refusal_error(why);
}

/**
 * kprobe_set_pre_handler() - mark a probe as belonging to a kretprobe or jprobe
 * @p: the probe, or NULL
 * @pre: the pre handler
 *
 * A probe in use is left alone: registering it fails anyway.
 *
 * Context: process context, sleeps.
 */
void kprobe_set_pre_handler(struct kprobe *p, kprobe_pre_handler_t pre)
{
	guard(mutex)(&kprobe_mutex);

	if (p && !kprobe_is_used(p))
		p->pre_handler = pre;
}

static void report_refusal(const struct kprobe_batch *b)
{
	const struct kprobe_reg *r = &b->reg[b->limit];

	/* Why there is no address is obvious to the caller. */
	if (r->where.addr)
		pr_debug_ratelimited("refused at %pS: %s: %d\n", (void *)r->where.addr,
				     kprobe_refusal_name(b->why), b->err);
}

/**
 * kprobe_batch_register() - register many probes, all or none
 * @kps: the probes
 * @num: how many
 * @ops: what is particular about these probes, or NULL
 *
 * Context: process context, sleeps; waits for a grace period on failure, and while
 *	    tasks in a detour may bypass a breakpoint.
 * Return: 0, or the error of the first probe that fails, with all of them as they
 *	   were before; -EAGAIN too early at boot; -ENOMEM.
 */
int kprobe_batch_register(struct kprobe **kps, int num,
			  const struct kprobe_batch_ops *ops)
{
	DEFINE_KPROBE_ARM_LISTS(lists);
	struct kprobe_reg *reg __free(kvfree) = NULL;
	DEFINE_KPROBE_CALL(call);
	struct kprobe_batch b = {
		.num	= num,
		.limit	= num,
		.ops	= ops,
		.call	= &call,
		.lists	= &lists,
	};
	int i, ret;

	if (!kprobes_initialized)
		return refuse_all(kps[0], KPROBE_REFUSAL_TOO_EARLY);

	reg = kvzalloc_objs(*reg, num);
	b.reg = reg;
	b.origin = reg ? kprobe_origin_of_caller() : NULL;
	if (!b.origin)
		return refuse_all(kps[0], KPROBE_REFUSAL_NO_MEMORY);

	for (i = 0; i < num; i++)
		b.reg[i].p = kps[i];

	ret = kprobe_batch_do_register(&b);
	if (ret)
		report_refusal(&b);

	scoped_guard(mutex, &kprobe_mutex) {
		if (ret)
			leave_refusal(b.reg[b.limit].p, b.why, &call);
		if (call.nr)
			kprobe_call_end(&call, kps, num);
		kprobe_origin_put(b.origin);
	}
	return ret;
}
