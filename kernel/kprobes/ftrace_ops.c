// SPDX-License-Identifier: GPL-2.0-only
/*
 * The core's ftrace_ops: their filters and their registration. See the overview in ftrace.c.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <kunit/static_stub.h>
#include <linux/ftrace.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "ftrace_ops.h"
#include "hit_ftrace.h"
#include "site.h"
#include "table.h"

struct kprobe_ftrace_ops kprobe_ftrace_plain = {
	.ops = {
		.func	= kprobe_ftrace_entry,
		.flags	= FTRACE_OPS_FL_SAVE_REGS,
	},
};

LIST_HEAD(kprobe_ftrace_all);

unsigned int kprobe_ftrace_nr_in_plain;

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
struct kprobe_ftrace_ops *kprobe_ftrace_ops_alloc(void)
{
	struct kprobe_ftrace_ops *fo = kzalloc_obj(*fo);

	if (!fo)
		return NULL;

	fo->ops.func = kprobe_ftrace_entry;
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
	if (seen != moves || kprobe_ftrace_nr_in_plain)
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
void kprobe_ftrace_move_begin(void)
{
	lockdep_assert_held(&kprobe_mutex);

	moves++;
	/* A CPU that has not seen the flag must not see the new filters. */
	if (!kprobe_ftrace_set_check(true))
		kprobe_wait_for_switches();
}

void kprobe_ftrace_move_end(void)
{
	lockdep_assert_held(&kprobe_mutex);

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
 * registered again, see kprobe_ftrace_ops_add().
 */
static void drop_filter(struct kprobe_ftrace_ops *fo)
{
	if (fo == &kprobe_ftrace_plain)
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
int kprobe_ftrace_ops_retire(struct kprobe_ftrace_ops *fo)
{
	int ret;

	lockdep_assert_held(&kprobe_mutex);

	ret = unregister_ftrace_function(&fo->ops);
	if (ret)
		return ret;

	drop_filter(fo);
	list_del(&fo->list);
	fo->nr = 0;
	if (fo != &kprobe_ftrace_plain)
		kfree(fo);
	return 0;
}

/* Add addresses to the filter of an ops, all or none. The first registers it. */
int kprobe_ftrace_ops_add(struct kprobe_ftrace_ops *fo, unsigned long *ips,
			  unsigned int n)
{
	int ret;

	lockdep_assert_held(&kprobe_mutex);

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
		list_add(&fo->list, &kprobe_ftrace_all);
	}
	fo->nr += n;
	return 0;
out:
	/* A later registration of the shared ops must not find these addresses. */
	if (!fo->nr && fo == &kprobe_ftrace_plain)
		drop_filter(fo);
	return ret;
}

/* Remove addresses from the filter of an ops, all or none. The last ones retire it. */
int kprobe_ftrace_ops_remove(struct kprobe_ftrace_ops *fo, unsigned long *ips,
			     unsigned int n)
{
	int ret;

	lockdep_assert_held(&kprobe_mutex);

	if (n == fo->nr)
		return kprobe_ftrace_ops_retire(fo);

	ret = kprobe_ftrace_filter(&fo->ops, ips, n, 1, 0);
	/* An address that ftrace does not know any more. It refuses others together with that. */
	if (ret && ret != -ENOMEM && n == 1)
		ret = 0;
	if (!ret)
		fo->nr -= n;
	return ret;
}
