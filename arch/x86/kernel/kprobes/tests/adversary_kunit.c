// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random functions (gen_adversary.c), with an optimized probe on each of their
 * instructions in turn. Registers, flags and memory have to be the same as without.
 */

#include <kunit/test.h>
#include <linux/crc32.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <linux/prandom.h>
#include <linux/vmalloc.h>

#include <asm/ibt.h>
#include <asm/nospec-branch.h>

#include "../common.h"

/* How often each function is called, each time with other registers. */
#define NR_RUNS		4

/* Caller-saved ones first, then the others; no sp. */
#define NR_REGS		15
#define REG_DI		5
#define REG_R15		14
#define NR_WORDS	(NR_REGS + 1)

/* The flags with defined values. */
#define FLAGS		0xcd5

#define DATA_SIZE	256

/* From gen_adversary.c. */
struct kpa_function {
	void		(*fn)(void);
	u32		size;
	s32		cold;		/* relative to itself, 0 if there is none */
	u32		cold_size;
	u32		unused;
};

extern const struct kpa_function kpa_functions[], kpa_functions_end[];
extern u64 kpa_state[];
extern void (*kpa_fn)(void);
extern u8 kpa_data[];
void kpa_call(void);

/* Registers, followed by the flags; of one call at a time. */
u64 kpa_state[NR_WORDS];
void (*kpa_fn)(void);
u8 kpa_data[DATA_SIZE];

/* The data that di points to. */
static u8 data[DATA_SIZE];

#define EACH_REG(op)							\
	op(0, rax) op(1, rcx) op(2, rdx) op(3, rbx) op(4, rsi)		\
	op(5, rdi) op(6, rbp) op(7, r8) op(8, r9) op(9, r10)		\
	op(10, r11) op(11, r12) op(12, r13) op(13, r14) op(14, r15)
#define LOAD(n, reg)	"	mov kpa_state + 8 * " #n "(%rip), %" #reg "\n"
#define STORE(n, reg)	"	mov %" #reg ", kpa_state + 8 * " #n "(%rip)\n"

asm(".pushsection .text\n"
	".type kpa_call, @function\n"
	"kpa_call:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	pushq kpa_state + 8 * 15(%rip)\n"
	EACH_REG(LOAD)
	"	popfq\n"
	ANNOTATE_RETPOLINE_SAFE
	"	call *kpa_fn(%rip)\n"
	EACH_REG(STORE)
	"	pushfq\n"
	"	popq kpa_state + 8 * 15(%rip)\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	ASM_RET
	".size kpa_call, . - kpa_call\n"
	".popsection\n");
STACK_FRAME_NON_STANDARD(kpa_call);

struct result {
	u64	state[NR_WORDS];
	u32	data, kpa_data;
};

struct probe {
	struct kprobe	kp;
	unsigned int	hits;
};

/* One for each function. */
struct subject {
	struct result	want[NR_RUNS];
	struct probe	probe;
	bool		probed;
	unsigned int	hits;		/* of a breakpoint, in all runs */
};

struct adversary {
	struct subject	*subjects;
	struct kprobe	**kps;
	unsigned int	nr;
	/* Instructions that were probed, and the outcome. */
	unsigned int	all, live, short_jumps, across_lines, across_pages;
};

static unsigned int nr_functions(void)
{
	return kpa_functions_end - kpa_functions;
}

static void fill(unsigned int fn, unsigned int run)
{
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, fn * NR_RUNS + run + 1);
	prandom_bytes_state(&rnd, kpa_state, sizeof(kpa_state));
	prandom_bytes_state(&rnd, data, sizeof(data));
	prandom_bytes_state(&rnd, kpa_data, sizeof(kpa_data));

	/* Half of the values are small, so that comparisons go either way. */
	for (i = 0; i < NR_REGS; i++) {
		if (run % 2)
			kpa_state[i] = (s8)kpa_state[i];
	}
	kpa_state[REG_DI] = (unsigned long)data;
	kpa_state[REG_R15] %= 4;
	/* Not the direction flag. */
	kpa_state[NR_REGS] &= FLAGS & ~X86_EFLAGS_DF;
	kpa_state[NR_REGS] |= X86_EFLAGS_FIXED | X86_EFLAGS_IF;
}

static void call(unsigned int fn, unsigned int run, struct result *got)
{
	fill(fn, run);
	kpa_fn = kpa_functions[fn].fn;
	kpa_call();
	memcpy(got->state, kpa_state, sizeof(kpa_state));
	got->state[NR_REGS] &= FLAGS;
	got->data = crc32(0, data, sizeof(data));
	got->kpa_data = crc32(0, kpa_data, sizeof(kpa_data));
}

/* Calls all functions and compares with the expected results. */
static void call_all(struct kunit *test, struct adversary *a, const char *when)
{
	struct result got;
	unsigned int fn, run, i;

	for (fn = 0; fn < nr_functions(); fn++) {
		struct subject *s = &a->subjects[fn];

		if (!s->probed)
			continue;
		for (run = 0; run < NR_RUNS; run++) {
			call(fn, run, &got);
			if (!memcmp(&got, &s->want[run], sizeof(got)))
				continue;
			for (i = 0; i < NR_WORDS; i++)
				KUNIT_EXPECT_EQ_MSG(test, got.state[i], s->want[run].state[i],
						    "%s: %pS, run %u, word %u", when,
						    s->probe.kp.addr, run, i);
			KUNIT_EXPECT_EQ_MSG(test, got.data, s->want[run].data, "%s: %pS, run %u",
					    when, s->probe.kp.addr, run);
			KUNIT_EXPECT_EQ_MSG(test, got.kpa_data, s->want[run].kpa_data,
					    "%s: %pS, run %u", when, s->probe.kp.addr, run);
		}
		cond_resched();
	}
}

static int probe_pre(struct kprobe *p, struct pt_regs *regs)
{
	container_of(p, struct probe, kp)->hits++;
	return 0;
}

static void probe_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

/* The nth instruction from an address on, or NULL. */
static u8 *nth_insn(u8 *at, u32 size, unsigned int *n)
{
	u8 *end = at + size;
	struct insn insn;

	for (; at < end; at += insn.length) {
		if (insn_decode_kernel(&insn, at))
			return NULL;
		if (insn.opcode.bytes[0] == INT3_INSN_OPCODE || is_endbr(*(u32 *)at))
			continue;
		if (!(*n)--)
			return at;
	}

	return NULL;
}

static u8 *insn_of(unsigned int fn, unsigned int n)
{
	const struct kpa_function *f = &kpa_functions[fn];
	u8 *at = nth_insn((u8 *)f->fn, f->size, &n);

	if (at || !f->cold)
		return at;
	return nth_insn((u8 *)&f->cold + f->cold, f->cold_size, &n);
}

/* One probe in each function. */
static unsigned int choose(struct adversary *a, unsigned int n, kprobe_post_handler_t post)
{
	unsigned int fn;

	a->nr = 0;
	for (fn = 0; fn < nr_functions(); fn++) {
		struct subject *s = &a->subjects[fn];
		u8 *at = insn_of(fn, n);

		s->probed = at;
		if (!at)
			continue;
		memset(&s->probe, 0, sizeof(s->probe));
		s->probe.kp.addr = at;
		s->probe.kp.pre_handler = probe_pre;
		s->probe.kp.post_handler = post;
		a->kps[a->nr++] = &s->probe.kp;
	}

	return a->nr;
}

/* Once for each execution. */
static void count_hits(struct kunit *test, struct adversary *a, unsigned int n)
{
	unsigned int fn;

	choose(a, n, probe_post);
	KUNIT_ASSERT_EQ(test, register_kprobes(a->kps, a->nr), 0);
	call_all(test, a, "breakpoint");
	for (fn = 0; fn < nr_functions(); fn++)
		a->subjects[fn].hits = a->subjects[fn].probe.hits;
	unregister_kprobes(a->kps, a->nr);
}

/* Whether it is a jump, and one that cannot be written atomically. */
static void count_jump(struct adversary *a, unsigned long addr)
{
	u8 opcode = *(u8 *)addr;
	unsigned long last = addr + JMP32_INSN_SIZE - 1;

	a->all++;
	if (opcode == INT3_INSN_OPCODE)
		return;

	a->live++;
	if (opcode == JMP8_INSN_OPCODE) {
		a->short_jumps++;
		return;
	}
	a->across_lines += addr / SMP_CACHE_BYTES != last / SMP_CACHE_BYTES;
	a->across_pages += addr / PAGE_SIZE != last / PAGE_SIZE;
}

static void optimize_and_compare(struct kunit *test, struct adversary *a, unsigned int n)
{
	unsigned int fn;

	choose(a, n, NULL);
	KUNIT_ASSERT_EQ(test, register_kprobes(a->kps, a->nr), 0);
	wait_for_kprobe_optimizer();
	for (fn = 0; fn < nr_functions(); fn++) {
		struct subject *s = &a->subjects[fn];

		if (s->probed)
			count_jump(a, (unsigned long)s->probe.kp.addr);
	}

	call_all(test, a, "optimized");
	for (fn = 0; fn < nr_functions(); fn++) {
		struct subject *s = &a->subjects[fn];

		if (!s->probed)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, s->probe.hits, s->hits, "%pS", s->probe.kp.addr);
		KUNIT_EXPECT_EQ_MSG(test, s->probe.kp.nmissed, 0, "%pS", s->probe.kp.addr);
	}
	unregister_kprobes(a->kps, a->nr);
}

static u32 text_sum(void)
{
	u32 sum = 0;
	unsigned int fn;

	for (fn = 0; fn < nr_functions(); fn++)
		sum = crc32(sum, kpa_functions[fn].fn, kpa_functions[fn].size);
	return sum;
}

static void adversary_random_functions(struct kunit *test)
{
	struct adversary a = {};
	unsigned int fn, run, n;
	u32 sum = text_sum();

	if (cpu_feature_enabled(X86_FEATURE_CALL_DEPTH))
		kunit_skip(test, "return thunks change flags that the functions depend on");

	a.subjects = vcalloc(nr_functions(), sizeof(*a.subjects));
	a.kps = kunit_kcalloc(test, nr_functions(), sizeof(*a.kps), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, a.subjects);
	KUNIT_ASSERT_NOT_NULL(test, a.kps);

	for (fn = 0; fn < nr_functions(); fn++) {
		for (run = 0; run < NR_RUNS; run++)
			call(fn, run, &a.subjects[fn].want[run]);
	}

	for (n = 0; choose(&a, n, NULL); n++) {
		count_hits(test, &a, n);
		optimize_and_compare(test, &a, n);
		if (test->status == KUNIT_FAILURE)
			break;
	}

	/* Including the bytes between the probed instructions. */
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, text_sum(), sum);
	kunit_info(test, "%u functions: of %u probes %u were optimized, %u with a short jump\n",
		   nr_functions(), a.all, a.live, a.short_jumps);
	kunit_info(test, "jumps across cache lines: %u, across pages: %u\n",
		   a.across_lines, a.across_pages);
	KUNIT_EXPECT_GT(test, a.all, 10 * nr_functions());
	KUNIT_EXPECT_GT(test, a.live, a.all / 2);
	/*
	 * Whether any spans two pages depends on the linker; jump_across_pages() does.
	 */
	KUNIT_EXPECT_GT(test, a.across_lines, 0);
	vfree(a.subjects);
}

static struct kunit_case adversary_cases[] = {
	KUNIT_CASE_SLOW(adversary_random_functions),
	{}
};

static struct kunit_suite adversary_suite = {
	.name		= "kprobes_x86_adversary",
	.test_cases	= adversary_cases,
};
kunit_test_suite(adversary_suite);

MODULE_DESCRIPTION("KUnit test of jump optimization with random functions");
MODULE_LICENSE("GPL");
