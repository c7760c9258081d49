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
#include "helpers.h"

/* Caller-saved ones first, then the others; no sp. */
#define NR_REGS		15
#define REG_DI		5
#define REG_R15		14
#define NR_WORDS	(NR_REGS + 1)

/* The flags with defined values. */
#define FLAGS		0xcd5

#define DATA_SIZE	256

extern u64 kpa_state[];
extern void (*kpa_fn)(void);
extern u8 kpa_data[];

/*
 * What functions take and leave, di apart, which points to data. The result also has a hash of
 * kpa_data.
 */
struct kpa_machine {
	u64	r[NR_REGS];
	u64	flags;
	u64	memory;
};

/* Of one call at a time. */
u64 kpa_state[NR_WORDS];
void (*kpa_fn)(void);
u8 kpa_data[DATA_SIZE];

#define REGS	"rax,rcx,rdx,rbx,rsi,rdi,rbp,r8,r9,r10,r11,r12,r13,r14,r15"

KP_UNPROBED(kpa_call, KP_PUSH_SAVED
	"	pushq kpa_state + 8 * 15(%rip)\n"
	KP_LOAD_REGS(REGS, kpa_state)
	"	popfq\n"
	ANNOTATE_RETPOLINE_SAFE "\n"
	"	call *kpa_fn(%rip)\n"
	KP_STORE_REGS(REGS, kpa_state)
	"	pushfq\n"
	"	popq kpa_state + 8 * 15(%rip)\n"
	KP_POP_SAVED);
STACK_FRAME_NON_STANDARD(kpa_call);

static void before_call(struct kpa_machine *m, u8 *data)
{
	memcpy(kpa_data, data, sizeof(kpa_data));
	m->r[REG_DI] = (unsigned long)data;
	m->r[REG_R15] %= 4;
	/* Not the direction flag. */
	m->flags &= FLAGS & ~X86_EFLAGS_DF;
	m->flags |= X86_EFLAGS_FIXED | X86_EFLAGS_IF;
}

static void kpa_enter(struct kpa_machine *m, void (*fn)(void))
{
	kpa_fn = fn;
	memcpy(kpa_state, m, sizeof(kpa_state));
	kpa_call();
	memcpy(m, kpa_state, sizeof(kpa_state));
}

static void after_call(struct kpa_machine *m)
{
	m->r[REG_DI] = 0;
	m->flags &= FLAGS;
	m->memory = jhash(kpa_data, sizeof(kpa_data), 0);
}

static unsigned int insn_size(u8 *at)
{
	struct insn insn;

	return insn_decode_kernel(&insn, at) ? 0 : insn.length;
}

static bool is_skipped(const u8 *at)
{
	return *at == INT3_INSN_OPCODE || kprobe_is_landing_pad(*(const u32 *)at);
}

static bool is_breakpoint(const u8 *at)
{
	return *at == INT3_INSN_OPCODE;
}

/* Of those that are optimized. */
static unsigned int short_jumps, across_lines, across_pages;

/* Whether it is a jump that cannot be written atomically. */
static void count_live(const u8 *at)
{
	unsigned long addr = (unsigned long)at, last = addr + JMP32_INSN_SIZE - 1;

	if (*at == JMP8_INSN_OPCODE) {
		short_jumps++;
		return;
	}
	across_lines += addr / SMP_CACHE_BYTES != last / SMP_CACHE_BYTES;
	across_pages += addr / PAGE_SIZE != last / PAGE_SIZE;
}

#define LEAST_LIVE	50

#include "adversary_random.h"

static void adversary_random_functions(struct kunit *test)
{
	if (cpu_feature_enabled(X86_FEATURE_CALL_DEPTH))
		kunit_skip(test, "return thunks change flags that the functions depend on");

	short_jumps = 0;
	across_lines = 0;
	across_pages = 0;
	run_random_functions(test);
	kunit_info(test, "short jumps: %u, across cache lines: %u, across pages: %u\n",
		   short_jumps, across_lines, across_pages);
	/*
	 * Whether any spans two pages depends on the linker; jump_across_pages() does.
	 */
	KUNIT_EXPECT_GT(test, across_lines, 0);
}

static struct kunit_case adversary_cases[] = {
	KUNIT_CASE_SLOW(adversary_random_functions),
	{}
};

KP_SUITE(adversary_cases, .name = "kprobes_x86_adversary");
