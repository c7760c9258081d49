// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decodes functions, for the targets of their short branches, and for what keeps jumps out
 * of the whole function.
 */

#include <linux/align.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/memory.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/string.h>

#include "common.h"
#include "insn.h"
#include "targets.h"

/*
 * Is it a thunk that jumps to an address in a register? Some of them do not count as
 * kernel text.
 */
static bool is_thunk(unsigned long addr)
{
	char buf[KSYM_NAME_LEN];
	const char *name;

	if (!core_kernel_text(addr) && !is_module_text_address(addr))
		return true;

	name = kprobe_name_at(addr, buf);
	return name && strstarts(name, "__x86_indirect_");
}

/*
 * Does the instruction jump to an address in a register? The address may have been
 * computed from a relative offset. Absolute addresses are found by the scan.
 */
static bool is_computed_jump(const struct insn *insn, unsigned long addr,
			     unsigned long start, unsigned long end)
{
	unsigned long target = kprobe_insn_target(insn, addr);

	if (kprobe_insn_is_jmp_indirect(insn))
		return kprobe_insn_is_reg_form(insn);
	if (kprobe_insn_op(insn) == JMP32_INSN_OPCODE || kprobe_insn_is_jcc32(insn))
		return (target < start || target >= end) && is_thunk(target);
	return false;
}

/* ftrace may have put a jump to a BPF trampoline there, for as long as it is attached. */
static bool is_ftrace_site(unsigned long addr)
{
	return ftrace_location(addr) == addr;
}

/*
 * On 32 bit, handlers access all data through segments, and per-CPU data through a
 * special one. A breakpoint loads them; a detour runs with the current ones.
 */
static bool loads_segment(const struct insn *insn)
{
	if (IS_ENABLED(CONFIG_X86_64))
		return false;

	switch (kprobe_insn_op(insn)) {
	case OP_POP_ES:
	case OP_POP_DS:
	case OP_LES:
	case OP_LDS:
	case OP_0F(OP2_POP_FS):
	case OP_0F(OP2_LFS):
		return true;
	case OP_MOV_SREG:
		/* The kernel does not use GS. */
		return kprobe_insn_modrm_reg(insn) != SREG_GS;
	}

	return false;
}

/* Does the instruction push or pop 16 bits? */
static bool moves_half_words(const struct insn *insn)
{
	if (!kprobe_insn_has_prefix(insn, PREFIX_OPND) || X86_REX_W(kprobe_insn_rex(insn)))
		return false;

	switch (kprobe_insn_op(insn)) {
	case OP_PUSH_R ... OP_PUSH_R | OP_REG:
	case OP_POP_R ... OP_POP_R | OP_REG:
	case OP_PUSH_I32:
	case OP_PUSH_I8:
	case OP_PUSHF:
	case OP_POPF:
	case OP_ENTER:
	case OP_LEAVE:
	case OP_0F(OP2_PUSH_FS):
	case OP_0F(OP2_POP_FS):
	case OP_0F(OP2_PUSH_GS):
	case OP_0F(OP2_POP_GS):
		return true;
	case OP_GRP1A:
		return kprobe_insn_modrm_reg(insn) == GRP1A_POP;
	case OP_GRP5:
		return kprobe_insn_modrm_reg(insn) == GRP5_PUSH;
	}

	return false;
}

/* Does it move the stack pointer by what is no multiple of a word? */
static bool moves_stack_unevenly(const struct insn *insn)
{
	u32 op = kprobe_insn_op(insn);
	u8 operation = kprobe_insn_modrm_reg(insn);

	return (op == OP_GRP1_I32 || op == OP_GRP1_I8) &&
	       (operation == GRP1_ADD || operation == GRP1_SUB) &&
	       kprobe_insn_is_reg_form(insn) && kprobe_insn_modrm_rm(insn) == REG_SP &&
	       !X86_REX_B(kprobe_insn_rex(insn)) &&
	       !IS_ALIGNED(insn->immediate.value, sizeof(long));
}

/*
 * C code relies on an aligned stack: KASAN computes addresses from it, and a lock must not be
 * split between cache lines. On 64 bit, a breakpoint aligns it; aligning it in each detour would
 * cost all hits, for functions that hardly exist. On 32 bit, not even exceptions align it.
 */
static bool misaligns_stack(const struct insn *insn)
{
	return IS_ENABLED(CONFIG_X86_64) &&
	       (moves_half_words(insn) || moves_stack_unevenly(insn));
}

/* Zeros follow the last function of a module; the last one may be half an instruction. */
static bool is_tail(unsigned long at, unsigned long end)
{
	u8 byte = 0;

	return end - at == 1 && !kprobe_read_text(at, &byte, 1) && !byte;
}

/**
 * kprobe_targets_sweep() - mark the targets of short branches in a function
 * @t: the map
 * @start: start of the function
 * @end: its end
 *
 * Context: kprobe_mutex and text_mutex held.
 * Return: what the function does, enum kprobe_swept.
 */
enum kprobe_swept kprobe_targets_sweep(struct kprobe_targets *t, unsigned long start,
				       unsigned long end)
{
	enum kprobe_swept found = KPROBE_SWEPT_PLAIN;
	struct kprobe_insn ki;
	unsigned long at;

	lockdep_assert_held(&text_mutex);

	for (at = start; at < end; at += kprobe_skip(&ki, at)) {
		if (kprobe_fetch_at(at, end, &ki))
			return is_tail(at, end) ? found : KPROBE_SWEPT_UNDECODED;

		if (kprobe_insn_is_short_branch(&ki.insn))
			kprobe_targets_mark(t, kprobe_insn_target(&ki.insn, at));
		else if (loads_segment(&ki.insn))
			found = KPROBE_SWEPT_SEGMENTS;
		else if (misaligns_stack(&ki.insn))
			found = KPROBE_SWEPT_MISALIGNS;
		else if (!kprobe_has_landing_pads(t) &&
			 is_computed_jump(&ki.insn, at, start, end) && !is_ftrace_site(at))
			found = max(found, KPROBE_SWEPT_COMPUTED);
	}

	return found;
}
