// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers probes of all kinds on the functions that the parameter "symbols" names,
 * and unregisters them, in as many threads as "threads" says, until the module is
 * unloaded. Something else has to call these functions. "rounds" counts successful
 * registrations, "busy" those that ftrace refused since another probe had claimed the
 * function, "errors" all other failures. "hits", "returns" and "missed" are totals of
 * all probes; "ghosts" counts calls of a handler whose probe is not registered, of
 * which there must be none.
 */

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>

#define MAX_SYMBOLS	64
#define MAX_THREADS	16
#define BATCH		8
#define MAX_STAY_MS	20

static char *symbols[MAX_SYMBOLS];
static unsigned int nr_symbols;
module_param_array(symbols, charp, &nr_symbols, 0400);
MODULE_PARM_DESC(symbols, "functions to probe");

static unsigned int threads = 4;
module_param(threads, uint, 0400);
MODULE_PARM_DESC(threads, "how many register and unregister");

static atomic_long_t rounds, busy, errors, hits, returns, missed, ghosts;

enum { ALIVE = 0x600d, DEAD = 0xdead };

/* One probe of either kind, which records whether it may be called. */
struct spot {
	union {
		struct kprobe	 kp;
		struct kretprobe rp;
	};
	unsigned int		state;
};

struct spots {
	struct spot		spot[BATCH];
	struct kprobe		*kps[BATCH];
	struct kretprobe	*rps[BATCH];
};

/* Called by handlers, and probed as long as the module is loaded. */
static noinline __noclone notrace unsigned int stress_nested(unsigned int v)
{
	asm volatile("	.rept 8\n	nop\n	.endr\n" : "+r" (v));
	return v + 1;
}

static void called(const struct spot *s, atomic_long_t *count)
{
	if (READ_ONCE(s->state) != ALIVE)
		atomic_long_inc(&ghosts);
	atomic_long_inc(count);
	stress_nested(1);
}

static int stress_pre(struct kprobe *p, struct pt_regs *regs)
{
	called(container_of(p, struct spot, kp), &hits);
	return 0;
}

static void stress_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	called(container_of(p, struct spot, kp), &hits);
}

static int stress_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	called(container_of(ri->rp, struct spot, rp), &hits);
	/* Sometimes decline to follow the return. */
	return atomic_long_read(&hits) % 16 == 0;
}

static int stress_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	called(container_of(ri->rp, struct spot, rp), &returns);
	return 0;
}

static int never_called(struct kprobe *p, struct pt_regs *regs)
{
	atomic_long_inc(&ghosts);
	return 0;
}

static struct kprobe nested_kp = {
	.symbol_name	= "stress_nested",
	.pre_handler	= never_called,
};

static void fill(struct spots *s, int nr, bool post, bool ret, int maxactive)
{
	unsigned int first = get_random_u32_below(nr_symbols);
	int i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < nr; i++) {
		struct kretprobe *rp = &s->spot[i].rp;

		rp->kp.symbol_name = symbols[(first + i) % nr_symbols];
		if (ret) {
			rp->entry_handler = stress_entry;
			rp->handler = stress_return;
			rp->maxactive = maxactive;
		} else {
			rp->kp.pre_handler = stress_pre;
			rp->kp.post_handler = post ? stress_post : NULL;
		}
		rp->kp.flags = i % 2 ? KPROBE_FLAG_REENTRANT : 0;
		s->spot[i].state = ALIVE;
		s->kps[i] = &rp->kp;
		s->rps[i] = rp;
	}
}

static void stay(void)
{
	if (get_random_u8() % 2)
		msleep(get_random_u32_below(MAX_STAY_MS));
	else
		cond_resched();
}

static void disable_and_enable(struct spots *s, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		disable_kprobe(s->kps[i]);
	stay();
	/* With its post handler it may conflict with another one by now. */
	for (i = 0; i < nr; i++)
		enable_kprobe(s->kps[i]);
}

static void one_round(struct spots *s)
{
	int nr = get_random_u8() % 2 ? 1 : BATCH, kind = get_random_u32_below(8), i, ret;
	bool returning = kind >= 4;

	/* Pools of one instance, and those that grow. */
	fill(s, nr, kind == 1, returning, kind < 6 ? 1 : 0);
	ret = returning ? register_kretprobes(s->rps, nr) : register_kprobes(s->kps, nr);
	if (ret) {
		atomic_long_inc(ret == -EBUSY ? &busy : &errors);
		if (ret != -EBUSY)
			pr_info("%s and more: %d\n", s->kps[0]->symbol_name, ret);
	} else {
		stay();
		if (kind == 2)
			disable_and_enable(s, nr);
		if (returning)
			unregister_kretprobes(s->rps, nr);
		else
			unregister_kprobes(s->kps, nr);
		atomic_long_inc(&rounds);
	}

	/* From here on, a call of a handler is an error. */
	for (i = 0; i < nr; i++) {
		WRITE_ONCE(s->spot[i].state, DEAD);
		atomic_long_add(s->kps[i]->nmissed + (returning ? s->rps[i]->nmissed : 0),
				&missed);
	}
}

static int stress_thread(void *unused)
{
	struct spots *s;

	while (!kthread_should_stop()) {
		/* A new one each time, so that KASAN detects uses of the old one. */
		s = kmalloc_obj(*s);
		if (s)
			one_round(s);
		kfree(s);
		stay();
	}
	return 0;
}

static struct task_struct *task[MAX_THREADS];

static void stop_all(void)
{
	unsigned int i;

	for (i = 0; i < MAX_THREADS; i++) {
		if (task[i])
			kthread_stop(task[i]);
	}
	unregister_kprobe(&nested_kp);
}

static int count_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%ld\n", atomic_long_read(kp->arg));
}

static const struct kernel_param_ops count_ops = { .get = count_get };

module_param_cb(rounds, &count_ops, &rounds, 0400);
module_param_cb(busy, &count_ops, &busy, 0400);
module_param_cb(errors, &count_ops, &errors, 0400);
module_param_cb(hits, &count_ops, &hits, 0400);
module_param_cb(returns, &count_ops, &returns, 0400);
module_param_cb(missed, &count_ops, &missed, 0400);
module_param_cb(ghosts, &count_ops, &ghosts, 0400);

static int __init kprobe_test_stress_init(void)
{
	struct task_struct *t;
	unsigned int i;
	int ret;

	if (!nr_symbols)
		return -EINVAL;
	ret = register_kprobe(&nested_kp);
	if (ret)
		return ret;

	for (i = 0; i < min_t(unsigned int, threads, MAX_THREADS); i++) {
		t = kthread_run(stress_thread, NULL, "kprobe_stress/%u", i);
		if (IS_ERR(t)) {
			stop_all();
			return PTR_ERR(t);
		}
		task[i] = t;
	}
	return 0;
}

static void __exit kprobe_test_stress_exit(void)
{
	stop_all();
}

module_init(kprobe_test_stress_init);
module_exit(kprobe_test_stress_exit);
MODULE_DESCRIPTION("Probes come and go all the time");
MODULE_LICENSE("GPL");
