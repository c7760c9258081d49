/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the x86 backend of kprobes. Its files, from the lowest; each uses only those above it.
 *
 *   insn       instructions of the text: what they are, and copies of them
 *   decode     which of them can be probed, and how they are executed
 *   core       preparing, arming and disarming
 *   branches   may anything branch to some bytes?
 *   hop        padding that a jump may go through
 *   detour     the hit path of detours, whose code is in template.S
 *   optimize   jumps and their detours
 *   emulate, int3   the hit path of breakpoints
 *   jprobe     calls of handlers, by jprobe_call.S
 */
#ifndef _X86_KERNEL_KPROBES_COMMON_H
#define _X86_KERNEL_KPROBES_COMMON_H

#include <linux/kprobes.h>
#include <linux/list.h>

#include <asm/asm.h>
#include <asm/insn.h>

#include "insn.h"
#include "regs.h"

/* No base, or no index, in an address. */
#define KPROBE_NO_REG		0xff

/* From the linker script: the trampolines of all static calls. */
extern char __static_call_text_start[], __static_call_text_end[];

enum kprobe_refusal kprobe_classify(struct kprobe_insn *ki, unsigned long addr,
				    struct arch_specific_insn *a);
void kprobe_emulate(const struct kprobe *p, struct pt_regs *regs);
bool kprobe_in_preemptible_hcall(unsigned long addr);

#if IS_ENABLED(CONFIG_KPROBES_KUNIT_TEST)
/* For tests: as if this were a Xen PV guest. */
extern bool kprobe_test_as_xen_pv;
#endif

#ifdef CONFIG_OPTPROBES
/* The longest code that replaces one instruction, which is a loop with prefixes. */
#define KPROBE_MAX_REENCODED	(MAX_INSN_SIZE + JMP8_INSN_SIZE + JMP32_INSN_SIZE)

int kprobe_reencode(u8 *buf, struct kprobe_insn *ki,
		    const struct arch_specific_insn *a,
		    unsigned long from, unsigned long to);
bool kprobe_is_patched(unsigned long addr, unsigned int size);

u8 kprobe_find_target(unsigned long addr, unsigned int len, unsigned long start, u8 *at);

/* For the tests of branches.c. Branch targets in a region of text: the kernel, or a module. */
struct kprobe_branch_map {
	unsigned long		start;
	unsigned long		size;
	unsigned long		*targets;	/* one bit for each byte */
	unsigned long		*decoded;	/* functions; see decode_once() */
	unsigned long		next;		/* text from here on has not been scanned yet */
	bool			ready;		/* complete except for what decoding finds */
	/*
	 * Each target of an indirect branch is a landing pad. Modules may have been built
	 * otherwise, and the CPU may not enforce it.
	 */
	bool			landing_pads;
	struct module		*mod;		/* NULL for the kernel */
	struct list_head	list;
};

struct kprobe_branch_map *kprobe_map_at(unsigned long addr);
void kprobe_map_mark(struct kprobe_branch_map *map, unsigned long addr);
void kprobe_map_scan(struct kprobe_branch_map *map, const u8 *text, unsigned int len,
		     unsigned long addr);
u8 kprobe_map_decode(struct kprobe_branch_map *map, unsigned long start, unsigned long end);

unsigned long kprobe_end_of_padding(unsigned long next);
unsigned long kprobe_hop_find(unsigned long addr, bool *taken);
int kprobe_hop_make(struct optimized_kprobe *op);
void kprobe_hop_remove(struct optimized_kprobe *op);
struct optimized_kprobe *kprobe_hop_in(unsigned long addr, unsigned int len);

/* A template of template.S, which has the table of these, and what is filled in. */
struct kprobe_detour_kind {
	const void	*template;
	const void	*callback;	/* the target of its call */
	const void	*leave;		/* ... and of its jump */

	/* Offsets in the template. */
	u8	ip;		/* operand: the ip that handlers see; 0 if there is none */
	u8	regs;		/* the registers are on the stack; blank for CLD, then CLAC */
	u8	op;		/* operand: the probe */
	u8	call;		/* call of the callback */
	u8	jump;		/* jump if the copies are not to be executed */
	u8	restore;	/* the registers are popped */
	u8	size;
};

/* The second one is that of return probes. */
extern const struct kprobe_detour_kind kprobe_detour_kinds[];

static nokprobe_inline const struct kprobe_detour_kind *
kprobe_kind_of(const struct arch_optimized_insn *o)
{
	return &kprobe_detour_kinds[o->of_return];
}

/* With KPROBE_DETOURS_OF_RETURNS. */
extern const u32 kretprobe_detour_complete_size;
void kretprobe_detour_complete(void);
void kretprobe_detour_callback(struct optimized_kprobe *op, struct pt_regs *regs);

static nokprobe_inline const struct arch_optimized_insn *
kprobe_detour_of(const struct kprobe *p)
{
	return &container_of_const(p, struct optimized_kprobe, kp)->optinsn;
}

/*
 * While a jump at the probe is being written or removed, hits must not continue in the
 * text that it replaces. Returns true if @regs now point to the copies in the detour.
 */
static nokprobe_inline bool arch_kprobe_enter_copies(const struct kprobe *p,
						     struct pt_regs *regs)
{
	const struct arch_optimized_insn *o = kprobe_detour_of(p);

	if (likely(!(READ_ONCE(p->flags) & KPROBE_FLAG_DETOUR)))
		return false;

	regs->ip = (unsigned long)o->insn + o->detour->to[0];
	return true;
}

#define arch_kprobe_enter_copies arch_kprobe_enter_copies
#endif

/* A handler has set the instruction pointer. */
static nokprobe_inline void arch_kprobe_redirect(struct pt_regs *regs)
{
#ifdef CONFIG_X86_64
	/*
	 * With FRED, an exception saves whether the CPU expects a landing pad, as it does after an
	 * indirect branch. ERETS restores that state, but this is no indirect branch. Without FRED
	 * the bit is zero, and IRET ignores it.
	 */
	regs->fred_cs.wfe = 0;
#endif
	kprobe_avoid_jump(regs);
}

#endif /* _X86_KERNEL_KPROBES_COMMON_H */
