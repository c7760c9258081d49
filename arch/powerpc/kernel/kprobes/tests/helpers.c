// SPDX-License-Identifier: GPL-2.0-only
/*
 * What several suites share.
 */

#include <kunit/test.h>
#include <linux/kprobes.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include "../../../../../kernel/kprobes/slots.h"
#include "files.h"
#include "helpers.h"

struct kpb_data kpb_data = { .value = KPB_VALUE };

KPB_FUNCTION(add, "777: addi 3, 3, 3");
KPB_FUNCTION(load, "777: " PPC_LL "6, 0(4)\n add 3, 3, 6");
KPB_FUNCTION(pvr, "777: mfspr 6, 287\n add 3, 3, 6");
KPB_FUNCTION(callee, "777: addi 3, 3, 100");
KPB_FUNCTION(bad_load, "777: " PPC_LL "3, 0(3)");

/*
 * Calls the code at @code with the other arguments, in a frame of its own: the compiler need not
 * make one for a call that it does not see.
 */
unsigned long kpb_call(unsigned long code, unsigned long arg, struct kpb_data *data,
		       unsigned long callee);

asm(KPB_BEGIN(call)
	"	mflr 0\n"
	"	" PPC_STL "0, " __stringify(PPC_LR_STKOFF) "(1)\n"
	"	" PPC_STLU "1, -" __stringify(PPC_MIN_STKFRM) "(1)\n"
	"	mtctr 3\n"
	"	mr 12, 3\n"
	"	mr 3, 4\n"
	"	mr 4, 5\n"
	"	mr 5, 6\n"
	"	bctrl\n"
	"	addi 1, 1, " __stringify(PPC_MIN_STKFRM) "\n"
	"	" PPC_LL "0, " __stringify(PPC_LR_STKOFF) "(1)\n"
	"	mtlr 0\n"
	"	blr\n"
	KPB_END(call));

/**
 * kpb_run() - call a function written with KPB_FUNCTION()
 * @fn: the function
 * @arg: its argument
 *
 * Context: any, as far as @fn allows it.
 * Return: the result of @fn.
 */
noinline notrace unsigned long kpb_run(void (*fn)(void), unsigned long arg)
{
	return kpb_call(kpb_code(fn), arg, &kpb_data, kpb_code(kpb_callee));
}

/**
 * kpb_watch_pre() - pre handler of a struct kpb_watch
 * @p: its probe
 * @regs: registers of the hit
 *
 * Context: that of a hit.
 * Return: 0.
 */
int kpb_watch_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct kpb_watch *w = container_of(p, struct kpb_watch, kp);

	WRITE_ONCE(w->nip, regs->nip);
	atomic_inc(&w->pre);
	return 0;
}

/**
 * kpb_watch_post() - post handler of a struct kpb_watch
 * @p: its probe
 * @regs: registers after the probed instruction
 * @flags: always 0
 *
 * Context: that of a hit.
 */
void kpb_watch_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	struct kpb_watch *w = container_of(p, struct kpb_watch, kp);

	WRITE_ONCE(w->post_nip, regs->nip);
	atomic_inc(&w->post);
}

/**
 * kpb_watch_fault() - fault handler of a struct kpb_watch
 * @p: its probe
 * @regs: registers of the fault
 * @trapnr: number of the exception
 *
 * Context: that of the fault.
 * Return: 0, the fault is not handled.
 */
int kpb_watch_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	struct kpb_watch *w = container_of(p, struct kpb_watch, kp);

	w->trapnr = trapnr;
	atomic_inc(&w->faults);
	return 0;
}

/**
 * kpb_expect_refused() - expect that there can be no probe, and that none was tried
 * @test: the case
 * @addr: where
 * @why: the reason
 *
 * Context: process context, may sleep.
 */
void kpb_expect_refused(struct kunit *test, unsigned long addr, enum kprobe_refusal why)
{
	struct kprobe kp = { .addr = (void *)addr, .pre_handler = kpb_watch_pre };
	const void *word = (void *)ALIGN_DOWN(addr, sizeof(u32));
	u32 before = kpb_word(word);
	int err = register_kprobe(&kp);

	KUNIT_EXPECT_EQ_MSG(test, err, why == KPROBE_REFUSAL_NO_MEMORY ? -ENOMEM : -EINVAL,
			    "%pS", (void *)addr);
	KUNIT_EXPECT_EQ_MSG(test, kprobe_why_refused(&kp), why, "%pS", (void *)addr);
	KUNIT_EXPECT_EQ(test, kpb_word(word), before);
	KUNIT_EXPECT_PTR_EQ(test, get_kprobe((void *)addr), NULL);
	if (!err)
		unregister_kprobe(&kp);
}

/**
 * kpb_expect_accepted() - expect that there can be a probe
 * @test: the case
 * @addr: where
 *
 * Context: process context, may sleep.
 */
void kpb_expect_accepted(struct kunit *test, unsigned long addr)
{
	struct kprobe kp = { .addr = (void *)addr, .pre_handler = kpb_watch_pre };
	int err = register_kprobe(&kp);

	KUNIT_EXPECT_EQ_MSG(test, err, 0, "%pS, reason %d", (void *)addr,
			    err ? kprobe_why_refused(&kp) : KPROBE_REFUSAL_NONE);
	if (!err)
		unregister_kprobe(&kp);
}

/**
 * kpb_expect_site() - expect what kprobes/sites in debugfs says
 * @test: the case
 * @who: start of the line of a probe
 * @what: what has to be in this line
 *
 * Context: process context, may sleep.
 */
void kpb_expect_site(struct kunit *test, const char *who, const char *what)
{
	if (IS_ENABLED(CONFIG_DEBUG_FS))
		KUNIT_EXPECT_TRUE_MSG(test, kp_file_says(test, "kprobes/sites", who, what),
				      "%s: no %s", who, what);
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
 * kpb_starve() - have a cache of slots find no more pages
 * @cache: the cache; slots of pages that it has are not affected
 * @s: set to its allocators, for kpb_feed()
 * @near: no pages for one region
 * @far: no pages for what may be anywhere
 *
 * Context: process context, sleeps.
 */
void kpb_starve(struct kprobe_slot_cache *cache, struct kpb_starved *s, bool near, bool far)
{
	/* Slots that are still waited for would come back in the meantime. */
	kprobe_slots_flush(cache);
	guard(mutex)(&cache->mutex);
	*s = (struct kpb_starved){ cache->alloc, cache->alloc_near };
	if (near)
		cache->alloc_near = no_page_near;
	if (far)
		cache->alloc = no_page;
}

/**
 * kpb_feed() - undo kpb_starve()
 * @cache: the cache
 * @s: its allocators
 *
 * Context: process context, may sleep.
 */
void kpb_feed(struct kprobe_slot_cache *cache, const struct kpb_starved *s)
{
	guard(mutex)(&cache->mutex);
	cache->alloc = s->alloc;
	cache->alloc_near = s->alloc_near;
}

/**
 * kpb_user_word() - a word of user memory, which is not mapped yet
 * @test: the case, which gets an address space
 *
 * Context: process context, may sleep.
 * Return: its address.
 */
u32 __user *kpb_user_word(struct kunit *test)
{
	unsigned long addr = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
					   MAP_ANONYMOUS | MAP_PRIVATE, 0);

	KUNIT_ASSERT_NE(test, addr, 0);
	KUNIT_ASSERT_LT(test, addr, TASK_SIZE);
	return (u32 __user *)addr;
}
