// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the optimizer: the states of a site, and everything that can happen to it
 * in each of them.
 */

#include "suite.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/jump_label.h>

#if KPROBES_TEST_HAS_TEXT_POKE
#include <linux/text-patching.h>
#endif

#include "../arm.h"
#include "../optimizer.h"
#include "../site.h"
#include "../slots.h"
#include "files.h"
#include "helpers.h"
#include "optimizer_helpers.h"

/* A function to be probed. */
KP_UNTRACED(u32, kp_opt_first, v + 3)

KP_UNTRACED(u32, kp_opt_second, v + 5)

struct opt_test {
	struct opt_probe	a, b;
	struct kprobe		post;
	struct task_struct	*holder;
	struct completion	holds;
	bool			may_go;
};

/**
 * kp_opt_count_pre() - pre handler of a struct opt_probe
 * @p: its probe
 * @regs: registers of the hit
 *
 * Context: that of a hit.
 * Return: 0.
 */
int kp_opt_count_pre(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&container_of(p, struct opt_probe, kp)->pre);
	return 0;
}

static struct opt_test *begin(struct kunit *test)
{
	struct opt_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->a.kp = (struct kprobe) {
		.symbol_name	= "kp_opt_first",
		.pre_handler	= kp_opt_count_pre,
	};
	t->b.kp = (struct kprobe) {
		.symbol_name	= "kp_opt_second",
		.pre_handler	= kp_opt_count_pre,
	};
	t->post = (struct kprobe) {
		.symbol_name	= "kp_opt_first",
		.post_handler	= kp_nothing_post,
	};
	init_completion(&t->holds);
	return t;
}

static bool says_optimized(struct kprobe *p)
{
	guard(mutex)(&kprobe_mutex);

	return kprobe_optimized(&site_of(p)->head.kp);
}

/* Two calls of the first function, which are two hits. */
static void expect_hits(struct kunit *test, struct opt_test *t)
{
	u32 (*volatile fn)(u32 v) = kp_opt_first;
	int before = atomic_read(&t->a.pre);

	KUNIT_EXPECT_EQ(test, fn(1), 4);
	KUNIT_EXPECT_EQ(test, fn(2), 5);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->a.pre), before + 2);
}

/*
 * States
 */

static void optimizer_moves_are_the_legal_ones(struct kunit *test)
{
	static const struct {
		enum kprobe_opt_state from, to;
	} legal[] = {
		{ KPROBE_OPT_NONE,	 KPROBE_OPT_QUEUED },
		{ KPROBE_OPT_PREPARED,	 KPROBE_OPT_QUEUED },
		{ KPROBE_OPT_PREPARED,	 KPROBE_OPT_RECLAIMING },
		{ KPROBE_OPT_PREPARED,	 KPROBE_OPT_NONE },
		{ KPROBE_OPT_QUEUED,	 KPROBE_OPT_NONE },
		{ KPROBE_OPT_QUEUED,	 KPROBE_OPT_PREPARED },
		{ KPROBE_OPT_QUEUED,	 KPROBE_OPT_WAITING },
		{ KPROBE_OPT_WAITING,	 KPROBE_OPT_PREPARED },
		{ KPROBE_OPT_WAITING,	 KPROBE_OPT_LIVE },
		{ KPROBE_OPT_LIVE,	 KPROBE_OPT_PREPARED },
		{ KPROBE_OPT_RECLAIMING, KPROBE_OPT_NONE },
	};
	bool want[NR_KPROBE_OPT_STATES][NR_KPROBE_OPT_STATES] = {};
	int from, to, i;

	for (i = 0; i < ARRAY_SIZE(legal); i++)
		want[legal[i].from][legal[i].to] = true;

	for (from = 0; from < NR_KPROBE_OPT_STATES; from++) {
		for (to = 0; to < NR_KPROBE_OPT_STATES; to++)
			KUNIT_EXPECT_EQ_MSG(test, kprobe_opt_may_move(from, to),
					    want[from][to], "%d to %d", from, to);
	}
}

static void optimizer_goes_live(struct kunit *test)
{
	struct opt_test *t = begin(test);

	KUNIT_ASSERT_EQ(test, register_kprobe(&t->a.kp), 0);
	/* Tools look for the flag at once. */
	KUNIT_EXPECT_TRUE(test, says_optimized(&t->a.kp));
	expect_hits(test, t);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	KUNIT_EXPECT_TRUE(test, says_optimized(&t->a.kp));
	expect_hits(test, t);

	KUNIT_EXPECT_EQ(test, disable_kprobe(&t->a.kp), 0);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_PREPARED);
	KUNIT_EXPECT_EQ(test, why_of(&t->a.kp), KPROBE_NOOPT_DISARMED);
	KUNIT_EXPECT_FALSE(test, says_optimized(&t->a.kp));
	KUNIT_EXPECT_EQ(test, enable_kprobe(&t->a.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	expect_hits(test, t);
	unregister_kprobe(&t->a.kp);
	wait_for_kprobe_optimizer();
}

/* What the text holds now: the instruction, the breakpoint or the jump. */
static kprobe_opcode_t text_of(struct kunit *test, struct kprobe *p)
{
	kprobe_opcode_t text = 0;

	KUNIT_EXPECT_EQ(test, copy_from_kernel_nofault(&text, p->addr, sizeof(text)), 0);
	return text;
}

/*
 * The text has changed, not only the state. Without a breakpoint, hits take the
 * detour.
 */
static void optimizer_jump_in_the_text(struct kunit *test)
{
	kprobe_opcode_t insn, breakpoint, jump;
	struct opt_test *t = begin(test);
	struct kprobe *kp = &t->a.kp;

	kp->flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, register_kprobe(kp), 0);
	insn = text_of(test, kp);
	kprobe_opt_allow(false);
	KUNIT_EXPECT_EQ(test, enable_kprobe(kp), 0);
	breakpoint = text_of(test, kp);
	kprobe_opt_allow(true);
	wait_for_kprobe_optimizer();
	jump = text_of(test, kp);
	KUNIT_EXPECT_TRUE(test, breakpoint != insn);
	KUNIT_EXPECT_TRUE(test, jump != insn);
	KUNIT_EXPECT_TRUE(test, jump != breakpoint);
	expect_hits(test, t);

	kprobe_opt_allow(false);
	KUNIT_EXPECT_TRUE(test, text_of(test, kp) == breakpoint);
	expect_hits(test, t);
	kprobe_opt_allow(true);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, text_of(test, kp) == jump);
	expect_hits(test, t);
	unregister_kprobe(kp);
	KUNIT_EXPECT_TRUE(test, text_of(test, kp) == insn);
	KUNIT_EXPECT_EQ(test, kp_opt_first(1), 4);
}

/* Tools parse the tag. */
static void optimizer_files_say_so(struct kunit *test)
{
	struct opt_test *t = begin(test);

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_DEBUG_FS), "needs debugfs");

	KP_REGISTER_AND_WAIT(test, &t->a.kp);
	KUNIT_EXPECT_TRUE(test, kp_file_says(test, "kprobes/list", "kp_opt_first+",
					     "[OPTIMIZED]"));
	KUNIT_EXPECT_TRUE(test, kp_file_says(test, "kprobes/sites", "kp_opt_first+",
					     "kind=optimized "));
	KUNIT_EXPECT_TRUE(test, kp_file_says(test, "kprobes/sites", "kp_opt_first+",
					     " opt=live why=-"));

	KUNIT_EXPECT_EQ(test, register_kprobe(&t->post), 0);
	KUNIT_EXPECT_FALSE(test, kp_file_says(test, "kprobes/list", "kp_opt_first+",
					      "[OPTIMIZED]"));
	KUNIT_EXPECT_TRUE(test, kp_file_says(test, "kprobes/sites", "kp_opt_first+",
					     " opt=prepared why=post-handler"));
	unregister_kprobe(&t->post);
	unregister_kprobe(&t->a.kp);
	wait_for_kprobe_optimizer();
}

static struct cred *creds_without_syslog(struct kunit *test)
{
	struct cred *cred = prepare_creds();

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cap_lower(cred->cap_effective, CAP_SYSLOG);
	return cred;
}

/* The address that a file shows for the first function. */
static unsigned long shown_address(struct kunit *test, const struct cred *opener,
				   const struct cred *reader, const char *name)
{
	unsigned long addr = 1;
	char *buf, *rest, *line;

	buf = kunit_kzalloc(test, KP_FILE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_EXPECT_GT(test, kp_read_debugfs(opener, reader, name, buf, KP_FILE_SIZE - 1), 0);
	for (rest = buf; (line = strsep(&rest, "\n")); ) {
		if (strstr(line, "kp_opt_first+"))
			KUNIT_EXPECT_EQ(test, sscanf(line, "%lx ", &addr), 1);
	}
	kunit_kfree(test, buf);
	return addr;
}

/* Does the blacklist show any address? */
static bool blacklist_tells(struct kunit *test, const struct cred *opener)
{
	unsigned long start, end, reported = 0;
	char *buf, *rest, *line;

	buf = kunit_kzalloc(test, KP_FILE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_EXPECT_GT(test, kp_read_debugfs(opener, NULL, "kprobes/blacklist", buf,
					      KP_FILE_SIZE - 1), 0);
	for (rest = buf; (line = strsep(&rest, "\n")); ) {
		if (sscanf(line, "0x%lx-0x%lx", &start, &end) == 2)
			reported |= start | end;
	}
	kunit_kfree(test, buf);
	return reported;
}

/*
 * Addresses are shown if whoever opens the file may see them; who reads it does not
 * matter.
 */
static void optimizer_addresses_in_files(struct kunit *test)
{
	static const char * const files[] = { "kprobes/list", "kprobes/sites" };
	struct opt_test *t = begin(test);
	int i, restrict_before = kptr_restrict;
	unsigned long addr;
	struct cred *low;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_DEBUG_FS), "needs debugfs");

	KUNIT_ASSERT_EQ(test, register_kprobe(&t->a.kp), 0);
	addr = (unsigned long)t->a.kp.addr;
	low = creds_without_syslog(test);
	kptr_restrict = 1;
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		KUNIT_EXPECT_EQ(test, shown_address(test, NULL, NULL, files[i]), addr);
		KUNIT_EXPECT_EQ(test, shown_address(test, low, NULL, files[i]), 0);
		KUNIT_EXPECT_EQ(test, shown_address(test, NULL, low, files[i]), addr);
	}
	KUNIT_EXPECT_TRUE(test, blacklist_tells(test, NULL));
	KUNIT_EXPECT_FALSE(test, blacklist_tells(test, low));
	/* Hidden from every reader. */
	kptr_restrict = 2;
	for (i = 0; i < ARRAY_SIZE(files); i++)
		KUNIT_EXPECT_EQ(test, shown_address(test, NULL, NULL, files[i]), 0);
	KUNIT_EXPECT_FALSE(test, blacklist_tells(test, NULL));
	kptr_restrict = restrict_before;
	abort_creds(low);
	unregister_kprobe(&t->a.kp);
}

static void optimizer_follows_global_switch(struct kunit *test)
{
	struct opt_test *t = begin(test);
	int before;

	KP_REGISTER_AND_WAIT(test, &t->a.kp);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_PREPARED);
	before = atomic_read(&t->a.pre);
	kp_opt_first(1);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->a.pre), before);

	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	expect_hits(test, t);
	unregister_kprobe(&t->a.kp);
}

static void optimizer_reverts_when_switched_off(struct kunit *test)
{
	struct opt_test *t = begin(test);

	KP_REGISTER_AND_WAIT(test, &t->a.kp);
	kprobe_opt_allow(false);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_PREPARED);
	KUNIT_EXPECT_EQ(test, why_of(&t->a.kp), KPROBE_NOOPT_OFF);
	KUNIT_EXPECT_FALSE(test, says_optimized(&t->a.kp));
	expect_hits(test, t);

	/* A probe that is registered in the meantime. */
	KP_REGISTER_AND_WAIT(test, &t->b.kp);
	KUNIT_EXPECT_EQ(test, state_of(&t->b.kp), KPROBE_OPT_NONE);
	KUNIT_EXPECT_EQ(test, why_of(&t->b.kp), KPROBE_NOOPT_OFF);

	kprobe_opt_allow(true);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	KUNIT_EXPECT_EQ(test, state_of(&t->b.kp), KPROBE_OPT_LIVE);
	expect_hits(test, t);
	unregister_kprobe(&t->b.kp);
	unregister_kprobe(&t->a.kp);
}

static void optimizer_reverts_for_post_handler(struct kunit *test)
{
	struct opt_test *t = begin(test);

	KUNIT_ASSERT_EQ(test, register_kprobe(&t->post), 0);
	KP_REGISTER_AND_WAIT(test, &t->a.kp);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_NONE);
	KUNIT_EXPECT_EQ(test, why_of(&t->a.kp), KPROBE_NOOPT_POST);
	/* Being disabled makes no difference. */
	KUNIT_EXPECT_EQ(test, disable_kprobe(&t->post), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, why_of(&t->a.kp), KPROBE_NOOPT_POST);

	unregister_kprobe(&t->post);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	expect_hits(test, t);
	unregister_kprobe(&t->a.kp);
}

/* Nothing that prevents a jump is left at the site. */
static void expect_live_again(struct kunit *test, struct opt_test *t)
{
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	expect_hits(test, t);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&t->a.kp), 0);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_PREPARED);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&t->a.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	expect_hits(test, t);
}

/* An error undoes what a batch has done to other probes. */
static void optimizer_failed_batch(struct kunit *test)
{
	struct opt_test *t = begin(test);
	struct kprobe bad = { .addr = (kprobe_opcode_t *)&bad };
	struct kprobe *kps[] = { &t->post, &bad };

	KP_REGISTER_AND_WAIT(test, &t->a.kp);
	KUNIT_EXPECT_NE(test, register_kprobes(kps, 2), 0);
	expect_live_again(test, t);
	unregister_kprobe(&t->a.kp);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
static KP_TRACED(u32, kp_opt_claimed, v + 9)

static void claiming_func(unsigned long ip, unsigned long parent_ip,
			  struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

/* Another user claims kp_opt_claimed(), so a probe there will be refused. */
struct claim {
	struct ftrace_ops	ops;
	struct kprobe		refused;
};

static struct claim *claim(struct kunit *test)
{
	unsigned long ip = ftrace_location((unsigned long)
				dereference_symbol_descriptor(kp_opt_claimed));
	struct claim *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->refused.addr = (kprobe_opcode_t *)ip;
	c->refused.post_handler = kp_nothing_post;
	c->ops.func = claiming_func;
	c->ops.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY;
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&c->ops, ip, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_function(&c->ops), 0);
	return c;
}

static void disclaim(struct claim *c)
{
	unregister_ftrace_function(&c->ops);
	ftrace_free_filter(&c->ops);
}

/* Only arming fails: until then, the post handler was a user of the site. */
static void optimizer_failed_arming(struct kunit *test)
{
	struct opt_test *t = begin(test);
	struct claim *c = claim(test);
	struct kprobe *kps[] = { &t->post, &c->refused };

	KUNIT_EXPECT_EQ(test, register_kprobe(&t->a.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), -EBUSY);
	disclaim(c);
	expect_live_again(test, t);
	unregister_kprobe(&t->a.kp);
}

/* A neighbour whose registration fails no longer blocks a jump. */
static void optimizer_failed_neighbour(struct kunit *test)
{
	struct opt_test *t = begin(test);
	struct claim *c = claim(test);
	/* Unregistered from the end: when the second goes, the first is still there. */
	struct kprobe *kps[] = { &t->b.kp, &t->post, &c->refused };
	int i;

	KUNIT_EXPECT_EQ(test, register_kprobe(&t->a.kp), 0);
	t->b.kp.symbol_name = NULL;
	t->b.kp.addr = t->a.kp.addr + 1;
	for (i = 0; i < 5; i++) {
		/* Over an existing jump, and over one that is to come. */
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), -EBUSY);
		kprobe_opt_allow(false);
		kprobe_opt_allow(true);
		KUNIT_EXPECT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), -EBUSY);
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	}
	disclaim(c);
	expect_live_again(test, t);
	unregister_kprobe(&t->a.kp);
}
#else
KP_SKIPPED(optimizer_failed_arming, "needs KPROBES_ON_FTRACE")

KP_SKIPPED(optimizer_failed_neighbour, "needs KPROBES_ON_FTRACE")
#endif

/* While a grace period runs. A thread that does not leave its CPU holds it up. */

static int holder_thread(void *data)
{
	struct opt_test *t = data;
	unsigned long end = jiffies + 10 * HZ;

	complete(&t->holds);
	while (!READ_ONCE(t->may_go) && time_before(jiffies, end))
		cpu_relax();
	return READ_ONCE(t->may_go) ? 0 : -ETIMEDOUT;
}

static void hold_grace_periods(struct kunit *test, struct opt_test *t)
{
	KP_SKIP_IF(test, num_online_cpus() < 2, "needs two CPUs");

	wait_for_kprobe_optimizer();
	t->holder = kthread_create(holder_thread, t, "kp_opt_holder");
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->holder));
	get_task_struct(t->holder);
	kthread_bind(t->holder, cpumask_last(cpu_online_mask));
	/* Stay on another CPU. */
	set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));
	wake_up_process(t->holder);
	wait_for_completion(&t->holds);
}

static void expect_state_soon(struct kunit *test, struct opt_test *t,
			      enum kprobe_opt_state state)
{
	unsigned long end = jiffies + 8 * HZ;

	while (state_of(&t->a.kp) != state && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), state);
}

/* Returns when a site of the test is WAITING, and keeps it there. */
static void hold_waiting(struct kunit *test, struct opt_test *t)
{
	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_HAVE_OPTPROBES_RANGE),
		   "jumps of one instruction do not wait");

	hold_grace_periods(test, t);
	KUNIT_EXPECT_EQ(test, register_kprobe(&t->a.kp), 0);
	expect_state_soon(test, t, KPROBE_OPT_WAITING);
}

static void release(struct kunit *test, struct opt_test *t)
{
	WRITE_ONCE(t->may_go, true);
	/* It was there all the time. */
	KUNIT_EXPECT_EQ(test, kthread_stop(t->holder), 0);
	put_task_struct(t->holder);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	wait_for_kprobe_optimizer();
}

/* A jump that replaces only the probed instruction is written at once. */
static void optimizer_waits_for_long_jumps_only(struct kunit *test)
{
	struct opt_test *t = begin(test);

	hold_grace_periods(test, t);
	KUNIT_EXPECT_EQ(test, register_kprobe(&t->a.kp), 0);
	expect_state_soon(test, t, IS_ENABLED(CONFIG_HAVE_OPTPROBES_RANGE) ? KPROBE_OPT_WAITING :
									     KPROBE_OPT_LIVE);
	expect_hits(test, t);
	release(test, t);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	expect_hits(test, t);
	unregister_kprobe(&t->a.kp);
}

static DEFINE_STATIC_KEY_FALSE(opt_key);

/* The locks that a registration, a static key, a module and tracing need. */
static void take_all_locks(struct kunit *test)
{
	static_branch_enable(&opt_key);
	KUNIT_EXPECT_TRUE(test, static_branch_unlikely(&opt_key));
	static_branch_disable(&opt_key);
	KUNIT_EXPECT_FALSE(test, static_branch_unlikely(&opt_key));

	mutex_lock(&kprobe_mutex);
	mutex_unlock(&kprobe_mutex);
	mutex_lock(&text_mutex);
	mutex_unlock(&text_mutex);
}

/* Hits are handled in the meantime. */
static void optimizer_wait_holds_no_lock(struct kunit *test)
{
	struct opt_test *t = begin(test);

	hold_waiting(test, t);
	expect_hits(test, t);
	KUNIT_EXPECT_EQ(test, register_kprobe(&t->b.kp), 0);
	KUNIT_EXPECT_EQ(test, state_of(&t->b.kp), KPROBE_OPT_QUEUED);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&t->b.kp), 0);
	KUNIT_EXPECT_EQ(test, state_of(&t->b.kp), KPROBE_OPT_NONE);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&t->b.kp), 0);
	take_all_locks(test);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_WAITING);
	expect_hits(test, t);

	release(test, t);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	KUNIT_EXPECT_EQ(test, state_of(&t->b.kp), KPROBE_OPT_LIVE);
	expect_hits(test, t);
	unregister_kprobe(&t->b.kp);
	unregister_kprobe(&t->a.kp);
}

static void optimizer_cancel_waiting(struct kunit *test)
{
	struct opt_test *t = begin(test);

	hold_waiting(test, t);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&t->a.kp), 0);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_PREPARED);
	/* This grace period is not the one that it needs. */
	KUNIT_EXPECT_EQ(test, enable_kprobe(&t->a.kp), 0);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_QUEUED);
	KUNIT_EXPECT_TRUE(test, says_optimized(&t->a.kp));
	expect_hits(test, t);

	release(test, t);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	expect_hits(test, t);
	unregister_kprobe(&t->a.kp);
}

static void optimizer_post_handler_while_waiting(struct kunit *test)
{
	struct opt_test *t = begin(test);

	hold_waiting(test, t);
	KUNIT_EXPECT_EQ(test, register_kprobe(&t->post), 0);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_PREPARED);
	KUNIT_EXPECT_EQ(test, why_of(&t->a.kp), KPROBE_NOOPT_POST);
	expect_hits(test, t);
	release(test, t);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_PREPARED);
	unregister_kprobe(&t->post);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	unregister_kprobe(&t->a.kp);
}

static void optimizer_switched_off_while_waiting(struct kunit *test)
{
	struct opt_test *t = begin(test);

	hold_waiting(test, t);
	kprobe_opt_allow(false);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_PREPARED);
	expect_hits(test, t);
	kprobe_opt_allow(true);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_QUEUED);
	expect_hits(test, t);
	release(test, t);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	unregister_kprobe(&t->a.kp);
}

static void optimizer_global_switch_while_waiting(struct kunit *test)
{
	struct opt_test *t = begin(test);

	hold_waiting(test, t);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_PREPARED);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_QUEUED);
	expect_hits(test, t);
	release(test, t);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	unregister_kprobe(&t->a.kp);
}

#if KPROBES_TEST_HAS_TEXT_POKE
/* Another one-byte instruction that does not change the result, or the nop again. */
static void poke_byte(struct opt_test *t, unsigned int offset, u8 byte)
{
	guard(mutex)(&text_mutex);
	text_poke(t->a.kp.addr + offset, &byte, 1);
	smp_text_poke_sync_each_cpu();
}

/*
 * The detour has copies of instructions that other code may patch in the meantime. Then
 * there must be no jump, which would execute the old ones.
 */
static void optimizer_text_changed_while_waiting(struct kunit *test)
{
	struct opt_test *t = begin(test);
	u8 *text;

	hold_waiting(test, t);
	text = (u8 *)t->a.kp.addr;
	KUNIT_EXPECT_EQ(test, text[3], 0x90);
	poke_byte(t, 3, 0xf8);				/* clc */
	expect_hits(test, t);
	release(test, t);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_PREPARED);
	KUNIT_EXPECT_EQ(test, why_of(&t->a.kp), KPROBE_NOOPT_CHANGED);
	expect_hits(test, t);

	poke_byte(t, 3, 0x90);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&t->a.kp), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&t->a.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	expect_hits(test, t);
	unregister_kprobe(&t->a.kp);
}
#endif

/* The site, its detour and the worker are released in the right order. */
static void optimizer_unregister_at_once(struct kunit *test)
{
	struct opt_test *t = begin(test);
	int i;

	for (i = 0; i < 20; i++) {
		KUNIT_ASSERT_EQ(test, register_kprobe(&t->a.kp), 0);
		if (i % 2)
			schedule_timeout_uninterruptible(i / 4);
		expect_hits(test, t);
		unregister_kprobe(&t->a.kp);
		t->a.kp.addr = NULL;
		t->a.kp.flags = 0;
	}
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kp_opt_first(1), 4);
}

/*
 * Init text is freed without being disarmed first. A probe there that has just been
 * registered is in the queue.
 */
static void optimizer_kills_what_is_queued(struct kunit *test)
{
	struct opt_test *t = begin(test);
	struct kprobe_site *site;
	LIST_HEAD(revert);

	KP_REGISTER_AND_WAIT(test, &t->a.kp);

	/* With the mutex held, the worker cannot get at it. */
	scoped_guard(mutex, &kprobe_mutex) {
		site = site_of(&t->a.kp);
		KUNIT_EXPECT_EQ(test, site->opt, KPROBE_OPT_LIVE);
		list_move_tail(&site->head.op.list, &revert);
		kprobe_opt_revert(&revert);
		KUNIT_EXPECT_EQ(test, site->opt, KPROBE_OPT_PREPARED);
		kprobe_opt_update(site, NULL);
		KUNIT_EXPECT_EQ(test, site->opt, KPROBE_OPT_QUEUED);

		site->state = KPROBE_SITE_GONE;
		kprobe_opt_update(site, NULL);
		KUNIT_EXPECT_EQ(test, site->opt, KPROBE_OPT_PREPARED);
		KUNIT_EXPECT_EQ(test, site->opt_why, KPROBE_NOOPT_DISARMED);
		KUNIT_EXPECT_TRUE(test, list_empty(&site->head.op.list));
		/* Nothing is left to be cancelled. */
		kprobe_opt_update(site, NULL);
		KUNIT_EXPECT_EQ(test, site->opt, KPROBE_OPT_PREPARED);
		site->state = KPROBE_SITE_ARMED;
		kprobe_opt_update(site, NULL);
	}

	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	expect_hits(test, t);
	unregister_kprobe(&t->a.kp);
}

/* Not even hits after disable_kprobe() and before the text changes. */
static void optimizer_reverts_disabled_probe(struct kunit *test)
{
	struct opt_test *t = begin(test);
	struct opt_probe other = t->a;
	int before;

	KUNIT_ASSERT_EQ(test, register_kprobe(&t->a.kp), 0);
	KP_REGISTER_AND_WAIT(test, &other.kp);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);

	/* One of two users: it is still a jump. */
	KUNIT_EXPECT_EQ(test, disable_kprobe(&other.kp), 0);
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	before = atomic_read(&other.pre);
	expect_hits(test, t);
	KUNIT_EXPECT_EQ(test, atomic_read(&other.pre), before);

	KUNIT_EXPECT_EQ(test, disable_kprobe(&t->a.kp), 0);
	before = atomic_read(&t->a.pre);
	KUNIT_EXPECT_EQ(test, kp_opt_first(1), 4);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->a.pre), before);
	unregister_kprobe(&other.kp);
	unregister_kprobe(&t->a.kp);
}

static void settle(void)
{
	wait_for_kprobe_optimizer();
	kprobe_slots_flush(&kprobe_optinsn_slots);
}

/* Slots of sites that are refused, that are not used, and that are. */
static void optimizer_no_slot_leaks(struct kunit *test)
{
	struct opt_test *t = begin(test);
	unsigned int before;
	int i;

	settle();
	before = kprobe_slots_taken(&kprobe_optinsn_slots);

	for (i = 0; i < 20; i++) {
		KUNIT_ASSERT_EQ(test, register_kprobe(&t->post), 0);
		KP_REGISTER_AND_WAIT(test, &t->a.kp);
		unregister_kprobe(&t->post);
		if (i % 2)
			wait_for_kprobe_optimizer();
		unregister_kprobe(&t->a.kp);
		t->a.kp.addr = NULL;
		t->a.kp.flags = 0;
		t->post.addr = NULL;
		t->post.flags = 0;
	}

	settle();
	KUNIT_EXPECT_EQ(test, kprobe_slots_taken(&kprobe_optinsn_slots), before);
}

/* What the architecture has once found is found out again after 0 and 1 in the sysctl. */
static void optimizer_examines_again_when_switched_on(struct kunit *test)
{
	struct opt_test *t = begin(test);

	t->a.kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_EXPECT_EQ(test, register_kprobe(&t->a.kp), 0);
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_site_of_user(&t->a.kp)->head.op.why = KPROBE_NOOPT_UNDECODED;
	KUNIT_EXPECT_EQ(test, enable_kprobe(&t->a.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, why_of(&t->a.kp), KPROBE_NOOPT_UNDECODED);

	kprobe_opt_allow(false);
	kprobe_opt_allow(true);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	expect_hits(test, t);
	unregister_kprobe(&t->a.kp);
}

static void *(*real_alloc)(void);
static void *(*real_alloc_near)(unsigned long start);

static void *alloc_nothing(void)
{
	return NULL;
}

static void *alloc_nothing_near(unsigned long start)
{
	return NULL;
}

/* Take all free slots, so that the next one would need a page. */
static unsigned int take_all_slots(struct kunit *test, kprobe_opcode_t **slot, unsigned int max)
{
	unsigned int nr = 0;

	scoped_guard(mutex, &kprobe_optinsn_slots.mutex) {
		real_alloc = kprobe_optinsn_slots.alloc;
		real_alloc_near = kprobe_optinsn_slots.alloc_near;
		kprobe_optinsn_slots.alloc = alloc_nothing;
		kprobe_optinsn_slots.alloc_near = alloc_nothing_near;
	}
	while (nr < max && (slot[nr] = get_optinsn_slot_near((unsigned long)kp_opt_first)))
		nr++;
	KUNIT_EXPECT_LT(test, nr, max);
	return nr;
}

static void give_back_slots(kprobe_opcode_t **slot, unsigned int nr)
{
	scoped_guard(mutex, &kprobe_optinsn_slots.mutex) {
		kprobe_optinsn_slots.alloc = real_alloc;
		kprobe_optinsn_slots.alloc_near = real_alloc_near;
	}
	while (nr)
		free_optinsn_slot(slot[--nr], 0);
}

/* It stays a breakpoint until slots are free again, and some time has passed. */
static void optimizer_does_without_slot(struct kunit *test)
{
	unsigned int max = 4 * PAGE_SIZE / kprobe_optinsn_slots.slot_size, nr;
	struct opt_test *t = begin(test);
	kprobe_opcode_t **slot;

	slot = kunit_kcalloc(test, max, sizeof(*slot), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	settle();
	nr = take_all_slots(test, slot, max);
	KUNIT_EXPECT_EQ(test, register_kprobe(&t->a.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_NONE);
	KUNIT_EXPECT_EQ(test, why_of(&t->a.kp), KPROBE_NOOPT_NOMEM);
	KUNIT_EXPECT_FALSE(test, says_optimized(&t->a.kp));
	if (IS_ENABLED(CONFIG_DEBUG_FS))
		KUNIT_EXPECT_TRUE(test, kp_file_says(test, "kprobes/sites", "kp_opt_first+",
						     " opt=none why=no-memory"));
	expect_hits(test, t);

	give_back_slots(slot, nr);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&kprobe_opt_retry_work));
	mod_delayed_work(system_dfl_wq, &kprobe_opt_retry_work, 0);
	flush_delayed_work(&kprobe_opt_retry_work);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&t->a.kp), KPROBE_OPT_LIVE);
	expect_hits(test, t);
	unregister_kprobe(&t->a.kp);
}

/* It can be probed while it exists, but is not worth a jump. */
static noinline int __init __used notrace kp_opt_in_init_text(void)
{
	KP_PADDING;
	return 0;
}

static void optimizer_leaves_init_text_alone(struct kunit *test)
{
	struct kprobe p = { .symbol_name = "kp_opt_in_init_text" };
	int err = register_kprobe(&p);

	KP_SKIP_IF(test, err == -ENOENT, "the init text has been freed");
	KUNIT_ASSERT_EQ(test, err, 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&p), KPROBE_OPT_NONE);
	KUNIT_EXPECT_EQ(test, why_of(&p), KPROBE_NOOPT_INIT);
	unregister_kprobe(&p);
}

/**
 * kp_opt_init() - init function of the suites of the optimizer
 * @test: the case
 *
 * If the architecture cannot optimize these functions, there is nothing to test.
 *
 * Context: process context, sleeps.
 * Return: 0, or -EINVAL if the probe is refused.
 */
int kp_opt_init(struct kunit *test)
{
	struct kprobe p = { .symbol_name = "kp_opt_first", .pre_handler = kp_opt_count_pre };
	struct opt_probe probe = { .kp = p };
	u8 why;

	if (register_kprobe(&probe.kp))
		return -EINVAL;
	wait_for_kprobe_optimizer();
	why = state_of(&probe.kp) == KPROBE_OPT_LIVE ? KPROBE_NOOPT_NONE : why_of(&probe.kp);
	unregister_kprobe(&probe.kp);
	KP_SKIP_IF(test, why, "the function is not optimized here: %u", why);
	return 0;
}

static struct kunit_case optimizer_cases[] = {
	KUNIT_CASE(optimizer_moves_are_the_legal_ones),
	KUNIT_CASE(optimizer_goes_live),
	KUNIT_CASE(optimizer_jump_in_the_text),
	KUNIT_CASE(optimizer_files_say_so),
	KUNIT_CASE_SLOW(optimizer_addresses_in_files),
	KUNIT_CASE(optimizer_follows_global_switch),
	KUNIT_CASE(optimizer_reverts_when_switched_off),
	KUNIT_CASE(optimizer_reverts_for_post_handler),
	KUNIT_CASE(optimizer_failed_batch),
	KUNIT_CASE(optimizer_failed_arming),
	KUNIT_CASE(optimizer_failed_neighbour),
	KUNIT_CASE(optimizer_waits_for_long_jumps_only),
	KUNIT_CASE(optimizer_wait_holds_no_lock),
	KUNIT_CASE(optimizer_cancel_waiting),
	KUNIT_CASE(optimizer_post_handler_while_waiting),
	KUNIT_CASE(optimizer_switched_off_while_waiting),
	KUNIT_CASE(optimizer_global_switch_while_waiting),
#if KPROBES_TEST_HAS_TEXT_POKE
	KUNIT_CASE(optimizer_text_changed_while_waiting),
#endif
	KUNIT_CASE(optimizer_unregister_at_once),
	KUNIT_CASE(optimizer_kills_what_is_queued),
	KUNIT_CASE(optimizer_reverts_disabled_probe),
	KUNIT_CASE(optimizer_no_slot_leaks),
	KUNIT_CASE(optimizer_examines_again_when_switched_on),
	KUNIT_CASE(optimizer_does_without_slot),
	KUNIT_CASE(optimizer_leaves_init_text_alone),
	{}
};

static struct kunit_suite optimizer_suite = {
	.name		= "kprobes_optimizer",
	.init		= kp_opt_init,
	.test_cases	= optimizer_cases,
};
kunit_test_suite(optimizer_suite);
