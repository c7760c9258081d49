/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions that kretprobe_kunit.c probes, and their callers.
 */

#include <asm/asm-compat.h>
#include <asm/ppc_asm.h>

#include "kretprobe_call.h"

/* The minimal frame, the caller's registers, what is found, and the pointer for that. */
#define OWN		PPC_MIN_STKFRM
#define FOUND		(OWN + 35 * SZL)
#define POINTER		(FOUND + KPR_LONGS * SZL)
#define FRAME		((POINTER + SZL + 15) & ~15)

#ifdef CONFIG_PPC64
#define FIRST_SAVED	14
#define RED_ZONE	288
#else
#define FIRST_SAVED	13
#define RED_ZONE	0
#endif

	.text

_GLOBAL(kpr_followed)
	.rept	7
	nop
	.endr
	/* Overwrite what the exception at the entry has left where the trampoline has its frame. */
	.set	below, RED_ZONE
	.rept	128
	.set	below, below + SZL
	PPC_STL	r0, -below(r1)
	.endr
	not	r0, r0
	blr
#ifdef CONFIG_PPC64_ELF_ABI_V1
	.size	.kpr_followed, . - .kpr_followed
#else
	.type	kpr_followed, @function
	.size	kpr_followed, . - kpr_followed
#endif

_GLOBAL(kpr_call)
	mflr	r0
	PPC_STL	r0, LRSAVE(r1)
	PPC_STLU r1, -FRAME(r1)
	OP_REGS	PPC_STL, SZL, FIRST_SAVED, 31, r1, OWN
	PPC_STL	r2, OWN + 2 * SZL(r1)
	mfcr	r0
	PPC_STL	r0, OWN(r1)
	mfxer	r0
	PPC_STL	r0, OWN + SZL(r1)
	PPC_STL	r4, POINTER(r1)

	PPC_LL	r0, KPR_CTR * SZL(r3)
	mtctr	r0
	PPC_LL	r0, KPR_XER * SZL(r3)
	mtxer	r0
	PPC_LL	r0, KPR_CR * SZL(r3)
	mtcr	r0
	PPC_LL	r0, 0(r3)
#ifdef CONFIG_PPC64
	PPC_LL	r2, 2 * SZL(r3)
#endif
	OP_REGS	PPC_LL, SZL, 4, 12, r3, 0
	OP_REGS	PPC_LL, SZL, 14, 31, r3, 0
	PPC_LL	r3, 3 * SZL(r3)
	bl	kpr_followed

	.globl	kpr_back
kpr_back:
	PPC_STL	r0, FOUND(r1)
	li	r0, 0
.Lkpr_found:
	PPC_STL	r0, FOUND + KPR_ELSEWHERE * SZL(r1)
	OP_REGS	PPC_STL, SZL, 2, 31, r1, FOUND
	mflr	r0
	PPC_STL	r0, FOUND + KPR_LINK * SZL(r1)
	mfctr	r0
	PPC_STL	r0, FOUND + KPR_CTR * SZL(r1)
	mfxer	r0
	PPC_STL	r0, FOUND + KPR_XER * SZL(r1)
	mfcr	r0
	PPC_STL	r0, FOUND + KPR_CR * SZL(r1)

	PPC_LL	r4, POINTER(r1)
	addi	r4, r4, -SZL
	addi	r3, r1, FOUND - SZL
	li	r0, KPR_LONGS
	mtctr	r0
1:	PPC_LL	r0, SZL(r3)
	addi	r3, r3, SZL
	PPC_STLU r0, SZL(r4)
	bdnz	1b

	/* Also XER, since the sticky SO would get into all results of comparisons. */
	PPC_LL	r0, OWN(r1)
	mtcr	r0
	PPC_LL	r0, OWN + SZL(r1)
	mtxer	r0
	PPC_LL	r2, OWN + 2 * SZL(r1)
	OP_REGS	PPC_LL, SZL, FIRST_SAVED, 31, r1, OWN
	addi	r1, r1, FRAME
	PPC_LL	r0, LRSAVE(r1)
	mtlr	r0
	blr

	.globl	kpr_elsewhere
kpr_elsewhere:
	PPC_STL	r0, FOUND(r1)
	li	r0, 1
	b	.Lkpr_found

/* By its name, an out-of-line epilogue, which a kernel may not have. */
#ifdef CONFIG_PPC64
	.globl	_restgpr0_of_kunit
_restgpr0_of_kunit:
	ld	r0, LRSAVE(r1)
#else
	.globl	_restgpr_of_kunit_x
_restgpr_of_kunit_x:
	lwz	r0, LRSAVE(r1)
#endif
	mtlr	r0
	blr

/* What is saved in the frame of the caller and, on 64 bits, in the red zone is still needed. */
_GLOBAL(kpr_frameless)
	mflr	r0
	PPC_STL	r0, LRSAVE(r1)
#ifdef CONFIG_PPC64
	std	r3, -8(r1)
	std	r3, -280(r1)
#endif
	bl	kpr_followed
#ifdef CONFIG_PPC64
	ld	r3, -8(r1)
	ld	r4, -280(r1)
	and	r3, r3, r4
#endif
	PPC_LL	r0, LRSAVE(r1)
	mtlr	r0
	blr
