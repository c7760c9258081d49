/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What several suites share: functions to be probed, written in assembly, and
 * probes that record their hits.
 */
#ifndef _X86_KERNEL_KPROBES_TESTS_HELPERS_H
#define _X86_KERNEL_KPROBES_TESTS_HELPERS_H

#include <linux/compiler.h>
#include <linux/kprobes.h>
#include <linux/kprobes-test.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <linux/preempt.h>

#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/insn.h>

#include "traces.h"
#include "watch.h"

struct kunit;

/* Names of address-sized registers, and how operands of that size are written. */
#ifdef CONFIG_X86_64
#define R	"r"
#define Q	"q"
#define RIP	"(%rip)"
#define JRCXZ	"jrcxz"
#define JECXZ	"jecxz"
#else
#define R	"e"
#define Q	"l"
#define RIP	""
#define JRCXZ	"jecxz"
#define JECXZ	"jcxz"
#endif
#define WORD	__stringify(__SIZEOF_LONG__)

/* For each of some registers: an instruction, in which .Lkp_at counts up by words. */
#define KP_EACH_REG(regs, insn)						\
	"	.Lkp_at = 0\n"						\
	"	.irp reg, " regs "\n"					\
	"	" insn "\n"						\
	"	.Lkp_at = .Lkp_at + " WORD "\n"				\
	"	.endr\n"
#define KP_STORE_REGS(regs, what) \
	KP_EACH_REG(regs, "mov %\\reg, " #what " + .Lkp_at" RIP)
#define KP_LOAD_REGS(regs, what) \
	KP_EACH_REG(regs, "mov " #what " + .Lkp_at" RIP ", %\\reg")

/* Registers that functions preserve, in the order in which they are pushed and popped. */
#ifdef CONFIG_X86_64
#define KP_SAVED	"rbx,rbp,r12,r13,r14,r15"
#define KP_RESTORED	"r15,r14,r13,r12,rbp,rbx"
#else
#define KP_SAVED	"ebx,ebp,esi,edi"
#define KP_RESTORED	"edi,esi,ebp,ebx"
#endif
#define KP_PUSH_SAVED	KP_EACH_REG(KP_SAVED, "push %\\reg")
#define KP_POP_SAVED	KP_EACH_REG(KP_RESTORED, "pop %\\reg")

/* What replaces a landing pad where no indirect branch goes, the bytes of gen_endbr_poison(). */
#define KP_SEALED_PAD	".byte 0x0f, 0x1f, 0x40, 0xd6\n"

/*
 * The label and landing pad of a function. Keep objtool from sealing the pad: 6.12 also clears
 * the hash in the CFI preamble before a sealed pad. Functions in assembly have no preamble, so
 * that would damage what precedes them.
 */
#define KP_LANDING(symbol)						\
	#symbol ":\n"							\
	ASM_ENDBR							\
	IBT_NOSEAL(#symbol)

/* Text of a function for asm(), and a function without a probed instruction. */
#define KP_TEXT(symbol, code)						\
	".globl " #symbol "\n"						\
	".type " #symbol ", @function\n"				\
	KP_LANDING(symbol)						\
	code "\n"							\
	ASM_RET								\
	".size " #symbol ", . - " #symbol "\n"

#define KP_UNPROBED(symbol, code)					\
asm(".pushsection .text\n"						\
	KP_TEXT(symbol, code)						\
	".popsection\n");						\
void symbol(void)

/*
 * KP_FUNCTION(symbol, before, code, after): a function that takes its argument in
 * ax and returns its result there. The probed instruction follows the label 777;
 * KP_AT(symbol) is its address. @before and @after surround the function.
 */
#define KP_FUNCTION(symbol, before, code, after)			\
asm(".pushsection .text\n"						\
	before "\n"							\
	KP_TEXT(symbol, code)						\
	after "\n"							\
	".popsection\n"							\
	".pushsection .rodata\n"					\
	".balign 4\n"							\
	".globl " #symbol "_off\n"					\
	#symbol "_off: .long 777b - " #symbol "\n"			\
	".popsection\n");						\
KP_DECLARE(symbol);							\
STACK_FRAME_NON_STANDARD(symbol)

#define KP_DECLARE(symbol)						\
void symbol(void);							\
extern const u32 symbol##_off

/* Longer than the reach of short jumps. */
#define KP_FAR_FROM_OTHERS(symbol)					\
asm(".pushsection .text\n"						\
	".type " #symbol ", @function\n"				\
	#symbol ":\n"							\
	".rept 160\n	clc\n	.endr\n"					\
	ASM_RET								\
	".size " #symbol ", . - " #symbol "\n"				\
	".popsection\n");						\
void symbol(void);							\
STACK_FRAME_NON_STANDARD(symbol)

/*
 * A relocation to the probed instruction would be a reference into the function,
 * and a reason not to optimize it. So tables hold the start and the offset.
 */
struct kp_place {
	void		(*fn)(void);
	const u32	*offset;
};

#define KP_PLACE(symbol)	{ symbol, &symbol##_off }
#define KP_AT(symbol)		kp_at(&(struct kp_place)KP_PLACE(symbol))

static inline u8 *kp_at(const struct kp_place *p)
{
	unsigned long start = (unsigned long)p->fn;

	OPTIMIZER_HIDE_VAR(start);
	return (u8 *)start + *p->offset;
}

unsigned long kp_run(void (*fn)(void), unsigned long arg);

int kp_pushed_by(const struct insn *insn);

#ifdef CONFIG_UNWINDER_ORC
unsigned long kp_unwound_caller(struct kunit *test, struct task_struct *task,
				unsigned long ip, void *sp, unsigned long start,
				unsigned long end);
#endif

#ifdef CONFIG_OPTPROBES
static inline struct optimized_kprobe *op_at(void *addr)
{
	struct kprobe *p;

	/* The site itself stays, since the caller has a probe there. */
	scoped_guard(preempt)
		p = get_kprobe(addr);
	return p ? container_of(p, struct optimized_kprobe, kp) : NULL;
}

static inline bool is_live(void *addr)
{
	return READ_ONCE(op_at(addr)->kp.flags) & KPROBE_FLAG_JUMP;
}
#endif

/* The byte in the text, whatever a probe hides. */
static inline u8 first_byte(void *addr)
{
	return READ_ONCE(*(u8 *)addr);
}

#endif /* _X86_KERNEL_KPROBES_TESTS_HELPERS_H */
