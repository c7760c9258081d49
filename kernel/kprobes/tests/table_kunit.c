// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the table in which hits find their site. The sites here are never
 * dereferenced, and their addresses are outside of the kernel, so no hit can find
 * them.
 */

#include "suite.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "../site.h"
#include "../table.h"

#define FAKE_BASE	0x10000ul
#define FAKE_STEP	16
#define NR_FAKES	6000

struct table_test {
	struct kprobe	*sites;
	bool		in[NR_FAKES];
	unsigned long	next;
};

static unsigned long fake_addr(unsigned int i)
{
	return FAKE_BASE + (unsigned long)i * FAKE_STEP;
}

static struct kprobe_table *table(void)
{
	return rcu_dereference_protected(kprobe_table,
					 lockdep_is_held(&kprobe_mutex));
}

static struct kprobe *find(unsigned long addr)
{
	guard(preempt)();
	return kprobe_table_find(addr);
}

/* Insert the fakes [from, to), with one reservation for all of them. */
static int insert_fakes(struct table_test *t, unsigned int from, unsigned int to)
{
	unsigned int i;
	int ret;

	lockdep_assert_held(&kprobe_mutex);

	ret = kprobe_table_reserve(to - from);
	if (ret)
		return ret;

	for (i = from; i < to; i++) {
		kprobe_table_insert(fake_addr(i), &t->sites[i]);
		t->in[i] = true;
	}
	return 0;
}

static void remove_fakes(struct table_test *t, unsigned int from, unsigned int to)
{
	unsigned int i;

	for (i = from; i < to; i++) {
		if (t->in[i])
			kprobe_table_remove(fake_addr(i), &t->sites[i]);
		t->in[i] = false;
	}
}

/* Count the fakes whose lookup gives the wrong result. */
static unsigned int count_wrong(struct table_test *t)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < NR_FAKES; i++)
		wrong += find(fake_addr(i)) != (t->in[i] ? &t->sites[i] : NULL);
	return wrong;
}

static void table_finds_what_was_inserted(struct kunit *test)
{
	struct table_test *t = test->priv;
	unsigned int i, near = 0;

	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_EQ(test, insert_fakes(t, 0, 1000), 0);
	KUNIT_EXPECT_EQ(test, count_wrong(t), 0);

	for (i = 0; i < 1000; i++) {
		near += !!find(fake_addr(i) + 1);
		near += !!find(fake_addr(i) - 1);
	}
	KUNIT_EXPECT_EQ_MSG(test, near, 0, "a neighbour of an address was found");
	KUNIT_EXPECT_NULL(test, find(0));
	KUNIT_EXPECT_NULL(test, find(~0ul));
}

static void table_removal_leaves_the_others(struct kunit *test)
{
	struct table_test *t = test->priv;
	unsigned int i;

	guard(mutex)(&kprobe_mutex);

	KUNIT_EXPECT_EQ(test, insert_fakes(t, 0, 2000), 0);
	for (i = 0; i < 2000; i += 3)
		remove_fakes(t, i, i + 1);
	KUNIT_EXPECT_EQ(test, count_wrong(t), 0);

	/* Not the owner: nothing happens. */
	kprobe_table_remove(fake_addr(1), &t->sites[2]);
	KUNIT_EXPECT_EQ(test, count_wrong(t), 0);
}

/* A tombstone is reused for its own address, and does not become another entry. */
static void table_tombstone_is_used_again(struct kunit *test)
{
	struct table_test *t = test->priv;
	unsigned int used, live;

	guard(mutex)(&kprobe_mutex);

	KUNIT_EXPECT_EQ(test, insert_fakes(t, 0, 100), 0);
	KUNIT_EXPECT_EQ(test, kprobe_table_reserve(10), 0);
	used = table()->used.n;
	live = table()->live.n;

	remove_fakes(t, 50, 60);
	KUNIT_EXPECT_EQ(test, table()->used.n, used);
	KUNIT_EXPECT_EQ(test, table()->live.n, live - 10);

	for (unsigned int i = 50; i < 60; i++) {
		kprobe_table_insert(fake_addr(i), &t->sites[i]);
		t->in[i] = true;
	}
	KUNIT_EXPECT_EQ(test, table()->used.n, used);
	KUNIT_EXPECT_EQ(test, table()->live.n, live);
	KUNIT_EXPECT_EQ(test, count_wrong(t), 0);
}

/*
 * One address after another comes and goes, until the tombstones make the table be
 * copied. None is used twice.
 */
static int churn_until_copied(struct table_test *t)
{
	struct kprobe_table *old = table();
	unsigned long tries = 2 * (old->mask.n + 1);
	int ret = 0;

	while (table() == old && tries-- && !ret) {
		ret = kprobe_table_reserve(1);
		if (ret)
			break;
		t->next += FAKE_STEP;
		kprobe_table_insert(t->next, &t->sites[0]);
		kprobe_table_remove(t->next, &t->sites[0]);
	}
	return table() == old ? -EAGAIN : ret;
}

/* Coming and going forever does not make it grow without bound. */
static void table_does_not_fill_with_tombstones(struct kunit *test)
{
	struct table_test *t = test->priv;
	int i;

	guard(mutex)(&kprobe_mutex);

	KUNIT_EXPECT_EQ(test, insert_fakes(t, 0, 20), 0);
	for (i = 0; i < 20; i++) {
		KUNIT_EXPECT_EQ(test, churn_until_copied(t), 0);
		KUNIT_EXPECT_LE(test, table()->used.n, table()->live.n + 1);
		KUNIT_EXPECT_EQ(test, count_wrong(t), 0);
	}
	KUNIT_EXPECT_LE(test, table()->mask.n + 1, max(64ul, 8 * (table()->live.n + 1)));
}

static void table_grows(struct kunit *test)
{
	struct table_test *t = test->priv;
	unsigned int i;

	guard(mutex)(&kprobe_mutex);

	for (i = 0; i < NR_FAKES; i += 100) {
		KUNIT_EXPECT_EQ(test, insert_fakes(t, i, i + 100), 0);
		/* A reader must always come to an end. */
		KUNIT_EXPECT_LT(test, table()->used.n, table()->mask.n + 1);
		KUNIT_EXPECT_LE(test, table()->used.n, (table()->mask.n + 1) / 2);
		KUNIT_EXPECT_TRUE(test, is_power_of_2(table()->mask.n + 1));
	}
	KUNIT_EXPECT_EQ(test, count_wrong(t), 0);
}

/* A table that cannot grow is unchanged, and a small reservation still fits. */
static void table_without_memory(struct kunit *test)
{
	struct table_test *t = test->priv;
	struct kprobe_table *old;

	if (totalram_pages() > SZ_512M / PAGE_SIZE)
		kunit_skip(test, "needs a machine with little memory");

	guard(mutex)(&kprobe_mutex);

	KUNIT_EXPECT_EQ(test, insert_fakes(t, 0, 100), 0);
	old = table();
	/* A gigabyte on 64 bit; on 32 bit, more than kmalloc() ever gives. */
	KUNIT_EXPECT_EQ(test, kprobe_table_reserve(1 << 24), -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, table(), old);
	KUNIT_EXPECT_EQ(test, count_wrong(t), 0);
	KUNIT_EXPECT_EQ(test, kprobe_table_reserve(1), 0);
}

/* Addresses that all hash to the same position. */
static void table_survives_collisions(struct kunit *test)
{
	unsigned long addr = FAKE_BASE, home, same[32];
	struct table_test *t = test->priv;
	unsigned int n = 0, i;

	guard(mutex)(&kprobe_mutex);

	KUNIT_EXPECT_EQ(test, kprobe_table_reserve(ARRAY_SIZE(same)), 0);
	home = kprobe_table_home(table(), addr);
	for (; n < ARRAY_SIZE(same) && addr < FAKE_BASE + SZ_64M; addr += 4) {
		if (kprobe_table_home(table(), addr) == home)
			same[n++] = addr;
	}
	KUNIT_EXPECT_EQ(test, n, ARRAY_SIZE(same));

	for (i = 0; i < n; i++)
		kprobe_table_insert(same[i], &t->sites[i]);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_PTR_EQ(test, find(same[i]), &t->sites[i]);

	/* Remove one in the middle of the walk: those after it are still found. */
	for (i = 0; i < n; i += 2)
		kprobe_table_remove(same[i], &t->sites[i]);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_PTR_EQ(test, find(same[i]),
				    i % 2 ? &t->sites[i] : NULL);
	for (i = 1; i < n; i += 2)
		kprobe_table_remove(same[i], &t->sites[i]);
}

/* How many entries does a lookup of @addr touch? */
static unsigned int walk_length(unsigned long addr)
{
	struct kprobe_table *t = table();
	unsigned long i = kprobe_table_home(t, addr);
	unsigned int n = 1;

	while (t->entry[i].addr && t->entry[i].addr != addr) {
		i = (i + 1) & t->mask.n;
		n++;
	}
	return n;
}

/*
 * Addresses at a distance of @step. Functions are aligned, and the probes of a batch may
 * all be at the same offset in their pages.
 */
static void expect_short_walks(struct kunit *test, unsigned long step)
{
	struct table_test *t = test->priv;
	unsigned int i, n, total = 0, longest = 0;
	int ret = kprobe_table_reserve(NR_FAKES);

	KUNIT_EXPECT_EQ(test, ret, 0);
	if (ret)
		return;
	for (i = 0; i < NR_FAKES; i++)
		kprobe_table_insert(FAKE_BASE + i * step, &t->sites[i]);
	for (i = 0; i < NR_FAKES; i++) {
		n = walk_length(FAKE_BASE + i * step);
		total += n;
		longest = max(longest, n);
	}
	for (i = 0; i < NR_FAKES; i++)
		kprobe_table_remove(FAKE_BASE + i * step, &t->sites[i]);

	KUNIT_EXPECT_LE_MSG(test, total, 2 * NR_FAKES,
			    "more than two entries for a lookup on average, step %lu", step);
	KUNIT_EXPECT_LE_MSG(test, longest, 64, "step %lu", step);
}

static void table_walks_stay_short(struct kunit *test)
{
	guard(mutex)(&kprobe_mutex);

	expect_short_walks(test, 1);
	expect_short_walks(test, FAKE_STEP);
	expect_short_walks(test, 64);
	expect_short_walks(test, SZ_4K);
	expect_short_walks(test, SZ_64K);
}

struct reader {
	struct table_test	*t;
	struct task_struct	*task;
	unsigned long		lookups;
	unsigned long		missed;
	unsigned long		ghosts;
};

#define NR_STABLE	64

/* The first fakes are always there, odd addresses never. */
static int reader_thread(void *data)
{
	struct reader *r = data;
	unsigned int i = 0;

	while (!kthread_should_stop()) {
		for (i = 0; i < NR_STABLE; i++) {
			if (find(fake_addr(i)) != &r->t->sites[i])
				r->missed++;
			if (find(fake_addr(i) + 1))
				r->ghosts++;
			WRITE_ONCE(r->lookups, r->lookups + 2);
		}
		cond_resched();
	}
	return 0;
}

static void table_lookups_never_miss_while_it_grows(struct kunit *test)
{
	struct table_test *t = test->priv;
	unsigned int i, n = 0, round;
	struct reader *r;

	r = kp_calloc(test, nr_cpu_ids, sizeof(*r));

	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_EQ(test, insert_fakes(t, 0, NR_STABLE), 0);

	for_each_online_cpu(i) {
		r[n].t = t;
		r[n].task = kthread_run_on_cpu(reader_thread, &r[n], i, "kp_table/%u");
		if (IS_ERR(r[n].task))
			break;
		n++;
	}
	KUNIT_EXPECT_GT(test, n, 0);
	/* A CPU may be late by more than all rounds take. */
	for (i = 0; i < n; i++) {
		while (!READ_ONCE(r[i].lookups))
			schedule_timeout_uninterruptible(1);
	}

	for (round = 0; round < 100; round++) {
		scoped_guard(mutex, &kprobe_mutex) {
			KUNIT_EXPECT_EQ(test, churn_until_copied(t), 0);
			KUNIT_EXPECT_EQ(test, insert_fakes(t, NR_STABLE, 1000), 0);
			remove_fakes(t, NR_STABLE, 1000);
		}
		cond_resched();
	}

	while (n--) {
		kthread_stop(r[n].task);
		KUNIT_EXPECT_GT(test, r[n].lookups, 0);
		KUNIT_EXPECT_EQ(test, r[n].missed, 0);
		KUNIT_EXPECT_EQ(test, r[n].ghosts, 0);
	}
}

#if KPROBES_TEST_HAS_LATE_WATCHPOINTS
/* What an NMI sees that comes right after a table was published. */
static struct {
	struct table_test	*t;
	unsigned int		published;
	unsigned int		missed;
} seen;

static void look_for_stable(struct perf_event *bp, struct perf_sample_data *data,
			    struct pt_regs *regs)
{
	unsigned int i;

	seen.published++;
	for (i = 0; i < NR_STABLE; i++)
		seen.missed += kprobe_table_find(fake_addr(i)) != &seen.t->sites[i];
}
NOKPROBE_SYMBOL(look_for_stable);

static void table_is_complete_when_published(struct kunit *test)
{
	struct table_test *t = test->priv;
	struct perf_event * __percpu *bp;
	struct perf_event_attr attr;
	int ret, i;

	memset(&seen, 0, sizeof(seen));
	seen.t = t;
	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_EQ(test, insert_fakes(t, 0, NR_STABLE), 0);

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)&kprobe_table;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.bp_type = HW_BREAKPOINT_W;
	bp = register_wide_hw_breakpoint(&attr, look_for_stable, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR_PCPU(bp));
	for (i = 0; i < 3; i++) {
		scoped_guard(mutex, &kprobe_mutex)
			ret = churn_until_copied(t);
		KUNIT_EXPECT_EQ(test, ret, 0);
	}
	unregister_wide_hw_breakpoint(bp);

	KUNIT_EXPECT_EQ(test, seen.published, 3);
	KUNIT_EXPECT_EQ(test, seen.missed, 0);
}
#else
KP_SKIPPED(table_is_complete_when_published, "needs watchpoints that trap after the access")
#endif

static int table_test_init(struct kunit *test)
{
	struct table_test *t = kp_zalloc(test, sizeof(*t));

	t->next = fake_addr(NR_FAKES);
	t->sites = kvzalloc_objs(*t->sites, NR_FAKES);
	test->priv = t;
	return t->sites ? 0 : -ENOMEM;
}

static void table_test_exit(struct kunit *test)
{
	struct table_test *t = test->priv;

	if (!t || !t->sites)
		return;

	scoped_guard(mutex, &kprobe_mutex)
		remove_fakes(t, 0, NR_FAKES);
	synchronize_rcu();
	kvfree(t->sites);
}

static struct kunit_case table_cases[] = {
	KUNIT_CASE(table_finds_what_was_inserted),
	KUNIT_CASE(table_removal_leaves_the_others),
	KUNIT_CASE(table_tombstone_is_used_again),
	KUNIT_CASE(table_does_not_fill_with_tombstones),
	KUNIT_CASE(table_grows),
	KUNIT_CASE(table_without_memory),
	KUNIT_CASE(table_survives_collisions),
	KUNIT_CASE(table_walks_stay_short),
	KUNIT_CASE(table_is_complete_when_published),
	KUNIT_CASE_SLOW(table_lookups_never_miss_while_it_grows),
	{}
};

KP_SUITE(table_cases, .name = "kprobes_table",
	 .init = table_test_init, .exit = table_test_exit);
