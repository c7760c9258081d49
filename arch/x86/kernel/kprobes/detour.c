// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hit path of optimized probes on x86: what detours call. Their code is in
 * template.S.
 */

#include <linux/kprobes.h>

#include "common.h"

#ifdef KPROBE_DETOURS_OF_RETURNS
/* Handles what kretprobe_native_entry() could not. Sets ip to where execution continues. */
__visible void kretprobe_detour_callback(struct optimized_kprobe *op,
					 struct pt_regs *regs)
{
	const struct arch_optimized_insn *o = &op->optinsn;

	if (!kprobe_detour_callback(op, regs))
		regs->ip = (unsigned long)o->insn + o->detour->to[0];
}
NOKPROBE_SYMBOL(kretprobe_detour_callback);
#endif

/**
 * kprobe_is_detour_text() - is an address in text that only detours use?
 * @addr: a text address
 *
 * For unwinders: in a hop, and in the code that completes the frame of a detour, the probed
 * function has been left, and the stack does not name it yet.
 *
 * Context: any.
 * Return: true if it is.
 */
bool kprobe_is_detour_text(unsigned long addr)
{
	if (__is_defined(KPROBE_DETOURS_OF_RETURNS) &&
	    addr - (unsigned long)kretprobe_detour_complete < kretprobe_detour_complete_size)
		return true;

	return kprobe_hop_owner(addr);
}

/*
 * Correct an instruction pointer that a handler has set: it may point to the middle of the text
 * that the jump of a nearby probe replaces.
 */
void kprobe_avoid_jump(struct pt_regs *regs)
{
	const struct arch_optimized_insn *o;
	unsigned int at, i;
	struct kprobe *p;

	for (at = 1; at < JMP32_INSN_SIZE; at++) {
		p = get_kprobe((void *)(regs->ip - at));
		if (p && READ_ONCE(p->flags) & KPROBE_FLAG_DETOUR)
			break;
	}
	if (at == JMP32_INSN_SIZE)
		return;

	/* If no instruction begins there, it was wrong before. */
	o = kprobe_detour_of(p);
	for (i = 1; i < o->nr; i++) {
		if (o->detour->from[i] == at)
			regs->ip = (unsigned long)o->insn + o->detour->to[i];
	}
}
NOKPROBE_SYMBOL(kprobe_avoid_jump);

int arch_leave_detour(struct optimized_kprobe *op, struct pt_regs *regs)
{
	kprobe_avoid_jump(regs);
	kprobe_hit_leave();
	return 1;
}
NOKPROBE_SYMBOL(arch_leave_detour);

/* Which of the copies a place in a detour belongs to, and how far it has got. */
static nokprobe_inline void place_in_copies(const struct optimized_kprobe *op,
					    const struct kprobe_detour *detour,
					    unsigned int offset,
					    struct kprobe_detour_place *place)
{
	unsigned int i = op->optinsn.nr - 1;

	/* If the slot has another detour by now, the result does not matter. */
	while (i && detour->to[i] > offset)
		i--;

	place->ip = (unsigned long)op->kp.addr + detour->from[i];
	/* Only the copy of a call begins with such a push; a jump follows it. */
	if (detour->code[detour->to[i]] == OP_PUSH_I32 &&
	    offset >= detour->to[i] + PUSH_I32_INSN_SIZE)
		place->pushed = sizeof(long);
}

/**
 * kprobe_detour_place() - find what an address in a detour corresponds to
 * @ip: any address
 * @place: set to the corresponding place
 *
 * Context: any, also NMI; preemption off.
 * Return: true if it is in a detour.
 */
bool kprobe_detour_place(unsigned long ip, struct kprobe_detour_place *place)
{
	struct optimized_kprobe *op = kprobe_optinsn_owner(ip);
	const struct kprobe_detour_kind *kind;
	const struct kprobe_detour *detour;
	unsigned long offset;

	if (!op) {
		op = kprobe_hop_owner(ip);
		if (!op)
			return false;
		/* Like the beginning of the detour. */
		ip = (unsigned long)READ_ONCE(op->optinsn.insn);
	}
	/* The slot may be freed concurrently. */
	detour = READ_ONCE(op->optinsn.detour);
	offset = ip - (unsigned long)detour;
	if (!detour || offset >= sizeof(*detour))
		return false;

	kind = kprobe_kind_of(&op->optinsn);
	*place = (struct kprobe_detour_place) { .ip = (unsigned long)op->kp.addr };

	if (offset >= op->optinsn.end)
		place->ip += op->optinsn.size;
	else if (offset >= kind->size)
		place_in_copies(op, detour, offset, place);
	else if (!op->optinsn.of_return && offset >= kind->regs &&
		 offset <= kind->restore)
		place->regs = true;
	else
		place->template = (unsigned long)kind->template + offset;

	return true;
}
NOKPROBE_SYMBOL(kprobe_detour_place);
