// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the blacklist: ranges that overlap, and whether everything that must
 * not be probed is refused.
 */

#include "suite.h"

#include <linux/jump_label.h>
#include <linux/kgdb.h>
#include <linux/maple_tree.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <asm/sections.h>

#include "../address.h"
#include "../blacklist.h"
#include "helpers.h"

#define MAX_RANGES	6

struct overlap_case {
	const char		*name;
	struct kprobe_range	in[MAX_RANGES];
	unsigned int		nr_in;
	struct kprobe_range	out[MAX_RANGES];
	unsigned int		nr_out;
};

static const struct overlap_case overlap_cases[] = {
	{
		.name = "empty and inverted ones",
		.in = { { 10, 10 }, { 30, 20 }, { 0, 0 } }, .nr_in = 3,
	}, {
		.name = "touching",
		.in = { { 20, 30 }, { 10, 20 } }, .nr_in = 2,
		.out = { { 10, 20 }, { 20, 30 } }, .nr_out = 2,
	}, {
		.name = "twice the same, of two rules",
		.in = { { 10, 20, 2 }, { 10, 20, 1 } }, .nr_in = 2,
		.out = { { 10, 20, 2 } }, .nr_out = 1,
	}, {
		.name = "inside an earlier one",
		.in = { { 10, 90, 1, 7 }, { 20, 30, 1, 8 }, { 80, 90 } }, .nr_in = 3,
		.out = { { 10, 90, 1, 7 } }, .nr_out = 1,
	}, {
		.name = "around earlier ones",
		.in = { { 20, 30, 1 }, { 40, 50, 2 }, { 10, 60, 3, 7 } }, .nr_in = 3,
		.out = { { 10, 20, 3, 7 }, { 20, 30, 1 }, { 30, 40, 3, 7 }, { 40, 50, 2 },
			 { 50, 60, 3, 7 } }, .nr_out = 5,
	}, {
		.name = "over the end of an earlier one",
		.in = { { 10, 20, 1 }, { 15, 25, 2 } }, .nr_in = 2,
		.out = { { 10, 20, 1 }, { 20, 25, 2 } }, .nr_out = 2,
	}, {
		.name = "over the start of an earlier one",
		.in = { { 15, 25, 1 }, { 10, 20, 2 } }, .nr_in = 2,
		.out = { { 10, 15, 2 }, { 15, 25, 1 } }, .nr_out = 2,
	}, {
		.name = "ends of the address space",
		.in = { { ~0ul - 1, ~0ul }, { 0, 1 } }, .nr_in = 2,
		.out = { { 0, 1 }, { ~0ul - 1, ~0ul } }, .nr_out = 2,
	},
};
KUNIT_ARRAY_PARAM_DESC(overlap, overlap_cases, name);

static void blacklist_overlap(struct kunit *test)
{
	const struct overlap_case *c = test->param_value;
	unsigned long index = 0;
	struct maple_tree tree;
	struct kprobe_range *r;
	unsigned int i;

	mt_init(&tree);
	for (i = 0; i < c->nr_in; i++)
		KUNIT_EXPECT_EQ(test, kprobe_ranges_add(&tree, c->in[i].start, c->in[i].end,
							c->in[i].rule, c->in[i].root), 0);
	i = 0;
	mt_for_each(&tree, r, index, ULONG_MAX) {
		KUNIT_EXPECT_PTR_EQ(test, mtree_load(&tree, r->end - 1), r);
		if (i < c->nr_out) {
			KUNIT_EXPECT_EQ(test, r->start, c->out[i].start);
			KUNIT_EXPECT_EQ(test, r->end, c->out[i].end);
			KUNIT_EXPECT_EQ(test, r->rule, c->out[i].rule);
			KUNIT_EXPECT_EQ(test, r->root, c->out[i].root);
		}
		i++;
		kfree(r);
	}
	KUNIT_EXPECT_EQ(test, i, c->nr_out);
	mtree_destroy(&tree);
}

/* In so many, a walk from the first one would take minutes. */
static void blacklist_is_searched_not_walked(struct kunit *test)
{
	unsigned long nr = 20000, i, wrong = 0, index = 0;
	struct maple_tree tree;
	struct kprobe_range *r;

	mt_init(&tree);
	for (i = 1; i <= nr; i++)
		wrong += !!kprobe_ranges_add(&tree, 16 * i, 16 * i + 8, 1, 0);
	for (i = 1; i <= nr; i++) {
		r = mtree_load(&tree, 16 * i + 7);
		wrong += !r || r->start != 16 * i || mtree_load(&tree, 16 * i + 8);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	mt_for_each(&tree, r, index, ULONG_MAX)
		kfree(r);
	mtree_destroy(&tree);
}

/*
 * Functions for the tests. Variants of them, named like the compiler would name them,
 * are written by hand.
 */
static KP_TRACED(int, kp_bl_marked, v * 3)
NOKPROBE_SYMBOL(kp_bl_marked);

static KP_TRACED(int, kp_bl_free, v * 5)
static KP_TRACED(int, kp_bl_added, v * 7)
static KP_TRACED(int, kp_bl_area, v * 11)
static KP_TRACED(int, kp_bl_middle, v * 13)
static KP_TRACED(int, kp_bl_module, v * 17)

#define MADE_BY_HAND(name, insns)					\
	asm(".pushsection .text\n"					\
	    "\t.balign 16\n"						\
	    "\t.type " name ", %function\n"				\
	    name ":\n"							\
	    ANNOTATE_NOENDBR "\n"					\
	    "\tnop\n\tnop\n\tnop\n\tnop\n"				\
	    insns							\
	    "\t.size " name ", . - " name "\n"				\
	    "\t.popsection\n")

/* For objtool, which insists that the other half of a function exists and, on x86, jumps here. */
#ifdef CONFIG_X86
#define OTHER_HALF(name)						\
	MADE_BY_HAND(name, "\tjmp " name ".cold\n")
#define END	ASM_RET
#else
#define OTHER_HALF(name)	MADE_BY_HAND(name, "")
#define END			""
#endif
OTHER_HALF("kp_bl_marked.isra.0");
OTHER_HALF("kp_bl_free.isra.0");
MADE_BY_HAND("kp_bl_marked.isra.0.cold", END);
MADE_BY_HAND("kp_bl_free.isra.0.cold", END);
extern char marked_variant[] asm("kp_bl_marked.isra.0.cold");
extern char free_variant[] asm("kp_bl_free.isra.0.cold");

static bool all_of_symbol_refused(unsigned long addr)
{
	unsigned long size, offset, i;

	if (!kallsyms_lookup_size_offset(addr, &size, &offset) || offset)
		return false;
	for (i = 0; i < size; i++) {
		if (!within_kprobe_blacklist(addr + i))
			return false;
	}
	return true;
}

static void blacklist_marked_function(struct kunit *test)
{
	struct kprobe p = { .addr = (void *)kp_code(kp_bl_marked) };

	KUNIT_EXPECT_TRUE(test, all_of_symbol_refused(kp_code(kp_bl_marked)));
	KUNIT_EXPECT_FALSE(test, within_kprobe_blacklist(kp_code(kp_bl_free)));
	KUNIT_EXPECT_EQ(test, register_kprobe(&p), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, p.addr, (kprobe_opcode_t *)kp_code(kp_bl_marked));
}

static void blacklist_covers_variants(struct kunit *test)
{
	unsigned long addr = (unsigned long)marked_variant;
	unsigned long split = kallsyms_lookup_name("kp_bl_marked.cold");

	if (!kallsyms_lookup_name("kp_bl_marked.isra.0.cold"))
		kunit_skip(test, "kallsyms does not know the variant");

	/* Keep objtool from seeing a pointer into the middle of a function. */
	OPTIMIZER_HIDE_VAR(addr);
	KUNIT_EXPECT_TRUE(test, within_kprobe_blacklist(addr));
	KUNIT_EXPECT_TRUE(test, within_kprobe_blacklist(addr + 3));
	KUNIT_EXPECT_FALSE(test, within_kprobe_blacklist((unsigned long)free_variant));
	if (split)
		KUNIT_EXPECT_TRUE(test, within_kprobe_blacklist(split));
}

struct seen {
	unsigned long	addr[4];
	unsigned int	times[4];
	unsigned int	nr;
	int		stop_after;
};

static int look_for(const struct kprobe_range *r, void *arg)
{
	struct seen *s = arg;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(s->addr); i++)
		s->times[i] += s->addr[i] && r->start == s->addr[i];
	s->nr++;
	return s->stop_after && s->nr >= s->stop_after ? -EINTR : 0;
}

static void blacklist_shows_all(struct kunit *test)
{
	struct seen s = {
		.addr = {
			kp_code(kp_bl_marked),
			(unsigned long)marked_variant,
			(unsigned long)free_variant,
			kp_code(kprobe_busy_begin),
		},
	};

	KUNIT_EXPECT_EQ(test, kprobe_blacklist_for_each(look_for, &s), 0);
	KUNIT_EXPECT_EQ(test, s.times[0], 1);
	KUNIT_EXPECT_EQ(test, s.times[1], 1);
	KUNIT_EXPECT_EQ(test, s.times[2], 0);
	KUNIT_EXPECT_GE(test, s.times[3], 1);

	s.nr = 0;
	s.stop_after = 3;
	KUNIT_EXPECT_EQ(test, kprobe_blacklist_for_each(look_for, &s), -EINTR);
	KUNIT_EXPECT_EQ(test, s.nr, 3);
}

static void blacklist_add_function(struct kunit *test)
{
	unsigned long addr = kp_code(kp_bl_added), size;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(addr, &size, NULL));
	KUNIT_ASSERT_FALSE(test, within_kprobe_blacklist(addr));

	KUNIT_EXPECT_EQ(test, kprobe_add_ksym_blacklist(addr), size);
	KUNIT_EXPECT_TRUE(test, all_of_symbol_refused(addr));
	KUNIT_EXPECT_FALSE(test, within_kprobe_blacklist(kp_code(kp_bl_free)));
}

/* An address inside a function adds all of the function. */
static void blacklist_add_from_the_middle(struct kunit *test)
{
	unsigned long addr = kp_code(kp_bl_middle), size;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(addr, &size, NULL));
	KUNIT_ASSERT_FALSE(test, within_kprobe_blacklist(addr));

	KUNIT_EXPECT_EQ(test, kprobe_add_ksym_blacklist(addr + 3), size - 3);
	KUNIT_EXPECT_TRUE(test, all_of_symbol_refused(addr));
}

#ifdef CONFIG_MODULES
/* What a module marks comes and goes with it. Here, all of it is in the kernel. */
static void blacklist_of_a_module(struct kunit *test)
{
	unsigned long marked[] = { kp_code(kp_bl_module), (unsigned long)&overlap_cases };
	unsigned long addr = marked[0], size;
	struct seen s = { .addr = { addr, kp_code(kp_bl_marked) } };
	struct module *mod;
	unsigned int i;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(addr, &size, NULL));
	KUNIT_ASSERT_FALSE(test, within_kprobe_blacklist(addr));
	mod = kp_zalloc(test, sizeof(*mod));
	strscpy(mod->name, "kp_bl");

	/* An empty range changes nothing. */
	kprobe_blacklist_add_module(mod);
	kprobe_blacklist_remove_range(mod, addr, addr + size);
	KUNIT_EXPECT_FALSE(test, within_kprobe_blacklist(addr));

	mod->kprobe_blacklist = marked;
	mod->num_kprobe_blacklist = ARRAY_SIZE(marked);
	kprobe_blacklist_add_module(mod);
	KUNIT_EXPECT_TRUE(test, all_of_symbol_refused(addr));

	/* A range that is freed is cut out, up to its first byte and after its last. */
	kprobe_blacklist_remove_range(mod, addr - 1, addr);
	kprobe_blacklist_remove_range(mod, addr + 1, addr + size);
	KUNIT_EXPECT_TRUE(test, all_of_symbol_refused(addr));
	kprobe_blacklist_remove_range(mod, addr, addr + size);
	KUNIT_EXPECT_FALSE(test, within_kprobe_blacklist(addr));

	/* Whole sections, too, each of them alone. */
	mod->num_kprobe_blacklist = 0;
	mod->kprobes_text_start = (void *)addr;
	mod->noinstr_text_start = (void *)addr;
	for (i = 0; i < 2; i++) {
		mod->kprobes_text_size = !i;
		mod->noinstr_text_size = i;
		kprobe_blacklist_add_module(mod);
		KUNIT_EXPECT_TRUE(test, all_of_symbol_refused(addr));
		kprobe_blacklist_remove_range(mod, addr, addr + size);
		KUNIT_EXPECT_FALSE(test, within_kprobe_blacklist(addr));
	}

	KUNIT_EXPECT_EQ(test, kprobe_blacklist_for_each(look_for, &s), 0);
	KUNIT_EXPECT_EQ(test, s.times[0], 0);
	KUNIT_EXPECT_EQ(test, s.times[1], 1);
}
#endif

static void blacklist_add_area(struct kunit *test)
{
	unsigned long addr = kp_code(kp_bl_area);

	KUNIT_ASSERT_FALSE(test, within_kprobe_blacklist(addr));
	KUNIT_EXPECT_EQ(test, kprobe_add_area_blacklist(addr, addr + 1), 0);
	KUNIT_EXPECT_TRUE(test, all_of_symbol_refused(addr));

	/* Empty, and the wrong way round. */
	KUNIT_EXPECT_EQ(test, kprobe_add_area_blacklist(addr, addr), 0);
	KUNIT_EXPECT_EQ(test, kprobe_add_area_blacklist(addr + 1, addr), 0);
}

static void blacklist_refuses_what_is_not_text(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kprobe_add_ksym_blacklist(0), -EINVAL);
	KUNIT_EXPECT_EQ(test, kprobe_add_ksym_blacklist((unsigned long)test), -EINVAL);
	KUNIT_EXPECT_EQ(test, kprobe_add_ksym_blacklist((unsigned long)&overlap_cases),
			-EINVAL);
	KUNIT_EXPECT_FALSE(test, within_kprobe_blacklist((unsigned long)test));
}

/* The debugger's breakpoints are refused at the same places. */
#ifdef CONFIG_KGDB_HONOUR_BLOCKLIST
static void blacklist_of_kgdb(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kgdb_validate_break_address(kp_code(kp_bl_marked)), -EINVAL);
	KUNIT_EXPECT_EQ(test, kgdb_validate_break_address(kp_code(kp_bl_free)), 0);
}
#else
KP_SKIPPED(blacklist_of_kgdb, "needs KGDB_HONOUR_BLOCKLIST")
#endif

#define ON(option)	IS_ENABLED(CONFIG_##option)

#define OWN_RETURNS	(ON(KRETPROBES) && !ON(KRETPROBE_ON_RETHOOK))
/* Parts of detours that are only for return probes. */
#define RETURN_DETOURS	(ON(X86_64) && ON(KRETPROBES) && ON(OPTPROBES) && !ON(FRAME_POINTER))

/*
 * What runs before the recursion guard of a breakpoint, and whether this kernel has
 * it.
 */
struct hit_function {
	const char	*name;
	bool		exists;
};

static const struct hit_function hit_path[] = {
	{ "kprobe_site_pre_handler",		true },
	{ "kprobe_site_post_handler",		true },
	{ "kprobe_site_fault_handler",		true },
	{ "kprobes_inc_nmissed_count",		true },
	{ "kprobe_handler_fault",		true },
	{ "kprobe_busy_begin",			true },
	{ "kprobe_busy_end",			true },
	{ "dump_kprobe",			true },
	{ "kprobe_slots_contain",		true },
#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
	{ "is_kprobe_insn_slot",		true },
#endif
	{ "is_kprobe_optinsn_slot",		ON(OPTPROBES) },
	{ "opt_pre_handler",			ON(OPTPROBES) },
	{ "kprobe_ftrace_entry",		ON(KPROBES_ON_FTRACE) && !ON(X86) && !ON(PPC) },
	{ "kprobe_ftrace_handler",		ON(KPROBES_ON_FTRACE) },
	{ "kprobe_ftrace_claimed_handler",	ON(KPROBES_ON_FTRACE) && (ON(X86) || ON(PPC)) },
	{ "kretprobe_pre_handler",		ON(KRETPROBES) },
	{ "kretprobe_rethook_handler",		ON(KRETPROBE_ON_RETHOOK) },
	{ "kprobe_flush_task",			OWN_RETURNS },
	{ "kretprobe_find_ret_addr",		OWN_RETURNS },
	{ "kretprobe_trampoline_handler",	OWN_RETURNS && !ON(KRETPROBE_NATIVE) },
	{ "__kretprobe_trampoline_handler",	OWN_RETURNS && !ON(KRETPROBE_NATIVE) },
#ifdef CONFIG_KRETPROBE_NATIVE	/* elsewhere it is probed itself, or not protected */
	{ "__kretprobe_trampoline",		true },
#endif
	{ "kretprobe_native_handler",		ON(KRETPROBE_NATIVE) },
	{ "kretprobe_native_entry",		ON(KRETPROBE_NATIVE) },
#ifdef __ARCH_WANT_KPROBES_DETOUR
	{ "kprobe_detour_callback",		ON(OPTPROBES) },
#endif
	{ "kprobe_detour_template",		ON(X86) && ON(OPTPROBES) },
	{ "kprobe_detour_leave",		ON(X86) && ON(OPTPROBES) },
	{ "kretprobe_detour_callback",		RETURN_DETOURS },
	{ "kretprobe_detour_template",		RETURN_DETOURS },
	{ "kretprobe_detour_complete",		RETURN_DETOURS },
	{ "kprobe_jprobe_call",			ON(JPROBES) },
	{ "kprobe_jprobe_landing",		ON(X86) && ON(JPROBES) },
	{ "kprobe_jprobe_enter",		ON(X86) && ON(JPROBES) },
	{ "arch_jprobe_unwind",			ON(JPROBES) },
	{ "kprobe_int3_handler",		ON(X86) },
	{ "exc_int3",				ON(X86) },
	{ "asm_exc_int3",			ON(X86) },
	{ "kprobe_handler",			ON(PPC) },
	{ "kprobe_fault_handler",		true },
	{ "notify_die",				true },
	{ "notifier_call_chain",		true },
	{ "ct_nmi_enter",			ON(CONTEXT_TRACKING_IDLE) },
	{ "ct_nmi_exit",			ON(CONTEXT_TRACKING_IDLE) },
#if defined(CONFIG_X86) || defined(CONFIG_ARM64)
	/* Called for each NMI or breakpoint, before the handler or after it. */
	{ "trace_hwlat_callback",		ON(HWLAT_TRACER) },
	{ "trace_osnoise_callback",		ON(OSNOISE_TRACER) },
#endif
	{ "kgdb_ll_trap",			ON(X86) && ON(KGDB) },
	/* Copied by ftrace, including any breakpoints. */
	{ "ftrace_caller",			ON(DYNAMIC_FTRACE) },
	{ "ftrace_caller_op_ptr",		ON(DYNAMIC_FTRACE) && ON(X86_64) },
	{ "ftrace_call",			ON(DYNAMIC_FTRACE) && !ON(ARM64) && !ON(S390) &&
						!ON(DYNAMIC_FTRACE_WITH_CALL_OPS) },
	{ "ftrace_regs_caller",			ON(DYNAMIC_FTRACE_WITH_REGS) },
	{ "ftrace_regs_caller_op_ptr",		ON(DYNAMIC_FTRACE_WITH_REGS) && ON(X86_64) },
	{ "ftrace_regs_call",			ON(DYNAMIC_FTRACE_WITH_REGS) && !ON(S390) &&
						!ON(DYNAMIC_FTRACE_WITH_CALL_OPS) },
#if KPROBES_TEST_HAS_PROTECTED_RETHOOK
	{ "arch_rethook_trampoline",		ON(RETHOOK) },
#endif
	{ "arch_rethook_trampoline_callback",	ON(RETHOOK) },
	/* Returns of the hit path itself go through one of these. */
	{ "__x86_return_thunk",			ON(X86) },
	{ "its_return_thunk",			ON(MITIGATION_ITS) },
	{ "call_depth_return_thunk",		ON(MITIGATION_CALL_DEPTH_TRACKING) },
	{ "retbleed_return_thunk",		ON(MITIGATION_UNRET_ENTRY) },
	{ "retbleed_untrain_ret",		ON(MITIGATION_UNRET_ENTRY) },
	{ "srso_return_thunk",			ON(MITIGATION_SRSO) },
	{ "srso_safe_ret",			ON(MITIGATION_SRSO) },
	{ "srso_untrain_ret",			ON(MITIGATION_SRSO) },
	{ "srso_alias_return_thunk",		ON(MITIGATION_SRSO) },
	{ "srso_alias_safe_ret",		ON(MITIGATION_SRSO) },
	{ "srso_alias_untrain_ret",		ON(MITIGATION_RETHUNK) },
};

static void blacklist_covers_hit_path(struct kunit *test)
{
	const struct hit_function *f;
	unsigned long addr;

	for (f = hit_path; f < hit_path + ARRAY_SIZE(hit_path); f++) {
		addr = kp_code((void *)kallsyms_lookup_name(f->name));
		if (f->exists)
			KUNIT_EXPECT_NE_MSG(test, addr, 0, "no %s", f->name);
		if (addr)
			KUNIT_EXPECT_TRUE_MSG(test, within_kprobe_blacklist(addr), "%s",
					      f->name);
	}
}

/*
 * Where the architecture does not find branches, a list has the names of what hits call, outside of
 * any guard. These are some of them, of each kind.
 */
#if defined(CONFIG_X86) || defined(CONFIG_ARM64) || defined(CONFIG_PPC)
KP_SKIPPED(blacklist_names_what_hits_call, "branches are followed instead")
#else
static void blacklist_names_what_hits_call(struct kunit *test)
{
	static const char * const names[] = {
		"__asan_load8",
		"__sanitizer_cov_trace_pc",
		"__srcu_check_read_flavor",
		"ftrace_likely_update",
		"kasan_check_range",
		"kgdb_has_hit_break",
		"rcu_is_watching",
		"rcu_read_lock_held",
		"sched_clock",
		"trace_clock_local",
	};
	unsigned long addr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		addr = kp_code((void *)kallsyms_lookup_name(names[i]));
		if (addr)
			KUNIT_EXPECT_TRUE_MSG(test, within_kprobe_blacklist(addr), "%s",
					      names[i]);
	}
	/* It has no mark of its own. */
	if (IS_ENABLED(CONFIG_TREE_RCU))
		KUNIT_EXPECT_EQ(test, kprobe_blacklist_rule(kp_code(rcu_is_watching)),
				KPROBE_REFUSAL_LISTED);
}
#endif

/* A copy of all entries: the walk holds a lock that registering needs, too. */
struct copy {
	struct kprobe_range	*r;
	unsigned int		nr, max;
};

static int copy_range(const struct kprobe_range *r, void *arg)
{
	struct copy *c = arg;

	if (c->r && c->nr < c->max)
		c->r[c->nr] = *r;
	c->nr++;
	return 0;
}

static void blacklist_every_entry_is_refused(struct kunit *test)
{
	struct copy c = {};
	unsigned int i;

	kprobe_blacklist_for_each(copy_range, &c);
	KUNIT_ASSERT_GT(test, c.nr, 50);
	c.max = c.nr;
	c.nr = 0;
	c.r = kp_calloc(test, c.max, sizeof(*c.r));
	kprobe_blacklist_for_each(copy_range, &c);
	KUNIT_EXPECT_EQ(test, c.nr, c.max);

	for (i = 0; i < c.max; i++) {
		struct kprobe p = { .addr = (void *)c.r[i].start };

		KUNIT_EXPECT_NE_MSG(test, kp_vet(c.r[i].start), KPROBE_REFUSAL_NONE, "%pS",
				    (void *)c.r[i].start);
		KUNIT_EXPECT_NE_MSG(test, kp_vet(c.r[i].end - 1), KPROBE_REFUSAL_NONE, "%pS",
				    (void *)c.r[i].end - 1);

		/* The full way, for a sample of them. */
		if (i % 64 == 0)
			KUNIT_EXPECT_NE_MSG(test, register_kprobe(&p), 0, "%pS", p.addr);
	}
}

static void blacklist_sections(struct kunit *test)
{
	unsigned long start = (unsigned long)__noinstr_text_start;
	unsigned long end = (unsigned long)__noinstr_text_end;
	unsigned long size, offset;

	KP_SKIP_IF(test, start == end, "no .noinstr.text");

	while (start < end) {
		if (!kallsyms_lookup_size_offset(start, &size, &offset) || !size)
			break;
		KUNIT_EXPECT_TRUE_MSG(test, within_kprobe_blacklist(start), "%pS",
				      (void *)start);
		start += size - offset;
	}
}

static struct kunit_case blacklist_cases[] = {
	KUNIT_CASE_PARAM(blacklist_overlap, overlap_gen_params),
	KUNIT_CASE(blacklist_is_searched_not_walked),
	KUNIT_CASE(blacklist_marked_function),
	KUNIT_CASE(blacklist_covers_variants),
	KUNIT_CASE(blacklist_shows_all),
	KUNIT_CASE(blacklist_add_function),
	KUNIT_CASE(blacklist_add_from_the_middle),
#ifdef CONFIG_MODULES
	KUNIT_CASE(blacklist_of_a_module),
#endif
	KUNIT_CASE(blacklist_add_area),
	KUNIT_CASE(blacklist_refuses_what_is_not_text),
	KUNIT_CASE(blacklist_of_kgdb),
	KUNIT_CASE(blacklist_covers_hit_path),
	KUNIT_CASE(blacklist_names_what_hits_call),
	KUNIT_CASE(blacklist_every_entry_is_refused),
	KUNIT_CASE(blacklist_sections),
	{}
};

KP_SUITE(blacklist_cases, .name = "kprobes_blacklist");
