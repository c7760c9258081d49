// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization on x86: decides whether a jump can replace the instructions at a
 * probe, builds the detour that the jump targets, and switches between breakpoint and
 * jump. branches.c finds branches into these instructions, reencode.c copies them, and
 * the detour calls detour.c.
 */

#include <linux/cpu.h>
#include <linux/cpufeature.h>
#include <linux/extable.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/memory.h>
#include <linux/perf_event.h>
#include <linux/unaligned.h>

#include "branches.h"
#include "common.h"
#include "insn.h"

/* A detour that is being built. */
struct detour_draft {
	struct arch_optimized_insn	o;
	unsigned long			start;	/* of the probed function */
	unsigned long			end;
	bool				ends;	/* execution does not continue after it */
	u8				code[MAX_OPTINSN_SIZE];
};

static int refuse(struct optimized_kprobe *op, enum kprobe_noopt why,
		  unsigned int at)
{
	op->why = why;
	op->why_at = at;
	return -EILSEQ;
}

static bool is_call(u8 kind)
{
	return kind == KPROBE_OP_CALL || kind == KPROBE_OP_CALL_REG ||
	       kind == KPROBE_OP_STEP_CALL;
}

/* One instruction, @at bytes after the probe. */
static int draft_insn(struct detour_draft *d, struct optimized_kprobe *op,
		      unsigned int at, unsigned long slot)
{
	unsigned long addr = (unsigned long)op->kp.addr;
	struct arch_optimized_insn *o = &d->o;
	struct arch_specific_insn a;
	struct kprobe_insn ki;
	int len;

	if (kprobe_fetch_at(addr + at, d->end, &ki))
		return refuse(op, KPROBE_NOOPT_UNDECODED, at);
	/*
	 * An indirect branch must find a landing pad, not a jump. At the probed
	 * address itself it may find a breakpoint, see kprobe_insn_is_nop().
	 */
	if (kprobe_insn_is_landing_pad(&ki))
		return refuse(op, KPROBE_NOOPT_LANDING, at);
	/* A fault in the copy would not find the instruction's fixup. */
	if (search_exception_tables(addr + at))
		return refuse(op, KPROBE_NOOPT_EXTABLE, at);
	if (kprobe_classify(&ki, addr + at, &a))
		return refuse(op, KPROBE_NOOPT_INSN, at);
	/* The callee must not return into the jump. */
	if (is_call(a.op) && at + a.len < o->jump)
		return refuse(op, KPROBE_NOOPT_CALL, at);
	if (o->end + KPROBE_MAX_REENCODED + JMP32_INSN_SIZE > sizeof(d->code))
		return refuse(op, KPROBE_NOOPT_INSN, at);

	len = kprobe_reencode(d->code + o->end, &ki, &a, addr + at, slot + o->end);
	if (len == -ERANGE)
		return refuse(op, KPROBE_NOOPT_RANGE, at);
	if (len < 0)
		return refuse(op, KPROBE_NOOPT_INSN, at);

	o->from[o->nr] = at;
	o->to[o->nr] = o->end;
	o->nr++;
	o->end += len;
	d->ends = kprobe_op_is_final(a.op);
	return a.len;
}

/* Copies all instructions that the jump replaces for a detour at @slot. */
static int draft_copies(struct detour_draft *d, struct optimized_kprobe *op, unsigned long slot)
{
	unsigned int at = 0;
	int len;

	d->o = (struct arch_optimized_insn) {
		.jump		= d->o.jump,
		.hop		= d->o.hop,
		.of_return	= __is_defined(KPROBE_DETOURS_OF_RETURNS) &&
				  kretprobe_is_alone(&op->kp),
	};
	d->o.end = kprobe_kind_of(&d->o)->layout->size;
	d->ends = false;
	memset(d->code, INT3_INSN_OPCODE, sizeof(d->code));

	while (at < d->o.jump && !d->ends) {
		len = draft_insn(d, op, at, slot);
		if (len < 0)
			return len;
		at += len;
	}

	/* Text after such an instruction is no branch target, and needs no copy. */
	d->o.size = max_t(unsigned int, at, d->o.jump);
	return 0;
}

/* Fills in the target of the branch that is @at bytes after the start of a detour. */
static int put_branch(struct detour_draft *d, unsigned int at, unsigned int len,
		      unsigned long slot, unsigned long target)
{
	return kprobe_put_rel32(d->code + at, len, slot + at, target);
}

/* The code before and after the copies. */
static int draft_frame(struct detour_draft *d, struct optimized_kprobe *op,
		       unsigned long slot)
{
	const struct kprobe_detour_kind *kind = kprobe_kind_of(&d->o);
	const struct kprobe_detour_layout *l = kind->layout;
	unsigned long addr = (unsigned long)op->kp.addr;
	static const u8 clac[] = { OP_ESCAPE, OP2_GRP7, MODRM_CLAC };
	u8 *code = d->code;
	int ret;

	memcpy(code, kind->template, l->size);
	ret = put_branch(d, l->call, CALL_INSN_SIZE, slot, (unsigned long)kind->callback) ?:
	      put_branch(d, l->leave, JCC32_INSN_SIZE, slot, (unsigned long)kind->leave);
	if (ret)
		return ret;

	if (l->ip)
		put_unaligned((u32)(addr + INT3_INSN_SIZE), (u32 *)(code + l->ip));
	code[l->regs] = OP_CLD;
	put_unaligned((unsigned long)op, (unsigned long *)(code + l->op));
	if (boot_cpu_has(X86_FEATURE_SMAP))
		memcpy(code + l->clac, clac, sizeof(clac));

	if (d->ends)
		return 0;

	code[d->o.end] = JMP32_INSN_OPCODE;
	return put_branch(d, d->o.end, JMP32_INSN_SIZE, slot, addr + d->o.size);
}

static int make_detour(struct detour_draft *d, struct optimized_kprobe *op)
{
	u8 *slot = get_optinsn_slot_near((unsigned long)op->kp.addr);
	int ret;

	if (!slot)
		return -ENOMEM;

	/* The jump at the probe. */
	ret = kprobe_is_rel32(slot - (op->kp.addr + JMP32_INSN_SIZE)) ? 0 : -ERANGE;
	if (!ret)
		ret = draft_copies(d, op, (unsigned long)slot);
	if (!ret)
		ret = draft_frame(d, op, (unsigned long)slot);
	if (!ret && kprobe_read_text((unsigned long)op->kp.addr, d->o.text, d->o.size))
		ret = -EFAULT;
	if (ret) {
		free_optinsn_slot(slot, 0);
		return ret;
	}

	kprobe_log_slot(slot, d->code, sizeof(d->code), true);
	text_poke(slot, d->code, sizeof(d->code));
	d->o.insn = slot;
	op->optinsn = d->o;
	if (!d->o.hop)
		return 0;

	ret = kprobe_hop_make(op);
	if (ret) {
		op->optinsn.hop = 0;
		arch_remove_optimized_kprobe(op);
	}
	return ret;
}

/* Everything except the detour: can a jump of this length replace the text? */
static int plan_detour(struct detour_draft *d, struct optimized_kprobe *op, unsigned int jump)
{
	unsigned long addr = (unsigned long)op->kp.addr;
	int ret;
	u8 why, at;

	if (d->end - addr < jump)
		return refuse(op, KPROBE_NOOPT_END, 0);

	/* Draft it where everything is within reach, to find all other obstacles. */
	d->o.jump = jump;
	ret = draft_copies(d, op, addr);
	if (ret)
		return ret;
	if (kprobe_is_patched(addr, d->o.size))
		return refuse(op, KPROBE_NOOPT_PATCHED, 0);
	if (kprobe_hop_in(addr, jump)) {
		op->why_transient = true;
		return refuse(op, KPROBE_NOOPT_PATCHED, 0);
	}

	why = kprobe_find_target(addr + 1, jump - 1, d->start, &at);
	if (why == KPROBE_NOOPT_NOMEM)
		return -ENOMEM;
	return why ? refuse(op, why, at + 1) : 0;
}

/* With a short jump, if there is room for a hop. */
static int plan_with_hop(struct detour_draft *d, struct optimized_kprobe *op)
{
	unsigned long addr = (unsigned long)op->kp.addr;
	int ret;

	if (!core_kernel_text(addr))
		return -EILSEQ;

	ret = plan_detour(d, op, JMP8_INSN_SIZE);
	if (ret)
		return ret;
	d->o.hop = kprobe_hop_find(addr, &op->why_transient);
	return d->o.hop ? 0 : -EILSEQ;
}

/* Everything except the detour. */
static int plan(struct detour_draft *d, struct optimized_kprobe *op)
{
	unsigned long addr = (unsigned long)op->kp.addr, size, into;
	u8 why, at;
	int ret;

	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	/* The symbol may be gone since the probe was registered. */
	if (!kallsyms_lookup_size_offset(addr, &size, &into))
		return refuse(op, KPROBE_NOOPT_UNDECODED, 0);
	if (kprobe_in_preemptible_hcall(addr))
		return refuse(op, KPROBE_NOOPT_ARCH, 0);

	*d = (struct detour_draft) { .start = addr - into, .end = addr - into + size };
	ret = plan_detour(d, op, JMP32_INSN_SIZE);
	if (ret != -EILSEQ)
		return ret;

	why = op->why;
	at = op->why_at;
	ret = plan_with_hop(d, op);
	/* Report the obstacle to the long jump. */
	if (ret)
		return ret == -ENOMEM ? ret : refuse(op, why, at);
	op->why = KPROBE_NOOPT_NONE;
	op->why_at = 0;
	op->why_transient = false;
	return 0;
}

int arch_plan_optimized_kprobe(struct optimized_kprobe *op)
{
	struct detour_draft d;
	int ret;

	if (op->optinsn.insn)
		return op->optinsn.hop ? KPROBE_JUMP_SHORT : KPROBE_JUMP_LONG;

	ret = plan(&d, op);
	if (ret)
		return ret;
	return d.o.hop ? KPROBE_JUMP_SHORT : KPROBE_JUMP_LONG;
}

int arch_prepare_optimized_kprobe(struct optimized_kprobe *op, struct kprobe *orig)
{
	struct detour_draft d;

	return plan(&d, op) ?: make_detour(&d, op);
}

void arch_remove_optimized_kprobe(struct optimized_kprobe *op)
{
	kprobe_opcode_t *slot = op->optinsn.insn;

	kprobe_assert_locked();

	if (!slot)
		return;

	kprobe_hop_remove(op);
	kprobe_log_slot(slot, slot, MAX_OPTINSN_SIZE, false);
	op->optinsn.insn = NULL;
	free_optinsn_slot(slot, 0);
}

/*
 * Switching. In between, there is a breakpoint, and each hit of it continues in the
 * detour. So two synchronizations of the CPUs are enough for a list of any length.
 */

static u8 *make_jump(u8 *buf, const struct optimized_kprobe *op)
{
	const struct arch_optimized_insn *o = &op->optinsn;

	if (o->hop)
		__text_gen_insn(buf, JMP8_INSN_OPCODE, op->kp.addr, (void *)o->hop,
				JMP8_INSN_SIZE);
	else
		__text_gen_insn(buf, JMP32_INSN_OPCODE, op->kp.addr, o->insn,
				JMP32_INSN_SIZE);
	return buf;
}

static bool text_is_as_copied(const struct optimized_kprobe *op)
{
	u8 text[MAX_OPTIMIZED_LENGTH];

	return !kprobe_read_text((unsigned long)op->kp.addr, text, op->optinsn.size) &&
	       !memcmp(text, op->optinsn.text, op->optinsn.size);
}

void arch_optimize_kprobes(struct list_head *oplist)
{
	struct optimized_kprobe *op, *tmp;
	u8 jump[JMP32_INSN_SIZE];
	LIST_HEAD(changed);

	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	list_for_each_entry_safe(op, tmp, oplist, list) {
		if (!text_is_as_copied(op)) {
			list_move(&op->list, &changed);
			continue;
		}
		text_poke(op->kp.addr + 1, make_jump(jump, op) + 1,
			  op->optinsn.jump - 1);
		perf_event_text_poke(op->kp.addr, op->optinsn.text, op->optinsn.jump,
				     jump, op->optinsn.jump);
	}
	smp_text_poke_sync_each_cpu();

	list_for_each_entry_safe(op, tmp, oplist, list) {
		text_poke(op->kp.addr, make_jump(jump, op), 1);
		list_del_init(&op->list);
	}
	smp_text_poke_sync_each_cpu();

	list_splice(&changed, oplist);
}

void arch_unoptimize_kprobes(struct list_head *oplist, struct list_head *done_list)
{
	static const u8 int3 = INT3_INSN_OPCODE;
	struct optimized_kprobe *op;
	u8 jump[JMP32_INSN_SIZE];

	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	list_for_each_entry(op, oplist, list)
		text_poke(op->kp.addr, &int3, 1);
	smp_text_poke_sync_each_cpu();

	list_for_each_entry(op, oplist, list) {
		text_poke(op->kp.addr + 1, op->optinsn.text + 1, op->optinsn.jump - 1);
		perf_event_text_poke(op->kp.addr, make_jump(jump, op), op->optinsn.jump,
				     op->optinsn.text, op->optinsn.jump);
	}
	smp_text_poke_sync_each_cpu();

	list_splice_tail_init(oplist, done_list);
}
