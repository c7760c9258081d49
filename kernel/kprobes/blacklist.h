/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_BLACKLIST_H
#define _KERNEL_KPROBES_BLACKLIST_H

#include <linux/kprobes-refusal.h>
#include <linux/types.h>

struct maple_tree;
struct module;

extern u64 kprobe_blacklist_ns;

int kprobe_blacklist_init(void);
enum kprobe_refusal kprobe_blacklist_rule(unsigned long addr);
unsigned long kprobe_blacklist_root(unsigned long addr);
void kprobe_blacklist_add_module(struct module *mod);
void kprobe_blacklist_remove_range(struct module *mod, unsigned long start,
				   unsigned long end);

/* Text without probes. */
struct kprobe_range {
	unsigned long		start;
	unsigned long		end;	/* the byte after the last */
	enum kprobe_refusal	rule;	/* why there are none */
	/* The function from which it has been reached, if that is why. */
	unsigned long		root;
	struct rcu_head		rcu;
};

int kprobe_ranges_add(struct maple_tree *tree, unsigned long start, unsigned long end,
		      enum kprobe_refusal rule, unsigned long root);
int kprobe_blacklist_for_each(int (*fn)(const struct kprobe_range *r, void *arg),
			      void *arg);

#endif /* _KERNEL_KPROBES_BLACKLIST_H */
