/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where code is entered from elsewhere; for the optimizer and its tests.
 */
#ifndef _X86_KERNEL_KPROBES_TARGETS_H
#define _X86_KERNEL_KPROBES_TARGETS_H

#include <linux/list.h>
#include <linux/types.h>

struct module;

/**
 * struct kprobe_targets - where code of a region is entered
 * @start: where the region begins
 * @size: bytes of it
 * @map: one bit for each, set if something may lead there
 * @swept: the functions that were decoded, and what was found; see sweep_once()
 * @next: text from here on has not been scanned yet
 * @ready: all that is not found by decoding is in @map
 * @mod: the module, or NULL for the kernel
 * @list: of the maps of modules
 */
struct kprobe_targets {
	unsigned long		start;
	unsigned long		size;
	unsigned long		*map;
	unsigned long		*swept;
	unsigned long		next;
	bool			ready;
	struct module		*mod;
	struct list_head	list;
};

/* What decoding has found in a function. */
enum kprobe_swept {
	KPROBE_SWEPT_PLAIN = 1,
	KPROBE_SWEPT_COMPUTED,	/* a jump to an address in a register */
	KPROBE_SWEPT_SEGMENTS,	/* not those that handlers rely on */
	KPROBE_SWEPT_UNDECODED,
};

void kprobe_targets_mark(struct kprobe_targets *t, unsigned long addr);
void kprobe_targets_scan_text(struct kprobe_targets *t, const u8 *text,
			      unsigned int len, unsigned long addr);
enum kprobe_swept kprobe_targets_sweep(struct kprobe_targets *t, unsigned long start,
				       unsigned long end);

#endif /* _X86_KERNEL_KPROBES_TARGETS_H */
