// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of a return probe that several CPUs hit at the same time. The clock counts the
 * instructions of all CPUs, also the work that they cause each other.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/math64.h>

#include "bench.h"

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

static int __init together_row(int cpus)
{
	struct task_struct *task;
	u64 start;
	int i;

	reinit_completion(&together_go);
	reinit_completion(&together_done);
	for (i = 0; i < cpus; i++) {
		task = kthread_create(together_thread, NULL, "kprobe_bench/%d", i);
		if (IS_ERR(task))
			return PTR_ERR(task);
		kthread_bind(task, i);
		wake_up_process(task);
	}
	msleep(100);

	start = bench_clock();
	complete_all(&together_go);
	for (i = 0; i < cpus; i++)
		wait_for_completion(&together_done);
	row(div_u64(bench_clock() - start, cpus * TOGETHER_LOOPS), "r-together-%d", cpus);
	return 0;
}

int __init measure_together(void)
{
	struct kretprobe rp = {
		.kp.addr	= bench_code(bench_quick),
		.handler	= together_return,
		.maxactive	= 16,
	};
	int ret = num_online_cpus() < 4 ? -ENODEV : register_kretprobe(&rp);

	if (ret)
		return ret;
	ret = together_row(1);
	ret = ret ?: together_row(4);
	unregister_kretprobe(&rp);
	return ret ?: rp.nmissed ? -EBUSY : 0;
}
