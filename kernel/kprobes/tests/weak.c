// SPDX-License-Identifier: GPL-2.0-only
/*
 * A weak function that loses against the one in address_kunit.c. Its code stays in the
 * kernel, without a symbol, and possibly with an ftrace call site.
 */

#include <linux/compiler.h>
#include <linux/objtool.h>
#include <linux/stringify.h>

#include "weak.h"

#ifdef CONFIG_64BIT
#define ADDRESS	".quad"
#else
#define ADDRESS	".long"
#endif

noinline int __weak kp_addr_weak(int v)
{
	asm volatile("1:\n"
		     ANNOTATE_NOENDBR "\n"
		     "	.pushsection .rodata\n"
		     "	.balign 8\n"
		     "	.globl kp_addr_leftover\n"
		     "kp_addr_leftover:\n"
		     "	" ADDRESS " 1b\n"
		     "	.popsection\n"
		     : "+r" (v));
	return v + 1;
}

/* Shows objtool where the rest ends. */
noinline int kp_addr_after_weak(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v + 2;
}
