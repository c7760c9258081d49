// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of two concurrent calls with the same structure. One of them is held at a
 * known point, and the test then checks what the other one does.
 */

#include "suite.h"

#include <kunit/static_stub.h>

#include "../arm.h"
#include "../register.h"
#include "../site.h"
#include "../table.h"
#include "helpers.h"

static KP_UNTRACED(u32, kp_conc_one, v + 3)
static KP_UNTRACED(u32, kp_conc_two, v + 5)

static u32 (* const volatile call_one)(u32 v) = kp_conc_one;

/* Much longer than what is waited for takes. */
#define AT_MOST		(20 * HZ)
/* Much longer than a call takes that does not wait for the held one. */
#define A_WHILE		(HZ / 5)

struct conc_test;

/* A call in a separate thread. */
struct caller {
	struct conc_test	*t;
	int			(*call)(struct conc_test *t);
	struct task_struct	*task;
	struct completion	done;
	int			ret;
	bool			clean;	/* the other call was done when this one ended */
};

struct conc_test {
	struct kprobe		a, b;
	struct kprobe		*kps[2];
	struct kretprobe	ra, rb;
	struct kretprobe	*rps[2];
	struct caller		first, second, third;
	struct completion	held, release;
	struct kunit		*test;
	bool			holds;		/* the first call, in held_wait() */
	bool			first_over;
	unsigned int		hits, done_calls;
};

static struct conc_test *now;

static int count_pre(struct kprobe *p, struct pt_regs *regs)
{
	now->hits++;
	return 0;
}

static unsigned int hits(void)
{
	unsigned int before = now->hits;

	call_one(1);
	return now->hits - before;
}

static void set(struct kprobe *p, const char *symbol)
{
	p->addr = NULL;
	p->flags = 0;
	p->symbol_name = symbol;
	p->pre_handler = count_pre;
}

static bool registered(struct kprobe *p)
{
	guard(mutex)(&kprobe_mutex);

	return kprobe_site_of_user(p);
}

static int caller_thread(void *data)
{
	struct caller *c = data;
	struct conc_test *t = c->t;

	/* Stubs are in force for threads of the test only. */
	if (c == &t->first && t->holds)
		current->kunit_test = t->test;
	c->ret = c->call(t);
	/* The last thing that the other call does. */
	c->clean = list_empty(&t->a.list) && list_empty(&t->ra.kp.list);
	if (c == &t->first)
		WRITE_ONCE(t->first_over, true);
	complete(&c->done);
	return 0;
}

static void start(struct kunit *test, struct caller *c, int (*call)(struct conc_test *t))
{
	struct conc_test *t = test->priv;

	*c = (struct caller){ .t = t, .call = call };
	init_completion(&c->done);
	c->task = kthread_create(caller_thread, c, "kp_conc_caller");
	KUNIT_ASSERT_FALSE(test, IS_ERR(c->task));
	get_task_struct(c->task);
	wake_up_process(c->task);
}

static void finish(struct kunit *test, struct caller *c)
{
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&c->done, AT_MOST), 0);
	kthread_stop(c->task);
	put_task_struct(c->task);
}

/* The second call must not return before the first one has. */
static void expect_waits(struct kunit *test, struct caller *c)
{
	KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&c->done, A_WHILE), 0);
}

/* The first call is held where it frees structures, after its grace period. */
static void held_done(struct kprobe *p)
{
	now->done_calls++;
	complete(&now->held);
	wait_for_completion_timeout(&now->release, AT_MOST);
}

static enum kprobe_refusal vet_nothing(const struct kprobe *p, const struct kprobe_where *where)
{
	return KPROBE_REFUSAL_NONE;
}

static int prepare_nothing(struct kprobe *p)
{
	return 0;
}

static void stop_nothing(struct kprobe *p)
{
}

static const struct kprobe_batch_ops held_when_done = {
	.stop	= stop_nothing,
	.done	= held_done,
};

static int unregister_and_hold(struct conc_test *t)
{
	kprobe_batch_unregister(&t->kps[0], 1, &held_when_done);
	return 0;
}

static struct conc_test *begin_held_unregister(struct kunit *test)
{
	struct conc_test *t = test->priv;

	set(&t->a, "kp_conc_one");
	set(&t->b, "kp_conc_two");
	KUNIT_ASSERT_EQ(test, register_kprobes(t->kps, 2), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	start(test, &t->first, unregister_and_hold);
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&t->held, AT_MOST), 0);
	return t;
}

static void end_held_unregister(struct kunit *test)
{
	struct conc_test *t = test->priv;

	complete(&t->release);
	finish(test, &t->first);
	KUNIT_EXPECT_EQ(test, t->done_calls, 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&t->a.list));
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&t->a.hlist));
}

/* @b precedes @a, is listed twice, and is a separate probe. */
static int unregister_both(struct conc_test *t)
{
	struct kprobe *kps[] = { &t->b, &t->a, &t->b, &t->a };

	unregister_kprobes(kps, ARRAY_SIZE(kps));
	return 0;
}

static void concurrent_unregister_waits_for_the_other(struct kunit *test)
{
	struct conc_test *t = begin_held_unregister(test);

	start(test, &t->second, unregister_both);
	expect_waits(test, &t->second);
	end_held_unregister(test);
	finish(test, &t->second);
	KUNIT_EXPECT_TRUE(test, t->second.clean);
	KUNIT_EXPECT_FALSE(test, registered(&t->b));
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&t->b.hlist));

	/* Each can be used again. */
	set(&t->a, "kp_conc_one");
	set(&t->b, "kp_conc_two");
	KUNIT_EXPECT_EQ(test, register_kprobes(t->kps, 2), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	unregister_kprobes(t->kps, 2);
	KUNIT_EXPECT_EQ(test, hits(), 0);
}

/* Calls for other probes are not held up in the meantime. */
static void concurrent_unregister_of_others_does_not_wait(struct kunit *test)
{
	struct conc_test *t = begin_held_unregister(test);

	unregister_kprobe(&t->b);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(t->first_over));
	set(&t->b, "kp_conc_one");
	KUNIT_EXPECT_EQ(test, register_kprobe(&t->b), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	unregister_kprobe(&t->b);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(t->first_over));
	end_held_unregister(test);
}

static void concurrent_register_of_what_is_leaving(struct kunit *test)
{
	struct conc_test *t = begin_held_unregister(test);
	struct kprobe *both[] = { &t->b, &t->a };
	struct kprobe before;

	kp_expect_splat("kernel/kprobes/register.c:");
	KUNIT_EXPECT_EQ(test, enable_kprobe(&t->a), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&t->a), -EINVAL);

	set(&t->a, "kp_conc_one");
	memcpy(&before, &t->a, sizeof(before));
	KUNIT_EXPECT_EQ(test, register_kprobe(&t->a), -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, &t->a, &before, sizeof(before));
	/* In a batch with good ones, which stay as they were. */
	unregister_kprobe(&t->b);
	set(&t->b, "kp_conc_two");
	KUNIT_EXPECT_EQ(test, register_kprobes(both, 2), -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, &t->a, &before, sizeof(before));
	KUNIT_EXPECT_NULL(test, t->b.addr);
	KUNIT_EXPECT_EQ(test, hits(), 0);

	end_held_unregister(test);
	KUNIT_EXPECT_EQ(test, register_kprobes(t->kps, 2), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	unregister_kprobes(t->kps, 2);
}

/*
 * The first call is a registration that has failed, or one that unregisters. It is held
 * before it waits for possible hits, with no lock held.
 */
static void held_wait(void)
{
	complete(&now->held);
	wait_for_completion_timeout(&now->release, AT_MOST);
	kprobe_wait_for_hits();
}

/* Start the first call, and return when it is held. */
static void start_held(struct kunit *test, int (*call)(struct conc_test *t))
{
	struct conc_test *t = test->priv;

	kunit_activate_static_stub(test, kprobe_wait_for_hits, held_wait);
	t->holds = true;
	start(test, &t->first, call);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&t->held, AT_MOST), 0);
	/* All other waits are real ones. */
	kunit_deactivate_static_stub(test, kprobe_wait_for_hits);
}

static void end_held(struct kunit *test)
{
	struct conc_test *t = test->priv;

	KUNIT_EXPECT_FALSE(test, READ_ONCE(t->first_over));
	complete(&t->release);
	finish(test, &t->first);
}

/* Its address was resolved, and will be cleared again; the site has no user any more. */
static void expect_failed(struct kunit *test, struct kprobe *p)
{
	KUNIT_EXPECT_NOT_NULL(test, p->addr);
	KUNIT_EXPECT_FALSE(test, registered(p));
}

static int register_in_vain(struct conc_test *t)
{
	return register_kprobes(t->kps, 2);
}

static int unregister_a(struct conc_test *t)
{
	unregister_kprobe(&t->a);
	return 0;
}

static void concurrent_unregister_of_what_failed(struct kunit *test)
{
	struct conc_test *t = test->priv;

	set(&t->a, "kp_conc_one");
	set(&t->b, "kp_conc_no_such_function");
	start_held(test, register_in_vain);
	expect_failed(test, &t->a);

	start(test, &t->second, unregister_a);
	expect_waits(test, &t->second);
	end_held(test);
	finish(test, &t->second);
	KUNIT_EXPECT_EQ(test, t->first.ret, -ENOENT);
	KUNIT_EXPECT_TRUE(test, t->second.clean);
	KUNIT_EXPECT_NULL(test, t->a.addr);
	KUNIT_EXPECT_EQ(test, t->a.flags, 0);
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&t->a.hlist));
}

static void concurrent_register_of_what_failed(struct kunit *test)
{
	struct conc_test *t = test->priv;
	struct kprobe again;

	kp_expect_splat("kernel/kprobes/register.c:");
	set(&t->a, "kp_conc_one");
	set(&t->b, "kp_conc_no_such_function");
	start_held(test, register_in_vain);
	expect_failed(test, &t->a);

	/* By address: having both would be an error of its own. */
	t->a.symbol_name = NULL;
	memcpy(&again, &t->a, sizeof(again));
	KUNIT_EXPECT_EQ(test, register_kprobe(&t->a), -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, &t->a, &again, sizeof(again));

	end_held(test);
	KUNIT_EXPECT_EQ(test, t->first.ret, -ENOENT);
	set(&t->a, "kp_conc_one");
	KUNIT_EXPECT_EQ(test, register_kprobe(&t->a), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	unregister_kprobe(&t->a);
}

/*
 * The first call is a registration that has succeeded, but still uses the structure,
 * as register_kretprobes() does at its end.
 */
static void held_registered(struct kprobe *p)
{
	complete(&now->held);
	wait_for_completion_timeout(&now->release, AT_MOST);
}

static const struct kprobe_batch_ops held_when_registered = {
	.vet		= vet_nothing,
	.prepare	= prepare_nothing,
	.registered	= held_registered,
	.stop		= stop_nothing,
};

static int register_and_hold(struct conc_test *t)
{
	return kprobe_batch_register(t->kps, 1, &held_when_registered);
}

static void concurrent_unregister_of_what_is_being_registered(struct kunit *test)
{
	struct conc_test *t = test->priv;

	set(&t->a, "kp_conc_one");
	start(test, &t->first, register_and_hold);
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&t->held, AT_MOST), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);

	start(test, &t->second, unregister_a);
	start(test, &t->third, unregister_a);
	expect_waits(test, &t->second);
	expect_waits(test, &t->third);

	complete(&t->release);
	finish(test, &t->first);
	finish(test, &t->second);
	finish(test, &t->third);
	KUNIT_EXPECT_EQ(test, t->first.ret, 0);
	KUNIT_EXPECT_EQ(test, hits(), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&t->a.list));
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&t->a.hlist));
}

static int register_a(struct conc_test *t)
{
	return register_kprobe(&t->a);
}

/*
 * Until the mutex is taken, a module may be replaced by another one, in which the name has
 * another address.
 */
static void concurrent_register_finds_address_under_mutex(struct kunit *test)
{
	struct conc_test *t = test->priv;
	unsigned long end = jiffies + AT_MOST;

	set(&t->a, "kp_conc_two");
	scoped_guard(mutex, &kprobe_mutex) {
		start(test, &t->first, register_a);
		while (READ_ONCE(t->first.task->__state) != TASK_UNINTERRUPTIBLE &&
		       time_before(jiffies, end))
			schedule_timeout_uninterruptible(1);
		/* Instead of another module, another name. */
		t->a.symbol_name = "kp_conc_one";
	}
	finish(test, &t->first);
	KUNIT_ASSERT_EQ(test, t->first.ret, 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	unregister_kprobe(&t->a);
}

static int unregister_forth(struct conc_test *t)
{
	unregister_kprobes(t->kps, 2);
	return 0;
}

/* They must not wait for each other forever. */
static void concurrent_unregister_in_opposite_order(struct kunit *test)
{
	struct conc_test *t = test->priv;
	int i;

	for (i = 0; i < 50; i++) {
		set(&t->a, "kp_conc_one");
		set(&t->b, "kp_conc_two");
		KUNIT_ASSERT_EQ(test, register_kprobes(t->kps, 2), 0);
		start(test, &t->first, unregister_forth);
		start(test, &t->second, unregister_both);
		finish(test, &t->first);
		finish(test, &t->second);
		KUNIT_EXPECT_TRUE(test, hlist_unhashed(&t->a.hlist));
		KUNIT_EXPECT_TRUE(test, hlist_unhashed(&t->b.hlist));
	}
	KUNIT_EXPECT_EQ(test, hits(), 0);
}

#ifdef CONFIG_KRETPROBES

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	now->hits++;
	return 0;
}

static void set_ret(struct kretprobe *rp, const char *symbol)
{
	memset(rp, 0, sizeof(*rp));
	INIT_LIST_HEAD(&rp->kp.list);
	rp->kp.symbol_name = symbol;
	rp->handler = count_return;
}

static int register_ret_in_vain(struct conc_test *t)
{
	return register_kretprobes(t->rps, 2);
}

static int unregister_ret(struct conc_test *t)
{
	unregister_kretprobe(&t->ra);
	return 0;
}

static int register_ret(struct conc_test *t)
{
	return register_kretprobe(&t->ra);
}

/* A registration is held after it has dropped the mutex. */
static void held_finish(const struct kprobe_arm_lists *lists)
{
	complete(&now->held);
	wait_for_completion_timeout(&now->release, AT_MOST);
}

/* The default of maxactive must not be taken for a choice of the user later. */
static void concurrent_kretprobe_unregistered_at_once(struct kunit *test)
{
	struct conc_test *t = test->priv;

	set_ret(&t->ra, "kp_conc_one");
	t->holds = true;
	kunit_activate_static_stub(test, kprobe_arm_finish, held_finish);
	start(test, &t->first, register_ret);
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&t->held, AT_MOST), 0);
	start(test, &t->second, unregister_ret);
	expect_waits(test, &t->second);
	complete(&t->release);
	finish(test, &t->first);
	finish(test, &t->second);
	KUNIT_EXPECT_EQ(test, t->first.ret, 0);
	KUNIT_EXPECT_EQ(test, t->ra.maxactive, 0);
}

/* A registration that fails must not free the pool of another one. */
static void concurrent_kretprobe_that_failed(struct kunit *test)
{
	struct conc_test *t = test->priv;

	kp_expect_splat("kernel/kprobes/register.c:");
	set_ret(&t->ra, "kp_conc_one");
	set_ret(&t->rb, "kp_conc_no_such_function");
	start_held(test, register_ret_in_vain);
	expect_failed(test, &t->ra.kp);

	t->ra.kp.symbol_name = NULL;
	KUNIT_EXPECT_EQ(test, register_kretprobe(&t->ra), -EINVAL);
	start(test, &t->second, unregister_ret);
	expect_waits(test, &t->second);

	end_held(test);
	finish(test, &t->second);
	KUNIT_EXPECT_EQ(test, t->first.ret, -ENOENT);
	KUNIT_EXPECT_TRUE(test, t->second.clean);

	set_ret(&t->ra, "kp_conc_one");
	KUNIT_EXPECT_EQ(test, register_kretprobe(&t->ra), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	unregister_kretprobe(&t->ra);
	KUNIT_EXPECT_EQ(test, hits(), 0);
}

static void concurrent_kretprobe_that_is_leaving(struct kunit *test)
{
	struct conc_test *t = test->priv;
	struct kretprobe before;

	kp_expect_splat("kernel/kprobes/register.c:");
	set_ret(&t->ra, "kp_conc_one");
	KUNIT_ASSERT_EQ(test, register_kretprobe(&t->ra), 0);
	start_held(test, unregister_ret);
	KUNIT_EXPECT_FALSE(test, registered(&t->ra.kp));

	t->ra.kp.addr = NULL;
	t->ra.kp.flags = 0;
	memcpy(&before, &t->ra, sizeof(before));
	KUNIT_EXPECT_EQ(test, register_kretprobe(&t->ra), -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, &t->ra, &before, sizeof(before));

	end_held(test);
	set_ret(&t->ra, "kp_conc_one");
	KUNIT_EXPECT_EQ(test, register_kretprobe(&t->ra), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	unregister_kretprobe(&t->ra);
}

#endif /* CONFIG_KRETPROBES */

static int concurrent_test_init(struct kunit *test)
{
	struct conc_test *t = kp_zalloc(test, sizeof(*t));

	INIT_LIST_HEAD(&t->a.list);
	INIT_LIST_HEAD(&t->b.list);
	INIT_LIST_HEAD(&t->ra.kp.list);
	t->kps[0] = &t->a;
	t->kps[1] = &t->b;
	t->rps[0] = &t->ra;
	t->rps[1] = &t->rb;
	init_completion(&t->held);
	init_completion(&t->release);
	t->test = test;
	test->priv = t;
	now = t;
	return 0;
}

/* Other suites expect warnings, too. */
static void concurrent_test_exit(struct kunit *test)
{
	kp_warn_again();
}

static struct kunit_case concurrent_cases[] = {
	KUNIT_CASE(concurrent_unregister_waits_for_the_other),
	KUNIT_CASE(concurrent_unregister_of_others_does_not_wait),
	KUNIT_CASE(concurrent_register_of_what_is_leaving),
	KUNIT_CASE(concurrent_unregister_of_what_failed),
	KUNIT_CASE(concurrent_register_of_what_failed),
	KUNIT_CASE(concurrent_unregister_of_what_is_being_registered),
	KUNIT_CASE(concurrent_register_finds_address_under_mutex),
	KUNIT_CASE(concurrent_unregister_in_opposite_order),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(concurrent_kretprobe_that_failed),
	KUNIT_CASE(concurrent_kretprobe_that_is_leaving),
	KUNIT_CASE(concurrent_kretprobe_unregistered_at_once),
#endif
	{}
};

KP_SUITE(concurrent_cases, .name = "kprobes_concurrent",
	 .init = concurrent_test_init, .exit = concurrent_test_exit);
