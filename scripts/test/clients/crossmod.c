// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is it the emulator, or the kernel? One thread rewrites functions as the kernel rewrites its text:
 * a breakpoint, the rest, the first byte, and after each of these steps all CPUs are made to
 * serialize. Another thread calls these functions. The kernel is not involved, except for
 * membarrier().
 *
 *   crossmod SECONDS [FUNCTIONS [PER_PAGE]]
 *
 * Prints how often functions were rewritten, called, and hit their breakpoint. A call is stale if it
 * executed old code, such as the breakpoint, although it began after one change was complete and
 * ended before the next one. It is wrong if it executed what had never been there.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define MAX_FUNCTIONS	4096
#define PAGE		4096
/* Each is mov $imm32, %eax; ret */
#define MAX_PER_PAGE	256
#define TRAPPED		0x7a7a7a7a
#define SYNC_CORE	(1 << 5)	/* MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE */
#define REGISTER	(1 << 6)

static unsigned char *code;
static int nr_functions = MAX_FUNCTIONS, distance = PAGE / MAX_PER_PAGE;
static volatile int stop, apart = 1;
/* Odd while the function is being changed; the function returns half of it. */
static volatile unsigned int version[MAX_FUNCTIONS];
static volatile unsigned long calls, traps, stale, wrong;

static int serialize_all(int command)
{
	return syscall(__NR_membarrier, command, 0, 0);
}

static void rewrite(int nr)
{
	volatile unsigned char *f = code + nr * distance;
	unsigned int value;

	value = (++version[nr] + 1) / 2;
	f[0] = 0xcc;
	serialize_all(SYNC_CORE);
	memcpy((void *)(f + 1), &value, sizeof(value));
	serialize_all(SYNC_CORE);
	f[0] = 0xb8;
	serialize_all(SYNC_CORE);
	version[nr]++;
}

static void call_one(int nr)
{
	unsigned int before = version[nr], got;

	got = ((unsigned int (*)(void))(code + nr * distance))();
	calls++;
	traps += got == TRAPPED;
	if (before == version[nr] && !(before & 1))
		stale += got != before / 2;
	else
		wrong += got != TRAPPED && got > version[nr] / 2 + 1;
}

/* Both threads on one CPU would prove nothing. */
static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	apart &= !sched_setaffinity(0, sizeof(set), &set);
}

static void *caller(void *unused)
{
	int nr;

	run_on(1);
	while (!stop) {
		for (nr = 0; nr < nr_functions; nr++)
			call_one(nr);
	}
	return unused;
}

/* Continues after the breakpoint, as if another instruction had been there. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig, (void)info;
	regs[REG_RAX] = TRAPPED;
	regs[REG_RIP] += 4;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	unsigned long rewritten = 0;
	pthread_t thread;
	time_t end;
	int nr;

	if (argc > 2)
		nr_functions = atoi(argv[2]);
	if (argc > 3)
		distance = PAGE / atoi(argv[3]);
	if (argc < 2 || nr_functions < 1 || nr_functions > MAX_FUNCTIONS ||
	    distance < PAGE / MAX_PER_PAGE || distance > PAGE)
		return 2;
	code = mmap(NULL, MAX_FUNCTIONS * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return 1;
	for (nr = 0; nr < nr_functions; nr++) {
		code[nr * distance] = 0xb8;
		code[nr * distance + 5] = 0xc3;
	}
	if (serialize_all(REGISTER) || sigaction(SIGTRAP, &act, NULL) ||
	    pthread_create(&thread, NULL, caller, NULL)) {
		perror("crossmod");
		return 1;
	}
	run_on(0);
	for (end = time(NULL) + atoi(argv[1]); time(NULL) < end;)
		rewrite(rewritten++ % nr_functions);
	stop = 1;
	pthread_join(thread, NULL);
	printf("%lu rewritten, %lu calls, %lu trapped, %lu stale, %lu wrong\n", rewritten, calls,
	       traps, stale, wrong);
	if (!apart)
		printf("both were on one CPU\n");
	return stale || wrong || !calls || !apart ? 1 : 0;
}
