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
#include "refusal.h"

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

/*
 * Find the address that a user means: exactly one of @addr and @symbol, plus @offset. With
 * function descriptors, @addr may be a descriptor. The sum may lie in another symbol than the one
 * named; where it lies is what counts.
 */
enum kprobe_refusal kprobe_address_resolve(const void *addr, const char *symbol,
					   unsigned long offset,
					   struct kprobe_where *where)
{
	unsigned long sum, into;

	if (!addr == !symbol)
		return KPROBE_REFUSAL_ARGUMENTS;

	if (symbol)
		addr = kprobe_lookup_name(symbol, offset);
	else
		addr = dereference_symbol_descriptor((void *)addr);
	if (!addr)
		return KPROBE_REFUSAL_NO_SYMBOL;

	sum = (unsigned long)addr + offset;
	if (!kallsyms_lookup_size_offset(sum, NULL, &into))
		return KPROBE_REFUSAL_NO_SYMBOL;

	where->addr = (unsigned long)arch_adjust_kprobe_addr(sum - into, into,
							     &where->on_entry);
	return where->addr ? KPROBE_REFUSAL_NONE : KPROBE_REFUSAL_NOT_TEXT;
}

/* A visit of the symbols called @symbol, in modules and in the kernel. */
struct named {
	int		(*fn)(unsigned long addr, void *data);
	void		*data;
	const char	*symbol;
};

/* Users mean the code of a function, but its symbol may be that of its descriptor. */
static int visit_addr(void *data, unsigned long addr)
{
	struct named *n = data;

	return n->fn((unsigned long)dereference_symbol_descriptor((void *)addr), n->data);
}

static int visit_module_symbol(void *data, const char *symbol, unsigned long addr)
{
	struct named *n = data;

	return strcmp(symbol, n->symbol) ? 0 : visit_addr(n, addr);
}

/*
 * As module_kallsyms_on_each_symbol(), but without modules there is just no symbol. @mod is NULL
 * for all modules.
 */
int kprobe_for_each_module_symbol(const char *mod,
				  int (*fn)(void *data, const char *name,
					    unsigned long addr),
				  void *data)
{
	if (!IS_ENABLED(CONFIG_MODULES))
		return 0;
	return module_kallsyms_on_each_symbol(mod, fn, data);
}

/**
 * kprobe_for_each_symbol() - visit all symbols of one name
 * @name: "symbol", in the kernel and in all modules, or "module:symbol"
 * @fn: called with the address of each and with @data; another value than 0 ends the visit
 * @data: for @fn
 *
 * Static functions of different files may have the same name. A probe by name is at the
 * first of them, in the kernel before modules; this finds the others. Symbols of the kernel
 * come first, those of a module follow each other.
 *
 * Context: process context, sleeps, no locks held. @fn must not load or unload modules, nor
 *	    register probes.
 * Return: what @fn returned last, or 0 if there is no such symbol.
 */
int kprobe_for_each_symbol(const char *name, int (*fn)(unsigned long addr, void *data),
			   void *data)
{
	struct named named = { .fn = fn, .data = data, .symbol = name };
	const char *colon = strchr(name, ':');
	char mod[MODULE_NAME_LEN];
	int ret;

	if (colon) {
		/* Longer than the name of any module. */
		if (colon - name >= sizeof(mod))
			return 0;
		strscpy(mod, name, colon - name + 1);
		named.symbol = colon + 1;
	} else {
		ret = kallsyms_on_each_match_symbol(visit_addr, name, &named);
		if (ret)
			return ret;
	}

	return kprobe_for_each_module_symbol(colon ? mod : NULL, visit_module_symbol, &named);
}

/* Data may have the name, too, but the user means a function. */
static int count_symbol(unsigned long addr, void *data)
{
	unsigned int *nr = data;

	if (kernel_text_address(addr))
		++*nr;
	return *nr > 1;
}

bool kprobe_symbol_is_ambiguous(const char *name)
{
	unsigned int nr = 0;

	return kprobe_for_each_symbol(name, count_symbol, &nr) > 0;
}

/*
 * The compiler puts preambles before functions: the type hash that callers compare, or padding.
 * They are not executed, except for padding that the patching of the function itself has filled.
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

static bool near_jump_label(unsigned long start, unsigned long last)
{
	return any_near(__start___jump_table, __stop___jump_table, start, last) ||
	       near_module_jump_label(start, last);
}
#else
static bool near_jump_label(unsigned long start, unsigned long last)
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
	return near_jump_label(start, last) &&
	       jump_label_text_reserved((void *)start, (void *)last);
}

#ifdef CONFIG_GENERIC_BUG
static bool is_bug(unsigned long addr)
{
	/* find_bug() searches a long unsorted table, and most instructions are no traps. */
	return is_valid_bugaddr(addr) && find_bug(addr);
}
#else
static bool is_bug(unsigned long addr)
{
	return false;
}
#endif

static enum kprobe_refusal vet_text(unsigned long addr)
{
	enum kprobe_refusal why;

	if (in_gate_area_no_mm(addr))
		return KPROBE_REFUSAL_NOT_TEXT;
	why = kprobe_blacklist_rule(addr);
	if (why)
		return why;
	if (kprobe_jump_label_reserved(addr, addr))
		return KPROBE_REFUSAL_JUMP_LABEL;
	if (static_call_text_reserved((void *)addr, (void *)addr))
		return KPROBE_REFUSAL_STATIC_CALL;
	if (is_bug(addr))
		return KPROBE_REFUSAL_BUG;
	if (is_preamble(addr))
		return KPROBE_REFUSAL_PREAMBLE;
	return KPROBE_REFUSAL_NONE;
}

/*
 * Decide whether there may be a probe at @where->addr, and set @where->kind. Preemption is off,
 * and jump_label_lock() is held.
 */
enum kprobe_refusal kprobe_address_vet(struct kprobe_where *where)
{
	unsigned long addr = where->addr;

	where->kind = KPROBE_SITE_BREAKPOINT;
	if (ftrace_location(addr) == addr)
		where->kind = KPROBE_SITE_FTRACE;

	if (!core_kernel_text(addr) && !__module_text_address(addr))
		return KPROBE_REFUSAL_NOT_TEXT;
	if (where->kind == KPROBE_SITE_FTRACE && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		return KPROBE_REFUSAL_TRACED;

	return vet_text(addr);
}
