/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_ORIGIN_H
#define _KERNEL_KPROBES_ORIGIN_H

#include <linux/pid.h>
#include <linux/sched.h>

/**
 * struct kprobe_origin - who has registered probes
 * @users: probes that refer to it, and the call that has made it; kprobe_mutex
 * @pid: the process, which may have ended
 * @comm: name of the thread at that time
 *
 * The probes of one call share it.
 */
struct kprobe_origin {
	unsigned int	users;
	struct pid	*pid;
	char		comm[TASK_COMM_LEN];
};

struct kprobe_origin *kprobe_origin_create(void);
struct kprobe_origin *kprobe_origin_get(struct kprobe_origin *origin);
void kprobe_origin_put(struct kprobe_origin *origin);

#endif /* _KERNEL_KPROBES_ORIGIN_H */
