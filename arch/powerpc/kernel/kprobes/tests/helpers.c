// SPDX-License-Identifier: GPL-2.0-only
/*
 * What several suites share.
 */

#include "suite.h"

#include "helpers.h"

struct kpb_data kpb_data = { .value = KPB_VALUE };

KPB_FUNCTION(add, "777: addi 3, 3, 3");
KPB_FUNCTION(load, "777: " PPC_LL "6, 0(4)\n add 3, 3, 6");
KPB_FUNCTION(pvr, "777: mfspr 6, 287\n add 3, 3, 6");
KPB_FUNCTION(callee, "777: addi 3, 3, 100");
KPB_FUNCTION(bad_load, "777: " PPC_LL "3, 0(3)");

/*
 * Calls the code at @code with the other arguments, in a frame of its own: the compiler need not
 * make one for a call that it does not see.
 */
unsigned long kpb_call(unsigned long code, unsigned long arg, struct kpb_data *data,
		       unsigned long callee);

asm(KPB_BEGIN(call)
	"	mflr 0\n"
	"	" PPC_STL "0, " __stringify(PPC_LR_STKOFF) "(1)\n"
	"	" PPC_STLU "1, -" __stringify(PPC_MIN_STKFRM) "(1)\n"
	"	mtctr 3\n"
	"	mr 12, 3\n"
	"	mr 3, 4\n"
	"	mr 4, 5\n"
	"	mr 5, 6\n"
	"	bctrl\n"
	"	addi 1, 1, " __stringify(PPC_MIN_STKFRM) "\n"
	"	" PPC_LL "0, " __stringify(PPC_LR_STKOFF) "(1)\n"
	"	mtlr 0\n"
	"	blr\n"
	KPB_END(call));

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
	return kpb_call(kpb_code(fn), arg, &kpb_data, kpb_code(kpb_callee));
}
