// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Modules that come and go: their share of the blacklist, and their probes.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/module.h>
#include <linux/notifier.h>

#include "batch.h"
#include "blacklist.h"

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
		kprobe_blacklist_add_module(mod);
		break;
	case MODULE_STATE_LIVE:
		forget_memory(mod, MOD_INIT_TEXT);
		break;
	case MODULE_STATE_GOING:
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
