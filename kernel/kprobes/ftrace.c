// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arming through ftrace: which address is in the filter of which ftrace_ops. Each site records
 * the ops that armed it, and is disarmed there.
 *
 * All sites without a post handler share one ops. A post handler makes the claim on the function
 * exclusive (IPMODIFY). BPF trampolines on the function make room only when such an ops is
 * registered, not when its filter grows later, so every batch of these sites gets an ops of its
 * own. That ops is freed when the last of its sites is disarmed, or has lost its last post
 * handler and moves back to the shared ops.
 *
 * While an address is in two filters, kprobe_site.ftrace names the ops whose call counts. Hits
 * check that only after kprobe_ftrace_set_check(true).
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <kunit/static_stub.h>
#include <linux/cpu.h>
#include <linux/ftrace.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/stop_machine.h>
#include <linux/workqueue.h>

#include "ftrace.h"
#include "hit_ftrace.h"
#include "site.h"
#include "table.h"

/*
 * The ops
 */

struct kprobe_ftrace_ops kprobe_ftrace_shared = {
	.ops = {
		.func	= kprobe_ftrace_entry,
		.flags	= FTRACE_OPS_FL_SAVE_REGS,
	},
};

unsigned int kprobe_ftrace_nr_in_shared;

/* Some site may have a claim that none of its users needs, or be in two filters; kprobe_mutex. */
static bool claims_left;

/* Moves between ops so far; kprobe_mutex. */
static unsigned int moves;

bool kprobe_ftrace_disabled __read_mostly;

/**
 * kprobe_ftrace_kill() - ftrace has found itself broken
 *
 * From now on nothing here touches ftrace. Probes at its sites are dead, and disarming
 * them succeeds without doing anything.
 *
 * Context: any.
 */
void kprobe_ftrace_kill(void)
{
	WRITE_ONCE(kprobe_ftrace_disabled, true);
	/* Its full barrier pairs with that in kprobe_ftrace_check_owner_end(). */
	kprobe_ftrace_set_check(true);
}

/*
 * ftrace waits before it releases an ops, but not if it has refused the registration: another CPU
 * may still use such an ops, even where RCU does not watch.
 */
static void kprobe_ftrace_free_refused(struct work_struct *work)
{
	struct kprobe_ftrace_ops *fo = container_of(work, struct kprobe_ftrace_ops,
						    free);

	kprobe_wait_for_switches();
	ftrace_free_filter(&fo->ops);
	kfree(fo);
}

/* With an exclusive claim; not registered. */
static struct kprobe_ftrace_ops *ops_alloc(void)
{
	struct kprobe_ftrace_ops *fo = kzalloc_obj(*fo);

	if (!fo)
		return NULL;

	fo->ops.func = kprobe_ftrace_claimed_entry;
	fo->ops.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY;
	INIT_WORK(&fo->free, kprobe_ftrace_free_refused);
	return fo;
}

/* Changes all or nothing. A function of its own, so that tests can make it fail. */
int kprobe_ftrace_filter(struct ftrace_ops *ops, unsigned long *ips,
			 unsigned int n, int remove, int reset)
{
	KUNIT_STATIC_STUB_REDIRECT(kprobe_ftrace_filter, ops, ips, n, remove, reset);
	return ftrace_set_filter_ips(ops, ips, n, remove, reset);
}

/*
 * ftrace tests the filters of its ops one after another, with preemption off. A CPU that has
 * tested a filter may call us a moment later, when the address is no longer in it. So calls are
 * checked until each CPU has scheduled. A grace period would not be enough, as RCU may not watch
 * that CPU.
 */
static void kprobe_ftrace_check_owner_end(struct work_struct *work)
{
	unsigned int seen;

	scoped_guard(mutex, &kprobe_mutex)
		seen = moves;

	kprobe_wait_for_switches();

	guard(mutex)(&kprobe_mutex);

	/* A later move has queued this work again. */
	if (seen != moves || kprobe_ftrace_nr_in_shared)
		return;
	/* Its full barrier pairs with that in kprobe_ftrace_kill(). */
	kprobe_ftrace_set_check(false);
	if (READ_ONCE(kprobe_ftrace_disabled))
		kprobe_ftrace_set_check(true);
}

static DECLARE_WORK(check_owner_end_work, kprobe_ftrace_check_owner_end);

/*
 * Sites are about to move from one ops to another. Until some time after
 * kprobe_ftrace_move_end(), calls are checked for the owner of the site.
 */
static void kprobe_ftrace_move_begin(void)
{
	moves++;
	/* A CPU that has not seen the flag must not see the new filters. */
	if (!kprobe_ftrace_set_check(true))
		kprobe_wait_for_switches();
}

static void kprobe_ftrace_move_end(void)
{
	schedule_work(&check_owner_end_work);
}

/*
 * Where a function has one ops, its trampoline calls that ops directly, with preemption on. A
 * task that is preempted there does not know of an ops that was added in the meantime. Wait for
 * such tasks.
 */
void kprobe_ftrace_wait_for_tasks(void)
{
	KUNIT_STATIC_STUB_REDIRECT(kprobe_ftrace_wait_for_tasks);
	if (IS_ENABLED(CONFIG_PREEMPTION))
		synchronize_rcu_tasks();
}

/*
 * Empty the filter of an ops that is not registered. ftrace_free_filter() leaves pointers to
 * freed memory in the ops and does not wait for CPUs that use them, so it is only for an ops that
 * is about to be freed. A reset needs memory; without it the addresses stay until the ops is
 * registered again, see ops_add().
 */
static void drop_filter(struct kprobe_ftrace_ops *fo)
{
	if (fo == &kprobe_ftrace_shared)
		kprobe_ftrace_filter(&fo->ops, NULL, 0, 0, 1);
	else
		ftrace_free_filter(&fo->ops);
}

/*
 * Unregister an ops whose last address is leaving, as an empty filter would mean every function.
 * Frees it, unless it is the shared one.
 *
 * For an allocated ops, ftrace waits for a grace period, with its ftrace_lock and our
 * kprobe_mutex held. Only probes with a post handler pay for that. Without kprobe_mutex, a new
 * claim on the function could be refused because of an old one that is about to end.
 */
static int ops_retire(struct kprobe_ftrace_ops *fo)
{
	int ret;

	ret = unregister_ftrace_function(&fo->ops);
	if (ret)
		return ret;

	drop_filter(fo);
	fo->nr = 0;
	if (fo != &kprobe_ftrace_shared)
		kfree(fo);
	return 0;
}

/* Add addresses to the filter of an ops, all or none. The first registers it. */
static int ops_add(struct kprobe_ftrace_ops *fo, unsigned long *ips, unsigned int n)
{
	int ret;

	/*
	 * An ops that was unregistered may still have old addresses in its filter. Another ops
	 * may have armed them by now, so they must not come back.
	 */
	ret = kprobe_ftrace_filter(&fo->ops, ips, n, 0, !fo->nr);
	if (ret)
		goto out;

	if (!fo->nr) {
		ret = register_ftrace_function(&fo->ops);
		if (ret)
			goto out;
	}
	fo->nr += n;
	return 0;
out:
	/* A later registration of the shared ops must not find these addresses. */
	if (!fo->nr && fo == &kprobe_ftrace_shared)
		drop_filter(fo);
	return ret;
}

/* Remove addresses from the filter of an ops, all or none. The last ones retire it. */
static int ops_remove(struct kprobe_ftrace_ops *fo, unsigned long *ips, unsigned int n)
{
	int ret;

	if (n == fo->nr)
		return ops_retire(fo);

	ret = kprobe_ftrace_filter(&fo->ops, ips, n, 1, 0);
	/* An address that ftrace does not know any more. It refuses others together with that. */
	if (ret && ret != -ENOMEM && n == 1)
		ret = 0;
	if (!ret)
		fo->nr -= n;
	return ret;
}

/* Fails only if ftrace has shut itself down. */
static void retire_or_warn(struct kprobe_ftrace_ops *fo)
{
	int err = ops_retire(fo);

	WARN_ON_ONCE(err && !kprobe_ftrace_disabled);
}

/* A new ops is not needed, whether or not it could be registered. */
static void ops_give_back(struct kprobe_ftrace_ops *fo)
{
	if (fo->nr)
		retire_or_warn(fo);
	else
		schedule_work(&fo->free);
}

/*
 * Sites, which are always lists linked by kp.list
 */

static void take(struct list_head *from, struct list_head *to,
		 bool (*pick)(const struct kprobe_site *))
{
	struct kprobe *kp, *tmp;

	list_for_each_entry_safe(kp, tmp, from, list) {
		if (pick(kprobe_to_site(kp)))
			list_move_tail(&kp->list, to);
	}
}

/* Take the first site and all others of the same ops, which is returned. */
static struct kprobe_ftrace_ops *take_one_ops(struct list_head *from, struct list_head *to)
{
	struct kprobe *kp = list_first_entry(from, struct kprobe, list), *tmp;
	struct kprobe_ftrace_ops *fo = kprobe_to_site(kp)->ftrace;

	list_for_each_entry_safe(kp, tmp, from, list) {
		if (kprobe_to_site(kp)->ftrace == fo)
			list_move_tail(&kp->list, to);
	}
	return fo;
}

static void set_ops(struct list_head *kps, struct kprobe_ftrace_ops *fo)
{
	struct kprobe *kp;

	list_for_each_entry(kp, kps, list)
		WRITE_ONCE(kprobe_to_site(kp)->ftrace, fo);
}

static void set_in_shared(struct list_head *kps, bool on)
{
	struct kprobe_site *site;
	struct kprobe *kp;

	list_for_each_entry(kp, kps, list) {
		site = kprobe_to_site(kp);
		kprobe_ftrace_nr_in_shared += on - site->in_shared;
		site->in_shared = on;
	}
}

static bool is_in_shared(const struct kprobe_site *site)
{
	return site->in_shared;
}

/* Add the addresses of all to a filter, or take them out. A single one needs no memory. */
static int change_filter(struct list_head *kps, struct kprobe_ftrace_ops *fo,
			 int (*change)(struct kprobe_ftrace_ops *, unsigned long *, unsigned int))
{
	unsigned int n = list_count_nodes(kps), i = 0;
	unsigned long single, *ips = &single;
	struct kprobe *kp;
	int ret;

	if (n > 1)
		ips = kvmalloc_objs(*ips, n);
	if (!ips)
		return -ENOMEM;

	list_for_each_entry(kp, kps, list)
		ips[i++] = (unsigned long)kp->addr;
	ret = n ? change(fo, ips, n) : 0;
	if (ips != &single)
		kvfree(ips);
	return ret;
}

static int arm_by(struct list_head *kps, struct kprobe_ftrace_ops *fo)
{
	int ret = change_filter(kps, fo, ops_add);

	if (!ret)
		set_ops(kps, fo);
	return ret;
}

/* Sites with an ops of their own leave the filter of the shared one, if they are in it. */
static int leave_shared(struct list_head *kps)
{
	LIST_HEAD(both);
	int ret;

	take(kps, &both, is_in_shared);
	ret = change_filter(&both, &kprobe_ftrace_shared, ops_remove);
	if (!ret && !list_empty(&both)) {
		set_in_shared(&both, false);
		/* A call that has met both filters may be on its way. */
		moves++;
		kprobe_ftrace_move_end();
	}
	list_splice(&both, kps);
	return ret;
}

/*
 * Disarm as many of these sites as possible, and return the first error. Those that stay armed
 * still have their ops in kprobe_site.ftrace.
 */
int kprobe_ftrace_disarm(struct list_head *kps)
{
	struct kprobe_ftrace_ops *fo;
	int err = 0, ret;
	LIST_HEAD(done);

	lockdep_assert_held(&kprobe_mutex);

	while (!list_empty(kps)) {
		LIST_HEAD(same);

		fo = take_one_ops(kps, &same);
		/* An address must not stay in a filter that does not arm its site. */
		ret = kprobe_ftrace_disabled ? 0 :
		      leave_shared(&same) ?: change_filter(&same, fo, ops_remove);
		/* A broken ftrace may still use the ops, so it is never freed. */
		if (!ret || kprobe_ftrace_disabled)
			set_ops(&same, NULL);
		else
			err = err ?: ret;
		list_splice_tail(&same, &done);
	}
	list_splice(&done, kps);
	return err;
}

/* The site got a post handler after it was armed without, so it must move to another ops. */
bool kprobe_ftrace_outgrown(const struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	return site->ftrace == &kprobe_ftrace_shared && kprobe_site_has_post(site);
}

static int kprobe_ftrace_change_cpu(void *by_claim)
{
	__this_cpu_write(kprobe_ftrace_by_claim, *(bool *)by_claim);
	return 0;
}

/*
 * From now on, calls through @fo count. A hit for which ftrace calls both ops must not straddle
 * the change, or it would be handled twice or not at all. So each CPU switches in its stopper
 * thread: ftrace keeps preemption off across the calls of all ops of a hit, and an interrupt or
 * NMI sees one side only.
 */
static void kprobe_ftrace_change_owner(struct list_head *kps, struct kprobe_ftrace_ops *fo)
{
	bool by_claim = fo != &kprobe_ftrace_shared;
	struct kprobe *kp;
	int cpu;

	guard(cpus_read_lock)();

	/*
	 * Pairs with smp_rmb() in ops_owns_checked(): whoever reads the new state of a CPU also
	 * sees that the previous move has ended.
	 */
	smp_wmb();
	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu(kprobe_ftrace_by_claim, cpu), !by_claim);

	list_for_each_entry(kp, kps, list) {
		struct kprobe_site *site = kprobe_to_site(kp);
		void *claim = by_claim ? fo : site->ftrace;

		/*
		 * Pairs with smp_load_acquire() in ops_owns_checked(): a hit that sees the mark
		 * also sees the state of its CPU.
		 */
		smp_store_release(&site->ftrace, claim + KPROBE_FTRACE_MOVES);
	}
	for_each_online_cpu(cpu)
		stop_one_cpu(cpu, kprobe_ftrace_change_cpu, &by_claim);

	set_ops(kps, fo);
}

/*
 * Move sites of one ops to another. Each is in both filters for a moment, and names the ops whose
 * call counts, so no hit is lost or delivered twice. With PREEMPTION, this waits for a grace period
 * of tasks-RCU. After an error, the sites are armed as before, but may be in both filters.
 */
static int move(struct list_head *kps, struct kprobe_ftrace_ops *from,
		struct kprobe_ftrace_ops *to)
{
	int ret = change_filter(kps, to, ops_add);

	if (ret)
		return ret;

	kprobe_ftrace_wait_for_tasks();
	kprobe_ftrace_change_owner(kps, to);
	ret = change_filter(kps, from, ops_remove);
	if (ret)
		kprobe_ftrace_change_owner(kps, from);
	set_in_shared(kps, ret && to == &kprobe_ftrace_shared);
	return ret;
}

/* Move sites that are kprobe_ftrace_outgrown() to an ops of their own, all or none. */
static int upgrade(struct list_head *kps)
{
	struct kprobe_ftrace_ops *fo = ops_alloc();
	int ret;

	if (!fo)
		return -ENOMEM;

	kprobe_ftrace_move_begin();
	ret = move(kps, &kprobe_ftrace_shared, fo);
	if (ret)
		ops_give_back(fo);
	kprobe_ftrace_move_end();
	return ret;
}

/* A claim that no user of the site needs. Without users, the site is disarmed anyway. */
static bool is_overclaimed(const struct kprobe_site *site)
{
	return site->ftrace && site->ftrace != &kprobe_ftrace_shared && site->nr_enabled &&
	       !kprobe_site_has_post(site);
}

/*
 * A user has left the site, which may stay armed for others, or has come to one that could not be
 * disarmed. kprobe_ftrace_settle() has to be called later.
 */
void kprobe_ftrace_note_users(const struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	if (!claims_left && is_overclaimed(site))
		claims_left = true;
}

/*
 * Give up the claims that no post handler needs any more: after users have left, and before sites
 * are armed. The sites move to the shared ops. What fails for lack of memory stays until the next
 * change; hits are counted correctly all the same. May wait for grace periods of tasks-RCU. No
 * site that is armed with a claim is on a list.
 */
void kprobe_ftrace_settle(void)
{
	struct kprobe_ftrace_ops *fo;
	struct kprobe_site *site;
	LIST_HEAD(overclaimed);
	LIST_HEAD(both);
	int ret;

	lockdep_assert_held(&kprobe_mutex);

	if (likely(!claims_left) || kprobe_ftrace_disabled)
		return;

	for_each_kprobe_site(site) {
		/* An earlier attempt has failed. It may have got a new post handler since. */
		if (site->in_shared)
			list_move_tail(&site->head.kp.list, &both);
		else if (is_overclaimed(site))
			list_move_tail(&site->head.kp.list, &overclaimed);
	}

	if (list_empty(&both) && list_empty(&overclaimed)) {
		claims_left = false;
		return;
	}

	kprobe_ftrace_move_begin();
	ret = leave_shared(&both);
	if (!ret)
		take(&both, &overclaimed, is_overclaimed);
	while (!list_empty(&overclaimed)) {
		LIST_HEAD(same);

		fo = take_one_ops(&overclaimed, &same);
		ret = move(&same, fo, &kprobe_ftrace_shared) ?: ret;
		kprobe_sites_unlink(&same);
	}
	kprobe_ftrace_move_end();
	kprobe_sites_unlink(&both);

	claims_left = ret;
	if (ret)
		pr_warn_ratelimited("IPMODIFY claims not released, retried later: %d\n", ret);
}

/*
 * Arm READY sites, all or none, and move those that are kprobe_ftrace_outgrown(), which leave the
 * list. -EBUSY means that another claims a function for itself, and -ENODEV that ftrace is broken.
 */
int kprobe_ftrace_arm(struct list_head *kps)
{
	struct kprobe_ftrace_ops *fo = NULL;
	LIST_HEAD(exclusive);
	LIST_HEAD(outgrown);
	int ret = 0;

	lockdep_assert_held(&kprobe_mutex);

	if (list_empty(kps))
		return 0;
	if (kprobe_ftrace_disabled)
		return -ENODEV;
	kprobe_ftrace_settle();

	/* Claims come first, as they are more likely to fail. */
	take(kps, &outgrown, kprobe_ftrace_outgrown);
	if (!list_empty(&outgrown))
		ret = upgrade(&outgrown);
	kprobe_sites_unlink(&outgrown);

	take(kps, &exclusive, kprobe_site_has_post);
	if (!ret && !list_empty(&exclusive)) {
		fo = ops_alloc();
		ret = fo ? arm_by(&exclusive, fo) : -ENOMEM;
	}
	ret = ret ?: arm_by(kps, &kprobe_ftrace_shared);

	list_splice(&exclusive, kps);
	if (ret && fo) {
		set_ops(kps, NULL);
		ops_give_back(fo);
	}
	return ret;
}

/* An address leaves an ops, but not its filter. */
static void ops_drop(struct kprobe_ftrace_ops *fo)
{
	if (!--fo->nr && !kprobe_ftrace_disabled)
		retire_or_warn(fo);
}

/*
 * The code of an area is about to be freed: forget addresses there that are still in a filter.
 * ftrace drops its own records of them, so an address that is left in a filter means nothing.
 */
void kprobe_ftrace_purge(unsigned long start, unsigned long end)
{
	struct kprobe_ftrace_ops *fo;
	struct kprobe_site *site;

	for_each_kprobe_site_in(site, start, end) {
		fo = site->ftrace;
		if (!fo)
			continue;
		site->ftrace = NULL;
		ops_drop(fo);
		if (!site->in_shared)
			continue;
		site->in_shared = false;
		kprobe_ftrace_nr_in_shared--;
		ops_drop(&kprobe_ftrace_shared);
		kprobe_ftrace_move_end();
	}
}
