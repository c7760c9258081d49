// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preparing a probe whose instruction is executed by a copy in a slot, unless it is emulated. A
 * copy may branch back by itself, if it can be near enough: it is boosted. Otherwise it is stepped.
 */

#include <linux/array_size.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/memory.h>

#include "copy.h"

#ifdef __ARCH_WANT_KPROBES_COPY

int kprobe_vet_insn(struct kprobe *p)
{
	kprobe_assert_locked();
	lockdep_assert_held(&text_mutex);

	return kprobe_refuse(p, arch_decide_kprobe(p));
}

static int fill_slot(struct kprobe *p, kprobe_opcode_t *slot)
{
	kprobe_opcode_t code[KPROBE_INSN_SLOT_SIZE / sizeof(kprobe_opcode_t)];
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(code); i++)
		code[i] = KPROBE_TRAP;
	ret = kprobe_refuse(p, arch_copy_kprobe(p, slot, code)) ?:
	      arch_write_slot(slot, code, sizeof(code));
	if (!ret)
		kprobe_log_slot(slot, slot, sizeof(code), true);
	return ret;
}

int arch_prepare_kprobe(struct kprobe *p)
{
	kprobe_opcode_t *slot = NULL;
	unsigned int ways;
	int ret;

	ret = kprobe_vet_insn(p);
	if (ret)
		return ret;

	ways = arch_kprobe_ways(p);
	if (p->ainsn.boost || ways & KPROBE_NEEDS_NEAR)
		slot = get_insn_slot_near((unsigned long)p->addr);
	if (!slot) {
		/* A copy that does not branch back can be anywhere. */
		p->ainsn.boost = false;
		if (!(ways & KPROBE_NEEDS_COPY))
			return 0;
		slot = get_insn_slot();
	}
	if (!slot)
		return kprobe_refuse(p, KPROBE_REFUSAL_NO_MEMORY);

	ret = fill_slot(p, slot);
	if (ret) {
		free_insn_slot(slot, 0);
		return ret;
	}
	p->ainsn.insn = slot;
	return 0;
}

void arch_remove_kprobe(struct kprobe *p)
{
	kprobe_opcode_t *slot = p->ainsn.insn;

	if (!slot)
		return;

	kprobe_log_slot(slot, slot, KPROBE_INSN_SLOT_SIZE, false);
	/* Hits are over, but a boosted copy may have been preempted. */
	free_insn_slot(slot, p->ainsn.boost);
	p->ainsn.insn = NULL;
}

const char *kprobe_mode(const struct kprobe *p)
{
	kprobe_assert_locked();

	if (kprobe_is_boosted(p))
		return "boosted";
	return arch_kprobe_ways(p) & KPROBE_EMULATES ? "emulated" : "stepped";
}

#else /* !__ARCH_WANT_KPROBES_COPY */

int kprobe_vet_insn(struct kprobe *p)
{
	int ret = arch_prepare_kprobe(p);

	if (!ret)
		arch_remove_kprobe(p);
	return ret;
}

const char *kprobe_mode(const struct kprobe *p)
{
	return "breakpoint";
}

#endif
