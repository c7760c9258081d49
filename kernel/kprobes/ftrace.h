/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_FTRACE_H
#define _KERNEL_KPROBES_FTRACE_H

#include <linux/list.h>

#include "internal.h"

#ifdef CONFIG_KPROBES_ON_FTRACE

/* ftrace has shut itself down. Nothing can be armed. */
static inline bool kprobe_ftrace_is_dead(void)
{
	return READ_ONCE(kprobe_ftrace_disabled);
}

int kprobe_ftrace_arm(struct list_head *kps);
int kprobe_ftrace_disarm(struct list_head *kps);
bool kprobe_ftrace_outgrown(const struct kprobe_site *site);
int kprobe_ftrace_upgrade(struct list_head *kps);
void kprobe_ftrace_note_users(const struct kprobe_site *site);
void kprobe_ftrace_settle(void);
void kprobe_ftrace_purge(unsigned long start, unsigned long end);

#else

static inline bool kprobe_ftrace_is_dead(void)
{
	return false;
}

static inline int kprobe_ftrace_arm(struct list_head *kps)
{
	return list_empty(kps) ? 0 : -ENODEV;
}

static inline int kprobe_ftrace_disarm(struct list_head *kps)
{
	return 0;
}

static inline bool kprobe_ftrace_outgrown(const struct kprobe_site *site)
{
	return false;
}

static inline int kprobe_ftrace_upgrade(struct list_head *kps)
{
	return 0;
}

static inline void kprobe_ftrace_note_users(const struct kprobe_site *site)
{
}

static inline void kprobe_ftrace_settle(void)
{
}

static inline void kprobe_ftrace_purge(unsigned long start, unsigned long end)
{
}

#endif /* CONFIG_KPROBES_ON_FTRACE */

#endif /* _KERNEL_KPROBES_FTRACE_H */
