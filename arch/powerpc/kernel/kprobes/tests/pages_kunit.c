// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where pages of slots are, what is in them, and what happens when there is no room.
 */

#include "suite.h"

#include <linux/moduleloader.h>
#include <linux/pgtable.h>

#include <asm/mmu.h>
#include <asm/sections.h>

#include "../../../../../kernel/kprobes/slots.h"
#include "helpers.h"
#ifdef CONFIG_OPTPROBES
#include "../detour.h"
#endif

#define REGION		SZ_16M
#define BESIDE		SZ_8M
#define REACH		SZ_32M

/* Where modules and their pages can be. */
#ifdef MODULES_VADDR
#define EXEC_START	MODULES_VADDR
#define EXEC_END	MODULES_END
#else
#define EXEC_START	VMALLOC_START
#define EXEC_END	VMALLOC_END
#endif

#define FIRST_EMPTY	(EXEC_START + 2 * REGION)
#define NOWHERE		PAGE_OFFSET + SZ_256M, EXEC_START - 4 * REGION, 0, REGION
#define HEAD_SIZE	KPROBE_OPTINSN_HEAD_SIZE
#define UNWRITTEN	BREAKPOINT_INSTRUCTION

static bool has_branch(unsigned long from, unsigned long to)
{
	ppc_inst_t insn;

	return !create_branch(&insn, (u32 *)from, to, 0);
}

static bool is_in_image(const void *page)
{
	return (page >= (void *)__kprobes_pages_start && page < (void *)__kprobes_pages_end) ||
	       (page >= (void *)__kprobes_padding_start && page < (void *)__kprobes_padding_end);
}

static void expect_read_only(struct kunit *test, pte_t pte)
{
	KUNIT_EXPECT_TRUE(test, pte_present(pte));
	KUNIT_EXPECT_TRUE(test, pte_exec(pte));
	KUNIT_EXPECT_EQ(test, !pte_write(pte), strict_module_rwx_enabled());
}

#include "pages_words.h"

static void expect_head(struct kunit *test, const struct kind *k, const void *page)
{
#ifdef CONFIG_OPTPROBES
	if (!k->head)
		return;
	KUNIT_EXPECT_LE(test, KPROBE_HEAD_CODE + (kprobe_head_end - kprobe_head) * sizeof(u32),
			KPROBE_OPTINSN_HEAD_SIZE);
	KUNIT_EXPECT_MEMEQ(test, page + KPROBE_HEAD_CODE, kprobe_head,
			   (kprobe_head_end - kprobe_head) * sizeof(u32));
	KUNIT_EXPECT_EQ(test, *(unsigned long *)(page + KPROBE_HEAD_CALLBACK),
			ppc_function_entry(kprobe_detour_callback));
#endif
}

static void pages_of_the_kernel(struct kunit *test)
{
	const struct kind *k = test->param_value;
	unsigned long region = REGION_OF(_stext), start, end;
	void *page;

	for (; region < (unsigned long)_einittext; region += REGION) {
		start = max(region, (unsigned long)_stext);
		end = min(region + REGION, (unsigned long)_einittext);
		page = k->alloc_near(region);
		KUNIT_EXPECT_NOT_NULL_MSG(test, page, "region at %lx", region);
		if (!page)
			continue;
		KUNIT_EXPECT_TRUE(test, PAGE_ALIGNED((unsigned long)page));
		KUNIT_EXPECT_TRUE_MSG(test, is_in_image(page), "%lx", (unsigned long)page);
		KUNIT_EXPECT_TRUE_MSG(test, reaches(page, start, end), "%lx for %lx",
				      (unsigned long)page, region);
		expect_content(test, k, page);
		expect_head(test, k, page);
		free_insn_page(page);
	}
}

/* Those of modules, from the first region to the last one; half of some windows is no good. */
static void pages_of_modules(struct kunit *test)
{
	const struct kind *k = test->param_value;
	unsigned long regions[] = {
		REGION_OF(EXEC_START), REGION_OF(EXEC_START) + REGION,
		REGION_OF(EXEC_START + (EXEC_END - EXEC_START) / 2), REGION_OF(EXEC_END - 1),
	};
	unsigned int i;
	void *page;

	for (i = 0; i < ARRAY_SIZE(regions); i++) {
		/* Where the kernel is in the same region. */
		if (regions[i] + REGION > (unsigned long)_stext &&
		    regions[i] < (unsigned long)_einittext)
			continue;
		page = k->alloc_near(regions[i]);
		KUNIT_EXPECT_NOT_NULL_MSG(test, page, "region at %lx", regions[i]);
		if (!page)
			continue;
		expect_near(test, k, page, regions[i]);
		expect_head(test, k, page);
		free_insn_page(page);
	}
}

#define MAX_PAGES	((SZ_16M + SZ_512K) / PAGE_SIZE + 1)

/* Those of the image, until none is left. */
static void pages_of_the_kernel_are_exhausted(struct kunit *test)
{
	const struct kind *k = test->param_value;
	unsigned long region = REGION_OF(kpb_add_at);
	void **pages = kp_calloc(test, MAX_PAGES, sizeof(*pages)), *again;
	unsigned int nr = 0, i, outside = 0, unsorted = 0;

	while (nr < MAX_PAGES && (pages[nr] = k->alloc_near(region)))
		nr++;
	KUNIT_EXPECT_LT(test, nr, MAX_PAGES);
	KUNIT_EXPECT_GT(test, nr, 0);
	KUNIT_EXPECT_NULL(test, k->alloc_near(region));
	for (i = 0; i < nr; i++) {
		outside += !is_in_image(pages[i]);
		unsorted += i && pages[i] <= pages[i - 1];
	}
	KUNIT_EXPECT_EQ(test, outside, 0);
	KUNIT_EXPECT_EQ(test, unsorted, 0);

	/* What is free again is found again. */
	if (nr) {
		free_insn_page(pages[nr / 2]);
		again = k->alloc_near(region);
		KUNIT_EXPECT_PTR_EQ(test, again, pages[nr / 2]);
		if (again) {
			expect_content(test, k, again);
			expect_head(test, k, again);
		}
	}
	while (nr)
		free_insn_page(pages[--nr]);
}

static void pages_anywhere(struct kunit *test)
{
	void *page = alloc_insn_page();

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_TRUE(test, is_vmalloc_or_module_addr(page));
	KUNIT_EXPECT_GE(test, (unsigned long)page, (unsigned long)EXEC_START);
	KUNIT_EXPECT_LT(test, (unsigned long)page, (unsigned long)EXEC_END);
	expect_content(test, &kinds[0], page);
	free_insn_page(page);
}

/* What a detour may branch to, wherever in its window it will be. */
static void targets_in_reach_of_a_region(struct kunit *test)
{
	/* On 32 bits, modules have two regions, and are not far from the kernel. */
	unsigned long region = REGION_OF(EXEC_START) + (IS_ENABLED(CONFIG_PPC64) ? 4 * REGION : 0);
	unsigned long at = region + SZ_1M;
	const unsigned long low = region + REGION + BESIDE - REACH;
	const unsigned long high = region - BESIDE + REACH;

	KUNIT_EXPECT_TRUE(test, arch_slots_reach(at, at));
	KUNIT_EXPECT_TRUE(test, arch_slots_reach(at, region));
	KUNIT_EXPECT_TRUE(test, arch_slots_reach(at, region + REGION - 4));
	/* 8 MiB beside the region. */
	KUNIT_EXPECT_EQ(test, low, region - SZ_8M);
	KUNIT_EXPECT_TRUE(test, arch_slots_reach(at, low));
	KUNIT_EXPECT_FALSE(test, arch_slots_reach(at, low - 4));
	KUNIT_EXPECT_TRUE(test, arch_slots_reach(at, high - 4));
	KUNIT_EXPECT_FALSE(test, arch_slots_reach(at, high));
	KUNIT_EXPECT_EQ(test, arch_slots_reach(at, kpb_add_at),
			kpb_add_at >= low && kpb_add_at < high);

	/* The pages for the kernel are not all around its text. */
	KUNIT_EXPECT_TRUE(test, arch_slots_reach(kpb_add_at, kpb_add_at));
	KUNIT_EXPECT_FALSE(test, arch_slots_reach(kpb_add_at,
						  (unsigned long)__kprobes_pages_end + REACH));
	KUNIT_EXPECT_FALSE(test, arch_slots_reach(kpb_add_at, region));
}

static void pages_of_the_image_are_known(struct kunit *test)
{
	unsigned long start = (unsigned long)__kprobes_pages_start;
	unsigned long end = (unsigned long)__kprobes_pages_end;

	KUNIT_EXPECT_TRUE(test, PAGE_ALIGNED(start));
	KUNIT_EXPECT_GE(test, end - start, SZ_128K);
	KUNIT_EXPECT_TRUE(test, arch_within_kprobe_blacklist(start));
	KUNIT_EXPECT_TRUE(test, arch_within_kprobe_blacklist(end - 1));
	KUNIT_EXPECT_FALSE(test, arch_within_kprobe_blacklist(start - 1));
	KUNIT_EXPECT_FALSE(test, arch_within_kprobe_blacklist(end));
	/* It is the text that must not be probed, and nothing else in it. */
	KUNIT_EXPECT_TRUE(test, core_kernel_text(start));
	KUNIT_EXPECT_LE(test, end, (unsigned long)_etext);
}

static struct kunit_case pages_cases[] = {
	KUNIT_CASE_PARAM(pages_of_the_kernel, kind_gen_params),
	KUNIT_CASE_PARAM(pages_of_modules, kind_gen_params),
	KUNIT_CASE_PARAM(pages_are_nowhere_else, kind_gen_params),
	KUNIT_CASE_PARAM(pages_fill_their_window, kind_gen_params),
	KUNIT_CASE_PARAM(pages_of_the_kernel_are_exhausted, kind_gen_params),
	KUNIT_CASE(pages_anywhere),
	KUNIT_CASE_PARAM(pages_are_read_only, kind_gen_params),
	KUNIT_CASE(slots_are_in_reach),
	KUNIT_CASE(branches_reach_so_far),
	KUNIT_CASE(targets_in_reach_of_a_region),
	KUNIT_CASE(pages_of_the_image_are_known),
	{}
};

KP_SUITE(pages_cases, .name = "kprobes_powerpc_pages");
