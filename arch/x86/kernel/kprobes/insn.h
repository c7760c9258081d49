/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instructions: the names of their encodings, what they are, and how they are read from the text.
 * Where <asm/text-patching.h> has a name for an opcode, that one is used.
 */
#ifndef _X86_KERNEL_KPROBES_INSN_H
#define _X86_KERNEL_KPROBES_INSN_H

#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/text-patching.h>
#include <linux/types.h>
#include <linux/unaligned.h>

#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/nops.h>

/* Legacy prefixes. */
#define PREFIX_LOCK	0xf0
#define PREFIX_REPNE	0xf2
#define PREFIX_REP	0xf3
#define PREFIX_OPND	0x66	/* 16-bit operands */

/* Some opcodes contain a condition code, or the number of a register. */
#define OP_CC		0x0f
#define OP_REG		0x07

/*
 * Opcodes of one byte; I32 and I8 tell the size of an immediate operand. Opcodes that only one
 * place needs have no name: a comment there says what they are.
 */
#define OP_ESCAPE	0x0f	/* two-byte opcodes */
#define OP_PUSH_I32	0x68
#define OP_GRP1_I32	0x81
#define OP_GRP1_I8	0x83
#define OP_LEA		0x8d
#define OP_GRP1A	0x8f
#define OP_MOV_RI	0xb8	/* + register */
#define OP_GRP11	0xc7
#define OP_JMP_FAR	0xea
#define OP_GRP5		0xff

/* Arithmetic: the opcode holds the form of the operands and the operation, enum kprobe_alu. */
#define OP_ALU_MR	0x01
#define OP_ALU_RM	0x03
#define OP_ALU_AX_I	0x05
#define OP_ALU_FORM	0xc7
#define OP_ALU_SHIFT	3

/* Opcodes of two bytes: the one that follows OP_ESCAPE. */
#define OP2_JCC32	0x80	/* + condition */
#define OP2_UD1		0xb9

#define JCC32_INSN_SIZE		6
#define PUSH_I32_INSN_SIZE	5

/* In groups of instructions, the reg field of ModRM extends the opcode. */
#define GRP1A_POP	0
#define GRP5_JMP	4
#define GRP5_PUSH	6

/* In the register form of group 11, all of ModRM does. */
#define MODRM_RTM	0xf8	/* XABORT, XBEGIN */

/* Fields of ModRM and SIB. */
#define MODRM_REG_MASK	0x38
#define MODRM_REG_SHIFT	3
#define MOD_INDIRECT	0	/* memory, without a displacement but for RM_DISP32 */
#define MOD_REG		3	/* a register, no memory */
#define RM_SIB		4	/* memory: SIB follows */
#define RM_DISP32	5	/* with MOD_INDIRECT: a displacement, and no base */
#define SIB_NO_INDEX	4

/* ModRM without its reg field: an address relative to the instruction pointer. */
#define MODRM_RIP_MASK	0xc7
#define MODRM_RIP	0x05

/* Registers in these fields. */
#define REG_SP		4	/* in the rm field only with MOD_REG, else RM_SIB */

/*
 * How an instruction is executed.
 *
 * The first three are stepped out of line; an indirect call or jump is replaced by the
 * push of its operand. All others are emulated. Up to POPF this is the only way, as
 * they depend on the instruction pointer or change what a step relies on. The rest
 * could also be stepped, but emulation is cheaper than the second trap of a step.
 */
enum kprobe_op {
	KPROBE_OP_STEP,
	KPROBE_OP_STEP_CALL,
	KPROBE_OP_STEP_JMP,

	KPROBE_OP_JCC,
	KPROBE_OP_JMP,
	KPROBE_OP_CALL,
	KPROBE_OP_RET,
	KPROBE_OP_LOOPNE,
	KPROBE_OP_LOOPE,
	KPROBE_OP_LOOP,
	KPROBE_OP_JCXZ,
	KPROBE_OP_JMP_REG,
	KPROBE_OP_CALL_REG,
	KPROBE_OP_CLI,
	KPROBE_OP_STI,
	KPROBE_OP_PUSHF,
	KPROBE_OP_POPF,

	KPROBE_OP_NOP,
	KPROBE_OP_PUSH,
	KPROBE_OP_POP,
	KPROBE_OP_MOV,
	KPROBE_OP_MOV_IMM,
	KPROBE_OP_LEA,
	KPROBE_OP_ALU,
	KPROBE_OP_ALU_IMM,
};

/* arch_specific_insn.sub of ALU operations, as the instruction set counts. */
enum kprobe_alu {
	KPROBE_ALU_ADD	= 0,
	KPROBE_ALU_OR	= 1,
	KPROBE_ALU_ADC	= 2,	/* not emulated */
	KPROBE_ALU_SBB	= 3,	/* not emulated */
	KPROBE_ALU_AND	= 4,
	KPROBE_ALU_SUB	= 5,
	KPROBE_ALU_XOR	= 6,
	KPROBE_ALU_CMP	= 7,
	KPROBE_ALU_TEST	= 8,
};

static nokprobe_inline bool kprobe_op_is_emulated(u8 op)
{
	return op > KPROBE_OP_STEP_JMP;
}

/* Jumps and calls whose target is a constant. */
static inline bool kprobe_op_is_direct(u8 op)
{
	return op >= KPROBE_OP_JCC && op <= KPROBE_OP_JCXZ && op != KPROBE_OP_RET;
}

/* Execution does not continue after it. Traps do not count: after some of them it does. */
static inline bool kprobe_op_is_final(u8 op)
{
	return op == KPROBE_OP_RET || op == KPROBE_OP_JMP || op == KPROBE_OP_JMP_REG ||
	       op == KPROBE_OP_STEP_JMP;
}

/* An instruction in the text. */
struct kprobe_insn {
	struct insn	insn;			/* decoded */
	u8		bytes[MAX_INSN_SIZE];	/* without breakpoints */
};

enum kprobe_refusal kprobe_decode(struct kprobe_insn *ki, int len);
enum kprobe_refusal kprobe_fetch_at(unsigned long at, unsigned long end,
				    struct kprobe_insn *ki);
enum kprobe_refusal kprobe_fetch(unsigned long addr, struct kprobe_insn *ki);
int kprobe_copy(u8 *buf, struct kprobe_insn *ki, unsigned long from,
		unsigned long to);

/*
 * What a decoded instruction is. The functions below require kprobe_decode(). Those of
 * <asm/insn.h> decode the instruction if need be, so there are no pointers to const.
 */

/* What kprobe_insn_op() returns for an opcode of two bytes. */
#define OP_0F(op2)	(OP_ESCAPE << 8 | (op2))
/* ... and for one of VEX or EVEX, whose opcodes are numbered on their own. */
#define OP_OTHER	(~0u)

bool kprobe_insn_has_prefix(struct insn *insn, u8 wanted);
u32 kprobe_insn_op(struct insn *insn);
bool kprobe_insn_is_nop(struct insn *insn);
u8 kprobe_insn_branch(struct insn *insn);

/* Also EVEX. Newer kernels have another name for insn_is_avx(). */
static inline bool kprobe_insn_has_vex(struct insn *insn)
{
	return insn->vex_prefix.nbytes;
}

/* The lower four bits of REX2 are those of REX. */
static inline u8 kprobe_insn_rex(struct insn *insn)
{
	int nbytes = insn->rex_prefix.nbytes;

	return nbytes ? insn->rex_prefix.bytes[nbytes - 1] : 0;
}

/* No operand is in memory. */
static inline bool kprobe_insn_is_reg_form(struct insn *insn)
{
	return X86_MODRM_MOD(insn->modrm.value) == MOD_REG;
}

/* Is the stack pointer the operand of ModRM, or the base of its address? */
static inline bool kprobe_insn_operand_has_sp(struct insn *insn)
{
	BUILD_BUG_ON(RM_SIB != REG_SP);

	if (X86_REX_B(kprobe_insn_rex(insn)) || X86_MODRM_RM(insn->modrm.value) != REG_SP)
		return false;

	return kprobe_insn_is_reg_form(insn) || X86_SIB_BASE(insn->sib.value) == REG_SP;
}

/* Without an operand: the return that mitigations replace. */
static inline bool kprobe_insn_is_ret(struct insn *insn)
{
	return kprobe_insn_op(insn) == RET_INSN_OPCODE;
}

/* For a direct jump, call or conditional branch. */
static inline unsigned long kprobe_insn_target(struct insn *insn, unsigned long addr)
{
	return addr + insn->length + insn->immediate.value;
}

/* ENDBR, or what replaces it where no indirect branch goes. Kernels without IBT have neither. */
static __always_inline bool kprobe_is_landing_pad(u32 word)
{
#ifdef CONFIG_X86_KERNEL_IBT
	return __is_endbr(word);
#else
	return false;
#endif
}

unsigned int kprobe_skip(struct kprobe_insn *ki, unsigned long at);

/* Only the first @length bytes have been read. */
static inline bool kprobe_insn_is_landing_pad(struct kprobe_insn *ki)
{
	return ki->insn.length == sizeof(u32) &&
	       kprobe_is_landing_pad(get_unaligned((const u32 *)ki->bytes));
}

static inline bool kprobe_is_rel32(long disp)
{
	return disp == (s32)disp;
}

/* Make the last four of the @len bytes of code for @addr the displacement to @target. */
static inline int kprobe_put_rel32(u8 *code, unsigned int len, unsigned long addr,
				   unsigned long target)
{
	long disp = target - (addr + len);

	if (!kprobe_is_rel32(disp))
		return -ERANGE;

	put_unaligned((s32)disp, (s32 *)(code + len - sizeof(s32)));
	return 0;
}

/* A jump, for code at @addr. Returns its length, or -ERANGE. */
static inline int kprobe_put_jmp(u8 *code, unsigned long addr, unsigned long target)
{
	code[0] = JMP32_INSN_OPCODE;
	return kprobe_put_rel32(code, JMP32_INSN_SIZE, addr, target) ?: JMP32_INSN_SIZE;
}

/* Makes it another instruction of its group. */
static inline void modrm_set_reg(u8 *modrm, u8 reg)
{
	*modrm = (*modrm & ~MODRM_REG_MASK) | reg << MODRM_REG_SHIFT;
}

const char *kprobe_name_at(unsigned long addr, char *name);

#ifdef CONFIG_KGDB
bool kprobe_is_kgdb_breakpoint(unsigned long addr);
#else
static inline bool kprobe_is_kgdb_breakpoint(unsigned long addr) { return false; }
#endif

#endif /* _X86_KERNEL_KPROBES_INSN_H */
