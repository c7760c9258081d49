/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What generic test suites can expect; see <linux/kprobes-test-arch.h>.
 */
#ifndef _ASM_POWERPC_KPROBES_TEST_H
#define _ASM_POWERPC_KPROBES_TEST_H

#include <linux/kconfig.h>

#define KPROBES_TEST_HAS_KICKS			1
#define KPROBES_TEST_HAS_LIVE_FTRACE		1
#define KPROBES_TEST_HAS_IGNORED_IP		1
#define KPROBES_TEST_HAS_RETURN_REGS		1
#define KPROBES_TEST_HAS_SET_RETURN_VALUE	1
#define KPROBES_TEST_HAS_PROTECTED_RETHOOK	1
#define KPROBES_TEST_HAS_PROBED_SWITCH		1
#define KPROBES_TEST_SWITCH			"_switch"

#define KPROBES_TEST_HAS_FEW_DETOURS		IS_ENABLED(CONFIG_PPC32)

/* On 32 bits, the site is the second instruction. */
#define KPROBES_TEST_HAS_FTRACE_NAMES		(IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) &&	\
						 !IS_ENABLED(CONFIG_PPC32))

/* A function has a second entry for callers from other modules. */
#define KPROBES_TEST_HAS_SINGLE_ENTRY		(!IS_ENABLED(CONFIG_PPC64_ELF_ABI_V2))

/* Assembly code that C code can call needs a descriptor there. */
#define KPROBES_TEST_HAS_LONGJMP		(!IS_ENABLED(CONFIG_PPC64_ELF_ABI_V1))

/* The unwinder follows the back chain, which functions extend after their entry. */
#define KPROBES_TEST_HAS_EXACT_TRACES		1
#define KPROBES_TEST_HAS_CALLER_AT_ENTRY	0

#endif /* _ASM_POWERPC_KPROBES_TEST_H */
