/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What generic test suites can expect of an architecture and its backend. All are 0 or
 * 1, so they can be used in C and in preprocessor conditionals. <asm/kprobes-test.h> may
 * define them; these are the defaults.
 */
#ifndef _LINUX_KPROBES_TEST_ARCH_H
#define _LINUX_KPROBES_TEST_ARCH_H

#include <linux/compiler.h>
#include <linux/kconfig.h>
#include <linux/kprobes.h>

/*
 * Some architectures look for an ftrace site in the first bytes of a function,
 * without checking where it ends. So functions to be probed have to be longer.
 */
#define KP_PADDING	asm volatile("	.rept 8\n	nop\n	.endr\n")

/*
 * Functions to be probed, whose body the compiler neither moves nor computes in advance:
 * they return an expression of their argument v. One kind may have a call site of ftrace.
 */
#define KP_TRACED(type, name, result)					\
noinline __noclone __used type name(type v)				\
{									\
	OPTIMIZER_HIDE_VAR(v);						\
	return result;							\
}

#define KP_UNTRACED(type, name, result)					\
noinline __noclone __used notrace type name(type v)			\
{									\
	KP_PADDING;							\
	OPTIMIZER_HIDE_VAR(v);						\
	return result;							\
}

/* Instructions differ in length, so where one starts has to be decoded. */
#ifndef KPROBES_TEST_HAS_VARIABLE_INSNS
#define KPROBES_TEST_HAS_VARIABLE_INSNS		0
#endif

/* Functions begin with a landing pad, which probes of the entry skip. */
#ifndef KPROBES_TEST_HAS_LANDING_PADS
#define KPROBES_TEST_HAS_LANDING_PADS		0
#endif

/* A function has one entry, not one for callers of its own module and one for others. */
#ifndef KPROBES_TEST_HAS_SINGLE_ENTRY
#define KPROBES_TEST_HAS_SINGLE_ENTRY		(!IS_ENABLED(CONFIG_PPC64))
#endif

/* A page at a kernel address belongs to user space. */
#ifndef KPROBES_TEST_HAS_GATE_AREA
#define KPROBES_TEST_HAS_GATE_AREA		0
#endif

/* Calls push the return address on the stack. */
#ifndef KPROBES_TEST_HAS_PUSHED_RETURNS
#define KPROBES_TEST_HAS_PUSHED_RETURNS		0
#endif

/* struct pt_regs has the flags register of x86. */
#ifndef KPROBES_TEST_HAS_EFLAGS
#define KPROBES_TEST_HAS_EFLAGS			0
#endif

/* text_poke() changes a byte, smp_text_poke_sync_each_cpu() lets all CPUs notice. */
#ifndef KPROBES_TEST_HAS_TEXT_POKE
#define KPROBES_TEST_HAS_TEXT_POKE		0
#endif

/* Instructions are replaced while they are executed, and then all CPUs are kicked. */
#ifndef KPROBES_TEST_HAS_KICKS
#define KPROBES_TEST_HAS_KICKS			0
#endif

/* Detours for the text of the kernel are in an area that a few thousand of them fill. */
#ifndef KPROBES_TEST_HAS_FEW_DETOURS
#define KPROBES_TEST_HAS_FEW_DETOURS		0
#endif

/* A probe by the name of a function is on its ftrace site, if it has one. */
#ifndef KPROBES_TEST_HAS_FTRACE_NAMES
#define KPROBES_TEST_HAS_FTRACE_NAMES		IS_ENABLED(CONFIG_KPROBES_ON_FTRACE)
#endif

/* ftrace changes its call sites while other CPUs run, without stop_machine(). */
#ifndef KPROBES_TEST_HAS_LIVE_FTRACE
#define KPROBES_TEST_HAS_LIVE_FTRACE		IS_ENABLED(CONFIG_PPC)
#endif

/* Watchpoints trap after the access, so the handler need not step over it. */
#ifndef KPROBES_TEST_HAS_LATE_WATCHPOINTS
#define KPROBES_TEST_HAS_LATE_WATCHPOINTS	0
#endif

/* Handling a breakpoint takes no lock, so the functions of locks can be probed. */
#ifndef KPROBES_TEST_HAS_LOCKLESS_TRAPS
#define KPROBES_TEST_HAS_LOCKLESS_TRAPS		(!IS_ENABLED(CONFIG_ARM))
#endif

/*
 * Probes inside a load-reserved/store-conditional sequence are refused. Elsewhere the
 * trap makes the store fail, and the sequence is retried forever.
 */
#ifndef KPROBES_TEST_HAS_SAFE_ATOMICS
#define KPROBES_TEST_HAS_SAFE_ATOMICS		(!IS_ENABLED(CONFIG_RISCV))
#endif

/* A pre handler that returns 0 cannot redirect, whatever it does to the registers. */
#ifndef KPROBES_TEST_HAS_IGNORED_IP
#define KPROBES_TEST_HAS_IGNORED_IP		0
#endif

/* The status is KPROBE_HIT_SSDONE while post handlers run. */
#ifndef KPROBES_TEST_HAS_STATUS_IN_POST
#define KPROBES_TEST_HAS_STATUS_IN_POST		(!IS_ENABLED(CONFIG_PPC))
#endif

/* Return handlers see all registers, as they were at the return. */
#ifndef KPROBES_TEST_HAS_RETURN_REGS
#define KPROBES_TEST_HAS_RETURN_REGS		IS_ENABLED(CONFIG_PPC)
#endif

/* ... at least the stack pointer. */
#ifndef KPROBES_TEST_HAS_RETURN_SP
#define KPROBES_TEST_HAS_RETURN_SP		\
	(!IS_ENABLED(CONFIG_ARM) || IS_ENABLED(CONFIG_FRAME_POINTER))
#endif

/* There is regs_set_return_value(). */
#ifndef KPROBES_TEST_HAS_SET_RETURN_VALUE
#define KPROBES_TEST_HAS_SET_RETURN_VALUE	\
	(IS_ENABLED(CONFIG_PPC) || IS_ENABLED(CONFIG_RISCV))
#endif

/* The function that switches tasks refuses kretprobes, as it returns in another task. */
#ifndef KPROBES_TEST_HAS_REFUSED_SWITCH
#define KPROBES_TEST_HAS_REFUSED_SWITCH		0
#endif

/* The assembly that switches stacks accepts kretprobes: it returns in the same task. */
#ifndef KPROBES_TEST_HAS_PROBED_SWITCH
#define KPROBES_TEST_HAS_PROBED_SWITCH		0
#endif

/* ... and this is its name. */
#ifndef KPROBES_TEST_SWITCH
#define KPROBES_TEST_SWITCH			"__switch_to_asm"
#endif

/* The trampoline of rethook is on the blacklist. Elsewhere it is a probe, or unprotected. */
#ifndef KPROBES_TEST_HAS_PROTECTED_RETHOOK
#define KPROBES_TEST_HAS_PROTECTED_RETHOOK	0
#endif

/* return_kunit.c has assembly code that leaves a function as by longjmp(). */
#ifndef KPROBES_TEST_HAS_LONGJMP
#define KPROBES_TEST_HAS_LONGJMP		0
#endif

/* The unwinder knows exactly which words of a stack are return addresses. */
#ifndef KPROBES_TEST_HAS_EXACT_TRACES
#define KPROBES_TEST_HAS_EXACT_TRACES		\
	(IS_ENABLED(CONFIG_KRETPROBE_NATIVE) && \
	 (IS_ENABLED(CONFIG_UNWINDER_ORC) || IS_ENABLED(CONFIG_UNWINDER_FRAME_POINTER)))
#endif

/* ... and finds the caller before the function has set up its frame. */
#ifndef KPROBES_TEST_HAS_CALLER_AT_ENTRY
#define KPROBES_TEST_HAS_CALLER_AT_ENTRY	1
#endif

/* ... and finds it from return handlers of the function graph tracer. */
#ifndef KPROBES_TEST_HAS_CALLER_IN_GRAPH
#define KPROBES_TEST_HAS_CALLER_IN_GRAPH	(!IS_ENABLED(CONFIG_UNWINDER_FRAME_POINTER))
#endif

/* Bytes of the stack that a hit may use, besides a struct pt_regs. Frames of sparc64 have 176. */
#if IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_SPARC64)
#define KPROBES_TEST_STACK_OF_HIT	2048
#elif IS_ENABLED(CONFIG_PPC)
#define KPROBES_TEST_STACK_OF_HIT	1280
#else
#define KPROBES_TEST_STACK_OF_HIT	768
#endif

#endif /* _LINUX_KPROBES_TEST_ARCH_H */
