/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by test_kprobes.c and test_kretprobes.c. Each may be a module of its own, so
 * all of it is static.
 */
#ifndef _LIB_TEST_KPROBES_H
#define _LIB_TEST_KPROBES_H

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/kprobes-test-arch.h>
#include <linux/kthread.h>
#include <linux/objtool.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/stringify.h>
#include <linux/timekeeping.h>

/* Target functions. Probes find them by name, so each suite defines its own. */

/* A function that is hit through a breakpoint. */
#define KP_TEST_PLAIN(name, add)					\
static noinline __noclone notrace u32 name(u32 v)			\
{									\
	KP_PADDING;							\
	OPTIMIZER_HIDE_VAR(v);						\
	return v + (add);						\
}

/* One that starts with an ftrace call site, if the architecture has them. */
#define KP_TEST_TRACED(name, add)					\
static noinline __noclone u32 name(u32 v)				\
{									\
	OPTIMIZER_HIDE_VAR(v);						\
	return v + (add);						\
}

/*
 * One with instructions name_insns to name_insns_end that do nothing. Some
 * architectures count the first instructions of a function as its entry.
 */
#define KP_TEST_MID(name, add)						\
extern char name##_insns[] asm(".L" #name);				\
extern char name##_insns_end[] asm(".L" #name "_end");			\
static noinline __noclone __used notrace u32 name(u32 v)		\
{									\
	OPTIMIZER_HIDE_VAR(v);						\
	asm volatile("	.rept 8\n"					\
		     "	nop\n"						\
		     "	.endr\n"					\
		     ".L" #name ":\n"					\
		     ANNOTATE_NOENDBR "\n"				\
		     "	.rept 16\n"					\
		     "	nop\n"						\
		     "	.endr\n"					\
		     ".L" #name "_end:\n"				\
		     ANNOTATE_NOENDBR "\n"				\
		     : "+r" (v));					\
	return v + (add);						\
}

struct target {
	const char	*name;
	const char	*symbol;
	void		*addr;
	u32		(*fn)(u32 v);
	u32		add;
	bool		ftrace;
	bool		entry;
};

static inline u32 call(const struct target *t, u32 v)
{
	u32 (*volatile fn)(u32 v) = t->fn;

	return fn(v);
}

/* A probe, and what its handlers saw. */
struct probe {
	struct kprobe	kp;
	struct log	*log;
	char		id;
	int		ret;
	u32		(*redirect)(u32 v);
	u32		(*nest_pre)(u32 v), (*nest_post)(u32 v);
	atomic_t	pre, post;
	bool		preemptible;
	unsigned long	ip;
	void		*p;
};

/* Which handlers were called, in order: lower case for pre, upper case for post. */
struct log {
	unsigned int	len;
	char		text[32];
};

static inline void log_add(struct log *log, char id)
{
	if (log && log->len < sizeof(log->text) - 1)
		log->text[log->len++] = id;
}

#if !KPROBES_TEST_HAS_SINGLE_ENTRY
static inline void redirect_to(struct pt_regs *regs, u32 (*fn)(u32 v))
{
	/* Within one image the table of contents is the same. */
	regs_set_return_ip(regs, ppc_function_entry(fn));
}
#else
static inline void redirect_to(struct pt_regs *regs, u32 (*fn)(u32 v))
{
	instruction_pointer_set(regs, (unsigned long)dereference_symbol_descriptor(fn));
}
#endif

static inline int test_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct probe *p = container_of(kp, struct probe, kp);

	/* It may run on several CPUs at once; each may set these. */
	atomic_inc(&p->pre);
	if (preemptible())
		WRITE_ONCE(p->preemptible, true);
	WRITE_ONCE(p->ip, instruction_pointer(regs));
	WRITE_ONCE(p->p, kp);
	log_add(p->log, p->id);
	if (p->nest_pre)
		p->nest_pre(1);
	if (p->redirect)
		redirect_to(regs, p->redirect);
	return p->ret;
}

static inline void test_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct probe *p = container_of(kp, struct probe, kp);

	atomic_inc(&p->post);
	if (preemptible())
		WRITE_ONCE(p->preemptible, true);
	log_add(p->log, p->id + 'A' - 'a');
	if (p->nest_post)
		p->nest_post(1);
}

static inline void probe_at(struct probe *p, const struct target *t)
{
	p->kp.symbol_name = t->symbol;
	p->kp.addr = t->addr;
}

static inline bool not_registered(struct kprobe *kp)
{
	return list_empty(&kp->list) && hlist_unhashed(&kp->hlist);
}

/*
 * A handler that is running on another CPU when its probe is unregistered
 */

struct lingerer {
	struct kprobe		kp, stays;
#ifdef CONFIG_KRETPROBES
	struct kretprobe	rp;
#endif
	const struct target	*t;
	struct task_struct	*task;
	struct completion	done;
	bool			inside, leaving, gone, over;
	int			late;
	u32			returned;
};

/* Breakpoints are handled with interrupts off, where some clocks stand still. */
static inline void spin_until(u64 end, const bool *flag)
{
	while (ktime_get_mono_fast_ns() < end && !(flag && READ_ONCE(*flag)))
		cpu_relax();
}

static inline void linger(struct lingerer *l)
{
	WRITE_ONCE(l->inside, true);
	spin_until(ktime_get_mono_fast_ns() + 10ull * NSEC_PER_SEC, &l->leaving);
	/* Several turns of all CPUs, in case they share one. */
	spin_until(ktime_get_mono_fast_ns() + 300ull * NSEC_PER_MSEC, NULL);
	l->late += READ_ONCE(l->gone);
	WRITE_ONCE(l->over, true);
}

static inline int lingering_pre(struct kprobe *p, struct pt_regs *regs)
{
	linger(container_of(p, struct lingerer, kp));
	return 0;
}

static inline void staying_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static inline int lingerer_thread(void *data)
{
	struct lingerer *l = data;

	l->returned = call(l->t, 10);
	complete(&l->done);
	return 0;
}

static inline void dismiss(struct lingerer *l)
{
	kthread_stop(l->task);
	put_task_struct(l->task);
}

/*
 * Another probe stays at the site. So nothing is disarmed, and the only wait is that
 * for handlers. Its post handler prevents a jump.
 */
static inline struct lingerer *begin_lingering(struct kunit *test)
{
	struct lingerer *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, l);
	l->t = test->param_value;
	if (l->t->ftrace && !KPROBES_TEST_HAS_FTRACE_NAMES)
		kunit_skip(test, "probes by name are not on ftrace sites");
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");

	init_completion(&l->done);
	l->task = kthread_create_on_cpu(lingerer_thread, l, cpumask_last(cpu_online_mask),
					"kp_test/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(l->task));
	get_task_struct(l->task);
	l->stays.symbol_name = l->t->symbol;
	l->stays.post_handler = staying_post;
	ret = register_kprobe(&l->stays);
	if (ret)
		dismiss(l);
	KUNIT_ASSERT_EQ(test, ret, 0);
	return l;
}

/* @registered: the result of registering the probe that goes. */
static inline void expect_to_wait(struct kunit *test, struct lingerer *l, int registered,
				  void (*unregister)(struct lingerer *l))
{
	unsigned long end = jiffies + 10 * HZ;
	bool over;

	KUNIT_EXPECT_EQ(test, registered, 0);
	if (registered) {
		dismiss(l);
		unregister_kprobe(&l->stays);
		return;
	}

	/* Stay on another CPU. */
	set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));
	wake_up_process(l->task);
	while (!READ_ONCE(l->inside) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(l->inside));

	WRITE_ONCE(l->leaving, true);
	unregister(l);
	over = READ_ONCE(l->over);
	WRITE_ONCE(l->gone, true);
	/* Checked at once: a handler that finds its probe gone may never end. */
	KUNIT_EXPECT_TRUE_MSG(test, over, "unregistered while the handler was running");

	set_cpus_allowed_ptr(current, cpu_possible_mask);
	wait_for_completion(&l->done);
	dismiss(l);
	unregister_kprobe(&l->stays);
	KUNIT_EXPECT_EQ(test, l->late, 0);
	KUNIT_EXPECT_EQ(test, l->returned, 10 + l->t->add);
}

#endif /* _LIB_TEST_KPROBES_H */
