// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table in which a hit finds its site. It uses open addressing, so a lookup touches one or
 * two cache lines however many probes there are. Readers take no lock; writers hold kprobe_mutex.
 * The table grows by being copied.
 *
 * An entry keeps its address for as long as its table lives, so a reader that has seen the
 * address cannot get the site of another one. Removal leaves a tombstone, which only the same
 * address may use again.
 */

#include <kunit/static_stub.h>
#include <linux/cpu.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/stop_machine.h>

#include "lock.h"
#include "table.h"

#define FIRST_SIZE	64

/* Protects the table, the sites and their users; see lock.h. */
DEFINE_MUTEX(kprobe_mutex);

/* An address that is that of no code. */
#define NOWHERE		((unsigned long)&kprobe_mutex)

/*
 * Usable before anything is initialized: architectures register the probe on their return
 * trampoline while the core itself is being set up.
 */
static union {
	struct kprobe_table		t;
	struct kprobe_table_entry	room[FIRST_SIZE];
} first = {
	.t = {
		.mask	= { NOWHERE, FIRST_SIZE - 1 },
		.factor	= { NOWHERE, GOLDEN_RATIO_PRIME },
		.shift	= { NOWHERE, BITS_PER_LONG - ilog2(FIRST_SIZE) },
		.used	= { NOWHERE, 0 },
		.live	= { NOWHERE, 0 },
	},
};

static_assert(sizeof(struct kprobe_table) % sizeof(struct kprobe_table_entry) == 0);

struct kprobe_table __rcu *kprobe_table = (struct kprobe_table __rcu *)&first.t;

static struct kprobe_table *current_table(void)
{
	return rcu_dereference_protected(kprobe_table,
					 lockdep_is_held(&kprobe_mutex));
}

static struct kprobe_table *table_alloc(unsigned long size)
{
	size_t bytes = array_size(size, sizeof(struct kprobe_table_entry));
	struct kprobe_table *t;

	/*
	 * On 32 bit, vmalloc memory can fault in NMI context until the page tables of the
	 * interrupted task have caught up.
	 */
	if (IS_ENABLED(CONFIG_64BIT))
		t = kvzalloc(bytes, GFP_KERNEL);
	else
		t = kzalloc(bytes, GFP_KERNEL | __GFP_NOWARN);
	if (!t)
		return NULL;

	*t = first.t;
	t->mask.n = size - 1;
	t->shift.n = BITS_PER_LONG - ilog2(size);
	return t;
}

/* The entry with @addr, or the free one where it belongs. */
static struct kprobe_table_entry *table_slot(struct kprobe_table *t,
					     unsigned long addr)
{
	unsigned long i = kprobe_table_home(t, addr);

	while (t->entry[i].addr && t->entry[i].addr != addr)
		i = (i + 1) & t->mask.n;

	return &t->entry[i];
}

static void table_copy(struct kprobe_table *to, const struct kprobe_table *from)
{
	/* After the numbers. */
	const struct kprobe_table_entry *e = (const void *)(from + 1);

	to->live.n = 0;
	for (; e <= from->entry + from->mask.n; e++) {
		if (!e->kp)
			continue;
		*table_slot(to, e->addr) = *e;
		to->live.n++;
	}
	to->used.n = to->live.n;
}

static int kprobe_nothing(void *unused)
{
	return 0;
}

/*
 * Wait until each CPU has switched to another thread, as synchronize_rcu_tasks_rude() does. But
 * that one uses schedule_on_each_cpu(), which needs memory, and does not say when there was none.
 * One CPU after the other, as a CPU that is late should not hold up the others.
 */
void kprobe_wait_for_switches(void)
{
	int cpu;

	guard(cpus_read_lock)();

	for_each_online_cpu(cpu)
		stop_one_cpu(cpu, kprobe_nothing, NULL);
}

/*
 * Wait for hits that a grace period of RCU does not wait for. After both, what was in the table is
 * freed, or the table itself.
 *
 * Where the breakpoint exception does not make RCU watch, these are hits in the idle loop, or on
 * the way from and to user space. The core cannot make RCU watch there, because the architecture
 * calls it after the lookup, and uses the probe after the call. But such a hit keeps preemption
 * off, as its state is per CPU. So it is over when each CPU has run another thread. An interrupt
 * on each CPU is not enough: some architectures handle a breakpoint with interrupts on. Nor is a
 * grace period of RCU-tasks, which ignores idle tasks.
 *
 * Everywhere else, a CPU that comes up can handle breakpoints before it is online and before RCU
 * covers it. It comes up while cpus_read_lock(), which kprobe_wait_for_switches() takes as well, is
 * held for writing.
 */
static void kprobe_table_sync(void)
{
	if (!KPROBE_TRAP_IS_WATCHED && IS_ENABLED(CONFIG_CONTEXT_TRACKING_IDLE)) {
		kprobe_wait_for_switches();
	} else {
		cpus_read_lock();
		cpus_read_unlock();
	}
}

/*
 * After this, no CPU runs a handler or a step of a hit that has begun before, and no CPU that
 * trapped before the text changed still has to look up its site. kprobe_mutex is not held.
 */
void kprobe_wait_for_hits(void)
{
	KUNIT_STATIC_STUB_REDIRECT(kprobe_wait_for_hits);

	/*
	 * Expedited: otherwise, to unregister thousands of probes one by one would take minutes.
	 * Users of nohz_full boot with rcupdate.rcu_normal=1.
	 */
	synchronize_rcu_expedited();
	/* RCU does not know of breakpoints where it does not watch. */
	kprobe_table_sync();
}

/*
 * Make room for @nr addresses, to be inserted before kprobe_mutex is dropped. At least half of
 * the table stays free, so that walks are short. Without memory for a larger table, the old one
 * is filled up to seven eighths.
 */
int kprobe_table_reserve(unsigned int nr)
{
	struct kprobe_table *old = current_table();
	unsigned long size = old->mask.n + 1, used = old->used.n + nr;
	struct kprobe_table *t;

	lockdep_assert_held(&kprobe_mutex);

	if (used <= size / 2)
		return 0;

	/*
	 * A third full at most, so that the next copy is far away. It may be no larger than the
	 * old one, which also has tombstones.
	 */
	t = table_alloc(max_t(unsigned long, FIRST_SIZE,
			      roundup_pow_of_two(3 * (old->live.n + nr))));
	if (!t)
		return used <= size / 8 * 7 ? 0 : -ENOMEM;

	table_copy(t, old);
	rcu_assign_pointer(kprobe_table, t);
	if (old != &first.t) {
		kprobe_table_sync();
		kvfree_rcu_mightsleep(old);
	}

	return 0;
}

/* Let hits at an address find their site. After kprobe_table_reserve(). */
void kprobe_table_insert(unsigned long addr, struct kprobe *kp)
{
	struct kprobe_table *t = current_table();
	struct kprobe_table_entry *e = table_slot(t, addr);

	lockdep_assert_held(&kprobe_mutex);

	if (WARN_ON_ONCE(e->kp))
		return;

	t->live.n++;
	if (!e->addr)
		t->used.n++;

	/* In a tombstone, which has its address, this publishes the site. */
	smp_store_release(&e->kp, kp);
	/* In a new entry this does; see the acquire in kprobe_table_find(). */
	smp_store_release(&e->addr, addr);
}

/*
 * Take a site out, if it is in the table. Readers may still have found it, so it is freed after a
 * grace period.
 */
void kprobe_table_remove(unsigned long addr, const struct kprobe *kp)
{
	struct kprobe_table *t = current_table();
	struct kprobe_table_entry *e = table_slot(t, addr);

	lockdep_assert_held(&kprobe_mutex);

	if (e->kp != kp)
		return;

	WRITE_ONCE(e->kp, NULL);
	t->live.n--;
}
