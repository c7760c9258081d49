// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions with a probed instruction of each kind, for the suites of breakpoints and of
 * jumps. Some are numbers, as they are newer than the CPU that the assembler is set to.
 */

#include <linux/array_size.h>
#include <linux/kprobes.h>

#include <asm/cputable.h>

#include "forms.h"
#include "targets.h"

#define SZL	__stringify(BITS_PER_LONG / 8)
#ifdef CONFIG_PPC64
#define LOAD_UPDATE	"ldu "
#else
#define LOAD_UPDATE	"lwzu "
#endif

/* What only computes. */
KPB_FUNCTION(nop, "777: nop\n addi 3, 3, 1");
KPB_FUNCTION(carry, "777: addic 6, 3, 5\n adde 3, 3, 3");
KPB_FUNCTION(mul, "777: mullw 3, 3, 3");
KPB_FUNCTION(cmp, "777: cmplwi 3, 5\n bgt 1f\n addi 3, 3, 7\n1:");
/* Without SO, which differs between tasks. */
KPB_FUNCTION(mfcr, "cmplwi 3, 5\n 777: mfcr 6\n rlwinm 6, 6, 4, 28, 30\n add 3, 3, 6");
KPB_FUNCTION(mtcr, "777: mtcrf 0x80, 3\n mfcr 6\n rlwinm 6, 6, 0, 0, 3\n add 3, 3, 6");
KPB_FUNCTION(mfxer, "addic 6, 3, -1\n 777: mfxer 6\n rlwinm 6, 6, 3, 31, 31\n add 3, 3, 6");
KPB_FUNCTION(mflr, "777: mflr 6\n mflr 7\n subf 6, 6, 7\n add 3, 3, 6");
KPB_FUNCTION(mtlr, "mflr 9\n 777: mtlr 3\n mflr 6\n mtlr 9\n add 3, 3, 6");
KPB_FUNCTION(mtctr, "777: mtctr 3\n mfctr 6\n add 3, 3, 6");
KPB_FUNCTION(pop, PPC_STLU "1, -128(1)\n 777: addi 1, 1, 128\n addi 3, 3, 1");

/* What accesses memory. */
KPB_FUNCTION(store, "777: " PPC_STL "3, " SZL "(4)\n " PPC_LL "3, " SZL "(4)");
KPB_FUNCTION(load_up, "addi 4, 4, -" SZL "\n mr 6, 4\n 777: " LOAD_UPDATE "7, " SZL "(4)\n"
	     "subf 6, 6, 4\n add 3, 3, 6\n add 3, 3, 7");
KPB_FUNCTION(store_up, "mr 6, 4\n 777: " PPC_STLU "3, " SZL "(4)\n " PPC_LL "3, 0(4)\n"
	     "subf 6, 6, 4\n add 3, 3, 6");
KPB_FUNCTION(push, "777: " PPC_STLU "1, -128(1)\n " PPC_LL "6, 0(1)\n subf 6, 1, 6\n"
	     "addi 1, 1, 128\n add 3, 3, 6");
#ifdef CONFIG_PPC64
KPB_FUNCTION(red_zone, "777: std 3, -288(1)\n ld 3, -288(1)");
#endif
/* Little-endian CPUs refuse it. */
#ifdef CONFIG_CPU_BIG_ENDIAN
KPB_FUNCTION(load_multi, "mr 8, 30\n mr 9, 31\n 777: lmw 30, 0(4)\n"
	     "add 3, 3, 30\n add 3, 3, 31\n mr 30, 8\n mr 31, 9");
#endif

/* Branches, of which some leave the address of the next instruction in LR. */
KPB_FUNCTION(b, "777: b 1f\n addi 3, 3, 7\n1:");
KPB_FUNCTION(b_back, "b 2f\n1: addi 3, 3, 1\n blr\n2: 777: b 1b");
KPB_FUNCTION(bc, "cmplwi 3, 5\n 777: bgt 1f\n addi 3, 3, 7\n1:");
KPB_FUNCTION(bdz, "mtctr 3\n 777: bdz 1f\n addi 3, 3, 7\n1: mfctr 6\n add 3, 3, 6");
KPB_FUNCTION(loop, "li 6, 4\n mtctr 6\n1: addi 3, 3, 1\n 777: bdnz 1b");
KPB_FUNCTION(bl, "mflr 9\n 777: bl " KPB_CODE(callee) "\n mtlr 9\n addi 3, 3, 1");
#define LINKED	"mflr 6\n bcl 20, 31, 2f\n2: mflr 7\n mtlr 9\n subf 6, 6, 7\n add 3, 3, 6"
KPB_FUNCTION(bcl_next, "mflr 9\n 777: bcl 20, 31, 1f\n1: " LINKED);
KPB_FUNCTION(bcl, "mflr 9\n cmplwi 3, 5\n 777: bgtl 1f\n addi 3, 3, 7\n1: " LINKED);
KPB_FUNCTION(bctr, "mtctr 5\n 777: bctr");
KPB_FUNCTION(bctrl, "mflr 9\n mtctr 5\n 777: bctrl\n mtlr 9\n addi 3, 3, 1");
KPB_FUNCTION(bcctr, "mtctr 5\n cmplwi 3, 5\n 777: bgtctr\n addi 3, 3, 7");
KPB_FUNCTION(bcctrl, "mflr 9\n mtctr 5\n cmplwi 3, 5\n 777: bgtctrl\n" LINKED);
KPB_FUNCTION(blr, "addi 3, 3, 1\n 777: blr");
KPB_FUNCTION(bclr, "cmplwi 3, 5\n 777: bgtlr\n addi 3, 3, 7");
KPB_FUNCTION(bdnzlr, "mtctr 3\n 777: bdnzlr\n addi 3, 3, 7");
KPB_FUNCTION(blrl, "mflr 9\n mtlr 5\n 777: blrl\n mtlr 9\n addi 3, 3, 1");

/* Relative to their own address: ADDPCIS R6,0; PLA R6,0; PLD R6,16, and what it loads. */
KPB_FUNCTION(addpcis, "mflr 9\n bcl 20, 31, 1f\n1: mflr 7\n mtlr 9\n 777: .long 0x4cc00004\n"
	     "subf 6, 7, 6\n add 3, 3, 6");
KPB_FUNCTION(pla, "mflr 9\n bcl 20, 31, 1f\n1: mflr 7\n mtlr 9\n"
	     "777: .long 0x06100000, 0x38c00000\n subf 6, 7, 6\n add 3, 3, 6");
KPB_FUNCTION(pl, "777: .long 0x04100000, 0xe4c00010\n add 3, 3, 6\n blr\n"
	     ".long 0x89abcdef, 0x01234567");

#define BOOSTED(name, watched, ...) \
	{ #name, KPB_TARGET(name), "boosted", watched, 1, __VA_ARGS__ }
#define EMULATED(name, hits, ...) \
	{ #name, KPB_TARGET(name), "emulated", "emulated", hits, __VA_ARGS__ }

const struct kp_form kp_forms[] = {
	BOOSTED(nop, "emulated"),
	BOOSTED(add, "emulated"),
	BOOSTED(carry, "emulated"),
	BOOSTED(mul, "emulated"),
	BOOSTED(cmp, "emulated"),
	BOOSTED(mfcr, "emulated"),
	BOOSTED(mtcr, "emulated"),
	BOOSTED(mfxer, "emulated"),
	BOOSTED(mflr, "emulated"),
	BOOSTED(mtlr, "emulated"),
	BOOSTED(mtctr, "emulated"),
	BOOSTED(pop, "emulated"),
	BOOSTED(pvr, "stepped"),
	BOOSTED(load, "emulated"),
	BOOSTED(load_up, "emulated"),
	BOOSTED(store, "emulated", .shares_memory = true),
	BOOSTED(store_up, "emulated", .shares_memory = true),
	BOOSTED(push, "stepped"),
#ifdef CONFIG_PPC64
	BOOSTED(red_zone, "emulated"),
#endif
#ifdef CONFIG_CPU_BIG_ENDIAN
	BOOSTED(load_multi, "emulated", .shares_memory = true),
#endif
	EMULATED(b, 1),
	EMULATED(b_back, 1),
	EMULATED(bc, 1),
	EMULATED(bdz, 1),
	EMULATED(loop, 4),
	EMULATED(bl, 1),
	EMULATED(bcl_next, 1),
	EMULATED(bcl, 1),
	BOOSTED(bctr, "emulated"),
	EMULATED(bctrl, 1),
	BOOSTED(bcctr, "emulated"),
	EMULATED(bcctrl, 1),
	BOOSTED(blr, "emulated"),
	BOOSTED(bclr, "emulated"),
	BOOSTED(bdnzlr, "emulated"),
	EMULATED(blrl, 1),
#ifdef CONFIG_PPC64
	EMULATED(addpcis, 1, .isa = KPB_ISA_3_0),
	BOOSTED(pla, "emulated", .isa = KPB_ISA_3_1),
	BOOSTED(pl, "emulated", .isa = KPB_ISA_3_1),
#endif
};

const unsigned int nr_kp_forms = ARRAY_SIZE(kp_forms);

bool kp_form_exists(const struct kp_form *f)
{
	return kpb_cpu_has(f->isa);
}

/* The old value of LR is needed after the new one would be set. */
enum kp_form_jump kp_form_jump(const struct kp_form *f)
{
	return f->target.fn == kpb_blrl ? KP_FORM_NEVER_JUMPS : KP_FORM_ALWAYS_JUMPS;
}

/**
 * kpb_cpu_has() - does this CPU have the instructions of a version of the architecture?
 * @isa: the version
 *
 * Context: any.
 * Return: true if it does.
 */
bool kpb_cpu_has(enum kpb_isa isa)
{
	switch (isa) {
	case KPB_ANY_ISA:
		return true;
	case KPB_ISA_3_0:
		return cpu_has_feature(CPU_FTR_ARCH_300);
	case KPB_ISA_3_1:
		return cpu_has_feature(CPU_FTR_ARCH_31);
	}
	return false;
}
