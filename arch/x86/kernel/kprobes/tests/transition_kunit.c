// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jumps that come and go: because of other probes inside the instructions that they
 * replace, and in large numbers.
 */

#include "suite.h"

#include <asm/asm.h>
#include <asm/ibt.h>

#include "detours.h"

/* Inside the instructions that a jump at the first of the no-ops replaces. */
struct neighbour {
	const char	*name;
	unsigned int	at;
};

static const struct neighbour neighbours[] = {
	{ "1 after", 1 },
	{ "2 after", 2 },
	{ "3 after", 3 },
	{ "4 after", 4 },
};
KUNIT_ARRAY_PARAM_DESC(neighbour, neighbours, name);

/* Probes of the first no-op, and of one after it: how they are hit, and how often so far. */
static void expect_neighbours(struct kunit *test, const struct kp_watch *a, bool a_jumps,
			      int a_hits, const struct kp_watch *b, int b_hits)
{
	KUNIT_EXPECT_EQ(test, is_live(a->kp.addr), a_jumps);
	KUNIT_EXPECT_EQ(test, first_byte(a->kp.addr),
			a_jumps ? JMP32_INSN_OPCODE : INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, kp_run(kpo_nops, 5), 5 + 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&a->pre), a_hits);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->pre), b_hits);
}

static void jump_yields_to_new_neighbour(struct kunit *test)
{
	const struct neighbour *n = test->param_value;
	struct kp_watch a = KP_WATCH(AT(nops));
	struct kp_watch b = KP_WATCH(AT(nops) + n->at);

	KP_REGISTER_AND_WAIT(test, &a.kp);
	KUNIT_EXPECT_TRUE(test, is_live(a.kp.addr));

	/* It copies the instruction, not the byte of the jump. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&b.kp), 0);
	KUNIT_EXPECT_FALSE(test, is_live(a.kp.addr));
	KUNIT_EXPECT_EQ(test, get_kprobe(b.kp.addr)->opcode, 0x90);
	wait_for_kprobe_optimizer();
	/* Some bytes in this kernel may look like a branch to it. */
	KUNIT_EXPECT_EQ(test, is_live(b.kp.addr), op_at(b.kp.addr)->why != KPROBE_NOOPT_TARGET);
	expect_neighbours(test, &a, false, 1, &b, 1);

	KUNIT_EXPECT_EQ(test, disable_kprobe(&b.kp), 0);
	wait_for_kprobe_optimizer();
	expect_neighbours(test, &a, true, 2, &b, 1);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&b.kp), 0);
	expect_neighbours(test, &a, false, 3, &b, 2);

	unregister_kprobe(&b.kp);
	wait_for_kprobe_optimizer();
	expect_neighbours(test, &a, true, 4, &b, 2);
	unregister_kprobe(&a.kp);
	KUNIT_EXPECT_EQ(test, first_byte(AT(nops)), 0x90);
	KUNIT_EXPECT_EQ(test, first_byte(AT(nops) + n->at), 0x90);
}

/* The first one is registered while there is another one in its way. */
static void jump_waits_for_registered_neighbour(struct kunit *test)
{
	const struct neighbour *n = test->param_value;
	struct kp_watch a = KP_WATCH(AT(nops));
	struct kp_watch b = KP_WATCH(AT(nops) + n->at);
	u8 text[MAX_OPTIMIZED_LENGTH];

	memcpy(text, AT(nops), sizeof(text));
	KP_REGISTER_AND_WAIT(test, &b.kp);
	if (op_at(b.kp.addr)->why == KPROBE_NOOPT_TARGET) {
		unregister_kprobe(&b.kp);
		kunit_skip(test, "some bytes in this kernel look like a jump there");
	}
	KUNIT_EXPECT_TRUE(test, is_live(b.kp.addr));

	KP_REGISTER_AND_WAIT(test, &a.kp);
	KUNIT_EXPECT_TRUE(test, is_live(b.kp.addr));
	KUNIT_EXPECT_EQ(test, first_byte(b.kp.addr), JMP32_INSN_OPCODE);
	expect_neighbours(test, &a, false, 1, &b, 1);

	KUNIT_EXPECT_EQ(test, disable_kprobe(&b.kp), 0);
	wait_for_kprobe_optimizer();
	expect_neighbours(test, &a, true, 2, &b, 1);

	KUNIT_EXPECT_EQ(test, enable_kprobe(&b.kp), 0);
	expect_neighbours(test, &a, false, 3, &b, 2);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(b.kp.addr));
	expect_neighbours(test, &a, false, 4, &b, 3);

	unregister_kprobe(&b.kp);
	wait_for_kprobe_optimizer();
	expect_neighbours(test, &a, true, 5, &b, 3);
	unregister_kprobe(&a.kp);
	KUNIT_EXPECT_EQ(test, memcmp(AT(nops), text, sizeof(text)), 0);
	KUNIT_EXPECT_EQ(test, kp_run(kpo_nops, 5), 5 + 3);
}

/* All of it before the worker runs. */
static void reused_site_forgets_neighbour(struct kunit *test)
{
	struct kp_watch a = KP_WATCH(AT(nops));
	struct kp_watch b = KP_WATCH(AT(nops) + 3);
	unsigned long want = kp_run(kpo_nops, 5);

	KP_REGISTER_AND_WAIT(test, &a.kp);
	unregister_kprobe(&a.kp);
	KUNIT_ASSERT_EQ(test, register_kprobe(&b.kp), 0);
	unregister_kprobe(&b.kp);
	a.kp = (struct kprobe) { .addr = AT(nops), .pre_handler = kp_watch_pre };
	KP_REGISTER_AND_WAIT(test, &a.kp);
	KUNIT_EXPECT_TRUE(test, is_live(a.kp.addr));
	KUNIT_EXPECT_EQ(test, first_byte(a.kp.addr), JMP32_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, kp_run(kpo_nops, 5), want);
	KP_UNWATCH(test, a, 1);
}

/*
 * Random functions, the same in each build. Each has STEPS steps, and forward jumps to
 * labels between them.
 */
#define STEPS		12
#define NR_RANDOM	64
/* Distance of two functions in bytes. */
#define RANDOM_SIZE	128

asm(".pushsection .text\n"
	".altmacro\n"
	".macro kpo_label fn, n\n"
	".Lkpo_random_\\fn\\()_\\n\\():\n"
	".endm\n"
	".macro kpo_branch op, fn, n\n"
	"	\\op .Lkpo_random_\\fn\\()_\\n\n"
	".endm\n"
	".set kpo_seed, 12345\n"
	".macro kpo_next\n"
	".set kpo_seed, (kpo_seed * 1103515245 + 12345) & 0x7fffffff\n"
	".set kpo_random, kpo_seed >> 12\n"
	".endm\n"
	".macro kpo_step fn, n\n"
	"	kpo_next\n"
	".set kpo_kind, kpo_random % 14\n"
	"	kpo_next\n"
	".set kpo_far, \\n + 1 + kpo_random % (" __stringify(STEPS) " - \\n)\n"
	".if kpo_kind == 0\n	add $3, %eax\n.endif\n"
	".if kpo_kind == 1\n	xor $0x55, %al\n.endif\n"
	".if kpo_kind == 2\n	rol $1, %eax\n.endif\n"
	".if kpo_kind == 3\n	test $4, %al\n	kpo_branch je, \\fn, %kpo_far\n.endif\n"
	".if kpo_kind == 4\n	cmp $9, %eax\n	kpo_branch ja, \\fn, %kpo_far\n.endif\n"
	".if kpo_kind == 5\n	push %" R "ax\n	pop %" R "cx\n.endif\n"
	".if kpo_kind == 6\n	lea 7(%" R "ax,%" R "ax,2), %eax\n.endif\n"
	".if kpo_kind == 7\n	call kpo_random_callee\n.endif\n"
	".if kpo_kind == 8\n	add kpo_word" RIP ", %eax\n.endif\n"
	".if kpo_kind == 9\n	mov %eax, %ecx\n	and $1, %ecx\n"
	"	kpo_branch " JRCXZ ", \\fn, %kpo_far\n.endif\n"
	".if kpo_kind == 10\n	mov $3, %ecx\n9:	inc %eax\n	loop 9b\n.endif\n"
	".if kpo_kind == 11\n	nop\n.endif\n"
	".if kpo_kind == 12\n	bt $2, %eax\n	kpo_branch jmp, \\fn, %kpo_far\n.endif\n"
	".if kpo_kind == 13\n	bt $5, %eax\n	adc $0, %eax\n.endif\n"
	".endm\n"
	".macro kpo_steps fn\n"
	".set kpo_n, 0\n"
	".rept " __stringify(STEPS) "\n"
	"	kpo_label \\fn, %kpo_n\n"
	"	kpo_step \\fn, %kpo_n\n"
	".set kpo_n, kpo_n + 1\n"
	".endr\n"
	"	kpo_label \\fn, %kpo_n\n"
	".endm\n"
	".globl kpo_random_callee\n"
	".type kpo_random_callee, @function\n"
	KP_LANDING(kpo_random_callee)
	"	add $11, %eax\n"
	ASM_RET
	".size kpo_random_callee, . - kpo_random_callee\n"
	".balign " __stringify(RANDOM_SIZE) ", 0xcc\n"
	".globl kpo_randoms\n"
	".type kpo_randoms, @function\n"
	"kpo_randoms:\n"
	".set kpo_fn, 0\n"
	".rept " __stringify(NR_RANDOM) "\n"
	".balign " __stringify(RANDOM_SIZE) ", 0xcc\n"
	ASM_ENDBR
	"	kpo_steps %kpo_fn\n"
	ASM_RET
	".set kpo_fn, kpo_fn + 1\n"
	".endr\n"
	".size kpo_randoms, . - kpo_randoms\n"
	".noaltmacro\n"
	".popsection\n");
void kpo_randoms(void);
STACK_FRAME_NON_STANDARD(kpo_randoms);

static void (*random_fn(unsigned int i))(void)
{
	unsigned long base = (unsigned long)kpo_randoms;

	OPTIMIZER_HIDE_VAR(base);
	return (void (*)(void))(base + i * RANDOM_SIZE);
}

struct random_test {
	struct kp_watch	w[NR_RANDOM];
	struct kprobe	*kps[NR_RANDOM];
	unsigned long	want[NR_RANDOM][ARRAY_SIZE(kpo_args)];
};

static void random_expect(struct kunit *test, struct random_test *r, unsigned int nth)
{
	unsigned int i, k;

	for (i = 0; i < NR_RANDOM; i++) {
		for (k = 0; k < ARRAY_SIZE(kpo_args); k++)
			KUNIT_EXPECT_EQ_MSG(test, kp_run(random_fn(i), kpo_args[k]),
					    r->want[i][k],
					    "function %u, instruction %u, argument %lx",
					    i, nth, kpo_args[k]);
	}
}

/* Where the nth instruction of a function starts, or NULL after its end. */
static u8 *random_insn(unsigned int i, unsigned int nth)
{
	u8 *at = (u8 *)random_fn(i) + (HAS_KERNEL_IBT ? ENDBR_INSN_SIZE : 0);
	struct insn insn;

	while (nth--) {
		if (insn_decode_kernel(&insn, at) || insn.opcode.bytes[0] == RET_INSN_OPCODE ||
		    insn.opcode.bytes[0] == JMP32_INSN_OPCODE)
			return NULL;
		at += insn.length;
	}

	return at;
}

/* Each instruction in turn, in all functions at once. */
static void random_functions_keep_their_results(struct kunit *test)
{
	struct random_test *r = kp_zalloc(test, sizeof(*r));
	unsigned int i, k, nth, nr, live = 0, all = 0;

	for (i = 0; i < NR_RANDOM; i++) {
		for (k = 0; k < ARRAY_SIZE(kpo_args); k++)
			r->want[i][k] = kp_run(random_fn(i), kpo_args[k]);
	}

	for (nth = 0; ; nth++) {
		memset(r->w, 0, sizeof(r->w));
		for (i = 0, nr = 0; i < NR_RANDOM; i++) {
			u8 *at = random_insn(i, nth);

			if (!at)
				continue;
			r->w[i].kp.addr = at;
			r->w[i].kp.pre_handler = kp_watch_pre;
			r->kps[nr++] = &r->w[i].kp;
		}
		if (!nr)
			break;

		KUNIT_ASSERT_EQ(test, register_kprobes(r->kps, nr), 0);
		/* While it is prepared, while it waits, and with a jump. */
		random_expect(test, r, nth);
		wait_for_kprobe_optimizer();
		for (i = 0; i < nr; i++)
			live += is_live(r->kps[i]->addr);
		all += nr;
		random_expect(test, r, nth);
		unregister_kprobes(r->kps, nr);
		random_expect(test, r, nth);
	}

	kunit_info(test, "%u of %u were optimized\n", live, all);
	KUNIT_EXPECT_GT(test, all, 10 * NR_RANDOM);
	KUNIT_EXPECT_GT(test, live, all / 2);
}

/* Synchronizations of all CPUs, counted by a probe on the function that does them. */
static struct kp_watch syncs;
static struct task_struct *syncs_of;

/* Those of the test, and of the worker that makes the jumps. */
static int sync_pre(struct kprobe *p, struct pt_regs *regs)
{
	if (current != syncs_of && !(current->flags & PF_WQ_WORKER))
		return 0;
	return kp_watch_pre(p, regs);
}

static void register_and_count(struct kunit *test, struct random_test *r,
			       unsigned int nr, int *come, int *go)
{
	unsigned int live = 0, i;

	wait_for_kprobe_optimizer();
	memset(r->w, 0, sizeof(r->w));
	for (i = 0; i < nr; i++) {
		r->w[i].kp.addr = random_insn(i, 0);
		r->w[i].kp.pre_handler = kp_watch_pre;
		r->kps[i] = &r->w[i].kp;
	}

	atomic_set(&syncs.pre, 0);
	KUNIT_ASSERT_EQ(test, register_kprobes(r->kps, nr), 0);
	wait_for_kprobe_optimizer();
	*come = atomic_read(&syncs.pre);
	for (i = 0; i < nr; i++)
		live += is_live(r->kps[i]->addr);
	KUNIT_EXPECT_GT(test, live, nr / 2);
	unregister_kprobes(r->kps, nr);
	*go = atomic_read(&syncs.pre) - *come;
	wait_for_kprobe_optimizer();
}

static void batch_is_optimized_in_one_pass(struct kunit *test)
{
	struct random_test *r = kp_zalloc(test, sizeof(*r));
	int come, go;

	syncs = (struct kp_watch)KP_WATCH_BY_NAME(__stringify(smp_text_poke_sync_each_cpu));
	syncs.kp.pre_handler = sync_pre;
	syncs_of = current;
	KUNIT_ASSERT_EQ(test, register_kprobe(&syncs.kp), 0);
	register_and_count(test, r, NR_RANDOM, &come, &go);
	kunit_info(test, "%d and %d for %u probes\n", come, go, NR_RANDOM);
	/*
	 * Breakpoints; after the wait; tail and head of the jumps. Others may free
	 * slots.
	 */
	KUNIT_EXPECT_GE(test, come, 4);
	KUNIT_EXPECT_LE(test, come, 4 + 2);
	KUNIT_EXPECT_GE(test, go, 3);
	KUNIT_EXPECT_LE(test, go, 3 + 2);
	unregister_kprobe(&syncs.kp);
}

static struct kunit_case transition_cases[] = {
	KUNIT_CASE_PARAM(jump_yields_to_new_neighbour, neighbour_gen_params),
	KUNIT_CASE_PARAM(jump_waits_for_registered_neighbour, neighbour_gen_params),
	KUNIT_CASE(reused_site_forgets_neighbour),
	KUNIT_CASE_SLOW(random_functions_keep_their_results),
	KUNIT_CASE(batch_is_optimized_in_one_pass),
	{}
};

KP_SUITE(transition_cases, .name = "kprobes_x86_transition");
