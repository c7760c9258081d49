// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of kprobes: find the site, call the handlers of its users, count
 * misses. Everything here runs in the exception of a breakpoint, in an ftrace
 * callback, in a detour, or in an NMI: no locks, no allocation, no printing, and
 * nothing that can itself be probed.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/rculist.h>

#include "hit.h"
#include "table.h"

DEFINE_PER_CPU(struct kprobe_fault_owner, kprobe_fault_owner);
#ifdef CONFIG_JPROBES
DEFINE_PER_CPU(struct jprobe_call *, jprobe_call);
#endif

static nokprobe_inline int call_pre(struct kprobe *p, struct pt_regs *regs)
{
	bool irqs_off;
	int ret;

	if (!p->pre_handler || kprobe_disabled(p))
		return 0;

	kprobe_own_faults(p);
	irqs_off = kprobe_irqs_are_off();
	ret = p->pre_handler(p, regs);
	kprobe_check_irqs(irqs_off, p->pre_handler);
	kprobe_disown_faults();
	return ret;
}

static nokprobe_inline void call_post(struct kprobe *p, struct pt_regs *regs)
{
	bool irqs_off;

	if (!p->post_handler || kprobe_disabled(p))
		return;

	kprobe_own_faults(p);
	irqs_off = kprobe_irqs_are_off();
	p->post_handler(p, regs, 0);
	kprobe_check_irqs(irqs_off, p->post_handler);
	kprobe_disown_faults();
}

/*
 * The users of a site. There is no RCU check: RCU watches where this is used, but
 * lockdep does not know that preemption is off throughout an exception.
 */
#define for_each_user(p, site) \
	list_for_each_entry_lockless(p, &(site)->users, list)

static void kprobe_count_miss_of_users(struct kprobe_site *site, bool watched)
{
	struct kprobe_rcu_state w = kprobe_rcu_enter();
	struct kprobe *p;

	for_each_user(p, site) {
		if (kprobe_disabled(p))
			continue;
		if (watched)
			kprobe_count_miss(p);
		else
			kprobe_count_unwatched(p);
	}
	kprobe_rcu_exit(w);
}
NOKPROBE_SYMBOL(kprobe_count_miss_of_users);

/* A constant where all sites are breakpoints. */
static nokprobe_inline bool is_breakpoint(struct kprobe_site *site)
{
	return (!IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) && !IS_ENABLED(CONFIG_OPTPROBES)) ||
	       site->kind == KPROBE_SITE_BREAKPOINT;
}

/*
 * Handlers may use RCU, and RCU frees their probes. Sites of ftrace and detours are
 * also hit where RCU does not watch. So are breakpoints on architectures whose
 * exception entry leaves RCU as it was.
 *
 * A return trampoline that is itself probed is exempt: without its handler it would
 * return to itself forever. The handler is part of the kernel and never freed.
 */
static nokprobe_inline bool may_call_users(struct kprobe_site *site)
{
	return (KPROBE_TRAP_IS_WATCHED && is_breakpoint(site)) ||
	       kprobe_rcu_is_watching() || site->trampoline;
}

/* The handlers of a site that has not just one user to call: see struct kprobe_head. */
int kprobe_site_pre_users(struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe *p;
	int ret;

	for_each_user(p, kprobe_to_site(kp)) {
		ret = call_pre(p, regs);
		if (ret)
			return ret;
	}

	return 0;
}
NOKPROBE_SYMBOL(kprobe_site_pre_users);

void kprobe_site_post_users(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct kprobe *p;

	for_each_user(p, kprobe_to_site(kp))
		call_post(p, regs);
}
NOKPROBE_SYMBOL(kprobe_site_post_users);

/*
 * A probe was hit where RCU does not watch. Its site does not depend on RCU at this moment. Returns
 * 0, as pre handlers do.
 */
noinline int kprobe_miss_unwatched(struct kprobe *kp)
{
	kprobe_count_miss_of_users(kprobe_to_site(kp), false);
	return 0;
}
NOKPROBE_SYMBOL(kprobe_miss_unwatched);

/**
 * kprobe_site_pre_handler() - kprobe_call_pre(), unless RCU does not watch
 * @kp: the probe of a site
 * @regs: state of the probed code
 *
 * Context: hit path.
 * Return: as kprobe_call_pre().
 */
int kprobe_site_pre_handler(struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe_site *site = kprobe_to_site(kp);
	struct kprobe *p;

	/* Only tail calls, so that no register has to be saved. */
	if (unlikely(!may_call_users(site)))
		return kprobe_miss_unwatched(kp);
	p = rcu_dereference_raw(site->head.callee);
	return unlikely(p == kp) ? kprobe_site_pre_users(kp, regs) : p->pre_handler(p, regs);
}
NOKPROBE_SYMBOL(kprobe_site_pre_handler);

/**
 * kprobe_site_post_handler() - kprobe_call_post(), unless RCU does not watch
 * @kp: the probe of a site
 * @regs: state after the probed instruction
 * @flags: 0 for all architectures
 *
 * Context: hit path.
 */
void kprobe_site_post_handler(struct kprobe *kp, struct pt_regs *regs,
			      unsigned long flags)
{
	struct kprobe_site *site = kprobe_to_site(kp);
	struct kprobe *p;

	if (unlikely(!may_call_users(site)))
		return;
	p = rcu_dereference_raw(site->head.callee);
	if (unlikely(p == kp))
		kprobe_site_post_users(kp, regs, flags);
	else if (p->post_handler)
		p->post_handler(p, regs, flags);
}
NOKPROBE_SYMBOL(kprobe_site_post_handler);

/*
 * The current probe while kprobe_busy_begin() keeps probes out. Backends may look
 * into it, so it is a probe like the others. It is never hit.
 */
static struct kprobe kprobe_busy = {
	.addr	= (void *)kprobe_busy_begin,
};

static nokprobe_inline int call_fault(struct kprobe *p, struct pt_regs *regs,
				      int trapnr)
{
	if (!p->fault_handler || kprobe_disabled(p))
		return 0;

	return p->fault_handler(p, regs, trapnr);
}

/**
 * kprobe_site_fault_handler() - offer a fault of the instruction to all users
 * @kp: the probe of a site, whose instruction is being executed
 * @regs: state at the fault
 * @trapnr: the architecture's number of it
 *
 * None is called where RCU does not watch.
 *
 * Context: hit path.
 * Return: 1 if one of them handled it, else 0.
 */
int kprobe_site_fault_handler(struct kprobe *kp, struct pt_regs *regs,
			      int trapnr)
{
	struct kprobe_site *site = kprobe_to_site(kp);
	struct kprobe *p;

	if (unlikely(!may_call_users(site)))
		return 0;

	for_each_user(p, site) {
		if (call_fault(p, regs, trapnr))
			return 1;
	}

	return 0;
}
NOKPROBE_SYMBOL(kprobe_site_fault_handler);

/**
 * kprobe_handler_fault() - offer a fault of a handler to its own probe
 * @regs: state at the fault
 * @trapnr: the architecture's number of it
 *
 * Faults of an interrupt of the handler are not offered, nor are those of the fault
 * handler itself.
 *
 * Context: any exception; there is a current probe.
 * Return: 1 if it handled the fault; 0 if not, or if no handler is running.
 */
int kprobe_handler_fault(struct pt_regs *regs, int trapnr)
{
	struct kprobe *p = __this_cpu_read(kprobe_fault_owner.user);
	int ret;

	if (!p || __this_cpu_read(kprobe_fault_owner.context) != kprobe_fault_context())
		return 0;

	__this_cpu_write(kprobe_fault_owner.user, NULL);
	ret = call_fault(p, regs, trapnr);
	__this_cpu_write(kprobe_fault_owner.user, p);
	return ret;
}
NOKPROBE_SYMBOL(kprobe_handler_fault);

/**
 * kprobes_inc_nmissed_count() - a hit could not call its handlers
 * @p: the probe that was hit while another one was running
 *
 * Charges every user that is enabled.
 *
 * Context: hit path.
 */
void kprobes_inc_nmissed_count(struct kprobe *p)
{
	if (likely(p->flags & KPROBE_FLAG_SITE))
		kprobe_count_miss_of_users(kprobe_to_site(p), true);
	else
		kprobe_count_miss(p);
}
NOKPROBE_SYMBOL(kprobes_inc_nmissed_count);

/* Depth of busy sections opened inside a hit or another section. */
static DEFINE_PER_CPU(unsigned int, busy_inside);

#ifdef KPROBE_MAX_NESTING
/*
 * Hits inside of others
 */

/**
 * kprobe_nesting_begin() - a hit begins inside another one
 * @p: its probe, which becomes the current one; kprobe_nesting_end() makes the outer one current
 *
 * An NMI that comes before the depth is counted saves the same to the same element. So whoever
 * walks the elements finds complete ones.
 *
 * Context: hit path, preemption off; there is a current probe.
 */
void kprobe_nesting_begin(struct kprobe *p)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();
	struct prev_kprobe *prev = &kcb->prev_kprobe[kcb->depth];

	if (unlikely(kcb->depth == KPROBE_MAX_NESTING)) {
		dump_kprobe(p);
		BUG();
	}

	prev->kp = kprobe_running();
	prev->context = __this_cpu_read(kprobe_current.context);
	prev->status = kcb->kprobe_status;
	prev->step = kcb->step;
	barrier();
	kcb->depth++;
	barrier();
	/* With this status, no step or fault is taken for one of the other probe. */
	WRITE_ONCE(kcb->kprobe_status, KPROBE_HIT_ACTIVE);
	barrier();
	__this_cpu_write(current_kprobe, p);
}
NOKPROBE_SYMBOL(kprobe_nesting_begin);

/**
 * kprobe_nesting_end() - that hit is over
 *
 * Context: as kprobe_nesting_begin().
 */
void kprobe_nesting_end(void)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();
	struct prev_kprobe *prev = &kcb->prev_kprobe[kcb->depth - 1];

	WRITE_ONCE(kcb->kprobe_status, KPROBE_HIT_ACTIVE);
	barrier();
	__this_cpu_write(kprobe_current.context, prev->context);
	__this_cpu_write(current_kprobe, prev->kp);
	kcb->step = prev->step;
	barrier();
	WRITE_ONCE(kcb->kprobe_status, prev->status);
	barrier();
	kcb->depth--;
}
NOKPROBE_SYMBOL(kprobe_nesting_end);

static nokprobe_inline bool is_reentrant(struct kprobe *p)
{
	return !kprobe_disabled(p) && READ_ONCE(p->flags) & KPROBE_FLAG_REENTRANT;
}

static nokprobe_inline bool has_reentrant_user(struct kprobe_site *site)
{
	struct kprobe *p;

	for_each_user(p, site) {
		if (is_reentrant(p))
			return true;
	}
	return false;
}

/* Has a softirq, an interrupt or an NMI come since the current hit has begun? */
static nokprobe_inline bool is_higher(unsigned int own)
{
	unsigned int outer = __this_cpu_read(kprobe_current.context);

	/* A step is not inside the exception any more. */
	if (__this_cpu_read(kprobe_ctlblk.kprobe_status) & KPROBE_HIT_SS)
		outer -= KPROBE_TRAP_CONTEXT;
	return ((preempt_count() - own) & KPROBE_CONTEXT) > (outer & KPROBE_CONTEXT);
}

/**
 * kprobe_nested_begin() - may a hit inside another one call handlers?
 * @kp: the probe of the site that was hit
 * @own: what the exception of this hit has added to preempt_count()
 *
 * Those of reentrant users are called if this context has interrupted the outer hit. If not, the
 * hit is counted as missed.
 *
 * Context: hit path, preemption off.
 * Return: true if @kp is the current probe now; then kprobe_nested_pre() is to be called, and
 *	   kprobe_nesting_end() at the end of the hit.
 */
bool kprobe_nested_begin(struct kprobe *kp, unsigned int own)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();

	/* The other half is for the steps of hits that are missed: these cannot be refused. */
	if (!is_higher(own) || __this_cpu_read(busy_inside) ||
	    kcb->depth > KPROBE_MAX_NESTING / 2 ||
	    !kprobe_rcu_is_watching() || !has_reentrant_user(kprobe_to_site(kp))) {
		kprobes_inc_nmissed_count(kp);
		return false;
	}

	kprobe_nesting_begin(kp);
	__this_cpu_write(kprobe_current.context, preempt_count());
	return true;
}
NOKPROBE_SYMBOL(kprobe_nested_begin);

/**
 * kprobe_nested_pre() - call the pre handlers of reentrant users
 * @kp: the probe of the site
 * @regs: state of the probed code
 *
 * For the others, the hit is counted as missed.
 *
 * Context: after kprobe_nested_begin().
 * Return: as kprobe_call_pre().
 */
int kprobe_nested_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe *p;
	bool irqs_off;
	int ret = 0;

	preempt_disable_notrace();
	for_each_user(p, kprobe_to_site(kp)) {
		if (!is_reentrant(p)) {
			if (!kprobe_disabled(p))
				kprobe_count_miss(p);
			continue;
		}
		if (!p->pre_handler)
			continue;
		irqs_off = kprobe_irqs_are_off();
		ret = p->pre_handler(p, regs);
		kprobe_check_irqs(irqs_off, p->pre_handler);
		if (ret)
			break;
	}
	preempt_enable_no_resched_notrace();
	return ret;
}
NOKPROBE_SYMBOL(kprobe_nested_pre);

/**
 * kprobe_nested_post() - call the post handlers of reentrant users
 * @kp: the probe of the site
 * @regs: state after the probed instruction
 *
 * Context: after kprobe_nested_pre().
 */
void kprobe_nested_post(struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe *p;

	preempt_disable_notrace();
	for_each_user(p, kprobe_to_site(kp)) {
		if (is_reentrant(p) && p->post_handler)
			p->post_handler(p, regs, 0);
	}
	preempt_enable_no_resched_notrace();
}
NOKPROBE_SYMBOL(kprobe_nested_post);
#endif

/**
 * kprobe_busy_begin() - keep probe handlers off this CPU
 *
 * Probes hit until kprobe_busy_end() only count a miss. Sections nest, also
 * in handlers and in NMI.
 *
 * Context: any; disables preemption.
 */
void kprobe_busy_begin(void)
{
	/* The tracing variant may call functions that have return probes. */
	preempt_disable_notrace();

	/*
	 * An NMI between the test and the first store closes every section that it
	 * opens, so it leaves the state as it found it.
	 */
	if (kprobe_running()) {
		__this_cpu_inc(busy_inside);
		return;
	}

	kprobe_hit_begin(kprobe_cpu_addr(current_kprobe), &kprobe_busy);
#ifdef KPROBE_MAX_NESTING
	__this_cpu_write(kprobe_current.context, KPROBE_CONTEXT_CLOSED);
#endif
}
NOKPROBE_SYMBOL(kprobe_busy_begin);

/**
 * kprobe_busy_end() - end of a section opened by kprobe_busy_begin()
 *
 * Context: any; enables preemption.
 */
void kprobe_busy_end(void)
{
	if (__this_cpu_read(busy_inside))
		__this_cpu_dec(busy_inside);
	else
		reset_current_kprobe();

	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(kprobe_busy_end);

/**
 * kprobe_abandon_hit() - the current task is killed after an oops, perhaps inside a hit
 *
 * A handler that oopses does not end its hit. Without this, all later hits on this CPU would be
 * missed, and faults of other tasks would go to the fault handler of the probe. The stale pointers
 * would outlive the probe and, for a jprobe, the stack of the task.
 *
 * Handlers do not sleep, so a hit on this CPU is that of the current task. An interrupt between the
 * stores sees a hit of the old probe or none, and undoes its changes.
 *
 * Context: any task, before preemption is enabled again.
 */
void kprobe_abandon_hit(void)
{
	preempt_disable_notrace();
	__this_cpu_write(kprobe_fault_owner.user, NULL);
	if (IS_ENABLED(CONFIG_JPROBES))
		__this_cpu_write(jprobe_call, NULL);
	__this_cpu_write(busy_inside, 0);
	__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_ACTIVE);
#ifdef KPROBE_MAX_NESTING
	__this_cpu_write(kprobe_ctlblk.depth, 0);
#endif
	/* Last, so that no hit in an interrupt begins with what this one has left. */
	barrier();
	reset_current_kprobe();
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(kprobe_abandon_hit);

/**
 * dump_kprobe() - print which probe it was, before the architecture gives up
 * @kp: the probe
 *
 * Context: any; the only function here that prints.
 */
void dump_kprobe(struct kprobe *kp)
{
	pr_err("probe at %pS (symbol %s, offset 0x%x)\n", kp->addr,
	       kp->symbol_name ?: "none", kp->offset);
}
NOKPROBE_SYMBOL(dump_kprobe);
