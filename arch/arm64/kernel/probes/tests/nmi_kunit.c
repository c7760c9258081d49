// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pseudo-NMIs that hit probes wherever this CPU is: in copies of instructions, in detours, in
 * handlers, and in between. They are interrupts of perf, which counts the cycles of this CPU.
 *
 * Exceptions mask them, and so does the step of a copy. So none comes between a breakpoint and
 * the end of its hit, unless that has left the exception.
 */

#include "suite.h"

#include <kunit/static_stub.h>
#include <linux/cpufeature.h>
#include <linux/perf_event.h>

#include <asm/arch_gicv3.h>
#include <asm/daifflags.h>
#include <asm/sysreg.h>

#include "forms.h"

/* The number of cycles between two NMIs. */
#define NMI_PERIOD	200000

#define NMI_ROUNDS	2000
#define NMI_COUNT	1000
/* Where NMIs take long, perf lets only one of them come in each tick. */
#define NMI_SECONDS	200

/* Returns 101 if its argument is 1, as kpb_callee(), which kpb_bl() calls. */
KPB_FUNCTION(followed, "777: add x0, x0, #100");

/* Who hits a probe. */
enum { TASK, NMI, NR_LEVELS };

static unsigned int this_level(void)
{
	return in_nmi() ? NMI : TASK;
}

/*
 * NMIs
 */

static struct {
	void		(*work)(void);
	unsigned int	nr;
	/* Where the last one came. */
	unsigned long	pc;
	/* Not an NMI; during a step; with a wrong result, or other masks afterwards. */
	unsigned int	other, in_step, wrong;
	/* Where they came: in a copy of an instruction, in a detour, while a handler runs. */
	unsigned int	in_copy, in_detour, in_hit;
} nmi;

/* Detours, and what they have in common with each other and with the return trampoline. */
static bool is_in_detour(unsigned long pc)
{
	return is_kprobe_optinsn_slot(pc) ||
	       (pc >= (unsigned long)__kprobes_text_start &&
		pc < (unsigned long)__kprobes_text_end);
}

static void note_place(void)
{
	nmi.in_copy += is_kprobe_insn_slot(nmi.pc);
	nmi.in_detour += is_in_detour(nmi.pc);
	if (!kprobe_running())
		return;
	nmi.in_hit++;
	if (get_kprobe_ctlblk()->kprobe_status & (KPROBE_HIT_SS | KPROBE_REENTER))
		nmi.in_step++;
}

static void on_overflow(struct perf_event *event, struct perf_sample_data *data,
			struct pt_regs *regs)
{
	if (!in_nmi()) {
		nmi.other++;
		return;
	}
	nmi.pc = instruction_pointer(regs);
	note_place();
	nmi.work();
	WRITE_ONCE(nmi.nr, nmi.nr + 1);
}

static struct perf_event_attr counter_attr = {
	.type		= PERF_TYPE_HARDWARE,
	.config		= PERF_COUNT_HW_CPU_CYCLES,
	.size		= sizeof(counter_attr),
	.sample_period	= NMI_PERIOD,
	.pinned		= 1,
	.disabled	= 1,
};

/* Run @body on this CPU, while NMIs interrupt it. */
static void under_nmis(struct kunit *test, void (*work)(void),
		       void (*body)(struct kunit *test))
{
	struct perf_event *event;

	memset(&nmi, 0, sizeof(nmi));
	nmi.work = work;
	migrate_disable();
	event = perf_event_create_kernel_counter(&counter_attr, smp_processor_id(), NULL,
						 on_overflow, NULL);
	if (IS_ERR(event)) {
		KUNIT_FAIL(test, "no counter of cycles: %pe", event);
	} else {
		perf_event_enable(event);
		body(test);
		perf_event_disable(event);
		perf_event_release_kernel(event);
	}
	migrate_enable();

	kunit_info(test, "%u NMIs: %u in copies, %u in detours, %u in hits\n", nmi.nr,
		   nmi.in_copy, nmi.in_detour, nmi.in_hit);
	KUNIT_EXPECT_EQ(test, nmi.other, 0);
	KUNIT_EXPECT_EQ(test, nmi.in_step, 0);
	KUNIT_EXPECT_EQ(test, nmi.wrong, 0);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_EQ(test, preempt_count(), 0);
}

static bool is_enough(unsigned int round)
{
	return round >= NMI_ROUNDS && READ_ONCE(nmi.nr) >= NMI_COUNT;
}

/*
 * An NMI comes a constant time after the previous one. In a loop that is as regular, this may be
 * the same place each time, such as an exception, whose end it then waits for. So each round takes
 * another time.
 */
static void vary_time(unsigned int round)
{
	unsigned int i;

	for (i = 0; i < round % 64 * 256; i++)
		barrier();
}

/*
 * What masks interrupts
 */

static struct arch_kprobe_step current_masks(void)
{
	return (struct arch_kprobe_step) {
		.daif	= read_sysreg(daif) & DAIF_MASK,
		.pmr	= gic_read_pmr(),
	};
}

/* Run a function. Are the masks afterwards as before? */
static bool run_keeps_masks(void (*fn)(void), unsigned long *ret)
{
	struct arch_kprobe_step before = current_masks(), after;

	*ret = kpb_run(fn, 1);
	after = current_masks();
	return after.daif == before.daif && after.pmr == before.pmr;
}

/*
 * Probes of each kind, which the task and the NMIs hit
 */

/**
 * struct nmi_kind - a probed function, and what is done with the probed instruction
 * @name: for messages
 * @place: the function
 * @alone: mode with a pre handler
 * @watched: mode with a post handler, or if no copy may branch back
 * @pre: the pre handler
 * @post: is there a post handler? Then there is no jump.
 * @result: of the function for 1, if the handler is called
 * @missed: if it is not
 */
struct nmi_kind {
	const char		*name;
	struct kpb_place	place;
	const char		*alone;
	const char		*watched;
	kprobe_pre_handler_t	pre;
	bool			post;
	unsigned long		result;
	unsigned long		missed;
};

struct nmi_probe {
	struct kprobe		kp;
	const struct nmi_kind	*kind;
	/* By the level that has hit it. */
	unsigned int		calls[NR_LEVELS], pre[NR_LEVELS], post[NR_LEVELS];
};

static int note_pre(struct kprobe *p, struct pt_regs *regs)
{
	container_of(p, struct nmi_probe, kp)->pre[this_level()]++;
	return 0;
}

static void note_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	container_of(p, struct nmi_probe, kp)->post[this_level()]++;
}

/* Without the instruction after the probed one. */
static int skip_pre(struct kprobe *p, struct pt_regs *regs)
{
	note_pre(p, regs);
	instruction_pointer_set(regs, (unsigned long)(p->addr + 2));
	return 1;
}

static int return_pre(struct kprobe *p, struct pt_regs *regs)
{
	note_pre(p, regs);
	instruction_pointer_set(regs, regs->regs[30]);
	return 1;
}

static const struct nmi_kind kinds[] = {
	{ "copied", KPB_PLACE(add), "boosted", "emulated", note_pre, false, 4, 4 },
	{ "computed", KPB_PLACE(adds), "boosted", "emulated", note_pre, true, 2, 2 },
	{ "stepped", KPB_PLACE(push), "boosted", "stepped", note_pre, true, 2, 2 },
	{ "simulated", KPB_PLACE(cbz), "emulated", "emulated", note_pre, false, 8, 8 },
	{ "call", KPB_PLACE(bl), "emulated", "emulated", note_pre, true, 102, 102 },
	{ "redirected", KPB_PLACE(nop), "boosted", "emulated", skip_pre, false, 1, 2 },
	{ "to the caller", KPB_PLACE(mov), "boosted", "emulated", return_pre, false, 1, 3 },
};

static struct nmi_probe probes[ARRAY_SIZE(kinds)];

static const struct nmi_mode {
	const char	*name;
	bool		jumps, boosts;
} modes[] = {
	{ "breakpoints", false, true },
	{ "breakpoints, no copy branches back", false, false },
	{ "jumps", true, true },
	{ "jumps, no copy branches back", true, false },
};
KUNIT_ARRAY_PARAM_DESC(mode, modes, name);

static bool never(void)
{
	return false;
}

static bool hit_is_right(struct nmi_probe *p)
{
	unsigned int level = this_level(), pre = p->pre[level];
	unsigned long ret;
	bool same = run_keeps_masks(p->kind->place.fn, &ret);

	p->calls[level]++;
	return same && ret == (p->pre[level] == pre ? p->kind->missed : p->kind->result);
}

static void begin(struct kunit *test, const struct nmi_mode *m)
{
	KP_SKIP_IF(test, m->jumps && !IS_ENABLED(CONFIG_OPTPROBES), "needs OPTPROBES");
	KP_SKIP_IF(test, m->boosts && !kprobe_boosts(), "no copy branches back");
	kprobe_test_allow_optimization(m->jumps);
	if (!m->boosts)
		kunit_activate_static_stub(test, kprobe_boosts, never);
}

static void end(struct kunit *test, const struct nmi_mode *m)
{
	if (!m->boosts)
		kunit_deactivate_static_stub(test, kprobe_boosts);
	kprobe_test_allow_optimization(true);
}

static void expect_mode(struct kunit *test, const struct nmi_probe *p, const struct nmi_mode *m)
{
	const char *want = m->boosts && !p->kind->post ? p->kind->alone : p->kind->watched;

	KUNIT_EXPECT_EQ_MSG(test, kpb_has_jump(p->kp.addr), m->jumps && !p->kind->post, "%s",
			    p->kind->name);
	if (kpb_has_breakpoint(p->kp.addr))
		KUNIT_EXPECT_STREQ_MSG(test, kp_mode(p->kp.addr), want, "%s", p->kind->name);
}

static void register_kinds(struct kunit *test, const struct nmi_mode *m)
{
	struct kprobe *kps[ARRAY_SIZE(kinds)];
	unsigned int i;

	memset(probes, 0, sizeof(probes));
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		probes[i].kind = &kinds[i];
		probes[i].kp.addr = kpb_addr(&kinds[i].place);
		probes[i].kp.pre_handler = kinds[i].pre;
		probes[i].kp.post_handler = kinds[i].post ? note_post : NULL;
		kps[i] = &probes[i].kp;
	}
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), 0);
	wait_for_kprobe_optimizer();
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		expect_mode(test, &probes[i], m);
}

/* Those of the task are handled; each of an NMI is either handled or counted as missed. */
static void expect_kind(struct kunit *test, const struct nmi_probe *p)
{
	const char *name = p->kind->name;
	unsigned int i;

	KUNIT_EXPECT_EQ_MSG(test, p->pre[TASK], p->calls[TASK], "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, p->calls[NMI], nmi.nr, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, p->pre[NMI] + p->kp.nmissed, p->calls[NMI], "%s", name);
	KUNIT_EXPECT_GT_MSG(test, p->pre[NMI], 0, "%s", name);
	for (i = 0; i < NR_LEVELS; i++)
		KUNIT_EXPECT_EQ_MSG(test, p->post[i], p->kind->post ? p->pre[i] : 0, "%s", name);
}

static void unregister_kinds(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		expect_kind(test, &probes[i]);
		unregister_kprobe(&probes[i].kp);
	}
}

static void hit_in_nmi(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		nmi.wrong += !hit_is_right(&probes[i]);
}

/*
 * A jump is taken with the masks of the program, and a copy that branches back is executed with
 * them. All else is done before anything can interrupt it.
 */
static bool has_been_everywhere(const struct nmi_mode *m)
{
	if (m->jumps)
		return READ_ONCE(nmi.in_detour) >= 3 && READ_ONCE(nmi.in_hit) >= 3;
	return !m->boosts || READ_ONCE(nmi.in_copy) >= 3;
}

/* In each second round, only NMIs come through. */
static void hit_under_nmis(struct kunit *test)
{
	const struct nmi_mode *m = test->param_value;
	unsigned long end = jiffies + NMI_SECONDS * HZ;
	unsigned int round, i, wrong = 0;

	for (round = 0; time_before(jiffies, end); round++) {
		if (is_enough(round) && has_been_everywhere(m))
			break;
		if (round & 1)
			local_irq_disable();
		for (i = 0; i < ARRAY_SIZE(probes); i++)
			wrong += !hit_is_right(&probes[i]);
		wrong += irqs_disabled() != (round & 1);
		if (round & 1)
			local_irq_enable();
		cond_resched();
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_GE(test, round, NMI_ROUNDS);
	KUNIT_EXPECT_EQ(test, probes[0].calls[TASK], round);
	KUNIT_EXPECT_TRUE(test, has_been_everywhere(m));
}

static void nmi_hits_run_or_are_missed(struct kunit *test)
{
	const struct nmi_mode *m = test->param_value;

	begin(test, m);
	register_kinds(test, m);
	under_nmis(test, hit_in_nmi, hit_under_nmis);
	KUNIT_EXPECT_GE(test, nmi.nr, NMI_COUNT);
	if (m->jumps || !m->boosts)
		KUNIT_EXPECT_EQ(test, nmi.in_copy, 0);
	if (!m->jumps)
		KUNIT_EXPECT_EQ(test, nmi.in_hit, 0);
	unregister_kinds(test);
	end(test, m);
}

/*
 * Three levels: the handler of a jump hits other probes, which are missed. In one of these
 * hits comes an NMI, and its hit has to be stepped.
 */

static struct {
	struct kp_watch	outer, jump, copy, in_nmi;
	bool			inside;
	/* NMIs that came in an inner hit: in a copy, and in a detour. */
	unsigned int		in_copy, in_detour;
	unsigned int		wrong;
} nested;

static void third_in_nmi(void)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();
	unsigned long status = kcb->kprobe_status, ret;
	struct kprobe *running = kprobe_running();
	unsigned int depth = kcb->depth;

	if (running && READ_ONCE(nested.inside)) {
		nested.in_copy += is_kprobe_insn_slot(nmi.pc);
		nested.in_detour += is_in_detour(nmi.pc);
	}
	if (!run_keeps_masks(kpb_load, &ret) || ret != 1 + kpb_data)
		nmi.wrong++;
	if (kprobe_running() != running || kcb->depth != depth)
		nmi.wrong++;
	if (running && kcb->kprobe_status != status)
		nmi.wrong++;
}

static int nesting_pre(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long ret;

	atomic_inc(&nested.outer.pre);
	WRITE_ONCE(nested.inside, true);
	nested.wrong += !run_keeps_masks(kpb_cbz, &ret) || ret != 8;
	nested.wrong += !run_keeps_masks(kpb_adds, &ret) || ret != 2;
	WRITE_ONCE(nested.inside, false);
	return 0;
}

static void nest_under_nmis(struct kunit *test)
{
	unsigned long end = jiffies + NMI_SECONDS * HZ, ret;
	unsigned int round, wrong = 0;

	for (round = 0; time_before(jiffies, end); round++) {
		if (READ_ONCE(nested.in_copy) >= 3 && READ_ONCE(nested.in_detour) >= 3)
			break;
		vary_time(round);
		wrong += !run_keeps_masks(kpb_add, &ret) || ret != 4;
		cond_resched();
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_GE(test, nested.in_copy, 3);
	KUNIT_EXPECT_GE(test, nested.in_detour, 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&nested.outer.pre), round);
}

static void watch(struct kunit *test, struct kp_watch *w, kprobe_opcode_t *addr,
		  kprobe_pre_handler_t pre, kprobe_post_handler_t post)
{
	w->kp.addr = addr;
	w->kp.pre_handler = pre;
	w->kp.post_handler = post;
	KUNIT_ASSERT_EQ(test, register_kprobe(&w->kp), 0);
}

static void third_level_is_stepped(struct kunit *test)
{
	struct kp_watch *third = &nested.in_nmi;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_OPTPROBES), "needs OPTPROBES");

	memset(&nested, 0, sizeof(nested));
	watch(test, &nested.outer, KPB_AT(add), nesting_pre, NULL);
	watch(test, &nested.jump, KPB_AT(cbz), kp_watch_pre, NULL);
	watch(test, &nested.copy, KPB_AT(adds), kp_watch_pre, kp_watch_post);
	kunit_activate_static_stub(test, kprobe_boosts, never);
	watch(test, third, KPB_AT(load), kp_watch_pre, kp_watch_post);
	kunit_deactivate_static_stub(test, kprobe_boosts);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(nested.outer.kp.addr));
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(nested.jump.kp.addr));
	KUNIT_EXPECT_STREQ(test, kp_mode(third->kp.addr), "stepped");

	under_nmis(test, third_in_nmi, nest_under_nmis);

	KUNIT_EXPECT_EQ(test, nested.wrong, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&nested.jump.pre), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&nested.copy.pre), 0);
	KUNIT_EXPECT_EQ(test, nested.jump.kp.nmissed, atomic_read(&nested.outer.pre));
	KUNIT_EXPECT_EQ(test, nested.copy.kp.nmissed, atomic_read(&nested.outer.pre));
	KUNIT_EXPECT_EQ(test, atomic_read(&third->pre) + third->kp.nmissed, nmi.nr);
	KUNIT_EXPECT_EQ(test, atomic_read(&third->post), atomic_read(&third->pre));
	KUNIT_EXPECT_GE(test, third->kp.nmissed, nested.in_copy + nested.in_detour);
	unregister_kprobe(&third->kp);
	unregister_kprobe(&nested.copy.kp);
	unregister_kprobe(&nested.jump.kp);
	unregister_kprobe(&nested.outer.kp);
}

#ifdef CONFIG_KRETPROBES
/* Returns: NMIs call the same function, also while its entry or return is handled. */

static struct {
	struct kretprobe	rp;
	unsigned int		calls[NR_LEVELS], returns[NR_LEVELS];
} followed;

/* In a task, it takes as long as an exception, so that NMIs come meanwhile as well. */
static int note_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned int level = this_level(), i;

	for (i = 0; level == TASK && i < 10000; i++)
		barrier();
	if (regs_return_value(regs) == 101)
		followed.returns[level]++;
	return 0;
}

/* All calls of this level have returned. */
static bool call_is_right(void)
{
	struct llist_node *in_flight = current->kretprobe_instances.first;
	unsigned long ret;
	bool same = run_keeps_masks(kpb_followed, &ret);

	followed.calls[this_level()]++;
	return same && ret == 101 && current->kretprobe_instances.first == in_flight;
}

static void call_in_nmi(void)
{
	nmi.wrong += !call_is_right();
}

static void call_under_nmis(struct kunit *test)
{
	unsigned long end = jiffies + NMI_SECONDS * HZ;
	unsigned int round, wrong = 0;

	for (round = 0; time_before(jiffies, end); round++) {
		/* Some must come during a hit. */
		if (is_enough(round) && READ_ONCE(nmi.in_hit) >= 3 &&
		    READ_ONCE(nmi.in_detour) >= 3)
			break;
		vary_time(round);
		wrong += !call_is_right() || current->kretprobe_instances.first;
		cond_resched();
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_GE(test, nmi.in_hit, 3);
	KUNIT_EXPECT_GE(test, nmi.in_detour, 3);
}

static void nmi_calls_are_followed_or_missed(struct kunit *test)
{
	const struct nmi_mode *m = test->param_value;
	struct kretprobe *rp = &followed.rp;

	begin(test, m);
	memset(&followed, 0, sizeof(followed));
	rp->kp.symbol_name = "kpb_followed";
	rp->handler = note_return;
	rp->maxactive = 4;
	KUNIT_ASSERT_EQ(test, register_kretprobe(rp), 0);
	wait_for_kprobe_optimizer();
	/* The entry may have to stay a landing pad. */
	KUNIT_EXPECT_EQ(test, kpb_has_jump(rp->kp.addr),
			m->jumps && !system_supports_bti_kernel());

	under_nmis(test, call_in_nmi, call_under_nmis);

	/* Each call was either followed or counted as missed. */
	KUNIT_EXPECT_EQ(test, followed.returns[TASK], followed.calls[TASK]);
	KUNIT_EXPECT_EQ(test, followed.calls[NMI], nmi.nr);
	KUNIT_EXPECT_EQ(test, followed.returns[NMI] + rp->kp.nmissed + rp->nmissed, nmi.nr);
	KUNIT_EXPECT_GT(test, followed.returns[NMI], 0);
	KUNIT_EXPECT_GT(test, rp->kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, rp->nmissed, 0);
	unregister_kretprobe(rp);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_followed, 1), 101);
	end(test, m);
}
#endif

/*
 * NMIs for other suites: a counter of each CPU raises them all the time, and one of them runs what
 * is pending there.
 */
static DEFINE_PER_CPU(struct perf_event *, own_counter);

/* Long enough to come where it is waited for, after kp_nmi_ready(). */
#define OWN_PERIOD	20000000

static DEFINE_PER_CPU(void (*)(void *arg), own_fn);
static DEFINE_PER_CPU(void *, own_arg);

static void on_own_overflow(struct perf_event *event, struct perf_sample_data *data,
			    struct pt_regs *regs)
{
	void (*fn)(void *arg) = in_nmi() ? this_cpu_xchg(own_fn, NULL) : NULL;

	if (fn)
		fn(this_cpu_read(own_arg));
}

bool kp_nmi_begin(void)
{
	struct perf_event *event;
	int cpu;

	if (!system_uses_irq_prio_masking())
		return false;
	for_each_online_cpu(cpu) {
		event = perf_event_create_kernel_counter(&counter_attr, cpu, NULL,
							 on_own_overflow, NULL);
		if (IS_ERR(event))
			return false;
		per_cpu(own_counter, cpu) = event;
		perf_event_enable(event);
	}
	return true;
}

/*
 * Handlers that take long make perf throttle the counter until the next tick, which does not come
 * while an interrupt is handled. This lets it count anew.
 */
void kp_nmi_ready(void)
{
	struct perf_event *event = this_cpu_read(own_counter);

	if (event)
		perf_event_period(event, OWN_PERIOD);
}

void kp_nmi_raise(void (*fn)(void *arg), void *arg)
{
	this_cpu_write(own_arg, arg);
	this_cpu_write(own_fn, fn);
}

void kp_nmi_end(void)
{
	struct perf_event **event;
	int cpu;

	for_each_possible_cpu(cpu) {
		event = per_cpu_ptr(&own_counter, cpu);
		if (*event)
			perf_event_release_kernel(*event);
		*event = NULL;
	}
}

static int nmi_test_init(struct kunit *test)
{
	KP_SKIP_IF(test, !system_uses_irq_prio_masking(), "needs pseudo-NMI");
	return 0;
}

static struct kunit_case nmi_cases[] = {
	KUNIT_CASE_PARAM_ATTR(nmi_hits_run_or_are_missed, mode_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE_SLOW(third_level_is_stepped),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_PARAM_ATTR(nmi_calls_are_followed_or_missed, mode_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
#endif
	{}
};

KP_SUITE(nmi_cases, .name = "kprobes_arm64_nmi", .init = nmi_test_init);
