/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_ADDRESS_H
#define _KERNEL_KPROBES_ADDRESS_H

#include <linux/kprobes-refusal.h>
#include <linux/types.h>

/* What causes a hit at the site. */
enum kprobe_site_kind {
	KPROBE_SITE_BREAKPOINT,
	KPROBE_SITE_FTRACE,
	NR_KPROBE_SITE_KINDS,
} __packed;

/* Where a probe is to be. */
struct kprobe_where {
	unsigned long		addr;
	bool			on_entry;	/* it is the entry of a function */
	enum kprobe_site_kind	kind;		/* what will cause hits there */
};

enum kprobe_refusal kprobe_address_resolve(const void *addr, const char *symbol,
					   unsigned long offset,
					   struct kprobe_where *where);
int kprobe_for_each_module_symbol(const char *mod,
				  int (*fn)(void *data, const char *name,
					    unsigned long addr),
				  void *data);
bool kprobe_symbol_is_ambiguous(const char *name);
enum kprobe_refusal kprobe_address_vet(struct kprobe_where *where);

#endif /* _KERNEL_KPROBES_ADDRESS_H */
