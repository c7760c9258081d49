// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes on landing pads, with IBT and FRED: the exception of a breakpoint that an
 * indirect branch has reached saves that the CPU waits for a landing pad. QEMU has no
 * such CPU. So the cases make the frames of these exceptions themselves, and check
 * where they would return to and what the CPU would then wait for.
 */

#include "suite.h"

#include <asm/ibt.h>
#include <asm/ptrace.h>
#include <asm/segment.h>

#include "breakpoints.h"

struct branch_hit {
	struct kp_watch	w;
	struct pt_regs	regs;
};

/* Without a relocation, which objtool takes for the target of an indirect branch. */
static unsigned long redirection_target(void)
{
	unsigned long ip = (unsigned long)kpx_callee;

	OPTIMIZER_HIDE_VAR(ip);
	return ip + ENDBR_INSN_SIZE;
}

static int redirect_pre(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&container_of(p, struct kp_watch, kp)->pre);
	regs->ip = redirection_target();
	return 1;
}

/* As if the CPU had reached a breakpoint, waiting for a landing pad or not. */
static int hit_by_branch(struct branch_hit *h, unsigned long addr, bool waits)
{
	int ret;

	h->regs.cs = __KERNEL_CS;
	h->regs.fred_cs.wfe = waits;
	h->regs.ip = addr + INT3_INSN_SIZE;
	h->regs.sp = (unsigned long)&h->regs;
	h->regs.flags = X86_EFLAGS_FIXED;

	scoped_guard(irqsave)
		ret = kprobe_int3_handler(&h->regs);
	return ret;
}

/* Execution continues with a copy of the landing pad, which the CPU then finds. */
static void branch_resumes_at_landing_pad(struct kunit *test)
{
	struct branch_hit h = { .w.kp = { .addr = AT(endbr), .pre_handler = kp_watch_pre } };
	struct kp_watch late = KP_WATCH_POST(AT(endbr));
	const u8 endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct pt_regs at_copy;
	int round, first, second;
	bool stepped;

	/* With a pre handler only, and with a post handler as well. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&h.w.kp), 0);
	for (round = 0; round < 2; round++) {
		if (round)
			KUNIT_ASSERT_EQ(test, register_kprobe(&late.kp), 0);

		/*
		 * A step ends at its second breakpoint; the CPU does not wait for a
		 * landing pad there.
		 */
		scoped_guard(irqsave) {
			first = hit_by_branch(&h, (unsigned long)AT(endbr), true);
			at_copy = h.regs;
			stepped = kprobe_running();
			second = stepped ?
				hit_by_branch(&h, h.regs.ip + sizeof(endbr), false) : 1;
		}
		KUNIT_EXPECT_EQ(test, first, 1);
		KUNIT_EXPECT_TRUE(test, at_copy.fred_cs.wfe);
		KUNIT_EXPECT_NE(test, at_copy.ip, (unsigned long)AT(endbr) + sizeof(endbr));
		KUNIT_EXPECT_EQ(test, memcmp((void *)at_copy.ip, endbr, sizeof(endbr)), 0);
		KUNIT_EXPECT_EQ(test, second, 1);
	}
	KUNIT_EXPECT_TRUE(test, stepped);
	KUNIT_EXPECT_EQ(test, h.regs.ip, (unsigned long)AT(endbr) + sizeof(endbr));
	KUNIT_EXPECT_EQ(test, atomic_read(&h.w.pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&late.post), 1);
	unregister_kprobe(&late.kp);
	unregister_kprobe(&h.w.kp);
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
}

/* No branch reaches the target of a redirection. */
static void redirection_waits_for_no_landing_pad(struct kunit *test)
{
	struct branch_hit h = { .w.kp = { .addr = AT(endbr), .pre_handler = redirect_pre } };

	KUNIT_ASSERT_EQ(test, register_kprobe(&h.w.kp), 0);
	KUNIT_EXPECT_EQ(test, hit_by_branch(&h, (unsigned long)AT(endbr), true), 1);
	KUNIT_EXPECT_EQ(test, h.regs.ip, redirection_target());
	KUNIT_EXPECT_FALSE(test, h.regs.fred_cs.wfe);
	KUNIT_EXPECT_EQ(test, h.regs.cs, __KERNEL_CS);
	KP_UNWATCH(test, h.w, 1);
}

/* A probe does not turn anything else into a landing pad: IBT has to refuse it. */
static void branch_elsewhere_still_waits(struct kunit *test)
{
	struct branch_hit h = {
		.w.kp = {
			.addr		= AT(nop),
			.pre_handler	= kp_watch_pre,
			.post_handler	= kp_watch_post,
		},
	};

	KUNIT_ASSERT_EQ(test, register_kprobe(&h.w.kp), 0);
	KUNIT_EXPECT_EQ(test, hit_by_branch(&h, (unsigned long)AT(nop), true), 1);
	KUNIT_EXPECT_EQ(test, h.regs.ip, (unsigned long)AT(nop) + 1);
	KUNIT_EXPECT_TRUE(test, h.regs.fred_cs.wfe);
	unregister_kprobe(&h.w.kp);
}

static struct kunit_case landing_cases[] = {
	KUNIT_CASE(branch_resumes_at_landing_pad),
	KUNIT_CASE(redirection_waits_for_no_landing_pad),
	KUNIT_CASE(branch_elsewhere_still_waits),
	{}
};

KP_SUITE(landing_cases, .name = "kprobes_x86_landing",
	 .suite_init = kp_without_jumps, .suite_exit = kp_with_jumps);
