// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first process of a guest of scripts/measure/coverage for which there is no busybox. Does
 * what sweep.sh in scripts/measure/sweep-module does: a load with known results, and one batch of
 * probes after the other under it.
 */
#include "small.h"

#define MODULE	"/sys/module/kprobe_sweep/parameters/"
/* A module that is also probed. */
#define ZLIB	"/sys/module/kprobe_zlib/parameters/rounds"

#define SIZE	262144
#define PAGE	4096

static char data[SIZE], copy[SIZE];

/*
 * The load: each part returns whether its results are right.
 */

/* All of the data, to a file or from it. */
static int transfer(int fd, int out)
{
	int n, done = 0;

	if (!out)
		memset(copy, 0, SIZE);
	do {
		n = out ? write(fd, data + done, SIZE - done < 5000 ? SIZE - done : 5000) :
			  read(fd, copy + done, SIZE - done);
		done += n;
	} while (n > 0 && done < SIZE);
	return out ? done == SIZE : !memcmp(data, copy, SIZE);
}

static int files(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	int ok = transfer(fd, 1) && !lseek(fd, 0, SEEK_SET) && transfer(fd, 0);

	close(fd);
	return !unlink(path) && ok;
}

/* What a child writes to a pipe, and to pages that its parent has written, too. It is killed. */
static int processes(void)
{
	int fds[2], status, i, ok;
	pid_t child;

	if (pipe(fds))
		return 0;
	memcpy(copy, data, SIZE);
	child = fork();
	if (!child) {
		for (i = 0; i < SIZE; i += PAGE)
			copy[i]++;
		transfer(fds[1], 1);
		for (;;)
			msleep(10000);
	}
	ok = child > 0 && !memcmp(data, copy, SIZE) && transfer(fds[0], 0);
	close(fds[0]);
	close(fds[1]);
	kill(child, SIGKILL);
	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && ok;
}

/* A file system, and the names of all files in some directories. */
static void list(const char *path)
{
	char buf[1024];
	int fd = open(path, O_RDONLY | O_DIRECTORY);

	while (fd >= 0 && getdents64(fd, (void *)buf, sizeof(buf)) > 0)
		;
	close(fd);
}

static int directories(const char *path)
{
	int ok;

	list("/proc/self/fd");
	list("/sys/kernel");
	contents("/proc/self/maps");
	contents("/proc/meminfo");
	mkdir(path, 0755);
	if (mount("none", path, "tmpfs", 0, NULL))
		return 0;
	ok = !mkdir(joined(path, "/sub", NULL), 0755) && files(joined(path, "/sub/file", NULL));
	return !my_syscall2(__NR_umount2, path, 0) && ok;
}

static int work(const char *path)
{
	int ok = files(path);

	ok = processes() && ok;
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
		exit(work("/tmp/1") ? 0 : 1);
	ok = work("/tmp/2");
	return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       !WEXITSTATUS(status) && ok;
}

/*
 * The outcome of the probes
 */

static int nr_optimized, nr_ftrace;
static char others[1 << 23];

static int has(const char *line, const char *what)
{
	while (*line && strncmp(line, what, strlen(what)))
		line++;
	return *line;
}

/* How many are optimized, and the lines of others. */
static void fates(void)
{
	char *line = contents(KPROBES "sites"), *end;
	size_t len = strlen(others);

	if (!*line) {
		/* The base tells less. */
		nr_optimized += count(KPROBES "list", "[OPTIMIZED]");
		nr_ftrace += count(KPROBES "list", "[FTRACE]");
		return;
	}
	settle();
	nr_optimized += count(KPROBES "sites", " kind=optimized ");
	nr_ftrace += count(KPROBES "sites", " kind=ftrace ");
	for (line = contents(KPROBES "sites"); (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		if (has(line, " kind=optimized ") || has(line, " kind=ftrace "))
			continue;
		len += strlcat(others + len, "# fate: ", sizeof(others) - len);
		len += strlcat(others + len, line, sizeof(others) - len);
		len += strlcat(others + len, "\n", sizeof(others) - len);
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
