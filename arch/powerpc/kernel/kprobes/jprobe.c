// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of jprobes on powerpc: the stack of the probed function, for a call of the handler
 * by jprobe_call.S.
 */

#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/smp.h>
#include <linux/thread_info.h>

#include <asm/irq.h>

#include "jprobe.h"

static nokprobe_inline bool is_on(unsigned long sp, const void *stack)
{
	return stack && sp - (unsigned long)stack < THREAD_SIZE;
}

/* The end of the memory that can be read upwards from a stack pointer. */
static nokprobe_inline unsigned long stack_end(unsigned long sp)
{
	const void *stack = task_stack_page(current);
	int cpu = raw_smp_processor_id();

	if (unlikely(!is_on(sp, stack)))
		stack = hardirq_ctx[cpu];
	if (unlikely(!is_on(sp, stack)))
		stack = softirq_ctx[cpu];
	/* Another stack: all that is known is that it has a frame at the stack pointer. */
	return is_on(sp, stack) ? (unsigned long)stack + THREAD_SIZE : PAGE_ALIGN(sp + 1);
}

void arch_jprobe_call(void *entry, struct pt_regs *regs, void **frame)
{
	/* kprobe_copy_stack() fills it in. */
	unsigned long stack[JPROBE_STACK_BYTES / sizeof(long)] __uninitialized;

	kprobe_copy_stack(stack, ARRAY_SIZE(stack),
			  (unsigned long *)(regs->gpr[1] + JPROBE_STACK_AT),
			  stack_end(regs->gpr[1]));
	kprobe_jprobe_call(stack, entry, regs, frame);
}
NOKPROBE_SYMBOL(arch_jprobe_call);
