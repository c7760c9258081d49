// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of jump-optimized probes: what detours call.
 */

#include "hit.h"

/**
 * opt_pre_handler() - call the pre handlers of all users, in a detour
 * @kp: the probe of a site
 * @regs: state of the probed code
 *
 * For backends whose detours do their own part of a hit, and cannot continue
 * elsewhere: what handlers return is ignored.
 *
 * Context: hit path, preemption off.
 */
void opt_pre_handler(struct kprobe *kp, struct pt_regs *regs)
{
	/* A return trampoline that is itself probed may be optimized, too. */
	if (likely(kprobe_rcu_is_watching() || kprobe_to_site(kp)->trampoline))
		kprobe_site_pre_handler(kp, regs);
	else
		kprobe_miss_unwatched(kp);
}
NOKPROBE_SYMBOL(opt_pre_handler);

#ifdef __ARCH_WANT_KPROBES_DETOUR
/**
 * kprobe_detour_callback() - a detour was entered
 * @op: its probe
 * @regs: state before the probed instruction, with the ip that handlers see
 *
 * Handlers may remove something from the stack; the detour leaves no room for what
 * they would push.
 *
 * Context: hit path; any context, interrupts as they were.
 * Return: 0 to continue with the copies at the end of the detour; otherwise what
 *	   arch_leave_detour() has returned.
 */
__visible long kprobe_detour_callback(struct optimized_kprobe *op, struct pt_regs *regs)
{
	typeof(kprobe_cpu_addr(current_kprobe)) running;
	long left = 0;
	int ret;

	preempt_disable_notrace();
	arch_handlers_begin(regs);

	running = kprobe_cpu_kept(current_kprobe);
	/* Without RCU, the probe still outlives every task in its detour, but its users do not. */
	if (unlikely(!kprobe_rcu_is_watching()) && !kprobe_cpu_read(running)) {
		kprobe_miss_unwatched(&op->kp);
	} else if (likely(kprobe_hit_enter(running, &op->kp))) {
		ret = kprobe_call_pre(&op->kp, regs);
		/* Reading the probe again is cheaper than keeping @op across the handler. */
		if (unlikely(ret || arch_detour_is_left(arch_detour_regs(regs))))
			left = arch_leave_detour(container_of(kprobe_cpu_read(running),
							      struct optimized_kprobe, kp),
						 arch_detour_regs(regs), ret);
		else
			kprobe_cpu_write(running, NULL);
	}

	preempt_enable_notrace();
	arch_handlers_end(arch_detour_regs(regs));
	return left;
}
NOKPROBE_SYMBOL(kprobe_detour_callback);
#endif
