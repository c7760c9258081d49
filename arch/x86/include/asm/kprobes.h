/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_KPROBES_H
#define _ASM_X86_KPROBES_H

#include <linux/types.h>
#include <asm-generic/kprobes.h>

#ifdef CONFIG_KPROBES

#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/text-patching.h>
#include <asm/insn.h>
#include <asm/kprobes-test.h>

struct kprobe;
struct optimized_kprobe;

typedef u8 kprobe_opcode_t;

/* Instruction slots, which the core fills, arming in batches, and its callback for detours. */
#define __ARCH_WANT_KPROBES_INSN_SLOT
#define __ARCH_WANT_KPROBES_COPY
#define __ARCH_WANT_KPROBES_BATCH
#define __ARCH_WANT_KPROBES_DETOUR

/* At a site of ftrace, handlers see what they would see after a breakpoint. */
#define arch_kprobe_ftrace_regs(fregs)	(&arch_ftrace_regs(fregs)->regs)
#define KPROBE_FTRACE_IP		INT3_INSN_SIZE

/*
 * A slot has two copies of the instruction, each large enough for any: one
 * that jumps back by itself, and one that ends with a breakpoint.
 */
#define KPROBE_STEP_OFFSET		24
#define KPROBE_INSN_SLOT_SIZE		40
#define KPROBE_TRAP			INT3_INSN_OPCODE

/* exc_int3() begins with irqentry_nmi_enter(). */
#define KPROBE_TRAP_IS_WATCHED	1

extern const int kretprobe_blacklist_size;

/* Direct branches are found in the text. */
#define arch_kprobe_for_each_branch	arch_kprobe_for_each_branch

/*
 * A jump replaces the instructions that begin in its five bytes; a detour has
 * room for their copies, which may be longer than they are.
 */
#define KPROBE_MAX_REPLACED		JMP32_INSN_SIZE
#define MAX_OPTIMIZED_LENGTH		(JMP32_INSN_SIZE - 1 + MAX_INSN_SIZE)
#define MAX_OPTINSN_SIZE		sizeof(struct kprobe_detour)

/**
 * struct kprobe_detour - a slot for a detour, which stays as it is until it is freed
 * @code: what is executed
 * @text: the original text
 * @padding: the original text at the hop, if there is one
 * @from: offset of each instruction with a copy from the probe
 * @to: offset of its copy
 */
struct kprobe_detour {
	kprobe_opcode_t	code[192];
	u8		text[MAX_OPTIMIZED_LENGTH];
	u8		padding[JMP32_INSN_SIZE];
	u8		from[KPROBE_MAX_REPLACED];
	u8		to[KPROBE_MAX_REPLACED];
} __aligned(16);

/**
 * struct arch_optimized_insn - a detour
 * @insn: the detour, NULL if there is none
 * @detour: the same
 * @hop: address of the hop, which is a jump to the detour; 0 if there is none. 32 bits suffice:
 *	 kernel text is in the top 2 GiB
 * @size: length of all instructions that the jump replaces
 * @nr: how many of them have a copy
 * @end: offset of the end of the copies
 * @jump: length of the jump: two bytes if it goes to a hop
 * @of_return: the detour has been made for a return probe
 */
struct arch_optimized_insn {
	union {
		kprobe_opcode_t			*insn;
		const struct kprobe_detour	*detour;
	};
	s32	hop;
	u8	size;
	u8	nr;
	u8	end;
	u8	jump : 7;
	bool	of_return : 1;
};

/**
 * struct arch_specific_insn - a decoded instruction
 * @insn: its slot; NULL if it is only ever emulated
 * @value: constant operand: the target of a branch, an immediate, a
 *	   displacement, or the number of bytes that a return pops
 * @op: how it is executed, enum kprobe_op
 * @len: its length
 * @boost: the slot has a copy that jumps back
 * @width: bytes of the operand, or of the counter
 * @sub: condition code, or number of the ALU operation
 * @dst: destination; registers are offsets in struct pt_regs
 * @src: source, or base of an address
 * @index: index of an address
 * @shift: log2 of the scale of the index
 */
struct arch_specific_insn {
	kprobe_opcode_t	*insn;
	long		value;
	u8		op;
	u8		len;
	bool		boost;
	u8		width;
	u8		sub;
	u8		dst;
	u8		src;
	u8		index;
	u8		shift;
};

/* Variables of the CPU are addressed through its segment. */
#define KPROBE_CPU_DIRECT

/*
 * A step masks all but NMIs. Both may fault, and handling the fault may step another probe: four
 * steps, and up to six handlers outside of them.
 */
#define KPROBE_MAX_NESTING	10

/* The exception is entered as an NMI. */
#define KPROBE_TRAP_CONTEXT	HARDIRQ_OFFSET

/**
 * struct arch_kprobe_step - what a step saves
 * @flags: the interrupt flag of the program
 * @post_regs: registers of the hit, while its post handlers run
 */
struct arch_kprobe_step {
	unsigned long	flags;
	struct pt_regs	*post_regs;
};

/**
 * struct kprobe_detour_place - an address in a detour, for unwinders
 * @regs: a struct pt_regs is at the stack pointer; the other fields are unused
 * @ip: the address of the program that the place in the detour corresponds to
 * @pushed: bytes that are on the stack in addition to those at @ip
 * @template: or, if not 0, an address of a template with the same stack
 */
struct kprobe_detour_place {
	bool		regs;
	unsigned long	ip;
	unsigned int	pushed;
	unsigned long	template;
};

bool kprobe_detour_place(unsigned long ip, struct kprobe_detour_place *place);

#ifdef CONFIG_OPTPROBES
void kprobe_avoid_jump(struct pt_regs *regs);
#define arch_kprobe_ftrace_redirect kprobe_avoid_jump
#else
static __always_inline void kprobe_avoid_jump(struct pt_regs *regs) { }
#endif

unsigned long kprobe_unwind_ip(unsigned long ip);
unsigned long kprobe_unwind_trap_ip(unsigned long ip, const struct pt_regs *regs);
int kprobe_int3_handler(struct pt_regs *regs);
int kprobe_fault_handler(struct pt_regs *regs, int trapnr);

#endif /* CONFIG_KPROBES */

/* For unwinders, with or without probes. */
#ifdef CONFIG_OPTPROBES
struct optimized_kprobe *kprobe_hop_owner(unsigned long addr);
bool kprobe_is_detour_text(unsigned long addr);
#else
static inline bool kprobe_is_detour_text(unsigned long addr) { return false; }
#endif

#endif /* _ASM_X86_KPROBES_H */
