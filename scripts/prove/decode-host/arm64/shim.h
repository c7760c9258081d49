/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What decode-insn.c and simulate-insn.c need from the kernel, for a host program.
 * scripts/prove/decode-check replaces each header that they include by one that only
 * includes this file, except for headers that define instructions or registers.
 */
#ifndef _DECODE_HOST_ARM64_SHIM_H
#define _DECODE_HOST_ARM64_SHIM_H

#include <stdbool.h>
#include <stdint.h>

typedef uint8_t u8, __u8;
typedef uint16_t u16, __u16;
typedef uint32_t u32, __u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
typedef uint64_t __u64;
__extension__ typedef unsigned __int128 __u128;

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define BUILD_BUG_ON_ZERO(e)	((int)sizeof(struct { int : (-!!(e)); }))
#define BUILD_BUG_ON(e)		((void)BUILD_BUG_ON_ZERO(e))
#define BIT(nr)			(1UL << (nr))
#define BIT_ULL(nr)		(1ULL << (nr))
#define GENMASK(h, l)		((~0UL << (l)) & (~0UL >> (63 - (h))))
#define FIELD_GET(mask, v)	(((v) & (mask)) / ((mask) & -(mask)))
#define FIELD_PREP(mask, v)	(((v) * ((mask) & -(mask))) & (mask))
#define hweight32(x)		__builtin_popcount(x)
#define get_unaligned(p)						\
	(((const struct { __typeof__(*(p)) v; } __attribute__((packed)) *)(p))->v)

#define nokprobe_inline		inline
#define __kprobes

static inline s64 sign_extend64(u64 value, int index)
{
	int shift = 63 - index;

	return (s64)(value << shift) >> shift;
}

#include <asm/ptrace.h>

struct pt_regs {
	u64 regs[31], sp, pc, pstate, pmr;
};

static inline u64 pt_regs_read_reg(const struct pt_regs *regs, int r)
{
	return r == 31 ? 0 : regs->regs[r];
}

static inline void pt_regs_write_reg(struct pt_regs *regs, int r, u64 val)
{
	if (r != 31)
		regs->regs[r] = val;
}

static inline bool user_mode(const struct pt_regs *regs)
{
	return false;
}

static inline bool system_supports_bti_kernel(void)
{
	return true;
}

#endif /* _DECODE_HOST_ARM64_SHIM_H */
