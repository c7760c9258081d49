// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where pages of slots are, and what becomes of them when something fails.
 */

#include "suite.h"

#include <kunit/static_stub.h>
#include <linux/execmem.h>

#include <asm/sections.h>

#include "../../../../../kernel/kprobes/slots.h"
#include "helpers.h"

#define REGION		SZ_64M
#define REGION_OF(addr)	ALIGN_DOWN((unsigned long)(addr), REGION)
#define BESIDE		SZ_32M
#define REACH		SZ_128M

/* From each slot of the page, and from the range to each slot. */
static bool reaches(const void *page, unsigned long start, unsigned long end)
{
	unsigned long first = (unsigned long)page, last = first + PAGE_SIZE - AARCH64_INSN_SIZE;
	long up = end - AARCH64_INSN_SIZE - first, down = last - start;

	/* One direction is as far as the other one, but for one instruction. */
	return up < REACH && down < REACH;
}

/* The kind of a page, and how it is allocated. */
struct kind {
	const char	*name;
	void		*(*alloc_near)(unsigned long start);
};

#ifdef CONFIG_OPTPROBES
static void *alloc_for_detours(unsigned long start)
{
	return kprobe_optinsn_slots.alloc_near(start);
}
#endif

static const struct kind kinds[] = {
	{ "slots", alloc_insn_page_near },
#ifdef CONFIG_OPTPROBES
	{ "detours", alloc_for_detours },
#endif
};
KUNIT_ARRAY_PARAM_DESC(kind, kinds, name);

static void expect_near(struct kunit *test, const void *page, unsigned long region)
{
	KUNIT_EXPECT_TRUE(test, PAGE_ALIGNED((unsigned long)page));
	/* Probes, and branch targets beside their region. */
	KUNIT_EXPECT_TRUE_MSG(test, reaches(page, region - BESIDE, region + REGION + BESIDE),
			      "%lx for the region at %lx", (unsigned long)page, region);
	KUNIT_EXPECT_GE(test, (unsigned long)page, MODULES_VADDR);
	KUNIT_EXPECT_LT(test, (unsigned long)page, VMALLOC_END);
}

/* What has not been written yet traps. */
static void expect_traps(struct kunit *test, const void *page)
{
	const __le32 *word = page;
	unsigned int i, wrong = 0;

	for (i = 0; i < PAGE_SIZE / sizeof(*word); i++)
		wrong += le32_to_cpu(word[i]) != AARCH64_BREAK_FAULT;
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* Could a page be where the kernel is in reach as well, if there was nothing else? */
static bool may_reach_kernel(unsigned long region)
{
	unsigned long start = max(region - BESIDE, (unsigned long)_end - REACH);
	unsigned long end = min(region + REGION + BESIDE, (unsigned long)_text + REACH);

	start = max(start, MODULES_VADDR);
	/* Where the kernel itself is, there is no room. */
	if (end <= (unsigned long)_end)
		end = min(end, (unsigned long)_text);
	return start < end && end - start > SZ_1M;
}

static void check_region(struct kunit *test, const struct kind *k, unsigned long region)
{
	void *page = k->alloc_near(region);

	KUNIT_EXPECT_NOT_NULL_MSG(test, page, "region at %lx", region);
	if (!page)
		return;
	expect_near(test, page, region);
	expect_traps(test, page);
	if (may_reach_kernel(region))
		KUNIT_EXPECT_TRUE_MSG(test, reaches(page, (unsigned long)_text,
						    (unsigned long)_end),
				      "%lx for the region at %lx", (unsigned long)page, region);
	execmem_free(page);
}

static void pages_are_in_reach(struct kunit *test)
{
	const struct kind *k = test->param_value;
	/* Where modules are, and the kernel. It may be far from the start of their space. */
	unsigned long region = max(MODULES_VADDR, (unsigned long)_text - SZ_2G);

	for (region = REGION_OF(region); region < (unsigned long)_end; region += REGION)
		check_region(test, k, region);
	check_region(test, k, REGION_OF(_text));
	check_region(test, k, REGION_OF(_end));
	/* Half of each of these windows is not for code. */
	check_region(test, k, REGION_OF(MODULES_VADDR) - REGION);
	check_region(test, k, REGION_OF(VMALLOC_END - 1));
}

static void pages_are_nowhere_else(struct kunit *test)
{
	const struct kind *k = test->param_value;

	KUNIT_EXPECT_NULL(test, k->alloc_near(REGION_OF(PAGE_OFFSET)));
	KUNIT_EXPECT_NULL(test, k->alloc_near(REGION_OF(MODULES_VADDR) - 4 * REGION));
	KUNIT_EXPECT_NULL(test, k->alloc_near(REGION_OF(VMALLOC_END) + 2 * REGION));
	KUNIT_EXPECT_NULL(test, k->alloc_near(REGION));
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

/* A region far from everything, whose window is empty. */
static unsigned long empty_region(void)
{
	unsigned long region = REGION_OF(VMALLOC_START + SZ_2G * 64UL);
	struct vm_struct *area;

	for (; region < VMALLOC_END - 4 * REGION; region += 4 * REGION) {
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

	KUNIT_ASSERT_NE(test, region, 0);
	page = k->alloc_near(region);
	KUNIT_EXPECT_EQ(test, (unsigned long)page, start);
	expect_near(test, page, region);
	execmem_free(page);

	/* Each page is followed by an unused one. */
	area = occupy(start, end - 2 * PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, area);
	page = k->alloc_near(region);
	KUNIT_EXPECT_EQ(test, (unsigned long)page, end - 2 * PAGE_SIZE);
	expect_near(test, page, region);
	execmem_free(page);
	release(area);

	area = occupy(start, end - PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, area);
	KUNIT_EXPECT_NULL(test, k->alloc_near(region));
	/* Other regions are not concerned. */
	page = k->alloc_near(region + REGION);
	KUNIT_EXPECT_NOT_NULL(test, page);
	execmem_free(page);
	release(area);
}

static unsigned int nr_seals;
static void *unsealed[4];

static int cannot_seal(void *page)
{
	if (nr_seals < ARRAY_SIZE(unsealed))
		unsealed[nr_seals] = page;
	nr_seals++;
	return -ENOMEM;
}

static void expect_unsealed(struct kunit *test, const void *page)
{
	unsigned int i;

	KUNIT_EXPECT_NULL(test, page);
	KUNIT_EXPECT_GE(test, nr_seals, 1);
	KUNIT_ASSERT_LE(test, nr_seals, ARRAY_SIZE(unsealed));
	/* Nothing is left of them. */
	for (i = 0; i < nr_seals; i++)
		KUNIT_EXPECT_NULL(test, find_vm_area(unsealed[i]));
	nr_seals = 0;
}

static void pages_that_cannot_be_executable(struct kunit *test)
{
	const struct kind *k = test->param_value;
	void *page;

	nr_seals = 0;
	kunit_activate_static_stub(test, arch_seal_page, cannot_seal);
	expect_unsealed(test, k->alloc_near(REGION_OF(_text)));
	expect_unsealed(test, k->alloc_near(empty_region()));
	expect_unsealed(test, alloc_insn_page());
	kunit_deactivate_static_stub(test, arch_seal_page);

	page = alloc_insn_page();
	KUNIT_ASSERT_NOT_NULL(test, page);
	expect_traps(test, page);
	execmem_free(page);
}

/* Slots are taken from pages of their region, and of the kind. */
static void slots_are_in_reach(struct kunit *test)
{
	unsigned long far = empty_region(), near = (unsigned long)KPB_AT(add);
	kprobe_opcode_t *slot[] = {
		get_insn_slot_near(near), get_insn_slot_near(far + REGION - 4),
		get_insn_slot_near(far), get_insn_slot_near(far - 4),
	};
	unsigned long region[] = { REGION_OF(near), far, far, far - REGION };
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(slot); i++) {
		KUNIT_EXPECT_NOT_NULL(test, slot[i]);
		if (!slot[i])
			continue;
		expect_near(test, (void *)ALIGN_DOWN((unsigned long)slot[i], PAGE_SIZE), region[i]);
		for (k = 0; k < i; k++)
			KUNIT_EXPECT_EQ(test, region[i] == region[k],
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
	KUNIT_EXPECT_NE(test, aarch64_insn_gen_branch_imm(at, at + REACH - 4,
							  AARCH64_INSN_BRANCH_NOLINK),
			AARCH64_BREAK_FAULT);
	KUNIT_EXPECT_NE(test, aarch64_insn_gen_branch_imm(at, at - REACH,
							  AARCH64_INSN_BRANCH_NOLINK),
			AARCH64_BREAK_FAULT);
}

static struct kunit_case pages_cases[] = {
	KUNIT_CASE_PARAM(pages_are_in_reach, kind_gen_params),
	KUNIT_CASE_PARAM(pages_are_nowhere_else, kind_gen_params),
	KUNIT_CASE_PARAM(pages_fill_their_window, kind_gen_params),
	KUNIT_CASE_PARAM(pages_that_cannot_be_executable, kind_gen_params),
	KUNIT_CASE(slots_are_in_reach),
	KUNIT_CASE(branches_reach_so_far),
	{}
};

static struct kunit_suite pages_suite = {
	.name		= "kprobes_arm64_pages",
	.test_cases	= pages_cases,
};
kunit_test_suite(pages_suite);
