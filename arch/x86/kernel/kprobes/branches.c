// SPDX-License-Identifier: GPL-2.0-only
/*
 * Branch analysis: may anything branch to these bytes? A jump of five bytes mostly replaces more
 * than the probed instruction, and must not be entered in the middle. With this and hop.c, 91 % of
 * random kernel addresses have a jump; decoding just the probed function allowed it for 57 %.
 *
 * The single entry point is kprobe_find_target(): is there a branch target in this range?
 * optimize.c asks it about the inside of a jump. If there is one, hop.c tries a jump of two bytes
 * to padding nearby, and asks the same about that padding. When in doubt, the answer is yes. It
 * comes from:
 *
 * - A map of the text with one bit for each byte, set if it may be a target. Branches with a
 *   displacement of 32 bits, addresses relative to the instruction pointer and constants are
 *   searched for at each byte, as if an instruction could begin there. So the map depends neither
 *   on where decoding begins nor on what is between functions. Pointers in data, fixups of
 *   exceptions and jump labels are added.
 * - The functions around the range, which are decoded. Short branches are too frequent to be
 *   searched for at each byte, but their targets are near. They are added to the map as well.
 *   Decoding also finds what keeps jumps out of the whole probed function, such as a jump to a
 *   computed address. A function is the text from one symbol to the next.
 * - Symbols, and landing pads of indirect branches.
 *
 * The optimizer makes a map when the first probe in its region is to be optimized, in pieces,
 * with no lock held except kprobe_mutex (arch_optimizer_begin()). The map of the kernel is kept,
 * that of a module is freed with the module. Its size is 5/32 of the size of the text.
 */

#include <linux/align.h>
#include <linux/bitmap.h>
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/memory.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <linux/vmalloc.h>

#include <asm/ibt.h>
#include <asm/sections.h>

#include "common.h"

/* Text is read in pieces, with some bytes more: an instruction may begin at the end of a piece. */
#define PIECE		1024
#define OVERHANG	16
#define PIECES_AT_ONCE	64

/* Bytes of text per bit of kprobe_branch_map.decoded. Most functions are aligned to more. */
#define DECODED_GRANULE	4

/* From the linker script. */
extern const struct exception_table_entry __start___ex_table[];
extern const struct exception_table_entry __stop___ex_table[];

/* All maps; kprobe_mutex. */
static LIST_HEAD(maps);

/* Ignores addresses outside of the region. */
void kprobe_map_mark(struct kprobe_branch_map *map, unsigned long addr)
{
	if (addr - map->start < map->size)
		__set_bit(addr - map->start, map->targets);
}

static void mark_relative(struct kprobe_branch_map *map, const u8 *disp,
			  unsigned long addr)
{
	kprobe_map_mark(map, addr + sizeof(s32) + get_unaligned((const s32 *)disp));
}

static void mark_absolute(struct kprobe_branch_map *map, const u8 *imm)
{
	kprobe_map_mark(map, (long)get_unaligned((const s32 *)imm));
}

static void scan_byte(struct kprobe_branch_map *map, const u8 *p, unsigned long addr)
{
	unsigned int k;

	switch (p[0]) {
	case CALL_INSN_OPCODE:
	case JMP32_INSN_OPCODE:
		mark_relative(map, p + 1, addr + 1);
		break;
	case OP_ESCAPE:
		if ((p[1] & ~OP_CC) == OP2_JCC32)
			mark_relative(map, p + 2, addr + 2);
		break;
	case OP_LEA:
		if (IS_ENABLED(CONFIG_X86_32)) {
			/* A displacement of 32 bits: with any base, or in place of one. */
			k = X86_MODRM_RM(p[1]) == 4;
			if (X86_MODRM_MOD(p[1]) == 2 ||
			    (!X86_MODRM_MOD(p[1]) && X86_MODRM_RM(p[1 + k]) == 5))
				mark_absolute(map, p + 2 + k);
		} else if ((p[1] & MODRM_RIP_MASK) == MODRM_RIP) {
			mark_relative(map, p + 2, addr + 2);
		}
		break;
	case 0x9a:	/* lcall */
	case OP_JMP_FAR:
		if (IS_ENABLED(CONFIG_X86_32))
			mark_absolute(map, p + 1);
		break;
	case OP_PUSH_I32:
	case OP_MOV_RI ... OP_MOV_RI | OP_REG:
		mark_absolute(map, p + 1);
		break;
	case OP_GRP11:
		if (p[1] == MODRM_RTM)
			mark_relative(map, p + 2, addr + 2);
		for (k = 2; k <= 7; k++)
			mark_absolute(map, p + k);
		break;
	}
}

/*
 * kgdb does not tell which byte its breakpoint has replaced. It may be any opcode, so one of each
 * kind is tried.
 */
static void scan_breakpoint(struct kprobe_branch_map *map, const u8 *p, unsigned long addr)
{
	static const u8 opcodes[] = {
		CALL_INSN_OPCODE, OP_ESCAPE, OP_LEA, OP_JMP_FAR, OP_PUSH_I32, OP_GRP11,
	};
	u8 insn[1 + OVERHANG];
	unsigned int i;

	/* Padding is frequent, and no opcode makes sense with breakpoints as its operand. */
	if (get_unaligned((const u32 *)(p + 1)) == 0x01010101u * INT3_INSN_OPCODE)
		return;
	memcpy(insn, p, sizeof(insn));
	if (!kprobe_is_kgdb_breakpoint(addr)) {
		/* The debugger may have removed it since the text was read. */
		if (IS_ENABLED(CONFIG_KGDB) &&
		    !copy_from_kernel_nofault(insn, (void *)addr, 1) &&
		    insn[0] != INT3_INSN_OPCODE)
			scan_byte(map, insn, addr);
		return;
	}

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		insn[0] = opcodes[i];
		scan_byte(map, insn, addr);
	}
}

/*
 * Mark the branch targets in @len bytes of code for @addr, except for those of short branches.
 * @text has OVERHANG bytes more.
 */
void kprobe_map_scan(struct kprobe_branch_map *map, const u8 *text, unsigned int len,
		     unsigned long addr)
{
	unsigned int i;

	for (i = 0; i < len; i++) {
		if (text[i] == INT3_INSN_OPCODE)
			scan_breakpoint(map, text + i, addr + i);
		else
			scan_byte(map, text + i, addr + i);
	}
}

static void scan_words(struct kprobe_branch_map *map, const void *start, const void *end)
{
	const unsigned long *word = PTR_ALIGN(start, sizeof(long));

	for (; (const void *)(word + 1) <= end; word++) {
		kprobe_map_mark(map, READ_ONCE_NOCHECK(*word));
		if (!((unsigned long)word % PAGE_SIZE))
			cond_resched();
	}
}

static void scan_fixups(struct kprobe_branch_map *map,
			const struct exception_table_entry *start,
			const struct exception_table_entry *stop)
{
	const struct exception_table_entry *e;

	for (e = start; e < stop; e++)
		kprobe_map_mark(map, (unsigned long)&e->fixup + e->fixup);
}

#ifdef CONFIG_JUMP_LABEL
/* A label that is a NOP now may become a jump at any time. */
static void scan_jump_labels(struct kprobe_branch_map *map, struct jump_entry *start,
			     struct jump_entry *stop)
{
	struct jump_entry *e;

	for (e = start; e < stop; e++)
		kprobe_map_mark(map, jump_entry_target(e));
}
#endif

static void scan_piece(struct kprobe_branch_map *map, u8 *buf)
{
	unsigned long left = map->start + map->size - map->next;
	unsigned int len = min_t(unsigned long, left, PIECE + OVERHANG);

	/* Unreadable memory is no code. */
	if (kprobe_read_text(map->next, buf, len))
		len = 0;
	memset(buf + len, INT3_INSN_OPCODE, PIECE + OVERHANG - len);
	kprobe_map_scan(map, buf, min_t(unsigned long, left, PIECE), map->next);
	map->next += PIECE;
}

static void scan_kernel_tables(struct kprobe_branch_map *map)
{
	scan_words(map, __start_rodata, __end_rodata);
	scan_words(map, _sdata, _edata);
	scan_fixups(map, __start___ex_table, __stop___ex_table);
#ifdef CONFIG_JUMP_LABEL
	scan_jump_labels(map, __start___jump_table, __stop___jump_table);
#endif
}

#ifdef CONFIG_MODULES
static void scan_module_tables(struct kprobe_branch_map *map)
{
	struct module *mod = map->mod;

	/* Init data may be freed concurrently, and refers to init text only. */
	for_class_mod_mem_type(type, core_data) {
		const struct module_memory *mem = &mod->mem[type];

		scan_words(map, mem->base, mem->base + mem->size);
	}
	scan_fixups(map, mod->extable, mod->extable + mod->num_exentries);
#ifdef CONFIG_JUMP_LABEL
	scan_jump_labels(map, mod->jump_entries, mod->jump_entries + mod->num_jump_entries);
#endif
}

/* The module is not freed before arch_optimizer_forget(). */
static struct module *find_module_text(unsigned long addr, unsigned long *start,
				       unsigned long *end)
{
	struct module *mod;

	scoped_guard(preempt)
		mod = __module_text_address(addr);
	if (!mod || !within_module_mem_type(addr, mod, MOD_TEXT))
		return NULL;

	*start = (unsigned long)mod->mem[MOD_TEXT].base;
	*end = *start + mod->mem[MOD_TEXT].size;
	return mod;
}
#else
static void scan_module_tables(struct kprobe_branch_map *map)
{
}

static struct module *find_module_text(unsigned long addr, unsigned long *start,
				       unsigned long *end)
{
	return NULL;
}
#endif

static void free_map(struct kprobe_branch_map *map)
{
	list_del(&map->list);
	vfree(map->decoded);
	vfree(map->targets);
	kfree(map);
}

static struct kprobe_branch_map *make_map(unsigned long addr)
{
	unsigned long start = (unsigned long)_stext, end = (unsigned long)_etext;
	struct kprobe_branch_map *map;
	struct module *mod = NULL;

	if (addr < start || addr >= end) {
		mod = find_module_text(addr, &start, &end);
		if (!mod)
			return NULL;
	}

	map = kzalloc_obj(*map);
	if (!map)
		return NULL;

	map->start = start;
	map->size = end - start;
	map->next = start;
	map->mod = mod;
	/* objtool puts a landing pad at each target of an indirect branch. */
	map->landing_pads = !mod && IS_ENABLED(CONFIG_X86_KERNEL_IBT);
	map->targets = vzalloc(BITS_TO_LONGS(map->size) * sizeof(long));
	map->decoded = vzalloc(BITS_TO_LONGS(map->size / DECODED_GRANULE + 1) * sizeof(long));
	list_add(&map->list, &maps);
	if (map->targets && map->decoded)
		return map;

	free_map(map);
	return NULL;
}

/* The map may not be complete yet. */
struct kprobe_branch_map *kprobe_map_at(unsigned long addr)
{
	struct kprobe_branch_map *map;

	list_for_each_entry(map, &maps, list) {
		if (addr - map->start < map->size)
			return map;
	}

	return NULL;
}

/*
 * Between two pieces, jump labels, static calls and ftrace may change the text, but their targets
 * are found otherwise. Without memory there is no map, and kprobe_find_target() refuses the jump.
 */
bool arch_optimizer_begin(unsigned long addr)
{
	struct kprobe_branch_map *map;
	unsigned int i;
	u8 *buf;

	lockdep_assert_held(&kprobe_mutex);

	map = kprobe_map_at(addr) ?: make_map(addr);
	if (!map || map->ready)
		return false;

	buf = kmalloc(PIECE + OVERHANG, GFP_KERNEL);
	if (!buf)
		return false;

	for (i = 0; i < PIECES_AT_ONCE && map->next < map->start + map->size; i++)
		scan_piece(map, buf);
	kfree(buf);
	if (map->next < map->start + map->size)
		return true;

	if (map->mod)
		scan_module_tables(map);
	else
		scan_kernel_tables(map);
	map->ready = true;
	return false;
}

void arch_optimizer_forget(unsigned long start, unsigned long end)
{
	struct kprobe_branch_map *map, *tmp;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry_safe(map, tmp, &maps, list) {
		if (map->start >= start && map->start < end)
			free_map(map);
	}
}

/*
 * Decoding
 */

/* A thunk that jumps to an address in a register. Some thunks do not count as kernel text. */
static bool is_thunk(unsigned long addr)
{
	char buf[KSYM_NAME_LEN];
	const char *name;

	if (!core_kernel_text(addr) && !is_module_text_address(addr))
		return true;

	name = kprobe_name_at(addr, buf);
	return name && strstarts(name, "__x86_indirect_");
}

/*
 * A jump to an address in a register, which may have been computed from a relative offset.
 * Absolute addresses are found by the scan.
 */
static bool is_computed_jump(struct insn *insn, unsigned long addr,
			     unsigned long start, unsigned long end)
{
	unsigned long target = kprobe_insn_target(insn, addr);

	switch (kprobe_insn_branch(insn)) {
	case KPROBE_OP_JMP_REG:
		return true;
	case KPROBE_OP_JMP:
	case KPROBE_OP_JCC:
		return (target < start || target >= end) && is_thunk(target);
	}

	return false;
}

/* While a BPF trampoline is attached, ftrace has a jump to it there. */
static bool is_ftrace_site(unsigned long addr)
{
	return ftrace_location(addr) == addr;
}

/*
 * On 32 bit, handlers access all data through segments, and per-CPU data through a special one. A
 * breakpoint loads them; a detour runs with the current ones.
 */
static bool loads_segment(struct insn *insn)
{
	if (IS_ENABLED(CONFIG_X86_64))
		return false;

	switch (kprobe_insn_op(insn)) {
	case 0x07:		/* pop %es */
	case 0x1f:		/* pop %ds */
	case 0xc4 ... 0xc5:	/* les, lds */
	case OP_0F(0xa1):	/* pop %fs */
	case OP_0F(0xb4):	/* lfs */
		return true;
	case 0x8e:		/* mov to a segment; the kernel does not use %gs */
		return X86_MODRM_REG(insn->modrm.value) != 5;
	}

	return false;
}

static bool pushes_or_pops_16_bits(struct insn *insn)
{
	if (!kprobe_insn_has_prefix(insn, PREFIX_OPND) || X86_REX_W(kprobe_insn_rex(insn)))
		return false;

	switch (kprobe_insn_op(insn)) {
	case 0x50 ... 0x5f:			/* push, pop of a register */
	case 0x68:				/* push of a constant */
	case 0x6a:
	case 0x9c ... 0x9d:			/* pushf, popf */
	case 0xc8 ... 0xc9:			/* enter, leave */
	case OP_0F(0xa0) ... OP_0F(0xa1):	/* push, pop of %fs */
	case OP_0F(0xa8) ... OP_0F(0xa9):	/* push, pop of %gs */
		return true;
	case OP_GRP1A:
		return X86_MODRM_REG(insn->modrm.value) == GRP1A_POP;
	case OP_GRP5:
		return X86_MODRM_REG(insn->modrm.value) == GRP5_PUSH;
	}

	return false;
}

/* The constant is added to the stack pointer, or subtracted. */
static bool adds_unaligned_to_sp(struct insn *insn)
{
	u8 reg = X86_MODRM_REG(insn->modrm.value);
	long constant;

	switch (kprobe_insn_op(insn)) {
	case OP_GRP1_I32:
	case OP_GRP1_I8:
		if (reg != KPROBE_ALU_ADD && reg != KPROBE_ALU_SUB)
			return false;
		if (!kprobe_insn_is_reg_form(insn) || !kprobe_insn_operand_has_sp(insn))
			return false;
		constant = insn->immediate.value;
		break;
	case OP_LEA:
		if (reg != REG_SP || X86_REX_R(kprobe_insn_rex(insn)) ||
		    !kprobe_insn_operand_has_sp(insn))
			return false;
		constant = insn->displacement.value;
		break;
	case 0xc8:	/* enter */
		constant = insn->immediate.value;
		break;
	default:
		return false;
	}

	return !IS_ALIGNED(constant, sizeof(long));
}

/*
 * C code relies on an aligned stack: KASAN computes addresses from it, and a lock must not be
 * split between cache lines. On 64 bit, a breakpoint aligns it. Aligning it in each detour would
 * cost all hits, for functions that only assembly can contain. Their callees run on the same
 * stack, but are not recognized. On 32 bit, not even exceptions align it.
 */
static bool misaligns_stack(struct insn *insn)
{
	return IS_ENABLED(CONFIG_X86_64) &&
	       (pushes_or_pops_16_bits(insn) || adds_unaligned_to_sp(insn));
}

/* Zeros follow the last function of a module. An odd one is half an instruction. */
static bool is_tail(unsigned long at, unsigned long end)
{
	u8 byte = 0;

	return end - at == 1 && !kprobe_read_text(at, &byte, 1) && !byte;
}

/* The reason against jumps where there may be a jump to a computed address. */
static u8 why_computed(const struct kprobe_branch_map *map)
{
	return map->landing_pads ? KPROBE_NOOPT_NONE : KPROBE_NOOPT_INDIRECT;
}

/*
 * Mark the targets of a function's short branches. Returns a reason against jumps in the whole
 * function, or KPROBE_NOOPT_NONE.
 */
u8 kprobe_map_decode(struct kprobe_branch_map *map, unsigned long start, unsigned long end)
{
	u8 why = KPROBE_NOOPT_NONE;
	struct kprobe_insn ki;
	unsigned long at;

	lockdep_assert_held(&text_mutex);

	for (at = start; at < end; at += kprobe_skip(&ki, at)) {
		if (kprobe_fetch_at(at, end, &ki))
			return is_tail(at, end) ? why : KPROBE_NOOPT_UNDECODED;

		if (kprobe_op_is_direct(kprobe_insn_branch(&ki.insn)) &&
		    ki.insn.immediate.nbytes == 1)
			kprobe_map_mark(map, kprobe_insn_target(&ki.insn, at));
		else if (loads_segment(&ki.insn))
			why = KPROBE_NOOPT_SEGMENT;
		else if (misaligns_stack(&ki.insn))
			why = KPROBE_NOOPT_STACK;
		else if (!map->landing_pads && is_computed_jump(&ki.insn, at, start, end) &&
			 !is_ftrace_site(at))
			why = KPROBE_NOOPT_INDIRECT;
	}

	return why;
}

/*
 * A bit for the start of a function says that it has been decoded, and has nothing against jumps.
 * The few that do, or that are not aligned, are decoded each time. The reason may be a breakpoint
 * of the debugger, which will not stay.
 */
static u8 decode_once(struct kprobe_branch_map *map, unsigned long start, unsigned long end)
{
	unsigned long bit = (start - map->start) / DECODED_GRANULE;
	bool fits = IS_ALIGNED(start - map->start, DECODED_GRANULE);
	u8 why;

	if (fits && test_bit(bit, map->decoded))
		return KPROBE_NOOPT_NONE;

	why = kprobe_map_decode(map, start, end);
	if (fits && !why)
		__set_bit(bit, map->decoded);
	return why;
}

/* The largest distance of a short branch from its target. */
#define REACH	(128 + JMP8_INSN_SIZE)

/* Padding before the first symbol of a module counts as a function, too. */
static bool function_at(struct kprobe_branch_map *map, unsigned long addr,
			unsigned long *start, unsigned long *end)
{
	unsigned long size, into;

	if (kallsyms_lookup_size_offset(addr, &size, &into)) {
		*start = addr - into;
		*end = *start + size;
		return *end > addr;
	}

	*start = map->start;
	for (*end = addr + 1; *end < map->start + map->size; ++*end) {
		if (kallsyms_lookup_size_offset(*end, &size, &into))
			return true;
	}

	return false;
}

/*
 * Decode all functions whose short branches may reach @len bytes from @addr on. Returns what is
 * found in the function at @own, if all others can be decoded.
 */
static u8 decode_within_reach(struct kprobe_branch_map *map, unsigned long addr,
			      unsigned int len, unsigned long own)
{
	unsigned long at = max(addr - REACH, map->start);
	unsigned long last = min(addr + len + REACH, map->start + map->size);
	unsigned long start, end;
	u8 found = KPROBE_NOOPT_NONE, why;

	for (; at < last; at = end) {
		if (!function_at(map, at, &start, &end))
			return KPROBE_NOOPT_UNDECODED;

		why = decode_once(map, start, end);
		if (why == KPROBE_NOOPT_UNDECODED)
			return why;
		if (start == own)
			found = why;
	}

	return found;
}

/* The other parts of a function that was split. @name is that of the symbols. */
struct rest {
	struct kprobe_branch_map	*map;
	const char			*name;
	bool				seen;
	u8				why;
};

static int decode_part(void *data, unsigned long addr)
{
	struct rest *r = data;
	u8 why = why_computed(r->map);
	unsigned long size, into;

	r->seen = true;
	if (addr - r->map->start < r->map->size &&
	    kallsyms_lookup_size_offset(addr, &size, &into))
		why = decode_once(r->map, addr, addr + size);
	r->why = r->why ?: why;
	return 0;
}

static int decode_if_named(void *data, const char *name, unsigned long addr)
{
	struct rest *r = data;

	return strcmp(name, r->name) ? 0 : decode_part(r, addr);
}

/*
 * A part that was split off a function, and the rest of it, jump to each other. A part that is
 * not found may do so by computed jumps. Static functions may share the name, so any of these
 * symbols may be the one.
 */
static u8 decode_rest(struct kprobe_branch_map *map, unsigned long start)
{
	char name[KSYM_NAME_LEN], *dot;
	struct rest r = { .map = map, .name = name };

	if (lookup_symbol_name(start, name))
		return why_computed(map);

	dot = strstr(name, ".cold");
	if (dot)
		*dot = '\0';
	else if (strlcat(name, ".cold", sizeof(name)) >= sizeof(name))
		return why_computed(map);

	if (map->mod)
		module_kallsyms_on_each_symbol(module_name(map->mod), decode_if_named, &r);
	else
		kallsyms_on_each_match_symbol(decode_part, name, &r);
	return dot && !r.seen ? why_computed(map) : r.why;
}

/*
 * The answer
 */

static bool is_symbol(unsigned long addr)
{
	unsigned long size, into;

	return kallsyms_lookup_size_offset(addr, &size, &into) && !into;
}

static bool is_landing_pad(unsigned long addr)
{
	u32 word;

	return !kprobe_read_text(addr, (u8 *)&word, sizeof(word)) && kprobe_is_landing_pad(word);
}

/*
 * Is there a branch target in the range of @len bytes from @addr on, in the function at @start?
 * Returns the reason against a jump there, or KPROBE_NOOPT_NONE, and sets @at to the offset of the
 * target. The jump label lock is held.
 */
u8 kprobe_find_target(unsigned long addr, unsigned int len, unsigned long start, u8 *at)
{
	struct kprobe_branch_map *map;
	unsigned int i;
	u8 why;

	lockdep_assert_held(&kprobe_mutex);
	lockdep_assert_held(&text_mutex);

	*at = 0;
	map = kprobe_map_at(addr);
	if (!map || !map->ready)
		return KPROBE_NOOPT_NOMEM;

	why = decode_within_reach(map, addr, len, start) ?: decode_rest(map, start);
	if (why)
		return why;

	for (i = 0; i < len; i++) {
		*at = i;
		if (test_bit(addr + i - map->start, map->targets) || is_symbol(addr + i))
			return KPROBE_NOOPT_TARGET;
		if (is_landing_pad(addr + i))
			return KPROBE_NOOPT_LANDING;
	}

	return KPROBE_NOOPT_NONE;
}
