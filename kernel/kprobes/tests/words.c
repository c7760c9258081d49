// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes on instructions that are words, and slots for copies of them; see words.h.
 */

#include "suite.h"

#include <linux/mman.h>

#include "../slots.h"
#include "files.h"
#include "helpers.h"
#include "targets.h"
#include "words.h"

static u32 word_at(unsigned long addr)
{
	return READ_ONCE(*(u32 *)ALIGN_DOWN(addr, sizeof(u32)));
}

/**
 * kp_expect_refused() - expect that there can be no probe, and that none was tried
 * @test: the case
 * @addr: where
 * @why: the reason
 * @err: the error
 *
 * Context: process context, may sleep.
 */
void kp_expect_refused(struct kunit *test, unsigned long addr, enum kprobe_refusal why, int err)
{
	struct kprobe kp = { .addr = (void *)addr, .pre_handler = kp_watch_pre };
	u32 before = word_at(addr);
	int got = register_kprobe(&kp);

	KUNIT_EXPECT_EQ_MSG(test, got, err, "%pS", (void *)addr);
	KUNIT_EXPECT_EQ_MSG(test, kprobe_why_refused(&kp), why, "%pS", (void *)addr);
	KUNIT_EXPECT_EQ(test, word_at(addr), before);
	KUNIT_EXPECT_PTR_EQ(test, get_kprobe((void *)addr), NULL);
	if (!got)
		unregister_kprobe(&kp);
}

/**
 * kp_expect_accepted() - expect that there can be a probe
 * @test: the case
 * @addr: where
 *
 * Context: process context, may sleep.
 */
void kp_expect_accepted(struct kunit *test, unsigned long addr)
{
	struct kprobe kp = { .addr = (void *)addr, .pre_handler = kp_watch_pre };
	int err = register_kprobe(&kp);

	KUNIT_EXPECT_EQ_MSG(test, err, 0, "%pS, reason %d", (void *)addr,
			    err ? kprobe_why_refused(&kp) : KPROBE_REFUSAL_NONE);
	if (!err)
		unregister_kprobe(&kp);
}

/**
 * kp_expect_site() - expect what kprobes/sites in debugfs says
 * @test: the case
 * @who: start of the line of a probe
 * @what: what has to be in this line
 *
 * Context: process context, may sleep.
 */
void kp_expect_site(struct kunit *test, const char *who, const char *what)
{
	if (IS_ENABLED(CONFIG_DEBUG_FS))
		KUNIT_EXPECT_TRUE_MSG(test, kp_file_says(test, "kprobes/sites", who, what),
				      "%s: no %s", who, what);
}

/**
 * kp_decide() - ask the architecture alone whether there can be a probe
 * @addr: where
 *
 * Context: process context, may sleep.
 * Return: why not.
 */
enum kprobe_refusal kp_decide(unsigned long addr)
{
	struct kprobe p = { .addr = (kprobe_opcode_t *)addr };

	guard(kprobe_test)();
	guard(mutex)(&text_mutex);

	return arch_decide_kprobe(&p);
}

/**
 * kp_need_mode() - skip a case for which this kernel lacks a way to execute instructions
 * @test: the case
 * @mode: the way, see kprobe_mode(); NULL: in a detour
 *
 * Context: process context.
 */
void kp_need_mode(struct kunit *test, const char *mode)
{
	KP_SKIP_IF(test, !mode && !IS_ENABLED(CONFIG_OPTPROBES), "needs OPTPROBES");
	if (mode && !strcmp(mode, "boosted") && !kp_target_boosts())
		kunit_skip(test, "no copy branches back");
}

/**
 * kp_register_in_mode() - register a probe, and expect how its instruction is executed
 * @test: the case; jumps are allowed or not after it
 * @kp: the probe
 * @mode: see kp_need_mode()
 *
 * Context: process context, may sleep.
 */
void kp_register_in_mode(struct kunit *test, struct kprobe *kp, const char *mode)
{
	kprobe_test_allow_optimization(!mode);
	KUNIT_ASSERT_EQ(test, register_kprobe(kp), 0);
	if (mode) {
		KUNIT_EXPECT_STREQ(test, kp_mode(kp->addr), mode);
	} else {
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_TRUE(test, kp_target_has_jump(kp->addr));
	}
}

/**
 * kp_expect_executed() - expect how an instruction is executed, and that its function works
 * @test: the case
 * @t: the function
 * @mode: see kprobe_mode()
 *
 * Context: process context, may sleep.
 */
void kp_expect_executed(struct kunit *test, const struct kp_target *t, const char *mode)
{
	struct kp_watch w = KP_WATCH(kp_target_addr(t));
	unsigned long want = kp_target_run(t, 4);
	char kind[32];

	snprintf(kind, sizeof(kind), "kind=%s ", mode);
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), mode);
	kp_expect_site(test, t->symbol, kind);
	KUNIT_EXPECT_EQ(test, kp_target_run(t, 4), want);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KP_UNWATCH(test, w, 1);
}

/**
 * kp_check_sequence() - check that probes keep off what is between a load and its store
 * @test: the case
 * @p: a function that returns its argument. The probed instruction is a load, the third one after
 *	it the store, without which the sequence starts again
 * @first: the first instruction that can be probed
 * @last: the last one
 *
 * Context: process context, may sleep.
 */
void kp_check_sequence(struct kunit *test, const struct kpb_place *p, unsigned long first,
		       unsigned long last)
{
	unsigned long addr, load = *p->at;
	unsigned int hits = 0;

	for (addr = first; addr <= last; addr += sizeof(u32)) {
		struct kp_watch w = KP_WATCH(addr);

		if (addr - load <= 3 * sizeof(u32)) {
			kp_expect_refused(test, addr, KPROBE_REFUSAL_SEQUENCE, -EINVAL);
			continue;
		}
		KUNIT_EXPECT_EQ_MSG(test, register_kprobe(&w.kp), 0, "%pS", (void *)addr);
		KUNIT_EXPECT_EQ(test, kp_target_run(&(struct kp_target){ p->fn }, 1), 1);
		hits += atomic_read(&w.pre);
		if (get_kprobe((void *)addr))
			unregister_kprobe(&w.kp);
	}
	KUNIT_EXPECT_GE(test, hits, 4);
}

/**
 * kp_check_next() - check that a post handler sees where execution continues
 * @test: the case
 * @n: the function, and where that is
 *
 * Context: process context, may sleep.
 */
void kp_check_next(struct kunit *test, const struct kpb_next *n)
{
	struct kp_watch w = KP_WATCH_POST(kpb_addr(&n->place));

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	kp_target_run(&(struct kp_target){ n->place.fn }, 1);
	KUNIT_EXPECT_EQ(test, w.post_ip, n->target ? kp_code(n->target) :
						     *n->place.at + sizeof(u32));
	unregister_kprobe(&w.kp);
}

static void *no_page(void)
{
	return NULL;
}

static void *no_page_near(unsigned long start)
{
	return NULL;
}

/**
 * kp_starve() - have a cache of slots find no more pages
 * @cache: the cache; slots of pages that it has are not affected
 * @s: set to its allocators, for kp_feed()
 * @near: no pages for one region
 * @far: no pages for what may be anywhere
 *
 * Context: process context, sleeps.
 */
void kp_starve(struct kprobe_slot_cache *cache, struct kp_starved *s, bool near, bool far)
{
	/* Slots that are still waited for would come back in the meantime. */
	kp_flush_slots(cache);
	guard(mutex)(&cache->mutex);
	*s = (struct kp_starved){ cache->alloc, cache->alloc_near };
	if (near)
		cache->alloc_near = no_page_near;
	if (far)
		cache->alloc = no_page;
}

/**
 * kp_feed() - undo kp_starve()
 * @cache: the cache
 * @s: its allocators
 *
 * Context: process context, may sleep.
 */
void kp_feed(struct kprobe_slot_cache *cache, const struct kp_starved *s)
{
	guard(mutex)(&cache->mutex);
	cache->alloc = s->alloc;
	cache->alloc_near = s->alloc_near;
}

#define MAX_SLOTS	(8 * PAGE_SIZE / KPROBE_INSN_SLOT_SIZE)

/**
 * kp_hog_slots() - take all slots for copies of instructions
 * @test: the case, which fails if there is no end of them
 * @h: set to what was taken, for kp_release_slots()
 * @far: also those that may be anywhere, and not only those near kp_target_add
 *
 * Context: process context, sleeps.
 */
void kp_hog_slots(struct kunit *test, struct kp_hog *h, bool far)
{
	unsigned long at = (unsigned long)kp_target_addr(&kp_target_add);

	h->nr = 0;
	h->slot = kp_calloc(test, MAX_SLOTS, sizeof(*h->slot));
	kp_starve(&kprobe_insn_slots, &h->allocators, true, far);
	while (h->nr < MAX_SLOTS && (h->slot[h->nr] = kprobe_slot_get(&kprobe_insn_slots, at)))
		h->nr++;
	while (far && h->nr < MAX_SLOTS && (h->slot[h->nr] = get_insn_slot()))
		h->nr++;
	KUNIT_EXPECT_LT(test, h->nr, MAX_SLOTS);
}

/**
 * kp_release_slots() - undo kp_hog_slots()
 * @h: what it has taken
 *
 * Context: process context, may sleep.
 */
void kp_release_slots(struct kp_hog *h)
{
	while (h->nr)
		free_insn_slot(h->slot[--h->nr], 0);
	kp_feed(&kprobe_insn_slots, &h->allocators);
}

/**
 * kp_check_without_any_slot() - check what can be probed when no copy can be made
 * @test: the case
 * @copied: an instruction that needs a copy
 * @branch: one that needs none
 * @other_branch: another one
 *
 * Context: process context, sleeps.
 */
void kp_check_without_any_slot(struct kunit *test, unsigned long copied, unsigned long branch,
			       unsigned long other_branch)
{
	struct kp_hog hog;

	kp_hog_slots(test, &hog, true);
	kp_expect_refused(test, copied, KPROBE_REFUSAL_NO_MEMORY, -ENOMEM);
	kp_expect_accepted(test, branch);
	kp_expect_accepted(test, other_branch);
	kp_release_slots(&hog);
	kp_expect_accepted(test, copied);
}

#ifdef CONFIG_OPTPROBES
/* Expects a hit of kp_target_add, and what there is said about its probe. */
static void expect_add(struct kunit *test, bool jump, const char *kind, const char *why)
{
	struct kp_watch w = KP_WATCH(kp_target_addr(&kp_target_add));

	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kp_target_has_breakpoint(w.kp.addr), !jump);
	KUNIT_EXPECT_EQ(test, kp_target_has_jump(w.kp.addr), jump);
	kp_expect_site(test, kp_target_add.symbol, kind);
	kp_expect_site(test, kp_target_add.symbol, why);
	KUNIT_EXPECT_EQ(test, kp_target_run(&kp_target_add, 4), 7);
	KP_UNWATCH(test, w, 1);
}

/**
 * kp_check_without_a_detour() - check that probes work without memory for detours
 * @test: the case
 *
 * Context: process context, sleeps.
 */
void kp_check_without_a_detour(struct kunit *test)
{
	unsigned int max = 4 * PAGE_SIZE / (MAX_OPTINSN_SIZE * sizeof(kprobe_opcode_t)), nr = 0;
	unsigned long at = (unsigned long)kp_target_addr(&kp_target_add);
	kprobe_opcode_t **slot = kp_calloc(test, max, sizeof(*slot));
	struct kp_starved s;

	kprobe_test_allow_optimization(true);
	/* Detours of probes that have gone would come back in the meantime. */
	wait_for_kprobe_optimizer();
	kp_starve(&kprobe_optinsn_slots, &s, true, true);
	while (nr < max && (slot[nr] = kprobe_slot_get(&kprobe_optinsn_slots, at)))
		nr++;
	KUNIT_EXPECT_LT(test, nr, max);
	expect_add(test, false, kp_target_boosts() ? "kind=boosted " : "kind=emulated ",
		   " opt=none why=no-memory");

	while (nr)
		free_optinsn_slot(slot[--nr], 0);
	kp_feed(&kprobe_optinsn_slots, &s);
	expect_add(test, true, "kind=optimized ", " opt=live why=-");
	kprobe_test_allow_optimization(false);
}
#else
void kp_check_without_a_detour(struct kunit *test)
{
	kunit_skip(test, "needs OPTPROBES");
}
#endif

/**
 * kp_user_word() - a word of user memory, which is not mapped yet
 * @test: the case, which gets an address space
 *
 * Context: process context, may sleep.
 * Return: its address.
 */
u32 __user *kp_user_word(struct kunit *test)
{
	unsigned long addr = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
					   MAP_ANONYMOUS | MAP_PRIVATE, 0);

	KUNIT_ASSERT_NE(test, addr, 0);
	KUNIT_ASSERT_LT(test, addr, TASK_SIZE);
	return (u32 __user *)addr;
}
