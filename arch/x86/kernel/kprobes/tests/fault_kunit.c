// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of probed instructions, of their steps, and of handlers.
 */

#include "suite.h"

#include <linux/kdebug.h>

#include <asm/asm.h>
#include <asm/segment.h>
#include <asm/trapnr.h>

#include "breakpoints.h"
#include "targets.h"

/* A page fault, a protection fault and other traps, each with a fixup. */
FUNCTION(bad_load, "777: mov (" AX "), %eax; jmp 2f; 1: mov $-14, %eax; 2:\n"
	 _ASM_EXTABLE(777b, 1b));
FUNCTION(bad_segment, "777: mov %eax, %es; jmp 2f; 1: mov $-22, %eax; 2:\n"
	 _ASM_EXTABLE(777b, 1b));

FUNCTION(bad_divide, "777: div %al; jmp 2f; 1: mov $-33, %eax; 2:\n"
	 _ASM_EXTABLE(777b, 1b));
/* Nothing has enabled VMX. */
FUNCTION(bad_vmread, "777: vmread " AX ", " AX "; 1: mov $-95, %eax\n"
	 _ASM_EXTABLE(777b, 1b));

struct fault_form {
	const char	*name;
	struct kp_place	place;
	unsigned long	bad;
	int		err;
	int		trapnr;
};

static const struct fault_form fault_forms[] = {
	{ "page fault", PLACE(bad_load), KP_BAD_ADDRESS, -EFAULT,
	  X86_TRAP_PF },
	{ "protection fault", PLACE(bad_segment), 0xfff8, -EINVAL,
	  X86_TRAP_GP },
	{ "divide error", PLACE(bad_divide), 0, -EDOM, X86_TRAP_DE },
	{ "invalid opcode", PLACE(bad_vmread), 0, -EOPNOTSUPP, X86_TRAP_UD },
};
KUNIT_ARRAY_PARAM_DESC(fault_form, fault_forms, name);

/* The exception table entry of the instruction applies to its copy. */
static void fixup_is_applied(struct kunit *test)
{
	const struct fault_form *f = test->param_value;
	struct kp_watch w = KP_WATCH_BOTH(kp_at(&f->place));

	KUNIT_ASSERT_EQ(test, (int)kp_run(f->place.fn, f->bad), f->err);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(kp_at(&f->place)), "stepped");
	KUNIT_EXPECT_EQ(test, (int)kp_run(f->place.fn, f->bad), f->err);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.post), 0);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
	unregister_kprobe(&w.kp);

	/* First reported to a fault handler, which does not handle it. */
	memset(&w, 0, sizeof(w));
	w.kp.addr = kp_at(&f->place);
	w.kp.fault_handler = kp_watch_fault;
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, (int)kp_run(f->place.fn, f->bad), f->err);
	/* Traps other than page faults are reported only if the copy has no fixup. */
	KUNIT_EXPECT_EQ(test, atomic_read(&w.faults), 1);
	KUNIT_EXPECT_EQ(test, w.trapnr, f->trapnr);
	unregister_kprobe(&w.kp);
}

/* A fault of a copy that runs by itself would not be attributed to any probe. */
static void instruction_with_fixup_is_not_boosted(struct kunit *test)
{
	const struct fault_form *f = test->param_value;
	struct kp_watch w = { .kp.pre_handler = kp_watch_pre };
	int balance = preempt_count();

	w.kp.addr = kp_at(&f->place);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(kp_at(&f->place)), "stepped");
	KUNIT_EXPECT_EQ(test, (int)kp_run(f->place.fn, f->bad), f->err);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	KUNIT_EXPECT_EQ(test, preempt_count(), balance);
	unregister_kprobe(&w.kp);
}

/*
 * Other traps, which are reported through the die chain; #SS takes the same path as
 * #DE.
 */

static int dividing_pre(struct kprobe *p, struct pt_regs *regs)
{
	unsigned int ax = 1, zero = 0;

	asm volatile("divb %b[zero]" : "+a" (ax) : [zero] "c" (zero) : "cc");
	atomic_inc(&container_of(p, struct kp_watch, kp)->pre);
	return 0;
}

static int undefined_pre(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long dx = 0;

	/* Nothing has enabled VMX. */
	asm volatile("vmread %[dx], %[dx]" : [dx] "+d" (dx) : : "cc");
	atomic_inc(&container_of(p, struct kp_watch, kp)->pre);
	return 0;
}

static int fixed_up_pre(struct kprobe *p, struct pt_regs *regs)
{
	unsigned int ax = 1, zero = 0;

	asm volatile("1: divb %b[zero]; 2:\n" _ASM_EXTABLE(1b, 2b)
		     : "+a" (ax) : [zero] "c" (zero) : "cc");
	atomic_inc(&container_of(p, struct kp_watch, kp)->pre);
	return 0;
}

struct handler_trap {
	const char		*name;
	kprobe_pre_handler_t	handler;
	int			trapnr, faults;
};

static const struct handler_trap handler_traps[] = {
	{ "divide error", dividing_pre, X86_TRAP_DE, 1 },
	{ "invalid opcode", undefined_pre, X86_TRAP_UD, 1 },
	{ "its own fixup comes first", fixed_up_pre, 0, 0 },
};
KUNIT_ARRAY_PARAM_DESC(handler_trap, handler_traps, name);

static int skip_insn(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	struct kp_watch *w = container_of(p, struct kp_watch, kp);
	struct insn insn;

	w->trapnr = trapnr;
	atomic_inc(&w->faults);
	if (insn_decode_kernel(&insn, (void *)regs->ip))
		return 0;
	regs->ip += insn.length;
	return 1;
}

static void handler_trap_goes_to_its_probe(struct kunit *test)
{
	const struct handler_trap *t = test->param_value;
	struct kp_watch w = {
		.kp = {
			.addr = AT(mov),
			.pre_handler = t->handler,
			.fault_handler = skip_insn,
		},
	};

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, kp_run(kpx_mov, 4), 7);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.faults), t->faults);
	KUNIT_EXPECT_EQ(test, w.trapnr, t->trapnr);
	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
}

/* Of what the die chain reports, only a trap of kernel code in a hit is for a handler. */
struct offered {
	const char	*name;
	unsigned long	val;
	int		trapnr;
	bool		user;
	int		ret;
};

static const struct offered offers[] = {
	{ "divide error",		DIE_TRAP,  X86_TRAP_DE, false, NOTIFY_STOP },
	{ "no trap",			DIE_DEBUG, X86_TRAP_DE, false, NOTIFY_DONE },
	{ "trap of a program",		DIE_TRAP,  X86_TRAP_DE, true,  NOTIFY_DONE },
	{ "double fault",		DIE_TRAP,  X86_TRAP_DF, false, NOTIFY_DONE },
};
KUNIT_ARRAY_PARAM_DESC(offered, offers, name);

static const struct offered *offer;
static int offer_ret;

/* As if the handler had divided by zero at an address without a fixup. */
static int offer_trap(const struct pt_regs *now)
{
	struct pt_regs regs = *now;
	struct die_args args = { .regs = &regs, .trapnr = offer->trapnr };

	if (offer->user)
		regs.cs = __USER_CS;
	return kprobe_exceptions_notify(NULL, offer->val, &args);
}

static int offering_pre(struct kprobe *p, struct pt_regs *regs)
{
	offer_ret = offer_trap(regs);
	return 0;
}

static int settle_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	atomic_inc(&container_of(p, struct kp_watch, kp)->faults);
	return 1;
}

static void only_traps_of_hits_are_offered(struct kunit *test)
{
	struct kp_watch w = {
		.kp = {
			.addr = AT(mov),
			.pre_handler = offering_pre,
			.fault_handler = settle_fault,
		},
	};
	struct pt_regs regs = { .cs = __KERNEL_CS, .ip = (unsigned long)w.kp.addr };

	offer = test->param_value;
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, kp_run(kpx_mov, 4), 7);
	KUNIT_EXPECT_EQ(test, offer_ret, offer->ret);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.faults), offer->ret == NOTIFY_STOP);

	/* Outside of a hit, and in a busy section, which has no handlers. */
	KUNIT_EXPECT_EQ(test, offer_trap(&regs), NOTIFY_DONE);
	scoped_guard(preempt)
		offer_ret = offer_trap(&regs);
	KUNIT_EXPECT_EQ(test, offer_ret, NOTIFY_DONE);
	kprobe_busy_begin();
	offer_ret = offer_trap(&regs);
	kprobe_busy_end();
	KUNIT_EXPECT_EQ(test, offer_ret, NOTIFY_DONE);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.faults), offer->ret == NOTIFY_STOP);
	unregister_kprobe(&w.kp);
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE_PARAM(fixup_is_applied, fault_form_gen_params),
	KUNIT_CASE_PARAM(instruction_with_fixup_is_not_boosted, fault_form_gen_params),
	KUNIT_CASE_PARAM(handler_trap_goes_to_its_probe, handler_trap_gen_params),
	KUNIT_CASE_PARAM(only_traps_of_hits_are_offered, offered_gen_params),
	{}
};

KP_SUITE(fault_cases, .name = "kprobes_x86_fault",
	 .suite_init = kp_without_jumps, .suite_exit = kp_with_jumps);
