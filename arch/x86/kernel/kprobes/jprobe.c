// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of jprobes on x86: the arguments of the probed function, for a call of
 * the handler by jprobe_call.S.
 */

#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#include <asm/stacktrace.h>

#include "insn.h"
#include "jprobe.h"

#ifdef CONFIG_X86_64
static nokprobe_inline bool find_stack(unsigned long sp, struct stack_info *info)
{
	return get_stack_info_noinstr((unsigned long *)sp, current, info);
}
#else
static nokprobe_inline bool find_stack(unsigned long sp, struct stack_info *info)
{
	return !get_stack_info((unsigned long *)sp, current, info, NULL);
}
#endif

/* The end of what can be read at a stack pointer, at most @want. */
static nokprobe_inline unsigned long stack_end(unsigned long sp, unsigned long want)
{
	struct stack_info info;
	unsigned long end;

	/* Stacks consist of whole pages. */
	if (likely(!((sp ^ (want - 1)) & PAGE_MASK)))
		return want;

	end = find_stack(sp, &info) ? (unsigned long)info.end : PAGE_ALIGN(sp + 1);
	return min(end, want);
}

/*
 * Enter after the landing pad, which a RET does not need. If the RET goes through a
 * return thunk, unwinders look up the return address minus one. They then find the
 * landing pad, where the stack is as at the entry, and not the bytes before the function.
 * Without a landing pad they find what is there, and a trace from within the thunk may end.
 */
static nokprobe_inline unsigned long after_landing_pad(void *entry)
{
	return (unsigned long)entry + (kprobe_is_landing_pad(*(u32 *)entry) ? ENDBR_INSN_SIZE : 0);
}

void arch_jprobe_call(void *entry, struct pt_regs *regs, void **frame)
{
	/* kprobe_copy_stack() fills it in. */
	unsigned long stack[JPROBE_STACK_BYTES / sizeof(long)] __uninitialized;
	unsigned long *from = (unsigned long *)regs->sp + 1;

	kprobe_copy_stack(stack, ARRAY_SIZE(stack), from,
			  stack_end(regs->sp, (unsigned long)(from + ARRAY_SIZE(stack))));
	*frame = stack;
	kprobe_jprobe_call(stack, after_landing_pad(entry), regs);
}
NOKPROBE_SYMBOL(arch_jprobe_call);
