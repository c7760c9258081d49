// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the global switch, which is otherwise reached through debugfs.
 */

#include "suite.h"

#include "../arm.h"
#include "../module.h"
#include "../site.h"
#include "helpers.h"

static KP_UNTRACED(u32, kp_switch_plain, v + 3)
static KP_TRACED(u32, kp_switch_traced, v + 7)

struct target {
	const char	*name;
	const char	*symbol;
	u32		(*fn)(u32 v);
	bool		ftrace;
};

static const struct target targets[] = {
	{ "breakpoint",	"kp_switch_plain",  kp_switch_plain,  false },
	{ "ftrace",	"kp_switch_traced", kp_switch_traced, true },
};
KUNIT_ARRAY_PARAM_DESC(target, targets, name);

struct probe {
	struct kprobe	kp;
	unsigned int	pre;
	unsigned int	post;
};

struct switch_test {
	const struct target	*t;
	struct probe		a, b;
};

static int count_pre(struct kprobe *p, struct pt_regs *regs)
{
	container_of(p, struct probe, kp)->pre++;
	return 0;
}

static void count_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	container_of(p, struct probe, kp)->post++;
}

static struct switch_test *begin(struct kunit *test)
{
	struct switch_test *s = test->priv;

	s->t = test->param_value;
	if (s->t->ftrace && !KPROBES_TEST_HAS_FTRACE_NAMES)
		kunit_skip(test, "probes by name are not on ftrace sites");

	s->a.kp.symbol_name = s->t->symbol;
	s->a.kp.pre_handler = count_pre;
	s->b.kp = s->a.kp;
	return s;
}

/* Calls of the function, and how often the handler ran. */
static unsigned int hits_of(struct switch_test *s, struct probe *p)
{
	u32 (*volatile fn)(u32 v) = s->t->fn;
	unsigned int before = p->pre;

	fn(1);
	fn(2);
	return p->pre - before;
}

static enum kprobe_site_state state_of(struct probe *p)
{
	struct kprobe_site *site;

	guard(mutex)(&kprobe_mutex);

	site = kprobe_site_at((unsigned long)p->kp.addr);
	return site ? site->state : NR_KPROBE_SITE_STATES;
}

static void switch_off_and_on(struct kunit *test)
{
	struct switch_test *s = begin(test);

	s->b.kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, register_kprobe(&s->a.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&s->b.kp), 0);
	KUNIT_EXPECT_EQ(test, state_of(&s->a), KPROBE_SITE_ARMED);
	KUNIT_EXPECT_TRUE(test, kprobes_are_armed());

	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_EXPECT_FALSE(test, kprobes_are_armed());
	KUNIT_EXPECT_EQ(test, state_of(&s->a), KPROBE_SITE_READY);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 0);
	/* What each user has asked for does not change. */
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&s->a.kp));
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&s->b.kp));
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);

	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	KUNIT_EXPECT_TRUE(test, kprobes_are_armed());
	KUNIT_EXPECT_EQ(test, state_of(&s->a), KPROBE_SITE_ARMED);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 2);
	KUNIT_EXPECT_EQ(test, s->b.pre, 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 2);

	unregister_kprobe(&s->a.kp);
	unregister_kprobe(&s->b.kp);
}

/* Calls in flight return through a trampoline that is itself probed. */
static void switch_leaves_trampolines_on(struct kunit *test)
{
	struct switch_test *s = begin(test);
	struct kprobe_site *site;

	KUNIT_ASSERT_EQ(test, register_kprobe(&s->a.kp), 0);
	scoped_guard(mutex, &kprobe_mutex) {
		site = kprobe_site_at((unsigned long)s->a.kp.addr);
		site->trampoline = true;
	}
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_EXPECT_EQ(test, state_of(&s->a), KPROBE_SITE_ARMED);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 2);

	/* Nor does another user, who comes and goes, switch it off. */
	KUNIT_EXPECT_EQ(test, enable_kprobe(&s->a.kp), 0);
	KUNIT_EXPECT_EQ(test, state_of(&s->a), KPROBE_SITE_ARMED);
	s->b.kp.addr = s->a.kp.addr;
	s->b.kp.symbol_name = NULL;
	s->b.kp.offset = 0;
	KUNIT_ASSERT_EQ(test, register_kprobe(&s->b.kp), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&s->b.kp), 0);
	KUNIT_EXPECT_EQ(test, state_of(&s->a), KPROBE_SITE_ARMED);
	unregister_kprobe(&s->b.kp);
	KUNIT_EXPECT_EQ(test, state_of(&s->a), KPROBE_SITE_ARMED);

	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 2);
	scoped_guard(mutex, &kprobe_mutex)
		site->trampoline = false;
	unregister_kprobe(&s->a.kp);
}

static void switch_enable_while_off(struct kunit *test)
{
	struct switch_test *s = begin(test);

	KUNIT_ASSERT_EQ(test, register_kprobe(&s->a.kp), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&s->a.kp), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&s->a.kp), 0);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 2);
	unregister_kprobe(&s->a.kp);
}

static void switch_enable_shared_while_off(struct kunit *test)
{
	struct switch_test *s = begin(test);

	KUNIT_ASSERT_EQ(test, register_kprobe(&s->a.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&s->b.kp), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&s->a.kp), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&s->b.kp), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&s->b.kp), 0);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->b), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->b), 2);
	KUNIT_EXPECT_EQ(test, s->a.pre, 0);
	unregister_kprobe(&s->a.kp);
	unregister_kprobe(&s->b.kp);
}

static void switch_disable_while_off(struct kunit *test)
{
	struct switch_test *s = begin(test);

	KUNIT_ASSERT_EQ(test, register_kprobe(&s->a.kp), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&s->a.kp), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	KUNIT_EXPECT_EQ(test, state_of(&s->a), KPROBE_SITE_READY);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&s->a.kp), 0);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 2);
	unregister_kprobe(&s->a.kp);
}

static void switch_register_while_off(struct kunit *test)
{
	struct switch_test *s = begin(test);

	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&s->a.kp), 0);
	KUNIT_EXPECT_EQ(test, state_of(&s->a), KPROBE_SITE_READY);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 2);
	unregister_kprobe(&s->a.kp);
}

static void switch_unregister_while_off(struct kunit *test)
{
	struct switch_test *s = begin(test);

	KUNIT_ASSERT_EQ(test, register_kprobe(&s->a.kp), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	unregister_kprobe(&s->a.kp);
	KUNIT_EXPECT_EQ(test, state_of(&s->a), NR_KPROBE_SITE_STATES);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 0);
}

/* A disarmed site gets its first user with a post handler. */
static void switch_post_handler_comes_while_off(struct kunit *test)
{
	struct switch_test *s = begin(test);

	s->b.kp.post_handler = count_post;
	KUNIT_ASSERT_EQ(test, register_kprobe(&s->a.kp), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&s->b.kp), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 2);
	KUNIT_EXPECT_EQ(test, s->b.pre, 2);
	KUNIT_EXPECT_EQ(test, s->b.post, 2);
	unregister_kprobe(&s->a.kp);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->b), 2);
	unregister_kprobe(&s->b.kp);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->b), 0);
}

/*
 * Code that goes away may still be executed for a while after its probes have gone. It
 * must run as if it had never been probed. @post prevents jumps.
 */
static void kill_range(struct kunit *test, bool post)
{
	struct switch_test *s = begin(test);
	unsigned long addr;
	u8 before[16];

	addr = (unsigned long)kprobe_lookup_name(s->t->symbol, 0);
	memcpy(before, (void *)addr, sizeof(before));
	s->a.kp.post_handler = post ? count_post : NULL;
	KUNIT_ASSERT_EQ(test, register_kprobe(&s->a.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 2);
	KUNIT_EXPECT_MEMNEQ(test, (void *)addr, before, sizeof(before));

	addr = (unsigned long)s->a.kp.addr;
	kprobe_kill_range(addr, addr + 1);
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&s->a.kp));
	addr = (unsigned long)kprobe_lookup_name(s->t->symbol, 0);
	KUNIT_ASSERT_MEMEQ(test, (void *)addr, before, sizeof(before));
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->a), 0);

	/* It is not armed again, and another site takes its address. */
	KUNIT_EXPECT_EQ(test, enable_kprobe(&s->a.kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kprobe(&s->b.kp), 0);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->b), 2);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->b), 2);
	KUNIT_EXPECT_EQ(test, s->a.pre, 2);
	unregister_kprobe(&s->a.kp);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->b), 2);
	unregister_kprobe(&s->b.kp);
}

static void switch_text_whose_probes_are_gone(struct kunit *test)
{
	kill_range(test, true);
}

static void switch_text_whose_jumps_are_gone(struct kunit *test)
{
	kill_range(test, false);
}

/* There is nothing to be removed from the text. And it may be freed in two parts. */
static void switch_text_of_disabled_probes(struct kunit *test)
{
	struct switch_test *s = begin(test);
	unsigned long addr;

	s->a.kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, register_kprobe(&s->a.kp), 0);
	KUNIT_EXPECT_EQ(test, state_of(&s->a), KPROBE_SITE_READY);
	addr = (unsigned long)s->a.kp.addr;
	kprobe_kill_range(addr, addr + 1);
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&s->a.kp));
	kprobe_kill_range(addr, addr + 1);
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&s->a.kp));
	KUNIT_EXPECT_EQ(test, enable_kprobe(&s->a.kp), -EINVAL);

	KUNIT_EXPECT_EQ(test, register_kprobe(&s->b.kp), 0);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->b), 2);
	unregister_kprobe(&s->a.kp);
	KUNIT_EXPECT_EQ(test, hits_of(s, &s->b), 2);
	unregister_kprobe(&s->b.kp);
	KUNIT_EXPECT_EQ(test, s->a.pre, 0);
}

#ifdef CONFIG_KRETPROBES

#define NR_SLEEPERS	3

static noinline __noclone notrace u32 kp_switch_sleeps(struct kp_sleeper *s)
{
	KP_PADDING;
	return kp_sleep(s);
}

static atomic_t returns;

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_inc(&returns);
	return 0;
}

/* Also on architectures whose return trampoline is itself probed. */
static void switch_off_with_calls_in_flight(struct kunit *test)
{
	struct kp_sleeper *s;
	struct kretprobe *rp;
	int i;

	s = kunit_kcalloc(test, NR_SLEEPERS, sizeof(*s), GFP_KERNEL);
	rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_NOT_NULL(test, rp);

	atomic_set(&returns, 0);
	rp->kp.symbol_name = "kp_switch_sleeps";
	rp->handler = count_return;
	KUNIT_ASSERT_EQ(test, register_kretprobe(rp), 0);

	for (i = 0; i < NR_SLEEPERS; i++) {
		if (kp_sleeper_start(&s[i], kp_switch_sleeps))
			break;
	}
	KUNIT_EXPECT_EQ(test, i, NR_SLEEPERS);

	KUNIT_EXPECT_EQ(test, kprobes_arm_all(false), 0);
	while (i--)
		KUNIT_EXPECT_EQ(test, kp_sleeper_wake(&s[i]), KP_SLEEPER_RETURNS);
	/* They were entered before the switch went off. */
	KUNIT_EXPECT_EQ(test, atomic_read(&returns), NR_SLEEPERS);

	KUNIT_EXPECT_EQ(test, kprobes_arm_all(true), 0);
	unregister_kretprobe(rp);
}
#endif

static int switch_test_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct switch_test), GFP_KERNEL);
	return test->priv ? 0 : -ENOMEM;
}

static void switch_test_exit(struct kunit *test)
{
	kprobes_arm_all(true);
}

static struct kunit_case switch_cases[] = {
	KUNIT_CASE_PARAM(switch_off_and_on, target_gen_params),
	KUNIT_CASE_PARAM(switch_leaves_trampolines_on, target_gen_params),
	KUNIT_CASE_PARAM(switch_text_of_disabled_probes, target_gen_params),
	KUNIT_CASE_PARAM(switch_enable_while_off, target_gen_params),
	KUNIT_CASE_PARAM(switch_enable_shared_while_off, target_gen_params),
	KUNIT_CASE_PARAM(switch_disable_while_off, target_gen_params),
	KUNIT_CASE_PARAM(switch_register_while_off, target_gen_params),
	KUNIT_CASE_PARAM(switch_unregister_while_off, target_gen_params),
	KUNIT_CASE_PARAM(switch_post_handler_comes_while_off, target_gen_params),
	KUNIT_CASE_PARAM(switch_text_whose_probes_are_gone, target_gen_params),
	KUNIT_CASE_PARAM(switch_text_whose_jumps_are_gone, target_gen_params),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(switch_off_with_calls_in_flight),
#endif
	{}
};

static struct kunit_suite switch_suite = {
	.name		= "kprobes_switch",
	.init		= switch_test_init,
	.exit		= switch_test_exit,
	.test_cases	= switch_cases,
};
kunit_test_suite(switch_suite);
