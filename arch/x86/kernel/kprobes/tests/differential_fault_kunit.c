// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The differential test of interrupted instructions: they fault, possibly after part
 * of their work is done, or they access what a debug register watches. As in the main
 * test, each row of differential_faults.S is executed without a probe and with probes
 * of all kinds, from the same random states.
 */

#define pr_fmt(fmt) "kprobes_x86_differential_fault: " fmt

#include <kunit/test.h>
#include <linux/cleanup.h>
#include <linux/hash.h>
#include <linux/hw_breakpoint.h>
#include <linux/kprobes.h>
#include <linux/kprobes-test.h>
#include <linux/perf_event.h>
#include <linux/random.h>
#include <linux/vmalloc.h>
#include <linux/wordpart.h>

#include <asm/processor-flags.h>

#include "../common.h"
#include "differential_faults.h"
#include "differential_insn.h"

#define ROUNDS		8
#define STACK_WORDS	64
#define WATCHED_WORDS	24

#define FLAGS_RANDOM	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |	\
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF |	\
			 X86_EFLAGS_DF | X86_EFLAGS_AC | X86_EFLAGS_ID)

extern const struct form kpd_faults[], kpd_faults_end[];
extern const struct form kpd_watched[], kpd_watched_end[];

extern unsigned long kpd_watch[WATCHED_WORDS];
unsigned long kpd_watch[WATCHED_WORDS] __aligned(64);

/* Below the words that are compared, there is room for exceptions. */
static struct {
	u8		room[16384];
	unsigned long	words[STACK_WORDS];
} stack __aligned(64);

/* Everything that an instruction can change. */
struct outcome {
	struct kpd_machine	m;
	unsigned long		stack[STACK_WORDS / 2];
	unsigned long		watch[WATCHED_WORDS];
	unsigned long		balance;
	unsigned int		watchpoints;
	u8			page[PAGE_SIZE];
};

static struct {
	u64			seed;
	int			cpu;
	u8			*page;		/* unmapped on both sides */
	u8			*read_only;
	struct page		*read_only_page;
	struct outcome		*native;	/* of one row in each round */
	struct outcome		probed;
	unsigned int		watchpoints;
} d;

static unsigned long random_below(struct rnd_state *rnd, u32 ceil)
{
	return prandom_u32_state(rnd) % ceil;
}

/*
 * A random state to start from
 */

/* Some of the first rounds fault, whatever the size of the operand, and some do not. */
static void fault_state(struct rnd_state *rnd, unsigned int round, u32 with,
			struct kpd_machine *m)
{
	unsigned long end = (unsigned long)d.page + PAGE_SIZE;
	unsigned long room = with & REPEATS ? random_below(rnd, 20) : round & 1;
	int i;

	if (with & AT_END)
		m->r[REG_BX] = end - round % 4;
	if (with & READ_ONLY)
		m->r[REG_BX] = (unsigned long)d.read_only + random_below(rnd, 32);
	if (with & NOT_CANONICAL)
		m->r[REG_BX] = (ULONG_MAX >> 4) - random_below(rnd, 4096);
	if (with & WATCHED)
		m->r[REG_BX] = (unsigned long)kpd_watch;
	if (with & NO_DIVISOR)
		m->r[REG_CX] = 0;

	/* The operand of a string instruction that does not fault is in the middle. */
	if (with & (SI_END | SI_START | DI_END | DI_START | DI_READ_ONLY)) {
		m->r[REG_SI] = (unsigned long)d.page + PAGE_SIZE / 2;
		m->r[REG_DI] = m->r[REG_SI] + 512;
		m->flags &= ~X86_EFLAGS_DF;
	}
	if (with & (SI_START | DI_START))
		m->flags |= X86_EFLAGS_DF;
	if (with & SI_END)
		m->r[REG_SI] = end - room;
	if (with & SI_START)
		m->r[REG_SI] = (unsigned long)d.page + room;
	if (with & DI_END)
		m->r[REG_DI] = end - room;
	if (with & DI_START)
		m->r[REG_DI] = (unsigned long)d.page + room;
	if (with & DI_READ_ONLY)
		m->r[REG_DI] = (unsigned long)d.read_only;
	if (with & WATCHED) {
		m->r[REG_SI] = (unsigned long)kpd_watch;
		m->r[REG_DI] = (unsigned long)kpd_watch;
	}
	if (with & LOW) {
		for (i = 0; i < NR_REGS; i++) {
			if (i != REG_SP)
				m->r[i] = random_below(rnd, 0x3000);
		}
		/* These are user addresses; AC makes the access a permitted one. */
		m->flags |= X86_EFLAGS_AC;
	}
	if (with & REPEATS) {
		m->r[REG_CX] = 32 + random_below(rnd, 16);
		/* Comparisons continue for a while, or to the end. */
		if (round) {
			memset(d.page, 0x5a, PAGE_SIZE);
			m->r[REG_AX] = 0x5a * REPEAT_BYTE(1);
			if (with & DI_END)
				m->r[REG_AX] ^= 1;
		}
	}
}

static void set_state(const struct form *f, unsigned int round)
{
	struct kpd_machine *m = &kpd_machine;
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, (d.seed + (u64)(unsigned long)(f - kpd_faults) * ROUNDS +
				  round) * GOLDEN_RATIO_64);

	memset(m, 0, sizeof(*m));
	for (i = 0; i < NR_REGS; i++)
		m->r[i] = random_value(&rnd);
	for (i = 0; i < STACK_WORDS; i++)
		stack.words[i] = random_value(&rnd);
	for (i = 0; i < WATCHED_WORDS; i++)
		kpd_watch[i] = random_value(&rnd);
	for (i = 0; i < PAGE_SIZE / sizeof(u32); i++)
		((u32 *)d.page)[i] = prandom_u32_state(&rnd);
	m->r[REG_SP] = (unsigned long)&stack.words[STACK_WORDS / 2];
	m->flags = X86_EFLAGS_FIXED | (random_value(&rnd) & FLAGS_RANDOM);
	if (round & 1)
		m->flags |= X86_EFLAGS_IF;
	m->code = (unsigned long)f->entry;
	m->es = IS_ENABLED(CONFIG_X86_64) ? 0 : __USER_DS;
	fault_state(&rnd, round, f->with, m);
}

/*
 * Running a row, with or without probes
 */

enum inside {
	NOT_INSIDE,
	IN_PRE_HANDLER,
	IN_POST_HANDLER,
};

static void run(const struct form *f, unsigned int round, enum inside inside,
		struct outcome *out)
{
	int count;

	preempt_disable();
	set_state(f, round);
	WRITE_ONCE(d.watchpoints, 0);
	count = preempt_count();
	if (inside == NOT_INSIDE)
		kpd_run();
	else
		kpd_outer();
	out->balance = preempt_count() - count;
	out->balance |= (unsigned long)raw_cpu_read(current_kprobe);
	out->m = kpd_machine;
	out->watchpoints = READ_ONCE(d.watchpoints);
	memcpy(out->stack, stack.words + STACK_WORDS / 2, sizeof(out->stack));
	memcpy(out->watch, kpd_watch, sizeof(out->watch));
	memcpy(out->page, d.page, PAGE_SIZE);
	preempt_enable();
}

/*
 * Probes
 */

#define MAX_USERS	2

/**
 * struct mode - the probes on a row
 * @name: what is special about them
 * @users: how many there are
 * @pre: bit mask of the users with a pre handler
 * @post: bit mask of the users with a post handler
 * @fault: bit mask of the users with a fault handler
 * @inside: the row is executed in the handler of another probe, so that these miss
 */
struct mode {
	const char	*name;
	unsigned int	users;
	unsigned int	pre;
	unsigned int	post;
	unsigned int	fault;
	enum inside	inside;
};

static const struct mode modes[] = {
	{ "pre handler", 1, .pre = 1 },
	{ "both handlers", 1, .pre = 1, .post = 1 },
	{ "fault handler", 1, .pre = 1, .post = 1, .fault = 1 },
	{ "two users", 2, .pre = 3, .post = 2, .fault = 1 },
	{ "in a pre handler", 1, .pre = 1, .inside = IN_PRE_HANDLER },
	{ "in a post handler", 1, .pre = 1, .post = 1, .fault = 1,
	  .inside = IN_POST_HANDLER },
};
KUNIT_ARRAY_PARAM_DESC(mode, modes, name);

struct probe_user {
	struct kprobe	kp;
	unsigned int	pre, post, faults;
};

static int on_pre(struct kprobe *p, struct pt_regs *regs)
{
	container_of(p, struct probe_user, kp)->pre++;
	return 0;
}

static void on_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	container_of(p, struct probe_user, kp)->post++;
}

static int on_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	container_of(p, struct probe_user, kp)->faults++;
	return 0;
}

static unsigned int outer_runs;

static int outer_pre(struct kprobe *p, struct pt_regs *regs)
{
	outer_runs++;
	kpd_run();
	return 0;
}

static void outer_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	outer_pre(p, regs);
}

struct probes {
	struct probe_user	users[MAX_USERS];
	struct kprobe		outer;
};

static void register_all(struct kunit *test, const struct form *f, const struct mode *m,
			 struct probes *p)
{
	unsigned int u;

	memset(p, 0, sizeof(*p));
	for (u = 0; u < m->users; u++) {
		struct kprobe *kp = &p->users[u].kp;

		kp->addr = f->entry + f->skip;
		kp->pre_handler = m->pre & BIT(u) ? on_pre : NULL;
		kp->post_handler = m->post & BIT(u) ? on_post : NULL;
		kp->fault_handler = m->fault & BIT(u) ? on_fault : NULL;
		KUNIT_ASSERT_EQ_MSG(test, register_kprobe(kp), 0, "%s", f->text);
	}
	if (m->inside == NOT_INSIDE)
		return;

	p->outer.addr = kpd_outer_insn;
	if (m->inside == IN_PRE_HANDLER)
		p->outer.pre_handler = outer_pre;
	else
		p->outer.post_handler = outer_post;
	KUNIT_ASSERT_EQ(test, register_kprobe(&p->outer), 0);
}

static void unregister_all(const struct mode *m, struct probes *p)
{
	unsigned int u;

	if (m->inside != NOT_INSIDE)
		unregister_kprobe(&p->outer);
	for (u = 0; u < m->users; u++)
		unregister_kprobe(&p->users[u].kp);
}

/*
 * Comparing
 */

static void judge(struct kunit *test, const struct form *f, unsigned int round,
		  const struct outcome *got, const struct outcome *want)
{
	int i;

	for (i = 0; i < NR_REGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, got->m.r[i], want->m.r[i],
				    "%s, round %u of seed %llu: register %d", f->text, round,
				    d.seed, i);
	KUNIT_EXPECT_EQ_MSG(test, got->m.flags, want->m.flags, "%s, round %u of seed %llu",
			    f->text, round, d.seed);
	KUNIT_EXPECT_EQ_MSG(test, got->m.es, want->m.es, "%s", f->text);
	KUNIT_EXPECT_EQ_MSG(test, got->m.exit, want->m.exit, "%s, round %u of seed %llu",
			    f->text, round, d.seed);
	KUNIT_EXPECT_EQ_MSG(test, memcmp(got->stack, want->stack, sizeof(got->stack)), 0,
			    "%s, round %u of seed %llu", f->text, round, d.seed);
	KUNIT_EXPECT_EQ_MSG(test, memcmp(got->watch, want->watch, sizeof(got->watch)), 0,
			    "%s, round %u of seed %llu", f->text, round, d.seed);
	KUNIT_EXPECT_EQ_MSG(test, memcmp(got->page, want->page, PAGE_SIZE), 0,
			    "%s, round %u of seed %llu", f->text, round, d.seed);
	KUNIT_EXPECT_EQ_MSG(test, got->watchpoints, want->watchpoints,
			    "%s, round %u of seed %llu", f->text, round, d.seed);
	KUNIT_EXPECT_EQ_MSG(test, got->balance, 0, "%s", f->text);
}

/* After a fault the instruction has not ended, so no post handler is called. */
static void judge_hits(struct kunit *test, const struct form *f, const struct mode *m,
		       const struct probes *p, const struct outcome *want)
{
	bool hit = m->inside == NOT_INSIDE, faulted = want->m.exit == DIFF_TAKEN;
	unsigned int u;

	for (u = 0; u < m->users; u++) {
		const struct probe_user *user = &p->users[u];

		KUNIT_EXPECT_EQ_MSG(test, user->pre, hit && m->pre & BIT(u), "%s", f->text);
		KUNIT_EXPECT_EQ_MSG(test, user->post, hit && m->post & BIT(u) && !faulted,
				    "%s", f->text);
		KUNIT_EXPECT_EQ_MSG(test, user->faults, hit && m->fault & BIT(u) && faulted,
				    "%s", f->text);
	}
	KUNIT_EXPECT_EQ(test, outer_runs, !hit);
}

/* One row in one mode; returns the number of rounds in which it did not complete. */
static unsigned int run_and_judge(struct kunit *test, const struct form *f,
				  const struct mode *m)
{
	struct probes *p __free(kfree) = kzalloc(sizeof(*p), GFP_KERNEL);
	/* Every other state has interrupts on; handlers must have them off. */
	unsigned int round, u, faulted = 0, step = m->inside == NOT_INSIDE ? 1 : 2;

	KUNIT_ASSERT_NOT_NULL(test, p);
	for (round = 0; round < ROUNDS; round++) {
		run(f, round, NOT_INSIDE, &d.native[round]);
		faulted += d.native[round].m.exit == DIFF_TAKEN;
	}

	register_all(test, f, m, p);
	for (round = 0; round < ROUNDS; round += step) {
		for (u = 0; u < MAX_USERS; u++) {
			p->users[u].pre = 0;
			p->users[u].post = 0;
			p->users[u].faults = 0;
		}
		outer_runs = 0;
		run(f, round, m->inside, &d.probed);
		judge(test, f, round, &d.probed, &d.native[round]);
		judge_hits(test, f, m, p, &d.native[round]);
	}
	unregister_all(m, p);
	cond_resched();
	return faulted;
}

/* When an instruction faults, its partial work is done once, and handlers see it. */
static void differential_faults(struct kunit *test)
{
	const struct mode *m = test->param_value;
	const struct form *f;
	unsigned int partial = 0, round;

	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(d.cpu)), 0);
	for (f = kpd_faults; f < kpd_faults_end; f++) {
		KUNIT_EXPECT_GT_MSG(test, run_and_judge(test, f, m), 0, "%s", f->text);
		for (round = 0; round < ROUNDS && f->with & REPEATS; round++)
			partial += d.native[round].m.exit == DIFF_TAKEN &&
				   d.native[round].m.r[REG_CX] < 32;
	}
	KUNIT_EXPECT_GT(test, partial, 20);
}

static void on_watchpoint(struct perf_event *event, struct perf_sample_data *data,
			  struct pt_regs *regs)
{
	WRITE_ONCE(d.watchpoints, d.watchpoints + 1);
}

/* A debug exception between a copy and the jump after it disturbs neither. */
static void differential_watchpoints(struct kunit *test)
{
	const struct mode *m = test->param_value;
	struct perf_event_attr attr;
	struct perf_event * __percpu *watchpoint;
	unsigned int seen = 0, round;
	const struct form *f;

	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(d.cpu)), 0);
	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)kpd_watch;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.bp_type = HW_BREAKPOINT_RW;
	watchpoint = register_wide_hw_breakpoint(&attr, on_watchpoint, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR((void __force *)watchpoint));

	for (f = kpd_watched; f < kpd_watched_end; f++) {
		run_and_judge(test, f, m);
		for (round = 0; round < ROUNDS; round++)
			seen += d.native[round].watchpoints;
	}
	unregister_wide_hw_breakpoint(watchpoint);
	/* All but one access it. */
	KUNIT_EXPECT_GE(test, seen, ROUNDS * (kpd_watched_end - kpd_watched - 1));
}

static void fault_exit(struct kunit_suite *suite)
{
	kprobe_test_allow_optimization(true);
	if (d.read_only)
		vunmap(d.read_only);
	if (d.read_only_page)
		__free_page(d.read_only_page);
	vfree(d.page);
	vfree(d.native);
}

static int fault_init(struct kunit_suite *suite)
{
	/* None of the modes uses a jump, which would be set up in the middle. */
	kprobe_test_allow_optimization(false);
	memset(&d, 0, sizeof(d));
	d.seed = get_random_u32();
	pr_info("seed %llu\n", d.seed);
	d.cpu = raw_smp_processor_id();
	d.native = vzalloc(array_size(ROUNDS, sizeof(*d.native)));
	d.page = vmalloc(PAGE_SIZE);
	d.read_only_page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (d.read_only_page)
		d.read_only = vmap(&d.read_only_page, 1, VM_MAP, PAGE_KERNEL_RO);
	if (!d.native || !d.page || !d.read_only) {
		fault_exit(suite);
		return -ENOMEM;
	}

	return 0;
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE_PARAM(differential_faults, mode_gen_params),
	KUNIT_CASE_PARAM(differential_watchpoints, mode_gen_params),
	{}
};

static struct kunit_suite fault_suite = {
	.name		= "kprobes_x86_differential_fault",
	.suite_init	= fault_init,
	.suite_exit	= fault_exit,
	.test_cases	= fault_cases,
};
kunit_test_suite(fault_suite);
