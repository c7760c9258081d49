/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Branch analysis: may anything branch to these bytes? branches.c explains how that is known. All
 * but the first function is exported for the tests.
 */
#ifndef _X86_KERNEL_KPROBES_BRANCHES_H
#define _X86_KERNEL_KPROBES_BRANCHES_H

#include <linux/list.h>
#include <linux/types.h>

struct module;

u8 kprobe_find_target(unsigned long addr, unsigned int len, unsigned long start, u8 *at);

/* Branch targets in a region of text: the kernel, or a module. */
struct kprobe_branch_map {
	unsigned long		start;
	unsigned long		size;
	unsigned long		*targets;	/* one bit for each byte */
	unsigned long		*decoded;	/* functions; see decode_once() */
	unsigned long		next;		/* text from here on has not been scanned yet */
	bool			ready;		/* complete except for what decoding finds */
	/*
	 * Each target of an indirect branch is a landing pad. Modules may have been built
	 * otherwise, and the CPU may not enforce it.
	 */
	bool			landing_pads;
	struct module		*mod;		/* NULL for the kernel */
	struct list_head	list;
};

void kprobe_map_mark(struct kprobe_branch_map *map, unsigned long addr);
void kprobe_map_scan(struct kprobe_branch_map *map, const u8 *text, unsigned int len,
		     unsigned long addr);
u8 kprobe_map_decode(struct kprobe_branch_map *map, unsigned long start, unsigned long end);

#endif /* _X86_KERNEL_KPROBES_BRANCHES_H */
