/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What hit paths use: the table of sites, the current probe, the gate that every
 * hit passes, and the handlers of a site.
 *
 * For the hit paths of architectures and of the core; kernel/kprobes/hit.h has what only
 * the core needs. Included by <linux/kprobes-arch.h>.
 *
 * Everything here runs with preemption off in the exception of a breakpoint, in an
 * ftrace callback, in a detour, or in an NMI in the middle of these. Nothing here may be
 * probed or instrumented.
 */
#ifndef _LINUX_KPROBES_HIT_H
#define _LINUX_KPROBES_HIT_H

#include <linux/context_tracking_state.h>
#include <linux/kprobes-table.h>
#include <linux/preempt.h>

/* Values of kprobe_ctlblk.kprobe_status. */
#define KPROBE_HIT_ACTIVE	0x01
#define KPROBE_HIT_SS		0x02
#define KPROBE_REENTER		0x04
#define KPROBE_HIT_SSDONE	0x08

#ifdef KPROBE_MAX_NESTING
/**
 * struct prev_kprobe - a hit that another one interrupted
 * @kp: its probe
 * @status: its status
 * @context: its context, as in struct kprobe_current
 * @step: what the architecture saved for its step
 */
struct prev_kprobe {
	struct kprobe			*kp;
	unsigned long			status;
	unsigned int			context;
	struct arch_kprobe_step		step;
};

/**
 * struct kprobe_current - the probe whose handlers or instruction run on this CPU
 * @kp: the probe, or NULL; current_kprobe
 * @context: while it is not NULL, KPROBE_CONTEXT of preempt_count() when the hit began, or
 *	     KPROBE_CONTEXT_CLOSED
 */
struct kprobe_current {
	struct kprobe			*kp;
	unsigned int			context;
};

/*
 * A softirq, an interrupt and an NMI each increase this part of preempt_count(): NMIs count as
 * interrupts, too. So does the exception of a breakpoint where KPROBE_TRAP_CONTEXT says so.
 */
#define KPROBE_CONTEXT			(HARDIRQ_MASK | SOFTIRQ_OFFSET)

/* In kprobe.flags: hits of the probe continue in its boosted copy. */
#define KPROBE_FLAG_BOOSTED		BIT(27)

/* No handler is to be called inside of this hit. */
#define KPROBE_CONTEXT_CLOSED		UINT_MAX

#ifndef KPROBE_TRAP_CONTEXT
#define KPROBE_TRAP_CONTEXT		0
#endif

/**
 * struct kprobe_ctlblk - the hit on this CPU
 * @kprobe_status: KPROBE_HIT_*; KPROBE_HIT_ACTIVE while there is no current_kprobe
 * @step: what the architecture saves while an instruction is stepped
 * @depth: how many hits are interrupted
 * @prev_kprobe: those hits, outermost first
 */
struct kprobe_ctlblk {
	unsigned long			kprobe_status;
	struct arch_kprobe_step		step;
	unsigned int			depth;
	struct prev_kprobe		prev_kprobe[KPROBE_MAX_NESTING];
};

/*
 * A boosted copy returns to the program by itself, so neither its end nor its faults can be
 * reported to handlers. For hits, KPROBE_FLAG_BOOSTED has the answer.
 */
static nokprobe_inline bool kprobe_is_boosted(const struct kprobe *p)
{
	return p->ainsn.boost && !p->post_handler && !p->fault_handler;
}

DECLARE_PER_CPU(struct kprobe_current, kprobe_current);
#define current_kprobe	kprobe_current.kp
#else
DECLARE_PER_CPU(struct kprobe *, current_kprobe);
#endif

DECLARE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);

/**
 * kprobe_rcu_is_watching() - may structures of users be touched?
 *
 * As rcu_is_watching(), but not a function that could itself be probed.
 *
 * Context: hit path, preemption off.
 * Return: true if RCU watches this CPU.
 */
#ifdef CONFIG_CONTEXT_TRACKING_IDLE
static nokprobe_inline bool kprobe_rcu_is_watching(void)
{
	return __this_cpu_read(context_tracking.state.counter) & CT_RCU_WATCHING;
}
#else
static nokprobe_inline bool kprobe_rcu_is_watching(void) { return true; }
#endif

/*
 * Sites
 */

/**
 * struct kprobe_head - what hit paths see of a site
 * @callee: the probe whose handlers a hit calls: the one enabled user, if it has a pre handler and
 *	    no fault handler; otherwise @kp, whose handlers call those of all users
 * @only_return: that user, if it is a return probe without an entry handler
 * @kp: the probe of the site
 * @op: the same probe with its detour; only @kp is there at a site of ftrace
 */
struct kprobe_head {
	struct kprobe __rcu	*callee;
#ifdef CONFIG_KRETPROBE_NATIVE
	struct kretprobe __rcu	*only_return;
#endif
	union {
		struct kprobe		kp;
#ifdef CONFIG_OPTPROBES
		struct optimized_kprobe	op;
#endif
	};
};

/**
 * get_kprobe() - find the probe at an address
 * @addr: the address
 *
 * Context: any, also NMI; preemption off, or kprobe_mutex held.
 * Return: the core's probe there, also when it is disabled; else NULL.
 */
static nokprobe_inline struct kprobe *get_kprobe(void *addr)
{
	return kprobe_table_find((unsigned long)addr);
}

/* Handlers of a site's probe; documented at their definitions. */
int kprobe_site_pre_handler(struct kprobe *kp, struct pt_regs *regs);
void kprobe_site_post_handler(struct kprobe *kp, struct pt_regs *regs,
			      unsigned long flags);
int kprobe_site_fault_handler(struct kprobe *kp, struct pt_regs *regs,
			      int trapnr);
int kprobe_handler_fault(struct pt_regs *regs, int trapnr);

/**
 * kprobe_call_pre() - call the pre handlers of all users
 * @kp: the probe of a site
 * @regs: state of the probed code
 *
 * The newest user comes first. The first handler that returns non-zero is the last
 * to be called.
 *
 * Context: hit path, where RCU watches.
 * Return: the value returned by the last handler that was called.
 */
static nokprobe_inline int kprobe_call_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe_head *head = container_of(kp, struct kprobe_head, kp);
	struct kprobe *p = rcu_dereference_raw(head->callee);

	return p->pre_handler(p, regs);
}

/**
 * kprobe_call_post() - call the post handlers of all users
 * @kp: the probe of a site
 * @regs: state after the probed instruction
 *
 * Context: hit path, where RCU watches.
 */
static nokprobe_inline void kprobe_call_post(struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe_head *head = container_of(kp, struct kprobe_head, kp);
	struct kprobe *p = rcu_dereference_raw(head->callee);

	if (likely(p->post_handler))
		p->post_handler(p, regs, 0);
}

void kprobes_inc_nmissed_count(struct kprobe *p);
void dump_kprobe(struct kprobe *p);

/*
 * The current hit
 */

/*
 * kprobe_cpu_addr() gives the address of a variable of this CPU, for kprobe_cpu_read() and
 * kprobe_cpu_write(). Most architectures would compute it again after each store.
 * kprobe_cpu_kept() is for an address that is needed after a handler: a base and an offset
 * would occupy two registers. Where one instruction accesses such a variable
 * (KPROBE_CPU_DIRECT), it is only named. __kprobe_cpu says what kind of address it is.
 */
#ifdef KPROBE_CPU_DIRECT
#define __kprobe_cpu			__percpu
#define kprobe_cpu_addr(var)		(&(var))
#define kprobe_cpu_kept(var)		(&(var))
#define kprobe_cpu_read(addr)		__this_cpu_read(*(addr))
#define kprobe_cpu_write(addr, value)	__this_cpu_write(*(addr), value)
#else
#define __kprobe_cpu
#define kprobe_cpu_addr(var)		raw_cpu_ptr(&(var))
#define kprobe_cpu_kept(var)							\
({										\
	__auto_type __addr = kprobe_cpu_addr(var);				\
										\
	OPTIMIZER_HIDE_VAR(__addr);						\
	__addr;									\
})
#define kprobe_cpu_read(addr)		READ_ONCE(*(addr))
#define kprobe_cpu_write(addr, value)	WRITE_ONCE(*(addr), value)
#endif

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

#ifdef KPROBE_MAX_NESTING
static_assert(offsetof(struct kprobe_current, context) == sizeof(struct kprobe *));

/* The context that belongs to a probe in struct kprobe_current. */
static nokprobe_inline unsigned int __kprobe_cpu *
kprobe_context_of(struct kprobe *__kprobe_cpu *running)
{
	return (unsigned int __kprobe_cpu *)(running + 1);
}

bool kprobe_nested_begin(struct kprobe *kp, unsigned int own);
int kprobe_nested_pre(struct kprobe *kp, struct pt_regs *regs);
void kprobe_nested_post(struct kprobe *kp, struct pt_regs *regs);
void kprobe_nesting_begin(struct kprobe *p);
void kprobe_nesting_end(void);

/**
 * kprobe_hit_leave() - reset_current_kprobe(), where the hit may be inside another one
 *
 * Context: the end of a hit whose handlers have been called.
 */
static nokprobe_inline void kprobe_hit_leave(void)
{
	if (unlikely(__this_cpu_read(kprobe_ctlblk.depth)))
		kprobe_nesting_end();
	else
		reset_current_kprobe();
}
#endif

/**
 * kprobe_hit_begin() - a probe becomes the current probe
 * @running: address of current_kprobe on this CPU
 * @p: the probe
 *
 * The status has to be KPROBE_HIT_ACTIVE, so that an interrupt never takes @p for a probe that is
 * being stepped. With KPROBE_MAX_NESTING, it is while there is no current probe.
 *
 * Backends without KPROBE_MAX_NESTING do not reset the status after a step. With them, a
 * hit in an interrupt between the first two stores changes the status again: hence the third
 * store. One case remains: another interrupt before that store sees it.
 *
 * Context: hit path, preemption off.
 */
static nokprobe_inline void kprobe_hit_begin(struct kprobe *__kprobe_cpu *running,
					     struct kprobe *p)
{
#ifdef KPROBE_MAX_NESTING
	kprobe_cpu_write(running, p);
	/*
	 * In this order, an interrupt in between may see an old context, and may count a hit as
	 * missed. In the other order, a hit in it would leave its own context.
	 */
	barrier();
	kprobe_cpu_write(kprobe_context_of(running), preempt_count());
#else
	__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_ACTIVE);
	/* The barriers order against interrupts and NMIs of this CPU only. */
	barrier();
	kprobe_cpu_write(running, p);
	barrier();
	__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_ACTIVE);
#endif
}

/**
 * kprobe_hit_enter() - the gate: may this hit call handlers?
 * @running: address of current_kprobe on this CPU
 * @p: the probe of the site that was hit
 *
 * Not inside another hit: see kprobe_nested_begin(). Whether RCU watches is the
 * caller's to judge. A breakpoint has to execute the instruction in any case, so
 * where its exception does not make RCU watch, kprobe_site_pre_handler() judges.
 * ftrace has judged before it looked @p up.
 *
 * Context: hit path, preemption off.
 * Return: true if @p is the current probe now, handlers are to be called, and
 *	   reset_current_kprobe() after them. False if there is a current probe.
 */
static nokprobe_inline bool kprobe_hit_enter(struct kprobe *__kprobe_cpu *running,
					     struct kprobe *p)
{
	if (unlikely(kprobe_cpu_read(running)))
		return false;

	kprobe_hit_begin(running, p);
	return true;
}

#endif /* _LINUX_KPROBES_HIT_H */
