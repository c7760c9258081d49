// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization: how an instruction is copied, and what has to keep its breakpoint.
 */

#include "suite.h"

#include <linux/text-patching.h>

#include <asm/extable.h>
#include <asm/hw_irq.h>
#include <asm/interrupt.h>
#include <asm/ppc-opcode.h>
#include <asm/reg.h>

#ifdef CONFIG_PPC64
#include <asm/paca.h>
#endif

#include "../../../../../kernel/kprobes/slots.h"
#include "../detour.h"
#include "forms.h"

/* Only its first word is replaced, and the copy does not cross 64 bytes. */
static void optimize_a_prefix(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(pla));
	const u32 *text = (const u32 *)kpb_pla_at, *copy;
	u32 prefix = text[0], suffix = text[1];

	KP_SKIP_IF(test, !kpb_cpu_has(KPB_ISA_3_1), "not for this CPU");

	KP_REGISTER_AND_WAIT(test, &w.kp);
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
	struct kp_watch w = KP_WATCH(kpb_addr(&u->place));

	KP_SKIP_IF(test, !kpb_cpu_has(u->isa), "not for this CPU");
	KUNIT_EXPECT_EQ(test, why_not(test, w.kp.addr), u->why);
	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_EXPECT_TRUE(test, kpb_has_breakpoint(w.kp.addr));
	/* And the function works. */
	if (u->place.fn == kpb_extable)
		KUNIT_EXPECT_EQ(test, kpb_run(u->place.fn, (unsigned long)&kpb_data.value),
				KPB_VALUE);
	else
		KUNIT_EXPECT_EQ(test, kpb_run(u->place.fn, 1), 1 + u->add);
	unregister_kprobe(&w.kp);
}

/* Not assembled with its branch, because objtool looks for the target of each. */
KPB_FUNCTION(far_b, "b 1f\n 777: nop\n1: addi 3, 3, 1");

/*
 * Whether a branch from the detour reaches the target is known once there is a slot for it. This
 * branch reaches its target; but the pages for detours are above the text.
 */
static void no_jump_is_promised_to_a_far_branch(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(far_b));
	ppc_inst_t far = ppc_inst(PPC_RAW_BRANCH(SZ_64K - SZ_32M));
	u8 jump = KPROBE_JUMP_LONG, why = 0, at = 0;

	scoped_guard(mutex, &text_mutex)
		KUNIT_ASSERT_EQ(test, patch_instruction(w.kp.addr, far), 0);
	KUNIT_EXPECT_EQ(test, kprobe_test_forecast(w.kp.addr, &jump, &why, &at), 0);
	KUNIT_EXPECT_EQ(test, jump, KPROBE_JUMP_UNKNOWN);
	KUNIT_EXPECT_EQ(test, why, 0);
	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_EXPECT_TRUE(test, kpb_has_breakpoint(w.kp.addr));
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_far_b, 1), 2);
	unregister_kprobe(&w.kp);

	KUNIT_EXPECT_EQ(test, kprobe_test_forecast(KPB_AT(b), &jump, &why, &at), 0);
	KUNIT_EXPECT_EQ(test, jump, KPROBE_JUMP_LONG);
}

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
static unsigned long target_of(const struct kprobe_draft *d, unsigned int nr)
{
	if (nr >= d->nr || !kprobe_insn_is_b(d->word[nr]) ||
	    d->word[nr] & (INSN_AA | INSN_LK))
		return 0;
	return d->slot + nr * sizeof(u32) + sign_extend32(d->word[nr] & PPC_LI_MASK, 25);
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
	struct kprobe p = { .addr = (kprobe_opcode_t *)HERE, .opcode = c->word, .ainsn.len = 4 };
	unsigned long next = HERE + 4, target = (c->absolute ? 0 : HERE) + c->target;
	unsigned int i, nr, reached = 0;

	KUNIT_EXPECT_EQ(test, arch_branch_target(&p), c->branch ? target : 0);
	for (i = 0; i < ARRAY_SIZE(distances); i++) {
		unsigned long to = HERE - distances[i];
		unsigned long back = to + 4, branch = to + (c->back ? 8 : 0);
		bool ok = (!c->back || is_near(back, next)) &&
			  (!c->branch || is_near(branch, target));
		struct kprobe_draft d = { .slot = to };
		int ret = kprobe_reencode(&d, &p);

		KUNIT_EXPECT_EQ_MSG(test, ret, ok ? 0 : -ERANGE, "distance %ld", distances[i]);
		if (ret)
			continue;
		nr = 0;
		if (c->copy)
			KUNIT_EXPECT_EQ(test, d.word[nr++], c->copy);
		if (c->back)
			KUNIT_EXPECT_EQ_MSG(test, target_of(&d, nr++), next,
					    "distance %ld", distances[i]);
		if (c->branch)
			KUNIT_EXPECT_EQ_MSG(test, target_of(&d, nr++), target,
					    "distance %ld", distances[i]);
		KUNIT_EXPECT_EQ(test, d.nr, nr);
		reached++;
	}
	KUNIT_EXPECT_EQ(test, !reached, c->absolute);
}

/* What reads LR and sets it. */
static void detour_cannot_have(struct kunit *test)
{
	static const u32 words[] = { 0x4e800021, 0x4d810021 };
	struct kprobe_draft d;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		struct kprobe p = {
			.addr = (kprobe_opcode_t *)HERE, .opcode = words[i], .ainsn.len = 4,
		};

		d = (struct kprobe_draft){ .slot = HERE + SZ_1M };
		KUNIT_EXPECT_EQ(test, kprobe_reencode(&d, &p), -EILSEQ);
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
	struct kprobe_draft d;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(displacements); i++) {
		for (k = 0; k < ARRAY_SIZE(rts); k++) {
			u32 pages = (u16)displacements[i];
			struct kprobe p = {
				.addr = (kprobe_opcode_t *)HERE,
				.opcode = 0x4c000004 | rts[k] << 21 | (pages >> 1 & 0x1f) << 16 |
					  (pages >> 6) << 6 | (pages & 1),
				.ainsn.len = 4,
			};

			KUNIT_EXPECT_TRUE(test, kprobe_insn_is_addpcis(p.opcode));
			d = (struct kprobe_draft){ .slot = HERE + SZ_1M };
			KUNIT_ASSERT_EQ(test, kprobe_reencode(&d, &p), 0);
			KUNIT_EXPECT_EQ(test, d.nr, 6);
			KUNIT_EXPECT_EQ_MSG(test, constant(d.word, rts[k]),
					    HERE + 4 + ((s64)displacements[i] << 16), "%d, r%u",
					    displacements[i], rts[k]);
			KUNIT_EXPECT_EQ(test, target_of(&d, 5), HERE + 4);
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
	struct kprobe_draft d = { .slot = HERE + SZ_1M };

	KUNIT_ASSERT_EQ(test, kprobe_reencode(&d, &p), 0);
	KUNIT_EXPECT_EQ(test, d.nr, 3);
	KUNIT_EXPECT_EQ(test, d.word[0], 0x0413fff0);
	KUNIT_EXPECT_EQ(test, d.word[1], 0xe4c00010);
	KUNIT_EXPECT_EQ(test, target_of(&d, 2), HERE + 8);

	/* As far down as it reaches. */
	p.opcode = 0x04120000;
	p.ainsn.suffix = 0xe4c00000;
	d = (struct kprobe_draft){ .slot = HERE };
	KUNIT_EXPECT_EQ(test, kprobe_reencode(&d, &p), 0);
	d = (struct kprobe_draft){ .slot = HERE + 64 };
	KUNIT_EXPECT_EQ(test, kprobe_reencode(&d, &p), -ERANGE);
	d = (struct kprobe_draft){ .slot = HERE - 64 };
	KUNIT_EXPECT_EQ(test, kprobe_reencode(&d, &p), 0);

	/* What is relative to a register stays. */
	p.opcode = 0x04000000;
	p.ainsn.suffix = 0xe4c40010;
	d = (struct kprobe_draft){ .slot = HERE + SZ_1M };
	KUNIT_ASSERT_EQ(test, kprobe_reencode(&d, &p), 0);
	KUNIT_EXPECT_EQ(test, d.word[0], 0x04000000);
	KUNIT_EXPECT_EQ(test, d.word[1], 0xe4c40010);
}
#else
KP_SKIPPED(detour_has_a_constant, "no such instruction")

KP_SKIPPED(detour_has_prefixed, "no such instructions")
#endif

KPB_FUNCTION(changed, "777: addi 3, 3, 7");

/* A jump that others have changed cannot be removed. Tasks may still be in its detour. */
static void detour_of_a_changed_jump_stays(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(changed));
	ppc_inst_t insn = ppc_inst(READ_ONCE(*w.kp.addr));
	unsigned int before;

	wait_for_kprobe_optimizer();
	kp_flush_slots(&kprobe_optinsn_slots);
	before = kprobe_slots_taken(&kprobe_optinsn_slots);
	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_ASSERT_NOT_NULL(test, kpb_detour(w.kp.addr));
	scoped_guard(mutex, &text_mutex)
		KUNIT_EXPECT_EQ(test, patch_instruction(w.kp.addr, insn), 0);
	unregister_kprobe(&w.kp);
	wait_for_kprobe_optimizer();
	kp_flush_slots(&kprobe_optinsn_slots);
	KUNIT_EXPECT_EQ(test, kprobe_slots_taken(&kprobe_optinsn_slots), before + 1);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_changed, 1), 8);
}

/* The last bytes of a detour say whose it is. */
static void detour_knows_its_probe(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(add));
	struct optimized_kprobe *op;
	void *detour;

	KP_REGISTER_AND_WAIT(test, &w.kp);
	detour = kpb_detour(w.kp.addr);
	op = container_of(get_kprobe(w.kp.addr), struct optimized_kprobe, kp);
	KUNIT_EXPECT_PTR_EQ(test, detour, (void *)op->optinsn.insn);
	KUNIT_EXPECT_PTR_EQ(test, kpb_called_head(detour), (const u32 *)kprobe_head);
	if (detour) {
		KUNIT_EXPECT_PTR_EQ(test, *(void **)(detour + KPROBE_DETOUR_OP), (void *)op);
		KUNIT_EXPECT_EQ(test, (unsigned long)detour % 64, 0);
		/* The copy; see kpb_add(). */
		KUNIT_EXPECT_EQ(test, *kpb_copy(w.kp.addr), 0x38630003);
	}
	unregister_kprobe(&w.kp);
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
	struct kp_watch w = KP_WATCH(at);
	unsigned long flags, ret = 0;
	bool jump;

	KP_REGISTER_AND_WAIT(test, &w.kp);
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
	KP_UNWATCH(test, w, 0);
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

static void redirection_overwrites_srrs(struct kunit *test)
{
	unsigned int redirects;

	for (redirects = 0; redirects < 2; redirects++) {
		struct kprobe p = {
			.addr = KPB_AT(add),
			.pre_handler = redirects ? go_to_callee : kp_nothing_pre,
		};
		unsigned long flags, ret, srr0 = 0;
		bool valid;

		KP_REGISTER_AND_WAIT(test, &p);
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
 * The detour is written before the jump to it, and freed after the jump is gone. In between, each
 * CPU discards what it has fetched ahead.
 */

static struct cpumask discarded;

static int see_discard(struct kprobe *p, struct pt_regs *regs)
{
	cpumask_set_cpu(raw_smp_processor_id(), &discarded);
	return 0;
}

static void all_cpus_fetch_anew(struct kunit *test)
{
	struct kprobe see = { .symbol_name = "discard_fetched", .pre_handler = see_discard };
	struct kp_watch w = KP_WATCH(KPB_AT(add));

	KP_REGISTER_AND_WAIT(test, &see);

	cpumask_clear(&discarded);
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(w.kp.addr));
	KUNIT_EXPECT_TRUE(test, cpumask_equal(&discarded, cpu_online_mask));

	cpumask_clear(&discarded);
	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_TRUE(test, cpumask_equal(&discarded, cpu_online_mask));
	unregister_kprobe(&see);
}

static struct kunit_case optimize_cases[] = {
	KUNIT_CASE(optimize_a_prefix),
	KUNIT_CASE_PARAM(no_jump, unoptimized_gen_params),
	KUNIT_CASE(no_jump_is_promised_to_a_far_branch),
	KUNIT_CASE_PARAM(detour_has, recoded_gen_params),
	KUNIT_CASE(detour_cannot_have),
	KUNIT_CASE(detour_has_a_constant),
	KUNIT_CASE(detour_has_prefixed),
	KUNIT_CASE(detour_of_a_changed_jump_stays),
	KUNIT_CASE(detour_knows_its_probe),
	KUNIT_CASE(all_cpus_fetch_anew),
#ifdef CONFIG_PPC_BOOK3S_64
	KUNIT_CASE(no_handler_in_real_mode),
	KUNIT_CASE(no_handler_when_unrecoverable),
	KUNIT_CASE(redirection_overwrites_srrs),
#endif
	{}
};

KP_SUITE(optimize_cases, .name = "kprobes_powerpc_optimize");
