/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What several suites share: functions to be probed, written in assembly for all ABIs of powerpc,
 * and probes that record their hits.
 */
#ifndef _POWERPC_KERNEL_KPROBES_TESTS_HELPERS_H
#define _POWERPC_KERNEL_KPROBES_TESTS_HELPERS_H

#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/kprobes-test.h>
#include <linux/stringify.h>
#include <linux/text-patching.h>

#include <asm/asm-compat.h>
#include <asm/disassemble.h>
#include <asm/kup.h>
#include <asm/probes.h>
#include <asm/reg.h>

#include "../common.h"
#ifdef CONFIG_OPTPROBES
#include "../detour.h"
#endif
#include "watch.h"
#include "words.h"

struct kunit;

/* The start of a function, and the name of its code for direct branches. */
#ifdef CONFIG_PPC64_ELF_ABI_V1
#define KPB_CODE(name)		".kpb_" __stringify(name)
#define KPB_DESCRIPTOR(name)						\
	".pushsection .opd, \"aw\"\n"					\
	".balign 8\n"							\
	".globl kpb_" __stringify(name) "\n"				\
	"kpb_" __stringify(name) ": .quad " KPB_CODE(name) ", .TOC.@tocbase, 0\n" \
	".popsection\n"
#else
#define KPB_CODE(name)		"kpb_" __stringify(name)
#define KPB_DESCRIPTOR(name)	""
#endif

#define KPB_BEGIN(name)							\
	".pushsection .text\n"						\
	".balign 64\n"							\
	KPB_DESCRIPTOR(name)						\
	".globl " KPB_CODE(name) "\n"					\
	".type " KPB_CODE(name) ", @function\n"				\
	KPB_CODE(name) ":\n"

#define KPB_END(name)							\
	".size " KPB_CODE(name) ", . - " KPB_CODE(name) "\n"		\
	".popsection\n"

/*
 * KPB_FUNCTION(name, code): a function kpb_NAME() that returns in r3. It has its argument in r3,
 * the address of kpb_data in r4, and that of the code of kpb_callee() in r5; so it need not know
 * how its ABI finds them. The probed instruction follows the label 777, whose address
 * KPB_AT(name) is.
 */
#define KPB_FUNCTION(name, code)					\
asm(KPB_BEGIN(name)							\
	code "\n"							\
	"	blr\n"							\
	KPB_END(name)							\
	".pushsection .rodata\n"					\
	".balign 8\n"							\
	".globl kpb_" #name "_at\n"					\
	"kpb_" #name "_at: " PPC_LONG "777b\n"				\
	".popsection\n");						\
KPB_DECLARE(name)

/* The address of the first instruction. */
static inline unsigned long kpb_code(void (*fn)(void))
{
	return ppc_function_entry(fn);
}

/* Add 3, or the first member of kpb_data, to their argument. */
KPB_DECLARE(add);
KPB_DECLARE(load);
/* Adds its argument to the version of the processor, which nothing emulates. */
KPB_DECLARE(pvr);
/* Adds 100 to its argument. */
KPB_DECLARE(callee);
/* Has an address, and loads a long from it. */
KPB_DECLARE(bad_load);

/**
 * struct kpb_data - what functions find through r4
 * @value: a constant, unless a test changes it
 * @store: for stores
 * @flag: what a function waits for
 */
struct kpb_data {
	unsigned long	value;
	unsigned long	store;
	unsigned long	flag;
};

extern struct kpb_data kpb_data;

#define KPB_VALUE	0x1234567

/* What kprobe_page_fault() is called with. */
#define KPB_PAGE_FAULT	11

/* An address that is in no segment, or in none of the kernel. */
#ifdef CONFIG_PPC64
#define KPB_BAD_SEGMENT	0x4000000000000000UL
#else
#define KPB_BAD_SEGMENT	0xfffff000UL
#endif

unsigned long kpb_run(void (*fn)(void), unsigned long arg);

/* The word in the text, whatever a probe hides. */
static inline u32 kpb_word(const void *addr)
{
	return READ_ONCE(*(const u32 *)addr);
}

static inline bool kpb_has_breakpoint(const void *addr)
{
	return kpb_word(addr) == BREAKPOINT_INSTRUCTION;
}

/* The detour that the branch at an address leads to; NULL if it is none to a detour. */
static inline void *kpb_detour(const void *addr)
{
#ifdef CONFIG_OPTPROBES
	if (kprobe_insn_is_b(kpb_word(addr)) && is_kprobe_optinsn_slot(branch_target(addr)))
		return (void *)branch_target(addr);
#endif
	return NULL;
}

/*
 * Where a detour executes the instruction, if that does not set LR: after the call of the head, and
 * after LR, r0 and r1 have been restored.
 */
#ifdef CONFIG_OPTPROBES
static inline const u32 *kpb_copy(const void *addr)
{
	const u32 *detour = kpb_detour(addr);

	return detour ? detour + KPROBE_DETOUR_ENTER + 4 : NULL;
}
#endif

static inline bool kpb_has_jump(const void *addr)
{
	return kpb_detour(addr);
}

const u32 *kpb_called_head(const void *detour);

static inline void kpb_expect_refused(struct kunit *test, unsigned long addr,
				      enum kprobe_refusal why)
{
	kp_expect_refused(test, addr, why, why == KPROBE_REFUSAL_NO_MEMORY ? -ENOMEM : -EINVAL);
}

/* Access to user memory as between user_access_begin() and user_access_end(), or none. */
static __always_inline void kpb_set_user_access(u32 __user *word, bool on)
{
#ifdef CONFIG_PPC_KUAP
	if (!on) {
		user_access_end();
		return;
	}
	/* The caller may be atomic: keep might_fault() silent. Nothing faults here. */
	pagefault_disable();
	WARN_ON(!user_access_begin(word, sizeof(*word)));
	pagefault_enable();
#endif
}

/* Whether it is locked, as prevent_user_access() has done it. */
static inline bool kpb_user_access_is_locked(void)
{
#if !defined(CONFIG_PPC_KUAP)
	return false;
#elif defined(CONFIG_PPC_BOOK3S_64)
	return mfspr(SPRN_AMR) == AMR_KUAP_BLOCKED;
#elif defined(CONFIG_PPC_BOOK3S_32)
	return current->thread.kuap == KUAP_NONE;
#elif defined(CONFIG_BOOKE)
	return !mfspr(SPRN_PID);
#else
	return mfspr(SPRN_MD_AP) == MD_APG_KUAP;
#endif
}

#endif /* _POWERPC_KERNEL_KPROBES_TESTS_HELPERS_H */
