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
	int			(*call)(void);
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

/* The fixture of the case. */
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

	/* Stubs are in force for threads of the test only. */
	if (c == &now->first && now->holds)
		current->kunit_test = now->test;
	c->ret = c->call();
	/* The last thing that the other call does. */
	c->clean = list_empty(&now->a.list) && list_empty(&now->ra.kp.list);
	if (c == &now->first)
		WRITE_ONCE(now->first_over, true);
	complete(&c->done);
	return 0;
}

static void start(struct kunit *test, struct caller *c, int (*call)(void))
{
	*c = (struct caller){ .call = call };
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

static int unregister_and_hold(void)
{
	kprobe_batch_unregister(&now->kps[0], 1, &held_when_done);
	return 0;
}

static void begin_held_unregister(struct kunit *test)
{
	set(&now->a, "kp_conc_one");
	set(&now->b, "kp_conc_two");
	KUNIT_ASSERT_EQ(test, register_kprobes(now->kps, 2), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	start(test, &now->first, unregister_and_hold);
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&now->held, AT_MOST), 0);
}

static void end_held_unregister(struct kunit *test)
{
	complete(&now->release);
	finish(test, &now->first);
	KUNIT_EXPECT_EQ(test, now->done_calls, 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&now->a.list));
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&now->a.hlist));
}

/* @b precedes @a, is listed twice, and is a separate probe. */
static int unregister_both(void)
{
	struct kprobe *kps[] = { &now->b, &now->a, &now->b, &now->a };

	unregister_kprobes(kps, ARRAY_SIZE(kps));
	return 0;
}

static void concurrent_unregister_waits_for_the_other(struct kunit *test)
{
	begin_held_unregister(test);
	start(test, &now->second, unregister_both);
	expect_waits(test, &now->second);
	end_held_unregister(test);
	finish(test, &now->second);
	KUNIT_EXPECT_TRUE(test, now->second.clean);
	KUNIT_EXPECT_FALSE(test, registered(&now->b));
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&now->b.hlist));

	/* Each can be used again. */
	set(&now->a, "kp_conc_one");
	set(&now->b, "kp_conc_two");
	KUNIT_EXPECT_EQ(test, register_kprobes(now->kps, 2), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	unregister_kprobes(now->kps, 2);
	KUNIT_EXPECT_EQ(test, hits(), 0);
}

/* Calls for other probes are not held up in the meantime. */
static void concurrent_unregister_of_others_does_not_wait(struct kunit *test)
{
	begin_held_unregister(test);
	unregister_kprobe(&now->b);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(now->first_over));
	set(&now->b, "kp_conc_one");
	KUNIT_EXPECT_EQ(test, register_kprobe(&now->b), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	unregister_kprobe(&now->b);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(now->first_over));
	end_held_unregister(test);
}

static void concurrent_register_of_what_is_leaving(struct kunit *test)
{
	struct kprobe *both[] = { &now->b, &now->a };
	struct kprobe before;

	begin_held_unregister(test);
	kp_expect_splat("kernel/kprobes/register.c:");
	KUNIT_EXPECT_EQ(test, enable_kprobe(&now->a), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&now->a), -EINVAL);

	set(&now->a, "kp_conc_one");
	memcpy(&before, &now->a, sizeof(before));
	KUNIT_EXPECT_EQ(test, register_kprobe(&now->a), -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, &now->a, &before, sizeof(before));
	/* In a batch with good ones, which stay as they were. */
	unregister_kprobe(&now->b);
	set(&now->b, "kp_conc_two");
	KUNIT_EXPECT_EQ(test, register_kprobes(both, 2), -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, &now->a, &before, sizeof(before));
	KUNIT_EXPECT_NULL(test, now->b.addr);
	KUNIT_EXPECT_EQ(test, hits(), 0);

	end_held_unregister(test);
	KUNIT_EXPECT_EQ(test, register_kprobes(now->kps, 2), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	unregister_kprobes(now->kps, 2);
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
static void start_held(struct kunit *test, int (*call)(void))
{
	kunit_activate_static_stub(test, kprobe_wait_for_hits, held_wait);
	now->holds = true;
	start(test, &now->first, call);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&now->held, AT_MOST), 0);
	/* All other waits are real ones. */
	kunit_deactivate_static_stub(test, kprobe_wait_for_hits);
}

static void end_held(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, READ_ONCE(now->first_over));
	complete(&now->release);
	finish(test, &now->first);
}

/* Its address was resolved, and will be cleared again; the site has no user any more. */
static void expect_failed(struct kunit *test, struct kprobe *p)
{
	KUNIT_EXPECT_NOT_NULL(test, p->addr);
	KUNIT_EXPECT_FALSE(test, registered(p));
}

static int register_in_vain(void)
{
	return register_kprobes(now->kps, 2);
}

static int unregister_a(void)
{
	unregister_kprobe(&now->a);
	return 0;
}

static void concurrent_unregister_of_what_failed(struct kunit *test)
{
	set(&now->a, "kp_conc_one");
	set(&now->b, "kp_conc_no_such_function");
	start_held(test, register_in_vain);
	expect_failed(test, &now->a);

	start(test, &now->second, unregister_a);
	expect_waits(test, &now->second);
	end_held(test);
	finish(test, &now->second);
	KUNIT_EXPECT_EQ(test, now->first.ret, -ENOENT);
	KUNIT_EXPECT_TRUE(test, now->second.clean);
	KUNIT_EXPECT_NULL(test, now->a.addr);
	KUNIT_EXPECT_EQ(test, now->a.flags, 0);
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&now->a.hlist));
}

static void concurrent_register_of_what_failed(struct kunit *test)
{
	struct kprobe again;

	kp_expect_splat("kernel/kprobes/register.c:");
	set(&now->a, "kp_conc_one");
	set(&now->b, "kp_conc_no_such_function");
	start_held(test, register_in_vain);
	expect_failed(test, &now->a);

	/* By address: having both would be an error of its own. */
	now->a.symbol_name = NULL;
	memcpy(&again, &now->a, sizeof(again));
	KUNIT_EXPECT_EQ(test, register_kprobe(&now->a), -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, &now->a, &again, sizeof(again));

	end_held(test);
	KUNIT_EXPECT_EQ(test, now->first.ret, -ENOENT);
	set(&now->a, "kp_conc_one");
	KUNIT_EXPECT_EQ(test, register_kprobe(&now->a), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	unregister_kprobe(&now->a);
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

static int register_and_hold(void)
{
	return kprobe_batch_register(now->kps, 1, &held_when_registered);
}

static void concurrent_unregister_of_what_is_being_registered(struct kunit *test)
{
	set(&now->a, "kp_conc_one");
	start(test, &now->first, register_and_hold);
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&now->held, AT_MOST), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);

	start(test, &now->second, unregister_a);
	start(test, &now->third, unregister_a);
	expect_waits(test, &now->second);
	expect_waits(test, &now->third);

	complete(&now->release);
	finish(test, &now->first);
	finish(test, &now->second);
	finish(test, &now->third);
	KUNIT_EXPECT_EQ(test, now->first.ret, 0);
	KUNIT_EXPECT_EQ(test, hits(), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&now->a.list));
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&now->a.hlist));
}

static int register_a(void)
{
	return register_kprobe(&now->a);
}

/*
 * Until the mutex is taken, a module may be replaced by another one, in which the name has
 * another address.
 */
static void concurrent_register_finds_address_under_mutex(struct kunit *test)
{
	unsigned long end = jiffies + AT_MOST;

	set(&now->a, "kp_conc_two");
	scoped_guard(mutex, &kprobe_mutex) {
		start(test, &now->first, register_a);
		while (READ_ONCE(now->first.task->__state) != TASK_UNINTERRUPTIBLE &&
		       time_before(jiffies, end))
			schedule_timeout_uninterruptible(1);
		/* Instead of another module, another name. */
		now->a.symbol_name = "kp_conc_one";
	}
	finish(test, &now->first);
	KUNIT_ASSERT_EQ(test, now->first.ret, 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	unregister_kprobe(&now->a);
}

static int unregister_forth(void)
{
	unregister_kprobes(now->kps, 2);
	return 0;
}

/* They must not wait for each other forever. */
static void concurrent_unregister_in_opposite_order(struct kunit *test)
{
	int i;

	for (i = 0; i < 50; i++) {
		set(&now->a, "kp_conc_one");
		set(&now->b, "kp_conc_two");
		KUNIT_ASSERT_EQ(test, register_kprobes(now->kps, 2), 0);
		start(test, &now->first, unregister_forth);
		start(test, &now->second, unregister_both);
		finish(test, &now->first);
		finish(test, &now->second);
		KUNIT_EXPECT_TRUE(test, hlist_unhashed(&now->a.hlist));
		KUNIT_EXPECT_TRUE(test, hlist_unhashed(&now->b.hlist));
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

static int register_ret_in_vain(void)
{
	return register_kretprobes(now->rps, 2);
}

static int unregister_ret(void)
{
	unregister_kretprobe(&now->ra);
	return 0;
}

static int register_ret(void)
{
	return register_kretprobe(&now->ra);
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
	set_ret(&now->ra, "kp_conc_one");
	now->holds = true;
	kunit_activate_static_stub(test, kprobe_arm_finish, held_finish);
	start(test, &now->first, register_ret);
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&now->held, AT_MOST), 0);
	start(test, &now->second, unregister_ret);
	expect_waits(test, &now->second);
	complete(&now->release);
	finish(test, &now->first);
	finish(test, &now->second);
	KUNIT_EXPECT_EQ(test, now->first.ret, 0);
	KUNIT_EXPECT_EQ(test, now->ra.maxactive, 0);
}

/* A registration that fails must not free the pool of another one. */
static void concurrent_kretprobe_that_failed(struct kunit *test)
{
	kp_expect_splat("kernel/kprobes/register.c:");
	set_ret(&now->ra, "kp_conc_one");
	set_ret(&now->rb, "kp_conc_no_such_function");
	start_held(test, register_ret_in_vain);
	expect_failed(test, &now->ra.kp);

	now->ra.kp.symbol_name = NULL;
	KUNIT_EXPECT_EQ(test, register_kretprobe(&now->ra), -EINVAL);
	start(test, &now->second, unregister_ret);
	expect_waits(test, &now->second);

	end_held(test);
	finish(test, &now->second);
	KUNIT_EXPECT_EQ(test, now->first.ret, -ENOENT);
	KUNIT_EXPECT_TRUE(test, now->second.clean);

	set_ret(&now->ra, "kp_conc_one");
	KUNIT_EXPECT_EQ(test, register_kretprobe(&now->ra), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	unregister_kretprobe(&now->ra);
	KUNIT_EXPECT_EQ(test, hits(), 0);
}

static void concurrent_kretprobe_that_is_leaving(struct kunit *test)
{
	struct kretprobe before;

	kp_expect_splat("kernel/kprobes/register.c:");
	set_ret(&now->ra, "kp_conc_one");
	KUNIT_ASSERT_EQ(test, register_kretprobe(&now->ra), 0);
	start_held(test, unregister_ret);
	KUNIT_EXPECT_FALSE(test, registered(&now->ra.kp));

	now->ra.kp.addr = NULL;
	now->ra.kp.flags = 0;
	memcpy(&before, &now->ra, sizeof(before));
	KUNIT_EXPECT_EQ(test, register_kretprobe(&now->ra), -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, &now->ra, &before, sizeof(before));

	end_held(test);
	set_ret(&now->ra, "kp_conc_one");
	KUNIT_EXPECT_EQ(test, register_kretprobe(&now->ra), 0);
	KUNIT_EXPECT_EQ(test, hits(), 1);
	unregister_kretprobe(&now->ra);
}

#endif /* CONFIG_KRETPROBES */

static int concurrent_test_init(struct kunit *test)
{
	now = kp_zalloc(test, sizeof(*now));
	INIT_LIST_HEAD(&now->a.list);
	INIT_LIST_HEAD(&now->b.list);
	INIT_LIST_HEAD(&now->ra.kp.list);
	now->kps[0] = &now->a;
	now->kps[1] = &now->b;
	now->rps[0] = &now->ra;
	now->rps[1] = &now->rb;
	init_completion(&now->held);
	init_completion(&now->release);
	now->test = test;
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
