// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits through jumps: what handlers that are called from a detour see and may change, jumps
 * that come and go, return probes, and tasks that are stopped in a detour. What it takes to
 * copy an instruction is up to the architectures' own suites.
 */

#include "suite.h"

#include <linux/hrtimer.h>

#include "optimizer_helpers.h"
#include "stopped.h"
#include "targets.h"

static void expect_jump(struct kunit *test, const void *addr, bool jump)
{
	KUNIT_EXPECT_EQ(test, kp_target_has_jump(addr), jump);
	KUNIT_EXPECT_EQ(test, kp_target_has_breakpoint(addr), !jump);
}

static unsigned long call_add(unsigned long arg)
{
	return kp_target_run(&kp_target_add, arg);
}

static unsigned long call_callee(unsigned long arg)
{
	return kp_target_run(&kp_target_callee, arg);
}

/*
 * What handlers see and change is the same for breakpoints and jumps
 */

static const struct how {
	const char	*name;
	bool		jump;
} hows[] = {
	{ "by breakpoint", false },
	{ "by jump", true },
};
KUNIT_ARRAY_PARAM_DESC(how, hows, name);

static void optimize(struct kunit *test, const struct how *how, const void *addr)
{
	kprobe_test_allow_optimization(how->jump);
	wait_for_kprobe_optimizer();
	expect_jump(test, addr, how->jump);
}

static int add_1000(struct kprobe *p, struct pt_regs *regs)
{
	kp_target_set_value(regs, kp_target_value(regs) + 1000);
	return 0;
}

static void handler_changes_the_argument(struct kunit *test)
{
	struct kprobe *p = KP_PROBE(test, .addr = kp_target_addr(&kp_target_add),
				    .pre_handler = add_1000);

	optimize(test, test->param_value, p->addr);
	KUNIT_EXPECT_EQ(test, call_add(5), 1008);
	unregister_kprobe(p);
	KUNIT_EXPECT_EQ(test, call_add(5), 8);
}

static int go_to_callee(struct kprobe *p, struct pt_regs *regs)
{
	kp_target_set_value(regs, 77);
	kp_target_go_to(regs, &kp_target_callee);
	return 1;
}

/* As error injection does. */
static int return_55(struct kprobe *p, struct pt_regs *regs)
{
	kp_target_set_value(regs, 55);
	kp_target_go_back(regs);
	return 1;
}

static void handler_redirects(struct kunit *test)
{
	static const struct {
		kprobe_pre_handler_t	pre;
		unsigned long		result;
	} ways[] = {
		{ go_to_callee, 177 },
		{ return_55, 55 },
	};
	void *addr = kp_target_addr(&kp_target_add);
	struct kp_watch *second = KP_WATCHED(test, false, .addr = addr);
	struct kprobe *p;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		p = KP_PROBE(test, .addr = addr, .pre_handler = ways[i].pre);
		optimize(test, test->param_value, addr);
		KUNIT_EXPECT_EQ(test, call_add(5), ways[i].result);
		/* The other probe was called first, and ended the walk. */
		KUNIT_EXPECT_EQ(test, atomic_read(&second->pre), 0);
		KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
		unregister_kprobe(p);
	}
	KUNIT_EXPECT_EQ(test, call_add(5), 8);
	KUNIT_EXPECT_EQ(test, atomic_read(&second->pre), 1);
}

/* What a handler learns about its context. */
struct insider {
	struct kprobe	kp;
	struct kprobe	*running;
	void		*addr;
	unsigned long	ip, value;
	unsigned long	status;
	unsigned int	hits;
	bool		preemptible;
	bool		in_nmi;
};

static int look_and_write_ip(struct kprobe *p, struct pt_regs *regs)
{
	struct insider *s = container_of(p, struct insider, kp);

	s->hits++;
	s->ip = instruction_pointer(regs);
	s->value = kp_target_value(regs);
	s->preemptible = preemptible();
	s->in_nmi = in_nmi();
	s->running = kprobe_running();
	s->addr = s->running ? s->running->addr : NULL;
	s->status = get_kprobe_ctlblk()->kprobe_status;
	kp_target_go_to(regs, &kp_target_callee);
	return 0;
}

static void handler_sees_its_probe_and_cannot_move_ip(struct kunit *test)
{
	const struct how *how = test->param_value;
	void *addr = kp_target_addr(&kp_target_add);
	struct insider *s = kp_calloc(test, 2, sizeof(*s));
	unsigned int i;

	for (i = 0; i < 2; i++) {
		s[i].kp.addr = addr;
		s[i].kp.pre_handler = look_and_write_ip;
		KP_ADD(test, &s[i].kp);
	}
	optimize(test, how, addr);
	KUNIT_EXPECT_EQ(test, call_add(5), 8);

	/* The newest one was called first. */
	KUNIT_EXPECT_EQ(test, s[1].ip, (unsigned long)addr + KPROBE_FTRACE_IP);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, s[i].hits, 1);
		KUNIT_EXPECT_EQ(test, s[i].value, 5);
		KUNIT_EXPECT_FALSE(test, s[i].preemptible);
		if (how->jump)
			KUNIT_EXPECT_FALSE(test, s[i].in_nmi);
		KUNIT_EXPECT_PTR_EQ(test, s[i].running, get_kprobe(addr));
		KUNIT_EXPECT_PTR_EQ(test, s[i].addr, addr);
		KUNIT_EXPECT_EQ(test, s[i].status, KPROBE_HIT_ACTIVE);
	}
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
}

/*
 * Hits inside of hits
 */

static int call_add_again(struct kprobe *p, struct pt_regs *regs)
{
	kp_target_set_value(regs, call_add(1));
	return 0;
}

static void nested_hit_is_missed(struct kunit *test)
{
	struct kprobe *p = KP_PROBE(test, .addr = kp_target_addr(&kp_target_add),
				    .pre_handler = call_add_again);

	optimize(test, test->param_value, p->addr);
	KUNIT_EXPECT_EQ(test, call_add(5), 7);
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
	KUNIT_EXPECT_EQ(test, p->nmissed, 1);
}

static unsigned long loaded, inner_result;

static int call_load(struct kprobe *p, struct pt_regs *regs)
{
	inner_result = kp_target_run(&kp_target_load, (unsigned long)&loaded);
	return kp_watch_pre(p, regs);
}

static const struct nesting {
	const char	*name;
	bool		outer, inner;	/* by jump */
} nestings[] = {
	{ "breakpoint in a breakpoint", false, false },
	{ "jump in a breakpoint", false, true },
	{ "jump in a jump", true, true },
};
KUNIT_ARRAY_PARAM_DESC(nesting, nestings, name);

static void hits_of_another_probe_are_missed(struct kunit *test)
{
	const struct nesting *n = test->param_value;
	struct kp_watch *outer, *inner;

	loaded = 0x1234567;
	inner_result = 0;
	kprobe_test_allow_optimization(n->inner);
	outer = kp_add_watch(test, &(const struct kprobe) {
		.addr = kp_target_addr(&kp_target_add), .pre_handler = call_load,
	});
	inner = KP_WATCHED(test, false, .addr = kp_target_addr(&kp_target_load));
	if (!n->outer)
		KP_PROBE(test, .addr = outer->kp.addr, .post_handler = kp_nothing_post);
	wait_for_kprobe_optimizer();
	expect_jump(test, outer->kp.addr, n->outer);
	expect_jump(test, inner->kp.addr, n->inner);

	KUNIT_EXPECT_EQ(test, call_add(1), 4);
	KUNIT_EXPECT_EQ(test, inner_result, loaded);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner->pre), 0);
	KUNIT_EXPECT_EQ(test, kp_target_run(&kp_target_load, (unsigned long)&loaded), loaded);
	KUNIT_EXPECT_EQ(test, atomic_read(&outer->pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner->pre), 1);
	KUNIT_EXPECT_EQ(test, inner->kp.nmissed, 1);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0);
}

/*
 * Jumps that come and go
 */

/* Through breakpoint or jump, and while one replaces the other. */
static void redirection_never_flips(struct kunit *test)
{
	void *addr = kp_target_addr(&kp_target_add);
	struct kprobe p = { .addr = addr, .pre_handler = go_to_callee };
	struct kprobe post = { .addr = addr, .post_handler = kp_nothing_post };
	unsigned int wrong = 0, turns = 0, n = 0, want = 10000;
	/* With a sanitizer on a loaded machine, a breakpoint takes a millisecond. */
	unsigned long end = jiffies + 120 * HZ;
	bool jump = false, posted = false;

	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	do {
		if (kp_target_has_jump(addr) != jump) {
			jump = !jump;
			turns++;
			n = 0;
		}
		wrong += call_add(5) != 177;
		n++;

		/* The jump has to become a breakpoint, and a jump again. */
		if (turns == 1 && n == want)
			posted = !register_kprobe(&post);
		if (turns == 2 && n == want) {
			unregister_kprobe(&post);
			posted = false;
		}
		/* The optimizer waits for a quiescent state of all tasks. */
		cond_resched_tasks_rcu_qs();
	} while ((turns < 3 || n < want) && time_before(jiffies, end));

	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, turns, 3);
	KUNIT_EXPECT_GE(test, n, want);
	if (posted)
		unregister_kprobe(&post);
	unregister_kprobe(&p);
}

/*
 * Return probes
 */

#ifdef CONFIG_KRETPROBES
/* A return probe that changes the argument at the entry, and the value at the return. */
struct changer {
	struct kretprobe	rp;
	unsigned long		factor, add;
};

static int change_value(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	const struct changer *c = container_of(ri->rp, struct changer, rp);

	kp_target_set_value(regs, kp_target_value(regs) * c->factor + c->add);
	return 0;
}

static void init_changer(struct changer *c, int maxactive, unsigned long factor,
			 unsigned long add)
{
	*c = (struct changer) {
		.rp = {
			.kp.symbol_name	= kp_target_callee.symbol,
			.entry_handler	= change_value,
			.handler	= change_value,
			.maxactive	= maxactive,
		},
		.factor	= factor,
		.add	= add,
	};
}

static void return_probes_change_argument_and_value(struct kunit *test)
{
	const struct how *how = test->param_value;
	static struct changer older, newer;
	int maxactive;

	kprobe_test_allow_optimization(how->jump);
	for (maxactive = 0; maxactive <= 40; maxactive += 40) {
		init_changer(&older, maxactive, 3, 1);
		init_changer(&newer, maxactive, 2, 7);
		KUNIT_ASSERT_EQ(test, register_kretprobe(&older.rp), 0);
		KUNIT_EXPECT_EQ(test, register_kretprobe(&newer.rp), 0);
		wait_for_kprobe_optimizer();
		if (kp_target_optimizes_entries())
			expect_jump(test, older.rp.kp.addr, how->jump);

		/*
		 * Entered newest first: 5, 17, 52, so the function returns 152. Left oldest
		 * first: 457, 921.
		 */
		KUNIT_EXPECT_EQ(test, kp_target_run(&kp_target_callee, 5), 921);
		unregister_kretprobe(&newer.rp);
		/* 16, 116, 349 */
		KUNIT_EXPECT_EQ(test, kp_target_run(&kp_target_callee, 5), 349);
		unregister_kretprobe(&older.rp);
		KUNIT_EXPECT_EQ(test, kp_target_run(&kp_target_callee, 5), 105);
		KUNIT_EXPECT_EQ(test, older.rp.nmissed + newer.rp.nmissed, 0);
	}
}

/**
 * struct returns - a kretprobe that counts returns
 * @rp: the kretprobe
 * @nr: returns so far
 * @entries: calls of count_entry()
 * @value: the last returned value
 */
struct returns {
	struct kretprobe	rp;
	unsigned int		nr, entries;
	unsigned long		value;
};

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct returns *r = container_of(get_kretprobe(ri), struct returns, rp);

	r->nr++;
	r->value = kp_target_value(regs);
	return 0;
}

static int count_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct returns *r = container_of(get_kretprobe(ri), struct returns, rp);

	r->entries += kp_target_value(regs) == 1;
	return 0;
}

/* The detour is known to be one for a return probe alone, or not to be one. */
static void follow(struct kunit *test, struct returns *r, kretprobe_handler_t entry)
{
	*r = (struct returns) {
		.rp = {
			.kp.symbol_name	= kp_target_callee.symbol,
			.entry_handler	= entry,
			.handler	= count_return,
		},
	};
	KP_SKIP_IF(test, !kp_target_optimizes_entries(), "no jump replaces a landing pad");

	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	wait_for_kprobe_optimizer();
	expect_jump(test, r->rp.kp.addr, true);
	KUNIT_EXPECT_EQ(test, kp_target_is_return_detour(kp_target_detour(r->rp.kp.addr)),
			!entry && kp_target_has_return_detours());
}

/* Add a probe that needs registers which may not have been saved so far. */
static void join(struct kunit *test, const struct returns *r, struct kp_watch *w,
		 kprobe_pre_handler_t pre)
{
	*w = (struct kp_watch) { .kp = { .addr = r->rp.kp.addr, .pre_handler = pre } };
	KUNIT_EXPECT_EQ(test, register_kprobe(&w->kp), 0);
	wait_for_kprobe_optimizer();
	expect_jump(test, r->rp.kp.addr, true);
}

static const struct company {
	const char		*name;
	kretprobe_handler_t	entry;
	bool			join;
} companies[] = {
	{ "alone" },
	{ "with an entry handler", count_entry },
	{ "with a kprobe", NULL, true },
	{ "with both", count_entry, true },
};
KUNIT_ARRAY_PARAM_DESC(company, companies, name);

static void return_probe_in_company(struct kunit *test)
{
	const struct company *c = test->param_value;
	struct kp_watch w = {};
	struct returns r;
	unsigned int i;

	follow(test, &r, c->entry);
	if (c->join)
		join(test, &r, &w, kp_watch_pre);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, call_callee(1), 101);
		KUNIT_EXPECT_EQ(test, r.nr, i);
		KUNIT_EXPECT_EQ(test, r.value, 101);
	}
	KUNIT_EXPECT_EQ(test, r.entries, c->entry ? 10 : 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), c->join ? 10 : 0);

	/* A user that comes later, and goes. */
	if (!c->join) {
		join(test, &r, &w, kp_watch_pre);
		KUNIT_EXPECT_EQ(test, call_callee(1), 101);
		KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
		KUNIT_EXPECT_EQ(test, r.nr, 11);
	}
	r.nr = 0;
	unregister_kprobe(&w.kp);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, call_callee(1), 101);
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	unregister_kretprobe(&r.rp);
	KUNIT_EXPECT_EQ(test, call_callee(1), 101);
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	KUNIT_EXPECT_EQ(test, r.rp.nmissed, 0);
}

/* The address of the instruction does not count. */
static int add_1000_and_write_ip(struct kprobe *p, struct pt_regs *regs)
{
	add_1000(p, regs);
	kp_target_go_to(regs, &kp_target_add);
	return 0;
}

/* In the detour that was made for the return probe. */
static void return_detour_serves_kprobes(struct kunit *test)
{
	struct kp_watch w;
	struct returns r;

	follow(test, &r, NULL);
	join(test, &r, &w, add_1000_and_write_ip);
	KUNIT_EXPECT_EQ(test, call_callee(1), 1101);
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	KUNIT_EXPECT_EQ(test, r.value, 1101);
	unregister_kprobe(&w.kp);

	/* It is called first, and ends the walk. */
	join(test, &r, &w, return_55);
	KUNIT_EXPECT_EQ(test, call_callee(1), 55);
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, call_callee(1), 101);
	KUNIT_EXPECT_EQ(test, r.nr, 2);

	/* The return probe leaves before the kprobe does. */
	join(test, &r, &w, add_1000);
	unregister_kretprobe(&r.rp);
	wait_for_kprobe_optimizer();
	expect_jump(test, w.kp.addr, true);
	KUNIT_EXPECT_EQ(test, call_callee(1), 1101);
	KUNIT_EXPECT_EQ(test, r.nr, 2);
	unregister_kprobe(&w.kp);
}

static int call_callee_again(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	call_callee(1);
	return count_return(ri, regs);
}

static void return_in_handler_is_missed(struct kunit *test)
{
	struct returns r;

	follow(test, &r, NULL);
	r.rp.handler = call_callee_again;
	KUNIT_EXPECT_EQ(test, call_callee(1), 101);
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	KUNIT_EXPECT_EQ(test, r.rp.kp.nmissed, 1);
	unregister_kretprobe(&r.rp);
}

static int only_if_1(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return kp_target_value(regs) != 1;
}

static void return_detour_asks_entry_handler(struct kunit *test)
{
	struct kp_watch w;
	struct returns r;

	follow(test, &r, only_if_1);
	KUNIT_EXPECT_EQ(test, call_callee(1), 101);
	KUNIT_EXPECT_EQ(test, call_callee(2), 102);
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	unregister_kretprobe(&r.rp);

	/* With an entry handler that is set after the detour was made. */
	follow(test, &r, NULL);
	r.rp.entry_handler = only_if_1;
	join(test, &r, &w, add_1000);
	KUNIT_EXPECT_EQ(test, call_callee(1), 1101);
	KUNIT_EXPECT_EQ(test, r.nr, 0);
	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, call_callee(1), 101);
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	unregister_kretprobe(&r.rp);
}
#endif /* CONFIG_KRETPROBES */

/*
 * Tasks that are stopped in a detour: they loop, and nearly all that they execute is there. A
 * timer looks for them.
 */

static struct spinner {
	struct kp_stopped	stopped;
	struct hrtimer		timer;
	unsigned long		result;
	bool			mistaken;
	int			cpu;
} spinner;

#define CATCH_NS	(50 * NSEC_PER_USEC)

static int spinning_thread(void *data)
{
	WRITE_ONCE(spinner.result, kp_target_run(&kp_target_spin, 1));
	/* As far as registers tell that find the data of this CPU. */
	spinner.mistaken = current != spinner.stopped.task;
	spinner.cpu = raw_smp_processor_id();
	return 0;
}

static enum hrtimer_restart catch_it(struct hrtimer *timer)
{
	if (kp_stopped_catch(&spinner.stopped, is_kprobe_optinsn_slot))
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, CATCH_NS);
	return HRTIMER_RESTART;
}

static void start_timer(void *data)
{
	hrtimer_start(&spinner.timer, CATCH_NS, HRTIMER_MODE_REL_PINNED_HARD);
}

/*
 * The thread would never be in a detour. Bytes elsewhere may look like a branch to one that the
 * jump replaces: that depends on where the linker has put the function.
 */
static void end_without_jump(struct kunit *test, struct kp_watch *w, int error)
{
	u8 why = KPROBE_NOOPT_NONE;

	if (!error) {
		why = why_of(&w->kp);
		unregister_kprobe(&w->kp);
	}
	WRITE_ONCE(*kp_target_flag, 1);
	kp_stopped_end(&spinner.stopped);
	if (why == KPROBE_NOOPT_TARGET)
		kunit_skip(test, "something looks like a branch to a replaced byte");
	KUNIT_FAIL_AND_ABORT(test, "no jump: error %d, reason %u", error, why);
}

static void stop_in_detour(struct kunit *test, struct kp_watch *w, bool preempt)
{
	int ret;

	kp_stopped_begin(test, &spinner.stopped, spinning_thread, preempt);
	hrtimer_setup(&spinner.timer, catch_it, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	spinner.result = 0;
	WRITE_ONCE(*kp_target_flag, 0);

	*w = (struct kp_watch)KP_WATCH(kp_target_addr(&kp_target_spin));
	ret = register_kprobe(&w->kp);
	wait_for_kprobe_optimizer();
	if (ret || !kp_target_has_jump(w->kp.addr))
		end_without_jump(test, w, ret);

	wake_up_process(spinner.stopped.task);
	smp_call_function_single(spinner.stopped.cpu, start_timer, NULL, true);
	kp_stopped_wait(test, &spinner.stopped);
	hrtimer_cancel(&spinner.timer);
}

static void let_go(struct kunit *test)
{
	WRITE_ONCE(*kp_target_flag, 1);
	kp_stopped_end(&spinner.stopped);
	KUNIT_EXPECT_EQ(test, spinner.result, 2);
	KUNIT_EXPECT_FALSE(test, spinner.mistaken);
}

static void stopped_when_jumps_are_switched_off(struct kunit *test)
{
	u8 copy[MAX_OPTINSN_SIZE * sizeof(kprobe_opcode_t)] = {};
	struct kp_watch w;
	void *detour;

	stop_in_detour(test, &w, false);
	detour = kp_target_detour(w.kp.addr) ?: copy;
	memcpy(copy, detour, sizeof(copy));

	kprobe_test_allow_optimization(false);
	expect_jump(test, w.kp.addr, false);
	kp_give_it_time();
	KUNIT_EXPECT_MEMEQ(test, detour, copy, sizeof(copy));

	let_go(test);
	/* It may have been stopped on its first way to the handler. */
	KUNIT_EXPECT_GT(test, atomic_read(&w.pre), 0);
	kprobe_test_allow_optimization(true);
	unregister_kprobe(&w.kp);
}

static void stopped_when_its_probe_goes(struct kunit *test)
{
	struct kp_watch other = KP_WATCH(kp_target_addr(&kp_target_add));
	struct kp_watch w;

	stop_in_detour(test, &w, true);
	WRITE_ONCE(*kp_target_flag, 1);
	kp_stopped_when_probe_goes(test, &spinner.stopped, &w.kp, &other.kp,
				   kp_target_detour(w.kp.addr));
	let_go(test);
}

/* It continues on another CPU, and must use the data of that CPU. */
static void moved_to_another_cpu(struct kunit *test)
{
	int to = cpumask_first(cpu_online_mask);
	struct kp_watch w;
	unsigned long end;

	stop_in_detour(test, &w, true);
	end = jiffies + 4 * HZ;
	/* Before it moves to the CPU of the test, which it would not leave otherwise. */
	WRITE_ONCE(*kp_target_flag, 1);
	KUNIT_EXPECT_EQ(test, set_cpus_allowed_ptr(spinner.stopped.task, cpumask_of(to)), 0);
	/* There, while the hog still has the other one. */
	while (!READ_ONCE(spinner.result) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_FALSE(test, spinner.stopped.may_go);
	let_go(test);
	KUNIT_EXPECT_EQ(test, spinner.cpu, to);
	unregister_kprobe(&w.kp);
}

static struct kunit_case detour_cases[] = {
	KUNIT_CASE_PARAM(handler_changes_the_argument, how_gen_params),
	KUNIT_CASE_PARAM(handler_redirects, how_gen_params),
	KUNIT_CASE_PARAM(handler_sees_its_probe_and_cannot_move_ip, how_gen_params),
	KUNIT_CASE_PARAM(nested_hit_is_missed, how_gen_params),
	KUNIT_CASE_PARAM(hits_of_another_probe_are_missed, nesting_gen_params),
	KUNIT_CASE(redirection_never_flips),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_PARAM(return_probes_change_argument_and_value, how_gen_params),
	KUNIT_CASE_PARAM(return_probe_in_company, company_gen_params),
	KUNIT_CASE(return_detour_serves_kprobes),
	KUNIT_CASE(return_in_handler_is_missed),
	KUNIT_CASE(return_detour_asks_entry_handler),
#endif
	KUNIT_CASE(stopped_when_jumps_are_switched_off),
	KUNIT_CASE(stopped_when_its_probe_goes),
	KUNIT_CASE(moved_to_another_cpu),
	{}
};

KP_SUITE(detour_cases, .name = "kprobes_detour", .exit = kp_allow_jumps);
