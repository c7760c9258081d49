/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suites of faults of arm64 and powerpc share: steps that fault, step by step. Without a
 * fault handler, a fault of a step is fatal. So these cases only pretend that there was one: they
 * call what the exceptions call, with registers of their own. The suite includes this once it has
 * defined
 *
 *  - struct state, what a step must not lose; other_state(), one that differs; nth_state(); and
 *    set_state(), which sets registers to one;
 *  - BEFORE_STEP, the distance of another instruction before a step;
 *  - kpb_deep_0 to kpb_deep_10, functions with an instruction that is stepped;
 *  - OTHER_STEP, the place of another one, and ELSEWHERE, an address without a probe;
 *  - IN_A_DETOUR, the offset of an instruction of a detour.
 *
 * After it, the suite defines the functions that are declared below.
 */
#ifndef _KERNEL_KPROBES_TESTS_FAULTS_WORDS_H
#define _KERNEL_KPROBES_TESTS_FAULTS_WORDS_H

struct stepped {
	struct kp_watch		w;
	struct pt_regs		regs;
	unsigned long		copy;
};

/* The breakpoint before the step, what follows it, and a fault of it. */
static void begin(struct kunit *test, struct stepped *s);
static void end(struct kunit *test, struct stepped *s, struct state state);
static void fault(struct kunit *test, struct stepped *s, struct state state);
/* Some other fault, at an address, of something that is not masked. */
static void fault_elsewhere(struct kunit *test, unsigned long pc);
/* The address that a report of a fault has. */
static unsigned long reported(unsigned long pc);

/*
 * Inside another hit, a copy branches back whenever it can. So here it cannot, as if no slot
 * had been in reach.
 */
static void step_always(struct kprobe *p)
{
	guard(kprobe_test)();
	p->ainsn.boost = false;
}

static void prepare(struct kunit *test, struct stepped *s, kprobe_opcode_t *addr,
		    struct state state)
{
	memset(s, 0, sizeof(*s));
	s->w = (struct kp_watch)KP_WATCH_BOTH(addr);
	KUNIT_ASSERT_EQ(test, register_kprobe(&s->w.kp), 0);
	step_always(get_kprobe(addr));
	KUNIT_EXPECT_STREQ(test, kp_mode(addr), "stepped");
	s->copy = kp_target_step(addr);
	set_state(&s->regs, state);
	instruction_pointer_set(&s->regs, (unsigned long)addr);
}

static void release(struct kunit *test, struct stepped *s, int pre, int post, unsigned long missed)
{
	unregister_kprobe(&s->w.kp);
	KUNIT_EXPECT_EQ(test, atomic_read(&s->w.pre), pre);
	KUNIT_EXPECT_EQ(test, atomic_read(&s->w.post), post);
	KUNIT_EXPECT_EQ(test, s->w.kp.nmissed, missed);
}

/* Reports on a fault are about the instruction, and interrupts are as it had them. */
static void fault_of_step_is_one_of_the_instruction(struct kunit *test)
{
	const struct state *state = test->param_value;
	struct stepped s;

	prepare(test, &s, KPB_AT(deep_0), *state);
	scoped_guard(irqsave) {
		begin(test, &s);
		fault(test, &s, *state);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), NULL);

		/* Once there is a page, it is hit again. */
		begin(test, &s);
		end(test, &s, *state);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), NULL);
	}
	release(test, &s, 2, 1, 0);
}

static void other_faults_are_not_the_steps(struct kunit *test)
{
	const struct state *state = test->param_value;
	struct stepped s;

	prepare(test, &s, KPB_AT(deep_0), *state);
	scoped_guard(irqsave) {
		fault_elsewhere(test, s.copy);
		begin(test, &s);
		fault_elsewhere(test, ELSEWHERE);
		fault_elsewhere(test, (unsigned long)s.w.kp.addr);
		fault_elsewhere(test, s.copy - BEFORE_STEP);
		fault_elsewhere(test, s.copy + sizeof(u32));
		KUNIT_EXPECT_NOT_NULL(test, kprobe_running());
		end(test, &s, *state);
		fault_elsewhere(test, s.copy);
	}
	release(test, &s, 1, 1, 0);
}

/* Something that is not masked hits another probe during a step, whose step faults. */
static void fault_of_nested_step(struct kunit *test)
{
	const struct state *state = test->param_value;
	struct state inner_state = other_state(state);
	struct stepped outer, inner;

	prepare(test, &outer, KPB_AT(deep_0), *state);
	prepare(test, &inner, OTHER_STEP, inner_state);
	scoped_guard(irqsave) {
		begin(test, &outer);
		begin(test, &inner);
		fault_elsewhere(test, outer.copy);
		fault(test, &inner, inner_state);

		/* The outer step continues; the inner one restarts. */
		fault_elsewhere(test, inner.copy);
		begin(test, &inner);
		end(test, &inner, inner_state);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), get_kprobe(outer.w.kp.addr));
		fault(test, &outer, *state);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), NULL);
	}
	release(test, &inner, 0, 0, 2);
	release(test, &outer, 1, 0, 0);
}

/* As many hits as can be nested, each with another state. */
static void steps_nest(struct kunit *test)
{
	kprobe_opcode_t *addr[] = {
		KPB_AT(deep_0), KPB_AT(deep_1), KPB_AT(deep_2), KPB_AT(deep_3), KPB_AT(deep_4),
		KPB_AT(deep_5), KPB_AT(deep_6), KPB_AT(deep_7), KPB_AT(deep_8), KPB_AT(deep_9),
		KPB_AT(deep_10),
	};
	struct stepped *s = kp_calloc(test, ARRAY_SIZE(addr), sizeof(*s));
	unsigned int i;

	BUILD_BUG_ON(ARRAY_SIZE(addr) != KPROBE_MAX_NESTING + 1);
	for (i = 0; i < ARRAY_SIZE(addr); i++)
		prepare(test, &s[i], addr[i], nth_state(i));

	scoped_guard(irqsave) {
		for (i = 0; i < ARRAY_SIZE(addr); i++)
			begin(test, &s[i]);
		/* Every second one faults. */
		while (i--)
			(i & 1 ? fault : end)(test, &s[i], nth_state(i));
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), NULL);
		KUNIT_EXPECT_EQ(test, get_kprobe_ctlblk()->depth, 0);
	}
	for (i = 0; i < ARRAY_SIZE(addr); i++)
		release(test, &s[i], !i, !i, !!i);
}

/* Where no handlers are called, an instruction is executed, in whatever way. */
static void steps_nest_in_busy_sections(struct kunit *test)
{
	struct state state = nth_state(1);
	struct stepped inner;
	struct kprobe *busy;

	prepare(test, &inner, OTHER_STEP, state);
	scoped_guard(irqsave) {
		kprobe_busy_begin();
		busy = kprobe_running();
		begin(test, &inner);
		fault(test, &inner, state);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), busy);
		begin(test, &inner);
		end(test, &inner, state);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), busy);
		kprobe_busy_end();
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), NULL);
	}
	release(test, &inner, 0, 0, 2);
}

/* No probe is current in a copy that branches back, so the slots are asked. */
static void fault_of_boosted_copy_is_one_of_the_instruction(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(add));
	unsigned long copy, at = (unsigned long)w.kp.addr;

	KP_SKIP_IF(test, !kprobe_boosts(), "no copy branches back");

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), "boosted");
	copy = (unsigned long)get_kprobe(w.kp.addr)->ainsn.insn;
	KUNIT_EXPECT_EQ(test, reported(copy), at);
	KUNIT_EXPECT_EQ(test, reported(at), at);
	KUNIT_EXPECT_EQ(test, reported(ELSEWHERE), ELSEWHERE);
	/* After the copy, and in the one that is stepped. */
	KUNIT_EXPECT_EQ(test, reported(copy + sizeof(u32)), at + sizeof(u32));
	KUNIT_EXPECT_EQ(test, reported(kp_target_step(w.kp.addr)), at);
	KUNIT_EXPECT_EQ(test, reported(kp_target_step(w.kp.addr) + sizeof(u32)), at + sizeof(u32));
	/* Not a copy, nor memory that may be read. */
	KUNIT_EXPECT_EQ(test, reported(KP_BAD_ADDRESS), KP_BAD_ADDRESS);
	KUNIT_EXPECT_EQ(test, reported(0), 0);
	unregister_kprobe(&w.kp);
}

#ifdef CONFIG_OPTPROBES
static void fault_of_detour_is_one_of_the_instruction(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(add));
	unsigned long at = (unsigned long)w.kp.addr, detour;

	kprobe_test_allow_optimization(true);
	KP_REGISTER_AND_WAIT(test, &w.kp);
	detour = (unsigned long)kp_target_detour(w.kp.addr);
	KUNIT_EXPECT_NE(test, detour, 0);
	KUNIT_EXPECT_EQ(test, reported(detour), at);
	KUNIT_EXPECT_EQ(test, reported(detour + IN_A_DETOUR), at);
	KUNIT_EXPECT_NE(test, reported(detour - sizeof(u32)), at);
	unregister_kprobe(&w.kp);
	kprobe_test_allow_optimization(false);
}
#else
KP_SKIPPED(fault_of_detour_is_one_of_the_instruction, "needs OPTPROBES")
#endif

#endif /* _KERNEL_KPROBES_TESTS_FAULTS_WORDS_H */
