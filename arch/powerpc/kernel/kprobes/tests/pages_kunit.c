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
#define REGION_OF(addr)	ALIGN_DOWN((unsigned long)(addr), REGION)
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

#ifdef CONFIG_OPTPROBES
static void *alloc_for_detours(unsigned long start)
{
	return kprobe_optinsn_slots.alloc_near(start);
}
#endif

/*
 * The kind of a page: how it is allocated, and how long its head is.
 */
static const struct kind {
	const char	*name;
	void		*(*alloc_near)(unsigned long start);
	unsigned int	head;
} kinds[] = {
	{ "slots", alloc_insn_page_near, 0 },
#ifdef CONFIG_OPTPROBES
	{ "detours", alloc_for_detours, KPROBE_OPTINSN_HEAD_SIZE },
#endif
};
KUNIT_ARRAY_PARAM_DESC(kind, kinds, name);

static bool is_in_image(const void *page)
{
	return (page >= (void *)__kprobes_pages_start && page < (void *)__kprobes_pages_end) ||
	       (page >= (void *)__kprobes_padding_start && page < (void *)__kprobes_padding_end);
}

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
		wrong += word[i] != BREAKPOINT_INSTRUCTION;
	KUNIT_EXPECT_EQ(test, wrong, 0);
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
		free_insn_page(page);
	}
}

static void expect_near(struct kunit *test, const struct kind *k, const void *page,
			unsigned long region)
{
	KUNIT_EXPECT_TRUE(test, PAGE_ALIGNED((unsigned long)page));
	KUNIT_EXPECT_TRUE_MSG(test, reaches(page, region, region + REGION), "%lx for %lx",
			      (unsigned long)page, region);
	/* On 32 bits, the end of the window may overflow. */
	KUNIT_EXPECT_LE(test, (unsigned long)page - (region - BESIDE),
			REGION + 2 * BESIDE - PAGE_SIZE);
	KUNIT_EXPECT_GE(test, (unsigned long)page, (unsigned long)EXEC_START);
	KUNIT_EXPECT_LE(test, (unsigned long)page, (unsigned long)EXEC_END - PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, is_vmalloc_or_module_addr(page));
	expect_content(test, k, page);
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
		free_insn_page(page);
	}
}

static void pages_are_nowhere_else(struct kunit *test)
{
	const struct kind *k = test->param_value;

	KUNIT_EXPECT_NULL(test, k->alloc_near(REGION_OF(PAGE_OFFSET) + SZ_256M));
	KUNIT_EXPECT_NULL(test, k->alloc_near(REGION_OF(EXEC_START) - 4 * REGION));
	KUNIT_EXPECT_NULL(test, k->alloc_near(0));
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

/* A region whose window is empty. */
static unsigned long empty_region(void)
{
	unsigned long region = REGION_OF(EXEC_START) + 2 * REGION;
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

#define MAX_PAGES	((SZ_16M + SZ_512K) / PAGE_SIZE + 1)

/* Those of the image, until none is left. */
static void pages_of_the_kernel_are_exhausted(struct kunit *test)
{
	const struct kind *k = test->param_value;
	unsigned long region = REGION_OF(kpb_add_at);
	void **pages = kunit_kcalloc(test, MAX_PAGES, sizeof(*pages), GFP_KERNEL), *again;
	unsigned int nr = 0, i, outside = 0, unsorted = 0;

	KUNIT_ASSERT_NOT_NULL(test, pages);
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
		if (again)
			expect_content(test, k, again);
	}
	while (nr)
		free_insn_page(pages[--nr]);
}

/* With the slots that there are taken, probes there do without. */
static void probes_do_without_pages(struct kunit *test)
{
	unsigned long region = REGION_OF(kpb_add_at);
	void **pages = kunit_kcalloc(test, MAX_PAGES, sizeof(*pages), GFP_KERNEL);
	unsigned int max = 2 * PAGE_SIZE / KPROBE_INSN_SLOT_SIZE, nr = 0, nr_slots = 0;
	kprobe_opcode_t **slots = kunit_kcalloc(test, max, sizeof(*slots), GFP_KERNEL);
	struct kp_watch w = KP_WATCH(KPB_AT(add));

	KP_SKIP_IF(test, !kprobe_boosts(), "no copy branches back");
	KUNIT_ASSERT_NOT_NULL(test, pages);
	KUNIT_ASSERT_NOT_NULL(test, slots);

	kprobe_test_allow_optimization(false);
	kprobe_slots_flush(&kprobe_insn_slots);
	while (nr < MAX_PAGES && (pages[nr] = alloc_insn_page_near(region)))
		nr++;
	while (nr_slots < max && (slots[nr_slots] = get_insn_slot_near(kpb_add_at)))
		nr_slots++;
	KUNIT_EXPECT_LT(test, nr_slots, max);
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), "emulated");
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_add, 4), 7);
	KP_UNWATCH(test, w, 1);

	while (nr_slots)
		free_insn_slot(slots[--nr_slots], 0);
	while (nr)
		free_insn_page(pages[--nr]);
	w = (struct kp_watch)KP_WATCH(KPB_AT(add));
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), "boosted");
	unregister_kprobe(&w.kp);
	kprobe_test_allow_optimization(true);
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
	KUNIT_EXPECT_TRUE(test, pte_present(pte));
	KUNIT_EXPECT_TRUE(test, pte_exec(pte));
	KUNIT_EXPECT_EQ(test, !pte_write(pte), strict_module_rwx_enabled());
	free_insn_page(page);
}

/* Slots are taken from pages of their region, and of the kind. */
static void slots_are_in_reach(struct kunit *test)
{
	unsigned long far = empty_region(), near = kpb_add_at;
	unsigned long at[] = { near, far + REGION - 4, far, far - 4 };
	kprobe_opcode_t *slot[ARRAY_SIZE(at)];
	unsigned int i, k;

	KP_SKIP_IF(test, !far, "no window is empty");
	for (i = 0; i < ARRAY_SIZE(slot); i++) {
		slot[i] = get_insn_slot_near(at[i]);
		KUNIT_EXPECT_NOT_NULL(test, slot[i]);
		if (!slot[i])
			continue;
		KUNIT_EXPECT_TRUE(test, kprobe_in_reach((unsigned long)slot[i], at[i]));
		KUNIT_EXPECT_TRUE(test, kprobe_in_reach(at[i], (unsigned long)slot[i]));
		KUNIT_EXPECT_EQ(test, is_in_image(slot[i]), !i);
		KUNIT_EXPECT_TRUE(test, IS_ALIGNED((unsigned long)slot[i], KPROBE_INSN_SLOT_SIZE));
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
	unsigned long at = kpb_add_at;
	ppc_inst_t insn;

	KUNIT_EXPECT_TRUE(test, kprobe_in_reach(at, at));
	KUNIT_EXPECT_TRUE(test, kprobe_in_reach(at, at + REACH - 4));
	KUNIT_EXPECT_FALSE(test, kprobe_in_reach(at, at + REACH));
	KUNIT_EXPECT_TRUE(test, kprobe_in_reach(at, at - REACH));
	KUNIT_EXPECT_FALSE(test, kprobe_in_reach(at, at - REACH - 4));
	KUNIT_EXPECT_EQ(test, create_branch(&insn, (u32 *)at, at + REACH - 4, 0), 0);
	KUNIT_EXPECT_EQ(test, create_branch(&insn, (u32 *)at, at - REACH, 0), 0);
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
	KUNIT_EXPECT_TRUE(test, kprobe_is_in_image_pages(start));
	KUNIT_EXPECT_TRUE(test, kprobe_is_in_image_pages(end - 1));
	KUNIT_EXPECT_FALSE(test, kprobe_is_in_image_pages(start - 1));
	KUNIT_EXPECT_FALSE(test, kprobe_is_in_image_pages(end));
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
	KUNIT_CASE(probes_do_without_pages),
	KUNIT_CASE(pages_anywhere),
	KUNIT_CASE_PARAM(pages_are_read_only, kind_gen_params),
	KUNIT_CASE(slots_are_in_reach),
	KUNIT_CASE(branches_reach_so_far),
	KUNIT_CASE(targets_in_reach_of_a_region),
	KUNIT_CASE(pages_of_the_image_are_known),
	{}
};

static struct kunit_suite pages_suite = {
	.name		= "kprobes_powerpc_pages",
	.test_cases	= pages_cases,
};
kunit_test_suite(pages_suite);
