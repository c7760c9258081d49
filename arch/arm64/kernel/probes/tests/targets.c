// SPDX-License-Identifier: GPL-2.0-only
/*
 * What generic suites have to know about arm64; see kernel/kprobes/tests/targets.h.
 */

#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/uaccess.h>

#include <asm/daifflags.h>
#include <asm/esr.h>
#include <asm/insn.h>
#include <asm/sysreg.h>

#ifdef CONFIG_OPTPROBES
#include "../detour.h"
#endif
#include "helpers.h"
#include "targets.h"

#define FSC_ALIGNMENT	0x21

extern unsigned long kpb_flag;
unsigned long kpb_flag;

KPB_FUNCTION(spin, "adrp x1, kpb_flag\n add x1, x1, :lo12:kpb_flag\n"
	     "777: ldr x2, [x1]\n cbz x2, 777b\n add x0, x0, #1");

const struct kp_target kp_target_add = KPB_TARGET(add);
const struct kp_target kp_target_callee = KPB_TARGET(callee);
const struct kp_target kp_target_load = KPB_TARGET(bad_load);
const struct kp_target kp_target_spin = KPB_TARGET(spin);
/* No probe is accepted there. */
const struct kp_target kp_target_user_load = {};

unsigned long *const kp_target_flag = &kpb_flag;

unsigned long kp_target_run(const struct kp_target *t, unsigned long arg)
{
	return kpb_run(t->fn, arg);
}

kprobe_opcode_t *kp_target_addr(const struct kp_target *t)
{
	return kpb_addr(&(struct kpb_place) { t->fn, t->at });
}

unsigned long kp_target_value(const struct pt_regs *regs)
{
	return regs->regs[0];
}

void kp_target_set_value(struct pt_regs *regs, unsigned long value)
{
	regs->regs[0] = value;
}

void kp_target_go_to(struct pt_regs *regs, const struct kp_target *t)
{
	instruction_pointer_set(regs, (unsigned long)t->fn);
}

void kp_target_go_back(struct pt_regs *regs)
{
	instruction_pointer_set(regs, regs->regs[30]);
}

bool kp_target_has_irqs_on(const struct pt_regs *regs)
{
	return interrupts_enabled(regs);
}

bool kp_target_steps_or_masks(void)
{
	return read_sysreg(daif) & DAIF_MASK;
}

/* The last one crosses 16 bytes, which no acquiring load may do. */
KPB_FUNCTION(bad_store, "777: str x0, [x0]\n ldr x0, [x0]");
KPB_FUNCTION(bad_acquire, "777: ldar x0, [x0]");

static u64 kpb_variable[4] __aligned(16);

const struct kp_fault kp_faults[] = {
	{ "translation fault", KPB_TARGET(bad_load), KP_BAD_ADDRESS, ESR_ELx_FSC_FAULT, "stepped" },
	{ "permission fault", KPB_TARGET(bad_store), KP_READ_ONLY, ESR_ELx_FSC_PERM, "stepped",
	  .stores = true },
	{ "alignment fault", KPB_TARGET(bad_acquire), (unsigned long)kpb_variable + 13,
	  FSC_ALIGNMENT, "stepped" },
};

const unsigned int nr_kp_faults = ARRAY_SIZE(kp_faults);

bool kp_fault_is(const struct kp_fault *f, int trapnr)
{
	u32 mask = f->trapnr == FSC_ALIGNMENT ? ESR_ELx_FSC : ESR_ELx_FSC_TYPE;

	return ESR_ELx_EC((u32)trapnr) == ESR_ELx_EC_DABT_CUR && (trapnr & mask) == f->trapnr;
}

bool kp_target_has_breakpoint(const void *addr)
{
	return kpb_has_breakpoint(addr);
}

bool kp_target_optimizes_entries(void)
{
	return !system_supports_bti_kernel();
}

#ifdef CONFIG_OPTPROBES
void *kp_target_detour(const void *addr)
{
	u32 insn = kpb_word(addr);
	unsigned long to;

	if (!aarch64_insn_is_b(insn))
		return NULL;

	to = (unsigned long)addr + aarch64_get_branch_offset(insn);
	return is_kprobe_optinsn_slot(to) ? (void *)to : NULL;
}
#else
void *kp_target_detour(const void *addr)
{
	return NULL;
}
#endif

bool kp_target_has_return_detours(void)
{
	return IS_ENABLED(CONFIG_KRETPROBE_NATIVE);
}

#if defined(CONFIG_OPTPROBES) && defined(CONFIG_KRETPROBE_NATIVE)
/* By the first call, of code that detours share. */
bool kp_target_is_return_detour(const void *detour)
{
	const u32 *insn = detour;
	unsigned int i;

	for (i = 0; detour && i < MAX_OPTINSN_SIZE; i++) {
		u32 word = kpb_word(&insn[i]);

		if (aarch64_insn_is_bl(word))
			return (unsigned long)&insn[i] + aarch64_get_branch_offset(word) ==
			       (unsigned long)kretprobe_detour_near;
	}
	return false;
}
#else
bool kp_target_is_return_detour(const void *detour)
{
	return false;
}
#endif

bool kp_target_boosts(void)
{
	return kprobe_boosts();
}

/* Access to user memory, and to memory with other tags. */

static bool has_user_access(void)
{
	if (system_uses_hw_pan())
		return !(read_sysreg_s(SYS_PSTATE_PAN) & PSR_PAN_BIT);
#ifdef CONFIG_ARM64_SW_TTBR0_PAN
	return read_sysreg(ttbr0_el1) & TTBRx_EL1_ASID_MASK;
#else
	return true;
#endif
}

static void set_user_access(u32 __user *word, bool on)
{
	if (on)
		uaccess_enable_privileged();
	else
		uaccess_disable_privileged();
}

static bool can_lose_user_access(void)
{
	return system_uses_hw_pan() || system_uses_ttbr0_pan();
}

#ifndef SYS_PSTATE_TCO
#define SYS_PSTATE_TCO	sys_reg(3, 3, 4, 2, 7)
#endif

static bool ignores_tags(void)
{
	return read_sysreg_s(SYS_PSTATE_TCO) & PSR_TCO_BIT;
}

static void set_ignores_tags(u32 __user *word, bool on)
{
	if (on)
		asm volatile(SET_PSTATE_TCO(1));
	else
		asm volatile(SET_PSTATE_TCO(0));
}

static bool can_check_tags(void)
{
	return system_supports_mte();
}

const struct kp_privilege kp_privileges[] = {
	{ "user access", can_lose_user_access, has_user_access, set_user_access },
	{ "unchecked tags", can_check_tags, ignores_tags, set_ignores_tags, true },
};

const unsigned int nr_kp_privileges = ARRAY_SIZE(kp_privileges);
