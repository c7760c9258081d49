// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Jump optimization on x86: whether instructions can be replaced by a jump, the
 * detour that it leads to, and the switching between breakpoint and jump. What
 * leads into the instructions is found out in targets.c, how they are copied is
 * in reencode.c, and detour.c is what runs.
 */

#include <linux/cpufeature.h>
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/perf_event.h>
#include <linux/static_call.h>
#include <linux/unaligned.h>

#include <asm/alternative.h>
#include <asm/ibt.h>

#include "common.h"

/* A detour that is being made. */
struct detour_draft {
	struct arch_optimized_insn	o;
	unsigned int			jump;	/* length of the one that leads there */
	bool				ends;	/* nothing goes on behind it */
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

/* Nothing goes on behind it. */
static bool is_end(u8 kind)
{
	return kind == KPROBE_OP_JMP || kind == KPROBE_OP_JMP_REG ||
	       kind == KPROBE_OP_STEP_JMP || kind == KPROBE_OP_RET;
}

/* One instruction, @at behind the probe. */
static int draft_insn(struct detour_draft *d, struct optimized_kprobe *op,
		      unsigned int at, unsigned long end, unsigned long slot)
{
	unsigned long addr = (unsigned long)op->kp.addr;
	struct arch_optimized_insn *o = &d->o;
	struct arch_specific_insn a;
	struct kprobe_insn ki;
	int len;

	if (kprobe_fetch_at(addr + at, end, &ki))
		return refuse(op, KPROBE_NOOPT_UNDECODED, at);
	/*
	 * An indirect branch has to find a landing pad, not a jump. At the probed
	 * address itself it may find a breakpoint, see is_nop() in decode.c.
	 */
	if (is_endbr(*(u32 *)ki.bytes))
		return refuse(op, KPROBE_NOOPT_LANDING, at);
	/* Faults in a detour are not those of the instruction. */
	if (search_exception_tables(addr + at))
		return refuse(op, KPROBE_NOOPT_EXTABLE, at);
	if (kprobe_classify(&ki, addr + at, &a))
		return refuse(op, KPROBE_NOOPT_INSN, at);
	/* The callee must not return to where the jump is. */
	if (is_call(a.op) && at + a.len < d->jump)
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
	d->ends = is_end(a.op);
	return a.len;
}

static bool is_of_return(struct optimized_kprobe *op)
{
#ifdef KPROBE_DETOURS_OF_RETURNS
	return kretprobe_is_alone(&op->kp);
#else
	return false;
#endif
}

/* All instructions that the jump replaces, as they would be at @slot. */
static int draft_copies(struct detour_draft *d, struct optimized_kprobe *op,
			unsigned long end, unsigned long slot)
{
	unsigned long hop = d->o.hop;
	unsigned int at = 0;
	int len;

	d->o = (struct arch_optimized_insn) {
		.jump		= d->jump,
		.hop		= hop,
		.of_return	= is_of_return(op),
	};
	d->o.end = kprobe_layout_of(&d->o)->size;
	d->ends = false;
	memset(d->code, INT3_INSN_OPCODE, sizeof(d->code));

	while (at < d->jump && !d->ends) {
		len = draft_insn(d, op, at, end, slot);
		if (len < 0)
			return len;
		at += len;
	}

	/* What follows an end, and nothing leads to, is not needed. */
	d->o.size = max(at, d->jump);
	return 0;
}

static int put_branch(u8 *code, unsigned int at, unsigned int len,
		      unsigned long slot, unsigned long target)
{
	long disp = target - (slot + at + len);

	if (disp != (s32)disp)
		return -ERANGE;

	put_unaligned((s32)disp, (s32 *)(code + at + len - sizeof(s32)));
	return 0;
}

/* A copy of a template, and what it calls and jumps to. */
static int draft_template(struct detour_draft *d, const void *template,
			  const void *callback, const void *leave, unsigned long slot)
{
	const struct kprobe_detour_layout *l = kprobe_layout_of(&d->o);

	/* objtool does not like what a compiler makes of label and constant. */
	OPTIMIZER_HIDE_VAR(template);
	OPTIMIZER_HIDE_VAR(leave);

	memcpy(d->code, template, l->size);
	return put_branch(d->code, l->call, CALL_INSN_SIZE, slot, (unsigned long)callback) ?:
	       put_branch(d->code, l->leave, 6, slot, (unsigned long)leave);
}

static int draft_kind(struct detour_draft *d, struct optimized_kprobe *op,
		      unsigned long slot)
{
	u32 *ip = (u32 *)(d->code + kprobe_detour_layout.ip);
	int ret;

#ifdef KPROBE_DETOURS_OF_RETURNS
	if (d->o.of_return)
		return draft_template(d, kretprobe_detour_template, kretprobe_native_entry,
				      kretprobe_detour_complete, slot);
#endif
	ret = draft_template(d, kprobe_detour_template, kprobe_detour_callback,
			     kprobe_detour_leave, slot);
	put_unaligned((u32)((unsigned long)op->kp.addr + INT3_INSN_SIZE), ip);
	return ret;
}

/* What comes before the copies, and behind them. */
static int draft_frame(struct detour_draft *d, struct optimized_kprobe *op,
		       unsigned long slot)
{
	const struct kprobe_detour_layout *l = kprobe_layout_of(&d->o);
	unsigned long addr = (unsigned long)op->kp.addr;
	static const u8 clac[] = { 0x0f, 0x01, 0xca };
	u8 *code = d->code;
	int ret;

	ret = draft_kind(d, op, slot);
	if (ret)
		return ret;

	code[l->regs] = 0xfc;
	put_unaligned((unsigned long)op, (unsigned long *)(code + l->op));
	if (boot_cpu_has(X86_FEATURE_SMAP))
		memcpy(code + l->clac, clac, sizeof(clac));

	if (d->ends)
		return 0;

	code[d->o.end] = JMP32_INSN_OPCODE;
	return put_branch(code, d->o.end, JMP32_INSN_SIZE, slot, addr + d->o.size);
}

/**
 * kprobe_is_patched() - do others change text while the kernel runs?
 * @addr: where it begins
 * @size: how much of it
 *
 * Context: text_mutex and the jump label lock held.
 * Return: true if they do.
 */
bool kprobe_is_patched(unsigned long addr, unsigned int size)
{
	void *start = (void *)addr, *last = (void *)(addr + size - 1);

	return ftrace_text_reserved(start, last) ||
	       kprobe_jump_label_reserved(addr, addr + size - 1) ||
	       static_call_text_reserved(start, last) ||
	       alternatives_text_reserved(start, last + 1);
}

static void log_detour(void *slot, const u8 *code, bool in_use)
{
	if (in_use)
		perf_event_text_poke(slot, NULL, 0, code, MAX_OPTINSN_SIZE);
	else
		perf_event_text_poke(slot, code, MAX_OPTINSN_SIZE, NULL, 0);
}

static bool reaches(const void *from, const void *to)
{
	long disp = to - (from + JMP32_INSN_SIZE);

	return disp == (s32)disp;
}

static int make_detour(struct detour_draft *d, struct optimized_kprobe *op,
		       unsigned long end)
{
	u8 *slot = get_optinsn_slot_near((unsigned long)op->kp.addr);
	int ret;

	if (!slot)
		return -ENOMEM;

	ret = reaches(op->kp.addr, slot) ? 0 : -ERANGE;
	if (!ret)
		ret = draft_copies(d, op, end, (unsigned long)slot);
	if (!ret)
		ret = draft_frame(d, op, (unsigned long)slot);
	if (!ret && kprobe_read_text((unsigned long)op->kp.addr, d->o.text, d->o.size))
		ret = -EFAULT;
	if (ret) {
		free_optinsn_slot(slot, 0);
		return ret;
	}

	log_detour(slot, d->code, true);
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

/* All but the detour: what it would have copies of, and may have, for this jump. */
static int plan_detour(struct detour_draft *d, struct optimized_kprobe *op,
		       unsigned long start, unsigned long end, unsigned int jump)
{
	unsigned long addr = (unsigned long)op->kp.addr;
	int ret;
	u8 why, at;

	if (end - addr < jump)
		return refuse(op, KPROBE_NOOPT_END, 0);

	/* Where all is within reach, to see if anything else is wrong. */
	*d = (struct detour_draft) { .jump = jump };
	ret = draft_copies(d, op, end, addr);
	if (ret)
		return ret;
	if (kprobe_is_patched(addr, d->o.size))
		return refuse(op, KPROBE_NOOPT_PATCHED, 0);
	if (kprobe_hop_overlaps(addr, jump)) {
		op->why_transient = true;
		return refuse(op, KPROBE_NOOPT_PATCHED, 0);
	}

	why = kprobe_find_entry(addr + 1, jump - 1, start, end, &at);
	if (why == KPROBE_NOOPT_NOMEM)
		return -ENOMEM;
	return why ? refuse(op, why, at + 1) : 0;
}

/* With a short jump, if there is anything that it can go to. */
static int plan_with_hop(struct detour_draft *d, struct optimized_kprobe *op,
			 unsigned long start, unsigned long end)
{
	unsigned long addr = (unsigned long)op->kp.addr;
	int ret;

	if (!core_kernel_text(addr))
		return -EILSEQ;

	ret = plan_detour(d, op, start, end, JMP8_INSN_SIZE);
	if (ret)
		return ret;
	d->o.hop = kprobe_hop_find(addr, &op->why_transient);
	return d->o.hop ? 0 : -EILSEQ;
}

/*
 * What a detour calls at its end, when it is time to: from a detour at its beginning
 * it would call itself, and so on.
 */
static bool ends_detours(unsigned long start)
{
#ifdef CONFIG_PREEMPTION
	return start == (unsigned long)preempt_schedule_notrace;
#else
	return false;
#endif
}

/**
 * arch_prepare_optimized_kprobe() - make a detour, if a jump to it is safe
 * @op: the probe; why and why_at are set when it is refused
 * @orig: &op->kp
 *
 * Context: kprobe_mutex, CPU hotplug lock, the jump label lock and text_mutex
 *	    held; sleeps.
 * Return: 0, or an error.
 */
int arch_prepare_optimized_kprobe(struct optimized_kprobe *op, struct kprobe *orig)
{
	unsigned long addr = (unsigned long)op->kp.addr, size, into, end;
	unsigned long start;
	struct detour_draft d;
	u8 why, at;
	int ret;

	/* The symbol may have been hidden since it was found. */
	if (!kallsyms_lookup_size_offset(addr, &size, &into))
		return refuse(op, KPROBE_NOOPT_UNDECODED, 0);
	start = addr - into;
	end = start + size;

	if (ends_detours(start) || kprobe_in_preemptible_hcall(addr))
		return refuse(op, KPROBE_NOOPT_ARCH, 0);

	ret = plan_detour(&d, op, start, end, JMP32_INSN_SIZE);
	if (ret == -EILSEQ) {
		why = op->why;
		at = op->why_at;
		ret = plan_with_hop(&d, op, start, end);
		/* What speaks against the long one is what is of interest. */
		if (ret)
			return ret == -ENOMEM ? ret : refuse(op, why, at);
		op->why = KPROBE_NOOPT_NONE;
		op->why_at = 0;
		op->why_transient = false;
	}

	return ret ?: make_detour(&d, op, end);
}

/**
 * arch_prepared_optinsn() - is there a detour?
 * @optinsn: of the probe
 *
 * Context: kprobe_mutex held.
 * Return: 1 if there is, else 0.
 */
int arch_prepared_optinsn(struct arch_optimized_insn *optinsn)
{
	return !!optinsn->insn;
}

/**
 * arch_within_optimized_kprobe() - does the jump replace an instruction?
 * @op: a probe with a detour
 * @addr: address of the instruction
 *
 * Context: kprobe_mutex held.
 * Return: 1 if @addr is in what the detour has copies of, else 0.
 */
int arch_within_optimized_kprobe(struct optimized_kprobe *op,
				 kprobe_opcode_t *addr)
{
	return addr >= op->kp.addr && addr < op->kp.addr + op->optinsn.size;
}

/**
 * arch_remove_optimized_kprobe() - give the detour back
 * @op: a probe; no task is in its detour any more, if it has one
 *
 * Context: kprobe_mutex held.
 */
void arch_remove_optimized_kprobe(struct optimized_kprobe *op)
{
	kprobe_opcode_t *slot = op->optinsn.insn;

	if (!slot)
		return;

	kprobe_hop_remove(op);
	log_detour(slot, slot, false);
	op->optinsn.insn = NULL;
	free_optinsn_slot(slot, 0);
}

/*
 * Switching. All hits go on in the detour meanwhile, through the breakpoint that
 * is there before and behind, so a list of any length needs two synchronizations
 * of the CPUs.
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

/**
 * arch_optimize_kprobes() - breakpoints become jumps
 * @oplist: armed probes with a detour; those that are left on it have a text
 *	    that is not what was copied
 *
 * Context: kprobe_mutex, CPU hotplug lock and text_mutex held; sleeps.
 */
void arch_optimize_kprobes(struct list_head *oplist)
{
	struct optimized_kprobe *op, *tmp;
	u8 jump[JMP32_INSN_SIZE];
	LIST_HEAD(changed);

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
	text_poke_sync();

	list_for_each_entry_safe(op, tmp, oplist, list) {
		text_poke(op->kp.addr, make_jump(jump, op), 1);
		list_del_init(&op->list);
	}
	text_poke_sync();

	list_splice(&changed, oplist);
}

/**
 * arch_unoptimize_kprobes() - jumps become breakpoints
 * @oplist: probes with a jump
 * @done_list: where they are moved to
 *
 * Context: kprobe_mutex, CPU hotplug lock and text_mutex held; sleeps.
 */
void arch_unoptimize_kprobes(struct list_head *oplist, struct list_head *done_list)
{
	static const u8 int3 = INT3_INSN_OPCODE;
	struct optimized_kprobe *op;
	u8 jump[JMP32_INSN_SIZE];

	list_for_each_entry(op, oplist, list)
		text_poke(op->kp.addr, &int3, 1);
	text_poke_sync();

	list_for_each_entry(op, oplist, list) {
		text_poke(op->kp.addr + 1, op->optinsn.text + 1, op->optinsn.jump - 1);
		perf_event_text_poke(op->kp.addr, make_jump(jump, op), op->optinsn.jump,
				     op->optinsn.text, op->optinsn.jump);
	}
	text_poke_sync();

	list_splice_tail_init(oplist, done_list);
}
