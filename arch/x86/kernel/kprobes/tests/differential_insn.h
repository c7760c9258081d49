/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the suites of the differential test: the registers of a state, and what the
 * bytes of an instruction say about it.
 */
#ifndef _X86_KERNEL_KPROBES_TESTS_DIFFERENTIAL_INSN_H
#define _X86_KERNEL_KPROBES_TESTS_DIFFERENTIAL_INSN_H

#include <linux/string.h>
#include <linux/types.h>

#include <asm/insn.h>

#include "../insn.h"
#include "differential.h"
#include "differential_forms.h"

#define NR_REGS		DIFF_NR_REGS
#define REG_AX		0
#define REG_CX		1
#define REG_DX		2
#define REG_BX		3
#define REG_SP		4
#define REG_BP		5
#define REG_SI		6
#define REG_DI		7

/* Loaded and saved by kpd_run(); registers are in the order of their encoding. */
struct kpd_machine {
	unsigned long	r[NR_REGS];
	unsigned long	flags;
	unsigned long	es;
	unsigned long	exit;
	unsigned long	code;
	unsigned long	host_sp;
	unsigned long	host_es;
};

static_assert(offsetof(struct kpd_machine, r[1]) == DIFF_REG(1));
static_assert(offsetof(struct kpd_machine, flags) == DIFF_FLAGS);
static_assert(offsetof(struct kpd_machine, es) == DIFF_ES);
static_assert(offsetof(struct kpd_machine, exit) == DIFF_EXIT);
static_assert(offsetof(struct kpd_machine, code) == DIFF_CODE);
static_assert(offsetof(struct kpd_machine, host_sp) == DIFF_HOST_SP);
static_assert(offsetof(struct kpd_machine, host_es) == DIFF_HOST_ES);

extern struct kpd_machine kpd_machine;
extern u8 kpd_data[DIFF_DATA_SIZE];

struct form_info {
	struct insn	insn;
	int		base;		/* register that addresses memory, or -1 */
	int		index;
	bool		memory;		/* it is accessed, not only computed */
};

static inline bool opcode_is(struct insn *insn, u8 byte)
{
	return !kprobe_insn_has_vex(insn) && insn->opcode.nbytes == 1 &&
	       insn->opcode.bytes[0] == byte;
}

static inline bool opcode_0f_is(struct insn *insn, u8 byte)
{
	return !kprobe_insn_has_vex(insn) && insn->opcode.nbytes == 2 &&
	       insn->opcode.bytes[1] == byte;
}

static inline bool is_memory_form(const struct insn *insn)
{
	return insn->modrm.nbytes && X86_MODRM_MOD(insn->modrm.value) != 3;
}

/* AVX forms use only the lower registers for addresses. */
static inline void decode_address(struct form_info *info)
{
	struct insn *insn = &info->insn;
	u8 rex = insn->rex_prefix.nbytes ? insn->rex_prefix.bytes[0] : 0;
	u8 base = X86_MODRM_RM(insn->modrm.value);
	int index;

	info->base = -1;
	info->index = -1;
	if (!is_memory_form(insn) || insn_rip_relative(insn))
		return;

	info->memory = !opcode_is(insn, 0x8d) && !opcode_0f_is(insn, 0x1f);
	if (insn->sib.nbytes) {
		base = X86_SIB_BASE(insn->sib.value);
		index = X86_SIB_INDEX(insn->sib.value) | (X86_REX_X(rex) ? 8 : 0);
		if (index != REG_SP)
			info->index = index;
	}
	/* Without a displacement this encodes a displacement only. */
	if (base != REG_BP || X86_MODRM_MOD(insn->modrm.value))
		info->base = base | (X86_REX_B(rex) ? 8 : 0);
}

/*
 * Identifies a form. Two rows that agree in all of this are the same: which of the
 * ordinary registers are used does not count, nor do constants.
 */
struct form_key {
	const struct kpd_form *form;
	u16	prefixes;
	u8	map;
	u8	opcode;
	u8	rex;
	u8	vex;
	u8	address;
	u8	reg;
	u8	rm;
	u8	backwards;
	u8	longest;
};

#define KEY_BYTES	(sizeof(struct form_key) - offsetof(struct form_key, prefixes))

/* Stack and frame pointers are encoded, and behave, differently from all others. */
static inline u8 reg_class(u8 reg)
{
	switch (reg) {
	case REG_SP:
		return 1;
	case REG_BP:
		return 2;
	default:
		return reg < REG_SP ? 0 : 3;
	}
}

static inline u16 prefix_bit(u8 prefix)
{
	switch (prefix) {
	case 0x66:
		return BIT(0);
	case 0x67:
		return BIT(1);
	case 0xf0:
		return BIT(2);
	case 0xf2:
		return BIT(3);
	case 0xf3:
		return BIT(4);
	case 0x64:
		return BIT(5);
	case 0x65:
		return BIT(9);
	case 0x26:
		return BIT(6);
	case 0x2e:
		return BIT(7);
	default:
		return BIT(8);
	}
}

/* The field encodes an operation, or a register of a different file. */
static inline bool reg_is_opcode(struct insn *insn)
{
	u8 first = insn->opcode.bytes[0];
	insn_attr_t attr = inat_get_opcode_attribute(first);

	if (kprobe_insn_has_vex(insn))
		attr = inat_get_avx_attribute(first, insn_vex_m_bits(insn),
					      insn_vex_p_bits(insn));
	else if (insn->opcode.nbytes == 2)
		attr = inat_get_escape_attribute(insn->opcode.bytes[1], 0, attr);

	return inat_is_group(attr) || opcode_is(insn, 0x8c) || opcode_is(insn, 0x8e) ||
	       opcode_0f_is(insn, 0x20) || opcode_0f_is(insn, 0x21) ||
	       (!kprobe_insn_has_vex(insn) && first >= 0xd8 && first <= 0xdf);
}

/* The size of vectors. */
static inline u8 insn_vex_l(struct insn *insn)
{
	return !!(insn->vex_prefix.bytes[insn->vex_prefix.nbytes == 2 ? 1 : 2] & BIT(2));
}

static inline void make_key(struct form_key *key, const struct kpd_form *f,
			    struct form_info *info)
{
	struct insn copy = info->insn, *insn = &copy;
	u8 modrm = insn->modrm.value, mod = X86_MODRM_MOD(modrm);
	int i;

	memset(key, 0, sizeof(*key));
	key->form = f;
	key->map = kprobe_insn_has_vex(insn) ? 0x10 + insn_vex_m_bits(insn) : insn->opcode.nbytes;
	key->opcode = insn->opcode.bytes[insn->opcode.nbytes - 1];
	if (key->map == 3)
		key->map += insn->opcode.bytes[1] == 0x3a;
	for (i = 0; i < ARRAY_SIZE(insn->prefixes.bytes) && insn->prefixes.bytes[i]; i++)
		key->prefixes |= prefix_bit(insn->prefixes.bytes[i]);
	key->rex = insn->rex_prefix.nbytes ? insn->rex_prefix.bytes[0] : 0;
	if (kprobe_insn_has_vex(insn))
		key->vex = insn_vex_p_bits(insn) | insn_vex_l(insn) << 2 |
			   !!insn_vex_w_bit(insn) << 3;

	if (insn->modrm.nbytes) {
		key->address = BIT(7) | mod;
		key->reg = reg_class(X86_MODRM_REG(modrm));
		if (reg_is_opcode(insn))
			key->reg = BIT(7) | X86_MODRM_REG(modrm);
		key->rm = reg_class(X86_MODRM_RM(modrm));
		if (mod == 3 && (opcode_0f_is(insn, 0x01) || opcode_0f_is(insn, 0xae) ||
				 opcode_is(insn, 0xd9) || opcode_is(insn, 0xdb)))
			key->rm = BIT(7) | X86_MODRM_RM(modrm);
	}
	if (insn->sib.nbytes)
		key->rm = BIT(6) | reg_class(X86_SIB_BASE(insn->sib.value)) |
			  (info->index >= 0 ? BIT(5) : 0) |
			  X86_SIB_SCALE(insn->sib.value) << 3;
	if (opcode_is(insn, 0xc8))
		key->rm = insn->immediate2.value;
	key->longest = insn->length == MAX_INSN_SIZE;
	key->backwards = f->kind == DIFF_EMULATED && insn->immediate.value < 0;
}

static inline int cmp_keys(const void *a, const void *b)
{
	return memcmp(&((const struct form_key *)a)->prefixes,
		      &((const struct form_key *)b)->prefixes, KEY_BYTES);
}

static inline bool is_jcc(struct insn *insn)
{
	if (kprobe_insn_has_vex(insn))
		return false;
	if (insn->opcode.nbytes == 1)
		return (insn->opcode.bytes[0] & 0xf0) == 0x70;
	return insn->opcode.nbytes == 2 && (insn->opcode.bytes[1] & 0xf0) == 0x80;
}

static inline bool is_counted(struct insn *insn)
{
	return opcode_is(insn, 0xe0) || opcode_is(insn, 0xe1) || opcode_is(insn, 0xe2) ||
	       opcode_is(insn, 0xe3);
}

static inline bool is_call(struct insn *insn)
{
	return opcode_is(insn, 0xe8);
}

static inline bool is_relative(struct insn *insn)
{
	return is_jcc(insn) || is_call(insn) || opcode_is(insn, 0xe9) ||
	       opcode_is(insn, 0xeb);
}

static inline bool is_indirect(struct insn *insn)
{
	return opcode_is(insn, 0xff) && (X86_MODRM_REG(insn->modrm.value) == 2 ||
					 X86_MODRM_REG(insn->modrm.value) == 4);
}

static inline bool is_indirect_reg(struct insn *insn)
{
	return is_indirect(insn) && !is_memory_form(insn);
}

static inline bool is_indirect_mem(struct insn *insn)
{
	return is_indirect(insn) && is_memory_form(insn);
}

static inline bool is_flags(struct insn *insn)
{
	return opcode_is(insn, 0x9c) || opcode_is(insn, 0x9d) || opcode_is(insn, 0xfa) ||
	       opcode_is(insn, 0xfb);
}

static inline bool is_ret(struct insn *insn)
{
	return opcode_is(insn, 0xc2) || opcode_is(insn, 0xc3);
}

#ifdef CONFIG_X86_64
static inline bool is_rip_relative(struct insn *insn)
{
	return insn_rip_relative(insn);
}
#endif

static inline bool has_prefixes(struct insn *insn)
{
	return insn->prefixes.nbytes;
}

static inline bool is_group(struct insn *insn)
{
	return reg_is_opcode(insn);
}

static inline bool is_of_another_map(struct insn *insn)
{
	return kprobe_insn_has_vex(insn) || insn->opcode.nbytes == 3;
}

static inline bool is_longest(struct insn *insn)
{
	return insn->length == MAX_INSN_SIZE;
}

static inline bool is_string(struct insn *insn)
{
	u8 op = insn->opcode.bytes[0];

	return !kprobe_insn_has_vex(insn) && insn->opcode.nbytes == 1 &&
	       ((op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf));
}

#endif /* _X86_KERNEL_KPROBES_TESTS_DIFFERENTIAL_INSN_H */
