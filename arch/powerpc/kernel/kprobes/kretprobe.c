// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return probes of powerpc: functions that must not be hooked. Out-of-line epilogues, of which
 * modules have copies, are refused by arch_adjust_kprobe_addr(). The trampoline is in trampoline.S.
 */

#include <linux/kprobes.h>

struct kretprobe_blackpoint kretprobe_blacklist[] = {
	/* Returns twice. */
	{ "setjmp", },

	/* These return with translation off. The trampoline cannot call C code then. */
	{ "isa206_idle_insn_mayloss", },
	{ "isa300_idle_stop_mayloss", },
	{ "isa300_idle_stop_noloss", },

	/*
	 * Compiled code and ftrace call these at the entry of a function. They return through
	 * CTR, and LR has the return address of that function.
	 */
	{ "mcount", },
	{ "_mcount", },
	{ "ftrace_caller", },
	{ "ftrace_regs_caller", },
};

const int kretprobe_blacklist_size = ARRAY_SIZE(kretprobe_blacklist);

/* The trampoline has no breakpoint, so there is no probe in it. */
int arch_trampoline_kprobe(struct kprobe *p)
{
	kprobe_assert_locked();

	return 0;
}
