// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of how a batch is registered: when it calls the operations of its probes, and
 * what readers of text see of it.
 */

#include "suite.h"

#include <linux/init.h>

#include "../register.h"
#include "../site.h"
#include "helpers.h"

/* It begins with bytes that differ. */
static noinline __noclone notrace u32 kp_reg_one(u32 v)
{
	v *= 0x12345678;
	asm volatile("" : "+r" (v));
	KP_PADDING;
	return v + 3;
}

static KP_UNTRACED(u32, kp_reg_two, v + 5)

#define TEXT_LEN	32

struct reg_test {
	struct kprobe	a, b;
	struct kprobe	*kps[2];
	struct kprobe	*refused;
	unsigned int	hits;
	/* One letter for each operation, and one for its probe. */
	char		log[32], seen[32];
	unsigned int	unheld;
	u8		text[TEXT_LEN];
	u8		buf[TEXT_LEN + 2];
};

/* The fixture of the case. Operations and handlers have no other way to it. */
static struct reg_test *now;

static int count_pre(struct kprobe *p, struct pt_regs *regs)
{
	now->hits++;
	return 0;
}

static void note(char what, const struct kprobe *p)
{
	char step[] = { what, p == &now->a ? 'a' : 'b', '\0' };

	strlcat(now->log, step, sizeof(now->log));
}

/* What was called since the last time. */
static const char *logged(void)
{
	strscpy(now->seen, now->log);
	now->log[0] = '\0';
	return now->seen;
}

static enum kprobe_refusal vet(const struct kprobe *p, const struct kprobe_where *where)
{
	note('v', p);
	now->unheld += !kprobe_call_of(p);
	return p == now->refused ? KPROBE_REFUSAL_DATA_SIZE : KPROBE_REFUSAL_NONE;
}

static int prepare(struct kprobe *p)
{
	note('p', p);
	return 0;
}

static void registered(struct kprobe *p)
{
	u32 (*volatile fn)(u32 v) = kp_reg_one;

	note('r', p);
	fn(1);
}

static void stop(struct kprobe *p)
{
	note('s', p);
}

static void done(struct kprobe *p)
{
	note('d', p);
}

static const struct kprobe_batch_ops ops = {
	.vet		= vet,
	.prepare	= prepare,
	.registered	= registered,
	.stop		= stop,
	.done		= done,
};

static void register_operations_of_a_batch(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, kprobe_batch_register(now->kps, 2, &ops), 0);
	KUNIT_EXPECT_STREQ(test, logged(), "vapavbpbrarb");
	/* No other call can register the same structure in the meantime. */
	KUNIT_EXPECT_EQ(test, now->unheld, 0);
	/* Hits are possible from the first operation after arming. */
	KUNIT_EXPECT_EQ(test, now->hits, 2);

	kprobe_batch_unregister(now->kps, 2, &ops);
	KUNIT_EXPECT_STREQ(test, logged(), "sasbdbda");
}

static void register_operations_if_one_is_refused(struct kunit *test)
{
	now->refused = &now->b;
	KUNIT_EXPECT_EQ(test, kprobe_batch_register(now->kps, 2, &ops), -E2BIG);
	/* The first has been prepared, and was linked until the batch was undone. */
	KUNIT_EXPECT_STREQ(test, logged(), "vapavbsada");
	KUNIT_EXPECT_EQ(test, now->hits, 0);

	/* The first is on the blacklist, so nothing is asked about the second. */
	now->refused = NULL;
	now->a.symbol_name = "kprobe_busy_begin";
	KUNIT_EXPECT_EQ(test, kprobe_batch_register(now->kps, 2, &ops), -EINVAL);
	KUNIT_EXPECT_STREQ(test, logged(), "va");
}

static void register_operations_before_a_bad_one(struct kunit *test)
{
	now->b.symbol_name = "kp_reg_no_such_function";
	KUNIT_EXPECT_EQ(test, kprobe_batch_register(now->kps, 2, &ops), -ENOENT);
	/* Nothing is done with a probe after the first that fails. */
	KUNIT_EXPECT_STREQ(test, logged(), "vapasada");
	KUNIT_EXPECT_EQ(test, now->hits, 0);
}

/* Whichever part of the text is read, it is as it was, and not a byte more. */
static void expect_text(struct kunit *test, const u8 *at)
{
	unsigned int from, len, wrong = 0, beyond = 0;

	guard(mutex)(&kprobe_mutex);

	for (from = 0; from < TEXT_LEN; from++) {
		for (len = 1; len <= TEXT_LEN - from; len++) {
			memset(now->buf, 0xa5, sizeof(now->buf));
			wrong += !!kprobe_read_text((unsigned long)at + from, now->buf + 1, len);
			wrong += !!memcmp(now->buf + 1, now->text + from, len);
			beyond += now->buf[0] != 0xa5 || now->buf[len + 1] != 0xa5;
		}
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, beyond, 0);
}

static void register_text_is_read_without_probes(struct kunit *test)
{
	const u8 *at = (u8 *)kprobe_lookup_name("kp_reg_one", 0);

	memcpy(now->text, at, TEXT_LEN);
	expect_text(test, at);
	KP_REGISTER_AND_WAIT(test, &now->a);
	KUNIT_EXPECT_MEMNEQ(test, at, now->text, TEXT_LEN);
	expect_text(test, at);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&now->a), 0);
	expect_text(test, at);
	unregister_kprobe(&now->a);
	expect_text(test, at);
}

static int register_test_init(struct kunit *test)
{
	now = kp_zalloc(test, sizeof(*now));
	now->a.symbol_name = "kp_reg_one";
	now->b.symbol_name = "kp_reg_two";
	now->a.pre_handler = count_pre;
	now->b.pre_handler = count_pre;
	now->kps[0] = &now->a;
	now->kps[1] = &now->b;
	return 0;
}

/* One backend unregisters what get_kprobe() has returned, which is nobody's probe. */
static void register_keeps_sites_from_backends(struct kunit *test)
{
	u32 (*volatile fn)(u32 v) = kp_reg_two;
	struct kprobe *site;

	now->a.symbol_name = "kp_reg_two";
	now->a.pre_handler = count_pre;
	KUNIT_ASSERT_EQ(test, register_kprobe(&now->a), 0);
	scoped_guard(preempt)
		site = get_kprobe(now->a.addr);
	KUNIT_EXPECT_PTR_NE(test, site, &now->a);

	unregister_kprobe(NULL);
	unregister_kprobe(site);
	KUNIT_EXPECT_PTR_EQ(test, site->addr, now->a.addr);
	KUNIT_EXPECT_EQ(test, fn(1), 6);
	KUNIT_EXPECT_EQ(test, now->hits, 1);
	unregister_kprobe(&now->a);
	KUNIT_EXPECT_EQ(test, fn(1), 6);
	KUNIT_EXPECT_EQ(test, now->hits, 1);
}

/* Console drivers are initialized before the first early_initcall(). */
static struct kprobe too_early = { .symbol_name = "kp_reg_one" };
static int too_early_err, too_early_check;

static int __init register_too_early(void)
{
	too_early_check = kprobe_check(&too_early);
	too_early_err = register_kprobe(&too_early);
	return 0;
}
console_initcall(register_too_early);

static void register_is_too_early(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, too_early_check, -EAGAIN);
	KUNIT_EXPECT_EQ(test, too_early_err, -EAGAIN);

	/* The structure is as it was. */
	KUNIT_EXPECT_EQ(test, register_kprobe(&too_early), 0);
	unregister_kprobe(&too_early);
	too_early.addr = NULL;
	too_early.flags = 0;
}

#ifdef CONFIG_HAVE_FUNCTION_ARG_ACCESS_API
/* What monitors do that want to know who installs probes. */
struct reg_watcher {
	struct kprobe	kp;
	void		*arg;
};

static const char * const watched[] = {
	"register_kprobe", "register_kprobes", "unregister_kprobe", "unregister_kprobes",
	"enable_kprobe", "disable_kprobe",
#ifdef CONFIG_KRETPROBES
	"register_kretprobe", "register_kretprobes",
	"unregister_kretprobe", "unregister_kretprobes",
#endif
#ifdef CONFIG_JPROBES
	"register_jprobe", "register_jprobes", "unregister_jprobe", "unregister_jprobes",
#endif
};

struct reg_watchers {
	struct reg_watcher	each[ARRAY_SIZE(watched)];
	struct kprobe		*kps[ARRAY_SIZE(watched)];
};

static int watcher_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct reg_watcher *w = container_of(p, struct reg_watcher, kp);

	w->arg = (void *)regs_get_kernel_argument(regs, 0);
	return 0;
}

/* Its last call had that argument. */
static void expect_seen(struct kunit *test, struct reg_watchers *all, const char *name, void *arg)
{
	struct reg_watcher *w;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(watched); i++) {
		w = &all->each[i];
		if (strcmp(watched[i], name))
			continue;
		KUNIT_EXPECT_PTR_EQ_MSG(test, w->arg, arg, "%s", name);
		w->arg = NULL;
		return;
	}
	KUNIT_FAIL(test, "%s is not watched", name);
}

static void watch_kprobes(struct kunit *test, struct reg_watchers *w)
{
	KUNIT_EXPECT_EQ(test, register_kprobe(&now->a), 0);
	expect_seen(test, w, "register_kprobe", &now->a);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&now->a), 0);
	expect_seen(test, w, "disable_kprobe", &now->a);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&now->a), 0);
	expect_seen(test, w, "enable_kprobe", &now->a);
	unregister_kprobe(&now->a);
	expect_seen(test, w, "unregister_kprobe", &now->a);

	now->b.symbol_name = "kp_reg_no_such_function";
	KUNIT_EXPECT_EQ(test, register_kprobe(&now->b), -ENOENT);
	expect_seen(test, w, "register_kprobe", &now->b);
	KUNIT_EXPECT_EQ(test, kprobe_why_refused(&now->b), KPROBE_REFUSAL_NO_SYMBOL);

	now->a.addr = NULL;
	now->a.flags = 0;
	KUNIT_EXPECT_EQ(test, register_kprobes(now->kps, 1), 0);
	expect_seen(test, w, "register_kprobes", now->kps);
	KUNIT_EXPECT_EQ(test, kprobe_why_refused(&now->a), KPROBE_REFUSAL_IN_USE);
	KUNIT_EXPECT_EQ(test, kprobe_why_refused(&now->b), KPROBE_REFUSAL_NO_SYMBOL);
	unregister_kprobes(now->kps, 1);
	expect_seen(test, w, "unregister_kprobes", now->kps);
}

/* In register_kprobe(), too, where some monitors have their only probe. */
static void watch_kretprobes(struct kunit *test, struct reg_watchers *w)
{
	struct kretprobe *rp = kp_zalloc(test, sizeof(*rp));
	struct kretprobe *rps[] = { rp };

	rp->kp.symbol_name = "kp_reg_one";
	KUNIT_EXPECT_EQ(test, register_kretprobe(rp), 0);
	expect_seen(test, w, "register_kretprobe", rp);
	expect_seen(test, w, "register_kprobe", &rp->kp);
	KUNIT_EXPECT_EQ(test, disable_kretprobe(rp), 0);
	expect_seen(test, w, "disable_kprobe", &rp->kp);
	KUNIT_EXPECT_EQ(test, enable_kretprobe(rp), 0);
	expect_seen(test, w, "enable_kprobe", &rp->kp);
	unregister_kretprobe(rp);
	expect_seen(test, w, "unregister_kretprobe", rp);

	rp->kp.addr = NULL;
	rp->kp.flags = 0;
	KUNIT_EXPECT_EQ(test, register_kretprobes(rps, 1), 0);
	expect_seen(test, w, "register_kretprobes", rps);
	KUNIT_EXPECT_EQ(test, kprobe_why_refused(&rp->kp), KPROBE_REFUSAL_IN_USE);
	unregister_kretprobes(rps, 1);
	expect_seen(test, w, "unregister_kretprobes", rps);
}

#ifdef CONFIG_JPROBES
static void watch_jprobes(struct kunit *test, struct reg_watchers *w)
{
	struct jprobe *jp = kp_zalloc(test, sizeof(*jp));
	struct jprobe *jps[] = { jp };

	jp->kp.symbol_name = "kp_reg_one";
	jp->entry = JPROBE_ENTRY(kp_reg_two);
	KUNIT_EXPECT_EQ(test, register_jprobe(jp), 0);
	expect_seen(test, w, "register_jprobe", jp);
	expect_seen(test, w, "register_kprobe", &jp->kp);
	unregister_jprobe(jp);
	expect_seen(test, w, "unregister_jprobe", jp);

	jp->kp.addr = NULL;
	jp->kp.flags = 0;
	KUNIT_EXPECT_EQ(test, register_jprobes(jps, 1), 0);
	expect_seen(test, w, "register_jprobes", jps);
	unregister_jprobes(jps, 1);
	expect_seen(test, w, "unregister_jprobes", jps);
}
#else
static void watch_jprobes(struct kunit *test, struct reg_watchers *w)
{
}
#endif

static void register_is_seen_by_watchers(struct kunit *test)
{
	struct reg_watchers *w = kp_zalloc(test, sizeof(*w));
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(watched); i++) {
		w->each[i].kp.symbol_name = watched[i];
		w->each[i].kp.pre_handler = watcher_pre;
		w->kps[i] = &w->each[i].kp;
	}
	KUNIT_ASSERT_EQ(test, register_kprobes(w->kps, ARRAY_SIZE(watched)), 0);
	watch_kprobes(test, w);
	if (IS_ENABLED(CONFIG_KRETPROBES))
		watch_kretprobes(test, w);
	watch_jprobes(test, w);
	unregister_kprobes(w->kps, ARRAY_SIZE(watched));
	/* The watchers have seen their own end. */
	expect_seen(test, w, "unregister_kprobes", w->kps);
}
#else
KP_SKIPPED(register_is_seen_by_watchers, "needs the arguments of functions")
#endif

static struct kunit_case register_cases[] = {
	KUNIT_CASE(register_operations_of_a_batch),
	KUNIT_CASE(register_operations_if_one_is_refused),
	KUNIT_CASE(register_operations_before_a_bad_one),
	KUNIT_CASE(register_text_is_read_without_probes),
	KUNIT_CASE(register_keeps_sites_from_backends),
	KUNIT_CASE(register_is_too_early),
	KUNIT_CASE(register_is_seen_by_watchers),
	{}
};

KP_SUITE(register_cases, .name = "kprobes_register", .init = register_test_init);
