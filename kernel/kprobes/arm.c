// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arming and disarming, always of many sites at a time, and the global switch.
 * Breakpoints cannot fail. ftrace can: for lack of memory, or because another
 * user has claimed a function.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <kunit/static_stub.h>
#include <linux/memory.h>
#include <linux/sched.h>

#include "arm.h"
#include "ftrace.h"
#include "optimizer.h"
#include "site.h"

/* The global switch; kprobe_mutex. */
static bool kprobes_all_disarmed;

/* ftrace may have failed to disarm sites that no user wants armed; kprobe_mutex. */
static bool disarm_failed;

#ifndef __ARCH_WANT_KPROBES_BATCH
void arch_arm_kprobes(struct list_head *kps, bool arm)
{
	struct kprobe *kp;

	lockdep_assert_held(&text_mutex);

	list_for_each_entry(kp, kps, list) {
		if (arm)
			arch_arm_kprobe(kp);
		else
			arch_disarm_kprobe(kp);
		cond_resched();
	}
}
#endif

/* @site may already be on one of the lists. */
void kprobe_arm_add(struct kprobe_arm_lists *lists, struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	list_move_tail(&site->head.kp.list, site->kind == KPROBE_SITE_FTRACE ?
					    &lists->ftrace : &lists->text);
}

/*
 * The global switch does not concern return trampolines: calls in flight still return through
 * these.
 */
bool kprobe_arm_wanted(const struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	return site->nr_enabled && (!kprobes_all_disarmed || site->trampoline);
}

/* Must the site be armed, or get an IPMODIFY claim? */
bool kprobe_arm_needed(const struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	return site->state == KPROBE_SITE_READY ? kprobe_arm_wanted(site) :
	       site->state == KPROBE_SITE_ARMED && kprobe_ftrace_outgrown(site);
}

static void set_state(struct list_head *kps, enum kprobe_site_state to)
{
	struct kprobe *kp, *tmp;

	list_for_each_entry_safe(kp, tmp, kps, list) {
		list_del_init(&kp->list);
		kprobe_site_move(kprobe_to_site(kp), to);
		kprobe_opt_site_changed(kprobe_to_site(kp));
	}
}

/*
 * Write breakpoints, or remove them. Jumps of other probes over them are reverted first, or the
 * jumps in their place.
 */
void kprobe_arm_text(struct kprobe_arm_lists *lists, bool arm)
{
	lockdep_assert_held(&kprobe_mutex);

	if (list_empty(&lists->text))
		return;

	if (arm)
		lists->bypassed |= kprobe_opt_revert_over(&lists->text);
	else
		kprobe_opt_revert_at(&lists->text);
	scoped_guard(kprobe_text)
		arch_arm_kprobes(&lists->text, arm);
	set_state(&lists->text, arm ? KPROBE_SITE_ARMED : KPROBE_SITE_READY);
}

/* All or none. On success, the list is empty. */
static int arm_some(struct list_head *kps)
{
	int ret = kprobe_ftrace_arm(kps);

	if (!ret)
		set_state(kps, KPROBE_SITE_ARMED);
	return ret;
}

/*
 * Arm sites of ftrace, or get the claims that they need. All or none are armed; after an error,
 * some may have a claim. The list becomes empty in any case.
 */
int kprobe_arm_ftrace(struct kprobe_arm_lists *lists)
{
	int ret = arm_some(&lists->ftrace);

	kprobe_sites_unlink(&lists->ftrace);
	return ret;
}

/* As many as possible. The others stay on the list. */
static int disarm_some(struct list_head *kps)
{
	int ret = kprobe_ftrace_disarm(kps);
	struct kprobe *kp, *tmp;
	LIST_HEAD(done);

	list_for_each_entry_safe(kp, tmp, kps, list) {
		if (!kprobe_to_site(kp)->ftrace)
			list_move_tail(&kp->list, &done);
	}
	set_state(&done, KPROBE_SITE_READY);
	return ret;
}

/*
 * Arm or disarm as many of @kps as possible. What ftrace refuses together, it may accept in
 * halves, so a few refusals cost the logarithm of the number of sites; the recursion is no deeper
 * than that. @some unlinks the sites for which it succeeds.
 */
static int kprobe_ftrace_halves(struct list_head *kps, int (*some)(struct list_head *kps))
{
	struct list_head *middle = kps;
	unsigned int half;
	LIST_HEAD(front);
	int ret, err;

	ret = some(kps);
	if (!ret)
		return 0;

	if (list_is_singular(kps)) {
		kprobe_sites_unlink(kps);
		return ret;
	}

	for (half = list_count_nodes(kps) / 2; half; half--)
		middle = middle->next;
	list_cut_position(&front, kps, middle);
	err = kprobe_ftrace_halves(&front, some);
	ret = kprobe_ftrace_halves(kps, some);
	return ret ?: err;
}

/*
 * Disarm as many sites of ftrace as possible. The list becomes empty in any case. After an error,
 * some sites are still ARMED.
 */
int kprobe_disarm_ftrace(struct kprobe_arm_lists *lists)
{
	int ret = kprobe_ftrace_halves(&lists->ftrace, disarm_some);

	if (ret)
		disarm_failed = true;
	return ret;
}

/*
 * Add the sites of ftrace that could not be disarmed before: a site that no user wants armed may
 * still claim its function. Those without users, which only wait for this, go to @reap.
 */
void kprobe_arm_retry(struct kprobe_arm_lists *lists, struct list_head *reap)
{
	struct kprobe_site *site;

	lockdep_assert_held(&kprobe_mutex);

	if (likely(!disarm_failed))
		return;

	disarm_failed = false;
	for_each_kprobe_site(site) {
		if (site->kind != KPROBE_SITE_FTRACE || kprobe_arm_wanted(site))
			continue;
		if (site->state == KPROBE_SITE_ARMED)
			kprobe_arm_add(lists, site);
		if (list_empty(&site->users))
			list_move_tail(&site->head.kp.reap, reap);
	}
}

/*
 * Another user relies on a site that is armed. The call that has armed it may still be waiting
 * for tasks that bypass its breakpoint.
 */
void kprobe_arm_join(const struct kprobe_site *site, struct kprobe_arm_lists *lists)
{
	kprobe_ftrace_note_users(site);
	if (site->kind == KPROBE_SITE_BREAKPOINT && !lists->bypassed)
		lists->bypassed = kprobe_opt_is_bypassed(kprobe_site_addr(site));
}

/*
 * Arm or disarm one site, as its users want it. @lists are empty. After an error of ftrace, the
 * site is as before.
 */
int kprobe_arm_update(struct kprobe_site *site, struct kprobe_arm_lists *lists)
{
	if (site->state == KPROBE_SITE_ARMED && !kprobe_arm_wanted(site)) {
		kprobe_arm_add(lists, site);
		kprobe_arm_text(lists, false);
		return kprobe_disarm_ftrace(lists);
	}

	if (kprobe_arm_needed(site)) {
		kprobe_arm_add(lists, site);
		kprobe_arm_text(lists, true);
		return kprobe_arm_ftrace(lists);
	}

	return 0;
}

/* A user has left @site, which may have to be disarmed. */
void kprobe_arm_leave(struct kprobe_site *site, struct kprobe_arm_lists *lists)
{
	lockdep_assert_held(&kprobe_mutex);

	kprobe_ftrace_note_users(site);
	if (site->state == KPROBE_SITE_ARMED && !site->nr_enabled) {
		kprobe_arm_add(lists, site);
	} else if (site->state == KPROBE_SITE_ARMED) {
		/* The only post handler may have left. */
		kprobe_opt_update(site, NULL);
	} else if (site->state == KPROBE_SITE_READY && !site->nr_enabled) {
		/* It is on a list if another user has left before, in the same call. */
		list_del_init(&site->head.kp.list);
		/* It is no obstacle to the jumps of others any more. */
		kprobe_opt_site_changed(site);
	}
}

/*
 * Without kprobe_mutex. Waits for a grace period of tasks-RCU if a jump of another probe had to
 * be reverted: until then, tasks may bypass a new breakpoint.
 */
void kprobe_arm_finish(const struct kprobe_arm_lists *lists)
{
	KUNIT_STATIC_STUB_REDIRECT(kprobe_arm_finish, lists);
	if (lists->bypassed)
		kprobe_opt_wait_for_tasks();
}

bool kprobes_are_armed(void)
{
	return !READ_ONCE(kprobes_all_disarmed);
}

/*
 * How many sites are not as the switch wants them; added to @lists, if given. A site may be armed
 * without an enabled user if disarming it has failed before; it gets another try.
 */
static unsigned int find_misplaced(bool on, struct kprobe_arm_lists *lists)
{
	enum kprobe_site_state from = on ? KPROBE_SITE_READY : KPROBE_SITE_ARMED;
	struct kprobe_site *site;
	unsigned int nr = 0;

	for_each_kprobe_site(site) {
		if (site->state != from || kprobe_arm_wanted(site) != on)
			continue;
		nr++;
		if (lists)
			kprobe_arm_add(lists, site);
	}
	return nr;
}

static void kprobe_join_all(struct kprobe_arm_lists *lists)
{
	struct kprobe_site *site;

	for_each_kprobe_site(site) {
		if (site->state == KPROBE_SITE_ARMED)
			kprobe_arm_join(site, lists);
	}
}

static int kprobe_switch_all(bool on, struct kprobe_arm_lists *lists)
{
	struct kprobe *kp, *tmp;
	LIST_HEAD(exclusive);
	unsigned int total;
	int ret, err;

	guard(mutex)(&kprobe_mutex);

	if (kprobes_all_disarmed == !on) {
		/* The call that has switched on may still be waiting. */
		if (on)
			kprobe_join_all(lists);
		return 0;
	}

	WRITE_ONCE(kprobes_all_disarmed, !on);
	total = find_misplaced(on, lists);
	kprobe_arm_text(lists, on);
	if (on) {
		/* What another user claims, ftrace refuses only to sites with a post handler. */
		list_for_each_entry_safe(kp, tmp, &lists->ftrace, list) {
			if (kprobe_site_has_post(kprobe_to_site(kp)))
				list_move_tail(&kp->list, &exclusive);
		}
		err = kprobe_ftrace_halves(&lists->ftrace, arm_some);
		ret = kprobe_ftrace_halves(&exclusive, arm_some) ?: err;
	} else {
		ret = kprobe_disarm_ftrace(lists);
	}

	if (ret)
		pr_warn("Kprobes globally %s, but %u of %u failed\n",
			on ? "enabled" : "disabled", find_misplaced(on, NULL), total);
	else
		pr_info("Kprobes globally %s\n", on ? "enabled" : "disabled");
	return ret;
}

/*
 * The global switch. Continues after an error, and returns the last one. Which probes are
 * disabled does not change. May wait as kprobe_arm_finish() does.
 */
int kprobes_arm_all(bool on)
{
	DEFINE_KPROBE_ARM_LISTS(lists);
	int ret = kprobe_switch_all(on, &lists);

	kprobe_arm_finish(&lists);
	return ret;
}
