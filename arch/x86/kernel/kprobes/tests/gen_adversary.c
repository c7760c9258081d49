// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs on the host: registers and instructions of the random functions that
 * adversary_kunit.c calls with and without probes. kernel/kprobes/tests/gen_adversary.h has
 * their control flow.
 *
 * A function takes any values in the registers, except for di, which points to data, and
 * r15, which counts the iterations of loops. It may change the other registers, the flags,
 * the data and kpa_data.
 */
#include "gen_adversary.h"

static const char * const regs64[] = {
	"%rax", "%rcx", "%rdx", "%rbx", "%rbp", "%rsi",
	"%r8", "%r9", "%r10", "%r11", "%r12", "%r13",
};

static const char * const regs32[] = {
	"%eax", "%ecx", "%edx", "%ebx", "%ebp", "%esi",
	"%r8d", "%r9d", "%r10d", "%r11d", "%r12d", "%r13d",
};

static const char * const conditions[] = {
	"o", "no", "b", "ae", "e", "ne", "be", "a",
	"s", "ns", "p", "np", "l", "ge", "le", "g",
};

static const char * const arithmetic[] = {
	"add", "sub", "and", "or", "xor", "cmp", "adc", "sbb", "mov",
};

static const char * const shifts[] = { "shl", "shr", "sar", "rol", "ror" };

static const char * const bytes[] = {
	"cwtl", "cltd", "cmc", "clc", "stc", "lahf", "sahf", "nop", "cld",
};

/* One instruction, or several that belong together, without branches. */
static void straight(void)
{
	const char *a = PICK(regs64), *b = PICK(regs64);
	const char *c = PICK(regs32), *d = PICK(regs32);
	unsigned int offset = 8 * chance(32);

	switch (chance(24)) {
	case 0 ... 3:
		printf("\t%s %s, %s\n", PICK(arithmetic), c, d);
		break;
	case 4 ... 5:
		printf("\t%s $%d, %s\n", PICK(arithmetic), (int)chance(256) - 128, a);
		break;
	case 6:
		printf("\t%s $%u, %s\n", PICK(arithmetic), 1000 + chance(1000000), c);
		break;
	case 7:
		printf("\tmovabs $0x%x%08x, %s\n", chance(1 << 30), chance(1 << 30), a);
		break;
	case 8 ... 9:
		printf("\tlea %d(%s,%s,%u), %s\n", (int)chance(400) - 200, a, b,
		       1 << chance(4), PICK(regs64));
		break;
	case 10:
		printf("\t%s $%u, %s\n", PICK(shifts), 1 + chance(30), c);
		break;
	case 11 ... 12:
		if (chance(2))
			printf("\t%s %u(%%rdi), %s\n", PICK(arithmetic), offset, a);
		else
			printf("\t%s %s, %u(%%rdi)\n", PICK(arithmetic), c, offset);
		break;
	case 13 ... 14:
		if (chance(2))
			printf("\t%s kpa_data+%u(%%rip), %s\n", PICK(arithmetic), offset, a);
		else
			printf("\t%sl $%u, kpa_data+%u(%%rip)\n", PICK(arithmetic),
			       chance(100000), offset);
		break;
	case 15:
		printf("\tset%s %%%cl\n", PICK(conditions), "abcd"[chance(4)]);
		break;
	case 16:
		printf("\tcmov%s %s, %s\n", PICK(conditions), a, b);
		break;
	case 17 ... 18:
		printf("\t%s\n", PICK(bytes));
		break;
	case 19:
		printf("\timul %s, %s\n", a, b);
		break;
	case 20:
		/* What BT leaves undefined is not compared. */
		printf("\tbt $%u, %s\n\tadc $0, %s\n", chance(32), c, c);
		break;
	case 21:
		printf("\t%s %s, %u(%%rdi)\n", chance(2) ? "xadd" : "cmpxchg", a, offset);
		break;
	case 22:
		printf("\t.nops %u\n", 1 + chance(9));
		break;
	case 23:
		printf("\t%s %s\n", chance(2) ? "neg" : "not", a);
		break;
	}
}

static void use_stack(void)
{
	switch (chance(4)) {
	case 0:
		printf("\tpush %s\n", PICK(regs64));
		some_straight(2);
		printf("\tpop %s\n", PICK(regs64));
		break;
	case 1:
		printf("\tpushf\n\tpop %%rax\n\tand $0xcd5, %%eax\n");
		break;
	case 2:
		printf("\tpushf\n\t%s\n", chance(2) ? "cli" : "orq $1, (%rsp)");
		some_straight(2);
		printf("\tpopf\n");
		break;
	case 3:
		printf("\tpush %%rbp\n\tmov %%rsp, %%rbp\n\tpush %s\n", PICK(regs64));
		printf("\t%s\n", chance(2) ? "leave" : "mov %rbp, %rsp\n\tpop %rbp");
		break;
	}
}

static void call(unsigned int callee)
{
	switch (chance(5)) {
	case 0 ... 1:
		printf("\tcall kpa_callee%u\n", callee);
		break;
	case 2:
		printf("\t.byte 0x2e\n\tcall kpa_callee%u\n", callee);
		break;
	case 3:
		printf("\tANNOTATE_RETPOLINE_SAFE\n\tcall *kpa_callees+%u(%%rip)\n", 8 * callee);
		break;
	case 4:
		printf("\tlea kpa_callee%u(%%rip), %%r11\n", callee);
		printf("\tANNOTATE_RETPOLINE_SAFE\n\tcall *%%r11\n\txor %%r11d, %%r11d\n");
		break;
	}
}

static void loop(void)
{
	static const char * const loops[] = { "loop", "loope", "loopne" };

	if (chance(2)) {
		printf("\tmov $%u, %%ecx\n8:\tinc %%eax\n", 1 + chance(4));
		if (chance(2))
			printf("\tcmp $%u, %%ecx\n", 1 + chance(4));
		printf("\t%s 8b\n", PICK(loops));
		return;
	}

	/* A branch into it ends it, too. */
	printf("\tmov $%u, %%r15d\n8:\n", 1 + chance(4));
	some_straight(3);
	printf("\tdec %%r15d\n\tjg 8b\n");
}

static void use_table(const char *table)
{
	printf("\tmov %s, %%edx\n\tand $3, %%edx\n", PICK(regs32));
	if (chance(2))
		printf("\tmov %s(,%%rdx,8), %%rdx\n"
		       "\tANNOTATE_RETPOLINE_SAFE\n\tjmp *%%rdx\n", table);
	else
		printf("\tANNOTATE_RETPOLINE_SAFE\n\tjmp *%s(,%%rdx,8)\n", table);
	printf("\tint3\n");
}

static void branch(void)
{
	printf("\t%sj%s .Lkpa_%u_%u\n", chance(4) ? "" : "{disp32} ", PICK(conditions), fn,
	       later(4));
}

static void branch_always(void)
{
	printf("\t%sjmp .Lkpa_%u_%u\n", chance(4) ? "" : "{disp32} ", fn, later(3));
	if (chance(2))
		printf("\t.skip %u, 0xcc\n", 1 + chance(3));
}

static void branch_counter(void)
{
	printf("\tand $1, %%ecx\n\t%s 6f\n", chance(2) ? "jrcxz" : "jecxz");
	some_straight(2);
	printf("6:\tinc %%ecx\n");
}

static const char *condition(void)
{
	static const char * const jumps[] = {
		"jo", "jno", "jb", "jae", "je", "jne", "jbe", "ja",
		"js", "jns", "jp", "jnp", "jl", "jge", "jle", "jg",
	};

	return PICK(jumps);
}

static void block(void)
{
	printf("\tpush %%rdi\n\tmov $%u, %%ecx\n\trep stosb\n\tpop %%rdi\n", chance(9));
}

/* Nothing is mapped at the end of the address space. */
static void fault(void)
{
	printf("\tmov $-4000, %%rdx\n5:\tmov (%%rdx), %%ecx\n6:\tinc %%ecx\n"
	       "\t_ASM_EXTABLE(5b, 6b)\n");
}

/* They read their return address. */
static void callee(unsigned int i)
{
	printf("\tmov (%%rsp), %%r%u\n\t%s $%u, %%eax\n\tRET\n", 8 + i,
	       i % 2 ? "adc" : "xor", 3 * i + 1);
}

static const struct gen_arch arch = {
	.includes	= "#include <linux/linkage.h>\n#include <linux/objtool.h>\n"
			  "#include <asm/asm.h>\n#include <asm/ibt.h>\n"
			  "#include <asm/nospec-branch.h>\n",
	.type		= "@function",
	.pad		= "\tENDBR\n",
	.no_pad		= "\tANNOTATE_NOENDBR\n",
	/* It is not like those of C. */
	.after		= "\tSTACK_FRAME_NON_STANDARD %s\n",
	.cold		= "\t.section .text.unlikely, \"ax\"\n",
	.enter		= "",
	.leave		= "",
	.ret		= "\tRET\n",
	.jump		= "jmp",
	.case_end	= "\tmov %eax, %edx\n",
};
