/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Branch targets; for the optimizer and its tests.
 */
#ifndef _X86_KERNEL_KPROBES_TARGETS_H
#define _X86_KERNEL_KPROBES_TARGETS_H

#include <linux/list.h>
#include <linux/types.h>

struct module;

/**
 * struct kprobe_targets - branch targets in a region of text
 * @start: start of the region
 * @size: its size in bytes
 * @map: one bit for each byte, set if it may be a target
 * @swept: the functions that were decoded, and the results; see sweep_once()
 * @next: text from here on has not been scanned yet
 * @ready: @map is complete except for what decoding finds
 * @landing_pads: each target of an indirect branch is a landing pad. Modules may have been
 *		  built otherwise, and the CPU may not enforce it.
 * @mod: the module, or NULL for the kernel
 * @list: links the maps of modules
 */
struct kprobe_targets {
	unsigned long		start;
	unsigned long		size;
	unsigned long		*map;
	unsigned long		*swept;
	unsigned long		next;
	bool			ready;
	bool			landing_pads;
	struct module		*mod;
	struct list_head	list;
};

/* Bytes of text per bit of kprobe_targets.swept. Most functions are aligned to more. */
#define KPROBE_SWEPT_GRANULE	4

/* The result of decoding a function. The larger one counts. */
enum kprobe_swept {
	KPROBE_SWEPT_PLAIN = 1,
	KPROBE_SWEPT_COMPUTED,	/* jumps to an address in a register */
	KPROBE_SWEPT_SEGMENTS,	/* loads segments that handlers rely on */
	KPROBE_SWEPT_MISALIGNS,	/* may misalign the stack */
	KPROBE_SWEPT_UNDECODED,
};

void kprobe_targets_mark(struct kprobe_targets *t, unsigned long addr);
void kprobe_targets_scan_text(struct kprobe_targets *t, const u8 *text,
			      unsigned int len, unsigned long addr);
enum kprobe_swept kprobe_targets_sweep(struct kprobe_targets *t, unsigned long start,
				       unsigned long end);
u8 kprobe_sweep_around(struct kprobe_targets *t, unsigned long addr, unsigned int len,
		       unsigned long own);

#endif /* _X86_KERNEL_KPROBES_TARGETS_H */
