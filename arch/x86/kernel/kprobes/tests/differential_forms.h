/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the two halves of the differential test: the instructions, in assembly,
 * and the code that runs them.
 */
#ifndef _X86_KERNEL_KPROBES_TESTS_DIFFERENTIAL_FORMS_H
#define _X86_KERNEL_KPROBES_TESTS_DIFFERENTIAL_FORMS_H

/* How a probed instruction is executed: with a pre handler, and with a post handler. */
#define DIFF_FAST		0	/* boosted, emulated */
#define DIFF_PLAIN		1	/* boosted, stepped */
#define DIFF_EMULATED		2
#define DIFF_STEPPED		3
#define DIFF_FTRACE		4
#define NR_DIFF_KINDS		5

/* What a form requires of the state, in addition to its operands; bits. */
#define FPU			1	/* a register file of its own */
#define INDIRECT		2	/* for objtool: this indirect branch is intended */
#define IRQ_ON			4	/* it enables interrupts */
#define STRING			8	/* si and di point to data, cx is small */
#define BP_STACK		16	/* bp points into the stack */
#define DIVIDE			32	/* a quotient that fits, of a division by cx */
#define TABLE			64	/* bx points to data */
#define BITS			128	/* ax is small */
#define EQUAL			256	/* every other time, ax equals the word in memory */
#define ZEROS			512	/* ax, cx, and on top of the stack */
#define STACK_ADDR		1024	/* an address in it, on top of the stack */
#define MSR			2048	/* cx names one that can be read */
#define SHORT_COUNT		4096	/* cx is about to reach zero */
#define ALLOCATES		8192	/* it moves sp down over words that it does not write */
#define TRACED			16384	/* C code may be called, which requires DF clear */
#define AREA			32768	/* bx points to a valid FPU state */
#define PORT			65536	/* dx is a port without effects */
#define CLOCK			131072	/* it reads a counter into dx:ax */
#define SELECTOR		262144	/* above the word in memory, there are zeros */
#define RANGE			524288	/* in memory, the smallest and the largest number */
#define PERCPU			1048576	/* bx and si address kpd_percpu */
#define GATHER			2097152	/* the indices in the vector 2 are small */
#define SAME_MSR		4194304	/* cx names one, and ax and dx are its value */
#define CALLEE			8388608	/* it calls kpd_callee() */
#define NOTRACK			16777216 /* its CS prefix becomes DS, of which objtool warns */

/* Where execution continues after the form. */
#define DIFF_NEXT		0
#define DIFF_TAKEN		1	/* at the "1f" of the form */
#define DIFF_BACK		2	/* at its "0b" */

/* Registers that instructions can name. */
#ifdef CONFIG_X86_64
#define DIFF_NR_REGS		16
#else
#define DIFF_NR_REGS		8
#endif

/* Fields of struct kpd_machine, in words. */
#define DIFF_REG(n)		(__SIZEOF_LONG__ * (n))
#define DIFF_FLAGS		DIFF_REG(DIFF_NR_REGS)
#define DIFF_ES			DIFF_REG(DIFF_NR_REGS + 1)
#define DIFF_EXIT		DIFF_REG(DIFF_NR_REGS + 2)
#define DIFF_CODE		DIFF_REG(DIFF_NR_REGS + 3)
#define DIFF_HOST_SP		DIFF_REG(DIFF_NR_REGS + 4)
#define DIFF_HOST_ES		DIFF_REG(DIFF_NR_REGS + 5)

/* Bytes that memory operands refer to; their base register points to the middle. */
#define DIFF_DATA_SIZE		640

#endif /* _X86_KERNEL_KPROBES_TESTS_DIFFERENTIAL_FORMS_H */
