// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fault handler: the pre handler reads what the caller of vfs_write() wants to be
 * written, from memory of the user that may be missing. Such a read faults, perhaps more
 * than once, which the fault handler counts before the kernel makes the read fail.
 *
 *	insmod kprobe_fault_example.ko
 *	rmmod kprobe_fault_example
 *
 * A fault handler keeps the probe from being optimized, so have one only for a reason.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

static atomic_long_t reads, failed_reads, faults;

/* ssize_t vfs_write(struct file *, const char __user *buf, size_t count, loff_t *) */
static int before(struct kprobe *p, struct pt_regs *regs)
{
	const void __user *buf = (const void __user *)regs_get_kernel_argument(regs, 1);
	size_t count = regs_get_kernel_argument(regs, 2);
	char start[8];

	atomic_long_inc(&reads);
	if (copy_from_user_nofault(start, buf, min(count, sizeof(start))))
		atomic_long_inc(&failed_reads);
	return 0;
}

/*
 * Faults of the probed instruction come here, too. Return 1 after having repaired the cause,
 * or to continue at another instruction pointer.
 */
static int on_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	atomic_long_inc(&faults);
	pr_info_ratelimited("fault %#x at %pS: %s[%d]\n", trapnr,
			    (void *)instruction_pointer(regs), current->comm, task_pid_nr(current));

	/* What copy_from_user_nofault() has prepared for a fault is still to be done. */
	return 0;
}

static struct kprobe probe = {
	.symbol_name	= "vfs_write",
	.pre_handler	= before,
	.fault_handler	= on_fault,
};

static int __init kprobe_fault_example_init(void)
{
	int ret = register_kprobe(&probe);

	/* -EOPNOTSUPP: the architecture has no fault handlers. */
	if (ret) {
		pr_err("cannot probe %s: %d\n", probe.symbol_name, ret);
		return ret;
	}

	pr_info("probe with a fault handler at %pS\n", probe.addr);
	return 0;
}
module_init(kprobe_fault_example_init);

static void __exit kprobe_fault_example_exit(void)
{
	unregister_kprobe(&probe);
	pr_info("probe removed, %ld reads, %ld failed, %ld faults, %lu hits missed\n",
		atomic_long_read(&reads), atomic_long_read(&failed_reads),
		atomic_long_read(&faults), probe.nmissed);
}
module_exit(kprobe_fault_example_exit);

MODULE_DESCRIPTION("Example of a kernel probe with a fault handler");
MODULE_LICENSE("GPL");
