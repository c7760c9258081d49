// SPDX-License-Identifier: GPL-2.0-only
/*
 * System reset interrupts, which nothing masks, sent by another CPU. They hit probes while this
 * CPU is in a function, in a handler, and in a detour.
 *
 * Such an interrupt is fatal where SRR0 and SRR1 are in use, as at the start and at the end of
 * each exception. So the victim spins where they are not, with all other interrupts masked.
 */

#include "suite.h"

#include <asm/hw_irq.h>

#include "helpers.h"
#include "stopped.h"

/*
 * For each of them, QEMU may have to execute both CPUs in turn, which takes long: seconds on a busy
 * host. In between, there are interrupts again, or else RCU would complain, and send an NMI of its
 * own, perhaps inside another one.
 */
#define NMI_ROUNDS	10
#define MAX_NMI_ROUNDS	30
#define NMIS_IN_ROUND	2

/* Counts, and waits until the flag in kpb_data is set, both in memory. */
#define STORE	__stringify(BITS_PER_LONG / 8) "(4)"
#define FLAG	"2 * " __stringify(BITS_PER_LONG / 8) "(4)"
KPB_FUNCTION(counts, "1: " PPC_LL "6, " STORE "\n addi 6, 6, 1\n " PPC_STL "6, " STORE "\n"
	     "777: " PPC_LL "6, " FLAG "\n " PPC_LCMPI "6, 0\n beq 1b\n addi 3, 3, 1");

/* Where the victim is. */
static const struct place {
	const char	*name;
	bool		probe, jump, handler;
} places[] = {
	{ "in a function" },
	{ "in a handler, by breakpoint", .probe = true, .handler = true },
	{ "in a handler, by jump", .probe = true, .jump = true, .handler = true },
	{ "in a detour", .probe = true, .jump = true },
};
KUNIT_ARRAY_PARAM_DESC(place, places, name);

static struct {
	struct kp_watch	w;
	unsigned int		wrong, irqs_on;
} victim;

/* Longer than a test takes, in microseconds. */
#define PATIENCE	(20 * USEC_PER_SEC)

static int spin_in_handler(struct kprobe *p, struct pt_regs *regs)
{
	unsigned int i;

	for (i = 0; i < PATIENCE && !READ_ONCE(kpb_data.flag); i++) {
		WRITE_ONCE(kpb_data.store, kpb_data.store + 1);
		udelay(1);
	}
	return kp_watch_pre(p, regs);
}

static int victim_thread(void *data)
{
	local_irq_disable();
	hard_irq_disable();
	victim.wrong += kpb_run(kpb_counts, 1) != 2;
	victim.irqs_on += !irqs_disabled();
	local_irq_enable();
	return 0;
}

/* If it was in an NMI, it has returned from there. */
static bool victim_continues(void)
{
	unsigned long from = READ_ONCE(kpb_data.store), end = jiffies + 5 * HZ;

	while (READ_ONCE(kpb_data.store) - from < 2 && time_before(jiffies, end))
		cpu_relax();
	return READ_ONCE(kpb_data.store) - from >= 2;
}

/*
 * What is hit in an NMI: an instruction whose copy branches back or is in a detour, one that steps
 * because of its post handler, and the entry and the return of a function.
 */
static struct kp_watch copied, stepped;
static unsigned long pvr;

static struct {
	unsigned int	nr, other, wrong;
	/* Where they came. */
	unsigned int	in_hit, in_detour;
} nmi;

static void on_nmi(struct pt_regs *regs)
{
	nmi.other += !in_nmi();
	nmi.in_hit += !!kprobe_running();
	nmi.in_detour += is_kprobe_optinsn_slot(regs->nip);
	nmi.wrong += kpb_run(kpb_add, 1) != 4;
	nmi.wrong += kpb_run(kpb_pvr, 1) != pvr;
	nmi.wrong += kpb_run(kpb_callee, 1) != 101;
	WRITE_ONCE(nmi.nr, nmi.nr + 1);
}

#ifdef CONFIG_KRETPROBES
static struct {
	struct kretprobe	rp;
	unsigned int		nr;
} returns;

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	returns.nr += regs_return_value(regs) == 101;
	return 0;
}

static void returns_begin(struct kunit *test)
{
	memset(&returns, 0, sizeof(returns));
	returns.rp.kp.symbol_name = "kpb_callee";
	returns.rp.handler = count_return;
	KUNIT_EXPECT_EQ(test, register_kretprobe(&returns.rp), 0);
}

static void returns_end(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, returns.nr, nmi.nr - nmi.in_hit);
	KUNIT_EXPECT_EQ(test, returns.rp.nmissed, 0);
	unregister_kretprobe(&returns.rp);
	KUNIT_EXPECT_EQ(test, returns.rp.kp.nmissed, nmi.in_hit);
}
#else
static void returns_begin(struct kunit *test)
{
}

static void returns_end(struct kunit *test)
{
}
#endif

static void watch(struct kunit *test, struct kp_watch *w, kprobe_opcode_t *addr, bool post)
{
	*w = (struct kp_watch)KP_WATCH(addr);
	if (post)
		w->kp.post_handler = kp_watch_post;
	KUNIT_EXPECT_EQ(test, register_kprobe(&w->kp), 0);
}

/* Inside a hit, no handlers are called, and this is counted. */
static void unwatch(struct kunit *test, struct kp_watch *w)
{
	KUNIT_EXPECT_EQ(test, atomic_read(&w->pre), nmi.nr - nmi.in_hit);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->post), w->kp.post_handler ? nmi.nr - nmi.in_hit : 0);
	unregister_kprobe(&w->kp);
	KUNIT_EXPECT_EQ(test, w->kp.nmissed, nmi.in_hit);
}

/* One would be fatal inside another. */
static bool send_nmi(int cpu)
{
	unsigned long end = jiffies + 5 * HZ;
	unsigned int nr = nmi.nr;

	if (!victim_continues() || !smp_send_nmi_ipi(cpu, on_nmi, USEC_PER_SEC))
		return false;
	while (READ_ONCE(nmi.nr) == nr && time_before(jiffies, end))
		cpu_relax();
	return READ_ONCE(nmi.nr) == nr + 1;
}

static void nmi_round(struct kunit *test, int cpu)
{
	struct task_struct *task = kp_bound_thread(test, victim_thread, NULL, cpu);
	unsigned int i;

	WRITE_ONCE(kpb_data.flag, 0);
	wake_up_process(task);
	for (i = 0; i < NMIS_IN_ROUND && send_nmi(cpu); i++)
		udelay(17 * (nmi.nr % 5));
	KUNIT_EXPECT_TRUE(test, victim_continues());
	WRITE_ONCE(kpb_data.flag, 1);
	kthread_stop_put(task);
}

/* Of those for a detour, some come in what it calls. How many is up to QEMU. */
static bool is_enough(const struct place *p, unsigned int rounds)
{
	if (p->jump && !p->handler && !nmi.in_detour)
		return rounds == MAX_NMI_ROUNDS;
	return rounds >= NMI_ROUNDS;
}

static void nmi_hits_run_or_are_missed(struct kunit *test)
{
	const struct place *p = test->param_value;
	int cpu = cpumask_last(cpu_online_mask);
	unsigned int i;

	if (num_online_cpus() < 2 || !smp_ops->cause_nmi_ipi)
		kunit_skip(test, "needs two CPUs, and a platform that sends system resets");

	set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));
	memset(&nmi, 0, sizeof(nmi));
	memset(&victim, 0, sizeof(victim));
	pvr = kpb_run(kpb_pvr, 1);

	/* With jumps, those that are hit in an NMI have one as well, if they can. */
	kprobe_test_allow_optimization(p->jump);
	if (p->probe) {
		victim.w.kp.addr = KPB_AT(counts);
		victim.w.kp.pre_handler = p->handler ? spin_in_handler : kp_watch_pre;
		KUNIT_EXPECT_EQ(test, register_kprobe(&victim.w.kp), 0);
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_EQ(test, kpb_has_jump(victim.w.kp.addr), p->jump);
	}
	watch(test, &copied, KPB_AT(add), false);
	watch(test, &stepped, KPB_AT(pvr), true);
	returns_begin(test);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_STREQ(test, kp_mode(stepped.kp.addr), "stepped");

	for (i = 0; !is_enough(p, i); i++)
		nmi_round(test, cpu);
	set_cpus_allowed_ptr(current, cpu_possible_mask);

	kunit_info(test, "%u NMIs: %u in hits, %u in detours\n", nmi.nr, nmi.in_hit,
		   nmi.in_detour);
	KUNIT_EXPECT_EQ(test, nmi.nr, i * NMIS_IN_ROUND);
	KUNIT_EXPECT_EQ(test, nmi.other, 0);
	KUNIT_EXPECT_EQ(test, nmi.wrong, 0);
	KUNIT_EXPECT_EQ(test, victim.wrong, 0);
	KUNIT_EXPECT_EQ(test, victim.irqs_on, 0);
	if (p->handler)
		KUNIT_EXPECT_EQ(test, nmi.in_hit, nmi.nr);
	if (!p->probe)
		KUNIT_EXPECT_EQ(test, nmi.in_hit, 0);
	if (p->jump && !p->handler)
		KUNIT_EXPECT_GT(test, nmi.in_detour, 0);
	returns_end(test);
	unwatch(test, &stepped);
	unwatch(test, &copied);
	if (p->probe) {
		KUNIT_EXPECT_GT(test, atomic_read(&victim.w.pre), 0);
		unregister_kprobe(&victim.w.kp);
		KUNIT_EXPECT_EQ(test, victim.w.kp.nmissed, 0);
	}
	kprobe_test_allow_optimization(true);
}

static struct kunit_case nmi_cases[] = {
	KUNIT_CASE_PARAM_ATTR(nmi_hits_run_or_are_missed, place_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	{}
};

KP_SUITE(nmi_cases, .name = "kprobes_powerpc_nmi");
