// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization: what has to keep its breakpoint, and what detours are like.
 */

#include "suite.h"

#include <linux/cpufeature.h>
#include <linux/irq_work.h>
#include <linux/kasan.h>
#include <linux/minmax.h>

#include <asm/arch_gicv3.h>
#include <asm/daifflags.h>
#include <asm/debug-monitors.h>
#include <asm/insn.h>
#include <asm/irq_regs.h>
#include <asm/sysreg.h>

#include "../../../../../kernel/kprobes/slots.h"
#include "../detour.h"
#include "files.h"
#include "forms.h"

static void expect_reason(struct kunit *test, void *addr, u8 want)
{
	u8 jump = 0, why = 0, at = 0;

	KUNIT_EXPECT_EQ(test, kprobe_test_forecast(addr, &jump, &why, &at), 0);
	KUNIT_EXPECT_EQ_MSG(test, why, want, "%pS", addr);
}

/* The link register would be overwritten before it is used. */
KPB_FUNCTION(blr_x30, "mov x9, x30\n adrp x30, kpb_callee\n add x30, x30, :lo12:kpb_callee\n"
	     "777: blr x30\n mov x30, x9\n add x0, x0, #1");

static void no_jump_for_a_call_through_the_link(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(blr_x30));

	expect_reason(test, KPB_AT(blr_x30), KPROBE_NOOPT_INSN);
	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_EXPECT_TRUE(test, kpb_has_breakpoint(w.kp.addr));
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_blr_x30, 1), 102);
	KP_UNWATCH(test, w, 1);
}

KPB_FUNCTION(madd, "mov x1, #3\n 777: madd x0, x0, x1, x1");

/* Its result may be wrong directly after a load, as at the end of a detour. */
static void a_load_and_a_multiplication_are_separate(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(madd));
	u32 insn = kpb_word(w.kp.addr);
	__le32 *detour;
	unsigned int i;

	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_ASSERT_TRUE(test, kpb_has_jump(w.kp.addr));
	detour = (void *)w.kp.addr + aarch64_get_branch_offset(kpb_word(w.kp.addr));
	for (i = 1; i < MAX_OPTINSN_SIZE && le32_to_cpu(detour[i]) != insn; i++)
		;
	KUNIT_ASSERT_LT(test, i, MAX_OPTINSN_SIZE);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(detour[i - 1]), aarch64_insn_gen_nop());
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_madd, 5), 18);
	KP_UNWATCH(test, w, 1);
}

/* What would write to register 31, which is sp in a load from it. */
static const struct zero_form {
	const char	*name;
	u32		insn;
	u8		form;
} zero_forms[] = {
	{ "adr xzr, .+8",	0x1000005f, PROBE_FORM_ADR },
	{ "adrp xzr, .",	0x9000001f, PROBE_FORM_ADR },
	{ "ldr wzr, .+8",	0x1800005f, PROBE_FORM_LDR_LIT },
	{ "ldr xzr, .+8",	0x5800005f, PROBE_FORM_LDR_LIT },
	{ "ldrsw xzr, .+8",	0x9800005f, PROBE_FORM_LDR_LIT },
	{ "prfm pldl1keep, .+8", 0xd8000040, PROBE_FORM_PRFM_LIT },
};

KUNIT_ARRAY_PARAM_DESC(zero, zero_forms, name);

static void nothing_for_the_zero_register(struct kunit *test)
{
	const struct zero_form *f = test->param_value;
	struct kprobe p = { .addr = KPB_AT(add), .opcode = f->insn, .ainsn.form = f->form };
	unsigned long to = (unsigned long)p.addr + SZ_1M, next = (unsigned long)(p.addr + 1);
	struct kprobe_draft d = { .slot = to, .end = MAX_OPTINSN_SIZE };

	KUNIT_ASSERT_EQ(test, kprobe_reencode(&d, &p), 0);
	KUNIT_EXPECT_EQ(test, d.nr, 1);
	KUNIT_EXPECT_EQ(test, to + aarch64_get_branch_offset(d.word[0]), next);
	KUNIT_EXPECT_EQ(test, d.end, MAX_OPTINSN_SIZE);
}

/* Branches reach 128 MiB, less one instruction forwards. */
static const struct branch {
	const char	*name;
	u32		insn;
	u8		form;
	u8		nr;
} branches[] = {
	{ "b",		0x14000000, PROBE_FORM_B, 1 },
	{ "bl",		0x94000000, PROBE_FORM_BL, 2 },
	{ "b.eq",	0x54000000, PROBE_FORM_BCOND, 3 },
	{ "cbz",	0xb4000000, PROBE_FORM_BCOND, 3 },
	{ "tbz",	0x36000000, PROBE_FORM_BCOND, 3 },
};

KUNIT_ARRAY_PARAM_DESC(branch, branches, name);

/* From the last of the instructions, which is the branch, to the target. */
static const struct distance {
	long	distance;
	int	ret;
} distances[] = {
	{ SZ_128M - 16, 0 },
	{ SZ_128M - 4, 0 },
	{ SZ_128M, -ERANGE },
	{ SZ_128M + 4, -ERANGE },
	{ SZ_128M + 12, -ERANGE },
	{ -SZ_128M + 12, 0 },
	{ -SZ_128M, 0 },
	{ -SZ_128M - 4, -ERANGE },
	{ -SZ_128M - 12, -ERANGE },
};

static void reach_of_branches(struct kunit *test)
{
	const struct branch *b = test->param_value;
	const struct distance *c;

	for (c = distances; c < distances + ARRAY_SIZE(distances); c++) {
		/* What follows the probe is less far from the detour than the target. */
		int offset = c->distance > 0 ? 64 : -64;
		struct kprobe p = {
			.addr		= KPB_AT(add),
			.opcode		= aarch64_set_branch_offset(b->insn, offset),
			.ainsn.form	= b->form,
		};
		unsigned long target = (unsigned long)p.addr + offset, last = target - c->distance;
		struct kprobe_draft d = {
			.slot = last - (b->nr - 1) * AARCH64_INSN_SIZE, .end = MAX_OPTINSN_SIZE,
		};

		KUNIT_EXPECT_EQ_MSG(test, kprobe_reencode(&d, &p), c->ret, "%lx", c->distance);
		if (c->ret)
			continue;
		KUNIT_ASSERT_EQ(test, d.nr, b->nr);
		KUNIT_EXPECT_TRUE(test, aarch64_insn_is_b(d.word[d.nr - 1]));
		KUNIT_EXPECT_EQ_MSG(test, last + aarch64_get_branch_offset(d.word[d.nr - 1]),
				    target, "%lx", c->distance);
	}
}

/*
 * Detours that branches at the probes reach, but from which the kernel's code of the section
 * that is linked last is out of reach.
 */
asm(".pushsection .kprobes.text, \"ax\"\n"
	".balign 16\n"
	".globl kpb_far_target\n"
	".type kpb_far_target, %function\n"
	"kpb_far_target:\n"
	"	add x0, x0, #5\n"
	"	ret\n"
	".size kpb_far_target, . - kpb_far_target\n"
	".popsection\n");
void kpb_far_target(void);

KPB_FUNCTION(far_add, "777: add x0, x0, #3");
KPB_FUNCTION(far_b, "777: b kpb_far_target");

static const unsigned long far_text[] = {
	(unsigned long)kpb_far_target, (unsigned long)kprobe_detour_near,
#ifdef CONFIG_KRETPROBE_NATIVE
	(unsigned long)kretprobe_detour_near,
#endif
};

static unsigned long far_from(void)
{
	unsigned long first = far_text[0];
	unsigned int i;

	for (i = 1; i < ARRAY_SIZE(far_text); i++)
		first = min(first, far_text[i]);
	return first;
}

static void *page_far_away(unsigned long region)
{
	void *page = __vmalloc_node_range(PAGE_SIZE, PAGE_SIZE,
					  ALIGN(kpb_far_b_at - SZ_128M, PAGE_SIZE),
					  far_from() - SZ_128M, GFP_KERNEL, PAGE_KERNEL,
					  VM_FLUSH_RESET_PERMS, NUMA_NO_NODE,
					  __builtin_return_address(0));

	if (page && arch_seal_page(kasan_reset_tag(page))) {
		vfree(page);
		page = NULL;
	}
	return page;
}

/* All slots for detours near the probes, so that the next ones are in such a page. */
struct far_detours {
	kprobe_opcode_t		**taken;
	unsigned int		nr, max;
	struct kp_starved	allocators;
};

static void take_slots(struct far_detours *f, unsigned int most)
{
	while (most-- && f->nr < f->max &&
	       (f->taken[f->nr] = kprobe_slot_get(&kprobe_optinsn_slots, kpb_far_b_at)))
		f->nr++;
}

static void far_detours_begin(struct kunit *test, struct far_detours *f)
{
	KUNIT_ASSERT_GE(test, far_from() - kpb_far_b_at, 4 * PAGE_SIZE);
	f->nr = 0;
	f->max = 4 * PAGE_SIZE / (MAX_OPTINSN_SIZE * sizeof(kprobe_opcode_t));
	f->taken = kp_calloc(test, f->max, sizeof(*f->taken));
	wait_for_kprobe_optimizer();

	kp_starve(&kprobe_optinsn_slots, &f->allocators, true, false);
	take_slots(f, f->max);
	/* And those of one page more, which is the empty one that stays in the end. */
	kp_feed(&kprobe_optinsn_slots, &f->allocators);
	take_slots(f, 1);
	kp_starve(&kprobe_optinsn_slots, &f->allocators, true, false);
	take_slots(f, f->max);
	KUNIT_EXPECT_LT(test, f->nr, f->max);
	scoped_guard(mutex, &kprobe_optinsn_slots.mutex)
		kprobe_optinsn_slots.alloc_near = page_far_away;
}

/* No probe has its detour there any more. */
static void far_detours_end(struct kunit *test, struct far_detours *f)
{
	kprobe_opcode_t *last;

	wait_for_kprobe_optimizer();
	kp_flush_slots(&kprobe_optinsn_slots);
	/* As long as this slot is in use, the page is not empty, and is not the one that stays. */
	last = kprobe_slot_get(&kprobe_optinsn_slots, kpb_far_b_at);
	KUNIT_EXPECT_NOT_NULL(test, last);
	KUNIT_EXPECT_TRUE(test, kprobe_in_reach(kpb_far_b_at, (unsigned long)last));
	KUNIT_EXPECT_FALSE(test, kprobe_in_reach((unsigned long)last, far_from()));

	kp_feed(&kprobe_optinsn_slots, &f->allocators);
	while (f->nr)
		free_optinsn_slot(f->taken[--f->nr], 0);
	if (last)
		free_optinsn_slot(last, 0);
	last = kprobe_slot_get(&kprobe_optinsn_slots, kpb_far_b_at);
	KUNIT_EXPECT_TRUE(test, kprobe_in_reach((unsigned long)last, far_from()));
	if (last)
		free_optinsn_slot(last, 0);
}

static bool far_site_says(struct kunit *test, const char *what)
{
	return !IS_ENABLED(CONFIG_DEBUG_FS) ||
	       kp_file_says(test, "kprobes/sites", "kpb_far_b+", what);
}

static void no_jump_to_what_is_out_of_reach(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(far_b));
	struct far_detours f;
	u32 word = kpb_word(w.kp.addr);

	far_detours_begin(test, &f);
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, kpb_has_breakpoint(w.kp.addr));
	KUNIT_EXPECT_TRUE(test, far_site_says(test, "kind=emulated "));
	KUNIT_EXPECT_TRUE(test, far_site_says(test, " opt=none why=out-of-reach"));
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_far_b, 4), 9);
	KP_UNWATCH(test, w, 1);
	far_detours_end(test, &f);

	w = (struct kp_watch)KP_WATCH(KPB_AT(far_b));
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	/* The instruction is a branch as well. */
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(w.kp.addr));
	KUNIT_EXPECT_NE(test, kpb_word(w.kp.addr), word);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_far_b, 4), 9);
	KP_UNWATCH(test, w, 1);
}

static void expect_far_jump(struct kunit *test, void *addr)
{
	unsigned long to = (unsigned long)addr + aarch64_get_branch_offset(kpb_word(addr));

	KUNIT_EXPECT_TRUE(test, kpb_has_jump(addr));
	KUNIT_EXPECT_FALSE(test, kprobe_in_reach(to, far_from()));
}

/* As it may be in modules: these call what they share through a register. */
static void detours_far_from_what_they_share(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(far_add));
	struct far_detours f;

	far_detours_begin(test, &f);
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	expect_far_jump(test, w.kp.addr);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_far_add, 4), 7);
	KP_UNWATCH(test, w, 1);
	far_detours_end(test, &f);
}

#ifdef CONFIG_KRETPROBES
static unsigned int far_returns;

static int count_far_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	far_returns += regs_return_value(regs) == 7;
	return 0;
}

static void detour_of_a_return_far_from_what_it_shares(struct kunit *test)
{
	struct kretprobe rp = { .kp.symbol_name = "kpb_far_add", .handler = count_far_return };
	struct far_detours f;

	KP_SKIP_IF(test, system_supports_bti_kernel(), "no jump replaces a landing pad");
	far_returns = 0;
	far_detours_begin(test, &f);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&rp), 0);
	wait_for_kprobe_optimizer();
	expect_far_jump(test, rp.kp.addr);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_far_add, 4), 7);
	KUNIT_EXPECT_EQ(test, far_returns, 1);
	unregister_kretprobe(&rp);
	far_detours_end(test, &f);
}
#endif

/* Where indirect branches are checked, they must not find a jump. */
static void no_jump_at_a_landing_pad(struct kunit *test)
{
	u8 want = system_supports_bti_kernel() ? KPROBE_NOOPT_LANDING : KPROBE_NOOPT_NONE;

	expect_reason(test, KPB_AT(pad), want);
	expect_reason(test, KPB_AT(sign), want);
	expect_reason(test, kpb_add, want);
	expect_reason(test, KPB_AT(add), KPROBE_NOOPT_NONE);
	expect_reason(test, KPB_AT(blr), system_supports_bti_kernel() ? KPROBE_NOOPT_INSN :
								       KPROBE_NOOPT_NONE);
}

/* The program continues after the probed instruction. */
static int skip_pre(struct kprobe *p, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)p->addr + AARCH64_INSN_SIZE);
	return 1;
}

/*
 * The exception at the end of a redirected detour calls tracers on its way. Their probes must
 * not call handlers, which might redirect as well.
 */
static void redirection_ends_the_hit_at_its_breakpoint(struct kunit *test)
{
	struct kp_watch other = KP_WATCH(KPB_AT(load));
	struct kprobe p = { .addr = KPB_AT(add), .pre_handler = skip_pre };
	struct optimized_kprobe *op;
	struct pt_regs regs = {
		.pc = (unsigned long)KPB_AT(add) + AARCH64_INSN_SIZE,
		.pstate = PSR_MODE_EL1h | DAIF_MASK,
	};
	int left = 0, handled = 0;

	KUNIT_EXPECT_EQ(test, register_kprobe(&p), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&other.kp), 0);
	op = container_of(get_kprobe(p.addr), struct optimized_kprobe, kp);

	scoped_guard(irqsave) {
		if (kprobe_hit_enter(kprobe_cpu_addr(current_kprobe), &op->kp)) {
			left = arch_leave_detour(op, &regs);
			KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), &op->kp);
			KUNIT_EXPECT_EQ(test, kpb_run(kpb_load, 4), 4 + kpb_data);
			regs.pc = (unsigned long)kprobe_detour_brk;
			handled = kprobe_ss_brk_handler(&regs, 0);
			KUNIT_EXPECT_NULL(test, kprobe_running());
			if (system_uses_irq_prio_masking())
				gic_write_pmr(regs.pmr);
			write_sysreg(regs.pstate & DAIF_MASK, daif);
		}
		KUNIT_EXPECT_EQ(test, kpb_run(kpb_load, 4), 4 + kpb_data);
	}
	KUNIT_EXPECT_EQ(test, left, KPROBE_DETOUR_REDIRECT);
	KUNIT_EXPECT_EQ(test, handled, DBG_HOOK_HANDLED);
	KUNIT_EXPECT_EQ(test, regs.pc, (unsigned long)KPB_AT(add) + AARCH64_INSN_SIZE);
	KP_UNWATCH(test, other, 1);
	unregister_kprobe(&p);
	KUNIT_EXPECT_EQ(test, other.kp.nmissed, 1);
}

/*
 * An interrupt in a detour: it is requested with interrupts off. The probed instruction enables
 * them, so the interrupt comes when its copy has been executed.
 */

KPB_FUNCTION(unmask, "777: msr daifclr, #3\n add x0, x0, #1");

/* Returns with interrupts on, which lockdep does not know before. */
static unsigned long run_unmask(unsigned long arg, bool *masked)
{
	unsigned long ret;

	if (system_uses_irq_prio_masking()) {
		asm volatile("msr daifset, #3" ::: "memory");
		gic_write_pmr(GIC_PRIO_IRQON);
	}
	ret = kpb_run(kpb_unmask, arg);
	*masked = irqs_disabled();
	raw_local_irq_disable();
	local_irq_enable();
	return ret;
}

static struct {
	struct irq_work	work;
	unsigned long	shown;
	bool		in_detour;
} unmasking;

static void look_around(struct irq_work *work)
{
	struct pt_regs *regs = get_irq_regs();

	unmasking.in_detour = is_kprobe_optinsn_slot(instruction_pointer(regs));
	unmasking.shown = kprobe_unwind_pc(instruction_pointer(regs), regs);
}

static void interrupted_in_a_detour(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(unmask));
	unsigned long result;
	bool masked;

	KP_SKIP_IF(test, !arch_irq_work_has_interrupt(), "needs irq_work with an interrupt");

	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(w.kp.addr));
	memset(&unmasking, 0, sizeof(unmasking));
	unmasking.work = IRQ_WORK_INIT_HARD(look_around);
	/*
	 * Another interrupt may come first, if it is pending as well. At its end, there must be no
	 * softirq and no other task, where this one would come instead.
	 */
	local_bh_disable();
	local_irq_disable();
	irq_work_queue(&unmasking.work);
	result = run_unmask(1, &masked);
	local_bh_enable();

	KUNIT_EXPECT_EQ(test, result, 2);
	KUNIT_EXPECT_FALSE(test, masked);
	KUNIT_EXPECT_TRUE(test, unmasking.in_detour);
	KUNIT_EXPECT_EQ(test, unmasking.shown, (unsigned long)KPB_AT(unmask));
	KP_UNWATCH(test, w, 1);
}

static struct kunit_case optimize_cases[] = {
	KUNIT_CASE(a_load_and_a_multiplication_are_separate),
	KUNIT_CASE(no_jump_for_a_call_through_the_link),
	KUNIT_CASE_PARAM(nothing_for_the_zero_register, zero_gen_params),
	KUNIT_CASE_PARAM(reach_of_branches, branch_gen_params),
	KUNIT_CASE(no_jump_to_what_is_out_of_reach),
	KUNIT_CASE(detours_far_from_what_they_share),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(detour_of_a_return_far_from_what_it_shares),
#endif
	KUNIT_CASE(no_jump_at_a_landing_pad),
	KUNIT_CASE(redirection_ends_the_hit_at_its_breakpoint),
	KUNIT_CASE(interrupted_in_a_detour),
	{}
};

KP_SUITE(optimize_cases, .name = "kprobes_arm64_optimize");
