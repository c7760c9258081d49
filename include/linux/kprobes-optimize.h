/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Jump optimization, between the core and an architecture with OPTPROBES.
 *
 * A detour saves the registers, calls the handlers, and executes copies of the
 * instructions that the jump to it replaces. The architecture makes detours and
 * writes jumps; kernel/kprobes/optimizer.c decides when.
 *
 * Included by <linux/kprobes-arch.h>.
 */
#ifndef _LINUX_KPROBES_OPTIMIZE_H
#define _LINUX_KPROBES_OPTIMIZE_H

/*
 * Bytes at the start of each page of detours that belong to the architecture, for code
 * that all detours of the page share. See arch_fill_optinsn_head().
 */
#ifndef KPROBE_OPTINSN_HEAD_SIZE
#define KPROBE_OPTINSN_HEAD_SIZE	0
#endif

/* Private bits of kprobe.flags that only architectures with detours look at. */
#define KPROBE_FLAG_DETOUR	BIT(29)	/* hits continue in the detour's copies */
#define KPROBE_FLAG_JUMP	BIT(28)	/* the text may have a jump */

/* Why there is no jump, and the word for it in debugfs, which tools parse. */
#define KPROBE_NOOPTS(N)						\
	N(NONE, "-")							\
	/* Found by the core. */					\
	N(FTRACE, "ftrace")						\
	N(DISARMED, "disarmed")						\
	N(OFF, "switched-off")						\
	N(POST, "post-handler")						\
	N(FAULT, "fault-handler")					\
	N(NEIGHBOUR, "other-probe")					\
	N(INIT, "init-text")						\
	N(LIVEPATCH, "livepatch")					\
	N(NOMEM, "no-memory")						\
	N(CHANGED, "text-changed")					\
	/* Found by arch_prepare_optimized_kprobe(). */			\
	N(ARCH, "architecture")						\
	N(RANGE, "out-of-reach")					\
	N(END, "end-of-function")					\
	N(INSN, "instruction")						\
	N(CALL, "short-call")						\
	N(EXTABLE, "exception-table")					\
	N(PATCHED, "patched-text")					\
	N(TARGET, "jump-target")					\
	N(LANDING, "landing-pad")					\
	N(INDIRECT, "indirect-jump")					\
	N(SEGMENT, "segment")						\
	N(STACK, "stack")						\
	N(UNDECODED, "undecodable")

#define __KPROBE_NOOPT(name, word)	KPROBE_NOOPT_##name,
enum kprobe_noopt {
	KPROBE_NOOPTS(__KPROBE_NOOPT)
	NR_KPROBE_NOOPTS,
};

/* What arch_plan_optimized_kprobe() foresees. */
enum kprobe_jump {
	KPROBE_JUMP_UNKNOWN,
	KPROBE_JUMP_SHORT,	/* to another jump nearby */
	KPROBE_JUMP_LONG,
};

/**
 * struct optimized_kprobe - a probe that may have a detour
 * @kp: the probe
 * @list: linked by the core
 * @optinsn: what the architecture keeps
 * @why: enum kprobe_noopt; set by arch_prepare_optimized_kprobe() when it refuses
 * @why_at: offset of the obstacle from the probe
 * @why_transient: set as well when only other probes nearby are in the way
 *
 * It stays where it is for as long as a task may be in its detour.
 */
struct optimized_kprobe {
	struct kprobe			kp;
	struct list_head		list;
	struct arch_optimized_insn	optinsn;
	u8				why;
	u8				why_at;
	bool				why_transient;
};

/* The largest distance of a probe that is a reason for @why_transient. */
#define KPROBE_OPT_NEARBY	512

/*
 * Hooks
 */

/**
 * arch_optimizer_begin() - a probe is about to be prepared
 * @addr: its address
 *
 * For work that takes long and that many probes share. It is to be done in
 * pieces, between which others get kprobe_mutex.
 *
 * Context: kprobe_mutex held; sleeps.
 * Return: true if there is more to be done.
 *
 * Default: none; only called with HAVE_OPTPROBES_RANGE.
 */
bool arch_optimizer_begin(unsigned long addr);

/**
 * arch_optimizer_forget() - text is about to be freed
 * @start: first byte
 * @end: byte after the last
 *
 * What arch_optimizer_begin() has found out about the text is not needed any more.
 *
 * Context: kprobe_mutex held; sleeps.
 *
 * Default: none; only called with HAVE_OPTPROBES_RANGE.
 */
void arch_optimizer_forget(unsigned long start, unsigned long end);

/**
 * arch_prepare_optimized_kprobe() - make a detour
 * @op: the probe; why, why_at and why_transient may be set when it is refused
 * @orig: &op->kp
 *
 * Context: kprobe_mutex, CPU hotplug read lock, jump label lock and text_mutex
 *	    held; sleeps.
 * Return: 0, or with nothing kept: -ENOMEM if a later attempt may succeed, also when
 *	   get_optinsn_slot() has returned NULL; -ERANGE if the slot is out of reach; any
 *	   other error if there can be no detour. Without @why, the core takes -ERANGE for
 *	   KPROBE_NOOPT_RANGE and any other error but -ENOMEM for KPROBE_NOOPT_ARCH.
 */
int arch_prepare_optimized_kprobe(struct optimized_kprobe *op,
				  struct kprobe *orig);

/**
 * arch_plan_optimized_kprobe() - decide what arch_prepare_optimized_kprobe() would decide
 * @op: a probe, which need not be registered; why, why_at and why_transient may be set
 *	when it is refused. If it has a detour already, the answer is about that. Otherwise
 *	it belongs to the caller alone: no hit finds it, and opcode and ainsn may change
 *
 * Allocates no slot and writes no text. arch_optimizer_begin() has been called as for
 * a probe that is to be prepared.
 *
 * Context: as arch_prepare_optimized_kprobe().
 * Return: enum kprobe_jump, or an error as arch_prepare_optimized_kprobe() returns it.
 *
 * Default: weak, KPROBE_JUMP_UNKNOWN.
 */
int arch_plan_optimized_kprobe(struct optimized_kprobe *op);

/**
 * arch_hop_at() - is there a hop at an address?
 * @addr: an address at which there is no probe
 *
 * A short jump may need another one elsewhere than at its probe: a hop. The text that it
 * replaces must be of no use to anything but a probe.
 *
 * Context: kprobe_mutex held.
 * Return: the probe whose hop it is, or NULL.
 *
 * Default: none; only called with HAVE_OPTPROBES_RANGE.
 */
struct optimized_kprobe *arch_hop_at(unsigned long addr);

/**
 * arch_optimize_kprobes() - turn breakpoints into jumps
 * @oplist: armed probes with a detour. Those that get their jump are taken off
 *	    with list_del_init(); those whose text has changed are left on it
 *
 * No task is in the text that is replaced, except for CPUs at the breakpoint.
 *
 * Context: kprobe_mutex, CPU hotplug read lock and text_mutex held; sleeps.
 */
void arch_optimize_kprobes(struct list_head *oplist);

/**
 * arch_unoptimize_kprobes() - turn jumps into breakpoints
 * @oplist: probes with a jump
 * @done_list: list that each of them is moved to, unless its text cannot be written
 *
 * On return all CPUs see the original text after the breakpoints.
 *
 * Context: kprobe_mutex, CPU hotplug read lock and text_mutex held; sleeps.
 */
void arch_unoptimize_kprobes(struct list_head *oplist,
			     struct list_head *done_list);

/**
 * arch_remove_optimized_kprobe() - give the detour back
 * @op: a probe, with or without a detour; no task is in the detour
 *
 * Context: kprobe_mutex held; sleeps. Touches no text of the probe, which may be
 *	    gone.
 */
void arch_remove_optimized_kprobe(struct optimized_kprobe *op);

#ifdef KPROBE_BRANCH_RANGE
/*
 * Where a branch is one word, the core has the hooks above that prepare, plan, remove and switch.
 * KPROBE_BREAKPOINT is the word of a breakpoint.
 */

/**
 * struct kprobe_draft - a detour that is being built
 * @slot: where it will be
 * @nr: words that it has, before @end
 * @end: where its constants begin, in words
 * @word: its words; what has not been set yet traps
 */
struct kprobe_draft {
	unsigned long	slot;
	unsigned int	nr;
	unsigned int	end;
	u32		word[MAX_OPTINSN_SIZE];
};

/* The address of the next instruction to be added. */
static inline unsigned long kprobe_draft_at(const struct kprobe_draft *d)
{
	return d->slot + d->nr * sizeof(u32);
}

static inline void kprobe_put(struct kprobe_draft *d, u32 word)
{
	d->word[d->nr++] = word;
}

int kprobe_put_branch(struct kprobe_draft *d, unsigned long target);
unsigned long kprobe_put_constant(struct kprobe_draft *d, unsigned long value);

/* The word of a constant as an instruction, if these have another byte order in memory. */
#ifndef arch_text_word
#define arch_text_word(word)	(word)
#endif

/**
 * arch_draft_detour() - assemble a detour
 * @d: an empty draft; d->slot may also be near the probe instead of in a slot
 * @op: the probe
 *
 * Context: as arch_prepare_optimized_kprobe().
 * Return: 0; -ERANGE if a target is out of reach of the slot; -EILSEQ if there can be no detour,
 *	   wherever it would be: because of the instruction, unless op->why has been set.
 */
int arch_draft_detour(struct kprobe_draft *d, struct optimized_kprobe *op);

/**
 * arch_branch_target() - the target of the instruction of a probe
 * @p: the probe
 *
 * Context: any.
 * Return: the address, or 0 if it does not branch or the target is in a register.
 */
unsigned long arch_branch_target(const struct kprobe *p);

/**
 * arch_replace_word() - replace a word of text while CPUs may execute it
 * @addr: its address
 * @old: what is expected there: a breakpoint, or a branch
 * @new: what replaces it: the other one
 *
 * CPUs may execute the old one until arch_sync_insn_slots().
 *
 * Context: text_mutex held.
 * Return: 0; an error if something else is there, which remains, or if it cannot be written.
 */
int arch_replace_word(void *addr, u32 old, u32 new);

/**
 * arch_fill_optinsn_head() - write what the detours of a page share
 * @page: the page, which begins with KPROBE_OPTINSN_HEAD_SIZE bytes for it
 *
 * Context: as alloc_insn_page().
 * Return: 0 or an error.
 *
 * Default: none; not called if that is 0.
 */
int arch_fill_optinsn_head(void *page);
#endif

/**
 * arch_leave_detour() - leave a detour other than by its end
 * @op: the probe of the detour
 * @regs: state after the handlers
 *
 * kprobe_detour_callback() calls it when a handler has returned non-zero.
 *
 * It ends the hit by kprobe_hit_leave(), unless code that runs before the program continues
 * must not call handlers. Then that code ends the hit. Instead of returning, it may enable
 * preemption, call arch_handlers_end(), and continue with @regs.
 *
 * Context: hit path; @op is the current probe.
 * Return: what kprobe_detour_callback() returns to the detour.
 *
 * Default: none; only for architectures whose detours call
 * kprobe_detour_callback().
 */
int arch_leave_detour(struct optimized_kprobe *op, struct pt_regs *regs);

/**
 * arch_detour_regs() - the registers that a detour has passed, after the handlers
 * @regs: as passed by the detour
 *
 * For architectures where finding them again is cheaper than keeping @regs during the
 * handlers.
 *
 * Context: inlined in kprobe_detour_callback(), which has called a function before.
 * Return: @regs.
 *
 * Default: @regs; a macro of the same name replaces it.
 */
#ifndef arch_detour_regs
static __always_inline struct pt_regs *arch_detour_regs(struct pt_regs *regs)
{
	return regs;
}
#endif

/*
 * Functions of arch/arm alone, which the core never calls. Without declarations, the compiler warns
 * about their definitions.
 */
int arch_prepared_optinsn(struct arch_optimized_insn *optinsn);
int arch_within_optimized_kprobe(struct optimized_kprobe *op, kprobe_opcode_t *addr);
int arch_check_optimized_kprobe(struct optimized_kprobe *op);
void arch_unoptimize_kprobe(struct optimized_kprobe *op);

/*
 * Offered to architectures; documented at their definitions.
 */
kprobe_opcode_t *get_optinsn_slot(void);
void free_optinsn_slot(kprobe_opcode_t *slot, int dirty);
bool is_kprobe_optinsn_slot(unsigned long addr);
struct optimized_kprobe *kprobe_optinsn_owner(unsigned long addr);

long kprobe_detour_callback(struct optimized_kprobe *op, struct pt_regs *regs);
void opt_pre_handler(struct kprobe *kp, struct pt_regs *regs);

#endif /* _LINUX_KPROBES_OPTIMIZE_H */
