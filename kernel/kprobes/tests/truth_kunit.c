// SPDX-License-Identifier: GPL-2.0-only
/*
 * The measure of truth: what is foreseen for an address is compared with what happens
 * when there is a probe. A boot samples the text of the kernel. With other parameters, boots
 * cover each byte of it, and of a module.
 */

#include "suite.h"

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/workqueue.h>

#include <asm/sections.h>

#include "../check.h"
#include "../optimizer.h"
#include "../site.h"
#include "helpers.h"
#include "signatures.h"

/*
 * So far apart, no jump and no hop of one probe is in the way of another, even if the
 * first one moves over a landing pad.
 */
#define DISTANCE	304
#define MAX_COMPLAINTS	20

/* The offsets that are tried: FIRST, and each PASSES bytes after it, up to DISTANCE. */
static unsigned int first, passes = DISTANCE;
module_param(first, uint, 0600);
module_param(passes, uint, 0600);

/* Only this many bytes at the start of the text, or 0. */
static unsigned long bytes = 1 << 20;
module_param(bytes, ulong, 0600);

/* The module whose text is tried instead, or an empty string. */
static char of_module[MODULE_NAME_LEN];
module_param_string(module, of_module, sizeof(of_module), 0600);

struct trial {
	struct kprobe		p;
	struct kprobe_verdict	v;
	struct kprobe_forecast	f;
};

struct truth {
	struct kunit		*test;
	struct trial		*trial;
	struct kprobe		**kps;
	unsigned int		nr, accepted, refused, jumps, wrong;
};

static void __printf(2, 3) complain(struct truth *t, const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	if (t->wrong++ >= MAX_COMPLAINTS)
		return;

	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	KUNIT_FAIL(t->test, "%pV", &vaf);
	va_end(args);
}

/* An address that is not accepted must be refused for the same reason. */
static void expect_refusal(struct truth *t, struct trial *r)
{
	int ret = register_kprobe(&r->p);
	enum kprobe_refusal why = ret ? kprobe_why_refused(&r->p) : KPROBE_REFUSAL_NONE;

	t->refused++;
	if (!ret)
		unregister_kprobe(&r->p);
	if (why != r->v.why)
		complain(t, "%pS: %s was said, and %s happened (%d)", r->p.addr,
			 kprobe_refusal_name(r->v.why), kprobe_refusal_name(why), ret);
}

static const char *forecast_name(const struct kprobe_forecast *f)
{
	static const char * const jumps[] = {
		[KPROBE_JUMP_UNKNOWN]	= "unknown",
		[KPROBE_JUMP_SHORT]	= "short-jump",
		[KPROBE_JUMP_LONG]	= "jump",
	};

	return f->why ? kprobe_noopt_name(f->why) : jumps[f->jump];
}

/*
 * Where the detour will be can decide whether a branch target is in its reach. Nor can it be
 * foreseen that no detour will be left.
 */
static bool is_left_open(const struct kprobe_forecast *said, const struct kprobe_forecast *f)
{
	if (said->why)
		return false;
	if (KPROBES_TEST_HAS_FEW_DETOURS && f->why == KPROBE_NOOPT_NOMEM)
		return true;
	return said->jump == KPROBE_JUMP_UNKNOWN && (!f->why || f->why == KPROBE_NOOPT_RANGE);
}

static void compare_site(struct truth *t, const struct trial *r)
{
	struct kprobe_site *site;
	struct kprobe_forecast f;
	const char *mode;

	guard(mutex)(&kprobe_mutex);

	site = kprobe_site_at((unsigned long)r->p.addr);
	if (site->head.kp.addr != (void *)r->v.where.addr) {
		complain(t, "%pS: not at %pS", r->p.addr, (void *)r->v.where.addr);
		return;
	}
	mode = site->kind == KPROBE_SITE_FTRACE ? "ftrace" : kprobe_mode(&site->head.kp);
	if (strcmp(mode, r->v.mode))
		complain(t, "%pS: %s, not %s", r->p.addr, mode, r->v.mode);

	f = (struct kprobe_forecast){ .why = site->opt_why };
	if (f.why && site->kind == KPROBE_SITE_BREAKPOINT && f.why == site->head.op.why)
		f.at = site->head.op.why_at;
	if (site->opt == KPROBE_OPT_LIVE) {
		f = (struct kprobe_forecast){ };
		kprobe_opt_forecast(site, &f);
		t->jumps++;
	}
	if (is_left_open(&r->f, &f))
		return;
	if (f.why != r->f.why || f.at != r->f.at || (!f.why && f.jump != r->f.jump))
		complain(t, "%pS: %s at +%u, not %s at +%u", r->p.addr, forecast_name(&f),
			 f.at, forecast_name(&r->f), r->f.at);
}

/* One probe in DISTANCE bytes, all at the same time. */
static void try_pass(struct truth *t, unsigned long start, unsigned long end,
		     unsigned int offset)
{
	unsigned long addr;
	unsigned int i, n = 0;
	int ret;

	t->nr = 0;
	for (addr = start + offset; addr < end; addr += DISTANCE) {
		struct trial *r = &t->trial[t->nr++];

		*r = (struct trial){ .p = { .addr = (void *)addr, .pre_handler = kp_nothing_pre } };
		kprobe_check_probe(&r->p, false, &r->v);
		if (!r->v.why && kprobe_check_jump(&r->v.where, &r->f))
			complain(t, "%pS: no forecast", (void *)addr);
		cond_resched();
	}

	for (i = 0; i < t->nr; i++) {
		if (t->trial[i].v.why)
			expect_refusal(t, &t->trial[i]);
		else
			t->kps[n++] = &t->trial[i].p;
		cond_resched();
	}
	if (!n)
		return;

	ret = register_kprobes(t->kps, n);
	if (ret) {
		complain(t, "of %u accepted addresses after %pS one is refused: %d", n,
			 (void *)start + offset, ret);
		return;
	}
	wait_for_kprobe_optimizer();
	for (i = 0; i < t->nr; i++) {
		if (!t->trial[i].v.why)
			compare_site(t, &t->trial[i]);
	}
	t->accepted += n;
	unregister_kprobes(t->kps, n);
	/* Until their detours have been freed, the next probes might find less room. */
	wait_for_kprobe_optimizer();
}

#ifdef CONFIG_MODULES
static bool find_module_text(unsigned long *start, unsigned long *end)
{
	struct module *mod;

	guard(preempt)();

	mod = find_module(of_module);
	if (!mod)
		return false;
	*start = (unsigned long)mod->mem[MOD_TEXT].base;
	*end = *start + mod->mem[MOD_TEXT].size;
	return true;
}
#else
static bool find_module_text(unsigned long *start, unsigned long *end)
{
	return false;
}
#endif

static bool find_text(unsigned long *start, unsigned long *end)
{
	if (of_module[0])
		return find_module_text(start, end);

	*start = (unsigned long)_stext;
	*end = (unsigned long)_etext;
	return true;
}

/*
 * Each pass is a run of its own, as KUnit limits how long one may take. Offsets are counted
 * from 1 here: NULL is the end.
 */
static KP_GENERATOR(pass_gen_params)
{
	unsigned long offset = prev ? (unsigned long)prev - 1 + passes : first;

	if (offset >= DISTANCE || (prev && !passes))
		return NULL;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "from byte %lu on", offset);
	return (void *)(offset + 1);
}

static void truth_is_foreseen(struct kunit *test)
{
	unsigned int max, offset = (unsigned long)test->param_value - 1;
	struct truth t = { .test = test };
	unsigned long start, end;

	/* Elsewhere, what is wrong is wrong in the backend of others. */
	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_HAVE_KPROBES_TEST_TARGETS),
		   "needs a backend of ours");
	KUNIT_ASSERT_TRUE(test, find_text(&start, &end));
	if (bytes)
		end = min(end, start + bytes);
	max = DIV_ROUND_UP(end - start, DISTANCE);
	t.trial = kvzalloc_objs(*t.trial, max);
	t.kps = kvzalloc_objs(*t.kps, max);
	KUNIT_EXPECT_TRUE(test, t.trial && t.kps);
	if (t.trial && t.kps) {
		/*
		 * Sites that have found no memory are examined again after some seconds. If a pass
		 * takes longer, their state would change while it is compared.
		 */
		disable_delayed_work_sync(&kprobe_opt_retry_work);
		try_pass(&t, start, end, offset);
		enable_delayed_work(&kprobe_opt_retry_work);
	}
	kvfree(t.trial);
	kvfree(t.kps);
	kunit_info(test, "byte %u: %u accepted, of these %u with a jump; %u refused; %u differences\n",
		   offset, t.accepted, t.jumps, t.refused, t.wrong);
	/* A module may have too little text for that. */
	if (!of_module[0]) {
		KUNIT_EXPECT_EQ(test, t.accepted > 0,
				IS_ALIGNED(offset, sizeof(kprobe_opcode_t)));
		if (KPROBES_TEST_HAS_FEW_DETOURS && t.accepted)
			KUNIT_EXPECT_GT(test, t.jumps, 1000);
	}
	KUNIT_EXPECT_EQ(test, t.wrong, 0);
}

static struct kunit_case truth_cases[] = {
	KUNIT_CASE_PARAM_ATTR(truth_is_foreseen, pass_gen_params, { .speed = KUNIT_SPEED_SLOW }),
	{}
};

KP_SUITE(truth_cases, .name = "kprobes_truth");
