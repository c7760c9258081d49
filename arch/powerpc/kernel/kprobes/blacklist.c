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

/*
 * The exception vectors and what they branch to. On Book3S-64, the common entry code of exceptions
 * and the code that returns from them are at the start of the text, too.
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

/* Not all of these exist everywhere. */
static const char * const fragile_path[] __initconst = {
	/* A CPU that starts runs these before it has its stack, its paca or RCU. */
	"__e500_dcache_setup",
	"__e500_icache_setup",
	"__mmu_off",
	"__restore_cpu_cpufeatures",
	"__restore_cpu_e5500",
	"__restore_cpu_e6500",
	"__restore_cpu_pa6t",
	"__restore_cpu_power7",
	"__restore_cpu_power8",
	"__restore_cpu_power9",
	"__restore_cpu_power10",
	"__restore_cpu_ppc970",
	"__restore_cpu_setup",
	"__secondary_start",
	"__secondary_start_mpc86xx",
	"__secondary_start_pmac_0",
	"__setup_cpu_603",
	"__setup_cpu_604",
	"__setup_cpu_750",
	"__setup_cpu_750cx",
	"__setup_cpu_750fx",
	"__setup_cpu_7400",
	"__setup_cpu_7410",
	"__setup_cpu_745x",
	"__setup_cpu_e500v1",
	"__setup_cpu_e500v2",
	"__setup_cpu_e500mc",
	"__setup_cpu_e5500",
	"__setup_e500_ivors",
	"__setup_e500mc_ivors",
	"__setup_ehv_ivors",
	"call_setup_cpu",
	"early_setup_secondary",
	"enable_64b_mode",
	"generic_secondary_common_init",
	"generic_secondary_smp_init",
	"init_idle_6xx",
	"init_pmu_power8",
	"init_pmu_power9",
	"init_pmu_power10",
	"load_segment_registers",
	"load_up_mmu",
	"loadcam_entry",
	"relative_toc",
	"restore_to_as0",
	"smp_callin",
	"start_secondary",
	"start_secondary_prolog",
	"start_secondary_resume",
	"switch_to_as1",

	/* A CPU that goes offline ends in these, when the others have stopped waiting for it. */
	"cpu_down_flush_e500mc",
	"cpu_down_flush_e500v2",
	"cpu_down_flush_e5500",
	"cpu_down_flush_e6500",
	"flush_dcache_L1",
	"pmac_cpu_offline_self",
	"pnv_cpu_offline_self",
	"pnv_cpu_offline",
	"power7_offline",
	"rcpm_v1_cpu_die",
	"rcpm_v1_cpu_enter_state",
	"rcpm_v2_cpu_die",
	"rcpm_v2_cpu_enter_state",
	"smp_85xx_cpu_offline_self",

	/* Idle: MSR[EE] is off while the soft mask is enabled, so no exception can return here. */
	"arch300_idle_type",
	"cbe_power_save",
	"check_and_cede_processor",
	"dedicated_cede_loop",
	"e500_idle",
	"idle_return_gpr_loss",
	"isa206_idle_insn_mayloss",
	"isa300_idle_stop_mayloss",
	"isa300_idle_stop_noloss",
	"plpar_hcall_norets_notrace",
	"power4_idle",
	"power4_idle_nap",
	"power7_idle_insn",
	"power7_idle_type",
	"power9_idle_stop",
	"power10_idle_stop",
	"ppc6xx_idle",
	"prep_irq_for_idle",
	"pseries_lpar_idle",
	"shared_cede_loop",

	/* kexec copies these, or runs them when nothing else works any more. */
	"copy_and_flush",
	"default_machine_kexec",
	"kexec_copy_flush",
	"kexec_sequence",
	"kexec_smp_down",
	"kexec_smp_wait",
	"kexec_wait",
	"real_mode",
	"relocate_new_kernel",

	/* Debuggers look at each trap before kprobes do. */
	"at_breakpoint",
	"in_breakpoint_table",
	"kgdb_handle_breakpoint",
	"xmon_bpt",

	/* Exits from exceptions and system calls; no exception can return to some parts of them. */
	"check_return_regs_valid",
	"interrupt_exit_kernel_prepare",
	"interrupt_exit_kernel_restart",
	"interrupt_exit_user_prepare",
	"interrupt_exit_user_prepare_main",
	"interrupt_exit_user_restart",
	"ret_from_syscall",
	"syscall_exit_finish",
	"syscall_exit_prepare",
	"syscall_exit_restart",

	/* book3s/32: called by these exits when MSR[RI] is off. */
	"__kuep_unlock",

	/* System calls on 32 bits: r2 is that of user space until it has been set to current. */
	"transfer_to_syscall",

	/* Hits call these. */
	"arch_local_irq_restore",
	"do_lq",
	"do_stq",
#ifdef CONFIG_PPC32
	/* For the structures of lib/sstep.c. */
	"memset",
#endif

	/* Hash MMU: they replace segments of handlers, or no exception can return here. */
	"alloc_slb_index",
	"get_slice_psize",
	"pin_stack_slb",
	"preload_add",
	"slb_allocate_kernel",
	"slb_allocate_user",
	"slb_flush_and_restore_bolted",
	"slb_insert_entry",
	"switch_slb",

	/* Book E: a TLB miss overwrites the registers with which these search the TLB. */
	"__tlbil_va",
	"_tlbil_all",
	"_tlbil_pid",
	"_tlbil_pid_noind",
	"_tlbil_va",
	"_tlbivax_bcast",
	"book3e_hugetlb_preload",
	"book3e_tlb_exists",
	"loadcam_multi",

	/* Sleep on powermac, partly without data translation. */
	"core99_wake_up",
	"flush_disable_745x",
	"flush_disable_75x",
	"flush_disable_caches",
	"grackle_wake_up",
	"low_cpu_offline_self",
	"low_sleep_handler",

	/* Real mode, or unrecoverable. */
	"__machine_check_early_realmode_p10",
	"__machine_check_early_realmode_p7",
	"__machine_check_early_realmode_p8",
	"__machine_check_early_realmode_p9",
	"__opal_call",
	"__slb_restore_bolted_realmode",
	"__tm_recheckpoint",
	"_set_L2CR",
	"_set_L3CR",
	"hmi_exception_realmode",
	"load_up_vsx",
	"pseries_machine_check_realmode",
	"real_205_readb",
	"real_205_writeb",
	"real_readb",
	"real_writeb",
	"slb_flush_all_realmode",
	"slb_restore_bolted_realmode",
	"tm_reclaim",

	/* Mitigations rewrite these. */
	"do_uaccess_flush",
	"flush_branch_caches",
};

int __init arch_populate_kprobe_blacklist(void)
{
	/* The compiler may have cloned some, as name.isra.0. */
	return kprobe_blacklist_clones(fragile_path, ARRAY_SIZE(fragile_path));
}
