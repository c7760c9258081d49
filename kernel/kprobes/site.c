// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sites: their creation and end, the search by address, and the users of each. arm.c
 * arms them.
 */

#include <linux/init.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "site.h"
#include "table.h"

/* Every site that is not DEAD, by address; kprobe_mutex. */
static struct rb_root kprobe_sites = RB_ROOT;

/* Aligns sites to cache lines, as hits read them. kmalloc() would round up to a power of two. */
static struct kmem_cache *site_cache __ro_after_init;

/**
 * kprobe_site_init() - create the slab cache of sites
 *
 * Context: boot, before the first site.
 */
void __init kprobe_site_init(void)
{
	site_cache = KMEM_CACHE(kprobe_site, SLAB_HWCACHE_ALIGN | SLAB_PANIC);
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

/**
 * kprobe_site_may_move() - is this change of state legal?
 * @from: state now
 * @to: state wanted
 *
 * Context: any.
 * Return: true if it is.
 */
bool kprobe_site_may_move(enum kprobe_site_state from, enum kprobe_site_state to)
{
	return site_moves[from] & BIT(to);
}

/**
 * kprobe_site_move() - change the state of a site
 * @site: the site
 * @to: its new state
 *
 * Updates the table, the tree and the published flag as well.
 *
 * Context: kprobe_mutex held. To READY from NEW: after kprobe_table_reserve().
 */
void kprobe_site_move(struct kprobe_site *site, enum kprobe_site_state to)
{
	enum kprobe_site_state from = site->state;
	struct kprobe *p;

	lockdep_assert_held(&kprobe_mutex);

	if (WARN_ON_ONCE(!kprobe_site_may_move(from, to)))
		return;

	site->state = to;

	if (from == KPROBE_SITE_NEW && to == KPROBE_SITE_READY)
		kprobe_table_insert(kprobe_site_addr(site), &site->head);

	if (to == KPROBE_SITE_GONE) {
		kprobe_publish_flag(&site->head.kp, KPROBE_FLAG_GONE, true);
		list_for_each_entry(p, &site->users, list)
			kprobe_publish_flag(p, KPROBE_FLAG_GONE, true);
	}

	if (to == KPROBE_SITE_DEAD) {
		kprobe_table_remove(kprobe_site_addr(site), &site->head);
		rb_erase(&site->node, &kprobe_sites);
	}
}

static bool site_before(struct rb_node *a, const struct rb_node *b)
{
	return kprobe_site_addr(rb_entry(a, struct kprobe_site, node)) <
	       kprobe_site_addr(rb_entry(b, struct kprobe_site, node));
}

/**
 * kprobe_site_add_to() - put a site into a tree
 * @root: sites by address
 * @site: one that is in no other tree
 *
 * After its equals: sites whose code is gone stay until their users leave.
 *
 * Context: kprobe_mutex held.
 */
void kprobe_site_add_to(struct rb_root *root, struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	rb_add(&site->node, root, site_before);
}

/**
 * kprobe_site_alloc() - allocate a site that nothing finds
 * @addr: the address
 * @kind: what would cause hits
 *
 * Context: kprobe_mutex held, sleeps.
 * Return: a NEW site, which kfree() frees until it is prepared or added; NULL without
 *	   memory.
 */
struct kprobe_site *kprobe_site_alloc(unsigned long addr, enum kprobe_site_kind kind)
{
	struct kprobe_site *site;

	lockdep_assert_held(&kprobe_mutex);

	site = kmem_cache_zalloc(site_cache, GFP_KERNEL);
	if (!site)
		return NULL;

	INIT_LIST_HEAD(&site->users);
	INIT_LIST_HEAD(&site->reap);
	INIT_LIST_HEAD(&site->head.kp.list);
	INIT_HLIST_NODE(&site->head.kp.hlist);
	kprobe_site_init_opt(site);
	site->kind = kind;
	site->head.kp.addr = (kprobe_opcode_t *)addr;
	site->head.kp.pre_handler = kprobe_site_pre_handler;
	site->head.kp.flags = KPROBE_FLAG_SITE | KPROBE_FLAG_DISABLED;
	site->trampoline = IS_ENABLED(CONFIG_KRETPROBES) &&
			   arch_trampoline_kprobe(&site->head.kp);
	if (kind == KPROBE_SITE_FTRACE)
		site->head.kp.flags |= KPROBE_FLAG_FTRACE;
	return site;
}

/**
 * kprobe_site_create() - create a site for an address that has none
 * @addr: the address
 * @kind: what will cause hits
 *
 * Context: kprobe_mutex held, sleeps.
 * Return: a NEW site, or NULL without memory.
 */
struct kprobe_site *kprobe_site_create(unsigned long addr, enum kprobe_site_kind kind)
{
	struct kprobe_site *site;

	lockdep_assert_held(&kprobe_mutex);

	site = kprobe_site_alloc(addr, kind);
	if (site)
		kprobe_site_add_to(&kprobe_sites, site);
	return site;
}

/**
 * kprobe_site_release() - give back what the architecture has for a site
 * @site: a site that no CPU executes any more
 *
 * Context: kprobe_mutex held, sleeps.
 */
void kprobe_site_release(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);

	/* A GONE site is in the table until now, for traps that were taken before. */
	kprobe_table_remove(kprobe_site_addr(site), &site->head);

	if (!site->prepared)
		return;

	/* At ftrace sites the architecture has no resources. */
	if (site->kind == KPROBE_SITE_BREAKPOINT)
		arch_remove_kprobe(&site->head.kp);
	site->prepared = false;
}

/**
 * kprobe_site_remove() - a site without users dies
 * @site: a NEW or READY site without users
 *
 * Context: kprobe_mutex held; no hit uses the site any more.
 */
void kprobe_site_remove(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	WARN_ON_ONCE(site->nr_users);

	list_del_init(&site->reap);
	kprobe_site_move(site, KPROBE_SITE_DEAD);
}

/**
 * kprobe_site_free() - free a site
 * @site: a DEAD site that no CPU executes any more, in no ftrace filter
 *
 * Its memory stays for another grace period, for hits that have found it.
 *
 * Context: kprobe_mutex held, sleeps.
 */
void kprobe_site_free(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	WARN_ON_ONCE(site->ftrace);

	kprobe_site_release(site);
	kfree_rcu(site, rcu);
}

/**
 * kprobe_site_from_in() - find the first site of a tree at or after an address
 * @root: sites by address
 * @addr: the address
 *
 * Context: kprobe_mutex held.
 * Return: the site, or NULL.
 */
struct kprobe_site *kprobe_site_from_in(struct rb_root *root, unsigned long addr)
{
	struct rb_node *node = root->rb_node;
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

/**
 * kprobe_site_from() - find the first site at or after an address
 * @addr: the address
 *
 * Context: kprobe_mutex held.
 * Return: the site, or NULL.
 */
struct kprobe_site *kprobe_site_from(unsigned long addr)
{
	lockdep_assert_held(&kprobe_mutex);

	return kprobe_site_from_in(&kprobe_sites, addr);
}

/**
 * kprobe_site_next() - find the site after another one
 * @site: the other one
 *
 * Context: kprobe_mutex held.
 * Return: the next by address, which may be the same address; or NULL.
 */
struct kprobe_site *kprobe_site_next(struct kprobe_site *site)
{
	struct rb_node *node = rb_next(&site->node);

	lockdep_assert_held(&kprobe_mutex);

	return node ? rb_entry(node, struct kprobe_site, node) : NULL;
}

/**
 * kprobe_site_at() - find the site of an address whose code exists
 * @addr: the address
 *
 * Context: kprobe_mutex held.
 * Return: the site, also when it is NEW; NULL if there is none.
 */
struct kprobe_site *kprobe_site_at(unsigned long addr)
{
	struct kprobe_site *site;

	lockdep_assert_held(&kprobe_mutex);

	for_each_kprobe_site_in(site, addr, addr + 1) {
		if (site->state != KPROBE_SITE_GONE)
			return site;
	}

	return NULL;
}

/**
 * kprobe_site_of_user() - find the site that a user's probe is registered at
 * @p: a probe, registered or not
 *
 * Relies only on the address in @p.
 *
 * Context: kprobe_mutex held.
 * Return: the site, or NULL when @p is not registered.
 */
struct kprobe_site *kprobe_site_of_user(struct kprobe *p)
{
	unsigned long addr = (unsigned long)p->addr;
	struct kprobe_site *site;
	struct kprobe *user;

	lockdep_assert_held(&kprobe_mutex);

	for_each_kprobe_site_in(site, addr, addr + 1) {
		list_for_each_entry(user, &site->users, list) {
			if (user == p)
				return site;
		}
	}

	return NULL;
}

/*
 * The only enabled user, if a hit only has to call its pre handler: without a fault
 * handler, faults need no owner.
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
static void publish_plain_return(struct kprobe_site *site, struct kprobe *p)
{
	struct kretprobe *rp = NULL;

	if (p && is_kretprobe(p))
		rp = container_of(p, struct kretprobe, kp);
	if (rp && rp->entry_handler)
		rp = NULL;
	rcu_assign_pointer(site->head.plain_return, rp);
}
#else
static void publish_plain_return(struct kprobe_site *site, struct kprobe *p)
{
}
#endif

/* Update what depends on the users and on which of them are enabled. */
static void site_update(struct kprobe_site *site)
{
	struct kprobe *p = sole_user(site);

	rcu_assign_pointer(site->head.sole, p);
	publish_plain_return(site, p);
	kprobe_publish_flag(&site->head.kp, KPROBE_FLAG_DISABLED, !site->nr_enabled);
}

/**
 * kprobe_site_note_handlers() - give a site the handlers that a user needs
 * @site: the site
 * @p: the probe of the user
 *
 * Once a site has a post handler or a fault handler it keeps it: backends test the
 * pointer first and call it later.
 *
 * Context: kprobe_mutex held.
 */
void kprobe_site_note_handlers(struct kprobe_site *site, const struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);

	if (p->post_handler)
		WRITE_ONCE(site->head.kp.post_handler, kprobe_site_post_handler);
	if (p->fault_handler)
		WRITE_ONCE(site->head.kp.fault_handler, kprobe_site_fault_handler);
}

/**
 * kprobe_site_add_user() - add a probe to the users of a site
 * @site: the site, which may be draining
 * @p: the probe, enabled unless it has KPROBE_FLAG_DISABLED
 *
 * Context: kprobe_mutex held.
 */
void kprobe_site_add_user(struct kprobe_site *site, struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);

	/* The site must not be freed any more. */
	list_del_init(&site->reap);

	p->addr = site->head.kp.addr;
	p->nmissed = 0;
	p->flags &= KPROBE_FLAG_DISABLED;
	p->flags |= site->head.kp.flags & (KPROBE_FLAG_FTRACE | KPROBE_FLAG_ON_FUNC_ENTRY);
	INIT_HLIST_NODE(&p->hlist);

	kprobe_site_note_handlers(site, p);
	list_add_rcu(&p->list, &site->users);
	site->nr_users++;
	if (!(p->flags & KPROBE_FLAG_DISABLED))
		site->nr_enabled++;
	site_update(site);
}

/**
 * kprobe_site_del_user() - remove a probe from the users of a site
 * @site: the site
 * @p: one of its users
 *
 * Hits may still be calling @p: the caller waits for a grace period, and then
 * initializes the list node again.
 *
 * Context: kprobe_mutex held.
 */
void kprobe_site_del_user(struct kprobe_site *site, struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);

	if (!(p->flags & KPROBE_FLAG_DISABLED))
		site->nr_enabled--;
	site->nr_users--;
	list_del_rcu(&p->list);
	kprobe_publish_flag(p, KPROBE_FLAG_DISABLED, true);
	site_update(site);
}

/**
 * kprobe_site_enable_user() - enable or disable one user
 * @site: the site
 * @p: one of its users, in the other state
 * @on: the new state
 *
 * Context: kprobe_mutex held.
 */
void kprobe_site_enable_user(struct kprobe_site *site, struct kprobe *p, bool on)
{
	lockdep_assert_held(&kprobe_mutex);

	kprobe_publish_flag(p, KPROBE_FLAG_DISABLED, !on);
	site->nr_enabled += on ? 1 : -1;
	site_update(site);
}

/**
 * kprobe_site_has_post() - does a user have a post handler?
 * @site: the site
 *
 * Unlike the post handler of the site, this is not sticky.
 *
 * Context: kprobe_mutex held.
 * Return: true if one does.
 */
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

/**
 * kprobe_site_has_fault() - does a user have a fault handler?
 * @site: the site
 *
 * Context: kprobe_mutex held.
 * Return: true if one does.
 */
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
