/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kprobes core offers to test suites, including those of
 * architectures, which cannot see its private state. Only with
 * CONFIG_KPROBES_KUNIT_TEST.
 */
#ifndef _LINUX_KPROBES_TEST_H
#define _LINUX_KPROBES_TEST_H

#include <linux/cleanup.h>
#include <linux/types.h>

struct kprobe;

void kprobe_test_lock(void);
void kprobe_test_unlock(void);
void kprobe_test_allow_optimization(bool allow);
int kprobe_test_switch(bool on);
const struct kprobe *kprobe_test_fault_owner(int cpu);
void kprobe_test_set_stuck(void *addr, bool stuck);
int kprobe_test_forecast(void *addr, u8 *jump, u8 *why, u8 *at);

/* The core's lock, where it would call the architecture with it held. */
DEFINE_LOCK_GUARD_0(kprobe_test, kprobe_test_lock(), kprobe_test_unlock())

#endif /* _LINUX_KPROBES_TEST_H */
