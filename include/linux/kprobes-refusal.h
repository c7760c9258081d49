/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why a probe is refused. Only "ftrace" and "architecture" pass on the error of ftrace or of the
 * backend.
 *
 * Included by <linux/kprobes.h>.
 */
#ifndef _LINUX_KPROBES_REFUSAL_H
#define _LINUX_KPROBES_REFUSAL_H

/*
 * Each reason, with the error, the word for tools that parse files, and the sentence for people.
 * Words and errors are interface: reasons may be added, but not renamed.
 */
#define KPROBE_REFUSALS(R)						\
	R(NONE, 0, "-",							\
	  "The probe is accepted")					\
	/* The request. */						\
	R(ARGUMENTS, -EINVAL, "arguments",				\
	  "Not exactly one of symbol and address is given, or flags are invalid") \
	R(IN_USE, -EINVAL, "in-use",					\
	  "The probe is registered, or another call is using it")	\
	R(NO_SYMBOL, -ENOENT, "no-symbol",				\
	  "The symbol does not exist, or no symbol covers the address")	\
	R(AMBIGUOUS, -EADDRNOTAVAIL, "ambiguous",			\
	  "Several symbols have this name")				\
	R(UNSUPPORTED, -EOPNOTSUPP, "unsupported",			\
	  "The kernel has no return probes")				\
	R(FAULT_HANDLER, -EOPNOTSUPP, "fault-handler",			\
	  "The architecture does not support fault handlers")		\
	R(TOO_EARLY, -EAGAIN, "too-early",				\
	  "Kprobes are not initialized yet")				\
	R(NO_MEMORY, -ENOMEM, "no-memory",				\
	  "Out of memory")						\
	/* Return probes. */						\
	R(NOT_ENTRY, -EINVAL, "not-entry",				\
	  "A return probe or jprobe has to be at the entry of a function") \
	R(NO_RETURN, -EINVAL, "no-return",				\
	  "The function does not return to its caller in the ordinary way") \
	R(DATA_SIZE, -E2BIG, "data-size",				\
	  "The data size of the return probe is too large")		\
	/* Jprobes. */							\
	R(HANDLER, -EINVAL, "handler",					\
	  "The handler of the jprobe is not the start of a function")	\
	/* The address. */						\
	R(NOT_TEXT, -EINVAL, "not-text",				\
	  "The address is not in kernel text")				\
	R(MODULE, -ENOENT, "module",					\
	  "The module, or its init text, is being loaded or freed")	\
	R(MARKED, -EINVAL, "marked",					\
	  "The function is marked as one that must not be probed")	\
	R(LISTED, -EINVAL, "listed",					\
	  "The function is used where a probe cannot be handled")	\
	R(ARCH_LISTED, -EINVAL, "arch-listed",				\
	  "The architecture uses the function where a probe cannot be handled") \
	R(REACHED, -EINVAL, "reached",					\
	  "The function belongs to, or is called by, code that cannot be probed") \
	R(VARIANT, -EINVAL, "variant",					\
	  "A function on the blacklist has been split or cloned to make this one") \
	R(JUMP_LABEL, -EINVAL, "jump-label",				\
	  "The instruction is a jump label, which is rewritten with its static key") \
	R(STATIC_CALL, -EINVAL, "static-call",				\
	  "The instruction is a static call, which is rewritten with its target") \
	R(BUG, -EINVAL, "bug",						\
	  "The instruction is the trap of a BUG or a WARN")		\
	R(PREAMBLE, -EINVAL, "preamble",				\
	  "The address is in front of a function's entry, and is not executed") \
	/* ftrace. */							\
	R(TRACED, -EINVAL, "traced",					\
	  "The address is a call site of ftrace, which cannot call probes here") \
	R(CLAIMED, -EBUSY, "claimed",					\
	  "Another user, such as livepatch, has claimed the function")	\
	R(CHANGING, -EAGAIN, "changing",				\
	  "A BPF trampoline on the function is being changed; try again") \
	R(FTRACE, -ENODEV, "ftrace",					\
	  "ftrace has shut itself down, or has refused the function")	\
	/* The instruction; decided by the architecture. */		\
	R(ALIGNMENT, -EINVAL, "alignment",				\
	  "Instructions are aligned to their size, and the address is not") \
	R(BOUNDARY, -EILSEQ, "boundary",				\
	  "The address is in the middle of an instruction")		\
	R(SUFFIX, -EINVAL, "suffix",					\
	  "The address is the second word of a prefixed instruction")	\
	R(UNDECODED, -EILSEQ, "undecoded",				\
	  "The length of the instruction, or of one before it, is not known") \
	R(INVALID, -EILSEQ, "invalid",					\
	  "The instruction is invalid")					\
	R(TRAP, -EILSEQ, "trap",					\
	  "The instruction raises an exception of its own")		\
	R(DEBUGGER, -EILSEQ, "debugger",				\
	  "The kernel debugger has a breakpoint there")			\
	R(SLEEP, -EINVAL, "sleep",					\
	  "The instruction puts the CPU to sleep, or is bound to the next one") \
	R(SEGMENT, -EINVAL, "segment",					\
	  "The instruction changes a segment that exceptions rely on")	\
	R(TABLE, -EINVAL, "table",					\
	  "The instruction loads a table that exceptions rely on")	\
	R(CONTROL, -EINVAL, "control",					\
	  "The instruction changes how the CPU handles memory or exceptions") \
	R(GUEST, -EINVAL, "guest",					\
	  "The instruction enters a guest")				\
	R(FAR, -EOPNOTSUPP, "far",					\
	  "The instruction changes the segment of code or the privilege level") \
	R(TRANSACTION, -EOPNOTSUPP, "transaction",			\
	  "The instruction begins or aborts a transaction")		\
	R(ENCODING, -EOPNOTSUPP, "encoding",				\
	  "The instruction has an encoding that is not supported")	\
	R(HYPERVISOR, -EINVAL, "hypervisor",				\
	  "The instruction is marked for emulation by a hypervisor")	\
	R(TYPE_CHECK, -EINVAL, "type-check",				\
	  "The instruction is part of the type check of an indirect call") \
	R(ALTERNATIVE, -EAGAIN, "alternative",				\
	  "The instruction may still be replaced by an alternative")	\
	R(PATCHED, -EINVAL, "patched",					\
	  "The instruction is patched at run time")			\
	R(FIXUP, -EINVAL, "fixup",					\
	  "The fixup of the instruction needs it at its own address")	\
	R(LIVEPATCH, -EINVAL, "livepatch",				\
	  "The instruction is relocated when an object is livepatched")	\
	R(REACH, -EINVAL, "reach",					\
	  "The operand of the instruction is out of reach of a copy")	\
	R(SEQUENCE, -EINVAL, "sequence",				\
	  "The instruction is part of a sequence that an exception would break") \
	R(SYNDROME, -EINVAL, "syndrome",				\
	  "The instruction reads a register that each exception overwrites") \
	R(BRANCH, -EINVAL, "branch",					\
	  "The instruction depends on its address, and cannot be emulated") \
	/* The architecture, which gives no reason but an error. */	\
	R(ARCH, -EINVAL, "architecture",				\
	  "The architecture cannot probe the instruction")

#define __KPROBE_REFUSAL(name, err, word, text)	KPROBE_REFUSAL_##name,
enum kprobe_refusal {
	KPROBE_REFUSALS(__KPROBE_REFUSAL)
	NR_KPROBE_REFUSALS,
};

/* Shown if no function has the name, or a similar one. */
#define KPROBE_NO_SUCH_FUNCTION						\
	"No function has this or a similar name: it may be inlined, not built, or in a module that is not loaded"

/* Sentences without a full stop, one for each reason, for tracing_log_err(). */
extern const char *kprobe_refusal_texts[];

#endif /* _LINUX_KPROBES_REFUSAL_H */
