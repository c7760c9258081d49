// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes on many instructions, batch after batch, while the guest works.
 *
 * scripts/measure/sweep and scripts/measure/coverage generate targets[], the addresses.
 * Writing a number to the parameter "batch" registers that batch, -1 unregisters
 * it and reports its outcome.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/slab.h>

/*
 * An address or, in a module, the symbol "MODULE:SYMBOL" and an offset. With @off, it is only found
 * out whether a probe is accepted.
 */
struct sweep_target {
	const char	*symbol;
	unsigned long	addr;
	bool		off;
};

/* targets[], in the order of their batches. */
#include "targets.h"

static int size = 500;
module_param(size, int, 0444);
MODULE_PARM_DESC(size, "addresses per batch");

static bool watched;
module_param(watched, bool, 0444);
MODULE_PARM_DESC(watched, "with post handlers, so that no copy is boosted");

static bool returns;
module_param(returns, bool, 0444);
MODULE_PARM_DESC(returns, "return probes");

static bool each;
module_param(each, bool, 0444);
MODULE_PARM_DESC(each, "report the outcome of each address");

static long shift;
module_param(shift, long, 0444);
MODULE_PARM_DESC(shift, "how far the kernel is from where it was linked");

static int nr_batches;
module_param(nr_batches, int, 0444);
MODULE_PARM_DESC(nr_batches, "number of batches");

static unsigned long accepted, hit_addrs, misses;
static atomic_long_t hits;
static unsigned int refused[MAX_ERRNO];

struct sweep_probe {
	struct kretprobe		rp;
	const struct sweep_target	*target;
	unsigned int			hits;
};

static struct sweep_probe *probes;
static struct kprobe **kps;
static struct kretprobe **rps;
static int nr_kps;
static DEFINE_MUTEX(sweep_mutex);

static int sweep_pre(struct kprobe *p, struct pt_regs *regs)
{
	/* An approximate count is enough. */
	container_of(p, struct sweep_probe, rp.kp)->hits++;
	return 0;
}

static int sweep_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	/* NULL once unregistering has started. The base has no other way to find it. */
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		container_of(rp, struct sweep_probe, rp)->hits++;
	return 0;
}

static void sweep_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static void set(struct sweep_probe *p, const struct sweep_target *target)
{
	memset(p, 0, sizeof(*p));
	p->target = target;
	if (target->symbol) {
		p->rp.kp.symbol_name = target->symbol;
		p->rp.kp.offset = target->addr;
	} else {
		p->rp.kp.addr = (void *)(target->addr + shift);
	}
	if (returns) {
		p->rp.handler = sweep_return;
		return;
	}
	p->rp.kp.pre_handler = sweep_pre;
	if (watched)
		p->rp.kp.post_handler = sweep_post;
}

static void unregister_all(void)
{
	if (returns)
		unregister_kretprobes(rps, nr_kps);
	else
		unregister_kprobes(kps, nr_kps);
}

static void batch_end(void)
{
	int i;

	unregister_all();
	for (i = 0; i < nr_kps; i++) {
		struct sweep_probe *p = container_of(kps[i], struct sweep_probe, rp.kp);

		atomic_long_add(p->hits, &hits);
		hit_addrs += !!p->hits;
		misses += p->rp.kp.nmissed + p->rp.nmissed;
	}
	accepted += nr_kps;
	nr_kps = 0;
}

/* Finds out which addresses of the batch are accepted, and sets up their probes. */
static void choose(int nr)
{
	int i, ret, end = min_t(int, (nr + 1) * size, ARRAY_SIZE(targets));

	for (i = nr * size; i < end; i++) {
		struct sweep_probe *p = &probes[i - nr * size];

		set(p, &targets[i]);
		p->rp.kp.flags = KPROBE_FLAG_DISABLED;
		ret = returns ? register_kretprobe(&p->rp) : register_kprobe(&p->rp.kp);
		if (ret) {
			refused[-ret]++;
			if (each)
				pr_info("error %d at %lx %s\n", ret, targets[i].addr,
					targets[i].symbol ?: "-");
		} else {
			rps[nr_kps] = &p->rp;
			kps[nr_kps++] = &p->rp.kp;
		}
	}
	unregister_all();

	nr = nr_kps;
	nr_kps = 0;
	for (i = 0; i < nr; i++) {
		struct sweep_probe *p = container_of(kps[i], struct sweep_probe, rp.kp);

		set(p, p->target);
		if (p->target->off)
			continue;
		rps[nr_kps] = &p->rp;
		kps[nr_kps++] = &p->rp.kp;
	}
}

static void batch_begin(int nr)
{
	int ret;

	/* If the guest dies, its last such line names the batch. */
	pr_info("batch %d\n", nr);
	choose(nr);
	if (returns)
		ret = register_kretprobes(rps, nr_kps);
	else
		ret = register_kprobes(kps, nr_kps);
	if (ret) {
		pr_err("batch %d failed: %d\n", nr, ret);
		nr_kps = 0;
	}
}

static void report(void)
{
	int i;

	pr_info("accepted %lu, hit %lu of them %ld times, missed %lu\n", accepted,
		hit_addrs, atomic_long_read(&hits), misses);
	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		if (refused[i])
			pr_info("refused %u with error %d\n", refused[i], -i);
	}
}

static int batch_set(const char *val, const struct kernel_param *kp)
{
	int nr, ret = kstrtoint(val, 0, &nr);

	if (ret)
		return ret;
	if (nr >= nr_batches)
		return -EINVAL;

	guard(mutex)(&sweep_mutex);
	batch_end();
	if (nr >= 0)
		batch_begin(nr);
	else
		report();
	return 0;
}

static const struct kernel_param_ops batch_ops = { .set = batch_set };
module_param_cb(batch, &batch_ops, NULL, 0200);
MODULE_PARM_DESC(batch, "number of the batch to register, or -1 to report");

static int __init sweep_init(void)
{
	probes = kvcalloc(size, sizeof(*probes), GFP_KERNEL);
	kps = kvcalloc(size, sizeof(*kps), GFP_KERNEL);
	rps = kvcalloc(size, sizeof(*rps), GFP_KERNEL);
	if (!probes || !kps || !rps) {
		kvfree(probes);
		kvfree(kps);
		kvfree(rps);
		return -ENOMEM;
	}
	nr_batches = DIV_ROUND_UP(ARRAY_SIZE(targets), size);
	return 0;
}

static void __exit sweep_exit(void)
{
	batch_end();
	kvfree(probes);
	kvfree(kps);
	kvfree(rps);
}

module_init(sweep_init);
module_exit(sweep_exit);
MODULE_DESCRIPTION("Probes all over the kernel");
MODULE_LICENSE("GPL");
