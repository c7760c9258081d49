/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_SITE_H
#define _KERNEL_KPROBES_SITE_H

#include "internal.h"

bool kprobe_site_may_move(enum kprobe_site_state from, enum kprobe_site_state to);
void kprobe_site_move(struct kprobe_site *site, enum kprobe_site_state to);

void kprobe_site_add_to(struct rb_root *root, struct kprobe_site *site);
struct kprobe_site *kprobe_site_create(unsigned long addr,
				       enum kprobe_site_kind kind);
void kprobe_site_release(struct kprobe_site *site);
void kprobe_site_remove(struct kprobe_site *site);
void kprobe_site_free(struct kprobe_site *site);

struct kprobe_site *kprobe_site_at(unsigned long addr);
struct kprobe_site *kprobe_site_from(unsigned long addr);
struct kprobe_site *kprobe_site_from_in(struct rb_root *root, unsigned long addr);
struct kprobe_site *kprobe_site_next(struct kprobe_site *site);
struct kprobe_site *kprobe_site_of_user(struct kprobe *p);

#define __for_each_kprobe_site(site, first, cond)			\
	for ((site) = (first); (site) && (cond); (site) = kprobe_site_next(site))

/* All sites, by address. Context: kprobe_mutex held. */
#define for_each_kprobe_site(site)					\
	__for_each_kprobe_site(site, kprobe_site_from(0), true)

/* Those from an address up to, but not including, another. Context: likewise. */
#define for_each_kprobe_site_in(site, start, end)			\
	__for_each_kprobe_site(site, kprobe_site_from(start),		\
			       kprobe_site_addr(site) < (end))

/* The same in a tree other than that of all sites. Context: likewise. */
#define for_each_kprobe_site_in_tree(site, root, start, end)		\
	__for_each_kprobe_site(site, kprobe_site_from_in(root, start),	\
			       kprobe_site_addr(site) < (end))

void kprobe_site_note_handlers(struct kprobe_site *site, const struct kprobe *p);
void kprobe_site_add_user(struct kprobe_site *site, struct kprobe *p);
void kprobe_site_del_user(struct kprobe_site *site, struct kprobe *p);
bool kprobe_site_has_post(const struct kprobe_site *site);
bool kprobe_site_has_fault(const struct kprobe_site *site);
void kprobe_site_enable_user(struct kprobe_site *site, struct kprobe *p, bool on);

#endif /* _KERNEL_KPROBES_SITE_H */
