// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the reasons of a refusal mean: an error for programs, a word for tools that
 * parse files, and a sentence for people. Words and errors are interface.
 */

#include <linux/errno.h>
#include <linux/kprobes.h>

#include "refusal.h"

static const struct {
	int		err;
	const char	*name;
} refusals[NR_KPROBE_REFUSALS] = {
	[KPROBE_REFUSAL_NONE]	= { 0, "-" },

	[KPROBE_REFUSAL_ARGUMENTS]	= { -EINVAL, "arguments" },
	[KPROBE_REFUSAL_IN_USE]	= { -EINVAL, "in-use" },
	[KPROBE_REFUSAL_NO_SYMBOL]	= { -ENOENT, "no-symbol" },
	[KPROBE_REFUSAL_AMBIGUOUS]	= { -EADDRNOTAVAIL, "ambiguous" },
	[KPROBE_REFUSAL_UNSUPPORTED]	= { -EOPNOTSUPP, "unsupported" },
	[KPROBE_REFUSAL_FAULT_HANDLER]	= { -EOPNOTSUPP, "fault-handler" },
	[KPROBE_REFUSAL_TOO_EARLY]	= { -EAGAIN, "too-early" },
	[KPROBE_REFUSAL_NO_MEMORY]	= { -ENOMEM, "no-memory" },

	[KPROBE_REFUSAL_NOT_ENTRY]	= { -EINVAL, "not-entry" },
	[KPROBE_REFUSAL_NO_RETURN]	= { -EINVAL, "no-return" },
	[KPROBE_REFUSAL_DATA_SIZE]	= { -E2BIG, "data-size" },

	[KPROBE_REFUSAL_HANDLER]	= { -EINVAL, "handler" },

	[KPROBE_REFUSAL_NOT_TEXT]	= { -EINVAL, "not-text" },
	[KPROBE_REFUSAL_MODULE]	= { -ENOENT, "module" },
	[KPROBE_REFUSAL_MARKED]	= { -EINVAL, "marked" },
	[KPROBE_REFUSAL_LISTED]	= { -EINVAL, "listed" },
	[KPROBE_REFUSAL_ARCH_LISTED]	= { -EINVAL, "arch-listed" },
	[KPROBE_REFUSAL_REACHED]	= { -EINVAL, "reached" },
	[KPROBE_REFUSAL_VARIANT]	= { -EINVAL, "variant" },
	[KPROBE_REFUSAL_JUMP_LABEL]	= { -EINVAL, "jump-label" },
	[KPROBE_REFUSAL_STATIC_CALL]	= { -EINVAL, "static-call" },
	[KPROBE_REFUSAL_BUG]	= { -EINVAL, "bug" },
	[KPROBE_REFUSAL_PREAMBLE]	= { -EINVAL, "preamble" },

	[KPROBE_REFUSAL_TRACED]	= { -EINVAL, "traced" },
	[KPROBE_REFUSAL_CLAIMED]	= { -EBUSY, "claimed" },
	[KPROBE_REFUSAL_CHANGING]	= { -EAGAIN, "changing" },
	[KPROBE_REFUSAL_FTRACE]	= { -ENODEV, "ftrace" },

	[KPROBE_REFUSAL_ALIGNMENT]	= { -EINVAL, "alignment" },
	[KPROBE_REFUSAL_BOUNDARY]	= { -EILSEQ, "boundary" },
	[KPROBE_REFUSAL_SUFFIX]	= { -EINVAL, "suffix" },
	[KPROBE_REFUSAL_UNDECODED]	= { -EILSEQ, "undecoded" },
	[KPROBE_REFUSAL_INVALID]	= { -EILSEQ, "invalid" },
	[KPROBE_REFUSAL_TRAP]	= { -EILSEQ, "trap" },
	[KPROBE_REFUSAL_DEBUGGER]	= { -EILSEQ, "debugger" },
	[KPROBE_REFUSAL_SLEEP]	= { -EINVAL, "sleep" },
	[KPROBE_REFUSAL_SEGMENT]	= { -EINVAL, "segment" },
	[KPROBE_REFUSAL_TABLE]	= { -EINVAL, "table" },
	[KPROBE_REFUSAL_CONTROL]	= { -EINVAL, "control" },
	[KPROBE_REFUSAL_GUEST]	= { -EINVAL, "guest" },
	[KPROBE_REFUSAL_FAR]	= { -EOPNOTSUPP, "far" },
	[KPROBE_REFUSAL_TRANSACTION]	= { -EOPNOTSUPP, "transaction" },
	[KPROBE_REFUSAL_ENCODING]	= { -EOPNOTSUPP, "encoding" },
	[KPROBE_REFUSAL_HYPERVISOR]	= { -EINVAL, "hypervisor" },
	[KPROBE_REFUSAL_TYPE_CHECK]	= { -EINVAL, "type-check" },
	[KPROBE_REFUSAL_ALTERNATIVE]	= { -EAGAIN, "alternative" },
	[KPROBE_REFUSAL_PATCHED]	= { -EINVAL, "patched" },
	[KPROBE_REFUSAL_FIXUP]	= { -EINVAL, "fixup" },
	[KPROBE_REFUSAL_LIVEPATCH]	= { -EINVAL, "livepatch" },
	[KPROBE_REFUSAL_REACH]	= { -EINVAL, "reach" },
	[KPROBE_REFUSAL_SEQUENCE]	= { -EINVAL, "sequence" },
	[KPROBE_REFUSAL_SYNDROME]	= { -EINVAL, "syndrome" },
	[KPROBE_REFUSAL_BRANCH]	= { -EINVAL, "branch" },

	[KPROBE_REFUSAL_ARCH]	= { -EINVAL, "architecture" },
};

const char *kprobe_refusal_texts[NR_KPROBE_REFUSALS] = {
	[KPROBE_REFUSAL_NONE] =
		"The probe is accepted",

	[KPROBE_REFUSAL_ARGUMENTS] =
		"Exactly one of symbol and address has to be given",
	[KPROBE_REFUSAL_IN_USE] =
		"The probe is registered, or another call is using it",
	[KPROBE_REFUSAL_NO_SYMBOL] =
		"The symbol does not exist, or no symbol covers the address",
	[KPROBE_REFUSAL_AMBIGUOUS] =
		"Several symbols have this name",
	[KPROBE_REFUSAL_UNSUPPORTED] =
		"The kernel has no return probes",
	[KPROBE_REFUSAL_FAULT_HANDLER] =
		"The architecture does not support fault handlers",
	[KPROBE_REFUSAL_TOO_EARLY] =
		"Kprobes are not initialized yet",
	[KPROBE_REFUSAL_NO_MEMORY] =
		"Out of memory",

	[KPROBE_REFUSAL_NOT_ENTRY] =
		"A return probe or jprobe has to be at the entry of a function",
	[KPROBE_REFUSAL_NO_RETURN] =
		"The function does not return to its caller in the ordinary way",
	[KPROBE_REFUSAL_DATA_SIZE] =
		"The data size of the return probe is too large",

	[KPROBE_REFUSAL_HANDLER] =
		"The handler of the jprobe is not the start of a function",

	[KPROBE_REFUSAL_NOT_TEXT] =
		"The address is not in kernel text",
	[KPROBE_REFUSAL_MODULE] =
		"The module, or its init text, is being loaded or freed",
	[KPROBE_REFUSAL_MARKED] =
		"The function is marked as one that must not be probed",
	[KPROBE_REFUSAL_LISTED] =
		"The function is used where a probe cannot be handled",
	[KPROBE_REFUSAL_ARCH_LISTED] =
		"The architecture uses the function where a probe cannot be handled",
	[KPROBE_REFUSAL_REACHED] =
		"The function belongs to, or is called by, code that cannot be probed",
	[KPROBE_REFUSAL_VARIANT] =
		"A function on the blacklist has been split or cloned to make this one",
	[KPROBE_REFUSAL_JUMP_LABEL] =
		"The instruction is a jump label, which is rewritten with its static key",
	[KPROBE_REFUSAL_STATIC_CALL] =
		"The instruction is a static call, which is rewritten with its target",
	[KPROBE_REFUSAL_BUG] =
		"The instruction is the trap of a BUG or a WARN",
	[KPROBE_REFUSAL_PREAMBLE] =
		"The address is in front of a function's entry, and is not executed",

	[KPROBE_REFUSAL_TRACED] =
		"The address is a call site of ftrace, which cannot call probes here",
	[KPROBE_REFUSAL_CLAIMED] =
		"Another user, such as livepatch, has claimed the function",
	[KPROBE_REFUSAL_CHANGING] =
		"A BPF trampoline on the function is being changed; try again",
	[KPROBE_REFUSAL_FTRACE] =
		"ftrace has shut itself down, or has refused the function",

	[KPROBE_REFUSAL_ALIGNMENT] =
		"Instructions are aligned to their size, and the address is not",
	[KPROBE_REFUSAL_BOUNDARY] =
		"The address is in the middle of an instruction",
	[KPROBE_REFUSAL_SUFFIX] =
		"The address is the second word of a prefixed instruction",
	[KPROBE_REFUSAL_UNDECODED] =
		"The length of the instruction, or of one before it, is not known",
	[KPROBE_REFUSAL_INVALID] =
		"The instruction is invalid",
	[KPROBE_REFUSAL_TRAP] =
		"The instruction raises an exception of its own",
	[KPROBE_REFUSAL_DEBUGGER] =
		"The kernel debugger has a breakpoint there",
	[KPROBE_REFUSAL_SLEEP] =
		"The instruction puts the CPU to sleep, or is bound to the next one",
	[KPROBE_REFUSAL_SEGMENT] =
		"The instruction changes a segment that exceptions rely on",
	[KPROBE_REFUSAL_TABLE] =
		"The instruction loads a table that exceptions rely on",
	[KPROBE_REFUSAL_CONTROL] =
		"The instruction changes how the CPU handles memory or exceptions",
	[KPROBE_REFUSAL_GUEST] =
		"The instruction enters a guest",
	[KPROBE_REFUSAL_FAR] =
		"The instruction changes the segment of code or the privilege level",
	[KPROBE_REFUSAL_TRANSACTION] =
		"The instruction begins or aborts a transaction",
	[KPROBE_REFUSAL_ENCODING] =
		"The instruction has an encoding that is not supported",
	[KPROBE_REFUSAL_HYPERVISOR] =
		"The instruction is marked for emulation by a hypervisor",
	[KPROBE_REFUSAL_TYPE_CHECK] =
		"The instruction is part of the type check of an indirect call",
	[KPROBE_REFUSAL_ALTERNATIVE] =
		"The instruction may still be replaced by an alternative",
	[KPROBE_REFUSAL_PATCHED] =
		"The instruction is patched at run time",
	[KPROBE_REFUSAL_FIXUP] =
		"The fixup of the instruction needs it at its own address",
	[KPROBE_REFUSAL_LIVEPATCH] =
		"The instruction is relocated when an object is livepatched",
	[KPROBE_REFUSAL_REACH] =
		"The operand of the instruction is out of reach of a copy",
	[KPROBE_REFUSAL_SEQUENCE] =
		"The instruction is part of a sequence that an exception would break",
	[KPROBE_REFUSAL_SYNDROME] =
		"The instruction reads a register that each exception overwrites",
	[KPROBE_REFUSAL_BRANCH] =
		"The instruction depends on its address, and cannot be emulated",

	[KPROBE_REFUSAL_ARCH] =
		"The architecture cannot probe the instruction",
};

int kprobe_refusal_error(enum kprobe_refusal why)
{
	return refusals[why].err;
}

/* The reason for an error that a hook or ftrace has returned without one. */
enum kprobe_refusal kprobe_refusal_of_error(int err)
{
	switch (err) {
	case 0:
		return KPROBE_REFUSAL_NONE;
	case -ENOMEM:
		return KPROBE_REFUSAL_NO_MEMORY;
	}

	return KPROBE_REFUSAL_ARCH;
}

const char *kprobe_refusal_name(enum kprobe_refusal why)
{
	return refusals[why].name;
}

#ifdef CONFIG_OPTPROBES
/* Why there is no jump; tools parse these, too. */
static const char * const noopt_names[NR_KPROBE_NOOPTS] = {
	[KPROBE_NOOPT_NONE]	= "-",
	[KPROBE_NOOPT_FTRACE]	= "ftrace",
	[KPROBE_NOOPT_DISARMED]	= "disarmed",
	[KPROBE_NOOPT_OFF]	= "switched-off",
	[KPROBE_NOOPT_POST]	= "post-handler",
	[KPROBE_NOOPT_FAULT]	= "fault-handler",
	[KPROBE_NOOPT_NEIGHBOUR]	= "other-probe",
	[KPROBE_NOOPT_INIT]	= "init-text",
	[KPROBE_NOOPT_LIVEPATCH]	= "livepatch",
	[KPROBE_NOOPT_NOMEM]	= "no-memory",
	[KPROBE_NOOPT_CHANGED]	= "text-changed",
	[KPROBE_NOOPT_ARCH]	= "architecture",
	[KPROBE_NOOPT_RANGE]	= "out-of-reach",
	[KPROBE_NOOPT_END]	= "end-of-function",
	[KPROBE_NOOPT_INSN]	= "instruction",
	[KPROBE_NOOPT_CALL]	= "short-call",
	[KPROBE_NOOPT_EXTABLE]	= "exception-table",
	[KPROBE_NOOPT_PATCHED]	= "patched-text",
	[KPROBE_NOOPT_TARGET]	= "jump-target",
	[KPROBE_NOOPT_LANDING]	= "landing-pad",
	[KPROBE_NOOPT_INDIRECT]	= "indirect-jump",
	[KPROBE_NOOPT_SEGMENT]	= "segment",
	[KPROBE_NOOPT_STACK]	= "stack",
	[KPROBE_NOOPT_UNDECODED]	= "undecodable",
};

const char *kprobe_noopt_name(enum kprobe_noopt why)
{
	return noopt_names[why];
}
#endif
