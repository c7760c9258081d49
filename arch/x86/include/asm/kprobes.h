/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_X86_KPROBES_H
#define _ASM_X86_KPROBES_H

#include <asm-generic/kprobes.h>

#ifdef CONFIG_KPROBES

#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

struct kprobe;
struct optimized_kprobe;

typedef u8 kprobe_opcode_t;

/* Instruction slots, arming in batches, and the core's callback for detours. */
#define __ARCH_WANT_KPROBES_INSN_SLOT
#define __ARCH_WANT_KPROBES_BATCH
#define __ARCH_WANT_KPROBES_DETOUR

/* At a site of ftrace, handlers see what they would see after a breakpoint. */
#define arch_kprobe_ftrace_regs(fregs)	(&arch_ftrace_regs(fregs)->regs)
#define KPROBE_FTRACE_IP		INT3_INSN_SIZE

/*
 * A slot has two copies of the instruction, each large enough for any: one
 * that jumps back by itself, and one that ends with a breakpoint.
 */
#define KPROBE_BOOST_OFFSET		0
#define KPROBE_STEP_OFFSET		24
#define KPROBE_INSN_SLOT_SIZE		40

/* exc_int3() begins with irqentry_nmi_enter(). */
#define KPROBE_TRAP_IS_WATCHED			1

/* Only the copies that jump back run with interrupts on. */
#define KPROBE_SLOT_IS_PREEMPTIBLE	IS_ENABLED(CONFIG_PREEMPTION)

extern const int kretprobe_blacklist_size;

/*
 * A jump replaces the instructions that begin in its five bytes; a detour has
 * room for their copies, which may be longer than they are.
 */
#define KPROBE_MAX_REPLACED		JMP32_INSN_SIZE
#define KPROBE_MAX_PATCH		JMP32_INSN_SIZE
#define MAX_OPTIMIZED_LENGTH		(JMP32_INSN_SIZE - 1 + MAX_INSN_SIZE)
#define MAX_OPTINSN_SIZE		192

/**
 * struct arch_optimized_insn - a detour
 * @insn: the detour, NULL if there is none
 * @text: the original text
 * @size: how much of it there is: all instructions that are replaced
 * @nr: how many of them have a copy
 * @from: where each of these begins, behind the probe
 * @to: where its copy begins in the detour
 * @end: where the copies end there
 * @jump: length of the jump: a short one, of two bytes, goes by a hop
 * @of_return: it has been made for a return probe
 * @hop: where the jump to the detour is that it goes to; 0 if it goes there itself
 * @padding: the original text there
 */
struct arch_optimized_insn {
	kprobe_opcode_t	*insn;
	u8		text[MAX_OPTIMIZED_LENGTH];
	u8		size;
	u8		nr;
	u8		from[KPROBE_MAX_REPLACED];
	u8		to[KPROBE_MAX_REPLACED];
	u8		end;
	u8		jump;
	bool		of_return;
	unsigned long	hop;
	u8		padding[JMP32_INSN_SIZE];
};

/**
 * struct arch_specific_insn - a decoded instruction
 * @insn: its slot; NULL if it is only ever emulated
 * @value: constant operand: the target of a branch, an immediate, a
 *	   displacement, or what a return takes off the stack
 * @op: what to do, enum kprobe_op
 * @len: its length
 * @boost: the slot has a copy that jumps back
 * @width: bytes of the operand, or of the counter
 * @sub: condition code, or number of the ALU operation
 * @dst: destination, as all registers by its offset in struct pt_regs
 * @src: source, or base of an address
 * @index: index of an address
 * @shift: by how much the index is shifted
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

/*
 * A task, an interrupt and an NMI, each with a fault in its step and with a probe that
 * the fault runs into: hits cannot be nested deeper.
 */
#define KPROBE_MAX_NESTING	8

/**
 * struct arch_kprobe_step - what a step saves
 * @flags: the interrupt flag of the program
 */
struct arch_kprobe_step {
	unsigned long	flags;
};

/**
 * struct kprobe_detour_place - an address in a detour, for unwinders
 * @regs: there is a struct pt_regs at the stack pointer; else
 * @ip: it is in the middle of what is done at this place of the program,
 * @pushed: with so many bytes more on the stack;
 * @template: or with so many as at this place, if not 0
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
#define kprobe_avoid_jump kprobe_avoid_jump

/* The end of a detour restores no stack pointer. */
static __always_inline bool arch_detour_is_left(struct pt_regs *regs)
{
	return regs->sp != (unsigned long)(regs + 1);
}

struct optimized_kprobe *kprobe_hop_owner(unsigned long addr);
bool kprobe_is_completion(unsigned long addr);

/* Where a detour is entered from padding. */
static inline bool kprobe_is_hop(unsigned long addr)
{
	return kprobe_hop_owner(addr);
}
#else
static inline bool kprobe_is_hop(unsigned long addr)
{
	return false;
}

static inline bool kprobe_is_completion(unsigned long addr)
{
	return false;
}
#endif
unsigned long kprobe_unwind_ip(unsigned long ip);
unsigned long kprobe_unwind_trap_ip(unsigned long ip);
int kprobe_int3_handler(struct pt_regs *regs);
int kprobe_fault_handler(struct pt_regs *regs, int trapnr);
void arch_remove_kprobe(struct kprobe *p);

/* Text that is written by text_poke() needs no flush. */
static inline void flush_insn_slot(struct kprobe *p)
{
}

#endif /* CONFIG_KPROBES */
#endif /* _ASM_X86_KPROBES_H */
