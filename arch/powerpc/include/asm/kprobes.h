/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_POWERPC_KPROBES_H
#define _ASM_POWERPC_KPROBES_H

#include <asm-generic/kprobes.h>

/* Other headers and files rely on these, also without CONFIG_KPROBES. */
#include <linux/types.h>
#include <linux/ptrace.h>
#include <linux/percpu.h>
#include <linux/module.h>
#include <linux/text-patching.h>
#include <asm/probes.h>

struct kprobe;
struct optimized_kprobe;

#ifdef CONFIG_KPROBES

#include <asm/kprobes-test.h>
#include <asm/kup.h>

typedef u32 kprobe_opcode_t;

/* Instruction slots, which the core fills, and its callback for detours. */
#define __ARCH_WANT_KPROBES_INSN_SLOT
#define __ARCH_WANT_KPROBES_COPY
#define __ARCH_WANT_KPROBES_DETOUR

/* A prefixed instruction has two words. */
#define MAX_INSN_SIZE			2

/*
 * A copy of the instruction, and a branch back to the program or a trap. Copies are aligned to
 * their size, so no prefixed one crosses a boundary of 64 bytes.
 */
#ifdef CONFIG_PPC64
#define KPROBE_INSN_COPY_SIZE		16
#else
#define KPROBE_INSN_COPY_SIZE		8
#endif

/*
 * On BookE, a step ends with the trap after its copy. So a slot has two copies, and only the
 * first one may branch back.
 */
#ifdef CONFIG_BOOKE
#define KPROBE_INSN_SLOT_SIZE		(2 * KPROBE_INSN_COPY_SIZE)
#define KPROBE_STEP_OFFSET		KPROBE_INSN_COPY_SIZE
#else
#define KPROBE_INSN_SLOT_SIZE		KPROBE_INSN_COPY_SIZE
#define KPROBE_STEP_OFFSET		0
#endif

/* Pages for modules come from where mappings are executable; pages.c has those for the kernel. */
#define KPROBE_BRANCH_RANGE		SZ_32M
#ifdef MODULES_VADDR
#define KPROBE_PAGES_START		MODULES_VADDR
#define KPROBE_PAGES_END		MODULES_END
#else
#define KPROBE_PAGES_START		VMALLOC_START
#define KPROBE_PAGES_END		VMALLOC_END
#endif
#define KPROBE_PAGES_PROT							\
	(strict_module_rwx_enabled() ? PAGE_KERNEL_ROX : PAGE_KERNEL_EXEC)

#define KPROBE_BREAKPOINT		BREAKPOINT_INSTRUCTION
#define KPROBE_TRAP			BREAKPOINT_INSTRUCTION

extern const int kretprobe_blacklist_size;

/* Direct branches are found in the text. */
#define arch_kprobe_for_each_branch	arch_kprobe_for_each_branch

/* At a site of ftrace, handlers see the address of the site, as they do at a breakpoint. */
#define arch_kprobe_ftrace_regs(fregs)	(&arch_ftrace_regs(fregs)->regs)

/*
 * With livepatch, ftrace takes a changed nip for the address of a new function. It pushes LR and
 * the TOC pointer on the livepatch stack, and pops them when that function returns. After a
 * redirection to the caller, nothing returns there. Without livepatch, a site that is out of line
 * does not restore LR before it branches to a changed nip.
 */
#if defined(CONFIG_LIVEPATCH_64) || defined(CONFIG_PPC_FTRACE_OUT_OF_LINE)
void arch_kprobe_ftrace_redirect(struct pt_regs *regs);
#define arch_kprobe_ftrace_redirect arch_kprobe_ftrace_redirect
#endif

/*
 * Task, NMI and machine check can each be stepping a probe, take a fault in the step, and step
 * another probe while handling it: six steps, and up to four handlers outside of them.
 */
#define KPROBE_MAX_NESTING		10

/**
 * struct arch_kprobe_step - what a step saves
 * @msr: the machine state of the program
 * @softe: its soft interrupt mask, on 64 bits
 */
struct arch_kprobe_step {
	unsigned long	msr;
	unsigned long	softe;
};

/**
 * struct arch_specific_insn - a decoded instruction
 * @insn: its slot; NULL at a site of ftrace
 * @suffix: its second word, if it is prefixed
 * @len: its length in bytes
 * @boost: the copy in the slot branches back
 * @emulate: the handler of the breakpoint can execute it, unless it faults
 * @soft_mask: whether it accesses the soft interrupt mask, and how; enum kprobe_soft_mask
 */
struct arch_specific_insn {
	kprobe_opcode_t	*insn;
	u32		suffix;
	u8		len;
	bool		boost;
	bool		emulate;
	u8		soft_mask;
};

/*
 * A branch replaces one word, which is all or the first half of an instruction. A detour has at
 * most 14 words and the address of its probe.
 */
#define MAX_OPTIMIZED_LENGTH		4
#define MAX_OPTINSN_SIZE		16

/* The start of each page of detours has the code that they share; see detour_head.S. */
#ifdef CONFIG_PPC64
#define KPROBE_OPTINSN_HEAD_SIZE	1024
#else
#define KPROBE_OPTINSN_HEAD_SIZE	576
#endif

/**
 * struct arch_optimized_insn - a detour
 * @insn: the detour, NULL if there is none
 * @call: the C code that its head calls
 */
struct arch_optimized_insn {
	kprobe_opcode_t	*insn;
	unsigned long	call;
};

/*
 * The back chain of kprobe_detour_callback() leads to the frame of the detour, which has the
 * registers. This is only valid after a call: before one, the compiler may have deferred the
 * prologue.
 */
static __always_inline struct pt_regs *arch_detour_regs(struct pt_regs *regs)
{
	unsigned long frame = *(unsigned long *)current_stack_pointer;

	return (struct pt_regs *)(frame + STACK_INT_FRAME_REGS);
}

#define arch_detour_regs arch_detour_regs

/*
 * A detour or a return trampoline may be entered between user_access_begin() and user_access_end().
 * Handlers must not inherit the access, as they do not at a breakpoint, nor may a task that
 * preempts this one. The uaccess helpers do not nest, so the state is saved here.
 */
static __always_inline void arch_handlers_begin(struct pt_regs *regs)
{
#ifdef CONFIG_PPC64
	/* Until preemption was disabled, the task could migrate. */
	regs->gpr[13] = (unsigned long)local_paca;
#endif
#ifdef CONFIG_PPC_KUAP
	regs->kuap = prevent_user_access_nested();
#endif
}

#define arch_handlers_begin arch_handlers_begin

static __always_inline void arch_handlers_end(struct pt_regs *regs)
{
#ifdef CONFIG_PPC_KUAP
	restore_user_access_nested(regs->kuap);
#endif
}

#define arch_handlers_end arch_handlers_end

int kprobe_handler(struct pt_regs *regs);
int kprobe_post_handler(struct pt_regs *regs);
int kprobe_fault_handler(struct pt_regs *regs, int trapnr);
bool kprobe_bad_page_fault(struct pt_regs *regs);

#else /* !CONFIG_KPROBES */

static inline int kprobe_handler(struct pt_regs *regs) { return 0; }
static inline int kprobe_post_handler(struct pt_regs *regs) { return 0; }
static inline bool kprobe_bad_page_fault(struct pt_regs *regs) { return false; }

#endif /* CONFIG_KPROBES */

#endif /* _ASM_POWERPC_KPROBES_H */
