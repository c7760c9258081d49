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

static nokprobe_inline void copy_stack(struct jprobe_frame *f, unsigned long sp)
{
	unsigned long *from = (unsigned long *)sp + 1;

	kprobe_copy_stack(f->stack, ARRAY_SIZE(f->stack), from,
			  stack_end(sp, (unsigned long)(from + ARRAY_SIZE(f->stack))));
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
	struct jprobe_frame f;

	f.entry = after_landing_pad(entry);
	f.regs = regs;
	copy_stack(&f, regs->sp);
	*frame = &f;
	kprobe_jprobe_call(&f);
}
NOKPROBE_SYMBOL(arch_jprobe_call);

void arch_jprobe_unwind(void *frame)
{
	struct jprobe_frame *f = frame;

	kprobe_jprobe_unwind(f->sp, f);
}
NOKPROBE_SYMBOL(arch_jprobe_unwind);
