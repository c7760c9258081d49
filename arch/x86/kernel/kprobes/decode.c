// SPDX-License-Identifier: GPL-2.0-only
/* Decides which instructions can be probed, and how a probed one is executed. Changes nothing. */

#include <linux/bitfield.h>
#include <linux/cfi.h>
#include <linux/extable.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/memory.h>
#include <linux/minmax.h>
#include <linux/ptrace.h>
#include <linux/uaccess.h>

#include <asm/alternative.h>
#include <asm/extable.h>

#include "common.h"

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

static u8 reg_of_reg(struct insn *insn)
{
	return reg_of(X86_MODRM_REG(insn->modrm.value), X86_REX_R(kprobe_insn_rex(insn)));
}

static u8 reg_of_rm(struct insn *insn)
{
	return reg_of(X86_MODRM_RM(insn->modrm.value), X86_REX_B(kprobe_insn_rex(insn)));
}

static u8 reg_of_opcode(struct insn *insn)
{
	return reg_of(insn->opcode.bytes[0] & OP_REG, X86_REX_B(kprobe_insn_rex(insn)));
}

/*
 * What cannot be executed out of line, or must not. The first row that fits decides.
 *
 * Per-CPU data are accessed through a segment, GS on 64 bit and FS on 32 bit: it must be right in
 * every trap, also in that after the instruction.
 */
#define REFUSE(op, mask, modrm, prefix, why)	\
	{ op, mask, modrm, prefix, KPROBE_REFUSAL_##why }

static const struct {
	u16	op;		/* as kprobe_insn_op() counts */
	u8	mask;		/* of the bits of ModRM that matter */
	u8	modrm;		/* their value */
	u8	prefix;		/* only after it; 0 for any encoding */
	u8	why;
} refused[] = {
#ifdef CONFIG_X86_64
	/* insn_decode() accepts these in both modes. */
	REFUSE(0x06, 0, 0, 0, INVALID),				/* push %es */
	REFUSE(0x07, 0, 0, 0, INVALID),				/* pop %es */
	REFUSE(0x0e, 0, 0, 0, INVALID),				/* push %cs */
	REFUSE(0x16, 0, 0, 0, INVALID),				/* push %ss */
	REFUSE(0x17, 0, 0, 0, INVALID),				/* pop %ss */
	REFUSE(0x1e, 0, 0, 0, INVALID),				/* push %ds */
	REFUSE(0x1f, 0, 0, 0, INVALID),				/* pop %ds */
	REFUSE(0x27, 0, 0, 0, INVALID),				/* daa */
	REFUSE(0x2f, 0, 0, 0, INVALID),				/* das */
	REFUSE(0x37, 0, 0, 0, INVALID),				/* aaa */
	REFUSE(0x3f, 0, 0, 0, INVALID),				/* aas */
	REFUSE(0x60, 0, 0, 0, INVALID),				/* pusha */
	REFUSE(0x61, 0, 0, 0, INVALID),				/* popa */
	REFUSE(0x82, 0, 0, 0, INVALID),				/* as 0x80 */
	REFUSE(0xd4, 0, 0, 0, INVALID),				/* aam */
	REFUSE(0xd6, 0, 0, 0, INVALID),				/* salc */

	REFUSE(0x8e, 0x38, 0x28, 0, SEGMENT),			/* mov to %gs */
	REFUSE(OP_0F(0xa9), 0, 0, 0, SEGMENT),			/* pop %gs */
	REFUSE(OP_0F(0xb5), 0, 0, 0, SEGMENT),			/* lgs */
#else
	REFUSE(0x8e, 0x38, 0x20, 0, SEGMENT),			/* mov to %fs */
	REFUSE(OP_0F(0xa1), 0, 0, 0, SEGMENT),			/* pop %fs */
	REFUSE(OP_0F(0xb4), 0, 0, 0, SEGMENT),			/* lfs */
#endif
	REFUSE(0x17, 0, 0, 0, SEGMENT),				/* pop %ss */
	REFUSE(0x8e, 0x38, 0x10, 0, SEGMENT),			/* mov to %ss */
	REFUSE(OP_0F(0xb2), 0, 0, 0, SEGMENT),			/* lss */
	REFUSE(OP_0F(0x01), 0xff, 0xf8, 0, SEGMENT),		/* swapgs */
	REFUSE(OP_0F(0xae), 0xf8, 0xd8, PREFIX_REP, SEGMENT),	/* wrgsbase */

	REFUSE(0xcc, 0, 0, 0, TRAP),				/* int3 */
	REFUSE(0xcd, 0, 0, 0, TRAP),				/* int */
	REFUSE(0xce, 0, 0, 0, TRAP),				/* into */
	REFUSE(0xf1, 0, 0, 0, TRAP),				/* int1 */
	REFUSE(OP_0F(0x0b), 0, 0, 0, TRAP),			/* ud2 */
	REFUSE(OP_0F(0xb9), 0, 0, 0, TRAP),			/* ud1 */
	REFUSE(OP_0F(0xff), 0, 0, 0, TRAP),			/* ud0 */
	REFUSE(0xff, 0x38, 0x38, 0, INVALID),

	REFUSE(0x9a, 0, 0, 0, FAR),				/* lcall */
	REFUSE(0xca, 0, 0, 0, FAR),				/* lret with an operand */
	REFUSE(0xcb, 0, 0, 0, FAR),				/* lret */
	REFUSE(0xcf, 0, 0, 0, FAR),				/* iret */
	REFUSE(0xea, 0, 0, 0, FAR),				/* ljmp */
	REFUSE(0xff, 0x38, 0x18, 0, FAR),			/* lcall through memory */
	REFUSE(0xff, 0x38, 0x28, 0, FAR),			/* ljmp through memory */
	REFUSE(OP_0F(0x05), 0, 0, 0, FAR),			/* syscall */
	REFUSE(OP_0F(0x07), 0, 0, 0, FAR),			/* sysret */
	REFUSE(OP_0F(0x34), 0, 0, 0, FAR),			/* sysenter */
	REFUSE(OP_0F(0x35), 0, 0, 0, FAR),			/* sysexit */
	REFUSE(OP_0F(0xaa), 0, 0, 0, FAR),			/* rsm */
	REFUSE(OP_0F(0x01), 0xff, 0xca, PREFIX_REP, FAR),	/* eretu */
	REFUSE(OP_0F(0x01), 0xff, 0xca, PREFIX_REPNE, FAR),	/* erets */
	REFUSE(OP_0F(0x01), 0xff, 0xec, PREFIX_REP, FAR),	/* uiret */
	REFUSE(OP_0F(0x01), 0xff, 0xec, PREFIX_REPNE, FAR),

	/* Interrupts are off in a step. */
	REFUSE(0xf4, 0, 0, 0, SLEEP),				/* hlt */
	REFUSE(OP_0F(0x01), 0xff, 0xc9, 0, SLEEP),		/* mwait */
	REFUSE(OP_0F(0x01), 0xff, 0xfb, 0, SLEEP),		/* mwaitx */
	REFUSE(OP_0F(0xae), 0xf8, 0xf0, PREFIX_OPND, SLEEP),	/* tpause */
	REFUSE(OP_0F(0xae), 0xf8, 0xf0, PREFIX_REPNE, SLEEP),	/* umwait */

	REFUSE(0xc6, 0xff, 0xf8, 0, TRANSACTION),		/* xabort */
	REFUSE(0xc7, 0xff, 0xf8, 0, TRANSACTION),		/* xbegin */

	REFUSE(OP_0F(0x01), 0xff, 0xc2, 0, GUEST),		/* vmlaunch */
	REFUSE(OP_0F(0x01), 0xff, 0xc3, 0, GUEST),		/* vmresume */
	REFUSE(OP_0F(0x01), 0xff, 0xd8, 0, GUEST),		/* vmrun */
	REFUSE(OP_0F(0x01), 0xff, 0xda, 0, GUEST),		/* vmload */

	REFUSE(OP_0F(0x00), 0x38, 0x10, 0, TABLE),		/* lldt */
	REFUSE(OP_0F(0x00), 0x38, 0x18, 0, TABLE),		/* ltr */
	REFUSE(OP_0F(0x01), 0xf0, 0xd0, 0, NONE),		/* xgetbv and others */
	REFUSE(OP_0F(0x01), 0x38, 0x10, 0, TABLE),		/* lgdt */
	REFUSE(OP_0F(0x01), 0x38, 0x18, 0, TABLE),		/* lidt */

	REFUSE(OP_0F(0x01), 0x38, 0x30, 0, CONTROL),		/* lmsw */
	REFUSE(OP_0F(0x22), 0x38, 0x00, 0, CONTROL),		/* mov to %cr0 */
	REFUSE(OP_0F(0x22), 0x38, 0x18, 0, CONTROL),		/* mov to %cr3 */
};

static enum kprobe_refusal why_refused(struct insn *insn)
{
	u32 op = kprobe_insn_op(insn);
	unsigned int i;

	/* A move to CR8 is as one to CR0, but for this bit. */
	if (op == OP_0F(0x22) && X86_REX_R(kprobe_insn_rex(insn)))
		return KPROBE_REFUSAL_NONE;

	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		if (op == refused[i].op &&
		    (insn->modrm.value & refused[i].mask) == refused[i].modrm &&
		    (!refused[i].prefix || kprobe_insn_has_prefix(insn, refused[i].prefix)))
			return refused[i].why;
	}

	return KPROBE_REFUSAL_NONE;
}

/* No interrupt may come between STI and the instruction that puts the CPU to sleep. */
static bool sleeps_at(unsigned long next)
{
	u8 b[3] = {};

	if (copy_from_kernel_nofault(b, (void *)next, sizeof(b)))
		return false;
	if (b[0] == 0xf4)	/* hlt */
		return true;

	/* mwait, mwaitx */
	return b[0] == OP_ESCAPE && b[1] == 0x01 && (b[2] == 0xc9 || b[2] == 0xfb);
}

/* What must be emulated: branches, and what a step would interfere with. */
static enum kprobe_refusal classify_special(struct insn *insn,
					    struct arch_specific_insn *a, unsigned long addr)
{
	u32 op = kprobe_insn_op(insn);

	a->op = kprobe_insn_branch(insn);
	/* CPUs disagree on what this prefix does here, or it truncates the instruction pointer. */
	if (a->op != KPROBE_OP_STEP && kprobe_insn_has_prefix(insn, PREFIX_OPND))
		return KPROBE_REFUSAL_ENCODING;

	if (kprobe_op_is_direct(a->op)) {
		a->value = kprobe_insn_target(insn, addr);
		a->width = insn->addr_bytes;
		a->sub = op & OP_CC;
		return KPROBE_REFUSAL_NONE;
	}

	switch (op) {
	case 0xc2:	/* ret with an operand */
		a->value = (u16)insn->immediate.value;
		break;
	case OP_GRP5:
		a->src = reg_of_rm(insn);
		break;
	case 0xfa:	/* cli */
		a->op = KPROBE_OP_CLI;
		break;
	case 0xfb:	/* sti */
		if (sleeps_at(addr + insn->length))
			return KPROBE_REFUSAL_SLEEP;
		a->op = KPROBE_OP_STI;
		break;
	case 0x9c:	/* pushf */
	case 0x9d:	/* popf */
		a->op = op == 0x9c ? KPROBE_OP_PUSHF : KPROBE_OP_POPF;
		a->width = kprobe_insn_has_prefix(insn, PREFIX_OPND) ? sizeof(u16) : sizeof(long);
		break;
	}

	return KPROBE_REFUSAL_NONE;
}

/*
 * Fast forms: frequent instructions that access nothing but registers and the stack, so that
 * their emulation never faults.
 */

static u8 fast_lea(struct insn *insn, struct arch_specific_insn *a, unsigned long next)
{
	u8 sib = insn->sib.value, base = X86_MODRM_RM(insn->modrm.value);

	if (kprobe_insn_is_reg_form(insn) || insn->addr_bytes != sizeof(long))
		return KPROBE_OP_STEP;

	a->dst = reg_of_reg(insn);
	a->value = insn->displacement.value;
	if (insn_rip_relative(insn)) {
		a->value += next;
		return KPROBE_OP_MOV_IMM;
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
	if (base == RM_DISP32 && X86_MODRM_MOD(insn->modrm.value) == MOD_INDIRECT)
		a->src = KPROBE_NO_REG;

	return KPROBE_OP_LEA;
}

static long wide_immediate(struct insn *insn)
{
	/* In 64-bit mode only. In 32-bit mode, only far branches have one: their segment. */
	if (insn->immediate2.nbytes)
		return (u32)insn->immediate1.value | (u64)insn->immediate2.value << 32;

	return insn->immediate.value;
}

/* Forms with two operands, neither of which is in memory. */
static u8 fast_modrm(struct insn *insn, struct arch_specific_insn *a)
{
	u8 opcode = insn->opcode.bytes[0], group = X86_MODRM_REG(insn->modrm.value);

	a->dst = reg_of_rm(insn);
	a->src = reg_of_reg(insn);

	switch (opcode & OP_ALU_FORM) {
	case OP_ALU_RM:
		swap(a->dst, a->src);
		fallthrough;
	case OP_ALU_MR:
		a->sub = opcode >> OP_ALU_SHIFT;
		return KPROBE_OP_ALU;
	}

	switch (opcode) {
	case 0x85:	/* test */
		a->sub = KPROBE_ALU_TEST;
		return KPROBE_OP_ALU;
	case OP_GRP1_I32:
	case OP_GRP1_I8:
		a->sub = group;
		return KPROBE_OP_ALU_IMM;
	case 0xf7:	/* group 3: test of an immediate */
		a->sub = KPROBE_ALU_TEST;
		return group == 0 ? KPROBE_OP_ALU_IMM : KPROBE_OP_STEP;
	case 0x8b:	/* mov to reg */
		swap(a->dst, a->src);
		fallthrough;
	case 0x89:	/* mov to rm */
		return KPROBE_OP_MOV;
	case OP_GRP11:	/* mov of an immediate */
		return group == 0 ? KPROBE_OP_MOV_IMM : KPROBE_OP_STEP;
	}

	return KPROBE_OP_STEP;
}

static u8 fast_op(struct insn *insn, struct arch_specific_insn *a, unsigned long next)
{
	u8 opcode = insn->opcode.bytes[0];

	a->width = insn->opnd_bytes;
	a->value = insn->immediate.value;

	switch (opcode) {
	case 0x50 ... 0x57:	/* push */
		a->src = reg_of_opcode(insn);
		return KPROBE_OP_PUSH;
	case 0x58 ... 0x5f:	/* pop */
		a->dst = reg_of_opcode(insn);
		return KPROBE_OP_POP;
	case OP_MOV_RI ... OP_MOV_RI | OP_REG:
		a->dst = reg_of_opcode(insn);
		a->value = wide_immediate(insn);
		return KPROBE_OP_MOV_IMM;
	case OP_LEA:
		return fast_lea(insn, a, next);
	case 0xa9:	/* test of ax and an immediate */
		a->sub = KPROBE_ALU_TEST;
		return KPROBE_OP_ALU_IMM;
	}

	if ((opcode & OP_ALU_FORM) == OP_ALU_AX_I) {
		a->sub = opcode >> OP_ALU_SHIFT;
		return KPROBE_OP_ALU_IMM;
	}
	return insn->modrm.nbytes && kprobe_insn_is_reg_form(insn) ? fast_modrm(insn, a) :
								     KPROBE_OP_STEP;
}

static void classify_fast(struct insn *insn, struct arch_specific_insn *a,
			  unsigned long next)
{
	u8 op;

	if (kprobe_insn_has_prefix(insn, PREFIX_LOCK) ||
	    kprobe_insn_has_prefix(insn, PREFIX_REPNE) ||
	    kprobe_insn_has_prefix(insn, PREFIX_REP) || kprobe_insn_has_prefix(insn, PREFIX_OPND))
		return;

	a->dst = reg_offset[0];
	op = fast_op(insn, a, next);
	/* These also read the flags. */
	if (a->sub == KPROBE_ALU_ADC || a->sub == KPROBE_ALU_SBB)
		return;
	/*
	 * On 32 bit, the exception returns through a frame below the new stack pointer, which must
	 * therefore stay near the old one.
	 */
	if (IS_ENABLED(CONFIG_X86_32) && a->dst == offsetof(struct pt_regs, sp) &&
	    a->sub < KPROBE_ALU_CMP)
		return;

	a->op = op;
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
static bool is_cfi_check(struct insn *insn, unsigned long addr)
{
	if (!IS_ENABLED(CONFIG_CFI))
		return false;

	switch (kprobe_insn_op(insn)) {
	case OP_MOV_RI | 2:
		return is_cfi_trap(addr + 12);
	case OP_ALU_RM:
		return is_cfi_trap(addr + 6);
	case 0x75:	/* jne */
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
static bool is_relocated_later(struct insn *insn, unsigned long addr)
{
	/* The field of an immediate also holds the address of a MOV without ModRM. */
	return (insn->displacement.nbytes >= sizeof(s32) ||
		insn->immediate.nbytes >= sizeof(s32)) && kprobe_in_livepatch(addr);
}

/* Decide how a probed instruction is executed. Fills in all of @a but the slot. */
enum kprobe_refusal kprobe_classify(struct kprobe_insn *ki, unsigned long addr,
				    struct arch_specific_insn *a)
{
	const struct exception_table_entry *fixup;
	struct insn *insn = &ki->insn;
	unsigned long next = addr + insn->length;
	enum kprobe_refusal why;

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
	if (insn_is_rex2(insn))
		return KPROBE_REFUSAL_ENCODING;

	why = why_refused(insn) ?: classify_special(insn, a, addr);
	if (why)
		return why;

	if (insn_rip_relative(insn) && insn->addr_bytes != sizeof(long))
		return KPROBE_REFUSAL_REACH;
	if (a->op != KPROBE_OP_STEP || fixup)
		return 0;

	a->boost = kprobe_boosts();
	if (kprobe_insn_is_nop(insn))
		a->op = KPROBE_OP_NOP;
	else if (!kprobe_insn_has_vex(insn) && insn->opcode.nbytes == 1)
		classify_fast(insn, a, next);
	return 0;
}
