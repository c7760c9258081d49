/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What suites of arm64 and powerpc share: what probes on single instructions can be expected to
 * say, and what happens without memory for copies and detours.
 */
#ifndef _KERNEL_KPROBES_TESTS_WORDS_H
#define _KERNEL_KPROBES_TESTS_WORDS_H

#include <linux/kprobes.h>
#include <linux/types.h>

struct kp_target;
struct kprobe_slot_cache;
struct kunit;

/* What KPB_FUNCTION() of the architecture defines: a function, and the place that is probed. */
#define KPB_DECLARE(name)						\
void kpb_##name(void);							\
extern const unsigned long kpb_##name##_at

#define KPB_AT(name)		((kprobe_opcode_t *)kpb_##name##_at)

struct kpb_place {
	void			(*fn)(void);
	const unsigned long	*at;
};

#define KPB_PLACE(name)		{ kpb_##name, &kpb_##name##_at }
/* For generic suites. */
#define KPB_TARGET(name)	{ kpb_##name, "kpb_" #name, &kpb_##name##_at }

static inline kprobe_opcode_t *kpb_addr(const struct kpb_place *p)
{
	return (kprobe_opcode_t *)*p->at;
}

void kp_expect_refused(struct kunit *test, unsigned long addr, enum kprobe_refusal why, int err);
void kp_expect_accepted(struct kunit *test, unsigned long addr);
void kp_expect_site(struct kunit *test, const char *who, const char *what);
enum kprobe_refusal kp_decide(unsigned long addr);

void kp_need_mode(struct kunit *test, const char *mode);
void kp_register_in_mode(struct kunit *test, struct kprobe *kp, const char *mode);
void kp_expect_executed(struct kunit *test, const struct kp_target *t, const char *mode);
void kp_check_sequence(struct kunit *test, const struct kpb_place *p, unsigned long first,
		       unsigned long last);

/* A function with a probed instruction, and where execution continues after it. */
struct kpb_next {
	const char		*name;
	struct kpb_place	place;
	void			(*target)(void);	/* NULL: the next instruction */
};

void kp_check_next(struct kunit *test, const struct kpb_next *n);

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
