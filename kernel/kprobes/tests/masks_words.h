/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suites of probes of arm64 and powerpc share: instructions that access the mask of
 * interrupts which the kernel keeps by itself. An exception has another one than the program. The
 * suite includes it once it has defined
 *
 *  - MASK_READER, the name of a function that reads the mask, MASK_READER_AT, where it does so, and
 *    read_mask(), which calls it;
 *  - current_mask(), the mask, and MASK_OF(), that of registers.
 */
#ifndef _KERNEL_KPROBES_TESTS_MASKS_WORDS_H
#define _KERNEL_KPROBES_TESTS_MASKS_WORDS_H

static const struct mask_user {
	const char	*name;
	const char	*mode;		/* NULL: a jump */
	bool		post, on_return;
} mask_users[] = {
	{ "boosted", "boosted" },
	{ "with a post handler", "emulated", .post = true },
	{ "optimized" },
	{ "with a return probe", "boosted", .on_return = true },
};
KUNIT_ARRAY_PARAM_DESC(mask_user, mask_users, name);

/* Handlers, and what they have seen, and how often. */
static struct {
	struct kprobe		kp;
	struct kretprobe	rp;
	unsigned long		pre, post, ret, value, post_ip;
	unsigned int		hits, posts;
} mask_seen;

static int mask_pre(struct kprobe *p, struct pt_regs *regs)
{
	mask_seen.pre = MASK_OF(regs);
	mask_seen.hits++;
	return 0;
}

static void mask_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	mask_seen.post = MASK_OF(regs);
	mask_seen.post_ip = instruction_pointer(regs);
	mask_seen.posts++;
}

static int mask_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	mask_seen.ret = MASK_OF(regs);
	mask_seen.value = regs_return_value(regs);
	return 0;
}

static void mask_begin(struct kunit *test, const struct mask_user *u, const char *symbol,
		       unsigned long at)
{
	kp_need_mode(test, u->mode);
	KP_SKIP_IF(test, u->on_return && !IS_ENABLED(CONFIG_KRETPROBES), "needs KRETPROBES");

	memset(&mask_seen, 0, sizeof(mask_seen));
	mask_seen.kp.addr = (kprobe_opcode_t *)at;
	mask_seen.kp.pre_handler = mask_pre;
	mask_seen.kp.post_handler = u->post ? mask_post : NULL;
	mask_seen.rp.kp.symbol_name = symbol;
	mask_seen.rp.handler = mask_return;
	kp_register_in_mode(test, &mask_seen.kp, u->mode);
	if (u->on_return)
		KUNIT_EXPECT_EQ(test, register_kretprobe(&mask_seen.rp), 0);
}

static void mask_end(const struct mask_user *u)
{
	if (u->on_return)
		unregister_kretprobe(&mask_seen.rp);
	unregister_kprobe(&mask_seen.kp);
	kprobe_test_allow_optimization(false);
}

static void check_read_mask(struct kunit *test)
{
	const struct mask_user *u = test->param_value;
	unsigned long want[2], got, after;
	unsigned int off;

	mask_begin(test, u, MASK_READER, MASK_READER_AT);
	for (off = 0; off < 2; off++) {
		if (off)
			local_irq_disable();
		want[off] = current_mask();
		got = read_mask();
		after = current_mask();
		if (off)
			local_irq_enable();
		KUNIT_EXPECT_EQ(test, got, want[off]);
		KUNIT_EXPECT_EQ(test, after, want[off]);
		KUNIT_EXPECT_EQ(test, mask_seen.pre, want[off]);
		KUNIT_EXPECT_EQ(test, mask_seen.hits, off + 1);
		KUNIT_EXPECT_EQ(test, mask_seen.posts, u->post ? off + 1 : 0);
		if (u->post)
			KUNIT_EXPECT_EQ(test, mask_seen.post, want[off]);
		if (u->on_return) {
			KUNIT_EXPECT_EQ(test, mask_seen.ret, want[off]);
			KUNIT_EXPECT_EQ(test, mask_seen.value, want[off]);
		}
	}
	KUNIT_EXPECT_NE(test, want[0], want[1]);
	mask_end(u);
}

#endif /* _KERNEL_KPROBES_TESTS_MASKS_WORDS_H */
