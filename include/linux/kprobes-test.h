/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kprobes core offers to test suites, including those of
 * architectures, which cannot see its private state. Only with
 * CONFIG_KPROBES_KUNIT_TEST.
 */
#ifndef _LINUX_KPROBES_TEST_H
#define _LINUX_KPROBES_TEST_H

#include <linux/cleanup.h>
#include <linux/kconfig.h>
#include <linux/types.h>

struct kprobe;

void kprobe_test_lock(void);
void kprobe_test_unlock(void);
void kprobe_test_allow_optimization(bool allow);
const struct kprobe *kprobe_test_fault_owner(int cpu);

/* The core's lock, where it would call the architecture with it held. */
DEFINE_LOCK_GUARD_0(kprobe_test, kprobe_test_lock(), kprobe_test_unlock())

/*
 * What generic suites can expect of an architecture and its backend. All are 0 or
 * 1, so they can be used in C and in preprocessor conditionals.
 */

/* Instructions differ in length, so where one starts has to be decoded. */
#define KPROBES_TEST_HAS_VARIABLE_INSNS		IS_ENABLED(CONFIG_X86)

/* Functions begin with a landing pad, which probes of the entry skip. */
#define KPROBES_TEST_HAS_LANDING_PADS		IS_ENABLED(CONFIG_X86_KERNEL_IBT)

/* A function has one entry, not one for callers of its own module and one for others. */
#define KPROBES_TEST_HAS_SINGLE_ENTRY		(!IS_ENABLED(CONFIG_PPC64))

/* A page at a kernel address belongs to user space. */
#define KPROBES_TEST_HAS_GATE_AREA		IS_ENABLED(CONFIG_X86_VSYSCALL_EMULATION)

/* Calls push the return address on the stack. */
#define KPROBES_TEST_HAS_PUSHED_RETURNS		IS_ENABLED(CONFIG_X86)

/* struct pt_regs has the flags register of x86. */
#define KPROBES_TEST_HAS_EFLAGS			IS_ENABLED(CONFIG_X86)

/* text_poke() changes a byte, text_poke_sync() lets all CPUs notice. */
#define KPROBES_TEST_HAS_TEXT_POKE		IS_ENABLED(CONFIG_X86)

/* ftrace changes its call sites while other CPUs run, without stop_machine(). */
#define KPROBES_TEST_HAS_LIVE_FTRACE		\
	(IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_ARM64) || IS_ENABLED(CONFIG_PPC))

/* Watchpoints trap after the access, so nobody has to step over it. */
#define KPROBES_TEST_HAS_LATE_WATCHPOINTS	\
	(IS_ENABLED(CONFIG_HAVE_HW_BREAKPOINT) && IS_ENABLED(CONFIG_X86))

/* Handling a breakpoint takes no lock, so the functions of locks can be probed. */
#define KPROBES_TEST_HAS_LOCKLESS_TRAPS		(!IS_ENABLED(CONFIG_ARM))

/*
 * Probes inside a load-reserved/store-conditional sequence are refused. Elsewhere the
 * trap makes the store fail, and the sequence is retried forever.
 */
#define KPROBES_TEST_HAS_SAFE_ATOMICS		(!IS_ENABLED(CONFIG_RISCV))

/* A pre handler that returns 0 cannot redirect, whatever it does to the registers. */
#define KPROBES_TEST_HAS_IGNORED_IP		IS_ENABLED(CONFIG_X86)

/* The status is KPROBE_HIT_SSDONE while post handlers run. */
#define KPROBES_TEST_HAS_STATUS_IN_POST		(!IS_ENABLED(CONFIG_PPC))

/* Probed instructions may be preempted while they execute out of line. */
#define KPROBES_TEST_HAS_PREEMPTIBLE_STEPS	\
	(IS_ENABLED(CONFIG_X86) && IS_ENABLED(CONFIG_PREEMPTION))

/* Return handlers see all registers, as they were at the return. */
#define KPROBES_TEST_HAS_RETURN_REGS		\
	(IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_ARM64) || IS_ENABLED(CONFIG_PPC))

/* ... at least the stack pointer. */
#define KPROBES_TEST_HAS_RETURN_SP		\
	(!IS_ENABLED(CONFIG_ARM) || IS_ENABLED(CONFIG_FRAME_POINTER))

/* There is regs_set_return_value(). */
#define KPROBES_TEST_HAS_SET_RETURN_VALUE	\
	(IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_ARM64) || \
	 IS_ENABLED(CONFIG_PPC) || IS_ENABLED(CONFIG_RISCV))

/* The function that switches tasks refuses kretprobes, as it returns in another task. */
#define KPROBES_TEST_HAS_REFUSED_SWITCH		IS_ENABLED(CONFIG_X86)

/* return_kunit.c has assembly code that leaves a function as by longjmp(). */
#define KPROBES_TEST_HAS_LONGJMP		IS_ENABLED(CONFIG_X86_64)

/* The unwinder knows exactly which words of a stack are return addresses. */
#define KPROBES_TEST_HAS_EXACT_TRACES		\
	(IS_ENABLED(CONFIG_KRETPROBE_NATIVE) && \
	 (IS_ENABLED(CONFIG_UNWINDER_ORC) || IS_ENABLED(CONFIG_UNWINDER_FRAME_POINTER)))

/* ... and finds the caller before the function has set up its frame. */
#define KPROBES_TEST_HAS_CALLER_AT_ENTRY	\
	(!IS_ENABLED(CONFIG_X86) || !IS_ENABLED(CONFIG_UNWINDER_FRAME_POINTER))

/* Bytes of the stack that a hit may use, besides a struct pt_regs. */
#if IS_ENABLED(CONFIG_KASAN)
#define KPROBES_TEST_STACK_OF_HIT	2048
#elif IS_ENABLED(CONFIG_PPC)
#define KPROBES_TEST_STACK_OF_HIT	1280
#else
#define KPROBES_TEST_STACK_OF_HIT	768
#endif

#endif /* _LINUX_KPROBES_TEST_H */
