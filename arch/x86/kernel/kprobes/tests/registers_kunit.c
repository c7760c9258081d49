// SPDX-License-Identifier: GPL-2.0-only
/*
 * All registers, from the call of a function to its return: through a detour that
 * saves all of them and shows them to handlers, and through detours of return probes,
 * which save few.
 */

#include "suite.h"

#include <linux/stacktrace.h>

#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/segment.h>

#include "detours.h"

/* What the function is called with, what it sees, and what its caller gets back. */
extern struct pt_regs kpo_given, kpo_found, kpo_got;
struct pt_regs kpo_given, kpo_found, kpo_got;

/* In the order of struct pt_regs. */
#ifdef CONFIG_X86_64
#define REGS	"r15,r14,r13,r12,rbp,rbx,r11,r10,r9,r8,rax,rcx,rdx,rsi,rdi"
#define LAST_REG	di
#define OFFSET_FLAGS	144
#else
#define REGS	"ebx,ecx,edx,esi,edi,ebp,eax"
#define LAST_REG	ax
#define OFFSET_FLAGS	56
#endif

#define FLAGS_OF(what)		#what " + " __stringify(OFFSET_FLAGS) RIP
#define STORE_FLAGS(what)	"	pushf" Q "; pop" Q " " FLAGS_OF(what) "\n"

static_assert(offsetof(struct pt_regs, flags) == OFFSET_FLAGS);
static_assert(offsetof(struct pt_regs, sp) == OFFSET_FLAGS + sizeof(long));

asm(".pushsection .text\n"
	KP_TEXT(kpo_entered, STORE_FLAGS(kpo_found)
	KP_STORE_REGS(REGS, kpo_found)
	"	mov %" R "sp, kpo_found + " __stringify(OFFSET_FLAGS) " + " WORD RIP "\n"
	"	add $1, %" R "ax")
	KP_TEXT(kpo_enter, KP_PUSH_SAVED
	KP_LOAD_REGS(REGS, kpo_given)
	"	push" Q " " FLAGS_OF(kpo_given) "; popf" Q "\n"
	"	call kpo_entered\n"
	STORE_FLAGS(kpo_got)
	KP_STORE_REGS(REGS, kpo_got)
	KP_POP_SAVED)
	".popsection\n");
void kpo_entered(void);
void kpo_enter(void);
STACK_FRAME_NON_STANDARD(kpo_entered);
STACK_FRAME_NON_STANDARD(kpo_enter);

#define ARITHMETIC	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |	\
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)

/* General registers come first. */
#define NR_REGS		(offsetofend(struct pt_regs, LAST_REG) / sizeof(long))

/* All different, and all arithmetic flags set. */
static void enter(void)
{
	unsigned long *reg = (unsigned long *)&kpo_given;
	int i;

	for (i = 0; i < NR_REGS; i++)
		reg[i] = 0x1111222233334444ULL * (i + 1);
	kpo_given.flags = X86_EFLAGS_FIXED | X86_EFLAGS_IF | ARITHMETIC;
	memset(&kpo_found, 0, sizeof(kpo_found));
	memset(&kpo_got, 0, sizeof(kpo_got));
	kpo_enter();
}

static bool same_registers(const struct pt_regs *a, const struct pt_regs *b)
{
	/*
	 * Return thunks that count the call depth change the flags, also on return
	 * from a detour.
	 */
	unsigned long flags = cpu_feature_enabled(X86_FEATURE_CALL_DEPTH) ? 0 : ARITHMETIC;

	return !memcmp(a, b, NR_REGS * sizeof(long)) &&
	       !((a->flags ^ b->flags) & flags);
}

/* A probe that records all registers. */
struct seer {
	struct kprobe	kp;
	struct pt_regs	regs;
	int		(*then)(struct kprobe *p, struct pt_regs *regs);
};

static int seer_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct seer *s = container_of(p, struct seer, kp);

	s->regs = *regs;
	return s->then ? s->then(p, regs) : 0;
}

#ifdef CONFIG_X86_32
static void expect_segments(struct kunit *test, const struct pt_regs *regs)
{
	KUNIT_EXPECT_EQ(test, regs->ds, __USER_DS);
	KUNIT_EXPECT_EQ(test, regs->es, __USER_DS);
	KUNIT_EXPECT_EQ(test, regs->fs, __KERNEL_PERCPU);
}
#else
static void expect_segments(struct kunit *test, const struct pt_regs *regs)
{
}
#endif

/* What a breakpoint would show. */
static void expect_shown(struct kunit *test, const struct seer *s)
{
	KUNIT_EXPECT_TRUE(test, same_registers(&s->regs, &kpo_given));
	KUNIT_EXPECT_EQ(test, s->regs.flags, kpo_given.flags);
	KUNIT_EXPECT_EQ(test, s->regs.ip, (unsigned long)s->kp.addr + INT3_INSN_SIZE);
	KUNIT_EXPECT_EQ(test, s->regs.sp, kpo_found.sp);
	KUNIT_EXPECT_EQ(test, s->regs.cs, __KERNEL_CS);
	KUNIT_EXPECT_EQ(test, s->regs.ss, __KERNEL_DS);
	KUNIT_EXPECT_EQ(test, s->regs.orig_ax, -1);
	expect_segments(test, &s->regs);
}

static void change(struct pt_regs *regs)
{
	unsigned long *reg = (unsigned long *)regs;
	int i;

	for (i = 0; i < NR_REGS; i++)
		reg[i] ^= 0x0123456789abcdefULL;
	regs->flags ^= ARITHMETIC;
}

static int change_all(struct kprobe *p, struct pt_regs *regs)
{
	change(regs);
	return 0;
}

static void enter_seen(struct kunit *test, struct seer *s,
		       int (*then)(struct kprobe *p, struct pt_regs *regs))
{
	*s = (struct seer) {
		.kp = { .symbol_name = "kpo_entered", .pre_handler = seer_pre },
		.then = then,
	};
	KP_REGISTER_AND_WAIT(test, &s->kp);
	KUNIT_EXPECT_TRUE(test, is_live(s->kp.addr));
	KUNIT_EXPECT_FALSE(test, op_at(s->kp.addr)->optinsn.of_return);
	enter();
	unregister_kprobe(&s->kp);
}

static void handlers_see_and_change_all_registers(struct kunit *test)
{
	struct pt_regs want;
	struct seer s;

	enter();
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_found, &kpo_given));
	want = kpo_got;

	enter_seen(test, &s, NULL);
	expect_shown(test, &s);
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_found, &kpo_given));
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_got, &want));

	enter_seen(test, &s, change_all);
	expect_shown(test, &s);
	want = kpo_given;
	change(&want);
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_found, &want));
}

/*
 * Detours of return probes
 */

#ifdef KPROBE_DETOURS_OF_RETURNS

static void return_detour_keeps_registers(struct kunit *test)
{
	struct pt_regs want;
	struct kpo_returns r;

	enter();
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_found, &kpo_given));
	want = kpo_got;
	KUNIT_EXPECT_EQ(test, want.ax, kpo_given.ax + 1);

	kpo_follow(test, &r, "kpo_entered");
	enter();
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	KUNIT_EXPECT_EQ(test, r.value, want.ax);
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_found, &kpo_given));
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_got, &want));
	unregister_kretprobe(&r.rp);
}

/* Add a probe that needs registers which have not been saved so far. */
static void join(struct kunit *test, const struct kpo_returns *r, struct seer *s,
		 int (*then)(struct kprobe *p, struct pt_regs *regs))
{
	*s = (struct seer) {
		.kp = { .addr = r->rp.kp.addr, .pre_handler = seer_pre },
		.then = then,
	};
	KP_REGISTER_AND_WAIT(test, &s->kp);
	KUNIT_EXPECT_TRUE(test, is_live(s->kp.addr));
	KUNIT_EXPECT_TRUE(test, op_at(s->kp.addr)->optinsn.of_return);
}

/* The instruction pointer does not count. */
static int change_all_and_ip(struct kprobe *p, struct pt_regs *regs)
{
	change(regs);
	regs->ip = (unsigned long)kpo_callee;
	return 0;
}

static void return_detour_shared_with_kprobes(struct kunit *test)
{
	struct pt_regs want;
	struct kpo_returns r;
	struct seer s;

	enter();
	want = kpo_got;

	kpo_follow(test, &r, "kpo_entered");
	join(test, &r, &s, NULL);
	enter();
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_found, &kpo_given));
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_got, &want));
	expect_shown(test, &s);
	unregister_kprobe(&s.kp);

	join(test, &r, &s, change_all_and_ip);
	enter();
	KUNIT_EXPECT_EQ(test, r.nr, 2);
	want = kpo_given;
	change(&want);
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_found, &want));
	unregister_kprobe(&s.kp);
	unregister_kretprobe(&r.rp);
}

/*
 * A handler that needs all registers is called from code that is neither a detour nor the
 * function.
 */
static int completion_is_reliable;

static int walk_reliably(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long entries[16];

	completion_is_reliable = stack_trace_save_tsk_reliable(current, entries,
							       ARRAY_SIZE(entries));
	return 0;
}

static void trace_of_completion_is_not_reliable(struct kunit *test)
{
	unsigned long start = (unsigned long)kretprobe_detour_complete;
	struct kpo_returns r;
	struct seer s;

	kpo_follow(test, &r, "kpo_entered");
	join(test, &r, &s, walk_reliably);
	/* objtool must not see a reference to what follows it. */
	OPTIMIZER_HIDE_VAR(start);
	completion_is_reliable = 0;
	enter();
	KUNIT_EXPECT_LT(test, completion_is_reliable, 0);
	unregister_kprobe(&s.kp);
	unregister_kretprobe(&r.rp);

	KUNIT_EXPECT_TRUE(test, kprobe_is_detour_text(start));
	KUNIT_EXPECT_FALSE(test, kprobe_is_detour_text(start - 1));
	KUNIT_EXPECT_FALSE(test, kprobe_is_detour_text(start + kretprobe_detour_complete_size));
}
#endif /* KPROBE_DETOURS_OF_RETURNS */

static struct kunit_case registers_cases[] = {
	KUNIT_CASE(handlers_see_and_change_all_registers),
#ifdef KPROBE_DETOURS_OF_RETURNS
	KUNIT_CASE(return_detour_keeps_registers),
	KUNIT_CASE(return_detour_shared_with_kprobes),
	KUNIT_CASE(trace_of_completion_is_not_reliable),
#endif
	{}
};

KP_SUITE(registers_cases, .name = "kprobes_x86_registers");
