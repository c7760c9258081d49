// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits inside of others: which of them call handlers, in all pairs of contexts and of kinds of
 * probes. A handler of the outer probe raises the inner context on its CPU, and waits for it.
 */

#include "suite.h"

#include <linux/interrupt.h>
#include <linux/irq_work.h>

#include <asm/irq_work.h>

#include "../hit.h"
#include "../site.h"
#include "targets.h"

/* From the lowest to the highest. */
enum context { TASK, SOFTIRQ, HARDIRQ, NMI, NR_CONTEXTS };
static const char * const context_names[] = { "task", "softirq", "interrupt", "NMI" };

/* What causes the hit, and how the instruction is executed. */
enum kind { BOOSTED, POST, STEPPED, JUMP, FTRACE, FTRACE_POST, RETURN, NR_KINDS };
static const char * const kind_names[] = {
	"breakpoint", "breakpoint and post handler", "step", "jump", "ftrace",
	"ftrace and post handler", "return",
};

/*
 * An instruction that is stepped for a post handler, as no backend emulates it. With what is around
 * it, %0 becomes 0 if it has been executed once; %1 is 1 before.
 */
#if defined(CONFIG_X86)
#define STEPPED_INSN	"btl $0, %k1"
#define BEFORE_IT	"clc\n"
#define AFTER_IT	"sbbl %k0, %k0\n incl %k0\n"
#elif defined(CONFIG_ARM64)
#define STEPPED_INSN	"mrs %0, tpidr_el0"
#define BEFORE_IT	""
#define AFTER_IT	"mrs %1, tpidr_el0\n sub %0, %0, %1\n"
#elif defined(CONFIG_PPC)
/* The version of the processor. */
#define STEPPED_INSN	"mfspr %0, 287"
#define BEFORE_IT	""
#define AFTER_IT	"mfspr %1, 287\n subf %0, %0, %1\n"
#endif

#ifdef CONFIG_64BIT
#define ADDRESS	".quad"
#else
#define ADDRESS	".long"
#endif

#define STEPPED_FUNCTION(n)						\
extern kprobe_opcode_t *kp_nest_stepped##n##_at;			\
static noinline __noclone __used notrace u32 kp_nest_stepped##n(u32 v)	\
{									\
	unsigned long wrong, one = 1;					\
									\
	KP_PADDING;							\
	asm volatile(BEFORE_IT						\
		     "777:\n"						\
		     ANNOTATE_NOENDBR "\n"				\
		     STEPPED_INSN "\n"					\
		     AFTER_IT						\
		     ".pushsection .rodata\n"				\
		     ".balign 8\n"					\
		     ".globl kp_nest_stepped" #n "_at\n"		\
		     "kp_nest_stepped" #n "_at: " ADDRESS " 777b\n"	\
		     ".popsection\n"					\
		     : "=&r" (wrong), "+r" (one)			\
		     : : "cc");						\
	return v + 1 + n + wrong;					\
}

/* For each context, a function of each sort that is hit there. */
enum sort { PLAIN, STEPPABLE, TRACED, NR_SORTS };

#define FUNCTIONS(n)							\
static KP_UNTRACED(u32, kp_nest_plain##n, v + 1 + n)			\
STEPPED_FUNCTION(n)							\
static KP_TRACED(u32, kp_nest_traced##n, v + 1 + n)
FUNCTIONS(0)
FUNCTIONS(1)
FUNCTIONS(2)
FUNCTIONS(3)

/* Of each sort. It is probed at its entry, or elsewhere. */
static const struct function {
	const char		*name;
	u32			(*fn)(u32 v);
	kprobe_opcode_t *const	*at;
} functions[NR_CONTEXTS][NR_SORTS] = {
#define EACH_SORT(n)							\
	{								\
		{ "kp_nest_plain" #n, kp_nest_plain##n },		\
		{ NULL, kp_nest_stepped##n, &kp_nest_stepped##n##_at },	\
		{ "kp_nest_traced" #n, kp_nest_traced##n },		\
	}
	EACH_SORT(0), EACH_SORT(1), EACH_SORT(2), EACH_SORT(3),
};

/* A probe, and what is to happen inside of its handler. */
struct level {
	struct kretprobe	rp;		/* rp.kp alone, unless it is a return probe */
	enum context		context;
	enum kind		kind;
	bool			to_return;	/* raise the next one at the return */
	struct level		*inner;		/* raised by the handler, or NULL */
	int			pre, post, ret;	/* how often handlers were called */
	int			began, ended;	/* when, in the order of all handlers */
	u32			wrong;
	bool			other_context;
	unsigned int		depth;		/* how many hits were interrupted */
	unsigned long		after;		/* from the probe to where a post handler saw it */
	struct tasklet_struct	tasklet;
	struct irq_work		work;
	bool			done;
};

static struct level levels[NR_CONTEXTS];
static int order;

/* Contexts do not come, but are entered in preempt_count(), which works in any handler. */
static bool pretending;
static const unsigned int context_offsets[] = {
	0, SOFTIRQ_OFFSET, HARDIRQ_OFFSET, NMI_OFFSET + HARDIRQ_OFFSET,
};

/* Is the current context that one? The exception of a breakpoint may count as an NMI. */
static bool is_in(enum context c, bool trapped)
{
	unsigned int pc = preempt_count() - (trapped ? KPROBE_TRAP_CONTEXT : 0);
	bool irq = pc & HARDIRQ_MASK, softirq = pc & SOFTIRQ_OFFSET;

	if (c == TASK || c == SOFTIRQ)
		return !irq && softirq == (c == SOFTIRQ);
	return irq && ((trapped && KPROBE_TRAP_CONTEXT) || !!in_nmi() == (c == NMI));
}

/* Architectures that can raise an NMI replace these; see watch.h. */
bool __weak kp_nmi_begin(void)
{
	return false;
}

void __weak kp_nmi_end(void)
{
}

void __weak kp_nmi_ready(void)
{
}

void __weak kp_nmi_raise(void (*fn)(void *arg), void *arg)
{
}

static bool has_nmi;

static enum sort sort_of(enum kind kind)
{
	switch (kind) {
	case FTRACE:
	case FTRACE_POST:
	case RETURN:
		return TRACED;
	case STEPPED:
		return STEPPABLE;
	default:
		return PLAIN;
	}
}

static bool is_breakpoint(enum kind kind)
{
	return kind == BOOSTED || kind == POST || kind == STEPPED;
}

static bool is_trapped(const struct level *l)
{
	return is_breakpoint(l->kind);
}

static void run(struct level *l)
{
	u32 (*volatile fn)(u32 v) = functions[l->context][sort_of(l->kind)].fn;

	l->wrong += fn(5) != 6 + l->context;
	WRITE_ONCE(l->done, true);
}

static void in_tasklet(struct tasklet_struct *t)
{
	run(container_of(t, struct level, tasklet));
}

static void in_irq_work(struct irq_work *work)
{
	run(container_of(work, struct level, work));
}

static void in_own_nmi(void *level)
{
	run(level);
}

/* Let a level happen on this CPU, and wait for it. */
static void raise(struct level *l, enum context from)
{
	/* With interrupts off, it may never come. Otherwise, an emulator may be late with it. */
	int i, patience = (irqs_disabled() ? 1 : 10) * USEC_PER_SEC;

	if (pretending) {
		__preempt_count_add(context_offsets[l->context]);
		run(l);
		__preempt_count_sub(context_offsets[l->context]);
		return;
	}
	if (l->context == from) {
		run(l);
		return;
	}
	switch (l->context) {
	case SOFTIRQ:
		tasklet_schedule(&l->tasklet);
		/* Runs what is pending. */
		local_bh_disable();
		local_bh_enable();
		break;
	case HARDIRQ:
		irq_work_queue(&l->work);
		break;
	case NMI:
		kp_nmi_raise(in_own_nmi, l);
		break;
	default:
		run(l);
	}
	for (i = 0; i < patience && !READ_ONCE(l->done); i++)
		udelay(1);
}

static void in_handler(struct level *l)
{
	struct kprobe *running = kprobe_running();

	l->began = ++order;
	l->other_context |= !pretending && !is_in(l->context, is_trapped(l));
#ifdef KPROBE_MAX_NESTING
	l->depth = get_kprobe_ctlblk()->depth;
#endif
	if (l->inner)
		raise(l->inner, l->context);
	/* What the inner hit has changed is as before. */
	l->wrong += kprobe_running() != running;
	l->ended = ++order;
}

static int level_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct level *l = container_of(p, struct level, rp.kp);

	l->pre++;
	in_handler(l);
	return 0;
}

static void level_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	struct level *l = container_of(p, struct level, rp.kp);

	l->post++;
	l->after = instruction_pointer(regs) - (unsigned long)p->addr;
}

static int level_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct level *l = container_of(ri->rp, struct level, rp);

	l->pre++;
	if (!l->to_return)
		in_handler(l);
	return 0;
}

static int level_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct level *l = container_of(ri->rp, struct level, rp);

	l->ret++;
	if (l->to_return)
		in_handler(l);
	return 0;
}

static bool has_post(enum kind kind)
{
	return kind == POST || kind == STEPPED || kind == FTRACE_POST;
}

/*
 * A breakpoint gets no jump only if no other probe does. Then function entries, if ftrace does not
 * call their probes, have breakpoints, too, in which nothing comes but NMIs.
 */
static bool goes_with_boosted(enum kind kind)
{
	return kind != JUMP && (kind != RETURN || KPROBES_TEST_HAS_FTRACE_NAMES);
}

/* The exception of a breakpoint masks interrupts; on arm64, also what is used as an NMI. */
static bool can_interrupt(enum context inner, enum kind outer)
{
	return !is_breakpoint(outer) || (inner == NMI && !IS_ENABLED(CONFIG_ARM64));
}

static bool can_raise(enum context c)
{
	switch (c) {
	case SOFTIRQ:
		return !IS_ENABLED(CONFIG_PREEMPT_RT);
	case HARDIRQ:
		return arch_irq_work_has_interrupt();
	case NMI:
		return has_nmi;
	default:
		return true;
	}
}

static bool is_possible(enum kind kind)
{
	switch (kind) {
	case JUMP:
		return IS_ENABLED(CONFIG_OPTPROBES) && kp_target_optimizes_entries();
	case FTRACE:
	case FTRACE_POST:
		return KPROBES_TEST_HAS_FTRACE_NAMES;
	case RETURN:
		return IS_ENABLED(CONFIG_KRETPROBES);
	default:
		return true;
	}
}

static void init_level(struct level *l, enum context where, enum kind kind, u32 flags)
{
	const struct function *f = &functions[where][sort_of(kind)];

	*l = (struct level) {
		.context	= where,
		.kind		= kind,
		.rp.kp		= {
			.symbol_name	= f->name,
			.addr		= f->at ? *f->at : NULL,
			.flags		= flags,
			.pre_handler	= level_pre,
			.post_handler	= has_post(kind) ? level_post : NULL,
		},
		.rp.entry_handler	= level_entry,
		.rp.handler		= level_return,
	};
	tasklet_setup(&l->tasklet, in_tasklet);
	l->work = IRQ_WORK_INIT_HARD(in_irq_work);
}

/* How hits come, and how the instruction is executed. */
static const char *mode_at(void *addr)
{
	scoped_guard(kprobe_test) {
		if (kprobe_to_site(get_kprobe(addr))->kind == KPROBE_SITE_FTRACE)
			return "ftrace";
	}
	return kp_target_has_jump(addr) ? "jump" : kp_mode(addr);
}

/* What that has to be; NULL if it depends on what the function begins with. */
static const char *mode_of(enum kind kind)
{
	switch (kind) {
	case BOOSTED:
		return kp_target_boosts() ? "boosted" : "emulated";
	case POST:
		return "emulated";
	case STEPPED:
		return "stepped";
	case JUMP:
		return "jump";
	case RETURN:
		return KPROBES_TEST_HAS_FTRACE_NAMES ? "ftrace" : NULL;
	default:
		return "ftrace";
	}
}

static void register_level(struct kunit *test, struct level *l)
{
	const char *want = mode_of(l->kind);
	int ret;

	/* Without this, it would get a jump. Others have none then, either. */
	if (l->kind == BOOSTED)
		kprobe_test_allow_optimization(false);
	ret = l->kind == RETURN ? register_kretprobe(&l->rp) : register_kprobe(&l->rp.kp);
	KUNIT_ASSERT_EQ(test, ret, 0);
	wait_for_kprobe_optimizer();
	if (want)
		KUNIT_EXPECT_STREQ_MSG(test, mode_at(l->rp.kp.addr), want, "%s",
				       kind_names[l->kind]);
}

static void unregister_level(struct level *l)
{
	if (l->kind == RETURN)
		unregister_kretprobe(&l->rp);
	else
		unregister_kprobe(&l->rp.kp);
}

static unsigned long missed(const struct level *l)
{
	return l->rp.kp.nmissed + l->rp.nmissed;
}

/* Run the outermost level from a task, in its own context. */
static void run_outermost(struct level *l)
{
	order = 0;
	migrate_disable();
	kp_nmi_ready();
	raise(l, TASK);
	migrate_enable();
}

static void expect_idle(struct kunit *test)
{
	guard(preempt)();

	KUNIT_EXPECT_NULL(test, kprobe_running());
#ifdef KPROBE_MAX_NESTING
	KUNIT_EXPECT_EQ(test, get_kprobe_ctlblk()->depth, 0);
	KUNIT_EXPECT_EQ(test, get_kprobe_ctlblk()->kprobe_status, KPROBE_HIT_ACTIVE);
#endif
}

/* The inner level's handlers were called, while the outer one's was running. */
static void expect_inside(struct kunit *test, const struct level *inner, const struct level *outer)
{
	KUNIT_EXPECT_EQ(test, missed(inner), 0);
	KUNIT_EXPECT_EQ(test, inner->pre, 1);
	KUNIT_EXPECT_EQ(test, inner->post, has_post(inner->kind));
	KUNIT_EXPECT_EQ(test, inner->ret, inner->kind == RETURN);
	KUNIT_EXPECT_FALSE(test, inner->other_context);
	KUNIT_EXPECT_GT(test, inner->began, outer->began);
	KUNIT_EXPECT_LT(test, inner->ended, outer->ended);
}

static void expect_outermost(struct kunit *test, const struct level *l)
{
	KUNIT_EXPECT_EQ(test, missed(l), 0);
	KUNIT_EXPECT_EQ(test, l->pre, 1);
	KUNIT_EXPECT_EQ(test, l->post, has_post(l->kind));
	KUNIT_EXPECT_EQ(test, l->ret, l->kind == RETURN);
	KUNIT_EXPECT_EQ(test, l->wrong, 0);
	KUNIT_EXPECT_FALSE(test, l->other_context);
}

struct pair {
	enum context	outer, inner;
};

static const struct pair pairs[] = {
	{ TASK, SOFTIRQ }, { TASK, HARDIRQ }, { TASK, NMI }, { SOFTIRQ, HARDIRQ },
	{ SOFTIRQ, NMI }, { HARDIRQ, NMI },
	{ TASK, TASK }, { SOFTIRQ, SOFTIRQ }, { HARDIRQ, HARDIRQ }, { NMI, NMI },
};

static void pair_to_desc(const struct pair *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s in %s", context_names[p->inner],
		 context_names[p->outer]);
}
KUNIT_ARRAY_PARAM(pair, pairs, pair_to_desc);

static void try_kinds(struct kunit *test, const struct pair *p, enum kind outer_kind,
		      enum kind inner_kind, bool at_return)
{
	struct level *outer = &levels[0], *inner = &levels[1];
	bool same = p->outer == p->inner;

	init_level(outer, p->outer, outer_kind, KPROBE_FLAG_REENTRANT);
	init_level(inner, p->inner, inner_kind, KPROBE_FLAG_REENTRANT);
	outer->inner = inner;
	outer->to_return = at_return;

	register_level(test, outer);
	register_level(test, inner);
	run_outermost(outer);
	unregister_level(inner);
	unregister_level(outer);
	kprobe_test_allow_optimization(true);

	/* Whatever comes inside of it. */
	expect_outermost(test, outer);
	if (!same) {
		expect_inside(test, inner, outer);
	} else {
		KUNIT_EXPECT_EQ(test, missed(inner), 1);
		KUNIT_EXPECT_EQ(test, inner->pre + inner->post + inner->ret, 0);
	}
	KUNIT_EXPECT_EQ(test, inner->wrong, 0);
	expect_idle(test);
	if (test->status == KUNIT_FAILURE)
		kunit_info(test, "%s in %s\n", kind_names[inner_kind], kind_names[outer_kind]);
}

static void nested_in_all_contexts(struct kunit *test)
{
	const struct pair *p = test->param_value;
	enum kind outer, inner;

	KP_SKIP_IF(test, !can_raise(p->outer) || !can_raise(p->inner), "cannot be raised here");

	for (outer = 0; outer < NR_KINDS; outer++) {
		for (inner = 0; inner < NR_KINDS; inner++) {
			if (!is_possible(outer) || !is_possible(inner))
				continue;
			if ((outer == BOOSTED && !goes_with_boosted(inner)) ||
			    (inner == BOOSTED && !goes_with_boosted(outer)))
				continue;
			/* In the same context, each has a function of its own. */
			if (p->outer == p->inner ? sort_of(outer) == sort_of(inner) :
						   !can_interrupt(p->inner, outer))
				continue;
			try_kinds(test, p, outer, inner, false);
			if (outer == RETURN)
				try_kinds(test, p, outer, inner, true);
		}
	}
}

/* All contexts at once, with probes of each kind in each of them. */
static void nested_four_deep(struct kunit *test)
{
	static const enum kind kinds[][NR_CONTEXTS] = {
		{ JUMP, FTRACE, RETURN, POST },
		{ FTRACE, JUMP, FTRACE_POST, POST },
		{ RETURN, FTRACE_POST, JUMP, FTRACE },
		{ FTRACE_POST, RETURN, JUMP, RETURN },
		{ JUMP, RETURN, POST, JUMP },
		{ FTRACE, RETURN, BOOSTED, POST },
		{ FTRACE_POST, JUMP, STEPPED, STEPPED },
		{ RETURN, JUMP, FTRACE, STEPPED },
	};
	enum context c, used[NR_CONTEXTS];
	int i, n, nr = 0;

	for (c = TASK; c < NR_CONTEXTS; c++) {
		if (can_raise(c))
			used[nr++] = c;
	}
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (n = 0; n < nr; n++) {
			enum kind kind = kinds[i][used[n]];

			if (!is_possible(kind) || (kind == BOOSTED && !is_possible(FTRACE)))
				kind = is_possible(JUMP) && used[n] < HARDIRQ ? JUMP : POST;
			init_level(&levels[n], used[n], kind, KPROBE_FLAG_REENTRANT);
			if (n)
				levels[n - 1].inner = &levels[n];
			register_level(test, &levels[n]);
		}
		run_outermost(&levels[0]);
		for (n = 0; n < nr; n++)
			unregister_level(&levels[n]);
		kprobe_test_allow_optimization(true);

		expect_outermost(test, &levels[0]);
		for (n = 1; n < nr; n++) {
			if (!can_interrupt(used[n], levels[n - 1].kind))
				break;
			expect_inside(test, &levels[n], &levels[n - 1]);
			KUNIT_EXPECT_EQ(test, levels[n].wrong, 0);
		}
		expect_idle(test);
	}
}

/*
 * Steps inside of others: the exception of a breakpoint keeps out what could interrupt it, so
 * handlers pretend.
 */
static void nested_steps_four_deep(struct kunit *test)
{
	enum context c;

	for (c = TASK; c < NR_CONTEXTS; c++) {
		init_level(&levels[c], c, STEPPED, KPROBE_FLAG_REENTRANT);
		if (c)
			levels[c - 1].inner = &levels[c];
		register_level(test, &levels[c]);
	}
	pretending = true;
	run_outermost(&levels[TASK]);
	pretending = false;
	for (c = TASK; c < NR_CONTEXTS; c++)
		unregister_level(&levels[c]);

	expect_outermost(test, &levels[TASK]);
	KUNIT_EXPECT_NE(test, levels[TASK].after, 0);
	for (c = SOFTIRQ; c < NR_CONTEXTS; c++) {
		expect_inside(test, &levels[c], &levels[c - 1]);
		KUNIT_EXPECT_EQ(test, levels[c].wrong, 0);
		KUNIT_EXPECT_EQ(test, levels[c].after, levels[TASK].after);
#ifdef KPROBE_MAX_NESTING
		KUNIT_EXPECT_EQ(test, levels[c].depth, c);
#endif
	}
	expect_idle(test);
}

/* A probe with the flag, and one without it, at the same place. */
struct sharing {
	enum kind	kind;
	bool		flag_first;	/* that probe is registered before the other one */
};

static const struct sharing sharings[] = {
	{ POST, false }, { STEPPED, false }, { BOOSTED, false }, { JUMP, false },
	{ FTRACE, false }, { FTRACE_POST, false }, { RETURN, false },
	{ POST, true }, { STEPPED, true }, { BOOSTED, true }, { JUMP, true },
	{ FTRACE, true }, { FTRACE_POST, true }, { RETURN, true },
};

static void sharing_to_desc(const struct sharing *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, %s first", kind_names[s->kind],
		 s->flag_first ? "with the flag" : "without the flag");
}
KUNIT_ARRAY_PARAM(sharing, sharings, sharing_to_desc);

/* Only probes that ask for it are called inside of others. */
static void nested_without_the_flag(struct kunit *test)
{
	struct level *outer = &levels[0], *inner = &levels[1], *old = &levels[2];
	enum kind around = is_possible(FTRACE) ? FTRACE : JUMP;
	const struct sharing *s = test->param_value;
	int runs = 1;

	KP_SKIP_IF(test, !can_raise(HARDIRQ) || !is_possible(around), "cannot be raised here");
	KP_SKIP_IF(test, !is_possible(s->kind), "needs another kernel");
	KP_SKIP_IF(test, s->kind == BOOSTED && !goes_with_boosted(around), "has a jump, too");

	/* The flag of the outer one does not matter. */
	init_level(outer, TASK, around, 0);
	init_level(inner, HARDIRQ, s->kind, KPROBE_FLAG_REENTRANT);
	init_level(old, HARDIRQ, s->kind, 0);
	outer->inner = inner;
	register_level(test, outer);

	if (s->flag_first) {
		register_level(test, inner);
		register_level(test, old);
	} else {
		/* Without the flag, it is as ever. */
		register_level(test, old);
		run_outermost(outer);
		KUNIT_EXPECT_EQ(test, old->pre + old->post + old->ret, 0);
		KUNIT_EXPECT_EQ(test, missed(old), 1);
		register_level(test, inner);
		runs++;
	}

	/* Of two at one address, the one with the flag is called. */
	inner->done = false;
	run_outermost(outer);
	KUNIT_EXPECT_EQ(test, old->pre + old->post + old->ret, 0);
	KUNIT_EXPECT_EQ(test, missed(old), runs);
	expect_inside(test, inner, outer);
	KUNIT_EXPECT_EQ(test, outer->pre, runs);
	KUNIT_EXPECT_EQ(test, missed(outer), 0);

	/* Outside of other hits, both are. */
	inner->done = false;
	run_outermost(inner);
	KUNIT_EXPECT_EQ(test, old->pre, 1);
	KUNIT_EXPECT_EQ(test, old->post, has_post(s->kind));
	KUNIT_EXPECT_EQ(test, old->ret, s->kind == RETURN);
	KUNIT_EXPECT_EQ(test, inner->pre, 2);
	KUNIT_EXPECT_EQ(test, inner->post, 2 * has_post(s->kind));
	KUNIT_EXPECT_EQ(test, inner->ret, 2 * (s->kind == RETURN));
	KUNIT_EXPECT_EQ(test, missed(old), runs);
	KUNIT_EXPECT_EQ(test, missed(inner), 0);
	KUNIT_EXPECT_EQ(test, outer->wrong + inner->wrong + old->wrong, 0);
	KUNIT_EXPECT_FALSE(test, outer->other_context);
	KUNIT_EXPECT_FALSE(test, inner->other_context || old->other_context);
	expect_idle(test);

	unregister_level(inner);
	unregister_level(old);
	unregister_level(outer);
	kprobe_test_allow_optimization(true);
}

/* kprobe_busy_begin() keeps all handlers off, even those of interrupts. */
static void nested_in_busy_sections(struct kunit *test)
{
	struct level *inner = &levels[0];

	KP_SKIP_IF(test, !can_raise(HARDIRQ), "cannot be raised here");
	init_level(inner, HARDIRQ, POST, KPROBE_FLAG_REENTRANT);
	register_level(test, inner);
	kprobe_busy_begin();
	raise(inner, TASK);
	kprobe_busy_end();
	KUNIT_EXPECT_EQ(test, missed(inner), 1);
	KUNIT_EXPECT_EQ(test, inner->pre, 0);
	unregister_level(inner);
	kprobe_test_allow_optimization(true);
	expect_idle(test);
}

static int ignore_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	return 0;
}

static int refused_calls;

static int refused_pre(struct kprobe *p, struct pt_regs *regs)
{
	refused_calls++;
	return 0;
}

static int refused_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	refused_calls++;
	return 0;
}

/* Except for where kprobe_why_refused() finds its answer. */
static void expect_same(struct kunit *test, struct kretprobe *rp, const struct kretprobe *before)
{
	const u8 *a = (const u8 *)rp, *b = (const u8 *)before;
	unsigned int i;

	rp->kp.origin = NULL;
	/* One that a batch has registered, and taken back, is in an empty list. */
	if (list_empty(&rp->kp.list))
		rp->kp.list = before->kp.list;
	for (i = 0; i < sizeof(*rp) && a[i] == b[i]; i++)
		;
	KUNIT_EXPECT_EQ_MSG(test, i, sizeof(*rp), "byte %x", i);
}

/* With these flags, nothing is registered, and the structures stay what they are. */
static void expect_refused(struct kunit *test, u32 flags, kprobe_fault_handler_t fault)
{
	struct kretprobe good, bad, good_before, bad_before;
	struct kprobe *kps[] = { &good.kp, &bad.kp };
	struct kretprobe *rps[] = { &good, &bad };

	/* With padding, for the comparisons. */
	memset(&good, 0, sizeof(good));
	good.kp.symbol_name = "kp_nest_plain1";
	good.kp.pre_handler = refused_pre;
	good.handler = refused_return;
	memcpy(&bad, &good, sizeof(bad));
	bad.kp.symbol_name = "kp_nest_plain0";
	bad.kp.flags = flags;
	bad.kp.fault_handler = fault;
	memcpy(&good_before, &good, sizeof(good));
	memcpy(&bad_before, &bad, sizeof(bad));

	KUNIT_EXPECT_EQ_MSG(test, register_kprobe(&bad.kp), -EINVAL, "flags %x", flags);
	expect_same(test, &bad, &bad_before);
	KUNIT_EXPECT_EQ(test, kprobe_check(&bad.kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, 2), -EINVAL);
	swap(kps[0], kps[1]);
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, 2), -EINVAL);
	if (IS_ENABLED(CONFIG_KRETPROBES)) {
		KUNIT_EXPECT_EQ(test, kretprobe_check(&bad), -EINVAL);
		KUNIT_EXPECT_EQ(test, register_kretprobes(rps, 2), -EINVAL);
		KUNIT_EXPECT_EQ(test, register_kretprobe(&bad), -EINVAL);
		/* This handler belongs to return probes. */
		good.kp.pre_handler = refused_pre;
		bad.kp.pre_handler = refused_pre;
	}
	KUNIT_EXPECT_EQ(test, kprobe_why_refused(&bad.kp), KPROBE_REFUSAL_ARGUMENTS);
	expect_same(test, &bad, &bad_before);
	expect_same(test, &good, &good_before);

	/* None of them is there. */
	refused_calls = 0;
	KUNIT_EXPECT_EQ(test, kp_nest_plain0(5), 6);
	KUNIT_EXPECT_EQ(test, kp_nest_plain1(5), 7);
	KUNIT_EXPECT_EQ(test, refused_calls, 0);
}

/* What the flag does not go with, and flags that do not exist. */
static void nested_flag_is_refused(struct kunit *test)
{
	struct kprobe kp = {
		.symbol_name = "kp_nest_plain0", .pre_handler = kp_nothing_pre,
		.flags = KPROBE_FLAG_REENTRANT,
	};
	u32 flag;

	expect_refused(test, KPROBE_FLAG_REENTRANT, ignore_fault);
	for (flag = KPROBE_FLAGS + 1; flag; flag <<= 1) {
		expect_refused(test, flag, NULL);
		expect_refused(test, flag | KPROBE_FLAG_REENTRANT, NULL);
	}
	KUNIT_EXPECT_EQ(test, register_kprobe(&kp), 0);
	KUNIT_EXPECT_TRUE(test, kp.flags & KPROBE_FLAG_REENTRANT);
	unregister_kprobe(&kp);
}

static int nested_init(struct kunit_suite *suite)
{
	has_nmi = kp_nmi_begin();
	return 0;
}

static void nested_exit(struct kunit_suite *suite)
{
	kp_nmi_end();
}

static struct kunit_case nested_testcases[] = {
	KUNIT_CASE_PARAM_ATTR(nested_in_all_contexts, pair_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE_SLOW(nested_four_deep),
	KUNIT_CASE(nested_steps_four_deep),
	KUNIT_CASE_PARAM_ATTR(nested_without_the_flag, sharing_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE(nested_in_busy_sections),
	KUNIT_CASE(nested_flag_is_refused),
	{}
};

KP_SUITE(nested_testcases, .name = "kprobes_nested",
	 .suite_init = nested_init, .suite_exit = nested_exit);
