// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on powerpc: addresses, preparing, arming and disarming. kprobes/insn.c knows what
 * can be done with an instruction; kprobes/hit.c does it.
 */

#include <linux/cacheflush.h>
#include <linux/cpu.h>
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/code-patching.h>
#include <asm/interrupt.h>
#include <asm/probes.h>
#include <asm/sections.h>

#include "kprobes/common.h"
#include "kprobes/insn.h"

/*
 * Addresses
 */

#ifdef CONFIG_PPC64_ELF_ABI_V2
/*
 * The word at an address, without the breakpoint or the branch of a probe. 0 if it cannot be read:
 * symbols need not be those of functions.
 */
static u32 original_word(unsigned long addr)
{
	struct kprobe *p;
	u32 word;

	if (copy_from_kernel_nofault(&word, (void *)addr, sizeof(word)))
		return 0;

	guard(preempt)();

	p = get_kprobe((void *)addr);
	return p && p->opcode ? p->opcode : word;
}

/*
 * A function may begin with two instructions that set up r2, for callers from other modules. As
 * ppc_function_entry(), but these instructions may be probed.
 */
static unsigned long local_entry(unsigned long sym)
{
	u32 first = original_word(sym) & OP_RT_RA_MASK;
	u32 second = original_word(sym + INSN_WORD) & OP_RT_RA_MASK;

	if ((first == ADDIS_R2_R12 || first == LIS_R2) && second == ADDI_R2_R2)
		return sym + 2 * INSN_WORD;
	return sym;
}

/* Where both kinds of callers arrive, and LR has not been saved yet. */
static unsigned long entry_of(unsigned long sym)
{
	unsigned long site = IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) ? ftrace_location(sym) : 0;

	return site ?: local_entry(sym);
}
#else
static unsigned long entry_of(unsigned long sym)
{
	return (unsigned long)dereference_symbol_descriptor((void *)sym);
}
#endif

#ifdef CONFIG_PPC64_ELF_ABI_V1
/* The code of a function has the name of its descriptor, after a dot. */
static unsigned long lookup_code(const char *name)
{
	char code[MODULE_NAME_LEN + 1 + KSYM_NAME_LEN + 1];
	const char *colon = strchr(name, ':');
	size_t len = colon ? colon + 1 - name : 0;

	if (len > MODULE_NAME_LEN || name[len] == '.')
		return 0;
	if (snprintf(code, sizeof(code), "%.*s.%s", (int)len, name, name + len) >= sizeof(code))
		return 0;
	return kallsyms_lookup_name(code);
}
#else
static unsigned long lookup_code(const char *name)
{
	return 0;
}
#endif

kprobe_opcode_t *kprobe_lookup_name(const char *name, unsigned int offset)
{
	unsigned long addr = lookup_code(name);

	if (!addr)
		addr = kallsyms_lookup_name(name);
	if (addr && !offset)
		addr = entry_of(addr);
	return (kprobe_opcode_t *)addr;
}

kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long addr, unsigned long offset,
					 bool *on_func_entry)
{
	unsigned long entry = entry_of(addr);

	*on_func_entry = addr + offset <= entry || !offset;
	return (kprobe_opcode_t *)(offset ? addr + offset : entry);
}

/*
 * The instruction
 */

/* An instruction at an address, without what probes have changed. */
static int read_insn(unsigned long addr, ppc_inst_t *insn)
{
	u32 word, suffix;
	int ret;

	ret = kprobe_read_text(addr, &word, sizeof(word));
	if (ret)
		return ret;
	*insn = ppc_inst(word);
	if (!ppc_inst_prefixed(*insn))
		return 0;

	ret = kprobe_read_text(addr + INSN_WORD, &suffix, sizeof(suffix));
	if (!ret)
		*insn = ppc_inst_prefix(word, suffix);
	return ret;
}

/* The first word only: text may end with data that looks like a prefix. */
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

/*
 * Is an instruction in a sequence that one instruction opens and another closes? The search goes
 * back to the nearest of the two, and does not follow branches.
 */
static bool is_inside(unsigned long addr, unsigned long into, unsigned long most,
		      bool (*opens)(u32 word), bool (*closes)(u32 word))
{
	unsigned long at, start = addr - min(into, most);
	u32 word;

	for (at = addr; at > start;) {
		at -= INSN_WORD;
		if (!read_word(at, &word) || closes(word))
			return false;
		if (opens(word))
			return true;
	}
	return false;
}

/*
 * The exit from an exception clears the reservation of the CPU. So a probe between a load that
 * reserves and its conditional store would make the store fail each time. What follows the store,
 * such as the branch that closes the loop, is not refused.
 */
static bool is_reserved(unsigned long addr, unsigned long into)
{
	return is_inside(addr, into, 32 * INSN_WORD, kprobe_insn_is_load_reserve,
			 kprobe_insn_is_store_conditional);
}

/*
 * Code that disables interrupts in MSR[EE] records that in irq_happened a few instructions later.
 * An exception in between would enable them again.
 */
static bool is_hard_disabling(unsigned long addr, unsigned long into)
{
	return IS_ENABLED(CONFIG_PPC64) &&
	       is_inside(addr, into, 12 * INSN_WORD, kprobe_insn_hard_disables,
			 kprobe_insn_records_hard_disable);
}

/*
 * arch_static_call_transform() rewrites the first word of a trampoline. Powerpc has no inline
 * static calls, so static_call_text_reserved() is empty.
 */
#ifdef CONFIG_PPC32
static noinline_for_stack bool is_static_call(unsigned long addr)
{
	char name[KSYM_NAME_LEN];

	return !lookup_symbol_name(addr, name) && str_has_prefix(name, "__SCT__");
}
#else
static bool is_static_call(unsigned long addr)
{
	return false;
}
#endif

/*
 * Text that mitigations rewrite whenever they are switched, without looking at what is there. Each
 * table has the distances to the places from its own entries.
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

/* Calls that switching the mitigation of branch caches rewrites: in _switch() and around guests. */
#ifdef CONFIG_PPC_BOOK3S_64
#ifdef CONFIG_KVM_BOOK3S_HV_POSSIBLE
static bool is_kvm_patch_site(unsigned long addr)
{
	return addr == patch_site_addr(&patch__call_kvm_flush_link_stack) ||
	       addr == patch_site_addr(&patch__call_kvm_flush_link_stack_p9);
}
#else
static bool is_kvm_patch_site(unsigned long addr)
{
	return false;
}
#endif

static bool is_patch_site(unsigned long addr)
{
	return addr == patch_site_addr(&patch__call_flush_branch_caches1) ||
	       addr == patch_site_addr(&patch__call_flush_branch_caches2) ||
	       addr == patch_site_addr(&patch__call_flush_branch_caches3) ||
	       is_kvm_patch_site(addr);
}

/* After an interrupt here, execution resumes elsewhere, but not after one in a copy. */
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
 * A livepatch is relocated again whenever an object that it patches is loaded. That replaces the
 * operands of instructions, and the nop after a call, without looking at what is there.
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

/* What depends on the address rather than on the instruction there. */
static enum kprobe_refusal address_refused(unsigned long addr)
{
	unsigned long size, into;

	if (is_static_call(addr))
		return KPROBE_REFUSAL_STATIC_CALL;
	if (is_mitigation(addr) || is_patch_site(addr))
		return KPROBE_REFUSAL_PATCHED;
	if (is_restarted(addr))
		return KPROBE_REFUSAL_SEQUENCE;
	if (is_relocated_later(addr))
		return KPROBE_REFUSAL_LIVEPATCH;
	if (!kallsyms_lookup_size_offset(addr, &size, &into))
		return KPROBE_REFUSAL_NONE;
	if (is_suffix(addr, into))
		return KPROBE_REFUSAL_SUFFIX;
	return is_reserved(addr, into) || is_hard_disabling(addr, into) ?
	       KPROBE_REFUSAL_SEQUENCE : KPROBE_REFUSAL_NONE;
}

/**
 * kprobe_decide() - decode the instruction of a probe
 * @p: addr is set; opcode and ainsn are filled in, without a slot
 *
 * An instruction with an exception table entry is not boosted: the page fault handler looks nip up
 * in the table before bad_page_fault() moves it from the copy to the probe.
 *
 * Context: kprobe_mutex and text_mutex held.
 * Return: KPROBE_REFUSAL_NONE, or why it cannot be probed.
 */
enum kprobe_refusal kprobe_decide(struct kprobe *p)
{
	unsigned long addr = (unsigned long)p->addr;
	enum kprobe_refusal why;
	ppc_inst_t insn;

	if (!IS_ALIGNED(addr, INSN_WORD))
		return KPROBE_REFUSAL_ALIGNMENT;
	if (read_insn(addr, &insn))
		return KPROBE_REFUSAL_NOT_TEXT;
	why = address_refused(addr);
	if (!why)
		why = kprobe_insn_refused(ppc_inst_val(insn));
	if (why)
		return why;
	if (kprobe_insn_sets_r13(insn, addr))
		return KPROBE_REFUSAL_CONTROL;

	p->opcode = ppc_inst_val(insn);
	p->ainsn.suffix = ppc_inst_suffix(insn);
	p->ainsn.len = ppc_inst_len(insn);
	p->ainsn.soft_mask = kprobe_insn_soft_mask(p->opcode);
	p->ainsn.emulate = kprobe_insn_can_emulate(insn, addr);
	p->ainsn.boost = kprobe_insn_can_copy(insn) && kprobe_boosts() &&
			 !search_exception_tables(addr);

	/* Neither emulated nor copied: addpcis, on a CPU that does not have it. */
	if (!p->ainsn.emulate && !kprobe_insn_can_copy(insn))
		return KPROBE_REFUSAL_BRANCH;
	return KPROBE_REFUSAL_NONE;
}

/*
 * Slots
 */

/**
 * kprobe_write_slot() - write instructions to a slot
 * @slot: the slot
 * @words: the instructions
 * @nr: how many words
 *
 * patch_instructions() maps the page only once, but flushes only the addresses of the mapping.
 *
 * Context: text_mutex held.
 * Return: 0, or an error of patch_instructions().
 */
int kprobe_write_slot(void *slot, u32 *words, unsigned int nr)
{
	size_t size = nr * sizeof(*words);
	int ret;

	lockdep_assert_held(&text_mutex);

	ret = patch_instructions(slot, words, size, false);
	flush_icache_range((unsigned long)slot, (unsigned long)slot + size);
	return ret;
}

/* Branches and addpcis depend on their own address: they are always emulated, and need no copy. */
static bool needs_slot(const struct kprobe *p)
{
	return kprobe_insn_can_copy(kprobe_insn(p));
}

static void put_copy(u32 *words, ppc_inst_t insn)
{
	words[0] = ppc_inst_val(insn);
	if (ppc_inst_prefixed(insn))
		words[1] = ppc_inst_suffix(insn);
}

static int fill_slot(struct kprobe *p, kprobe_opcode_t *slot)
{
	unsigned long addr = (unsigned long)p->addr;
	u32 words[KPROBE_INSN_SLOT_SIZE / INSN_WORD];
	ppc_inst_t insn = kprobe_insn(p), back;
	unsigned int nr = p->ainsn.len / INSN_WORD;
	int ret;

	if (!kprobe_insn_move(&insn, addr, (unsigned long)slot))
		return kprobe_refuse(p, KPROBE_REFUSAL_REACH);

	memset32(words, BREAKPOINT_INSTRUCTION, ARRAY_SIZE(words));
	put_copy(words, insn);
	put_copy(words + KPROBE_STEP_OFFSET / INSN_WORD, insn);
	if (p->ainsn.boost) {
		ret = create_branch(&back, slot + nr, kprobe_next(p), 0);
		if (WARN_ON_ONCE(ret))
			return kprobe_refuse(p, KPROBE_REFUSAL_REACH);
		words[nr] = ppc_inst_val(back);
	}

	ret = kprobe_write_slot(slot, words, ARRAY_SIZE(words));
	if (!ret)
		kprobe_log_slot(slot, slot, sizeof(words), true);
	return ret;
}

int arch_vet_kprobe(struct kprobe *p)
{
	kprobe_assert_locked();
	lockdep_assert_held(&text_mutex);

	return kprobe_refuse(p, kprobe_decide(p));
}

int arch_prepare_kprobe(struct kprobe *p)
{
	kprobe_opcode_t *slot = NULL;
	int ret;

	kprobe_assert_locked();
	lockdep_assert_held(&text_mutex);

	ret = kprobe_refuse(p, kprobe_decide(p));
	if (ret || !needs_slot(p))
		return ret;

	if (p->ainsn.boost || kprobe_insn_is_pcrel(kprobe_insn(p)))
		slot = get_insn_slot_near((unsigned long)p->addr);
	if (!slot) {
		/* A copy that does not branch back can be anywhere. */
		p->ainsn.boost = false;
		slot = get_insn_slot();
	}
	if (!slot)
		return kprobe_refuse(p, KPROBE_REFUSAL_NO_MEMORY);

	ret = fill_slot(p, slot);
	if (ret) {
		free_insn_slot(slot, 0);
		return ret;
	}
	p->ainsn.insn = slot;
	return 0;
}

#ifdef CONFIG_KPROBES_ON_FTRACE
int arch_prepare_kprobe_ftrace(struct kprobe *p)
{
	kprobe_assert_locked();

	return 0;
}
#endif

void arch_remove_kprobe(struct kprobe *p)
{
	kprobe_opcode_t *slot = p->ainsn.insn;

	if (!slot)
		return;

	kprobe_log_slot(slot, slot, KPROBE_INSN_SLOT_SIZE, false);
	/* Hits are over, but a boosted copy may have been preempted. */
	free_insn_slot(slot, p->ainsn.boost);
	p->ainsn.insn = NULL;
}

const char *arch_kprobe_mode(const struct kprobe *p)
{
	kprobe_assert_locked();

	if (kprobe_is_boosted(p))
		return "boosted";
	return p->ainsn.emulate ? "emulated" : "stepped";
}

/* Code that RCU does not watch runs with interrupts off, so a CPU that answers has left it. */
void arch_sync_insn_slots(void)
{
	kick_all_cpus_sync();
}

/*
 * Arming: one word is replaced at a time. Each CPU executes either the old one or the new one.
 */

void arch_arm_kprobe(struct kprobe *p)
{
	lockdep_assert_held(&text_mutex);

	WARN_ON_ONCE(patch_instruction(p->addr, ppc_inst(BREAKPOINT_INSTRUCTION)));
}

void arch_disarm_kprobe(struct kprobe *p)
{
	lockdep_assert_held(&text_mutex);

	/* p->opcode may be a prefix, for which patch_instruction() would write two words. */
	WARN_ON_ONCE(patch_uint(p->addr, p->opcode));
}

int __init arch_init_kprobes(void)
{
	return 0;
}
