// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions that much depends on, with probes on all of their instructions.
 */

#include "suite.h"

#include <linux/minmax.h>
#include <linux/workqueue.h>

#include <asm/switch_to.h>

#include "helpers.h"

static const struct coverage {
	const char	*name;
	bool		post, jumps;
} coverages[] = {
	{ "breakpoints" },
	{ "post handlers", .post = true },
#ifdef CONFIG_OPTPROBES
	{ "jumps", .jumps = true },
#endif
};
KUNIT_ARRAY_PARAM_DESC(coverage, coverages, name);

/**
 * struct covered - a function with probes
 * @w: for a probe on each of its words
 * @p: those that are registered
 * @start: its first word
 * @words: how many it has
 * @nr: how many probes are registered
 */
struct covered {
	struct kp_watch	*w;
	struct kprobe		**p;
	unsigned long		start;
	unsigned int		words;
	unsigned int		nr;
};

/* @fn: a function, or its descriptor. */
static void find(struct kunit *test, struct covered *c, void *fn)
{
	unsigned long entry = ppc_function_entry(fn), size, into;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(entry, &size, &into));
	c->start = entry - into;
	c->words = size / INSN_WORD;
	c->w = kp_calloc(test, c->words, sizeof(*c->w));
	c->p = kp_calloc(test, c->words, sizeof(*c->p));
}

/* Probes on the words [from, to), as far as there are any. */
static void cover_part(struct covered *c, unsigned int from, unsigned int to,
		       const struct coverage *how)
{
	unsigned int i;

	c->nr = 0;
	kprobe_test_allow_optimization(how->jumps);
	for (i = from; i < min(to, c->words); i++) {
		struct kp_watch *w = &c->w[c->nr];

		*w = (struct kp_watch){
			.kp.addr	= (void *)(c->start + i * INSN_WORD),
			.kp.pre_handler	= kp_watch_pre,
		};
		if (how->post)
			w->kp.post_handler = kp_watch_post;
		if (!register_kprobe(&w->kp))
			c->p[c->nr++] = &w->kp;
	}
	wait_for_kprobe_optimizer();
}

static void cover(struct kunit *test, struct covered *c, void *fn, const struct coverage *how)
{
	find(test, c, fn);
	cover_part(c, 0, c->words, how);
}

static unsigned int nr_of_jumps(const struct covered *c)
{
	unsigned int i, n = 0;

	for (i = 0; i < c->nr; i++)
		n += kpb_has_jump(c->p[i]->addr);
	return n;
}

static unsigned int nr_of_hits(const struct covered *c)
{
	unsigned int i, n = 0;

	for (i = 0; i < c->nr; i++)
		n += atomic_read(&c->w[i].pre);
	return n;
}

static void uncover(struct kunit *test, struct covered *c)
{
	unregister_kprobes(c->p, c->nr);
	kprobe_test_allow_optimization(true);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
	KUNIT_EXPECT_EQ(test, preempt_count(), 0);
}

/* Nothing is ever mapped there. On Book3S-64, there is not even a segment. */
#define NOWHERE		((void *)-PAGE_SIZE)

/* Each load of the function is executed, and each of them faults. */
static void expect_reads(struct kunit *test, const void *hole)
{
	static const u8 from[] __aligned(8) = "all the sizes.";
	u8 to[sizeof(from)];
	unsigned int size;

	BUILD_BUG_ON(sizeof(from) != 15);
	memset(to, 0, sizeof(to));
	KUNIT_EXPECT_EQ(test, copy_from_kernel_nofault(to, from, sizeof(to)), 0);
	KUNIT_EXPECT_MEMEQ(test, to, from, sizeof(to));

	for (size = 1; size <= 8; size *= 2) {
		KUNIT_EXPECT_EQ(test, copy_from_kernel_nofault(to, hole, size), -EFAULT);
		KUNIT_EXPECT_EQ(test, copy_from_kernel_nofault(to, NOWHERE, size), -EFAULT);
	}
	KUNIT_EXPECT_EQ(test, current->pagefault_disabled, 0);
}

static void reads_that_may_fault(struct kunit *test)
{
	const struct coverage *how = test->param_value;
	void *page = vmalloc(PAGE_SIZE);
	struct covered c;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, page);
	expect_reads(test, page + PAGE_SIZE);

	cover(test, &c, copy_from_kernel_nofault, how);
	/* The refused are halves of instructions. */
	KUNIT_EXPECT_GT(test, 4 * c.nr, 3 * c.words);
	if (how->jumps)
		KUNIT_EXPECT_GT(test, 2 * nr_of_jumps(&c), c.nr);
	else
		KUNIT_EXPECT_EQ(test, nr_of_jumps(&c), 0);
	for (i = 0; i < c.nr; i++)
		atomic_set(&c.w[i].pre, 0);
	expect_reads(test, page + PAGE_SIZE);
	/* There are nine reads. */
	KUNIT_EXPECT_GT(test, nr_of_hits(&c), 9 * 5);
	uncover(test, &c);

	expect_reads(test, page + PAGE_SIZE);
	vfree(page);
}

/*
 * Switching between tasks
 */

static void do_nothing(struct work_struct *work)
{
}

/* To the idle task, and to another one. */
static void switch_tasks(unsigned int times)
{
	struct work_struct work;
	unsigned int i;

	INIT_WORK_ONSTACK(&work, do_nothing);
	for (i = 0; i < times; i++) {
		schedule_work(&work);
		flush_work(&work);
		schedule_timeout_uninterruptible(1);
	}
	destroy_work_on_stack(&work);
}

/*
 * A few instructions at a time. With breakpoints on all of them and two CPUs, which share a thread
 * of QEMU and spin for the run queue's lock, 50 sleeps took up to a minute.
 */
#define NR_AT_ONCE	8
#define NR_SLEEPS	2

static void switches_through(struct kunit *test, void *fn)
{
	unsigned int from, nr = 0, jumps = 0, hits = 0;
	const struct coverage *how = test->param_value;
	struct covered c;

	find(test, &c, fn);
	for (from = 0; from < c.words; from += NR_AT_ONCE) {
		cover_part(&c, from, from + NR_AT_ONCE, how);
		nr += c.nr;
		jumps += nr_of_jumps(&c);
		switch_tasks(NR_SLEEPS);
		hits += nr_of_hits(&c);
		uncover(test, &c);
	}

	KUNIT_EXPECT_GT(test, nr, 0);
	/* Each sleep is at least two switches, and some instructions are not on each way. */
	KUNIT_EXPECT_GT(test, hits, NR_SLEEPS * nr / 4);
	if (how->jumps)
		KUNIT_EXPECT_GT(test, jumps, nr / 2);
	else
		KUNIT_EXPECT_EQ(test, jumps, 0);
	kunit_info(test, "%pSR: %u probes on %u words, %u jumps, %u hits\n", (void *)c.start, nr,
		   c.words, jumps, hits);
}

static void switches_of_tasks(struct kunit *test)
{
	switches_through(test, __switch_to);
	switches_through(test, _switch);
}

#ifdef CONFIG_KRETPROBES
#define NR_RETURNS	50

static atomic_t right, wrong;

/* Both return the task that ran before. */
static int check_last(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	const struct task_struct *last = (void *)regs_return_value(regs);

	atomic_inc(last && last != current && irqs_disabled() ? &right : &wrong);
	return 0;
}

/*
 * Each task has its return when it is switched to again, and those that sleep longer have it when
 * the probes have gone.
 */
static void returns_of_switches(struct kunit *test)
{
	static const char * const names[] = { "_switch", "__switch_to" };
	static struct kretprobe rp[ARRAY_SIZE(names)];
	unsigned int i;

	atomic_set(&right, 0);
	atomic_set(&wrong, 0);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		rp[i] = (struct kretprobe){
			.kp.symbol_name	= names[i],
			.handler	= check_last,
			.maxactive	= 256,
		};
		KUNIT_EXPECT_EQ_MSG(test, register_kretprobe(&rp[i]), 0, "%s", names[i]);
	}
	wait_for_kprobe_optimizer();
	switch_tasks(NR_RETURNS);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		unregister_kretprobe(&rp[i]);
	KUNIT_EXPECT_GT(test, atomic_read(&right), 2 * NR_RETURNS);
	KUNIT_EXPECT_EQ(test, atomic_read(&wrong), 0);
	switch_tasks(NR_RETURNS);
}
#endif

/*
 * The end of detours
 */

#if defined(CONFIG_PREEMPTION) && defined(CONFIG_OPTPROBES)
static int want_schedule(struct kprobe *p, struct pt_regs *regs)
{
	set_tsk_need_resched(current);
	set_preempt_need_resched();
	return kp_watch_pre(p, regs);
}

static void ends_of_detours(struct kunit *test)
{
	struct kp_watch w = { .kp = { .addr = KPB_AT(add), .pre_handler = want_schedule } };
	const struct coverage *how = test->param_value;
	struct covered c;
	unsigned int i;

	cover(test, &c, preempt_schedule_notrace, how);
	KUNIT_EXPECT_GT(test, c.nr, 0);
	KUNIT_EXPECT_EQ(test, nr_of_jumps(&c), 0);

	kprobe_test_allow_optimization(true);
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(w.kp.addr));
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, kpb_run(kpb_add, i), i + 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 100);
	KUNIT_EXPECT_GE(test, nr_of_hits(&c), 100 * c.nr / 4);
	unregister_kprobe(&w.kp);
	uncover(test, &c);
}
#endif

static struct kunit_case survive_cases[] = {
	KUNIT_CASE_PARAM(reads_that_may_fault, coverage_gen_params),
	KUNIT_CASE_PARAM(switches_of_tasks, coverage_gen_params),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(returns_of_switches),
#endif
#if defined(CONFIG_PREEMPTION) && defined(CONFIG_OPTPROBES)
	KUNIT_CASE_PARAM(ends_of_detours, coverage_gen_params),
#endif
	{}
};

KP_SUITE(survive_cases, .name = "kprobes_powerpc_survive");
