/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hooks between the kprobes core and an architecture. They are documented here only; one
 * without a line "Default" has none. <linux/kprobes-hit.h> has what hit paths use, and
 * <linux/kprobes-optimize.h> the hooks of jump optimization.
 *
 * Include <linux/kprobes.h>, which includes this file.
 */
#ifndef _LINUX_KPROBES_ARCH_H
#define _LINUX_KPROBES_ARCH_H

/**
 * DOC: kprobes porting
 *
 * An architecture selects HAVE_KPROBES, and what else it has:
 *
 *  - HAVE_KRETPROBES if it has a return trampoline for kretprobes alone, or
 *    HAVE_RETHOOK if it has that of rethook. HAVE_KRETPROBE_NATIVE, in addition to
 *    either, if it has the hooks of <asm/kretprobe.h>, see below; with HAVE_RETHOOK, its
 *    unwinders undo the hooks of both;
 *  - HAVE_KPROBES_ON_FTRACE if ftrace saves all registers at function entries, which
 *    needs DYNAMIC_FTRACE_WITH_REGS;
 *  - HAVE_OPTPROBES if it replaces breakpoints with jumps, and HAVE_OPTPROBES_RANGE if
 *    a jump overwrites more than one instruction;
 *  - HAVE_KPROBE_FAULT_HANDLER if it reports faults to the fault handlers of probes;
 *  - HAVE_JPROBES if it has arch_jprobe_call() and arch_jprobe_unwind().
 *
 * <asm/kprobes.h> includes <asm-generic/kprobes.h>. With CONFIG_KPROBES, it has to supply:
 *
 *  - kprobe_opcode_t, struct arch_specific_insn, MAX_INSN_SIZE (in opcodes);
 *  - kprobe_fault_handler(regs, trapnr), which kprobe_page_fault() and the handlers of other
 *    faults of the kernel call, and which returns non-zero if the fault has been handled;
 *  - either __ARCH_WANT_KPROBES_COPY, so that the core prepares its probes. It has
 *    arch_decide_kprobe(), arch_kprobe_ways(), arch_copy_kprobe() and arch_write_slot() then,
 *    insn and boost in struct arch_specific_insn, and KPROBE_TRAP, the opcode that fills slots.
 *    Or arch_prepare_kprobe() and arch_remove_kprobe(), and flush_insn_slot(p), called with the
 *    locks of the former after it has succeeded, which lets all CPUs see the copy of the
 *    instruction, if that has not been done yet;
 *  - KPROBE_INSN_SLOT_SIZE, if the copy of an instruction, with the breakpoint that ends its step,
 *    takes more than MAX_INSN_SIZE opcodes;
 *  - with KRETPROBES, kretprobe_blacklist_size, and kretprobe_blacklist[] unless that is 0;
 *  - what <linux/kprobes-breakpoint.h> needs, see there, or its own struct prev_kprobe, and
 *    struct kprobe_ctlblk with kprobe_status and prev_kprobe in it.
 *
 * And where they apply:
 *
 *  - KPROBE_CPU_DIRECT if one instruction can access a variable of the CPU;
 *  - KPROBE_TRAP_IS_WATCHED as 1 if RCU watches in each of its breakpoint exceptions, from
 *    its entry to its exit, and preemption is counted as disabled; and if disarming waits for
 *    a step between two of them, for example because it masks interrupts. The default is 0;
 *  - __ARCH_WANT_KPROBES_INSN_SLOT if it uses get_insn_slot();
 *  - __ARCH_WANT_KPROBES_BATCH if it has arch_arm_kprobes();
 *  - arch_kprobe_ftrace_regs(fregs), the struct pt_regs of the traced code (ftrace
 *    has saved all registers), and KPROBE_FTRACE_IP, the offset from the site that
 *    handlers see as ip, if the core's kprobe_ftrace_handler() is to be used;
 *  - arch_kprobe_ftrace_redirect(regs), for when a handler at such a site has set the ip;
 *  - arch_kprobe_for_each_branch(), so that the blacklist need not name what is called on the
 *    hit path;
 *  - arch_handlers_begin() and arch_handlers_end().
 *
 * What only makes probes faster comes last:
 *
 *  - KPROBE_BRANCH_RANGE if a branch is one opcode, and reaches so many bytes in either direction.
 *    It has arch_kprobe_branch(), and arch_seal_page() for pages between KPROBE_PAGES_START and
 *    KPROBE_PAGES_END, which are mapped with KPROBE_PAGES_PROT. With OPTPROBES, the core has the
 *    hooks of detours then, and calls those of <linux/kprobes-optimize.h> that are for words;
 *  - with OPTPROBES, MAX_OPTIMIZED_LENGTH, bytes of text that a jump may make unusable;
 *    MAX_OPTINSN_SIZE, opcodes of a detour, which need not be a constant; and
 *    struct arch_optimized_insn with insn, the detour, in it. With HAVE_OPTPROBES_RANGE it also
 *    has size, how many bytes of text the jump makes unusable; jump, how many of them it
 *    replaces; and detour->text, what was there;
 *  - __ARCH_WANT_KPROBES_DETOUR if its detours call kprobe_detour_callback(), and
 *    then arch_leave_detour(). This needs KPROBE_MAX_NESTING, as arch_kprobe_ftrace_regs() does.
 *
 * <linux/kprobes-breakpoint.h> handles hits and faults. Without it, the
 * architecture defines the per-CPU variables current_kprobe and kprobe_ctlblk, and does the same
 * in code of its own: it calls the pre_handler and post_handler of the probe, and sets the status
 * to KPROBE_HIT_ACTIVE when a hit begins. Preemption is off until the hit is over.
 *
 * Without HAVE_KPROBE_FAULT_HANDLER, no fault handlers are called, but the address of a
 * faulting copy has to be corrected in any case.
 *
 * The struct kprobe that architecture code sees never belongs to a user. It is the
 * core's own, one for each probed address. Its pre_handler is always set. Its
 * post_handler and fault_handler are NULL until the first user with such a handler
 * comes, and then stay. It has KPROBE_FLAG_DISABLED exactly while no user is
 * enabled.
 */

struct kprobe_site;
struct optimized_kprobe;

#ifdef CONFIG_OPTPROBES
#include <linux/kprobes-optimize.h>
#else
static nokprobe_inline bool is_kprobe_optinsn_slot(unsigned long addr) { return false; }
#endif
#include <linux/kprobes-hit.h>

/* Bytes of an instruction slot, unless the architecture wants more. */
#ifndef KPROBE_INSN_SLOT_SIZE
#define KPROBE_INSN_SLOT_SIZE	(MAX_INSN_SIZE * sizeof(kprobe_opcode_t))
#endif

/* What handlers see as ip at a site of ftrace, counted from the site. */
#ifndef KPROBE_FTRACE_IP
#define KPROBE_FTRACE_IP	0
#endif

#ifndef arch_kprobe_ftrace_redirect
static nokprobe_inline void arch_kprobe_ftrace_redirect(struct pt_regs *regs) { }
#endif

/*
 * Addresses
 */

/**
 * kprobe_lookup_name() - find the address that a symbol stands for
 * @name: the symbol, also as "module:symbol"
 * @offset: the offset that will be added; a hint, which is not in the result
 *
 * Context: any, does not sleep.
 * Return: the address, or NULL if there is no such symbol.
 *
 * Default: weak, kallsyms_lookup_name().
 */
kprobe_opcode_t *kprobe_lookup_name(const char *name, unsigned int offset);

/**
 * arch_adjust_kprobe_addr() - the address to probe for an offset in a symbol
 * @addr: start of the symbol
 * @offset: offset inside the symbol
 * @on_func_entry: set to whether a probe there is on the function's entry
 *
 * Moves a probe past a landing pad, or to the entry point that callers use. The
 * result must be a fixed point: the hook may be called again with its own answer.
 *
 * Context: process context.
 * Return: the address, or NULL if it cannot be read.
 *
 * Default: weak, the sum; an entry if @offset is 0.
 */
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long addr,
					 unsigned long offset,
					 bool *on_func_entry);

/**
 * arch_within_kprobe_blacklist() - must this text not be probed?
 * @addr: the address
 *
 * Context: any, does not sleep.
 * Return: true if no probe may be there.
 *
 * Default: weak, true inside .kprobes.text.
 */
bool arch_within_kprobe_blacklist(unsigned long addr);

/**
 * arch_populate_kprobe_blacklist() - add the architecture's own text at boot
 *
 * Calls kprobe_add_area_blacklist(), kprobe_add_ksym_blacklist(), kprobe_blacklist_names(),
 * kprobe_blacklist_roots(), kprobe_blacklist_root_at() and kprobe_blacklist_cuts().
 *
 * Context: early_initcall, no lock held.
 * Return: 0, or an error that is only logged.
 *
 * Default: weak, does nothing.
 */
int arch_populate_kprobe_blacklist(void);

/**
 * arch_kprobe_for_each_branch() - find the direct branches of a function
 * @start: its first byte
 * @end: the byte after its last one, according to kallsyms: padding and data may be in between
 * @fn: called with the target of each call and each jump, wherever that is, also of those in
 *	alternatives that have not been applied yet; a result other than 0 ends the walk
 * @arg: passed to @fn
 *
 * Where code may run into the next function, and no root names that function, call @fn with
 * @end, too. A false target does no harm except that more text is refused.
 *
 * Context: early_initcall, sleeps; kprobe_mutex and the lock of the blacklist are held.
 * Return: what @fn returned last, or 0.
 *
 * Default: finds none, so that only the roots themselves, and some functions listed by name, are
 * refused. <asm/kprobes.h> defines the name as a macro if the architecture has the function.
 */
#ifdef arch_kprobe_for_each_branch
int arch_kprobe_for_each_branch(unsigned long start, unsigned long end,
				int (*fn)(unsigned long target, void *arg), void *arg);
#else
static inline int arch_kprobe_for_each_branch(unsigned long start, unsigned long end,
					      int (*fn)(unsigned long target, void *arg),
					      void *arg)
{
	return 0;
}
#endif

/* Offered to arch_populate_kprobe_blacklist(); documented at their definitions. */
int kprobe_blacklist_names(const char * const *names, unsigned int nr);
int kprobe_blacklist_roots(const char * const *names, unsigned int nr);
int kprobe_blacklist_root_at(unsigned long addr);
int kprobe_blacklist_cuts(const char * const *names, unsigned int nr);
int kprobe_add_ksym_blacklist(unsigned long entry);
int kprobe_add_area_blacklist(unsigned long start, unsigned long end);

/*
 * Text
 */

/* For hooks to assert that it is held; only the core takes it. */
extern struct mutex kprobe_mutex;

/**
 * arch_kprobe_restore_text() - undo what probes changed elsewhere than at their address
 * @buf: copy of the text, to be corrected
 * @addr: address of the text
 * @len: how many bytes there are
 *
 * Context: kprobe_mutex held.
 *
 * Default: none; only called with HAVE_OPTPROBES_RANGE and OPTPROBES.
 */
void arch_kprobe_restore_text(void *buf, unsigned long addr, unsigned int len);

/* Offered to code that reads text; documented at their definitions. */
int kprobe_read_text(unsigned long addr, void *buf, unsigned int len);
bool kprobe_in_livepatch(unsigned long addr);
bool kprobe_jump_label_reserved(unsigned long start, unsigned long last);

/*
 * Instruction slots
 */

/**
 * alloc_insn_page() - allocate a page for instruction slots
 *
 * Context: process context; a slot cache's mutex held, perhaps also kprobe_mutex,
 *	    the CPU hotplug read lock and text_mutex.
 * Return: PAGE_SIZE bytes of executable memory, or NULL. Without KPROBE_BRANCH_RANGE,
 *	   branches reach kernel text from it, and vice versa. The core frees it with
 *	   free_insn_page().
 *
 * Default: weak, execmem_alloc(EXECMEM_KPROBES); with KPROBE_BRANCH_RANGE that of the core.
 */
void *alloc_insn_page(void);

#ifdef KPROBE_BRANCH_RANGE
/*
 * The part of the address space that a page of slots serves, and how far outside of it the page
 * may be. From there, branches reach as far again.
 */
#define KPROBE_SLOT_REGION_SHIFT	(ilog2(KPROBE_BRANCH_RANGE) - 1)
#define KPROBE_SLOT_REGION_SIZE		(KPROBE_BRANCH_RANGE / 2)
#define KPROBE_SLOT_BESIDE		(KPROBE_BRANCH_RANGE / 4)

/**
 * kprobe_in_reach() - can a branch at one address go to another one?
 * @from: address of the branch
 * @to: its target
 *
 * Context: any.
 * Return: true if it can.
 */
static inline bool kprobe_in_reach(unsigned long from, unsigned long to)
{
	return to - from + KPROBE_BRANCH_RANGE < 2UL * KPROBE_BRANCH_RANGE;
}

/**
 * arch_kprobe_branch() - encode a branch
 * @from: where it will be
 * @to: its target, in reach
 *
 * Context: any.
 * Return: the opcode.
 */
kprobe_opcode_t arch_kprobe_branch(unsigned long from, unsigned long to);

/**
 * arch_seal_page() - make a new page executable
 * @page: a page, also of the image of the kernel
 *
 * Context: as alloc_insn_page().
 * Return: 0 if the page is full of traps, and only arch_write_slot() can write to it; an error
 *	   otherwise, and it will be freed.
 */
int arch_seal_page(void *page);

/**
 * alloc_insn_page_near() - allocate a page for the slots of one region
 * @start: first address of the region, which has KPROBE_SLOT_REGION_SIZE bytes
 *
 * Context: as alloc_insn_page().
 * Return: PAGE_SIZE bytes of executable memory, each of them in reach of each
 *	   address of the region and vice versa; NULL if there is no such memory.
 *	   The core frees it like a page of alloc_insn_page().
 *
 * Default: weak, a page in or beside the region.
 */
void *alloc_insn_page_near(unsigned long start);

/**
 * arch_slots_reach() - can an address be reached from each slot that a probe can get?
 * @addr: the address of the probe
 * @target: the address to be reached
 *
 * Context: any.
 * Return: true if it can.
 *
 * Default: weak, for pages in or beside the region.
 */
bool arch_slots_reach(unsigned long addr, unsigned long target);

/* Offered to the two before, which an architecture may have for some of the regions. */
void *kprobe_alloc_page_beside(unsigned long region);
bool kprobe_pages_beside_reach(unsigned long addr, unsigned long target);
#endif

/**
 * free_insn_page() - free a page of instruction slots
 * @page: the page, of alloc_insn_page() or alloc_insn_page_near()
 *
 * Context: process context; sleeps.
 *
 * Default: weak, execmem_free().
 */
void free_insn_page(void *page);

/**
 * arch_sync_insn_slots() - wait until all CPUs have left used slots
 *
 * On return all CPUs have left them, even where RCU does not watch, and none uses
 * what it has fetched from them. After its wait for tasks, the optimizer calls
 * this for detours and for the text that a jump will replace.
 *
 * Context: workqueue with a slot cache's mutex held, or process context.
 *
 * Default: weak, does nothing.
 */
void arch_sync_insn_slots(void);

/*
 * Offered: slots for copies of instructions. They do not wait, and may be called
 * with kprobe_mutex, the CPU hotplug read lock and text_mutex held; documented at
 * their definitions.
 */
#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
kprobe_opcode_t *get_insn_slot(void);
void free_insn_slot(kprobe_opcode_t *slot, int dirty);
bool is_kprobe_insn_slot(unsigned long addr);
bool kprobe_boosts(void);
#else
static nokprobe_inline bool is_kprobe_insn_slot(unsigned long addr) { return false; }
#endif

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
 *
 * Default: weak, does nothing.
 */
int arch_init_kprobes(void);

#ifdef __ARCH_WANT_KPROBES_COPY
/* What arch_kprobe_ways() returns. */
#define KPROBE_EMULATES		BIT(0)	/* the breakpoint's handler executes the instruction */
#define KPROBE_NEEDS_COPY	BIT(1)	/* a copy is needed, even if it cannot branch back */
#define KPROBE_NEEDS_NEAR	BIT(2)	/* one in reach of the instruction */

/**
 * arch_decide_kprobe() - decode the instruction of a probe
 * @p: addr is set; opcode and ainsn are to be filled in, without ainsn.insn. ainsn.boost says
 *	whether a copy can branch back to the program
 *
 * Must see the original instruction even where other probes are armed.
 *
 * Context: kprobe_mutex, CPU hotplug read lock and text_mutex held; may sleep.
 * Return: KPROBE_REFUSAL_NONE, or why it cannot be probed.
 */
enum kprobe_refusal arch_decide_kprobe(struct kprobe *p);

/**
 * arch_kprobe_ways() - the ways in which an instruction can be executed
 * @p: a probe for which arch_decide_kprobe() has returned KPROBE_REFUSAL_NONE
 *
 * Context: kprobe_mutex held.
 * Return: a combination of the bits above.
 */
unsigned int arch_kprobe_ways(const struct kprobe *p);

/**
 * arch_copy_kprobe() - assemble the contents of a slot
 * @p: as arch_kprobe_ways(), whose ainsn.boost says whether a copy has to branch back
 * @slot: where they will be
 * @code: where they are assembled, KPROBE_INSN_SLOT_SIZE bytes full of KPROBE_TRAP
 *
 * Context: as arch_decide_kprobe().
 * Return: KPROBE_REFUSAL_NONE, or why there can be no copy.
 */
enum kprobe_refusal arch_copy_kprobe(struct kprobe *p, kprobe_opcode_t *slot,
				     kprobe_opcode_t *code);

/**
 * arch_write_slot() - write to a slot that no CPU executes
 * @slot: a slot of either kind
 * @code: its new contents, instructions in the byte order of the CPU
 * @size: how many bytes, all of the slot
 *
 * A CPU may have fetched the former contents. If it enters the slot from a breakpoint, the
 * exception discards them; before a branch to the slot is written, the core calls
 * arch_sync_insn_slots().
 *
 * Context: text_mutex held.
 * Return: 0 or an error.
 */
int arch_write_slot(void *slot, kprobe_opcode_t *code, size_t size);
#endif

/**
 * arch_prepare_kprobe() - decode the instruction and make its copy
 * @p: addr is set; opcode and ainsn are to be filled in
 *
 * Must see the original instruction even where other probes are armed.
 *
 * Context: kprobe_mutex, CPU hotplug read lock and text_mutex held; may sleep.
 * Return: 0, or with nothing kept: -ENOMEM, or other errors of the architecture.
 *
 * Default: with __ARCH_WANT_KPROBES_COPY that of the core; otherwise none.
 */
int arch_prepare_kprobe(struct kprobe *p);

/* ftrace has found itself broken, and must not be touched any more. */
extern bool kprobe_ftrace_disabled __read_mostly;

#ifdef CONFIG_KPROBES_ON_FTRACE
/**
 * arch_prepare_kprobe_ftrace() - as arch_prepare_kprobe(), at an ftrace site
 * @p: addr is set
 *
 * Context: kprobe_mutex held.
 * Return: 0 or an error, with nothing kept.
 */
int arch_prepare_kprobe_ftrace(struct kprobe *p);

/**
 * kprobe_ftrace_handler() - hit of a probe at an ftrace site
 * @ip: address of the site
 * @parent_ip: its caller
 * @ops: which of the core's ftrace_ops
 * @fregs: state of the traced code
 *
 * Looks the probe up, and does what a breakpoint does for its hit. Returns at once
 * if there is no probe, or while kprobe_ftrace_disabled is set.
 *
 * Context: ftrace callback. Where RCU does not watch, the core calls no handler of
 *	    an architecture.
 *
 * Default: the core's, with arch_kprobe_ftrace_regs(); otherwise none.
 */
void kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
			   struct ftrace_ops *ops, struct ftrace_regs *fregs);
#else
static inline int arch_prepare_kprobe_ftrace(struct kprobe *p) { return -EINVAL; }
#endif

/**
 * arch_arm_kprobe() - write the breakpoint
 * @p: a prepared probe
 *
 * Context: kprobe_mutex, CPU hotplug read lock and text_mutex held; may sleep.
 */
void arch_arm_kprobe(struct kprobe *p);

/**
 * arch_disarm_kprobe() - put the original instruction back
 * @p: an armed probe
 *
 * A CPU that trapped before, or has fetched the breakpoint, may still be about to look
 * the probe up; the core keeps it findable for one more grace period of RCU.
 *
 * Context: as arch_arm_kprobe().
 */
void arch_disarm_kprobe(struct kprobe *p);

/**
 * arch_arm_kprobes() - arm or disarm many probes
 * @kps: prepared or armed probes, linked by their list
 * @arm: which of the two
 *
 * For architectures that can patch many addresses with one synchronization.
 *
 * Context: as arch_arm_kprobe().
 *
 * Default: arch_arm_kprobe() or arch_disarm_kprobe() for each; these are not needed otherwise.
 */
void arch_arm_kprobes(struct list_head *kps, bool arm);

/**
 * arch_remove_kprobe() - give back what was prepared
 * @p: the probe; perhaps nothing is left to give back
 *
 * From <asm/kprobes.h>, unless the core prepares probes. It touches no text, which may be gone.
 *
 * Context: kprobe_mutex held; may sleep. No CPU is in the probe's code any more.
 */
#ifdef __ARCH_WANT_KPROBES_COPY
void arch_remove_kprobe(struct kprobe *p);

static inline void flush_insn_slot(struct kprobe *p) { }
#endif

/**
 * arch_handlers_begin() - handlers are about to be called without an exception
 * @regs: state of the program
 *
 * In a detour, a return trampoline or a callback of ftrace. Ends what handlers must not
 * inherit from the program, such as access to user memory, and stores in @regs what is
 * valid only while preemption is off.
 *
 * kretprobe_native_entry() calls it in a preemptible kernel, because preemption may switch to
 * another task there. It passes the frame that it was called with, so where this hook does
 * something, that frame has to be the struct pt_regs of the detour.
 *
 * Context: hit path, preemption has just been disabled.
 *
 * Default: does nothing; a macro of the same name replaces it.
 */
#ifndef arch_handlers_begin
static __always_inline void arch_handlers_begin(struct pt_regs *regs) { }
#endif

/**
 * arch_handlers_end() - undo arch_handlers_begin()
 * @regs: state with which the program continues
 *
 * Enabling preemption may switch to another task, which must not inherit anything of this one
 * either. So this comes after it.
 *
 * Context: hit path, preemption has just been enabled, perhaps on another CPU.
 *
 * Default: does nothing; a macro of the same name replaces it.
 */
#ifndef arch_handlers_end
static __always_inline void arch_handlers_end(struct pt_regs *regs) { }
#endif

/**
 * kprobe_exceptions_notify() - hits of architectures that use the die chain
 * @self: the core's notifier
 * @val: enum die_val
 * @data: struct die_args
 *
 * Context: exception.
 * Return: NOTIFY_*.
 *
 * Default: weak, NOTIFY_DONE.
 */
int kprobe_exceptions_notify(struct notifier_block *self, unsigned long val,
			     void *data);

/*
 * Return probes
 */

extern struct kretprobe_blackpoint kretprobe_blacklist[];

/**
 * arch_trampoline_kprobe() - is this the probe on the return trampoline?
 * @p: the probe
 *
 * Such a probe stays armed when all probes are switched off, because calls in
 * flight still return through it.
 *
 * Context: kprobe_mutex held.
 * Return: 1 if it is, otherwise 0.
 *
 * Default: none; not called without KRETPROBES. With KRETPROBE_NATIVE there is no such probe.
 */
#ifdef CONFIG_KRETPROBE_NATIVE
static inline int arch_trampoline_kprobe(struct kprobe *p) { return 0; }
#else
int arch_trampoline_kprobe(struct kprobe *p);
#endif

#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
/* The code that hooked functions return to; assembly of the architecture. */
void __kretprobe_trampoline(void);

static nokprobe_inline void *kretprobe_trampoline_addr(void)
{
	/* Native trampolines have no descriptor, and returns must not read one: reads can fault. */
	return IS_ENABLED(CONFIG_KRETPROBE_NATIVE) ? (void *)__kretprobe_trampoline :
		dereference_kernel_function_descriptor(__kretprobe_trampoline);
}

#ifdef CONFIG_KRETPROBE_NATIVE
/*
 * <asm/kretprobe.h> has to supply the following, inline because they are a large
 * part of what a return probe costs. A frame is an opaque pointer that tells two
 * frames of a task apart. Where the caller's address is on the stack at the entry,
 * as on x86, it is the address of that slot, and a detour that saves no registers
 * can pass it. Where the address is in a register, it is the address of a copy, beside
 * which there is something that tells frames apart: on arm64 the saved pair of x29 and
 * x30, in struct pt_regs or where a detour has put it. arch_kretprobe_note_return() stores
 * in ri->fp what arch_kretprobe_frame() finds when the function has returned.
 *
 * The trampoline calls kretprobe_native_handler(). A detour at a site for which
 * kretprobe_is_only_user() was true may save fewer registers, and call
 * kretprobe_native_entry() first.
 */

/**
 * arch_kretprobe_entry_frame() - the frame of a function that is being entered
 * @regs: state at its entry
 *
 * Context: hit path.
 * Return: the frame, for arch_kretprobe_note_return() and arch_kretprobe_divert_return().
 */
static nokprobe_inline void *arch_kretprobe_entry_frame(struct pt_regs *regs);

/**
 * arch_kretprobe_note_return() - save the return address
 * @ri: ret_addr and fp are to be filled in
 * @fp: the frame of the function
 *
 * Context: hit path. After it, the instance is linked to the task, so that unwinders in
 *	    an NMI find it before the return address changes.
 */
static nokprobe_inline void arch_kretprobe_note_return(struct kretprobe_instance *ri,
						       void *fp);

/**
 * arch_kretprobe_divert_return() - replace the return address by the trampoline
 * @fp: the frame of the function
 *
 * Context: hit path.
 */
static nokprobe_inline void arch_kretprobe_divert_return(void *fp);

/**
 * arch_kretprobe_frame() - the frame of the function that has returned
 * @regs: state in the trampoline
 *
 * Context: hit path.
 * Return: the frame, as arch_kretprobe_note_return() has stored it in fp.
 */
static nokprobe_inline void *arch_kretprobe_frame(struct pt_regs *regs);

/**
 * arch_kretprobe_restore_return() - put the real return address back
 * @regs: state in the trampoline
 * @ret_addr: the address
 *
 * Writes it where the trampoline reads it, where unwinders look for it, and to the ip that
 * handlers see.
 *
 * Context: hit path.
 */
static nokprobe_inline void arch_kretprobe_restore_return(struct pt_regs *regs,
							  unsigned long ret_addr);

#include <asm/kretprobe.h>

void kretprobe_native_handler(struct pt_regs *regs);
struct kprobe *kretprobe_native_entry(struct kprobe *kp, void *fp);
bool kretprobe_is_only_user(struct kprobe *kp);
#else
/**
 * arch_prepare_kretprobe() - divert the return of the function just entered
 * @ri: ret_addr and fp are to be filled in; it is linked to the task
 * @regs: state at the function's entry
 *
 * Where unwinders look for hooks, the instance must be complete before the return
 * address changes.
 *
 * Context: hit path.
 */
void arch_prepare_kretprobe(struct kretprobe_instance *ri, struct pt_regs *regs);

/**
 * arch_kretprobe_fixup_return() - correct further copies of the return address
 * @regs: state after the return
 * @correct_ret_addr: the real return address
 *
 * Context: hit path, after the handlers and before the hook is forgotten.
 *
 * Default: weak, does nothing.
 */
void arch_kretprobe_fixup_return(struct pt_regs *regs,
				 kprobe_opcode_t *correct_ret_addr);

/* Offered to the trampoline; documented at their definitions. */
unsigned long __kretprobe_trampoline_handler(struct pt_regs *regs,
					     void *frame_pointer);
unsigned long kretprobe_trampoline_handler(struct pt_regs *regs,
					   void *frame_pointer);
#endif
#endif

#ifdef CONFIG_JPROBES
/*
 * Jprobes
 */

/**
 * arch_jprobe_call() - call the handler of a jprobe
 * @entry: the handler
 * @regs: state at the entry of the probed function
 * @frame: set to what arch_jprobe_unwind() needs before @entry is called; an address on
 *	   the stack, above the frames of @entry and its callees
 *
 * The handler finds what a function with any parameters would find: the argument
 * registers of @regs, and a copy of the stack where arguments begin, above the return
 * address if calls push it. The copy is of 64 bytes, or up to the end of the stack, with
 * zeros for the rest. It is not read with the checks of sanitizers, as the compiler knows
 * of no such access.
 *
 * The handler need not be a legal target of indirect calls: if no other code calls it
 * through a pointer, the compiler or the kernel may have removed what makes it one.
 *
 * Context: hit path.
 */
void arch_jprobe_call(void *entry, struct pt_regs *regs, void **frame);

/**
 * arch_jprobe_unwind() - let arch_jprobe_call() return
 * @frame: what that has set
 *
 * Whatever interrupts it finds a stack that can be unwound, from either side.
 *
 * Context: hit path, in a function that the handler has called; does not return.
 */
void arch_jprobe_unwind(void *frame);

/* Offered to arch_jprobe_call(): zeros stand for what is not below @end. */
static nokprobe_inline void kprobe_copy_stack(unsigned long *to, unsigned int nr,
					      const unsigned long *from, unsigned long end)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		to[i] = (unsigned long)(from + i) < end ? READ_ONCE(from[i]) : 0;
}
#endif

#endif /* _LINUX_KPROBES_ARCH_H */
