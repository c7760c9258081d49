// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of how instructions are classified and copied.
 */

#include "suite.h"

#include <linux/unaligned.h>

#include "../common.h"

#define BITS_32		1
#define BITS_64		2
#define BITS_ANY	(BITS_32 | BITS_64)
#define BITS_HERE	(IS_ENABLED(CONFIG_X86_64) ? BITS_64 : BITS_32)

#define MAX_BYTES	16

/**
 * struct row - an instruction and what is to become of it
 * @name: its assembly
 * @bits: in which kernels
 * @why: it is refused
 * @op: otherwise, what is done
 * @stays: it must not be boosted
 * @sub: expected, if @check
 * @width: expected, if @check
 * @check: compare these two
 * @bytes: the instruction, and what follows if that matters
 */
struct row {
	const char	*name;
	u8		bits;
	u8		why;
	u8		op;
	bool		stays;
	u8		sub;
	u8		width;
	bool		check;
	u8		bytes[MAX_BYTES];
};

#define REFUSE(b, reason, text, ...) \
	{ .name = text, .bits = b, .why = KPROBE_REFUSAL_##reason, .bytes = { __VA_ARGS__ } }
#define STEP(b, text, ...) \
	{ .name = text, .bits = b, .op = KPROBE_OP_STEP, .bytes = { __VA_ARGS__ } }
#define FAST(b, o, text, ...) \
	{ .name = text, .bits = b, .op = KPROBE_OP_##o, .bytes = { __VA_ARGS__ } }
#define ONLY(b, o, text, ...) \
	{ .name = text, .bits = b, .op = KPROBE_OP_##o, .stays = true,	\
	  .bytes = { __VA_ARGS__ } }
#define EXACT(b, o, st, s, w, text, ...) \
	{ .name = text, .bits = b, .op = KPROBE_OP_##o, .stays = st,	\
	  .sub = s, .width = w, .check = true, .bytes = { __VA_ARGS__ } }

static const struct row rows[] = {
	/* Undefined instructions. */
	REFUSE(BITS_ANY, TRAP, "int3", 0xcc),
	REFUSE(BITS_ANY, TRAP, "int $0x80", 0xcd, 0x80),
	REFUSE(BITS_ANY, TRAP, "int1", 0xf1),
	REFUSE(BITS_32, TRAP, "into", 0xce),
	REFUSE(BITS_ANY, TRAP, "ud2", 0x0f, 0x0b),
	REFUSE(BITS_ANY, TRAP, "ud1", 0x0f, 0xb9, 0xc0),
	REFUSE(BITS_ANY, UNDECODED, "ud0", 0x0f, 0xff, 0xc0),
	REFUSE(BITS_64, INVALID, "(push %es)", 0x06),
	REFUSE(BITS_64, INVALID, "(daa)", 0x27),

	/* The base's decoder does not know their length. */
	REFUSE(BITS_ANY, UNDECODED, "(nop, 0f 19)", 0x0f, 0x19, 0xc0),
	REFUSE(BITS_ANY, UNDECODED, "(nop, 0f 1d)", 0x0f, 0x1d, 0x00),
	REFUSE(BITS_ANY, UNDECODED, "(nop, 66 0f 19)", 0x66, 0x0f, 0x19, 0xc0),
	REFUSE(BITS_ANY, UNDECODED, "repnz cmovo", 0xf2, 0x0f, 0x41, 0xc8),
	REFUSE(BITS_ANY, UNDECODED, "repz cmove", 0xf3, 0x0f, 0x44, 0xc8),
	REFUSE(BITS_ANY, UNDECODED, "repnz seto", 0xf2, 0x0f, 0x90, 0xc0),
	REFUSE(BITS_ANY, UNDECODED, "repz setns", 0xf3, 0x0f, 0x99, 0xc0),
	REFUSE(BITS_ANY, UNDECODED, "movntsd", 0xf2, 0x0f, 0x2b, 0x00),
	REFUSE(BITS_ANY, UNDECODED, "movntss", 0xf3, 0x0f, 0x2b, 0x00),
	REFUSE(BITS_ANY, UNDECODED, "repz pmovmskb", 0xf3, 0x0f, 0xd7, 0xc0),
	REFUSE(BITS_ANY, UNDECODED, "(pop, reg 1)", 0x8f, 0x08),
	REFUSE(BITS_ANY, INVALID, "(push, ff /7)", 0xff, 0xf8),
	REFUSE(BITS_ANY, UNDECODED, "mov %cr0,%esp (mod 0)", 0x0f, 0x20, 0x04),
	REFUSE(BITS_ANY, UNDECODED, "mov %dr0,%eax (mod 1)", 0x0f, 0x21, 0x40),
	REFUSE(BITS_ANY, UNDECODED, "mov %eax,%cr4 (mod 2)", 0x0f, 0x22, 0xa0),
	REFUSE(BITS_ANY, UNDECODED, "mov %esp,%dr0 (mod 0)", 0x0f, 0x23, 0x04),
	REFUSE(BITS_ANY, UNDECODED, "nop, five prefixes", 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x90),
	REFUSE(BITS_64, UNDECODED, "nop, prefix after rex", 0x48, 0x66, 0x90),
	REFUSE(BITS_64, UNDECODED, "nop, rex after rex", 0x40, 0x48, 0x90),
	REFUSE(BITS_64, UNDECODED, "callw", 0x66, 0xe8, 0, 0, 0, 0),
	REFUSE(BITS_64, UNDECODED, "jmpw", 0x66, 0xe9, 0, 0, 0, 0),
	REFUSE(BITS_64, UNDECODED, "jew near", 0x66, 0x0f, 0x84, 0, 0, 0, 0),
	REFUSE(BITS_ANY, UNDECODED, "insertq", 0xf2, 0x0f, 0x78, 0xc1, 1, 2),
	REFUSE(BITS_ANY, UNDECODED, "nop (0f 19)", 0x0f, 0x19, 0x40, 8),
	REFUSE(BITS_ANY, UNDECODED, "nop (0f 1d)", 0x0f, 0x1d, 0x40, 8),
	REFUSE(BITS_ANY, UNDECODED, "repnz cmovne (%eax),%eax", 0xf2, 0x0f, 0x45, 0x00),
	REFUSE(BITS_ANY, UNDECODED, "repnz seto (%eax)", 0xf2, 0x0f, 0x90, 0x00),
	REFUSE(BITS_ANY, UNDECODED, "movntsd %xmm0,(%eax)", 0xf2, 0x0f, 0x2b, 0x00),
	REFUSE(BITS_ANY, UNDECODED, "mov %cr2,%eax (mod 2)", 0x0f, 0x20, 0x90, 0, 0, 0, 0),
	REFUSE(BITS_ANY, UNDECODED, "mov %eax,%db2 (mod 0)", 0x0f, 0x23, 0x10),
	REFUSE(BITS_ANY, UNDECODED, "punpcklqdq, 66 before 67", 0x66, 0x67, 0x0f, 0x6c, 0x00),
	REFUSE(BITS_ANY, UNDECODED, "psrldq, 66 before 67", 0x66, 0x67, 0x0f, 0x73, 0xd8, 4),
	REFUSE(BITS_ANY, UNDECODED, "extrq, 66 before 67", 0x66, 0x67, 0x0f, 0x78, 0xc0, 1, 2),
	REFUSE(BITS_ANY, UNDECODED, "ptest, 66 before 67", 0x66, 0x67, 0x0f, 0x38, 0x17, 0x00),
	REFUSE(BITS_ANY, UNDECODED, "pblendw, 66 before 67", 0x66, 0x67, 0x0f, 0x3a, 0x0e, 0x00, 1),
	REFUSE(BITS_64, UNDECODED, "rex before cs", 0x48, 0x2e, 0x89, 0xc0),
	REFUSE(BITS_64, UNDECODED, "rex before rex", 0x48, 0x41, 0x89, 0xc0),
	REFUSE(BITS_ANY, UNDECODED, "five prefixes", 0x2e, 0x66, 0x67, 0xf3, 0x26, 0x90),

	/* They have to run in place, or not with interrupts off. */
	REFUSE(BITS_ANY, SLEEP, "hlt", 0xf4),
	REFUSE(BITS_ANY, SLEEP, "sti before hlt", 0xfb, 0xf4),
	REFUSE(BITS_ANY, SLEEP, "sti before mwait", 0xfb, 0x0f, 0x01, 0xc9),
	REFUSE(BITS_ANY, SLEEP, "sti before mwaitx", 0xfb, 0x0f, 0x01, 0xfb),
	REFUSE(BITS_ANY, SLEEP, "mwait", 0x0f, 0x01, 0xc9),
	REFUSE(BITS_ANY, SLEEP, "mwaitx", 0x0f, 0x01, 0xfb),
	REFUSE(BITS_ANY, SLEEP, "umwait", 0xf2, 0x0f, 0xae, 0xf0),
	REFUSE(BITS_ANY, SLEEP, "tpause", 0x66, 0x0f, 0xae, 0xf1),
	REFUSE(BITS_ANY, SEGMENT, "mov %eax,%ss", 0x8e, 0xd0),
	REFUSE(BITS_64, SEGMENT, "mov %eax,%gs", 0x8e, 0xe8),
	REFUSE(BITS_32, SEGMENT, "mov %eax,%fs", 0x8e, 0xe0),
	REFUSE(BITS_32, SEGMENT, "pop %ss", 0x17),
	REFUSE(BITS_64, SEGMENT, "pop %gs", 0x0f, 0xa9),
	REFUSE(BITS_32, SEGMENT, "pop %fs", 0x0f, 0xa1),
	REFUSE(BITS_ANY, SEGMENT, "lss", 0x0f, 0xb2, 0x00),
	REFUSE(BITS_64, SEGMENT, "lgs", 0x0f, 0xb5, 0x00),
	REFUSE(BITS_64, SEGMENT, "swapgs", 0x0f, 0x01, 0xf8),
	REFUSE(BITS_64, SEGMENT, "wrgsbase %rax", 0xf3, 0x48, 0x0f, 0xae, 0xd8),
	REFUSE(BITS_ANY, TABLE, "lgdt", 0x0f, 0x01, 0x10),
	REFUSE(BITS_ANY, TABLE, "lidt", 0x0f, 0x01, 0x18),
	REFUSE(BITS_ANY, CONTROL, "lmsw %ax", 0x0f, 0x01, 0xf0),
	REFUSE(BITS_ANY, CONTROL, "lmsw (%eax)", 0x0f, 0x01, 0x30),
	REFUSE(BITS_ANY, TABLE, "lldt %ax", 0x0f, 0x00, 0xd0),
	REFUSE(BITS_ANY, TABLE, "ltr %ax", 0x0f, 0x00, 0xd8),
	REFUSE(BITS_ANY, CONTROL, "mov %eax,%cr0", 0x0f, 0x22, 0xc0),
	REFUSE(BITS_ANY, CONTROL, "mov %eax,%cr3", 0x0f, 0x22, 0xd8),
	REFUSE(BITS_ANY, GUEST, "vmlaunch", 0x0f, 0x01, 0xc2),
	REFUSE(BITS_ANY, GUEST, "vmrun", 0x0f, 0x01, 0xd8),
	REFUSE(BITS_ANY, HYPERVISOR, "Xen prefix", 0x0f, 0x0b, 0x78, 0x65, 0x6e, 0x0f, 0xa2),
	REFUSE(BITS_64, REACH, "mov 8(%eip),%eax", 0x67, 0x8b, 0x05, 8, 0, 0, 0),

	/* Control transfers that are not emulated. */
	REFUSE(BITS_ANY, FAR, "iret", 0xcf),
	REFUSE(BITS_ANY, FAR, "lret", 0xcb),
	REFUSE(BITS_ANY, FAR, "lret $8", 0xca, 8, 0),
	REFUSE(BITS_ANY, FAR, "lcall *(%eax)", 0xff, 0x18),
	REFUSE(BITS_ANY, FAR, "ljmp *(%eax)", 0xff, 0x28),
	REFUSE(BITS_32, FAR, "lcall", 0x9a, 0, 0, 0, 0, 0x10, 0),
	REFUSE(BITS_ANY, FAR, "syscall", 0x0f, 0x05),
	REFUSE(BITS_ANY, FAR, "sysret", 0x0f, 0x07),
	REFUSE(BITS_ANY, FAR, "sysexit", 0x0f, 0x35),
	REFUSE(BITS_ANY, FAR, "rsm", 0x0f, 0xaa),
	REFUSE(BITS_ANY, TRANSACTION, "xbegin", 0xc7, 0xf8, 0, 0, 0, 0),
	REFUSE(BITS_ANY, TRANSACTION, "xabort", 0xc6, 0xf8, 0),
	REFUSE(BITS_64, FAR, "eretu", 0xf3, 0x0f, 0x01, 0xca),
	REFUSE(BITS_64, FAR, "erets", 0xf2, 0x0f, 0x01, 0xca),
	REFUSE(BITS_32, ENCODING, "callw", 0x66, 0xe8, 0, 0),
	REFUSE(BITS_64, ENCODING, "rex2", 0xd5, 0x08, 0x01, 0xc0),
	REFUSE(BITS_ANY, ENCODING, "jew", 0x66, 0x74, 0),
	REFUSE(BITS_ANY, ENCODING, "retw", 0x66, 0xc3),
	REFUSE(BITS_ANY, ENCODING, "callw *%ax", 0x66, 0xff, 0xd0),

	/*
	 * AVX opcodes that differ from the branches and flag operations they resemble.
	 */
	STEP(BITS_64, "vpsubd", 0xc5, 0xf9, 0xfa, 0xc0),
	STEP(BITS_64, "vpsubq", 0xc5, 0xf9, 0xfb, 0xc0),
	STEP(BITS_64, "vpor", 0xc5, 0xf9, 0xeb, 0xc0),
	STEP(BITS_64, "vpsubsb", 0xc5, 0xf9, 0xe8, 0xc0),
	STEP(BITS_64, "vcmpeqps", 0xc5, 0xf8, 0xc2, 0xc0, 0),
	STEP(BITS_64, "vpshufd", 0xc5, 0xf9, 0x70, 0xc0, 0),
	STEP(BITS_64, "vpavgb", 0xc5, 0xf9, 0xe0, 0xc0),
	STEP(BITS_64, "vpmulhuw", 0xc5, 0xf9, 0xe4, 0xc0),
	STEP(BITS_64, "vmovdqu32 (EVEX)", 0x62, 0xf1, 0x7e, 0x48, 0x6f, 0xc0),

	/* Relatives of those with unknown length. */
	STEP(BITS_ANY, "nop (0f 1c)", 0x0f, 0x1c, 0xc0),
	STEP(BITS_ANY, "cmov %ax", 0x66, 0x0f, 0x44, 0xc8),
	STEP(BITS_ANY, "sete", 0x0f, 0x94, 0xc0),
	STEP(BITS_ANY, "movntps", 0x0f, 0x2b, 0x00),
	STEP(BITS_ANY, "movntpd", 0x66, 0x0f, 0x2b, 0x00),
	STEP(BITS_ANY, "pop (%eax)", 0x8f, 0x00),
	STEP(BITS_ANY, "mov %dr0,%eax", 0x0f, 0x21, 0xc0),
	STEP(BITS_ANY, "bswap %eax", 0x0f, 0xc8),
	STEP(BITS_ANY, "pshufb", 0x0f, 0x38, 0x00, 0xc0),
	STEP(BITS_ANY, "palignr", 0x0f, 0x3a, 0x0f, 0xc0, 0),
	STEP(BITS_ANY, "four prefixes", 0x2e, 0x36, 0x3e, 0x64, 0x01, 0x00),
	/* EVEX, which the emulator does not support; displacements are scaled. */
	STEP(BITS_64, "vaddps %zmm1,%zmm2,%zmm3{%k1}", 0x62, 0xf1, 0x6c, 0x49, 0x58, 0xd9),
	STEP(BITS_64, "vmovups 0x40(%rbx),%zmm1", 0x62, 0xf1, 0x7c, 0x48, 0x10, 0x4b, 1),
	STEP(BITS_64, "vpternlogd", 0x62, 0xf3, 0x6d, 0x48, 0x25, 0xd9, 0xca),
	STEP(BITS_64, "vaddph (map 5)", 0x62, 0xf5, 0x6c, 0x48, 0x58, 0xd9),
	STEP(BITS_64, "vfmadd213ph (map 6)", 0x62, 0xf6, 0x6d, 0x48, 0xa8, 0xd9),
	STEP(BITS_64, "vgatherdps (VSIB)", 0xc4, 0xe2, 0x6d, 0x92, 0x1c, 0x8b),
	STEP(BITS_64, "vscatterdps (EVEX, VSIB)", 0x62, 0xf2, 0x7d, 0x49, 0xa2, 0x0c, 0x93),
	STEP(BITS_64, "kmovq %k1,%rax", 0xc4, 0xe1, 0xfb, 0x93, 0xc1),
	STEP(BITS_32, "bound %eax,(%ecx)", 0x62, 0x01),

	/* Harmless wherever they run. */
	STEP(BITS_ANY, "cpuid", 0x0f, 0xa2),
	STEP(BITS_ANY, "wrmsr", 0x0f, 0x30),
	STEP(BITS_ANY, "clac (privileged)", 0x0f, 0x01, 0xca),
	STEP(BITS_ANY, "popcnt", 0xf3, 0x0f, 0xb8, 0xc0),
	STEP(BITS_ANY, "bt $5,%eax", 0x0f, 0xba, 0xe0, 5),
	STEP(BITS_ANY, "lfence", 0x0f, 0xae, 0xe8),
	STEP(BITS_ANY, "mov %eax,%cr4", 0x0f, 0x22, 0xe0),
	STEP(BITS_64, "mov %rax,%cr8", 0x44, 0x0f, 0x22, 0xc0),
	STEP(BITS_64, "rdgsbase %rax", 0xf3, 0x48, 0x0f, 0xae, 0xc8),
	STEP(BITS_ANY, "clac", 0x0f, 0x01, 0xca),
	STEP(BITS_ANY, "fnstsw", 0xdf, 0xe0),
	STEP(BITS_ANY, "crc32b (3-byte map)", 0xf2, 0x0f, 0x38, 0xf0, 0xc0),
	STEP(BITS_ANY, "mov (%eax),%eax", 0x8b, 0x00),
	STEP(BITS_ANY, "adc %eax,%eax", 0x11, 0xc0),
	STEP(BITS_ANY, "neg %eax", 0xf7, 0xd8),
	STEP(BITS_ANY, "add %al,%al", 0x00, 0xc0),
	STEP(BITS_ANY, "add %ax,%ax", 0x66, 0x01, 0xc0),
	STEP(BITS_ANY, "add %eax,(%eax)", 0x01, 0x00),
	STEP(BITS_ANY, "lock add %eax,(%eax)", 0xf0, 0x01, 0x00),
	STEP(BITS_ANY, "push %ax", 0x66, 0x50),
	STEP(BITS_64, "xchg %eax,%r8d", 0x41, 0x90),
	STEP(BITS_64, "rdsspd %eax", 0xf3, 0x0f, 0x1e, 0xc8),
	/* A CPU that waits for a landing pad has to execute it. */
	STEP(BITS_ANY, "endbr64", 0xf3, 0x0f, 0x1e, 0xfa),
	STEP(BITS_ANY, "endbr32", 0xf3, 0x0f, 0x1e, 0xfb),
	STEP(BITS_64, "lea (%eax),%eax", 0x67, 0x8d, 0x00),
	STEP(BITS_32, "pop %esp", 0x5c),
	STEP(BITS_32, "sub $16,%esp", 0x83, 0xec, 16),
	STEP(BITS_32, "mov %ebp,%esp", 0x89, 0xec),
	STEP(BITS_32, "lea -8(%ebp),%esp", 0x8d, 0x65, 0xf8),

	/* Emulated if there is a post handler. */
	FAST(BITS_ANY, NOP, "nop", 0x90),
	FAST(BITS_ANY, NOP, "xchg %ax,%ax", 0x66, 0x90),
	FAST(BITS_ANY, NOP, "pause", 0xf3, 0x90),
	FAST(BITS_ANY, NOP, "nopl 0(%eax,%eax)", 0x0f, 0x1f, 0x44, 0, 0),
	FAST(BITS_ANY, PUSH, "push %eax", 0x50),
	FAST(BITS_64, PUSH, "push %r15", 0x41, 0x57),
	FAST(BITS_ANY, POP, "pop %ebp", 0x5d),
	FAST(BITS_64, POP, "pop %rsp", 0x5c),
	FAST(BITS_64, MOV, "mov %rsp,%rbp", 0x48, 0x89, 0xe5),
	FAST(BITS_ANY, MOV, "mov %eax,%ebx", 0x8b, 0xd8),
	FAST(BITS_ANY, MOV_IMM, "mov $1,%eax", 0xb8, 1, 0, 0, 0),
	FAST(BITS_64, MOV_IMM, "mov $-1,%rax", 0x48, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff),
	FAST(BITS_64, MOV_IMM, "movabs", 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8),
	FAST(BITS_64, MOV_IMM, "lea 8(%rip),%rax", 0x48, 0x8d, 0x05, 8, 0, 0, 0),
	FAST(BITS_64, LEA, "lea 8(%rsp),%rax", 0x48, 0x8d, 0x44, 0x24, 8),
	FAST(BITS_ANY, LEA, "lea (%ecx,%edx,4),%eax", 0x8d, 0x04, 0x91),
	EXACT(BITS_64, ALU_IMM, false, KPROBE_ALU_SUB, 8, "sub $16,%rsp",
	      0x48, 0x83, 0xec, 16),
	EXACT(BITS_ANY, ALU_IMM, false, KPROBE_ALU_CMP, 4, "cmp $16,%esp", 0x83, 0xfc, 16),
	EXACT(BITS_ANY, ALU, false, KPROBE_ALU_XOR, 4, "xor %eax,%eax", 0x31, 0xc0),
	EXACT(BITS_ANY, ALU, false, KPROBE_ALU_TEST, 4, "test %eax,%eax", 0x85, 0xc0),
	EXACT(BITS_ANY, ALU_IMM, false, KPROBE_ALU_TEST, 4, "test $1,%eax",
	      0xf7, 0xc0, 1, 0, 0, 0),

	/* Always emulated. */
	EXACT(BITS_ANY, JCC, true, 4, sizeof(long), "je", 0x74, 5),
	EXACT(BITS_ANY, JCC, true, 0xf, sizeof(long), "jg near", 0x0f, 0x8f, 0, 1, 0, 0),
	ONLY(BITS_ANY, JMP, "jmp", 0xeb, 5),
	ONLY(BITS_ANY, JMP, "jmp near", 0xe9, 0, 1, 0, 0),
	ONLY(BITS_ANY, CALL, "call", 0xe8, 0, 1, 0, 0),
	ONLY(BITS_ANY, CALL, "cs call", 0x2e, 0xe8, 0, 1, 0, 0),
	ONLY(BITS_ANY, RET, "ret", 0xc3),
	ONLY(BITS_ANY, RET, "ret $8", 0xc2, 8, 0),
	ONLY(BITS_ANY, LOOPNE, "loopne", 0xe0, 5),
	ONLY(BITS_ANY, LOOPE, "loope", 0xe1, 5),
	EXACT(BITS_ANY, LOOP, true, 2, sizeof(long), "loop", 0xe2, 5),
	EXACT(BITS_64, LOOP, true, 2, 4, "addr32 loop", 0x67, 0xe2, 5),
	EXACT(BITS_32, LOOP, true, 2, 2, "addr16 loop", 0x67, 0xe2, 5),
	ONLY(BITS_ANY, JCXZ, "jecxz", 0xe3, 5),
	ONLY(BITS_ANY, CALL_REG, "call *%eax", 0xff, 0xd0),
	ONLY(BITS_64, JMP_REG, "jmp *%r11", 0x41, 0xff, 0xe3),
	ONLY(BITS_ANY, STEP_CALL, "call *(%eax)", 0xff, 0x10),
	ONLY(BITS_ANY, STEP_JMP, "jmp *8(%eax)", 0xff, 0x60, 8),
	ONLY(BITS_ANY, CLI, "cli", 0xfa),
	ONLY(BITS_ANY, STI, "sti", 0xfb, 0x90),
	ONLY(BITS_ANY, STI, "sti before syscall", 0xfb, 0x0f, 0x05),
	ONLY(BITS_ANY, STI, "sti before clac", 0xfb, 0x0f, 0x01, 0xca),
	EXACT(BITS_ANY, PUSHF, true, 0, sizeof(long), "pushf", 0x9c),
	EXACT(BITS_ANY, POPF, true, 0, 2, "popfw", 0x66, 0x9d),
};
KUNIT_ARRAY_PARAM_DESC(row, rows, name);

/* The state on entry to kprobe_classify(). */
static enum kprobe_refusal classify(const u8 *bytes, struct kprobe_insn *ki,
				    struct arch_specific_insn *a)
{
	enum kprobe_refusal why;

	memcpy(ki->bytes, bytes, MAX_INSN_SIZE);
	why = kprobe_decode(ki, MAX_INSN_SIZE);
	if (why)
		return why;

	guard(mutex)(&text_mutex);
	return kprobe_classify(ki, (unsigned long)bytes, a);
}

static void decode_classify(struct kunit *test)
{
	const struct row *r = test->param_value;
	struct arch_specific_insn a;
	bool boosts = IS_ENABLED(CONFIG_PREEMPTION) || !IS_ENABLED(CONFIG_PREEMPT_COUNT);
	enum kprobe_refusal why;
	struct kprobe_insn ki;

	KP_SKIP_IF(test, !(r->bits & BITS_HERE), "does not exist in this mode");

	why = classify(r->bytes, &ki, &a);
	KUNIT_ASSERT_EQ(test, why, r->why);
	if (why)
		return;

	KUNIT_EXPECT_EQ(test, a.op, r->op);
	KUNIT_EXPECT_EQ(test, a.len, ki.insn.length);
	if (r->stays)
		KUNIT_EXPECT_FALSE(test, a.boost);
	else
		KUNIT_EXPECT_EQ(test, a.boost, boosts);
	if (r->check) {
		KUNIT_EXPECT_EQ(test, a.sub, r->sub);
		KUNIT_EXPECT_EQ(test, a.width, r->width);
	}
}

/* Only newer kernels decode these: other than that, an instruction without special needs. */
static void decode_xop(struct kunit *test)
{
	static const u8 xops[][MAX_BYTES] = {
		{ 0x8f, 0xe8, 0x78, 0xc0, 0xc0, 1 },	/* vprotb $1,%xmm0,%xmm0 */
		{ 0x8f, 0xe9, 0x78, 0x90, 0xc0 },	/* vprotb %xmm0,%xmm0,%xmm0 */
		/* bextr $1,0x1000(%rip),%eax: the displacement is not the last field. */
		{ 0x8f, 0xea, 0x78, 0x10, 0x05, 0, 0x10, 0, 0, 1, 0, 0, 0 },
	};
	static const u8 lens[] = { 6, 5, 13 };
	struct arch_specific_insn a;
	struct kprobe_insn ki;
	struct insn insn;
	u8 buf[MAX_BYTES];
	bool known;
	int i;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_X86_64), "this may be another instruction");

	for (i = 0; i < ARRAY_SIZE(xops); i++) {
		known = !insn_decode_kernel(&insn, xops[i]) && insn.length == lens[i];
		KUNIT_ASSERT_EQ_MSG(test, classify(xops[i], &ki, &a),
				    known ? 0 : KPROBE_REFUSAL_UNDECODED, "%d", i);
		if (!known)
			continue;
		KUNIT_EXPECT_EQ(test, a.op, KPROBE_OP_STEP);
		KUNIT_EXPECT_EQ(test, a.len, lens[i]);
	}
	/* The last one. */
	if (!known)
		return;
	KUNIT_ASSERT_EQ(test, kprobe_copy(buf, &ki, (unsigned long)xops[2],
					  (unsigned long)xops[2] + 0x400), 13);
	KUNIT_EXPECT_EQ(test, get_unaligned((s32 *)(buf + 5)), 0xc00);
}

/* Targets are relative to the end of the instruction, including its prefixes. */
static void decode_targets(struct kunit *test)
{
	static const u8 call[MAX_BYTES] = { 0x2e, 0xe8, 0x10, 0, 0, 0 };
	static const u8 back[MAX_BYTES] = { 0x74, 0xfe };
	static const u8 ret[MAX_BYTES] = { 0xc2, 0xff, 0xff };
	struct arch_specific_insn a;
	struct kprobe_insn ki;

	KUNIT_ASSERT_EQ(test, classify(call, &ki, &a), 0);
	KUNIT_EXPECT_EQ(test, a.len, 6);
	KUNIT_EXPECT_EQ(test, a.value, (long)call + 6 + 0x10);

	KUNIT_ASSERT_EQ(test, classify(back, &ki, &a), 0);
	KUNIT_EXPECT_EQ(test, a.value, (long)back);

	KUNIT_ASSERT_EQ(test, classify(ret, &ki, &a), 0);
	KUNIT_EXPECT_EQ(test, a.value, 0xffff);
}

/* The copy refers to the same address, or there is none. */
static void decode_copy(struct kunit *test)
{
	/* cmpl $0x11223344, 0x1000(%rip): the displacement is not the last field. */
	static const u8 cmp[MAX_BYTES] = {
		0x81, 0x3d, 0x00, 0x10, 0, 0, 0x44, 0x33, 0x22, 0x11,
	};
	unsigned long from = (unsigned long)cmp;
	struct arch_specific_insn a;
	struct kprobe_insn ki;
	u8 buf[MAX_BYTES];

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_X86_64), "nothing is relative to the instruction");

	KUNIT_ASSERT_EQ(test, classify(cmp, &ki, &a), 0);
	KUNIT_ASSERT_EQ(test, kprobe_copy(buf, &ki, from, from + 0x400), 10);
	KUNIT_EXPECT_EQ(test, get_unaligned((s32 *)(buf + 2)), 0xc00);
	KUNIT_EXPECT_EQ(test, get_unaligned((u32 *)(buf + 6)), 0x11223344u);
	KUNIT_EXPECT_EQ(test, memcmp(buf, cmp, 2), 0);

	KUNIT_EXPECT_EQ(test, kprobe_copy(buf, &ki, from, from + 0x1000 + SZ_2G), 10);
	KUNIT_EXPECT_EQ(test, kprobe_copy(buf, &ki, from, from + 0x1001 + SZ_2G), -ERANGE);
	KUNIT_EXPECT_EQ(test, kprobe_copy(buf, &ki, from, from - SZ_2G), -ERANGE);
}

/* The displacement is found after prefixes of any kind, and before immediates. */
static void decode_copy_vectors(struct kunit *test)
{
	static const struct {
		const char	*name;
		u8		disp;
		u8		len;
		u8		bytes[MAX_BYTES];
	} copies[] = {
		{ "vmovups 0x1000(%rip),%ymm1", 4, 8,
		  { 0xc5, 0xfc, 0x10, 0x0d, 0x00, 0x10, 0, 0 } },
		{ "vpermq $0x11,0x1000(%rip),%ymm1", 5, 10,
		  { 0xc4, 0xe3, 0xfd, 0x00, 0x0d, 0x00, 0x10, 0, 0, 0x11 } },
		{ "vmovups 0x1000(%rip),%zmm1", 6, 10,
		  { 0x62, 0xf1, 0x7c, 0x48, 0x10, 0x0d, 0x00, 0x10, 0, 0 } },
		{ "vpternlogd $0xca,0x1000(%rip),%zmm2,%zmm1", 6, 11,
		  { 0x62, 0xf3, 0x6d, 0x48, 0x25, 0x0d, 0x00, 0x10, 0, 0, 0xca } },
	};
	struct arch_specific_insn a;
	struct kprobe_insn ki;
	u8 buf[MAX_BYTES];
	unsigned long from;
	int i, n;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_X86_64), "nothing is relative to the instruction");

	for (i = 0; i < ARRAY_SIZE(copies); i++) {
		n = copies[i].disp;
		from = (unsigned long)copies[i].bytes;
		KUNIT_ASSERT_EQ_MSG(test, classify(copies[i].bytes, &ki, &a), 0, "%s",
				    copies[i].name);
		KUNIT_EXPECT_EQ_MSG(test, kprobe_copy(buf, &ki, from, from + 0x400),
				    copies[i].len, "%s", copies[i].name);
		KUNIT_EXPECT_EQ_MSG(test, get_unaligned((s32 *)(buf + n)), 0xc00, "%s",
				    copies[i].name);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(buf, copies[i].bytes, n), 0, "%s",
				    copies[i].name);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(buf + n + 4, copies[i].bytes + n + 4,
						 copies[i].len - n - 4), 0, "%s",
				    copies[i].name);
	}
}

/* REX2 has the first byte of the opcode in a bit. No kernel is compiled with it yet. */
static void decode_rex2(struct kunit *test)
{
	static const struct {
		u8	bytes[4];
		u32	op;
	} rows[] = {
		{ { 0xd5, 0x08, 0x01, 0xc0 }, 0x01 },
		{ { 0xd5, 0x88, 0xaf, 0xc0 }, OP_0F(0xaf) },
		{ { 0xd5, 0x10, 0x90, 0x90 }, BYTES_NOP1 },
	};
	struct kprobe_insn ki;
	int i;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_X86_64), "needs 64 bits");

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memcpy(ki.bytes, rows[i].bytes, sizeof(rows[i].bytes));
		KUNIT_ASSERT_EQ(test, kprobe_decode(&ki, sizeof(rows[i].bytes)), 0);
		KUNIT_EXPECT_EQ(test, kprobe_insn_op(&ki.insn), rows[i].op);
		/* The last one exchanges two registers. */
		KUNIT_EXPECT_FALSE(test, kprobe_insn_is_nop(&ki.insn));
	}
}

/* There is nothing after the text; and outside of text, no function. */
static void decode_what_cannot_be_read(struct kunit *test)
{
	unsigned long nothing = -PAGE_SIZE;
	/* Other memory may once have been init text, which symbols still cover. */
	void *data = vmalloc(PAGE_SIZE);
	struct kprobe_insn ki;
	u8 byte;

	KUNIT_ASSERT_NOT_NULL(test, data);

	kprobe_test_lock();
	mutex_lock(&text_mutex);
	KUNIT_EXPECT_EQ(test, kprobe_read_text(nothing, &byte, 1), -EFAULT);
	KUNIT_EXPECT_EQ(test, kprobe_fetch_at(nothing, nothing + 16, &ki),
			KPROBE_REFUSAL_UNDECODED);
	KUNIT_EXPECT_EQ(test, kprobe_fetch(nothing, &ki), KPROBE_REFUSAL_NOT_TEXT);
	KUNIT_EXPECT_EQ(test, kprobe_fetch((unsigned long)data, &ki),
			KPROBE_REFUSAL_NOT_TEXT);
	mutex_unlock(&text_mutex);
	kprobe_test_unlock();
	vfree(data);
}

static struct kunit_case decode_cases[] = {
	KUNIT_CASE_PARAM(decode_classify, row_gen_params),
	KUNIT_CASE(decode_xop),
	KUNIT_CASE(decode_targets),
	KUNIT_CASE(decode_copy),
	KUNIT_CASE(decode_copy_vectors),
	KUNIT_CASE(decode_rex2),
	KUNIT_CASE(decode_what_cannot_be_read),
	{}
};

KP_SUITE(decode_cases, .name = "kprobes_x86_decode");
