// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text of powerpc that must not be probed because of where it is or what surrounds it. What must
 * not be probed because of its function is in blacklist.c.
 */

#include <linux/align.h>
#include <linux/cleanup.h>
#include <linux/extable.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/livepatch.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/static_call_types.h>
#include <linux/string.h>
#include <linux/text-patching.h>

#include <asm/interrupt.h>
#include <asm/ppc-opcode.h>
#include <asm/probes.h>
#include <asm/sections.h>

#include "common.h"
#include "insn.h"

/* Only the first word: text may end with data that looks like a prefix. */
static bool read_word(unsigned long addr, u32 *word)
{
	return !kprobe_read_text(addr, word, sizeof(*word));
}

/* No instruction crosses a boundary of 64 bytes. */
static bool is_suffix(unsigned long addr, unsigned long into)
{
	u32 word;

	return IS_ENABLED(CONFIG_PPC64) && into && addr % 64 &&
	       read_word(addr - INSN_WORD, &word) && ppc_inst_prefixed(ppc_inst(word));
}

/* Sequences whose start is not searched so far away. */
static unsigned int too_far_for(unsigned int words)
{
	return (words > INSN_MAX_RESERVED ? KPROBE_OPENS(RESERVATION) : 0) |
	       (words > INSN_MAX_HARD_DISABLE ? KPROBE_OPENS(HARD_DISABLE) : 0);
}

/*
 * Scans backwards from @addr, not past the start of the function, for an instruction that opens a
 * sequence before one that closes it. Branches are not followed. What follows a store-conditional,
 * such as the branch that closes the loop, is not refused.
 *
 * Some words are refused needlessly: after __hard_irq_enable() and __hard_EE_RI_disable(), no store
 * to irq_happened follows; and where SRR0 is written for a guest that is entered by a function
 * call, no return from exception. The latter function is on the blacklist anyway, as is what it
 * calls.
 */
static bool is_in_sequence(unsigned long addr, unsigned long into)
{
	unsigned int i, bounds, closed = 0;
	u32 word;

	for (i = 1; i <= min(into / INSN_WORD, INSN_MAX_LIVE_SPRS); i++) {
		if (!read_word(addr - i * INSN_WORD, &word))
			return false;
		bounds = kprobe_insn_bounds(word);
		closed |= bounds >> NR_KPROBE_SEQUENCES | too_far_for(i);
		if (bounds & ~closed & KPROBE_OPENS_ANY)
			return true;
	}
	return false;
}

/*
 * check_io_access() fixes up machine checks of accesses to I/O ports that do not exist, if they
 * are reported at the sync, or at the isync or nop, after the access. It looks at the words
 * there, and does not know about copies.
 */
static bool is_io_barrier(unsigned long addr)
{
	u32 word;

	return IS_ENABLED(CONFIG_PPC32) && search_exception_tables(addr) &&
	       read_word(addr, &word) &&
	       (word == PPC_RAW_SYNC() || word == PPC_RAW_ISYNC() || word == PPC_RAW_NOP());
}

/*
 * arch_static_call_transform() rewrites the first word of a trampoline.
 * static_call_text_reserved() knows at most the sites.
 */
static noinline_for_stack bool is_static_call(unsigned long addr)
{
	char name[KSYM_NAME_LEN];

	return IS_ENABLED(CONFIG_HAVE_STATIC_CALL) && !lookup_symbol_name(addr, name) &&
	       str_has_prefix(name, STATIC_CALL_TRAMP_PREFIX_STR);
}

/*
 * Text that is rewritten whenever a mitigation is toggled, without checking what is there. Each
 * entry holds the offset from itself to the text.
 */
struct patched_text {
	const long	*start;
	const long	*stop;
	unsigned int	words;
};

static bool is_in_patched(const struct patched_text *t, unsigned long addr)
{
	const long *entry;

	for (entry = t->start; entry < t->stop; entry++) {
		if (addr - ((unsigned long)entry + *entry) < t->words * INSN_WORD)
			return true;
	}
	return false;
}

#define PATCHED_TEXT(name, words)						\
	{ &__start_##name, &__stop_##name, words }

static bool is_mitigation(unsigned long addr)
{
	static const struct patched_text tables[] = {
#ifdef CONFIG_PPC_BOOK3S_64
		PATCHED_TEXT(__stf_entry_barrier_fixup, 3),
		PATCHED_TEXT(__stf_exit_barrier_fixup, 6),
		PATCHED_TEXT(__uaccess_flush_fixup, 4),
		PATCHED_TEXT(__entry_flush_fixup, 3),
		PATCHED_TEXT(__scv_entry_flush_fixup, 3),
		PATCHED_TEXT(__rfi_flush_fixup, 3),
#endif
#ifdef CONFIG_PPC_BARRIER_NOSPEC
		PATCHED_TEXT(__barrier_nospec_fixup, IS_ENABLED(CONFIG_PPC_E500) ? 2 : 1),
#endif
		{ }
	};
	const struct patched_text *t;

	for (t = tables; t->words; t++) {
		if (is_in_patched(t, addr))
			return true;
	}
	return false;
}

/* Calls in _switch() and on guest exit are rewritten when the branch cache flush is toggled. */
#ifdef CONFIG_PPC_BOOK3S_64
static bool is_kvm_patch_site(unsigned long addr)
{
	return IS_ENABLED(CONFIG_KVM_BOOK3S_HV_POSSIBLE) &&
	       (addr == patch_site_addr(&patch__call_kvm_flush_link_stack) ||
		addr == patch_site_addr(&patch__call_kvm_flush_link_stack_p9));
}

static bool is_patch_site(unsigned long addr)
{
	return addr == patch_site_addr(&patch__call_flush_branch_caches1) ||
	       addr == patch_site_addr(&patch__call_flush_branch_caches2) ||
	       addr == patch_site_addr(&patch__call_flush_branch_caches3) ||
	       is_kvm_patch_site(addr);
}

/*
 * After an interrupt in these ranges, the program resumes at a fixup address, chosen by nip. A
 * copy in a slot would not be recognized.
 */
static bool is_restarted(unsigned long addr)
{
	return search_kernel_restart_table(addr) || search_kernel_soft_mask_table(addr);
}
#else
static bool is_patch_site(unsigned long addr)
{
	return false;
}

static bool is_restarted(unsigned long addr)
{
	return false;
}
#endif

/*
 * A livepatch is relocated again whenever an object that it patches is loaded. That rewrites
 * operands of instructions, and the nop after a call, without checking for a probe.
 */
#ifdef CONFIG_LIVEPATCH
static bool is_relocated(const struct klp_modinfo *info, const Elf_Shdr *relocations,
			 unsigned long addr)
{
	const Elf_Rela *rela = (void *)relocations->sh_addr;
	const Elf_Rela *end = (void *)(relocations->sh_addr + relocations->sh_size);
	unsigned long base = info->sechdrs[relocations->sh_info].sh_addr;

	for (; rela < end; rela++) {
		/* The operand may be the second half of the word. */
		unsigned long word = ALIGN_DOWN(base + rela->r_offset, INSN_WORD);

		if (addr == word || addr == word + INSN_WORD)
			return true;
	}
	return false;
}

static bool is_relocated_later(unsigned long addr)
{
	const struct klp_modinfo *info;
	struct module *mod;
	unsigned int i;

	guard(preempt)();

	mod = __module_text_address(addr);
	if (!mod || !is_livepatch_module(mod))
		return false;
	/* While it is being loaded, nothing is known yet. */
	info = mod->klp_info;
	if (!info)
		return true;

	for (i = 0; i < info->hdr.e_shnum; i++) {
		if (info->sechdrs[i].sh_flags & SHF_RELA_LIVEPATCH &&
		    is_relocated(info, &info->sechdrs[i], addr))
			return true;
	}
	return false;
}
#else
static bool is_relocated_later(unsigned long addr)
{
	return false;
}
#endif

/* Why an address cannot have a probe, whatever instruction is there. */
enum kprobe_refusal kprobe_addr_refused(unsigned long addr)
{
	unsigned long size, into;

	if (is_static_call(addr))
		return KPROBE_REFUSAL_STATIC_CALL;
	if (is_mitigation(addr) || is_patch_site(addr))
		return KPROBE_REFUSAL_PATCHED;
	if (is_restarted(addr) || is_io_barrier(addr))
		return KPROBE_REFUSAL_SEQUENCE;
	if (is_relocated_later(addr))
		return KPROBE_REFUSAL_LIVEPATCH;
	if (!kallsyms_lookup_size_offset(addr, &size, &into))
		return KPROBE_REFUSAL_NONE;
	if (is_suffix(addr, into))
		return KPROBE_REFUSAL_SUFFIX;
	return is_in_sequence(addr, into) ? KPROBE_REFUSAL_SEQUENCE : KPROBE_REFUSAL_NONE;
}
