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
/* A hit inside another one. Returns whether a handler has redirected execution. */
static noinline bool detour_nested(struct kprobe *kp, struct pt_regs *regs)
{
	if (!kprobe_nested_begin(kp, 0))
		return false;
	if (kprobe_nested_pre(kp, regs))
		return true;
	kprobe_nesting_end();
	return false;
}
NOKPROBE_SYMBOL(detour_nested);

/*
 * A handler has redirected execution. Reading the probe again is cheaper than keeping it across
 * the handler.
 */
static nokprobe_inline long detour_left(struct kprobe *__kprobe_cpu *running, struct pt_regs *regs)
{
	struct kprobe *kp = kprobe_cpu_read(running);

	return arch_leave_detour(container_of(kp, struct optimized_kprobe, kp),
				 arch_detour_regs(regs));
}

/**
 * kprobe_detour_callback() - a detour was entered
 * @op: its probe
 * @regs: state before the probed instruction, with the ip that handlers see
 *
 * A handler that changes the stack pointer has to return non-zero, as the end of the detour does
 * not restore it. The detour leaves no room for what handlers would push.
 *
 * Context: hit path; any context, interrupts as they were.
 * Return: 0 to continue with the copies at the end of the detour; otherwise what
 *	   arch_leave_detour() has returned.
 */
__visible long kprobe_detour_callback(struct optimized_kprobe *op, struct pt_regs *regs)
{
	typeof(kprobe_cpu_addr(current_kprobe)) running;
	long left = 0;

	preempt_disable_notrace();
	arch_handlers_begin(regs);

	running = kprobe_cpu_kept(current_kprobe);
	/* Without RCU, the probe still outlives every task in its detour, but its users do not. */
	if (unlikely(!kprobe_rcu_is_watching()) && !kprobe_cpu_read(running)) {
		kprobe_miss_unwatched(&op->kp);
	} else if (unlikely(!kprobe_hit_enter(running, &op->kp))) {
		if (detour_nested(&op->kp, regs))
			left = detour_left(running, regs);
	} else if (unlikely(kprobe_call_pre(&op->kp, regs))) {
		left = detour_left(running, regs);
	} else {
		kprobe_cpu_write(running, NULL);
	}

	preempt_enable_notrace();
	arch_handlers_end(arch_detour_regs(regs));
	return left;
}
NOKPROBE_SYMBOL(kprobe_detour_callback);
#endif
