// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes around the checks of indirect calls. The trap of a failed check decodes the code
 * before it, and some checks jump into the middle of an instruction in order to trap.
 */

#include "suite.h"

#include <linux/cfi.h>

#include "../common.h"
#include "helpers.h"

/* Distances of the instructions that load and add the type from the trap of kCFI. */
#define LOAD_TO_TRAP	12
#define ADD_TO_TRAP	6
/* What precedes a function, at most. */
#define PREAMBLE	16
/* One in so many of the checks is tested. */
#define STRIDE		20

extern s32 __start___kcfi_traps[], __stop___kcfi_traps[];

static noinline __noclone notrace int kpx_indirect(int (*fn)(int v), int v)
{
	return fn(v) + 1;
}

static noinline __noclone notrace int kpx_right(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v * 2;
}

/* Not of the type that kpx_indirect() calls. */
static noinline __noclone notrace long kpx_wrong(long v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v * 3;
}

static int call_right(void)
{
	int (*fn)(int v) = kpx_right;

	OPTIMIZER_HIDE_VAR(fn);
	return kpx_indirect(fn, 5);
}

static int call_wrong(void)
{
	void *fn = kpx_wrong;

	OPTIMIZER_HIDE_VAR(fn);
	return kpx_indirect(fn, 5);
}

#define RIGHT_RETURNS	11
#define WRONG_RETURNS	16

/* Where the text of a function begins, with what precedes it, and where it ends. */
struct extent {
	unsigned long	start, end;
};

static struct extent extent_of(struct kunit *test, void *fn, unsigned int before)
{
	unsigned long size, into, start = (unsigned long)fn;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &into));
	return (struct extent){ start - before, start + size };
}

static unsigned long find_trap(const struct extent *e)
{
	unsigned long at;

	for (at = e->start + LOAD_TO_TRAP; at < e->end; at++) {
		if (is_cfi_trap(at))
			return at;
	}
	return 0;
}

/* In a paranoid check, a branch goes to the LOCK prefix that is the last byte of another insn. */
static bool is_paranoid(unsigned long trap)
{
	static const u8 lock_jne[] = { 0xf0, 0x75, 0xfd };

	return !memcmp((void *)trap + 1, lock_jne, sizeof(lock_jne));
}

/* Does the branch of the check go to the second byte of the trap? */
static bool is_entered_inside(unsigned long trap)
{
	static const u8 jne_over_test[] = { 0x75, 0x01, 0xa8, 0xd6 };

	return is_paranoid(trap) ||
	       !memcmp((void *)trap - 2, jne_over_test, sizeof(jne_over_test));
}

/* QEMU may execute it like a jump without the prefix, and a paranoid check then never ends. */
static bool lock_jcc_traps(void)
{
	unsigned int traps = 1;

	asm volatile("1:	.byte 0xf0, 0x75, 0x00\n"
		     "	movl $0, %0\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : "+r" (traps));
	return traps;
}

static void cfi_check_is_left_alone(struct kunit *test)
{
	struct extent e = extent_of(test, kpx_indirect, 0);
	unsigned long trap = find_trap(&e), at;
	unsigned int hits = 0;
	struct kp_watch w;
	bool kcfi, paranoid;
	int ret;

	KUNIT_ASSERT_NE(test, trap, 0);
	kcfi = cfi_mode == CFI_KCFI;
	/* As long as no breakpoint is there. */
	paranoid = is_paranoid(trap);
	for (at = e.start; at < e.end; at++) {
		w = (struct kp_watch)KP_WATCH(at);
		ret = register_kprobe(&w.kp);
		KUNIT_EXPECT_EQ(test, call_right(), RIGHT_RETURNS);
		if (kcfi && (at == trap - LOAD_TO_TRAP || at == trap - ADD_TO_TRAP))
			KUNIT_EXPECT_EQ(test, ret, -EINVAL);
		/* The trap of this one decodes the jump that follows the prefix. */
		if (paranoid && at == trap + 2)
			KUNIT_EXPECT_EQ(test, ret, -EINVAL);
		if (ret)
			continue;
		/* Padding after the return may be probed, too. */
		KUNIT_EXPECT_LE_MSG(test, atomic_read(&w.pre), 1, "at +%lu", at - e.start);
		hits += atomic_read(&w.pre);
		unregister_kprobe(&w.kp);
	}
	/* The branch over the trap, the call, and the use of its result. */
	KUNIT_EXPECT_GE(test, hits, 4);
}

/* What the trap reports, which goes no further. */
static atomic_t failures;
static unsigned long reported;

/* Instead of the report: as if it had been printed, and execution were to continue. */
static noinline notrace enum bug_trap_type no_report(void)
{
	return BUG_TRAP_TYPE_WARN;
}

/* (struct pt_regs *regs, unsigned long addr, unsigned long *target, u32 type) */
static int on_failure(struct kprobe *p, struct pt_regs *regs)
{
	const unsigned long *target = (void *)regs->dx;

	atomic_inc(&failures);
	reported = target ? *target : 0;
	regs->ip = (unsigned long)no_report;
	return 1;
}

/* A wrong call is reported so many times, and a right one is not. */
static void expect_reported(struct kunit *test, const void *at, int want)
{
	atomic_set(&failures, 0);
	KUNIT_EXPECT_EQ_MSG(test, call_right(), RIGHT_RETURNS, "%pS", at);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&failures), 0, "%pS", at);
	reported = 0;
	KUNIT_EXPECT_EQ_MSG(test, call_wrong(), WRONG_RETURNS, "%pS", at);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&failures), want, "%pS", at);
	KUNIT_EXPECT_EQ_MSG(test, reported, (unsigned long)kpx_wrong, "%pS", at);
}

/* With a probe on each instruction that takes one, also after that has become a jump. */
static void cfi_failure_is_still_found(struct kunit *test)
{
	struct kprobe report = { .symbol_name = "report_cfi_failure", .pre_handler = on_failure };
	const struct extent parts[] = {
		extent_of(test, kpx_indirect, 0),
		extent_of(test, kpx_wrong, PREAMBLE),
		extent_of(test, kpx_right, PREAMBLE),
	};
	unsigned int i, probes = 0;
	struct kp_watch w;
	unsigned long at;
	int want;

	if (is_paranoid(find_trap(&parts[0])) && !lock_jcc_traps())
		kunit_skip(test, "this CPU has no trap for LOCK before a jump");
	KUNIT_ASSERT_EQ(test, register_kprobe(&report), 0);
	atomic_set(&failures, 0);
	KUNIT_EXPECT_EQ(test, call_wrong(), WRONG_RETURNS);
	want = atomic_read(&failures);
	if (!want) {
		unregister_kprobe(&report);
		kunit_skip(test, "checks are off");
	}

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		for (at = parts[i].start; at < parts[i].end; at++) {
			w = (struct kp_watch)KP_WATCH(at);
			if (register_kprobe(&w.kp))
				continue;
			expect_reported(test, w.kp.addr, want);
			wait_for_kprobe_optimizer();
			expect_reported(test, w.kp.addr, want);
			unregister_kprobe(&w.kp);
			probes++;
		}
	}
	unregister_kprobe(&report);
	KUNIT_EXPECT_GT(test, probes, 5);
}

#ifdef CONFIG_OPTPROBES
/* No instruction begins there, and neither a long nor a short jump may be written over it. */
static void cfi_target_is_in_no_jump(struct kunit *test)
{
	unsigned int sites = 0, tried = 0, targets = 0;
	u8 jump, why, why_at;
	unsigned long trap, at;
	s32 *s;

	for (s = __start___kcfi_traps; s < __stop___kcfi_traps; s += STRIDE) {
		trap = (unsigned long)s + *s;
		if (!is_entered_inside(trap))
			continue;
		sites++;
		for (at = trap - JMP32_INSN_SIZE + 2; at <= trap; at++) {
			if (kprobe_test_forecast((void *)at, &jump, &why, &why_at))
				continue;
			tried++;
			targets += why == KPROBE_NOOPT_TARGET && at + why_at == trap + 1;
			if (why == KPROBE_NOOPT_NONE && jump == KPROBE_JUMP_SHORT)
				KUNIT_EXPECT_LE_MSG(test, at + JMP8_INSN_SIZE, trap + 1, "%pS",
						    (void *)at);
			else
				KUNIT_EXPECT_NE_MSG(test, why, KPROBE_NOOPT_NONE, "%pS",
						    (void *)at);
		}
	}
	kunit_info(test, "%u sites, %u instructions before the target, %u refused for it\n",
		   sites, tried, targets);
	KP_SKIP_IF(test, !sites, "checks have no such target here");
	KUNIT_EXPECT_GE(test, tried, sites);
	KUNIT_EXPECT_GT(test, targets, 0);
}
#endif

/* With cfi=off, a jump skips the check, and pieces of the check remain after the jump. */
static void cfi_disabled_check_is_stepped_over(struct kunit *test)
{
	unsigned int sites = 0, calls = 0, inside = 0;
	unsigned long trap;
	s32 *s;

	for (s = __start___kcfi_traps; s < __stop___kcfi_traps; s += STRIDE) {
		struct kprobe p = {};

		trap = (unsigned long)s + *s;
		if (*(u8 *)(trap - LOAD_TO_TRAP) != JMP8_INSN_OPCODE ||
		    within_kprobe_blacklist(trap))
			continue;
		sites++;
		/* The call is an instruction; the second half of the check is none. */
		p.addr = (void *)trap + 2;
		calls += kprobe_check(&p) == -EILSEQ;
		p.addr = (void *)trap - ADD_TO_TRAP;
		inside += kprobe_check(&p) != -EILSEQ;
	}
	KP_SKIP_IF(test, !sites, "checks are in use");
	KUNIT_EXPECT_GT(test, sites, 100);
	KUNIT_EXPECT_EQ(test, calls, 0);
	KUNIT_EXPECT_EQ(test, inside, 0);
}

static struct kunit_case cfi_cases[] = {
	KUNIT_CASE(cfi_check_is_left_alone),
	KUNIT_CASE(cfi_failure_is_still_found),
	KUNIT_CASE_SLOW(cfi_disabled_check_is_stepped_over),
#ifdef CONFIG_OPTPROBES
	KUNIT_CASE_SLOW(cfi_target_is_in_no_jump),
#endif
	{}
};

KP_SUITE(cfi_cases, .name = "kprobes_x86_cfi");
