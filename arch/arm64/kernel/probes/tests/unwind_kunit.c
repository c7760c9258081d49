// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stack traces out of detours and of the return trampoline: from handlers, from interrupts
 * of handlers, and from each of their instructions.
 *
 * For the latter, a breakpoint of the CPU's debug hardware stops at one instruction after the
 * other. Its handler takes a trace, and has the instruction executed elsewhere.
 */

#include "suite.h"

#include <kunit/static_stub.h>
#include <linux/cpufeature.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/stacktrace.h>

#include <asm/stacktrace.h>

#include "../../../../../kernel/kprobes/slots.h"
#include "../detour.h"
#include "helpers.h"
#include "traces.h"

/*
 * The probed instruction, where the function has a frame record; and one that is executed on
 * return.
 */
extern u32 kpb_unwound_at[] asm(".Lkpb_unwound_at");
extern u32 kpb_unwound_back[] asm(".Lkpb_unwound_back");

static noinline __noclone unsigned long kpb_unwound(unsigned long v)
{
	/* The function needs its frame, and x30 is clobbered: both are saved first. */
	asm volatile(".Lkpb_unwound_at:\n"
		     "	ldr xzr, [sp]\n"
		     "	add %0, %0, #1\n"
		     : "+r" (v) : "r" (__builtin_frame_address(0)) : "x30");
	return v;
}

static noinline __noclone notrace unsigned long kpb_unwinding(unsigned long v)
{
	unsigned long (*volatile fn)(unsigned long v) = kpb_unwound;

	v = fn(v);
	asm volatile(".Lkpb_unwound_back:\n"
		     "	add %0, %0, #1\n"
		     : "+r" (v));
	return v;
}

/* Its entry has to stay a landing pad. */
static bool entry_stays(void)
{
	return system_supports_bti_kernel();
}

/* Each has the other one's entries from @fn up to the function that began it all, and more. */
static bool same_from(const struct kp_trace *a, const struct kp_trace *b, void *fn, void *begun_by)
{
	int i = kp_trace_find(a, fn), k = kp_trace_find(b, fn), end = kp_trace_find(a, begun_by);

	return i >= 0 && k >= 0 && end > i && a->nr > end + 1 && b->nr > end + 1 + k - i &&
	       !memcmp(a->entries + i, b->entries + k, (end - i + 1) * sizeof(*a->entries));
}

/*
 * From handlers
 */

/* The probed function, and then its caller with kp_nothing_pre in between. */
static void expect_caller(struct kunit *test, const char *what, const struct kp_trace *t,
			  unsigned long at)
{
	int probed = kp_trace_find(t, kpb_unwound), caller = kp_trace_find(t, kpb_unwinding);
	bool bad = probed < 0 || t->entries[probed] != at || caller != probed + 1 ||
		   t->nr <= caller + 1;

	KUNIT_EXPECT_FALSE_MSG(test, bad, "%s", what);
	if (bad)
		kp_trace_show(test, what, t);
}

struct mode {
	const char	*name;
	bool		post, jump, alone;
};

static const struct mode modes[] = {
	{ "boosted" },
	{ "stepped", .post = true },
	{ "stepped, without a copy that branches back", .post = true, .alone = true },
	{ "optimized", .jump = true },
};
KUNIT_ARRAY_PARAM_DESC(mode, modes, name);

static bool never(void)
{
	return false;
}

static void begin_mode(struct kunit *test, const struct mode *m)
{
	KP_SKIP_IF(test, m->jump && !IS_ENABLED(CONFIG_OPTPROBES), "needs OPTPROBES");
	kprobe_test_allow_optimization(m->jump);
	if (m->alone)
		kunit_activate_static_stub(test, kprobe_boosts, never);
}

static void call_with_probe(struct kunit *test, const struct mode *m, struct kprobe *kp)
{
	begin_mode(test, m);
	kp->addr = kpb_unwound_at;
	KP_REGISTER_AND_WAIT(test, kp);
	KUNIT_EXPECT_EQ(test, kpb_has_jump(kpb_unwound_at), m->jump);
	KUNIT_EXPECT_EQ(test, kpb_unwinding(1), 3);
	unregister_kprobe(kp);
}

static void call_with_return_probe(struct kunit *test, const struct mode *m, struct kretprobe *rp)
{
	KP_SKIP_IF(test, m->post, "a return probe has no post handler");
	begin_mode(test, m);
	rp->kp.symbol_name = "kpb_unwound";
	KUNIT_ASSERT_EQ(test, register_kretprobe(rp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpb_has_jump(rp->kp.addr), m->jump && !entry_stays());
	KUNIT_EXPECT_EQ(test, kpb_unwinding(1), 3);
	unregister_kretprobe(rp);
}

static void unwind_in_handlers(struct kunit *test)
{
	const struct mode *m = test->param_value;
	unsigned long at = (unsigned long)kpb_unwound_at;
	struct kp_traced t = {
		.kp = {
			.pre_handler = kp_traced_pre,
			.post_handler = m->post ? kp_traced_post : NULL,
		},
		.work = IRQ_WORK_INIT_HARD(kp_traced_irq),
		/* Elsewhere, interrupts are masked in handlers. */
		.interrupt = m->jump && arch_irq_work_has_interrupt(),
	};

	call_with_probe(test, m, &t.kp);
	expect_caller(test, "pre handler", &t.pre, at);
	if (m->post)
		expect_caller(test, "post handler", &t.post, at + AARCH64_INSN_SIZE);
	if (t.interrupt)
		expect_caller(test, "interrupt", &t.irq, at);
}

/* In a return handler, the function has returned. */
static void unwind_in_return_handlers(struct kunit *test)
{
	const struct mode *m = test->param_value;
	struct kp_traced t = {
		.rp = { .entry_handler = kp_traced_entry, .handler = kp_traced_return },
		.work = IRQ_WORK_INIT_HARD(kp_traced_irq),
		.interrupt = arch_irq_work_has_interrupt(),
	};

	call_with_return_probe(test, m, &t.rp);
	KUNIT_EXPECT_GE(test, kp_trace_find(&t.pre, kpb_unwound), 0);
	KUNIT_EXPECT_EQ(test, kp_trace_find(&t.ret, kpb_unwound), -1);
	KUNIT_EXPECT_GE(test, kp_trace_find(&t.ret, kpb_unwinding), 0);
	if (t.interrupt)
		KUNIT_EXPECT_TRUE(test, same_from(&t.ret, &t.irq, kpb_unwinding,
						  unwind_in_return_handlers));
}

/*
 * From handlers, reliably, as livepatch wants it. At a probed instruction, x30 may hold a return
 * address that is in no frame record. After the return, all of them are in frame records.
 */

struct judged {
	struct kprobe		kp;
	struct kretprobe	rp;
	/* The number of entries, or an error. */
	int			pre, post, entry, ret;
	struct kp_trace		trace;
};

static int judge(struct kp_trace *t)
{
	int nr = stack_trace_save_tsk_reliable(current, t->entries, KP_MAX_ENTRIES);

	t->nr = max(nr, 0);
	return nr;
}

static int judge_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct judged *j = container_of(p, struct judged, kp);

	j->pre = judge(&j->trace);
	return 0;
}

static void judge_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	struct judged *j = container_of(p, struct judged, kp);

	j->post = judge(&j->trace);
}

static int judge_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct judged *j = container_of(get_kretprobe(ri), struct judged, rp);

	j->entry = judge(&j->trace);
	return 0;
}

static int judge_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct judged *j = container_of(get_kretprobe(ri), struct judged, rp);

	j->ret = judge(&j->trace);
	return 0;
}

static noinline struct judged *new_judged(struct kunit *test)
{
	struct judged *j = kp_zalloc(test, sizeof(*j));

	KP_SKIP_IF(test, judge(&j->trace) == -ENOSYS, "no trace is reliable");
	KUNIT_ASSERT_GE(test, kp_trace_find(&j->trace, new_judged), 0);
	return j;
}

static void trace_at_a_probe_is_not_reliable(struct kunit *test)
{
	const struct mode *m = test->param_value;
	struct judged *j = new_judged(test);

	j->kp.pre_handler = judge_pre;
	j->kp.post_handler = m->post ? judge_post : NULL;
	call_with_probe(test, m, &j->kp);
	KUNIT_EXPECT_LT(test, j->pre, 0);
	if (m->post)
		KUNIT_EXPECT_LT(test, j->post, 0);
}

static void trace_at_a_return_is_reliable(struct kunit *test)
{
	const struct mode *m = test->param_value;
	struct judged *j = new_judged(test);

	j->rp.entry_handler = judge_entry;
	j->rp.handler = judge_return;
	call_with_return_probe(test, m, &j->rp);
	KUNIT_EXPECT_LT(test, j->entry, 0);
	KUNIT_EXPECT_GT(test, j->ret, 0);
	KUNIT_EXPECT_EQ(test, kp_trace_find(&j->trace, kpb_unwound), -1);
	KUNIT_EXPECT_GE(test, kp_trace_find(&j->trace, kpb_unwinding), 0);
}

/*
 * From each instruction
 */

static struct {
	struct task_struct	*task;
	unsigned long		addr;
	u32			insn;
	kprobe_opcode_t		*slot;
	struct kp_trace		trace;
	unsigned int		hits;
} stop;

/* As a probe would do, but at an instruction that cannot be probed. */
static void at_stop(struct perf_event *bp, struct perf_sample_data *data, struct pt_regs *regs)
{
	const struct probe_insn_row *row = probe_insn_decode(stop.insn);

	if (current == stop.task && !stop.hits++)
		stop.trace.nr = stack_trace_save_regs(regs, stop.trace.entries, KP_MAX_ENTRIES, 0);

	if (row->simulate)
		row->simulate(stop.insn, stop.addr, regs);
	else
		instruction_pointer_set(regs, (unsigned long)stop.slot);
}
NOKPROBE_SYMBOL(at_stop);

static void fill_slot(struct kunit *test)
{
	unsigned long back = (unsigned long)stop.slot + AARCH64_INSN_SIZE;
	u32 insns[] = {
		stop.insn,
		aarch64_insn_gen_branch_imm(back, stop.addr + AARCH64_INSN_SIZE,
					    AARCH64_INSN_BRANCH_NOLINK),
	};

	guard(mutex)(&text_mutex);
	KUNIT_EXPECT_NE(test, insns[1], AARCH64_BREAK_FAULT);
	KUNIT_EXPECT_EQ(test, arch_write_slot(stop.slot, insns, sizeof(insns)), 0);
	arch_sync_insn_slots();
}

/* Calls the function with a breakpoint at one instruction; true if it was executed. */
static noinline bool call_with_stop(struct kunit *test, unsigned long addr)
{
	/* Not by hw_breakpoint_init(), which does not exist without PERF_EVENTS. */
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_BREAKPOINT,
		.size		= sizeof(attr),
		.pinned		= 1,
		.sample_period	= 1,
		.bp_addr	= addr,
		.bp_len		= HW_BREAKPOINT_LEN_4,
		.bp_type	= HW_BREAKPOINT_X,
	};
	struct perf_event * __percpu *bp;

	memset(&stop, 0, sizeof(stop));
	stop.task = current;
	stop.addr = addr;
	stop.insn = kpb_word((void *)addr);
	stop.slot = kprobe_slot_get(&kprobe_insn_slots, addr);
	KUNIT_ASSERT_NOT_NULL(test, stop.slot);
	fill_slot(test);

	bp = register_wide_hw_breakpoint(&attr, at_stop, NULL);
	KUNIT_EXPECT_FALSE(test, IS_ERR_PCPU(bp));
	if (!IS_ERR_PCPU(bp)) {
		KUNIT_EXPECT_EQ_MSG(test, kpb_unwinding(1), 3, "at %pS", (void *)addr);
		unregister_wide_hw_breakpoint(bp);
	}
	free_insn_slot(stop.slot, 0);
	return stop.hits;
}

/* What a trace has from @fn on is the same at each instruction that is executed. */
static unsigned int expect_same_from_each(struct kunit *test, const struct kp_trace *want, void *fn,
					  unsigned long start, unsigned long end)
{
	unsigned int nr = 0, wrong = 0;
	unsigned long addr;

	for (addr = start; addr < end; addr += AARCH64_INSN_SIZE) {
		if (!call_with_stop(test, addr))
			continue;
		nr++;
		KUNIT_EXPECT_EQ(test, stop.hits, 1);
		if (same_from(&stop.trace, want, fn, call_with_stop))
			continue;
		KUNIT_FAIL(test, "at %pS, 0x%lx from its start: %08x", (void *)addr, addr - start,
			   stop.insn);
		if (!wrong++) {
			kp_trace_show(test, "expected", want);
			kp_trace_show(test, "found", &stop.trace);
		}
	}
	return nr;
}

static void begin_stops(struct kunit *test, struct kp_trace *in_it, struct kp_trace *after)
{
	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_HAVE_HW_BREAKPOINT), "needs hardware breakpoints");
	/* Without any probe. */
	KUNIT_ASSERT_TRUE(test, call_with_stop(test, (unsigned long)kpb_unwound_at));
	*in_it = stop.trace;
	KUNIT_ASSERT_TRUE(test, call_with_stop(test, (unsigned long)kpb_unwound));
	KUNIT_ASSERT_TRUE(test, call_with_stop(test, (unsigned long)kpb_unwound_back));
	*after = stop.trace;
	KUNIT_ASSERT_EQ(test, kp_trace_find(in_it, kpb_unwound), 0);
	KUNIT_ASSERT_EQ(test, kp_trace_find(in_it, kpb_unwinding), 1);
	KUNIT_ASSERT_EQ(test, kp_trace_find(after, kpb_unwinding), 0);
}

#ifdef CONFIG_OPTPROBES
static unsigned long detour_at(struct kunit *test, void *addr)
{
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE_MSG(test, kpb_has_jump(addr), "no jump at %pS", addr);
	return (unsigned long)addr + aarch64_get_branch_offset(kpb_word(addr));
}

static void unwind_from_each_instruction_of_a_detour(struct kunit *test)
{
	struct kp_trace want, after;
	unsigned long detour;
	unsigned int nr;

	begin_stops(test, &want, &after);
	KP_PROBE(test, .addr = kpb_unwound_at, .pre_handler = kp_nothing_pre);
	detour = detour_at(test, kpb_unwound_at);
	nr = expect_same_from_each(test, &want, kpb_unwound, detour,
				   detour + MAX_OPTINSN_SIZE * sizeof(kprobe_opcode_t));
	/* Three before the call, the call, two after it, the copy, and the branch back. */
	KUNIT_EXPECT_GE(test, nr, 8);
	nr = expect_same_from_each(test, &want, kpb_unwound, (unsigned long)kprobe_detour_far,
				   (unsigned long)kprobe_detour_brk);
	KUNIT_EXPECT_GE(test, nr, 40);
}
#else
KP_SKIPPED(unwind_from_each_instruction_of_a_detour, "needs OPTPROBES")
#endif

#if defined(CONFIG_OPTPROBES) && defined(CONFIG_KRETPROBE_NATIVE)
static int return_55(struct kprobe *p, struct pt_regs *regs)
{
	regs->regs[0] = 2;
	instruction_pointer_set(regs, regs->regs[30]);
	return 1;
}

/* At the entry, where unwinders do not know the caller yet. */
static void trace_at_entry(struct kunit *test, struct kp_trace *want)
{
	KUNIT_ASSERT_TRUE(test, call_with_stop(test, (unsigned long)kpb_unwound));
	*want = stop.trace;
	KUNIT_ASSERT_EQ(test, kp_trace_find(want, kpb_unwound), 0);
}

/* Of which the entry and the return are traced. */
static void unwind_from_each_instruction_of_a_return(struct kunit *test)
{
	struct kp_trace in_it, after, entry;
	unsigned long detour;
	struct kretprobe *rp;
	unsigned int nr;

	KP_SKIP_IF(test, entry_stays(), "no jump replaces a landing pad");
	begin_stops(test, &in_it, &after);
	trace_at_entry(test, &entry);
	rp = KP_RETURN_PROBE(test, .kp.symbol_name = "kpb_unwound");
	detour = detour_at(test, rp->kp.addr);
	nr = expect_same_from_each(test, &entry, kpb_unwound, detour,
				   detour + MAX_OPTINSN_SIZE * sizeof(kprobe_opcode_t));
	KUNIT_EXPECT_GE(test, nr, 8);
	nr = expect_same_from_each(test, &entry, kpb_unwound, (unsigned long)kretprobe_detour_far,
				   (unsigned long)kretprobe_detour_framed);
	KUNIT_EXPECT_GE(test, nr, 10);
	/* There is a frame record of the caller now, whose address may be diverted already. */
	in_it.entries[0] = (unsigned long)rp->kp.addr;
	nr = expect_same_from_each(test, &in_it, kpb_unwound,
				   (unsigned long)kretprobe_detour_framed,
				   (unsigned long)kretprobe_detour_restored);
	KUNIT_EXPECT_GE(test, nr, 10);
	/* What follows its return completes the registers, and is not needed. */
	nr = expect_same_from_each(test, &entry, kpb_unwound,
				   (unsigned long)kretprobe_detour_restored,
				   (unsigned long)kretprobe_detour_restored + AARCH64_INSN_SIZE);
	KUNIT_EXPECT_EQ(test, nr, 1);
	nr = expect_same_from_each(test, &after, kpb_unwinding,
				   (unsigned long)__kretprobe_trampoline,
				   (unsigned long)kretprobe_trampoline_end);
	KUNIT_EXPECT_GE(test, nr, 40);

	/* In the function, its caller is seen through the trampoline. */
	in_it.entries[0] = (unsigned long)kpb_unwound_at;
	KUNIT_EXPECT_TRUE(test, call_with_stop(test, (unsigned long)kpb_unwound_at));
	KUNIT_EXPECT_TRUE(test, same_from(&stop.trace, &in_it, kpb_unwound, call_with_stop));
}

/* A handler returns from the function at once. */
static void unwind_from_each_instruction_of_a_redirection(struct kunit *test)
{
	struct kp_trace in_it, after;
	struct kprobe *p;
	unsigned int nr;

	KP_SKIP_IF(test, entry_stays(), "no jump replaces a landing pad");
	begin_stops(test, &in_it, &after);
	p = KP_PROBE(test, .symbol_name = "kpb_unwound", .pre_handler = return_55);
	detour_at(test, p->addr);
	nr = expect_same_from_each(test, &after, kpb_unwinding,
				   (unsigned long)kprobe_detour_unframed,
				   (unsigned long)kprobe_detour_end);
	KUNIT_EXPECT_EQ(test, nr, 2);
}
#else
KP_SKIPPED(unwind_from_each_instruction_of_a_return, "needs OPTPROBES and KRETPROBE_NATIVE")

KP_SKIPPED(unwind_from_each_instruction_of_a_redirection, "needs OPTPROBES and KRETPROBE_NATIVE")
#endif

static struct kunit_case unwind_cases[] = {
	KUNIT_CASE_PARAM(unwind_in_handlers, mode_gen_params),
	KUNIT_CASE_PARAM(unwind_in_return_handlers, mode_gen_params),
	KUNIT_CASE_PARAM(trace_at_a_probe_is_not_reliable, mode_gen_params),
	KUNIT_CASE_PARAM(trace_at_a_return_is_reliable, mode_gen_params),
	KUNIT_CASE(unwind_from_each_instruction_of_a_detour),
	KUNIT_CASE(unwind_from_each_instruction_of_a_return),
	KUNIT_CASE(unwind_from_each_instruction_of_a_redirection),
	{}
};

KP_SUITE(unwind_cases, .name = "kprobes_arm64_unwind", .exit = kp_allow_jumps);
