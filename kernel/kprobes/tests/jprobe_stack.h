/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suites of calls of jprobe handlers share: the copy of the stack that a handler finds.
 * The suite includes it once it has defined
 *
 *  - NR_COPIED, how many words are copied, and COPIED, these words as the handler has found them;
 *  - COPIED_FROM, the distance from the stack pointer to what is copied;
 *  - call_with_stack(), which calls such a handler as from a function with that stack pointer.
 */
#ifndef _KERNEL_KPROBES_TESTS_JPROBE_STACK_H
#define _KERNEL_KPROBES_TESTS_JPROBE_STACK_H

#include <linux/sched/task_stack.h>

/* @words of it before @end, which the copy ends at if it is the end of what can be read. */
static void check_copy(struct kunit *test, void *end, unsigned int words, bool is_end)
{
	unsigned long *from = (unsigned long *)end - words, want[NR_COPIED] = {}, flags;
	unsigned int i;

	local_irq_save(flags);
	call_with_stack((void *)from - COPIED_FROM);
	for (i = 0; i < NR_COPIED && (i < words || !is_end); i++)
		want[i] = READ_ONCE_NOCHECK(from[i]);
	local_irq_restore(flags);

	for (i = 0; i < NR_COPIED; i++)
		KUNIT_EXPECT_EQ_MSG(test, COPIED[i], want[i], "word %u of %u", i, words);
}

/* Up to the end of what can be read. */
static void check_end(struct kunit *test, void *end)
{
	unsigned int words;

	for (words = 0; words <= NR_COPIED + 1; words++)
		check_copy(test, end, words, true);
}

/* Around the lowest end of a page of a stack, deeper than any call here. */
static void check_first_page(struct kunit *test, void *stack)
{
	/* The stack may begin in a page. */
	void *end = PTR_ALIGN(stack + 256, PAGE_SIZE);
	unsigned int words;

	memset(end - 256, 0x66, 512);
	for (words = 0; words <= NR_COPIED + 1; words++)
		check_copy(test, end, words, false);
}

/* A page that is followed by one that is not mapped. */
static void jprobe_call_reads_no_further_than_the_page(struct kunit *test)
{
	void *page = vmalloc(PAGE_SIZE);

	KUNIT_ASSERT_NOT_NULL(test, page);
	memset(page, 0x55, PAGE_SIZE);
	check_end(test, page + PAGE_SIZE);
	vfree(page);
}

static void jprobe_call_reads_no_further_than_the_stack(struct kunit *test)
{
	check_end(test, task_stack_page(current) + THREAD_SIZE);
}

static void jprobe_call_reads_all_pages_of_the_stack(struct kunit *test)
{
	KP_SKIP_IF(test, THREAD_SIZE <= PAGE_SIZE, "needs a stack of several pages");

	check_first_page(test, task_stack_page(current));
}

#endif /* _KERNEL_KPROBES_TESTS_JPROBE_STACK_H */
