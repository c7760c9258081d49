// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text that must not be probed: the hit path itself, and code in which an exception does harm.
 *
 * Lookups take no lock: kgdb does them with all CPUs stopped.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/maple_tree.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <asm/sections.h>

#include "blacklist.h"
#include "lock.h"
#include "reach.h"

/* Changed under blacklist_mutex, read under RCU as soon as there is another CPU. */
static DEFINE_MTREE(ranges);
static DEFINE_MUTEX(blacklist_mutex);

/*
 * Functions that must not be probed, nor what they call. Not every configuration has all of them.
 *
 * First, generic code of the hit path that runs before the current probe is set, or after it is
 * reset. Then code that a CPU runs while it goes offline, when RCU and text patching do not wait
 * for it any more, or while it comes online, when they do not wait for it yet: nothing would wait
 * for a hit there.
 */
static const char * const roots[] __initconst = {
	"jprobe_pre_handler",
	"jprobe_return",
	"kgdb_ll_trap",
	"kprobe_busy_begin",
	"kprobe_busy_end",
	"kprobe_detour_callback",
	"kprobe_fault_handler",
	"kprobe_ftrace_claimed_handler",
	"kprobe_ftrace_entry",
	"kprobe_ftrace_handler",
	"kprobes_inc_nmissed_count",
	"kretprobe_detour_callback",
	"kretprobe_pre_handler",
	"kretprobe_rethook_handler",

	"acpi_idle_play_dead",
	"acpi_mp_play_dead",
	"acpi_processor_ffh_play_dead",
	"arch_cpu_idle_dead",
	"asm_acpi_mp_play_dead",
	"cpu_die",
	"cpuhp_ap_report_dead",
	"cpuhp_report_idle_dead",
	"cpuidle_get_cpu_driver",
	"cpuidle_play_dead",
	"hlt_play_dead",
	"idle_task_exit",
	"intel_idle_enter_dead",
	"mwait_play_dead",
	"native_play_dead",
	"play_dead",
	"play_dead_common",
	"pseries_cpu_offline_self",
	"resume_play_dead",
	"sev_es_ap_hlt_loop",
	"sev_es_play_dead",
	"xen_pv_play_dead",
};

/*
 * Called by roots, but safe to probe: a hit there is counted as missed, or occurs after the outer
 * hit has ended, or only when the kernel is about to stop. A function that is missing here only
 * costs probes.
 */
static const char * const cuts[] __initconst = {
	/* Reports. */
	"__printk_ratelimit",
	"__warn_printk",
	"_printk",
	"_printk_deferred",
	"debug_locks_off",
	"die",
	"dump_stack",
	"kasan_report",
	"lockdep_rcu_suspicious",
	"panic",
	/* Called only during a hit, or between kprobe_busy_begin() and kprobe_busy_end(). */
	"__kasan_unpoison_range",
	"__rcu_read_unlock",
	"___migrate_enable",
	"call_rcu",
	"ct_irq_enter_irqson",
	"ct_irq_exit_irqson",
	"irq_work_queue",
	"lock_release",
	"lockdep_softirqs_on",
	"migrate_enable",
	"rcu_read_lock_any_held",
	"rcu_read_lock_held",
	/* The hit is over, and these are called only to reschedule. */
	"preempt_schedule",
	"preempt_schedule_irq",
	"preempt_schedule_notrace",
	/* A breakpoint inside one of these does not lead to another call of it. */
	"in_lock_functions",
	"lockdep_hardirqs_on_prepare",
	/* Called by unused weak functions, whose text kallsyms attributes to the symbol before. */
	"execmem_alloc",
	"execmem_free",
	/* A debugger stops the machine. */
	"kgdb_cpu_enter",
	/* Breakpoints still work here on a CPU going offline, or they prevent recursion. */
	"__fentry__",
	"_mcount",
	"smp_call_function_single",
	"switch_mm",
};

/* Refused, but not followed. */
static const char * const not_followed[] __initconst = {
	/* Notifiers of a breakpoint call these through pointers. */
	"__kgdb_notify",
	"kgdb_handle_exception",
	/* RCU starts or stops watching in these, so part of what they call can be probed. */
	"rcutree_report_cpu_dead",
	"rcutree_report_cpu_starting",
	/* Each records that it was called. A breakpoint before that point calls it again. */
	"kcsan_found_watchpoint",
	"kcsan_setup_watchpoint",
	"__ubsan_handle_add_overflow",
	"__ubsan_handle_alignment_assumption",
	"__ubsan_handle_builtin_unreachable",
	"__ubsan_handle_divrem_overflow",
	"__ubsan_handle_implicit_conversion",
	"__ubsan_handle_load_invalid_value",
	"__ubsan_handle_mul_overflow",
	"__ubsan_handle_negate_overflow",
	"__ubsan_handle_out_of_bounds",
	"__ubsan_handle_shift_out_of_bounds",
	"__ubsan_handle_sub_overflow",
	"__ubsan_handle_type_mismatch",
	"__ubsan_handle_type_mismatch_v1",
	/*
	 * Templates that ftrace copies into its trampolines, with any breakpoint in them, and the
	 * labels in them that are symbols. Architectures that copy nothing patch the calls in them.
	 */
	"ftrace_call",
	"ftrace_caller",
	"ftrace_caller_op_ptr",
	"ftrace_graph_call",
	"ftrace_regs_call",
	"ftrace_regs_caller",
	"ftrace_regs_caller_jmp",
	"ftrace_regs_caller_op_ptr",
};

/* Stand in for what the roots call where the architecture does not find branches. */
#ifdef arch_kprobe_for_each_branch
static const char * const called[] __initconst = { };
#else
static const char * const called[] __initconst = {
	"__asan_load1",
	"__asan_load16",
	"__asan_load2",
	"__asan_load4",
	"__asan_load8",
	"__asan_loadN",
	"__asan_store1",
	"__asan_store16",
	"__asan_store2",
	"__asan_store4",
	"__asan_store8",
	"__asan_storeN",
	"__sanitizer_cov_trace_cmp1",
	"__sanitizer_cov_trace_cmp2",
	"__sanitizer_cov_trace_cmp4",
	"__sanitizer_cov_trace_cmp8",
	"__sanitizer_cov_trace_const_cmp1",
	"__sanitizer_cov_trace_const_cmp2",
	"__sanitizer_cov_trace_const_cmp4",
	"__sanitizer_cov_trace_const_cmp8",
	"__sanitizer_cov_trace_pc",
	"__sanitizer_cov_trace_switch",
	"__srcu_check_read_flavor",
	"canonicalize_ip",
	"check_kcov_mode",
	"ftrace_likely_update",
	"kasan_check_range",
	"kgdb_has_hit_break",
	"rcu_is_watching",
	"sched_clock",
	"trace_clock_local",
	"trace_hwlat_callback",
	"trace_osnoise_callback",
	"write_comp_data",
	/* rethook calls these on each return, outside of any hit. */
	"rcu_lockdep_current_cpu_online",
	"rcu_read_lock_any_held",
	"rcu_read_lock_held",
	"rcu_read_lock_held_common",
};
#endif

static int insert_range(struct maple_tree *tree, struct kprobe_range range)
{
	struct kprobe_range *r = kmemdup(&range, sizeof(range), GFP_KERNEL);
	int ret;

	if (!r)
		return -ENOMEM;
	ret = mtree_insert_range(tree, r->start, r->end - 1, r, GFP_KERNEL);
	if (ret)
		kfree(r);
	return ret;
}

/* What overlaps an earlier range keeps the rule of that. */
int kprobe_ranges_add(struct maple_tree *tree, unsigned long start, unsigned long end,
		      enum kprobe_refusal rule, unsigned long root)
{
	unsigned long at, next, index;
	struct kprobe_range *r;
	int ret;

	for (at = start; at < end; at = next) {
		index = at;
		r = mt_find(tree, &index, end - 1);
		next = r ? r->end : end;
		if (r && r->start <= at)
			continue;
		ret = insert_range(tree, (struct kprobe_range){
			.start	= at,
			.end	= r ? r->start : end,
			.rule	= rule,
			.root	= root,
		});
		if (ret)
			return ret;
	}

	return 0;
}

static unsigned long function_entry(unsigned long fn)
{
	return (unsigned long)dereference_symbol_descriptor((void *)fn);
}

/* Returns the number of bytes from @entry to the end of its symbol, or an error. */
static long append_symbol(unsigned long entry, enum kprobe_refusal rule)
{
	unsigned long size, offset;
	int ret;

	lockdep_assert_held(&blacklist_mutex);

	if (!kernel_text_address(entry) ||
	    !kallsyms_lookup_size_offset(entry, &size, &offset))
		return -EINVAL;

	ret = kprobe_ranges_add(&ranges, entry - offset, entry - offset + size, rule, 0);
	return ret ?: size - offset;
}

/* What belongs to no symbol is padding, and is skipped. */
static int append_area(unsigned long start, unsigned long end, enum kprobe_refusal rule)
{
	long len;

	while (start < end) {
		len = append_symbol(start, rule);
		if (len < 0 && len != -EINVAL)
			return len;
		start += max(len, 1L);
	}

	return 0;
}

/* What NOKPROBE_SYMBOL() has marked. */
static int append_functions(const unsigned long *fn, const unsigned long *stop)
{
	for (; fn < stop; fn++) {
		if (append_symbol(function_entry(*fn), KPROBE_REFUSAL_MARKED) == -ENOMEM)
			return -ENOMEM;
	}

	return 0;
}

static int append_section(const void *start, unsigned long size)
{
	return append_area((unsigned long)start, (unsigned long)start + size,
			   KPROBE_REFUSAL_MARKED);
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
	guard(mutex)(&blacklist_mutex);

	return append_symbol(entry, KPROBE_REFUSAL_ARCH_LISTED);
}

/**
 * kprobe_add_area_blacklist() - keep probes out of all functions in an area
 * @start: first byte
 * @end: byte after the last
 *
 * Context: process context, sleeps.
 * Return: 0, or -ENOMEM.
 */
int kprobe_add_area_blacklist(unsigned long start, unsigned long end)
{
	guard(mutex)(&blacklist_mutex);

	return append_area(start, end, KPROBE_REFUSAL_ARCH_LISTED);
}

static bool find_range(unsigned long addr, struct kprobe_range *found)
{
	const struct kprobe_range *r;

	guard(rcu)();

	r = mtree_load(&ranges, addr);
	if (r)
		*found = *r;
	return r;
}

static enum kprobe_refusal listed(unsigned long addr)
{
	struct kprobe_range r;

	if (find_range(addr, &r))
		return r.rule;
	return arch_within_kprobe_blacklist(addr) ? KPROBE_REFUSAL_ARCH_LISTED :
						    KPROBE_REFUSAL_NONE;
}

/*
 * Compilers split functions and clone them, so the rule of name also applies to name.cold,
 * name.part.0, name.constprop.0 and so on.
 */
static noinline_for_stack bool variant_of_listed(unsigned long addr)
{
	char name[KSYM_NAME_LEN + MODULE_NAME_LEN + 1];
	unsigned long size, offset, base;
	char *modname, *dot;
	const char *sym;
	size_t len;

	/* The name of the module is not copied, and must not be freed meanwhile. */
	guard(preempt_notrace)();

	sym = kallsyms_lookup(addr, &size, &offset, &modname, name);
	if (!sym)
		return false;

	/* A leading dot marks the code of a function that has a descriptor. */
	dot = strchr(sym + 1, '.');
	if (!dot)
		return false;

	/* From name.suffix make name, or module:name, as other modules may have the same name. */
	len = modname ? strlen(modname) + 1 : 0;
	memmove(name + len, sym, dot - sym);
	name[len + (dot - sym)] = '\0';
	if (modname) {
		memcpy(name, modname, len - 1);
		name[len - 1] = ':';
	}

	base = kallsyms_lookup_name(name);
	return base && listed(function_entry(base));
}

/* Also called by kgdb. */
enum kprobe_refusal kprobe_blacklist_rule(unsigned long addr)
{
	enum kprobe_refusal rule = listed(addr);

	if (!rule && variant_of_listed(addr))
		return KPROBE_REFUSAL_VARIANT;
	return rule;
}

/* Why @addr has the rule KPROBE_REFUSAL_REACHED: the root that has led there, or 0. */
unsigned long kprobe_blacklist_root(unsigned long addr)
{
	struct kprobe_range r;

	return find_range(addr, &r) ? r.root : 0;
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

/*
 * Call @fn for each range, then for the compiler's variants of functions in the kernel. These are
 * not stored, but found by their names. A non-zero result of @fn ends the walk.
 */
int kprobe_blacklist_for_each(int (*fn)(const struct kprobe_range *r, void *arg),
			      void *arg)
{
	struct walk walk = { .fn = fn, .arg = arg };
	const struct kprobe_range *r;
	unsigned long index = 0;
	int ret;

	scoped_guard(mutex, &blacklist_mutex) {
		mt_for_each(&ranges, r, index, ULONG_MAX) {
			ret = fn(r, arg);
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
	return append_functions(mod->kprobe_blacklist,
				mod->kprobe_blacklist + mod->num_kprobe_blacklist) ?:
	       append_section(mod->kprobes_text_start, mod->kprobes_text_size) ?:
	       append_section(mod->noinstr_text_start, mod->noinstr_text_size);
}

/* Add the functions that a module marks. */
void kprobe_blacklist_add_module(struct module *mod)
{
	int ret;

	guard(mutex)(&blacklist_mutex);

	ret = append_module(mod);
	if (ret)
		pr_err("functions of module %s are not protected: %d\n",
		       mod->name, ret);
}

/* The memory from @start to @end is about to be freed. */
void kprobe_blacklist_remove_range(struct module *mod, unsigned long start,
				   unsigned long end)
{
	unsigned long index = start;
	struct kprobe_range *r;

	guard(mutex)(&blacklist_mutex);

	mt_for_each(&ranges, r, index, end - 1) {
		if (r->start < start)
			continue;
		/*
		 * Without memory, it needlessly protects whatever is loaded there next.
		 * mtree_erase() would not report that.
		 */
		if (!mtree_store_range(&ranges, r->start, r->end - 1, NULL, GFP_KERNEL))
			kfree_rcu(r, rcu);
		else
			pr_warn("ranges of module %s stay on the blacklist\n", mod->name);
	}
}

#endif /* CONFIG_MODULES */

/* In init memory, so it can be read only at boot. */
extern unsigned long __start_kprobe_blacklist[];
extern unsigned long __stop_kprobe_blacklist[];

static int __init append_marked(void)
{
	return append_functions(__start_kprobe_blacklist, __stop_kprobe_blacklist) ?:
	       append_section(__kprobes_text_start, __kprobes_text_end - __kprobes_text_start) ?:
	       append_section(__noinstr_text_start, __noinstr_text_end - __noinstr_text_start);
}

static int __init append_named(void *rule, unsigned long addr)
{
	addr = (unsigned long)dereference_symbol_descriptor((void *)addr);
	return append_symbol(addr, *(enum kprobe_refusal *)rule) == -ENOMEM ? -ENOMEM : 0;
}

static int __init append_names(const char * const *names, unsigned int nr,
			       enum kprobe_refusal rule)
{
	guard(mutex)(&blacklist_mutex);

	/* Code that also runs before the kernel is mapped has the prefix. */
	return kprobe_for_each_named("", names, nr, append_named, &rule) ?:
	       kprobe_for_each_named("__pi_", names, nr, append_named, &rule);
}

/**
 * kprobe_blacklist_names() - keep probes out of functions that may not exist
 * @names: their names
 * @nr: how many
 *
 * Context: boot, called by the architecture's hook.
 * Return: 0, or -ENOMEM.
 */
int __init kprobe_blacklist_names(const char * const *names, unsigned int nr)
{
	return append_names(names, nr, KPROBE_REFUSAL_ARCH_LISTED);
}

static int __init append_reached(unsigned long start, unsigned long end, unsigned long root)
{
	if (listed(start))
		return 0;
	return kprobe_ranges_add(&ranges, start, end, KPROBE_REFUSAL_REACHED, root);
}

/* How long it has taken to find out all of it, in nanoseconds. Only tests read it. */
u64 kprobe_blacklist_ns __initdata;

/* Continues after an error, and returns the first. */
int __init kprobe_blacklist_init(void)
{
	u64 start = local_clock();
	int err = 0, ret;

	scoped_guard(mutex, &blacklist_mutex)
		err = append_marked();
	ret = append_names(not_followed, ARRAY_SIZE(not_followed), KPROBE_REFUSAL_LISTED) ?:
	      append_names(called, ARRAY_SIZE(called), KPROBE_REFUSAL_LISTED) ?:
	      kprobe_blacklist_roots(roots, ARRAY_SIZE(roots)) ?:
	      kprobe_blacklist_cuts(cuts, ARRAY_SIZE(cuts)) ?:
	      kprobe_blacklist_cuts(not_followed, ARRAY_SIZE(not_followed));
	err = err ?: ret;

	ret = arch_populate_kprobe_blacklist();
	err = err ?: ret;

	/* Text is read. */
	guard(mutex)(&kprobe_mutex);
	guard(mutex)(&blacklist_mutex);
	ret = kprobe_reach(append_reached);
	mt_set_in_rcu(&ranges);
	kprobe_blacklist_ns = local_clock() - start;
	return err ?: ret;
}
