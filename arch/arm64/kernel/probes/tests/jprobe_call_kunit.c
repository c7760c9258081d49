// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the call of a jprobe's handler on arm64: registers and stack that the handler finds,
 * those that are restored, and stack traces from each instruction of the call. What the probed
 * function finds after it is in registers_kunit.c.
 */

#include "suite.h"

#include <asm/insn.h>
#include <asm/memory.h>
#include <asm/ptrace.h>
#include <asm/stacktrace.h>

#include "../jprobe.h"
#include "helpers.h"

#define NR_COPIED	(JPROBE_STACK_BYTES / sizeof(long))
#define COPIED		kpj_found.stack
#define COPIED_FROM	0

/* Arguments, and where a structure is returned. */
#define ARGS	9

/**
 * struct found - what kpj_handler() finds
 * @reg: argument registers
 * @stack: what is at its stack pointer
 */
struct found {
	unsigned long	reg[ARGS];
	unsigned long	stack[NR_COPIED];
};

/* What kprobe_jprobe_call() has to preserve: x18 to x29, and the stack pointer. */
struct kept {
	unsigned long	reg[30];
	unsigned long	unused;
	unsigned long	sp;
};

extern struct found kpj_found;
extern void **kpj_leave;
struct found kpj_found;
void **kpj_leave;

#define ADDRESS_OF(reg, symbol)						\
	"	adrp	" #reg ", " #symbol "\n"			\
	"	add	" #reg ", " #reg ", :lo12:" #symbol "\n"

#define STORE_KEPT(base)						\
	KPB_STORE("18," KPB_X19_TO_X28 ",29", base)			\
	"	mov	x9, sp\n"					\
	"	str	x9, [" base ", #8 * 31]\n"

/* Patterns in x19 to x28. */
#define SET_SAVED(value)						\
	".irp	n, " KPB_X19_TO_X28 "\n"				\
	"	mov	x\\n, #" value "\n"				\
	".endr\n"

/*
 * kpj_handler() stores what it finds. If kpj_leave is set, it leaves with all that it would
 * have to preserve destroyed, as functions that it has called could do. It has no landing
 * pad.
 */
asm(".pushsection .text\n"
	"	.balign	4\n"
	"	.globl	kpj_handler\n"
	"	.type	kpj_handler, @function\n"
	"kpj_handler:\n"
	ADDRESS_OF(x9, kpj_found)
	KPB_STORE("0,1,2,3,4,5,6,7,8", "x9")
	"	.set	.Lword, 0\n"
	"	.rept	" __stringify(JPROBE_STACK_BYTES / 8) "\n"
	"	ldr	x10, [sp, #(.Lword * 8)]\n"
	"	str	x10, [x9, #(72 + .Lword * 8)]\n"
	"	.set	.Lword, .Lword + 1\n"
	"	.endr\n"
	ADDRESS_OF(x9, kpj_leave)
	"	ldr	x0, [x9]\n"
	"	cbnz	x0, 1f\n"
	"	ret\n"
	"1:	ldr	x0, [x0]\n"
	SET_SAVED("0")
	"	sub	sp, sp, #256\n"
	"	mov	x29, sp\n"
	"	mov	x30, #0\n"
	"	add	x18, x18, #64\n"
	"	b	arch_jprobe_unwind\n"
	"	.size	kpj_handler, . - kpj_handler\n"

	/* (stack, entry, regs, frame, struct kept *before, struct kept *after) */
	"	.globl	kpj_call\n"
	"	.type	kpj_call, @function\n"
	"kpj_call:\n"
	KPB_PUSH
	"	str	x5, [sp, #96]\n"
	SET_SAVED("0x100 + \\n")
	STORE_KEPT("x4")
	"	bl	kprobe_jprobe_call\n"
	"	ldr	x5, [sp, #96]\n"
	STORE_KEPT("x5")
	KPB_POP
	"	ret\n"
	"	.size	kpj_call, . - kpj_call\n"
	".popsection\n");
void kpj_handler(void);
void kpj_call(const unsigned long *stack, void *entry, struct pt_regs *regs, void **frame,
	      struct kept *before, struct kept *after);

/* The copies that can be probed. */
void kpj_copied_call(const unsigned long *stack, void *entry, struct pt_regs *regs, void **frame);
void kpj_copied_unwind(void *frame);

static void set_regs(struct pt_regs *regs)
{
	int i;

	memset(regs, 0, sizeof(*regs));
	for (i = 0; i < ARGS; i++)
		regs->regs[i] = 0x11 + i;
}

static void call_with_stack(const void *sp)
{
	struct pt_regs regs;
	unsigned long flags;
	void *frame = NULL;

	set_regs(&regs);
	regs.sp = (unsigned long)sp;
	kpj_leave = NULL;
	memset(&kpj_found, 0xff, sizeof(kpj_found));
	local_irq_save(flags);
	arch_jprobe_call(kpj_handler, &regs, &frame);
	local_irq_restore(flags);
}

static void jprobe_call_passes_arguments(struct kunit *test)
{
	unsigned long words[NR_COPIED + 1];
	int i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = 0x100 + i;
	call_with_stack(words);
	for (i = 0; i < ARGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, kpj_found.reg[i], 0x11 + i, "x%d", i);
	for (i = 0; i < NR_COPIED; i++)
		KUNIT_EXPECT_EQ_MSG(test, kpj_found.stack[i], 0x100 + i, "word %d", i);
}

/* The handler returns, or destroys all registers and leaves. */
static void jprobe_call_restores_registers(struct kunit *test)
{
	unsigned long stack[NR_COPIED] = {}, flags;
	struct kept before, after;
	struct pt_regs regs;
	void *frame;
	int i, leave;

	set_regs(&regs);
	for (leave = 0; leave < 2; leave++) {
		memset(&after, 0, sizeof(after));
		kpj_leave = leave ? &frame : NULL;
		local_irq_save(flags);
		kpj_call(stack, kpj_handler, &regs, &frame, &before, &after);
		local_irq_restore(flags);

		for (i = 19; i <= 28; i++)
			KUNIT_EXPECT_EQ_MSG(test, after.reg[i], 0x100 + i, "x%d", i);
		KUNIT_EXPECT_EQ(test, after.reg[29], before.reg[29]);
		KUNIT_EXPECT_EQ(test, after.sp, before.sp);
		if (IS_ENABLED(CONFIG_SHADOW_CALL_STACK))
			KUNIT_EXPECT_EQ(test, after.reg[18], before.reg[18]);
	}
}

/*
 * The copy of the stack
 */

#include "jprobe_stack.h"

/* The first function there starts with its end as stack pointer. */
static void jprobe_call_reads_no_further_than_the_irq_stack(struct kunit *test)
{
	void *stack;

	migrate_disable();
	stack = raw_cpu_read(irq_stack_ptr);
	check_end(test, stack + IRQ_STACK_SIZE);
	if (IRQ_STACK_SIZE > PAGE_SIZE)
		check_first_page(test, stack);
	migrate_enable();
}

/*
 * How the handler is entered
 */

/* A wrong way fails here only with a CPU and a compiler that check it, so look at the code. */
static void jprobe_enters_by_return(struct kunit *test)
{
	unsigned long start = (unsigned long)kprobe_jprobe_call, size, at;
	int indirect = 0, to_entry = 0, to_caller = 0;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, NULL));
	for (at = start; at < start + size; at += AARCH64_INSN_SIZE) {
		u32 insn = le32_to_cpu(*(__le32 *)at);

		indirect += aarch64_insn_is_br(insn) || aarch64_insn_is_blr(insn);
		if (!aarch64_insn_is_ret(insn))
			continue;
		if (aarch64_insn_decode_register(AARCH64_INSN_REGTYPE_RN, insn) ==
		    AARCH64_INSN_REG_LR)
			to_caller++;
		else
			to_entry++;
	}
	KUNIT_EXPECT_EQ(test, indirect, 0);
	KUNIT_EXPECT_EQ(test, to_entry, 1);
	KUNIT_EXPECT_EQ(test, to_caller, 1);
}

/*
 * Stack traces from each instruction
 */

#define KPJ_CODE(fn)	((unsigned long)(fn))
#define KPJ_PADDING	((u32 __force)cpu_to_le32(aarch64_insn_gen_nop()))

#include "jprobe_words.h"

static void expect_steps(struct kunit *test)
{
	KUNIT_EXPECT_GE(test, step.nr, 40);
	KUNIT_EXPECT_GE(test, step.hits, 75);
	/* As in any function: its first three instructions and the last one have no frame. */
	KUNIT_EXPECT_EQ(test, step.without_caller, 2 * 4);
}

static struct kunit_case jprobe_call_cases[] = {
	KUNIT_CASE(jprobe_call_passes_arguments),
	KUNIT_CASE(jprobe_call_restores_registers),
	KUNIT_CASE(jprobe_call_reads_no_further_than_the_page),
	KUNIT_CASE(jprobe_call_reads_no_further_than_the_stack),
	KUNIT_CASE(jprobe_call_reads_all_pages_of_the_stack),
	KUNIT_CASE(jprobe_call_reads_no_further_than_the_irq_stack),
	KUNIT_CASE(jprobe_enters_by_return),
	KUNIT_CASE(jprobe_unwinds_at_each_instruction),
	{}
};

KP_SUITE(jprobe_call_cases, .name = "kprobes_arm64_jprobe");
