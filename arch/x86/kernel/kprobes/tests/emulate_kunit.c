// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the CPU cannot be asked: differential_kunit.c compares each emulated instruction with the
 * CPU, but not with flags that belong to its mode, or where the result could not be executed.
 */

#include "suite.h"

#include <asm/processor-flags.h>

#include "../common.h"

static void emulate_interrupt_flag(struct kunit *test)
{
	struct pt_regs regs = { .flags = X86_EFLAGS_FIXED | X86_EFLAGS_CF };
	struct kprobe p = { .addr = (void *)0x1000, .ainsn.len = 1 };

	p.ainsn.op = KPROBE_OP_STI;
	kprobe_emulate(&p, &regs);
	KUNIT_EXPECT_EQ(test, regs.flags,
			X86_EFLAGS_FIXED | X86_EFLAGS_CF | X86_EFLAGS_IF);
	KUNIT_EXPECT_EQ(test, regs.ip, 0x1001ul);

	p.ainsn.op = KPROBE_OP_CLI;
	kprobe_emulate(&p, &regs);
	KUNIT_EXPECT_EQ(test, regs.flags, X86_EFLAGS_FIXED | X86_EFLAGS_CF);
}

/* POPF keeps what belongs to the CPU's mode, except for RF. */
static void emulate_popf_sticky(struct kunit *test)
{
	unsigned long stack[2] = {
		X86_EFLAGS_FIXED | X86_EFLAGS_IF | X86_EFLAGS_VM | X86_EFLAGS_NT, 0,
	};
	struct pt_regs regs = {
		.flags = X86_EFLAGS_FIXED | X86_EFLAGS_RF | X86_EFLAGS_VIP | X86_EFLAGS_AC,
		.sp = (unsigned long)stack,
	};
	struct kprobe p = {
		.addr = (void *)0x1000,
		.ainsn = { .op = KPROBE_OP_POPF, .len = 1, .width = sizeof(long) },
	};

	kprobe_emulate(&p, &regs);
	KUNIT_EXPECT_EQ(test, regs.flags,
			X86_EFLAGS_FIXED | X86_EFLAGS_IF | X86_EFLAGS_NT | X86_EFLAGS_VIP);
	KUNIT_EXPECT_EQ(test, regs.sp, (unsigned long)&stack[1]);
}

/* PUSHF never stores RF or VM. */
static void emulate_pushf_image(struct kunit *test)
{
	unsigned long stack[2] = {};
	struct pt_regs regs = {
		.flags = X86_EFLAGS_FIXED | X86_EFLAGS_RF | X86_EFLAGS_VM | X86_EFLAGS_IF |
			 X86_EFLAGS_CF | X86_EFLAGS_VIP,
		.sp = (unsigned long)&stack[1],
	};
	struct kprobe p = {
		.addr = (void *)0x1000,
		.ainsn = { .op = KPROBE_OP_PUSHF, .len = 1, .width = sizeof(long) },
	};

	kprobe_emulate(&p, &regs);
	KUNIT_EXPECT_EQ(test, stack[0], X86_EFLAGS_FIXED | X86_EFLAGS_IF | X86_EFLAGS_CF |
			X86_EFLAGS_VIP);
	KUNIT_EXPECT_EQ(test, regs.sp, (unsigned long)stack);
}

/*
 * CALL *%rsp branches to the value of the stack pointer before the push. The stack is
 * not executable, so the result is compared with the manuals.
 */
static void emulate_call_through_stack_pointer(struct kunit *test)
{
	static const u8 call[MAX_INSN_SIZE] = { 0xff, 0xd4 };
	struct kprobe p = { .addr = (u8 *)call };
	struct pt_regs regs = { .flags = X86_EFLAGS_FIXED };
	unsigned long stack[2] = {};
	struct kprobe_insn ki;
	int ret;

	memcpy(ki.bytes, call, sizeof(call));
	KUNIT_ASSERT_EQ(test, kprobe_decode(&ki, MAX_INSN_SIZE), 0);
	scoped_guard(mutex, &text_mutex)
		ret = kprobe_classify(&ki, (unsigned long)call, &p.ainsn);
	KUNIT_ASSERT_EQ(test, ret, 0);
	KUNIT_ASSERT_EQ(test, p.ainsn.op, KPROBE_OP_CALL_REG);

	regs.sp = (unsigned long)&stack[1];
	kprobe_emulate(&p, &regs);
	KUNIT_EXPECT_EQ(test, regs.ip, (unsigned long)&stack[1]);
	KUNIT_EXPECT_EQ(test, regs.sp, (unsigned long)&stack[0]);
	KUNIT_EXPECT_EQ(test, stack[0], (unsigned long)call + 2);
	KUNIT_EXPECT_EQ(test, stack[1], 0);
}

static struct kunit_case emulate_cases[] = {
	KUNIT_CASE(emulate_interrupt_flag),
	KUNIT_CASE(emulate_popf_sticky),
	KUNIT_CASE(emulate_pushf_image),
	KUNIT_CASE(emulate_call_through_stack_pointer),
	{}
};

KP_SUITE(emulate_cases, .name = "kprobes_x86_emulate");
