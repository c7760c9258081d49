/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suites of registers of arm64 and powerpc share: probes that record all of them. The
 * suite includes it once it has defined
 *
 *  - struct how: in which ways a function is probed, with its @symbol, the @mode of its probe, NULL
 *    for a jump, and whether it has a @post handler;
 *  - has_own_data(): does a register that is not for handlers to change have its value?
 *  - change_on_return(): change what a return handler may change.
 */
#ifndef _KERNEL_KPROBES_TESTS_REGISTERS_WORDS_H
#define _KERNEL_KPROBES_TESTS_REGISTERS_WORDS_H

/* A probe that records all registers. */
static struct seer {
	struct kprobe		kp;
	const struct how	*how;
	int			(*then)(struct pt_regs *regs);
	struct pt_regs		regs, post;
	unsigned int		hits, posts;
	bool			irqs_off, own_data;
} seer;

static int seer_pre(struct kprobe *p, struct pt_regs *regs)
{
	seer.regs = *regs;
	seer.irqs_off = irqs_disabled();
	seer.own_data &= has_own_data(regs);
	seer.hits++;
	return seer.then ? seer.then(regs) : 0;
}

static void seer_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	seer.post = *regs;
	seer.own_data &= has_own_data(regs);
	seer.posts++;
}

static void look(struct kunit *test, const struct how *how, int (*then)(struct pt_regs *regs))
{
	memset(&seer, 0, sizeof(seer));
	seer.kp.symbol_name = how->symbol;
	seer.kp.pre_handler = seer_pre;
	seer.kp.post_handler = how->post ? seer_post : NULL;
	seer.how = how;
	seer.then = then;
	seer.own_data = true;
	kp_need_mode(test, how->mode);
	kp_register_in_mode(test, &seer.kp, how->mode);
}

static void look_away(void)
{
	unregister_kprobe(&seer.kp);
	kprobe_test_allow_optimization(true);
}

#ifdef CONFIG_KRETPROBES
/* The same for returns. */
static struct returner {
	struct kretprobe	rp;
	struct kp_watch		join;
	struct pt_regs		regs;
	unsigned int		returns;
	bool			changes, own_data;
} returner;

static int note_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	returner.regs = *regs;
	returner.own_data &= has_own_data(regs);
	returner.returns++;
	if (returner.changes)
		change_on_return(regs);
	return 0;
}

/* How the entry is reached, and whether a few registers are enough there. */
static const struct entry {
	const char	*name;
	bool		jump, join;
} entries[] = {
	{ "by breakpoint", false, false },
	{ "by jump", true, false },
	{ "by jump, with a kprobe", true, true },
};
KUNIT_ARRAY_PARAM_DESC(entry, entries, name);

static void follow(struct kunit *test, const struct entry *e, kretprobe_handler_t handler)
{
	KP_SKIP_IF(test, e->jump && !IS_ENABLED(CONFIG_OPTPROBES), "needs OPTPROBES");

	memset(&returner, 0, sizeof(returner));
	returner.rp.kp.symbol_name = "kpb_entered_copy";
	returner.rp.handler = handler;
	returner.rp.maxactive = 1;
	returner.own_data = true;
	kprobe_test_allow_optimization(e->jump);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&returner.rp), 0);
	if (e->join) {
		returner.join = (struct kp_watch)KP_WATCH(returner.rp.kp.addr);
		KUNIT_EXPECT_EQ(test, register_kprobe(&returner.join.kp), 0);
	}
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpb_has_jump(returner.rp.kp.addr), e->jump);
}

static void unfollow(const struct entry *e)
{
	if (e->join)
		unregister_kprobe(&returner.join.kp);
	unregister_kretprobe(&returner.rp);
	kprobe_test_allow_optimization(true);
}
#endif

#endif /* _KERNEL_KPROBES_TESTS_REGISTERS_WORDS_H */
