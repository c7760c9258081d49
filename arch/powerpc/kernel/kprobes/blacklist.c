// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text of powerpc that must not be probed.
 */

#include <linux/array_size.h>
#include <linux/init.h>
#include <linux/kprobes.h>

#include <asm/interrupt.h>
#include <asm/sections.h>

#include "common.h"
#include "insn.h"

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
	       kprobe_is_in_image_pages(addr);
}

/*
 * Not every symbol exists in every configuration. Each is defined in the file named above it, below
 * arch/powerpc/ unless that is a path from the top, or only there in the kernel that is named as
 * well; scripts/prove/hitpath looks them up.
 */
static const char * const fragile_path[] __initconst = {
	/* A CPU that starts runs these before it has its stack, its paca or RCU. */
	/* kernel/cpu_setup_6xx.S */
	"__restore_cpu_setup",
	"__setup_cpu_603",
	"__setup_cpu_604",
	"__setup_cpu_7400",
	"__setup_cpu_7410",
	"__setup_cpu_745x",
	"__setup_cpu_750",
	"__setup_cpu_750cx",
	"__setup_cpu_750fx",
	/* kernel/cpu_setup_e500.S */
	"__e500_dcache_setup",
	"__e500_icache_setup",
	"__restore_cpu_e5500",
	"__restore_cpu_e6500",
	"__setup_cpu_e500mc",
	"__setup_cpu_e500v1",
	"__setup_cpu_e500v2",
	"__setup_cpu_e5500",
	/* kernel/cpu_setup_pa6t.S */
	"__restore_cpu_pa6t",
	/* kernel/cpu_setup_ppc970.S */
	"__restore_cpu_ppc970",
	/* kernel/head_64.S */
	"__mmu_off",
	"__secondary_start",
	"__secondary_start_pmac_0",
	"enable_64b_mode",
	"generic_secondary_common_init",
	"generic_secondary_smp_init",
	"relative_toc",
	"start_secondary_prolog",
	/* kernel/head_85xx.S */
	"__setup_e500_ivors",
	"__setup_e500mc_ivors",
	"__setup_ehv_ivors",
	"restore_to_as0",
	"switch_to_as1",
	/* kernel/head_book3s_32.S */
	"__secondary_start_mpc86xx",
	"load_segment_registers",
	"load_up_mmu",
	/* kernel/idle_6xx.S */
	"init_idle_6xx",
	/* kernel/misc_32.S */
	"call_setup_cpu",
	"start_secondary_resume",
	/* kernel/smp.c */
	"start_secondary",
	/* mm/nohash/tlb_low.S */
	"loadcam_entry",

	/* A CPU that goes offline ends up in these after the others have stopped waiting for it. */
	/* kernel/cpu_setup_e500.S */
	"cpu_down_flush_e500mc",
	"cpu_down_flush_e500v2",
	"cpu_down_flush_e5500",
	"cpu_down_flush_e6500",
	"flush_dcache_L1",
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
	/* mm/book3s64/slb.c */
	"__slb_restore_bolted_realmode",
	"slb_flush_all_realmode",
	"slb_restore_bolted_realmode",
	/* platforms/powernv/opal-wrappers.S */
	"__opal_call",

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
	"__restore_cpu_power7",
	"__restore_cpu_power8",
	"__restore_cpu_power9",
	"arch300_idle_type",
	"dedicated_cede_loop",
	"early_setup_secondary",
	"init_pmu_power10",
	"init_pmu_power8",
	"init_pmu_power9",
	"pnv_cpu_offline",
	"power7_idle_type",
	"pseries_lpar_idle",
	"shared_cede_loop",

	/* Real mode: where exceptions lead, nothing is mapped, and SRR0 and SRR1 are in use. */
	"__machine_check_early_realmode_p10",
	"__machine_check_early_realmode_p7",
	"__machine_check_early_realmode_p8",
	"__machine_check_early_realmode_p9",
	"hmi_exception_realmode",
	"machine_check_early",
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

int __init arch_populate_kprobe_blacklist(void)
{
	return kprobe_blacklist_names(fragile_path, ARRAY_SIZE(fragile_path)) ?:
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

	return may_run_on(p[-1]) ? fn(end, arg) : 0;
}
