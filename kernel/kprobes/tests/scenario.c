// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sequences of what can be done with probes; see scenario.h.
 */

#include "suite.h"

#include <linux/ctype.h>

#include "../arm.h"
#include "../module.h"
#include "../site.h"
#include "scenario.h"

#define CALLS	3

static unsigned long addr_of(struct kp_scene *s, const char *arg)
{
	return (unsigned long)kp_scene_probe(s, *arg)->addr;
}

/* Probes of one call, with or without what they are to be; returns their number. */
static int parse(struct kp_scene *s, const char *arg, struct kprobe **kps)
{
	int n = 0;

	for (; *arg; arg += strcspn(arg, ","), arg += *arg == ',') {
		struct kprobe *p = kp_scene_probe(s, *arg);
		size_t len = strcspn(arg, ",");

		kps[n++] = p;
		if (!isdigit(arg[1]))
			continue;
		memset(container_of(p, struct kp_watch, kp), 0, sizeof(struct kp_watch));
		INIT_LIST_HEAD(&p->list);
		p->symbol_name = arg[1] == '9' ? "kp_no_such_function" : s->symbol[arg[1] - '1'];
		p->offset = s->offset;
		p->pre_handler = kp_watch_pre;
		p->post_handler = memchr(arg + 2, 'p', len - 2) ? kp_watch_post : NULL;
		p->flags = memchr(arg + 2, 'd', len - 2) ? KPROBE_FLAG_DISABLED : 0;
	}
	return n;
}

/* Nothing is changed in a structure that is refused. */
static int add(struct kunit *test, struct kp_scene *s, const char *arg)
{
	struct kprobe *kps[ARRAY_SIZE(s->probe)];
	int n = parse(s, arg, kps);
	int i, ret = n == 1 ? register_kprobe(kps[0]) : register_kprobes(kps, n);

	for (i = 0; ret && i < n; i++) {
		if (kps[i]->symbol_name)
			KUNIT_EXPECT_NULL(test, kps[i]->addr);
		KUNIT_EXPECT_TRUE(test, list_empty(&kps[i]->list));
		KUNIT_EXPECT_TRUE(test, hlist_unhashed(&kps[i]->hlist));
	}
	return ret;
}

static int prepare(struct kunit *test, struct kp_scene *s, const char *arg)
{
	struct kprobe *kps[ARRAY_SIZE(s->probe)];

	parse(s, arg, kps);
	return 0;
}

static int remove(struct kunit *test, struct kp_scene *s, const char *arg)
{
	struct kprobe *kps[ARRAY_SIZE(s->probe)];

	unregister_kprobes(kps, parse(s, arg, kps));
	return 0;
}

static int set_enabled(struct kunit *test, struct kprobe *p, bool on)
{
	bool disabled = kprobe_disabled(p);
	int ret = on ? enable_kprobe(p) : disable_kprobe(p);

	KUNIT_EXPECT_EQ(test, kprobe_disabled(p), ret ? disabled : !on);
	return ret;
}

static int enable(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return set_enabled(test, kp_scene_probe(s, *arg), true);
}

static int disable(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return set_enabled(test, kp_scene_probe(s, *arg), false);
}

/* It is on even if some could not be armed. */
static int switch_all(struct kunit *test, bool on)
{
	int ret = kprobes_arm_all(on);

	KUNIT_EXPECT_EQ(test, kprobes_are_armed(), on);
	return ret;
}

static int switch_on(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return switch_all(test, true);
}

static int switch_off(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return switch_all(test, false);
}

static int kill(struct kunit *test, struct kp_scene *s, const char *arg)
{
	unsigned long addr = addr_of(s, arg);

	kprobe_kill_text(addr, addr + 1, true);
	return 0;
}

static int hit(struct kunit *test, struct kp_scene *s, const char *arg)
{
	struct kp_watch *w;
	int i, k, want;

	for (i = 0; i < ARRAY_SIZE(s->probe); i++) {
		atomic_set(&s->probe[i].pre, 0);
		atomic_set(&s->probe[i].post, 0);
	}
	for (i = 0; i < CALLS; i++) {
		for (k = 0; k < ARRAY_SIZE(s->fn); k++) {
			u32 (*volatile fn)(u32 v) = s->fn[k];

			if (fn)
				fn(1);
		}
	}
	for (i = 0; i < ARRAY_SIZE(s->probe); i++) {
		w = &s->probe[i];
		want = strchr(arg, 'a' + i) ? CALLS : 0;
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&w->pre), want, "%c", 'a' + i);
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&w->post), w->kp.post_handler ? want : 0,
				    "%c", 'a' + i);
	}
	return 0;
}

static int is_enabled(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return kprobe_disabled(kp_scene_probe(s, *arg));
}

static int is_disabled(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return !kprobe_disabled(kp_scene_probe(s, *arg));
}

static int is_gone(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return !kprobe_gone(kp_scene_probe(s, *arg));
}

static enum kprobe_site_state state_at(unsigned long addr)
{
	struct kprobe_site *site;

	guard(mutex)(&kprobe_mutex);

	site = kprobe_site_at(addr);
	return site ? site->state : NR_KPROBE_SITE_STATES;
}

static int is_armed(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return state_at(addr_of(s, arg)) != KPROBE_SITE_ARMED;
}

static int is_idle(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return state_at(addr_of(s, arg)) != KPROBE_SITE_READY;
}

static int is_bare(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return state_at(addr_of(s, arg)) != NR_KPROBE_SITE_STATES;
}

static const struct kp_word common_words[] = {
	{ "+:", add },
	{ "set:", prepare },
	{ "-:", remove },
	{ "on:", enable },
	{ "off:", disable },
	{ "on", switch_on },
	{ "off", switch_off },
	{ "kill:", kill },
	{ "hit:", hit },
	{ "enabled:", is_enabled },
	{ "disabled:", is_disabled },
	{ "armed:", is_armed },
	{ "idle:", is_idle },
	{ "gone:", is_gone },
	{ "bare:", is_bare },
	{}
};

static const struct {
	const char	*name;
	int		error;
} errors[] = {
	{ "BUSY", -EBUSY },
	{ "INVAL", -EINVAL },
	{ "NOENT", -ENOENT },
	{ "NOMEM", -ENOMEM },
};

static int error_of(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		if (!strcmp(name, errors[i].name))
			return errors[i].error;
	}
	return -ENODATA;
}

/* Signs need no colon. Returns the argument, or NULL. */
static const char *is_word(const char *name, const char *word)
{
	size_t len = strlen(name);

	if (name[len - 1] != ':')
		return strcmp(name, word) ? NULL : "";
	len -= !isalpha(name[0]);
	return strncmp(name, word, len) ? NULL : word + len;
}

static int do_word(struct kunit *test, struct kp_scene *s, const char *word)
{
	const struct kp_word *all[] = { common_words, s->words }, *w;
	const char *arg;
	int i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		for (w = all[i]; w && w->name; w++) {
			arg = is_word(w->name, word);
			if (arg)
				return w->fn(test, s, arg);
		}
	}
	return -EOPNOTSUPP;
}

/* Executes words, up to the first that goes wrong. */
void kp_play(struct kunit *test, struct kp_scene *s, const char *script)
{
	char text[256], *rest = text, *word, *error;
	int ret, want;
	bool failed;

	KUNIT_ASSERT_GT(test, strscpy(text, script), 0);
	while ((word = strsep(&rest, " "))) {
		int at = word - text;

		error = strchr(word, '!');
		if (error)
			*error++ = '\0';
		ret = do_word(test, s, word);
		want = error ? error_of(error) : 0;
		KUNIT_EXPECT_EQ(test, ret, want);
		failed = READ_ONCE(test->status) == KUNIT_FAILURE;
		KUNIT_ASSERT_FALSE_MSG(test, failed, "%s, at %d of \"%s\"", word, at, script);
	}
}

/* As before the first word. */
void kp_scene_end(struct kp_scene *s)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(s->probe); i++)
		unregister_kprobe(&s->probe[i].kp);
	if (!kprobes_are_armed())
		kprobes_arm_all(true);
}
