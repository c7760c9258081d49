// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Modules that come and go: their share of the blacklist, and their probes.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/slab.h>

#include "batch.h"
#include "blacklist.h"

/*
 * Between complete_formation() and our notifier a module is COMING already, and
 * try_module_get() succeeds. But its blacklist is not known yet; and if livepatch
 * refuses it, or a notifier before ours, no GOING will tell that its text is freed.
 * And when a notifier after ours refuses it, it is still COMING after its GOING. So
 * there is a list of those between our COMING and our LIVE or GOING.
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

/**
 * kprobe_module_known() - has our notifier seen a module come, and not yet go?
 * @mod: the module; the caller has a reference
 *
 * A module becomes LIVE only when all notifiers have seen it come. There is none
 * before our notifier is registered, at early_initcall.
 *
 * Context: kprobe_mutex held, which keeps the answer true.
 * Return: true if it has.
 */
bool kprobe_module_known(const struct module *mod)
{
	lockdep_assert_held(&kprobe_mutex);

	return READ_ONCE(mod->state) == MODULE_STATE_LIVE || find_coming(mod);
}

static void module_comes(struct module *mod)
{
	struct coming_module *c = kmalloc(sizeof(*c), GFP_KERNEL);

	kprobe_blacklist_add_module(mod);

	/* Once it is LIVE nothing more is needed. */
	if (!c) {
		pr_err("no probes in module %s while it is being loaded\n", mod->name);
		return;
	}
	c->mod = mod;

	guard(mutex)(&kprobe_mutex);
	list_add(&c->list, &coming_modules);
}

static void module_has_come(struct module *mod)
{
	struct coming_module *c;

	guard(mutex)(&kprobe_mutex);

	c = find_coming(mod);
	if (!c)
		return;
	list_del(&c->list);
	kfree(c);
}

static void forget_memory(struct module *mod, enum mod_mem_type type)
{
	const struct module_memory *mem = &mod->mem[type];
	unsigned long start = (unsigned long)mem->base, end = start + mem->size;

	if (!mem->size)
		return;

	kprobe_kill_range(start, end);
	kprobe_blacklist_remove_range(mod, start, end);
}

static int kprobe_module_event(struct notifier_block *nb, unsigned long event,
			       void *data)
{
	struct module *mod = data;

	switch (event) {
	case MODULE_STATE_COMING:
		module_comes(mod);
		break;
	case MODULE_STATE_LIVE:
		module_has_come(mod);
		forget_memory(mod, MOD_INIT_TEXT);
		break;
	case MODULE_STATE_GOING:
		/* First: nothing new is registered after this. */
		module_has_come(mod);
		forget_memory(mod, MOD_INIT_TEXT);
		forget_memory(mod, MOD_TEXT);
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

/**
 * kprobe_module_init() - begin to follow modules
 *
 * Context: early_initcall.
 */
void __init kprobe_module_init(void)
{
	int ret = register_module_notifier(&kprobe_module_nb);

	if (ret)
		pr_err("cannot follow modules: %d\n", ret);
}
