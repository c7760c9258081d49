/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code of arm64 to be probed, and tests of its instructions.
 */

#include <asm/neon.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/mman.h>

#define CODE(name, text)						\
	long defects_##name(long arg);					\
	extern kprobe_opcode_t defects_##name##_at[]			\
		asm(".Ldefects_" #name "_at");				\
	asm(".pushsection .text, \"ax\"\n"				\
	    ".balign 16\n"						\
	    ".type defects_" #name ", %function\n"			\
	    "defects_" #name ":\n"					\
	    "	bti c\n"						\
	    text							\
	    "	ret\n"							\
	    ".size defects_" #name ", . - defects_" #name "\n"		\
	    ".popsection\n")

/* The instruction that gets the probe. To kallsyms, it is in the middle of the function. */
#define PROBED(name)	".Ldefects_" #name "_at: "

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
CODE(branches,
     PROBED(branches) ".inst 0x74000041\n"	/* cbgt w1, w0, . + 8 */
     "	.inst 0x5500001f\n"			/* retaasppc . */
     "	.inst 0xf380001f\n");			/* autiasppc . */
CODE(exception,
     PROBED(exception) "mrs x0, spsr_el1\n"
     "	mrs x0, elr_el1\n"
     "	mrs x0, esr_el1\n"
     "	mrs x0, far_el1\n");

/* Reads from a user's page, which is not there yet. */
CODE(user,
     PROBED(user) "ldr x0, [x0]\n");

/* None of these instructions is a branch. */
static bool has_jump(void *addr)
{
	return (le32_to_cpu(READ_ONCE(*(__le32 *)addr)) & 0xfc000000) == 0x14000000;
}

static int refused(void *at)
{
	struct kprobe kp = probe_on(at);
	int ret = register_kprobe(&kp);

	if (!ret)
		unregister_kprobe(&kp);
	return ret ? 0 : wrong("accepted at %pS", at);
}

/* The right value, or no probe at all. */
static int literal(void)
{
	struct kprobe kp = probe_on(defects_literal_at);
	long result;

	if (register_kprobe(&kp))
		return 0;
	kernel_neon_begin();
	result = defects_literal(0);
	kernel_neon_end();
	unregister_kprobe(&kp);
	return expect(result, 0x123456789abcdef);
}

static int acquire(void)
{
	struct kprobe kp = probe_on(defects_acquire_at);
	int ret = register_kprobe(&kp);

	if (ret)
		return wrong("no probe: %d", ret);
	defects_acquire(1);
	unregister_kprobe(&kp);
	return expect(atomic_read(&hits), 1);
}

static int exclusive(void)
{
	return refused(defects_exclusive_at);
}

static int undefined(void)
{
	return refused(defects_undefined_at);
}

static int branches(void)
{
	return refused(defects_branches_at) ?: refused(defects_branches_at + 1) ?:
	       refused(defects_branches_at + 2);
}

static int exception(void)
{
	int i, bad = 0;

	for (i = 0; i < 4; i++)
		bad |= refused(defects_exception_at + i);
	return bad;
}

/* Before a function there may be data that ftrace owns. */
static int call_ops(void)
{
	if (!IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS))
		return wrong("no such data");
	return refused((void *)traced_g - 8);
}

/*
 * A probe that is hit in a handler, on an instruction whose fault succeeds the second time.
 * Interrupts, which the handler had enabled, must be enabled afterwards.
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

static int nested_fault(void)
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

/* A tracer of what handles breakpoints, with a breakpoint in it. */
static void notrace tracer(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			   struct ftrace_regs *fregs)
{
	defects_other(1);
}

static int traced(void)
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

#define ARCH_TESTS							\
	{ "literal", literal }, { "acquire", acquire },			\
	{ "exclusive", exclusive }, { "undefined", undefined },		\
	{ "branches", branches }, { "exception", exception },		\
	{ "call_ops", call_ops }, { "nested_fault", nested_fault },	\
	{ "traced", traced },
