// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests for defects of the base, one each time the module is loaded. Uses only API that the base
 * has, too, and prints "NAME right" or "NAME wrong". scripts/prove/defects knows what goes wrong.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/umh.h>

static char *defect = "";
module_param(defect, charp, 0444);
MODULE_PARM_DESC(defect, "name of the defect to test for");

#define wrong(fmt, ...)							\
({									\
	pr_info("%s wrong: " fmt "\n", defect, ##__VA_ARGS__);		\
	1;								\
})

/* Returns 0 without a message if both values are the same. */
#define expect(what, want)						\
({									\
	long __is = (long)(what), __want = (long)(want);		\
									\
	__is == __want ? 0 :						\
		wrong(#what " is %#lx, not %#lx", __is, __want);	\
})

static noinline long traced_f(void)
{
	barrier();
	return 1;
}

static noinline long traced_g(void)
{
	barrier();
	return 2;
}

static atomic_t hits, posts;

static int count_pre(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&hits);
	return 0;
}

static void count_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	atomic_inc(&posts);
}

static struct kprobe probe_on(void *addr)
{
	return (struct kprobe) { .addr = addr, .pre_handler = count_pre };
}

/* A function that returns its argument, with an instruction that has room for a jump. */
#define CODE(name)							\
	long defects_##name(long arg);					\
	extern kprobe_opcode_t defects_##name##_at[];			\
	asm(".pushsection .text, \"ax\"\n"				\
	    ".balign 16\n"						\
	    "defects_" #name ":\n"					\
	    "defects_" #name "_at:\n"					\
	    "	mov %rdi, %rax\n"					\
	    "	.skip 13, 0x90\n"					\
	    "	ret\n"							\
	    "	.skip 16, 0xcc\n"					\
	    ".size defects_" #name ", . - defects_" #name "\n"		\
	    ".popsection\n")

CODE(plain);
CODE(other);

static int shell(const char *text)
{
	char *argv[] = { "/bin/sh", "-c", (char *)text, NULL };
	char *envp[] = { "PATH=/bin", NULL };

	return call_usermodehelper(argv[0], argv, envp, UMH_WAIT_PROC);
}

/* A probe is enabled while all are switched off. */
static int enable(void)
{
	struct kprobe kp = probe_on(defects_plain_at);
	int ret;

	if (register_kprobe(&kp) || disable_kprobe(&kp))
		return wrong("no probe");
	ret = shell("echo 0 >/sys/kernel/debug/kprobes/enabled") || enable_kprobe(&kp) ||
	      shell("echo 1 >/sys/kernel/debug/kprobes/enabled");
	defects_plain(1);
	unregister_kprobe(&kp);
	return ret ? wrong("no switch") : expect(atomic_read(&hits), 1);
}

/* After a post handler at one entry has come and gone, one elsewhere must be called. */
static int mixed_post(void)
{
	struct kprobe a = probe_on((void *)traced_f), b = probe_on((void *)traced_f);
	struct kprobe c = probe_on((void *)traced_g);

	b.post_handler = count_post;
	c.post_handler = count_post;
	if (register_kprobe(&a) || register_kprobe(&b))
		return wrong("no probe");
	unregister_kprobe(&b);
	unregister_kprobe(&a);
	if (register_kprobe(&c))
		return wrong("none any more");
	traced_g();
	unregister_kprobe(&c);
	return expect(atomic_read(&posts), 1);
}

/* The guest's script checks for slots that were not freed. */
static int twice(void)
{
	int i;

	for (i = 0; i < 1500; i++) {
		struct kprobe kp = probe_on(defects_plain_at);
		struct kprobe *both[] = { &kp, &kp };

		if (register_kprobe(&kp))
			return wrong("no probe");
		unregister_kprobes(both, 2);
	}
	return 0;
}

static int unregistered(void)
{
	struct kretprobe rp = { .kp.addr = (void *)traced_f };

	unregister_kretprobe(&rp);
	return 0;
}

static bool has_jump(void *addr)
{
	return READ_ONCE(*(u8 *)addr) == 0xe9;
}

static bool gets_jump(void *addr)
{
	unsigned long end = jiffies + 5 * HZ;

	while (!has_jump(addr) && time_before(jiffies, end))
		msleep(20);
	return has_jump(addr);
}

/* A probe is registered again while the optimizer still has to free the old one. */
static int again(void)
{
	struct kprobe a = probe_on(defects_plain_at);
	struct kprobe b = probe_on(defects_plain_at);

	/* A reference to the address itself would make it a branch target. */
	b.offset = 3;
	if (register_kprobe(&a) || !gets_jump(defects_plain_at))
		return wrong("not optimized");
	unregister_kprobe(&a);
	if (register_kprobe(&b))
		return wrong("no second probe");
	unregister_kprobe(&b);
	a = probe_on(defects_plain_at);
	if (register_kprobe(&a))
		return wrong("no third probe");
	gets_jump(defects_plain_at);
	atomic_set(&hits, 0);
	defects_plain(1);
	unregister_kprobe(&a);
	return expect(atomic_read(&hits), 1) ?:
	       has_jump(defects_plain_at) ? wrong("a jump is left") : 0;
}

static void notrace leave_alone(unsigned long ip, unsigned long parent,
				struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

/* The only user of a function that may redirect it. */
static struct ftrace_ops only_user = {
	.func	= leave_alone,
	.flags	= FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
};

static int claim(void *site)
{
	return ftrace_set_filter_ip(&only_user, (unsigned long)site, 0, 0) ?:
	       register_ftrace_function(&only_user);
}

/* A first probe that cannot be armed must be refused: here it needs to be the only user, too. */
static int first_failed(void)
{
	struct kprobe a = probe_on((void *)traced_f);
	int ret;

	a.post_handler = count_post;
	ret = claim(a.addr);
	if (ret)
		return wrong("no function tracing: %d", ret);
	ret = register_kprobe(&a);
	traced_f();
	if (!ret)
		unregister_kprobe(&a);
	unregister_ftrace_function(&only_user);
	return ret ? 0 : wrong("it is registered, and was hit %d times", atomic_read(&hits));
}

/* A failed registration must not affect the probe that is already there. */
static int failed_post(void)
{
	struct kprobe a = probe_on((void *)traced_f), b = probe_on((void *)traced_f);
	int ret;

	b.post_handler = count_post;
	if (register_kprobe(&a))
		return wrong("no probe");
	ret = claim(a.addr);
	if (ret) {
		unregister_kprobe(&a);
		return wrong("no function tracing: %d", ret);
	}
	if (!register_kprobe(&b)) {
		unregister_kprobe(&b);
		unregister_kprobe(&a);
		unregister_ftrace_function(&only_user);
		return wrong("there is no conflict");
	}

	ret = disable_kprobe(&a);
	ret = ret ?: enable_kprobe(&a);
	traced_f();
	unregister_kprobe(&a);
	unregister_ftrace_function(&only_user);
	return expect(ret, 0) ?: expect(atomic_read(&hits), 1);
}

static int spin(void *data)
{
	unsigned long end = jiffies + 4 * HZ;

	WRITE_ONCE(*(bool *)data, true);
	while (time_before(jiffies, end))
		cpu_relax();
	return 0;
}

/* A thread spins, so the optimizer waits; other registrations must not wait for it. */
static int waits(void)
{
	struct kprobe a = probe_on(defects_plain_at), b = probe_on(defects_other_at);
	bool spins = false;
	unsigned long start;
	struct task_struct *task;

	set_cpus_allowed_ptr(current, cpumask_of(0));
	task = kthread_create(spin, &spins, "defects");
	if (IS_ERR(task) || num_online_cpus() < 2)
		return wrong("no thread on another CPU");
	get_task_struct(task);
	kthread_bind(task, 1);
	wake_up_process(task);
	while (!READ_ONCE(spins))
		msleep(1);

	if (register_kprobe(&a))
		return wrong("no probe");
	/* The optimizer has started by now. */
	msleep(500);
	start = jiffies;
	if (register_kprobe(&b))
		return wrong("no second probe");
	start = jiffies - start;
	kthread_stop_put(task);
	unregister_kprobe(&a);
	unregister_kprobe(&b);
	return start < HZ / 2 ? 0 : wrong("a registration took %lu of %d ticks", start, HZ);
}

static int call_plain(struct kprobe *p, struct pt_regs *regs)
{
	defects_plain(1);
	return 0;
}

/* A missed hit counts only for probes that are enabled. */
static int missed(void)
{
	struct kprobe on = probe_on(defects_plain_at), off = probe_on(defects_plain_at);
	struct kprobe outer = { .addr = defects_other_at, .pre_handler = call_plain };

	if (register_kprobe(&on) || register_kprobe(&off) || disable_kprobe(&off) ||
	    register_kprobe(&outer))
		return wrong("no probe");
	defects_other(1);
	unregister_kprobe(&outer);
	unregister_kprobe(&off);
	unregister_kprobe(&on);
	if (!on.nmissed)
		return wrong("nothing was missed");
	return expect(off.nmissed, 0);
}

static const struct {
	const char	*name;
	int		(*test)(void);
} tests[] = {
	{ "enable", enable },
	{ "mixed_post", mixed_post },
	{ "twice", twice },
	{ "unregistered", unregistered },
	{ "again", again },
	{ "first_failed", first_failed },
	{ "failed_post", failed_post },
	{ "waits", waits },
	{ "missed", missed },
};

static int __init kprobe_defects_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		if (strcmp(tests[i].name, defect))
			continue;
		if (!tests[i].test())
			pr_info("%s right\n", defect);
		return 0;
	}

	return -EINVAL;
}
module_init(kprobe_defects_init);

static void __exit kprobe_defects_exit(void)
{
}
module_exit(kprobe_defects_exit);

MODULE_DESCRIPTION("Defects of the base's kprobes");
MODULE_LICENSE("GPL");
