/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls a random function of the adversary with random registers.
 */

#include <asm/asm-compat.h>
#include <asm/asm-const.h>
#include <asm/asm-offsets.h>
#include <asm/ppc_asm.h>
#include <asm/ptrace.h>

/* Fields of struct kpa_machine. */
#define MACHINE_REG(n)		(SZL * (n))
#define MACHINE_CR		MACHINE_REG(32)
#define MACHINE_XER		MACHINE_REG(33)
#define MACHINE_CTR		MACHINE_REG(34)

/* What is kept meanwhile; registers by their number. */
#define KEPT_CR			(STACK_FRAME_MIN_SIZE + SZL * 0)
#define KEPT_XER		(STACK_FRAME_MIN_SIZE + SZL * 1)
#define KEPT_MACHINE		(STACK_FRAME_MIN_SIZE + SZL * 2)
#define KEPT_REGS		(STACK_FRAME_MIN_SIZE - SZL * 10)
#define KEPT_SIZE		(STACK_FRAME_MIN_SIZE + SZL * 24)

/*
 * void kpa_enter(struct kpa_machine *m, void (*fn)(void))
 *
 * r2 has the TOC of the kernel, which functions use.
 */
_GLOBAL(kpa_enter)
	mflr	r0
	PPC_STL	r0, LRSAVE(r1)
	PPC_STLU r1, -KEPT_SIZE(r1)
	OP_REGS PPC_STL, SZL, 14, 31, r1, KEPT_REGS
	mfcr	r0
	mfxer	r5
	PPC_STL	r0, KEPT_CR(r1)
	PPC_STL	r5, KEPT_XER(r1)
	PPC_STL	r3, KEPT_MACHINE(r1)
	mr	r12, r3
	mtctr	r4
	PPC_LL	r4, MACHINE_CR(r12)
	PPC_LL	r5, MACHINE_XER(r12)
	mtcr	r4
	mtxer	r5
	OP_REGS PPC_LL, SZL, 3, 10, r12, 0
	OP_REGS PPC_LL, SZL, 14, 31, r12, 0
	bctrl
	PPC_LL	r12, KEPT_MACHINE(r1)
	OP_REGS PPC_STL, SZL, 3, 10, r12, 0
	OP_REGS PPC_STL, SZL, 14, 30, r12, 0
	mfcr	r4
	mfxer	r5
	mfctr	r6
	PPC_STL	r4, MACHINE_CR(r12)
	PPC_STL	r5, MACHINE_XER(r12)
	PPC_STL	r6, MACHINE_CTR(r12)
	PPC_LL	r4, KEPT_CR(r1)
	PPC_LL	r5, KEPT_XER(r1)
	mtcr	r4
	mtxer	r5
	OP_REGS PPC_LL, SZL, 14, 31, r1, KEPT_REGS
	addi	r1, r1, KEPT_SIZE
	PPC_LL	r0, LRSAVE(r1)
	mtlr	r0
	blr
