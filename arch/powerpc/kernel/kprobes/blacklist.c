// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text of powerpc that must not be probed: because of its function, or because of where it is or
 * what surrounds it.
 */

#include <linux/align.h>
#include <linux/array_size.h>
#include <linux/cleanup.h>
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/init.h>
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

/*
 * The exception vectors and what they branch to. On Book3S-64, the common entry code of
 * exceptions and the code that returns from them are at the start of the text, too.
 */
#ifdef CONFIG_PPC_BOOK3S_64
#define END_OF_VECTORS	__end_soft_masked
#else
#define END_OF_VECTORS	__head_end
#endif

bool arch_within_kprobe_blacklist(unsigned long addr)
{
	return kprobe_is_between(addr, _stext, END_OF_VECTORS) ||
	       kprobe_is_between(addr, __kprobes_text_start, __kprobes_text_end) ||
	       kprobe_is_between(addr, __kprobes_pages_start, __kprobes_pages_end);
}

/*
 * Not every symbol exists in every configuration. Each is defined in the file named above it, below
 * arch/powerpc/ unless that is a path from the top, or only there in the kernel that is named as
 * well; scripts/prove/hitpath looks them up.
 */
static const char * const fragile_path[] __initconst = {
	/* A CPU that starts runs this before it has RCU. */
	/* kernel/smp.c */
	"start_secondary",

	/* A CPU that goes offline ends up in these after the others have stopped waiting for it. */
	/* platforms/85xx/smp.c */
	"smp_85xx_cpu_offline_self",
	/* platforms/powermac/smp.c */
	"pmac_cpu_offline_self",
	/* platforms/powernv/smp.c */
	"pnv_cpu_offline_self",
	/* sysdev/fsl_rcpm.c */
	"rcpm_v1_cpu_die",
	"rcpm_v1_cpu_enter_state",
	"rcpm_v2_cpu_die",
	"rcpm_v2_cpu_enter_state",

	/* Idle: MSR[EE] is off while the soft mask is enabled, so no exception can return here. */
	/* kernel/epapr_hcalls.S */
	"epapr_ev_idle",
	"epapr_ev_idle_start",
	"idle_loop",
	/* kernel/idle.c */
	"power4_idle",
	/* kernel/idle_6xx.S */
	"ppc6xx_idle",
	/* kernel/idle_85xx.S */
	"e500_idle",
	/* kernel/idle_book3s.S */
	"idle_return_gpr_loss",
	"isa206_idle_insn_mayloss",
	"isa300_idle_stop_mayloss",
	"isa300_idle_stop_noloss",
	"power4_idle_nap",
	/* kernel/irq_64.c */
	"prep_irq_for_idle",
	/* platforms/pasemi/powersave.S */
	"_doze",
	"idle_doze",
	"sleep_common",
	/* platforms/pseries/hvCall.S */
	"plpar_hcall_norets_notrace",

	/* Copied by kexec, or run by it after the kernel has been torn down. */
	/* kernel/head_64.S */
	"copy_and_flush",
	/* kernel/misc_64.S */
	"kexec_sequence",
	"kexec_smp_wait",
	"kexec_wait",
	"real_mode",
	/* kexec/core_64.c */
	"default_machine_kexec",
	"kexec_copy_flush",
	"kexec_smp_down",
	/* kexec/relocate_32.S */
	"relocate_new_kernel",

	/* Hibernation: r13 has no paca while the image is copied back. */
	/* kernel/swsusp_asm64.S */
	"copy_page_loop",
	"copyloop",
	"nothing_to_copy",
	"swsusp_arch_resume",

	/* Debuggers look at each trap before kprobes do. */
	/* kernel/kgdb.c */
	"kgdb_handle_breakpoint",

	/* Exits from exceptions and system calls; no exception can return to some parts of them. */
	/* kernel/entry_32.S */
	"ret_from_syscall",
	"syscall_exit_finish",
	/* kernel/interrupt.c */
	"interrupt_exit_user_prepare",
	"interrupt_exit_user_restart",
	"syscall_exit_prepare",
	"syscall_exit_restart",

	/* Book3S-32: called by these exits when MSR[RI] is off. */
	/* kernel/entry_32.S */
	"__kuep_unlock",

	/* System calls on 32 bits: r2 is that of user space until it has been set to current. */
	/* kernel/entry_32.S */
	"transfer_to_syscall",

	/* Hash MMU: they replace segments of handlers, or no exception can return here. */
	/* kernel/switch.S */
	"pin_stack_slb",

	/*
	 * BookE: a TLB miss, as in the probe's exception, clobbers the MAS registers that these
	 * are using.
	 */
	/* mm/nohash/tlb_low.S */
	"__tlbil_va",
	"_tlbil_all",
	"_tlbil_pid",
	"_tlbil_pid_noind",
	"_tlbil_va",
	"_tlbivax_bcast",
	"loadcam_multi",

	/* Sleep on powermac, partly without data translation. */
	/* platforms/powermac/cache.S */
	"flush_disable_745x",
	"flush_disable_75x",
	"flush_disable_caches",
	/* platforms/powermac/sleep.S */
	"core99_wake_up",
	"grackle_wake_up",
	"low_cpu_offline_self",
	"low_sleep_handler",

	/* Real mode, or unrecoverable. */
	/* kernel/l2cr_6xx.S */
	"_set_L2CR",
	"_set_L3CR",
	/* kernel/misc_64.S */
	"real_205_readb",
	"real_205_writeb",
	"real_readb",
	"real_writeb",
	/* kernel/tm.S */
	"__tm_recheckpoint",
	"tm_reclaim",
	/* kernel/vector.S */
	"load_up_vsx",
	/* mm/book3s64/hash_pgtable.c */
	"change_memory_range_fn",
	/* mm/book3s64/slb.c */
	"__slb_restore_bolted_realmode",
	"slb_flush_all_realmode",
	"slb_restore_bolted_realmode",
	/* platforms/powernv/subcore-asm.S; its "real_mode" is above */
	"split_core_secondary_loop",
	/* platforms/powernv/opal-wrappers.S */
	"__opal_call",
	"opal_return",

	/* Mitigations rewrite these. */
	/* kernel/exceptions-64s.S */
	"do_uaccess_flush",
	/* kernel/switch.S */
	"flush_branch_caches",

	/* ftrace rewrites these, and expects what it has written. */
	/* kernel/trace/ftrace_entry.S */
	"ftrace_ool_stub_text",
	/* tools/ftrace-gen-ool-stubs.sh */
	"ftrace_ool_stub_inittext",
	"ftrace_ool_stub_text_end",

	/*
	 * A machine check in these is fixed up by the exception table, in real mode or without
	 * asking kprobes. The address of a copy has no entry there.
	 */
	/* lib/copy_mc_64.S */
	"copy_mc_generic",
	/* sysdev/fsl_rio.c */
	"fsl_rio_config_read",
};

/* Neither these nor what they call can be probed. Most kernels have only a few of them. */
static const char * const roots[] __initconst = {
	/* The handling of a hit, from the entry of its exception to the exit. */
	"interrupt_exit_kernel_prepare",
	"interrupt_exit_kernel_restart",
	"kprobe_bad_page_fault",
	"kprobe_handler",
	"kprobe_post_handler",
	"kretprobe_native_entry",
	"kretprobe_native_handler",
	"program_check_exception",
	"single_step_exception",
	"xmon_bpt",

	/* Hash MMU: they replace segments of handlers, or no exception can return here. */
	"do_slb_fault",
	"slb_flush_and_restore_bolted",
	"switch_slb",

#ifdef CONFIG_PPC_E500
	/* The MAS registers are in use, see fragile_path[]. */
	"__update_mmu_cache",
#endif

	/* A CPU that starts, goes offline or is idle. */
	"__restore_cpu_cpufeatures",
	"__restore_cpu_power10",
	"__restore_cpu_power12",
	"__restore_cpu_power7",
	"__restore_cpu_power8",
	"__restore_cpu_power9",
	"arch300_idle_type",
	"dedicated_cede_loop",
	"early_setup_secondary",
	"init_pmu_power10",
	"init_pmu_power12",
	"init_pmu_power8",
	"init_pmu_power9",
	"pnv_cpu_offline",
	"power7_idle_type",
	"pseries_lpar_idle",
	"shared_cede_loop",

	/* The same, in assembly: without a stack, a paca or translation. */
	"__e500_dcache_setup",
	"__e500_icache_setup",
	"__mmu_off",
	"__restore_cpu_e5500",
	"__restore_cpu_e6500",
	"__restore_cpu_pa6t",
	"__restore_cpu_ppc970",
	"__restore_cpu_setup",
	"__secondary_start",
	"__secondary_start_mpc86xx",
	"__secondary_start_pmac_0",
	"__setup_cpu_603",
	"__setup_cpu_604",
	"__setup_cpu_7400",
	"__setup_cpu_7410",
	"__setup_cpu_745x",
	"__setup_cpu_750",
	"__setup_cpu_750cx",
	"__setup_cpu_750fx",
	"__setup_cpu_e500mc",
	"__setup_cpu_e500v1",
	"__setup_cpu_e500v2",
	"__setup_cpu_e5500",
	"__setup_e500_ivors",
	"__setup_e500mc_ivors",
	"__setup_ehv_ivors",
	"call_setup_cpu",
	"cpu_down_flush_e500mc",
	"cpu_down_flush_e500v2",
	"cpu_down_flush_e5500",
	"cpu_down_flush_e6500",
	"enable_64b_mode",
	"generic_secondary_common_init",
	"generic_secondary_smp_init",
	"init_idle_6xx",
	"load_segment_registers",
	"load_up_mmu",
	"loadcam_entry",
	"relative_toc",
	"restore_to_as0",
	"start_secondary_prolog",
	"start_secondary_resume",
	"switch_to_as1",

	/* Real mode: where exceptions lead, nothing is mapped, and SRR0 and SRR1 are in use. */
	"__machine_check_early_realmode_p10",
	"__machine_check_early_realmode_p7",
	"__machine_check_early_realmode_p8",
	"__machine_check_early_realmode_p9",
	"hmi_exception_realmode",
	"machine_check_early",
	"machine_check_queue_event",
	"opal_hmi_exception_early",
	"opal_hmi_exception_early2",
	"opal_mce_check_early_recovery",
	"pseries_machine_check_realmode",

	/* Real mode between a guest and KVM: the entries, and the calls that are handled there. */
	"idle_kvm_start_guest",
	"kvmhv_p9_tm_emulation_early",
	"kvmppc_entry_trampoline",
	"kvmppc_handler_skip_ins",
	"kvmppc_handler_trampoline_enter",
	"kvmppc_handler_trampoline_exit",
	"kvmppc_h_bulk_remove",
	"kvmppc_h_cede",
	"kvmppc_h_clear_mod",
	"kvmppc_h_clear_ref",
	"kvmppc_h_enter",
	"kvmppc_h_protect",
	"kvmppc_h_read",
	"kvmppc_h_remove",
	"kvmppc_h_set_dabr",
	"kvmppc_h_set_xdabr",
	"kvmppc_hv_entry_trampoline",
	"kvmppc_interrupt_hv",
	"kvmppc_interrupt_pr",
	"kvmppc_p9_realmode_hmi_handler",
	"kvmppc_realmode_machine_check",
	"kvmppc_rm_h_confer",
	"kvmppc_rm_h_page_init",
	"kvmppc_rm_h_random",
	"xics_rm_h_cppr",
	"xics_rm_h_eoi",
	"xics_rm_h_ipi",
	"xics_rm_h_xirr",
	"xics_rm_h_xirr_x",
};

/* The roots call these, but they can be probed. */
static const char * const cuts[] __initconst = {
	/* Not called for the trap of a probe, or only to emulate what these do not do. */
	"__might_fault",
	"__perf_sw_event",
	"_exception",
	"conv_dp_to_sp",
	"conv_sp_to_dp",
	"do_lqarx",
	"do_stqcx",
	"emulate_instruction",
	"flush_fp_to_thread",
	"get_fpr",
	"get_vr",
	"load_vsrn",
	"notify_die",
	"put_fpr",
	"put_vr",
	"report_bug",
	"search_exception_tables",
	"store_vsrn",
	/* The hit is over, or interrupts were enabled before. */
	"__replay_soft_interrupts",
	"irq_enter",
	"irq_exit",
	"replay_soft_interrupts",
	/* The way back to user space. */
	"__rseq_handle_slowpath",
	"__rseq_trace_update",
	"arch_do_signal_or_restart",
	"klp_update_patch_state",
	"restore_math",
	"rseq_debug_update_user_cs",
	"rseq_trace_ip_fixup",
	"schedule",
	"task_work_run",
	"uprobe_notify_resume",
	/* Breakpoints are handled by then, or the kernel is about to stop. */
	"do_enter_rtas",
	"show_regs",
	"start_secondary",
	"unrecoverable_exception",
	"xmon_core",
};

#ifdef CONFIG_PPC_BOOK3S_64
/* Words that a handler needs at most to switch MSR[RI] on, and a function that does only that. */
#define MAX_UNRECOVERABLE	64
#define MAX_SWITCH		24

/* Does @fn do no more than to switch MSR[RI], as __hard_irq_enable() does? */
static bool __init switches_ri(unsigned long fn)
{
	unsigned long size, into;
	u32 *p = (u32 *)fn;

	if (!kallsyms_lookup_size_offset(fn, &size, &into) || size > MAX_SWITCH * INSN_WORD)
		return false;
	for (; p < (u32 *)(fn - into + size); p++) {
		if (kprobe_insn_bounds(*p) & KPROBE_OPENS(HARD_DISABLE))
			return true;
	}
	return false;
}

/*
 * What is called from @p on until MSR[RI] has been switched on, by this code or by what it calls.
 * If that is not near, it has been on before. Branches are followed in both directions.
 */
static int __init add_unrecoverable(const u32 *p, unsigned int words)
{
	unsigned long target[MAX_UNRECOVERABLE];
	unsigned int nr = 0;
	bool on = false;
	int ret = 0;

	for (; words && !on && !kprobe_insn_is_bclr(*p); p++, words--) {
		on = kprobe_insn_bounds(*p) & KPROBE_OPENS(HARD_DISABLE);
		if (instr_is_relative_link_branch(ppc_inst(*p))) {
			target[nr] = branch_target(p);
			on = switches_ri(target[nr++]);
		} else if (instr_is_relative_branch(ppc_inst(*p))) {
			ret = ret ?: add_unrecoverable((u32 *)branch_target(p), words / 8);
			if (kprobe_insn_is_b(*p))
				break;
		}
	}
	while (nr-- && on)
		ret = ret ?: kprobe_blacklist_root_at(target[nr]);
	return ret;
}

/*
 * The handlers of interrupts begin with MSR[RI] off, where no breakpoint is recoverable. They are
 * on the blacklist. But the compiler may not inline what they do until it is on.
 */
static int __init add_all_unrecoverable(void)
{
	unsigned long handler;
	int ret = 0;
	u32 *p;

	for (p = (u32 *)_stext; p < (u32 *)END_OF_VECTORS && !ret; p++) {
		if (!instr_is_relative_link_branch(ppc_inst(*p)))
			continue;
		handler = branch_target(p);
		if (!arch_within_kprobe_blacklist(handler) && within_kprobe_blacklist(handler))
			ret = add_unrecoverable((u32 *)handler, MAX_UNRECOVERABLE);
	}
	return ret;
}
#else
static int __init add_all_unrecoverable(void)
{
	return 0;
}
#endif

int __init arch_populate_kprobe_blacklist(void)
{
	/* First, while only such handlers are on the blacklist, and not exits from system calls. */
	return add_all_unrecoverable() ?:
	       kprobe_blacklist_names(fragile_path, ARRAY_SIZE(fragile_path)) ?:
	       kprobe_blacklist_roots(roots, ARRAY_SIZE(roots)) ?:
	       kprobe_blacklist_cuts(cuts, ARRAY_SIZE(cuts));
}

/*
 * Functions that must not be hooked. Out-of-line epilogues, of which modules have copies, are
 * refused by arch_adjust_kprobe_addr().
 */
struct kretprobe_blackpoint kretprobe_blacklist[] = {
	/* Returns twice. */
	{ "setjmp", },

	/* These return with translation off. The trampoline cannot call C code then. */
	{ "isa206_idle_insn_mayloss", },
	{ "isa300_idle_stop_mayloss", },
	{ "isa300_idle_stop_noloss", },

	/*
	 * Compiled code and ftrace call these at the entry of a function. They return through
	 * CTR, and LR has the return address of that function.
	 */
	{ "mcount", },
	{ "_mcount", },
	{ "ftrace_caller", },
	{ "ftrace_regs_caller", },
};

const int kretprobe_blacklist_size = ARRAY_SIZE(kretprobe_blacklist);

/*
 * With CALL_OPS on 32 bits, each traced function is preceded by the address of its ftrace_ops, in a
 * word which kallsyms counts to the function before it. The call site is the second word.
 */
static bool is_ftrace_data(unsigned long addr)
{
	unsigned long fn = addr + INSN_WORD, size, into;

	return IS_ENABLED(CONFIG_PPC32) && IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS) &&
	       kallsyms_lookup_size_offset(fn, &size, &into) && !into &&
	       ftrace_location(fn) - fn <= INSN_WORD;
}

/* The trap of BUG(). */
#define INSN_TWI_MASK		0xffe00000
#define INSN_TWI_TRAP		0x0fe00000

/*
 * Functions of assembly, such as those that save and restore registers for a compiler that
 * optimizes for size, may run into the next one. There is no padding in between. A call at the
 * end of a function does not return.
 */
static bool may_run_on(u32 last)
{
	if (!last || last == PPC_RAW_NOP() || last == PPC_RAW_TRAP() ||
	    (last & INSN_TWI_MASK) == INSN_TWI_TRAP || kprobe_insn_is_b(last))
		return false;
	if (kprobe_insn_is_bclr(last) || kprobe_insn_is_bcctr(last))
		return (kprobe_insn_bo(last) & INSN_BO_ALWAYS) != INSN_BO_ALWAYS;
	return true;
}

/* Feature sections have been patched by now. */
int __init arch_kprobe_for_each_branch(unsigned long start, unsigned long end,
				       int (*fn)(unsigned long target, void *arg), void *arg)
{
	const u32 *p;
	int ret;

	for (p = (u32 *)start; p < (u32 *)end; p++) {
		ret = instr_is_relative_branch(ppc_inst(*p)) ? fn(branch_target(p), arg) : 0;
		if (ret)
			return ret;
	}

	p -= is_ftrace_data(end - INSN_WORD);
	return may_run_on(p[-1]) ? fn(end, arg) : 0;
}

/*
 * Places
 */

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
	/* While it is being loaded, klp_info is missing or incomplete. */
	if (READ_ONCE(mod->state) != MODULE_STATE_LIVE)
		return true;

	info = mod->klp_info;
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

	if (is_ftrace_data(addr))
		return KPROBE_REFUSAL_PREAMBLE;
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
