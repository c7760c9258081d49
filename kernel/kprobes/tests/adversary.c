// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine of adversaries; see adversary.h.
 */

#include "suite.h"

#include <kunit/resource.h>
#include <linux/jhash.h>
#include <linux/overflow.h>

#include "adversary.h"

/* The probe of one function. */
struct subject {
	struct kprobe	kp;
	bool		probed;
	unsigned int	hits;		/* of this probe */
	unsigned int	hits_wanted;	/* of a breakpoint, in all runs */
};

struct adversary {
	const struct kpa_arch	*arch;
	struct subject		*subjects;
	struct kprobe		**kps;
	unsigned int		nr;		/* in @kps */
	void			*results;	/* of each function in each run, and one more */
};

/**
 * kpa_nr_functions() - how many functions are there?
 * @arch: what the architecture provides
 *
 * Context: any.
 * Return: their number.
 */
unsigned int kpa_nr_functions(const struct kpa_arch *arch)
{
	return arch->end - arch->functions;
}

static size_t nr_results(const struct adversary *a)
{
	return array_size(kpa_nr_functions(a->arch), KPA_NR_RUNS);
}

static struct kpa_result *result_at(const struct adversary *a, size_t n)
{
	return a->results + n * a->arch->result_size;
}

static struct kpa_result *wanted(const struct adversary *a, unsigned int fn, unsigned int run)
{
	return result_at(a, (size_t)fn * KPA_NR_RUNS + run);
}

static void call(struct adversary *a, unsigned int fn, unsigned int run,
		 struct kpa_result *got)
{
	a->arch->call(a->arch->functions[fn].fn, (u64)fn * KPA_NR_RUNS + run + 1, run, got);
}

static void complain(struct kunit *test, struct adversary *a, const char *how,
		     unsigned int fn, unsigned int run)
{
	char what[KSYM_SYMBOL_LEN + 32];

	snprintf(what, sizeof(what), "%s: %pS, run %u", how, a->subjects[fn].kp.addr, run);
	a->arch->complain(test, what, result_at(a, nr_results(a)), wanted(a, fn, run));
}

/* Calls all functions that are probed, and compares with the expected results. */
static void call_all(struct kunit *test, struct adversary *a, const char *how)
{
	struct kpa_result *got = result_at(a, nr_results(a));
	unsigned int fn, run;

	for (fn = 0; fn < kpa_nr_functions(a->arch); fn++) {
		if (!a->subjects[fn].probed)
			continue;
		for (run = 0; run < KPA_NR_RUNS; run++) {
			call(a, fn, run, got);
			if (memcmp(got, wanted(a, fn, run), a->arch->result_size))
				complain(test, a, how, fn, run);
		}
		cond_resched();
	}
}

static int probe_pre(struct kprobe *p, struct pt_regs *regs)
{
	container_of(p, struct subject, kp)->hits++;
	return 0;
}

static u8 *insn_of(const struct adversary *a, unsigned int fn, unsigned int n)
{
	const struct kpa_function *f = &a->arch->functions[fn];
	u8 *start = (u8 *)f->fn, *cold = (u8 *)&f->cold + f->cold;
	u8 *at = a->arch->insn(start, start + f->size, &n);

	if (at || !f->cold)
		return at;
	return a->arch->insn(cold, cold + f->cold_size, &n);
}

/* One probe in each function that has an nth instruction. Returns their number. */
static unsigned int choose(struct adversary *a, unsigned int n, kprobe_post_handler_t post)
{
	struct subject *s;
	unsigned int fn;
	u8 *at;

	a->nr = 0;
	for (fn = 0; fn < kpa_nr_functions(a->arch); fn++) {
		s = &a->subjects[fn];
		at = insn_of(a, fn, n);
		s->probed = at;
		if (!at)
			continue;
		memset(&s->kp, 0, sizeof(s->kp));
		s->kp.addr = (kprobe_opcode_t *)at;
		s->kp.pre_handler = probe_pre;
		s->kp.post_handler = post;
		s->hits = 0;
		a->kps[a->nr++] = &s->kp;
	}

	return a->nr;
}

/* Once for each execution. */
static void count_hits(struct kunit *test, struct adversary *a, unsigned int n)
{
	unsigned int fn;

	choose(a, n, kp_nothing_post);
	KUNIT_ASSERT_EQ(test, register_kprobes(a->kps, a->nr), 0);
	call_all(test, a, "breakpoint");
	for (fn = 0; fn < kpa_nr_functions(a->arch); fn++)
		a->subjects[fn].hits_wanted = a->subjects[fn].hits;
	unregister_kprobes(a->kps, a->nr);
}

static void optimize_and_compare(struct kunit *test, struct adversary *a, unsigned int n)
{
	const struct subject *s;
	unsigned int fn, i;

	choose(a, n, NULL);
	KUNIT_ASSERT_EQ(test, register_kprobes(a->kps, a->nr), 0);
	wait_for_kprobe_optimizer();
	for (i = 0; i < a->nr && a->arch->count; i++)
		a->arch->count((u8 *)a->kps[i]->addr);

	call_all(test, a, "optimized");
	for (fn = 0; fn < kpa_nr_functions(a->arch); fn++) {
		s = &a->subjects[fn];
		if (!s->probed)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, s->hits, s->hits_wanted, "%pS", s->kp.addr);
		KUNIT_EXPECT_EQ_MSG(test, s->kp.nmissed, 0, "%pS", s->kp.addr);
	}
	unregister_kprobes(a->kps, a->nr);
}

static u32 text_sum(const struct kpa_arch *arch)
{
	const struct kpa_function *f;
	u32 sum = 0;

	for (f = arch->functions; f < arch->end; f++) {
		sum = jhash(f->fn, f->size, sum);
		if (f->cold)
			sum = jhash((u8 *)&f->cold + f->cold, f->cold_size, sum);
	}

	return sum;
}

static void free_memory(void *memory)
{
	vfree(memory);
}

static void allocate(struct kunit *test, struct adversary *a)
{
	unsigned int nr = kpa_nr_functions(a->arch);

	a->results = vzalloc(array_size(size_add(nr_results(a), 1), a->arch->result_size));
	KUNIT_ASSERT_NOT_NULL(test, a->results);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_memory, a->results), 0);

	a->subjects = vcalloc(nr, sizeof(*a->subjects));
	KUNIT_ASSERT_NOT_NULL(test, a->subjects);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_memory, a->subjects), 0);

	a->kps = kp_calloc(test, nr, sizeof(*a->kps));
}

static void record_wanted(struct adversary *a)
{
	unsigned int fn, run;

	for (fn = 0; fn < kpa_nr_functions(a->arch); fn++) {
		for (run = 0; run < KPA_NR_RUNS; run++)
			call(a, fn, run, wanted(a, fn, run));
	}
}

/**
 * kpa_run() - probe each instruction of all functions, and compare
 * @test: the case
 * @arch: what the architecture provides
 *
 * Stops after the first step in which there is a failure. On return, no probe is left,
 * and the text is as before.
 *
 * Context: process context, may sleep.
 * Return: the number of instructions that were probed.
 */
unsigned int kpa_run(struct kunit *test, const struct kpa_arch *arch)
{
	struct adversary a = { .arch = arch };
	unsigned int n, probed = 0;
	u32 sum = text_sum(arch);

	allocate(test, &a);
	record_wanted(&a);
	for (n = 0; choose(&a, n, NULL); n++) {
		probed += a.nr;
		count_hits(test, &a, n);
		optimize_and_compare(test, &a, n);
		if (test->status == KUNIT_FAILURE)
			break;
	}

	/* Including the bytes between the probed instructions. */
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, text_sum(arch), sum);
	return probed;
}

/*
 * All CPUs at once
 */

/**
 * struct caller - a task that calls all functions over and over
 * @a: the functions, and what they have to give
 * @task: the task
 * @got: the result of a call
 * @calls: how many were made
 * @wrong: how many gave another result
 * @fn: the function of the first of these
 * @run: which of its runs that was
 */
struct caller {
	struct adversary	*a;
	struct task_struct	*task;
	struct kpa_result	*got;
	unsigned long		calls;
	unsigned long		wrong;
	unsigned int		fn;
	unsigned int		run;
};

static void call_and_compare(struct caller *c, unsigned int fn, unsigned int run)
{
	call(c->a, fn, run, c->got);
	c->calls++;
	if (!memcmp(c->got, wanted(c->a, fn, run), c->a->arch->result_size))
		return;
	if (!c->wrong++) {
		c->fn = fn;
		c->run = run;
	}
}

static int call_forever(void *arg)
{
	struct caller *c = arg;
	unsigned int fn, run;

	while (!kthread_should_stop()) {
		for (fn = 0; fn < kpa_nr_functions(c->a->arch); fn++) {
			for (run = 0; run < KPA_NR_RUNS; run++)
				call_and_compare(c, fn, run);
			cond_resched();
		}
		/* Grace periods, which probes wait for to go, would last for long. */
		schedule_timeout_uninterruptible(1);
	}
	return 0;
}

static void stop_caller(void *arg)
{
	struct caller *c = arg;

	kthread_stop(c->task);
	c->task = NULL;
}

static void start_caller(struct kunit *test, struct adversary *a, struct caller *c, int cpu)
{
	c->a = a;
	c->got = kp_zalloc(test, a->arch->result_size);
	c->task = kthread_create_on_cpu(call_forever, c, cpu, "adversary/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(c->task));
	wake_up_process(c->task);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop_caller, c), 0);
}

static unsigned int nr_insns(const struct adversary *a, unsigned int fn)
{
	unsigned int n = 0;

	while (insn_of(a, fn, n))
		n++;
	return n;
}

/* A probe on a random instruction of about half of the functions. */
static void choose_random(struct adversary *a, struct rnd_state *rnd, const unsigned int *nr)
{
	struct subject *s;
	unsigned int fn;

	a->nr = 0;
	for (fn = 0; fn < kpa_nr_functions(a->arch); fn++) {
		s = &a->subjects[fn];
		if (!nr[fn] || prandom_u32_state(rnd) % 2)
			continue;
		memset(&s->kp, 0, sizeof(s->kp));
		s->kp.addr = (kprobe_opcode_t *)insn_of(a, fn, prandom_u32_state(rnd) % nr[fn]);
		s->kp.pre_handler = probe_pre;
		s->kp.post_handler = prandom_u32_state(rnd) % 4 ? NULL : kp_nothing_post;
		s->kp.flags = prandom_u32_state(rnd) % 2 ? KPROBE_FLAG_REENTRANT : 0;
		a->kps[a->nr++] = &s->kp;
	}
}

/**
 * kpa_run_on_all_cpus() - compare while probes come and go
 * @test: the case
 * @arch: what the architecture provides
 * @rounds: how often probes come and go
 *
 * One task on each CPU calls all functions meanwhile. On return, no probe is left, and the
 * text is as before.
 *
 * Context: process context, may sleep.
 */
void kpa_run_on_all_cpus(struct kunit *test, const struct kpa_arch *arch, unsigned int rounds)
{
	unsigned long hits = 0, missed = 0, calls = 0;
	unsigned int fn, i, cpu, nr_callers = 0, *nr;
	u32 sum = text_sum(arch);
	struct caller *callers;
	struct adversary *a;
	struct rnd_state rnd;

	/* If the case is given up, the tasks still run for a moment. */
	a = kp_zalloc(test, sizeof(*a));
	a->arch = arch;
	allocate(test, a);
	record_wanted(a);
	nr = kp_calloc(test, kpa_nr_functions(arch), sizeof(*nr));
	callers = kp_calloc(test, nr_cpu_ids, sizeof(*callers));
	for (fn = 0; fn < kpa_nr_functions(arch); fn++)
		nr[fn] = nr_insns(a, fn);
	for_each_online_cpu(cpu)
		start_caller(test, a, &callers[nr_callers++], cpu);

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < rounds; i++) {
		choose_random(a, &rnd, nr);
		KUNIT_ASSERT_EQ(test, register_kprobes(a->kps, a->nr), 0);
		/* Some go while they have no jump yet, and some while they get one. */
		if (i % 4 == 1)
			wait_for_kprobe_optimizer();
		schedule_timeout_uninterruptible(prandom_u32_state(&rnd) % 8);
		unregister_kprobes(a->kps, a->nr);
		for (fn = 0; fn < a->nr; fn++)
			missed += a->kps[fn]->nmissed;
	}

	for (i = 0; i < nr_callers; i++) {
		kunit_release_action(test, stop_caller, &callers[i]);
		KUNIT_EXPECT_EQ_MSG(test, callers[i].wrong, 0, "first: %pS, run %u",
				    arch->functions[callers[i].fn].fn, callers[i].run);
		KUNIT_EXPECT_GT(test, callers[i].calls, KPA_NR_RUNS * kpa_nr_functions(arch));
		calls += callers[i].calls;
	}
	for (fn = 0; fn < kpa_nr_functions(arch); fn++)
		hits += a->subjects[fn].hits;
	KUNIT_EXPECT_GT(test, hits, rounds);
	KUNIT_EXPECT_EQ(test, missed, 0);
	kunit_info(test, "%u rounds: %lu calls on %u CPUs, %lu hits\n", rounds, calls, nr_callers,
		   hits);

	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, text_sum(arch), sum);
}
