// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text in which the architecture allows no probes, and text that probes share with a debugger.
 * Which instructions are refused, and why, is up to the architectures' own suites.
 */

#include "suite.h"

#include <linux/kallsyms.h>
#include <linux/kgdb.h>

#include "targets.h"
#ifdef CONFIG_KGDB
#include "../../debug/debug_core.h"
#endif

/* Nothing is registered, and the text stays. */
static int try_at(struct kunit *test, unsigned long addr, enum kprobe_refusal *why)
{
	struct kprobe kp = { .addr = (void *)addr, .pre_handler = kp_watch_pre };
	kprobe_opcode_t *text = (void *)ALIGN_DOWN(addr, sizeof(*text)), before = *text;
	int err;

	err = register_kprobe(&kp);
	*why = err ? kprobe_why_refused(&kp) : KPROBE_REFUSAL_NONE;
	if (!err)
		unregister_kprobe(&kp);
	else
		KUNIT_EXPECT_PTR_EQ(test, get_kprobe((void *)addr), NULL);
	KUNIT_EXPECT_EQ_MSG(test, READ_ONCE(*text), before, "%pS", text);
	return err;
}

/* For a certain reason, or for any. */
static void expect_refused(struct kunit *test, unsigned long addr, enum kprobe_refusal want)
{
	enum kprobe_refusal why;

	KUNIT_EXPECT_EQ_MSG(test, try_at(test, addr, &why), -EINVAL, "%pS", (void *)addr);
	if (want)
		KUNIT_EXPECT_EQ_MSG(test, why, want, "%pS", (void *)addr);
}

/*
 * Blacklisted text
 */

KP_TARGET_PARAM(area, kp_areas)

static void area_is_blacklisted(struct kunit *test)
{
	const struct kp_area *a = test->param_value;
	unsigned long start = (unsigned long)a->start;
	unsigned long end = a->end ? (unsigned long)a->end : start + a->size;

	KP_SKIP_IF(test, !kp_area_exists(a), "this kernel has none");

	KUNIT_ASSERT_LT(test, start, end);
	/* What is copied before it is executed may be among the data of the kernel. */
	if (!kernel_text_address(start)) {
		expect_refused(test, start, KPROBE_REFUSAL_NOT_TEXT);
		return;
	}
	KUNIT_EXPECT_TRUE(test, within_kprobe_blacklist(start));
	KUNIT_EXPECT_TRUE(test, within_kprobe_blacklist(start + (end - start) / 2));
	KUNIT_EXPECT_TRUE(test, within_kprobe_blacklist(end - 1));
	expect_refused(test, start, a->why);
}

static int count_unprotected(void *nr, unsigned long addr)
{
	addr = (unsigned long)dereference_symbol_descriptor((void *)addr);
	*(int *)nr += !within_kprobe_blacklist(addr);
	return 0;
}

/**
 * kp_expect_protected() - expect that functions are blacklisted
 * @test: the case, which fails if one is not, or if one is missing
 * @p: the functions; the last one has no name
 *
 * Context: process context.
 */
void kp_expect_protected(struct kunit *test, const struct kp_protected *p)
{
	int nr;

	for (; p->name; p++) {
		nr = 0;
		kallsyms_on_each_match_symbol(count_unprotected, p->name, &nr);
		KUNIT_EXPECT_EQ_MSG(test, nr, 0, "%d of %s", nr, p->name);
		if (p->exists)
			KUNIT_EXPECT_NOT_NULL_MSG(test, kprobe_lookup_name(p->name, 0), "no %s",
						  p->name);
	}
}

static void waking_path_is_blacklisted(struct kunit *test)
{
	/* The boot CPU comes up before there are probes. */
	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_SMP) && !IS_ENABLED(CONFIG_PM_SLEEP),
		   "no CPU comes up or wakes up");

	kp_expect_protected(test, kp_waking_path);
}

static void hit_path_is_blacklisted(struct kunit *test)
{
	kp_expect_protected(test, kp_hit_path);
}

/* Or else a probe in the tracer would be hit by its own hit, until the stack is full. */
static void hit_path_is_not_traced(struct kunit *test)
{
	const struct kp_protected *p;
	unsigned long addr;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_DYNAMIC_FTRACE), "needs DYNAMIC_FTRACE");

	for (p = kp_hit_path; p->name; p++) {
		addr = (unsigned long)kprobe_lookup_name(p->name, 0);
		if (addr)
			KUNIT_EXPECT_EQ_MSG(test, ftrace_location(addr), 0, "%s", p->name);
	}
}

/*
 * Addresses inside of an instruction
 */

static void needs_an_aligned_address(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(kp_target_addr(&kp_target_add));
	unsigned long addr = (unsigned long)w.kp.addr;
	unsigned int i;

	KP_SKIP_IF(test, KPROBES_TEST_HAS_VARIABLE_INSNS, "instructions start anywhere");

	for (i = 1; i < sizeof(kprobe_opcode_t); i++)
		expect_refused(test, addr + i, KPROBE_REFUSAL_ALIGNMENT);

	/* Beside a probe, too. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	for (i = 1; i < sizeof(kprobe_opcode_t); i++)
		expect_refused(test, addr + i, KPROBE_REFUSAL_ALIGNMENT);
	unregister_kprobe(&w.kp);
}

/*
 * Breakpoints of a debugger
 */

#ifdef CONFIG_KGDB
static void text_is_shared_with_kgdb(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(kp_target_addr(&kp_target_add));
	unsigned long at = (unsigned long)w.kp.addr;
	kprobe_opcode_t text = READ_ONCE(*w.kp.addr);
	enum kprobe_refusal why;

	KUNIT_ASSERT_EQ(test, dbg_set_sw_break(at), 0);
	KUNIT_ASSERT_EQ(test, dbg_activate_sw_breakpoints(), 0);
	KUNIT_EXPECT_NE(test, READ_ONCE(*w.kp.addr), text);
	KUNIT_EXPECT_LT(test, try_at(test, at, &why), 0);
	KUNIT_EXPECT_NE(test, why, KPROBE_REFUSAL_NONE);
	dbg_deactivate_sw_breakpoints();
	KUNIT_EXPECT_EQ(test, dbg_remove_sw_break(at), 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(*w.kp.addr), text);

	/* And the other way around, where a probe is. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, dbg_set_sw_break(at), 0);
	KUNIT_EXPECT_EQ(test, dbg_activate_sw_breakpoints(), 0);
	dbg_deactivate_sw_breakpoints();
	KUNIT_EXPECT_EQ(test, dbg_remove_sw_break(at), 0);
	KUNIT_EXPECT_TRUE(test, kp_target_has_breakpoint(w.kp.addr));
	KUNIT_EXPECT_EQ(test, kp_target_run(&kp_target_add, 4), 7);
	KP_UNWATCH(test, w, 1);
	KUNIT_EXPECT_EQ(test, READ_ONCE(*w.kp.addr), text);
}
#else
KP_SKIPPED(text_is_shared_with_kgdb, "needs KGDB")
#endif

static struct kunit_case text_cases[] = {
	KUNIT_CASE_PARAM(area_is_blacklisted, area_gen_params),
	KUNIT_CASE(waking_path_is_blacklisted),
	KUNIT_CASE(hit_path_is_blacklisted),
	KUNIT_CASE(hit_path_is_not_traced),
	KUNIT_CASE(needs_an_aligned_address),
	KUNIT_CASE(text_is_shared_with_kgdb),
	{}
};

KP_SUITE(text_cases, .name = "kprobes_text",
	 .suite_init = kp_without_jumps, .suite_exit = kp_with_jumps);
