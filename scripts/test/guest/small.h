/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the programs that are the only one of a guest for which there is no busybox. Built
 * against the kernel's tools/include/nolibc.
 */
#ifndef _SMALL_H
#define _SMALL_H

#include <linux/reboot.h>
#include <linux/unistd.h>

/* The names of older and newer kernels. */
#ifndef my_syscall2
#define my_syscall2 __nolibc_syscall2
#define my_syscall3 __nolibc_syscall3
#endif

#define DEBUG	"/sys/kernel/debug/"
#define KPROBES	DEBUG "kprobes/"
#define TRACING	"/sys/kernel/tracing/"
#define SWITCH	"/proc/sys/debug/kprobes-optimization"

static int nr_failed;

static inline void check(int ok, const char *what, const char *of)
{
	printf("%s %s%s%s\n", ok ? "ok" : "not ok", what, of ? ": " : "", of ?: "");
	nr_failed += !ok;
}

/* All of a file of unknown size. */
static inline char *contents(const char *path)
{
	static char buf[1 << 20];
	int fd = open(path, O_RDONLY), n, len = 0;

	while (fd >= 0 && len < (int)sizeof(buf) - 1) {
		n = read(fd, buf + len, sizeof(buf) - 1 - len);
		if (n <= 0)
			break;
		len += n;
	}
	if (fd >= 0)
		close(fd);
	buf[len] = 0;
	return buf;
}

static inline int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND), n;

	if (fd < 0)
		return 0;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (int)strlen(text);
}

/* How often a text is in a file. */
static inline int count(const char *path, const char *what)
{
	int len = strlen(what), n = 0;
	char *at;

	for (at = contents(path); *at; at++)
		n += !strncmp(at, what, len);
	return n;
}

/* Several texts as one; NULL is the end of them. */
static inline const char *joined(const char *text, ...)
{
	static char buf[256];
	va_list args;

	*buf = 0;
	va_start(args, text);
	for (; text; text = va_arg(args, const char *))
		strlcat(buf, text, sizeof(buf));
	va_end(args);
	return buf;
}

/* Until the optimizer is idle. */
static inline void settle(void)
{
	int i;

	for (i = 0; i < 500; i++) {
		if (!count(KPROBES "sites", "opt=queued") && !count(KPROBES "sites", "opt=waiting"))
			return;
		msleep(20);
	}
}

/* Load a module of /bin; and unload it. */
static inline int load(const char *module, const char *params)
{
	int fd = open(joined("/bin/", module, ".ko", NULL), O_RDONLY), ret;

	ret = my_syscall3(__NR_finit_module, fd, params, 0);
	if (ret)
		printf("    %s: error %d\n", module, ret);
	close(fd);
	return !ret;
}

static inline int unload(const char *module)
{
	return !my_syscall2(__NR_delete_module, module, O_NONBLOCK);
}

/* Printed twice, as a kernel message may interrupt a line. */
static inline void mark(const char *what, const char *of)
{
	int i;

	for (i = 0; i < 2; i++)
		printf("guest: %s %s\n", what, of);
}

static inline void begin(const char *name)
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	mark("begin", name);
}

static inline int end(const char *name)
{
	mark("failed", itoa(nr_failed));
	mark("end", name);
	return reboot(LINUX_REBOOT_CMD_POWER_OFF);
}

#endif /* _SMALL_H */
