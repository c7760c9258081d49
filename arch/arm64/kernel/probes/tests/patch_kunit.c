// SPDX-License-Identifier: GPL-2.0-only
/*
 * How text is written: which instructions may be replaced while they are executed, and how
 * often other CPUs are stopped or interrupted for that. What the emulator does not show,
 * stale instructions on another CPU, can only be asserted by counting.
 */

#include "suite.h"

#include <linux/stop_machine.h>

#include "../../../../../kernel/kprobes/slots.h"
#include "helpers.h"

struct word {
	const char	*name;
	u32		insn;
	bool		live;
};

static const struct word words[] = {
	{ "b .",		0x14000000, true },
	{ "b .-4",		0x17ffffff, true },
	{ "bl .",		0x94000000, true },
	{ "brk 4",		0xd4200080, true },
	{ "brk 0xffff",		0xd43fffe0, true },
	{ "hvc 0",		0xd4000002, true },
	{ "smc 0",		0xd4000003, true },
	{ "svc 0",		0xd4000001, true },
	{ "isb",		0xd5033fdf, true },
	{ "nop",		0xd503201f, true },
	{ "b.eq .",		0x54000000, false },
	{ "cbz x0, .",		0xb4000000, false },
	{ "tbz x0, 0, .",	0x36000000, false },
	{ "br x0",		0xd61f0000, false },
	{ "blr x0",		0xd63f0000, false },
	{ "ret",		0xd65f03c0, false },
	{ "yield",		0xd503203f, false },
	{ "bti c",		0xd503245f, false },
	{ "paciasp",		0xd503233f, false },
	{ "dsb sy",		0xd5033f9f, false },
	{ "dmb ish",		0xd5033bbf, false },
	{ "clrex",		0xd5033f5f, false },
	{ "mov x9, x30",	0xaa1e03e9, false },
	{ "add x0, x0, 3",	0x91000c00, false },
	{ "hlt 0",		0xd4400000, false },
	{ "dcps1",		0xd4a00001, false },
	{ "udf 0",		0x00000000, false },
};
KUNIT_ARRAY_PARAM_DESC(word, words, name);

static void patch_live_only_what_may_be(struct kunit *test)
{
	const struct word *w = test->param_value;

	KUNIT_EXPECT_EQ(test, kprobe_insn_is_live(w->insn), w->live);
}

KPB_FUNCTION(patched, "b 1f\n 777: nop\n add x1, x1, #1\n1:");

static int patch(void *addr, u32 old, u32 new)
{
	guard(mutex)(&text_mutex);
	return arch_replace_word(addr, old, new);
}

/* All writes to text that CPUs may execute pass here. */
static void patch_live_refuses_others(struct kunit *test)
{
	u32 nop = aarch64_insn_gen_nop(), add = 0x91000421;
	kprobe_opcode_t *at = KPB_AT(patched);

	KUNIT_ASSERT_EQ(test, kpb_word(at), nop);
	KUNIT_ASSERT_EQ(test, kpb_word(at + 1), add);
	KUNIT_EXPECT_EQ(test, patch(at, nop, add), -EINVAL);
	KUNIT_EXPECT_EQ(test, patch(at + 1, add, nop), -EINVAL);
	KUNIT_EXPECT_EQ(test, patch(at + 1, add, BRK64_OPCODE_KPROBES), -EINVAL);
	/* Something else is there. */
	KUNIT_EXPECT_EQ(test, patch(at, BRK64_OPCODE_KPROBES, nop), -EAGAIN);
	KUNIT_EXPECT_EQ(test, patch(at + 1, BRK64_OPCODE_KPROBES, nop), -EAGAIN);
	KUNIT_EXPECT_EQ(test, kpb_word(at), nop);
	KUNIT_EXPECT_EQ(test, kpb_word(at + 1), add);

	KUNIT_EXPECT_EQ(test, patch(at, nop, BRK64_OPCODE_KPROBES), 0);
	KUNIT_EXPECT_EQ(test, kpb_word(at), BRK64_OPCODE_KPROBES);
	KUNIT_EXPECT_EQ(test, patch(at, BRK64_OPCODE_KPROBES, nop), 0);
	KUNIT_EXPECT_EQ(test, kpb_word(at), nop);
}

/*
 * Counting
 */

#define MANY	600
#define CHUNKS	DIV_ROUND_UP(MANY, KPROBE_PATCH_CHUNK)

/* The first instruction, and MANY of them, of which the second half may be replaced live. */
KPB_FUNCTION(many, "777:\n .rept 600\n add x0, x0, #1\n .endr\n .rept 600\n nop\n .endr");

static struct kp_watch stop_watch, kick_watch;

/*
 * Whose stops and kicks count; NULL: all. A worker kicks CPUs when slots of probes that have gone
 * can be reused, and others kick them when they patch text.
 */
static struct task_struct *counted;

static int count_pre(struct kprobe *p, struct pt_regs *regs)
{
	return !counted || counted == current ? kp_watch_pre(p, regs) : 0;
}

struct many {
	struct kprobe	kp[MANY];
	struct kprobe	*kps[MANY];
	unsigned int	nr, hits;
};

static struct many *many;

static int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	many->hits++;
	return 0;
}

/* Every @step-th instruction from @first on. */
static void fill(unsigned int first, unsigned int step, unsigned int nr)
{
	unsigned int i;

	memset(many, 0, sizeof(*many));
	many->nr = nr;
	for (i = 0; i < nr; i++) {
		many->kp[i].addr = KPB_AT(many) + first + i * step;
		many->kp[i].pre_handler = count_hit;
		many->kps[i] = &many->kp[i];
	}
}

#ifdef CONFIG_OPTPROBES
static void flush_detours(void)
{
	wait_for_kprobe_optimizer();
	kp_flush_slots(&kprobe_optinsn_slots);
}
#else
static void flush_detours(void)
{
}
#endif

/* What an earlier case has left to others is done before anything is counted. */
static void count_from_now(struct task_struct *task)
{
	flush_detours();
	kp_flush_slots(&kprobe_insn_slots);
	counted = task;
	atomic_set(&stop_watch.pre, 0);
	atomic_set(&kick_watch.pre, 0);
}

static void expect_counts(struct kunit *test, const char *what, unsigned int stops,
			  unsigned int kicks)
{
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&stop_watch.pre), stops, "stops, %s", what);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&kick_watch.pre), kicks, "kicks, %s", what);
}

struct batch {
	const char	*name;
	unsigned int	first, step, nr;
	unsigned int	stops, kicks;	/* to arm, or to disarm */
};

static const struct batch batches[] = {
	{ "instructions that cannot be replaced live", 0, 1, MANY, CHUNKS, 0 },
	{ "as many as are patched at once", 0, 1, KPROBE_PATCH_CHUNK, 1, 0 },
	{ "one more than that", 0, 1, KPROBE_PATCH_CHUNK + 1, 2, 0 },
	{ "one", 0, 1, 1, 1, 0 },
	{ "instructions that can be replaced live", MANY, 1, MANY, 0, 1 },
	{ "one of them", MANY, 1, 1, 0, 1 },
	/* All CPUs are stopped after the last of them. */
	{ "half of each", 0, 2, MANY, DIV_ROUND_UP(MANY / 2, KPROBE_PATCH_CHUNK), 0 },
	/* And here before it. */
	{ "some of them after all others", MANY - KPROBE_PATCH_CHUNK, 1, KPROBE_PATCH_CHUNK + 9,
	  1, 1 },
};
KUNIT_ARRAY_PARAM_DESC(batch, batches, name);

static void patch_batches_stop_and_kick_so_often(struct kunit *test)
{
	const struct batch *b = test->param_value;
	int ret;

	fill(b->first, b->step, b->nr);
	kprobe_test_allow_optimization(false);
	count_from_now(current);
	ret = register_kprobes(many->kps, b->nr);
	KUNIT_EXPECT_EQ(test, ret, 0);
	if (ret)
		goto out;
	expect_counts(test, "armed", b->stops, b->kicks);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_many, 1), 1 + MANY);
	KUNIT_EXPECT_EQ(test, many->hits, b->nr);

	count_from_now(current);
	unregister_kprobes(many->kps, b->nr);
	expect_counts(test, "disarmed", b->stops, b->kicks);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_many, 1), 1 + MANY);
	KUNIT_EXPECT_EQ(test, many->hits, b->nr);
out:
	kprobe_test_allow_optimization(true);
}

#ifdef CONFIG_OPTPROBES
/* One kick for all jumps that are written together, before or after them. */
static void patch_jumps_kick_so_often(struct kunit *test)
{
	unsigned int i, jumps = 0;
	int ret;

	fill(0, 2, MANY);
	kprobe_test_allow_optimization(false);
	ret = register_kprobes(many->kps, MANY);
	KUNIT_EXPECT_EQ(test, ret, 0);
	if (ret)
		goto out;
	/* A worker writes the jumps. */
	count_from_now(NULL);
	kprobe_test_allow_optimization(true);
	wait_for_kprobe_optimizer();
	for (i = 0; i < MANY; i++)
		jumps += kpb_has_jump(many->kp[i].addr);
	KUNIT_EXPECT_EQ(test, jumps, MANY);
	expect_counts(test, "optimized", 0, CHUNKS);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_many, 1), 1 + MANY);
	KUNIT_EXPECT_EQ(test, many->hits, MANY);

	count_from_now(current);
	kprobe_test_allow_optimization(false);
	expect_counts(test, "with breakpoints again", 0, CHUNKS);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_many, 1), 1 + MANY);
	KUNIT_EXPECT_EQ(test, many->hits, 2 * MANY);
	unregister_kprobes(many->kps, MANY);
out:
	kprobe_test_allow_optimization(true);
}
#else
KP_SKIPPED(patch_jumps_kick_so_often, "needs OPTPROBES")
#endif

static int patch_suite_init(struct kunit_suite *suite)
{
	int ret;

	many = kvzalloc_obj(*many);
	if (!many)
		return -ENOMEM;

	stop_watch = (struct kp_watch)KP_WATCH_BY_NAME("stop_machine_cpuslocked");
	kick_watch = (struct kp_watch)KP_WATCH_BY_NAME("kick_all_cpus_sync");
	stop_watch.kp.pre_handler = count_pre;
	kick_watch.kp.pre_handler = count_pre;
	ret = register_kprobe(&stop_watch.kp);
	if (ret)
		goto free;
	ret = register_kprobe(&kick_watch.kp);
	if (ret)
		goto unregister;
	return 0;

unregister:
	unregister_kprobe(&stop_watch.kp);
free:
	kvfree(many);
	return ret;
}

static void patch_suite_exit(struct kunit_suite *suite)
{
	unregister_kprobe(&kick_watch.kp);
	unregister_kprobe(&stop_watch.kp);
	kvfree(many);
}

static struct kunit_case patch_cases[] = {
	KUNIT_CASE_PARAM(patch_live_only_what_may_be, word_gen_params),
	KUNIT_CASE(patch_live_refuses_others),
	KUNIT_CASE_PARAM(patch_batches_stop_and_kick_so_often, batch_gen_params),
	KUNIT_CASE(patch_jumps_kick_so_often),
	{}
};

KP_SUITE(patch_cases, .name = "kprobes_arm64_patch",
	 .suite_init = patch_suite_init, .suite_exit = patch_suite_exit);
