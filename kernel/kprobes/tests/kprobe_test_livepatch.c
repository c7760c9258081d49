// SPDX-License-Identifier: GPL-2.0-only
/*
 * A livepatch for kprobe_test_target that is never applied. When the target is loaded,
 * livepatch calls before_patch() before any module notifier has run. It registers a
 * probe in the target; "error" is the result. While "refuse" is set, it then fails, so
 * the target is not loaded, and no notifier learns about it.
 */

#include <linux/kprobes.h>
#include <linux/livepatch.h>
#include <linux/module.h>

static bool refuse = true;
module_param(refuse, bool, 0600);
MODULE_PARM_DESC(refuse, "whether the target is refused");

static int error;
module_param(error, int, 0600);
MODULE_PARM_DESC(error, "what registering a probe in the target returned");

static struct kprobe probe;
static bool registered;

static int before_patch(struct klp_object *obj)
{
	/* Its text does not exist any more. */
	if (registered)
		unregister_kprobe(&probe);

	/*
	 * At a breakpoint: ftrace forgets its call sites in a module that is refused.
	 */
	probe = (struct kprobe){ .symbol_name = "kprobe_test_target:kprobe_test_no_trace" };
	error = register_kprobe(&probe);
	registered = !error;
	return READ_ONCE(refuse) ? -EPERM : 0;
}

static int patched_fn(int v)
{
	return v + 3;
}

static struct klp_func funcs[] = {
	{ .old_name = "kprobe_test_fn", .new_func = patched_fn },
	{ }
};

static struct klp_object objs[] = {
	{
		.name = "kprobe_test_target",
		.funcs = funcs,
		.callbacks.pre_patch = before_patch,
	},
	{ }
};

static struct klp_patch patch = {
	.mod = THIS_MODULE,
	.objs = objs,
};

static int __init kprobe_test_livepatch_init(void)
{
	return klp_enable_patch(&patch);
}

static void __exit kprobe_test_livepatch_exit(void)
{
	if (registered)
		unregister_kprobe(&probe);
}

module_init(kprobe_test_livepatch_init);
module_exit(kprobe_test_livepatch_exit);
MODULE_DESCRIPTION("A livepatch that makes the load of kprobe_test_target fail");
MODULE_LICENSE("GPL");
MODULE_INFO(livepatch, "Y");
