// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of what becomes of calls whose return is hooked: stack traces through
 * hooks of all kinds, tasks that die or move to another CPU, stacks that are
 * rewound, pools that run out.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/context_tracking.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/fprobe.h>
#include <linux/ftrace.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/objtool.h>
#include <linux/rcupdate.h>
#include <linux/rethook.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

/*
 * Some architectures look for an ftrace site in the first bytes of a function,
 * without asking where it ends. So these have some more.
 */
#define KP_PADDING	asm volatile("	.rept 8\n	nop\n	.endr\n")

/* Unwinders that know which words of a stack are return addresses. */
static const bool exact_traces = IS_ENABLED(CONFIG_KRETPROBE_NATIVE) &&
				 (IS_ENABLED(CONFIG_UNWINDER_ORC) ||
				  IS_ENABLED(CONFIG_UNWINDER_FRAME_POINTER));

struct trace {
	unsigned long	addr[64];
	unsigned int	n;
};

/*
 * Three functions that call each other. In the innermost the stack is looked
 * at: by itself, from the registers of an interrupt that came when it returned
 * to a trampoline, or by somebody else while it sleeps.
 */

enum inner_job { LOOK, LOOK_FROM_REGS, SLEEP };

struct call {
	enum inner_job		job;
	unsigned long		*slot;
	struct trace		trace;
	struct completion	inside, leave, done;
	u32			returned;
};

static noinline void look(struct trace *t)
{
	t->n = stack_trace_save(t->addr, ARRAY_SIZE(t->addr), 0);
}

#ifdef CONFIG_X86
/* Right after the RET: the return address is in ip, and off the stack. */
static noinline void look_from_regs(struct call *c)
{
	struct pt_regs regs = {
		.ip	= *c->slot,
		.cs	= __KERNEL_CS,
		.sp	= (unsigned long)(c->slot + 1),
		.ss	= __KERNEL_DS,
	};

	/* Without frame pointers nobody needs it; else the caller's is needed. */
	if (IS_ENABLED(CONFIG_FRAME_POINTER))
		regs.bp = *(unsigned long *)__builtin_frame_address(1);
	else
		asm volatile("mov %%" _ASM_BP ", %0" : "=r" (regs.bp));

	c->trace.n = stack_trace_save_regs(&regs, c->trace.addr,
					   ARRAY_SIZE(c->trace.addr), 0);
}
#else
static void look_from_regs(struct call *c)
{
}
#endif

static noinline __noclone u32 kp_ret_inner(struct call *c)
{
	if (c->job == LOOK) {
		look(&c->trace);
	} else if (c->job == LOOK_FROM_REGS) {
		look_from_regs(c);
	} else {
		complete(&c->inside);
		wait_for_completion(&c->leave);
	}
	return 1;
}

static noinline __noclone u32 kp_ret_middle(struct call *c)
{
	return kp_ret_inner(c) + 10;
}

static noinline __noclone u32 kp_ret_outer(struct call *c)
{
	return kp_ret_middle(c) + 100;
}

static const char * const nest[] = { "kp_ret_inner", "kp_ret_middle", "kp_ret_outer" };
static void * const nest_fn[] = { kp_ret_inner, kp_ret_middle, kp_ret_outer };

static noinline u32 do_call(struct call *c)
{
	u32 (*volatile fn)(struct call *c) = kp_ret_outer;

	return fn(c) + 1000;
}

#define CALL_RETURNS	1111

/*
 * Hooks on all three, in the order of a string: k return probe, f fprobe,
 * g function graph.
 */

struct hook {
	char			kind;
	bool			on;
	struct kretprobe	rp[ARRAY_SIZE(nest)];
#ifdef CONFIG_FPROBE
	struct fprobe		fp;
#endif
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	struct fgraph_ops	graph;
#endif
};

/* What the handlers saw; [] is which of the nested functions. */
static struct {
	struct trace	at_entry[ARRAY_SIZE(nest)], at_return[ARRAY_SIZE(nest)];
	unsigned long	ret_addr[ARRAY_SIZE(nest)];
	atomic_t	entries[ARRAY_SIZE(nest)], returns[ARRAY_SIZE(nest)];
	bool		look;
	/* The kinds of hooks that saw the innermost one come, and go. */
	char		come[8], go[8];
} seen;

struct return_test {
	struct hook	hook[4];
	int		nr_hooks;
	struct kprobe	inner;
	struct call	call;
	struct trace	plain;
	struct task_struct *task;
};

static struct call *current_call;

static int index_of(unsigned long ip)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(nest); i++) {
		if (ip - (unsigned long)nest_fn[i] < 16)
			return i;
	}
	return 0;
}

static void saw_entry(char kind, int i)
{
	atomic_inc(&seen.entries[i]);
	if (!i && strlen(seen.come) < sizeof(seen.come) - 1)
		seen.come[strlen(seen.come)] = kind;
}

static void saw_return(char kind, int i)
{
	atomic_inc(&seen.returns[i]);
	if (!i && strlen(seen.go) < sizeof(seen.go) - 1)
		seen.go[strlen(seen.go)] = kind;
}

static int k_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	int i = index_of((unsigned long)ri->rp->kp.addr);

	saw_entry('k', i);
	if (seen.look)
		look(&seen.at_entry[i]);
	return 0;
}

static int k_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	int i = index_of((unsigned long)ri->rp->kp.addr);

	saw_return('k', i);
	seen.ret_addr[i] = get_kretprobe_retaddr(ri);
	if (seen.look)
		look(&seen.at_return[i]);
	return 0;
}

static int note_slot(struct kprobe *p, struct pt_regs *regs)
{
	if (current_call)
		current_call->slot = (unsigned long *)kernel_stack_pointer(regs);
	return 0;
}

#ifdef CONFIG_FPROBE
static int f_entry(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
		   struct pt_regs *regs, void *data)
{
	saw_entry('f', index_of(ip));
	if (seen.look)
		look(&seen.at_entry[index_of(ip)]);
	return 0;
}

static void f_return(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
		     struct pt_regs *regs, void *data)
{
	saw_return('f', index_of(ip));
	if (seen.look)
		look(&seen.at_return[index_of(ip)]);
}

static int f_on(struct hook *h)
{
	h->fp.entry_handler = f_entry;
	h->fp.exit_handler = f_return;
	return register_fprobe_syms(&h->fp, (const char **)nest, ARRAY_SIZE(nest));
}

static void f_off(struct hook *h)
{
	unregister_fprobe(&h->fp);
}
#else
static int f_on(struct hook *h)
{
	return -EOPNOTSUPP;
}

static void f_off(struct hook *h)
{
}
#endif

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
static int g_entry(struct ftrace_graph_ent *ent, struct fgraph_ops *ops)
{
	saw_entry('g', index_of(ent->func));
	return 1;
}

static void g_return(struct ftrace_graph_ret *ret, struct fgraph_ops *ops)
{
	saw_return('g', index_of(ret->func));
}

static int g_on(struct hook *h)
{
	int i, ret = 0;

	h->graph.entryfunc = g_entry;
	h->graph.retfunc = g_return;
	for (i = 0; i < ARRAY_SIZE(nest) && !ret; i++)
		ret = ftrace_set_filter_ip(&h->graph.ops,
					   ftrace_location((unsigned long)nest_fn[i]), 0, 0);
	return ret ?: register_ftrace_graph(&h->graph);
}

static void g_off(struct hook *h)
{
	unregister_ftrace_graph(&h->graph);
	ftrace_free_filter(&h->graph.ops);
}
#else
static int g_on(struct hook *h)
{
	return -EOPNOTSUPP;
}

static void g_off(struct hook *h)
{
}
#endif

static int k_on(struct hook *h)
{
	struct kretprobe *rps[ARRAY_SIZE(nest)];
	int i;

	memset(h->rp, 0, sizeof(h->rp));
	for (i = 0; i < ARRAY_SIZE(nest); i++) {
		h->rp[i].kp.symbol_name = nest[i];
		h->rp[i].entry_handler = k_entry;
		h->rp[i].handler = k_return;
		h->rp[i].maxactive = 4;
		rps[i] = &h->rp[i];
	}
	return register_kretprobes(rps, ARRAY_SIZE(nest));
}

static void k_off(struct hook *h)
{
	struct kretprobe *rps[ARRAY_SIZE(nest)];
	int i;

	for (i = 0; i < ARRAY_SIZE(nest); i++)
		rps[i] = &h->rp[i];
	unregister_kretprobes(rps, ARRAY_SIZE(nest));
}

static bool kind_exists(char kind)
{
	return kind == 'k' || (kind == 'f' && IS_ENABLED(CONFIG_FPROBE)) ||
	       (kind == 'g' && IS_ENABLED(CONFIG_FUNCTION_GRAPH_TRACER));
}

static void hooks_on(struct kunit *test, const char *kinds)
{
	struct return_test *t = test->priv;
	struct hook *h;
	int ret;

	for (; *kinds; kinds++) {
		h = &t->hook[t->nr_hooks++];
		memset(h, 0, sizeof(*h));
		h->kind = *kinds;
		ret = h->kind == 'k' ? k_on(h) : h->kind == 'f' ? f_on(h) : g_on(h);
		h->on = !ret;
		KUNIT_ASSERT_EQ_MSG(test, ret, 0, "hook %c", h->kind);
	}
}

static void hook_off(struct hook *h)
{
	if (!h->on)
		return;
	h->kind == 'k' ? k_off(h) : h->kind == 'f' ? f_off(h) : g_off(h);
	h->on = false;
}

static void hooks_off(struct return_test *t)
{
	for (; t->nr_hooks; t->nr_hooks--)
		hook_off(&t->hook[t->nr_hooks - 1]);
}

static const char * const orders[] = {
	"k", "kk", "kkk", "f", "ff", "kf", "fk", "kfk", "fkf", "kkff", "ffkk",
	"g", "gg", "gk", "kg", "kgk", "gkg", "gf", "fg", "gkf", "gfk", "kgf",
	"kfg", "fgk", "fkg", "gkfk", "fkgk",
};

static void order_to_desc(const char * const *order, char *desc)
{
	strscpy(desc, *order, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(order, orders, order_to_desc);

/* The hooks of this parameter can be set, and traces are exact. */
static const char *order_of(struct kunit *test)
{
	const char *kinds = *(const char * const *)test->param_value, *k;

	if (!exact_traces)
		kunit_skip(test, "needs KRETPROBE_NATIVE and an exact unwinder");
	for (k = kinds; *k; k++) {
		if (!kind_exists(*k))
			kunit_skip(test, "needs FPROBE and FUNCTION_GRAPH_TRACER");
	}
	return kinds;
}

static bool is_hook(unsigned long addr)
{
	if (is_kretprobe_trampoline(addr))
		return true;
	if (IS_ENABLED(CONFIG_RETHOOK) && is_rethook_trampoline(addr))
		return true;
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	if (addr == (unsigned long)dereference_kernel_function_descriptor(return_to_handler))
		return true;
#endif
	return false;
}

static int nr_hooks_in(const struct trace *t)
{
	int i, n = 0;

	for (i = 0; i < t->n; i++)
		n += is_hook(t->addr[i]);
	return n;
}

static bool same(const struct trace *a, const struct trace *b)
{
	return a->n == b->n && !memcmp(a->addr, b->addr, a->n * sizeof(*a->addr));
}

/* Does @t end as @whole does, of which the first @skip are left out? */
static bool ends_as(const struct trace *t, const struct trace *whole, int skip)
{
	int n = (int)whole->n - skip;

	return n > 0 && t->n >= n &&
	       !memcmp(t->addr + t->n - n, whole->addr + skip, n * sizeof(*t->addr));
}

static void show(struct kunit *test, const char *what, const struct trace *t)
{
	int i;

	kunit_info(test, "%s:", what);
	for (i = 0; i < t->n; i++)
		kunit_info(test, "  %pS", (void *)t->addr[i]);
}

/*
 * Every call is made by a thread of its own, so that traces can be compared
 * from the first to the last address.
 */

static int caller(void *data)
{
	struct call *c = data;

	c->returned = do_call(c);
	complete(&c->done);
	return 0;
}

static void start_call(struct kunit *test, struct return_test *t, enum inner_job job)
{
	init_completion(&t->call.inside);
	init_completion(&t->call.leave);
	init_completion(&t->call.done);
	t->call.job = job;
	t->task = kthread_create(caller, &t->call, "kp_ret_caller");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->task);
	get_task_struct(t->task);
	wake_up_process(t->task);
}

static u32 end_call(struct return_test *t)
{
	wait_for_completion(&t->call.done);
	kthread_stop(t->task);
	put_task_struct(t->task);
	return t->call.returned;
}

static u32 one_call(struct kunit *test, enum inner_job job)
{
	struct return_test *t = test->priv;

	start_call(test, t, job);
	return end_call(t);
}

static void put_to_sleep(struct kunit *test, struct return_test *t)
{
	start_call(test, t, SLEEP);
	wait_for_completion(&t->call.inside);
	/* It may be preempted on its way. */
	while (!wait_task_inactive(t->task, TASK_UNINTERRUPTIBLE))
		msleep(1);
}

static u32 wake_from_sleep(struct return_test *t)
{
	complete(&t->call.leave);
	return end_call(t);
}

/* Without hooks and with them. */
static void plain_and_hooked_call(struct kunit *test, const char *kinds,
				  enum inner_job job)
{
	struct return_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, one_call(test, LOOK), CALL_RETURNS);
	t->plain = t->call.trace;
	KUNIT_EXPECT_GT(test, t->plain.n, 4);

	hooks_on(test, kinds);
	KUNIT_EXPECT_EQ(test, one_call(test, job), CALL_RETURNS);
	hooks_off(t);
}

static void forget_calls(void)
{
	memset(&seen, 0, sizeof(seen));
}

/* Each hook saw each of the three functions come and go so many times. */
static void expect_seen(struct kunit *test, int n)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(nest); i++) {
		KUNIT_EXPECT_EQ(test, atomic_read(&seen.entries[i]), n);
		KUNIT_EXPECT_EQ(test, atomic_read(&seen.returns[i]), n);
	}
}

/* Who diverted the return last has it first. */
static void expect_reverse(struct kunit *test)
{
	size_t i, n = strlen(seen.come);

	KUNIT_ASSERT_EQ(test, strlen(seen.go), n);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ_MSG(test, seen.go[n - 1 - i], seen.come[i],
				    "%s came, %s went", seen.come, seen.go);
}

static void p_ret_21_trace_in_the_function(struct kunit *test)
{
	const char *kinds = order_of(test);
	struct return_test *t = test->priv;

	plain_and_hooked_call(test, kinds, LOOK);
	KUNIT_EXPECT_TRUE(test, same(&t->plain, &t->call.trace));
	if (!same(&t->plain, &t->call.trace)) {
		show(test, "without hooks", &t->plain);
		show(test, "with hooks", &t->call.trace);
	}
	expect_seen(test, strlen(kinds));
	expect_reverse(test);
}

/* In entry and return handlers, of all three functions. */
static void p_ret_18_trace_in_the_handlers(struct kunit *test)
{
	const char *kinds = order_of(test);
	struct return_test *t = test->priv;
	int i;

	seen.look = true;
	plain_and_hooked_call(test, kinds, LOOK);
	if (!strpbrk(kinds, "kf"))
		return;
	/* In it are look(), the three functions from the innermost on, and so on. */
	for (i = 0; i < ARRAY_SIZE(nest); i++) {
		KUNIT_EXPECT_EQ(test, nr_hooks_in(&seen.at_entry[i]), 0);
		KUNIT_EXPECT_EQ(test, nr_hooks_in(&seen.at_return[i]), 0);
		KUNIT_EXPECT_TRUE_MSG(test, ends_as(&seen.at_return[i], &t->plain, i + 2),
				      "return of %s", nest[i]);
		if (!ends_as(&seen.at_return[i], &t->plain, i + 2))
			show(test, "return", &seen.at_return[i]);
		/* A function without a frame yet: its caller cannot be found by them. */
		if (IS_ENABLED(CONFIG_X86) && IS_ENABLED(CONFIG_UNWINDER_FRAME_POINTER))
			continue;
		KUNIT_EXPECT_TRUE_MSG(test, ends_as(&seen.at_entry[i], &t->plain, i + 2),
				      "entry of %s", nest[i]);
		if (!ends_as(&seen.at_entry[i], &t->plain, i + 2))
			show(test, "entry", &seen.at_entry[i]);
	}
}

/* An interrupt at the very first instruction of a trampoline. */
static void p_ret_18_trace_from_the_trampoline(struct kunit *test)
{
	const char *kinds = order_of(test);
	struct return_test *t = test->priv;

	t->inner.symbol_name = nest[0];
	t->inner.pre_handler = note_slot;
	KUNIT_ASSERT_EQ(test, register_kprobe(&t->inner), 0);
	current_call = &t->call;
	plain_and_hooked_call(test, kinds, LOOK_FROM_REGS);
	current_call = NULL;
	unregister_kprobe(&t->inner);

	/* The trampoline instead of the return into kp_ret_middle(), no more. */
	KUNIT_EXPECT_TRUE(test, is_hook(t->call.trace.addr[0]));
	KUNIT_EXPECT_EQ(test, nr_hooks_in(&t->call.trace), 1);
	KUNIT_EXPECT_EQ(test, t->call.trace.n, t->plain.n - 2);
	KUNIT_EXPECT_TRUE(test, ends_as(&t->call.trace, &t->plain, 3));
	if (!ends_as(&t->call.trace, &t->plain, 3)) {
		show(test, "without hooks", &t->plain);
		show(test, "from registers", &t->call.trace);
	}
}

/* A task that sleeps in there. */
static void look_at(struct task_struct *task, struct trace *t)
{
	t->n = stack_trace_save_tsk(task, t->addr, ARRAY_SIZE(t->addr), 0);
}

static int look_reliably_at(struct task_struct *task, struct trace *t)
{
	int n = stack_trace_save_tsk_reliable(task, t->addr, ARRAY_SIZE(t->addr));

	t->n = max(n, 0);
	return n;
}

static void p_ret_18_trace_of_a_sleeping_task(struct kunit *test)
{
	const char *kinds = order_of(test);
	struct return_test *t = test->priv;
	struct trace *now = &seen.at_entry[0], *plain_reliable = &seen.at_entry[1];
	int reliable;

	put_to_sleep(test, t);
	look_at(t->task, &t->plain);
	reliable = look_reliably_at(t->task, plain_reliable);
	KUNIT_EXPECT_EQ(test, wake_from_sleep(t), CALL_RETURNS);
	KUNIT_EXPECT_GT(test, t->plain.n, 4);
	if (IS_ENABLED(CONFIG_HAVE_RELIABLE_STACKTRACE))
		KUNIT_EXPECT_GT(test, reliable, 4);
	else
		KUNIT_EXPECT_EQ(test, reliable, -ENOSYS);

	hooks_on(test, kinds);
	put_to_sleep(test, t);
	look_at(t->task, now);
	KUNIT_EXPECT_TRUE(test, same(now, &t->plain));
	if (!same(now, &t->plain)) {
		show(test, "without hooks", &t->plain);
		show(test, "with hooks", now);
	}
	KUNIT_EXPECT_EQ(test, look_reliably_at(t->task, now), reliable);
	KUNIT_EXPECT_TRUE(test, same(now, plain_reliable));

	/* The hooks go, those on this stack stay. */
	hooks_off(t);
	look_at(t->task, now);
	KUNIT_EXPECT_TRUE(test, same(now, &t->plain));
	KUNIT_EXPECT_EQ(test, wake_from_sleep(t), CALL_RETURNS);
}

/*
 * The hooks go one after the other, and others come, while a call is in flight
 * that they all have diverted.
 */
static void switch_in_flight(struct kunit *test, const char *kinds, bool last_first)
{
	struct return_test *t = test->priv, *later;
	int i, nr = strlen(kinds);

	later = kunit_kzalloc(test, sizeof(*later), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, later);

	hooks_on(test, kinds);
	put_to_sleep(test, t);
	for (i = 0; i < nr; i++) {
		hook_off(&t->hook[last_first ? nr - 1 - i : i]);
		forget_calls();
		start_call(test, later, LOOK);
		KUNIT_EXPECT_EQ(test, end_call(later), CALL_RETURNS);
		expect_seen(test, nr - 1 - i);
		expect_reverse(test);
	}
	t->nr_hooks = 0;

	hooks_on(test, kinds);
	forget_calls();
	put_to_sleep(test, later);
	KUNIT_EXPECT_EQ(test, wake_from_sleep(t), CALL_RETURNS);
	/* The new ones do not take it for theirs; but one of fgraph in 16 does. */
	KUNIT_EXPECT_PTR_EQ(test, strpbrk(seen.go, "kf"), NULL);
	memset(seen.returns, 0, sizeof(seen.returns));
	memset(seen.go, 0, sizeof(seen.go));
	KUNIT_EXPECT_EQ(test, wake_from_sleep(later), CALL_RETURNS);
	expect_seen(test, nr);
	expect_reverse(test);
	hooks_off(t);
}

static void p_ret_21_hooks_go_and_come_in_flight(struct kunit *test)
{
	const char *kinds = order_of(test);

	switch_in_flight(test, kinds, false);
	switch_in_flight(test, kinds, true);
}

/* It is not looked at, since it may change just now. */
static int busy_thread(void *data)
{
	struct call c = { .job = LOOK };

	while (!kthread_should_stop()) {
		do_call(&c);
		cond_resched();
	}
	return 0;
}

static void p_ret_19_trace_of_a_running_task(struct kunit *test)
{
	struct return_test *t = test->priv;
	struct task_struct *task;
	struct trace *now = &seen.at_entry[0];
	int i;

	hooks_on(test, "kk");
	task = kthread_run(busy_thread, NULL, "kp_ret_busy");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	for (i = 0; i < 1000 && !atomic_read(&seen.entries[0]); i++)
		schedule_timeout_uninterruptible(1);
	for (i = 0; i < 20000; i++) {
		look_at(task, now);
		if (!(i % 100))
			cond_resched();
	}
	kthread_stop(task);
	hooks_off(t);
	KUNIT_EXPECT_GT(test, atomic_read(&seen.returns[0]), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.returns[0]),
			atomic_read(&seen.entries[0]));
}

/*
 * Calls that never return, or not as expected.
 */

struct one {
	struct kretprobe	rp;
	atomic_t		entries, returns;
	int			cpu_entry, cpu_return, moved;
	unsigned long		*slot;
	unsigned long		ret_addr, ret_value;
};

static int one_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct one *o = container_of(ri->rp, struct one, rp);

	atomic_inc(&o->entries);
	o->slot = (unsigned long *)kernel_stack_pointer(regs);
	o->cpu_entry = raw_smp_processor_id();
	return 0;
}

static int one_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct one *o = container_of(ri->rp, struct one, rp);

	atomic_inc(&o->returns);
	o->cpu_return = raw_smp_processor_id();
	o->moved += o->cpu_return != o->cpu_entry;
	o->ret_addr = get_kretprobe_retaddr(ri);
	o->ret_value = regs_return_value(regs);
	return 0;
}

static struct one *probe_one(struct kunit *test, const char *symbol, int maxactive)
{
	struct one *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, o);
	o->rp.kp.symbol_name = symbol;
	o->rp.entry_handler = one_entry;
	o->rp.handler = one_return;
	o->rp.maxactive = maxactive;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&o->rp), 0);
	return o;
}

/*
 * At an ftrace site the return address is elsewhere, seen from the registers,
 * than where a breakpoint finds it.
 */

static unsigned long inside_returns_to;

static noinline __noclone u32 kp_ret_traced(u32 v)
{
	inside_returns_to = (unsigned long)__builtin_return_address(0);
	OPTIMIZER_HIDE_VAR(v);
	return v * 3 + 1;
}

static noinline __noclone notrace u32 kp_ret_plain(u32 v)
{
	KP_PADDING;
	inside_returns_to = (unsigned long)__builtin_return_address(0);
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

	/* Not the last thing, or it would not return to here. */
	return fn(5) + 1000;
}

static void p_ret_25_the_right_slot(struct kunit *test)
{
	const struct entry_case *c = test->param_value;
	unsigned long real;
	struct one *o;
	int i;

	if (c->ftrace && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "needs KPROBES_ON_FTRACE");

	KUNIT_ASSERT_EQ(test, call_entry(c), c->want + 1000);
	real = inside_returns_to;
	KUNIT_EXPECT_FALSE(test, is_hook(real));

	o = probe_one(test, c->symbol, 1);
	scoped_guard(preempt)
		KUNIT_EXPECT_EQ(test, kprobe_ftrace(get_kprobe(o->rp.kp.addr)), c->ftrace);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, call_entry(c), c->want + 1000);
		KUNIT_EXPECT_TRUE(test, is_hook(inside_returns_to));
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

/* A dead task's calls come back with its task_struct. */
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

static void p_ret_06_p_ret_07_task_dies_inside(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *task;
	struct one *o;
	int i;

	o = probe_one(test, "kp_ret_die", 1);
	for (i = 0; i < 20; i++) {
		reinit_completion(&done);
		task = kthread_run(dying_thread, &done, "kp_ret_dying");
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
		wait_for_completion(&done);
		/* No assertion: the probe has to go in any case. */
		if (!one_is_back(o))
			break;
	}
	KUNIT_EXPECT_EQ(test, i, 20);
	KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), 20);
	KUNIT_EXPECT_EQ(test, atomic_read(&o->entries), 40);
	unregister_kretprobe(&o->rp);
}

/*
 * What giving back the calls of a dead task may call, or be called by. On arm, an
 * undefined instruction takes a lock, see hit_kunit.c.
 */
static const char * const flush_path[] = {
#ifndef CONFIG_ARM
	"_raw_spin_lock_irqsave", "_raw_spin_unlock_irqrestore", "_raw_spin_lock",
	"kfree", "kmem_cache_free", "queue_work_on",
#endif
	"call_rcu", "delayed_put_task_struct", "__put_task_struct", "free_task",
};

struct counted {
	struct kretprobe	rp;
	atomic_t		entries, returns;
	bool			on;
};

static int counted_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_inc(&container_of(get_kretprobe(ri), struct counted, rp)->entries);
	return 0;
}

static int counted_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_inc(&container_of(get_kretprobe(ri), struct counted, rp)->returns);
	return 0;
}

static void p_ret_07_probes_where_dead_tasks_are_flushed(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *task;
	int i, k, nr = 0, entries = 0;
	struct counted *c;
	struct one *o;

	c = kunit_kcalloc(test, ARRAY_SIZE(flush_path), sizeof(*c), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	o = probe_one(test, "kp_ret_die", 1);
	for (i = 0; i < ARRAY_SIZE(flush_path); i++) {
		c[i].rp.kp.symbol_name = flush_path[i];
		c[i].rp.entry_handler = counted_entry;
		c[i].rp.handler = counted_return;
		/* Not all of them are functions everywhere, or may be probed. */
		c[i].on = !register_kretprobe(&c[i].rp);
		nr += c[i].on;
	}
	KUNIT_EXPECT_GE(test, nr, 2);

	for (k = 0; k < 20; k++) {
		reinit_completion(&done);
		task = kthread_run(dying_thread, &done, "kp_ret_dying");
		if (IS_ERR(task))
			break;
		wait_for_completion(&done);
		if (!one_is_back(o))
			break;
	}
	KUNIT_EXPECT_EQ(test, k, 20);

	for (i = 0; i < ARRAY_SIZE(flush_path); i++) {
		if (!c[i].on)
			continue;
		unregister_kretprobe(&c[i].rp);
		entries += atomic_read(&c[i].entries);
		kunit_info(test, "%s: %d entries, %d returns, %d missed\n", flush_path[i],
			   atomic_read(&c[i].entries), atomic_read(&c[i].returns),
			   c[i].rp.nmissed);
	}
	KUNIT_EXPECT_GE(test, entries, 20);
	/* They did not lose what they followed meanwhile either. */
	KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), 20);
	KUNIT_EXPECT_EQ(test, atomic_read(&o->entries), 40);
	unregister_kretprobe(&o->rp);
}

/* Unregistered while they are dying, too. */
static void p_ret_06_many_die_and_the_probe_goes(struct kunit *test)
{
	struct completion done[8];
	struct one *o;
	int i, round;

	for (round = 0; round < 10; round++) {
		o = probe_one(test, "kp_ret_die", 4);
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

/* A child begins without the calls that its parent is in. */
struct family {
	struct completion	done;
	pid_t			pid;
	bool			parent_hooked, child_hooked;
	u32			child_got;
};

static bool is_hooked(struct task_struct *task)
{
#ifdef CONFIG_RETHOOK
	if (task->rethooks.first)
		return true;
#endif
	return task->kretprobe_instances.first;
}

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

static void p_ret_09_child_inherits_no_hooks(struct kunit *test)
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
	unregister_kretprobe(&parent->rp);
	unregister_kretprobe(&clone->rp);
	unregister_kretprobe(&child->rp);
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
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static void returns_on_another_cpu(struct kunit *test)
{
	struct task_struct *task;
	struct one *o;
	int right = 0;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	o = probe_one(test, "kp_ret_move", 1);
	task = kthread_run(moving_thread, &right, "kp_ret_moving");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	while (atomic_read(&o->returns) + READ_ONCE(o->rp.nmissed) < 100)
		msleep(1);
	kthread_stop(task);
	unregister_kretprobe(&o->rp);
	KUNIT_EXPECT_EQ(test, right, 100);
	KUNIT_EXPECT_EQ(test, o->rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), 100);
	KUNIT_EXPECT_GE(test, o->moved, 98);
}

/* Of @nr calls in flight, how many are not followed? */
static int missed_of(struct kunit *test, struct one *o, int nr)
{
	int i, nr_default = max(10u, 2 * num_possible_cpus());
	int before = atomic_read(&o->returns), missed;
	struct return_test *t;

	t = kunit_kcalloc(test, nr, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	for (i = 0; i < nr; i++) {
		put_to_sleep(test, &t[i]);
		/* Time for the pool to grow, when it has just run out. */
		if (i >= nr_default)
			msleep(20);
	}
	missed = o->rp.nmissed;
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ(test, wake_from_sleep(&t[i]), CALL_RETURNS);
	KUNIT_EXPECT_EQ(test, atomic_read(&o->returns) - before, nr - missed);
	kunit_kfree(test, t);
	return missed;
}

static void p_ret_02_default_pool_grows(struct kunit *test)
{
	int nr_default = max(10u, 2 * num_possible_cpus());
	struct one *o;

	if (!IS_ENABLED(CONFIG_KRETPROBE_POOL))
		kunit_skip(test, "needs KRETPROBE_POOL");

	o = probe_one(test, "kp_ret_inner", 0);
	KUNIT_EXPECT_EQ(test, o->rp.maxactive, nr_default);
	/* Once the default number are in flight, and at twice of it, one is missed. */
	KUNIT_EXPECT_EQ(test, missed_of(test, o, 3 * nr_default), 2);
	KUNIT_EXPECT_EQ(test, o->rp.maxactive, nr_default);
	unregister_kretprobe(&o->rp);
}

/* As a kprobe event does when its module is loaded again. */
static void register_again(struct kunit *test, struct one *o)
{
	o->rp.kp.addr = NULL;
	o->rp.kp.flags &= ~KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&o->rp), 0);
}

static void p_ret_02_default_is_still_one_later(struct kunit *test)
{
	int nr_default = max(10u, 2 * num_possible_cpus());
	struct one *o;

	if (!IS_ENABLED(CONFIG_KRETPROBE_POOL))
		kunit_skip(test, "needs KRETPROBE_POOL");

	o = probe_one(test, "kp_ret_inner", 0);
	unregister_kretprobe(&o->rp);
	register_again(test, o);
	KUNIT_EXPECT_EQ(test, o->rp.maxactive, nr_default);
	KUNIT_EXPECT_EQ(test, missed_of(test, o, nr_default + 3), 1);
	unregister_kretprobe(&o->rp);

	/* A number that the user gives is as much as there is, now as before. */
	o->rp.maxactive = nr_default;
	register_again(test, o);
	KUNIT_EXPECT_EQ(test, missed_of(test, o, nr_default + 3), 3);
	unregister_kretprobe(&o->rp);
	KUNIT_EXPECT_EQ(test, o->rp.maxactive, nr_default);
	register_again(test, o);
	KUNIT_EXPECT_EQ(test, missed_of(test, o, nr_default + 3), 3);
	unregister_kretprobe(&o->rp);

	/* One that was set while it was registered is the user's, too. */
	o->rp.maxactive = -1;
	register_again(test, o);
	o->rp.maxactive = nr_default + 1;
	unregister_kretprobe(&o->rp);
	KUNIT_EXPECT_EQ(test, o->rp.maxactive, nr_default + 1);
}

#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK) && \
	!defined(CONFIG_KRETPROBE_POOL) && defined(CONFIG_HAVE_FUNCTION_ARG_ACCESS_API)
/* An instance comes back after its kretprobe has gone: who gives it to RCU? */
static struct {
	struct kretprobe_instance	*ri;
	atomic_t			in_irq, elsewhere;
} late;

static int late_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	late.ri = ri;
	return 0;
}

static int late_call_rcu(struct kprobe *p, struct pt_regs *regs)
{
	if (late.ri && regs_get_kernel_argument(regs, 0) == (unsigned long)&late.ri->rcu)
		atomic_inc(in_hardirq() ? &late.in_irq : &late.elsewhere);
	return 0;
}

static void p_ret_15_late_return_does_not_call_rcu(struct kunit *test)
{
	struct return_test *t = test->priv;
	struct kprobe p = { .symbol_name = "call_rcu", .pre_handler = late_call_rcu };
	unsigned long end;
	struct one *o;

	memset(&late, 0, sizeof(late));
	o = probe_one(test, "kp_ret_inner", 1);
	o->rp.entry_handler = late_entry;
	put_to_sleep(test, t);
	KUNIT_EXPECT_NOT_NULL(test, late.ri);
	unregister_kretprobe(&o->rp);

	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	KUNIT_EXPECT_EQ(test, wake_from_sleep(t), CALL_RETURNS);
	/* At the latest with the next tick. */
	for (end = jiffies + 10 * HZ; time_before(jiffies, end); msleep(1)) {
		if (atomic_read(&late.in_irq) || atomic_read(&late.elsewhere))
			break;
	}
	unregister_kprobe(&p);
	KUNIT_EXPECT_EQ(test, atomic_read(&late.in_irq), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&late.elsewhere), 0);
	late.ri = NULL;
}
#else
static void p_ret_15_late_return_does_not_call_rcu(struct kunit *test)
{
	kunit_skip(test, "needs pools from objpool, and arguments of functions");
}
#endif

#if defined(CONFIG_PROVE_RCU) && defined(CONFIG_KRETPROBES) && \
	!defined(CONFIG_KRETPROBE_ON_RETHOOK)
/* What rcu_dereference_check() calls must not be called on the way of a return. */
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

static void returns_of_checks_for_rcu(struct kunit *test)
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
	unregister_kretprobe(&plain->rp);
	KUNIT_EXPECT_EQ(test, atomic_read(&plain->returns), 100);
	for (i = 0; i < ARRAY_SIZE(o); i++) {
		unregister_kretprobe(&o[i]->rp);
		KUNIT_EXPECT_GE(test, atomic_read(&o[i]->returns), 100);
	}
	/* In a task, a softirq, an interrupt and an NMI. */
	KUNIT_EXPECT_LE(test, deepest, 4);
}
#else
static void returns_of_checks_for_rcu(struct kunit *test)
{
	kunit_skip(test, "needs PROVE_RCU");
}
#endif

#if defined(CONFIG_CONTEXT_TRACKING_IDLE) && !defined(CONFIG_RCU_EQS_DEBUG)
static noinline __noclone notrace u32 kp_ret_unwatched(u32 v)
{
	KP_PADDING;
	OPTIMIZER_HIDE_VAR(v);
	ct_idle_enter();
	return v + 3;
}

/* As from the idle loop; nothing in between may need RCU. */
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

static void p_ret_28_rcu_does_not_watch_the_return(struct kunit *test)
{
	struct one *o, *exit;
	int i;

	if (!IS_ENABLED(CONFIG_KRETPROBE_NATIVE))
		kunit_skip(test, "needs KRETPROBE_NATIVE");
	o = probe_one(test, "kp_ret_unwatched", 1);
	/* With which the counting ends, and which returns unwatched itself. */
	exit = probe_one(test, "ct_irq_exit_irqson", 1);
	for (i = 1; i <= 5; i++) {
		KUNIT_EXPECT_EQ(test, call_unwatched(10), 13);
		KUNIT_EXPECT_EQ(test, atomic_read(&o->entries), i);
		KUNIT_EXPECT_EQ(test, atomic_read(&o->returns), 0);
		KUNIT_EXPECT_EQ(test, o->rp.nmissed, i);
	}
	unregister_kretprobe(&exit->rp);
	unregister_kretprobe(&o->rp);
}
#else
static void p_ret_28_rcu_does_not_watch_the_return(struct kunit *test)
{
	kunit_skip(test, "needs CONTEXT_TRACKING_IDLE and not RCU_EQS_DEBUG");
}
#endif

#ifdef CONFIG_X86_64
/* kp_ret_jumped() is left as by longjmp(): its caller returns, it never does. */
void kp_ret_jumper(void);
void kp_ret_jumped(void);
extern char kp_ret_jump_from[], kp_ret_jump_to[];

asm(
	".text\n"
	".type kp_ret_jumped, @function\n"
	"kp_ret_jumped:\n"
	ANNOTATE_NOENDBR
	".rept 8\n	nop\n	.endr\n"
	"kp_ret_jump_from:\n"
	ANNOTATE_NOENDBR
	"	nop\n"
	ASM_RET
	".size kp_ret_jumped, .-kp_ret_jumped\n"
	".type kp_ret_jumper, @function\n"
	"kp_ret_jumper:\n"
	ANNOTATE_NOENDBR
	".rept 8\n	nop\n	.endr\n"
	"	call kp_ret_jumped\n"
	"kp_ret_jump_to:\n"
	ANNOTATE_NOENDBR
	ASM_RET
	".size kp_ret_jumper, .-kp_ret_jumper\n"
);
STACK_FRAME_NON_STANDARD_FP(kp_ret_jumper);

static struct one *jump_out_of;

static int jump(struct kprobe *p, struct pt_regs *regs)
{
	regs->sp = (unsigned long)jump_out_of->slot;
	regs->ip = (unsigned long)kp_ret_jump_to;
	return 1;
}

static void p_ret_12_rewound_stack(struct kunit *test)
{
	struct kprobe from = {
		.addr		= (kprobe_opcode_t *)kp_ret_jump_from,
		.pre_handler	= jump,
	};
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
	unregister_kretprobe(&jumper->rp);
	unregister_kretprobe(&jumped->rp);
}
#else
static void p_ret_12_rewound_stack(struct kunit *test)
{
	kunit_skip(test, "for x86_64");
}
#endif

static int return_test_init(struct kunit *test)
{
	struct return_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	memset(&seen, 0, sizeof(seen));
	return 0;
}

static void return_test_exit(struct kunit *test)
{
	if (test->priv)
		hooks_off(test->priv);
}

static struct kunit_case return_testcases[] = {
	KUNIT_CASE_PARAM(p_ret_21_trace_in_the_function, order_gen_params),
	KUNIT_CASE_PARAM(p_ret_18_trace_in_the_handlers, order_gen_params),
	KUNIT_CASE_PARAM(p_ret_18_trace_from_the_trampoline, order_gen_params),
	KUNIT_CASE_PARAM(p_ret_18_trace_of_a_sleeping_task, order_gen_params),
	KUNIT_CASE_PARAM(p_ret_21_hooks_go_and_come_in_flight, order_gen_params),
	KUNIT_CASE(p_ret_19_trace_of_a_running_task),
	KUNIT_CASE_PARAM(p_ret_25_the_right_slot, entry_gen_params),
	KUNIT_CASE(p_ret_06_p_ret_07_task_dies_inside),
	KUNIT_CASE(p_ret_07_probes_where_dead_tasks_are_flushed),
	KUNIT_CASE(p_ret_06_many_die_and_the_probe_goes),
	KUNIT_CASE(p_ret_09_child_inherits_no_hooks),
	KUNIT_CASE(returns_on_another_cpu),
	KUNIT_CASE(p_ret_02_default_pool_grows),
	KUNIT_CASE(p_ret_02_default_is_still_one_later),
	KUNIT_CASE(p_ret_15_late_return_does_not_call_rcu),
	KUNIT_CASE(returns_of_checks_for_rcu),
	KUNIT_CASE(p_ret_28_rcu_does_not_watch_the_return),
	KUNIT_CASE(p_ret_12_rewound_stack),
	{}
};

static struct kunit_suite return_test_suite = {
	.name		= "kprobes_return",
	.init		= return_test_init,
	.exit		= return_test_exit,
	.test_cases	= return_testcases,
};
kunit_test_suites(&return_test_suite);
