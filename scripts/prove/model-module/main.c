// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads, rounds and parameters, to which a guest script writes:
 *
 *   threads	how many there are to be; 0 ends a sequence, and undoes what it has left
 *   round	numbers: how many structures are to be filled in, and for each the probe, its target
 *		and properties, and 1 if one whose addr is set is left alone; then the operations,
 *		each the first eight members of struct model_op, and for each probe the first four of
 *		struct model_item
 *   checks	the number of a round: calls each function once
 *
 * What comes of them is printed, as print_result() says.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "model.h"

/*
 * Switches: debugfs can be written through user memory only, so the process that runs the model
 * maps some, a page for each slot.
 */

static struct file *switches[2];
static unsigned long user_memory;

static int switches_init(void)
{
	size_t size = MODEL_SLOTS * PAGE_SIZE;

	user_memory = vm_mmap(NULL, 0, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE,
			      0);
	/* Page faults must not be where an operation's allocation fails. */
	if (IS_ERR_VALUE(user_memory) || clear_user((void __user *)user_memory, size))
		return -ENOMEM;
	switches[0] = filp_open("/sys/kernel/debug/kprobes/enabled", O_RDWR, 0);
	switches[1] = filp_open("/proc/sys/debug/kprobes-optimization", O_WRONLY, 0);
	return IS_ERR(switches[0]) || IS_ERR(switches[1]) ? -ENOENT : 0;
}

static void switches_exit(void)
{
	filp_close(switches[0], NULL);
	filp_close(switches[1], NULL);
	vm_munmap(user_memory, MODEL_SLOTS * PAGE_SIZE);
}

int model_write(bool sysctl, bool on, unsigned int slot)
{
	char __user *at = (char __user *)user_memory + slot * PAGE_SIZE;
	char word[2] = { on ? '1' : '0', '\n' };
	loff_t pos = 0;
	ssize_t ret;

	if (sysctl)
		ret = kernel_write(switches[1], word, sizeof(word), &pos);
	else if (copy_to_user(at, word, sizeof(word)))
		ret = -EFAULT;
	else
		ret = switches[0]->f_op->write(switches[0], at, sizeof(word), &pos);
	return ret < 0 ? ret : 0;
}

/*
 * Threads
 */

static struct model_op ops[MODEL_ROUND];
static unsigned int nr_ops, nr_threads;

static DECLARE_WAIT_QUEUE_HEAD(round_wait);
static unsigned int round;
static atomic_t busy;
static DECLARE_COMPLETION(round_done);
static struct task_struct *threads[MODEL_THREADS];
static struct mm_struct *mm;

static int thread_fn(void *data)
{
	unsigned int slot = (unsigned long)data, seen = 0, i;

	kthread_use_mm(mm);
	model_slot_set(slot, current);
	for (;;) {
		wait_event(round_wait, READ_ONCE(round) != seen || kthread_should_stop());
		if (kthread_should_stop())
			break;
		seen = READ_ONCE(round);
		for (i = 0; i < nr_ops; i++) {
			if (ops[i].thread == slot)
				model_execute(&ops[i]);
		}
		if (atomic_dec_and_test(&busy))
			complete(&round_done);
	}
	model_slot_set(slot, NULL);
	kthread_unuse_mm(mm);
	return 0;
}

static int threads_set(const char *val, const struct kernel_param *kp)
{
	unsigned int i, n;
	int ret = kstrtouint(val, 0, &n);

	if (ret || n > MODEL_THREADS || !n == !nr_threads)
		return ret ?: -EINVAL;
	if (!n) {
		for (i = 0; i < nr_threads; i++)
			kthread_stop(threads[i]);
		nr_threads = 0;
		model_take_back();
		model_write(false, true, MODEL_THREADS);
		model_write(true, true, MODEL_THREADS);
		switches_exit();
		return 0;
	}

	ret = switches_init();
	mm = current->mm;
	round = 0;
	for (i = 0; i < n && !ret; i++) {
		threads[i] = kthread_run(thread_fn, (void *)(unsigned long)i, "model/%u", i);
		ret = PTR_ERR_OR_ZERO(threads[i]);
		nr_threads += !ret;
	}
	for (i = 0; i < MODEL_PROBES; i++)
		model_fill(i, T_TEXT, 0);
	return ret;
}

/*
 * Rounds
 */

static int numbers(char **text, unsigned int *to, int n)
{
	int ret = 0;

	while (n-- && !ret) {
		char *word = strsep(text, " \n");

		ret = word ? kstrtouint(word, 0, to++) : -ENODATA;
	}
	return ret;
}

/* The target of a probe's addr, -1 if there is none, NR_WHERE if it is another one. */
static int where_is(const struct kprobe *kp)
{
	enum model_where t;

	for (t = 0; t < NR_WHERE && kp->addr; t++) {
		if (model_target_addr(t) == (unsigned long)kp->addr)
			break;
	}
	return kp->addr ? t : -1;
}

/*
 * "WHAT NR ERR FAILED SYNCS BEGIN END", for each probe in the call "i WHERE VARIANT FRESH LINKED
 * RUNNING", and for each whose handlers it called "h PROBE HITS POSTS".
 */
static void print_result(const char *what, const struct model_op *op)
{
	char buf[600];
	int i, n = 0;

	buf[0] = 0;
	for (i = 0; i < op->n; i++)
		n += scnprintf(buf + n, sizeof(buf) - n, " i %u %u %u %u %u", op->item[i].where,
			       op->item[i].variant, op->item[i].fresh, op->item[i].linked,
			       op->item[i].running);
	for (i = 0; i <= MODEL_PROBES; i++) {
		if (op->hits[i] || op->posts[i])
			n += scnprintf(buf + n, sizeof(buf) - n, " h %u %u %u", i, op->hits[i],
				       op->posts[i]);
	}
	pr_info("%s %u %d %u %u %llu %llu%s\n", what, op->nr, op->err, op->failed, op->syncs,
		op->begin, op->end, buf);
}

/* The structures: for each where addr is, flags, nmissed, and whether it is on a list. */
static void print_probes(void)
{
	char buf[800];
	int i, n = 0;

	for (i = 0; i < MODEL_PROBES; i++) {
		const struct kprobe *kp = &model_probes[i].rp.kp;

		n += scnprintf(buf + n, sizeof(buf) - n, " %d %u %lu %u", where_is(kp), kp->flags,
			       kp->nmissed, !list_empty(&kp->list));
	}
	pr_info("probes%s\n", buf);
}

/* Shared structures are filled in between rounds only. */
static int fill_shared(char **text)
{
	unsigned int n, with[4];
	int ret = numbers(text, &n, 1);

	while (!ret && n--) {
		struct model_probe *p = model_probes;

		ret = numbers(text, with, 4);
		if (ret || with[0] >= MODEL_SHARED || with[1] >= NR_WHERE)
			return ret ?: -EINVAL;
		p += with[0];
		if (!list_empty(&p->rp.kp.list) || (with[3] && p->rp.kp.addr))
			continue;
		model_fill(with[0], with[1], with[2]);
		pr_info("filled %u\n", with[0]);
	}
	return ret;
}

static int read_ops(char **text)
{
	struct model_op *op = ops;
	int i, ret = 0;

	for (nr_ops = 0; *text && **text && nr_ops < MODEL_ROUND && !ret; nr_ops++, op++) {
		memset(op, 0, sizeof(*op));
		ret = numbers(text, &op->nr, 8);
		if (op->n > MODEL_BATCH)
			return -EINVAL;
		for (i = 0; i < op->n && !ret; i++)
			ret = numbers(text, &op->item[i].probe, 4);
	}
	return ret;
}

static int round_set(const char *val, const struct kernel_param *kp)
{
	char *all = kstrdup(val, GFP_KERNEL), *text = all ? strim(all) : NULL;
	int i, ret;

	ret = !text ? -ENOMEM : !nr_threads ? -EINVAL : fill_shared(&text);
	ret = ret ?: read_ops(&text);
	kfree(all);
	if (ret)
		return ret;

	reinit_completion(&round_done);
	atomic_set(&busy, nr_threads);
	WRITE_ONCE(round, round + 1);
	wake_up_all(&round_wait);
	wait_for_completion(&round_done);
	for (i = 0; i < nr_ops; i++)
		print_result("result", &ops[i]);
	print_probes();
	return 0;
}

/* Tries a claim, too, which waits for grace periods: not in each round. */
static int checks_set(const char *val, const struct kernel_param *kp)
{
	static const enum model_where claimable[] = { T_F0, T_F1, T_F2 };
	struct model_op check;
	unsigned int nr, i;
	int ret = kstrtouint(val, 0, &nr);

	for (i = 0; i < NR_FNS + !(nr % 4) && !ret; i++) {
		check = (struct model_op) { .nr = i, .kind = OP_CALL, .arg = i };
		if (i == NR_FNS) {
			check.kind = OP_CLAIM;
			check.arg = claimable[nr / 4 % ARRAY_SIZE(claimable)];
		}
		model_check(&check, MODEL_THREADS);
		print_result("check", &check);
	}
	return ret;
}

static const struct kernel_param_ops threads_ops = { .set = threads_set };
static const struct kernel_param_ops round_ops = { .set = round_set };
static const struct kernel_param_ops checks_ops = { .set = checks_set };

module_param_cb(threads, &threads_ops, NULL, 0200);
MODULE_PARM_DESC(threads, "starts or ends a sequence");
module_param_cb(round, &round_ops, NULL, 0200);
MODULE_PARM_DESC(round, "runs operations");
module_param_cb(checks, &checks_ops, NULL, 0200);
MODULE_PARM_DESC(checks, "calls each function");

/* Registering twice warns once per boot: provoke this warning before the sequences. */
static void warn_once(void)
{
	struct kprobe *kp = &model_probes[0].rp.kp;

	register_kprobe(kp);
	pr_info("expect splat: kernel/kprobes/register.c:\n");
	register_kprobe(kp);
	unregister_kprobe(kp);
}

static int __init kprobe_model_init(void)
{
	int ret = model_execute_init();

	if (!ret)
		warn_once();
	return ret;
}

static void __exit kprobe_model_exit(void)
{
	model_execute_exit();
}

module_init(kprobe_model_init);
module_exit(kprobe_model_exit);
MODULE_DESCRIPTION("Sequences of operations on probes");
MODULE_LICENSE("GPL");
