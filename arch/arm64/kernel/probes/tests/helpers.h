/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What several suites share: functions to be probed, written in assembly, and probes
 * that record their hits.
 */
#ifndef _ARM64_KERNEL_PROBES_TESTS_HELPERS_H
#define _ARM64_KERNEL_PROBES_TESTS_HELPERS_H

#include <linux/kprobes.h>
#include <linux/kprobes-test.h>
#include <linux/preempt.h>

#include <asm/debug-monitors.h>
#include <asm/insn.h>

#include "../decode-insn.h"
#include "watch.h"
#include "words.h"

/* BTI C, which assemblers know by this name only from some architecture version on. */
#define KPB_LANDING_PAD		"	hint #34\n"

/*
 * KPB_FUNCTION(name, code): a function kpb_NAME() that takes its argument in x0 and
 * returns its result there. The probed instruction follows the label kpb_NAME_at,
 * which KPB_AT(name) is the address of.
 */
#define KPB_FUNCTION(name, code)					\
asm(".pushsection .text\n"						\
	".balign 16\n"							\
	".globl kpb_" #name "\n"					\
	".type kpb_" #name ", %function\n"				\
	"kpb_" #name ":\n"						\
	KPB_LANDING_PAD							\
	code "\n"							\
	"	ret\n"							\
	".size kpb_" #name ", . - kpb_" #name "\n"			\
	".popsection\n"							\
	".pushsection .rodata\n"					\
	".balign 8\n"							\
	".globl kpb_" #name "_at\n"					\
	"kpb_" #name "_at: .quad 777b\n"				\
	".popsection\n");						\
KPB_DECLARE(name)

/* Add 3 to their argument, in an instruction that is copied, and in a load. */
KPB_DECLARE(add);
KPB_DECLARE(load);
/* Adds 100 to its argument. */
KPB_DECLARE(callee);
/* Has an address, and loads 64 bits from it. */
KPB_DECLARE(bad_load);

/* The operand of kpb_load(). */
extern u64 kpb_data;

unsigned long kpb_run(void (*fn)(void), unsigned long arg);

/* What functions in assembly of probe_kunit.c and registers_kunit.c access. */
struct kpb_state {
	u64	regs[31];
	u64	nzcv;
	u64	sp;
	u64	daif;
};

extern struct kpb_state kpb_given, kpb_found, kpb_got;
extern u64 kpb_pointer, kpb_way_back;

/* The word in the text, whatever a probe hides. */
static inline u32 kpb_word(const void *addr)
{
	return le32_to_cpu(READ_ONCE(*(const __le32 *)addr));
}

/* Is there a breakpoint of a probe, or a jump to a detour? */
static inline bool kpb_has_breakpoint(const void *addr)
{
	return kpb_word(addr) == BRK64_OPCODE_KPROBES;
}

static inline bool kpb_has_jump(const void *addr)
{
	return aarch64_insn_is_b(kpb_word(addr));
}

#endif /* _ARM64_KERNEL_PROBES_TESTS_HELPERS_H */
