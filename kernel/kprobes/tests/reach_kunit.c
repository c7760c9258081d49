// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of how the blacklist is computed: what is reached from a root, and what is not. They run
 * while the code that computes it is still there.
 */

#include "suite.h"

#include <linux/jump_label.h>
#include <linux/math64.h>
#include <linux/time64.h>

#include "../blacklist.h"
#include "../lock.h"
#include "../reach.h"
#include "helpers.h"

#ifdef arch_kprobe_for_each_branch
#define READS_TEXT	1
#else
#define READS_TEXT	0
#endif

#define FUNCTION(name, body)					\
	noinline __noclone __used int name(int v);		\
	noinline __noclone __used int name(int v)		\
	{							\
		OPTIMIZER_HIDE_VAR(v);				\
		body						\
		OPTIMIZER_HIDE_VAR(v);				\
		return v;					\
	}

/* A loop is reached once. */
FUNCTION(kp_reach_loop, v = v > 100 ? kp_reach_loop(v - 1) : v;)
FUNCTION(kp_reach_leaf, v *= 3;)
FUNCTION(kp_reach_middle, v += kp_reach_leaf(v) + kp_reach_loop(v);)
FUNCTION(kp_reach_behind, v *= 5;)
FUNCTION(kp_reach_cut, v += kp_reach_behind(v);)
FUNCTION(kp_reach_root, v += kp_reach_middle(v) + kp_reach_cut(v);)
FUNCTION(kp_reach_other, v += kp_reach_leaf(v);)
/* Neither calls it nor is called. */
FUNCTION(kp_reach_none, v *= 7;)

struct expected {
	int		(*fn)(int v);
	int		(*root)(int v);
};

static const struct expected expected[] __initconst = {
	{ kp_reach_root,	kp_reach_root },
	{ kp_reach_middle,	kp_reach_root },
	{ kp_reach_loop,	kp_reach_root },
	{ kp_reach_other,	kp_reach_other },
	/* Both roots reach it. The nearest one is named. */
	{ kp_reach_leaf,	kp_reach_other },
	{ kp_reach_cut,		NULL },
	{ kp_reach_behind,	NULL },
	{ kp_reach_none,	NULL },
};

static unsigned long root_of[ARRAY_SIZE(expected)] __initdata;
static unsigned int times[ARRAY_SIZE(expected)] __initdata;
static unsigned int nr_wrong __initdata;

static int __init note_function(unsigned long start, unsigned long end, unsigned long root)
{
	unsigned int i;

	nr_wrong += start >= end;
	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		if (start == kp_code(expected[i].fn)) {
			root_of[i] = root;
			times[i]++;
		}
	}
	/* The rest is called nevertheless. */
	return start == kp_code(kp_reach_leaf) ? -EINTR : 0;
}

static void __init reach_follows_calls(struct kunit *test)
{
	static const char * const roots[] __initconst = {
		"kp_reach_root", "kp_reach_other", "kp_no"
	};
	static const char * const cuts[] __initconst = {
		"kp_reach_cut", "kp_reach_root", "kp_reach_other", "kp_no"
	};
	unsigned int i;

	KP_SKIP_IF(test, !READS_TEXT, "the architecture does not read its text");

	/* What is both is a root, whichever comes first. */
	KUNIT_ASSERT_EQ(test, kprobe_blacklist_roots(roots, 1), 0);
	KUNIT_ASSERT_EQ(test, kprobe_blacklist_cuts(cuts, ARRAY_SIZE(cuts)), 0);
	KUNIT_ASSERT_EQ(test, kprobe_blacklist_roots(roots, ARRAY_SIZE(roots)), 0);
	guard(mutex)(&kprobe_mutex);
	KUNIT_EXPECT_EQ(test, kprobe_reach(note_function), -EINTR);
	KUNIT_EXPECT_EQ(test, nr_wrong, 0);
	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		KUNIT_EXPECT_EQ_MSG(test, times[i], expected[i].root ? 1 : 0, "%ps",
				    expected[i].fn);
		KUNIT_EXPECT_EQ_MSG(test, root_of[i],
				    expected[i].root ? kp_code(expected[i].root) : 0, "%ps",
				    expected[i].fn);
	}

	/* Nothing is left over. */
	KUNIT_EXPECT_EQ(test, kprobe_reach(note_function), 0);
	KUNIT_EXPECT_EQ(test, times[0], 1);
}

struct seen {
	unsigned int	nr, nr_of_others;
};

static int __init look_at(const struct kprobe_range *r, void *arg)
{
	struct seen *s = arg;

	if (r->rule == KPROBE_REFUSAL_REACHED) {
		s->nr++;
		s->nr_of_others += r->root != r->start;
	}
	return !r->root != (r->rule != KPROBE_REFUSAL_REACHED);
}

/* Entries say from where they have been reached, and a lookup finds that. */
static void __init reach_names_roots(struct kunit *test)
{
	unsigned long addr = kallsyms_lookup_name("cpuhp_report_idle_dead");
	struct seen s = {};

	KUNIT_EXPECT_EQ(test, kprobe_blacklist_for_each(look_at, &s), 0);
	kunit_info(test, "%u functions\n", s.nr);
	/* With a cut missing, it would be a large part of the kernel. */
	KUNIT_EXPECT_LT(test, s.nr, 600);
	if (addr) {
		KUNIT_EXPECT_GT(test, s.nr, 0);
		addr = kp_code((void *)addr);
		KUNIT_EXPECT_EQ(test, kprobe_blacklist_rule(addr), KPROBE_REFUSAL_REACHED);
		KUNIT_EXPECT_EQ(test, kprobe_blacklist_root(addr), addr);
	}
	if (READS_TEXT)
		KUNIT_EXPECT_GT(test, s.nr_of_others, 0);
	KUNIT_EXPECT_EQ(test, kprobe_blacklist_root(kp_code(kp_reach_none)), 0);
	KUNIT_EXPECT_EQ(test, kprobe_blacklist_root(kp_code(kprobe_busy_begin)), 0);
}

/* scripts/test/qemu may have i386 executed one instruction at a time, if it lacks CMPXCHG8B. */
#define IS_SLOW								\
	(IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KCSAN) ||	\
	 IS_ENABLED(CONFIG_PROVE_LOCKING) || IS_ENABLED(CONFIG_GCOV_KERNEL) || \
	 (IS_ENABLED(CONFIG_X86_32) && !IS_ENABLED(CONFIG_X86_CX8)))

#define MAY_TAKE_MS	(IS_SLOW ? 200 : 20)

/*
 * The 20 ms that the blacklist may cost at boot are those of QEMU's -icount, where an instruction
 * takes a nanosecond. Otherwise the clock of the guest is that of the host, which may do other
 * things meanwhile. It cannot be measured again: architectures look at what is listed so far, and
 * text has changed since, which would put more on the blacklist.
 */
static void __init reach_takes_little_time(struct kunit *test)
{
	kunit_info(test, "%llu us\n", div_u64(kprobe_blacklist_ns, NSEC_PER_USEC));
	if (READS_TEXT)
		KUNIT_EXPECT_GT(test, kprobe_blacklist_ns, 0);
	KUNIT_EXPECT_LT(test, kprobe_blacklist_ns, 5ULL * MAY_TAKE_MS * NSEC_PER_MSEC);
}

#ifdef CONFIG_JUMP_LABEL
/* What a static key may jump to is refused like the code before the jump. */
static void __init reach_follows_jump_labels(struct kunit *test)
{
	unsigned int nr = 0;
	struct jump_entry *e;

	for (e = __start___jump_table; e < __stop___jump_table; e++) {
		if (!is_kernel_text(jump_entry_code(e)) ||
		    kprobe_blacklist_rule(jump_entry_code(e)) != KPROBE_REFUSAL_REACHED)
			continue;
		nr++;
		KUNIT_EXPECT_TRUE_MSG(test, within_kprobe_blacklist(jump_entry_target(e)), "%pS",
				      (void *)jump_entry_target(e));
	}
	kunit_info(test, "%u jumps\n", nr);
}
#else
static void __init reach_follows_jump_labels(struct kunit *test)
{
	kunit_skip(test, "needs JUMP_LABEL");
}
#endif

#if defined(CONFIG_X86_64) && defined(CONFIG_CFI)
/*
 * With cfi=off, the check of an indirect call begins with a jump over the rest. With this hash, the
 * rest decodes as instructions which end in the middle of the next call.
 */
asm("	.pushsection .rodata\n"
"kp_reach_check:\n"
"	.byte	0xeb, 0x0c, 0x81, 0x84, 0x12, 0x34, 0x45, 0x03, 0x53, 0xfc, 0x74, 0x02\n"
"1:	.byte	0x0f, 0x0b, 0x41, 0xff, 0xd3\n"
"	.byte	0xe8, 0x78, 0x56, 0x34, 0x00\n"
"kp_reach_check_end:\n"
"	.popsection\n"
"	.pushsection .kcfi_traps, \"ao\", @progbits, .rodata\n"
"	.long	1b - .\n"
"	.popsection\n");
extern const u8 kp_reach_check[], kp_reach_check_end[];

static int __init note_target(unsigned long target, void *arg)
{
	*(bool *)arg |= target == (unsigned long)kp_reach_check_end + 0x345678;
	return 0;
}

static void __init reach_skips_disabled_checks(struct kunit *test)
{
	bool found = false;

	guard(mutex)(&kprobe_mutex);
	KUNIT_EXPECT_EQ(test, arch_kprobe_for_each_branch((unsigned long)kp_reach_check,
							  (unsigned long)kp_reach_check_end,
							  note_target, &found), 0);
	KUNIT_EXPECT_TRUE(test, found);
}
#else
static void __init reach_skips_disabled_checks(struct kunit *test)
{
	kunit_skip(test, "needs X86_64 and CFI");
}
#endif

#if defined(CONFIG_ARM64) && defined(CONFIG_CFI)
static int __init note_call(unsigned long target, void *arg)
{
	++*(unsigned int *)arg;
	return 0;
}

/* The last word is a hash that looks like a branch, or a branch into the middle of a function. */
static void __init reach_does_not_take_a_hash_for_a_branch(struct kunit *test)
{
	/* b . + 4; ret; b . - 8 */
	const __le32 words[] = { cpu_to_le32(0x14000001), cpu_to_le32(0xd65f03c0),
				 cpu_to_le32(0x17fffffe) };
	unsigned int nr = 0;

	guard(mutex)(&kprobe_mutex);
	KUNIT_EXPECT_EQ(test, arch_kprobe_for_each_branch((unsigned long)words,
							  (unsigned long)(words + 3),
							  note_call, &nr), 0);
	KUNIT_EXPECT_EQ(test, nr, 1);
}
#else
static void __init reach_does_not_take_a_hash_for_a_branch(struct kunit *test)
{
	kunit_skip(test, "needs ARM64 and CFI");
}
#endif

static struct kunit_case reach_cases[] __refdata = {
	KUNIT_CASE(reach_follows_calls),
	KUNIT_CASE(reach_names_roots),
	KUNIT_CASE(reach_takes_little_time),
	KUNIT_CASE(reach_follows_jump_labels),
	KUNIT_CASE(reach_skips_disabled_checks),
	KUNIT_CASE(reach_does_not_take_a_hash_for_a_branch),
	{}
};

static struct kunit_suite reach_suite __refdata = {
	.name		= "kprobes_reach",
	.test_cases	= reach_cases,
};
kunit_test_init_section_suite(reach_suite);
