/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suites of the optimizer share. The functions are defined in
 * optimizer_kunit.c.
 */
#ifndef _KERNEL_KPROBES_TESTS_OPTIMIZER_HELPERS_H
#define _KERNEL_KPROBES_TESTS_OPTIMIZER_HELPERS_H

#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>

#include "../site.h"

u32 kp_opt_first(u32 v);
u32 kp_opt_second(u32 v);

struct kunit;

int kp_opt_init(struct kunit *test);

static inline struct kprobe_site *site_of(struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);

	return kprobe_site_at((unsigned long)p->addr);
}

static inline enum kprobe_opt_state state_of(struct kprobe *p)
{
	guard(mutex)(&kprobe_mutex);

	return site_of(p)->opt;
}

static inline u8 why_of(struct kprobe *p)
{
	guard(mutex)(&kprobe_mutex);

	return site_of(p)->opt_why;
}

#endif /* _KERNEL_KPROBES_TESTS_OPTIMIZER_HELPERS_H */
