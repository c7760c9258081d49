/* SPDX-License-Identifier: GPL-2.0-only */
/* What makes it possible to measure the base, for all modules with probes. */
#ifndef _KPROBE_BENCH_PREPARE_H
#define _KPROBE_BENCH_PREPARE_H

#ifdef CONFIG_PPC_BOOK3S_32

#include <asm/reg.h>

/*
 * The base has its slots in segments of which nothing can be executed once the kernel has booted,
 * so that the first hit that steps would be the last one. Undo that.
 */
static inline void prepare_base(void)
{
	unsigned long segment;

	for (segment = TASK_SIZE >> 28; segment < 16; segment++)
		mtsr(mfsr(segment << 28) & ~SR_NX, segment << 28);
}

#else

static inline void prepare_base(void)
{
}

#endif

#endif /* _KPROBE_BENCH_PREPARE_H */
