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
 * @step: what the architecture saved for its step
 */
struct prev_kprobe {
	struct kprobe			*kp;
	unsigned long			status;
	struct arch_kprobe_step		step;
};

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
#endif

DECLARE_PER_CPU(struct kprobe *, current_kprobe);
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
static nokprobe_inline bool kprobe_rcu_is_watching(void)
{
	return true;
}
#endif

/*
 * Sites
 */

/**
 * struct kprobe_head - what hit paths see of a site
 * @kp: the probe of the site
 * @op: the same probe with its detour
 * @sole: the one enabled user, if it has a pre handler and no fault handler
 * @plain_return: the same user, if it is a return probe without an entry handler
 */
struct kprobe_head {
	union {
		struct kprobe		kp;
#ifdef CONFIG_OPTPROBES
		struct optimized_kprobe	op;
#endif
	};
	struct kprobe __rcu	*sole;
#ifdef CONFIG_KRETPROBE_NATIVE
	struct kretprobe __rcu	*plain_return;
#endif
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
	struct kprobe_head *head = kprobe_table_find((unsigned long)addr);

	return head ? &head->kp : NULL;
}

#ifdef __ARCH_WANT_KPROBES_COPY
/**
 * kprobe_is_boosted() - does the copy of an instruction return to the program by itself?
 * @p: the probe of a site
 *
 * Its end and its faults could not be reported: the instruction of a probe with a post handler or
 * a fault handler is emulated or stepped.
 *
 * Context: any.
 * Return: true if hits continue in that copy.
 */
static nokprobe_inline bool kprobe_is_boosted(const struct kprobe *p)
{
	return p->ainsn.boost && !READ_ONCE(p->post_handler) &&
	       !READ_ONCE(p->fault_handler);
}
#endif

/* Handlers of a site's probe; documented at their definitions. */
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

	/* Lockdep kernels check what handlers do to interrupts. */
	if (unlikely(!p) || IS_ENABLED(CONFIG_PROVE_LOCKING))
		return kprobe_site_pre_handler(kp, regs);

	return p->pre_handler(p, regs);
}

/**
 * kprobe_call_post() - kprobe_site_post_handler(), with the usual case inline
 * @kp: the probe of a site
 * @regs: state after the probed instruction
 *
 * Context: hit path, where RCU watches.
 */
static nokprobe_inline void kprobe_call_post(struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe_head *head = container_of(kp, struct kprobe_head, kp);
	struct kprobe *p = rcu_dereference_raw(head->sole);

	if (unlikely(!p) || IS_ENABLED(CONFIG_PROVE_LOCKING))
		kprobe_site_post_handler(kp, regs, 0);
	else if (likely(p->post_handler))
		p->post_handler(p, regs, 0);
}

void kprobes_inc_nmissed_count(struct kprobe *p);
void kprobe_miss_unwatched(struct kprobe *kp);
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

/**
 * kprobe_hit_begin_inside() - a probe becomes the current probe, perhaps inside an outer hit
 * @p: the probe
 *
 * The status is stored first, so that an interrupt never sees @p with the status of another
 * hit, which backends would take for a step of @p. It may see the outer probe, if any, with
 * KPROBE_HIT_ACTIVE, which is always safe: no step or fault is to end that hit now.
 *
 * Backends without KPROBE_MAX_NESTING do not reset the status after a step. With them, a
 * hit in an interrupt between the first two stores changes the status again: hence the third
 * store. One case remains: another interrupt before that store sees it.
 *
 * Context: hit path, preemption off.
 */
static nokprobe_inline void kprobe_hit_begin_inside(struct kprobe *p)
{
	__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_ACTIVE);
	/* The barriers order against interrupts and NMIs of this CPU only. */
	barrier();
	__this_cpu_write(current_kprobe, p);
#ifndef KPROBE_MAX_NESTING
	barrier();
	__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_ACTIVE);
#endif
}

/**
 * kprobe_hit_begin_at() - a probe becomes the current probe, outside of any other hit
 * @running: address of current_kprobe on this CPU
 * @p: the probe
 *
 * With KPROBE_MAX_NESTING, the status is KPROBE_HIT_ACTIVE whenever there is no current
 * probe: a hit that changes the status restores it, or ends with kprobe_hit_leave_changed().
 *
 * Context: hit path, preemption off.
 */
static nokprobe_inline void kprobe_hit_begin_at(struct kprobe *__kprobe_cpu *running,
						struct kprobe *p)
{
#ifdef KPROBE_MAX_NESTING
	kprobe_cpu_write(running, p);
#else
	kprobe_hit_begin_inside(p);
#endif
}

/**
 * kprobe_hit_begin() - kprobe_hit_begin_at(), where the address is not needed later
 * @p: the probe
 *
 * Context: as kprobe_hit_begin_at().
 */
static nokprobe_inline void kprobe_hit_begin(struct kprobe *p)
{
	kprobe_hit_begin_at(kprobe_cpu_addr(current_kprobe), p);
}

/**
 * kprobe_hit_leave() - end a hit, which the gate or kprobe_hit_begin() has begun
 *
 * Context: hit path, preemption off.
 */
static nokprobe_inline void kprobe_hit_leave(void)
{
	reset_current_kprobe();
}

/**
 * kprobe_hit_leave_changed() - end a hit whose status was changed
 *
 * An interrupt between the two stores sees the probe with KPROBE_HIT_ACTIVE, which is safe.
 *
 * Context: hit path, preemption off.
 */
static nokprobe_inline void kprobe_hit_leave_changed(void)
{
	__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_ACTIVE);
	barrier();
	kprobe_hit_leave();
}

/**
 * kprobe_hit_enter() - the gate: may this hit call handlers?
 * @p: the probe of the site that was hit
 *
 * Not inside another hit: that is counted as missed. Whether RCU watches is the
 * caller's to judge. A breakpoint has to execute the instruction in any case, so
 * where its exception does not make RCU watch, kprobe_site_pre_handler() judges.
 * ftrace has judged before it looked @p up.
 *
 * Context: hit path, preemption off.
 * Return: true if @p is the current probe now, handlers are to be called, and
 *	   kprobe_hit_leave() or kprobe_hit_leave_changed() after them.
 */
static nokprobe_inline bool kprobe_hit_enter(struct kprobe *p)
{
	if (unlikely(kprobe_running())) {
		kprobes_inc_nmissed_count(p);
		return false;
	}

	kprobe_hit_begin(p);
	return true;
}

/**
 * kprobe_hit_enter_detour() - the gate of detours, which need no lookup
 * @running: address of current_kprobe on this CPU
 * @p: the probe of the site, which outlives every task in its detour without RCU
 *
 * As kprobe_hit_enter(). A hit where RCU does not watch is missed, too.
 *
 * Context: hit path, preemption off.
 * Return: as kprobe_hit_enter().
 */
static nokprobe_inline bool kprobe_hit_enter_detour(struct kprobe *__kprobe_cpu *running,
						    struct kprobe *p)
{
	if (unlikely(!kprobe_rcu_is_watching()) && !kprobe_cpu_read(running)) {
		kprobe_miss_unwatched(p);
		return false;
	}
	if (unlikely(kprobe_cpu_read(running))) {
		kprobes_inc_nmissed_count(p);
		return false;
	}

	kprobe_hit_begin_at(running, p);
	return true;
}

#ifdef KPROBE_MAX_NESTING
/**
 * kprobe_nesting_begin() - a hit inside another one is about to be stepped
 * @p: the probe that was hit
 *
 * Saves the outer hit and makes @p current. The depth is counted first here, and
 * last in kprobe_nesting_end(): an NMI in between uses the element above.
 *
 * Context: hit path, preemption off, interrupts off.
 */
static nokprobe_inline void kprobe_nesting_begin(struct kprobe *p)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();
	struct prev_kprobe *prev = &kcb->prev_kprobe[kcb->depth];

	if (unlikely(kcb->depth == KPROBE_MAX_NESTING)) {
		dump_kprobe(p);
		BUG();
	}

	kcb->depth++;
	barrier();
	prev->kp = kprobe_running();
	prev->status = kcb->kprobe_status;
	prev->step = kcb->step;
	__this_cpu_write(current_kprobe, p);
}

/**
 * kprobe_nesting_end() - the inner hit is over, the outer one continues
 *
 * Context: as kprobe_nesting_begin().
 */
static nokprobe_inline void kprobe_nesting_end(void)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();
	struct prev_kprobe *prev = &kcb->prev_kprobe[kcb->depth - 1];

	kcb->kprobe_status = prev->status;
	kcb->step = prev->step;
	__this_cpu_write(current_kprobe, prev->kp);
	barrier();
	kcb->depth--;
}
#endif

#endif /* _LINUX_KPROBES_HIT_H */
