// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs on the host: registers and instructions of the random functions that
 * adversary_kunit.c calls with and without probes. kernel/kprobes/tests/gen_adversary.h has
 * their control flow.
 *
 * A function takes any values in the registers, except for r1, r2, r13, and r31, which points
 * to data. It may change the other registers, the condition register, CTR, XER and the data.
 * r0, r11 and r12 are scratch. No result depends on r1 or r31, so that it is the same in each
 * task. What differs between 32 and 64 bits is a macro.
 */
#include "gen_adversary.h"

/* Numbers of the registers that are used as operands. */
static const unsigned int regs[] = {
	3, 4, 5, 6, 7, 8, 9, 10, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
};

static const char * const conditions[] = { "eq", "ne", "lt", "le", "gt", "ge", "so", "ns" };

static const char * const arithmetic[] = {
	"add", "add.", "addo", "addo.", "addc", "addc.", "adde", "adde.", "addeo",
	"subf", "subf.", "subfo.", "subfc", "subfc.", "subfe", "subfe.", "mullw", "mullw.",
	"and", "and.", "andc", "or", "or.", "orc", "xor", "xor.", "nor", "nand", "eqv.",
	"slw", "slw.", "srw", "srw.", "sraw", "sraw.",
	"KPA_MUL", "KPA_SL", "KPA_SR", "KPA_SRA",
};

static const char * const immediate[] = { "addi", "addis", "addic", "addic.", "subfic", "mulli" };
static const char * const logical[] = { "ori", "oris", "xori", "xoris", "andi.", "andis." };

static const char * const unary[] = {
	"extsb", "extsh.", "cntlzw", "cntlzw.", "neg", "neg.", "nego", "not",
	"addze", "addze.", "addme", "subfze", "subfme.", "KPA_CNTLZ", "KPA_EXTS",
};

static const char * const compares[] = { "cmpw", "cmplw", "KPA_CMP", "KPA_CMPL" };

static const char * const logic_of_conditions[] = {
	"crand", "crandc", "creqv", "crnand", "crnor", "cror", "crorc", "crxor",
};

/* The size of an operand in memory follows. */
static const struct {
	const char	*op;
	unsigned int	size;
} accesses[] = {
	{ "lbz", 1 }, { "lhz", 2 }, { "lha", 2 }, { "lwz", 4 }, { "PPC_LL", 8 },
	{ "stb", 1 }, { "sth", 2 }, { "stw", 4 }, { "PPC_STL", 8 },
};

static const char * const indexed[] = {
	"lbzx", "lhzx", "lhax", "lwzx", "lhbrx", "lwbrx",
	"stbx", "sthx", "stwx", "sthbrx", "stwbrx",
};

static const char * const updating[] = {
	"lbzu", "lhzu", "lhau", "lwzu", "stbu", "sthu", "stwu", "PPC_STLU",
};

static const char * const others[] = {
	"nop", "ori 31,31,0", "sync", "isync", "eieio", "dcbt 0,r31", "dcbtst 0,r31", "dcbst 0,r31",
	"mfcr r12", "cmpw cr5,r1,r1",
};

static void straight(void)
{
	unsigned int a = PICK(regs), b = PICK(regs), c = PICK(regs), n = chance(16);
	const char *op;

	switch (chance(24)) {
	case 0 ... 4:
		op = PICK(arithmetic);
		printf("\t%s r%u, r%u, r%u\n", op, a, b, c);
		break;
	case 5 ... 6:
		op = PICK(immediate);
		printf("\t%s r%u, r%u, %d\n", op, a, b, (int)chance(65536) - 32768);
		break;
	case 7:
		op = PICK(logical);
		printf("\t%s r%u, r%u, %u\n", op, a, b, chance(65536));
		break;
	case 8:
		printf("\trlwi%s r%u, r%u, %u, %u, %u\n",
		       ((const char *[]){ "nm", "nm.", "mi", "mi." })[chance(4)], a, b,
		       chance(32), chance(32), chance(32));
		break;
	case 9:
		op = chance(2) ? "rlwnm" : "rlwnm.";
		printf("\t%s r%u, r%u, r%u, %u, 31\n", op, a, b, c, n);
		break;
	case 10:
		op = chance(2) ? "srawi" : "srawi.";
		printf("\t%s r%u, r%u, %u\n", op, a, b, chance(32));
		break;
	case 11:
		printf("\tmr r%u, r%u\n", a, b);
		break;
	case 12 ... 13:
		op = PICK(unary);
		printf("\t%s r%u, r%u\n", op, a, b);
		break;
	case 14:
		n = chance(ARRAY_SIZE(accesses));
		printf("\t%s r%u, %u(r31)\n", accesses[n].op, a,
		       accesses[n].size * chance(128 / accesses[n].size));
		break;
	case 15:
		printf("\trlwinm r12, r%u, 0, 26, 29\n", b);
		op = PICK(indexed);
		printf("\t%s r%u, r31, r12\n", op, a);
		break;
	case 16:
		op = PICK(updating);
		printf("\tmr r12, r31\n\t%s r%u, %u(r12)\n", op, a, 8 * n);
		break;
	case 17 ... 18:
		op = PICK(compares);
		printf("\t%s cr%u, r%u, r%u\n", op, chance(8), a, b);
		break;
	case 19:
		op = chance(2) ? "cmpwi" : "cmplwi";
		printf("\t%s cr%u, r%u, %u\n", op, chance(8), a, n);
		break;
	case 20:
		op = PICK(logic_of_conditions);
		printf("\t%s %u, %u, %u\n", op, chance(32), chance(32), chance(32));
		break;
	case 21:
		switch (chance(4)) {
		case 0:
			printf("\tmfcr r%u\n", a);
			break;
		case 1:
			printf("\tmtcrf 0x%02x, r%u\n", chance(256), a);
			break;
		case 2:
			printf("\tmcrf cr%u, cr%u\n", chance(8), chance(8));
			break;
		case 3:
			printf("\trlwinm r12, r%u, 0, 0, 2\n\tmtxer r12\n\tmfxer r%u\n", b, a);
			break;
		}
		break;
	case 22:
		switch (chance(4)) {
		case 0:
			printf("\tmflr r%u\n", a);
			break;
		case 1:
			printf("\tmfctr r%u\n", a);
			break;
		case 2:
			printf("\tbcl 20, 31, $+4\n\tmflr r%u\n", a);
			break;
		case 3:
			printf("\tbcl 20, 31, 4f\n4:\tmflr r12\n"
			       "\taddis r12, r12, (kpa_literals - 4b)@ha\n"
			       "\tlwz r%u, (kpa_literals - 4b + %u)@l(r12)\n", a, 4 * chance(8));
			break;
		}
		break;
	case 23:
		printf("\t%s\n", PICK(others));
		break;
	}
}

static void use_stack(void)
{
	unsigned int a = PICK(regs), b = PICK(regs);

	switch (chance(4)) {
	case 0:
		printf("\tPPC_STLU r1, -48(r1)\n\tPPC_STL r%u, 32(r1)\n", a);
		some_straight(2);
		printf("\tPPC_LL r%u, 32(r1)\n\taddi r1, r1, 48\n", b);
		break;
	case 1:
		printf("\tli r12, -64\n\tKPA_STLUX r1, r1, r12\n");
		some_straight(2);
		printf("\tPPC_LL r1, 0(r1)\n");
		break;
	case 2:
		/* Below r1, there is a zone that is spared. */
		printf("#ifdef CONFIG_PPC64\n\tstd r%u, -%u(r1)\n", a, 8 + 8 * chance(36));
		printf("\tstd r%u, -8(r1)\n\tnop\n\tld r%u, -8(r1)\n#endif\n", a, b);
		break;
	case 3:
		/* Only whether interrupts are on. */
		printf("\tmfmsr r12\n\trlwinm r%u, r12, 0, 16, 16\n", a);
		break;
	}
}

static void call(unsigned int callee)
{
	switch (chance(5)) {
	case 0 ... 2:
		printf("\tbl kpa_callee%u\n", callee);
		break;
	case 3:
		printf("\tLOAD_REG_ADDR(r12, kpa_callees)\n\tPPC_LL r12, %u*SZL(r12)\n"
		       "\tmtctr r12\n\tbctrl\n", callee);
		break;
	case 4:
		printf("\tLOAD_REG_ADDR(r12, kpa_callees)\n\tPPC_LL r12, %u*SZL(r12)\n"
		       "\tmtlr r12\n\tblrl\n", callee);
		break;
	}
}

/* Nothing in it changes CTR, and no branch leads into it. */
static void loop(void)
{
	printf("\tli r12, %u\n\tmtctr r12\n8:\n", 1 + chance(4));
	some_straight(3);
	printf("\tbdnz 8b\n");
}

static void block(void)
{
	printf("\tmr r12, r31\n\tli r11, %u\n", 1 + chance(8));
	printf("3:\taddi r11, r11, -1\n\tstbu r11, 1(r12)\n\tcmpwi r11, 0\n\tbne 3b\n");
}

/* Nothing is mapped at the end of the address space. */
static void fault(void)
{
	unsigned int a = PICK(regs);

	printf("\tli r12, -4000\n5:\tlwz r%u, 0(r12)\n6:\taddi r%u, r%u, 1\n", a, a, a);
	printf("\tEX_TABLE(5b, 6b)\n");
}

/* The target is near. */
static void branch(void)
{
	switch (chance(8)) {
	case 0 ... 4:
		printf("\tb%s", PICK(conditions));
		printf(" cr%u,", chance(8));
		break;
	case 5:
		printf("\tbdnz");
		break;
	case 6:
		printf("\tbdz");
		break;
	case 7:
		printf("\tbc %u, %u,", 2 * chance(2) + 8 * chance(2), chance(32));
		break;
	}
	printf(" .Lkpa_%u_%u\n", fn, later(4));
}

/* Words after it are no instructions. */
static void branch_always(void)
{
	printf("\tb .Lkpa_%u_%u\n", fn, later(3));
	if (chance(2))
		printf("\t.long 0\n");
}

static void branch_counter(void)
{
	unsigned int a = PICK(regs);

	printf("\trlwinm r%u, r%u, 0, 31, 31\n\tmtctr r%u\n\t%s 6f\n", a, a, a,
	       chance(2) ? "bdz" : "bdnz");
	some_straight(2);
	printf("6:\taddi r%u, r%u, 1\n", a, a);
}

/* Conditional branches do not reach the cold parts, so an opposite one skips a branch. */
static const char *condition(void)
{
	static const char * const branches[] = {
		"beq $+8\n\tb", "bne cr1, $+8\n\tb", "blt cr7, $+8\n\tb", "bge cr6, $+8\n\tb",
		"bgt cr5, $+8\n\tb", "ble $+8\n\tb", "bso $+8\n\tb", "bdnz $+8\n\tb",
		"bdz $+8\n\tb", "bne $+8\n\tb", "bns cr2, $+8\n\tb",
	};

	return PICK(branches);
}

static void use_table(const char *table)
{
	printf("\tLOAD_REG_ADDR(r12, %s)\n", table);
	printf("\trlwinm r11, r%u, KPA_SHIFT, 30 - KPA_SHIFT, 31 - KPA_SHIFT\n", PICK(regs));
	printf("\tadd r12, r12, r11\n\tPPC_LL r12, 0(r12)\n\tmtctr r12\n\tbctr\n");
}

/* They read their return address. */
static void callee(unsigned int i)
{
	printf("\tmflr r%u\n\t%s r3, r3, r%u\n\tblr\n", 14 + i, i % 2 ? "adde." : "xor", 4 + i);
}

static const struct gen_arch arch = {
	.includes	= "#include <asm/extable.h>\n"
			  "#include <asm/ppc_asm.h>\n\n"
			  "#ifdef CONFIG_PPC64\n"
			  "#define KPA_SHIFT	3\n"
			  "#define KPA_STLUX	stdux\n"
			  "#define KPA_MUL	mulld.\n"
			  "#define KPA_SL	sld\n"
			  "#define KPA_SR	srd.\n"
			  "#define KPA_SRA	srad\n"
			  "#define KPA_CNTLZ	cntlzd\n"
			  "#define KPA_EXTS	extsw.\n"
			  "#define KPA_CMP	cmpd\n"
			  "#define KPA_CMPL	cmpld\n"
			  "#else\n"
			  "#define KPA_SHIFT	2\n"
			  "#define KPA_STLUX	stwux\n"
			  "#define KPA_MUL	mulhwu.\n"
			  "#define KPA_SL	slw.\n"
			  "#define KPA_SR	mulhw\n"
			  "#define KPA_SRA	addco\n"
			  "#define KPA_CNTLZ	extsb.\n"
			  "#define KPA_EXTS	extsh\n"
			  "#define KPA_CMP	cmpw\n"
			  "#define KPA_CMPL	cmplw\n"
			  "#endif\n\n"
			  "\t.text\n\t.balign 8\nkpa_literals:\n"
			  "\t.irp n, 1, 2, 3, 5, 8, 13, 21, 34\n"
			  "\t.long \\n * 0x7c4a7c15 & 0xffffffff\n\t.endr\n",
	.pointer	= "PPC_LONG",
	.type		= "@function",
	.pad		= "",
	.no_pad		= "",
	.after		= "",
	.cold		= "\t.text 1\n",
	.enter		= "\tmflr r0\n\tPPC_STL r0, LRSAVE(r1)\n\tPPC_STLU r1, -64(r1)\n",
	.leave		= "\taddi r1, r1, 64\n\tPPC_LL r0, LRSAVE(r1)\n\tmtlr r0\n",
	.ret		= "\tblr\n",
	.jump		= "b",
	.case_end	= "\taddi r4, r4, 1\n",
};
