// SPDX-License-Identifier: GPL-2.0-only
/*
 * What generic suites have to know about powerpc; see kernel/kprobes/tests/targets.h.
 */

#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/uaccess.h>

#include <asm/extable.h>
#include <asm/hw_irq.h>
#include <asm/interrupt.h>
#include <asm/kup.h>

#ifdef CONFIG_OPTPROBES
#include "../detour.h"
#endif
#include "helpers.h"
#include "targets.h"

KPB_FUNCTION(spin, "addi 4, 4, 2 * " __stringify(BITS_PER_LONG / 8) "\n"
	     "1: 777: " PPC_LL "6, 0(4)\n " PPC_LCMPI "6, 0\n beq 1b\n addi 3, 3, 1");
KPB_FUNCTION(user_load, "777: lwz 3, 0(3)\n b 2f\n1: li 3, -14\n2:\n" EX_TABLE(777b, 1b));

static_assert(offsetof(struct kpb_data, flag) == 2 * sizeof(long));

const struct kp_target kp_target_add = KPB_TARGET(add);
const struct kp_target kp_target_callee = KPB_TARGET(callee);
const struct kp_target kp_target_load = KPB_TARGET(bad_load);
const struct kp_target kp_target_spin = KPB_TARGET(spin);
const struct kp_target kp_target_user_load = KPB_TARGET(user_load);

unsigned long *const kp_target_flag = &kpb_data.flag;

unsigned long kp_target_run(const struct kp_target *t, unsigned long arg)
{
	const void __user *user = (const void __user *)arg;
	unsigned long ret;

	if (t != &kp_target_user_load)
		return kpb_run(t->fn, arg);

	if (!user_read_access_begin(user, sizeof(u32)))
		return -EFAULT;
	ret = kpb_run(t->fn, arg);
	user_read_access_end();
	return ret;
}

kprobe_opcode_t *kp_target_addr(const struct kp_target *t)
{
	return kpb_addr(&(struct kpb_place) { t->fn, t->at });
}

unsigned long kp_target_value(const struct pt_regs *regs)
{
	return regs->gpr[3];
}

void kp_target_set_value(struct pt_regs *regs, unsigned long value)
{
	regs->gpr[3] = value;
}

/* Handlers may write nip directly: a hit must not rely on the accessors being used. */
void kp_target_go_to(struct pt_regs *regs, const struct kp_target *t)
{
	regs->nip = kpb_code(t->fn);
}

void kp_target_go_back(struct pt_regs *regs)
{
	regs->nip = regs->link;
}

bool kp_target_has_irqs_on(const struct pt_regs *regs)
{
	return !regs_irqs_disabled((struct pt_regs *)regs);
}

bool kp_target_steps_or_masks(void)
{
	return !(mfmsr() & MSR_EE) || mfmsr() & MSR_SINGLESTEP;
}

KPB_FUNCTION(bad_store, "777: " PPC_STL "3, 0(3)\n " PPC_LL "3, 0(3)");

/* With this MMU, the address is in no segment, or not in the address space. */
#define BAD_ADDRESS_FAULT	(IS_ENABLED(CONFIG_PPC_BOOK3S_64) ? INTERRUPT_DATA_SEGMENT :	\
								    KPB_PAGE_FAULT)

/* In an exception, each would fault as well, which has to be reported only once. */
const struct kp_fault kp_faults[] = {
	{ "load from a bad address", KPB_TARGET(bad_load), KP_BAD_ADDRESS, BAD_ADDRESS_FAULT,
	  "emulated" },
	{ "load from a hole", KPB_TARGET(bad_load), KP_UNMAPPED, KPB_PAGE_FAULT, "emulated" },
	{ "store to a hole", KPB_TARGET(bad_store), KP_UNMAPPED, KPB_PAGE_FAULT, "emulated",
	  .stores = true },
	{ "store to a read-only page", KPB_TARGET(bad_store), KP_READ_ONLY, KPB_PAGE_FAULT,
	  "emulated", .stores = true },
#ifdef CONFIG_PPC_BOOK3S_64
	{ "load from a bad segment", KPB_TARGET(bad_load), KPB_BAD_SEGMENT, INTERRUPT_DATA_SEGMENT,
	  "emulated" },
	{ "store to a bad segment", KPB_TARGET(bad_store), KPB_BAD_SEGMENT, INTERRUPT_DATA_SEGMENT,
	  "emulated", .stores = true },
#endif
};

const unsigned int nr_kp_faults = ARRAY_SIZE(kp_faults);

bool kp_fault_is(const struct kp_fault *f, int trapnr)
{
	return trapnr == f->trapnr;
}

bool kp_target_has_breakpoint(const void *addr)
{
	return kpb_has_breakpoint(addr);
}

void *kp_target_detour(const void *addr)
{
	return kpb_detour(addr);
}

bool kp_target_optimizes_entries(void)
{
	return true;
}

bool kp_target_has_return_detours(void)
{
	return IS_ENABLED(CONFIG_KRETPROBE_NATIVE);
}

#ifdef CONFIG_OPTPROBES
/**
 * kpb_called_head() - find the head of a page that a detour calls
 * @detour: the detour; may be NULL
 *
 * Context: process context.
 * Return: the original of the head, kprobe_head or kretprobe_head; or NULL.
 */
const u32 *kpb_called_head(const void *detour)
{
	const u32 *call = detour + (KPROBE_DETOUR_ENTER - 1) * sizeof(u32);
	const void *page = (void *)ALIGN_DOWN((unsigned long)call, PAGE_SIZE);

	if (!detour || !kprobe_insn_is_b(*call) || !(*call & INSN_LK))
		return NULL;

	return kprobe_head + ((void *)branch_target(call) - page - KPROBE_HEAD_CODE) / sizeof(u32);
}
#endif

#if defined(CONFIG_OPTPROBES) && defined(CONFIG_KRETPROBE_NATIVE)
bool kp_target_is_return_detour(const void *detour)
{
	const struct optimized_kprobe *op;

	if (kpb_called_head(detour) != kretprobe_head)
		return false;

	/* What the head calls without all registers. */
	op = *(struct optimized_kprobe **)(detour + KPROBE_DETOUR_OP);
	return op->optinsn.call == ppc_function_entry(kretprobe_native_entry);
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

static bool has_kuap(void)
{
	return !kuap_is_disabled();
}

static bool has_user_access(void)
{
	return !kpb_user_access_is_locked();
}

const struct kp_privilege kp_privileges[] = {
	{ "user access", has_kuap, has_user_access, kpb_set_user_access },
};

const unsigned int nr_kp_privileges = ARRAY_SIZE(kp_privileges);
