// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of unwinding from a probe on an instruction of one byte: the saved instruction
 * pointer is that of the next instruction, while the stack is still as before. This is
 * what an NMI sees, or another task that unwinds a task that was preempted there.
 */

#include "suite.h"

#include <linux/stacktrace.h>

#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/idtentry.h>
#include <asm/insn.h>
#include <asm/segment.h>
#include <asm/unwind.h>

#include "../common.h"
#include "helpers.h"

/* Known to objtool. The probed instructions have a label. */
asm(".pushsection .text\n"
	KP_TEXT(kpu_fn, "	push %rbx\n"
	"	push %rbp\n"
	"	lea 1(%rdi), %rbx\n"
	"	lea (%rbx), %rax\n"
	"	nop; nop; nop\n"
	".globl kpu_pop\n"
	"kpu_pop:\n"
	ANNOTATE_NOENDBR "\n"
	"	pop %rbp\n"
	"	lea 1(%rax), %rax\n"
	"	pop %rbx\n"
	"	nop; nop; nop; nop")
	KP_TEXT(kpu_more, "	push %rbp\n"
	"	mov %rsp, %rbp\n"
	".globl kpu_pushf\n"
	"kpu_pushf:\n"
	ANNOTATE_NOENDBR "\n"
	"	pushf\n"
	".globl kpu_popf\n"
	"kpu_popf:\n"
	ANNOTATE_NOENDBR "\n"
	"	popf\n"
	"	lea 2(%rdi), %rax\n"
	".globl kpu_leave\n"
	"kpu_leave:\n"
	ANNOTATE_NOENDBR "\n"
	"	leave")
	".globl kpu_end\n"
	"kpu_end:\n"
	ANNOTATE_NOENDBR "\n"
	"	int3\n"
	".popsection\n");
asmlinkage long kpu_fn(long v);
asmlinkage long kpu_more(long v);
extern u8 kpu_pop[];
extern u8 kpu_pushf[];
extern u8 kpu_popf[];
extern u8 kpu_leave[];
extern u8 kpu_end[];
STACK_FRAME_NON_STANDARD_FP(kpu_fn);
STACK_FRAME_NON_STANDARD_FP(kpu_more);

struct place {
	const char	*name;
	u8		*addr;		/* NULL: the entry */
	unsigned int	depth;		/* bytes that the function has pushed */
};

static const struct place places[] = {
	{ "push",	NULL,		0 },
	{ "pop",	kpu_pop,	16 },
};
KUNIT_ARRAY_PARAM_DESC(place, places, name);

/* A stack of the test, inside the stack of a task. */
struct fake {
	struct task_struct	*task;
	unsigned long		words[80];
	struct completion	ready, done;
	struct fake		*copy;
};

/* The return address of the function. */
static unsigned long somewhere(void)
{
	return (unsigned long)kretprobe_find_ret_addr + 8;
}

static unsigned long caller_of(struct kunit *test, struct fake *f, unsigned long ip,
			       void *sp)
{
	/* More than the symbol of the function: the label of the pop is another one. */
	return kp_unwound_caller(test, f->task, ip, sp, (unsigned long)kpu_fn,
				 (unsigned long)kpu_end);
}

/* The return address of the function; its own words and regs are below. */
static unsigned long *top_of(struct fake *f)
{
	return f->words + 72;
}

static void fill_stack(struct fake *f, const struct kprobe *p, const struct place *at)
{
	void *sp = (void *)top_of(f) - at->depth;
	struct pt_regs *regs = (struct pt_regs *)sp - 1;

	memset(f->words, 0, sizeof(f->words));
	*top_of(f) = somewhere();
	regs->ip = (unsigned long)p->addr + INT3_INSN_SIZE;
	regs->cs = __KERNEL_CS;
	regs->sp = (unsigned long)sp;
}

/* From everywhere in the detour, template and copies. */
static void unwind_detour(struct kunit *test, struct fake *f, const struct kprobe *p,
			  const struct place *at)
{
	const struct arch_optimized_insn *o = &op_at(p->addr)->optinsn;
	int depth = at->depth, nr = 0;
	struct insn insn;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, o->insn);
	for (i = 0; i < o->end; i += insn.length, nr++) {
		if (insn_decode_kernel(&insn, o->insn + i)) {
			KUNIT_FAIL(test, "no instruction at %u", i);
			break;
		}
		KUNIT_EXPECT_EQ_MSG(test, caller_of(test, f, (unsigned long)o->insn + i,
						    (void *)top_of(f) - depth),
				    somewhere(), "at %u of %u, depth %d", i,
				    o->detour->to[0], depth);
		depth += kp_pushed_by(&insn);
	}
	KUNIT_EXPECT_GT(test, nr, 30);
}

static int sleeper(void *data)
{
	struct fake *f = data, mine = { .task = current };

	f->copy = &mine;
	complete(&f->ready);
	wait_for_completion(&f->done);
	/* Until then, the stack of the test has to exist. */
	return kp_await_stop();
}

/* Calls @fn for a stack of current, and for one of a task that sleeps. */
static void on_both_stacks(struct kunit *test, const struct kprobe *p, const struct place *at,
			   void (*fn)(struct kunit *test, struct fake *f,
				      const struct kprobe *p, const struct place *at))
{
	struct fake f = { .task = current };
	struct task_struct *task;

	fill_stack(&f, p, at);
	fn(test, &f, p, at);

	init_completion(&f.ready);
	init_completion(&f.done);
	task = kthread_run(sleeper, &f, "kpu_sleeper");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	wait_for_completion(&f.ready);
	while (!wait_task_inactive(task, TASK_UNINTERRUPTIBLE))
		schedule_timeout_uninterruptible(1);
	fill_stack(f.copy, p, at);
	fn(test, f.copy, p, at);
	complete(&f.done);
	kthread_stop(task);
}

static struct kprobe *begin(struct kunit *test, const struct place *at)
{
	struct kprobe *p = KP_PROBE(test, .addr = at->addr, .pre_handler = kp_nothing_pre,
				    .symbol_name = at->addr ? NULL : "kpu_fn");

	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpu_fn(5), 7);
	return p;
}

static void unwind_one_byte_in_detour(struct kunit *test)
{
	const struct place *at = test->param_value;

	on_both_stacks(test, begin(test, at), at, unwind_detour);
}

#ifdef KPROBE_DETOURS_OF_RETURNS
/* And while the frame of a detour of a return probe is completed. */
static void unwind_completion(struct kunit *test, struct fake *f, const struct kprobe *p,
			      const struct place *at)
{
	int depth = sizeof(struct pt_regs) - offsetof(struct pt_regs, r11);
	u8 *ip = (u8 *)kretprobe_detour_complete, opcode = 0;
	struct insn insn;

	unwind_detour(test, f, p, at);
	while (opcode != JMP32_INSN_OPCODE && opcode != JMP8_INSN_OPCODE) {
		KUNIT_EXPECT_EQ_MSG(test, caller_of(test, f, (unsigned long)ip,
						    (void *)top_of(f) - depth),
				    somewhere(), "%pS", ip);
		if (insn_decode_kernel(&insn, ip)) {
			KUNIT_FAIL(test, "no instruction at %pS", ip);
			break;
		}
		opcode = insn.opcode.bytes[0];
		depth += opcode == 0x8d ? 0 : kp_pushed_by(&insn);
		ip += insn.length;
	}
}

static void unwind_one_byte_in_completion(struct kunit *test)
{
	struct kretprobe *rp = KP_RETURN_PROBE(test, .kp.symbol_name = "kpu_fn");

	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, op_at(rp->kp.addr)->optinsn.of_return);
	on_both_stacks(test, &rp->kp, &places[0], unwind_completion);
}
#endif

/*
 * Where the call depth is counted, calls go to a copy of the counting code, in the padding
 * before the function.
 */
static bool is_call_of(unsigned long target, void *fn)
{
	return kp_is_within(target, fn) ||
	       (cpu_feature_enabled(X86_FEATURE_CALL_DEPTH) &&
		kp_is_within(target + CONFIG_FUNCTION_PADDING_BYTES, fn));
}

/*
 * Finds the first call of @fn at or after @ip, in an entry that begins at @entry. Calls of C
 * code there have the registers on top of the stack.
 */
static u8 *find_call(u8 *ip, void *entry, void *fn)
{
	struct insn insn;

	/* Or the compiler refers to entry + 128, where objtool expects a landing pad. */
	OPTIMIZER_HIDE_VAR(entry);
	for (; ip < (u8 *)entry + 128 && !insn_decode_kernel(&insn, ip); ip += insn.length) {
		if (insn.opcode.bytes[0] == CALL_INSN_OPCODE &&
		    is_call_of((unsigned long)ip + CALL_INSN_SIZE + insn.immediate.value, fn))
			return ip;
	}

	return NULL;
}

/* An NMI before the handler of a breakpoint is called, or when it is missed. */
static void unwind_breakpoint(struct kunit *test, struct fake *f, const struct kprobe *p,
			      const struct place *at)
{
	void *regs = (void *)top_of(f) - at->depth - sizeof(struct pt_regs);
	u8 *ip = find_call((u8 *)asm_exc_int3, asm_exc_int3, exc_int3);

	KUNIT_EXPECT_NOT_NULL(test, ip);
	for (; ip; ip = find_call(ip + CALL_INSN_SIZE, asm_exc_int3, exc_int3))
		KUNIT_EXPECT_EQ(test, caller_of(test, f, (unsigned long)ip, regs), somewhere());
}

/* In a handler, what is found for a stack of the test. */
static struct kunit *unwinding_test;
static struct fake *unwound;
static unsigned long unwound_caller;

static int unwind_interrupt(struct kprobe *p, struct pt_regs *regs)
{
	void *below = (void *)(top_of(unwound) - 1) - sizeof(struct pt_regs);
	u8 *ip = find_call((u8 *)asm_exc_page_fault, asm_exc_page_fault, exc_page_fault);

	unwound_caller = caller_of(unwinding_test, unwound, (unsigned long)ip, below);
	return 0;
}

/*
 * The push has been emulated, and an interrupt comes before the next instruction. It hits
 * the same probe, whose handler unwinds: that the push is pending is true of this hit
 * only.
 */
static void unwind_interrupt_after_one_byte(struct kunit *test)
{
	struct kprobe p = {
		.symbol_name	= "kpu_fn",
		.pre_handler	= unwind_interrupt,
		.post_handler	= kp_nothing_post,
	};
	static const struct place pushed = { "pushed", NULL, sizeof(long) };
	struct fake f = { .task = current };

	KUNIT_ASSERT_NOT_NULL(test, find_call((u8 *)asm_exc_page_fault, asm_exc_page_fault,
					      exc_page_fault));
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	fill_stack(&f, &p, &pushed);
	unwinding_test = test;
	unwound = &f;
	unwound_caller = 0;
	KUNIT_EXPECT_EQ(test, kpu_fn(5), 7);
	KUNIT_EXPECT_EQ(test, unwound_caller, somewhere());
	unregister_kprobe(&p);
}

static void unwind_one_byte_at_breakpoint(struct kunit *test)
{
	const struct place *at = test->param_value;
	struct fake f = { .task = current };
	struct kprobe *p;

	KP_SKIP_IF(test, cpu_feature_enabled(X86_FEATURE_FRED), "FRED has a different entry path");
	p = begin(test, at);
	fill_stack(&f, p, at);
	unwind_breakpoint(test, &f, p, at);
}

/*
 * Without a current probe. INT3 saves the address after it, whatever becomes of the hit,
 * and the stack pointer of the instruction it replaces. If that is emulated, the same
 * address remains, with another stack pointer.
 */
static void unwind_trap_ip(struct kunit *test)
{
	struct kprobe boosted = { .addr = kpu_pop, .pre_handler = kp_nothing_pre };
	struct kprobe emulated = { .addr = kpu_pop, .post_handler = kp_nothing_post };
	unsigned long pop = (unsigned long)kpu_pop, after;
	struct pt_regs regs = { .orig_ax = -1 };

	/* As a constant, the address after the breakpoint would count as a branch target. */
	OPTIMIZER_HIDE_VAR(pop);
	after = pop + INT3_INSN_SIZE;

	KUNIT_EXPECT_EQ(test, kprobe_unwind_trap_ip(after, &regs), after);

	KUNIT_ASSERT_EQ(test, register_kprobe(&boosted), 0);
	KUNIT_EXPECT_EQ(test, kprobe_unwind_trap_ip(after, &regs), pop);
	KUNIT_EXPECT_EQ(test, kprobe_unwind_trap_ip(after, NULL), pop);
	unregister_kprobe(&boosted);

	KUNIT_ASSERT_EQ(test, register_kprobe(&emulated), 0);
	KUNIT_EXPECT_EQ(test, kprobe_unwind_trap_ip(after, &regs), pop);
	KUNIT_EXPECT_EQ(test, kprobe_unwind_trap_ip(after, NULL), pop);
	unregister_kprobe(&emulated);
}

static int redirect_past_it(struct kprobe *p, struct pt_regs *regs)
{
	regs->ip = (unsigned long)p->addr + INT3_INSN_SIZE;
	return 1;
}

/* A breakpoint whose registers the test provides. */
static void breakpoint(struct kunit *test, struct kprobe *p, struct pt_regs *regs,
		       unsigned long *sp)
{
	unsigned long flags;

	*regs = (struct pt_regs) {
		.ip		= (unsigned long)p->addr + INT3_INSN_SIZE,
		.cs		= __KERNEL_CS,
		.sp		= (unsigned long)sp,
		.orig_ax	= -1,
	};
	local_irq_save(flags);
	KUNIT_EXPECT_EQ(test, kprobe_int3_handler(regs), 1);
	local_irq_restore(flags);
}

/* When the exception returns, there is no current probe any more. */
static void unwind_trap_ip_after_the_hit(struct kunit *test)
{
	struct kprobe emulated = { .addr = kpu_pop, .post_handler = kp_nothing_post };
	/* With a jump, the redirection would go to the copy in the detour. */
	struct kprobe redirected = {
		.addr		= kpu_pop,
		.pre_handler	= redirect_past_it,
		.post_handler	= kp_nothing_post,
	};
	unsigned long stack[2] = {}, pop = (unsigned long)kpu_pop, after;
	struct pt_regs regs;

	OPTIMIZER_HIDE_VAR(pop);
	after = pop + INT3_INSN_SIZE;

	KUNIT_ASSERT_EQ(test, register_kprobe(&emulated), 0);
	breakpoint(test, &emulated, &regs, stack);
	unregister_kprobe(&emulated);
	KUNIT_EXPECT_EQ(test, regs.ip, after);
	KUNIT_EXPECT_EQ(test, regs.sp, (unsigned long)(stack + 1));
	KUNIT_ASSERT_EQ(test, register_kprobe(&redirected), 0);
	KUNIT_EXPECT_EQ(test, kprobe_unwind_trap_ip(after, &regs), after);

	breakpoint(test, &redirected, &regs, stack);
	KUNIT_EXPECT_EQ(test, regs.ip, after);
	KUNIT_EXPECT_EQ(test, kprobe_unwind_trap_ip(after, &regs), after);
	unregister_kprobe(&redirected);
}

/* Never executed: where the jump goes, an instruction of one byte ends. */
asm(".pushsection .text\n"
	"kpu_jmp:\n"
	ANNOTATE_NOENDBR "\n"
	"	jmp 1f\n"
	"kpu_nop:\n"
	ANNOTATE_NOENDBR "\n"
	"	nop\n"
	"1:	" ASM_RET
	".popsection\n");

extern u8 kpu_jmp[], kpu_nop[];

static unsigned long ip_in_post;

static void note_trap_ip(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	ip_in_post = kprobe_unwind_trap_ip(regs->ip, regs);
}

/* While its post handlers run, the jump is over, and the other probe not hit. */
static void unwind_trap_ip_beside_a_probe(struct kunit *test)
{
	struct kprobe jmp = { .addr = kpu_jmp, .post_handler = note_trap_ip };
	struct kprobe nop = { .addr = kpu_nop };
	unsigned long stack[2] = {};
	struct pt_regs regs;

	KUNIT_ASSERT_EQ(test, register_kprobe(&nop), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&jmp), 0);
	breakpoint(test, &jmp, &regs, stack);
	unregister_kprobe(&jmp);
	unregister_kprobe(&nop);
	KUNIT_EXPECT_EQ(test, regs.ip, (unsigned long)nop.addr + 1);
	KUNIT_EXPECT_EQ(test, ip_in_post, regs.ip);
}

/* What the handlers of a probe see. */
struct traced {
	struct kprobe	kp;
	unsigned long	pre[32], post[32];
	unsigned int	nr_pre, nr_post;
	/* What kprobe_unwind_ip() makes of the address after the breakpoint. */
	unsigned long	ip_pre, ip_post, other_ip;
};

static int trace_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct traced *t = container_of(p, struct traced, kp);

	t->nr_pre = stack_trace_save(t->pre, ARRAY_SIZE(t->pre), 0);
	t->ip_pre = kprobe_unwind_ip((unsigned long)p->addr + INT3_INSN_SIZE);
	t->other_ip = kprobe_unwind_ip((unsigned long)p->addr + 2);
	return 0;
}

static void trace_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	struct traced *t = container_of(p, struct traced, kp);

	t->nr_post = stack_trace_save(t->post, ARRAY_SIZE(t->post), 0);
	t->ip_post = kprobe_unwind_ip((unsigned long)p->addr + INT3_INSN_SIZE);
}

struct handled {
	const char	*name;
	asmlinkage long	(*fn)(long v);
	u8		*addr;		/* NULL: the entry */
	const char	*mode;
};

static const struct handled handled[] = {
	{ "push",	kpu_fn,		NULL,		"emulated" },
	{ "pop",	kpu_fn,		kpu_pop,	"emulated" },
	{ "pushf",	kpu_more,	kpu_pushf,	"emulated" },
	{ "popf",	kpu_more,	kpu_popf,	"emulated" },
	{ "leave",	kpu_more,	kpu_leave,	"stepped" },
};
KUNIT_ARRAY_PARAM_DESC(handled, handled, name);

static noinline __nocfi long call_handled(const struct handled *h)
{
	asmlinkage long (*volatile fn)(long v) = h->fn;

	return fn(5) + 1;
}

/* The probed function is followed by its caller. */
static void expect_caller(struct kunit *test, const unsigned long *entries, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (entries[i] >= (unsigned long)kpu_fn && entries[i] < (unsigned long)kpu_end)
			break;
	}
	KUNIT_ASSERT_LT(test, i + 2, nr);
	KUNIT_EXPECT_TRUE_MSG(test, kp_is_within(entries[i + 1], call_handled), "%pS after %pS",
			      (void *)entries[i + 1], (void *)entries[i]);
}

static void unwind_one_byte_in_handlers(struct kunit *test)
{
	const struct handled *h = test->param_value;
	struct traced *t = kp_zalloc(test, sizeof(*t));

	t->kp.addr = h->addr;
	if (!h->addr)
		t->kp.symbol_name = "kpu_fn";
	t->kp.pre_handler = trace_pre;
	t->kp.post_handler = trace_post;
	KUNIT_ASSERT_EQ(test, register_kprobe(&t->kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(t->kp.addr), h->mode);
	KUNIT_EXPECT_EQ(test, call_handled(h), 8);
	KUNIT_EXPECT_EQ(test, t->ip_pre, (unsigned long)t->kp.addr);
	KUNIT_EXPECT_EQ(test, t->other_ip, (unsigned long)t->kp.addr + 2);
	KUNIT_EXPECT_EQ(test, t->ip_post, (unsigned long)t->kp.addr + INT3_INSN_SIZE);
	unregister_kprobe(&t->kp);

	expect_caller(test, t->pre, t->nr_pre);
	expect_caller(test, t->post, t->nr_post);
}

static struct kunit_case unwind_testcases[] = {
	KUNIT_CASE_PARAM(unwind_one_byte_in_detour, place_gen_params),
#ifdef KPROBE_DETOURS_OF_RETURNS
	KUNIT_CASE(unwind_one_byte_in_completion),
#endif
	KUNIT_CASE_PARAM(unwind_one_byte_at_breakpoint, place_gen_params),
	KUNIT_CASE(unwind_trap_ip),
	KUNIT_CASE(unwind_trap_ip_after_the_hit),
	KUNIT_CASE(unwind_trap_ip_beside_a_probe),
	KUNIT_CASE_PARAM(unwind_one_byte_in_handlers, handled_gen_params),
	KUNIT_CASE(unwind_interrupt_after_one_byte),
	{}
};

KP_SUITE(unwind_testcases, .name = "kprobes_x86_unwind");
