// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of handlers; see handler_faults.h.
 */

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/kprobes-test.h>
#include <linux/percpu.h>
#include <linux/uaccess.h>

#include "handler_faults.h"

/* Faults at a bad address, and survives. */
static bool has_fault(void)
{
	long v;

	return get_kernel_nofault(v, (long *)KP_BAD_ADDRESS);
}

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

static int nothing_pre(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static int note_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	struct faulting *f = container_of(p, struct faulting, kp);

	f->reported++;
	f->trapnr = trapnr;
	return 0;
}

/**
 * kp_handler_fault_goes_to_its_probe() - faults of handlers are reported to their own probe
 * @test: the case
 * @addr: where to place probes
 * @call: calls the function there once, and expects its usual result
 *
 * Context: process context, may sleep.
 * Return: what the fault handler was called for.
 */
int kp_handler_fault_goes_to_its_probe(struct kunit *test, kprobe_opcode_t *addr,
				       void (*call)(struct kunit *test))
{
	struct faulting other = {
		.kp = {
			.addr = addr,
			.pre_handler = nothing_pre,
			.fault_handler = note_fault,
		},
	};
	struct faulting f = {
		.kp = {
			.addr = addr,
			.pre_handler = faulting_pre,
			.post_handler = faulting_post,
			.fault_handler = note_fault,
		},
	};

	KUNIT_ASSERT_EQ(test, register_kprobe(&f.kp), 0);
	call(test);
	KUNIT_EXPECT_EQ(test, f.reported, 2);
	KUNIT_EXPECT_EQ(test, f.survived, 2);

	KUNIT_EXPECT_EQ(test, register_kprobe(&other.kp), 0);
	call(test);
	KUNIT_EXPECT_EQ(test, f.reported, 4);
	KUNIT_EXPECT_EQ(test, other.reported, 0);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	unregister_kprobe(&other.kp);
	unregister_kprobe(&f.kp);
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
	return f.trapnr;
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

/**
 * kp_interrupt_fault_is_not_the_handlers() - whose are faults while a handler runs?
 * @test: the case
 * @symbol: a function
 * @call: calls it once, and expects its usual result
 *
 * Faults of an interrupt are not the interrupted handler's. Later ones belong to no probe.
 *
 * Context: process context, may sleep.
 */
void kp_interrupt_fault_is_not_the_handlers(struct kunit *test, const char *symbol,
					    void (*call)(struct kunit *test))
{
	struct kretprobe rp = {
		.kp = { .symbol_name = symbol, .fault_handler = count_reported },
		.handler = interrupted_return,
	};
	int cpu;

	if (!arch_irq_work_has_interrupt())
		kunit_skip(test, "needs irq_work with an interrupt");

	atomic_set(&reported, 0);
	atomic_set(&own_faults, 0);
	atomic_set(&irq_faults, 0);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	call(test);
	unregister_kretprobe(&rp);
	KUNIT_EXPECT_EQ(test, atomic_read(&irq_faults), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&own_faults), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&reported), 1);
	for_each_possible_cpu(cpu)
		KUNIT_EXPECT_NULL(test, kprobe_test_fault_owner(cpu));
}
#else
void kp_interrupt_fault_is_not_the_handlers(struct kunit *test, const char *symbol,
					    void (*call)(struct kunit *test))
{
	kunit_skip(test, "needs KRETPROBES");
}
#endif
