// SPDX-License-Identifier: GPL-2.0-only
/*
 * Branch analysis: may anything branch to these bytes? A jump of five bytes mostly replaces more
 * than the probed instruction, and must not be entered in the middle. With this and hop.c, 91 % of
 * random kernel addresses have a jump; decoding just the probed function allowed it for 57 %.
 *
 * The single entry point is kprobe_find_entry(): is there a branch target in this range?
 * optimize.c asks it about the inside of a jump. If there is one, hop.c tries a jump of two bytes
 * to padding nearby, and asks the same about that padding. When in doubt, the answer is yes. It
 * comes from:
 *
 * - A map of the text with one bit for each byte, set if it may be a target (this file). Branches
 *   with a displacement of 32 bits, addresses relative to the instruction pointer and constants are
 *   searched for at each byte, as if an instruction could begin there. So the map depends neither
 *   on where decoding begins nor on what is between functions. Pointers in data, fixups of
 *   exceptions and jump labels are added.
 * - The functions around the range, decoded once each (sweep.c). Short branches are too frequent to
 *   be searched for at each byte, but their targets are near. Decoding also finds what keeps jumps
 *   out of the whole probed function, such as a jump to a computed address.
 * - Symbols, and landing pads of indirect branches.
 *
 * The optimizer makes a map when the first probe in its region is to be optimized, in pieces,
 * with no lock held except kprobe_mutex (arch_optimizer_begin()). The map of the kernel is kept,
 * that of a module is freed with the module. Its size is 5/32 of the size of the text.
 */

#include <linux/bitmap.h>
#include <linux/extable.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <linux/vmalloc.h>

#include <asm/ibt.h>
#include <asm/sections.h>

#include "common.h"
#include "insn.h"
#include "targets.h"

/* Text is read in pieces, with some bytes more: an instruction may begin at the end of a piece. */
#define PIECE		1024
#define OVERHANG	16
#define PIECES_AT_ONCE	64

/* From the linker script. */
extern const struct exception_table_entry __start___ex_table[];
extern const struct exception_table_entry __stop___ex_table[];

static struct kprobe_targets kernel_targets = {
	/* objtool puts a landing pad at each target of an indirect branch. */
	.landing_pads	= IS_ENABLED(CONFIG_X86_KERNEL_IBT),
};

/* The maps of modules; kprobe_mutex. */
static LIST_HEAD(module_targets);

/* Ignores addresses outside of the region. */
void kprobe_targets_mark(struct kprobe_targets *t, unsigned long addr)
{
	if (addr - t->start < t->size)
		__set_bit(addr - t->start, t->map);
}

static void mark_relative(struct kprobe_targets *t, const u8 *disp,
			  unsigned long addr)
{
	kprobe_targets_mark(t, addr + sizeof(s32) + get_unaligned((const s32 *)disp));
}

static void mark_absolute(struct kprobe_targets *t, const u8 *imm)
{
	kprobe_targets_mark(t, (long)get_unaligned((const s32 *)imm));
}

static void scan_byte(struct kprobe_targets *t, const u8 *p, unsigned long addr)
{
	unsigned int k;

	switch (p[0]) {
	case CALL_INSN_OPCODE:
	case JMP32_INSN_OPCODE:
		mark_relative(t, p + 1, addr + 1);
		break;
	case OP_ESCAPE:
		if (bytes_are_jcc32(p))
			mark_relative(t, p + 2, addr + 2);
		break;
	case OP_LEA:
		if (IS_ENABLED(CONFIG_X86_32)) {
			mark_absolute(t, p + 2);
			mark_absolute(t, p + 3);
		} else if ((p[1] & MODRM_RIP_MASK) == MODRM_RIP) {
			mark_relative(t, p + 2, addr + 2);
		}
		break;
	case OP_CALL_FAR:
	case OP_JMP_FAR:
		if (IS_ENABLED(CONFIG_X86_32))
			mark_absolute(t, p + 1);
		break;
	case OP_PUSH_I32:
	case OP_MOV_RI ... OP_MOV_RI | OP_REG:
		mark_absolute(t, p + 1);
		break;
	case OP_GRP11:
		if (p[1] == MODRM_RTM)
			mark_relative(t, p + 2, addr + 2);
		for (k = 2; k <= 7; k++)
			mark_absolute(t, p + k);
		break;
	}
}

/*
 * kgdb does not tell which byte its breakpoint has replaced. It may be any opcode, so one of each
 * kind is tried.
 */
static void scan_breakpoint(struct kprobe_targets *t, const u8 *p, unsigned long addr)
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
			scan_byte(t, insn, addr);
		return;
	}

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		insn[0] = opcodes[i];
		scan_byte(t, insn, addr);
	}
}

/*
 * Mark the branch targets in @len bytes of code for @addr, except for those of short branches.
 * @text has OVERHANG bytes more.
 */
void kprobe_targets_scan_text(struct kprobe_targets *t, const u8 *text,
			      unsigned int len, unsigned long addr)
{
	unsigned int i;

	for (i = 0; i < len; i++) {
		if (text[i] == INT3_INSN_OPCODE)
			scan_breakpoint(t, text + i, addr + i);
		else
			scan_byte(t, text + i, addr + i);
	}
}

static void scan_words(struct kprobe_targets *t, const void *start, const void *end)
{
	const unsigned long *word = PTR_ALIGN(start, sizeof(long));

	for (; (const void *)(word + 1) <= end; word++) {
		kprobe_targets_mark(t, READ_ONCE_NOCHECK(*word));
		if (!((unsigned long)word % PAGE_SIZE))
			cond_resched();
	}
}

static void scan_fixups(struct kprobe_targets *t,
			const struct exception_table_entry *start,
			const struct exception_table_entry *stop)
{
	const struct exception_table_entry *e;

	for (e = start; e < stop; e++)
		kprobe_targets_mark(t, (unsigned long)&e->fixup + e->fixup);
}

#ifdef CONFIG_JUMP_LABEL
/* A label that is a NOP now may become a jump at any time. */
static void scan_jump_labels(struct kprobe_targets *t, struct jump_entry *start,
			     struct jump_entry *stop)
{
	struct jump_entry *e;

	for (e = start; e < stop; e++)
		kprobe_targets_mark(t, jump_entry_target(e));
}
#endif

static void targets_free(struct kprobe_targets *t)
{
	vfree(t->swept);
	vfree(t->map);
	t->swept = NULL;
	t->map = NULL;
}

static int targets_alloc(struct kprobe_targets *t, unsigned long start,
			 unsigned long end)
{
	t->start = start;
	t->size = end - start;
	t->next = start;
	t->map = vzalloc(BITS_TO_LONGS(t->size) * sizeof(long));
	t->swept = vzalloc(BITS_TO_LONGS(t->size / KPROBE_SWEPT_GRANULE + 1) * sizeof(long));
	if (t->map && t->swept)
		return 0;

	targets_free(t);
	return -ENOMEM;
}

static void scan_piece(struct kprobe_targets *t, u8 *buf)
{
	unsigned long left = t->start + t->size - t->next;
	unsigned int len = min_t(unsigned long, left, PIECE + OVERHANG);

	/* Unreadable memory is no code. */
	if (kprobe_read_text(t->next, buf, len))
		len = 0;
	memset(buf + len, INT3_INSN_OPCODE, PIECE + OVERHANG - len);
	kprobe_targets_scan_text(t, buf, min_t(unsigned long, left, PIECE), t->next);
	t->next += PIECE;
}

static void scan_kernel_tables(struct kprobe_targets *t)
{
	scan_words(t, __start_rodata, __end_rodata);
	scan_words(t, _sdata, _edata);
	scan_fixups(t, __start___ex_table, __stop___ex_table);
#ifdef CONFIG_JUMP_LABEL
	scan_jump_labels(t, __start___jump_table, __stop___jump_table);
#endif
}

#ifdef CONFIG_MODULES
static void scan_module_tables(struct kprobe_targets *t)
{
	struct module *mod = t->mod;

	/* Init data may be freed concurrently, and refers to init text only. */
	for_class_mod_mem_type(type, core_data) {
		const struct module_memory *mem = &mod->mem[type];

		scan_words(t, mem->base, mem->base + mem->size);
	}
	scan_fixups(t, mod->extable, mod->extable + mod->num_exentries);
#ifdef CONFIG_JUMP_LABEL
	scan_jump_labels(t, mod->jump_entries, mod->jump_entries + mod->num_jump_entries);
#endif
}

/* The module is not freed before arch_optimizer_forget(). */
static struct kprobe_targets *make_module_targets(unsigned long addr)
{
	struct kprobe_targets *t;
	unsigned long start;
	struct module *mod;

	scoped_guard(preempt)
		mod = __module_text_address(addr);
	if (!mod || !within_module_mem_type(addr, mod, MOD_TEXT))
		return NULL;

	t = kzalloc_obj(*t);
	if (!t)
		return NULL;

	start = (unsigned long)mod->mem[MOD_TEXT].base;
	if (targets_alloc(t, start, start + mod->mem[MOD_TEXT].size)) {
		kfree(t);
		return NULL;
	}

	t->mod = mod;
	list_add(&t->list, &module_targets);
	return t;
}
#else
static void scan_module_tables(struct kprobe_targets *t)
{
}

static struct kprobe_targets *make_module_targets(unsigned long addr)
{
	return NULL;
}
#endif

static struct kprobe_targets *make_targets(unsigned long addr)
{
	unsigned long start = (unsigned long)_stext, end = (unsigned long)_etext;

	if (addr < start || addr >= end)
		return make_module_targets(addr);

	return targets_alloc(&kernel_targets, start, end) ? NULL : &kernel_targets;
}

/* The map may not be complete yet. */
static struct kprobe_targets *find_targets(unsigned long addr)
{
	struct kprobe_targets *t = &kernel_targets;

	if (t->map && addr - t->start < t->size)
		return t;

	list_for_each_entry(t, &module_targets, list) {
		if (addr - t->start < t->size)
			return t;
	}

	return NULL;
}

/*
 * Between two pieces, jump labels, static calls and ftrace may change the text, but their targets
 * are found otherwise. Without memory there is no map, and kprobe_find_entry() refuses the jump.
 */
bool arch_optimizer_begin(unsigned long addr)
{
	struct kprobe_targets *t;
	unsigned int i;
	u8 *buf;

	kprobe_assert_locked();

	t = find_targets(addr);
	if (!t)
		t = make_targets(addr);
	if (!t || t->ready)
		return false;

	buf = kmalloc(PIECE + OVERHANG, GFP_KERNEL);
	if (!buf)
		return false;

	for (i = 0; i < PIECES_AT_ONCE && t->next < t->start + t->size; i++)
		scan_piece(t, buf);
	kfree(buf);
	if (t->next < t->start + t->size)
		return true;

	if (t->mod)
		scan_module_tables(t);
	else
		scan_kernel_tables(t);
	t->ready = true;
	return false;
}

void arch_optimizer_forget(unsigned long start, unsigned long end)
{
	struct kprobe_targets *t, *tmp;

	kprobe_assert_locked();

	list_for_each_entry_safe(t, tmp, &module_targets, list) {
		if (t->start < start || t->start >= end)
			continue;
		list_del(&t->list);
		targets_free(t);
		kfree(t);
	}
}

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
 * Is there a branch target in the range of @len bytes from @addr on, in the function from @start
 * to @end? Returns the reason against a jump there, or KPROBE_NOOPT_NONE, and sets @at to the
 * offset of the target. The jump label lock is held.
 */
u8 kprobe_find_entry(unsigned long addr, unsigned int len, unsigned long start,
		     unsigned long end, u8 *at)
{
	struct kprobe_targets *t;
	unsigned int i;
	u8 why;

	kprobe_assert_locked();
	lockdep_assert_held(&text_mutex);

	*at = 0;
	t = find_targets(addr);
	if (!t || !t->ready)
		return KPROBE_NOOPT_NOMEM;

	why = kprobe_sweep_around(t, addr, len, start);
	if (why)
		return why;

	for (i = 0; i < len; i++) {
		*at = i;
		if (test_bit(addr + i - t->start, t->map) || is_symbol(addr + i))
			return KPROBE_NOOPT_TARGET;
		if (is_landing_pad(addr + i))
			return KPROBE_NOOPT_LANDING;
	}

	return KPROBE_NOOPT_NONE;
}
