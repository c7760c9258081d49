// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stack traces out of detours and of the return trampolines, by each of the unwinders of powerpc:
 * from handlers, from interrupts of handlers, and from each instruction of the trampolines.
 *
 * For the latter, one of these instructions after the other is replaced by a trap. Its handler
 * takes a trace and emulates the instruction.
 */

#include "suite.h"

#include <linux/kdebug.h>
#include <linux/kmsg_dump.h>
#include <linux/perf_event.h>
#include <linux/rethook.h>
#include <linux/sched/debug.h>
#include <linux/stacktrace.h>
#include <linux/text-patching.h>

#include <asm/inst.h>
#include <asm/sstep.h>

#include "../../../../../kernel/kprobes/tests/helpers.h"
#include "traces.h"

/* The name of code is that of its descriptor after a dot. */
#ifdef CONFIG_PPC64_ELF_ABI_V1
#define CODE	"."
#else
#define CODE	""
#endif

/*
 * The probed instruction, where the function has a frame, in which its callee has saved LR. That
 * is another address of the function.
 */
extern u32 kpu_unwound_at[] asm(".Lkpu_unwound_at");

static noinline __noclone notrace unsigned long kpu_leaf(unsigned long v)
{
	KP_PADDING;
	return v;
}

static noinline __noclone notrace unsigned long kpu_callee(unsigned long v)
{
	unsigned long (*volatile fn)(unsigned long v) = kpu_leaf;

	return fn(v) + 1;
}

static noinline __noclone notrace unsigned long kpu_unwound(unsigned long v)
{
	KP_PADDING;
	v = kpu_callee(v);
	asm volatile("	nop\n"
		     ".Lkpu_unwound_at:\n"
		     "	addi %0, %0, 1\n"
		     : "+b" (v) : : "lr");
	return v;
}

static noinline __noclone notrace unsigned long kpu_unwinding(unsigned long v)
{
	unsigned long (*volatile fn)(unsigned long v) = kpu_unwound;

	KP_PADDING;
	return fn(v) + 1;
}

static noinline unsigned long kpu_begin(unsigned long v)
{
	unsigned long (*volatile fn)(unsigned long v) = kpu_unwinding;

	return fn(v) + 1;
}

#define BEGUN	4

/* The leaf is called with a frame in whose slot another callee has left its return address. */
static noinline __noclone notrace unsigned long kpu_calling_twice(unsigned long v)
{
	unsigned long (*volatile fn)(unsigned long v) = kpu_unwound;
	unsigned long (*volatile leaf)(unsigned long v) = kpu_leaf;

	v = fn(v);
	return leaf(v) + 1;
}

#define CALLED_TWICE	3

static noinline __noclone notrace unsigned long kpu_around(unsigned long v)
{
	v = kpu_calling_twice(v);
	OPTIMIZER_HIDE_VAR(v);
	return v;
}

static int nr_hooks_in(const struct kp_trace *t)
{
	int i, n = 0;

	for (i = 0; i < t->nr; i++)
		n += kp_is_return_hook(t->entries[i]);
	return n;
}

/* kpu_unwinding(), what has called it, and nothing of what hooks returns. */
static void expect_callers(struct kunit *test, const char *what, const struct kp_trace *t)
{
	int caller = kp_trace_find(t, kpu_unwinding), begin = kp_trace_find(t, kpu_begin);
	bool bad = caller < 0 || begin != caller + 1 || t->nr <= begin + 1 || nr_hooks_in(t);

	KUNIT_EXPECT_FALSE_MSG(test, bad, "%s", what);
	if (bad)
		kp_trace_show(test, what, t);
}

/*
 * From handlers
 */

static int stay(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

/*
 * A trace of a function in the detour shows it, and that from an interrupt of the handler as well.
 * What is between it and its caller is the slot in its frame, which its callee has written.
 */
static void unwind_in_detours(struct kunit *test)
{
	struct kp_traced t = {
		.kp = { .addr = kpu_unwound_at, .pre_handler = kp_traced_pre },
		.rp = { .kp.symbol_name = "kpu_unwound", .handler = stay },
		.work = IRQ_WORK_INIT_HARD(kp_traced_irq),
		.interrupt = true,
	};
	unsigned long at = (unsigned long)kpu_unwound_at;
	bool jump;
	int i;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_OPTPROBES), "needs OPTPROBES");
	KUNIT_ASSERT_EQ(test, register_kretprobe(&t.rp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&t.kp), 0);
	wait_for_kprobe_optimizer();
	scoped_guard(preempt)
		jump = kprobe_optimized(get_kprobe(kpu_unwound_at));
	KUNIT_EXPECT_TRUE(test, jump);
	KUNIT_EXPECT_EQ(test, kpu_begin(0), BEGUN);
	unregister_kprobe(&t.kp);
	unregister_kretprobe(&t.rp);

	expect_callers(test, "pre handler", &t.pre);
	expect_callers(test, "interrupt", &t.irq);
	i = kp_trace_find(&t.pre, kpu_unwound);
	KUNIT_ASSERT_GE(test, i, 0);
	KUNIT_EXPECT_EQ(test, t.pre.entries[i], at);
	KUNIT_EXPECT_LE(test, kp_trace_find(&t.pre, kpu_unwinding), i + 2);
	i = kp_trace_find(&t.irq, kpu_unwound);
	KUNIT_ASSERT_GE(test, i, 0);
	KUNIT_EXPECT_EQ(test, t.irq.entries[i], at);
}

struct leaf {
	struct kprobe	kp;
	struct kp_trace	trace;
	unsigned long	slot;
};

static int trace_leaf(struct kprobe *p, struct pt_regs *regs)
{
	struct leaf *l = container_of(p, struct leaf, kp);

	l->slot = ((unsigned long *)regs->gpr[1])[STACK_FRAME_LR_SAVE];
	l->trace.nr = stack_trace_save_regs(regs, l->trace.entries, KP_MAX_ENTRIES, 0);
	return 0;
}

/*
 * A stale hook that an earlier call has saved in the slot is not taken for the leaf's caller. The
 * hook of a call in progress is found after it.
 */
static void unwind_past_a_stale_hook(struct kunit *test)
{
	struct leaf l = { .kp = { .symbol_name = "kpu_leaf", .pre_handler = trace_leaf } };

	KP_RETURN_PROBE(test, .kp.symbol_name = "kpu_unwound", .handler = stay);
	KP_RETURN_PROBE(test, .kp.symbol_name = "kpu_around", .handler = stay);
	KUNIT_ASSERT_EQ(test, register_kprobe(&l.kp), 0);
	KUNIT_EXPECT_EQ(test, kpu_around(0), CALLED_TWICE);
	unregister_kprobe(&l.kp);

	KUNIT_EXPECT_TRUE(test, kp_is_return_hook(l.slot));
	KUNIT_EXPECT_EQ(test, nr_hooks_in(&l.trace), 0);
	KUNIT_EXPECT_TRUE(test, kp_is_within(l.trace.entries[0], kpu_leaf));
	KUNIT_EXPECT_TRUE(test, kp_is_within(l.trace.entries[1], kpu_around));
	KUNIT_EXPECT_TRUE(test, kp_is_within(l.trace.entries[2], unwind_past_a_stale_hook));
}

/* In a return handler, the function has returned. */
static void unwind_in_return_handlers(struct kunit *test)
{
	struct kp_traced t = {
		.rp = { .kp.symbol_name = "kpu_unwound", .handler = kp_traced_return },
		.work = IRQ_WORK_INIT_HARD(kp_traced_irq),
		.interrupt = true,
	};
	int i;

	KUNIT_ASSERT_EQ(test, register_kretprobe(&t.rp), 0);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, kpu_begin(0), BEGUN);
		expect_callers(test, "return handler", &t.ret);
		expect_callers(test, "interrupt", &t.irq);
		KUNIT_EXPECT_EQ(test, kp_trace_find(&t.ret, kpu_unwound), -1);
		KUNIT_EXPECT_EQ(test, kp_trace_find(&t.irq, kpu_unwound), -1);
		memset(&t.ret, 0, sizeof(t.ret));
		memset(&t.irq, 0, sizeof(t.irq));
		wait_for_kprobe_optimizer();
	}
	unregister_kretprobe(&t.rp);
}

/*
 * From each instruction of a trampoline
 */

static struct {
	struct task_struct	*task;
	unsigned long		addr;
	ppc_inst_t		insn;
	struct kp_trace		trace;
	unsigned long		link;
	unsigned int		hits, failed;
} stop;

static int at_stop(struct notifier_block *self, unsigned long val, void *data)
{
	struct die_args *args = data;
	struct pt_regs *regs = args->regs;

	if (val != DIE_BPT || user_mode(regs) || regs->nip != stop.addr)
		return NOTIFY_DONE;

	if (current == stop.task && !stop.hits++) {
		stop.trace.nr = stack_trace_save_regs(regs, stop.trace.entries, KP_MAX_ENTRIES, 0);
		stop.link = regs->link;
	}
	if (emulate_step(regs, stop.insn) <= 0)
		stop.failed++;
	return NOTIFY_STOP;
}
NOKPROBE_SYMBOL(at_stop);

static struct notifier_block stop_notifier = {
	.notifier_call	= at_stop,
	.priority	= INT_MAX,
};

/* Access to the registers that lock user memory is not emulated. */
static bool is_emulated(u32 insn)
{
	unsigned int spr = (insn >> 16 & 0x1f) | (insn >> 6 & 0x3e0);
	bool mfspr = insn >> 26 == 31 && (insn >> 1 & 0x3ff) == 339;
	bool mtspr = insn >> 26 == 31 && (insn >> 1 & 0x3ff) == 467;

	return (!mfspr && !mtspr) || spr == SPRN_LR || spr == SPRN_CTR || spr == SPRN_XER;
}

static void set_text(struct kunit *test, unsigned long addr, ppc_inst_t insn)
{
	guard(mutex)(&text_mutex);
	KUNIT_EXPECT_EQ(test, patch_instruction((u32 *)addr, insn), 0);
}

/* True if the instruction was executed. The text is patched: the test must not end here. */
static noinline bool call_with_stop(struct kunit *test, unsigned long addr)
{
	memset(&stop, 0, sizeof(stop));
	stop.task = current;
	stop.addr = addr;
	stop.insn = ppc_inst_read((u32 *)addr);
	if (!is_emulated(ppc_inst_val(stop.insn)))
		return false;

	KUNIT_EXPECT_EQ(test, register_die_notifier(&stop_notifier), 0);
	set_text(test, addr, ppc_inst(PPC_RAW_TRAP()));
	KUNIT_EXPECT_EQ(test, kpu_begin(0), BEGUN);
	set_text(test, addr, stop.insn);
	unregister_die_notifier(&stop_notifier);
	KUNIT_EXPECT_EQ_MSG(test, stop.failed, 0, "at %pS: %08x", (void *)addr,
			    ppc_inst_val(stop.insn));
	return stop.hits;
}

/* The last ones: the slot in the caller's frame is as it was, and LR has the address. */
#define UNHOOKED	3

/*
 * Of the trace, the trampoline itself comes first, then a slot in its frame that nobody may have
 * written.
 */
static void expect_callers_from_each(struct kunit *test, void *trampoline)
{
	unsigned long start = (unsigned long)dereference_kernel_function_descriptor(trampoline);
	unsigned long addr, size = 0, into = 1;
	unsigned int nr = 0;

	KUNIT_EXPECT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &into));
	KUNIT_EXPECT_EQ(test, into, 0);
	/* The end of the other trampoline may be a symbol. */
	while (ppc_inst_val(ppc_inst_read((u32 *)(start + size - 4))) != PPC_RAW_BLR())
		size -= 4;

	for (addr = start; addr < start + size; addr += 4) {
		if (!call_with_stop(test, addr))
			continue;
		nr++;
		KUNIT_EXPECT_EQ(test, stop.hits, 1);
		KUNIT_EXPECT_EQ(test, stop.trace.entries[0], addr);
		if (addr >= start + size - 4 * UNHOOKED &&
		    kp_trace_find(&stop.trace, kpu_unwinding) < 0 &&
		    kp_is_within(stop.link, kpu_unwinding)) {
			KUNIT_EXPECT_GE(test, kp_trace_find(&stop.trace, kpu_begin), 0);
			continue;
		}
		/* It is not reported as a return address. */
		stop.trace.entries[0] = 0;
		expect_callers(test, "trampoline", &stop.trace);
	}
	/* All but those that only some processors execute. */
	KUNIT_EXPECT_GE(test, nr, IS_ENABLED(CONFIG_PPC64) ? 95 : 30);
}

static void unwind_from_each_instruction_of_a_return(struct kunit *test)
{
	KP_RETURN_PROBE(test, .kp.symbol_name = "kpu_unwound");
	expect_callers_from_each(test, __kretprobe_trampoline);
}

#ifdef CONFIG_RETHOOK
static struct rethook *rh;

static void nothing(struct rethook_node *node, void *data, unsigned long ret_addr,
		    struct pt_regs *regs)
{
}

static int hook_by_rethook(struct kprobe *p, struct pt_regs *regs)
{
	struct rethook_node *node = rethook_try_get(rh);

	if (node)
		rethook_hook(node, regs, false);
	return 0;
}

static void unwind_from_each_instruction_of_rethook(struct kunit *test)
{
	struct kprobe p = { .symbol_name = "kpu_unwound", .pre_handler = hook_by_rethook };

	rh = rethook_alloc(&p, nothing, sizeof(struct rethook_node), 4);
	KUNIT_ASSERT_FALSE(test, IS_ERR(rh));
	KUNIT_EXPECT_EQ(test, register_kprobe(&p), 0);
	expect_callers_from_each(test, arch_rethook_trampoline);
	unregister_kprobe(&p);
	rethook_free(rh);
}
#else
KP_SKIPPED(unwind_from_each_instruction_of_rethook, "needs RETHOOK")
#endif

/*
 * By perf, from the entry of a leaf, which does not save LR, and from the middle of a function
 */

#ifdef CONFIG_PERF_EVENTS
static struct kp_trace chains[2];

static int chain_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct kp_trace *t = &chains[p->addr == kpu_unwound_at];
	struct perf_callchain_entry_ctx ctx = { .max_stack = KP_MAX_ENTRIES };
	static struct {
		struct perf_callchain_entry	entry;
		u64				ip[2 * KP_MAX_ENTRIES];
	} chain;
	int i;

	chain.entry.nr = 0;
	ctx.entry = &chain.entry;
	perf_callchain_kernel(&ctx, regs);
	/* It stores 0 for one of the first two, and marks where the context changes. */
	t->nr = 0;
	for (i = 0; i < chain.entry.nr && t->nr < KP_MAX_ENTRIES; i++) {
		if (chain.entry.ip[i] && chain.entry.ip[i] < PERF_CONTEXT_MAX)
			t->entries[t->nr++] = chain.entry.ip[i];
	}
	return 0;
}

static void unwind_by_perf(struct kunit *test)
{
	struct kretprobe rp[] = {
		{ .kp.symbol_name = "kpu_leaf" },
		{ .kp.symbol_name = "kpu_unwound" },
		{ .kp.symbol_name = "kpu_unwinding" },
	};
	struct kretprobe *rps[] = { &rp[0], &rp[1], &rp[2] };
	/* The leaf is probed behind its entry, where LR is diverted already. */
	struct kprobe leaf = { .symbol_name = "kpu_leaf", .offset = 8, .pre_handler = chain_pre };
	struct kprobe middle = { .addr = kpu_unwound_at, .pre_handler = chain_pre };
	int i, k;

	KUNIT_ASSERT_EQ(test, register_kretprobes(rps, ARRAY_SIZE(rps)), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&leaf), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&middle), 0);
	for (k = 0; k < 2; k++) {
		memset(chains, 0, sizeof(chains));
		KUNIT_EXPECT_EQ(test, kpu_begin(0), BEGUN);
		for (i = 0; i < ARRAY_SIZE(chains); i++)
			expect_callers(test, i ? "middle" : "leaf", &chains[i]);
		KUNIT_EXPECT_EQ(test, kp_trace_find(&chains[0], kpu_leaf), 0);
		KUNIT_EXPECT_EQ(test, kp_trace_find(&chains[0], kpu_callee), 1);
		KUNIT_EXPECT_EQ(test, kp_trace_find(&chains[0], kpu_unwound), 2);
		KUNIT_EXPECT_EQ(test, kp_trace_find(&chains[0], kpu_unwinding), 3);
		KUNIT_EXPECT_EQ(test, chains[1].entries[0], (unsigned long)kpu_unwound_at);
		wait_for_kprobe_optimizer();
	}
	unregister_kprobe(&middle);
	unregister_kprobe(&leaf);
	unregister_kretprobes(rps, ARRAY_SIZE(rps));
}
#else
KP_SKIPPED(unwind_by_perf, "needs PERF_EVENTS")
#endif

/*
 * Of a task that sleeps
 */

static noinline __noclone u32 kpu_sleep(struct kp_sleeper *s)
{
	return kp_sleep(s);
}

static noinline __noclone u32 kpu_sleeping(struct kp_sleeper *s)
{
	u32 (*volatile fn)(struct kp_sleeper *s) = kpu_sleep;

	return fn(s) + 1;
}

/* Lines of the log that have been printed since, and that contain the text. */
static int logged_since(u64 seq, const char *text)
{
	struct kmsg_dump_iter iter;
	static char line[256];
	size_t len;
	int n = 0;

	kmsg_dump_rewind(&iter);
	iter.cur_seq = seq;
	while (kmsg_dump_get_line(&iter, false, line, sizeof(line) - 1, &len)) {
		line[len] = 0;
		n += !!strstr(line, text);
	}
	return n;
}

static u64 log_position(void)
{
	struct kmsg_dump_iter iter;

	kmsg_dump_rewind(&iter);
	return iter.next_seq;
}

/*
 * show_stack() prints what is on the stack, and in parentheses what it stands for. The address
 * that a task waits at is outside of the scheduler, not in a trampoline.
 */
static void unwind_a_sleeping_task(struct kunit *test)
{
	static const char * const names[] = {
		"kpu_sleep", "kpu_sleeping", "wait_for_completion",
	};
	struct kretprobe rp[ARRAY_SIZE(names)] = {}, *rps[ARRAY_SIZE(names)];
	struct kp_sleeper s;
	unsigned long at;
	u64 seq;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		rp[i].kp.symbol_name = names[i];
		rp[i].handler = stay;
		rp[i].maxactive = 64;
		rps[i] = &rp[i];
	}
	KUNIT_ASSERT_EQ(test, register_kretprobes(rps, ARRAY_SIZE(rps)), 0);
	if (kp_sleeper_start(&s, kpu_sleeping)) {
		unregister_kretprobes(rps, ARRAY_SIZE(rps));
		KUNIT_FAIL(test, "no thread");
		return;
	}

	at = get_wchan(s.task);
	KUNIT_EXPECT_TRUE_MSG(test, kp_is_within(at, kpu_sleep), "waits at %pS", (void *)at);

	if (IS_ENABLED(CONFIG_PRINTK)) {
		seq = log_position();
		show_stack(s.task, NULL, KERN_INFO);
		KUNIT_EXPECT_EQ(test, logged_since(seq, " (" CODE "kpu_sleep+"), 1);
		KUNIT_EXPECT_EQ(test, logged_since(seq, " (" CODE "kpu_sleeping+"), 1);
		KUNIT_EXPECT_EQ(test, logged_since(seq, " (" CODE "sleeper_thread+"), 1);
	}

	KUNIT_EXPECT_EQ(test, kp_sleeper_wake(&s), KP_SLEEPER_RETURNS + 1);
	unregister_kretprobes(rps, ARRAY_SIZE(rps));
}

static struct kunit_case unwind_cases[] = {
	KUNIT_CASE(unwind_in_detours),
	KUNIT_CASE(unwind_past_a_stale_hook),
	KUNIT_CASE(unwind_in_return_handlers),
	KUNIT_CASE(unwind_from_each_instruction_of_a_return),
	KUNIT_CASE(unwind_from_each_instruction_of_rethook),
	KUNIT_CASE(unwind_by_perf),
	KUNIT_CASE(unwind_a_sleeping_task),
	{}
};

KP_SUITE(unwind_cases, .name = "kprobes_powerpc_unwind");
