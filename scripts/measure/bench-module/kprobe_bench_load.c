// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module without probes, to be loaded and unloaded while there are many elsewhere.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/printk.h>

static int __init kprobe_bench_load_init(void)
{
	pr_debug("%s\n", __func__);
	return 0;
}
module_init(kprobe_bench_load_init);

static void __exit kprobe_bench_load_exit(void)
{
	pr_debug("%s\n", __func__);
}
module_exit(kprobe_bench_load_exit);

MODULE_DESCRIPTION("A module that is loaded while there are probes");
MODULE_LICENSE("GPL");
