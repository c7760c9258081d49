/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_DEBUGFS_H
#define _KERNEL_KPROBES_DEBUGFS_H

struct dentry;

void kprobe_debugfs_check_init(struct dentry *dir);

#endif /* _KERNEL_KPROBES_DEBUGFS_H */
