// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization from end to end: what is optimized and what is refused, with the
 * same results as without, also while jumps come and go. Functions that other suites
 * use as well are declared in detours.h.
 */

#include "suite.h"

#include <linux/execmem.h>
#include <linux/jump_label.h>
#include <linux/unaligned.h>

#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include <asm/sections.h>
#include <asm/segment.h>

#include "detours.h"
#include "storm.h"
#include "../common.h"
#include "kgdb.h"

/* A branch to .Lkpo_NAME, inside kpo_NAME, from a function far away. */
#define FROM_AFAR(name, code)						\
KP_UNPROBED(kpo_to_##name,						\
	    ".rept 200\n	nop\n	.endr\n"				\
	    code "\n"							\
	    ".rept 200\n	nop\n	.endr\n");				\
STACK_FRAME_NON_STANDARD(kpo_to_##name)

/* The target of indirect branches. */
unsigned long kpo_pointer;
unsigned long kpo_word = 0x1234567;
/* The return address that the callee saw. */
unsigned long kpo_returns_to;

KP_UNPROBED(kpo_callee, "mov (%" R "sp), %" R "cx; mov %" R "cx, kpo_returns_to" RIP "\n"
	    "add $100, %eax");

KP_FAR_FROM_OTHERS(kpo_far_begin);

/* Optimized. */
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
FUNCTION(call_mem, ANNOTATE_RETPOLINE_SAFE "\n"
	 "777: call *kpo_pointer" RIP "; 888: add $1, %eax");
FUNCTION(call_reg, "mov $kpo_callee, %" R "cx; 777: add $3, %eax\n"
	 ANNOTATE_RETPOLINE_SAFE "\ncall *%" R "cx; 888: add $1, %eax");
FUNCTION(jmp_mem, "push $1f\n" ANNOTATE_RETPOLINE_SAFE "\n"
	 "777: jmp *kpo_pointer" RIP "; .balign 16; 1: add $2, %eax");
FUNCTION(loop, "mov $4, %ecx; 1: add $1, %eax; nop; nop\n"
	 "777: loop 1b; add %ecx, %eax; nop");
FUNCTION(loop_cond, "mov $9, %ecx; 1: add $1, %eax; nop; cmp $6, %ecx\n"
	 "777: loopne 1b; add %ecx, %eax; nop");
FUNCTION(jrcxz, "mov %" R "ax, %" R "cx; 777: " JRCXZ " 1f; add $7, %eax; 1: add $1, %eax");
FUNCTION(jecxz, "mov %" R "ax, %" R "cx; 777: " JECXZ " 1f; add $7, %eax; 1: add $1, %eax");
FUNCTION(ret, "test %eax, %eax; je 1f; add $9, %eax\n" ANNOTATE_RETPOLINE_SAFE "\n"
	 "777: ret; int3; int3; int3; int3\n"
	 "1: add $1, %eax");
FUNCTION(ret_imm, "push %" R "ax; call 2f; add $4, %eax; jmp 1f; .balign 16\n"
	 "2: add $10, %eax\n" ANNOTATE_RETPOLINE_SAFE "\n"
	 "777: .byte 0xc2, " WORD ", 0; nop; nop; nop\n"
	 "1:");
FUNCTION(flags, "777: cmp $5, %eax; pushf; pop %" R "ax; and $0x8d5, %eax");
FUNCTION(pushf, "cmp %eax, %eax; 777: pushf; pop %" R "ax; and $0x8d5, %eax");
FUNCTION(cli, "pushf; 777: cli; add $1, %eax; popf; nop");
FUNCTION(std, "std; 777: lea 3(%" R "ax), %eax; cld; nop");
FUNCTION(prefetch, "777: prefetcht0 kpo_word" RIP "; add $3, %eax");
FUNCTION(bit_test, "777: btl $3, %eax; sbb %eax, %eax");
FUNCTION(target_after, "test %eax, %eax; je 1f; 777: add $3, %eax; nop; nop; 1: add $1, %eax");
FUNCTION(target_self, "test %eax, %eax; je 777f; add $1, %eax; 777: add $3, %eax; nop; nop");
FUNCTION(extable_elsewhere, "777: add $3, %eax; nop; nop\n"
	 "1: mov (%" R "sp), %" R "cx; 2:\n" _ASM_EXTABLE(1b, 2b));

FUNCTION(two_words, "push %" R "bp; mov %" R "sp, %" R "bp; push %" R "ax; push $7\n"
	 "777: nop; nop; nop; nop; nop; pop %" R "ax; mov %" R "bp, %" R "sp; pop %" R "bp");

/* Refused. */
FUNCTION(target_1, "test %eax, %eax; je 1f; 777: nop; 1: add $3, %eax; nop; nop");
FUNCTION(target_2, "test %eax, %eax; je 1f; 777: .byte 0x66, 0x90; 1: add $3, %eax; nop");
FUNCTION(target_4, "test %eax, %eax; je 1f; 777: add $3, %eax; nop; 1: nop; add $1, %eax");
FUNCTION(target_jrcxz, "mov %eax, %ecx; " JRCXZ " 1f; 777: add $3, %eax; 1: nop; nop");
FUNCTION(target_back, "mov $3, %ecx; 777: nop; 1: add $3, %eax; nop; dec %ecx; jne 1b");
FUNCTION(target_own, "777: jmp 1f; 1: add $3, %eax; nop; nop");
FUNCTION(short_call, "mov $kpo_callee, %" R "cx\n" ANNOTATE_RETPOLINE_SAFE "\n"
	 "777: call *%" R "cx; add $3, %eax; nop");
/* The probe is on the landing pad, not before it. */
FUNCTION(landing_at, "777: .byte 0xf3, 0x0f, 0x1e, 0xfa; add $3, %eax; nop; nop");
FUNCTION(landing_sealed, "777: " KP_SEALED_PAD "add $3, %eax; nop; nop");
FUNCTION(landing, "777: nop; .byte 0xf3, 0x0f, 0x1e, 0xfa; add $3, %eax");
FUNCTION(landing_after, "777: jmp 1f; .byte 0xf3, 0x0f, 0x1e, 0xfa; nop; 1: add $3, %eax");
FUNCTION(extable, "777: nop; 1: mov (%" R "sp), %" R "cx; nop; add $3, %eax; 2:\n"
	 _ASM_EXTABLE(1b, 2b));
FUNCTION(fixup, "1: mov (%" R "sp), %" R "cx; 777: nop; 2: add $3, %eax; nop; nop\n"
	 _ASM_EXTABLE(1b, 2b));
FUNCTION(trap, "777: test %eax, %eax; ud2; nop");
FUNCTION(rodata, "777: nop; .Lkpo_rodata:\n" ANNOTATE_NOENDBR "\nadd $3, %eax; nop; nop\n"
	 ".pushsection .rodata; " _ASM_ALIGN "; " _ASM_PTR " .Lkpo_rodata; .popsection");
FUNCTION(data, "777: nop; .Lkpo_data:\n" ANNOTATE_NOENDBR "\nadd $3, %eax; nop; nop\n"
	 ".pushsection .data; " _ASM_ALIGN "; " _ASM_PTR " .Lkpo_data; .popsection");
FUNCTION(afar_jmp, "777: nop; .Lkpo_afar_jmp: add $3, %eax; nop; nop");
FROM_AFAR(afar_jmp, ".byte 0xe9; .long .Lkpo_afar_jmp - . - 4");
FUNCTION(afar_jcc, "777: nop; .Lkpo_afar_jcc: add $3, %eax; nop; nop");
FROM_AFAR(afar_jcc, ".byte 0x0f, 0x84; .long .Lkpo_afar_jcc - . - 4");
FUNCTION(afar_lea, "777: nop; .Lkpo_afar_lea:\n" ANNOTATE_NOENDBR "\nadd $3, %eax; nop; nop");
FROM_AFAR(afar_lea, "lea .Lkpo_afar_lea" RIP ", %" R "cx");
FUNCTION(afar_push, "777: nop; .Lkpo_afar_push:\n" ANNOTATE_NOENDBR "\nadd $3, %eax; nop; nop");
FROM_AFAR(afar_push, "push $.Lkpo_afar_push; pop %" R "cx");
FUNCTION(afar_mov, "777: nop; .Lkpo_afar_mov:\n" ANNOTATE_NOENDBR "\nadd $3, %eax; nop; nop");
FROM_AFAR(afar_mov, "mov" Q " $.Lkpo_afar_mov, kpo_pointer" RIP);
FUNCTION(afar_call, "777: nop; .Lkpo_afar_call: add $3, %eax; nop; nop");
FROM_AFAR(afar_call, ".byte 0xe8; .long .Lkpo_afar_call - . - 4");
FUNCTION(afar_xbegin, "777: nop; .Lkpo_afar_xbegin: add $3, %eax; nop; nop");
FROM_AFAR(afar_xbegin, ".byte 0xc7, 0xf8; .long .Lkpo_afar_xbegin - . - 4");
#if defined(CONFIG_X86_64) && !defined(CONFIG_X86_KERNEL_IBT)
/* Branches whose target is computed; also from a part that was split off. */
FUNCTION(computed, "test %eax, %eax; je 777f; movslq .Lkpo_computed_rel(%rip), %rcx\n"
	 "lea kpo_computed(%rip), %rdx; add %rdx, %rcx\n"
	 ANNOTATE_RETPOLINE_SAFE "\njmp *%rcx; int3\n"
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
	ANNOTATE_RETPOLINE_SAFE "\n"
	"	jmp *%rcx\n"
	"	int3\n"
	".size kpo_computed_cold.cold, . - kpo_computed_cold.cold\n"
	".pushsection .discard.func_stack_frame_non_standard, \"aw\"\n"
	"	.quad kpo_computed_cold.cold\n"
	".popsection\n"
	".popsection\n");
#endif
#ifdef CONFIG_X86_64
/* The stack is misaligned for two instructions; also in a part that was split off. */
FUNCTION(misaligned, "pushfw; popfw; 777: add $3, %eax; nop; nop");
FUNCTION(misaligned_cold, "test %eax, %eax; {disp32} jne kpo_misaligned_cold.cold\n"
	 "777: add $3, %eax; nop; nop; .Lkpo_misaligned_cold: add $1, %eax");
asm(".pushsection .text.unlikely, \"ax\"\n"
	".type kpo_misaligned_cold.cold, @function\n"
	"kpo_misaligned_cold.cold:\n"
	"	pushfw\n"
	"	popfw\n"
	"	jmp .Lkpo_misaligned_cold\n"
	".size kpo_misaligned_cold.cold, . - kpo_misaligned_cold.cold\n"
	".pushsection .discard.func_stack_frame_non_standard, \"aw\"\n"
	"	.quad kpo_misaligned_cold.cold\n"
	".popsection\n"
	".popsection\n");
FUNCTION(afar_movabs, "777: nop; .Lkpo_afar_movabs:\n" ANNOTATE_NOENDBR "\nadd $3, %eax; nop; nop");
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
/* A jump from the preceding function. */
asm(".pushsection .text\n"
	".globl kpo_to_near\n"
	".type kpo_to_near, @function\n"
	KP_LANDING(kpo_to_near)
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

/* A static key; only its table shows the target. */
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
/* Next to all of it, but not in its way. */
FUNCTION(label_after, "666:" JUMP_LABEL(label_after) "777: add $7, %eax; nop; nop\n"
	 ".Lkpo_label_after: add $3, %eax");
FUNCTION(label_at, "666:" JUMP_LABEL(label_at)
	 "add $7, %eax; .Lkpo_label_at: 777: add $3, %eax; nop; nop");
#endif

KP_FAR_FROM_OTHERS(kpo_far_end);

#define ENTERED_AT_2							\
	"test %eax, %eax; je 1f; 777: .byte 0x66, 0x90; 1: add $3, %eax; nop"

FUNCTION_AND(hop_first, "777: nop; nop; nop; nop; nop; add $1, %eax", PADDING);
FUNCTION(hop_back, "test %eax, %eax; je 1f; 777: add $3, %eax; 1: add $1, %eax; nop");
FUNCTION_AND(hop_target_2, ENTERED_AT_2, PADDING);
FUNCTION_AND(hop_target_4, "test %eax, %eax; je 1f\n"
	     "777: nop; add $3, %al; nop; 1: nop; add $1, %eax", PADDING);
FUNCTION_AND(hop_jcc, "test %eax, %eax; 777: je 1f; 1: add $3, %eax; nop", PADDING);
FUNCTION_AND(hop_jmp, "777: jmp 1f; 1: add $3, %eax; nop", PADDING);
FUNCTION_AND(hop_call, "mov $kpo_callee, %" R "cx\n" ANNOTATE_RETPOLINE_SAFE "\n"
	     "777: call *%" R "cx; 888: add $3, %eax; nop", PADDING);
FUNCTION_AND(hop_extable, "777: .byte 0x66, 0x90; 1: mov (%" R "sp), %" R "cx\n"
	     "nop; add $3, %eax; 2:\n"
	     _ASM_EXTABLE(1b, 2b), PADDING);
FUNCTION(hop_end, "nop; 777: add $3, %eax");
/* These share the padding after the second one. */
FUNCTION(hop_shared, ENTERED_AT_2);
FUNCTION_AND(hop_shares, ENTERED_AT_2,
	     PADDING "; " PADDING);

KP_FAR_FROM_OTHERS(kpo_far_hops);

/* A probe in the only padding nearby, less than a hop from its end. */
FUNCTION_AND(hop_own, "777: add $3, %eax", ".skip 8, 0x90");
KP_FAR_FROM_OTHERS(kpo_far_hop_own);

/* Too short; entered by a branch; and possibly reached from above. */
FUNCTION_AND(no_hop_short, ENTERED_AT_2,
	     ".skip 4, 0x90");
KP_FAR_FROM_OTHERS(kpo_far_no_hop_short);
FUNCTION_AND(no_hop_entered, ENTERED_AT_2,
	     ".skip 4, 0x90; .Lkpo_no_hop_entered: .skip 4, 0x90");
FROM_AFAR(no_hop_entered, ".byte 0xe9; .long .Lkpo_no_hop_entered - . - 4");

/* A function that seems not to return. */
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
KP_FAR_FROM_OTHERS(kpo_far_##name)

OPEN_END(no_hop_trap, "ud2");
OPEN_END(no_hop_call, "call kpo_callee");

struct form {
	const char	*name;
	struct kp_place	place;
	unsigned int	hits;		/* of one call, 0 if that depends on the argument */
	u8		why;
	u8		why_at;
	bool		hop;
	bool		indirect;	/* or a return with an operand */
};

#define LIVE(name, hits)	{ #name, PLACE(name), hits }
#define INDIRECT(name, hits)	{ #name, PLACE(name), hits, .indirect = true }
#define HOP(name, hits)		{ #name, PLACE(name), hits, .hop = true }
#define REFUSED(name, why, at)	{ #name, PLACE(name), 0, KPROBE_NOOPT_##why, at }

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
	LIVE(target_after, 0),
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
	REFUSED(short_call, CALL, 0),
#ifdef CONFIG_X86_KERNEL_IBT
	REFUSED(landing_at, LANDING, 0),
	REFUSED(landing_sealed, LANDING, 0),
	REFUSED(landing, LANDING, 1),
	REFUSED(landing_after, LANDING, 2),
#endif
	REFUSED(extable, EXTABLE, 1),
	REFUSED(fixup, TARGET, 1),
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
	REFUSED(computed, INDIRECT, 1),
	REFUSED(computed_cold, INDIRECT, 1),
#endif
#ifdef CONFIG_X86_64
	REFUSED(misaligned, STACK, 1),
	REFUSED(misaligned_cold, STACK, 1),
#else
	REFUSED(segment, SEGMENT, 1),
	REFUSED(afar_lea_index, TARGET, 1),
	REFUSED(afar_ljmp, TARGET, 1),
#endif
	REFUSED(near, TARGET, 1),
	REFUSED(inner_symbol, END, 0),
	REFUSED(end, END, 0),
#ifdef CONFIG_JUMP_LABEL
	REFUSED(label, TARGET, 1),
	REFUSED(label_site, PATCHED, 0),
	LIVE(label_after, 1),
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

/* The expected result, with the mitigations of this kernel. */
static struct form as_mitigated(struct kunit *test)
{
	struct form f = *(const struct form *)test->param_value;

	if (f.hop)
		skip_without_padding(test);
	/* It is too short here, but not if it ends with a jump to a thunk. */
	if (f.place.fn == kpo_end && IS_ENABLED(CONFIG_MITIGATION_RETHUNK))
		kunit_skip(test, "return thunks are longer");
	if (f.place.fn == kpo_ret_imm && x86_return_thunk == its_return_thunk)
		kunit_skip(test, "depends on the half of the cache line that the copy is in");
	if (f.place.fn == kpo_ret_imm)
		f.why = cpu_wants_rethunk() ? KPROBE_NOOPT_INSN : KPROBE_NOOPT_NONE;
	else if (f.indirect && (cpu_feature_enabled(X86_FEATURE_RETPOLINE) ||
				cpu_feature_enabled(X86_FEATURE_INDIRECT_THUNK_ITS)))
		f.why = KPROBE_NOOPT_INSN;
	return f;
}

/* What was foreseen is what has come. */
static void expect_outcome(struct kunit *test, const struct optimized_kprobe *op, u8 jump,
			   u8 why, u8 at)
{
	u8 want = op->optinsn.hop ? KPROBE_JUMP_SHORT : KPROBE_JUMP_LONG;

	KUNIT_EXPECT_EQ(test, why, op->why);
	KUNIT_EXPECT_EQ(test, at, op->why_at);
	KUNIT_EXPECT_EQ(test, jump, op->why ? KPROBE_JUMP_UNKNOWN : want);
}

static void optimize_forms(struct kunit *test)
{
	const struct form form = as_mitigated(test), *f = &form;
	struct kp_watch w = KP_WATCH(kp_at(&f->place));
	unsigned long want[ARRAY_SIZE(kpo_args)], return_to;
	u8 text[MAX_OPTIMIZED_LENGTH], jump, why, why_at;
	unsigned int hits = 0;
	int i;

	/* Let hops of other cases nearby go away first. */
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_EQ(test, kprobe_test_forecast(w.kp.addr, &jump, &why, &why_at), 0);
	kpo_pointer = (unsigned long)kpo_callee;
	memcpy(text, kp_at(&f->place), sizeof(text));
	for (i = 0; i < ARRAY_SIZE(kpo_args); i++)
		want[i] = kp_run(f->place.fn, kpo_args[i]);
	return_to = kpo_returns_to;
	kpo_returns_to = 0;

	KP_REGISTER_AND_WAIT(test, &w.kp);
	if (op_at(w.kp.addr)->why == KPROBE_NOOPT_TARGET &&
	    (!f->why || op_at(w.kp.addr)->why_at < f->why_at)) {
		unregister_kprobe(&w.kp);
		kunit_skip(test, "some bytes in this kernel look like a jump there");
	}
	KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why, f->why);
	/* The table does not say which instruction mitigations forbid. */
	if (!f->indirect || !f->why)
		KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why_at, f->why_at);
	KUNIT_EXPECT_EQ(test, is_live(w.kp.addr), !f->why);
	expect_outcome(test, op_at(w.kp.addr), jump, why, why_at);
	KUNIT_ASSERT_EQ(test, kprobe_test_forecast(w.kp.addr, &jump, &why, &why_at), 0);
	expect_outcome(test, op_at(w.kp.addr), jump, why, why_at);
	KUNIT_EXPECT_EQ(test, first_byte(w.kp.addr),
			f->why ? INT3_INSN_OPCODE :
			f->hop ? JMP8_INSN_OPCODE : JMP32_INSN_OPCODE);

	for (i = 0; i < ARRAY_SIZE(kpo_args); i++) {
		KUNIT_EXPECT_EQ_MSG(test, kp_run(f->place.fn, kpo_args[i]), want[i],
				    "argument %lx", kpo_args[i]);
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
	KUNIT_EXPECT_EQ(test, memcmp(kp_at(&f->place), text,
				     f->hop ? JMP8_INSN_SIZE : sizeof(text)), 0);
	KUNIT_EXPECT_EQ(test, kp_run(f->place.fn, kpo_args[2]), want[2]);

	/* The hop goes with the detour. */
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, memcmp(kp_at(&f->place), text, sizeof(text)), 0);
}

#ifdef CONFIG_JUMP_LABEL
/* While there are probes on them, with and without jumps. */
static void static_keys_flip_under_probes(struct kunit *test)
{
	static const struct kp_place places[] = {
		PLACE(label), PLACE(label_site), PLACE(label_after), PLACE(label_at),
	};
	unsigned long off[ARRAY_SIZE(places)], on[ARRAY_SIZE(places)];
	struct kp_watch w[ARRAY_SIZE(places)] = {};
	struct kprobe *kps[ARRAY_SIZE(places)];
	int i, round;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		off[i] = kp_run(places[i].fn, 1);
	static_branch_enable(&kpo_key);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		on[i] = kp_run(places[i].fn, 1);
		KUNIT_EXPECT_EQ(test, on[i] + 7, off[i]);
	}

	for (round = 0; round < 4; round++) {
		for (i = 0; i < ARRAY_SIZE(places); i++) {
			w[i] = (struct kp_watch)KP_WATCH(kp_at(&places[i]));
			kps[i] = &w[i].kp;
		}
		/*
		 * Registered while the key is on, or off; also switched while they
		 * wait.
		 */
		if (round % 2)
			static_branch_disable(&kpo_key);
		KUNIT_ASSERT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), 0);
		if (round / 2)
			wait_for_kprobe_optimizer();
		static_branch_enable(&kpo_key);
		for (i = 0; i < ARRAY_SIZE(places); i++)
			KUNIT_EXPECT_EQ_MSG(test, kp_run(places[i].fn, 1), on[i], "%pS",
					    kps[i]->addr);
		static_branch_disable(&kpo_key);
		wait_for_kprobe_optimizer();
		for (i = 0; i < ARRAY_SIZE(places); i++)
			KUNIT_EXPECT_EQ_MSG(test, kp_run(places[i].fn, 1), off[i], "%pS",
					    kps[i]->addr);
		KUNIT_EXPECT_TRUE(test, is_live(AT(label_after)));
		KUNIT_EXPECT_TRUE(test, is_live(AT(label_at)));
		static_branch_enable(&kpo_key);
		for (i = 0; i < ARRAY_SIZE(places); i++)
			KUNIT_EXPECT_EQ_MSG(test, kp_run(places[i].fn, 1), on[i], "%pS",
					    kps[i]->addr);
		unregister_kprobes(kps, ARRAY_SIZE(kps));
		for (i = 0; i < ARRAY_SIZE(places); i++)
			KUNIT_EXPECT_EQ_MSG(test, kp_run(places[i].fn, 1), on[i], "%pS",
					    kps[i]->addr);
	}

	static_branch_disable(&kpo_key);
	for (i = 0; i < ARRAY_SIZE(places); i++)
		KUNIT_EXPECT_EQ(test, kp_run(places[i].fn, 1), off[i]);
}
#endif

/* This function is never called. */
static void no_jump_over_trap(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(AT(trap));

	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why, KPROBE_NOOPT_INSN);
	KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why_at, 2);
	unregister_kprobe(&w.kp);
}

/*
 * Modules
 */

/* Jumps to targets without landing pads, as through a table of 32-bit offsets. */
asm(".pushsection .text\n"
	".globl kpo_table\n"
	".type kpo_table, @function\n"
	KP_LANDING(kpo_table)
	"	mov %" R "di, %" R "cx\n"
	ANNOTATE_RETPOLINE_SAFE "\n"
	"	jmp *%" R "cx\n"
	"	int3\n"
	".size kpo_table, . - kpo_table\n"
	".popsection\n");
void kpo_table(void);
STACK_FRAME_NON_STANDARD(kpo_table);

/* What the search finds between two addresses, which are in one page or two. */
static u8 decode(struct kunit *test, unsigned long start, unsigned long end)
{
	struct kprobe_branch_map map = { .start = start & PAGE_MASK, .size = 2 * PAGE_SIZE };

	map.targets = kp_zalloc(test, map.size / BITS_PER_BYTE);
	guard(kprobe_test)();
	guard(mutex)(&text_mutex);
	return kprobe_map_decode(&map, start, end);
}

/* A module may have been built without landing pads. */
static void decoding_reports_computed_jumps_of_modules(struct kunit *test)
{
	unsigned long start = (unsigned long)kpo_table, size, into;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &into));
	KUNIT_EXPECT_EQ(test, decode(test, start, start + size), KPROBE_NOOPT_INDIRECT);
}

/*
 * Nothing else is within the reach of its short branches. It is aligned, so that its bit would
 * tell that it has been decoded.
 */
#ifdef CONFIG_KGDB
KP_FUNCTION(kpo_by_kgdb,
	    ".skip 300, 0xcc\n"
	    ".balign 32, 0xcc\n"
	    ".globl kpo_kgdb_break\n"
	    ".type kpo_kgdb_break, @function\n"
	    "kpo_kgdb_break:\n"
	    ASM_ENDBR
	    ".rept 128\n	nop\n	.endr\n"
	    ASM_RET
	    ".size kpo_kgdb_break, . - kpo_kgdb_break",
	    "777: add $3, %eax; nop; nop; nop", ".skip 300, 0xcc");
void kpo_kgdb_break(void);
STACK_FRAME_NON_STANDARD(kpo_kgdb_break);

/* A breakpoint of the debugger hides an instruction, but only as long as it is there. */
static void decoding_is_repeated_after_kgdb(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(AT(by_kgdb));
	unsigned long addr = (unsigned long)kpo_kgdb_break;

	OPTIMIZER_HIDE_VAR(addr);
	kgdb_set_break(test, addr);
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why, KPROBE_NOOPT_UNDECODED);
	kgdb_remove_break(test, addr);
	unregister_kprobe(&w.kp);

	w.kp = (struct kprobe) { .addr = AT(by_kgdb), .pre_handler = kp_watch_pre };
	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why, KPROBE_NOOPT_NONE);
	KUNIT_EXPECT_TRUE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_EQ(test, kp_run(kpo_by_kgdb, 5), 8);
	unregister_kprobe(&w.kp);
}
#else
KP_SKIPPED(decoding_is_repeated_after_kgdb, "needs KGDB")
#endif

/*
 * Code that no compiler emits, and that is never executed. Initialized data is between the
 * text and the init text of the kernel, and branches of 32 bits reach both.
 */
static u8 decoded_code[16] = { 0x90 };

enum decoded_target { NO_TARGET, INSIDE, BEFORE, AFTER, NO_TEXT, THUNK };

struct decoded_case {
	const char		*name;
	u8			code[5];
	u8			len;
	enum decoded_target	target;		/* its displacement follows the code */
	bool			last;		/* the code is the end of the function */
	u8			want;
};

static const struct decoded_case decoded_cases[] = {
	{ "jmp inside", { 0xe9 }, 1, INSIDE, false, KPROBE_NOOPT_NONE },
	{ "jmp to a function before", { 0xe9 }, 1, BEFORE, false, KPROBE_NOOPT_NONE },
	{ "jmp to a function after", { 0xe9 }, 1, AFTER, false, KPROBE_NOOPT_NONE },
	{ "jmp out of the text", { 0xe9 }, 1, NO_TEXT, false, KPROBE_NOOPT_INDIRECT },
	{ "jmp to a thunk", { 0xe9 }, 1, THUNK, false, KPROBE_NOOPT_INDIRECT },
	{ "je inside", { 0x0f, 0x84 }, 2, INSIDE, false, KPROBE_NOOPT_NONE },
	{ "je to a function", { 0x0f, 0x84 }, 2, BEFORE, false, KPROBE_NOOPT_NONE },
	{ "je to a thunk", { 0x0f, 0x84 }, 2, THUNK, false, KPROBE_NOOPT_INDIRECT },
	{ "call of a thunk", { 0xe8 }, 1, THUNK, false, KPROBE_NOOPT_NONE },
	{ "jmp *%eax", { 0xff, 0xe0 }, 2, NO_TARGET, false, KPROBE_NOOPT_INDIRECT },
	{ "jmp *(%eax)", { 0xff, 0x20 }, 2, NO_TARGET, false, KPROBE_NOOPT_NONE },
#ifdef CONFIG_X86_64
	{ "pushw %ax", { 0x66, 0x50 }, 2, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "popw %ax", { 0x66, 0x58 }, 2, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "pushw $0x9090", { 0x66, 0x68 }, 2, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "pushw $1", { 0x66, 0x6a, 0x01 }, 3, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "pushfw", { 0x66, 0x9c }, 2, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "popfw", { 0x66, 0x9d }, 2, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "enterw $0x9090", { 0x66, 0xc8 }, 2, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "leavew", { 0x66, 0xc9 }, 2, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "pushw %fs", { 0x66, 0x0f, 0xa0 }, 3, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "popw %fs", { 0x66, 0x0f, 0xa1 }, 3, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "pushw %gs", { 0x66, 0x0f, 0xa8 }, 3, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "popw %gs", { 0x66, 0x0f, 0xa9 }, 3, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "pushw (%rax)", { 0x66, 0xff, 0x30 }, 3, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "popw (%rax)", { 0x66, 0x8f, 0x00 }, 3, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "incw (%rax)", { 0x66, 0xff, 0x00 }, 3, NO_TARGET, false, KPROBE_NOOPT_NONE },
	{ "push with REX.W", { 0x66, 0x48, 0x50 }, 3, NO_TARGET, false, KPROBE_NOOPT_NONE },
	{ "add $10, %rsp", { 0x48, 0x83, 0xc4, 0x0a }, 4, NO_TARGET, false,
	  KPROBE_NOOPT_STACK },
	{ "sub $10, %rsp", { 0x48, 0x83, 0xec, 0x0a }, 4, NO_TARGET, false,
	  KPROBE_NOOPT_STACK },
	/* The constants continue in the rest of the function, which is 0x90. */
	{ "add $0x90909002, %rsp", { 0x48, 0x81, 0xc4, 0x02 }, 4, NO_TARGET, false,
	  KPROBE_NOOPT_STACK },
	{ "enter $0x9002", { 0xc8, 0x02 }, 2, NO_TARGET, false, KPROBE_NOOPT_STACK },
	{ "enter $0x9090", { 0xc8 }, 1, NO_TARGET, false, KPROBE_NOOPT_NONE },
	{ "lea 10(%rsp), %rsp", { 0x48, 0x8d, 0x64, 0x24, 0x0a }, 5, NO_TARGET, false,
	  KPROBE_NOOPT_STACK },
	{ "lea 16(%rsp), %rsp", { 0x48, 0x8d, 0x64, 0x24, 0x10 }, 5, NO_TARGET, false,
	  KPROBE_NOOPT_NONE },
	{ "lea 10(%rsp), %r12", { 0x4c, 0x8d, 0x64, 0x24, 0x0a }, 5, NO_TARGET, false,
	  KPROBE_NOOPT_NONE },
	{ "lea 10(%rsp), %rax", { 0x48, 0x8d, 0x44, 0x24, 0x0a }, 5, NO_TARGET, false,
	  KPROBE_NOOPT_NONE },
	{ "sub $16, %rsp", { 0x48, 0x83, 0xec, 0x10 }, 4, NO_TARGET, false, KPROBE_NOOPT_NONE },
	{ "add $10, %r12", { 0x49, 0x83, 0xc4, 0x0a }, 4, NO_TARGET, false, KPROBE_NOOPT_NONE },
	{ "and $-6, %rsp", { 0x48, 0x83, 0xe4, 0xfa }, 4, NO_TARGET, false, KPROBE_NOOPT_NONE },
#else
	{ "pushw %ax", { 0x66, 0x50 }, 2, NO_TARGET, false, KPROBE_NOOPT_NONE },
	{ "add $10, %esp", { 0x83, 0xc4, 0x0a }, 3, NO_TARGET, false, KPROBE_NOOPT_NONE },
#endif
	{ "zero at the end", { 0x00 }, 1, NO_TARGET, true, KPROBE_NOOPT_NONE },
	{ "two bytes of one at the end", { 0x90, 0x81, 0x00 }, 3, NO_TARGET, true,
	  KPROBE_NOOPT_UNDECODED },
	{ "one byte of one at the end", { 0xe9 }, 1, NO_TARGET, true,
	  KPROBE_NOOPT_UNDECODED },
};
KUNIT_ARRAY_PARAM_DESC(decoded_case, decoded_cases, name);

#ifdef CONFIG_MITIGATION_RETPOLINE
static unsigned long thunk(struct kunit *test)
{
	return (unsigned long)__x86_indirect_thunk_array;
}
#else
static unsigned long thunk(struct kunit *test)
{
	kunit_skip(test, "needs MITIGATION_RETPOLINE");
	return 0;
}
#endif

static unsigned long decoded_target(struct kunit *test, enum decoded_target target)
{
	switch (target) {
	case BEFORE:
		return (unsigned long)kpo_callee;
	case AFTER:
		if (system_state >= SYSTEM_FREEING_INITMEM)
			kunit_skip(test, "the init text has been freed");
		return (unsigned long)_sinittext;
	case NO_TEXT:
		return (unsigned long)(decoded_code + sizeof(decoded_code));
	case THUNK:
		return thunk(test);
	default:
		return (unsigned long)decoded_code;
	}
}

/* As if it were the text of a module that was built without landing pads. */
static void decoding_judges_instructions(struct kunit *test)
{
	const struct decoded_case *c = test->param_value;
	unsigned long start = (unsigned long)decoded_code, end = start + sizeof(decoded_code), at;

	memset(decoded_code, 0x90, sizeof(decoded_code));
	memcpy(decoded_code, c->code, c->len);
	at = start + c->len;
	if (c->target != NO_TARGET)
		put_unaligned((s32)(decoded_target(test, c->target) - (at + sizeof(s32))),
			      (s32 *)at);
	if (c->last)
		end = at;
	KUNIT_EXPECT_EQ(test, decode(test, start, end), c->want);
}

#ifdef CONFIG_DYNAMIC_FTRACE_WITH_JMP
static KP_TRACED(int, kpo_with_site, v * 3)

/* ftrace jumps to a page in place of a BPF trampoline. The function is never called. */
static void decoding_ignores_jump_of_ftrace(struct kunit *test)
{
	unsigned long start = (unsigned long)kpo_with_site, site = ftrace_location(start);
	unsigned long size, into, to;
	static struct ftrace_ops ops;
	void *page;

	KP_SKIP_IF(test, !site, "the function has no ftrace site");
	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &into));
	page = alloc_insn_page();
	KUNIT_ASSERT_NOT_NULL(test, page);
	to = ftrace_jmp_set((unsigned long)page);

	ops = (struct ftrace_ops){};
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&ops, site, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, register_ftrace_direct(&ops, to), 0);
	KUNIT_EXPECT_EQ(test, *(u8 *)site, JMP32_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, decode(test, start, start + size), KPROBE_NOOPT_NONE);
	KUNIT_EXPECT_EQ(test, unregister_ftrace_direct(&ops, to, true), 0);
	execmem_free(page);
}
#endif

/*
 * Xen
 */

asm(".pushsection .text\n"
	".globl kpo_irqfd_inject\n"
	".type kpo_irqfd_inject, @function\n"
	KP_LANDING(kpo_irqfd_inject)
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
	".globl kpo_irqfd_inject_off\n"
	"kpo_irqfd_inject_off: .long 777b - kpo_irqfd_inject\n"
	".popsection\n");
void kpo_irqfd_inject(void);
extern const u32 kpo_irqfd_inject_off;

/*
 * In a Xen PV guest, a task may be preempted anywhere in some functions. QEMU cannot
 * be such a host, so this tests only the decision, with a function of such a name.
 */
static void no_jump_in_preemptible_hypercalls(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(AT(irqfd_inject));
	struct kp_watch other = KP_WATCH(AT(mov));

	KP_SKIP_IF(test, IS_ENABLED(CONFIG_PREEMPTION), "tasks may be preempted anywhere");

	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_EXPECT_TRUE(test, op_at(w.kp.addr)->kp.ainsn.boost);
	KUNIT_EXPECT_TRUE(test, is_live(w.kp.addr));
	unregister_kprobe(&w.kp);
	wait_for_kprobe_optimizer();

	WRITE_ONCE(kprobe_test_as_xen_pv, true);
	w.kp = (struct kprobe) { .addr = AT(irqfd_inject), .pre_handler = kp_watch_pre };
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&other.kp), 0);
	wait_for_kprobe_optimizer();
	/* Code without a name may belong to any function. */
	KUNIT_EXPECT_TRUE(test, kprobe_in_preemptible_hcall((unsigned long)&w));
	WRITE_ONCE(kprobe_test_as_xen_pv, false);
	KUNIT_EXPECT_FALSE(test, kprobe_in_preemptible_hcall((unsigned long)&w));
	KUNIT_EXPECT_FALSE(test, op_at(w.kp.addr)->kp.ainsn.boost);
	KUNIT_EXPECT_FALSE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_EQ(test, op_at(w.kp.addr)->why, KPROBE_NOOPT_ARCH);
	/* Hits are stepped, with the same result. */
	KUNIT_EXPECT_EQ(test, kp_run(kpo_irqfd_inject, 5), 15);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	KUNIT_EXPECT_TRUE(test, w.trapped);
	/* Nothing changes in other functions. */
	KUNIT_EXPECT_TRUE(test, is_live(other.kp.addr));
	unregister_kprobe(&w.kp);
	unregister_kprobe(&other.kp);
	wait_for_kprobe_optimizer();
}

/* If this function is probed, it is called when a detour is preempted at its end. */
static void no_jump_in_what_ends_detours(struct kunit *test)
{
	struct kp_watch w = KP_WATCH_BY_NAME("preempt_schedule_notrace");
	u8 jump = 0, why = 0, at = 0;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_PREEMPTION), "needs PREEMPTION");
	KP_REGISTER_AND_WAIT(test, &w.kp);
	KUNIT_EXPECT_FALSE(test, is_live(w.kp.addr));
	KUNIT_EXPECT_EQ(test, kprobe_test_forecast(w.kp.addr, &jump, &why, &at), 0);
	KUNIT_EXPECT_EQ(test, why, KPROBE_NOOPT_ARCH);
	unregister_kprobe(&w.kp);
}

/* Its jump spans two pages. */
FUNCTION(across_pages, "jmp 777f; .balign 4096, 0xcc; .skip 4094, 0xcc\n"
	 "777: add $3, %eax; nop; nop; nop");

static void jump_across_pages(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(AT(across_pages));
	unsigned long addr = (unsigned long)w.kp.addr;

	KUNIT_EXPECT_NE(test, addr / PAGE_SIZE, (addr + JMP32_INSN_SIZE - 1) / PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, kp_run(kpo_across_pages, 4), 7);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, first_byte(w.kp.addr), JMP32_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, kp_run(kpo_across_pages, 5), 8);
	KP_UNWATCH(test, w, 2);
	KUNIT_EXPECT_EQ(test, kp_run(kpo_across_pages, 6), 9);
}

static kprobe_opcode_t *form_at(unsigned int n)
{
	return kp_at(&forms[n].place);
}

static unsigned long run_form(unsigned int n, unsigned long arg)
{
	return kp_run(forms[n].place.fn, arg);
}

static const struct kp_storm_arch all_forms = {
	.nr		= ARRAY_SIZE(forms),
	.at		= form_at,
	.call		= run_form,
	.args		= kpo_args,
	.nr_args	= ARRAY_SIZE(kpo_args),
};

static void results_while_jumps_come_and_go(struct kunit *test)
{
	kpo_pointer = (unsigned long)kpo_callee;
	kp_storm(test, &all_forms);
}

static struct kunit_case optimize_cases[] = {
	KUNIT_CASE_PARAM(optimize_forms, form_gen_params),
#ifdef CONFIG_JUMP_LABEL
	KUNIT_CASE(static_keys_flip_under_probes),
#endif
	KUNIT_CASE(decoding_reports_computed_jumps_of_modules),
	KUNIT_CASE(decoding_is_repeated_after_kgdb),
	KUNIT_CASE_PARAM(decoding_judges_instructions, decoded_case_gen_params),
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_JMP
	KUNIT_CASE(decoding_ignores_jump_of_ftrace),
#endif
	KUNIT_CASE(no_jump_in_preemptible_hypercalls),
	KUNIT_CASE(no_jump_over_trap),
	KUNIT_CASE(no_jump_in_what_ends_detours),
	KUNIT_CASE(jump_across_pages),
	KUNIT_CASE_SLOW(results_while_jumps_come_and_go),
	{}
};

KP_SUITE(optimize_cases, .name = "kprobes_x86_optimize");
