// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of probed instructions, of their copies, and of handlers.
 */

#include <kunit/test.h>
#include <linux/cpufeature.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/set_memory.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <asm/arch_gicv3.h>
#include <asm/asm-extable.h>
#include <asm/daifflags.h>
#include <asm/debug-monitors.h>
#include <asm/esr.h>
#include <asm/sysreg.h>

#include "../../../../../kernel/kprobes/insn_slots.h"
#include "helpers.h"
#include "targets.h"

#define ANY_ESR		0x96000005

/*
 * Faults that only a fault handler can handle, as that of kpb_bad_load(). The second one
 * crosses 16 bytes, which no acquiring load may do.
 */
KPB_FUNCTION(bad_store, "777: str x0, [x0]\n ldr x0, [x0]");
KPB_FUNCTION(bad_acquire, "777: ldar x0, [x0]");

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

static u64 kpb_variable[4] __aligned(16);

struct fault_form {
	const char		*name;
	struct kpb_place	place;
	unsigned long		bad;	/* 0: the address of a page that is read-only */
	unsigned int		fsc;
};

static const struct fault_form fault_forms[] = {
	{ "translation fault", KPB_PLACE(bad_load), KP_BAD_ADDRESS, ESR_ELx_FSC_FAULT },
	{ "permission fault", KPB_PLACE(bad_store), 0, ESR_ELx_FSC_PERM },
	{ "alignment fault", KPB_PLACE(bad_acquire), (unsigned long)kpb_variable + 13, 0x21 },
};
KUNIT_ARRAY_PARAM_DESC(fault_form, fault_forms, name);

static int repair(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	kp_watch_fault(p, regs, trapnr);
	kpb_variable[0] = 0x1234567;
	regs->regs[0] = (unsigned long)kpb_variable;
	return 1;
}

static int redirect(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	/* As if the branch here had been an indirect one. */
	regs->pstate |= PSR_BTYPE_C;
	instruction_pointer_set(regs, (unsigned long)kpb_callee);
	regs->regs[0] = 1;
	return 1;
}

/* Whatever it is, the fault is reported to the fault handler, which can handle it. */
static void fault_of_each_kind_is_reported(struct kunit *test)
{
	const struct fault_form *f = test->param_value;
	struct kp_watch w = {
		.kp = {
			.addr = kpb_addr(&f->place),
			.pre_handler = kp_watch_pre,
			.post_handler = kp_watch_post,
			.fault_handler = repair,
		},
	};
	unsigned long good = (unsigned long)kpb_variable, bad = f->bad;
	bool stores = f->place.fn == kpb_bad_store;
	void *page = NULL;

	if (!bad) {
		page = vmalloc(PAGE_SIZE);
		KUNIT_ASSERT_NOT_NULL(test, page);
		KUNIT_ASSERT_EQ(test, set_memory_ro((unsigned long)page, 1), 0);
		bad = (unsigned long)page;
	}

	/* The store stores the address that it uses. */
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), "stepped");
	KUNIT_EXPECT_EQ(test, kpb_run(f->place.fn, bad), stores ? good : 0x1234567);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.faults), 1);
	KUNIT_EXPECT_EQ(test, ESR_ELx_EC((u32)w.trapnr), ESR_ELx_EC_DABT_CUR);
	KUNIT_EXPECT_EQ_MSG(test, (u32)w.trapnr & (f->fsc == 0x21 ? ESR_ELx_FSC :
								   ESR_ELx_FSC_TYPE),
			    f->fsc, "%x", w.trapnr);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.post), 1);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	if (IS_ENABLED(CONFIG_PROVE_LOCKING) && debug_locks)
		KUNIT_EXPECT_TRUE(test, lockdep_hardirqs_enabled());
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);

	/* Nothing is left behind: no fault, no handler. */
	kpb_variable[0] = 77;
	KUNIT_EXPECT_EQ(test, kpb_run(f->place.fn, good), stores ? good : 77);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.faults), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.post), 2);
	KUNIT_EXPECT_EQ(test, w.kp.nmissed, 0);
	unregister_kprobe(&w.kp);

	if (page) {
		KUNIT_EXPECT_EQ(test, set_memory_rw((unsigned long)page, 1), 0);
		vfree(page);
	}
}

/*
 * Without such a handler, a fault is fatal. So these cases only pretend that there was one:
 * they call what the exceptions call, with registers of their own.
 */

/* Masked as in the program, and flags that a step must not lose. */
static const unsigned long states[] = {
	PSR_MODE_EL1h,
	PSR_MODE_EL1h | PSR_N_BIT | PSR_C_BIT,
	PSR_MODE_EL1h | PSR_I_BIT | PSR_Z_BIT,
	PSR_MODE_EL1h | PSR_I_BIT | PSR_F_BIT | PSR_V_BIT,
	PSR_MODE_EL1h | PSR_A_BIT,
	PSR_MODE_EL1h | PSR_D_BIT | PSR_A_BIT | PSR_I_BIT | PSR_F_BIT,
};

static void state_to_desc(const unsigned long *state, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "PSTATE %lx", *state);
}
KUNIT_ARRAY_PARAM(state, states, state_to_desc);

struct stepped {
	struct kp_watch	w;
	struct pt_regs		regs;
	unsigned long		slot;
};

/*
 * Inside another hit, a copy branches back whenever it can. So here it cannot, as if no slot
 * had been in reach.
 */
static void step_always(struct kprobe *p)
{
	guard(kprobe_test)();
	p->ainsn.boost = false;
}

static void prepare(struct kunit *test, struct stepped *s, kprobe_opcode_t *addr,
		    unsigned long pstate)
{
	memset(s, 0, sizeof(*s));
	s->w.kp.addr = addr;
	s->w.kp.pre_handler = kp_watch_pre;
	s->w.kp.post_handler = kp_watch_post;
	KUNIT_ASSERT_EQ(test, register_kprobe(&s->w.kp), 0);
	step_always(get_kprobe(addr));
	KUNIT_EXPECT_STREQ(test, kp_mode(addr), "stepped");
	s->slot = (unsigned long)get_kprobe(addr)->ainsn.insn + KPROBE_STEP_OFFSET;
	s->regs.pstate = pstate;
	s->regs.pmr = system_uses_irq_prio_masking() ? GIC_PRIO_IRQON : 0;
	s->regs.pc = (unsigned long)addr;
}

/* The breakpoint. */
static void begin(struct kunit *test, struct stepped *s)
{
	unsigned long pstate = s->regs.pstate;

	KUNIT_EXPECT_EQ(test, kprobe_brk_handler(&s->regs, 0), DBG_HOOK_HANDLED);
	KUNIT_EXPECT_EQ(test, s->regs.pc, s->slot);
	KUNIT_EXPECT_EQ(test, s->regs.pstate, pstate | DAIF_MASK);
}

/* The one after the copy. */
static void end(struct kunit *test, struct stepped *s, unsigned long pstate)
{
	s->regs.pc += AARCH64_INSN_SIZE;
	KUNIT_EXPECT_EQ(test, kprobe_ss_brk_handler(&s->regs, 0), DBG_HOOK_HANDLED);
	KUNIT_EXPECT_EQ(test, s->regs.pc, (unsigned long)s->w.kp.addr + AARCH64_INSN_SIZE);
	KUNIT_EXPECT_EQ(test, s->regs.pstate, pstate);
}

/* A fault that ends a step takes over the masks of the program; these are the test's. */
static struct kprobe_masks own_masks(void)
{
	return (struct kprobe_masks){
		.daif	= read_sysreg(daif),
		.pmr	= system_uses_irq_prio_masking() ? gic_read_pmr() : 0,
	};
}

static void own_again(const struct kprobe_masks *own)
{
	if (system_uses_irq_prio_masking())
		gic_write_pmr(own->pmr);
	write_sysreg(own->daif, daif);
	trace_hardirqs_off();
}

static void fault(struct kunit *test, struct stepped *s, unsigned long pstate)
{
	struct kprobe_masks own = own_masks(), masks;
	int ret;

	ret = kprobe_fault_handler(&s->regs, ANY_ESR);
	masks = own_masks();
	own_again(&own);

	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_EQ(test, masks.daif, pstate & DAIF_MASK);
	KUNIT_EXPECT_EQ(test, masks.pmr, s->regs.pmr);
	KUNIT_EXPECT_EQ(test, s->regs.pc, (unsigned long)s->w.kp.addr);
	KUNIT_EXPECT_EQ(test, s->regs.pstate, pstate);
}

/* Some other fault, of an NMI. */
static void fault_elsewhere(struct kunit *test, unsigned long pc)
{
	struct pt_regs regs = { .pc = pc, .pstate = PSR_MODE_EL1h | PSR_I_BIT };

	KUNIT_EXPECT_EQ(test, kprobe_fault_handler(&regs, ANY_ESR), 0);
	KUNIT_EXPECT_EQ(test, regs.pc, pc);
	KUNIT_EXPECT_EQ(test, regs.pstate, PSR_MODE_EL1h | PSR_I_BIT);
}

/* Reports on a fault are about the instruction, and interrupts are as it had them. */
static void fault_of_step_is_one_of_the_instruction(struct kunit *test)
{
	const unsigned long *state = test->param_value;
	struct stepped s;

	prepare(test, &s, KPB_AT(deep_0), *state);
	scoped_guard(irqsave) {
		begin(test, &s);
		fault(test, &s, *state);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), NULL);

		/* Once there is a page, it is hit again. */
		begin(test, &s);
		end(test, &s, *state);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), NULL);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&s.w.pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&s.w.post), 1);
	unregister_kprobe(&s.w.kp);
}

static void other_faults_are_not_the_steps(struct kunit *test)
{
	const unsigned long *state = test->param_value;
	struct stepped s;

	prepare(test, &s, KPB_AT(deep_0), *state);
	scoped_guard(irqsave) {
		fault_elsewhere(test, s.slot);
		begin(test, &s);
		fault_elsewhere(test, (unsigned long)kpb_callee);
		fault_elsewhere(test, (unsigned long)s.w.kp.addr);
		fault_elsewhere(test, s.slot - KPROBE_STEP_OFFSET);
		fault_elsewhere(test, s.slot + AARCH64_INSN_SIZE);
		KUNIT_EXPECT_NOT_NULL(test, kprobe_running());
		end(test, &s, *state);
		fault_elsewhere(test, s.slot);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&s.w.post), 1);
	unregister_kprobe(&s.w.kp);
}

/* An NMI during a step hits another probe, whose step faults. */
static void fault_of_nested_step(struct kunit *test)
{
	const unsigned long *state = test->param_value;
	unsigned long inner_state = *state ^ PSR_I_BIT ^ PSR_Z_BIT;
	struct stepped outer, inner;

	prepare(test, &outer, KPB_AT(deep_0), *state);
	prepare(test, &inner, KPB_AT(load), inner_state);
	scoped_guard(irqsave) {
		begin(test, &outer);
		begin(test, &inner);
		fault_elsewhere(test, outer.slot);
		fault(test, &inner, inner_state);

		/* The outer step continues; the inner one restarts. */
		fault_elsewhere(test, inner.slot);
		begin(test, &inner);
		end(test, &inner, inner_state);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), get_kprobe(outer.w.kp.addr));
		fault(test, &outer, *state);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), NULL);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&outer.w.pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&outer.w.post), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner.w.pre), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner.w.post), 0);
	KUNIT_EXPECT_EQ(test, inner.w.kp.nmissed, 2);
	unregister_kprobe(&inner.w.kp);
	unregister_kprobe(&outer.w.kp);
}

/* The address that a report of a fault has. */
static unsigned long left(unsigned long pc)
{
	struct pt_regs regs = { .pc = pc, .pstate = PSR_MODE_EL1h };
	struct kprobe_masks own = own_masks();
	bool off = irqs_disabled();

	kprobe_leave_slot(&regs);
	if (off)
		own_again(&own);
	return regs.pc;
}

/* Even if it has a post handler, which is not called. */
static void nested_copies_branch_back(struct kunit *test)
{
	struct kp_watch w = { .kp = { .addr = KPB_AT(deep_0), .post_handler = kp_watch_post } };
	struct pt_regs regs = { .pc = (unsigned long)KPB_AT(deep_0), .pstate = PSR_MODE_EL1h };

	if (!kprobe_boosts())
		kunit_skip(test, "no copy branches back");

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), "stepped");
	scoped_guard(irqsave) {
		kprobe_busy_begin();
		KUNIT_EXPECT_EQ(test, kprobe_brk_handler(&regs, 0), DBG_HOOK_HANDLED);
		kprobe_busy_end();
	}
	KUNIT_EXPECT_EQ(test, regs.pstate, PSR_MODE_EL1h);
	KUNIT_EXPECT_EQ(test, regs.pc, (unsigned long)get_kprobe(w.kp.addr)->ainsn.insn +
				       KPROBE_BOOST_OFFSET);
	KUNIT_EXPECT_EQ(test, left(regs.pc), (unsigned long)w.kp.addr);
	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, w.kp.nmissed, 1);
}

/* As many hits as can be nested, each with different interrupt masks. */
static void steps_nest(struct kunit *test)
{
	kprobe_opcode_t *addr[] = {
		KPB_AT(deep_0), KPB_AT(deep_1), KPB_AT(deep_2), KPB_AT(deep_3), KPB_AT(deep_4),
		KPB_AT(deep_5), KPB_AT(deep_6), KPB_AT(deep_7), KPB_AT(deep_8),
	};
	struct stepped *s = kunit_kcalloc(test, ARRAY_SIZE(addr), sizeof(*s), GFP_KERNEL);
	unsigned int i;

	BUILD_BUG_ON(ARRAY_SIZE(addr) != KPROBE_MAX_NESTING + 1);
	KUNIT_ASSERT_NOT_NULL(test, s);
	for (i = 0; i < ARRAY_SIZE(addr); i++)
		prepare(test, &s[i], addr[i], PSR_MODE_EL1h | i * PSR_F_BIT);

	scoped_guard(irqsave) {
		for (i = 0; i < ARRAY_SIZE(addr); i++)
			begin(test, &s[i]);
		/* Every second one faults. */
		while (i--)
			(i & 1 ? fault : end)(test, &s[i], PSR_MODE_EL1h | i * PSR_F_BIT);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), NULL);
		KUNIT_EXPECT_EQ(test, get_kprobe_ctlblk()->depth, 0);
	}

	for (i = 0; i < ARRAY_SIZE(addr); i++) {
		KUNIT_EXPECT_EQ(test, atomic_read(&s[i].w.pre), !i);
		KUNIT_EXPECT_EQ(test, s[i].w.kp.nmissed, !!i);
		unregister_kprobe(&s[i].w.kp);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&s[0].w.post), 1);
}

/* Where no handlers are called, an instruction is executed, in whatever way. */
static void steps_nest_in_busy_sections(struct kunit *test)
{
	const unsigned long state = PSR_MODE_EL1h | PSR_I_BIT;
	struct stepped inner;
	struct kprobe *busy;

	prepare(test, &inner, KPB_AT(load), state);
	scoped_guard(irqsave) {
		kprobe_busy_begin();
		busy = kprobe_running();
		begin(test, &inner);
		fault(test, &inner, state);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), busy);
		begin(test, &inner);
		end(test, &inner, state);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), busy);
		kprobe_busy_end();
		KUNIT_EXPECT_PTR_EQ(test, kprobe_running(), NULL);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&inner.w.pre) + atomic_read(&inner.w.post), 0);
	KUNIT_EXPECT_EQ(test, inner.w.kp.nmissed, 2);
	unregister_kprobe(&inner.w.kp);
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
	struct pt_regs regs = { .pstate = PSR_MODE_EL1h | PSR_BTYPE_C };
	struct kprobe p = { .addr = KPB_AT(deep_0), .pre_handler = go_elsewhere };
	struct kprobe_masks own, masks;
	struct stepped s;

	regs.pc = (unsigned long)p.addr;
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	scoped_guard(irqsave)
		KUNIT_EXPECT_EQ(test, kprobe_brk_handler(&regs, 0), DBG_HOOK_HANDLED);
	unregister_kprobe(&p);
	KUNIT_EXPECT_EQ(test, regs.pc, (unsigned long)kpb_callee);
	KUNIT_EXPECT_EQ(test, regs.pstate, PSR_MODE_EL1h);

	/* But that of the instruction is checked where it is executed. */
	prepare(test, &s, KPB_AT(deep_0), PSR_MODE_EL1h | PSR_BTYPE_C);
	scoped_guard(irqsave) {
		begin(test, &s);
		fault(test, &s, PSR_MODE_EL1h | PSR_BTYPE_C);
	}
	unregister_kprobe(&s.w.kp);

	/* And that of a fault handler. As the step is over, its masks are, too. */
	prepare(test, &s, KPB_AT(deep_0), PSR_MODE_EL1h | PSR_BTYPE_C);
	unregister_kprobe(&s.w.kp);
	memset(&s.w, 0, sizeof(s.w));
	s.w.kp = (struct kprobe){ .addr = KPB_AT(deep_0), .fault_handler = redirect };
	KUNIT_ASSERT_EQ(test, register_kprobe(&s.w.kp), 0);
	s.slot = (unsigned long)get_kprobe(s.w.kp.addr)->ainsn.insn + KPROBE_STEP_OFFSET;
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
 * Copies that branch back
 */

/* No probe is current there, so the slots are asked. */
static void fault_of_boosted_copy_is_one_of_the_instruction(struct kunit *test)
{
	struct kp_watch w = { .kp = { .addr = KPB_AT(add), .pre_handler = kp_watch_pre } };
	unsigned long slot, at = (unsigned long)w.kp.addr;

	if (!kprobe_boosts())
		kunit_skip(test, "no copy branches back");

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), "boosted");
	slot = (unsigned long)get_kprobe(w.kp.addr)->ainsn.insn;
	KUNIT_EXPECT_EQ(test, left(slot + KPROBE_BOOST_OFFSET), at);
	KUNIT_EXPECT_EQ(test, left(at), at);
	KUNIT_EXPECT_EQ(test, left((unsigned long)kpb_callee), (unsigned long)kpb_callee);
	/* After the copy, and in the one that is stepped. */
	KUNIT_EXPECT_EQ(test, left(slot + KPROBE_BOOST_OFFSET + AARCH64_INSN_SIZE),
			at + AARCH64_INSN_SIZE);
	KUNIT_EXPECT_EQ(test, left(slot + KPROBE_STEP_OFFSET), at);
	KUNIT_EXPECT_EQ(test, left(slot + KPROBE_STEP_OFFSET + AARCH64_INSN_SIZE),
			at + AARCH64_INSN_SIZE);
	/* Not a copy, nor memory that may be read. */
	KUNIT_EXPECT_EQ(test, left(KP_BAD_ADDRESS), KP_BAD_ADDRESS);
	KUNIT_EXPECT_EQ(test, left(0), 0);
	unregister_kprobe(&w.kp);
}

#ifdef CONFIG_OPTPROBES
static void fault_of_detour_is_one_of_the_instruction(struct kunit *test)
{
	struct kp_watch w = { .kp = { .addr = KPB_AT(add), .pre_handler = kp_watch_pre } };
	unsigned long at = (unsigned long)w.kp.addr, detour;

	kprobe_test_allow_optimization(true);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(w.kp.addr));
	detour = at + aarch64_get_branch_offset(kpb_word(w.kp.addr));
	KUNIT_EXPECT_EQ(test, left(detour), at);
	KUNIT_EXPECT_EQ(test, left(detour + 5 * AARCH64_INSN_SIZE), at);
	KUNIT_EXPECT_NE(test, left(detour - AARCH64_INSN_SIZE), at);
	unregister_kprobe(&w.kp);
	kprobe_test_allow_optimization(false);
}
#else
static void fault_of_detour_is_one_of_the_instruction(struct kunit *test)
{
	kunit_skip(test, "needs OPTPROBES");
}
#endif

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
	KUNIT_CASE_PARAM(fault_of_each_kind_is_reported, fault_form_gen_params),
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

static struct kunit_suite fault_suite = {
	.name		= "kprobes_arm64_fault",
	.suite_init	= kp_without_jumps,
	.suite_exit	= kp_with_jumps,
	.test_cases	= fault_cases,
};
kunit_test_suite(fault_suite);

MODULE_DESCRIPTION("KUnit tests of faults and probes on arm64");
MODULE_LICENSE("GPL");
