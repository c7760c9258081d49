/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A handler of a jprobe, for jprobe_call_kunit.c.
 */

#include <asm/asm-compat.h>
#include <asm/ppc_asm.h>

#include "jprobe_called.h"

	.text

_GLOBAL(kpj_handler)
	OP_REGS	PPC_STL, SZL, 1, 12, r10, 0
	.set	.Lword, 0
	.rept	JPROBE_STACK_BYTES / SZL
	PPC_LL	r0, JPROBE_STACK_AT + .Lword(r1)
	PPC_STL	r0, KPJ_FOUND_STACK * SZL + .Lword(r10)
	.set	.Lword, .Lword + SZL
	.endr
	PPC_LCMPI r9, 0
	beqlr

	PPC_LL	r3, 0(r9)
	ZEROIZE_NVGPRS()
	li	r0, 0
	mtlr	r0
	mtcr	r0
#ifdef CONFIG_PPC64
	li	r2, 0
#endif
	PPC_STLU r1, -256(r1)
	b	DOTSYM(arch_jprobe_unwind)
