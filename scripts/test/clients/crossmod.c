// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is it the emulator, or the kernel? One thread rewrites functions as the kernel
 * rewrites its text: a breakpoint, the rest, the first byte, and after each of these
 * steps all CPUs are made to serialize. Another thread calls these functions. The
 * kernel is not involved, except for membarrier().
 *
 *   crossmod SECONDS [FUNCTIONS [PER_PAGE]]   built against tools/include/nolibc
 *
 * Prints how often functions were rewritten, called, and hit their breakpoint. A call
 * is stale if it executed old code, such as the breakpoint, although it began after
 * one change was complete and ended before the next one. It is wrong if it executed
 * what had never been there.
 */
#include <sys/syscall.h>

#define MAX_FUNCTIONS	4096
#define PAGE		4096
/* Each is mov $imm32, %eax; ret */
#define MAX_PER_PAGE	256
#define TRAPPED		0x7a7a7a7a
#define SYNC_CORE	(1 << 5)	/* MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE */
#define REGISTER	(1 << 6)

#define CLONE_VM_SIGCHLD	(0x100 | 17)

static unsigned char *code;
static int nr_functions = MAX_FUNCTIONS, distance = PAGE / MAX_PER_PAGE;
static volatile int stop, apart = 1;
/* Odd while the function is being changed; the function returns half of it. */
static volatile unsigned int version[MAX_FUNCTIONS];
static volatile unsigned long calls, traps, stale, wrong;

static void serialize_all(void)
{
	syscall(__NR_membarrier, SYNC_CORE, 0, 0);
}

static void put(unsigned char *at, unsigned int value)
{
	int i;

	for (i = 0; i < 4; i++)
		((volatile unsigned char *)at)[i] = value >> (8 * i);
}

static void rewrite(int nr)
{
	volatile unsigned char *f = code + nr * distance;

	version[nr]++;
	f[0] = 0xcc;
	serialize_all();
	put((unsigned char *)f + 1, (version[nr] + 1) / 2);
	serialize_all();
	f[0] = 0xb8;
	serialize_all();
	version[nr]++;
}

static void call_one(int nr)
{
	unsigned int before = version[nr], got;

	got = ((unsigned int (*)(void))(code + nr * distance))();
	calls++;
	if (got == TRAPPED)
		traps++;
	if (before == version[nr] && !(before & 1))
		stale += got != before / 2;
	else
		wrong += got != TRAPPED && got > version[nr] / 2 + 1;
}

/* Both threads on one CPU would prove nothing. */
static void run_on(int cpu)
{
	unsigned long mask = 1ul << cpu;

	if (syscall(__NR_sched_setaffinity, 0, sizeof(mask), &mask))
		apart = 0;
}

static void caller(void)
{
	int nr;

	run_on(1);
	while (!stop) {
		for (nr = 0; nr < nr_functions; nr++)
			call_one(nr);
	}
	syscall(__NR_exit, 0);
}

/* Continues after the breakpoint, as if another instruction had been there. */
static void on_trap(int sig __attribute__((unused)), void *info __attribute__((unused)),
		    unsigned long *context)
{
	/* ax and ip in the registers that follow flags, link and stack. */
	context[5 + 13] = TRAPPED;
	context[5 + 16] += 4;
}

void restorer(void);
asm("restorer: mov $15, %eax; syscall");

static void catch_traps(void)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} act = { on_trap, 4 | 0x04000000 | 0x40000000, restorer, 0 };

	syscall(__NR_rt_sigaction, 5, &act, NULL, 8);
}

static char stack[65536] __attribute__((aligned(16)));

static int start(void (*fn)(void))
{
	long ret;

	asm volatile("syscall; test %%rax, %%rax; jnz 1f; xor %%ebp, %%ebp; call *%4; 1:"
		     : "=a" (ret)
		     : "0" ((long)__NR_clone), "D" ((long)CLONE_VM_SIGCHLD),
		       "S" (stack + sizeof(stack) - 64), "r" (fn), "d" (0L)
		     : "rcx", "r11", "memory");
	return ret;
}

int main(int argc, char **argv)
{
	unsigned long rewritten = 0;
	struct timeval now = {}, end = {};
	int nr;

	if (argc < 2)
		return 2;
	if (argc > 2)
		nr_functions = atoi(argv[2]);
	if (argc > 3)
		distance = PAGE / atoi(argv[3]);
	if (nr_functions < 1 || nr_functions > MAX_FUNCTIONS ||
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
	if (syscall(__NR_membarrier, REGISTER, 0, 0)) {
		printf("no membarrier: %d\n", errno);
		return 1;
	}
	catch_traps();
	if (start(caller) < 0)
		return 1;
	run_on(0);
	gettimeofday(&end, NULL);
	end.tv_sec += atoi(argv[1]);
	do {
		rewrite(rewritten++ % nr_functions);
		gettimeofday(&now, NULL);
	} while (now.tv_sec < end.tv_sec);
	stop = 1;
	printf("%lu rewritten, %lu calls, %lu trapped, %lu stale, %lu wrong\n", rewritten,
	       calls, traps, stale, wrong);
	if (!apart)
		printf("both were on one CPU\n");
	return stale || wrong || !calls || !apart ? 1 : 0;
}
