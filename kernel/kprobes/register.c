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

#include <linux/cache.h>
#include <linux/cacheflush.h>
#include <linux/jump_label.h>
#include <linux/pid.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "arm.h"
#include "ftrace.h"
#include "module.h"
#include "optimizer.h"
#include "register.h"
#include "site.h"
#include "table.h"

bool kprobes_initialized __ro_after_init;

/*
 * Who has registered a probe. The structure of a probe belongs to its user, and says
 * nothing about that.
 */

/* The newest one, for a caller that registers many probes one by one; kprobe_mutex. */
static struct kprobe_origin *newest_origin;

/* Describe the caller; NULL if out of memory. */
static struct kprobe_origin *origin_of_caller(void)
{
	struct kprobe_origin now = { .users = 1, .tgid = task_tgid_nr(current) };
	struct kprobe_origin *origin = newest_origin;

	scoped_guard(rcu)
		now.start = READ_ONCE(current->group_leader)->start_time;
	get_task_comm(now.comm, current);

	if (origin && origin->tgid == now.tgid && origin->start == now.start &&
	    !strcmp(origin->comm, now.comm)) {
		origin->users++;
		return origin;
	}

	origin = kmemdup(&now, sizeof(now), GFP_KERNEL);
	if (origin)
		newest_origin = origin;
	return origin;
}

static void origin_put(struct kprobe_origin *origin)
{
	if (--origin->users)
		return;

	if (newest_origin == origin)
		newest_origin = NULL;
	kfree(origin);
}

/*
 * Calls that use structures of their users after they have dropped kprobe_mutex. While
 * they do, another call on the same structure has to wait, or is refused. A held
 * structure names its call in a field that nothing else uses.
 */

/* All that hold a structure; kprobe_mutex. */
static LIST_HEAD(calls);
static DECLARE_WAIT_QUEUE_HEAD(call_ended);

static void call_hold(struct kprobe_call *call, struct kprobe *p)
{
	if (list_empty(&call->list))
		list_add(&call->list, &calls);
	p->call = call;
}

/* The call that uses @p, which may hold anything, or NULL. */
struct kprobe_call *kprobe_call_of(const struct kprobe *p)
{
	struct kprobe_call *call;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry(call, &calls, list) {
		if (p->call == call)
			return call;
	}
	return NULL;
}

static void call_end(struct kprobe_call *call, struct kprobe **kps, int num)
{
	int i;

	if (list_empty(&call->list))
		return;

	for (i = 0; i < num; i++) {
		if (kps[i] && kps[i]->call == call)
			kps[i]->call = NULL;
	}
	list_del_init(&call->list);
	wake_up_all(&call_ended);
}

static bool any_is_held(struct kprobe **kps, int num)
{
	int i;

	for (i = 0; i < num; i++) {
		if (kps[i] && kprobe_call_of(kps[i]))
			return true;
	}
	return false;
}

/*
 * Unregistration
 */

static void kprobe_site_reap(struct kprobe_site *site)
{
	/* ftrace could not disarm it. It stays until a later call of kprobe_arm_retry(). */
	if (site->ftrace) {
		list_del_init(&site->head.kp.reap);
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

	list_for_each_entry_safe(site, tmp, reap, head.kp.reap)
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
	origin_put(p->origin);
	p->origin = NULL;
	if (list_empty(&site->users))
		list_move_tail(&site->head.kp.reap, reap);
	kprobe_arm_leave(site, lists);
	if (ops && ops->stop)
		ops->stop(p);
}

static void disarm_left(struct kprobe_arm_lists *lists, struct list_head *reap)
{
	int ret;

	kprobe_arm_retry(lists, reap);
	ret = kprobe_disarm_ftrace(lists);
	if (ret)
		pr_warn_ratelimited("ftrace sites not disarmed, retried later: %d\n", ret);
	kprobe_ftrace_settle();
	kprobe_arm_text(lists, false);
}

/* Detach all users; returns them as a chain through kprobe.next. */
static struct kprobe *kprobe_batch_detach(struct kprobe **kps, int num,
					  const struct kprobe_batch_ops *ops,
					  struct kprobe_call *call, struct list_head *reap)
{
	DEFINE_KPROBE_ARM_LISTS(lists);
	struct kprobe *left = NULL, *p;
	struct kprobe_site *site;
	int i;

	for (i = 0; i < num; i++) {
		p = kps[i];
		if (!p)
			continue;
		site = kprobe_site_of_user(p);
		if (!site) {
			/* Not if it is in the array twice. */
			if (!kprobe_call_of(p))
				p->addr = NULL;
			continue;
		}

		user_leaves(site, p, ops, &lists, reap);
		call_hold(call, p);
		p->next = left;
		left = p;
	}
	disarm_left(&lists, reap);

	return left;
}

/*
 * One grace period for all. A call that still uses one of the structures is waited for first: it
 * may be about to register them.
 */
void kprobe_batch_unregister(struct kprobe **kps, int num,
			     const struct kprobe_batch_ops *ops)
{
	struct kprobe *left, *next, *p;
	struct kprobe_call call = { LIST_HEAD_INIT(call.list) };
	LIST_HEAD(reap);

	if (!kps)
		return;

	scoped_guard(mutex, &kprobe_mutex) {
		/* Only this wait is for other calls, and this call holds nothing yet. */
		wait_event_cmd(call_ended, !any_is_held(kps, num),
			       mutex_unlock(&kprobe_mutex), mutex_lock(&kprobe_mutex));
		left = kprobe_batch_detach(kps, num, ops, &call, &reap);
	}

	if (left || !list_empty(&reap))
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
	call_end(&call, kps, num);
}

/*
 * Registration
 */

/* One probe of a batch that is being registered. */
struct kprobe_reg {
	struct kprobe		*p;
	struct kprobe_where	where;
	struct kprobe_site	*site;
	u32			flags;		/* these fields of @p, before the call */
	unsigned long		nmissed;
	unsigned int		nmissed_rcu;
	unsigned int		missed_pool;
	kprobe_opcode_t		*addr;
	bool			prepared;	/* by kprobe_batch_ops.prepare */
	bool			creator;	/* @site was made for this probe */
	bool			linked;		/* @p is a user of @site */
};

/* Probes that are being registered. */
struct kprobe_batch {
	struct kprobe_reg		*reg;
	int				num;
	int				limit;	/* the first probe that failed, with ... */
	int				err;
	enum kprobe_refusal		why;
	const struct kprobe_batch_ops	*ops;
	struct kprobe_origin		*origin;
	struct kprobe_call		call;
	struct kprobe_arm_lists		lists;
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

/*
 * The address that a probe is to have, or why it cannot be registered at all. It means something
 * only until kprobe_mutex is dropped: another module may be there then.
 */
enum kprobe_refusal kprobe_resolve(const struct kprobe *p, struct kprobe_where *where)
{
	enum kprobe_refusal why;

	lockdep_assert_held(&kprobe_mutex);

	if (!p || p->flags & ~KPROBE_FLAGS)
		return KPROBE_REFUSAL_ARGUMENTS;
	/* Only one handler of a CPU can own faults. */
	if (p->flags & KPROBE_FLAG_REENTRANT && p->fault_handler)
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

/* Is the structure registered, or does a call other than @us use it? */
bool kprobe_is_used(struct kprobe *p, const struct kprobe_call *us)
{
	const struct kprobe_call *by = kprobe_call_of(p);

	return (by && by != us) || (p->addr && kprobe_site_of_user(p));
}

/*
 * Before anything is changed: what a structure has must not be replaced while hits use it, nor by
 * two registrations at a time.
 */
static void batch_hold(struct kprobe_batch *b)
{
	struct kprobe_reg *r;
	int i;

	for_each_reg(i, r, b) {
		if (WARN_ON_ONCE(kprobe_is_used(r->p, NULL)))
			batch_refuse(b, i, KPROBE_REFUSAL_IN_USE);
		else
			call_hold(&b->call, r->p);
	}
}

/*
 * May the address be probed, by a probe of this kind? @ops may be NULL. Sets the kind of the site.
 * The answer holds until kprobe_mutex is dropped.
 */
enum kprobe_refusal kprobe_vet(const struct kprobe *p, const struct kprobe_batch_ops *ops,
			       struct kprobe_where *where)
{
	enum kprobe_refusal why;

	lockdep_assert_held(&kprobe_mutex);

	why = ops ? ops->vet(p, where) : KPROBE_REFUSAL_NONE;
	if (why)
		return why;

	jump_label_lock();
	preempt_disable();

	why = kprobe_module_vet(where->addr) ?: kprobe_address_vet(where);

	preempt_enable();
	jump_label_unlock();
	return why;
}

static enum kprobe_refusal find_or_create_site(struct kprobe_reg *r)
{
	r->site = kprobe_site_at(r->where.addr);
	if (r->site)
		return KPROBE_REFUSAL_NONE;

	r->site = kprobe_site_create(r->where.addr, r->where.kind);
	if (!r->site)
		return KPROBE_REFUSAL_NO_MEMORY;

	if (r->where.on_entry)
		kprobe_publish_flag(&r->site->head.kp, KPROBE_FLAG_ON_FUNC_ENTRY, true);
	r->creator = true;
	return KPROBE_REFUSAL_NONE;
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

/* The reason why the architecture has returned @err for a site. */
enum kprobe_refusal kprobe_site_refusal(const struct kprobe_site *site, int err)
{
	return err ? site->refusal ?: kprobe_refusal_of_error(err) : KPROBE_REFUSAL_NONE;
}

static int prepare(struct kprobe_site *site)
{
	struct kprobe *kp = &site->head.kp;
	int ret;

	if (site->kind == KPROBE_SITE_FTRACE) {
		ret = arch_prepare_kprobe_ftrace(kp);
	} else {
		save_text(site);
		guard(kprobe_text)();
		ret = arch_prepare_kprobe(kp);
		if (!ret)
			flush_insn_slot(kp);
	}

	site->prepared = !ret;
	return ret;
}

static void batch_prepare(struct kprobe_batch *b)
{
	struct kprobe_reg *r;
	int i, ret;

	for_each_reg(i, r, b) {
		enum kprobe_refusal why;

		why = kprobe_vet(r->p, b->ops, &r->where);
		if (why) {
			batch_refuse(b, i, why);
			return;
		}

		ret = b->ops ? b->ops->prepare(r->p) : 0;
		if (ret) {
			batch_fail(b, i, ret, kprobe_refusal_of_error(ret));
			return;
		}
		r->prepared = true;

		why = find_or_create_site(r);
		if (why) {
			batch_refuse(b, i, why);
			return;
		}

		ret = r->creator ? prepare(r->site) : 0;
		if (ret) {
			batch_fail(b, i, ret, kprobe_site_refusal(r->site, ret));
			return;
		}
		/* Preparing may decode whole functions. tasks-RCU is not to wait for all. */
		cond_resched_tasks_rcu_qs();
	}
}

static void batch_publish(struct kprobe_batch *b)
{
	int i, first = 0, new = 0;
	struct kprobe_reg *r;

	for_each_reg(i, r, b) {
		if (r->creator && !new++)
			first = i;
	}
	if (new && kprobe_table_reserve(new))
		batch_refuse(b, first, KPROBE_REFUSAL_NO_MEMORY);

	for_each_reg(i, r, b) {
		r->flags = r->p->flags;
		r->nmissed = r->p->nmissed;
		r->nmissed_rcu = r->p->nmissed_rcu;
		r->missed_pool = kretprobe_missed(r->p);
		r->addr = r->p->addr;
		kprobe_site_add_user(r->site, r->p);
		r->p->origin = b->origin;
		b->origin->users++;
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
	struct kprobe_reg *r;
	int i, ret, first = b->limit;

	for_each_reg(i, r, b) {
		if (r->site->kind == KPROBE_SITE_FTRACE && kprobe_arm_needed(r->site)) {
			kprobe_arm_add(&b->lists, r->site);
			first = min(first, i);
		}
	}

	ret = kprobe_arm_ftrace(&b->lists);
	if (ret)
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
		if (r->site->kind == KPROBE_SITE_BREAKPOINT && kprobe_arm_needed(r->site)) {
			kprobe_arm_add(&b->lists, r->site);
			continue;
		}
		if (r->site->state == KPROBE_SITE_ARMED && !kprobe_disabled(r->p))
			kprobe_arm_join(r->site, &b->lists);
		/* A new post handler, for example, rules a jump out. */
		kprobe_opt_update(r->site, &revert);
	}
	kprobe_opt_revert(&revert);
	kprobe_arm_text(&b->lists, true);
}

/* Returns whether hits may have seen any of it, or of what is on @reap. */
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
		} else if (r->creator) {
			/* No hit can have found it, and no other user may. */
			kprobe_site_reap(r->site);
		}
	}
	disarm_left(&lists, reap);
	return seen || !list_empty(reap);
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
		r->p->nmissed_rcu = r->nmissed_rcu;
		kretprobe_set_missed(r->p, r->missed_pool);
		WRITE_ONCE(r->p->flags, r->flags);
		r->p->addr = r->addr;
	}
}

static void batch_resolve(struct kprobe_batch *b)
{
	enum kprobe_refusal why;
	struct kprobe_reg *r;
	int i;

	for_each_reg(i, r, b) {
		why = kprobe_resolve(r->p, &r->where);
		if (why)
			batch_refuse(b, i, why);
		cond_resched();
	}
}

/*
 * Remove hops from the addresses. Returns whether tasks have to be waited for, with the mutex
 * dropped. No probe whose hop was there is prepared again before all hops can be removed: while
 * the mutex is dropped, it would take the same address again.
 */
static bool batch_take_hops(struct kprobe_batch *b)
{
	struct kprobe_reg *r;
	bool wait = false;
	int i, ret;

	/* The kind of a site is known only after its address has been vetted. */
	for_each_reg(i, r, b) {
		ret = kprobe_opt_leave_hop(r->where.addr);
		if (ret < 0)
			batch_refuse(b, i, KPROBE_REFUSAL_PATCHED);
		else
			wait |= ret;
	}
	if (wait)
		return true;

	for_each_reg(i, r, b)
		kprobe_opt_remove_hop(r->where.addr);

	return false;
}

/* Returns whether hits may have seen any of it, which was undone then. */
static bool batch_try(struct kprobe_batch *b, struct list_head *reap)
{
	guard(mutex)(&kprobe_mutex);

	b->origin = origin_of_caller();
	if (!b->origin) {
		batch_refuse(b, 0, KPROBE_REFUSAL_NO_MEMORY);
		return false;
	}
	batch_resolve(b);
	batch_hold(b);
	/* From the last pass to the publication of the sites no other jump can come there. */
	while (batch_take_hops(b)) {
		mutex_unlock(&kprobe_mutex);
		kprobe_opt_wait_for_tasks();
		mutex_lock(&kprobe_mutex);
		batch_resolve(b);
	}
	batch_prepare(b);
	batch_publish(b);
	batch_arm(b);
	return b->limit < b->num && batch_undo(b, reap);
}

/* For kprobe_why_refused(). Only while the probe is unused: the field shares its storage. */
static void leave_refusal(struct kprobe *p, enum kprobe_refusal why, const struct kprobe_call *us)
{
	if (p && !kprobe_is_used(p, us))
		p->refusal = why;
}

static int refuse_all(struct kprobe *first, enum kprobe_refusal why)
{
	guard(mutex)(&kprobe_mutex);

	leave_refusal(first, why, NULL);
	return kprobe_refusal_error(why);
}

/* Mark a probe as that of a kretprobe or jprobe. Registering one in use fails anyway. */
void kprobe_set_pre_handler(struct kprobe *p, kprobe_pre_handler_t pre)
{
	guard(mutex)(&kprobe_mutex);

	if (p && !kprobe_is_used(p, NULL))
		p->pre_handler = pre;
}

static void batch_end(struct kprobe_batch *b, struct kprobe **kps, struct list_head *reap)
{
	const struct kprobe_batch_ops *ops = b->ops;
	struct kprobe_reg *failed = &b->reg[b->limit], *r;
	bool ok = b->limit == b->num;

	if (!ok) {
		guard(mutex)(&kprobe_mutex);
		batch_restore_users(b);
		reap_sites(reap);
	}
	for (r = b->reg; ops && r < b->reg + b->num; r++) {
		if (ok && ops->registered)
			ops->registered(r->p);
		else if (!ok && r->prepared && ops->done)
			ops->done(r->p);
	}

	guard(mutex)(&kprobe_mutex);
	if (!ok)
		leave_refusal(failed->p, b->why, &b->call);
	/* From here on the structures belong to their users again. */
	call_end(&b->call, kps, b->num);
	if (b->origin)
		origin_put(b->origin);
	/* Why there is no address is obvious to the caller. */
	if (!ok && failed->where.addr)
		pr_debug_ratelimited("refused at %pS: %s: %d\n", (void *)failed->where.addr,
				     kprobe_refusal_name(b->why), b->err);
}

/*
 * Register all or none, in which case all are as they were before. Waits for a grace period
 * if it fails, and while tasks in a detour may bypass a breakpoint.
 */
int kprobe_batch_register(struct kprobe **kps, int num,
			  const struct kprobe_batch_ops *ops)
{
	struct kprobe_reg *reg __free(kvfree) = NULL;
	struct kprobe_batch b = {
		.num	= num,
		.limit	= num,
		.ops	= ops,
		.call	= { LIST_HEAD_INIT(b.call.list) },
		.lists	= KPROBE_ARM_LISTS_INIT(b.lists),
	};
	LIST_HEAD(reap);
	int i;

	if (!kps || num <= 0)
		return -EINVAL;
	if (!kprobes_initialized)
		return refuse_all(kps[0], KPROBE_REFUSAL_TOO_EARLY);

	reg = kvzalloc_objs(*reg, num);
	if (!reg)
		return refuse_all(kps[0], KPROBE_REFUSAL_NO_MEMORY);

	b.reg = reg;
	for (i = 0; i < num; i++)
		reg[i].p = kps[i];

	if (batch_try(&b, &reap))
		kprobe_wait_for_hits();
	kprobe_arm_finish(&b.lists);
	batch_end(&b, kps, &reap);
	return b.err;
}
