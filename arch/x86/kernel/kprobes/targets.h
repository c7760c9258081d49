/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _X86_KERNEL_KPROBES_TARGETS_H
#define _X86_KERNEL_KPROBES_TARGETS_H

#include <linux/list.h>
#include <linux/types.h>

struct module;

/* Branch targets in a region of text: the kernel, or a module. */
struct kprobe_targets {
	unsigned long		start;
	unsigned long		size;
	unsigned long		*map;	/* one bit for each byte, set if it may be a target */
	unsigned long		*swept;	/* decoded functions, and results; see sweep_once() */
	unsigned long		next;	/* text from here on has not been scanned yet */
	bool			ready;	/* @map is complete except for what decoding finds */
	/*
	 * Each target of an indirect branch is a landing pad. Modules may have been built
	 * otherwise, and the CPU may not enforce it.
	 */
	bool			landing_pads;
	struct module		*mod;	/* NULL for the kernel */
	struct list_head	list;
};

/* Bytes of text per bit of kprobe_targets.swept. Most functions are aligned to more. */
#define KPROBE_SWEPT_GRANULE	4

/* What decoding has found in a function. The larger one counts. */
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
