/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stack traces, from handlers and from interrupts of handlers.
 */
#ifndef _KERNEL_KPROBES_TESTS_TRACES_H
#define _KERNEL_KPROBES_TESTS_TRACES_H

#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/types.h>

struct kunit;

#define KP_MAX_ENTRIES	48

struct kp_trace {
	unsigned long	entries[KP_MAX_ENTRIES];
	unsigned int	nr;
};

void kp_trace_save(struct kp_trace *t);
bool kp_is_within(unsigned long addr, void *fn);
int kp_trace_find(const struct kp_trace *t, void *fn);
void kp_trace_show(struct kunit *test, const char *what, const struct kp_trace *t);

/**
 * struct kp_traced - probes whose handlers take traces
 * @kp: a probe with the handlers kp_traced_pre() and kp_traced_post()
 * @rp: one with the handlers kp_traced_entry() and kp_traced_return()
 * @pre: the trace from a pre or entry handler
 * @post: that from a post handler
 * @ret: that from a return handler
 * @irq: that from an interrupt of a pre or return handler
 * @work: the interrupt: IRQ_WORK_INIT_HARD(kp_traced_irq)
 * @interrupt: whether there is one
 */
struct kp_traced {
	struct kprobe		kp;
#ifdef CONFIG_KRETPROBES
	struct kretprobe	rp;
#endif
	struct kp_trace		pre, post, ret, irq;
	struct irq_work		work;
	bool			interrupt;
};

void kp_traced_irq(struct irq_work *work);
int kp_traced_pre(struct kprobe *p, struct pt_regs *regs);
void kp_traced_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags);

#ifdef CONFIG_KRETPROBES
int kp_traced_entry(struct kretprobe_instance *ri, struct pt_regs *regs);
int kp_traced_return(struct kretprobe_instance *ri, struct pt_regs *regs);
#endif

#endif /* _KERNEL_KPROBES_TESTS_TRACES_H */
