/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files in debugfs say. Also for the suites of architectures.
 */
#ifndef _KERNEL_KPROBES_TESTS_FILES_H
#define _KERNEL_KPROBES_TESTS_FILES_H

#include <linux/sizes.h>
#include <linux/types.h>

struct cred;
struct kunit;

/* Far more than there are probes while suites run. */
#define KP_FILE_SIZE	SZ_16K

ssize_t kp_read_debugfs(const struct cred *opener, const struct cred *reader,
			const char *name, char *buf, size_t size);
bool kp_file_says(struct kunit *test, const char *name, const char *who, const char *what);

#endif /* _KERNEL_KPROBES_TESTS_FILES_H */
