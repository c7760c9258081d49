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

#include <linux/cpu.h>
#include <linux/ftrace.h>
#include <linux/slab.h>
#include <linux/stop_machine.h>

#include "ftrace.h"
#include "ftrace_ops.h"
#include "hit_ftrace.h"
#include "site.h"

/* Some site may have a claim that none of its users needs; kprobe_mutex. */
static bool claims_left;

static unsigned int count_picked(struct list_head *kps,
				 bool (*pick)(const struct kprobe_site *, const void *),
				 const void *arg)
{
	struct kprobe *kp;
	unsigned int n = 0;

	list_for_each_entry(kp, kps, list)
		n += pick(kprobe_to_site(kp), arg);
	return n;
}

/*
 * The addresses of the sites of @kps for which @pick is true, to be freed with ips_put(). A
 * single one needs no memory.
 */
static unsigned long *ips_get(struct list_head *kps, unsigned long *single,
			      unsigned int *n,
			      bool (*pick)(const struct kprobe_site *, const void *),
			      const void *arg)
{
	unsigned long *ips = single;
	struct kprobe *kp;
	unsigned int i = 0;

	*n = count_picked(kps, pick, arg);
	if (*n > 1)
		ips = kvmalloc_objs(*ips, *n);
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
	return !is_exclusive(site, arg);
}

static bool is_armed_by(const struct kprobe_site *site, const void *fo)
{
	return site->ftrace == fo;
}

static bool is_also_in_plain(const struct kprobe_site *site, const void *fo)
{
	return site->ftrace == fo && site->in_plain;
}

static void set_in_plain(struct kprobe_site *site, bool on)
{
	kprobe_ftrace_nr_in_plain += on - site->in_plain;
	site->in_plain = on;
}

/* Add the addresses of sites for which @pick is true to a filter, or take them out. */
static int change_filter(struct list_head *kps, struct kprobe_ftrace_ops *fo,
			 int (*change)(struct kprobe_ftrace_ops *, unsigned long *, unsigned int),
			 bool (*pick)(const struct kprobe_site *, const void *), const void *arg)
{
	unsigned long single, *ips;
	unsigned int n;
	int ret;

	ips = ips_get(kps, &single, &n, pick, arg);
	if (!ips)
		return -ENOMEM;

	ret = n ? change(fo, ips, n) : 0;
	ips_put(ips, &single);
	return ret;
}

static int arm_picked(struct list_head *kps, struct kprobe_ftrace_ops *fo,
		      bool (*pick)(const struct kprobe_site *, const void *))
{
	int ret = change_filter(kps, fo, kprobe_ftrace_ops_add, pick, NULL);
	struct kprobe *kp;

	if (ret)
		return ret;

	list_for_each_entry(kp, kps, list) {
		if (pick(kprobe_to_site(kp), NULL))
			kprobe_to_site(kp)->ftrace = fo;
	}
	return 0;
}

/* Fails only if ftrace has shut itself down. */
static void retire_or_warn(struct kprobe_ftrace_ops *fo)
{
	int err = kprobe_ftrace_ops_retire(fo);

	WARN_ON_ONCE(err && !kprobe_ftrace_disabled);
}

/*
 * Arm READY sites, all or none. -EBUSY means that another claims a function for itself, and
 * -ENODEV that ftrace is broken.
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
	kprobe_ftrace_settle();

	/* The claim comes first, as it is more likely to fail. */
	if (count_picked(kps, is_exclusive, NULL)) {
		fo = kprobe_ftrace_ops_alloc();
		if (!fo)
			return -ENOMEM;
		ret = arm_picked(kps, fo, is_exclusive);
		if (ret) {
			schedule_work(&fo->free);
			return ret;
		}
	}

	ret = arm_picked(kps, &kprobe_ftrace_plain, is_shared);
	if (ret && fo) {
		struct kprobe *kp;

		list_for_each_entry(kp, kps, list)
			kprobe_to_site(kp)->ftrace = NULL;
		retire_or_warn(fo);
	}
	return ret;
}

/* Sites of @fo leave the filter of the shared ops. */
static int leave_plain(struct list_head *kps, struct kprobe_ftrace_ops *fo)
{
	int ret = change_filter(kps, &kprobe_ftrace_plain, kprobe_ftrace_ops_remove,
				is_also_in_plain, fo);
	struct kprobe *kp;

	if (ret)
		return ret;

	list_for_each_entry(kp, kps, list) {
		if (kprobe_to_site(kp)->ftrace == fo)
			set_in_plain(kprobe_to_site(kp), false);
	}
	return 0;
}

static int disarm_by(struct list_head *kps, struct kprobe_ftrace_ops *fo)
{
	struct kprobe *kp;
	int ret = 0;

	/* An address must not stay in a filter that does not arm its site. */
	if (!kprobe_ftrace_disabled)
		ret = leave_plain(kps, fo) ?:
		      change_filter(kps, fo, kprobe_ftrace_ops_remove, is_armed_by, fo);
	if (ret && !kprobe_ftrace_disabled)
		return ret;

	/* A broken ftrace may still use the ops, so it is never freed. */
	list_for_each_entry(kp, kps, list) {
		if (kprobe_to_site(kp)->ftrace == fo)
			kprobe_to_site(kp)->ftrace = NULL;
	}
	return 0;
}

/*
 * Disarm as many of these sites as possible, and return the first error. Those that stay armed
 * still have their ops in kprobe_site.ftrace.
 */
int kprobe_ftrace_disarm(struct list_head *kps)
{
	struct kprobe_ftrace_ops *failed = NULL;
	struct kprobe *kp;
	int err = 0, ret;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry(kp, kps, list) {
		struct kprobe_ftrace_ops *fo = kprobe_to_site(kp)->ftrace;

		/* The first site of an ops has taken all others of it along. */
		if (!fo || fo == failed)
			continue;
		ret = disarm_by(kps, fo);
		if (ret)
			failed = fo;
		err = err ?: ret;
	}

	return err;
}

/* The site got a post handler after it was armed without, so it must move to another ops. */
bool kprobe_ftrace_outgrown(const struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	return site->ftrace == &kprobe_ftrace_plain && kprobe_site_has_post(site);
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
	bool by_claim = fo != &kprobe_ftrace_plain;
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

	list_for_each_entry(kp, kps, list)
		WRITE_ONCE(kprobe_to_site(kp)->ftrace, fo);
}

/* Both ops have the sites in their filters. So far, calls of the other have counted. */
static void sites_move_to(struct list_head *kps, struct kprobe_ftrace_ops *fo)
{
	kprobe_ftrace_wait_for_tasks();
	kprobe_ftrace_change_owner(kps, fo);
}

static int kprobe_ftrace_upgrade_ops(struct list_head *kps,
				     struct kprobe_ftrace_ops *fo,
				     unsigned long *ips, unsigned int n)
{
	int ret = kprobe_ftrace_ops_add(fo, ips, n);

	if (ret)
		return ret;

	sites_move_to(kps, fo);
	ret = kprobe_ftrace_ops_remove(&kprobe_ftrace_plain, ips, n);
	if (ret)
		kprobe_ftrace_change_owner(kps, &kprobe_ftrace_plain);
	return ret;
}

/*
 * Move sites that are kprobe_ftrace_outgrown() to an ops of their own. Each is in both filters
 * for a moment, and names the ops whose call counts, so no hit is lost or delivered twice. With
 * PREEMPTION, this waits for a grace period of tasks-RCU. After an error, the sites are armed as
 * before.
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

	kprobe_ftrace_settle();
	ips = ips_get(kps, &single, &n, is_armed_by, &kprobe_ftrace_plain);
	if (!ips)
		return -ENOMEM;

	fo = kprobe_ftrace_ops_alloc();
	if (!fo) {
		ips_put(ips, &single);
		return -ENOMEM;
	}

	kprobe_ftrace_move_begin();
	ret = kprobe_ftrace_upgrade_ops(kps, fo, ips, n);
	if (ret && fo->nr)
		retire_or_warn(fo);
	else if (ret)
		schedule_work(&fo->free);
	kprobe_ftrace_move_end();

	ips_put(ips, &single);
	return ret;
}

/* A claim that no user of the site needs. Without users, the site is disarmed anyway. */
static bool is_overclaimed(const struct kprobe_site *site)
{
	return site->ftrace && site->ftrace != &kprobe_ftrace_plain && site->nr_enabled &&
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
 * Sites of @fo move to the shared ops: they are added to its filter, change their owner, and
 * leave the filter of @fo. If the last step fails they move back, and stay in both filters.
 */
static int kprobe_ftrace_downgrade_ops(struct list_head *kps,
				       struct kprobe_ftrace_ops *fo)
{
	unsigned long single, *ips;
	struct kprobe *kp;
	unsigned int n;
	int ret;

	ips = ips_get(kps, &single, &n, is_armed_by, fo);
	if (!ips)
		return -ENOMEM;

	kprobe_ftrace_move_begin();
	ret = kprobe_ftrace_ops_add(&kprobe_ftrace_plain, ips, n);
	if (!ret) {
		list_for_each_entry(kp, kps, list) {
			/* Those that had stayed in this filter are counted twice by now. */
			kprobe_ftrace_plain.nr -= kprobe_to_site(kp)->in_plain;
			set_in_plain(kprobe_to_site(kp), true);
		}

		sites_move_to(kps, &kprobe_ftrace_plain);
		ret = kprobe_ftrace_ops_remove(fo, ips, n);
		if (ret)
			kprobe_ftrace_change_owner(kps, fo);
	}
	if (!ret) {
		list_for_each_entry(kp, kps, list)
			set_in_plain(kprobe_to_site(kp), false);
	}
	kprobe_ftrace_move_end();

	ips_put(ips, &single);
	return ret;
}

/* Correct the filters of sites that @fo has armed. */
static int kprobe_ftrace_settle_ops(struct kprobe_ftrace_ops *fo)
{
	struct kprobe_site *site;
	LIST_HEAD(overclaimed);
	struct kprobe *kp, *tmp;
	LIST_HEAD(in_plain);
	int ret = 0;

	for_each_kprobe_site(site) {
		if (site->ftrace != fo)
			continue;
		if (is_overclaimed(site))
			list_move_tail(&site->head.kp.list, &overclaimed);
		/* It was overclaimed, but has got a new post handler. */
		else if (site->in_plain)
			list_move_tail(&site->head.kp.list, &in_plain);
	}

	if (!list_empty(&in_plain)) {
		kprobe_ftrace_move_begin();
		ret = leave_plain(&in_plain, fo);
		kprobe_ftrace_move_end();
	}
	/* May free @fo. */
	if (!list_empty(&overclaimed))
		ret = kprobe_ftrace_downgrade_ops(&overclaimed, fo) ?: ret;

	list_splice(&in_plain, &overclaimed);
	list_for_each_entry_safe(kp, tmp, &overclaimed, list)
		list_del_init(&kp->list);
	return ret;
}

/*
 * Give up the claims that no post handler needs any more: after users have left, and before sites
 * are armed. What fails for lack of memory stays until the next change; hits are counted
 * correctly all the same. May wait for grace periods of tasks-RCU. No site that is armed with a
 * claim is on a list.
 */
void kprobe_ftrace_settle(void)
{
	struct kprobe_ftrace_ops *fo, *tmp;
	int ret = 0;

	lockdep_assert_held(&kprobe_mutex);

	if (kprobe_ftrace_disabled)
		return;
	if (likely(!claims_left && !kprobe_ftrace_nr_in_plain))
		return;

	/* This loop may register or unregister the shared ops, so keep it at the front. */
	if (kprobe_ftrace_plain.nr)
		list_move(&kprobe_ftrace_plain.list, &kprobe_ftrace_all);
	list_for_each_entry_safe(fo, tmp, &kprobe_ftrace_all, list) {
		if (fo != &kprobe_ftrace_plain)
			ret = kprobe_ftrace_settle_ops(fo) ?: ret;
	}

	claims_left = ret;
	if (ret)
		pr_warn_ratelimited("IPMODIFY claims not released, retried later: %d\n", ret);
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

	lockdep_assert_held(&kprobe_mutex);

	for_each_kprobe_site_in(site, start, end) {
		fo = site->ftrace;
		if (!fo)
			continue;
		site->ftrace = NULL;
		ops_drop(fo);
		if (!site->in_plain)
			continue;
		set_in_plain(site, false);
		ops_drop(&kprobe_ftrace_plain);
	}
}
