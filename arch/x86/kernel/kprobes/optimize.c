// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization on x86: decides whether a jump can replace the instructions at a
 * probe, builds the detour that the jump targets, and switches between breakpoint and
 * jump. branches.c finds branches into these instructions, and the detour calls detour.c.
 */

#include <linux/cpu.h>
#include <linux/cpufeature.h>
#include <linux/extable.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/memory.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/unaligned.h>

#include <asm/nospec-branch.h>

#include "common.h"

/*
 * Copies for detours. A copy runs far from the address that it was written for, and nothing is
 * fixed up after it. So an instruction that depends on its address is encoded in another way.
 */

static int put_jcc(u8 *buf, u8 condition, unsigned long to, unsigned long target)
{
	buf[0] = OP_ESCAPE;
	buf[1] = OP2_JCC32 | condition;
	return kprobe_put_rel32(buf, JCC32_INSN_SIZE, to, target) ?: JCC32_INSN_SIZE;
}

/* These have only short forms, which skip the jump that is not taken. It follows. */
static int put_loop(u8 *buf, struct kprobe_insn *ki)
{
	int len = ki->insn.length;

	memcpy(buf, ki->bytes, len - 1);
	buf[len - 1] = JMP8_INSN_SIZE;
	buf[len] = JMP8_INSN_OPCODE;
	buf[len + 1] = JMP32_INSN_SIZE;
	return len + JMP8_INSN_SIZE;
}

/*
 * A call returns to the program's own text: the callee may sleep, so grace periods
 * would not keep the detour for its return, and unwinders look at the address. So a jump follows.
 */
static int put_return_address(u8 *buf, unsigned long next)
{
	if ((long)next != (s32)next)
		return -ERANGE;

	buf[0] = OP_PUSH_I32;
	put_unaligned((s32)next, (s32 *)(buf + 1));
	return PUSH_I32_INSN_SIZE;
}

/* Mitigations that use thunks determine where indirect branches may be. */
static bool has_branch_thunks(void)
{
	return cpu_feature_enabled(X86_FEATURE_RETPOLINE) ||
	       cpu_feature_enabled(X86_FEATURE_INDIRECT_THUNK_ITS);
}

static int put_ret(u8 *buf, struct kprobe_insn *ki, unsigned long from,
		   unsigned long to)
{
	if (!cpu_wants_rethunk_at((void *)to))
		return kprobe_copy(buf, ki, from, to);

	/* The thunk pops nothing but the return address. */
	if (!kprobe_insn_is_ret(&ki->insn))
		return -EINVAL;
	return kprobe_put_jmp(buf, to, (unsigned long)x86_return_thunk);
}

static bool is_call(u8 op)
{
	return op == KPROBE_OP_CALL || op == KPROBE_OP_CALL_REG || op == KPROBE_OP_STEP_CALL;
}

/*
 * Assemble code for @to that has the effect of the instruction at @from, which kprobe_classify()
 * has described in @a. @buf has KPROBE_MAX_REENCODED bytes. Returns the length of the code;
 * -ERANGE if an operand is out of reach; -EINVAL if there is no such code.
 */
int kprobe_reencode(u8 *buf, struct kprobe_insn *ki,
		    const struct arch_specific_insn *a,
		    unsigned long from, unsigned long to)
{
	int head = 0, ret;

	if (is_call(a->op)) {
		head = put_return_address(buf, from + a->len);
		if (head < 0)
			return head;
	}

	switch (a->op) {
	case KPROBE_OP_JCC:
		return put_jcc(buf, a->sub, to, a->value);
	case KPROBE_OP_RET:
		return put_ret(buf, ki, from, to);
	case KPROBE_OP_LOOPNE:
	case KPROBE_OP_LOOPE:
	case KPROBE_OP_LOOP:
	case KPROBE_OP_JCXZ:
		head = put_loop(buf, ki);
		fallthrough;
	case KPROBE_OP_CALL:
	case KPROBE_OP_JMP:
		ret = kprobe_put_jmp(buf + head, to + head, a->value);
		break;
	case KPROBE_OP_CALL_REG:
	case KPROBE_OP_STEP_CALL:
		/* The push would change it first. */
		if (kprobe_insn_operand_has_sp(&ki->insn))
			return -EINVAL;
		fallthrough;
	case KPROBE_OP_JMP_REG:
	case KPROBE_OP_STEP_JMP:
		if (has_branch_thunks())
			return -EINVAL;
		ret = kprobe_copy(buf + head, ki, from, to + head);
		modrm_set_reg(buf + head + insn_offset_modrm(&ki->insn), GRP5_JMP);
		break;
	default:
		return kprobe_copy(buf, ki, from, to);
	}

	return ret < 0 ? ret : head + ret;
}

/* A detour that is being built. */
struct detour_draft {
	struct arch_optimized_insn	o;
	unsigned long			start;	/* of the probed function */
	unsigned long			end;
	bool				ends;	/* execution does not continue after it */
	struct kprobe_detour		detour;
};

static int refuse(struct optimized_kprobe *op, enum kprobe_noopt why,
		  unsigned int at)
{
	op->why = why;
	op->why_at = at;
	return -EILSEQ;
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
	if (o->end + KPROBE_MAX_REENCODED + JMP32_INSN_SIZE > sizeof(d->detour.code))
		return refuse(op, KPROBE_NOOPT_INSN, at);

	len = kprobe_reencode(d->detour.code + o->end, &ki, &a, addr + at, slot + o->end);
	if (len == -ERANGE)
		return refuse(op, KPROBE_NOOPT_RANGE, at);
	if (len < 0)
		return refuse(op, KPROBE_NOOPT_INSN, at);

	d->detour.from[o->nr] = at;
	d->detour.to[o->nr] = o->end;
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
				  kretprobe_is_only_user(&op->kp),
	};
	d->o.end = kprobe_kind_of(&d->o)->size;
	d->ends = false;
	memset(d->detour.code, INT3_INSN_OPCODE, sizeof(d->detour.code));

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

/* The code before and after the copies. */
static int draft_frame(struct detour_draft *d, struct optimized_kprobe *op,
		       unsigned long slot)
{
	const struct kprobe_detour_kind *kind = kprobe_kind_of(&d->o);
	static const u8 cld = 0xfc, clac[] = { 0x0f, 0x01, 0xca };
	unsigned long addr = (unsigned long)op->kp.addr;
	u8 *code = d->detour.code;
	int ret;

	memcpy(code, kind->template, kind->size);
	code[kind->regs] = cld;
	if (boot_cpu_has(X86_FEATURE_SMAP))
		memcpy(code + kind->regs + 1, clac, sizeof(clac));
	if (kind->ip)
		put_unaligned((u32)(addr + INT3_INSN_SIZE), (u32 *)(code + kind->ip));
	put_unaligned((unsigned long)op, (unsigned long *)(code + kind->op));

	ret = kprobe_put_rel32(code + kind->call, CALL_INSN_SIZE, slot + kind->call,
			       (unsigned long)kind->callback) ?:
	      kprobe_put_rel32(code + kind->jump, JCC32_INSN_SIZE, slot + kind->jump,
			       (unsigned long)kind->leave);
	if (!ret && !d->ends)
		ret = kprobe_put_jmp(code + d->o.end, slot + d->o.end, addr + d->o.size);
	return min(ret, 0);
}

static int make_detour(struct detour_draft *d, struct optimized_kprobe *op)
{
	u8 *slot = get_optinsn_slot();
	int ret;

	if (!slot)
		return -ENOMEM;

	/* The jump at the probe. */
	ret = kprobe_is_rel32(slot - (op->kp.addr + JMP32_INSN_SIZE)) ? 0 : -ERANGE;
	if (!ret)
		ret = draft_copies(d, op, (unsigned long)slot);
	if (!ret)
		ret = draft_frame(d, op, (unsigned long)slot);
	if (!ret)
		ret = kprobe_read_text((unsigned long)op->kp.addr, d->detour.text, d->o.size);
	if (!ret && d->o.hop)
		ret = kprobe_read_text(d->o.hop, d->detour.padding, sizeof(d->detour.padding));
	if (ret) {
		free_optinsn_slot(slot, 0);
		return ret;
	}

	perf_event_text_poke(slot, NULL, 0, &d->detour, sizeof(d->detour));
	text_poke(slot, &d->detour, sizeof(d->detour));
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
	if (ret != -EILSEQ || !core_kernel_text(addr))
		return ret;

	/* Else with a short jump, if there is room for a hop. */
	why = op->why;
	at = op->why_at;
	ret = plan_detour(d, op, JMP8_INSN_SIZE);
	if (!ret)
		d->o.hop = kprobe_hop_find(addr, &op->why_transient);
	if (ret == -ENOMEM)
		return ret;
	/* Report the obstacle to the long jump. */
	if (!d->o.hop)
		return refuse(op, why, at);
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

	lockdep_assert_held(&kprobe_mutex);

	if (!slot)
		return;

	kprobe_hop_remove(op);
	perf_event_text_poke(slot, slot, MAX_OPTINSN_SIZE, NULL, 0);
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

	__text_gen_insn(buf, o->hop ? JMP8_INSN_OPCODE : JMP32_INSN_OPCODE, op->kp.addr,
			o->hop ? (void *)(long)o->hop : o->insn, o->jump);
	return buf;
}

static bool text_is_as_copied(const struct optimized_kprobe *op)
{
	u8 text[MAX_OPTIMIZED_LENGTH];

	return !kprobe_read_text((unsigned long)op->kp.addr, text, op->optinsn.size) &&
	       !memcmp(text, op->optinsn.detour->text, op->optinsn.size);
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
		perf_event_text_poke(op->kp.addr, op->optinsn.detour->text, op->optinsn.jump,
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
		text_poke(op->kp.addr + 1, op->optinsn.detour->text + 1, op->optinsn.jump - 1);
		perf_event_text_poke(op->kp.addr, make_jump(jump, op), op->optinsn.jump,
				     op->optinsn.detour->text, op->optinsn.jump);
	}
	smp_text_poke_sync_each_cpu();

	list_splice_tail_init(oplist, done_list);
}
