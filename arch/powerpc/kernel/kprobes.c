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
 * An instruction with an exception table entry is not boosted: the page fault handler looks nip up
 * in the table before bad_page_fault() moves it from the copy to the probe.
 */
enum kprobe_refusal arch_decide_kprobe(struct kprobe *p)
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

/*
 * Slots
 */

/* patch_instructions() maps the page only once, but flushes only the addresses of the mapping. */
int arch_write_slot(void *slot, kprobe_opcode_t *code, size_t size)
{
	int ret;

	lockdep_assert_held(&text_mutex);

	ret = patch_instructions(slot, code, size, false);
	flush_icache_range((unsigned long)slot, (unsigned long)slot + size);
	return ret;
}

kprobe_opcode_t arch_kprobe_branch(unsigned long from, unsigned long to)
{
	return PPC_RAW_BRANCH(to - from);
}

/* Branches and addpcis depend on their own address: they are always emulated, and need no copy. */
unsigned int arch_kprobe_ways(const struct kprobe *p)
{
	ppc_inst_t insn = kprobe_insn(p);

	return (p->ainsn.emulate ? KPROBE_EMULATES : 0) |
	       (kprobe_insn_can_copy(insn) ? KPROBE_NEEDS_COPY : 0) |
	       (kprobe_insn_is_pcrel(insn) ? KPROBE_NEEDS_NEAR : 0);
}

static void put_copy(u32 *words, ppc_inst_t insn)
{
	words[0] = ppc_inst_val(insn);
	if (ppc_inst_prefixed(insn))
		words[1] = ppc_inst_suffix(insn);
}

enum kprobe_refusal arch_copy_kprobe(struct kprobe *p, kprobe_opcode_t *slot,
				     kprobe_opcode_t *code)
{
	ppc_inst_t insn = kprobe_insn(p);
	unsigned int nr = p->ainsn.len / INSN_WORD;

	if (!kprobe_insn_move(&insn, (unsigned long)p->addr, (unsigned long)slot))
		return KPROBE_REFUSAL_REACH;

	put_copy(code, insn);
	put_copy(code + KPROBE_STEP_OFFSET / INSN_WORD, insn);
	if (p->ainsn.boost)
		code[nr] = arch_kprobe_branch((unsigned long)(slot + nr), kprobe_next(p));
	return KPROBE_REFUSAL_NONE;
}

#ifdef CONFIG_KPROBES_ON_FTRACE
int arch_prepare_kprobe_ftrace(struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);

	return 0;
}
#endif

static void discard_fetched(void *unused)
{
	isync();
}

/*
 * icbi is broadcast, but it only invalidates caches. Instructions that a CPU has already
 * prefetched are discarded by a context-synchronizing instruction on that CPU.
 * kick_all_cpus_sync() guarantees none: an idle CPU that polls takes no interrupt, and the calling
 * CPU is skipped. Where interrupts are soft-masked, the function runs late, and this waits for it.
 * Code that RCU does not watch runs with interrupts off: a CPU that answers has left it.
 */
void arch_sync_insn_slots(void)
{
	on_each_cpu(discard_fetched, NULL, 1);
}

/*
 * One word is replaced at a time, and CPUs are not synchronized. Until a CPU refetches the word,
 * it executes the old one. With the old instruction, a hit is lost. An old breakpoint raises an
 * exception, which finds the site as long as that is in the table. Later ones would find neither a
 * probe nor a breakpoint, and return to the instruction.
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
