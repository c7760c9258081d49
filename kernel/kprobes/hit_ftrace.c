// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of probes at the sites of ftrace.
 */

#include <linux/ftrace.h>

#include "hit.h"
#include "hit_ftrace.h"

/*
 * Set while not every call of ftrace is to be handled: ftrace is broken, or a site
 * moves from one of the core's ops to another and is called by both.
 */
bool kprobe_ftrace_check_owner __read_mostly;

/* Do calls have to come from the owner of a site? Returns the old state. */
bool kprobe_ftrace_set_check(bool on)
{
	return xchg(&kprobe_ftrace_check_owner, on);
}

/* On this CPU, calls of a site that moves count through the ops with the claim. */
DEFINE_PER_CPU(bool, kprobe_ftrace_by_claim);

static noinline bool ops_owns_checked(struct kprobe *p, const struct ftrace_ops *ops)
{
	struct kprobe_site *site = kprobe_to_site(p);
	unsigned long owner;
	bool by_claim;

	if (kprobe_ftrace_disabled)
		return false;

	/*
	 * An interrupt can delay this until the move has ended and another has begun, to which the
	 * state of the CPU then belongs. So read the owner again.
	 */
	do {
		/* Pairs with smp_store_release() in kprobe_ftrace_change_owner(). */
		owner = (unsigned long)smp_load_acquire(&site->ftrace);
		by_claim = __this_cpu_read(kprobe_ftrace_by_claim);
		/* Pairs with smp_wmb() there. */
		smp_rmb();
	} while (owner != (unsigned long)READ_ONCE(site->ftrace));

	/* The shared ops is the one without a claim. */
	if ((owner & KPROBE_FTRACE_MOVES) && !by_claim)
		return !(ops->flags & FTRACE_OPS_FL_IPMODIFY);
	/* A struct kprobe_ftrace_ops begins with its ops. */
	return (owner & ~KPROBE_FTRACE_MOVES) == (unsigned long)ops;
}
NOKPROBE_SYMBOL(ops_owns_checked);

/* Does @ops own the site, so that its call is the one that counts? */
static nokprobe_inline bool ops_owns(struct kprobe *p, const struct ftrace_ops *ops)
{
	return likely(!READ_ONCE(kprobe_ftrace_check_owner)) || ops_owns_checked(p, ops);
}

/* A call of ftrace where RCU does not watch. */
static noinline void kprobe_ftrace_unwatched(unsigned long ip, const struct ftrace_ops *ops)
{
	struct kprobe_rcu_state state = kprobe_rcu_enter();
	struct kprobe *p = get_kprobe((void *)ip);

	if (p && ops_owns(p, ops)) {
		if (kprobe_running())
			kprobes_inc_nmissed_count(p);
		else
			kprobe_miss_unwatched(p);
	}
	kprobe_rcu_exit(state);
}
NOKPROBE_SYMBOL(kprobe_ftrace_unwatched);

#ifdef arch_kprobe_ftrace_regs
static nokprobe_inline void ftrace_hit(struct kprobe *p, struct pt_regs *regs, bool post,
				       bool nested)
{
	unsigned long ip = (unsigned long)p->addr, next = instruction_pointer(regs);

	/* Handlers see what they would see at a breakpoint. */
	instruction_pointer_set(regs, ip + KPROBE_FTRACE_IP);
	if (unlikely(nested ? kprobe_nested_pre(p, regs) : kprobe_call_pre(p, regs))) {
		arch_kprobe_ftrace_redirect(regs);
		return;
	}

	if (post) {
		instruction_pointer_set(regs, ip + MCOUNT_INSN_SIZE);
		__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_SSDONE);
		if (nested)
			kprobe_nested_post(p, regs);
		else
			kprobe_call_post(p, regs);
		__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_ACTIVE);
	}
	/* Livepatch may have set this to a function of its own. */
	instruction_pointer_set(regs, next);
}

static noinline void ftrace_nested(struct kprobe *p, struct pt_regs *regs)
{
	if (!kprobe_nested_begin(p, 0))
		return;
	ftrace_hit(p, regs, READ_ONCE(p->post_handler), true);
	kprobe_nesting_end();
}
NOKPROBE_SYMBOL(ftrace_nested);

/* @post: the site may have a post handler. */
static __always_inline void handle(unsigned long ip, struct ftrace_ops *ops,
				   struct ftrace_regs *fregs, bool post)
{
	struct pt_regs *regs = arch_kprobe_ftrace_regs(fregs);
	struct kprobe *p;

	preempt_disable_notrace();
	arch_handlers_begin(regs);

	/* Before the lookup: RCU frees tables and sites, too. */
	if (unlikely(!kprobe_rcu_is_watching())) {
		kprobe_ftrace_unwatched(ip, ops);
		goto out;
	}

	p = get_kprobe((void *)ip);
	if (unlikely(!p) || !ops_owns(p, ops))
		goto out;

	/* Handlers may call traced functions. The gate protects them against recursion. */
	if (likely(kprobe_hit_enter(kprobe_cpu_addr(current_kprobe), p))) {
		ftrace_hit(p, regs, post && READ_ONCE(p->post_handler), false);
		reset_current_kprobe();
	} else {
		ftrace_nested(p, regs);
	}
out:
	preempt_enable_notrace();
	arch_handlers_end(regs);
}

/* The callback of the shared ops, whose sites have no post handler. */
void kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
			   struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	handle(ip, ops, fregs, false);
}
NOKPROBE_SYMBOL(kprobe_ftrace_handler);

/* The callback of ops that have claimed their functions. */
void kprobe_ftrace_claimed_handler(unsigned long ip, unsigned long parent_ip,
				   struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	handle(ip, ops, fregs, true);
}
NOKPROBE_SYMBOL(kprobe_ftrace_claimed_handler);
#else
/*
 * Here the handlers of architectures look the probe up themselves. Where RCU does not watch, the
 * probe could be freed before they are done, so they are not called there.
 */
static nokprobe_inline bool is_handled(unsigned long ip, const struct ftrace_ops *ops)
{
	struct kprobe *p;

	guard(preempt_notrace)();

	if (unlikely(!kprobe_rcu_is_watching())) {
		kprobe_ftrace_unwatched(ip, ops);
		return false;
	}
	if (likely(!READ_ONCE(kprobe_ftrace_check_owner)))
		return true;

	p = get_kprobe((void *)ip);
	return p && ops_owns(p, ops);
}

/* The callback of all ops of the core. */
void kprobe_ftrace_entry(unsigned long ip, unsigned long parent_ip,
			 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	if (likely(is_handled(ip, ops)))
		kprobe_ftrace_handler(ip, parent_ip, ops, fregs);
}
NOKPROBE_SYMBOL(kprobe_ftrace_entry);
#endif
