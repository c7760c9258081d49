// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of jprobes: call the user's function, and leave it again from any depth.
 *
 * The pre handler calls the function, and jprobe_return() unwinds the stack to that call. The
 * frames in between never end, so what they have begun is ended here: what the task and the CPU
 * count, and what hooks of their returns have recorded. Calls do not nest: jprobes are not
 * reentrant.
 */

#include <linux/debug_locks.h>
#include <linux/export.h>
#include <linux/ftrace.h>
#include <linux/kasan.h>
#include <linux/lockdep.h>
#include <linux/rethook.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include "hit.h"

/*
 * What functions change for a while, and change back at their end. No instances of return probes:
 * inside a hit, they hook no call, except in an interrupt, which returns.
 */
struct jprobe_state {
	int		preempt;	/* preempt_count() */
	unsigned long	softirqs;	/* how often softirqs were disabled */
	bool		irqs_off;
	int		locks;		/* how many lockdep knows to be held */
	int		rcu;		/* how often RCU was locked */
	int		pagefaults;	/* how often page faults were disabled */
	int		pinned;		/* how often migration was disabled */
	unsigned long	recursion;	/* contexts in which the task is in a callback of ftrace */
};

/* How many returns were hooked. */
struct jprobe_hooks {
	struct llist_node	*rethook;	/* the newest call that rethook follows */
	int			graph;		/* used words of the stack of graph tracers */
	int			depth;		/* their depth */
};

/* A call of a user's function. */
struct jprobe_call {
	struct kprobe		*p;		/* its probe */
	struct kprobe		*running;	/* the current probe, which is that of the site */
	/*
	 * What the architecture needs to return to the call. A lower address belongs to the
	 * function, or to what it calls.
	 */
	void			*frame;
	unsigned int		context;	/* in which the function runs */
	struct jprobe_state	state;		/* at the call */
	struct jprobe_hooks	hooks;		/* at the call */
	bool			left;		/* by jprobe_return() */
};

#ifdef CONFIG_TRACING
static nokprobe_inline unsigned long ftrace_recursion(void)
{
	return current->trace_recursion;
}
#else
static nokprobe_inline unsigned long ftrace_recursion(void) { return 0; }
#endif

static nokprobe_inline int pinned(void)
{
	return current->migration_disabled;
}

#ifdef CONFIG_LOCKDEP
static nokprobe_inline int held_locks(void)
{
	return current->lockdep_depth;
}

/* In NMI, lockdep ignores this, but also the locks that were taken. */
static void release_locks(int end)
{
	int depth;

	for (depth = held_locks(); depth > end; depth = held_locks()) {
		struct held_lock *last = &current->held_locks[depth - 1];
		unsigned int nested = last->references;

		lock_release(last->instance, _THIS_IP_);
		/* lockdep may have switched itself off. */
		if (held_locks() == depth && last->references == nested)
			break;
	}
}
#else
static nokprobe_inline int held_locks(void) { return 0; }

static void release_locks(int end)
{
}
#endif

static nokprobe_inline struct jprobe_state jprobe_state(void)
{
	return (struct jprobe_state) {
		.preempt	= preempt_count(),
		.softirqs	= softirq_count(),
		.irqs_off	= raw_irqs_disabled(),
		.locks		= held_locks(),
		.rcu		= rcu_preempt_depth(),
		.pagefaults	= current->pagefault_disabled,
		.pinned		= pinned(),
		.recursion	= ftrace_recursion(),
	};
}

static nokprobe_inline bool is_same(const struct jprobe_state *a, const struct jprobe_state *b)
{
	return a->preempt == b->preempt && a->softirqs == b->softirqs &&
	       a->irqs_off == b->irqs_off && a->rcu == b->rcu &&
	       a->pagefaults == b->pagefaults && a->pinned == b->pinned &&
	       /* lockdep no longer counts after it has switched itself off. */
	       (a->locks == b->locks || !debug_locks);
}

/* preempt_count_set() does not tell lockdep. */
static void softirqs_are_on(void)
{
	unsigned long flags;

	raw_local_irq_save(flags);
	lockdep_softirqs_on(_THIS_IP_);
	raw_local_irq_restore(flags);
}

/*
 * Locks themselves stay locked: what they protect may have been left in any state. With
 * PREEMPT_RT, softirqs stay disabled: they are a lock there.
 */
static noinline void jprobe_put_right(const struct jprobe_call *call,
				      const struct jprobe_state *now)
{
	const struct jprobe_state *was = &call->state;

	release_locks(was->locks);
	while (rcu_preempt_depth() > was->rcu)
		__rcu_read_unlock();
	current->pagefault_disabled = was->pagefaults;
	/* The task was not switched away, so this takes no lock. */
	while (pinned() > was->pinned)
		migrate_enable();

	/*
	 * First, as an interrupt must not find preemption on in a hit. Some architectures take an
	 * unsigned long: do not extend the sign.
	 */
	preempt_count_set((u32)was->preempt);
	if (now->irqs_off && !was->irqs_off)
		local_irq_enable();
	else if (!now->irqs_off && was->irqs_off)
		local_irq_disable();

	if (now->softirqs && !was->softirqs && !IS_ENABLED(CONFIG_PREEMPT_RT))
		softirqs_are_on();

	WARN_ONCE(1, "kprobes: handler %ps of a jprobe changed the state: preemption %+d, softirqs %+ld, interrupts %s, locks %+d, RCU %+d, page faults %+d, migration %+d\n",
		  container_of(call->p, struct jprobe, kp)->entry,
		  now->preempt - was->preempt, (long)(now->softirqs - was->softirqs),
		  now->irqs_off == was->irqs_off ? "same" : now->irqs_off ? "off" : "on",
		  now->locks - was->locks, now->rcu - was->rcu,
		  now->pagefaults - was->pagefaults, now->pinned - was->pinned);
}
NOKPROBE_SYMBOL(jprobe_put_right);

#ifdef CONFIG_RETHOOK
static nokprobe_inline struct llist_node *newest_rethook(void)
{
	return current->rethooks.first;
}

/* Interrupts may use the list, but restore it. */
static noinline void forget_rethooks(struct llist_node *end)
{
	struct llist_head *hooks = &current->rethooks;
	struct llist_node *node;

	for (node = hooks->first; node && node != end; node = hooks->first) {
		WRITE_ONCE(hooks->first, node->next);
		rethook_recycle(container_of(node, struct rethook_node, llist));
	}
}
NOKPROBE_SYMBOL(forget_rethooks);
#else
static nokprobe_inline struct llist_node *newest_rethook(void) { return NULL; }
static nokprobe_inline void forget_rethooks(struct llist_node *end) { }
#endif

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
static nokprobe_inline struct jprobe_hooks jprobe_hooks(void)
{
	return (struct jprobe_hooks) {
		.rethook	= newest_rethook(),
		.graph		= current->curr_ret_stack,
		.depth		= current->curr_ret_depth,
	};
}

/* There is nothing newer, unless the handler has ended the pause of graph tracing. */
static nokprobe_inline void forget_graph(const struct jprobe_hooks *hooks)
{
	if (unlikely(current->curr_ret_stack > hooks->graph)) {
		WRITE_ONCE(current->curr_ret_stack, hooks->graph);
		current->curr_ret_depth = hooks->depth;
	}
}
#else
static nokprobe_inline struct jprobe_hooks jprobe_hooks(void)
{
	return (struct jprobe_hooks) {
		.rethook	= newest_rethook(),
	};
}

static nokprobe_inline void forget_graph(const struct jprobe_hooks *hooks) { }
#endif

/* Until this is done, unwinders pass over the hooks: no frame on the stack is theirs. */
static nokprobe_inline void forget_hooks(const struct jprobe_hooks *hooks)
{
	if (unlikely(newest_rethook() != hooks->rethook))
		forget_rethooks(hooks->rethook);
	forget_graph(hooks);
}

int jprobe_pre_handler(struct kprobe *p, struct pt_regs *regs)
{
	struct jprobe *jp = container_of(p, struct jprobe, kp);
	struct jprobe_call call = {
		.p		= p,
		.running	= kprobe_running(),
		.context	= kprobe_fault_context(),
		.state		= jprobe_state(),
	};
	struct jprobe_state now;

	/* A graph tracer may keep more per task than its stack. */
	pause_graph_tracing();
	call.hooks = jprobe_hooks();

	__this_cpu_write(jprobe_call, &call);
	arch_jprobe_call(jp->entry, regs, &call.frame);
	/* The function may have left preemption in another state. */
	raw_cpu_write(jprobe_call, NULL);

	forget_hooks(&call.hooks);
	unpause_graph_tracing();
	now = jprobe_state();
	if (unlikely(!is_same(&now, &call.state)))
		jprobe_put_right(&call, &now);

	WARN_ONCE(!READ_ONCE(call.left),
		  "kprobes: handler %ps of a jprobe returned without jprobe_return()\n",
		  jp->entry);
	return 0;
}
NOKPROBE_SYMBOL(jprobe_pre_handler);

/*
 * Does the caller run because the handler of this jprobe has called it? It may instead be an
 * interrupt of the handler, a callback of ftrace, a handler of another probe, or the fault
 * handler of this one: these may not be left before they end.
 */
static nokprobe_inline bool is_inside(const struct jprobe_call *call, unsigned long sp)
{
	if (!call || call->context != kprobe_fault_context() ||
	    call->running != kprobe_running() || call->state.recursion != ftrace_recursion())
		return false;
	if (call->p->fault_handler && __this_cpu_read(kprobe_fault_owner.user) != call->p)
		return false;

	return sp < (unsigned long)call->frame && (unsigned long)call->frame - sp < THREAD_SIZE;
}

bool jprobe_may_return(void)
{
	return is_inside(raw_cpu_read(jprobe_call),
			 (unsigned long)__builtin_frame_address(0));
}
NOKPROBE_SYMBOL(jprobe_may_return);

/* The compiler marks the bounds of variables in frames, and clears the marks at their end. */
static nokprobe_inline void unpoison_frames(unsigned long sp, unsigned long end)
{
	sp = ALIGN_DOWN(sp, sizeof(u64));
	if (IS_ENABLED(CONFIG_KASAN_STACK))
		kasan_unpoison_range((void *)sp, ALIGN(end, sizeof(u64)) - sp);
}

/**
 * jprobe_return() - end the handler of a jprobe
 *
 * May be called by the handler, or by a function that it calls, at any depth. Does not
 * return to its caller: the probed function continues with its own arguments.
 *
 * What the functions in between would do before they return is not done. The preemption
 * count and the state of interrupts are restored, with a warning. Locks stay locked, and
 * memory allocated.
 *
 * Context: the handler. Anywhere else, and in whatever interrupts the handler, it is a
 *	    BUG().
 */
void jprobe_return(void)
{
	unsigned long sp = (unsigned long)__builtin_frame_address(0);
	struct jprobe_call *call;

	BUG_ON(!jprobe_may_return());

	call = __this_cpu_read(jprobe_call);
	WRITE_ONCE(call->left, true);
	/* Before something else uses that part of the stack. */
	unpoison_frames(sp, (unsigned long)call->frame);
	arch_jprobe_unwind(call->frame);
}
EXPORT_SYMBOL_GPL(jprobe_return);
NOKPROBE_SYMBOL(jprobe_return);
