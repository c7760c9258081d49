// SPDX-License-Identifier: GPL-2.0-only
/*
 * The call graph below code that must not be probed. What it contains depends on the compiler,
 * its options and the instrumentation, so no list can name it. It is computed once, at boot, from
 * the text of the running kernel.
 */

#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/maple_tree.h>
#include <linux/slab.h>
#include <asm/sections.h>

#include "lock.h"
#include "reach.h"

/*
 * @root is the first root from which the function has been reached. Without one it is a cut: what
 * it calls is not followed.
 */
struct function {
	struct list_head	pending;
	unsigned long		start, end;
	unsigned long		root;
};

/* All functions by address, and those whose text has not been read yet. */
static DEFINE_MTREE(functions);
static LIST_HEAD(pending);

static int __init add_function(unsigned long addr, unsigned long root)
{
	unsigned long size, into;
	struct function *f;
	int ret;

	/* Init text is freed before user space runs. */
	if (!is_kernel_text(addr) || mtree_load(&functions, addr) ||
	    !kallsyms_lookup_size_offset(addr, &size, &into))
		return 0;

	f = kmalloc_obj(*f);
	if (!f)
		return -ENOMEM;

	f->start = addr - into;
	f->end = min(f->start + size, (unsigned long)_etext);
	f->root = root;
	ret = mtree_store_range(&functions, f->start, f->end - 1, f, GFP_KERNEL);
	if (ret)
		kfree(f);
	else if (root)
		list_add_tail(&f->pending, &pending);
	return ret;
}

static int __init add_target(unsigned long target, void *from)
{
	const struct function *f = from;

	return add_function(target, f->root);
}

static int __init add_cut(void *unused, unsigned long addr)
{
	return add_function((unsigned long)dereference_symbol_descriptor((void *)addr), 0);
}

/**
 * kprobe_blacklist_root_at() - kprobe_blacklist_roots() for one function
 * @addr: its address
 *
 * Context: boot, called by arch_populate_kprobe_blacklist().
 * Return: 0, or -ENOMEM.
 */
int __init kprobe_blacklist_root_at(unsigned long addr)
{
	struct function *f = mtree_load(&functions, addr);

	if (!f || f->root)
		return add_function(addr, addr);

	f->root = addr;
	list_add_tail(&f->pending, &pending);
	return 0;
}

static int __init add_root(void *unused, unsigned long addr)
{
	return kprobe_blacklist_root_at((unsigned long)
					dereference_symbol_descriptor((void *)addr));
}

/* Call @fn with @data for each function that has one of the names, after @prefix. */
int __init kprobe_for_each_named(const char *prefix, const char * const *names, unsigned int nr,
				 int (*fn)(void *data, unsigned long addr), void *data)
{
	char name[KSYM_NAME_LEN];
	unsigned int i;
	int ret;

	for (i = 0; i < nr; i++) {
		/* With descriptors, the symbol of the code begins with a dot. */
		snprintf(name, sizeof(name), ".%s%s", prefix, names[i]);
		ret = kallsyms_on_each_match_symbol(fn, name + 1, data);
		if (!ret && IS_ENABLED(CONFIG_HAVE_FUNCTION_DESCRIPTORS))
			ret = kallsyms_on_each_match_symbol(fn, name, data);
		if (ret)
			return ret;
	}

	return 0;
}

/**
 * kprobe_blacklist_roots() - keep probes out of functions and out of all that they call
 * @names: their names; not all have to exist
 * @nr: how many
 *
 * Name only global functions, assembly, and functions whose address is taken: the compiler may
 * inline or clone any other. A function that is also a cut is a root.
 *
 * Context: boot, called by the core and by arch_populate_kprobe_blacklist().
 * Return: 0, or -ENOMEM.
 */
int __init kprobe_blacklist_roots(const char * const *names, unsigned int nr)
{
	return kprobe_for_each_named("", names, nr, add_root, NULL);
}

/**
 * kprobe_blacklist_cuts() - do not follow what functions call
 * @names: their names; not all have to exist
 * @nr: how many
 *
 * These functions can be probed, unless they are on the blacklist for another reason.
 *
 * Context: boot, called by the core and by arch_populate_kprobe_blacklist().
 * Return: 0, or -ENOMEM.
 */
int __init kprobe_blacklist_cuts(const char * const *names, unsigned int nr)
{
	return kprobe_for_each_named("", names, nr, add_cut, NULL);
}

/* Jump labels that are off may be switched on later. */
static int __init follow_jump_labels(void)
{
#ifdef CONFIG_JUMP_LABEL
	struct jump_entry *e;
	struct function *f;
	int ret;

	for (e = __start___jump_table; e < __stop___jump_table; e++) {
		f = mtree_load(&functions, jump_entry_code(e));
		ret = f && f->root ? add_target(jump_entry_target(e), f) : 0;
		if (ret)
			return ret;
	}
#endif
	return 0;
}

static int __init follow(void)
{
	struct function *f;
	int ret;

	do {
		while ((f = list_first_entry_or_null(&pending, struct function, pending))) {
			list_del(&f->pending);
			ret = arch_kprobe_for_each_branch(f->start, f->end, add_target, f);
			if (ret)
				return ret;
		}
		ret = follow_jump_labels();
		if (ret)
			return ret;
	} while (!list_empty(&pending));

	return 0;
}

/*
 * Follow the branches of all roots, and call @fn for each function that has been reached, even
 * after an error. Only once.
 */
int __init kprobe_reach(int (*fn)(unsigned long start, unsigned long end, unsigned long root))
{
	unsigned long index = 0;
	struct function *f;
	int ret, err;

	lockdep_assert_held(&kprobe_mutex);

	ret = follow();
	mt_for_each(&functions, f, index, ULONG_MAX) {
		err = f->root ? fn(f->start, f->end, f->root) : 0;
		ret = ret ?: err;
		kfree(f);
	}
	INIT_LIST_HEAD(&pending);
	mtree_destroy(&functions);
	return ret;
}
