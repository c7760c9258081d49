// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return probes, the slow path: a kprobe on the entry of a function whose handler diverts the
 * return, and a pool of instances that hold the real return addresses.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/rethook.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "address.h"
#include "hit_kretprobe.h"
#include "kretprobe.h"
#include "pool.h"
#include "register.h"
#include "site.h"

/*
 * Functions that have no return probes on any architecture.
 *
 * The callers of return_to_handler() return to it, so it has no return address of its own.
 *
 * At the end of a return, when no probe is current any more, kretprobe_native_handler() enables
 * preemption. If the task is to be preempted, but interrupts are off, that calls
 * preempt_schedule_notrace(), which returns at once. A return probe there would recurse.
 */
static struct kretprobe_blackpoint everywhere[] = {
	{ "preempt_schedule_notrace", },
	{ "return_to_handler", },
};

void kretprobe_resolve_blackpoints(struct kretprobe_blackpoint *points, int nr)
{
	struct kprobe_where where;
	int i;

	for (i = 0; i < nr; i++) {
		/* Some arrays count their terminator. */
		if (!points[i].name)
			continue;
		if (!kprobe_address_resolve(NULL, points[i].name, 0, &where))
			points[i].addr = (void *)where.addr;
		else
			pr_debug("no symbol %s on the return probe blacklist\n",
				 points[i].name);
	}
}

void __init kretprobe_init(void)
{
	kretprobe_resolve_blackpoints(everywhere, ARRAY_SIZE(everywhere));
	/* Without names, there need not be an array. */
	if (kretprobe_blacklist_size)
		kretprobe_resolve_blackpoints(kretprobe_blacklist, kretprobe_blacklist_size);
}

static bool is_among(const struct kretprobe_blackpoint *points, int nr, unsigned long addr)
{
	int i;

	for (i = 0; i < nr; i++) {
		if ((unsigned long)points[i].addr == addr)
			return true;
	}

	return false;
}

static bool is_blackpoint(unsigned long addr)
{
	return is_among(everywhere, ARRAY_SIZE(everywhere), addr) ||
	       is_among(kretprobe_blacklist, kretprobe_blacklist_size, addr);
}

/* What maxactive becomes if the user has not set it. */
static int default_instances(void)
{
	return max(10u, 2 * num_possible_cpus());
}

/*
 * What diverts returns: rethook, with hit_rethook.c, or the architecture's own trampoline, with
 * hit_stack.c and the pools of pool.h.
 */
#ifdef CONFIG_KRETPROBE_ON_RETHOOK

static int attach_pool(struct kretprobe *rp, int nr)
{
	struct rethook *rh;

	rh = rethook_alloc(rp, kretprobe_rethook_handler,
			   sizeof(struct kretprobe_instance) + rp->data_size, nr);
	if (IS_ERR(rh))
		return PTR_ERR(rh);

	rp->rh = rh;
	return 0;
}

static void kretprobe_stop(struct kprobe *p)
{
	rethook_stop(container_of(p, struct kretprobe, kp)->rh);
}

static void kretprobe_done(struct kprobe *p)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);

	rethook_free(rp->rh);
	rp->rh = NULL;
}

#else

/* No hit uses @rp. After an error it is untouched. */
static int attach_pool(struct kretprobe *rp, int nr)
{
	/* Does not grow if the user has chosen a size. */
	struct kretprobe_holder *rph = kretprobe_pool_create(rp, nr, rp->data_size,
							     rp->maxactive <= 0);

	if (IS_ERR(rph))
		return PTR_ERR(rph);

	rcu_assign_pointer(rph->fast, rp->handler && !rp->kp.fault_handler ? rp : NULL);
	rp->rph = rph;
	return 0;
}

/* From now on, no handler is called. Calls that have begun are over after one grace period. */
static void kretprobe_stop(struct kprobe *p)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);

	/* In this order: the pool may be growing, and new instances have rp as it is then. */
	rcu_assign_pointer(rp->rph->fast, NULL);
	rcu_assign_pointer(rp->rph->rp, NULL);
}

/*
 * @p was stopped a grace period ago, or never registered. Instances in flight are freed when
 * their calls return.
 */
static void kretprobe_done(struct kprobe *p)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);

	/*
	 * Kprobe events of a module are registered again and again. What register_kretprobes()
	 * has written there must not be taken for the choice of the user, as such a pool does not
	 * grow.
	 */
	if (to_kretprobe_pool(rp->rph)->grows && rp->maxactive == default_instances())
		rp->maxactive = 0;

	RCU_INIT_POINTER(rp->rph->rp, NULL);
	RCU_INIT_POINTER(rp->rph->fast, NULL);
	kretprobe_pool_destroy(rp->rph);
	rp->rph = NULL;
}

/**
 * kprobe_flush_task() - a task is dead, and its calls in flight will never return
 * @tsk: the dead task
 *
 * Context: RCU callback.
 */
void kprobe_flush_task(struct task_struct *tsk)
{
	struct llist_node *node, *next;

	/* The usual case, and the only one before the core is set up. */
	if (likely(llist_empty(&tsk->kretprobe_instances)))
		return;

	for (node = __llist_del_all(&tsk->kretprobe_instances); node; node = next) {
		next = node->next;
		kretprobe_pool_put(container_of(node, struct kretprobe_instance, llist));
	}
}
NOKPROBE_SYMBOL(kprobe_flush_task);
#endif /* !CONFIG_KRETPROBE_ON_RETHOOK */

static int kretprobe_nr_instances(const struct kretprobe *rp)
{
	return rp->maxactive > 0 ? rp->maxactive : default_instances();
}

static enum kprobe_refusal kretprobe_vet(const struct kprobe *p, const struct kprobe_where *where)
{
	const struct kretprobe *rp = container_of(p, struct kretprobe, kp);

	if (!where->on_entry)
		return KPROBE_REFUSAL_NOT_ENTRY;
	if (is_blackpoint(where->addr))
		return KPROBE_REFUSAL_NO_RETURN;
	if (rp->data_size > KRETPROBE_MAX_DATA_SIZE)
		return KPROBE_REFUSAL_DATA_SIZE;
	return KPROBE_REFUSAL_NONE;
}

/* The call holds @p, so no other call uses or replaces the pool. */
static int kretprobe_prepare(struct kprobe *p)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	int ret;

	p->pre_handler = kretprobe_pre_handler;
	p->post_handler = NULL;

	ret = attach_pool(rp, kretprobe_nr_instances(rp));
	if (ret)
		pr_debug_ratelimited("no instances for a kretprobe: %d\n", ret);
	return ret;
}

static void kretprobe_registered(struct kprobe *p)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);

	rp->maxactive = kretprobe_nr_instances(rp);
}

const struct kprobe_batch_ops kretprobe_batch_ops = {
	.vet		= kretprobe_vet,
	.prepare	= kretprobe_prepare,
	.registered	= kretprobe_registered,
	.stop		= kretprobe_stop,
	.done		= kretprobe_done,
};

/* Arrays of kretprobes are arrays of kprobes, too. */
static_assert(offsetof(struct kretprobe, kp) == 0);

/**
 * register_kretprobes() - register many kretprobes, all or none
 * @rps: the kretprobes
 * @num: how many
 *
 * Context: as register_kretprobe().
 * Return: 0, -EINVAL if there is no array, -ENOMEM, or the error of the
 *	   first in the array that cannot be registered, as
 *	   register_kretprobe() would return it.
 */
int register_kretprobes(struct kretprobe **rps, int num)
{
	return kprobe_batch_register((struct kprobe **)rps, num, &kretprobe_batch_ops);
}
EXPORT_SYMBOL_GPL(register_kretprobes);

/**
 * register_kretprobe() - probe the return of a function
 * @rp: the kretprobe; kp, handler and what else the user wants are filled in
 *
 * kp.pre_handler and kp.post_handler are overwritten. A @rp->maxactive of 0 or less
 * becomes the default, twice the number of possible CPUs and at least 10. The number of
 * instances then grows before they run out, and unregistration sets @rp->maxactive to 0
 * again, but not with KRETPROBE_ON_RETHOOK.
 * After an unregistration, clear kp.flags, and kp.addr if a symbol is given,
 * before registering again; and with KRETPROBE_ON_RETHOOK @rp->maxactive, for the
 * default.
 *
 * Context: as register_kprobe().
 * Return: 0, else the kretprobe can be registered again as it is:
 *
 * * %-EINVAL - not the entry of a function, or a function whose return cannot be
 *   diverted; or, with a warning, @rp is registered already, or another call that
 *   registers or unregisters it has not returned
 * * %-ENOENT - no such symbol
 * * %-E2BIG - data_size is above KRETPROBE_MAX_DATA_SIZE
 * * %-ENOMEM - no memory for the instances
 * * %-EOPNOTSUPP - the architecture has no return probes
 * * another error of register_kprobe()
 */
int register_kretprobe(struct kretprobe *rp)
{
	kprobe_set_pre_handler(&rp->kp, kretprobe_pre_handler);
	return register_kprobe(&rp->kp);
}
EXPORT_SYMBOL_GPL(register_kretprobe);

/**
 * unregister_kretprobe() - remove a kretprobe
 * @rp: the kretprobe; if it is not registered, its kp.addr becomes NULL
 *
 * On return no handler runs or will run, and @rp may be freed. Calls that are
 * still in flight return as usual.
 *
 * Context: process context, waits for a grace period. Not from a handler.
 */
void unregister_kretprobe(struct kretprobe *rp)
{
	kprobe_batch_unregister((struct kprobe **)&rp, 1, &kretprobe_batch_ops);
}
EXPORT_SYMBOL_GPL(unregister_kretprobe);

/**
 * unregister_kretprobes() - remove many kretprobes with one grace period
 * @rps: the kretprobes; one that is not registered gets kp.addr = NULL
 * @num: how many; nothing happens when it is not positive
 *
 * Context: as unregister_kretprobe().
 */
void unregister_kretprobes(struct kretprobe **rps, int num)
{
	kprobe_batch_unregister((struct kprobe **)rps, num, &kretprobe_batch_ops);
}
EXPORT_SYMBOL_GPL(unregister_kretprobes);
