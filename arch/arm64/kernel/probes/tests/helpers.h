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

#include "../common.h"
#include "watch.h"
#include "words.h"

/* BTI C, which assemblers know by this name only from some architecture version on. */
#define KPB_LANDING_PAD		"	hint #34\n"

/* Registers to and from memory, each at its number times 8 from a base. */
#define KPB_STORE(regs, base)						\
	"	.irp n, " regs "\n"					\
	"	str x\\n, [" base ", #8 * \\n]\n"			\
	"	.endr\n"
#define KPB_LOAD(regs, base)						\
	"	.irp n, " regs "\n"					\
	"	ldr x\\n, [" base ", #8 * \\n]\n"			\
	"	.endr\n"

#define KPB_X2_TO_X15	"2,3,4,5,6,7,8,9,10,11,12,13,14,15"
#define KPB_X19_TO_X28	"19,20,21,22,23,24,25,26,27,28"

/* A frame with all that a function preserves; bytes 16 to 143 are free. */
#define KPB_PUSH							\
	"	stp x29, x30, [sp, #-256]!\n"				\
	"	mov x29, sp\n"						\
	KPB_STORE("18," KPB_X19_TO_X28, "sp")
#define KPB_POP								\
	KPB_LOAD("18," KPB_X19_TO_X28, "sp")				\
	"	ldp x29, x30, [sp], #256\n"

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

/* What functions in assembly of probe_kunit.c access. */
extern u64 kpb_pointer;

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
