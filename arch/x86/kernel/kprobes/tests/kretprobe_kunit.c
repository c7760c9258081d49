// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the return trampoline of x86.
 */

#include "suite.h"

#include <linux/kprobes-arch.h>

#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/irqflags.h>
#include <asm/processor-flags.h>

#include "helpers.h"

/*
 * kpr_under_ac() calls kpr_followed() with AC=1, as between STAC and CLAC, and
 * returns the flags after the call. AC=0 is the state of the kernel.
 */
asm(".pushsection .text\n"
	KP_TEXT(kpr_followed, ".rept 8\n	nop\n	.endr")
	KP_TEXT(kpr_under_ac, "	pushf\n"
	"	btsl $" __stringify(X86_EFLAGS_AC_BIT) ", (%" R "sp)\n"
	"	popf\n"
	"	call kpr_followed\n"
	"	pushf\n"
	"	mov (%" R "sp), %" R "ax\n"
	"	btrl $" __stringify(X86_EFLAGS_AC_BIT) ", (%" R "sp)\n"
	"	popf")
	".popsection\n");
asmlinkage unsigned long kpr_under_ac(void);
void kpr_followed(void);
STACK_FRAME_NON_STANDARD(kpr_followed);
STACK_FRAME_NON_STANDARD(kpr_under_ac);

struct returns {
	struct kretprobe	rp;
	atomic_t		nr, with_ac, lost_ac;
};

static int look_for_ac(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct returns *r = container_of(get_kretprobe(ri), struct returns, rp);

	atomic_inc(&r->nr);
	if (native_save_fl() & X86_EFLAGS_AC)
		atomic_inc(&r->with_ac);
	if (!(regs->flags & X86_EFLAGS_AC))
		atomic_inc(&r->lost_ac);
	return 0;
}

/* With another instance in flight, or two on the same frame: the slow path. */
static void kretprobe_handler_runs_with_ac_clear(struct kunit *test)
{
	struct returns r[2] = {};
	int i;

	KP_SKIP_IF(test, !boot_cpu_has(X86_FEATURE_SMAP), "needs SMAP");
	KUNIT_ASSERT_NE(test, kpr_under_ac() & X86_EFLAGS_AC, 0);

	for (i = 0; i < ARRAY_SIZE(r); i++) {
		r[i].rp.kp.symbol_name = "kpr_followed";
		r[i].rp.handler = look_for_ac;
		KUNIT_EXPECT_EQ(test, register_kretprobe(&r[i].rp), 0);
		/* From a breakpoint, and from a detour. */
		KUNIT_EXPECT_NE(test, kpr_under_ac() & X86_EFLAGS_AC, 0);
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_NE(test, kpr_under_ac() & X86_EFLAGS_AC, 0);
		KUNIT_EXPECT_EQ(test, native_save_fl() & X86_EFLAGS_AC, 0);
	}

	for (i = 0; i < ARRAY_SIZE(r); i++) {
		unregister_kretprobe(&r[i].rp);
		KUNIT_EXPECT_EQ(test, atomic_read(&r[i].nr), i ? 2 : 4);
		KUNIT_EXPECT_EQ(test, atomic_read(&r[i].with_ac), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&r[i].lost_ac), 0);
	}
}

static struct kunit_case kretprobe_testcases[] = {
	KUNIT_CASE(kretprobe_handler_runs_with_ac_clear),
	{}
};

KP_SUITE(kretprobe_testcases, .name = "kprobes_x86_kretprobe");
