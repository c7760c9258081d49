/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What makes the instructions of differential_faults.S fault; bits.
 */
#ifndef _X86_KERNEL_KPROBES_TESTS_DIFFERENTIAL_FAULTS_H
#define _X86_KERNEL_KPROBES_TESTS_DIFFERENTIAL_FAULTS_H

#define AT_END		1	/* bx is at the end of a page, with nothing after it */
#define READ_ONLY	2	/* bx is in a page that is read-only */
#define SI_END		4	/* si is at the end of that page, or di, ... */
#define DI_END		8
#define SI_START	16	/* ... or at its start, going down */
#define DI_START	32
#define DI_READ_ONLY	64
#define REPEATS		128	/* cx is larger than the room there is */
#define LOW		256	/* all are of 16 bits, below any mapping */
#define NO_DIVISOR	512	/* cx is zero */
#define NOT_CANONICAL	1024	/* bx is not canonical */
#define WATCHED		2048	/* bx, si and di point to the watched word */

#endif /* _X86_KERNEL_KPROBES_TESTS_DIFFERENTIAL_FAULTS_H */
