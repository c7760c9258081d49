// SPDX-License-Identifier: GPL-2.0-only
/*
 * A probe on one instruction: logs the task that hits it, and the instruction
 * pointer before and after.
 *
 *	insmod kprobe_example.ko symbol=vfs_open offset=0 post=0
 *	rmmod kprobe_example
 *
 * By default there is a post handler, to show what it sees. It keeps the probe from
 * being optimized, and where ftrace calls the probe, it claims the function exclusively.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>

static char symbol[KSYM_NAME_LEN] = "kernel_clone";
module_param_string(symbol, symbol, sizeof(symbol), 0444);
MODULE_PARM_DESC(symbol, "function to probe, default kernel_clone");

static unsigned int offset;
module_param(offset, uint, 0444);
MODULE_PARM_DESC(offset, "offset of the instruction in the function, default 0");

static bool post = true;
module_param(post, bool, 0444);
MODULE_PARM_DESC(post, "have a post handler, which rules out a jump, default Y");

/* Preemption is off, and interrupts may be: do not sleep. */
static int before(struct kprobe *p, struct pt_regs *regs)
{
	pr_info("before %pS: %s[%d], ip %pS\n", p->addr, current->comm,
		task_pid_nr(current), (void *)instruction_pointer(regs));

	/* Execute the probed instruction. */
	return 0;
}

static void after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	pr_info("after %pS: ip %pS\n", p->addr,
		(void *)instruction_pointer(regs));
}

static struct kprobe probe = {
	.symbol_name	= symbol,
	.pre_handler	= before,
};

static int __init kprobe_example_init(void)
{
	int ret;

	probe.offset = offset;
	if (post)
		probe.post_handler = after;

	ret = register_kprobe(&probe);
	if (ret) {
		pr_err("cannot probe %s+0x%x: %d\n", symbol, offset, ret);
		return ret;
	}

	pr_info("probe at %pS\n", probe.addr);
	return 0;
}
module_init(kprobe_example_init);

static void __exit kprobe_example_exit(void)
{
	unregister_kprobe(&probe);
	pr_info("probe removed, %lu hits missed\n", probe.nmissed);
}
module_exit(kprobe_example_exit);

MODULE_DESCRIPTION("Example of a kernel probe");
MODULE_LICENSE("GPL");
