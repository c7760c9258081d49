// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return probes of powerpc: which functions have none. The trampoline is in trampoline.S.
 */

#include <linux/kprobes.h>

/*
 * The first one returns twice. The next ones return with translation off, in which the
 * trampoline cannot call C code. The others, which compilers and ftrace call in front of
 * functions, return through CTR, with the return address of the function in LR.
 */
struct kretprobe_blackpoint kretprobe_blacklist[] = {
	{ "setjmp", },
	{ "isa206_idle_insn_mayloss", },
	{ "isa300_idle_stop_mayloss", },
	{ "isa300_idle_stop_noloss", },
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
