// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text that is freed: the end of its probes.
 */

#include <linux/kprobes.h>

#include <asm/sections.h>

#include "arm.h"
#include "ftrace.h"
#include "kill.h"
#include "optimizer.h"
#include "site.h"
#include "table.h"
#include "internal.h"

/* @writable: the text can still be changed, and may still be executed. */
static void kprobe_kill_text(unsigned long start, unsigned long end, bool writable)
{
	DEFINE_KPROBE_ARM_LISTS(lists);
	struct kprobe_site *site;
	bool any = false;

	scoped_guard(mutex, &kprobe_mutex) {
		for_each_kprobe_site_in(site, start, end) {
			if (site->ftrace ||
			    (writable && site->kind == KPROBE_SITE_BREAKPOINT &&
			     site->state == KPROBE_SITE_ARMED))
				kprobe_arm_add(&lists, site);
		}
		kprobe_disarm_ftrace(&lists);
		kprobe_ftrace_purge(start, end);
		kprobe_disarm_text(&lists);

		for_each_kprobe_site_in(site, start, end) {
			if (site->state == KPROBE_SITE_GONE)
				continue;
			kprobe_opt_kill(site);
			kprobe_site_move(site, KPROBE_SITE_GONE);
			any = true;
		}
		kprobe_opt_forget(start, end);
	}

	if (!any)
		return;
	kprobe_wait_for_hits();

	guard(mutex)(&kprobe_mutex);
	for_each_kprobe_site_in(site, start, end) {
		if (site->state == KPROBE_SITE_GONE)
			kprobe_site_release(site);
	}
}

/**
 * kprobe_kill_range() - the code in a range is about to be freed
 * @start: first byte
 * @end: byte after the last
 *
 * The probes there are gone for good, but stay registered until their users
 * unregister them. Breakpoints and jumps are removed from the text, as one batch:
 * functions that were passed to async_schedule() may still execute it. The module
 * loader waits for these after its notifiers, and frees the text only then.
 *
 * Context: process context, sleeps, may wait for a grace period. The text is still
 *	    mapped, and no probe can be registered there any more.
 */
void kprobe_kill_range(unsigned long start, unsigned long end)
{
	kprobe_kill_text(start, end, true);
}

/**
 * kprobe_free_init_mem() - the kernel's init text is about to be freed
 *
 * Nothing executes it any more, as async_synchronize_full() comes first. Nor is it
 * kernel text any more for functions that patch text, so breakpoints stay in it.
 *
 * Context: process context, once at boot.
 */
void kprobe_free_init_mem(void)
{
	kprobe_kill_text((unsigned long)__init_begin, (unsigned long)__init_end, false);
}
