// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the global switch, which is otherwise reached through debugfs.
 */

#include "suite.h"

#include "../arm.h"
#include "../module.h"
#include "../site.h"
#include "helpers.h"
#include "scenario.h"

static KP_UNTRACED(u32, kp_switch_plain, v + 3)
static KP_TRACED(u32, kp_switch_traced, v + 7)

/* What happens on one function, which has a breakpoint or an ftrace site. */
static const struct place {
	struct kp_script	script;
	bool			ftrace;
} places[] = {
	{ { "breakpoint" }, false },
	{ { "ftrace" }, true },
};
KUNIT_ARRAY_PARAM_DESC(place, places, script.name);

#define ON_BOTH(name, text)						\
	{ { name ", breakpoint", text }, false },			\
	{ { name ", ftrace", text }, true }

static const struct place scripts[] = {
	/* What each user has asked for does not change. */
	ON_BOTH("off_and_on",
		"+a1 +b1d armed:a off idle:a hit: enabled:a disabled:b off on armed:a hit:a "
		"on hit:a"),
	ON_BOTH("enable_while_off", "+a1 off:a off on:a hit: on hit:a"),
	ON_BOTH("enable_shared_while_off", "+a1 +b1 off:a off:b off on:b hit: on hit:b"),
	ON_BOTH("disable_while_off", "+a1 off off:a on idle:a hit: on:a hit:a"),
	ON_BOTH("register_while_off", "off +a1 idle:a hit: on hit:a"),
	ON_BOTH("unregister_while_off", "+a1 off -a bare:a on hit:"),
	/* A disarmed site gets its first user with a post handler. */
	ON_BOTH("post_handler_comes_while_off", "+a1 off +b1p on hit:ab -a hit:b -b hit:"),
	/* There is nothing to be removed from the text. And it may be freed in two parts. */
	ON_BOTH("text_of_disabled_probes",
		"+a1d idle:a kill:a gone:a kill:a gone:a on:a!INVAL +b1 hit:b -a hit:b"),
};
KUNIT_ARRAY_PARAM_DESC(script, scripts, script.name);

static struct kp_scene *scene_of(struct kunit *test)
{
	const struct place *p = test->param_value;
	struct kp_scene *s = test->priv;

	s->symbol[0] = p->ftrace ? "kp_switch_traced" : "kp_switch_plain";
	s->fn[0] = p->ftrace ? kp_switch_traced : kp_switch_plain;
	if (p->ftrace && !KPROBES_TEST_HAS_FTRACE_NAMES)
		kunit_skip(test, "probes by name are not on ftrace sites");
	return s;
}

static void switch_script(struct kunit *test)
{
	const struct place *p = test->param_value;

	kp_play(test, scene_of(test), p->script.text);
}

/*
 * Calls in flight return through a trampoline that is itself probed. Nor does another user, who
 * comes and goes, switch it off.
 */
static void switch_leaves_trampolines_on(struct kunit *test)
{
	struct kp_scene *s = scene_of(test);
	struct kprobe_site *site;

	kp_play(test, s, "+a1");
	scoped_guard(mutex, &kprobe_mutex) {
		site = kprobe_site_at((unsigned long)kp_scene_probe(s, 'a')->addr);
		site->trampoline = true;
	}
	kp_play(test, s, "off armed:a hit:a on:a armed:a +b1 off:b armed:a -b armed:a on hit:a");
	scoped_guard(mutex, &kprobe_mutex)
		site->trampoline = false;
}

/*
 * Code that goes away may still be executed for a while after its probes have gone. It
 * must run as if it had never been probed. A post handler prevents jumps.
 */
static void kill_range(struct kunit *test, bool post)
{
	struct kp_scene *s = scene_of(test);
	void *text = kprobe_lookup_name(s->symbol[0], 0);
	u8 before[16];

	memcpy(before, text, sizeof(before));
	kp_play(test, s, post ? "+a1p" : "+a1");
	wait_for_kprobe_optimizer();
	kp_play(test, s, "hit:a");
	KUNIT_EXPECT_MEMNEQ(test, text, before, sizeof(before));
	kp_play(test, s, "kill:a gone:a");
	KUNIT_ASSERT_MEMEQ(test, text, before, sizeof(before));

	/* It is not armed again, and another site takes its address. */
	kp_play(test, s, "hit: on:a!INVAL +b1 hit:b off on hit:b -a hit:b");
}

static void switch_text_whose_probes_are_gone(struct kunit *test)
{
	kill_range(test, true);
}

static void switch_text_whose_jumps_are_gone(struct kunit *test)
{
	kill_range(test, false);
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
	struct kp_sleeper *s = kp_calloc(test, NR_SLEEPERS, sizeof(*s));
	struct kretprobe *rp = kp_zalloc(test, sizeof(*rp));
	int i;

	atomic_set(&returns, 0);
	rp->kp.symbol_name = "kp_switch_sleeps";
	rp->handler = count_return;
	KP_ADD_RETURN(test, rp);

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
}
#endif

static int switch_test_init(struct kunit *test)
{
	test->priv = kp_zalloc(test, sizeof(struct kp_scene));
	return 0;
}

static void switch_test_exit(struct kunit *test)
{
	if (test->priv)
		kp_scene_end(test->priv);
}

static struct kunit_case switch_cases[] = {
	KUNIT_CASE_PARAM(switch_script, script_gen_params),
	KUNIT_CASE_PARAM(switch_leaves_trampolines_on, place_gen_params),
	KUNIT_CASE_PARAM(switch_text_whose_probes_are_gone, place_gen_params),
	KUNIT_CASE_PARAM(switch_text_whose_jumps_are_gone, place_gen_params),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(switch_off_with_calls_in_flight),
#endif
	{}
};

KP_SUITE(switch_cases, .name = "kprobes_switch",
	 .init = switch_test_init, .exit = switch_test_exit);
