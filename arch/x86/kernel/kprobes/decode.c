// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which instructions can be probed, and how each is executed then. Nothing here
 * changes anything.
 */

#include <linux/bitfield.h>
#include <linux/cfi.h>
#include <linux/extable.h>
#include <linux/kallsyms.h>
#include <linux/kgdb.h>
#include <linux/ptrace.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>

#include <asm/alternative.h>
#include <asm/extable.h>
#include <asm/insn-eval.h>

#include "common.h"

#define PREFIX_LOCK	0xf0
#define PREFIX_REPNE	0xf2
#define PREFIX_REP	0xf3
#define PREFIX_OPND	0x66
#define PREFIX_ADDR	0x67

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

static bool has_prefix(struct insn *insn, u8 wanted)
{
	insn_byte_t prefix;
	int i;

	for_each_insn_prefix(insn, i, prefix) {
		if (prefix == wanted)
			return true;
	}

	return false;
}

static u8 modrm_mod(const struct insn *insn)
{
	return X86_MODRM_MOD(insn->modrm.value);
}

/* The extension of the opcode in groups. */
static u8 modrm_reg(const struct insn *insn)
{
	return X86_MODRM_REG(insn->modrm.value);
}

static bool is_reg_form(const struct insn *insn)
{
	return modrm_mod(insn) == 3;
}

/*
 * Fetching
 */

/*
 * insn_decode() gets the length of some encodings wrong, which compilers do not
 * emit. Neither they nor what follows them can be trusted.
 */

/* CPUs disagree on whether this shortens the displacement in 64-bit mode. */
static bool is_branch16(struct insn *insn)
{
	return insn->x86_64 && has_prefix(insn, PREFIX_OPND);
}

static bool length_is_known_0f(struct insn *insn)
{
	switch (insn->opcode.bytes[1]) {
	case 0x05 ... 0x09: case 0x0b: case 0x0e: case 0x30 ... 0x35: case 0x37:
	case 0x77: case 0xa0 ... 0xa2: case 0xa8 ... 0xaa: case 0xc8 ... 0xcf:
		/* These have no ModRM byte; all others but branches have one. */
		return true;
	case 0x80 ... 0x8f:
		return !is_branch16(insn);
	case 0x20 ... 0x23:
		/* Moves from and to control registers ignore mod. */
		return is_reg_form(insn);
	case 0x71 ... 0x73:
		return insn->immediate.nbytes;
	case 0x78:
		/* EXTRQ and INSERTQ have immediates. */
		return !has_prefix(insn, PREFIX_OPND) && !has_prefix(insn, PREFIX_REPNE);
	}

	return insn->modrm.nbytes;
}

/*
 * insn_decode() reports no error for an opcode that is not in its tables, but takes
 * the opcode alone for the instruction. It looks SSE opcodes up by the last prefix,
 * so it does not find them if their mandatory prefix comes before another.
 */
static bool length_is_known(struct insn *insn)
{
	u8 opcode = insn->opcode.bytes[0];

	/* These are checked against the map, and the map is complete. */
	if (insn_is_avx(insn) || insn_is_rex2(insn))
		return true;

	switch (insn->opcode.nbytes) {
	case 1:
		if (opcode == 0x8f)	/* pop; else XOP */
			return modrm_reg(insn) == 0;
		if (opcode == CALL_INSN_OPCODE || opcode == JMP32_INSN_OPCODE)
			return !is_branch16(insn);
		/* A fifth prefix, or one after REX, is taken for the opcode. */
		if (insn->x86_64 && (inat_is_rex_prefix(insn->attr) ||
				     inat_is_rex2_prefix(insn->attr)))
			return false;
		return !inat_is_legacy_prefix(insn->attr);
	case 2:
		return length_is_known_0f(insn);
	default:
		return insn->modrm.nbytes;
	}
}

/**
 * kprobe_decode() - decode an instruction
 * @ki: bytes is set, insn is filled in
 * @len: how many of the bytes there are
 *
 * Context: any.
 * Return: 0, or -EILSEQ if the bytes are no instruction, or if its length is not
 *	   certain.
 */
int kprobe_decode(struct kprobe_insn *ki, int len)
{
	if (insn_decode(&ki->insn, ki->bytes, len, INSN_MODE_KERN))
		return -EILSEQ;

	return length_is_known(&ki->insn) ? 0 : -EILSEQ;
}

#ifdef CONFIG_KGDB
static bool is_kgdb_breakpoint(unsigned long at, u8 opcode)
{
	return opcode == INT3_INSN_OPCODE && kgdb_has_hit_break(at);
}
#else
static bool is_kgdb_breakpoint(unsigned long at, u8 opcode)
{
	return false;
}
#endif

static int fetch_one(unsigned long at, unsigned long end, struct kprobe_insn *ki)
{
	int len = min_t(unsigned long, end - at, MAX_INSN_SIZE);

	/* After the last symbol of a module there may be no page. */
	if (kprobe_read_text(at, ki->bytes, len) || is_kgdb_breakpoint(at, ki->bytes[0]))
		return -EILSEQ;

	return kprobe_decode(ki, len);
}

/**
 * kprobe_fetch_at() - read and decode an instruction of which the start is known
 * @at: where it starts
 * @end: where its function ends
 * @ki: set to the instruction, before there were probes
 *
 * Context: kprobe_mutex and text_mutex held.
 * Return: 0, or -EILSEQ if there is none.
 */
int kprobe_fetch_at(unsigned long at, unsigned long end, struct kprobe_insn *ki)
{
	return fetch_one(at, end, ki);
}

/**
 * kprobe_fetch() - read and decode the instruction at an address
 * @addr: the address
 * @ki: set to the instruction
 *
 * Only from the start of a function on is it known where instructions begin.
 *
 * Context: kprobe_mutex and text_mutex held.
 * Return: 0, -EINVAL if it belongs to no symbol, -EILSEQ if no instruction
 *	   begins there.
 */
int kprobe_fetch(unsigned long addr, struct kprobe_insn *ki)
{
	unsigned long size, into, at;
	int ret;

	if (!kallsyms_lookup_size_offset(addr, &size, &into))
		return -EINVAL;

	for (at = addr - into; at < addr; at += ki->insn.length) {
		ret = fetch_one(at, addr - into + size, ki);
		if (ret)
			return ret;
	}

	return at == addr ? fetch_one(at, addr - into + size, ki) : -EILSEQ;
}

/*
 * Classifying
 */

static u8 rex(const struct insn *insn)
{
	return insn->rex_prefix.nbytes ? insn->rex_prefix.bytes[0] : 0;
}

/* Offsets of the registers that the instruction names. */
static u8 reg_of_reg(const struct insn *insn)
{
	return reg_offset[modrm_reg(insn) | (X86_REX_R(rex(insn)) ? 8 : 0)];
}

static u8 reg_of_rm(const struct insn *insn)
{
	return reg_offset[X86_MODRM_RM(insn->modrm.value) |
			  (X86_REX_B(rex(insn)) ? 8 : 0)];
}

static u8 reg_of_opcode(const struct insn *insn)
{
	return reg_offset[(insn->opcode.bytes[0] & 7) |
			  (X86_REX_B(rex(insn)) ? 8 : 0)];
}

/*
 * Per-CPU data are found through this segment: it has to be right in every
 * trap, also in the one behind the instruction.
 */
#ifdef CONFIG_X86_64
#define SREG_PERCPU	5	/* gs */
#else
#define SREG_PERCPU	4	/* fs */
#endif
#define SREG_SS		2

static int branch(struct insn *insn, struct arch_specific_insn *a, u8 op,
		  unsigned long next)
{
	/* CPUs do not agree about it, or it cuts the instruction pointer. */
	if (has_prefix(insn, PREFIX_OPND))
		return -EOPNOTSUPP;

	a->op = op;
	a->value = next + insn->immediate.value;
	a->width = insn->addr_bytes;
	return 0;
}

static int indirect(struct insn *insn, struct arch_specific_insn *a, u8 op_reg,
		    u8 op_step)
{
	if (has_prefix(insn, PREFIX_OPND))
		return -EOPNOTSUPP;

	a->op = is_reg_form(insn) ? op_reg : op_step;
	if (is_reg_form(insn))
		a->src = reg_of_rm(insn);
	return 0;
}

/* Interrupts must not come between STI and what puts the CPU to sleep. */
static bool sleeps_behind(unsigned long next)
{
	u8 b[3] = {};

	if (copy_from_kernel_nofault(b, (void *)next, sizeof(b)))
		return false;

	return b[0] == 0xf4 ||
	       (b[0] == 0x0f && b[1] == 0x01 && (b[2] == 0xc9 || b[2] == 0xfb));
}

/* Invalid in 64-bit mode, so what looks like them is no code. */
static bool invalid_in_64bit(u8 opcode)
{
	switch (opcode) {
	case 0x06: case 0x07: case 0x0e: case 0x16: case 0x17: case 0x1e: case 0x1f:
	case 0x27: case 0x2f: case 0x37: case 0x3f: case 0x60: case 0x61: case 0x82:
	case 0xd4: case 0xd6:
		return IS_ENABLED(CONFIG_X86_64);
	}

	return false;
}

/* Control transfers, and whatever must not be executed out of line. */
static int classify_one_byte(struct insn *insn, struct arch_specific_insn *a,
			     unsigned long next)
{
	u8 opcode = insn->opcode.bytes[0];

	if (invalid_in_64bit(opcode))
		return -EILSEQ;

	switch (opcode) {
	case 0xcc: case 0xcd: case 0xce: case 0xf1:	/* int3, int, into, int1 */
		return -EILSEQ;
	case 0x70 ... 0x7f:
		a->sub = opcode & 0xf;
		return branch(insn, a, KPROBE_OP_JCC, next);
	case 0xe0: case 0xe1: case 0xe2: case 0xe3:
		return branch(insn, a, KPROBE_OP_LOOPNE + (opcode & 3), next);
	case 0xe8:
		return branch(insn, a, KPROBE_OP_CALL, next);
	case 0xe9: case 0xeb:
		return branch(insn, a, KPROBE_OP_JMP, next);
	case 0xc2: case 0xc3:
		a->value = opcode == 0xc2 ? (u16)insn->immediate.value : 0;
		if (has_prefix(insn, PREFIX_OPND))
			return -EOPNOTSUPP;
		a->op = KPROBE_OP_RET;
		return 0;
	case 0x9a: case 0xea: case 0xca: case 0xcb: case 0xcf:	/* far, iret */
		return -EOPNOTSUPP;
	case 0xff:
		switch (modrm_reg(insn)) {
		case 2:
			return indirect(insn, a, KPROBE_OP_CALL_REG,
					KPROBE_OP_STEP_CALL);
		case 4:
			return indirect(insn, a, KPROBE_OP_JMP_REG,
					KPROBE_OP_STEP_JMP);
		case 3: case 5:				/* far */
			return -EOPNOTSUPP;
		case 7:
			return -EILSEQ;
		}
		return 0;
	case 0xfa:
		a->op = KPROBE_OP_CLI;
		return 0;
	case 0xfb:
		if (sleeps_behind(next))
			return -EINVAL;
		a->op = KPROBE_OP_STI;
		return 0;
	case 0x9c: case 0x9d:
		a->op = opcode == 0x9c ? KPROBE_OP_PUSHF : KPROBE_OP_POPF;
		a->width = has_prefix(insn, PREFIX_OPND) ? 2 : sizeof(long);
		return 0;
	case 0xf4:			/* hlt: interrupts are off in a step */
		return -EINVAL;
	case 0x8e:			/* mov to a segment register */
		if (modrm_reg(insn) == SREG_SS || modrm_reg(insn) == SREG_PERCPU)
			return -EINVAL;
		return 0;
	case 0x17:			/* pop %ss */
		return -EINVAL;
	case 0xc6: case 0xc7:		/* xabort, xbegin */
		return insn->modrm.value == 0xf8 ? -EOPNOTSUPP : 0;
	}

	return 0;
}

/* Group 7: system instructions without a common trait. */
static int classify_0f01(struct insn *insn)
{
	if (!is_reg_form(insn)) {
		switch (modrm_reg(insn)) {
		case 2: case 3:		/* lgdt, lidt */
		case 6:			/* lmsw */
			return -EINVAL;
		}
		return 0;
	}

	switch (insn->modrm.value) {
	case 0xc2: case 0xc3:		/* vmlaunch, vmresume */
	case 0xd8: case 0xda:		/* vmrun, vmload */
	case 0xf8:			/* swapgs */
	case 0xc9: case 0xfb:		/* mwait, mwaitx */
		return -EINVAL;
	case 0xca:			/* clac; else erets, eretu */
	case 0xec:			/* uiret */
		if (has_prefix(insn, PREFIX_REP) || has_prefix(insn, PREFIX_REPNE))
			return -EOPNOTSUPP;
		return 0;
	}

	return modrm_reg(insn) == 6 ? -EINVAL : 0;	/* lmsw */
}

static int classify_0f(struct insn *insn, struct arch_specific_insn *a,
		       unsigned long next)
{
	u8 opcode = insn->opcode.bytes[1];
	bool rep = has_prefix(insn, PREFIX_REP);

	switch (opcode) {
	case 0x0b: case 0xb9: case 0xff:		/* ud2, ud1, ud0 */
		return -EILSEQ;
	case 0x80 ... 0x8f:
		a->sub = opcode & 0xf;
		return branch(insn, a, KPROBE_OP_JCC, next);
	case 0x05: case 0x07: case 0x34: case 0x35: case 0xaa:
		return -EOPNOTSUPP;			/* syscall..., rsm */
	case 0x00:					/* lldt, ltr */
		return modrm_reg(insn) == 2 || modrm_reg(insn) == 3 ? -EINVAL : 0;
	case 0x01:
		return classify_0f01(insn);
	case 0x22:					/* mov to cr0, cr3 */
		if (X86_REX_R(rex(insn)))
			return 0;
		return modrm_reg(insn) == 0 || modrm_reg(insn) == 3 ? -EINVAL : 0;
	case 0xae:
		if (!is_reg_form(insn))
			return 0;
		if (rep && modrm_reg(insn) == 3)	/* wrgsbase */
			return -EINVAL;
		if (modrm_reg(insn) == 6 &&		/* tpause, umwait */
		    (has_prefix(insn, PREFIX_OPND) || has_prefix(insn, PREFIX_REPNE)))
			return -EINVAL;
		return 0;
	case 0xb2:					/* lss */
		return -EINVAL;
	case 0xa1: case 0xb4:				/* pop %fs, lfs */
		return SREG_PERCPU == 4 ? -EINVAL : 0;
	case 0xa9: case 0xb5:				/* pop %gs, lgs */
		return SREG_PERCPU == 5 ? -EINVAL : 0;
	}

	return 0;
}

/*
 * Fast forms: frequent, touching nothing but registers and the stack, so that
 * they can be emulated without ever faulting.
 */

static bool may_write(u8 dst)
{
	/*
	 * Where the exception returns through a frame that is built below the
	 * new stack pointer, that may not move far.
	 */
	return IS_ENABLED(CONFIG_X86_64) || dst != offsetof(struct pt_regs, sp);
}

static void fast_alu(struct arch_specific_insn *a, u8 sub, u8 dst, u8 src)
{
	/* adc, sbb */
	if (sub == 2 || sub == 3)
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

static void fast_mov_imm(struct arch_specific_insn *a, u8 dst, long value)
{
	if (!may_write(dst))
		return;

	a->op = KPROBE_OP_MOV_IMM;
	a->dst = dst;
	a->value = value;
}

/* Base, index and displacement: an address of memory is not touched by LEA. */
static void fast_lea(struct insn *insn, struct arch_specific_insn *a,
		     unsigned long next)
{
	u8 sib = insn->sib.value, base = X86_MODRM_RM(insn->modrm.value);
	u8 dst = reg_of_reg(insn);

	if (is_reg_form(insn) || insn->addr_bytes != sizeof(long))
		return;

	if (insn_rip_relative(insn)) {
		fast_mov_imm(a, dst, next + insn->displacement.value);
		return;
	}

	a->src = reg_of_rm(insn);
	a->index = KPROBE_NO_REG;
	if (insn->sib.nbytes) {
		u8 index = X86_SIB_INDEX(sib) | (X86_REX_X(rex(insn)) ? 8 : 0);

		base = X86_SIB_BASE(sib);
		a->src = reg_offset[base | (X86_REX_B(rex(insn)) ? 8 : 0)];
		if (index != 4)
			a->index = reg_offset[index];
		a->shift = X86_SIB_SCALE(sib);
	}
	/* Without displacement, bp means that there is one but no base. */
	if (base == 5 && modrm_mod(insn) == 0)
		a->src = KPROBE_NO_REG;

	if (!may_write(dst))
		return;
	a->op = KPROBE_OP_LEA;
	a->dst = dst;
	a->value = insn->displacement.value;
}

static long wide_immediate(const struct insn *insn)
{
#ifdef CONFIG_X86_64
	if (insn->immediate2.nbytes)
		return (u32)insn->immediate1.value |
		       (long)insn->immediate2.value << 32;
#endif
	return insn->immediate.value;
}

static void classify_fast(struct insn *insn, struct arch_specific_insn *a,
			  unsigned long next)
{
	u8 opcode = insn->opcode.bytes[0];

	if (has_prefix(insn, PREFIX_LOCK) || has_prefix(insn, PREFIX_REPNE) ||
	    has_prefix(insn, PREFIX_REP) || has_prefix(insn, PREFIX_OPND))
		return;

	a->width = insn->opnd_bytes;
	switch (opcode) {
	case 0x50 ... 0x57:
		a->op = KPROBE_OP_PUSH;
		a->src = reg_of_opcode(insn);
		return;
	case 0x58 ... 0x5f:
		a->dst = reg_of_opcode(insn);
		if (may_write(a->dst))
			a->op = KPROBE_OP_POP;
		return;
	case 0xb8 ... 0xbf:
		fast_mov_imm(a, reg_of_opcode(insn), wide_immediate(insn));
		return;
	case 0x8d:
		fast_lea(insn, a, next);
		return;
	case 0x05: case 0x0d: case 0x25: case 0x2d: case 0x35: case 0x3d:
		fast_alu_imm(a, opcode >> 3, reg_offset[0], insn->immediate.value);
		return;
	case 0xa9:
		fast_alu_imm(a, KPROBE_ALU_TEST, reg_offset[0], insn->immediate.value);
		return;
	}

	/* What follows has a second operand that must not be in memory. */
	if (!insn->modrm.nbytes || !is_reg_form(insn))
		return;

	switch (opcode) {
	case 0x01: case 0x09: case 0x21: case 0x29: case 0x31: case 0x39:
		fast_alu(a, opcode >> 3, reg_of_rm(insn), reg_of_reg(insn));
		return;
	case 0x03: case 0x0b: case 0x23: case 0x2b: case 0x33: case 0x3b:
		fast_alu(a, opcode >> 3, reg_of_reg(insn), reg_of_rm(insn));
		return;
	case 0x85:
		fast_alu(a, KPROBE_ALU_TEST, reg_of_rm(insn), reg_of_reg(insn));
		return;
	case 0x81: case 0x83:
		fast_alu_imm(a, modrm_reg(insn), reg_of_rm(insn), insn->immediate.value);
		return;
	case 0xf7:
		if (modrm_reg(insn) == 0)
			fast_alu_imm(a, KPROBE_ALU_TEST, reg_of_rm(insn),
				     insn->immediate.value);
		return;
	case 0x89: case 0x8b:
		a->dst = opcode == 0x89 ? reg_of_rm(insn) : reg_of_reg(insn);
		a->src = opcode == 0x89 ? reg_of_reg(insn) : reg_of_rm(insn);
		if (may_write(a->dst))
			a->op = KPROBE_OP_MOV;
		return;
	case 0xc7:
		if (modrm_reg(insn) == 0)
			fast_mov_imm(a, reg_of_rm(insn), insn->immediate.value);
		return;
	}
}

/*
 * All the ways to say nothing. Landing pads are not among them.
 *
 * After an indirect branch, a CPU that enforces IBT waits for ENDBR, and raises #CP
 * for what else it finds; INT3 is exempt, so a breakpoint on ENDBR is hit as it is
 * elsewhere. Without FRED the exception ends the waiting. With FRED, returning from
 * it resumes the waiting (see ibt_clear_fred_wfe()): only an ENDBR ends it, which the
 * copy of the probed one is. Emulated, it would end in a #CP at the next instruction.
 */
static bool is_nop(struct insn *insn)
{
	if (insn->opcode.nbytes == 1)
		/* With REX.B it exchanges two registers. */
		return insn->opcode.bytes[0] == 0x90 && !X86_REX_B(rex(insn));

	return insn->opcode.bytes[1] == 0x1f;
}

/*
 * The check of a kCFI caller is decoded backwards from its trap; these are the
 * two instructions that are read.
 */
static bool is_cfi_check(const struct insn *insn, unsigned long addr)
{
	if (!IS_ENABLED(CONFIG_CFI_CLANG) || insn->opcode.nbytes != 1)
		return false;

	switch (insn->opcode.bytes[0]) {
	case 0xba:
		return is_cfi_trap(addr + 12);
	case 0x03:
		return is_cfi_trap(addr + 6);
	}

	return false;
}

/* Does a fixup look at the text, or come from a trap that kprobes do not see? */
static bool fixup_needs_place(const struct exception_table_entry *e)
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
 * A livepatch is relocated when the object that it patches is loaded, and again for
 * each time that this happens; before, and in between, the operands are zero. Copies
 * would keep what they were made with. Relocations are four or eight bytes wide.
 */
static bool is_relocated_later(const struct insn *insn, unsigned long addr)
{
	/* Addresses of MOV without ModRM share their field with the immediates. */
	return (insn->displacement.nbytes >= 4 || insn->immediate.nbytes >= 4) &&
	       kprobe_in_livepatch(addr);
}

/*
 * A boosted copy runs without a current probe and with interrupts on, until
 * its slot has been through a grace period. Without preemption, but with its
 * counter, RCU takes any tick in the slot for the end of one.
 */
static bool may_boost(void)
{
	return IS_ENABLED(CONFIG_PREEMPTION) || !IS_ENABLED(CONFIG_PREEMPT_COUNT);
}

/**
 * kprobe_classify() - decide how a probed instruction is executed
 * @ki: the instruction
 * @addr: where it stands
 * @a: filled in, but for the slot
 *
 * Context: kprobe_mutex and text_mutex held.
 * Return: 0, or why it cannot be probed: -EILSEQ no instruction to be executed;
 *	   -EINVAL it needs to run in its place, or the text belongs to somebody
 *	   else; -EOPNOTSUPP a control transfer that is not emulated.
 */
int kprobe_classify(struct kprobe_insn *ki, unsigned long addr,
		    struct arch_specific_insn *a)
{
	const struct exception_table_entry *fixup = search_exception_tables(addr);
	struct insn *insn = &ki->insn;
	unsigned long next = addr + insn->length;
	bool avx = insn_is_avx(insn);
	int ret = 0;

	*a = (struct arch_specific_insn) {
		.op	= KPROBE_OP_STEP,
		.len	= insn->length,
	};

	if (insn_has_emulate_prefix(insn) || is_cfi_check(insn, addr))
		return -EINVAL;
	/* The first byte may change from DS to LOCK when a second CPU comes. */
	if (alternatives_text_reserved((void *)addr, (void *)next))
		return -EINVAL;
	if (fixup && fixup_needs_place(fixup))
		return -EINVAL;
	if (is_relocated_later(insn, addr))
		return -EINVAL;
	/* No compiler emits them yet, and one of them is a jump. */
	if (insn_is_rex2(insn))
		return -EOPNOTSUPP;

	/* The opcode of an AVX instruction is counted in a map of its own. */
	if (!avx && insn->opcode.nbytes == 1)
		ret = classify_one_byte(insn, a, next);
	else if (!avx && insn->opcode.nbytes == 2)
		ret = classify_0f(insn, a, next);
	if (ret)
		return ret;

	if (insn_rip_relative(insn) && insn->addr_bytes != sizeof(long))
		return -EINVAL;
	if (a->op != KPROBE_OP_STEP || fixup)
		return 0;

	a->boost = may_boost();
	if (!avx && insn->opcode.nbytes <= 2 && is_nop(insn))
		a->op = KPROBE_OP_NOP;
	else if (!avx && insn->opcode.nbytes == 1)
		classify_fast(insn, a, next);
	return 0;
}

/**
 * kprobe_copy() - make a copy of an instruction for another place
 * @buf: where the copy is assembled
 * @ki: the instruction
 * @from: where it stands
 * @to: where the copy will
 *
 * Return: its length, or -EINVAL if what it refers to is too far away.
 */
int kprobe_copy(u8 *buf, struct kprobe_insn *ki, unsigned long from,
		unsigned long to)
{
	struct insn *insn = &ki->insn;
	long disp;

	memcpy(buf, ki->bytes, insn->length);
	if (insn_rip_relative(insn)) {
		disp = insn->displacement.value + (long)(from - to);
		if (disp != (s32)disp)
			return -EINVAL;
		put_unaligned((s32)disp, (s32 *)(buf + insn_offset_displacement(insn)));
	}

	return insn->length;
}
