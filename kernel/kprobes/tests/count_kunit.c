// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a batch of probes costs in grace periods and in changes of the whole text,
 * counted from outside of kprobes: by probes on the functions that do these things.
 * The cost must be bounded, and must not depend on the size of the batch.
 *
 * Only calls made by the test itself are counted.
 */

#include "suite.h"

#include <linux/log2.h>

#include "../arm.h"
#include "../module.h"
#include "../optimizer.h"

#define SMALL	8
#define LARGE	64

/* LARGE functions, all different. */
#define FN(n)								\
	static noinline __noclone u32 kp_count_fn_##n(u32 v)		\
	{								\
		OPTIMIZER_HIDE_VAR(v);					\
		return v + 1##n;					\
	}
#define FN8(n)								\
	FN(n##0) FN(n##1) FN(n##2) FN(n##3) FN(n##4) FN(n##5) FN(n##6) FN(n##7)
FN8(0) FN8(1) FN8(2) FN8(3) FN8(4) FN8(5) FN8(6) FN8(7)

#define NAME(n)		kp_count_fn_##n
#define NAME8(n)							\
	NAME(n##0), NAME(n##1), NAME(n##2), NAME(n##3),			\
	NAME(n##4), NAME(n##5), NAME(n##6), NAME(n##7)
static u32 (* const volatile functions[LARGE])(u32 v) = {
	NAME8(0), NAME8(1), NAME8(2), NAME8(3),
	NAME8(4), NAME8(5), NAME8(6), NAME8(7),
};

/* LARGE instructions in the middle of a function. */
extern char kp_count_mid[] asm(".Lkp_count_mid");
extern char kp_count_mid_end[] asm(".Lkp_count_mid_end");

static noinline __noclone notrace u32 kp_count_middle(u32 v)
{
	OPTIMIZER_HIDE_VAR(v);
	asm volatile(".Lkp_count_mid:\n"
		     ANNOTATE_NOENDBR "\n"
		     "	.rept 64\n"
		     "	nop\n"
		     "	.endr\n"
		     ".Lkp_count_mid_end:\n"
		     ANNOTATE_NOENDBR "\n"
		     : "+r" (v));
	return v + 1;
}

static void call_everything(void)
{
	u32 (*volatile middle)(u32 v) = kp_count_middle;
	int i;

	for (i = 0; i < LARGE; i++)
		functions[i](i);
	middle(1);
}

/*
 * Counters
 */

enum {
	GRACE,		/* grace periods of RCU, waited for */
	GRACE_TASKS,	/* those of RCU-tasks */
	FILTER,		/* changes of an ftrace filter */
	TEXT,		/* updates of the kernel text by ftrace */
	STOP,		/* times that all CPUs were stopped */
	KICK,		/* times that all CPUs were interrupted */
	NR_COSTS,
};

static const char * const cost_names[NR_COSTS] = {
	[GRACE]		= "grace periods",
	[GRACE_TASKS]	= "tasks grace periods",
	[FILTER]	= "filter changes",
	[TEXT]		= "text updates",
	[STOP]		= "stops of all CPUs",
	[KICK]		= "kicks of all CPUs",
};

/* Jumps that come in the meantime, or do not, have to be removed by kicking all CPUs. */
static bool is_certain(int cost)
{
	return cost != KICK;
}

struct counter {
	const char	*symbol;
	int		cost;
	struct kprobe	kp;
	unsigned int	hits;
};

/* Probed by name; which of them exist depends on the configuration. */
static const struct counter counter_table[] = {
	{ "synchronize_rcu",			GRACE },
	{ "synchronize_rcu_expedited",		GRACE },
	{ "synchronize_rcu_tasks",		GRACE_TASKS },
	{ "synchronize_rcu_tasks_rude",		GRACE_TASKS },
	{ "ftrace_set_filter_ips",		FILTER },
	{ "arch_ftrace_update_code",		TEXT },
	/* Elsewhere, breakpoints are written one by one, each with its own costs. */
#ifdef __ARCH_WANT_KPROBES_BATCH
	{ "stop_machine_cpuslocked",		STOP },
	{ "kick_all_cpus_sync",			KICK },
#endif
};

struct count_test {
	struct counter		counter[ARRAY_SIZE(counter_table)];
	struct task_struct	*task;
	unsigned int		hits;
	struct kprobe		kp[LARGE];
	struct kprobe		*kps[LARGE];
	struct kretprobe	rp[LARGE];
	struct kretprobe	*rps[LARGE];
#ifdef CONFIG_KPROBES_ON_FTRACE
	struct ftrace_ops	ops;
#endif
};

static struct count_test *now;

/* The test, and not an interrupt that has come meanwhile. An NMI counts as one, too. */
static bool is_test(void)
{
	return current == now->task && !in_serving_softirq() &&
	       hardirq_count() >> HARDIRQ_SHIFT == (preempt_count() & NMI_MASK) >> NMI_SHIFT;
}

/* Hits on other CPUs must not write the counters, not even what they have read. */
static int counter_pre(struct kprobe *p, struct pt_regs *regs)
{
	if (is_test())
		container_of(p, struct counter, kp)->hits++;
	return 0;
}

static int hit_pre(struct kprobe *p, struct pt_regs *regs)
{
	if (is_test())
		now->hits++;
	return 0;
}

struct costs {
	unsigned int	n[NR_COSTS];
};

static struct costs costs_now(void)
{
	struct costs sum = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(counter_table); i++)
		sum.n[now->counter[i].cost] += READ_ONCE(now->counter[i].hits);
	return sum;
}

static struct costs costs_since(const struct costs *then)
{
	struct costs c = costs_now();
	int i;

	for (i = 0; i < NR_COSTS; i++)
		c.n[i] -= then->n[i];
	return c;
}

/*
 * Batches
 */

static void fill_entries(struct count_test *t, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		char name[KSYM_NAME_LEN];

		t->kp[i] = (struct kprobe){ .pre_handler = hit_pre };
		/* By name, since only that is certain to give the real entry. */
		snprintf(name, sizeof(name), "kp_count_fn_%o%o", i / 8, i % 8);
		t->kp[i].addr = kprobe_lookup_name(name, 0);
	}
}

static void fill_exclusive(struct count_test *t, int nr)
{
	int i;

	fill_entries(t, nr);
	for (i = 0; i < nr; i++)
		t->kp[i].post_handler = kp_nothing_post;
}

static void fill_middle(struct count_test *t, int nr)
{
	size_t step = (kp_count_mid_end - kp_count_mid) / LARGE;
	int i;

	for (i = 0; i < nr; i++) {
		t->kp[i] = (struct kprobe){
			.pre_handler	= hit_pre,
			.addr		= (void *)kp_count_mid + i * step,
		};
	}
}

static void fill_one_address(struct count_test *t, int nr)
{
	int i;

	fill_middle(t, nr);
	for (i = 1; i < nr; i++)
		t->kp[i].addr = t->kp[0].addr;
}

static void fill_mixed(struct count_test *t, int nr)
{
	int i;

	fill_exclusive(t, nr);
	for (i = 0; i < nr; i += 2)
		t->kp[i].post_handler = NULL;
}

/*
 * The last address is not text. The others may be armed for a while, since one of them
 * might be refused as well, and the error of the first one counts.
 */
static void fill_bad_last(struct count_test *t, int nr)
{
	fill_entries(t, nr);
	t->kp[nr - 1].addr = (void *)&counter_table;
}

/* Refused when all have been prepared: another user has claimed the last one. */
static void fill_busy_last(struct count_test *t, int nr)
{
	fill_entries(t, nr);
	t->kp[nr - 1].addr = kprobe_lookup_name("kp_count_fn_77", 0);
	t->kp[nr - 1].post_handler = kp_nothing_post;
}

static void fill_busy_last_exclusive(struct count_test *t, int nr)
{
	fill_exclusive(t, nr);
	t->kp[nr - 1].addr = kprobe_lookup_name("kp_count_fn_77", 0);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
static void nop_tracer(unsigned long ip, unsigned long parent_ip,
		       struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

/* Another user claims the last function, so ftrace refuses a batch with it. */
static int claim_last(struct count_test *t)
{
	unsigned long ip;

	ip = ftrace_location((unsigned long)kprobe_lookup_name("kp_count_fn_77", 0));
	/* ftrace_free_filter() does not clear the pointers to what it has freed. */
	memset(&t->ops, 0, sizeof(t->ops));
	t->ops.func = nop_tracer;
	t->ops.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY;
	return ftrace_set_filter_ip(&t->ops, ip, 0, 0) ?: register_ftrace_function(&t->ops);
}

static void release_last(struct count_test *t)
{
	unregister_ftrace_function(&t->ops);
	ftrace_free_filter(&t->ops);
}
#else
static int claim_last(struct count_test *t)
{
	return -EOPNOTSUPP;
}

static void release_last(struct count_test *t)
{
}
#endif

static bool entries_are_traced(void)
{
	return KPROBES_TEST_HAS_FTRACE_NAMES &&
	       ftrace_location((unsigned long)kprobe_lookup_name("kp_count_fn_77", 0));
}

static int come(struct count_test *t, int nr)
{
	return register_kprobes(t->kps, nr);
}

static int go(struct count_test *t, int nr)
{
	unregister_kprobes(t->kps, nr);
	return 0;
}

static int return_handler(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (is_test())
		now->hits++;
	return 0;
}

static int returns_come(struct count_test *t, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		t->rp[i] = (struct kretprobe){
			.kp.addr	= t->kp[i].addr,
			.handler	= return_handler,
			.maxactive	= 2,
		};
		t->rps[i] = &t->rp[i];
	}
	return register_kretprobes(t->rps, nr);
}

static int returns_go(struct count_test *t, int nr)
{
	unregister_kretprobes(t->rps, nr);
	return 0;
}

static int switch_off(struct count_test *t, int nr)
{
	return kprobes_arm_all(false);
}

static int switch_on(struct count_test *t, int nr)
{
	return kprobes_arm_all(true);
}

static int come_and_switch_off(struct count_test *t, int nr)
{
	return come(t, nr) ?: switch_off(t, nr);
}

enum { NONE, ALL, ALL_BUT_ONE };

/* What is done with a batch, in two steps that are measured. */
static const struct batch_case {
	const char	*name;
	void		(*fill)(struct count_test *t, int nr);
	int		(*before)(struct count_test *t, int nr);
	struct step {
		int		(*fn)(struct count_test *t, int nr);
		int		hits;
		struct costs	most;
	} step[2];
	/* Another user has claimed the last function. */
	bool		busy;
	/* The first step fails. */
	bool		fails;
	/* Costs may grow with the batch, but not by as much. */
	bool		grows;
} batch_cases[] = {
	{
		.name	= "function entries",
		.fill	= fill_entries,
		.step	= { { come, ALL, { { [FILTER] = 1, [TEXT] = 1, [STOP] = 1 } } },
			    { go, NONE, { { [GRACE] = 2, [GRACE_TASKS] = 2, [FILTER] = 1,
					    [TEXT] = 1, [STOP] = 1, [KICK] = 2 } } } },
	}, {
		.name	= "function entries with post handlers",
		.fill	= fill_exclusive,
		.step	= { { come, ALL, { { [FILTER] = 1, [TEXT] = 2, [STOP] = 1 } } },
			    { go, NONE, { { [GRACE] = 6, [GRACE_TASKS] = 3, [FILTER] = 1,
					    [TEXT] = 2, [STOP] = 1, [KICK] = 1 } } } },
	}, {
		.name	= "function entries of both kinds",
		.fill	= fill_mixed,
		.step	= { { come, ALL, { { [FILTER] = 2, [TEXT] = 3, [STOP] = 1 } } },
			    { go, NONE, { { [GRACE] = 6, [GRACE_TASKS] = 4, [FILTER] = 2,
					    [TEXT] = 3, [STOP] = 1, [KICK] = 2 } } } },
	}, {
		.name	= "addresses in the middle of a function",
		.fill	= fill_middle,
		/* No-ops, which may be replaced while they are executed. */
		.step	= { { come, ALL, { { [KICK] = 1 } } },
			    { go, NONE, { { [GRACE] = 2, [KICK] = 3 } } } },
	}, {
		.name	= "one address",
		.fill	= fill_one_address,
		.step	= { { come, ALL, { { [KICK] = 1 } } },
			    { go, NONE, { { [GRACE] = 2, [KICK] = 3 } } } },
	}, {
		.name	= "returns",
		.fill	= fill_entries,
		.step	= { { returns_come, ALL, { { [FILTER] = 1, [TEXT] = 1, [STOP] = 1 } } },
			    { returns_go, NONE, { { [GRACE] = 2, [GRACE_TASKS] = 2, [FILTER] = 1,
						    [TEXT] = 1, [STOP] = 1, [KICK] = 2 } } } },
	}, {
		.name	= "refused, no text",
		.fill	= fill_bad_last,
		.step	= { { come, NONE, { { [GRACE] = 2, [GRACE_TASKS] = 2, [FILTER] = 2,
					      [TEXT] = 2, [STOP] = 2, [KICK] = 2 } } } },
		.fails	= true,
	}, {
		.name	= "refused by ftrace",
		.fill	= fill_busy_last,
		.step	= { { come, NONE, { { [GRACE] = 4, [GRACE_TASKS] = 4, [FILTER] = 8,
					      [TEXT] = 8 } } } },
		.busy	= true,
		.fails	= true,
	}, {
		.name	= "all with post handlers, refused by ftrace",
		.fill	= fill_busy_last_exclusive,
		.step	= { { come, NONE, { { [GRACE] = 4, [GRACE_TASKS] = 4, [FILTER] = 8,
					      [TEXT] = 8 } } } },
		.busy	= true,
		.fails	= true,
	}, {
		/*
		 * This switches the counters, too: those at breakpoints before the filters
		 * change, those at ftrace sites afterwards. What remains is enough to detect
		 * a linear cost.
		 */
		.name	= "all are switched",
		.fill	= fill_entries,
		.before	= come,
		.step	= { { switch_off, NONE, { { 8, 8, 8, 8, 8, 8 } } },
			    { switch_on, ALL, { { 4, 4, 4, 4, 4, 4 } } } },
	}, {
		.name	= "switched on but for one",
		.fill	= fill_busy_last,
		.before	= come_and_switch_off,
		.step	= { { switch_on, ALL_BUT_ONE, { { 16, 16, 16, 28, 16, 16 } } } },
		.busy	= true,
		.fails	= true,
	}, {
		/* Each of them claims its function. */
		.name	= "all with post handlers switched on but for one",
		.fill	= fill_busy_last_exclusive,
		.before	= come_and_switch_off,
		.step	= { { switch_on, ALL_BUT_ONE, { { 16, 16, 16, 28, 16, 16 } } } },
		.busy	= true,
		.fails	= true,
		.grows	= true,
	},
};
KUNIT_ARRAY_PARAM_DESC(batch, batch_cases, name);

static void expect_costs(struct kunit *test, const char *what,
			 const struct costs *small, const struct costs *large,
			 const struct costs *most)
{
	int i;

	for (i = 0; i < NR_COSTS; i++) {
		KUNIT_EXPECT_LE_MSG(test, large->n[i], most->n[i], "%s: %s", what,
				    cost_names[i]);
		kunit_info(test, "%s: %u %s\n", what, large->n[i], cost_names[i]);
		if (small && is_certain(i))
			KUNIT_EXPECT_LE_MSG(test, large->n[i], small->n[i],
					    "%s: %s grow with the batch", what, cost_names[i]);
	}
}

static void run_batch(struct kunit *test, const struct batch_case *c, int nr, struct costs *cost)
{
	const int hits[] = { [NONE] = 0, [ALL] = nr, [ALL_BUT_ONE] = nr - 1 };
	struct count_test *t = test->priv;
	struct costs then;
	int i, ret;

	/*
	 * A batch that follows jumps in the same place waits for tasks in their
	 * detours.
	 */
	wait_for_kprobe_optimizer();

	c->fill(t, nr);
	if (c->before)
		KUNIT_ASSERT_EQ(test, c->before(t, nr), 0);
	if (c->busy)
		KUNIT_ASSERT_EQ(test, claim_last(t), 0);
	for (i = 0; i < ARRAY_SIZE(c->step) && c->step[i].fn; i++) {
		then = costs_now();
		ret = c->step[i].fn(t, nr);
		cost[i] = costs_since(&then);
		KUNIT_EXPECT_EQ(test, !!ret, c->fails);
		t->hits = 0;
		call_everything();
		KUNIT_EXPECT_EQ(test, t->hits, hits[c->step[i].hits]);
	}
	if (c->busy)
		release_last(t);
	go(t, nr);
}

static void count_of_a_batch_is_bounded(struct kunit *test)
{
	static const char * const names[] = { "first step", "second step" };
	const struct batch_case *c = test->param_value;
	struct costs warm[2], small[2], large[2];
	int i;

	/* Without it, a function entry is an instruction like any other. */
	KP_SKIP_IF(test, c->busy && !entries_are_traced(),
		   "probes by name are not on ftrace sites");
	KP_SKIP_IF(test, c->step[0].fn == returns_come && !IS_ENABLED(CONFIG_KRETPROBES),
		   "needs KRETPROBES");

	/* The first round pays for pages, and for what is made only once. */
	run_batch(test, c, LARGE, warm);
	run_batch(test, c, SMALL, small);
	run_batch(test, c, LARGE, large);
	for (i = 0; i < ARRAY_SIZE(c->step) && c->step[i].fn; i++)
		expect_costs(test, names[i], c->grows ? NULL : &small[i], &large[i],
			     &c->step[i].most);
}

/*
 * Other costs that must not grow with the number of probes
 */

static void count_calls(struct kunit *test, struct counter *c)
{
	c->kp.symbol_name = c->symbol;
	c->kp.pre_handler = counter_pre;
	KUNIT_ASSERT_EQ(test, register_kprobe(&c->kp), 0);
}

/*
 * Where instructions differ in length, finding one means decoding the function from
 * its start. Each probe does so little more than once, and does not search all jump
 * labels of the kernel.
 */
static void count_decoded_instructions(struct kunit *test)
{
	struct counter decode = { .symbol = "insn_decode" };
	struct count_test *t = test->priv;
	/* Plus the instructions of the compiler. */
	unsigned int of_function = LARGE + 32;

	KP_SKIP_IF(test, !KPROBES_TEST_HAS_VARIABLE_INSNS, "instructions have a fixed size");

	/* The optimizer decodes, too, whenever its worker runs. */
	kprobe_opt_allow(false);
	wait_for_kprobe_optimizer();
	count_calls(test, &decode);
	fill_middle(t, LARGE);
	KUNIT_EXPECT_EQ(test, register_kprobes(t->kps, LARGE), 0);
	KUNIT_EXPECT_GE(test, decode.hits, LARGE);
	KUNIT_EXPECT_LE(test, decode.hits, LARGE * of_function);
	kprobe_opt_allow(true);
	unregister_kprobes(t->kps, LARGE);
	unregister_kprobe(&decode.kp);
}

/* The sites of a module are found by address, without a walk over all sites. */
static void count_a_module_goes(struct kunit *test)
{
	struct counter step = { .symbol = "rb_next" };
	struct count_test *t = test->priv;
	unsigned long nowhere = (unsigned long)counter_table;
	unsigned int in_all, i;

	count_calls(test, &step);
	fill_middle(t, LARGE);
	KUNIT_ASSERT_EQ(test, register_kprobes(t->kps, LARGE), 0);
	step.hits = 0;
	kprobe_kill_text(nowhere, nowhere + sizeof(counter_table), true);
	KUNIT_EXPECT_LT(test, step.hits, LARGE / 2);

	unregister_kprobes(t->kps, LARGE);

	/* The counter works. Nothing is armed, since that takes steps, too. */
	fill_middle(t, LARGE);
	for (i = 0; i < LARGE; i++)
		t->kp[i].flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, register_kprobes(t->kps, LARGE), 0);
	step.hits = 0;
	kprobe_kill_text((unsigned long)t->kp[0].addr, (unsigned long)t->kp[0].addr + 1, true);
	in_all = step.hits;
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&t->kp[0]));
	KUNIT_EXPECT_FALSE(test, kprobe_gone(&t->kp[1]));
	unregister_kprobes(t->kps, LARGE);
	unregister_kprobe(&step.kp);
	KUNIT_EXPECT_GE(test, in_all, 1);
	KUNIT_EXPECT_LT(test, in_all, LARGE / 2);
}

/* What makes all CPUs notice that text was changed; NULL if breakpoints go one by one. */
static const char *sync_symbol(void)
{
	if (KPROBES_TEST_HAS_TEXT_POKE)
		return __stringify(smp_text_poke_sync_each_cpu);
	if (!KPROBES_TEST_HAS_KICKS || !IS_ENABLED(CONFIG_SMP))
		return NULL;
	return IS_ENABLED(CONFIG_PPC) ? "on_each_cpu_cond_mask" : "kick_all_cpus_sync";
}

/* All probes of a module are removed from its text together. */
static void count_killed_together(struct kunit *test)
{
	struct counter sync = { .symbol = sync_symbol() };
	struct count_test *t = test->priv;
	unsigned int syncs[2], i, nr;
	struct costs then, kill[2];

	KP_SKIP_IF(test, !sync.symbol, "breakpoints are removed one by one");

	count_calls(test, &sync);
	for (i = 0; i < 2; i++) {
		nr = i ? LARGE : SMALL;
		fill_middle(t, nr);
		KUNIT_ASSERT_EQ(test, register_kprobes(t->kps, nr), 0);
		wait_for_kprobe_optimizer();
		sync.hits = 0;
		then = costs_now();
		kprobe_kill_text((unsigned long)t->kp[0].addr,
				 (unsigned long)t->kp[nr - 1].addr + 1, true);
		kill[i] = costs_since(&then);
		syncs[i] = sync.hits;
		t->hits = 0;
		KUNIT_EXPECT_TRUE(test, kprobe_gone(&t->kp[nr - 1]));
		call_everything();
		KUNIT_EXPECT_EQ(test, t->hits, 0);
		unregister_kprobes(t->kps, nr);
	}
	unregister_kprobe(&sync.kp);

	KUNIT_EXPECT_GE(test, syncs[0], 1);
	KUNIT_EXPECT_LE(test, syncs[1], syncs[0]);
	KUNIT_EXPECT_LE(test, kill[1].n[GRACE], 2);
}

/* The counters themselves work; otherwise the rest would prove nothing. */
static void count_sees_grace_periods(struct kunit *test)
{
	struct costs then = costs_now(), c;

	synchronize_rcu_expedited();
	c = costs_since(&then);
	KUNIT_EXPECT_GE(test, c.n[GRACE], 1);
	then = costs_now();
	synchronize_rcu();
	c = costs_since(&then);
	KUNIT_EXPECT_GE(test, c.n[GRACE], 1);
}

static int count_test_init(struct kunit *test)
{
	struct count_test *t = kvzalloc_obj(*t);
	int i, ret;

	if (!t)
		return -ENOMEM;
	t->task = current;
	now = t;
	test->priv = t;

	for (i = 0; i < LARGE; i++)
		t->kps[i] = &t->kp[i];
	for (i = 0; i < ARRAY_SIZE(counter_table); i++) {
		t->counter[i] = counter_table[i];
		t->counter[i].kp.symbol_name = counter_table[i].symbol;
		t->counter[i].kp.pre_handler = counter_pre;
		ret = register_kprobe(&t->counter[i].kp);
		if (ret && ret != -ENOENT)
			return ret;
	}
	return 0;
}

static void count_test_exit(struct kunit *test)
{
	struct count_test *t = test->priv;
	int i;

	if (!t)
		return;
	for (i = 0; i < ARRAY_SIZE(counter_table); i++)
		unregister_kprobe(&t->counter[i].kp);
	kvfree(t);
}

static struct kunit_case count_cases[] = {
	KUNIT_CASE(count_sees_grace_periods),
	KUNIT_CASE_PARAM(count_of_a_batch_is_bounded, batch_gen_params),
	KUNIT_CASE(count_killed_together),
	KUNIT_CASE(count_decoded_instructions),
	KUNIT_CASE(count_a_module_goes),
	{}
};

KP_SUITE(count_cases, .name = "kprobes_count",
	 .init = count_test_init, .exit = count_test_exit);
