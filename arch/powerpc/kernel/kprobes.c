// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on powerpc: addresses, preparing, arming and disarming. Instruction decoding is
 * in kprobes/insn.c, the hit path in kprobes/hit.c.
 */

#include <linux/cacheflush.h>
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/text-patching.h>
#include <linux/uaccess.h>

#include <asm/interrupt.h>
#include <asm/probes.h>
#include <asm/sections.h>

#include "kprobes/common.h"
#include "kprobes/insn.h"

#ifdef CONFIG_PPC64_ELF_ABI_V2
/*
 * The word at @addr without a breakpoint or jump. Returns 0 if it is unreadable: not every symbol
 * is a function.
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

/* The first instruction that local and external callers both execute, with LR still live. */
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

/* The code of a function has the name of its descriptor, after a dot. */
static unsigned long lookup_code(const char *name)
{
	char code[MODULE_NAME_LEN + 1 + KSYM_NAME_LEN + 1];
	const char *colon = strchr(name, ':');
	size_t len = colon ? colon + 1 - name : 0;

	if (!IS_ENABLED(CONFIG_PPC64_ELF_ABI_V1))
		return 0;
	if (len > MODULE_NAME_LEN || name[len] == '.')
		return 0;
	if (snprintf(code, sizeof(code), "%.*s.%s", (int)len, name, name + len) >= sizeof(code))
		return 0;
	return kallsyms_lookup_name(code);
}

kprobe_opcode_t *kprobe_lookup_name(const char *name, unsigned int offset)
{
	unsigned long addr = lookup_code(name);

	if (!addr)
		addr = kallsyms_lookup_name(name);
	if (addr && !offset)
		addr = entry_of(addr);
	return (kprobe_opcode_t *)addr;
}

/*
 * An out-of-line epilogue, which functions enter by a branch when their frame is gone. It loads
 * LR from the stack and returns to their caller. So LR holds no return address at its entry, and
 * it cannot have a return probe. Modules have copies.
 */
static noinline_for_stack bool is_epilogue(unsigned long addr)
{
	char name[KSYM_NAME_LEN];
	size_t len;

	if (lookup_symbol_name(addr, name))
		return false;
	if (IS_ENABLED(CONFIG_PPC64))
		return str_has_prefix(name, "_restgpr0_");

	len = strlen(name);
	return (str_has_prefix(name, "_restgpr_") || str_has_prefix(name, "_rest32gpr_")) &&
	       !strcmp(name + len - 2, "_x");
}

kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long addr, unsigned long offset,
					 bool *on_func_entry)
{
	unsigned long entry = entry_of(addr);

	*on_func_entry = (addr + offset <= entry || !offset) && !is_epilogue(addr);
	return (kprobe_opcode_t *)(offset ? addr + offset : entry);
}

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

/*
 * Decode the instruction of a probe: fills in its opcode, and ainsn without a slot. What has an
 * entry in the exception table is not boosted: the page fault handler looks nip up there before
 * bad_page_fault() moves it from the copy to the probe.
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
	why = kprobe_addr_refused(addr);
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

	/* This is addpcis, on a CPU that does not have it. */
	if (!p->ainsn.emulate && !kprobe_insn_can_copy(insn))
		return KPROBE_REFUSAL_BRANCH;
	return KPROBE_REFUSAL_NONE;
}

/* patch_instructions() maps the page only once, but flushes only the addresses of the mapping. */
int kprobe_write_slot(void *slot, u32 *words, unsigned int nr)
{
	size_t size = nr * sizeof(*words);
	int ret;

	lockdep_assert_held(&text_mutex);

	ret = patch_instructions(slot, words, size, false);
	flush_icache_range((unsigned long)slot, (unsigned long)slot + size);
	return ret;
}

/* Branches and addpcis depend on their own address. They are always emulated. */
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

	kprobe_log_slot(slot, words, sizeof(words), true);
	return kprobe_write_slot(slot, words, ARRAY_SIZE(words));
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

static void discard_fetched(void *unused)
{
	isync();
}

/*
 * Make all CPUs refetch instructions. icbi is broadcast, but it only invalidates caches. To
 * discard what a CPU has already fetched, it has to execute a context-synchronizing instruction
 * itself. kick_all_cpus_sync() does not make it do so: an idle CPU that polls takes no interrupt,
 * and the calling CPU is skipped. Where interrupts are soft-masked, the function runs late, and
 * this waits for it.
 */
void kprobe_sync_cpus(void)
{
	on_each_cpu(discard_fetched, NULL, 1);
}

/* Where RCU does not watch, interrupts are off: a CPU that answers has left such code. */
void arch_sync_insn_slots(void)
{
	kprobe_sync_cpus();
}

/*
 * One word is replaced at a time, and CPUs are not synchronized. Until a CPU refetches the word,
 * it executes the old one. With the old instruction, a hit is lost. An old breakpoint raises an
 * exception that finds neither a probe nor a breakpoint, and returns to the instruction.
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
