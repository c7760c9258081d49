// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first process of a guest for which there is no busybox. It runs what KUnit cannot: probes
 * after the memory of init has been freed, when all that need not be executable no longer is.
 * Built against the kernel's tools/include/nolibc.
 *
 * Directives, as in the scripts; see scripts/test/run:
 *
 * needs: CONFIG_KPROBE_EVENTS CONFIG_KUNIT_DEBUGFS
 * append: kunit.enable=1 kunit.filter_glob=kprobes_powerpc_*
 * timeout: 300
 */
#include "small.h"

#define SUITES	DEBUG "kunit/"

/* A system call with branches, loops and calls, and its arguments. */
#define FN	"sys_getpriority"
#define BYTES	1024

/*
 * KUnit suites, once more
 */

static void run_suite(const char *name)
{
	check(put(joined(SUITES, name, "/run", NULL), "1"), "suite runs again", name);
	check(count(joined(SUITES, name, "/results", NULL), "\nok 1 ") == 1, "suite passes again",
	      name);
}

static void run_suites(void)
{
	static char buf[16384];
	int fd = open(SUITES, O_RDONLY | O_DIRECTORY), len, at, n = 0;

	while (fd >= 0 && (len = getdents64(fd, (void *)buf, sizeof(buf))) > 0) {
		for (at = 0; at < len; n++) {
			struct linux_dirent64 *d = (void *)(buf + at);

			if (d->d_name[0] != '.')
				run_suite(d->d_name);
			at += d->d_reclen;
		}
	}
	if (fd >= 0)
		close(fd);
	check(n > 2, "there are suites", NULL);
}

/*
 * Probes on each instruction of a function
 */

/* What the system call says. */
struct said {
	long	self, group, user, nobody, junk;
};

static int number_of(const struct said *s, long answer)
{
	return (s->self == answer) + (s->group == answer) + (s->user == answer) +
	       (s->nobody == answer) + (s->junk == answer);
}

static void ask(struct said *s)
{
	memset(s, 0, sizeof(*s));
	s->self = my_syscall2(__NR_getpriority, 0, 0);
	s->group = my_syscall2(__NR_getpriority, 1, 0);
	s->user = my_syscall2(__NR_getpriority, 2, 0);
	s->nobody = my_syscall2(__NR_getpriority, 0, 0x3fffffff);
	s->junk = my_syscall2(__NR_getpriority, 7, 0);
}

static long hits_of(const char *line)
{
	int words = 0;

	while (*line && *line != '\n' && words < 2) {
		if (*line == ' ' && line[1] != ' ' && line[1])
			words++;
		line++;
	}
	return atol(line);
}

/* The sum of all hits, and how many events have one. */
static long hits(int *nr)
{
	char *at = contents(TRACING "kprobe_profile");
	long sum = 0, n;

	*nr = 0;
	while (*at) {
		n = hits_of(at);
		sum += n;
		*nr += n > 0;
		at = strchr(at, '\n');
		if (!at)
			break;
		at++;
	}
	return sum;
}

static int same(const struct said *a, const struct said *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Ask again, while everything is probed in one way. */
static void ask_again(const struct said *want, const char *how, const char *mark, int least)
{
	int n = count(KPROBES "sites", mark), nr;
	struct said got;
	long before = hits(&nr);

	ask(&got);
	check(same(want, &got), "results are the same", how);
	check(hits(&nr) - before > nr, "events have hits", how);
	check(nr > 20, "most instructions are executed", how);
	check(n >= least, "sites are", how);
	printf("    %d sites %s, %d events with %ld hits\n", n, how, nr, hits(&nr) - before);
}

static void probe_instructions(void)
{
	struct said want, got;
	const char *event;
	int at, n = 0;

	ask(&want);
	check(want.self == 20 && want.nobody == -3 && want.junk == -22, "unprobed", FN);
	put(SWITCH, "0");
	for (at = 0; at < BYTES; at += 4) {
		event = joined("p:small/at", itoa(at), " " FN "+", itoa(at), "\n", NULL);
		n += put(TRACING "kprobe_events", event);
	}
	check(n > 40, "events are accepted", FN);
	check(put(TRACING "events/small/enable", "1"), "all are enabled", FN);

	ask_again(&want, "boosted", "kind=boosted", n / 2);
	ask_again(&want, "emulated", "kind=emulated", 5);
	put(SWITCH, "1");
	settle();
	ask_again(&want, "optimized", "kind=optimized", n * 3 / 4);
	put(SWITCH, "0");
	settle();
	check(!count(KPROBES "sites", "opt=live"), "jumps are gone", FN);
	ask_again(&want, "boosted again", "kind=boosted", n / 2);
	put(SWITCH, "1");

	check(put(TRACING "events/small/enable", "0"), "all are disabled", FN);
	at = open(TRACING "kprobe_events", O_WRONLY | O_TRUNC);
	check(at >= 0, "all are removed", FN);
	close(at);
	check(!*contents(KPROBES "list"), "no probe is left", FN);
	ask(&got);
	check(same(&want, &got), "results are the same", "unprobed");
}

/* With and without a jump at the entry. */
static void probe_return(const char *how)
{
	struct said want, got;

	ask(&want);
	check(put(TRACING "kprobe_events", "r:small/back " FN " v=$retval:s32\n"), "return", how);
	put(TRACING "trace", "");
	check(put(TRACING "events/small/enable", "1"), "return is enabled", how);
	settle();
	ask(&got);
	check(same(&want, &got), "results with a return probe", how);
	check(count(TRACING "trace", "v=20\n") == number_of(&want, 20), "returns are seen", how);
	check(count(TRACING "trace", "v=-3\n") == number_of(&want, -3), "errors are seen", how);
	check(put(TRACING "events/small/enable", "0"), "return is disabled", how);
	check(put(TRACING "kprobe_events", "-:small/back\n"), "return is removed", how);
}

static void probe_returns(void)
{
	put(SWITCH, "0");
	probe_return("breakpoint");
	put(SWITCH, "1");
	probe_return("jump");
	check(!*contents(KPROBES "list"), "no return probe is left", FN);
}

int main(void)
{
	begin("small");
	probe_instructions();
	probe_returns();
	run_suites();
	return end("small");
}
