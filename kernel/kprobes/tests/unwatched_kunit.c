// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of hits while RCU is not watching, as in the idle loop: no handler is called,
 * each hit is counted, and nothing is accessed that RCU may have freed.
 */

#include "suite.h"

#include <linux/context_tracking.h>
#include <linux/context_tracking_state.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "../optimizer.h"
#include "../site.h"
#include "../table.h"
#include "helpers.h"

/* RCU_EQS_DEBUG requires the interrupt and lockdep state of the idle task. */
#if defined(CONFIG_CONTEXT_TRACKING_IDLE) && !defined(CONFIG_RCU_EQS_DEBUG)

static KP_UNTRACED(u32, kp_unw_plain, v + 3)

/* Backends have no way without a step for an access to memory. */
static u32 kp_unw_three = 3;

static noinline __noclone notrace u32 kp_unw_stepped(u32 v)
{
	return v + READ_ONCE(kp_unw_three);
}

static KP_TRACED(u32, kp_unw_traced, v + 5)

/* Entered while RCU is watching, left while it is not. */
static noinline __noclone notrace u32 kp_unw_leaves(u32 v)
{
	KP_PADDING;
	OPTIMIZER_HIDE_VAR(v);
	ct_idle_enter();
	return v + 7;
}

/* Like the idle loop; nothing in between may need RCU. */
static noinline notrace u32 call_unwatched(u32 (*fn)(u32 v), u32 v)
{
	unsigned long flags;
	u32 ret;

	local_irq_save(flags);
	if (fn != kp_unw_leaves)
		ct_idle_enter();
	ret = fn(v);
	ct_idle_exit();
	local_irq_restore(flags);
	return ret;
}

enum kind { BREAKPOINT, DETOUR, FTRACE };

struct target {
	const char	*name;
	const char	*symbol;
	u32		(*fn)(u32 v);
	u32		add;
	enum kind	kind;
};

static const struct target targets[] = {
	{ "breakpoint",	"kp_unw_plain",	 kp_unw_plain,	3, BREAKPOINT },
	{ "detour",	"kp_unw_plain",	 kp_unw_plain,	3, DETOUR },
	{ "ftrace",	"kp_unw_traced", kp_unw_traced,	5, FTRACE },
};
KUNIT_ARRAY_PARAM_DESC(target, targets, name);

struct site_user {
	struct kprobe	kp;
	unsigned int	pre, post, faults;
	unsigned int	unwatched;
};

struct unwatched_test {
	struct site_user		user[2];
	struct kretprobe	rp;
	unsigned int		returns;
	/* The site of the users, and what a fault handler has returned. */
	struct kprobe		*site;
	int			handled;
	/* What a watchpoint has seen. */
	unsigned int		touched, unseen;
	/* The thread while RCU is not watching it, and the handler in which it waits. */
	struct completion	ready;
	int			cpu;
	bool			inside, go, over;
	const struct step	*step;
	/* The probe is gone; what its handlers have done after that. */
	bool			gone;
	unsigned int		late;
	u32			result;
	/* The table and the outcome of its replacement. */
	unsigned long		size;
	int			ret;
};

static struct unwatched_test *now;

static int count_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct site_user *u = container_of(p, struct site_user, kp);

	u->pre++;
	u->unwatched += !rcu_is_watching();
	return 0;
}

static void count_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	struct site_user *u = container_of(p, struct site_user, kp);

	u->post++;
	u->unwatched += !rcu_is_watching();
}

#ifdef CONFIG_OPTPROBES
static bool is_live(struct kprobe *p)
{
	guard(mutex)(&kprobe_mutex);

	return kprobe_site_at((unsigned long)p->addr)->opt == KPROBE_OPT_LIVE;
}

/* A jump would take away a landing pad. */
static bool is_landing_pad(struct kprobe *p)
{
	guard(mutex)(&kprobe_mutex);

	return kprobe_site_at((unsigned long)p->addr)->opt_why == KPROBE_NOOPT_LANDING;
}
#else
static bool is_live(struct kprobe *p)
{
	return false;
}

static bool is_landing_pad(struct kprobe *p)
{
	return false;
}
#endif

static void skip_if_absent(struct kunit *test, const struct target *t)
{
	if (t->kind == FTRACE && !KPROBES_TEST_HAS_FTRACE_NAMES)
		kunit_skip(test, "probes by name are not on ftrace sites");
	KP_SKIP_IF(test, t->kind == DETOUR && !IS_ENABLED(CONFIG_OPTPROBES), "needs OPTPROBES");
}

/* @post: has the second one a post handler? */
static struct unwatched_test *add_users(struct kunit *test, const struct target *t, bool post)
{
	struct unwatched_test *u = test->priv;
	unsigned int i;

	skip_if_absent(test, t);
	if (t->kind == BREAKPOINT)
		kprobe_opt_allow(false);
	for (i = 0; i < ARRAY_SIZE(u->user); i++) {
		u->user[i].kp.symbol_name = t->symbol;
		u->user[i].kp.pre_handler = count_pre;
		u->user[i].kp.post_handler = post && i ? count_post : NULL;
		KP_ADD(test, &u->user[i].kp);
	}
	if (t->kind == DETOUR)
		wait_for_kprobe_optimizer();
	return u;
}

#define CALLS	5

static void unwatched_hits_are_missed(struct kunit *test)
{
	const struct target *t = test->param_value;
	struct unwatched_test *u = add_users(test, t, t->kind != DETOUR);
	long misses;
	int i;

	KP_SKIP_IF(test, t->kind == DETOUR && is_landing_pad(&u->user[0].kp),
		   "no jump replaces a landing pad");
	KUNIT_EXPECT_EQ(test, is_live(&u->user[0].kp), t->kind == DETOUR);
	for (i = 0; i < CALLS; i++)
		KUNIT_EXPECT_EQ(test, call_unwatched(t->fn, i), i + t->add);
	misses = u->user[0].kp.nmissed_rcu;
	/* The effect ends as soon as RCU watches again. */
	KUNIT_EXPECT_EQ(test, t->fn(1), 1 + t->add);

	for (i = 0; i < 2; i++) {
		struct site_user *p = &u->user[i];

		KUNIT_EXPECT_EQ(test, p->unwatched, 0);
		KUNIT_EXPECT_EQ(test, p->kp.nmissed, misses);
		KUNIT_EXPECT_EQ(test, p->pre + p->kp.nmissed, CALLS + 1);
		KUNIT_EXPECT_EQ(test, p->post, p->kp.post_handler ? p->pre : 0);
	}
	/* A breakpoint may make RCU watch; nothing else does. */
	if (t->kind != BREAKPOINT)
		KUNIT_EXPECT_EQ(test, misses, CALLS);
	else if (KPROBE_TRAP_IS_WATCHED)
		KUNIT_EXPECT_EQ(test, misses, 0);
}

/* Backends call these without knowing whether RCU is watching. */
static notrace u32 call_handlers(u32 v)
{
	struct pt_regs regs = {};

	kprobe_site_pre_handler(now->site, &regs);
	kprobe_site_post_handler(now->site, &regs, 0);
	now->handled = kprobe_site_fault_handler(now->site, &regs, 0);
	return v;
}

static int count_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	struct site_user *u = container_of(p, struct site_user, kp);

	u->faults++;
	u->unwatched += !rcu_is_watching();
	return 1;
}

static struct kprobe *site_probe(struct kprobe *p)
{
	/* The site stays while @p is registered. */
	guard(preempt)();

	return get_kprobe(p->addr);
}

/* Without its handler, a probed return trampoline would return to itself forever. */
static void as_trampoline(struct kprobe *p, bool on)
{
	guard(mutex)(&kprobe_mutex);

	kprobe_site_at((unsigned long)p->addr)->trampoline = on;
}

static void handlers_are_called_where_rcu_watches(struct kunit *test)
{
	struct unwatched_test *u = test->priv;
	struct site_user *p = &u->user[1];

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_HAVE_KPROBE_FAULT_HANDLER), "needs fault handlers");
	p->kp.fault_handler = count_fault;
	add_users(test, &targets[FTRACE], true);
	u->site = site_probe(&p->kp);

	KUNIT_EXPECT_EQ(test, call_unwatched(call_handlers, 7), 7);
	KUNIT_EXPECT_EQ(test, p->pre + p->post + p->faults, 0);
	KUNIT_EXPECT_EQ(test, u->handled, 0);
	KUNIT_EXPECT_EQ(test, p->kp.nmissed, 1);
	KUNIT_EXPECT_EQ(test, p->kp.nmissed_rcu, 1);

	scoped_guard(preempt)
		call_handlers(7);
	KUNIT_EXPECT_EQ(test, p->pre, 1);
	KUNIT_EXPECT_EQ(test, p->post, 1);
	KUNIT_EXPECT_EQ(test, p->faults, 1);
	KUNIT_EXPECT_EQ(test, u->handled, 1);
	KUNIT_EXPECT_EQ(test, p->kp.nmissed, 1);
	KUNIT_EXPECT_EQ(test, p->unwatched, 0);

	as_trampoline(&p->kp, true);
	KUNIT_EXPECT_EQ(test, call_unwatched(call_handlers, 7), 7);
	as_trampoline(&p->kp, false);
	KUNIT_EXPECT_EQ(test, p->pre, 2);
	KUNIT_EXPECT_EQ(test, p->kp.nmissed, 1);
	KUNIT_EXPECT_EQ(test, p->unwatched, 3);
}

#ifdef CONFIG_OPTPROBES
static notrace u32 call_opt_pre_handler(u32 v)
{
	struct pt_regs regs = {};

	opt_pre_handler(now->site, &regs);
	return v;
}

/* Detours that cannot redirect call this. */
static void opt_handlers_are_called_where_rcu_watches(struct kunit *test)
{
	struct unwatched_test *u = add_users(test, &targets[DETOUR], false);
	struct site_user *p = &u->user[0];

	u->site = site_probe(&p->kp);

	KUNIT_EXPECT_EQ(test, call_unwatched(call_opt_pre_handler, 7), 7);
	KUNIT_EXPECT_EQ(test, p->pre, 0);
	KUNIT_EXPECT_EQ(test, p->kp.nmissed, 1);
	KUNIT_EXPECT_EQ(test, p->kp.nmissed_rcu, 1);

	scoped_guard(preempt)
		call_opt_pre_handler(7);
	KUNIT_EXPECT_EQ(test, p->pre, 1);
	KUNIT_EXPECT_EQ(test, u->user[1].pre, 1);
	KUNIT_EXPECT_EQ(test, p->kp.nmissed, 1);

	as_trampoline(&p->kp, true);
	KUNIT_EXPECT_EQ(test, call_unwatched(call_opt_pre_handler, 7), 7);
	as_trampoline(&p->kp, false);
	KUNIT_EXPECT_EQ(test, p->pre, 2);
	KUNIT_EXPECT_EQ(test, p->kp.nmissed, 1);
}
#else
KP_SKIPPED(opt_handlers_are_called_where_rcu_watches, "needs OPTPROBES")
#endif

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	now->returns++;
	return 0;
}

static struct unwatched_test *add_return(struct kunit *test, const char *symbol)
{
	struct unwatched_test *u = test->priv;

	u->rp.kp.symbol_name = symbol;
	u->rp.handler = count_return;
	KP_ADD_RETURN(test, &u->rp);
	return u;
}

static void unwatched_returns_are_missed(struct kunit *test)
{
	struct unwatched_test *u;
	int i;

	/* Some of the base's trampolines ask lockdep whether RCU is watching. */
	if (!IS_ENABLED(CONFIG_KRETPROBE_NATIVE) && IS_ENABLED(CONFIG_PROVE_RCU))
		kunit_skip(test, "needs KRETPROBE_NATIVE");

	u = add_return(test, "kp_unw_leaves");
	for (i = 0; i < CALLS; i++)
		KUNIT_EXPECT_EQ(test, call_unwatched(kp_unw_leaves, i), i + 7);
	KUNIT_EXPECT_EQ(test, u->rp.kp.nmissed_rcu, u->rp.kp.nmissed);
	KUNIT_EXPECT_EQ(test, u->returns + u->rp.kp.nmissed, CALLS);
	KUNIT_EXPECT_EQ(test, u->rp.nmissed, 0);
	/* If the trampoline is a breakpoint, that may make RCU watch. */
	if (IS_ENABLED(CONFIG_KRETPROBE_NATIVE))
		KUNIT_EXPECT_EQ(test, u->returns, 0);
}

/* If the site has a jump, the short cut of its detour has to notice. */
static void unwatched_entries_are_missed(struct kunit *test)
{
	struct unwatched_test *u = add_return(test, "kp_unw_plain");
	int i;

	wait_for_kprobe_optimizer();
	KP_SKIP_IF(test, !is_live(&u->rp.kp), "needs a jump");
	for (i = 0; i < CALLS; i++)
		KUNIT_EXPECT_EQ(test, call_unwatched(kp_unw_plain, i), i + 3);
	KUNIT_EXPECT_EQ(test, u->rp.kp.nmissed_rcu, CALLS);
	KUNIT_EXPECT_EQ(test, u->rp.kp.nmissed, CALLS);
	KUNIT_EXPECT_EQ(test, u->rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, u->returns, 0);
	KUNIT_EXPECT_EQ(test, kp_unw_plain(1), 4);
	KUNIT_EXPECT_EQ(test, u->returns, 1);
}

/* Its probe leaves before it returns, while RCU is not watching. */
static noinline __noclone notrace u32 kp_unw_forgotten(u32 v)
{
	KP_PADDING;
	unregister_kretprobe(&now->rp);
	local_irq_disable();
	ct_idle_enter();
	return v + 9;
}

static void unwatched_returns_after_unregistration(struct kunit *test)
{
	u32 (*volatile fn)(u32 v) = kp_unw_forgotten;
	struct unwatched_test *u;
	u32 ret;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_KRETPROBE_NATIVE), "needs KRETPROBE_NATIVE");

	u = add_return(test, "kp_unw_forgotten");
	ret = fn(1);
	ct_idle_exit();
	local_irq_enable();
	KUNIT_EXPECT_EQ(test, ret, 10);
	KUNIT_EXPECT_EQ(test, u->returns + u->rp.kp.nmissed, 0);
}

#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
static noinline __noclone notrace u32 kp_unw_sleeps(struct kp_sleeper *s)
{
	KP_PADDING;
	return kp_sleep(s);
}

/* A call that another task is in. */
static struct task_struct *walked;
static struct kretprobe_instance *walked_ri;
static unsigned long walked_ret;

static int note_instance(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	walked_ri = ri;
	return 0;
}

static notrace u32 walk(u32 v)
{
	struct llist_node *cur = NULL;

	walked_ret = kretprobe_find_ret_addr(walked, walked_ri->fp, &cur);
	return v + !!cur;
}

/* The instances of another task may be freed. */
static void unwatched_walk_finds_nothing(struct kunit *test)
{
	struct kretprobe rp = {
		.kp.symbol_name	= "kp_unw_sleeps",
		.entry_handler	= note_instance,
		.maxactive	= 1,
	};
	struct kp_sleeper s;

	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	KUNIT_ASSERT_EQ(test, kp_sleeper_start(&s, kp_unw_sleeps), 0);
	walked = s.task;
	KUNIT_EXPECT_EQ(test, call_unwatched(walk, 7), 7);
	KUNIT_EXPECT_EQ(test, walked_ret, 0);
	KUNIT_EXPECT_EQ(test, walk(7), 8);
	KUNIT_EXPECT_NE(test, walked_ret, 0);
	KUNIT_EXPECT_FALSE(test, kp_is_return_hook(walked_ret));
	KUNIT_EXPECT_EQ(test, kp_sleeper_wake(&s), KP_SLEEPER_RETURNS);
	unregister_kretprobe(&rp);
}
#else
KP_SKIPPED(unwatched_walk_finds_nothing, "needs KRETPROBES, and not on rethook")
#endif

/*
 * Anything accessed while RCU is not watching may have been freed. A watchpoint sees
 * each access, and whether RCU was watching the code that made it.
 */
#if KPROBES_TEST_HAS_LATE_WATCHPOINTS
static void look(struct perf_event *bp, struct perf_sample_data *data,
		 struct pt_regs *regs)
{
	now->touched++;
	/* The entry code of this very exception has made RCU watch. */
	now->unseen += ct_nmi_nesting() == 1;
}
NOKPROBE_SYMBOL(look);

/* The watchpoint has to see at least @times accesses in that many calls. */
static void watch_calls(struct kunit *test, void *addr, u32 (*fn)(u32 v),
			unsigned int times)
{
	struct unwatched_test *u = test->priv;
	struct perf_event * __percpu *bp;
	struct perf_event_attr attr;
	unsigned int i;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)addr;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.bp_type = HW_BREAKPOINT_RW;
	u->touched = 0;
	bp = register_wide_hw_breakpoint(&attr, look, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR_PCPU(bp));
	for (i = 0; i < times; i++)
		call_unwatched(fn, i);
	unregister_wide_hw_breakpoint(bp);
	KUNIT_EXPECT_GE(test, u->touched, times);
	KUNIT_EXPECT_EQ(test, u->unseen, 0);
}

static void *table_entry_of(struct kprobe *p)
{
	struct kprobe_table *t;
	unsigned long i;

	guard(mutex)(&kprobe_mutex);

	t = rcu_dereference_protected(kprobe_table, lockdep_is_held(&kprobe_mutex));
	i = kprobe_table_home(t, (unsigned long)p->addr);
	while (t->entry[i].addr != (unsigned long)p->addr)
		i = (i + 1) & t->mask.n;
	return &t->entry[i].kp;
}

static void unwatched_hits_touch_nothing_unseen(struct kunit *test)
{
	const struct target *t = test->param_value;
	struct unwatched_test *u = add_users(test, t, false);

	/* A detour has a pointer to its site. */
	if (t->kind != DETOUR)
		watch_calls(test, table_entry_of(&u->user[0].kp), t->fn, CALLS);
	/* Breakpoints on x86 make RCU watch, and then nothing is missed. */
	if (t->kind != BREAKPOINT)
		watch_calls(test, &u->user[0].kp.nmissed, t->fn, CALLS);
}

static u32 (*call_busy_fn)(u32 v);

static u32 call_busy(u32 v)
{
	u32 ret;

	kprobe_busy_begin();
	ret = call_busy_fn(v);
	kprobe_busy_end();
	return ret;
}

static void unwatched_nested_hits_touch_nothing_unseen(struct kunit *test)
{
	const struct target *t = test->param_value;
	struct unwatched_test *u = add_users(test, t, false);

	call_busy_fn = t->fn;
	watch_calls(test, &u->user[0].kp.nmissed, call_busy, CALLS);
	KUNIT_EXPECT_EQ(test, u->user[0].kp.nmissed, CALLS);
	KUNIT_EXPECT_EQ(test, u->user[0].kp.nmissed_rcu, 0);
}

static void unwatched_returns_touch_nothing_unseen(struct kunit *test)
{
	struct unwatched_test *u = add_return(test, "kp_unw_leaves");

	watch_calls(test, &u->rp.kp.nmissed, kp_unw_leaves, CALLS);
}
#else
KP_SKIPPED(unwatched_hits_touch_nothing_unseen, "needs watchpoints that trap after the access")

KP_SKIPPED(unwatched_nested_hits_touch_nothing_unseen,
	   "needs watchpoints that trap after the access")

KP_SKIPPED(unwatched_returns_touch_nothing_unseen, "needs watchpoints that trap after the access")
#endif

/*
 * A CPU on which RCU is not watching, as in a breakpoint that has just looked up its
 * site: one of two users is unregistered, and the text does not change.
 */
static int unwatched_thread(void *data)
{
	struct unwatched_test *u = data;
	unsigned int ms;

	local_irq_disable();
	ct_idle_enter();
	WRITE_ONCE(u->inside, true);
	for (ms = 0; ms < 300 && !READ_ONCE(u->go); ms++)
		mdelay(1);
	WRITE_ONCE(u->over, true);
	ct_idle_exit();
	local_irq_enable();
	complete(&u->ready);
	return 0;
}

static void need_unwatched_breakpoints(struct kunit *test)
{
	KP_SKIP_IF(test, KPROBE_TRAP_IS_WATCHED, "RCU watches in all breakpoints");
	KP_SKIP_IF(test, num_online_cpus() < 2, "needs a second CPU");
}

/* @waits has to wait for a CPU where RCU is not watching. */
static void expect_wait(struct kunit *test, void (*waits)(struct unwatched_test *u))
{
	unsigned int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct unwatched_test *u = test->priv;
	struct task_struct *task;

	task = kthread_create_on_cpu(unwatched_thread, u, cpu, "kp_unw/%u");
	KUNIT_EXPECT_FALSE(test, IS_ERR(task));
	if (IS_ERR(task))
		return;

	wake_up_process(task);
	while (!READ_ONCE(u->inside))
		cond_resched();
	waits(u);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(u->over));
	WRITE_ONCE(u->go, true);
	wait_for_completion(&u->ready);
}

static void unregister_second(struct unwatched_test *u)
{
	unregister_kprobe(&u->user[1].kp);
}

static void unwatched_breakpoints_are_waited_for(struct kunit *test)
{
	need_unwatched_breakpoints(test);
	add_users(test, &targets[0], false);
	expect_wait(test, unregister_second);
}

#define LARGE_TABLE	16384

/* More than the table has room for, so that it is replaced. */
static void replace_table(struct unwatched_test *u)
{
	guard(mutex)(&kprobe_mutex);

	u->size = rcu_dereference_protected(kprobe_table,
					    lockdep_is_held(&kprobe_mutex))->mask.n + 1;
	u->ret = u->size > LARGE_TABLE ? -EFBIG : kprobe_table_reserve(u->size);
}

static void unwatched_table_is_waited_for(struct kunit *test)
{
	struct unwatched_test *u = test->priv;

	need_unwatched_breakpoints(test);
	/* The first table is never freed, so nothing has to wait for it. */
	replace_table(u);
	if (u->ret || 4 * u->size > LARGE_TABLE)
		kunit_skip(test, "the table of %lu entries cannot grow twice: %d", u->size, u->ret);
	expect_wait(test, replace_table);
	KUNIT_EXPECT_EQ(test, u->ret, 0);
}

/*
 * A step is two exceptions, in which RCU watches, and between them an instruction for which it
 * may not: there, a grace period that has begun before can end. So it is something else that has
 * to wait for the end of the hit.
 */
struct step {
	const char	*name;
	bool		post, shared;
};

static const struct step steps[] = {
	{ "before the instruction" },
	{ "after the instruction", .post = true },
	{ "before the instruction, of two probes", .shared = true },
	{ "after the instruction, of two probes", .post = true, .shared = true },
};
KUNIT_ARRAY_PARAM_DESC(step, steps, name);

static void count_late(void)
{
	now->late += READ_ONCE(now->gone);
}

/* Until the probe is being unregistered, and then for longer than that takes. */
static void stay(void)
{
	unsigned int ms;

	count_late();
	WRITE_ONCE(now->inside, true);
	for (ms = 0; ms < 300 && !READ_ONCE(now->go); ms++)
		mdelay(1);
	mdelay(100);
	count_late();
}

static int step_pre(struct kprobe *p, struct pt_regs *regs)
{
	if (!now->step->post)
		stay();
	return count_pre(p, regs);
}

static void step_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	stay();
	count_post(p, regs, flags);
}

static int step_thread(void *data)
{
	struct unwatched_test *u = data;

	u->result = call_unwatched(kp_unw_stepped, 1);
	WRITE_ONCE(u->over, true);
	complete(&u->ready);
	return 0;
}

/* The first instruction that is executed by a step. */
static kprobe_opcode_t *find_stepped(void)
{
	unsigned long start = (unsigned long)kp_unw_stepped, size, into, at;
	bool stepped;

	if (!kallsyms_lookup_size_offset(start, &size, &into))
		return NULL;
	for (at = start; at < start + size; at++) {
		struct kprobe kp = { .addr = (void *)at, .post_handler = step_post };

		if (register_kprobe(&kp))
			continue;
		scoped_guard(mutex, &kprobe_mutex)
			stepped = !strcmp(kprobe_mode(get_kprobe(kp.addr)), "stepped");
		unregister_kprobe(&kp);
		if (stepped)
			return kp.addr;
	}
	return NULL;
}

static void unwatched_steps_are_waited_for(struct kunit *test)
{
	unsigned int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct unwatched_test *u = test->priv;
	struct site_user *first = &u->user[0], *second = &u->user[1];
	struct task_struct *task;

	KP_SKIP_IF(test, !KPROBE_TRAP_IS_WATCHED, "RCU does not watch in breakpoints");
	KP_SKIP_IF(test, num_online_cpus() < 2, "needs a second CPU");

	u->step = test->param_value;
	second->kp.addr = find_stepped();
	KUNIT_ASSERT_NOT_NULL(test, second->kp.addr);
	second->kp.pre_handler = step_pre;
	second->kp.post_handler = step_post;
	first->kp.addr = second->kp.addr;
	first->kp.pre_handler = count_pre;
	first->kp.post_handler = count_post;
	if (u->step->shared)
		KP_ADD(test, &first->kp);
	KP_ADD(test, &second->kp);

	task = kthread_create_on_cpu(step_thread, u, cpu, "kp_unw/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wake_up_process(task);
	while (!READ_ONCE(u->inside) && !READ_ONCE(u->over))
		cond_resched();
	WRITE_ONCE(u->go, true);
	unregister_kprobe(&second->kp);
	WRITE_ONCE(u->gone, true);
	wait_for_completion(&u->ready);

	KUNIT_EXPECT_TRUE(test, u->inside);
	KUNIT_EXPECT_EQ(test, u->late, 0);
	KUNIT_EXPECT_EQ(test, u->result, 4);
	KUNIT_EXPECT_EQ(test, second->pre, 1);
	KUNIT_EXPECT_EQ(test, second->unwatched + first->unwatched, 0);
	if (u->step->shared) {
		KUNIT_EXPECT_EQ(test, first->pre, 1);
		KUNIT_EXPECT_EQ(test, first->post, 1);
		KUNIT_EXPECT_EQ(test, first->kp.nmissed, 0);
	}
}

static int unwatched_test_init(struct kunit *test)
{
	now = kp_zalloc(test, sizeof(*now));
	init_completion(&now->ready);
	test->priv = now;
	return 0;
}

static void unwatched_test_exit(struct kunit *test)
{
	kprobe_opt_allow(true);
}

static struct kunit_case unwatched_cases[] = {
	KUNIT_CASE_PARAM(unwatched_hits_are_missed, target_gen_params),
	KUNIT_CASE(handlers_are_called_where_rcu_watches),
	KUNIT_CASE(opt_handlers_are_called_where_rcu_watches),
	KUNIT_CASE(unwatched_returns_are_missed),
	KUNIT_CASE(unwatched_entries_are_missed),
	KUNIT_CASE(unwatched_returns_after_unregistration),
	KUNIT_CASE(unwatched_walk_finds_nothing),
	KUNIT_CASE_PARAM(unwatched_hits_touch_nothing_unseen, target_gen_params),
	KUNIT_CASE_PARAM(unwatched_nested_hits_touch_nothing_unseen, target_gen_params),
	KUNIT_CASE(unwatched_returns_touch_nothing_unseen),
	KUNIT_CASE(unwatched_breakpoints_are_waited_for),
	KUNIT_CASE(unwatched_table_is_waited_for),
	KUNIT_CASE_PARAM(unwatched_steps_are_waited_for, step_gen_params),
	{}
};

#else

#define unwatched_test_init	NULL
#define unwatched_test_exit	NULL

KP_SKIPPED(unwatched_nothing, "needs CONTEXT_TRACKING_IDLE and not RCU_EQS_DEBUG")

static struct kunit_case unwatched_cases[] = {
	KUNIT_CASE(unwatched_nothing),
	{}
};

#endif

KP_SUITE(unwatched_cases, .name = "kprobes_unwatched",
	 .init = unwatched_test_init, .exit = unwatched_test_exit);
