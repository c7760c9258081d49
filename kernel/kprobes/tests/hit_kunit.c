// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the hit path as the rest of the kernel sees it: which probe is running, and
 * how handlers are kept off a CPU.
 */

#include "suite.h"

#include <linux/hrtimer.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/stop_machine.h>

#include "../hit.h"
#include "../optimizer.h"
#include "../site.h"
#include "../pool.h"
#include "../slots.h"
#include "helpers.h"

/* Two functions with breakpoints, and one with an ftrace site if there are any. */
static KP_UNTRACED(u32, kp_hit_plain, v + 3)
static KP_UNTRACED(u32, kp_hit_other, v + 5)

/* Returns after a hit of another probe. */
static noinline __noclone notrace u32 kp_hit_around(u32 v)
{
	u32 (*volatile other)(u32 v) = kp_hit_other;

	KP_PADDING;
	return other(v) + 1;
}

static KP_TRACED(u32, kp_hit_traced, v + 7)

struct target {
	const char	*name;
	const char	*symbol;
	u32		(*fn)(u32 v);
	u32		add;
	bool		ftrace;
};

static const struct target targets[] = {
	{ "breakpoint",	"kp_hit_plain",	 kp_hit_plain,	3, false },
	{ "ftrace",	"kp_hit_traced", kp_hit_traced,	7, true },
};
KUNIT_ARRAY_PARAM_DESC(target, targets, name);

static const struct target *target_of(struct kunit *test)
{
	const struct target *t = test->param_value;

	if (t->ftrace && !KPROBES_TEST_HAS_FTRACE_NAMES)
		kunit_skip(test, "probes by name are not on ftrace sites");
	return t;
}

static u32 call(const struct target *t, u32 v)
{
	u32 (*volatile fn)(u32 v) = t->fn;

	return fn(v);
}

/* What a handler saw. */
struct view {
	unsigned int	hits;
	struct kprobe	*running;
	void		*addr;
	u32		flags;
	unsigned long	status;
	bool		preemptible;
};

struct hit_test {
	struct kprobe		kp;
	struct kretprobe	rp;
	struct view		pre, post, entry, ret, nested;
	struct kprobe		*after_nested;
	bool			busy_in_handler;
	unsigned long		outside, inside;
};

/* The fixture of the case. Handlers have no other way to it. */
static struct hit_test *now;

static void look(struct view *v)
{
	struct kprobe *p = kprobe_running();

	v->hits++;
	v->running = p;
	v->preemptible = preemptible();
	if (!p)
		return;
	v->addr = p->addr;
	v->flags = p->flags;
	v->status = get_kprobe_ctlblk()->kprobe_status;
}

static int look_pre(struct kprobe *p, struct pt_regs *regs)
{
	look(&now->pre);
	if (now->busy_in_handler) {
		kprobe_busy_begin();
		kprobe_busy_begin();
		kprobe_busy_end();
		kprobe_busy_end();
		now->after_nested = kprobe_running();
	}
	return 0;
}

static void look_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	look(&now->post);
}

static int look_nested(struct kprobe *p, struct pt_regs *regs)
{
	look(&now->nested);
	return 0;
}

static void add(struct kunit *test, const char *symbol, kprobe_pre_handler_t pre,
		kprobe_post_handler_t post)
{
	now->kp = (struct kprobe) {
		.symbol_name = symbol, .pre_handler = pre, .post_handler = post,
	};
	KP_ADD(test, &now->kp);
}

static void add_return(struct kunit *test, const char *symbol, kretprobe_handler_t entry,
		       kretprobe_handler_t handler)
{
	now->rp = (struct kretprobe) {
		.kp.symbol_name = symbol, .entry_handler = entry, .handler = handler,
	};
	KP_ADD_RETURN(test, &now->rp);
}

static void expect_running(struct kunit *test, const struct view *v, void *addr)
{
	KUNIT_EXPECT_EQ(test, v->hits, 1);
	KUNIT_EXPECT_NOT_NULL(test, v->running);
	KUNIT_EXPECT_PTR_EQ(test, v->addr, addr);
	KUNIT_EXPECT_TRUE(test, v->flags & KPROBE_FLAG_ON_FUNC_ENTRY);
	KUNIT_EXPECT_FALSE(test, v->preemptible);
}

static struct kprobe *running_now(void)
{
	guard(preempt)();
	return kprobe_running();
}

static void hit_running_in_kprobe_handlers(struct kunit *test)
{
	const struct target *t = target_of(test);

	add(test, t->symbol, look_pre, look_post);
	KUNIT_EXPECT_EQ(test, kprobe_ftrace(&now->kp), t->ftrace);
	KUNIT_EXPECT_EQ(test, call(t, 10), 10 + t->add);

	expect_running(test, &now->pre, now->kp.addr);
	expect_running(test, &now->post, now->kp.addr);
	KUNIT_EXPECT_TRUE(test, now->kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
	KUNIT_EXPECT_EQ(test, now->pre.status, KPROBE_HIT_ACTIVE);
	KUNIT_EXPECT_NULL(test, running_now());
}

/* A backend that has stepped sets the status before post handlers run. */
static void hit_status_in_post_handler(struct kunit *test)
{
	const struct target *t = &targets[0];

	KP_SKIP_IF(test, !KPROBES_TEST_HAS_STATUS_IN_POST, "the backend sets no such status");

	add(test, t->symbol, NULL, look_post);
	call(t, 10);

	KUNIT_EXPECT_EQ(test, now->post.hits, 1);
	KUNIT_EXPECT_EQ(test, now->post.status, KPROBE_HIT_SSDONE);
}

static int look_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	look(&now->entry);
	return 0;
}

static int look_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	look(&now->ret);
	return 0;
}

static void hit_running_in_kretprobe_handlers(struct kunit *test)
{
	const struct target *t = target_of(test);

	add_return(test, t->symbol, look_entry, look_return);
	KUNIT_EXPECT_EQ(test, call(t, 10), 10 + t->add);

	expect_running(test, &now->entry, now->rp.kp.addr);
	expect_running(test, &now->ret, now->rp.kp.addr);
	KUNIT_EXPECT_PTR_EQ(test, now->ret.running, &now->rp.kp);
	KUNIT_EXPECT_EQ(test, now->ret.status, KPROBE_HIT_ACTIVE);
	KUNIT_EXPECT_NULL(test, running_now());
}

/*
 * Backends take the current probe to be in a step if the status says so, and some
 * panic when that is impossible. So the status is checked from outside: while the
 * probe of a return handler is current, or the one that keeps handlers off, it must
 * never be that of an earlier hit.
 */
struct sampler {
	struct hrtimer	timer;
	unsigned int	ticks;
	unsigned int	samples;	/* with a probe to be checked */
	unsigned int	wrong;
	unsigned long	status;		/* the last wrong one */
};

static struct sampler sampler;

/*
 * Long enough for an emulated CPU to make progress in between: in QEMU an interrupt
 * takes up to 100 us. Varies, so that samples do not repeat.
 */
static ktime_t sampling_period(void)
{
	return ns_to_ktime(500000 + sampler.ticks % 17 * 7000);
}

static void sample(void)
{
	struct kprobe *p = kprobe_running();
	unsigned long status = get_kprobe_ctlblk()->kprobe_status;

	if (!p || (p != &now->rp.kp && p->addr != (void *)kprobe_busy_begin))
		return;
	sampler.samples++;
	if (status == KPROBE_HIT_ACTIVE)
		return;
	sampler.wrong++;
	sampler.status = status;
}
NOKPROBE_SYMBOL(sample);

static enum hrtimer_restart sample_in_irq(struct hrtimer *timer)
{
	sampler.ticks++;
	sample();
	hrtimer_forward_now(timer, sampling_period());
	return HRTIMER_RESTART;
}

/* Long, so that many samples fall into it. */
static void linger(void)
{
	int i;

	for (i = 0; i < 20000; i++)
		barrier();
}

static int linger_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	now->ret.hits++;
	linger();
	return 0;
}

static void call_sampled(void)
{
	u32 (*volatile around)(u32 v) = kp_hit_around;
	u32 (*volatile other)(u32 v) = kp_hit_other;

	other(1);
	around(1);
	other(1);
	/*
	 * Some architectures call return handlers with interrupts off, but not this
	 * function.
	 */
	kprobe_busy_begin();
	linger();
	kprobe_busy_end();
}

/* With one return probe, then with two on one frame, an uncommon case with a longer path. */
static void expect_status(struct kunit *test, void (*sample_calls)(void), unsigned int samples)
{
	struct kretprobe *second = kp_zalloc(test, sizeof(*second));
	int round;

	/* Its hits leave a different status. */
	add(test, "kp_hit_other", NULL, look_post);
	add_return(test, "kp_hit_around", NULL, linger_return);
	for (round = 0; round < 2; round++) {
		memset(&sampler, 0, sizeof(sampler));
		/* On the CPU that takes the hits. */
		migrate_disable();
		sample_calls();
		migrate_enable();
		KUNIT_EXPECT_GE(test, sampler.samples, samples);
		KUNIT_EXPECT_EQ_MSG(test, sampler.wrong, 0, "status %lx", sampler.status);
		if (round)
			break;
		second->kp.symbol_name = "kp_hit_around";
		second->handler = linger_return;
		KP_ADD_RETURN(test, second);
	}
}

static void sample_by_timer(void)
{
	unsigned long end = jiffies + 3 * HZ;

	hrtimer_setup(&sampler.timer, sample_in_irq, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&sampler.timer, sampling_period(), HRTIMER_MODE_REL_PINNED_HARD);
	for (; time_before(jiffies, end) && READ_ONCE(sampler.samples) < 50; cond_resched())
		call_sampled();
	hrtimer_cancel(&sampler.timer);
}

/*
 * From a timer. In QEMU, interrupts arrive only at the end of a block of translated
 * code. So only hardware, or a watchpoint, shows two stores in the wrong order.
 */
static void hit_status_of_a_return_handler_by_timer(struct kunit *test)
{
	expect_status(test, sample_by_timer, 1);
}

#if KPROBES_TEST_HAS_LATE_WATCHPOINTS
static void sample_in_watchpoint(struct perf_event *bp, struct perf_sample_data *data,
				 struct pt_regs *regs)
{
	sample();
}
NOKPROBE_SYMBOL(sample_in_watchpoint);

static struct perf_event * __percpu *watch(void *addr)
{
	struct perf_event_attr attr;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)addr;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.bp_type = HW_BREAKPOINT_W;
	return register_wide_hw_breakpoint(&attr, sample_in_watchpoint, NULL);
}

static void sample_by_watchpoint(void)
{
	struct perf_event * __percpu *on_current = watch(raw_cpu_ptr(&current_kprobe));
	struct perf_event * __percpu *on_status = watch(raw_cpu_ptr(&kprobe_ctlblk.kprobe_status));

	if (!IS_ERR_PCPU(on_current) && !IS_ERR_PCPU(on_status))
		call_sampled();
	if (!IS_ERR_PCPU(on_status))
		unregister_wide_hw_breakpoint(on_status);
	if (!IS_ERR_PCPU(on_current))
		unregister_wide_hw_breakpoint(on_current);
}

/* After each of the stores: what an interrupt could see there. */
static void hit_status_of_a_return_handler_by_watchpoint(struct kunit *test)
{
	expect_status(test, sample_by_watchpoint, 2);
	KUNIT_EXPECT_EQ(test, now->ret.hits, 1 + 2);
}
#else
KP_SKIPPED(hit_status_of_a_return_handler_by_watchpoint,
	   "needs watchpoints that trap after the access")
#endif

/* What begins a hit outside of others relies on it. */
static void hit_ends_with_the_status_of_none(struct kunit *test)
{
#ifdef KPROBE_MAX_NESTING
	const struct target *t = target_of(test);
	unsigned long before, after;

	add(test, t->symbol, look_pre, look_post);
	preempt_disable();
	before = get_kprobe_ctlblk()->kprobe_status;
	call(t, 1);
	after = get_kprobe_ctlblk()->kprobe_status;
	preempt_enable();

	KUNIT_EXPECT_EQ(test, before, KPROBE_HIT_ACTIVE);
	KUNIT_EXPECT_EQ(test, now->post.hits, 1);
	KUNIT_EXPECT_NE(test, now->post.status, KPROBE_HIT_ACTIVE);
	KUNIT_EXPECT_EQ(test, after, KPROBE_HIT_ACTIVE);
#else
	kunit_skip(test, "the architecture has a control block of its own");
#endif
}

static void hit_busy_keeps_handlers_off(struct kunit *test)
{
	const struct target *t = target_of(test);
	struct kprobe *inside, *between;

	add(test, t->symbol, look_pre, NULL);

	kprobe_busy_begin();
	inside = kprobe_running();
	call(t, 1);
	kprobe_busy_begin();
	call(t, 1);
	kprobe_busy_end();
	between = kprobe_running();
	call(t, 1);
	kprobe_busy_end();

	KUNIT_EXPECT_EQ(test, now->pre.hits, 0);
	KUNIT_EXPECT_EQ(test, now->kp.nmissed, 3);
	KUNIT_EXPECT_NOT_NULL(test, inside);
	KUNIT_EXPECT_PTR_EQ(test, between, inside);
	KUNIT_EXPECT_NULL(test, running_now());
	KUNIT_EXPECT_TRUE(test, preemptible() || !IS_ENABLED(CONFIG_PREEMPT_COUNT));

	call(t, 1);
	KUNIT_EXPECT_EQ(test, now->pre.hits, 1);
}

static void hit_busy_nests_in_a_handler(struct kunit *test)
{
	const struct target *t = target_of(test);

	now->busy_in_handler = true;
	add(test, t->symbol, look_pre, NULL);
	KUNIT_EXPECT_EQ(test, call(t, 1), 1 + t->add);
	KUNIT_EXPECT_EQ(test, call(t, 2), 2 + t->add);

	KUNIT_EXPECT_EQ(test, now->pre.hits, 2);
	KUNIT_EXPECT_PTR_EQ(test, now->after_nested, now->pre.running);
	KUNIT_EXPECT_NULL(test, running_now());
}

/* Leaves what an oops in a post handler leaves, inside a busy section of it. */
static void never_end_hit(struct kprobe *p)
{
	kprobe_busy_begin();
	kprobe_busy_begin();
	preempt_enable_notrace();
	preempt_enable_notrace();
	get_kprobe_ctlblk()->kprobe_status = KPROBE_HIT_SSDONE;
	__this_cpu_write(kprobe_fault_owner.user, p);
}

static void hit_that_never_ends_is_abandoned(struct kunit *test)
{
	const struct kprobe *before, *after, *later, *owner;
	const struct target *t = target_of(test);
	unsigned long missed, status;

	add(test, t->symbol, look_pre, NULL);

	preempt_disable();
	never_end_hit(&now->kp);
	before = kprobe_running();
	call(t, 1);
	missed = now->kp.nmissed;

	kprobe_abandon_hit();
	after = kprobe_running();
	status = get_kprobe_ctlblk()->kprobe_status;
	owner = kprobe_test_fault_owner(smp_processor_id());
	call(t, 1);
	kprobe_busy_begin();
	kprobe_busy_end();
	later = kprobe_running();
	preempt_enable();

	KUNIT_EXPECT_NOT_NULL(test, before);
	KUNIT_EXPECT_EQ(test, missed, 1);
	KUNIT_EXPECT_NULL(test, after);
	KUNIT_EXPECT_EQ(test, status, KPROBE_HIT_ACTIVE);
	KUNIT_EXPECT_NULL(test, owner);
	KUNIT_EXPECT_EQ(test, now->pre.hits, 1);
	KUNIT_EXPECT_EQ(test, now->kp.nmissed, 1);
	KUNIT_EXPECT_NULL(test, later);
}

/* Makes a call that is return probed, from inside a hit. */
static int call_other_pre(struct kprobe *p, struct pt_regs *regs)
{
	u32 (*volatile fn)(u32 v) = kp_hit_other;

	look(&now->pre);
	fn(1);
	now->after_nested = kprobe_running();
	return 0;
}

static int return_calls_other(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	u32 (*volatile fn)(u32 v) = kp_hit_other;

	look(&now->ret);
	fn(1);
	now->after_nested = kprobe_running();
	return 0;
}

static void hit_outer_hit_survives_a_nested_one(struct kunit *test)
{
	const struct target *t = target_of(test);

	add_return(test, "kp_hit_other", NULL, look_return);
	add(test, t->symbol, call_other_pre, NULL);
	KUNIT_EXPECT_EQ(test, call(t, 1), 1 + t->add);

	/* The inner entry is missed, so there is no return to see. */
	KUNIT_EXPECT_EQ(test, now->pre.hits, 1);
	KUNIT_EXPECT_EQ(test, now->ret.hits, 0);
	KUNIT_EXPECT_EQ(test, now->rp.kp.nmissed, 1);
	KUNIT_EXPECT_PTR_EQ(test, now->after_nested, now->pre.running);
	KUNIT_EXPECT_NULL(test, running_now());
}

static void hit_nested_in_a_return_handler(struct kunit *test)
{
	const struct target *t = target_of(test);

	add(test, "kp_hit_other", look_nested, NULL);
	add_return(test, t->symbol, NULL, return_calls_other);
	KUNIT_EXPECT_EQ(test, call(t, 1), 1 + t->add);

	KUNIT_EXPECT_EQ(test, now->ret.hits, 1);
	KUNIT_EXPECT_EQ(test, now->nested.hits, 0);
	KUNIT_EXPECT_EQ(test, now->kp.nmissed, 1);
	KUNIT_EXPECT_PTR_EQ(test, now->after_nested, now->ret.running);
	KUNIT_EXPECT_NULL(test, running_now());
}

/* The probe in the core that stands for the site, not the user's. */
static void hit_core_knows_its_own_probe(struct kunit *test)
{
	const struct target *t = target_of(test);
	struct kprobe *p;

	now->kp.symbol_name = t->symbol;
	now->kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, register_kprobe(&now->kp), 0);

	scoped_guard(preempt)
		p = get_kprobe(now->kp.addr);
	KUNIT_EXPECT_NOT_NULL(test, p);
	if (p) {
		KUNIT_EXPECT_PTR_NE(test, p, &now->kp);
		KUNIT_EXPECT_PTR_EQ(test, p->addr, now->kp.addr);
		KUNIT_EXPECT_TRUE(test, kprobe_disabled(p));
		KUNIT_EXPECT_EQ(test, enable_kprobe(&now->kp), 0);
		KUNIT_EXPECT_FALSE(test, kprobe_disabled(p));
		KUNIT_EXPECT_EQ(test, kprobe_ftrace(p), t->ftrace);
	}
	unregister_kprobe(&now->kp);

	scoped_guard(preempt)
		p = get_kprobe(now->kp.addr);
	KUNIT_EXPECT_NULL(test, p);
}

/*
 * The function that switches tasks: on x86, its caller is already on the stack of the other task,
 * and it changes what current is.
 */

#define NR_AT_ONCE	8

static int nr_hits(struct kp_watch *w, int nr)
{
	int hits = 0;

	while (nr--)
		hits += atomic_read(&w[nr].pre);
	return hits;
}

static void hit_while_tasks_are_switched(struct kunit *test)
{
	void (*post)(struct kprobe *p, struct pt_regs *regs, unsigned long flags);
	struct kprobe found = { .symbol_name = "__switch_to", .flags = KPROBE_FLAG_DISABLED };
	unsigned long start, size, at;
	int nr, all, hits, round, i;
	struct kp_watch *w;

	w = kp_calloc(test, NR_AT_ONCE, sizeof(*w));
	if (!IS_ENABLED(CONFIG_HAVE_KRETPROBE_NATIVE))
		kunit_skip(test, "the backend is the architecture's");
	KUNIT_ASSERT_EQ(test, register_kprobe(&found), 0);
	start = (unsigned long)found.addr;
	unregister_kprobe(&found);
	KUNIT_ASSERT_NE(test, kallsyms_lookup_size_offset(start, &size, &at), 0);
	start -= at;

	/* Every instruction: with jumps, and with breakpoints that are stepped over. */
	for (round = 0; round < 2; round++) {
		post = round ? kp_watch_post : NULL;
		all = 0;
		hits = 0;
		for (at = 0; at < size;) {
			for (nr = 0; nr < NR_AT_ONCE && at < size; at++) {
				w[nr] = (struct kp_watch) { .kp = {
					.addr		= (kprobe_opcode_t *)(start + at),
					.pre_handler	= kp_watch_pre,
					.post_handler	= post,
				} };
				nr += !register_kprobe(&w[nr].kp);
			}
			if (!post)
				wait_for_kprobe_optimizer();
			/* Each is two switches at least. */
			for (i = 0; i < 2; i++)
				schedule_timeout_uninterruptible(1);
			all += nr;
			hits += nr_hits(w, nr);
			while (nr--)
				unregister_kprobe(&w[nr].kp);
		}
		KUNIT_EXPECT_GT(test, all, 8);
		/* Some instructions are not executed each time. */
		KUNIT_EXPECT_GT(test, hits, all);
		kunit_info(test, "%d probes on %lu bytes, %d hits\n", all, size, hits);
	}
}

/*
 * Probes on functions that everything calls, including the tests and the core: string
 * functions, locks, tracing and printing.
 */

struct common {
	const char	*name;
	const char	*symbols[12];
};

static const struct common commons[] = {
	{ "strings", {
		"memcpy", "memset", "memmove", "memcmp", "strlen", "strcmp", "strnlen",
		"strscpy", "__memcpy", "__memset", "__memmove", "vsnprintf",
	} },
	{ "locks", {
		"_raw_spin_lock", "_raw_spin_unlock", "_raw_spin_lock_irqsave",
		"_raw_spin_unlock_irqrestore", "_raw_spin_lock_irq", "mutex_lock",
		"mutex_unlock", "down_read", "up_read", "rcu_note_context_switch",
	} },
	{ "stop_machine", {
		"multi_cpu_stop", "stop_machine_cpuslocked", "cpu_stopper_thread",
		"cpu_stop_queue_work", "stop_machine", "smp_call_function_many_cond",
		"generic_smp_call_function_single_interrupt",
	} },
	{ "tracing_and_printing", {
		"_printk", "vprintk_emit", "preempt_count_add", "preempt_count_sub",
		"ring_buffer_lock_reserve", "ring_buffer_unlock_commit", "schedule",
		"update_rq_clock", "ktime_get", "kmem_cache_alloc_noprof",
	} },
};
KUNIT_ARRAY_PARAM_DESC(common, commons, name);

/* Handlers call the same functions as the core does. */
static int calling_pre(struct kprobe *p, struct pt_regs *regs)
{
	char buf[32];

	memset(buf, 1, sizeof(buf));
	memcpy(buf, "abcdefg", 8);
	return strlen(buf) == 7 ? 0 : 1;
}

static int nothing(void *unused)
{
	return 0;
}

static void work(struct kunit *test)
{
	struct kprobe inner = { .symbol_name = "kp_hit_plain", .pre_handler = calling_pre };
	char buf[64];
	int i;

	for (i = 0; i < 20; i++) {
		struct kprobe kp = inner;

		KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
		KUNIT_EXPECT_EQ(test, call(&targets[0], i), i + 3);
		unregister_kprobe(&kp);
		snprintf(buf, sizeof(buf), "%d %s", i, "common");
		KUNIT_EXPECT_EQ(test, strlen(buf), i < 10 ? 8 : 9);
		KUNIT_EXPECT_EQ(test, stop_machine(nothing, NULL, cpu_online_mask), 0);
		if (!i)
			pr_info("kprobes_hit: a line to be printed\n");
		cond_resched();
	}
}

/*
 * mutex_lock() may begin with a load-reserved. And where a trap takes a lock to find
 * its owner, a probe on the functions of that lock would trap again, without end.
 */
static bool never_ends(const char *symbol)
{
	if (!KPROBES_TEST_HAS_SAFE_ATOMICS)
		return !strcmp(symbol, "mutex_lock");
	if (!KPROBES_TEST_HAS_LOCKLESS_TRAPS)
		return !strcmp(symbol, "_raw_spin_lock_irqsave") ||
		       !strcmp(symbol, "_raw_spin_unlock_irqrestore");
	return false;
}

static void hit_common_functions(struct kunit *test)
{
	const struct common *c = test->param_value;
	int i, nr = 0, hits = 0;
	struct kp_watch *w;

	w = kp_calloc(test, ARRAY_SIZE(c->symbols), sizeof(*w));

	for (i = 0; i < ARRAY_SIZE(c->symbols) && c->symbols[i]; i++) {
		if (never_ends(c->symbols[i]))
			continue;
		w[nr] = (struct kp_watch)KP_WATCH_BY_NAME(c->symbols[i]);
		w[nr].kp.post_handler = i % 2 ? NULL : kp_nothing_post;
		/* Not all of them are functions everywhere, or can be probed. */
		nr += !register_kprobe(&w[nr].kp);
	}

	work(test);
	for (i = 0; i < nr; i++) {
		unregister_kprobe(&w[i].kp);
		hits += atomic_read(&w[i].pre);
	}
	KP_SKIP_IF(test, !nr && !IS_ENABLED(CONFIG_SMP), "needs SMP");
	KUNIT_EXPECT_GT(test, nr, 0);
	KUNIT_EXPECT_GT(test, hits, 0);
}

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
static __always_inline u32 scramble(u32 v, u32 factor)
{
	v ^= v << 13;
	v *= factor;
	v ^= v >> 17;
	OPTIMIZER_HIDE_VAR(v);
	return v;
}

/*
 * Probes that appear twice in the array they are unregistered with. Most of them have
 * a slot, since no architecture emulates these instructions.
 */
static noinline __noclone notrace __used u32 kp_hit_slots(u32 v)
{
	KP_PADDING;
	v = scramble(v, 0x9e3779b1);
	v = scramble(v, 0x85ebca6b);
	v = scramble(v, 0xc2b2ae35);
	v = scramble(v, 0x27d4eb2f);
	return v;
}

#define MAX_TWICE	24

struct twice {
	struct kprobe	kp[MAX_TWICE];
	struct kprobe	*kps[2 * MAX_TWICE];
	void		*addr[MAX_TWICE];
	unsigned int	nr;
};

static int register_them(struct twice *t)
{
	unsigned int i;

	for (i = 0; i < t->nr; i++) {
		t->kp[i] = (struct kprobe) { .addr = t->addr[i] };
		t->kps[i] = &t->kp[i];
		t->kps[t->nr + i] = &t->kp[i];
	}
	return register_kprobes(t->kps, t->nr);
}

static void find_instructions(struct twice *t)
{
	unsigned long fn = (unsigned long)dereference_symbol_descriptor(kp_hit_slots);
	unsigned long size, offset;

	if (!kallsyms_lookup_size_offset(fn, &size, NULL))
		return;
	/* After the padding. */
	for (offset = 9 * sizeof(kprobe_opcode_t); offset < size && t->nr < MAX_TWICE;
	     offset += sizeof(kprobe_opcode_t)) {
		struct kprobe kp = { .addr = (kprobe_opcode_t *)(fn + offset) };

		if (register_kprobe(&kp))
			continue;
		unregister_kprobe(&kp);
		t->addr[t->nr++] = kp.addr;
	}
}

static unsigned int sites_left(const struct twice *t)
{
	unsigned int i, left = 0;

	guard(mutex)(&kprobe_mutex);

	for (i = 0; i < t->nr; i++)
		left += !!kprobe_site_at((unsigned long)t->addr[i]);
	return left;
}

/* When all slots that will come back have done so. */
static size_t slot_pages(void)
{
	kp_flush_slots(&kprobe_insn_slots);

	guard(mutex)(&kprobe_insn_slots.mutex);

	return list_count_nodes(&kprobe_insn_slots.pages);
}

static void hit_twice_in_one_call_loses_no_slots(struct kunit *test)
{
	unsigned int slots = 4 * PAGE_SIZE / kprobe_insn_slots.slot_size, i, left = 0;
	struct twice *t = kp_zalloc(test, sizeof(*t));
	/* Some architectures stop the machine for each breakpoint. */
	unsigned long end = jiffies + 15 * HZ;
	size_t pages = 0;
	bool slow = false;

	/* Sites with jumps are not the subject here, and take long. */
	kprobe_opt_allow(false);
	find_instructions(t);
	KUNIT_EXPECT_GE(test, t->nr, 8);

	for (i = 0; i < slots && t->nr && !left; i += t->nr) {
		slow = time_after(jiffies, end);
		if (slow || register_them(t))
			break;
		unregister_kprobes(t->kps, 2 * t->nr);
		left = sites_left(t);
		if (!i)
			pages = slot_pages();
	}
	KUNIT_EXPECT_EQ(test, left, 0);
	KUNIT_EXPECT_TRUE(test, slow || i >= slots);
	/* An empty page may be kept. */
	KUNIT_EXPECT_LE(test, slot_pages(), pages + 1);
	kprobe_opt_allow(true);
	KP_SKIP_IF(test, slow, "only %u of %u slots in the time available", i, slots);
}
#else
KP_SKIPPED(hit_twice_in_one_call_loses_no_slots, "the architecture has no instruction slots")
#endif

/* How much stack a hit uses. It may be an interrupt stack, and nearly full. */

/* In addition to what the CPU and the entry code save. */
#define STACK_OF_HIT	(sizeof(struct pt_regs) + KPROBES_TEST_STACK_OF_HIT)

/* What sparc64 subtracts from the stack pointer. */
#ifndef STACK_BIAS
#define STACK_BIAS	0
#endif

static int stack_pre(struct kprobe *p, struct pt_regs *regs)
{
	now->outside = kernel_stack_pointer(regs) + STACK_BIAS;
	now->inside = (unsigned long)__builtin_frame_address(0);
	return 0;
}

static void expect_little_stack(struct kunit *test)
{
	KUNIT_EXPECT_GT(test, now->outside, now->inside);
	KUNIT_EXPECT_LE(test, now->outside - now->inside, STACK_OF_HIT);
	kunit_info(test, "%lu bytes\n", now->outside - now->inside);
	now->outside = 0;
}

static int stack_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return stack_pre(NULL, regs);
}

static void hit_uses_little_stack(struct kunit *test)
{
	const struct target *t = target_of(test);

	add(test, t->symbol, stack_pre, NULL);
	call(t, 10);
	unregister_kprobe(&now->kp);
	expect_little_stack(test);

	if (!IS_ENABLED(CONFIG_KRETPROBES) || !KPROBES_TEST_HAS_RETURN_SP)
		return;
	add_return(test, t->symbol, NULL, stack_return);
	call(t, 10);
	expect_little_stack(test);
}

/*
 * A hit writes only to data of its own CPU, so that no cache line is shared with other
 * CPUs that hit the same probe. The optimizer is kept away.
 */
static void expect_hits_to_write_nothing(struct kunit *test, const void *shared, size_t shared_size,
					 const void *probe, size_t probe_size)
{
	void *shared_copy = kp_zalloc(test, shared_size), *probe_copy = kp_zalloc(test, probe_size);
	const struct target *t = target_of(test);
	int i;

	guard(mutex)(&kprobe_mutex);

	memcpy(shared_copy, shared, shared_size);
	memcpy(probe_copy, probe, probe_size);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, call(t, i), i + t->add);
	KUNIT_EXPECT_MEMEQ(test, shared, shared_copy, shared_size);
	KUNIT_EXPECT_MEMEQ(test, probe, probe_copy, probe_size);
	/* Not every trampoline knows the stack pointer outside. */
	KUNIT_EXPECT_NE(test, now->inside, 0);
}

static void hit_shares_nothing_written(struct kunit *test)
{
	const struct target *t = target_of(test);
	struct kprobe_site *site;
	size_t size;

	add(test, t->symbol, stack_pre, NULL);
	/* Some backends record at the first hit how they execute the instruction. */
	call(t, 0);
	scoped_guard(mutex, &kprobe_mutex)
		site = kprobe_to_site(get_kprobe(now->kp.addr));
	size = site->kind == KPROBE_SITE_FTRACE ? offsetofend(struct kprobe_site, head.kp) :
						  sizeof(*site);
	expect_hits_to_write_nothing(test, site, size, &now->kp, sizeof(now->kp));
	KUNIT_EXPECT_NE(test, now->outside, 0);
}

#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
static void hit_shares_nothing_written_on_return(struct kunit *test)
{
	const struct target *t = target_of(test);
	struct kretprobe_pool *pool;

	add_return(test, t->symbol, NULL, stack_return);
	call(t, 0);
	pool = to_kretprobe_pool(now->rp.rph);
	expect_hits_to_write_nothing(test, pool, sizeof(*pool), &now->rp, sizeof(now->rp));
}
#else
KP_SKIPPED(hit_shares_nothing_written_on_return, "needs a pool of ours")
#endif

static int hit_test_init(struct kunit *test)
{
	now = kp_zalloc(test, sizeof(*now));
	return 0;
}

static struct kunit_case hit_cases[] = {
	KUNIT_CASE_PARAM(hit_running_in_kprobe_handlers, target_gen_params),
	KUNIT_CASE(hit_status_in_post_handler),
	KUNIT_CASE_PARAM(hit_running_in_kretprobe_handlers, target_gen_params),
	KUNIT_CASE(hit_status_of_a_return_handler_by_timer),
	KUNIT_CASE(hit_status_of_a_return_handler_by_watchpoint),
	KUNIT_CASE_PARAM(hit_ends_with_the_status_of_none, target_gen_params),
	KUNIT_CASE_PARAM(hit_busy_keeps_handlers_off, target_gen_params),
	KUNIT_CASE_PARAM(hit_busy_nests_in_a_handler, target_gen_params),
	KUNIT_CASE_PARAM(hit_that_never_ends_is_abandoned, target_gen_params),
	KUNIT_CASE_PARAM(hit_outer_hit_survives_a_nested_one, target_gen_params),
	KUNIT_CASE_PARAM(hit_nested_in_a_return_handler, target_gen_params),
	KUNIT_CASE_PARAM(hit_core_knows_its_own_probe, target_gen_params),
	KUNIT_CASE(hit_while_tasks_are_switched),
	KUNIT_CASE_PARAM(hit_common_functions, common_gen_params),
	KUNIT_CASE(hit_twice_in_one_call_loses_no_slots),
	KUNIT_CASE_PARAM(hit_uses_little_stack, target_gen_params),
	KUNIT_CASE_PARAM(hit_shares_nothing_written, target_gen_params),
	KUNIT_CASE_PARAM(hit_shares_nothing_written_on_return, target_gen_params),
	{}
};

KP_SUITE(hit_cases, .name = "kprobes_hit", .init = hit_test_init);
