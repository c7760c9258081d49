// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization: each kind of instruction in a detour, what has to keep its breakpoint, what
 * handlers in a detour must not inherit, and tasks that are stopped in one.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/extable.h>
#include <asm/hw_irq.h>
#include <asm/interrupt.h>
#include <asm/kup.h>
#include <asm/ppc-opcode.h>
#include <asm/reg.h>
#ifdef CONFIG_PPC64
#include <asm/paca.h>
#endif

#include "../../../../../kernel/kprobes/insn_slots.h"
#include "../detour.h"
#include "forms.h"
#include "stopped.h"
#include "storm.h"

static void nothing_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static void call_form(struct kunit *test, const struct kpb_form *f, const unsigned long *want)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kpb_args); i++)
		KUNIT_EXPECT_EQ_MSG(test, kpb_run(f->place.fn, kpb_args[i]), want[i],
				    "argument %lx", kpb_args[i]);
}

/* The same results, also after a post handler has come and gone. */
static void optimize_forms(struct kunit *test)
{
	const struct kpb_form *f = test->param_value;
	void *at = kpb_addr(&f->place);
	struct kpb_watch w = { .kp = { .addr = at, .pre_handler = kpb_watch_pre } };
	struct kprobe post = { .addr = at, .post_handler = nothing_post };
	unsigned int i, hits = ARRAY_SIZE(kpb_args) * f->hits;
	unsigned long want[ARRAY_SIZE(kpb_args)];
	bool optimized = !f->no_jump;
	u32 word = kpb_word(at);

	if (!kpb_cpu_has(f->isa))
		kunit_skip(test, "not for this CPU");
	for (i = 0; i < ARRAY_SIZE(kpb_args); i++)
		want[i] = kpb_run(f->place.fn, kpb_args[i]);

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpb_has_jump(at), optimized);
	KUNIT_EXPECT_EQ(test, kpb_has_breakpoint(at), !optimized);
	call_form(test, f, want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), hits);
	KUNIT_EXPECT_EQ(test, w.nip, (unsigned long)at);

	KUNIT_EXPECT_EQ(test, register_kprobe(&post), 0);
	KUNIT_EXPECT_TRUE(test, kpb_has_breakpoint(at));
	call_form(test, f, want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2 * hits);

	unregister_kprobe(&post);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpb_has_jump(at), optimized);
	call_form(test, f, want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 3 * hits);
	KUNIT_EXPECT_EQ(test, w.kp.nmissed, 0);

	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, kpb_word(at), word);
	call_form(test, f, want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 3 * hits);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_EQ(test, preempt_count(), 0);
}

/* Only its first word is replaced, and the copy does not cross 64 bytes. */
static void optimize_a_prefix(struct kunit *test)
{
	struct kpb_watch w = { .kp = { .addr = KPB_AT(pla), .pre_handler = kpb_watch_pre } };
	const u32 *text = (const u32 *)kpb_pla_at, *copy;
	u32 prefix = text[0], suffix = text[1];

	if (!kpb_cpu_has(KPB_ISA_3_1))
		kunit_skip(test, "not for this CPU");

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(text));
	KUNIT_EXPECT_EQ(test, text[1], suffix);
	copy = kpb_copy(text);
	if (copy) {
		KUNIT_EXPECT_EQ(test, copy[0] & ~INSN_PREFIX_D_MASK, prefix & ~INSN_PREFIX_D_MASK);
		KUNIT_EXPECT_NE(test, (unsigned long)copy % 64, 60);
	}
	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, text[0], prefix);
	KUNIT_EXPECT_EQ(test, text[1], suffix);
}

/*
 * What has to keep its breakpoint, and why
 */

KPB_FUNCTION(extable, "777: " PPC_LL "3, 0(3)\n b 2f\n1: li 3, -14\n2:\n" EX_TABLE(777b, 1b));
/* To 256: far away from any text. */
KPB_FUNCTION(ba, "b 1f\n 777: ba 256\n1: addi 3, 3, 1");
KPB_FUNCTION(bgea, "b 1f\n 777: bgea 256\n1: addi 3, 3, 1");
KPB_FUNCTION(bla, "b 1f\n 777: bla 256\n1: addi 3, 3, 1");
/* The old value of LR is needed after the new one would be set. */
KPB_FUNCTION(bgtlrl, "b 1f\n 777: bgtlrl\n1: addi 3, 3, 1");
/* ADDPCIS R1,0: in between, r1 would not be that of a stack. */
KPB_FUNCTION(addpcis_r1, "b 1f\n 777: .long 0x4c200004\n1: addi 3, 3, 1");

static const struct unoptimized {
	const char		*name;
	struct kpb_place	place;
	enum kprobe_noopt	why;
	enum kpb_isa		isa;
	unsigned long		add;
} unoptimized[] = {
	{ "exception table", KPB_PLACE(extable), KPROBE_NOOPT_EXTABLE },
	{ "ba", KPB_PLACE(ba), KPROBE_NOOPT_RANGE, .add = 1 },
	{ "bgea", KPB_PLACE(bgea), KPROBE_NOOPT_RANGE, .add = 1 },
	{ "bla", KPB_PLACE(bla), KPROBE_NOOPT_RANGE, .add = 1 },
	{ "blrl", KPB_PLACE(blrl), KPROBE_NOOPT_INSN, .add = 101 },
	{ "bgtlrl", KPB_PLACE(bgtlrl), KPROBE_NOOPT_INSN, .add = 1 },
#ifdef CONFIG_PPC64
	{ "addpcis r1", KPB_PLACE(addpcis_r1), KPROBE_NOOPT_INSN, KPB_ISA_3_0, 1 },
#endif
};
KUNIT_ARRAY_PARAM_DESC(unoptimized, unoptimized, name);

static u8 why_not(struct kunit *test, void *addr)
{
	u8 jump = 0, why = 0, at = 0;

	KUNIT_EXPECT_EQ_MSG(test, kprobe_test_forecast(addr, &jump, &why, &at), 0, "%pS", addr);
	return why;
}

static void no_jump(struct kunit *test)
{
	const struct unoptimized *u = test->param_value;
	struct kpb_watch w = {
		.kp = { .addr = kpb_addr(&u->place), .pre_handler = kpb_watch_pre },
	};

	if (!kpb_cpu_has(u->isa))
		kunit_skip(test, "not for this CPU");
	KUNIT_EXPECT_EQ(test, why_not(test, w.kp.addr), u->why);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, kpb_has_breakpoint(w.kp.addr));
	/* And the function works. */
	if (u->place.fn == kpb_extable)
		KUNIT_EXPECT_EQ(test, kpb_run(u->place.fn, (unsigned long)&kpb_data.value),
				KPB_VALUE);
	else
		KUNIT_EXPECT_EQ(test, kpb_run(u->place.fn, 1), 1 + u->add);
	unregister_kprobe(&w.kp);
}

/* A detour calls it at its end if the task is to be preempted. */
#ifdef CONFIG_PREEMPTION
static void no_jump_in_what_ends_detours(struct kunit *test)
{
	void *entry = (void *)ppc_function_entry(preempt_schedule_notrace);

	KUNIT_EXPECT_EQ(test, why_not(test, entry), KPROBE_NOOPT_ARCH);
	KUNIT_EXPECT_EQ(test, why_not(test, entry + 4), KPROBE_NOOPT_ARCH);
}
#else
static void no_jump_in_what_ends_detours(struct kunit *test)
{
	kunit_skip(test, "needs PREEMPTION");
}
#endif

/*
 * What a detour executes instead of the instruction
 */

/* Where the probe is, for instructions that are not executed. */
#ifdef CONFIG_PPC64
#define HERE	0xc000000004000000UL
#else
#define HERE	0xc4000000UL
#endif

/* The target of a branch in a detour. */
static unsigned long target_of(const struct kprobe_reencoded *r, unsigned int nr, unsigned long to)
{
	if (nr >= r->nr || !kprobe_insn_is_b(r->words[nr]) ||
	    r->words[nr] & (INSN_AA | INSN_LK))
		return 0;
	return to + nr * sizeof(u32) + sign_extend32(r->words[nr] & PPC_LI_MASK, 25);
}

/* From the place of the new instructions to that of the probe. */
static const long distances[] = {
	16, -16, 4096, -4096, SZ_1M, -SZ_1M, SZ_32M - 64, -SZ_32M + 64, SZ_32M, -SZ_32M - 64,
	SZ_64M, -SZ_64M,
};

static bool is_near(unsigned long from, unsigned long to)
{
	long d = to - from;

	return d >= -SZ_32M && d < SZ_32M;
}

struct recoded {
	const char	*name;
	u32		word;
	/* Of the first word of the copy; 0: there is only a branch. */
	u32		copy;
	/* Where the words behind it go to: to the next instruction, to the target. */
	bool		back, branch;
	long		target;
	bool		absolute;
};

static const struct recoded recoded[] = {
	{ "addi", 0x38630003, 0x38630003, .back = true },
	{ "lwz", 0x80640000, 0x80640000, .back = true },
	{ "blr", 0x4e800020, 0x4e800020 },
	{ "bctr", 0x4e800420, 0x4e800420 },
	{ "bctrl", 0x4e800421, 0x4e800420 },
	{ "bgtlr", 0x4d810020, 0x4d810020, .back = true },
	{ "bdnzlr", 0x4e000020, 0x4e000020, .back = true },
	{ "bgtctr", 0x4d810420, 0x4d810420, .back = true },
	{ "bgtctrl", 0x4d810421, 0x4d810420, .back = true },
	{ "b .+8", 0x48000008, .branch = true, .target = 8 },
	{ "b .-4096", 0x4bfff000, .branch = true, .target = -4096 },
	{ "bl .+8", 0x48000009, .branch = true, .target = 8 },
	{ "b .+33554428", 0x49fffffc, .branch = true, .target = SZ_32M - 4 },
	{ "b .-33554432", 0x4a000000, .branch = true, .target = -SZ_32M },
	{ "ba 256", 0x48000102, .branch = true, .target = 256, .absolute = true },
	{ "bla -256", 0x4bffff03, .branch = true, .target = -256, .absolute = true },
	{ "bgt .+16", 0x41810010, 0x41810008, .back = true, .branch = true, .target = 16 },
	{ "bgt- .-32768", 0x41818000, 0x41810008, .back = true, .branch = true,
	  .target = -32768 },
	{ "bdnz .+32764", 0x42007ffc, 0x42000008, .back = true, .branch = true,
	  .target = 32764 },
	{ "bcl 20,31,.+4", 0x429f0005, 0x429f0008, .back = true, .branch = true, .target = 4 },
	{ "bgtla 256", 0x41810103, 0x41810008, .back = true, .branch = true, .target = 256,
	  .absolute = true },
};
KUNIT_ARRAY_PARAM_DESC(recoded, recoded, name);

static void detour_has(struct kunit *test)
{
	const struct recoded *c = test->param_value;
	struct kprobe p = {
		.addr = (kprobe_opcode_t *)HERE, .opcode = c->word, .ainsn.len = 4,
	};
	unsigned long next = HERE + 4, target = (c->absolute ? 0 : HERE) + c->target;
	unsigned int i, nr, reached = 0;

	KUNIT_EXPECT_EQ(test, kprobe_branch_target(&p), c->branch ? target : 0);
	for (i = 0; i < ARRAY_SIZE(distances); i++) {
		unsigned long to = HERE - distances[i];
		unsigned long back = to + 4, branch = to + (c->back ? 8 : 0);
		bool ok = (!c->back || is_near(back, next)) &&
			  (!c->branch || is_near(branch, target));
		struct kprobe_reencoded r;
		int ret = kprobe_reencode(&r, &p, to);

		KUNIT_EXPECT_EQ_MSG(test, ret, ok ? 0 : -ERANGE, "distance %ld", distances[i]);
		if (ret)
			continue;
		nr = 0;
		if (c->copy)
			KUNIT_EXPECT_EQ(test, r.words[nr++], c->copy);
		if (c->back)
			KUNIT_EXPECT_EQ_MSG(test, target_of(&r, nr++, to), next,
					    "distance %ld", distances[i]);
		if (c->branch)
			KUNIT_EXPECT_EQ_MSG(test, target_of(&r, nr++, to), target,
					    "distance %ld", distances[i]);
		KUNIT_EXPECT_EQ(test, r.nr, nr);
		reached++;
	}
	KUNIT_EXPECT_EQ(test, !reached, c->absolute);
}

/* What reads LR and sets it. */
static void detour_cannot_have(struct kunit *test)
{
	static const u32 words[] = { 0x4e800021, 0x4d810021 };
	struct kprobe_reencoded r;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		struct kprobe p = {
			.addr = (kprobe_opcode_t *)HERE, .opcode = words[i], .ainsn.len = 4,
		};

		KUNIT_EXPECT_EQ(test, kprobe_reencode(&r, &p, HERE + SZ_1M), -EILSEQ);
	}
}

#ifdef CONFIG_PPC64
/* What the words of a constant leave in their register; -1 if they are others. */
static u64 constant(const u32 *word, unsigned int rt)
{
	u64 value;

	/* LIS, ORI, SLDI, ORIS, ORI */
	if (word[0] >> 16 != (15 << 10 | rt << 5) || word[1] >> 16 != (24 << 10 | rt << 5 | rt) ||
	    word[2] != PPC_RAW_SLDI(rt, rt, 32) ||
	    word[3] >> 16 != (25 << 10 | rt << 5 | rt) ||
	    word[4] >> 16 != (24 << 10 | rt << 5 | rt))
		return -1;
	value = (s64)(s16)word[0] << 16 | (word[1] & 0xffff);
	return value << 32 | (u64)(word[3] & 0xffff) << 16 | (word[4] & 0xffff);
}

/* ADDPCIS: the displacement is in three pieces, and counts 64 KiB. */
static void detour_has_a_constant(struct kunit *test)
{
	static const s16 displacements[] = { 0, 1, 2, -1, -2, 63, 64, 0x1234, 0x7fff, -0x8000 };
	static const u32 rts[] = { 0, 3, 12, 31 };
	struct kprobe_reencoded r;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(displacements); i++) {
		for (k = 0; k < ARRAY_SIZE(rts); k++) {
			u32 d = (u16)displacements[i];
			struct kprobe p = {
				.addr = (kprobe_opcode_t *)HERE,
				.opcode = 0x4c000004 | rts[k] << 21 | (d >> 1 & 0x1f) << 16 |
					  (d >> 6) << 6 | (d & 1),
				.ainsn.len = 4,
			};

			KUNIT_EXPECT_TRUE(test, kprobe_insn_is_addpcis(p.opcode));
			KUNIT_ASSERT_EQ(test, kprobe_reencode(&r, &p, HERE + SZ_1M), 0);
			KUNIT_EXPECT_EQ(test, r.nr, 6);
			KUNIT_EXPECT_EQ_MSG(test, constant(r.words, rts[k]),
					    HERE + 4 + ((s64)displacements[i] << 16), "%d, r%u",
					    displacements[i], rts[k]);
			KUNIT_EXPECT_EQ(test, target_of(&r, 5, HERE + SZ_1M), HERE + 4);
		}
	}
}

/* PLD: what is relative to the address has to be moved, and reaches 8 GiB. */
static void detour_has_prefixed(struct kunit *test)
{
	struct kprobe p = {
		.addr = (kprobe_opcode_t *)HERE, .opcode = 0x04100000,
		.ainsn = { .suffix = 0xe4c00010, .len = 8 },
	};
	struct kprobe_reencoded r;

	KUNIT_ASSERT_EQ(test, kprobe_reencode(&r, &p, HERE + SZ_1M), 0);
	KUNIT_EXPECT_EQ(test, r.nr, 3);
	KUNIT_EXPECT_EQ(test, r.words[0], 0x0413fff0);
	KUNIT_EXPECT_EQ(test, r.words[1], 0xe4c00010);
	KUNIT_EXPECT_EQ(test, target_of(&r, 2, HERE + SZ_1M), HERE + 8);

	/* As far down as it reaches. */
	p.opcode = 0x04120000;
	p.ainsn.suffix = 0xe4c00000;
	KUNIT_EXPECT_EQ(test, kprobe_reencode(&r, &p, HERE), 0);
	KUNIT_EXPECT_EQ(test, kprobe_reencode(&r, &p, HERE + 64), -ERANGE);
	KUNIT_EXPECT_EQ(test, kprobe_reencode(&r, &p, HERE - 64), 0);

	/* What is relative to a register stays. */
	p.opcode = 0x04000000;
	p.ainsn.suffix = 0xe4c40010;
	KUNIT_ASSERT_EQ(test, kprobe_reencode(&r, &p, HERE + SZ_1M), 0);
	KUNIT_EXPECT_EQ(test, r.words[0], 0x04000000);
	KUNIT_EXPECT_EQ(test, r.words[1], 0xe4c40010);
}
#else
static void detour_has_a_constant(struct kunit *test)
{
	kunit_skip(test, "no such instruction");
}

static void detour_has_prefixed(struct kunit *test)
{
	kunit_skip(test, "no such instructions");
}
#endif

/* The head of a page that the detour at an address calls. */
static const u32 *called_head(const void *addr)
{
	const u32 *call = kpb_detour(addr) + (KPROBE_DETOUR_ENTER - 1) * sizeof(u32);
	const void *page;

	if (!kpb_detour(addr) || !kprobe_insn_is_b(*call) || !(*call & INSN_LK))
		return NULL;
	page = (void *)ALIGN_DOWN((unsigned long)call, PAGE_SIZE);
	return kprobe_head + ((void *)branch_target(call) - page - KPROBE_HEAD_CODE) / sizeof(u32);
}

/* The last bytes of a detour say whose it is. */
static void detour_knows_its_probe(struct kunit *test)
{
	struct kpb_watch w = { .kp = { .addr = KPB_AT(add), .pre_handler = kpb_watch_pre } };
	struct optimized_kprobe *op;
	void *detour;

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	detour = kpb_detour(w.kp.addr);
	op = container_of(get_kprobe(w.kp.addr), struct optimized_kprobe, kp);
	KUNIT_EXPECT_PTR_EQ(test, detour, (void *)op->optinsn.insn);
	KUNIT_EXPECT_PTR_EQ(test, called_head(w.kp.addr), (const u32 *)kprobe_head);
	if (detour) {
		KUNIT_EXPECT_PTR_EQ(test, *(void **)(detour + KPROBE_DETOUR_OP), (void *)op);
		KUNIT_EXPECT_EQ(test, (unsigned long)detour % 64, 0);
		/* The copy; see kpb_add(). */
		KUNIT_EXPECT_EQ(test, *kpb_copy(w.kp.addr), 0x38630003);
	}
	unregister_kprobe(&w.kp);
}

/*
 * Return probes that are alone at a function
 */

#ifdef CONFIG_KRETPROBES
static unsigned int nr_entries, nr_returns;

static int count_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	nr_entries += regs->gpr[3] == 1;
	return 0;
}

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	nr_returns += regs_return_value(regs) == 101;
	return 0;
}

static const struct alone {
	const char		*name;
	kretprobe_handler_t	entry;
	bool			join;
	unsigned int		maxactive;
} alones[] = {
	{ "alone" },
	{ "with an entry handler", count_entry },
	{ "with a kprobe", NULL, true },
	{ "with both", count_entry, true },
};
KUNIT_ARRAY_PARAM_DESC(alone, alones, name);

static void return_probes_save_a_few_registers(struct kunit *test)
{
	const struct alone *a = test->param_value;
	struct kpb_watch w = {
		.kp = { .symbol_name = "kpb_callee", .pre_handler = kpb_watch_pre },
	};
	struct kretprobe rp = {
		.kp.symbol_name	= "kpb_callee",
		.entry_handler	= a->entry,
		.handler	= count_return,
	};
	unsigned int i;

	nr_entries = 0;
	nr_returns = 0;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	if (a->join)
		KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(rp.kp.addr));
	if (IS_ENABLED(CONFIG_KRETPROBE_NATIVE) && !a->entry && !a->join)
		KUNIT_EXPECT_PTR_EQ(test, called_head(rp.kp.addr), (const u32 *)kretprobe_head);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, kpb_run(kpb_callee, 1), 101);
	KUNIT_EXPECT_EQ(test, nr_returns, 10);
	KUNIT_EXPECT_EQ(test, nr_entries, a->entry ? 10 : 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), a->join ? 10 : 0);

	/* A user that comes later, and goes. */
	if (!a->join) {
		KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_EQ(test, kpb_run(kpb_callee, 1), 101);
		KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
		KUNIT_EXPECT_EQ(test, nr_returns, 11);
	}
	unregister_kprobe(&w.kp);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_callee, 1), 101);
	KUNIT_EXPECT_EQ(test, nr_returns, a->join ? 11 : 12);
	unregister_kretprobe(&rp);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_callee, 1), 101);
	KUNIT_EXPECT_EQ(test, nr_returns, a->join ? 11 : 12);
	KUNIT_EXPECT_EQ(test, rp.nmissed, 0);
}
#endif

/*
 * Hits inside of hits
 */

static unsigned long inner_result;

static int run_load(struct kprobe *p, struct pt_regs *regs)
{
	inner_result = kpb_run(kpb_load, 4);
	return kpb_watch_pre(p, regs);
}

static void nested_hits_miss(struct kunit *test)
{
	struct kpb_watch outer = { .kp = { .addr = KPB_AT(add), .pre_handler = run_load } };
	struct kpb_watch inner = { .kp = { .addr = KPB_AT(load), .pre_handler = kpb_watch_pre } };
	unsigned int jumps;

	/* Both by breakpoints, by a jump in a breakpoint, and both by jumps. */
	for (jumps = 0; jumps < 3; jumps++) {
		struct kprobe post = { .addr = KPB_AT(add), .post_handler = nothing_post };

		kprobe_test_allow_optimization(jumps);
		memset(&outer, 0, sizeof(outer));
		memset(&inner, 0, sizeof(inner));
		outer.kp.addr = KPB_AT(add);
		outer.kp.pre_handler = run_load;
		inner.kp.addr = KPB_AT(load);
		inner.kp.pre_handler = kpb_watch_pre;
		KUNIT_ASSERT_EQ(test, register_kprobe(&outer.kp), 0);
		KUNIT_EXPECT_EQ(test, register_kprobe(&inner.kp), 0);
		if (jumps == 1)
			KUNIT_EXPECT_EQ(test, register_kprobe(&post), 0);
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_EQ(test, kpb_has_jump(inner.kp.addr), jumps > 0);
		KUNIT_EXPECT_EQ(test, kpb_has_jump(outer.kp.addr), jumps == 2);

		KUNIT_EXPECT_EQ(test, kpb_run(kpb_add, 1), 4);
		KUNIT_EXPECT_EQ(test, inner_result, 4 + KPB_VALUE);
		KUNIT_EXPECT_EQ(test, kpb_run(kpb_load, 1), 1 + KPB_VALUE);
		KUNIT_EXPECT_EQ(test, atomic_read(&outer.pre), 1);
		KUNIT_EXPECT_EQ(test, atomic_read(&inner.pre), 1);
		if (jumps == 1)
			unregister_kprobe(&post);
		unregister_kprobe(&inner.kp);
		unregister_kprobe(&outer.kp);
		KUNIT_EXPECT_EQ(test, inner.kp.nmissed, 1);
		KUNIT_EXPECT_EQ(test, outer.kp.nmissed, 0);
	}
	kprobe_test_allow_optimization(true);
}

/*
 * With translation off, or where no exception can return
 */

#ifdef CONFIG_PPC_BOOK3S_64
/* Adds 3 to its argument with instruction and data relocation off, on the stack that r4 is. */
unsigned long kpb_real_mode(unsigned long arg, void *stack);

#define SWITCH_TO(msr)							\
	"	bcl 20, 31, 1f\n"					\
	"1:	mflr 7\n"						\
	"	addi 7, 7, 2f - 1b\n"					\
	"	mtspr 26, 7\n"						\
	"	mtspr 27, " msr "\n"					\
	"	rfid\n"							\
	"2:\n"

asm(KPB_BEGIN(real_mode)
	"	mflr 8\n"
	"	mr 9, 1\n"
	"	mfmsr 10\n"
	"	li 6, 0x30\n"
	"	andc 6, 10, 6\n"
	"	mr 1, 4\n"
	SWITCH_TO("6")
	".globl kpb_in_real_mode\n"
	"kpb_in_real_mode: addi 3, 3, 3\n"
	SWITCH_TO("10")
	"	mr 1, 9\n"
	"	mtlr 8\n"
	"	blr\n"
	KPB_END(real_mode));
extern kprobe_opcode_t kpb_in_real_mode[];

/* The kernel's data is where this is, also without translation. */
static u8 real_mode_stack[SZ_4K] __aligned(16);

static unsigned long run_in_real_mode(void)
{
	void *stack = real_mode_stack + sizeof(real_mode_stack) - 512;
	unsigned long ret = kpb_real_mode(1, stack);

	srr_regs_clobbered();
	return ret;
}

/* Adds 3 to its argument with MSR[RI] off. What follows MTMSRD at once could not be probed. */
KPB_FUNCTION(unrecoverable, "mfmsr 6\n li 7, 0\n mtmsrd 7, 1\n .rept 12\n nop\n .endr\n"
	     "777: addi 3, 3, 3\n mtmsrd 6, 1");

static unsigned long run_unrecoverable(void)
{
	return kpb_run(kpb_unrecoverable, 1);
}

static void expect_no_handler(struct kunit *test, kprobe_opcode_t *at, unsigned long (*run)(void))
{
	struct kpb_watch w = { .kp = { .addr = at, .pre_handler = kpb_watch_pre } };
	unsigned long flags, ret = 0;
	bool jump;

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	jump = kpb_has_jump(w.kp.addr);
	KUNIT_EXPECT_TRUE(test, jump);
	/* A breakpoint would be fatal. */
	if (jump) {
		local_irq_save(flags);
		hard_irq_disable();
		ret = run();
		local_irq_restore(flags);
	}
	KUNIT_EXPECT_EQ(test, ret, 4);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 0);
	unregister_kprobe(&w.kp);
}

/* Neither handlers nor the state of kprobes can be accessed then. */
static void no_handler_in_real_mode(struct kunit *test)
{
	expect_no_handler(test, kpb_in_real_mode, run_in_real_mode);
}

/* An exception in a handler could not return. */
static void no_handler_when_unrecoverable(struct kunit *test)
{
	expect_no_handler(test, KPB_AT(unrecoverable), run_unrecoverable);
}

/*
 * The exit to user space trusts SRR0 and SRR1, if nothing has said that it must not.
 */
static int go_to_callee(struct kprobe *p, struct pt_regs *regs)
{
	regs->nip = kpb_code(kpb_callee);
	return 1;
}

static int leave_srrs_alone(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static void redirection_overwrites_srrs(struct kunit *test)
{
	unsigned int redirects;

	for (redirects = 0; redirects < 2; redirects++) {
		struct kprobe p = {
			.addr = KPB_AT(add),
			.pre_handler = redirects ? go_to_callee : leave_srrs_alone,
		};
		unsigned long flags, ret, srr0 = 0;
		bool valid;

		KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_TRUE(test, kpb_has_jump(p.addr));
		/* As on entry to a system call. */
		local_irq_save(flags);
		hard_irq_disable();
		mtspr(SPRN_SRR0, 0x1000);
		local_paca->srr_valid = 1;
		ret = kpb_run(kpb_add, 1);
		valid = local_paca->srr_valid;
		srr0 = mfspr(SPRN_SRR0);
		local_paca->srr_valid = 0;
		local_irq_restore(flags);
		KUNIT_EXPECT_EQ(test, ret, redirects ? 101 : 4);
		KUNIT_EXPECT_EQ(test, valid, !redirects);
		KUNIT_EXPECT_EQ(test, srr0 == 0x1000, !redirects);
		unregister_kprobe(&p);
	}
}
#endif /* CONFIG_PPC_BOOK3S_64 */

/*
 * Access to user memory, which an exception takes away from the program and its end gives back.
 * Handlers, which are C code, must not inherit it.
 */

#if defined(CONFIG_PPC_KUAP) && defined(CONFIG_PPC_BOOK3S_64)
static bool has_user_access(void)
{
	return mfspr(SPRN_AMR) != AMR_KUAP_BLOCKED;
}

static void set_user_access(bool on)
{
	if (on)
		allow_user_access(NULL, NULL, 0, KUAP_READ_WRITE);
	else
		prevent_user_access(KUAP_READ_WRITE);
}

static bool can_lose_user_access(void)
{
	return mmu_has_feature(MMU_FTR_KUAP);
}
#else
static bool has_user_access(void)
{
	return false;
}

static void set_user_access(bool on)
{
}

static bool can_lose_user_access(void)
{
	return false;
}
#endif

static struct accessing {
	unsigned int		looks, seen;
	/* What the program has lost or gained; and who has run in its place. */
	unsigned int		lost, gained;
	struct task_struct	*hog;
	struct completion	done;
	bool			ran, hog_has;
} accessing;

/* It also reads user memory, or tries to. */
static int look(struct kprobe *p, struct pt_regs *regs)
{
	long v;

	accessing.looks++;
	accessing.seen += has_user_access();
	copy_from_user_nofault(&v, (void __user *)PAGE_SIZE, sizeof(v));
	accessing.seen += has_user_access();
	return 0;
}

/* The program continues after the probed instruction. */
static int look_and_skip(struct kprobe *p, struct pt_regs *regs)
{
	look(p, regs);
	regs->nip = (unsigned long)p->addr + sizeof(u32);
	return 1;
}

static int look_and_return(struct kprobe *p, struct pt_regs *regs)
{
	look(p, regs);
	regs->nip = regs->link;
	return 1;
}

static void access_begin(struct kunit *test)
{
	memset(&accessing, 0, sizeof(accessing));
	init_completion(&accessing.done);
	if (!can_lose_user_access())
		kunit_skip(test, "needs a kernel with KUAP, and the radix MMU");
}

/* With access and without. */
static unsigned long access_call(void (*fn)(void))
{
	unsigned long ret;

	set_user_access(true);
	accessing.lost += !has_user_access();
	ret = kpb_run(fn, 1);
	accessing.lost += !has_user_access();
	set_user_access(false);
	ret += kpb_run(fn, 1);
	accessing.gained += has_user_access();
	return ret;
}

static void access_expect(struct kunit *test, const char *how, unsigned int looks)
{
	KUNIT_EXPECT_EQ_MSG(test, accessing.looks, looks, "%s", how);
	KUNIT_EXPECT_EQ_MSG(test, accessing.seen, 0, "%s", how);
	KUNIT_EXPECT_EQ_MSG(test, accessing.lost, 0, "%s", how);
	KUNIT_EXPECT_EQ_MSG(test, accessing.gained, 0, "%s", how);
	accessing.looks = 0;
	accessing.seen = 0;
	accessing.lost = 0;
	accessing.gained = 0;
}

static void access_jump(struct kunit *test, const struct kprobe *p, bool jump)
{
	kprobe_test_allow_optimization(jump);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpb_has_jump(p->addr), jump);
}

/* In each way out of a detour. */
static void handlers_have_no_user_access(struct kunit *test)
{
	static const struct {
		const char		*name;
		kprobe_pre_handler_t	pre;
		unsigned long		result;
	} ways[] = {
		{ "to its end", look, 4 },
		{ "redirected", look_and_skip, 1 },
		{ "to the caller", look_and_return, 1 },
	};
	unsigned int i;

	access_begin(test);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		struct kprobe p = { .addr = KPB_AT(add), .pre_handler = ways[i].pre };

		KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
		access_jump(test, &p, false);
		KUNIT_EXPECT_EQ(test, access_call(kpb_add), 2 * ways[i].result);
		access_expect(test, "breakpoint", 2);
		access_jump(test, &p, true);
		KUNIT_EXPECT_EQ(test, access_call(kpb_add), 2 * ways[i].result);
		access_expect(test, ways[i].name, 2);
		unregister_kprobe(&p);
	}
}

#ifdef CONFIG_KRETPROBES
static int look_on_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return look(NULL, regs);
}

static int look_on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return look(NULL, regs);
}

static void return_handlers_have_no_user_access(struct kunit *test)
{
	static const kretprobe_handler_t entry_handlers[] = { NULL, look_on_entry };
	unsigned int i;

	access_begin(test);
	for (i = 0; i < ARRAY_SIZE(entry_handlers); i++) {
		struct kretprobe rp = {
			.kp.symbol_name	= "kpb_callee",
			.entry_handler	= entry_handlers[i],
			.handler	= look_on_return,
		};

		KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
		access_jump(test, &rp.kp, false);
		KUNIT_EXPECT_EQ(test, access_call(kpb_callee), 202);
		access_expect(test, "breakpoint", 2 * (1 + i));
		access_jump(test, &rp.kp, true);
		KUNIT_EXPECT_EQ(test, access_call(kpb_callee), 202);
		access_expect(test, "jump", 2 * (1 + i));
		unregister_kretprobe(&rp);
	}
	kprobe_test_allow_optimization(true);
}
#endif

/*
 * Preemption at the end of a detour
 */

#ifdef CONFIG_PREEMPTION
static int hog_thread(void *data)
{
	accessing.hog_has = has_user_access();
	WRITE_ONCE(accessing.ran, true);
	complete(&accessing.done);
	return 0;
}

/* The end of the detour reschedules, as nothing else has done so before. */
static void call_preempted(struct kunit *test, const char *how, const struct kprobe *p,
			   void (*fn)(void), unsigned long want)
{
	bool early, ran, mine;
	unsigned long ret;

	accessing.ran = false;
	accessing.hog_has = false;
	reinit_completion(&accessing.done);
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(p->addr));
	accessing.hog = kthread_create(hog_thread, NULL, "kpb_hog");
	KUNIT_EXPECT_FALSE(test, IS_ERR(accessing.hog));
	if (IS_ERR(accessing.hog))
		return;
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	kthread_bind(accessing.hog, raw_smp_processor_id());
	sched_set_fifo_low(accessing.hog);

	preempt_disable();
	wake_up_process(accessing.hog);
	if (can_lose_user_access())
		set_user_access(true);
	early = READ_ONCE(accessing.ran);
	preempt_enable_no_resched();
	ret = kpb_run(fn, 1);
	mine = !can_lose_user_access() || has_user_access();
	ran = READ_ONCE(accessing.ran);
	if (can_lose_user_access())
		set_user_access(false);
	wait_for_completion(&accessing.done);
	set_cpus_allowed_ptr(current, cpu_possible_mask);

	KUNIT_EXPECT_EQ_MSG(test, ret, want, "%s", how);
	KUNIT_EXPECT_FALSE_MSG(test, early, "%s", how);
	KUNIT_EXPECT_TRUE_MSG(test, ran, "%s", how);
	KUNIT_EXPECT_TRUE_MSG(test, mine, "%s", how);
	KUNIT_EXPECT_FALSE_MSG(test, accessing.hog_has, "%s", how);
}

/* Access to user memory is not passed on to the other task, and is not lost. */
static void preempted_at_the_end(struct kunit *test)
{
	struct kpb_watch w = { .kp = { .addr = KPB_AT(add), .pre_handler = kpb_watch_pre } };

	init_completion(&accessing.done);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	call_preempted(test, "kprobe", &w.kp, kpb_add, 4);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	unregister_kprobe(&w.kp);

#ifdef CONFIG_KRETPROBES
	{
		struct kretprobe rp = {
			.kp.symbol_name = "kpb_callee", .handler = count_return,
		};

		nr_returns = 0;
		KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
		wait_for_kprobe_optimizer();
		call_preempted(test, "return probe", &rp.kp, kpb_callee, 101);
		KUNIT_EXPECT_EQ(test, nr_returns, 1);
		unregister_kretprobe(&rp);
	}
#endif
}
#else
static void preempted_at_the_end(struct kunit *test)
{
	kunit_skip(test, "needs PREEMPTION");
}
#endif

/*
 * Tasks that are stopped in a detour: they loop, and nearly all that they execute is there. A
 * timer looks for them.
 */

/* Until the flag in kpb_data is set. */
KPB_FUNCTION(spin, "addi 4, 4, 2 * " __stringify(BITS_PER_LONG / 8) "\n"
	     "1: 777: " PPC_LL "6, 0(4)\n " PPC_LCMPI "6, 0\n beq 1b\n addi 3, 3, 1");

static struct spinner {
	struct kp_stopped	stopped;
	struct hrtimer		timer;
	unsigned long		result;
	bool			mistaken;
	int			cpu;
} spinner;

#define CATCH_NS	(50 * NSEC_PER_USEC)

static int spinning_thread(void *data)
{
	spinner.result = kpb_run(kpb_spin, 1);
	/* As far as r13 tells. */
	spinner.mistaken = current != spinner.stopped.task;
	spinner.cpu = raw_smp_processor_id();
	return 0;
}

static enum hrtimer_restart catch_it(struct hrtimer *timer)
{
	if (kp_stopped_catch(&spinner.stopped, is_kprobe_optinsn_slot))
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, CATCH_NS);
	return HRTIMER_RESTART;
}

static void start_timer(void *data)
{
	hrtimer_start(&spinner.timer, CATCH_NS, HRTIMER_MODE_REL_PINNED_HARD);
}

static void stop_in_detour(struct kunit *test, struct kpb_watch *w, bool preempt)
{
	kp_stopped_begin(test, &spinner.stopped, spinning_thread, preempt);
	hrtimer_init(&spinner.timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	spinner.timer.function = catch_it;
	spinner.result = 0;
	kpb_data.flag = 0;

	*w = (struct kpb_watch){
		.kp = { .addr = KPB_AT(spin), .pre_handler = kpb_watch_pre },
	};
	KUNIT_EXPECT_EQ(test, register_kprobe(&w->kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(w->kp.addr));

	wake_up_process(spinner.stopped.task);
	smp_call_function_single(spinner.stopped.cpu, start_timer, NULL, true);
	kp_stopped_wait(test, &spinner.stopped);
	hrtimer_cancel(&spinner.timer);
}

static void let_go(struct kunit *test)
{
	WRITE_ONCE(kpb_data.flag, 1);
	kp_stopped_end(&spinner.stopped);
	KUNIT_EXPECT_EQ(test, spinner.result, 2);
	KUNIT_EXPECT_FALSE(test, spinner.mistaken);
}

static void stopped_when_jumps_are_switched_off(struct kunit *test)
{
	u32 copy[MAX_OPTINSN_SIZE] = {};
	struct kpb_watch w;
	void *detour;

	stop_in_detour(test, &w, false);
	detour = kpb_detour(w.kp.addr) ?: copy;
	memcpy(copy, detour, sizeof(copy));

	kprobe_test_allow_optimization(false);
	KUNIT_EXPECT_TRUE(test, kpb_has_breakpoint(w.kp.addr));
	kp_give_it_time();
	KUNIT_EXPECT_MEMEQ(test, detour, copy, sizeof(copy));

	let_go(test);
	/* It may have been stopped on its first way to the handler. */
	KUNIT_EXPECT_GT(test, atomic_read(&w.pre), 0);
	kprobe_test_allow_optimization(true);
	unregister_kprobe(&w.kp);
}

static void stopped_when_its_probe_goes(struct kunit *test)
{
	struct kpb_watch other = { .kp = { .addr = KPB_AT(add), .pre_handler = kpb_watch_pre } };
	struct kpb_watch w;

	stop_in_detour(test, &w, true);
	WRITE_ONCE(kpb_data.flag, 1);
	kp_stopped_when_probe_goes(test, &spinner.stopped, &w.kp, &other.kp,
				   kpb_detour(w.kp.addr));
	let_go(test);
}

/* It goes on elsewhere, and with the data of that CPU. */
static void moved_to_another_cpu(struct kunit *test)
{
	int to = cpumask_first(cpu_online_mask);
	struct kpb_watch w;
	unsigned long end;

	stop_in_detour(test, &w, true);
	end = jiffies + 4 * HZ;
	KUNIT_EXPECT_EQ(test, set_cpus_allowed_ptr(spinner.stopped.task, cpumask_of(to)), 0);
	/* There, while the hog still has the other one. */
	WRITE_ONCE(kpb_data.flag, 1);
	while (!READ_ONCE(spinner.result) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_FALSE(test, spinner.stopped.may_go);
	let_go(test);
	KUNIT_EXPECT_EQ(test, spinner.cpu, to);
	unregister_kprobe(&w.kp);
}

/*
 * Jumps that come and go while functions are called
 */

static const struct kpb_form *storm_forms[64];
static unsigned int nr_storm_forms;

static kprobe_opcode_t *form_at(unsigned int n)
{
	return kpb_addr(&storm_forms[n]->place);
}

static unsigned long run_form(unsigned int n, unsigned long arg)
{
	return kpb_run(storm_forms[n]->place.fn, arg);
}

/* Others use the same memory in each call, and these all run at once. */
static bool shares_memory(const struct kpb_form *f)
{
	return !strncmp(f->name, "store", 5) || !strcmp(f->name, "load_multi");
}

static void results_while_jumps_come_and_go(struct kunit *test)
{
	struct kp_storm_arch arch = {
		.at		= form_at,
		.call		= run_form,
		.args		= kpb_args,
		.nr_args	= ARRAY_SIZE(kpb_args),
	};
	unsigned int i;

	nr_storm_forms = 0;
	for (i = 0; i < nr_kpb_forms && nr_storm_forms < ARRAY_SIZE(storm_forms); i++) {
		if (kpb_cpu_has(kpb_forms[i].isa) && !shares_memory(&kpb_forms[i]))
			storm_forms[nr_storm_forms++] = &kpb_forms[i];
	}
	arch.nr = nr_storm_forms;
	kp_storm(test, &arch);
}

static struct kunit_case optimize_cases[] = {
	KUNIT_CASE_PARAM(optimize_forms, kpb_form_gen_params),
	KUNIT_CASE(optimize_a_prefix),
	KUNIT_CASE_PARAM(no_jump, unoptimized_gen_params),
	KUNIT_CASE(no_jump_in_what_ends_detours),
	KUNIT_CASE_PARAM(detour_has, recoded_gen_params),
	KUNIT_CASE(detour_cannot_have),
	KUNIT_CASE(detour_has_a_constant),
	KUNIT_CASE(detour_has_prefixed),
	KUNIT_CASE(detour_knows_its_probe),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_PARAM(return_probes_save_a_few_registers, alone_gen_params),
#endif
	KUNIT_CASE(nested_hits_miss),
#ifdef CONFIG_PPC_BOOK3S_64
	KUNIT_CASE(no_handler_in_real_mode),
	KUNIT_CASE(no_handler_when_unrecoverable),
	KUNIT_CASE(redirection_overwrites_srrs),
#endif
	KUNIT_CASE(handlers_have_no_user_access),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(return_handlers_have_no_user_access),
#endif
	KUNIT_CASE(preempted_at_the_end),
	KUNIT_CASE(stopped_when_jumps_are_switched_off),
	KUNIT_CASE(stopped_when_its_probe_goes),
	KUNIT_CASE(moved_to_another_cpu),
	KUNIT_CASE_SLOW(results_while_jumps_come_and_go),
	{}
};

static struct kunit_suite optimize_suite = {
	.name		= "kprobes_powerpc_optimize",
	.test_cases	= optimize_cases,
};
kunit_test_suite(optimize_suite);

MODULE_DESCRIPTION("KUnit tests of jump optimization on powerpc");
MODULE_LICENSE("GPL");
