// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes on many instructions, batch after batch, while the guest works.
 *
 * The addresses are in sweep_addrs[], made by scripts/sweep. Writing a number to
 * the parameter "batch" registers that batch, -1 unregisters it and says what
 * became of it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/slab.h>

/* sweep_addrs[], sorted by chance. */
#include "addrs.h"

static int size = 500;
module_param(size, int, 0444);
MODULE_PARM_DESC(size, "addresses of a batch");

static bool watched;
module_param(watched, bool, 0444);
MODULE_PARM_DESC(watched, "with post handlers, so that no copy is boosted");

static int nr_batches;
module_param(nr_batches, int, 0444);
MODULE_PARM_DESC(nr_batches, "how many there are");

static unsigned long accepted, hit_addrs, misses;
static atomic_long_t hits;
static unsigned int refused[MAX_ERRNO];

struct sweep_probe {
	struct kprobe	kp;
	unsigned int	hits;
};

static struct sweep_probe *probes;
static struct kprobe **kps;
static int nr_kps;
static DEFINE_MUTEX(sweep_mutex);

static int sweep_pre(struct kprobe *p, struct pt_regs *regs)
{
	/* About how many is enough. */
	container_of(p, struct sweep_probe, kp)->hits++;
	return 0;
}

static void sweep_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static void batch_end(void)
{
	int i;

	unregister_kprobes(kps, nr_kps);
	for (i = 0; i < nr_kps; i++) {
		struct sweep_probe *p = container_of(kps[i], struct sweep_probe, kp);

		atomic_long_add(p->hits, &hits);
		hit_addrs += !!p->hits;
		misses += p->kp.nmissed;
	}
	accepted += nr_kps;
	nr_kps = 0;
}

static void batch_begin(int nr)
{
	int i, ret, end = min_t(int, (nr + 1) * size, ARRAY_SIZE(sweep_addrs));

	/* The last line of a guest that dies names the batch that did it. */
	pr_info("batch %d\n", nr);
	memset(probes, 0, size * sizeof(*probes));
	for (i = nr * size; i < end; i++) {
		struct sweep_probe *p = &probes[i - nr * size];

		p->kp.addr = (void *)sweep_addrs[i];
		p->kp.pre_handler = sweep_pre;
		if (watched)
			p->kp.post_handler = sweep_post;
		ret = register_kprobe(&p->kp);
		if (ret)
			refused[-ret]++;
		else
			kps[nr_kps++] = &p->kp;
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
	if (!probes || !kps) {
		kvfree(probes);
		kvfree(kps);
		return -ENOMEM;
	}
	nr_batches = DIV_ROUND_UP(ARRAY_SIZE(sweep_addrs), size);
	return 0;
}

static void __exit sweep_exit(void)
{
	batch_end();
	kvfree(probes);
	kvfree(kps);
}

module_init(sweep_init);
module_exit(sweep_exit);
MODULE_DESCRIPTION("Probes all over the kernel");
MODULE_LICENSE("GPL");
