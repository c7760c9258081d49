// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path on powerpc: the trap of a breakpoint, the instruction under it, and the faults of
 * both; redirections from detours, and unwinding in them. <linux/kprobes-breakpoint.h> has what all
 * architectures share, and detour_head.S the code of detours.
 *
 * lib/sstep.c emulates instructions. A trace interrupt ends a step; on BookE, a trap.
 */

#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#include <asm/hw_irq.h>
#include <asm/interrupt.h>
#include <asm/probes.h>
#include <asm/processor.h>
#include <asm/sstep.h>
#include <asm/unwind-probes.h>

#include "common.h"
#include "detour.h"

#define arch_kprobe_len(p)	((p)->ainsn.len)

/*
 * A handler may have written nip without the accessor. The exit from the exception would then
 * return with what is still in SRR0 and SRR1.
 */
static nokprobe_inline void arch_kprobe_redirect(struct pt_regs *regs)
{
	regs_set_return_ip(regs, regs->nip);
}

/*
 * A trace interrupt ends a step, except on BookE, where the trap after the copy does. The BookE
 * debug exception cannot be used: it always starts at the top of its own stack, so a step inside a
 * post handler would overwrite the outer frame; its exit does not restore KUAP; and DBCR0 belongs
 * to debuggers.
 */
#ifdef CONFIG_BOOKE
#define STEP_MSR	(MSR_DE | MSR_CE | MSR_EE)

static nokprobe_inline void set_msr_of_step(struct pt_regs *regs)
{
	regs_set_return_msr(regs, regs->msr & ~STEP_MSR);
}
#else
#define STEP_MSR	(MSR_SE | MSR_EE)

static nokprobe_inline void set_msr_of_step(struct pt_regs *regs)
{
	/* On 64 bits, the soft mask is enough. */
	if (IS_ENABLED(CONFIG_PPC32))
		regs_set_return_msr(regs, regs->msr & ~MSR_EE);
	enable_single_step(regs);
}
#endif

/* The soft interrupt mask of the program. There is none with 32 bits, where nothing uses this. */
#ifdef CONFIG_PPC64
#define soft_mask(regs)		((regs)->softe)
#else
#define soft_mask(regs)		((regs)->mq)
#endif

static nokprobe_inline void arch_kprobe_mask(struct pt_regs *regs, struct arch_kprobe_step *step)
{
	step->msr = regs->msr;
	if (IS_ENABLED(CONFIG_PPC64)) {
		step->softe = soft_mask(regs);
		soft_mask(regs) = IRQS_ALL_DISABLED;
	}
	set_msr_of_step(regs);
}

/*
 * On ppc64, an interrupt during the step may have cleared MSR[EE], to be handled by whatever next
 * enables interrupts. Restoring MSR[EE] here lets the exit from this exception handle it.
 */
static nokprobe_inline void arch_kprobe_unmask(struct pt_regs *regs,
					       struct arch_kprobe_step *step)
{
	if (IS_ENABLED(CONFIG_PPC64))
		soft_mask(regs) = step->softe;
	regs_set_return_msr(regs, (regs->msr & ~STEP_MSR) | (step->msr & STEP_MSR));
}

/*
 * On BookE, the MSR in struct pt_regs is that of the program. lib/sstep.c masks out the bits that
 * report causes of exceptions on other processors; here, one of them is MSR[CE].
 */
static nokprobe_inline bool reads_whole_msr(const struct kprobe *p)
{
	return IS_ENABLED(CONFIG_BOOKE) && kprobe_insn_is_mfmsr(p->opcode);
}

/*
 * lib/sstep.c would access the soft interrupt mask of this exception instead of the program's, so
 * accesses to it are special.
 */
static nokprobe_inline bool arch_kprobe_emulate(struct kprobe *p, struct pt_regs *regs)
{
	unsigned int rt = get_rt(p->opcode);

	if (!p->ainsn.emulate)
		return false;
	if (unlikely(regs->nip != (unsigned long)p->addr))
		regs_set_return_ip(regs, (unsigned long)p->addr);

	if (reads_whole_msr(p)) {
		regs->gpr[rt] = regs->msr;
		regs_set_return_ip(regs, kprobe_next(p));
		return true;
	}

	if (!IS_ENABLED(CONFIG_PPC64) || p->ainsn.soft_mask == KPROBE_SOFT_MASK_NONE)
		return emulate_step(regs, kprobe_insn(p)) > 0;

	if (p->ainsn.soft_mask == KPROBE_SOFT_MASK_READ) {
		regs->gpr[rt] = soft_mask(regs);
	} else {
		/*
		 * If that enables interrupts, the exit from this exception handles those that were
		 * masked, as the program would, and expects MSR[EE] to be set.
		 */
		soft_mask(regs) = (u8)regs->gpr[rt];
		if (!(soft_mask(regs) & IRQS_DISABLED))
			regs_set_return_msr(regs, regs->msr | MSR_EE);
	}
	regs_set_return_ip(regs, kprobe_next(p));
	return true;
}

#include <linux/kprobes-breakpoint.h>

/*
 * In real mode, neither the handlers nor the state of kprobes can be accessed. On BookE, the bits
 * select an address space instead.
 */
#ifdef CONFIG_BOOKE
#define MSR_TRANSLATED	0
#else
#define MSR_TRANSLATED	(MSR_IR | MSR_DR)
#endif

/* Are these registers of the kernel, and not in real mode? */
static nokprobe_inline bool may_have_probes(const struct pt_regs *regs)
{
	return (regs->msr & (MSR_PR | MSR_TRANSLATED)) == MSR_TRANSLATED;
}

/**
 * kprobe_handler() - handle the trap of a probe
 * @regs: registers at the trap
 *
 * A site stays in the table until all CPUs have left its breakpoint. So a trap without a site, or
 * at an ftrace site, is not the breakpoint of a probe. But it may be the end of a step: the word
 * after each copy that does not branch back is a trap. On BookE, all steps end there. Elsewhere, a
 * watchpoint that emulates the copy leaves no trace interrupt.
 *
 * Context: the exception; interrupts are masked, which also prevents preemption.
 * Return: 1 if it was that of a probe or the end of a step, else 0.
 */
int kprobe_handler(struct pt_regs *regs)
{
	struct kprobe *p;

	if (!may_have_probes(regs))
		return 0;

	p = get_kprobe((void *)regs->nip);
	if (unlikely(!p || READ_ONCE(p->flags) & KPROBE_FLAG_FTRACE))
		return kprobe_step_end(regs, regs->nip);

	kprobe_hit(p, regs);
	return 1;
}
NOKPROBE_SYMBOL(kprobe_handler);

/**
 * kprobe_post_handler() - handle the trace interrupt after a step
 * @regs: registers after the instruction
 *
 * Context: the exception, interrupts masked.
 * Return: 1 if it was the end of a step, and no debugger waits for the same interrupt; else 0.
 */
int kprobe_post_handler(struct pt_regs *regs)
{
	if (!may_have_probes(regs))
		return 0;

	return kprobe_step_end(regs, regs->nip) && !(regs->msr & MSR_SINGLESTEP);
}
NOKPROBE_SYMBOL(kprobe_post_handler);

/*
 * A handler or an emulated instruction has faulted under a breakpoint. Such a fault must not sleep,
 * but without PREEMPT_COUNT do_page_fault() cannot tell that it is atomic. So apply the fixup at
 * once.
 *
 * A handler that oopses takes its task with it, and the probe remains current. So a fault with
 * interrupts on may be that of any task.
 */
static nokprobe_inline int fix_up(struct pt_regs *regs)
{
	const struct exception_table_entry *entry;

	if (!regs_irqs_disabled(regs))
		return 0;
	entry = search_exception_tables(regs->nip);
	if (!entry)
		return 0;
	regs_set_return_ip(regs, extable_fixup(entry));
	return 1;
}

/**
 * kprobe_fault_handler() - a fault while a probe is current
 * @regs: state at the fault
 * @trapnr: passed on to fault handlers
 *
 * Context: the exception.
 * Return: 1 if a fault handler or a fixup has handled it, else 0.
 */
int kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	bool stepped = kprobe_stepped_at(regs);

	return kprobe_hit_fault(regs, trapnr) || (!stepped && fix_up(regs));
}
NOKPROBE_SYMBOL(kprobe_fault_handler);

/*
 * A boosted copy may run without a current probe; the branch after it shows whose it is. The copy
 * and the branch are moved by the same distance, so the offset of the branch leads from the copy
 * to the probed instruction.
 */
static nokprobe_inline unsigned long ip_of_boosted(unsigned long nip)
{
	const u32 *word = (const u32 *)ALIGN_DOWN(nip, KPROBE_INSN_SLOT_SIZE);
	const u32 *end = word + KPROBE_INSN_SLOT_SIZE / sizeof(*word);

	word += ppc_inst_len(ppc_inst(*word)) / sizeof(*word);
	if (word >= end || !kprobe_insn_is_b(*word))
		return nip;
	/* The copy that is stepped has the offset of the other one. */
	if (nip >= ALIGN_DOWN(nip, KPROBE_INSN_SLOT_SIZE) + KPROBE_STEP_OFFSET)
		nip -= KPROBE_STEP_OFFSET;
	return nip + sign_extend32(*word & PPC_LI_MASK, 25);
}

static nokprobe_inline unsigned long ip_of_detour(unsigned long nip)
{
	struct optimized_kprobe *op;

	guard(preempt_notrace)();

	op = kprobe_optinsn_owner(nip);
	return op ? (unsigned long)op->kp.addr : nip;
}

/* Map an address in a slot or detour to the probed instruction. */
static unsigned long kprobe_program_ip(unsigned long nip)
{
	return is_kprobe_insn_slot(nip) ? ip_of_boosted(nip) : ip_of_detour(nip);
}
NOKPROBE_SYMBOL(kprobe_program_ip);

/*
 * ___do_page_fault() has already offered these to kprobes. Hash faults that the hypervisor rejects
 * come straight from do_hash_fault().
 */
static nokprobe_inline bool is_page_fault(const struct pt_regs *regs)
{
	return TRAP(regs) == INTERRUPT_DATA_STORAGE || TRAP(regs) == INTERRUPT_INST_STORAGE;
}

/**
 * kprobe_bad_page_fault() - a fault that nothing has handled so far
 * @regs: state at the fault; the address of a copy in it becomes that of the probe
 *
 * This sees not only page faults, but also segment and alignment faults, and bus errors other
 * than machine checks.
 *
 * Context: the exception.
 * Return: true if a fault handler or a fixup has handled it: nip is where execution continues, and
 *	   a step has been abandoned unless it is to be repeated. Else a step has been abandoned,
 *	   nip is that of the program, and the exception table is to be searched.
 */
bool kprobe_bad_page_fault(struct pt_regs *regs)
{
	unsigned long nip;
	bool handled;

	if (user_mode(regs))
		return false;

	preempt_disable_notrace();
	handled = kprobe_running() && (!is_page_fault(regs) || kprobe_stepped_at(regs)) &&
		  kprobe_fault_handler(regs, TRAP(regs));
	preempt_enable_notrace();
	if (handled)
		return true;

	nip = kprobe_program_ip(regs->nip);
	if (nip != regs->nip)
		regs_set_return_ip(regs, nip);
	return false;
}
NOKPROBE_SYMBOL(kprobe_bad_page_fault);

/* The usual redirection is to the caller of the function, with the stack pointer unchanged. */
static nokprobe_inline bool goes_to_caller(const struct pt_regs *regs)
{
	unsigned long frame = (unsigned long)regs - STACK_INT_FRAME_REGS;

	return regs->nip == regs->link && regs->gpr[1] == frame + STACK_INT_FRAME_SIZE;
}

/* Does not return to the detour, so that detours need not test what it returns. */
int arch_leave_detour(struct optimized_kprobe *op, struct pt_regs *regs)
{
	kprobe_hit_leave();
	preempt_enable_notrace();
	arch_handlers_end(regs);
	kprobe_detour_leave(goes_to_caller(regs) ? KPROBE_DETOUR_RETURN : KPROBE_DETOUR_LEAVE,
			    regs);
}
NOKPROBE_SYMBOL(arch_leave_detour);

/* Where the head for return probes begins in each page of detours; see detour_head.S. */
static nokprobe_inline unsigned long offset_of_return_head(void)
{
	return KPROBE_HEAD_CODE + (unsigned long)kretprobe_head - (unsigned long)kprobe_head;
}

/**
 * kprobe_unwind_detour() - the probed instruction, if a return address is in a detour
 * @task: the task, for the limits of its stacks; it must not run on another CPU
 * @addr: the return address
 * @sp: the frame in which it is saved
 *
 * Only the head of a page of detours calls C code. Its frame has the registers, and their nip
 * is the address of the probe. The head for return probes first saves only some registers,
 * and nip is not among them. The return address may be a leftover of an earlier call, so the
 * frame is checked.
 *
 * Context: any.
 * Return: @addr, or the address of the probed instruction.
 */
unsigned long __no_sanitize_address kprobe_unwind_detour(struct task_struct *task,
							 unsigned long addr, unsigned long sp)
{
	const struct pt_regs *regs = (struct pt_regs *)(sp + STACK_INT_FRAME_REGS);
	bool inside;

	/* Pages of detours are freed a grace period after they have left the list. */
	preempt_disable_notrace();
	inside = kprobe_rcu_is_watching() && is_kprobe_optinsn_slot(addr);
	preempt_enable_notrace();

	if (likely(!inside) || offset_in_page(addr) >= offset_of_return_head() ||
	    !validate_sp_size(sp, task, STACK_INT_FRAME_SIZE) ||
	    *(unsigned long *)sp != sp + STACK_INT_FRAME_SIZE)
		return addr;

	return READ_ONCE(regs->nip);
}
NOKPROBE_SYMBOL(kprobe_unwind_detour);

#ifdef CONFIG_LIVEPATCH_64
/**
 * arch_kprobe_ftrace_redirect() - let a redirection to the caller end as a return
 * @regs: state at the ftrace site, which a handler has redirected
 *
 * ftrace_stub() is a bare blr. It returns to the caller, but through livepatch_handler, which
 * pops what it has pushed.
 *
 * Context: hit path.
 */
void arch_kprobe_ftrace_redirect(struct pt_regs *regs)
{
	if (regs->nip == regs->link)
		regs_set_return_ip(regs, ppc_function_entry(ftrace_stub));
}
NOKPROBE_SYMBOL(arch_kprobe_ftrace_redirect);
#elif defined(CONFIG_PPC_FTRACE_OUT_OF_LINE)
/**
 * arch_kprobe_ftrace_redirect() - keep the return address at a redirection
 * @regs: state at the ftrace site, which a handler has redirected
 *
 * LR holds the address of the redirection when ftrace branches there, and r0 the return address.
 * As a function begins, r12 is free, except that it may have to hold the address of the function.
 * A direct call of ftrace on the same site does not keep r12. It returns to LR, which is right
 * after a redirection to the caller, and only then.
 *
 * Context: hit path.
 */
void arch_kprobe_ftrace_redirect(struct pt_regs *regs)
{
	if (regs->nip == regs->link)
		return;

	regs->gpr[12] = regs->nip;
	regs_set_return_ip(regs, ppc_function_entry(kprobe_ftrace_redirected));
}
NOKPROBE_SYMBOL(arch_kprobe_ftrace_redirect);
#endif
