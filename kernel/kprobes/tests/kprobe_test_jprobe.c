// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jprobes on a function of this module, written as modules for them were. A number that
 * is written to the parameter "call" is passed to the function, with others; "seen" are
 * the arguments that the handlers saw, and "result" is what the function returned.
 * "disable" disables the jprobes while it is set. Anything written to "outside" calls
 * jprobe_return() where there is no handler.
 */

#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>

static long seen_regs[3], seen_last, result;

noinline long kprobe_test_jprobe_target(long a, long b, long c, long d, long e, long f,
					long g, long h, long i, long last);
noinline long kprobe_test_jprobe_target(long a, long b, long c, long d, long e, long f,
					long g, long h, long i, long last)
{
	OPTIMIZER_HIDE_VAR(a);
	return a * b * c * (d + e + f + g + h + i) / 6 + last * 0;
}

noinline void kprobe_test_jprobe_callee(long last);
noinline void kprobe_test_jprobe_callee(long last)
{
	seen_last = last;
	jprobe_return();
	pr_err("end of %s\n", __func__);
}

/* The names of old modules began with j. */
static long jkprobe_test_jprobe_target(long a, long b, long c, long d, long e, long f, long g,
				       long h, long i, long last)
{
	seen_regs[0] = a;
	seen_regs[1] = b;
	seen_regs[2] = c;

	/* Always end with a call to jprobe_return(). */
	jprobe_return();
	return 0;
}

noinline long kprobe_test_jprobe_handler(long a, long b, long c, long d, long e, long f,
					 long g, long h, long i, long last);
noinline long kprobe_test_jprobe_handler(long a, long b, long c, long d, long e, long f,
					 long g, long h, long i, long last)
{
	kprobe_test_jprobe_callee(last);
	pr_err("end of %s\n", __func__);
	return 0;
}

static struct jprobe my_jprobe = {
	.entry			= jkprobe_test_jprobe_target,
	.kp = {
		.symbol_name	= "kprobe_test_jprobe_target",
	},
};

static struct jprobe my_other_jprobe = {
	.entry			= JPROBE_ENTRY(kprobe_test_jprobe_handler),
	.kp.symbol_name		= "kprobe_test_jprobe_target",
};

static int call_set(const char *val, const struct kernel_param *kp)
{
	long a;
	int ret = kstrtol(val, 0, &a);

	if (!ret)
		result = kprobe_test_jprobe_target(a, a + 1, a + 2, 1, 1, 1, 1, 1, 1,
						   a * (a + 1));
	return ret;
}

static const struct kernel_param_ops call_ops = { .set = call_set };
module_param_cb(call, &call_ops, NULL, 0200);
module_param(result, long, 0400);

static int seen_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%ld %ld %ld %ld\n", seen_regs[0], seen_regs[1], seen_regs[2],
			  seen_last);
}

static const struct kernel_param_ops seen_ops = { .get = seen_get };
module_param_cb(seen, &seen_ops, NULL, 0400);

static int disable_set(const char *val, const struct kernel_param *kp)
{
	bool off;
	int ret = kstrtobool(val, &off);

	if (!ret)
		ret = off ? disable_jprobe(&my_jprobe) : enable_jprobe(&my_jprobe);
	if (!ret)
		ret = off ? disable_jprobe(&my_other_jprobe) : enable_jprobe(&my_other_jprobe);
	return ret;
}

static const struct kernel_param_ops disable_ops = { .set = disable_set };
module_param_cb(disable, &disable_ops, NULL, 0200);

static int outside_set(const char *val, const struct kernel_param *kp)
{
	kprobe_test_jprobe_callee(0);
	return 0;
}

static const struct kernel_param_ops outside_ops = { .set = outside_set };
module_param_cb(outside, &outside_ops, NULL, 0200);

static int __init kprobe_test_jprobe_init(void)
{
	struct jprobe *jps[] = { &my_jprobe, &my_other_jprobe };

	return register_jprobes(jps, ARRAY_SIZE(jps));
}
module_init(kprobe_test_jprobe_init);

static void __exit kprobe_test_jprobe_exit(void)
{
	struct jprobe *jps[] = { &my_jprobe, &my_other_jprobe };

	unregister_jprobes(jps, ARRAY_SIZE(jps));
}
module_exit(kprobe_test_jprobe_exit);

MODULE_DESCRIPTION("Test of jprobes in a module");
MODULE_LICENSE("GPL");
