// SPDX-License-Identifier: GPL-2.0-only
/*
 * What may be in the way of a jump when it comes or goes: tasks that are stopped in
 * the code that it replaces or in its detour, other probes, other patches. Optimized
 * code itself is tested in optimize_kunit.c.
 */

#include "suite.h"

#include <linux/hrtimer.h>
#include <linux/stacktrace.h>
#include <linux/static_call.h>
#include <linux/workqueue.h>

#include <asm/asm.h>
#include <asm/ibt.h>

#include "../common.h"
#include "helpers.h"
#include "stopped.h"

/*
 * Marks the probed instruction, which follows the label 777, as AT(name). The
 * functions are in C, see KP_PLACE() for those in assembly.
 */
#define MARK(name)							\
	".pushsection .rodata\n"					\
	".balign 4\n"							\
	".globl kpj_" #name "_off\n"					\
	"kpj_" #name "_off: .long 777b - kpj_" #name "\n"		\
	".popsection\n"

extern const u32 kpj_fill_off, kpj_nops_off, kpj_push_off, kpj_static_call_off;
extern const u32 kpj_bad_load_off;

#define AT(name)	kp_at(&(struct kp_place){ (void *)kpj_##name, &kpj_##name##_off })

/* Takes its time in the second of the instructions that a jump replaces. */
static noinline __noclone notrace void kpj_fill(void *buf, unsigned long len)
{
	asm volatile("777:	nop\n"
		     "	rep stosb\n"
		     "	nop\n	nop\n	nop\n"
		     MARK(fill)
		     : "+D" (buf), "+c" (len) : "a" (0x55) : "memory");
}

static noinline __noclone notrace int kpj_nops(int v)
{
	asm volatile("777:	.rept 12\n	nop\n	.endr\n"
		     MARK(nops) : "+r" (v));
	return v + 3;
}

/* Survives a fault, and then returns its argument. */
static noinline __noclone notrace long kpj_bad_load(long v, unsigned long from)
{
	asm volatile("777:	mov (%1), %0\n"
		     "1:\n"
		     _ASM_EXTABLE(777b, 1b)
		     MARK(bad_load) : "+r" (v) : "r" (from));
	return v;
}

static bool has_flag(u8 *addr, u32 flag)
{
	return READ_ONCE(op_at(addr)->kp.flags) & flag;
}

/* A thread that fills memory all the time. A timer of its CPU stops it in there. */
struct filler {
	struct kp_stopped	stopped;
	struct hrtimer		timer;
	bool			(*is_there)(unsigned long ip);
	void			*buf;
};

/* Newer versions of QEMU let interrupts in only after 64 K repetitions. */
#define FILL_SIZE	SZ_256K
#define CATCH_NS	(50 * NSEC_PER_USEC)

static int filler_thread(void *data)
{
	struct filler *f = container_of(data, struct filler, stopped);

	while (!kthread_should_stop()) {
		kpj_fill(f->buf, FILL_SIZE);
		/* Tasks-RCU does not count preemption as a quiescent state. */
		cond_resched_tasks_rcu_qs();
	}

	return 0;
}

static enum hrtimer_restart catch_it(struct hrtimer *timer)
{
	struct filler *f = container_of(timer, struct filler, timer);

	if (kp_stopped_catch(&f->stopped, f->is_there))
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, CATCH_NS);
	return HRTIMER_RESTART;
}

static void start_timer(void *data)
{
	struct filler *f = data;

	hrtimer_start(&f->timer, CATCH_NS, HRTIMER_MODE_REL_PINNED_HARD);
}

/* The thread runs, and is not stopped yet. */
static struct filler *filler_begin(struct kunit *test, bool preempt)
{
	struct filler *f = kp_zalloc(test, sizeof(*f));

	f->buf = kp_zalloc(test, FILL_SIZE);
	hrtimer_setup(&f->timer, catch_it, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	kp_stopped_begin(test, &f->stopped, filler_thread, preempt);
	wake_up_process(f->stopped.task);
	return f;
}

static void filler_stop(struct kunit *test, struct filler *f,
			bool (*is_there)(unsigned long ip))
{
	f->is_there = is_there;
	smp_call_function_single(f->stopped.cpu, start_timer, f, true);
	kp_stopped_wait(test, &f->stopped);
}

static void filler_end(struct filler *f)
{
	hrtimer_cancel(&f->timer);
	kp_stopped_end(&f->stopped);
}

static bool in_what_is_replaced(unsigned long ip)
{
	unsigned long addr = (unsigned long)AT(fill);

	return ip > addr && ip < addr + JMP32_INSN_SIZE;
}

static bool in_copies(unsigned long ip)
{
	return is_kprobe_optinsn_slot(ip) &&
	       first_byte((u8 *)ip) == 0xf3;	/* rep */
}

static const struct stopped_by {
	const char	*name;
	bool		preempts;
} stopped_bys[] = {
	{ "an interrupt", false },
	{ "preemption", true },
};
KUNIT_ARRAY_PARAM_DESC(stopped_by, stopped_bys, name);

/* Until the worker has diverted hits: it may have to leave the CPU of the thread for that. */
static void wait_for_detour(u8 *addr)
{
	unsigned long end = jiffies + 4 * HZ;

	while (!has_flag(addr, KPROBE_FLAG_DETOUR) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
}

static void jump_waits_for_task_inside(struct kunit *test)
{
	const struct stopped_by *by = test->param_value;
	struct filler *f = filler_begin(test, by->preempts);
	struct kp_watch p = KP_WATCH(AT(fill));

	filler_stop(test, f, in_what_is_replaced);
	KUNIT_EXPECT_EQ(test, register_kprobe(&p.kp), 0);
	wait_for_detour(AT(fill));
	kp_give_it_time();
	KUNIT_EXPECT_TRUE(test, has_flag(AT(fill), KPROBE_FLAG_DETOUR));
	KUNIT_EXPECT_FALSE(test, has_flag(AT(fill), KPROBE_FLAG_JUMP));
	KUNIT_EXPECT_EQ(test, first_byte(AT(fill)), INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, first_byte(AT(fill) + 1), 0xf3);

	kp_let_go(&f->stopped);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, first_byte(AT(fill)), JMP32_INSN_OPCODE);
	filler_end(f);
	unregister_kprobe(&p.kp);
}

/*
 * A second probe after the first, in what its jump replaces
 */

static void expect_both(struct kunit *test, struct kp_watch *a, struct kp_watch *b)
{
	int hits_a = atomic_read(&a->pre), hits_b = atomic_read(&b->pre);

	KUNIT_EXPECT_EQ(test, kpj_nops(4), 7);
	KUNIT_EXPECT_EQ(test, atomic_read(&a->pre), hits_a + 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->pre), hits_b + 1);
}

static void add_second(struct kunit *test, struct kp_watch *a, struct kp_watch *b)
{
	KUNIT_ASSERT_EQ(test, register_kprobe(&b->kp), 0);
	/* Not a byte of the jump. */
	KUNIT_EXPECT_EQ(test, get_kprobe(b->kp.addr)->opcode, 0x90);
	KUNIT_EXPECT_FALSE(test, has_flag(a->kp.addr, KPROBE_FLAG_DETOUR));
	expect_both(test, a, b);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_FALSE(test, has_flag(a->kp.addr, KPROBE_FLAG_JUMP));
	expect_both(test, a, b);

	unregister_kprobe(&b->kp);
	b->kp = (struct kprobe) { .addr = AT(nops) + 3, .pre_handler = kp_watch_pre };
}

static void jump_second_probe_in_range(struct kunit *test)
{
	struct kp_watch a = KP_WATCH(AT(nops));
	struct kp_watch b = KP_WATCH(AT(nops) + 3);
	struct kprobe post = { .addr = AT(nops), .post_handler = kp_nothing_post };
	u8 text[16];

	memcpy(text, AT(nops), sizeof(text));
	/* Queued, unless the worker is faster. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&a.kp), 0);
	add_second(test, &a, &b);

	/* There is a jump. */
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, first_byte(AT(nops)), JMP32_INSN_OPCODE);
	add_second(test, &a, &b);

	/* There was a jump. */
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_EQ(test, register_kprobe(&post), 0);
	KUNIT_EXPECT_EQ(test, first_byte(AT(nops)), INT3_INSN_OPCODE);
	add_second(test, &a, &b);
	unregister_kprobe(&post);
	unregister_kprobe(&a.kp);
	KUNIT_EXPECT_EQ(test, memcmp(text, AT(nops), sizeof(text)), 0);
}

/* It waits until no task is in the detour, and the first is not optimized again. */
static void jump_second_probe_while_waiting(struct kunit *test)
{
	struct kp_watch fill = KP_WATCH(AT(fill));
	struct kp_watch a = KP_WATCH(AT(nops));
	struct kp_watch b = KP_WATCH(AT(nops) + 3);
	struct kprobe *kps[] = { &fill.kp, &a.kp };
	struct filler *f = filler_begin(test, false);

	filler_stop(test, f, in_what_is_replaced);
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, 2), 0);
	wait_for_detour(AT(nops));
	kp_give_it_time();
	KUNIT_EXPECT_TRUE(test, has_flag(AT(nops), KPROBE_FLAG_DETOUR));
	KUNIT_EXPECT_FALSE(test, has_flag(AT(nops), KPROBE_FLAG_JUMP));

	kp_let_go_later(&f->stopped);
	add_second(test, &a, &b);
	KUNIT_EXPECT_TRUE(test, f->stopped.may_go);
	filler_end(f);
	unregister_kprobes(kps, 2);
}

/*
 * The first one has gone, disabled or unregistered, but not the task that entered its
 * detour: it continues in there, past the instruction that now has a probe.
 */
static void jump_second_probe_after_the_first(struct kunit *test)
{
	const struct stopped_by *by = test->param_value;
	struct kp_watch a = KP_WATCH(AT(fill));
	struct kp_watch b = KP_WATCH(AT(fill) + 3);
	struct filler *f = filler_begin(test, by->preempts);

	KUNIT_EXPECT_EQ(test, register_kprobe(&a.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, has_flag(AT(fill), KPROBE_FLAG_JUMP));
	filler_stop(test, f, in_copies);
	if (by->preempts)
		unregister_kprobe(&a.kp);
	else
		KUNIT_EXPECT_EQ(test, disable_kprobe(&a.kp), 0);
	kp_let_go_later(&f->stopped);
	KUNIT_EXPECT_EQ(test, register_kprobe(&b.kp), 0);
	KUNIT_EXPECT_TRUE(test, f->stopped.may_go);
	filler_end(f);
	unregister_kprobe(&b.kp);
	unregister_kprobe(&a.kp);
}

/* Another thread registers a probe, which takes long. */
static int registering_thread(void *data)
{
	return register_kprobe(data);
}

static int register_third(struct kprobe *b, struct kprobe *c)
{
	return register_kprobe(c);
}

static int enable_third(struct kprobe *b, struct kprobe *c)
{
	return enable_kprobe(c);
}

static int enable_second(struct kprobe *b, struct kprobe *c)
{
	return enable_kprobe(b);
}

static int switch_on(struct kprobe *b, struct kprobe *c)
{
	return kprobe_test_switch(true);
}

static const struct join {
	const char	*name;
	int		(*join)(struct kprobe *b, struct kprobe *c);
	u32		flags;
} joins[] = {
	{ "third probe is registered", register_third },
	{ "third probe is enabled", enable_third, KPROBE_FLAG_DISABLED },
	{ "second probe is enabled again", enable_second },
	{ "all are switched on again", switch_on },
};
KUNIT_ARRAY_PARAM_DESC(join, joins, name);

/*
 * A task is in the detour of the first, and the call that has registered the second is
 * still waiting for it. Whatever relies on the second then, such as a third at the same
 * address, waits as well.
 */
static void jump_is_waited_for_by_all(struct kunit *test)
{
	const struct join *j = test->param_value;
	struct kp_watch a = KP_WATCH(AT(fill));
	struct kp_watch b = KP_WATCH(AT(fill) + 3);
	struct kp_watch c = { .kp = { .addr = AT(fill) + 3, .pre_handler = kp_watch_pre,
				      .flags = j->flags } };
	struct filler *f = filler_begin(test, false);
	struct task_struct *task;
	unsigned long end;

	KUNIT_EXPECT_EQ(test, register_kprobe(&a.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, has_flag(AT(fill), KPROBE_FLAG_JUMP));
	filler_stop(test, f, in_copies);

	task = kp_bound_thread(test, registering_thread, &b.kp, cpumask_first(cpu_online_mask));
	wake_up_process(task);
	end = jiffies + 4 * HZ;
	while (first_byte(b.kp.addr) != INT3_INSN_OPCODE && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, first_byte(b.kp.addr), INT3_INSN_OPCODE);

	/* A user that wants no hits yet has nothing to wait for. */
	if (j->flags & KPROBE_FLAG_DISABLED)
		KUNIT_EXPECT_EQ(test, register_kprobe(&c.kp), 0);
	KUNIT_EXPECT_FALSE(test, f->stopped.may_go);
	kp_let_go_later(&f->stopped);
	KUNIT_EXPECT_EQ(test, j->join(&b.kp, &c.kp), 0);
	KUNIT_EXPECT_TRUE(test, f->stopped.may_go);

	filler_end(f);
	KUNIT_EXPECT_EQ(test, kthread_stop_put(task), 0);
	unregister_kprobe(&c.kp);
	unregister_kprobe(&b.kp);
	unregister_kprobe(&a.kp);
}

#ifdef CONFIG_UNWINDER_ORC
/*
 * Stack traces from registers whose ip follows a PUSH that has not been executed
 */

asm(".pushsection .text\n"
	".balign 16\n"
	KP_TEXT(kpj_push, "777: push %rbx; nop; nop; nop; nop; pop %rbx")
	".popsection\n"
	MARK(push));
void kpj_push(void);

static noinline __noclone notrace void kpj_call_push(void)
{
	kpj_push();
	barrier();
}

struct trace_probe {
	struct kprobe	kp;
	unsigned long	entries[4];
	unsigned int	nr;
	bool		trapped;
};

static int trace_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct trace_probe *t = container_of(p, struct trace_probe, kp);

	t->nr = stack_trace_save_regs(regs, t->entries, ARRAY_SIZE(t->entries), 0);
	/* The handler of a breakpoint runs in the context of an NMI. */
	t->trapped = in_nmi();
	return 0;
}

static void expect_caller(struct kunit *test, struct trace_probe *t, bool trapped)
{
	t->nr = 0;
	kpj_call_push();
	KUNIT_EXPECT_EQ(test, t->trapped, trapped);
	KUNIT_ASSERT_GE(test, t->nr, 2);
	KUNIT_EXPECT_TRUE(test, kp_is_within(t->entries[1], kpj_call_push));
}

static void jump_traces_before_push(struct kunit *test)
{
	struct trace_probe t = { .kp = { .addr = AT(push), .pre_handler = trace_pre } };
	struct kprobe post = { .addr = AT(push), .post_handler = kp_nothing_post };

	KUNIT_ASSERT_EQ(test, register_kprobe(&post), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&t.kp), 0);
	expect_caller(test, &t, true);
	unregister_kprobe(&post);
	wait_for_kprobe_optimizer();
	expect_caller(test, &t, false);
	unregister_kprobe(&t.kp);
}
#endif

/*
 * Other code that patches the text
 */

static int kpj_called = 5;

static void first_callee(void)
{
	kpj_called = 1;
}

static void second_callee(void)
{
	kpj_called = 2;
}

DEFINE_STATIC_CALL(kpj_call, first_callee);

/* The call follows the probed instruction immediately. */
static noinline __noclone notrace void kpj_static_call(void)
{
	asm volatile("777:	nop\n" MARK(static_call));
	static_call(kpj_call)();
	asm volatile("");
}

static void jump_over_static_call(struct kunit *test)
{
	struct kp_watch p = KP_WATCH(AT(static_call));

	if (!IS_ENABLED(CONFIG_HAVE_STATIC_CALL_INLINE))
		kunit_skip(test, "needs HAVE_STATIC_CALL_INLINE");

	KUNIT_ASSERT_EQ(test, first_byte(AT(static_call) + 1), CALL_INSN_OPCODE);
	KP_REGISTER_AND_WAIT(test, &p.kp);
	KUNIT_EXPECT_EQ(test, op_at(AT(static_call))->why, KPROBE_NOOPT_PATCHED);
	kpj_static_call();
	KUNIT_EXPECT_EQ(test, kpj_called, 1);
	static_call_update(kpj_call, second_callee);
	kpj_static_call();
	KUNIT_EXPECT_EQ(test, kpj_called, 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&p.pre), 2);
	static_call_update(kpj_call, first_callee);
	unregister_kprobe(&p.kp);
}

/* static_call_update() insists on the bytes that it expects. */
static void jump_not_inside_static_call(struct kunit *test)
{
	u8 *call = AT(static_call) + 1, text[CALL_INSN_SIZE];
	struct kp_watch p = {};
	int i, ret;

	if (!IS_ENABLED(CONFIG_HAVE_STATIC_CALL_INLINE))
		kunit_skip(test, "needs HAVE_STATIC_CALL_INLINE");

	KUNIT_ASSERT_EQ(test, first_byte(call), CALL_INSN_OPCODE);
	memcpy(text, call, sizeof(text));
	for (i = 0; i < CALL_INSN_SIZE; i++) {
		p.kp = (struct kprobe) { .addr = call + i, .pre_handler = kp_watch_pre };
		ret = register_kprobe(&p.kp);
		KUNIT_EXPECT_EQ_MSG(test, ret, -EINVAL, "byte %d", i);
		KUNIT_EXPECT_EQ(test, memcmp(call, text, sizeof(text)), 0);
		if (!ret)
			unregister_kprobe(&p.kp);
	}

	/* Padding after it belongs to no function. */
	p.kp = (struct kprobe) { .addr = call + CALL_INSN_SIZE, .pre_handler = kp_watch_pre };
	KUNIT_ASSERT_EQ(test, register_kprobe(&p.kp), 0);
	static_call_update(kpj_call, second_callee);
	kpj_static_call();
	KUNIT_EXPECT_EQ(test, kpj_called, 2);
	KP_UNWATCH(test, p, 1);
	static_call_update(kpj_call, first_callee);
	KUNIT_EXPECT_EQ(test, memcmp(call, text, sizeof(text)), 0);
}

/*
 * Many at once
 */

#define MANY		256
#define MANY_SIZE	8
/* More than are patched at a time. */
#define MANY_PIECES	600
#define PIECE_MAX	256

KP_FUNCTION(kpj_many, ".balign 16",
	    "777:\n"
	    ".rept " __stringify(MANY_PIECES) "\n"
	    ".rept " __stringify(MANY_SIZE) "\n	nop\n.endr\n"
	    ".endr", "");

/* At all of them; but some bytes in this kernel may look like a branch to one. */
static void expect_jumps(struct kunit *test, struct kprobe **kps)
{
	int i, refused = 0;

	for (i = 0; i < MANY; i++) {
		if (first_byte((u8 *)kps[i]->addr) == JMP32_INSN_OPCODE)
			continue;
		KUNIT_EXPECT_EQ(test, op_at((u8 *)kps[i]->addr)->why, KPROBE_NOOPT_TARGET);
		refused++;
	}
	KUNIT_EXPECT_LE(test, refused, MANY / 100);
}

static void jump_many_come_and_go(struct kunit *test)
{
	struct kp_watch *p = kp_calloc(test, MANY, sizeof(*p));
	struct kprobe **kps = kp_calloc(test, MANY, sizeof(*kps));
	u8 *text = kp_zalloc(test, MANY * MANY_SIZE);
	unsigned long start;
	int i, round;

	memcpy(text, AT(many), MANY * MANY_SIZE);

	for (round = 0; round < 3; round++) {
		for (i = 0; i < MANY; i++) {
			memset(&p[i], 0, sizeof(p[i]));
			p[i].kp.addr = AT(many) + i * MANY_SIZE;
			p[i].kp.pre_handler = kp_watch_pre;
			kps[i] = &p[i].kp;
		}
		start = jiffies;
		KUNIT_ASSERT_EQ(test, register_kprobes(kps, MANY), 0);
		/* All go while they are queued, while they wait, and as jumps. */
		if (round == 1)
			schedule_timeout_uninterruptible(1);
		if (round == 2) {
			wait_for_kprobe_optimizer();
			expect_jumps(test, kps);
		}
		unregister_kprobes(kps, MANY);
		KUNIT_EXPECT_EQ(test, memcmp(text, AT(many), MANY * MANY_SIZE), 0);
		wait_for_kprobe_optimizer();
		/*
		 * The kernel's own tests sleep for 5 seconds, and then check. Usually, one second
		 * is enough, but not on a busy host. A grace period for each would take longer.
		 */
		if (!IS_ENABLED(CONFIG_KCSAN))
			KUNIT_EXPECT_LT(test, jiffies - start, 20UL * HZ);
		KUNIT_EXPECT_EQ(test, memcmp(text, AT(many), MANY * MANY_SIZE), 0);
	}
}

/*
 * How much the thread of the test writes to the text before it lets others do so, at
 * most.
 */
struct text_watch {
	struct kprobe		poke, sync, unlock;
	struct task_struct	*task;
	unsigned int		pokes, syncs, held, max_held;
};

static int watch_poke(struct kprobe *p, struct pt_regs *regs)
{
	struct text_watch *w = container_of(p, struct text_watch, poke);

	if (current == w->task) {
		w->pokes++;
		w->held++;
	}
	return 0;
}

static int watch_sync(struct kprobe *p, struct pt_regs *regs)
{
	struct text_watch *w = container_of(p, struct text_watch, sync);

	w->syncs += current == w->task;
	return 0;
}

static int watch_unlock(struct kprobe *p, struct pt_regs *regs)
{
	struct text_watch *w = container_of(p, struct text_watch, unlock);

	if (current == w->task &&
	    regs_get_kernel_argument(regs, 0) == (unsigned long)&text_mutex) {
		w->max_held = max(w->max_held, w->held);
		w->held = 0;
	}
	return 0;
}

/* Others that change the text need not wait until all jumps are removed. */
static void jump_many_go_in_pieces(struct kunit *test)
{
	struct kp_watch *p = kp_calloc(test, MANY_PIECES, sizeof(*p));
	struct kprobe **kps = kp_calloc(test, MANY_PIECES, sizeof(*kps));
	struct text_watch w = {
		.poke	= { .symbol_name = "text_poke", .pre_handler = watch_poke },
		.sync	= {
			.symbol_name = __stringify(smp_text_poke_sync_each_cpu),
			.pre_handler = watch_sync,
		},
		.unlock	= { .symbol_name = "mutex_unlock", .pre_handler = watch_unlock },
	};
	struct kprobe *watches[] = { &w.poke, &w.sync, &w.unlock };
	unsigned int i, jumps = 0, left = 0, rounds;
	int ret;

	for (i = 0; i < MANY_PIECES; i++) {
		p[i].kp.addr = AT(many) + i * MANY_SIZE;
		p[i].kp.pre_handler = kp_watch_pre;
		kps[i] = &p[i].kp;
	}
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, MANY_PIECES), 0);
	ret = register_kprobes(watches, ARRAY_SIZE(watches));
	KUNIT_EXPECT_EQ(test, ret, 0);
	if (ret)
		goto out;
	wait_for_kprobe_optimizer();
	for (i = 0; i < MANY_PIECES; i++)
		jumps += first_byte((u8 *)kps[i]->addr) == JMP32_INSN_OPCODE;
	KUNIT_EXPECT_GT(test, jumps, 2 * PIECE_MAX);

	w.task = current;
	kprobe_test_allow_optimization(false);
	w.task = NULL;
	for (i = 0; i < MANY_PIECES; i++)
		left += first_byte((u8 *)kps[i]->addr) != INT3_INSN_OPCODE;
	KUNIT_EXPECT_EQ(test, left, 0);
	kunit_info(test, "%u writes, at most %u at a time, %u synchronizations\n",
		   w.pokes, w.max_held, w.syncs);
	/* Head and tail of each jump. */
	KUNIT_EXPECT_GE(test, w.pokes, 2 * jumps);
	KUNIT_EXPECT_LE(test, w.max_held, 2 * PIECE_MAX);
	/* The watches may have had a jump, too. */
	rounds = DIV_ROUND_UP(jumps + ARRAY_SIZE(watches), PIECE_MAX);
	KUNIT_EXPECT_GE(test, w.syncs, 2);
	KUNIT_EXPECT_LE(test, w.syncs, 2 * rounds);

	kprobe_test_allow_optimization(true);
	unregister_kprobes(watches, ARRAY_SIZE(watches));
out:
	unregister_kprobes(kps, MANY_PIECES);
	wait_for_kprobe_optimizer();
}

static bool load_left_out;

static noinline __noclone int faulting_pre(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long v = 1;

	asm volatile("	mov (%1), %0\n"
		     "kpj_after_fault:\n"
		     ANNOTATE_NOENDBR "\n"
		     : "+r" (v) : "r" (-PAGE_SIZE));
	load_left_out = v == 1;
	return kp_watch_pre(p, regs);
}

extern char kpj_after_fault[];

static int leave_load_out(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	regs->ip = (unsigned long)kpj_after_fault;
	return 1;
}

/* A handler whose fault is handled continues where its fault handler says. */
static void jump_fault_of_handler_is_settled(struct kunit *test)
{
	int (*volatile fn)(int v) = kpj_nops;
	struct kp_watch j = {
		.kp = {
			.addr = AT(nops),
			.pre_handler = faulting_pre,
			.fault_handler = leave_load_out,
		},
	};

	load_left_out = false;
	KUNIT_ASSERT_EQ(test, register_kprobe(&j.kp), 0);
	KUNIT_EXPECT_EQ(test, fn(1), 4);
	KUNIT_EXPECT_TRUE(test, load_left_out);
	KUNIT_EXPECT_EQ(test, atomic_read(&j.pre), 1);
	/* No hit is left open. */
	KUNIT_EXPECT_EQ(test, fn(2), 5);
	KUNIT_EXPECT_EQ(test, atomic_read(&j.pre), 2);
	KUNIT_EXPECT_EQ(test, j.kp.nmissed, 0);
	unregister_kprobe(&j.kp);
}

static long loaded;

static int load_in_handler(struct kprobe *p, struct pt_regs *regs)
{
	long (*volatile fn)(long v, unsigned long from) = kpj_bad_load;

	loaded = fn(17, -PAGE_SIZE);
	return kp_watch_pre(p, regs);
}

/*
 * The step of a probe that is hit inside a handler faults. That hit ends, the outer
 * one continues.
 */
static void jump_fault_of_nested_step(struct kunit *test)
{
	int (*volatile fn)(int v) = kpj_nops;
	struct kp_watch outer = { .kp = { .addr = AT(nops), .pre_handler = load_in_handler } };
	struct kp_watch inner = KP_WATCH(AT(bad_load));
	int i;

	KUNIT_ASSERT_EQ(test, register_kprobe(&inner.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&outer.kp), 0);
	for (i = 1; i <= 3; i++) {
		loaded = 0;
		KUNIT_EXPECT_EQ(test, fn(i), i + 3);
		KUNIT_EXPECT_EQ(test, loaded, 17);
		KUNIT_EXPECT_EQ(test, atomic_read(&outer.pre), i);
		KUNIT_EXPECT_EQ(test, atomic_read(&inner.pre), 0);
		KUNIT_EXPECT_EQ(test, inner.kp.nmissed, i);
	}
	unregister_kprobe(&outer.kp);
	/* No hit is left open. */
	KUNIT_EXPECT_EQ(test, kpj_bad_load(18, -PAGE_SIZE), 18);
	KP_UNWATCH(test, inner, 1);
}

static struct kunit_case jump_cases[] = {
	KUNIT_CASE_PARAM(jump_waits_for_task_inside, stopped_by_gen_params),
	KUNIT_CASE(jump_second_probe_in_range),
	KUNIT_CASE(jump_second_probe_while_waiting),
	KUNIT_CASE_PARAM(jump_second_probe_after_the_first, stopped_by_gen_params),
	KUNIT_CASE_PARAM(jump_is_waited_for_by_all, join_gen_params),
#ifdef CONFIG_UNWINDER_ORC
	KUNIT_CASE(jump_traces_before_push),
#endif
	KUNIT_CASE(jump_over_static_call),
	KUNIT_CASE(jump_not_inside_static_call),
	KUNIT_CASE(jump_fault_of_handler_is_settled),
	KUNIT_CASE(jump_fault_of_nested_step),
	KUNIT_CASE(jump_many_come_and_go),
	KUNIT_CASE(jump_many_go_in_pieces),
	{}
};

KP_SUITE(jump_cases, .name = "kprobes_x86_jump");
