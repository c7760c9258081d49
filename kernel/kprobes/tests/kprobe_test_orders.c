// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two probes come and go while the switch kernel.ftrace_enabled is turned off and on, in every
 * order. Writing "FIRST SECOND WHERE HOW" to the parameter "run" does that. FIRST and SECOND
 * are the kinds of the probes: "kprobe", "post" (with a post handler) or "return"; WHERE is "one"
 * or "two", the number of functions that they are on. HOW is
 *
 *   together  both are registered, enabled, disabled and unregistered, one right after the
 *             other, and the switch is turned in between
 *   batch     the same, but one call registers both, and one call unregisters both
 *   apart     each is registered and unregistered on its own
 *   change    the same, but the first is disabled and enabled in between
 *
 * "orders" and "wrong" say how many orders there were, and how many of them went wrong. "off"
 * is the number of times that ftrace was switched off. Linux 7.3 refuses that.
 *
 * An order is a string: "0" and "1" are the switch; "R", "D", "E" and "U" register, disable,
 * enable and unregister the first probe, or both, and "N" registers it disabled. Small letters
 * are the second probe.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

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
	bool			registered, enabled;
	unsigned int		hits, post_hits;
};

static struct probe probes[2];
static enum how { TOGETHER, BATCH, APART, CHANGE } how;
static const char * const how_names[] = { "together", "batch", "apart", "change" };

static unsigned int nr_orders, nr_wrong, nr_off;

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

static void prepare(struct probe *p, bool enabled)
{
	memset(&p->rp, 0, sizeof(p->rp));
	p->rp.kp.symbol_name = p->symbol;
	p->rp.kp.flags = enabled ? 0 : KPROBE_FLAG_DISABLED;
	if (p->kind == KIND_RETURN)
		p->rp.handler = count_return;
	else
		p->rp.kp.pre_handler = count_hit;
	if (p->kind == KIND_POST)
		p->rp.kp.post_handler = count_post_hit;
}

static int register_all(struct probe *p, unsigned int n, bool enabled)
{
	struct kretprobe *rps[] = { &p[0].rp, &p[n - 1].rp };
	struct kprobe *kps[] = { &p[0].rp.kp, &p[n - 1].rp.kp };
	unsigned int i;
	int ret;

	for (i = 0; i < n; i++)
		prepare(&p[i], enabled);
	if (n == 1)
		ret = p->kind == KIND_RETURN ? register_kretprobe(&p->rp) :
					       register_kprobe(&p->rp.kp);
	else
		ret = p->kind == KIND_RETURN ? register_kretprobes(rps, n) :
					       register_kprobes(kps, n);
	/* Without this, nothing here would depend on the switch. */
	for (i = 0; !ret && i < n; i++) {
		p[i].registered = true;
		p[i].enabled = enabled;
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
	case 'N':
		return register_all(p, n, step == 'R');
	case 'U':
		unregister_all(p, n);
		return 0;
	default:
		return set_enabled(p, step == 'E');
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
	if (how == BATCH && strchr("RNU", step))
		return step_probe(step, p, 2) ?: call_both();
	return step_probe(step, p, 1) ?: call_both() ?:
	       how >= APART ? 0 : step_probe(step, p + 1, 1) ?: call_both();
}

/*
 * A probe on another function comes and goes. With it the last user of ftrace goes, which then
 * finds what is left over in the records of all functions, and shuts itself down.
 */
static int go_on_after(void)
{
	int (*volatile after)(int v) = kprobe_test_order_after;
	struct probe p = { .symbol = "kprobe_test_order_after" };
	int ret = register_all(&p, 1, true);

	after(1);
	if (p.registered)
		unregister_all(&p, 1);
	return ret ?: p.hits == 1 ? 0 : -ERANGE;
}

static void run_order(const char *order)
{
	unsigned int i;
	int ret = 0;

	/* All are the same once ftrace is broken. */
	for (i = 0; order[i] && !ret && !nr_wrong; i++)
		ret = do_step(order[i]);

	if (ret)
		pr_err("order %s failed with %d at step %u, %c\n", order, ret, i, order[i - 1]);

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

/* What remains to be done of each probe's life, and of the switch. */
struct rest {
	const char	*probe[2], *sw;
};

/* Run every order that begins with the first @n steps of @order. */
static void run_orders(char *order, unsigned int n, struct rest rest)
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
		order[n] = *(*todo[i])++;
		run_orders(order, n + 1, rest);
		(*todo[i])--;
	}
	order[n] = '\0';
	if (over)
		run_order(order);
}

static int run_set(const char *val, const struct kernel_param *kp)
{
	char kinds[2][8], where[8], word[16], order[MAX_STEPS];
	int i, ret;

	if (sscanf(val, "%7s %7s %7s %15s", kinds[0], kinds[1], where, word) != 4)
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
	nr_orders = 0;
	nr_wrong = 0;
	nr_off = 0;

	if (how >= APART) {
		const char *first = how == APART ? "RU" : "RDEU";

		run_orders(order, 0, (struct rest) { { first, "ru" }, "01" });
	} else {
		/* They are enabled when they are unregistered, or disabled. */
		run_orders(order, 0, (struct rest) { { "RDEU", "" }, "01" });
		run_orders(order, 0, (struct rest) { { "NEDU", "" }, "01" });
	}
	return 0;
}

static const struct kernel_param_ops run_ops = { .set = run_set };
module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "two kinds, the number of functions, and how");
module_param_named(orders, nr_orders, uint, 0400);
MODULE_PARM_DESC(orders, "orders of the last run");
module_param_named(wrong, nr_wrong, uint, 0400);
MODULE_PARM_DESC(wrong, "how many of them went wrong");
module_param_named(off, nr_off, uint, 0400);
MODULE_PARM_DESC(off, "how often ftrace was switched off");

MODULE_DESCRIPTION("All orders of what can be done with two probes and a switch");
MODULE_LICENSE("GPL");
