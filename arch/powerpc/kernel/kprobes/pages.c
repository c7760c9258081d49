// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for slots near the kernel on powerpc.
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
#include <linux/sizes.h>
#include <linux/text-patching.h>
#include <linux/vmalloc.h>

#include <asm/sections.h>

#include "common.h"

/*
 * Pages of the image, counted from the first one for slots. The text is not in reach of pages that
 * are farther away; init text would be, if there were so much read-only data before it.
 */
#define FIRST_PAGE	PAGE_ALIGN((unsigned long)__kprobes_pages_start)
#define MAX_PAGES	((IS_ENABLED(CONFIG_PPC_BOOK3S_64) ? SZ_64M : SZ_512K) / PAGE_SIZE)

/* Protects image_taken. */
static DEFINE_MUTEX(image_mutex);
static DECLARE_BITMAP(image_taken, MAX_PAGES);

static bool is_page_of(unsigned long page, const char *start, const char *end)
{
	return page >= (unsigned long)start && page + PAGE_SIZE <= (unsigned long)end;
}

static bool is_image_page(unsigned long page)
{
	return is_page_of(page, __kprobes_pages_start, __kprobes_pages_end) ||
	       is_page_of(page, __kprobes_padding_start, __kprobes_padding_end);
}

/*
 * Reduces a region to the part of it that is text of the kernel, if there is any. No module is in
 * the same region: where modules are near, they are below PAGE_OFFSET, which is a boundary.
 */
static bool clip_to_text(unsigned long *start, unsigned long *end)
{
	*end = min(*start + KPROBE_SLOT_REGION_SIZE, (unsigned long)_einittext);
	*start = max(*start, (unsigned long)_stext);
	return *start < *end;
}

/* The text branches to detours, and slots branch back. */
static bool page_reaches(unsigned long page, unsigned long start, unsigned long end)
{
	return max(page + PAGE_SIZE, end) - min(page, start) <= KPROBE_BRANCH_RANGE;
}

static void *image_alloc(unsigned long start, unsigned long end)
{
	unsigned long page;
	unsigned int i;

	guard(mutex)(&image_mutex);

	for_each_clear_bit(i, image_taken, MAX_PAGES) {
		page = FIRST_PAGE + i * PAGE_SIZE;
		if (is_image_page(page) && page_reaches(page, start, end)) {
			__set_bit(i, image_taken);
			return (void *)page;
		}
	}
	return NULL;
}

void *alloc_insn_page_near(unsigned long start)
{
	unsigned long first = start, end;
	void *page;

	if (!clip_to_text(&first, &end))
		return kprobe_alloc_page_beside(start);

	page = image_alloc(first, end);
	if (page && arch_seal_page(page)) {
		free_insn_page(page);
		return NULL;
	}
	return page;
}

void free_insn_page(void *page)
{
	if (!is_image_page((unsigned long)page)) {
		vfree(page);
		return;
	}

	guard(mutex)(&image_mutex);

	__clear_bit(((unsigned long)page - FIRST_PAGE) / PAGE_SIZE, image_taken);
}

bool arch_slots_reach(unsigned long addr, unsigned long target)
{
	unsigned long start = ALIGN_DOWN(addr, KPROBE_SLOT_REGION_SIZE), end;
	unsigned long last = PAGE_ALIGN_DOWN((unsigned long)__kprobes_padding_end) - PAGE_SIZE;

	if (!clip_to_text(&start, &end))
		return kprobe_pages_beside_reach(addr, target);

	/* All other pages are between the first and the last. */
	if (!is_image_page(last))
		last = PAGE_ALIGN_DOWN((unsigned long)__kprobes_pages_end) - PAGE_SIZE;
	return kprobe_in_reach(FIRST_PAGE, target) &&
	       kprobe_in_reach(last + PAGE_SIZE - INSN_WORD, target);
}

/* Mapped pages are executable and, with STRICT_MODULE_RWX, read-only from the beginning. */
int arch_seal_page(void *page)
{
	u32 trap = KPROBE_TRAP;
	int ret = patch_instructions(page, &trap, PAGE_SIZE, true);

	flush_icache_range((unsigned long)page, (unsigned long)page + PAGE_SIZE);
	return ret;
}
