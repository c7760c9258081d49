/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Detours of arm64. Also for assembly.
 */
#ifndef _ARM64_KERNEL_PROBES_DETOUR_H
#define _ARM64_KERNEL_PROBES_DETOUR_H

/* What arch_leave_detour() returns to the code of a detour. */
#define KPROBE_DETOUR_RETURN	1	/* to the caller of the probed function */
#define KPROBE_DETOUR_REDIRECT	2	/* by an exception, to the address saved for this CPU */

#ifndef __ASSEMBLY__

#include <linux/build_bug.h>
#include <linux/kprobes.h>

#include <asm/insn.h>

/* The common code converts between pointers to the two without an offset. */
static_assert(!offsetof(struct optimized_kprobe, kp));

/* The common code stores these as pairs; orig_x0 keeps the address in the detour. */
static_assert(offsetof(struct pt_regs, pc) == offsetof(struct pt_regs, sp) + 8);
static_assert(offsetof(struct pt_regs, orig_x0) == offsetof(struct pt_regs, pstate) + 8);

/* detour_entry.S: code that each detour has. */
extern const __le32 kprobe_detour_enter[], kprobe_detour_leave[], kprobe_detour_leave_end[];

/* What detours call; those with _far are called through a register. */
void kprobe_detour_far(void);
void kprobe_detour_near(void);
void kprobe_detour_framed(void);
void kprobe_detour_restored(void);
void kprobe_detour_unframed(void);
void kprobe_detour_end(void);
void kprobe_detour_brk(void);
void kretprobe_detour_far(void);
void kretprobe_detour_near(void);
void kretprobe_detour_framed(void);
void kretprobe_detour_restored(void);

/* optimize.c */
int kprobe_reencode(struct kprobe_draft *d, const struct kprobe *p);

#endif /* !__ASSEMBLY__ */

#endif /* _ARM64_KERNEL_PROBES_DETOUR_H */
