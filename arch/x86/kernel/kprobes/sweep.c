// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decodes functions, for the targets of their short branches, and for what keeps jumps out of the
 * whole function. targets.c explains what for. A function is the text from one symbol to the
 * next.
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

/* A thunk that jumps to an address in a register. Some thunks do not count as kernel text. */
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
 * A jump to an address in a register, which may have been computed from a relative offset.
 * Absolute addresses are found by the scan.
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

/* While a BPF trampoline is attached, ftrace has a jump to it there. */
static bool is_ftrace_site(unsigned long addr)
{
	return ftrace_location(addr) == addr;
}

/*
 * On 32 bit, handlers access all data through segments, and per-CPU data through a special one. A
 * breakpoint loads them; a detour runs with the current ones.
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

static bool pushes_or_pops_16_bits(const struct insn *insn)
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

/* The constant is added to the stack pointer, or subtracted. */
static bool adds_unaligned_to_sp(const struct insn *insn)
{
	u8 reg = kprobe_insn_modrm_reg(insn);
	long constant;

	switch (kprobe_insn_op(insn)) {
	case OP_GRP1_I32:
	case OP_GRP1_I8:
		if (reg != KPROBE_ALU_ADD && reg != KPROBE_ALU_SUB)
			return false;
		if (!kprobe_insn_is_reg_form(insn) || !kprobe_insn_operand_has_sp(insn))
			return false;
		constant = insn->immediate.value;
		break;
	case OP_LEA:
		if (reg != REG_SP || X86_REX_R(kprobe_insn_rex(insn)) ||
		    !kprobe_insn_operand_has_sp(insn))
			return false;
		constant = insn->displacement.value;
		break;
	case OP_ENTER:
		constant = insn->immediate.value;
		break;
	default:
		return false;
	}

	return !IS_ALIGNED(constant, sizeof(long));
}

/*
 * C code relies on an aligned stack: KASAN computes addresses from it, and a lock must not be
 * split between cache lines. On 64 bit, a breakpoint aligns it. Aligning it in each detour would
 * cost all hits, for functions that only assembly can contain. Their callees run on the same
 * stack, but are not recognized. On 32 bit, not even exceptions align it.
 */
static bool misaligns_stack(const struct insn *insn)
{
	return IS_ENABLED(CONFIG_X86_64) &&
	       (pushes_or_pops_16_bits(insn) || adds_unaligned_to_sp(insn));
}

/* Zeros follow the last function of a module. An odd one is half an instruction. */
static bool is_tail(unsigned long at, unsigned long end)
{
	u8 byte = 0;

	return end - at == 1 && !kprobe_read_text(at, &byte, 1) && !byte;
}

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
			found = max(found, KPROBE_SWEPT_SEGMENTS);
		else if (misaligns_stack(&ki.insn))
			found = max(found, KPROBE_SWEPT_MISALIGNS);
		else if (!t->landing_pads && is_computed_jump(&ki.insn, at, start, end) &&
			 !is_ftrace_site(at))
			found = max(found, KPROBE_SWEPT_COMPUTED);
	}

	return found;
}

/*
 * The first three bits of a function store the result. The few functions that are shorter or not
 * aligned are decoded each time, and so are those that cannot be decoded: the reason may be a
 * breakpoint of the debugger, which will not stay.
 */
static enum kprobe_swept sweep_once(struct kprobe_targets *t, unsigned long start,
				    unsigned long end)
{
	unsigned long bit = (start - t->start) / KPROBE_SWEPT_GRANULE;
	bool fits = IS_ALIGNED(start - t->start, KPROBE_SWEPT_GRANULE) &&
		    end - start >= 3 * KPROBE_SWEPT_GRANULE;
	enum kprobe_swept found;

	if (fits && test_bit(bit, t->swept))
		return KPROBE_SWEPT_PLAIN + test_bit(bit + 1, t->swept) +
		       2 * test_bit(bit + 2, t->swept);

	found = kprobe_targets_sweep(t, start, end);
	if (fits && found != KPROBE_SWEPT_UNDECODED) {
		BUILD_BUG_ON(KPROBE_SWEPT_UNDECODED - KPROBE_SWEPT_PLAIN > 4);
		__set_bit(bit, t->swept);
		__assign_bit(bit + 1, t->swept, (found - KPROBE_SWEPT_PLAIN) & 1);
		__assign_bit(bit + 2, t->swept, (found - KPROBE_SWEPT_PLAIN) & 2);
	}
	return found;
}

/* The largest distance of a short branch from its target. */
#define REACH	(128 + JMP8_INSN_SIZE)

/* Padding before the first symbol of a module counts as a function, too. */
static bool function_at(struct kprobe_targets *t, unsigned long addr,
			unsigned long *start, unsigned long *end)
{
	unsigned long size, into;

	if (kallsyms_lookup_size_offset(addr, &size, &into)) {
		*start = addr - into;
		*end = *start + size;
		return *end > addr;
	}

	*start = t->start;
	for (*end = addr + 1; *end < t->start + t->size; ++*end) {
		if (kallsyms_lookup_size_offset(*end, &size, &into))
			return true;
	}

	return false;
}

/*
 * Decode all functions whose short branches may reach @len bytes from @addr on. Returns what is
 * found in the function at @own, if all others can be decoded.
 */
static enum kprobe_swept sweep_within_reach(struct kprobe_targets *t, unsigned long addr,
					    unsigned int len, unsigned long own)
{
	unsigned long at = max(addr - REACH, t->start);
	unsigned long last = min(addr + len + REACH, t->start + t->size);
	enum kprobe_swept found = KPROBE_SWEPT_PLAIN, swept;
	unsigned long start, end;

	for (; at < last; at = end) {
		if (!function_at(t, at, &start, &end))
			return KPROBE_SWEPT_UNDECODED;

		swept = sweep_once(t, start, end);
		if (start == own || swept == KPROBE_SWEPT_UNDECODED)
			found = max(found, swept);
	}

	return found;
}

/* The other parts of a function that was split. @name is that of the symbols. */
struct rest {
	struct kprobe_targets	*t;
	const char		*name;
	bool			seen;
	enum kprobe_swept	found;
};

static int kprobe_sweep_rest(void *data, unsigned long addr)
{
	enum kprobe_swept swept = KPROBE_SWEPT_COMPUTED;
	struct rest *r = data;
	unsigned long size, into;

	r->seen = true;
	if (addr - r->t->start < r->t->size &&
	    kallsyms_lookup_size_offset(addr, &size, &into))
		swept = sweep_once(r->t, addr, addr + size);
	r->found = max(r->found, swept);
	return 0;
}

#ifdef CONFIG_MODULES
static int kprobe_sweep_if_named(void *data, const char *name, unsigned long addr)
{
	struct rest *r = data;

	return strcmp(name, r->name) ? 0 : kprobe_sweep_rest(r, addr);
}

static void sweep_in_module(struct rest *r)
{
	module_kallsyms_on_each_symbol(r->t->mod->name, kprobe_sweep_if_named, r);
}
#else
static void sweep_in_module(struct rest *r)
{
}
#endif

/* Static functions may share the name, so any of these symbols may be the one. */
static void sweep_named(struct rest *r)
{
	if (r->t->mod)
		sweep_in_module(r);
	else
		kallsyms_on_each_match_symbol(kprobe_sweep_rest, r->name, r);
}

/*
 * A part that was split off a function, and the rest of it, jump to each other. A part that is
 * not found may do so by computed jumps.
 */
static enum kprobe_swept sweep_rest(struct kprobe_targets *t, unsigned long start)
{
	char name[KSYM_NAME_LEN], *dot;
	struct rest r = { .t = t, .name = name, .found = KPROBE_SWEPT_PLAIN };

	if (lookup_symbol_name(start, name))
		return KPROBE_SWEPT_COMPUTED;

	dot = strstr(name, ".cold");
	if (dot)
		*dot = '\0';
	else if (strlcat(name, ".cold", sizeof(name)) >= sizeof(name))
		return KPROBE_SWEPT_COMPUTED;

	sweep_named(&r);
	return dot && !r.seen ? KPROBE_SWEPT_COMPUTED : r.found;
}

/*
 * Mark the targets of short branches around @len bytes from @addr on, in the function at @own.
 * Returns a reason against jumps in that whole function, or KPROBE_NOOPT_NONE.
 */
u8 kprobe_sweep_around(struct kprobe_targets *t, unsigned long addr, unsigned int len,
		       unsigned long own)
{
	static const u8 reasons[] = {
		[KPROBE_SWEPT_PLAIN]		= KPROBE_NOOPT_NONE,
		[KPROBE_SWEPT_COMPUTED]		= KPROBE_NOOPT_INDIRECT,
		[KPROBE_SWEPT_SEGMENTS]		= KPROBE_NOOPT_SEGMENT,
		[KPROBE_SWEPT_MISALIGNS]	= KPROBE_NOOPT_STACK,
		[KPROBE_SWEPT_UNDECODED]	= KPROBE_NOOPT_UNDECODED,
	};
	enum kprobe_swept found = sweep_within_reach(t, addr, len, own);

	if (found == KPROBE_SWEPT_PLAIN)
		found = sweep_rest(t, own);
	/* Computed jumps have landing pads. */
	if (found == KPROBE_SWEPT_COMPUTED && t->landing_pads)
		found = KPROBE_SWEPT_PLAIN;
	return reasons[found];
}
