// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probed functions that are called after the notifiers have announced that their code
 * goes away, but before it does: by functions that async_schedule() left behind. The
 * module loader waits for these after the notifiers. The module registers the probes
 * itself, so that it can see when they are gone. The kernel log says what happened.
 *
 * Writing to the parameter "call" calls the functions whose code stays.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/async.h>
#include <linux/iopoll.h>
#include <linux/kprobes-test-arch.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#include "helpers.h"

noinline int kprobe_test_async_traced(int v);
noinline int kprobe_test_async_plain(int v);
noinline int kprobe_test_async_post(int v);
noinline int kprobe_test_async_init_traced(int v);
noinline int kprobe_test_async_init_plain(int v);

/* An ftrace site. */
KP_TRACED(int, kprobe_test_async_traced, v + 3)

/* Gets a jump, where there are any. */
KP_UNTRACED(int, kprobe_test_async_plain, v + 5)

/* Keeps its breakpoint. */
KP_UNTRACED(int, kprobe_test_async_post, v + 7)

noinline __noclone int __init kprobe_test_async_init_traced(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v + 9;
}

noinline __noclone notrace int __init kprobe_test_async_init_plain(int v)
{
	KP_PADDING;
	OPTIMIZER_HIDE_VAR(v);
	return v + 11;
}

static unsigned int hits;

static int count_hit(struct kprobe *kp, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static void post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

/* The first three exist as long as the module. */
#define NR_STAY		3
static struct kprobe probes[] = {
	{ .symbol_name = "kprobe_test_async_traced" },
	{ .symbol_name = "kprobe_test_async_plain" },
	{ .symbol_name = "kprobe_test_async_post", .post_handler = post },
	{ .symbol_name = "kprobe_test_async_init_traced" },
	{ .symbol_name = "kprobe_test_async_init_plain" },
};

static struct kprobe *kps[ARRAY_SIZE(probes)];

static int (* const volatile stay[NR_STAY])(int v) = {
	kprobe_test_async_traced, kprobe_test_async_plain, kprobe_test_async_post,
};

static bool call_stay(void)
{
	return stay[0](1) == 4 && stay[1](1) == 6 && stay[2](1) == 8;
}

static bool __ref call_init(void)
{
	int (* const volatile traced)(int v) = kprobe_test_async_init_traced;
	int (* const volatile plain)(int v) = kprobe_test_async_init_plain;

	return traced(1) == 10 && plain(1) == 12;
}

static bool all_gone(int first, int end)
{
	while (first < end && READ_ONCE(probes[first].flags) & KPROBE_FLAG_GONE)
		first++;
	return first == end;
}

/* The code of these probes goes away; @call calls it once more. */
static void call_when_gone(const char *when, int first, int end, bool (*call)(void))
{
	unsigned int before;
	bool gone, right;

	read_poll_timeout(all_gone, gone, gone, 1000, 20 * USEC_PER_SEC, false, first, end);
	if (!gone) {
		pr_info("%s: the probes are not gone\n", when);
		return;
	}

	before = hits;
	right = call();
	pr_info("%s: %s, %u hits\n", when, right ? "right" : "wrong", hits - before);
}

static void after_init(void *data, async_cookie_t cookie)
{
	call_when_gone("after init", NR_STAY, ARRAY_SIZE(probes), call_init);
}

static void after_exit(void *data, async_cookie_t cookie)
{
	call_when_gone("after exit", 0, NR_STAY, call_stay);
	unregister_kprobes(kps, ARRAY_SIZE(kps));
}

static int call_set(const char *val, const struct kernel_param *kp)
{
	unsigned int before = hits;

	return call_stay() && hits - before == NR_STAY ? 0 : -EINVAL;
}

static const struct kernel_param_ops call_ops = { .set = call_set };
module_param_cb(call, &call_ops, NULL, 0200);
MODULE_PARM_DESC(call, "written to: calls the functions once, fails without their hits");

static int __init kprobe_test_async_init(void)
{
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		probes[i].pre_handler = count_hit;
		kps[i] = &probes[i];
	}
	ret = register_kprobes(kps, ARRAY_SIZE(kps));
	if (ret)
		return ret;

	if (!call_init() || hits != ARRAY_SIZE(probes) - NR_STAY) {
		unregister_kprobes(kps, ARRAY_SIZE(kps));
		return -EINVAL;
	}

	async_schedule(after_init, NULL);
	return 0;
}

static void __exit kprobe_test_async_exit(void)
{
	async_schedule(after_exit, NULL);
}

module_init(kprobe_test_async_init);
module_exit(kprobe_test_async_exit);
MODULE_DESCRIPTION("Calls of probed code that is about to go away");
MODULE_LICENSE("GPL");
