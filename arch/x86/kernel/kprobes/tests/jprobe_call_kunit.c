// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the call of a jprobe's handler on x86: registers and stack that the handler
 * finds, those that are restored, what an NMI sees at each instruction, and the code that
 * protects from speculation.
 */

#include "suite.h"

#include <linux/gfp.h>
#include <linux/kdebug.h>
#include <linux/notifier.h>
#include <linux/stacktrace.h>

#include <asm/alternative.h>
#include <asm/cpufeature.h>
#include <asm/debugreg.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/nospec-branch.h>

#include "../jprobe.h"
#include "helpers.h"

#define NR_COPIED	(JPROBE_STACK_BYTES / sizeof(long))
#define COPIED		kpj_found.stack
/* Behind the return address. */
#define COPIED_FROM	sizeof(long)

/* What kpj_handler() finds. */
struct found {
	unsigned long	reg[7];
	unsigned long	entry;
	unsigned long	stack[NR_COPIED];
};

extern struct found kpj_found;
extern unsigned long kpj_saved[6];
extern void *kpj_leave;
struct found kpj_found;
unsigned long kpj_saved[6];
void *kpj_leave;

#ifdef CONFIG_X86_64
#define ARGUMENTS	"rdi,rsi,rdx,rcx,r8,r9,rax"
#define LEAVE		"	mov kpj_leave(%rip), %rdi\n"
#define NR_REGS		7
#define NR_SAVED	6
#else
#define ARGUMENTS	"eax,edx,ecx"
#define LEAVE		"	mov kpj_leave, %eax\n"
#define NR_REGS		3
#define NR_SAVED	4
#endif

/*
 * kpj_handler() stores what it finds. The word below its return address is where RET has
 * taken its own address from. It leaves with all registers cleared if kpj_leave is set.
 * kpj_poisoned() is the same, with a landing pad that has been made a NOP.
 */
#define HANDLER(name, landing_pad)					\
	".globl " #name "\n"						\
	".type " #name ", @function\n"					\
	#name ":\n"							\
	landing_pad							\
	KP_STORE_REGS(ARGUMENTS, kpj_found)				\
	".set i, 0\n"							\
	".rept " __stringify(JPROBE_STACK_BYTES / __SIZEOF_LONG__) "\n"	\
	"	mov (i + 1) * " WORD "(%" R "sp), %" R "ax\n"		\
	"	mov %" R "ax, kpj_found + (i + 8) * " WORD RIP "\n"	\
	".set i, i + 1\n"						\
	".endr\n"							\
	"	cmp" Q " $0, kpj_leave" RIP "\n"			\
	"	jne 1f\n"						\
	ASM_RET								\
	"1:\n"								\
	KP_EACH_REG(KP_SAVED, "mov $0, %\\reg")			\
	LEAVE								\
	"	jmp arch_jprobe_unwind\n"				\
	".size " #name ", . - " #name "\n"

/* Stores where it was entered before anything else is on the stack. */
#define WHERE(name, landing_pad)					\
	".globl " #name "\n"						\
	".type " #name ", @function\n"					\
	#name ":\n"							\
	landing_pad							\
	"	mov -" WORD "(%" R "sp), %" R "ax\n"			\
	"	mov %" R "ax, kpj_found + 7 * " WORD RIP "\n"		\
	ASM_RET								\
	".size " #name ", . - " #name "\n"

asm(".pushsection .text\n"
	HANDLER(kpj_handler, ASM_ENDBR)
	HANDLER(kpj_poisoned, ANNOTATE_NOENDBR "\n" KP_SEALED_PAD)
	WHERE(kpj_where, ASM_ENDBR IBT_NOSEAL("kpj_where"))
	WHERE(kpj_where_poisoned, ANNOTATE_NOENDBR "\n" KP_SEALED_PAD)
	/* Calls kprobe_jprobe_call() and stores the registers that it preserves. */
	KP_TEXT(kpj_call, KP_PUSH_SAVED
	KP_EACH_REG(KP_SAVED, "mov $0x100 + .Lkp_at, %\\reg")
	"	call kprobe_jprobe_call\n"
	KP_STORE_REGS(KP_SAVED, kpj_saved)
	KP_POP_SAVED)
	".popsection\n");
void kpj_handler(void);
void kpj_poisoned(void);
void kpj_where(void);
void kpj_where_poisoned(void);
void kpj_call(unsigned long *stack, unsigned long entry, const struct pt_regs *regs);
STACK_FRAME_NON_STANDARD(kpj_handler);
STACK_FRAME_NON_STANDARD(kpj_poisoned);
STACK_FRAME_NON_STANDARD(kpj_where);
STACK_FRAME_NON_STANDARD(kpj_where_poisoned);
STACK_FRAME_NON_STANDARD(kpj_call);

/* Arguments of a call, in the order of kpj_found.reg. */
static void set_regs(struct pt_regs *regs)
{
	*regs = (struct pt_regs) {
#ifdef CONFIG_X86_64
		.di = 0x11, .si = 0x12, .dx = 0x13, .cx = 0x14, .r8 = 0x15, .r9 = 0x16,
		.ax = 0x17,
#else
		.ax = 0x11, .dx = 0x12, .cx = 0x13,
#endif
	};
}

/* Where kprobe_jprobe_enter() enters a function. Hidden from objtool, as is kp_at(). */
static unsigned long entry_of(void (*fn)(void))
{
	unsigned long start = (unsigned long)fn;

	OPTIMIZER_HIDE_VAR(start);
	return start + (HAS_KERNEL_IBT ? ENDBR_INSN_SIZE : 0);
}

static void call_jprobe(void (*entry)(void), struct pt_regs *regs)
{
	unsigned long flags;
	void *frame;

	memset(&kpj_found, 0xff, sizeof(kpj_found));
	/* Interrupts use the stack that has been left. */
	local_irq_save(flags);
	arch_jprobe_call(entry, regs, &frame);
	local_irq_restore(flags);
}

static void jprobe_call_passes_arguments(struct kunit *test)
{
	void (*const handlers[])(void) = { kpj_handler, kpj_poisoned };
	unsigned long words[1 + NR_COPIED];
	struct pt_regs regs;
	int i, h;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = 0x100 + i;
	set_regs(&regs);
	regs.sp = (unsigned long)words;

	kpj_leave = NULL;
	for (h = 0; h < ARRAY_SIZE(handlers); h++) {
		call_jprobe(handlers[h], &regs);
		for (i = 0; i < NR_REGS; i++)
			KUNIT_EXPECT_EQ_MSG(test, kpj_found.reg[i], 0x11 + i, "register %d", i);
		for (i = 0; i < NR_COPIED; i++)
			KUNIT_EXPECT_EQ_MSG(test, kpj_found.stack[i], 0x101 + i, "word %d", i);
	}
}

static void jprobe_call_restores_registers(struct kunit *test)
{
	unsigned long stack[NR_COPIED];
	struct pt_regs regs;
	int i, leave;

	set_regs(&regs);
	for (leave = 0; leave < 2; leave++) {
		memset(kpj_saved, 0, sizeof(kpj_saved));
		memset(stack, 0, sizeof(stack));
		kpj_leave = leave ? stack : NULL;
		kpj_call(stack, entry_of(kpj_handler), &regs);
		for (i = 0; i < NR_SAVED; i++)
			KUNIT_EXPECT_EQ_MSG(test, kpj_saved[i], 0x100 + i * sizeof(long),
					    "register %d", i);
	}
}

static void call_with_stack(const void *sp)
{
	struct pt_regs regs;

	set_regs(&regs);
	regs.sp = (unsigned long)sp;
	kpj_leave = NULL;
	call_jprobe(kpj_handler, &regs);
}

#include "jprobe_stack.h"

/* The landing pad is skipped whether it is one or not any more. */
static void jprobe_call_skips_landing_pad(struct kunit *test)
{
	unsigned long words[1 + NR_COPIED] = {};
	struct pt_regs regs = { .sp = (unsigned long)words };

	call_jprobe(kpj_where, &regs);
	KUNIT_EXPECT_EQ(test, kpj_found.entry, entry_of(kpj_where));
	call_jprobe(kpj_where_poisoned, &regs);
	KUNIT_EXPECT_EQ(test, kpj_found.entry, entry_of(kpj_where_poisoned));
}

/* Nothing here can be executed where it would matter, so look at the code. */
static void jprobe_enters_by_return(struct kunit *test)
{
	u8 *at = (u8 *)kprobe_jprobe_enter;
	struct insn insn;

	KUNIT_ASSERT_GE(test, insn_decode_kernel(&insn, at), 0);
	KUNIT_EXPECT_EQ(test, insn.opcode.bytes[0], 0xff);
	KUNIT_EXPECT_EQ(test, X86_MODRM_REG(insn.modrm.bytes[0]), 6);
	at += insn.length;

	/* Some processors need it in one half of a cache line only. */
	if (cpu_wants_rethunk_at(at)) {
		KUNIT_EXPECT_EQ(test, *at, JMP32_INSN_OPCODE);
		KUNIT_EXPECT_PTR_EQ(test, (void *)at + JMP32_INSN_SIZE + *(s32 *)(at + 1),
				    (void *)x86_return_thunk);
	} else {
		KUNIT_EXPECT_EQ(test, *at, RET_INSN_OPCODE);
	}
}

#ifdef CONFIG_MITIGATION_CALL_DEPTH_TRACKING
static void jprobe_resets_call_depth(struct kunit *test)
{
	static const u8 bts[] = { 0x48, 0x0f, 0xba, 0xe8, 0x3f };
	u8 *at = (u8 *)arch_jprobe_unwind;
	bool found = false;
	int i;

	for (i = 0; i < 32; i++)
		found |= !memcmp(at + i, bts, sizeof(bts));
	KUNIT_EXPECT_EQ(test, found, boot_cpu_has(X86_FEATURE_CALL_DEPTH));
}
#endif

#ifdef CONFIG_X86_32
struct big {
	long	v[4];
};

/* It pops the pointer to the structure, which the copy of the stack has. */
asmlinkage struct big kpj_returns_structure(long a);
asmlinkage noinline struct big kpj_returns_structure(long a)
{
	return (struct big) { { a, a + 1, a + 2, a + 3 } };
}

static void jprobe_handler_returns_structure(struct kunit *test)
{
	unsigned long words[1 + NR_COPIED] = {}, before, after;
	struct pt_regs regs = { .sp = (unsigned long)words };
	struct big big = {};
	void *frame;

	words[1] = (unsigned long)&big;
	words[2] = 7;
	asm volatile("mov %%esp, %0" : "=r" (before));
	arch_jprobe_call(kpj_returns_structure, &regs, &frame);
	asm volatile("mov %%esp, %0" : "=r" (after));
	KUNIT_EXPECT_EQ(test, before, after);
	KUNIT_EXPECT_EQ(test, READ_ONCE(big.v[0]), 7);
	KUNIT_EXPECT_EQ(test, READ_ONCE(big.v[3]), 10);
}
#endif

/*
 * A trap after each instruction, as an NMI could come there. The stack must be unwound
 * past the call.
 */

static struct {
	bool		on;
	void		*frame;
	int		traps, in_call, in_enter, in_unwind, lost;
	unsigned long	lost_at;
	unsigned long	trace[32];
} step;

static noinline void step_and_unwind(void)
{
	arch_jprobe_unwind(step.frame);
}

static void step_handler(void)
{
	step_and_unwind();
	step.lost += 1000;
}

static noinline void step_through(struct pt_regs *regs)
{
	asm volatile("pushf; or" Q " $" __stringify(X86_EFLAGS_TF) ", (%%" R "sp); popf"
		     ::: "memory", "cc");
	arch_jprobe_call(step_handler, regs, &step.frame);
	asm volatile("pushf; and" Q " $~" __stringify(X86_EFLAGS_TF) ", (%%" R "sp); popf"
		     ::: "memory", "cc");
}

static noinline void step_outer(struct pt_regs *regs)
{
	step_through(regs);
	barrier();
}

/* To its unwind data, a return thunk was called by the handler that it enters. */
static bool is_in_thunk(unsigned long ip)
{
	char name[KSYM_NAME_LEN];

	return !KPROBES_TEST_HAS_LANDING_PADS && !lookup_symbol_name(ip, name) &&
	       (strstr(name, "thunk") || strstr(name, "safe_ret"));
}

static int on_step(struct notifier_block *nb, unsigned long why, void *data)
{
	struct die_args *args = data;
	unsigned int i, n;

	if (why != DIE_DEBUG || !step.on)
		return NOTIFY_DONE;

	step.traps++;
	step.in_call += kp_is_within(args->regs->ip, kprobe_jprobe_call);
	step.in_enter += kp_is_within(args->regs->ip, kprobe_jprobe_enter);
	step.in_unwind += kp_is_within(args->regs->ip, arch_jprobe_unwind);

	n = stack_trace_save_regs(args->regs, step.trace, ARRAY_SIZE(step.trace), 0);
	for (i = 0; i < n && !kp_is_within(step.trace[i], step_outer); i++)
		;
	if (i == n && !is_in_thunk(args->regs->ip)) {
		step.lost++;
		step.lost_at = args->regs->ip;
	}
	return NOTIFY_STOP;
}

static struct notifier_block step_notifier = { .notifier_call = on_step };

static void jprobe_unwinds_at_each_instruction(struct kunit *test)
{
	unsigned long words[1 + NR_COPIED] = {};
	struct pt_regs regs = { .sp = (unsigned long)words };
	unsigned long flags;

	KP_SKIP_IF(test, !KPROBES_TEST_HAS_EXACT_TRACES, "needs exact stack traces");

	memset(&step, 0, sizeof(step));
	KUNIT_ASSERT_EQ(test, register_die_notifier(&step_notifier), 0);
	local_irq_save(flags);
	step.on = true;
	step_outer(&regs);
	step.on = false;
	local_irq_restore(flags);
	unregister_die_notifier(&step_notifier);

	/* Those of kprobe_jprobe_landing() have a symbol of their own. */
	KUNIT_EXPECT_GE(test, step.in_call, 20);
	KUNIT_EXPECT_GE(test, step.in_enter, 2);
	KUNIT_EXPECT_GE(test, step.in_unwind, 3);
	KUNIT_EXPECT_EQ_MSG(test, step.lost, 0, "of %d, the last one at %pS", step.traps,
			    (void *)step.lost_at);
}

static struct kunit_case jprobe_call_cases[] = {
	KUNIT_CASE(jprobe_call_passes_arguments),
	KUNIT_CASE(jprobe_call_restores_registers),
	KUNIT_CASE(jprobe_call_reads_no_further_than_the_page),
	KUNIT_CASE(jprobe_call_reads_no_further_than_the_stack),
	KUNIT_CASE(jprobe_call_reads_all_pages_of_the_stack),
	KUNIT_CASE(jprobe_call_skips_landing_pad),
	KUNIT_CASE(jprobe_enters_by_return),
#ifdef CONFIG_MITIGATION_CALL_DEPTH_TRACKING
	KUNIT_CASE(jprobe_resets_call_depth),
#endif
#ifdef CONFIG_X86_32
	KUNIT_CASE(jprobe_handler_returns_structure),
#endif
	KUNIT_CASE(jprobe_unwinds_at_each_instruction),
	{}
};

KP_SUITE(jprobe_call_cases, .name = "kprobes_x86_jprobe");
