// SPDX-License-Identifier: GPL-2.0-only
/* Sites: their creation and end, the search by address, and the users of each. */

#include <linux/init.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "site.h"
#include "table.h"

/* Every site until it is freed, by address; kprobe_mutex. */
static struct rb_root kprobe_sites = RB_ROOT;

/* kmalloc() would round up to a power of two. */
static struct kmem_cache *site_caches[NR_KPROBE_SITE_KINDS] __ro_after_init;

void __init kprobe_site_init(void)
{
	site_caches[KPROBE_SITE_BREAKPOINT] = KMEM_CACHE(kprobe_site, SLAB_PANIC);
	/* Without what the optimizer needs. */
	site_caches[KPROBE_SITE_FTRACE] =
		kmem_cache_create("kprobe_site_ftrace",
				  offsetofend(struct kprobe_site, head.kp),
				  __alignof__(struct kprobe_site), SLAB_PANIC, NULL);
}

/* Row = from, bit = to. */
static const u8 site_moves[NR_KPROBE_SITE_STATES] = {
	[KPROBE_SITE_NEW]	= BIT(KPROBE_SITE_READY) | BIT(KPROBE_SITE_DEAD),
	[KPROBE_SITE_READY]	= BIT(KPROBE_SITE_ARMED) | BIT(KPROBE_SITE_GONE) |
				  BIT(KPROBE_SITE_DEAD),
	[KPROBE_SITE_ARMED]	= BIT(KPROBE_SITE_READY) | BIT(KPROBE_SITE_GONE),
	[KPROBE_SITE_GONE]	= BIT(KPROBE_SITE_DEAD),
	[KPROBE_SITE_DEAD]	= 0,
};

static_assert(NR_KPROBE_SITE_STATES <= BITS_PER_BYTE);

bool kprobe_site_may_move(enum kprobe_site_state from, enum kprobe_site_state to)
{
	return site_moves[from] & BIT(to);
}

/* Also updates the table and the flag that users see. To READY: after kprobe_table_reserve(). */
void kprobe_site_move(struct kprobe_site *site, enum kprobe_site_state to)
{
	enum kprobe_site_state from = site->state;
	struct kprobe *p;

	lockdep_assert_held(&kprobe_mutex);

	if (WARN_ON_ONCE(!kprobe_site_may_move(from, to)))
		return;

	site->state = to;

	if (from == KPROBE_SITE_NEW && to == KPROBE_SITE_READY)
		kprobe_table_insert(kprobe_site_addr(site), &site->head.kp);

	if (to == KPROBE_SITE_GONE) {
		kprobe_publish_flag(&site->head.kp, KPROBE_FLAG_GONE, true);
		list_for_each_entry(p, &site->users, list)
			kprobe_publish_flag(p, KPROBE_FLAG_GONE, true);
	}

	if (to == KPROBE_SITE_DEAD)
		kprobe_table_remove(kprobe_site_addr(site), &site->head.kp);
}

static bool site_before(struct rb_node *a, const struct rb_node *b)
{
	return kprobe_site_addr(rb_entry(a, struct kprobe_site, node)) <
	       kprobe_site_addr(rb_entry(b, struct kprobe_site, node));
}

/* A site that nothing finds. kfree() frees it until it is prepared or added. */
struct kprobe_site *kprobe_site_alloc(unsigned long addr, enum kprobe_site_kind kind)
{
	struct kprobe_site *site;

	lockdep_assert_held(&kprobe_mutex);

	site = kmem_cache_zalloc(site_caches[kind], GFP_KERNEL);
	if (!site)
		return NULL;

	INIT_LIST_HEAD(&site->users);
	INIT_LIST_HEAD(&site->head.kp.reap);
	INIT_LIST_HEAD(&site->head.kp.list);
	site->kind = kind;
	site->head.kp.addr = (kprobe_opcode_t *)addr;
	site->head.kp.pre_handler = KPROBE_SITE_PRE;
	RCU_INIT_POINTER(site->head.callee, &site->head.kp);
	site->head.kp.flags = KPROBE_FLAG_SITE | KPROBE_FLAG_DISABLED;
	site->trampoline = IS_ENABLED(CONFIG_KRETPROBES) &&
			   arch_trampoline_kprobe(&site->head.kp);
	if (kind == KPROBE_SITE_FTRACE)
		site->head.kp.flags |= KPROBE_FLAG_FTRACE;
	return site;
}

/* A NEW site, for an address that has none; NULL if out of memory. */
struct kprobe_site *kprobe_site_create(unsigned long addr, enum kprobe_site_kind kind)
{
	struct kprobe_site *site = kprobe_site_alloc(addr, kind);

	/* After its equals: GONE sites wait for their users, and DEAD ones for their detours. */
	if (site)
		rb_add(&site->node, &kprobe_sites, site_before);
	return site;
}

/* Give back what the architecture has for a site that no CPU executes any more. */
void kprobe_site_release(struct kprobe_site *site)
{
	/* Until now, traps that were taken before have found a GONE site. */
	kprobe_table_remove(kprobe_site_addr(site), &site->head.kp);

	if (!site->prepared)
		return;

	/* At ftrace sites the architecture has no resources. */
	if (site->kind == KPROBE_SITE_BREAKPOINT)
		arch_remove_kprobe(&site->head.kp);
	site->prepared = false;
}

/* A NEW or READY site without users dies. The caller ensures that no hit uses it any more. */
void kprobe_site_remove(struct kprobe_site *site)
{
	WARN_ON_ONCE(!list_empty(&site->users));

	list_del_init(&site->head.kp.reap);
	kprobe_site_move(site, KPROBE_SITE_DEAD);
}

/*
 * Free a DEAD site that no CPU executes any more, and that is in no filter of ftrace. Its memory
 * stays for another grace period, for hits that have found it.
 */
void kprobe_site_free(struct kprobe_site *site)
{
	WARN_ON_ONCE(site->ftrace);

	rb_erase(&site->node, &kprobe_sites);
	kprobe_site_release(site);
	kfree_rcu(site, rcu);
}

/* The first site at or after an address, or NULL. */
struct kprobe_site *kprobe_site_from(unsigned long addr)
{
	struct rb_node *node = kprobe_sites.rb_node;
	struct kprobe_site *found = NULL;

	lockdep_assert_held(&kprobe_mutex);

	while (node) {
		struct kprobe_site *site = rb_entry(node, struct kprobe_site, node);

		if (kprobe_site_addr(site) < addr) {
			node = node->rb_right;
		} else {
			found = site;
			node = node->rb_left;
		}
	}

	return found;
}

/* The next site may have the same address. */
struct kprobe_site *kprobe_site_next(struct kprobe_site *site)
{
	struct rb_node *node = rb_next(&site->node);

	lockdep_assert_held(&kprobe_mutex);

	return node ? rb_entry(node, struct kprobe_site, node) : NULL;
}

/* The site of an address whose code exists, even a NEW one, or NULL. */
struct kprobe_site *kprobe_site_at(unsigned long addr)
{
	struct kprobe_site *site;

	for_each_kprobe_site_in(site, addr, addr + 1) {
		if (site->state < KPROBE_SITE_GONE)
			return site;
	}

	return NULL;
}

/* The site at which a probe is registered, or NULL. Relies only on the address in @p. */
struct kprobe_site *kprobe_site_of_user(struct kprobe *p)
{
	unsigned long addr = (unsigned long)p->addr;
	struct kprobe_site *site;
	struct kprobe *user;

	for_each_kprobe_site_in(site, addr, addr + 1) {
		list_for_each_entry(user, &site->users, list) {
			if (user == p)
				return site;
		}
	}

	return NULL;
}

/* From a list of sites that are to be changed together, linked by kp.list. */
void kprobe_sites_unlink(struct list_head *kps)
{
	struct kprobe *kp, *tmp;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry_safe(kp, tmp, kps, list)
		list_del_init(&kp->list);
}

/*
 * The only enabled user, if a hit only has to call its handlers. With a fault handler, faults would
 * need an owner.
 */
static struct kprobe *sole_user(struct kprobe_site *site)
{
	struct kprobe *p;

	if (site->nr_enabled != 1)
		return NULL;

	list_for_each_entry(p, &site->users, list) {
		if (!kprobe_disabled(p))
			return p->pre_handler && !p->fault_handler ? p : NULL;
	}

	return NULL;
}

/* A return probe whose entry needs only an instance and the frame. */
#ifdef CONFIG_KRETPROBE_NATIVE
static void publish_only_return(struct kprobe_site *site, struct kprobe *p)
{
	struct kretprobe *rp = NULL;

	if (p && is_kretprobe(p))
		rp = container_of(p, struct kretprobe, kp);
	if (rp && rp->entry_handler)
		rp = NULL;
	rcu_assign_pointer(site->head.only_return, rp);
}
#else
static void publish_only_return(struct kprobe_site *site, struct kprobe *p)
{
}
#endif

static void site_update(struct kprobe_site *site)
{
	struct kprobe *p = sole_user(site), *kp = &site->head.kp;

	publish_only_return(site, p);
	/* Kernels with lockdep check what handlers do to interrupts. */
	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		p = NULL;
	rcu_assign_pointer(site->head.callee, p ?: kp);
#ifdef KPROBE_MAX_NESTING
	kprobe_publish_flag(kp, KPROBE_FLAG_BOOSTED, kprobe_is_boosted(kp));
#endif
	kprobe_publish_flag(kp, KPROBE_FLAG_DISABLED, !site->nr_enabled);
}

/* The site may be draining. */
void kprobe_site_add_user(struct kprobe_site *site, struct kprobe *p)
{
	list_del_init(&site->head.kp.reap);

	p->addr = site->head.kp.addr;
	p->nmissed = 0;
	p->nmissed_rcu = 0;
	kretprobe_set_missed(p, 0);
	p->flags &= KPROBE_FLAG_DISABLED | KPROBE_FLAG_REENTRANT;
	p->flags |= site->head.kp.flags & (KPROBE_FLAG_FTRACE | KPROBE_FLAG_ON_FUNC_ENTRY);

	/* The site keeps them: backends test the pointer first and call it later. */
	if (p->post_handler)
		WRITE_ONCE(site->head.kp.post_handler, KPROBE_SITE_POST);
	if (p->fault_handler)
		WRITE_ONCE(site->head.kp.fault_handler, kprobe_site_fault_handler);
	list_add_rcu(&p->list, &site->users);
	if (!(p->flags & KPROBE_FLAG_DISABLED))
		site->nr_enabled++;
	site_update(site);
}

/*
 * Hits may still be calling @p: the caller waits for a grace period, and then initializes the
 * list node again.
 */
void kprobe_site_del_user(struct kprobe_site *site, struct kprobe *p)
{
	if (!(p->flags & KPROBE_FLAG_DISABLED))
		site->nr_enabled--;
	list_del_rcu(&p->list);
	kprobe_publish_flag(p, KPROBE_FLAG_DISABLED, true);
	site_update(site);
}

/* @p is in the other state. */
void kprobe_site_enable_user(struct kprobe_site *site, struct kprobe *p, bool on)
{
	kprobe_publish_flag(p, KPROBE_FLAG_DISABLED, !on);
	site->nr_enabled += on ? 1 : -1;
	site_update(site);
}

/* Unlike the post handler of the site itself, this is not sticky. */
bool kprobe_site_has_post(const struct kprobe_site *site)
{
	const struct kprobe *p;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry(p, &site->users, list) {
		if (p->post_handler)
			return true;
	}

	return false;
}

bool kprobe_site_has_fault(const struct kprobe_site *site)
{
	const struct kprobe *p;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry(p, &site->users, list) {
		if (p->fault_handler)
			return true;
	}

	return false;
}
