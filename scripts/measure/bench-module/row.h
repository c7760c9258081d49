/* SPDX-License-Identifier: GPL-2.0-only */
/* How the modules of the benchmark report a result. */
#ifndef _KPROBE_BENCH_ROW_H
#define _KPROBE_BENCH_ROW_H

#include <linux/printk.h>
#include <linux/types.h>

static inline void row(const char *name, u64 value)
{
	pr_info("row %s %llu\n", name, value);
}

#endif /* _KPROBE_BENCH_ROW_H */
