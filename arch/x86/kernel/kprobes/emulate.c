// SPDX-License-Identifier: GPL-2.0-only
/*
 * Emulates instructions that cannot be executed out of line, and those for which that would be
 * too slow. Part of the hit path.
 */

#include <linux/bits.h>
#include <linux/kprobes.h>
#include <linux/text-patching.h>

#include <asm/processor-flags.h>

#include "common.h"

#define ARITHMETIC_FLAGS (X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |	\
			  X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)

/* What POPF can change; it clears RF, and leaves VM, VIF and VIP alone. */
#define POPF_FLAGS	(ARITHMETIC_FLAGS | X86_EFLAGS_TF | X86_EFLAGS_IF |	\
			 X86_EFLAGS_DF | X86_EFLAGS_IOPL | X86_EFLAGS_NT |	\
			 X86_EFLAGS_AC | X86_EFLAGS_ID)

static nokprobe_inline unsigned long *reg_at(struct pt_regs *regs, u8 offset)
{
	return (void *)regs + offset;
}

/* A 32-bit result clears the upper half. */
static nokprobe_inline void reg_write(struct pt_regs *regs,
				      const struct arch_specific_insn *a,
				      unsigned long value)
{
	*reg_at(regs, a->dst) = a->width == 4 ? (u32)value : value;
}

/* Let the CPU compute the flags. */
#define ALU(insn, dst, src, flags)					\
	asm(insn " %[s], %[d]\n\tpushf\n\tpop %[f]"			\
	    : [d] "+r" (dst), [f] "=r" (flags)				\
	    : [s] "r" (src) : "cc", "memory")

#define DEFINE_ALU(width, type, suffix)					\
static nokprobe_inline unsigned long					\
alu##width(u8 sub, unsigned long a, unsigned long b, unsigned long *flags) \
{									\
	type dst = a, src = b;						\
									\
	switch (sub) {							\
	case KPROBE_ALU_ADD:						\
		ALU("add" suffix, dst, src, *flags);			\
		break;							\
	case KPROBE_ALU_OR:						\
		ALU("or" suffix, dst, src, *flags);			\
		break;							\
	case KPROBE_ALU_AND:						\
	case KPROBE_ALU_TEST:						\
		ALU("and" suffix, dst, src, *flags);			\
		break;							\
	case KPROBE_ALU_XOR:						\
		ALU("xor" suffix, dst, src, *flags);			\
		break;							\
	case KPROBE_ALU_SUB:						\
	case KPROBE_ALU_CMP:						\
		ALU("sub" suffix, dst, src, *flags);			\
		break;							\
	}								\
									\
	return dst;							\
}

DEFINE_ALU(32, u32, "l")
#ifdef CONFIG_X86_64
DEFINE_ALU(64, u64, "q")
#else
/* No operand is that wide. */
#define alu64	alu32
#endif

static nokprobe_inline void emulate_alu(const struct arch_specific_insn *a,
					struct pt_regs *regs, unsigned long src)
{
	unsigned long dst = *reg_at(regs, a->dst), flags = 0;

	if (IS_ENABLED(CONFIG_X86_64) && a->width == 8)
		dst = alu64(a->sub, dst, src, &flags);
	else
		dst = alu32(a->sub, dst, src, &flags);

	regs->flags = (regs->flags & ~ARITHMETIC_FLAGS) | (flags & ARITHMETIC_FLAGS);
	if (a->sub < KPROBE_ALU_CMP)
		reg_write(regs, a, dst);
}

static nokprobe_inline unsigned long lea(const struct arch_specific_insn *a,
					 struct pt_regs *regs)
{
	unsigned long ea = a->value;

	if (a->src != KPROBE_NO_REG)
		ea += *reg_at(regs, a->src);
	if (a->index != KPROBE_NO_REG)
		ea += *reg_at(regs, a->index) << a->shift;
	return ea;
}

/* The part of CX that an instruction counts in. */
static nokprobe_inline unsigned long counter_mask(const struct arch_specific_insn *a)
{
	return GENMASK(a->width * BITS_PER_BYTE - 1, 0);
}

/* Decrements the counter, and returns true if the loop continues. The flags do not change. */
static nokprobe_inline bool loops(const struct arch_specific_insn *a,
				  struct pt_regs *regs)
{
	unsigned long mask = counter_mask(a), count = (regs->cx - 1) & mask;

	/* Only a counter of 16 bits leaves the rest of the register as it is. */
	regs->cx = a->width == 2 ? (regs->cx & ~mask) | count : count;

	if (!count)
		return false;
	if (a->op == KPROBE_OP_LOOP)
		return true;
	return !(regs->flags & X86_EFLAGS_ZF) == (a->op == KPROBE_OP_LOOPNE);
}

static nokprobe_inline void emulate_pushf(const struct arch_specific_insn *a,
					  struct pt_regs *regs)
{
	unsigned long image = regs->flags & ~(X86_EFLAGS_RF | X86_EFLAGS_VM);

	if (a->width == 2) {
		regs->sp -= 2;
		*(u16 *)regs->sp = image;
	} else {
		int3_emulate_push(regs, image);
	}
}

static nokprobe_inline void emulate_popf(const struct arch_specific_insn *a,
					 struct pt_regs *regs)
{
	unsigned long changes = POPF_FLAGS, image;

	if (a->width == 2) {
		image = *(u16 *)regs->sp;
		regs->sp += 2;
		changes &= 0xffff;
	} else {
		image = int3_emulate_pop(regs);
	}

	regs->flags &= ~(changes | X86_EFLAGS_RF);
	regs->flags |= image & changes;
}

/*
 * kprobe_op_is_emulated() is true for @p. The breakpoint exception has left room on the stack for
 * one word to be pushed.
 */
void kprobe_emulate(const struct kprobe *p, struct pt_regs *regs)
{
	const struct arch_specific_insn *a = &p->ainsn;
	unsigned long next = (unsigned long)p->addr + a->len;
	unsigned long target;

	regs->ip = next;

	switch (a->op) {
	case KPROBE_OP_NOP:
		return;
	case KPROBE_OP_PUSH:
		int3_emulate_push(regs, *reg_at(regs, a->src));
		return;
	case KPROBE_OP_POP:
		/* The stack pointer may itself be what is popped. */
		target = int3_emulate_pop(regs);
		*reg_at(regs, a->dst) = target;
		return;
	case KPROBE_OP_MOV:
		reg_write(regs, a, *reg_at(regs, a->src));
		return;
	case KPROBE_OP_MOV_IMM:
		reg_write(regs, a, a->value);
		return;
	case KPROBE_OP_LEA:
		reg_write(regs, a, lea(a, regs));
		return;
	case KPROBE_OP_ALU:
		emulate_alu(a, regs, *reg_at(regs, a->src));
		return;
	case KPROBE_OP_ALU_IMM:
		emulate_alu(a, regs, a->value);
		return;
	case KPROBE_OP_JCC:
		int3_emulate_jcc(regs, a->sub, next, a->value - next);
		return;
	case KPROBE_OP_JMP:
		regs->ip = a->value;
		return;
	case KPROBE_OP_CALL:
		int3_emulate_push(regs, next);
		regs->ip = a->value;
		return;
	case KPROBE_OP_CALL_REG:
		target = *reg_at(regs, a->src);
		int3_emulate_push(regs, next);
		regs->ip = target;
		return;
	case KPROBE_OP_JMP_REG:
		regs->ip = *reg_at(regs, a->src);
		return;
	case KPROBE_OP_RET:
		int3_emulate_ret(regs);
		regs->sp += a->value;
		return;
	case KPROBE_OP_LOOPNE:
	case KPROBE_OP_LOOPE:
	case KPROBE_OP_LOOP:
		if (loops(a, regs))
			regs->ip = a->value;
		return;
	case KPROBE_OP_JCXZ:
		if (!(regs->cx & counter_mask(a)))
			regs->ip = a->value;
		return;
	case KPROBE_OP_CLI:
		regs->flags &= ~X86_EFLAGS_IF;
		return;
	case KPROBE_OP_STI:
		regs->flags |= X86_EFLAGS_IF;
		return;
	case KPROBE_OP_PUSHF:
		emulate_pushf(a, regs);
		return;
	case KPROBE_OP_POPF:
		emulate_popf(a, regs);
		return;
	}
}
NOKPROBE_SYMBOL(kprobe_emulate);
