/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What suites begin with: KUnit, kprobes, probes that record their hits, and what nearly all
 * suites use of the kernel.
 */
#ifndef _KERNEL_KPROBES_TESTS_SUITE_H
#define _KERNEL_KPROBES_TESTS_SUITE_H

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/cleanup.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/ftrace.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/kprobes-test-arch.h>
#include <linux/kprobes-test.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/linkage.h>
#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/objtool.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "watch.h"

/* A suite of the cases in an array; what follows are members of its struct kunit_suite. */
#define KP_SUITE(cases, ...)						\
static struct kunit_suite cases##_suite = {				\
	.test_cases	= cases,					\
	__VA_ARGS__							\
};									\
kunit_test_suite(cases##_suite)

/* A case that this kernel cannot run, and why. */
#define KP_SKIPPED(name, ...)						\
static void name(struct kunit *test)					\
{									\
	kunit_skip(test, __VA_ARGS__);					\
}

/* Ends a case that this kernel or this CPU cannot run to its end, and says why. */
#define KP_SKIP_IF(test, condition, ...) do {				\
	if (condition)							\
		kunit_skip(test, __VA_ARGS__);				\
} while (0)

/* Registers a probe, which then has its jump, if it gets one. */
#define KP_REGISTER_AND_WAIT(test, kp) do {				\
	KUNIT_ASSERT_EQ(test, register_kprobe(kp), 0);			\
	wait_for_kprobe_optimizer();					\
} while (0)

/* Unregisters a struct kp_watch, whose pre handler was called @n times. */
#define KP_UNWATCH(test, w, n) do {					\
	KUNIT_EXPECT_EQ(test, atomic_read(&(w).pre), n);		\
	unregister_kprobe(&(w).kp);					\
} while (0)

#endif /* _KERNEL_KPROBES_TESTS_SUITE_H */
