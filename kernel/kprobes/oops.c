// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits that never end: a handler oopsed, and the kernel killed its task.
 */

#include <linux/cpu.h>
#include <linux/panic.h>
#include <linux/stop_machine.h>

#include "hit.h"
#include "oops.h"
#include "table.h"

/* Runs in the stopper thread, so what it finds is not a hit in progress. */
static int abandon_hit(void *unused)
{
	kprobe_abandon_hit(raw_smp_processor_id());
	return 0;
}

/**
 * kprobe_end_hits() - wait until hits that have begun are over, one way or the other
 *
 * As kprobe_wait_for_hits(), but after an oops it also clears the state that the hit of a killed
 * task leaves on its CPU. That state names a probe or a user, which may be freed next, and
 * suppresses the handlers of all other hits on that CPU.
 *
 * Context: process context, waits for a grace period; kprobe_mutex not held.
 */
void kprobe_end_hits(void)
{
	int cpu;

	kprobe_wait_for_hits();
	if (likely(!test_taint(TAINT_DIE)))
		return;

	guard(cpus_read_lock)();

	for_each_possible_cpu(cpu) {
		if (cpu_online(cpu))
			stop_one_cpu(cpu, abandon_hit, NULL);
		else
			kprobe_abandon_hit(cpu);
	}
}
