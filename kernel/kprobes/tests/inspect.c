// SPDX-License-Identifier: GPL-2.0-only
/*
 * What test suites outside of the core need of its private state; see
 * include/linux/kprobes-test.h.
 */

#include <linux/kprobes-test.h>
#include <linux/mutex.h>
#include <linux/percpu.h>

#include "../arm.h"
#include "../hit.h"
#include "../optimizer.h"
#include "../site.h"

/**
 * kprobe_test_lock() - exclude all changes of probes
 *
 * Hooks of architectures are called with this lock held. Tests that call them
 * directly have to hold it, too.
 *
 * Context: process context, may sleep. Acquires kprobe_mutex; text_mutex nests
 *	    inside.
 */
void kprobe_test_lock(void)
{
	mutex_lock(&kprobe_mutex);
}

/**
 * kprobe_test_unlock() - undo kprobe_test_lock()
 *
 * Context: process context. Releases kprobe_mutex.
 */
void kprobe_test_unlock(void)
{
	mutex_unlock(&kprobe_mutex);
}

/**
 * kprobe_test_allow_optimization() - switch jump optimization on or off
 * @allow: what the sysctl debug.kprobes-optimization would be set to
 *
 * For suites that need every hit to come through a breakpoint. Once it is off, no
 * jump is left on return. Without CONFIG_OPTPROBES, does nothing.
 *
 * Context: process context, may sleep. Acquires kprobe_mutex.
 */
void kprobe_test_allow_optimization(bool allow)
{
	kprobe_opt_allow(allow);
}

/**
 * kprobe_test_switch() - switch all probes on or off
 * @on: what the file "enabled" in debugfs would be set to
 *
 * Context: process context, may sleep. Acquires kprobe_mutex.
 * Return: 0, or an error of ftrace.
 */
int kprobe_test_switch(bool on)
{
	return kprobes_arm_all(on);
}

#ifdef CONFIG_OPTPROBES
/**
 * kprobe_test_set_stuck() - pretend that a jump can or cannot be removed
 * @addr: where the jump is
 * @stuck: whether it cannot be
 *
 * Context: process context, may sleep. Acquires kprobe_mutex.
 */
void kprobe_test_set_stuck(void *addr, bool stuck)
{
	guard(mutex)(&kprobe_mutex);

	kprobe_site_at((unsigned long)addr)->opt_until = stuck ? KPROBE_OPT_FOREVER : 0;
}
#endif

/**
 * kprobe_test_fault_owner() - whose fault handler would a CPU call now?
 * @cpu: the CPU
 *
 * Context: any.
 * Return: the probe whose handler is running there and that has a fault handler, or
 *	   NULL.
 */
const struct kprobe *kprobe_test_fault_owner(int cpu)
{
	return per_cpu(kprobe_fault_owner.user, cpu);
}
