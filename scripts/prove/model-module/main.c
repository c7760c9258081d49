// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads, rounds and parameters. Writing "N" or "N-M" to "keep" restricts the
 * sequence to the operations named so far. Writing to "run" runs it, which fails if
 * anything differs from the model.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "model.h"

static unsigned long seed = 1;
module_param(seed, ulong, 0600);
MODULE_PARM_DESC(seed, "of the sequence");

static unsigned int nr_ops = 1000;
module_param_named(ops, nr_ops, uint, 0600);
MODULE_PARM_DESC(ops, "operations of the sequence");

static unsigned int nr_threads = 1;
module_param_named(threads, nr_threads, uint, 0600);
MODULE_PARM_DESC(threads, "how many do them");

#define MAX_OPS		1000000

static unsigned long *kept;
static bool all_kept = true;

bool model_alone;

/*
 * Threads
 */

static struct model_op ops[MODEL_ROUND], checks[MODEL_CHECKS];
static unsigned int nr_kept;
static bool any_sync;

static DECLARE_WAIT_QUEUE_HEAD(round_wait);
static unsigned int round;
static atomic_t busy;
static struct completion round_done;
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
		for (i = 0; i < nr_kept; i++) {
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

static struct task_struct *threads[MODEL_THREADS];

static void stop_threads(void)
{
	unsigned int i;

	for (i = 0; i < MODEL_THREADS; i++) {
		if (threads[i])
			kthread_stop(threads[i]);
		threads[i] = NULL;
	}
}

static int start_threads(void)
{
	unsigned long i;

	mm = current->mm;
	round = 0;
	for (i = 0; i < nr_threads; i++) {
		struct task_struct *task = kthread_run(thread_fn, (void *)i, "model/%lu", i);

		if (IS_ERR(task)) {
			stop_threads();
			return PTR_ERR(task);
		}
		threads[i] = task;
	}
	return 0;
}

/*
 * Rounds
 */

static struct model_state state;

/* Shared structures are filled in between rounds only. */
static void refill(unsigned int nr)
{
	u64 random = seed + ((u64)nr << 32);
	unsigned int p;

	for (p = 0; p < MODEL_SHARED; p++) {
		u64 r = model_random(&random);
		u8 where = r % NR_SITES, variant;

		variant = r >> 32 & (V_OFF | V_POST | V_FAULT);
		if (r >> 48 & 3)
			variant &= ~(V_POST | V_FAULT);
		if (model_targets[where].coming)
			where = T_TEXT;
		if (state.user[p].registered || (r >> 50 & 1 && state.user[p].addr))
			continue;
		model_fill(p, where, variant);
		model_filled(&state, p, where, variant);
	}
}

static void generate_round(unsigned int nr)
{
	unsigned int i;

	nr_kept = 0;
	for (i = nr * MODEL_ROUND; i < min((nr + 1) * MODEL_ROUND, nr_ops); i++) {
		if (all_kept || test_bit(i, kept))
			model_generate(&ops[nr_kept++], seed, i, nr_threads);
	}
}

static bool run_round(unsigned int nr)
{
	struct model_seen *seen __free(kfree) = kmalloc(sizeof(*seen), GFP_KERNEL);
	unsigned int i, nr_checks;
	char why[MODEL_WHY];

	generate_round(nr);
	if (!nr_kept || !seen)
		return seen;
	refill(nr);

	reinit_completion(&round_done);
	atomic_set(&busy, nr_threads);
	WRITE_ONCE(round, round + 1);
	wake_up_all(&round_wait);
	wait_for_completion(&round_done);
	for (i = 0; i < nr_kept; i++)
		any_sync |= ops[i].syncs;

	if (!model_see(seen, why)) {
		pr_err("difference after the round: %s\n", why);
		for (i = 0; i < nr_kept; i++)
			model_print_op(&ops[i]);
		return false;
	}
	/* For the reader of a short sequence. */
	for (i = 0; i < nr_kept && !all_kept; i++)
		model_print_op(&ops[i]);
	nr_checks = model_check(checks, nr, MODEL_THREADS);
	return model_judge(&state, ops, nr_kept, checks, nr_checks, seen);
}

static void first_state(void)
{
	unsigned int p;

	memset(&state, 0, sizeof(state));
	state.on = true;
	state.jumps = true;
	for (p = 0; p < MODEL_PROBES; p++) {
		model_fill(p, T_TEXT, 0);
		model_filled(&state, p, T_TEXT, 0);
	}
}

/* Restore everything that a sequence changes. */
static void last_state(void)
{
	model_take_back();
	model_write(false, true, MODEL_THREADS);
	model_write(true, true, MODEL_THREADS);
}

static int run_all(void)
{
	unsigned int nr, rounds = DIV_ROUND_UP(nr_ops, MODEL_ROUND);
	bool right = true;
	int ret;

	ret = model_faces_init();
	if (ret)
		return ret;
	first_state();
	any_sync = false;
	ret = start_threads();
	for (nr = 0; nr < rounds && right && !ret; nr++) {
		right = run_round(nr);
		if (nr % 256 == 255)
			pr_info("%u operations\n", (nr + 1) * MODEL_ROUND);
	}
	stop_threads();
	last_state();
	model_faces_exit();
	if (ret)
		return ret;
	/* The limits prove nothing if the kernel has come to synchronize otherwise. */
	if (right && all_kept && nr_ops >= 100 && !any_sync) {
		pr_err("no operation is seen to synchronize the CPUs\n");
		right = false;
	}
	pr_info("seed %lu, %u operations, threads %u: %s in %u\n", seed, nr_ops, nr_threads,
		right ? "as predicted" : "different", min(nr * MODEL_ROUND, nr_ops));
	return right ? 0 : -EINVAL;
}

/*
 * Parameters
 */

static int run_set(const char *val, const struct kernel_param *kp)
{
	int ret;

	if (!nr_threads || nr_threads > MODEL_THREADS || nr_ops > MAX_OPS)
		return -EINVAL;
	model_alone = nr_threads == 1;
	ret = model_judge_init();
	if (ret)
		return ret;
	ret = run_all();
	model_judge_exit();
	return ret;
}

static int keep_set(const char *val, const struct kernel_param *kp)
{
	unsigned int first, last;
	int n = sscanf(val, "%u-%u", &first, &last);

	if (n < 1 || first >= MAX_OPS || (n == 2 && (last < first || last >= MAX_OPS))) {
		bitmap_zero(kept, MAX_OPS);
		all_kept = true;
		return 0;
	}
	all_kept = false;
	bitmap_set(kept, first, n == 2 ? last - first + 1 : 1);
	return 0;
}

static const struct kernel_param_ops run_ops = { .set = run_set };
static const struct kernel_param_ops keep_ops = { .set = keep_set };

module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "written to: runs the sequence");
module_param_cb(keep, &keep_ops, NULL, 0200);
MODULE_PARM_DESC(keep, "an operation, or a range, that is not left out; \"none\" forgets them");

/* Registering twice warns once per boot: provoke these warnings before the sequences. */
static void warn_once(void)
{
	struct kprobe *kp = &model_probes[0].rp.kp;
	struct kretprobe *rp = &model_probes[MODEL_KPROBES].rp;

	model_fill(0, T_TEXT, 0);
	model_fill(MODEL_KPROBES, T_TEXT, 0);
	register_kprobe(kp);
	pr_info("expect splat: kernel/kprobes/register.c:\n");
	register_kprobe(kp);
	unregister_kprobe(kp);
	register_kretprobe(rp);
	pr_info("expect splat: kernel/kprobes/register.c:\n");
	register_kretprobe(rp);
	unregister_kretprobe(rp);
}

static int __init kprobe_model_init(void)
{
	int ret;

	kept = kvcalloc(BITS_TO_LONGS(MAX_OPS), sizeof(long), GFP_KERNEL);
	if (!kept)
		return -ENOMEM;
	init_completion(&round_done);
	ret = model_execute_init();
	if (ret) {
		kvfree(kept);
		return ret;
	}
	warn_once();
	return 0;
}

static void __exit kprobe_model_exit(void)
{
	model_execute_exit();
	kvfree(kept);
}

module_init(kprobe_model_init);
module_exit(kprobe_model_exit);
MODULE_DESCRIPTION("Random sequences of operations on probes, against a model");
MODULE_LICENSE("GPL");
