// SPDX-License-Identifier: GPL-2.0-only
/*
 * The address of a probe, and whether it may be probed. These are decisions only:
 * nothing is changed and no reference is taken.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include "address.h"
#include "blacklist.h"

kprobe_opcode_t * __weak kprobe_lookup_name(const char *name, unsigned int offset)
{
	return (kprobe_opcode_t *)kallsyms_lookup_name(name);
}

kprobe_opcode_t * __weak arch_adjust_kprobe_addr(unsigned long addr,
						 unsigned long offset,
						 bool *on_func_entry)
{
	*on_func_entry = !offset;
	return (kprobe_opcode_t *)(addr + offset);
}

/**
 * kprobe_address_resolve() - find the address that a user means
 * @addr: an address, or NULL
 * @symbol: a symbol, or NULL
 * @offset: to be added to either
 * @where: set to the address and to whether it is a function's entry
 *
 * The sum may lie in another symbol than the one named; the symbol where it
 * lies is what counts.
 *
 * Context: process context.
 * Return: 0, -EINVAL unless exactly one of @addr and @symbol is given or when
 *	   the architecture cannot read the address, -ENOENT when the symbol is
 *	   unknown or no symbol covers the address.
 */
int kprobe_address_resolve(const void *addr, const char *symbol,
			   unsigned long offset, struct kprobe_where *where)
{
	unsigned long sum, into;

	if (!addr == !symbol)
		return -EINVAL;

	if (symbol)
		addr = kprobe_lookup_name(symbol, offset);
	if (!addr)
		return -ENOENT;

	sum = (unsigned long)addr + offset;
	if (!kallsyms_lookup_size_offset(sum, NULL, &into))
		return -ENOENT;

	where->addr = (unsigned long)arch_adjust_kprobe_addr(sum - into, into,
							     &where->on_entry);
	return where->addr ? 0 : -EINVAL;
}

/*
 * Preambles are the data of a caller's type check, or padding before a function. They
 * are never executed, or only by the function's own patching.
 */
static noinline_for_stack bool is_preamble(unsigned long addr)
{
	char name[KSYM_NAME_LEN];

	return !lookup_symbol_name(addr, name) &&
	       (str_has_prefix(name, "__cfi_") || str_has_prefix(name, "__pfx_"));
}

#ifdef CONFIG_JUMP_LABEL
/* No architecture has a longer one. */
#define JUMP_LABEL_MAX	16

static bool any_near(const struct jump_entry *entry, const struct jump_entry *stop,
		     unsigned long start, unsigned long last)
{
	for (; entry < stop; entry++) {
		unsigned long code = jump_entry_code(entry);

		if (code <= last && start < code + JUMP_LABEL_MAX)
			return true;
	}

	return false;
}

#ifdef CONFIG_MODULES
static bool near_module_jump_label(unsigned long start, unsigned long last)
{
	struct module *mod;

	guard(preempt)();

	mod = __module_text_address(start);
	return mod && any_near(mod->jump_entries,
			       mod->jump_entries + mod->num_jump_entries, start, last);
}
#else
static bool near_module_jump_label(unsigned long start, unsigned long last)
{
	return false;
}
#endif

static bool jump_label_reserved(unsigned long start, unsigned long last)
{
	bool near = any_near(__start___jump_table, __stop___jump_table, start, last) ||
		    near_module_jump_label(start, last);

	return near && jump_label_text_reserved((void *)start, (void *)last);
}
#else
static bool jump_label_reserved(unsigned long start, unsigned long last)
{
	return false;
}
#endif

/**
 * kprobe_jump_label_reserved() - is there a jump label in a range of text?
 * @start: first byte
 * @last: last byte, in the same module
 *
 * As jump_label_text_reserved(), which may have to decode the instruction of every
 * label. This calls it only if a label is near.
 *
 * Context: jump_label_lock() held, which cannot be asserted: its mutex is private. The
 *	    text does not go away.
 * Return: true if there is.
 */
bool kprobe_jump_label_reserved(unsigned long start, unsigned long last)
{
	return jump_label_reserved(start, last);
}

#ifdef CONFIG_GENERIC_BUG
static bool is_bug(unsigned long addr)
{
	/* The table is long and unsorted, and mostly the instruction is another. */
	return is_valid_bugaddr(addr) && find_bug(addr);
}
#else
static bool is_bug(unsigned long addr)
{
	return false;
}
#endif

/* Why the text at @addr cannot take a breakpoint, or NULL. */
static const char *refusal(unsigned long addr)
{
	if (in_gate_area_no_mm(addr))
		return "in the gate area";
	if (kprobe_blacklist_contains(addr))
		return "on the blacklist";
	if (kprobe_jump_label_reserved(addr, addr))
		return "a jump label";
	if (static_call_text_reserved((void *)addr, (void *)addr))
		return "a static call";
	if (is_bug(addr))
		return "a BUG or WARN";
	if (is_preamble(addr))
		return "in a function's preamble";
	return NULL;
}

/**
 * kprobe_address_vet() - may there be a probe?
 * @where: address; kind is set
 *
 * Context: jump_label_lock() held, preemption off.
 * Return: 0, or -EINVAL when it is not text that may be probed.
 */
int kprobe_address_vet(struct kprobe_where *where)
{
	unsigned long addr = where->addr;
	const char *why;

	where->kind = KPROBE_SITE_BREAKPOINT;
	if (ftrace_location(addr) == addr)
		where->kind = KPROBE_SITE_FTRACE;

	if (where->kind == KPROBE_SITE_FTRACE && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		why = "a call site of ftrace";
	else if (!core_kernel_text(addr) && !__module_text_address(addr))
		why = "not kernel text";
	else
		why = refusal(addr);
	if (!why)
		return 0;

	pr_debug_ratelimited("%pS cannot be probed: %s\n", (void *)addr, why);
	return -EINVAL;
}
