// SPDX-License-Identifier: GPL-2.0-only
/*
 * Instruction slots: small pieces of executable memory for copies of probed
 * instructions, and for detours. There is a cache of each; the caches know nothing
 * of probes.
 *
 * A slot that may still be executed is freed as dirty, and is reused only after a grace
 * period of tasks-RCU: a task may have been preempted in it. Dirty slots are collected
 * while one grace period runs and share the next. Allocation never waits for one: if no
 * clean slot is left, it takes another page.
 *
 * Where branches cannot reach all of the address space, it is divided into
 * regions, and a page has slots for one region only. The architecture allocates
 * the page so that each of its slots can reach each address of the region.
 */

#include <kunit/static_stub.h>
#include <linux/bitmap.h>
#include <linux/execmem.h>
#include <linux/hash.h>
#include <linux/kprobes.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "slots.h"

struct slot_page {
	void				*base;
	struct list_head		list;		/* in kprobe_slot_cache.pages */
	struct list_head		partial;	/* in kprobe_slot_cache.partial, or empty */
	struct list_head		dirty_list;	/* in .dirty, while any slot is */
	struct hlist_node		by_addr;	/* in kprobe_slot_cache.by_addr */
	struct rcu_work			free_work;	/* frees the page after a grace period */
	struct kprobe_slot_cache	*cache;
	unsigned long			region;		/* its start, or KPROBE_SLOT_ANYWHERE */
	void				**owner;	/* of each slot, if recorded; RCU */
	unsigned int			nr_slots;
	unsigned int			nr_taken;	/* with the dirty ones */
	/*
	 * Slots in use; followed by a second map with the dirty ones for which no grace period
	 * has begun, and a third with those it runs for.
	 */
	unsigned long			taken[];
};

static unsigned long *dirty_map(struct slot_page *page)
{
	return page->taken + BITS_TO_LONGS(page->nr_slots);
}

static unsigned long *waiting_map(struct slot_page *page)
{
	return page->taken + 2 * BITS_TO_LONGS(page->nr_slots);
}

static struct hlist_head *page_bucket(struct kprobe_slot_cache *cache,
				      unsigned long addr)
{
	return &cache->by_addr[hash_long(addr >> PAGE_SHIFT,
					 ilog2(KPROBE_SLOT_BUCKETS))];
}

/* The cache's mutex, or RCU; NMI-safe. */
static nokprobe_inline struct slot_page *
page_find(struct kprobe_slot_cache *cache, unsigned long addr)
{
	struct slot_page *page;

	hlist_for_each_entry_rcu(page, page_bucket(cache, addr), by_addr, true) {
		if (addr - (unsigned long)page->base < PAGE_SIZE)
			return page;
	}

	return NULL;
}

static void *slot_addr(const struct slot_page *page, unsigned int i)
{
	return page->base + page->cache->head_size + i * page->cache->slot_size;
}

/* At least nr_slots if @addr is in the head of the page, or in its tail. */
static nokprobe_inline unsigned long slot_index(const struct slot_page *page,
						unsigned long addr)
{
	unsigned long first = (unsigned long)page->base + page->cache->head_size;

	return (addr - first) / page->cache->slot_size;
}

static struct slot_page *page_create(struct kprobe_slot_cache *cache, unsigned long region)
{
	unsigned int nr_slots = (PAGE_SIZE - cache->head_size) / cache->slot_size;
	struct slot_page *page;

	lockdep_assert_held(&cache->mutex);

	page = kzalloc(struct_size(page, taken, 3 * BITS_TO_LONGS(nr_slots)),
		       GFP_KERNEL);
	if (!page)
		return NULL;

	if (cache->owned)
		page->owner = kzalloc_objs(*page->owner, nr_slots);
	if (!cache->owned || page->owner)
		page->base = region == KPROBE_SLOT_ANYWHERE ? cache->alloc() :
							      cache->alloc_near(region);
	if (!page->base) {
		kfree(page->owner);
		kfree(page);
		return NULL;
	}

	page->cache = cache;
	page->region = region;
	page->nr_slots = nr_slots;
	INIT_LIST_HEAD(&page->dirty_list);
	list_add(&page->partial, &cache->partial);
	list_add_tail_rcu(&page->list, &cache->pages);
	hlist_add_head_rcu(&page->by_addr,
			   page_bucket(cache, (unsigned long)page->base));

	perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL,
			   (unsigned long)page->base, PAGE_SIZE, false,
			   cache->symbol);
	return page;
}

static void kprobe_slot_page_free_work(struct work_struct *work)
{
	struct slot_page *page = container_of(to_rcu_work(work),
					      struct slot_page, free_work);

	page->cache->free(page->base);
	kfree(page->owner);
	kfree(page);
}

static void page_retire(struct slot_page *page)
{
	struct kprobe_slot_cache *cache = page->cache;

	perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL,
			   (unsigned long)page->base, PAGE_SIZE, true,
			   cache->symbol);

	list_del(&page->partial);
	list_del_rcu(&page->list);
	hlist_del_rcu(&page->by_addr);

	/* Lookups by address may still use it. */
	INIT_RCU_WORK(&page->free_work, kprobe_slot_page_free_work);
	queue_rcu_work(system_percpu_wq, &page->free_work);
}

static void slot_clean(struct slot_page *page, unsigned int i)
{
	__clear_bit(i, page->taken);
	if (page->nr_taken-- == page->nr_slots)
		list_add_tail(&page->partial, &page->cache->partial);
}

/*
 * Each region keeps one empty page, so that a probe that is registered repeatedly does
 * not allocate a page each time.
 */
static void page_retire_surplus(struct slot_page *page)
{
	struct slot_page *other;

	if (page->nr_taken)
		return;

	list_for_each_entry(other, &page->cache->partial, partial) {
		if (other != page && !other->nr_taken && other->region == page->region) {
			page_retire(page);
			return;
		}
	}
}

static struct slot_page *page_with_room(struct kprobe_slot_cache *cache, unsigned long region)
{
	struct slot_page *page;

	list_for_each_entry(page, &cache->partial, partial) {
		if (page->region == region)
			return page;
	}

	return page_create(cache, region);
}

/*
 * A slot in reach of branches at @addr, or NULL if out of memory. kprobe_mutex and text_mutex may
 * be held.
 */
void *kprobe_slot_get(struct kprobe_slot_cache *cache, unsigned long addr)
{
	unsigned int shift = cache->region_shift, i;
	unsigned long region = KPROBE_SLOT_ANYWHERE;
	struct slot_page *page;

	if (shift && addr != KPROBE_SLOT_ANYWHERE)
		region = addr >> shift << shift;

	guard(mutex)(&cache->mutex);

	page = page_with_room(cache, region);
	if (!page)
		return NULL;

	i = find_first_zero_bit(page->taken, page->nr_slots);
	__set_bit(i, page->taken);
	if (++page->nr_taken == page->nr_slots)
		list_del_init(&page->partial);

	return slot_addr(page, i);
}

static void kprobe_slots_grace_over(struct rcu_head *rcu)
{
	struct kprobe_slot_cache *cache = container_of(rcu, struct kprobe_slot_cache,
						       rcu);

	/* The mutex cannot be taken here. */
	schedule_work(&cache->work);
}

/* A function of its own, so that tests can delay it. */
void kprobe_slots_call_rcu_tasks(struct rcu_head *rcu, rcu_callback_t func)
{
	KUNIT_STATIC_STUB_REDIRECT(kprobe_slots_call_rcu_tasks, rcu, func);
	call_rcu_tasks(rcu, func);
}

static void slots_begin_grace(struct kprobe_slot_cache *cache)
{
	struct slot_page *page;

	lockdep_assert_held(&cache->mutex);

	list_for_each_entry(page, &cache->dirty, dirty_list) {
		bitmap_copy(waiting_map(page), dirty_map(page), page->nr_slots);
		bitmap_zero(dirty_map(page), page->nr_slots);
	}

	cache->waiting = true;
	kprobe_slots_call_rcu_tasks(&cache->rcu, kprobe_slots_grace_over);
}

/* A grace period for dirty slots is over. */
void kprobe_slots_work(struct work_struct *work)
{
	struct kprobe_slot_cache *cache = container_of(work, struct kprobe_slot_cache,
						       work);
	struct slot_page *page, *tmp;
	unsigned int i;

	guard(mutex)(&cache->mutex);

	arch_sync_insn_slots();

	list_for_each_entry_safe(page, tmp, &cache->dirty, dirty_list) {
		for_each_set_bit(i, waiting_map(page), page->nr_slots)
			slot_clean(page, i);
		bitmap_zero(waiting_map(page), page->nr_slots);

		if (!bitmap_empty(dirty_map(page), page->nr_slots))
			continue;
		list_del_init(&page->dirty_list);
		page_retire_surplus(page);
	}

	cache->waiting = false;
	if (!list_empty(&cache->dirty))
		slots_begin_grace(cache);
}

/* A slot that is @dirty may still be executed; others can be reused at once. Does not wait. */
void kprobe_slot_free(struct kprobe_slot_cache *cache, void *slot, bool dirty)
{
	unsigned long addr = (unsigned long)slot;
	struct slot_page *page;
	unsigned int i;

	guard(mutex)(&cache->mutex);

	page = page_find(cache, addr);
	if (WARN_ON_ONCE(!page))
		return;

	i = slot_index(page, addr);
	if (WARN_ON_ONCE(i >= page->nr_slots || !test_bit(i, page->taken) ||
			 test_bit(i, dirty_map(page)) ||
			 test_bit(i, waiting_map(page))))
		return;

	if (!dirty) {
		slot_clean(page, i);
		page_retire_surplus(page);
		return;
	}

	__set_bit(i, dirty_map(page));
	if (list_empty(&page->dirty_list))
		list_add_tail(&page->dirty_list, &cache->dirty);
	if (!cache->waiting)
		slots_begin_grace(cache);
}

/* Set the owner of a slot; set it to NULL before the slot is freed. */
void kprobe_slot_own(struct kprobe_slot_cache *cache, void *slot, void *owner)
{
	unsigned long addr = (unsigned long)slot;
	struct slot_page *page;

	guard(mutex)(&cache->mutex);

	page = page_find(cache, addr);
	if (WARN_ON_ONCE(!page))
		return;

	/* Pairs with the acquire in kprobe_slot_owner(). */
	smp_store_release(&page->owner[slot_index(page, addr)], owner);
}

/* The owner of the slot at @addr, or NULL. NMI-safe; RCU frees owners. */
void *kprobe_slot_owner(struct kprobe_slot_cache *cache, unsigned long addr)
{
	struct slot_page *page = page_find(cache, addr);
	unsigned long i;

	if (!page)
		return NULL;

	i = slot_index(page, addr);
	/* Pairs with the release in kprobe_slot_own(). */
	return i < page->nr_slots ? smp_load_acquire(&page->owner[i]) : NULL;
}
NOKPROBE_SYMBOL(kprobe_slot_owner);

/* Also in NMI, with RCU watching. */
bool kprobe_slots_contain(struct kprobe_slot_cache *cache, unsigned long addr)
{
	bool found;

	preempt_disable_notrace();
	found = page_find(cache, addr);
	preempt_enable_notrace();

	return found;
}
NOKPROBE_SYMBOL(kprobe_slots_contain);

/* The pages as symbols. @nr is reduced by the number of pages if there are not that many. */
bool kprobe_slots_kallsym(struct kprobe_slot_cache *cache, unsigned int *nr,
			  unsigned long *value, char *type, char *sym)
{
	struct slot_page *page;

	guard(rcu)();

	list_for_each_entry_rcu(page, &cache->pages, list) {
		if ((*nr)--)
			continue;
		*value = (unsigned long)page->base;
		*type = 't';
		strscpy(sym, cache->symbol, KSYM_NAME_LEN);
		return true;
	}

	return false;
}

/* In use or dirty. For tests. */
unsigned int kprobe_slots_taken(struct kprobe_slot_cache *cache)
{
	struct slot_page *page;
	unsigned int nr = 0;

	guard(mutex)(&cache->mutex);

	list_for_each_entry(page, &cache->pages, list)
		nr += page->nr_taken;
	return nr;
}

/*
 * The two caches
 */

void __weak arch_sync_insn_slots(void)
{
}

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT

/**
 * kprobe_boosts() - may a copy of an instruction branch back to the text by itself?
 *
 * Such a copy runs without a current probe, and with interrupts as in the program. Only a grace
 * period keeps its slot from being freed meanwhile. With PREEMPT_COUNT but without PREEMPTION,
 * RCU takes any tick that hits the slot for a quiescent state, so the grace period could end too
 * early. Tests can redirect this function.
 *
 * Context: any.
 * Return: true if it may.
 */
bool kprobe_boosts(void)
{
	KUNIT_STATIC_STUB_REDIRECT(kprobe_boosts);
	return IS_ENABLED(CONFIG_PREEMPTION) || !IS_ENABLED(CONFIG_PREEMPT_COUNT);
}

void * __weak alloc_insn_page(void)
{
	return execmem_alloc(EXECMEM_KPROBES, PAGE_SIZE);
}

void __weak free_insn_page(void *page)
{
	execmem_free(page);
}

struct kprobe_slot_cache kprobe_insn_slots = {
	KPROBE_SLOT_CACHE_INIT(kprobe_insn_slots),
	.alloc		= alloc_insn_page,
	.free		= free_insn_page,
	.symbol		= "kprobe_insn_page",
	.slot_size	= KPROBE_INSN_SLOT_SIZE,
#ifdef KPROBE_BRANCH_RANGE
	.alloc_near	= alloc_insn_page_near,
	.region_shift	= KPROBE_SLOT_REGION_SHIFT,
#endif
};

/**
 * get_insn_slot() - allocate a slot for the copy of an instruction
 *
 * Context: as kprobe_slot_get().
 * Return: the slot, or NULL if out of memory.
 */
kprobe_opcode_t *get_insn_slot(void)
{
	return kprobe_slot_get(&kprobe_insn_slots, KPROBE_SLOT_ANYWHERE);
}

/**
 * free_insn_slot() - give a slot back
 * @slot: the slot
 * @dirty: non-zero if it may still be executed
 *
 * Context: as kprobe_slot_free().
 */
void free_insn_slot(kprobe_opcode_t *slot, int dirty)
{
	kprobe_slot_free(&kprobe_insn_slots, slot, dirty);
}

/**
 * is_kprobe_insn_slot() - is an address in the slots?
 * @addr: the address
 *
 * Context: any, also NMI, with RCU watching.
 * Return: true if it is.
 */
bool is_kprobe_insn_slot(unsigned long addr)
{
	return kprobe_slots_contain(&kprobe_insn_slots, addr);
}
NOKPROBE_SYMBOL(is_kprobe_insn_slot);

#endif /* __ARCH_WANT_KPROBES_INSN_SLOT */

#ifdef CONFIG_OPTPROBES

#if KPROBE_OPTINSN_HEAD_SIZE
static void *alloc_optinsn_page_near(unsigned long start)
{
	void *page = alloc_insn_page_near(start);

	if (!page || !arch_fill_optinsn_head(page))
		return page;

	free_insn_page(page);
	return NULL;
}
#else
#define alloc_optinsn_page_near	alloc_insn_page_near
#endif

/* kprobe_opt_init() sets the size of a slot, which is known only at run time. */
struct kprobe_slot_cache kprobe_optinsn_slots = {
	KPROBE_SLOT_CACHE_INIT(kprobe_optinsn_slots),
	.alloc		= alloc_insn_page,
	.free		= free_insn_page,
	.symbol		= "kprobe_optinsn_page",
	.head_size	= KPROBE_OPTINSN_HEAD_SIZE,
#ifdef KPROBE_BRANCH_RANGE
	.alloc_near	= alloc_optinsn_page_near,
	.region_shift	= KPROBE_SLOT_REGION_SHIFT,
#endif
	.owned		= true,
};

/**
 * get_optinsn_slot() - allocate a slot for a detour
 *
 * Context: as kprobe_slot_get().
 * Return: the slot, or NULL if out of memory.
 */
kprobe_opcode_t *get_optinsn_slot(void)
{
	return kprobe_slot_get(&kprobe_optinsn_slots, KPROBE_SLOT_ANYWHERE);
}

/**
 * free_optinsn_slot() - give a slot back
 * @slot: the slot
 * @dirty: non-zero if a task may still be in it; after
 *	   arch_remove_optimized_kprobe() was called, there is none
 *
 * Context: as kprobe_slot_free().
 */
void free_optinsn_slot(kprobe_opcode_t *slot, int dirty)
{
	kprobe_slot_own(&kprobe_optinsn_slots, slot, NULL);
	kprobe_slot_free(&kprobe_optinsn_slots, slot, dirty);
}

/**
 * is_kprobe_optinsn_slot() - is an address in a detour?
 * @addr: the address
 *
 * Context: any, also NMI, with RCU watching.
 * Return: true if it is.
 */
bool is_kprobe_optinsn_slot(unsigned long addr)
{
	return kprobe_slots_contain(&kprobe_optinsn_slots, addr);
}
NOKPROBE_SYMBOL(is_kprobe_optinsn_slot);

/**
 * kprobe_optinsn_owner() - find the probe whose detour is at an address
 * @addr: the address
 *
 * Context: any, also NMI; preemption off for as long as the probe is used.
 * Return: the probe, or NULL.
 */
struct optimized_kprobe *kprobe_optinsn_owner(unsigned long addr)
{
	return kprobe_slot_owner(&kprobe_optinsn_slots, addr);
}
NOKPROBE_SYMBOL(kprobe_optinsn_owner);

#endif /* CONFIG_OPTPROBES */
