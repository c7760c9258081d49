// SPDX-License-Identifier: GPL-2.0-only
/*
 * The worker of the optimizer, the waits for tasks, and the sysctl. optimizer.c has an overview.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <asm/sections.h>

#include "insn_slots.h"
#include "refusal.h"
#include "optimizer_internal.h"
#include "site.h"
#include "table.h"

/* How many sites are prepared, or patched, before the text is unlocked for others. */
#define DETOUR_CHUNK	32
#define PATCH_CHUNK	256

/* All of these: kprobe_mutex. */
LIST_HEAD(kprobe_opt_fresh);
LIST_HEAD(kprobe_opt_queue);
LIST_HEAD(kprobe_opt_reclaimed);
static LIST_HEAD(kprobe_opt_waiting);
u64 kprobe_opt_begun, kprobe_opt_over;

/* The worker has work; written under kprobe_mutex, read without. */
static bool opt_busy;
static DECLARE_WAIT_QUEUE_HEAD(opt_idle);

static void kprobe_optimizer_round(struct work_struct *work);
static DECLARE_WORK(opt_work, kprobe_optimizer_round);

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

/* Cancel a jump for a reason that may pass. */
static void cancel_for_now(struct kprobe_site *site, enum kprobe_noopt why)
{
	kprobe_opt_cancel(site, why);
	if (is_passing(site))
		retry_later();
}

/* Start the worker. A running round checks the queues again before it ends. */
void kprobe_opt_kick(void)
{
	lockdep_assert_held(&kprobe_mutex);

	if (opt_busy)
		return;
	WRITE_ONCE(opt_busy, true);
	queue_work(system_dfl_wq, &opt_work);
}

static struct kprobe_site *first_site(struct list_head *list)
{
	return kprobe_op_to_site(list_first_entry(list, struct optimized_kprobe, list));
}

bool __weak arch_optimizer_begin(unsigned long addr)
{
	return false;
}

void __weak arch_optimizer_forget(unsigned long start, unsigned long end)
{
}

/* Text is about to be freed. The sites there have been killed. */
void kprobe_opt_forget(unsigned long start, unsigned long end)
{
	lockdep_assert_held(&kprobe_mutex);

	arch_optimizer_forget(start, end);
}

/*
 * Wait until each task has left the text it was in. Afterwards, text that no hit enters may be
 * overwritten: instructions that jumps replace, detours, and hops to them. No lock is held.
 */
void kprobe_opt_wait_for_tasks(void)
{
	u64 mine;

	scoped_guard(mutex, &kprobe_mutex)
		mine = ++kprobe_opt_begun;

	synchronize_rcu_tasks();

	/*
	 * Without preemption, but with its counter, a tick anywhere counts as a
	 * quiescent state of RCU.
	 */
	if (!IS_ENABLED(CONFIG_PREEMPTION) && IS_ENABLED(CONFIG_PREEMPT_COUNT))
		kprobe_schedule_cpus();

	/*
	 * RCU does not wait for idle CPUs. But the code that makes a CPU idle can have
	 * probes, so a CPU may be in a detour, or between instructions that a jump will
	 * replace.
	 */
	arch_sync_insn_slots();

	guard(mutex)(&kprobe_mutex);
	kprobe_opt_over = max(kprobe_opt_over, mine);
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

/* Without memory, what the architecture has found so far is not the reason. */
static enum kprobe_noopt noopt_of(const struct optimized_kprobe *op, int err)
{
	if (err == -ENOMEM)
		return KPROBE_NOOPT_NOMEM;
	if (op->why)
		return op->why;
	return err == -ERANGE ? KPROBE_NOOPT_RANGE : KPROBE_NOOPT_ARCH;
}

static enum kprobe_noopt make_detour(struct kprobe_site *site)
{
	struct optimized_kprobe *op = &site->head.op;
	int ret;

	ret = arch_prepare_optimized_kprobe(op, &op->kp);
	if (kprobe_has_detour(site)) {
		kprobe_slot_own(&kprobe_optinsn_slots, op->optinsn.insn, op);
		return KPROBE_NOOPT_NONE;
	}
	if (ret == -ENOMEM) {
		/* A reason against one kind of jump does not hold for a later attempt. */
		op->why = KPROBE_NOOPT_NONE;
		op->why_transient = false;
		return KPROBE_NOOPT_NOMEM;
	}
	kprobe_opt_transient += op->why_transient;
	op->why = noopt_of(op, ret);
	pr_debug_ratelimited("no jump at %pS: %s+%u\n", op->kp.addr,
			     kprobe_noopt_name(op->why), op->why_at);
	return op->why;
}

static void prepare_one(struct kprobe_site *site)
{
	enum kprobe_noopt why = kprobe_opt_obstacle(site);

	if (!why)
		why = why_not_there(kprobe_site_addr(site));
	if (!why)
		why = make_detour(site);
	/* Which instructions it replaces is known only now. */
	if (!why)
		why = kprobe_opt_obstacle(site);
	if (why)
		cancel_for_now(site, why);
	else
		list_move_tail(&site->head.op.list, &kprobe_opt_queue);
}

/*
 * Lets the architecture examine the text around the next few sites. Returns whether they
 * are ready; if not, it has to be called again after others had the mutex.
 */
static bool begin_some(unsigned int *nr)
{
	struct optimized_kprobe *op;

	*nr = 0;
	list_for_each_entry(op, &kprobe_opt_fresh, list) {
		unsigned long addr = (unsigned long)op->kp.addr;

		if (*nr == DETOUR_CHUNK)
			break;
		if (!why_not_there(addr) && arch_optimizer_begin(addr))
			return false;
		++*nr;
	}

	return true;
}

int __weak arch_plan_optimized_kprobe(struct optimized_kprobe *op)
{
	lockdep_assert_held(&text_mutex);

	return KPROBE_JUMP_UNKNOWN;
}

/*
 * Would a probe get a jump, alone and with a pre handler only? Nothing else finds @site. -EAGAIN if
 * the architecture has to examine more text first: call it again after others had the mutex.
 */
int kprobe_opt_forecast(struct kprobe_site *site, struct kprobe_forecast *f)
{
	unsigned long addr = kprobe_site_addr(site);
	struct optimized_kprobe *op = &site->head.op;
	int ret;

	lockdep_assert_held(&kprobe_mutex);

	*f = (struct kprobe_forecast){ };
	f->why = site->kind == KPROBE_SITE_FTRACE ? KPROBE_NOOPT_FTRACE : why_not_there(addr);
	if (f->why)
		return 0;
	if (arch_optimizer_begin(addr))
		return -EAGAIN;

	cpus_read_lock();
	jump_label_lock();
	mutex_lock(&text_mutex);
	ret = arch_plan_optimized_kprobe(op);
	mutex_unlock(&text_mutex);
	jump_label_unlock();
	cpus_read_unlock();

	if (ret >= 0) {
		f->jump = ret;
		return 0;
	}
	f->why = noopt_of(op, ret);
	f->at = f->why == op->why ? op->why_at : 0;
	return 0;
}

/* Returns whether there are more. */
static bool kprobe_opt_prepare_some(void)
{
	unsigned int nr;

	guard(mutex)(&kprobe_mutex);

	if (list_empty(&kprobe_opt_fresh))
		return false;
	if (!begin_some(&nr))
		return true;

	cpus_read_lock();
	jump_label_lock();
	mutex_lock(&text_mutex);
	while (nr--)
		prepare_one(first_site(&kprobe_opt_fresh));
	mutex_unlock(&text_mutex);
	jump_label_unlock();
	cpus_read_unlock();

	return !list_empty(&kprobe_opt_fresh);
}

/* From here on no task enters the instructions that the jumps will replace. */
static void close_queue(void)
{
	struct optimized_kprobe *op, *tmp;

	list_for_each_entry_safe(op, tmp, &kprobe_opt_queue, list) {
		kprobe_opt_move(kprobe_op_to_site(op), KPROBE_OPT_WAITING);
		list_move_tail(&op->list, &kprobe_opt_waiting);
	}
}

static void kprobe_opt_patch_some(void)
{
	/* Only the worker gets here. */
	static struct kprobe_site *sites[PATCH_CHUNK];
	unsigned int i, nr = 0;
	LIST_HEAD(list);

	while (nr < PATCH_CHUNK && !list_empty(&kprobe_opt_waiting)) {
		struct kprobe_site *site = first_site(&kprobe_opt_waiting);
		enum kprobe_noopt why = kprobe_opt_obstacle(site);

		if (WARN_ON_ONCE(why)) {
			kprobe_opt_cancel(site, why);
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
			kprobe_opt_move(sites[i], KPROBE_OPT_LIVE);
		else
			cancel_for_now(sites[i], KPROBE_NOOPT_CHANGED);
	}
}

static void patch_waiting(void)
{
	while (!list_empty(&kprobe_opt_waiting)) {
		kprobe_opt_patch_some();
		cond_resched();
	}
}

static void free_reclaimed(struct list_head *list)
{
	struct optimized_kprobe *op, *tmp;

	list_for_each_entry_safe(op, tmp, list, list) {
		struct kprobe_site *site = kprobe_op_to_site(op);

		list_del_init(&op->list);
		rb_erase(&site->node, &kprobe_opt_leaving);
		arch_remove_optimized_kprobe(op);
		kprobe_opt_reconsider(kprobe_site_addr(site));
		kprobe_opt_move(site, KPROBE_OPT_NONE);
		kprobe_site_release(site);
		kfree_rcu(site, rcu);
	}
}

static void kprobe_optimizer_round(struct work_struct *work)
{
	LIST_HEAD(reclaim);
	bool wait;

	while (kprobe_opt_prepare_some())
		cond_resched();

	scoped_guard(mutex, &kprobe_mutex) {
		close_queue();
		if (!KPROBE_JUMP_IS_LONG)
			patch_waiting();
		list_splice_init(&kprobe_opt_reclaimed, &reclaim);
		wait = !list_empty(&kprobe_opt_waiting) || !list_empty(&reclaim);
	}

	if (wait)
		kprobe_opt_wait_for_tasks();

	guard(mutex)(&kprobe_mutex);

	patch_waiting();
	free_reclaimed(&reclaim);

	if (!list_empty(&kprobe_opt_fresh) || !list_empty(&kprobe_opt_queue) ||
	    !list_empty(&kprobe_opt_reclaimed)) {
		queue_work(system_dfl_wq, &opt_work);
		return;
	}

	WRITE_ONCE(opt_busy, false);
	wake_up_all(&opt_idle);
}

/**
 * wait_for_kprobe_optimizer() - wait until the optimizer has no more work
 *
 * Context: process context, kprobe_mutex not held.
 */
void wait_for_kprobe_optimizer(void)
{
	wait_event(opt_idle, !READ_ONCE(opt_busy));
}

#ifdef CONFIG_SYSCTL
/*
 * debug.kprobes-optimization
 */

/* Concurrent writes take effect one after another. */
static DEFINE_MUTEX(opt_sysctl_mutex);

static int opt_sysctl(const struct ctl_table *table, int write, void *buffer,
		      size_t *lenp, loff_t *ppos)
{
	struct ctl_table shown = *table;
	int value, ret;
	bool old;

	guard(mutex)(&opt_sysctl_mutex);

	old = kprobe_opt_is_allowed();
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

static int __init kprobe_opt_sysctl_init(void)
{
	register_sysctl_init("debug", opt_sysctls);
	return 0;
}
subsys_initcall(kprobe_opt_sysctl_init);
#endif /* CONFIG_SYSCTL */
