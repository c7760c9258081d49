// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the pools that return probes take their instances from.
 */

#include "suite.h"

#include <linux/hrtimer.h>
#include <linux/workqueue.h>
#include <trace/events/kmem.h>

#include <asm/irq_work.h>

#include "../pool.h"
#include "../site.h"

/* What the tests store in an instance. */
struct note {
	int	taken;
	u8	pattern[20];
};

struct kretprobe_pool_test {
	int				pools;
	struct kretprobe_holder		*rph;
	struct kretprobe_instance	**ri;
};

/* More than any pool here has. */
#define MAX_INSTANCES	4096

static struct kretprobe_instance *kretprobe_pool_get(struct kretprobe_holder *rph)
{
	struct kretprobe_instance *ri;

	if (kretprobe_pool_get_home(rph, &ri) || kretprobe_pool_get_elsewhere(rph, &ri))
		return ri;
	return NULL;
}

/* Is the instance where its bit says? */
static bool is_in_place(const struct kretprobe_instance *ri)
{
	return is_power_of_2(ri->bit) &&
	       kretprobe_block_instance(ri->block, __ffs(ri->bit)) == ri;
}

static struct note *note_of(struct kretprobe_instance *ri)
{
	return (struct note *)ri->data;
}

static struct kretprobe_pool *begin(struct kunit *test, int nr, bool grows)
{
	struct kretprobe_pool_test *t = test->priv;

	t->rph = kretprobe_pool_create(NULL, nr, sizeof(struct note), grows);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->rph);
	return to_kretprobe_pool(t->rph);
}

static void end(struct kretprobe_pool_test *t)
{
	kretprobe_pool_destroy(t->rph);
	t->rph = NULL;
}

/* Take up to @max instances. */
static int take(struct kretprobe_pool_test *t, int max)
{
	int n;

	for (n = 0; n < max; n++) {
		t->ri[n] = kretprobe_pool_get(t->rph);
		if (!t->ri[n])
			break;
	}
	return n;
}

static void give_back(struct kretprobe_pool_test *t, int n)
{
	while (n--)
		kretprobe_pool_put(t->ri[n]);
}

/* A worker frees pools after a grace period. */
static bool all_freed(struct kretprobe_pool_test *t)
{
	unsigned long end = jiffies + 20 * HZ;

	while (kretprobe_pool_count() != t->pools) {
		if (time_after(jiffies, end))
			return false;
		rcu_barrier();
		msleep(1);
	}
	return true;
}

static void pool_as_many_as_asked_for(struct kunit *test)
{
	static const int sizes[] = { 1, 2, 3, 7, 10, 64, 1000 };
	struct kretprobe_pool_test *t = test->priv;
	int i, n, odd;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		begin(test, sizes[i], false);
		odd = 0;
		KUNIT_EXPECT_EQ(test, take(t, MAX_INSTANCES), sizes[i]);
		for (n = 0; n < sizes[i]; n++) {
			struct kretprobe_instance *ri = t->ri[n];

			odd += ri->rph != t->rph;
			odd += !IS_ALIGNED((unsigned long)ri->data, sizeof(u64));
			odd += !!memchr_inv(ri->data, 0, sizeof(struct note));
			odd += !is_in_place(ri);
			odd += note_of(ri)->taken++;
		}
		KUNIT_EXPECT_EQ(test, odd, 0);
		give_back(t, sizes[i]);
		KUNIT_EXPECT_EQ(test, take(t, MAX_INSTANCES), sizes[i]);
		give_back(t, sizes[i]);
		end(t);
	}
}

static void pool_data_belongs_to_the_user(struct kunit *test)
{
	struct kretprobe_pool_test *t = test->priv;
	int n, i, odd = 0;

	begin(test, 100, false);
	n = take(t, MAX_INSTANCES);
	for (i = 0; i < n; i++)
		memset(note_of(t->ri[i])->pattern, i + 1, sizeof(struct note) - sizeof(int));
	give_back(t, n);
	KUNIT_EXPECT_EQ(test, take(t, MAX_INSTANCES), n);
	/* All patterns are intact. */
	for (i = 0; i < n; i++)
		odd += !!memchr_inv(note_of(t->ri[i])->pattern,
				    note_of(t->ri[i])->pattern[0],
				    sizeof(note_of(t->ri[i])->pattern));
	KUNIT_EXPECT_EQ(test, odd, 0);
	give_back(t, n);
}

static void pool_absurd_sizes_are_refused(struct kunit *test)
{
	static const int sizes[] = { INT_MAX, INT_MAX / 2, 1 << 26, 1 << 20 };
	struct kretprobe_holder *rph;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		rph = kretprobe_pool_create(NULL, sizes[i], KRETPROBE_MAX_DATA_SIZE, false);
		KUNIT_EXPECT_PTR_EQ(test, (void *)rph, ERR_PTR(-ENOMEM));
		if (!IS_ERR(rph))
			kretprobe_pool_destroy(rph);
	}
}

/*
 * Whoever has read the word may be interrupted before the exchange: by one that takes the first
 * instance and the second, and puts the first back.
 */
static void pool_interrupted_get(struct kunit *test)
{
	struct kretprobe_pool_test *t = test->priv;
	struct kretprobe_instance *a, *b;
	struct kretprobe_block *block;
	long before;

	begin(test, 8 * nr_cpu_ids, false);

	preempt_disable();
	block = this_cpu_ptr(to_kretprobe_pool(t->rph)->blocks)->home;
	before = READ_ONCE(block->free);
	a = kretprobe_pool_get(t->rph);
	b = kretprobe_pool_get(t->rph);
	preempt_enable();

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, b);
	KUNIT_EXPECT_PTR_EQ(test, a->block, block);
	KUNIT_EXPECT_PTR_EQ(test, b->block, block);
	kretprobe_pool_put(a);
	/* The first is free, as it was, but the exchange would also give the second away. */
	KUNIT_EXPECT_EQ(test, before & -before, block->free & -block->free);
	KUNIT_EXPECT_FALSE(test, try_cmpxchg(&block->free, &before, before & (before - 1)));
	kretprobe_pool_put(b);
	KUNIT_EXPECT_EQ(test, take(t, MAX_INSTANCES), 8 * nr_cpu_ids);
	give_back(t, 8 * nr_cpu_ids);
}

static long put_all(void *arg)
{
	struct kretprobe_pool_test *t = arg;

	give_back(t, 10);
	return 0;
}

static long take_all(void *arg)
{
	return take(arg, MAX_INSTANCES);
}

/* Instances that are put back on one CPU are available on all. */
static void pool_instances_of_other_cpus_are_found(struct kunit *test)
{
	struct kretprobe_pool_test *t = test->priv;
	int giver, taker;

	begin(test, 10, false);
	KUNIT_EXPECT_EQ(test, take(t, MAX_INSTANCES), 10);
	for_each_online_cpu(giver) {
		for_each_online_cpu(taker) {
			work_on_cpu(giver, put_all, t);
			KUNIT_EXPECT_EQ(test, work_on_cpu(taker, take_all, t), 10);
		}
	}
	give_back(t, 10);
}

/* On powerpc, the decrementer raises the interrupt, which takes an emulator long. */
#define GROWS_AT_ONCE	(arch_irq_work_has_interrupt() && !IS_ENABLED(CONFIG_PPC) &&	\
			 !IS_ENABLED(CONFIG_PREEMPT_RT))

/* With @each, each CPU has two blocks of half as many instances, and grows by that number first. */
static struct kretprobe_pool *begin_growing(struct kunit *test, int each)
{
	return begin(test, each * num_possible_cpus(), true);
}

static void pool_grows_before_it_runs_out(struct kunit *test)
{
	struct kretprobe_pool_test *t = test->priv;
	struct kretprobe_pool *pool = begin_growing(test, 4);
	struct kretprobe_pool_use before, after;
	int n, odd = 0, most;

	for (n = 0; n < MAX_INSTANCES; n++) {
		t->ri[n] = kretprobe_pool_get(t->rph);
		KUNIT_ASSERT_NOT_NULL_MSG(test, t->ri[n], "%d are in flight", n);
		odd += note_of(t->ri[n])->taken++;
		odd += !is_in_place(t->ri[n]);
		t->ri[n]->task = current;
		kretprobe_pool_wait_for_growth(pool);
	}
	KUNIT_EXPECT_EQ(test, odd, 0);

	before = kretprobe_pool_use(t->rph);
	KUNIT_EXPECT_EQ(test, before.in_flight, n);
	KUNIT_EXPECT_GE(test, before.instances, n);
	KUNIT_EXPECT_EQ(test, before.instances, before.grown + 4 * num_possible_cpus());
	/* About half of it is free. */
	most = 3 * n;
	KUNIT_EXPECT_LE(test, before.instances, most);
	KUNIT_EXPECT_EQ(test, before.most, n);
	give_back(t, n);

	/* It has enough, wherever this runs now. */
	for (n = 0; n < 10; n++) {
		KUNIT_EXPECT_EQ(test, take(t, 100), 100);
		kretprobe_pool_wait_for_growth(pool);
		give_back(t, 100);
	}
	after = kretprobe_pool_use(t->rph);
	KUNIT_EXPECT_EQ(test, after.in_flight, 0);
	KUNIT_EXPECT_LE(test, after.instances, most);
}

static bool is_own(struct kretprobe_pool *pool, const struct kretprobe_block *wanted)
{
	struct kretprobe_block *block;

	for_each_kretprobe_block(block, this_cpu_ptr(pool->blocks)) {
		if (block == wanted)
			return true;
	}
	return false;
}

/* Where no interrupt can come, there are still the instances of a second block. */
static void pool_has_a_spare_block(struct kunit *test)
{
	struct kretprobe_pool_test *t = test->priv;
	struct kretprobe_pool *pool = begin_growing(test, 4);
	struct kretprobe_pool_use use;
	unsigned long flags;
	int n, own = 0;

	local_irq_save(flags);
	for (n = 0; n < 4; n++) {
		t->ri[n] = kretprobe_pool_get(t->rph);
		own += t->ri[n] && is_own(pool, t->ri[n]->block);
	}
	use = kretprobe_pool_use(t->rph);
	local_irq_restore(flags);

	KUNIT_EXPECT_EQ(test, own, 4);
	KUNIT_EXPECT_EQ(test, use.grown, 0);
	kretprobe_pool_wait_for_growth(pool);
	KUNIT_EXPECT_EQ(test, kretprobe_pool_use(t->rph).grown, 4);
	give_back(t, 4);
}

struct late_cpu {
	struct kretprobe_holder		*rph;
	struct kretprobe_instance	*ri[3];
	struct completion		asked, done;
	bool				go_on;
};

/* Ask for more instances where the interrupt that would add them cannot come. */
static void ask_and_be_late(void *data)
{
	struct late_cpu *l = data;
	int i;

	for (i = 0; i < ARRAY_SIZE(l->ri); i++)
		l->ri[i] = kretprobe_pool_get(l->rph);
	complete(&l->asked);
	for (i = 0; i < 5 * USEC_PER_SEC && !READ_ONCE(l->go_on); i++)
		udelay(1);
	complete(&l->done);
}

static void pool_grows_while_another_cpu_is_late(struct kunit *test)
{
	struct kretprobe_pool_test *t = test->priv;
	struct late_cpu l = { };
	int other, i, n;

	KP_SKIP_IF(test, !GROWS_AT_ONCE || num_online_cpus() < 2, "needs two CPUs");
	begin_growing(test, 4);
	l.rph = t->rph;
	init_completion(&l.asked);
	init_completion(&l.done);
	migrate_disable();
	other = cpumask_any_but(cpu_online_mask, smp_processor_id());
	KUNIT_ASSERT_EQ(test, smp_call_function_single(other, ask_and_be_late, &l, 0), 0);
	wait_for_completion(&l.asked);
	n = take(t, 100);
	WRITE_ONCE(l.go_on, true);
	wait_for_completion(&l.done);
	migrate_enable();

	KUNIT_EXPECT_EQ(test, n, 100);
	for (i = 0; i < ARRAY_SIZE(l.ri); i++) {
		if (l.ri[i])
			kretprobe_pool_put(l.ri[i]);
	}
	give_back(t, n);
}

/*
 * All pools together grow up to a limit, which applies again when one of them is freed. After a
 * failure, a pool is not asked to grow for a while.
 */
static void pool_growth_has_a_limit(struct kunit *test)
{
	unsigned long grown = READ_ONCE(kretprobe_pools_grown), limit = kretprobe_pools_limit;
	struct kretprobe_pool_test *t = test->priv;
	struct kretprobe_pool *pool;
	unsigned long start, size, end_of_pause;
	int n, all;

	/* A small part of the memory. */
	KUNIT_EXPECT_GT(test, limit, 0);
	KUNIT_EXPECT_LT(test, limit / PAGE_SIZE, totalram_pages() / 100);

	pool = begin_growing(test, 4);
	size = sizeof(struct kretprobe_block) + 4 * pool->stride;
	all = 4 * num_possible_cpus();

	WRITE_ONCE(kretprobe_pools_limit, grown + size - 1);
	start = jiffies;
	n = take(t, MAX_INSTANCES);
	kretprobe_pool_wait_for_growth(pool);
	KUNIT_EXPECT_EQ(test, n, all);
	KUNIT_EXPECT_EQ(test, READ_ONCE(kretprobe_pools_grown), grown);
	KUNIT_EXPECT_TRUE(test, pool->failed);
	KUNIT_EXPECT_TRUE(test, time_after_eq(pool->failed_at, start));
	end_of_pause = pool->failed_at + KRETPROBE_GROW_AGAIN;

	/* An attempt would succeed from here on, but does not come too early. */
	WRITE_ONCE(kretprobe_pools_limit, grown + size);
	while (time_before(jiffies, end_of_pause)) {
		t->ri[n] = kretprobe_pool_get(t->rph);
		if (t->ri[n])
			break;
		usleep_range(500, 1000);
	}
	/* The pause may have ended between the last look at the time and the attempt. */
	if (time_before(jiffies, end_of_pause))
		KUNIT_EXPECT_NULL(test, t->ri[n]);
	give_back(t, t->ri[n] ? n + 1 : n);
	n = take(t, MAX_INSTANCES);
	kretprobe_pool_wait_for_growth(pool);
	give_back(t, n);
	KUNIT_EXPECT_EQ(test, READ_ONCE(kretprobe_pools_grown), grown + size);
	n = take(t, MAX_INSTANCES);
	KUNIT_EXPECT_EQ(test, n, all + 4);
	give_back(t, n);

	WRITE_ONCE(kretprobe_pools_limit, limit);
	end(t);
	KUNIT_EXPECT_TRUE(test, all_freed(t));
	KUNIT_EXPECT_EQ(test, READ_ONCE(kretprobe_pools_grown), grown);
}

#ifdef CONFIG_TRACEPOINTS
struct seen_alloc {
	size_t	size;
	int	nr;
	gfp_t	flags;
};

static void see_alloc(void *data, unsigned long call_site, const void *ptr,
		      size_t bytes_req, size_t bytes_alloc, gfp_t gfp_flags, int node)
{
	struct seen_alloc *seen = data;

	if (bytes_req != seen->size || gfp_flags & __GFP_DIRECT_RECLAIM)
		return;
	seen->flags = gfp_flags;
	seen->nr++;
}

/* An interrupt cannot wait, and memory that is not needed is no reason for a report. */
static void pool_growth_does_not_insist(struct kunit *test)
{
	struct kretprobe_pool_test *t = test->priv;
	struct kretprobe_pool *pool = begin_growing(test, 4);
	struct seen_alloc seen = {};

	seen.size = sizeof(struct kretprobe_block) + 4 * pool->stride;
	KUNIT_ASSERT_EQ(test, register_trace_kmalloc(see_alloc, &seen), 0);
	/* On two CPUs, three instances would be too few to make one of them grow. */
	migrate_disable();
	KUNIT_EXPECT_EQ(test, take(t, 3), 3);
	migrate_enable();
	kretprobe_pool_wait_for_growth(pool);
	unregister_trace_kmalloc(see_alloc, &seen);
	tracepoint_synchronize_unregister();
	give_back(t, 3);

	KUNIT_EXPECT_GE(test, seen.nr, 1);
	KUNIT_EXPECT_TRUE(test, seen.flags & __GFP_NOWARN);
	/* No reserves. */
	KUNIT_EXPECT_FALSE(test, seen.flags & (__GFP_HIGH | __GFP_MEMALLOC));
}
#else
KP_SKIPPED(pool_growth_does_not_insist, "nothing shows how memory is allocated")
#endif

static void pool_no_growth_unless_asked_for(struct kunit *test)
{
	struct kretprobe_pool_test *t = test->priv;
	int n;

	begin(test, 3, false);
	n = take(t, MAX_INSTANCES);
	kretprobe_pool_wait_for_growth(to_kretprobe_pool(t->rph));
	KUNIT_EXPECT_NULL(test, kretprobe_pool_get(t->rph));
	give_back(t, n);
}

/* While it grows, or right after growth was requested. */
static void pool_destroyed_while_growing(struct kunit *test)
{
	struct kretprobe_pool_test *t = test->priv;
	int i, n;

	for (i = 0; i < 50; i++) {
		begin(test, 10, true);
		n = take(t, MAX_INSTANCES);
		give_back(t, n);
		if (i % 2)
			usleep_range(1, 50);
		end(t);
	}
}

#ifdef CONFIG_PREEMPT_RT
/* There, a thread of low priority runs the work. Real-time tasks may keep it from running. */
static void pool_end_does_not_wait_for_growth(struct kunit *test)
{
	struct kretprobe_pool_test *t = test->priv;
	struct irq_work *grow;

	begin(test, 10, true);
	grow = &raw_cpu_ptr(to_kretprobe_pool(t->rph)->blocks)->grow;
	atomic_or(IRQ_WORK_BUSY, &grow->node.a_flags);
	end(t);

	msleep(20);
	KUNIT_EXPECT_EQ(test, kretprobe_pool_count(), t->pools + 1);
	atomic_andnot(IRQ_WORK_BUSY, &grow->node.a_flags);
	rcuwait_wake_up(&grow->irqwait);
	KUNIT_EXPECT_TRUE(test, all_freed(t));
}
#else
KP_SKIPPED(pool_end_does_not_wait_for_growth, "growth is over as soon as its interrupt is")
#endif

static void pool_destroyed_with_calls_in_flight(struct kunit *test)
{
	struct kretprobe_pool *pool = begin(test, 10, false);
	struct kretprobe_pool_test *t = test->priv;
	int i, n;

	n = take(t, 4);
	KUNIT_EXPECT_EQ(test, n, 4);
	end(t);
	flush_work(&pool->close);

	for (i = 0; i < n; i++) {
		rcu_barrier();
		msleep(2);
		KUNIT_EXPECT_EQ(test, kretprobe_pool_count(), t->pools + 1);
		KUNIT_EXPECT_EQ(test, atomic_read(&pool->refs), n - i);
		kretprobe_pool_put(t->ri[i]);
	}
}

/*
 * All at once: on each CPU a thread, and a timer that interrupts it anywhere, take
 * instances and put them back.
 */

struct player {
	struct kretprobe_pool_test	*t;
	struct task_struct	*task;
	struct hrtimer		timer;
	struct rnd_state	rnd;
	struct completion	ready;
	unsigned long		rounds, ticks;
	atomic_t		stolen;
	bool			stop;
};

/* Nobody else may have it at the same time. */
static void play(struct player *p, int keep)
{
	struct kretprobe_instance *ri[4];
	int n;

	for (n = 0; n < keep; n++) {
		ri[n] = kretprobe_pool_get(p->t->rph);
		if (!ri[n])
			break;
		if (xchg(&note_of(ri[n])->taken, 1))
			atomic_inc(&p->stolen);
	}
	while (n--) {
		if (xchg(&note_of(ri[n])->taken, 0) != 1)
			atomic_inc(&p->stolen);
		kretprobe_pool_put(ri[n]);
	}
}

static enum hrtimer_restart play_in_irq(struct hrtimer *timer)
{
	struct player *p = container_of(timer, struct player, timer);

	WRITE_ONCE(p->ticks, p->ticks + 1);
	play(p, 2);
	hrtimer_forward_now(timer, ns_to_ktime(20000 + p->ticks % 17 * 1000));
	return READ_ONCE(p->stop) ? HRTIMER_NORESTART : HRTIMER_RESTART;
}

static int play_in_thread(void *data)
{
	struct player *p = data;

	hrtimer_setup(&p->timer, play_in_irq, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&p->timer, ns_to_ktime(20000), HRTIMER_MODE_REL_PINNED_HARD);

	while (!READ_ONCE(p->stop)) {
		play(p, 1 + prandom_u32_state(&p->rnd) % 4);
		WRITE_ONCE(p->rounds, p->rounds + 1);
		cond_resched();
	}
	hrtimer_cancel(&p->timer);
	complete(&p->ready);
	return 0;
}

static bool played_enough(struct player *p, int nr)
{
	unsigned long rounds = 0, ticks = 0;

	while (nr--) {
		rounds += READ_ONCE(p[nr].rounds);
		ticks += READ_ONCE(p[nr].ticks);
	}
	return rounds > 1000 && ticks > 100;
}

static void pool_all_at_once(struct kunit *test)
{
	int nr_cpus = num_online_cpus(), cpu, i = 0, size = 4 * nr_cpus, n;
	struct kretprobe_pool_test *t = test->priv;
	unsigned long end = jiffies + 60 * HZ;
	struct player *p;
	int stolen = 0;

	p = kp_calloc(test, nr_cpus, sizeof(*p));
	begin(test, size, false);

	for_each_online_cpu(cpu) {
		p[i].t = t;
		prandom_seed_state(&p[i].rnd, i + 1);
		init_completion(&p[i].ready);
		p[i].task = kthread_create_on_cpu(play_in_thread, &p[i], cpu, "kprobe_pool/%u");
		if (IS_ERR(p[i].task))
			break;
		wake_up_process(p[i].task);
		i++;
	}
	KUNIT_EXPECT_EQ(test, i, nr_cpus);
	/* On a loaded machine, little happens in a second. */
	do {
		msleep(1000);
	} while (!played_enough(p, i) && time_before(jiffies, end));
	KUNIT_EXPECT_TRUE(test, played_enough(p, i));

	while (i--) {
		WRITE_ONCE(p[i].stop, true);
		wait_for_completion(&p[i].ready);
		stolen += atomic_read(&p[i].stolen);
	}
	KUNIT_EXPECT_EQ_MSG(test, stolen, 0, "an instance was handed out twice");

	/* None is lost, and none is there twice. */
	n = take(t, MAX_INSTANCES);
	KUNIT_EXPECT_EQ(test, n, size);
	give_back(t, n);
}

/*
 * Instances are put back on all CPUs while the pool is destroyed. Each is counted
 * exactly once, whoever finds it.
 */

struct returner {
	struct kretprobe_instance	**ri;
	int				n;
	atomic_t			*gate;
	struct work_struct		work;
};

static void return_all(struct work_struct *work)
{
	struct returner *r = container_of(work, struct returner, work);

	atomic_dec(r->gate);
	while (atomic_read(r->gate) > 0)
		cpu_relax();
	while (r->n--)
		kretprobe_pool_put(r->ri[r->n]);
}

static void pool_destroyed_while_calls_return(struct kunit *test)
{
	int nr_cpus = num_online_cpus(), cpu, i, round, each = 8;
	struct kretprobe_pool_test *t = test->priv;
	struct returner *r;
	atomic_t gate;

	r = kp_calloc(test, nr_cpus, sizeof(*r));

	for (round = 0; round < 200; round++) {
		begin(test, each * nr_cpus + round % 3, false);
		KUNIT_ASSERT_EQ(test, take(t, each * nr_cpus), each * nr_cpus);
		atomic_set(&gate, nr_cpus);
		i = 0;
		for_each_online_cpu(cpu) {
			r[i].ri = t->ri + i * each;
			r[i].n = each;
			r[i].gate = &gate;
			INIT_WORK(&r[i].work, return_all);
			schedule_work_on(cpu, &r[i].work);
			i++;
		}
		while (atomic_read(&gate) > 0)
			cond_resched();
		ndelay(round * 50);
		end(t);
		while (i--)
			flush_work(&r[i].work);
	}
}

/*
 * Kretprobes of the default size
 */

static atomic_t pool_returns;

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_inc(&pool_returns);
	return 0;
}

#define RETURN_PROBE(name) {						\
	.kp.symbol_name	= name,						\
	.handler	= count_return,					\
}

/* Probed functions call each other through such pointers, and none of the calls is a tail call. */
static struct completion many_go, many_leave;

static noinline __noclone u32 kp_many_inner(u32 v)
{
	KP_PADDING;
	wait_for_completion(&many_leave);
	return v + 1;
}

static noinline __noclone notrace u32 kp_many_middle(u32 v)
{
	u32 (*volatile fn)(u32 v) = kp_many_inner;

	KP_PADDING;
	return fn(v) + 1;
}

static noinline __noclone u32 kp_many_outer(u32 v)
{
	u32 (*volatile fn)(u32 v) = kp_many_middle;

	KP_PADDING;
	return fn(v) + 1;
}

static int many_thread(void *unused)
{
	u32 (*volatile fn)(u32 v) = kp_many_outer;

	wait_for_completion(&many_go);
	return fn(1);
}

#define MANY	2000

/* All tasks enter the same functions in as short a time as possible, and sleep there. */
static void pool_many_tasks_at_once(struct kunit *test)
{
	struct kretprobe rp[] = {
		RETURN_PROBE("kp_many_inner"), RETURN_PROBE("kp_many_middle"),
		RETURN_PROBE("kp_many_outer"),
	};
	struct kretprobe *rps[] = { &rp[0], &rp[1], &rp[2] };
	unsigned long grown = READ_ONCE(kretprobe_pools_grown);
	struct task_struct **task = kp_calloc(test, MANY, sizeof(*task));
	struct kretprobe_pool_test *t = test->priv;
	int i, n, right = 0, missed = 0;

	KP_SKIP_IF(test, !GROWS_AT_ONCE, "pools grow later here");
	init_completion(&many_go);
	init_completion(&many_leave);
	atomic_set(&pool_returns, 0);
	KUNIT_ASSERT_EQ(test, register_kretprobes(rps, 3), 0);
	wait_for_kprobe_optimizer();

	for (n = 0; n < MANY; n++) {
		task[n] = kthread_run(many_thread, NULL, "kp_many");
		/* There may be too many tasks for a small machine. */
		if (IS_ERR(task[n]))
			break;
		get_task_struct(task[n]);
	}
	KUNIT_EXPECT_GE(test, n, MANY / 4);
	complete_all(&many_go);
	/* Until all sleep in the inner function. On a loaded machine, that takes long. */
	for (i = 0; i < 5000 && kretprobe_pool_use(rp[0].rph).in_flight < n; i++)
		msleep(20);
	for (i = 0; i < 3; i++) {
		struct kretprobe_pool_use use = kretprobe_pool_use(rp[i].rph);

		missed += rp[i].nmissed + rp[i].kp.nmissed;
		KUNIT_EXPECT_EQ(test, use.in_flight, n);
		KUNIT_EXPECT_GE(test, use.instances, n);
		KUNIT_EXPECT_GE(test, use.most, n);
		KUNIT_EXPECT_EQ(test, rp[i].maxactive, max(10u, 2 * num_possible_cpus()));
	}
	KUNIT_EXPECT_EQ(test, missed, 0);

	complete_all(&many_leave);
	for (i = 0; i < n; i++)
		right += kthread_stop_put(task[i]) == 4;
	KUNIT_EXPECT_EQ(test, right, n);
	KUNIT_EXPECT_EQ(test, atomic_read(&pool_returns), 3 * n);

	/* All memory is given back. */
	unregister_kretprobes(rps, 3);
	KUNIT_EXPECT_TRUE(test, all_freed(t));
	KUNIT_EXPECT_EQ(test, READ_ONCE(kretprobe_pools_grown), grown);
}

static noinline __noclone notrace u32 kp_pool_deep(u32 left)
{
	u32 (*volatile fn)(u32 left) = kp_pool_deep;

	KP_PADDING;
	return left ? fn(left - 1) + 1 : 0;
}

static void pool_deep_recursion(struct kunit *test)
{
	struct kretprobe rp = RETURN_PROBE("kp_pool_deep");
	u32 (*volatile fn)(u32 left) = kp_pool_deep;

	KP_SKIP_IF(test, !GROWS_AT_ONCE, "pools grow later here");
	atomic_set(&pool_returns, 0);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	KUNIT_EXPECT_EQ(test, fn(63), 63);
	KUNIT_EXPECT_EQ(test, rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&pool_returns), 64);
	unregister_kretprobe(&rp);
}

static int nr_registered(void)
{
	struct kprobe_site *site;
	struct kprobe *p;
	int nr = 0;

	guard(mutex)(&kprobe_mutex);

	for_each_kprobe_site(site) {
		list_for_each_entry(p, &site->users, list)
			nr += is_kretprobe(p);
	}
	return nr;
}

/*
 * Earlier suites have left pools that workers are about to free. If one of them was counted as a
 * pool that is there before a case, that case would wait for it forever.
 */
static int kretprobe_pool_suite_init(struct kunit_suite *suite)
{
	unsigned long end = jiffies + 20 * HZ;

	while (kretprobe_pool_count() > nr_registered() && time_before(jiffies, end)) {
		rcu_barrier();
		msleep(1);
	}
	return 0;
}

static int kretprobe_pool_test_init(struct kunit *test)
{
	struct kretprobe_pool_test *t = kp_zalloc(test, sizeof(*t));

	t->ri = kp_calloc(test, MAX_INSTANCES, sizeof(*t->ri));
	test->priv = t;
	t->pools = kretprobe_pool_count();
	return 0;
}

static void kretprobe_pool_test_exit(struct kunit *test)
{
	struct kretprobe_pool_test *t = test->priv;

	if (!t)
		return;
	if (t->rph)
		end(t);
	KUNIT_EXPECT_TRUE_MSG(test, all_freed(t), "%d pools are left",
			      kretprobe_pool_count() - t->pools);
}

static struct kunit_case kretprobe_pool_testcases[] = {
	KUNIT_CASE(pool_as_many_as_asked_for),
	KUNIT_CASE(pool_data_belongs_to_the_user),
	KUNIT_CASE(pool_absurd_sizes_are_refused),
	KUNIT_CASE(pool_interrupted_get),
	KUNIT_CASE(pool_instances_of_other_cpus_are_found),
	KUNIT_CASE(pool_grows_before_it_runs_out),
	KUNIT_CASE(pool_has_a_spare_block),
	KUNIT_CASE(pool_grows_while_another_cpu_is_late),
	KUNIT_CASE_SLOW(pool_growth_has_a_limit),
	KUNIT_CASE(pool_growth_does_not_insist),
	KUNIT_CASE(pool_no_growth_unless_asked_for),
	KUNIT_CASE(pool_destroyed_while_growing),
	KUNIT_CASE(pool_end_does_not_wait_for_growth),
	KUNIT_CASE(pool_destroyed_with_calls_in_flight),
	KUNIT_CASE(pool_all_at_once),
	KUNIT_CASE(pool_destroyed_while_calls_return),
	KUNIT_CASE_SLOW(pool_many_tasks_at_once),
	KUNIT_CASE(pool_deep_recursion),
	{}
};

KP_SUITE(kretprobe_pool_testcases, .name = "kprobes_pool",
	 .suite_init = kretprobe_pool_suite_init,
	 .init = kretprobe_pool_test_init, .exit = kretprobe_pool_test_exit);
