// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls while probes and jumps come and go; see storm.h.
 */

#include "suite.h"

#include "storm.h"

#define STORM_MS	2500

struct storm {
	const struct kp_storm_arch	*arch;
	struct task_struct		*task[4];
	unsigned long			*want;	/* of each function, with each argument */
	atomic_t			wrong;
};

struct storm_probe {
	struct kprobe	kp;
	atomic_t	hits;
};

static int count_pre(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&container_of(p, struct storm_probe, kp)->hits);
	return 0;
}

static bool has_jump(struct kprobe *p)
{
	/* The site itself stays, since there is a probe. */
	guard(preempt)();

	return READ_ONCE(get_kprobe(p->addr)->flags) & KPROBE_FLAG_JUMP;
}

static int storm_thread(void *data)
{
	struct storm *s = data;
	const struct kp_storm_arch *arch = s->arch;
	unsigned int i, k;

	while (!kthread_should_stop()) {
		for (i = 0; i < arch->nr; i++) {
			for (k = 0; k < arch->nr_args; k++) {
				if (arch->call(i, arch->args[k]) != s->want[i * arch->nr_args + k])
					atomic_inc(&s->wrong);
			}
		}
		/* Tasks-RCU does not count preemption as a quiescent state. */
		cond_resched_tasks_rcu_qs();
	}

	return 0;
}

static void storm_begin(struct kunit *test, struct storm *s, const struct kp_storm_arch *arch)
{
	unsigned int i, k;

	s->arch = arch;
	s->want = kp_calloc(test, arch->nr * arch->nr_args, sizeof(*s->want));
	for (i = 0; i < arch->nr; i++) {
		for (k = 0; k < arch->nr_args; k++)
			s->want[i * arch->nr_args + k] = arch->call(i, arch->args[k]);
	}

	for (i = 0; i < ARRAY_SIZE(s->task); i++) {
		s->task[i] = kthread_run(storm_thread, s, "kp_storm/%u", i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(s->task[i]));
	}
}

static void storm_end(struct kunit *test, struct storm *s)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(s->task); i++)
		kthread_stop(s->task[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&s->wrong), 0);
}

/**
 * kp_storm() - let probes and jumps come and go for some seconds
 * @test: the case
 * @arch: what the architecture provides
 *
 * Context: process context, sleeps.
 */
void kp_storm(struct kunit *test, const struct kp_storm_arch *arch)
{
	struct storm *s = kp_zalloc(test, sizeof(*s));
	struct storm_probe *p = kp_calloc(test, arch->nr, sizeof(*p));
	struct kprobe **kps = kp_calloc(test, arch->nr, sizeof(*kps));
	unsigned long end = jiffies + msecs_to_jiffies(STORM_MS), hits = 0;
	unsigned int i, rounds = 0, jumps = 0;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 42);
	storm_begin(test, s, arch);

	/* Once at least: the threads may have taken all the time to begin. */
	do {
		struct kprobe post = {
			.addr		= arch->at(rounds % arch->nr),
			.post_handler	= kp_nothing_post,
		};

		for (i = 0; i < arch->nr; i++) {
			memset(&p[i], 0, sizeof(p[i]));
			p[i].kp.addr = arch->at(i);
			p[i].kp.pre_handler = count_pre;
			kps[i] = &p[i].kp;
		}
		KUNIT_ASSERT_EQ(test, register_kprobes(kps, arch->nr), 0);
		if (prandom_u32_state(&rnd) % 4)
			wait_for_kprobe_optimizer();
		for (i = 0; i < arch->nr; i++)
			jumps += has_jump(kps[i]);

		KUNIT_EXPECT_EQ(test, register_kprobe(&post), 0);
		for (i = 0; i < 8; i++) {
			struct kprobe *kp = kps[prandom_u32_state(&rnd) % arch->nr];

			disable_kprobe(kp);
			if (prandom_u32_state(&rnd) % 2)
				enable_kprobe(kp);
		}
		unregister_kprobe(&post);
		if (prandom_u32_state(&rnd) % 2)
			wait_for_kprobe_optimizer();
		unregister_kprobes(kps, arch->nr);
		for (i = 0; i < arch->nr; i++)
			hits += atomic_read(&p[i].hits);
		rounds++;
	} while (time_before(jiffies, end));

	storm_end(test, s);
	kunit_info(test, "%u rounds, %u jumps, %lu hits\n", rounds, jumps, hits);
	KUNIT_EXPECT_GT(test, jumps, 0);
	KUNIT_EXPECT_GT(test, hits, 0);
}
