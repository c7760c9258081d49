/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instructions: the names of their encodings, what they are, and how they are read from the text.
 * Where <asm/text-patching.h>, <asm/nops.h> or <asm/insn.h> has a name for an opcode, that one is
 * used.
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
 * Opcodes of one byte. A number at the end is the size of a constant operand in bits. Otherwise R
 * stands for a register, M for a register or memory, I for an immediate operand, in the order of
 * the Intel manuals: the destination comes first. Where byte operands have an opcode of their
 * own, that one is not meant.
 */
#define OP_PUSH_ES	0x06
#define OP_POP_ES	0x07
#define OP_PUSH_CS	0x0e
#define OP_ESCAPE	0x0f	/* two-byte opcodes */
#define OP_PUSH_SS	0x16
#define OP_POP_SS	0x17	/* POP_SS_OPCODE of <asm/insn.h> is that of POP DS */
#define OP_PUSH_DS	0x1e
#define OP_POP_DS	0x1f
#define OP_DAA		0x27
#define OP_DAS		0x2f
#define OP_AAA		0x37
#define OP_AAS		0x3f
#define OP_PUSH_R	0x50	/* + register */
#define OP_POP_R	0x58	/* + register */
#define OP_PUSHA	0x60
#define OP_POPA		0x61
#define OP_PUSH_I32	0x68
#define OP_PUSH_I8	0x6a
#define OP_JCC8		0x70	/* + condition */
#define OP_JNE8		0x75
#define OP_GRP1_I32	0x81
#define OP_GRP1_INVALID	0x82	/* with byte operands, another form of 0x80 */
#define OP_GRP1_I8	0x83
#define OP_TEST_MR	0x85
#define OP_MOV_MR	0x89
#define OP_MOV_RM	0x8b
#define OP_LEA		0x8d
#define OP_MOV_SREG	MOV_SREG_OPCODE
#define OP_GRP1A	0x8f
#define OP_NOP		BYTES_NOP1
#define OP_CALL_FAR	0x9a
#define OP_PUSHF	0x9c
#define OP_POPF		0x9d
#define OP_TEST_AX_I	0xa9
#define OP_MOV_RI	0xb8	/* + register */
#define OP_RET_I16	0xc2
#define OP_LES		0xc4
#define OP_LDS		0xc5
#define OP_GRP11_BYTE	0xc6
#define OP_GRP11	0xc7
#define OP_ENTER	0xc8
#define OP_LEAVE	0xc9
#define OP_RETF_I16	0xca
#define OP_RETF		0xcb
#define OP_INT		0xcd
#define OP_INTO		0xce
#define OP_IRET		0xcf
#define OP_AAM		0xd4
#define OP_SALC		0xd6
#define OP_LOOPNE	0xe0
#define OP_LOOPE	0xe1
#define OP_LOOP		0xe2
#define OP_JCXZ		0xe3
#define OP_JMP_FAR	0xea
#define OP_INT1		0xf1
#define OP_HLT		0xf4
#define OP_GRP3		0xf7
#define OP_CLI		0xfa
#define OP_STI		0xfb
#define OP_CLD		0xfc
#define OP_GRP5		0xff

/* Arithmetic: the opcode holds the form of the operands and the operation, enum kprobe_alu. */
#define OP_ALU_MR	0x01
#define OP_ALU_RM	0x03
#define OP_ALU_AX_I	0x05
#define OP_ALU_FORM	0xc7
#define OP_ALU_SHIFT	3

/* Opcodes of two bytes: the one that follows OP_ESCAPE. */
#define OP2_GRP6	0x00
#define OP2_GRP7	0x01
#define OP2_SYSCALL	0x05
#define OP2_SYSRET	0x07
#define OP2_WBINVD	0x09
#define OP2_UD2		0x0b
#define OP2_FEMMS	0x0e
#define OP2_NOP		0x1f
#define OP2_MOV_R_CR	0x20
#define OP2_MOV_CR_R	0x22
#define OP2_MOV_DR_R	0x23
#define OP2_WRMSR	0x30
#define OP2_SYSENTER	0x34
#define OP2_SYSEXIT	0x35
#define OP2_GETSEC	0x37
#define OP2_GRP12	0x71	/* shifts of vectors by an immediate */
#define OP2_GRP14	0x73
#define OP2_EMMS	0x77
#define OP2_VMREAD	0x78
#define OP2_JCC32	0x80	/* + condition */
#define OP2_PUSH_FS	0xa0
#define OP2_POP_FS	0xa1
#define OP2_CPUID	0xa2
#define OP2_PUSH_GS	0xa8
#define OP2_POP_GS	0xa9
#define OP2_RSM		0xaa
#define OP2_GRP15	0xae
#define OP2_LSS		0xb2
#define OP2_LFS		0xb4
#define OP2_LGS		0xb5
#define OP2_UD1		0xb9
#define OP2_BSWAP	0xc8	/* + register */
#define OP2_UD0		0xff

#define JCC32_INSN_SIZE		6
#define PUSH_I32_INSN_SIZE	5

/* In groups of instructions, the reg field of ModRM extends the opcode. */
#define GRP1A_POP	0
#define GRP3_TEST	0
#define GRP5_CALL	2
#define GRP5_CALL_FAR	3
#define GRP5_JMP	4
#define GRP5_JMP_FAR	5
#define GRP5_PUSH	6
#define GRP5_INVALID	7
#define GRP6_LLDT	2
#define GRP6_LTR	3
#define GRP7_LGDT	2
#define GRP7_LIDT	3
#define GRP7_LMSW	6
#define GRP11_MOV	0
#define GRP15_WRGSBASE	3	/* after PREFIX_REP */
#define GRP15_WAIT	6	/* UMWAIT after PREFIX_REPNE, TPAUSE after PREFIX_OPND */

/* In the register forms of groups 7 and 11, all of ModRM extends the opcode. */
#define MODRM_VMLAUNCH	0xc2
#define MODRM_VMRESUME	0xc3
#define MODRM_MWAIT	0xc9
#define MODRM_CLAC	0xca	/* ERETS, ERETU after a prefix */
#define MODRM_VMRUN	0xd8
#define MODRM_VMLOAD	0xda
#define MODRM_UIRET	0xec	/* after PREFIX_REP */
#define MODRM_SWAPGS	0xf8
#define MODRM_MWAITX	0xfb
#define MODRM_RTM	0xf8	/* group 11: XABORT, XBEGIN */

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
#define CR_0		0
#define CR_3		3
#define SREG_SS		2
#define SREG_FS		4
#define SREG_GS		5

/* An instruction in the text. */
struct kprobe_insn {
	struct insn	insn;			/* decoded */
	u8		bytes[MAX_INSN_SIZE];	/* without breakpoints */
};

enum kprobe_refusal kprobe_decode(struct kprobe_insn *ki, int len);
enum kprobe_refusal kprobe_fetch_at(unsigned long at, unsigned long end,
				    struct kprobe_insn *ki);
enum kprobe_refusal kprobe_fetch(unsigned long addr, struct kprobe_insn *ki);
int kprobe_copy(u8 *buf, const struct kprobe_insn *ki, unsigned long from,
		unsigned long to);

/*
 * What a decoded instruction is. The functions below require kprobe_decode(). Those of
 * <asm/insn.h> decode the instruction if need be, so they cannot take a pointer to const.
 */

/* What kprobe_insn_op() returns for an opcode of two bytes. */
#define OP_0F(op2)	(OP_ESCAPE << 8 | (op2))
/* ... and for one of VEX or EVEX, whose opcodes are numbered on their own. */
#define OP_OTHER	(~0u)

bool kprobe_insn_has_prefix(const struct insn *insn, u8 wanted);
u32 kprobe_insn_op(const struct insn *insn);
bool kprobe_insn_is_nop(const struct insn *insn);
bool kprobe_insn_is_invalid(const struct insn *insn);
bool kprobe_insn_is_short_branch(const struct insn *insn);

/* Also EVEX. */
static inline bool kprobe_insn_has_vex(const struct insn *insn)
{
	return insn->vex_prefix.nbytes;
}

static inline bool kprobe_insn_has_rex2(const struct insn *insn)
{
	return insn->rex_prefix.nbytes == 2;
}

/* The lower four bits of REX2 are those of REX. */
static inline u8 kprobe_insn_rex(const struct insn *insn)
{
	int nbytes = insn->rex_prefix.nbytes;

	return nbytes ? insn->rex_prefix.bytes[nbytes - 1] : 0;
}

static inline u8 kprobe_insn_modrm_mod(const struct insn *insn)
{
	return X86_MODRM_MOD(insn->modrm.value);
}

static inline u8 kprobe_insn_modrm_reg(const struct insn *insn)
{
	return X86_MODRM_REG(insn->modrm.value);
}

static inline u8 kprobe_insn_modrm_rm(const struct insn *insn)
{
	return X86_MODRM_RM(insn->modrm.value);
}

static inline unsigned int kprobe_insn_modrm_offset(const struct insn *insn)
{
	return insn->prefixes.nbytes + insn->rex_prefix.nbytes + insn->vex_prefix.nbytes +
	       insn->opcode.nbytes;
}

static inline unsigned int kprobe_insn_disp_offset(const struct insn *insn)
{
	return kprobe_insn_modrm_offset(insn) + insn->modrm.nbytes + insn->sib.nbytes;
}

/* No operand is in memory. */
static inline bool kprobe_insn_is_reg_form(const struct insn *insn)
{
	return kprobe_insn_modrm_mod(insn) == MOD_REG;
}

/* Is the stack pointer the operand of ModRM, or the base of its address? */
static inline bool kprobe_insn_operand_has_sp(const struct insn *insn)
{
	BUILD_BUG_ON(RM_SIB != REG_SP);

	if (X86_REX_B(kprobe_insn_rex(insn)) || kprobe_insn_modrm_rm(insn) != REG_SP)
		return false;

	return kprobe_insn_is_reg_form(insn) || X86_SIB_BASE(insn->sib.value) == REG_SP;
}

static inline bool kprobe_insn_is_rip_relative(const struct insn *insn)
{
	return insn->x86_64 && insn->modrm.nbytes &&
	       (insn->modrm.value & MODRM_RIP_MASK) == MODRM_RIP;
}

static inline bool kprobe_insn_is_int3(const struct insn *insn)
{
	return kprobe_insn_op(insn) == INT3_INSN_OPCODE;
}

/* Without an operand: the return that mitigations replace. */
static inline bool kprobe_insn_is_ret(const struct insn *insn)
{
	return kprobe_insn_op(insn) == RET_INSN_OPCODE;
}

static inline bool kprobe_insn_is_jmp(const struct insn *insn)
{
	return kprobe_insn_op(insn) == JMP32_INSN_OPCODE ||
	       kprobe_insn_op(insn) == JMP8_INSN_OPCODE;
}

static inline bool kprobe_insn_is_jmp_indirect(const struct insn *insn)
{
	return kprobe_insn_op(insn) == OP_GRP5 && kprobe_insn_modrm_reg(insn) == GRP5_JMP;
}

/* Execution does not continue after it. Traps do not count: after some of them it does. */
static inline bool kprobe_insn_is_final(const struct insn *insn)
{
	return kprobe_insn_is_ret(insn) || kprobe_insn_op(insn) == OP_RET_I16 ||
	       kprobe_insn_is_jmp(insn) || kprobe_insn_is_jmp_indirect(insn);
}

static inline bool kprobe_insn_is_jcc32(const struct insn *insn)
{
	return (kprobe_insn_op(insn) & ~OP_CC) == OP_0F(OP2_JCC32);
}

/* For a direct jump, call or conditional branch. */
static inline unsigned long kprobe_insn_target(const struct insn *insn, unsigned long addr)
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

unsigned int kprobe_skip(const struct kprobe_insn *ki, unsigned long at);

/* Only the first @length bytes have been read. */
static inline bool kprobe_insn_is_landing_pad(const struct kprobe_insn *ki)
{
	return ki->insn.length == sizeof(u32) &&
	       kprobe_is_landing_pad(get_unaligned((const u32 *)ki->bytes));
}

static inline bool bytes_are_jcc32(const u8 *p)
{
	return p[0] == OP_ESCAPE && (p[1] & ~OP_CC) == OP2_JCC32;
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

/* Makes it another instruction of its group. */
static inline void modrm_set_reg(u8 *modrm, u8 reg)
{
	*modrm = (*modrm & ~MODRM_REG_MASK) | reg << MODRM_REG_SHIFT;
}

const char *kprobe_name_at(unsigned long addr, char *name);

#ifdef CONFIG_KGDB
bool kprobe_is_kgdb_breakpoint(unsigned long addr);
#else
static inline bool kprobe_is_kgdb_breakpoint(unsigned long addr)
{
	return false;
}
#endif

#endif /* _X86_KERNEL_KPROBES_INSN_H */
