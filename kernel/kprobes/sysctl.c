// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sysctl debug.kprobes-optimization.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/sysctl.h>

#include "optimizer.h"

/* Concurrent writes take effect one after another. */
static DEFINE_MUTEX(opt_sysctl_mutex);

static int opt_sysctl(const struct ctl_table *table, int write, void *buffer,
		      size_t *lenp, loff_t *ppos)
{
	struct ctl_table shown = *table;
	int value, ret;
	bool old;

	guard(mutex)(&opt_sysctl_mutex);

	old = kprobe_opt_is_allowed();
	value = old;
	shown.data = &value;
	ret = proc_dointvec_minmax(&shown, write, buffer, lenp, ppos);
	if (ret || !write || !value == !old)
		return ret;

	kprobe_opt_allow(value);
	if (!value)
		wait_for_kprobe_optimizer();
	pr_info("jump optimization is %s\n", value ? "enabled" : "disabled");
	return 0;
}

static const struct ctl_table opt_sysctls[] = {
	{
		.procname	= "kprobes-optimization",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= opt_sysctl,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

static int __init kprobe_opt_sysctl_init(void)
{
	register_sysctl_init("debug", opt_sysctls);
	return 0;
}
subsys_initcall(kprobe_opt_sysctl_init);
