/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suites of pages of slots of arm64 and powerpc share: what is in pages for one region,
 * and that they fill its window. The suite includes it once it has defined
 *
 *  - REGION, the size of a region, BESIDE, how far its window extends beside it, and REACH, that
 *    of branches;
 *  - EXEC_START and EXEC_END, where pages can be, and FIRST_EMPTY, from where a window may be
 *    empty;
 *  - NOWHERE, addresses in regions that have no pages;
 *  - HEAD_SIZE, what is written at the start of a page for detours;
 *  - UNWRITTEN, the word elsewhere, as it is in memory;
 *  - has_branch(), whether there is a branch from an address to another one;
 *  - expect_read_only(), that a page is executed, and never written;
 *  - is_in_image(), whether a page is one of those that the kernel has for its own text.
 */
#ifndef _KERNEL_KPROBES_TESTS_PAGES_WORDS_H
#define _KERNEL_KPROBES_TESTS_PAGES_WORDS_H

#define REGION_OF(addr)	ALIGN_DOWN((unsigned long)(addr), REGION)

/* So each word in the window of a region reaches each other one. */
static_assert(REGION + 2 * BESIDE == REACH);

#ifdef CONFIG_OPTPROBES
static void *alloc_for_detours(unsigned long start)
{
	return kprobe_optinsn_slots.alloc_near(start);
}
#endif

/* The kind of a page: how it is allocated, and how long its head is. */
static const struct kind {
	const char	*name;
	void		*(*alloc_near)(unsigned long start);
	unsigned int	head;
} kinds[] = {
	{ "slots", alloc_insn_page_near, 0 },
#ifdef CONFIG_OPTPROBES
	{ "detours", alloc_for_detours, HEAD_SIZE },
#endif
};
KUNIT_ARRAY_PARAM_DESC(kind, kinds, name);

/* From each word of the page, and from each of the range to the page. */
static bool reaches(const void *page, unsigned long start, unsigned long end)
{
	unsigned long first = (unsigned long)page, last = first + PAGE_SIZE - sizeof(u32);
	long up = end - sizeof(u32) - first, down = last - start;

	/* One direction is as far as the other one, but for one instruction. */
	return up < REACH && down < REACH;
}

/* What has not been written yet traps. */
static void expect_content(struct kunit *test, const struct kind *k, const void *page)
{
	const u32 *word = page;
	unsigned int i, wrong = 0;

	for (i = k->head / sizeof(*word); i < PAGE_SIZE / sizeof(*word); i++)
		wrong += word[i] != UNWRITTEN;
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static void expect_window(struct kunit *test, const void *page, unsigned long region)
{
	KUNIT_EXPECT_TRUE(test, PAGE_ALIGNED((unsigned long)page));
	/* On 32 bits, the end of the window may overflow. */
	KUNIT_EXPECT_LE_MSG(test, (unsigned long)page - (region - BESIDE),
			    REGION + 2 * BESIDE - PAGE_SIZE, "%lx for the region at %lx",
			    (unsigned long)page, region);
	KUNIT_EXPECT_GE(test, (unsigned long)page, (unsigned long)EXEC_START);
	KUNIT_EXPECT_LE(test, (unsigned long)page, (unsigned long)EXEC_END - PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, is_vmalloc_or_module_addr(page));
}

static void expect_near(struct kunit *test, const struct kind *k, const void *page,
			unsigned long region)
{
	expect_window(test, page, region);
	expect_content(test, k, page);
}

static void pages_are_nowhere_else(struct kunit *test)
{
	const unsigned long nowhere[] = { NOWHERE };
	const struct kind *k = test->param_value;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nowhere); i++)
		KUNIT_EXPECT_NULL_MSG(test, k->alloc_near(REGION_OF(nowhere[i])), "%lx",
				      nowhere[i]);
}

/* Addresses that are used, though there is nothing. */
static struct vm_struct *occupy(unsigned long start, unsigned long end)
{
	return __get_vm_area_caller(end - start, VM_NO_GUARD, start, end,
				    __builtin_return_address(0));
}

static void release(struct vm_struct *area)
{
	if (!area)
		return;
	remove_vm_area(area->addr);
	kfree(area);
}

/* A region whose window is empty, as are those of its neighbours. */
static unsigned long empty_region(void)
{
	unsigned long region = REGION_OF(FIRST_EMPTY);
	struct vm_struct *area;

	for (; region < EXEC_END - 2 * REGION; region += REGION) {
		area = occupy(region - REGION, region + 2 * REGION);
		release(area);
		if (area)
			return region;
	}
	return 0;
}

/* The lowest hole is taken, from one end of the window to the other, and not beyond. */
static void pages_fill_their_window(struct kunit *test)
{
	unsigned long region = empty_region(), start = region - BESIDE;
	unsigned long end = region + REGION + BESIDE;
	const struct kind *k = test->param_value;
	struct vm_struct *area;
	void *page;

	KP_SKIP_IF(test, !region, "no window is empty");

	page = k->alloc_near(region);
	KUNIT_EXPECT_EQ(test, (unsigned long)page, start);
	KUNIT_ASSERT_NOT_NULL(test, page);
	expect_near(test, k, page, region);
	free_insn_page(page);

	/* Each page is followed by an unused one. */
	area = occupy(start, end - 2 * PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, area);
	page = k->alloc_near(region);
	KUNIT_EXPECT_EQ(test, (unsigned long)page, end - 2 * PAGE_SIZE);
	if (page) {
		expect_near(test, k, page, region);
		free_insn_page(page);
	}
	release(area);

	area = occupy(start, end - PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, area);
	KUNIT_EXPECT_NULL(test, k->alloc_near(region));
	/* Other regions are not concerned. */
	page = k->alloc_near(region + REGION);
	KUNIT_EXPECT_NOT_NULL(test, page);
	if (page)
		free_insn_page(page);
	release(area);
}

static int copy_pte(pte_t *pte, unsigned long addr, void *data)
{
	*(pte_t *)data = ptep_get(pte);
	return 0;
}

/* Copies are executed, and never written in place. */
static void pages_are_read_only(struct kunit *test)
{
	const struct kind *k = test->param_value;
	unsigned long region = empty_region();
	pte_t pte = __pte(0);
	void *page;

	KP_SKIP_IF(test, !region, "no window is empty");
	page = k->alloc_near(region);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_EQ(test, apply_to_existing_page_range(&init_mm, (unsigned long)page,
							   PAGE_SIZE, copy_pte, &pte), 0);
	expect_read_only(test, pte);
	free_insn_page(page);
}

/* Slots are taken from pages of their region, and of the kind. */
static void slots_are_in_reach(struct kunit *test)
{
	unsigned long far = empty_region(), near = (unsigned long)KPB_AT(add);
	unsigned long at[] = { near, far + REGION - 4, far, far - 4 };
	kprobe_opcode_t *slot[ARRAY_SIZE(at)];
	unsigned int i, k;

	KP_SKIP_IF(test, !far, "no window is empty");
	for (i = 0; i < ARRAY_SIZE(slot); i++) {
		slot[i] = kprobe_slot_get(&kprobe_insn_slots, at[i]);
		KUNIT_EXPECT_NOT_NULL(test, slot[i]);
		if (!slot[i])
			continue;
		KUNIT_EXPECT_TRUE(test, kprobe_in_reach((unsigned long)slot[i], at[i]));
		KUNIT_EXPECT_TRUE(test, kprobe_in_reach(at[i], (unsigned long)slot[i]));
		KUNIT_EXPECT_TRUE(test, IS_ALIGNED((unsigned long)slot[i], KPROBE_INSN_SLOT_SIZE));
		if (i || !is_in_image(slot[i]))
			expect_window(test, PTR_ALIGN_DOWN(slot[i], PAGE_SIZE), REGION_OF(at[i]));
		for (k = 0; k < i; k++)
			KUNIT_EXPECT_EQ(test, REGION_OF(at[i]) == REGION_OF(at[k]),
					(unsigned long)slot[i] / PAGE_SIZE ==
					(unsigned long)slot[k] / PAGE_SIZE);
	}
	for (i = 0; i < ARRAY_SIZE(slot); i++) {
		if (slot[i])
			free_insn_slot(slot[i], 0);
	}
}

static void branches_reach_so_far(struct kunit *test)
{
	unsigned long at = (unsigned long)KPB_AT(add);

	KUNIT_EXPECT_TRUE(test, kprobe_in_reach(at, at));
	KUNIT_EXPECT_TRUE(test, kprobe_in_reach(at, at + REACH - 4));
	KUNIT_EXPECT_FALSE(test, kprobe_in_reach(at, at + REACH));
	KUNIT_EXPECT_TRUE(test, kprobe_in_reach(at, at - REACH));
	KUNIT_EXPECT_FALSE(test, kprobe_in_reach(at, at - REACH - 4));
	KUNIT_EXPECT_TRUE(test, has_branch(at, at + REACH - 4));
	KUNIT_EXPECT_TRUE(test, has_branch(at, at - REACH));
}

#endif /* _KERNEL_KPROBES_TESTS_PAGES_WORDS_H */
