// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Jump optimization from end to end: what is optimized and what is refused, with
 * the same results as without; what handlers see and may do; stack traces out of
 * detours; and all of it coming and going while it runs.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/linkage.h>
#include <linux/memory.h>
#include <linux/objtool.h>
#include <linux/prandom.h>
#include <linux/rcupdate.h>
#include <linux/stacktrace.h>

#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>
#include <asm/unwind.h>

#include "../common.h"
#include "../targets.h"
#include "internal.h"

/* What differs: registers of the width of addresses, and where their size is told. */
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

/*
 * FUNCTION(name, code): a function of one argument in ax, which gives its
 * result there. The probed instruction is behind the label 777.
 *
 * There is no padding behind it where a short jump could go to; nor anything
 * else within its reach that is not from here.
 */
#define FUNCTION(name, code)		FUNCTION_AND(name, code, "")

/* @padding: what is behind its end. */
#define FUNCTION_AND(name, code, padding)				\
asm(".pushsection .text\n"						\
	".globl kpo_" #name "\n"						\
	".type kpo_" #name ", @function\n"					\
	"kpo_" #name ":\n"							\
	ASM_ENDBR								\
	code "\n"								\
	ASM_RET								\
	".size kpo_" #name ", . - kpo_" #name "\n"				\
	padding "\n"							\
	".popsection\n"							\
	".pushsection .rodata\n"						\
	".balign 4\n"							\
	".globl kpo_off_" #name "\n"					\
	"kpo_off_" #name ": .long 777b - kpo_" #name "\n"			\
	".popsection\n");							\
void kpo_##name(void);					\
extern const u32 kpo_off_##name;					\
STACK_FRAME_NON_STANDARD(kpo_##name)

/* Further than short jumps go. */
#define FAR_FROM_OTHERS(name)						\
asm(".pushsection .text\n"						\
	".type kpo_far_" #name ", @function\n"				\
	"kpo_far_" #name ":\n"						\
	".rept 160\n	clc\n	.endr\n"					\
	ASM_RET								\
	".size kpo_far_" #name ", . - kpo_far_" #name "\n"			\
	".popsection\n");							\
void kpo_far_##name(void);						\
STACK_FRAME_NON_STANDARD(kpo_far_##name)

/* What leads into kpo_NAME at .Lkpo_NAME, from a function far away. */
#define FROM_AFAR(name, code)						\
asm(".pushsection .text\n"						\
	".globl kpo_to_" #name "\n"					\
	".type kpo_to_" #name ", @function\n"				\
	"kpo_to_" #name ":\n"						\
	ASM_ENDBR								\
	".rept 200\n	nop\n	.endr\n"					\
	code "\n"								\
	".rept 200\n	nop\n	.endr\n"					\
	ASM_RET								\
	".size kpo_to_" #name ", . - kpo_to_" #name "\n"			\
	".popsection\n");							\
void kpo_to_##name(void);					\
STACK_FRAME_NON_STANDARD(kpo_to_##name)

struct place {
	void		(*fn)(void);
	const u32	*offset;
};

#define PLACE(name)	{ kpo_##name, &kpo_off_##name }
#define AT(name)	at(&(struct place)PLACE(name))

static noinline u8 *at(const struct place *p)
{
	return (u8 *)p->fn + *p->offset;
}

static noinline unsigned long run(void (*fn)(void), unsigned long arg)
{
	asm volatile(CALL_NOSPEC
		     : "+a" (arg), ASM_CALL_CONSTRAINT
		     : [thunk_target] "D" (fn)
		     : "cx", "dx", "si", "cc", "memory"
#ifdef CONFIG_X86_64
		     , "r8", "r9", "r10", "r11"
#endif
		     );
	return arg;
}

extern unsigned long kpo_pointer, kpo_word, kpo_returns_to;

/* Where indirect branches of the tests find their target. */
unsigned long kpo_pointer;
unsigned long kpo_word = 0x1234567;
/* What the callee would return to. */
unsigned long kpo_returns_to;

asm(".pushsection .text\n"
	".globl kpo_callee\n"
	".type kpo_callee, @function\n"
	"kpo_callee:\n"
	ASM_ENDBR
	"	mov (%" R "sp), %" R "cx\n"
	"	mov %" R "cx, kpo_returns_to" RIP "\n"
	"	add $100, %eax\n"
	ASM_RET
	".size kpo_callee, . - kpo_callee\n"
	".popsection\n");
void kpo_callee(void);

FAR_FROM_OTHERS(begin);

/* To be optimized. */
FUNCTION(mov, "777: mov %eax, %ecx; lea 3(%ecx), %eax; nop");
FUNCTION(under_ac, ".byte 0x0f, 0x01, 0xcb; 777: mov $0x12345678, %eax; pushf; pop %" R "ax\n"
	 ".byte 0x0f, 0x01, 0xca");
FUNCTION(under_df, "std; 777: mov $0x12345678, %eax; pushf; pop %" R "ax; cld");
FUNCTION(nops, "777: nop; nop; nop; nop; nop; add $3, %eax; nop; nop");
FUNCTION(push, "777: push %" R "ax; pop %" R "cx; lea 1(%" R "cx), %eax; nop");
FUNCTION(long_insn, "777: imul $0x12345678, kpo_word" RIP ", %ecx; xor %ecx, %eax");
FUNCTION(inc_dec, "777: inc %eax; inc %eax; dec %eax; inc %eax; nop; nop");
FUNCTION(load, "777: mov kpo_word" RIP ", %ecx; add %ecx, %eax");
FUNCTION(cmp_mem, "777: cmpl $0x1234567, kpo_word" RIP "; sete %al");
FUNCTION(jcc, "test %eax, %eax; 777: je 1f; add $7, %eax; 1: add $1, %eax");
FUNCTION(jcc_last, "test %eax, %eax; 777: lea 2(%" R "ax), %eax; je 1f; add $7, %eax; 1:");
FUNCTION(jcc_back, "mov %eax, %ecx; and $7, %ecx; 1: add $5, %eax; nop; nop; nop\n"
	 "dec %ecx; 777: jg 1b; add $1, %eax; nop");
FUNCTION(jcc_long, "test %eax, %eax; 777: .byte 0x0f, 0x84; .long 1f - 2f; 2: add $7, %eax; 1:");
FUNCTION(jmp, "777: jmp 1f; .byte 0xcc, 0xcc, 0xcc; nop; add $7, %eax; 1: add $1, %eax");
FUNCTION(jmp_self, "mov $3, %ecx; 777: dec %ecx; jns 777b; nop; add $1, %eax");
FUNCTION(call, "777: call kpo_callee; 888: add $1, %eax");
FUNCTION(call_last, "777: add $3, %eax; call kpo_callee; 888: add $1, %eax");
FUNCTION(call_next, "777: call 1f; 1: pop %" R "cx; sub $1b, %" R "cx; add %ecx, %eax");
FUNCTION(call_cs, "777: .byte 0x2e; call kpo_callee; 888: add $1, %eax");
FUNCTION(call_mem, ANNOTATE_RETPOLINE_SAFE
	 "777: call *kpo_pointer" RIP "; 888: add $1, %eax");
FUNCTION(call_reg, "mov $kpo_callee, %" R "cx; 777: add $3, %eax\n"
	 ANNOTATE_RETPOLINE_SAFE "call *%" R "cx; 888: add $1, %eax");
FUNCTION(jmp_mem, "push $1f\n" ANNOTATE_RETPOLINE_SAFE
	 "777: jmp *kpo_pointer" RIP "; .balign 16; 1: add $2, %eax");
FUNCTION(loop, "mov $4, %ecx; 1: add $1, %eax; nop; nop\n"
	 "777: loop 1b; add %ecx, %eax; nop");
FUNCTION(loop_cond, "mov $9, %ecx; 1: add $1, %eax; nop; cmp $6, %ecx\n"
	 "777: loopne 1b; add %ecx, %eax; nop");
FUNCTION(jrcxz, "mov %" R "ax, %" R "cx; 777: " JRCXZ " 1f; add $7, %eax; 1: add $1, %eax");
FUNCTION(jecxz, "mov %" R "ax, %" R "cx; 777: " JECXZ " 1f; add $7, %eax; 1: add $1, %eax");
FUNCTION(ret, "test %eax, %eax; je 1f; add $9, %eax; 777: ret; int3; int3; int3; int3\n"
	 "1: add $1, %eax");
FUNCTION(ret_imm, "push %" R "ax; call 2f; add $4, %eax; jmp 1f; .balign 16\n"
	 "2: add $10, %eax; 777: .byte 0xc2, " WORD ", 0; nop; nop; nop\n"
	 "1:");
FUNCTION(flags, "777: cmp $5, %eax; pushf; pop %" R "ax; and $0x8d5, %eax");
FUNCTION(pushf, "cmp %eax, %eax; 777: pushf; pop %" R "ax; and $0x8d5, %eax");
FUNCTION(cli, "pushf; 777: cli; add $1, %eax; popf; nop");
FUNCTION(std, "std; 777: lea 3(%" R "ax), %eax; cld; nop");
FUNCTION(prefetch, "777: prefetcht0 kpo_word" RIP "; add $3, %eax");
FUNCTION(bit_test, "777: btl $3, %eax; sbb %eax, %eax");
FUNCTION(target_behind, "test %eax, %eax; je 1f; 777: add $3, %eax; nop; nop; 1: add $1, %eax");
FUNCTION(target_self, "test %eax, %eax; je 777f; add $1, %eax; 777: add $3, %eax; nop; nop");
FUNCTION(extable_elsewhere, "777: add $3, %eax; nop; nop\n"
	 "1: mov (%" R "sp), %" R "cx; 2:\n" _ASM_EXTABLE(1b, 2b));

FUNCTION(two_words, "push %" R "bp; mov %" R "sp, %" R "bp; push %" R "ax; push $7\n"
	 "777: nop; nop; nop; nop; nop; pop %" R "ax; mov %" R "bp, %" R "sp; pop %" R "bp");

/* To be refused. */
FUNCTION(target_1, "test %eax, %eax; je 1f; 777: nop; 1: add $3, %eax; nop; nop");
FUNCTION(target_2, "test %eax, %eax; je 1f; 777: .byte 0x66, 0x90; 1: add $3, %eax; nop");
FUNCTION(target_4, "test %eax, %eax; je 1f; 777: add $3, %eax; nop; 1: nop; add $1, %eax");
FUNCTION(target_jrcxz, "mov %eax, %ecx; " JRCXZ " 1f; 777: add $3, %eax; 1: nop; nop");
FUNCTION(target_back, "mov $3, %ecx; 777: nop; 1: add $3, %eax; nop; dec %ecx; jne 1b");
FUNCTION(target_own, "777: jmp 1f; 1: add $3, %eax; nop; nop");
FUNCTION(short_call, "mov $kpo_callee, %" R "cx\n" ANNOTATE_RETPOLINE_SAFE
	 "777: call *%" R "cx; add $3, %eax; nop");
/* The probe is on the landing pad, not in front of it. */
FUNCTION(landing_at, "777: .byte 0xf3, 0x0f, 0x1e, 0xfa; add $3, %eax; nop; nop");
FUNCTION(landing_sealed, "777: .byte 0x66, 0x0f, 0x1f, 0x00; add $3, %eax; nop; nop");
FUNCTION(landing, "777: nop; .byte 0xf3, 0x0f, 0x1e, 0xfa; add $3, %eax");
FUNCTION(landing_behind, "777: jmp 1f; .byte 0xf3, 0x0f, 0x1e, 0xfa; nop; 1: add $3, %eax");
FUNCTION(extable, "777: nop; 1: mov (%" R "sp), %" R "cx; nop; add $3, %eax; 2:\n"
	 _ASM_EXTABLE(1b, 2b));
FUNCTION(fixup, "1: mov (%" R "sp), %" R "cx; 777: nop; 2: add $3, %eax; nop; nop\n"
	 _ASM_EXTABLE(1b, 2b));
FUNCTION(trap, "777: test %eax, %eax; ud2; nop");
FUNCTION(rodata, "777: nop; .Lkpo_rodata:\n" ANNOTATE_NOENDBR " add $3, %eax; nop; nop\n"
	 ".pushsection .rodata; " _ASM_ALIGN "; " _ASM_PTR " .Lkpo_rodata; .popsection");
FUNCTION(data, "777: nop; .Lkpo_data:\n" ANNOTATE_NOENDBR " add $3, %eax; nop; nop\n"
	 ".pushsection .data; " _ASM_ALIGN "; " _ASM_PTR " .Lkpo_data; .popsection");
FUNCTION(afar_jmp, "777: nop; .Lkpo_afar_jmp: add $3, %eax; nop; nop");
FROM_AFAR(afar_jmp, ".byte 0xe9; .long .Lkpo_afar_jmp - . - 4");
FUNCTION(afar_jcc, "777: nop; .Lkpo_afar_jcc: add $3, %eax; nop; nop");
FROM_AFAR(afar_jcc, ".byte 0x0f, 0x84; .long .Lkpo_afar_jcc - . - 4");
FUNCTION(afar_lea, "777: nop; .Lkpo_afar_lea:\n" ANNOTATE_NOENDBR " add $3, %eax; nop; nop");
FROM_AFAR(afar_lea, "lea .Lkpo_afar_lea" RIP ", %" R "cx");
FUNCTION(afar_push, "777: nop; .Lkpo_afar_push:\n" ANNOTATE_NOENDBR " add $3, %eax; nop; nop");
FROM_AFAR(afar_push, "push $.Lkpo_afar_push; pop %" R "cx");
FUNCTION(afar_mov, "777: nop; .Lkpo_afar_mov:\n" ANNOTATE_NOENDBR " add $3, %eax; nop; nop");
FROM_AFAR(afar_mov, "mov" Q " $.Lkpo_afar_mov, kpo_pointer" RIP);
FUNCTION(afar_call, "777: nop; .Lkpo_afar_call: add $3, %eax; nop; nop");
FROM_AFAR(afar_call, ".byte 0xe8; .long .Lkpo_afar_call - . - 4");
FUNCTION(afar_xbegin, "777: nop; .Lkpo_afar_xbegin: add $3, %eax; nop; nop");
FROM_AFAR(afar_xbegin, ".byte 0xc7, 0xf8; .long .Lkpo_afar_xbegin - . - 4");
#if defined(CONFIG_X86_64) && !defined(CONFIG_X86_KERNEL_IBT)
/* Where to is not to be found anywhere; also from a part that was split off. */
FUNCTION(computed, "test %eax, %eax; je 777f; movslq .Lkpo_computed_rel(%rip), %rcx\n"
	 "lea kpo_computed(%rip), %rdx; add %rdx, %rcx\n"
	 ANNOTATE_RETPOLINE_SAFE "jmp *%rcx; int3\n"
	 "777: nop; .Lkpo_computed: add $3, %eax; nop; nop\n"
	 ".pushsection .rodata; .balign 4\n"
	 ".Lkpo_computed_rel: .long .Lkpo_computed - kpo_computed; .popsection");
FUNCTION(computed_cold, "test %eax, %eax; {disp32} jne kpo_computed_cold.cold\n"
	 "777: nop; .Lkpo_computed_cold: add $3, %eax; nop; nop\n"
	 ".pushsection .rodata; .balign 4\n"
	 ".Lkpo_computed_cold_rel: .long .Lkpo_computed_cold - kpo_computed_cold; .popsection");
asm(".pushsection .text.unlikely, \"ax\"\n"
	".type kpo_computed_cold.cold, @function\n"
	"kpo_computed_cold.cold:\n"
	"	movslq .Lkpo_computed_cold_rel(%rip), %rcx\n"
	"	lea kpo_computed_cold(%rip), %rdx\n"
	"	add %rdx, %rcx\n"
	ANNOTATE_RETPOLINE_SAFE
	"	jmp *%rcx\n"
	"	int3\n"
	".size kpo_computed_cold.cold, . - kpo_computed_cold.cold\n"
	".pushsection .discard.func_stack_frame_non_standard, \"aw\"\n"
	"	.quad kpo_computed_cold.cold\n"
	".popsection\n"
	".popsection\n");
#endif
#ifdef CONFIG_X86_64
FUNCTION(afar_movabs, "777: nop; .Lkpo_afar_movabs:\n" ANNOTATE_NOENDBR " add $3, %eax; nop; nop");
FROM_AFAR(afar_movabs, "movabs $.Lkpo_afar_movabs, %rcx");
FUNCTION(movabs, "777: movabs $0x123456789abcdef0, %rcx; xor %rcx, %rax");
#else
FUNCTION(moffs, "777: mov kpo_word, %eax; add $3, %eax");
FUNCTION(push_seg, "777: push %ds; pop %ecx; movzwl %cx, %ecx; xor %ecx, %eax");
FUNCTION(pusha, "777: pusha; pop %ecx; lea 28(%esp), %esp; add %ecx, %eax");
FUNCTION(segment, "mov %ds, %ecx; 777: add $3, %eax; nop; nop; mov %ecx, %es");
FUNCTION(afar_lea_index, "777: nop; .Lkpo_afar_lea_index: add $3, %eax; nop; nop");
FROM_AFAR(afar_lea_index, "lea .Lkpo_afar_lea_index(,%ecx,4), %ecx");
FUNCTION(afar_ljmp, "777: nop; .Lkpo_afar_ljmp: add $3, %eax; nop; nop");
FROM_AFAR(afar_ljmp, "ljmp $" __stringify(__KERNEL_CS) ", $.Lkpo_afar_ljmp");
#endif
/* A jump out of the function that is right in front. */
asm(".pushsection .text\n"
	".globl kpo_to_near\n"
	".type kpo_to_near, @function\n"
	"kpo_to_near:\n"
	ASM_ENDBR
	"	jmp .Lkpo_near\n"
	"	int3\n"
	".size kpo_to_near, . - kpo_to_near\n"
	".popsection\n");
void kpo_to_near(void);
STACK_FRAME_NON_STANDARD(kpo_to_near);
FUNCTION(near, "777: nop; .Lkpo_near: add $3, %eax; nop; nop");
FUNCTION(inner_symbol, "777: nop; .globl kpo_inner; kpo_inner: add $3, %eax; nop; nop");
FUNCTION(end, "nop; 777: add $3, %eax");

#ifdef CONFIG_JUMP_LABEL
DECLARE_STATIC_KEY_FALSE(kpo_key);
DEFINE_STATIC_KEY_FALSE(kpo_key);

/* A static key, of which nothing but its table tells where it leads to. */
#define JUMP_LABEL(name)						\
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"			\
	"	.pushsection __jump_table, \"aw\"\n"			\
	"	.balign 8\n"						\
	"	.long 666b - ., .Lkpo_" #name " - .\n"			\
	"	" _ASM_PTR " kpo_key - .\n"				\
	"	.popsection\n"

FUNCTION(label, "666:" JUMP_LABEL(label)
	 "add $7, %eax; 777: nop; .Lkpo_label: add $3, %eax; nop; nop");
FUNCTION(label_site, "777: nop; 666:" JUMP_LABEL(label_site)
	 "add $7, %eax; .Lkpo_label_site: add $3, %eax");
/* Near to all of it, but not in its way. */
FUNCTION(label_behind, "666:" JUMP_LABEL(label_behind) "777: add $7, %eax; nop; nop\n"
	 ".Lkpo_label_behind: add $3, %eax");
FUNCTION(label_at, "666:" JUMP_LABEL(label_at)
	 "add $7, %eax; .Lkpo_label_at: 777: add $3, %eax; nop; nop");
#endif

FAR_FROM_OTHERS(end);

/* To be optimized with a short jump: to the padding behind, or in front. */
#define PADDING		".skip 6, 0x90; .skip 2, 0xcc"
#define ENTERED_AT_2							\
	"test %eax, %eax; je 1f; 777: .byte 0x66, 0x90; 1: add $3, %eax; nop"

FUNCTION_AND(hop_first, "777: nop; nop; nop; nop; nop; add $1, %eax", PADDING);
FUNCTION(hop_back, "test %eax, %eax; je 1f; 777: add $3, %eax; 1: add $1, %eax; nop");
FUNCTION_AND(hop_target_2, ENTERED_AT_2, PADDING);
FUNCTION_AND(hop_target_4, "test %eax, %eax; je 1f\n"
	     "777: nop; add $3, %al; nop; 1: nop; add $1, %eax", PADDING);
FUNCTION_AND(hop_jcc, "test %eax, %eax; 777: je 1f; 1: add $3, %eax; nop", PADDING);
FUNCTION_AND(hop_jmp, "777: jmp 1f; 1: add $3, %eax; nop", PADDING);
FUNCTION_AND(hop_call, "mov $kpo_callee, %" R "cx\n" ANNOTATE_RETPOLINE_SAFE
	     "777: call *%" R "cx; 888: add $3, %eax; nop", PADDING);
FUNCTION_AND(hop_extable, "777: .byte 0x66, 0x90; 1: mov (%" R "sp), %" R "cx\n"
	     "nop; add $3, %eax; 2:\n"
	     _ASM_EXTABLE(1b, 2b), PADDING);
FUNCTION(hop_end, "nop; 777: add $3, %eax");
/* These share what is behind the second. */
FUNCTION(hop_shared, ENTERED_AT_2);
FUNCTION_AND(hop_shares, ENTERED_AT_2,
	     PADDING "; " PADDING);

FAR_FROM_OTHERS(hops);

/* Too short; something leads there; and perhaps something goes on there. */
FUNCTION_AND(no_hop_short, ENTERED_AT_2,
	     ".skip 4, 0x90");
FAR_FROM_OTHERS(no_hop_short);
FUNCTION_AND(no_hop_entered, ENTERED_AT_2,
	     ".skip 4, 0x90; .Lkpo_no_hop_entered: .skip 4, 0x90");
FROM_AFAR(no_hop_entered, ".byte 0xe9; .long .Lkpo_no_hop_entered - . - 4");

/* A function that does not return, or so it seems. */
#define OPEN_END(name, insn)						\
FUNCTION(name, ENTERED_AT_2); \
asm(".pushsection .text\n"						\
	".globl kpo_open_" #name "\n"					\
	".type kpo_open_" #name ", @function\n"				\
	"kpo_open_" #name ":\n"						\
	"	" insn "\n"						\
	".size kpo_open_" #name ", . - kpo_open_" #name "\n"		\
	PADDING "\n"							\
	".popsection\n");							\
void kpo_open_##name(void);						\
STACK_FRAME_NON_STANDARD(kpo_open_##name);				\
FAR_FROM_OTHERS(name)

OPEN_END(no_hop_trap, "ud2");
OPEN_END(no_hop_call, "call kpo_callee");

struct form {
	const char	*name;
	struct place	place;
	unsigned int	hits;		/* of one call, 0 if it depends */
	u8		why;
	u8		why_at;
	bool		hop;
	bool		indirect;	/* or a return that is no plain one */
};

#define LIVE(name, hits)	{ #name, PLACE(name), hits }
#define INDIRECT(name, hits)	{ #name, PLACE(name), hits, .indirect = true }
#define HOP(name, hits)		{ #name, PLACE(name), hits, .hop = true }
#define REFUSED(name, why, at)	{ #name, PLACE(name), 0, KPROBE_NOOPT_##why, at }
#define SHOWS(id, name, why, at)	{ id "_" #name, PLACE(name), 0, KPROBE_NOOPT_##why, at }

static const struct form forms[] = {
	LIVE(mov, 1),
	LIVE(nops, 1),
	LIVE(push, 1),
	LIVE(long_insn, 1),
	LIVE(inc_dec, 1),
	LIVE(load, 1),
	LIVE(cmp_mem, 1),
	LIVE(jcc, 1),
	LIVE(jcc_last, 1),
	LIVE(jcc_back, 0),
	LIVE(jcc_long, 1),
	LIVE(jmp, 1),
	LIVE(jmp_self, 4),
	LIVE(call, 1),
	LIVE(call_last, 1),
	LIVE(call_next, 1),
	LIVE(call_cs, 1),
	INDIRECT(call_mem, 1),
	INDIRECT(call_reg, 1),
	INDIRECT(jmp_mem, 1),
	LIVE(loop, 4),
	LIVE(loop_cond, 0),
	LIVE(jrcxz, 1),
	LIVE(jecxz, 1),
	LIVE(ret, 0),
	INDIRECT(ret_imm, 1),
	LIVE(flags, 1),
	LIVE(pushf, 1),
	LIVE(cli, 1),
	LIVE(std, 1),
	LIVE(prefetch, 1),
	LIVE(bit_test, 1),
	LIVE(target_behind, 0),
	LIVE(target_self, 1),
	LIVE(extable_elsewhere, 1),
#ifdef CONFIG_X86_64
	LIVE(movabs, 1),
#else
	LIVE(moffs, 1),
	LIVE(push_seg, 1),
	LIVE(pusha, 1),
#endif
	REFUSED(target_2, TARGET, 2),
	REFUSED(target_4, TARGET, 4),
	REFUSED(target_jrcxz, TARGET, 3),
	REFUSED(target_back, TARGET, 1),
	REFUSED(target_own, TARGET, 2),
	REFUSED(target_1, TARGET, 1),
	SHOWS("p_opt_15", short_call, CALL, 0),
#ifdef CONFIG_X86_KERNEL_IBT
	REFUSED(landing_at, LANDING, 0),
	REFUSED(landing_sealed, LANDING, 0),
	REFUSED(landing, LANDING, 1),
	REFUSED(landing_behind, LANDING, 2),
#endif
	REFUSED(extable, EXTABLE, 1),
	SHOWS("p_opt_12", fixup, TARGET, 1),
	REFUSED(rodata, TARGET, 1),
	REFUSED(data, TARGET, 1),
	REFUSED(afar_jmp, TARGET, 1),
	REFUSED(afar_jcc, TARGET, 1),
	REFUSED(afar_lea, TARGET, 1),
	REFUSED(afar_push, TARGET, 1),
	REFUSED(afar_mov, TARGET, 1),
	REFUSED(afar_call, TARGET, 1),
#ifdef CONFIG_X86_64
	REFUSED(afar_movabs, TARGET, 1),
#endif
	REFUSED(afar_xbegin, TARGET, 1),
#if defined(CONFIG_X86_64) && !defined(CONFIG_X86_KERNEL_IBT)
	SHOWS("p_opt_11", computed, INDIRECT, 1),
	REFUSED(computed_cold, INDIRECT, 1),
#endif
#ifdef CONFIG_X86_32
	REFUSED(segment, SEGMENT, 1),
	REFUSED(afar_lea_index, TARGET, 1),
	REFUSED(afar_ljmp, TARGET, 1),
#endif
	REFUSED(near, TARGET, 1),
	REFUSED(inner_symbol, END, 0),
	SHOWS("p_opt_14", end, END, 0),
#ifdef CONFIG_JUMP_LABEL
	REFUSED(label, TARGET, 1),
	REFUSED(label_site, PATCHED, 0),
	LIVE(label_behind, 1),
	LIVE(label_at, 1),
#endif
	LIVE(hop_first, 1),
	HOP(hop_back, 0),
	HOP(hop_target_2, 0),
	HOP(hop_target_4, 0),
	HOP(hop_jcc, 1),
	HOP(hop_jmp, 1),
	HOP(hop_call, 1),
	HOP(hop_extable, 1),
	HOP(hop_shared, 0),
	HOP(hop_shares, 0),
	HOP(hop_end, 1),
	REFUSED(no_hop_short, TARGET, 2),
	REFUSED(no_hop_entered, TARGET, 2),
	REFUSED(no_hop_trap, TARGET, 2),
	REFUSED(no_hop_call, TARGET, 2),
};
KUNIT_ARRAY_PARAM_DESC(form, forms, name);

struct watch {
	struct kprobe	kp;
	atomic_t	pre;
	unsigned long	ip;
	bool		trapped;
};

static int watch_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct watch *w = container_of(p, struct watch, kp);

	WRITE_ONCE(w->ip, regs->ip);
	/* Behind a breakpoint it looks like an NMI. */
	WRITE_ONCE(w->trapped, in_nmi());
	atomic_inc(&w->pre);
	return 0;
}

static void nothing_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static struct optimized_kprobe *op_at(void *addr)
{
	struct kprobe *p = get_kprobe(addr);

	return p ? container_of(p, struct optimized_kprobe, kp) : NULL;
}

static bool is_live(void *addr)
{
	return op_at(addr)->kp.flags & KPROBE_FLAG_JUMP;
}

/* What really stands in the text. */
static u8 first_byte(void *addr)
{
	return READ_ONCE(*(u8 *)addr);
}

static const unsigned long args[] = { 0, 1, 5, 8, 0x7fffffff, 0x12345678 };

/* What is behind functions belongs to the next one, or is not enough. */
static void skip_without_padding(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_CALL_PADDING) || IS_ENABLED(CONFIG_CFI_CLANG))
		kunit_skip(test, "no padding is free");
}

/* The same, as far as mitigations allow it. */
static struct form as_mitigated(struct kunit *test)
{
	struct form f = *(const struct form *)test->param_value;

	if (f.hop)
		skip_without_padding(test);
	/* What is too short here is not, where it ends with a jump to a thunk. */
	if (f.place.fn == kpo_end && IS_ENABLED(CONFIG_MITIGATION_RETHUNK))
		kunit_skip(test, "returns are longer");
	if (f.place.fn == kpo_ret_imm)
		f.why = cpu_wants_rethunk() ? KPROBE_NOOPT_INSN : KPROBE_NOOPT_NONE;
	else if (f.indirect && (cpu_feature_enabled(X86_FEATURE_RETPOLINE) ||
				cpu_feature_enabled(X86_FEATURE_INDIRECT_THUNK_ITS)))
		f.why = KPROBE_NOOPT_INSN;
	return f;
}

static void optimize_forms(struct kunit *test)
{
	const struct form form = as_mitigated(test), *f = &form;
	struct watch w = { .kp = { .addr = at(&f->place), .pre_handler = watch_pre } };
	unsigned long want[ARRAY_SIZE(args)], return_to;
	u8 text[MAX_OPTIMIZED_LENGTH];
	unsigned int hits = 0;
	int i;

	/* Hops of others may be near by. */
	wait_for_kprobe_optimizer();
	kpo_pointer = (unsigned long)kpo_callee;
	memcpy(text, at(&f->place), sizeof(text));
	for (i = 0; i < ARRAY_SIZE(args); i++)
		want[i] = run(f->place.fn, args[i]);
	return_to = kpo_returns_to;
	kpo_returns_to = 0;

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	if (!f->why && op_at(w.kp.addr)->why == KPROBE_NOOPT_TARGET) {
		unregister_kprobe(&w.kp);
		kunit_skip(test, "some bytes in this kernel look like a jump there");
	}
	KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why, f->why);
	/* Where it is that mitigations forbid is not in the table. */
	if (!f->indirect || !f->why)
		KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why_at, f->why_at);
	KUNIT_EXPECT_EQ(test, is_live(w.kp.addr), !f->why);
	KUNIT_EXPECT_EQ(test, first_byte(w.kp.addr),
			f->why ? INT3_INSN_OPCODE :
			f->hop ? JMP8_INSN_OPCODE : JMP32_INSN_OPCODE);

	for (i = 0; i < ARRAY_SIZE(args); i++) {
		KUNIT_EXPECT_EQ_MSG(test, run(f->place.fn, args[i]), want[i],
				    "argument %lx", args[i]);
		hits += f->hits;
	}
	if (f->hits)
		KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), hits);
	KUNIT_EXPECT_GT(test, atomic_read(&w.pre), 0);
	KUNIT_EXPECT_EQ(test, w.ip, (unsigned long)w.kp.addr + INT3_INSN_SIZE);
	KUNIT_EXPECT_EQ(test, w.trapped, !!f->why);
	KUNIT_EXPECT_EQ(test, w.kp.nmissed, 0);
	if (kpo_returns_to)
		KUNIT_EXPECT_EQ(test, kpo_returns_to, return_to);

	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, memcmp(at(&f->place), text,
				     f->hop ? JMP8_INSN_SIZE : sizeof(text)), 0);
	KUNIT_EXPECT_EQ(test, run(f->place.fn, args[2]), want[2]);

	/* The hop goes with the detour. */
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, memcmp(at(&f->place), text, sizeof(text)), 0);
}

#ifdef CONFIG_JUMP_LABEL
/* While there are probes on them, and perhaps jumps. */
static void optimize_p_opt_13_static_keys(struct kunit *test)
{
	static const struct place places[] = {
		PLACE(label), PLACE(label_site), PLACE(label_behind), PLACE(label_at),
	};
	unsigned long off[ARRAY_SIZE(places)], on[ARRAY_SIZE(places)];
	struct watch w[ARRAY_SIZE(places)] = {};
	struct kprobe *kps[ARRAY_SIZE(places)];
	int i, round;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		off[i] = run(places[i].fn, 1);
	static_branch_enable(&kpo_key);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		on[i] = run(places[i].fn, 1);
		KUNIT_EXPECT_EQ(test, on[i] + 7, off[i]);
	}

	for (round = 0; round < 4; round++) {
		for (i = 0; i < ARRAY_SIZE(places); i++) {
			w[i] = (struct watch) {
				.kp = { .addr = at(&places[i]), .pre_handler = watch_pre },
			};
			kps[i] = &w[i].kp;
		}
		/* They come while the key is on, or off; also while they wait. */
		if (round % 2)
			static_branch_disable(&kpo_key);
		KUNIT_ASSERT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), 0);
		if (round / 2)
			wait_for_kprobe_optimizer();
		static_branch_enable(&kpo_key);
		for (i = 0; i < ARRAY_SIZE(places); i++)
			KUNIT_EXPECT_EQ_MSG(test, run(places[i].fn, 1), on[i], "%pS",
					    kps[i]->addr);
		static_branch_disable(&kpo_key);
		wait_for_kprobe_optimizer();
		for (i = 0; i < ARRAY_SIZE(places); i++)
			KUNIT_EXPECT_EQ_MSG(test, run(places[i].fn, 1), off[i], "%pS",
					    kps[i]->addr);
		KUNIT_EXPECT_TRUE(test, is_live(AT(label_behind)));
		KUNIT_EXPECT_TRUE(test, is_live(AT(label_at)));
		static_branch_enable(&kpo_key);
		for (i = 0; i < ARRAY_SIZE(places); i++)
			KUNIT_EXPECT_EQ_MSG(test, run(places[i].fn, 1), on[i], "%pS",
					    kps[i]->addr);
		unregister_kprobes(kps, ARRAY_SIZE(kps));
		for (i = 0; i < ARRAY_SIZE(places); i++)
			KUNIT_EXPECT_EQ_MSG(test, run(places[i].fn, 1), on[i], "%pS",
					    kps[i]->addr);
	}

	static_branch_disable(&kpo_key);
	for (i = 0; i < ARRAY_SIZE(places); i++)
		KUNIT_EXPECT_EQ(test, run(places[i].fn, 1), off[i]);
}
#endif

/*
 * Hops
 */

static void optimize_hop_is_taken_back(struct kunit *test)
{
	struct watch w = { .kp = { .addr = AT(hop_target_2), .pre_handler = watch_pre } };
	struct kprobe post = { .addr = AT(hop_target_2), .post_handler = nothing_post };
	struct kprobe in_padding = { .pre_handler = watch_pre };
	unsigned long want = run(kpo_hop_target_2, 5), hop;
	u8 padding[JMP32_INSN_SIZE], *text;

	skip_without_padding(test);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE(test, is_live(w.kp.addr));
	hop = op_at(w.kp.addr)->optinsn.hop;
	KUNIT_ASSERT_NE(test, hop, 0);
	text = (u8 *)hop;
	KUNIT_EXPECT_EQ(test, *text, JMP32_INSN_OPCODE);
	KUNIT_EXPECT_PTR_EQ(test, kprobe_hop_owner(hop), op_at(w.kp.addr));

	/* To others it is still padding. */
	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_EQ(test, kprobe_read_text(hop, padding, sizeof(padding)), 0);
	KUNIT_EXPECT_EQ(test, padding[0] == 0x90 || padding[0] == INT3_INSN_OPCODE, true);

	/* It stays as long as the detour. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&post), 0);
	KUNIT_EXPECT_EQ(test, first_byte(w.kp.addr), INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, *text, JMP32_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, run(kpo_hop_target_2, 5), want);
	unregister_kprobe(&post);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, first_byte(w.kp.addr), JMP8_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, run(kpo_hop_target_2, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);

	unregister_kprobe(&w.kp);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, memcmp(text, padding, sizeof(padding)), 0);
	KUNIT_EXPECT_PTR_EQ(test, kprobe_hop_owner(hop), NULL);
	in_padding = (struct kprobe) { .addr = text, .pre_handler = watch_pre };
	KUNIT_EXPECT_EQ(test, register_kprobe(&in_padding), 0);
	unregister_kprobe(&in_padding);
}

/* Some bytes in this kernel may look like a jump into one of them. */
static bool has_hop_alone(void *addr)
{
	struct watch w = { .kp = { .addr = addr, .pre_handler = watch_pre } };
	bool hop;

	if (register_kprobe(&w.kp))
		return false;
	wait_for_kprobe_optimizer();
	hop = is_live(addr) && op_at(addr)->optinsn.hop;
	unregister_kprobe(&w.kp);
	wait_for_kprobe_optimizer();
	return hop;
}

static void optimize_hops_are_not_shared(struct kunit *test)
{
	static const struct place places[] = {
		PLACE(hop_target_2), PLACE(hop_target_4), PLACE(hop_shared), PLACE(hop_shares),
	};
	struct watch w[ARRAY_SIZE(places)] = {};
	struct kprobe *kps[ARRAY_SIZE(places)];
	unsigned long hops[ARRAY_SIZE(places)], want[ARRAY_SIZE(places)];
	int i, k;

	skip_without_padding(test);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		want[i] = run(places[i].fn, 5);
		w[i].kp.addr = at(&places[i]);
		w[i].kp.pre_handler = watch_pre;
		kps[i] = &w[i].kp;
		if (!has_hop_alone(w[i].kp.addr))
			kunit_skip(test, "place %d has none even if it is alone", i);
	}

	KUNIT_ASSERT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), 0);
	wait_for_kprobe_optimizer();
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		KUNIT_EXPECT_TRUE_MSG(test, is_live(kps[i]->addr), "%d: why %u", i,
				      op_at(kps[i]->addr)->why);
		hops[i] = op_at(kps[i]->addr)->optinsn.hop;
		KUNIT_EXPECT_NE(test, hops[i], 0);
		for (k = 0; k < i; k++)
			KUNIT_EXPECT_GE(test, abs((long)(hops[i] - hops[k])), JMP32_INSN_SIZE);
	}
	if (test->status != KUNIT_FAILURE) {
		for (i = 0; i < ARRAY_SIZE(places); i++) {
			KUNIT_EXPECT_EQ(test, run(places[i].fn, 5), want[i]);
			KUNIT_EXPECT_EQ(test, atomic_read(&w[i].pre), 1);
		}
	}
	unregister_kprobes(kps, ARRAY_SIZE(kps));
	wait_for_kprobe_optimizer();
}

/* To a probe that was there before. */
static void optimize_hop_gives_way(struct kunit *test)
{
	struct watch w = { .kp = { .addr = AT(hop_target_2), .pre_handler = watch_pre } };
	struct watch last = { .kp = { .pre_handler = watch_pre } };
	unsigned long hop;

	skip_without_padding(test);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	hop = op_at(w.kp.addr)->optinsn.hop;
	KUNIT_ASSERT_NE(test, hop, 0);
	unregister_kprobe(&w.kp);
	wait_for_kprobe_optimizer();

	last.kp.addr = (u8 *)hop + 1;
	KUNIT_ASSERT_EQ(test, register_kprobe(&last.kp), 0);
	w = (struct watch) { .kp = { .addr = AT(hop_target_2), .pre_handler = watch_pre } };
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_GE(test, abs((long)(op_at(w.kp.addr)->optinsn.hop -
					 (unsigned long)last.kp.addr)), JMP32_INSN_SIZE);
	unregister_kprobe(&last.kp);
	unregister_kprobe(&w.kp);
	wait_for_kprobe_optimizer();
}

/* Also to one that comes later: as if there were no hop. */
static void optimize_hop_moves_out(struct kunit *test)
{
	struct watch w = { .kp = { .addr = AT(hop_target_2), .pre_handler = watch_pre } };
	/* It gets no jump, of which there would be more bytes. */
	struct watch in_padding = {
		.kp = { .pre_handler = watch_pre, .post_handler = nothing_post },
	};
	unsigned long want = run(kpo_hop_target_2, 5), hop, other;
	u8 padding[JMP32_INSN_SIZE];
	int i, ret;

	skip_without_padding(test);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE(test, is_live(w.kp.addr));
	hop = op_at(w.kp.addr)->optinsn.hop;
	KUNIT_ASSERT_NE(test, hop, 0);
	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_EQ(test, kprobe_read_text(hop, padding, sizeof(padding)), 0);

	in_padding.kp.addr = (u8 *)hop + 1;
	ret = register_kprobe(&in_padding.kp);
	KUNIT_EXPECT_EQ(test, ret, 0);
	if (ret) {
		unregister_kprobe(&w.kp);
		return;
	}

	/* That of the hop is gone, down to the last byte. */
	KUNIT_EXPECT_EQ(test, get_kprobe(in_padding.kp.addr)->opcode, padding[1]);
	for (i = 0; i < sizeof(padding); i++)
		KUNIT_EXPECT_EQ(test, first_byte((u8 *)hop + i),
				i == 1 ? INT3_INSN_OPCODE : padding[i]);
	KUNIT_EXPECT_EQ(test, run(kpo_hop_target_2, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);

	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(w.kp.addr));
	other = op_at(w.kp.addr)->optinsn.hop;
	KUNIT_EXPECT_NE(test, other, 0);
	KUNIT_EXPECT_GE(test, abs((long)(other - (unsigned long)in_padding.kp.addr)),
			JMP32_INSN_SIZE);
	KUNIT_EXPECT_EQ(test, run(kpo_hop_target_2, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&in_padding.pre), 0);
	unregister_kprobe(&in_padding.kp);
	unregister_kprobe(&w.kp);
	wait_for_kprobe_optimizer();
}

/*
 * Where there is room for hops near hop_target_2, as long as it is asked for: each
 * time, a probe that is switched off takes the place that was found.
 */
static int take_all_room(struct kunit *test, struct kprobe *takers, int max)
{
	int nr = 0;

	for (; nr < max; nr++) {
		struct watch w = { .kp = { .addr = AT(hop_target_2),
					   .pre_handler = watch_pre } };
		unsigned long hop;
		bool live;

		KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
		wait_for_kprobe_optimizer();
		live = is_live(w.kp.addr);
		hop = op_at(w.kp.addr)->optinsn.hop;
		unregister_kprobe(&w.kp);
		wait_for_kprobe_optimizer();
		if (!live)
			break;

		takers[nr] = (struct kprobe) {
			.addr		= (u8 *)hop,
			.flags		= KPROBE_FLAG_DISABLED,
			.pre_handler	= watch_pre,
		};
		KUNIT_ASSERT_EQ(test, register_kprobe(&takers[nr]), 0);
	}

	return nr;
}

/* All of the padding is taken, and then it is not: no probe has to come again. */
static void optimize_hop_is_tried_again(struct kunit *test)
{
	struct watch w = { .kp = { .addr = AT(hop_target_2), .pre_handler = watch_pre } };
	unsigned long want = run(kpo_hop_target_2, 5);
	struct kprobe *takers;
	int nr;

	skip_without_padding(test);
	takers = kunit_kcalloc(test, 128, sizeof(*takers), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, takers);
	nr = take_all_room(test, takers, 128);
	KUNIT_ASSERT_GT(test, nr, 0);
	KUNIT_ASSERT_LT(test, nr, 128);

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_FALSE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why, KPROBE_NOOPT_TARGET);

	while (nr--)
		unregister_kprobe(&takers[nr]);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_hop_target_2, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	unregister_kprobe(&w.kp);
	wait_for_kprobe_optimizer();
}

/* The same, with the hop of another probe in the only place that is left. */
static void optimize_hop_is_tried_again_after_another(struct kunit *test)
{
	struct watch a = { .kp = { .addr = AT(hop_target_2), .pre_handler = watch_pre } };
	struct watch b = { .kp = { .addr = AT(hop_back), .pre_handler = watch_pre } };
	unsigned long want = run(kpo_hop_back, 5);
	struct kprobe *takers;
	int nr, i;

	skip_without_padding(test);
	takers = kunit_kcalloc(test, 128, sizeof(*takers), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, takers);
	nr = take_all_room(test, takers, 128);
	KUNIT_ASSERT_GT(test, nr, 0);
	/* The first one that was found is in reach of both. */
	unregister_kprobe(&takers[0]);
	KUNIT_ASSERT_EQ(test, register_kprobe(&a.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(a.kp.addr));
	KUNIT_ASSERT_EQ(test, register_kprobe(&b.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_FALSE(test, is_live(b.kp.addr));

	unregister_kprobe(&a.kp);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(b.kp.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_hop_back, 5), want);
	unregister_kprobe(&b.kp);
	for (i = 1; i < nr; i++)
		unregister_kprobe(&takers[i]);
	wait_for_kprobe_optimizer();
}

/*
 * What stands in the text, when the CPUs are synchronized for the first time after
 * the optimizer has waited for tasks.
 */
#ifdef CONFIG_TASKS_RCU
#define WAITS_FOR_TASKS	"synchronize_rcu_tasks"
#else
#define WAITS_FOR_TASKS	"synchronize_rcu"
#endif

struct sync_watch {
	struct kretprobe	wait;
	struct kprobe		sync;
	struct task_struct	*waited;
	u8			*tail;
	u8			*hop;
	u8			*slot;
	u8			tail_then;
	u8			hop_then;
	bool			owned_then;
	unsigned int		nr;
};

static int sync_watch_waited(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct sync_watch *w = container_of(get_kretprobe(ri), struct sync_watch, wait);

	WRITE_ONCE(w->waited, current);
	return 0;
}

static int sync_watch_sync(struct kprobe *p, struct pt_regs *regs)
{
	struct sync_watch *w = container_of(p, struct sync_watch, sync);

	/* Freeing instruction slots synchronizes, too, but in another task. */
	if (READ_ONCE(w->waited) != current)
		return 0;

	WRITE_ONCE(w->waited, NULL);
	w->tail_then = READ_ONCE(*w->tail);
	if (w->hop) {
		w->hop_then = READ_ONCE(*w->hop);
		w->owned_then = kprobe_optinsn_owner((unsigned long)w->slot);
	}
	w->nr++;
	return 0;
}

/*
 * CPUs that tasks-RCU does not wait for may be in what a jump will replace, in a
 * detour and in a hop: none of these may be written before all CPUs have been
 * interrupted once. That such a CPU is really there cannot be arranged in QEMU.
 */
static void optimize_synchronizes_after_wait(struct kunit *test)
{
	struct watch p = { .kp = { .addr = AT(hop_target_2), .pre_handler = watch_pre } };
	struct sync_watch *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	u8 tail = first_byte(AT(hop_target_2) + 1);

	skip_without_padding(test);
	KUNIT_ASSERT_NOT_NULL(test, w);
	w->wait.kp.symbol_name = WAITS_FOR_TASKS;
	w->wait.handler = sync_watch_waited;
	w->sync.symbol_name = "text_poke_sync";
	w->sync.pre_handler = sync_watch_sync;
	w->tail = AT(hop_target_2) + 1;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&w->wait), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w->sync), 0);
	wait_for_kprobe_optimizer();

	w->nr = 0;
	KUNIT_ASSERT_EQ(test, register_kprobe(&p.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(p.kp.addr));
	KUNIT_EXPECT_EQ(test, w->nr, 1);
	KUNIT_EXPECT_EQ(test, w->tail_then, tail);
	KUNIT_EXPECT_NE(test, first_byte(w->tail), tail);

	w->hop = (u8 *)op_at(p.kp.addr)->optinsn.hop;
	w->slot = op_at(p.kp.addr)->optinsn.insn;
	w->nr = 0;
	unregister_kprobe(&p.kp);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, w->nr, 1);
	KUNIT_EXPECT_EQ(test, w->hop_then, JMP32_INSN_OPCODE);
	KUNIT_EXPECT_NE(test, first_byte(w->hop), JMP32_INSN_OPCODE);
	KUNIT_EXPECT_TRUE(test, w->owned_then);

	unregister_kprobe(&w->sync);
	unregister_kretprobe(&w->wait);
	wait_for_kprobe_optimizer();
}

/* This one is never executed. */
static void optimize_refuses_trap(struct kunit *test)
{
	struct watch w = { .kp = { .addr = AT(trap), .pre_handler = watch_pre } };

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why, KPROBE_NOOPT_INSN);
	KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why_at, 2);
	unregister_kprobe(&w.kp);
}

/*
 * Modules
 */

/* By a table of 32-bit offsets, of which the targets have no landing pads. */
asm(".pushsection .text\n"
	".globl kpo_table\n"
	".type kpo_table, @function\n"
	"kpo_table:\n"
	ASM_ENDBR
	"	mov %" R "di, %" R "cx\n"
	ANNOTATE_RETPOLINE_SAFE
	"	jmp *%" R "cx\n"
	"	int3\n"
	".size kpo_table, . - kpo_table\n"
	".popsection\n");
void kpo_table(void);
STACK_FRAME_NON_STANDARD(kpo_table);

/* Whoever built a module need not have built it with landing pads. */
static void optimize_sweeps_modules(struct kunit *test)
{
	unsigned long start = (unsigned long)kpo_table, size, into;
	struct kprobe_targets t = { .start = start & PAGE_MASK, .size = 2 * PAGE_SIZE };
	enum kprobe_swept found;

	t.map = kunit_kzalloc(test, t.size / BITS_PER_BYTE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t.map);
	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &into));
	mutex_lock(&kprobe_mutex);
	mutex_lock(&text_mutex);
	found = kprobe_targets_sweep(&t, start, start + size);
	mutex_unlock(&text_mutex);
	mutex_unlock(&kprobe_mutex);
	KUNIT_EXPECT_EQ(test, found, KPROBE_SWEPT_COMPUTED);
}

/*
 * Xen
 */

asm(".pushsection .text\n"
	".globl kpo_irqfd_inject\n"
	".type kpo_irqfd_inject, @function\n"
	"kpo_irqfd_inject:\n"
	ASM_ENDBR
	"	jmp irqfd_inject.isra.0\n"
	".size kpo_irqfd_inject, . - kpo_irqfd_inject\n"
	".type irqfd_inject.isra.0, @function\n"
	"irqfd_inject.isra.0:\n"
	"	nop\n"
	"777:	imul $3, %eax, %eax\n"
	"	bt $3, %eax\n"
	ASM_RET
	".size irqfd_inject.isra.0, . - irqfd_inject.isra.0\n"
	".popsection\n"
	".pushsection .rodata\n"
	".balign 4\n"
	".globl kpo_off_irqfd_inject\n"
	"kpo_off_irqfd_inject: .long 777b - kpo_irqfd_inject\n"
	".popsection\n");
void kpo_irqfd_inject(void);
extern const u32 kpo_off_irqfd_inject;

/*
 * In a Xen PV guest a task may be scheduled anywhere in some functions. QEMU is none:
 * this is a test of the decision, with a function of such a name.
 */
static void optimize_nothing_in_preemptible_hypercalls(struct kunit *test)
{
	struct watch w = { .kp = { .addr = AT(irqfd_inject), .pre_handler = watch_pre } };
	struct watch other = { .kp = { .addr = AT(mov), .pre_handler = watch_pre } };

	if (IS_ENABLED(CONFIG_PREEMPTION))
		kunit_skip(test, "tasks may be scheduled anywhere");

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, op_at(w.kp.addr)->kp.ainsn.boost);
	KUNIT_EXPECT_TRUE(test, is_live(w.kp.addr));
	unregister_kprobe(&w.kp);
	wait_for_kprobe_optimizer();

	WRITE_ONCE(kprobe_test_as_xen_pv, true);
	w.kp = (struct kprobe) { .addr = AT(irqfd_inject), .pre_handler = watch_pre };
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&other.kp), 0);
	wait_for_kprobe_optimizer();
	WRITE_ONCE(kprobe_test_as_xen_pv, false);
	KUNIT_EXPECT_FALSE(test, op_at(w.kp.addr)->kp.ainsn.boost);
	KUNIT_EXPECT_FALSE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why, KPROBE_NOOPT_ARCH);
	/* Hits are stepped, with the same result. */
	KUNIT_EXPECT_EQ(test, run(kpo_irqfd_inject, 5), 15);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	KUNIT_EXPECT_TRUE(test, w.trapped);
	/* In all other functions nothing changes. */
	KUNIT_EXPECT_TRUE(test, is_live(other.kp.addr));
	unregister_kprobe(&w.kp);
	unregister_kprobe(&other.kp);
	wait_for_kprobe_optimizer();
}

/*
 * Handlers
 */

static int change_ax(struct kprobe *p, struct pt_regs *regs)
{
	regs->ax += 1000;
	return 0;
}

/* A detour may be preempted as it ends: by a call of this, if that is probed. */
static void optimize_refuses_what_ends_detours(struct kunit *test)
{
	struct watch w = {
		.kp = { .symbol_name = "preempt_schedule_notrace", .pre_handler = watch_pre },
	};

	if (!IS_ENABLED(CONFIG_PREEMPTION))
		kunit_skip(test, "needs PREEMPTION");
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_FALSE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why, KPROBE_NOOPT_ARCH);
	unregister_kprobe(&w.kp);
}

static void optimize_honours_registers(struct kunit *test)
{
	struct kprobe p = { .addr = AT(mov), .pre_handler = change_ax };
	unsigned long want = run(kpo_mov, 1005);

	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE(test, is_live(p.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_mov, 5), want);
	unregister_kprobe(&p);
}

/* As error injection does. */
static int return_at_once(struct kprobe *p, struct pt_regs *regs)
{
	regs->ip = (unsigned long)kpo_callee;
	regs->ax = 77;
	return 1;
}

static int pop_return(struct kprobe *p, struct pt_regs *regs)
{
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(long);
	regs->ax = 55;
	return 1;
}

static void optimize_honours_redirection(struct kunit *test)
{
	struct watch second = { .kp = { .addr = AT(mov), .pre_handler = watch_pre } };
	struct kprobe p = { .addr = AT(mov), .pre_handler = return_at_once };

	KUNIT_ASSERT_EQ(test, register_kprobe(&second.kp), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE(test, is_live(p.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_mov, 5), 177);
	/* It was the first to be called, and ended the walk. */
	KUNIT_EXPECT_EQ(test, atomic_read(&second.pre), 0);
	unregister_kprobe(&p);

	memset(&p, 0, sizeof(p));
	p.addr = AT(mov);
	p.pre_handler = pop_return;
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE(test, is_live(p.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_mov, 5), 55);
	unregister_kprobe(&p);
	unregister_kprobe(&second.kp);
}

/* One word less on the stack, and on with the copies. */
static int raise_sp(struct kprobe *p, struct pt_regs *regs)
{
	regs->sp += sizeof(long);
	return 0;
}

/* Whether by breakpoint or by jump, and while one becomes the other. */
static void optimize_p_hit_14_redirection_never_flips(struct kunit *test)
{
	struct kprobe p = { .addr = AT(mov), .pre_handler = return_at_once };
	struct kprobe post = { .addr = AT(mov), .post_handler = nothing_post };
	unsigned int wrong = 0, turns = 0, n = 0, want = 10000;
	unsigned long end = jiffies + 20 * HZ;
	bool live = false, posted = false;

	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	do {
		if (is_live(p.addr) != live) {
			live = !live;
			turns++;
			n = 0;
		}
		wrong += run(kpo_mov, 5) != 177;
		n++;

		/* It has to become a breakpoint, and a jump again. */
		if (turns == 1 && n == want)
			posted = !register_kprobe(&post);
		if (turns == 2 && n == want) {
			unregister_kprobe(&post);
			posted = false;
		}
		/* The optimizer waits for tasks that are not known to be elsewhere. */
		cond_resched_tasks_rcu_qs();
	} while ((turns < 3 || n < want) && time_before(jiffies, end));

	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, turns, 3);
	KUNIT_EXPECT_GE(test, n, want);
	if (posted)
		unregister_kprobe(&post);
	unregister_kprobe(&p);
}

/* What a handler does with memory of userland, it is not to do by chance. */
static atomic_t with_ac;

static int look_for_ac(struct kprobe *p, struct pt_regs *regs)
{
	if (native_save_fl() & X86_EFLAGS_AC || !(regs->flags & X86_EFLAGS_AC))
		atomic_inc(&with_ac);
	return 0;
}

static void optimize_p_hit_19_handler_without_ac(struct kunit *test)
{
	struct kprobe p = { .addr = AT(under_ac), .pre_handler = look_for_ac };
	unsigned long before = native_save_fl() & X86_EFLAGS_AC;

	if (!boot_cpu_has(X86_FEATURE_SMAP))
		kunit_skip(test, "needs SMAP");
	KUNIT_ASSERT_NE(test, run(kpo_under_ac, 1) & X86_EFLAGS_AC, 0);

	atomic_set(&with_ac, 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	KUNIT_EXPECT_NE(test, run(kpo_under_ac, 1) & X86_EFLAGS_AC, 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(p.addr));
	KUNIT_EXPECT_NE(test, run(kpo_under_ac, 1) & X86_EFLAGS_AC, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&with_ac), 0);
	KUNIT_EXPECT_EQ(test, native_save_fl() & X86_EFLAGS_AC, before);
	unregister_kprobe(&p);
}

/* C code goes forwards through strings, in whatever direction it was probed. */
static atomic_t wrong_df;

static int look_for_df(struct kprobe *p, struct pt_regs *regs)
{
	if (native_save_fl() & X86_EFLAGS_DF || !(regs->flags & X86_EFLAGS_DF))
		atomic_inc(&wrong_df);
	return watch_pre(p, regs);
}

static void optimize_p_hit_20_handler_without_df(struct kunit *test)
{
	struct watch w = { .kp = { .addr = AT(under_df), .pre_handler = look_for_df } };

	KUNIT_ASSERT_NE(test, run(kpo_under_df, 1) & X86_EFLAGS_DF, 0);

	atomic_set(&wrong_df, 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_NE(test, run(kpo_under_df, 1) & X86_EFLAGS_DF, 0);
	KUNIT_EXPECT_TRUE(test, w.trapped);
	KUNIT_EXPECT_EQ(test, atomic_read(&wrong_df), 0);

	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_NE(test, run(kpo_under_df, 1) & X86_EFLAGS_DF, 0);
	KUNIT_EXPECT_FALSE(test, w.trapped);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&wrong_df), 0);
	KUNIT_EXPECT_EQ(test, native_save_fl() & X86_EFLAGS_DF, 0);
	unregister_kprobe(&w.kp);
}

static void optimize_honours_stack_pointer(struct kunit *test)
{
	struct kprobe p = { .addr = AT(two_words), .pre_handler = raise_sp };

	KUNIT_EXPECT_EQ(test, run(kpo_two_words, 5), 7);
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE(test, is_live(p.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_two_words, 5), 5);
	unregister_kprobe(&p);
	KUNIT_EXPECT_EQ(test, run(kpo_two_words, 5), 7);
}

/* What a handler is told about where it is. */
struct insider {
	struct kprobe	kp;
	struct kprobe	*running;
	void		*addr;
	unsigned long	status;
	unsigned int	hits;
	bool		preemptible;
	bool		trapped;
};

static int look_and_write_ip(struct kprobe *p, struct pt_regs *regs)
{
	struct insider *s = container_of(p, struct insider, kp);

	s->hits++;
	s->preemptible = preemptible();
	s->trapped = in_nmi();
	s->running = kprobe_running();
	s->addr = s->running ? s->running->addr : NULL;
	s->status = get_kprobe_ctlblk()->kprobe_status;
	regs->ip = (unsigned long)kpo_callee;
	return 0;
}

/* One word less on the stack; and behind the POP, if that counted. */
static int write_sp_and_ip(struct kprobe *p, struct pt_regs *regs)
{
	regs->sp += sizeof(long);
	regs->ip = (unsigned long)AT(two_words) + 6;
	regs->ax = 9;
	return 0;
}

static void optimize_p_agg_13_p_hit_15_p_hit_21_in_detour(struct kunit *test)
{
	struct kprobe sp = { .addr = AT(two_words), .pre_handler = write_sp_and_ip };
	unsigned long want = run(kpo_mov, 5);
	struct insider s[2] = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(s); i++) {
		s[i].kp.addr = AT(mov);
		s[i].kp.pre_handler = look_and_write_ip;
		KUNIT_ASSERT_EQ(test, register_kprobe(&s[i].kp), 0);
	}
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(AT(mov)));
	KUNIT_EXPECT_EQ(test, run(kpo_mov, 5), want);

	for (i = 0; i < ARRAY_SIZE(s); i++) {
		KUNIT_EXPECT_EQ(test, s[i].hits, 1);
		KUNIT_EXPECT_FALSE(test, s[i].trapped);
		KUNIT_EXPECT_FALSE(test, s[i].preemptible);
		KUNIT_EXPECT_PTR_EQ(test, s[i].running, get_kprobe(AT(mov)));
		KUNIT_EXPECT_PTR_EQ(test, s[i].addr, (void *)AT(mov));
		KUNIT_EXPECT_EQ(test, s[i].status, KPROBE_HIT_ACTIVE);
	}
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
	for (i = 0; i < ARRAY_SIZE(s); i++)
		unregister_kprobe(&s[i].kp);

	/* The stack pointer counts, also then. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&sp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(sp.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_two_words, 5), 5);
	unregister_kprobe(&sp);
}

/* S7: into the middle of what a jump has replaced. */
static int go_to_second(struct kprobe *p, struct pt_regs *regs)
{
	regs->ip = (unsigned long)AT(mov) + 2;
	regs->cx = 40;
	return 1;
}

static void optimize_leads_around_jump(struct kunit *test)
{
	struct kprobe target = { .addr = AT(mov), .pre_handler = change_ax };
	struct kprobe p = { .addr = AT(nops), .pre_handler = go_to_second };
	struct kprobe post = { .addr = AT(nops), .post_handler = nothing_post };

	KUNIT_ASSERT_EQ(test, register_kprobe(&target), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE(test, is_live(target.addr));
	KUNIT_ASSERT_TRUE(test, is_live(p.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_nops, 5), 43);

	/* The same behind a breakpoint. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&post), 0);
	KUNIT_EXPECT_FALSE(test, is_live(p.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_nops, 5), 43);
	unregister_kprobe(&post);
	unregister_kprobe(&p);
	unregister_kprobe(&target);
}

/* Its jump lies in two pages. */
FUNCTION(across_pages, "jmp 777f; .balign 4096, 0xcc; .skip 4094, 0xcc\n"
	 "777: add $3, %eax; nop; nop; nop");

static void optimize_across_pages(struct kunit *test)
{
	struct watch w = { .kp = { .addr = AT(across_pages), .pre_handler = watch_pre } };
	unsigned long addr = (unsigned long)w.kp.addr;

	KUNIT_EXPECT_NE(test, addr / PAGE_SIZE, (addr + JMP32_INSN_SIZE - 1) / PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, run(kpo_across_pages, 4), 7);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, first_byte(w.kp.addr), JMP32_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, run(kpo_across_pages, 5), 8);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, run(kpo_across_pages, 6), 9);
}

/* Also where the step of another probe has failed. */
FUNCTION(bad_load, "777: mov (%" R "ax), %eax; jmp 2f; 1: mov $-14, %eax; 2:\n"
	 _ASM_EXTABLE(777b, 1b));

static int fault_to_second(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	return go_to_second(p, regs);
}

static void optimize_leads_fault_around_jump(struct kunit *test)
{
	struct kprobe target = { .addr = AT(mov), .pre_handler = change_ax };
	struct kprobe p = {
		.addr		= AT(bad_load),
		.post_handler	= nothing_post,
		.fault_handler	= fault_to_second,
	};

	KUNIT_ASSERT_EQ(test, register_kprobe(&target), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&p), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(target.addr));
	/* Nothing is ever mapped at the end. */
	KUNIT_EXPECT_EQ(test, run(kpo_bad_load, -PAGE_SIZE), 43);
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
	unregister_kprobe(&p);
	unregister_kprobe(&target);
	KUNIT_EXPECT_EQ(test, (int)run(kpo_bad_load, -PAGE_SIZE), -EFAULT);
}

static int call_again(struct kprobe *p, struct pt_regs *regs)
{
	run(kpo_mov, 1);
	return 0;
}

static void optimize_p_opt_23_nested_hit_is_missed(struct kunit *test)
{
	struct kprobe p = { .addr = AT(mov), .pre_handler = call_again };
	unsigned long want = run(kpo_mov, 5);

	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE(test, is_live(p.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_mov, 5), want);
	KUNIT_EXPECT_EQ(test, p.nmissed, 1);
	unregister_kprobe(&p);
}

/*
 * Stack traces
 */

struct trace {
	struct kprobe	kp;
	unsigned long	entries[24];
	unsigned int	nr;
};

static int trace_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct trace *t = container_of(p, struct trace, kp);

	t->nr = stack_trace_save(t->entries, ARRAY_SIZE(t->entries), 0);
	return 0;
}

static noinline notrace u32 kpo_traced(u32 v)
{
	OPTIMIZER_HIDE_VAR(v);
	/* As if there were a call: not before the frame is set up. */
	asm volatile("	.rept 8\n	nop\n	.endr\n" : ASM_CALL_CONSTRAINT);
	return v + 1;
}

static noinline notrace u32 kpo_tracing(u32 v)
{
	u32 (*volatile fn)(u32 v) = kpo_traced;

	return fn(v) + 1;
}

/*
 * Where the program is known to be: without ORC, the frame has to be set up. Only
 * the function itself has such no-ops.
 */
static u8 *traced_place(void)
{
	u8 *at = (u8 *)kpo_traced;
	struct insn insn;

	while (IS_ENABLED(CONFIG_UNWINDER_FRAME_POINTER) && *at != 0x90 &&
	       !insn_decode_kernel(&insn, at))
		at += insn.length;

	return at;
}

static bool within(unsigned long addr, void *fn)
{
	unsigned long size, into;

	return kallsyms_lookup_size_offset(addr, &size, &into) &&
	       addr - into == (unsigned long)fn;
}

static void optimize_stack_trace(struct kunit *test)
{
	struct trace t = { .kp = { .addr = traced_place(), .pre_handler = trace_pre } };
	int i, probed = -1, caller = -1;

	if (!IS_ENABLED(CONFIG_UNWINDER_ORC) && !IS_ENABLED(CONFIG_UNWINDER_FRAME_POINTER))
		kunit_skip(test, "needs an unwinder that knows");

	KUNIT_ASSERT_EQ(test, register_kprobe(&t.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE(test, is_live(t.kp.addr));
	KUNIT_EXPECT_EQ(test, kpo_tracing(1), 3);

	for (i = 0; i < t.nr; i++) {
		if (within(t.entries[i], kpo_traced))
			probed = i;
		if (within(t.entries[i], kpo_tracing))
			caller = i;
	}
	KUNIT_EXPECT_GE(test, probed, 0);
	/* And nobody between them. */
	KUNIT_EXPECT_EQ(test, caller, probed + 1);
	KUNIT_EXPECT_GT(test, (int)t.nr, caller + 1);
	unregister_kprobe(&t.kp);
}

#ifdef CONFIG_UNWINDER_ORC
/* Where the unwinder goes from a place in a detour, with this stack. */
static unsigned long caller_of(struct kunit *test, unsigned long ip,
			       unsigned long *sp)
{
	struct pt_regs regs = {
		.ip	= ip,
		.sp	= (unsigned long)sp,
		.cs	= __KERNEL_CS,
		.flags	= X86_EFLAGS_FIXED,
	};
	struct unwind_state state;
	unsigned long addr = 0;

	/* The first that is not the detour nor the function it belongs to. */
	for (unwind_start(&state, current, &regs, NULL); !unwind_done(&state);
	     unwind_next_frame(&state)) {
		addr = unwind_get_return_address(&state);
		if (addr != ip && !within(addr, kpo_traced))
			break;
	}

	KUNIT_EXPECT_FALSE(test, state.error);
	return addr;
}

/* What an instruction does to the stack pointer, in bytes. */
static int pushes(const struct insn *insn)
{
	u8 opcode = insn->opcode.bytes[0];

	switch (opcode) {
	case 0x50 ... 0x57: case 0x68: case 0x6a: case 0x9c:
		return 8;
	case 0x58 ... 0x5f: case 0x9d:
		return -8;
	case 0x8d:
		return insn->modrm.value == 0x64 ? -insn->displacement.value : 0;
	}

	return 0;
}

/* The test's own frame, so to speak. */
static unsigned long somewhere(void)
{
	return (unsigned long)caller_of + 8;
}

/*
 * As the function is entered, and with what the detour will put there.
 */
static void fill_stack(unsigned long *top, const struct kprobe *p)
{
	struct pt_regs *regs = (struct pt_regs *)top - 1;

	top[0] = somewhere();
	regs->ip = (unsigned long)p->addr + 1;
	regs->cs = __KERNEL_CS;
	regs->sp = (unsigned long)top;
}

/* An NMI may come at every instruction. Returns how many there are. */
static unsigned int unwind_detour(struct kunit *test, const struct kprobe *p,
				  unsigned long *top)
{
	const struct arch_optimized_insn *o = &op_at(p->addr)->optinsn;
	unsigned int at, nr = 0;
	struct insn insn;
	int depth = 0;

	for (at = 0; at < o->end + JMP32_INSN_SIZE; at += insn.length, nr++) {
		if (insn_decode_kernel(&insn, o->insn + at)) {
			KUNIT_FAIL(test, "no instruction at %u", at);
			break;
		}
		KUNIT_EXPECT_EQ_MSG(test, caller_of(test, (unsigned long)o->insn + at,
						    (void *)top - depth),
				    somewhere(), "at %u", at);
		if (at < o->to[0])
			depth += pushes(&insn);
	}
	KUNIT_EXPECT_EQ(test, depth, 0);
	return nr;
}

static void optimize_p_opt_18_unwinds_everywhere(struct kunit *test)
{
	struct kprobe p = { .symbol_name = "kpo_traced", .pre_handler = change_ax };
	unsigned long stack[64] = {}, *top = stack + 48;

	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(p.addr));
	fill_stack(top, &p);
	KUNIT_EXPECT_GT(test, unwind_detour(test, &p, top), 40);
	unregister_kprobe(&p);
}

/* Known to objtool, and with something on its stack where the jump is. */
asm(".pushsection .text\n"
	".type kpo_hop_traced, @function\n"
	"kpo_hop_traced:\n"
	ASM_ENDBR
	"	push %rax\n"
	"	test %eax, %eax\n"
	"	je 1f\n"
	".globl kpo_hop_traced_at\n"
	"kpo_hop_traced_at:\n"
	ANNOTATE_NOENDBR
	"	.byte 0x66, 0x90\n"
	"1:	nop; nop; nop\n"
	"	pop %rax\n"
	ASM_RET
	".size kpo_hop_traced, . - kpo_hop_traced\n"
	PADDING "\n"
	".popsection\n");
void kpo_hop_traced(void);
extern u8 kpo_hop_traced_at[];

static void optimize_p_opt_18_unwinds_in_padding(struct kunit *test)
{
	unsigned long caller = (unsigned long)optimize_p_opt_18_unwinds_in_padding + 8;
	struct watch w = { .kp = { .addr = kpo_hop_traced_at, .pre_handler = watch_pre } };
	unsigned long stack[64] = {}, *top = stack + 48, hop;

	skip_without_padding(test);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(w.kp.addr));
	hop = op_at(w.kp.addr)->optinsn.hop;
	KUNIT_EXPECT_NE(test, hop, 0);
	KUNIT_EXPECT_EQ(test, run(kpo_hop_traced, 5), 5);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);

	top[0] = caller;
	if (hop)
		KUNIT_EXPECT_EQ(test, caller_of(test, hop, top - 1), caller);
	KUNIT_EXPECT_TRUE(test, kprobe_is_hop(hop));
	unregister_kprobe(&w.kp);
}

/* Livepatch has to know that it cannot know. */
static int reliable_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct trace *t = container_of(p, struct trace, kp);

	t->nr = stack_trace_save_tsk_reliable(current, t->entries, ARRAY_SIZE(t->entries));
	return 0;
}

static void optimize_trace_is_not_reliable(struct kunit *test)
{
	struct trace t = { .kp = { .symbol_name = "kpo_traced", .pre_handler = reliable_pre } };

	KUNIT_ASSERT_EQ(test, register_kprobe(&t.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE(test, is_live(t.kp.addr));
	KUNIT_EXPECT_EQ(test, kpo_tracing(1), 3);
	KUNIT_EXPECT_LT(test, (int)t.nr, 0);
	unregister_kprobe(&t.kp);
}
#endif

/*
 * All registers
 */

/* What a function is called with, what it finds, and what its caller gets. */
extern struct pt_regs kpo_given, kpo_found, kpo_got;
struct pt_regs kpo_given, kpo_found, kpo_got;

/* In the order of struct pt_regs. */
#ifdef CONFIG_X86_64
#define REGS	"r15,r14,r13,r12,rbp,rbx,r11,r10,r9,r8,rax,rcx,rdx,rsi,rdi"
#define SAVED	"rbx,rbp,r12,r13,r14,r15"
#define RESTORED	"r15,r14,r13,r12,rbp,rbx"
#define LAST_REG	di
#define AT_EFLAGS	144
#else
#define REGS	"ebx,ecx,edx,esi,edi,ebp,eax"
#define SAVED	"ebx,ebp,esi,edi"
#define RESTORED	"edi,esi,ebp,ebx"
#define LAST_REG	ax
#define AT_EFLAGS	56
#endif

#define EACH_REG(insn)							\
	"	.Lkpo_at = 0\n"						\
	"	.irp reg, " REGS "\n"					\
	"	" insn "\n"						\
	"	.Lkpo_at = .Lkpo_at + " WORD "\n"				\
	"	.endr\n"
#define STORE_REGS(what)	EACH_REG("mov %\\reg, " #what " + .Lkpo_at" RIP)
#define LOAD_REGS(what)		EACH_REG("mov " #what " + .Lkpo_at" RIP ", %\\reg")
#define FLAGS_OF(what)		#what " + " __stringify(AT_EFLAGS) RIP
#define STORE_FLAGS(what)	"	pushf" Q "; pop" Q " " FLAGS_OF(what) "\n"

static_assert(offsetof(struct pt_regs, flags) == AT_EFLAGS);
static_assert(offsetof(struct pt_regs, sp) == AT_EFLAGS + sizeof(long));

asm(".pushsection .text\n"
	".type kpo_entered, @function\n"
	"kpo_entered:\n"
	ASM_ENDBR
	STORE_FLAGS(kpo_found)
	STORE_REGS(kpo_found)
	"	mov %" R "sp, kpo_found + " __stringify(AT_EFLAGS) " + " WORD RIP "\n"
	"	add $1, %" R "ax\n"
	ASM_RET
	".size kpo_entered, . - kpo_entered\n"

	".type kpo_enter, @function\n"
	"kpo_enter:\n"
	ASM_ENDBR
	"	.irp reg, " SAVED "\n	push %\\reg\n	.endr\n"
	LOAD_REGS(kpo_given)
	"	push" Q " " FLAGS_OF(kpo_given) "; popf" Q "\n"
	"	call kpo_entered\n"
	STORE_FLAGS(kpo_got)
	STORE_REGS(kpo_got)
	"	.irp reg, " RESTORED "\n	pop %\\reg\n	.endr\n"
	ASM_RET
	".size kpo_enter, . - kpo_enter\n"
	".popsection\n");
void kpo_entered(void);
void kpo_enter(void);
STACK_FRAME_NON_STANDARD(kpo_entered);
STACK_FRAME_NON_STANDARD(kpo_enter);

#define ARITHMETIC	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |	\
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)

/* General registers come first. */
#define NR_REGS		(offsetofend(struct pt_regs, LAST_REG) / sizeof(long))

/* All different, and all arithmetic flags set. */
static void enter(void)
{
	unsigned long *reg = (unsigned long *)&kpo_given;
	int i;

	for (i = 0; i < NR_REGS; i++)
		reg[i] = 0x1111222233334444ULL * (i + 1);
	kpo_given.flags = X86_EFLAGS_FIXED | X86_EFLAGS_IF | ARITHMETIC;
	memset(&kpo_found, 0, sizeof(kpo_found));
	memset(&kpo_got, 0, sizeof(kpo_got));
	kpo_enter();
}

static bool same_registers(const struct pt_regs *a, const struct pt_regs *b)
{
	/* Returns that count the depth of calls change them, also that of a detour. */
	unsigned long flags = cpu_feature_enabled(X86_FEATURE_CALL_DEPTH) ? 0 : ARITHMETIC;

	return !memcmp(a, b, NR_REGS * sizeof(long)) &&
	       !((a->flags ^ b->flags) & flags);
}

/* Somebody who sees all registers. */
struct seer {
	struct kprobe	kp;
	struct pt_regs	regs;
	int		(*then)(struct kprobe *p, struct pt_regs *regs);
};

static int seer_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct seer *s = container_of(p, struct seer, kp);

	s->regs = *regs;
	return s->then ? s->then(p, regs) : 0;
}

/* What a breakpoint would show. */
static void expect_shown(struct kunit *test, const struct seer *s)
{
	KUNIT_EXPECT_TRUE(test, same_registers(&s->regs, &kpo_given));
	KUNIT_EXPECT_EQ(test, s->regs.flags, kpo_given.flags);
	KUNIT_EXPECT_EQ(test, s->regs.ip, (unsigned long)s->kp.addr + INT3_INSN_SIZE);
	KUNIT_EXPECT_EQ(test, s->regs.sp, kpo_found.sp);
	KUNIT_EXPECT_EQ(test, s->regs.cs, __KERNEL_CS);
	KUNIT_EXPECT_EQ(test, s->regs.ss, __KERNEL_DS);
	KUNIT_EXPECT_EQ(test, s->regs.orig_ax, -1);
#ifdef CONFIG_X86_32
	KUNIT_EXPECT_EQ(test, s->regs.ds, __USER_DS);
	KUNIT_EXPECT_EQ(test, s->regs.es, __USER_DS);
	KUNIT_EXPECT_EQ(test, s->regs.fs, __KERNEL_PERCPU);
#endif
}

static void change(struct pt_regs *regs)
{
	unsigned long *reg = (unsigned long *)regs;
	int i;

	for (i = 0; i < NR_REGS; i++)
		reg[i] ^= 0x0123456789abcdefULL;
	regs->flags ^= ARITHMETIC;
}

static int change_all(struct kprobe *p, struct pt_regs *regs)
{
	change(regs);
	return 0;
}

static void enter_seen(struct kunit *test, struct seer *s,
		       int (*then)(struct kprobe *p, struct pt_regs *regs))
{
	*s = (struct seer) {
		.kp = { .symbol_name = "kpo_entered", .pre_handler = seer_pre },
		.then = then,
	};
	KUNIT_ASSERT_EQ(test, register_kprobe(&s->kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(s->kp.addr));
	KUNIT_EXPECT_FALSE(test, op_at(s->kp.addr)->optinsn.of_return);
	enter();
	unregister_kprobe(&s->kp);
}

static void optimize_p_hit_17_p_hit_18_all_registers(struct kunit *test)
{
	struct pt_regs want;
	struct seer s;

	enter();
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_found, &kpo_given));
	want = kpo_got;

	enter_seen(test, &s, NULL);
	expect_shown(test, &s);
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_found, &kpo_given));
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_got, &want));

	enter_seen(test, &s, change_all);
	expect_shown(test, &s);
	want = kpo_given;
	change(&want);
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_found, &want));
}

/*
 * Where only return probes are
 */

#ifdef KPROBE_DETOURS_OF_RETURNS

struct returns {
	struct kretprobe	rp;
	unsigned int		nr;
	unsigned long		value;
};

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct returns *r = container_of(get_kretprobe(ri), struct returns, rp);

	r->nr++;
	r->value = regs_return_value(regs);
	return 0;
}

static void follow(struct kunit *test, struct returns *r, const char *name)
{
	*r = (struct returns) { .rp = { .kp.symbol_name = name, .handler = count_return } };
	KUNIT_ASSERT_EQ(test, register_kretprobe(&r->rp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(r->rp.kp.addr));
	KUNIT_EXPECT_TRUE(test, op_at(r->rp.kp.addr)->optinsn.of_return);
}

static void optimize_return_keeps_registers(struct kunit *test)
{
	struct pt_regs want;
	struct returns r;

	enter();
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_found, &kpo_given));
	want = kpo_got;
	KUNIT_EXPECT_EQ(test, want.ax, kpo_given.ax + 1);

	follow(test, &r, "kpo_entered");
	enter();
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	KUNIT_EXPECT_EQ(test, r.value, want.ax);
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_found, &kpo_given));
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_got, &want));
	unregister_kretprobe(&r.rp);
}

/* Somebody who sees registers that had not been saved. */
static void join(struct kunit *test, const struct returns *r, struct seer *s,
		 int (*then)(struct kprobe *p, struct pt_regs *regs))
{
	*s = (struct seer) {
		.kp = { .addr = r->rp.kp.addr, .pre_handler = seer_pre },
		.then = then,
	};
	KUNIT_ASSERT_EQ(test, register_kprobe(&s->kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(s->kp.addr));
	KUNIT_EXPECT_TRUE(test, op_at(s->kp.addr)->optinsn.of_return);
}

/* Where it would go on does not count. */
static int change_all_and_ip(struct kprobe *p, struct pt_regs *regs)
{
	change(regs);
	regs->ip = (unsigned long)kpo_callee;
	return 0;
}

static void optimize_return_with_others(struct kunit *test)
{
	struct pt_regs want;
	struct returns r;
	struct seer s;

	enter();
	want = kpo_got;

	follow(test, &r, "kpo_entered");
	join(test, &r, &s, NULL);
	enter();
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_found, &kpo_given));
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_got, &want));
	expect_shown(test, &s);
	unregister_kprobe(&s.kp);

	join(test, &r, &s, change_all_and_ip);
	enter();
	KUNIT_EXPECT_EQ(test, r.nr, 2);
	want = kpo_given;
	change(&want);
	KUNIT_EXPECT_TRUE(test, same_registers(&kpo_found, &want));
	unregister_kprobe(&s.kp);

	/* It was the first to be called, and ended the walk. */
	join(test, &r, &s, pop_return);
	enter();
	KUNIT_EXPECT_EQ(test, r.nr, 2);
	KUNIT_EXPECT_EQ(test, kpo_found.sp, 0);
	KUNIT_EXPECT_EQ(test, kpo_got.ax, 55);
	unregister_kprobe(&s.kp);

	enter();
	KUNIT_EXPECT_EQ(test, r.nr, 3);

	/* And if it is the return probe that goes. */
	join(test, &r, &s, change_ax);
	unregister_kretprobe(&r.rp);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(s.kp.addr));
	enter();
	KUNIT_EXPECT_EQ(test, r.nr, 3);
	KUNIT_EXPECT_EQ(test, kpo_found.ax, kpo_given.ax + 1000);
	KUNIT_EXPECT_EQ(test, kpo_got.ax, kpo_given.ax + 1001);
	unregister_kprobe(&s.kp);
}

static int enter_again(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kpo_enter();
	return count_return(ri, regs);
}

static void optimize_return_in_a_handler_is_missed(struct kunit *test)
{
	struct returns r;

	follow(test, &r, "kpo_entered");
	r.rp.handler = enter_again;
	enter();
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	KUNIT_EXPECT_EQ(test, r.rp.kp.nmissed, 1);
	unregister_kretprobe(&r.rp);
}

/* The way to an entry handler leads through what is no detour, and no part of F. */
static int entry_is_reliable;

static int walk_reliably(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned long entries[16];

	entry_is_reliable = stack_trace_save_tsk_reliable(current, entries,
							  ARRAY_SIZE(entries));
	return 1;
}

static void optimize_trace_of_completion_is_not_reliable(struct kunit *test)
{
	unsigned long start = (unsigned long)kretprobe_detour_complete;
	struct returns r = {};

	follow(test, &r, "kpo_entered");
	r.rp.entry_handler = walk_reliably;
	entry_is_reliable = 0;
	enter();
	KUNIT_EXPECT_LT(test, entry_is_reliable, 0);
	unregister_kretprobe(&r.rp);

	KUNIT_EXPECT_TRUE(test, kprobe_is_completion(start));
	KUNIT_EXPECT_FALSE(test, kprobe_is_completion(start - 1));
	KUNIT_EXPECT_FALSE(test, kprobe_is_completion(start + kretprobe_detour_complete_size));
}

static int not_this_time(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return regs->ax != kpo_given.ax;
}

static void optimize_return_asks_entry_handler(struct kunit *test)
{
	struct returns r = {
		.rp = {
			.kp.symbol_name	= "kpo_entered",
			.handler	= count_return,
			.entry_handler	= not_this_time,
		},
	};
	struct seer s;

	KUNIT_ASSERT_EQ(test, register_kretprobe(&r.rp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(r.rp.kp.addr));
	KUNIT_EXPECT_FALSE(test, op_at(r.rp.kp.addr)->optinsn.of_return);
	enter();
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	unregister_kretprobe(&r.rp);

	/* One of a kretprobe that came later than the detour. */
	follow(test, &r, "kpo_entered");
	r.rp.entry_handler = not_this_time;
	join(test, &r, &s, change_ax);
	enter();
	KUNIT_EXPECT_EQ(test, r.nr, 0);
	unregister_kprobe(&s.kp);
	enter();
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	unregister_kretprobe(&r.rp);
}

#ifdef CONFIG_UNWINDER_ORC
static void optimize_return_stack_trace(struct kunit *test)
{
	struct returns r;

	follow(test, &r, "kpo_traced");
	optimize_stack_trace(test);
	KUNIT_EXPECT_EQ(test, r.nr, 1);
	unregister_kretprobe(&r.rp);
}

static void optimize_return_p_opt_18_unwinds_everywhere(struct kunit *test)
{
	u8 *at = (u8 *)kretprobe_detour_complete, opcode = 0;
	unsigned long stack[64] = {}, *top = stack + 48;
	struct returns r;
	struct insn insn;
	/* What the detour has put there before it goes on in @at. */
	int depth = sizeof(struct pt_regs) - offsetof(struct pt_regs, r11);

	follow(test, &r, "kpo_traced");
	fill_stack(top, &r.rp.kp);
	KUNIT_EXPECT_GT(test, unwind_detour(test, &r.rp.kp, top), 30);

	while (opcode != JMP32_INSN_OPCODE && opcode != JMP8_INSN_OPCODE) {
		KUNIT_EXPECT_EQ_MSG(test, caller_of(test, (unsigned long)at,
						    (void *)top - depth),
				    somewhere(), "%pS", at);
		if (insn_decode_kernel(&insn, at)) {
			KUNIT_FAIL(test, "no instruction at %pS", at);
			break;
		}
		opcode = insn.opcode.bytes[0];
		depth += opcode == 0x8d ? 0 : pushes(&insn);
		at += insn.length;
	}
	KUNIT_EXPECT_EQ(test, depth, sizeof(struct pt_regs));
	unregister_kretprobe(&r.rp);
}
#endif
#endif /* KPROBE_DETOURS_OF_RETURNS */

/*
 * Coming and going
 */

static void optimize_p_opt_21_post_handler_comes_and_goes(struct kunit *test)
{
	struct watch w = { .kp = { .addr = AT(mov), .pre_handler = watch_pre } };
	struct kprobe post = { .addr = AT(mov), .post_handler = nothing_post };
	unsigned long want = run(kpo_mov, 5);

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, first_byte(w.kp.addr), JMP32_INSN_OPCODE);

	KUNIT_ASSERT_EQ(test, register_kprobe(&post), 0);
	KUNIT_EXPECT_EQ(test, first_byte(w.kp.addr), INT3_INSN_OPCODE);
	KUNIT_EXPECT_FALSE(test, kprobe_optimized(get_kprobe(w.kp.addr)));
	KUNIT_EXPECT_EQ(test, run(kpo_mov, 5), want);

	unregister_kprobe(&post);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, first_byte(w.kp.addr), JMP32_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, run(kpo_mov, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	unregister_kprobe(&w.kp);
}

/* Inside of what a jump at the first of the no-ops replaces. */
struct neighbour {
	const char	*name;
	unsigned int	at;
};

static const struct neighbour neighbours[] = {
	{ "1 behind", 1 },
	{ "2 behind", 2 },
	{ "3 behind", 3 },
	{ "4 behind", 4 },
};
KUNIT_ARRAY_PARAM_DESC(neighbour, neighbours, name);

static void optimize_p_opt_07_neighbours(struct kunit *test)
{
	const struct neighbour *n = test->param_value;
	struct watch a = { .kp = { .addr = AT(nops), .pre_handler = watch_pre } };
	struct watch b = { .kp = { .addr = AT(nops) + n->at, .pre_handler = watch_pre } };
	unsigned long want = run(kpo_nops, 5);

	KUNIT_ASSERT_EQ(test, register_kprobe(&a.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(a.kp.addr));

	/* P-OPT-09: what it copies is behind the jump. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&b.kp), 0);
	KUNIT_EXPECT_FALSE(test, is_live(a.kp.addr));
	KUNIT_EXPECT_EQ(test, get_kprobe(b.kp.addr)->opcode, 0x90);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_FALSE(test, is_live(a.kp.addr));
	/* Some bytes in this kernel may look like a jump there. */
	KUNIT_EXPECT_EQ(test, is_live(b.kp.addr), op_at(b.kp.addr)->why != KPROBE_NOOPT_TARGET);
	KUNIT_EXPECT_EQ(test, run(kpo_nops, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&a.pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&b.pre), 1);

	KUNIT_EXPECT_EQ(test, disable_kprobe(&b.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(a.kp.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_nops, 5), want);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&b.kp), 0);
	KUNIT_EXPECT_FALSE(test, is_live(a.kp.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_nops, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&b.pre), 2);

	unregister_kprobe(&b.kp);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(a.kp.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_nops, 5), want);
	unregister_kprobe(&a.kp);
	KUNIT_EXPECT_EQ(test, first_byte(AT(nops)), 0x90);
	KUNIT_EXPECT_EQ(test, first_byte(AT(nops) + n->at), 0x90);
}

/* The first only comes when there is one in its way. */
static void optimize_p_opt_07_neighbour_was_there(struct kunit *test)
{
	const struct neighbour *n = test->param_value;
	struct watch a = { .kp = { .addr = AT(nops), .pre_handler = watch_pre } };
	struct watch b = { .kp = { .addr = AT(nops) + n->at, .pre_handler = watch_pre } };
	unsigned long want = run(kpo_nops, 5);
	u8 text[MAX_OPTIMIZED_LENGTH];

	memcpy(text, AT(nops), sizeof(text));
	KUNIT_ASSERT_EQ(test, register_kprobe(&b.kp), 0);
	wait_for_kprobe_optimizer();
	if (op_at(b.kp.addr)->why == KPROBE_NOOPT_TARGET) {
		unregister_kprobe(&b.kp);
		kunit_skip(test, "some bytes in this kernel look like a jump there");
	}
	KUNIT_EXPECT_TRUE(test, is_live(b.kp.addr));

	KUNIT_ASSERT_EQ(test, register_kprobe(&a.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_FALSE(test, is_live(a.kp.addr));
	KUNIT_EXPECT_EQ(test, first_byte(a.kp.addr), INT3_INSN_OPCODE);
	KUNIT_EXPECT_TRUE(test, is_live(b.kp.addr));
	KUNIT_EXPECT_EQ(test, first_byte(b.kp.addr), JMP32_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, run(kpo_nops, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&a.pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&b.pre), 1);

	KUNIT_EXPECT_EQ(test, disable_kprobe(&b.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(a.kp.addr));
	KUNIT_EXPECT_EQ(test, first_byte(a.kp.addr), JMP32_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, run(kpo_nops, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&a.pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&b.pre), 1);

	KUNIT_EXPECT_EQ(test, enable_kprobe(&b.kp), 0);
	KUNIT_EXPECT_FALSE(test, is_live(a.kp.addr));
	KUNIT_EXPECT_EQ(test, first_byte(a.kp.addr), INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, run(kpo_nops, 5), want);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_FALSE(test, is_live(a.kp.addr));
	KUNIT_EXPECT_TRUE(test, is_live(b.kp.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_nops, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&a.pre), 4);
	KUNIT_EXPECT_EQ(test, atomic_read(&b.pre), 3);

	unregister_kprobe(&b.kp);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(a.kp.addr));
	KUNIT_EXPECT_EQ(test, run(kpo_nops, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&a.pre), 5);
	unregister_kprobe(&a.kp);
	KUNIT_EXPECT_EQ(test, memcmp(AT(nops), text, sizeof(text)), 0);
	KUNIT_EXPECT_EQ(test, run(kpo_nops, 5), want);
}

/* All of it before the worker gets to run. */
static void optimize_p_base_12_neighbour_of_reused(struct kunit *test)
{
	struct watch a = { .kp = { .addr = AT(nops), .pre_handler = watch_pre } };
	struct watch b = { .kp = { .addr = AT(nops) + 3, .pre_handler = watch_pre } };
	unsigned long want = run(kpo_nops, 5);

	KUNIT_ASSERT_EQ(test, register_kprobe(&a.kp), 0);
	wait_for_kprobe_optimizer();
	unregister_kprobe(&a.kp);
	KUNIT_ASSERT_EQ(test, register_kprobe(&b.kp), 0);
	unregister_kprobe(&b.kp);
	a.kp = (struct kprobe) { .addr = AT(nops), .pre_handler = watch_pre };
	KUNIT_ASSERT_EQ(test, register_kprobe(&a.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, is_live(a.kp.addr));
	KUNIT_EXPECT_EQ(test, first_byte(a.kp.addr), JMP32_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, run(kpo_nops, 5), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&a.pre), 1);
	unregister_kprobe(&a.kp);
}

/*
 * Random functions, the same in each build. Each has STEPS steps, and labels
 * between them to which it jumps forth.
 */
#define STEPS		12
#define NR_RANDOM	64
/* Bytes from one to the next. */
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
	"kpo_random_callee:\n"
	ASM_ENDBR
	"	add $11, %eax\n"
	ASM_RET
	".size kpo_random_callee, . - kpo_random_callee\n"
	".balign " __stringify(RANDOM_SIZE) "\n"
	".globl kpo_randoms\n"
	".type kpo_randoms, @function\n"
	"kpo_randoms:\n"
	".set kpo_fn, 0\n"
	".rept " __stringify(NR_RANDOM) "\n"
	".balign " __stringify(RANDOM_SIZE) "\n"
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
	struct watch	w[NR_RANDOM];
	struct kprobe	*kps[NR_RANDOM];
	unsigned long	want[NR_RANDOM][ARRAY_SIZE(args)];
};

static void random_expect(struct kunit *test, struct random_test *r, unsigned int nth)
{
	unsigned int i, k;

	for (i = 0; i < NR_RANDOM; i++) {
		for (k = 0; k < ARRAY_SIZE(args); k++)
			KUNIT_EXPECT_EQ_MSG(test, run(random_fn(i), args[k]),
					    r->want[i][k],
					    "function %u, instruction %u, argument %lx",
					    i, nth, args[k]);
	}
}

/* Where the nth instruction of each begins, or NULL behind its end. */
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

/* Each instruction in its turn, in all functions at once. */
static void optimize_random_functions(struct kunit *test)
{
	struct random_test *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	unsigned int i, k, nth, nr, live = 0, all = 0;

	KUNIT_ASSERT_NOT_NULL(test, r);
	for (i = 0; i < NR_RANDOM; i++) {
		for (k = 0; k < ARRAY_SIZE(args); k++)
			r->want[i][k] = run(random_fn(i), args[k]);
	}

	for (nth = 0; ; nth++) {
		memset(r->w, 0, sizeof(r->w));
		for (i = 0, nr = 0; i < NR_RANDOM; i++) {
			u8 *at = random_insn(i, nth);

			if (!at)
				continue;
			r->w[i].kp.addr = at;
			r->w[i].kp.pre_handler = watch_pre;
			r->kps[nr++] = &r->w[i].kp;
		}
		if (!nr)
			break;

		KUNIT_ASSERT_EQ(test, register_kprobes(r->kps, nr), 0);
		/* While it is prepared, waiting, and after. */
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

/* Synchronizations of all CPUs, counted by a probe on what does them. */
static atomic_t syncs;

static int count_sync(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&syncs);
	return 0;
}

static void register_and_count(struct kunit *test, struct random_test *r,
			       unsigned int nr, int *come, int *go)
{
	unsigned int live = 0, i;

	wait_for_kprobe_optimizer();
	memset(r->w, 0, sizeof(r->w));
	for (i = 0; i < nr; i++) {
		r->w[i].kp.addr = random_insn(i, 0);
		r->w[i].kp.pre_handler = watch_pre;
		r->kps[i] = &r->w[i].kp;
	}

	atomic_set(&syncs, 0);
	KUNIT_ASSERT_EQ(test, register_kprobes(r->kps, nr), 0);
	wait_for_kprobe_optimizer();
	*come = atomic_read(&syncs);
	for (i = 0; i < nr; i++)
		live += is_live(r->kps[i]->addr);
	KUNIT_EXPECT_GT(test, live, nr / 2);
	unregister_kprobes(r->kps, nr);
	*go = atomic_read(&syncs) - *come;
	wait_for_kprobe_optimizer();
}

static void optimize_p_scl_05_p_scl_06_one_pass(struct kunit *test)
{
	struct kprobe counter = { .symbol_name = "text_poke_sync", .pre_handler = count_sync };
	struct random_test *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	int come, go;

	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_ASSERT_EQ(test, register_kprobe(&counter), 0);
	register_and_count(test, r, NR_RANDOM, &come, &go);
	kunit_info(test, "%d and %d for %u probes\n", come, go, NR_RANDOM);
	/* The breakpoints; after the wait; tail and head of the jumps. Others may free slots. */
	KUNIT_EXPECT_GE(test, come, 4);
	KUNIT_EXPECT_LE(test, come, 4 + 2);
	KUNIT_EXPECT_GE(test, go, 3);
	KUNIT_EXPECT_LE(test, go, 3 + 2);
	unregister_kprobe(&counter);
}

/* Threads call all the functions that are to be optimized, for ever. */
struct storm {
	struct task_struct	*task[4];
	unsigned long		want[ARRAY_SIZE(forms)][ARRAY_SIZE(args)];
	atomic_t		wrong;
};

static int storm_thread(void *data)
{
	struct storm *s = data;
	unsigned int i, k;

	while (!kthread_should_stop()) {
		for (i = 0; i < ARRAY_SIZE(forms); i++) {
			for (k = 0; k < ARRAY_SIZE(args); k++) {
				if (run(forms[i].place.fn, args[k]) != s->want[i][k])
					atomic_inc(&s->wrong);
			}
		}
		/* Preemption is not enough for those who wait for tasks. */
		cond_resched_tasks_rcu_qs();
	}

	return 0;
}

static void storm_begin(struct kunit *test, struct storm *s)
{
	unsigned int i, k;

	kpo_pointer = (unsigned long)kpo_callee;
	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		for (k = 0; k < ARRAY_SIZE(args); k++)
			s->want[i][k] = run(forms[i].place.fn, args[k]);
	}

	for (i = 0; i < ARRAY_SIZE(s->task); i++) {
		s->task[i] = kthread_run(storm_thread, s, "kpo_storm/%u", i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(s->task[i]));
	}
}

static void storm_end(struct kunit *test, struct storm *s)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(s->task); i++)
		kthread_stop(s->task[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&s->wrong), 0);
}

#define STORM_MS	2500

static void optimize_storm(struct kunit *test)
{
	unsigned long end = jiffies + msecs_to_jiffies(STORM_MS);
	struct storm *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct watch *w = kunit_kcalloc(test, ARRAY_SIZE(forms), sizeof(*w), GFP_KERNEL);
	struct kprobe *kps[ARRAY_SIZE(forms)];
	struct rnd_state rnd;
	unsigned int i, rounds = 0, live = 0;

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_NOT_NULL(test, w);
	prandom_seed_state(&rnd, 42);
	storm_begin(test, s);

	while (time_before(jiffies, end)) {
		struct kprobe post = {
			.addr		= at(&forms[rounds % ARRAY_SIZE(forms)].place),
			.post_handler	= nothing_post,
		};

		for (i = 0; i < ARRAY_SIZE(forms); i++) {
			memset(&w[i], 0, sizeof(w[i]));
			w[i].kp.addr = at(&forms[i].place);
			w[i].kp.pre_handler = watch_pre;
			kps[i] = &w[i].kp;
		}
		KUNIT_ASSERT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), 0);
		if (prandom_u32_state(&rnd) % 4)
			wait_for_kprobe_optimizer();
		for (i = 0; i < ARRAY_SIZE(forms); i++)
			live += is_live(kps[i]->addr);

		KUNIT_EXPECT_EQ(test, register_kprobe(&post), 0);
		for (i = 0; i < 8; i++) {
			struct kprobe *p = kps[prandom_u32_state(&rnd) % ARRAY_SIZE(kps)];

			disable_kprobe(p);
			if (prandom_u32_state(&rnd) % 2)
				enable_kprobe(p);
		}
		unregister_kprobe(&post);
		if (prandom_u32_state(&rnd) % 2)
			wait_for_kprobe_optimizer();
		unregister_kprobes(kps, ARRAY_SIZE(kps));
		rounds++;
	}

	storm_end(test, s);
	kunit_info(test, "%u rounds, %u jumps\n", rounds, live);
	KUNIT_EXPECT_GT(test, live, 0);
}

static struct kunit_case optimize_cases[] = {
	KUNIT_CASE_PARAM(optimize_forms, form_gen_params),
#ifdef CONFIG_JUMP_LABEL
	KUNIT_CASE(optimize_p_opt_13_static_keys),
#endif
	KUNIT_CASE(optimize_hop_is_taken_back),
	KUNIT_CASE(optimize_hops_are_not_shared),
	KUNIT_CASE(optimize_hop_gives_way),
	KUNIT_CASE(optimize_hop_moves_out),
	KUNIT_CASE(optimize_hop_is_tried_again),
	KUNIT_CASE(optimize_hop_is_tried_again_after_another),
	KUNIT_CASE(optimize_synchronizes_after_wait),
	KUNIT_CASE(optimize_sweeps_modules),
	KUNIT_CASE(optimize_nothing_in_preemptible_hypercalls),
	KUNIT_CASE(optimize_refuses_trap),
	KUNIT_CASE(optimize_refuses_what_ends_detours),
	KUNIT_CASE(optimize_honours_registers),
	KUNIT_CASE(optimize_honours_redirection),
	KUNIT_CASE(optimize_p_hit_14_redirection_never_flips),
	KUNIT_CASE(optimize_p_hit_19_handler_without_ac),
	KUNIT_CASE(optimize_p_hit_20_handler_without_df),
	KUNIT_CASE(optimize_honours_stack_pointer),
	KUNIT_CASE(optimize_p_agg_13_p_hit_15_p_hit_21_in_detour),
	KUNIT_CASE(optimize_across_pages),
	KUNIT_CASE(optimize_leads_around_jump),
	KUNIT_CASE(optimize_leads_fault_around_jump),
	KUNIT_CASE(optimize_p_opt_23_nested_hit_is_missed),
	KUNIT_CASE(optimize_stack_trace),
#ifdef CONFIG_UNWINDER_ORC
	KUNIT_CASE(optimize_p_opt_18_unwinds_everywhere),
	KUNIT_CASE(optimize_p_opt_18_unwinds_in_padding),
	KUNIT_CASE(optimize_trace_is_not_reliable),
#endif
	KUNIT_CASE(optimize_p_hit_17_p_hit_18_all_registers),
#ifdef KPROBE_DETOURS_OF_RETURNS
	KUNIT_CASE(optimize_return_keeps_registers),
	KUNIT_CASE(optimize_return_with_others),
	KUNIT_CASE(optimize_return_in_a_handler_is_missed),
	KUNIT_CASE(optimize_return_asks_entry_handler),
	KUNIT_CASE(optimize_trace_of_completion_is_not_reliable),
#ifdef CONFIG_UNWINDER_ORC
	KUNIT_CASE(optimize_return_stack_trace),
	KUNIT_CASE(optimize_return_p_opt_18_unwinds_everywhere),
#endif
#endif
	KUNIT_CASE(optimize_p_opt_21_post_handler_comes_and_goes),
	KUNIT_CASE_PARAM(optimize_p_opt_07_neighbours, neighbour_gen_params),
	KUNIT_CASE_PARAM(optimize_p_opt_07_neighbour_was_there, neighbour_gen_params),
	KUNIT_CASE(optimize_p_base_12_neighbour_of_reused),
	KUNIT_CASE_SLOW(optimize_random_functions),
	KUNIT_CASE(optimize_p_scl_05_p_scl_06_one_pass),
	KUNIT_CASE_SLOW(optimize_storm),
	{}
};

static struct kunit_suite optimize_suite = {
	.name		= "kprobes_x86_optimize",
	.test_cases	= optimize_cases,
};
kunit_test_suite(optimize_suite);

MODULE_DESCRIPTION("KUnit tests of jump optimization on x86");
MODULE_LICENSE("GPL");
