// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything that can be attached to the entry of a function at the same time: a kprobe, a
 * return probe, a direct call of ftrace as BPF makes it, a function tracer and a tracer of
 * function graph. Each must be called, whoever came first and whoever leaves first.
 */

#include "suite.h"

#include "../optimizer.h"
#include "../site.h"
#include "signatures.h"

#if defined(CONFIG_X86_64)
#include <linux/text-patching.h>

#include <asm/ibt.h>
#include <asm/nospec-branch.h>

/* Called instead of ftrace, with two return addresses on the stack. */
#define TRAMPOLINE_CODE			\
	ASM_ENDBR			\
	"	pushq %rbp\n"		\
	"	movq %rsp, %rbp\n"	\
	CALL_DEPTH_ACCOUNT		\
	"	pushq %rdi\n"		\
	"	call kp_direct_called\n"	\
	"	popq %rdi\n"		\
	"	leave\n"		\
	ASM_RET

/* Jumped to instead of ftrace: it returns to the function, and IBT asks nothing of a RET. */
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_JMP
#define JUMPED_CODE			\
	ASM_ENDBR			\
	"	pushq kp_direct_after(%rip)\n" \
	"	pushq %rbp\n"		\
	"	movq %rsp, %rbp\n"	\
	CALL_DEPTH_ACCOUNT		\
	"	pushq %rdi\n"		\
	"	subq $8, %rsp\n"	\
	"	call kp_direct_called\n"	\
	"	addq $8, %rsp\n"	\
	"	popq %rdi\n"		\
	"	popq %rbp\n"		\
	ASM_RET
#endif
#elif defined(CONFIG_ARM64)
/* Called instead of ftrace: x30 leads back to the function, and x9 to its caller. */
#define TRAMPOLINE_CODE			\
	"	hint #34\n"		\
	"	stp x29, x9, [sp, #-32]!\n" \
	"	mov x29, sp\n"		\
	"	stp x0, x30, [sp, #16]\n" \
	"	bl kp_direct_called\n"	\
	"	ldp x0, x10, [sp, #16]\n" \
	"	ldp x29, x30, [sp], #32\n" \
	"	ret x10\n"
#endif

#ifdef TRAMPOLINE_CODE

asm(".pushsection .text, \"ax\"\n"
	".balign 16\n"
	".type kp_direct_trampoline, %function\n"
	"kp_direct_trampoline:\n"
	TRAMPOLINE_CODE
	".size kp_direct_trampoline, . - kp_direct_trampoline\n"
	".popsection\n");

void kp_direct_trampoline(void);
void kp_direct_called(unsigned long v);

#ifdef JUMPED_CODE
asm(".pushsection .text, \"ax\"\n"
	".balign 16\n"
	".type kp_direct_jumped, %function\n"
	"kp_direct_jumped:\n"
	JUMPED_CODE
	".size kp_direct_jumped, . - kp_direct_jumped\n"
	".popsection\n");

void kp_direct_jumped(void);
/* It does not return where its caller is. */
STACK_FRAME_NON_STANDARD(kp_direct_jumped);
/* Where the function continues after its ftrace site. */
unsigned long kp_direct_after;
#endif

static KP_TRACED(unsigned long, kp_direct_fn, v * 3 + 1)

/* Calls of each user, and those in which something was wrong. */
static unsigned int probed, entered, returned, called, traced, graph_entered, graph_returned;
static unsigned int wrong;
static unsigned long argument;

/**
 * kp_direct_called() - what the direct call calls
 * @v: the argument of the function
 *
 * Context: process context.
 */
notrace void kp_direct_called(unsigned long v)
{
	called++;
	wrong += v != argument;
}

static int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	probed++;
	return 0;
}

static struct kprobe probe;

static int probe_on(void)
{
	probe = (struct kprobe){ .symbol_name = "kp_direct_fn", .pre_handler = count_hit };
	return register_kprobe(&probe);
}

static void probe_off(void)
{
	unregister_kprobe(&probe);
}

#ifdef CONFIG_KRETPROBES
static int count_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	entered++;
	return 0;
}

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	returned++;
	wrong += regs_return_value(regs) != argument * 3 + 1;
	return 0;
}

static struct kretprobe return_probe;

static int return_on(void)
{
	return_probe = (struct kretprobe){
		.kp.symbol_name	= "kp_direct_fn",
		.entry_handler	= count_entry,
		.handler	= count_return,
	};
	return register_kretprobe(&return_probe);
}

static void return_off(void)
{
	unregister_kretprobe(&return_probe);
	wrong += return_probe.nmissed;
}
#endif

static unsigned long site_of_ftrace(void)
{
	return ftrace_location((unsigned long)kp_direct_fn);
}

static struct ftrace_ops direct;

#ifdef JUMPED_CODE
/* The site jumps to the trampoline, as it does for BPF programs that call the function. */
static bool by_jmp;

static unsigned long direct_target(void)
{
	if (!by_jmp)
		return (unsigned long)kp_direct_trampoline;

	kp_direct_after = site_of_ftrace() + MCOUNT_INSN_SIZE;
	return ftrace_jmp_set((unsigned long)kp_direct_jumped);
}
#else
static unsigned long direct_target(void)
{
	return (unsigned long)kp_direct_trampoline;
}
#endif

static int direct_on(void)
{
	/* ftrace does not forget the filters that it frees. */
	direct = (struct ftrace_ops){};
	return ftrace_set_filter_ip(&direct, site_of_ftrace(), 0, 0) ?:
	       register_ftrace_direct(&direct, direct_target());
}

static void direct_off(void)
{
	wrong += !!unregister_ftrace_direct(&direct, direct_target(), true);
}

static void notrace count_trace(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
				struct ftrace_regs *fregs)
{
	traced++;
}

/*
 * Allocated: ftrace lists statically allocated ops that have trampolines, and resetting such an
 * ops would corrupt the list.
 */
static struct ftrace_ops *tracer;

static int tracer_on(void)
{
	int ret;

	tracer = kzalloc_obj(*tracer);
	if (!tracer)
		return -ENOMEM;
	tracer->func = count_trace;
	ret = ftrace_set_filter_ip(tracer, site_of_ftrace(), 0, 0);
	ret = ret ?: register_ftrace_function(tracer);
	if (ret) {
		ftrace_free_filter(tracer);
		kfree(tracer);
	}
	return ret;
}

static void tracer_off(void)
{
	wrong += !!unregister_ftrace_function(tracer);
	ftrace_free_filter(tracer);
	kfree(tracer);
}

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
static KP_GRAPH_ENTRY(graph_entry)
{
	graph_entered++;
	return 1;
}

static KP_GRAPH_RETURN(graph_return)
{
	graph_returned++;
}

static struct fgraph_ops graph;

static int graph_on(void)
{
	graph = (struct fgraph_ops){ .entryfunc = graph_entry, .retfunc = graph_return };
	return ftrace_set_filter_ip(&graph.ops, site_of_ftrace(), 0, 0) ?:
	       register_ftrace_graph(&graph);
}

static void graph_off(void)
{
	unregister_ftrace_graph(&graph);
	ftrace_free_filter(&graph.ops);
}
#endif

static struct direct_user {
	const char	*name;
	int		(*on)(void);
	void		(*off)(void);
	/* What counts its calls; a return may have a counter of its own. */
	unsigned int	*calls, *returns;
	bool		attached;
} users[] = {
	{ "a kprobe", probe_on, probe_off, &probed },
	{ "a direct call", direct_on, direct_off, &called },
#ifdef CONFIG_KRETPROBES
	{ "a return probe", return_on, return_off, &entered, &returned },
#endif
	{ "a function tracer", tracer_on, tracer_off, &traced },
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	{ "function graph", graph_on, graph_off, &graph_entered, &graph_returned },
#endif
};

#define NR_USERS	ARRAY_SIZE(users)

static bool has_jump(void)
{
	struct kprobe_site *site;

	guard(mutex)(&kprobe_mutex);

	site = kprobe_site_at((unsigned long)probe.addr);
	return site && site->opt == KPROBE_OPT_LIVE;
}

/* Some probes go through ftrace; others may have to stay breakpoints. */
static void expect_jump(struct kunit *test, bool jump)
{
	u8 kind = 0, why = 0, at = 0;

	if (!IS_ENABLED(CONFIG_OPTPROBES))
		return;
	KUNIT_EXPECT_EQ(test, kprobe_test_forecast(probe.addr, &kind, &why, &at), 0);
	KUNIT_EXPECT_EQ(test, has_jump(), jump && !why);
}

/* Each of them is called once, and the function does what it does without them. */
static void expect_all(struct kunit *test, const char *when, const struct direct_user *who)
{
	unsigned long (*volatile fn)(unsigned long v) = kp_direct_fn;
	struct direct_user *u;

	for (u = users; u < users + NR_USERS; u++) {
		*u->calls = 0;
		if (u->returns)
			*u->returns = 0;
	}
	wrong = 0;
	argument++;
	KUNIT_EXPECT_EQ_MSG(test, fn(argument), argument * 3 + 1, "%s %s", when, who->name);
	for (u = users; u < users + NR_USERS; u++) {
		KUNIT_EXPECT_EQ_MSG(test, *u->calls, u->attached, "%s, %s %s", u->name, when,
				    who->name);
		if (u->returns)
			KUNIT_EXPECT_EQ_MSG(test, *u->returns, u->attached, "%s, %s %s", u->name,
					    when, who->name);
	}
	KUNIT_EXPECT_EQ_MSG(test, wrong, 0, "%s %s", when, who->name);
}

/* With jumps or breakpoints; who comes first, and who leaves first. */
static const struct order {
	const char	*name;
	bool		jump;
	unsigned int	first_on, first_off;
	bool		backwards_on, backwards_off;
} orders[] = {
	{ "jump, in order; out in order", true, 0, 0, false, false },
	{ "jump, in order; out backwards", true, 0, NR_USERS - 1, false, true },
	{ "jump, backwards; out in order", true, NR_USERS - 1, 0, true, false },
	{ "jump, backwards; out backwards", true, NR_USERS - 1, NR_USERS - 1, true, true },
	{ "jump, from the third; out from the second", true, 2, 1, false, false },
	{ "jump, back from the second; out from the third", true, 1, 2, true, false },
	{ "breakpoint, in order; out in order", false, 0, 0, false, false },
	{ "breakpoint, in order; out backwards", false, 0, NR_USERS - 1, false, true },
	{ "breakpoint, backwards; out in order", false, NR_USERS - 1, 0, true, false },
	{ "breakpoint, backwards; out backwards", false, NR_USERS - 1, NR_USERS - 1, true, true },
	{ "breakpoint, from the third; out from the second", false, 2, 1, false, false },
	{ "breakpoint, back from the second; out from the third", false, 1, 2, true, false },
};
KUNIT_ARRAY_PARAM_DESC(order, orders, name);

static struct direct_user *in_order(unsigned int i, unsigned int first, bool backwards)
{
	return &users[(first + (backwards ? NR_USERS - i : i)) % NR_USERS];
}

static void beside_all_others(struct kunit *test, const struct order *o)
{
	struct direct_user *u;
	unsigned int i;

	kprobe_test_allow_optimization(o->jump);
	for (i = 0; i < NR_USERS; i++) {
		u = in_order(i, o->first_on, o->backwards_on);
		u->attached = !u->on();
		KUNIT_EXPECT_TRUE_MSG(test, u->attached, "%s", u->name);
		expect_all(test, "right after", u);
		wait_for_kprobe_optimizer();
		expect_all(test, "after", u);
	}
	expect_jump(test, o->jump);

	for (i = 0; i < NR_USERS; i++) {
		u = in_order(i, o->first_off, o->backwards_off);
		if (!u->attached)
			continue;
		wrong = 0;
		u->off();
		KUNIT_EXPECT_EQ_MSG(test, wrong, 0, "end of %s", u->name);
		u->attached = false;
		expect_all(test, "without", u);
	}
	kprobe_test_allow_optimization(true);
}

static void direct_beside_all_others(struct kunit *test)
{
	beside_all_others(test, test->param_value);
}

#ifdef JUMPED_CODE
static void direct_jump_beside_all_others(struct kunit *test)
{
	by_jmp = true;
	beside_all_others(test, test->param_value);
	by_jmp = false;
}

/* The instructions after the site are found, probed and optimized as if it had a call. */
static void direct_jump_before_a_probe(struct kunit *test)
{
	struct kprobe p = { .pre_handler = count_hit };
	unsigned long (*volatile fn)(unsigned long v) = kp_direct_fn;
	u8 kind[2], why[2], at[2];

	p.addr = (void *)site_of_ftrace() + MCOUNT_INSN_SIZE;
	KUNIT_EXPECT_EQ(test, kprobe_test_forecast(p.addr, &kind[0], &why[0], &at[0]), 0);
	by_jmp = true;
	KUNIT_ASSERT_EQ(test, direct_on(), 0);
	KUNIT_EXPECT_EQ(test, *(u8 *)site_of_ftrace(), JMP32_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, kprobe_test_forecast(p.addr, &kind[1], &why[1], &at[1]), 0);
	KUNIT_EXPECT_EQ(test, kind[1], kind[0]);
	KUNIT_EXPECT_EQ(test, why[1], why[0]);

	KUNIT_EXPECT_EQ(test, register_kprobe(&p), 0);
	wait_for_kprobe_optimizer();
	probed = 0;
	called = 0;
	argument = 7;
	KUNIT_EXPECT_EQ(test, fn(7), 22);
	KUNIT_EXPECT_EQ(test, probed, 1);
	KUNIT_EXPECT_EQ(test, called, 1);
	unregister_kprobe(&p);
	direct_off();
	by_jmp = false;
}
#endif

/* A jump comes and goes under the others. */
static void direct_while_jumps_come_and_go(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NR_USERS; i++) {
		users[i].attached = !users[i].on();
		KUNIT_EXPECT_TRUE_MSG(test, users[i].attached, "%s", users[i].name);
	}
	for (i = 0; i < 4; i++) {
		kprobe_test_allow_optimization(i & 1);
		wait_for_kprobe_optimizer();
		expect_jump(test, i & 1);
		expect_all(test, i & 1 ? "by jump, like" : "by breakpoint, like", users);
	}
	for (i = 0; i < NR_USERS; i++) {
		if (users[i].attached)
			users[i].off();
		users[i].attached = false;
	}
	kprobe_test_allow_optimization(true);
	expect_all(test, "without", users);
}

/* As the trampoline of BPF programs answers while it is being changed. */
static KP_OPS_FUNC(is_being_changed)
{
	return -EAGAIN;
}

/* Where ftrace calls the probe, one with a post handler needs the consent of the other. */
static void direct_is_being_changed(struct kunit *test)
{
	struct kprobe post = { .symbol_name = "kp_direct_fn", .post_handler = kp_nothing_post };
	int err;

	KUNIT_ASSERT_EQ(test, direct_on(), 0);
	direct.ops_func = is_being_changed;
	err = register_kprobe(&post);
	KUNIT_EXPECT_EQ(test, err, IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) ? -EAGAIN : 0);
	if (!err)
		unregister_kprobe(&post);
	direct_off();

	post.addr = NULL;
	post.flags = 0;
	KUNIT_EXPECT_EQ(test, register_kprobe(&post), 0);
	unregister_kprobe(&post);
}

static int direct_test_init(struct kunit *test)
{
	KP_SKIP_IF(test, !site_of_ftrace(), "the function has no ftrace site");
	return 0;
}

static struct kunit_case direct_cases[] = {
	KUNIT_CASE_PARAM(direct_beside_all_others, order_gen_params),
#ifdef JUMPED_CODE
	KUNIT_CASE_PARAM(direct_jump_beside_all_others, order_gen_params),
	KUNIT_CASE(direct_jump_before_a_probe),
#endif
	KUNIT_CASE(direct_while_jumps_come_and_go),
	KUNIT_CASE(direct_is_being_changed),
	{}
};

KP_SUITE(direct_cases, .name = "kprobes_direct", .init = direct_test_init);

#endif /* TRAMPOLINE_CODE */
