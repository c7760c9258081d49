/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code of arm64 to be probed, and tests of its instructions.
 */

#include <asm/neon.h>
#include <asm/simd.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

/* These need ftrace sites or jumps, which the base does not have. */
#define NOT_SEEN	"mixed_post again first_failed failed_post waits"
/* To kallsyms, the instruction is in the middle of the function. */
#define CODE_AT		".L"
#define CODE_SYMBOL(name)	".type defects_" #name ", %function\n"
#define CODE_BEGIN	"	bti c\n"
#define CODE_END	"	ret\n"

CODE(plain, PROBED(plain) "add x0, x0, #0\n");
CODE(other, PROBED(other) "add x0, x0, #0\n");

/* A load of a vector register from an address relative to the PC. */
CODE(literal,
     PROBED(literal) ".inst 0x5c000080\n"	/* ldr d0, 1f */
     "	.inst 0x9e660000\n"			/* fmov x0, d0 */
     "	ret\n"
     "	nop\n"
     "1:	.quad 0x123456789abcdef\n");

/* A load that is no exclusive one, so the probe is not between two that are. */
CODE(acquire,
     "	mov x8, sp\n"
     "	ldar w9, [x8]\n"
     PROBED(acquire) "add x0, x0, #0\n");

/* A store that is no exclusive one, so the probe is between two that are. */
CODE(exclusive,
     "	mov x8, sp\n"
     "	sub x8, x8, #16\n"
     "	ldxr w9, [x8]\n"
     "	stlr w9, [sp]\n"
     PROBED(exclusive) "add x0, x0, #0\n"
     "	stxr w10, w9, [x8]\n");

/* Never executed. */
CODE(undefined,
     PROBED(undefined) ".inst 0x00001234\n");	/* udf #0x1234 */
/* The same class of encodings, of which only SME is allocated, which the kernel does not use. */
CODE(unallocated,
     PROBED(unallocated) ".inst 0x00010000\n"
     "	.inst 0x01234567\n"
     "	.inst 0x60000000\n"
     "	.inst 0x80800000\n");			/* fmopa, of SME */
CODE(branches,
     PROBED(branches) ".inst 0x74000041\n"	/* cbgt w1, w0, . + 8 */
     "	.inst 0x5500001f\n"			/* retaasppc . */
     "	.inst 0xf380001f\n");			/* autiasppc . */
CODE(waits,
     PROBED(waits) ".inst 0xd5031000\n"	/* wfet x0 */
     "	.inst 0xd5031020\n");			/* wfit x0 */
CODE(exception,
     PROBED(exception) "mrs x0, spsr_el1\n"
     "	mrs x0, elr_el1\n"
     "	mrs x0, esr_el1\n"
     "	mrs x0, far_el1\n");

/* Reads from a user's page, which is not there yet. PAN allows such a load. */
CODE(user,
     PROBED(user) "ldtr x0, [x0]\n");

/* None of these instructions is a branch. */
static bool has_jump(void *addr)
{
	return (le32_to_cpu(READ_ONCE(*(__le32 *)addr)) & 0xfc000000) == 0x14000000;
}

/* Linux 6.12 has the calls, but not the scope. */
#ifndef scoped_ksimd
#define scoped_ksimd()							\
	for (bool entered = (kernel_neon_begin(), true); entered;	\
	     kernel_neon_end(), entered = false)
#endif

/* The right value, or no probe at all. */
DEFECT(literal, "LDR of a vector register from a literal reads beside the copy", wrong)
{
	struct kprobe kp = probe_on(defects_literal_at);
	long result;

	if (register_kprobe(&kp))
		return 0;
	scoped_ksimd()
		result = defects_literal(0);
	unregister_kprobe(&kp);
	return expect(result, 0x123456789abcdef);
}

DEFECT(acquire, "LDAR is taken for an exclusive load", "6.12=wrong 7.3=right")
	RETURNS(acquire, 1, 1)

DEFECT(exclusive, "STLR is taken for an exclusive store", "6.12=wrong 7.3=right")
	REFUSED(exclusive, 1)

DEFECT(undefined, "a probe on UDF, which is no instruction", wrong)
	REFUSED(undefined, 1)

DEFECT(unallocated, "a probe on words of the class of UDF, which are unallocated", wrong)
	REFUSED(unallocated, 4)

DEFECT(branches, "newer branches are executed out of line", wrong)
	REFUSED(branches, 3)

DEFECT(waits_until, "WFET and WFIT are executed out of line", wrong)
	REFUSED(waits, 2)

DEFECT(exception, "MRS of what the breakpoint itself has changed", wrong)
	REFUSED(exception, 4)

/* Before a function there may be data that ftrace owns. */
DEFECT(call_ops, "a probe on the data of ftrace before a function", wrong)
{
	if (!IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS))
		return wrong("no such data");
	return refused((void *)traced_g - 8, 1);
}

/*
 * A probe that is hit in a handler, on an instruction whose fault succeeds the second time.
 * Interrupts, which the handler had enabled, must be enabled afterwards. With a preemption count,
 * handlers cannot wait for the page, and loads with a fixup cannot be probed.
 */
static unsigned long user_page;
static bool irqs_lost;

static int read_user(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long flags;

	local_save_flags(flags);
	local_irq_enable();
	defects_user(user_page);
	irqs_lost = irqs_disabled();
	local_irq_restore(flags);
	return 0;
}

DEFECT(nested_fault, "after a fault at a nested probe, interrupts stay masked", "6.12=wrong")
{
	struct kprobe outer = { .addr = defects_plain_at, .pre_handler = read_user };
	struct kprobe inner = probe_on(defects_user_at);
	int ret;

	user_page = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (IS_ERR_VALUE(user_page))
		return wrong("no page");
	/* Stepped out of line, not boosted: only the former masks interrupts. */
	inner.post_handler = count_post;
	ret = register_kprobe(&inner);
	ret = ret ?: register_kprobe(&outer);
	if (ret)
		return wrong("no probe: %d", ret);
	defects_plain(1);
	unregister_kprobe(&outer);
	unregister_kprobe(&inner);
	vm_munmap(user_page, PAGE_SIZE);
	return irqs_lost ? wrong("interrupts are masked") : expect(inner.nmissed > 0, 1);
}

/*
 * A load that is stepped faults, and then something else does, before the kernel asks for
 * the probe of the first fault: a tracer of the function that handles both.
 */
static bool tracer_faults;
static long tracer_read;

static void notrace fault_in_tracer(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	char c;

	if (!tracer_faults)
		return;
	tracer_faults = false;
	/* Nothing is mapped there. */
	tracer_read = copy_from_user_nofault(&c, (void __user *)(user_page + PAGE_SIZE), 1);
}

DEFECT(other_fault,
       "a fault before that of the step has been handled is taken for it", "6.12=dies 7.3=right")
{
	static char handler[] = "do_mem_abort";
	static struct ftrace_ops ops = { .func = fault_in_tracer };
	struct kprobe kp = probe_on(defects_user_at);
	int ret;

	user_page = vm_mmap(NULL, 0, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (IS_ERR_VALUE(user_page) || vm_munmap(user_page + PAGE_SIZE, PAGE_SIZE))
		return wrong("no page");
	kp.post_handler = count_post;
	ret = ftrace_set_filter(&ops, handler, strlen(handler), 1);
	ret = ret ?: register_kprobe(&kp);
	ret = ret ?: register_ftrace_function(&ops);
	if (ret)
		return wrong("no probe or no tracer: %d", ret);
	tracer_faults = true;
	defects_user(user_page);
	unregister_ftrace_function(&ops);
	unregister_kprobe(&kp);
	vm_munmap(user_page, PAGE_SIZE);
	/* The load is hit again after its fault. */
	return expect(tracer_faults, false) ?: expect(tracer_read, -EFAULT) ?:
	       expect(atomic_read(&posts), 1);
}

/*
 * A handler redirects the landing pad of an indirect call. Where it goes is no landing pad,
 * so PSTATE must not ask for one.
 */
static unsigned long pstate_of_call, pstate_of_target;

static int go_to_other(struct kprobe *p, struct pt_regs *regs)
{
	pstate_of_call = regs->pstate;
	instruction_pointer_set(regs, (unsigned long)defects_other_at);
	return 1;
}

static int note_pstate(struct kprobe *p, struct pt_regs *regs)
{
	pstate_of_target = regs->pstate;
	return 0;
}

DEFECT(btype, "a redirected landing pad asks for another landing pad", wrong)
{
	long (*volatile fn)(long arg) = defects_plain;
	/* With post handlers, since jumps clear it. */
	struct kprobe call = {
		.addr = (void *)defects_plain,
		.pre_handler = go_to_other,
		.post_handler = count_post,
	};
	struct kprobe target = {
		.addr = defects_other_at,
		.pre_handler = note_pstate,
		.post_handler = count_post,
	};
	int ret = register_kprobe(&call);

	ret = ret ?: register_kprobe(&target);
	if (ret)
		return wrong("no probe: %d", ret);
	fn(1);
	unregister_kprobe(&target);
	unregister_kprobe(&call);
	/* Then this CPU has no BTI, and nothing is proven. */
	if (!(pstate_of_call & PSR_BTYPE_MASK)) {
		pr_info("no indirect call in %lx\n", pstate_of_call);
		return 1;
	}
	return expect(pstate_of_target & PSR_BTYPE_MASK, 0) ?:
	       expect(atomic_read(&posts), 1);
}

/* A tracer of what handles breakpoints, with a breakpoint in it. */
static void notrace tracer(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			   struct ftrace_regs *fregs)
{
	defects_other(1);
}

DEFECT(traced, "a breakpoint in a tracer is hit again by its own handlers", dies)
{
	static char handler[] = "do_el1_brk64";
	struct kprobe in_tracer = { .addr = defects_other_at, .post_handler = count_post };
	struct kprobe kp = probe_on(defects_plain_at);
	static struct ftrace_ops ops = { .func = tracer };
	int ret;

	/* Functions that cannot be traced are not found. */
	if (ftrace_set_filter(&ops, handler, strlen(handler), 1))
		return 0;
	ret = register_kprobe(&in_tracer);
	ret = ret ?: register_kprobe(&kp);
	ret = ret ?: register_ftrace_function(&ops);
	if (ret)
		return wrong("no probe or no tracer: %d", ret);
	defects_plain(1);
	unregister_ftrace_function(&ops);
	unregister_kprobe(&kp);
	unregister_kprobe(&in_tracer);
	return expect(atomic_read(&hits), 1);
}
