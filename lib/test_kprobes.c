// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What kprobes promise their users, from end to end: one test for each promise.
 * Only the exported interface is used, so this can be a module, too; what needs
 * to look inside is in kernel/kprobes/tests/.
 *
 * Handlers only record. The body of the test judges.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/objtool.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/timekeeping.h>

/*
 * Targets: a function with breakpoints only, one that starts with a call site
 * of ftrace where there is such a thing, and instructions inside a function.
 */

/*
 * Some architectures look for an ftrace site in the first bytes of a function,
 * without asking where it ends. So these have some more.
 */
#define KP_PADDING	asm volatile("	.rept 8\n	nop\n	.endr\n")

extern char kp_test_mid_insns[] asm(".Lkp_test_mid");
extern char kp_test_mid_insns_end[] asm(".Lkp_test_mid_end");

#define NR_MID	16

static noinline __noclone notrace u32 kp_test_plain(u32 v)
{
	KP_PADDING;
	OPTIMIZER_HIDE_VAR(v);
	return v + 3;
}

static noinline __noclone u32 kp_test_traced(u32 v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v + 5;
}

static noinline __noclone notrace u32 kp_test_mid(u32 v)
{
	OPTIMIZER_HIDE_VAR(v);
	/* Some architectures count the first instructions as the entry. */
	asm volatile("	.rept 8\n"
		     "	nop\n"
		     "	.endr\n"
		     ".Lkp_test_mid:\n"
		     ANNOTATE_NOENDBR
		     "	.rept 16\n"
		     "	nop\n"
		     "	.endr\n"
		     ".Lkp_test_mid_end:\n"
		     ANNOTATE_NOENDBR
		     : "+r" (v));
	return v + 7;
}

/* Hit from handlers, or instead of a target. */
static noinline __noclone notrace u32 kp_test_other(u32 v)
{
	KP_PADDING;
	OPTIMIZER_HIDE_VAR(v);
	return v + 1000;
}

struct target {
	const char	*name;
	const char	*symbol;
	void		*addr;
	u32		(*fn)(u32 v);
	u32		add;
	bool		ftrace;
	bool		entry;
};

static const struct target targets[] = {
	{ "plain entry",  "kp_test_plain",  NULL, kp_test_plain,  3, false, true },
	{ "ftrace entry", "kp_test_traced", NULL, kp_test_traced, 5, true,  true },
	{ "inside", NULL, kp_test_mid_insns, kp_test_mid, 7, false, false },
};
KUNIT_ARRAY_PARAM_DESC(target, targets, name);

/* Only entries, for return probes. */
static const struct target entries[] = {
	{ "plain entry",  "kp_test_plain",  NULL, kp_test_plain,  3, false, true },
	{ "ftrace entry", "kp_test_traced", NULL, kp_test_traced, 5, true,  true },
};
KUNIT_ARRAY_PARAM_DESC(entry, entries, name);

static u32 (* const volatile call_other)(u32 v) = kp_test_other;

static u32 call(const struct target *t, u32 v)
{
	u32 (*volatile fn)(u32 v) = t->fn;

	return fn(v);
}

/* A probe with what its handlers saw. */
struct probe {
	struct kprobe	kp;
	struct log	*log;
	char		id;
	int		ret;
	u32		(*redirect)(u32 v);
	bool		nest_pre, nest_post;
	atomic_t	pre, post;
	bool		preemptible;
	unsigned long	ip;
	void		*p;
};

/* Who was called, in this order: lower case by pre, upper case by post. */
struct log {
	unsigned int	len;
	char		text[32];
};

struct kprobes_test {
	const struct target	*t;
	struct log		log;
	struct probe		p[4];
	struct kprobe		*kps[4];
};

static void log_add(struct log *log, char id)
{
	if (log && log->len < sizeof(log->text) - 1)
		log->text[log->len++] = id;
}

static void redirect_to(struct pt_regs *regs, u32 (*fn)(u32 v))
{
#if defined(CONFIG_PPC64)
	/* Within one image the table of contents is the same. */
	regs_set_return_ip(regs, ppc_function_entry(fn));
#else
	instruction_pointer_set(regs, (unsigned long)fn);
#endif
}

static int test_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct probe *p = container_of(kp, struct probe, kp);

	/* Perhaps on several CPUs at once: then any of them may have its say. */
	atomic_inc(&p->pre);
	if (preemptible())
		WRITE_ONCE(p->preemptible, true);
	WRITE_ONCE(p->ip, instruction_pointer(regs));
	WRITE_ONCE(p->p, kp);
	log_add(p->log, p->id);
	if (p->nest_pre)
		call_other(1);
	if (p->redirect)
		redirect_to(regs, p->redirect);
	return p->ret;
}

static void test_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct probe *p = container_of(kp, struct probe, kp);

	atomic_inc(&p->post);
	if (preemptible())
		WRITE_ONCE(p->preemptible, true);
	log_add(p->log, p->id + 'A' - 'a');
	if (p->nest_post)
		call_other(1);
}

static void probe_at(struct probe *p, const struct target *t)
{
	p->kp.symbol_name = t->symbol;
	p->kp.addr = t->addr;
}

/* The fixture: fresh probes, all at the target of this parameter. */
static struct kprobes_test *begin(struct kunit *test)
{
	struct kprobes_test *k = test->priv;
	int i;

	k->t = test->param_value ?: &targets[0];
	if (k->t->ftrace && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "needs KPROBES_ON_FTRACE");
	for (i = 0; i < ARRAY_SIZE(k->p); i++)
		probe_at(&k->p[i], k->t);
	return k;
}

/* Pre handlers run by one call of the target. */
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

static bool not_registered(struct kprobe *kp)
{
	return list_empty(&kp->list) && hlist_unhashed(&kp->hlist);
}

/*
 * Where.
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

	/* What was found is an address that can be given. */
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

static void p_reg_01_both_or_neither(struct kunit *test)
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

static void p_reg_02_again_by_symbol(struct kunit *test)
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

static void p_reg_03_unknown(struct kunit *test)
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
	/* With KALLSYMS_ALL there is a symbol, but no text. */
	ret = register_kprobe(kp);
	KUNIT_EXPECT_TRUE(test, ret == -EINVAL || ret == -ENOENT);
	KUNIT_EXPECT_TRUE(test, not_registered(kp));
}

static void p_reg_16_not_on_an_instruction(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *kp = &k->p[0].kp;
	unsigned int i, refused = 0;
	int ret, odd = 0;

	/* Behind the padding is an instruction of several bytes. */
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
 * Flags and structures.
 */

static void p_agg_09_flags_of_the_caller(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *p = &k->p[0];

	p->kp.flags = ~KPROBE_FLAG_DISABLED;
	p->kp.nmissed = 5;
	KUNIT_ASSERT_EQ(test, register_kprobe(&p->kp), 0);
	KUNIT_EXPECT_EQ(test, p->kp.nmissed, 0);
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&p->kp));
	KUNIT_EXPECT_EQ(test, p->kp.flags & ~(KPROBE_FLAG_FTRACE | KPROBE_FLAG_OPTIMIZED),
			k->t->entry ? KPROBE_FLAG_ON_FUNC_ENTRY : 0);
	KUNIT_EXPECT_EQ(test, hits(k, p), 1);
	unregister_kprobe(&p->kp);
}

static void p_agg_11_registered_disabled(struct kunit *test)
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

/* Every one of three on and off, in all combinations. */
static void p_agg_10_enabled_among_others(struct kunit *test)
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
 * Handlers.
 */

static void p_hit_21_handlers_are_not_preemptible(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *p = &k->p[0];

	p->kp.post_handler = test_post;
	KUNIT_ASSERT_EQ(test, register_kprobe(&p->kp), 0);
	call(k->t, 1);
	unregister_kprobe(&p->kp);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->post), 1);
	KUNIT_EXPECT_FALSE(test, p->preemptible);
}

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

static void p_agg_01_several_at_one_address(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	int i;

	for (i = 0; i < 3; i++) {
		k->p[i].kp.post_handler = i == 1 ? NULL : test_post;
		KUNIT_ASSERT_EQ(test, register_kprobe(&k->p[i].kp), 0);
	}
	KUNIT_EXPECT_STREQ(test, order_of_call(k), "cbaCA");
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_PTR_EQ(test, k->p[i].p, &k->p[i].kp);

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

static void p_hit_13_p_agg_01_non_zero_redirects(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	int i;

	if (!k->t->entry)
		kunit_skip(test, "only from an entry to another one");

	for (i = 0; i < 3; i++) {
		k->p[i].kp.post_handler = test_post;
		KUNIT_ASSERT_EQ(test, register_kprobe(&k->p[i].kp), 0);
	}
	k->p[1].redirect = kp_test_other;
	k->p[1].ret = 1;

	memset(&k->log, 0, sizeof(k->log));
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 1010);
	KUNIT_EXPECT_STREQ(test, k->log.text, "cb");

	/* The CPU is fit for the next hit. */
	k->p[1].redirect = NULL;
	k->p[1].ret = 0;
	memset(&k->log, 0, sizeof(k->log));
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	KUNIT_EXPECT_STREQ(test, k->log.text, "cbaCBA");

	for (i = 0; i < 3; i++)
		unregister_kprobe(&k->p[i].kp);
}

static void p_hit_15_zero_does_not_redirect(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *p = &k->p[0];

	if (!IS_ENABLED(CONFIG_X86))
		kunit_skip(test, "not so in the base's backend");

	p->redirect = kp_test_other;
	KUNIT_ASSERT_EQ(test, register_kprobe(&p->kp), 0);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	unregister_kprobe(&p->kp);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->pre), 1);
}

static void p_hit_01_p_hit_05_nested_hits_are_missed(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *outer = &k->p[0], *inner = &k->p[1], *off = &k->p[2];

	inner->kp.symbol_name = "kp_test_other";
	inner->kp.addr = NULL;
	off->kp.symbol_name = "kp_test_other";
	off->kp.addr = NULL;
	off->kp.flags = KPROBE_FLAG_DISABLED;
	outer->kp.post_handler = test_post;
	outer->nest_pre = true;
	outer->nest_post = true;
	KUNIT_ASSERT_EQ(test, register_kprobe(&inner->kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&off->kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&outer->kp), 0);

	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	KUNIT_EXPECT_EQ(test, atomic_read(&outer->pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&outer->post), 1);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner->pre), 0);
	KUNIT_EXPECT_EQ(test, inner->kp.nmissed, 2);
	KUNIT_EXPECT_EQ_MSG(test, off->kp.nmissed, 0, "a disabled probe was charged");

	/* Outside of handlers it is hit as ever. */
	KUNIT_EXPECT_EQ(test, call_other(1), 1001);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner->pre), 1);

	unregister_kprobe(&outer->kp);
	unregister_kprobe(&inner->kp);
	unregister_kprobe(&off->kp);
}

/*
 * Batches.
 */

static void p_agg_07_batch(struct kunit *test)
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

static void p_agg_07_batch_of_nothing(struct kunit *test)
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

/* One of four is bad, at each place; the others are as before. */
static void p_agg_07_batch_fails_as_a_whole(struct kunit *test)
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

/* The error is that of the first, whatever is found first. */
static void batch_reports_the_lowest_index(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *kp = &k->p[1].kp;

	/* Found out late: not an instruction, or not text. */
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

/* And so that it can be registered again, also if the address was a sum. */
static void batch_failure_restores_addr(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *kps[2] = { &k->p[0].kp, &k->p[1].kp };
	kprobe_opcode_t *before = (void *)((unsigned long)kp_test_mid_insns - 8);

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

/* A failed batch does not touch who was there before. */
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
 * Leaving.
 */

static void p_agg_06_unregister_what_is_not_registered(struct kunit *test)
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

static void p_base_10_unregister_twice_in_one_call(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct kprobe *kp = &k->p[0].kp, *kps[3] = { kp, kp, kp };
	int i;

	/* Whether slots are lost, hit_kunit.c knows. */
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

/*
 * The one test that warns. "expect splat" tells whoever reads the console.
 */
static void p_agg_04_register_twice(struct kunit *test)
{
	struct kprobes_test *k = begin(test);
	struct probe *a = &k->p[0], *b = &k->p[1];
	struct kprobe *twice[2] = { &b->kp, &b->kp };
	struct kprobe before;

	pr_info("expect splat: kernel/kprobes/register.c:\n");

	/* The same one two times in one call. */
	memcpy(&before, &b->kp, sizeof(before));
	KUNIT_EXPECT_EQ(test, register_kprobes(twice, 2), -EINVAL);
	KUNIT_EXPECT_TRUE(test, not_registered(&b->kp));
	KUNIT_EXPECT_MEMEQ(test, &b->kp, &before, sizeof(before));
	KUNIT_EXPECT_EQ(test, hits(k, b), 0);

	/* One that is alone at its address, then with another one. */
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
 * Several CPUs.
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

/*
 * A handler that is running on another CPU as its probe goes.
 */

struct lingerer {
	struct kprobe		kp, stays;
#ifdef CONFIG_KRETPROBES
	struct kretprobe	rp;
#endif
	const struct target	*t;
	struct task_struct	*task;
	struct completion	done;
	bool			inside, leaving, gone, over;
	int			late;
	u32			returned;
};

/* Breakpoints are handled with interrupts off, where not all clocks go on. */
static void spin_until(u64 end, const bool *flag)
{
	while (ktime_get_mono_fast_ns() < end && !(flag && READ_ONCE(*flag)))
		cpu_relax();
}

static void linger(struct lingerer *l)
{
	WRITE_ONCE(l->inside, true);
	spin_until(ktime_get_mono_fast_ns() + 10ull * NSEC_PER_SEC, &l->leaving);
	/* For some turns of all CPUs, if they have to share one. */
	spin_until(ktime_get_mono_fast_ns() + 300ull * NSEC_PER_MSEC, NULL);
	l->late += READ_ONCE(l->gone);
	WRITE_ONCE(l->over, true);
}

static int lingering_pre(struct kprobe *p, struct pt_regs *regs)
{
	linger(container_of(p, struct lingerer, kp));
	return 0;
}

static void staying_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static int lingerer_thread(void *data)
{
	struct lingerer *l = data;

	l->returned = call(l->t, 10);
	complete(&l->done);
	return 0;
}

static void dismiss(struct lingerer *l)
{
	kthread_stop(l->task);
	put_task_struct(l->task);
}

/*
 * With another probe at the site, which stays: nothing is disarmed then, so there is
 * no wait but that for the handlers. Its post handler keeps a jump away.
 */
static struct lingerer *begin_lingering(struct kunit *test)
{
	struct lingerer *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, l);
	l->t = test->param_value;
	if (l->t->ftrace && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "needs KPROBES_ON_FTRACE");
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");

	init_completion(&l->done);
	l->task = kthread_create_on_cpu(lingerer_thread, l, cpumask_last(cpu_online_mask),
					"kp_test/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(l->task));
	get_task_struct(l->task);
	l->stays.symbol_name = l->t->symbol;
	l->stays.post_handler = staying_post;
	ret = register_kprobe(&l->stays);
	if (ret)
		dismiss(l);
	KUNIT_ASSERT_EQ(test, ret, 0);
	return l;
}

/* @registered: what registering the one that goes has returned. */
static void expect_to_wait(struct kunit *test, struct lingerer *l, int registered,
			   void (*unregister)(struct lingerer *l))
{
	unsigned long end = jiffies + 10 * HZ;
	bool over;

	KUNIT_EXPECT_EQ(test, registered, 0);
	if (registered) {
		dismiss(l);
		unregister_kprobe(&l->stays);
		return;
	}

	/* We stay where it is not. */
	set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));
	wake_up_process(l->task);
	while (!READ_ONCE(l->inside) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(l->inside));

	WRITE_ONCE(l->leaving, true);
	unregister(l);
	over = READ_ONCE(l->over);
	WRITE_ONCE(l->gone, true);
	/* At once: a handler that finds its probe gone may never end. */
	KUNIT_EXPECT_TRUE_MSG(test, over, "unregistered while the handler was running");

	set_cpus_allowed_ptr(current, cpu_possible_mask);
	wait_for_completion(&l->done);
	dismiss(l);
	unregister_kprobe(&l->stays);
	KUNIT_EXPECT_EQ(test, l->late, 0);
	KUNIT_EXPECT_EQ(test, l->returned, 10 + l->t->add);
}

static void unregister_lingering_kprobe(struct lingerer *l)
{
	unregister_kprobe(&l->kp);
}

static void p_hit_08_p_agg_12_unregister_waits_for_the_handler(struct kunit *test)
{
	struct lingerer *l = begin_lingering(test);

	l->kp.symbol_name = l->t->symbol;
	l->kp.pre_handler = lingering_pre;
	expect_to_wait(test, l, register_kprobe(&l->kp), unregister_lingering_kprobe);
}

#ifdef CONFIG_KRETPROBES

/*
 * Return probes.
 */

#define STACK_DEPTH	32

struct retprobe {
	struct kretprobe	rp;
	char			id;
	struct log		*log;
	int			refuse;
	bool			trace;
	u32			new_value;

	atomic_t		entries;
	atomic_t		returns;
	bool			preemptible;
	bool			wrong;
	unsigned long		value;
	unsigned long		ret_addr;
	unsigned long		ip;
	unsigned long		popped;
	bool			flags_wrong;
	unsigned long		stack[STACK_DEPTH];
	unsigned int		depth;
	unsigned long		regs_stack[STACK_DEPTH];
	unsigned int		regs_depth;
	atomic_t		order;
};

/* What is kept from entry to return. */
struct call_data {
	int		nr;
	void		*task;
	unsigned long	sp;
};

/* What a return pops, where calls push. */
#define RETURN_POPS	(IS_ENABLED(CONFIG_X86) ? sizeof(long) : 0)

static unsigned long sp_of(struct pt_regs *regs)
{
#ifdef CONFIG_HAVE_REGS_AND_STACK_ACCESS_API
	return kernel_stack_pointer(regs);
#else
	return 0;
#endif
}

static bool flags_of_function(struct pt_regs *regs)
{
#ifdef CONFIG_X86
	/* Not those of the trampoline or the handler: it runs with interrupts on. */
	return (regs->flags & (X86_EFLAGS_IF | X86_EFLAGS_DF | X86_EFLAGS_TF)) == X86_EFLAGS_IF;
#else
	return true;
#endif
}

static struct retprobe *retprobe_of(struct kretprobe_instance *ri)
{
	return container_of(get_kretprobe(ri), struct retprobe, rp);
}

/* Handlers may run on several CPUs at once: then any of them may have its say. */
static void remember(bool *flag, bool set)
{
	if (set)
		WRITE_ONCE(*flag, true);
}

static int test_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct retprobe *r = retprobe_of(ri);
	struct call_data *d = (void *)ri->data;

	remember(&r->preemptible, preemptible());
	remember(&r->wrong, ri->rp != &r->rp || ri->task != current);
	d->nr = atomic_inc_return(&r->entries);
	d->task = current;
	d->sp = sp_of(regs);
	log_add(r->log, r->id);
	return r->refuse;
}

static int test_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct retprobe *r = retprobe_of(ri);
	struct call_data *d = (void *)ri->data;

	atomic_inc(&r->returns);
	remember(&r->preemptible, preemptible());
	remember(&r->wrong, ri->rp != &r->rp || ri->task != current || d->task != current);
	remember(&r->wrong, (unsigned long)ri->ret_addr != get_kretprobe_retaddr(ri));
	/* Calls of one task return in the other order. */
	remember(&r->wrong, d->nr != atomic_read(&r->entries) - atomic_fetch_inc(&r->order));
	WRITE_ONCE(r->value, regs_return_value(regs));
	WRITE_ONCE(r->ret_addr, get_kretprobe_retaddr(ri));
	WRITE_ONCE(r->ip, instruction_pointer(regs));
	WRITE_ONCE(r->popped, sp_of(regs) - d->sp);
	remember(&r->flags_wrong, !flags_of_function(regs));
	log_add(r->log, r->id + 'A' - 'a');
	if (r->trace) {
#ifdef CONFIG_STACKTRACE
		r->depth = stack_trace_save(r->stack, STACK_DEPTH, 0);
#ifndef MODULE
		r->regs_depth = stack_trace_save_regs(regs, r->regs_stack, STACK_DEPTH, 0);
#endif
#endif
	}
#if defined(CONFIG_X86) || defined(CONFIG_ARM64) || defined(CONFIG_PPC) || \
	defined(CONFIG_RISCV)
	if (r->new_value)
		regs_set_return_value(regs, r->new_value);
#endif
	return 0;
}

static void retprobe_at(struct retprobe *r, const char *symbol)
{
	struct log *log = r->log;
	char id = r->id;

	memset(r, 0, sizeof(*r));
	r->log = log;
	r->id = id;
	r->rp.kp.symbol_name = symbol;
	r->rp.handler = test_return;
	r->rp.entry_handler = test_entry;
	r->rp.data_size = sizeof(struct call_data);
	INIT_LIST_HEAD(&r->rp.kp.list);
}

struct retprobes_test {
	const struct target	*t;
	struct log		log;
	struct retprobe		r[3];
	struct kretprobe	*rps[3];
};

static struct retprobes_test *begin_ret(struct kunit *test)
{
	struct retprobes_test *k;
	int i;

	k = kunit_kzalloc(test, sizeof(*k), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, k);
	k->t = test->param_value ?: &entries[0];
	if (k->t->ftrace && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "needs KPROBES_ON_FTRACE");

	for (i = 0; i < ARRAY_SIZE(k->r); i++) {
		k->r[i].log = &k->log;
		k->r[i].id = 'a' + i;
		retprobe_at(&k->r[i], k->t->symbol);
		k->rps[i] = &k->r[i].rp;
	}
	return k;
}

static const char *order_of_ret_call(struct retprobes_test *k)
{
	memset(&k->log, 0, sizeof(k->log));
	call(k->t, 1);
	return k->log.text;
}

static void ret_entry_and_return(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];

	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	KUNIT_EXPECT_EQ(test, kprobe_ftrace(&r->rp.kp), k->t->ftrace);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 1);
	KUNIT_EXPECT_EQ(test, r->preemptible, 0);
	KUNIT_EXPECT_EQ_MSG(test, r->wrong, 0, "instance fields");
	KUNIT_EXPECT_EQ(test, r->value, 10 + k->t->add);
	KUNIT_EXPECT_EQ(test, r->ip, r->ret_addr);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 0);
	unregister_kretprobe(&r->rp);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
}

static void p_ret_05_entry_handler_declines(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];
	int i;

	r->refuse = 1;
	r->rp.maxactive = 2;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	/* More often than there are instances. */
	for (i = 0; i < 20; i++)
		call(k->t, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 20);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 0);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 0);
	unregister_kretprobe(&r->rp);
}

static void ret_without_handlers(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);

	k->r[0].rp.entry_handler = NULL;
	k->r[1].rp.entry_handler = NULL;
	k->r[1].rp.handler = NULL;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&k->r[1].rp), 0);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	unregister_kretprobe(&k->r[1].rp);
}

static void p_ret_20_registers(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];

	/* Trampolines of others leave some out. */
	if (!IS_ENABLED(CONFIG_X86) && !IS_ENABLED(CONFIG_ARM64) && !IS_ENABLED(CONFIG_PPC))
		kunit_skip(test, "not a backend of ours");

	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	unregister_kretprobe(&r->rp);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 1);
	KUNIT_EXPECT_EQ(test, r->value, 10 + k->t->add);
	KUNIT_EXPECT_EQ(test, r->ip, r->ret_addr);
	KUNIT_EXPECT_EQ(test, r->popped, RETURN_POPS);
	KUNIT_EXPECT_FALSE(test, r->flags_wrong);
}

static void p_ret_20_return_value_can_be_changed(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);

	if (!IS_ENABLED(CONFIG_X86) && !IS_ENABLED(CONFIG_ARM64) &&
	    !IS_ENABLED(CONFIG_PPC) && !IS_ENABLED(CONFIG_RISCV))
		kunit_skip(test, "no regs_set_return_value()");

	k->r[0].new_value = 4711;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&k->r[0].rp), 0);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 4711);
	unregister_kretprobe(&k->r[0].rp);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
}

static void p_ret_02_p_ret_03_maxactive_default(struct kunit *test)
{
	static const int given[] = { 0, -1, -1000, 7 };
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];
	int i, want;

	for (i = 0; i < ARRAY_SIZE(given); i++) {
		retprobe_at(r, k->t->symbol);
		r->rp.maxactive = given[i];
		want = given[i] > 0 ? given[i] : max(10u, 2 * num_possible_cpus());
		KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
		KUNIT_EXPECT_EQ(test, r->rp.maxactive, want);
		unregister_kretprobe(&r->rp);
	}
}

static void p_ret_04_data_size(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];

	r->rp.data_size = KRETPROBE_MAX_DATA_SIZE + 1;
	KUNIT_EXPECT_EQ(test, register_kretprobe(&r->rp), -E2BIG);
	r->rp.data_size = ~0ul;
	KUNIT_EXPECT_EQ(test, register_kretprobe(&r->rp), -E2BIG);
	KUNIT_EXPECT_TRUE(test, not_registered(&r->rp.kp));
	KUNIT_EXPECT_NULL(test, r->rp.kp.addr);

	r->rp.data_size = KRETPROBE_MAX_DATA_SIZE;
	KUNIT_EXPECT_EQ(test, register_kretprobe(&r->rp), 0);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 1);
	unregister_kretprobe(&r->rp);
}

static void p_ret_13_not_an_entry(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];

	r->rp.kp.symbol_name = NULL;
	r->rp.kp.addr = (void *)kp_test_mid_insns_end;
	KUNIT_EXPECT_EQ(test, register_kretprobe(&r->rp), -EINVAL);
	r->rp.kp.symbol_name = "kp_test_plain";
	KUNIT_EXPECT_EQ(test, register_kretprobe(&r->rp), -EINVAL);
	r->rp.kp.addr = NULL;
	r->rp.kp.symbol_name = "kp_test_no_such_function";
	KUNIT_EXPECT_EQ(test, register_kretprobe(&r->rp), -ENOENT);
	KUNIT_EXPECT_TRUE(test, not_registered(&r->rp.kp));
}

static void p_ret_12_switch_to(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);

	if (!IS_ENABLED(CONFIG_X86))
		kunit_skip(test, "x86 only");
	k->r[0].rp.kp.symbol_name = "__switch_to";
	KUNIT_EXPECT_EQ(test, register_kretprobe(&k->r[0].rp), -EINVAL);
}

static void p_ret_10_several_on_one_function(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	int i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, register_kretprobe(&k->r[i].rp), 0);
	/* Entered newest first; so the oldest hooked last, and returns first. */
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "cbaABC");
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, k->r[i].wrong, 0);
		/* The real address, for all of them. */
		KUNIT_EXPECT_EQ(test, k->r[i].ret_addr, k->r[0].ret_addr);
		KUNIT_EXPECT_EQ(test, k->r[i].ip, k->r[0].ret_addr);
		KUNIT_EXPECT_FALSE(test, !k->r[i].ret_addr);
#ifndef MODULE
		KUNIT_EXPECT_FALSE(test, is_kretprobe_trampoline(k->r[i].ret_addr));
#endif
	}
	unregister_kretprobe(&k->r[1].rp);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "caAC");
	unregister_kretprobe(&k->r[0].rp);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "cC");
	unregister_kretprobe(&k->r[2].rp);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
}

static void p_agg_02_kprobe_and_kretprobe(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct kprobes_test *kp = test->priv;
	struct probe *p = &kp->p[0];
	int round;

	for (round = 0; round < 2; round++) {
		retprobe_at(&k->r[0], k->t->symbol);
		probe_at(p, k->t);
		p->kp.flags = 0;
		p->kp.post_handler = test_post;
		p->log = &k->log;
		p->id = 'p';
		KUNIT_ASSERT_EQ(test, register_kprobe(&p->kp), 0);
		KUNIT_EXPECT_EQ(test, register_kretprobe(&k->r[0].rp), 0);
		KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "apPA");
		if (round) {
			unregister_kprobe(&p->kp);
			KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "aA");
			unregister_kretprobe(&k->r[0].rp);
		} else {
			unregister_kretprobe(&k->r[0].rp);
			KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "pP");
			unregister_kprobe(&p->kp);
		}
		KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
	}
}

static void ret_disable_and_enable(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct kretprobe *rp = &k->r[0].rp;

	KUNIT_EXPECT_EQ(test, disable_kretprobe(rp), -EINVAL);
	rp->kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, register_kretprobe(rp), 0);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
	KUNIT_EXPECT_EQ(test, enable_kretprobe(rp), 0);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "aA");
	KUNIT_EXPECT_EQ(test, disable_kretprobe(rp), 0);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
	unregister_kretprobe(rp);
}

static void ret_again_after_unregister(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct kretprobe *rp = &k->r[0].rp;
	int i;

	for (i = 0; i < 3; i++) {
		rp->kp.flags = 0;
		rp->kp.addr = NULL;
		KUNIT_ASSERT_EQ(test, register_kretprobe(rp), 0);
		KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "aA");
		unregister_kretprobe(rp);
	}
}

static void p_agg_07_ret_batch(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	int i;

	KUNIT_EXPECT_EQ(test, register_kretprobes(k->rps, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kretprobes(k->rps, -3), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kretprobes(NULL, 2), -EINVAL);
	unregister_kretprobes(NULL, 2);
	unregister_kretprobes(k->rps, 0);
	KUNIT_EXPECT_NOT_NULL(test, k->r[0].rp.kp.symbol_name);

	for (i = 0; i < 3; i++) {
		k->r[i].rp.kp.symbol_name = "kp_test_no_such_function";
		KUNIT_EXPECT_EQ(test, register_kretprobes(k->rps, 3), -ENOENT);
		KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
		k->r[i].rp.kp.symbol_name = k->t->symbol;
		k->r[i].rp.data_size = KRETPROBE_MAX_DATA_SIZE + 1;
		KUNIT_EXPECT_EQ(test, register_kretprobes(k->rps, 3), -E2BIG);
		KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
		k->r[i].rp.data_size = sizeof(struct call_data);
		KUNIT_EXPECT_TRUE(test, not_registered(&k->r[i].rp.kp));
	}

	KUNIT_EXPECT_EQ(test, register_kretprobes(k->rps, 3), 0);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "cbaABC");
	unregister_kretprobes(k->rps, 3);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
}

static void p_base_11_unregister_what_is_not_registered(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct kretprobe *never = &k->r[0].rp, *failed = &k->r[1].rp, *gone = &k->r[2].rp;
	struct kretprobe *twice[2] = { gone, gone };

	unregister_kretprobe(never);
	KUNIT_EXPECT_NULL(test, never->kp.addr);

	failed->kp.symbol_name = "kp_test_no_such_function";
	KUNIT_EXPECT_EQ(test, register_kretprobe(failed), -ENOENT);
	unregister_kretprobe(failed);
	KUNIT_EXPECT_NULL(test, failed->kp.addr);

	KUNIT_ASSERT_EQ(test, register_kretprobe(gone), 0);
	unregister_kretprobe(gone);
	unregister_kretprobe(gone);
	KUNIT_EXPECT_NULL(test, gone->kp.addr);

	gone->kp.flags = 0;
	KUNIT_ASSERT_EQ(test, register_kretprobe(gone), 0);
	unregister_kretprobes(twice, 2);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
}

/* Goes down to 0, with one frame for each step. */
static noinline __noclone notrace u32 kp_test_recurse(u32 depth)
{
	static u32 (* const volatile self)(u32 depth) = kp_test_recurse;

	KP_PADDING;
	OPTIMIZER_HIDE_VAR(depth);
	return depth ? self(depth - 1) + 2 : 1;
}

static void p_ret_10_recursion(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];
	u32 (*volatile fn)(u32 depth) = kp_test_recurse;

	retprobe_at(r, "kp_test_recurse");
	r->log = NULL;
	r->rp.maxactive = 64;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	KUNIT_EXPECT_EQ(test, fn(49), 99);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 50);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 50);
	KUNIT_EXPECT_EQ_MSG(test, r->wrong, 0, "not last in, first out");
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 0);
	unregister_kretprobe(&r->rp);

	/* Deeper than there are instances: the rest is missed. */
	retprobe_at(r, "kp_test_recurse");
	r->rp.maxactive = 4;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	KUNIT_EXPECT_EQ(test, fn(9), 19);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 4);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 4);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 6);
	unregister_kretprobe(&r->rp);
}

/*
 * Calls in flight.
 */

struct sleeper {
	struct task_struct	*task;
	struct completion	inside;
	struct completion	done;
	struct completion	*leave;
	u32			returned;
};

static noinline __noclone notrace u32 kp_test_sleep(struct sleeper *s)
{
	KP_PADDING;
	complete(&s->inside);
	wait_for_completion(s->leave);
	return 0x5eed;
}

static int sleeper_thread(void *data)
{
	u32 (*volatile fn)(struct sleeper *s) = kp_test_sleep;
	struct sleeper *s = data;

	s->returned = fn(s);
	complete(&s->done);
	return 0;
}

#define NR_SLEEPERS	5

static int sleepers_begin(struct sleeper *s, struct completion *leave)
{
	int i;

	for (i = 0; i < NR_SLEEPERS; i++) {
		init_completion(&s[i].inside);
		init_completion(&s[i].done);
		s[i].leave = leave;
		s[i].task = kthread_create(sleeper_thread, &s[i], "kp_test/%d", i);
		if (IS_ERR(s[i].task))
			break;
		get_task_struct(s[i].task);
		wake_up_process(s[i].task);
		wait_for_completion(&s[i].inside);
	}
	return i;
}

/* How many came back with what they should. */
static int sleepers_end(struct sleeper *s, int nr, struct completion *leave)
{
	int i, right = 0;

	complete_all(leave);
	for (i = 0; i < nr; i++) {
		wait_for_completion(&s[i].done);
		kthread_stop(s[i].task);
		put_task_struct(s[i].task);
		right += s[i].returned == 0x5eed;
	}
	return right;
}

static void p_ret_01_maxactive_exhausted(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	DECLARE_COMPLETION_ONSTACK(leave);
	DECLARE_COMPLETION_ONSTACK(leave_again);
	struct retprobe *r = &k->r[0];
	struct sleeper *s;
	int nr;

	s = kunit_kcalloc(test, NR_SLEEPERS, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	retprobe_at(r, "kp_test_sleep");
	r->log = NULL;
	r->rp.maxactive = 2;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);

	nr = sleepers_begin(s, &leave);
	KUNIT_EXPECT_EQ(test, nr, NR_SLEEPERS);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, NR_SLEEPERS - 2);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&r->entries), 2,
			    "entry handlers of missed calls");
	KUNIT_EXPECT_EQ(test, sleepers_end(s, nr, &leave), nr);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 2);
	KUNIT_EXPECT_EQ(test, r->rp.kp.nmissed, 0);

	/* What came back can be used again. */
	nr = sleepers_begin(s, &leave_again);
	KUNIT_EXPECT_EQ(test, sleepers_end(s, nr, &leave_again), nr);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 4);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 2 * (NR_SLEEPERS - 2));
	unregister_kretprobe(&r->rp);
}

/* The other test that warns. */
static void p_ret_14_register_twice(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	DECLARE_COMPLETION_ONSTACK(leave);
	struct kretprobe *rp = &k->r[0].rp;
	struct kretprobe before;
	struct sleeper *s;
	int nr;

	pr_info("expect splat: kernel/kprobes/register.c:\n");
	s = kunit_kcalloc(test, NR_SLEEPERS, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	retprobe_at(&k->r[0], "kp_test_sleep");
	k->r[0].log = NULL;
	rp->maxactive = NR_SLEEPERS;
	KUNIT_ASSERT_EQ(test, register_kretprobe(rp), 0);
	nr = sleepers_begin(s, &leave);
	KUNIT_EXPECT_EQ(test, nr, NR_SLEEPERS);

	/* By its address, or there would be two names for it. */
	rp->kp.symbol_name = NULL;
	memcpy(&before, rp, sizeof(before));
	KUNIT_EXPECT_EQ(test, register_kretprobe(rp), -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, rp, &before, sizeof(before));

	/* The calls in flight are still its own, and so are new ones. */
	KUNIT_EXPECT_EQ(test, sleepers_end(s, nr, &leave), nr);
	KUNIT_EXPECT_EQ(test, atomic_read(&k->r[0].entries), nr);
	KUNIT_EXPECT_EQ(test, atomic_read(&k->r[0].returns), nr);
	reinit_completion(&leave);
	nr = sleepers_begin(s, &leave);
	KUNIT_EXPECT_EQ(test, sleepers_end(s, nr, &leave), nr);
	KUNIT_EXPECT_EQ(test, atomic_read(&k->r[0].returns), 2 * nr);
	KUNIT_EXPECT_EQ(test, rp->nmissed, 0);
	unregister_kretprobe(rp);
}

static void p_ret_15_p_ret_17_unregister_with_calls_in_flight(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	DECLARE_COMPLETION_ONSTACK(leave);
	struct retprobe *stays = &k->r[1];
	struct retprobe *r;
	struct sleeper *s;
	int nr, i, changed = 0;
	u8 *byte;

	s = kunit_kcalloc(test, NR_SLEEPERS, sizeof(*s), GFP_KERNEL);
	r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_NOT_NULL(test, r);
	retprobe_at(r, "kp_test_sleep");
	retprobe_at(stays, "kp_test_sleep");
	stays->log = NULL;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&stays->rp), 0);
	nr = sleepers_begin(s, &leave);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), nr);

	unregister_kretprobe(&r->rp);
	/* It may be freed now: nobody reads or writes it any more. */
	memset(r, 0x6b, sizeof(*r));
	KUNIT_EXPECT_EQ(test, sleepers_end(s, nr, &leave), nr);
	for (byte = (u8 *)r, i = 0; i < sizeof(*r); i++)
		changed += byte[i] != 0x6b;
	KUNIT_EXPECT_EQ(test, changed, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&stays->returns), nr);
	unregister_kretprobe(&stays->rp);
}

static void ret_disable_with_calls_in_flight(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	DECLARE_COMPLETION_ONSTACK(leave);
	struct retprobe *r = &k->r[0];
	struct sleeper *s;
	int nr;

	s = kunit_kcalloc(test, NR_SLEEPERS, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	retprobe_at(r, "kp_test_sleep");
	r->log = NULL;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	nr = sleepers_begin(s, &leave);
	KUNIT_EXPECT_EQ(test, disable_kretprobe(&r->rp), 0);
	KUNIT_EXPECT_EQ(test, sleepers_end(s, nr, &leave), nr);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), nr);
	unregister_kretprobe(&r->rp);
}

static int lingering_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	linger(container_of(get_kretprobe(ri), struct lingerer, rp));
	return 0;
}

static void unregister_lingering_kretprobe(struct lingerer *l)
{
	unregister_kretprobe(&l->rp);
}

static void p_ret_17_unregister_waits_for_the_return_handler(struct kunit *test)
{
	struct lingerer *l = begin_lingering(test);

	l->rp.kp.symbol_name = l->t->symbol;
	l->rp.handler = lingering_return;
	expect_to_wait(test, l, register_kretprobe(&l->rp), unregister_lingering_kretprobe);
}

/*
 * Calls that never return.
 */

#define NR_EXITS	100
#define EXIT_ROUNDS	100

struct exits {
	struct completion	leave;
	atomic_t		inside, gone;
};

static noinline __noclone notrace u32 kp_test_exit(struct exits *e)
{
	KP_PADDING;
	atomic_inc(&e->inside);
	wait_for_completion(&e->leave);
	atomic_inc(&e->gone);
	kthread_complete_and_exit(NULL, 0);
}

static int exiting_thread(void *data)
{
	u32 (*volatile fn)(struct exits *e) = kp_test_exit;

	return fn(data);
}

static bool all_reached(atomic_t *counter, int nr)
{
	unsigned long end = jiffies + 60 * HZ;

	while (atomic_read(counter) != nr && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	return atomic_read(counter) == nr;
}

/* So many tasks are inside at the same time, and exit there. */
static bool exit_inside(int nr)
{
	struct task_struct *task;
	struct exits e = { };
	bool right;
	int i;

	init_completion(&e.leave);
	for (i = 0; i < nr; i++) {
		task = kthread_run(exiting_thread, &e, "kp_exit/%d", i);
		if (IS_ERR(task))
			break;
	}
	right = i == nr && all_reached(&e.inside, i);
	complete_all(&e.leave);
	/* Until then they use what is on this stack. */
	right &= all_reached(&e.gone, i);
	/* An instance comes back a grace period after its task has ended. */
	schedule_timeout_uninterruptible(1);
	rcu_barrier();
	return right;
}

static void p_ret_06_tasks_exit_inside(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];
	int i, missed;

	retprobe_at(r, "kp_test_exit");
	r->log = NULL;
	r->rp.maxactive = NR_EXITS;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	for (i = 0; i < EXIT_ROUNDS; i++) {
		if (!exit_inside(NR_EXITS))
			break;
	}
	KUNIT_EXPECT_EQ(test, i, EXIT_ROUNDS);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries) + r->rp.nmissed, i * NR_EXITS);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 0);
	/* Some may have been late in a round, but none is lost. */
	KUNIT_EXPECT_LE(test, r->rp.nmissed, i * NR_EXITS / 10);
	for (i = 0; i < 10; i++) {
		missed = r->rp.nmissed;
		if (exit_inside(NR_EXITS) && r->rp.nmissed == missed)
			break;
		schedule_timeout_uninterruptible(HZ);
	}
	KUNIT_EXPECT_LT_MSG(test, i, 10, "not all instances came back");
	unregister_kretprobe(&r->rp);
}

/*
 * Stack traces.
 */

static unsigned long unprobed_ret_addr;

static noinline __noclone notrace u32 kp_test_callee(u32 v)
{
	KP_PADDING;
	OPTIMIZER_HIDE_VAR(v);
	unprobed_ret_addr = (unsigned long)__builtin_return_address(0);
	return v + 1;
}

static noinline __noclone notrace u32 kp_test_caller(u32 v)
{
	u32 (*volatile fn)(u32 v) = kp_test_callee;

	return fn(v) + 1;
}

static bool trace_has(const unsigned long *trace, unsigned int n, unsigned long addr)
{
	while (n--) {
		if (trace[n] == addr)
			return true;
	}
	return false;
}

static void p_ret_18_stack_trace_in_the_handler(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	u32 (*volatile fn)(u32 v) = kp_test_caller;
	struct retprobe *r = &k->r[0], *second = &k->r[1];
	unsigned long real;

	fn(1);
	real = unprobed_ret_addr;

	retprobe_at(r, "kp_test_callee");
	retprobe_at(second, "kp_test_callee");
	/* Arm's trampoline saves no stack pointer, unless there are frame pointers. */
	r->trace = !IS_ENABLED(CONFIG_ARM) || IS_ENABLED(CONFIG_FRAME_POINTER);
	second->trace = r->trace;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&second->rp), 0);
	KUNIT_EXPECT_EQ(test, fn(1), 3);
	unregister_kretprobe(&r->rp);
	unregister_kretprobe(&second->rp);

	KUNIT_EXPECT_EQ(test, r->ret_addr, real);
	KUNIT_EXPECT_EQ(test, second->ret_addr, real);
	KUNIT_EXPECT_EQ(test, r->ip, real);

	if (!IS_ENABLED(CONFIG_ARCH_CORRECT_STACKTRACE_ON_KRETPROBE) ||
	    !IS_ENABLED(CONFIG_STACKTRACE))
		kunit_skip(test, "needs ARCH_CORRECT_STACKTRACE_ON_KRETPROBE");

	KUNIT_EXPECT_TRUE(test, trace_has(r->stack, r->depth, real));
	KUNIT_EXPECT_TRUE(test, trace_has(second->stack, second->depth, real));
#ifndef MODULE
	KUNIT_EXPECT_GE(test, r->regs_depth, 1);
	KUNIT_EXPECT_EQ(test, r->regs_stack[0], real);
	KUNIT_EXPECT_GE(test, second->regs_depth, 1);
	KUNIT_EXPECT_EQ(test, second->regs_stack[0], real);
#endif
}

#else /* !CONFIG_KRETPROBES */

static void p_ret_32_no_kretprobes(struct kunit *test)
{
	struct kretprobe rp = { .kp.symbol_name = "kp_test_plain" };
	struct kretprobe *rps[] = { &rp };

	KUNIT_EXPECT_EQ(test, register_kretprobe(&rp), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, register_kretprobes(rps, 1), -EOPNOTSUPP);
	unregister_kretprobe(&rp);
	unregister_kretprobes(rps, 1);
}

#endif

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
	KUNIT_CASE(p_reg_01_both_or_neither),
	KUNIT_CASE_PARAM(p_reg_02_again_by_symbol, entry_gen_params),
	KUNIT_CASE(p_reg_03_unknown),
	KUNIT_CASE(register_in_data),
	KUNIT_CASE(p_reg_16_not_on_an_instruction),
	KUNIT_CASE_PARAM(p_agg_09_flags_of_the_caller, target_gen_params),
	KUNIT_CASE_PARAM(p_agg_11_registered_disabled, target_gen_params),
	KUNIT_CASE_PARAM(enable_and_disable, target_gen_params),
	KUNIT_CASE_PARAM(p_agg_10_enabled_among_others, target_gen_params),
	KUNIT_CASE_PARAM(p_hit_21_handlers_are_not_preemptible, target_gen_params),
	KUNIT_CASE_PARAM(any_handler_may_be_missing, target_gen_params),
	KUNIT_CASE_PARAM(p_agg_01_several_at_one_address, target_gen_params),
	KUNIT_CASE_PARAM(p_hit_13_p_agg_01_non_zero_redirects, target_gen_params),
	KUNIT_CASE_PARAM(p_hit_15_zero_does_not_redirect, target_gen_params),
	KUNIT_CASE_PARAM(p_hit_01_p_hit_05_nested_hits_are_missed, target_gen_params),
	KUNIT_CASE(p_agg_07_batch),
	KUNIT_CASE(p_agg_07_batch_of_nothing),
	KUNIT_CASE_PARAM(p_agg_07_batch_fails_as_a_whole, target_gen_params),
	KUNIT_CASE(batch_reports_the_lowest_index),
	KUNIT_CASE(batch_failure_restores_addr),
	KUNIT_CASE(batch_with_null),
	KUNIT_CASE_PARAM(batch_failure_leaves_others_alone, target_gen_params),
	KUNIT_CASE_PARAM(p_agg_06_unregister_what_is_not_registered, target_gen_params),
	KUNIT_CASE_PARAM(p_base_10_unregister_twice_in_one_call, target_gen_params),
	KUNIT_CASE_PARAM(unregister_some_that_are_not_registered, target_gen_params),
	KUNIT_CASE(p_agg_04_register_twice),
	KUNIT_CASE_PARAM(fault_handler_needs_support, target_gen_params),
	KUNIT_CASE_PARAM(hits_of_all_cpus_count, target_gen_params),
	KUNIT_CASE_PARAM(p_hit_08_p_agg_12_unregister_waits_for_the_handler, entry_gen_params),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_PARAM(ret_entry_and_return, entry_gen_params),
	KUNIT_CASE_PARAM(p_ret_05_entry_handler_declines, entry_gen_params),
	KUNIT_CASE_PARAM(ret_without_handlers, entry_gen_params),
	KUNIT_CASE_PARAM(p_ret_20_registers, entry_gen_params),
	KUNIT_CASE_PARAM(p_ret_20_return_value_can_be_changed, entry_gen_params),
	KUNIT_CASE(p_ret_02_p_ret_03_maxactive_default),
	KUNIT_CASE_PARAM(p_ret_04_data_size, entry_gen_params),
	KUNIT_CASE(p_ret_13_not_an_entry),
	KUNIT_CASE(p_ret_12_switch_to),
	KUNIT_CASE_PARAM(p_ret_10_several_on_one_function, entry_gen_params),
	KUNIT_CASE_PARAM(p_agg_02_kprobe_and_kretprobe, entry_gen_params),
	KUNIT_CASE_PARAM(ret_disable_and_enable, entry_gen_params),
	KUNIT_CASE_PARAM(ret_again_after_unregister, entry_gen_params),
	KUNIT_CASE_PARAM(p_agg_07_ret_batch, entry_gen_params),
	KUNIT_CASE_PARAM(p_base_11_unregister_what_is_not_registered, entry_gen_params),
	KUNIT_CASE(p_ret_10_recursion),
	KUNIT_CASE(p_ret_01_maxactive_exhausted),
	KUNIT_CASE(p_ret_14_register_twice),
	KUNIT_CASE(p_ret_15_p_ret_17_unregister_with_calls_in_flight),
	KUNIT_CASE(ret_disable_with_calls_in_flight),
	KUNIT_CASE_PARAM(p_ret_17_unregister_waits_for_the_return_handler, entry_gen_params),
	KUNIT_CASE_SLOW(p_ret_06_tasks_exit_inside),
	KUNIT_CASE(p_ret_18_stack_trace_in_the_handler),
#else
	KUNIT_CASE(p_ret_32_no_kretprobes),
#endif
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
