// SPDX-License-Identifier: GPL-2.0-only
/*
 * What kprobes promise their users, from end to end: one test for each promise. Only
 * the exported interface is used, so this can be a module; tests of internals are in
 * kernel/kprobes/tests/.
 *
 * Handlers only record. The body of the test decides.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "test_kprobes.h"

#define NR_MID	16

KP_TEST_PLAIN(kp_test_plain, 3)
KP_TEST_TRACED(kp_test_traced, 5)
KP_TEST_MID(kp_test_mid, 7)

/* Hit from handlers, or instead of a target. */
KP_TEST_PLAIN(kp_test_other, 1000)

static const struct target targets[] = {
	{ "plain entry",  "kp_test_plain",  NULL, kp_test_plain,  3, false, true },
	{ "ftrace entry", "kp_test_traced", NULL, kp_test_traced, 5, true,  true },
	{ "inside", NULL, kp_test_mid_insns, kp_test_mid, 7, false, false },
};
KUNIT_ARRAY_PARAM_DESC(target, targets, name);

/* Entries only. */
static const struct target entries[] = {
	{ "plain entry",  "kp_test_plain",  NULL, kp_test_plain,  3, false, true },
	{ "ftrace entry", "kp_test_traced", NULL, kp_test_traced, 5, true,  true },
};
KUNIT_ARRAY_PARAM_DESC(entry, entries, name);

static u32 (* const volatile call_other)(u32 v) = kp_test_other;

struct kprobes_test {
	const struct target	*t;
	struct log		log;
	struct probe		p[4];
	struct kprobe		*kps[4];
};

/* The fixture: fresh probes, all at the target of this parameter. */
static struct kprobes_test *begin(struct kunit *test)
{
	struct kprobes_test *k = test->priv;
	int i;

	k->t = test->param_value ?: &targets[0];
	if (k->t->ftrace && !KPROBES_TEST_HAS_FTRACE_NAMES)
		kunit_skip(test, "probes by name are not on ftrace sites");
	for (i = 0; i < ARRAY_SIZE(k->p); i++)
		probe_at(&k->p[i], k->t);
	return k;
}

/* Calls of the pre handler during one call of the target. */
static int hits(struct kprobes_test *k, struct probe *p)
{
	int before = atomic_read(&p->pre);

	call(k->t, 1);
	return atomic_read(&p->pre) - before;
}

static const char *order_of_call(struct kprobes_test *k)
{
	memset(&k->log, 0, sizeof(k->log));
	call(k->t, 1);
	return k->log.text;
}

/*
 * Addresses
 */

static void register_by_symbol_and_by_address(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *a = &k->p[0], *b = &k->p[1];

	KUNIT_ASSERT_EQ(test, register_kprobe(&a->kp), 0);
	KUNIT_EXPECT_NOT_NULL(test, a->kp.addr);
	KUNIT_EXPECT_FALSE(test, not_registered(&a->kp));
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	KUNIT_EXPECT_EQ(test, atomic_read(&a->pre), 1);
	KUNIT_EXPECT_PTR_EQ(test, a->p, &a->kp);
	KUNIT_EXPECT_EQ(test, kprobe_ftrace(&a->kp), k->t->ftrace);
	KUNIT_EXPECT_EQ(test, !!(a->kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY), k->t->entry);

	/* The resolved address can be registered. */
	b->kp.symbol_name = NULL;
	b->kp.addr = a->kp.addr;
	KUNIT_EXPECT_EQ(test, register_kprobe(&b->kp), 0);
	KUNIT_EXPECT_PTR_EQ(test, b->kp.addr, a->kp.addr);
	KUNIT_EXPECT_EQ(test, hits(k, b), 1);

	unregister_kprobe(&a->kp);
	unregister_kprobe(&b->kp);
	KUNIT_EXPECT_TRUE(test, not_registered(&a->kp));
	KUNIT_EXPECT_NOT_NULL(test, a->kp.addr);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&a->kp));
	KUNIT_EXPECT_EQ(test, hits(k, a) + hits(k, b), 0);
}

static void register_at_an_offset(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *a = &k->p[0], *b = &k->p[1];
	void *fn = dereference_symbol_descriptor(kp_test_mid);

	k->t = &targets[2];
	a->kp.symbol_name = "kp_test_mid";
	a->kp.offset = (void *)kp_test_mid_insns - fn;
	KUNIT_ASSERT_EQ(test, register_kprobe(&a->kp), 0);
	KUNIT_EXPECT_PTR_EQ(test, (void *)a->kp.addr, (void *)kp_test_mid_insns);
	KUNIT_EXPECT_EQ(test, hits(k, a), 1);
	unregister_kprobe(&a->kp);

	b->kp.symbol_name = NULL;
	b->kp.addr = fn;
	b->kp.offset = a->kp.offset;
	KUNIT_EXPECT_EQ(test, register_kprobe(&b->kp), 0);
	KUNIT_EXPECT_PTR_EQ(test, (void *)b->kp.addr, (void *)kp_test_mid_insns);
	KUNIT_EXPECT_EQ(test, hits(k, b), 1);
	unregister_kprobe(&b->kp);
}

static void symbol_and_address_both_or_neither(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *kp = &k->p[0].kp;

	kp->addr = (void *)kp_test_mid_insns;
	KUNIT_EXPECT_EQ(test, register_kprobe(kp), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, (void *)kp->addr, (void *)kp_test_mid_insns);
	kp->addr = NULL;
	kp->symbol_name = NULL;
	KUNIT_EXPECT_EQ(test, register_kprobe(kp), -EINVAL);
	KUNIT_EXPECT_NULL(test, kp->addr);
	KUNIT_EXPECT_TRUE(test, not_registered(kp));
}

static void register_again_by_symbol(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *kp = &k->p[0].kp;

	KUNIT_ASSERT_EQ(test, register_kprobe(kp), 0);
	unregister_kprobe(kp);

	kp->flags = 0;
	KUNIT_EXPECT_EQ(test, register_kprobe(kp), -EINVAL);
	kp->addr = NULL;
	KUNIT_EXPECT_EQ(test, register_kprobe(kp), 0);
	KUNIT_EXPECT_EQ(test, hits(k, &k->p[0]), 1);
	unregister_kprobe(kp);
}

/* As modules do that need the address of a function that is not exported. */
static void register_only_to_learn_an_address(struct kunit *test)
{
	struct kprobe kp = { .symbol_name = "kallsyms_lookup_name" };
	char where[KSYM_SYMBOL_LEN];
	void *first = NULL;
	int i;

	for (i = 0; i < 200; i++) {
		kp.addr = NULL;
		kp.flags = 0;
		KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
		unregister_kprobe(&kp);
		first = first ?: kp.addr;
		KUNIT_ASSERT_PTR_EQ(test, (void *)kp.addr, first);
		KUNIT_ASSERT_TRUE(test, not_registered(&kp));
	}
	/* With descriptors, the name of the code begins with a dot. */
	sprint_symbol(where, (unsigned long)first);
	KUNIT_EXPECT_NOT_NULL(test, strstr(where, "kallsyms_lookup_name+0x"));
	KUNIT_EXPECT_EQ(test, kp.nmissed, 0);
}

static void register_what_is_unknown(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *kp = &k->p[0].kp;

	kp->symbol_name = "kp_test_no_such_function";
	KUNIT_EXPECT_EQ(test, register_kprobe(kp), -ENOENT);
	kp->symbol_name = "kp_test_no_module:kp_test_plain";
	KUNIT_EXPECT_EQ(test, register_kprobe(kp), -ENOENT);
	kp->symbol_name = NULL;
	kp->addr = (void *)1;
	KUNIT_EXPECT_EQ(test, register_kprobe(kp), -ENOENT);
	KUNIT_EXPECT_PTR_EQ(test, (void *)kp->addr, (void *)1);
	KUNIT_EXPECT_TRUE(test, not_registered(kp));
}

static void register_in_data(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *kp = &k->p[0].kp;
	int ret;

	kp->symbol_name = NULL;
	kp->addr = (void *)&targets;
	/* With KALLSYMS_ALL there is a symbol, but it is not text. */
	ret = register_kprobe(kp);
	KUNIT_EXPECT_TRUE(test, ret == -EINVAL || ret == -ENOENT);
	KUNIT_EXPECT_TRUE(test, not_registered(kp));
}

static void register_inside_an_instruction(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *kp = &k->p[0].kp;
	unsigned int i, refused = 0;
	int ret, odd = 0;

	/* The padding is followed by an instruction of several bytes. */
	for (i = 1; i < 12; i++) {
		memset(kp, 0, sizeof(*kp));
		kp->symbol_name = "kp_test_plain";
		kp->offset = i;
		ret = register_kprobe(kp);
		if (!ret) {
			unregister_kprobe(kp);
			continue;
		}
		refused++;
		odd += ret != -EINVAL && ret != -EILSEQ;
		KUNIT_EXPECT_NULL(test, kp->addr);
	}
	KUNIT_EXPECT_GT(test, refused, 0);
	KUNIT_EXPECT_EQ(test, odd, 0);
}

/*
 * Flags and structures
 */

static void register_ignores_other_flags(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *p = &k->p[0];

	p->kp.flags = KPROBE_FLAGS & ~(KPROBE_FLAG_DISABLED | KPROBE_FLAG_REENTRANT);
	p->kp.nmissed = 5;
	KUNIT_ASSERT_EQ(test, register_kprobe(&p->kp), 0);
	KUNIT_EXPECT_EQ(test, p->kp.nmissed, 0);
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&p->kp));
	KUNIT_EXPECT_EQ(test, p->kp.flags & ~(KPROBE_FLAG_FTRACE | KPROBE_FLAG_OPTIMIZED),
			k->t->entry ? KPROBE_FLAG_ON_FUNC_ENTRY : 0);
	KUNIT_EXPECT_EQ(test, hits(k, p), 1);
	unregister_kprobe(&p->kp);
}

static void registered_disabled(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *p = &k->p[0], *other = &k->p[1];

	p->kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, register_kprobe(&p->kp), 0);
	KUNIT_EXPECT_EQ(test, hits(k, p), 0);
	/* Next to one that is enabled. */
	KUNIT_EXPECT_EQ(test, register_kprobe(&other->kp), 0);
	KUNIT_EXPECT_EQ(test, hits(k, p), 0);
	KUNIT_EXPECT_EQ(test, hits(k, other), 1);

	KUNIT_EXPECT_EQ(test, enable_kprobe(&p->kp), 0);
	KUNIT_EXPECT_EQ(test, hits(k, p), 1);
	unregister_kprobe(&other->kp);
	KUNIT_EXPECT_EQ(test, hits(k, p), 1);
	unregister_kprobe(&p->kp);
}

static void enable_and_disable(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *p = &k->p[0];

	KUNIT_EXPECT_EQ(test, enable_kprobe(&p->kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&p->kp), -EINVAL);

	KUNIT_ASSERT_EQ(test, register_kprobe(&p->kp), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&p->kp), 0);
	KUNIT_EXPECT_EQ(test, hits(k, p), 1);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&p->kp), 0);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&p->kp));
	KUNIT_EXPECT_EQ(test, disable_kprobe(&p->kp), 0);
	KUNIT_EXPECT_EQ(test, hits(k, p), 0);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&p->kp), 0);
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&p->kp));
	KUNIT_EXPECT_EQ(test, hits(k, p), 1);
	unregister_kprobe(&p->kp);

	KUNIT_EXPECT_EQ(test, enable_kprobe(&p->kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, hits(k, p), 0);
}

/* Each of three on and off, in all combinations. */
static void enabled_among_others(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	int i, mask, now;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, register_kprobe(&k->p[i].kp), 0);

	for (mask = 0; mask < 8; mask++) {
		for (i = 0; i < 3; i++) {
			KUNIT_EXPECT_EQ(test, mask & BIT(i) ? enable_kprobe(&k->p[i].kp) :
							      disable_kprobe(&k->p[i].kp), 0);
			atomic_set(&k->p[i].pre, 0);
		}
		KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
		for (now = 0, i = 0; i < 3; i++)
			now |= atomic_read(&k->p[i].pre) << i;
		KUNIT_EXPECT_EQ(test, now, mask);
	}

	for (i = 0; i < 3; i++)
		unregister_kprobe(&k->p[i].kp);
}

/*
 * Handlers
 */

static void any_handler_may_be_missing(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *none = &k->p[0], *post = &k->p[1];

	none->kp.pre_handler = NULL;
	KUNIT_ASSERT_EQ(test, register_kprobe(&none->kp), 0);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);

	post->kp.pre_handler = NULL;
	post->kp.post_handler = test_post;
	KUNIT_EXPECT_EQ(test, register_kprobe(&post->kp), 0);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	KUNIT_EXPECT_EQ(test, atomic_read(&post->post), 1);
	unregister_kprobe(&none->kp);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	KUNIT_EXPECT_EQ(test, atomic_read(&post->post), 2);
	unregister_kprobe(&post->kp);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	KUNIT_EXPECT_EQ(test, atomic_read(&post->post), 2);
}

static void several_at_one_address(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	int i;

	for (i = 0; i < 3; i++) {
		k->p[i].kp.post_handler = i == 1 ? NULL : test_post;
		KUNIT_ASSERT_EQ(test, register_kprobe(&k->p[i].kp), 0);
	}
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "cbaCA");
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_PTR_EQ(test, k->p[i].p, &k->p[i].kp);
		KUNIT_EXPECT_FALSE(test, k->p[i].preemptible);
	}

	disable_kprobe(&k->p[2].kp);
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "baA");
	/* Enabling does not change the order. */
	enable_kprobe(&k->p[2].kp);
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "cbaCA");
	unregister_kprobe(&k->p[1].kp);
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "caCA");
	unregister_kprobe(&k->p[0].kp);
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "cC");
	unregister_kprobe(&k->p[2].kp);
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "");
}

static void non_zero_redirects(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	int i;

	if (!k->t->entry)
		kunit_skip(test, "needs a function entry");

	for (i = 0; i < 3; i++) {
		k->p[i].kp.post_handler = test_post;
		KUNIT_ASSERT_EQ(test, register_kprobe(&k->p[i].kp), 0);
	}
	k->p[1].redirect = kp_test_other;
	k->p[1].ret = 1;

	memset(&k->log, 0, sizeof(k->log));
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 1010);
	KUNIT_EXPECT_STREQ(test, k->log.text, "cb");

	/* The CPU is ready for the next hit. */
	k->p[1].redirect = NULL;
	k->p[1].ret = 0;
	memset(&k->log, 0, sizeof(k->log));
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	KUNIT_EXPECT_STREQ(test, k->log.text, "cbaCBA");

	for (i = 0; i < 3; i++)
		unregister_kprobe(&k->p[i].kp);
}

static void zero_does_not_redirect(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *p = &k->p[0];

	if (!KPROBES_TEST_HAS_IGNORED_IP)
		kunit_skip(test, "the backend continues at what the handler wrote");

	p->redirect = kp_test_other;
	KUNIT_ASSERT_EQ(test, register_kprobe(&p->kp), 0);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	unregister_kprobe(&p->kp);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->pre), 1);
}

static void nested_hits_are_missed(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *outer = &k->p[0], *inner = &k->p[1], *off = &k->p[2];

	inner->kp.symbol_name = "kp_test_other";
	inner->kp.addr = NULL;
	off->kp.symbol_name = "kp_test_other";
	off->kp.addr = NULL;
	off->kp.flags = KPROBE_FLAG_DISABLED;
	outer->kp.post_handler = test_post;
	outer->nest_pre = call_other;
	outer->nest_post = call_other;
	KUNIT_ASSERT_EQ(test, register_kprobe(&inner->kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&off->kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&outer->kp), 0);

	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	KUNIT_EXPECT_EQ(test, atomic_read(&outer->pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&outer->post), 1);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner->pre), 0);
	KUNIT_EXPECT_EQ(test, inner->kp.nmissed, 2);
	KUNIT_EXPECT_EQ_MSG(test, off->kp.nmissed, 0, "a miss was counted for a disabled probe");

	/* Outside of handlers it is hit as usual. */
	KUNIT_EXPECT_EQ(test, call_other(1), 1001);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner->pre), 1);

	unregister_kprobe(&outer->kp);
	unregister_kprobe(&inner->kp);
	unregister_kprobe(&off->kp);
}

/*
 * Batches
 */

static void batch_is_registered(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(k->p); i++) {
		k->p[i].kp.symbol_name = NULL;
		k->p[i].kp.addr = (void *)kp_test_mid_insns;
		k->p[i].kp.offset = i * (kp_test_mid_insns_end - kp_test_mid_insns) / NR_MID;
	}
	probe_at(&k->p[1], &targets[0]);
	k->p[1].kp.offset = 0;
	k->t = &targets[2];

	KUNIT_ASSERT_EQ(test, register_kprobes(k->kps, 4), 0);
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "acd");
	k->t = &targets[0];
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "b");
	unregister_kprobes(k->kps, 4);
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "");
	for (i = 0; i < ARRAY_SIZE(k->p); i++)
		KUNIT_EXPECT_TRUE(test, not_registered(&k->p[i].kp));
}

static void batch_of_nothing(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *none[2] = {};

	KUNIT_EXPECT_EQ(test, register_kprobes(k->kps, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kprobes(k->kps, -1), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kprobes(NULL, 2), -EINVAL);
	unregister_kprobes(k->kps, 0);
	unregister_kprobes(k->kps, -1);
	unregister_kprobes(NULL, 2);
	unregister_kprobes(none, ARRAY_SIZE(none));
	KUNIT_EXPECT_NOT_NULL(test, k->p[0].kp.symbol_name);
	KUNIT_EXPECT_EQ(test, hits(k, &k->p[0]), 0);
}

/* One of four is bad, at each position; the others are unchanged. */
static void batch_fails_as_a_whole(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	const struct target *t = k->t;
	int bad, i;

	for (bad = 0; bad < ARRAY_SIZE(k->p); bad++) {
		for (i = 0; i < ARRAY_SIZE(k->p); i++) {
			k->p[i].kp.symbol_name = t->symbol;
			k->p[i].kp.addr = t->addr;
			k->p[i].kp.flags = i == 3 ? KPROBE_FLAG_DISABLED : 0;
			k->p[i].kp.nmissed = 40 + i;
		}
		k->p[bad].kp.addr = NULL;
		k->p[bad].kp.symbol_name = "kp_test_no_such_function";

		KUNIT_EXPECT_EQ(test, register_kprobes(k->kps, 4), -ENOENT);
		KUNIT_EXPECT_STREQ(test, order_of_call(k), "");
		for (i = 0; i < ARRAY_SIZE(k->p); i++) {
			struct kprobe *kp = &k->p[i].kp;

			KUNIT_EXPECT_TRUE(test, not_registered(kp));
			KUNIT_EXPECT_PTR_EQ(test, (void *)kp->addr, i == bad ? NULL : t->addr);
			KUNIT_EXPECT_EQ(test, kp->flags, i == 3 ? KPROBE_FLAG_DISABLED : 0);
			KUNIT_EXPECT_EQ(test, kp->nmissed, 40 + i);
		}
	}
}

/* The error is that of the first bad probe, whichever is detected first. */
static void batch_reports_the_lowest_index(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *kp = &k->p[1].kp;

	/* Detected late: not an instruction, or not text. */
	kp->symbol_name = NULL;
	kp->addr = (void *)&targets;
	k->p[2].kp.addr = NULL;
	k->p[2].kp.symbol_name = "kp_test_no_such_function";
	if (IS_ENABLED(CONFIG_KALLSYMS_ALL)) {
		KUNIT_EXPECT_EQ(test, register_kprobes(k->kps, 4), -EINVAL);
		swap(k->kps[1], k->kps[2]);
	}
	KUNIT_EXPECT_EQ(test, register_kprobes(k->kps, 4), -ENOENT);
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "");
}

/* So that it can be registered again, also if the address was a sum. */
static void batch_failure_restores_addr(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *kps[2] = { &k->p[0].kp, &k->p[1].kp };
	kprobe_opcode_t *before = (void *)kp_test_mid_insns;

	/* objtool must not see a reference into the function. */
	OPTIMIZER_HIDE_VAR(before);
	before = (void *)before - 8;
	k->t = &targets[2];
	k->p[0].kp.symbol_name = NULL;
	k->p[0].kp.addr = before;
	k->p[0].kp.offset = 8;
	k->p[1].kp.symbol_name = "kp_test_no_such_function";
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, 2), -ENOENT);
	KUNIT_EXPECT_PTR_EQ(test, k->p[0].kp.addr, before);
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, 1), 0);
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "a");
	unregister_kprobes(kps, 1);
}

static void batch_with_null(struct kunit *test)
{
	struct kprobes_test *k = begin(test);

	k->kps[2] = NULL;
	KUNIT_EXPECT_EQ(test, register_kprobes(k->kps, 4), -EINVAL);
	KUNIT_EXPECT_TRUE(test, not_registered(&k->p[0].kp));
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "");
}

/* A failed batch does not affect probes that were there before. */
static void batch_failure_leaves_others_alone(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *kps[3] = { &k->p[1].kp, &k->p[2].kp, &k->p[3].kp };

	KUNIT_ASSERT_EQ(test, register_kprobe(&k->p[0].kp), 0);
	k->p[3].kp.addr = NULL;
	k->p[3].kp.symbol_name = "kp_test_no_such_function";
	k->p[1].kp.post_handler = test_post;
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, 3), -ENOENT);
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "a");
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, 2), 0);
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "cbaB");
	unregister_kprobes(kps, 3);
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "a");
	unregister_kprobe(&k->p[0].kp);
}

/*
 * Unregistering
 */

static void unregister_what_is_not_registered(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *live = &k->p[0], *never = &k->p[1], *gone = &k->p[2];

	KUNIT_ASSERT_EQ(test, register_kprobe(&live->kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&gone->kp), 0);
	unregister_kprobe(&gone->kp);
	KUNIT_EXPECT_PTR_EQ(test, gone->kp.addr, live->kp.addr);

	unregister_kprobe(&gone->kp);
	KUNIT_EXPECT_NULL(test, gone->kp.addr);
	never->kp.addr = live->kp.addr;
	unregister_kprobe(&never->kp);
	KUNIT_EXPECT_NULL(test, never->kp.addr);

	KUNIT_EXPECT_EQ(test, hits(k, live), 1);
	unregister_kprobe(&live->kp);
}

static void unregister_twice_in_one_call(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *kp = &k->p[0].kp, *kps[3] = { kp, kp, kp };
	int i;

	/* hit_kunit.c checks that no slots are lost. */
	for (i = 0; i < 20; i++) {
		probe_at(&k->p[0], k->t);
		kp->flags = 0;
		KUNIT_ASSERT_EQ(test, register_kprobe(kp), 0);
		KUNIT_EXPECT_EQ(test, hits(k, &k->p[0]), 1);
		unregister_kprobes(kps, 3);
		KUNIT_EXPECT_TRUE(test, not_registered(kp));
		KUNIT_EXPECT_EQ(test, hits(k, &k->p[0]), 0);
	}
}

static void unregister_some_that_are_not_registered(struct kunit *test)
{
	struct kprobes_test *k = begin(test);

	KUNIT_ASSERT_EQ(test, register_kprobe(&k->p[1].kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&k->p[3].kp), 0);
	unregister_kprobes(k->kps, 4);
	KUNIT_EXPECT_NULL(test, k->p[0].kp.addr);
	KUNIT_EXPECT_NOT_NULL(test, k->p[1].kp.addr);
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "");
}

/* The one test here that warns. "expect splat" tells whatever checks the console. */
static void register_twice(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *a = &k->p[0], *b = &k->p[1];
	struct kprobe *twice[2] = { &b->kp, &b->kp };
	struct kprobe before;

	pr_info("expect splat: kernel/kprobes/register.c:\n");

	/* The same one twice in one call. */
	memcpy(&before, &b->kp, sizeof(before));
	KUNIT_EXPECT_EQ(test, register_kprobes(twice, 2), -EINVAL);
	KUNIT_EXPECT_TRUE(test, not_registered(&b->kp));
	/* The reason is left for kprobe_why_refused(). */
	before.refusal = b->kp.refusal;
	KUNIT_EXPECT_MEMEQ(test, &b->kp, &before, sizeof(before));
	KUNIT_EXPECT_EQ(test, hits(k, b), 0);

	/* One that is alone at its address, then one that shares it. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&a->kp), 0);
	a->kp.symbol_name = NULL;
	memcpy(&before, &a->kp, sizeof(before));
	KUNIT_EXPECT_EQ(test, register_kprobe(&a->kp), -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, &a->kp, &before, sizeof(before));
	KUNIT_EXPECT_EQ(test, hits(k, a), 1);
	KUNIT_EXPECT_EQ(test, register_kprobe(&b->kp), 0);
	memcpy(&before, &a->kp, sizeof(before));
	KUNIT_EXPECT_EQ(test, register_kprobe(&a->kp), -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, &a->kp, &before, sizeof(before));
	KUNIT_EXPECT_EQ(test, hits(k, a), 1);
	KUNIT_EXPECT_EQ(test, hits(k, b), 1);

	unregister_kprobe(&a->kp);
	KUNIT_EXPECT_EQ(test, hits(k, a), 0);
	KUNIT_EXPECT_EQ(test, hits(k, b), 1);
	unregister_kprobe(&b->kp);
}

static int test_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	return 0;
}

static void fault_handler_needs_support(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *kp = &k->p[0].kp;

	if (IS_ENABLED(CONFIG_HAVE_KPROBE_FAULT_HANDLER))
		kunit_skip(test, "the architecture has fault handlers");

	kp->fault_handler = test_fault;
	KUNIT_EXPECT_EQ(test, register_kprobe(kp), -EOPNOTSUPP);
	KUNIT_EXPECT_PTR_EQ(test, (void *)kp->addr, k->t->addr);
	kp->fault_handler = NULL;
	KUNIT_EXPECT_EQ(test, register_kprobe(kp), 0);
	unregister_kprobe(kp);
}

/*
 * Several CPUs
 */

struct hitter {
	struct task_struct	*task;
	const struct target	*t;
	struct completion	done;
	unsigned int		calls;
	unsigned int		wrong;
};

#define CALLS_PER_CPU	2000

static int hitter_thread(void *data)
{
	struct hitter *h = data;

	while (h->calls < CALLS_PER_CPU) {
		if (call(h->t, h->calls) != h->calls + h->t->add)
			h->wrong++;
		h->calls++;
		cond_resched();
	}
	complete(&h->done);
	return 0;
}

static void hits_of_all_cpus_count(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	unsigned int cpu, n = 0, i;
	struct hitter *h;

	h = kunit_kcalloc(test, nr_cpu_ids, sizeof(*h), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, h);
	k->p[0].kp.post_handler = test_post;
	k->p[0].log = NULL;
	KUNIT_ASSERT_EQ(test, register_kprobe(&k->p[0].kp), 0);

	for_each_online_cpu(cpu) {
		h[n].t = k->t;
		init_completion(&h[n].done);
		h[n].task = kthread_create_on_cpu(hitter_thread, &h[n], cpu, "kp_test/%u");
		if (IS_ERR(h[n].task))
			break;
		get_task_struct(h[n].task);
		wake_up_process(h[n].task);
		n++;
	}
	for (i = 0; i < n; i++) {
		wait_for_completion(&h[i].done);
		kthread_stop(h[i].task);
		put_task_struct(h[i].task);
		KUNIT_EXPECT_EQ(test, h[i].wrong, 0);
		KUNIT_EXPECT_EQ(test, h[i].calls, CALLS_PER_CPU);
	}
	unregister_kprobe(&k->p[0].kp);
	KUNIT_EXPECT_EQ(test, atomic_read(&k->p[0].pre), n * CALLS_PER_CPU);
	KUNIT_EXPECT_EQ(test, atomic_read(&k->p[0].post), n * CALLS_PER_CPU);
	KUNIT_EXPECT_EQ(test, k->p[0].kp.nmissed, 0);
}

static void unregister_lingering_kprobe(struct lingerer *l)
{
	unregister_kprobe(&l->kp);
}

static void unregister_waits_for_the_handler(struct kunit *test)
{
	struct lingerer *l = begin_lingering(test);

	l->kp.symbol_name = l->t->symbol;
	l->kp.pre_handler = lingering_pre;
	expect_to_wait(test, l, register_kprobe(&l->kp), unregister_lingering_kprobe);
}

static int kprobes_test_init(struct kunit *test)
{
	struct kprobes_test *k = kunit_kzalloc(test, sizeof(*k), GFP_KERNEL);
	int i;

	if (!k)
		return -ENOMEM;

	for (i = 0; i < ARRAY_SIZE(k->p); i++) {
		k->p[i].kp.pre_handler = test_pre;
		k->p[i].id = 'a' + i;
		k->p[i].log = &k->log;
		INIT_LIST_HEAD(&k->p[i].kp.list);
		k->kps[i] = &k->p[i].kp;
	}
	test->priv = k;
	return 0;
}

static struct kunit_case kprobes_testcases[] = {
	KUNIT_CASE_PARAM(register_by_symbol_and_by_address, target_gen_params),
	KUNIT_CASE(register_at_an_offset),
	KUNIT_CASE(symbol_and_address_both_or_neither),
	KUNIT_CASE_PARAM(register_again_by_symbol, entry_gen_params),
	KUNIT_CASE(register_only_to_learn_an_address),
	KUNIT_CASE(register_what_is_unknown),
	KUNIT_CASE(register_in_data),
	KUNIT_CASE(register_inside_an_instruction),
	KUNIT_CASE_PARAM(register_ignores_other_flags, target_gen_params),
	KUNIT_CASE_PARAM(registered_disabled, target_gen_params),
	KUNIT_CASE_PARAM(enable_and_disable, target_gen_params),
	KUNIT_CASE_PARAM(enabled_among_others, target_gen_params),
	KUNIT_CASE_PARAM(any_handler_may_be_missing, target_gen_params),
	KUNIT_CASE_PARAM(several_at_one_address, target_gen_params),
	KUNIT_CASE_PARAM(non_zero_redirects, target_gen_params),
	KUNIT_CASE_PARAM(zero_does_not_redirect, target_gen_params),
	KUNIT_CASE_PARAM(nested_hits_are_missed, target_gen_params),
	KUNIT_CASE(batch_is_registered),
	KUNIT_CASE(batch_of_nothing),
	KUNIT_CASE_PARAM(batch_fails_as_a_whole, target_gen_params),
	KUNIT_CASE(batch_reports_the_lowest_index),
	KUNIT_CASE(batch_failure_restores_addr),
	KUNIT_CASE(batch_with_null),
	KUNIT_CASE_PARAM(batch_failure_leaves_others_alone, target_gen_params),
	KUNIT_CASE_PARAM(unregister_what_is_not_registered, target_gen_params),
	KUNIT_CASE_PARAM(unregister_twice_in_one_call, target_gen_params),
	KUNIT_CASE_PARAM(unregister_some_that_are_not_registered, target_gen_params),
	KUNIT_CASE(register_twice),
	KUNIT_CASE_PARAM(fault_handler_needs_support, target_gen_params),
	KUNIT_CASE_PARAM(hits_of_all_cpus_count, target_gen_params),
	KUNIT_CASE_PARAM(unregister_waits_for_the_handler, entry_gen_params),
	{}
};

static struct kunit_suite kprobes_test_suite = {
	.name		= "kprobes_test",
	.init		= kprobes_test_init,
	.test_cases	= kprobes_testcases,
};
kunit_test_suites(&kprobes_test_suite);

MODULE_DESCRIPTION("KUnit test of kprobes, from end to end");
MODULE_LICENSE("GPL");

