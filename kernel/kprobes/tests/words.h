/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What suites of arm64 and powerpc share: what probes on single instructions can be expected to
 * say, and what happens without memory for copies and detours.
 */
#ifndef _KERNEL_KPROBES_TESTS_WORDS_H
#define _KERNEL_KPROBES_TESTS_WORDS_H

#include <linux/kprobes.h>
#include <linux/types.h>

struct kprobe_slot_cache;
struct kunit;

void kp_expect_refused(struct kunit *test, unsigned long addr, enum kprobe_refusal why, int err);
void kp_expect_accepted(struct kunit *test, unsigned long addr);
void kp_expect_site(struct kunit *test, const char *who, const char *what);

/* The allocators of a cache of slots, while others take their place. */
struct kp_starved {
	void	*(*alloc)(void);
	void	*(*alloc_near)(unsigned long start);
};

void kp_starve(struct kprobe_slot_cache *cache, struct kp_starved *s, bool near, bool far);
void kp_feed(struct kprobe_slot_cache *cache, const struct kp_starved *s);

/* All slots of some kind. */
struct kp_hog {
	struct kp_starved	allocators;
	kprobe_opcode_t		**slot;
	unsigned int		nr;
};

void kp_hog_slots(struct kunit *test, struct kp_hog *h, bool far);
void kp_release_slots(struct kp_hog *h);

void kp_check_without_any_slot(struct kunit *test, unsigned long copied, unsigned long branch,
			       unsigned long other_branch);
void kp_check_without_a_detour(struct kunit *test);

u32 __user *kp_user_word(struct kunit *test);

#endif /* _KERNEL_KPROBES_TESTS_WORDS_H */
