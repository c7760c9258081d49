/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the two halves of the differential test: the instructions, in assembly,
 * and the code that runs them.
 */
#ifndef _ARM64_KERNEL_PROBES_TESTS_DIFFERENTIAL_FORMS_H
#define _ARM64_KERNEL_PROBES_TESTS_DIFFERENTIAL_FORMS_H

/* How a probed instruction is executed: with a pre handler, and with a post handler. */
#define DIFF_PLAIN		0	/* boosted, stepped */
#define DIFF_FAST		1	/* boosted, emulated */
#define DIFF_EMULATED		2
#define NR_DIFF_KINDS		3

/* What a form requires of the state, in addition to its operands; bits. */
#define MEM			1	/* x1 points to data, aligned to 16 bytes */
#define ODD			2	/* ... but need not be aligned */
#define INDEX			4	/* x2 is small */
#define WINDEX			8	/* w2 is small and positive; the rest of x2 is not */
#define EQUAL			16	/* every other time, x2 and x3 equal two words at x1 */
#define TARGET			32	/* the register of the branch has the address of "1f" */
#define CALLEE			64	/* it calls kpd_callee(), perhaps through a register */
#define IRQ_ON			128	/* it may enable interrupts */
#define NO_JUMP			256	/* no detour can have it */
#define NO_JUMP_BTI		512	/* the same, in kernels with landing pads */
#define VARIES			1024	/* what it writes to x0 */
#define STACK			2048	/* x1 is an address in the stack */
#define CONDITION		4096	/* what it tests is special in the first rounds */
#define ALLOCATES		8192	/* it may move sp down over words that it does not write */
#define FILLS			16384	/* it writes aligned blocks of memory */
#define SIGNED			32768	/* the address that it authenticates is signed */

/*
 * Features of the CPU without which a form is skipped: a field of an ID register, and the
 * least value that it must have.
 */
#define DIFF_CPU(reg, shift, least)	((reg) << 12 | (least) << 8 | (shift))
#define DIFF_CPU_REG(cpu)		((cpu) >> 12)
#define DIFF_CPU_LEAST(cpu)		((cpu) >> 8 & 15)
#define DIFF_CPU_SHIFT(cpu)		((cpu) & 255)

#define ISAR0			1
#define ISAR1			2
#define ISAR2			3
#define ISAR3			4
#define PFR0			5
#define PFR1			6
#define MMFR1			7
#define MMFR3			8
#define KERNEL_SVE		9	/* none: the kernel lets itself use it */
#define ANY_PAUTH		10	/* several: any algorithm of signing addresses */
#define ANY_PACGA		11	/* the same of signing data */

#define CPU_AES			DIFF_CPU(ISAR0, 4, 1)
#define CPU_PMULL		DIFF_CPU(ISAR0, 4, 2)
#define CPU_SHA1		DIFF_CPU(ISAR0, 8, 1)
#define CPU_SHA2		DIFF_CPU(ISAR0, 12, 1)
#define CPU_SHA512		DIFF_CPU(ISAR0, 12, 2)
#define CPU_CRC32		DIFF_CPU(ISAR0, 16, 1)
#define CPU_LSE			DIFF_CPU(ISAR0, 20, 2)
#define CPU_LSE128		DIFF_CPU(ISAR0, 20, 3)
#define CPU_RDM			DIFF_CPU(ISAR0, 28, 1)
#define CPU_SHA3		DIFF_CPU(ISAR0, 32, 1)
#define CPU_SM3			DIFF_CPU(ISAR0, 36, 1)
#define CPU_SM4			DIFF_CPU(ISAR0, 40, 1)
#define CPU_DP			DIFF_CPU(ISAR0, 44, 1)
#define CPU_FLAGM		DIFF_CPU(ISAR0, 52, 1)
#define CPU_FLAGM2		DIFF_CPU(ISAR0, 52, 2)
#define CPU_PAUTH		DIFF_CPU(ANY_PAUTH, 0, 1)
#define CPU_JSCVT		DIFF_CPU(ISAR1, 12, 1)
#define CPU_FCMA		DIFF_CPU(ISAR1, 16, 1)
#define CPU_LRCPC		DIFF_CPU(ISAR1, 20, 1)
#define CPU_LRCPC2		DIFF_CPU(ISAR1, 20, 2)
#define CPU_LRCPC3		DIFF_CPU(ISAR1, 20, 3)
#define CPU_PACGA		DIFF_CPU(ANY_PACGA, 0, 1)
#define CPU_FRINTTS		DIFF_CPU(ISAR1, 32, 1)
#define CPU_SB			DIFF_CPU(ISAR1, 36, 1)
#define CPU_BF16		DIFF_CPU(ISAR1, 44, 1)
#define CPU_I8MM		DIFF_CPU(ISAR1, 52, 1)
#define CPU_XS			DIFF_CPU(ISAR1, 56, 1)
#define CPU_LS64		DIFF_CPU(ISAR1, 60, 1)
#define CPU_HBC			DIFF_CPU(ISAR2, 20, 1)
#define CPU_CSSC		DIFF_CPU(ISAR2, 52, 1)
#define CPU_CPA			DIFF_CPU(ISAR3, 0, 1)
#define CPU_FP16		DIFF_CPU(PFR0, 20, 1)
#define CPU_THE			DIFF_CPU(PFR1, 48, 1)
#define CPU_MTE			DIFF_CPU(PFR1, 8, 1)
#define CPU_MTE2		DIFF_CPU(PFR1, 8, 2)
#define CPU_GCS			DIFF_CPU(PFR1, 44, 1)
#define CPU_LOR			DIFF_CPU(MMFR1, 16, 1)
#define CPU_SVE			DIFF_CPU(KERNEL_SVE, 0, 1)

/* Where execution continues after the form. */
#define DIFF_NEXT		0
#define DIFF_TAKEN		1	/* at the "1f" of the form */
#define DIFF_BACK		2	/* at its "0b" */

/* Fields of struct kpd_machine, in words. */
#define DIFF_NR_REGS		31
#define DIFF_REG(n)		(8 * (n))
#define DIFF_SP			DIFF_REG(31)
#define DIFF_NZCV		DIFF_REG(32)
#define DIFF_DAIF		DIFF_REG(33)
#define DIFF_EXIT		DIFF_REG(34)
#define DIFF_CODE		DIFF_REG(35)
#define DIFF_HOST_SP		DIFF_REG(36)
#define DIFF_HOST_DAIF		DIFF_REG(37)

/* Bytes that memory operands refer to; x1 points to the middle. */
#define DIFF_DATA_SIZE		2048

#endif /* _ARM64_KERNEL_PROBES_TESTS_DIFFERENTIAL_FORMS_H */
