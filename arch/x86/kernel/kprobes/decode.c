// SPDX-License-Identifier: GPL-2.0-only
/* Decides which instructions can be probed, and how a probed one is executed. Changes nothing. */

#include <linux/bitfield.h>
#include <linux/cfi.h>
#include <linux/extable.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/memory.h>
#include <linux/ptrace.h>
#include <linux/uaccess.h>

#include <asm/alternative.h>
#include <asm/extable.h>

#include "common.h"
#include "insn.h"

static const u8 reg_offset[] = {
	offsetof(struct pt_regs, ax), offsetof(struct pt_regs, cx),
	offsetof(struct pt_regs, dx), offsetof(struct pt_regs, bx),
	offsetof(struct pt_regs, sp), offsetof(struct pt_regs, bp),
	offsetof(struct pt_regs, si), offsetof(struct pt_regs, di),
#ifdef CONFIG_X86_64
	offsetof(struct pt_regs, r8), offsetof(struct pt_regs, r9),
	offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
	offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13),
	offsetof(struct pt_regs, r14), offsetof(struct pt_regs, r15),
#endif
};

/* REX extends each field that names a register by one bit. */
#define REX_EXTENDS	8

/* Offsets of the registers that the instruction names. */
static u8 reg_of(u8 field, bool extended)
{
	return reg_offset[field | (extended ? REX_EXTENDS : 0)];
}

static u8 reg_of_reg(const struct insn *insn)
{
	return reg_of(kprobe_insn_modrm_reg(insn), X86_REX_R(kprobe_insn_rex(insn)));
}

static u8 reg_of_rm(const struct insn *insn)
{
	return reg_of(kprobe_insn_modrm_rm(insn), X86_REX_B(kprobe_insn_rex(insn)));
}

static u8 reg_of_opcode(const struct insn *insn)
{
	return reg_of(insn->opcode.bytes[0] & OP_REG, X86_REX_B(kprobe_insn_rex(insn)));
}

/*
 * Per-CPU data are accessed through this segment: it must be right in every trap, also in that
 * after the instruction.
 */
#ifdef CONFIG_X86_64
#define SREG_PERCPU	SREG_GS
#else
#define SREG_PERCPU	SREG_FS
#endif

static enum kprobe_refusal classify_branch(const struct insn *insn,
					   struct arch_specific_insn *a, u8 op,
					   unsigned long addr)
{
	/* CPUs disagree on what this prefix does here, or it truncates the instruction pointer. */
	if (kprobe_insn_has_prefix(insn, PREFIX_OPND))
		return KPROBE_REFUSAL_ENCODING;

	a->op = op;
	a->value = kprobe_insn_target(insn, addr);
	a->width = insn->addr_bytes;
	return 0;
}

static enum kprobe_refusal classify_indirect(const struct insn *insn,
					     struct arch_specific_insn *a,
					     u8 op_reg, u8 op_step)
{
	if (kprobe_insn_has_prefix(insn, PREFIX_OPND))
		return KPROBE_REFUSAL_ENCODING;

	a->op = kprobe_insn_is_reg_form(insn) ? op_reg : op_step;
	if (kprobe_insn_is_reg_form(insn))
		a->src = reg_of_rm(insn);
	return 0;
}

/* No interrupt may come between STI and the instruction that puts the CPU to sleep. */
static bool sleeps_at(unsigned long next)
{
	u8 b[3] = {};

	if (copy_from_kernel_nofault(b, (void *)next, sizeof(b)))
		return false;
	if (b[0] == OP_HLT)
		return true;

	return b[0] == OP_ESCAPE && b[1] == OP2_GRP7 &&
	       (b[2] == MODRM_MWAIT || b[2] == MODRM_MWAITX);
}

static enum kprobe_refusal classify_grp5(const struct insn *insn,
					 struct arch_specific_insn *a)
{
	switch (kprobe_insn_modrm_reg(insn)) {
	case GRP5_CALL:
		return classify_indirect(insn, a, KPROBE_OP_CALL_REG, KPROBE_OP_STEP_CALL);
	case GRP5_JMP:
		return classify_indirect(insn, a, KPROBE_OP_JMP_REG, KPROBE_OP_STEP_JMP);
	case GRP5_CALL_FAR:
	case GRP5_JMP_FAR:
		return KPROBE_REFUSAL_FAR;
	case GRP5_INVALID:
		return KPROBE_REFUSAL_INVALID;
	}

	return 0;
}

/* Find control transfers, and whatever must not be executed out of line. */
static enum kprobe_refusal classify_one_byte(const struct insn *insn,
					     struct arch_specific_insn *a,
					     unsigned long addr)
{
	u8 opcode = insn->opcode.bytes[0];

	if (kprobe_insn_is_invalid(insn))
		return KPROBE_REFUSAL_INVALID;

	switch (opcode) {
	case INT3_INSN_OPCODE:
	case OP_INT:
	case OP_INTO:
	case OP_INT1:
		return KPROBE_REFUSAL_TRAP;
	case OP_JCC8 ... OP_JCC8 | OP_CC:
		a->sub = opcode & OP_CC;
		return classify_branch(insn, a, KPROBE_OP_JCC, addr);
	case OP_LOOPNE:
	case OP_LOOPE:
	case OP_LOOP:
	case OP_JCXZ:
		/* Both are in the same order. */
		return classify_branch(insn, a, KPROBE_OP_LOOPNE + (opcode - OP_LOOPNE), addr);
	case CALL_INSN_OPCODE:
		return classify_branch(insn, a, KPROBE_OP_CALL, addr);
	case JMP32_INSN_OPCODE:
	case JMP8_INSN_OPCODE:
		return classify_branch(insn, a, KPROBE_OP_JMP, addr);
	case OP_RET_I16:
	case RET_INSN_OPCODE:
		a->value = opcode == OP_RET_I16 ? (u16)insn->immediate.value : 0;
		if (kprobe_insn_has_prefix(insn, PREFIX_OPND))
			return KPROBE_REFUSAL_ENCODING;
		a->op = KPROBE_OP_RET;
		return 0;
	case OP_CALL_FAR:
	case OP_JMP_FAR:
	case OP_RETF_I16:
	case OP_RETF:
	case OP_IRET:
		return KPROBE_REFUSAL_FAR;
	case OP_GRP5:
		return classify_grp5(insn, a);
	case OP_CLI:
		a->op = KPROBE_OP_CLI;
		return 0;
	case OP_STI:
		if (sleeps_at(addr + insn->length))
			return KPROBE_REFUSAL_SLEEP;
		a->op = KPROBE_OP_STI;
		return 0;
	case OP_PUSHF:
	case OP_POPF:
		a->op = opcode == OP_PUSHF ? KPROBE_OP_PUSHF : KPROBE_OP_POPF;
		a->width = kprobe_insn_has_prefix(insn, PREFIX_OPND) ? sizeof(u16) : sizeof(long);
		return 0;
	case OP_HLT:	/* interrupts are off in a step */
		return KPROBE_REFUSAL_SLEEP;
	case OP_MOV_SREG:
		if (kprobe_insn_modrm_reg(insn) == SREG_SS ||
		    kprobe_insn_modrm_reg(insn) == SREG_PERCPU)
			return KPROBE_REFUSAL_SEGMENT;
		return 0;
	case OP_POP_SS:
		return KPROBE_REFUSAL_SEGMENT;
	case OP_GRP11_BYTE:	/* XABORT */
	case OP_GRP11:		/* XBEGIN */
		return insn->modrm.value == MODRM_RTM ? KPROBE_REFUSAL_TRANSACTION : 0;
	}

	return 0;
}

static enum kprobe_refusal classify_grp7(const struct insn *insn)
{
	if (!kprobe_insn_is_reg_form(insn)) {
		switch (kprobe_insn_modrm_reg(insn)) {
		case GRP7_LGDT:
		case GRP7_LIDT:
			return KPROBE_REFUSAL_TABLE;
		case GRP7_LMSW:
			return KPROBE_REFUSAL_CONTROL;
		}
		return 0;
	}

	switch (insn->modrm.value) {
	case MODRM_VMLAUNCH:
	case MODRM_VMRESUME:
	case MODRM_VMRUN:
	case MODRM_VMLOAD:
		return KPROBE_REFUSAL_GUEST;
	case MODRM_SWAPGS:
		return KPROBE_REFUSAL_SEGMENT;
	case MODRM_MWAIT:
	case MODRM_MWAITX:
		return KPROBE_REFUSAL_SLEEP;
	case MODRM_CLAC:	/* else ERETS, ERETU */
	case MODRM_UIRET:
		if (kprobe_insn_has_prefix(insn, PREFIX_REP) ||
		    kprobe_insn_has_prefix(insn, PREFIX_REPNE))
			return KPROBE_REFUSAL_FAR;
		return 0;
	}

	return kprobe_insn_modrm_reg(insn) == GRP7_LMSW ? KPROBE_REFUSAL_CONTROL : 0;
}

static enum kprobe_refusal classify_grp15(const struct insn *insn)
{
	if (!kprobe_insn_is_reg_form(insn))
		return 0;

	switch (kprobe_insn_modrm_reg(insn)) {
	case GRP15_WRGSBASE:
		return kprobe_insn_has_prefix(insn, PREFIX_REP) ? KPROBE_REFUSAL_SEGMENT : 0;
	case GRP15_WAIT:
		if (kprobe_insn_has_prefix(insn, PREFIX_OPND) ||
		    kprobe_insn_has_prefix(insn, PREFIX_REPNE))
			return KPROBE_REFUSAL_SLEEP;
		break;
	}

	return 0;
}

static enum kprobe_refusal classify_0f(const struct insn *insn,
				       struct arch_specific_insn *a,
				       unsigned long addr)
{
	u8 opcode = insn->opcode.bytes[1], reg = kprobe_insn_modrm_reg(insn);

	switch (opcode) {
	case OP2_UD2:
	case OP2_UD1:
	case OP2_UD0:
		return KPROBE_REFUSAL_TRAP;
	case OP2_JCC32 ... OP2_JCC32 | OP_CC:
		a->sub = opcode & OP_CC;
		return classify_branch(insn, a, KPROBE_OP_JCC, addr);
	case OP2_SYSCALL:
	case OP2_SYSRET:
	case OP2_SYSENTER:
	case OP2_SYSEXIT:
	case OP2_RSM:
		return KPROBE_REFUSAL_FAR;
	case OP2_GRP6:
		return reg == GRP6_LLDT || reg == GRP6_LTR ? KPROBE_REFUSAL_TABLE : 0;
	case OP2_GRP7:
		return classify_grp7(insn);
	case OP2_MOV_CR_R:
		if (X86_REX_R(kprobe_insn_rex(insn)))
			return 0;
		return reg == CR_0 || reg == CR_3 ? KPROBE_REFUSAL_CONTROL : 0;
	case OP2_GRP15:
		return classify_grp15(insn);
	case OP2_LSS:
		return KPROBE_REFUSAL_SEGMENT;
	case OP2_POP_FS:
	case OP2_LFS:
		return IS_ENABLED(CONFIG_X86_32) ? KPROBE_REFUSAL_SEGMENT : 0;
	case OP2_POP_GS:
	case OP2_LGS:
		return IS_ENABLED(CONFIG_X86_64) ? KPROBE_REFUSAL_SEGMENT : 0;
	}

	return 0;
}

/*
 * Fast forms: frequent instructions that access nothing but registers and the stack, so that
 * their emulation never faults.
 */

/*
 * On 32 bit, the exception returns through a frame below the new stack pointer, which must
 * therefore stay near the old one.
 */
static bool may_write(u8 dst)
{
	return IS_ENABLED(CONFIG_X86_64) || dst != offsetof(struct pt_regs, sp);
}

static void fast_alu(struct arch_specific_insn *a, u8 sub, u8 dst, u8 src)
{
	/* These also read the flags. */
	if (sub == KPROBE_ALU_ADC || sub == KPROBE_ALU_SBB)
		return;
	if (sub < KPROBE_ALU_CMP && !may_write(dst))
		return;

	a->op = KPROBE_OP_ALU;
	a->sub = sub;
	a->dst = dst;
	a->src = src;
}

static void fast_alu_imm(struct arch_specific_insn *a, u8 sub, u8 dst, long value)
{
	fast_alu(a, sub, dst, KPROBE_NO_REG);
	if (a->op != KPROBE_OP_ALU)
		return;

	a->op = KPROBE_OP_ALU_IMM;
	a->value = value;
}

/* Forms that only write a register. */
static void fast_write(struct arch_specific_insn *a, u8 op, u8 dst, u8 src, long value)
{
	if (!may_write(dst))
		return;

	a->op = op;
	a->dst = dst;
	a->src = src;
	a->value = value;
}

static void fast_mov_imm(struct arch_specific_insn *a, u8 dst, long value)
{
	fast_write(a, KPROBE_OP_MOV_IMM, dst, 0, value);
}

static void fast_lea(const struct insn *insn, struct arch_specific_insn *a,
		     unsigned long next)
{
	u8 sib = insn->sib.value, base = kprobe_insn_modrm_rm(insn);
	u8 dst = reg_of_reg(insn);

	if (kprobe_insn_is_reg_form(insn) || insn->addr_bytes != sizeof(long))
		return;

	if (kprobe_insn_is_rip_relative(insn)) {
		fast_mov_imm(a, dst, next + insn->displacement.value);
		return;
	}

	a->src = reg_of_rm(insn);
	a->index = KPROBE_NO_REG;
	if (insn->sib.nbytes) {
		u8 index = X86_SIB_INDEX(sib) |
			   (X86_REX_X(kprobe_insn_rex(insn)) ? REX_EXTENDS : 0);

		base = X86_SIB_BASE(sib);
		a->src = reg_of(base, X86_REX_B(kprobe_insn_rex(insn)));
		if (index != SIB_NO_INDEX)
			a->index = reg_offset[index];
		a->shift = X86_SIB_SCALE(sib);
	}
	/* Also as the base in SIB, this value means that there is none. */
	if (base == RM_DISP32 && kprobe_insn_modrm_mod(insn) == MOD_INDIRECT)
		a->src = KPROBE_NO_REG;

	fast_write(a, KPROBE_OP_LEA, dst, a->src, insn->displacement.value);
}

static long wide_immediate(const struct insn *insn)
{
	/* In 64-bit mode only. In 32-bit mode, only far branches have one: their segment. */
	if (insn->immediate2.nbytes)
		return (u32)insn->immediate1.value | (u64)insn->immediate2.value << 32;

	return insn->immediate.value;
}

/* Forms with two operands, neither of which is in memory. */
static void classify_fast_modrm(const struct insn *insn, struct arch_specific_insn *a)
{
	u8 opcode = insn->opcode.bytes[0], rm = reg_of_rm(insn), reg = reg_of_reg(insn);

	switch (opcode & OP_ALU_FORM) {
	case OP_ALU_MR:
		fast_alu(a, opcode >> OP_ALU_SHIFT, rm, reg);
		return;
	case OP_ALU_RM:
		fast_alu(a, opcode >> OP_ALU_SHIFT, reg, rm);
		return;
	}

	switch (opcode) {
	case OP_TEST_MR:
		fast_alu(a, KPROBE_ALU_TEST, rm, reg);
		return;
	case OP_GRP1_I32:
	case OP_GRP1_I8:
		fast_alu_imm(a, kprobe_insn_modrm_reg(insn), rm, insn->immediate.value);
		return;
	case OP_GRP3:
		if (kprobe_insn_modrm_reg(insn) == GRP3_TEST)
			fast_alu_imm(a, KPROBE_ALU_TEST, rm, insn->immediate.value);
		return;
	case OP_MOV_MR:
		fast_write(a, KPROBE_OP_MOV, rm, reg, 0);
		return;
	case OP_MOV_RM:
		fast_write(a, KPROBE_OP_MOV, reg, rm, 0);
		return;
	case OP_GRP11:
		if (kprobe_insn_modrm_reg(insn) == GRP11_MOV)
			fast_mov_imm(a, rm, insn->immediate.value);
		return;
	}
}

static void classify_fast(const struct insn *insn, struct arch_specific_insn *a,
			  unsigned long next)
{
	u8 opcode = insn->opcode.bytes[0];

	if (kprobe_insn_has_prefix(insn, PREFIX_LOCK) ||
	    kprobe_insn_has_prefix(insn, PREFIX_REPNE) ||
	    kprobe_insn_has_prefix(insn, PREFIX_REP) || kprobe_insn_has_prefix(insn, PREFIX_OPND))
		return;

	a->width = insn->opnd_bytes;
	if ((opcode & OP_ALU_FORM) == OP_ALU_AX_I) {
		fast_alu_imm(a, opcode >> OP_ALU_SHIFT, reg_offset[0], insn->immediate.value);
		return;
	}

	switch (opcode) {
	case OP_PUSH_R ... OP_PUSH_R | OP_REG:
		a->op = KPROBE_OP_PUSH;
		a->src = reg_of_opcode(insn);
		return;
	case OP_POP_R ... OP_POP_R | OP_REG:
		fast_write(a, KPROBE_OP_POP, reg_of_opcode(insn), 0, 0);
		return;
	case OP_MOV_RI ... OP_MOV_RI | OP_REG:
		fast_mov_imm(a, reg_of_opcode(insn), wide_immediate(insn));
		return;
	case OP_LEA:
		fast_lea(insn, a, next);
		return;
	case OP_TEST_AX_I:
		fast_alu_imm(a, KPROBE_ALU_TEST, reg_offset[0], insn->immediate.value);
		return;
	}

	if (insn->modrm.nbytes && kprobe_insn_is_reg_form(insn))
		classify_fast_modrm(insn, a);
}

/*
 * The trap of a failed kCFI check decodes the two instructions before it to find out what was
 * called:
 *
 *	mov	$-HASH, %r10d		6 bytes
 *	add	-OFFSET(%reg), %r10d	4 bytes
 *	je	over the trap		2 bytes
 *	ud2
 *
 * At boot, the last two may be replaced. The jump then goes to the last byte, an invalid opcode,
 * and traps there:
 *
 *	jne	the next instruction + 1
 *	test	$0xd6, %al
 *
 * Or all of it is replaced, for FineIBT. A paranoid caller jumps back into LEA, whose last byte
 * is a LOCK prefix. With it, this jump traps, and is decoded then:
 *
 *	mov	$HASH, %eax		5 bytes
 *	cmp	-OFFSET(%r11), %eax	4 bytes
 *	lea	-0x10(%r11), %r11	5 bytes, the trap was at the fourth
 *	jne	itself - 1
 */
static bool is_cfi_check(const struct insn *insn, unsigned long addr)
{
	if (!IS_ENABLED(CONFIG_CFI))
		return false;

	switch (kprobe_insn_op(insn)) {
	case OP_MOV_RI | 2:
		return is_cfi_trap(addr + 12);
	case OP_ALU_RM:
		return is_cfi_trap(addr + 6);
	case OP_JNE8:
		return kprobe_insn_target(insn, addr) == addr - 1 && is_cfi_trap(addr - 2);
	}

	return false;
}

/* The fixup looks at the text, or serves a trap that kprobes do not see. */
static bool fixup_rules_out_copy(const struct exception_table_entry *e)
{
	switch (FIELD_GET(EX_DATA_TYPE_MASK, e->data)) {
	case EX_TYPE_ZEROPAD:
	case EX_TYPE_WRMSR_IN_MCE:
	case EX_TYPE_RDMSR_IN_MCE:
	case EX_TYPE_DEFAULT_MCE_SAFE:
	case EX_TYPE_FAULT_MCE_SAFE:
	case EX_TYPE_ERETU:
		return true;
	}

	return false;
}

/*
 * A livepatch is relocated each time that the object which it patches is loaded. Before that, and
 * after the object was unloaded, the operands are zero. A copy would keep the operands that it
 * was made with. Relocations are four or eight bytes wide.
 */
static bool is_relocated_later(const struct insn *insn, unsigned long addr)
{
	/* The field of an immediate also holds the address of a MOV without ModRM. */
	return (insn->displacement.nbytes >= sizeof(s32) ||
		insn->immediate.nbytes >= sizeof(s32)) && kprobe_in_livepatch(addr);
}

/* Decide how a probed instruction is executed. Fills in all of @a but the slot. */
enum kprobe_refusal kprobe_classify(const struct kprobe_insn *ki, unsigned long addr,
				    struct arch_specific_insn *a)
{
	const struct exception_table_entry *fixup;
	const struct insn *insn = &ki->insn;
	unsigned long next = addr + insn->length;
	bool vex = kprobe_insn_has_vex(insn);
	enum kprobe_refusal why = KPROBE_REFUSAL_NONE;

	lockdep_assert_held(&text_mutex);

	*a = (struct arch_specific_insn) {
		.op	= KPROBE_OP_STEP,
		.len	= insn->length,
	};

	if (insn->emulate_prefix_size)
		return KPROBE_REFUSAL_HYPERVISOR;
	if (is_cfi_check(insn, addr))
		return KPROBE_REFUSAL_TYPE_CHECK;
	fixup = search_exception_tables(addr);
	if (fixup && fixup_rules_out_copy(fixup))
		return KPROBE_REFUSAL_FIXUP;
	if (is_relocated_later(insn, addr))
		return KPROBE_REFUSAL_LIVEPATCH;
	/* No compiler emits this prefix yet, and it makes one opcode a jump. */
	if (kprobe_insn_has_rex2(insn))
		return KPROBE_REFUSAL_ENCODING;

	if (!vex && insn->opcode.nbytes == 1)
		why = classify_one_byte(insn, a, addr);
	else if (!vex && insn->opcode.nbytes == 2)
		why = classify_0f(insn, a, addr);
	if (why)
		return why;

	if (kprobe_insn_is_rip_relative(insn) && insn->addr_bytes != sizeof(long))
		return KPROBE_REFUSAL_REACH;
	if (a->op != KPROBE_OP_STEP || fixup)
		return 0;

	a->boost = kprobe_boosts();
	if (kprobe_insn_is_nop(insn))
		a->op = KPROBE_OP_NOP;
	else if (!vex && insn->opcode.nbytes == 1)
		classify_fast(insn, a, next);
	return 0;
}
