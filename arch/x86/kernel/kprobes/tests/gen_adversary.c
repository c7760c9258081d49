// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs on the host: gen_adversary SEED COUNT prints that many random functions, in
 * assembly, which adversary_kunit.c calls with and without probes.
 *
 * A function is a sequence of steps with a label before each, to which others jump. It
 * takes any values in the registers, except for di, which points to data, and r15,
 * which counts the iterations of loops. It may change the other registers, the flags,
 * the data and kpa_data.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state;

static unsigned int chance(unsigned int below)
{
	/* Knuth's MMIX generator; its low bits are poor. */
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % below;
}

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define PICK(array)		((array)[chance(ARRAY_SIZE(array))])

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

/* What is being printed. */
static unsigned int fn, step, steps, nr_tables, nr_colds;

struct cold {
	const char	*condition;
	unsigned int	back;
};

static struct cold colds[8];

static unsigned int later(unsigned int most)
{
	unsigned int left = steps - step;

	return step + 1 + chance(left < most ? left : most);
}

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

static void some_straight(unsigned int most)
{
	unsigned int i, nr = chance(most + 1);

	for (i = 0; i < nr; i++)
		straight();
}

static void push_and_pop(void)
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

static void call(void)
{
	unsigned int callee = chance(4);

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

static void jump_table(void)
{
	unsigned int i, table = nr_tables++;

	printf("\tmov %s, %%edx\n\tand $3, %%edx\n", PICK(regs32));
	if (chance(2))
		printf("\tmov kpa_table_%u_%u(,%%rdx,8), %%rdx\n"
		       "\tANNOTATE_RETPOLINE_SAFE\n\tjmp *%%rdx\n", fn, table);
	else
		printf("\tANNOTATE_RETPOLINE_SAFE\n\tjmp *kpa_table_%u_%u(,%%rdx,8)\n",
		       fn, table);
	printf("\tint3\n");
	for (i = 0; i < 4; i++) {
		printf(".Lkpa_case_%u_%u_%u:\n\tENDBR\n", fn, table, i);
		some_straight(2);
		/* The last one is already there. */
		if (i < 3)
			printf("\tjmp 7f\n");
	}
	printf("7:\tmov %%eax, %%edx\n"
	       "\t.pushsection .rodata\n\t.balign 8\nkpa_table_%u_%u:\n", fn, table);
	for (i = 0; i < 4; i++)
		printf("\t.quad .Lkpa_case_%u_%u_%u\n", fn, table, i);
	printf("\t.popsection\n");
}

static void branch(void)
{
	switch (chance(8)) {
	case 0 ... 3:
		printf("\t%sj%s .Lkpa_%u_%u\n", chance(4) ? "" : "{disp32} ",
		       PICK(conditions), fn, later(4));
		break;
	case 4:
		printf("\t%sjmp .Lkpa_%u_%u\n", chance(4) ? "" : "{disp32} ", fn, later(3));
		if (chance(2))
			printf("\t.skip %u, 0xcc\n", 1 + chance(3));
		break;
	case 5:
		printf("\tand $1, %%ecx\n\t%s 6f\n", chance(2) ? "jrcxz" : "jecxz");
		some_straight(2);
		printf("6:\tinc %%ecx\n");
		break;
	case 6 ... 7:
		if (nr_colds == ARRAY_SIZE(colds))
			break;
		colds[nr_colds].condition = PICK(conditions);
		colds[nr_colds].back = later(2);
		printf("\tj%s .Lkpa_cold_%u_%u\n", colds[nr_colds].condition, fn, nr_colds);
		nr_colds++;
		break;
	}
}

static void one_step(void)
{
	switch (chance(16)) {
	case 0 ... 6:
		straight();
		break;
	case 7:
		push_and_pop();
		break;
	case 8:
		call();
		break;
	case 9:
		loop();
		break;
	case 10 ... 13:
		branch();
		break;
	case 14:
		if (chance(2))
			jump_table();
		else
			printf("\tpush %%rdi\n\tmov $%u, %%ecx\n\trep stosb\n\tpop %%rdi\n",
			       chance(9));
		break;
	case 15:
		/* It faults: nothing is mapped at the end of the address space. */
		printf("\tmov $-4000, %%rdx\n5:\tmov (%%rdx), %%ecx\n6:\tinc %%ecx\n"
		       "\t_ASM_EXTABLE(5b, 6b)\n");
		break;
	}
}

static void function(void)
{
	unsigned int i;

	steps = 4 + chance(12);
	nr_tables = 0;
	nr_colds = 0;

	printf("\n\t.text\n%s\t.globl kpa_fn%u\n\t.type kpa_fn%u, @function\nkpa_fn%u:\n\tENDBR\n",
	       chance(2) ? "\t.balign 16\n" : "", fn, fn, fn);
	for (step = 0; step < steps; step++) {
		printf(".Lkpa_%u_%u:\n", fn, step);
		one_step();
	}
	printf(".Lkpa_%u_%u:\n", fn, step);
	if (chance(4))
		printf("\tRET\n");
	else
		printf("\tjmp kpa_callee%u\n", chance(4));
	printf(".Lkpa_end_%u:\n\t.size kpa_fn%u, . - kpa_fn%u\n"
	       "\tSTACK_FRAME_NON_STANDARD kpa_fn%u\n", fn, fn, fn, fn);

	if (nr_colds) {
		printf("\n\t.section .text.unlikely, \"ax\"\n"
		       "\t.type kpa_fn%u.cold, @function\nkpa_fn%u.cold:\n"
		       "\tANNOTATE_NOENDBR\n", fn, fn);
		for (i = 0; i < nr_colds; i++) {
			printf(".Lkpa_cold_%u_%u:\n", fn, i);
			straight();
			printf("\tjmp .Lkpa_%u_%u\n", fn, colds[i].back);
		}
		printf(".Lkpa_cold_end_%u:\n\t.size kpa_fn%u.cold, . - kpa_fn%u.cold\n"
		       "\tSTACK_FRAME_NON_STANDARD kpa_fn%u.cold\n", fn, fn, fn, fn);
	}

	/* Only the start: other addresses would be taken for branch targets. */
	printf("\n\t.section .rodata.kpa_functions, \"a\"\n"
	       "\t.quad kpa_fn%u\n\t.long .Lkpa_end_%u - kpa_fn%u\n", fn, fn, fn);
	if (nr_colds)
		printf("\t.long kpa_fn%u.cold - .\n\t.long .Lkpa_cold_end_%u - kpa_fn%u.cold\n",
		       fn, fn, fn);
	else
		printf("\t.long 0\n\t.long 0\n");
	printf("\t.long 0\n");
}

int main(int argc, char **argv)
{
	unsigned int count, i;

	if (argc != 3)
		return 1;
	state = strtoull(argv[1], NULL, 0);
	count = strtoul(argv[2], NULL, 0);

	printf("/* SPDX-License-Identifier: GPL-2.0-only */\n"
	       "/* Made by gen_adversary, seed %s. */\n"
	       "#include <linux/linkage.h>\n#include <linux/objtool.h>\n"
	       "#include <asm/asm.h>\n#include <asm/ibt.h>\n#include <asm/nospec-branch.h>\n\n"
	       "\t.section .rodata.kpa_functions, \"a\"\n\t.balign 8\n"
	       "\t.globl kpa_functions\nkpa_functions:\n"
	       "\n\t.section .rodata\n\t.balign 8\nkpa_callees:\n", argv[1]);
	for (i = 0; i < 4; i++)
		printf("\t.quad kpa_callee%u\n", i);

	/* They read their return address. */
	for (i = 0; i < 4; i++)
		printf("\n\t.text\n\t.type kpa_callee%u, @function\nkpa_callee%u:\n\tENDBR\n"
		       "\tmov (%%rsp), %%r%u\n\t%s $%u, %%eax\n\tRET\n"
		       "\t.size kpa_callee%u, . - kpa_callee%u\n"
		       "\tSTACK_FRAME_NON_STANDARD kpa_callee%u\n",
		       i, i, 8 + i, i % 2 ? "adc" : "xor", 3 * i + 1, i, i, i);

	for (fn = 0; fn < count; fn++)
		function();

	printf("\n\t.section .rodata.kpa_functions, \"a\"\n"
	       "\t.globl kpa_functions_end\nkpa_functions_end:\n");
	return 0;
}
