/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the benchmark needs to know of an architecture:
 *
 * bench_clock()	advances by one for each guest instruction under "-icount shift=0"
 * bench_is_jump()	is there the jump of an optimized probe?
 * BENCH_LANDING	what each function starts with, not counted as its first
 *			instruction, and its size
 * BENCH_STEPPED	an instruction that the base steps
 * BENCH_QUICK		one that it need not step, with room for an optimized probe, and
 *			what it does instead: the names of rows
 * BENCH_KEPT		one that both kernels step, if the probe has a post handler
 * BENCH_OPTIMIZED	which function has the optimized probe: bench_stepped or bench_quick
 * BENCH_RETURN		what it does with the instruction at the entry of BENCH_QUICK,
 *			where the return probe is
 * BENCH_SYNC		the function that makes all CPUs serialize, as far as jumps need it
 * BENCH_SYNC_ARGUMENT	only its calls with this function as the second argument count;
 *			NULL if all do
 * BENCH_STOP		the function that stops all CPUs while text is changed; NULL if there
 *			is none
 *
 * These have a default:
 *
 * BENCH_RET		the return from a function
 * BENCH_OF_KERNEL	a function of the kernel that takes any arguments, does nothing with
 *			memory, and whose probe is optimized by both kernels, also where
 *			only one gives modules jumps
 * BENCH_JUMPS_IN_MODULES	are probes in modules optimized?
 * BENCH_SITE		how far the site of ftrace is from the entry of a function, where a
 *			probe by name is
 * BENCH_BEGIN(name)	the label of a function, with what its ABI needs beside it, ...
 * BENCH_END(name)	... and what follows its code
 */
#ifndef _KPROBE_BENCH_ARCH_H
#define _KPROBE_BENCH_ARCH_H

#include <linux/types.h>

#include <asm/sections.h>

#if defined(CONFIG_X86)

#include <asm/asm.h>
#include <asm/msr.h>

#ifdef CONFIG_X86_64
#define BENCH_LANDING		"endbr64"
#define BENCH_LANDING_SIZE	4
#define BENCH_QUICK		"mov %rdi, %rax; nop; nop; nop; nop"
#else
#define BENCH_LANDING		""
#define BENCH_LANDING_SIZE	0
#define BENCH_QUICK		"mov %edx, %eax; nop; nop; nop; nop"
#endif
/* With an immediate bit number, a common form that the base steps. */
#define BENCH_STEPPED		"btl $3, %eax"
#define BENCH_QUICK_NAME	"boosted"
/* With a fixup, as accesses to user memory have it. */
#define BENCH_KEPT		"1: mov (%" _ASM_SP "), %" _ASM_AX "\n2:\n" _ASM_EXTABLE(1b, 2b)
#define BENCH_OPTIMIZED		bench_quick
/* Where there is a landing pad, the base moves the probe to after it. */
#define BENCH_RETURN_NAME	"boosted"

#define BENCH_SYNC		"on_each_cpu_cond_mask"
#define BENCH_SYNC_ARGUMENT	"do_sync_core"
#define BENCH_STOP		NULL

static inline u64 bench_clock(void)
{
	return rdtsc();
}

static inline bool bench_is_jump(void *addr)
{
	u8 first = READ_ONCE(*(u8 *)addr);

	return first == 0xe9 || first == 0xeb;
}

#elif defined(CONFIG_ARM64)

#include <linux/timekeeping.h>

#define BENCH_LANDING		"bti c"
#define BENCH_LANDING_SIZE	4
#define BENCH_STEPPED		"add x0, x0, #1"
#define BENCH_KEPT		"ldr xzr, [sp]"
#define BENCH_QUICK		"adr x0, ."
#define BENCH_QUICK_NAME	"simulated"
#define BENCH_OPTIMIZED		bench_stepped
/* The landing pad itself. */
#define BENCH_RETURN_NAME	"stepped"

#define BENCH_SYNC		"kick_all_cpus_sync"
#define BENCH_SYNC_ARGUMENT	NULL
#define BENCH_STOP		"stop_machine_cpuslocked"

/* The counter is coarser; calls of a loop make up for that. */
static inline u64 bench_clock(void)
{
	return ktime_get_raw_fast_ns();
}

/* None of the functions that are probed has a branch there. */
static inline bool bench_is_jump(void *addr)
{
	return (le32_to_cpu(READ_ONCE(*(__le32 *)addr)) & 0xfc000000) == 0x14000000;
}

#elif defined(CONFIG_PPC)

#include <asm/extable.h>
#include <asm/reg.h>
#include <linux/timekeeping.h>

#define BENCH_LANDING		""
#define BENCH_LANDING_SIZE	0
/* The base emulates what uses general registers only. */
#define BENCH_STEPPED		"mfpvr 3"
#define BENCH_QUICK		"addi 3, 3, 1"
#define BENCH_QUICK_NAME	"boosted"
/* With a fixup, as accesses to user memory have it. */
#define BENCH_KEPT		"1: mfpvr 3\n2:\n" EX_TABLE(1b, 2b)
#define BENCH_OPTIMIZED		bench_quick
#define BENCH_RETURN_NAME	"boosted"
#define BENCH_RET		"blr"
/* Arithmetic, called by compiled code only. */
extern void __bswapdi2(void);
#define BENCH_OF_KERNEL		__bswapdi2
/* The base has no memory for detours near modules, except on some processors of 32 bits. */
#define BENCH_JUMPS_IN_MODULES	IS_ENABLED(CONFIG_KRETPROBE_NATIVE)
/* A probe by name is where the return address has not been moved yet. */
#define BENCH_SITE		(IS_ENABLED(CONFIG_PPC32) ? 4 : 0)

#ifdef CONFIG_PPC64_ELF_ABI_V1
#define BENCH_BEGIN(name)						\
	".pushsection .opd, \"aw\"\n"					\
	".balign 8\n"							\
	".globl " #name "\n"						\
	#name ": .quad ." #name ", .TOC.@tocbase, 0\n"			\
	".popsection\n"							\
	".globl ." #name "\n"						\
	".type ." #name ", %function\n"					\
	"." #name ":\n"
#define BENCH_END(name)		".size ." #name ", . - ." #name "\n"
#endif

#define BENCH_SYNC		"on_each_cpu_cond_mask"
#define BENCH_SYNC_ARGUMENT	NULL
#define BENCH_STOP		NULL

/* The timebase is coarser; calls of a loop make up for that. */
static inline u64 bench_clock(void)
{
	return ktime_get_raw_fast_ns();
}

/* None of the functions that are probed has a branch there. */
static inline bool bench_is_jump(void *addr)
{
	return (READ_ONCE(*(u32 *)addr) & 0xfc000003) == 0x48000000;
}

#endif

#ifndef BENCH_RET
#define BENCH_RET		"ret"
#endif
#ifndef BENCH_JUMPS_IN_MODULES
#define BENCH_JUMPS_IN_MODULES	true
#endif

#ifndef BENCH_SITE
#define BENCH_SITE		0
#endif
#ifndef BENCH_BEGIN
#define BENCH_BEGIN(name)						\
	".globl " #name "\n"						\
	".type " #name ", %function\n"					\
	#name ":\n"
#define BENCH_END(name)		".size " #name ", . - " #name "\n"
#endif
/* Are there sites of ftrace where probes by name are? */
#define BENCH_ENTRIES_ON_FTRACE	(IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) && !BENCH_SITE)

/* The code of a function. */
#define bench_code(fn)	dereference_function_descriptor((void *)(fn))

/* A function that consists of such an instruction, and returns. */
#define BENCH_FUNCTION(name, insn)					\
asm(".pushsection .text, \"ax\"\n"					\
    ".balign 16\n"							\
    BENCH_BEGIN(name)							\
    "	" BENCH_LANDING "\n"						\
    "	" insn "\n"							\
    "	" BENCH_RET "\n"							\
    BENCH_END(name)							\
    ".popsection\n");							\
void name(void)

#endif /* _KPROBE_BENCH_ARCH_H */
