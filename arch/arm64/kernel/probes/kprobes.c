// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on arm64: where they may be, and copies of instructions. decode-insn.c decides
 * what is to be done with an instruction; patch.c writes text; hit.c is the hit path.
 */

#include <kunit/static_stub.h>
#include <linux/cpufeature.h>
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>

#include <asm/alternative.h>
#include <asm/insn.h>
#include <asm/sections.h>
#include <asm/virt.h>

#include "decode-insn.h"
#include "simulate-insn.h"

/* The instruction at an address, without what probes have changed. */
static int read_insn(unsigned long addr, u32 *insn)
{
	__le32 word;
	int ret = kprobe_read_text(addr, &word, sizeof(word));

	if (!ret)
		*insn = le32_to_cpu(word);
	return ret;
}

/*
 * The return from an exception clears the local exclusive monitor. So a probe between an
 * exclusive load and its store would make the store fail each time. The Arm ARM recommends that
 * the two are at most 128 bytes apart. The search does not follow branches, so it also refuses
 * what follows a load without a store or a WFE.
 */
#define MAX_EXCLUSIVE_SEQUENCE	SZ_128

static bool is_in_exclusive_sequence(unsigned long addr, unsigned long into)
{
	unsigned long at, start = addr - min(into, MAX_EXCLUSIVE_SEQUENCE);
	u32 insn;

	for (at = addr; at > start;) {
		at -= AARCH64_INSN_SIZE;
		/* A load without a store is for a WFE, after which nothing is stored. */
		if (read_insn(at, &insn) || probe_insn_is_store_exclusive(insn) ||
		    insn == PROBE_INSN_WFE)
			return false;
		if (probe_insn_is_load_exclusive(insn))
			return true;
	}
	return false;
}

/* Only some instructions may follow MOVPRFX, and BRK is not one of them. */
static bool is_after_prefix(unsigned long addr, unsigned long into)
{
	u32 insn;

	return into && !read_insn(addr - AARCH64_INSN_SIZE, &insn) &&
	       probe_insn_is_prefix(insn);
}

/* No exception may come between the instruction and those before it. */
static bool is_in_sequence(unsigned long addr)
{
	unsigned long size, into;

	return kallsyms_lookup_size_offset(addr, &size, &into) &&
	       (is_in_exclusive_sequence(addr, into) || is_after_prefix(addr, into));
}

/*
 * A simulated load would fault in the exception. A literal load from an unmapped address is data,
 * not code.
 */
static bool can_load_literal(const struct probe_insn_row *row, u32 insn, unsigned long addr)
{
	bool wide = insn & BIT(30);
	u64 literal;

	if (row->form != PROBE_FORM_LDR_LIT)
		return true;
	return !copy_from_kernel_nofault(&literal,
					 (void *)(addr + probe_insn_literal_offset(insn)),
					 wide ? sizeof(u64) : sizeof(u32));
}

/*
 * With CALL_OPS, each traced function is preceded by the address of its ftrace_ops, in two words
 * which kallsyms counts to the function before it.
 */
static bool is_ftrace_data(unsigned long addr)
{
	unsigned long fn = ALIGN_DOWN(addr + sizeof(u64), sizeof(u64));
	unsigned long size, into;

	return IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS) &&
	       kallsyms_lookup_size_offset(fn, &size, &into) && !into &&
	       ftrace_location(fn) - fn <= 2 * AARCH64_INSN_SIZE;
}

/* Tests can redirect this. */
bool kprobe_alternatives_are_final(void)
{
	KUNIT_STATIC_STUB_REDIRECT(kprobe_alternatives_are_final);

	return system_capabilities_finalized();
}

/*
 * With kCFI, a hash of the type of a function precedes its entry. Indirect calls check it, so it
 * must not change. Functions whose address is not taken have no hash. In front of these, there
 * may be the last instruction of another function.
 */
static bool is_type_hash(unsigned long addr, u32 insn)
{
	unsigned long size, into;

	return IS_ENABLED(CONFIG_CFI) &&
	       insn != aarch64_insn_gen_branch_reg(AARCH64_INSN_REG_LR,
						   AARCH64_INSN_BRANCH_RETURN) &&
	       kallsyms_lookup_size_offset(addr + AARCH64_INSN_SIZE, &size, &into) && !into;
}

/* The original or the replacement: a breakpoint in the latter would be copied. */
static bool belongs_to(const struct alt_instr *alt, unsigned long addr)
{
	unsigned long orig = (unsigned long)&alt->orig_offset + alt->orig_offset;
	unsigned long new = (unsigned long)&alt->alt_offset + alt->alt_offset;

	/* With a callback, alt_offset is that of a function. */
	return addr - orig < alt->orig_len ||
	       (!(alt->cpucap & ARM64_CB_BIT) && addr - new < alt->alt_len);
}

/* Alternatives are applied to modules before they can be probed. */
static bool may_become_alternative(unsigned long addr)
{
	const struct alt_instr *alt = (void *)__alt_instructions;
	const struct alt_instr *stop = (void *)__alt_instructions_end;

	if (kprobe_alternatives_are_final())
		return false;

	for (; alt < stop; alt++) {
		if (belongs_to(alt, addr))
			return true;
	}
	return false;
}

/*
 * A livepatch is relocated each time that the object which it patches is loaded. Before that, and
 * after the object was unloaded, these fields are zero. A copy, and what is decoded here, would
 * keep the fields of now.
 */
static bool is_relocated_later(unsigned long addr, u32 insn)
{
	return (aarch64_insn_uses_literal(insn) || aarch64_insn_is_branch_imm(insn) ||
		aarch64_insn_is_add_imm(insn) || aarch64_insn_is_load_imm(insn) ||
		aarch64_insn_is_store_imm(insn) || aarch64_insn_is_movz(insn) ||
		aarch64_insn_is_movk(insn) || aarch64_insn_is_movn(insn)) &&
	       kprobe_in_livepatch(addr);
}

/* MRS of ICC_PMR_EL1. During a step, the priority mask is not that of the program. */
#define MRS_PMR_MASK	0xffffffe0
#define MRS_PMR		0xd5384600

static bool reads_priority_mask(u32 insn)
{
	return system_uses_irq_prio_masking() && (insn & MRS_PMR_MASK) == MRS_PMR;
}

enum kprobe_refusal arch_decide_kprobe(struct kprobe *p)
{
	const struct probe_insn_row *row;
	unsigned long addr = (unsigned long)p->addr;
	u32 insn;

	if (!IS_ALIGNED(addr, AARCH64_INSN_SIZE))
		return KPROBE_REFUSAL_ALIGNMENT;
	if (read_insn(addr, &insn))
		return KPROBE_REFUSAL_NOT_TEXT;
	if (is_ftrace_data(addr) || is_type_hash(addr, insn))
		return KPROBE_REFUSAL_PREAMBLE;
	if (may_become_alternative(addr))
		return KPROBE_REFUSAL_ALTERNATIVE;
	if (is_relocated_later(addr, insn))
		return KPROBE_REFUSAL_LIVEPATCH;
	if (search_exception_tables(addr))
		return KPROBE_REFUSAL_FIXUP;

	row = probe_insn_decode(insn);
	if (row->form == PROBE_FORM_REJECT)
		return row->refusal;
	if (is_in_sequence(addr))
		return KPROBE_REFUSAL_SEQUENCE;
	if (!can_load_literal(row, insn, addr))
		return KPROBE_REFUSAL_INVALID;

	p->opcode = insn;
	p->ainsn.api.handler = reads_priority_mask(insn) ? probe_simulate_mrs_pmr : row->simulate;
	p->ainsn.form = row->form;
	p->ainsn.boost = row->form == PROBE_FORM_COPY && kprobe_boosts();
	p->ainsn.computes = probe_insn_computation(insn);
	return KPROBE_REFUSAL_NONE;
}

/* What can be simulated needs a slot only because a copy that branches back is faster. */
unsigned int arch_kprobe_ways(const struct kprobe *p)
{
	if (p->ainsn.api.handler)
		return KPROBE_EMULATES;
	return KPROBE_NEEDS_COPY | (p->ainsn.computes ? KPROBE_EMULATES : 0);
}

/* Two copies. The first one branches back; the second one is stepped, or called. */
enum kprobe_refusal arch_copy_kprobe(struct kprobe *p, kprobe_opcode_t *slot,
				     kprobe_opcode_t *code)
{
	unsigned int second = KPROBE_STEP_OFFSET / AARCH64_INSN_SIZE;

	if (p->ainsn.boost) {
		code[0] = p->opcode;
		code[1] = arch_kprobe_branch((unsigned long)(slot + 1),
					     (unsigned long)(p->addr + 1));
	}
	if (p->ainsn.computes) {
		code[second] = probe_insn_computation(p->opcode);
		code[second + 1] = aarch64_insn_gen_branch_reg(AARCH64_INSN_REG_LR,
							       AARCH64_INSN_BRANCH_RETURN);
	} else {
		code[second] = p->opcode;
		code[second + 1] = BRK64_OPCODE_KPROBES_SS;
	}
	return KPROBE_REFUSAL_NONE;
}

/*
 * The blacklist
 */

/*
 * The first one returns twice: once from itself, and once after the CPU has lost its state
 * and come back. The functions that it calls to suspend the CPU do not return at all.
 */
struct kretprobe_blackpoint kretprobe_blacklist[] = {
	{ "__cpu_suspend_enter", },
	{ "psci_suspend_finisher", },
	{ "psci_system_suspend", },
	{ "psci_0_1_cpu_suspend", },
	{ "psci_0_2_cpu_suspend", },
};

const int kretprobe_blacklist_size = ARRAY_SIZE(kretprobe_blacklist);

/*
 * A CPU that comes up or wakes up runs these before it has its stack, its vectors or RCU. One
 * that goes down ends in them, after the rest of the kernel has stopped waiting for it. The
 * firmware that they call may use x18, which the kernel's exceptions rely on with a shadow call
 * stack. Not all exist everywhere.
 */
static const char * const fragile_path[] __initconst = {
	"__arm_smccc_hvc",
	"__arm_smccc_smc",
	"__cpu_try_die",
	"__efi_rt_asm_recover",
	"__efi_rt_asm_wrapper",
	"__invoke_psci_fn_hvc",
	"__invoke_psci_fn_smc",
	"__psci_cpu_off",
	"__secondary_switched",
	"__secondary_too_slow",
	"_cpu_resume",
	"cpu_die_early",
	"cpu_do_resume",
	"cpu_psci_cpu_die",
	"finalise_el2",
	"init_gic_priority_masking",
	"psci_0_1_cpu_off",
	"psci_0_2_cpu_off",
	"secondary_start_kernel",
	"set_cpu_boot_mode_flag",
};

/*
 * What the vectors call for a breakpoint, up to the current probe; what the trampolines, the
 * unwinder and an exit of a task call; and what emulates an instruction, through a pointer.
 */
static const char * const roots[] __initconst = {
	"el1h_64_sync_handler",
	"kprobe_brk_handler",
	"kprobe_detour_far",
	"kprobe_leave_slot",
	"kprobe_ss_brk_handler",
	"kprobe_unwind_pc",
	"kretprobe_detour_far",
	"kretprobe_native_entry",
	"kretprobe_native_handler",
	"probe_simulate_adr",
	"probe_simulate_b",
	"probe_simulate_b_cond",
	"probe_simulate_bl",
	"probe_simulate_blr",
	"probe_simulate_br",
	"probe_simulate_cbz",
	"probe_simulate_ldr_lit",
	"probe_simulate_mov",
	"probe_simulate_mrs_daif",
	"probe_simulate_mrs_pmr",
	"probe_simulate_msr_daif",
	"probe_simulate_msr_daif_imm",
	"probe_simulate_nop",
	"probe_simulate_ret",
	"probe_simulate_tbz",
};

/*
 * With VHE, the code that enters and leaves guests is part of the kernel's text, but runs with
 * other vectors, or with registers of the guest. These are its entry, its vectors, and what is
 * called through pointers.
 */
static const char * const guest_roots[] __initconst = {
	"__bp_harden_hyp_vecs",
	"__guest_enter",
	"__guest_exit",
	"__guest_exit_panic",
	"__guest_exit_restore_elr_and_panic",
	"__kvm_hyp_vector",
	"__kvm_vcpu_run_vhe",
	"__vgic_v3_read_ap0rn",
	"__vgic_v3_read_ap1rn",
	"__vgic_v3_read_apxr0",
	"__vgic_v3_read_apxr1",
	"__vgic_v3_read_apxr2",
	"__vgic_v3_read_apxr3",
	"__vgic_v3_read_bpr0",
	"__vgic_v3_read_bpr1",
	"__vgic_v3_read_ctlr",
	"__vgic_v3_read_hppir",
	"__vgic_v3_read_iar",
	"__vgic_v3_read_igrpen0",
	"__vgic_v3_read_igrpen1",
	"__vgic_v3_read_pmr",
	"__vgic_v3_read_rpr",
	"__vgic_v3_write_apxr0",
	"__vgic_v3_write_apxr1",
	"__vgic_v3_write_apxr2",
	"__vgic_v3_write_apxr3",
	"__vgic_v3_write_bpr0",
	"__vgic_v3_write_bpr1",
	"__vgic_v3_write_ctlr",
	"__vgic_v3_write_dir",
	"__vgic_v3_write_eoir",
	"__vgic_v3_write_igrpen0",
	"__vgic_v3_write_igrpen1",
	"__vgic_v3_write_pmr",
	"abort_guest_exit_end",
	"abort_guest_exit_start",
	"el1_error",
	"el1_irq",
	"el1_sync",
	"el1_trap",
	"el2_error",
	"el2_sync",
	"kvm_hyp_handle_cntpct",
	"kvm_hyp_handle_cp15_32",
	"kvm_hyp_handle_cpacr_el1",
	"kvm_hyp_handle_dabt_low",
	"kvm_hyp_handle_eret",
	"kvm_hyp_handle_fpsimd",
	"kvm_hyp_handle_iabt_low",
	"kvm_hyp_handle_impdef",
	"kvm_hyp_handle_memory_fault",
	"kvm_hyp_handle_mops",
	"kvm_hyp_handle_sysreg",
	"kvm_hyp_handle_sysreg_vhe",
	"kvm_hyp_handle_tlbi_el2",
	"kvm_hyp_handle_watchpt_low",
	"kvm_hyp_handle_zcr_el2",
	"kvm_unexpected_el2_exception",
	"wa_epilogue",
};

/*
 * These handle other exceptions or breakpoints, or run after the step was abandoned because the
 * task dies.
 */
static const char * const cuts[] __initconst = {
	"__panic_unhandled",
	"arm64_force_sig_fault",
	"bug_brk_handler",
	"cfi_brk_handler",
	"do_breakpoint",
	"do_el1_bti",
	"do_el1_fpac",
	"do_el1_gcs",
	"do_el1_mops",
	"do_el1_softstep",
	"do_el1_undef",
	"do_mem_abort",
	"do_sp_pc_abort",
	"do_watchpoint",
	"kgdb_brk_handler",
	"kgdb_compiled_brk_handler",
	"reserved_fault_brk_handler",
	"trace_hardirqs_on",
	"ubsan_brk_handler",
};

int __init arch_populate_kprobe_blacklist(void)
{
	int ret;

	ret = kprobe_add_area_blacklist((unsigned long)__entry_text_start,
					(unsigned long)__entry_text_end) ?:
	      kprobe_add_area_blacklist((unsigned long)__irqentry_text_start,
					(unsigned long)__irqentry_text_end) ?:
	      kprobe_add_area_blacklist((unsigned long)__hyp_text_start,
					(unsigned long)__hyp_text_end);
	if (is_kernel_in_hyp_mode())
		ret = ret ?: kprobe_blacklist_roots(guest_roots, ARRAY_SIZE(guest_roots));
	else	/* It runs at EL2, where no exception of the kernel is handled. */
		ret = ret ?: kprobe_add_area_blacklist((unsigned long)__hyp_idmap_text_start,
						       (unsigned long)__hyp_idmap_text_end);
	return ret ?: kprobe_blacklist_names(fragile_path, ARRAY_SIZE(fragile_path)) ?:
		      kprobe_blacklist_roots(roots, ARRAY_SIZE(roots)) ?:
		      kprobe_blacklist_cuts(cuts, ARRAY_SIZE(cuts));
}

static int __init visit_branches(const __le32 *from, const __le32 *to,
				 int (*fn)(unsigned long target, void *arg), void *arg)
{
	u32 insn;
	int ret;

	for (; from < to; from++) {
		insn = le32_to_cpu(*from);
		if (!aarch64_insn_is_branch_imm(insn))
			continue;
		ret = fn((unsigned long)from + aarch64_get_branch_offset(insn), arg);
		if (ret)
			return ret;
	}

	return 0;
}

/* kallsyms counts the hash before a function to the function before it. */
static bool __init is_hash(unsigned long at)
{
	u32 insn = le32_to_cpu(*(__le32 *)at);
	unsigned long into;

	return IS_ENABLED(CONFIG_CFI) && aarch64_insn_is_branch_imm(insn) &&
	       (!kallsyms_lookup_size_offset(at + aarch64_get_branch_offset(insn), NULL, &into) ||
		into);
}

/*
 * Alternatives follow the code of their object, and kallsyms counts them to its last function. Most
 * are not applied yet. A branch in one has the target that it will have.
 */
int __init arch_kprobe_for_each_branch(unsigned long start, unsigned long end,
				       int (*fn)(unsigned long target, void *arg), void *arg)
{
	const struct alt_instr *alt, *stop = (void *)__alt_instructions_end;
	unsigned long orig, repl;
	int ret;

	for (alt = (void *)__alt_instructions; alt < stop; alt++) {
		repl = (unsigned long)&alt->alt_offset + alt->alt_offset;
		if (repl > start && repl < end)
			end = repl;
	}
	if (is_hash(end - AARCH64_INSN_SIZE))
		end -= AARCH64_INSN_SIZE;
	ret = visit_branches((__le32 *)start, (__le32 *)end, fn, arg);
	for (alt = (void *)__alt_instructions; !ret && alt < stop; alt++) {
		orig = (unsigned long)&alt->orig_offset + alt->orig_offset;
		if (orig < start || orig >= end || alt->cpucap & ARM64_CB_BIT)
			continue;
		repl = (unsigned long)&alt->alt_offset + alt->alt_offset;
		ret = visit_branches((__le32 *)repl, (__le32 *)(repl + alt->alt_len), fn, arg);
	}

	return ret;
}
