// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for slots and detours on powerpc.
 *
 * A branch reaches 32 MiB, so each page of slots serves one 16 MiB region. Pages for module regions
 * come from vmalloc space, at most 12 MiB outside the region, so that every instruction of the
 * region, and branch targets up to 4 MiB beyond it, stay within reach. The window must not be
 * centred on a single probe: vmalloc hands out the lowest free address, which only neighbouring
 * probes could then share. execmem has no such windows.
 *
 * On 64 bits, no memory but the image is near the text of the kernel, and on Book3S-32 no other
 * memory near it can be executed after boot. So the linker script reserves pages at the end of the
 * text. On Book3S-64 with STRICT_KERNEL_RWX, the next boundary of protection is up to 16 MiB away,
 * and the memory before it is executable, read-only, and otherwise wasted.
 */

#include <linux/align.h>
#include <linux/bitmap.h>
#include <linux/cacheflush.h>
#include <linux/cleanup.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pgtable.h>
#include <linux/sizes.h>
#include <linux/text-patching.h>
#include <linux/vmalloc.h>

#include <asm/mmu.h>
#include <asm/probes.h>
#include <asm/sections.h>

#include "common.h"
#include "insn.h"

#define REGION_SIZE	BIT(KPROBE_SLOT_REGION_SHIFT)
#define BESIDE_REGION	(12 * SZ_1M)

/* Where mappings are executable. This is also needed before execmem has been set up. */
#ifdef MODULES_VADDR
#define EXEC_START	MODULES_VADDR
#define EXEC_END	MODULES_END
#else
#define EXEC_START	VMALLOC_START
#define EXEC_END	VMALLOC_END
#endif

/**
 * kprobe_in_reach() - can a branch at one address reach another one?
 * @from: address of the branch
 * @to: its target
 *
 * Context: any.
 * Return: true if it can.
 */
bool kprobe_in_reach(unsigned long from, unsigned long to)
{
	return is_offset_in_branch_range(to - from);
}

/*
 * Pages of the image
 */

#define MAX_IMAGE_PAGES	((SZ_16M + SZ_512K) / PAGE_SIZE)

/* Protects image_taken. */
static DEFINE_MUTEX(image_mutex);
static DECLARE_BITMAP(image_taken, MAX_IMAGE_PAGES);

static unsigned int nr_pages(const char *start, const char *end)
{
	unsigned long from = PAGE_ALIGN((unsigned long)start);
	unsigned long to = ALIGN_DOWN((unsigned long)end, PAGE_SIZE);

	return from < to ? (to - from) / PAGE_SIZE : 0;
}

static unsigned int nr_image_pages(void)
{
	return min(nr_pages(__kprobes_pages_start, __kprobes_pages_end) +
		   nr_pages(__kprobes_padding_start, __kprobes_padding_end), MAX_IMAGE_PAGES);
}

static unsigned long image_page(unsigned int i)
{
	unsigned int first = nr_pages(__kprobes_pages_start, __kprobes_pages_end);

	if (i < first)
		return PAGE_ALIGN((unsigned long)__kprobes_pages_start) + i * PAGE_SIZE;
	return PAGE_ALIGN((unsigned long)__kprobes_padding_start) + (i - first) * PAGE_SIZE;
}

static bool is_image_page(unsigned long page)
{
	return kprobe_is_between(page, __kprobes_pages_start, __kprobes_pages_end) ||
	       kprobe_is_between(page, __kprobes_padding_start, __kprobes_padding_end);
}

/*
 * The part of a region that is text of the kernel; empty if *end is not above *start. No module is
 * in the same region: where modules are near, they are below PAGE_OFFSET, which is a boundary.
 */
static void clip_to_text(unsigned long *start, unsigned long *end)
{
	*end = min(*start + REGION_SIZE, (unsigned long)_einittext);
	*start = max(*start, (unsigned long)_stext);
}

/* The text branches to detours, and slots branch back, so check both directions. */
static bool page_reaches(unsigned long page, unsigned long start, unsigned long end)
{
	unsigned long last = page + PAGE_SIZE - INSN_WORD;

	return kprobe_in_reach(page, end - INSN_WORD) && kprobe_in_reach(last, start) &&
	       kprobe_in_reach(start, last) && kprobe_in_reach(end - INSN_WORD, page);
}

static void *image_alloc(unsigned long start, unsigned long end)
{
	unsigned int i, nr = nr_image_pages();

	guard(mutex)(&image_mutex);

	for_each_clear_bit(i, image_taken, nr) {
		if (page_reaches(image_page(i), start, end)) {
			__set_bit(i, image_taken);
			return (void *)image_page(i);
		}
	}
	return NULL;
}

static void image_free(unsigned long page)
{
	unsigned int i, nr = nr_image_pages();

	guard(mutex)(&image_mutex);

	for (i = 0; i < nr; i++) {
		if (image_page(i) == page)
			__clear_bit(i, image_taken);
	}
}

/*
 * Pages outside of the image
 */

/* A page within [start, end) which only the patch functions can write. */
static void *mapped_alloc(unsigned long start, unsigned long end)
{
	pgprot_t prot = strict_module_rwx_enabled() ? PAGE_KERNEL_ROX : PAGE_KERNEL_EXEC;

	start = max_t(unsigned long, start, EXEC_START);
	end = min_t(unsigned long, end, EXEC_END);
	if (start >= end || end - start < PAGE_SIZE)
		return NULL;

	return __vmalloc_node_range(PAGE_SIZE, PAGE_SIZE, start, end, GFP_KERNEL | __GFP_NOWARN,
				    prot, 0, NUMA_NO_NODE, __builtin_return_address(0));
}

/* Fill a new page with traps, so that a stray branch into an unused slot is caught. */
static bool fill_page(void *page)
{
	u32 trap = BREAKPOINT_INSTRUCTION;
	int ret = patch_instructions(page, &trap, PAGE_SIZE, true);

	flush_icache_range((unsigned long)page, (unsigned long)page + PAGE_SIZE);
	return !ret;
}

static void page_free(void *page)
{
	if (is_image_page((unsigned long)page))
		image_free((unsigned long)page);
	else
		vfree(page);
}

static void *page_fill(void *page)
{
	if (!page || fill_page(page))
		return page;

	page_free(page);
	return NULL;
}

static void *page_alloc_near(unsigned long region)
{
	unsigned long start = region, end;

	clip_to_text(&start, &end);
	if (start < end)
		return page_fill(image_alloc(start, end));

	/* On ppc32, the end of the last region, and of what is beside it, overflows. */
	end = region + REGION_SIZE + BESIDE_REGION;
	return page_fill(mapped_alloc(region - min_t(unsigned long, region, BESIDE_REGION),
				      end > region ? end : ULONG_MAX));
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
	unsigned long region = ALIGN_DOWN(addr, REGION_SIZE), start = region, end;
	unsigned int nr = nr_image_pages();

	clip_to_text(&start, &end);
	if (start >= end)
		return kprobe_in_reach(region - BESIDE_REGION, target) &&
		       kprobe_in_reach(region + REGION_SIZE + BESIDE_REGION, target);

	/* All other pages are between the first and the last. */
	return nr && kprobe_in_reach(image_page(0), target) &&
	       kprobe_in_reach(image_page(nr - 1) + PAGE_SIZE - INSN_WORD, target);
}

/* For instructions whose copies need not branch to the program. */
void *alloc_insn_page(void)
{
	return page_fill(mapped_alloc(EXEC_START, EXEC_END));
}

void *alloc_insn_page_near(unsigned long start)
{
	return page_alloc_near(start);
}

void free_insn_page(void *page)
{
	page_free(page);
}

#ifdef CONFIG_OPTPROBES
void *alloc_optinsn_page_near(unsigned long start)
{
	void *page = page_alloc_near(start);

	if (!page || !kprobe_fill_head(page))
		return page;

	page_free(page);
	return NULL;
}

void free_optinsn_page(void *page)
{
	page_free(page);
}
#endif

/**
 * kprobe_is_in_image_pages() - is an address in the pages at the end of the kernel's text?
 * @addr: the address
 *
 * Context: any.
 * Return: true if it is.
 */
bool kprobe_is_in_image_pages(unsigned long addr)
{
	return kprobe_is_between(addr, __kprobes_pages_start, __kprobes_pages_end);
}
