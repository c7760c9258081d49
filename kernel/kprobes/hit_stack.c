// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of return probes on architectures with a trampoline of their own. Each task has a
 * list of its calls in flight, newest first. The list is local to the task; an interrupt that
 * adds to it removes its own entries before the task continues.
 */

#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/llist.h>
#include <linux/sched.h>

#include "hit_kretprobe.h"
#include "pool.h"

/* Not after a failure, for a while. */
static nokprobe_inline bool may_grow(const struct kretprobe_pool *pool)
{
	return pool->grows && (!READ_ONCE(pool->failed) ||
			       jiffies - READ_ONCE(pool->failed_at) >= KRETPROBE_GROW_AGAIN);
}

/* The home of this CPU is empty. If false is returned, all blocks are. */
bool kretprobe_pool_get_elsewhere(struct kretprobe_holder *rph,
				  struct kretprobe_instance **ri)
{
	struct kretprobe_pool *pool = to_kretprobe_pool(rph);
	struct kretprobe_blocks *blocks = raw_cpu_ptr(pool->blocks);
	unsigned int nr = 0, available = 0;
	struct kretprobe_block *block;
	bool taken = false;
	int cpu;

	for_each_kretprobe_block(block, blocks) {
		nr++;
		if (READ_ONCE(block->free) <= 0)
			continue;
		available++;
		if (!taken && kretprobe_block_get(block, ri)) {
			WRITE_ONCE(blocks->home, block);
			taken = true;
		}
	}
	if (taken && kretprobe_pool_has_spares(nr, available))
		return true;

	/*
	 * A CPU that goes down runs pending work when it stops being active, and none afterwards
	 * where a thread does that. The end of the pool would wait for such work forever.
	 */
	if (may_grow(pool) && cpu_active(raw_smp_processor_id()))
		irq_work_queue(&blocks->grow);
	if (taken)
		return true;

	/* A block of another CPU would be contended, so it does not become the home. */
	for_each_possible_cpu(cpu) {
		for_each_kretprobe_block(block, per_cpu_ptr(pool->blocks, cpu)) {
			if (kretprobe_block_get(block, ri))
				return true;
		}
	}
	return false;
}
NOKPROBE_SYMBOL(kretprobe_pool_get_elsewhere);

/* The pool may be gone one grace period later. Also called when a dead task is cleaned up. */
void kretprobe_pool_put_closed(struct kretprobe_pool *pool)
{
	struct kprobe_rcu_state w;

	if (!raw_atomic_dec_and_test(&pool->refs))
		return;

	/*
	 * Callees may have return probes, which would recurse here, and some architectures trace
	 * the interrupt that they send to themselves. Work that is queued on a CPU going down
	 * would block all its later work. There, this pool is lost instead.
	 */
	kprobe_busy_begin();
	if (likely(cpu_online(raw_smp_processor_id()))) {
		w = kprobe_rcu_enter();
		irq_work_queue(&pool->gone);
		kprobe_rcu_exit(w);
	}
	kprobe_busy_end();
}
NOKPROBE_SYMBOL(kretprobe_pool_put_closed);

static nokprobe_inline struct kretprobe_instance *
llist_to_instance(struct llist_node *node)
{
	return container_of(node, struct kretprobe_instance, llist);
}

#ifdef CONFIG_KRETPROBE_NATIVE
/*
 * As soon as the trampoline is on the stack, an unwinder in an NMI may look the real return
 * address up.
 */
static nokprobe_inline void hook_frame(struct kretprobe_instance *ri, void *fp)
{
	arch_kretprobe_note_return(ri, fp);
	barrier();
	__llist_add(&ri->llist, &current->kretprobe_instances);
	barrier();
	arch_kretprobe_divert_return(fp);
}

static nokprobe_inline void hook_return(struct kretprobe_instance *ri,
					struct pt_regs *regs)
{
	hook_frame(ri, arch_kretprobe_entry_frame(regs));
}

static nokprobe_inline void arch_kretprobe_fixup_return(struct pt_regs *regs,
							kprobe_opcode_t *correct_ret_addr)
{
}
#else
static nokprobe_inline void hook_return(struct kretprobe_instance *ri,
					struct pt_regs *regs)
{
	/*
	 * Until the architecture sets it, the instance must not be taken for that of an earlier
	 * call.
	 */
	ri->fp = NULL;
	barrier();
	__llist_add(&ri->llist, &current->kretprobe_instances);
	barrier();
	arch_prepare_kretprobe(ri, regs);
}

/* Other trampolines correct all copies of the address after the handlers. */
static nokprobe_inline void arch_kretprobe_restore_return(struct pt_regs *regs,
							  unsigned long ret_addr)
{
	instruction_pointer_set(regs, ret_addr);
}

void __weak arch_kretprobe_fixup_return(struct pt_regs *regs,
					kprobe_opcode_t *correct_ret_addr)
{
}
NOKPROBE_SYMBOL(arch_kretprobe_fixup_return);
#endif

static noinline int kretprobe_enter_slow(struct kretprobe *rp, struct pt_regs *regs)
{
	struct kretprobe_instance *ri;

	if (unlikely(!kretprobe_pool_get_home(rp->rph, &ri) &&
		     !kretprobe_pool_get_elsewhere(rp->rph, &ri)))
		kretprobe_count_miss(rp);
	else if (kretprobe_wants_return(rp, ri, regs))
		hook_return(ri, regs);
	else
		kretprobe_pool_put(ri);

	return 0;
}
NOKPROBE_SYMBOL(kretprobe_enter_slow);

int kretprobe_pre_handler(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	struct kretprobe_instance *ri;

	/* Keep these tail calls: no register has to be saved then. */
	if (rp->entry_handler || unlikely(!kretprobe_pool_get_home(rp->rph, &ri)))
		return kretprobe_enter_slow(rp, regs);

	ri->task = current;
	hook_return(ri, regs);
	return 0;
}
NOKPROBE_SYMBOL(kretprobe_pre_handler);

/* Is the return address the trampoline, for an older hook of the same frame? */
static nokprobe_inline bool is_stacked(const struct kretprobe_instance *ri)
{
	return (void *)ri->ret_addr == kretprobe_trampoline_addr();
}

/* The instance with the real return address of the frame that @node belongs to. */
static nokprobe_inline struct llist_node *skip_stacked(struct llist_node *node)
{
	while (node && is_stacked(llist_to_instance(node)))
		node = node->next;

	return node;
}

/* A running task may be changing its list. */
#ifdef CONFIG_SMP
static nokprobe_inline bool runs_elsewhere(struct task_struct *tsk)
{
	return tsk != current && READ_ONCE(tsk->on_cpu);
}
#else
static nokprobe_inline bool runs_elsewhere(struct task_struct *tsk) { return false; }
#endif

/*
 * A longer list is a loop: the links of another task change while they are read, and may
 * never reach the end.
 */
#define KRETPROBE_MAX_WALK	THREAD_SIZE

/*
 * Search from @node on for the hook of a frame, and record the position in @cur. The search ends
 * at an instance that belongs to another task by now.
 */
static nokprobe_inline unsigned long find_hook(struct task_struct *tsk, void *fp,
					       struct llist_node *node,
					       struct llist_node **cur)
{
	struct kretprobe_instance *ri;
	kprobe_opcode_t *ret_addr;
	unsigned int left;

	for (left = KRETPROBE_MAX_WALK; node && left; left--) {
		ri = llist_to_instance(node);
		node = READ_ONCE(node->next);
		if (READ_ONCE(ri->task) != tsk)
			break;

		ret_addr = READ_ONCE(ri->ret_addr);
		if ((void *)ret_addr == kretprobe_trampoline_addr())
			continue;

		*cur = &ri->llist;
		if (READ_ONCE(ri->fp) == fp)
			return (unsigned long)ret_addr;
	}

	return 0;
}

/* The node after @last, which is only compared and not dereferenced. */
static nokprobe_inline struct llist_node *node_after(struct task_struct *tsk,
						     struct llist_node *last)
{
	struct llist_node *node = READ_ONCE(tsk->kretprobe_instances.first);
	unsigned int left;

	if (!last)
		return node;

	for (left = KRETPROBE_MAX_WALK; node && left; left--) {
		if (READ_ONCE(llist_to_instance(node)->task) != tsk)
			break;
		if (node == last)
			return READ_ONCE(node->next);
		node = READ_ONCE(node->next);
	}

	return NULL;
}

/* Changes whenever the task is switched away. */
static nokprobe_inline unsigned long nr_switches(struct task_struct *tsk)
{
	return READ_ONCE(tsk->nvcsw) + READ_ONCE(tsk->nivcsw);
}

/*
 * Another task may wake up at any moment, return from its calls, and make others. The
 * instances stay readable: a pool is freed only after a grace period, and preemption
 * is off. But their contents change. So the cursor of an earlier call is not
 * dereferenced, and a result counts only if the task has not run in the meantime.
 */
static noinline unsigned long kretprobe_find_in_task(struct task_struct *tsk, void *fp,
						     struct llist_node **cur)
{
	struct llist_node *last = *cur;
	unsigned long ret = 0, before;

	preempt_disable_notrace();
	if (unlikely(!kprobe_rcu_is_watching()))
		goto out;

	/*
	 * finish_task() stores on_cpu with release semantics after __schedule()
	 * has counted the switch. A task that runs between the two tests of
	 * on_cpu is either still running at the second, or has another count.
	 */
	before = nr_switches(tsk);
	/* The count before on_cpu, so that no switch in progress is counted. */
	smp_rmb();
	if (runs_elsewhere(tsk))
		goto out;
	/* Reads of the list come after the first test of on_cpu. */
	smp_rmb();

	ret = find_hook(tsk, fp, node_after(tsk, last), &last);

	/* They come before the second test. */
	smp_rmb();
	if (runs_elsewhere(tsk))
		ret = 0;
	/* Pairs with the release in finish_task(). */
	smp_rmb();
	if (nr_switches(tsk) != before)
		ret = 0;
	if (ret)
		*cur = last;
out:
	preempt_enable_notrace();
	return ret;
}
NOKPROBE_SYMBOL(kretprobe_find_in_task);

/**
 * kretprobe_find_ret_addr() - find a real return address, for unwinders
 * @tsk: current, or a task that does not run
 * @fp: frame, as the architecture stores it in the instance
 * @cur: cursor, NULL before the first frame of the task
 *
 * If another task wakes up nevertheless, its walk ends with 0.
 *
 * Context: any.
 * Return: the return address of the frame, or 0 if it is not hooked or the
 *	   task runs, or has run since @cur was set.
 */
unsigned long kretprobe_find_ret_addr(struct task_struct *tsk, void *fp,
				      struct llist_node **cur)
{
	struct llist_node *node;

	if (WARN_ON_ONCE(!cur))
		return 0;

	if (tsk != current)
		return kretprobe_find_in_task(tsk, fp, cur);

	node = *cur ? (*cur)->next : tsk->kretprobe_instances.first;
	return find_hook(tsk, fp, node, cur);
}
NOKPROBE_SYMBOL(kretprobe_find_ret_addr);

/* Give back the newest calls of the task, up to but not including @end. */
static nokprobe_inline void forget_calls(struct llist_node *end)
{
	struct llist_head *calls = &current->kretprobe_instances;
	struct llist_node *node = calls->first, *next;

	/* An interrupt may use the list, but restores it. */
	WRITE_ONCE(calls->first, end);

	for (; node != end; node = next) {
		next = node->next;
		kretprobe_pool_put(llist_to_instance(node));
	}
}

/*
 * The newest call is not of this frame. If an older one is, the stack was
 * rewound, and those above it will never return.
 */
static noinline bool kretprobe_rewind(void *frame_pointer)
{
	struct llist_node *node = current->kretprobe_instances.first;

	while (node && llist_to_instance(node)->fp != frame_pointer)
		node = node->next;

	if (node)
		forget_calls(node);
	return node;
}
NOKPROBE_SYMBOL(kretprobe_rewind);

/*
 * The return matches no recorded call of this task, so the stack or the list of calls has been
 * changed. Execution continues at the newest call; its handler is not called.
 */
static noinline void kretprobe_report_mismatch(struct llist_node *node, unsigned long ret_addr)
{
	struct kretprobe *rp = NULL;

	if (kprobe_rcu_is_watching())
		rp = kretprobe_of(llist_to_instance(node));
	if (rp)
		WARN(1, "kretprobe BUG!: Processing kretprobe %ps @ %pS: return from a frame that was not hooked, to %pS\n",
		     rp->handler, rp->kp.addr, (void *)ret_addr);
	else
		WARN(1, "kretprobe BUG!: Processing a kretprobe that is gone: return from a frame that was not hooked, to %pS\n",
		     (void *)ret_addr);
}
NOKPROBE_SYMBOL(kretprobe_report_mismatch);

static nokprobe_inline void report_return(struct llist_node *node,
					  unsigned long ret_addr,
					  struct pt_regs *regs)
{
	struct kretprobe_instance *ri = llist_to_instance(node);
	struct kretprobe *rp = kretprobe_of(ri);

	if (likely(rp))
		kretprobe_call_handler(rp, ri, ret_addr, regs);
}

/* The return of a frame with any number of hooks, and all unusual cases. */
static noinline unsigned long kretprobe_return_slow(struct pt_regs *regs,
						    void *frame_pointer)
{
	struct llist_node *node = current->kretprobe_instances.first;
	struct llist_node *last, *end;
	unsigned long ret_addr;
	bool known = true;

	if (unlikely(!node || llist_to_instance(node)->fp != frame_pointer)) {
		known = kretprobe_rewind(frame_pointer);
		node = current->kretprobe_instances.first;
	}

	last = skip_stacked(node);
	/* There is no address to return to. */
	if (unlikely(!last))
		panic("kretprobe BUG!: no instance for a diverted return\n");

	end = last->next;
	ret_addr = (unsigned long)llist_to_instance(last)->ret_addr;
	arch_kretprobe_restore_return(regs, ret_addr);

	/* The instances stay linked while handlers run, which may take stack traces. */
	if (unlikely(!known)) {
		DO_ONCE_LITE(kretprobe_report_mismatch, node, ret_addr);
		node = end;
	}
	for (; node != end; node = node->next) {
		if (likely(kprobe_rcu_is_watching()))
			report_return(node, ret_addr, regs);
		else
			kretprobe_miss_unwatched(llist_to_instance(node));
	}

	arch_kretprobe_fixup_return(regs, (kprobe_opcode_t *)ret_addr);
	/* First the copies that unwinders read, then the instances that they look up. */
	barrier();
	forget_calls(end);

	return ret_addr;
}
NOKPROBE_SYMBOL(kretprobe_return_slow);

/* Only one hook is on the frame, the newest one, and no hit is in progress. */
static nokprobe_inline bool is_fast_return(struct llist_node *node, void *fp,
					   struct kprobe *__kprobe_cpu *running)
{
	return node && llist_to_instance(node)->fp == fp &&
	       !is_stacked(llist_to_instance(node)) &&
	       !kprobe_cpu_read(running) && kprobe_rcu_is_watching();
}

/* Preemption is off. This may be inside a hit. */
static nokprobe_inline unsigned long kretprobe_return(struct pt_regs *regs, void *fp)
{
	struct llist_node *node = current->kretprobe_instances.first;
	__auto_type running = kprobe_cpu_kept(current_kprobe);
	struct kretprobe_instance *ri;
	unsigned long ret_addr;
	struct kretprobe *rp;

	if (unlikely(!is_fast_return(node, fp, running)))
		return kretprobe_return_slow(regs, fp);

	ri = llist_to_instance(node);
	rp = rcu_dereference_raw(ri->rph->fast);
	if (unlikely(!rp))
		return kretprobe_return_slow(regs, fp);

	ret_addr = (unsigned long)ri->ret_addr;
	arch_kretprobe_restore_return(regs, ret_addr);
	kretprobe_call_handler_alone(running, rp, ri, regs);
	arch_kretprobe_fixup_return(regs, (kprobe_opcode_t *)ret_addr);
	/* First the copies that unwinders read, then the instance that they look up. */
	barrier();
	/* Here, reading the task is cheaper than keeping current in a register. */
	WRITE_ONCE(ri->task->kretprobe_instances.first, node->next);
	kretprobe_pool_put(ri);

	return ret_addr;
}

#ifdef CONFIG_KRETPROBE_NATIVE

static nokprobe_inline bool kretprobe_hook_call(struct kretprobe *rp, void *fp)
{
	struct kretprobe_instance *ri;

	if (unlikely(!rp || !kretprobe_pool_get_home(rp->rph, &ri)))
		return false;

	ri->task = current;
	hook_frame(ri, fp);
	return true;
}

/**
 * kretprobe_native_entry() - a detour of a return probe was entered
 * @kp: the probe of the site
 * @fp: frame of the function, as arch_kretprobe_entry_frame() returns it
 *
 * Handles the usual case without registers. This is no hit: no function that is called
 * can be probed.
 *
 * Context: any context, interrupts as they were.
 * Return: NULL if the call is hooked; otherwise @kp, nothing has been done, and the
 *	   handlers are to be called.
 */
__visible struct kprobe *kretprobe_native_entry(struct kprobe *kp, void *fp)
{
	struct kprobe_head *head = container_of(kp, struct kprobe_head, kp);
	struct kprobe *left = kp;

	preempt_disable_notrace();
	/* A task that preempts this one must not inherit its state. No handler is called. */
	if (IS_ENABLED(CONFIG_PREEMPTION))
		arch_handlers_begin(fp);
	if (likely(!kprobe_running() && kprobe_rcu_is_watching()) &&
	    likely(kretprobe_hook_call(rcu_dereference_raw(head->only_return), fp)))
		left = NULL;
	preempt_enable_notrace();
	if (IS_ENABLED(CONFIG_PREEMPTION))
		arch_handlers_end(fp);

	return left;
}
NOKPROBE_SYMBOL(kretprobe_native_entry);

/**
 * kretprobe_is_only_user() - does kretprobe_native_entry() handle the hits of a site?
 * @kp: the probe of the site
 *
 * Context: kprobe_mutex held.
 * Return: true if it does, until the site gets another user.
 */
bool kretprobe_is_only_user(struct kprobe *kp)
{
	struct kprobe_head *head = container_of(kp, struct kprobe_head, kp);

	lockdep_assert_held(&kprobe_mutex);

	return rcu_access_pointer(head->only_return);
}

/**
 * kretprobe_native_handler() - a hooked function has returned
 * @regs: state after the return
 *
 * Called by the trampoline of the architecture. Probes are kept out only while a user's
 * handler runs; no other function that is called can be probed.
 *
 * Context: any.
 */
void kretprobe_native_handler(struct pt_regs *regs)
{
	preempt_disable_notrace();
	arch_handlers_begin(regs);
	kretprobe_return(regs, arch_kretprobe_frame(regs));
	preempt_enable_notrace();
	arch_handlers_end(regs);
}
NOKPROBE_SYMBOL(kretprobe_native_handler);

#else /* !CONFIG_KRETPROBE_NATIVE */

/**
 * __kretprobe_trampoline_handler() - a hooked function has returned
 * @regs: state after the return
 * @frame_pointer: the frame, as arch_prepare_kretprobe() stores it
 *
 * For architectures whose trampoline is itself probed.
 *
 * Context: hit of that probe, preemption off.
 * Return: the real return address.
 */
unsigned long __kretprobe_trampoline_handler(struct pt_regs *regs,
					     void *frame_pointer)
{
	return kretprobe_return_slow(regs, frame_pointer);
}
NOKPROBE_SYMBOL(__kretprobe_trampoline_handler);

/**
 * kretprobe_trampoline_handler() - a hooked function has returned
 * @regs: state after the return
 * @frame_pointer: the frame, as arch_prepare_kretprobe() stores it
 *
 * For trampolines that call it directly. Probes are kept out only while a user's handler
 * runs; no other function that is called can be probed.
 *
 * Context: any.
 * Return: the real return address.
 */
unsigned long kretprobe_trampoline_handler(struct pt_regs *regs,
					   void *frame_pointer)
{
	unsigned long ret_addr;

	preempt_disable_notrace();
	ret_addr = kretprobe_return(regs, frame_pointer);
	preempt_enable_notrace();

	return ret_addr;
}
NOKPROBE_SYMBOL(kretprobe_trampoline_handler);

#endif
