// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads files in debugfs, which is not mounted while suites run at boot.
 */

#include "suite.h"

#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/seq_file.h>
#include <linux/uio.h>

#include "files.h"

static ssize_t read_seq_file(struct file *file, char *buf, size_t size)
{
	struct kvec vec = { .iov_base = buf, .iov_len = size };
	struct iov_iter to;
	struct kiocb iocb;
	ssize_t ret;

	init_sync_kiocb(&iocb, file);
	iov_iter_kvec(&to, ITER_DEST, &vec, 1, size);
	do {
		ret = seq_read_iter(&iocb, &to);
	} while (ret > 0);

	return ret ?: size - iov_iter_count(&to);
}

/**
 * kp_read_debugfs() - read a file in debugfs
 * @opener: credentials to open it with, NULL for those of the caller
 * @reader: credentials to read it with, NULL for those of the caller
 * @name: its path in debugfs
 * @buf: where its contents go
 * @size: size of @buf
 *
 * Context: process context, may sleep.
 * Return: the number of bytes, or an error.
 */
ssize_t kp_read_debugfs(const struct cred *opener, const struct cred *reader,
			const char *name, char *buf, size_t size)
{
	struct file_system_type *type = get_fs_type("debugfs");
	const struct cred *old = NULL;
	struct vfsmount *mnt;
	struct file *file;
	ssize_t ret;

	if (!type)
		return -ENODEV;
	mnt = kern_mount(type);
	put_filesystem(type);
	if (IS_ERR(mnt))
		return PTR_ERR(mnt);

	if (opener)
		old = override_creds(opener);
	file = file_open_root_mnt(mnt, name, O_RDONLY, 0);
	if (opener)
		revert_creds(old);
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
	} else {
		if (reader)
			old = override_creds(reader);
		ret = read_seq_file(file, buf, size);
		if (reader)
			revert_creds(old);
		/* Close the file before the mount goes away. */
		__fput_sync(file);
	}
	kern_unmount(mnt);
	return ret;
}

/**
 * kp_file_says() - is there a line with two texts in a file in debugfs?
 * @test: the test, which fails if the file cannot be read
 * @name: path of the file in debugfs
 * @who: one text
 * @what: the other one
 *
 * Context: process context, may sleep.
 * Return: true if there is one.
 */
bool kp_file_says(struct kunit *test, const char *name, const char *who, const char *what)
{
	char *buf, *rest, *line;
	bool found = false;

	buf = kunit_kzalloc(test, KP_FILE_SIZE, GFP_KERNEL);
	if (!buf) {
		KUNIT_FAIL(test, "no memory");
		return false;
	}
	KUNIT_EXPECT_GT(test, kp_read_debugfs(NULL, NULL, name, buf, KP_FILE_SIZE - 1), 0);
	for (rest = buf; (line = strsep(&rest, "\n")); )
		found |= strstr(line, who) && strstr(line, what);
	kunit_kfree(test, buf);
	return found;
}
