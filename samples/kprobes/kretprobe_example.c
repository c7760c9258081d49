// SPDX-License-Identifier: GPL-2.0-only
/*
 * A probe on the return of a function: logs what it returned and how long it took.
 * The entry time is kept in the per-call data of the instance.
 *
 *	insmod kretprobe_example.ko func=vfs_read
 *	rmmod kretprobe_example
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched.h>

static char func[KSYM_NAME_LEN] = "kernel_clone";
module_param_string(func, func, sizeof(func), 0444);
MODULE_PARM_DESC(func, "function whose return is probed, default kernel_clone");

struct call {
	ktime_t	entered;
};

/* Return non-zero to ignore the return of this call. */
static int on_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;

	/* Ignore kernel threads, which have no user address space. */
	if (!current->mm)
		return 1;

	call->entered = ktime_get();
	return 0;
}
NOKPROBE_SYMBOL(on_entry);

static int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;

	pr_info("%s[%d]: %s returned %ld to %pS after %lld ns\n",
		current->comm, task_pid_nr(current), func,
		(long)regs_return_value(regs),
		(void *)get_kretprobe_retaddr(ri),
		ktime_to_ns(ktime_sub(ktime_get(), call->entered)));
	return 0;
}
NOKPROBE_SYMBOL(on_return);

static struct kretprobe probe = {
	.kp.symbol_name	= func,
	.entry_handler	= on_entry,
	.handler	= on_return,
	.data_size	= sizeof(struct call),
	/*
	 * Up to 20 calls are followed at the same time, and others are counted in nmissed.
	 * With 0, the kernel chooses a number, and most kernels raise it when it is too low.
	 */
	.maxactive	= 20,
};

static int __init kretprobe_example_init(void)
{
	int ret = register_kretprobe(&probe);

	if (ret) {
		pr_err("cannot probe the return of %s: %d\n", func, ret);
		return ret;
	}

	pr_info("return probe at %pS\n", probe.kp.addr);
	return 0;
}
module_init(kretprobe_example_init);

static void __exit kretprobe_example_exit(void)
{
	unregister_kretprobe(&probe);
	pr_info("return probe removed, %d calls not followed, %lu hits missed\n",
		probe.nmissed, probe.kp.nmissed);
}
module_exit(kretprobe_example_exit);

MODULE_DESCRIPTION("Example of a return probe");
MODULE_LICENSE("GPL");
