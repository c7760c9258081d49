// SPDX-License-Identifier: GPL-2.0-only
/*
 * What debugfs and ftrace show, and what they should show. Their files can be read and
 * written through user memory only, so the process that runs the model maps some.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/mman.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "model.h"

#define TEXT_SIZE	(128 * 1024)

enum face { LIST, SITES, ENABLED, TRACED, SYSCTL, NR_FACES };

static const struct {
	const char *path;
	int flags;
} paths[NR_FACES] = {
	[LIST]		= { "/sys/kernel/debug/kprobes/list", O_RDONLY },
	[SITES]		= { "/sys/kernel/debug/kprobes/sites", O_RDONLY },
	[ENABLED]	= { "/sys/kernel/debug/kprobes/enabled", O_RDWR },
	[TRACED]	= { "/sys/kernel/tracing/enabled_functions", O_RDONLY },
	[SYSCTL]	= { "/proc/sys/debug/kprobes-optimization", O_WRONLY },
};

/* Opened by the process that loads the module: the root of a kernel thread may be empty. */
static struct file *files[NR_FACES];
static unsigned long user_memory;
static char *text;

int model_faces_init(void)
{
	int i;

	text = kvmalloc(TEXT_SIZE, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	user_memory = vm_mmap(NULL, 0, TEXT_SIZE, PROT_READ | PROT_WRITE,
			      MAP_ANONYMOUS | MAP_PRIVATE, 0);
	if (IS_ERR_VALUE(user_memory)) {
		kvfree(text);
		return user_memory;
	}
	/* Page faults must not be where an operation's allocation fails. */
	if (clear_user((void __user *)user_memory, TEXT_SIZE)) {
		vm_munmap(user_memory, TEXT_SIZE);
		kvfree(text);
		return -EFAULT;
	}
	for (i = 0; i < NR_FACES; i++) {
		files[i] = filp_open(paths[i].path, paths[i].flags, 0);
		if (IS_ERR(files[i])) {
			pr_err("cannot open %s\n", paths[i].path);
			model_faces_exit();
			return -ENOENT;
		}
	}
	return 0;
}

void model_faces_exit(void)
{
	int i;

	for (i = 0; i < NR_FACES; i++) {
		if (!IS_ERR_OR_NULL(files[i]))
			filp_close(files[i], NULL);
		files[i] = NULL;
	}
	vm_munmap(user_memory, TEXT_SIZE);
	kvfree(text);
}

/* Each slot has a page of its own. */
int model_write(bool sysctl, bool on, unsigned int slot)
{
	unsigned long at = user_memory + slot * PAGE_SIZE;
	char word[2] = { on ? '1' : '0', '\n' };
	loff_t pos = 0;
	ssize_t ret;

	if (sysctl) {
		ret = kernel_write(files[SYSCTL], word, sizeof(word), &pos);
		return ret < 0 ? ret : 0;
	}

	if (copy_to_user((void __user *)at, word, sizeof(word)))
		return -EFAULT;
	ret = files[ENABLED]->f_op->write(files[ENABLED], (char __user *)at, sizeof(word),
					  &pos);
	return ret < 0 ? ret : 0;
}

/* Reads a whole file into @text. */
static bool read_face(enum face face, char *why)
{
	size_t size = 0;
	loff_t pos = 0;
	ssize_t n;

	do {
		n = files[face]->f_op->read(files[face], (char __user *)user_memory + size,
					    TEXT_SIZE - 1 - size, &pos);
		if (n < 0)
			return because(why, "reading %s: %zd", paths[face].path, n);
		size += n;
	} while (n && size < TEXT_SIZE - 1);
	if (copy_from_user(text, (char __user *)user_memory, size))
		return because(why, "its text cannot be read");
	text[size] = 0;
	return true;
}

/*
 * Reading
 */

/* The target of an address, or NR_SITES. */
static enum model_where target_at(unsigned long addr)
{
	enum model_where t;

	for (t = 0; t < NR_SITES; t++) {
		if (model_target_addr(t) == addr)
			break;
	}
	return t;
}

static bool see_line(struct model_seen *seen, const char *line, char *why)
{
	char type, name[64], symbol[64];
	enum model_where t;
	unsigned long addr;
	int end = 0;
	u8 byte;

	if (sscanf(line, "%lx  %c  %63s %n", &addr, &type, name, &end) < 3 || !end)
		return because(why, "list: %s", line);
	if (strstr(line, "[GONE]")) {
		seen->gone[type == 'r']++;
		return true;
	}
	if (str_has_prefix(name, "model_crowd_")) {
		seen->crowd++;
		return true;
	}
	t = target_at(addr);
	if (t == NR_SITES || seen->lines[t] == MODEL_LINES)
		return because(why, "not of ours: %s", line);

	snprintf(symbol, sizeof(symbol), "%s+0x%x", model_targets[t].symbol,
		 model_targets[t].offset ?: ENDBR_INSN_SIZE);
	if (strcmp(name, symbol) ||
	    !strstarts(line + end, model_targets[t].coming ? "kprobe_model_target " :
							     "kprobe_model "))
		return because(why, "wrong names: %s", line);

	byte = type == 'r' ? LINE_RETURN : 0;
	if (strstr(line, "[DISABLED]"))
		byte |= LINE_DISABLED;
	if (strstr(line, "[FTRACE]"))
		byte |= LINE_FTRACE;
	seen->line[t][seen->lines[t]++] = byte;
	return true;
}

static bool see_site(struct model_seen *seen, const char *line, char *why)
{
	unsigned long nested, pool, rcu;
	unsigned int users, enabled;
	const char *at, *kind;
	enum model_where t;
	unsigned long addr;

	at = strstr(line, " users=");
	kind = strstr(line, " kind=");
	if (sscanf(line, "%lx ", &addr) != 1 || !at || !kind ||
	    sscanf(at, " users=%u enabled=%u missed_nested=%lu missed_pool=%lu missed_rcu=%lu",
		   &users, &enabled, &nested, &pool, &rcu) != 5)
		return because(why, "sites: %s", line);
	if (strstr(line, " state=gone "))
		return true;
	if (strstr(line, " model_crowd_")) {
		seen->crowd_armed += !!strstr(line, " state=armed ");
		return true;
	}
	t = target_at(addr);
	if (t == NR_SITES || seen->site[t])
		return because(why, "not of ours: %s", line);
	if (!!strstarts(kind, " kind=ftrace ") != model_targets[t].traced)
		return because(why, "wrong kind: %s", line);

	seen->site[t] = true;
	seen->armed[t] = strstr(line, " state=armed ");
	if (!seen->armed[t] && !strstr(line, " state=disarmed "))
		return because(why, "wrong state: %s", line);
	seen->users[t] = users;
	seen->missed[t] = nested + pool + rcu;
	seen->enabled[t] = enabled;
	seen->optimized[t] = strstarts(kind, " kind=optimized ");
	if (strstr(line, " opt=live ") && !seen->optimized[t])
		return because(why, "live and not: %s", line);
	seen->on_the_way[t] = strstr(line, " opt=live ") || strstr(line, " opt=waiting ") ||
			      strstr(line, " opt=queued ");
	return true;
}

/* A function that ftrace patches: its name, "(OPS)", and flags. */
static bool see_traced(struct model_seen *seen, const char *line, char *why)
{
	const char *at = strstr(line, " (");
	/* The flags precede a tab. */
	bool exclusive = at && strnstr(at, " I", strcspn(at, "\t"));
	enum model_where t;
	unsigned int ops;

	if (str_has_prefix(line, "model_crowd_")) {
		if (!at || sscanf(at, " (%u)", &ops) != 1)
			return because(why, "enabled_functions: %s", line);
		seen->crowd_ops += ops;
		seen->crowd_exclusive += exclusive;
		return true;
	}
	for (t = 0; t < NR_SITES; t++) {
		size_t len = strlen(model_targets[t].symbol);

		if (model_targets[t].traced && !strncmp(line, model_targets[t].symbol, len) &&
		    line[len] == ' ')
			break;
	}
	if (t == NR_SITES)
		return true;
	if (!at || sscanf(at, " (%u)", &ops) != 1)
		return because(why, "enabled_functions: %s", line);
	seen->ops[t] = ops;
	seen->exclusive[t] = exclusive;
	return true;
}

static bool see_lines(struct model_seen *seen, enum face face, char *why,
		      bool (*see)(struct model_seen *, const char *, char *))
{
	char *rest = text, *line;

	if (!read_face(face, why))
		return false;
	while ((line = strsep(&rest, "\n"))) {
		if (*line && !see(seen, line, why))
			return false;
	}
	return true;
}

/**
 * model_see() - read the files and the structures
 * @seen: set to what they contain
 * @why: set to the problem if they contain what no state explains
 *
 * Context: the process that called model_faces_init().
 * Return: false if there is a problem.
 */
bool model_see(struct model_seen *seen, char *why)
{
	unsigned int p;

	memset(seen, 0, sizeof(*seen));
	if (!see_lines(seen, LIST, why, see_line) || !see_lines(seen, SITES, why, see_site) ||
	    !see_lines(seen, TRACED, why, see_traced) || !read_face(ENABLED, why))
		return false;
	seen->on = text[0] == '1';
	for (p = 0; p < MODEL_PROBES; p++) {
		const struct kprobe *kp = &model_probes[p].rp.kp;

		seen->probe[p].addr = (unsigned long)kp->addr;
		seen->probe[p].nmissed = kp->nmissed;
		seen->probe[p].flags = kp->flags;
		seen->probe[p].linked = !list_empty(&kp->list);
	}
	return true;
}

/*
 * Comparing
 */

/* The newest user of a site that is older than @age, or -1. */
static int next_user(const struct model_state *s, enum model_where t, u32 age)
{
	int p, found = -1;

	for (p = 0; p < MODEL_PROBES; p++) {
		const struct model_user *u = &s->user[p];

		if (!u->registered || u->where != t || u->flags & KPROBE_FLAG_GONE ||
		    u->age >= age)
			continue;
		if (found < 0 || u->age > s->user[found].age)
			found = p;
	}
	return found;
}

static bool lines_right(const struct model_state *s, const struct model_seen *seen,
			enum model_where t, unsigned int *users, unsigned int *enabled,
			char *why)
{
	unsigned int n = 0;
	u32 age = U32_MAX;
	int p;

	while ((p = next_user(s, t, age)) >= 0) {
		u8 byte = model_is_return(p) ? LINE_RETURN : 0;

		age = s->user[p].age;
		*enabled += model_enabled(s, p);
		if (!model_enabled(s, p))
			byte |= LINE_DISABLED;
		if (model_targets[t].traced)
			byte |= LINE_FTRACE;
		if (n >= seen->lines[t] || seen->line[t][n] != byte)
			return because(why, "line %u of %s+%u should be of probe %d (%#x), not %#x",
				       n, model_targets[t].symbol, model_targets[t].offset, p,
				       byte, n < seen->lines[t] ? seen->line[t][n] : 0xff);
		n++;
	}
	*users = n;
	return n == seen->lines[t] ? true :
	       because(why, "%s+%u has %u lines, not %u", model_targets[t].symbol,
		       model_targets[t].offset, seen->lines[t], n);
}

/* Is another site armed in the range of the jump? */
static bool in_the_way(const struct model_seen *seen, enum model_where t)
{
	enum model_where o;

	for (o = 0; o < NR_SITES; o++) {
		unsigned long addr = model_target_addr(t), other = model_target_addr(o);

		if (seen->armed[o] && other > addr && other < addr + 5)
			return true;
	}
	return false;
}

static bool jump_right(const struct model_state *s, const struct model_seen *seen,
		       enum model_where t, char *why)
{
	unsigned int p;

	if (!seen->on_the_way[t])
		return true;
	if (!s->jumps || !seen->armed[t] || model_targets[t].traced)
		return because(why, "%s+%u gets a jump", model_targets[t].symbol,
			       model_targets[t].offset);
	if (seen->optimized[t] && in_the_way(seen, t))
		return because(why, "%s+%u has a jump over another probe",
			       model_targets[t].symbol, model_targets[t].offset);
	for (p = 0; p < MODEL_PROBES; p++) {
		const struct model_user *u = &s->user[p];

		if (u->registered && u->where == t && !(u->flags & KPROBE_FLAG_GONE) &&
		    (model_has_post(p, u->variant) || model_has_fault(p, u->variant)))
			return because(why, "%s+%u gets a jump despite probe %u",
				       model_targets[t].symbol, model_targets[t].offset, p);
	}
	return true;
}

/*
 * Is the function in exactly the filters that need it, and is it claimed only if needed?
 * More is accepted while an allocation that failed may have left something behind.
 */
static bool filters_right(const struct model_state *s, const struct model_seen *seen,
			  enum model_where t, char *why)
{
	const char *name = model_targets[t].symbol;
	unsigned int ops = seen->armed[t] + s->held[t];
	bool claim = s->held[t] || (seen->armed[t] && model_claims(s, t));

	if (!model_targets[t].traced)
		return true;
	if (seen->ops[t] < ops || (seen->ops[t] > ops && !s->left[t]))
		return because(why, "%s is in %u filters, not %u", name, seen->ops[t], ops);
	if (claim != seen->exclusive[t] && (claim || !s->stale[t]))
		return because(why, "%s should %sbe claimed", name, claim ? "" : "not ");
	return true;
}

static bool site_right(const struct model_state *s, const struct model_seen *seen,
		       enum model_where t, char *why)
{
	unsigned int users = 0, enabled = 0;

	if (!lines_right(s, seen, t, &users, &enabled, why))
		return false;
	if (seen->site[t] != !!users || seen->users[t] != users || seen->enabled[t] != enabled)
		return because(why, "%s+%u should have %u users, %u enabled, not %u and %u",
			       model_targets[t].symbol, model_targets[t].offset, users, enabled,
			       seen->users[t], seen->enabled[t]);
	/* With several threads, a new user may take over a site that drains. */
	if (seen->missed[t] != (t == T_INNER ? s->inner_missed : 0) && seen->site[t] &&
	    (model_alone || t != T_INNER))
		return because(why, "%s+%u missed %lu hits", model_targets[t].symbol,
			       model_targets[t].offset, seen->missed[t]);
	if (users && s->armed[t] != MAYBE && (s->armed[t] == YES) != seen->armed[t])
		return because(why, "%s+%u should %sbe armed", model_targets[t].symbol,
			       model_targets[t].offset, seen->armed[t] ? "not " : "");
	return filters_right(s, seen, t, why) && jump_right(s, seen, t, why);
}

/* The structure itself. */
static bool probe_right(const struct model_state *s, const struct model_seen *seen,
			unsigned int p, char *why)
{
	const struct model_user *u = &s->user[p];
	unsigned long addr = seen->probe[p].addr, nmissed = seen->probe[p].nmissed;

	if (u->addr != MAYBE && !addr != (u->addr == NO))
		return because(why, "addr of probe %u is %#lx", p, addr);
	if (u->registered && !(u->flags & KPROBE_FLAG_GONE) &&
	    addr != model_target_addr(u->where))
		return because(why, "addr of probe %u is %pS", p, (void *)addr);
	if (seen->probe[p].flags != u->flags)
		return because(why, "flags of probe %u are %#x, not %#x", p,
			       seen->probe[p].flags, u->flags);
	if (seen->probe[p].linked != u->registered)
		return because(why, "list of probe %u is wrong", p);
	if (nmissed < u->missed || nmissed > u->missed + u->slop)
		return because(why, "probe %u missed %lu, not %lu to %lu", p, nmissed,
			       u->missed, u->missed + u->slop);
	return true;
}

/* As filters_right(). */
static bool crowd_left(const struct model_state *s, const struct model_seen *seen)
{
	return seen->crowd_ops != seen->crowd_armed ||
	       seen->crowd_exclusive != (s->crowd_post ? seen->crowd_armed : 0);
}

static bool crowd_right(const struct model_state *s, const struct model_seen *seen, char *why)
{
	if (seen->crowd != (s->crowd ? MODEL_CROWD : 0))
		return because(why, "%u lines of the crowd", seen->crowd);
	if (s->crowd_armed != MAYBE &&
	    seen->crowd_armed != (s->crowd_armed == YES ? MODEL_CROWD : 0))
		return because(why, "%u of the crowd are armed", seen->crowd_armed);
	if (!s->crowd_left && crowd_left(s, seen))
		return because(why, "the crowd is in %u filters, %u of it claimed",
			       seen->crowd_ops, seen->crowd_exclusive);
	return true;
}

/**
 * model_looks_right() - compare a state with what was seen
 * @s: the state
 * @seen: what was seen while no operation was running
 * @why: set to the first difference
 *
 * Return: false if there is a difference.
 */
bool model_looks_right(const struct model_state *s, const struct model_seen *seen,
		       char *why)
{
	unsigned int gone[2] = {}, p;
	enum model_where t;

	for (p = 0; p < MODEL_PROBES; p++) {
		if (!probe_right(s, seen, p, why))
			return false;
		if (s->user[p].registered && s->user[p].flags & KPROBE_FLAG_GONE)
			gone[model_is_return(p)]++;
	}
	for (t = 0; t < NR_SITES; t++) {
		if (!site_right(s, seen, t, why))
			return false;
	}
	if (gone[0] != seen->gone[0] || gone[1] != seen->gone[1])
		return because(why, "%u and %u lines of what is gone, not %u and %u",
			       seen->gone[0], seen->gone[1], gone[0], gone[1]);
	if (!crowd_right(s, seen, why))
		return false;
	if (seen->on != s->on)
		return because(why, "the switch is %s", seen->on ? "on" : "off");
	return true;
}

/**
 * model_adopt() - replace what the model left open by what was seen
 * @s: a state that matches @seen
 * @seen: what was seen
 */
void model_adopt(struct model_state *s, const struct model_seen *seen)
{
	enum model_where t;
	unsigned int p;

	for (t = 0; t < NR_SITES; t++) {
		s->armed[t] = seen->armed[t] ? YES : NO;
		s->claimed[t] = seen->exclusive[t] && !s->held[t] ? YES : NO;
		s->stale[t] &= s->claimed[t] == YES &&
			       !(seen->armed[t] && model_claims(s, t));
		s->left[t] &= seen->ops[t] != seen->armed[t] + s->held[t];
	}
	for (p = 0; p < MODEL_PROBES; p++) {
		s->user[p].addr = seen->probe[p].addr ? YES : NO;
		s->user[p].missed = seen->probe[p].nmissed;
		s->user[p].slop = 0;
	}
	if (seen->site[T_INNER])
		s->inner_missed = seen->missed[T_INNER];
	s->crowd_left &= crowd_left(s, seen);
	if (!seen->crowd_armed || seen->crowd_armed == MODEL_CROWD)
		s->crowd_armed = seen->crowd_armed ? YES : NO;
}
