// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hops. Where something leads into what a jump to the detour would overwrite, a
 * short jump often has room: it overwrites only one byte more than a breakpoint.
 * It goes to padding behind some function near by, and from there a long one,
 * the hop, goes on to the detour.
 *
 * Padding is what stands between an instruction behind which nothing goes on and
 * the next symbol, as long as there are only NOPs and breakpoints. So nobody gets
 * there, which is asked of the map of entries besides. A hop is as much in use as
 * its detour is: it is written before anything leads there, and the padding is
 * put back when no task can be in it any more. A probe that comes to the padding
 * later takes precedence: see arch_optimizer_borrower().
 *
 * All this in the kernel only: the text of a module may be gone before its detours
 * are. Changes of hops need kprobe_mutex and text_mutex.
 */

#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/xarray.h>

#include "common.h"

/* How far a short jump goes, from its end. */
#define FORTH	127
#define BACK	128

/* By their address: the probe whose detour a hop leads to. */
static DEFINE_XARRAY(hops);

/**
 * kprobe_hop_owner() - the probe of which there is a hop at an address
 * @addr: the address
 *
 * Context: any, also NMI; preemption off for as long as the probe is looked at.
 * Return: the probe, or NULL.
 */
struct optimized_kprobe *kprobe_hop_owner(unsigned long addr)
{
	return xa_empty(&hops) ? NULL : xa_load(&hops, addr);
}
NOKPROBE_SYMBOL(kprobe_hop_owner);

/**
 * kprobe_hop_overlaps() - is there a hop in a range of text?
 * @addr: where it begins
 * @len: its length
 *
 * Context: kprobe_mutex held.
 * Return: true if there is.
 */
bool kprobe_hop_overlaps(unsigned long addr, unsigned int len)
{
	unsigned long index = addr - (JMP32_INSN_SIZE - 1);

	return xa_find(&hops, &index, addr + len - 1, XA_PRESENT);
}

/* The probe whose hop is at the address. */
struct optimized_kprobe *arch_optimizer_borrower(unsigned long addr)
{
	unsigned long index = addr - (JMP32_INSN_SIZE - 1);

	return xa_find(&hops, &index, addr, XA_PRESENT);
}

/* Puts the padding that hops have replaced back. */
void arch_kprobe_restore_text(void *buf, unsigned long addr, unsigned int len)
{
	struct optimized_kprobe *op;
	unsigned long index;
	unsigned int i;
	u8 *text = buf;

	if (xa_empty(&hops))
		return;

	xa_for_each_range(&hops, index, op, addr - (JMP32_INSN_SIZE - 1), addr + len - 1) {
		for (i = 0; i < JMP32_INSN_SIZE; i++) {
			if (index + i - addr < len)
				text[index + i - addr] = op->optinsn.padding[i];
		}
	}
}

static bool is_filler(const struct insn *insn)
{
	u8 opcode = insn->opcode.bytes[0];

	if (insn_is_avx((struct insn *)insn))
		return false;

	/* Not XCHG with another register. */
	return opcode == INT3_INSN_OPCODE ||
	       (opcode == 0x90 && !insn->rex_prefix.nbytes) ||
	       (opcode == 0x0f && insn->opcode.bytes[1] == 0x1f);
}

/* A trap is none: behind some of them it goes on. */
static bool is_final(const struct insn *insn)
{
	u8 opcode = insn->opcode.bytes[0];

	if (insn_is_avx((struct insn *)insn))
		return false;

	switch (opcode) {
	case RET_INSN_OPCODE:
	case JMP32_INSN_OPCODE:
	case JMP8_INSN_OPCODE:
		return true;
	case 0xff:
		return X86_MODRM_REG(insn->modrm.value) == 4;
	}

	return false;
}

/* What is in front of a function may be its own. */
static unsigned long end_of_padding(unsigned long next)
{
#if defined(CONFIG_CALL_PADDING) || defined(CONFIG_CFI_CLANG)
	char name[KSYM_NAME_LEN];

	if (lookup_symbol_name(next, name))
		return 0;
	if (!strstarts(name, "__pfx_") && !strstarts(name, "__cfi_"))
		return next - CONFIG_FUNCTION_PADDING_BYTES;
#endif
	return next;
}

/*
 * How long the last instruction was built. At boot, jumps to thunks may have become
 * shorter ones, and breakpoints; for the unwinder these are still the instruction.
 */
static unsigned int built_length(const struct insn *insn)
{
	u8 opcode = insn->opcode.bytes[0];

	if ((IS_ENABLED(CONFIG_MITIGATION_RETHUNK) && opcode == RET_INSN_OPCODE) ||
	    (IS_ENABLED(CONFIG_MITIGATION_RETPOLINE) && opcode == 0xff))
		return max_t(unsigned int, insn->length, JMP32_INSN_SIZE);

	return insn->length;
}

/* Where the padding behind a function begins; its end if there is none. */
static unsigned long padding_of(unsigned long start, unsigned long end)
{
	unsigned long at, last = start, padding = end;
	struct kprobe_insn ki;
	bool final = false;

	for (at = start; at < end; at += ki.insn.length) {
		if (kprobe_fetch_at(at, end, &ki))
			return end;
		if (is_filler(&ki.insn))
			continue;
		last = at;
		padding = at + built_length(&ki.insn);
		final = is_final(&ki.insn);
	}

	/* It must stay what it is. */
	if (!final || kprobe_is_patched(last, padding - last))
		return end;
	/* Nor shall it be speculated behind a return, or an indirect jump. */
	if (padding < end && !kprobe_fetch_at(padding, end, &ki) &&
	    ki.insn.opcode.bytes[0] == INT3_INSN_OPCODE)
		padding++;
	return padding;
}

/* Return thunks and the like: mitigations depend on what stands around them. */
static bool place_matters(unsigned long addr)
{
	static const char * const prefixes[] = {
		"__x86_", "its_", "retbleed_", "srso_", "entry_untrain_",
	};
	char name[KSYM_NAME_LEN];
	unsigned int i;

	if (lookup_symbol_name(addr, name))
		return true;

	for (i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (strstarts(name, prefixes[i]))
			return true;
	}

	return false;
}

/* Another probe there, or so near that its jump would overwrite it? */
static bool has_probe(unsigned long hop, unsigned long own)
{
	unsigned long end = hop + JMP32_INSN_SIZE;
	struct kprobe *p;

	for (p = find_kprobe_in(hop - (JMP32_INSN_SIZE - 1), end); p;
	     p = find_kprobe_in((unsigned long)p->addr + 1, end)) {
		if ((unsigned long)p->addr != own)
			return true;
	}

	return false;
}

/* Sets @taken if it would be free but for what other probes have there. */
static bool is_free(unsigned long hop, unsigned long own, unsigned long start,
		    unsigned long end, bool *taken)
{
	u8 at;

	if (within_kprobe_blacklist(hop) || kprobe_is_patched(hop, JMP32_INSN_SIZE) ||
	    kprobe_find_entry(hop, JMP32_INSN_SIZE, start, end, &at) != KPROBE_NOOPT_NONE)
		return false;
	if (!has_probe(hop, own) && !kprobe_hop_overlaps(hop, JMP32_INSN_SIZE))
		return true;

	*taken = true;
	return false;
}

/**
 * kprobe_hop_find() - look for room for a hop
 * @addr: of the probe
 * @taken: set to true if there would be some but for other probes
 *
 * Context: kprobe_mutex, text_mutex and the jump label lock held; sleeps.
 * Return: where a hop can be, or 0.
 */
unsigned long kprobe_hop_find(unsigned long addr, bool *taken)
{
	unsigned long from = addr + JMP8_INSN_SIZE;
	unsigned long at, start, end, size, into, hop, stop;

	for (at = from - BACK; at <= from + FORTH; at = end) {
		if (!core_kernel_text(at) ||
		    !kallsyms_lookup_size_offset(at, &size, &into))
			return 0;
		start = at - into;
		end = start + size;
		if (end <= at)
			return 0;

		if (place_matters(start) || place_matters(end))
			continue;

		hop = max(padding_of(start, end), from - BACK);
		stop = min(end_of_padding(end) - JMP32_INSN_SIZE, from + FORTH);
		for (; hop <= stop; hop++) {
			if (is_free(hop, addr, start, end, taken))
				return hop;
		}
	}

	return 0;
}

/**
 * kprobe_hop_make() - write a hop
 * @op: a probe with a detour, and where its hop shall be; nothing leads there yet
 *
 * Context: kprobe_mutex, CPU hotplug lock and text_mutex held; sleeps.
 * Return: 0, -ERANGE, -EFAULT or -ENOMEM.
 */
int kprobe_hop_make(struct optimized_kprobe *op)
{
	struct arch_optimized_insn *o = &op->optinsn;
	long disp = (unsigned long)o->insn - (o->hop + JMP32_INSN_SIZE);
	u8 jump[JMP32_INSN_SIZE];
	int ret;

	if (disp != (s32)disp)
		return -ERANGE;
	if (kprobe_read_text(o->hop, o->padding, sizeof(o->padding)))
		return -EFAULT;
	ret = xa_err(xa_store(&hops, o->hop, op, GFP_KERNEL));
	if (ret)
		return ret;

	__text_gen_insn(jump, JMP32_INSN_OPCODE, (void *)o->hop, o->insn, JMP32_INSN_SIZE);
	perf_event_text_poke((void *)o->hop, o->padding, sizeof(jump), jump, sizeof(jump));
	text_poke((void *)o->hop, jump, sizeof(jump));
	return 0;
}

/**
 * kprobe_hop_remove() - make padding of a hop again
 * @op: a probe with a detour; no task is in that any more
 *
 * Context: kprobe_mutex held; sleeps.
 */
void kprobe_hop_remove(struct optimized_kprobe *op)
{
	struct arch_optimized_insn *o = &op->optinsn;
	u8 jump[JMP32_INSN_SIZE];

	if (!o->hop)
		return;

	guard(mutex)(&text_mutex);

	__text_gen_insn(jump, JMP32_INSN_OPCODE, (void *)o->hop, o->insn, JMP32_INSN_SIZE);
	perf_event_text_poke((void *)o->hop, jump, sizeof(jump), o->padding, sizeof(jump));
	text_poke((void *)o->hop, o->padding, sizeof(o->padding));
	xa_erase(&hops, o->hop);
	o->hop = 0;
}
