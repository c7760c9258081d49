// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arming through ftrace: which address is in the filter of which ftrace_ops.
 * Each site remembers the ops that armed it, so it is always disarmed there.
 *
 * All sites without a post handler share one ops. A post handler makes the
 * probe's claim on the function exclusive (IPMODIFY). Only the registration
 * of such an ops tells BPF trampolines on the function to make room, adding to
 * its filter later does not; so every batch of these sites gets an ops of its
 * own, which goes when the last of them is disarmed.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/ftrace.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "ftrace.h"
#include "hit_ftrace.h"
#include "site.h"

/**
 * struct kprobe_ftrace_ops - a filter and what is in it
 * @ops: the filter; registered exactly while @nr is not 0
 * @nr: sites armed by it
 * @stale: sites that are dead, but whose address is still in the filter
 * @list: in all_ops
 * @free: to free it after a registration that failed
 */
struct kprobe_ftrace_ops {
	struct ftrace_ops	ops;
	unsigned int		nr;
	struct list_head	stale;
	struct list_head	list;
	struct work_struct	free;
};

static struct kprobe_ftrace_ops plain = {
	.ops = {
		.func	= kprobe_ftrace_entry,
		.flags	= FTRACE_OPS_FL_SAVE_REGS,
	},
	.stale = LIST_HEAD_INIT(plain.stale),
};

/* kprobe_mutex */
static LIST_HEAD(all_ops);

bool kprobe_ftrace_disabled __read_mostly;

/**
 * kprobe_ftrace_kill() - ftrace found itself broken
 *
 * From now on nothing in here touches it: probes at its sites are dead, and
 * disarming them succeeds without doing anything.
 *
 * Context: any.
 */
void kprobe_ftrace_kill(void)
{
	/* Pairs with the barrier in kprobe_ftrace_upgrade(). */
	smp_store_mb(kprobe_ftrace_disabled, true);
	WRITE_ONCE(kprobe_ftrace_choosy, true);
}

/*
 * ftrace waits before it lets go of an ops, but not of one that it had refused
 * after all: another CPU may still be looking at it, where RCU does not watch.
 */
static void refused_ops_free(struct work_struct *work)
{
	struct kprobe_ftrace_ops *fo = container_of(work, struct kprobe_ftrace_ops,
						    free);

	synchronize_rcu_tasks_rude();
	ftrace_free_filter(&fo->ops);
	kfree(fo);
}

static struct kprobe_ftrace_ops *ipmodify_ops_alloc(void)
{
	struct kprobe_ftrace_ops *fo = kzalloc(sizeof(*fo), GFP_KERNEL);

	if (!fo)
		return NULL;

	fo->ops.func = kprobe_ftrace_entry;
	fo->ops.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY;
	INIT_LIST_HEAD(&fo->stale);
	INIT_WORK(&fo->free, refused_ops_free);
	return fo;
}

/*
 * Set for good once an address had to stay in a filter. A new site there may get its
 * hits through another ops, too: each has to say whose count.
 */
static bool had_stale;

/* Dead sites whose address has left the filter, or never will. */
static void stale_free(struct kprobe_site *site)
{
	list_del(&site->reap);
	kfree_rcu(site, rcu);
}

static void stale_free_all(struct kprobe_ftrace_ops *fo)
{
	struct kprobe_site *site, *tmp;

	list_for_each_entry_safe(site, tmp, &fo->stale, reap)
		stale_free(site);
}

/* Another try for addresses that could not be removed for lack of memory. */
static void stale_retry(struct kprobe_ftrace_ops *fo)
{
	struct kprobe_site *site, *tmp;
	unsigned long ip;

	list_for_each_entry_safe(site, tmp, &fo->stale, reap) {
		ip = kprobe_site_addr(site);
		if (ftrace_set_filter_ips(&fo->ops, &ip, 1, 1, 0) == -ENOMEM)
			break;
		stale_free(site);
	}
}

/*
 * Empty the filter of an ops that is not registered. ftrace_free_filter() leaves
 * the ops with what it has freed, and does not wait for those who still look at
 * it: only for an ops that is about to be freed, too. Resetting needs memory;
 * without it the addresses stay, and hits there find no site.
 */
static void drop_filter(struct kprobe_ftrace_ops *fo)
{
	if (fo == &plain)
		ftrace_set_filter_ips(&fo->ops, NULL, 0, 0, 1);
	else
		ftrace_free_filter(&fo->ops);
}

/*
 * The last address has gone. An empty filter would mean every function, so
 * the ops is unregistered first; emptying the filter then cannot fail.
 *
 * Unregistering an allocated ops waits for a grace period, with ftrace_lock
 * held by ftrace and kprobe_mutex by our caller. Only probes with a post
 * handler pay that; without kprobe_mutex, a new claim on the function could
 * be refused because of an old one that is about to go.
 */
static int retire_ops(struct kprobe_ftrace_ops *fo)
{
	int ret = unregister_ftrace_function(&fo->ops);

	if (ret)
		return ret;

	drop_filter(fo);
	stale_free_all(fo);
	list_del(&fo->list);
	fo->nr = 0;
	if (fo != &plain)
		kfree(fo);
	return 0;
}

static int ops_add(struct kprobe_ftrace_ops *fo, unsigned long *ips,
		   unsigned int n)
{
	struct kprobe_site *site, *tmp;
	unsigned int i;
	int ret;

	stale_retry(fo);

	ret = ftrace_set_filter_ips(&fo->ops, ips, n, 0, 0);
	if (ret)
		goto out;

	if (!fo->nr) {
		ret = register_ftrace_function(&fo->ops);
		if (ret)
			goto out;
		list_add(&fo->list, &all_ops);
	}
	fo->nr += n;

	/* What is in the filter on purpose again is not stale. */
	for (i = 0; i < n && !list_empty(&fo->stale); i++) {
		list_for_each_entry_safe(site, tmp, &fo->stale, reap) {
			if (kprobe_site_addr(site) == ips[i])
				stale_free(site);
		}
	}
	return 0;
out:
	/* Not registered: the addresses must not stay for the next ones. */
	if (!fo->nr && fo == &plain)
		drop_filter(fo);
	return ret;
}

static int ops_remove(struct kprobe_ftrace_ops *fo, unsigned long *ips,
		      unsigned int n)
{
	int ret;

	if (n == fo->nr)
		return retire_ops(fo);

	stale_retry(fo);
	ret = ftrace_set_filter_ips(&fo->ops, ips, n, 1, 0);
	if (!ret)
		fo->nr -= n;
	return ret;
}

/*
 * Addresses of the sites of @kps for which @pick is true. One fits into
 * @single; more are allocated, to be freed with ips_put().
 */
static unsigned long *ips_get(struct list_head *kps, unsigned long *single,
			      unsigned int *n,
			      bool (*pick)(const struct kprobe_site *, const void *),
			      const void *arg)
{
	unsigned long *ips = single;
	struct kprobe *kp;
	unsigned int i = 0;

	*n = 0;
	list_for_each_entry(kp, kps, list)
		*n += pick(kprobe_to_site(kp), arg);

	if (*n > 1)
		ips = kvmalloc_array(*n, sizeof(*ips), GFP_KERNEL);
	if (!ips)
		return NULL;

	list_for_each_entry(kp, kps, list) {
		if (pick(kprobe_to_site(kp), arg))
			ips[i++] = (unsigned long)kp->addr;
	}
	return ips;
}

static void ips_put(unsigned long *ips, const unsigned long *single)
{
	if (ips != single)
		kvfree(ips);
}

static bool is_exclusive(const struct kprobe_site *site, const void *arg)
{
	return kprobe_site_has_post(site);
}

static bool is_shared(const struct kprobe_site *site, const void *arg)
{
	return !kprobe_site_has_post(site);
}

static bool is_armed_by(const struct kprobe_site *site, const void *fo)
{
	return site->ftrace == fo;
}

static int arm_picked(struct list_head *kps, struct kprobe_ftrace_ops *fo,
		      bool (*pick)(const struct kprobe_site *, const void *))
{
	unsigned long single, *ips;
	struct kprobe *kp;
	unsigned int n;
	int ret;

	ips = ips_get(kps, &single, &n, pick, NULL);
	if (!ips)
		return -ENOMEM;

	ret = n ? ops_add(fo, ips, n) : 0;
	ips_put(ips, &single);
	if (ret)
		return ret;

	list_for_each_entry(kp, kps, list) {
		if (pick(kprobe_to_site(kp), NULL))
			kprobe_to_site(kp)->ftrace = fo;
	}
	return 0;
}

static bool any_exclusive(struct list_head *kps)
{
	struct kprobe *kp;

	list_for_each_entry(kp, kps, list) {
		if (is_exclusive(kprobe_to_site(kp), NULL))
			return true;
	}
	return false;
}

/**
 * kprobe_ftrace_arm() - arm sites, all or none
 * @kps: READY ftrace sites, linked by kp.list
 *
 * Context: kprobe_mutex held, sleeps.
 * Return: 0, -EBUSY if another claims a function for itself, -ENODEV if ftrace
 *	   is broken, -ENOMEM, or what else ftrace says.
 */
int kprobe_ftrace_arm(struct list_head *kps)
{
	struct kprobe_ftrace_ops *fo = NULL;
	int ret;

	lockdep_assert_held(&kprobe_mutex);

	if (list_empty(kps))
		return 0;
	if (kprobe_ftrace_disabled)
		return -ENODEV;

	/* The claim first, as it is the likelier one to fail. */
	if (any_exclusive(kps)) {
		fo = ipmodify_ops_alloc();
		if (!fo)
			return -ENOMEM;
		ret = arm_picked(kps, fo, is_exclusive);
		if (ret) {
			schedule_work(&fo->free);
			return ret;
		}
	}

	ret = arm_picked(kps, &plain, is_shared);
	if (ret && fo) {
		struct kprobe *kp;

		list_for_each_entry(kp, kps, list)
			kprobe_to_site(kp)->ftrace = NULL;
		WARN_ON_ONCE(retire_ops(fo) && !kprobe_ftrace_disabled);
	}
	return ret;
}

static int disarm_by(struct list_head *kps, struct kprobe_ftrace_ops *fo)
{
	unsigned long single, *ips;
	struct kprobe *kp;
	unsigned int n;
	int ret = 0;

	if (!kprobe_ftrace_disabled) {
		ips = ips_get(kps, &single, &n, is_armed_by, fo);
		if (!ips)
			return -ENOMEM;
		ret = ops_remove(fo, ips, n);
		ips_put(ips, &single);
	}
	if (ret && !kprobe_ftrace_disabled)
		return ret;

	/* A broken ftrace may still know the ops: it is never freed. */
	list_for_each_entry(kp, kps, list) {
		if (kprobe_to_site(kp)->ftrace == fo)
			kprobe_to_site(kp)->ftrace = NULL;
	}
	return 0;
}

/**
 * kprobe_ftrace_disarm() - disarm as many of these sites as possible
 * @kps: armed ftrace sites, linked by kp.list
 *
 * Those that stay armed still have their ops in kprobe_site.ftrace.
 *
 * Context: kprobe_mutex held, sleeps.
 * Return: 0, or the first error.
 */
int kprobe_ftrace_disarm(struct list_head *kps)
{
	struct kprobe_ftrace_ops *failed = NULL;
	struct kprobe *kp;
	int err = 0, ret;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry(kp, kps, list) {
		struct kprobe_ftrace_ops *fo = kprobe_to_site(kp)->ftrace;

		/* The first site of an ops does it for all of them. */
		if (!fo || fo == failed)
			continue;
		ret = disarm_by(kps, fo);
		if (ret)
			failed = fo;
		err = err ?: ret;
	}

	return err;
}

/**
 * kprobe_ftrace_outgrown() - must a site move to another ops?
 * @site: the site
 *
 * Context: kprobe_mutex held.
 * Return: true if it got a post handler after it was armed without.
 */
bool kprobe_ftrace_outgrown(const struct kprobe_site *site)
{
	return site->ftrace == &plain && kprobe_site_has_post(site);
}

/* From these stores on, the hits come through @fo. */
static void sites_move_to(struct list_head *kps, struct kprobe_ftrace_ops *fo)
{
	struct kprobe *kp;

	list_for_each_entry(kp, kps, list)
		WRITE_ONCE(kprobe_to_site(kp)->ftrace, fo);
}

static int upgrade(struct list_head *kps, struct kprobe_ftrace_ops *fo,
		   unsigned long *ips, unsigned int n)
{
	int ret = ops_add(fo, ips, n);

	if (ret)
		return ret;

	sites_move_to(kps, fo);
	ret = ops_remove(&plain, ips, n);
	if (ret)
		sites_move_to(kps, &plain);
	return ret;
}

/**
 * kprobe_ftrace_upgrade() - move armed sites to an ops of their own
 * @kps: sites for which kprobe_ftrace_outgrown() is true, linked by kp.list
 *
 * Each is in both filters for a moment, and says itself whose call counts. So
 * hits are not lost, and not delivered twice; but for those that are just on their
 * way from one ops to the other as their site moves.
 *
 * Context: kprobe_mutex held, sleeps.
 * Return: 0, or an error as of kprobe_ftrace_arm(), with the sites armed as
 *	   before.
 */
int kprobe_ftrace_upgrade(struct list_head *kps)
{
	struct kprobe_ftrace_ops *fo;
	unsigned long single, *ips;
	unsigned int n;
	int ret;

	lockdep_assert_held(&kprobe_mutex);

	if (list_empty(kps))
		return 0;
	if (kprobe_ftrace_disabled)
		return -ENODEV;

	ips = ips_get(kps, &single, &n, is_armed_by, &plain);
	if (!ips)
		return -ENOMEM;

	fo = ipmodify_ops_alloc();
	if (!fo) {
		ips_put(ips, &single);
		return -ENOMEM;
	}

	WRITE_ONCE(kprobe_ftrace_choosy, true);
	ret = upgrade(kps, fo, ips, n);
	/* Before the calls that are ignored can be believed again. */
	if (ret && fo->nr)
		WARN_ON_ONCE(retire_ops(fo) && !kprobe_ftrace_disabled);
	else if (ret)
		schedule_work(&fo->free);
	/* Pairs with kprobe_ftrace_kill(), which may have come before the store. */
	smp_store_mb(kprobe_ftrace_choosy, false);
	if (READ_ONCE(kprobe_ftrace_disabled) || had_stale)
		WRITE_ONCE(kprobe_ftrace_choosy, true);

	ips_put(ips, &single);
	return ret;
}

/**
 * kprobe_ftrace_abandon() - a site dies, but its address stays in the filter
 * @site: a site that could not be disarmed, with no users left
 *
 * Hits there find no site and are ignored. The next change of the filter takes
 * the address out.
 *
 * Context: kprobe_mutex held, sleeps.
 */
void kprobe_ftrace_abandon(struct kprobe_site *site)
{
	struct kprobe_ftrace_ops *fo = site->ftrace;

	lockdep_assert_held(&kprobe_mutex);

	had_stale = true;
	WRITE_ONCE(kprobe_ftrace_choosy, true);
	site->ftrace = NULL;
	kprobe_site_move(site, KPROBE_SITE_READY);
	kprobe_site_move(site, KPROBE_SITE_DEAD);
	kprobe_site_release(site);
	list_move(&site->reap, &fo->stale);

	/* Those that needed the memory may have left meanwhile: this does not. */
	if (!--fo->nr)
		WARN_ON_ONCE(retire_ops(fo) && !kprobe_ftrace_disabled);
}

/**
 * kprobe_ftrace_purge() - the code of an area goes away
 * @start: first byte
 * @end: byte behind the last
 *
 * Forgets addresses there that are still in a filter. ftrace drops its own
 * record of them, so a filter that could not be cleaned up names nothing.
 *
 * Context: kprobe_mutex held, sleeps.
 */
void kprobe_ftrace_purge(unsigned long start, unsigned long end)
{
	struct kprobe_ftrace_ops *fo;
	struct kprobe_site *site, *tmp;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry(fo, &all_ops, list) {
		if (!list_empty(&fo->stale))
			stale_retry(fo);
		list_for_each_entry_safe(site, tmp, &fo->stale, reap) {
			if (kprobe_site_addr(site) >= start &&
			    kprobe_site_addr(site) < end)
				stale_free(site);
		}
	}

	for (site = kprobe_site_from(start);
	     site && kprobe_site_addr(site) < end; site = kprobe_site_next(site)) {
		fo = site->ftrace;
		if (!fo)
			continue;
		site->ftrace = NULL;
		if (!--fo->nr)
			WARN_ON_ONCE(!kprobe_ftrace_disabled && retire_ops(fo));
	}
}
