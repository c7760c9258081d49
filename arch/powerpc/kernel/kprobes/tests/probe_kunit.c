// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes on single instructions, from end to end: each in every mode that it has, those that are
 * refused, and the entries of functions.
 */

#include "suite.h"

#include <linux/lockdep.h>
#include <linux/static_call.h>

#include <asm/extable.h>
#include <asm/feature-fixups.h>
#include <asm/hw_irq.h>
#include <asm/interrupt.h>
#include <asm/sections.h>

#include "forms.h"
#include "targets.h"

/* A post handler joins a boosted site, and another one comes when it has gone. */
static void probe_post_handler_joins_a_boosted_site(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(pvr));
	unsigned long want = kpb_run(kpb_pvr, 1);
	unsigned int round;

	KP_SKIP_IF(test, !kprobe_boosts(), "no copy branches back");

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), "boosted");
	for (round = 0; round < 2; round++) {
		struct kp_watch late = KP_WATCH_POST(KPB_AT(pvr));

		KUNIT_EXPECT_EQ(test, kpb_run(kpb_pvr, 1), want);
		KUNIT_EXPECT_EQ(test, register_kprobe(&late.kp), 0);
		KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), "stepped");
		KUNIT_EXPECT_EQ(test, kpb_run(kpb_pvr, 1), want);
		KUNIT_EXPECT_EQ(test, atomic_read(&late.post), 1);
		KUNIT_EXPECT_EQ(test, late.post_ip, kpb_pvr_at + sizeof(u32));
		unregister_kprobe(&late.kp);
		/* It may still be called. */
		KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), "stepped");
	}
	KP_UNWATCH(test, w, 4);
}

static const struct kpb_next nexts[] = {
	{ "after a step", KPB_PLACE(pvr) },
	{ "after a store to the stack", KPB_PLACE(push) },
	{ "after an emulation", KPB_PLACE(add) },
	{ "after a call", KPB_PLACE(bl), kpb_callee },
	{ "after a jump", KPB_PLACE(bctr), kpb_callee },
};
KUNIT_ARRAY_PARAM_DESC(next, nexts, name);

static void probe_post_handler_sees_next_nip(struct kunit *test)
{
	kp_check_next(test, test->param_value);
}

/*
 * Fixups: loads from r3 that return -14 instead if they fault
 */

KPB_FUNCTION(fixed_load, "777: " PPC_LL "3, 0(3)\n b 2f\n1: li 3, -14\n2:\n"
	     EX_TABLE(777b, 1b));
KPB_FUNCTION(fixed_store, "777: " PPC_STL "4, 0(3)\n b 2f\n1: li 3, -14\n2:\n"
	     EX_TABLE(777b, 1b));

static const struct fixup {
	const char		*name;
	struct kpb_place	place;
	bool			post;
	bool			step;
} fixups[] = {
	{ "load", KPB_PLACE(fixed_load) },
	{ "load, with a post handler", KPB_PLACE(fixed_load), .post = true },
	{ "load, stepped", KPB_PLACE(fixed_load), .step = true },
	{ "load, stepped, with a post handler", KPB_PLACE(fixed_load), .post = true,
	  .step = true },
	{ "store", KPB_PLACE(fixed_store) },
	{ "store, with a post handler", KPB_PLACE(fixed_store), .post = true },
	{ "store, stepped", KPB_PLACE(fixed_store), .step = true },
};
KUNIT_ARRAY_PARAM_DESC(fixup, fixups, name);

static void do_not_emulate(void *addr)
{
	guard(kprobe_test)();
	get_kprobe(addr)->ainsn.emulate = false;
}

/* They are found by the address of the instruction, wherever it has faulted. */
static void probe_finds_fixups(struct kunit *test)
{
	const struct fixup *f = test->param_value;
	void *at = kpb_addr(&f->place), *page = vmalloc(PAGE_SIZE);
	struct kp_watch w = KP_WATCH(at);
	unsigned long bad[] = {
		(unsigned long)page + PAGE_SIZE, KPB_BAD_SEGMENT,
	};
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, page);
	if (f->post)
		w.kp.post_handler = kp_watch_post;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ(test, kpb_run(f->place.fn, bad[i]), -14UL);

	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	if (f->step)
		do_not_emulate(at);
	KUNIT_EXPECT_STREQ(test, kp_mode(at), f->step ? "stepped" : "emulated");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ_MSG(test, kpb_run(f->place.fn, bad[i]), -14UL, "%lx", bad[i]);
		KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), i + 1);
		KUNIT_EXPECT_EQ(test, atomic_read(&w.post), 0);
		KUNIT_EXPECT_FALSE(test, irqs_disabled());
		KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
	}

	/* With interrupts off, which has to stay so. */
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		unsigned long ret, off;

		local_irq_disable();
		ret = kpb_run(f->place.fn, bad[i]);
		off = irqs_disabled();
		local_irq_enable();
		KUNIT_EXPECT_EQ_MSG(test, ret, -14UL, "%lx", bad[i]);
		KUNIT_EXPECT_TRUE(test, off);
	}

	/* No fault, no fixup. */
	kpb_data.value = KPB_VALUE;
	kpb_run(f->place.fn, (unsigned long)&kpb_data.store);
	if (f->place.fn == kpb_fixed_load)
		KUNIT_EXPECT_EQ(test, kpb_run(f->place.fn, (unsigned long)&kpb_data.value),
				KPB_VALUE);
	else
		KUNIT_EXPECT_EQ(test, kpb_data.store, (unsigned long)&kpb_data);
	KUNIT_EXPECT_GT(test, atomic_read(&w.pre), 4);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.post), f->post ? atomic_read(&w.pre) - 4 : 0);
	KUNIT_EXPECT_EQ(test, w.kp.nmissed, 0);
	unregister_kprobe(&w.kp);
	vfree(page);
}

/* Inside another hit, where no handlers are called. */
static unsigned long inner_result;

static int run_fixed_load(struct kprobe *p, struct pt_regs *regs)
{
	inner_result = kpb_run(kpb_fixed_load, KPB_BAD_SEGMENT);
	return 0;
}

static void probe_finds_fixups_of_nested_hits(struct kunit *test)
{
	struct kprobe outer = { .addr = KPB_AT(add), .pre_handler = run_fixed_load };
	struct kp_watch w = KP_WATCH(KPB_AT(fixed_load));
	unsigned int step;

	KUNIT_ASSERT_EQ(test, register_kprobe(&outer), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	for (step = 0; step < 2; step++) {
		inner_result = 0;
		KUNIT_EXPECT_EQ(test, kpb_run(kpb_add, 1), 4);
		KUNIT_EXPECT_EQ(test, inner_result, -14UL);
		do_not_emulate(w.kp.addr);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 0);
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
	unregister_kprobe(&w.kp);
	unregister_kprobe(&outer);
	KUNIT_EXPECT_EQ(test, w.kp.nmissed, 2);
}

/*
 * Refusals
 */

KPB_FUNCTION(refuse_trap, "b 1f\n 777: trap\n1:");
KPB_FUNCTION(refuse_sc, "b 1f\n 777: sc\n1:");
KPB_FUNCTION(refuse_rfi, "b 1f\n 777: .long 0x4c000064\n1:");
KPB_FUNCTION(refuse_mtmsr, "b 1f\n 777: mtmsr 3\n1:");
KPB_FUNCTION(refuse_mfsrr0, "b 1f\n 777: mfspr 3, 26\n1:");
KPB_FUNCTION(refuse_mtsrr1, "b 1f\n 777: mtspr 27, 3\n1:");
KPB_FUNCTION(refuse_live_srr, "b 1f\n mtspr 26, 3\n 777: nop\n .long 0x4c000064\n1:");
KPB_FUNCTION(refuse_wait, "b 1f\n 777: .long 0x7c00003c\n1:");
KPB_FUNCTION(refuse_bctar, "b 1f\n 777: .long 0x4e800460\n1:");
KPB_FUNCTION(refuse_lwarx, "b 1f\n 777: lwarx 6, 0, 4\n1:");
KPB_FUNCTION(refuse_stwcx, "b 1f\n 777: stwcx. 6, 0, 4\n1:");

static const struct refusal {
	const char		*name;
	struct kpb_place	place;
	enum kprobe_refusal	why;
} refusals[] = {
	{ "trap", KPB_PLACE(refuse_trap), KPROBE_REFUSAL_BUG },
	{ "sc", KPB_PLACE(refuse_sc), KPROBE_REFUSAL_CONTROL },
	{ "rfi", KPB_PLACE(refuse_rfi), KPROBE_REFUSAL_CONTROL },
	{ "mtmsr", KPB_PLACE(refuse_mtmsr), KPROBE_REFUSAL_CONTROL },
	{ "mfsrr0", KPB_PLACE(refuse_mfsrr0), KPROBE_REFUSAL_SYNDROME },
	{ "mtsrr1", KPB_PLACE(refuse_mtsrr1), KPROBE_REFUSAL_SEQUENCE },
	{ "before rfi", KPB_PLACE(refuse_live_srr), KPROBE_REFUSAL_SEQUENCE },
	{ "wait", KPB_PLACE(refuse_wait), KPROBE_REFUSAL_SLEEP },
	{ "bctar", KPB_PLACE(refuse_bctar), KPROBE_REFUSAL_BRANCH },
	{ "lwarx", KPB_PLACE(refuse_lwarx), KPROBE_REFUSAL_SEQUENCE },
	{ "stwcx.", KPB_PLACE(refuse_stwcx), KPROBE_REFUSAL_SEQUENCE },
};
KUNIT_ARRAY_PARAM_DESC(refusal, refusals, name);

static void probe_is_refused(struct kunit *test)
{
	const struct refusal *r = test->param_value;

	kpb_expect_refused(test, *r->place.at, r->why);
}

/* With a probe between them, the store would fail forever. */
KPB_FUNCTION(atomic, "addi 4, 4, " __stringify(BITS_PER_LONG / 8) "\n nop\n"
	     "777: lwarx 6, 0, 4\n addi 6, 6, 1\n nop\n stwcx. 6, 0, 4\n bne- 777b\n nop");
/* As in the kernel's cmpxchg(): the store may be skipped. */
KPB_FUNCTION(compare, "addi 4, 4, " __stringify(BITS_PER_LONG / 8) "\n nop\n"
	     "777: lwarx 6, 0, 4\n cmpw 6, 6\n bne- 1f\n stwcx. 6, 0, 4\n bne- 777b\n1: nop");

static const struct kpb_place atomics[] = { KPB_PLACE(atomic), KPB_PLACE(compare) };

static void atomic_to_desc(const struct kpb_place *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%ps", p->fn);
}
KUNIT_ARRAY_PARAM(atomic, atomics, atomic_to_desc);

static void probe_keeps_off_atomics(struct kunit *test)
{
	const struct kpb_place *p = test->param_value;

	/* What surrounds it can be probed, also the branch back. */
	kp_check_sequence(test, p, *p->at - 8, *p->at + 24);
}

#ifdef CONFIG_PPC32
static int kpb_static_target(int v)
{
	return v + 1;
}

DEFINE_STATIC_CALL(kpb_static, kpb_static_target);

static void probe_keeps_off_static_calls(struct kunit *test)
{
	unsigned long tramp = (unsigned long)STATIC_CALL_TRAMP_ADDR(kpb_static);

	kpb_expect_refused(test, tramp, KPROBE_REFUSAL_STATIC_CALL);
	KUNIT_EXPECT_EQ(test, static_call(kpb_static)(1), 2);
}
#else
KP_SKIPPED(probe_keeps_off_static_calls, "not rewritten on 64 bits")
#endif

/*
 * Text that mitigations rewrite when they are switched
 */

struct patched {
	const char	*name;
	const long	*start, *stop;
	unsigned int	words;
};

#define PATCHED(name, words)	{ #name, &__start___##name, &__stop___##name, words }

static const struct patched patched[] = {
#ifdef CONFIG_PPC_BOOK3S_64
	PATCHED(stf_entry_barrier_fixup, 3),
	PATCHED(stf_exit_barrier_fixup, 6),
	PATCHED(uaccess_flush_fixup, 4),
	PATCHED(entry_flush_fixup, 3),
	PATCHED(scv_entry_flush_fixup, 3),
	PATCHED(rfi_flush_fixup, 3),
	PATCHED(barrier_nospec_fixup, 1),
#elif defined(CONFIG_PPC_BARRIER_NOSPEC)
	PATCHED(barrier_nospec_fixup, 2),
#else
	{ "none" },
#endif
};
KUNIT_ARRAY_PARAM_DESC(patched, patched, name);

/* Whatever else would be said about it. */
static void probe_keeps_off_mitigations(struct kunit *test)
{
	const struct patched *p = test->param_value;
	unsigned int i, k, places = 0, accepted = 0;
	unsigned long addr;

	KP_SKIP_IF(test, p->start == p->stop, "this kernel has none");

	for (i = 0; i < p->stop - p->start; i++) {
		addr = (unsigned long)(p->start + i) + p->start[i];
		/* Not what is gone after boot. */
		if (addr < (unsigned long)_stext || addr >= (unsigned long)_etext)
			continue;
		places++;
		for (k = 0; k < p->words; k++)
			KUNIT_EXPECT_EQ_MSG(test, kp_decide(addr + 4 * k), KPROBE_REFUSAL_PATCHED,
					    "%pS", (void *)addr);
		accepted += kp_decide(addr - 4) != KPROBE_REFUSAL_PATCHED;
		accepted += kp_decide(addr + 4 * k) != KPROBE_REFUSAL_PATCHED;
		/* Enough of them. */
		if (places == 20)
			break;
	}
	KUNIT_EXPECT_GT(test, places, 0);
	KUNIT_EXPECT_GT(test, accepted, 0);
}

/* The first place of ordinary code, by the way that users take. */
static void probe_is_refused_at_a_mitigation(struct kunit *test)
{
#ifdef CONFIG_PPC_BARRIER_NOSPEC
	const long *entry = &__start___barrier_nospec_fixup;
	unsigned long addr;

	for (; entry < &__stop___barrier_nospec_fixup; entry++) {
		addr = (unsigned long)entry + *entry;
		if (addr >= (unsigned long)_stext && addr < (unsigned long)_etext &&
		    !within_kprobe_blacklist(addr)) {
			kpb_expect_refused(test, addr, KPROBE_REFUSAL_PATCHED);
			return;
		}
	}
#endif
	kunit_skip(test, "this kernel has none");
}

#ifdef CONFIG_PPC_BOOK3S_64
/* The calls in the code that switches tasks. */
static void probe_keeps_off_calls_of_a_mitigation(struct kunit *test)
{
	s32 *sites[] = {
		&patch__call_flush_branch_caches1, &patch__call_flush_branch_caches2,
		&patch__call_flush_branch_caches3,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sites); i++)
		KUNIT_EXPECT_EQ_MSG(test, kp_decide(patch_site_addr(sites[i])),
				    KPROBE_REFUSAL_PATCHED, "%u", i + 1);
	KUNIT_EXPECT_EQ(test, kp_decide(patch_site_addr(sites[0]) - 4), KPROBE_REFUSAL_NONE);
}
#endif

/*
 * The soft interrupt mask
 */

#ifdef CONFIG_PPC64
unsigned long kpb_read_mask(void);
unsigned long kpb_write_mask(unsigned long mask);

/*
 * What a local_irq_restore() that finds nothing to replay goes through. The whole function is on
 * the blacklist, but not because of this.
 */
static void probe_keeps_off_what_is_restarted(struct kunit *test)
{
	unsigned long start = ppc_function_entry(arch_local_irq_restore), size, into, addr;
	unsigned int refused = 0, accepted = 0;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &into));
	for (addr = start; addr < start - into + size; addr += 4) {
		enum kprobe_refusal why = kp_decide(addr);

		if (search_kernel_restart_table(addr)) {
			KUNIT_EXPECT_EQ_MSG(test, why, KPROBE_REFUSAL_SEQUENCE, "%pS",
					    (void *)addr);
			refused++;
		}
		accepted += !why;
	}
	/* Four words each, in as many copies as the compiler has made. */
	KUNIT_EXPECT_GE(test, refused, 4);
	KUNIT_EXPECT_EQ(test, refused % 4, 0);
	KUNIT_EXPECT_GT(test, accepted, refused);
}

#define MASK_READER	"kpb_read_mask"
#define MASK_READER_AT	ppc_function_entry(kpb_read_mask)
#define MASK_OF(regs)	((regs)->softe)
#define read_mask	kpb_read_mask
#define current_mask	irq_soft_mask_return

#include "masks_words.h"

static void probe_reads_the_soft_mask(struct kunit *test)
{
	check_read_mask(test);
}

/* As in arch_local_irq_restore(): MSR[EE] is switched on only after the mask. */
static unsigned long write_enabled(void)
{
	unsigned long ret;

	for (;;) {
		local_irq_disable();
		hard_irq_disable();
		/* Interrupts that already wait have to be replayed. */
		if (READ_ONCE(local_paca->irq_happened) == PACA_IRQ_HARD_DIS)
			break;
		local_irq_enable();
	}
	trace_hardirqs_on();
	ret = kpb_write_mask(IRQS_ENABLED);
	local_paca->irq_happened = 0;
	__hard_irq_enable();
	return ret;
}

static void probe_writes_the_soft_mask(struct kunit *test)
{
	const struct mask_user *u = test->param_value;
	unsigned long ret, after;

	mask_begin(test, u, "kpb_write_mask", ppc_function_entry(kpb_write_mask));

	/* As local_irq_save(). */
	ret = kpb_write_mask(IRQS_DISABLED);
	after = irq_soft_mask_return();
	raw_local_irq_enable();
	KUNIT_EXPECT_EQ(test, ret, IRQS_DISABLED);
	KUNIT_EXPECT_EQ(test, after, IRQS_DISABLED);
	KUNIT_EXPECT_EQ(test, mask_seen.pre, IRQS_ENABLED);

	ret = write_enabled();
	after = irq_soft_mask_return();
	KUNIT_EXPECT_EQ(test, ret, IRQS_ENABLED);
	KUNIT_EXPECT_EQ(test, after, IRQS_ENABLED);
	KUNIT_EXPECT_TRUE(test, mfmsr() & MSR_EE);
	KUNIT_EXPECT_NE(test, mask_seen.pre, IRQS_ENABLED);

	KUNIT_EXPECT_EQ(test, mask_seen.hits, 2);
	KUNIT_EXPECT_EQ(test, mask_seen.posts, u->post ? 2 : 0);
	if (u->post) {
		KUNIT_EXPECT_EQ(test, mask_seen.post, IRQS_ENABLED);
		KUNIT_EXPECT_EQ(test, mask_seen.post_ip,
				(unsigned long)mask_seen.kp.addr + sizeof(u32));
	}
	mask_end(u);
}
#endif /* CONFIG_PPC64 */

/*
 * Function entries
 */

/* The next one is close, and traced. Other code is not generated in this order. */
static noinline __noclone __attribute__((no_reorder)) void kpb_empty(void)
{
	barrier();
}

static noinline __noclone notrace __attribute__((no_reorder)) void kpb_untraced_empty(void)
{
	barrier();
}

static noinline __noclone __attribute__((no_reorder)) int kpb_neighbour(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v * 3;
}

/* It accesses data, and so sets up r2 for callers from elsewhere, if its ABI has that. */
static noinline __noclone __attribute__((no_reorder)) long kpb_global(long v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v * 3 + READ_ONCE(kpb_data.value);
}

/* So does this one, without a site of ftrace that says where its callers arrive. */
static noinline __noclone notrace __attribute__((no_reorder)) long kpb_untraced_global(long v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v * 5 + READ_ONCE(kpb_data.value);
}

/* Where callers of both kinds arrive; other ABIs have only one entry. */
static unsigned long entry_of(void *fn)
{
	unsigned long code = (unsigned long)dereference_function_descriptor(fn), site = 0;

	if (IS_ENABLED(CONFIG_PPC64_ELF_ABI_V2) && IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		site = ftrace_location(code);
	return site ?: ppc_function_entry(fn);
}

static void expect_entry(struct kunit *test, const char *name, void *fn, void (*call)(void))
{
	struct kp_watch w = KP_WATCH_BY_NAME(name);

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, (unsigned long)w.kp.addr, entry_of(fn));
	call();
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	KUNIT_EXPECT_EQ(test, w.ip, entry_of(fn));
	unregister_kprobe(&w.kp);
}

/* Or else a call without an effect would be removed. */
static long kpb_sink;

/* The compiler must not know the function, or it makes one call of two. */
static void call_neighbour(void)
{
	int (*volatile fn)(int v) = kpb_neighbour;

	WRITE_ONCE(kpb_sink, fn(1));
}

static void call_global(void)
{
	WRITE_ONCE(kpb_sink, kpb_global(1));
}

static void call_untraced_global(void)
{
	WRITE_ONCE(kpb_sink, kpb_untraced_global(1));
}

/* The site of ftrace is in the function, not in the next one. */
static void probe_is_not_in_the_next_function(struct kunit *test)
{
	unsigned long empty = (unsigned long)dereference_function_descriptor(kpb_empty);
	unsigned long untraced = (unsigned long)dereference_function_descriptor(kpb_untraced_empty);
	unsigned long next = entry_of(kpb_neighbour);

	/* The distance that was once searched. */
	if (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE)) {
		KUNIT_EXPECT_LE(test, untraced - empty, 16);
		KUNIT_EXPECT_LE(test, next - untraced, 16);
	}
	expect_entry(test, "kpb_empty", kpb_empty, kpb_empty);
	expect_entry(test, "kpb_untraced_empty", kpb_untraced_empty, kpb_untraced_empty);
	expect_entry(test, "kpb_neighbour", kpb_neighbour, call_neighbour);
}

/* The address of an ops, which may look like an instruction, and counts to the function before. */
#if defined(CONFIG_PPC32) && defined(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS)
static void probe_keeps_off_the_ops_in_front(struct kunit *test)
{
	unsigned long word = (unsigned long)kpb_neighbour - sizeof(u32), size, into;
	struct kprobe p = { .addr = (kprobe_opcode_t *)word, .pre_handler = kp_nothing_pre };

	KUNIT_EXPECT_TRUE(test, kallsyms_lookup_size_offset(word, &size, &into) && into);
	KUNIT_EXPECT_EQ(test, register_kprobe(&p), -EINVAL);
	KUNIT_EXPECT_EQ(test, kprobe_why_refused(&p), KPROBE_REFUSAL_PREAMBLE);
}
#else
KP_SKIPPED(probe_keeps_off_the_ops_in_front, "needs PPC32 and DYNAMIC_FTRACE_WITH_CALL_OPS")
#endif

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

static int try_return_probe(unsigned long addr)
{
	struct kretprobe rp = { .kp.addr = (void *)addr, .handler = count_return };
	int ret = register_kretprobe(&rp);

	if (!ret)
		unregister_kretprobe(&rp);
	return ret;
}

/* The name of a function, and the address of its first instruction, mean the same. */
static void probe_at_each_entry(struct kunit *test)
{
	unsigned long global = (unsigned long)dereference_function_descriptor(kpb_global), addr;
	unsigned long entry = entry_of(kpb_global);
	struct kp_watch w = KP_WATCH(global);

	expect_entry(test, "kpb_global", kpb_global, call_global);
	expect_entry(test, "kpb_untraced_global", kpb_untraced_global, call_untraced_global);
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, (unsigned long)w.kp.addr,
			IS_ENABLED(CONFIG_PPC64_ELF_ABI_V2) ? entry : global);
	call_global();
	KP_UNWATCH(test, w, 1);

	/* On entry is what is not behind that place. */
	for (addr = global; addr <= entry; addr += 4) {
		int ret = IS_ENABLED(CONFIG_KRETPROBES) ? 0 : -EOPNOTSUPP;

		KUNIT_EXPECT_EQ_MSG(test, try_return_probe(addr), ret, "%pS", (void *)addr);
	}
	if (IS_ENABLED(CONFIG_KRETPROBES))
		KUNIT_EXPECT_EQ(test, try_return_probe(entry + 4), -EINVAL);
}

#ifdef CONFIG_PPC64_ELF_ABI_V2
/* Only calls through pointers come by the first two instructions. */
static void probe_at_the_global_entry(struct kunit *test)
{
	unsigned long global = (unsigned long)kpb_global;
	struct kp_watch second = KP_WATCH(global + 4);
	struct kp_watch local = KP_WATCH(global + 8);
	long (*fn)(long v) = kpb_global;

	KP_SKIP_IF(test, ppc_function_entry(kpb_global) == global, "there is only one entry");

	KUNIT_ASSERT_EQ(test, register_kprobe(&second.kp), 0);
	KUNIT_EXPECT_EQ(test, (unsigned long)second.kp.addr, global + 4);
	KUNIT_EXPECT_EQ(test, register_kprobe(&local.kp), 0);
	KUNIT_EXPECT_EQ(test, (unsigned long)local.kp.addr, global + 8);

	OPTIMIZER_HIDE_VAR(fn);
	KUNIT_EXPECT_EQ(test, fn(1), 3 + KPB_VALUE);
	KUNIT_EXPECT_EQ(test, atomic_read(&second.pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&local.pre), 1);
	KUNIT_EXPECT_EQ(test, kpb_global(1), 3 + KPB_VALUE);
	KUNIT_EXPECT_EQ(test, atomic_read(&second.pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&local.pre), 2);

	KUNIT_EXPECT_EQ(test, (unsigned long)kprobe_lookup_name("kpb_global", 0),
			entry_of(kpb_global));
	unregister_kprobe(&local.kp);
	unregister_kprobe(&second.kp);
}

/* Where there is no site of ftrace, these instructions tell where the local entry is. */
static void probe_hides_the_global_entry(struct kunit *test)
{
	unsigned long global = (unsigned long)kpb_untraced_global;
	unsigned long local = ppc_function_entry(kpb_untraced_global);
	struct kp_watch second = KP_WATCH(global + 4);

	KP_SKIP_IF(test, local == global, "there is only one entry");

	KUNIT_ASSERT_EQ(test, register_kprobe(&second.kp), 0);
	KUNIT_EXPECT_EQ(test, (unsigned long)second.kp.addr, global + 4);
	KUNIT_EXPECT_EQ(test, (unsigned long)kprobe_lookup_name("kpb_untraced_global", 0), local);
	unregister_kprobe(&second.kp);
}
#else
KP_SKIPPED(probe_at_the_global_entry, "there is only one entry")

KP_SKIPPED(probe_hides_the_global_entry, "there is only one entry")
#endif

#ifdef CONFIG_PPC64_ELF_ABI_V1
/* The name is that of the descriptor, and with a dot that of the code. */
static void probe_by_both_names(struct kunit *test)
{
	unsigned long code = (unsigned long)dereference_function_descriptor(kpb_global);

	KUNIT_EXPECT_EQ(test, (unsigned long)kprobe_lookup_name("kpb_global", 0), code);
	KUNIT_EXPECT_EQ(test, (unsigned long)kprobe_lookup_name(".kpb_global", 0), code);
	KUNIT_EXPECT_EQ(test, (unsigned long)kprobe_lookup_name("kpb_global", 4), code);
	expect_entry(test, ".kpb_global", kpb_global, call_global);
	/* A name of neither kind. */
	KUNIT_EXPECT_NULL(test, kprobe_lookup_name("kpb_no_such_function", 0));
	KUNIT_EXPECT_NULL(test, kprobe_lookup_name("no_such_module:kpb_global", 0));
}
#else
KP_SKIPPED(probe_by_both_names, "functions have one name")
#endif

/* On ELFv1, a pointer to a function points to its descriptor. The offset is one in the code. */
static void probe_by_descriptor(struct kunit *test)
{
	unsigned long code = (unsigned long)dereference_function_descriptor(kpb_global);
	unsigned int offset;

	KP_SKIP_IF(test, (unsigned long)kpb_global == code, "there are no descriptors");

	for (offset = 0; offset <= 4; offset += 4) {
		struct kp_watch w = { .kp.pre_handler = kp_watch_pre };

		w.kp.addr = (void *)kpb_global;
		w.kp.offset = offset;
		KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
		KUNIT_EXPECT_EQ(test, (unsigned long)w.kp.addr, code + offset);
		call_global();
		KP_UNWATCH(test, w, 1);
	}
	if (IS_ENABLED(CONFIG_KRETPROBES))
		KUNIT_EXPECT_EQ(test, try_return_probe((unsigned long)kpb_global), 0);
}

/*
 * Text in which this architecture allows no probes
 */

extern char __kprobes_pages_start[], __kprobes_pages_end[];
#ifdef CONFIG_PPC_BOOK3S_64
extern char __end_soft_masked[];
#endif

const struct kp_area kp_areas[] = {
	{ "vectors", _stext, __head_end, KPROBE_REFUSAL_ARCH_LISTED },
#ifdef CONFIG_PPC_BOOK3S_64
	/* Some of it is also marked. */
	{ "what entries share", __head_end, __end_soft_masked },
#endif
	{ "kprobes text", __kprobes_text_start, __kprobes_text_end, KPROBE_REFUSAL_MARKED },
	{ "pages for slots", __kprobes_pages_start, __kprobes_pages_end,
	  KPROBE_REFUSAL_ARCH_LISTED },
};

const unsigned int nr_kp_areas = ARRAY_SIZE(kp_areas);

bool kp_area_exists(const struct kp_area *a)
{
	return true;
}

/*
 * What a CPU executes before exceptions can be handled, or when no CPU waits for it any more; what
 * no exception can return to; and whether this kernel must have it.
 */
const struct kp_protected kp_waking_path[] = {
	/* Machine checks in real mode; the last copies a log. */
	{ "machine_check_early",	IS_ENABLED(CONFIG_PPC_BOOK3S_64) },
	{ "mce_handle_error",		false },
	{ "save_mce_event",		IS_ENABLED(CONFIG_PPC_BOOK3S_64) },
	{ "machine_check_queue_event",	IS_ENABLED(CONFIG_PPC_BOOK3S_64) },
	{ "opal_hmi_exception_early2",	IS_ENABLED(CONFIG_PPC_POWERNV) },
	{ "opal_handle_hmi2",		IS_ENABLED(CONFIG_PPC_POWERNV) },
	{ "opal_return",		IS_ENABLED(CONFIG_PPC_POWERNV) },
	{ "real_mode",			false },
#ifdef CONFIG_PPC_PSERIES
	{ "memcpy",			true },
#endif
	/* Out of line in kernels that are optimized for size. */
	{ "init_HFSCR",			false },
	{ "init_PMU",			false },
	{ "start_secondary",		IS_ENABLED(CONFIG_SMP) },
	{ "early_setup_secondary",	IS_ENABLED(CONFIG_SMP) && IS_ENABLED(CONFIG_PPC64) },
	{ "start_secondary_prolog",	IS_ENABLED(CONFIG_SMP) && IS_ENABLED(CONFIG_PPC64) },
	{ "generic_secondary_smp_init",	IS_ENABLED(CONFIG_PPC64) },
	{ "__restore_cpu_power8",	IS_ENABLED(CONFIG_PPC_BOOK3S_64) },
	{ "call_setup_cpu",		IS_ENABLED(CONFIG_PPC32) },
	{ "__setup_cpu_e500mc",		IS_ENABLED(CONFIG_PPC_E500MC) },
	{ "__setup_cpu_750",		IS_ENABLED(CONFIG_PPC_BOOK3S_32) },
	{ "setup_745x_specifics",	IS_ENABLED(CONFIG_PPC_BOOK3S_32) },
	{ "setup_common_caches",	IS_ENABLED(CONFIG_PPC_BOOK3S_32) },
	{ "flush_backside_L2_cache",	IS_ENABLED(CONFIG_PPC_E500MC) },
	{ "epapr_ev_idle",		false },
	{ "__tlbil_va",			IS_ENABLED(CONFIG_PPC_85xx) },
	{ "_tlbil_pid",			IS_ENABLED(CONFIG_PPC_85xx) },
	{ "flush_disable_caches",	IS_ENABLED(CONFIG_PPC_BOOK3S_32) &&
					IS_ENABLED(CONFIG_PPC_PMAC) },
	{ "low_sleep_handler",		false },
	{ "rcpm_v2_cpu_die",		false },
	{ "pnv_cpu_offline_self",	false },
	{ "pmac_cpu_offline_self",	false },
	{ "smp_85xx_cpu_offline_self",	false },
	{ "kexec_sequence",		IS_ENABLED(CONFIG_KEXEC_CORE) && IS_ENABLED(CONFIG_PPC64) },
	{ "kexec_smp_wait",		false },
	{ "relocate_new_kernel",	false },
	{ "interrupt_exit_kernel_prepare", true },
	{ "transfer_to_syscall",	IS_ENABLED(CONFIG_PPC32) },
	{ "__kuep_unlock",		IS_ENABLED(CONFIG_PPC_BOOK3S_32) &&
					IS_ENABLED(CONFIG_PPC_KUEP) },
	{ "arch_local_irq_restore",	IS_ENABLED(CONFIG_PPC64) },
	{ "slb_allocate_user",		false },
	{ "prep_irq_for_idle",		IS_ENABLED(CONFIG_PPC_PSERIES) },
	{ "pseries_lpar_idle",		IS_ENABLED(CONFIG_PPC_PSERIES) },
	{ "flush_branch_caches",	IS_ENABLED(CONFIG_PPC_BOOK3S_64) },
	{ "copy_mc_generic",		IS_ENABLED(CONFIG_PPC64) },
	{}
};

/* What a hit executes before it is guarded against recursion, or in a detour. */
const struct kp_protected kp_hit_path[] = {
	{ "kprobe_handler",		true },
	{ "kprobe_post_handler",	true },
	{ "kprobe_fault_handler",	true },
	{ "kprobe_bad_page_fault",	true },
	{ "kprobe_program_ip",		false },
	{ "kprobe_hit_nested",		false },
	{ "do_program_check",		false },
	{ "__single_step_exception",	false },
	{ "program_check_exception",	true },
	{ "single_step_exception",	true },
	{ "kprobe_head",		IS_ENABLED(CONFIG_OPTPROBES) },
	{ "kretprobe_head",		IS_ENABLED(CONFIG_OPTPROBES) },
	{ "kprobe_detour_leave",	IS_ENABLED(CONFIG_OPTPROBES) },
	{ "arch_leave_detour",		IS_ENABLED(CONFIG_OPTPROBES) },
	{ "kprobe_detour_callback",	IS_ENABLED(CONFIG_OPTPROBES) },
	{ "__kretprobe_trampoline",	IS_ENABLED(CONFIG_KRETPROBES) },
#ifdef CONFIG_PPC32
	{ "memset",			true },
#endif
	{}
};

/*
 * Slots
 */

/* The copy cannot branch back, so it is stepped, if nothing emulates it. */
static void probe_without_a_slot_in_reach(struct kunit *test)
{
	static const struct kp_target pvr = KPB_TARGET(pvr);
	struct kp_hog hog;

	KP_SKIP_IF(test, !kprobe_boosts(), "no copy branches back");

	kp_hog_slots(test, &hog, false);
	kp_expect_executed(test, &pvr, "stepped");
	kp_expect_executed(test, &kp_target_add, "emulated");
	/* What is relative to its own address cannot be that far away. */
	if (IS_ENABLED(CONFIG_PPC64))
		kpb_expect_refused(test, kpb_pl_at, KPROBE_REFUSAL_REACH);

	kp_release_slots(&hog);
	kp_expect_executed(test, &pvr, "boosted");
	kp_expect_accepted(test, kpb_pl_at);
}

static void probe_without_any_slot(struct kunit *test)
{
	kp_check_without_any_slot(test, kpb_pvr_at, kpb_b_at, kpb_bctrl_at);
}

static void probe_without_a_detour(struct kunit *test)
{
	kp_check_without_a_detour(test);
}

/*
 * Traps of others
 */

/* By handlers that are called as by the exceptions. */
static void expect_foreign(struct kunit *test, unsigned long nip, unsigned long msr)
{
	struct pt_regs regs = { .nip = nip, .msr = msr };

	guard(irqsave)();
	KUNIT_EXPECT_EQ(test, kprobe_handler(&regs), 0);
	KUNIT_EXPECT_EQ(test, kprobe_post_handler(&regs), 0);
	KUNIT_EXPECT_EQ(test, regs.nip, nip);
	KUNIT_EXPECT_EQ(test, regs.msr, msr);
}

static void probe_passes_on_foreign_traps(struct kunit *test)
{
	struct kp_watch w = KP_WATCH_POST(KPB_AT(pvr));
	unsigned long slot;

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	slot = (unsigned long)get_kprobe(w.kp.addr)->ainsn.insn;
	expect_foreign(test, kpb_add_at, MSR_KERNEL);
	/* That of a slot that this CPU does not execute. */
	expect_foreign(test, slot, MSR_KERNEL);
	expect_foreign(test, slot + 4, MSR_KERNEL);
	/* At the address of the probe, but in user space or with translation off. */
	expect_foreign(test, kpb_pvr_at, MSR_KERNEL | MSR_PR);
#ifndef CONFIG_BOOKE
	expect_foreign(test, kpb_pvr_at, MSR_KERNEL & ~(MSR_IR | MSR_DR));
	expect_foreign(test, kpb_pvr_at, MSR_KERNEL & ~MSR_IR);
	expect_foreign(test, kpb_pvr_at, MSR_KERNEL & ~MSR_DR);
#endif
	KUNIT_EXPECT_EQ(test, atomic_read(&w.post), 0);
	unregister_kprobe(&w.kp);
}

/* ftrace calls the probes at its sites, where there is no trap of theirs. */
static void probe_passes_on_traps_at_sites_of_ftrace(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(ftrace_location(entry_of(kpb_neighbour)));

	if (!w.kp.addr || !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "functions have no site that handlers are called from");

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_FALSE(test, kpb_has_breakpoint(w.kp.addr));
	expect_foreign(test, (unsigned long)w.kp.addr, MSR_KERNEL);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 0);
	call_neighbour();
	KP_UNWATCH(test, w, 1);
}

/* As in an NMI, on a CPU that goes offline, and on the way to a guest. */
static void probe_is_silent_where_ftrace_is_off(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(ftrace_location(entry_of(kpb_neighbour)));

	if (!w.kp.addr || !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) || !IS_ENABLED(CONFIG_PPC64))
		kunit_skip(test, "ftrace calls no probes, or cannot be off for a CPU");

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	scoped_guard(irqsave) {
		this_cpu_disable_ftrace();
		barrier();
		call_neighbour();
		barrier();
		this_cpu_enable_ftrace();
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 0);
	KUNIT_EXPECT_EQ(test, w.kp.nmissed, 0);
	call_neighbour();
	KP_UNWATCH(test, w, 1);
}

static struct kunit_case probe_cases[] = {
	KUNIT_CASE(probe_post_handler_joins_a_boosted_site),
	KUNIT_CASE_PARAM(probe_post_handler_sees_next_nip, next_gen_params),
	KUNIT_CASE_PARAM(probe_finds_fixups, fixup_gen_params),
	KUNIT_CASE(probe_finds_fixups_of_nested_hits),
	KUNIT_CASE_PARAM(probe_is_refused, refusal_gen_params),
	KUNIT_CASE_PARAM(probe_keeps_off_atomics, atomic_gen_params),
	KUNIT_CASE(probe_keeps_off_static_calls),
	KUNIT_CASE_PARAM(probe_keeps_off_mitigations, patched_gen_params),
	KUNIT_CASE(probe_is_refused_at_a_mitigation),
#ifdef CONFIG_PPC_BOOK3S_64
	KUNIT_CASE(probe_keeps_off_calls_of_a_mitigation),
#endif
#ifdef CONFIG_PPC64
	KUNIT_CASE(probe_keeps_off_what_is_restarted),
	KUNIT_CASE_PARAM(probe_reads_the_soft_mask, mask_user_gen_params),
	KUNIT_CASE_PARAM(probe_writes_the_soft_mask, mask_user_gen_params),
#endif
	KUNIT_CASE(probe_is_not_in_the_next_function),
	KUNIT_CASE(probe_keeps_off_the_ops_in_front),
	KUNIT_CASE(probe_at_each_entry),
	KUNIT_CASE(probe_at_the_global_entry),
	KUNIT_CASE(probe_hides_the_global_entry),
	KUNIT_CASE(probe_by_both_names),
	KUNIT_CASE(probe_by_descriptor),
	KUNIT_CASE(probe_without_a_slot_in_reach),
	KUNIT_CASE(probe_without_any_slot),
	KUNIT_CASE(probe_without_a_detour),
	KUNIT_CASE(probe_passes_on_foreign_traps),
	KUNIT_CASE(probe_passes_on_traps_at_sites_of_ftrace),
	KUNIT_CASE(probe_is_silent_where_ftrace_is_off),
	{}
};

KP_SUITE(probe_cases, .name = "kprobes_powerpc_probe",
	 .suite_init = kp_without_jumps, .suite_exit = kp_with_jumps);
