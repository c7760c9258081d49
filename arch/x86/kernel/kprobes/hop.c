// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hops let a probe have a jump although a branch targets the bytes that it would overwrite: a
 * jump of two bytes overwrites only one byte more than a breakpoint does. It goes to padding
 * after a function nearby, which holds the hop: a jump of five bytes to the detour. branches.c
 * explains how it is known that nothing else goes there.
 *
 * Padding consists of the NOPs and breakpoints between the last instruction of a function, if
 * execution does not continue after it, and the next symbol. A hop lives as long as its detour:
 * it is written before the short jump is, and the padding is restored when no task can be in the
 * hop any more. A probe that is registered in the padding later takes precedence: see
 * arch_hop_at().
 *
 * Hops are in the kernel only: the text of a module may be freed before its detours are.
 * kprobe_mutex and text_mutex protect changes of hops.
 */

#include <linux/cpu.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/memory.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/xarray.h>

#include "common.h"

/* How far a short jump reaches, from its end. */
#define SHORT_JUMP_FORWARD	127
#define SHORT_JUMP_BACKWARD	128

/* The probes with a hop, indexed by its address. */
static DEFINE_XARRAY(hops);

/*
 * The probe whose hop begins at an address, or NULL. In any context; preemption is off while it
 * is used.
 */
struct optimized_kprobe *kprobe_hop_owner(unsigned long addr)
{
	return xa_empty(&hops) ? NULL : xa_load(&hops, addr);
}
NOKPROBE_SYMBOL(kprobe_hop_owner);

/* The first probe whose hop uses a part of this text, or NULL. */
struct optimized_kprobe *kprobe_hop_in(unsigned long addr, unsigned int len)
{
	unsigned long index = addr - (JMP32_INSN_SIZE - 1);

	lockdep_assert_held(&kprobe_mutex);

	return xa_find(&hops, &index, addr + len - 1, XA_PRESENT);
}

struct optimized_kprobe *arch_hop_at(unsigned long addr)
{
	return kprobe_hop_in(addr, 1);
}

void arch_kprobe_restore_text(void *buf, unsigned long addr, unsigned int len)
{
	struct optimized_kprobe *op;
	unsigned long index;
	unsigned int i;
	u8 *text = buf;

	lockdep_assert_held(&kprobe_mutex);

	if (xa_empty(&hops))
		return;

	xa_for_each_range(&hops, index, op, addr - (JMP32_INSN_SIZE - 1), addr + len - 1) {
		for (i = 0; i < JMP32_INSN_SIZE; i++) {
			if (index + i - addr < len)
				text[index + i - addr] = op->optinsn.detour->padding[i];
		}
	}
}

static bool is_filler(struct insn *insn)
{
	return kprobe_insn_op(insn) == INT3_INSN_OPCODE || kprobe_insn_is_nop(insn);
}

/* The padding before a function may belong to it. Not static for the tests. */
unsigned long kprobe_end_of_padding(unsigned long next)
{
	char name[KSYM_NAME_LEN];

	if (!IS_ENABLED(CONFIG_CALL_PADDING) && !IS_ENABLED(CONFIG_CFI))
		return next;

	if (lookup_symbol_name(next, name) ||
	    (!strstarts(name, "__pfx_") && !strstarts(name, "__cfi_")))
		return next - CONFIG_FUNCTION_PADDING_BYTES;
	return next;
}

/*
 * The length that the last instruction was built with. At boot, jumps to thunks may have been
 * replaced by shorter branches and breakpoints. The unwinder still takes all of these bytes for
 * the instruction.
 */
static unsigned int built_length(struct insn *insn)
{
	u8 op = kprobe_insn_branch(insn);

	if ((IS_ENABLED(CONFIG_MITIGATION_RETHUNK) && kprobe_insn_is_ret(insn)) ||
	    (IS_ENABLED(CONFIG_MITIGATION_RETPOLINE) &&
	     (op == KPROBE_OP_JMP_REG || op == KPROBE_OP_STEP_JMP)))
		return max_t(unsigned int, insn->length, JMP32_INSN_SIZE);

	return insn->length;
}

/* Where the padding after a function begins; @end if there is none. */
static unsigned long padding_of(unsigned long start, unsigned long end)
{
	unsigned long at, last = start, padding = end;
	struct kprobe_insn ki;
	bool final = false;

	for (at = start; at < end; at += kprobe_skip(&ki, at)) {
		if (kprobe_fetch_at(at, end, &ki))
			return end;
		if (is_filler(&ki.insn))
			continue;
		last = at;
		padding = at + built_length(&ki.insn);
		final = kprobe_op_is_final(kprobe_insn_branch(&ki.insn));
	}

	/* The last instruction must not change. */
	if (!final || kprobe_is_patched(last, padding - last))
		return end;
	/* A trap that stops speculation after a return or an indirect jump stays. */
	if (padding < end && !kprobe_fetch_at(padding, end, &ki) &&
	    kprobe_insn_op(&ki.insn) == INT3_INSN_OPCODE)
		padding++;
	return padding;
}

/* Mitigations depend on the bytes around return thunks and the like. */
static bool is_near_thunk(unsigned long addr)
{
	static const char * const prefixes[] = {
		"__x86_", "__bhi_", "its_", "retbleed_", "srso_", "entry_untrain_",
	};
	char buf[KSYM_NAME_LEN];
	const char *name;
	unsigned int i;

	name = kprobe_name_at(addr, buf);
	if (!name)
		return true;

	for (i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (strstarts(name, prefixes[i]))
			return true;
	}

	return false;
}

/* The hop would overwrite the short jump to it: a probe may be in padding itself. */
static bool is_own_place(unsigned long hop, unsigned long own)
{
	return hop < own + JMP8_INSN_SIZE && own < hop + JMP32_INSN_SIZE;
}

/* There is another probe, or one so near that its jump would overwrite the hop. */
static bool has_probe(unsigned long hop, unsigned long own)
{
	unsigned long addr = hop - (JMP32_INSN_SIZE - 1);

	for (; addr < hop + JMP32_INSN_SIZE; addr++) {
		if (addr != own && get_kprobe((void *)addr))
			return true;
	}

	return false;
}

/* Sets @taken if only other probes or their hops are in the way. */
static bool is_free(unsigned long hop, unsigned long own, unsigned long start, bool *taken)
{
	u8 at;

	if (is_own_place(hop, own) || within_kprobe_blacklist(hop) ||
	    kprobe_is_patched(hop, JMP32_INSN_SIZE) ||
	    kprobe_find_target(hop, JMP32_INSN_SIZE, start, &at) != KPROBE_NOOPT_NONE)
		return false;
	if (!has_probe(hop, own) && !kprobe_hop_in(hop, JMP32_INSN_SIZE))
		return true;

	*taken = true;
	return false;
}

/*
 * Look for room for a hop. Returns its address, or 0. Sets @taken if other probes use some room.
 * The jump label lock is held.
 */
unsigned long kprobe_hop_find(unsigned long addr, bool *taken)
{
	unsigned long from = addr + JMP8_INSN_SIZE;
	unsigned long at, start, end, size, into, hop, stop;

	lockdep_assert_held(&text_mutex);

	for (at = from - SHORT_JUMP_BACKWARD; at <= from + SHORT_JUMP_FORWARD; at = end) {
		if (!core_kernel_text(at) ||
		    !kallsyms_lookup_size_offset(at, &size, &into))
			return 0;
		start = at - into;
		end = start + size;
		if (end <= at)
			return 0;

		if (is_near_thunk(start) || is_near_thunk(end))
			continue;

		hop = max(padding_of(start, end), from - SHORT_JUMP_BACKWARD);
		stop = min(kprobe_end_of_padding(end) - JMP32_INSN_SIZE, from + SHORT_JUMP_FORWARD);
		for (; hop <= stop; hop++) {
			if (is_free(hop, addr, start, taken))
				return hop;
		}
	}

	return 0;
}

/* Write the hop, or the padding. */
static void rewrite(const struct arch_optimized_insn *o, bool hop)
{
	u8 jump[JMP32_INSN_SIZE];
	const u8 *padding = o->detour->padding;
	const u8 *from = hop ? padding : jump, *to = hop ? jump : padding;

	kprobe_put_jmp(jump, o->hop, (unsigned long)o->insn);
	perf_event_text_poke((void *)(long)o->hop, from, JMP32_INSN_SIZE, to, JMP32_INSN_SIZE);
	text_poke((void *)(long)o->hop, to, JMP32_INSN_SIZE);
}

/*
 * Write a hop. @op has a detour, and the address of the hop. -ERANGE if the detour is out of
 * reach.
 */
int kprobe_hop_make(struct optimized_kprobe *op)
{
	struct arch_optimized_insn *o = &op->optinsn;
	int ret;

	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	if (!kprobe_is_rel32((unsigned long)o->insn - (o->hop + JMP32_INSN_SIZE)))
		return -ERANGE;
	ret = xa_err(xa_store(&hops, o->hop, op, GFP_KERNEL));
	if (!ret)
		rewrite(o, true);
	return ret;
}

/* Restore the padding of a hop, if @op has one. No task is in its detour any more. */
void kprobe_hop_remove(struct optimized_kprobe *op)
{
	struct arch_optimized_insn *o = &op->optinsn;

	lockdep_assert_held(&kprobe_mutex);

	if (!o->hop)
		return;

	guard(mutex)(&text_mutex);

	rewrite(o, false);
	xa_erase(&hops, o->hop);
	o->hop = 0;
}
