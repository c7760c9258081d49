// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers one probe, for tests of probes in modules. Writing a symbol to the
 * parameter "register" registers a probe there, and fails as the registration does;
 * anything written to "unregister" or "enable" does what the name says. "hits" and
 * "gone" show the state of the probe. With "post" set, it gets a post handler as well,
 * whose calls are "post_hits". With "oops" set, its handler writes to an unmapped
 * address.
 *
 * A number written to "hold" keeps the last CPU busy for so many milliseconds, in
 * which no grace period ends; 0 ends that.
 *
 * Anything written to "kill_ftrace" makes ftrace believe that it is broken.
 *
 * "on_coming" is a symbol that is probed as soon as a module with that symbol is
 * coming, before its init function runs. "on_going" is one that is to be probed after
 * all notifiers have seen its module go; "going_error" is the result.
 * "on_early" is a symbol on which a probe is registered as its module is coming, but
 * before any other notifier has seen the module; "early_error" is the result. While
 * "hold_coming" is set, a module that is coming is held at that point, which
 * "coming_held" shows. With "refuse_coming" set, the last notifier refuses modules.
 */

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <linux/string.h>

#define NAME_LEN	128

/* A probe and the symbol it is on. */
struct probe {
	struct kprobe	kp;
	char		name[NAME_LEN];
	bool		registered;
	atomic_t	hits, post_hits;
};

static struct probe by_hand, on_coming, on_going, on_early;
static int going_error, early_error;
static bool hold_coming, coming_held, refuse_coming;

static bool oops;
module_param(oops, bool, 0600);
MODULE_PARM_DESC(oops, "whether the handler oopses");

static int count_hit(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_inc(&container_of(kp, struct probe, kp)->hits);
	if (READ_ONCE(oops))
		WRITE_ONCE(*(int *)NULL, 0);
	return 0;
}

static void count_post_hit(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	atomic_inc(&container_of(kp, struct probe, kp)->post_hits);
}

/* Faults of the probed instruction are none of its business. */
static int pass_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	return 0;
}

static bool with_pre_handler = true;
module_param_named(pre, with_pre_handler, bool, 0600);
MODULE_PARM_DESC(pre, "whether probes get a pre handler");

static bool with_fault_handler;
module_param_named(fault, with_fault_handler, bool, 0600);
MODULE_PARM_DESC(fault, "whether probes get a fault handler");

static bool with_post_handler;
module_param_named(post, with_post_handler, bool, 0600);
MODULE_PARM_DESC(post, "whether probes get a post handler");

static int probe_register(struct probe *p)
{
	int ret;

	if (p->registered)
		return -EBUSY;

	memset(&p->kp, 0, sizeof(p->kp));
	p->kp.symbol_name = p->name;
	if (with_pre_handler)
		p->kp.pre_handler = count_hit;
	if (with_fault_handler)
		p->kp.fault_handler = pass_fault;
	if (with_post_handler)
		p->kp.post_handler = count_post_hit;
	atomic_set(&p->hits, 0);
	atomic_set(&p->post_hits, 0);
	ret = register_kprobe(&p->kp);
	p->registered = !ret;
	return ret;
}

static void probe_unregister(struct probe *p)
{
	if (p->registered)
		unregister_kprobe(&p->kp);
	p->registered = false;
}

static void set_name(struct probe *p, const char *val)
{
	strscpy(p->name, val);
	strim(p->name);
}

static int register_set(const char *val, const struct kernel_param *kp)
{
	if (by_hand.registered)
		return -EBUSY;
	set_name(&by_hand, val);
	return probe_register(&by_hand);
}

static int unregister_set(const char *val, const struct kernel_param *kp)
{
	probe_unregister(&by_hand);
	return 0;
}

static int enable_set(const char *val, const struct kernel_param *kp)
{
	return by_hand.registered ? enable_kprobe(&by_hand.kp) : -ENOENT;
}

/*
 * Not exported; a probe finds its address. On powerpc, the probe is after the instructions that
 * set up r2 for calls from modules.
 */
static int kill_ftrace_set(const char *val, const struct kernel_param *kp)
{
	struct kprobe p = { .symbol_name = "ftrace_kill" };
	char where[KSYM_SYMBOL_LEN];
	void (*ftrace_kill)(void);
	unsigned int offset;
	int ret = register_kprobe(&p);

	if (ret)
		return ret;
	unregister_kprobe(&p);
	sprint_symbol(where, (unsigned long)p.addr);
	if (sscanf(where, "ftrace_kill+0x%x/", &offset) != 1)
		return -EINVAL;
	ftrace_kill = (void *)p.addr - offset;
	ftrace_kill();
	return 0;
}

/* Keeps the last CPU busy. Writes to parameters are serialized. */
static struct task_struct *holder;
static unsigned int hold_ms;

static int hold_cpu(void *held)
{
	unsigned long end = jiffies + msecs_to_jiffies(hold_ms);

	preempt_disable();
	complete(held);
	while (!kthread_should_stop() && time_before(jiffies, end))
		cpu_relax();
	preempt_enable();
	return 0;
}

static void hold_end(void)
{
	if (holder) {
		kthread_stop(holder);
		put_task_struct(holder);
	}
	holder = NULL;
}

static int hold_set(const char *val, const struct kernel_param *param)
{
	DECLARE_COMPLETION_ONSTACK(held);
	int ret;

	hold_end();
	ret = kstrtouint(val, 0, &hold_ms);
	if (ret || !hold_ms)
		return ret;
	if (num_online_cpus() < 2)
		return -EBUSY;

	holder = kthread_create_on_cpu(hold_cpu, &held, cpumask_last(cpu_online_mask),
				       "kprobe_test/%u");
	if (IS_ERR(holder)) {
		ret = PTR_ERR(holder);
		holder = NULL;
		return ret;
	}
	get_task_struct(holder);
	wake_up_process(holder);
	wait_for_completion(&held);
	return 0;
}

/* kp->arg is the probe. */
static int on_module_set(const char *val, const struct kernel_param *kp)
{
	probe_unregister(kp->arg);
	set_name(kp->arg, val);
	return 0;
}

static int hits_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&((struct probe *)kp->arg)->hits));
}

static int post_hits_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&((struct probe *)kp->arg)->post_hits));
}

static int gone_get(char *buf, const struct kernel_param *kp)
{
	struct probe *p = kp->arg;

	return sysfs_emit(buf, "%d\n", p->registered && kprobe_gone(&p->kp));
}

static const struct kernel_param_ops register_ops = { .set = register_set };
static const struct kernel_param_ops unregister_ops = { .set = unregister_set };
static const struct kernel_param_ops enable_ops = { .set = enable_set };
static const struct kernel_param_ops kill_ftrace_ops = { .set = kill_ftrace_set };
static const struct kernel_param_ops hold_ops = { .set = hold_set };
static const struct kernel_param_ops on_module_ops = { .set = on_module_set };
static const struct kernel_param_ops hits_ops = { .get = hits_get };
static const struct kernel_param_ops post_hits_ops = { .get = post_hits_get };
static const struct kernel_param_ops gone_ops = { .get = gone_get };

module_param_cb(register, &register_ops, NULL, 0200);
MODULE_PARM_DESC(register, "symbol to register the probe on");
module_param_cb(unregister, &unregister_ops, NULL, 0200);
MODULE_PARM_DESC(unregister, "written to: unregisters the probe");
module_param_cb(enable, &enable_ops, NULL, 0200);
MODULE_PARM_DESC(enable, "written to: enables the probe");
module_param_cb(kill_ftrace, &kill_ftrace_ops, NULL, 0200);
MODULE_PARM_DESC(kill_ftrace, "written to: breaks ftrace for good");
module_param_cb(hold, &hold_ops, NULL, 0200);
MODULE_PARM_DESC(hold, "milliseconds for which no grace period ends");
module_param_cb(on_coming, &on_module_ops, &on_coming, 0200);
MODULE_PARM_DESC(on_coming, "symbol to probe as its module comes");
module_param_cb(on_going, &on_module_ops, &on_going, 0200);
MODULE_PARM_DESC(on_going, "symbol to probe as its module goes");
module_param(going_error, int, 0600);
MODULE_PARM_DESC(going_error, "what registering it returned");
module_param_cb(on_early, &on_module_ops, &on_early, 0200);
MODULE_PARM_DESC(on_early, "symbol to probe before other notifiers see its module");
module_param(early_error, int, 0600);
MODULE_PARM_DESC(early_error, "what registering it returned");
module_param(hold_coming, bool, 0600);
MODULE_PARM_DESC(hold_coming, "whether modules are held before other notifiers see them");
module_param(coming_held, bool, 0400);
MODULE_PARM_DESC(coming_held, "whether a module is held");
module_param(refuse_coming, bool, 0600);
MODULE_PARM_DESC(refuse_coming, "whether modules are refused after all notifiers");
module_param_cb(hits, &hits_ops, &by_hand, 0400);
MODULE_PARM_DESC(hits, "hits of the probe since it was registered");
module_param_cb(post_hits, &post_hits_ops, &by_hand, 0400);
MODULE_PARM_DESC(post_hits, "calls of its post handler since then");
module_param_cb(gone, &gone_ops, &by_hand, 0400);
MODULE_PARM_DESC(gone, "1 when the probed code does not exist any more");
module_param_cb(coming_hits, &hits_ops, &on_coming, 0400);
MODULE_PARM_DESC(coming_hits, "hits of the probe of on_coming");
module_param_cb(coming_gone, &gone_ops, &on_coming, 0400);
MODULE_PARM_DESC(coming_gone, "1 when the code it was on does not exist any more");

static int module_event(struct notifier_block *nb, unsigned long event, void *mod)
{
	if (event == MODULE_STATE_COMING && on_coming.name[0])
		probe_register(&on_coming);
	/* This notifier runs after the core's. */
	if (event == MODULE_STATE_GOING && on_going.name[0]) {
		going_error = probe_register(&on_going);
		probe_unregister(&on_going);
	}
	return NOTIFY_DONE;
}

/* Before the core's notifier. */
static int first_event(struct notifier_block *nb, unsigned long event, void *mod)
{
	unsigned long end = jiffies + 30 * HZ;

	if (event != MODULE_STATE_COMING)
		return NOTIFY_DONE;

	if (on_early.name[0]) {
		early_error = probe_register(&on_early);
		probe_unregister(&on_early);
	}

	WRITE_ONCE(coming_held, READ_ONCE(hold_coming));
	while (READ_ONCE(hold_coming) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	WRITE_ONCE(coming_held, false);
	return NOTIFY_DONE;
}

/* After all others, which then see the module go without having been live. */
static int last_event(struct notifier_block *nb, unsigned long event, void *mod)
{
	if (event == MODULE_STATE_COMING && READ_ONCE(refuse_coming))
		return notifier_from_errno(-EPERM);
	return NOTIFY_DONE;
}

static struct notifier_block module_nbs[] = {
	{ .notifier_call = first_event, .priority = INT_MAX },
	{ .notifier_call = module_event },
	{ .notifier_call = last_event, .priority = INT_MIN },
};

static void unregister_notifiers(int nr)
{
	while (nr--)
		unregister_module_notifier(&module_nbs[nr]);
}

static int __init kprobe_test_driver_init(void)
{
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(module_nbs); i++) {
		ret = register_module_notifier(&module_nbs[i]);
		if (ret) {
			unregister_notifiers(i);
			return ret;
		}
	}
	return 0;
}

static void __exit kprobe_test_driver_exit(void)
{
	unregister_notifiers(ARRAY_SIZE(module_nbs));
	hold_end();
	probe_unregister(&by_hand);
	probe_unregister(&on_coming);
}

module_init(kprobe_test_driver_init);
module_exit(kprobe_test_driver_exit);
MODULE_DESCRIPTION("Registers one probe at a given symbol");
MODULE_LICENSE("GPL");
