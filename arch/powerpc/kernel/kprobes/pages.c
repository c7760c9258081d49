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
	if (is_image_page((unsigned long)page))
		image_free((unsigned long)page);
	else
		vfree(page);
}

bool arch_slots_reach(unsigned long addr, unsigned long target)
{
	unsigned long start = ALIGN_DOWN(addr, KPROBE_SLOT_REGION_SIZE), end;
	unsigned int nr = nr_image_pages();

	if (!clip_to_text(&start, &end))
		return kprobe_pages_beside_reach(addr, target);

	/* All other pages are between the first and the last. */
	return nr && kprobe_in_reach(image_page(0), target) &&
	       kprobe_in_reach(image_page(nr - 1) + PAGE_SIZE - INSN_WORD, target);
}

/* Mapped pages are executable and, with STRICT_MODULE_RWX, read-only from the beginning. */
int arch_seal_page(void *page)
{
	u32 trap = KPROBE_TRAP;
	int ret = patch_instructions(page, &trap, PAGE_SIZE, true);

	flush_icache_range((unsigned long)page, (unsigned long)page + PAGE_SIZE);
	return ret;
}
