// SPDX-License-Identifier: GPL-2.0-only
/*
 * What would become of a probe: the decisions of registration, without its actions.
 */

#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "check.h"
#include "ftrace.h"
#include "kretprobe.h"
#include "optimizer.h"
#include "register.h"
#include "site.h"

int __weak arch_vet_kprobe(struct kprobe *p)
{
	int ret = arch_prepare_kprobe(p);

	if (!ret)
		arch_remove_kprobe(p);
	return ret;
}

/* How the instruction would be executed for a probe with nothing but a pre handler. */
static const char *mode_of_alone(const struct kprobe_site *site)
{
	struct kprobe alone = site->head.kp;

	alone.post_handler = NULL;
	alone.fault_handler = NULL;
	return arch_kprobe_mode(&alone);
}

/* The architecture is asked about a site that is in no list or table. */
static void check_site(struct kprobe_verdict *v)
{
	struct kprobe_site *site = kprobe_site_at(v->where.addr);

	if (v->where.kind == KPROBE_SITE_FTRACE) {
		if (kprobe_ftrace_is_dead())
			v->why = KPROBE_REFUSAL_FTRACE;
		v->mode = "ftrace";
		return;
	}
	if (site && site->prepared) {
		v->mode = mode_of_alone(site);
		return;
	}

	site = kprobe_site_alloc(v->where.addr, v->where.kind);
	if (!site) {
		v->why = KPROBE_REFUSAL_NO_MEMORY;
		return;
	}
	scoped_guard(kprobe_text)
		v->err = arch_vet_kprobe(&site->head.kp);
	v->why = kprobe_site_refusal(site, v->err);
	/* What it has decoded means nothing if it refuses. */
	if (!v->err)
		v->mode = mode_of_alone(site);
	kfree(site);
}

/* What registration asks, in its order. @rp is the kretprobe of @p, or NULL. */
static void check(struct kprobe *p, struct kretprobe *rp, struct kprobe_verdict *v)
{
	struct module *mod = NULL;

	*v = (struct kprobe_verdict){ .why = KPROBE_REFUSAL_TOO_EARLY };
	if (kprobes_initialized)
		v->why = kprobe_resolve(p, &v->where);

	scoped_guard(mutex, &kprobe_mutex) {
		if (!v->why && kprobe_is_used(p))
			v->why = KPROBE_REFUSAL_IN_USE;
		if (!v->why && rp)
			v->why = kretprobe_refusal(rp, &v->where);
		if (!v->why)
			v->why = kprobe_vet_where(&v->where, &mod);
		if (!v->why)
			check_site(v);
		module_put(mod);
	}
	if (!v->err)
		v->err = kprobe_refusal_error(v->why);
}

/*
 * What register_kprobe() would decide. Leaves out that another user has claimed the function:
 * only an attempt can show it.
 */
void kprobe_check_probe(struct kprobe *p, struct kprobe_verdict *v)
{
	check(p, NULL, v);
}

void kprobe_check_return(struct kretprobe *rp, struct kprobe_verdict *v)
{
	if (IS_ENABLED(CONFIG_KRETPROBES))
		check(&rp->kp, rp, v);
	else
		*v = (struct kprobe_verdict){
			.why = KPROBE_REFUSAL_UNSUPPORTED,
			.err = kprobe_refusal_error(KPROBE_REFUSAL_UNSUPPORTED),
		};
}

#ifdef CONFIG_OPTPROBES
static int forecast_at(struct kprobe_where *where, struct kprobe_forecast *f)
{
	struct kprobe_site *site, *made = NULL;
	struct module *mod = NULL;
	int ret = -ENOENT;

	if (mutex_lock_killable(&kprobe_mutex))
		return -EINTR;

	/* Its module may be gone by now. */
	if (!kprobe_vet_where(where, &mod)) {
		site = kprobe_site_at(where->addr);
		/* Planning notes refusals in the site, so it needs one of its own. */
		if (!site || !kprobe_has_detour(site)) {
			made = kprobe_site_alloc(where->addr, where->kind);
			site = made;
		}
		ret = site ? kprobe_opt_forecast(site, f) : -ENOMEM;
		kfree(made);
	}
	module_put(mod);
	mutex_unlock(&kprobe_mutex);
	return ret;
}

/*
 * Would an accepted probe get a jump, alone and with a pre handler only? This may take long
 * once for each module, and can be killed meanwhile. Returns -ENOENT if no probe is accepted
 * there any more.
 */
int kprobe_check_jump(const struct kprobe_where *where, struct kprobe_forecast *f)
{
	struct kprobe_where w = *where;
	int ret;

	do {
		ret = fatal_signal_pending(current) ? -EINTR : forecast_at(&w, f);
		cond_resched();
	} while (ret == -EAGAIN);
	return ret;
}
#endif

/**
 * kprobe_check() - would register_kprobe() accept a probe?
 * @p: the probe, as it would be passed to register_kprobe()
 *
 * Changes nothing and does not warn. A later registration can fail all the same: for
 * lack of memory, or because another user has claimed the function.
 *
 * Context: process context, sleeps. Not from a handler; text_mutex, cpu_hotplug_lock and
 *	    jump_label_mutex not held.
 * Return: 0, or the error that register_kprobe() would return.
 */
int kprobe_check(struct kprobe *p)
{
	struct kprobe_verdict v;

	kprobe_check_probe(p, &v);
	return v.err;
}
EXPORT_SYMBOL_GPL(kprobe_check);

/**
 * kretprobe_check() - would register_kretprobe() accept a kretprobe?
 * @rp: the kretprobe, as it would be passed to register_kretprobe()
 *
 * Context: as kprobe_check().
 * Return: as kprobe_check(), of register_kretprobe().
 */
int kretprobe_check(struct kretprobe *rp)
{
	struct kprobe_verdict v;

	kprobe_check_return(rp, &v);
	return v.err;
}
EXPORT_SYMBOL_GPL(kretprobe_check);
