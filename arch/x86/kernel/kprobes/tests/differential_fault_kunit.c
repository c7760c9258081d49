// SPDX-License-Identifier: GPL-2.0-only
/*
 * The differential test of x86, for interrupted instructions: they fault, possibly
 * after part of their work is done, or they access what a debug register watches. The
 * instructions are in differential_faults.S, the engine is in
 * kernel/kprobes/tests/differential.c.
 */

#include "suite.h"

#include <linux/gfp.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/wordpart.h>

#include <asm/processor-flags.h>

#include "differential.h"
#include "differential_faults.h"
#include "differential_forms.h"
#include "differential_insn.h"

#define ROUNDS		8
#define STACK_WORDS	64
#define WATCHED_WORDS	24

#define FLAGS_RANDOM	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |	\
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF |	\
			 X86_EFLAGS_DF | X86_EFLAGS_AC | X86_EFLAGS_ID)

extern const struct kpd_form kpd_faults[], kpd_faults_end[];
extern const struct kpd_form kpd_watched[], kpd_watched_end[];

extern unsigned long kpd_watch[WATCHED_WORDS];
unsigned long kpd_watch[WATCHED_WORDS] __aligned(64);

/* Below the words that are compared, there is room for exceptions. */
static struct {
	u8		room[16384];
	unsigned long	words[STACK_WORDS];
} stack __aligned(64);

/* Everything that an instruction can change. */
struct kpd_state {
	struct kpd_machine	m;
	unsigned long		stack[STACK_WORDS / 2];
	unsigned long		watch[WATCHED_WORDS];
	unsigned int		watchpoints;
	u8			page[PAGE_SIZE];
};

static struct {
	u8			*page;		/* unmapped on both sides */
	u8			*read_only;
	struct page		*read_only_page;
	unsigned int		watchpoints;	/* debug exceptions in this run */
} d;

/*
 * A random state to start from
 */

/* Some of the first rounds fault, whatever the size of the operand, and some do not. */
static void fault_state(struct rnd_state *rnd, unsigned int round, u32 with,
			struct kpd_machine *m)
{
	unsigned long end = (unsigned long)d.page + PAGE_SIZE;
	unsigned long room = with & REPEATS ? kpd_random_below(rnd, 20) : round & 1;
	int i;

	if (with & AT_END)
		m->r[REG_BX] = end - round % 4;
	if (with & READ_ONLY)
		m->r[REG_BX] = (unsigned long)d.read_only + kpd_random_below(rnd, 32);
	if (with & NOT_CANONICAL)
		m->r[REG_BX] = (ULONG_MAX >> 4) - kpd_random_below(rnd, 4096);
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
				m->r[i] = kpd_random_below(rnd, 0x3000);
		}
		/* These are user addresses; AC makes the access a permitted one. */
		m->flags |= X86_EFLAGS_AC;
	}
	if (with & REPEATS) {
		m->r[REG_CX] = 32 + kpd_random_below(rnd, 16);
		/* Comparisons continue for a while, or to the end. */
		if (round) {
			memset(d.page, 0x5a, PAGE_SIZE);
			m->r[REG_AX] = 0x5a * REPEAT_BYTE(1);
			if (with & DI_END)
				m->r[REG_AX] ^= 1;
		}
	}
}

static void fill(const struct kpd_form *f, unsigned int round, struct rnd_state *rnd,
		 struct kpd_state *start)
{
	struct kpd_machine *m = &start->m;

	memset(m, 0, sizeof(*m));
	kpd_random_words(rnd, m->r, sizeof(m->r));
	kpd_random_words(rnd, stack.words, sizeof(stack.words));
	kpd_random_words(rnd, kpd_watch, sizeof(kpd_watch));
	prandom_bytes_state(rnd, d.page, PAGE_SIZE);
	m->r[REG_SP] = (unsigned long)&stack.words[STACK_WORDS / 2];
	m->flags = X86_EFLAGS_FIXED | (kpd_random_value(rnd) & FLAGS_RANDOM);
	if (round & 1)
		m->flags |= X86_EFLAGS_IF;
	m->code = (unsigned long)f->entry;
	m->es = IS_ENABLED(CONFIG_X86_64) ? 0 : __USER_DS;
	fault_state(rnd, round, f->with, m);
}

static void load(const struct kpd_form *f, const struct kpd_state *start)
{
	kpd_machine = start->m;
	WRITE_ONCE(d.watchpoints, 0);
}

static void save(const struct kpd_form *f, struct kpd_state *out)
{
	out->m = kpd_machine;
	out->watchpoints = READ_ONCE(d.watchpoints);
	memcpy(out->stack, stack.words + STACK_WORDS / 2, sizeof(out->stack));
	memcpy(out->watch, kpd_watch, sizeof(out->watch));
	memcpy(out->page, d.page, PAGE_SIZE);
}

/*
 * Comparing
 */

static void same(struct kpd_judge *j, const struct kpd_state *got,
		 const struct kpd_state *want, const struct kpd_state *start)
{
	int i;

	for (i = 0; i < NR_REGS; i++) {
		if (got->m.r[i] != want->m.r[i])
			kpd_complain(j, "register %d is %lx, not %lx", i, got->m.r[i],
				     want->m.r[i]);
	}
	kpd_same(j, "flags", got->m.flags, want->m.flags);
	kpd_same(j, "es", got->m.es, want->m.es);
	kpd_same(j, "the exit", got->m.exit, want->m.exit);
	if (memcmp(got->stack, want->stack, sizeof(got->stack)))
		kpd_complain(j, "the stack differs");
	if (memcmp(got->watch, want->watch, sizeof(got->watch)))
		kpd_complain(j, "the watched words differ");
	if (memcmp(got->page, want->page, sizeof(got->page)))
		kpd_complain(j, "the page differs");
	kpd_same(j, "number of debug exceptions", got->watchpoints, want->watchpoints);
}

static bool faulted(const struct kpd_state *out)
{
	return out->m.exit == DIFF_TAKEN;
}

static const struct kpd_arch fault_arch = {
	.state_size	= sizeof(struct kpd_state),
	.fill		= fill,
	.load		= load,
	.save		= save,
	.same		= same,
	.faulted	= faulted,
};

static struct kpd faults = {
	.name	= "kprobes_x86_differential_fault",
	.arch	= &fault_arch,
	.forms	= kpd_faults,
	.end	= kpd_faults_end,
	.rounds	= ROUNDS,
};

static struct kpd watched = {
	.name	= "kprobes_x86_differential_fault",
	.arch	= &fault_arch,
	.forms	= kpd_watched,
	.end	= kpd_watched_end,
	.rounds	= ROUNDS,
};

/*
 * Cases
 */

/* When an instruction faults, its partial work is done once, and handlers see it. */
static void differential_faults(struct kunit *test)
{
	unsigned int partial = 0, round;
	const struct kpd_form *f;

	kpd_compare(test, &faults, test->param_value);
	for (f = kpd_faults; f < kpd_faults_end; f++) {
		KUNIT_EXPECT_GT_MSG(test, kpd_count_faulted(&faults, f), 0, "%s", f->text);
		for (round = 0; round < ROUNDS && f->with & REPEATS; round++) {
			const struct kpd_state *out = kpd_native(&faults, f, round);

			partial += faulted(out) && out->m.r[REG_CX] < 32;
		}
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
	struct perf_event * __percpu *watchpoint;
	struct perf_event_attr attr;
	unsigned int seen = 0, round;
	const struct kpd_form *f;

	kpd_pin(test, &watched);
	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)kpd_watch;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.bp_type = HW_BREAKPOINT_RW;
	watchpoint = register_wide_hw_breakpoint(&attr, on_watchpoint, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR((void __force *)watchpoint));

	kpd_record_native(&watched);
	kpd_compare(test, &watched, test->param_value);
	unregister_wide_hw_breakpoint(watchpoint);

	for (f = kpd_watched; f < kpd_watched_end; f++) {
		for (round = 0; round < ROUNDS; round++)
			seen += kpd_native(&watched, f, round)->watchpoints;
	}
	/* All but one access it. */
	KUNIT_EXPECT_GE(test, seen, ROUNDS * (kpd_watched_end - kpd_watched - 1));
}

static void free_pages_of_operands(void)
{
	if (d.read_only)
		vunmap(d.read_only);
	if (d.read_only_page)
		__free_page(d.read_only_page);
	vfree(d.page);
	memset(&d, 0, sizeof(d));
}

static int alloc_pages_of_operands(void)
{
	d.page = vmalloc(PAGE_SIZE);
	d.read_only_page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (d.read_only_page)
		d.read_only = vmap(&d.read_only_page, 1, VM_MAP, PAGE_KERNEL_RO);
	if (d.page && d.read_only)
		return 0;

	free_pages_of_operands();
	return -ENOMEM;
}

static void fault_exit(struct kunit_suite *suite)
{
	kpd_exit(&watched);
	kpd_exit(&faults);
	free_pages_of_operands();
}

static int fault_init(struct kunit_suite *suite)
{
	int ret;

	ret = alloc_pages_of_operands();
	if (ret)
		return ret;
	ret = kpd_init(&faults);
	if (ret)
		goto out_free;
	ret = kpd_init(&watched);
	if (ret)
		goto out_exit;
	return 0;

out_exit:
	kpd_exit(&faults);
out_free:
	free_pages_of_operands();
	return ret;
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE_PARAM(differential_faults, kpd_fault_mode_gen_params),
	KUNIT_CASE_PARAM(differential_watchpoints, kpd_fault_mode_gen_params),
	{}
};

KP_SUITE(fault_cases, .name = "kprobes_x86_differential_fault",
	 .suite_init = fault_init, .suite_exit = fault_exit);
