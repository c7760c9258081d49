// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions in a module, to be probed by kprobe_test_driver. Writing to the
 * parameter "call" calls them.
 */

#include <linux/kprobes.h>
#include <linux/module.h>

noinline int kprobe_test_fn(int v);
noinline int kprobe_test_nokprobe(int v);
noinline int kprobe_test_in_section(int v);
noinline int kprobe_test_no_trace(int v);

noinline __noclone int kprobe_test_fn(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v + 3;
}

noinline __noclone int kprobe_test_nokprobe(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v + 5;
}
NOKPROBE_SYMBOL(kprobe_test_nokprobe);

noinline __noclone __kprobes int kprobe_test_in_section(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v + 7;
}

/* Not an ftrace site. */
noinline __noclone notrace int kprobe_test_no_trace(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v + 9;
}

/* Somebody might look at it: so the calls are made. */
static int result;

static int call_set(const char *val, const struct kernel_param *kp)
{
	int v;

	if (kstrtoint(val, 0, &v))
		return -EINVAL;
	v = kprobe_test_fn(v);
	v = kprobe_test_nokprobe(v);
	v = kprobe_test_no_trace(v);
	WRITE_ONCE(result, kprobe_test_in_section(v));
	return 0;
}

static const struct kernel_param_ops call_ops = {
	.set	= call_set,
};
module_param_cb(call, &call_ops, NULL, 0200);
MODULE_PARM_DESC(call, "written to: calls the functions once");

/* In text that is freed when the module has been loaded. */
static noinline __noclone int __init kprobe_test_init_fn(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v + 11;
}

static int __init kprobe_test_target_init(void)
{
	return kprobe_test_init_fn(1) == 12 ? 0 : -EINVAL;
}

static void __exit kprobe_test_target_exit(void)
{
}

module_init(kprobe_test_target_init);
module_exit(kprobe_test_target_exit);
MODULE_DESCRIPTION("Functions to be probed by kprobe_test_driver");
MODULE_LICENSE("GPL");
