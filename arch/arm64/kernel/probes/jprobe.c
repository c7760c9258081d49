// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of jprobes on arm64: the stack of the probed function, for a call of the
 * handler by jprobe_call.S.
 */

#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>

#include <asm/memory.h>
#include <asm/stacktrace.h>

#include "jprobe.h"

/* The stack pointer of an empty stack is the end of the stack. */
static nokprobe_inline bool is_on(unsigned long sp, unsigned long low, unsigned long size)
{
	return sp - low <= size;
}

/*
 * How far up from a stack pointer memory can be read. Depending on the page size, a page may hold
 * several stacks, or a stack several pages. If this is neither the stack of the task nor that of
 * interrupts, read only up to the end of the page.
 */
static nokprobe_inline unsigned long stack_end(unsigned long sp)
{
	unsigned long low = (unsigned long)task_stack_page(current);

	if (likely(is_on(sp, low, THREAD_SIZE)))
		return low + THREAD_SIZE;

	low = (unsigned long)raw_cpu_read(irq_stack_ptr);
	if (is_on(sp, low, IRQ_STACK_SIZE))
		return low + IRQ_STACK_SIZE;

	return PAGE_ALIGN(sp);
}

void arch_jprobe_call(void *entry, struct pt_regs *regs, void **frame)
{
	/* kprobe_copy_stack() fills it in. */
	unsigned long stack[JPROBE_STACK_BYTES / sizeof(long)] __uninitialized;

	kprobe_copy_stack(stack, ARRAY_SIZE(stack), (unsigned long *)regs->sp,
			  stack_end(regs->sp));
	kprobe_jprobe_call(stack, entry, regs, frame);
}
NOKPROBE_SYMBOL(arch_jprobe_call);
