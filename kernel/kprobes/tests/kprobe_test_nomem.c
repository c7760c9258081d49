// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens to probes when there is no memory for them. Writing the name of a case
 * to the parameter "run" registers its probes again and again, each time with the next
 * allocation failing, until none fails any more. "failures" is how often that made the
 * registration fail, "survived" how often it did not. The case "leaving" makes
 * allocations of an unregistration fail, which itself never does; "enabling",
 * "disabling" and "upgrading" do the same with the other operations that may need
 * memory.
 *
 * failslab and fail_page_alloc in debugfs decide which allocations can fail.
 */

#include <linux/cleanup.h>
#include <linux/kprobes-test-arch.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#define NR_BATCH	200
#define MAX_ALLOCATIONS	5000

static noinline __noclone notrace int kp_nomem_plain(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v + 3;
}

static KP_TRACED(int, kp_nomem_traced, v + 5)
static KP_TRACED(int, kp_nomem_traced_too, v + 9)

/* Many more nops than probes: they start somewhere after the prologue. */
static noinline __noclone notrace int kp_nomem_nops(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	asm volatile("	.rept 400\n	nop\n	.endr\n");
	return v + 7;
}

#define NOPS_OFFSET	64

static unsigned int hits, failures, survived;

static void call_all(void)
{
	int (*volatile fn)(int v);
	int sum;

	fn = kp_nomem_plain;
	sum = fn(1);
	fn = kp_nomem_traced;
	sum += fn(1);
	fn = kp_nomem_nops;
	sum += fn(1);
	fn = kp_nomem_traced_too;
	sum += fn(1);
	WARN_ON(sum != 4 + 3 + 5 + 7 + 9);
}

static unsigned int hits_of_calls(void)
{
	hits = 0;
	call_all();
	return hits;
}

static int count_pre(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static void count_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	hits++;
	return 0;
}

/* Everything that a case may need. */
struct probes {
	struct kprobe		k[NR_BATCH];
	struct kretprobe	r[3];
	struct kprobe		*kps[NR_BATCH];
	struct kretprobe	*rps[3];
};

static void kprobe_on(struct kprobe *p, const char *symbol, unsigned int offset)
{
	p->symbol_name = symbol;
	p->offset = offset;
	p->pre_handler = count_pre;
}

static void kretprobe_on(struct kretprobe *rp, const char *symbol)
{
	rp->kp.symbol_name = symbol;
	rp->handler = count_return;
	rp->data_size = 64;
	rp->maxactive = 50;
}

static void fill(struct probes *s)
{
	int i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < NR_BATCH; i++) {
		kprobe_on(&s->k[i], "kp_nomem_nops",
			  NOPS_OFFSET + i * sizeof(kprobe_opcode_t));
		INIT_LIST_HEAD(&s->k[i].list);
		s->kps[i] = &s->k[i];
	}
	for (i = 0; i < ARRAY_SIZE(s->r); i++) {
		kretprobe_on(&s->r[i], i ? "kp_nomem_traced" : "kp_nomem_plain");
		INIT_LIST_HEAD(&s->r[i].kp.list);
		s->rps[i] = &s->r[i];
	}
}

static int one_plain(struct probes *s)
{
	kprobe_on(&s->k[0], "kp_nomem_plain", 0);
	return register_kprobe(&s->k[0]);
}

static int one_traced(struct probes *s)
{
	kprobe_on(&s->k[0], "kp_nomem_traced", 0);
	return register_kprobe(&s->k[0]);
}

static int one_with_post_handler(struct probes *s)
{
	s->k[0].post_handler = count_post;
	return one_traced(s);
}

static int many(struct probes *s)
{
	/* One of each kind. */
	kprobe_on(&s->k[0], "kp_nomem_plain", 0);
	kprobe_on(&s->k[1], "kp_nomem_traced", 0);
	return register_kprobes(s->kps, NR_BATCH);
}

/* One with a claim on its function, one without, in one call. */
static int mixed(struct probes *s)
{
	kprobe_on(&s->k[0], "kp_nomem_traced", 0);
	kprobe_on(&s->k[1], "kp_nomem_traced_too", 0);
	s->k[0].post_handler = count_post;
	return register_kprobes(s->kps, 2);
}

static int one_return(struct probes *s)
{
	return register_kretprobe(&s->r[0]);
}

static int one_return_traced(struct probes *s)
{
	return register_kretprobe(&s->r[1]);
}

static int many_returns(struct probes *s)
{
	return register_kretprobes(s->rps, ARRAY_SIZE(s->rps));
}

static const char *try_leaving(struct probes *s, unsigned int nth, bool *more);
static const char *try_enabling(struct probes *s, unsigned int nth, bool *more);
static const char *try_disabling(struct probes *s, unsigned int nth, bool *more);
static const char *try_upgrading(struct probes *s, unsigned int nth, bool *more);

static const struct nomem_case {
	const char	*name;
	/* A registration whose allocations fail, or another operation. */
	int		(*add)(struct probes *s);
	/* The number of probes, and whether they are return probes. */
	int		nr, nr_ret;
	/* How much one call of each function adds to their counters. */
	unsigned int	hits;
	const char	*(*other)(struct probes *s, unsigned int nth, bool *more);
} cases[] = {
	{ "plain",		one_plain,		1, 0, 1 },
	{ "traced",		one_traced,		1, 0, 1 },
	{ "post",		one_with_post_handler,	1, 0, 1 },
	{ "many",		many,			NR_BATCH, 0, NR_BATCH },
	{ "mixed",		mixed,			2, 0, 2 },
	{ "return",		one_return,		0, 1, 1 },
	{ "return_traced",	one_return_traced,	0, 2, 1 },
	{ "many_returns",	many_returns,		0, 3, 3 },
	{ "leaving",		.other = try_leaving },
	{ "enabling",		.other = try_enabling },
	{ "disabling",		.other = try_disabling },
	{ "upgrading",		.other = try_upgrading },
};

static void take_back(const struct nomem_case *c, struct probes *s)
{
	unregister_kprobes(s->kps, c->nr);
	unregister_kretprobes(s->rps, c->nr_ret);
}

/* Nothing of them is left: neither in the text nor in the user's structures. */
static const char *what_is_left(const struct nomem_case *c, struct probes *s, const u8 *text)
{
	int i;

	for (i = 0; i < c->nr; i++) {
		if (s->k[i].addr || s->k[i].flags || !list_empty(&s->k[i].list))
			return "a probe has changed";
	}
	for (i = 0; i < c->nr_ret; i++) {
		if (s->r[i].kp.addr || s->r[i].kp.flags || !list_empty(&s->r[i].kp.list))
			return "a return probe has changed";
	}
	if (memcmp(text, kp_nomem_plain, 16) ||
	    memcmp(text + 16, kp_nomem_traced, 16) ||
	    memcmp(text + 32, kp_nomem_nops, NOPS_OFFSET + NR_BATCH))
		return "text has changed";
	return hits_of_calls() ? "a handler ran" : NULL;
}

#ifdef CONFIG_FAULT_INJECTION
static void fail_begin(unsigned int nth)
{
	WRITE_ONCE(current->fail_nth, nth);
}

/* Returns whether there were that many allocations. */
static bool fail_end(void)
{
	bool failed = !READ_ONCE(current->fail_nth);

	WRITE_ONCE(current->fail_nth, 0);
	return failed;
}
#else
static void fail_begin(unsigned int nth)
{
}

static bool fail_end(void)
{
	return false;
}
#endif

/* NULL if all is well; fails the nth allocation, *more reports whether there was one. */
static const char *try(const struct nomem_case *c, struct probes *s, unsigned int nth,
		       const u8 *text, bool *more)
{
	const char *left;
	int ret;

	fill(s);
	fail_begin(nth);
	ret = c->add(s);
	*more = fail_end();
	if (ret) {
		failures++;
		left = what_is_left(c, s, text);
		if (!*more)
			return "registration fails though nothing else did";
		return ret == -ENOMEM ? left : "registration fails with a wrong error";
	}

	survived += *more;
	hits_of_calls();
	take_back(c, s);
	return hits == c->hits ? NULL : "a wrong number of hits";
}

/*
 * One of two leaves. At most, its address stays in ftrace's filter; the last one in
 * there removes it as well.
 */
static const char *leave_once(struct probes *s, unsigned int nth, bool comes_back,
			      bool *more)
{
	const char *why = NULL;
	int i, ret = -ENOMEM;

	fill(s);
	kprobe_on(&s->k[0], "kp_nomem_traced", 0);
	kprobe_on(&s->k[1], "kp_nomem_traced_too", 0);
	if (register_kprobes(s->kps, 2))
		return "cannot be registered";

	fail_begin(nth);
	unregister_kprobe(&s->k[0]);
	*more = fail_end();
	survived += *more;
	if (hits_of_calls() != 1)
		why = "a wrong number of hits of the other one";

	/*
	 * It can be registered again, whether or not its old address can be removed
	 * first.
	 */
	s->k[0] = (struct kprobe) {};
	kprobe_on(&s->k[0], "kp_nomem_traced", 0);
	for (i = 1; comes_back && ret && i < 50; i++) {
		fail_begin(i);
		ret = register_kprobe(&s->k[0]);
		if (!fail_end())
			break;
	}
	if (comes_back && ret)
		why = "cannot be registered again";
	if (!why && hits_of_calls() != 1 + comes_back)
		why = "a wrong number of hits after that";

	unregister_kprobes(s->kps, 2);
	return why ?: hits_of_calls() ? "a handler ran" : NULL;
}

static const char *try_leaving(struct probes *s, unsigned int nth, bool *more)
{
	return leave_once(s, nth, false, more) ?: leave_once(s, nth, true, more);
}

/* What it returned, and whether an allocation had failed. */
static const char *judge(int ret, bool failed)
{
	failures += !!ret;
	survived += failed && !ret;
	if (ret && !failed)
		return "it fails though nothing else did";
	return ret && ret != -ENOMEM ? "it fails with a wrong error" : NULL;
}

#define NR_TWO	2

/* Two probes at ftrace sites, one of them with a post handler, and a breakpoint. */
static int three_kinds(struct probes *s, unsigned int flags)
{
	int i;

	fill(s);
	kprobe_on(&s->k[0], "kp_nomem_traced", 0);
	kprobe_on(&s->k[1], "kp_nomem_traced_too", 0);
	kprobe_on(&s->k[2], "kp_nomem_plain", 0);
	s->k[1].post_handler = count_post;
	for (i = 0; i < 3; i++)
		s->k[i].flags = flags;
	return register_kprobes(s->kps, 3);
}

/* Those that are enabled are hit, and no others. */
static const char *hit_as_they_say(struct probes *s, const char *what)
{
	unsigned int i, want = 0;

	for (i = 0; i < 3; i++)
		want += !kprobe_disabled(&s->k[i]);
	return hits_of_calls() == want ? NULL : what;
}

static const char *switch_one(struct probes *s, struct kprobe *p, bool on,
			      unsigned int nth, bool *more)
{
	const char *why;
	int ret;

	fail_begin(nth);
	ret = on ? enable_kprobe(p) : disable_kprobe(p);
	*more = fail_end();
	why = judge(ret, *more) ?: hit_as_they_say(s, "a wrong number of hits");
	if (!why && !ret && kprobe_disabled(p) == on)
		why = "it has done nothing";
	if (!why && (on ? enable_kprobe(p) : disable_kprobe(p)))
		why = "it fails for good";
	if (!why && kprobe_disabled(p) == on)
		why = "it does nothing any more";
	return why ?: hit_as_they_say(s, "a wrong number of hits in the end");
}

/* Each of them in turn. Allocations beyond what the first one needs are not its own. */
static const char *switch_each(struct probes *s, bool on, unsigned int nth, bool *more)
{
	const char *why = NULL;
	bool any = false;
	int i;

	if (three_kinds(s, on ? KPROBE_FLAG_DISABLED : 0))
		return "cannot be registered";
	for (i = 0; i < 3 && !why; i++) {
		why = switch_one(s, &s->k[i], on, nth, more);
		any |= *more;
	}
	*more = any;
	unregister_kprobes(s->kps, 3);
	return why ?: hits_of_calls() ? "a handler ran" : NULL;
}

static const char *try_enabling(struct probes *s, unsigned int nth, bool *more)
{
	return switch_each(s, true, nth, more);
}

static const char *try_disabling(struct probes *s, unsigned int nth, bool *more)
{
	return switch_each(s, false, nth, more);
}

/*
 * Users with post handlers are registered at sites that have none, which moves the
 * sites to another ftrace_ops. If that fails, the old users stay and are called as
 * before.
 */
static const char *try_upgrading(struct probes *s, unsigned int nth, bool *more)
{
	const char *why;
	int i, ret;

	fill(s);
	for (i = 0; i < 2 * NR_TWO; i++)
		kprobe_on(&s->k[i], i % NR_TWO ? "kp_nomem_traced_too" : "kp_nomem_traced", 0);
	if (register_kprobes(s->kps, NR_TWO))
		return "cannot be registered";

	for (i = NR_TWO; i < 2 * NR_TWO; i++)
		s->k[i].post_handler = count_post;
	fail_begin(nth);
	ret = register_kprobes(s->kps + NR_TWO, NR_TWO);
	*more = fail_end();
	why = judge(ret, *more);
	if (!why && hits_of_calls() != (ret ? NR_TWO : 2 * NR_TWO))
		why = "a wrong number of hits";
	if (!why && ret && (s->k[NR_TWO].addr || s->k[NR_TWO].flags))
		why = "a probe has changed";
	if (!why && ret) {
		ret = register_kprobes(s->kps + NR_TWO, NR_TWO);
		if (ret || hits_of_calls() != 2 * NR_TWO)
			why = "it fails for good";
	}
	if (!ret)
		unregister_kprobes(s->kps + NR_TWO, NR_TWO);
	if (!why && hits_of_calls() != NR_TWO)
		why = "a wrong number of hits after that";
	unregister_kprobes(s->kps, NR_TWO);
	return why ?: hits_of_calls() ? "a handler ran" : NULL;
}

static int run_case(const struct nomem_case *c)
{
	struct probes *s __free(kvfree) = kvmalloc_obj(*s);
	u8 text[32 + NOPS_OFFSET + NR_BATCH];
	const char *why = NULL;
	unsigned int nth;
	bool more = true;

	if (!s)
		return -ENOMEM;
	failures = 0;
	survived = 0;
	memcpy(text, kp_nomem_plain, 16);
	memcpy(text + 16, kp_nomem_traced, 16);
	memcpy(text + 32, kp_nomem_nops, NOPS_OFFSET + NR_BATCH);

	for (nth = 1; nth < MAX_ALLOCATIONS && more && !why; nth++)
		why = c->add ? try(c, s, nth, text, &more) : c->other(s, nth, &more);
	if (!why && more)
		why = "there is no end of it";
	if (!why)
		return 0;

	pr_err("%s: allocation %u: %s\n", c->name, nth - 1, why);
	return -EINVAL;
}

static int run_set(const char *val, const struct kernel_param *kp)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (sysfs_streq(val, cases[i].name))
			return run_case(&cases[i]);
	}
	return -ENOENT;
}

static const struct kernel_param_ops run_ops = { .set = run_set };
module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "the case to be run");
module_param(failures, uint, 0400);
MODULE_PARM_DESC(failures, "how often it failed");
module_param(survived, uint, 0400);
MODULE_PARM_DESC(survived, "how often it did not, although an allocation had");

MODULE_DESCRIPTION("Registers probes while there is no memory");
MODULE_LICENSE("GPL");
