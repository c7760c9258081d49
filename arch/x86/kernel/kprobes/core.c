// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: preparing, arming and disarming. decode.c decides what is to be done with
 * an instruction; int3.c does it.
 */

#include <linux/execmem.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kexec.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/set_memory.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/alternative.h>
#include <asm/ibt.h>
#include <asm/sections.h>

#include <xen/xen.h>

#include "common.h"

/* The function returns on another stack than it was called on. */
struct kretprobe_blackpoint kretprobe_blacklist[] = {
	{ "__switch_to", },
};

const int kretprobe_blacklist_size = ARRAY_SIZE(kretprobe_blacklist);

/* Indirect calls have to hit a landing pad first. The instruction after it counts as the entry. */
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long addr,
					 unsigned long offset,
					 bool *on_func_entry)
{
	u32 first;

	if (get_kernel_nofault(first, (u32 *)addr))
		return NULL;

	*on_func_entry = !offset;
	if (kprobe_is_landing_pad(first) && (!offset || offset == ENDBR_INSN_SIZE)) {
		*on_func_entry = true;
		offset = ENDBR_INSN_SIZE;
	}
	return (kprobe_opcode_t *)(addr + offset);
}

/* A page of breakpoints, which only text_poke() can write to. */
void *alloc_insn_page(void)
{
	void *page = execmem_alloc(EXECMEM_KPROBES, PAGE_SIZE);
	unsigned long addr = (unsigned long)page;

	/* Part of a large page is filled already, and making it writable would split that page. */
	if (!page || execmem_is_rox(EXECMEM_KPROBES))
		return page;

	/* Other pages are not filled, but may be ROX already. Keep W^X while filling them. */
	if (set_memory_nx(addr, 1) || set_memory_rw(addr, 1))
		goto err_free;
	memset(page, INT3_INSN_OPCODE, PAGE_SIZE);
	if (set_memory_rox(addr, 1))
		goto err_free;

	return page;

err_free:
	execmem_free(page);
	return NULL;
}

/* Where RCU does not watch, interrupts are off: a CPU that answers has left such code. */
void arch_sync_insn_slots(void)
{
	smp_text_poke_sync_each_cpu();
}

/*
 * The trampoline of a static call is rewritten whenever the target changes, by code that checks
 * the old bytes. Those of the kernel have a section of their own; those of modules are followed
 * by this mark.
 */
static bool is_static_call_trampoline(unsigned long addr)
{
	static const u8 mark[] = { OP_ESCAPE, OP2_UD1, INT3_INSN_OPCODE };
	u8 after[sizeof(mark)];

	return !copy_from_kernel_nofault(after, (void *)addr + CALL_INSN_SIZE,
					 sizeof(after)) &&
	       !memcmp(after, mark, sizeof(mark));
}

/* A trampoline that does nothing, or returns 0, may have several instructions. */
static bool in_static_call_trampoline(unsigned long addr)
{
	unsigned long size, into;

	return is_static_call_trampoline(addr) ||
	       (kallsyms_lookup_size_offset(addr, &size, &into) && into < CALL_INSN_SIZE &&
		is_static_call_trampoline(addr - into));
}

#if IS_ENABLED(CONFIG_KPROBES_KUNIT_TEST)
bool kprobe_test_as_xen_pv;
#define is_xen_pv()	(READ_ONCE(kprobe_test_as_xen_pv) || xen_pv_domain())
#else
#define is_xen_pv()	xen_pv_domain()
#endif

/*
 * Functions with xen_preemptible_hcall_begin() and xen_preemptible_hcall_end(), which are inline,
 * and functions that these may have been inlined into.
 */
static const char * const preemptible_hcalls[] = {
	"irqfd_inject",
	"irqfd_wakeup",
	"privcmd_ioctl",
	"privcmd_ioctl_dm_op",
	"privcmd_ioctl_hypercall",
	"privcmd_ioctl_irqfd",
	"privcmd_ioctl_mmap_resource",
	"privcmd_irqfd_assign",
};

/*
 * A Xen PV guest without PREEMPTION schedules in interrupts that come during some hypercalls. A
 * grace period of tasks-RCU, which ends when tasks are scheduled, then does not show that a task
 * has left a slot or a detour. So there must be none.
 */
bool kprobe_in_preemptible_hcall(unsigned long addr)
{
	char name[KSYM_NAME_LEN];

	if (IS_ENABLED(CONFIG_PREEMPTION) || !is_xen_pv())
		return false;
	if (lookup_symbol_name(addr, name))
		return true;

	/* Compilers split functions, and give the parts a suffix. */
	*strchrnul(name, '.') = '\0';
	return match_string(preemptible_hcalls, ARRAY_SIZE(preemptible_hcalls), name) >= 0;
}

/* A jump through memory is stepped as a push of the target. */
static void make_push(u8 *buf, struct insn *insn)
{
	modrm_set_reg(buf + insn_offset_modrm(insn), GRP5_PUSH);
}

enum kprobe_refusal arch_copy_kprobe(struct kprobe *p, kprobe_opcode_t *slot,
				     kprobe_opcode_t *code)
{
	unsigned long addr = (unsigned long)p->addr;
	struct arch_specific_insn *a = &p->ainsn;
	struct kprobe_insn ki;
	u8 *copy;
	int len;

	BUILD_BUG_ON(MAX_INSN_SIZE + JMP32_INSN_SIZE > KPROBE_STEP_OFFSET);
	BUILD_BUG_ON(KPROBE_STEP_OFFSET + MAX_INSN_SIZE + INT3_INSN_SIZE > KPROBE_INSN_SLOT_SIZE);

	if (kprobe_fetch_at(addr, addr + a->len, &ki))
		return KPROBE_REFUSAL_NOT_TEXT;

	if (a->boost) {
		len = kprobe_copy(code, &ki, addr, (unsigned long)slot);
		if (len < 0)
			return KPROBE_REFUSAL_REACH;
		__text_gen_insn(code + len, JMP32_INSN_OPCODE, slot + len,
				(void *)addr + len, JMP32_INSN_SIZE);
	}

	copy = code + KPROBE_STEP_OFFSET;
	len = kprobe_copy(copy, &ki, addr, (unsigned long)slot + KPROBE_STEP_OFFSET);
	if (len < 0)
		return KPROBE_REFUSAL_REACH;
	if (a->op == KPROBE_OP_STEP_CALL || a->op == KPROBE_OP_STEP_JMP)
		make_push(copy, &ki.insn);
	return KPROBE_REFUSAL_NONE;
}

int arch_write_slot(void *slot, kprobe_opcode_t *code, size_t size)
{
	text_poke(slot, code, size);
	return 0;
}

/* Emulated forms need a slot only if the copy that jumps back is faster. */
unsigned int arch_kprobe_ways(const struct kprobe *p)
{
	return kprobe_op_is_emulated(p->ainsn.op) ? KPROBE_EMULATES : KPROBE_NEEDS_COPY;
}

enum kprobe_refusal arch_decide_kprobe(struct kprobe *p)
{
	unsigned long addr = (unsigned long)p->addr;
	enum kprobe_refusal why;
	struct kprobe_insn ki;

	why = kprobe_fetch(addr, &ki);
	if (why)
		return why;
	if (in_static_call_trampoline(addr))
		return KPROBE_REFUSAL_STATIC_CALL;
	why = kprobe_classify(&ki, addr, &p->ainsn);
	if (why)
		return why;
	if (kprobe_in_preemptible_hcall(addr))
		p->ainsn.boost = false;

	p->opcode = ki.bytes[0];
	return KPROBE_REFUSAL_NONE;
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/* Nothing is copied: ftrace executes the instruction. */
int arch_prepare_kprobe_ftrace(struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);

	p->ainsn = (struct arch_specific_insn) { .len = MCOUNT_INSN_SIZE };
	return 0;
}
#endif

#ifdef CONFIG_OPTPROBES
/* Do other subsystems change this text at run time? The jump label lock is held. */
bool kprobe_is_patched(unsigned long addr, unsigned int size)
{
	void *start = (void *)addr, *last = (void *)(addr + size - 1);

	lockdep_assert_held(&text_mutex);

	return ftrace_text_reserved(start, last) ||
	       kprobe_jump_label_reserved(addr, addr + size - 1) ||
	       static_call_text_reserved(start, last);
}
#endif

/* For perf, a breakpoint exists only while no CPU can execute the instruction instead. */
void arch_arm_kprobes(struct list_head *kps, bool arm)
{
	static const u8 int3 = INT3_INSN_OPCODE;
	struct kprobe *p;

	lockdep_assert_held(&kprobe_mutex);
	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	list_for_each_entry(p, kps, list) {
		if (!arm)
			perf_event_text_poke(p->addr, &int3, 1, &p->opcode, 1);
		text_poke(p->addr, arm ? &int3 : &p->opcode, 1);
		cond_resched();
	}

	/*
	 * Breakpoints are handled with interrupts off. When all CPUs have answered, none is still
	 * handling an old one.
	 */
	smp_text_poke_sync_each_cpu();

	if (!arm)
		return;
	list_for_each_entry(p, kps, list)
		perf_event_text_poke(p->addr, &p->opcode, 1, &int3, 1);
}

/*
 * Returns are patched at boot to go through one of these, also those of the hit path itself
 * before it has set the current probe. The others overlap them. retpoline.S does not mark all of
 * these, and not all exist everywhere.
 */
static const char * const return_thunks[] __initconst = {
	"__x86_return_thunk",
	"call_depth_return_thunk",
	"its_return_thunk",
	"retbleed_return_thunk",
	"retbleed_untrain_ret",
	"srso_alias_return_thunk",
	"srso_alias_safe_ret",
	"srso_alias_untrain_ret",
	"srso_return_thunk",
	"srso_safe_ret",
	"srso_untrain_ret",
};

/*
 * What the entry code of breakpoints and the trampolines call. Then what a CPU runs when it comes
 * up or wakes up, before it has its IDT and its per-CPU data, or before RCU watches. Some of it
 * also runs when the CPU goes down, and hibernation copies some of it. Not all exist everywhere.
 */
static const char * const roots[] __initconst = {
	"irqentry_nmi_enter",
	"irqentry_nmi_exit",
	"kprobe_int3_handler",
	"kretprobe_native_entry",
	"kretprobe_native_handler",

	"common_startup_64",
	"core_restore_code",
	"cpu_init",
	"cpuhp_ap_sync_alive",
	"do_suspend_lowlevel",
	"early_setup_idt",
	"idt_invalidate",
	"restore_image",
	"restore_processor_state",
	"restore_registers",
	"ret_point",
	"secondary_startup_64",
	"secondary_startup_64_no_verify",
	"soft_restart_cpu",
	"start_secondary",
	"startup_32_smp",
	"tboot_shutdown",
	"verify_cpu",
	"wakeup_long64",
	"wakeup_pmode_return",
};

/*
 * Refused, but not followed: the CPU already handles breakpoints, and much of what this calls has
 * other callers, too.
 */
static const char * const not_followed[] __initconst = {
	"load_ucode_ap",
};

/*
 * These run when the CPU already handles breakpoints, or after a step has been abandoned, or
 * while the events of MSRs are traced.
 */
static const char * const cuts[] __initconst = {
	"__SCT__tp_func_read_msr",
	"__SCT__tp_func_write_msr",
	"__srcu_read_unlock",
	"__traceiter_read_msr",
	"__traceiter_write_msr",
	"ap_init_aperfmperf",
	"ap_starting",
	"apic_ap_setup",
	"cache_bp_restore",
	"calibrate_delay",
	"check_tsc_sync_target",
	"cpu_startup_entry",
	"fixup_exception",
	"identify_secondary_cpu",
	"init_ia32_feat_ctl",
	"kernel_fpu_end",
	"lapic_online",
	"lock_vector_lock",
	"microcode_bsp_resume",
	"notify_cpu_starting",
	"perf_restore_debug_store",
	"save_processor_state",
	"set_cpu_online",
	"set_cpu_sibling_map",
	"smp_store_cpu_info",
	"speculative_store_bypass_ht_init",
	"tsc_verify_tsc_adjust",
	"unlock_vector_lock",
	"x86_acpi_enter_sleep_state",
};

#ifdef CONFIG_KEXEC_CORE
/* A copy of it runs where no exception is handled. */
static int __init blacklist_kexec(void)
{
	return kprobe_add_area_blacklist((unsigned long)relocate_kernel,
					 (unsigned long)relocate_kernel +
					 KEXEC_CONTROL_CODE_MAX_SIZE);
}
#else
static int __init blacklist_kexec(void)
{
	return 0;
}
#endif

int __init arch_populate_kprobe_blacklist(void)
{
	int ret;

	/* Neither the stack nor the per-CPU base can be relied on there. */
	ret = kprobe_add_area_blacklist((unsigned long)__entry_text_start,
					(unsigned long)__entry_text_end);
	if (ret)
		return ret;

	ret = kprobe_blacklist_names(return_thunks, ARRAY_SIZE(return_thunks)) ?:
	      kprobe_blacklist_names(not_followed, ARRAY_SIZE(not_followed)) ?:
	      kprobe_blacklist_roots(roots, ARRAY_SIZE(roots)) ?:
	      kprobe_blacklist_cuts(not_followed, ARRAY_SIZE(not_followed)) ?:
	      kprobe_blacklist_cuts(cuts, ARRAY_SIZE(cuts));
	/* Static calls verify their trampolines before they rewrite them. */
	ret = ret ?: kprobe_add_area_blacklist((unsigned long)__static_call_text_start,
					       (unsigned long)__static_call_text_end);
	return ret ?: blacklist_kexec();
}
