/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_ARM_H
#define _KERNEL_KPROBES_ARM_H

#include "internal.h"

/* Sites to be armed or disarmed together, linked by kp.list. */
struct kprobe_arm_lists {
	struct list_head	ftrace;	/* sites of ftrace */
	struct list_head	text;	/* sites with a breakpoint */
	/*
	 * Until kprobe_opt_wait_for_tasks(), tasks in a detour may bypass breakpoints that were
	 * written here, or that a user has joined.
	 */
	bool			bypassed;
};

#define KPROBE_ARM_LISTS_INIT(name) {					\
	.ftrace = LIST_HEAD_INIT((name).ftrace),			\
	.text = LIST_HEAD_INIT((name).text),				\
}

#define DEFINE_KPROBE_ARM_LISTS(name) \
	struct kprobe_arm_lists name = KPROBE_ARM_LISTS_INIT(name)

void kprobe_arm_add(struct kprobe_arm_lists *lists, struct kprobe_site *site);
bool kprobe_arm_needed(const struct kprobe_site *site);
bool kprobe_arm_wanted(const struct kprobe_site *site);
void kprobe_arm_text(struct kprobe_arm_lists *lists, bool arm);
int kprobe_arm_ftrace(struct kprobe_arm_lists *lists);
int kprobe_disarm_ftrace(struct kprobe_arm_lists *lists);
void kprobe_arm_retry(struct kprobe_arm_lists *lists, struct list_head *reap);
void kprobe_arm_join(const struct kprobe_site *site, struct kprobe_arm_lists *lists);
int kprobe_arm_update(struct kprobe_site *site, struct kprobe_arm_lists *lists);
void kprobe_arm_leave(struct kprobe_site *site, struct kprobe_arm_lists *lists);
void kprobe_arm_finish(const struct kprobe_arm_lists *lists);

bool kprobes_are_armed(void);
int kprobes_arm_all(bool on);

#endif /* _KERNEL_KPROBES_ARM_H */
