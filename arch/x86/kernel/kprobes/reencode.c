// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copies of instructions for detours. They run far from where they were written
 * for, and nobody corrects anything behind them: what depends on the place is
 * encoded in another way. Nothing here changes anything.
 */

#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/unaligned.h>

#include <asm/nospec-branch.h>

#include "common.h"

#define PUSH_IMM32	0x68
#define PUSH_IMM32_SIZE	5

/* A displacement of 32 bits is the last part of the @len bytes at @to. */
static int put_disp(u8 *buf, int len, unsigned long to, unsigned long target)
{
	long disp = target - (to + len);

	if (disp != (s32)disp)
		return -ERANGE;

	put_unaligned((s32)disp, (s32 *)(buf + len - sizeof(s32)));
	return len;
}

static int put_jmp(u8 *buf, unsigned long to, unsigned long target)
{
	buf[0] = JMP32_INSN_OPCODE;
	return put_disp(buf, JMP32_INSN_SIZE, to, target);
}

static int put_jcc(u8 *buf, u8 condition, unsigned long to, unsigned long target)
{
	buf[0] = 0x0f;
	buf[1] = 0x80 | condition;
	return put_disp(buf, 6, to, target);
}

/* These have only short forms: they hop over the jump that is not taken. */
static int put_loop(u8 *buf, struct kprobe_insn *ki, unsigned long to,
		    unsigned long target)
{
	int len = ki->insn.length, ret;

	memcpy(buf, ki->bytes, len - 1);
	buf[len - 1] = JMP8_INSN_SIZE;
	buf[len] = JMP8_INSN_OPCODE;
	buf[len + 1] = JMP32_INSN_SIZE;
	len += JMP8_INSN_SIZE;

	ret = put_jmp(buf + len, to + len, target);
	return ret < 0 ? ret : len + ret;
}

/*
 * The callee may sleep, which ends the grace periods that detours wait for; and
 * unwinders look at what it returns to. So that is the program's own text.
 */
static int put_return_address(u8 *buf, unsigned long next)
{
	if ((long)next != (s32)next)
		return -ERANGE;

	buf[0] = PUSH_IMM32;
	put_unaligned((s32)next, (s32 *)(buf + 1));
	return PUSH_IMM32_SIZE;
}

static int put_call(u8 *buf, unsigned long next, unsigned long to,
		    unsigned long target)
{
	int len = put_return_address(buf, next), ret;

	if (len < 0)
		return len;

	ret = put_jmp(buf + len, to + len, target);
	return ret < 0 ? ret : len + ret;
}

/* Where they may stand is known only to who made thunks of them. */
static bool indirect_needs_place(void)
{
	return cpu_feature_enabled(X86_FEATURE_RETPOLINE) ||
	       cpu_feature_enabled(X86_FEATURE_INDIRECT_THUNK_ITS);
}

/* Does an operand mean the stack pointer, from which a push takes a word? */
static bool operand_has_sp(const struct insn *insn)
{
	u8 rex = insn->rex_prefix.nbytes ? insn->rex_prefix.bytes[0] : 0;
	u8 modrm = insn->modrm.value;

	if (X86_REX_B(rex) || X86_MODRM_RM(modrm) != 4)
		return false;

	return X86_MODRM_MOD(modrm) == 3 || X86_SIB_BASE(insn->sib.value) == 4;
}

static int put_copy(u8 *buf, struct kprobe_insn *ki, unsigned long from,
		    unsigned long to)
{
	int ret = kprobe_copy(buf, ki, from, to);

	return ret < 0 ? -ERANGE : ret;
}

static int put_call_indirect(u8 *buf, struct kprobe_insn *ki, unsigned long from,
			     unsigned long to)
{
	int len, ret;
	u8 *modrm;

	if (operand_has_sp(&ki->insn))
		return -EINVAL;

	len = put_return_address(buf, from + ki->insn.length);
	if (len < 0)
		return len;
	ret = put_copy(buf + len, ki, from, to + len);
	if (ret < 0)
		return ret;

	/* The call becomes a jump: /2, /4. */
	modrm = buf + len + insn_offset_modrm(&ki->insn);
	*modrm = (*modrm & ~0x38) | 4 << 3;
	return len + ret;
}

static int put_ret(u8 *buf, struct kprobe_insn *ki, unsigned long from,
		   unsigned long to)
{
	if (!cpu_wants_rethunk_at((void *)to))
		return put_copy(buf, ki, from, to);

	/* The thunk takes nothing but the address off the stack. */
	if (ki->insn.opcode.bytes[0] != RET_INSN_OPCODE)
		return -EINVAL;
	return put_jmp(buf, to, (unsigned long)x86_return_thunk);
}

/**
 * kprobe_reencode() - make what does in a detour what an instruction does
 * @buf: where it is assembled, KPROBE_MAX_REENCODED bytes
 * @ki: the instruction
 * @a: as it was classified
 * @from: where it stands
 * @to: where @buf will
 *
 * Return: its length; -ERANGE if something is too far away; -EINVAL if there is
 *	   no such thing.
 */
int kprobe_reencode(u8 *buf, struct kprobe_insn *ki,
		    const struct arch_specific_insn *a,
		    unsigned long from, unsigned long to)
{
	switch (a->op) {
	case KPROBE_OP_JCC:
		return put_jcc(buf, a->sub, to, a->value);
	case KPROBE_OP_JMP:
		return put_jmp(buf, to, a->value);
	case KPROBE_OP_LOOPNE:
	case KPROBE_OP_LOOPE:
	case KPROBE_OP_LOOP:
	case KPROBE_OP_JCXZ:
		return put_loop(buf, ki, to, a->value);
	case KPROBE_OP_CALL:
		return put_call(buf, from + a->len, to, a->value);
	case KPROBE_OP_CALL_REG:
	case KPROBE_OP_STEP_CALL:
		if (indirect_needs_place())
			return -EINVAL;
		return put_call_indirect(buf, ki, from, to);
	case KPROBE_OP_JMP_REG:
	case KPROBE_OP_STEP_JMP:
		if (indirect_needs_place())
			return -EINVAL;
		return put_copy(buf, ki, from, to);
	case KPROBE_OP_RET:
		return put_ret(buf, ki, from, to);
	default:
		return put_copy(buf, ki, from, to);
	}
}
