/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What several suites share.
 */
#ifndef _KERNEL_KPROBES_TESTS_HELPERS_H
#define _KERNEL_KPROBES_TESTS_HELPERS_H

#include <linux/completion.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kconfig.h>
#include <linux/kprobes.h>
#include <linux/kprobes-test-arch.h>
#include <linux/rethook.h>

#define KP_SLEEPER_RETURNS	0x5eed

/**
 * struct kp_sleeper - a thread that sleeps inside a function
 * @task: the thread
 * @fn: the function, which calls kp_sleep()
 * @inside: the thread is in the function
 * @leave: the thread may return
 * @returned: what the function has returned
 */
struct kp_sleeper {
	struct task_struct	*task;
	u32			(*fn)(struct kp_sleeper *s);
	struct completion	inside, leave;
	u32			returned;
};

int kp_sleeper_start(struct kp_sleeper *s, u32 (*fn)(struct kp_sleeper *s));
u32 kp_sleeper_wake(struct kp_sleeper *s);

/* The body of the function that a sleeper sleeps in. */
static __always_inline u32 kp_sleep(struct kp_sleeper *s)
{
	complete(&s->inside);
	wait_for_completion(&s->leave);
	return KP_SLEEPER_RETURNS;
}

bool kp_is_return_hook(unsigned long addr);
enum kprobe_refusal kp_vet(unsigned long addr);
void kp_warn_again(void);
void kp_expect_splat(const char *text);

/* The address of the code of a function, which may have a descriptor. */
static inline unsigned long kp_code(void *fn)
{
	return (unsigned long)dereference_symbol_descriptor(fn);
}

#endif /* _KERNEL_KPROBES_TESTS_HELPERS_H */
