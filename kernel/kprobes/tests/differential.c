// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine of differential tests; see differential.h.
 *
 * Everything random follows from a seed, which is printed; kprobes.differential_seed=
 * on the command line repeats a run, and kprobes.differential_rounds= says how many
 * states each form is given.
 */

#define pr_fmt(fmt) "kprobes_differential: " fmt

#include "suite.h"

#include <linux/hash.h>
#include <linux/limits.h>
#include <linux/moduleparam.h>
#include <linux/overflow.h>
#include <linux/random.h>

#include "differential.h"

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "kprobes."

static unsigned long long seed;
module_param_named(differential_seed, seed, ullong, 0400);
MODULE_PARM_DESC(differential_seed, "Seed of the differential tests, 0 for a new one");

static unsigned int rounds = 16;
module_param_named(differential_rounds, rounds, uint, 0400);
MODULE_PARM_DESC(differential_rounds, "States in which each instruction is executed");

/* Architectures give the first states special values. */
#define MIN_ROUNDS	4

/* What kpd_state pointers of struct kpd point to, besides the native states. */
#define NR_SCRATCH	3

/*
 * Random numbers
 */

/**
 * kpd_random_value() - a random word
 * @rnd: the state of the generator
 *
 * Values at the edges are more frequent than chance would make them.
 *
 * Context: any.
 * Return: the word.
 */
unsigned long kpd_random_value(struct rnd_state *rnd)
{
	static const unsigned long edges[] = {
		0, 1, 2, -1, 0x7fffffff, 0x80000000, 0xffffffff, LONG_MAX,
		LONG_MIN, 0x10000, 0xffff, 0x10, 0x80, 0x7f,
	};
	u64 v = (u64)prandom_u32_state(rnd) << 32 | prandom_u32_state(rnd);

	if (v % 3 == 0)
		return edges[(v >> 8) % ARRAY_SIZE(edges)];
	return v;
}

/**
 * kpd_random_below() - a random number of a range
 * @rnd: the state of the generator
 * @ceil: the end of the range, not part of it
 *
 * Context: any.
 * Return: a number below @ceil.
 */
u32 kpd_random_below(struct rnd_state *rnd, u32 ceil)
{
	return prandom_u32_state(rnd) % ceil;
}

/**
 * kpd_random_words() - fill memory by kpd_random_value()
 * @rnd: the state of the generator
 * @buf: the memory
 * @size: its size in bytes, a multiple of the size of a word
 *
 * Context: any.
 */
void kpd_random_words(struct rnd_state *rnd, void *buf, size_t size)
{
	unsigned long *words = buf;
	size_t i;

	for (i = 0; i < size / sizeof(*words); i++)
		words[i] = kpd_random_value(rnd);
}

/*
 * The modes
 */

static const struct kpd_mode modes[] = {
	{ "pre handler", 1, .pre = 1 },
	{ "post handler", 1, .post = 1 },
	{ "both handlers", 1, .pre = 1, .post = 1 },
	{ "fault handler", 1, .pre = 1, .fault = 1 },
	{ "two users", 2, .pre = 3 },
	{ "two users, one with a post handler", 2, .pre = 1, .post = 2 },
	{ "in a pre handler", 1, .pre = 1, .inside = KPD_IN_PRE_HANDLER },
	{ "in a post handler", 1, .pre = 1, .inside = KPD_IN_POST_HANDLER },
	{ "two watched users in a pre handler", 2, .pre = 1, .post = 2,
	  .inside = KPD_IN_PRE_HANDLER },
	{ "with the trap flag", 1, .pre = 1, .trapped = true },
	{ "watched, with the trap flag", 1, .pre = 1, .post = 1, .trapped = true },
	{ "optimized", 1, .pre = 1, .jumps = true },
	{ "two users, optimized", 2, .pre = 3, .jumps = true },
	{ "return", .exits = true },
	{ "return, optimized", .exits = true, .jumps = true },
	{ "no probe any more" },
};
KUNIT_ARRAY_PARAM_DESC(mode, modes, name);

static const struct kpd_mode fault_modes[] = {
	{ "pre handler", 1, .pre = 1 },
	{ "both handlers", 1, .pre = 1, .post = 1 },
	{ "fault handler", 1, .pre = 1, .post = 1, .fault = 1 },
	{ "two users", 2, .pre = 3, .post = 2, .fault = 1 },
	{ "in a pre handler", 1, .pre = 1, .inside = KPD_IN_PRE_HANDLER },
	{ "in a post handler", 1, .pre = 1, .post = 1, .fault = 1,
	  .inside = KPD_IN_POST_HANDLER },
};
KUNIT_ARRAY_PARAM_DESC(fault_mode, fault_modes, name);

KP_GENERATOR(kpd_mode_gen_params)
{
	return KP_GENERATE(mode_gen_params, prev, desc);
}

KP_GENERATOR(kpd_fault_mode_gen_params)
{
	return KP_GENERATE(fault_mode_gen_params, prev, desc);
}

/* Whether a probe wants to know what happens after, or inside, the instruction. */
static bool is_watched(const struct kpd_mode *m)
{
	return m->post || m->fault;
}

/* Why the mode does not exist here, or NULL. */
static const char *skip_mode(const struct kpd *d, const struct kpd_mode *m)
{
	if (m->trapped && !d->arch->trap)
		return "no debug exceptions after each instruction";
	if (m->jumps && !d->arch->min_jumps)
		return "no probe gets a jump";
	if (m->exits && !(IS_ENABLED(CONFIG_KRETPROBES) && d->arch->calls))
		return "no return probes";
	if (m->exits && m->jumps && d->arch->callee_jumps && !d->arch->callee_jumps())
		return "no return probe gets a jump";
	if (m->fault && d->arch->faulted && !IS_ENABLED(CONFIG_HAVE_KPROBE_FAULT_HANDLER))
		return "fault handlers are not called";
	return NULL;
}

/*
 * Forms and their states
 */

static unsigned int number_of(const struct kpd *d, const struct kpd_form *f)
{
	return f - d->forms;
}

static unsigned int nr_forms(const struct kpd *d)
{
	return d->end - d->forms;
}

/**
 * kpd_usable() - a form that this CPU can execute
 * @d: the test
 * @n: its number among these, below &kpd.nr_usable
 *
 * Context: any.
 * Return: the form.
 */
const struct kpd_form *kpd_usable(const struct kpd *d, unsigned int n)
{
	return &d->forms[d->usable[n]];
}

static struct kpd_state *state_at(const struct kpd *d, size_t n)
{
	return d->states + n * d->arch->state_size;
}

static struct kpd_state *native_state(const struct kpd *d, const struct kpd_form *f,
				      unsigned int round)
{
	return state_at(d, NR_SCRATCH + (size_t)number_of(d, f) * d->rounds + round);
}

/**
 * kpd_native() - the state that a form has to end in
 * @d: the test
 * @f: the form
 * @round: number of the state that it starts from
 *
 * Context: any.
 * Return: the state after the run without probes.
 */
const struct kpd_state *kpd_native(const struct kpd *d, const struct kpd_form *f,
				   unsigned int round)
{
	return native_state(d, f, round);
}

/**
 * kpd_count_faulted() - how often does a form fault without probes?
 * @d: the test, whose architecture has &kpd_arch.faulted
 * @f: the form
 *
 * Context: any.
 * Return: the number of rounds in which it did not complete.
 */
unsigned int kpd_count_faulted(const struct kpd *d, const struct kpd_form *f)
{
	unsigned int round, faulted = 0;

	for (round = 0; round < d->rounds; round++)
		faulted += d->arch->faulted(kpd_native(d, f, round));
	return faulted;
}

/* Make up a random state, and let the memory be as it says. */
static void fill(struct kpd *d, const struct kpd_form *f, unsigned int round)
{
	struct rnd_state rnd;
	u64 nr = ((u64)number_of(d, f) << 16) + round;

	prandom_seed_state(&rnd, (d->seed + nr) * GOLDEN_RATIO_64);
	d->arch->fill(f, round, &rnd, d->start);
}

/*
 * Execute a form once, in the state of a round. @adjust changes that state before the
 * form starts from it.
 */
static void run(struct kpd *d, const struct kpd_form *f, unsigned int round,
		enum kpd_inside inside, void (*adjust)(struct kpd_state *state),
		struct kpd_state *out)
{
	int count;

	preempt_disable();
	fill(d, f, round);
	if (adjust)
		adjust(d->start);
	d->arch->load(f, d->start);
	count = preempt_count();
	if (inside == KPD_NOT_INSIDE)
		kpd_run();
	else
		kpd_outer();
	d->balance = preempt_count() - count;
	d->balance |= (long)raw_cpu_read(current_kprobe);
	d->arch->save(f, out);
	preempt_enable();
}

/**
 * kpd_record_native() - execute all forms without probes
 * @d: the test
 *
 * kpd_init() does it; a case has to do it again if it has changed the conditions.
 *
 * Context: process context, on &kpd.cpu.
 */
void kpd_record_native(struct kpd *d)
{
	const struct kpd_form *f;
	unsigned int n, round;

	for (n = 0; n < d->nr_usable; n++) {
		f = kpd_usable(d, n);
		for (round = 0; round < d->rounds; round++)
			run(d, f, round, KPD_NOT_INSIDE, NULL, native_state(d, f, round));
		cond_resched();
	}
}

/*
 * Handlers. Each is shown a state, which is compared later.
 */

struct probe_user {
	struct kprobe	kp;
	struct kpd	*d;
	int		nr;
};

static int on_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct probe_user *user = container_of(p, struct probe_user, kp);
	struct kpd_seen *seen = &user->d->seen;

	seen->strange += p->addr != seen->addr;
	seen->pre[user->nr]++;
	seen->at_pre = *regs;
	return 0;
}

static void on_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	struct probe_user *user = container_of(p, struct probe_user, kp);
	struct kpd_seen *seen = &user->d->seen;

	seen->strange += p->addr != seen->addr;
	seen->post[user->nr]++;
	seen->at_post = *regs;
}

static int on_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	struct probe_user *user = container_of(p, struct probe_user, kp);
	struct kpd_seen *seen = &user->d->seen;

	seen->strange += p->addr != seen->addr;
	seen->faults[user->nr]++;
	return 0;
}

static int on_pre_change(struct kprobe *p, struct pt_regs *regs)
{
	struct probe_user *user = container_of(p, struct probe_user, kp);

	user->d->arch->change_regs(regs);
	user->d->seen.pre[user->nr]++;
	return 0;
}

static int outer_pre(struct kprobe *p, struct pt_regs *regs)
{
	container_of(p, struct kpd, outer)->seen.outer++;
	kpd_run();
	return 0;
}

static void outer_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	outer_pre(p, regs);
}

/*
 * Judging
 */

/* Limit the output: a broken kind of form fails in hundreds of ways. */
#define MAX_COMPLAINTS	20

/**
 * kpd_complain() - report a difference
 * @j: what is being compared
 * @fmt: the difference, as for printk(), without a newline
 *
 * The case fails. Only the first differences of a case are printed.
 *
 * Context: process context, may sleep.
 */
void __printf(2, 3) kpd_complain(struct kpd_judge *j, const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	if (j->wrong++ >= MAX_COMPLAINTS)
		return;

	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	KUNIT_FAIL(j->test, "%s, round %u of seed %llu: %pV", j->f->text, j->round, j->d->seed,
		   &vaf);
	va_end(args);
}

/**
 * kpd_same() - report a difference, if there is one
 * @j: what is being compared
 * @what: name of the value
 * @got: the value
 * @want: what it has to be
 *
 * Context: process context, may sleep.
 */
void kpd_same(struct kpd_judge *j, const char *what, unsigned long got, unsigned long want)
{
	if (got != want)
		kpd_complain(j, "%s is %lx, not %lx", what, got, want);
}

/**
 * kpd_shown() - report a difference in what a handler was shown, if there is one
 * @j: what is being compared
 * @post: a post handler; otherwise a pre handler
 * @what: name of the value
 * @got: the value
 * @want: what it has to be
 *
 * Context: process context, may sleep.
 */
void kpd_shown(struct kpd_judge *j, bool post, const char *what, unsigned long got,
	       unsigned long want)
{
	if (got != want)
		kpd_complain(j, "the %s handler is shown %s = %lx, not %lx",
			     post ? "post" : "pre", what, got, want);
}

static bool calls_callee(const struct kpd *d, const struct kpd_form *f)
{
	return d->arch->calls && d->arch->calls(f);
}

static void same_shown(struct kpd_judge *j, struct pt_regs *regs, bool post,
		       const struct kpd_state *want)
{
	unsigned int before = j->wrong;

	if (!j->d->arch->same_regs)
		return;
	j->d->arch->same_regs(j, regs, post, want, j->d->start);
	j->d->shown++;
	j->d->shown_wrong += j->wrong - before;
}

/* After a fault the instruction has not completed, so no post handler is called. */
static void same_hits(struct kpd_judge *j, const struct kpd_mode *m,
		      const struct kpd_state *want)
{
	bool faulted = j->d->arch->faulted && j->d->arch->faulted(want);
	bool hit = m->inside == KPD_NOT_INSIDE;
	struct kpd_seen *seen = &j->d->seen;
	int u;

	for (u = 0; u < m->users; u++) {
		kpd_same(j, "number of pre handlers", seen->pre[u], hit && m->pre & BIT(u));
		kpd_same(j, "number of post handlers", seen->post[u],
			 hit && m->post & BIT(u) && !faulted);
		kpd_same(j, "number of fault handlers", seen->faults[u],
			 hit && m->fault & BIT(u) && faulted);
	}
	kpd_same(j, "number of hits of other forms", seen->strange, 0);
	kpd_same(j, "number of outer hits", seen->outer, !hit);
	kpd_same(j, "number of returns", seen->exits, m->exits);

	if (hit && m->pre)
		same_shown(j, &seen->at_pre, false, j->d->start);
	/* After a call, it is shown the start of the callee. */
	if (hit && m->post && !faulted && !calls_callee(j->d, j->f))
		same_shown(j, &seen->at_post, true, want);
}

static void run_and_judge(struct kpd_judge *j, const struct kpd_mode *m)
{
	const struct kpd_state *want = kpd_native(j->d, j->f, j->round);
	unsigned int before = j->wrong;
	struct kpd *d = j->d;

	memset(&d->seen, 0, sizeof(d->seen));
	d->seen.addr = kpd_insn(j->f);

	d->trapped = m->trapped;
	run(d, j->f, j->round, m->inside, m->trapped ? d->arch->trap : NULL, d->got);
	d->trapped = false;

	if (m->trapped) {
		memcpy(d->wanted, want, d->arch->state_size);
		d->arch->trap(d->wanted);
		want = d->wanted;
	}
	d->arch->same(j, d->got, want, d->start);
	kpd_same(j, "what is left of preemption or of the probe", d->balance, 0);
	d->unbalanced += d->balance != 0;
	same_hits(j, m, want);
	d->records[number_of(d, j->f)].wrong += j->wrong - before;
}

/*
 * Probes on all forms at once
 */

struct probes {
	struct probe_user	*users;
	struct kprobe		**kps;
	unsigned int		nr;
};

static void say_who(struct kunit *test, const struct probes *p)
{
	unsigned int i;
	int ret;

	for (i = 0; i < p->nr; i++) {
		ret = register_kprobe(p->kps[i]);
		if (ret)
			kunit_err(test, "%pS: error %d\n", p->kps[i]->addr, ret);
		else
			unregister_kprobe(p->kps[i]);
	}
}

static void register_outer(struct kunit *test, struct kpd *d, const struct kpd_mode *m)
{
	if (m->inside == KPD_NOT_INSIDE)
		return;

	memset(&d->outer, 0, sizeof(d->outer));
	d->outer.addr = kpd_outer_insn;
	if (m->inside == KPD_IN_PRE_HANDLER)
		d->outer.pre_handler = outer_pre;
	else
		d->outer.post_handler = outer_post;
	KUNIT_ASSERT_EQ(test, register_kprobe(&d->outer), 0);
}

#ifdef CONFIG_OPTPROBES
static bool has_jump(void *addr)
{
	struct kprobe *p;

	guard(preempt)();
	p = get_kprobe(addr);
	return p && READ_ONCE(p->flags) & KPROBE_FLAG_JUMP;
}
#else
static bool has_jump(void *addr)
{
	return false;
}
#endif

#ifdef CONFIG_KRETPROBES
static int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	/* NULL as soon as it is being unregistered, when no form is executed. */
	if (rp)
		container_of(rp, struct kpd, callee)->seen.exits++;
	return 0;
}

static void register_callee(struct kunit *test, struct kpd *d, const struct kpd_mode *m)
{
	if (!m->exits)
		return;

	memset(&d->callee, 0, sizeof(d->callee));
	d->callee.kp.addr = (kprobe_opcode_t *)dereference_symbol_descriptor(kpd_callee);
	d->callee.handler = on_return;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&d->callee), 0);
}

static void unregister_callee(struct kunit *test, struct kpd *d, const struct kpd_mode *m)
{
	if (!m->exits)
		return;

	KUNIT_EXPECT_EQ(test, has_jump(d->callee.kp.addr), m->jumps);
	unregister_kretprobe(&d->callee);
	KUNIT_EXPECT_EQ(test, d->callee.nmissed, 0);
}
#else
static void register_callee(struct kunit *test, struct kpd *d, const struct kpd_mode *m)
{
}

static void unregister_callee(struct kunit *test, struct kpd *d, const struct kpd_mode *m)
{
}
#endif

static void register_all(struct kunit *test, struct kpd *d, const struct kpd_mode *m,
			 struct probes *p)
{
	struct probe_user *user;
	unsigned int n, u;
	int ret;

	memset(p, 0, sizeof(*p));
	kprobe_test_allow_optimization(m->jumps);
	register_callee(test, d, m);
	if (!m->users)
		goto out;

	p->users = kp_calloc(test, d->nr_usable * m->users, sizeof(*p->users));
	p->kps = kp_calloc(test, d->nr_usable * m->users, sizeof(*p->kps));

	for (u = 0; u < m->users; u++) {
		for (n = 0; n < d->nr_usable; n++) {
			user = &p->users[p->nr];
			user->d = d;
			user->nr = u;
			user->kp.addr = kpd_insn(kpd_usable(d, n));
			user->kp.pre_handler = m->pre & BIT(u) ? on_pre : NULL;
			user->kp.post_handler = m->post & BIT(u) ? on_post : NULL;
			user->kp.fault_handler = m->fault & BIT(u) ? on_fault : NULL;
			p->kps[p->nr++] = &user->kp;
		}
	}

	/* One user after the other: later ones join the site of the first. */
	for (u = 0; u < m->users; u++) {
		ret = register_kprobes(p->kps + u * d->nr_usable, d->nr_usable);
		if (ret)
			say_who(test, p);
		KUNIT_ASSERT_EQ(test, ret, 0);
	}
	register_outer(test, d, m);
out:
	if (m->jumps)
		wait_for_kprobe_optimizer();
}

static void unregister_all(struct kunit *test, struct kpd *d, const struct kpd_mode *m,
			   struct probes *p)
{
	unregister_callee(test, d, m);
	kprobe_test_allow_optimization(false);
	if (m->inside != KPD_NOT_INSIDE)
		unregister_kprobe(&d->outer);
	unregister_kprobes(p->kps, p->nr);
}

/* What the "sites" file shows. */
static const char *kind_of_site(const struct kpd_form *f)
{
	struct kprobe *p;

	guard(kprobe_test)();

	p = get_kprobe(kpd_insn(f));
	if (!p)
		return "nothing";
	return kprobe_ftrace(p) ? "ftrace" : kprobe_mode(p);
}

static void same_kind(struct kpd_judge *j, const struct kpd_mode *m)
{
	const char *got = kind_of_site(j->f), *want = "nothing";

	if (!j->d->arch->executed)
		return;
	if (m->users)
		want = j->d->arch->executed(j->f, is_watched(m));
	if (strcmp(got, want))
		kpd_complain(j, "the site is %s, not %s", got, want);
}

/* Once all probes have got their jumps. */
static void same_jump(struct kpd_judge *j, const struct kpd_mode *m)
{
	if (j->d->arch->jumps && m->users)
		kpd_same(j, "presence of a jump", has_jump(kpd_insn(j->f)),
			 m->jumps && j->d->arch->jumps(j->f));
}

/* Whether the form is executed in the mode, once all probes are registered. */
static bool is_compared(const struct kpd *d, const struct kpd_form *f,
			const struct kpd_mode *m)
{
	if (d->arch->applies && !d->arch->applies(f, m))
		return false;
	if (m->exits)
		return calls_callee(d, f);
	return !m->jumps || has_jump(kpd_insn(f));
}

static unsigned int least_forms(const struct kpd *d, const struct kpd_mode *m)
{
	if (m->exits)
		return 1;
	return m->jumps ? d->arch->min_jumps : d->arch->min_forms;
}

/* Handlers run with interrupts off and must not enable them, as odd rounds would. */
static unsigned int step_of(const struct kpd_mode *m)
{
	if (m->trapped)
		return 4;
	return m->inside == KPD_NOT_INSIDE ? 1 : 2;
}

/**
 * kpd_pin() - let a case run on the CPU of the test
 * @test: the case
 * @d: the test
 *
 * Context: process context, may sleep.
 */
void kpd_pin(struct kunit *test, const struct kpd *d)
{
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(d->cpu)), 0);
}

/**
 * kpd_compare() - compare all forms in one mode with what they do without a probe
 * @test: the case; skipped if the architecture does not have such a mode
 * @d: the test
 * @m: the mode
 *
 * Context: process context, may sleep.
 */
void kpd_compare(struct kunit *test, struct kpd *d, const struct kpd_mode *m)
{
	unsigned long nr_compared = 0, nr_runs = 0, missed = 0;
	struct kpd_judge j = { .d = d, .test = test };
	const char *skip = skip_mode(d, m);
	struct probes p;
	unsigned int n;

	KP_SKIP_IF(test, skip, "%s", skip);
	kpd_pin(test, d);
	register_all(test, d, m, &p);
	d->traps = 0;
	for (n = 0; n < d->nr_usable; n++) {
		j.f = kpd_usable(d, n);
		same_jump(&j, m);
		if (!is_compared(d, j.f, m))
			continue;
		same_kind(&j, m);
		for (j.round = 0; j.round < d->rounds; j.round += step_of(m)) {
			run_and_judge(&j, m);
			nr_runs++;
		}
		d->records[d->usable[n]].modes++;
		nr_compared++;
		cond_resched();
	}
	unregister_all(test, d, m, &p);

	for (n = 0; n < p.nr; n++)
		missed += p.users[n].kp.nmissed;
	KUNIT_EXPECT_EQ(test, missed, m->inside == KPD_NOT_INSIDE ? 0 : m->users * nr_runs);
	KUNIT_EXPECT_EQ(test, j.wrong, 0);
	KUNIT_EXPECT_GE(test, nr_compared, least_forms(d, m));
	KUNIT_EXPECT_GE(test, d->traps, m->trapped ? nr_runs * d->arch->min_traps : 0);
	kunit_info(test, "%s: %lu forms, %lu runs\n", m->name, nr_compared, nr_runs);
}

/*
 * Handlers that write to registers
 */

static void change_and_judge(struct kpd_judge *j, const struct kpd_mode *m,
			     struct probe_user *user)
{
	struct kpd *d = j->d;

	run(d, j->f, j->round, KPD_NOT_INSIDE, d->arch->change, d->wanted);

	memset(&d->seen, 0, sizeof(d->seen));
	memset(user, 0, sizeof(*user));
	user->d = d;
	user->kp.addr = kpd_insn(j->f);
	user->kp.pre_handler = on_pre_change;
	user->kp.post_handler = m->post ? kp_nothing_post : NULL;
	KUNIT_ASSERT_EQ(j->test, register_kprobe(&user->kp), 0);
	if (m->jumps) {
		wait_for_kprobe_optimizer();
		kpd_same(j, "presence of a jump", has_jump(user->kp.addr), true);
	}
	run(d, j->f, j->round, KPD_NOT_INSIDE, NULL, d->got);
	unregister_kprobe(&user->kp);

	/* This is where the form has started from. */
	d->arch->change(d->start);
	d->arch->same(j, d->got, d->wanted, d->start);
	kpd_same(j, "number of hits", d->seen.pre[0], 1);
}

/**
 * kpd_compare_changed() - does an instruction see what a handler has written?
 * @test: the case; skipped if the architecture does not have such a mode
 * @d: the test, whose architecture has &kpd_arch.takes_any, change and change_regs
 * @m: the mode, with one user that has a pre handler; perhaps with a post handler, too, or
 *	with jumps, which all these forms have to get
 * @kinds: indexed by &kpd_form.kind, incremented for each form that was compared
 *
 * Context: process context, may sleep.
 */
void kpd_compare_changed(struct kunit *test, struct kpd *d, const struct kpd_mode *m,
			 unsigned int *kinds)
{
	struct probe_user *user = kp_zalloc(test, sizeof(*user));
	struct kpd_judge j = { .d = d, .test = test };
	const char *skip = skip_mode(d, m);
	unsigned int n;

	KP_SKIP_IF(test, skip, "%s", skip);
	kpd_pin(test, d);
	kprobe_test_allow_optimization(m->jumps);

	/* Some of them suffice. */
	for (n = 0; n < d->nr_usable; n += 4) {
		j.f = kpd_usable(d, n);
		if (!d->arch->takes_any(j.f))
			continue;
		change_and_judge(&j, m, user);
		kinds[j.f->kind]++;
	}
	kprobe_test_allow_optimization(false);
	KUNIT_EXPECT_EQ(test, j.wrong, 0);
}

/*
 * Checks of what all modes have recorded
 */

/**
 * kpd_check_branches() - has each condition been seen to hold and not to hold?
 * @test: the case
 * @d: the test, whose architecture has &kpd_arch.branched
 * @is_conditional: whether a form is a conditional branch
 *
 * Context: process context, may sleep.
 */
void kpd_check_branches(struct kunit *test, const struct kpd *d,
			bool (*is_conditional)(const struct kpd_form *f))
{
	unsigned int n, round, taken;
	const struct kpd_form *f;

	for (n = 0; n < d->nr_usable; n++) {
		f = kpd_usable(d, n);
		if (!is_conditional(f))
			continue;
		for (taken = 0, round = 0; round < d->rounds; round++)
			taken += d->arch->branched(kpd_native(d, f, round));
		KUNIT_EXPECT_GT_MSG(test, taken, 0, "%s", f->text);
		KUNIT_EXPECT_LT_MSG(test, taken, d->rounds, "%s", f->text);
	}
}

/* With which of the flags a form branches: one bit for each combination. */
static u32 ways_out(struct kpd *d, const struct kpd_form *f, unsigned int nr,
		    void (*set)(struct kpd_state *state, unsigned int flags))
{
	unsigned int flags;
	u32 taken = 0;

	for (flags = 0; flags < BIT(nr); flags++) {
		preempt_disable();
		fill(d, f, 0);
		set(d->start, flags);
		d->arch->load(f, d->start);
		kpd_run();
		d->arch->save(f, d->got);
		preempt_enable();
		if (d->arch->branched(d->got))
			taken |= BIT(flags);
	}
	return taken;
}

/**
 * kpd_check_flags() - does a conditional branch go the same way with all combinations of flags?
 * @test: the case
 * @d: the test, whose architecture has &kpd_arch.branched
 * @depends: whether a form is a branch that depends on them
 * @nr: the number of flags, at most 5
 * @set: set the flags of a state to the bits of a number
 *
 * Each is executed under a breakpoint, and in a detour.
 *
 * Context: process context, may sleep.
 * Return: the number of branches.
 */
unsigned int kpd_check_flags(struct kunit *test, struct kpd *d,
			     bool (*depends)(const struct kpd_form *f), unsigned int nr,
			     void (*set)(struct kpd_state *state, unsigned int flags))
{
	struct kprobe *kp = kp_zalloc(test, sizeof(*kp));
	unsigned int n, jump, branches = 0;
	const struct kpd_form *f;
	u32 taken;

	kpd_pin(test, d);
	for (n = 0; n < d->nr_usable; n++) {
		f = kpd_usable(d, n);
		if (!depends(f))
			continue;
		branches++;
		taken = ways_out(d, f, nr, set);
		for (jump = 0; jump <= IS_ENABLED(CONFIG_OPTPROBES); jump++) {
			kprobe_test_allow_optimization(jump);
			memset(kp, 0, sizeof(*kp));
			kp->addr = kpd_insn(f);
			KUNIT_ASSERT_EQ(test, register_kprobe(kp), 0);
			if (jump)
				wait_for_kprobe_optimizer();
			KUNIT_EXPECT_EQ_MSG(test, ways_out(d, f, nr, set), taken, "%s", f->text);
			unregister_kprobe(kp);
		}
		kprobe_test_allow_optimization(false);
	}
	return branches;
}

/**
 * kpd_check_group() - were all forms of a group right in all modes?
 * @test: the case, after all cases that call kpd_compare()
 * @d: the test
 * @has: whether the group has a form
 * @group: passed to @has
 *
 * Context: process context, may sleep.
 * Return: the number of forms in the group.
 */
unsigned int kpd_check_group(struct kunit *test, const struct kpd *d,
			     bool (*has)(const struct kpd_form *f, const void *group),
			     const void *group)
{
	const struct kpd_record *record;
	const struct kpd_form *f;
	unsigned int n, nr = 0;

	for (n = 0; n < d->nr_usable; n++) {
		f = kpd_usable(d, n);
		if (!has(f, group))
			continue;
		nr++;
		record = &d->records[d->usable[n]];
		KUNIT_EXPECT_GT_MSG(test, record->modes, 0, "%s", f->text);
		KUNIT_EXPECT_EQ_MSG(test, record->wrong, 0, "%s", f->text);
	}

	return nr;
}

/**
 * kpd_check_shown() - were handlers shown the registers of the program in all modes?
 * @test: the case, after all cases that call kpd_compare()
 * @d: the test, whose architecture has &kpd_arch.same_regs
 *
 * Context: process context, may sleep.
 */
void kpd_check_shown(struct kunit *test, const struct kpd *d)
{
	KUNIT_EXPECT_GT(test, d->shown, d->arch->min_forms * d->rounds);
	KUNIT_EXPECT_EQ(test, d->shown_wrong, 0);
}

/**
 * kpd_check_balance() - was preemption as before, and no probe current, in all modes?
 * @test: the case, after all cases that call kpd_compare()
 * @d: the test
 *
 * Context: process context, may sleep.
 */
void kpd_check_balance(struct kunit *test, const struct kpd *d)
{
	KUNIT_EXPECT_GT(test, d->shown, d->arch->min_forms * d->rounds);
	KUNIT_EXPECT_EQ(test, d->unbalanced, 0);
}

/*
 * Setup
 */

static void find_usable(struct kpd *d)
{
	const struct kpd_form *f;
	const char *skip;

	for (f = d->forms; f < d->end; f++) {
		skip = d->arch->skip ? d->arch->skip(f) : NULL;
		if (skip)
			pr_info("%s: not compared, %s: %s\n", d->name, skip, f->text);
		else
			d->usable[d->nr_usable++] = number_of(d, f);
	}
}

static int allocate(struct kpd *d)
{
	size_t nr_states = size_add(array_size(nr_forms(d), d->rounds), NR_SCRATCH);

	d->records = kvzalloc_objs(*d->records, nr_forms(d));
	d->usable = kvzalloc_objs(*d->usable, nr_forms(d));
	d->states = vzalloc(array_size(nr_states, d->arch->state_size));
	if (!d->records || !d->usable || !d->states)
		return -ENOMEM;

	d->start = state_at(d, 0);
	d->got = state_at(d, 1);
	d->wanted = state_at(d, 2);
	return 0;
}

/**
 * kpd_init() - start a differential test
 * @d: the test; all but what the suite sets has to be 0
 *
 * Executes all forms without probes. Until kpd_exit(), no probe is optimized but in
 * modes that want it, as a jump would be set up in the middle.
 *
 * Context: process context, may sleep.
 * Return: 0, or -ENOMEM. After an error, there is nothing to undo.
 */
int kpd_init(struct kpd *d)
{
	kprobe_test_allow_optimization(false);
	if (!seed)
		seed = get_random_u32();
	d->seed = seed;
	if (!d->rounds)
		d->rounds = rounds;
	d->rounds = max(d->rounds, MIN_ROUNDS);
	pr_info("%s: seed %llu, %u rounds\n", d->name, d->seed, d->rounds);

	if (allocate(d)) {
		kpd_exit(d);
		return -ENOMEM;
	}

	find_usable(d);
	migrate_disable();
	d->cpu = smp_processor_id();
	kpd_record_native(d);
	migrate_enable();
	return 0;
}

/**
 * kpd_exit() - undo kpd_init()
 * @d: the test, for which kpd_init() may be called again
 *
 * Context: process context, may sleep.
 */
void kpd_exit(struct kpd *d)
{
	kvfree(d->records);
	kvfree(d->usable);
	vfree(d->states);
	*d = (struct kpd) {
		.name	= d->name,
		.arch	= d->arch,
		.forms	= d->forms,
		.end	= d->end,
		.rounds	= d->rounds,
	};
	kprobe_test_allow_optimization(true);
}
