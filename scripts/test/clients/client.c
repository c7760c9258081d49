// SPDX-License-Identifier: GPL-2.0-only
/*
 * Users of kprobes outside the kernel, for scripts/test/guest/clients.sh; built
 * against the kernel's tools/include/nolibc.
 *
 *   client call               what getsid(0) returns, negative if it failed
 *   client perf [OPTIONS] FN  count calls of FN by a perf event; with -p, print that file, too
 *   client bpf [OPTIONS] FN   ditto, by a BPF program, which also reports FN's address
 *   client bpf-multi [OPTIONS] FN FILE   ditto, attached by way of fprobe, while a number is
 *                             written to FILE so often; only the count is printed
 *   client churn FN SECONDS   open and close such events while others call FN
 *   client random FROM TO COUNT   open events at random addresses, and close them: how many
 *                             could be opened, and how often each error was returned
 *   client many COUNT FN      COUNT events on FN: how many were opened, and their sum
 *   client bpf-order [OPTIONS] FN COUNT   a BPF program on each of COUNT events on FN: the
 *                             numbers of the events, in the order in which one call runs them
 *   client pokes -a ADDRESS   text changes that perf records as an event comes and goes
 *   client crash-load KERNEL INITRD CMDLINE   load the kernel to boot after a panic
 *   client bad-write FILE     write what is in no memory to the file: the error
 *   client nomem NTH write FILE TEXT   the NTH allocation of the write fails
 *   client nomem NTH open FILE         ditto, as a file is opened for reading
 *   client nomem NTH unload MODULE     ditto, as a module is removed
 *
 * Options: -r probe the return; -o BYTES offset; -a FN is an address; -e ERR the
 * program makes FN return ERR; -n CALLS how often getsid() is called; -c CPU where,
 * by default on the CPU on which events count; -l attach the program by a BPF link; -p FILE
 * open the file so often instead, and once more.
 */
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/unistd.h>

static struct {
	const char *fn, *file;
	unsigned long offset, address;
	int on_return, error, calls, link;
} opt = { .calls = 100 };

static void die(const char *what)
{
	printf("%s: error %d\n", what, errno);
	exit(1);
}

static int call(void)
{
	int ret = opt.file ? open(opt.file, O_RDONLY) : syscall(__NR_getsid, 0);

	if (opt.file && ret >= 0)
		close(ret);
	return ret < 0 ? -errno : ret;
}

/* The first number in a file, after any other characters. */
static int number_in(const char *path)
{
	char buf[64] = "", *s = buf;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || read(fd, buf, sizeof(buf) - 1) <= 0)
		die(path);
	close(fd);
	while (*s && !isdigit(*s))
		s++;
	return atoi(s);
}

#define PMU "/sys/bus/event_source/devices/kprobe/"

/* Opens a perf event on the probe that the options describe; -1 on failure. */
static int open_event(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = number_in(PMU "type"),
		.kprobe_func = opt.address ? 0 : (unsigned long)opt.fn,
		.probe_offset = opt.address ? opt.address : opt.offset,
		.sample_period = 1,
	};

	if (opt.on_return)
		attr.config = 1ull << number_in(PMU "format/retprobe");
	/* Any process, on CPU 0, where main() stays. */
	return syscall(__NR_perf_event_open, &attr, -1, 0, -1, 0);
}

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

static int new_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = 16,
		.max_entries = 1,
	};
	int fd = bpf(BPF_MAP_CREATE, &attr);

	if (fd < 0)
		die("BPF_MAP_CREATE");
	return fd;
}

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define CALL(helper)	INSN(BPF_JMP | BPF_CALL, 0, 0, 0, (helper))
#define MOV(dst, src)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, (dst), (src), 0, 0)
#define SET(dst, imm)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, (dst), 0, 0, (imm))

/* r0 = &map[0] */
#define LOOK_UP(map)							\
	INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),			\
	INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, (map)),	\
	INSN(0, 0, 0, 0, 0),						\
	MOV(2, 10),							\
	INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4),			\
	CALL(BPF_FUNC_map_lookup_elem)

static int load_program(const struct bpf_insn *prog, int nr_insns, int attach_type)
{
	static char log[16384];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.expected_attach_type = attach_type,
		.insns = (unsigned long)prog,
		.insn_cnt = nr_insns,
		.license = (unsigned long)"GPL",
		.log_buf = (unsigned long)log,
		.log_size = sizeof(log),
		.log_level = 1,
	};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0) {
		printf("%s\n", log);
		die("BPF_PROG_LOAD");
	}
	return fd;
}

/* map[0] = { hits, address of the function }; FN returns opt.error unless it is 0. */
static int new_program(int map, int attach_type)
{
	struct bpf_insn prog[] = {
		MOV(6, 1),
		CALL(BPF_FUNC_get_func_ip),
		MOV(7, 0),
		LOOK_UP(map),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3, 0),
		SET(1, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 0, 7, 8, 0),
		/* Two insns, which return before the next two if there is no error. */
		SET(0, 0),
		opt.error ? SET(2, opt.error) : INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		MOV(1, 6),
		CALL(BPF_FUNC_override_return),
		SET(0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};

	/* The verifier rejects unreachable code. */
	return load_program(prog, opt.error ? sizeof(prog) / sizeof(prog[0]) : 15, attach_type);
}

/* map[0] = 10 * map[0] + @digit */
static int new_digit_program(int map, int digit)
{
	struct bpf_insn prog[] = {
		LOOK_UP(map),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 4, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MUL | BPF_K, 1, 0, 0, 10),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, digit),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 0, 1, 0, 0),
		SET(0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};

	return load_program(prog, sizeof(prog) / sizeof(prog[0]), 0);
}

/* Calls getsid() opt.calls times. */
static int calls(void)
{
	int ret = 0, i;

	for (i = 0; i < opt.calls; i++)
		ret = call();
	return ret;
}

/* What the file says while the event is there. */
static void print_file(void)
{
	static char buf[4096];
	int fd = open(opt.file, O_RDONLY), len;

	if (fd < 0)
		die(opt.file);
	while ((len = read(fd, buf, sizeof(buf) - 1)) > 0) {
		buf[len] = '\0';
		printf("%s", buf);
	}
	close(fd);
}

static void perf(void)
{
	unsigned long long count = 0;
	int fd = open_event();

	if (fd < 0)
		die("perf_event_open");
	calls();
	if (opt.file)
		print_file();
	if (read(fd, &count, sizeof(count)) != sizeof(count))
		die("read");
	close(fd);
	/* These must not be counted any more. */
	calls();
	printf("%lu\n", (unsigned long)count);
}

/* A link lasts as long as this process. */
static void attach(int prog, int event)
{
	union bpf_attr link = {
		.link_create = {
			.prog_fd = prog,
			.target_fd = event,
			.attach_type = BPF_PERF_EVENT,
		},
	};

	if (opt.link) {
		if (bpf(BPF_LINK_CREATE, &link) < 0)
			die("BPF_LINK_CREATE");
	} else if (syscall(__NR_ioctl, event, PERF_EVENT_IOC_SET_BPF, prog)) {
		die("PERF_EVENT_IOC_SET_BPF");
	}
}

static void with_bpf(void)
{
	unsigned long long value[2];
	int map = new_map(), prog = new_program(map, 0), fd = open_event(), ret, key = 0;
	union bpf_attr attr = {
		.map_fd = map,
		.key = (unsigned long)&key,
		.value = (unsigned long)value,
	};

	if (fd < 0)
		die("perf_event_open");
	attach(prog, fd);
	ret = calls();
	close(fd);
	if (bpf(BPF_MAP_LOOKUP_ELEM, &attr))
		die("BPF_MAP_LOOKUP_ELEM");
	printf("%lu %lx %d\n", (unsigned long)value[0], (unsigned long)value[1], ret);
}

static void with_bpf_multi(const char *path)
{
	unsigned long long value[2];
	int map = new_map(), prog = new_program(map, BPF_TRACE_KPROBE_MULTI), fd, key = 0, i;
	union bpf_attr link = {
		.link_create = {
			.prog_fd = prog,
			.attach_type = BPF_TRACE_KPROBE_MULTI,
			.kprobe_multi = {
				.flags = opt.on_return ? BPF_F_KPROBE_MULTI_RETURN : 0,
				.cnt = 1,
				.syms = (unsigned long)&opt.fn,
			},
		},
	};
	union bpf_attr lookup = {
		.map_fd = map,
		.key = (unsigned long)&key,
		.value = (unsigned long)value,
	};

	fd = open(path, O_WRONLY);
	if (fd < 0)
		die(path);
	if (bpf(BPF_LINK_CREATE, &link) < 0)
		die("BPF_LINK_CREATE");
	for (i = 0; i < opt.calls; i++) {
		if (write(fd, "9", 1) != 1)
			die("write");
	}
	if (bpf(BPF_MAP_LOOKUP_ELEM, &lookup))
		die("BPF_MAP_LOOKUP_ELEM");
	printf("%lu\n", (unsigned long)value[0]);
}

/* Probes come and go while another process calls FN. */
static void churn(const char *seconds)
{
	struct timeval now = {}, end = {};
	unsigned long rounds = 0;
	int fd;

	gettimeofday(&end, NULL);
	end.tv_sec += atoi(seconds);
	do {
		opt.on_return = rounds++ & 1;
		fd = open_event();
		if (fd < 0)
			die("perf_event_open");
		calls();
		close(fd);
		gettimeofday(&now, NULL);
	} while (now.tv_sec < end.tv_sec);
	printf("%lu\n", rounds);
}

#define RING_PAGES	16

/* Prints the records of this CPU, which registers and unregisters. */
static void print_pokes(struct perf_event_mmap_page *ring)
{
	char *data = (char *)ring + ring->data_offset, *end = data + ring->data_head;
	struct perf_event_header *h;

	for (; data < end; data += h->size) {
		struct ksymbol {
			struct perf_event_header h;
			unsigned long long addr;
			unsigned int len;
			unsigned short type, flags;
			char name[];
		} *k = (void *)data;
		struct poke {
			struct perf_event_header h;
			unsigned long long addr;
			unsigned short old, new;
			unsigned char bytes[];
		} *p = (void *)data;

		h = (void *)data;
		if (h->type == PERF_RECORD_KSYMBOL)
			printf("ksymbol %s %d\n", k->name, k->flags);
		else if (h->type != PERF_RECORD_TEXT_POKE)
			continue;
		else if (p->addr == opt.address)
			printf("site %x>%x\n", p->bytes[0], p->bytes[p->old]);
		else if (!p->old || !p->new)
			printf("slot %d>%d\n", !!p->old, !!p->new);
	}
}

static void pokes(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.ksymbol = 1,
		.text_poke = 1,
	};
	int fd = syscall(__NR_perf_event_open, &attr, -1, 0, -1, 0), probe;
	void *ring;

	if (fd < 0)
		die("perf_event_open");
	ring = mmap(NULL, (1 + RING_PAGES) * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	if (ring == MAP_FAILED)
		die("mmap");
	probe = open_event();
	if (probe < 0)
		die("perf_event_open");
	calls();
	close(probe);
	print_pokes(ring);
}

/* Always the same addresses of a kernel. */
static void at_random(const char *from, const char *to, const char *count)
{
	unsigned long start = strtoul(from, NULL, 16), size = strtoul(to, NULL, 16) - start;
	unsigned long long state = 45;
	int opened = 0, errors[200] = {}, nr, i;

	for (nr = atoi(count); nr > 0; nr--) {
		int fd;

		state = state * 6364136223846793005ull + 1442695040888963407ull;
		opt.address = start + (state >> 33) % size;
		fd = open_event();
		if (fd >= 0)
			opened++;
		else if (errno < 200)
			errors[errno]++;
		if (fd >= 0)
			close(fd);
	}
	printf("opened %d\n", opened);
	for (i = 0; i < 200; i++) {
		if (errors[i])
			printf("error %d: %d\n", i, errors[i]);
	}
}

#define MANY	100

static void many(const char *count)
{
	unsigned long long hits, sum = 0;
	int fds[MANY], nr = 0, wanted = atoi(count), i;

	while (nr < wanted && nr < MANY) {
		fds[nr] = open_event();
		if (fds[nr] < 0)
			break;
		nr++;
	}
	calls();
	for (i = 0; i < nr; i++) {
		if (read(fds[i], &hits, sizeof(hits)) == sizeof(hits))
			sum += hits;
		close(fds[i]);
	}
	printf("%d %lu\n", nr, (unsigned long)sum);
}

static void bpf_order(const char *count)
{
	int map = new_map(), key = 0, digit;
	unsigned long long value[2];
	union bpf_attr attr = {
		.map_fd = map,
		.key = (unsigned long)&key,
		.value = (unsigned long)value,
	};

	for (digit = 1; digit <= atoi(count); digit++) {
		int event = open_event();

		if (event < 0)
			die("perf_event_open");
		attach(new_digit_program(map, digit), event);
	}
	call();
	if (bpf(BPF_MAP_LOOKUP_ELEM, &attr))
		die("BPF_MAP_LOOKUP_ELEM");
	printf("%lu\n", (unsigned long)value[0]);
}

static void bad_write(const char *path)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0)
		die(path);
	printf("%d\n", write(fd, (void *)16, 8) < 0 ? errno : 0);
}

#define KEXEC_FILE_ON_CRASH	2

static void crash_load(const char *kernel, const char *initrd, const char *cmdline)
{
	int kernel_fd = open(kernel, O_RDONLY), initrd_fd = open(initrd, O_RDONLY);
	long len = strlen(cmdline) + 1;

	/* Not nested in another syscall(): both would use the same registers. */
	if (syscall(__NR_kexec_file_load, kernel_fd, initrd_fd, len, cmdline,
		    KEXEC_FILE_ON_CRASH))
		die("kexec_file_load");
}

/* All other files are opened first, as that allocates memory, too. */
static void nomem(const char *nth, const char *what, const char *arg, const char *text)
{
	int set = open("/proc/self/fail-nth", O_WRONLY), get = open("/proc/self/fail-nth", O_RDONLY);
	int file = text ? open(arg, O_WRONLY) : -1, ret, err;
	char left[16] = "";

	if (set < 0 || get < 0 || (text && file < 0))
		die("open");
	if (write(set, nth, strlen(nth)) < 0)
		die("fail-nth");
	if (text)
		ret = write(file, text, strlen(text));
	else if (!strcmp(what, "open"))
		ret = open(arg, O_RDONLY);
	else
		ret = syscall(__NR_delete_module, arg, O_NONBLOCK);
	err = ret < 0 ? errno : 0;
	/* How many allocations are left until the failure; 0 if it has happened. */
	if (read(get, left, sizeof(left) - 1) <= 0 || write(set, "0", 1) < 0)
		die("fail-nth");
	printf("error=%d failed=%d\n", err, !atoi(left));
}

int main(int argc, char **argv)
{
	unsigned long cpu = 0;
	int i;

	for (i = 2; i < argc && argv[i][0] == '-'; i++) {
		switch (argv[i][1]) {
		case 'r':
			opt.on_return = 1;
			break;
		case 'l':
			opt.link = 1;
			break;
		case 'a':
			opt.address = 1;
			break;
		case 'o':
			opt.offset = atol(argv[++i]);
			break;
		case 'e':
			opt.error = atoi(argv[++i]);
			break;
		case 'n':
			opt.calls = atoi(argv[++i]);
			break;
		case 'c':
			cpu = atol(argv[++i]);
			break;
		case 'p':
			opt.file = argv[++i];
			break;
		}
	}
	cpu = 1ul << cpu;
	syscall(__NR_sched_setaffinity, 0, sizeof(cpu), &cpu);
	opt.fn = i < argc ? argv[i] : NULL;
	if (opt.address)
		opt.address = strtoul(opt.fn, NULL, 16) + opt.offset;

	if (argc > 1 && !strcmp(argv[1], "call"))
		printf("%d\n", call());
	else if (argc > 2 && !strcmp(argv[1], "perf"))
		perf();
	else if (argc > 2 && !strcmp(argv[1], "bpf"))
		with_bpf();
	else if (argc > 3 && !strcmp(argv[1], "bpf-multi"))
		with_bpf_multi(argv[argc - 1]);
	else if (argc == 4 && !strcmp(argv[1], "churn"))
		churn(argv[3]);
	else if (argc > 2 && !strcmp(argv[1], "pokes"))
		pokes();
	else if (argc == 5 && !strcmp(argv[1], "random"))
		at_random(argv[2], argv[3], argv[4]);
	else if (argc == 4 && !strcmp(argv[1], "many")) {
		opt.fn = argv[3];
		many(argv[2]);
	} else if (argc > 3 && !strcmp(argv[1], "bpf-order"))
		bpf_order(argv[argc - 1]);
	else if (argc == 3 && !strcmp(argv[1], "bad-write"))
		bad_write(argv[2]);
	else if (argc == 5 && !strcmp(argv[1], "crash-load"))
		crash_load(argv[2], argv[3], argv[4]);
	else if (argc == 6 && !strcmp(argv[1], "nomem") && !strcmp(argv[3], "write"))
		nomem(argv[2], argv[3], argv[4], argv[5]);
	else if (argc == 5 && !strcmp(argv[1], "nomem") &&
		 (!strcmp(argv[3], "open") || !strcmp(argv[3], "unload")))
		nomem(argv[2], argv[3], argv[4], NULL);
	else
		return 2;
	return 0;
}
