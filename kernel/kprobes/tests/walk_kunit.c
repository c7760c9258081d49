// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of walks over the calls that return probes follow in another task, which may
 * wake up, return and call again while its stack is examined.
 */

#include "suite.h"

#include <linux/stacktrace.h>

#include "helpers.h"
#include "traces.h"

/*
 * A thread that calls two functions, and sleeps in the inner one. In each round it
 * returns from both, and sleeps outside of them unless it may run freely.
 */
struct walker {
	struct task_struct	*task;
	struct completion	call, inside, leave, outside;
	bool			free, stop, spin;
};

static noinline __noclone notrace u32 kp_walk_inner(struct walker *w)
{
	KP_PADDING;
	if (READ_ONCE(w->free)) {
		schedule_timeout_uninterruptible(1);
	} else {
		/* While it spins, it is never switched away. */
		preempt_disable();
		complete(&w->inside);
		while (READ_ONCE(w->spin))
			cpu_relax();
		preempt_enable();
		wait_for_completion(&w->leave);
	}
	return 1;
}

static noinline __noclone notrace u32 kp_walk_outer(struct walker *w)
{
	KP_PADDING;
	return kp_walk_inner(w) + 10;
}

static noinline u32 call_outer(struct walker *w)
{
	u32 (*volatile fn)(struct walker *w) = kp_walk_outer;

	return fn(w) + 100;
}

static int walker_thread(void *data)
{
	struct walker *w = data;

	int wrong = 0;

	for (;;) {
		if (!READ_ONCE(w->free))
			wait_for_completion(&w->call);
		if (READ_ONCE(w->stop))
			break;
		wrong += call_outer(w) != 111;
		complete(&w->outside);
	}
	return kp_await_stop() ?: wrong;
}

static void walker_start(struct kunit *test, struct walker *w, bool free)
{
	init_completion(&w->call);
	init_completion(&w->inside);
	init_completion(&w->leave);
	init_completion(&w->outside);
	w->free = free;
	w->stop = false;
	w->spin = false;
	w->task = kthread_run(walker_thread, w, "kp_walk");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, w->task);
}

static void wait_until_asleep(struct walker *w)
{
	while (!wait_task_inactive(w->task, TASK_UNINTERRUPTIBLE))
		msleep(1);
}

static void walker_goes_inside(struct walker *w)
{
	complete(&w->call);
	wait_for_completion(&w->inside);
	wait_until_asleep(w);
}

static void walker_comes_out(struct walker *w)
{
	complete(&w->leave);
	wait_for_completion(&w->outside);
	wait_until_asleep(w);
}

static void walker_stop(struct kunit *test, struct walker *w)
{
	WRITE_ONCE(w->stop, true);
	complete_all(&w->call);
	KUNIT_EXPECT_EQ(test, kthread_stop(w->task), 0);
}

#ifdef CONFIG_KRETPROBE_ON_RETHOOK
KP_SKIPPED(walk_cursor_of_a_call_that_is_over, "rethook has its own walk")

KP_SKIPPED(walk_calls_of_another_task, "rethook has its own walk")

KP_SKIPPED(walk_while_it_runs, "rethook has its own walk")

KP_SKIPPED(walk_while_it_wakes, "rethook has its own walk")
#else
/* A probe on one of the two functions, and the last call that it followed. */
struct followed {
	struct kretprobe		rp;
	struct kretprobe_instance	*ri;
	atomic_t			returns;
};

static int note_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	WRITE_ONCE(container_of(ri->rp, struct followed, rp)->ri, ri);
	return 0;
}

static int note_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_inc(&container_of(ri->rp, struct followed, rp)->returns);
	return 0;
}

/* The only instance of each pool moves from one task to the next. */
static int follow(struct followed *f, const char *symbol)
{
	memset(f, 0, sizeof(*f));
	f->rp.kp.symbol_name = symbol;
	f->rp.entry_handler = note_entry;
	f->rp.handler = note_return;
	f->rp.maxactive = 1;
	return register_kretprobe(&f->rp);
}

static bool returns_to(void *fn, struct task_struct *task, void *fp, struct llist_node **cur)
{
	return kp_is_within(kretprobe_find_ret_addr(task, fp, cur), fn);
}

/*
 * Other backends do not record them, so a walk finds no call. arm records a register that is an
 * ordinary one without frame pointers: then all calls may seem to have the same frame.
 */
#define HAS_FRAMES	(IS_ENABLED(CONFIG_KRETPROBE_NATIVE) || \
			 (IS_ENABLED(CONFIG_ARM) && IS_ENABLED(CONFIG_FRAME_POINTER)))

/*
 * A walk is interrupted after its first frame. The task returns from both calls, and
 * another task gets the two instances: the cursor no longer points to a call of the
 * first task.
 */
static void walk_cursor_of_a_call_that_is_over(struct kunit *test)
{
	struct followed inner, outer;
	struct llist_node *cur = NULL;
	struct walker first, second;

	KP_SKIP_IF(test, !HAS_FRAMES, "needs the frames of calls");

	KUNIT_ASSERT_EQ(test, follow(&inner, "kp_walk_inner"), 0);
	KUNIT_EXPECT_EQ(test, follow(&outer, "kp_walk_outer"), 0);
	walker_start(test, &first, false);
	walker_start(test, &second, false);

	walker_goes_inside(&first);
	KUNIT_EXPECT_TRUE(test, returns_to(kp_walk_outer, first.task, inner.ri->fp, &cur));
	KUNIT_EXPECT_PTR_EQ(test, cur, &inner.ri->llist);
	KUNIT_EXPECT_TRUE(test, returns_to(call_outer, first.task, outer.ri->fp, &cur));
	KUNIT_EXPECT_PTR_EQ(test, cur, &outer.ri->llist);

	cur = &inner.ri->llist;
	walker_comes_out(&first);
	walker_goes_inside(&second);
	KUNIT_EXPECT_PTR_EQ(test, cur, &inner.ri->llist);
	KUNIT_EXPECT_PTR_EQ(test, inner.ri->task, second.task);
	KUNIT_EXPECT_EQ(test, kretprobe_find_ret_addr(first.task, outer.ri->fp, &cur), 0);
	cur = NULL;
	KUNIT_EXPECT_EQ(test, kretprobe_find_ret_addr(first.task, outer.ri->fp, &cur), 0);
	KUNIT_EXPECT_TRUE(test, returns_to(call_outer, second.task, outer.ri->fp, &cur));

	walker_comes_out(&second);
	walker_stop(test, &first);
	walker_stop(test, &second);
	unregister_kretprobe(&inner.rp);
	unregister_kretprobe(&outer.rp);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner.returns), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&outer.returns), 2);
}

/* What a walk may see of a list whose instances are being reused. */
static void walk_calls_of_another_task(struct kunit *test)
{
	struct llist_node *cur = NULL, stale;
	struct followed inner, outer;
	struct walker w;

	KUNIT_ASSERT_EQ(test, follow(&inner, "kp_walk_inner"), 0);
	KUNIT_EXPECT_EQ(test, follow(&outer, "kp_walk_outer"), 0);
	walker_start(test, &w, false);
	walker_goes_inside(&w);

	/* The cursor belongs to a call that has returned, whatever it is now. */
	stale.next = &outer.ri->llist;
	cur = &stale;
	KUNIT_EXPECT_EQ(test, kretprobe_find_ret_addr(w.task, outer.ri->fp, &cur), 0);

	/* The newest call belongs to another task, so the walk does not get to the cursor. */
	cur = &inner.ri->llist;
	inner.ri->task = current;
	KUNIT_EXPECT_EQ(test, kretprobe_find_ret_addr(w.task, outer.ri->fp, &cur), 0);
	inner.ri->task = w.task;
	KUNIT_EXPECT_TRUE(test, returns_to(call_outer, w.task, outer.ri->fp, &cur));
	cur = NULL;

	/* The older call belongs to another task. */
	outer.ri->task = current;
	KUNIT_EXPECT_TRUE(test, returns_to(kp_walk_outer, w.task, inner.ri->fp, &cur));
	KUNIT_EXPECT_EQ(test, kretprobe_find_ret_addr(w.task, outer.ri->fp, &cur), 0);
	outer.ri->task = w.task;
	KUNIT_EXPECT_TRUE(test, returns_to(call_outer, w.task, outer.ri->fp, &cur));

	/*
	 * The walk would not end by itself, neither from the start nor from a cursor.
	 */
	outer.ri->llist.next = &inner.ri->llist;
	cur = NULL;
	KUNIT_EXPECT_EQ(test, kretprobe_find_ret_addr(w.task, &cur, &cur), 0);
	cur = &stale;
	KUNIT_EXPECT_EQ(test, kretprobe_find_ret_addr(w.task, outer.ri->fp, &cur), 0);
	outer.ri->llist.next = NULL;

	walker_comes_out(&w);
	walker_stop(test, &w);
	unregister_kretprobe(&inner.rp);
	unregister_kretprobe(&outer.rp);
	KUNIT_EXPECT_EQ(test, atomic_read(&outer.returns), 1);
}

/* How often a probe has come and gone. */
static int nr_visits;

static int come_and_go(void *data)
{
	struct followed *f = data;

	while (!kthread_should_stop()) {
		if (follow(f, "kp_walk_outer"))
			return kp_await_stop() ?: -EINVAL;
		msleep(5);
		unregister_kretprobe(&f->rp);
		WRITE_ONCE(nr_visits, nr_visits + 1);
	}
	return 0;
}

/* Its calls may end at any moment. */
static void walk_while_it_runs(struct kunit *test)
{
	struct llist_node *cur = NULL;
	struct followed inner, outer;
	struct walker w;

	KP_SKIP_IF(test, num_online_cpus() < 2, "needs a second CPU");

	KUNIT_ASSERT_EQ(test, follow(&inner, "kp_walk_inner"), 0);
	KUNIT_EXPECT_EQ(test, follow(&outer, "kp_walk_outer"), 0);
	walker_start(test, &w, false);
	WRITE_ONCE(w.spin, true);
	complete(&w.call);
	wait_for_completion(&w.inside);
	KUNIT_EXPECT_EQ(test, kretprobe_find_ret_addr(w.task, inner.ri->fp, &cur), 0);
	KUNIT_EXPECT_PTR_EQ(test, cur, NULL);

	WRITE_ONCE(w.spin, false);
	wait_until_asleep(&w);
	KUNIT_EXPECT_TRUE(test, returns_to(kp_walk_outer, w.task, inner.ri->fp, &cur));
	walker_comes_out(&w);
	walker_stop(test, &w);
	unregister_kretprobe(&inner.rp);
	unregister_kretprobe(&outer.rp);
}

static bool seen_enough(struct followed *inner, unsigned long walks, unsigned long found)
{
	return walks > 100 && found > 100 && atomic_read(&inner->returns) > 20 &&
	       READ_ONCE(nr_visits) > 5;
}

/*
 * Traces of a task that wakes up and sleeps all the time inside probed functions,
 * while one of the probes comes and goes. A trace may be of any moment, but it
 * contains no trampoline, and no return address that was not one.
 */
static void walk_while_it_wakes(struct kunit *test)
{
	unsigned long end, latest, entries[32], addr, found = 0, walks = 0, wrong = 0, hooks = 0;
	struct followed inner, outer = {};
	struct task_struct *other;
	unsigned int i, n;
	struct walker w;
	void *fp = NULL;

	KP_SKIP_IF(test, !HAS_FRAMES, "needs the frames of calls");

	nr_visits = 0;
	KUNIT_ASSERT_EQ(test, follow(&inner, "kp_walk_inner"), 0);
	walker_start(test, &w, true);
	other = kthread_run(come_and_go, &outer, "kp_walk_other");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);

	end = jiffies + 4 * HZ;
	/* On a loaded machine, little happens in a second: the probe waits for this CPU. */
	latest = jiffies + 60 * HZ;
	for (;; walks++) {
		struct llist_node *cur = NULL;

		if (!time_before(jiffies, seen_enough(&inner, walks, found) ? end : latest))
			break;

		/* Its frame is always at the same place of its stack. */
		if (!fp && READ_ONCE(inner.ri))
			fp = READ_ONCE(inner.ri->fp);
		for (i = 0; fp && i < 2; i++) {
			addr = kretprobe_find_ret_addr(w.task, fp, &cur);
			found += !!addr;
			wrong += addr && !kp_is_within(addr, kp_walk_outer);
		}
		n = stack_trace_save_tsk(w.task, entries, ARRAY_SIZE(entries), 0);
		for (i = 0; KPROBES_TEST_HAS_EXACT_TRACES && i < n; i++)
			hooks += is_kretprobe_trampoline(entries[i]);
		if (!(walks % 16))
			cond_resched();
	}

	KUNIT_EXPECT_EQ(test, kthread_stop(other), 0);
	walker_stop(test, &w);
	unregister_kretprobe(&inner.rp);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, hooks, 0);
	KUNIT_EXPECT_TRUE(test, seen_enough(&inner, walks, found));
	kunit_info(test, "%lu walks, %lu found, %d returns, %d visits\n", walks, found,
		   atomic_read(&inner.returns), nr_visits);
}
#endif

/* The very return address at which a trace of a blocked task begins. */

static struct task_struct *switched;
static atomic_t nr_switched;

static int only_switched(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return current != switched;
}

static int note_switched(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (current == switched)
		atomic_inc(&nr_switched);
	return 0;
}

static void walk_trace_of_a_task_switched_away(struct kunit *test)
{
	struct kretprobe rp = {
		.kp.symbol_name	= KPROBES_TEST_SWITCH,
		.entry_handler	= only_switched,
		.handler	= note_switched,
		.maxactive	= 4,
	};
	unsigned long plain[32], now[32];
	unsigned int nr_plain, nr;
	struct walker w;

	if (!KPROBES_TEST_HAS_EXACT_TRACES || !KPROBES_TEST_HAS_PROBED_SWITCH)
		kunit_skip(test, "needs an exact unwinder, and probes where stacks are switched");

	walker_start(test, &w, false);
	walker_goes_inside(&w);
	nr_plain = stack_trace_save_tsk(w.task, plain, ARRAY_SIZE(plain), 0);
	KUNIT_EXPECT_GT(test, nr_plain, 4);
	walker_comes_out(&w);

	switched = w.task;
	atomic_set(&nr_switched, 0);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&rp), 0);
	walker_goes_inside(&w);
	nr = stack_trace_save_tsk(w.task, now, ARRAY_SIZE(now), 0);
	KUNIT_EXPECT_EQ(test, nr, nr_plain);
	KUNIT_EXPECT_MEMEQ(test, now, plain, min(nr, nr_plain) * sizeof(*now));
	if (IS_ENABLED(CONFIG_HAVE_RELIABLE_STACKTRACE))
		KUNIT_EXPECT_GT(test, stack_trace_save_tsk_reliable(w.task, now,
								    ARRAY_SIZE(now)), 4);
	walker_comes_out(&w);
	KUNIT_EXPECT_GE(test, atomic_read(&nr_switched), 1);
	unregister_kretprobe(&rp);
	walker_stop(test, &w);
	switched = NULL;
}

static struct kunit_case walk_testcases[] = {
	KUNIT_CASE(walk_cursor_of_a_call_that_is_over),
	KUNIT_CASE(walk_calls_of_another_task),
	KUNIT_CASE(walk_while_it_runs),
	KUNIT_CASE(walk_while_it_wakes),
	KUNIT_CASE(walk_trace_of_a_task_switched_away),
	{}
};

KP_SUITE(walk_testcases, .name = "kprobes_walk");
