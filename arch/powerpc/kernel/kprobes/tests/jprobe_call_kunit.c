// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the call of a jprobe's handler on powerpc: registers and stack that the handler finds,
 * those that are restored, and stack traces from each instruction of the call. What the probed
 * function finds after it is in registers_kunit.c.
 */

#include "suite.h"

#include <linux/text-patching.h>

#include <asm/irq.h>
#include <asm/ppc-opcode.h>
#include <asm/ptrace.h>
#include <asm/reg.h>

#include "entered.h"
#include "jprobe_called.h"

/* The first register that C code preserves. */
#define FIRST_SAVED	(IS_ENABLED(CONFIG_PPC64) ? 14 : 13)

static struct kpj_found found;

#define NR_COPIED	KPJ_WORDS
#define COPIED		found.stack
#define COPIED_FROM	JPROBE_STACK_AT

/* Arguments for kpj_handler(), which leaves the call of @leave, unless it is NULL. */
static void set_regs(struct pt_regs *regs, const void *sp, void **leave)
{
	int i;

	memset(regs, 0, sizeof(*regs));
	for (i = 3; i < 9; i++)
		regs->gpr[i] = 0x10 + i;
	regs->gpr[1] = (unsigned long)sp;
	regs->gpr[9] = (unsigned long)leave;
	regs->gpr[10] = (unsigned long)&found;
}

static void call_entry(void *entry, const void *sp)
{
	struct pt_regs regs;
	void *frame;

	set_regs(&regs, sp, NULL);
	memset(&found, 0xff, sizeof(found));
	arch_jprobe_call(entry, &regs, &frame);
}

static void call_with_stack(const void *sp)
{
	call_entry(kpj_handler, sp);
}

static void jprobe_call_passes_arguments(struct kunit *test)
{
	unsigned long words[JPROBE_STACK_AT / sizeof(long) + NR_COPIED];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = 0x100 + i;
	call_with_stack(words);

	for (i = 3; i < 9; i++)
		KUNIT_EXPECT_EQ_MSG(test, found.gpr[i], 0x10 + i, "r%u", i);
	KUNIT_EXPECT_EQ(test, found.gpr[9], 0);
	KUNIT_EXPECT_EQ(test, found.gpr[10], (unsigned long)&found);
	for (i = 0; i < NR_COPIED; i++)
		KUNIT_EXPECT_EQ_MSG(test, found.stack[i],
				    words[JPROBE_STACK_AT / sizeof(long) + i], "word %u", i);
	KUNIT_EXPECT_EQ(test, found.gpr[1] & 15, 0);
}

/* How a function finds its data. On 32 bits, it does not need the register. */
static void jprobe_call_passes_toc(struct kunit *test)
{
	unsigned long words[JPROBE_STACK_AT / sizeof(long) + NR_COPIED] = {};

#ifdef CONFIG_PPC64_ELF_ABI_V1
	/* As that of a function of a module; this one does not use it. */
	struct func_desc desc = *(struct func_desc *)kpj_handler;

	desc.toc = 0x7777888899990000;
	call_entry(&desc, words);
	KUNIT_EXPECT_EQ(test, found.gpr[2], desc.toc);
#else
	call_with_stack(words);
	KUNIT_EXPECT_EQ(test, found.gpr[12], (unsigned long)kpj_handler);
#endif
}

/* The handler returns, or destroys all registers and leaves. */
static void jprobe_call_restores_registers(struct kunit *test)
{
	static struct kpb_states s;
	unsigned long stack[NR_COPIED] = {};
	struct pt_regs regs;
	int i, leave;
	void *frame;

	for (leave = 0; leave < 2; leave++) {
		memset(&s, 0, sizeof(s));
		for (i = 0; i < ARRAY_SIZE(s.given.gpr); i++)
			s.given.gpr[i] = KPB_BITS(0x1111222233334444ULL) * (i + 1);
		s.given.cr = 0x5a5a5a5a;
		s.given.gpr[3] = (unsigned long)stack;
		s.given.gpr[4] = (unsigned long)kpj_handler;
		s.given.gpr[5] = (unsigned long)&regs;
		s.given.gpr[6] = (unsigned long)&frame;
		set_regs(&regs, NULL, leave ? &frame : NULL);
		kpb_enter_jprobe(&s);

		for (i = FIRST_SAVED; i < ARRAY_SIZE(s.got.gpr); i++)
			KUNIT_EXPECT_EQ_MSG(test, s.got.gpr[i], s.given.gpr[i], "r%d", i);
		if (IS_ENABLED(CONFIG_PPC64))
			KUNIT_EXPECT_EQ(test, s.got.gpr[2], s.given.gpr[2]);
		/* CR2 to CR4 are those that C code preserves. */
		KUNIT_EXPECT_EQ(test, s.got.cr & 0x00fff000, s.given.cr & 0x00fff000);
		KUNIT_EXPECT_EQ(test, found.gpr[1], (unsigned long)frame);
	}
}

/*
 * The copy of the stack
 */

#include "jprobe_stack.h"

/* The back chain of a frame is at the stack pointer, so the page that begins there is mapped. */
static void jprobe_call_reads_the_page_that_begins(struct kunit *test)
{
	void *page = vmalloc(PAGE_SIZE);

	KUNIT_ASSERT_NOT_NULL(test, page);
	memset(page, 0x55, PAGE_SIZE);
	check_copy(test, page + JPROBE_STACK_AT + JPROBE_STACK_BYTES, NR_COPIED, false);
	vfree(page);
}

/* The stack pointer is on a stack of interrupts, which other memory follows. */
static void check_irq_stack(struct kunit *test, void **ctx)
{
	unsigned int words;
	unsigned long flags;
	void *stack, *own;

	/* Larger than THREAD_SIZE, which is the alignment of this allocation. */
	stack = kp_zalloc(test, 2 * THREAD_SIZE);
	memset(stack, 0x77, 2 * THREAD_SIZE);

	for (words = 0; words <= NR_COPIED + 1; words++) {
		/* Interrupts that come now find their own stack when they are handled. */
		local_irq_save(flags);
		own = ctx[smp_processor_id()];
		ctx[smp_processor_id()] = stack;
		check_copy(test, stack + THREAD_SIZE, words, true);
		if (THREAD_SIZE > PAGE_SIZE)
			check_copy(test, stack + PAGE_SIZE, words, false);
		ctx[smp_processor_id()] = own;
		local_irq_restore(flags);
	}
}

static void jprobe_call_reads_no_further_than_irq_stacks(struct kunit *test)
{
	check_irq_stack(test, hardirq_ctx);
	check_irq_stack(test, softirq_ctx);
}

/*
 * Registration
 */

static int calls;

static void count_and_leave(void)
{
	calls++;
	jprobe_return();
}

/* What cannot be called through a pointer: a local entry, or code that is not a descriptor. */
static void jprobe_handler_is_no_pointer_to_code(struct kunit *test)
{
	struct jprobe jp = {
		.kp.symbol_name	= "kpb_entered_copy",
		.entry		= (void *)ppc_function_entry(count_and_leave),
	};
	struct kpb_states s = {};

	KP_SKIP_IF(test, jp.entry == count_and_leave, "a function has one address");

	KUNIT_EXPECT_EQ(test, register_jprobe(&jp), -EINVAL);

	jp.entry = count_and_leave;
	KUNIT_ASSERT_EQ(test, register_jprobe(&jp), 0);
	calls = 0;
	kpb_enter_copy(&s);
	unregister_jprobe(&jp);
	KUNIT_EXPECT_EQ(test, calls, 1);
}

/*
 * Stack traces from each instruction
 */

#define KPJ_CODE(fn)	ppc_function_entry(fn)
#define KPJ_PADDING	PPC_RAW_NOP()

#include "jprobe_words.h"

static void expect_steps(struct kunit *test)
{
	KUNIT_EXPECT_GE(test, step.nr, 80);
	/* A handler that returns does not need the two instructions that unwind. */
	KUNIT_EXPECT_EQ(test, step.hits, 2 * step.nr - 2);
	/* As in any function, until it has saved LR in its second instruction. */
	KUNIT_EXPECT_LE(test, step.without_caller, 2 * 2);
}

static struct kunit_case jprobe_call_cases[] = {
	KUNIT_CASE(jprobe_call_passes_arguments),
	KUNIT_CASE(jprobe_call_passes_toc),
	KUNIT_CASE(jprobe_call_restores_registers),
	KUNIT_CASE(jprobe_call_reads_no_further_than_the_page),
	KUNIT_CASE(jprobe_call_reads_the_page_that_begins),
	KUNIT_CASE(jprobe_call_reads_no_further_than_the_stack),
	KUNIT_CASE(jprobe_call_reads_all_pages_of_the_stack),
	KUNIT_CASE(jprobe_call_reads_no_further_than_irq_stacks),
	KUNIT_CASE(jprobe_handler_is_no_pointer_to_code),
	KUNIT_CASE(jprobe_unwinds_at_each_instruction),
	{}
};

KP_SUITE(jprobe_call_cases, .name = "kprobes_powerpc_jprobe");
