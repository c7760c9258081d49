// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of probes at ftrace call sites: which user claims a function, and that no
 * order of registering and unregistering confuses the filters.
 */

#include "suite.h"

#include <kunit/static_stub.h>
#include <linux/irq_work.h>

#include "../arm.h"
#include "../ftrace.h"
#include "../hit_ftrace.h"
#include "../site.h"

#ifdef CONFIG_KPROBES_ON_FTRACE

#include "../module.h"

static KP_TRACED(u32, kp_ft_one, v + 3)
static KP_TRACED(u32, kp_ft_two, v + 5)
static KP_TRACED(u32, kp_ft_three, v + 7)

struct ftrace_test {
	struct kp_watch		plain, post, more, other;
	struct ftrace_ops	ops;
	unsigned int		foreign;
	u32			(*divert)(u32 v);
	/* A call that ftrace makes late, see ftrace_late_call_of_the_old_ops(). */
	struct ftrace_ops	*late;
	struct kprobe_site	*site;
	bool			held, make_it, made;
	/* A call during which the site moves, see hold_a_call(). */
	struct ftrace_ops	change;
	struct irq_work		nested;
	struct task_struct	*caller;
	unsigned int		last;
	bool			go, moved;
};

static void set(struct kp_watch *p, const char *symbol, bool post)
{
	memset(p, 0, sizeof(*p));
	p->kp.symbol_name = symbol;
	if (!KPROBES_TEST_HAS_FTRACE_NAMES)
		p->kp.offset = MCOUNT_INSN_SIZE;
	p->kp.pre_handler = kp_watch_pre;
	p->kp.post_handler = post ? kp_watch_post : NULL;
}

static void add(struct kunit *test, struct kp_watch *p, const char *symbol, bool post)
{
	set(p, symbol, post);
	KUNIT_ASSERT_EQ(test, register_kprobe(&p->kp), 0);
}

/* One after the other. */
#define REMOVE(...) do {						\
	struct kp_watch *__all[] = { __VA_ARGS__ };			\
	int __i;							\
									\
	for (__i = 0; __i < ARRAY_SIZE(__all); __i++)			\
		unregister_kprobe(&__all[__i]->kp);			\
} while (0)

static void call_all(unsigned int times)
{
	u32 (*volatile one)(u32 v) = kp_ft_one;
	u32 (*volatile two)(u32 v) = kp_ft_two;
	u32 (*volatile three)(u32 v) = kp_ft_three;

	while (times--) {
		one(1);
		two(1);
		three(1);
	}
}

/* Each handler of these probes sees each of 3 calls exactly once, or none of them. */
#define EXPECT_HITS(test, n, ...) do {					\
	struct kp_watch *__all[] = { __VA_ARGS__ }, *__p;		\
	int __i;							\
									\
	for (__i = 0; __i < ARRAY_SIZE(__all); __i++) {			\
		__p = __all[__i];					\
		atomic_set(&__p->pre, 0);				\
		atomic_set(&__p->post, 0);				\
	}								\
	call_all(3);							\
	for (__i = 0; __i < ARRAY_SIZE(__all); __i++) {			\
		__p = __all[__i];					\
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&__p->pre), n, "%d", __i); \
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&__p->post),	\
				    __p->kp.post_handler ? (n) : 0, "%d", __i); \
	}								\
} while (0)

static void expect_untouched(struct kunit *test, struct kp_watch *p)
{
	KUNIT_EXPECT_NULL(test, p->kp.addr);
	KUNIT_EXPECT_TRUE(test, list_empty(&p->kp.list));
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&p->kp.hlist));
	EXPECT_HITS(test, 0, p);
}

struct order_case {
	const char	*name;
	bool		post_first;
	bool		post_leaves_first;
};

static const struct order_case order_cases[] = {
	{ "plain, post; post, plain go",	false,	true },
	{ "plain, post; plain, post go",	false,	false },
	{ "post, plain; post, plain go",	true,	true },
	{ "post, plain; plain, post go",	true,	false },
};
KUNIT_ARRAY_PARAM_DESC(order, order_cases, name);

static void ftrace_mixed_post_handlers(struct kunit *test)
{
	const struct order_case *c = test->param_value;
	struct ftrace_test *f = test->priv;
	struct kp_watch *first = &f->plain, *second = &f->post, *swap;
	int round;

	/* Twice, since a counter may be off by only one. */
	for (round = 0; round < 3; round++) {
		set(&f->plain, "kp_ft_one", false);
		set(&f->post, "kp_ft_one", true);
		first = c->post_first ? &f->post : &f->plain;
		second = c->post_first ? &f->plain : &f->post;

		KUNIT_ASSERT_EQ(test, register_kprobe(&first->kp), 0);
		KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&first->kp));
		EXPECT_HITS(test, 3, first);
		KUNIT_EXPECT_EQ(test, register_kprobe(&second->kp), 0);
		EXPECT_HITS(test, 3, first, second);

		if (c->post_leaves_first == (first == &f->plain)) {
			swap = first;
			first = second;
			second = swap;
		}
		unregister_kprobe(&first->kp);
		EXPECT_HITS(test, 0, first);
		EXPECT_HITS(test, 3, second);
		unregister_kprobe(&second->kp);
		EXPECT_HITS(test, 0, second);

		/* A fresh claim on another function. */
		add(test, &f->other, "kp_ft_two", true);
		EXPECT_HITS(test, 3, &f->other);
		unregister_kprobe(&f->other.kp);
		EXPECT_HITS(test, 0, &f->other);
	}
}

/* The first user of the site is disabled when the one with the claim arrives. */
static void ftrace_claim_on_a_disabled_site(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	set(&f->plain, "kp_ft_one", false);
	set(&f->post, "kp_ft_one", true);
	f->plain.kp.flags = KPROBE_FLAG_DISABLED;
	f->post.kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, register_kprobe(&f->plain.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&f->post.kp), 0);
	EXPECT_HITS(test, 0, &f->plain);

	KUNIT_EXPECT_EQ(test, enable_kprobe(&f->post.kp), 0);
	EXPECT_HITS(test, 3, &f->post);
	EXPECT_HITS(test, 0, &f->plain);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&f->plain.kp), 0);
	EXPECT_HITS(test, 3, &f->plain);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&f->post.kp), 0);
	EXPECT_HITS(test, 0, &f->post);
	EXPECT_HITS(test, 3, &f->plain);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&f->plain.kp), 0);
	EXPECT_HITS(test, 0, &f->plain);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&f->plain.kp), 0);
	EXPECT_HITS(test, 3, &f->plain);

	REMOVE(&f->plain, &f->post);
}

static void ftrace_batch_of_both_kinds(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	struct kprobe *kps[] = {
		&f->plain.kp, &f->post.kp, &f->more.kp, &f->other.kp,
	};

	set(&f->plain, "kp_ft_one", false);
	set(&f->post, "kp_ft_two", true);
	set(&f->more, "kp_ft_one", true);
	set(&f->other, "kp_ft_three", false);
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), 0);
	EXPECT_HITS(test, 3, &f->plain, &f->post, &f->more, &f->other);

	/* Half of the users of an ops leave, the others stay armed. */
	unregister_kprobes(kps + 2, 2);
	EXPECT_HITS(test, 3, &f->plain, &f->post);
	EXPECT_HITS(test, 0, &f->more, &f->other);
	unregister_kprobes(kps, 2);
	EXPECT_HITS(test, 0, &f->plain, &f->post);
}

static void foreign_func(unsigned long ip, unsigned long parent_ip,
			 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct ftrace_test *f = container_of(ops, struct ftrace_test, ops);

	f->foreign++;
	if (f->divert)
		instruction_pointer_set(ftrace_get_regs(fregs), (unsigned long)
					dereference_symbol_descriptor(f->divert));
}

static unsigned long site_addr(u32 (*fn)(u32 v))
{
	return ftrace_location((unsigned long)dereference_symbol_descriptor(fn));
}

/* Another subsystem, such as livepatch, claims a function. */
static int foreign_claim_on(struct ftrace_test *f, u32 (*fn)(u32 v))
{
	unsigned long ip = site_addr(fn);
	int ret;

	f->ops.func = foreign_func;
	f->ops.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY;
	ret = ftrace_set_filter_ip(&f->ops, ip, 0, 0);
	return ret ?: register_ftrace_function(&f->ops);
}

static int foreign_claim(struct ftrace_test *f)
{
	return foreign_claim_on(f, kp_ft_one);
}

static void foreign_release(struct ftrace_test *f)
{
	unregister_ftrace_function(&f->ops);
	ftrace_free_filter(&f->ops);
	memset(&f->ops, 0, sizeof(f->ops));
}

static void ftrace_claimed_by_another(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	KUNIT_ASSERT_EQ(test, foreign_claim(f), 0);

	set(&f->post, "kp_ft_one", true);
	KUNIT_EXPECT_EQ(test, register_kprobe(&f->post.kp), -EBUSY);
	expect_untouched(test, &f->post);

	/* A probe without a claim coexists with it. */
	add(test, &f->plain, "kp_ft_one", false);
	EXPECT_HITS(test, 3, &f->plain);

	/* It is not affected when another one is refused. */
	KUNIT_EXPECT_EQ(test, register_kprobe(&f->post.kp), -EBUSY);
	expect_untouched(test, &f->post);
	EXPECT_HITS(test, 3, &f->plain);
	KUNIT_EXPECT_GT(test, f->foreign, 0);

	foreign_release(f);
	KUNIT_EXPECT_EQ(test, register_kprobe(&f->post.kp), 0);
	EXPECT_HITS(test, 3, &f->post, &f->plain);
	KUNIT_EXPECT_EQ(test, foreign_claim(f), -EBUSY);
	ftrace_free_filter(&f->ops);
	memset(&f->ops, 0, sizeof(f->ops));

	REMOVE(&f->post, &f->plain);
	KUNIT_EXPECT_EQ(test, foreign_claim(f), 0);
	foreign_release(f);
}

/* The order of calls depends on the order of registration. */
static void ftrace_diverted_by_another(struct kunit *test)
{
	u32 (*volatile one)(u32 v) = kp_ft_one;
	struct ftrace_test *f = test->priv;
	int round;

	if (!KPROBES_TEST_HAS_IGNORED_IP)
		kunit_skip(test, "the architecture's callback always continues here");

	f->divert = kp_ft_two;
	for (round = 0; round < 4; round++) {
		bool probe_first = round & 1;

		set(&f->plain, "kp_ft_one", false);
		if (probe_first)
			KUNIT_EXPECT_EQ(test, register_kprobe(&f->plain.kp), 0);
		KUNIT_EXPECT_EQ(test, foreign_claim(f), 0);
		if (!probe_first)
			KUNIT_EXPECT_EQ(test, register_kprobe(&f->plain.kp), 0);

		KUNIT_EXPECT_EQ(test, one(1), 6);
		KUNIT_EXPECT_EQ(test, atomic_read(&f->plain.pre), 1);

		/* Unregistering works in either order, too. */
		if (round & 2)
			unregister_kprobe(&f->plain.kp);
		else
			foreign_release(f);
		KUNIT_EXPECT_EQ(test, one(1), round & 2 ? 6 : 4);
		if (round & 2)
			foreign_release(f);
		else
			unregister_kprobe(&f->plain.kp);
		KUNIT_EXPECT_EQ(test, one(1), 4);
	}
}

static void ftrace_enable_is_refused(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	set(&f->plain, "kp_ft_one", false);
	set(&f->post, "kp_ft_one", true);
	f->post.kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, register_kprobe(&f->post.kp), 0);
	KUNIT_EXPECT_EQ(test, foreign_claim(f), 0);

	KUNIT_EXPECT_EQ(test, enable_kprobe(&f->post.kp), -EBUSY);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&f->post.kp));
	EXPECT_HITS(test, 0, &f->post);

	foreign_release(f);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&f->post.kp), 0);
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&f->post.kp));
	EXPECT_HITS(test, 3, &f->post);
	unregister_kprobe(&f->post.kp);
}

static void ftrace_batch_is_refused(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	struct kprobe *kps[] = { &f->plain.kp, &f->post.kp, &f->other.kp };
	struct kprobe_site *site;
	int i;

	KUNIT_ASSERT_EQ(test, foreign_claim(f), 0);

	/* At each position of the refused one. */
	for (i = 0; i < 3; i++) {
		set(&f->plain, "kp_ft_two", true);
		set(&f->post, "kp_ft_one", true);
		set(&f->other, "kp_ft_three", false);
		KUNIT_EXPECT_EQ(test, register_kprobes(kps, 3), -EBUSY);
		expect_untouched(test, &f->plain);
		expect_untouched(test, &f->post);
		expect_untouched(test, &f->other);
		swap(kps[i], kps[(i + 1) % 3]);
	}

	foreign_release(f);

	guard(mutex)(&kprobe_mutex);
	site = kprobe_site_at(ftrace_location((unsigned long)
				dereference_symbol_descriptor(kp_ft_two)));
	KUNIT_EXPECT_NULL(test, site);
}

/* One of three cannot be enabled again. */
static void ftrace_switched_on_but_for_one(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	add(test, &f->plain, "kp_ft_two", false);
	add(test, &f->post, "kp_ft_one", true);
	add(test, &f->other, "kp_ft_three", true);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_EXPECT_FALSE(test, kprobes_are_armed());
	KUNIT_EXPECT_EQ(test, foreign_claim(f), 0);

	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), -EBUSY);
	KUNIT_EXPECT_TRUE(test, kprobes_are_armed());
	EXPECT_HITS(test, 0, &f->post);
	EXPECT_HITS(test, 3, &f->plain, &f->other);
	/* Its flags and counters are as before. */
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&f->post.kp));

	foreign_release(f);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	EXPECT_HITS(test, 0, &f->plain);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	EXPECT_HITS(test, 3, &f->post, &f->plain, &f->other);
	REMOVE(&f->other, &f->post, &f->plain);
}

/* Two users of a site that could not be armed: either can still be disabled. */
static void ftrace_disable_where_arming_was_refused(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	add(test, &f->post, "kp_ft_one", true);
	add(test, &f->plain, "kp_ft_one", false);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_EXPECT_EQ(test, foreign_claim(f), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), -EBUSY);

	KUNIT_EXPECT_EQ(test, disable_kprobe(&f->plain.kp), 0);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&f->plain.kp));
	KUNIT_EXPECT_EQ(test, disable_kprobe(&f->post.kp), 0);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&f->post.kp));
	KUNIT_EXPECT_EQ(test, enable_kprobe(&f->plain.kp), -EBUSY);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&f->plain.kp));

	foreign_release(f);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&f->plain.kp), 0);
	EXPECT_HITS(test, 3, &f->plain);
	EXPECT_HITS(test, 0, &f->post);
	REMOVE(&f->plain, &f->post);
}

static void ftrace_survives_tracers_of_others(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	/* ftrace cuts the pattern at its asterisk. */
	char all[] = "kp_ft_*";
	unsigned int seen;

	add(test, &f->plain, "kp_ft_one", false);
	add(test, &f->post, "kp_ft_two", true);

	/* One without a claim, on all three. */
	f->ops.func = foreign_func;
	KUNIT_EXPECT_EQ(test, ftrace_set_filter(&f->ops, all, strlen(all), 1), 0);
	KUNIT_EXPECT_EQ(test, register_ftrace_function(&f->ops), 0);
	seen = f->foreign;
	EXPECT_HITS(test, 3, &f->plain, &f->post);
	KUNIT_EXPECT_GE(test, f->foreign - seen, 9);

	unregister_kprobe(&f->plain.kp);
	seen = f->foreign;
	EXPECT_HITS(test, 0, &f->plain);
	KUNIT_EXPECT_GE(test, f->foreign - seen, 9);
	foreign_release(f);
	EXPECT_HITS(test, 3, &f->post);
	unregister_kprobe(&f->post.kp);
}

/* While a probe has the claim, no other subsystem gets it. */
static bool is_claimed(struct ftrace_test *f, u32 (*fn)(u32 v))
{
	int ret = foreign_claim_on(f, fn);

	if (!ret) {
		foreign_release(f);
		return false;
	}
	ftrace_free_filter(&f->ops);
	memset(&f->ops, 0, sizeof(f->ops));
	return ret == -EBUSY;
}

static void ftrace_claim_goes_with_the_last_post_handler(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	add(test, &f->plain, "kp_ft_one", false);
	add(test, &f->post, "kp_ft_one", true);
	add(test, &f->more, "kp_ft_one", true);
	add(test, &f->other, "kp_ft_two", true);

	/* The claim does not go with the first of them. */
	unregister_kprobe(&f->post.kp);
	KUNIT_EXPECT_TRUE(test, is_claimed(f, kp_ft_one));

	unregister_kprobe(&f->more.kp);
	EXPECT_HITS(test, 3, &f->plain);
	KUNIT_EXPECT_FALSE(test, is_claimed(f, kp_ft_one));
	EXPECT_HITS(test, 3, &f->plain, &f->other);
	REMOVE(&f->other, &f->plain);
	EXPECT_HITS(test, 0, &f->plain);
}

/* Two with post handlers in one ops; one of them stays. */
static void ftrace_claim_goes_from_a_shared_ops(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	struct kprobe *both[] = { &f->post.kp, &f->more.kp };

	set(&f->plain, "kp_ft_one", false);
	set(&f->post, "kp_ft_one", true);
	set(&f->more, "kp_ft_two", true);
	KUNIT_ASSERT_EQ(test, register_kprobes(both, 2), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&f->plain.kp), 0);
	unregister_kprobe(&f->post.kp);
	EXPECT_HITS(test, 3, &f->plain, &f->more);
	KUNIT_EXPECT_FALSE(test, is_claimed(f, kp_ft_one));
	KUNIT_EXPECT_TRUE(test, is_claimed(f, kp_ft_two));
	unregister_kprobe(&f->more.kp);
	EXPECT_HITS(test, 3, &f->plain);
	unregister_kprobe(&f->plain.kp);
}

/* The upgrade of one site succeeds, then another site of the batch is refused. */
static void ftrace_claim_goes_with_a_batch_that_fails(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	struct kprobe *kps[] = { &f->post.kp, &f->more.kp };

	add(test, &f->plain, "kp_ft_one", false);
	KUNIT_EXPECT_EQ(test, foreign_claim_on(f, kp_ft_two), 0);

	set(&f->post, "kp_ft_one", true);
	set(&f->more, "kp_ft_two", true);
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, 2), -EBUSY);
	expect_untouched(test, &f->post);
	expect_untouched(test, &f->more);
	EXPECT_HITS(test, 3, &f->plain);
	foreign_release(f);

	KUNIT_EXPECT_FALSE(test, is_claimed(f, kp_ft_one));
	EXPECT_HITS(test, 3, &f->plain);
	unregister_kprobe(&f->plain.kp);
	EXPECT_HITS(test, 0, &f->plain);
}

/* The first probe of the batch joins a site that is armed already, and is not to blame. */
static void ftrace_refused_after_one_that_joins(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	struct kprobe *kps[] = { &f->other.kp, &f->more.kp };

	add(test, &f->plain, "kp_ft_one", false);
	KUNIT_EXPECT_EQ(test, foreign_claim_on(f, kp_ft_two), 0);

	set(&f->other, "kp_ft_one", false);
	set(&f->more, "kp_ft_two", true);
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, 2), -EBUSY);
	KUNIT_EXPECT_EQ(test, kprobe_why_refused(kps[0]), KPROBE_REFUSAL_NONE);
	KUNIT_EXPECT_EQ(test, kprobe_why_refused(kps[1]), KPROBE_REFUSAL_CLAIMED);
	foreign_release(f);
	unregister_kprobe(&f->plain.kp);
}

/* Which changes of a filter fail for lack of memory. */
static unsigned long filter_fails;
static unsigned int filter_changes;

static int failing_filter(struct ftrace_ops *ops, unsigned long *ips, unsigned int n,
			  int remove, int reset)
{
	if (filter_fails & BIT(filter_changes++))
		return -ENOMEM;
	return ftrace_set_filter_ips(ops, ips, n, remove, reset);
}

static void fail_filters(struct kunit *test, unsigned long which)
{
	filter_fails = which;
	filter_changes = 0;
	kunit_activate_static_stub(test, kprobe_ftrace_filter, failing_filter);
}

static void fail_no_filters(struct kunit *test)
{
	kunit_deactivate_static_stub(test, kprobe_ftrace_filter);
}

/* What a site that moves looked like when tasks were waited for. */
static struct kprobe_ftrace_ops *owner_in_wait;
static unsigned int waits;
static bool was_in_both;

static void watch_wait(void)
{
	waits++;
	owner_in_wait = kprobe_site_at(site_addr(kp_ft_one))->ftrace;
	was_in_both = kprobe_ftrace_plain.nr == 1 &&
		      is_claimed(kunit_get_current_test()->priv, kp_ft_one);
}

/*
 * A task that is preempted on its way to the only ops of a function does not call the
 * one that was added in the meantime. Its call counts: the owner changes after a wait, which
 * comes when later calls reach both.
 */
static void ftrace_waits_before_the_owner_changes(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	waits = 0;
	kunit_activate_static_stub(test, kprobe_ftrace_wait_for_tasks, watch_wait);
	set(&f->post, "kp_ft_one", true);
	add(test, &f->plain, "kp_ft_one", false);
	KUNIT_EXPECT_EQ(test, waits, 0);

	KUNIT_EXPECT_EQ(test, register_kprobe(&f->post.kp), 0);
	KUNIT_EXPECT_EQ(test, waits, 1);
	KUNIT_EXPECT_TRUE(test, was_in_both);
	KUNIT_EXPECT_PTR_EQ(test, owner_in_wait, &kprobe_ftrace_plain);

	unregister_kprobe(&f->post.kp);
	KUNIT_EXPECT_EQ(test, waits, 2);
	KUNIT_EXPECT_TRUE(test, was_in_both);
	KUNIT_EXPECT_PTR_NE(test, owner_in_wait, &kprobe_ftrace_plain);
	kunit_deactivate_static_stub(test, kprobe_ftrace_wait_for_tasks);

	EXPECT_HITS(test, 3, &f->plain);
	unregister_kprobe(&f->plain.kp);
}

/* The claim of the other user concerns only the post handler. */
static void ftrace_armed_once_the_refused_post_handler_leaves(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	struct kprobe *both[] = { &f->post.kp, &f->plain.kp };

	set(&f->post, "kp_ft_one", true);
	set(&f->plain, "kp_ft_one", false);
	set(&f->more, "kp_ft_one", false);
	KUNIT_ASSERT_EQ(test, register_kprobes(both, 2), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&f->more.kp), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_EXPECT_EQ(test, foreign_claim(f), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), -EBUSY);
	EXPECT_HITS(test, 0, &f->plain);

	/* It is enabled, and still refused; others of the site as well. */
	KUNIT_EXPECT_EQ(test, enable_kprobe(&f->post.kp), -EBUSY);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&f->plain.kp), -EBUSY);
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&f->post.kp));
	foreign_release(f);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&f->plain.kp), 0);
	EXPECT_HITS(test, 3, &f->plain, &f->post);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&f->plain.kp), 0);
	EXPECT_HITS(test, 0, &f->plain);
	KUNIT_EXPECT_EQ(test, foreign_claim(f), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), -EBUSY);

	/* The post handler is still there. */
	unregister_kprobe(&f->more.kp);
	EXPECT_HITS(test, 0, &f->plain);
	unregister_kprobe(&f->post.kp);
	/* Unregistration arms nothing. */
	EXPECT_HITS(test, 0, &f->plain);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&f->plain.kp), 0);
	EXPECT_HITS(test, 3, &f->plain);

	/* They leave together, and nobody else wants the site. */
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	add(test, &f->post, "kp_ft_one", true);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), -EBUSY);
	fail_filters(test, 0);
	unregister_kprobes(both, 2);
	fail_no_filters(test);
	KUNIT_EXPECT_EQ(test, filter_changes, 0);
	EXPECT_HITS(test, 0, &f->plain);
	foreign_release(f);
	add(test, &f->plain, "kp_ft_one", false);
	EXPECT_HITS(test, 3, &f->plain);
	unregister_kprobe(&f->plain.kp);
}

/* Sites without users that ftrace could not disarm. */
static unsigned int count_left(void)
{
	struct kprobe_site *site;
	unsigned int n = 0;

	lockdep_assert_held(&kprobe_mutex);

	for_each_kprobe_site(site)
		n += site->kind == KPROBE_SITE_FTRACE && !site->nr_users;
	return n;
}

/* An address that is left in a filter is not armed by it when it is used again. */
static void ftrace_nomem_old_address_does_not_come_back(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	set(&f->post, "kp_ft_one", true);
	set(&f->other, "kp_ft_two", false);
	add(test, &f->plain, "kp_ft_one", false);
	fail_filters(test, ~0ul);
	unregister_kprobe(&f->plain.kp);
	fail_no_filters(test);

	KUNIT_EXPECT_EQ(test, register_kprobe(&f->post.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&f->other.kp), 0);
	EXPECT_HITS(test, 3, &f->post, &f->other);
	REMOVE(&f->post, &f->other);
}

static int failing_removal(struct ftrace_ops *ops, unsigned long *ips, unsigned int n,
			   int remove, int reset)
{
	return remove ? -ENOMEM : ftrace_set_filter_ips(ops, ips, n, remove, reset);
}

/* It is armed again before the memory suffices to remove it. */
static void ftrace_nomem_old_address_is_armed_again(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	add(test, &f->plain, "kp_ft_one", false);
	/* So that the filter does not become empty. */
	add(test, &f->other, "kp_ft_two", false);
	fail_filters(test, ~0ul);
	unregister_kprobe(&f->plain.kp);
	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_EQ(test, count_left(), 1);

	fail_no_filters(test);
	kunit_activate_static_stub(test, kprobe_ftrace_filter, failing_removal);
	add(test, &f->plain, "kp_ft_one", false);
	fail_no_filters(test);
	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_EQ(test, count_left(), 0);
	EXPECT_HITS(test, 3, &f->plain);
	unregister_kprobe(&f->other.kp);
	EXPECT_HITS(test, 3, &f->plain);
	unregister_kprobe(&f->plain.kp);
	EXPECT_HITS(test, 0, &f->plain);
}

/* An address that ftrace does not know any more, and the last one that it removed. */
static unsigned long unknown_ip, removed_ip;
static unsigned int refusals;

static int refusing_filter(struct ftrace_ops *ops, unsigned long *ips, unsigned int n,
			   int remove, int reset)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (ips[i] == unknown_ip) {
			refusals++;
			return -EINVAL;
		}
	}
	removed_ip = remove ? ips[0] : 0;
	return ftrace_set_filter_ips(ops, ips, n, remove, reset);
}

/* It does not keep others from being removed. */
static void ftrace_nomem_old_address_is_unknown(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	add(test, &f->plain, "kp_ft_one", false);
	add(test, &f->more, "kp_ft_three", false);
	/* So that the filter does not become empty. */
	add(test, &f->other, "kp_ft_two", false);
	unknown_ip = (unsigned long)f->plain.kp.addr;
	removed_ip = 0;
	refusals = 0;
	fail_filters(test, ~0ul);
	REMOVE(&f->plain, &f->more);
	fail_no_filters(test);

	add(test, &f->post, "kp_ft_two", false);
	kunit_activate_static_stub(test, kprobe_ftrace_filter, refusing_filter);
	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_EQ(test, count_left(), 2);
	unregister_kprobe(&f->post.kp);
	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_EQ(test, count_left(), 0);
	kunit_deactivate_static_stub(test, kprobe_ftrace_filter);
	/* Together with the other, and alone. */
	KUNIT_EXPECT_EQ(test, refusals, 2);
	KUNIT_EXPECT_EQ(test, removed_ip, (unsigned long)f->more.kp.addr);
	EXPECT_HITS(test, 3, &f->other);

	/* It is known after all: take it out of the filter. */
	add(test, &f->plain, "kp_ft_one", false);
	REMOVE(&f->plain, &f->other);
}

static bool is_armed(const struct kprobe *p)
{
	guard(mutex)(&kprobe_mutex);

	return kprobe_site_at((unsigned long)p->addr)->state == KPROBE_SITE_ARMED;
}

/* A site that stayed armed for no enabled user is disarmed by the global switch. */
static void ftrace_nomem_switched_off_later(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	set(&f->plain, "kp_ft_one", false);
	set(&f->more, "kp_ft_one", false);
	f->more.kp.flags = KPROBE_FLAG_DISABLED;
	/* So that the filter does not become empty. */
	set(&f->other, "kp_ft_two", false);
	KUNIT_ASSERT_EQ(test, register_kprobe(&f->plain.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&f->more.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&f->other.kp), 0);
	fail_filters(test, ~0ul);
	unregister_kprobe(&f->plain.kp);
	fail_no_filters(test);
	KUNIT_EXPECT_TRUE(test, is_armed(&f->more.kp));

	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_EXPECT_FALSE(test, is_armed(&f->more.kp));
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	KUNIT_EXPECT_FALSE(test, is_armed(&f->more.kp));
	EXPECT_HITS(test, 0, &f->more);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&f->more.kp), 0);
	EXPECT_HITS(test, 3, &f->more);
	REMOVE(&f->other, &f->more);
}

/* A site that could not be disarmed claims its function no longer than to the next change. */
static void ftrace_nomem_claim_goes_later(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	struct kprobe *both[] = { &f->post.kp, &f->other.kp };

	set(&f->post, "kp_ft_one", true);
	set(&f->more, "kp_ft_one", false);
	f->more.kp.flags = KPROBE_FLAG_DISABLED;
	/* So that the filter does not become empty. */
	set(&f->other, "kp_ft_two", true);
	KUNIT_ASSERT_EQ(test, register_kprobes(both, 2), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&f->more.kp), 0);
	fail_filters(test, ~0ul);
	unregister_kprobe(&f->post.kp);
	fail_no_filters(test);
	KUNIT_EXPECT_TRUE(test, is_armed(&f->more.kp));
	KUNIT_EXPECT_TRUE(test, is_claimed(f, kp_ft_one));

	add(test, &f->plain, "kp_ft_three", false);
	unregister_kprobe(&f->plain.kp);
	KUNIT_EXPECT_FALSE(test, is_armed(&f->more.kp));
	KUNIT_EXPECT_FALSE(test, is_claimed(f, kp_ft_one));
	KUNIT_EXPECT_TRUE(test, is_claimed(f, kp_ft_two));
	KUNIT_EXPECT_EQ(test, enable_kprobe(&f->more.kp), 0);
	EXPECT_HITS(test, 3, &f->more);
	REMOVE(&f->other, &f->more);
}

/* Whichever changes of filters fail, each call is seen once. */
static void ftrace_nomem_upgrade(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	unsigned long which;
	unsigned int failed = 0;
	int ret;

	for (which = 0; which < 8; which++) {
		set(&f->post, "kp_ft_one", true);
		add(test, &f->plain, "kp_ft_one", false);
		add(test, &f->other, "kp_ft_two", false);

		fail_filters(test, which);
		ret = register_kprobe(&f->post.kp);
		fail_no_filters(test);
		failed += !!ret;
		KUNIT_EXPECT_TRUE(test, !ret || ret == -ENOMEM);
		EXPECT_HITS(test, 3, &f->plain);
		EXPECT_HITS(test, ret ? 0 : 3, &f->post);
		EXPECT_HITS(test, 3, &f->other);
		if (ret) {
			KUNIT_EXPECT_FALSE(test, is_claimed(f, kp_ft_one));
			KUNIT_EXPECT_EQ(test, register_kprobe(&f->post.kp), 0);
			EXPECT_HITS(test, 3, &f->plain, &f->post);
		}
		REMOVE(&f->post, &f->other, &f->plain);
	}
	KUNIT_EXPECT_GT(test, failed, 0);
}

enum next { ANOTHER_COMES, ANOTHER_GOES, POST_COMES, ALL_GO, NR_NEXT };

/* One that stays claimed is counted, and retried at the next change. */
static void ftrace_nomem_downgrade(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	unsigned int stayed = 0;
	unsigned long which;
	struct kprobe *both[] = { &f->post.kp, &f->other.kp };
	int next;

	for (which = 0; which < 4; which++) {
		for (next = 0; next < NR_NEXT; next++) {
			set(&f->plain, "kp_ft_one", false);
			set(&f->post, "kp_ft_one", true);
			set(&f->more, "kp_ft_three", false);
			set(&f->other, "kp_ft_two", true);
			/* Keeps the filters of both ops from becoming empty. */
			KUNIT_ASSERT_EQ(test, register_kprobes(both, 2), 0);
			KUNIT_EXPECT_EQ(test, register_kprobe(&f->plain.kp), 0);
			if (next != ANOTHER_COMES)
				KUNIT_EXPECT_EQ(test, register_kprobe(&f->more.kp), 0);

			fail_filters(test, which);
			unregister_kprobe(&f->post.kp);
			fail_no_filters(test);
			EXPECT_HITS(test, 3, &f->plain, &f->other);
			stayed += is_claimed(f, kp_ft_one);

			if (next == ANOTHER_COMES)
				KUNIT_EXPECT_EQ(test, register_kprobe(&f->more.kp), 0);
			if (next == POST_COMES) {
				add(test, &f->post, "kp_ft_one", true);
				EXPECT_HITS(test, 3, &f->post, &f->plain);
				unregister_kprobe(&f->post.kp);
			}
			EXPECT_HITS(test, 3, &f->plain, &f->more);
			if (next == ANOTHER_GOES)
				unregister_kprobe(&f->more.kp);
			if (next != ALL_GO) {
				KUNIT_EXPECT_FALSE(test, is_claimed(f, kp_ft_one));
				EXPECT_HITS(test, 3, &f->plain, &f->other);
			}
			unregister_kprobe(&f->plain.kp);
			EXPECT_HITS(test, 0, &f->plain);
			EXPECT_HITS(test, 3, &f->other);
			unregister_kprobe(&f->other.kp);
			if (next != ANOTHER_GOES)
				unregister_kprobe(&f->more.kp);
			KUNIT_EXPECT_FALSE(test, is_claimed(f, kp_ft_one));
		}
	}
	KUNIT_EXPECT_GT(test, stayed, 0);
}

/*
 * Leaves the site of @plain with a claim that it no longer needs, in the filters of both
 * ops: the second of the two changes fails.
 */
static void stay_in_both_filters(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	struct kprobe *both[] = { &f->post.kp, &f->other.kp };

	set(&f->plain, "kp_ft_one", false);
	set(&f->post, "kp_ft_one", true);
	/* Keeps the filter of the claiming ops from becoming empty. */
	set(&f->other, "kp_ft_two", true);
	KUNIT_ASSERT_EQ(test, register_kprobes(both, 2), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&f->plain.kp), 0);

	fail_filters(test, BIT(1));
	unregister_kprobe(&f->post.kp);
	fail_no_filters(test);
	KUNIT_EXPECT_TRUE(test, is_claimed(f, kp_ft_one));
}

/* A new post handler needs the claim, so the site leaves the shared filter instead. */
static void ftrace_nomem_claim_is_needed_again(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	unsigned long which;

	for (which = 0; which < 4; which++) {
		add(test, &f->more, "kp_ft_three", false);
		stay_in_both_filters(test);
		add(test, &f->post, "kp_ft_one", true);

		fail_filters(test, which);
		unregister_kprobe(&f->more.kp);
		fail_no_filters(test);
		KUNIT_EXPECT_TRUE(test, is_claimed(f, kp_ft_one));
		EXPECT_HITS(test, 3, &f->plain, &f->post, &f->other);

		unregister_kprobe(&f->post.kp);
		KUNIT_EXPECT_FALSE(test, is_claimed(f, kp_ft_one));
		EXPECT_HITS(test, 3, &f->plain);
		REMOVE(&f->plain, &f->other);
	}
}

/* The last user leaves, and neither filter can be changed. */
static void ftrace_nomem_dead_in_both_filters(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	bool shared;

	for (shared = false; ; shared = true) {
		set(&f->more, "kp_ft_three", false);
		if (shared)
			KUNIT_ASSERT_EQ(test, register_kprobe(&f->more.kp), 0);
		stay_in_both_filters(test);

		fail_filters(test, ~0ul);
		unregister_kprobe(&f->plain.kp);
		fail_no_filters(test);
		EXPECT_HITS(test, 0, &f->plain);
		EXPECT_HITS(test, 3, &f->other);
		EXPECT_HITS(test, shared ? 3 : 0, &f->more);

		add(test, &f->plain, "kp_ft_one", false);
		EXPECT_HITS(test, 3, &f->plain);
		unregister_kprobe(&f->plain.kp);
		EXPECT_HITS(test, 0, &f->plain);
		unregister_kprobe(&f->other.kp);
		if (!shared)
			continue;
		unregister_kprobe(&f->more.kp);
		break;
	}
}

/*
 * The last user leaves, and its address stays in the filter of an ops with a claim.
 * That claim ends at the next change, whichever ops that concerns.
 */
static void ftrace_nomem_claim_of_a_dead_site(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	struct kprobe *both[] = { &f->post.kp, &f->other.kp };
	bool comes;

	for (comes = false; ; comes = true) {
		set(&f->post, "kp_ft_one", true);
		/* Keeps the filter of the claiming ops from becoming empty. */
		set(&f->other, "kp_ft_two", true);
		set(&f->more, "kp_ft_three", false);
		KUNIT_ASSERT_EQ(test, register_kprobes(both, 2), 0);
		KUNIT_EXPECT_EQ(test, register_kprobe(&f->more.kp), 0);
		fail_filters(test, ~0ul);
		unregister_kprobe(&f->post.kp);
		fail_no_filters(test);
		KUNIT_EXPECT_TRUE(test, is_claimed(f, kp_ft_one));
		EXPECT_HITS(test, 0, &f->post);

		if (comes) {
			add(test, &f->post, "kp_ft_one", true);
			EXPECT_HITS(test, 3, &f->post);
			unregister_kprobe(&f->post.kp);
		}
		unregister_kprobe(&f->more.kp);
		KUNIT_EXPECT_FALSE(test, is_claimed(f, kp_ft_one));
		EXPECT_HITS(test, 3, &f->other);
		unregister_kprobe(&f->other.kp);
		if (comes)
			break;
	}
}

/* An address is left in a filter when its code is freed. */
static void ftrace_nomem_purge(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	unsigned long addr;

	add(test, &f->plain, "kp_ft_one", false);
	add(test, &f->more, "kp_ft_three", false);
	/* So that the filter does not become empty. */
	add(test, &f->other, "kp_ft_two", false);
	addr = (unsigned long)f->plain.kp.addr;

	fail_filters(test, ~0ul);
	REMOVE(&f->plain, &f->more);
	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_EQ(test, count_left(), 2);
	kprobe_kill_range(addr, addr + 1);
	scoped_guard(mutex, &kprobe_mutex) {
		KUNIT_EXPECT_EQ(test, count_left(), 1);
		KUNIT_EXPECT_NULL(test, kprobe_site_at(addr));
	}
	fail_no_filters(test);

	EXPECT_HITS(test, 3, &f->other);
	add(test, &f->plain, "kp_ft_one", false);
	EXPECT_HITS(test, 3, &f->plain);
	unregister_kprobe(&f->plain.kp);
	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_EQ(test, count_left(), 0);
	EXPECT_HITS(test, 0, &f->plain);
	unregister_kprobe(&f->other.kp);
}

/*
 * Simulates ftrace iterating over its ops with preemption disabled: it has called the
 * new ops of a site that has moved, has looked at the old filter before the address
 * was removed, and calls the old ops only now.
 */
static void late_func(unsigned long ip, unsigned long parent_ip,
		      struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct ftrace_test *f = container_of(ops, struct ftrace_test, ops);
	unsigned long end = jiffies + 5 * HZ, owner = (unsigned long)READ_ONCE(f->site->ftrace);

	/* While the site moves, each CPU has to run another thread. */
	if (f->made || (owner & KPROBE_FTRACE_MOVES) || owner == (unsigned long)f->late)
		return;

	preempt_disable_notrace();
	WRITE_ONCE(f->held, true);
	while (!READ_ONCE(f->make_it) && time_before(READ_ONCE(jiffies), end))
		cpu_relax();
	/* If nothing is checked any more, this CPU has scheduled between the move and this call. */
	if (READ_ONCE(f->make_it) && READ_ONCE(kprobe_ftrace_check_owner)) {
		f->late->func(ip, parent_ip, f->late, fregs);
		WRITE_ONCE(f->made, true);
	}
	WRITE_ONCE(f->held, false);
	preempt_enable_notrace();
}

static int late_thread(void *data)
{
	u32 (*volatile one)(u32 v) = kp_ft_one;
	struct ftrace_test *f = data;

	/* The next call waits until this one has been made. */
	while (!kthread_should_stop() && !READ_ONCE(f->made)) {
		atomic_set(&f->plain.pre, 0);
		one(1);
		/* The site changes its owner after a grace period of tasks-RCU. */
		cond_resched_tasks_rcu_qs();
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static void ftrace_late_call_of_the_old_ops(struct kunit *test)
{
	unsigned int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct ftrace_test *f = test->priv;
	unsigned long ip = site_addr(kp_ft_one);
	unsigned long end = jiffies + 5 * HZ;
	struct task_struct *task;

	KP_SKIP_IF(test, cpu >= nr_cpu_ids, "needs a second CPU");
	/* stop_machine() would wait for the CPU that waits here. */
	KP_SKIP_IF(test, !KPROBES_TEST_HAS_LIVE_FTRACE, "ftrace needs stop_machine()");

	add(test, &f->plain, "kp_ft_one", false);
	scoped_guard(mutex, &kprobe_mutex) {
		f->site = kprobe_site_at(ip);
		f->late = (struct ftrace_ops *)f->site->ftrace;
	}
	f->ops.func = late_func;
	f->ops.flags = FTRACE_OPS_FL_SAVE_REGS;
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&f->ops, ip, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, register_ftrace_function(&f->ops), 0);
	task = kthread_create_on_cpu(late_thread, f, cpu, "kp_late/%u");
	KUNIT_EXPECT_FALSE(test, IS_ERR(task));
	if (!IS_ERR(task)) {
		get_task_struct(task);
		wake_up_process(task);
		do {
			WRITE_ONCE(f->make_it, false);
			add(test, &f->post, "kp_ft_one", true);
			while (!READ_ONCE(f->held) && time_before(jiffies, end))
				cond_resched();
			WRITE_ONCE(f->make_it, true);
			while (READ_ONCE(f->held) && time_before(jiffies, end))
				cond_resched();
			unregister_kprobe(&f->post.kp);
		} while (!READ_ONCE(f->made) && time_before(jiffies, end));
		kthread_stop_put(task);
		KUNIT_EXPECT_TRUE(test, f->made);
		/* By the new ops, not by the old one as well. */
		KUNIT_EXPECT_EQ(test, atomic_read(&f->plain.pre), 1);
	}
	foreign_release(f);
	unregister_kprobe(&f->plain.kp);
}

/*
 * ftrace iterates over its ops in a call that began before the site moves. When another ops has
 * been called in between, the site is in the middle of the last move.
 */
static void between_func(unsigned long ip, unsigned long parent_ip,
			 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct ftrace_test *f = container_of(ops, struct ftrace_test, ops);
	unsigned long end = jiffies + 5 * HZ;

	if (current != READ_ONCE(f->caller) || in_hardirq())
		return;

	WRITE_ONCE(f->held, true);
	while (!f->made && time_before(READ_ONCE(jiffies), end)) {
		cpu_relax();
		f->made = READ_ONCE(f->moved) && ((unsigned long)READ_ONCE(f->site->ftrace) &
						  KPROBE_FTRACE_MOVES);
	}
	/* An interrupt calls the function as well. */
	irq_work_queue(&f->nested);
	while (irq_work_is_busy(&f->nested) && time_before(READ_ONCE(jiffies), end))
		cpu_relax();
}

static void call_in_interrupt(struct irq_work *work)
{
	u32 (*volatile one)(u32 v) = kp_ft_one;

	one(1);
}

/* A CPU is about to change the owner. When it is the last one, that of the caller has changed. */
static void change_func(unsigned long ip, unsigned long parent_ip,
			struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct ftrace_test *f = container_of(ops, struct ftrace_test, change);
	int i;

	if (raw_smp_processor_id() != f->last || f->go)
		return;
	WRITE_ONCE(f->go, true);
	for (i = 0; i < USEC_PER_SEC && !READ_ONCE(f->held); i++)
		udelay(1);
}

static int held_thread(void *data)
{
	u32 (*volatile one)(u32 v) = kp_ft_one;
	struct ftrace_test *f = data;

	while (!READ_ONCE(f->go) && !kthread_should_stop())
		schedule_timeout_uninterruptible(1);
	if (READ_ONCE(f->go))
		one(1);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* A preemptible kernel would wait for the call here, so less could happen during it. */
static void wait_for_no_task(void)
{
}

/*
 * Starts a thread on the first CPU, which will call the function once f->go is set. The rest of the
 * test runs on the last one. ftrace calls the newest ops first, so that of this test comes after
 * one with a claim, and before the shared one.
 */
static void hold_a_call(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	unsigned long ip = site_addr(kp_ft_one);

	KP_SKIP_IF(test, num_online_cpus() < 2, "needs a second CPU");
	/* stop_machine() would wait for the CPU that waits here. */
	KP_SKIP_IF(test, !KPROBES_TEST_HAS_LIVE_FTRACE, "ftrace needs stop_machine()");

	f->last = cpumask_last(cpu_online_mask);
	f->nested = IRQ_WORK_INIT_HARD(call_in_interrupt);
	set(&f->post, "kp_ft_one", true);
	/* Keeps the shared ops where it is. */
	add(test, &f->other, "kp_ft_two", false);
	add(test, &f->plain, "kp_ft_one", false);
	scoped_guard(mutex, &kprobe_mutex)
		f->site = kprobe_site_at(ip);
	f->ops.func = between_func;
	f->ops.flags = FTRACE_OPS_FL_SAVE_REGS;
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&f->ops, ip, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, register_ftrace_function(&f->ops), 0);

	f->caller = kthread_create_on_cpu(held_thread, f, cpumask_first(cpu_online_mask),
					  "kp_caller/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(f->caller));
	get_task_struct(f->caller);
	wake_up_process(f->caller);
	kunit_activate_static_stub(test, kprobe_ftrace_wait_for_tasks, wait_for_no_task);
	KUNIT_EXPECT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(f->last)), 0);
}

/* The call and the one in the interrupt have counted once each. */
static void end_of_the_call(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	kthread_stop_put(f->caller);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	irq_work_sync(&f->nested);
	KUNIT_EXPECT_TRUE(test, f->held);
	KUNIT_EXPECT_TRUE(test, f->made);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->plain.pre), 2);

	kunit_deactivate_static_stub(test, kprobe_ftrace_wait_for_tasks);
	foreign_release(f);
	REMOVE(&f->plain, &f->other);
}

/*
 * The call begins after its CPU has changed, but before all others have. While it is held, the site
 * moves to the ops with the claim, and begins to move back. Until then, that ops counts.
 */
static void ftrace_call_while_the_site_moves_twice(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	hold_a_call(test);
	f->change.func = change_func;
	KUNIT_EXPECT_EQ(test, ftrace_set_filter(&f->change, "kprobe_ftrace_change_cpu", 24, 1), 0);
	KUNIT_EXPECT_EQ(test, register_ftrace_function(&f->change), 0);

	KUNIT_EXPECT_EQ(test, register_kprobe(&f->post.kp), 0);
	WRITE_ONCE(f->moved, true);
	unregister_kprobe(&f->post.kp);

	unregister_ftrace_function(&f->change);
	ftrace_free_filter(&f->change);
	end_of_the_call(test);
}

/* The same for a site that begins to move after another one has got a claim. */
static void ftrace_call_while_the_next_site_moves(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	unsigned long end = jiffies + 5 * HZ;

	hold_a_call(test);
	/* As long as this counts a site, the check of the first move does not end. */
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_ftrace_nr_in_plain++;
	add(test, &f->more, "kp_ft_two", true);

	WRITE_ONCE(f->moved, true);
	WRITE_ONCE(f->go, true);
	while (!READ_ONCE(f->held) && time_before(jiffies, end))
		cond_resched();
	KUNIT_EXPECT_EQ(test, register_kprobe(&f->post.kp), 0);
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_ftrace_nr_in_plain--;
	REMOVE(&f->post, &f->more);
	end_of_the_call(test);
}

static int ftrace_test_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct ftrace_test), GFP_KERNEL);
	return test->priv ? 0 : -ENOMEM;
}

#else /* !CONFIG_KPROBES_ON_FTRACE */

KP_SKIPPED(ftrace_not_configured, "needs KPROBES_ON_FTRACE")

#endif

static struct kunit_case ftrace_cases[] = {
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE_PARAM(ftrace_mixed_post_handlers, order_gen_params),
	KUNIT_CASE(ftrace_claim_on_a_disabled_site),
	KUNIT_CASE(ftrace_batch_of_both_kinds),
	KUNIT_CASE(ftrace_claimed_by_another),
	KUNIT_CASE(ftrace_diverted_by_another),
	KUNIT_CASE(ftrace_enable_is_refused),
	KUNIT_CASE(ftrace_batch_is_refused),
	KUNIT_CASE(ftrace_switched_on_but_for_one),
	KUNIT_CASE(ftrace_disable_where_arming_was_refused),
	KUNIT_CASE(ftrace_survives_tracers_of_others),
	KUNIT_CASE(ftrace_claim_goes_with_the_last_post_handler),
	KUNIT_CASE(ftrace_claim_goes_from_a_shared_ops),
	KUNIT_CASE(ftrace_claim_goes_with_a_batch_that_fails),
	KUNIT_CASE(ftrace_refused_after_one_that_joins),
	KUNIT_CASE(ftrace_waits_before_the_owner_changes),
	KUNIT_CASE(ftrace_armed_once_the_refused_post_handler_leaves),
	KUNIT_CASE(ftrace_nomem_old_address_does_not_come_back),
	KUNIT_CASE(ftrace_nomem_old_address_is_armed_again),
	KUNIT_CASE(ftrace_nomem_old_address_is_unknown),
	KUNIT_CASE(ftrace_nomem_switched_off_later),
	KUNIT_CASE(ftrace_nomem_claim_goes_later),
	KUNIT_CASE(ftrace_nomem_upgrade),
	KUNIT_CASE(ftrace_nomem_downgrade),
	KUNIT_CASE(ftrace_nomem_claim_is_needed_again),
	KUNIT_CASE(ftrace_nomem_dead_in_both_filters),
	KUNIT_CASE(ftrace_nomem_claim_of_a_dead_site),
	KUNIT_CASE(ftrace_nomem_purge),
	KUNIT_CASE(ftrace_late_call_of_the_old_ops),
	KUNIT_CASE(ftrace_call_while_the_site_moves_twice),
	KUNIT_CASE(ftrace_call_while_the_next_site_moves),
#else
	KUNIT_CASE(ftrace_not_configured),
#endif
	{}
};

static struct kunit_suite ftrace_suite = {
	.name		= "kprobes_ftrace",
#ifdef CONFIG_KPROBES_ON_FTRACE
	.init		= ftrace_test_init,
#endif
	.test_cases	= ftrace_cases,
};
kunit_test_suite(ftrace_suite);
