// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stack traces through hooked returns: kretprobes, fprobes and function graph
 * tracers on the same functions, in every order, coming and going while calls are
 * in flight.
 */

#include "suite.h"

#include <linux/fprobe.h>
#include <linux/rethook.h>
#include <linux/stacktrace.h>

#include "helpers.h"
#include "signatures.h"

struct trace {
	unsigned long	addr[64];
	unsigned int	n;
};

/*
 * Three functions that call each other. The stack is examined in the innermost: by
 * itself, from the registers of an interrupt at its return to a trampoline, or by
 * another task while it sleeps.
 */

enum inner_job { LOOK, LOOK_FROM_REGS, SLEEP };

struct call {
	/* The outermost of the three, or another function. */
	u32			(*fn)(struct call *c);
	enum inner_job		job;
	/* Function graph tracing is paused. */
	bool			paused;
	unsigned long		*slot;
	struct trace		trace;
	struct completion	inside, leave, done;
	u32			returned;
};

static noinline void look(struct trace *t)
{
	t->n = stack_trace_save(t->addr, ARRAY_SIZE(t->addr), 0);
}

#if KPROBES_TEST_HAS_PUSHED_RETURNS
/* Right after the RET: the return address is in ip, and no longer on the stack. */
static noinline void look_from_regs(struct call *c)
{
	struct pt_regs regs = {
		.ip	= *c->slot,
		.cs	= __KERNEL_CS,
		.sp	= (unsigned long)(c->slot + 1),
		.ss	= __KERNEL_DS,
	};

	/* Unwinders without frame pointers do not need bp; others need the caller's. */
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
	u32 (*volatile fn)(struct call *c) = c->fn ?: kp_ret_outer;

	return fn(c) + 1000;
}

#define CALL_RETURNS	1111

/*
 * Hooks on all three, in the order of a string: k kretprobe, f fprobe, g function
 * graph.
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

/* What the handlers saw; the index is that of the nested functions. */
static struct {
	struct trace	at_entry[ARRAY_SIZE(nest)], at_return[ARRAY_SIZE(nest)];
	unsigned long	ret_addr[ARRAY_SIZE(nest)];
	atomic_t	entries[ARRAY_SIZE(nest)], returns[ARRAY_SIZE(nest)];
	bool		look;
	/*
	 * The kinds of hooks that saw the entry and the return of the innermost
	 * function.
	 */
	char		come[8], go[8];
} seen;

struct return_test {
	struct hook	hook[4];
	int		nr_hooks;
	struct call	call;
	struct trace	plain;
	struct task_struct *task;
};

static struct call *current_call;

static int index_of(unsigned long ip)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(nest); i++) {
		/* The site of a tracer may be after the prologue. */
		if (ip - kp_code(nest_fn[i]) < 16 || ip == ftrace_location(kp_code(nest_fn[i])))
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
static KP_FPROBE_ENTRY(f_entry)
{
	saw_entry('f', index_of(ip));
	if (seen.look)
		look(&seen.at_entry[index_of(ip)]);
	return 0;
}

static KP_FPROBE_EXIT(f_return)
{
	saw_return('f', index_of(ip));
	if (seen.look && (!KP_FPROBE_IS_GRAPH || KPROBES_TEST_HAS_CALLER_IN_GRAPH))
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
static KP_GRAPH_ENTRY(g_entry)
{
	saw_entry('g', index_of(ent->func));
	return 1;
}

static KP_GRAPH_RETURN(g_return)
{
	saw_return('g', index_of(ret->func));
}

static int g_on(struct hook *h)
{
	int i, ret = 0;

	h->graph.entryfunc = g_entry;
	h->graph.retfunc = g_return;
	for (i = 0; i < ARRAY_SIZE(nest) && !ret; i++)
		ret = ftrace_set_filter_ip(&h->graph.ops, ftrace_location(kp_code(nest_fn[i])),
					   0, 0);
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

/* Skip unless the hooks of this parameter exist and traces are exact. */
static const char *order_of(struct kunit *test)
{
	const char *kinds = *(const char * const *)test->param_value, *k;

	if (!KPROBES_TEST_HAS_EXACT_TRACES)
		kunit_skip(test, "needs KRETPROBE_NATIVE and an exact unwinder");
	for (k = kinds; *k; k++)
		KP_SKIP_IF(test, !kind_exists(*k), "needs FPROBE and FUNCTION_GRAPH_TRACER");
	return kinds;
}

static int nr_hooks_in(const struct trace *t)
{
	int i, n = 0;

	for (i = 0; i < t->n; i++)
		n += kp_is_return_hook(t->addr[i]);
	return n;
}

static bool same(const struct trace *a, const struct trace *b)
{
	return a->n == b->n && !memcmp(a->addr, b->addr, a->n * sizeof(*a->addr));
}

static void show(struct kunit *test, const char *what, const struct trace *t)
{
	int i;

	kunit_info(test, "%s:", what);
	for (i = 0; i < t->n; i++)
		kunit_info(test, "  %pS", (void *)t->addr[i]);
}

static void expect_same(struct kunit *test, const struct trace *plain, const struct trace *hooked)
{
	KUNIT_EXPECT_TRUE(test, same(plain, hooked));
	if (!same(plain, hooked)) {
		show(test, "without hooks", plain);
		show(test, "with hooks", hooked);
	}
}

/* Does @t end like @whole without its first @skip entries? */
static void expect_end(struct kunit *test, const char *what, const struct trace *t,
		       const struct trace *whole, int skip)
{
	int n = (int)whole->n - skip;
	bool ends = n > 0 && t->n >= n &&
		    !memcmp(t->addr + t->n - n, whole->addr + skip, n * sizeof(*t->addr));

	KUNIT_EXPECT_TRUE_MSG(test, ends, "%s", what);
	if (!ends) {
		show(test, "without hooks", whole);
		show(test, what, t);
	}
}

/*
 * A separate thread makes each call, so that traces can be compared from the first to
 * the last address.
 */

static int caller(void *data)
{
	struct call *c = data;

	if (c->paused)
		pause_graph_tracing();
	c->returned = do_call(c);
	if (c->paused)
		unpause_graph_tracing();
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
	wake_up_process(get_task_struct(t->task));
}

static u32 end_call(struct return_test *t)
{
	wait_for_completion(&t->call.done);
	kthread_stop_put(t->task);
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
	/* It may be preempted before it sleeps. */
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

/* Each hook saw each of the three functions this many times. */
static void expect_seen(struct kunit *test, int n)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(nest); i++) {
		KUNIT_EXPECT_EQ(test, atomic_read(&seen.entries[i]), n);
		KUNIT_EXPECT_EQ(test, atomic_read(&seen.returns[i]), n);
	}
}

/* Which hook of the return it is: fprobes may share one with the function graph tracer. */
static char diverter(char kind)
{
	return KP_FPROBE_IS_GRAPH && kind == 'f' ? 'g' : kind;
}

/* The last hook that diverted the return is the first to see it. */
static void expect_reverse(struct kunit *test)
{
	size_t i, n = strlen(seen.come);

	KUNIT_ASSERT_EQ(test, strlen(seen.go), n);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ_MSG(test, diverter(seen.go[n - 1 - i]), diverter(seen.come[i]),
				    "%s came, %s went", seen.come, seen.go);
}

static void trace_in_the_function(struct kunit *test)
{
	const char *kinds = order_of(test);
	struct return_test *t = test->priv;

	plain_and_hooked_call(test, kinds, LOOK);
	expect_same(test, &t->plain, &t->call.trace);
	expect_seen(test, strlen(kinds));
	expect_reverse(test);
}

static int nr_of(const char *kinds, char kind)
{
	int n = 0;

	for (; *kinds; kinds++)
		n += *kinds == kind;
	return n;
}

/* The function graph tracer is called, but leaves the hooks of others as they are. */
static void hooks_stay_while_graph_is_paused(struct kunit *test)
{
	const char *kinds = order_of(test);
	struct return_test *t = test->priv;

	KP_SKIP_IF(test, !nr_of(kinds, 'g'), "needs function graph");
	t->call.paused = true;
	plain_and_hooked_call(test, kinds, LOOK);
	expect_same(test, &t->plain, &t->call.trace);
	KUNIT_EXPECT_NULL(test, strchr(seen.come, 'g'));
	expect_seen(test, nr_of(kinds, 'k') + (KP_FPROBE_IS_GRAPH ? 0 : nr_of(kinds, 'f')));
	expect_reverse(test);
}

/* In entry and return handlers of all three functions. */
static void trace_in_the_handlers(struct kunit *test)
{
	const char *kinds = order_of(test);
	struct return_test *t = test->priv;
	int i;

	seen.look = true;
	plain_and_hooked_call(test, kinds, LOOK);
	if (!strpbrk(kinds, KP_FPROBE_IS_GRAPH && !KPROBES_TEST_HAS_CALLER_IN_GRAPH ? "k" : "kf"))
		return;
	/* The trace begins with look() and the three functions, innermost first. */
	for (i = 0; i < ARRAY_SIZE(nest); i++) {
		KUNIT_EXPECT_EQ(test, nr_hooks_in(&seen.at_entry[i]), 0);
		KUNIT_EXPECT_EQ(test, nr_hooks_in(&seen.at_return[i]), 0);
		expect_end(test, "at the return", &seen.at_return[i], &t->plain, i + 2);
		if (KPROBES_TEST_HAS_CALLER_AT_ENTRY)
			expect_end(test, "at the entry", &seen.at_entry[i], &t->plain, i + 2);
	}
}

/* An interrupt at the very first instruction of a trampoline. */
static void trace_from_the_trampoline(struct kunit *test)
{
	const char *kinds = order_of(test);
	struct return_test *t = test->priv;

	KP_SKIP_IF(test, !KPROBES_TEST_HAS_PUSHED_RETURNS, "needs return addresses on the stack");

	KP_PROBE(test, .symbol_name = nest[0], .pre_handler = note_slot);
	current_call = &t->call;
	plain_and_hooked_call(test, kinds, LOOK_FROM_REGS);
	current_call = NULL;

	/* The trampoline replaces the return into kp_ret_middle(), nothing else. */
	KUNIT_EXPECT_TRUE(test, kp_is_return_hook(t->call.trace.addr[0]));
	KUNIT_EXPECT_EQ(test, nr_hooks_in(&t->call.trace), 1);
	KUNIT_EXPECT_EQ(test, t->call.trace.n, t->plain.n - 2);
	expect_end(test, "from registers", &t->call.trace, &t->plain, 3);
}

/* Traces of a task that sleeps inside. */
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

static void trace_of_a_sleeping_task(struct kunit *test)
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
	expect_same(test, &t->plain, now);
	KUNIT_EXPECT_EQ(test, look_reliably_at(t->task, now), reliable);
	KUNIT_EXPECT_TRUE(test, same(now, plain_reliable));

	/* The hooks are removed, but not those on this stack. */
	hooks_off(t);
	look_at(t->task, now);
	KUNIT_EXPECT_TRUE(test, same(now, &t->plain));
	KUNIT_EXPECT_EQ(test, wake_from_sleep(t), CALL_RETURNS);
}

/*
 * The hooks are removed one after the other, and others are set, while a call is in
 * flight that all of them have diverted.
 */
static void switch_in_flight(struct kunit *test, const char *kinds, bool last_first)
{
	struct return_test *t = test->priv, *later;
	int i, nr = strlen(kinds);

	later = kp_zalloc(test, sizeof(*later));

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
	/* New hooks do not see its return; but one fgraph_ops in 16 does, and fprobe has one. */
	KUNIT_EXPECT_PTR_EQ(test, strpbrk(seen.go, KP_FPROBE_IS_GRAPH ? "k" : "kf"), NULL);
	memset(seen.returns, 0, sizeof(seen.returns));
	memset(seen.go, 0, sizeof(seen.go));
	KUNIT_EXPECT_EQ(test, wake_from_sleep(later), CALL_RETURNS);
	expect_seen(test, nr);
	expect_reverse(test);
	hooks_off(t);
}

static void hooks_go_and_come_in_flight(struct kunit *test)
{
	const char *kinds = order_of(test);

	switch_in_flight(test, kinds, false);
	switch_in_flight(test, kinds, true);
}

/*
 * One frame, and one return address, that is replaced three times: functions that end
 * with a jump to the next one, hooked by a kretprobe, by function graph, and by another
 * kretprobe. The frame alone does not tell which of the two kretprobes is meant.
 */
static noinline __noclone notrace u32 kp_ret_last(struct call *c)
{
	KP_PADDING;
	return kp_ret_inner(c) + 10;
}

static noinline __noclone u32 kp_ret_next(struct call *c)
{
	return kp_ret_last(c);
}

static noinline __noclone notrace u32 kp_ret_first(struct call *c)
{
	KP_PADDING;
	return kp_ret_next(c);
}

#define TAILS_RETURN	1011

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
static int hook_tails(struct hook *h)
{
	struct kretprobe *rps[] = { &h->rp[0], &h->rp[1] };
	int i, ret;

	memset(h, 0, sizeof(*h));
	h->rp[0].kp.symbol_name = "kp_ret_first";
	h->rp[1].kp.symbol_name = "kp_ret_last";
	for (i = 0; i < ARRAY_SIZE(rps); i++)
		rps[i]->handler = k_return;
	h->graph.entryfunc = g_entry;
	h->graph.retfunc = g_return;
	ret = ftrace_set_filter_ip(&h->graph.ops, ftrace_location(kp_code(kp_ret_next)), 0, 0);
	ret = ret ?: register_ftrace_graph(&h->graph);
	return ret ?: register_kretprobes(rps, ARRAY_SIZE(rps));
}

static void unhook_tails(struct hook *h)
{
	struct kretprobe *rps[] = { &h->rp[0], &h->rp[1] };

	unregister_kretprobes(rps, ARRAY_SIZE(rps));
	g_off(h);
}
#else
static int hook_tails(struct hook *h)
{
	return -EOPNOTSUPP;
}

static void unhook_tails(struct hook *h)
{
}
#endif

static void trace_of_one_frame(struct kunit *test)
{
	struct return_test *t = test->priv;
	struct trace *asleep = &seen.at_entry[0], *now = &seen.at_entry[1];
	unsigned int n;

	if (!KPROBES_TEST_HAS_EXACT_TRACES || !kind_exists('g'))
		kunit_skip(test, "needs KRETPROBE_NATIVE, an exact unwinder and function graph");

	t->call.fn = kp_ret_last;
	KUNIT_EXPECT_EQ(test, one_call(test, LOOK), TAILS_RETURN);
	n = t->call.trace.n;
	t->call.fn = kp_ret_first;
	KUNIT_EXPECT_EQ(test, one_call(test, LOOK), TAILS_RETURN);
	t->plain = t->call.trace;
	KP_SKIP_IF(test, t->plain.n != n, "the compiler has made no tail calls");
	put_to_sleep(test, t);
	look_at(t->task, asleep);
	KUNIT_EXPECT_EQ(test, wake_from_sleep(t), TAILS_RETURN);

	KUNIT_ASSERT_EQ(test, hook_tails(&t->hook[0]), 0);
	KUNIT_EXPECT_EQ(test, one_call(test, LOOK), TAILS_RETURN);
	KUNIT_EXPECT_STREQ(test, seen.go, "kgk");
	expect_same(test, &t->plain, &t->call.trace);

	put_to_sleep(test, t);
	look_at(t->task, now);
	KUNIT_EXPECT_EQ(test, wake_from_sleep(t), TAILS_RETURN);
	unhook_tails(&t->hook[0]);
	expect_same(test, asleep, now);
}

/* A running task is not unwound, since its stack changes. */
static int busy_thread(void *data)
{
	struct call c = { .job = LOOK };

	while (!kthread_should_stop()) {
		do_call(&c);
		cond_resched();
	}
	return 0;
}

static void trace_of_a_running_task(struct kunit *test)
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
 * Where the function that switches tasks returns on another stack than it was called on, nothing
 * may hook that.
 */
static void switch_has_no_return_to_hook(struct kunit *test)
{
#ifdef CONFIG_FPROBE
	struct return_test *t = test->priv;
	const char *name = "__switch_to";
	int ret;

	KP_SKIP_IF(test, !KPROBES_TEST_HAS_REFUSED_SWITCH, "it returns on the stack of its caller");
	t->hook[0].fp.exit_handler = f_return;
	ret = register_fprobe_syms(&t->hook[0].fp, &name, 1);
	KUNIT_EXPECT_LT(test, ret, 0);
	if (!ret)
		unregister_fprobe(&t->hook[0].fp);
	schedule_timeout_uninterruptible(1);
#else
	kunit_skip(test, "needs FPROBE");
#endif
}

static int return_trace_init(struct kunit *test)
{
	struct return_test *t = kp_zalloc(test, sizeof(*t));

	test->priv = t;
	memset(&seen, 0, sizeof(seen));
	return 0;
}

static void return_trace_exit(struct kunit *test)
{
	if (test->priv)
		hooks_off(test->priv);
}

static struct kunit_case return_trace_cases[] = {
	KUNIT_CASE_PARAM(trace_in_the_function, order_gen_params),
	KUNIT_CASE_PARAM(hooks_stay_while_graph_is_paused, order_gen_params),
	KUNIT_CASE_PARAM(trace_in_the_handlers, order_gen_params),
	KUNIT_CASE_PARAM(trace_from_the_trampoline, order_gen_params),
	KUNIT_CASE_PARAM(trace_of_a_sleeping_task, order_gen_params),
	KUNIT_CASE_PARAM(hooks_go_and_come_in_flight, order_gen_params),
	KUNIT_CASE(trace_of_one_frame),
	KUNIT_CASE(trace_of_a_running_task),
	KUNIT_CASE(switch_has_no_return_to_hook),
	{}
};

KP_SUITE(return_trace_cases, .name = "kprobes_return_trace",
	 .init = return_trace_init, .exit = return_trace_exit);
