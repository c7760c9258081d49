// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the API, and boot.
 *
 * Its components are in kernel/kprobes/; internal.h says how they fit together, and
 * Documentation/trace/kprobes.rst what probes are for.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/init.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>

#include "kprobes/address.h"
#include "kprobes/arm.h"
#include "kprobes/blacklist.h"
#include "kprobes/jprobe.h"
#include "kprobes/kretprobe.h"
#include "kprobes/module.h"
#include "kprobes/register.h"
#include "kprobes/site.h"
#include "kprobes/slots.h"

/*
 * The API. Monitors probe these functions to see who registers what. So register_kretprobe() and
 * register_jprobe() call register_kprobe(), which knows their probes by the pre handler.
 */

static const struct kprobe_batch_ops *ops_of(const struct kprobe *p)
{
	if (p && is_kretprobe(p))
		return &kretprobe_batch_ops;
	if (p && is_jprobe(p))
		return &jprobe_batch_ops;
	return NULL;
}

/**
 * register_kprobe() - put a probe on an instruction
 * @p: the probe; symbol_name or addr, offset and handlers are filled in, flags
 *     is 0 or some of KPROBE_FLAG_DISABLED, KPROBE_FLAG_UNIQUE and KPROBE_FLAG_REENTRANT
 *
 * Several probes may be at one address; their handlers are called newest
 * first. A probe does not keep the module that it is in from being unloaded:
 * it is gone then, and has still to be unregistered.
 *
 * Context: process context, sleeps, and may wait for grace periods of RCU and of
 *	    tasks-RCU. Not from a handler; text_mutex, cpu_hotplug_lock and
 *	    jump_label_mutex not held.
 * Return: 0 with addr set to the address really used, else @p is as before:
 *
 * * %-EINVAL - not exactly one of symbol_name and addr is given, flags that do not exist
 *   or do not go together with a handler, or the address cannot be probed; or, with a
 *   warning, @p is registered already, or another call that registers or unregisters it
 *   has not returned
 * * %-ENOENT - no such symbol, no symbol at the address, a module (or its init text)
 *   that is going away, or one that is being loaded and whose notifier has not run yet
 * * %-EADDRNOTAVAIL - KPROBE_FLAG_UNIQUE is set, and several symbols have the name
 * * %-EILSEQ - not at the start of an instruction, where the architecture can tell
 * * %-EBUSY - a probe at the address, even a disabled one, has a post handler, and
 *   another user of ftrace such as livepatch has claimed the function
 * * %-ENODEV - ftrace, which is to call the probe, is broken
 * * %-EOPNOTSUPP - a fault handler, and the architecture has none, or the instruction is not
 *   supported
 * * %-EAGAIN - too early at boot, on arm64 also before alternatives have replaced the
 *   instruction; or a probe at the address has a post handler, and a BPF trampoline on the
 *   function is just being changed
 * * %-ENOMEM - no memory
 * * another error of the architecture or of ftrace
 */
int register_kprobe(struct kprobe *p)
{
	return kprobe_batch_register(&p, 1, ops_of(p));
}
EXPORT_SYMBOL_GPL(register_kprobe);

/**
 * register_kprobes() - register many probes, all or none
 * @kps: the probes
 * @num: how many
 *
 * Much cheaper than one call for each: all share the grace periods. On x86 they also
 * share one interrupt of all CPUs, and on arm64 every 256 of them share one stop of all
 * CPUs. Breakpoints on powerpc need no synchronization. Elsewhere each is synchronized on its
 * own.
 *
 * Context: as register_kprobe().
 * Return: 0, -EINVAL if there is no array, -ENOMEM, or the error of the
 *	   first in the array that cannot be registered, as register_kprobe()
 *	   would return it. All probes are then as before.
 */
int register_kprobes(struct kprobe **kps, int num)
{
	return kprobe_batch_register(kps, num, NULL);
}
EXPORT_SYMBOL_GPL(register_kprobes);

/**
 * unregister_kprobe() - remove a probe
 * @p: the probe; if it is not registered, its addr becomes NULL
 *
 * On return no handler of @p runs or will run, and it may be freed. If another
 * call is unregistering it, or undoing its registration, this waits for that call.
 *
 * Context: process context, waits for a grace period. Not from a handler; text_mutex,
 *	    cpu_hotplug_lock and jump_label_mutex not held.
 */
void unregister_kprobe(struct kprobe *p)
{
	/*
	 * One backend does this in a trap with the probe of a site, which no user
	 * has registered.
	 */
	if (p && p->flags & KPROBE_FLAG_SITE)
		return;

	kprobe_batch_unregister(&p, 1, ops_of(p));
}
EXPORT_SYMBOL_GPL(unregister_kprobe);

/**
 * unregister_kprobes() - remove many probes with one grace period
 * @kps: the probes; one that is not registered gets addr = NULL
 * @num: how many; nothing happens when it is not positive
 *
 * Context: as unregister_kprobe().
 */
void unregister_kprobes(struct kprobe **kps, int num)
{
	kprobe_batch_unregister(kps, num, NULL);
}
EXPORT_SYMBOL_GPL(unregister_kprobes);

static int change_enabled(struct kprobe *p, bool on, struct kprobe_arm_lists *lists)
{
	struct kprobe_site *site;
	bool was_on;
	int ret;

	guard(mutex)(&kprobe_mutex);

	site = kprobe_site_of_user(p);
	if (!site)
		return -EINVAL;
	if (site->state == KPROBE_SITE_GONE)
		return on ? -EINVAL : 0;
	was_on = !(p->flags & KPROBE_FLAG_DISABLED);
	if (was_on != on)
		kprobe_site_enable_user(site, p, on);
	/*
	 * A site that stays as it is wanted is no reason to fail. But ftrace may have refused
	 * it when all probes were switched on: enabling tries again.
	 */
	if (kprobe_arm_wanted(site) != on || (!was_on && !on))
		return 0;
	if (on && site->state == KPROBE_SITE_ARMED)
		kprobe_arm_join(site, lists);
	ret = kprobe_arm_update(site, lists);
	if (ret && was_on != on)
		kprobe_site_enable_user(site, p, was_on);
	return ret;
}

static int kprobe_set_enabled(struct kprobe *p, bool on)
{
	DEFINE_KPROBE_ARM_LISTS(lists);
	int ret = change_enabled(p, on, &lists);

	kprobe_arm_finish(&lists);
	return ret;
}

/**
 * disable_kprobe() - switch a probe off, but keep it registered
 * @p: the probe
 *
 * Handlers may still be running on return.
 *
 * Context: process context, sleeps; at function entries, the last post handler of
 *	    a batch waits for a grace period of tasks-RCU. Not from a handler;
 *	    text_mutex, cpu_hotplug_lock and jump_label_mutex not held.
 * Return: 0, also if it was disabled or is gone; -EINVAL if it is not
 *	   registered; or an error of ftrace, and it is still enabled.
 */
int disable_kprobe(struct kprobe *p)
{
	return kprobe_set_enabled(p, false);
}
EXPORT_SYMBOL_GPL(disable_kprobe);

/**
 * enable_kprobe() - switch a probe on
 * @p: the probe
 *
 * While all probes are switched off this is remembered. ftrace may have refused an
 * enabled probe when all were switched on again: this tries once more.
 *
 * Context: as register_kprobe().
 * Return: 0; -EINVAL if it is not registered or gone; or an error of ftrace,
 *	   and it is not armed, and disabled if it was.
 */
int enable_kprobe(struct kprobe *p)
{
	return kprobe_set_enabled(p, true);
}
EXPORT_SYMBOL_GPL(enable_kprobe);

/**
 * kprobe_why_refused() - why did a registration fail?
 * @p: the probe, also that of a kretprobe or jprobe, after the call that has failed
 *
 * In an array, the answer is in the probe whose error was returned, or in the first one.
 *
 * Context: process context, sleeps.
 * Return: the reason; KPROBE_REFUSAL_IN_USE if the probe is registered.
 */
enum kprobe_refusal kprobe_why_refused(struct kprobe *p)
{
	guard(mutex)(&kprobe_mutex);

	return kprobe_is_used(p, NULL) ? KPROBE_REFUSAL_IN_USE : p->refusal;
}

/*
 * Addresses
 */

/**
 * kprobe_on_func_entry() - is this the entry of a function?
 * @addr: an address, or NULL
 * @sym: a symbol, or NULL
 * @offset: to be added to either
 *
 * Context: process context.
 * Return: 0 if it is, -EINVAL if it is not or the arguments make no sense,
 *	   -ENOENT if there is no such symbol.
 */
int kprobe_on_func_entry(kprobe_opcode_t *addr, const char *sym,
			 unsigned long offset)
{
	enum kprobe_refusal why;
	struct kprobe_where where;

	why = kprobe_address_resolve(addr, sym, offset, &where);
	if (!why && !where.on_entry)
		why = KPROBE_REFUSAL_NOT_ENTRY;
	return kprobe_refusal_error(why);
}

/**
 * within_kprobe_blacklist() - is an address blacklisted?
 * @addr: the address
 *
 * Context: any, does not sleep; also called by kgdb.
 * Return: true if it is, and no probe may be there.
 */
bool within_kprobe_blacklist(unsigned long addr)
{
	return kprobe_blacklist_rule(addr);
}

/*
 * Symbols
 */

/**
 * kprobe_get_kallsym() - the core's own symbols for /proc/kallsyms
 * @symnum: number of the symbol
 * @value: set to its address
 * @type: set to its type
 * @sym: set to its name, KSYM_NAME_LEN bytes
 *
 * Context: process context.
 * Return: 0, or -ERANGE if @symnum is out of range.
 */
int kprobe_get_kallsym(unsigned int symnum, unsigned long *value, char *type,
		       char *sym)
{
#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
	if (kprobe_slots_kallsym(&kprobe_insn_slots, &symnum, value, type, sym))
		return 0;
#endif
	if (IS_ENABLED(CONFIG_OPTPROBES) &&
	    kprobe_slots_kallsym(&kprobe_optinsn_slots, &symnum, value, type, sym))
		return 0;

	return -ERANGE;
}

/*
 * Boot
 */

int __init __weak arch_init_kprobes(void)
{
	return 0;
}

int __weak kprobe_exceptions_notify(struct notifier_block *self,
				    unsigned long val, void *data)
{
	return NOTIFY_DONE;
}
NOKPROBE_SYMBOL(kprobe_exceptions_notify);

/* Runs before debuggers: a breakpoint of a probe is never theirs. */
static struct notifier_block kprobe_exceptions_nb = {
	.notifier_call	= kprobe_exceptions_notify,
	.priority	= INT_MAX,
};

static int __init kprobes_init(void)
{
	int ret;

	ret = kprobe_blacklist_init();
	if (ret)
		pr_err("blacklist is incomplete: %d\n", ret);

	kprobe_site_init();
	kretprobe_init();

	/* The architecture may register a probe in its init function. */
	kprobes_initialized = true;
	ret = arch_init_kprobes() ?: register_die_notifier(&kprobe_exceptions_nb);
	if (ret) {
		kprobes_initialized = false;
		return ret;
	}

	kprobe_module_init();
	return 0;
}
early_initcall(kprobes_init);
