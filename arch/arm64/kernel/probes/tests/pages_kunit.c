// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where pages of slots are, and what becomes of them when something fails.
 */

#include "suite.h"

#include <kunit/static_stub.h>
#include <linux/pgtable.h>

#include <asm/sections.h>

#include "../../../../../kernel/kprobes/slots.h"
#include "helpers.h"

#define REGION		SZ_64M
#define BESIDE		SZ_32M
#define REACH		SZ_128M
#define EXEC_START	MODULES_VADDR
#define EXEC_END	VMALLOC_END
/* Far from everything. */
#define FIRST_EMPTY	(VMALLOC_START + SZ_2G * 64UL)
#define NOWHERE		PAGE_OFFSET, MODULES_VADDR - 4 * REGION, VMALLOC_END + 2 * REGION, REGION
#define HEAD_SIZE	0
#define UNWRITTEN	((__force u32)cpu_to_le32(AARCH64_BREAK_FAULT))

static bool has_branch(unsigned long from, unsigned long to)
{
	return aarch64_insn_gen_branch_imm(from, to, AARCH64_INSN_BRANCH_NOLINK) !=
	       AARCH64_BREAK_FAULT;
}

static bool is_in_image(const void *page)
{
	return false;
}

static void expect_read_only(struct kunit *test, pte_t pte)
{
	KUNIT_EXPECT_TRUE(test, pte_val(pte) & PTE_VALID);
	KUNIT_EXPECT_TRUE(test, pte_val(pte) & PTE_RDONLY);
	KUNIT_EXPECT_FALSE(test, pte_val(pte) & PTE_WRITE);
	KUNIT_EXPECT_FALSE(test, pte_val(pte) & PTE_PXN);
}

#include "pages_words.h"

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
	expect_near(test, k, page, region);
	if (may_reach_kernel(region))
		KUNIT_EXPECT_TRUE_MSG(test, reaches(page, (unsigned long)_text,
						    (unsigned long)_end),
				      "%lx for the region at %lx", (unsigned long)page, region);
	free_insn_page(page);
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
	expect_content(test, &kinds[0], page);
	free_insn_page(page);
}

static struct kunit_case pages_cases[] = {
	KUNIT_CASE_PARAM(pages_are_in_reach, kind_gen_params),
	KUNIT_CASE_PARAM(pages_are_nowhere_else, kind_gen_params),
	KUNIT_CASE_PARAM(pages_fill_their_window, kind_gen_params),
	KUNIT_CASE_PARAM(pages_that_cannot_be_executable, kind_gen_params),
	KUNIT_CASE_PARAM(pages_are_read_only, kind_gen_params),
	KUNIT_CASE(slots_are_in_reach),
	KUNIT_CASE(branches_reach_so_far),
	{}
};

KP_SUITE(pages_cases, .name = "kprobes_arm64_pages");
