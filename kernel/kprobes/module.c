// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text that comes and goes: the end of probes in text that is freed, and modules with
 * their part of the blacklist and their probes.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/slab.h>

#include <asm/sections.h>

#include "arm.h"
#include "blacklist.h"
#include "ftrace.h"
#include "module.h"
#include "optimizer.h"
#include "site.h"
#include "table.h"

/*
 * The code in a range is about to be freed, and no probe can be registered there any more.
 *
 * The probes there are gone for good, but stay registered until their users unregister them. If
 * the text is @writable, breakpoints and jumps are removed from it, as one batch: functions that
 * were passed to async_schedule() may still execute it. The module loader waits for these after
 * its notifiers, and frees the text only then.
 */
void kprobe_kill_text(unsigned long start, unsigned long end, bool writable)
{
	DEFINE_KPROBE_ARM_LISTS(lists);
	struct kprobe_site *site, *next;
	bool any = false;

	scoped_guard(mutex, &kprobe_mutex) {
		for_each_kprobe_site_in(site, start, end) {
			if (site->ftrace ||
			    (writable && site->kind == KPROBE_SITE_BREAKPOINT &&
			     site->state == KPROBE_SITE_ARMED))
				kprobe_arm_add(&lists, site);
		}
		kprobe_disarm_ftrace(&lists);
		kprobe_ftrace_purge(start, end);
		kprobe_arm_text(&lists, false);

		for_each_kprobe_site_in(site, start, end) {
			if (site->state >= KPROBE_SITE_GONE)
				continue;
			kprobe_site_move(site, KPROBE_SITE_GONE);
			/* Text that is freed without being disarmed has no jumps. */
			kprobe_opt_update(site, NULL);
			any = true;
		}
		if (IS_ENABLED(CONFIG_HAVE_OPTPROBES_RANGE))
			arch_optimizer_forget(start, end);
	}

	if (!any)
		return;
	kprobe_wait_for_hits();

	guard(mutex)(&kprobe_mutex);
	for (site = kprobe_site_from(start); site && kprobe_site_addr(site) < end; site = next) {
		next = kprobe_site_next(site);
		if (site->state != KPROBE_SITE_GONE)
			continue;
		kprobe_site_release(site);
		/* It was only waiting to be disarmed, see kprobe_arm_retry(). */
		if (list_empty(&site->users) && list_empty(&site->head.kp.reap)) {
			kprobe_site_remove(site);
			kprobe_site_free(site);
		}
	}
}

/**
 * kprobe_free_init_mem() - the kernel's init text is about to be freed
 *
 * Nothing executes it any more, as async_synchronize_full() comes first. Nor is it
 * kernel text any more for functions that patch text, so breakpoints stay in it.
 *
 * Context: process context, once at boot.
 */
void kprobe_free_init_mem(void)
{
	kprobe_kill_text((unsigned long)__init_begin, (unsigned long)__init_end, false);
}

#ifdef CONFIG_MODULES

/*
 * From complete_formation() on a module is COMING, and has symbols. But until our
 * notifier has run its blacklist is not known. If livepatch or a notifier
 * before ours refuses the module, its text is freed without a GOING. And if a notifier
 * after ours refuses it, it is still COMING after its GOING. So this is a list of the
 * modules between our COMING and our LIVE or GOING.
 */
struct coming_module {
	struct list_head	list;
	const struct module	*mod;
};

/* kprobe_mutex */
static LIST_HEAD(coming_modules);

static struct coming_module *find_coming(const struct module *mod)
{
	struct coming_module *c;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry(c, &coming_modules, list) {
		if (c->mod == mod)
			return c;
	}
	return NULL;
}

/*
 * Is a module between our notifiers of COMING and GOING? It becomes LIVE only after all notifiers
 * of COMING. No module exists before our notifier is registered, at early_initcall.
 */
bool kprobe_module_known(const struct module *mod)
{
	lockdep_assert_held(&kprobe_mutex);

	return READ_ONCE(mod->state) == MODULE_STATE_LIVE || find_coming(mod);
}

/*
 * Accept text that stays at least until kprobe_mutex is dropped. That of the kernel does, and that
 * of modules between our notifiers: before it is freed, its probes are killed, which takes the
 * mutex. Preemption is off.
 */
enum kprobe_refusal kprobe_module_vet(unsigned long addr)
{
	struct module *mod = __module_text_address(addr);

	lockdep_assert_held(&kprobe_mutex);

	/* Only one lookup decides: a module may be about to become visible. */
	if (!mod)
		return core_kernel_text(addr) ? KPROBE_REFUSAL_NONE : KPROBE_REFUSAL_NOT_TEXT;
	if (!kprobe_module_known(mod))
		return KPROBE_REFUSAL_MODULE;
	return within_module_init(addr, mod) && mod->state != MODULE_STATE_COMING ?
		KPROBE_REFUSAL_MODULE : KPROBE_REFUSAL_NONE;
}

static void kprobe_module_coming(struct module *mod)
{
	struct coming_module *c = kmalloc_obj(*c);

	kprobe_blacklist_add_module(mod);

	/* In any case: what a registration has resolved before may have been in another module. */
	guard(mutex)(&kprobe_mutex);

	/* A LIVE module can be probed without it. */
	if (!c) {
		pr_err("no probes in module %s while it is being loaded\n", mod->name);
		return;
	}
	c->mod = mod;
	list_add(&c->list, &coming_modules);
}

static void kprobe_module_settled(struct module *mod)
{
	struct coming_module *c;

	guard(mutex)(&kprobe_mutex);

	c = find_coming(mod);
	if (!c)
		return;
	list_del(&c->list);
	kfree(c);
}

static void kprobe_module_forget(struct module *mod, enum mod_mem_type type)
{
	const struct module_memory *mem = &mod->mem[type];
	unsigned long start = (unsigned long)mem->base, end = start + mem->size;

	if (!mem->size)
		return;

	kprobe_kill_text(start, end, true);
	kprobe_blacklist_remove_range(mod, start, end);
}

static int kprobe_module_event(struct notifier_block *nb, unsigned long event,
			       void *data)
{
	struct module *mod = data;

	switch (event) {
	case MODULE_STATE_COMING:
		kprobe_module_coming(mod);
		break;
	case MODULE_STATE_LIVE:
		kprobe_module_settled(mod);
		kprobe_module_forget(mod, MOD_INIT_TEXT);
		break;
	case MODULE_STATE_GOING:
		/* First: nothing new is registered after this. */
		kprobe_module_settled(mod);
		kprobe_module_forget(mod, MOD_INIT_TEXT);
		kprobe_module_forget(mod, MOD_TEXT);
		break;
	}

	return NOTIFY_DONE;
}

/*
 * Before kprobe events (2), which register waiting probes as a module comes:
 * they must find the module's own blacklist in force.
 */
static struct notifier_block kprobe_module_nb = {
	.notifier_call	= kprobe_module_event,
	.priority	= 3,
};

void __init kprobe_module_init(void)
{
	int ret = register_module_notifier(&kprobe_module_nb);

	if (ret)
		pr_err("cannot register the module notifier: %d\n", ret);
}
#endif /* CONFIG_MODULES */
