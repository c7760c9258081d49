// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages for slots where branches reach only a part of the kernel's address space.
 *
 * Modules may be out of reach of the kernel, and of each other. So each page serves one region of
 * half the reach, and is in it, or beside it by at most a quarter of the reach. Then it is in reach
 * of each instruction of the region, and reaches branch targets another quarter outside of it.
 *
 * A window around one address would not do: vmalloc takes the lowest hole in it, which only the
 * next few addresses could share. execmem has no such windows, and does not work before
 * core_initcall.
 */

#include <linux/align.h>
#include <linux/gfp.h>
#include <linux/kasan.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/pgtable.h>
#include <linux/vmalloc.h>

#include <asm/sections.h>

#ifdef KPROBE_BRANCH_RANGE

static void *alloc_between(unsigned long start, unsigned long end)
{
	void *page;

	start = max_t(unsigned long, start, KPROBE_PAGES_START);
	end = min_t(unsigned long, end, KPROBE_PAGES_END);
	if (start >= end || end - start < PAGE_SIZE)
		return NULL;

	page = __vmalloc_node_range(PAGE_SIZE, PAGE_SIZE, start, end, GFP_KERNEL | __GFP_NOWARN,
				    KPROBE_PAGES_PROT, VM_FLUSH_RESET_PERMS, NUMA_NO_NODE,
				    __builtin_return_address(0));
	if (!page)
		return NULL;

	/* Addresses of code have no tag. */
	page = kasan_reset_tag(page);
	if (arch_seal_page(page)) {
		vfree(page);
		return NULL;
	}
	return page;
}

/* For instructions whose copies need not branch to the program. */
void *alloc_insn_page(void)
{
	return alloc_between(KPROBE_PAGES_START, KPROBE_PAGES_END);
}

/**
 * kprobe_alloc_page_beside() - allocate a page of vmalloc memory for a region
 * @region: its start
 *
 * Code in a region of modules branches to the kernel. So the first choice is where all of the
 * kernel is in reach, too.
 *
 * Context: as alloc_insn_page().
 * Return: the page, or NULL.
 */
void *kprobe_alloc_page_beside(unsigned long region)
{
	unsigned long start = region - min(region, KPROBE_SLOT_BESIDE);
	unsigned long end = region + KPROBE_SLOT_REGION_SIZE + KPROBE_SLOT_BESIDE;
	void *page;

	/* With 32 bits, what is beside the last region overflows. */
	if (end < region)
		end = ULONG_MAX;
	page = alloc_between(max(start, (unsigned long)_end - KPROBE_BRANCH_RANGE),
			     min(end, (unsigned long)_text + KPROBE_BRANCH_RANGE));
	return page ?: alloc_between(start, end);
}

void * __weak alloc_insn_page_near(unsigned long start)
{
	return kprobe_alloc_page_beside(start);
}

/**
 * kprobe_pages_beside_reach() - is a target in reach of each page of kprobe_alloc_page_beside()?
 * @addr: an address in the region
 * @target: the target of a branch
 *
 * Context: any.
 * Return: true if it is.
 */
bool kprobe_pages_beside_reach(unsigned long addr, unsigned long target)
{
	unsigned long region = ALIGN_DOWN(addr, KPROBE_SLOT_REGION_SIZE);

	return target - (region - KPROBE_SLOT_BESIDE) < KPROBE_BRANCH_RANGE;
}

bool __weak arch_slots_reach(unsigned long addr, unsigned long target)
{
	return kprobe_pages_beside_reach(addr, target);
}

#endif /* KPROBE_BRANCH_RANGE */
