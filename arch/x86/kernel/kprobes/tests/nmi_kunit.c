// SPDX-License-Identifier: GPL-2.0-only
/*
 * NMIs, sent by another CPU, that hit probes wherever this CPU is: in handlers, in
 * steps, and in between.
 */

#include "suite.h"

#include <asm/apic.h>
#include <asm/irq_vectors.h>
#include <asm/nmi.h>
#include <asm/nospec-branch.h>

#include "breakpoints.h"

#define NMI_ROUNDS	20000
#define NMI_SECONDS	60

/* Inside another hit, one is boosted, the other has to be stepped. */
FUNCTION(in_nmi, "777: bt $2, %eax; sbb %eax, %eax");
FUNCTION(call_mem_nmi, ANNOTATE_RETPOLINE_SAFE "\n"
	 "777: call *" PTR(kpx_pointer) "; add $2, %eax");

static atomic_t nmis, nmis_wrong;
static unsigned int nmi_target;

static void (*work_in_nmi)(void);

static int on_nmi(unsigned int cmd, struct pt_regs *regs)
{
	work_in_nmi();
	atomic_inc(&nmis);
	/* Other users that wait for an NMI are asked, too. */
	return NMI_DONE;
}

/* Hits during a step, and during the step of a missed probe. */
static atomic_t in_step, third_level;

static void hit_in_nmi(void)
{
	if (kprobe_running() && get_kprobe_ctlblk()->kprobe_status == KPROBE_HIT_SS)
		atomic_inc(&in_step);
	if ((int)kp_run(kpx_in_nmi, 4) != -1 || (int)kp_run(kpx_in_nmi, 1) != 0 ||
	    kp_run(kpx_call_mem_nmi, 1) != 103)
		atomic_inc(&nmis_wrong);
}

/*
 * While the sender sleeps, the target runs, and is interrupted at a random place. If
 * the next NMI were sent without delay, it would hit where the target waits for it; or
 * where an emulator that runs both CPUs in turn switches, which is hardly ever useful.
 */
static int send_nmis(void *unused)
{
	while (!kthread_should_stop()) {
		int before = atomic_read(&nmis);

		__apic_send_IPI(nmi_target, NMI_VECTOR);
		while (atomic_read(&nmis) == before && !kthread_should_stop()) {
			cpu_relax();
			cond_resched();
		}
		usleep_range(20, 60);
	}
	return 0;
}

/* No other handler claims these NMIs, so the kernel would complain. */
static int claim_nmi(unsigned int cmd, struct pt_regs *regs)
{
	return NMI_HANDLED;
}

/* To be called before anything is registered. */
static void need_two_cpus(struct kunit *test)
{
	KP_SKIP_IF(test, num_online_cpus() < 2, "needs two CPUs");
}

static void begin_nmis(struct kunit *test, void (*in_them)(void))
{
	atomic_set(&nmis, 0);
	atomic_set(&nmis_wrong, 0);
	work_in_nmi = in_them;
	KUNIT_ASSERT_EQ(test, register_nmi_handler(NMI_LOCAL, on_nmi, 0, "kprobes_test"), 0);
	KUNIT_EXPECT_EQ(test, register_nmi_handler(NMI_LOCAL, claim_nmi, 0,
						   "kprobes_test_claim"), 0);
}

static void end_nmis(struct kunit *test)
{
	unregister_nmi_handler(NMI_LOCAL, "kprobes_test_claim");
	unregister_nmi_handler(NMI_LOCAL, "kprobes_test");
	KUNIT_EXPECT_GT(test, atomic_read(&nmis), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&nmis_wrong), 0);
}

/* Run @body on this CPU, while another one sends NMIs to it. */
static void under_nmis(struct kunit *test, void (*in_them)(void),
		       void (*body)(struct kunit *test))
{
	struct task_struct *sender;

	begin_nmis(test, in_them);
	migrate_disable();
	nmi_target = smp_processor_id();
	sender = kthread_create(send_nmis, NULL, "kprobes_nmi");
	KUNIT_EXPECT_FALSE(test, IS_ERR(sender));
	if (!IS_ERR(sender)) {
		kthread_bind(sender, cpumask_any_but(cpu_online_mask, nmi_target));
		wake_up_process(sender);
		body(test);
		kthread_stop(sender);
	}
	migrate_enable();
	end_nmis(test);
}

static struct kp_watch in_nmi, here;

static void hit_under_nmis(struct kunit *test)
{
	unsigned long end = jiffies + NMI_SECONDS * HZ;
	unsigned int wrong = 0;
	int i;

	/* Some must arrive during a step. */
	for (i = 0; time_before(jiffies, end); i++) {
		if (i >= NMI_ROUNDS && atomic_read(&nmis) >= 1000 && atomic_read(&in_step) >= 3)
			break;
		wrong += (int)kp_run(kpx_bt, 8) != -1 || irqs_disabled();
		if (i % 64 == 0)
			cond_resched();
	}

	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_GE(test, atomic_read(&in_step), 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&here.pre), i);
	KUNIT_EXPECT_EQ(test, atomic_read(&here.post), i);
}

static void nmi_hits_run_or_are_missed(struct kunit *test)
{
	struct kp_watch stepped = KP_WATCH_BOTH(AT(call_mem_nmi));
	int hits;

	need_two_cpus(test);
	kpx_pointer = (unsigned long)kpx_callee;
	atomic_set(&in_step, 0);
	in_nmi = (struct kp_watch)KP_WATCH_BOTH(AT(in_nmi));
	here = (struct kp_watch)KP_WATCH_BOTH(AT(bt));
	KUNIT_ASSERT_EQ(test, (int)kp_run(kpx_bt, 8), -1);
	KUNIT_ASSERT_EQ(test, register_kprobe(&in_nmi.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&stepped.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&here.kp), 0);

	under_nmis(test, hit_in_nmi, hit_under_nmis);

	/* Both hits of an NMI were either handled or counted as missed. */
	hits = atomic_read(&in_nmi.pre) + in_nmi.kp.nmissed;
	KUNIT_EXPECT_EQ(test, hits, 2 * atomic_read(&nmis));
	KUNIT_EXPECT_GT(test, in_nmi.kp.nmissed, 0);
	hits = atomic_read(&stepped.pre) + stepped.kp.nmissed;
	KUNIT_EXPECT_EQ(test, hits, atomic_read(&nmis));
	unregister_kprobe(&here.kp);
	unregister_kprobe(&stepped.kp);
	unregister_kprobe(&in_nmi.kp);
}

/*
 * Three levels: in a handler, another probe is missed and stepped. During that step an
 * NMI hits a third probe, which has to be stepped as well.
 */

static atomic_t nested_wrong;

static void third_in_nmi(void)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();
	unsigned int depth = kcb->depth;

	if (kprobe_running() && kcb->kprobe_status == KPROBE_REENTER)
		atomic_inc(&third_level);
	if (kp_run(kpx_call_mem_nmi, 1) != 103 || kcb->depth != depth)
		atomic_inc(&nmis_wrong);
}

static int nested_pre(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&container_of(p, struct kp_watch, kp)->pre);
	if (kp_run(kpx_call_mem, 1) != 102)
		atomic_inc(&nested_wrong);
	return 0;
}

static void nest_under_nmis(struct kunit *test)
{
	unsigned long end = jiffies + NMI_SECONDS * HZ;
	int i;

	for (i = 0; time_before(jiffies, end) && atomic_read(&third_level) < 3; i++) {
		kp_run(kpx_nop, 1);
		if (i % 64 == 0)
			cond_resched();
	}
	KUNIT_EXPECT_GE(test, atomic_read(&third_level), 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&here.pre), i);
}

static void third_level_is_stepped(struct kunit *test)
{
	struct kp_watch missed = KP_WATCH(AT(call_mem));

	need_two_cpus(test);
	in_nmi = (struct kp_watch)KP_WATCH(AT(call_mem_nmi));
	here = (struct kp_watch) { .kp = { .addr = AT(nop), .pre_handler = nested_pre } };
	kpx_pointer = (unsigned long)kpx_callee;
	atomic_set(&third_level, 0);
	atomic_set(&nested_wrong, 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&in_nmi.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&missed.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&here.kp), 0);

	under_nmis(test, third_in_nmi, nest_under_nmis);

	KUNIT_EXPECT_EQ(test, atomic_read(&nested_wrong), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&missed.pre), 0);
	KUNIT_EXPECT_EQ(test, missed.kp.nmissed, atomic_read(&here.pre));
	KUNIT_EXPECT_EQ(test, atomic_read(&in_nmi.pre) + in_nmi.kp.nmissed, atomic_read(&nmis));
	unregister_kprobe(&here.kp);
	unregister_kprobe(&missed.kp);
	unregister_kprobe(&in_nmi.kp);
}

#ifdef CONFIG_KRETPROBES
/* Returns: NMIs call the same function, also while its entry or return is handled. */

static struct kretprobe followed;
static atomic_t nr_followed;
static unsigned int nr_calls;

/*
 * QEMU delivers an NMI where it leaves the code of the target, which is hardly ever in a hit that
 * takes less time than its exception.
 */
static void be_interrupted(void)
{
	int i;

	for (i = 0; i < 1000; i++)
		barrier();
}

static int follow_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	be_interrupted();
	if (regs_return_value(regs) != 101)
		atomic_inc(&nmis_wrong);
	atomic_inc(&nr_followed);
	return 0;
}

/* Does this task have calls that have not returned? */
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
static bool some_in_flight(void)
{
	return current->rethooks.first;
}
#else
static bool some_in_flight(void)
{
	return current->kretprobe_instances.first;
}
#endif

static void call_in_nmi(void)
{
	if (kp_run(kpx_callee, 1) != 101)
		atomic_inc(&nmis_wrong);
}

static void call_under_nmis(struct kunit *test)
{
	unsigned long end = jiffies + NMI_SECONDS * HZ;
	unsigned int wrong = 0;

	for (nr_calls = 0; time_before(jiffies, end); nr_calls++) {
		/* Some must arrive during a hit. */
		if (nr_calls >= NMI_ROUNDS && atomic_read(&nmis) >= 1000 &&
		    READ_ONCE(followed.kp.nmissed) >= 3)
			break;
		wrong += kp_run(kpx_callee, 1) != 101 || some_in_flight();
		if (nr_calls % 64 == 0)
			cond_resched();
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_GE(test, followed.kp.nmissed, 3);
}

static void nmi_calls_are_followed_or_missed(struct kunit *test)
{
	unsigned long accounted;

	need_two_cpus(test);
	followed = (struct kretprobe) {
		.kp.symbol_name	= "kpx_callee",
		.handler	= follow_return,
		.maxactive	= 4,
	};
	atomic_set(&nr_followed, 0);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&followed), 0);

	under_nmis(test, call_in_nmi, call_under_nmis);

	kunit_info(test, "%u calls, %d NMIs, %lu and %d missed\n", nr_calls, atomic_read(&nmis),
		   followed.kp.nmissed, followed.nmissed);
	/* Each call was either followed or counted as missed. */
	accounted = atomic_read(&nr_followed) + followed.kp.nmissed + followed.nmissed;
	KUNIT_EXPECT_EQ(test, accounted, nr_calls + atomic_read(&nmis));
	KUNIT_EXPECT_GT(test, atomic_read(&nr_followed), nr_calls);
	unregister_kretprobe(&followed);
	KUNIT_EXPECT_EQ(test, kp_run(kpx_callee, 1), 101);
}
#endif

#ifdef CONFIG_KPROBES_ON_FTRACE
/*
 * A probe with a post handler comes to a function that has a probe without one, and goes again:
 * the site moves from one ftrace_ops to another. ftrace calls both, and this one in between.
 */

static KP_TRACED(u32, kpx_moving, v + 3)
static KP_TRACED(u32, kpx_staying, v + 5)

static void move_in_nmi(void)
{
	u32 (*moving)(u32 v) = kpx_moving;

	OPTIMIZER_HIDE_VAR(moving);
	if (moving(1) != 4)
		atomic_inc(&nmis_wrong);
}

/* An NMI has reached the place between the two. */
static bool in_between;

/* Long enough for the other CPU to do what it was about to. */
static void stay_in_between(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			    struct ftrace_regs *fregs)
{
	if (!in_nmi())
		return;
	WRITE_ONCE(in_between, true);
	mdelay(10);
}

static unsigned int nr_sent;

/* A CPU is about to change the owner of the site. */
static void interrupt_other_cpu(unsigned long ip, unsigned long parent_ip,
				struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	int i;

	WRITE_ONCE(in_between, false);
	nr_sent++;
	__apic_send_IPI(cpumask_any_but(cpu_online_mask, raw_smp_processor_id()), NMI_VECTOR);
	for (i = 0; i < USEC_PER_SEC && !READ_ONCE(in_between); i++)
		udelay(1);
}

static struct ftrace_ops between_ops = { .func = stay_in_between };
static struct ftrace_ops change_ops = { .func = interrupt_other_cpu };

static void trace_by(struct kunit *test, struct ftrace_ops *ops, char *function)
{
	KUNIT_EXPECT_EQ(test, ftrace_set_filter(ops, function, strlen(function), 1), 0);
	KUNIT_EXPECT_EQ(test, register_ftrace_function(ops), 0);
}

static void trace_end(struct ftrace_ops *ops)
{
	unregister_ftrace_function(ops);
	ftrace_free_filter(ops);
}

/* Each CPU has changed, while the other one was in an NMI. */
static void expect_each_hit_once(struct kunit *test, struct kp_watch *w)
{
	unsigned long end = jiffies + NMI_SECONDS * HZ;

	KUNIT_EXPECT_EQ(test, nr_sent, num_online_cpus());
	while (atomic_read(&nmis) < nr_sent && time_before(jiffies, end))
		cond_resched();
	KUNIT_EXPECT_EQ(test, atomic_read(&nmis), nr_sent);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->pre), nr_sent);
}

static void nmi_hits_while_the_site_moves(struct kunit *test)
{
	struct kp_watch plain = { .kp = { .symbol_name = "kpx_moving" } };
	struct kp_watch post = { .kp = { .symbol_name = "kpx_moving" } };
	/* Keeps the older ops where it is. */
	struct kp_watch other = { .kp = { .symbol_name = "kpx_staying" } };

	need_two_cpus(test);
	plain.kp.pre_handler = kp_watch_pre;
	post.kp.post_handler = kp_watch_post;
	other.kp.pre_handler = kp_watch_pre;
	nr_sent = 0;
	KUNIT_ASSERT_EQ(test, kpx_staying(1), 6);
	KUNIT_ASSERT_EQ(test, register_kprobe(&other.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&plain.kp), 0);
	trace_by(test, &between_ops, "kpx_moving");
	trace_by(test, &change_ops, "kprobe_ftrace_change_cpu");
	begin_nmis(test, move_in_nmi);

	KUNIT_EXPECT_EQ(test, register_kprobe(&post.kp), 0);
	expect_each_hit_once(test, &plain);

	nr_sent = 0;
	atomic_set(&nmis, 0);
	atomic_set(&plain.pre, 0);
	unregister_kprobe(&post.kp);
	expect_each_hit_once(test, &plain);

	end_nmis(test);
	trace_end(&change_ops);
	trace_end(&between_ops);
	unregister_kprobe(&plain.kp);
	unregister_kprobe(&other.kp);
}
#endif

/*
 * NMIs that the CPU sends to itself, for other suites
 */

static DEFINE_PER_CPU(void (*)(void *arg), nmi_fn);
static DEFINE_PER_CPU(void *, nmi_arg);

static int on_own_nmi(unsigned int cmd, struct pt_regs *regs)
{
	void (*fn)(void *arg) = this_cpu_read(nmi_fn);

	if (!fn)
		return NMI_DONE;
	this_cpu_write(nmi_fn, NULL);
	fn(this_cpu_read(nmi_arg));
	return NMI_HANDLED;
}

bool kp_nmi_begin(void)
{
	return !register_nmi_handler(NMI_LOCAL, on_own_nmi, 0, "kprobes_own");
}

void kp_nmi_raise(void (*fn)(void *arg), void *arg)
{
	this_cpu_write(nmi_arg, arg);
	this_cpu_write(nmi_fn, fn);
	__apic_send_IPI(raw_smp_processor_id(), NMI_VECTOR);
}

void kp_nmi_end(void)
{
	unregister_nmi_handler(NMI_LOCAL, "kprobes_own");
}

static struct kunit_case nmi_cases[] = {
	KUNIT_CASE_SLOW(nmi_hits_run_or_are_missed),
	KUNIT_CASE_SLOW(third_level_is_stepped),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_SLOW(nmi_calls_are_followed_or_missed),
#endif
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(nmi_hits_while_the_site_moves),
#endif
	{}
};

KP_SUITE(nmi_cases, .name = "kprobes_x86_nmi",
	 .suite_init = kp_without_jumps, .suite_exit = kp_with_jumps);
