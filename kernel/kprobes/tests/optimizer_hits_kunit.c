// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits while the optimizer is at work: each call has to be exactly one hit, whatever
 * the text holds at that moment.
 */

#include "suite.h"

#include <linux/hash.h>
#include <linux/init.h>

#include "../optimizer.h"
#include "helpers.h"
#include "optimizer_helpers.h"

struct caller {
	struct task_struct	*task;
	int			calls;
	int			wrong;
};

static int caller_thread(void *data)
{
	struct caller *c = data;

	while (!kthread_should_stop()) {
		if (kp_opt_first(c->calls) != c->calls + 3)
			c->wrong++;
		/* Tasks-RCU does not count preemption as a quiescent state. */
		if (!(++c->calls % 64))
			cond_resched_tasks_rcu_qs();
	}

	return 0;
}

/* Through breakpoint and slot, through breakpoint and detour, or through the jump. */
static void optimizer_each_call_is_a_hit(struct kunit *test)
{
	struct kp_watch *p = KP_WATCHED(test, false, .symbol_name = "kp_opt_first");
	struct caller callers[3] = {};
	int i, calls = 0;

	for (i = 0; i < ARRAY_SIZE(callers); i++) {
		callers[i].task = kthread_run(caller_thread, &callers[i], "kp_opt/%d", i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(callers[i].task));
	}

	for (i = 0; i < 40; i++) {
		kprobe_opt_allow(false);
		if (i % 4 == 1)
			schedule_timeout_uninterruptible(1);
		kprobe_opt_allow(true);
		if (i % 4 == 2)
			schedule_timeout_uninterruptible(1);
		if (i % 4 == 3)
			wait_for_kprobe_optimizer();
	}

	for (i = 0; i < ARRAY_SIZE(callers); i++) {
		kthread_stop(callers[i].task);
		KUNIT_EXPECT_EQ(test, callers[i].wrong, 0);
		calls += callers[i].calls;
	}
	KUNIT_EXPECT_GT(test, calls, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->pre), calls);
	KUNIT_EXPECT_EQ(test, p->kp.nmissed, 0);
}

struct kicker {
	struct task_struct	*task;
	const char		*symbol;
	int			errors;
};

static int kicker_thread(void *data)
{
	struct kicker *k = data;
	int i;

	for (i = 0; i < 50; i++) {
		struct kprobe p = { .symbol_name = k->symbol, .pre_handler = kp_nothing_pre };

		if (register_kprobe(&p)) {
			k->errors++;
			continue;
		}
		if (i % 3)
			schedule_timeout_uninterruptible(i % 3 - 1);
		unregister_kprobe(&p);
	}

	return 0;
}

/* However often it is kicked, the worker runs, and comes to an end. */
static void optimizer_many_kick_it(struct kunit *test)
{
	struct kicker kickers[4] = {};
	struct kprobe *a, *b;
	int i;

	for (i = 0; i < ARRAY_SIZE(kickers); i++) {
		kickers[i].symbol = i % 2 ? "kp_opt_first" : "kp_opt_second";
		kickers[i].task = kthread_create(kicker_thread, &kickers[i], "kp_opt/%d", i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(kickers[i].task));
		wake_up_process(get_task_struct(kickers[i].task));
	}

	for (i = 0; i < 10; i++) {
		kprobe_opt_allow(i % 2);
		schedule_timeout_uninterruptible(2);
	}
	for (i = 0; i < ARRAY_SIZE(kickers); i++) {
		kthread_stop_put(kickers[i].task);
		KUNIT_EXPECT_EQ(test, kickers[i].errors, 0);
	}

	a = KP_PROBE(test, .symbol_name = "kp_opt_first", .pre_handler = kp_nothing_pre);
	b = KP_PROBE(test, .symbol_name = "kp_opt_second", .pre_handler = kp_nothing_pre);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(a), KPROBE_OPT_LIVE);
	KUNIT_EXPECT_EQ(test, state_of(b), KPROBE_OPT_LIVE);
}

#ifndef CONFIG_HAVE_OPTPROBES_RANGE
/*
 * Where a jump replaces a single instruction, all instructions of a function can have
 * one. Which of them do must not matter.
 */

#define WORK_ITEMS	64

/* Loops, branches, a call; no constant that would be data in the text. */
static noinline __noclone notrace u32 kp_opt_work(const u32 *item, unsigned int nr)
{
	u32 sum = 7;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		u32 v = item[i];

		if (v & 1)
			sum = (sum << 5 | sum >> 27) ^ v;
		else if (v & 2)
			sum += kp_opt_second(v);
		else
			sum = sum * 3 - v;
		if (!(sum & 63))
			break;
	}

	return sum + i;
}

struct work {
	u32			item[WORK_ITEMS];
	struct kp_watch		*probe;
	int			*once;
	unsigned int		nr;
};

static u32 do_work(struct work *w)
{
	u32 (*volatile fn)(const u32 *item, unsigned int nr) = kp_opt_work;

	return fn(w->item, WORK_ITEMS);
}

/* The architecture may refuse some. */
static void probe_all_of_it(struct kunit *test, struct work *w)
{
	unsigned long addr, size, offset;

	addr = (unsigned long)dereference_symbol_descriptor(kp_opt_work);
	KUNIT_ASSERT_NE(test, kallsyms_lookup_size_offset(addr, &size, &offset), 0);
	w->probe = kp_calloc(test, size / sizeof(kprobe_opcode_t), sizeof(*w->probe));
	w->once = kp_calloc(test, size / sizeof(kprobe_opcode_t), sizeof(*w->once));

	for (offset = 0; offset < size; offset += sizeof(kprobe_opcode_t)) {
		struct kp_watch *p = &w->probe[w->nr];

		*p = (struct kp_watch)KP_WATCH(addr + offset);
		w->nr += !register_kprobe(&p->kp);
	}
	kunit_info(test, "%u probes in %lu bytes\n", w->nr, size);
}

/* How many of its sites have a jump. */
static unsigned int count_live(struct kunit *test, struct work *w)
{
	unsigned int i, live = 0;

	for (i = 0; i < w->nr; i++) {
		struct kprobe *p = &w->probe[i].kp;

		if (state_of(p) == KPROBE_OPT_LIVE)
			live++;
		else
			kunit_info(test, "no jump at %pS: %u\n", p->addr, why_of(p));
	}

	return live;
}

static void optimizer_takes_whole_function(struct kunit *test)
{
	struct work *w = kp_zalloc(test, sizeof(*w));
	unsigned int i, reached = 0;
	u32 want;

	for (i = 0; i < WORK_ITEMS; i++)
		w->item[i] = hash_32(i + 1, 32);
	want = do_work(w);

	/* First through breakpoints, ... */
	kprobe_opt_allow(false);
	probe_all_of_it(test, w);
	KUNIT_EXPECT_EQ(test, do_work(w), want);
	for (i = 0; i < w->nr; i++) {
		w->once[i] = atomic_read(&w->probe[i].pre);
		reached += !!w->once[i];
	}
	KUNIT_EXPECT_GT(test, reached, w->nr / 2);

	/* ... then the same number through detours. */
	kprobe_opt_allow(true);
	wait_for_kprobe_optimizer();
	/* Powerpc has no detours for loads and stores. */
	KUNIT_EXPECT_GT(test, count_live(test, w), w->nr / 4);
	KUNIT_EXPECT_EQ(test, do_work(w), want);
	for (i = 0; i < w->nr; i++) {
		struct kp_watch *p = &w->probe[i];

		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&p->pre), 2 * w->once[i],
				    "%pS", p->kp.addr);
		KUNIT_EXPECT_EQ(test, p->kp.nmissed, 0);
		unregister_kprobe(&p->kp);
	}
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, do_work(w), want);
}
#endif

/*
 * While the kernel boots. When the first probes are registered, there must be no grace
 * period of tasks to wait for yet.
 */

static atomic_t early_hits;

/* Does not record the instruction pointer: in .data it would count as a branch target. */
static int count_early(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&early_hits);
	return 0;
}

static struct kprobe early_probe = {
	.symbol_name	= "kp_opt_early",
	.pre_handler	= count_early,
};

/* The result of the registration; an error until then. */
static int early_err = -EAGAIN;
static enum kprobe_opt_state early_state, late_state;
/* Why there is no jump, if there is none. */
static u8 late_why;

static KP_UNTRACED(u32, kp_opt_early, v + 7)

static int __init register_early(void)
{
	early_err = register_kprobe(&early_probe);
	if (!early_err)
		early_state = state_of(&early_probe);
	return 0;
}
core_initcall(register_early);

static int __init look_late(void)
{
	if (early_err)
		return 0;

	kp_opt_early(1);
	wait_for_kprobe_optimizer();
	late_state = state_of(&early_probe);
	late_why = why_of(&early_probe);
	kp_opt_early(1);
	unregister_kprobe(&early_probe);
	return 0;
}
late_initcall(look_late);

static void optimizer_takes_early_probe(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, early_err, 0);
	KUNIT_EXPECT_EQ(test, early_state, KPROBE_OPT_NONE);
	KUNIT_EXPECT_EQ_MSG(test, late_state, KPROBE_OPT_LIVE, "%s", kprobe_noopt_name(late_why));
	KUNIT_EXPECT_EQ(test, atomic_read(&early_hits), 2);
}

static struct kunit_case optimizer_hits_cases[] = {
	KUNIT_CASE(optimizer_each_call_is_a_hit),
	KUNIT_CASE(optimizer_many_kick_it),
	KUNIT_CASE(optimizer_takes_early_probe),
#ifndef CONFIG_HAVE_OPTPROBES_RANGE
	KUNIT_CASE(optimizer_takes_whole_function),
#endif
	{}
};

KP_SUITE(optimizer_hits_cases, .name = "kprobes_optimizer_hits", .init = kp_opt_init);
