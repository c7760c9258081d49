/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_ARM64_KPROBES_H
#define _ASM_ARM64_KPROBES_H

#include <linux/types.h>
#include <asm-generic/kprobes.h>

struct pt_regs;

/*
 * Breakpoints of the kernel by their immediate. The exception entry calls these under
 * IS_ENABLED(), so they are declared in any configuration.
 */
int kprobe_brk_handler(struct pt_regs *regs, unsigned long esr);
int kprobe_ss_brk_handler(struct pt_regs *regs, unsigned long esr);

#ifdef CONFIG_KPROBES

#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <asm/debug-monitors.h>
#include <asm/insn.h>
#include <asm/kprobes-test.h>
#include <asm/probes.h>
#include <asm/sections.h>

struct kprobe;

/* Instruction slots, which the core fills, and arming in batches. */
#define __ARCH_WANT_KPROBES_INSN_SLOT
#define __ARCH_WANT_KPROBES_COPY
#define __ARCH_WANT_KPROBES_BATCH

#define MAX_INSN_SIZE			1

/*
 * A slot has two copies of the instruction: one that branches back by itself, and one
 * that returns to the handler of the breakpoint, or ends with another breakpoint if the
 * handler cannot call it. Slots are aligned to their size.
 */
#define KPROBE_STEP_OFFSET		8
#define KPROBE_INSN_SLOT_SIZE		16

/* Modules may be 2 GiB from the kernel. Both are in vmalloc memory, or below it. */
#define KPROBE_BRANCH_RANGE		SZ_128M
#define KPROBE_PAGES_START		MODULES_VADDR
#define KPROBE_PAGES_END		VMALLOC_END
#define KPROBE_PAGES_PROT		PAGE_KERNEL

#define KPROBE_BREAKPOINT		BRK64_OPCODE_KPROBES
#define KPROBE_TRAP			AARCH64_BREAK_FAULT

/* Instructions are always little-endian. */
#define arch_text_word(word)		le32_to_cpu((__force __le32)(word))

/*
 * el1_brk64() begins with arm64_enter_el1_dbg(). Between the two exceptions of a step, RCU might
 * not be watching. But the step runs with all interrupts masked, and disarming, which interrupts
 * or stops all CPUs, waits for it. RCU watches again from the entry of the second exception on.
 */
#define KPROBE_TRAP_IS_WATCHED		1

extern const int kretprobe_blacklist_size;

/* Direct branches are found in the text. */
#define arch_kprobe_for_each_branch	arch_kprobe_for_each_branch

/*
 * A step masks interrupts and pseudo-NMIs. But it may fault, and handling the fault may step
 * another probe. A normal event of the firmware (SDEI) may interrupt these two steps, and a
 * critical event may interrupt that one; each may add two steps in the same way. So there are at
 * most six steps, and up to four handlers outside of them.
 */
#define KPROBE_MAX_NESTING		10

/**
 * struct arch_kprobe_step - what a step saves: the interrupt masks of the program
 * @daif: those in PSTATE
 * @pmr: the priority mask, with pseudo-NMI
 */
struct arch_kprobe_step {
	unsigned long	daif;
	u32		pmr;
};

/*
 * A detour has at most ten instructions and three literals. The end of a detour
 * restores all registers but the stack pointer, which no handler can change.
 */
#define __ARCH_WANT_KPROBES_DETOUR
#define MAX_OPTIMIZED_LENGTH		4
#define MAX_OPTINSN_SIZE		16

/**
 * struct arch_optimized_insn - a detour
 * @insn: the detour, NULL if there is none
 */
struct arch_optimized_insn {
	kprobe_opcode_t	*insn;
};

int kprobe_fault_handler(struct pt_regs *regs, unsigned int esr);

#endif /* CONFIG_KPROBES */

/* For faults and unwinders, with or without probes. */
#ifdef CONFIG_KPROBES
void kprobe_leave_slot(struct pt_regs *regs);
unsigned long kprobe_unwind_pc(unsigned long pc, const struct pt_regs *regs);
#else
static inline void kprobe_leave_slot(struct pt_regs *regs) { }

static inline unsigned long kprobe_unwind_pc(unsigned long pc, const struct pt_regs *regs)
{
	return pc;
}
#endif

#endif /* _ASM_ARM64_KPROBES_H */
