// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handlers that the suites of jump optimization share.
 */

#include "suite.h"

#include "detours.h"

/**
 * kpo_change_ax() - a pre handler that adds 1000 to ax
 * @p: its probe
 * @regs: registers of the hit
 *
 * Context: that of a hit.
 * Return: 0.
 */
int kpo_change_ax(struct kprobe *p, struct pt_regs *regs)
{
	regs->ax += 1000;
	return 0;
}

#ifdef KPROBE_DETOURS_OF_RETURNS
/**
 * kpo_count_return() - return handler of a struct kpo_returns
 * @ri: the instance
 * @regs: registers of the return
 *
 * Context: that of a return.
 * Return: 0.
 */
int kpo_count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kpo_returns *r = container_of(get_kretprobe(ri), struct kpo_returns, rp);

	r->nr++;
	r->value = regs_return_value(regs);
	return 0;
}

/**
 * kpo_follow() - register a kretprobe and let it be optimized
 * @test: the case
 * @r: the kretprobe, which need not be initialized
 * @name: symbol of the function
 *
 * The case ends if it cannot be registered.
 *
 * Context: process context, may sleep.
 */
void kpo_follow(struct kunit *test, struct kpo_returns *r, const char *name)
{
	*r = (struct kpo_returns) {
		.rp = { .kp.symbol_name = name, .handler = kpo_count_return },
	};
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(r->rp.kp.addr));
	KUNIT_EXPECT_TRUE(test, op_at(r->rp.kp.addr)->optinsn.of_return);
}
#endif
