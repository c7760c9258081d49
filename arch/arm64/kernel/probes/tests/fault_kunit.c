// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of copies of instructions, and of handlers.
 */

#include "suite.h"

#include <linux/cpufeature.h>

#include <asm/arch_gicv3.h>
#include <asm/asm-extable.h>
#include <asm/daifflags.h>
#include <asm/debug-monitors.h>
#include <asm/sysreg.h>

#include "../../../../../kernel/kprobes/slots.h"
#include "helpers.h"
#include "targets.h"

#define ANY_ESR		0x96000005

/* Copies of these are stepped, as they access memory. */
KPB_FUNCTION(deep_0, "777: ldr x1, [sp]\n add x0, x0, #0");
KPB_FUNCTION(deep_1, "777: ldr x1, [sp]\n add x0, x0, #1");
KPB_FUNCTION(deep_2, "777: ldr x1, [sp]\n add x0, x0, #2");
KPB_FUNCTION(deep_3, "777: ldr x1, [sp]\n add x0, x0, #3");
KPB_FUNCTION(deep_4, "777: ldr x1, [sp]\n add x0, x0, #4");
KPB_FUNCTION(deep_5, "777: ldr x1, [sp]\n add x0, x0, #5");
KPB_FUNCTION(deep_6, "777: ldr x1, [sp]\n add x0, x0, #6");
KPB_FUNCTION(deep_7, "777: ldr x1, [sp]\n add x0, x0, #7");
KPB_FUNCTION(deep_8, "777: ldr x1, [sp]\n add x0, x0, #8");
KPB_FUNCTION(deep_9, "777: ldr x1, [sp]\n add x0, x0, #9");
KPB_FUNCTION(deep_10, "777: ldr x1, [sp]\n add x0, x0, #10");

static int redirect(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	/* As if the branch here had been an indirect one. */
	regs->pstate |= PSR_BTYPE_C;
	instruction_pointer_set(regs, (unsigned long)kpb_callee);
	regs->regs[0] = 1;
	return 1;
}

/* Masked as in the program, and flags that a step must not lose. */
static const struct state {
	unsigned long	pstate;
} states[] = {
	{ PSR_MODE_EL1h },
	{ PSR_MODE_EL1h | PSR_N_BIT | PSR_C_BIT },
	{ PSR_MODE_EL1h | PSR_I_BIT | PSR_Z_BIT },
	{ PSR_MODE_EL1h | PSR_I_BIT | PSR_F_BIT | PSR_V_BIT },
	{ PSR_MODE_EL1h | PSR_A_BIT },
	{ PSR_MODE_EL1h | PSR_D_BIT | PSR_A_BIT | PSR_I_BIT | PSR_F_BIT },
};

static void state_to_desc(const struct state *state, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "PSTATE %lx", state->pstate);
}
KUNIT_ARRAY_PARAM(state, states, state_to_desc);

static struct state other_state(const struct state *state)
{
	return (struct state){ state->pstate ^ PSR_I_BIT ^ PSR_Z_BIT };
}

/* Each has different masks. */
static struct state nth_state(unsigned int n)
{
	return (struct state){ PSR_MODE_EL1h | n * PSR_F_BIT };
}

static void set_state(struct pt_regs *regs, struct state state)
{
	regs->pstate = state.pstate;
	regs->pmr = system_uses_irq_prio_masking() ? GIC_PRIO_IRQON : 0;
}

#define BEFORE_STEP	KPROBE_STEP_OFFSET
#define OTHER_STEP	KPB_AT(load)
#define ELSEWHERE	((unsigned long)kpb_callee)
#define IN_A_DETOUR	(5 * AARCH64_INSN_SIZE)

#include "faults_words.h"

static void begin(struct kunit *test, struct stepped *s)
{
	unsigned long pstate = s->regs.pstate;

	KUNIT_EXPECT_EQ(test, kprobe_brk_handler(&s->regs, 0), DBG_HOOK_HANDLED);
	KUNIT_EXPECT_EQ(test, s->regs.pc, s->copy);
	KUNIT_EXPECT_EQ(test, s->regs.pstate, pstate | DAIF_MASK);
}

static void end(struct kunit *test, struct stepped *s, struct state state)
{
	s->regs.pc += AARCH64_INSN_SIZE;
	KUNIT_EXPECT_EQ(test, kprobe_ss_brk_handler(&s->regs, 0), DBG_HOOK_HANDLED);
	KUNIT_EXPECT_EQ(test, s->regs.pc, (unsigned long)s->w.kp.addr + AARCH64_INSN_SIZE);
	KUNIT_EXPECT_EQ(test, s->regs.pstate, state.pstate);
}

/* A fault that ends a step takes over the masks of the program; these are the test's. */
static struct arch_kprobe_step own_masks(void)
{
	return (struct arch_kprobe_step){
		.daif	= read_sysreg(daif),
		.pmr	= system_uses_irq_prio_masking() ? gic_read_pmr() : 0,
	};
}

static void own_again(const struct arch_kprobe_step *own)
{
	if (system_uses_irq_prio_masking())
		gic_write_pmr(own->pmr);
	write_sysreg(own->daif, daif);
	trace_hardirqs_off();
}

static void fault(struct kunit *test, struct stepped *s, struct state state)
{
	struct arch_kprobe_step own = own_masks(), masks;
	int ret;

	ret = kprobe_fault_handler(&s->regs, ANY_ESR);
	masks = own_masks();
	own_again(&own);

	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_EQ(test, masks.daif, state.pstate & DAIF_MASK);
	KUNIT_EXPECT_EQ(test, masks.pmr, s->regs.pmr);
	KUNIT_EXPECT_EQ(test, s->regs.pc, (unsigned long)s->w.kp.addr);
	KUNIT_EXPECT_EQ(test, s->regs.pstate, state.pstate);
}

static void fault_elsewhere(struct kunit *test, unsigned long pc)
{
	struct pt_regs regs = { .pc = pc, .pstate = PSR_MODE_EL1h | PSR_I_BIT };

	KUNIT_EXPECT_EQ(test, kprobe_fault_handler(&regs, ANY_ESR), 0);
	KUNIT_EXPECT_EQ(test, regs.pc, pc);
	KUNIT_EXPECT_EQ(test, regs.pstate, PSR_MODE_EL1h | PSR_I_BIT);
}

static unsigned long reported(unsigned long pc)
{
	struct pt_regs regs = { .pc = pc, .pstate = PSR_MODE_EL1h };
	struct arch_kprobe_step own = own_masks();
	bool off = irqs_disabled();

	kprobe_leave_slot(&regs);
	if (off)
		own_again(&own);
	return regs.pc;
}

/* Even if it has a post handler, which is not called. */
static void nested_copies_branch_back(struct kunit *test)
{
	struct kp_watch w = KP_WATCH_POST(KPB_AT(deep_0));
	struct pt_regs regs = { .pc = (unsigned long)KPB_AT(deep_0), .pstate = PSR_MODE_EL1h };

	KP_SKIP_IF(test, !kprobe_boosts(), "no copy branches back");

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), "stepped");
	scoped_guard(irqsave) {
		kprobe_busy_begin();
		KUNIT_EXPECT_EQ(test, kprobe_brk_handler(&regs, 0), DBG_HOOK_HANDLED);
		kprobe_busy_end();
	}
	KUNIT_EXPECT_EQ(test, regs.pstate, PSR_MODE_EL1h);
	KUNIT_EXPECT_EQ(test, regs.pc, (unsigned long)get_kprobe(w.kp.addr)->ainsn.insn);
	KUNIT_EXPECT_EQ(test, reported(regs.pc), (unsigned long)w.kp.addr);
	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, w.kp.nmissed, 1);
}

/*
 * A landing pad is checked only after an indirect branch, and execution that continues
 * elsewhere has not come by one.
 */
static int go_elsewhere(struct kprobe *p, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)kpb_callee);
	return 1;
}

static void redirection_is_no_indirect_branch(struct kunit *test)
{
	static const struct state branched = { PSR_MODE_EL1h | PSR_BTYPE_C };
	struct pt_regs regs = { .pstate = branched.pstate };
	struct kprobe p = { .addr = KPB_AT(deep_0), .pre_handler = go_elsewhere };
	struct arch_kprobe_step own, masks;
	struct stepped s;

	regs.pc = (unsigned long)p.addr;
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	scoped_guard(irqsave)
		KUNIT_EXPECT_EQ(test, kprobe_brk_handler(&regs, 0), DBG_HOOK_HANDLED);
	unregister_kprobe(&p);
	KUNIT_EXPECT_EQ(test, regs.pc, (unsigned long)kpb_callee);
	KUNIT_EXPECT_EQ(test, regs.pstate, PSR_MODE_EL1h);

	/* But that of the instruction is checked where it is executed. */
	prepare(test, &s, KPB_AT(deep_0), branched);
	scoped_guard(irqsave) {
		begin(test, &s);
		fault(test, &s, branched);
	}
	unregister_kprobe(&s.w.kp);

	/* And that of a fault handler. As the step is over, its masks are, too. */
	prepare(test, &s, KPB_AT(deep_0), branched);
	unregister_kprobe(&s.w.kp);
	memset(&s.w, 0, sizeof(s.w));
	s.w.kp = (struct kprobe){ .addr = KPB_AT(deep_0), .fault_handler = redirect };
	KUNIT_ASSERT_EQ(test, register_kprobe(&s.w.kp), 0);
	s.copy = kp_target_step(s.w.kp.addr);
	scoped_guard(irqsave) {
		begin(test, &s);
		own = own_masks();
		KUNIT_EXPECT_EQ(test, kprobe_fault_handler(&s.regs, ANY_ESR), 1);
		masks = own_masks();
		own_again(&own);
	}
	unregister_kprobe(&s.w.kp);
	KUNIT_EXPECT_EQ(test, masks.daif, 0);
	KUNIT_EXPECT_EQ(test, masks.pmr, s.regs.pmr);
	KUNIT_EXPECT_EQ(test, s.regs.pc, (unsigned long)kpb_callee);
	KUNIT_EXPECT_EQ(test, s.regs.pstate, PSR_MODE_EL1h);
}

/*
 * A fault of a handler
 */

/* With VHE, the register may belong to a guest. The address is one of the kernel. */
#define PAR_PATTERN	0xff00000012345000UL

static int read_nowhere(struct kprobe *p, struct pt_regs *regs)
{
	struct kp_watch *w = container_of(p, struct kp_watch, kp);
	long v;

	atomic_add(!!get_kernel_nofault(v, (long *)(VMALLOC_END - PAGE_SIZE)), &w->pre);
	return 0;
}

/* Whether a fault is spurious is found out by a translation. */
static void handler_fault_leaves_the_result_of_a_translation(struct kunit *test)
{
	struct kp_watch w = { .kp = { .addr = KPB_AT(add), .pre_handler = read_nowhere } };
	u64 par = 0;

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	scoped_guard(irqsave) {
		write_sysreg(PAR_PATTERN, par_el1);
		isb();
		kpb_run(kpb_add, 1);
		par = read_sysreg_par();
	}
	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	KUNIT_EXPECT_EQ(test, par, PAR_PATTERN);
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE_PARAM(fault_of_step_is_one_of_the_instruction, state_gen_params),
	KUNIT_CASE_PARAM(other_faults_are_not_the_steps, state_gen_params),
	KUNIT_CASE_PARAM(fault_of_nested_step, state_gen_params),
	KUNIT_CASE(nested_copies_branch_back),
	KUNIT_CASE(steps_nest),
	KUNIT_CASE(steps_nest_in_busy_sections),
	KUNIT_CASE(redirection_is_no_indirect_branch),
	KUNIT_CASE(fault_of_boosted_copy_is_one_of_the_instruction),
	KUNIT_CASE(fault_of_detour_is_one_of_the_instruction),
	KUNIT_CASE(handler_fault_leaves_the_result_of_a_translation),
	{}
};

KP_SUITE(fault_cases, .name = "kprobes_arm64_fault",
	 .suite_init = kp_without_jumps, .suite_exit = kp_with_jumps);
