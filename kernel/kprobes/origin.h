/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_ORIGIN_H
#define _KERNEL_KPROBES_ORIGIN_H

#include <linux/sched.h>
#include <linux/types.h>

/**
 * struct kprobe_origin - who has registered probes
 * @users: probes that refer to it, and calls in progress; kprobe_mutex
 * @tgid: number of the process, which may have ended, in the initial namespace
 * @start: when it began, as the number may be used again
 * @comm: name of the thread at that time
 *
 * Consecutive registrations by one process, from threads of the same name, share it. A reference
 * to the process would keep its PID namespace as long as the probe is there.
 */
struct kprobe_origin {
	unsigned int	users;
	pid_t		tgid;
	u64		start;
	char		comm[TASK_COMM_LEN];
};

struct kprobe_origin *kprobe_origin_of_caller(void);
struct kprobe_origin *kprobe_origin_get(struct kprobe_origin *origin);
void kprobe_origin_put(struct kprobe_origin *origin);

#endif /* _KERNEL_KPROBES_ORIGIN_H */
