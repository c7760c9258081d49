/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of kprobe_bench.ko use of each other. */
#ifndef _KPROBE_BENCH_H
#define _KPROBE_BENCH_H

#include <linux/kprobes.h>
#include <linux/printk.h>

#include "arch.h"

/* Report a result, whose name is made by the format. */
#define row(value, name, ...)	pr_info("row " name " %llu\n", ##__VA_ARGS__, (u64)(value))

/* main.c: the parameters of the module */
extern bool big, optimized, letters, traced;

/* single.c */
void bench_stepped(void);
void bench_quick(void);
void bench_kept(void);
int measure_hits(void);
int measure_among(struct kprobe **kps, int nr);
int measure_crowds(struct kprobe **kps, int nr);

/* together.c */
int measure_together(void);

/* many.c */
struct kprobe **kprobes_alloc(int nr);
int max_targets(void);
int accepted_entries(struct kprobe **kps, int max);
int accepted_mids(struct kprobe **kps, int max);
int register_many(struct kprobe **kps, int nr, u32 flags, u64 *cost);
u64 unregister_many(struct kprobe **kps, int nr);
int measure_many(void);
int measure_memory(const char *what);

/* optimizer.c */
int stop_rows(struct kprobe **kps, const char *what, int nr);
int measure_optimizer(void);

#endif /* _KPROBE_BENCH_H */
