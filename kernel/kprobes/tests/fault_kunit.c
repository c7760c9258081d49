// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of probed instructions and of handlers. How a fault in a copy becomes one of the
 * instruction is up to the architectures' own suites.
 */

#include "suite.h"

#include <linux/irq_work.h>
#include <linux/lockdep.h>
#include <linux/mman.h>
#include <linux/set_memory.h>

#include "targets.h"

/*
 * Faults of steps
 */

#define GOOD_VALUE	0x1234567

static unsigned long good;

/* What fault handlers see. */
static struct {
	bool		irqs_off, step_has_irqs_on;
	unsigned long	ip;
} seen;

static int note_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	seen.irqs_off = irqs_disabled();
	seen.step_has_irqs_on = kp_target_has_irqs_on(regs);
	seen.ip = instruction_pointer(regs);
	return kp_watch_fault(p, regs, trapnr);
}

static int repair(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	note_fault(p, regs, trapnr);
	kp_target_set_value(regs, (unsigned long)&good);
	return 1;
}

static int redirect(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	note_fault(p, regs, trapnr);
	kp_target_set_value(regs, 1);
	kp_target_go_to(regs, &kp_target_callee);
	return 1;
}

/* Faults at a bad address, and survives. */
static bool has_fault(void)
{
	long v;

	return get_kernel_nofault(v, (long *)KP_BAD_ADDRESS);
}

static int repair_after_a_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	repair(p, regs, trapnr);
	return has_fault();
}

/* With interrupts on or off; returns whether this has stayed so. */
static bool call_keeps_irqs(const struct kp_fault *f, unsigned long at, bool off,
			    unsigned long *result)
{
	bool is_off;

	if (off)
		local_irq_disable();
	*result = kp_target_run(&f->target, at);
	is_off = irqs_disabled();
	if (off)
		local_irq_enable();
	return is_off == off;
}

static void expect_nothing_left(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_FALSE(test, kp_target_steps_or_masks());
	if (IS_ENABLED(CONFIG_PROVE_LOCKING) && debug_locks)
		KUNIT_EXPECT_TRUE(test, lockdep_hardirqs_enabled());
	KUNIT_EXPECT_EQ(test, preempt_count(), 0);
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
}

KP_TARGET_PARAM(fault, kp_faults)

static void run_step(struct kunit *test, const struct kp_fault *f, unsigned long bad, bool off,
		     kprobe_fault_handler_t handler)
{
	struct kp_watch *w = KP_WATCHED(test, true, .addr = kp_target_addr(&f->target),
					.fault_handler = handler);
	unsigned long at = (unsigned long)&good, result, want = f->stores ? at : GOOD_VALUE;
	int posts = handler != redirect;

	good = GOOD_VALUE;
	memset(&seen, 0, sizeof(seen));
	KUNIT_EXPECT_STREQ(test, kp_mode(w->kp.addr), f->mode);
	KUNIT_EXPECT_TRUE(test, call_keeps_irqs(f, bad, off, &result));
	KUNIT_EXPECT_EQ(test, result, posts ? want : 101);
	KUNIT_EXPECT_TRUE(test, seen.irqs_off);
	KUNIT_EXPECT_FALSE(test, seen.step_has_irqs_on);
	KUNIT_EXPECT_EQ(test, seen.ip, kp_target_step(w->kp.addr));
	KUNIT_EXPECT_EQ(test, atomic_read(&w->faults), 1);
	KUNIT_EXPECT_TRUE_MSG(test, kp_fault_is(f, w->trapnr), "%x", w->trapnr);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->post), posts);
	expect_nothing_left(test);

	/* No fault, no handler. */
	good = 77;
	KUNIT_EXPECT_TRUE(test, call_keeps_irqs(f, at, off, &result));
	KUNIT_EXPECT_EQ(test, result, f->stores ? at : 77);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->faults), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->post), posts + 1);
	expect_nothing_left(test);
	unregister_kprobe(&w->kp);
	KUNIT_EXPECT_EQ(test, w->kp.nmissed, 0);
}

static void run_steps(struct kunit *test, kprobe_fault_handler_t handler)
{
	const struct kp_fault *f = test->param_value;
	unsigned long page = (unsigned long)vmalloc(PAGE_SIZE), bad = f->bad;

	KUNIT_ASSERT_NE(test, page, 0);
	if (f->bad == KP_READ_ONLY) {
		KUNIT_ASSERT_EQ(test, set_memory_ro(page, 1), 0);
		bad = page;
	} else if (f->bad == KP_UNMAPPED) {
		bad = page + PAGE_SIZE;
	}
	run_step(test, f, bad, false, handler);
	run_step(test, f, bad, true, handler);
	if (f->bad == KP_READ_ONLY)
		KUNIT_EXPECT_EQ(test, set_memory_rw(page, 1), 0);
	vfree((void *)page);
}

/* The step continues. */
static void fault_is_repaired(struct kunit *test)
{
	run_steps(test, repair);
}

/* The step is abandoned. */
static void fault_is_redirected(struct kunit *test)
{
	run_steps(test, redirect);
}

static void fault_of_a_fault_handler_is_not_reported(struct kunit *test)
{
	run_steps(test, repair_after_a_fault);
}

/* A copy that branches back would fault for itself. */
static void fault_handler_needs_a_step(struct kunit *test)
{
	void *addr = kp_target_addr(&kp_target_load);
	struct kp_watch *late;

	good = GOOD_VALUE;
	KP_WATCHED(test, false, .addr = addr);
	late = kp_add_watch(test, &(const struct kprobe) {
		.addr = addr, .fault_handler = repair,
	});
	KUNIT_EXPECT_STRNEQ(test, kp_mode(addr), "boosted");
	KUNIT_EXPECT_EQ(test, kp_target_run(&kp_target_load, KP_BAD_ADDRESS), GOOD_VALUE);
	KUNIT_EXPECT_EQ(test, atomic_read(&late->faults), 1);
	expect_nothing_left(test);
}

/*
 * Faults that may sleep
 */

static struct {
	struct task_struct	*task;
	atomic_t		irqs_on, irqs_off;
} page_in;

/* ftrace does not mask interrupts, and its registers may not tell whether they are. */
static int page_in_pre(struct kprobe *p, struct pt_regs *regs)
{
	bool on = kprobe_ftrace(p) ? !irqs_disabled() : kp_target_has_irqs_on(regs);

	if (current == page_in.task)
		atomic_inc(on ? &page_in.irqs_on : &page_in.irqs_off);
	return 0;
}

static int load_user(unsigned long from)
{
	return kp_target_run(&kp_target_user_load, from);
}

/*
 * The step ends with the fault, and starts again once there is a page, which is brought in
 * with interrupts on.
 */
static void page_fault_may_sleep(struct kunit *test)
{
	struct kprobe *handler;
	struct kp_watch *w;
	unsigned long page;

	KP_SKIP_IF(test, !kp_target_user_load.fn, "instructions with a fixup are refused");

	page = kunit_vm_mmap(test, NULL, 0, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_LT(test, page, TASK_SIZE);
	KUNIT_ASSERT_NE(test, page, 0);
	/* As without probes. */
	KUNIT_ASSERT_EQ(test, load_user(page), 0);

	memset(&page_in, 0, sizeof(page_in));
	page_in.task = current;
	w = KP_WATCHED(test, true, .addr = kp_target_addr(&kp_target_user_load));
	handler = KP_PROBE(test, .symbol_name = "handle_mm_fault", .pre_handler = page_in_pre);
	KUNIT_EXPECT_STRNEQ(test, kp_mode(w->kp.addr), "boosted");
	KUNIT_EXPECT_EQ(test, load_user(page + PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->post), 1);
	/* It was no longer inside a hit. */
	KUNIT_EXPECT_EQ(test, atomic_read(&page_in.irqs_on), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&page_in.irqs_off), 0);
	expect_nothing_left(test);

	/* Now that the page is there, nothing faults. */
	KUNIT_EXPECT_EQ(test, put_user(77, (int __user *)(page + PAGE_SIZE)), 0);
	KUNIT_EXPECT_EQ(test, load_user(page + PAGE_SIZE), 77);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->pre), 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->post), 2);
	/* But there is none outside of the mapping. */
	KUNIT_EXPECT_EQ(test, load_user(0), -EFAULT);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->post), 2);
	KUNIT_EXPECT_EQ(test, handler->nmissed, 0);
}

/*
 * Faults of handlers
 */

struct faulting {
	struct kprobe	kp;
	unsigned int	survived, reported;
	int		trapnr;
};

static int faulting_pre(struct kprobe *p, struct pt_regs *regs)
{
	container_of(p, struct faulting, kp)->survived += has_fault();
	return 0;
}

static void faulting_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	faulting_pre(p, regs);
}

static int note_handler_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	struct faulting *f = container_of(p, struct faulting, kp);

	f->reported++;
	f->trapnr = trapnr;
	return 0;
}

/* It is reported to its own probe, not to others at the site. */
static void handler_fault_goes_to_its_probe(struct kunit *test)
{
	kprobe_opcode_t *addr = kp_target_addr(&kp_target_add);
	struct faulting *f = kp_zalloc(test, sizeof(*f)), *other = kp_zalloc(test, sizeof(*other));

	f->kp = (struct kprobe) {
		.addr = addr,
		.pre_handler = faulting_pre,
		.post_handler = faulting_post,
		.fault_handler = note_handler_fault,
	};
	KP_ADD(test, &f->kp);
	KUNIT_EXPECT_EQ(test, kp_target_run(&kp_target_add, 4), 7);
	KUNIT_EXPECT_EQ(test, f->reported, 2);
	KUNIT_EXPECT_EQ(test, f->survived, 2);

	other->kp = (struct kprobe) {
		.addr = addr, .pre_handler = kp_nothing_pre, .fault_handler = note_handler_fault,
	};
	KP_ADD(test, &other->kp);
	KUNIT_EXPECT_EQ(test, kp_target_run(&kp_target_add, 4), 7);
	KUNIT_EXPECT_EQ(test, f->reported, 4);
	KUNIT_EXPECT_EQ(test, other->reported, 0);
	KUNIT_EXPECT_TRUE(test, kp_fault_is(&kp_faults[0], f->trapnr));
	expect_nothing_left(test);
}

#ifdef CONFIG_KRETPROBES
static atomic_t reported, own_faults, irq_faults;

static int count_reported(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	atomic_inc(&reported);
	return 0;
}

static void fault_in_irq(struct irq_work *work)
{
	if (has_fault())
		atomic_inc(&irq_faults);
}

static struct irq_work faulting_work = IRQ_WORK_INIT_HARD(fault_in_irq);

static int interrupted_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned int i;

	irq_work_queue(&faulting_work);
	for (i = 0; i < 100000000 && irq_work_is_busy(&faulting_work); i++)
		cpu_relax();
	/* This one belongs to the handler. */
	if (has_fault())
		atomic_inc(&own_faults);
	return 0;
}

/* Faults of an interrupt are not the interrupted handler's. Later ones belong to no probe. */
static void interrupt_fault_is_not_the_handlers(struct kunit *test)
{
	struct kretprobe rp = {
		.kp = {
			.symbol_name	= kp_target_callee.symbol,
			.fault_handler	= count_reported,
		},
		.handler = interrupted_return,
	};
	int cpu;

	KP_SKIP_IF(test, !arch_irq_work_has_interrupt(), "needs irq_work with an interrupt");

	atomic_set(&reported, 0);
	atomic_set(&own_faults, 0);
	atomic_set(&irq_faults, 0);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	KUNIT_EXPECT_EQ(test, kp_target_run(&kp_target_callee, 1), 101);
	unregister_kretprobe(&rp);
	/* An emulator may be late with the interrupt. */
	irq_work_sync(&faulting_work);
	KUNIT_EXPECT_EQ(test, atomic_read(&irq_faults), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&own_faults), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&reported), 1);
	for_each_possible_cpu(cpu)
		KUNIT_EXPECT_NULL(test, kprobe_test_fault_owner(cpu));
}
#endif /* CONFIG_KRETPROBES */

static struct kunit_case fault_cases[] = {
	KUNIT_CASE_PARAM(fault_is_repaired, fault_gen_params),
	KUNIT_CASE_PARAM(fault_is_redirected, fault_gen_params),
	KUNIT_CASE_PARAM(fault_of_a_fault_handler_is_not_reported, fault_gen_params),
	KUNIT_CASE(fault_handler_needs_a_step),
	KUNIT_CASE(page_fault_may_sleep),
	KUNIT_CASE(handler_fault_goes_to_its_probe),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(interrupt_fault_is_not_the_handlers),
#endif
	{}
};

KP_SUITE(fault_cases, .name = "kprobes_fault",
	 .suite_init = kp_without_jumps, .suite_exit = kp_with_jumps);
