// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files in debugfs and tracefs. Tools parse the lines of "list" and "blacklist", so anything
 * new goes to other files.
 */

#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/array_size.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/kstrtox.h>
#include <linux/pid_namespace.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/string_helpers.h>
#include <linux/tracefs.h>
#include <linux/uaccess.h>

#include "arm.h"
#include "blacklist.h"
#include "check.h"
#include "copy.h"
#include "jprobe.h"
#include "kretprobe.h"
#include "optimizer.h"
#include "pool.h"
#include "refusal.h"
#include "register.h"
#include "site.h"

/* Tools parse names: they are added, not changed. */
static const char * const site_state_names[NR_KPROBE_SITE_STATES] = {
	[KPROBE_SITE_NEW]	= "new",
	[KPROBE_SITE_READY]	= "disarmed",
	[KPROBE_SITE_ARMED]	= "armed",
	[KPROBE_SITE_GONE]	= "gone",
	[KPROBE_SITE_DEAD]	= "dead",
};

#ifdef CONFIG_OPTPROBES
static const char * const opt_state_names[NR_KPROBE_OPT_STATES] = {
	[KPROBE_OPT_NONE]	= "none",
	[KPROBE_OPT_PREPARED]	= "prepared",
	[KPROBE_OPT_QUEUED]	= "queued",
	[KPROBE_OPT_WAITING]	= "waiting",
	[KPROBE_OPT_LIVE]	= "live",
	[KPROBE_OPT_RECLAIMING]	= "reclaiming",
};
#endif

/*
 * Position 0 is the start, any other position the address to continue from. Sites are
 * ordered by address, and finding one takes the same time everywhere.
 */
static void *sites_start(struct seq_file *m, loff_t *pos)
{
	struct kprobe_site *site;

	mutex_lock(&kprobe_mutex);
	site = kprobe_site_from((unsigned long)*pos);
	if (site)
		*pos = kprobe_site_addr(site);
	return site;
}

static void *sites_next(struct seq_file *m, void *v, loff_t *pos)
{
	unsigned long addr = kprobe_site_addr(v);
	struct kprobe_site *site = v;

	/* One record shows all sites of an address. */
	do {
		site = kprobe_site_next(site);
	} while (site && kprobe_site_addr(site) == addr);

	*pos = site ? kprobe_site_addr(site) : addr + 1;
	return site;
}

static void sites_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&kprobe_mutex);
}

/* All sites at the address of @v: at most one of them is not gone. The file has the function. */
static int sites_show(struct seq_file *m, void *v)
{
	void (*show)(struct seq_file *m, struct kprobe_site *site) = m->private;
	unsigned long addr = kprobe_site_addr(v);
	struct kprobe_site *site;

	for_each_kprobe_site_in(site, addr, addr + 1)
		show(m, site);
	return 0;
}

static const struct seq_operations sites_sops = {
	.start	= sites_start,
	.next	= sites_next,
	.stop	= sites_stop,
	.show	= sites_show,
};
DEFINE_SEQ_ATTRIBUTE(sites);

/* Zero unless the opener of the file may see addresses. */
static void *shown_addr(struct seq_file *m, unsigned long addr)
{
	return kallsyms_show_value(m->file->f_cred) ? (void *)addr : NULL;
}

static char type_of(const struct kprobe *p)
{
	if (is_kretprobe(p))
		return 'r';
	return is_jprobe(p) ? 'j' : 'k';
}

static void show_user(struct seq_file *m, struct kprobe_site *site,
		      struct kprobe *p)
{
	unsigned long addr = kprobe_site_addr(site), size, offset;
	char name[KSYM_NAME_LEN];
	const char *sym;
	char *modname;

	/* Nothing else keeps the module of a probe that is gone. */
	guard(preempt)();

	sym = kallsyms_lookup(addr, &size, &offset, &modname, name);
	if (sym)
		seq_printf(m, "%px  %c  %s+0x%lx  %s ", shown_addr(m, addr), type_of(p),
			   sym, offset, modname ?: " ");
	else
		seq_printf(m, "%px  %c  0x%px ", shown_addr(m, addr), type_of(p),
			   shown_addr(m, addr));

	if (kprobe_gone(p))
		seq_puts(m, "[GONE]");
	else if (kprobe_disabled(p))
		seq_puts(m, "[DISABLED]");
	if (kprobe_optimized(&site->head.kp))
		seq_puts(m, "[OPTIMIZED]");
	if (kprobe_ftrace(&site->head.kp))
		seq_puts(m, "[FTRACE]");
	seq_putc(m, '\n');
}

static void show_list(struct seq_file *m, struct kprobe_site *site)
{
	struct kprobe *p;

	list_for_each_entry(p, &site->users, list)
		show_user(m, site, p);
}

static const char *site_kind(const struct kprobe_site *site)
{
	if (site->kind == KPROBE_SITE_FTRACE)
		return "ftrace";
	if (site->opt == KPROBE_OPT_LIVE)
		return "optimized";
	/* For code that is gone the architecture has no data any more. */
	return site->prepared ? kprobe_mode(&site->head.kp) : "breakpoint";
}

/* Without a symbol, %pS would show the address to everybody. */
static void show_symbol(struct seq_file *m, unsigned long addr)
{
	guard(preempt)();

	if (kallsyms_lookup_size_offset(addr, NULL, NULL))
		seq_printf(m, "%pS", (void *)addr);
	else
		seq_printf(m, "0x%px", shown_addr(m, addr));
}

#ifdef CONFIG_OPTPROBES
static void show_opt(struct seq_file *m, const struct kprobe_site *site)
{
	bool idle = site->opt == KPROBE_OPT_NONE || site->opt == KPROBE_OPT_PREPARED;
	u8 why = idle ? site->opt_why : KPROBE_NOOPT_NONE;

	seq_printf(m, " opt=%s why=%s", opt_state_names[site->opt],
		   kprobe_noopt_name(why));
	if (why && site->kind == KPROBE_SITE_BREAKPOINT && why == site->head.op.why &&
	    site->head.op.why_at)
		seq_printf(m, "+%u", site->head.op.why_at);
}
#else
static void show_opt(struct seq_file *m, const struct kprobe_site *site)
{
}
#endif

/* Hits for which the handlers of users were not called, by cause. */
struct misses {
	unsigned long	nested;
	unsigned long	pool;
	unsigned long	rcu;
};

static void add_misses(struct misses *sum, const struct kprobe *p)
{
	unsigned long rcu = READ_ONCE(p->nmissed_rcu), nmissed = READ_ONCE(p->nmissed);

	/* Another CPU may be counting one. */
	sum->nested += nmissed - min(rcu, nmissed);
	sum->pool += kretprobe_missed(p);
	sum->rcu += rcu;
}

static void show_misses(struct seq_file *m, const struct misses *sum)
{
	seq_printf(m, " missed_nested=%lu missed_pool=%lu missed_rcu=%lu", sum->nested, sum->pool,
		   sum->rcu);
}

static void show_site(struct seq_file *m, struct kprobe_site *site)
{
	struct misses misses = { };
	struct kprobe *p;

	/* Only a task may still be in its detour. */
	if (site->state == KPROBE_SITE_DEAD)
		return;

	seq_printf(m, "%px ", shown_addr(m, kprobe_site_addr(site)));
	show_symbol(m, kprobe_site_addr(site));
	seq_printf(m, " kind=%s state=%s users=%zu enabled=%u", site_kind(site),
		   site_state_names[site->state], list_count_nodes(&site->users),
		   site->nr_enabled);
	list_for_each_entry(p, &site->users, list)
		add_misses(&misses, p);
	show_misses(m, &misses);
	show_opt(m, site);
	seq_putc(m, '\n');
}

/* The function that the user wants to have called. */
static void *handler_of(const struct kprobe *p)
{
	void *fn;

	if (is_kretprobe(p))
		fn = kretprobe_handler_of(p);
	else if (is_jprobe(p))
		fn = container_of(p, struct jprobe, kp)->entry;
	else if (p->pre_handler)
		fn = p->pre_handler;
	else if (p->post_handler)
		fn = p->post_handler;
	else
		fn = p->fault_handler;
	return dereference_symbol_descriptor(fn);
}

static void show_handler(struct seq_file *m, const struct kprobe *p)
{
	unsigned long size, into, addr = (unsigned long)handler_of(p);
	char name[KSYM_NAME_LEN];
	const char *sym = NULL;
	char *modname = NULL;

	guard(preempt)();

	if (addr)
		sym = kallsyms_lookup(addr, &size, &into, &modname, name);
	seq_printf(m, " handler=%s module=%s", sym ?: "-", modname ?: "-");
}

static const char *user_state(struct kprobe *p)
{
	if (kprobe_gone(p))
		return "gone";
	return kprobe_disabled(p) ? "disabled" : "enabled";
}

/* 0 if it has ended, as its number may be reused, or if the reader's namespace does not have it. */
static pid_t process_nr(const struct kprobe_origin *origin)
{
	struct task_struct *task;

	guard(rcu)();

	task = find_task_by_pid_ns(origin->tgid, &init_pid_ns);
	return task && task->start_time == origin->start ? task_tgid_vnr(task) : 0;
}

#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
static void show_pool(struct seq_file *m, const struct kprobe *p)
{
	struct kretprobe_pool_use use;

	if (!is_kretprobe(p))
		return;
	use = kretprobe_pool_use(container_of(p, struct kretprobe, kp)->rph);
	seq_printf(m, " instances=%u in_flight=%u most=%u grown=%u", use.instances, use.in_flight,
		   use.most, use.grown);
}
#else
static void show_pool(struct seq_file *m, const struct kprobe *p)
{
}
#endif

static void show_probes(struct seq_file *m, struct kprobe_site *site)
{
	struct kprobe *p;

	list_for_each_entry(p, &site->users, list) {
		struct misses misses = { };

		add_misses(&misses, p);
		seq_printf(m, "%px %c ", shown_addr(m, kprobe_site_addr(site)), type_of(p));
		show_symbol(m, kprobe_site_addr(site));
		show_handler(m, p);
		seq_printf(m, " state=%s nmissed=%lu", user_state(p),
			   misses.nested + misses.pool + misses.rcu);
		show_misses(m, &misses);
		show_pool(m, p);
		seq_printf(m, " probe=%px pid=%d comm=", shown_addr(m, (unsigned long)p),
			   process_nr(p->origin));
		/* A process can give its thread any name. */
		seq_escape_str(m, p->origin->comm, ESCAPE_ANY_NP | ESCAPE_APPEND, " \\");
		seq_putc(m, '\n');
	}
}

static int show_range(const struct kprobe_range *r, void *m)
{
	seq_printf(m, "0x%px-0x%px\t%ps", shown_addr(m, r->start),
		   shown_addr(m, r->end), (void *)r->start);
	if (r->root)
		seq_printf(m, "\t%ps", (void *)r->root);
	seq_putc(m, '\n');
	return 0;
}

static int blacklist_show(struct seq_file *m, void *v)
{
	return kprobe_blacklist_for_each(show_range, m);
}
DEFINE_SHOW_ATTRIBUTE(blacklist);

static ssize_t enabled_read(struct file *file, char __user *buf, size_t len,
			    loff_t *pos)
{
	const char *state = kprobes_are_armed() ? "1\n" : "0\n";

	return simple_read_from_buffer(buf, len, pos, state, 2);
}

static ssize_t enabled_write(struct file *file, const char __user *buf,
			     size_t len, loff_t *pos)
{
	bool on;
	int ret;

	ret = kstrtobool_from_user(buf, len, &on);
	if (!ret)
		ret = kprobes_arm_all(on);

	return ret ?: len;
}

/* In tracefs, it is to be no weaker than other files. debugfs allows less. */
static int enabled_open(struct inode *inode, struct file *file)
{
	return file->f_mode & FMODE_WRITE ? security_locked_down(LOCKDOWN_TRACEFS) : 0;
}

static const struct file_operations enabled_fops = {
	.open	= enabled_open,
	.read	= enabled_read,
	.write	= enabled_write,
	.llseek	= default_llseek,
};

#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
static int pools_get(void *data, u64 *val)
{
	*val = READ_ONCE(*(unsigned long *)data);
	return 0;
}

static int pools_set(void *data, u64 val)
{
	int ret = security_locked_down(LOCKDOWN_TRACEFS);

	if (!ret)
		WRITE_ONCE(*(unsigned long *)data, min_t(u64, val, ULONG_MAX));
	return ret;
}

DEFINE_SIMPLE_ATTRIBUTE(pools_shown, pools_get, NULL, "%llu\n");
DEFINE_SIMPLE_ATTRIBUTE(pools, pools_get, pools_set, "%llu\n");
#endif

struct kprobe_file {
	const char			*name;
	umode_t				mode;
	void				*data;
	const struct file_operations	*fops;
};

static const struct kprobe_file files[] __initconst = {
	{ "list",	 0400, show_list,   &sites_fops },
	{ "sites",	 0400, show_site,   &sites_fops },
	{ "probes",	 0400, show_probes, &sites_fops },
	{ "blacklist",	 0400, NULL,	    &blacklist_fops },
	{ "enabled",	 0600, NULL,	    &enabled_fops },
	{ "check",	 0600, NULL,	    &kprobe_check_fops },
	{ "available",	 0400, NULL,	    &kprobe_available_fops },
#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
	{ "pools_grown", 0400, &kretprobe_pools_grown, &pools_shown },
	{ "pools_limit", 0600, &kretprobe_pools_limit, &pools },
#endif
};

/* The same as in debugfs, which production systems often do not have, or lock down. */
#ifdef CONFIG_TRACING
static void __init create_in_tracefs(void)
{
	struct dentry *dir = tracefs_create_dir("kprobes", NULL);
	unsigned int i;

	for (i = 0; dir && i < ARRAY_SIZE(files); i++)
		tracefs_create_file(files[i].name, files[i].mode, dir, files[i].data,
				    files[i].fops);
}
#else
static void __init create_in_tracefs(void)
{
}
#endif

static int __init kprobe_files_init(void)
{
	struct dentry *dir = debugfs_create_dir("kprobes", NULL);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		debugfs_create_file(files[i].name, files[i].mode, dir, files[i].data,
				    files[i].fops);
	create_in_tracefs();
	return 0;
}
late_initcall(kprobe_files_init);
