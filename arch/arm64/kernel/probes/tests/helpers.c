// SPDX-License-Identifier: GPL-2.0-only
/*
 * What several suites share.
 */

#include "suite.h"

#include "helpers.h"

u64 kpb_data = 0x1234567;

KPB_FUNCTION(add, "777: add x0, x0, #3");
KPB_FUNCTION(load, "adrp x1, kpb_data\n add x1, x1, :lo12:kpb_data\n"
	     "777: ldr x2, [x1]\n add x0, x0, x2");
KPB_FUNCTION(callee, "777: add x0, x0, #100");
KPB_FUNCTION(bad_load, "777: ldr x0, [x0]");

/* Without a shadow call stack, it is a register like others. */
#ifdef CONFIG_SHADOW_CALL_STACK
#define X18_CLOBBERED
#else
#define X18_CLOBBERED	"x18",
#endif

/**
 * kpb_run() - call a function written with KPB_FUNCTION()
 * @fn: the function
 * @arg: its argument
 *
 * Context: any, as far as @fn allows it.
 * Return: the result of @fn.
 */
noinline notrace unsigned long kpb_run(void (*fn)(void), unsigned long arg)
{
	register unsigned long x0 asm("x0") = arg;

	/* Such a function has no type that the compiler could check. */
	asm volatile("blr %[fn]"
		     : "+r" (x0)
		     : [fn] "r" (fn)
		     : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
		       "x12", "x13", "x14", "x15", "x16", "x17", X18_CLOBBERED "x30", "cc",
		       "memory");
	return x0;
}
