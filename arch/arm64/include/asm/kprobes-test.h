/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What generic test suites can expect; see <linux/kprobes-test-arch.h>.
 */
#ifndef _ASM_ARM64_KPROBES_TEST_H
#define _ASM_ARM64_KPROBES_TEST_H

#include <linux/kconfig.h>

#define KPROBES_TEST_HAS_KICKS			1
#define KPROBES_TEST_HAS_LIVE_FTRACE		1
#define KPROBES_TEST_HAS_IGNORED_IP		1
#define KPROBES_TEST_HAS_RETURN_REGS		1
#define KPROBES_TEST_HAS_SET_RETURN_VALUE	1
#define KPROBES_TEST_HAS_LONGJMP		1

/*
 * The unwinder follows frame records, which functions make after their entry, and which the
 * trampoline of the function graph tracer does not make.
 */
#define KPROBES_TEST_HAS_EXACT_TRACES		1
#define KPROBES_TEST_HAS_CALLER_AT_ENTRY	0
#define KPROBES_TEST_HAS_CALLER_IN_GRAPH	0

#endif /* _ASM_ARM64_KPROBES_TEST_H */
