/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions to be probed whose instructions are known, so that probes can be in
 * the range of each other's jump. kprobe_model and kprobe_model_target have some.
 */
#ifndef _MODEL_TEXT_H
#define _MODEL_TEXT_H

#include <linux/linkage.h>
#include <asm/ibt.h>

/* Offsets of instructions; a jump at the first overwrites the next two. */
#define TEXT_ENTRY	ENDBR_INSN_SIZE
#define TEXT_NEXT	(TEXT_ENTRY + 1)
#define TEXT_TWO	(TEXT_ENTRY + 3)
/* Within an instruction. */
#define TEXT_SPLIT	(TEXT_ENTRY + 4)
/* Outside of the jump at the entry. */
#define TEXT_FAR	(TEXT_ENTRY + 8)

#define MODEL_TEXT(name)						\
asm(".pushsection .text\n"						\
    ".balign 16\n"							\
    ".globl " #name "\n"						\
    ".type " #name ", @function\n"					\
    #name ":\n"								\
    ASM_ENDBR								\
    "	.nops 3, 1\n"							\
    "	.byte 0x89, 0xf8\n"			/* mov %edi, %eax */	\
    "	.nops 3, 1\n"							\
    "	.byte 0x8d, 0x40, 0x03\n"		/* lea 3(%rax), %eax */	\
    "	.nops 8, 1\n"							\
    ASM_RET								\
    ".size " #name ", . - " #name "\n"					\
    ".popsection\n");							\
asmlinkage int name(int v)

/* What a call of any of the functions returns. */
#define MODEL_RESULT(v)	((v) + 3)

#define MODEL_TRACED(name)						\
noinline __noclone int name(int v)					\
{									\
	OPTIMIZER_HIDE_VAR(v);						\
	return MODEL_RESULT(v);						\
}

/* What the module that comes and goes has to offer, by MODEL_TEXT() and MODEL_TRACED(). */
struct model_coming {
	int	(*text)(int v);
	int	(*traced)(int v);
};

void kprobe_model_coming(const struct model_coming *coming);

#endif /* _MODEL_TEXT_H */
