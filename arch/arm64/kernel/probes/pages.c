// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for slots and detours on arm64.
 *
 * A branch reaches 128 MiB, but modules may be 2 GiB from the kernel. So each page of slots
 * serves one region of 64 MiB, and lies between 32 MiB below its start and 32 MiB above
 * its end. From there it is in reach of each instruction in the region, as are branch
 * targets up to 32 MiB outside of it.
 *
 * A window around one address would not do: vmalloc takes the lowest hole in it, which
 * only the next few addresses could share. execmem has no such windows, and does not
 * work before core_initcall.
 */

#include <kunit/static_stub.h>
#include <linux/array_size.h>
#include <linux/cacheflush.h>
#include <linux/kasan.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/pgtable.h>
#include <linux/set_memory.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>

#include <asm/debug-monitors.h>
#include <asm/insn.h>
#include <asm/memory.h>
#include <asm/sections.h>

#include "common.h"

#define REGION_SIZE	BIT(KPROBE_SLOT_REGION_SHIFT)
#define BESIDE_REGION	SZ_32M

/**
 * kprobe_in_reach() - can a branch at one address go to another one?
 * @from: address of the branch
 * @to: its target
 *
 * Context: any.
 * Return: true if it can.
 */
bool kprobe_in_reach(unsigned long from, unsigned long to)
{
	long distance = to - from;

	return distance >= -SZ_128M && distance < SZ_128M;
}

/**
 * kprobe_in_reach_of_region() - can a target be reached from every page of a region?
 * @addr: an address in the region
 * @target: the target of a branch
 *
 * Context: any.
 * Return: true if a branch in any slot that @addr can get reaches @target.
 */
bool kprobe_in_reach_of_region(unsigned long addr, unsigned long target)
{
	unsigned long region = ALIGN_DOWN(addr, REGION_SIZE);

	return target - (region - BESIDE_REGION) < SZ_128M;
}

/**
 * kprobe_seal_page() - make a page executable, and no longer writable
 * @page: a page of vmalloc memory
 *
 * Context: process context, sleeps; a test may replace it.
 * Return: 0, or an error; the page is to be freed then.
 */
int kprobe_seal_page(void *page)
{
	KUNIT_STATIC_STUB_REDIRECT(kprobe_seal_page, page);

	return set_memory_rox((unsigned long)page, 1);
}

/*
 * A page within [start, end) which only the patch functions can write, full of slots that
 * contain the same words.
 */
static void *page_alloc(unsigned long start, unsigned long end, const u32 *slot,
			unsigned int nr)
{
	__le32 *page;
	unsigned int i;

	start = max(start, MODULES_VADDR);
	end = min(end, VMALLOC_END);
	if (start >= end || end - start < PAGE_SIZE)
		return NULL;

	page = __vmalloc_node_range(PAGE_SIZE, PAGE_SIZE, start, end,
				    GFP_KERNEL | __GFP_NOWARN, PAGE_KERNEL,
				    VM_FLUSH_RESET_PERMS, NUMA_NO_NODE,
				    __builtin_return_address(0));
	if (!page)
		return NULL;

	/* Addresses of code have no tag. */
	page = kasan_reset_tag(page);
	for (i = 0; i < PAGE_SIZE / sizeof(*page); i++)
		page[i] = cpu_to_le32(slot[i % nr]);
	caches_clean_inval_pou((unsigned long)page, (unsigned long)page + PAGE_SIZE);

	if (kprobe_seal_page(page)) {
		vfree(page);
		return NULL;
	}
	return page;
}

/* What most slots end with; the rest traps. */
static const u32 insn_slot[KPROBE_INSN_SLOT_SIZE / AARCH64_INSN_SIZE] = {
	AARCH64_BREAK_FAULT, AARCH64_BREAK_FAULT, AARCH64_BREAK_FAULT, BRK64_OPCODE_KPROBES_SS,
};

/* For instructions whose copies need not branch to the program. */
void *alloc_insn_page(void)
{
	return page_alloc(VMALLOC_START, VMALLOC_END, insn_slot, ARRAY_SIZE(insn_slot));
}

/*
 * Code in a region of modules branches to the kernel. So the first choice is the part of
 * the window from which all of the kernel is in reach, too.
 */
static void *page_alloc_near(unsigned long region, const u32 *slot, unsigned int nr)
{
	unsigned long start = region - BESIDE_REGION;
	unsigned long end = region + REGION_SIZE + BESIDE_REGION - PAGE_SIZE;
	unsigned long from = max(start, (unsigned long)_end - SZ_128M);
	unsigned long to = min(end, (unsigned long)_text + SZ_128M - PAGE_SIZE);
	void *page = NULL;

	if (from < to)
		page = page_alloc(from, to, slot, nr);
	return page ?: page_alloc(start, end, slot, nr);
}

void *alloc_insn_page_near(unsigned long start)
{
	return page_alloc_near(start, insn_slot, ARRAY_SIZE(insn_slot));
}

#ifdef CONFIG_OPTPROBES
void *alloc_optinsn_page_near(unsigned long start)
{
	u32 detour[MAX_OPTINSN_SIZE];

	kprobe_common_detour(detour);
	return page_alloc_near(start, detour, ARRAY_SIZE(detour));
}
#endif
