// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls that kretprobes follow: where their return address is, tasks that die or
 * move to another CPU inside, stacks that are rewound, pools that run out.
 */

#include "suite.h"

#include <linux/context_tracking.h>
#include <linux/debug_locks.h>
#include <linux/rethook.h>
#include <linux/sched/signal.h>

#include "../kretprobe.h"
#ifndef CONFIG_KRETPROBE_ON_RETHOOK
#include "../pool.h"
#endif
#include "helpers.h"

struct one {
	struct kretprobe	rp;
	atomic_t		entries, returns;
	int			cpu_entry, cpu_return, moved;
	unsigned long		*slot;
	unsigned long		ret_addr, ret_value;
};

/* These two may run on several CPUs at once. */
static int count_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_inc(&container_of(ri->rp, struct one, rp)->entries);
	return 0;
}

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_inc(&container_of(ri->rp, struct one, rp)->returns);
	return 0;
}

static int one_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct one *o = container_of(ri->rp, struct one, rp);

	o->slot = (unsigned long *)kernel_stack_pointer(regs);
	o->cpu_entry = raw_smp_processor_id();
	return count_entry(ri, regs);
}

static int one_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct one *o = container_of(ri->rp, struct one, rp);

	o->cpu_return = raw_smp_processor_id();
	o->moved += o->cpu_return != o->cpu_entry;
	o->ret_addr = get_kretprobe_retaddr(ri);
	o->ret_value = regs_return_value(regs);
	return count_return(ri, regs);
}

static struct one *new_one(struct kunit *test, const char *symbol, int maxactive)
{
	struct one *o = kp_zalloc(test, sizeof(*o));

	o->rp.kp.symbol_name = symbol;
	o->rp.entry_handler = one_entry;
	o->rp.handler = one_return;
	o->rp.maxactive = maxactive;
	return o;
}

static struct one *probe_one(struct kunit *test, const char *symbol, int maxactive)
{
	struct one *o = new_one(test, symbol, maxactive);

	KP_ADD_RETURN(test, &o->rp);
	return o;
}

/*
 * From the registers at an ftrace site, the return address is in another place than
 * from those at a breakpoint.
 */

static unsigned long inside_returns_to;

/* On sparc64, what the compiler calls the return address is that of the call. */
#define RETURNS_TO	((unsigned long)__builtin_extract_return_addr(__builtin_return_address(0)))

static noinline __noclone u32 kp_ret_traced(u32 v)
{
	inside_returns_to = RETURNS_TO;
	OPTIMIZER_HIDE_VAR(v);
	return v * 3 + 1;
}

static noinline __noclone notrace u32 kp_ret_plain(u32 v)
{
	KP_PADDING;
	inside_returns_to = RETURNS_TO;
	OPTIMIZER_HIDE_VAR(v);
	return v * 3 + 2;
}

struct entry_case {
	const char	*name;
	const char	*symbol;
	u32		(*fn)(u32 v);
	u32		want;
	bool		ftrace;
};

static const struct entry_case entry_cases[] = {
	{ "breakpoint",	"kp_ret_plain",	 kp_ret_plain,	17, false },
	{ "ftrace",	"kp_ret_traced", kp_ret_traced,	16, true },
};
KUNIT_ARRAY_PARAM_DESC(entry, entry_cases, name);

static noinline u32 call_entry(const struct entry_case *c)
{
	u32 (*volatile fn)(u32 v) = c->fn;

	/* Not a tail call, which would not return to here. */
	return fn(5) + 1000;
}

static void return_address_is_replaced_in_its_slot(struct kunit *test)
{
	const struct entry_case *c = test->param_value;
	unsigned long real;
	struct one *o;
	int i;

	if (c->ftrace && !KPROBES_TEST_HAS_FTRACE_NAMES)
		kunit_skip(test, "probes by name are not on ftrace sites");

	KUNIT_ASSERT_EQ(test, call_entry(c), c->want + 1000);
	real = inside_returns_to;
	KUNIT_EXPECT_FALSE(test, kp_is_return_hook(real));

	o = probe_one(test, c->symbol, 1);
	scoped_guard(preempt)
		KUNIT_EXPECT_EQ(test, kprobe_ftrace(get_kprobe(o->rp.kp.addr)), c->ftrace);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, call_entry(c), c->want + 1000);
		KUNIT_EXPECT_TRUE(test, kp_is_return_hook(inside_returns_to));
		KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), i);
		KUNIT_EXPECT_EQ(test, o->ret_addr, real);
		KUNIT_EXPECT_EQ(test, o->ret_value, c->want);
	}
	unregister_kretprobe(&o->rp);
	KUNIT_EXPECT_EQ(test, call_entry(c), c->want + 1000);
	KUNIT_EXPECT_EQ(test, inside_returns_to, real);
}

static noinline __noclone notrace u32 kp_ret_die(struct completion *done)
{
	KP_PADDING;
	if (done)
		kthread_complete_and_exit(done, 0);
	return 7;
}

static int dying_thread(void *data)
{
	return kp_ret_die(data);
}

/* A dead task's instances come back when its task_struct is freed. */
static bool one_is_back(struct one *o)
{
	unsigned long end = jiffies + 20 * HZ;
	int before = atomic_read(&o->returns);

	do {
		kp_ret_die(NULL);
		if (atomic_read(&o->returns) > before)
			return true;
		rcu_barrier();
		msleep(1);
	} while (time_before(jiffies, end));
	return false;
}

/* Tasks die inside one after the other, and use the only instance in turn. */
static void expect_back_each_time(struct kunit *test, struct one *o)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *task;
	int i;

	for (i = 0; i < 20; i++) {
		reinit_completion(&done);
		task = kthread_run(dying_thread, &done, "kp_ret_dying");
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
		wait_for_completion(&done);
		KUNIT_ASSERT_TRUE(test, one_is_back(o));
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), 20);
	KUNIT_EXPECT_EQ(test, atomic_read(&o->entries), 40);
}

static void return_task_dies_inside(struct kunit *test)
{
	expect_back_each_time(test, probe_one(test, "kp_ret_die", 1));
}

/* What putting back the instances of a dead task may call, or be called from. */
static const char * const flush_path[] = {
#if KPROBES_TEST_HAS_LOCKLESS_TRAPS
	"_raw_spin_lock_irqsave", "_raw_spin_unlock_irqrestore", "_raw_spin_lock",
	"kfree", "kmem_cache_free", "queue_work_on",
#endif
	"call_rcu", "delayed_put_task_struct", "__put_task_struct", "free_task",
};

static void return_probes_where_dead_tasks_are_flushed(struct kunit *test)
{
	struct one *o = probe_one(test, "kp_ret_die", 1), *c[ARRAY_SIZE(flush_path)];
	int i, nr = 0, entries = 0;

	for (i = 0; i < ARRAY_SIZE(flush_path); i++) {
		c[i] = new_one(test, flush_path[i], 0);
		c[i]->rp.entry_handler = count_entry;
		c[i]->rp.handler = count_return;
		/* Not all of them are functions everywhere, or can be probed. */
		nr += !kp_add_return(test, &c[i]->rp);
	}
	KUNIT_EXPECT_GE(test, nr, 2);

	/* The calls they were following in the meantime are not lost either. */
	expect_back_each_time(test, o);
	for (i = 0; i < ARRAY_SIZE(flush_path); i++) {
		unregister_kretprobe(&c[i]->rp);
		entries += atomic_read(&c[i]->entries);
		kunit_info(test, "%s: %d entries, %d returns, %d missed\n", flush_path[i],
			   atomic_read(&c[i]->entries), atomic_read(&c[i]->returns),
			   c[i]->rp.nmissed);
	}
	KUNIT_EXPECT_GE(test, entries, 20);
}

/* Also unregistered while the tasks are dying. */
static void return_many_die_and_the_probe_goes(struct kunit *test)
{
	struct completion done[8];
	struct one *o;
	int i, round;

	for (round = 0; round < 10; round++) {
		o = new_one(test, "kp_ret_die", 4);
		KUNIT_ASSERT_EQ(test, register_kretprobe(&o->rp), 0);
		for (i = 0; i < ARRAY_SIZE(done); i++) {
			init_completion(&done[i]);
			kthread_run(dying_thread, &done[i], "kp_ret_dying");
		}
		if (round % 2)
			unregister_kretprobe(&o->rp);
		for (i = 0; i < ARRAY_SIZE(done); i++)
			wait_for_completion(&done[i]);
		if (!(round % 2))
			unregister_kretprobe(&o->rp);
		KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), 0);
		KUNIT_EXPECT_LE(test, atomic_read(&o->entries), ARRAY_SIZE(done));
		memset(o, 0x6b, sizeof(*o));
	}
}

/* A child starts without the calls that its parent is in. */
struct family {
	struct completion	done;
	pid_t			pid;
	bool			parent_hooked, child_hooked;
	u32			child_got;
};

#ifdef CONFIG_RETHOOK
static bool is_hooked(struct task_struct *task)
{
	return task->rethooks.first || task->kretprobe_instances.first;
}
#else
static bool is_hooked(struct task_struct *task)
{
	return task->kretprobe_instances.first;
}
#endif

static int child_thread(void *data)
{
	struct family *f = data;

	f->child_hooked = is_hooked(current);
	f->child_got = kp_ret_die(NULL);
	kthread_complete_and_exit(&f->done, 0);
}

static noinline __noclone notrace u32 kp_ret_fork(struct family *f)
{
	KP_PADDING;
	f->parent_hooked = is_hooked(current);
	f->pid = kernel_thread(child_thread, f, "kp_ret_child", SIGCHLD);
	if (f->pid > 0)
		wait_for_completion(&f->done);
	return 9;
}

static void return_child_inherits_no_hooks(struct kunit *test)
{
	struct one *parent, *clone, *child;
	struct family f;
	int i;

	parent = probe_one(test, "kp_ret_fork", 1);
	clone = probe_one(test, "kernel_clone", 0);
	child = probe_one(test, "kp_ret_die", 1);
	for (i = 1; i <= 50; i++) {
		memset(&f, 0, sizeof(f));
		init_completion(&f.done);
		KUNIT_EXPECT_EQ(test, kp_ret_fork(&f), 9);
		KUNIT_ASSERT_GT(test, f.pid, 0);
		KUNIT_EXPECT_TRUE(test, f.parent_hooked);
		KUNIT_EXPECT_FALSE(test, f.child_hooked);
		KUNIT_EXPECT_EQ(test, f.child_got, 7);
		KUNIT_EXPECT_EQ(test, atomic_read(&parent->returns), i);
		KUNIT_EXPECT_EQ(test, atomic_read(&child->returns), i);
	}
	KUNIT_EXPECT_GE(test, atomic_read(&clone->returns), 50);
	KUNIT_EXPECT_EQ(test, parent->rp.nmissed + child->rp.nmissed, 0);
}

static noinline __noclone notrace u32 kp_ret_move(int cpu)
{
	KP_PADDING;
	return set_cpus_allowed_ptr(current, cpumask_of(cpu)) ? 0 : 5;
}

static int moving_thread(void *data)
{
	int i, *right = data;

	for (i = 0; i < 100; i++)
		*right += kp_ret_move(i % 2 ? cpumask_first(cpu_online_mask) :
				      cpumask_last(cpu_online_mask)) == 5;
	return kp_await_stop();
}

static void return_on_another_cpu(struct kunit *test)
{
	struct task_struct *task;
	struct one *o;
	int right = 0;

	KP_SKIP_IF(test, num_online_cpus() < 2, "needs two CPUs");
	o = probe_one(test, "kp_ret_move", 1);
	task = kthread_run(moving_thread, &right, "kp_ret_moving");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	while (atomic_read(&o->returns) + READ_ONCE(o->rp.nmissed) < 100)
		msleep(1);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, right, 100);
	KUNIT_EXPECT_EQ(test, o->rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), 100);
	KUNIT_EXPECT_GE(test, o->moved, 98);
}

/* Not notrace, so the entry may be an ftrace site. */
static noinline __noclone u32 kp_ret_sleep(struct kp_sleeper *s)
{
	KP_PADDING;
	return kp_sleep(s);
}

/* Usually, an interrupt has added instances at once. */
static void let_pool_grow(struct one *o)
{
#ifndef CONFIG_KRETPROBE_ON_RETHOOK
	kretprobe_pool_wait_for_growth(to_kretprobe_pool(o->rp.rph));
#endif
}

/* How many of @nr calls in flight are missed? */
static int missed_of(struct kunit *test, struct one *o, int nr)
{
	int before = atomic_read(&o->returns), missed, i;
	struct kp_sleeper *s = kp_calloc(test, nr, sizeof(*s));

	for (i = 0; i < nr; i++) {
		KUNIT_ASSERT_EQ(test, kp_sleeper_start(&s[i], kp_ret_sleep), 0);
		let_pool_grow(o);
	}
	missed = o->rp.nmissed;
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ(test, kp_sleeper_wake(&s[i]), KP_SLEEPER_RETURNS);
	KUNIT_EXPECT_EQ(test, atomic_read(&o->returns) - before, nr - missed);
	kunit_kfree(test, s);
	return missed;
}

static void return_default_pool_grows(struct kunit *test)
{
	int nr_default = max(10u, 2 * num_possible_cpus());
	struct one *o;

	KP_SKIP_IF(test, IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK), "pools of rethook do not grow");

	o = probe_one(test, "kp_ret_sleep", 0);
	KUNIT_EXPECT_EQ(test, o->rp.maxactive, nr_default);
	KUNIT_EXPECT_EQ(test, missed_of(test, o, 20 * nr_default), 0);
	KUNIT_EXPECT_EQ(test, o->rp.maxactive, nr_default);
}

/* As a kprobe event does when its module is unloaded and loaded again. */
static void register_again(struct kunit *test, struct one *o)
{
	unregister_kretprobe(&o->rp);
	o->rp.kp.addr = NULL;
	o->rp.kp.flags &= ~KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&o->rp), 0);
}

static void return_default_is_still_one_later(struct kunit *test)
{
	int nr_default = max(10u, 2 * num_possible_cpus()), i;
	struct one *o;

	KP_SKIP_IF(test, IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK), "pools of rethook do not grow");

	o = probe_one(test, "kp_ret_sleep", 0);
	register_again(test, o);
	KUNIT_EXPECT_EQ(test, o->rp.maxactive, nr_default);
	KUNIT_EXPECT_EQ(test, missed_of(test, o, nr_default + 3), 0);
	unregister_kretprobe(&o->rp);

	/* A number set by the user is the limit, on each registration. */
	o->rp.maxactive = nr_default;
	for (i = 0; i < 2; i++) {
		register_again(test, o);
		KUNIT_EXPECT_EQ(test, missed_of(test, o, nr_default + 3), 3);
		KUNIT_EXPECT_EQ(test, o->rp.maxactive, nr_default);
	}
	unregister_kretprobe(&o->rp);

	/* One that is set while it is registered counts as the user's, too. */
	o->rp.maxactive = -1;
	register_again(test, o);
	o->rp.maxactive = nr_default + 1;
	unregister_kretprobe(&o->rp);
	KUNIT_EXPECT_EQ(test, o->rp.maxactive, nr_default + 1);
}

#if defined(CONFIG_PROVE_RCU) && defined(CONFIG_KRETPROBES) && \
	!defined(CONFIG_KRETPROBE_ON_RETHOOK)
/* Return handling must not call what rcu_dereference_check() calls. */
static const char * const rcu_checks[] = {
	"rcu_read_lock_any_held", "rcu_lockdep_current_cpu_online",
};

static int deepest;

/* How many calls of the same function is this task in? */
static int measure_depth(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe_instance *older;
	int depth = 1;

	llist_for_each_entry(older, current->kretprobe_instances.first, llist)
		depth += older->rp == ri->rp;
	if (depth > READ_ONCE(deepest))
		WRITE_ONCE(deepest, depth);
	return one_entry(ri, regs);
}

static void return_of_checks_for_rcu(struct kunit *test)
{
	struct one *o[ARRAY_SIZE(rcu_checks)], *plain;
	int i;

	deepest = 0;
	for (i = 0; i < ARRAY_SIZE(o); i++) {
		o[i] = probe_one(test, rcu_checks[i], 16);
		o[i]->rp.entry_handler = measure_depth;
	}
	plain = probe_one(test, "kp_ret_plain", 1);
	for (i = 1; i <= 100; i++) {
		KUNIT_EXPECT_EQ(test, call_entry(&entry_cases[0]), 1017);
		guard(rcu)();
		KUNIT_EXPECT_TRUE(test, rcu_read_lock_any_held());
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&plain->returns), 100);
	for (i = 0; i < ARRAY_SIZE(o); i++) {
		unregister_kretprobe(&o[i]->rp);
		KUNIT_EXPECT_GE(test, atomic_read(&o[i]->returns), 100);
	}
	/* In a task, a softirq, an interrupt and an NMI. */
	KUNIT_EXPECT_LE(test, deepest, 4);
}
#else
KP_SKIPPED(return_of_checks_for_rcu, "needs PROVE_RCU")
#endif

#if defined(CONFIG_CONTEXT_TRACKING_IDLE) && !defined(CONFIG_RCU_EQS_DEBUG)
static noinline __noclone notrace u32 kp_ret_unwatched(u32 v)
{
	KP_PADDING;
	OPTIMIZER_HIDE_VAR(v);
	ct_idle_enter();
	return v + 3;
}

/* Like the idle loop; nothing in between may need RCU. */
static noinline notrace u32 call_unwatched(u32 v)
{
	unsigned long flags;
	u32 ret;

	local_irq_save(flags);
	ret = kp_ret_unwatched(v);
	ct_idle_exit();
	local_irq_restore(flags);
	return ret;
}

static void return_rcu_does_not_watch_the_return(struct kunit *test)
{
	struct one *o;
	int i;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_KRETPROBE_NATIVE), "needs KRETPROBE_NATIVE");
	o = probe_one(test, "kp_ret_unwatched", 1);
	/*
	 * This ends the extended quiescent state, and itself returns while RCU is not
	 * watching.
	 */
	probe_one(test, "ct_irq_exit_irqson", 1);
	for (i = 1; i <= 5; i++) {
		KUNIT_EXPECT_EQ(test, call_unwatched(10), 13);
		KUNIT_EXPECT_EQ(test, atomic_read(&o->entries), i);
		KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), 0);
		KUNIT_EXPECT_EQ(test, o->rp.kp.nmissed_rcu, i);
	}
}
#else
KP_SKIPPED(return_rcu_does_not_watch_the_return,
	   "needs CONTEXT_TRACKING_IDLE and not RCU_EQS_DEBUG")
#endif

#if KPROBES_TEST_HAS_LONGJMP
/* kp_ret_jumped() is left as by longjmp(): its caller returns, it never does. */
void kp_ret_jumper(void);
void kp_ret_jumped(void);
extern char kp_ret_jump_from[], kp_ret_jump_to[];

/* Calls, returns, and what a function that calls another one does around that. */
#ifdef CONFIG_X86_64
#define JUMPER_BEGIN	ANNOTATE_NOENDBR "\n"
#define JUMPER_CALL	"	call kp_ret_jumped\n"
#define JUMPER_END	""
#define JUMPER_RET	ASM_RET
#elif defined(CONFIG_PPC)
#define JUMPER_BEGIN	""
#define JUMPER_CALL	"	mflr 0\n"						\
			"	" PPC_STL " 0, " __stringify(PPC_LR_STKOFF) "(1)\n"	\
			"	" PPC_STLU " 1, -" __stringify(PPC_MIN_STKFRM) "(1)\n"	\
			"	bl kp_ret_jumped\n"
#define JUMPER_END	"	addi 1, 1, " __stringify(PPC_MIN_STKFRM) "\n"		\
			"	" PPC_LL " 0, " __stringify(PPC_LR_STKOFF) "(1)\n"	\
			"	mtlr 0\n"
#define JUMPER_RET	"	blr\n"
#else
#define JUMPER_BEGIN	""
#define JUMPER_CALL	"	stp x29, x30, [sp, #-16]!\n"		\
			"	mov x29, sp\n"				\
			"	bl kp_ret_jumped\n"
#define JUMPER_END	"	ldp x29, x30, [sp], #16\n"
#define JUMPER_RET	"	ret\n"
#endif

asm(
	".text\n"
	".type kp_ret_jumped, %function\n"
	"kp_ret_jumped:\n"
	JUMPER_BEGIN
	".rept 8\n	nop\n	.endr\n"
	"kp_ret_jump_from:\n"
	JUMPER_BEGIN
	"	nop\n"
	JUMPER_RET
	".size kp_ret_jumped, .-kp_ret_jumped\n"
	".type kp_ret_jumper, %function\n"
	"kp_ret_jumper:\n"
	JUMPER_BEGIN
	".rept 8\n	nop\n	.endr\n"
	JUMPER_CALL
	"kp_ret_jump_to:\n"
	JUMPER_BEGIN
	JUMPER_END
	JUMPER_RET
	".size kp_ret_jumper, .-kp_ret_jumper\n"
);
STACK_FRAME_NON_STANDARD_FP(kp_ret_jumper);

static struct one *jump_out_of;

#if KPROBES_TEST_HAS_PUSHED_RETURNS
/* The return address of the function that is left. */
static void kp_ret_pop(struct pt_regs *regs)
{
	regs->sp = (unsigned long)jump_out_of->slot;
}
#else
static void kp_ret_pop(struct pt_regs *regs)
{
}
#endif

static int jump(struct kprobe *p, struct pt_regs *regs)
{
	kp_ret_pop(regs);
	instruction_pointer_set(regs, (unsigned long)kp_ret_jump_to);
	return 1;
}

static void return_stack_is_rewound(struct kunit *test)
{
	struct kprobe from = { .addr = (kprobe_opcode_t *)kp_ret_jump_from, .pre_handler = jump };
	struct one *jumper, *jumped;
	int i;

	jumper = probe_one(test, "kp_ret_jumper", 1);
	jumped = probe_one(test, "kp_ret_jumped", 1);
	jump_out_of = jumper;
	KUNIT_ASSERT_EQ(test, register_kprobe(&from), 0);
	for (i = 1; i <= 5; i++) {
		kp_ret_jumper();
		KUNIT_EXPECT_EQ(test, atomic_read(&jumped->entries), i);
		KUNIT_EXPECT_EQ(test, atomic_read(&jumped->returns), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&jumper->returns), i);
	}
	KUNIT_EXPECT_PTR_EQ(test, current->kretprobe_instances.first, NULL);
	unregister_kprobe(&from);
	kp_ret_jumper();
	KUNIT_EXPECT_EQ(test, atomic_read(&jumped->returns), 1);
	KUNIT_EXPECT_EQ(test, jumper->rp.nmissed + jumped->rp.nmissed, 0);
}

#ifdef CONFIG_RETHOOK
struct hooked {
	struct kprobe	kp;
	struct rethook	*rh;
	atomic_t	entries, returns;
};

static int hook_call(struct kprobe *p, struct pt_regs *regs)
{
	struct hooked *h = container_of(p, struct hooked, kp);
	struct rethook_node *node = rethook_try_get(h->rh);

	if (node) {
		atomic_inc(&h->entries);
		rethook_hook(node, regs, false);
	}
	return 0;
}

static void hooked_returns(struct rethook_node *node, void *data, unsigned long ret_addr,
			   struct pt_regs *regs)
{
	struct hooked *h = data;

	atomic_inc(&h->returns);
}

/* The hooks of fprobe, and of return probes where they have no trampoline of their own. */
static void return_stack_is_rewound_below_rethook(struct kunit *test)
{
	struct kprobe from = { .addr = (kprobe_opcode_t *)kp_ret_jump_from, .pre_handler = jump };
	struct hooked h[] = {
		{ .kp = { .symbol_name = "kp_ret_jumper", .pre_handler = hook_call } },
		{ .kp = { .symbol_name = "kp_ret_jumped", .pre_handler = hook_call } },
	};
	struct one *jumper;
	int i;

	/* Its entry handler finds the place of the return address. */
	jumper = probe_one(test, "kp_ret_jumper", 1);
	jump_out_of = jumper;
	kp_ret_jumper();
	disable_kretprobe(&jumper->rp);

	for (i = 0; i < ARRAY_SIZE(h); i++) {
		h[i].rh = rethook_alloc(&h[i], hooked_returns, sizeof(struct rethook_node), 1);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, h[i].rh);
		KUNIT_ASSERT_EQ(test, register_kprobe(&h[i].kp), 0);
	}
	KUNIT_ASSERT_EQ(test, register_kprobe(&from), 0);

	for (i = 1; i <= 5; i++) {
		kp_ret_jumper();
		KUNIT_EXPECT_EQ(test, atomic_read(&h[0].entries), i);
		KUNIT_EXPECT_EQ(test, atomic_read(&h[0].returns), i);
		/* The only node of the call that never returns is free again. */
		KUNIT_EXPECT_EQ(test, atomic_read(&h[1].entries), i);
		KUNIT_EXPECT_EQ(test, atomic_read(&h[1].returns), 0);
		KUNIT_EXPECT_PTR_EQ(test, current->rethooks.first, NULL);
	}
	unregister_kprobe(&from);
	for (i = 0; i < ARRAY_SIZE(h); i++) {
		unregister_kprobe(&h[i].kp);
		rethook_free(h[i].rh);
	}
}
#else
KP_SKIPPED(return_stack_is_rewound_below_rethook, "needs RETHOOK")
#endif
#else
KP_SKIPPED(return_stack_is_rewound_below_rethook, "needs assembly code for this architecture")

KP_SKIPPED(return_stack_is_rewound, "needs assembly code for this architecture")
#endif

/*
 * A return from a frame that no instance is of, as after damage to the stack or to the list: the
 * newest call is given up, and execution continues where that came from.
 */

#ifdef CONFIG_KRETPROBE_NATIVE
static noinline __noclone notrace u32 kp_ret_stray(bool damage)
{
	struct llist_node *first = READ_ONCE(current->kretprobe_instances.first);

	KP_PADDING;
	if (damage && first)
		container_of(first, struct kretprobe_instance, llist)->fp += sizeof(long);
	return 7;
}

/* The rest of the report. */
#define NOT_HOOKED	": return from a frame that was not hooked, to"

/* All calls return to the same place. */
static noinline __noclone u32 call_stray(bool damage)
{
	u32 (*volatile fn)(bool damage) = kp_ret_stray;

	return fn(damage) + 1000;
}

static void return_from_unknown_frame(struct kunit *test)
{
	static const char * const modes[] = { "breakpoint", "jump" };
	struct one *o = probe_one(test, "kp_ret_stray", 1);
	size_t size = 3 * KSYM_SYMBOL_LEN;
	char *splat = kp_zalloc(test, size);
	int i;

	KUNIT_EXPECT_EQ(test, call_stray(false), 1007);
	KUNIT_ASSERT_EQ(test, atomic_read(&o->returns), 1);
	/*
	 * The whole line, as it is in the manual. Functions with descriptors have names that begin
	 * with a dot.
	 */
	snprintf(splat, size, "kretprobe BUG!: Processing kretprobe %ps @ %pS" NOT_HOOKED " %pS",
		 o->rp.handler, o->rp.kp.addr, (void *)o->ret_addr);

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		kp_expect_splat(splat);
		KUNIT_EXPECT_EQ_MSG(test, call_stray(true), 1007, "%s", modes[i]);
		KUNIT_EXPECT_EQ(test, atomic_read(&o->entries), 3 * i + 2);
		KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), i + 1);

		/* It is printed once. scripts/test/results.py would complain about another. */
		KUNIT_EXPECT_EQ_MSG(test, call_stray(true), 1007, "%s", modes[i]);
		KUNIT_EXPECT_EQ(test, atomic_read(&o->entries), 3 * i + 3);
		KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), i + 1);

		/* The only instance is free again. */
		KUNIT_EXPECT_EQ(test, call_stray(false), 1007);
		KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), i + 2);
		KUNIT_EXPECT_EQ(test, o->rp.nmissed, 0);
		wait_for_kprobe_optimizer();
	}
	KUNIT_EXPECT_PTR_EQ(test, current->kretprobe_instances.first, NULL);
}

static noinline __noclone notrace u32 kp_ret_stray_late(struct kretprobe *rp)
{
	unregister_kretprobe(rp);
	return kp_ret_stray(true);
}

/* The same when the probe is gone: its handler cannot be named. */
static void return_from_unknown_frame_of_gone_probe(struct kunit *test)
{
	u32 (*volatile fn)(struct kretprobe *rp) = kp_ret_stray_late;
	struct one *o = probe_one(test, "kp_ret_stray_late", 1);

	kp_expect_splat("kretprobe BUG!: Processing a kretprobe that is gone" NOT_HOOKED);
	KUNIT_EXPECT_EQ(test, fn(&o->rp), 7);
	KUNIT_EXPECT_EQ(test, atomic_read(&o->entries), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), 0);
	KUNIT_EXPECT_PTR_EQ(test, current->kretprobe_instances.first, NULL);
}
#else
KP_SKIPPED(return_from_unknown_frame, "the trampoline is not that of the core")

KP_SKIPPED(return_from_unknown_frame_of_gone_probe, "the trampoline is not that of the core")
#endif

/*
 * A function that calls itself more often than there are instances, also those of other
 * CPUs. No entry handler, so that the shortest path is taken as long as there are some.
 */

static noinline __noclone notrace u32 kp_ret_deep(u32 left)
{
	u32 (*volatile fn)(u32 v) = kp_ret_deep;

	KP_PADDING;
	return left ? fn(left - 1) + 1 : 0;
}

#define DEPTH	10

static const char * const deep_modes[] = { "breakpoint", "jump" };

static void mode_to_desc(const char * const *mode, char *desc)
{
	strscpy(desc, *mode, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(deep_mode, deep_modes, mode_to_desc);

static void return_deeper_than_the_pool(struct kunit *test)
{
	bool jump = test->param_value == &deep_modes[1];
	struct one *o = new_one(test, "kp_ret_deep", DEPTH - 2);
	struct kretprobe *huge = kunit_kzalloc(test, sizeof(*huge), GFP_KERNEL);
	struct kretprobe *rps[] = { &o->rp, huge };
	unsigned int missed;
	u32 first, second;

	KUNIT_ASSERT_NOT_NULL(test, huge);
	kprobe_test_allow_optimization(jump);
	o->rp.entry_handler = NULL;
	KP_ADD_RETURN(test, &o->rp);
	wait_for_kprobe_optimizer();
	scoped_guard(preempt) {
		first = kp_ret_deep(DEPTH - 1);
		missed = o->rp.nmissed;
		/* All instances are free again. */
		second = kp_ret_deep(DEPTH - 1);
	}
	kprobe_test_allow_optimization(true);

	KUNIT_EXPECT_EQ(test, first, DEPTH - 1);
	KUNIT_EXPECT_EQ(test, second, DEPTH - 1);
	KUNIT_EXPECT_EQ(test, o->rp.nmissed, 2 * missed);
	KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), 2 * (DEPTH - missed));
	/* Pools of rethook have more instances than they were asked for. */
	if (IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK))
		KUNIT_EXPECT_LE(test, missed, 2);
	else
		KUNIT_EXPECT_EQ(test, missed, 2);

	/* A registration that fails does not lose the counts: here is no memory for the second. */
	unregister_kretprobe(&o->rp);
	o->rp.kp.flags = 0;
	huge->maxactive = INT_MAX;
	huge->kp.symbol_name = "kp_ret_plain";
	KUNIT_EXPECT_LT(test, register_kretprobes(rps, ARRAY_SIZE(rps)), 0);
	KUNIT_EXPECT_EQ(test, o->rp.nmissed, 2 * missed);
}

/* The array of an architecture may have a terminator, and functions that are not built. */
static void return_excluded_functions_are_looked_up(struct kunit *test)
{
	struct kretprobe_blackpoint points[] = {
		{ "kp_ret_no_such_function" },
		{ NULL },
		{ "kp_ret_plain" },
	};
	struct kretprobe rp = { .kp.symbol_name = "kp_ret_plain" };

	kretprobe_resolve_blackpoints(points, ARRAY_SIZE(points));
	KUNIT_EXPECT_NULL(test, points[0].addr);
	KUNIT_EXPECT_NULL(test, points[1].addr);
	/* The address that a probe of it gets. */
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	KUNIT_EXPECT_PTR_EQ(test, points[2].addr, (void *)rp.kp.addr);
	unregister_kretprobe(&rp);
}

/* On no architecture can these have a return probe, with which they would not come to an end. */
static void return_excluded_everywhere(struct kunit *test)
{
	static const char * const names[] = { "preempt_schedule_notrace", "return_to_handler" };
	unsigned int i, tried = 0;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct kretprobe rp = { .kp.symbol_name = names[i] };

		if (!kallsyms_lookup_name(names[i]))
			continue;
		KUNIT_EXPECT_EQ_MSG(test, register_kretprobe(&rp), -EINVAL, "%s", names[i]);
		tried++;
	}
	KUNIT_EXPECT_EQ(test, tried, IS_ENABLED(CONFIG_PREEMPTION) +
				     IS_ENABLED(CONFIG_FUNCTION_GRAPH_TRACER));
	KP_SKIP_IF(test, !tried, "needs PREEMPTION or FUNCTION_GRAPH_TRACER");
}

static bool finding_found;

static int finding_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	finding_found = get_kretprobe(ri) == ri->rp;
	return one_return(ri, regs);
}

/*
 * Interrupts are masked, and lockdep does not know it. Handlers run like this where they are
 * called without an exception. The first lock that one takes makes lockdep switch itself off.
 */
static void return_handler_finds_its_probe_without_locks(struct kunit *test)
{
	u32 (*volatile fn)(u32 v) = kp_ret_plain;
	int locks = debug_locks;
	unsigned long flags;
	struct one *o;
	u32 ret;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_KRETPROBE_NATIVE), "needs KRETPROBE_NATIVE");
	o = probe_one(test, "kp_ret_plain", 1);
	o->rp.handler = finding_return;
	finding_found = false;
	raw_local_irq_save(flags);
	ret = fn(5);
	raw_local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, ret, 17);
	KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), 1);
	KUNIT_EXPECT_TRUE(test, finding_found);
	KUNIT_EXPECT_EQ(test, debug_locks, locks);
}

static struct kunit_case return_cases[] = {
	KUNIT_CASE_PARAM(return_address_is_replaced_in_its_slot, entry_gen_params),
	KUNIT_CASE(return_task_dies_inside),
	KUNIT_CASE(return_probes_where_dead_tasks_are_flushed),
	KUNIT_CASE(return_many_die_and_the_probe_goes),
	KUNIT_CASE(return_child_inherits_no_hooks),
	KUNIT_CASE(return_on_another_cpu),
	KUNIT_CASE(return_default_pool_grows),
	KUNIT_CASE(return_default_is_still_one_later),
	KUNIT_CASE(return_of_checks_for_rcu),
	KUNIT_CASE(return_rcu_does_not_watch_the_return),
	KUNIT_CASE(return_stack_is_rewound),
	KUNIT_CASE(return_stack_is_rewound_below_rethook),
	KUNIT_CASE(return_from_unknown_frame),
	KUNIT_CASE(return_from_unknown_frame_of_gone_probe),
	KUNIT_CASE_PARAM(return_deeper_than_the_pool, deep_mode_gen_params),
	KUNIT_CASE(return_handler_finds_its_probe_without_locks),
	KUNIT_CASE(return_excluded_functions_are_looked_up),
	KUNIT_CASE(return_excluded_everywhere),
	{}
};

KP_SUITE(return_cases, .name = "kprobes_return");
