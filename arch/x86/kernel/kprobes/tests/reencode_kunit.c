// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of how instructions are copied for detours, and of the search for branch
 * targets.
 */

#include "suite.h"

#include <linux/bitmap.h>

#include "../common.h"
#include "kgdb.h"

/* Where the instructions and their copies are supposed to be. */
#ifdef CONFIG_X86_64
#define FROM	0xffffffff81001000ul
#define TO	0xffffffffa0000040ul
#else
#define FROM	0x81001000ul
#define TO	0xa0000040ul
#endif
#define NEXT(len)	(FROM + (len))

struct form {
	const char	*name;
	u8		code[MAX_INSN_SIZE];
	u8		len;
	/* The expected copy; 0xdd in place of @disp. */
	u8		want[KPROBE_MAX_REENCODED];
	int		ret;
	u8		disp_at;	/* a displacement, 0 if there is none */
	unsigned long	target;		/* and the address it refers to */
};

static const struct form forms[] = {
	{ "plain", { 0x89, 0xc8 }, 2, { 0x89, 0xc8 }, 2 },
	{ "immediate", { 0xb8, 1, 2, 3, 4 }, 5, { 0xb8, 1, 2, 3, 4 }, 5 },
#ifdef CONFIG_X86_64
	{ "rip relative", { 0x8b, 0x05, 0, 1, 0, 0 }, 6, { 0x8b, 0x05 }, 6, 2,
	  NEXT(6) + 0x100 },
	{ "rip relative, immediate after it",
	  { 0x81, 0x3d, 0, 1, 0, 0, 9, 8, 7, 6 }, 10,
	  { 0x81, 0x3d, 0, 0, 0, 0, 9, 8, 7, 6 }, 10, 2, NEXT(10) + 0x100 },
	{ "call *rip relative", { 0xff, 0x15, 0, 1, 0, 0 }, 6,
	  { 0x68, 0x06, 0x10, 0x00, 0x81, 0xff, 0x25 }, 11, 7, NEXT(6) + 0x100 },
	{ "call *r12", { 0x41, 0xff, 0xd4 }, 3,
	  { 0x68, 0x03, 0x10, 0x00, 0x81, 0x41, 0xff, 0xe4 }, 8 },
	{ "call *8(r12)", { 0x41, 0xff, 0x54, 0x24, 0x08 }, 5,
	  { 0x68, 0x05, 0x10, 0x00, 0x81, 0x41, 0xff, 0x64, 0x24, 0x08 }, 10 },
#else
	{ "absolute", { 0x8b, 0x05, 4, 3, 2, 1 }, 6, { 0x8b, 0x05, 4, 3, 2, 1 }, 6 },
	{ "moffs", { 0xa1, 4, 3, 2, 1 }, 5, { 0xa1, 4, 3, 2, 1 }, 5 },
	{ "inc", { 0x40 }, 1, { 0x40 }, 1 },
	{ "dec", { 0x4f }, 1, { 0x4f }, 1 },
	{ "pusha", { 0x60 }, 1, { 0x60 }, 1 },
	{ "push %es", { 0x06 }, 1, { 0x06 }, 1 },
	{ "call *absolute", { 0xff, 0x15, 4, 3, 2, 1 }, 6,
	  { 0x68, 0x06, 0x10, 0x00, 0x81, 0xff, 0x25, 4, 3, 2, 1 }, 11 },
	{ "call *8(si), 16 bits of address", { 0x67, 0xff, 0x54, 0x08 }, 4,
	  { 0x68, 0x04, 0x10, 0x00, 0x81, 0x67, 0xff, 0x64, 0x08 }, 9 },
#endif
	{ "jcc8", { 0x74, 0x10 }, 2, { 0x0f, 0x84 }, 6, 2, NEXT(2) + 0x10 },
	{ "jcc8 back", { 0x7f, 0xf0 }, 2, { 0x0f, 0x8f }, 6, 2, NEXT(2) - 0x10 },
	{ "jcc32", { 0x0f, 0x85, 0, 1, 0, 0 }, 6, { 0x0f, 0x85 }, 6, 2, NEXT(6) + 0x100 },
	{ "jmp8", { 0xeb, 0x7f }, 2, { 0xe9 }, 5, 1, NEXT(2) + 0x7f },
	{ "jmp32", { 0xe9, 0, 0, 1, 0 }, 5, { 0xe9 }, 5, 1, NEXT(5) + 0x10000 },
	{ "call", { 0xe8, 0, 0, 1, 0 }, 5,
	  { 0x68, 0x05, 0x10, 0x00, 0x81, 0xe9 }, 10, 6, NEXT(5) + 0x10000 },
	{ "call with prefix", { 0x2e, 0xe8, 0, 0, 1, 0 }, 6,
	  { 0x68, 0x06, 0x10, 0x00, 0x81, 0xe9 }, 10, 6, NEXT(6) + 0x10000 },
	{ "call *reg", { 0xff, 0xd1 }, 2,
	  { 0x68, 0x02, 0x10, 0x00, 0x81, 0xff, 0xe1 }, 7 },
	{ "call *sp", { 0xff, 0xd4 }, 2, {}, -EINVAL },
	{ "call *8(ax,cx)", { 0xff, 0x54, 0x08, 0x08 }, 4,
	  { 0x68, 0x04, 0x10, 0x00, 0x81, 0xff, 0x64, 0x08, 0x08 }, 9 },
	{ "call *8(sp)", { 0xff, 0x54, 0x24, 0x08 }, 4, {}, -EINVAL },
	{ "jmp *reg", { 0xff, 0xe1 }, 2, { 0xff, 0xe1 }, 2 },
	{ "loop", { 0xe2, 0xfe }, 2, { 0xe2, 0x02, 0xeb, 0x05, 0xe9 }, 9, 5, FROM },
	{ "loopne by half of the register", { 0x67, 0xe0, 0x10 }, 3,
	  { 0x67, 0xe0, 0x02, 0xeb, 0x05, 0xe9 }, 10, 6, NEXT(3) + 0x10 },
	{ "jcxz", { 0xe3, 0x10 }, 2, { 0xe3, 0x02, 0xeb, 0x05, 0xe9 }, 9, 5,
	  NEXT(2) + 0x10 },
	{ "loop, as long as an instruction can be",
	  { 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e,
	    0xe2, 0x10 }, 15,
	  { 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e,
	    0xe2, 0x02, 0xeb, 0x05, 0xe9 }, 22, 18, NEXT(15) + 0x10 },
	{ "cli", { 0xfa }, 1, { 0xfa }, 1 },
	{ "popf", { 0x9d }, 1, { 0x9d }, 1 },
	{ "vpor looks like jmp", { 0xc5, 0xfd, 0xeb, 0xc1 }, 4,
	  { 0xc5, 0xfd, 0xeb, 0xc1 }, 4 },
};
KUNIT_ARRAY_PARAM_DESC(form, forms, name);

static void expect_code(struct kunit *test, const struct form *f, const u8 *code,
			int ret)
{
	u8 want[KPROBE_MAX_REENCODED];
	int i;

	KUNIT_ASSERT_EQ(test, ret, f->ret);
	memcpy(want, f->want, sizeof(want));
	if (f->disp_at) {
		s32 disp;

		memcpy(&disp, code + f->disp_at, sizeof(disp));
		memcpy(want + f->disp_at, code + f->disp_at, sizeof(disp));
		/* Immediates that follow belong to the same instruction. */
		KUNIT_EXPECT_EQ(test, TO + ret + disp, f->target);
	}
	for (i = 0; i < ret; i++)
		KUNIT_EXPECT_EQ_MSG(test, code[i], want[i], "byte %d", i);
}

static int classify(struct kprobe_insn *ki, struct arch_specific_insn *a)
{
	guard(mutex)(&text_mutex);

	return kprobe_classify(ki, FROM, a);
}

static void reencode_forms(struct kunit *test)
{
	const struct form *f = test->param_value;
	u8 code[KPROBE_MAX_REENCODED];
	struct arch_specific_insn a;
	struct kprobe_insn ki;

	if (cpu_feature_enabled(X86_FEATURE_RETPOLINE) ||
	    cpu_feature_enabled(X86_FEATURE_INDIRECT_THUNK_ITS))
		kunit_skip(test, "indirect branches are not copied");

	memcpy(ki.bytes, f->code, sizeof(ki.bytes));
	KUNIT_ASSERT_EQ(test, insn_decode(&ki.insn, ki.bytes, sizeof(ki.bytes),
					  INSN_MODE_KERN), 0);
	KUNIT_ASSERT_EQ(test, ki.insn.length, f->len);
	KUNIT_ASSERT_EQ(test, classify(&ki, &a), 0);
	expect_code(test, f, code, kprobe_reencode(code, &ki, &a, FROM, TO));
}

/* Out of the reach of a displacement; with 32 bits, nothing is. */
static void reencode_too_far(struct kunit *test)
{
	static const u8 jmp[MAX_INSN_SIZE] = { 0xe9, 0, 0, 0, 0x80 };
	u8 code[KPROBE_MAX_REENCODED];
	struct arch_specific_insn a;
	struct kprobe_insn ki;

	memcpy(ki.bytes, jmp, sizeof(ki.bytes));
	KUNIT_ASSERT_EQ(test, insn_decode(&ki.insn, ki.bytes, sizeof(ki.bytes),
					  INSN_MODE_KERN), 0);
	KUNIT_ASSERT_EQ(test, classify(&ki, &a), 0);
	KUNIT_EXPECT_EQ(test, kprobe_reencode(code, &ki, &a, FROM, FROM), 5);
	KUNIT_EXPECT_EQ(test, kprobe_reencode(code, &ki, &a, FROM, FROM + 0x1000),
			IS_ENABLED(CONFIG_X86_64) ? -ERANGE : 5);
}

/* References in code: each of these, at any offset, refers to TARGET. */
#define REGION_SIZE	0x1000
#define TARGET		(FROM + 0x234)
#define CODE_AT		0x100

struct lead {
	const char	*name;
	u8		code[8];
	u8		disp_at;	/* offset of the field with the target */
	bool		absolute;
};

static const struct lead leads[] = {
	{ "call",	{ 0xe8 }, 1 },
	{ "jmp",	{ 0xe9 }, 1 },
	{ "jcc",	{ 0x0f, 0x8f }, 2 },
#ifdef CONFIG_X86_64
	{ "lea",	{ 0x48, 0x8d, 0x0d }, 3 },
	{ "lea, 32 bits",	{ 0x8d, 0x0d }, 2 },
#else
	{ "lea",	{ 0x8d, 0x0d }, 2, true },
	{ "lea with base",	{ 0x8d, 0x8b }, 2, true },
	{ "lea with index",	{ 0x8d, 0x0c, 0x8d }, 3, true },
	{ "ljmp",	{ 0xea }, 1, true },
	{ "lcall",	{ 0x9a }, 1, true },
#endif
	{ "xbegin",	{ 0xc7, 0xf8 }, 2 },
	{ "push",	{ 0x68 }, 1, true },
	{ "mov to a register",	{ 0xbf }, 1, true },
	{ "mov to a register, with ModRM",	{ 0xc7, 0xc0 }, 2, true },
	{ "mov to a register, long",	{ 0x48, 0xc7, 0xc0 }, 3, true },
};
KUNIT_ARRAY_PARAM_DESC(lead, leads, name);

static void map_scan(struct kunit *test)
{
	const struct lead *l = test->param_value;
	struct kprobe_branch_map map = { .start = FROM, .size = REGION_SIZE };
	u8 text[64 + 16];
	unsigned int shift;
	s32 disp;

	map.targets = kp_zalloc(test, REGION_SIZE / 8);

	for (shift = 0; shift < 8; shift++) {
		memset(text, 0x90, sizeof(text));
		memcpy(text + shift, l->code, l->disp_at);
		disp = l->absolute ? (s32)TARGET :
		       (s32)(TARGET - (FROM + CODE_AT + shift + l->disp_at + sizeof(disp)));
		memcpy(text + shift + l->disp_at, &disp, sizeof(disp));

		bitmap_zero(map.targets, REGION_SIZE);
		kprobe_map_scan(&map, text, 64, FROM + CODE_AT);
		KUNIT_EXPECT_TRUE_MSG(test, test_bit(TARGET - FROM, map.targets),
				      "shifted by %u", shift);
	}
}

#ifdef CONFIG_KGDB
/* For a breakpoint; nothing calls it. */
static noinline __noclone notrace __used void kpr_break(void)
{
	asm volatile(".rept 8\n	nop\n	.endr");
}

/*
 * A breakpoint of kgdb has replaced the opcode. The original byte is not known, so it
 * may have been any of them.
 */
static void map_scan_under_kgdb(struct kunit *test)
{
	const struct lead *l = test->param_value;
	unsigned long addr = (unsigned long)kpr_break, target;
	struct kprobe_branch_map map = { .size = REGION_SIZE };
	u8 text[1 + 16];
	s32 disp;

	/* A landing pad may begin as a jump does. */
	while (*(u8 *)addr != 0x90)
		addr++;
	target = addr + 0x234;
	map.start = addr - 0x400;
	map.targets = kp_zalloc(test, REGION_SIZE / 8);
	/* With a prefix, that is what the breakpoint replaces. */
	KP_SKIP_IF(test, (l->code[0] & 0xf0) == 0x40, "its opcode is not the first byte");

	memset(text, 0x90, sizeof(text));
	memcpy(text, l->code, l->disp_at);
	disp = l->absolute ? (s32)target : (s32)(target - (addr + l->disp_at + sizeof(disp)));
	memcpy(text + l->disp_at, &disp, sizeof(disp));
	text[0] = INT3_INSN_OPCODE;

	/* Any other breakpoint is padding. */
	kprobe_map_scan(&map, text, 1, addr);
	KUNIT_EXPECT_TRUE(test, bitmap_empty(map.targets, REGION_SIZE));

	kgdb_set_break(test, addr);
	kprobe_map_scan(&map, text, 1, addr);
	KUNIT_EXPECT_TRUE(test, test_bit(target - map.start, map.targets));
	kgdb_remove_break(test, addr);
}

/* When the text was read, there was a breakpoint of kgdb. There is none any more. */
static void map_scan_after_kgdb(struct kunit *test)
{
	static u8 call = CALL_INSN_OPCODE;
	unsigned long addr = (unsigned long)&call, target = addr + 0x234;
	struct kprobe_branch_map map = { .start = addr - 0x400, .size = REGION_SIZE };
	u8 text[1 + 16] = { INT3_INSN_OPCODE };

	map.targets = kp_zalloc(test, REGION_SIZE / 8);
	put_unaligned((s32)(target - (addr + CALL_INSN_SIZE)), (s32 *)(text + 1));
	kprobe_map_scan(&map, text, 1, addr);
	KUNIT_EXPECT_TRUE(test, test_bit(target - map.start, map.targets));
}
#else
KP_SKIPPED(map_scan_under_kgdb, "needs KGDB")

KP_SKIPPED(map_scan_after_kgdb, "needs KGDB")
#endif

/* References to other places are ignored, at either end. */
static void map_bounds(struct kunit *test)
{
	struct kprobe_branch_map map = { .start = FROM, .size = REGION_SIZE };

	map.targets = kp_zalloc(test, REGION_SIZE / 8 + sizeof(long));

	kprobe_map_mark(&map, FROM - 1);
	kprobe_map_mark(&map, FROM + REGION_SIZE);
	kprobe_map_mark(&map, 0);
	KUNIT_EXPECT_TRUE(test, bitmap_empty(map.targets, REGION_SIZE + BITS_PER_LONG));
	kprobe_map_mark(&map, FROM);
	kprobe_map_mark(&map, FROM + REGION_SIZE - 1);
	KUNIT_EXPECT_EQ(test, bitmap_weight(map.targets, REGION_SIZE), 2);
}

static struct kunit_case reencode_cases[] = {
	KUNIT_CASE_PARAM(reencode_forms, form_gen_params),
	KUNIT_CASE(reencode_too_far),
	KUNIT_CASE_PARAM(map_scan, lead_gen_params),
	KUNIT_CASE_PARAM(map_scan_under_kgdb, lead_gen_params),
	KUNIT_CASE(map_scan_after_kgdb),
	KUNIT_CASE(map_bounds),
	{}
};

KP_SUITE(reencode_cases, .name = "kprobes_x86_reencode");
