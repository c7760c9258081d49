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
	kprobe_assert_locked();

	return -EOPNOTSUPP;
}

/* The architecture is asked about the probe of a site that is in no list or table. */
static void check_instruction(struct kprobe_site *site, struct kprobe_verdict *v)
{
	int ret;

	scoped_guard(kprobe_text)
		ret = arch_vet_kprobe(&site->head.kp);
	v->why = site->refusal;
	v->known = v->why || !ret;
	if (v->known && !ret)
		v->mode = arch_kprobe_mode(&site->head.kp);
}

/* How the instruction would be executed for a probe with nothing but a pre handler. */
static const char *mode_of_alone(const struct kprobe_site *site)
{
	struct kprobe alone = site->head.kp;

	alone.post_handler = NULL;
	alone.fault_handler = NULL;
	return arch_kprobe_mode(&alone);
}

static void check_site(struct kprobe_verdict *v)
{
	struct kprobe_site *site = kprobe_site_at(v->where.addr);

	if (v->where.kind == KPROBE_SITE_FTRACE) {
		if (kprobe_ftrace_is_dead())
			v->why = KPROBE_REFUSAL_FTRACE;
		v->known = true;
		v->mode = "ftrace";
		return;
	}
	if (site && site->prepared) {
		v->known = true;
		v->mode = mode_of_alone(site);
		return;
	}

	site = kprobe_site_alloc(v->where.addr, v->where.kind);
	if (!site) {
		v->why = KPROBE_REFUSAL_NO_MEMORY;
		return;
	}
	check_instruction(site, v);
	kfree(site);
}

/* The address, and the instruction there. */
static void check_where(struct kprobe_verdict *v)
{
	struct module *mod = NULL;

	v->why = kprobe_vet_where(&v->where, &mod);
	if (!v->why)
		check_site(v);
	module_put(mod);
}

static void check_resolve(const struct kprobe *p, struct kprobe_verdict *v)
{
	*v = (struct kprobe_verdict){ };
	v->why = kprobes_initialized ? kprobe_resolve(p, &v->where) : KPROBE_REFUSAL_TOO_EARLY;
}

/* For refusals other than the architecture's own, it need not be asked. */
static void check_refused(struct kprobe_verdict *v, enum kprobe_refusal why)
{
	v->why = why;
	v->known = true;
	v->mode = NULL;
}

/**
 * kprobe_check_probe() - decide what register_kprobe() would decide
 * @p: the probe
 * @v: set to the verdict
 *
 * This leaves out what only an attempt can show: that there is no memory, or that
 * another user has claimed the function.
 *
 * Context: process context, sleeps.
 */
void kprobe_check_probe(struct kprobe *p, struct kprobe_verdict *v)
{
	check_resolve(p, v);
	if (!v->why) {
		guard(mutex)(&kprobe_mutex);

		check_where(v);
		if (!v->why && kprobe_is_used(p))
			check_refused(v, KPROBE_REFUSAL_IN_USE);
	}
	if (v->why)
		check_refused(v, v->why);
}

#ifdef CONFIG_KRETPROBES
/**
 * kprobe_check_return() - decide what register_kretprobe() would decide
 * @rp: the kretprobe
 * @v: set to the verdict
 *
 * Context: as kprobe_check_probe().
 */
void kprobe_check_return(struct kretprobe *rp, struct kprobe_verdict *v)
{
	check_resolve(&rp->kp, v);
	if (!v->why) {
		guard(mutex)(&kprobe_mutex);

		/* In the order of registration, which claims the structure first. */
		v->why = kprobe_is_used(&rp->kp) ? KPROBE_REFUSAL_IN_USE :
						   kretprobe_refusal(rp, &v->where);
		if (!v->why)
			check_where(v);
	}
	if (v->why)
		check_refused(v, v->why);
}
#else
void kprobe_check_return(struct kretprobe *rp, struct kprobe_verdict *v)
{
	*v = (struct kprobe_verdict){ };
	check_refused(v, KPROBE_REFUSAL_UNSUPPORTED);
}
#endif

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
		if (!site || !kprobe_opt_has_detour(site)) {
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

/**
 * kprobe_check_jump() - would a probe get a jump, alone and with a pre handler only?
 * @where: the address of an accepted probe
 * @f: set to the answer
 *
 * Context: process context, sleeps. May take long once for each module, and can be
 *	    killed meanwhile.
 * Return: 0; -ENOENT if no probe is accepted there any more; -ENOMEM; -EINTR.
 */
int kprobe_check_jump(const struct kprobe_where *where, struct kprobe_forecast *f)
{
	struct kprobe_where w = *where;
	int ret;

	*f = (struct kprobe_forecast){ };
	if (w.kind == KPROBE_SITE_BREAKPOINT && !kprobe_opt_is_allowed()) {
		f->why = KPROBE_NOOPT_OFF;
		return 0;
	}

	do {
		ret = fatal_signal_pending(current) ? -EINTR : forecast_at(&w, f);
		cond_resched();
	} while (ret == -EAGAIN);
	return ret;
}
#endif

static int verdict_error(const struct kprobe_verdict *v)
{
	if (!v->known)
		return -ENODATA;

	return kprobe_refusal_error(v->why);
}

/**
 * kprobe_check() - would register_kprobe() accept a probe?
 * @p: the probe, as it would be passed to register_kprobe()
 *
 * Changes nothing and does not warn. A later registration can fail all the same: for
 * lack of memory, or because another user has claimed the function.
 *
 * Context: process context, sleeps. Not from a handler; text_mutex, cpu_hotplug_lock and
 *	    jump_label_mutex not held.
 * Return: 0, or the error that register_kprobe() would return; -ENODATA if all generic
 *	   conditions are met, but the architecture cannot tell.
 */
int kprobe_check(struct kprobe *p)
{
	struct kprobe_verdict v;

	kprobe_check_probe(p, &v);
	return verdict_error(&v);
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
	return verdict_error(&v);
}
EXPORT_SYMBOL_GPL(kretprobe_check);
