/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the differential suites of arm64 and powerpc share, whose instructions are words. The
 * suite includes it once it has declared the forms, and defined
 *
 *  - FORM_SUITE, its name;
 *  - FORM_INSN, the type of an instruction, read_insn(), which reads one from the text, and
 *    first_word(), which tells its first word;
 *  - MIN_FORMS, how many of them any CPU has, and HAS_KIND(), of which kinds this kernel has any;
 *  - struct kpd_state, with data[] and with the exit of kpd_run() as m.exit.
 *
 * After it, the suite defines the functions that are declared below.
 */
#ifndef _KERNEL_KPROBES_TESTS_DIFFERENTIAL_WORDS_H
#define _KERNEL_KPROBES_TESTS_DIFFERENTIAL_WORDS_H

#include <kunit/static_stub.h>

#include "differential.h"
#include "differential_forms.h"

static bool has_feature(u16 cpu);

/* For struct kpd_arch. */
static bool applies(const struct kpd_form *f, const struct kpd_mode *m);
static const char *executed(const struct kpd_form *f, bool watched);
static bool jumps(const struct kpd_form *f);
static bool callee_jumps(void);
static void fill(const struct kpd_form *f, unsigned int round, struct rnd_state *rnd,
		 struct kpd_state *start);
static void load(const struct kpd_form *f, const struct kpd_state *start);
static void save(const struct kpd_form *f, struct kpd_state *out);
static void same(struct kpd_judge *j, const struct kpd_state *got,
		 const struct kpd_state *want, const struct kpd_state *start);
static void same_regs(struct kpd_judge *j, struct pt_regs *regs, bool post,
		      const struct kpd_state *want, const struct kpd_state *start);
static void change(struct kpd_state *state);
static void change_regs(struct pt_regs *regs);

static const struct kpd_arch differential_arch;

static struct kpd d = {
	.name	= FORM_SUITE,
	.arch	= &differential_arch,
	.forms	= kpd_forms,
	.end	= kpd_forms_end,
};

/* Copies of instructions are stepped, as if no slot were in reach. */
static bool nothing_is_boosted;

/*
 * The instructions, which were read before there was a probe. Nothing is known from the decoder
 * under test.
 */
static FORM_INSN *insns;

static FORM_INSN insn_of(const struct kpd_form *f)
{
	return insns[f - kpd_forms];
}

static u32 word_of(const struct kpd_form *f)
{
	return first_word(insn_of(f));
}

static void differential_exit(struct kunit_suite *suite)
{
	kpd_exit(&d);
	kvfree(insns);
	insns = NULL;
}

static int differential_init(struct kunit_suite *suite)
{
	const struct kpd_form *f;
	int ret;

	insns = kvzalloc_objs(*insns, kpd_forms_end - kpd_forms);
	if (!insns)
		return -ENOMEM;
	for (f = kpd_forms; f < kpd_forms_end; f++)
		insns[f - kpd_forms] = read_insn(kpd_insn(f));

	ret = kpd_init(&d);
	if (ret) {
		kvfree(insns);
		insns = NULL;
	}
	return ret;
}

/*
 * For struct kpd_arch
 */

static bool calls(const struct kpd_form *f)
{
	return f->with & CALLEE;
}

/* How an instruction is executed that a copy may execute. */
static const char *executed_copy(const struct kpd_form *f, bool watched)
{
	bool boosts = IS_ENABLED(CONFIG_PREEMPTION) || !IS_ENABLED(CONFIG_PREEMPT_COUNT);

	if (f->kind == DIFF_EMULATED)
		return "emulated";
	if (boosts && !watched && !nothing_is_boosted)
		return "boosted";
	return f->kind == DIFF_FAST ? "emulated" : "stepped";
}

static bool branched(const struct kpd_state *out)
{
	return out->m.exit != DIFF_NEXT;
}

/* Its result depends only on registers that take any values. */
static bool takes_any(const struct kpd_form *f)
{
	return !f->with;
}

static const char *skip(const struct kpd_form *f)
{
	return has_feature(f->cpu) ? NULL : "not for this CPU";
}

static const struct kpd_arch differential_arch = {
	.state_size	= sizeof(struct kpd_state),
	.min_forms	= MIN_FORMS,
	.min_jumps	= IS_ENABLED(CONFIG_OPTPROBES) ? MIN_FORMS : 0,
	.skip		= skip,
	.applies	= applies,
	.calls		= calls,
	.executed	= executed,
	.jumps		= jumps,
	.callee_jumps	= callee_jumps,
	.fill		= fill,
	.load		= load,
	.save		= save,
	.same		= same,
	.same_regs	= same_regs,
	.branched	= branched,
	.takes_any	= takes_any,
	.change		= change,
	.change_regs	= change_regs,
};

/* For same() and same_regs(). */
static int exit_of(const struct kpd_form *f, unsigned long pc)
{
	u8 *at = (u8 *)(pc & ~3UL);

	if (at == kpd_insn(f) + f->len)
		return DIFF_NEXT;
	if (at == f->taken)
		return DIFF_TAKEN;
	return at == f->back ? DIFF_BACK : -1;
}

static void same_data(struct kpd_judge *j, const struct kpd_state *got,
		      const struct kpd_state *want)
{
	int i;

	for (i = 0; i < DIFF_DATA_SIZE; i++) {
		if (got->data[i] != want->data[i])
			kpd_complain(j, "byte %d of the data is %x, not %x",
				     i - DIFF_DATA_SIZE / 2, got->data[i], want->data[i]);
	}
}

/*
 * Cases
 */

/*
 * All forms in one mode give the same result as without a probe. The current task and the CPU are
 * among what instructions read.
 */
static void differential(struct kunit *test)
{
	kpd_pin(test, &d);
	kpd_record_native(&d);
	kpd_compare(test, &d, test->param_value);
}

static const struct kpd_mode missed_modes[] = {
	{ "optimized, in an optimized pre handler", 1, .pre = 1, .jumps = true,
	  .inside = KPD_IN_PRE_HANDLER },
	{ "two users, optimized, in an optimized pre handler", 2, .pre = 3, .jumps = true,
	  .inside = KPD_IN_PRE_HANDLER },
};
KUNIT_ARRAY_PARAM_DESC(missed_mode, missed_modes, name);

/* Jumps are taken inside the detour of another probe. */
static void differential_missed_jumps(struct kunit *test)
{
	differential(test);
}

static bool never(void)
{
	return false;
}

static const struct kpd_mode stepped_modes[] = {
	{ "pre handler", 1, .pre = 1 },
	{ "both handlers", 1, .pre = 1, .post = 1 },
	{ "two users", 2, .pre = 3 },
	{ "in a pre handler", 1, .pre = 1, .inside = KPD_IN_PRE_HANDLER },
	{ "in a post handler", 1, .pre = 1, .inside = KPD_IN_POST_HANDLER },
	{ "optimized", 1, .pre = 1, .jumps = true },
};
KUNIT_ARRAY_PARAM_DESC(stepped_mode, stepped_modes, name);

/* The same where no copy branches back, so that missed ones are emulated or stepped, too. */
static void differential_stepped(struct kunit *test)
{
	kunit_activate_static_stub(test, kprobe_boosts, never);
	nothing_is_boosted = true;
	differential(test);
	nothing_is_boosted = false;
	kunit_deactivate_static_stub(test, kprobe_boosts);
}

/* Pitfalls that concern some of the forms: these are checked in all modes. */
struct group {
	const char	*name;
	u32		mask;
	u32		value;
	unsigned int	least;		/* 0: not for this kernel */
};

static bool is_in_group(const struct kpd_form *f, const void *group)
{
	const struct group *g = group;

	return (word_of(f) & g->mask) == g->value;
}

static void differential_group(struct kunit *test)
{
	const struct group *g = test->param_value;
	const struct kpd_form *f;
	unsigned int nr = 0;

	KP_SKIP_IF(test, !g->least, "not for this kernel");
	for (f = kpd_forms; f < kpd_forms_end; f++)
		nr += is_in_group(f, g);
	KUNIT_EXPECT_GE(test, nr, g->least);
	KP_SKIP_IF(test, !kpd_check_group(test, &d, is_in_group, g), "not for this CPU");
}

/* Registers are those of the program, whatever the mode. */
static void shown_to_handlers(struct kunit *test)
{
	kpd_check_shown(test, &d);
}

/* Whatever the mode, preemption is as before, and no probe is current. */
static void nothing_is_left(struct kunit *test)
{
	kpd_check_balance(test, &d);
}

static bool is_conditional(const struct kpd_form *f);

/* The states are diverse: every condition was seen to hold and not to hold. */
static void differential_branches(struct kunit *test)
{
	kpd_check_branches(test, &d, is_conditional);
}

static unsigned int insn_len(const struct kpd_form *f);
static bool is_same_form(const struct kpd_form *a, const struct kpd_form *b);

/* Each row of the assembly is one instruction, and no two are the same. */
static void differential_forms(struct kunit *test)
{
	unsigned int i, kinds[NR_DIFF_KINDS] = {};
	const struct kpd_form *f, *g;

	for (f = kpd_forms; f < kpd_forms_end; f++) {
		KUNIT_EXPECT_EQ_MSG(test, f->len, insn_len(f), "%s", f->text);
		KUNIT_ASSERT_LT(test, f->kind, NR_DIFF_KINDS);
		for (g = kpd_forms; g < f; g++) {
			if (is_same_form(f, g))
				KUNIT_FAIL(test, "the same: %s and %s", f->text, g->text);
		}
	}
	for (i = 0; i < d.nr_usable; i++)
		kinds[kpd_usable(&d, i)->kind]++;
	for (i = 0; i < NR_DIFF_KINDS; i++) {
		KUNIT_EXPECT_EQ_MSG(test, kinds[i] > 0, HAS_KIND(i), "kind %u", i);
		kunit_info(test, "kind %u: %u\n", i, kinds[i]);
	}
	KUNIT_EXPECT_GE(test, d.nr_usable, MIN_FORMS);
	kunit_info(test, "%zu forms, %u usable\n", d.end - d.forms, d.nr_usable);
}

#endif /* _KERNEL_KPROBES_TESTS_DIFFERENTIAL_WORDS_H */
