// SPDX-License-Identifier: GPL-2.0-only
/*
 * What would become of a probe: the decisions of registration, without its actions. Two
 * files answer that, too: "check" for one address, "available" for the entries of all functions.
 */

#include <linux/kallsyms.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/seq_buf.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/sections.h>

#include "blacklist.h"
#include "check.h"
#include "copy.h"
#include "ftrace.h"
#include "kretprobe.h"
#include "optimizer.h"
#include "register.h"
#include "site.h"

/* How the instruction would be executed for a probe with nothing but a pre handler. */
static const char *mode_of_alone(const struct kprobe_site *site)
{
	struct kprobe alone = site->head.kp;

	alone.post_handler = NULL;
	alone.fault_handler = NULL;
	return kprobe_mode(&alone);
}

/* The architecture is asked about a site that is in no list or table. */
static void check_site(struct kprobe_verdict *v)
{
	struct kprobe_site *site = kprobe_site_at(v->where.addr);

	if (v->where.kind == KPROBE_SITE_FTRACE) {
		if (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) && READ_ONCE(kprobe_ftrace_disabled))
			v->why = KPROBE_REFUSAL_FTRACE;
		v->mode = "ftrace";
		return;
	}
	if (site && site->prepared) {
		v->mode = mode_of_alone(site);
		return;
	}

	site = kprobe_site_alloc(v->where.addr, v->where.kind);
	if (!site) {
		v->why = KPROBE_REFUSAL_NO_MEMORY;
		return;
	}
	scoped_guard(kprobe_text)
		v->err = kprobe_vet_insn(&site->head.kp);
	v->why = kprobe_site_refusal(site, v->err);
	/* What it has decoded means nothing if it refuses. */
	if (!v->err)
		v->mode = mode_of_alone(site);
	kfree(site);
}

/*
 * What register_kprobe() would decide, or if @p is that of a kretprobe register_kretprobe(). Leaves
 * out that another user has claimed the function: only an attempt can show it.
 */
void kprobe_check_probe(struct kprobe *p, bool is_return, struct kprobe_verdict *v)
{
	const struct kprobe_batch_ops *ops = NULL;

	if (IS_ENABLED(CONFIG_KRETPROBES) && is_return)
		ops = &kretprobe_batch_ops;

	*v = (struct kprobe_verdict){ .why = KPROBE_REFUSAL_TOO_EARLY };
	scoped_guard(mutex, &kprobe_mutex) {
		if (is_return && !ops)
			v->why = KPROBE_REFUSAL_UNSUPPORTED;
		else if (kprobes_initialized)
			v->why = kprobe_resolve(p, &v->where);
		if (!v->why && kprobe_is_used(p, NULL))
			v->why = KPROBE_REFUSAL_IN_USE;
		if (!v->why)
			v->why = kprobe_vet(p, ops, &v->where);
		if (!v->why)
			check_site(v);
	}
	if (!v->err)
		v->err = kprobe_refusal_error(v->why);
}

#ifdef CONFIG_OPTPROBES
static int forecast_at(struct kprobe_where *where, struct kprobe_forecast *f)
{
	struct kprobe_site *site, *made = NULL;
	int ret = -ENOENT;

	if (mutex_lock_killable(&kprobe_mutex))
		return -EINTR;

	/* Its module may be gone by now. */
	if (!kprobe_vet(NULL, NULL, where)) {
		site = kprobe_site_at(where->addr);
		/* Planning notes refusals in the site, so it needs one of its own. */
		if (!site || !kprobe_has_detour(site)) {
			made = kprobe_site_alloc(where->addr, where->kind);
			site = made;
		}
		ret = site ? kprobe_opt_forecast(site, f) : -ENOMEM;
		kfree(made);
	}
	mutex_unlock(&kprobe_mutex);
	return ret;
}

/*
 * Would an accepted probe get a jump, alone and with a pre handler only? This may take long
 * once for each module, and can be killed meanwhile. Returns -ENOENT if no probe is accepted
 * there any more.
 */
int kprobe_check_jump(const struct kprobe_where *where, struct kprobe_forecast *f)
{
	struct kprobe_where w = *where;
	int ret;

	do {
		ret = fatal_signal_pending(current) ? -EINTR : forecast_at(&w, f);
		cond_resched();
	} while (ret == -EAGAIN);
	return ret;
}
#endif

/**
 * kprobe_check() - would register_kprobe() accept a probe?
 * @p: the probe, as it would be passed to register_kprobe()
 *
 * Changes nothing and does not warn. A later registration can fail all the same: for
 * lack of memory, or because another user has claimed the function.
 *
 * Context: process context, sleeps. Not from a handler; text_mutex, cpu_hotplug_lock and
 *	    jump_label_mutex not held.
 * Return: 0, or the error that register_kprobe() would return.
 */
int kprobe_check(struct kprobe *p)
{
	struct kprobe_verdict v;

	kprobe_check_probe(p, false, &v);
	return v.err;
}
EXPORT_SYMBOL_GPL(kprobe_check);

/**
 * kretprobe_check() - would register_kretprobe() accept a kretprobe?
 * @rp: the kretprobe, as it would be passed to register_kretprobe()
 *
 * Context: as kprobe_check().
 * Return: as kprobe_check(), of register_kretprobe().
 */
int kretprobe_check(struct kretprobe *rp)
{
	struct kprobe_verdict v;

	kprobe_check_probe(&rp->kp, true, &v);
	return v.err;
}
EXPORT_SYMBOL_GPL(kretprobe_check);

#ifdef CONFIG_KPROBES_FILES
/*
 * Names that a user may have meant
 */

#define MAX_CANDIDATES	8

struct candidates {
	const char	*name;			/* what the user has written, without the module */
	unsigned int	nr;
	struct candidate {
		unsigned int	rank;		/* the best have the lowest */
		unsigned long	addr;
		char		name[KSYM_NAME_LEN];
	} best[MAX_CANDIDATES];
};

enum { SAME_NAME, VARIANT, ONE_EDIT, TWO_EDITS, NOT_SIMILAR };

/* Can @b be made of @a with so many characters inserted, removed, replaced or swapped? */
static bool within(const char *a, const char *b, unsigned int edits)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (!*a && !*b)
		return true;
	if (!edits)
		return false;
	edits--;
	if ((*a && within(a + 1, b, edits)) || (*b && within(a, b + 1, edits)))
		return true;
	return *a && *b && (within(a + 1, b + 1, edits) ||
			    (a[0] == b[1] && a[1] == b[0] && within(a + 2, b + 2, edits)));
}

static unsigned int rank_of(const char *name, const char *symbol)
{
	/* Compilers append ".isra.0", ".constprop.0", ".part.0", ".cold" and others. */
	size_t len = strlen(name), base = strcspn(name, ".");

	if (!strcmp(name, symbol))
		return SAME_NAME;
	if (base && !strncmp(name, symbol, base) && (!symbol[base] || symbol[base] == '.'))
		return VARIANT;
	/* Everything is similar to a short name. */
	if (len > 2 && within(name, symbol, 1))
		return ONE_EDIT;
	return len > 4 && within(name, symbol, 2) ? TWO_EDITS : NOT_SIMILAR;
}

static bool is_known(const struct candidates *c, unsigned long addr)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++) {
		if (c->best[i].addr == addr)
			return true;
	}
	return false;
}

static int candidate_add(void *data, const char *symbol, unsigned long addr)
{
	struct candidates *c = data;
	unsigned int rank = rank_of(c->name, symbol), i = c->nr;

	if (rank == NOT_SIMILAR)
		return 0;
	addr = (unsigned long)dereference_symbol_descriptor((void *)addr);
	/* Not by several names. */
	if (!kernel_text_address(addr) || is_known(c, addr))
		return 0;

	while (i && c->best[i - 1].rank > rank)
		i--;
	if (i == MAX_CANDIDATES)
		return 0;
	c->nr = min(c->nr + 1, MAX_CANDIDATES);
	memmove(&c->best[i + 1], &c->best[i], (c->nr - i - 1) * sizeof(c->best[0]));
	c->best[i].rank = rank;
	c->best[i].addr = addr;
	strscpy(c->best[i].name, symbol, KSYM_NAME_LEN);
	return 0;
}

/* By an address that does not reveal where the kernel is. */
static void print_candidate(struct seq_buf *s, const struct candidate *c)
{
	struct module *mod;

	guard(preempt)();

	mod = __module_text_address(c->addr);
	if (mod)
		seq_buf_printf(s, "%s:%s", module_name(mod), c->name);
	else if (c->rank == SAME_NAME)
		seq_buf_printf(s, "_text+0x%lx", c->addr - (unsigned long)_text);
	else
		seq_buf_puts(s, c->name);
}

/**
 * kprobe_print_candidates() - functions that a user of a name may have meant
 * @name: "symbol" or "module:symbol"
 * @s: receives at most eight that fit, separated by commas
 *
 * If functions have the name, only these, as "module:symbol" or "_text+offset". Otherwise those
 * with another suffix of the compiler, and those whose names differ by one or two characters, as
 * "[module:]symbol".
 *
 * Context: process context, sleeps. Takes some milliseconds.
 * Return: how many there are; -ENOMEM if out of memory.
 */
int kprobe_print_candidates(const char *name, struct seq_buf *s)
{
	struct candidates *c __free(kvfree) = kvzalloc_obj(*c);
	const char *colon = strchr(name, ':');
	char mod[MODULE_NAME_LEN];
	unsigned int i;

	if (!c)
		return -ENOMEM;
	c->name = colon ? colon + 1 : name;
	if (!colon)
		kallsyms_on_each_symbol(candidate_add, c);
	else if (colon - name < sizeof(mod))
		strscpy(mod, name, colon - name + 1);
	else
		return 0;
	kprobe_for_each_module_symbol(colon ? mod : NULL, candidate_add, c);

	for (i = 0; i < c->nr; i++) {
		size_t len = s->len;

		if (c->best[0].rank == SAME_NAME && c->best[i].rank != SAME_NAME)
			break;
		if (i)
			seq_buf_puts(s, ",");
		print_candidate(s, &c->best[i]);
		/* There is to be room for the end of the line. */
		if (seq_buf_buffer_left(s) < 2) {
			s->len = len;
			break;
		}
	}
	return i;
}

/*
 * The file for one address
 */

#define MAX_QUERY	512
#define MAX_ANSWER	SZ_2K

/* The answer to what was written last. */
struct query {
	struct mutex	mutex;			/* writers and readers of one open file */
	struct seq_buf	answer;			/* "key=value", separated by blanks */
	char		text[MAX_ANSWER];
};

/* "[r ][module:]symbol[+offset]" or "[r ]0xaddress"; the symbol stays in @text. */
static int query_parse(char *text, struct kretprobe *rp, bool *is_return)
{
	unsigned long value;
	char *plus;

	text = strim(text);
	*is_return = str_has_prefix(text, "r ");
	if (*is_return)
		text = skip_spaces(text + 2);
	if (!*text || strpbrk(text, " \t\n"))
		return -EINVAL;

	if (str_has_prefix(text, "0x")) {
		if (kstrtoul(text, 16, &value))
			return -EINVAL;
		rp->kp.addr = (kprobe_opcode_t *)value;
		return 0;
	}

	plus = strchr(text, '+');
	if (plus) {
		*plus = '\0';
		if (kstrtouint(plus + 1, 0, &rp->kp.offset))
			return -EINVAL;
	}
	if (!*text)
		return -EINVAL;
	rp->kp.symbol_name = text;
	return 0;
}

/* What lies far from a symbol depends on where the kernel is, so the answer reveals that. */
static bool shows_addresses(const struct kprobe *p)
{
	unsigned long addr, size;

	if (p->addr)
		return true;
	if (!p->offset)
		return false;
	addr = kallsyms_lookup_name(p->symbol_name);
	return addr && (!kallsyms_lookup_size_offset(addr, &size, NULL) || p->offset >= size);
}

#ifdef CONFIG_OPTPROBES
static const char * const jump_names[] = {
	[KPROBE_JUMP_UNKNOWN]	= "unknown",
	[KPROBE_JUMP_SHORT]	= "short-jump",
	[KPROBE_JUMP_LONG]	= "jump",
};

static int answer_jump(struct query *q, const struct kprobe_where *where)
{
	struct kprobe_forecast f;
	int ret;

	ret = kprobe_check_jump(where, &f);
	if (ret)
		return ret;

	seq_buf_printf(&q->answer, " jump=%s",
		       f.why ? kprobe_noopt_name(f.why) : jump_names[f.jump]);
	if (f.why && f.at)
		seq_buf_printf(&q->answer, "+%u", f.at);
	return 0;
}
#else
static int answer_jump(struct query *q, const struct kprobe_where *where)
{
	return 0;
}
#endif

static int answer_names(struct query *q, const char *name)
{
	int nr;

	if (kallsyms_lookup_name(name) && !kprobe_symbol_is_ambiguous(name))
		return 0;

	seq_buf_puts(&q->answer, " candidates=");
	nr = kprobe_print_candidates(name, &q->answer);
	if (!nr)
		seq_buf_printf(&q->answer, "-\n%s", KPROBE_NO_SUCH_FUNCTION);
	return min(nr, 0);
}

/* The functions that objtool knows not to return. Others have loops without end. */
#define NORETURN(name)	#name,
static const char * const never_return[] = {
#include "../../tools/objtool/noreturns.h"
};

#undef NORETURN

static bool never_returns(unsigned long addr)
{
	char name[KSYM_NAME_LEN];

	if (!core_kernel_text(addr) || lookup_symbol_name(addr, name))
		return false;
	name[strcspn(name, ".")] = '\0';
	return match_string(never_return, ARRAY_SIZE(never_return), name) >= 0;
}

static int query_answer(struct query *q, struct kretprobe *rp, bool is_return, bool may_see)
{
	struct kprobe_verdict v;
	unsigned long shown, root;
	int ret = 0;

	kprobe_check_probe(&rp->kp, is_return, &v);
	shown = may_see ? v.where.addr : 0;
	seq_buf_printf(&q->answer, "address=%px verdict=%s errno=%d reason=%s", (void *)shown,
		       v.err ? "refused" : "accepted", v.err, kprobe_refusal_name(v.why));
	if (!v.err) {
		seq_buf_printf(&q->answer, " kind=%s", v.mode);
		ret = answer_jump(q, &v.where);
		if (is_return && never_returns(v.where.addr))
			seq_buf_puts(&q->answer, " returns=never");
	}
	root = v.why == KPROBE_REFUSAL_REACHED ? kprobe_blacklist_root(v.where.addr) : 0;
	if (root)
		seq_buf_printf(&q->answer, " from=%ps", (void *)root);
	if (!ret && rp->kp.symbol_name)
		ret = answer_names(q, rp->kp.symbol_name);
	seq_buf_putc(&q->answer, '\n');
	return ret;
}

static int check_open(struct inode *inode, struct file *file)
{
	int ret = security_locked_down(LOCKDOWN_TRACEFS);
	struct query *q;

	if (ret)
		return ret;
	q = kzalloc_obj(*q);
	if (!q)
		return -ENOMEM;

	mutex_init(&q->mutex);
	seq_buf_init(&q->answer, q->text, sizeof(q->text));
	file->private_data = q;
	return 0;
}

/* Called with the mutex of @q held. */
static int query_write(struct query *q, const char __user *buf, size_t len, bool may_see)
{
	struct kretprobe *rp __free(kfree) = NULL;
	char *text __free(kfree) = NULL;
	bool is_return;
	int ret;

	if (!len || len > MAX_QUERY)
		return -EINVAL;
	text = memdup_user_nul(buf, len);
	if (IS_ERR(text))
		return PTR_ERR(no_free_ptr(text));
	/* A byte of 0 would hide what follows. */
	if (strlen(text) != len)
		return -EINVAL;
	rp = kzalloc_obj(*rp);
	if (!rp)
		return -ENOMEM;

	ret = query_parse(text, rp, &is_return);
	if (!ret && !may_see && shows_addresses(&rp->kp))
		ret = -EPERM;
	return ret ?: query_answer(q, rp, is_return, may_see);
}

static ssize_t check_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct query *q = file->private_data;
	int ret;

	if (mutex_lock_killable(&q->mutex))
		return -EINTR;
	/* A question that is refused has no answer, nor has the one before it any more. */
	seq_buf_clear(&q->answer);
	ret = query_write(q, buf, len, kallsyms_show_value(file->f_cred));
	if (ret)
		seq_buf_clear(&q->answer);
	mutex_unlock(&q->mutex);

	/* The answer is read from its start. */
	*pos = 0;
	return ret ?: len;
}

static ssize_t check_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct query *q = file->private_data;
	ssize_t ret;

	if (mutex_lock_killable(&q->mutex))
		return -EINTR;
	ret = simple_read_from_buffer(buf, len, pos, q->text, seq_buf_used(&q->answer));
	mutex_unlock(&q->mutex);
	return ret;
}

static int check_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

const struct file_operations kprobe_check_fops = {
	.open		= check_open,
	.write		= check_write,
	.read		= check_read,
	.llseek		= default_llseek,
	.release	= check_release,
};

/*
 * The file for all functions
 */

/* Addresses of functions at the time when the file was opened, in ascending order. */
struct catalogue {
	unsigned int	nr, max;
	unsigned long	*addr;
};

static int catalogue_add(void *data, const char *name, unsigned long addr)
{
	struct catalogue *c = data;

	if (fatal_signal_pending(current))
		return -EINTR;
	if (!kernel_text_address(addr))
		return 0;
	if (c->nr < c->max)
		c->addr[c->nr] = addr;
	c->nr++;
	return 0;
}

static int catalogue_visit(struct catalogue *c)
{
	c->nr = 0;
	return kallsyms_on_each_symbol(catalogue_add, c) ?:
	       kprobe_for_each_module_symbol(NULL, catalogue_add, c);
}

static int addr_cmp(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

/* Modules may come in between, so there is room for some more; those of later ones are not seen. */
static int catalogue_fill(struct catalogue *c)
{
	unsigned int i, n = 0;
	int ret;

	ret = catalogue_visit(c);
	if (ret)
		return ret;

	c->max = c->nr + c->nr / 8;
	c->addr = kvmalloc_objs(*c->addr, c->max);
	if (!c->addr)
		return -ENOMEM;

	ret = catalogue_visit(c);
	if (ret)
		return ret;
	c->nr = min(c->nr, c->max);
	sort(c->addr, c->nr, sizeof(*c->addr), addr_cmp, NULL);
	for (i = 0; i < c->nr; i++) {
		if (!n || c->addr[i] != c->addr[n - 1])
			c->addr[n++] = c->addr[i];
	}
	c->nr = n;
	return 0;
}

static void *available_start(struct seq_file *m, loff_t *pos)
{
	struct catalogue *c = m->private;

	return *pos < c->nr ? &c->addr[*pos] : NULL;
}

static void *available_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return available_start(m, pos);
}

static void available_stop(struct seq_file *m, void *v)
{
}

static int available_show(struct seq_file *m, void *v)
{
	struct kprobe p = { .addr = *(kprobe_opcode_t **)v };
	unsigned long size, into;
	struct kprobe_verdict verdict;
	char name[KSYM_NAME_LEN];
	const char *sym;
	char *modname;

	if (fatal_signal_pending(current))
		return -EINTR;

	scoped_guard(preempt) {
		sym = kallsyms_lookup(*(unsigned long *)v, &size, &into, &modname, name);
		/* Its module is gone. */
		if (!sym || into)
			return SEQ_SKIP;
		seq_puts(m, sym);
		if (modname)
			seq_printf(m, " [%s]", modname);
	}

	kprobe_check_probe(&p, false, &verdict);
	if (verdict.err)
		seq_printf(m, " - %s\n", kprobe_refusal_name(verdict.why));
	else
		seq_printf(m, " %s\n", verdict.mode);
	return 0;
}

static const struct seq_operations available_sops = {
	.start	= available_start,
	.next	= available_next,
	.stop	= available_stop,
	.show	= available_show,
};

static int available_open(struct inode *inode, struct file *file)
{
	struct catalogue *c = __seq_open_private(file, &available_sops, sizeof(*c));
	int ret;

	if (!c)
		return -ENOMEM;

	ret = catalogue_fill(c);
	if (!ret)
		return 0;
	kvfree(c->addr);
	seq_release_private(inode, file);
	return ret;
}

static int available_release(struct inode *inode, struct file *file)
{
	struct catalogue *c = ((struct seq_file *)file->private_data)->private;

	kvfree(c->addr);
	return seq_release_private(inode, file);
}

const struct file_operations kprobe_available_fops = {
	.open		= available_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= available_release,
};
#endif /* CONFIG_KPROBES_FILES */
