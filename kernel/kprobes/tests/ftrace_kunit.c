// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of probes at ftrace call sites: which user claims a function, and that no
 * order of registering and unregistering confuses the filters.
 */

#include "suite.h"

#include <kunit/static_stub.h>
#include <linux/irq_work.h>

#include "../arm.h"
#include "../ftrace.h"
#include "../hit_ftrace.h"
#include "../site.h"

#ifdef CONFIG_KPROBES_ON_FTRACE

#include "../module.h"
#include "scenario.h"

/* Only if something is wrong does a test wait that long. */
#define PATIENCE	(60 * HZ)
/* A CPU does not schedule meanwhile, and must not before the test has got on. */
#define HOLD_TIME	(15 * HZ)

static KP_TRACED(u32, kp_ft_one, v + 3)
static KP_TRACED(u32, kp_ft_two, v + 5)
static KP_TRACED(u32, kp_ft_three, v + 7)

struct ftrace_test {
	struct kp_scene		scene;
	/* Another user of ftrace, its calls, and what makes its filter fail. */
	struct ftrace_ops	ops;
	unsigned int		foreign, seen;
	u32			(*divert)(u32 v);
	unsigned long		fails;		/* which changes, see "fail:*" */
	unsigned int		stayed;
	/* A call that ftrace makes late, see ftrace_late_call_of_the_old_ops(). */
	struct ftrace_ops	*late;
	struct kprobe_site	*site;
	bool			held, make_it, made;
	/* A call during which the site moves, see hold_a_call(). */
	struct ftrace_ops	change;
	struct irq_work		nested;
	struct task_struct	*caller;
	unsigned int		last;
	bool			go, moved;
};

static void play(struct kunit *test, const char *script)
{
	struct ftrace_test *f = test->priv;

	kp_play(test, &f->scene, script);
}

static struct kprobe *probe(struct ftrace_test *f, char name)
{
	return kp_scene_probe(&f->scene, name);
}

static void foreign_func(unsigned long ip, unsigned long parent_ip,
			 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct ftrace_test *f = container_of(ops, struct ftrace_test, ops);

	f->foreign++;
	if (f->divert)
		instruction_pointer_set(ftrace_get_regs(fregs), (unsigned long)
					dereference_symbol_descriptor(f->divert));
}

static unsigned long site_addr(u32 (*fn)(u32 v))
{
	return ftrace_location((unsigned long)dereference_symbol_descriptor(fn));
}

static int foreign_release(struct kunit *test, struct kp_scene *s, const char *arg)
{
	struct ftrace_test *f = container_of(s, struct ftrace_test, scene);

	unregister_ftrace_function(&f->ops);
	ftrace_free_filter(&f->ops);
	memset(&f->ops, 0, sizeof(f->ops));
	return 0;
}

/* Another subsystem, such as livepatch, claims a function. */
static int foreign_claim(struct kunit *test, struct kp_scene *s, const char *arg)
{
	struct ftrace_test *f = container_of(s, struct ftrace_test, scene);
	int ret;

	f->ops.func = foreign_func;
	f->ops.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY;
	ret = ftrace_set_filter_ip(&f->ops, site_addr(s->fn[*arg - '1']), 0, 0);
	ret = ret ?: register_ftrace_function(&f->ops);
	if (ret) {
		ftrace_free_filter(&f->ops);
		memset(&f->ops, 0, sizeof(f->ops));
	}
	return ret;
}

/* One without a claim, on all three. */
static int foreign_trace(struct kunit *test, struct kp_scene *s, const char *arg)
{
	struct ftrace_test *f = container_of(s, struct ftrace_test, scene);
	/* ftrace cuts the pattern at its asterisk. */
	char all[] = "kp_ft_*";

	f->ops.func = foreign_func;
	return ftrace_set_filter(&f->ops, all, strlen(all), 1) ?:
	       register_ftrace_function(&f->ops);
}

/* The other one was called that often at least. */
static int foreign_saw(struct kunit *test, struct kp_scene *s, const char *arg)
{
	struct ftrace_test *f = container_of(s, struct ftrace_test, scene);
	unsigned int calls = f->foreign - f->seen;

	f->seen = f->foreign;
	return calls < *arg - '0';
}

/* While a probe has the claim, no other subsystem gets it. */
static bool is_claimed(struct kunit *test, struct kp_scene *s, const char *arg)
{
	int ret = foreign_claim(test, s, arg);

	if (!ret)
		foreign_release(test, s, NULL);
	return ret == -EBUSY;
}

static int expect_claimed(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return !is_claimed(test, s, arg);
}

static int expect_free(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return is_claimed(test, s, arg);
}

static int note_whether_claimed(struct kunit *test, struct kp_scene *s, const char *arg)
{
	container_of(s, struct ftrace_test, scene)->stayed += is_claimed(test, s, arg);
	return 0;
}

/* Which changes of a filter fail for lack of memory. */
static unsigned long filter_fails;
static unsigned int filter_changes;

static int failing_filter(struct ftrace_ops *ops, unsigned long *ips, unsigned int n,
			  int remove, int reset)
{
	if (filter_fails & BIT(filter_changes++))
		return -ENOMEM;
	return ftrace_set_filter_ips(ops, ips, n, remove, reset);
}

static int failing_removal(struct ftrace_ops *ops, unsigned long *ips, unsigned int n,
			   int remove, int reset)
{
	return remove ? -ENOMEM : ftrace_set_filter_ips(ops, ips, n, remove, reset);
}

static int fail(struct kunit *test, struct kp_scene *s, const char *arg)
{
	filter_changes = 0;
	if (*arg == '*')
		filter_fails = container_of(s, struct ftrace_test, scene)->fails;
	else if (*arg == 'a')
		filter_fails = ~0ul;
	else
		filter_fails = *arg - '0';
	kunit_activate_static_stub(test, kprobe_ftrace_filter, failing_filter);
	return 0;
}

static int fail_removals(struct kunit *test, struct kp_scene *s, const char *arg)
{
	kunit_activate_static_stub(test, kprobe_ftrace_filter, failing_removal);
	return 0;
}

static int fail_no_more(struct kunit *test, struct kp_scene *s, const char *arg)
{
	kunit_deactivate_static_stub(test, kprobe_ftrace_filter);
	return 0;
}

static int changed_no_filter(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return filter_changes;
}

/* Sites without users that ftrace could not disarm. */
static int expect_left(struct kunit *test, struct kp_scene *s, const char *arg)
{
	struct kprobe_site *site;
	unsigned int n = 0;

	guard(mutex)(&kprobe_mutex);

	for_each_kprobe_site(site)
		n += site->kind == KPROBE_SITE_FTRACE && list_empty(&site->users);
	return n - (*arg - '0');
}

static int expect_no_site(struct kunit *test, struct kp_scene *s, const char *arg)
{
	guard(mutex)(&kprobe_mutex);

	return !!kprobe_site_at(site_addr(s->fn[*arg - '1']));
}

static int expect_ftrace(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return !kprobe_ftrace(kp_scene_probe(s, *arg));
}

/*
 * Words about the other user of ftrace: it claims a function, traces all without a claim, ends
 * that, and was called at least so many times; a function is claimed, or free. And words about
 * filters: all changes fail, those of a mask, or all removals; and so many sites wait for one.
 */
static const struct kp_word words[] = {
	{ "claim:", foreign_claim },
	{ "trace", foreign_trace },
	{ "release", foreign_release },
	{ "saw:", foreign_saw },
	{ "claimed:", expect_claimed },
	{ "free:", expect_free },
	{ "note:", note_whether_claimed },
	{ "fail:", fail },
	{ "stick", fail_removals },
	{ "work", fail_no_more },
	{ "unchanged", changed_no_filter },
	{ "left:", expect_left },
	{ "nosite:", expect_no_site },
	{ "ftrace:", expect_ftrace },
	{}
};

static const struct kp_script scripts[] = {
	{ "plain_then_post_and_post_goes_first",
	  "+a1 ftrace:a hit:a +b1p hit:ab -b hit:a -a hit: +c2p hit:c -c hit:" },
	{ "plain_then_post_and_plain_goes_first",
	  "+a1 hit:a +b1p hit:ab -a hit:b -b hit: +c2p hit:c -c hit:" },
	{ "post_then_plain_and_post_goes_first",
	  "+b1p ftrace:b hit:b +a1 hit:ab -b hit:a -a hit: +c2p hit:c -c hit:" },
	{ "post_then_plain_and_plain_goes_first",
	  "+b1p hit:b +a1 hit:ab -a hit:b -b hit: +c2p hit:c -c hit:" },
	/* The first user of the site is disabled when the one with the claim arrives. */
	{ "claim_on_a_disabled_site",
	  "+a1d +b1pd hit: on:b hit:b on:a hit:ab off:b hit:a off:a hit: on:a hit:a" },
	/* Half of the users of an ops leave, the others stay armed. */
	{ "batch_of_both_kinds",
	  "+a1,b2p,c1p,d3 hit:abcd -c,d hit:ab -a,b hit:" },
	/* A probe without a claim coexists with it, and is not affected when one is refused. */
	{ "claimed_by_another",
	  "claim:1 +b1p!BUSY hit: +a1 hit:a +b1p!BUSY hit:a saw:1 release +b1p hit:ab "
	  "claim:1!BUSY -b,a claim:1 release" },
	{ "enable_is_refused",
	  "+b1pd claim:1 on:b!BUSY disabled:b hit: release on:b enabled:b hit:b" },
	{ "batch_is_refused",
	  "claim:1 +a2p,b1p,c3!BUSY hit: +b1p,a2p,c3!BUSY hit: +a2p,c3,b1p!BUSY hit: release "
	  "nosite:2" },
	/* One of three cannot be enabled again. Its flags are as before. */
	{ "switched_on_but_for_one",
	  "+a2 +b1p +c3p off claim:1 on!BUSY hit:ac enabled:b release off hit: on hit:abc" },
	/* Two users of a site that could not be armed: either can still be disabled. */
	{ "disable_where_arming_was_refused",
	  "+b1p +a1 off claim:1 on!BUSY off:a off:b on:a!BUSY disabled:a release on:a hit:a" },
	{ "survives_tracers_of_others",
	  "+a1 +b2p trace saw:0 hit:ab saw:9 -a hit:b saw:9 release hit:b" },
	/* The claim does not go with the first of them. */
	{ "claim_goes_with_the_last_post_handler",
	  "+a1 +b1p +c1p +d2p -b claimed:1 -c hit:ad free:1 hit:ad -d -a hit:" },
	/* Two with post handlers in one ops; one of them stays. */
	{ "claim_goes_from_a_shared_ops",
	  "+b1p,c2p +a1 -b hit:ac free:1 claimed:2 -c hit:a" },
	/* The upgrade of one site succeeds, then another site of the batch is refused. */
	{ "claim_goes_with_a_batch_that_fails",
	  "+a1 claim:2 +b1p,c2p!BUSY hit:a release free:1 hit:a -a hit:" },
	/*
	 * The claim of the other user concerns only the post handler. What is enabled is still
	 * refused, and unregistration arms nothing.
	 */
	{ "armed_once_the_refused_post_handler_leaves",
	  "+b1p,a1 +c1 off claim:1 on!BUSY hit: on:b!BUSY on:a!BUSY enabled:b release on:a hit:abc "
	  "off on:a hit: claim:1 on!BUSY -c hit: -b hit: on:a hit:a "
	  "release" },
	/* They leave together, and the site has no other user. */
	{ "refused_ones_leave_together",
	  "+a1 off +b1p claim:1 on!BUSY fail:0 -b,a work unchanged hit: release +a1 hit:a" },

	/*
	 * Without memory. Others on two and three keep a filter from becoming empty, where that
	 * would be another case.
	 */
	{ "old_address_does_not_come_back", "+a1 fail:all -a work +b1p +d2 hit:bd" },
	{ "old_address_is_armed_again",
	  "+a1 +d2 fail:all -a left:1 work stick +a1 work left:0 hit:ad -d hit:a -a hit:" },
	/* A site that stayed armed for no enabled user is disarmed by the global switch. */
	{ "switched_off_later",
	  "+a1 +c1d +d2 fail:all -a work armed:c off idle:c on idle:c hit:d on:c hit:cd" },
	/* A site that could not be disarmed has its claim no longer than to the next change. */
	{ "claim_goes_later",
	  "+b1p,d2p +c1d fail:all -b work armed:c claimed:1 +a3 -a idle:c free:1 claimed:2 "
	  "on:c hit:cd" },
	/* The last user leaves, and neither filter can be changed. */
	{ "dead_in_both_filters",
	  "+b1p,d2p +a1 fail:2 -b work claimed:1 fail:all -a work hit:d +a1 hit:ad -a hit:d" },
	{ "dead_in_both_filters_which_others_use",
	  "+c3 +b1p,d2p +a1 fail:2 -b work claimed:1 fail:all -a work hit:cd "
	  "+a1 hit:acd -a hit:cd -d" },
	/*
	 * The last user leaves, and its address stays in the filter of an ops with a claim. That
	 * ends at the next change, whichever ops that concerns.
	 */
	{ "claim_of_a_dead_site",
	  "+b1p,d2p +c3 fail:all -b work claimed:1 hit:cd -c free:1 hit:d" },
	{ "claim_of_a_dead_site_that_is_used_again",
	  "+b1p,d2p +c3 fail:all -b work claimed:1 hit:cd +b1p hit:bcd -b -c free:1 hit:d" },
	/* An address is left in a filter when its code is freed. */
	{ "address_is_left_when_its_code_goes",
	  "+a1 +c3 +d2 fail:all -a -c left:2 kill:a left:1 nosite:1 work hit:d +a1 hit:ad -a left:0 "
	  "hit:d" },
};
KUNIT_ARRAY_PARAM_DESC(script, scripts, name);

/* Twice, since a counter may be off by only one. */
static void ftrace_script(struct kunit *test)
{
	const struct kp_script *script = test->param_value;
	struct ftrace_test *f = test->priv;
	int round;

	for (round = 0; round < 2; round++) {
		play(test, script->text);
		kp_scene_end(&f->scene);
	}
}

/*
 * The claim of a site that needs it no longer stays if a change of a filter fails, whichever that
 * is, up to the next change: another probe comes or goes, a post handler comes, or all go.
 */
static const struct kp_script downgrades[] = {
	{ "another_comes",
	  "+b1p,d2p +a1 fail:* -b work hit:ad note:1 +c3 hit:acd free:1 hit:acd -a hit:cd -d -c "
	  "free:1" },
	{ "another_goes",
	  "+b1p,d2p +a1 +c3 fail:* -b work hit:acd note:1 hit:acd -c free:1 hit:ad -a hit:d -d "
	  "free:1" },
	{ "post_handler_comes",
	  "+b1p,d2p +a1 +c3 fail:* -b work hit:acd note:1 +b1p hit:abcd -b hit:acd free:1 hit:acd "
	  "-a hit:cd -d -c free:1" },
	{ "all_go",
	  "+b1p,d2p +a1 +c3 fail:* -b work hit:acd note:1 hit:acd -a hit:cd -d -c free:1" },
	/* The claim is needed again, so the site leaves the shared filter instead. */
	{ "claim_is_needed_again",
	  "+c3 +b1p,d2p +a1 fail:2 -b work claimed:1 note:1 +b1p fail:* -c work claimed:1 "
	  "hit:abd -b free:1 hit:ad" },
};
KUNIT_ARRAY_PARAM_DESC(downgrade, downgrades, name);

static void ftrace_nomem_downgrade(struct kunit *test)
{
	const struct kp_script *script = test->param_value;
	struct ftrace_test *f = test->priv;

	for (f->fails = 0; f->fails < 4; f->fails++) {
		play(test, script->text);
		kp_scene_end(&f->scene);
	}
	KUNIT_EXPECT_GT(test, f->stayed, 0);
}

/* Whichever changes of filters fail, each call is seen once. */
static void ftrace_nomem_upgrade(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	unsigned int failed = 0;
	int ret;

	for (f->fails = 0; f->fails < 8; f->fails++) {
		play(test, "set:b1p +a1 +d2 fail:*");
		ret = register_kprobe(probe(f, 'b'));
		play(test, "work");
		if (ret) {
			KUNIT_EXPECT_EQ(test, ret, -ENOMEM);
			failed++;
			play(test, "hit:ad free:1 +b");
		}
		play(test, "hit:abd");
		kp_scene_end(&f->scene);
	}
	KUNIT_EXPECT_GT(test, failed, 0);
}

/* The order of calls depends on the order of registration. */
static void ftrace_diverted_by_another(struct kunit *test)
{
	u32 (*volatile one)(u32 v) = kp_ft_one;
	struct ftrace_test *f = test->priv;
	int round;

	if (!KPROBES_TEST_HAS_IGNORED_IP)
		kunit_skip(test, "the architecture's callback always continues here");

	f->divert = kp_ft_two;
	for (round = 0; round < 4; round++) {
		play(test, round & 1 ? "+a1 claim:1" : "claim:1 +a1");
		KUNIT_EXPECT_EQ(test, one(1), 6);
		KUNIT_EXPECT_EQ(test, atomic_read(&f->scene.probe[0].pre), 1);

		/* Unregistering works in either order, too. */
		play(test, round & 2 ? "-a" : "release");
		KUNIT_EXPECT_EQ(test, one(1), round & 2 ? 6 : 4);
		play(test, round & 2 ? "release" : "-a");
		KUNIT_EXPECT_EQ(test, one(1), 4);
	}
}

/* The first probe of the batch joins a site that is armed already, and is not to blame. */
static void ftrace_refused_after_one_that_joins(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	play(test, "+a1 claim:2 +d1,c2p!BUSY");
	KUNIT_EXPECT_EQ(test, kprobe_why_refused(probe(f, 'd')), KPROBE_REFUSAL_NONE);
	KUNIT_EXPECT_EQ(test, kprobe_why_refused(probe(f, 'c')), KPROBE_REFUSAL_CLAIMED);
	play(test, "release");
}

/* What a site that moves looked like when tasks were waited for. */
static struct kprobe_ftrace_ops *owner_in_wait;
static unsigned int waits;
static bool was_in_both;

static void watch_wait(void)
{
	struct kunit *test = kunit_get_current_test();
	struct ftrace_test *f = test->priv;

	waits++;
	owner_in_wait = kprobe_site_at(site_addr(kp_ft_one))->ftrace;
	was_in_both = kprobe_ftrace_shared.nr == 1 &&
		      is_claimed(test, &f->scene, "1");
}

/*
 * A task that is preempted on its way to the only ops of a function does not call the
 * one that was added in the meantime. Its call counts: the owner changes after a wait, which
 * comes when later calls reach both.
 */
static void ftrace_waits_before_the_owner_changes(struct kunit *test)
{
	waits = 0;
	kunit_activate_static_stub(test, kprobe_ftrace_wait_for_tasks, watch_wait);
	play(test, "+a1");
	KUNIT_EXPECT_EQ(test, waits, 0);

	play(test, "+b1p");
	KUNIT_EXPECT_EQ(test, waits, 1);
	KUNIT_EXPECT_TRUE(test, was_in_both);
	KUNIT_EXPECT_PTR_EQ(test, owner_in_wait, &kprobe_ftrace_shared);

	play(test, "-b");
	KUNIT_EXPECT_EQ(test, waits, 2);
	KUNIT_EXPECT_TRUE(test, was_in_both);
	KUNIT_EXPECT_PTR_NE(test, owner_in_wait, &kprobe_ftrace_shared);
	kunit_deactivate_static_stub(test, kprobe_ftrace_wait_for_tasks);
	play(test, "hit:a");
}

/* An address that ftrace does not know any more, and the last one that it removed. */
static unsigned long unknown_ip, removed_ip;
static unsigned int refusals;

static int refusing_filter(struct ftrace_ops *ops, unsigned long *ips, unsigned int n,
			   int remove, int reset)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (ips[i] == unknown_ip) {
			refusals++;
			return -EINVAL;
		}
	}
	removed_ip = remove ? ips[0] : 0;
	return ftrace_set_filter_ips(ops, ips, n, remove, reset);
}

/* It does not keep others from being removed. */
static void ftrace_nomem_old_address_is_unknown(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	play(test, "+a1 +c3 +d2");
	unknown_ip = (unsigned long)probe(f, 'a')->addr;
	removed_ip = 0;
	refusals = 0;
	play(test, "fail:all -a -c work +b2");
	kunit_activate_static_stub(test, kprobe_ftrace_filter, refusing_filter);
	play(test, "left:2 -b left:0 work");
	/* Together with the other, and alone. */
	KUNIT_EXPECT_EQ(test, refusals, 2);
	KUNIT_EXPECT_EQ(test, removed_ip, (unsigned long)probe(f, 'c')->addr);
	/* It is known after all: take it out of the filter. */
	play(test, "hit:d +a1 -a -d");
}

/*
 * Simulates ftrace iterating over its ops with preemption disabled: it has called the
 * new ops of a site that has moved, has looked at the old filter before the address
 * was removed, and calls the old ops only now.
 */
static void late_func(unsigned long ip, unsigned long parent_ip,
		      struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct ftrace_test *f = container_of(ops, struct ftrace_test, ops);
	unsigned long end = jiffies + HOLD_TIME, owner = (unsigned long)READ_ONCE(f->site->ftrace);

	/* While the site moves, each CPU has to run another thread. */
	if (f->made || (owner & KPROBE_FTRACE_MOVES) || owner == (unsigned long)f->late)
		return;

	preempt_disable_notrace();
	WRITE_ONCE(f->held, true);
	while (!READ_ONCE(f->make_it) && time_before(READ_ONCE(jiffies), end))
		cpu_relax();
	/* If nothing is checked any more, this CPU has scheduled between the move and this call. */
	if (READ_ONCE(f->make_it) && READ_ONCE(kprobe_ftrace_check_owner)) {
		f->late->func(ip, parent_ip, f->late, fregs);
		WRITE_ONCE(f->made, true);
	}
	WRITE_ONCE(f->held, false);
	preempt_enable_notrace();
}

static int late_thread(void *data)
{
	u32 (*volatile one)(u32 v) = kp_ft_one;
	struct ftrace_test *f = data;

	/* The next call waits until this one has been made. */
	while (!kthread_should_stop() && !READ_ONCE(f->made)) {
		atomic_set(&f->scene.probe[0].pre, 0);
		one(1);
		/* The site changes its owner after a grace period of tasks-RCU. */
		cond_resched_tasks_rcu_qs();
	}
	return kp_await_stop();
}

static void ftrace_late_call_of_the_old_ops(struct kunit *test)
{
	unsigned int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct ftrace_test *f = test->priv;
	unsigned long ip = site_addr(kp_ft_one);
	unsigned long end = jiffies + PATIENCE;
	struct task_struct *task;

	KP_SKIP_IF(test, cpu >= nr_cpu_ids, "needs a second CPU");
	/* stop_machine() would wait for the CPU that waits here. */
	KP_SKIP_IF(test, !KPROBES_TEST_HAS_LIVE_FTRACE, "ftrace needs stop_machine()");

	play(test, "+a1");
	scoped_guard(mutex, &kprobe_mutex) {
		f->site = kprobe_site_at(ip);
		f->late = (struct ftrace_ops *)f->site->ftrace;
	}
	f->ops.func = late_func;
	f->ops.flags = FTRACE_OPS_FL_SAVE_REGS;
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&f->ops, ip, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, register_ftrace_function(&f->ops), 0);
	task = kthread_create_on_cpu(late_thread, f, cpu, "kp_late/%u");
	KUNIT_EXPECT_FALSE(test, IS_ERR(task));
	if (!IS_ERR(task)) {
		get_task_struct(task);
		wake_up_process(task);
		do {
			WRITE_ONCE(f->make_it, false);
			play(test, "+b1p");
			while (!READ_ONCE(f->held) && time_before(jiffies, end))
				cond_resched();
			WRITE_ONCE(f->make_it, true);
			while (READ_ONCE(f->held) && time_before(jiffies, end))
				cond_resched();
			play(test, "-b");
		} while (!READ_ONCE(f->made) && time_before(jiffies, end));
		kthread_stop_put(task);
		KUNIT_EXPECT_TRUE(test, f->made);
		/* By the new ops, not by the old one as well. */
		KUNIT_EXPECT_EQ(test, atomic_read(&f->scene.probe[0].pre), 1);
	}
	play(test, "release");
}

/*
 * ftrace iterates over its ops in a call that began before the site moves. When another ops has
 * been called in between, the site is in the middle of the last move.
 */
static void between_func(unsigned long ip, unsigned long parent_ip,
			 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct ftrace_test *f = container_of(ops, struct ftrace_test, ops);
	unsigned long end = jiffies + HOLD_TIME;

	if (current != READ_ONCE(f->caller) || in_hardirq())
		return;

	WRITE_ONCE(f->held, true);
	while (!f->made && time_before(READ_ONCE(jiffies), end)) {
		cpu_relax();
		f->made = READ_ONCE(f->moved) && ((unsigned long)READ_ONCE(f->site->ftrace) &
						  KPROBE_FTRACE_MOVES);
	}
	/* An interrupt calls the function as well. */
	irq_work_queue(&f->nested);
	while (irq_work_is_busy(&f->nested) && time_before(READ_ONCE(jiffies), end))
		cpu_relax();
}

static void call_in_interrupt(struct irq_work *work)
{
	u32 (*volatile one)(u32 v) = kp_ft_one;

	one(1);
}

/* A CPU is about to change the owner. When it is the last one, that of the caller has changed. */
static void change_func(unsigned long ip, unsigned long parent_ip,
			struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct ftrace_test *f = container_of(ops, struct ftrace_test, change);
	int i;

	if (raw_smp_processor_id() != f->last || f->go)
		return;
	WRITE_ONCE(f->go, true);
	for (i = 0; i < USEC_PER_SEC && !READ_ONCE(f->held); i++)
		udelay(1);
}

static int held_thread(void *data)
{
	u32 (*volatile one)(u32 v) = kp_ft_one;
	struct ftrace_test *f = data;

	while (!READ_ONCE(f->go) && !kthread_should_stop())
		schedule_timeout_uninterruptible(1);
	if (READ_ONCE(f->go))
		one(1);
	return kp_await_stop();
}

/* A preemptible kernel would wait for the call here, so less could happen during it. */
static void wait_for_no_task(void)
{
}

/*
 * Starts a thread on the first CPU, which will call the function once f->go is set. The rest of the
 * test runs on the last one. ftrace calls the newest ops first, so that of this test comes after
 * one with a claim, and before the shared one.
 */
static void hold_a_call(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	unsigned long ip = site_addr(kp_ft_one);

	KP_SKIP_IF(test, num_online_cpus() < 2, "needs a second CPU");
	/* stop_machine() would wait for the CPU that waits here. */
	KP_SKIP_IF(test, !KPROBES_TEST_HAS_LIVE_FTRACE, "ftrace needs stop_machine()");

	f->last = cpumask_last(cpu_online_mask);
	f->nested = IRQ_WORK_INIT_HARD(call_in_interrupt);
	/* On two, it keeps the shared ops where it is. */
	play(test, "+d2 +a1");
	scoped_guard(mutex, &kprobe_mutex)
		f->site = kprobe_site_at(ip);
	f->ops.func = between_func;
	f->ops.flags = FTRACE_OPS_FL_SAVE_REGS;
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&f->ops, ip, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, register_ftrace_function(&f->ops), 0);

	f->caller = kthread_create_on_cpu(held_thread, f, cpumask_first(cpu_online_mask),
					  "kp_caller/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(f->caller));
	get_task_struct(f->caller);
	wake_up_process(f->caller);
	kunit_activate_static_stub(test, kprobe_ftrace_wait_for_tasks, wait_for_no_task);
	KUNIT_EXPECT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(f->last)), 0);
}

/* The call and the one in the interrupt have counted once each. */
static void end_of_the_call(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	kthread_stop_put(f->caller);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	irq_work_sync(&f->nested);
	KUNIT_EXPECT_TRUE(test, f->held);
	KUNIT_EXPECT_TRUE(test, f->made);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->scene.probe[0].pre), 2);

	kunit_deactivate_static_stub(test, kprobe_ftrace_wait_for_tasks);
	play(test, "release");
}

/*
 * The call begins after its CPU has changed, but before all others have. While it is held, the site
 * moves to the ops with the claim, and begins to move back. Until then, that ops counts.
 */
static void ftrace_call_while_the_site_moves_twice(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	hold_a_call(test);
	f->change.func = change_func;
	KUNIT_EXPECT_EQ(test, ftrace_set_filter(&f->change, "kprobe_ftrace_change_cpu", 24, 1), 0);
	KUNIT_EXPECT_EQ(test, register_ftrace_function(&f->change), 0);

	play(test, "+b1p");
	WRITE_ONCE(f->moved, true);
	play(test, "-b");

	unregister_ftrace_function(&f->change);
	ftrace_free_filter(&f->change);
	end_of_the_call(test);
}

/* The same for a site that begins to move after another one has got a claim. */
static void ftrace_call_while_the_next_site_moves(struct kunit *test)
{
	struct ftrace_test *f = test->priv;
	unsigned long end = jiffies + PATIENCE;

	hold_a_call(test);
	/* As long as this counts a site, the check of the first move does not end. */
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_ftrace_nr_in_shared++;
	play(test, "+c2p");

	WRITE_ONCE(f->moved, true);
	WRITE_ONCE(f->go, true);
	while (!READ_ONCE(f->held) && time_before(jiffies, end))
		cond_resched();
	play(test, "+b1p");
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_ftrace_nr_in_shared--;
	play(test, "-b -c");
	end_of_the_call(test);
}

static int ftrace_test_init(struct kunit *test)
{
	struct ftrace_test *f = kp_zalloc(test, sizeof(*f));

	f->scene = (struct kp_scene) {
		.words	= words,
		.symbol	= { "kp_ft_one", "kp_ft_two", "kp_ft_three" },
		.fn	= { kp_ft_one, kp_ft_two, kp_ft_three },
		.offset	= KPROBES_TEST_HAS_FTRACE_NAMES ? 0 : MCOUNT_INSN_SIZE,
	};
	test->priv = f;
	return 0;
}

static void ftrace_test_exit(struct kunit *test)
{
	struct ftrace_test *f = test->priv;

	if (!f)
		return;
	if (f->ops.flags & FTRACE_OPS_FL_ENABLED)
		foreign_release(test, &f->scene, NULL);
	kp_scene_end(&f->scene);
}

#else /* !CONFIG_KPROBES_ON_FTRACE */

KP_SKIPPED(ftrace_not_configured, "needs KPROBES_ON_FTRACE")

#endif

static struct kunit_case ftrace_cases[] = {
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE_PARAM(ftrace_script, script_gen_params),
	KUNIT_CASE_PARAM(ftrace_nomem_downgrade, downgrade_gen_params),
	KUNIT_CASE(ftrace_nomem_upgrade),
	KUNIT_CASE(ftrace_diverted_by_another),
	KUNIT_CASE(ftrace_refused_after_one_that_joins),
	KUNIT_CASE(ftrace_waits_before_the_owner_changes),
	KUNIT_CASE(ftrace_nomem_old_address_is_unknown),
	KUNIT_CASE(ftrace_late_call_of_the_old_ops),
	KUNIT_CASE(ftrace_call_while_the_site_moves_twice),
	KUNIT_CASE(ftrace_call_while_the_next_site_moves),
#else
	KUNIT_CASE(ftrace_not_configured),
#endif
	{}
};

static struct kunit_suite ftrace_suite = {
	.name		= "kprobes_ftrace",
#ifdef CONFIG_KPROBES_ON_FTRACE
	.init		= ftrace_test_init,
	.exit		= ftrace_test_exit,
#endif
	.test_cases	= ftrace_cases,
};
kunit_test_suite(ftrace_suite);
