/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suites of jump optimization share. The functions are defined in
 * optimize_kunit.c, unless noted otherwise.
 */
#ifndef _X86_KERNEL_KPROBES_TESTS_DETOURS_H
#define _X86_KERNEL_KPROBES_TESTS_DETOURS_H

#include <kunit/test.h>
#include <linux/kprobes-test.h>

#include "../common.h"
#include "helpers.h"

/*
 * No padding follows, so a short jump has no room to land; and nothing else of
 * the kernel is within its reach.
 */
#define FUNCTION(name, code)		FUNCTION_AND(name, code, "")
/* @padding: what follows the function. */
#define FUNCTION_AND(name, code, padding)	KP_FUNCTION(kpo_##name, "", code, padding)
#define PLACE(name)			KP_PLACE(kpo_##name)
#define AT(name)			KP_AT(kpo_##name)

/* Room for a hop. */
#define PADDING		".skip 6, 0x90; .skip 2, 0xcc"

KP_DECLARE(kpo_mov);
KP_DECLARE(kpo_nops);
KP_DECLARE(kpo_two_words);
KP_DECLARE(kpo_under_ac);
KP_DECLARE(kpo_under_df);
KP_DECLARE(kpo_hop_back);
KP_DECLARE(kpo_hop_target_2);
KP_DECLARE(kpo_hop_target_4);
KP_DECLARE(kpo_hop_shared);
KP_DECLARE(kpo_hop_shares);
KP_DECLARE(kpo_hop_own);

/* Adds 100 to its argument, and stores what it returns to in kpo_returns_to. */
void kpo_callee(void);

/* Operands of the functions: a target of indirect branches, and data. */
extern unsigned long kpo_pointer, kpo_word, kpo_returns_to;

/* Arguments that functions are called with, to compare their results. */
static const unsigned long kpo_args[] __maybe_unused = { 0, 1, 5, 8, 0x7fffffff, 0x12345678 };

/* Padding after functions belongs to the next one, or is too short. */
static inline void skip_without_padding(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_CALL_PADDING) || IS_ENABLED(CONFIG_CFI))
		kunit_skip(test, "no padding is free");
}

/* Its detour goes, and its hop with it. */
static inline void unregister_and_wait(struct kprobe *p)
{
	unregister_kprobe(p);
	wait_for_kprobe_optimizer();
}

int kpo_change_ax(struct kprobe *p, struct pt_regs *regs);

#ifdef KPROBE_DETOURS_OF_RETURNS
/**
 * struct kpo_returns - a kretprobe that counts returns
 * @rp: the kretprobe
 * @nr: returns so far
 * @value: the last returned value
 */
struct kpo_returns {
	struct kretprobe	rp;
	unsigned int		nr;
	unsigned long		value;
};

int kpo_count_return(struct kretprobe_instance *ri, struct pt_regs *regs);
void kpo_follow(struct kunit *test, struct kpo_returns *r, const char *name);
#endif

#endif /* _X86_KERNEL_KPROBES_TESTS_DETOURS_H */
