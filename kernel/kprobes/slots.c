// SPDX-License-Identifier: GPL-2.0-only
/*
 * Instruction slots: small pieces of executable memory for copies of probed
 * instructions. This component knows nothing of probes.
 *
 * A slot that some CPU may still execute is freed as dirty, and is reused only
 * after a grace period. Dirty slots are collected while one grace period runs and
 * share the next. Allocation never waits for one: if no clean slot is left, it
 * takes another page.
 *
 * Where branches cannot reach all of the address space, it is divided into
 * regions, and a page has slots for one region only. The architecture allocates
 * the page so that each of its slots can reach each address of the region.
 */

#include <kunit/static_stub.h>
#include <linux/bitmap.h>
#include <linux/hash.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <asm/kprobes.h>

#include "slots.h"

struct slot_page {
	void				*base;
	struct list_head		list;		/* in kprobe_slot_cache.pages */
	struct list_head		partial;	/* in that of its region, or empty */
	struct list_head		dirty_list;	/* in .dirty, or on the list waited for */
	struct hlist_node		by_addr;	/* in kprobe_slot_cache.by_addr */
	struct rcu_work			free_work;	/* frees the page after a grace period */
	struct kprobe_slot_cache	*cache;
	struct kprobe_slot_region	*region;	/* that its slots serve */
	void				**owner;	/* of each slot, if recorded; RCU */
	unsigned int			nr_slots;
	unsigned int			nr_taken;	/* with the dirty ones */
	unsigned int			nr_dirty;	/* waited for or not */
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

/* Not less than nr_slots if @addr is in the head of the page, or in its tail. */
static nokprobe_inline unsigned long slot_index(const struct slot_page *page,
						unsigned long addr)
{
	unsigned long first = (unsigned long)page->base + page->cache->head_size;

	return (addr - first) / page->cache->slot_size;
}

static struct slot_page *page_create(struct kprobe_slot_cache *cache,
				     struct kprobe_slot_region *region)
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
		page->base = region == &cache->anywhere ?
			     cache->alloc() : cache->alloc_near(region->start);
	if (!page->base) {
		kfree(page->owner);
		kfree(page);
		return NULL;
	}

	page->cache = cache;
	page->region = region;
	page->nr_slots = nr_slots;
	INIT_LIST_HEAD(&page->dirty_list);
	list_add(&page->partial, &region->partial);
	list_add_tail_rcu(&page->list, &cache->pages);
	hlist_add_head_rcu(&page->by_addr,
			   page_bucket(cache, (unsigned long)page->base));
	region->nr_empty++;

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

	page->region->nr_empty--;
	list_del(&page->partial);
	list_del_rcu(&page->list);
	hlist_del_rcu(&page->by_addr);

	/* Lookups by address may still use it. */
	INIT_RCU_WORK(&page->free_work, kprobe_slot_page_free_work);
	queue_rcu_work(system_percpu_wq, &page->free_work);
}

static void slot_clean(struct slot_page *page, unsigned int i)
{
	struct kprobe_slot_region *region = page->region;

	__clear_bit(i, page->taken);
	if (page->nr_taken-- == page->nr_slots)
		list_add_tail(&page->partial, &region->partial);
	if (!page->nr_taken)
		region->nr_empty++;
}

/*
 * Each region keeps one empty page, so that a probe that is registered repeatedly does
 * not allocate a page each time.
 */
static void page_retire_surplus(struct slot_page *page)
{
	if (!page->nr_taken && page->region->nr_empty > 1)
		page_retire(page);
}

static void *region_get_slot(struct kprobe_slot_cache *cache,
			     struct kprobe_slot_region *region)
{
	struct slot_page *page;
	unsigned int i;

	lockdep_assert_held(&cache->mutex);

	page = list_first_entry_or_null(&region->partial, struct slot_page, partial);
	if (!page)
		page = page_create(cache, region);
	if (!page)
		return NULL;

	i = find_first_zero_bit(page->taken, page->nr_slots);
	__set_bit(i, page->taken);
	if (!page->nr_taken)
		region->nr_empty--;
	if (++page->nr_taken == page->nr_slots)
		list_del_init(&page->partial);

	return slot_addr(page, i);
}

static struct kprobe_slot_region *region_find(struct kprobe_slot_cache *cache,
					      unsigned long start)
{
	struct kprobe_slot_region *region;

	list_for_each_entry(region, &cache->regions, list) {
		if (region->start == start)
			return region;
	}

	return NULL;
}

/* The first slot of a region, which is never freed: it keeps an empty page. */
static void *region_create(struct kprobe_slot_cache *cache, unsigned long start)
{
	struct kprobe_slot_region *region;
	void *slot;

	region = kzalloc_obj(*region);
	if (!region)
		return NULL;

	region->start = start;
	INIT_LIST_HEAD(&region->partial);
	slot = region_get_slot(cache, region);
	if (slot)
		list_add(&region->list, &cache->regions);
	else
		kfree(region);
	return slot;
}

/* A slot anywhere, or NULL without memory. kprobe_mutex and text_mutex may be held. */
void *kprobe_slot_get(struct kprobe_slot_cache *cache)
{
	guard(mutex)(&cache->mutex);

	return region_get_slot(cache, &cache->anywhere);
}

/* The same in reach of an address. */
void *kprobe_slot_get_near(struct kprobe_slot_cache *cache, unsigned long addr)
{
	struct kprobe_slot_region *region;
	unsigned long start;

	if (!cache->region_shift)
		return kprobe_slot_get(cache);

	guard(mutex)(&cache->mutex);

	start = addr >> cache->region_shift << cache->region_shift;
	region = region_find(cache, start);
	return region ? region_get_slot(cache, region) : region_create(cache, start);
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

static void slots_call_rcu(struct kprobe_slot_cache *cache)
{
	if (cache->tasks_rcu)
		kprobe_slots_call_rcu_tasks(&cache->rcu, kprobe_slots_grace_over);
	else
		call_rcu(&cache->rcu, kprobe_slots_grace_over);
}

#ifdef CONFIG_TASKS_RCU
static void slots_barrier(struct kprobe_slot_cache *cache)
{
	if (cache->tasks_rcu)
		rcu_barrier_tasks();
	rcu_barrier();
}
#else
static void slots_barrier(struct kprobe_slot_cache *cache)
{
	rcu_barrier();
}
#endif

static void slots_begin_grace(struct kprobe_slot_cache *cache)
{
	struct slot_page *page;

	lockdep_assert_held(&cache->mutex);

	list_for_each_entry(page, &cache->dirty, dirty_list) {
		bitmap_copy(waiting_map(page), dirty_map(page), page->nr_slots);
		bitmap_zero(dirty_map(page), page->nr_slots);
	}

	cache->waiting = true;
	slots_call_rcu(cache);
}

/* A grace period for dirty slots is over. */
void kprobe_slots_work(struct work_struct *work)
{
	struct kprobe_slot_cache *cache = container_of(work, struct kprobe_slot_cache,
						       work);
	struct slot_page *page, *tmp;
	unsigned int i;

	guard(mutex)(&cache->mutex);

	if (cache->sync)
		cache->sync();

	list_for_each_entry_safe(page, tmp, &cache->dirty, dirty_list) {
		for_each_set_bit(i, waiting_map(page), page->nr_slots) {
			slot_clean(page, i);
			page->nr_dirty--;
		}
		bitmap_zero(waiting_map(page), page->nr_slots);

		if (page->nr_dirty)
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
	if (!page->nr_dirty++)
		list_add_tail(&page->dirty_list, &cache->dirty);
	if (!cache->waiting)
		slots_begin_grace(cache);
}

/* NULL before the slot is freed. */
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

/* Of the slot at any address, or NULL. Also in NMI; owners are freed by RCU. */
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

/* Wait until no slot is dirty. For tests. */
void kprobe_slots_flush(struct kprobe_slot_cache *cache)
{
	bool waiting;

	do {
		slots_barrier(cache);
		flush_work(&cache->work);
		scoped_guard(mutex, &cache->mutex)
			waiting = cache->waiting;
	} while (waiting);
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
