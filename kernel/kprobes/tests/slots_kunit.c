// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the instruction slots, on caches of their own with pages that are never
 * executed.
 */

#include "suite.h"

#include <kunit/static_stub.h>
#include <linux/execmem.h>
#include <linux/gfp.h>
#include <linux/sort.h>

#include "../slots.h"
#include "../site.h"

#define SLOT_SIZE	48
#define SLOTS_PER_PAGE	(PAGE_SIZE / SLOT_SIZE)
#define NR_PAGES	4
#define NR_SLOTS	(NR_PAGES * SLOTS_PER_PAGE)

/*
 * The caches are never destroyed. So they and the one page that each of them keeps are
 * static, not in a fixture. Every case begins and ends without a slot in use.
 */
static atomic_t pages_out;
static bool no_memory;

static void *fake_page_alloc(void)
{
	void *page = no_memory ? NULL : (void *)get_zeroed_page(GFP_KERNEL);

	if (page)
		atomic_inc(&pages_out);
	return page;
}

static void fake_page_free(void *page)
{
	atomic_dec(&pages_out);
	free_page((unsigned long)page);
}

static struct kprobe_slot_cache cache = {
	KPROBE_SLOT_CACHE_INIT(cache),
	.alloc		= fake_page_alloc,
	.free		= fake_page_free,
	.symbol		= "kunit_slot_page",
	.slot_size	= SLOT_SIZE,
};

static struct kprobe_slot_cache owned_cache = {
	KPROBE_SLOT_CACHE_INIT(owned_cache),
	.alloc		= fake_page_alloc,
	.free		= fake_page_free,
	.symbol		= "kunit_slot_page",
	.slot_size	= SLOT_SIZE,
	.owned		= true,
};

/*
 * Regions of 1 MiB that exist only as numbers. Each page starts with a header that
 * records the region it was allocated for.
 */
#define FAKE_REGION_SHIFT	20
#define REGION(n)	((unsigned long)(n) << FAKE_REGION_SHIFT)
#define NO_MEMORY	REGION(13)
#define HEAD_SIZE	200
#define SLOTS_AFTER_HEAD ((PAGE_SIZE - HEAD_SIZE) / SLOT_SIZE)

static void *region_page_alloc(unsigned long start)
{
	unsigned long *page = start == NO_MEMORY ? NULL : fake_page_alloc();

	if (page)
		*page = start;
	return page;
}

static struct kprobe_slot_cache region_cache = {
	KPROBE_SLOT_CACHE_INIT(region_cache),
	.alloc		= fake_page_alloc,
	.alloc_near	= region_page_alloc,
	.free		= fake_page_free,
	.symbol		= "kunit_slot_page",
	.slot_size	= SLOT_SIZE,
	.head_size	= HEAD_SIZE,
	.region_shift	= FAKE_REGION_SHIFT,
	.owned		= true,
};

/* What a case holds. */
struct slots_test {
	struct kprobe_slot_cache	*cache;
	unsigned int			nr;
	int				pages_before;
	unsigned long			slot[];
};

static unsigned int take(struct slots_test *t, unsigned int nr)
{
	while (nr--) {
		t->slot[t->nr] = (unsigned long)kprobe_slot_get(t->cache, KPROBE_SLOT_ANYWHERE);
		if (!t->slot[t->nr])
			break;
		t->nr++;
	}
	return t->nr;
}

static void give_all_back(struct slots_test *t, bool dirty)
{
	while (t->nr)
		kprobe_slot_free(t->cache, (void *)t->slot[--t->nr], dirty);
}

/* Pages are freed some time after a grace period. */
static void wait_for_pages(int nr)
{
	int i;

	rcu_barrier();
	for (i = 0; i < 500 && atomic_read(&pages_out) > nr; i++)
		msleep(10);
}

static int cmp_ulong(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

static void slots_are_unique_aligned_and_apart(struct kunit *test)
{
	struct slots_test *t = test->priv;
	unsigned int i, crooked = 0, overlapping = 0;
	unsigned long in_page;

	KUNIT_ASSERT_EQ(test, take(t, NR_SLOTS), NR_SLOTS);
	sort(t->slot, t->nr, sizeof(*t->slot), cmp_ulong, NULL);

	for (i = 0; i < t->nr; i++) {
		in_page = offset_in_page(t->slot[i]);
		crooked += in_page % SLOT_SIZE || in_page + SLOT_SIZE > PAGE_SIZE;
		if (i)
			overlapping += t->slot[i] - t->slot[i - 1] < SLOT_SIZE;
	}
	KUNIT_EXPECT_EQ(test, crooked, 0);
	KUNIT_EXPECT_EQ(test, overlapping, 0);
	/* As many as fit. */
	KUNIT_EXPECT_LE(test, atomic_read(&pages_out) - t->pages_before, NR_PAGES);
}

static void slots_clean_one_is_used_again_at_once(struct kunit *test)
{
	struct slots_test *t = test->priv;
	unsigned long slot;
	int pages;

	KUNIT_ASSERT_EQ(test, take(t, SLOTS_PER_PAGE), SLOTS_PER_PAGE);
	pages = atomic_read(&pages_out);

	slot = t->slot[SLOTS_PER_PAGE / 2];
	kprobe_slot_free(t->cache, (void *)slot, false);
	t->slot[SLOTS_PER_PAGE / 2] = (unsigned long)kprobe_slot_get(t->cache,
								     KPROBE_SLOT_ANYWHERE);
	KUNIT_EXPECT_EQ(test, t->slot[SLOTS_PER_PAGE / 2], slot);
	KUNIT_EXPECT_EQ(test, atomic_read(&pages_out), pages);
}

/* A CPU that RCU, or tasks-RCU, has to wait for. */
struct holder {
	struct task_struct	*task;
	struct completion	ready;
	bool			stop;
};

static int hold_grace_period(void *data)
{
	struct holder *h = data;

	rcu_read_lock();
	complete(&h->ready);
	while (!READ_ONCE(h->stop))
		cpu_relax();
	rcu_read_unlock();

	return kp_await_stop();
}

static void hold(struct kunit *test, struct holder *h, int (*thread)(void *data))
{
	init_completion(&h->ready);
	h->task = kthread_run_on_cpu(thread, h,
				     cpumask_any_but(cpu_online_mask, raw_smp_processor_id()),
				     "kp_slots/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(h->task));
	wait_for_completion(&h->ready);
}

static void let_go(struct holder *h)
{
	WRITE_ONCE(h->stop, true);
	kthread_stop(h->task);
}

/* It was dirty, and is available after all grace periods. */
static void expect_again(struct kunit *test, unsigned long dirty)
{
	struct slots_test *t = test->priv;

	kp_flush_slots(t->cache);
	while (t->nr < NR_SLOTS && take(t, 1) && t->slot[t->nr - 1] != dirty)
		;
	KUNIT_EXPECT_EQ_MSG(test, t->slot[t->nr - 1], dirty, "the slot is lost");
}

/* The page has no other free slot, so this one would be next. */
static unsigned long free_dirty(struct slots_test *t)
{
	unsigned long slot = t->slot[--t->nr];

	kprobe_slot_free(t->cache, (void *)slot, true);
	return slot;
}

/* After everything that could free it, except a grace period of tasks. */
static bool comes_without_tasks(struct slots_test *t, unsigned long dirty)
{
	synchronize_rcu();
	rcu_barrier();
	flush_work(&t->cache->work);
	take(t, 1);
	return t->slot[t->nr - 1] == dirty;
}

static void slots_dirty_one_waits_for_a_grace_period(struct kunit *test)
{
	struct slots_test *t = test->priv;
	unsigned long dirty;
	unsigned int i, again = 0;
	struct holder h = {};

	KP_SKIP_IF(test, num_online_cpus() < 2, "needs two CPUs");

	KUNIT_ASSERT_EQ(test, take(t, SLOTS_PER_PAGE), SLOTS_PER_PAGE);
	hold(test, &h, hold_grace_period);

	dirty = free_dirty(t);
	for (i = 0; i < 10; i++) {
		take(t, 1);
		again += t->slot[t->nr - 1] == dirty;
		schedule_timeout_uninterruptible(1);
	}
	let_go(&h);
	KUNIT_EXPECT_EQ_MSG(test, again, 0, "a dirty slot was handed out");
	expect_again(test, dirty);
}

/* A grace period of tasks-RCU that ends when the test says so. */
static struct {
	struct rcu_head	*rcu;
	rcu_callback_t	func;
} tasks_grace;

static void begin_tasks_grace(struct rcu_head *rcu, rcu_callback_t func)
{
	tasks_grace.rcu = rcu;
	tasks_grace.func = func;
}

/* Also without preemption, where tasks-RCU is RCU. */
static void slots_dirty_one_waits_for_the_right_rcu(struct kunit *test)
{
	struct slots_test *t = test->priv;
	unsigned long dirty;

	KUNIT_ASSERT_EQ(test, take(t, SLOTS_PER_PAGE), SLOTS_PER_PAGE);
	memset(&tasks_grace, 0, sizeof(tasks_grace));
	kunit_activate_static_stub(test, kprobe_slots_call_rcu_tasks, begin_tasks_grace);
	dirty = free_dirty(t);
	kunit_deactivate_static_stub(test, kprobe_slots_call_rcu_tasks);
	KUNIT_EXPECT_PTR_EQ(test, tasks_grace.rcu, &t->cache->rcu);

	KUNIT_EXPECT_FALSE_MSG(test, comes_without_tasks(t, dirty), "a task may still be in it");
	if (tasks_grace.func)
		tasks_grace.func(tasks_grace.rcu);
	expect_again(test, dirty);
}

#ifdef CONFIG_TASKS_RCU
/* As if preempted in a slot: not a reader, and not scheduling. */
static int hold_tasks(void *data)
{
	struct holder *h = data;

	complete(&h->ready);
	while (!READ_ONCE(h->stop))
		cpu_relax();

	return kp_await_stop();
}

static void slots_dirty_one_waits_for_tasks(struct kunit *test)
{
	struct slots_test *t = test->priv;
	struct holder h = {};
	unsigned long dirty;
	bool again;

	KP_SKIP_IF(test, num_online_cpus() < 2, "needs two CPUs");

	KUNIT_ASSERT_EQ(test, take(t, SLOTS_PER_PAGE), SLOTS_PER_PAGE);
	hold(test, &h, hold_tasks);

	dirty = free_dirty(t);
	again = comes_without_tasks(t, dirty);
	let_go(&h);
	KUNIT_EXPECT_FALSE_MSG(test, again, "a task may still be in it");
	expect_again(test, dirty);
}
#else
KP_SKIPPED(slots_dirty_one_waits_for_tasks, "needs TASKS_RCU")
#endif

/* The caches of the kernel, or NULL. */
#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
static struct kprobe_slot_cache *const insn_slots = &kprobe_insn_slots;
#else
static struct kprobe_slot_cache *const insn_slots;
#endif
#ifdef CONFIG_OPTPROBES
static struct kprobe_slot_cache *const optinsn_slots = &kprobe_optinsn_slots;
#else
static struct kprobe_slot_cache *const optinsn_slots;
#endif

static void slots_dirty_ones_come_back(struct kunit *test)
{
	struct slots_test *t = test->priv;
	int pages;

	KUNIT_ASSERT_EQ(test, take(t, SLOTS_PER_PAGE), SLOTS_PER_PAGE);
	pages = atomic_read(&pages_out);
	give_all_back(t, true);
	kp_flush_slots(t->cache);

	KUNIT_EXPECT_EQ(test, take(t, SLOTS_PER_PAGE), SLOTS_PER_PAGE);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&pages_out), pages,
			    "another page although all slots were free");
}

/* Some became dirty before a grace period began, and some later. */
static void slots_dirty_ones_of_two_grace_periods(struct kunit *test)
{
	struct slots_test *t = test->priv;
	unsigned int i;
	int pages;

	KUNIT_ASSERT_EQ(test, take(t, NR_SLOTS), NR_SLOTS);
	pages = atomic_read(&pages_out);
	for (i = 0; t->nr; i++) {
		kprobe_slot_free(t->cache, (void *)t->slot[--t->nr], i % 3);
		if (i % SLOTS_PER_PAGE == 7)
			synchronize_rcu_expedited();
	}
	kp_flush_slots(t->cache);
	wait_for_pages(1);

	KUNIT_EXPECT_EQ(test, take(t, NR_SLOTS), NR_SLOTS);
	KUNIT_EXPECT_LE(test, atomic_read(&pages_out), pages);
}

static void check_pages_are_given_back(struct kunit *test, bool dirty)
{
	struct slots_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, take(t, NR_SLOTS), NR_SLOTS);
	give_all_back(t, dirty);
	kp_flush_slots(t->cache);
	wait_for_pages(max(t->pages_before, 1));
	KUNIT_EXPECT_LE(test, atomic_read(&pages_out), max(t->pages_before, 1));
}

static void slots_pages_are_given_back(struct kunit *test)
{
	check_pages_are_given_back(test, false);
}

static void slots_dirty_pages_are_given_back(struct kunit *test)
{
	check_pages_are_given_back(test, true);
}

/* Registering and unregistering a probe does not cost a page each time. */
static void slots_last_page_is_kept(struct kunit *test)
{
	struct slots_test *t = test->priv;
	unsigned long first;
	int i;

	KUNIT_ASSERT_EQ(test, take(t, 1), 1);
	first = t->slot[0] & PAGE_MASK;
	for (i = 0; i < 10; i++) {
		give_all_back(t, false);
		KUNIT_ASSERT_EQ(test, take(t, 1), 1);
		KUNIT_EXPECT_EQ(test, t->slot[0] & PAGE_MASK, first);
	}
}

static void slots_know_their_addresses(struct kunit *test)
{
	struct slots_test *t = test->priv;
	unsigned long slot, page;

	KUNIT_ASSERT_EQ(test, take(t, NR_SLOTS), NR_SLOTS);
	slot = t->slot[NR_SLOTS - 1];
	page = slot & PAGE_MASK;

	KUNIT_EXPECT_TRUE(test, kprobe_slots_contain(t->cache, slot));
	KUNIT_EXPECT_TRUE(test, kprobe_slots_contain(t->cache, slot + SLOT_SIZE - 1));
	KUNIT_EXPECT_TRUE(test, kprobe_slots_contain(t->cache, page));
	KUNIT_EXPECT_TRUE(test, kprobe_slots_contain(t->cache, page + PAGE_SIZE - 1));
	KUNIT_EXPECT_FALSE(test, kprobe_slots_contain(t->cache, (unsigned long)t));
	KUNIT_EXPECT_FALSE(test, kprobe_slots_contain(t->cache, 0));
	KUNIT_EXPECT_FALSE(test, kprobe_slots_contain(&owned_cache, slot));

	/* The first page to become empty is kept, the last one is not. */
	page = t->slot[0] & PAGE_MASK;
	give_all_back(t, false);
	KUNIT_EXPECT_FALSE(test, kprobe_slots_contain(t->cache, page));
}

static void slots_are_symbols(struct kunit *test)
{
	struct slots_test *t = test->priv;
	unsigned long pages[2 * NR_PAGES], value;
	char type, name[KSYM_NAME_LEN];
	unsigned int i, k, nr, hits = 0;

	KUNIT_ASSERT_EQ(test, take(t, NR_SLOTS), NR_SLOTS);

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		nr = i;
		if (!kprobe_slots_kallsym(t->cache, &nr, &value, &type, name))
			break;
		pages[i] = value;
		KUNIT_EXPECT_TRUE(test, PAGE_ALIGNED(value));
		KUNIT_EXPECT_TRUE(test, kprobe_slots_contain(t->cache, value));
		KUNIT_EXPECT_EQ(test, type, 't');
		KUNIT_EXPECT_STREQ(test, name, "kunit_slot_page");
	}
	KUNIT_EXPECT_GE(test, i, NR_PAGES);
	KUNIT_EXPECT_LE(test, i, NR_PAGES + 1);
	KUNIT_EXPECT_EQ_MSG(test, nr, 0, "what is left for the next owner");

	/* Each slot is in exactly one of the symbols. */
	for (k = 0; k < NR_SLOTS; k++) {
		for (nr = 0; nr < i; nr++)
			hits += (t->slot[k] & PAGE_MASK) == pages[nr];
	}
	KUNIT_EXPECT_EQ(test, hits, NR_SLOTS);

	nr = i + 5;
	KUNIT_EXPECT_FALSE(test, kprobe_slots_kallsym(t->cache, &nr, &value, &type, name));
	KUNIT_EXPECT_EQ(test, nr, 5);
}

static void slots_without_memory(struct kunit *test)
{
	struct slots_test *t = test->priv;
	unsigned int nr;

	no_memory = true;
	nr = take(t, NR_SLOTS);
	no_memory = false;
	/* The existing pages are still usable. */
	KUNIT_EXPECT_LE(test, nr, SLOTS_PER_PAGE);
	KUNIT_EXPECT_EQ(test, take(t, NR_SLOTS - nr), NR_SLOTS);
}

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
static void slots_of_the_kernel_are_text(struct kunit *test)
{
	kprobe_opcode_t *slot = get_insn_slot();

	KUNIT_ASSERT_NOT_NULL(test, slot);
	KUNIT_EXPECT_TRUE(test, is_kprobe_insn_slot((unsigned long)slot));
	KUNIT_EXPECT_TRUE(test, kernel_text_address((unsigned long)slot));
	KUNIT_EXPECT_FALSE(test, is_kprobe_insn_slot((unsigned long)test));
	free_insn_slot(slot, 0);
}
#else
KP_SKIPPED(slots_of_the_kernel_are_text, "the architecture has no instruction slots")
#endif

/* The next owner of the page can write to it, unless it is one that stays read-only. */
#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
static void slots_pages_are_writable_when_free(struct kunit *test)
{
	unsigned int i, nr = 4 * PAGE_SIZE / kprobe_insn_slots.slot_size;
	struct page *pages[2 * 4] = {};
	unsigned int nr_pages = 0, nr_freed = 0, waits;
	kprobe_opcode_t **slot;
	u8 byte;

	if (execmem_is_rox(EXECMEM_KPROBES))
		kunit_skip(test, "the pages go back to a cache of read-only ones");
	slot = kp_calloc(test, nr, sizeof(*slot));
	for (i = 0; i < nr; i++) {
		slot[i] = get_insn_slot();
		if (!slot[i] || !is_vmalloc_or_module_addr(slot[i]) ||
		    nr_pages == ARRAY_SIZE(pages))
			continue;
		/* In the order of the slots, many of which share a page. */
		pages[nr_pages] = vmalloc_to_page(slot[i]);
		if (!nr_pages || pages[nr_pages] != pages[nr_pages - 1])
			get_page(pages[nr_pages++]);
	}
	for (i = 0; i < nr; i++) {
		if (slot[i])
			free_insn_slot(slot[i], 0);
	}
	kp_flush_slots(&kprobe_insn_slots);

	/* All but one, which is kept, and one in which other users have slots. */
	for (i = 0, waits = 0; i < nr_pages; i++) {
		while (page_count(pages[i]) > 1 && waits++ < 500)
			msleep(10);
		if (page_count(pages[i]) > 1)
			continue;
		byte = 0;
		KUNIT_EXPECT_EQ(test, copy_to_kernel_nofault(page_address(pages[i]),
							     &byte, 1), 0);
	}
	for (i = 0; i < nr_pages; i++) {
		nr_freed += page_count(pages[i]) == 1;
		put_page(pages[i]);
	}
	if (nr_pages)
		KUNIT_EXPECT_GE(test, nr_freed + 2, nr_pages);
	else
		kunit_skip(test, "slots are not in pages of their own");
}
#else
KP_SKIPPED(slots_pages_are_writable_when_free, "the architecture has no instruction slots")
#endif

/* Every byte of a page is found, and nothing around it; and the owners of all slots. */
static void slots_have_owners(struct kunit *test)
{
	struct slots_test *t = test->priv;
	unsigned int i, lost = 0, strange = 0;
	unsigned long page;

	t->cache = &owned_cache;
	KUNIT_ASSERT_EQ(test, take(t, SLOTS_PER_PAGE), SLOTS_PER_PAGE);
	page = t->slot[0];
	for (i = 0; i < t->nr; i++)
		kprobe_slot_own(t->cache, (void *)t->slot[i], &t->slot[i]);

	for (i = 0; i < t->nr; i++) {
		unsigned long last = t->slot[i] + SLOT_SIZE - 1;

		lost += !kprobe_slots_contain(t->cache, t->slot[i]);
		lost += !kprobe_slots_contain(t->cache, last);
		guard(preempt)();
		strange += kprobe_slot_owner(t->cache, t->slot[i]) != &t->slot[i];
		strange += kprobe_slot_owner(t->cache, last) != &t->slot[i];
	}
	KUNIT_EXPECT_EQ(test, lost, 0);
	KUNIT_EXPECT_EQ(test, strange, 0);
	KUNIT_EXPECT_FALSE(test, kprobe_slots_contain(t->cache, page - 1));
	KUNIT_EXPECT_FALSE(test, kprobe_slots_contain(t->cache, page + PAGE_SIZE));

	for (i = 0; i < t->nr; i++)
		kprobe_slot_own(t->cache, (void *)t->slot[i], NULL);
	give_all_back(t, true);
}

static unsigned long region_of(unsigned long slot)
{
	return *(unsigned long *)(slot & PAGE_MASK);
}

static bool take_near(struct slots_test *t, unsigned long addr)
{
	t->cache = &region_cache;
	t->slot[t->nr] = (unsigned long)kprobe_slot_get(t->cache, addr);
	t->nr += !!t->slot[t->nr];
	return t->slot[t->nr - 1];
}

static void slots_of_two_regions_never_share_a_page(struct kunit *test)
{
	unsigned int i, nr = 2 * (SLOTS_AFTER_HEAD + 1), wrong = 0, in_head = 0;
	struct slots_test *t = test->priv;

	for (i = 0; i < nr; i++)
		take_near(t, i & 1 ? REGION(2) + i - 1 : REGION(1) - 1 - i);
	KUNIT_ASSERT_EQ(test, t->nr, nr);

	for (i = 0; i < nr; i++) {
		wrong += region_of(t->slot[i]) != (i & 1 ? REGION(2) : REGION(0));
		in_head += offset_in_page(t->slot[i]) < HEAD_SIZE;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, in_head, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&pages_out) - t->pages_before, 4);
	give_all_back(t, false);
	t->pages_before += 2;
}

static void slots_each_region_keeps_an_empty_page(struct kunit *test)
{
	struct slots_test *t = test->priv;
	unsigned int i;
	int pages;

	take_near(t, REGION(3));
	take_near(t, REGION(4));
	pages = atomic_read(&pages_out);

	for (i = 0; i < 10; i++) {
		give_all_back(t, i & 1);
		kp_flush_slots(t->cache);
		take_near(t, REGION(3));
		take_near(t, REGION(4));
		KUNIT_ASSERT_EQ(test, t->nr, 2);
		KUNIT_EXPECT_EQ(test, atomic_read(&pages_out), pages);
	}
	give_all_back(t, false);
	t->pages_before += 2;
}

static void slots_no_page_fails_that_region_only(struct kunit *test)
{
	struct slots_test *t = test->priv;

	KUNIT_EXPECT_NULL(test, kprobe_slot_get(&region_cache, NO_MEMORY + 5));
	KUNIT_EXPECT_TRUE(test, take_near(t, NO_MEMORY - 1));
	KUNIT_EXPECT_TRUE(test, take_near(t, NO_MEMORY + (1 << FAKE_REGION_SHIFT)));
	/* A slot without a region is still available, and not from a region. */
	KUNIT_ASSERT_EQ(test, take(t, 1), 3);
	KUNIT_EXPECT_EQ(test, region_of(t->slot[2]), 0);
	KUNIT_EXPECT_NE(test, t->slot[2] & PAGE_MASK, t->slot[0] & PAGE_MASK);
	/* Another attempt, which must find no trace of the first one. */
	KUNIT_EXPECT_NULL(test, kprobe_slot_get(&region_cache, NO_MEMORY));
	give_all_back(t, false);
	t->pages_before += 3;
}

static void slots_the_head_of_a_page_has_no_owner(struct kunit *test)
{
	struct slots_test *t = test->priv;
	unsigned long slot;

	KUNIT_ASSERT_TRUE(test, take_near(t, REGION(6)));
	slot = t->slot[0];
	kprobe_slot_own(t->cache, (void *)slot, t);

	scoped_guard(preempt) {
		KUNIT_EXPECT_PTR_EQ(test, kprobe_slot_owner(t->cache, slot), (void *)t);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_slot_owner(t->cache, slot + SLOT_SIZE - 1),
				    (void *)t);
		KUNIT_EXPECT_NULL(test, kprobe_slot_owner(t->cache, slot & PAGE_MASK));
		KUNIT_EXPECT_NULL(test, kprobe_slot_owner(t->cache, slot - 1));
	}
	KUNIT_EXPECT_TRUE(test, kprobe_slots_contain(t->cache, slot & PAGE_MASK));

	kprobe_slot_own(t->cache, (void *)slot, NULL);
	give_all_back(t, false);
	t->pages_before++;
}

static void slots_near_without_regions_are_anywhere(struct kunit *test)
{
	struct slots_test *t = test->priv;
	unsigned long slot;

	KUNIT_ASSERT_EQ(test, take(t, 1), 1);
	slot = t->slot[0];
	give_all_back(t, false);
	t->slot[t->nr++] = (unsigned long)kprobe_slot_get(t->cache, REGION(1));
	KUNIT_EXPECT_EQ(test, t->slot[0], slot);
}

static int slots_test_init(struct kunit *test)
{
	struct slots_test *t = kvzalloc(struct_size(t, slot, 2 * NR_SLOTS), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	t->cache = &cache;
	t->pages_before = atomic_read(&pages_out);
	test->priv = t;
	return 0;
}

static void slots_test_exit(struct kunit *test)
{
	struct slots_test *t = test->priv;

	if (!t)
		return;
	give_all_back(t, false);
	kp_flush_slots(t->cache);
	wait_for_pages(t->pages_before);
	kvfree(t);
}

static struct kunit_case slots_cases[] = {
	KUNIT_CASE(slots_are_unique_aligned_and_apart),
	KUNIT_CASE(slots_clean_one_is_used_again_at_once),
	KUNIT_CASE(slots_dirty_one_waits_for_a_grace_period),
	KUNIT_CASE(slots_dirty_one_waits_for_the_right_rcu),
	KUNIT_CASE(slots_dirty_one_waits_for_tasks),
	KUNIT_CASE(slots_dirty_ones_come_back),
	KUNIT_CASE(slots_dirty_ones_of_two_grace_periods),
	KUNIT_CASE(slots_pages_are_given_back),
	KUNIT_CASE(slots_dirty_pages_are_given_back),
	KUNIT_CASE(slots_last_page_is_kept),
	KUNIT_CASE(slots_know_their_addresses),
	KUNIT_CASE(slots_have_owners),
	KUNIT_CASE(slots_of_two_regions_never_share_a_page),
	KUNIT_CASE(slots_each_region_keeps_an_empty_page),
	KUNIT_CASE(slots_no_page_fails_that_region_only),
	KUNIT_CASE(slots_the_head_of_a_page_has_no_owner),
	KUNIT_CASE(slots_near_without_regions_are_anywhere),
	KUNIT_CASE(slots_are_symbols),
	KUNIT_CASE(slots_without_memory),
	KUNIT_CASE(slots_of_the_kernel_are_text),
	KUNIT_CASE(slots_pages_are_writable_when_free),
	{}
};

KP_SUITE(slots_cases, .name = "kprobes_slots",
	 .init = slots_test_init, .exit = slots_test_exit);
