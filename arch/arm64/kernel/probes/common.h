/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the arm64 backend of kprobes.
 */
#ifndef _ARM64_KERNEL_PROBES_COMMON_H
#define _ARM64_KERNEL_PROBES_COMMON_H

#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include <asm/insn.h>

#include "decode-insn.h"

/* The number of probes that are patched per stop_machine(). */
#define KPROBE_PATCH_CHUNK	256

static nokprobe_inline bool kprobe_is_emulated(const struct kprobe *p)
{
	return p->ainsn.api.handler;
}

/* Neither the end of a boosted copy nor its faults could be reported to handlers. */
static nokprobe_inline bool kprobe_is_boosted(const struct kprobe *p)
{
	return p->ainsn.boost && !READ_ONCE(p->post_handler) &&
	       !READ_ONCE(p->fault_handler);
}

/*
 * PSTATE.BTYPE says that an indirect branch has led to an instruction, which then must be
 * a landing pad. Any other instruction clears it. Code that changes the PC must clear it as well.
 */
static nokprobe_inline void kprobe_clear_btype(struct pt_regs *regs)
{
	regs->pstate &= ~PSR_BTYPE_MASK;
}

/* kprobes.c */
bool kprobe_alternatives_are_final(void);
bool kprobe_boosts(void);
enum kprobe_refusal kprobe_decide(struct kprobe *p);

/* patch.c */
bool kprobe_insn_is_live(u32 insn);
int kprobe_patch_live(void *addr, u32 old, u32 new);
void kprobe_patch_stopped(void **addrs, u32 *insns, unsigned int nr);
int kprobe_write_slot(void *slot, const u32 *insns, unsigned int nr);
int kprobe_write_literal(void *at, u64 value);
void kprobe_sync_cpus(void);

/* pages.c */
int kprobe_seal_page(void *page);
bool kprobe_in_reach(unsigned long from, unsigned long to);

#endif /* _ARM64_KERNEL_PROBES_COMMON_H */
