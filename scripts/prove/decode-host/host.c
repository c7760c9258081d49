// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host program of scripts/prove/decode-check: passes the instructions of all opcode maps to the
 * kernel's decode.c and insn.c, which are included.
 *
 *	host [all]
 *
 * For each instruction that they accept, 17 bytes go to standard output: its length, and the
 * instruction with a NOP that fills the rest. counts goes to standard error.
 */
#include <decode.c>
#include <insn.c>
#include <kernel/arch/x86/lib/inat.c>
#include <kernel/arch/x86/lib/insn.c>

/*
 * This is linked without a library, as a 64-bit machine may have none for 32-bit programs.
 */

#ifdef __x86_64__
#define SYSTEM_CALL	"syscall"
#define REGISTERS	"D" (a), "S" (b), "d" (c) : "rcx", "r11", "memory"
#define NR_WRITE	1
#define NR_EXIT		60
asm(".globl _start; _start: mov %rsp, %rdi; and $-16, %rsp; call start; hlt");
#else
#define SYSTEM_CALL	"int $0x80"
#define REGISTERS	"b" (a), "c" (b), "d" (c) : "memory"
#define NR_WRITE	4
#define NR_EXIT		1
asm(".globl _start; _start: mov %esp, %eax; and $-16, %esp; sub $12, %esp; push %eax; "
    "call start; hlt");
#endif

static long syscall3(long nr, long a, long b, long c)
{
	long ret;

	asm volatile(SYSTEM_CALL : "=a" (ret) : "0" (nr), REGISTERS);
	return ret;
}

/* The compiler may call these. */
#undef memset
#undef memcpy
void *memset(void *to, int c, unsigned long n);
void *memcpy(void *to, const void *from, unsigned long n);

void *memset(void *to, int c, unsigned long n)
{
	void *p = to;

	asm volatile("rep stosb" : "+D" (p), "+c" (n) : "a" (c) : "memory");
	return to;
}

void *memcpy(void *to, const void *from, unsigned long n)
{
	void *p = to;

	asm volatile("rep movsb" : "+D" (p), "+S" (from), "+c" (n) : : "memory");
	return to;
}

static u8 out[17 << 12];
static unsigned int used;

static void out_flush(int fd)
{
	unsigned int done = 0;
	long n;

	for (; done < used; done += n) {
		n = syscall3(NR_WRITE, fd, (long)(out + done), used - done);
		if (n <= 0)
			syscall3(NR_EXIT, 2, 0, 0);
	}
	used = 0;
}

static void out_put(const void *data, unsigned int size)
{
	if (used + size > sizeof(out))
		out_flush(1);
	memcpy(out + used, data, size);
	used += size;
}

/*
 * Decoding one instruction.
 */

#define RECORD		16
#define OPERANDS	0x90

static struct {
	unsigned int	tried, accepted, undecoded, refused;
} counts;

/* The bytes of one NOP of 1 to 15 bytes. */
static void put_nop(u8 *to, unsigned int len)
{
	static const u8 nops[][9] = {
		{ 0x90 }, { 0x66, 0x90 }, { 0x0f, 0x1f, 0x00 }, { 0x0f, 0x1f, 0x40 },
		{ 0x0f, 0x1f, 0x44 }, { 0x66, 0x0f, 0x1f, 0x44 }, { 0x0f, 0x1f, 0x80 },
		{ 0x0f, 0x1f, 0x84 }, { 0x66, 0x0f, 0x1f, 0x84 },
	};

	for (; len > 9; len--)
		*to++ = 0x66;
	if (len)
		memcpy(to, nops[len - 1], len);
}

static void ask(const u8 *head, unsigned int size)
{
	struct arch_specific_insn a;
	u8 record[RECORD + 8];
	struct kprobe_insn ki;

	counts.tried++;
	memset(record, OPERANDS, sizeof(record));
	memcpy(record, head, size);
	memcpy(ki.bytes, record, sizeof(ki.bytes));
	if (kprobe_decode(&ki, sizeof(ki.bytes))) {
		counts.undecoded++;
		return;
	}

	if (kprobe_classify(&ki, (unsigned long)record, &a)) {
		counts.refused++;
		return;
	}

	counts.accepted++;
	put_nop(record + a.len, RECORD - a.len);
	out_put(&a.len, 1);
	out_put(record, RECORD);
}

/*
 * Enumeration of instructions.
 */

static bool all;

struct bytes {
	unsigned int	n;
	u8		b[14];
};

static void put(struct bytes *to, u8 byte)
{
	to->b[to->n++] = byte;
}

static void ask_with_sib(struct bytes head, u8 modrm)
{
	/* With and without base and index, and a special base without index. */
	static const u8 sibs[] = { 0x01, 0x0d, 0x24, 0x25, 0xe4 };
	unsigned int i;

	put(&head, modrm);
	if ((modrm & 7) != 4 || modrm >= 0xc0) {
		ask(head.b, head.n);
		return;
	}
	for (i = 0; i < sizeof(sibs); i++) {
		struct bytes with = head;

		if (!all && (i & 1))
			continue;
		put(&with, sibs[i]);
		ask(with.b, with.n);
	}
	put(&head, 0x0d);
	ask(head.b, head.n);
}

/* How many of the 256 ModRM bytes are tried after an opcode. */
enum extent { FEW, MANY, EVERY };

/* In 16-bit addresses, rm 6 means what 5 does elsewhere. */
static bool wanted(unsigned int modrm, enum extent extent)
{
	unsigned int mod = modrm >> 6, reg = modrm >> 3 & 7, rm = modrm & 7;

	if (extent == EVERY || (rm == 1 && (mod == 0 || mod == 3)))
		return true;
	if (extent == FEW && reg != 2)
		return false;
	return mod == 3 ? rm <= 1 : rm == 1 || (rm >= 4 && rm <= 6);
}

static void ask_map(const struct bytes *head, enum extent extent)
{
	unsigned int opcode, modrm;

	for (opcode = 0; opcode < 256; opcode++) {
		struct bytes with = *head;

		put(&with, opcode);
		for (modrm = 0; modrm < 256; modrm++) {
			if (wanted(modrm, extent))
				ask_with_sib(with, modrm);
		}
	}
}

/* All maps of one-, two- and three-byte opcodes. */
static void ask_legacy(struct bytes head, enum extent extent)
{
	ask_map(&head, extent);
	put(&head, 0x0f);
	ask_map(&head, extent);
	put(&head, 0x38);
	ask_map(&head, extent);
	head.b[head.n - 1] = 0x3a;
	ask_map(&head, extent);
}

#ifdef CONFIG_X86_64
#define REX_PREFIXES								\
	{ 1, { 0x48 } }, { 1, { 0x41 } }, { 1, { 0x4f } }, { 2, { 0x66, 0x48 } },	\
	{ 2, { 0xf2, 0x48 } }, { 2, { 0xf3, 0x48 } }, { 2, { 0x67, 0x48 } },	\
	{ 2, { 0x48, 0x66 } }, { 2, { 0x40, 0xf3 } },				\
	{ 3, { 0x66, 0xf2, 0x48 } }, { 3, { 0x66, 0xf3, 0x4f } },
#else
#define REX_PREFIXES
#endif

static void ask_prefixes(void)
{
	static const struct bytes prefixes[] = {
		{ 0 }, { 1, { 0x66 } }, { 1, { 0xf2 } }, { 1, { 0xf3 } },
		{ 1, { 0xf0 } }, { 1, { 0x67 } }, { 1, { 0x2e } }, { 1, { 0x65 } },
		{ 2, { 0x66, 0x67 } }, { 2, { 0x67, 0x66 } },
		{ 2, { 0x66, 0xf2 } }, { 2, { 0x66, 0xf3 } },
		{ 2, { 0xf2, 0x66 } }, { 2, { 0xf3, 0x66 } },
		{ 2, { 0xf2, 0xf3 } }, { 2, { 0xf3, 0xf2 } },
		{ 4, { 0x2e, 0x66, 0x67, 0xf3 } }, { 4, { 0x3e, 0xf2, 0x66, 0xf0 } },
		REX_PREFIXES
	};
	unsigned int i;

	for (i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		ask_legacy(prefixes[i], all || !i ? EVERY : FEW);
}

/*
 * The last byte has W, vvvv, L and pp. vvvv is tried with all ones and with another
 * value; its top bit is 1 in 32-bit mode.
 */
static void ask_vex(void)
{
	static const struct bytes before[] = { { 0 }, { 1, { 0x67 } }, { 1, { 0x65 } } };
	unsigned int b, map, last;

	for (b = 0; b < (all ? sizeof(before) / sizeof(*before) : 1); b++) {
		for (last = 0; last < 8; last++) {
			struct bytes head = before[b];

			put(&head, 0xc5);
			put(&head, 0xf8 | last);
			ask_map(&head, all ? MANY : FEW);
			head.b[head.n - 1] = 0xe8 | last;
			ask_map(&head, FEW);
		}
		for (map = 0; map < 32; map++) {
			for (last = 0; last < 16; last++) {
				struct bytes head = before[b];

				put(&head, 0xc4);
				put(&head, 0xe0 | map);
				put(&head, 0x78 | (last & 7) | (last & 8) << 4);
				if (all || (map >= 1 && map <= 3))
					ask_map(&head, all && map <= 3 ? MANY : FEW);
				head.b[head.n - 1] &= ~0x10;
				if (all)
					ask_map(&head, FEW);
			}
		}
	}
}

/* The last byte but one has W, vvvv and pp, the last has z, LL, b and aaa. */
static void ask_evex(void)
{
	unsigned int map, second, third;

	for (map = 0; map < 8; map++) {
		for (second = 0; second < 8; second++) {
			for (third = 0; third < 32; third++) {
				struct bytes head = { 0 };

				if (!all && third)
					continue;
				put(&head, 0x62);
				put(&head, 0xf0 | map);
				put(&head, 0x7c | (second & 3) | (second & 4) << 5);
				put(&head, 0x48 ^ ((third & 1) | (third & 0x1e) << 3));
				ask_map(&head, FEW);
				head.b[2] &= ~0x10;
				if (all)
					ask_map(&head, FEW);
			}
		}
	}
}

__attribute__((used)) static void start(unsigned long *stack)
{
	all = stack[0] > 1;
	ask_prefixes();
	ask_vex();
	ask_evex();
	out_flush(1);

	out_put(&counts, sizeof(counts));
	out_flush(2);
	syscall3(NR_EXIT, 0, 0, 0);
}
