/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_TESTS_WEAK_H
#define _KERNEL_KPROBES_TESTS_WEAK_H

/* There are two; the one in weak.c loses. It points to what is left of the loser. */
int kp_addr_weak(int v);
int kp_addr_after_weak(int v);
extern const unsigned long kp_addr_leftover;

#endif /* _KERNEL_KPROBES_TESTS_WEAK_H */
