// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes copies of instructions for detours. A copy runs far from the address that it
 * was written for, and nothing is fixed up after it. So an instruction that depends
 * on its address is encoded in another way. Changes nothing.
 */

#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/unaligned.h>

#include <asm/nospec-branch.h>

#include "common.h"
#include "insn.h"

static int put_jmp(u8 *buf, unsigned long to, unsigned long target)
{
	buf[0] = JMP32_INSN_OPCODE;
	return kprobe_put_rel32(buf, JMP32_INSN_SIZE, to, target) ?: JMP32_INSN_SIZE;
}

static int put_jcc(u8 *buf, u8 condition, unsigned long to, unsigned long target)
{
	buf[0] = OP_ESCAPE;
	buf[1] = OP2_JCC32 | condition;
	return kprobe_put_rel32(buf, JCC32_INSN_SIZE, to, target) ?: JCC32_INSN_SIZE;
}

/* These have only short forms, which skip the jump that is not taken. */
static int put_loop(u8 *buf, const struct kprobe_insn *ki, unsigned long to,
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
 * A call returns to the program's own text: the callee may sleep, so grace periods
 * would not keep the detour for its return, and unwinders look at the address.
 */
static int put_return_address(u8 *buf, unsigned long next)
{
	if ((long)next != (s32)next)
		return -ERANGE;

	buf[0] = OP_PUSH_I32;
	put_unaligned((s32)next, (s32 *)(buf + 1));
	return PUSH_I32_INSN_SIZE;
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

/* Mitigations that use thunks determine where indirect branches may be. */
static bool has_branch_thunks(void)
{
	return cpu_feature_enabled(X86_FEATURE_RETPOLINE) ||
	       cpu_feature_enabled(X86_FEATURE_INDIRECT_THUNK_ITS);
}

static int put_call_indirect(u8 *buf, const struct kprobe_insn *ki, unsigned long from,
			     unsigned long to)
{
	int len, ret;

	/* The push would change it first. */
	if (kprobe_insn_operand_has_sp(&ki->insn))
		return -EINVAL;

	len = put_return_address(buf, from + ki->insn.length);
	if (len < 0)
		return len;
	ret = kprobe_copy(buf + len, ki, from, to + len);
	if (ret < 0)
		return ret;

	modrm_set_reg(buf + len + kprobe_insn_modrm_offset(&ki->insn), GRP5_JMP);
	return len + ret;
}

static int put_ret(u8 *buf, const struct kprobe_insn *ki, unsigned long from,
		   unsigned long to)
{
	if (!cpu_wants_rethunk_at((void *)to))
		return kprobe_copy(buf, ki, from, to);

	/* The thunk pops nothing but the return address. */
	if (!kprobe_insn_is_ret(&ki->insn))
		return -EINVAL;
	return put_jmp(buf, to, (unsigned long)x86_return_thunk);
}

/**
 * kprobe_reencode() - make code that has the effect of an instruction in a detour
 * @buf: where it is assembled, KPROBE_MAX_REENCODED bytes
 * @ki: the instruction
 * @a: set by kprobe_classify() for it
 * @from: address of the instruction
 * @to: address of the code
 *
 * Context: any.
 * Return: the length of the code; -ERANGE if an operand is out of reach; -EINVAL if
 *	   there is no such code.
 */
int kprobe_reencode(u8 *buf, const struct kprobe_insn *ki,
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
		if (has_branch_thunks())
			return -EINVAL;
		return put_call_indirect(buf, ki, from, to);
	case KPROBE_OP_JMP_REG:
	case KPROBE_OP_STEP_JMP:
		if (has_branch_thunks())
			return -EINVAL;
		return kprobe_copy(buf, ki, from, to);
	case KPROBE_OP_RET:
		return put_ret(buf, ki, from, to);
	default:
		return kprobe_copy(buf, ki, from, to);
	}
}
