// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes come and go for some seconds while all CPUs call the functions. In the end,
 * all counters have to add up, and no handler may have run for a probe that was
 * unregistered.
 */

#include "suite.h"

#include <linux/cpu.h>

#include "../arm.h"
#include "helpers.h"

#define STRESS_TIME	(2 * HZ)
#define AT_MOST		(60 * HZ)
#define POISON		0x5a

static KP_UNTRACED(u32, kp_stress_plain, v + 3)
static KP_TRACED(u32, kp_stress_traced, v + 5)

/* Called by handlers, so each hit is nested. */
static KP_UNTRACED(u32, kp_stress_nested, v + 7)

static u32 (* const volatile plain)(u32 v) = kp_stress_plain;
static u32 (* const volatile traced)(u32 v) = kp_stress_traced;
static u32 (* const volatile nested)(u32 v) = kp_stress_nested;

/* Functions that can be probed here. */
static const char * const symbols[] = { "kp_stress_plain", "kp_stress_traced" };
#define NR_SYMBOLS	ARRAY_SIZE(symbols)

enum { ALIVE = 0x600d, DEAD = 0xdead };

/* A probe that records whether it may be called. */
struct probe {
	struct kprobe	kp;
#ifdef CONFIG_KRETPROBES
	struct kretprobe rp;
#endif
	unsigned int	state;
	atomic_t	hits;
	atomic_t	entries, returns;
};

/* Threads that run until they are stopped, and report the result. */
struct worker {
	struct task_struct	*task;
	bool			*stop;
	unsigned int		nr;
	unsigned long		rounds;
	unsigned long		errors;
	unsigned long		wrong;
	unsigned long		hits;
};

/* Kinds of probes; the last ones are return probes, where there are any. */
#define NR_KINDS	8
#define RETURN_KINDS	(IS_ENABLED(CONFIG_KRETPROBES) ? 6 : NR_KINDS)

static atomic_t ghosts;
static atomic_t nested_calls;

static int stress_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct probe *p = container_of(kp, struct probe, kp);

	if (READ_ONCE(p->state) != ALIVE)
		atomic_inc(&ghosts);
	atomic_inc(&p->hits);
	atomic_inc(&nested_calls);
	nested(1);
	return 0;
}

static void stress_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct probe *p = container_of(kp, struct probe, kp);

	if (READ_ONCE(p->state) != ALIVE)
		atomic_inc(&ghosts);
}

#ifdef CONFIG_KRETPROBES
static int stress_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	/* Not get_kretprobe(), which returns NULL from the start of unregistering. */
	struct probe *p = container_of(ri->rp, struct probe, rp);

	if (READ_ONCE(p->state) != ALIVE)
		atomic_inc(&ghosts);
	atomic_inc(&p->entries);
	return 0;
}

static int stress_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct probe *p = container_of(ri->rp, struct probe, rp);

	if (READ_ONCE(p->state) != ALIVE)
		atomic_inc(&ghosts);
	atomic_inc(&p->returns);
	return 0;
}

static bool register_return(struct worker *w, struct probe *p, const char *symbol)
{
	p->rp.kp.symbol_name = symbol;
	p->rp.entry_handler = stress_entry;
	p->rp.handler = stress_return;
	if (register_kretprobe(&p->rp))
		return false;
	plain(1);
	traced(1);
	unregister_kretprobe(&p->rp);
	w->hits += atomic_read(&p->entries);
	return true;
}
#else
static bool register_return(struct worker *w, struct probe *p, const char *symbol)
{
	return true;
}
#endif

static bool register_one(struct worker *w, struct probe *p, const char *symbol,
			 unsigned int kind)
{
	struct kprobe *twice[] = { &p->kp, &p->kp };
	int ret;

	p->kp.symbol_name = symbol;
	p->kp.pre_handler = stress_pre;
	if (kind % 2)
		p->kp.post_handler = stress_post;
	ret = register_kprobe(&p->kp);
	/* At an ftrace site that another probe with a post handler has claimed. */
	if (ret)
		return ret == -EBUSY;
	if (kind == 4) {
		disable_kprobe(&p->kp);
		plain(1);
		enable_kprobe(&p->kp);
	}
	plain(1);
	traced(1);
	unregister_kprobes(twice, kind == 2 ? 2 : 1);
	w->hits += atomic_read(&p->hits);
	return true;
}

/* While the test may be looking at their number. */
static unsigned long end_round(struct worker *w)
{
	WRITE_ONCE(w->rounds, w->rounds + 1);
	return w->rounds;
}

static int calling_thread(void *data)
{
	struct worker *w = data;

	while (!READ_ONCE(*w->stop)) {
		w->wrong += plain(w->rounds) != (u32)w->rounds + 3;
		w->wrong += traced(w->rounds) != (u32)w->rounds + 5;
		/* Let the others run, too. */
		if (end_round(w) % 64 == 0)
			usleep_range(20, 50);
	}
	return kp_await_stop();
}

static bool register_round(struct worker *w, struct probe *p)
{
	const char *symbol = symbols[w->rounds % NR_SYMBOLS];
	unsigned int kind = (w->rounds + w->nr) % NR_KINDS;
	bool done;

	memset(p, 0, sizeof(*p));
	WRITE_ONCE(p->state, ALIVE);
	if (kind >= RETURN_KINDS)
		done = register_return(w, p, symbol);
	else
		done = register_one(w, p, symbol, kind);

	/* From here on, a call of a handler is an error. */
	WRITE_ONCE(p->state, DEAD);
	memset(&p->kp, POISON, sizeof(p->kp));
	return done;
}

static int registering_thread(void *data)
{
	struct worker *w = data;
	struct probe *p = kzalloc_obj(*p);

	while (p && !READ_ONCE(*w->stop)) {
		w->errors += !register_round(w, p);
		end_round(w);
		cond_resched();
	}
	kfree(p);
	return kp_await_stop();
}

static int switching_thread(void *data)
{
	struct worker *w = data;

	while (!READ_ONCE(*w->stop)) {
		w->errors += !!kprobes_arm_all(w->rounds % 2);
		end_round(w);
		schedule_timeout_uninterruptible(1);
	}
	w->errors += !!kprobes_arm_all(true);
	return kp_await_stop();
}

static int hotplug_thread(void *data)
{
#ifdef CONFIG_HOTPLUG_CPU
	unsigned int cpu = cpumask_last(cpu_online_mask);
	struct worker *w = data;

	while (!READ_ONCE(*w->stop)) {
		w->errors += !!remove_cpu(cpu);
		/* No hit was lost there. */
		w->wrong += !!per_cpu(current_kprobe, cpu);
		w->errors += !!add_cpu(cpu);
		end_round(w);
	}
#endif
	return kp_await_stop();
}

struct crew {
	bool		stop;
	unsigned int	nr;
	struct worker	w[8];
};

static struct worker *hire(struct crew *c, int (*fn)(void *data), unsigned int cpu)
{
	struct worker *w = &c->w[c->nr];

	w->stop = &c->stop;
	w->nr = c->nr;
	w->task = kthread_run_on_cpu(fn, w, cpu, "kp_stress/%u");
	if (IS_ERR(w->task))
		return NULL;
	c->nr++;
	return w;
}

/* On a loaded machine, a CPU may be late by seconds. */
static bool all_at_work(struct crew *c)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++) {
		if (!READ_ONCE(c->w[i].rounds))
			return false;
	}
	return true;
}

static void work(struct crew *c)
{
	unsigned long end = jiffies + AT_MOST;
	unsigned int i;

	do {
		schedule_timeout_uninterruptible(STRESS_TIME);
	} while (!all_at_work(c) && time_before(jiffies, end));
	WRITE_ONCE(c->stop, true);
	for (i = 0; i < c->nr; i++)
		kthread_stop(c->w[i].task);
}

static unsigned int some_cpu(unsigned int i)
{
	unsigned int cpu, n = i % num_online_cpus();

	for_each_online_cpu(cpu) {
		if (!n--)
			break;
	}
	return cpu;
}

static void expect_all_well(struct kunit *test, struct crew *c)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++) {
		KUNIT_EXPECT_GT(test, c->w[i].rounds, 0);
		KUNIT_EXPECT_EQ(test, c->w[i].errors, 0);
		KUNIT_EXPECT_EQ(test, c->w[i].wrong, 0);
		kunit_info(test, "thread %u: %lu rounds, %lu hits\n", i,
			   c->w[i].rounds, c->w[i].hits);
	}
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&ghosts), 0,
			    "a handler ran after its probe was unregistered");
}

static int count_nested(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_inc(&container_of(kp, struct probe, kp)->hits);
	return 0;
}

/* What happens while functions are called. */
static const struct mix {
	const char	*name;
	bool		switched;

	int		(*jobs[2])(void *data);
} mixes[] = {
	{ "probes_come_and_go", false, { registering_thread, registering_thread } },
	{ "global_switch_flips", true, { registering_thread, switching_thread } },
#ifdef CONFIG_HOTPLUG_CPU
	{ "cpu_comes_and_goes", false, { registering_thread, hotplug_thread } },
#endif
};
KUNIT_ARRAY_PARAM_DESC(mix, mixes, name);

static void stress_mix(struct kunit *test)
{
	const struct mix *m = test->param_value;
	struct crew *c = kp_zalloc(test, sizeof(*c));
	struct probe *inner = kp_zalloc(test, sizeof(*inner));
	struct probe *stays = kp_zalloc(test, sizeof(*stays));
	unsigned long calls;
	int i;

	KP_SKIP_IF(test, m->jobs[1] == hotplug_thread && num_online_cpus() < 2, "needs two CPUs");

	atomic_set(&ghosts, 0);
	atomic_set(&nested_calls, 0);
	inner->kp.symbol_name = "kp_stress_nested";
	inner->kp.pre_handler = count_nested;
	KP_ADD(test, &inner->kp);
	stays->state = ALIVE;
	stays->kp.symbol_name = "kp_stress_plain";
	stays->kp.pre_handler = stress_pre;
	KP_ADD(test, &stays->kp);

	for (i = 0; i < 2; i++)
		hire(c, calling_thread, some_cpu(i));
	for (i = 0; i < ARRAY_SIZE(m->jobs); i++)
		hire(c, m->jobs[i], m->jobs[i] == hotplug_thread ? some_cpu(0) : some_cpu(i));
	work(c);
	unregister_kprobe(&stays->kp);
	unregister_kprobe(&inner->kp);

	expect_all_well(test, c);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&nested_calls), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner->hits), 0);
	if (m->switched)
		return;
	/* Each nested hit is counted, whatever CPU it was on. */
	KUNIT_EXPECT_EQ(test, inner->kp.nmissed, atomic_read(&nested_calls));
	/* One that stays sees every call, whatever comes and goes at its site. */
	calls = c->w[0].rounds + c->w[1].rounds;
	KUNIT_EXPECT_GE(test, atomic_read(&stays->hits) + stays->kp.nmissed, calls);
}

static struct kunit_case stress_cases[] = {
	KUNIT_CASE_PARAM_ATTR(stress_mix, mix_gen_params, { .speed = KUNIT_SPEED_SLOW }),
	{}
};

KP_SUITE(stress_cases, .name = "kprobes_stress");
