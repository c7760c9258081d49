/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions that kretprobe_kunit.c probes or calls.
 */

#include <asm/asm-compat.h>
#include <asm/ppc_asm.h>

	.text

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
	bl	DOTSYM(kpr_followed)
#ifdef CONFIG_PPC64
	ld	r3, -8(r1)
	ld	r4, -280(r1)
	and	r3, r3, r4
#endif
	PPC_LL	r0, LRSAVE(r1)
	mtlr	r0
	blr
