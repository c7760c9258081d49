// SPDX-License-Identifier: GPL-2.0-only
/*
 * What generic suites have to know about x86; see kernel/kprobes/tests/targets.h.
 */

#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/smap.h>
#include <asm/trapnr.h>

#include "../common.h"
#include "helpers.h"
#include "targets.h"

extern unsigned long kpt_flag;
unsigned long kpt_flag;

/* Nothing else of the kernel is within the reach of a short jump. */
KP_FAR_FROM_OTHERS(kpt_far_begin);

KP_FUNCTION(kpt_add, "", "777: mov %eax, %ecx; lea 3(%ecx), %eax; nop", "");
KP_FUNCTION(kpt_callee, "", "777: lea 100(%" R "ax), %eax; nop; nop", "");
/*
 * The NOPs in front keep the address away from one that other code, on i386, happens to have as a
 * part of its instructions (40 8d 04 c1): it would be taken for a target.
 */
KP_FUNCTION(kpt_load, "", "nop; nop; nop; nop\n"
	    "777: mov (%" R "ax), %" R "ax; nop; nop; nop; nop", "");
KP_FUNCTION(kpt_spin, "", "777: cmp" Q " $0, kpt_flag" RIP "; je 777b; add $1, %eax", "");
KP_FUNCTION(kpt_user_load, "", ASM_STAC "\n"
	    "777: mov (%" R "ax), %eax; jmp 2f; 1: mov $-14, %eax; 2:\n"
	    ASM_CLAC "\n"
	    _ASM_EXTABLE(777b, 1b), "");

KP_FAR_FROM_OTHERS(kpt_far_end);

#define TARGET(name)		{ kpt_##name, "kpt_" #name, &kpt_##name##_off }

const struct kp_target kp_target_add = TARGET(add);
const struct kp_target kp_target_callee = TARGET(callee);
const struct kp_target kp_target_load = TARGET(load);
const struct kp_target kp_target_spin = TARGET(spin);
const struct kp_target kp_target_user_load = TARGET(user_load);

unsigned long *const kp_target_flag = &kpt_flag;

unsigned long kp_target_run(const struct kp_target *t, unsigned long arg)
{
	return kp_run(t->fn, arg);
}

kprobe_opcode_t *kp_target_addr(const struct kp_target *t)
{
	return kp_at(&(struct kp_place) { t->fn, t->at });
}

unsigned long kp_target_value(const struct pt_regs *regs)
{
	return regs->ax;
}

void kp_target_set_value(struct pt_regs *regs, unsigned long value)
{
	regs->ax = value;
}

void kp_target_go_to(struct pt_regs *regs, const struct kp_target *t)
{
	regs->ip = (unsigned long)t->fn;
}

void kp_target_go_back(struct pt_regs *regs)
{
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(long);
}

bool kp_target_has_irqs_on(const struct pt_regs *regs)
{
	return regs->flags & X86_EFLAGS_IF;
}

bool kp_target_steps_or_masks(void)
{
	return native_save_fl() & X86_EFLAGS_TF;
}

const struct kp_fault kp_faults[] = {
	{ "load from a bad address", TARGET(load), KP_BAD_ADDRESS, X86_TRAP_PF, "stepped" },
};

const unsigned int nr_kp_faults = ARRAY_SIZE(kp_faults);

bool kp_fault_is(const struct kp_fault *f, int trapnr)
{
	return trapnr == f->trapnr;
}

bool kp_target_has_breakpoint(const void *addr)
{
	return READ_ONCE(*(const u8 *)addr) == INT3_INSN_OPCODE;
}

void *kp_target_detour(const void *addr)
{
#ifdef CONFIG_OPTPROBES
	unsigned long to = (unsigned long)addr + JMP32_INSN_SIZE;

	if (READ_ONCE(*(const u8 *)addr) != JMP32_INSN_OPCODE)
		return NULL;

	to += get_unaligned((const s32 *)(addr + 1));
	return is_kprobe_optinsn_slot(to) ? (void *)to : NULL;
#else
	return NULL;
#endif
}

/* Probes of an entry are placed after its landing pad. */
bool kp_target_optimizes_entries(void)
{
	return true;
}

bool kp_target_has_return_detours(void)
{
#ifdef KPROBE_DETOURS_OF_RETURNS
	return true;
#else
	return false;
#endif
}

bool kp_target_is_return_detour(const void *detour)
{
#ifdef CONFIG_OPTPROBES
	struct optimized_kprobe *op;

	guard(preempt)();

	op = kprobe_optinsn_owner((unsigned long)detour);
	return op && op->optinsn.of_return;
#else
	return false;
#endif
}

bool kp_target_boosts(void)
{
	return IS_ENABLED(CONFIG_PREEMPTION) || !IS_ENABLED(CONFIG_PREEMPT_COUNT);
}

bool kp_form_exists(const struct kp_form *f)
{
	return true;
}

/* The stack is misaligned where popfw is hit. */
enum kp_form_jump kp_form_jump(const struct kp_form *f)
{
	return IS_ENABLED(CONFIG_X86_64) && !strcmp(f->name, "popfw") ?
	       KP_FORM_NEVER_JUMPS : KP_FORM_MAY_JUMP;
}
