/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the two halves of the differential test: the instructions, in assembly,
 * and the code that runs them.
 */
#ifndef _POWERPC_KERNEL_KPROBES_TESTS_DIFFERENTIAL_FORMS_H
#define _POWERPC_KERNEL_KPROBES_TESTS_DIFFERENTIAL_FORMS_H

#include <asm/asm-const.h>

/* How a probed instruction is executed: with a pre handler, and with a post handler. */
#define DIFF_PLAIN		0	/* boosted, stepped */
#define DIFF_FAST		1	/* boosted, emulated */
#define DIFF_EMULATED		2
#define DIFF_FTRACE		3	/* the tracer calls the handlers */
#define NR_DIFF_KINDS		4

/* What a form requires of the state, in addition to its operands; bits. */
#define MEM			1	/* r4 points to data, aligned to 16 bytes */
#define ODD			2	/* ... but need not be aligned */
#define INDEX			4	/* r5 is a small multiple of 16 */
#define TARGET			8	/* the register of the branch has the address of "1f" */
#define CALLEE			16	/* it calls kpd_callee(), perhaps through CTR or LR */
#define CONDITION		32	/* what it tests is special in the first rounds */
#define NO_JUMP			64	/* no detour can have it */
#define VARIES			128	/* what it writes to r3 */
#define STACK			256	/* r4 is an address in the stack */
#define ALLOCATES		512	/* it may move r1 down over words that it does not write */
#define STEP			1024	/* r5 is what a stack frame may be moved by */
#define FILLS			2048	/* it writes aligned blocks of memory */
#define DIVIDES			4096	/* r5 is a divisor whose quotient is defined */
#define MASKS			8192	/* it writes r3 to the soft interrupt mask */
#define COUNTED			16384	/* XER has a number of bytes for string instructions */
#define SHOWS_MSR		32768	/* r3 becomes MSR */
#define KEEPS_SPR		65536	/* r3 is what a special register has already */
#define SHOWS_MASK		131072	/* r3 becomes the soft interrupt mask */
#define TRACED			262144	/* it is at the start of a function */
#define PREEMPTION		524288	/* r4 points to the count of preemption, r3 has it */
#define KEEPS_CURRENT		1048576	/* r3 is the current task */

/* What a form requires of the CPU. */
#define CPU_ANY			0
#define CPU_206			1	/* Power ISA 2.06 */
#define CPU_207			2
#define CPU_300			3
#define CPU_310			4
#define CPU_ISEL		5	/* 2.03, as far as e500 has it */
#define CPU_STRING		6	/* not in e500 */
#define CPU_SEGMENTS		7	/* segment registers */
#define CPU_BOOKE		8
#define CPU_MCRXR		9	/* not in servers */
#define CPU_VRSAVE		10	/* SPR 256 */
#define CPU_LWSYNC		11

/* Where execution continues after the form. */
#define DIFF_NEXT		0
#define DIFF_TAKEN		1	/* at the "1f" of the form */
#define DIFF_BACK		2	/* at its "0b" */

/* Fields of struct kpd_machine, in words. */
#define DIFF_WORD		(BITS_PER_LONG / 8)
#define DIFF_REG(n)		(DIFF_WORD * (n))
#define DIFF_CR			DIFF_REG(32)
#define DIFF_XER		DIFF_REG(33)
#define DIFF_CTR		DIFF_REG(34)
#define DIFF_LR			DIFF_REG(35)
#define DIFF_MSR		DIFF_REG(36)
#define DIFF_EXIT		DIFF_REG(37)
#define DIFF_CODE		DIFF_REG(38)
#define DIFF_HOST_SP		DIFF_REG(39)

/* Bytes that memory operands refer to; r4 points to the middle. */
#define DIFF_DATA_SIZE		2048

#endif /* _POWERPC_KERNEL_KPROBES_TESTS_DIFFERENTIAL_FORMS_H */
