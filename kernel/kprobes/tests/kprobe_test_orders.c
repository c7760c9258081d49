// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two probes come and go while the switch kernel.ftrace_enabled is turned off and on, in many
 * orders. Writing "FIRST SECOND WHERE HOW" to the parameter "run" does that. FIRST and SECOND
 * are the kinds of the probes: "kprobe", "post" (with a post handler) or "return"; WHERE is "one"
 * or "two", the number of functions that they are on. Each probe is registered, disabled, enabled
 * and unregistered; or registered disabled, enabled, disabled and unregistered. HOW is
 *
 *   step   both in step, one right after the other, and the switch is turned in between: every
 *          order
 *   each   each goes its own way
 *   batch  the same, but one call registers both, and one call unregisters both
 *
 * There are 2520 orders of the kind "each", and 126 of the kind "batch". Of these, 133 and 51 are
 * run. That is enough for any three steps of the two probes to come in every order in which they
 * can, with the switch turned at every place among them; and so do the four steps that register and
 * unregister.
 *
 * An order is a string: "0" and "1" are the switch; "R" registers the first probe, "S" and "T"
 * disable or enable it, whichever it is not, and "U" unregisters it. Small letters are the second
 * probe. If an order is the fifth word, only that is run; a number may follow, whose bits say which
 * probes are registered disabled.
 *
 * "orders" and "wrong" say how many orders there were, and how many of them went wrong. "off"
 * is the number of times that ftrace was switched off. Linux 7.3 refuses that.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/kprobes-test-arch.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>

#define SWITCH	"/proc/sys/kernel/ftrace_enabled"

noinline int kprobe_test_order_one(int v);
noinline int kprobe_test_order_two(int v);
noinline int kprobe_test_order_after(int v);

KP_TRACED(int, kprobe_test_order_one, v + 3)
KP_TRACED(int, kprobe_test_order_two, v + 5)
KP_TRACED(int, kprobe_test_order_after, v + 7)

enum kind { KIND_KPROBE, KIND_POST, KIND_RETURN };
static const char * const kind_names[] = { "kprobe", "post", "return" };

/* Only @rp.kp is used of a probe that is not on a return. */
struct probe {
	struct kretprobe	rp;
	enum kind		kind;
	const char		*symbol;
	bool			starts_disabled;
	bool			registered, enabled;
	unsigned int		hits, post_hits;
};

static struct probe probes[2];
static enum how { HOW_STEP, HOW_EACH, HOW_BATCH } how;
static const char * const how_names[] = { "step", "each", "batch" };

static unsigned int nr_runs, nr_orders, nr_wrong, nr_off;

static int count_hit(struct kprobe *kp, struct pt_regs *regs)
{
	container_of(kp, struct probe, rp.kp)->hits++;
	return 0;
}

static void count_post_hit(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	container_of(kp, struct probe, rp.kp)->post_hits++;
}

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	container_of(get_kretprobe(ri), struct probe, rp)->hits++;
	return 0;
}

static void prepare(struct probe *p)
{
	memset(&p->rp, 0, sizeof(p->rp));
	p->rp.kp.symbol_name = p->symbol;
	p->rp.kp.flags = p->starts_disabled ? KPROBE_FLAG_DISABLED : 0;
	if (p->kind == KIND_RETURN)
		p->rp.handler = count_return;
	else
		p->rp.kp.pre_handler = count_hit;
	if (p->kind == KIND_POST)
		p->rp.kp.post_handler = count_post_hit;
}

static int register_all(struct probe *p, unsigned int n)
{
	struct kretprobe *rps[] = { &p[0].rp, &p[n - 1].rp };
	struct kprobe *kps[] = { &p[0].rp.kp, &p[n - 1].rp.kp };
	unsigned int i;
	int ret;

	for (i = 0; i < n; i++)
		prepare(&p[i]);
	if (n == 1)
		ret = p->kind == KIND_RETURN ? register_kretprobe(&p->rp) :
					       register_kprobe(&p->rp.kp);
	else
		ret = p->kind == KIND_RETURN ? register_kretprobes(rps, n) :
					       register_kprobes(kps, n);
	/* Without this, nothing here would depend on the switch. */
	for (i = 0; !ret && i < n; i++) {
		p[i].registered = true;
		p[i].enabled = !p[i].starts_disabled;
		if (!kprobe_ftrace(&p[i].rp.kp))
			ret = -ENXIO;
	}
	return ret;
}

static void unregister_all(struct probe *p, unsigned int n)
{
	struct kretprobe *rps[] = { &p[0].rp, &p[n - 1].rp };
	struct kprobe *kps[] = { &p[0].rp.kp, &p[n - 1].rp.kp };
	unsigned int i;

	if (n == 1 && p->kind == KIND_RETURN)
		unregister_kretprobe(&p->rp);
	else if (n == 1)
		unregister_kprobe(&p->rp.kp);
	else if (p->kind == KIND_RETURN)
		unregister_kretprobes(rps, n);
	else
		unregister_kprobes(kps, n);
	for (i = 0; i < n; i++) {
		p[i].registered = false;
		p[i].enabled = false;
	}
}

static int set_enabled(struct probe *p, bool enabled)
{
	p->enabled = enabled;
	if (p->kind == KIND_RETURN)
		return enabled ? enable_kretprobe(&p->rp) : disable_kretprobe(&p->rp);
	return enabled ? enable_kprobe(&p->rp.kp) : disable_kprobe(&p->rp.kp);
}

/* Is ftrace on? */
static bool is_on = true;

static int set_switch(bool on)
{
	struct file *file = filp_open(SWITCH, O_WRONLY, 0);
	loff_t pos = 0;
	ssize_t ret;

	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = kernel_write(file, on ? "1" : "0", 1, &pos);
	filp_close(file, NULL);

	/* Newer kernels have no way to switch it off. */
	if (!on && ret == -EOPNOTSUPP)
		return 0;
	if (ret < 0)
		return ret;
	is_on = on;
	nr_off += !on;
	return 0;
}

static int step_probe(char step, struct probe *p, unsigned int n)
{
	switch (step) {
	case 'R':
		return register_all(p, n);
	case 'U':
		unregister_all(p, n);
		return 0;
	default:
		return set_enabled(p, !p->enabled);
	}
}

/* One call of each function; 0 if every handler has seen what it has to see. */
static int call_both(void)
{
	int (*volatile one)(int v) = kprobe_test_order_one;
	int (*volatile two)(int v) = kprobe_test_order_two;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		probes[i].hits = 0;
		probes[i].post_hits = 0;
	}
	if (one(1) != 4 || two(1) != 6)
		return -EFAULT;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		const struct probe *p = &probes[i];
		unsigned int hits = is_on && p->enabled;

		if (p->hits != hits || p->post_hits != (p->kind == KIND_POST ? hits : 0))
			return -ERANGE;
	}
	return 0;
}

static int do_step(char step)
{
	struct probe *p = &probes[islower(step)];

	if (isdigit(step))
		return set_switch(step == '1') ?: call_both();
	step = toupper(step);
	if (how == HOW_BATCH && strchr("RU", step))
		return step_probe(step, p, 2) ?: call_both();
	return step_probe(step, p, 1) ?: call_both() ?:
	       how != HOW_STEP ? 0 : step_probe(step, p + 1, 1) ?: call_both();
}

/*
 * A probe on another function comes and goes. With it the last user of ftrace goes, which then
 * finds what is left over in the records of all functions, and shuts itself down.
 */
static int go_on_after(void)
{
	int (*volatile after)(int v) = kprobe_test_order_after;
	struct probe p = { .symbol = "kprobe_test_order_after" };
	int ret = register_all(&p, 1);

	after(1);
	if (p.registered)
		unregister_all(&p, 1);
	return ret ?: p.hits == 1 ? 0 : -ERANGE;
}

static void run_order(const char *order, unsigned int disabled)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		probes[i].starts_disabled = disabled & BIT(i);

	/* All are the same once ftrace is broken. */
	for (i = 0; order[i] && !ret && !nr_wrong; i++)
		ret = do_step(order[i]);

	if (ret)
		pr_err("order %s %u failed with %d at step %u, %c\n", order, disabled, ret, i,
		       order[i - 1]);

	/* The next one begins as this one did. */
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (probes[i].registered)
			unregister_all(&probes[i], 1);
	}
	if (!is_on)
		set_switch(true);

	ret = go_on_after() ?: ret;
	nr_orders++;
	nr_wrong += !!ret;
	cond_resched();
}

#define MAX_STEPS	16

/* The steps of both probes, and those that register and unregister. */
#define STEPS		"RSTUrstu"
#define NR_STEPS	8
static const u8 outer_steps[] = { 0, 3, 4, 7 };

/* Where a step is in an order, and how often the switch was turned before it. */
struct place {
	bool		is_there;
	unsigned int	at, turns;
};

/*
 * The patterns that some order has shown: that of three steps takes three bits for their order, and
 * six for the turns of the switch; that of four steps has six and eight bits.
 */
#define NR_TRIPLES	(NR_STEPS * NR_STEPS * NR_STEPS)
#define TRIPLE_BITS	9
#define OUTER_BITS	14
#define NR_SHOWN	((NR_TRIPLES << TRIPLE_BITS) + (1 << OUTER_BITS))
static DECLARE_BITMAP(shown, NR_SHOWN);

/* Has no order shown these steps in that way? The patterns of these steps begin at @first. */
static bool is_new(const struct place *places, const u8 *steps, unsigned int nr,
		   unsigned int first, bool mark)
{
	unsigned int pattern = 0, i, j;

	for (i = 0; i < nr; i++) {
		const struct place *place = &places[steps[i]];

		if (!place->is_there)
			return false;
		pattern = pattern << 2 | place->turns;
		for (j = 0; j < i; j++)
			pattern = pattern << 1 | (places[steps[j]].at < place->at);
	}
	if (mark)
		return !__test_and_set_bit(first + pattern, shown);
	return !test_bit(first + pattern, shown);
}

/* How much an order shows that none of those before has; @mark: it is one of these now. */
static unsigned int count_new(const char *order, bool mark)
{
	struct place places[NR_STEPS] = { };
	unsigned int turns = 0, n = 0, i;
	u8 s[3];

	for (i = 0; order[i]; i++) {
		const char *step = strchr(STEPS, order[i]);

		if (step)
			places[step - STEPS] = (struct place) { true, i, turns };
		else
			turns++;
	}

	for (s[0] = 0; s[0] < NR_STEPS; s[0]++) {
		for (s[1] = 0; s[1] < s[0]; s[1]++) {
			for (s[2] = 0; s[2] < s[1]; s[2]++) {
				i = (s[0] * NR_STEPS + s[1]) * NR_STEPS + s[2];
				n += is_new(places, s, ARRAY_SIZE(s), i << TRIPLE_BITS, mark);
			}
		}
	}
	return n + is_new(places, outer_steps, ARRAY_SIZE(outer_steps),
			  NR_TRIPLES << TRIPLE_BITS, mark);
}

/* What remains to be done of each probe's life, and of the switch. */
struct rest {
	const char	*probe[2], *sw;
};

/* Run the orders that begin with the first @n steps of @order, and show at least so much. */
static void run_orders(char *order, unsigned int n, struct rest rest, unsigned int least)
{
	const char **todo[] = { &rest.probe[0], &rest.probe[1], &rest.sw };
	bool over = true;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(todo); i++) {
		if (!**todo[i])
			continue;
		over = false;
		/* Off and on again without anything in between is no order of its own. */
		if (n && order[n - 1] == '0' && **todo[i] == '1')
			continue;
		/* In a batch, the second probe comes and goes with the first. */
		if (how == HOW_BATCH && i == 0 && **todo[0] == 'U' && *rest.probe[1])
			continue;
		if (how == HOW_BATCH && i == 1 && *rest.probe[0] == 'R')
			continue;
		order[n] = *(*todo[i])++;
		run_orders(order, n + 1, rest, least);
		(*todo[i])--;
	}
	order[n] = '\0';
	if (!over)
		return;

	if (how == HOW_STEP) {
		run_order(order, 0);
		run_order(order, 3);
	} else if (count_new(order, false) >= least) {
		count_new(order, true);
		/* Each probe is registered disabled in half of them; in others with other kinds. */
		run_order(order, (nr_orders + nr_runs) % 4);
	}
}

static void run_all(void)
{
	static const char * const second[] = { "", "rstu", "st" };
	struct rest all = { { "RSTU", second[how] }, "01" };
	char order[MAX_STEPS];
	unsigned int least;

	bitmap_zero(shown, NR_SHOWN);
	/* Those that show most come first, so that few are enough. */
	for (least = how == HOW_STEP ? 1 : 32; least; least /= 2)
		run_orders(order, 0, all, least);
}

static int run_set(const char *val, const struct kernel_param *kp)
{
	char kinds[2][8], where[8], word[16], order[MAX_STEPS];
	unsigned int disabled = 0;
	int i, nr, ret;

	nr = sscanf(val, "%7s %7s %7s %15s %15s %u", kinds[0], kinds[1], where, word, order,
		    &disabled);
	if (nr < 4)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		ret = match_string(kind_names, ARRAY_SIZE(kind_names), kinds[i]);
		if (ret < 0)
			return ret;
		probes[i].kind = ret;
		probes[i].symbol = i && !strcmp(where, "two") ? "kprobe_test_order_two" :
								"kprobe_test_order_one";
	}
	ret = match_string(how_names, ARRAY_SIZE(how_names), word);
	if (ret < 0)
		return ret;
	how = ret;
	nr_runs++;
	nr_orders = 0;
	nr_wrong = 0;
	nr_off = 0;

	if (nr >= 5)
		run_order(order, disabled);
	else
		run_all();
	return 0;
}

static const struct kernel_param_ops run_ops = { .set = run_set };
module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "two kinds, the number of functions, how, and perhaps which order");
module_param_named(orders, nr_orders, uint, 0400);
MODULE_PARM_DESC(orders, "orders of the last run");
module_param_named(wrong, nr_wrong, uint, 0400);
MODULE_PARM_DESC(wrong, "how many of them went wrong");
module_param_named(off, nr_off, uint, 0400);
MODULE_PARM_DESC(off, "how often ftrace was switched off");

MODULE_DESCRIPTION("Orders of what can be done with two probes and a switch");
MODULE_LICENSE("GPL");
