// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many probes in one call: counts the calls of a list of functions. The batch needs
 * as many grace periods as a single probe, and, on x86, on powerpc, and for these few
 * probes on arm64, as many synchronizations of all CPUs. It succeeds or fails as a whole.
 *
 *	insmod kprobe_batch_example.ko symbols=vfs_read,vfs_write,vfs_open
 *	rmmod kprobe_batch_example
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/percpu.h>

#define MAX_PROBES	32

static char *symbols[MAX_PROBES] = { "vfs_read", "vfs_write", "vfs_open" };
static unsigned int nr_symbols = 3;
module_param_array(symbols, charp, &nr_symbols, 0444);
MODULE_PARM_DESC(symbols, "functions whose calls are counted, at most 32");

struct counter {
	struct kprobe		kp;
	unsigned long __percpu	*hits;
};

static struct counter counters[MAX_PROBES];
static struct kprobe *probes[MAX_PROBES];
static unsigned int nr_probes;

static int count(struct kprobe *p, struct pt_regs *regs)
{
	/* Handlers may run in any context: this_cpu_inc() is safe there. */
	this_cpu_inc(*container_of(p, struct counter, kp)->hits);
	return 0;
}
NOKPROBE_SYMBOL(count);

static unsigned long sum(const struct counter *c)
{
	unsigned long total = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		total += *per_cpu_ptr(c->hits, cpu);
	return total;
}

static void free_counters(void)
{
	unsigned int i;

	for (i = 0; i < nr_probes; i++)
		free_percpu(counters[i].hits);
}

static int __init kprobe_batch_example_init(void)
{
	int ret;

	while (nr_probes < nr_symbols) {
		struct counter *c = &counters[nr_probes];

		c->hits = alloc_percpu(unsigned long);
		if (!c->hits) {
			free_counters();
			return -ENOMEM;
		}
		c->kp.symbol_name = symbols[nr_probes];
		c->kp.pre_handler = count;
		probes[nr_probes++] = &c->kp;
	}

	ret = register_kprobes(probes, nr_probes);
	if (ret) {
		pr_err("cannot register %u probes: %d\n", nr_probes, ret);
		free_counters();
		return ret;
	}

	pr_info("probes registered: %u\n", nr_probes);
	return 0;
}
module_init(kprobe_batch_example_init);

static void __exit kprobe_batch_example_exit(void)
{
	unsigned int i;

	unregister_kprobes(probes, nr_probes);

	/* No handler runs any more, so the sums are final. */
	for (i = 0; i < nr_probes; i++)
		pr_info("%s: %lu calls, %lu missed\n", symbols[i],
			sum(&counters[i]), counters[i].kp.nmissed);
	free_counters();
}
module_exit(kprobe_batch_example_exit);

MODULE_DESCRIPTION("Example of many kernel probes in one call");
MODULE_LICENSE("GPL");
