// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernel probes on x86: preparing, arming and disarming. decode.c tells what is
 * to be done with an instruction, hit.c does it.
 */

#include <linux/execmem.h>
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

#include <asm/ibt.h>
#include <asm/sections.h>

#include <xen/xen.h>

#include "common.h"

/* It leaves on another stack than it came. */
struct kretprobe_blackpoint kretprobe_blacklist[] = {
	{ "__switch_to", },
};

const int kretprobe_blacklist_size = ARRAY_SIZE(kretprobe_blacklist);

/**
 * arch_adjust_kprobe_addr() - the address to probe for an offset in a symbol
 * @addr: start of the symbol
 * @offset: offset from there
 * @on_func_entry: set to whether a probe there is on the function's entry
 *
 * A landing pad is what an indirect call has to hit first: the entry begins
 * behind it.
 *
 * Context: process context.
 * Return: the address, or NULL when it cannot be read.
 */
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long addr,
					 unsigned long offset,
					 bool *on_func_entry)
{
	u32 first;

	if (get_kernel_nofault(first, (u32 *)addr))
		return NULL;

	if (is_endbr(first) && (offset == 0 || offset == ENDBR_INSN_SIZE)) {
		*on_func_entry = true;
		return (kprobe_opcode_t *)(addr + ENDBR_INSN_SIZE);
	}

	*on_func_entry = !offset;
	return (kprobe_opcode_t *)(addr + offset);
}

/**
 * alloc_insn_page() - get a page for instruction slots
 *
 * Context: process context, a slot cache's mutex held.
 * Return: a page of breakpoints, only text_poke() can write to it; or NULL.
 */
void *alloc_insn_page(void)
{
	void *page = execmem_alloc(EXECMEM_KPROBES, PAGE_SIZE);

	if (!page)
		return NULL;

	memset(page, INT3_INSN_OPCODE, PAGE_SIZE);
	if (set_memory_rox((unsigned long)page, 1)) {
		execmem_free(page);
		return NULL;
	}

	return page;
}

/**
 * arch_sync_insn_slots() - used slots are about to be written to again
 *
 * Code that runs where RCU does not watch has interrupts off: a CPU that answers has
 * left it.
 *
 * Context: workqueue, a slot cache's mutex held; or process context.
 */
void arch_sync_insn_slots(void)
{
	text_poke_sync();
}

/*
 * The trampoline of a static call is rewritten with the call's target, by
 * somebody who insists on what stands there. Those of the kernel have a
 * section of their own; elsewhere this mark is behind them.
 */
static bool is_static_call_trampoline(unsigned long addr)
{
	static const u8 mark[] = { 0x0f, 0xb9, 0xcc };
	u8 behind[sizeof(mark)];

	return !copy_from_kernel_nofault(behind, (void *)addr + CALL_INSN_SIZE,
					 sizeof(behind)) &&
	       !memcmp(behind, mark, sizeof(mark));
}

#if IS_ENABLED(CONFIG_KPROBES_KUNIT_TEST)
bool kprobe_test_as_xen_pv;
#define is_xen_pv()	(READ_ONCE(kprobe_test_as_xen_pv) || xen_pv_domain())
#else
#define is_xen_pv()	xen_pv_domain()
#endif

/*
 * What has xen_preemptible_hcall_begin() and xen_preemptible_hcall_end() in it, which
 * are inline; and what that may have been inlined to.
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

/**
 * kprobe_in_preemptible_hcall() - may a task be scheduled at any instruction here?
 * @addr: address of an instruction
 *
 * A Xen PV guest without PREEMPTION does so in interrupts that come during some
 * hypercalls. Grace periods, which end when a task is scheduled, then do not tell
 * that it has left a slot or a detour, so there must be none.
 *
 * Context: process context.
 * Return: true if it may be.
 */
bool kprobe_in_preemptible_hcall(unsigned long addr)
{
	char name[KSYM_NAME_LEN];

	if (IS_ENABLED(CONFIG_PREEMPTION) || !is_xen_pv())
		return false;
	if (lookup_symbol_name(addr, name))
		return true;

	/* Parts that a compiler makes of functions have a suffix. */
	*strchrnul(name, '.') = '\0';
	return match_string(preemptible_hcalls, ARRAY_SIZE(preemptible_hcalls), name) >= 0;
}

/* A jump through memory is stepped as a push of the target. */
static void make_push(u8 *buf, struct insn *insn)
{
	buf[insn_offset_modrm(insn)] &= ~0x38;
	buf[insn_offset_modrm(insn)] |= 6 << 3;
}

static void log_slot(void *slot, const u8 *buf, bool in_use)
{
	if (in_use)
		perf_event_text_poke(slot, NULL, 0, buf, KPROBE_INSN_SLOT_SIZE);
	else
		perf_event_text_poke(slot, buf, KPROBE_INSN_SLOT_SIZE, NULL, 0);
}

static int fill_slot(struct kprobe *p, struct kprobe_insn *ki, u8 *slot)
{
	unsigned long addr = (unsigned long)p->addr;
	struct arch_specific_insn *a = &p->ainsn;
	u8 buf[KPROBE_INSN_SLOT_SIZE];
	u8 *copy;
	int len;

	BUILD_BUG_ON(KPROBE_BOOST_OFFSET + MAX_INSN_SIZE + JMP32_INSN_SIZE > KPROBE_STEP_OFFSET);
	BUILD_BUG_ON(KPROBE_STEP_OFFSET + MAX_INSN_SIZE + INT3_INSN_SIZE > sizeof(buf));

	memset(buf, INT3_INSN_OPCODE, sizeof(buf));

	if (a->boost) {
		copy = buf + KPROBE_BOOST_OFFSET;
		len = kprobe_copy(copy, ki, addr, (unsigned long)slot + KPROBE_BOOST_OFFSET);
		if (len < 0)
			return len;
		__text_gen_insn(copy + len, JMP32_INSN_OPCODE,
				slot + KPROBE_BOOST_OFFSET + len,
				(void *)addr + len, JMP32_INSN_SIZE);
	}

	copy = buf + KPROBE_STEP_OFFSET;
	len = kprobe_copy(copy, ki, addr, (unsigned long)slot + KPROBE_STEP_OFFSET);
	if (len < 0)
		return len;
	if (a->op == KPROBE_OP_STEP_CALL || a->op == KPROBE_OP_STEP_JMP)
		make_push(copy, &ki->insn);

	log_slot(slot, buf, true);
	text_poke(slot, buf, sizeof(buf));
	a->insn = slot;
	return 0;
}

/* Emulated forms need a slot only if the copy that jumps back is faster. */
static bool needs_slot(const struct arch_specific_insn *a)
{
	return a->boost || !kprobe_op_is_emulated(a->op);
}

/**
 * arch_prepare_kprobe() - decode the instruction and make its copies
 * @p: addr is set
 *
 * Context: kprobe_mutex, CPU hotplug lock and text_mutex held; sleeps.
 * Return: 0, with opcode and ainsn filled in; -EILSEQ no instruction begins
 *	   there, or it is a trap; -EINVAL it cannot be executed elsewhere, or
 *	   the text belongs to somebody else; -EOPNOTSUPP a control transfer that
 *	   is not emulated; -ENOMEM.
 */
int arch_prepare_kprobe(struct kprobe *p)
{
	unsigned long addr = (unsigned long)p->addr;
	struct kprobe_insn ki;
	u8 *slot;
	int ret;

	ret = kprobe_fetch(addr, &ki);
	if (ret)
		return ret;
	if (is_static_call_trampoline(addr))
		return -EINVAL;
	ret = kprobe_classify(&ki, addr, &p->ainsn);
	if (ret)
		return ret;
	if (kprobe_in_preemptible_hcall(addr))
		p->ainsn.boost = false;

	p->opcode = ki.bytes[0];
	if (!needs_slot(&p->ainsn))
		return 0;

	slot = get_insn_slot_near(addr);
	if (!slot)
		return -ENOMEM;
	ret = fill_slot(p, &ki, slot);
	if (ret)
		free_insn_slot(slot, 0);
	return ret;
}

/**
 * arch_remove_kprobe() - give the slot back
 * @p: a probe that no CPU executes any more; may have no slot
 *
 * Context: kprobe_mutex held.
 */
void arch_remove_kprobe(struct kprobe *p)
{
	kprobe_opcode_t *slot = p->ainsn.insn;

	if (!slot)
		return;

	log_slot(slot, slot, false);
	/* Steps are over, but a boosted copy may have been preempted. */
	free_insn_slot(slot, p->ainsn.boost);
	p->ainsn.insn = NULL;
}

/**
 * arch_kprobe_mode() - how an instruction under a breakpoint is executed
 * @p: a prepared probe
 *
 * Context: kprobe_mutex held.
 * Return: "boosted", "emulated" or "stepped".
 */
const char *arch_kprobe_mode(const struct kprobe *p)
{
	if (kprobe_is_boosted(p))
		return "boosted";
	return kprobe_op_is_emulated(p->ainsn.op) ? "emulated" : "stepped";
}

static void poke_all(struct list_head *kps, bool arm)
{
	static const u8 int3 = INT3_INSN_OPCODE;
	struct kprobe *p;

	list_for_each_entry(p, kps, list) {
		text_poke(p->addr, arm ? &int3 : &p->opcode, 1);
		cond_resched();
	}

	/*
	 * Breakpoints are handled with interrupts off: when all CPUs have
	 * answered, no one is left that trapped before.
	 */
	text_poke_sync();
}

static void log_all(struct list_head *kps, bool arm)
{
	static const u8 int3 = INT3_INSN_OPCODE;
	struct kprobe *p;

	list_for_each_entry(p, kps, list)
		perf_event_text_poke(p->addr, arm ? &p->opcode : &int3, 1,
				     arm ? &int3 : &p->opcode, 1);
}

/**
 * arch_arm_kprobes() - write breakpoints
 * @kps: prepared probes, linked by their list
 *
 * Context: kprobe_mutex, CPU hotplug lock and text_mutex held; sleeps.
 */
void arch_arm_kprobes(struct list_head *kps)
{
	poke_all(kps, true);
	log_all(kps, true);
}

/**
 * arch_disarm_kprobes() - take breakpoints out
 * @kps: armed probes, linked by their list
 *
 * Context: as arch_arm_kprobes().
 */
void arch_disarm_kprobes(struct list_head *kps)
{
	log_all(kps, false);
	poke_all(kps, false);
}

/*
 * A CPU that comes up, or wakes up, runs these before it has its IDT and its per-CPU
 * data, or before RCU waits for it; and some as it goes. Hibernation copies some
 * elsewhere first. Not all exist everywhere.
 */
static const char * const waking_path[] __initconst = {
	"common_startup_64",
	"core_restore_code",
	"cpu_init",
	"cpu_init_exception_handling",
	"cpuhp_ap_sync_alive",
	"cr4_init",
	"do_suspend_lowlevel",
	"early_setup_idt",
	"fpu__init_cpu",
	"fpu__init_cpu_generic",
	"fpu__init_cpu_xstate",
	"load_current_idt",
	"load_direct_gdt",
	"load_ucode_ap",
	"restore_image",
	"restore_processor_state",
	"restore_registers",
	"ret_point",
	"secondary_startup_64",
	"secondary_startup_64_no_verify",
	"sev_verify_cbit",
	"soft_restart_cpu",
	"start_secondary",
	"startup_32_smp",
	"tboot_shutdown",
	"verify_cpu",
	"wakeup_long64",
	"wakeup_pmode_return",
};

/**
 * arch_populate_kprobe_blacklist() - text in which a breakpoint is no good
 *
 * Context: early_initcall.
 * Return: 0, or -ENOMEM.
 */
int __init arch_populate_kprobe_blacklist(void)
{
	int ret;

	/* Stack and per-CPU base are not to be relied on there. */
	ret = kprobe_add_area_blacklist((unsigned long)__entry_text_start,
					(unsigned long)__entry_text_end);
	if (ret)
		return ret;

	ret = kprobe_blacklist_names(waking_path, ARRAY_SIZE(waking_path));
	if (ret)
		return ret;

#ifdef CONFIG_HAVE_STATIC_CALL
	ret = kprobe_add_area_blacklist((unsigned long)__static_call_text_start,
					(unsigned long)__static_call_text_end);
	if (ret)
		return ret;
#endif

#ifdef CONFIG_KEXEC_CORE
	/* It is copied to where no exception is handled. */
	ret = kprobe_add_area_blacklist((unsigned long)relocate_kernel,
					(unsigned long)relocate_kernel +
					KEXEC_CONTROL_CODE_MAX_SIZE);
#endif
	return ret;
}

/**
 * arch_init_kprobes() - nothing to set up
 *
 * Return: 0.
 */
int __init arch_init_kprobes(void)
{
	return 0;
}

#ifdef CONFIG_KRETPROBES
/**
 * arch_trampoline_kprobe() - no trampoline here is itself probed
 * @p: a probe
 *
 * Return: 0.
 */
int arch_trampoline_kprobe(struct kprobe *p)
{
	return 0;
}
#endif
