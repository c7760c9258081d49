// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text that must not be probed: what the hit path itself runs through, and
 * what would not survive it.
 *
 * The entries are kept in the order in which they came. For lookups there is
 * a second array, sorted and merged, which RCU publishes; a lookup takes no
 * lock, since kgdb asks with all CPUs stopped.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/bsearch.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <asm/sections.h>

#include "blacklist.h"

/* What lookups see. */
struct range_array {
	struct rcu_head		rcu;
	unsigned int		nr;
	struct kprobe_range	range[];
};

static DEFINE_MUTEX(blacklist_mutex);
static struct range_array __rcu *ranges;

/* All entries in order of arrival; under blacklist_mutex. */
static struct kprobe_range *entries;
static unsigned int nr_entries, max_entries;

/* Set while entries come in bulk, to be published once; blacklist_mutex. */
static bool publish_later = true;

/*
 * A CPU that goes down runs these after RCU and the text synchronization have
 * stopped covering it, and one that comes up before: nothing would wait for its
 * hit. The two of RCU are where that begins and ends. Not all exist everywhere.
 */
static const char * const offline_path[] __initconst = {
	"acpi_idle_play_dead",
	"arch_cpu_idle_dead",
	"cpu_die",
	"cpuhp_ap_report_dead",
	"cpuhp_report_idle_dead",
	"cpuidle_play_dead",
	"hlt_play_dead",
	"idle_task_exit",
	"mwait_play_dead",
	"native_play_dead",
	"play_dead",
	"play_dead_common",
	"pseries_cpu_offline_self",
	"rcutree_report_cpu_dead",
	"rcutree_report_cpu_starting",
	"smp_cpu_play_dead",
};

/*
 * Called by the hit path before it has said that a probe is running. The owners
 * of these have no reason of their own to mark them.
 */
static const char * const hit_path[] __initconst = {
	"rcu_is_watching",
};

/*
 * Templates that ftrace copies to make trampolines of them, with the labels in
 * them that are symbols, too. A breakpoint would be copied along.
 */
static const char * const copied[] __initconst = {
	"ftrace_call",
	"ftrace_caller",
	"ftrace_caller_end",
	"ftrace_caller_op_ptr",
	"ftrace_regs_call",
	"ftrace_regs_caller",
	"ftrace_regs_caller_end",
	"ftrace_regs_caller_jmp",
	"ftrace_regs_caller_op_ptr",
};

static int range_cmp(const void *a, const void *b)
{
	const struct kprobe_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return 0;
}

/**
 * kprobe_ranges_normalise() - sort ranges and merge those that touch
 * @r: the ranges, in any order; changed in place
 * @nr: how many
 *
 * Return: how many are left; empty ones are dropped.
 */
unsigned int kprobe_ranges_normalise(struct kprobe_range *r, unsigned int nr)
{
	unsigned int i, n = 0;

	sort(r, nr, sizeof(*r), range_cmp, NULL);

	for (i = 0; i < nr; i++) {
		if (r[i].start >= r[i].end)
			continue;
		if (n && r[i].start <= r[n - 1].end)
			r[n - 1].end = max(r[n - 1].end, r[i].end);
		else
			r[n++] = r[i];
	}

	return n;
}

static int addr_cmp(const void *key, const void *elt)
{
	const unsigned long addr = *(const unsigned long *)key;
	const struct kprobe_range *r = elt;

	if (addr < r->start)
		return -1;
	return addr >= r->end;
}

/**
 * kprobe_ranges_contain() - is an address in one of the ranges?
 * @r: normalised ranges
 * @nr: how many
 * @addr: the address
 *
 * Return: true if it is.
 */
bool kprobe_ranges_contain(const struct kprobe_range *r, unsigned int nr,
			   unsigned long addr)
{
	return bsearch(&addr, r, nr, sizeof(*r), addr_cmp);
}

static int blacklist_publish(void)
{
	struct range_array *new, *old;

	lockdep_assert_held(&blacklist_mutex);

	if (publish_later)
		return 0;

	new = kvmalloc(struct_size(new, range, nr_entries), GFP_KERNEL);
	if (!new)
		return -ENOMEM;

	memcpy(new->range, entries, nr_entries * sizeof(*entries));
	new->nr = kprobe_ranges_normalise(new->range, nr_entries);

	old = rcu_replace_pointer(ranges, new, lockdep_is_held(&blacklist_mutex));
	if (old)
		kvfree_rcu(old, rcu);
	return 0;
}

static int blacklist_append(unsigned long start, unsigned long end)
{
	unsigned int max = max(2 * max_entries, 256u);
	struct kprobe_range *more;

	lockdep_assert_held(&blacklist_mutex);

	if (nr_entries == max_entries) {
		more = kvmalloc_array(max, sizeof(*more), GFP_KERNEL);
		if (!more)
			return -ENOMEM;
		if (nr_entries)
			memcpy(more, entries, nr_entries * sizeof(*more));
		kvfree(entries);
		entries = more;
		max_entries = max;
	}

	entries[nr_entries++] = (struct kprobe_range){ start, end };
	return 0;
}

/* Returns the bytes from @entry to the end of its symbol, or an error. */
static long append_symbol(unsigned long entry)
{
	unsigned long size, offset;
	int ret;

	if (!kernel_text_address(entry) ||
	    !kallsyms_lookup_size_offset(entry, &size, &offset))
		return -EINVAL;

	ret = blacklist_append(entry - offset, entry - offset + size);
	return ret ?: size - offset;
}

/* Addresses that belong to no symbol are padding: step over them. */
static int append_area(unsigned long start, unsigned long end)
{
	long len;

	while (start < end) {
		len = append_symbol(start);
		if (len < 0 && len != -EINVAL)
			return len;
		start += max(len, 1L);
	}

	return 0;
}

/**
 * kprobe_add_ksym_blacklist() - keep probes out of a function
 * @entry: its address
 *
 * Context: process context, sleeps.
 * Return: the bytes from @entry to its end (0 for an alias without size),
 *	   -EINVAL if that is not kernel text or has no symbol, -ENOMEM.
 */
int kprobe_add_ksym_blacklist(unsigned long entry)
{
	long len;

	guard(mutex)(&blacklist_mutex);

	len = append_symbol(entry);
	if (len < 0)
		return len;
	return blacklist_publish() ?: len;
}

/**
 * kprobe_add_area_blacklist() - keep probes out of all functions in an area
 * @start: first byte
 * @end: byte behind the last
 *
 * Context: process context, sleeps.
 * Return: 0, or -ENOMEM.
 */
int kprobe_add_area_blacklist(unsigned long start, unsigned long end)
{
	guard(mutex)(&blacklist_mutex);

	return append_area(start, end) ?: blacklist_publish();
}

static bool listed(unsigned long addr)
{
	const struct range_array *r;
	bool found;

	if (arch_within_kprobe_blacklist(addr))
		return true;

	preempt_disable_notrace();
	r = rcu_dereference_raw(ranges);
	found = r && kprobe_ranges_contain(r->range, r->nr, addr);
	preempt_enable_notrace();

	return found;
}

/*
 * The compiler splits functions and makes variants of them: name.cold,
 * name.part.0, name.constprop.0 and so on are as forbidden as name.
 */
static noinline_for_stack bool variant_of_listed(unsigned long addr)
{
	char name[KSYM_NAME_LEN + MODULE_NAME_LEN + 1];
	unsigned long size, offset, base;
	char *modname, *dot;
	const char *sym;
	size_t len;

	/* Keeps the module's name, which is not copied, from going away. */
	guard(preempt_notrace)();

	sym = kallsyms_lookup(addr, &size, &offset, &modname, name);
	if (!sym)
		return false;

	/* A leading dot marks the code of a function that has a descriptor. */
	dot = strchr(sym + 1, '.');
	if (!dot)
		return false;

	/* name.suffix -> name, or module:name, which only one module can have. */
	len = modname ? strlen(modname) + 1 : 0;
	memmove(name + len, sym, dot - sym);
	name[len + (dot - sym)] = '\0';
	if (modname) {
		memcpy(name, modname, len - 1);
		name[len - 1] = ':';
	}

	base = kallsyms_lookup_name(name);
	return base && listed(base);
}

/**
 * within_kprobe_blacklist() - must there be no probe at an address?
 * @addr: the address
 *
 * Context: any, does not sleep; kgdb asks, too.
 * Return: true if it must not.
 */
bool within_kprobe_blacklist(unsigned long addr)
{
	return listed(addr) || variant_of_listed(addr);
}

bool __weak arch_within_kprobe_blacklist(unsigned long addr)
{
	return addr >= (unsigned long)__kprobes_text_start &&
	       addr < (unsigned long)__kprobes_text_end;
}

int __weak arch_populate_kprobe_blacklist(void)
{
	return 0;
}

struct walk {
	int	(*fn)(const struct kprobe_range *r, void *arg);
	void	*arg;
	int	ret;
};

static int visit_variant(void *data, const char *name, unsigned long addr)
{
	struct kprobe_range r = { .start = addr };
	struct walk *walk = data;
	unsigned long size;

	if (!strchr(name + 1, '.') || listed(addr) || !variant_of_listed(addr) ||
	    !kernel_text_address(addr) ||
	    !kallsyms_lookup_size_offset(addr, &size, NULL))
		return 0;

	r.end = addr + size;
	walk->ret = walk->fn(&r, walk->arg);
	return walk->ret;
}

/**
 * kprobe_blacklist_for_each() - go through the blacklist
 * @fn: called for each entry; non-zero ends it
 * @arg: given to @fn
 *
 * Entries in order of arrival, then the compiler's variants of them in the
 * kernel, which are found by their names and not stored.
 *
 * Context: process context, sleeps.
 * Return: what @fn returned last, or 0.
 */
int kprobe_blacklist_for_each(int (*fn)(const struct kprobe_range *r, void *arg),
			      void *arg)
{
	struct walk walk = { .fn = fn, .arg = arg };
	unsigned int i;
	int ret;

	scoped_guard(mutex, &blacklist_mutex) {
		for (i = 0; i < nr_entries; i++) {
			ret = fn(&entries[i], arg);
			if (ret)
				return ret;
		}
	}

	kallsyms_on_each_symbol(visit_variant, &walk);
	return walk.ret;
}

#ifdef CONFIG_MODULES

static int append_module(struct module *mod)
{
	unsigned long start;
	unsigned int i;
	int ret;

	for (i = 0; i < mod->num_kprobe_blacklist; i++) {
		long len = append_symbol(mod->kprobe_blacklist[i]);

		if (len == -ENOMEM)
			return len;
	}

	start = (unsigned long)mod->kprobes_text_start;
	ret = append_area(start, start + mod->kprobes_text_size);
	if (ret)
		return ret;

	start = (unsigned long)mod->noinstr_text_start;
	return append_area(start, start + mod->noinstr_text_size);
}

/**
 * kprobe_blacklist_add_module() - add what a module marks, as it comes
 * @mod: the module
 *
 * Context: process context, sleeps.
 */
void kprobe_blacklist_add_module(struct module *mod)
{
	unsigned int before;
	int ret;

	guard(mutex)(&blacklist_mutex);

	before = nr_entries;
	ret = append_module(mod);
	if (!ret && nr_entries != before)
		ret = blacklist_publish();
	if (ret)
		pr_err("functions of module %s are not protected: %d\n",
		       mod->name, ret);
}

/**
 * kprobe_blacklist_remove_range() - forget what a module marked, as that goes
 * @mod: the module
 * @start: first byte of the memory that is about to be freed
 * @end: byte behind the last
 *
 * Context: process context, sleeps.
 */
void kprobe_blacklist_remove_range(struct module *mod, unsigned long start,
				   unsigned long end)
{
	unsigned int i, n = 0;

	guard(mutex)(&blacklist_mutex);

	for (i = 0; i < nr_entries; i++) {
		if (entries[i].start < start || entries[i].start >= end)
			entries[n++] = entries[i];
	}

	if (n == nr_entries)
		return;

	/*
	 * Without memory lookups keep a range that belongs to nobody; whatever
	 * is loaded there next is protected without need.
	 */
	nr_entries = n;
	if (blacklist_publish())
		pr_warn("ranges of module %s stay on the blacklist\n", mod->name);
}

#endif /* CONFIG_MODULES */

/* Lives in init memory, so this is the only time it can be read. */
extern unsigned long __start_kprobe_blacklist[];
extern unsigned long __stop_kprobe_blacklist[];

static int __init append_marked(void)
{
	unsigned long *fn;
	int ret;

	for (fn = __start_kprobe_blacklist; fn < __stop_kprobe_blacklist; fn++) {
		long len = append_symbol((unsigned long)
				dereference_symbol_descriptor((void *)*fn));

		if (len == -ENOMEM)
			return len;
	}

	ret = append_area((unsigned long)__kprobes_text_start,
			  (unsigned long)__kprobes_text_end);
	if (ret)
		return ret;

	return append_area((unsigned long)__noinstr_text_start,
			   (unsigned long)__noinstr_text_end);
}

/**
 * kprobe_blacklist_names() - keep probes out of functions that may not exist
 * @names: their names
 * @nr: how many
 *
 * Context: boot, for kprobe_blacklist_init() and what it calls.
 * Return: 0, or -ENOMEM.
 */
int __init kprobe_blacklist_names(const char * const *names, unsigned int nr)
{
	unsigned long addr;
	unsigned int i;

	guard(mutex)(&blacklist_mutex);

	for (i = 0; i < nr; i++) {
		addr = kallsyms_lookup_name(names[i]);
		if (addr && append_symbol(addr) == -ENOMEM)
			return -ENOMEM;
	}

	return 0;
}

/**
 * kprobe_blacklist_init() - fill the blacklist at boot
 *
 * Context: early_initcall, sleeps.
 * Return: 0, or an error; what could be added is in force then, too.
 */
int __init kprobe_blacklist_init(void)
{
	int err = 0, ret;

	scoped_guard(mutex, &blacklist_mutex)
		err = append_marked();
	ret = kprobe_blacklist_names(offline_path, ARRAY_SIZE(offline_path)) ?:
	      kprobe_blacklist_names(hit_path, ARRAY_SIZE(hit_path)) ?:
	      kprobe_blacklist_names(copied, ARRAY_SIZE(copied));
	err = err ?: ret;

	ret = arch_populate_kprobe_blacklist();
	err = err ?: ret;

	guard(mutex)(&blacklist_mutex);
	publish_later = false;
	return err ?: blacklist_publish();
}
