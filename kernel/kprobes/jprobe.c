// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jprobes, the slow path: a kprobe on the entry of a function whose handler calls a
 * function of the user with the same arguments. hit_jprobe.c has that handler.
 */

#include <linux/kallsyms.h>
#include <linux/kernel.h>

#include "address.h"
#include "jprobe.h"
#include "register.h"

/*
 * Only the start of a function can be called. It is not enough to check for text: the caller may
 * have computed the entry, for example by looking up a name.
 */
static bool is_function(void *entry)
{
	unsigned long offset;
	void *code;

	if (!entry)
		return false;

	code = dereference_symbol_descriptor(entry);
	/* With descriptors, the address of the code itself cannot be called. */
	if (IS_ENABLED(CONFIG_HAVE_FUNCTION_DESCRIPTORS) && code == entry)
		return false;
	return kernel_text_address((unsigned long)code) &&
	       kallsyms_lookup_size_offset((unsigned long)code, NULL, &offset) && !offset;
}

static enum kprobe_refusal jprobe_vet(const struct kprobe *p, const struct kprobe_where *where)
{
	/* Only one jprobe at a time is called on a CPU. */
	if (p->flags & KPROBE_FLAG_REENTRANT)
		return KPROBE_REFUSAL_ARGUMENTS;
	if (!is_function(container_of(p, struct jprobe, kp)->entry))
		return KPROBE_REFUSAL_HANDLER;
	return where->on_entry ? KPROBE_REFUSAL_NONE : KPROBE_REFUSAL_NOT_ENTRY;
}

static int jprobe_prepare(struct kprobe *p)
{
	p->pre_handler = jprobe_pre_handler;
	p->post_handler = NULL;
	return 0;
}

const struct kprobe_batch_ops jprobe_batch_ops = {
	.vet		= jprobe_vet,
	.prepare	= jprobe_prepare,
};

/* Arrays of jprobes are arrays of kprobes, too. */
static_assert(offsetof(struct jprobe, kp) == 0);

/**
 * register_jprobes() - register many jprobes, all or none
 * @jps: the jprobes
 * @num: how many
 *
 * Context: as register_jprobe().
 * Return: 0, -EINVAL if there is no array, -ENOMEM, or the error of the first in the
 *	   array that cannot be registered, as register_jprobe() would return it.
 */
int register_jprobes(struct jprobe **jps, int num)
{
	return kprobe_batch_register((struct kprobe **)jps, num, &jprobe_batch_ops);
}
EXPORT_SYMBOL_GPL(register_jprobes);

/**
 * register_jprobe() - call a function at each call of another one
 * @jp: the jprobe; entry is the function to be called, kp says where
 *
 * @jp->entry must have the parameters of the probed function, and must end with
 * jprobe_return(). @jp->kp.pre_handler and @jp->kp.post_handler are overwritten.
 * After an unregistration, clear @jp->kp.flags, and @jp->kp.addr if a symbol is given,
 * before registering again.
 *
 * Context: as register_kprobe().
 * Return: 0, else the jprobe can be registered again as it is:
 *
 * * %-EINVAL - @jp->entry is not the start of a function, the address is not the entry of
 *   one, or KPROBE_FLAG_REENTRANT is set; or, with a warning, @jp is registered already, or
 *   another call that registers or unregisters it has not returned
 * * %-ENOENT - no such symbol
 * * %-EOPNOTSUPP - the kernel has no jprobes
 * * another error of register_kprobe()
 */
int register_jprobe(struct jprobe *jp)
{
	kprobe_set_pre_handler(&jp->kp, jprobe_pre_handler);
	return register_kprobe(&jp->kp);
}
EXPORT_SYMBOL_GPL(register_jprobe);

/**
 * unregister_jprobe() - remove a jprobe
 * @jp: the jprobe; if it is not registered, its kp.addr becomes NULL
 *
 * On return, no CPU is in @jp->entry or will enter it, and @jp may be freed.
 *
 * Context: process context, waits for a grace period. Not from a handler.
 */
void unregister_jprobe(struct jprobe *jp)
{
	kprobe_batch_unregister((struct kprobe **)&jp, 1, &jprobe_batch_ops);
}
EXPORT_SYMBOL_GPL(unregister_jprobe);

/**
 * unregister_jprobes() - remove many jprobes with one grace period
 * @jps: the jprobes; one that is not registered gets kp.addr = NULL
 * @num: how many; nothing happens when it is not positive
 *
 * Context: as unregister_jprobe().
 */
void unregister_jprobes(struct jprobe **jps, int num)
{
	kprobe_batch_unregister((struct kprobe **)jps, num, &jprobe_batch_ops);
}
EXPORT_SYMBOL_GPL(unregister_jprobes);
