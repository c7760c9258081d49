/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For programs of the host: gen_adversary SEED COUNT prints that many random functions, in
 * assembly, which the adversary of an architecture calls with and without probes. Here is
 * their control flow. The program of the architecture includes this, and has a struct
 * gen_arch named arch, and the functions declared below, which print instructions.
 *
 * A function is a sequence of steps with a label before each, to which others jump. Parts
 * of it are elsewhere, and it ends in a return or a tail call.
 */
#ifndef _KERNEL_KPROBES_TESTS_GEN_ADVERSARY_H
#define _KERNEL_KPROBES_TESTS_GEN_ADVERSARY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/**
 * struct gen_arch - instructions
 * @includes: lines at the start of the file
 * @pointer: what reserves the memory of an address; .quad if this is missing
 * @type: what the assembler calls the type of functions
 * @pad: what begins functions and targets of indirect branches, a line or nothing
 * @no_pad: what marks code that has no such beginning, a line or nothing
 * @after: a line after a function, with its name for %s, or nothing
 * @cold: what selects the section of the parts that are elsewhere, a line
 * @enter: what a function does first, lines or nothing
 * @leave: what it does last, lines or nothing
 * @ret: a return, a line
 * @jump: a branch, without its target
 * @case_end: what a jump table leads to in the end, a line
 */
struct gen_arch {
	const char	*includes;
	const char	*pointer;
	const char	*type;
	const char	*pad;
	const char	*no_pad;
	const char	*after;
	const char	*cold;
	const char	*enter;
	const char	*leave;
	const char	*ret;
	const char	*jump;
	const char	*case_end;
};

static const struct gen_arch arch;

/* Print what kpa_callee%u does, and its return. */
static void callee(unsigned int n);
/* One instruction, or several that belong together, without branches. */
static void straight(void);
static void use_stack(void);
/* A call of kpa_callee%u. */
static void call(unsigned int callee);
static void loop(void);
/* An access to more memory, and one to memory that is not there, with a fixup. */
static void block(void);
static void fault(void);
/* A conditional branch to a later step, an unconditional one, and one over something. */
static void branch(void);
static void branch_always(void);
static void branch_counter(void);
/* A branch through the jump table with that name, which has 4 entries. */
static void use_table(const char *table);

/* A random conditional branch, without its target. */
static const char *condition(void);

static uint64_t state;

static unsigned int chance(unsigned int below)
{
	/* Knuth's MMIX generator; its low bits are poor. */
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % below;
}

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define PICK(array)		((array)[chance(ARRAY_SIZE(array))])

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

static const char *pointer(void)
{
	return arch.pointer ? arch.pointer : ".quad";
}

static void some_straight(unsigned int most)
{
	unsigned int i, nr = chance(most + 1);

	for (i = 0; i < nr; i++)
		straight();
}

static void jump_table(void)
{
	unsigned int i, table = nr_tables++;
	char name[40];

	snprintf(name, sizeof(name), "kpa_table_%u_%u", fn, table);
	use_table(name);
	for (i = 0; i < 4; i++) {
		printf(".Lkpa_case_%u_%u_%u:\n%s", fn, table, i, arch.pad);
		some_straight(2);
		/* The last one is already there. */
		if (i < 3)
			printf("\t%s 7f\n", arch.jump);
	}
	printf("7:%s\t.pushsection .rodata\n\t.balign 8\n%s:\n", arch.case_end, name);
	for (i = 0; i < 4; i++)
		printf("\t%s .Lkpa_case_%u_%u_%u\n", pointer(), fn, table, i);
	printf("\t.popsection\n");
}

static void to_cold(void)
{
	if (nr_colds == ARRAY_SIZE(colds))
		return;

	colds[nr_colds].condition = condition();
	colds[nr_colds].back = later(2);
	printf("\t%s .Lkpa_cold_%u_%u\n", colds[nr_colds].condition, fn, nr_colds);
	nr_colds++;
}

static void one_branch(void)
{
	switch (chance(8)) {
	case 0 ... 3:
		branch();
		break;
	case 4:
		branch_always();
		break;
	case 5:
		branch_counter();
		break;
	case 6 ... 7:
		to_cold();
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
		use_stack();
		break;
	case 8:
		call(chance(4));
		break;
	case 9:
		loop();
		break;
	case 10 ... 13:
		one_branch();
		break;
	case 14:
		if (chance(2))
			jump_table();
		else
			block();
		break;
	case 15:
		fault();
		break;
	}
}

static void start_of(const char *name)
{
	printf("\t.type %s, %s\n%s:\n", name, arch.type, name);
}

static void end_of(const char *name)
{
	printf("\t.size %s, . - %s\n", name, name);
	if (*arch.after)
		printf(arch.after, name);
}

static void print_colds(const char *name)
{
	unsigned int i;

	printf("\n%s", arch.cold);
	start_of(name);
	printf("%s", arch.no_pad);
	for (i = 0; i < nr_colds; i++) {
		printf(".Lkpa_cold_%u_%u:\n", fn, i);
		straight();
		printf("\t%s .Lkpa_%u_%u\n", arch.jump, fn, colds[i].back);
	}
	printf(".Lkpa_cold_end_%u:\n", fn);
	end_of(name);
}

static void function(void)
{
	char name[20], cold[30];

	snprintf(name, sizeof(name), "kpa_fn%u", fn);
	snprintf(cold, sizeof(cold), "%s.cold", name);
	steps = 4 + chance(12);
	nr_tables = 0;
	nr_colds = 0;

	printf("\n\t.text\n%s\t.globl %s\n", chance(2) ? "\t.balign 16\n" : "", name);
	start_of(name);
	printf("%s%s", arch.pad, arch.enter);
	for (step = 0; step < steps; step++) {
		printf(".Lkpa_%u_%u:\n", fn, step);
		one_step();
	}
	printf(".Lkpa_%u_%u:\n%s", fn, step, arch.leave);
	if (chance(4))
		printf("%s", arch.ret);
	else
		printf("\t%s kpa_callee%u\n", arch.jump, chance(4));
	printf(".Lkpa_end_%u:\n", fn);
	end_of(name);

	if (nr_colds)
		print_colds(cold);

	/* Only the start: other addresses would be taken for branch targets. */
	printf("\n\t.section .rodata.kpa_functions, \"a\"\n"
	       "\t%s %s\n\t.long .Lkpa_end_%u - %s\n", pointer(), name, fn, name);
	if (nr_colds)
		printf("\t.long %s - .\n\t.long .Lkpa_cold_end_%u - %s\n", cold, fn, cold);
	else
		printf("\t.long 0\n\t.long 0\n");
	printf("\t.long 0\n");
}

static void print_callee(unsigned int i)
{
	char name[20];

	snprintf(name, sizeof(name), "kpa_callee%u", i);
	printf("\n\t.text\n");
	start_of(name);
	printf("%s", arch.pad);
	callee(i);
	end_of(name);
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
	       "%s\n"
	       "\t.section .rodata.kpa_functions, \"a\"\n\t.balign 8\n"
	       "\t.globl kpa_functions\nkpa_functions:\n"
	       "\n\t.section .rodata\n\t.balign 8\nkpa_callees:\n", argv[1], arch.includes);
	for (i = 0; i < 4; i++)
		printf("\t%s kpa_callee%u\n", pointer(), i);
	for (i = 0; i < 4; i++)
		print_callee(i);

	for (fn = 0; fn < count; fn++)
		function();

	printf("\n\t.section .rodata.kpa_functions, \"a\"\n"
	       "\t.globl kpa_functions_end\nkpa_functions_end:\n");
	return 0;
}

#endif /* _KERNEL_KPROBES_TESTS_GEN_ADVERSARY_H */
