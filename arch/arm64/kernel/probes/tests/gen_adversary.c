// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs on the host: registers and instructions of the random functions that
 * adversary_kunit.c calls with and without probes. kernel/kprobes/tests/gen_adversary.h has
 * their control flow.
 *
 * A function takes any values in the registers, except for x27, which points to data, and
 * x28, which counts the iterations of loops. It may change the other registers, the flags,
 * and the data. x16 and x17 are scratch; x18 belongs to the shadow call stack. No result
 * depends on the stack pointer or on x27, so that it is the same in each task.
 */
#include "gen_adversary.h"

/* Numbers of the registers that are used as operands. */
static const unsigned int regs[] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	19, 20, 21, 22, 23, 24, 25, 26, 29, 30,
};

static const char * const conditions[] = {
	"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc",
	"hi", "ls", "ge", "lt", "gt", "le",
};

static const char * const arithmetic[] = {
	"add", "adds", "sub", "subs", "and", "ands", "orr", "eor",
	"bic", "bics", "orn", "eon", "adc", "adcs", "sbc", "sbcs",
};

static const char * const immediate[] = { "add", "adds", "sub", "subs" };
static const char * const shifts[] = { "lsl", "lsr", "asr", "ror" };
static const char * const unary[] = { "rbit", "rev", "rev16", "clz", "cls", "mvn", "neg" };
static const char * const selects[] = { "csel", "csinc", "csinv", "csneg" };
static const char * const products[] = { "mul", "mneg", "udiv", "sdiv" };
static const char * const wide[] = { "movz", "movn", "movk" };

static const char * const others[] = {
	"nop", "hint 38", "isb", "dmb ish", "prfm pldl1keep, kpa_literals", "cmp xzr, xzr",
	"mov xzr, x1", "prfm pldl1keep, [x27]",
};

static char size(void)
{
	return "wx"[chance(2)];
}

static void straight(void)
{
	unsigned int a = PICK(regs), b = PICK(regs), c = PICK(regs), n = chance(16);
	const char *op;
	char s = size();

	switch (chance(24)) {
	case 0 ... 3:
		op = PICK(arithmetic);
		printf("\t%s %c%u, %c%u, %c%u\n", op, s, a, s, b, s, c);
		break;
	case 4 ... 5:
		op = PICK(immediate);
		printf("\t%s %c%u, %c%u, %u\n", op, s, a, s, b, chance(4096));
		break;
	case 6:
		op = PICK(wide);
		printf("\t%s %c%u, %u, lsl 16\n", op, s, a, chance(65536));
		break;
	case 7:
		op = PICK(shifts);
		printf("\t%s %c%u, %c%u, %u\n", op, s, a, s, b, 1 + chance(31));
		break;
	case 8:
		printf("\tadd %c%u, %c%u, %c%u, %s %u\n", s, a, s, b, s, c,
		       chance(2) ? "lsl" : "asr", chance(32));
		break;
	case 9 ... 10:
		printf("\tmov %c%u, %c%u\n", s, a, s, b);
		break;
	case 11:
		printf("\t%s %c%u, [x27, %u]\n", chance(2) ? "ldr" : "str", s, a, 8 * n);
		break;
	case 12:
		if (a == b)
			b = 17;
		printf("\t%s x%u, x%u, [x27, %u]\n", chance(2) ? "ldp" : "stp", a, b, 8 * n);
		break;
	case 13:
		printf("\tand x16, x%u, 31\n", b);
		if (chance(2))
			printf("\tldr x%u, [x27, w16, uxtw 3]\n", a);
		else
			printf("\tstrb w%u, [x27, x16]\n", a);
		break;
	case 14 ... 15:
		op = chance(3) ? "ldr" : "ldrsw";
		printf("\t%s %c%u, kpa_literals + %u\n", op, op[3] ? 'x' : s, a, 4 * chance(15));
		break;
	case 16:
		printf("\tadr x%u, kpa_literals + %u\n", a, chance(64));
		break;
	case 17:
		printf("\tadrp x%u, kpa_callees\n", a);
		break;
	case 18:
		op = PICK(selects);
		printf("\t%s %c%u, %c%u, %c%u, ", op, s, a, s, b, s, c);
		printf("%s\n", PICK(conditions));
		break;
	case 19:
		printf("\tccmp %c%u, %c%u, %u, ", s, a, s, b, n);
		printf("%s\n", PICK(conditions));
		break;
	case 20:
		op = PICK(products);
		printf("\t%s %c%u, %c%u, %c%u\n", op, s, a, s, b, s, c);
		break;
	case 21:
		op = PICK(unary);
		printf("\t%s %c%u, %c%u\n", op, s, a, s, b);
		break;
	case 22:
		printf("\t%s\n", PICK(others));
		break;
	case 23:
		printf("\t%s %c%u, %c%u, %u, %u\n", chance(2) ? "ubfx" : "bfi", s, a, s, b, n,
		       1 + chance(16));
		break;
	}
}

static void use_stack(void)
{
	unsigned int a = PICK(regs), b = PICK(regs);

	switch (chance(4)) {
	case 0:
		printf("\tstr x%u, [sp, -16]!\n", a);
		some_straight(2);
		printf("\tldr x%u, [sp], 16\n", b);
		break;
	case 1:
		printf("\tmrs x%u, nzcv\n", a);
		break;
	case 2:
		printf("\tmrs x16, daif\n\tstr x16, [sp, -16]!\n\tmsr daifset, 3\n");
		printf("\tmrs x%u, daif\n", a);
		some_straight(2);
		if (chance(2))
			printf("\tldr x16, [sp], 16\n\tmsr daif, x16\n");
		else
			printf("\tadd sp, sp, 16\n\tmsr daifclr, 3\n");
		break;
	case 3:
		/* Nothing may read x29 meanwhile. */
		printf("\tstp x29, x30, [sp, -32]!\n\tmov x29, sp\n\tstr x%u, [sp, 16]\n", a);
		printf("\tnop\n\tldr x%u, [sp, 16]\n\tldp x29, x30, [sp], 32\n",
		       b == 29 ? a : b);
		break;
	}
}

static void call(unsigned int callee)
{
	unsigned int a = PICK(regs);

	switch (chance(5)) {
	case 0 ... 1:
		printf("\tbl kpa_callee%u\n", callee);
		break;
	case 2:
		printf("\tadr x%u, kpa_callee%u\n\tblr x%u\n", a, callee, a);
		break;
	case 3:
		printf("\tadrp x16, kpa_callees\n\tadd x16, x16, :lo12:kpa_callees\n");
		printf("\tldr x17, [x16, %u]\n\tblr x17\n", 8 * callee);
		break;
	case 4:
		printf("\tadr x30, kpa_callee%u\n\tblr x30\n", callee);
		break;
	}
}

/* A branch into it ends it, too. */
static void loop(void)
{
	printf("\tmov x28, %u\n8:\n", 1 + chance(4));
	some_straight(3);
	if (chance(2))
		printf("\tsubs x28, x28, 1\n\tb.gt 8b\n");
	else
		printf("\tsub x28, x28, 1\n\ttbz x28, 63, 8b\n");
}

static void block(void)
{
	printf("\tmov x16, x27\n\tmov w17, %u\n", 1 + chance(8));
	printf("3:\tsub w17, w17, 1\n\tstrb w17, [x16], 1\n\tcbnz w17, 3b\n");
}

/* Nothing is mapped at the end of the address space. */
static void fault(void)
{
	unsigned int a = PICK(regs);

	printf("\tmov x16, -4000\n5:\tldr w%u, [x16]\n6:\tadd w%u, w%u, 1\n", a, a, a);
	printf("\t_ASM_EXTABLE_UACCESS(5b, 6b)\n");
}

/* The target is near. */
static void branch(void)
{
	unsigned int a = PICK(regs), bit = chance(32);
	char s = size();

	switch (chance(4)) {
	case 0 ... 1:
		printf("\tb.%s", PICK(conditions));
		break;
	case 2:
		printf("\t%s %c%u,", chance(2) ? "cbz" : "cbnz", s, a);
		break;
	case 3:
		bit += s == 'x' ? 32 : 0;
		printf("\t%s %c%u, %u,", chance(2) ? "tbz" : "tbnz", s, a, bit);
		break;
	}
	printf(" .Lkpa_%u_%u\n", fn, later(4));
}

/* Words after it are no instructions. */
static void branch_always(void)
{
	printf("\tb .Lkpa_%u_%u\n", fn, later(3));
	if (chance(2))
		printf("\t.inst 0\n");
}

static void branch_counter(void)
{
	unsigned int a = PICK(regs);

	printf("\tand w%u, w%u, 1\n\t%s w%u, 6f\n", a, a, chance(2) ? "cbz" : "cbnz", a);
	some_straight(2);
	printf("6:\tadd w%u, w%u, 1\n", a, a);
}

/* TBZ does not reach the cold parts. */
static const char *condition(void)
{
	static const char * const branches[] = {
		"b.eq", "b.ne", "b.cs", "b.cc", "b.mi", "b.pl", "b.vs", "b.vc", "b.hi",
		"b.ls", "b.ge", "b.lt", "b.gt", "b.le", "cbz x0,", "cbnz w1,", "cbz w30,",
	};

	return PICK(branches);
}

static void use_table(const char *table)
{
	unsigned int a = PICK(regs), b = PICK(regs);

	printf("\tand x16, x%u, 3\n\tadrp x17, %s\n\tadd x17, x17, :lo12:%s\n", a, table, table);
	printf("\tldr x%u, [x17, x16, lsl 3]\n\tbr x%u\n", b, b);
}

/* They read their return address. */
static void callee(unsigned int i)
{
	printf("\tmov x%u, x30\n\t%s w0, w0, w%u\n\tret\n", 9 + i, i % 2 ? "adc" : "eor", i);
}

static const struct gen_arch arch = {
	.includes	= "#include <linux/linkage.h>\n"
			  "#include <asm/asm-extable.h>\n\n"
			  "\t.text\n\t.balign 8\nkpa_literals:\n"
			  "\t.irp n, 1, 2, 3, 5, 8, 13, 21, 34\n"
			  "\t.quad \\n * 0x9e3779b97f4a7c15\n\t.endr\n",
	.type		= "%function",
	/* BTI of both kinds. */
	.pad		= "\thint 38\n",
	.no_pad		= "",
	/* With kCFI, the word before a function may be its type, unless it is RET. */
	.after		= "\tnop\n",
	/* In reach of conditional branches. */
	.cold		= "\t.text 1\n",
	.enter		= "\tstp x29, x30, [sp, -16]!\n\tmov x29, x0\n",
	.leave		= "\tldp x29, x30, [sp], 16\n",
	.ret		= "\tret\n",
	.jump		= "b",
	.case_end	= "\tadd x1, x1, 1\n",
};
