// SPDX-License-Identifier: GPL-2.0-only
/*
 * The adversary of x86: random functions (gen_adversary.c), with an optimized probe on
 * each of their instructions in turn. Registers, flags and memory have to be the same
 * as without. kernel/kprobes/tests/adversary.c has the engine.
 */

#include "suite.h"

#include <linux/cache.h>
#include <linux/jhash.h>

#include <asm/ibt.h>
#include <asm/nospec-branch.h>

#include "../common.h"
#include "adversary.h"

/* Caller-saved ones first, then the others; no sp. */
#define NR_REGS		15
#define REG_DI		5
#define REG_R15		14
#define NR_WORDS	(NR_REGS + 1)

/* The flags with defined values. */
#define FLAGS		0xcd5

#define DATA_SIZE	256

/* From gen_adversary.c. */
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
	ANNOTATE_RETPOLINE_SAFE "\n"
	"	call *kpa_fn(%rip)\n"
	EACH_REG(STORE)
	"	pushfq\n"
	"	popq kpa_state + 8 * 15(%rip)\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	ASM_RET
	".size kpa_call, . - kpa_call\n"
	".popsection\n");
STACK_FRAME_NON_STANDARD(kpa_call);

/* What a function leaves behind. */
struct kpa_result {
	u64	state[NR_WORDS];
	u32	data, kpa_data;
};

/* Instructions that were probed without a post handler, and the outcome. */
static struct {
	unsigned int	all, live, short_jumps, across_lines, across_pages;
} counts;

static void fill(u64 seed, unsigned int round)
{
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, seed);
	prandom_bytes_state(&rnd, kpa_state, sizeof(kpa_state));
	prandom_bytes_state(&rnd, data, sizeof(data));
	prandom_bytes_state(&rnd, kpa_data, sizeof(kpa_data));

	/* Half of the values are small, so that comparisons go either way. */
	for (i = 0; i < NR_REGS; i++) {
		if (round % 2)
			kpa_state[i] = (s8)kpa_state[i];
	}
	kpa_state[REG_DI] = (unsigned long)data;
	kpa_state[REG_R15] %= 4;
	/* Not the direction flag. */
	kpa_state[NR_REGS] &= FLAGS & ~X86_EFLAGS_DF;
	kpa_state[NR_REGS] |= X86_EFLAGS_FIXED | X86_EFLAGS_IF;
}

static void call(void (*fn)(void), u64 seed, unsigned int round, struct kpa_result *got)
{
	fill(seed, round);
	kpa_fn = fn;
	kpa_call();
	memcpy(got->state, kpa_state, sizeof(kpa_state));
	got->state[NR_REGS] &= FLAGS;
	got->data = jhash(data, sizeof(data), 0);
	got->kpa_data = jhash(kpa_data, sizeof(kpa_data), 0);
}

static void complain(struct kunit *test, const char *what, const struct kpa_result *got,
		     const struct kpa_result *want)
{
	unsigned int i;

	for (i = 0; i < NR_WORDS; i++)
		KUNIT_EXPECT_EQ_MSG(test, got->state[i], want->state[i], "%s, word %u", what, i);
	KUNIT_EXPECT_EQ_MSG(test, got->data, want->data, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->kpa_data, want->kpa_data, "%s", what);
}

static u8 *nth_insn(u8 *at, u8 *end, unsigned int *n)
{
	struct insn insn;

	for (; at < end; at += insn.length) {
		if (insn_decode_kernel(&insn, at))
			return NULL;
		if (insn.opcode.bytes[0] == INT3_INSN_OPCODE || kprobe_is_landing_pad(*(u32 *)at))
			continue;
		if (!(*n)--)
			return at;
	}

	return NULL;
}

/* Whether it is a jump, and one that cannot be written atomically. */
static void count_jump(const u8 *at)
{
	unsigned long addr = (unsigned long)at, last = addr + JMP32_INSN_SIZE - 1;

	counts.all++;
	if (*at == INT3_INSN_OPCODE)
		return;

	counts.live++;
	if (*at == JMP8_INSN_OPCODE) {
		counts.short_jumps++;
		return;
	}
	counts.across_lines += addr / SMP_CACHE_BYTES != last / SMP_CACHE_BYTES;
	counts.across_pages += addr / PAGE_SIZE != last / PAGE_SIZE;
}

static const struct kpa_arch adversary_arch = {
	.functions	= kpa_functions,
	.end		= kpa_functions_end,
	.result_size	= sizeof(struct kpa_result),
	.call		= call,
	.complain	= complain,
	.insn		= nth_insn,
	.count		= count_jump,
};

static void adversary_random_functions(struct kunit *test)
{
	unsigned int nr = kpa_nr_functions(&adversary_arch);

	if (cpu_feature_enabled(X86_FEATURE_CALL_DEPTH))
		kunit_skip(test, "return thunks change flags that the functions depend on");

	memset(&counts, 0, sizeof(counts));
	KUNIT_EXPECT_GT(test, kpa_run(test, &adversary_arch), 10 * nr);
	kunit_info(test, "%u functions: of %u probes %u were optimized, %u with a short jump\n",
		   nr, counts.all, counts.live, counts.short_jumps);
	kunit_info(test, "jumps across cache lines: %u, across pages: %u\n",
		   counts.across_lines, counts.across_pages);
	KUNIT_EXPECT_GT(test, counts.live, counts.all / 2);
	/*
	 * Whether any spans two pages depends on the linker; jump_across_pages() does.
	 */
	KUNIT_EXPECT_GT(test, counts.across_lines, 0);
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
