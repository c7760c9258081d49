// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hops: where a probe has no room for a long jump, a short one goes to padding that
 * holds the long one. How padding is found, shared, returned, and synchronized.
 */

#include "suite.h"

#include "detours.h"

/* Registers a probe that gets a hop, and returns where this is. */
static unsigned long register_with_hop(struct kunit *test, struct kp_watch *w, void *addr)
{
	skip_without_padding(test);
	*w = (struct kp_watch)KP_WATCH(addr);
	KP_REGISTER_AND_WAIT(test, &w->kp);
	KUNIT_ASSERT_TRUE(test, is_live(addr));
	KUNIT_ASSERT_NE(test, op_at(addr)->optinsn.hop, 0);
	return op_at(addr)->optinsn.hop;
}

static void hop_is_taken_back(struct kunit *test)
{
	struct kp_watch w;
	struct kprobe post = { .addr = AT(hop_target_2), .post_handler = kp_nothing_post };
	struct kprobe in_padding = { .pre_handler = kp_watch_pre };
	unsigned long want = kp_run(kpo_hop_target_2, 5), hop;
	u8 padding[JMP32_INSN_SIZE], *text;

	hop = register_with_hop(test, &w, AT(hop_target_2));
	text = (u8 *)hop;
	KUNIT_EXPECT_EQ(test, *text, JMP32_INSN_OPCODE);
	KUNIT_EXPECT_PTR_EQ(test, kprobe_hop_owner(hop), op_at(w.kp.addr));

	/* Readers of the original text still see padding. */
	scoped_guard(kprobe_test)
		KUNIT_EXPECT_EQ(test, kprobe_read_text(hop, padding, sizeof(padding)), 0);
	KUNIT_EXPECT_EQ(test, padding[0] == 0x90 || padding[0] == INT3_INSN_OPCODE, true);

	/* The hop exists as long as the detour. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&post), 0);
	KUNIT_EXPECT_EQ(test, first_byte(w.kp.addr), INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, *text, JMP32_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, kp_run(kpo_hop_target_2, 5), want);
	unregister_and_wait(&post);
	KUNIT_EXPECT_EQ(test, first_byte(w.kp.addr), JMP8_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, kp_run(kpo_hop_target_2, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);

	unregister_and_wait(&w.kp);
	KUNIT_EXPECT_EQ(test, memcmp(text, padding, sizeof(padding)), 0);
	KUNIT_EXPECT_PTR_EQ(test, kprobe_hop_owner(hop), NULL);
	in_padding = (struct kprobe) { .addr = text, .pre_handler = kp_watch_pre };
	KUNIT_EXPECT_EQ(test, register_kprobe(&in_padding), 0);
	unregister_kprobe(&in_padding);
}

/* Some bytes in this kernel may look like a branch into one of them. */
static bool has_hop_alone(void *addr)
{
	struct kp_watch w = KP_WATCH(addr);
	bool hop;

	if (register_kprobe(&w.kp))
		return false;
	wait_for_kprobe_optimizer();
	hop = is_live(addr) && op_at(addr)->optinsn.hop;
	unregister_and_wait(&w.kp);
	return hop;
}

static void hops_are_not_shared(struct kunit *test)
{
	static const struct kp_place places[] = {
		PLACE(hop_target_2), PLACE(hop_target_4), PLACE(hop_shared), PLACE(hop_shares),
	};
	struct kp_watch w[ARRAY_SIZE(places)] = {};
	struct kprobe *kps[ARRAY_SIZE(places)];
	unsigned long hops[ARRAY_SIZE(places)], want[ARRAY_SIZE(places)];
	int i, k;

	skip_without_padding(test);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		want[i] = kp_run(places[i].fn, 5);
		w[i].kp.addr = kp_at(&places[i]);
		w[i].kp.pre_handler = kp_watch_pre;
		kps[i] = &w[i].kp;
		if (!has_hop_alone(w[i].kp.addr))
			kunit_skip(test, "place %d has no hop even on its own", i);
	}

	KUNIT_ASSERT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), 0);
	wait_for_kprobe_optimizer();
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		KUNIT_EXPECT_TRUE_MSG(test, is_live(kps[i]->addr), "%d: why %u", i,
				      op_at(kps[i]->addr)->why);
		hops[i] = op_at(kps[i]->addr)->optinsn.hop;
		KUNIT_EXPECT_NE(test, hops[i], 0);
		for (k = 0; k < i; k++)
			KUNIT_EXPECT_GE(test, abs((long)(hops[i] - hops[k])), JMP32_INSN_SIZE);
	}
	if (test->status != KUNIT_FAILURE) {
		for (i = 0; i < ARRAY_SIZE(places); i++) {
			KUNIT_EXPECT_EQ(test, kp_run(places[i].fn, 5), want[i]);
			KUNIT_EXPECT_EQ(test, atomic_read(&w[i].pre), 1);
		}
	}
	unregister_kprobes(kps, ARRAY_SIZE(kps));
	wait_for_kprobe_optimizer();
}

/* To a probe that was registered before. */
static void hop_avoids_registered_probe(struct kunit *test)
{
	struct kp_watch last = { .kp = { .pre_handler = kp_watch_pre } };
	unsigned long hop;
	struct kp_watch w;

	hop = register_with_hop(test, &w, AT(hop_target_2));
	unregister_and_wait(&w.kp);

	last.kp.addr = (u8 *)hop + 1;
	KUNIT_ASSERT_EQ(test, register_kprobe(&last.kp), 0);
	w = (struct kp_watch)KP_WATCH(AT(hop_target_2));
	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_EXPECT_TRUE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_GE(test, abs((long)(op_at(w.kp.addr)->optinsn.hop -
					 (unsigned long)last.kp.addr)), JMP32_INSN_SIZE);
	unregister_kprobe(&last.kp);
	unregister_and_wait(&w.kp);
}

/* A hop must not overwrite the jump that targets it. */
static void hop_avoids_its_own_probe(struct kunit *test)
{
	struct kp_watch w = { .kp = { .pre_handler = kp_watch_pre } };
	unsigned long start = (unsigned long)kpo_hop_own, size, into, i;
	u8 padding[8];

	skip_without_padding(test);
	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &into));
	start += size - sizeof(padding);
	memcpy(padding, (void *)start, sizeof(padding));
	KUNIT_ASSERT_EQ(test, padding[0], 0x90);

	/* Too near to the end for a jump, and to the start for a hop before it. */
	w.kp.addr = (u8 *)start + 4;
	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_EXPECT_FALSE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why, KPROBE_NOOPT_END);
	for (i = 0; i < sizeof(padding); i++)
		KUNIT_EXPECT_EQ(test, first_byte((u8 *)start + i),
				i == 4 ? INT3_INSN_OPCODE : padding[i]);
	unregister_and_wait(&w.kp);
	KUNIT_EXPECT_EQ(test, memcmp((void *)start, padding, sizeof(padding)), 0);
}

/* How often a task waits for others; with @hop, only while that is in the text. */
struct wait_watch {
	struct kprobe		kp;
	struct task_struct	*by;
	u8			*hop;
	unsigned int		nr;
};

static int wait_watch_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct wait_watch *w = container_of(p, struct wait_watch, kp);

	w->nr += current == w->by && (!w->hop || READ_ONCE(*w->hop) == JMP32_INSN_OPCODE);
	return 0;
}

/* To a probe that is registered later, which sees the text without the hop. */
static void hop_moves_out_for_new_probe(struct kunit *test)
{
	struct kp_watch w;
	/* Its post handler prevents a jump, which would be longer. */
	struct kp_watch in_padding = {
		.kp = { .pre_handler = kp_watch_pre, .post_handler = kp_nothing_post },
	};
	struct wait_watch wait = {
		.kp = { .symbol_name = KP_WAITS_FOR_TASKS, .pre_handler = wait_watch_pre },
	};
	unsigned long want = kp_run(kpo_hop_target_2, 5), hop, other;
	u8 padding[JMP32_INSN_SIZE];
	int i, ret;

	hop = register_with_hop(test, &w, AT(hop_target_2));
	scoped_guard(kprobe_test)
		KUNIT_EXPECT_EQ(test, kprobe_read_text(hop, padding, sizeof(padding)), 0);

	wait.by = current;
	wait.hop = (u8 *)hop;
	KUNIT_EXPECT_EQ(test, register_kprobe(&wait.kp), 0);
	in_padding.kp.addr = (u8 *)hop + 1;
	ret = register_kprobe(&in_padding.kp);
	unregister_kprobe(&wait.kp);
	KUNIT_EXPECT_EQ(test, ret, 0);
	/* A task may be in the hop. */
	KUNIT_EXPECT_GT(test, wait.nr, 0);
	if (ret) {
		unregister_kprobe(&w.kp);
		return;
	}

	/* The bytes of the hop are gone, down to the last one. */
	KUNIT_EXPECT_EQ(test, get_kprobe(in_padding.kp.addr)->opcode, padding[1]);
	for (i = 0; i < sizeof(padding); i++)
		KUNIT_EXPECT_EQ(test, first_byte((u8 *)hop + i),
				i == 1 ? INT3_INSN_OPCODE : padding[i]);
	KUNIT_EXPECT_EQ(test, kp_run(kpo_hop_target_2, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);

	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(w.kp.addr));
	other = op_at(w.kp.addr)->optinsn.hop;
	KUNIT_EXPECT_NE(test, other, 0);
	KUNIT_EXPECT_GE(test, abs((long)(other - (unsigned long)in_padding.kp.addr)),
			JMP32_INSN_SIZE);
	KUNIT_EXPECT_EQ(test, kp_run(kpo_hop_target_2, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	KP_UNWATCH(test, in_padding, 0);
	unregister_and_wait(&w.kp);
}

/* Where a jump to the hop cannot be removed, no probe ever gets the padding. */
static void hop_that_is_stuck_keeps_its_place(struct kunit *test)
{
	struct kp_watch first = KP_WATCH(AT(hop_target_4)), w;
	struct kp_watch in_padding = { .kp = { .pre_handler = kp_watch_pre } };
	struct kprobe *kps[] = { &first.kp, &in_padding.kp };
	unsigned long want = kp_run(kpo_hop_target_2, 5), hop;

	hop = register_with_hop(test, &w, AT(hop_target_2));
	in_padding.kp.addr = (u8 *)hop + 1;

	/* Nothing on x86 makes it true: no write fails. */
	kprobe_test_set_stuck(w.kp.addr, true);
	KUNIT_EXPECT_EQ(test, register_kprobe(&in_padding.kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, kprobe_hop_owner(hop), op_at(w.kp.addr));
	KUNIT_EXPECT_EQ(test, kp_run(kpo_hop_target_2, 5), want);
	kprobe_test_set_stuck(w.kp.addr, false);

	KUNIT_EXPECT_EQ(test, register_kprobe(&in_padding.kp), 0);
	unregister_kprobe(&in_padding.kp);
	unregister_and_wait(&w.kp);
}

/*
 * A batch wants the padding of two hops. The first has moved out when the jump to the second turns
 * out to be stuck. It must come back.
 */
static void hop_is_back_when_a_batch_is_refused(struct kunit *test)
{
	struct kp_watch moves = KP_WATCH(AT(hop_target_2));
	struct kp_watch stays = KP_WATCH(AT(hop_target_4));
	struct kp_watch in[2] = {};
	struct kprobe *kps[] = { &in[0].kp, &in[1].kp };
	struct wait_watch wait = {
		.kp = { .symbol_name = KP_WAITS_FOR_TASKS, .pre_handler = wait_watch_pre },
		.by = current,
	};
	unsigned long want = kp_run(kpo_hop_target_2, 5), hop[2];
	int i;

	skip_without_padding(test);
	KUNIT_ASSERT_EQ(test, register_kprobe(&moves.kp), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&stays.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&wait.kp), 0);
	wait_for_kprobe_optimizer();
	hop[0] = op_at(moves.kp.addr)->optinsn.hop;
	hop[1] = op_at(stays.kp.addr)->optinsn.hop;
	if (hop[0] && hop[1]) {
		for (i = 0; i < ARRAY_SIZE(in); i++)
			in[i].kp = (struct kprobe) {
				.addr		= (u8 *)hop[i] + 1,
				.pre_handler	= kp_watch_pre,
			};

		kprobe_test_set_stuck(stays.kp.addr, true);
		KUNIT_EXPECT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), -EINVAL);
		/* For tasks in the hop that moves out. */
		KUNIT_EXPECT_GT(test, wait.nr, 0);
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_TRUE(test, is_live(moves.kp.addr));
		KUNIT_EXPECT_EQ(test, kp_run(kpo_hop_target_2, 5), want);
		KUNIT_EXPECT_EQ(test, atomic_read(&moves.pre), 1);
		kprobe_test_set_stuck(stays.kp.addr, false);
	}

	unregister_kprobe(&wait.kp);
	unregister_kprobe(&stays.kp);
	unregister_and_wait(&moves.kp);
	KP_SKIP_IF(test, !hop[0] || !hop[1], "not both have a hop");
}

struct batch {
	struct kprobe		*kps[2];
	struct completion	done;
	int			ret;
};

static int batch_thread(void *data)
{
	struct batch *b = data;

	b->ret = register_kprobes(b->kps, ARRAY_SIZE(b->kps));
	complete_all(&b->done);
	return kp_await_stop();
}

/* No grace period of tasks-RCU ends for a while. */
static int holding_thread(void *data)
{
	unsigned long end = jiffies + HZ / 10;

	complete_all(data);
	while (time_before(jiffies, end))
		cpu_relax();
	return kp_await_stop();
}

static struct task_struct *hold_grace_periods(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(holds);
	struct task_struct *task = kthread_create(holding_thread, &holds, "kpo_holder");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, cpumask_last(cpu_online_mask));
	wake_up_process(task);
	wait_for_completion(&holds);
	return task;
}

/*
 * A batch wants the padding of two hops. One is in use when it comes, the other is being
 * prepared in the meantime. They must not come back in turns while the batch waits for tasks.
 */
static void hops_move_out_for_a_batch(struct kunit *test)
{
	struct kp_watch live = KP_WATCH(AT(hop_target_4));
	struct kp_watch fresh = KP_WATCH(AT(hop_target_2));
	struct wait_watch wait = {
		.kp = { .symbol_name = KP_WAITS_FOR_TASKS, .pre_handler = wait_watch_pre },
	};
	struct kp_watch in[2] = {};
	unsigned long hop[2];
	int i, round;

	skip_without_padding(test);
	KP_SKIP_IF(test, num_online_cpus() < 2, "needs two CPUs");
	KP_REGISTER_AND_WAIT(test, &live.kp);
	KP_REGISTER_AND_WAIT(test, &fresh.kp);
	KUNIT_EXPECT_EQ(test, register_kprobe(&wait.kp), 0);
	hop[0] = op_at(fresh.kp.addr)->optinsn.hop;
	hop[1] = op_at(live.kp.addr)->optinsn.hop;
	unregister_and_wait(&fresh.kp);

	for (round = 0; round < 5 && hop[0] && hop[1]; round++) {
		struct batch b = { .kps = { &in[0].kp, &in[1].kp } };
		struct task_struct *task, *holder;
		unsigned long left;

		init_completion(&b.done);
		for (i = 0; i < ARRAY_SIZE(in); i++)
			in[i].kp = (struct kprobe) {
				.addr		= (u8 *)hop[i],
				.pre_handler	= kp_watch_pre,
				.post_handler	= kp_nothing_post,
			};
		fresh.kp = (struct kprobe) { .addr = AT(hop_target_2),
					     .pre_handler = kp_watch_pre };
		holder = hold_grace_periods(test);
		task = kthread_create(batch_thread, &b, "kpo_batch");
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		wait.nr = 0;
		wait.by = task;
		wake_up_process(task);
		/* It has to wait for the tasks in the detour of the first. */
		while (is_live(live.kp.addr) && !completion_done(&b.done))
			schedule_timeout_uninterruptible(1);
		KUNIT_EXPECT_EQ(test, register_kprobe(&fresh.kp), 0);
		/* For several grace periods, which take long on a busy host. */
		left = wait_for_completion_timeout(&b.done, 30 * HZ);
		KUNIT_EXPECT_NE(test, left, 0);
		/* Once for each hop. */
		KUNIT_EXPECT_LE(test, wait.nr, 2);
		unregister_kprobe(&fresh.kp);
		wait_for_completion(&b.done);
		kthread_stop(task);
		kthread_stop(holder);
		KUNIT_EXPECT_EQ(test, b.ret, 0);
		unregister_kprobes(b.kps, ARRAY_SIZE(b.kps));
		wait_for_kprobe_optimizer();
		/* It may have found other padding. */
		KUNIT_EXPECT_TRUE(test, is_live(live.kp.addr));
		unregister_and_wait(&live.kp);
		live.kp = (struct kprobe) { .addr = AT(hop_target_4),
					    .pre_handler = kp_watch_pre };
		KUNIT_EXPECT_EQ(test, register_kprobe(&live.kp), 0);
		wait_for_kprobe_optimizer();
		if (!left)
			break;
	}

	unregister_kprobe(&wait.kp);
	unregister_and_wait(&live.kp);
	KP_SKIP_IF(test, !hop[0] || !hop[1], "not both have a hop");
}

/*
 * A batch has dropped the mutex, and waits for tasks in a hop. To unregister one of its probes
 * meanwhile must not leave it registered.
 */
static void hop_is_waited_for_while_its_probe_leaves(struct kunit *test)
{
	struct kp_watch w, in = { .kp = { .pre_handler = kp_watch_pre } };
	struct kp_watch other = KP_WATCH(AT(hop_target_4));
	struct batch b = { .kps = { &in.kp, &other.kp } };
	struct task_struct *task, *holder;
	unsigned long hop;

	KP_SKIP_IF(test, num_online_cpus() < 2, "needs two CPUs");
	hop = register_with_hop(test, &w, AT(hop_target_2));
	in.kp.addr = (u8 *)hop + 1;
	init_completion(&b.done);
	holder = hold_grace_periods(test);
	task = kthread_run(batch_thread, &b, "kpo_batch");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	while (is_live(w.kp.addr) && !completion_done(&b.done))
		schedule_timeout_uninterruptible(1);
	unregister_kprobe(&in.kp);
	wait_for_completion(&b.done);
	kthread_stop(task);
	kthread_stop(holder);

	scoped_guard(kprobe_test)
		KUNIT_EXPECT_NULL(test, get_kprobe((u8 *)hop + 1));
	unregister_kprobes(b.kps, ARRAY_SIZE(b.kps));
	unregister_and_wait(&w.kp);
}

/*
 * Use up all room for hops near hop_target_2: each time, a disabled probe occupies the
 * place that was found.
 */
static int take_all_room(struct kunit *test, struct kprobe *takers, int max)
{
	int nr = 0;

	for (; nr < max; nr++) {
		struct kp_watch w = KP_WATCH(AT(hop_target_2));
		unsigned long hop;
		bool live;

		KP_REGISTER_AND_WAIT(test, &w.kp);
		live = is_live(w.kp.addr);
		hop = op_at(w.kp.addr)->optinsn.hop;
		unregister_and_wait(&w.kp);
		if (!live)
			break;

		takers[nr] = (struct kprobe) {
			.addr		= (u8 *)hop,
			.flags		= KPROBE_FLAG_DISABLED,
			.pre_handler	= kp_watch_pre,
		};
		KUNIT_ASSERT_EQ(test, register_kprobe(&takers[nr]), 0);
	}

	return nr;
}

/*
 * All padding is occupied, and later released. The probe need not be registered again.
 */
static void hop_is_found_once_padding_is_free(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(AT(hop_target_2));
	unsigned long want = kp_run(kpo_hop_target_2, 5);
	struct kprobe *takers;
	int nr;

	skip_without_padding(test);
	takers = kp_calloc(test, 128, sizeof(*takers));
	nr = take_all_room(test, takers, 128);
	KUNIT_ASSERT_GT(test, nr, 0);
	KUNIT_ASSERT_LT(test, nr, 128);

	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_EXPECT_FALSE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why, KPROBE_NOOPT_TARGET);

	while (nr--)
		unregister_kprobe(&takers[nr]);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_EQ(test, kp_run(kpo_hop_target_2, 5), want);
	KP_UNWATCH(test, w, 1);
	wait_for_kprobe_optimizer();
}

/* The same, with the hop of another probe in the only place that is left. */
static void hop_is_found_once_another_is_gone(struct kunit *test)
{
	struct kp_watch a = KP_WATCH(AT(hop_target_2));
	struct kp_watch b = KP_WATCH(AT(hop_back));
	unsigned long want = kp_run(kpo_hop_back, 5);
	struct kprobe *takers;
	int nr, i;

	skip_without_padding(test);
	takers = kp_calloc(test, 128, sizeof(*takers));
	nr = take_all_room(test, takers, 128);
	KUNIT_ASSERT_GT(test, nr, 0);
	/* Both can reach the place that was found first. */
	unregister_kprobe(&takers[0]);
	KP_REGISTER_AND_WAIT(test, &a.kp);
	KUNIT_EXPECT_TRUE(test, is_live(a.kp.addr));
	KP_REGISTER_AND_WAIT(test, &b.kp);
	KUNIT_EXPECT_FALSE(test, is_live(b.kp.addr));

	unregister_and_wait(&a.kp);
	KUNIT_EXPECT_TRUE(test, is_live(b.kp.addr));
	KUNIT_EXPECT_EQ(test, kp_run(kpo_hop_back, 5), want);
	unregister_kprobe(&b.kp);
	for (i = 1; i < nr; i++)
		unregister_kprobe(&takers[i]);
	wait_for_kprobe_optimizer();
}

/*
 * The state of the text when the CPUs are synchronized for the first time after the
 * optimizer has waited for tasks.
 */
struct sync_watch {
	struct kretprobe	wait;
	struct kprobe		sync;
	struct task_struct	*waited;
	u8			*tail;
	u8			*hop;
	u8			*slot;
	u8			tail_then;
	u8			hop_then;
	bool			owned_then;
	unsigned int		nr;
};

static int sync_watch_waited(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	/* Not get_kretprobe(), as in return_kunit.c. */
	struct sync_watch *w = container_of(ri->rp, struct sync_watch, wait);

	/* Without tasks-RCU, other threads may wait for the same grace period. */
	if (current->flags & PF_WQ_WORKER)
		WRITE_ONCE(w->waited, current);
	return 0;
}

static int sync_watch_sync(struct kprobe *p, struct pt_regs *regs)
{
	struct sync_watch *w = container_of(p, struct sync_watch, sync);

	/* Freeing instruction slots synchronizes as well, but in another task. */
	if (READ_ONCE(w->waited) != current)
		return 0;

	WRITE_ONCE(w->waited, NULL);
	w->tail_then = READ_ONCE(*w->tail);
	if (w->hop) {
		w->hop_then = READ_ONCE(*w->hop);
		w->owned_then = kprobe_optinsn_owner((unsigned long)w->slot);
	}
	w->nr++;
	return 0;
}

/*
 * CPUs that tasks-RCU does not wait for may be inside what a jump will replace, in a
 * detour or in a hop. None of these may be written before all CPUs have been
 * interrupted once. Such a CPU cannot be arranged in QEMU, so the order of the steps
 * is checked.
 */
static void text_is_written_after_cpus_synchronize(struct kunit *test)
{
	struct kp_watch p = KP_WATCH(AT(hop_target_2));
	struct sync_watch *w = kp_zalloc(test, sizeof(*w));
	u8 tail = first_byte(AT(hop_target_2) + 1);

	skip_without_padding(test);
	w->wait.kp.symbol_name = KP_WAITS_FOR_TASKS;
	w->wait.handler = sync_watch_waited;
	w->sync.symbol_name = __stringify(smp_text_poke_sync_each_cpu);
	w->sync.pre_handler = sync_watch_sync;
	w->tail = AT(hop_target_2) + 1;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&w->wait), 0);
	KP_REGISTER_AND_WAIT(test, &w->sync);

	w->nr = 0;
	KP_REGISTER_AND_WAIT(test, &p.kp);
	KUNIT_EXPECT_TRUE(test, is_live(p.kp.addr));
	KUNIT_EXPECT_EQ(test, w->nr, 1);
	KUNIT_EXPECT_EQ(test, w->tail_then, tail);
	KUNIT_EXPECT_NE(test, first_byte(w->tail), tail);

	w->hop = (u8 *)(long)op_at(p.kp.addr)->optinsn.hop;
	w->slot = op_at(p.kp.addr)->optinsn.insn;
	w->nr = 0;
	unregister_and_wait(&p.kp);
	KUNIT_EXPECT_EQ(test, w->nr, 1);
	KUNIT_EXPECT_EQ(test, w->hop_then, JMP32_INSN_OPCODE);
	KUNIT_EXPECT_NE(test, first_byte(w->hop), JMP32_INSN_OPCODE);
	KUNIT_EXPECT_TRUE(test, w->owned_then);

	unregister_kprobe(&w->sync);
	unregister_kretprobe(&w->wait);
	wait_for_kprobe_optimizer();
}

/* Such as the end of the kernel's text. What is not known to be padding belongs to what is next. */
static void hop_ends_before_what_has_no_name(struct kunit *test)
{
	unsigned long unnamed = PAGE_SIZE, own = 0;

	if (IS_ENABLED(CONFIG_CALL_PADDING) || IS_ENABLED(CONFIG_CFI))
		own = CONFIG_FUNCTION_PADDING_BYTES;
	KUNIT_EXPECT_EQ(test, kprobe_end_of_padding(unnamed), unnamed - own);
}

static struct kunit_case hop_cases[] = {
	KUNIT_CASE(hop_is_taken_back),
	KUNIT_CASE(hops_are_not_shared),
	KUNIT_CASE(hop_avoids_registered_probe),
	KUNIT_CASE(hop_avoids_its_own_probe),
	KUNIT_CASE(hop_moves_out_for_new_probe),
	KUNIT_CASE(hop_that_is_stuck_keeps_its_place),
	KUNIT_CASE(hop_is_back_when_a_batch_is_refused),
	KUNIT_CASE(hops_move_out_for_a_batch),
	KUNIT_CASE(hop_is_waited_for_while_its_probe_leaves),
	KUNIT_CASE(hop_is_found_once_padding_is_free),
	KUNIT_CASE(hop_is_found_once_another_is_gone),
	KUNIT_CASE(hop_ends_before_what_has_no_name),
	KUNIT_CASE(text_is_written_after_cpus_synchronize),
	{}
};

KP_SUITE(hop_cases, .name = "kprobes_x86_hop");
