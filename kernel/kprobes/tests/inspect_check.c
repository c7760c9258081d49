// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is foreseen for a probe, for the suites of architectures.
 */

#include <linux/kprobes.h>
#include <linux/kprobes-test.h>

#include "../check.h"

/**
 * kprobe_test_forecast() - would a probe get a jump?
 * @addr: its address
 * @jump: set to the kind of the jump, enum kprobe_jump
 * @why: set to the reason if there would be none, enum kprobe_noopt
 * @at: set to the offset of the obstacle
 *
 * Context: process context, may sleep.
 * Return: 0, the error that register_kprobe() would return, or one of
 *	   kprobe_check_jump().
 */
int kprobe_test_forecast(void *addr, u8 *jump, u8 *why, u8 *at)
{
	struct kprobe p = { .addr = addr };
	struct kprobe_forecast f;
	struct kprobe_verdict v;
	int ret;

	kprobe_check_probe(&p, false, &v);
	ret = kprobe_refusal_error(v.why) ?: kprobe_check_jump(&v.where, &f);
	if (ret)
		return ret;

	*jump = f.jump;
	*why = f.why;
	*at = f.at;
	return 0;
}
