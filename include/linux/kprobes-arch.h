/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract between the kprobes core and an architecture: what the
 * architecture supplies, what the core calls, and what it offers to hit paths.
 *
 * Include <linux/kprobes.h>, which includes this file. Locks are abbreviated:
 * M = kprobe_mutex, C = CPU hotplug read lock, T = text_mutex.
 *
 * <asm/kprobes.h> has to supply, with CONFIG_KPROBES:
 *  - kprobe_opcode_t, struct arch_specific_insn, MAX_INSN_SIZE (opcodes);
 *  - struct prev_kprobe, and struct kprobe_ctlblk with kprobe_status and
 *    prev_kprobe in it;
 *  - with HAVE_KPROBE_FAULT_HANDLER, a kprobe_fault_handler() that calls
 *    kprobe_site_fault_handler() and kprobe_handler_fault();
 *  - arch_remove_kprobe(), flush_insn_slot(), kprobe_fault_handler(), each as
 *    function or macro;
 *  - kretprobe_blacklist_size, and kretprobe_blacklist[] unless that is 0;
 *  - __ARCH_WANT_KPROBES_INSN_SLOT if it uses get_insn_slot(), and
 *    KPROBE_SLOT_REGION_SHIFT if its branches reach only a part of the kernel;
 *  - __ARCH_WANT_KPROBES_BATCH if it has arch_arm_kprobes() and
 *    arch_disarm_kprobes();
 *  - with OPTPROBES, struct arch_optimized_insn with insn, the detour, in it;
 *    MAX_OPTIMIZED_LENGTH, bytes of text that a jump may make unusable; and
 *    MAX_OPTINSN_SIZE, opcodes of a detour, which need not be a constant;
 *  - __ARCH_WANT_KPROBES_FTRACE_ENTRY if its kprobe_ftrace_handler() asks
 *    kprobe_rcu_is_watching() before it looks the probe up, and then
 *    kprobe_ftrace_owns(), so that ftrace can call it directly;
 *  - KPROBE_TRAP_IS_WATCHED as 1 if RCU watches in each of its breakpoint
 *    exceptions, from before the probe is looked up until the hit is over.
 * It defines the per-CPU variables current_kprobe and kprobe_ctlblk.
 *
 * The struct kprobe that architecture code sees is never one of a user. It is
 * the core's own, one for each probed address: pre_handler is always set,
 * post_handler and fault_handler are NULL until the first user with such a
 * handler came and then stay, and flags has KPROBE_FLAG_DISABLED exactly when no user is enabled.
 */
#ifndef _LINUX_KPROBES_ARCH_H
#define _LINUX_KPROBES_ARCH_H

#include <linux/context_tracking_state.h>

struct kprobe_site;

/* Values of kprobe_ctlblk.kprobe_status. */
#define KPROBE_HIT_ACTIVE	0x01
#define KPROBE_HIT_SS		0x02
#define KPROBE_REENTER		0x04
#define KPROBE_HIT_SSDONE	0x08

/* Names of slot pages in /proc/kallsyms and in perf records. */
#define KPROBE_INSN_PAGE_SYM	"kprobe_insn_page"
#define KPROBE_OPTINSN_PAGE_SYM	"kprobe_optinsn_page"

/* Bytes of an instruction slot, unless the architecture wants more. */
#ifndef KPROBE_INSN_SLOT_SIZE
#define KPROBE_INSN_SLOT_SIZE	(MAX_INSN_SIZE * sizeof(kprobe_opcode_t))
#endif

/*
 * Whether a task can be preempted inside an instruction slot and come back to
 * it later. A dirty slot is then used again only after a tasks-RCU grace
 * period, else after one of RCU.
 */
#ifndef KPROBE_SLOT_IS_PREEMPTIBLE
#define KPROBE_SLOT_IS_PREEMPTIBLE	0
#endif

/*
 * Bytes at the start of each page of detours that belong to the architecture. It
 * fills them when it allocates the page, with code that all detours of the page
 * share.
 */
#ifndef KPROBE_OPTINSN_HEAD_SIZE
#define KPROBE_OPTINSN_HEAD_SIZE	0
#endif

/*
 * Whether the entry code of the breakpoint exception makes RCU watch, whatever
 * was interrupted: irqentry_nmi_enter() does. Elsewhere each hit checks, and
 * before anything is freed that a hit may have found, the core waits until each
 * CPU has scheduled; see kprobe_table_sync().
 */
#ifndef KPROBE_TRAP_IS_WATCHED
#define KPROBE_TRAP_IS_WATCHED	0
#endif

DECLARE_PER_CPU(struct kprobe *, current_kprobe);
DECLARE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);

/*
 * Addresses
 */

/**
 * kprobe_lookup_name() - find the address that a symbol stands for
 * @name: the symbol, also as "module:symbol"
 * @offset: what will be added to it; only a hint, the result does not have it
 *
 * Context: any, does not sleep.
 * Return: the address, or NULL when there is no such symbol.
 * Default: weak, kallsyms_lookup_name().
 */
kprobe_opcode_t *kprobe_lookup_name(const char *name, unsigned int offset);

/**
 * arch_adjust_kprobe_addr() - the address to probe for an offset in a symbol
 * @addr: start of the symbol
 * @offset: offset from there, inside the symbol
 * @on_func_entry: set to whether a probe there is on the function's entry
 *
 * Moves a probe behind a landing pad, or to the entry that calls go through.
 * The result must be a fixed point: it may be asked again with its own answer.
 *
 * Context: process context.
 * Return: the address, or NULL when it cannot be read.
 * Default: weak, the sum; an entry when @offset is 0.
 */
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long addr,
					 unsigned long offset,
					 bool *on_func_entry);

/**
 * arch_within_kprobe_blacklist() - text that the architecture keeps from probes
 * @addr: the address
 *
 * Context: any, does not sleep.
 * Return: true if no probe may be there.
 * Default: weak, true inside .kprobes.text.
 */
bool arch_within_kprobe_blacklist(unsigned long addr);

/**
 * arch_populate_kprobe_blacklist() - add the architecture's own text at boot
 *
 * Calls kprobe_add_area_blacklist(), kprobe_add_ksym_blacklist() and
 * kprobe_blacklist_names().
 *
 * Context: early_initcall, no lock held.
 * Return: 0, or an error that is only logged.
 * Default: weak, does nothing.
 */
int arch_populate_kprobe_blacklist(void);

/* Offered to arch_populate_kprobe_blacklist(); documented at their bodies. */
int kprobe_blacklist_names(const char * const *names, unsigned int nr);
int kprobe_add_ksym_blacklist(unsigned long entry);
int kprobe_add_area_blacklist(unsigned long start, unsigned long end);

/* Offered to arch_prepare_kprobe(); documented at its body. */
bool kprobe_in_livepatch(unsigned long addr);

/*
 * Instruction slots
 */

/**
 * alloc_insn_page() - get a page for instruction slots
 *
 * Context: process context, a slot cache's mutex held, perhaps M, C and T.
 * Return: PAGE_SIZE bytes of executable memory in reach of kernel text, or NULL.
 *	   The core frees it with execmem_free().
 * Default: weak, execmem_alloc(EXECMEM_KPROBES).
 */
void *alloc_insn_page(void);

#ifdef KPROBE_SLOT_REGION_SHIFT
/**
 * alloc_insn_page_near() - get a page for the slots of one region
 * @start: first address of the region, which has 1 << KPROBE_SLOT_REGION_SHIFT
 *	   bytes
 *
 * Only for architectures whose branches cannot reach all of the kernel's address
 * space. get_insn_slot_near() takes slots from such pages.
 *
 * Context: as alloc_insn_page().
 * Return: PAGE_SIZE bytes of executable memory, of which each is in reach of each
 *	   address of the region, and vice versa; NULL if there is no such memory.
 *	   The core frees it like a page of alloc_insn_page().
 * Default: none.
 */
void *alloc_insn_page_near(unsigned long start);
#endif

/**
 * arch_sync_insn_slots() - used slots are about to be written to again
 *
 * All CPUs have to have left them also where RCU does not watch, and must not
 * have fetched from them what was there. The optimizer calls it, too, after it has
 * waited for tasks: for detours, and for the text that a jump will replace.
 *
 * Context: workqueue, a slot cache's mutex held; or process context.
 * Default: weak, does nothing.
 */
void arch_sync_insn_slots(void);

/*
 * Offered: slots for copies of instructions. They do not wait and may be
 * called with M, C and T held; documented at their bodies.
 */
#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
kprobe_opcode_t *get_insn_slot(void);
kprobe_opcode_t *get_insn_slot_near(unsigned long addr);
void free_insn_slot(kprobe_opcode_t *slot, int dirty);
bool is_kprobe_insn_slot(unsigned long addr);
#else
static nokprobe_inline bool is_kprobe_insn_slot(unsigned long addr)
{
	return false;
}
#endif

#ifdef CONFIG_OPTPROBES
kprobe_opcode_t *get_optinsn_slot(void);
kprobe_opcode_t *get_optinsn_slot_near(unsigned long addr);
void free_optinsn_slot(kprobe_opcode_t *slot, int dirty);
bool is_kprobe_optinsn_slot(unsigned long addr);
#else
static nokprobe_inline bool is_kprobe_optinsn_slot(unsigned long addr)
{
	return false;
}
#endif

/**
 * arch_kprobe_get_kallsym() - further symbols for /proc/kallsyms
 * @symnum: running number, 0 for the first; out: ignored
 * @value: set to the address
 * @type: set to the symbol type
 * @sym: set to the name, KSYM_NAME_LEN bytes
 *
 * Context: process context.
 * Return: 0, or -ERANGE when there is none with that number.
 * Default: weak, -ERANGE.
 */
int arch_kprobe_get_kallsym(unsigned int *symnum, unsigned long *value,
			    char *type, char *sym);

/*
 * Life of a probe
 */

/**
 * arch_init_kprobes() - set the architecture up
 *
 * May register a probe on its own return trampoline.
 *
 * Context: early_initcall. Table, blacklist and slots are usable.
 * Return: 0, or an error: kprobes then stay off.
 * Default: none.
 */
int arch_init_kprobes(void);

/**
 * arch_prepare_kprobe() - decode the instruction and make its copy
 * @p: addr is set; to be filled in: opcode and ainsn
 *
 * Must see the original instruction even where other probes are armed.
 *
 * Context: M, C and T held; may sleep.
 * Return: 0, or with nothing kept: -EILSEQ not at an instruction boundary,
 *	   -EINVAL cannot be probed, -ENOMEM, other errors of the architecture.
 * Default: none.
 */
int arch_prepare_kprobe(struct kprobe *p);

#ifdef CONFIG_KPROBES_ON_FTRACE
/**
 * arch_prepare_kprobe_ftrace() - as arch_prepare_kprobe(), at an ftrace site
 * @p: addr is set
 *
 * Context: M held.
 * Return: 0 or an error, with nothing kept.
 * Default: none.
 */
int arch_prepare_kprobe_ftrace(struct kprobe *p);

/**
 * kprobe_ftrace_handler() - hit of a probe at an ftrace site
 * @ip: address of the site
 * @parent_ip: its caller
 * @ops: which of the core's ftrace_ops
 * @fregs: state of the traced code
 *
 * Looks the probe up, and does for it what a breakpoint hit does. It returns
 * at once when there is no probe, or while kprobe_ftrace_disabled is set. RCU
 * watches, unless ftrace calls it directly; see kprobe_ftrace_miss_unwatched().
 *
 * Context: ftrace callback.
 * Default: none.
 */
void kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
			   struct ftrace_ops *ops, struct ftrace_regs *fregs);

/* ftrace found itself broken: nothing may touch it any more. */
extern bool kprobe_ftrace_disabled __read_mostly;

/* Some hits are not to be handled: ftrace is broken, or sites are moving. */
extern bool kprobe_ftrace_check_owner;
bool __kprobe_ftrace_owns(struct kprobe *p, const struct ftrace_ops *ops);
void kprobe_ftrace_miss_unwatched(unsigned long ip, const struct ftrace_ops *ops);

/**
 * kprobe_ftrace_owns() - is this call of ftrace to be handled?
 * @p: the probe of the site
 * @ops: the ops through which ftrace calls
 *
 * Not if ftrace is broken. And a site that moves from one of the core's ops to
 * another is called by both, of which one counts.
 *
 * Context: hit path, preemption off.
 * Return: true if the hit is to be handled, false if it is to be ignored.
 */
static nokprobe_inline bool
kprobe_ftrace_owns(struct kprobe *p, const struct ftrace_ops *ops)
{
	return likely(!READ_ONCE(kprobe_ftrace_check_owner)) ||
	       __kprobe_ftrace_owns(p, ops);
}
#else
static inline int arch_prepare_kprobe_ftrace(struct kprobe *p)
{
	return -EINVAL;
}
#endif

/**
 * arch_arm_kprobe() - put the breakpoint into the text
 * @p: a prepared probe
 *
 * Context: M, C and T held; may sleep.
 * Default: none.
 */
void arch_arm_kprobe(struct kprobe *p);

/**
 * arch_disarm_kprobe() - put the original instruction back
 * @p: an armed probe
 *
 * On return new executions do not trap; CPUs that trapped before may still be
 * about to look the probe up. The core keeps it findable for one RCU grace
 * period after this.
 *
 * Context: M, C and T held; may sleep.
 * Default: none.
 */
void arch_disarm_kprobe(struct kprobe *p);

/**
 * arch_arm_kprobes() - arm many probes
 * @kps: prepared probes, linked by their list
 *
 * For architectures that can patch many addresses with one synchronization.
 *
 * Context: M, C and T held; may sleep.
 * Default: arch_arm_kprobe() for each, which is not needed otherwise.
 */
void arch_arm_kprobes(struct list_head *kps);

/**
 * arch_disarm_kprobes() - disarm many probes
 * @kps: armed probes, linked by their list
 *
 * Context: M, C and T held; may sleep.
 * Default: arch_disarm_kprobe() for each, which is not needed otherwise.
 */
void arch_disarm_kprobes(struct list_head *kps);

/**
 * arch_kprobe_mode() - how an instruction under a breakpoint is executed
 * @p: a prepared probe
 *
 * Context: kprobe_mutex held.
 * Return: a word for the file "sites" in debugfs.
 * Default: weak, "breakpoint".
 */
const char *arch_kprobe_mode(const struct kprobe *p);

/*
 * arch_remove_kprobe(p), from <asm/kprobes.h>, gives back what was prepared.
 * Called with M held, no CPU in the probe's code any more; also for code that
 * does not exist any more, so it touches no text. It may sleep, and must accept
 * a probe for which nothing is left to give back.
 */

#ifdef CONFIG_OPTPROBES
/*
 * Jump optimization
 *
 * A detour is a piece of code that saves the registers, calls the handlers, and
 * executes copies of the instructions that the jump to it replaces. The core
 * decides when, kernel/kprobes/optimizer.c tells how.
 */

/* Private bits of kprobe.flags that only architectures with detours look at. */
#define KPROBE_FLAG_DETOUR	BIT(29)	/* hits go on in the detour's copies only */
#define KPROBE_FLAG_JUMP	BIT(28)	/* the text may have a jump */

/* Why there is no jump. */
enum kprobe_noopt {
	KPROBE_NOOPT_NONE,
	/* The core says these. */
	KPROBE_NOOPT_FTRACE,
	KPROBE_NOOPT_DISARMED,
	KPROBE_NOOPT_OFF,
	KPROBE_NOOPT_POST,
	KPROBE_NOOPT_FAULT,
	KPROBE_NOOPT_NEIGHBOUR,
	KPROBE_NOOPT_INIT,
	KPROBE_NOOPT_LIVEPATCH,
	KPROBE_NOOPT_NOMEM,
	KPROBE_NOOPT_CHANGED,
	/* Architectures say these, when they prepare. */
	KPROBE_NOOPT_ARCH,
	KPROBE_NOOPT_RANGE,
	KPROBE_NOOPT_END,
	KPROBE_NOOPT_INSN,
	KPROBE_NOOPT_CALL,
	KPROBE_NOOPT_EXTABLE,
	KPROBE_NOOPT_PATCHED,
	KPROBE_NOOPT_TARGET,
	KPROBE_NOOPT_LANDING,
	KPROBE_NOOPT_INDIRECT,
	KPROBE_NOOPT_SEGMENT,
	KPROBE_NOOPT_UNDECODED,
	NR_KPROBE_NOOPTS,
};

/**
 * struct optimized_kprobe - a probe for which there may be a detour
 * @kp: the probe
 * @list: linked by the core
 * @optinsn: what the architecture keeps
 * @why: set by arch_prepare_optimized_kprobe() when it refuses
 * @why_at: what it refuses for is so far behind the probe
 * @why_transient: set besides when it would not refuse but for other probes near by
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

/* How far away, at most, a probe is that makes @why_transient true. */
#define KPROBE_OPT_NEARBY	512

/**
 * arch_optimizer_begin() - a probe is about to be prepared
 * @addr: its address
 *
 * For work that takes long and that many probes share. It is to be done in
 * pieces, between which others get kprobe_mutex.
 *
 * Context: M held; sleeps.
 * Return: true if there is more to be done.
 * Default: weak, false.
 */
bool arch_optimizer_begin(unsigned long addr);

/**
 * arch_optimizer_forget() - text is about to be freed
 * @start: where it begins
 * @end: where it ends
 *
 * What arch_optimizer_begin() has found out about it is not needed any more.
 *
 * Context: M held; sleeps.
 * Default: weak, does nothing.
 */
void arch_optimizer_forget(unsigned long start, unsigned long end);

/**
 * arch_prepare_optimized_kprobe() - make a detour
 * @op: the probe; why and why_at may be set when it is refused
 * @orig: &op->kp
 *
 * Context: M, C, the jump label lock and T held; sleeps.
 * Return: 0, or an error, with nothing kept.
 * Default: none.
 */
int arch_prepare_optimized_kprobe(struct optimized_kprobe *op,
				  struct kprobe *orig);

/**
 * arch_optimizer_borrower() - does the jump of another probe use an address?
 * @addr: an address at which there is no probe
 *
 * A jump may need text somewhere else than where its probe is: that text must be of
 * no use to anything but a probe.
 *
 * Context: M held.
 * Return: the probe with that jump, or NULL.
 * Default: weak, NULL.
 */
struct optimized_kprobe *arch_optimizer_borrower(unsigned long addr);

/**
 * arch_prepared_optinsn() - is there a detour?
 * @optinsn: of the probe
 *
 * Context: M held.
 * Return: non-zero if there is.
 * Default: none.
 */
int arch_prepared_optinsn(struct arch_optimized_insn *optinsn);

/**
 * arch_check_optimized_kprobe() - may other probes be hit by the jump?
 * @op: a probe with a detour
 *
 * Context: M held.
 * Return: negative if another one is armed in what the jump replaces, else 0.
 * Default: none.
 */
int arch_check_optimized_kprobe(struct optimized_kprobe *op);

/**
 * arch_within_optimized_kprobe() - does the jump replace an instruction?
 * @op: a probe with a detour
 * @addr: address of the instruction
 *
 * Context: M held.
 * Return: non-zero if @addr is in what the jump makes unusable.
 * Default: none.
 */
int arch_within_optimized_kprobe(struct optimized_kprobe *op,
				 kprobe_opcode_t *addr);

/**
 * arch_optimize_kprobes() - breakpoints become jumps
 * @oplist: armed probes with a detour; what is done is taken off with
 *	    list_del_init(), what is left on it has a text that changed
 *
 * No task is in the text that is replaced, but for CPUs at the breakpoint.
 *
 * Context: M, C and T held; sleeps.
 * Default: none.
 */
void arch_optimize_kprobes(struct list_head *oplist);

/**
 * arch_unoptimize_kprobes() - jumps become breakpoints
 * @oplist: probes with a jump
 * @done_list: where each of them is moved to
 *
 * On return the original text is behind the breakpoints for all CPUs.
 *
 * Context: M, C and T held; sleeps.
 * Default: none.
 */
void arch_unoptimize_kprobes(struct list_head *oplist,
			     struct list_head *done_list);

/**
 * arch_unoptimize_kprobe() - one jump becomes a breakpoint
 * @op: a probe with a jump
 *
 * The core does not call it: it is here for backends that do.
 *
 * Context: M, C and T held; sleeps.
 */
void arch_unoptimize_kprobe(struct optimized_kprobe *op);

/**
 * arch_remove_optimized_kprobe() - give the detour back
 * @op: a probe; no task is in its detour any more. It may have none
 *
 * Context: M held; sleeps. Touches no text of the probe, which may be gone.
 * Default: none.
 */
void arch_remove_optimized_kprobe(struct optimized_kprobe *op);

/**
 * alloc_optinsn_page() - get a page for detours
 *
 * Context: as alloc_insn_page().
 * Return: as alloc_insn_page().
 * Default: weak, alloc_insn_page().
 */
void *alloc_optinsn_page(void);

#ifdef KPROBE_SLOT_REGION_SHIFT
/**
 * alloc_optinsn_page_near() - get a page for the detours of one region
 * @start: first address of the region
 *
 * Context: as alloc_insn_page().
 * Return: as alloc_insn_page_near().
 * Default: none.
 */
void *alloc_optinsn_page_near(unsigned long start);
#endif

/**
 * free_optinsn_page() - give such a page back
 * @page: the page
 *
 * Default: weak, execmem_free().
 */
void free_optinsn_page(void *page);

/* Offered for detours; documented at their bodies. */
void opt_pre_handler(struct kprobe *kp, struct pt_regs *regs);
void kprobe_own_optinsn_slot(kprobe_opcode_t *slot, struct optimized_kprobe *op);
struct optimized_kprobe *kprobe_optinsn_owner(unsigned long addr);
#endif /* CONFIG_OPTPROBES */

/**
 * kprobe_exceptions_notify() - hits of architectures that use the die chain
 * @self: the core's notifier
 * @val: enum die_val
 * @data: struct die_args
 *
 * Context: exception.
 * Return: NOTIFY_*.
 * Default: weak, NOTIFY_DONE.
 */
int kprobe_exceptions_notify(struct notifier_block *self, unsigned long val,
			     void *data);

#ifdef CONFIG_KRETPROBES
extern struct kretprobe_blackpoint kretprobe_blacklist[];

/**
 * arch_trampoline_kprobe() - is this the probe on the return trampoline?
 * @p: the probe
 *
 * Such a probe stays armed when all are switched off, because calls in flight
 * still return through it.
 *
 * Context: M held.
 * Default: none.
 * Return: 1 if it is, otherwise 0.
 */
int arch_trampoline_kprobe(struct kprobe *p);
#else
static inline int arch_trampoline_kprobe(struct kprobe *p)
{
	return 0;
}
#endif

#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
/* Where hooked functions return to; assembly of the architecture. */
void __kretprobe_trampoline(void);

static nokprobe_inline void *kretprobe_trampoline_addr(void)
{
	return dereference_kernel_function_descriptor(__kretprobe_trampoline);
}

#ifdef CONFIG_KRETPROBE_NATIVE
/*
 * <asm/kretprobe.h> has to supply, inline because they are a large part of the
 * cost of a return probe:
 *
 * arch_kretprobe_entry_frame(regs) - at the entry of a function, which frame
 *	this is, and where its return address is found.
 * arch_kretprobe_note_return(ri, fp) - there, fill in ret_addr and fp.
 * arch_kretprobe_divert_return(fp) - replace the return address. In between,
 *	the instance is linked to the task, for unwinders in an NMI.
 * arch_kretprobe_frame(regs) - in the trampoline, which frame this is.
 * arch_kretprobe_restore_return(regs, ret_addr) - there, put the real address
 *	to where the trampoline takes it from, and unwinders find it.
 *
 * The trampoline calls kretprobe_native_handler(). Where only return probes are,
 * which kretprobe_is_alone() tells when a detour is made, that may save less and
 * call kretprobe_native_entry() first.
 */
#include <asm/kretprobe.h>

void kretprobe_native_handler(struct pt_regs *regs);
struct kprobe *kretprobe_native_entry(struct kprobe *kp, void *fp);
bool kretprobe_is_alone(struct kprobe *kp);
#else
/**
 * arch_prepare_kretprobe() - divert the return of the function just entered
 * @ri: to be filled in: ret_addr and fp; already linked to the task
 * @regs: state at the function's entry
 *
 * Where unwinders look for hooks, the instance is complete before the return
 * address changes.
 *
 * Context: hit path.
 * Default: none.
 */
void arch_prepare_kretprobe(struct kretprobe_instance *ri, struct pt_regs *regs);

/**
 * arch_kretprobe_fixup_return() - correct further copies of the return address
 * @regs: state after the return
 * @correct_ret_addr: the real return address
 *
 * Context: hit path, after the handlers and before the hook is forgotten.
 * Default: weak, does nothing.
 */
void arch_kretprobe_fixup_return(struct pt_regs *regs,
				 kprobe_opcode_t *correct_ret_addr);

/* Offered to the trampoline; documented at their bodies. */
unsigned long __kretprobe_trampoline_handler(struct pt_regs *regs,
					     void *frame_pointer);
unsigned long kretprobe_trampoline_handler(struct pt_regs *regs,
					   void *frame_pointer);
#endif
#endif

/*
 * Offered to hit paths, besides get_kprobe()
 */

/**
 * kprobe_rcu_is_watching() - may structures of users be touched?
 *
 * As rcu_is_watching(), but not a function that could itself be probed.
 *
 * Context: hit path, preemption off.
 * Return: true if RCU watches this CPU.
 */
static nokprobe_inline bool kprobe_rcu_is_watching(void)
{
#ifdef CONFIG_CONTEXT_TRACKING_IDLE
	return __this_cpu_read(context_tracking.state.counter) & CT_RCU_WATCHING;
#else
	return true;
#endif
}

/**
 * struct kprobe_table_entry - one place of the table
 * @addr: 0 if it was never used; else it keeps its address for good
 * @site: the site there, NULL after it was removed
 */
struct kprobe_table_entry {
	unsigned long		addr;
	struct kprobe_site	*site;
};

/**
 * struct kprobe_table - open-addressed hash table from address to site
 * @mask: number of entries - 1
 * @shift: BITS_PER_LONG - log2 of the number
 * @used: entries with an address
 * @live: entries with a site
 * @rcu: to free it after it was replaced
 * @entry: the entries; at least one in eight has no address
 */
struct kprobe_table {
	unsigned long			mask;
	unsigned int			shift;
	unsigned int			used;
	unsigned int			live;
	struct rcu_head			rcu;
	struct kprobe_table_entry	entry[];
};

extern struct kprobe_table __rcu *kprobe_table;

/* Fibonacci hashing: the high bits of the product are the good ones. */
static __always_inline unsigned long
kprobe_table_home(const struct kprobe_table *t, unsigned long addr)
{
#if BITS_PER_LONG == 64
	return (addr * 0x9e3779b97f4a7c15ul) >> t->shift;
#else
	return (addr * 0x9e3779b9ul) >> t->shift;
#endif
}

/**
 * kprobe_table_find() - the site at an address
 * @addr: the address
 *
 * Context: any, also NMI. Preemption off, or kprobe_mutex held.
 * Return: the site, or NULL.
 */
static __always_inline struct kprobe_site *kprobe_table_find(unsigned long addr)
{
	const struct kprobe_table *t = rcu_dereference_raw(kprobe_table);
	const struct kprobe_table_entry *e = t->entry + kprobe_table_home(t, addr);
	unsigned long key;

	for (;;) {
		/* Pairs with the release in kprobe_table_insert(). */
		key = smp_load_acquire(&e->addr);
		if (likely(key == addr))
			return READ_ONCE(e->site);
		/* Ends the walk: the table is never full. */
		if (!key)
			return NULL;
		if (++e > t->entry + t->mask)
			e = t->entry;
	}
}

/**
 * find_kprobe() - get_kprobe() without a call
 * @addr: the address
 *
 * Context: as get_kprobe().
 * Return: as get_kprobe().
 */
static __always_inline struct kprobe *find_kprobe(unsigned long addr)
{
	/* A site begins with its probe, which internal.h asserts. */
	return (struct kprobe *)kprobe_table_find(addr);
}

/**
 * struct kprobe_head - what hit paths see of a site
 * @kp: the site's probe
 * @op: the same, with its detour
 * @sole: the one user with a handler to call, if that is a pre handler
 */
struct kprobe_head {
	union {
		struct kprobe		kp;
#ifdef CONFIG_OPTPROBES
		struct optimized_kprobe	op;
#endif
	};
	struct kprobe __rcu	*sole;
};

/* The handlers that a site's probe has; documented at their bodies. */
int kprobe_site_pre_handler(struct kprobe *kp, struct pt_regs *regs);
void kprobe_site_post_handler(struct kprobe *kp, struct pt_regs *regs,
			      unsigned long flags);
int kprobe_site_fault_handler(struct kprobe *kp, struct pt_regs *regs,
			      int trapnr);
int kprobe_handler_fault(struct pt_regs *regs, int trapnr);

/**
 * kprobe_call_pre() - kprobe_site_pre_handler(), with the usual case inline
 * @kp: the probe of a site
 * @regs: state of the probed code
 *
 * Context: hit path, where RCU watches.
 * Return: as kprobe_site_pre_handler().
 */
static nokprobe_inline int kprobe_call_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe_head *head = container_of(kp, struct kprobe_head, kp);
	struct kprobe *p = rcu_dereference_raw(head->sole);

	/* With lockdep, handlers are checked. */
	if (unlikely(!p) || IS_ENABLED(CONFIG_PROVE_LOCKING))
		return kprobe_site_pre_handler(kp, regs);

	return p->pre_handler(p, regs);
}

/**
 * kprobe_running() - the probe whose handlers or instruction run on this CPU
 *
 * Context: preemption off.
 * Return: the probe, or NULL.
 */
static nokprobe_inline struct kprobe *kprobe_running(void)
{
	return __this_cpu_read(current_kprobe);
}

/**
 * reset_current_kprobe() - the hit on this CPU is over
 *
 * Context: preemption off.
 */
static nokprobe_inline void reset_current_kprobe(void)
{
	__this_cpu_write(current_kprobe, NULL);
}

/**
 * get_kprobe_ctlblk() - this CPU's control block
 *
 * Context: preemption off.
 * Return: the control block.
 */
static nokprobe_inline struct kprobe_ctlblk *get_kprobe_ctlblk(void)
{
	return this_cpu_ptr(&kprobe_ctlblk);
}

/**
 * kprobe_hit_begin() - a probe becomes this CPU's current probe
 * @p: the probe
 *
 * The one order in which the two are published: whoever interrupts this sees no
 * current probe, or @p with KPROBE_HIT_ACTIVE; never @p with the status of an
 * earlier hit, which backends would take for a step of @p. Inside an outer hit it
 * may also see the outer probe with KPROBE_HIT_ACTIVE, which is always a safe
 * answer: that hit is not to be ended by a step or by a fault just now.
 *
 * An interrupt between the first two stores finds no current probe, so that its
 * own hits do not restore the status. Hence the third. From the second store on,
 * they do.
 *
 * Context: hit path, preemption off.
 */
static nokprobe_inline void kprobe_hit_begin(struct kprobe *p)
{
	__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_ACTIVE);
	/* The order is for interrupts and NMIs of this CPU only. */
	barrier();
	__this_cpu_write(current_kprobe, p);
	barrier();
	__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_ACTIVE);
}

/* Offered to those who read text; documented at its body. */
struct kprobe *find_kprobe_in(unsigned long addr, unsigned long end);

#ifdef CONFIG_JUMP_LABEL
bool kprobe_jump_label_reserved(unsigned long start, unsigned long last);
#else
static inline bool kprobe_jump_label_reserved(unsigned long start, unsigned long last)
{
	return false;
}
#endif

void kprobes_inc_nmissed_count(struct kprobe *p);
void kprobe_miss_unwatched(struct kprobe *kp);
void dump_kprobe(struct kprobe *p);

#endif /* _LINUX_KPROBES_ARCH_H */
