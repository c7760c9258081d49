// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of probed instructions, of their steps, and of handlers.
 */

#include <kunit/test.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/mman.h>
#include <linux/pgtable.h>
#include <linux/uaccess.h>

#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/segment.h>
#include <asm/smap.h>
#include <asm/trapnr.h>

#include "breakpoints.h"
#include "handler_faults.h"

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
	struct kp_watch w = {
		.kp = {
			.addr = kp_at(&f->place),
			.pre_handler = kp_watch_pre,
			.post_handler = kp_watch_post,
		},
	};

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

/* Reads from a user page, as get_user() does. */
FUNCTION(user_load, ALTERNATIVE("", __ASM_STAC, X86_FEATURE_SMAP) "\n"
	 "777: mov (" AX "), %eax; jmp 2f; 1: mov $-14, %eax; 2:\n"
	 ALTERNATIVE("", __ASM_CLAC, X86_FEATURE_SMAP) "\n"
	 _ASM_EXTABLE(777b, 1b));

static struct task_struct *faulting_task;

/* The page is faulted in with interrupts on, and the fault may sleep. */
static int page_in_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct kp_watch *w = container_of(p, struct kp_watch, kp);

	if (current == faulting_task)
		atomic_inc(regs->flags & X86_EFLAGS_IF ? &w->pre : &w->faults);
	return 0;
}

/* The step ends with the fault, and starts again once there is a page. */
static void page_fault_may_sleep(struct kunit *test)
{
	struct kp_watch w = {
		.kp = {
			.addr = AT(user_load),
			.pre_handler = kp_watch_pre,
			.post_handler = kp_watch_post,
		},
	};
	struct kp_watch page_in = {
		.kp = { .symbol_name = "handle_mm_fault", .pre_handler = page_in_pre },
	};
	unsigned long page;
	int count = preempt_count();

	page = kunit_vm_mmap(test, NULL, 0, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_LT(test, page, TASK_SIZE);
	KUNIT_ASSERT_NE(test, page, 0);
	/* As without probes. */
	KUNIT_ASSERT_EQ(test, (int)kp_run(kpx_user_load, page), 0);

	faulting_task = current;
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&page_in.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), "stepped");
	KUNIT_EXPECT_EQ(test, (int)kp_run(kpx_user_load, page + PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.post), 1);
	/* It was no longer inside a hit. */
	KUNIT_EXPECT_EQ(test, atomic_read(&page_in.pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&page_in.faults), 0);
	KUNIT_EXPECT_EQ(test, page_in.kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, preempt_count(), count);
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);

	/* Now that the page is there, nothing faults. */
	KUNIT_EXPECT_EQ(test, put_user(77, (int __user *)(page + PAGE_SIZE)), 0);
	KUNIT_EXPECT_EQ(test, (int)kp_run(kpx_user_load, page + PAGE_SIZE), 77);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 3);
	unregister_kprobe(&page_in.kp);
	unregister_kprobe(&w.kp);
}

static bool interrupts_in_step;

static int repair(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	interrupts_in_step = regs->flags & X86_EFLAGS_IF;
	atomic_inc(&container_of(p, struct kp_watch, kp)->faults);
	regs->ax = (unsigned long)&kpx_data;
	return 1;
}

static int redirect(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	atomic_inc(&container_of(p, struct kp_watch, kp)->faults);
	regs->ip = (unsigned long)kpx_callee;
	regs->ax = 1;
	return 1;
}

static int fault_again(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	long v;

	atomic_inc(&container_of(p, struct kp_watch, kp)->faults);
	return !get_kernel_nofault(v, (long *)KP_BAD_ADDRESS);
}

struct fault_action {
	const char		*name;
	kprobe_fault_handler_t	handler;
	long			result;
	int			posts;
};

static const struct fault_action fault_actions[] = {
	{ "repaired, the step continues", repair, 0x1234567, 1 },
	{ "redirected, the step is abandoned", redirect, 101, 0 },
	{ "its own fault is not reported", fault_again, -EFAULT, 0 },
};
KUNIT_ARRAY_PARAM_DESC(fault_action, fault_actions, name);

static void fault_handler_of_step(struct kunit *test)
{
	const struct fault_action *a = test->param_value;
	struct kp_watch w = {
		.kp = {
			.addr = AT(bad_load),
			.pre_handler = kp_watch_pre,
			.post_handler = kp_watch_post,
			.fault_handler = a->handler,
		},
	};

	interrupts_in_step = false;
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, (int)kp_run(kpx_bad_load, KP_BAD_ADDRESS), a->result);
	KUNIT_EXPECT_FALSE(test, interrupts_in_step);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.faults), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.post), a->posts);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());

	/* Nothing is left behind: no fault, no handler. */
	KUNIT_EXPECT_EQ(test, (int)kp_run(kpx_bad_load, (unsigned long)&kpx_data), 0x1234567);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.faults), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.post), a->posts + 1);
	KUNIT_EXPECT_EQ(test, w.kp.nmissed, 0);
	unregister_kprobe(&w.kp);
}

static void call_mov(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kp_run(kpx_mov, 4), 7);
}

/* A handler's fault is reported to its own probe, not to others at the site. */
static void handler_fault_goes_to_its_probe(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kp_handler_fault_goes_to_its_probe(test, AT(mov), call_mov),
			X86_TRAP_PF);
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

static void call_callee(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kp_run(kpx_callee, 1), 101);
}

static void interrupt_fault_is_not_the_handlers(struct kunit *test)
{
	kp_interrupt_fault_is_not_the_handlers(test, "kpx_callee", call_callee);
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE_PARAM(fixup_is_applied, fault_form_gen_params),
	KUNIT_CASE_PARAM(instruction_with_fixup_is_not_boosted, fault_form_gen_params),
	KUNIT_CASE(page_fault_may_sleep),
	KUNIT_CASE_PARAM(fault_handler_of_step, fault_action_gen_params),
	KUNIT_CASE(handler_fault_goes_to_its_probe),
	KUNIT_CASE_PARAM(handler_trap_goes_to_its_probe, handler_trap_gen_params),
	KUNIT_CASE_PARAM(only_traps_of_hits_are_offered, offered_gen_params),
	KUNIT_CASE(interrupt_fault_is_not_the_handlers),
	{}
};

static struct kunit_suite fault_suite = {
	.name		= "kprobes_x86_fault",
	.suite_init	= breakpoints_init,
	.suite_exit	= breakpoints_exit,
	.test_cases	= fault_cases,
};
kunit_test_suite(fault_suite);

MODULE_DESCRIPTION("KUnit tests of faults and probes on x86");
MODULE_LICENSE("GPL");
