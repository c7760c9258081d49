/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suites of breakpoints share. The functions are defined in
 * probe_kunit.c.
 */
#ifndef _X86_KERNEL_KPROBES_TESTS_BREAKPOINTS_H
#define _X86_KERNEL_KPROBES_TESTS_BREAKPOINTS_H

#include <kunit/test.h>
#include <linux/kprobes-test.h>
#include <linux/mm.h>

#include "../common.h"
#include "helpers.h"

#define FUNCTION(name, code)	KP_FUNCTION(kpx_##name, ".balign 16", code, "")
#define PLACE(name)		KP_PLACE(kpx_##name)
#define AT(name)		KP_AT(kpx_##name)
#define TARGET(name)		{ kpx_##name, "kpx_" #name, &kpx_##name##_off }

#define AX		"%" _ASM_AX
#define SP		"%" _ASM_SP
#define PTR(sym)	#sym RIP

KP_DECLARE(kpx_nop);
KP_DECLARE(kpx_mov);
KP_DECLARE(kpx_bt);
KP_DECLARE(kpx_call_mem);
KP_DECLARE(kpx_endbr);

/* Adds 100 to its argument. */
void kpx_callee(void);

/* Operands of the functions: a target of indirect branches, and data. */
extern unsigned long kpx_pointer, kpx_data;

#endif /* _X86_KERNEL_KPROBES_TESTS_BREAKPOINTS_H */
