// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of a return probe that several CPUs hit at the same time; see kprobe_bench.c.
 */
#define pr_fmt(fmt) "kprobe_bench: " fmt

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>

#include "arch.h"

BENCH_FUNCTION(bench_quick, BENCH_QUICK);

/* The clock counts the instructions of all CPUs, also the work that they cause each other. */

#define TOGETHER_LOOPS	20000

static DECLARE_COMPLETION(together_go);
static DECLARE_COMPLETION(together_done);

static int together_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

static int together_thread(void *unused)
{
	int i;

	wait_for_completion(&together_go);
	for (i = 0; i < TOGETHER_LOOPS; i++)
		bench_quick();
	complete(&together_done);
	return 0;
}

static u64 __init together_cost(int cpus)
{
	struct task_struct *task;
	u64 start;
	int i;

	reinit_completion(&together_go);
	reinit_completion(&together_done);
	for (i = 0; i < cpus; i++) {
		task = kthread_create(together_thread, NULL, "kprobe_bench/%d", i);
		if (IS_ERR(task))
			return 0;
		kthread_bind(task, i);
		wake_up_process(task);
	}
	msleep(100);

	start = bench_clock();
	complete_all(&together_go);
	for (i = 0; i < cpus; i++)
		wait_for_completion(&together_done);
	return div_u64(bench_clock() - start, cpus * TOGETHER_LOOPS);
}

static int __init kprobe_bench_together_init(void)
{
	static const int cpus[] = { 1, 4 };
	struct kretprobe rp = {
		.kp.addr	= bench_code(bench_quick),
		.handler	= together_return,
		.maxactive	= 16,
	};
	char name[48];
	int i, ret;

	if (num_online_cpus() < 4)
		return -ENODEV;
	ret = register_kretprobe(&rp);
	if (ret)
		return ret;

	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		scnprintf(name, sizeof(name), "r-together-%d", cpus[i]);
		pr_info("row %s %llu\n", name, together_cost(cpus[i]));
	}
	unregister_kretprobe(&rp);
	return rp.nmissed ? -EBUSY : 0;
}
module_init(kprobe_bench_together_init);

static void __exit kprobe_bench_together_exit(void)
{
}
module_exit(kprobe_bench_together_exit);

MODULE_DESCRIPTION("What a return probe costs that several CPUs hit");
MODULE_LICENSE("GPL");
