/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_OOPS_H
#define _KERNEL_KPROBES_OOPS_H

/* Before anything that a hit may have found is freed or handed back. */
void kprobe_end_hits(void);

#endif /* _KERNEL_KPROBES_OOPS_H */
