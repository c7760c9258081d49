// SPDX-License-Identifier: GPL-2.0-only
/*
 * What kretprobes promise their users, from end to end: one test for each promise.
 * Only the exported interface is used, so this can be a module; tests of internals are
 * in kernel/kprobes/tests/.
 *
 * Handlers only record. The body of the test decides.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/error-injection.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/stdarg.h>

#include "test_kprobes.h"

KP_TEST_PLAIN(kr_test_plain, 3)

#ifdef CONFIG_KRETPROBES

KP_TEST_TRACED(kr_test_traced, 5)
KP_TEST_MID(kr_test_mid, 7)

static const struct target entries[] = {
	{ "plain entry",  "kr_test_plain",  NULL, kr_test_plain,  3, false, true },
	{ "ftrace entry", "kr_test_traced", NULL, kr_test_traced, 5, true,  true },
};
KUNIT_ARRAY_PARAM_DESC(entry, entries, name);

#define STACK_DEPTH	32

struct retprobe {
	struct kretprobe	rp;
	char			id;
	struct log		*log;
	int			refuse;
	bool			trace;
	u32			new_value;

	atomic_t		entries;
	atomic_t		returns;
	bool			preemptible;
	bool			wrong;
	unsigned long		value;
	unsigned long		ret_addr;
	unsigned long		ip;
	unsigned long		popped;
	bool			flags_wrong;
	unsigned long		stack[STACK_DEPTH];
	unsigned int		depth;
	unsigned long		regs_stack[STACK_DEPTH];
	unsigned int		regs_depth;
	atomic_t		order;
};

/* Kept from entry to return. */
struct call_data {
	int		nr;
	void		*task;
	unsigned long	sp;
};

/* What a return pops, if calls push. */
#define RETURN_POPS	(KPROBES_TEST_HAS_PUSHED_RETURNS ? sizeof(long) : 0)

#ifdef CONFIG_HAVE_REGS_AND_STACK_ACCESS_API
static unsigned long sp_of(struct pt_regs *regs)
{
	return kernel_stack_pointer(regs);
}
#else
static unsigned long sp_of(struct pt_regs *regs)
{
	return 0;
}
#endif

/* Are these the flags of the function, which runs with interrupts on? */
#if KPROBES_TEST_HAS_EFLAGS
static bool flags_of_function(struct pt_regs *regs)
{
	return (regs->flags & (X86_EFLAGS_IF | X86_EFLAGS_DF | X86_EFLAGS_TF)) == X86_EFLAGS_IF;
}
#else
static bool flags_of_function(struct pt_regs *regs)
{
	return true;
}
#endif

static struct retprobe *retprobe_of(struct kretprobe_instance *ri)
{
	return container_of(get_kretprobe(ri), struct retprobe, rp);
}

/* Handlers may run on several CPUs at once; any of them may set the flag. */
static void remember(bool *flag, bool set)
{
	if (set)
		WRITE_ONCE(*flag, true);
}

static int test_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct retprobe *r = retprobe_of(ri);
	struct call_data *d = (void *)ri->data;

	remember(&r->preemptible, preemptible());
	remember(&r->wrong, ri->rp != &r->rp || ri->task != current);
	d->nr = atomic_inc_return(&r->entries);
	d->task = current;
	d->sp = sp_of(regs);
	log_add(r->log, r->id);
	return r->refuse;
}

/* What these call is not exported to modules. Older unwinders begin with the caller only. */
#ifdef MODULE
#define HAS_TRACES_OF_REGS	false

static void save_trace_of_regs(struct retprobe *r, struct pt_regs *regs)
{
}

static bool is_trampoline(unsigned long addr)
{
	return false;
}
#else
#define HAS_TRACES_OF_REGS	IS_ENABLED(CONFIG_ARCH_STACKWALK)

static void save_trace_of_regs(struct retprobe *r, struct pt_regs *regs)
{
	if (HAS_TRACES_OF_REGS)
		r->regs_depth = stack_trace_save_regs(regs, r->regs_stack, STACK_DEPTH, 0);
}

static bool is_trampoline(unsigned long addr)
{
	return is_kretprobe_trampoline(addr);
}
#endif

#ifdef CONFIG_STACKTRACE
static void save_traces(struct retprobe *r, struct pt_regs *regs)
{
	r->depth = stack_trace_save(r->stack, STACK_DEPTH, 0);
	save_trace_of_regs(r, regs);
}
#else
static void save_traces(struct retprobe *r, struct pt_regs *regs)
{
}
#endif

#if KPROBES_TEST_HAS_SET_RETURN_VALUE
static void set_return_value(struct pt_regs *regs, unsigned long value)
{
	regs_set_return_value(regs, value);
}
#else
static void set_return_value(struct pt_regs *regs, unsigned long value)
{
}
#endif

static int test_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct retprobe *r = retprobe_of(ri);
	struct call_data *d = (void *)ri->data;

	atomic_inc(&r->returns);
	remember(&r->preemptible, preemptible());
	remember(&r->wrong, ri->rp != &r->rp || ri->task != current || d->task != current);
	remember(&r->wrong, (unsigned long)ri->ret_addr != get_kretprobe_retaddr(ri));
	/* Calls of one task return in reverse order. */
	remember(&r->wrong, d->nr != atomic_read(&r->entries) - atomic_fetch_inc(&r->order));
	WRITE_ONCE(r->value, regs_return_value(regs));
	WRITE_ONCE(r->ret_addr, get_kretprobe_retaddr(ri));
	WRITE_ONCE(r->ip, instruction_pointer(regs));
	WRITE_ONCE(r->popped, sp_of(regs) - d->sp);
	remember(&r->flags_wrong, !flags_of_function(regs));
	log_add(r->log, r->id + 'A' - 'a');
	if (r->trace)
		save_traces(r, regs);
	if (r->new_value)
		set_return_value(regs, r->new_value);
	return 0;
}

static void retprobe_at(struct retprobe *r, const char *symbol)
{
	struct log *log = r->log;
	char id = r->id;

	memset(r, 0, sizeof(*r));
	r->log = log;
	r->id = id;
	r->rp.kp.symbol_name = symbol;
	r->rp.handler = test_return;
	r->rp.entry_handler = test_entry;
	r->rp.data_size = sizeof(struct call_data);
	INIT_LIST_HEAD(&r->rp.kp.list);
}

#define NR_SLEEPERS	5

/* A thread that sleeps in a function. */
struct sleeper {
	struct task_struct	*task;
	struct completion	inside, done;
	struct completion	*leave;
	u32			returned;
};

struct retprobes_test {
	const struct target	*t;
	struct log		log;
	struct retprobe		r[3];
	struct kretprobe	*rps[3];
	struct sleeper		sleeper[NR_SLEEPERS];
	struct completion	leave;
};

static struct retprobes_test *begin_ret(struct kunit *test)
{
	struct retprobes_test *k;
	int i;

	k = kunit_kzalloc(test, sizeof(*k), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, k);
	k->t = test->param_value ?: &entries[0];
	if (k->t->ftrace && !KPROBES_TEST_HAS_FTRACE_NAMES)
		kunit_skip(test, "probes by name are not on ftrace sites");

	for (i = 0; i < ARRAY_SIZE(k->r); i++) {
		k->r[i].log = &k->log;
		k->r[i].id = 'a' + i;
		retprobe_at(&k->r[i], k->t->symbol);
		k->rps[i] = &k->r[i].rp;
	}
	return k;
}

static const char *order_of_ret_call(struct retprobes_test *k)
{
	memset(&k->log, 0, sizeof(k->log));
	call(k->t, 1);
	return k->log.text;
}

static void ret_entry_and_return(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];

	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	KUNIT_EXPECT_EQ(test, kprobe_ftrace(&r->rp.kp), k->t->ftrace);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 1);
	KUNIT_EXPECT_EQ(test, r->preemptible, 0);
	KUNIT_EXPECT_EQ_MSG(test, r->wrong, 0, "instance fields");
	KUNIT_EXPECT_EQ(test, r->value, 10 + k->t->add);
	KUNIT_EXPECT_EQ(test, r->ip, r->ret_addr);
	/* Or the trampoline does not save all registers. */
	if (KPROBES_TEST_HAS_RETURN_REGS) {
		KUNIT_EXPECT_EQ(test, r->popped, RETURN_POPS);
		KUNIT_EXPECT_FALSE(test, r->flags_wrong);
	}
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 0);
	unregister_kretprobe(&r->rp);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
}

static void entry_handler_declines(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];
	int i;

	r->refuse = 1;
	r->rp.maxactive = 2;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	/* More often than there are instances. */
	for (i = 0; i < 20; i++)
		call(k->t, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 20);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 0);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 0);
	unregister_kretprobe(&r->rp);
}

static void ret_without_handlers(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	int i;

	k->r[0].rp.entry_handler = NULL;
	k->r[1].rp.entry_handler = NULL;
	k->r[1].rp.handler = NULL;
	KUNIT_ASSERT_EQ(test, register_kretprobes(k->rps, 2), 0);
	for (i = 0; i < 3; i++) {
		if (i == 2)
			unregister_kretprobe(&k->r[0].rp);
		KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	}
	unregister_kretprobe(&k->r[1].rp);
	KUNIT_EXPECT_EQ(test, atomic_read(&k->r[0].returns), 2);
	KUNIT_EXPECT_EQ(test, k->r[0].rp.nmissed + k->r[1].rp.nmissed, 0);
}

static void return_value_can_be_changed(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);

	if (!KPROBES_TEST_HAS_SET_RETURN_VALUE)
		kunit_skip(test, "needs regs_set_return_value()");

	k->r[0].new_value = 4711;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&k->r[0].rp), 0);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 4711);
	unregister_kretprobe(&k->r[0].rp);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
}

static void maxactive_has_default(struct kunit *test)
{
	static const int given[] = { 0, -1, -1000, 7 };
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];
	int i, want;

	for (i = 0; i < ARRAY_SIZE(given); i++) {
		retprobe_at(r, k->t->symbol);
		r->rp.maxactive = given[i];
		want = given[i] > 0 ? given[i] : max(10u, 2 * num_possible_cpus());
		KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
		KUNIT_EXPECT_EQ(test, r->rp.maxactive, want);
		unregister_kretprobe(&r->rp);
	}
}

/* All of the data belongs to the call, and nothing else. */
static int fill_data(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	memset(ri->data, 0x5a, ri->rp->data_size);
	return 0;
}

static int check_data(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct retprobe *r = retprobe_of(ri);

	atomic_inc(&r->returns);
	remember(&r->wrong, memchr_inv(ri->data, 0x5a, ri->rp->data_size));
	return 0;
}

static void data_of_each_size_is_kept(struct kunit *test)
{
	static const size_t sizes[] = {
		0, 1, PAGE_SIZE, KRETPROBE_MAX_DATA_SIZE, KRETPROBE_MAX_DATA_SIZE + 1, ~0ul,
	};
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		bool fits = sizes[i] <= KRETPROBE_MAX_DATA_SIZE;

		retprobe_at(r, k->t->symbol);
		r->rp.entry_handler = fill_data;
		r->rp.handler = check_data;
		r->rp.data_size = sizes[i];
		KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), fits ? 0 : -E2BIG);
		KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
		KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), fits);
		KUNIT_EXPECT_FALSE(test, r->wrong);
		if (fits) {
			unregister_kretprobe(&r->rp);
		} else {
			KUNIT_EXPECT_TRUE(test, not_registered(&r->rp.kp));
			KUNIT_EXPECT_NULL(test, r->rp.kp.addr);
		}
	}
}

static void only_entries_are_accepted(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];

	r->rp.kp.symbol_name = NULL;
	r->rp.kp.addr = (void *)kr_test_mid_insns_end;
	KUNIT_EXPECT_EQ(test, register_kretprobe(&r->rp), -EINVAL);
	r->rp.kp.symbol_name = "kr_test_plain";
	KUNIT_EXPECT_EQ(test, register_kretprobe(&r->rp), -EINVAL);
	r->rp.kp.addr = NULL;
	r->rp.kp.symbol_name = "kr_test_no_such_function";
	KUNIT_EXPECT_EQ(test, register_kretprobe(&r->rp), -ENOENT);
	KUNIT_EXPECT_TRUE(test, not_registered(&r->rp.kp));
}

static void switch_to_is_refused(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);

	if (!KPROBES_TEST_HAS_REFUSED_SWITCH)
		kunit_skip(test, "the architecture does not refuse it");
	k->r[0].rp.kp.symbol_name = "__switch_to";
	KUNIT_EXPECT_EQ(test, register_kretprobe(&k->r[0].rp), -EINVAL);
}

static void several_on_one_function(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	int i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, register_kretprobe(&k->r[i].rp), 0);
	/*
	 * Entered newest first. So the oldest has diverted the return last, and sees
	 * it first.
	 */
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "cbaABC");
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, k->r[i].wrong, 0);
		/* The real address, for all of them. */
		KUNIT_EXPECT_EQ(test, k->r[i].ret_addr, k->r[0].ret_addr);
		KUNIT_EXPECT_EQ(test, k->r[i].ip, k->r[0].ret_addr);
		KUNIT_EXPECT_FALSE(test, !k->r[i].ret_addr);
		KUNIT_EXPECT_FALSE(test, is_trampoline(k->r[i].ret_addr));
	}
	unregister_kretprobe(&k->r[1].rp);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "caAC");
	unregister_kretprobe(&k->r[0].rp);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "cC");
	unregister_kretprobe(&k->r[2].rp);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
}

static void kprobe_and_kretprobe(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct probe *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	int round;

	KUNIT_ASSERT_NOT_NULL(test, p);

	for (round = 0; round < 2; round++) {
		retprobe_at(&k->r[0], k->t->symbol);
		memset(p, 0, sizeof(*p));
		probe_at(p, k->t);
		p->kp.pre_handler = test_pre;
		p->kp.post_handler = test_post;
		p->log = &k->log;
		p->id = 'p';
		KUNIT_ASSERT_EQ(test, register_kprobe(&p->kp), 0);
		KUNIT_EXPECT_EQ(test, register_kretprobe(&k->r[0].rp), 0);
		KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "apPA");
		if (round) {
			unregister_kprobe(&p->kp);
			KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "aA");
			unregister_kretprobe(&k->r[0].rp);
		} else {
			unregister_kretprobe(&k->r[0].rp);
			KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "pP");
			unregister_kprobe(&p->kp);
		}
		KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
	}
}

#ifdef CONFIG_FUNCTION_ERROR_INJECTION
static int override_with_77(struct kprobe *p, struct pt_regs *regs)
{
	regs_set_return_value(regs, 77);
	override_function_with_return(regs);
	return 1;
}

/* The function never runs. Whoever came later sees the call, and the value at its return. */
static void value_is_overridden(struct kunit *test)
{
	struct kprobe override = { .pre_handler = override_with_77 };
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *older = &k->r[0], *newer = &k->r[1];
	struct probe *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	override.symbol_name = k->t->symbol;
	probe_at(p, k->t);
	p->kp.pre_handler = test_pre;
	p->log = &k->log;
	p->id = 'p';

	KUNIT_ASSERT_EQ(test, register_kretprobe(&older->rp), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&override), 0);
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 77);
	KUNIT_EXPECT_EQ(test, atomic_read(&older->entries), 0);

	KUNIT_EXPECT_EQ(test, register_kprobe(&p->kp), 0);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&newer->rp), 0);
	memset(&k->log, 0, sizeof(k->log));
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 77);
	KUNIT_EXPECT_STREQ(test, k->log.text, "bpB");
	KUNIT_EXPECT_EQ(test, newer->value, 77);
	KUNIT_EXPECT_EQ(test, newer->wrong, 0);

	unregister_kprobe(&override);
	memset(&k->log, 0, sizeof(k->log));
	KUNIT_EXPECT_EQ(test, call(k->t, 10), 10 + k->t->add);
	KUNIT_EXPECT_STREQ(test, k->log.text, "bpaAB");
	unregister_kretprobe(&newer->rp);
	unregister_kprobe(&p->kp);
	unregister_kretprobe(&older->rp);
}
#else
static void value_is_overridden(struct kunit *test)
{
	kunit_skip(test, "no CONFIG_FUNCTION_ERROR_INJECTION");
}
#endif

static void ret_disable_and_enable(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct kretprobe *rp = &k->r[0].rp;

	KUNIT_EXPECT_EQ(test, disable_kretprobe(rp), -EINVAL);
	rp->kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, register_kretprobe(rp), 0);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
	KUNIT_EXPECT_EQ(test, enable_kretprobe(rp), 0);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "aA");
	KUNIT_EXPECT_EQ(test, disable_kretprobe(rp), 0);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
	unregister_kretprobe(rp);
}

static void ret_again_after_unregister(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct kretprobe *rp = &k->r[0].rp;
	int i;

	for (i = 0; i < 3; i++) {
		rp->kp.flags = 0;
		rp->kp.addr = NULL;
		KUNIT_ASSERT_EQ(test, register_kretprobe(rp), 0);
		KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "aA");
		unregister_kretprobe(rp);
	}
}

static void batch_registers_all_or_none(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	int i;

	KUNIT_EXPECT_EQ(test, register_kretprobes(k->rps, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kretprobes(k->rps, -3), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kretprobes(NULL, 2), -EINVAL);
	unregister_kretprobes(NULL, 2);
	unregister_kretprobes(k->rps, 0);
	KUNIT_EXPECT_NOT_NULL(test, k->r[0].rp.kp.symbol_name);

	for (i = 0; i < 3; i++) {
		k->r[i].rp.kp.symbol_name = "kr_test_no_such_function";
		KUNIT_EXPECT_EQ(test, register_kretprobes(k->rps, 3), -ENOENT);
		KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
		k->r[i].rp.kp.symbol_name = k->t->symbol;
		k->r[i].rp.data_size = KRETPROBE_MAX_DATA_SIZE + 1;
		KUNIT_EXPECT_EQ(test, register_kretprobes(k->rps, 3), -E2BIG);
		KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
		k->r[i].rp.data_size = sizeof(struct call_data);
		KUNIT_EXPECT_TRUE(test, not_registered(&k->r[i].rp.kp));
	}

	KUNIT_EXPECT_EQ(test, register_kretprobes(k->rps, 3), 0);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "cbaABC");
	unregister_kretprobes(k->rps, 3);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
}

static void unregister_what_is_not_registered(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct kretprobe *never = &k->r[0].rp, *failed = &k->r[1].rp, *gone = &k->r[2].rp;
	struct kretprobe *twice[2] = { gone, gone };

	unregister_kretprobe(never);
	KUNIT_EXPECT_NULL(test, never->kp.addr);

	failed->kp.symbol_name = "kr_test_no_such_function";
	KUNIT_EXPECT_EQ(test, register_kretprobe(failed), -ENOENT);
	unregister_kretprobe(failed);
	KUNIT_EXPECT_NULL(test, failed->kp.addr);

	KUNIT_ASSERT_EQ(test, register_kretprobe(gone), 0);
	unregister_kretprobe(gone);
	unregister_kretprobe(gone);
	KUNIT_EXPECT_NULL(test, gone->kp.addr);

	gone->kp.flags = 0;
	KUNIT_ASSERT_EQ(test, register_kretprobe(gone), 0);
	unregister_kretprobes(twice, 2);
	KUNIT_EXPECT_STREQ(test, order_of_ret_call(k), "");
}

/* What is registered as a kprobe does not become a kretprobe by an attempt to register it. */
static void used_probe_is_not_changed(struct kunit *test)
{
	struct kretprobe *rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rp);
	rp->kp.symbol_name = "kr_test_tail";
	KUNIT_ASSERT_EQ(test, register_kprobe(&rp->kp), 0);
	rp->kp.symbol_name = NULL;
	/* Only the first one since boot warns. */
	pr_info("allow splat: kernel/kprobes/register.c:\n");
	KUNIT_EXPECT_EQ(test, register_kretprobe(rp), -EINVAL);
	KUNIT_EXPECT_NULL(test, rp->kp.pre_handler);
	unregister_kprobe(&rp->kp);
}

static noinline __noclone u32 kr_test_tail(u32 v)
{
	return kr_test_traced(v);
}

static noinline __noclone u32 kr_test_varargs(u32 nr, ...)
{
	u32 sum = 0;
	va_list args;

	va_start(args, nr);
	while (nr--)
		sum += va_arg(args, u32);
	va_end(args);
	return sum;
}

/* A function that ends with a jump to another returns in its place. */
static void tail_calls_are_followed(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	u32 (*volatile fn)(u32 v) = kr_test_tail;

	retprobe_at(&k->r[0], "kr_test_tail");
	retprobe_at(&k->r[1], "kr_test_traced");
	KUNIT_ASSERT_EQ(test, register_kretprobes(k->rps, 2), 0);
	KUNIT_EXPECT_EQ(test, fn(10), 15);
	KUNIT_EXPECT_STREQ(test, k->log.text, "abBA");
	KUNIT_EXPECT_EQ(test, k->r[0].value, 15);
	KUNIT_EXPECT_EQ(test, k->r[1].value, 15);
	unregister_kretprobes(k->rps, 2);
}

/* Nothing that passes arguments is lost: more of them than there are registers for. */
static void variable_arguments_arrive(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	u32 (*volatile fn)(u32 nr, ...) = kr_test_varargs;

	retprobe_at(&k->r[0], "kr_test_varargs");
	retprobe_at(&k->r[1], "kr_test_varargs");
	KUNIT_ASSERT_EQ(test, register_kretprobes(k->rps, 2), 0);
	KUNIT_EXPECT_EQ(test, fn(12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), 78);
	KUNIT_EXPECT_STREQ(test, k->log.text, "baAB");
	KUNIT_EXPECT_EQ(test, k->r[0].value, 78);
	KUNIT_EXPECT_EQ(test, k->r[1].value, 78);
	unregister_kretprobes(k->rps, 2);
}

/* Recurses down to 0, with one frame for each step. */
static noinline __noclone notrace u32 kr_test_recurse(u32 depth)
{
	static u32 (* const volatile self)(u32 depth) = kr_test_recurse;

	KP_PADDING;
	OPTIMIZER_HIDE_VAR(depth);
	return depth ? self(depth - 1) + 2 : 1;
}

static void recursion_is_followed(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];
	u32 (*volatile fn)(u32 depth) = kr_test_recurse;

	retprobe_at(r, "kr_test_recurse");
	r->log = NULL;
	r->rp.maxactive = 64;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	KUNIT_EXPECT_EQ(test, fn(49), 99);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 50);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 50);
	KUNIT_EXPECT_EQ_MSG(test, r->wrong, 0, "not last in, first out");
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 0);
	unregister_kretprobe(&r->rp);

	/* Deeper than there are instances: the rest is missed. */
	retprobe_at(r, "kr_test_recurse");
	r->rp.maxactive = 4;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	KUNIT_EXPECT_EQ(test, fn(9), 19);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 4);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 4);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 6);
	unregister_kretprobe(&r->rp);
}

/*
 * Calls in flight
 */

static noinline __noclone notrace u32 kr_test_sleep(struct sleeper *s)
{
	KP_PADDING;
	complete(&s->inside);
	wait_for_completion(s->leave);
	return 0x5eed;
}

static int sleeper_thread(void *data)
{
	u32 (*volatile fn)(struct sleeper *s) = kr_test_sleep;
	struct sleeper *s = data;

	s->returned = fn(s);
	complete(&s->done);
	return 0;
}

/* A return probe on kr_test_sleep(). */
static struct retprobe *probe_sleepers(struct kunit *test, struct retprobes_test *k, int maxactive)
{
	struct retprobe *r = &k->r[0];

	retprobe_at(r, "kr_test_sleep");
	r->log = NULL;
	r->rp.maxactive = maxactive;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	return r;
}

static void sleepers_begin(struct kunit *test, struct retprobes_test *k)
{
	struct sleeper *s;

	init_completion(&k->leave);
	for (s = k->sleeper; s < k->sleeper + NR_SLEEPERS; s++) {
		init_completion(&s->inside);
		init_completion(&s->done);
		s->leave = &k->leave;
		s->task = kthread_create(sleeper_thread, s, "kp_test/%d", (int)(s - k->sleeper));
		KUNIT_ASSERT_FALSE(test, IS_ERR(s->task));
		get_task_struct(s->task);
		wake_up_process(s->task);
		wait_for_completion(&s->inside);
	}
}

static void sleepers_end(struct kunit *test, struct retprobes_test *k)
{
	struct sleeper *s;

	complete_all(&k->leave);
	for (s = k->sleeper; s < k->sleeper + NR_SLEEPERS; s++) {
		wait_for_completion(&s->done);
		kthread_stop(s->task);
		put_task_struct(s->task);
		KUNIT_EXPECT_EQ(test, s->returned, 0x5eed);
	}
}

static void maxactive_exhausted(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = probe_sleepers(test, k, 2);

	sleepers_begin(test, k);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, NR_SLEEPERS - 2);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&r->entries), 2,
			    "entry handlers of missed calls");
	sleepers_end(test, k);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 2);
	KUNIT_EXPECT_EQ(test, r->rp.kp.nmissed, 0);

	/* Instances that came back can be used again. */
	sleepers_begin(test, k);
	sleepers_end(test, k);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 4);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 2 * (NR_SLEEPERS - 2));
	unregister_kretprobe(&r->rp);
}

/* The one test here that warns. */
static void register_twice(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = probe_sleepers(test, k, NR_SLEEPERS);
	struct kretprobe before;

	/* Likewise: all registrations share one WARN_ON_ONCE(). */
	pr_info("allow splat: kernel/kprobes/register.c:\n");
	sleepers_begin(test, k);

	/* By address, since with a name as well it would be refused for that. */
	r->rp.kp.symbol_name = NULL;
	memcpy(&before, &r->rp, sizeof(before));
	KUNIT_EXPECT_EQ(test, register_kretprobe(&r->rp), -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, &r->rp, &before, sizeof(before));

	/* The calls in flight still belong to it, and so do new ones. */
	sleepers_end(test, k);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), NR_SLEEPERS);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), NR_SLEEPERS);
	sleepers_begin(test, k);
	sleepers_end(test, k);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 2 * NR_SLEEPERS);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 0);
	unregister_kretprobe(&r->rp);
}

static void unregister_with_calls_in_flight(struct kunit *test)
{
	struct retprobe *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *stays;

	KUNIT_ASSERT_NOT_NULL(test, r);
	retprobe_at(r, "kr_test_sleep");
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	stays = probe_sleepers(test, k, NR_SLEEPERS);
	sleepers_begin(test, k);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), NR_SLEEPERS);

	unregister_kretprobe(&r->rp);
	/* It may be freed now: nothing reads or writes it any more. */
	memset(r, 0x6b, sizeof(*r));
	sleepers_end(test, k);
	KUNIT_EXPECT_NULL(test, memchr_inv(r, 0x6b, sizeof(*r)));
	KUNIT_EXPECT_EQ(test, atomic_read(&stays->returns), NR_SLEEPERS);
	unregister_kretprobe(&stays->rp);
}

static void ret_disable_with_calls_in_flight(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = probe_sleepers(test, k, 0);

	sleepers_begin(test, k);
	KUNIT_EXPECT_EQ(test, disable_kretprobe(&r->rp), 0);
	sleepers_end(test, k);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), NR_SLEEPERS);
	unregister_kretprobe(&r->rp);
}

static int lingering_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	linger(container_of(get_kretprobe(ri), struct lingerer, rp));
	return 0;
}

static void unregister_lingering_kretprobe(struct lingerer *l)
{
	unregister_kretprobe(&l->rp);
}

static void unregister_waits_for_the_return_handler(struct kunit *test)
{
	struct lingerer *l = begin_lingering(test);

	l->rp.kp.symbol_name = l->t->symbol;
	l->rp.handler = lingering_return;
	expect_to_wait(test, l, register_kretprobe(&l->rp), unregister_lingering_kretprobe);
}

/*
 * Calls that never return
 */

#define NR_EXITS	100
#define EXIT_ROUNDS	100

struct exits {
	struct completion	leave;
	atomic_t		inside, gone;
};

static noinline __noclone notrace u32 kr_test_exit(struct exits *e)
{
	KP_PADDING;
	atomic_inc(&e->inside);
	wait_for_completion(&e->leave);
	atomic_inc(&e->gone);
	kthread_complete_and_exit(NULL, 0);
}

static int exiting_thread(void *data)
{
	u32 (*volatile fn)(struct exits *e) = kr_test_exit;

	return fn(data);
}

static bool all_reached(atomic_t *counter, int nr)
{
	unsigned long end = jiffies + 60 * HZ;

	while (atomic_read(counter) != nr && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	return atomic_read(counter) == nr;
}

/* So many tasks are inside at the same time, and exit there. */
static bool exit_inside(int nr)
{
	struct task_struct *task;
	struct exits e = { };
	bool right;
	int i;

	init_completion(&e.leave);
	for (i = 0; i < nr; i++) {
		task = kthread_run(exiting_thread, &e, "kp_exit/%d", i);
		if (IS_ERR(task))
			break;
	}
	right = i == nr && all_reached(&e.inside, i);
	complete_all(&e.leave);
	/* Until then, they use the completion on this stack. */
	right &= all_reached(&e.gone, i);
	/* An instance comes back a grace period after its task has ended. */
	schedule_timeout_uninterruptible(1);
	rcu_barrier();
	return right;
}

static void tasks_exit_inside(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	struct retprobe *r = &k->r[0];
	int i, missed;

	retprobe_at(r, "kr_test_exit");
	r->log = NULL;
	r->rp.maxactive = NR_EXITS;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	for (i = 0; i < EXIT_ROUNDS; i++) {
		if (!exit_inside(NR_EXITS))
			break;
	}
	KUNIT_EXPECT_EQ(test, i, EXIT_ROUNDS);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries) + r->rp.nmissed, i * NR_EXITS);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 0);
	/* Some may have been late in a round, but none is lost. */
	KUNIT_EXPECT_LE(test, r->rp.nmissed, i * NR_EXITS / 10);
	for (i = 0; i < 10; i++) {
		missed = r->rp.nmissed;
		if (exit_inside(NR_EXITS) && r->rp.nmissed == missed)
			break;
		schedule_timeout_uninterruptible(HZ);
	}
	KUNIT_EXPECT_LT_MSG(test, i, 10, "not all instances came back");
	unregister_kretprobe(&r->rp);
}

/*
 * Stack traces
 */

static unsigned long unprobed_ret_addr;

static noinline __noclone notrace u32 kr_test_callee(u32 v)
{
	KP_PADDING;
	OPTIMIZER_HIDE_VAR(v);
	unprobed_ret_addr = (unsigned long)__builtin_return_address(0);
	return v + 1;
}

static noinline __noclone notrace u32 kr_test_caller(u32 v)
{
	u32 (*volatile fn)(u32 v) = kr_test_callee;

	return fn(v) + 1;
}

static bool trace_has(const unsigned long *trace, unsigned int n, unsigned long addr)
{
	while (n--) {
		if (trace[n] == addr)
			return true;
	}
	return false;
}

static void stack_trace_in_the_handler(struct kunit *test)
{
	struct retprobes_test *k = begin_ret(test);
	u32 (*volatile fn)(u32 v) = kr_test_caller;
	struct retprobe *r = &k->r[0], *second = &k->r[1];
	unsigned long real;

	fn(1);
	real = unprobed_ret_addr;

	retprobe_at(r, "kr_test_callee");
	retprobe_at(second, "kr_test_callee");
	r->trace = KPROBES_TEST_HAS_RETURN_SP;
	second->trace = r->trace;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&second->rp), 0);
	KUNIT_EXPECT_EQ(test, fn(1), 3);
	unregister_kretprobe(&r->rp);
	unregister_kretprobe(&second->rp);

	KUNIT_EXPECT_EQ(test, r->ret_addr, real);
	KUNIT_EXPECT_EQ(test, second->ret_addr, real);
	KUNIT_EXPECT_EQ(test, r->ip, real);

	if (!IS_ENABLED(CONFIG_ARCH_CORRECT_STACKTRACE_ON_KRETPROBE) ||
	    !IS_ENABLED(CONFIG_STACKTRACE))
		kunit_skip(test, "needs ARCH_CORRECT_STACKTRACE_ON_KRETPROBE");

	KUNIT_EXPECT_TRUE(test, trace_has(r->stack, r->depth, real));
	KUNIT_EXPECT_TRUE(test, trace_has(second->stack, second->depth, real));
	if (!HAS_TRACES_OF_REGS)
		return;
	KUNIT_EXPECT_GE(test, r->regs_depth, 1);
	KUNIT_EXPECT_EQ(test, r->regs_stack[0], real);
	KUNIT_EXPECT_GE(test, second->regs_depth, 1);
	KUNIT_EXPECT_EQ(test, second->regs_stack[0], real);
}

#else /* !CONFIG_KRETPROBES */

static void no_kretprobes(struct kunit *test)
{
	struct kretprobe rp = { .kp.symbol_name = "kr_test_plain" };
	struct kretprobe *rps[] = { &rp };

	KUNIT_EXPECT_EQ(test, register_kretprobe(&rp), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, register_kretprobes(rps, 1), -EOPNOTSUPP);
	unregister_kretprobe(&rp);
	unregister_kretprobes(rps, 1);
}

#endif

static struct kunit_case kretprobes_testcases[] = {
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_PARAM(ret_entry_and_return, entry_gen_params),
	KUNIT_CASE_PARAM(entry_handler_declines, entry_gen_params),
	KUNIT_CASE_PARAM(ret_without_handlers, entry_gen_params),
	KUNIT_CASE_PARAM(return_value_can_be_changed, entry_gen_params),
	KUNIT_CASE(maxactive_has_default),
	KUNIT_CASE_PARAM(data_of_each_size_is_kept, entry_gen_params),
	KUNIT_CASE(only_entries_are_accepted),
	KUNIT_CASE(switch_to_is_refused),
	KUNIT_CASE_PARAM(several_on_one_function, entry_gen_params),
	KUNIT_CASE_PARAM(kprobe_and_kretprobe, entry_gen_params),
	KUNIT_CASE_PARAM(value_is_overridden, entry_gen_params),
	KUNIT_CASE_PARAM(ret_disable_and_enable, entry_gen_params),
	KUNIT_CASE_PARAM(ret_again_after_unregister, entry_gen_params),
	KUNIT_CASE_PARAM(batch_registers_all_or_none, entry_gen_params),
	KUNIT_CASE_PARAM(unregister_what_is_not_registered, entry_gen_params),
	KUNIT_CASE(tail_calls_are_followed),
	KUNIT_CASE(variable_arguments_arrive),
	KUNIT_CASE(recursion_is_followed),
	KUNIT_CASE(maxactive_exhausted),
	KUNIT_CASE(register_twice),
	KUNIT_CASE(unregister_with_calls_in_flight),
	KUNIT_CASE(ret_disable_with_calls_in_flight),
	KUNIT_CASE(used_probe_is_not_changed),
	KUNIT_CASE_PARAM(unregister_waits_for_the_return_handler, entry_gen_params),
	KUNIT_CASE_SLOW(tasks_exit_inside),
	KUNIT_CASE(stack_trace_in_the_handler),
#else
	KUNIT_CASE(no_kretprobes),
#endif
	{}
};

static struct kunit_suite kretprobes_test_suite = {
	.name		= "kretprobes_test",
	.test_cases	= kretprobes_testcases,
};
kunit_test_suites(&kretprobes_test_suite);

MODULE_DESCRIPTION("KUnit test of kretprobes, from end to end");
MODULE_LICENSE("GPL");
