// SPDX-License-Identifier: GPL-2.0-only
/*
 * A jprobe: logs the arguments of a function, with a handler that has the same
 * parameters. New code should use a kprobe event, BPF or, where it exists, fprobe
 * instead; see Documentation/trace/kprobes.rst.
 *
 *	insmod jprobe_example.ko
 *	rmmod jprobe_example
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>

/* The parameters are those of vfs_write(). */
static ssize_t on_vfs_write(struct file *file, const char __user *buf, size_t count,
			    loff_t *pos)
{
	pr_info("%s[%d] writes %zu bytes to %pD\n", current->comm, task_pid_nr(current),
		count, file);

	/* Ends the handler. The return statement only satisfies the compiler. */
	jprobe_return();
	return 0;
}

static struct jprobe probe = {
	.kp.symbol_name	= "vfs_write",
	.entry		= JPROBE_ENTRY(on_vfs_write),
};

static int __init jprobe_example_init(void)
{
	int ret = register_jprobe(&probe);

	if (ret) {
		pr_err("cannot probe %s: %d\n", probe.kp.symbol_name, ret);
		return ret;
	}

	pr_info("jprobe at %pS\n", probe.kp.addr);
	return 0;
}
module_init(jprobe_example_init);

static void __exit jprobe_example_exit(void)
{
	unregister_jprobe(&probe);
	pr_info("jprobe removed, %lu hits missed\n", probe.kp.nmissed);
}
module_exit(jprobe_example_exit);

MODULE_DESCRIPTION("Example of a jprobe");
MODULE_LICENSE("GPL");
