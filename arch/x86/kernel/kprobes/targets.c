// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where code is entered from elsewhere. The bytes behind the first one of a jump
 * must not be: there is no instruction any more.
 *
 * For a region of text, a bit for each byte tells that something may lead there.
 * Rather too many bits are set than too few: what has a displacement of 32 bits
 * is found by its bytes, at any offset, as if an instruction could begin
 * everywhere, so that nothing depends on where decoding begins, or on what
 * stands between the functions. Short jumps are too frequent for this; but they
 * come from near by, so the functions around are decoded for them, once each.
 *
 * A map is made when the first probe in its region is to be optimized: in pieces,
 * with no lock held but kprobe_mutex. The kernel's stays, a module's goes with the
 * module. Its size is 5/32 of that of the text.
 */

#include <linux/bitmap.h>
#include <linux/extable.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kgdb.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <linux/vmalloc.h>

#include <asm/ibt.h>
#include <asm/sections.h>

#include "common.h"
#include "targets.h"

/* Text is read in pieces, with what an instruction may extend behind them. */
#define PIECE		1024
#define OVERHANG	16
#define PIECES_AT_ONCE	64

/* Bytes of text to a bit of kprobe_targets.swept. Most functions are aligned to more. */
#define GRANULE		4

/* From the linker script. */
extern const struct exception_table_entry __start___ex_table[];
extern const struct exception_table_entry __stop___ex_table[];

static struct kprobe_targets kernel_targets;

/* The maps of modules; kprobe_mutex. */
static LIST_HEAD(module_targets);

/**
 * kprobe_targets_mark() - something may lead to an address
 * @t: the map
 * @addr: the address; it may be elsewhere
 */
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
	case 0xe8: case 0xe9:		/* call, jmp */
		mark_relative(t, p + 1, addr + 1);
		break;
	case 0x0f:			/* jcc */
		if ((p[1] & 0xf0) == 0x80)
			mark_relative(t, p + 2, addr + 2);
		break;
	case 0x8d:			/* lea */
		if (IS_ENABLED(CONFIG_X86_32)) {
			mark_absolute(t, p + 2);
			mark_absolute(t, p + 3);
		} else if ((p[1] & 0xc7) == 0x05) {
			mark_relative(t, p + 2, addr + 2);
		}
		break;
	case 0x9a: case 0xea:		/* far call, far jmp */
		if (IS_ENABLED(CONFIG_X86_32))
			mark_absolute(t, p + 1);
		break;
	case 0x68:			/* push */
	case 0xb8 ... 0xbf:		/* mov to a register */
		mark_absolute(t, p + 1);
		break;
	case 0xc7:			/* mov; xbegin */
		if (p[1] == 0xf8)
			mark_relative(t, p + 2, addr + 2);
		for (k = 2; k <= 7; k++)
			mark_absolute(t, p + k);
		break;
	}
}

/*
 * The debugger keeps the byte that its breakpoint has replaced to itself, so it may
 * have been any opcode: one of each kind is tried.
 */
static void scan_breakpoint(struct kprobe_targets *t, const u8 *p, unsigned long addr)
{
#ifdef CONFIG_KGDB
	static const u8 opcodes[] = { 0xe8, 0x0f, 0x8d, 0xea, 0x68, 0xc7 };
	u8 insn[1 + OVERHANG];
	unsigned int i;

	/* Padding, which there is much of; with this after it, no opcode makes sense. */
	if (get_unaligned((const u32 *)(p + 1)) == 0x01010101u * INT3_INSN_OPCODE)
		return;
	if (!kgdb_has_hit_break(addr))
		return;

	memcpy(insn, p, sizeof(insn));
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		insn[0] = opcodes[i];
		scan_byte(t, insn, addr);
	}
#endif
}

/**
 * kprobe_targets_scan_text() - mark what code leads to, but for short jumps
 * @t: the map
 * @text: the code, and OVERHANG bytes more
 * @len: its length
 * @addr: where it stands
 *
 * That is calls, jumps, addresses that are loaded relative to the instruction pointer,
 * and constants.
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
/* Those that are a NOP now may be a jump tomorrow. */
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
	t->swept = vzalloc(BITS_TO_LONGS(t->size / GRANULE + 1) * sizeof(long));
	if (t->map && t->swept)
		return 0;

	targets_free(t);
	return -ENOMEM;
}

/* A piece of text without probes. What cannot be read is no code. */
static void read_piece(unsigned long addr, unsigned long end, u8 *buf,
		       unsigned int len)
{
	len = min_t(unsigned long, len, end - addr);
	if (kprobe_read_text(addr, buf, len))
		memset(buf, INT3_INSN_OPCODE, len);
	memset(buf + len, INT3_INSN_OPCODE, PIECE + OVERHANG - len);
}

static void scan_piece(struct kprobe_targets *t, u8 *buf)
{
	unsigned long end = t->start + t->size;

	read_piece(t->next, end, buf, PIECE + OVERHANG);
	kprobe_targets_scan_text(t, buf, min_t(unsigned long, PIECE, end - t->next), t->next);
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

	/* The data of its init may just be freed, and leads to its init only. */
	for_class_mod_mem_type(type, core_data) {
		const struct module_memory *mem = &mod->mem[type];

		scan_words(t, mem->base, mem->base + mem->size);
	}
	scan_fixups(t, mod->extable, mod->extable + mod->num_exentries);
#ifdef CONFIG_JUMP_LABEL
	scan_jump_labels(t, mod->jump_entries, mod->jump_entries + mod->num_jump_entries);
#endif
}

static unsigned long lookup_in_module(const struct kprobe_targets *t, const char *name)
{
	char of_module[MODULE_NAME_LEN + KSYM_NAME_LEN];

	snprintf(of_module, sizeof(of_module), "%s:%s", t->mod->name, name);
	return kallsyms_lookup_name(of_module);
}

/* The module does not go away before arch_optimizer_forget(). */
static struct kprobe_targets *make_module_targets(unsigned long addr)
{
	struct kprobe_targets *t;
	unsigned long start;
	struct module *mod;

	scoped_guard(preempt)
		mod = __module_text_address(addr);
	if (!mod || !within_module_mem_type(addr, mod, MOD_TEXT))
		return NULL;

	t = kzalloc(sizeof(*t), GFP_KERNEL);
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

static unsigned long lookup_in_module(const struct kprobe_targets *t, const char *name)
{
	return 0;
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

/* The map of a region, complete or not; NULL if it has not been begun. */
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

/**
 * arch_optimizer_begin() - make the map of the region that an address is in
 * @addr: of a probe that is to be optimized
 *
 * Between the pieces, text may be changed by jump labels, static calls and
 * ftrace; but these lead to places that are known otherwise.
 *
 * Context: kprobe_mutex held; sleeps. Without memory, no probe is optimized.
 * Return: true if it is to be called again.
 */
bool arch_optimizer_begin(unsigned long addr)
{
	struct kprobe_targets *t = find_targets(addr);
	unsigned int i;
	u8 *buf;

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

/**
 * arch_optimizer_forget() - free the map of a module
 * @start: start of its text, which is about to be freed
 * @end: end of it
 *
 * Context: kprobe_mutex held.
 */
void arch_optimizer_forget(unsigned long start, unsigned long end)
{
	struct kprobe_targets *t, *tmp;

	list_for_each_entry_safe(t, tmp, &module_targets, list) {
		if (t->start < start || t->start >= end)
			continue;
		list_del(&t->list);
		targets_free(t);
		kfree(t);
	}
}

/*
 * Short jumps
 */

/* A jump there is one to an address in a register. Some thunks are no text. */
static bool is_thunk(unsigned long addr)
{
	char name[KSYM_NAME_LEN];

	if (!core_kernel_text(addr) && !is_module_text_address(addr))
		return true;

	return !lookup_symbol_name(addr, name) && strstarts(name, "__x86_indirect_");
}

/*
 * Whether each indirect branch ends at a landing pad. For the kernel objtool has seen
 * to it. Of a module it is not known who built it, and whether the CPU enforces it.
 */
static bool has_landing_pads(const struct kprobe_targets *t)
{
	return IS_ENABLED(CONFIG_X86_KERNEL_IBT) && t == &kernel_targets;
}

/*
 * A jump to an address in a register. Such an address may have been computed
 * from words that are relative to something. Absolute ones have been seen.
 */
static bool is_computed_jump(const struct insn *insn, unsigned long next,
			     unsigned long start, unsigned long end)
{
	u8 opcode = insn->opcode.bytes[0], second = insn->opcode.bytes[1];
	unsigned long target = next + insn->immediate.value;

	if (insn_is_avx((struct insn *)insn))
		return false;
	if (opcode == 0xff)
		return X86_MODRM_REG(insn->modrm.value) == 4 &&
		       X86_MODRM_MOD(insn->modrm.value) == 3;
	if (opcode == JMP32_INSN_OPCODE ||
	    (opcode == 0x0f && (second & 0xf0) == 0x80))
		return (target < start || target >= end) && is_thunk(target);
	return false;
}

static bool is_short_jump(const struct insn *insn)
{
	u8 opcode = insn->opcode.bytes[0];

	if (insn_is_avx((struct insn *)insn))
		return false;

	return opcode == JMP8_INSN_OPCODE || (opcode & 0xf0) == 0x70 ||
	       (opcode & 0xfc) == 0xe0;
}

/*
 * On 32 bit, handlers find all data through segments, and those of the CPU through
 * one of its own. A breakpoint loads them; a detour takes what there is.
 */
static bool loads_segment(const struct insn *insn)
{
	if (IS_ENABLED(CONFIG_X86_64) || insn_is_avx((struct insn *)insn))
		return false;

	switch (insn->opcode.bytes[0]) {
	case 0x07: case 0x1f:			/* pop %es, pop %ds */
	case 0xc4: case 0xc5:			/* les, lds */
		return true;
	case 0x8e:				/* mov; gs is nobody's */
		return X86_MODRM_REG(insn->modrm.value) != 5;
	case 0x0f:				/* pop %fs, lfs */
		return insn->opcode.bytes[1] == 0xa1 || insn->opcode.bytes[1] == 0xb4;
	}

	return false;
}

/* Behind the last function of a module there are zeros, perhaps half of a pair. */
static bool is_tail(unsigned long at, unsigned long end)
{
	u8 byte = 0;

	return end - at == 1 && !kprobe_read_text(at, &byte, 1) && !byte;
}

/**
 * kprobe_targets_sweep() - mark what the short jumps of a function lead to
 * @t: the map
 * @start: start of the function
 * @end: its end
 *
 * Context: kprobe_mutex and text_mutex held.
 * Return: KPROBE_SWEPT_*
 */
enum kprobe_swept kprobe_targets_sweep(struct kprobe_targets *t, unsigned long start,
				       unsigned long end)
{
	enum kprobe_swept found = KPROBE_SWEPT_PLAIN;
	struct kprobe_insn ki;
	unsigned long at;

	for (at = start; at < end; at += ki.insn.length) {
		unsigned long next;

		if (kprobe_fetch_at(at, end, &ki))
			return is_tail(at, end) ? found : KPROBE_SWEPT_UNDECODED;

		next = at + ki.insn.length;
		if (is_short_jump(&ki.insn))
			kprobe_targets_mark(t, next + ki.insn.immediate.value);
		else if (loads_segment(&ki.insn))
			found = KPROBE_SWEPT_SEGMENTS;
		else if (!has_landing_pads(t) &&
			 is_computed_jump(&ki.insn, next, start, end))
			found = max(found, KPROBE_SWEPT_COMPUTED);
	}

	return found;
}

/*
 * What was found is remembered in the first three of a function's bits. It is not
 * for the few functions that are shorter, or begin in between.
 */
static enum kprobe_swept sweep_once(struct kprobe_targets *t, unsigned long start,
				    unsigned long end)
{
	unsigned long bit = (start - t->start) / GRANULE;
	bool fits = IS_ALIGNED(start - t->start, GRANULE) && end - start >= 3 * GRANULE;
	enum kprobe_swept found;

	if (fits && test_bit(bit, t->swept))
		return KPROBE_SWEPT_PLAIN + test_bit(bit + 1, t->swept) +
		       2 * test_bit(bit + 2, t->swept);

	found = kprobe_targets_sweep(t, start, end);
	if (fits) {
		BUILD_BUG_ON(KPROBE_SWEPT_UNDECODED - KPROBE_SWEPT_PLAIN > 3);
		__set_bit(bit, t->swept);
		__assign_bit(bit + 1, t->swept, (found - KPROBE_SWEPT_PLAIN) & 1);
		__assign_bit(bit + 2, t->swept, (found - KPROBE_SWEPT_PLAIN) & 2);
	}
	return found;
}

/* From how far a short jump can come. */
#define REACH	(128 + JMP8_INSN_SIZE)

/*
 * The function that an address belongs to. In front of the first symbol of a
 * module there may be padding: taken for one, too.
 */
static bool function_at(struct kprobe_targets *t, unsigned long addr,
			unsigned long *start, unsigned long *end)
{
	unsigned long size, into;

	if (kallsyms_lookup_size_offset(addr, &size, &into)) {
		*start = addr - into;
		*end = *start + size;
		return *end > addr;
	}

	*start = t->start;
	for (*end = addr + 1; *end < t->start + t->size; ++*end) {
		if (kallsyms_lookup_size_offset(*end, &size, &into))
			return true;
	}

	return false;
}

/* All functions from which a short jump can come to @addr and @len behind it. */
static u8 sweep_around(struct kprobe_targets *t, unsigned long addr,
		       unsigned int len, unsigned long own)
{
	unsigned long at = max(addr - REACH, t->start);
	unsigned long last = min(addr + len + REACH, t->start + t->size);
	unsigned long start, end;

	for (; at < last; at = end) {
		enum kprobe_swept swept;

		if (!function_at(t, at, &start, &end))
			return KPROBE_NOOPT_UNDECODED;

		swept = sweep_once(t, start, end);
		if (swept == KPROBE_SWEPT_UNDECODED)
			return KPROBE_NOOPT_UNDECODED;
		if (start != own)
			continue;
		if (swept == KPROBE_SWEPT_COMPUTED)
			return KPROBE_NOOPT_INDIRECT;
		if (swept == KPROBE_SWEPT_SEGMENTS)
			return KPROBE_NOOPT_SEGMENT;
	}

	return KPROBE_NOOPT_NONE;
}

struct rest {
	struct kprobe_targets	*t;
	bool			found, computed;
};

static int sweep_rest(void *data, unsigned long addr)
{
	struct rest *r = data;
	unsigned long size, into;

	r->found = true;
	if (addr - r->t->start >= r->t->size ||
	    !kallsyms_lookup_size_offset(addr, &size, &into) ||
	    sweep_once(r->t, addr, addr + size) != KPROBE_SWEPT_PLAIN)
		r->computed = true;
	return 0;
}

/* All that have the name: each may be the one. */
static void sweep_named(struct rest *r, const char *name)
{
	unsigned long addr;

	if (!r->t->mod) {
		kallsyms_on_each_match_symbol(sweep_rest, name, r);
		return;
	}

	addr = lookup_in_module(r->t, name);
	if (addr)
		sweep_rest(r, addr);
}

/* Parts that were split off are jumped to and from by the rest of the function. */
static bool rest_has_computed_jump(struct kprobe_targets *t, unsigned long start)
{
	char name[KSYM_NAME_LEN], *dot;
	struct rest r = { .t = t };

	if (has_landing_pads(t))
		return false;
	if (lookup_symbol_name(start, name))
		return true;

	dot = strstr(name, ".cold");
	if (dot)
		*dot = '\0';
	else if (strlcat(name, ".cold", sizeof(name)) >= sizeof(name))
		return true;

	sweep_named(&r, name);
	return r.computed || (dot && !r.found);
}

static bool is_symbol(unsigned long addr)
{
	unsigned long size, into;

	return kallsyms_lookup_size_offset(addr, &size, &into) && !into;
}

/* Where an indirect branch may come, by the rules of the CPU. */
static bool is_landing_pad(unsigned long addr)
{
	u32 word;

	return !kprobe_read_text(addr, (u8 *)&word, sizeof(word)) && is_endbr(word);
}

/**
 * kprobe_find_entry() - does anything lead to an address in a range?
 * @addr: first of the range
 * @len: length of the range
 * @start: start of the function it is in
 * @end: end of the function
 * @at: set to the offset in the range
 *
 * Context: kprobe_mutex, text_mutex and the jump label lock held; sleeps.
 * Return: KPROBE_NOOPT_NONE if nothing does, else what speaks against it.
 */
u8 kprobe_find_entry(unsigned long addr, unsigned int len, unsigned long start,
		     unsigned long end, u8 *at)
{
	struct kprobe_targets *t = find_targets(addr);
	unsigned int i;
	u8 why;

	*at = 0;
	if (!t || !t->ready)
		return KPROBE_NOOPT_NOMEM;

	why = sweep_around(t, addr, len, start);
	if (why)
		return why;
	if (rest_has_computed_jump(t, start))
		return KPROBE_NOOPT_INDIRECT;

	for (i = 0; i < len; i++) {
		*at = i;
		if (test_bit(addr + i - t->start, t->map) || is_symbol(addr + i))
			return KPROBE_NOOPT_TARGET;
		if (is_landing_pad(addr + i))
			return KPROBE_NOOPT_LANDING;
	}

	return KPROBE_NOOPT_NONE;
}
