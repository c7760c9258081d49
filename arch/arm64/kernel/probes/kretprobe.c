// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return probes of arm64: which functions have none, and how unwinders see through the
 * trampoline, which is in trampoline.S.
 */

#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include "common.h"

/*
 * The first one returns twice: once from itself, and once after the CPU has lost its state
 * and come back. The functions that it calls to suspend the CPU do not return at all.
 */
struct kretprobe_blackpoint kretprobe_blacklist[] = {
	{ "__cpu_suspend_enter", },
	{ "psci_suspend_finisher", },
	{ "psci_system_suspend", },
	{ "psci_0_1_cpu_suspend", },
	{ "psci_0_2_cpu_suspend", },
};

const int kretprobe_blacklist_size = ARRAY_SIZE(kretprobe_blacklist);

/* The trampoline has no breakpoint, so there is no probe in it. */
int arch_trampoline_kprobe(struct kprobe *p)
{
	kprobe_assert_locked();

	return 0;
}

/**
 * kprobe_unwind_trampoline() - the part of kprobe_unwind_pc() for the return trampoline
 * @pc: an address
 * @regs: the registers that an exception there has saved, or NULL
 *
 * Until the trampoline has a frame record, any address in it stands for its start, which the
 * unwinder looks up. Once x29 has been restored, the hook is no longer on record, but x30 holds
 * the return address.
 *
 * Context: any.
 * Return: @pc, or the address that it stands for.
 */
unsigned long kprobe_unwind_trampoline(unsigned long pc, const struct pt_regs *regs)
{
	if (kprobe_is_between(pc, __kretprobe_trampoline, kretprobe_trampoline_framed))
		return (unsigned long)__kretprobe_trampoline;
	if (regs &&
	    kprobe_is_between(pc, kretprobe_trampoline_unframed, kretprobe_trampoline_end))
		return READ_ONCE(regs->regs[30]);
	return pc;
}
NOKPROBE_SYMBOL(kprobe_unwind_trampoline);
