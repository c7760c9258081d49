// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the call of a jprobe's handler on arm64: registers and stack that the handler
 * finds, those that are restored, what the probed function finds after it, and stack traces
 * from each instruction of the call.
 */

#include "suite.h"

#include <asm/insn.h>
#include <asm/memory.h>
#include <asm/ptrace.h>
#include <asm/stacktrace.h>
#include <asm/sysreg.h>

#include "../jprobe.h"
#include "jprobe_steps.h"

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

/**
 * struct kept - what kprobe_jprobe_call() has to preserve, before and after a call
 * @reg: x19 to x28
 * @fp: x29
 * @scs: x18, which is any register without a shadow call stack
 * @sp: stack pointer
 */
struct kept {
	unsigned long	reg[10];
	unsigned long	fp;
	unsigned long	scs;
	unsigned long	sp;
};

/**
 * struct seen - all that kpj_target() finds
 * @reg: x0 to x30; x16 is its own
 * @sp: stack pointer
 * @nzcv: flags
 * @daif: interrupt masks
 */
struct seen {
	unsigned long	reg[31];
	unsigned long	sp;
	unsigned long	nzcv;
	unsigned long	daif;
};

extern struct found kpj_found;
extern void **kpj_leave;
struct found kpj_found;
void **kpj_leave;

#define ADDRESS_OF(reg, symbol)						\
	"	adrp	" #reg ", " #symbol "\n"			\
	"	add	" #reg ", " #reg ", :lo12:" #symbol "\n"

#define STORE_KEPT(base)						\
	"	stp	x19, x20, [" #base "]\n"			\
	"	stp	x21, x22, [" #base ", #16]\n"			\
	"	stp	x23, x24, [" #base ", #32]\n"			\
	"	stp	x25, x26, [" #base ", #48]\n"			\
	"	stp	x27, x28, [" #base ", #64]\n"			\
	"	stp	x29, x18, [" #base ", #80]\n"			\
	"	mov	x9, sp\n"					\
	"	str	x9, [" #base ", #96]\n"

#define PUSH_SAVED							\
	"	stp	x29, x30, [sp, #-112]!\n"			\
	"	mov	x29, sp\n"					\
	"	stp	x19, x20, [sp, #16]\n"				\
	"	stp	x21, x22, [sp, #32]\n"				\
	"	stp	x23, x24, [sp, #48]\n"				\
	"	stp	x25, x26, [sp, #64]\n"				\
	"	stp	x27, x28, [sp, #80]\n"

#define POP_SAVED							\
	"	ldp	x19, x20, [sp, #16]\n"				\
	"	ldp	x21, x22, [sp, #32]\n"				\
	"	ldp	x23, x24, [sp, #48]\n"				\
	"	ldp	x25, x26, [sp, #64]\n"				\
	"	ldp	x27, x28, [sp, #80]\n"				\
	"	ldp	x29, x30, [sp], #112\n"

/* Patterns in registers, as an assembler loop over [first, last]. */
#define SET_REGS(first, last, value)					\
	".irp	n, " first last "\n"					\
	"	mov	x\\n, #" value "\n"				\
	".endr\n"

#define X0_TO_X15	"0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,"
#define X17		"17,"
#define X19_TO_X28	"19,20,21,22,23,24,25,26,27,28"

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
	"	stp	x0, x1, [x9]\n"
	"	stp	x2, x3, [x9, #16]\n"
	"	stp	x4, x5, [x9, #32]\n"
	"	stp	x6, x7, [x9, #48]\n"
	"	str	x8, [x9, #64]\n"
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
	SET_REGS("", X19_TO_X28, "0")
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
	PUSH_SAVED
	"	str	x5, [sp, #96]\n"
	SET_REGS("", X19_TO_X28, "0x100 + \\n")
	STORE_KEPT(x4)
	"	bl	kprobe_jprobe_call\n"
	"	ldr	x5, [sp, #96]\n"
	STORE_KEPT(x5)
	POP_SAVED
	"	ret\n"
	"	.size	kpj_call, . - kpj_call\n"

	/* Stores what it finds. */
	"	.globl	kpj_target\n"
	"	.type	kpj_target, @function\n"
	"kpj_target:\n"
	"	nop\n"
	"	stp	x0, x1, [x16]\n"
	"	stp	x2, x3, [x16, #16]\n"
	"	stp	x4, x5, [x16, #32]\n"
	"	stp	x6, x7, [x16, #48]\n"
	"	stp	x8, x9, [x16, #64]\n"
	"	stp	x10, x11, [x16, #80]\n"
	"	stp	x12, x13, [x16, #96]\n"
	"	stp	x14, x15, [x16, #112]\n"
	"	stp	x16, x17, [x16, #128]\n"
	"	stp	x18, x19, [x16, #144]\n"
	"	stp	x20, x21, [x16, #160]\n"
	"	stp	x22, x23, [x16, #176]\n"
	"	stp	x24, x25, [x16, #192]\n"
	"	stp	x26, x27, [x16, #208]\n"
	"	stp	x28, x29, [x16, #224]\n"
	"	mov	x0, sp\n"
	"	stp	x30, x0, [x16, #240]\n"
	"	mrs	x0, nzcv\n"
	"	mrs	x1, daif\n"
	"	stp	x0, x1, [x16, #256]\n"
	"	ret\n"
	"	.size	kpj_target, . - kpj_target\n"

	/* (struct seen *seen, unsigned long nzcv, struct kept *before) */
	"	.globl	kpj_call_target\n"
	"	.type	kpj_call_target, @function\n"
	"kpj_call_target:\n"
	PUSH_SAVED
	"	mov	x16, x0\n"
	"	msr	nzcv, x1\n"
	STORE_KEPT(x2)
	SET_REGS(X0_TO_X15 X17, X19_TO_X28, "0x200 + \\n")
	"	bl	kpj_target\n"
	POP_SAVED
	"	ret\n"
	"	.size	kpj_call_target, . - kpj_call_target\n"
	".popsection\n");
void kpj_handler(void);
void kpj_call(const unsigned long *stack, void *entry, struct pt_regs *regs, void **frame,
	      struct kept *before, struct kept *after);
void kpj_target(void);
void kpj_call_target(struct seen *seen, unsigned long nzcv, struct kept *before);

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

		for (i = 0; i < ARRAY_SIZE(after.reg); i++)
			KUNIT_EXPECT_EQ_MSG(test, after.reg[i], 0x100 + 19 + i, "x%d", 19 + i);
		KUNIT_EXPECT_EQ(test, after.fp, before.fp);
		KUNIT_EXPECT_EQ(test, after.sp, before.sp);
		if (IS_ENABLED(CONFIG_SHADOW_CALL_STACK))
			KUNIT_EXPECT_EQ(test, after.scs, before.scs);
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
 * What the probed function finds
 */

static int handler_calls;

static noinline void change_flags_and_leave(unsigned long nzcv)
{
	asm volatile("msr nzcv, %0" : : "r" (nzcv) : "cc");
	jprobe_return();
}

/* The handler has x0 to x7 of kpj_target() as parameters. */
static void change_flags(unsigned long a0, unsigned long a1, unsigned long a2, unsigned long a3,
			 unsigned long a4, unsigned long a5, unsigned long a6, unsigned long a7)
{
	handler_calls += a0 == 0x200 && a7 == 0x207;
	change_flags_and_leave(handler_calls & 1 ? 0 : 0xf0000000);
}

static bool is_checked(int n)
{
	/* The others have other values. */
	return n != 16 && n != 18 && n < 29;
}

static void check_seen(struct kunit *test, unsigned long nzcv, bool irqs_off)
{
	struct seen seen = {};
	unsigned long flags, daif;
	struct kept before;
	int i;

	if (irqs_off)
		local_irq_save(flags);
	daif = read_sysreg(daif);
	kpj_call_target(&seen, nzcv, &before);
	KUNIT_EXPECT_EQ(test, read_sysreg(daif), daif);
	if (irqs_off)
		local_irq_restore(flags);

	for (i = 0; i < ARRAY_SIZE(seen.reg); i++)
		if (is_checked(i))
			KUNIT_EXPECT_EQ_MSG(test, seen.reg[i], 0x200 + i, "x%d", i);
	KUNIT_EXPECT_EQ(test, seen.reg[16], (unsigned long)&seen);
	KUNIT_EXPECT_EQ(test, seen.reg[18], before.scs);
	KUNIT_EXPECT_EQ(test, seen.reg[29], before.fp);
	KUNIT_EXPECT_EQ(test, seen.sp, before.sp);
	KUNIT_EXPECT_EQ(test, seen.nzcv, nzcv);
	KUNIT_EXPECT_EQ(test, seen.daif, daif);
}

static void check_jprobe(struct kunit *test, bool jump)
{
	static const unsigned long nzcv[] = {
		0, 0x80000000, 0x40000000, 0x20000000, 0x10000000, 0xf0000000,
	};
	struct jprobe jp = { .kp.symbol_name = "kpj_target", .entry = change_flags };
	struct kprobe post = { .symbol_name = "kpj_target", .post_handler = kp_nothing_post };
	int i;

	/* A post handler rules a jump out. */
	if (!jump)
		KUNIT_ASSERT_EQ(test, register_kprobe(&post), 0);
	KUNIT_EXPECT_EQ(test, register_jprobe(&jp), 0);
	wait_for_kprobe_optimizer();

	handler_calls = 0;
	for (i = 0; i < 2 * ARRAY_SIZE(nzcv); i++)
		check_seen(test, nzcv[i / 2], i & 1);
	KUNIT_EXPECT_EQ(test, handler_calls, 2 * ARRAY_SIZE(nzcv));

	unregister_jprobe(&jp);
	if (!jump)
		unregister_kprobe(&post);
}

static void jprobe_at_breakpoint_changes_nothing(struct kunit *test)
{
	check_jprobe(test, false);
}

static void jprobe_in_detour_changes_nothing(struct kunit *test)
{
	check_jprobe(test, true);
}

/*
 * Stack traces from each instruction
 */

static void *called;

static noinline void call_copy(void *entry)
{
	unsigned long stack[NR_COPIED] = {};
	struct pt_regs regs = {};

	kpj_copied_call(stack, entry, &regs, &called);
	barrier();
}

static void unwind_copy(void)
{
	kpj_copied_unwind(called);
}

static bool is_insn(unsigned long addr, unsigned long end)
{
	u32 insn = le32_to_cpu(*(__le32 *)addr);

	/* Up to the next function, there may be padding. */
	if (!insn || insn == aarch64_insn_gen_nop())
		return false;
	/* With kCFI, the word before a function may be its type, unless it is RET. */
	if (!IS_ENABLED(CONFIG_CFI))
		return true;
	return addr + AARCH64_INSN_SIZE != end || aarch64_insn_is_ret(insn);
}

static void jprobe_unwinds_at_each_instruction(struct kunit *test)
{
	const struct kp_jprobe_steps_arch arch = {
		.call		= call_copy,
		.unwind		= unwind_copy,
		.code		= {
			(unsigned long)kpj_copied_call, (unsigned long)kpj_copied_unwind,
		},
		.is_insn	= is_insn,
	};
	struct kp_jprobe_steps found;

	kp_jprobe_steps(test, &arch, &found);
	KUNIT_EXPECT_GE(test, found.nr, 40);
	KUNIT_EXPECT_GE(test, found.hits, 75);
	/* As in any function: its first three instructions and the last one have no frame. */
	KUNIT_EXPECT_EQ(test, found.without_caller, 2 * 4);
}

static struct kunit_case jprobe_call_cases[] = {
	KUNIT_CASE(jprobe_call_passes_arguments),
	KUNIT_CASE(jprobe_call_restores_registers),
	KUNIT_CASE(jprobe_call_reads_no_further_than_the_page),
	KUNIT_CASE(jprobe_call_reads_no_further_than_the_stack),
	KUNIT_CASE(jprobe_call_reads_all_pages_of_the_stack),
	KUNIT_CASE(jprobe_call_reads_no_further_than_the_irq_stack),
	KUNIT_CASE(jprobe_enters_by_return),
	KUNIT_CASE(jprobe_at_breakpoint_changes_nothing),
	KUNIT_CASE(jprobe_in_detour_changes_nothing),
	KUNIT_CASE(jprobe_unwinds_at_each_instruction),
	{}
};

static struct kunit_suite jprobe_call_suite = {
	.name		= "kprobes_arm64_jprobe",
	.test_cases	= jprobe_call_cases,
};
kunit_test_suite(jprobe_call_suite);
