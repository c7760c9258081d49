// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first process of a guest of scripts/measure/coverage for which there is no busybox. Does
 * what sweep.sh in scripts/measure/sweep-module does: a load with known results, and one batch of
 * probes after the other under it.
 */
#include "small.h"

#include <linux/mman.h>

#define MODULE	"/sys/module/kprobe_sweep/parameters/"
/* A module that is also probed. */
#define ZLIB	"/sys/module/kprobe_zlib/parameters/rounds"

#define SIZE	262144
#define PAGE	4096

static char data[SIZE], copy[SIZE];

/*
 * The load: each part returns whether its results are right.
 */

static int transfer(const char *path, int flags, char *buf, ssize_t (*fn)(int, void *, size_t))
{
	int fd = open(path, flags, 0644), n, done = 0;

	while (fd >= 0 && done < SIZE) {
		n = fn(fd, buf + done, SIZE - done < 5000 ? SIZE - done : 5000);
		if (n <= 0)
			break;
		done += n;
	}
	if (fd >= 0)
		close(fd);
	return done == SIZE;
}

static ssize_t write_some(int fd, void *buf, size_t count)
{
	return write(fd, buf, count);
}

static int files(const char *path)
{
	int ok;

	memset(copy, 0, SIZE);
	ok = transfer(path, O_WRONLY | O_CREAT | O_TRUNC, data, write_some) &&
	     transfer(path, O_RDONLY, copy, read) && !memcmp(data, copy, SIZE);
	return !unlink(path) && ok;
}

/* What a child writes to a pipe, which is killed then. */
static int processes(void)
{
	int fds[2], status, at = 0, n;
	pid_t child;

	if (pipe(fds))
		return 0;
	memset(copy, 0, SIZE);
	child = fork();
	if (!child) {
		close(fds[0]);
		for (; at < SIZE && write(fds[1], data + at, PAGE) == PAGE; at += PAGE)
			;
		close(fds[1]);
		for (;;)
			msleep(10000);
	}
	close(fds[1]);
	while (child > 0 && (n = read(fds[0], copy + at, SIZE - at)) > 0)
		at += n;
	close(fds[0]);
	kill(child, SIGKILL);
	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
	       at == SIZE && !memcmp(data, copy, SIZE);
}

/* Pages that both a process and its child write to. */
static int memory(void)
{
	char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i, status, ok = at != MAP_FAILED;
	pid_t child;

	for (i = 0; ok && i < SIZE; i += PAGE)
		at[i] = data[i];
	child = fork();
	if (!child) {
		for (i = 0; ok && i < SIZE; i += PAGE) {
			ok = at[i] == data[i];
			at[i]++;
		}
		exit(ok ? 7 : 1);
	}
	ok = ok && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	     WEXITSTATUS(status) == 7;
	for (i = 0; ok && i < SIZE; i += PAGE)
		ok = at[i] == data[i];
	return ok && !munmap(at, SIZE);
}

/* A file system, and the names of all files in some directories. */
static void list(const char *path)
{
	char buf[1024];
	int fd = open(path, O_RDONLY | O_DIRECTORY);

	while (fd >= 0 && getdents64(fd, (void *)buf, sizeof(buf)) > 0)
		;
	if (fd >= 0)
		close(fd);
}

static int directories(const char *path)
{
	int ok;

	list("/proc/self");
	list("/proc/self/fd");
	list("/sys/kernel");
	contents("/proc/self/maps");
	contents("/proc/self/stat");
	contents("/proc/meminfo");
	mkdir(path, 0755);
	if (mount("none", path, "tmpfs", 0, NULL))
		return 0;
	ok = !mkdir(joined(path, "/sub", NULL), 0755) && files(joined(path, "/sub/file", NULL));
	return !my_syscall2(__NR_umount2, path, 0) && ok;
}

static int work(const char *name)
{
	char path[64] = "/tmp/";
	int ok;

	strlcat(path, name, sizeof(path));
	ok = files(path);
	ok = processes() && ok;
	ok = memory() && ok;
	ok = directories(path) && ok;
	usleep(1000);
	rmdir(path);
	return put(ZLIB, "2") && ok;
}

/* In two processes. */
static int work_twice(void)
{
	pid_t child = fork();
	int status, ok;

	if (!child)
		exit(work("1") ? 0 : 1);
	ok = work("2");
	return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       !WEXITSTATUS(status) && ok;
}

/*
 * The outcome of the probes
 */

static int nr_optimized, nr_ftrace;
static char others[1 << 22];
static size_t len;

/* The value of a field of a line, which starts with a blank. */
static const char *field(const char *line, const char *name)
{
	static char buf[4][64];
	static int next;
	char *value = buf[next++ % 4];
	int i = 0;

	while (*line && strncmp(line, name, strlen(name)))
		line++;
	for (line += *line ? (int)strlen(name) : 0; *line && *line != ' ' && i < 63; line++)
		value[i++] = *line;
	value[i] = 0;
	return value;
}

static void fate(char *line)
{
	const char *kind = field(line, " kind="), *state, *why, *part[9];
	char *end = strchr(line, ' ');
	int i;

	if (!strcmp(kind, "optimized")) {
		nr_optimized++;
		return;
	}
	if (!strcmp(kind, "ftrace")) {
		nr_ftrace++;
		return;
	}
	state = field(line, " opt=");
	why = field(line, " why=");
	/* The address and the symbol, without what follows. */
	end = end ? strchr(end + 1, ' ') : NULL;
	if (end)
		*end = 0;
	memcpy(part, (const char *[]){ "# fate: ", line, " ", kind, " ", state, " ", why, "\n" },
	       sizeof(part));
	for (i = 0; i < 9 && len < sizeof(others); i++)
		len += strlcat(others + len, part[i], sizeof(others) - len);
}

/* How many are optimized, and why others are not. */
static void fates(void)
{
	int fd = open(KPROBES "sites", O_RDONLY);
	char *line, *end;

	if (fd < 0) {
		nr_optimized += count(KPROBES "list", "[OPTIMIZED]");
		nr_ftrace += count(KPROBES "list", "[FTRACE]");
		return;
	}
	close(fd);
	settle();
	for (line = contents(KPROBES "sites"); *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			break;
		*end = 0;
		fate(line);
	}
}

int main(void)
{
	int i, batches, ok = 1, probes;

	begin("sweep");
	mkdir("/tmp", 0755);
	for (i = 0; i < SIZE; i++)
		data[i] = i * 7 + i / 251;
	probes = count(KPROBES "list", "\n");
	check(load("kprobe_zlib", ""), "the module to be probed loads", NULL);
	check(work_twice(), "the load works without probes", NULL);
	check(load("kprobe_sweep", contents("/bin/sweep.param")), "the module loads", NULL);
	batches = atoi(contents(MODULE "nr_batches"));
	for (i = 0; i < batches && put(MODULE "batch", itoa(i)); i++) {
		ok = work_twice() && ok;
		fates();
	}
	check(i == batches && i, "all batches", itoa(batches));
	printf("    %d optimized\n    %d ftrace\n", nr_optimized, nr_ftrace);
	fputs(others, stdout);
	check(put(MODULE "batch", "-1"), "the last one is taken back", NULL);
	check(ok, "the results are right", NULL);
	check(unload("kprobe_sweep"), "rmmod", NULL);
	check(count(KPROBES "list", "\n") == probes, "no probe is left", NULL);
	return end("sweep");
}
