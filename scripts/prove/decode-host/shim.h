/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What decode.c, insn.c and the base's decoder need from the kernel, for a host program.
 * scripts/prove/decode-check replaces each header that they include by one that only
 * includes this file, except for headers that define instructions.
 */
#ifndef _DECODE_HOST_SHIM_H
#define _DECODE_HOST_SHIM_H

#include <kernel/include/linux/kconfig.h>

/* Types */
typedef unsigned char u8, __u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef _Bool bool;
typedef __SIZE_TYPE__ size_t;

#define NULL		((void *)0)
#define true		1
#define false		0
#define offsetof(t, m)	__builtin_offsetof(t, m)
#define __LITTLE_ENDIAN	1234
#define likely(x)	(x)
#define unlikely(x)	(x)
#define fallthrough	__attribute__((__fallthrough__))
#define __always_inline	inline __attribute__((__always_inline__))
#define nokprobe_inline	inline
#define READ_ONCE(x)	(x)
#define min_t(t, a, b)	((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#define swap(a, b)	({ typeof(a) _a = (a); (a) = (b); (b) = _a; })
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define barrier()
#define lockdep_assert_held(lock)
#define __this_cpu_write(var, value)
#define BUILD_BUG()	__builtin_trap()
#define BUILD_BUG_ON(condition)	_Static_assert(!(condition), #condition)
#define le16_to_cpu(x)	(x)
#define le32_to_cpu(x)	(x)
#define memset		__builtin_memset
#define memcpy		__builtin_memcpy
#define strlen		__builtin_strlen

static inline const void *memchr(const void *p, int c, unsigned long n)
{
	const unsigned char *s = p;

	for (; n; s++, n--)
		if (*s == (unsigned char)c)
			return s;
	return (void *)0;
}

static inline const void *memchr_inv(const void *p, int c, unsigned long n)
{
	const unsigned char *s = p;

	while (n && *s == (unsigned char)c) {
		s++;
		n--;
	}
	return n ? s : (void *)0;
}
#define FIELD_GET(mask, v) (((v) & (mask)) / ((mask) & -(mask)))

#define get_unaligned(p)						\
	(((const struct { __typeof__(*(p)) v; } __attribute__((packed)) *)(p))->v)
#define put_unaligned(x, p)						\
	((((struct { __typeof__(*(p)) v; } __attribute__((packed)) *)(p))->v) = (x))

#define ENOENT		2
#define EFAULT		14
#define EINVAL		22
#define ERANGE		34
#define ENODATA		61

#define PAGE_SIZE	4096UL

/* Text */
#define INT3_INSN_OPCODE	0xcc
#define INT3_INSN_SIZE		1
#define RET_INSN_OPCODE		0xc3
#define CALL_INSN_OPCODE	0xe8
#define JMP32_INSN_OPCODE	0xe9
#define JMP8_INSN_OPCODE	0xeb
#define JMP8_INSN_SIZE		2
#define JMP32_INSN_SIZE		5

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di, ip, sp, flags;
	struct {
		u64 wfe : 1;
	} fred_cs;
};

static inline long copy_from_kernel_nofault(void *to, const void *from, unsigned long size)
{
	memcpy(to, from, size);
	return 0;
}

static inline int kallsyms_lookup_size_offset(unsigned long addr, unsigned long *size,
					      unsigned long *into)
{
	return 0;
}

static inline int lookup_symbol_name(unsigned long addr, char *name)
{
	return -ENOENT;
}

static inline bool strstarts(const char *s, const char *start)
{
	while (*start && *s == *start) {
		s++;
		start++;
	}
	return !*start;
}

#include <asm/extable_fixup_types.h>

/* The address of an instruction never prevents a probe. */
struct exception_table_entry {
	int data;
};

static inline const struct exception_table_entry *search_exception_tables(unsigned long addr)
{
	return NULL;
}

static inline int alternatives_text_reserved(void *start, void *end)
{
	return 0;
}

static inline int is_cfi_trap(unsigned long addr)
{
	return 0;
}

/* Probes */
#include <ours/include/linux/kprobes-refusal.h>
struct notifier_block;
struct kprobe;
/* The search for branches at boot is not called. */
#define __init
#define CONFIG_FUNCTION_ALIGNMENT	16
#define ALIGN(x, a)	(((x) + (a) - 1) & ~((unsigned long)(a) - 1))
#include <ours/arch/x86/include/asm/kprobes.h>

#define KPROBE_FLAG_JUMP 0

struct kprobe {
	kprobe_opcode_t			*addr;
	kprobe_opcode_t			opcode;
	struct arch_specific_insn	ainsn;
	void				*post_handler;
	void				*fault_handler;
	u32				flags;
};

static inline bool kprobe_in_livepatch(unsigned long addr)
{
	return false;
}

static inline bool kprobe_boosts(void)
{
	return true;
}

static inline void kprobe_avoid_jump(struct pt_regs *regs)
{
}

static inline int kprobe_read_text(unsigned long addr, void *buf, unsigned int len)
{
	return -1;
}

#endif /* _DECODE_HOST_SHIM_H */
