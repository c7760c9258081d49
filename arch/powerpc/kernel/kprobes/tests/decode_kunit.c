// SPDX-License-Identifier: GPL-2.0-only
/*
 * What kprobes/insn.c finds out about single instructions, and what arch_decide_kprobe() adds that
 * depends on where they are.
 */

#include "suite.h"

#include <asm/cputable.h>
#include <asm/extable.h>
#include <asm/reg.h>
#include <asm/sections.h>
#include <asm/sstep.h>

#ifdef CONFIG_PPC64
#include <asm/paca.h>
#endif

#include "forms.h"

/* The address of the instruction, for what is relative to it. */
#define HERE	(IS_ENABLED(CONFIG_PPC64) ? (unsigned long)0xc000000000123450ULL : 0xc0123450UL)

/**
 * struct word - an instruction, and the verdict on it
 * @name: the instruction
 * @insn: its word, or its prefix
 * @suffix: its second word
 * @why: it is refused
 * @copy: it does the same at another address
 * @emulate: lib/sstep.c can execute it
 * @isa: what the CPU must have to emulate it
 */
struct word {
	const char		*name;
	u32			insn, suffix;
	enum kprobe_refusal	why;
	bool			copy, emulate;
	enum kpb_isa		isa;
};

/* What is emulated only if it is necessary, what must be, what is always stepped. */
#define BOTH(i, text, ...) \
	{ .name = text, .insn = i, .copy = true, .emulate = true, ##__VA_ARGS__ }
#define EMULATE(i, text, ...)	{ .name = text, .insn = i, .emulate = true, ##__VA_ARGS__ }
#define STEP(i, text)		{ .name = text, .insn = i, .copy = true }
#define REFUSE(i, reason, text) \
	{ .name = text, .insn = i, .why = KPROBE_REFUSAL_##reason, .copy = true }
/* The same, at most on some CPUs. */
#define ONLY(config, reason) \
	(IS_ENABLED(CONFIG_##config) ? KPROBE_REFUSAL_##reason : KPROBE_REFUSAL_NONE)

static const struct word words[] = {
	/* Arithmetic, logic, comparison. */
	BOTH(0x60000000, "nop"),
	BOTH(0x38630003, "addi r3,r3,3"),
	BOTH(0x38210080, "addi r1,r1,128"),
	BOTH(0x30c30005, "addic r6,r3,5"),
	BOTH(0x7c631914, "adde r3,r3,r3"),
	BOTH(0x7c6319d6, "mullw r3,r3,r3"),
	BOTH(0x7c632378, "or r3,r3,r4"),
	BOTH(0x54c6273e, "rlwinm r6,r6,4,28,31"),
	BOTH(0x28030005, "cmplwi r3,5"),
	BOTH(0x7cc00026, "mfcr r6"),
	BOTH(0x7c680120, "mtcrf 128,r3"),
	BOTH(0x7c6802a6, "mflr r3"),
	BOTH(0x7c6803a6, "mtlr r3"),
	BOTH(0x7c6903a6, "mtctr r3"),
	BOTH(0x7c6102a6, "mfxer r3"),
	BOTH(0x7c6103a6, "mtxer r3"),
	BOTH(0x7c6000a6, "mfmsr r3"),
	BOTH(0x7c2004ac, "lwsync"),
	BOTH(0x4c00012c, "isync"),
	BOTH(0x4c421202, "crand eq,eq,eq"),

	/* Memory. */
	BOTH(0x80640000, "lwz r3,0(r4)"),
	BOTH(0x84640008, "lwzu r3,8(r4)"),
	BOTH(0x7c64282e, "lwzx r3,r4,r5"),
	BOTH(0x7c64242c, "lwbrx r3,r4,r4"),
	BOTH(0x90640000, "stw r3,0(r4)"),
	BOTH(0x94640008, "stwu r3,8(r4)"),
	BOTH(0x9061ff70, "stw r3,-144(r1)"),
	BOTH(0x7c0027ec, "dcbz 0,r4"),
	BOTH(0x7c0027ac, "icbi 0,r4"),
	/* The handler would overwrite its own registers. */
	STEP(0x9421ff80, "stwu r1,-128(r1)"),
	STEP(0x7c21196e, "stwux r1,r1,r3"),
#ifdef CONFIG_PPC64
	BOTH(0xe8640000, "ld r3,0(r4)"),
	BOTH(0xe8640009, "ldu r3,8(r4)"),
	BOTH(0xe8640002, "lwa r3,0(r4)"),
	BOTH(0xf8640000, "std r3,0(r4)"),
	BOTH(0xf8640009, "stdu r3,8(r4)"),
	STEP(0xf821ff81, "stdu r1,-128(r1)"),
	STEP(0x7c21196a, "stdux r1,r1,r3"),
#endif
#ifdef CONFIG_PPC64
	/* Data of this CPU, which the handler relies on. */
	STEP(0xe86d0008, "ld r3,8(r13)"),
	STEP(0x886d0008, "lbz r3,8(r13)"),
	STEP(0xf86d0008, "std r3,8(r13)"),
	STEP(0x986d0008, "stb r3,8(r13)"),
	STEP(0x7c6d292e, "stwx r3,r13,r5"),
	STEP(0x7c65682e, "lwzx r3,r5,r13"),
	{ "pld r3,16(r13)", 0x04000000, 0xe46d0010, 0, true, false, KPB_ISA_3_1 },
#endif
	/* Their registers may be switched off in the exception. */
	STEP(0xc8240000, "lfd f1,0(r4)"),
	STEP(0xd8240000, "stfd f1,0(r4)"),

	/* Nothing emulates these. */
	STEP(0x7cdf42a6, "mfpvr r6"),
	STEP(0x7c9043a6, "mtsprg 0,r4"),
	STEP(0x7ccc42e6, "mftb r6"),
	STEP(0xfc21102a, "fadd f1,f1,f2"),

	/* Branches. */
	EMULATE(0x48000008, "b .+8"),
	EMULATE(0x48000009, "bl .+8"),
	EMULATE(0x48000102, "ba 256"),
	EMULATE(0x41810008, "bgt .+8"),
	EMULATE(0x42000008, "bdnz .+8"),
	EMULATE(0x429f0005, "bcl 20,31,.+4"),
	BOTH(0x4e800020, "blr"),
	BOTH(0x4d810020, "bgtlr"),
	BOTH(0x4e800420, "bctr"),
	EMULATE(0x4e800021, "blrl"),
	EMULATE(0x4e800421, "bctrl"),
	EMULATE(0x4d810421, "bgtctrl"),
#ifdef CONFIG_PPC64
	EMULATE(0x4c600004, "addpcis r3,0", .isa = KPB_ISA_3_0),
#endif

	/* Traps, of BUG and others; system calls. */
	REFUSE(0x7fe00008, BUG, "trap"),
	REFUSE(0x0fe00000, BUG, "twui r0,0"),
	REFUSE(0x0b030000, CONTROL, "(tdnei r3,0 on 32 bits)"),
	REFUSE(0x44000002, CONTROL, "sc"),

	/* Returns from exceptions, and changes of the machine state. */
	REFUSE(0x4c000064, CONTROL, "rfi"),
	REFUSE(0x4c000066, CONTROL, "rfci"),
	REFUSE(0x7c600124, CONTROL, "mtmsr r3"),
	REFUSE(0x4c000024, CONTROL, "rfid"),
	REFUSE(0x4c000224, CONTROL, "hrfid"),
	REFUSE(0x4c0000a4, CONTROL, "rfscv"),
	REFUSE(0x7c610164, CONTROL, "mtmsrd r3,1"),
	REFUSE(0x4c000124, CONTROL, "rfebb"),

	/* Waiting for interrupts, which a step masks. */
	REFUSE(0x4c0002e4, SLEEP, "stop"),
	REFUSE(0x4c000364, SLEEP, "nap"),
	REFUSE(0x4c000324, SLEEP, "doze"),
	REFUSE(0x4c0003a4, SLEEP, "sleep"),
	REFUSE(0x4c0003e4, SLEEP, "rvwinkle"),
	REFUSE(0x7c00003c, SLEEP, "wait"),
	REFUSE(0x7c00007c, SLEEP, "(wait of BookE)"),
	{ "wrteei 1", 0x7c008146, .why = ONLY(BOOKE, CONTROL), .copy = true },
	{ "wrtee r3", 0x7c600106, .why = ONLY(BOOKE, CONTROL), .copy = true },

	/* To TAR. */
	REFUSE(0x4e800460, BRANCH, "bctar"),
	REFUSE(0x4d810461, BRANCH, "bgttarl"),

	/* The breakpoint makes the store fail. */
	REFUSE(0x7c602028, SEQUENCE, "lwarx r3,0,r4"),
	REFUSE(0x7c602068, SEQUENCE, "lbarx r3,0,r4"),
	REFUSE(0x7c6020e8, SEQUENCE, "lharx r3,0,r4"),
	REFUSE(0x7c6020a8, SEQUENCE, "ldarx r3,0,r4"),
	REFUSE(0x7cc02228, SEQUENCE, "lqarx r6,0,r4"),
	REFUSE(0x7c60212d, SEQUENCE, "stwcx. r3,0,r4"),
	REFUSE(0x7c60256d, SEQUENCE, "stbcx. r3,0,r4"),
	REFUSE(0x7c6025ad, SEQUENCE, "sthcx. r3,0,r4"),
	REFUSE(0x7c6021ad, SEQUENCE, "stdcx. r3,0,r4"),
	REFUSE(0x7cc0216d, SEQUENCE, "stqcx. r6,0,r4"),

	/* What the exception overwrites, and other special registers. */
	REFUSE(0x7c7a02a6, SYNDROME, "mfsrr0 r3"),
	REFUSE(0x7c7b02a6, SYNDROME, "mfsrr1 r3"),
	REFUSE(0x7c7a03a6, SEQUENCE, "mtsrr0 r3"),
	REFUSE(0x7c7b03a6, SEQUENCE, "mtsrr1 r3"),
	{ "mfspr r3,624", 0x7c709aa6, .why = ONLY(PPC_E500, SYNDROME), .copy = true },
	{ "mtspr 624,r3", 0x7c709ba6, .why = ONLY(PPC_E500, SEQUENCE), .copy = true },
	{ "mtspr 341,r3", 0x7c755ba6, .why = ONLY(PPC_E500, SEQUENCE), .copy = true },
	STEP(0x7c749ba6, "mtspr 628,r3"),
	{ "tlbsx 0,r3", 0x7c001f24, .why = ONLY(PPC_E500, SEQUENCE), .copy = true },
	{ "tlbre", 0x7c000764, .why = ONLY(PPC_E500, SEQUENCE), .copy = true },
	{ "tlbwe", 0x7c0007a4, .why = ONLY(PPC_E500, SEQUENCE), .copy = true },
	{ "tlbilx 0,0,r3", 0x7c001824, .why = ONLY(PPC_E500, SEQUENCE), .copy = true },
	{ "mtspr 80,r3", 0x7c7013a6, .why = ONLY(PPC_8xx, CONTROL), .copy = true },
	{ "mtspr 81,r3", 0x7c7113a6, .why = ONLY(PPC_8xx, CONTROL), .copy = true },
	{ "mtspr 82,r3", 0x7c7213a6, .why = ONLY(PPC_8xx, CONTROL), .copy = true },
	STEP(0x7c7012a6, "mfspr r3,80"),

#ifdef CONFIG_PPC64
	/* Prefixed: also relative to their own address, for a copy that is moved. */
	{ "paddi r6,r3,1", 0x06000000, 0x38c30001, 0, true, true, KPB_ISA_3_1 },
	{ "pla r6,.", 0x06100000, 0x38c00000, 0, true, true, KPB_ISA_3_1 },
	{ "pld r6,16(r4)", 0x04000000, 0xe4c40010, 0, true, true, KPB_ISA_3_1 },
	{ "pld r6,.+16", 0x04100000, 0xe4c00010, 0, true, true, KPB_ISA_3_1 },
	{ "pstd r6,.+16", 0x04100000, 0xf4c00010, 0, true, true, KPB_ISA_3_1 },
	/* Their emulation swaps the two registers. */
	{ "plq r6,16(r4)", 0x04000000, 0xe0c40010, 0, true, false, KPB_ISA_3_1 },
	{ "pstq r6,16(r4)", 0x04000000, 0xf0c40010, 0, true, false, KPB_ISA_3_1 },
#endif
};
KUNIT_ARRAY_PARAM_DESC(word, words, name);

/* The row of two kinds of traps. */
static enum kprobe_refusal want(const struct word *w)
{
	bool double_word = w->insn >> 26 == OP_TRAP_64;

	return double_word && IS_ENABLED(CONFIG_PPC64) ? KPROBE_REFUSAL_BUG : w->why;
}

static ppc_inst_t insn_of(const struct word *w)
{
	return ppc_inst_prefix(w->insn, w->suffix);
}

static void decode_verdict(struct kunit *test)
{
	const struct word *w = test->param_value;

	KUNIT_EXPECT_EQ(test, kprobe_insn_refused(w->insn), want(w));
	if (w->why)
		return;

	KUNIT_EXPECT_EQ(test, kprobe_insn_can_copy(insn_of(w)), w->copy);
	KUNIT_EXPECT_EQ(test, kprobe_insn_can_emulate(insn_of(w), HERE),
			w->emulate && kpb_cpu_has(w->isa));
	if (kpb_cpu_has(w->isa))
		KUNIT_EXPECT_FALSE(test, kprobe_insn_sets_r13(insn_of(w), HERE));
}

static bool is_load_reserve(u32 word)
{
	return kprobe_insn_bounds(word) & KPROBE_OPENS(RESERVATION);
}

static bool is_store_conditional(u32 word)
{
	return kprobe_insn_bounds(word) & KPROBE_CLOSES(RESERVATION);
}

static void decode_sequences(struct kunit *test)
{
	static const struct {
		u32	word;
		bool	load, store;
	} rows[] = {
		{ 0x7c602028, true }, { 0x7c602029, true }, { 0x7c602068, true },
		{ 0x7c6020e8, true }, { 0x7c6020a8, true }, { 0x7cc02228, true },
		{ 0x7c60212d, .store = true }, { 0x7c60256d, .store = true },
		{ 0x7c6025ad, .store = true }, { 0x7c6021ad, .store = true },
		{ 0x7cc0216d, .store = true },
		/* The same under other opcodes; LWZX, STWX. */
		{ 0x4c602028 }, { 0x4c60212d }, { 0x7c64282e }, { 0x7c64292e },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ_MSG(test, is_load_reserve(rows[i].word), rows[i].load, "%08x",
				    rows[i].word);
		KUNIT_EXPECT_EQ_MSG(test, is_store_conditional(rows[i].word), rows[i].store,
				    "%08x", rows[i].word);
	}
}

/*
 * What sets r13, the pointer to the data of this CPU on 64 bits
 */

struct r13_word {
	const char	*name;
	u32		insn, suffix;
	bool		sets;
	enum kpb_isa	isa;
};

static const struct r13_word r13_words[] = {
	{ "addi r13,r13,0", 0x39ad0000, .sets = true },
	{ "mr r13,r3", 0x7c6d1b78, .sets = true },
	{ "add r13,r3,r3", 0x7da31a14, .sets = true },
	{ "rlwinm r13,r3,0,0,31", 0x546d003e, .sets = true },
	{ "cntlzw r13,r3", 0x7c6d0034, .sets = true },
	{ "mfcr r13", 0x7da00026, .sets = true },
	{ "mflr r13", 0x7da802a6, .sets = true },
	{ "mfsprg0 r13", 0x7db042a6, .sets = true },
	{ "mfspr r13,304", 0x7db04aa6, .sets = true },
	{ "mftb r13", 0x7dac42e6, .sets = true },
	{ "mfmsr r13", 0x7da000a6, .sets = true },
	{ "lwz r13,0(r4)", 0x81a40000, .sets = true },
	{ "ld r13,0(r4)", 0xe9a40000, .sets = true },
	{ "lwzu r3,8(r13)", 0x846d0008, .sets = true },
	{ "stwu r3,8(r13)", 0x946d0008, .sets = true },
	{ "stdu r3,8(r13)", 0xf86d0009, .sets = true },
	{ "lfdu f1,8(r13)", 0xcc2d0008, .sets = true },
	{ "lq r12,0(r4)", 0xe1840000, .sets = true },
	{ "paddi r13,r3,1", 0x06000000, 0x39a30001, true, KPB_ISA_3_1 },
	{ "pld r13,.+16", 0x04100000, 0xe5a00010, true, KPB_ISA_3_1 },
#ifdef CONFIG_CPU_BIG_ENDIAN
	{ "lmw r12,0(r4)", 0xb9840000, .sets = true },
	{ "lmw r14,0(r4)", 0xb9c40000, .sets = false },
	{ "lswi r12,r4,8", 0x7d8444aa, .sets = true },
	{ "lswi r12,r4,4", 0x7d8424aa, .sets = false },
	{ "lswi r31,r4,32", 0x7fe404aa, .sets = false },
#endif

	{ "add r3,r13,r13", 0x7c6d6a14 },
	{ "mtlr r13", 0x7da803a6 },
	{ "mtsprg0 r13", 0x7db043a6 },
	{ "cmpwi r13,0", 0x2c0d0000 },
	{ "lwz r3,0(r13)", 0x806d0000 },
	{ "stw r13,0(r4)", 0x91a40000 },
	{ "stw r13,8(r13)", 0x91ad0008 },
	{ "std r13,0(r4)", 0xf9a40000 },
	{ "lfd f13,0(r4)", 0xc9a40000 },
	{ "lq r14,0(r4)", 0xe1c40000 },
	{ "mtcrf 255,r13", 0x7daff120 },
};
KUNIT_ARRAY_PARAM_DESC(r13_word, r13_words, name);

static void decode_writers_of_r13(struct kunit *test)
{
	const struct r13_word *w = test->param_value;
	ppc_inst_t insn = ppc_inst_prefix(w->insn, w->suffix);

	KP_SKIP_IF(test, !kpb_cpu_has(w->isa), "not for this CPU");
	KUNIT_EXPECT_EQ(test, kprobe_insn_sets_r13(insn, HERE),
			w->sets && IS_ENABLED(CONFIG_PPC64));
}

/*
 * What accesses the soft interrupt mask
 */

#ifdef CONFIG_PPC64
#define SOFT_MASK	offsetof(struct paca_struct, irq_soft_mask)
#define LBZ(rt, ra, d)	((u32)(0x88000000 | (rt) << 21 | (ra) << 16 | (d)))
#define STB(rs, ra, d)	((u32)(0x98000000 | (rs) << 21 | (ra) << 16 | (d)))

static void decode_soft_mask(struct kunit *test)
{
	const struct {
		u32			word;
		enum kprobe_soft_mask	want;
	} rows[] = {
		{ LBZ(6, 13, SOFT_MASK), KPROBE_SOFT_MASK_READ },
		{ LBZ(31, 13, SOFT_MASK), KPROBE_SOFT_MASK_READ },
		{ STB(6, 13, SOFT_MASK), KPROBE_SOFT_MASK_WRITE },
		{ STB(0, 13, SOFT_MASK), KPROBE_SOFT_MASK_WRITE },
		{ LBZ(6, 12, SOFT_MASK), KPROBE_SOFT_MASK_NONE },
		{ LBZ(6, 13, SOFT_MASK + 1), KPROBE_SOFT_MASK_NONE },
		{ STB(6, 13, SOFT_MASK - 1), KPROBE_SOFT_MASK_NONE },
		{ STB(13, 6, SOFT_MASK), KPROBE_SOFT_MASK_NONE },
		/* LBZU, LWZ, LHZ, ADDI */
		{ LBZ(6, 13, SOFT_MASK) + (1 << 26), KPROBE_SOFT_MASK_NONE },
		{ LBZ(6, 13, SOFT_MASK) - (2 << 26), KPROBE_SOFT_MASK_NONE },
		{ LBZ(6, 13, SOFT_MASK) + (6 << 26), KPROBE_SOFT_MASK_NONE },
		{ LBZ(6, 13, SOFT_MASK) - (20 << 26), KPROBE_SOFT_MASK_NONE },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, kprobe_insn_soft_mask(rows[i].word), rows[i].want,
				    "%08x", rows[i].word);
}
#else
KP_SKIPPED(decode_soft_mask, "no such mask")
#endif

/* What disables interrupts for the CPU, and what takes note of that. */
static void decode_hard_disabling(struct kunit *test)
{
	const struct {
		u32	word;
		bool	disables, records;
	} rows[] = {
		{ 0x7c610164, .disables = true },			/* mtmsrd r3,1 */
		{ 0x7c600164 },						/* mtmsrd r3 */
		{ 0x7c600124 },						/* mtmsr r3 */
		{ 0x7c600106, .disables = IS_ENABLED(CONFIG_BOOKE) },	/* wrtee r3 */
		{ 0x7c000146, .disables = IS_ENABLED(CONFIG_BOOKE) },	/* wrteei 0 */
		{ 0x4c610164 },
#ifdef CONFIG_PPC64
		{ STB(6, 13, offsetof(struct paca_struct, irq_happened)), .records = true },
		{ STB(6, 12, offsetof(struct paca_struct, irq_happened)) },
		{ STB(6, 13, SOFT_MASK) },
		{ LBZ(6, 13, offsetof(struct paca_struct, irq_happened)) },
#endif
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned int bounds = kprobe_insn_bounds(rows[i].word);

		KUNIT_EXPECT_EQ_MSG(test, !!(bounds & KPROBE_OPENS(HARD_DISABLE)),
				    rows[i].disables, "%08x", rows[i].word);
		KUNIT_EXPECT_EQ_MSG(test, !!(bounds & KPROBE_CLOSES(HARD_DISABLE)),
				    rows[i].records, "%08x", rows[i].word);
	}
}

/*
 * Copies of what is relative to its own address
 */

#ifdef CONFIG_PPC64
#define PREFIX(d)	(0x04100000 | ((d) >> 16 & 0x3ffff))
#define SUFFIX(d)	(0xe4c00000 | ((d) & 0xffff))
#define REACH		((s64)BIT_ULL(33))

/* The operand of a PLD, from the start of the instruction. */
static s64 displacement(ppc_inst_t insn)
{
	u32 prefix = ppc_inst_val(insn), suffix = ppc_inst_suffix(insn);

	return (s64)((u64)prefix << 46) >> 30 | (suffix & 0xffff);
}

static const struct moved {
	const char	*name;
	s64		d, by;
	bool		ok;
} moves[] = {
	{ "nowhere", 16, 0, true },
	{ "to lower addresses", 16, -SZ_16M, true },
	{ "to higher addresses", 16, SZ_16M, true },
	{ "into the operand", SZ_64K, SZ_64K, true },
	{ "past the operand", SZ_64K, SZ_64K + 4, true },
	{ "with a carry to the prefix", 0xffff, -1, true },
	{ "with a borrow from the prefix", 0x10000, 1, true },
	{ "below zero", 0, 1, true },
	{ "up to the limit", REACH - 5, -4, true },
	{ "beyond the limit", REACH - 4, -4, false },
	{ "down to the limit", 4 - REACH, 4, true },
	{ "below the limit", 4 - REACH, 8, false },
	{ "far away", 0, 1LL << 40, false },
};
KUNIT_ARRAY_PARAM_DESC(moved, moves, name);

static void decode_moves_the_operand(struct kunit *test)
{
	const struct moved *m = test->param_value;
	ppc_inst_t insn = ppc_inst_prefix(PREFIX(m->d), SUFFIX(m->d)), old = insn;

	KUNIT_ASSERT_EQ(test, displacement(insn), m->d);
	KUNIT_EXPECT_TRUE(test, kprobe_insn_is_pcrel(insn));
	KUNIT_EXPECT_EQ(test, kprobe_insn_move(&insn, HERE, HERE + m->by), m->ok);
	if (!m->ok) {
		KUNIT_EXPECT_TRUE(test, ppc_inst_equal(insn, old));
		return;
	}
	KUNIT_EXPECT_EQ(test, displacement(insn), m->d - m->by);
	/* Everything else is as before. */
	KUNIT_EXPECT_EQ(test, ppc_inst_val(insn) & ~INSN_PREFIX_D_MASK,
			ppc_inst_val(old) & ~INSN_PREFIX_D_MASK);
	KUNIT_EXPECT_EQ(test, ppc_inst_suffix(insn) & ~INSN_SUFFIX_D_MASK,
			ppc_inst_suffix(old) & ~INSN_SUFFIX_D_MASK);
}
#else
static const int moves[] = { 0 };
KUNIT_ARRAY_PARAM(moved, moves, NULL);

KP_SKIPPED(decode_moves_the_operand, "no prefixed instructions")
#endif

static void decode_leaves_others_alone(struct kunit *test)
{
	static const struct {
		u32	word, suffix;
	} rows[] = {
		{ 0x60000000 }, { 0x80640000 }, { 0x48000008 }, { 0x4e800020 },
#ifdef CONFIG_PPC64
		/* Prefixed, but relative to r3 and to r4; kinds that have something else there. */
		{ 0x06000000, 0x38c30001 }, { 0x04000000, 0xe4c40010 },
		{ 0x05100000, 0x80000000 }, { 0x07100000, 0x00000000 },
#endif
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		ppc_inst_t insn = ppc_inst_prefix(rows[i].word, rows[i].suffix), old = insn;

		KUNIT_EXPECT_FALSE(test, kprobe_insn_is_pcrel(insn));
		KUNIT_EXPECT_TRUE(test, kprobe_insn_move(&insn, HERE, HERE / 2));
		KUNIT_EXPECT_TRUE(test, ppc_inst_equal(insn, old));
	}
}

/*
 * Which of these leave the address of the next instruction in LR?
 */
static void decode_links(struct kunit *test)
{
	static const struct {
		u32	word;
		bool	links;
	} rows[] = {
		{ 0x48000009, true }, { 0x48000008 }, { 0x48000103, true }, { 0x48000102 },
		{ 0x429f0005, true }, { 0x41810008 }, { 0x4e800021, true }, { 0x4e800020 },
		{ 0x4e800421, true }, { 0x4e800420 },
		/* CRNOR, RFID and ADD with this bit. */
		{ 0x4c421043 }, { 0x4c000025 }, { 0x7c632215 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, kprobe_insn_links(rows[i].word), rows[i].links, "%08x",
				    rows[i].word);
}

/*
 * What depends on the address
 */

static enum kprobe_refusal decide(struct kprobe *p, unsigned long addr)
{
	*p = (struct kprobe){ .addr = (kprobe_opcode_t *)addr };

	guard(kprobe_test)();
	guard(mutex)(&text_mutex);

	return arch_decide_kprobe(p);
}

KPB_FUNCTION(prefixed, "b 1f\n 777: .long 0x06000000, 0x38c30001\n1:");
/* The last word of 64 bytes, which is no prefix, however it looks. */
KPB_FUNCTION(no_prefix, "b 1f\n .rept 14\n nop\n .endr\n .long 0x06000000\n 777: nop\n1:");

static void decide_on_prefixed(struct kunit *test)
{
	unsigned long at = kpb_prefixed_at, last = kpb_no_prefix_at - sizeof(u32);
	enum kprobe_refusal suffix = IS_ENABLED(CONFIG_PPC64) ? KPROBE_REFUSAL_SUFFIX :
								KPROBE_REFUSAL_NONE;
	struct kprobe p;

	KUNIT_ASSERT_EQ(test, last % 64, 60);
	KUNIT_EXPECT_EQ(test, decide(&p, at), KPROBE_REFUSAL_NONE);
	KUNIT_EXPECT_EQ(test, p.opcode, 0x06000000);
	if (IS_ENABLED(CONFIG_PPC64)) {
		KUNIT_EXPECT_EQ(test, p.ainsn.suffix, 0x38c30001);
		KUNIT_EXPECT_EQ(test, p.ainsn.len, 8);
		KUNIT_EXPECT_TRUE(test, ppc_inst_prefixed(kprobe_insn(&p)));
		KUNIT_EXPECT_EQ(test, kprobe_next(&p), at + 8);
	}
	KUNIT_EXPECT_EQ(test, decide(&p, at + 4), suffix);
	KUNIT_EXPECT_EQ(test, decide(&p, at + 8), KPROBE_REFUSAL_NONE);

	/* No instruction crosses this boundary. */
	KUNIT_EXPECT_EQ(test, decide(&p, last + 4), KPROBE_REFUSAL_NONE);
	KUNIT_EXPECT_EQ(test, p.opcode, 0x60000000);
}

/* Before the suffix is read, a probe hides the prefix. */
static void decide_on_a_probed_prefix(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(prefixed));
	struct kprobe p;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_PPC64), "no prefixed instructions");

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_NE(test, kpb_word(w.kp.addr), 0x06000000);
	KUNIT_EXPECT_EQ(test, decide(&p, kpb_prefixed_at + 4), KPROBE_REFUSAL_SUFFIX);
	KUNIT_EXPECT_EQ(test, decide(&p, kpb_prefixed_at), KPROBE_REFUSAL_NONE);
	KUNIT_EXPECT_EQ(test, p.opcode, 0x06000000);
	KUNIT_EXPECT_EQ(test, p.ainsn.suffix, 0x38c30001);
	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, kpb_word(w.kp.addr), 0x06000000);
}

/*
 * Between a load that reserves and its store: 34 instructions, more than are searched.
 */
KPB_FUNCTION(reserved, "b 1f\n 777: lwarx 6, 0, 4\n .rept 34\n nop\n .endr\n"
	     "stwcx. 6, 0, 4\n bne 777b\n1:");
/* Between two loads, of which the store ends the second; and after both. */
KPB_FUNCTION(reserved_twice, "b 1f\n 777: lwarx 6, 0, 4\n nop\n stwcx. 6, 0, 4\n nop\n"
	     "lwarx 6, 0, 4\n nop\n stwcx. 6, 0, 4\n nop\n1:");
/* What follows belongs to another function. */
KPB_FUNCTION(ends_with_load, "blr\n 777: lwarx 6, 0, 4");
KPB_FUNCTION(after_a_load, "777: addi 3, 3, 1");

#define REFUSED(nr) \
	KUNIT_EXPECT_EQ_MSG(test, decide(&p, at + 4 * (nr)), KPROBE_REFUSAL_SEQUENCE, "%u", nr)
#define ACCEPTED(nr) \
	KUNIT_EXPECT_EQ_MSG(test, decide(&p, at + 4 * (nr)), KPROBE_REFUSAL_NONE, "%u", nr)

static void decide_on_sequences(struct kunit *test)
{
	unsigned long at = kpb_reserved_at;
	struct kprobe p;
	unsigned int i;

	for (i = 0; i <= 32; i++)
		REFUSED(i);
	/* So far is not searched. */
	ACCEPTED(33);
	ACCEPTED(34);
	REFUSED(35);
	ACCEPTED(36);

	at = kpb_reserved_twice_at;
	REFUSED(0);
	REFUSED(1);
	REFUSED(2);
	ACCEPTED(3);
	REFUSED(4);
	REFUSED(5);
	REFUSED(6);
	ACCEPTED(7);

	at = kpb_after_a_load_at;
	KUNIT_ASSERT_LT(test, at - kpb_ends_with_load_at, 128);
	ACCEPTED(0);
	ACCEPTED(1);
}

/* With SRR0 live; with more words between than are searched. */
KPB_FUNCTION(live_srr, "b 1f\n nop\n 777: mtspr 26, 3\n nop\n mtspr 27, 3\n nop\n"
	     ".long 0x4c000064\n nop\n1:");
KPB_FUNCTION(long_live_srr, "b 1f\n 777: mtspr 26, 3\n .rept 66\n nop\n .endr\n"
	     ".long 0x4c000024\n nop\n1:");
/* MTSPR to MAS6, TLBSX, TLBWE; TLBILX. */
KPB_FUNCTION(live_mas, "b 1f\n nop\n 777: mtspr 630, 3\n nop\n .long 0x7c001f24\n nop\n"
	     ".long 0x7c0007a4\n nop\n mtspr 630, 3\n nop\n .long 0x7c001824\n nop\n1:");

static void decide_on_live_registers(struct kunit *test)
{
	const enum kprobe_refusal why = ONLY(PPC_E500, SEQUENCE);
	unsigned long at = kpb_live_srr_at;
	struct kprobe p;
	int i;

	ACCEPTED(-1);
	for (i = 0; i <= 4; i++)
		REFUSED(i);
	ACCEPTED(5);

	at = kpb_long_live_srr_at;
	for (i = 0; i <= 64; i++)
		REFUSED(i);
	ACCEPTED(65);
	KUNIT_EXPECT_EQ(test, decide(&p, at + 4 * 67), KPROBE_REFUSAL_CONTROL);
	ACCEPTED(68);

	at = kpb_live_mas_at;
	ACCEPTED(-1);
	for (i = 0; i <= 8; i++)
		KUNIT_EXPECT_EQ_MSG(test, decide(&p, at + 4 * i), i == 5 ? KPROBE_REFUSAL_NONE :
				    why, "%d", i);
	ACCEPTED(9);
}

/* As the end of in_8(), where machine checks are fixed up; and a nop without a fixup. */
KPB_FUNCTION(io_barriers, "b 1f\n 777: isync\n 2: nop\n nop\n1:"
	     EX_TABLE(777b, 1b) EX_TABLE(2b, 1b));

static void decide_on_io_barriers(struct kunit *test)
{
	const enum kprobe_refusal why = ONLY(PPC32, SEQUENCE);
	unsigned long at = kpb_io_barriers_at;
	struct kprobe p;

	KUNIT_EXPECT_EQ(test, decide(&p, at), why);
	KUNIT_EXPECT_EQ(test, decide(&p, at + 4), why);
	ACCEPTED(2);
}

static u32 text_word(unsigned long addr)
{
	return *(const u32 *)addr;
}

/* Stores in the kernel whose load is farther away than is searched. */
static void decide_finds_all_reservations(struct kunit *test)
{
	void *emulator_fn = dereference_kernel_function_descriptor(emulate_loadstore);
	unsigned long store, load, end = (unsigned long)_etext, size, into;
	unsigned long emulator = (unsigned long)emulator_fn;
	unsigned int stores = 0;

	for (store = (unsigned long)_stext; store < end; store += 4) {
		if (!is_store_conditional(text_word(store)) ||
		    !kallsyms_lookup_size_offset(store, &size, &into))
			continue;
		/* One is too long on purpose; the other emulates loads and stores one by one. */
		if (kpb_reserved_at - (store - into) < size || store - into == emulator)
			continue;
		stores++;
		for (load = store - 4; load >= store - into && load < store; load -= 4) {
			if (is_store_conditional(text_word(load)))
				break;
			if (!is_load_reserve(text_word(load)))
				continue;
			KUNIT_EXPECT_LE_MSG(test, store - load, 4UL * INSN_MAX_RESERVED, "%pS",
					    (void *)store);
			break;
		}
	}
	KUNIT_EXPECT_GT(test, stores, 100);
}

#ifdef CONFIG_PPC_BOOK3S_64
void kpb_hard_disables(void);

/* In between, an exception would enable interrupts again; see entered.S. */
static void decide_on_hard_disabling(struct kunit *test)
{
	unsigned long at = kpb_code(kpb_hard_disables);
	struct kprobe p;
	unsigned int i;

	ACCEPTED(0);
	KUNIT_EXPECT_EQ(test, decide(&p, at + 4), KPROBE_REFUSAL_CONTROL);
	for (i = 2; i < 6; i++)
		REFUSED(i);
	ACCEPTED(6);
	/* So far is searched: the store is not there. */
	KUNIT_EXPECT_EQ(test, decide(&p, at + 4 * 7), KPROBE_REFUSAL_CONTROL);
	for (i = 8; i < 20; i++)
		REFUSED(i);
	ACCEPTED(20);
}
#endif

/* Not by a trap that a probe has put there. */
static void decide_reads_through_probes(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(add));
	u32 word = kpb_word(w.kp.addr);
	struct kprobe p;

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_NE(test, kpb_word(w.kp.addr), word);
	KUNIT_EXPECT_EQ(test, decide(&p, kpb_add_at), KPROBE_REFUSAL_NONE);
	KUNIT_EXPECT_EQ(test, p.opcode, word);
	unregister_kprobe(&w.kp);
}

static void decide_on_other_places(struct kunit *test)
{
	struct kprobe p;

	KUNIT_EXPECT_EQ(test, decide(&p, kpb_add_at + 1), KPROBE_REFUSAL_ALIGNMENT);
	KUNIT_EXPECT_EQ(test, decide(&p, kpb_add_at + 2), KPROBE_REFUSAL_ALIGNMENT);
	KUNIT_EXPECT_EQ(test, decide(&p, -4UL), KPROBE_REFUSAL_NOT_TEXT);
}

/* ADDPCIS, in the text of CPUs that do not have it: no copy does the same. */
static void decide_needs_the_cpu(struct kunit *test)
{
	struct kprobe p;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_PPC64), "no such instruction");
	KUNIT_EXPECT_EQ(test, decide(&p, kpb_addpcis_at), kpb_cpu_has(KPB_ISA_3_0) ?
			KPROBE_REFUSAL_NONE : KPROBE_REFUSAL_BRANCH);
}

/* The pointer to the data of this CPU. */
KPB_FUNCTION(sets_r13, "b 1f\n 777: addi 13, 13, 0\n1:");

static void decide_keeps_r13(struct kunit *test)
{
	struct kprobe p;

	KUNIT_EXPECT_EQ(test, decide(&p, kpb_sets_r13_at), IS_ENABLED(CONFIG_PPC64) ?
			KPROBE_REFUSAL_CONTROL : KPROBE_REFUSAL_NONE);
}

#if defined(CONFIG_PPC_BOOK3S_32) && defined(CONFIG_PPC_KUAP)
/* User access is that of the exception while an instruction is emulated. */
static void decode_user_access(struct kunit *test)
{
	const u32 at = offsetof(struct task_struct, thread.kuap);

	KUNIT_EXPECT_FALSE(test, kprobe_insn_can_emulate(ppc_inst(PPC_RAW_LWZ(3, 2, at)), HERE));
	KUNIT_EXPECT_FALSE(test, kprobe_insn_can_emulate(ppc_inst(PPC_RAW_STW(3, 2, at)), HERE));
	KUNIT_EXPECT_TRUE(test, kprobe_insn_can_emulate(ppc_inst(PPC_RAW_LWZ(3, 4, at)), HERE));
	KUNIT_EXPECT_TRUE(test, kprobe_insn_can_emulate(ppc_inst(PPC_RAW_STW(3, 2, at + 4)), HERE));
}
#endif

static struct kunit_case decode_cases[] = {
	KUNIT_CASE_PARAM(decode_verdict, word_gen_params),
	KUNIT_CASE(decode_sequences),
	KUNIT_CASE_PARAM(decode_writers_of_r13, r13_word_gen_params),
	KUNIT_CASE(decode_soft_mask),
	KUNIT_CASE(decode_hard_disabling),
	KUNIT_CASE_PARAM(decode_moves_the_operand, moved_gen_params),
	KUNIT_CASE(decode_leaves_others_alone),
	KUNIT_CASE(decode_links),
	KUNIT_CASE(decide_on_prefixed),
	KUNIT_CASE(decide_on_a_probed_prefix),
	KUNIT_CASE(decide_on_sequences),
	KUNIT_CASE(decide_on_live_registers),
	KUNIT_CASE(decide_on_io_barriers),
	KUNIT_CASE(decide_finds_all_reservations),
#ifdef CONFIG_PPC_BOOK3S_64
	KUNIT_CASE(decide_on_hard_disabling),
#endif
	KUNIT_CASE(decide_reads_through_probes),
	KUNIT_CASE(decide_on_other_places),
	KUNIT_CASE(decide_needs_the_cpu),
	KUNIT_CASE(decide_keeps_r13),
#if defined(CONFIG_PPC_BOOK3S_32) && defined(CONFIG_PPC_KUAP)
	KUNIT_CASE(decode_user_access),
#endif
	{}
};

KP_SUITE(decode_cases, .name = "kprobes_powerpc_decode");
