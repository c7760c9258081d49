// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stack traces, from handlers and from interrupts of handlers; see traces.h.
 */

#include "suite.h"

#include <linux/stacktrace.h>

#include "traces.h"

/**
 * kp_trace_save() - trace the stack of the caller
 * @t: where the trace goes
 *
 * Context: any.
 */
noinline void kp_trace_save(struct kp_trace *t)
{
	t->nr = stack_trace_save(t->entries, ARRAY_SIZE(t->entries), 0);
}

/**
 * kp_is_within() - does an address belong to a function?
 * @addr: the address
 * @fn: the function
 *
 * Context: any.
 * Return: true if @fn is the symbol that @addr belongs to.
 */
bool kp_is_within(unsigned long addr, void *fn)
{
	unsigned long size, into;

	/* Only the start of a function is on record, where there are descriptors. */
	return kallsyms_lookup_size_offset(addr, &size, &into) &&
	       addr - into == (unsigned long)dereference_symbol_descriptor(fn);
}

/**
 * kp_trace_find() - find a function in a trace
 * @t: the trace
 * @fn: the function
 *
 * Context: any.
 * Return: the index of the first entry within @fn, or -1.
 */
int kp_trace_find(const struct kp_trace *t, void *fn)
{
	int i;

	for (i = 0; i < t->nr; i++) {
		if (kp_is_within(t->entries[i], fn))
			return i;
	}
	return -1;
}

/**
 * kp_trace_show() - print a trace
 * @test: the case
 * @what: where it is from
 * @t: the trace
 *
 * Context: process context.
 */
void kp_trace_show(struct kunit *test, const char *what, const struct kp_trace *t)
{
	int i;

	kunit_info(test, "%s:", what);
	for (i = 0; i < t->nr; i++)
		kunit_info(test, "  %pS", (void *)t->entries[i]);
}

void kp_traced_irq(struct irq_work *work)
{
	kp_trace_save(&container_of(work, struct kp_traced, work)->irq);
}

static void interrupted(struct kp_traced *t)
{
	unsigned int i;

	if (!t->interrupt)
		return;
	irq_work_queue(&t->work);
	for (i = 0; i < 100000000 && irq_work_is_busy(&t->work); i++)
		cpu_relax();
}

int kp_traced_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct kp_traced *t = container_of(p, struct kp_traced, kp);

	kp_trace_save(&t->pre);
	interrupted(t);
	return 0;
}

void kp_traced_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	kp_trace_save(&container_of(p, struct kp_traced, kp)->post);
}

#ifdef CONFIG_KRETPROBES
int kp_traced_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_trace_save(&container_of(get_kretprobe(ri), struct kp_traced, rp)->pre);
	return 0;
}

int kp_traced_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_traced *t = container_of(get_kretprobe(ri), struct kp_traced, rp);

	kp_trace_save(&t->ret);
	interrupted(t);
	return 0;
}
#endif
