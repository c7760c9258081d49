/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_LOCK_H
#define _KERNEL_KPROBES_LOCK_H

#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/lockdep.h>
#include <linux/memory.h>
#include <linux/mutex.h>

/**
 * DOC: kprobes locking
 *
 * Outer to inner::
 *
 *   kprobe_mutex                 sites, their users, arming, the global switch
 *     direct_mutex, regex_lock,
 *       ftrace_lock              inside ftrace, when an ftrace site is armed
 *     cpu_hotplug_lock (read)    before text_mutex, as patching may interrupt or stop all CPUs;
 *				    also alone, to wait for CPUs
 *       jump_label_mutex         while asking whether a jump label owns text
 *       text_mutex               any change of kernel text
 *         cache mutex            slot pages
 *         module_mutex           while the symbols of a module are searched, on x86
 *     module_mutex               while a user's symbol is searched in all modules
 *     blacklist mutex            changes of the blacklist
 *
 * The mutex of an open file "check" is outside of all. The raw spinlock growth_lock of pools is
 * inside of all: interrupts take it, and it takes none.
 *
 * No lock is held during a wait for a grace period, with three exceptions, all under kprobe_mutex:
 * kprobe_ftrace_wait_for_tasks(), the wait inside ftrace, see ops_retire(), and that for the
 * module_mutex, whose holder may be waiting for RCU. Shorter waits, until each CPU has switched
 * tasks, are under kprobe_mutex as well, when the table grows and when ftrace sites move.
 *
 * Hit paths take no lock. With preemption off, and where RCU watches, they can find a
 * site and walk its users: both are freed only after a grace period of RCU.
 */

/* The locks that changes of the text need, outermost first. */
DEFINE_LOCK_GUARD_0(kprobe_text,
		    ({ cpus_read_lock(); mutex_lock(&text_mutex); }),
		    ({ mutex_unlock(&text_mutex); cpus_read_unlock(); }))

#endif /* _KERNEL_KPROBES_LOCK_H */
