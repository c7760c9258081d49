// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stack traces out of detours, and unwinding from each of their instructions.
 */

#include "suite.h"

#include <linux/stacktrace.h>

#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/segment.h>
#include <asm/unwind.h>

#include "../insn.h"
#include "detours.h"

static noinline notrace u32 kpo_traced(u32 v)
{
	OPTIMIZER_HIDE_VAR(v);
	/* Like a call, this must not come before the frame is set up. */
	asm volatile("	.rept 8\n	nop\n	.endr\n" : ASM_CALL_CONSTRAINT);
	return v + 1;
}

static noinline notrace u32 kpo_tracing(u32 v)
{
	u32 (*volatile fn)(u32 v) = kpo_traced;

	return fn(v) + 1;
}

/*
 * A place from which the caller can be found: without ORC, the frame has to be set up.
 * Only the function itself contains such no-ops.
 */
static u8 *traced_place(void)
{
	u8 *at = (u8 *)kpo_traced;
	struct insn insn;

	while (IS_ENABLED(CONFIG_UNWINDER_FRAME_POINTER) && *at != 0x90 &&
	       !insn_decode_kernel(&insn, at))
		at += insn.length;

	return at;
}

static void stack_trace_in_handler(struct kunit *test)
{
	struct kp_traced *t = kp_zalloc(test, sizeof(*t));
	int probed;

	if (!IS_ENABLED(CONFIG_UNWINDER_ORC) && !IS_ENABLED(CONFIG_UNWINDER_FRAME_POINTER))
		kunit_skip(test, "needs ORC or frame pointers");
	t->kp = (struct kprobe){ .addr = traced_place(), .pre_handler = kp_traced_pre };

	KP_REGISTER_AND_WAIT(test, &t->kp);
	KUNIT_ASSERT_TRUE(test, is_live(t->kp.addr));
	KUNIT_EXPECT_EQ(test, kpo_tracing(1), 3);

	probed = kp_trace_find(&t->pre, kpo_traced);
	KUNIT_EXPECT_GE(test, probed, 0);
	/* With nothing in between. */
	KUNIT_EXPECT_EQ(test, kp_trace_find(&t->pre, kpo_tracing), probed + 1);
	KUNIT_EXPECT_GT(test, (int)t->pre.nr, probed + 2);
	unregister_kprobe(&t->kp);
}

#ifdef CONFIG_UNWINDER_ORC
static unsigned long caller_of_fn(struct kunit *test, void *fn, unsigned long ip, void *sp)
{
	unsigned long start = (unsigned long)fn, size, into;

	KUNIT_EXPECT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &into));
	start -= into;
	return kp_unwound_caller(test, current, ip, sp, start, start + size);
}

static unsigned long caller_of(struct kunit *test, unsigned long ip, void *sp)
{
	return caller_of_fn(test, kpo_traced, ip, sp);
}

/* Stands for the frame of the test. */
static unsigned long somewhere(void)
{
	return (unsigned long)caller_of + 8;
}

/* The stack on entry to the function, and the registers that the detour will save. */
static void fill_stack(unsigned long *top, const struct kprobe *p)
{
	struct pt_regs *regs = (struct pt_regs *)top - 1;

	top[0] = somewhere();
	regs->ip = (unsigned long)p->addr + 1;
	regs->cs = __KERNEL_CS;
	regs->sp = (unsigned long)top;
}

/* An NMI may arrive at each instruction. Returns their number. */
static unsigned int unwind_detour(struct kunit *test, const struct kprobe *p,
				  unsigned long *top)
{
	const struct arch_optimized_insn *o = &op_at(p->addr)->optinsn;
	unsigned int at, nr = 0;
	struct insn insn;
	/* Below the frame of the function: saved registers, and a copied call's push. */
	int depth = 0, pushed = 0;

	for (at = 0; at < o->end + JMP32_INSN_SIZE; at += insn.length, nr++) {
		if (insn_decode_kernel(&insn, o->insn + at)) {
			KUNIT_FAIL(test, "no instruction at %u", at);
			break;
		}
		KUNIT_EXPECT_EQ_MSG(test, caller_of_fn(test, p->addr,
						       (unsigned long)o->insn + at,
						       (void *)top - depth - pushed),
				    somewhere(), "at %u", at);
		if (at < o->detour->to[0])
			depth += kp_pushed_by(&insn);
		else
			pushed = insn.opcode.bytes[0] == OP_PUSH_I32 ? sizeof(long) : 0;
	}
	KUNIT_EXPECT_EQ(test, depth, 0);
	return nr;
}

static void unwinds_from_every_instruction(struct kunit *test)
{
	struct kprobe p = { .symbol_name = "kpo_traced", .pre_handler = kpo_change_ax };
	unsigned long stack[64] = {}, *top = stack + 48;

	KP_REGISTER_AND_WAIT(test, &p);
	KUNIT_EXPECT_TRUE(test, is_live(p.addr));
	fill_stack(top, &p);
	KUNIT_EXPECT_GT(test, unwind_detour(test, &p, top), 40);
	unregister_kprobe(&p);
}

/* Known to objtool. The copy of the call pushes what it returns to, and jumps. */
KP_UNPROBED(kpo_calling, "lea 1(%rax), %rax; call kpo_callee");
STACK_FRAME_NON_STANDARD_FP(kpo_calling);

static void unwinds_from_copied_call(struct kunit *test)
{
	struct kp_watch w = KP_WATCH_BY_NAME("kpo_calling");
	unsigned long stack[64] = {}, *top = stack + 48;
	struct kprobe_detour_place place;

	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_EXPECT_TRUE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_EQ(test, kp_run(kpo_calling, 5), 106);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	fill_stack(top, &w.kp);
	KUNIT_EXPECT_GT(test, unwind_detour(test, &w.kp, top), 40);

	/* The text itself is no detour. */
	scoped_guard(preempt)
		KUNIT_EXPECT_FALSE(test, kprobe_detour_place((unsigned long)w.kp.addr, &place));
	unregister_kprobe(&w.kp);
}

/* Known to objtool, and with something on its stack at the jump. */
asm(".pushsection .text\n"
	".type kpo_hop_traced, @function\n"
	KP_LANDING(kpo_hop_traced)
	"	push %rax\n"
	"	test %eax, %eax\n"
	"	je 1f\n"
	".globl kpo_hop_traced_at\n"
	"kpo_hop_traced_at:\n"
	ANNOTATE_NOENDBR "\n"
	"	.byte 0x66, 0x90\n"
	"1:	nop; nop; nop\n"
	"	pop %rax\n"
	ASM_RET
	".size kpo_hop_traced, . - kpo_hop_traced\n"
	PADDING "\n"
	".popsection\n");
void kpo_hop_traced(void);
extern u8 kpo_hop_traced_at[];

static void unwinds_from_hop(struct kunit *test)
{
	unsigned long caller = (unsigned long)unwinds_from_hop + 8;
	struct kp_watch w = KP_WATCH(kpo_hop_traced_at);
	unsigned long stack[64] = {}, *top = stack + 48, hop;

	skip_without_padding(test);
	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_EXPECT_TRUE(test, is_live(w.kp.addr));
	hop = op_at(w.kp.addr)->optinsn.hop;
	KUNIT_EXPECT_NE(test, hop, 0);
	KUNIT_EXPECT_EQ(test, kp_run(kpo_hop_traced, 5), 5);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);

	top[0] = caller;
	if (hop)
		KUNIT_EXPECT_EQ(test, caller_of(test, hop, top - 1), caller);
	KUNIT_EXPECT_TRUE(test, kprobe_is_detour_text(hop));
	unregister_kprobe(&w.kp);
}

/* Livepatch must see that the trace is not reliable. */
static int reliable_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct kp_traced *t = container_of(p, struct kp_traced, kp);

	t->pre.nr = stack_trace_save_tsk_reliable(current, t->pre.entries,
						  ARRAY_SIZE(t->pre.entries));
	return 0;
}

static void trace_is_not_reliable(struct kunit *test)
{
	struct kp_traced t = { .kp = { .symbol_name = "kpo_traced", .pre_handler = reliable_pre } };

	KP_REGISTER_AND_WAIT(test, &t.kp);
	KUNIT_ASSERT_TRUE(test, is_live(t.kp.addr));
	KUNIT_EXPECT_EQ(test, kpo_tracing(1), 3);
	KUNIT_EXPECT_LT(test, (int)t.pre.nr, 0);
	unregister_kprobe(&t.kp);
}
#endif

#ifdef KPROBE_DETOURS_OF_RETURNS
#ifdef CONFIG_UNWINDER_ORC
static void stack_trace_in_return_detour(struct kunit *test)
{
	struct kpo_returns r;

	kpo_follow(test, &r, "kpo_traced");
	stack_trace_in_handler(test);
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	unregister_kretprobe(&r.rp);
}

static void unwinds_from_every_instruction_of_return_detour(struct kunit *test)
{
	u8 *at = (u8 *)kretprobe_detour_complete, opcode = 0;
	unsigned long stack[64] = {}, *top = stack + 48;
	struct kpo_returns r;
	struct insn insn;
	/* What the detour has pushed before it continues at @at. */
	int depth = sizeof(struct pt_regs) - offsetof(struct pt_regs, r11);

	kpo_follow(test, &r, "kpo_traced");
	fill_stack(top, &r.rp.kp);
	KUNIT_EXPECT_GT(test, unwind_detour(test, &r.rp.kp, top), 30);

	while (opcode != JMP32_INSN_OPCODE && opcode != JMP8_INSN_OPCODE) {
		KUNIT_EXPECT_EQ_MSG(test, caller_of(test, (unsigned long)at,
						    (void *)top - depth),
				    somewhere(), "%pS", at);
		if (insn_decode_kernel(&insn, at)) {
			KUNIT_FAIL(test, "no instruction at %pS", at);
			break;
		}
		opcode = insn.opcode.bytes[0];
		depth += opcode == 0x8d ? 0 : kp_pushed_by(&insn);
		at += insn.length;
	}
	KUNIT_EXPECT_EQ(test, depth, sizeof(struct pt_regs));
	unregister_kretprobe(&r.rp);
}
#endif
#endif /* KPROBE_DETOURS_OF_RETURNS */

static struct kunit_case detour_trace_cases[] = {
	KUNIT_CASE(stack_trace_in_handler),
#ifdef CONFIG_UNWINDER_ORC
	KUNIT_CASE(unwinds_from_every_instruction),
	KUNIT_CASE(unwinds_from_copied_call),
	KUNIT_CASE(unwinds_from_hop),
	KUNIT_CASE(trace_is_not_reliable),
#ifdef KPROBE_DETOURS_OF_RETURNS
	KUNIT_CASE(stack_trace_in_return_detour),
	KUNIT_CASE(unwinds_from_every_instruction_of_return_detour),
#endif
#endif
	{}
};

KP_SUITE(detour_trace_cases, .name = "kprobes_x86_detour_trace");
