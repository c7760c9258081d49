// SPDX-License-Identifier: GPL-2.0-only
/*
 * What several suites share.
 */

#include "suite.h"

#include <linux/hardirq.h>

#include <asm/nospec-branch.h>
#include <asm/segment.h>
#include <asm/unwind.h>

#include "helpers.h"

#ifdef CONFIG_X86_64
#define MORE_CLOBBERS	, "r8", "r9", "r10", "r11"
#else
#define MORE_CLOBBERS
#endif

/**
 * kp_run() - call a function written with KP_FUNCTION()
 * @fn: the function
 * @arg: its argument
 *
 * Context: any, as far as @fn allows it.
 * Return: the result of @fn.
 */
noinline unsigned long kp_run(void (*fn)(void), unsigned long arg)
{
	asm volatile(CALL_NOSPEC
		     : "+a" (arg), ASM_CALL_CONSTRAINT
		     : [thunk_target] "D" (fn)
		     : "cx", "dx", "si", "cc", "memory" MORE_CLOBBERS);
	return arg;
}

/**
 * kp_pushed_by() - how far does an instruction move the stack pointer?
 * @insn: a push, a pop, or a lea that adjusts the stack pointer; others do not
 *	  move it
 *
 * Context: any.
 * Return: the number of bytes pushed, negative for a pop.
 */
int kp_pushed_by(const struct insn *insn)
{
	u8 opcode = insn->opcode.bytes[0];

	switch (opcode) {
	case 0x50 ... 0x57: case 0x68: case 0x6a: case 0x9c:
		return 8;
	case 0x58 ... 0x5f: case 0x9d:
		return -8;
	case 0x8d:
		return insn->modrm.value == 0x64 ? -insn->displacement.value : 0;
	}

	return 0;
}

#ifdef CONFIG_UNWINDER_ORC
/**
 * kp_unwound_caller() - to which caller does the unwinder get?
 * @test: the case, which fails if the unwinder reports an error
 * @task: the task whose stack it is
 * @ip: where the task would be interrupted
 * @sp: its stack pointer then
 * @start: start of the code that does not count as a caller
 * @end: its end
 *
 * Context: process context.
 * Return: the first address on the stack that is neither @ip nor in that code.
 */
unsigned long kp_unwound_caller(struct kunit *test, struct task_struct *task,
				unsigned long ip, void *sp, unsigned long start,
				unsigned long end)
{
	struct pt_regs regs = {
		.ip	= ip,
		.sp	= (unsigned long)sp,
		.cs	= __KERNEL_CS,
		.flags	= X86_EFLAGS_FIXED,
	};
	struct unwind_state state;
	unsigned long addr = 0;

	for (unwind_start(&state, task, &regs, NULL); !unwind_done(&state);
	     unwind_next_frame(&state)) {
		addr = unwind_get_return_address(&state);
		if (addr != ip && (addr < start || addr >= end))
			break;
	}

	KUNIT_EXPECT_FALSE(test, state.error);
	return addr;
}
#endif
