// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the reasons of refusals, and of kprobe_check(): it has to say what
 * registration does.
 */

#include "suite.h"

#include <linux/module.h>
#include <linux/pid.h>
#include <linux/seq_buf.h>
#include <linux/sizes.h>

#include <asm/sections.h>

#include "../check.h"
#include "../register.h"
#include "../refusal.h"
#include "helpers.h"

int kp_check_target(int v);

/* With calls, branches and a warning, so that there is something to refuse. */
noinline __noclone int kp_check_target(int v)
{
	KP_PADDING;
	if (WARN_ON_ONCE(v == -1))
		return 0;
	while (v > 100)
		v -= snprintf(NULL, 0, "%d", v);
	return v + 1;
}

static void check_each_reason_is_described(struct kunit *test)
{
	enum kprobe_refusal i, k;

	for (i = 0; i < NR_KPROBE_REFUSALS; i++) {
		KUNIT_ASSERT_NOT_NULL_MSG(test, kprobe_refusal_name(i), "%d", i);
		KUNIT_ASSERT_NOT_NULL_MSG(test, kprobe_refusal_texts[i], "%d", i);
		if (i)
			KUNIT_EXPECT_LT_MSG(test, kprobe_refusal_error(i), 0, "%s",
					    kprobe_refusal_name(i));
		/* Tools split lines at blanks. */
		KUNIT_EXPECT_NULL(test, strpbrk(kprobe_refusal_name(i), " \t="));
		for (k = 0; k < i; k++) {
			KUNIT_EXPECT_STRNEQ(test, kprobe_refusal_name(i),
					    kprobe_refusal_name(k));
			KUNIT_EXPECT_STRNEQ(test, kprobe_refusal_texts[i],
					    kprobe_refusal_texts[k]);
		}
	}
	KUNIT_EXPECT_EQ(test, kprobe_refusal_error(KPROBE_REFUSAL_NONE), 0);
}

/* Returns the error of a registration, whose probe is gone again. */
static int try(const struct kprobe *like, enum kprobe_refusal *why)
{
	struct kprobe p = *like;
	int ret = register_kprobe(&p);

	*why = ret ? kprobe_why_refused(&p) : KPROBE_REFUSAL_NONE;
	if (!ret)
		unregister_kprobe(&p);
	return ret;
}

static void expect_same(struct kunit *test, const struct kprobe *like)
{
	struct kprobe p = *like;
	struct kprobe_verdict v;
	enum kprobe_refusal why;
	int ret, said;

	said = kprobe_check(&p);
	KUNIT_EXPECT_MEMEQ(test, &p, like, sizeof(p));
	kprobe_check_probe(&p, false, &v);
	ret = try(like, &why);
	KUNIT_EXPECT_EQ_MSG(test, said, ret, "%s %pS+%x: %s, %s", like->symbol_name,
			    like->addr, like->offset, kprobe_refusal_name(v.why),
			    kprobe_refusal_name(why));
	KUNIT_EXPECT_STREQ(test, kprobe_refusal_name(v.why), kprobe_refusal_name(why));
}

static void check_each_byte_of_a_function(struct kunit *test)
{
	unsigned long start = (unsigned long)dereference_symbol_descriptor(kp_check_target);
	struct kprobe p = { .pre_handler = kp_nothing_pre };
	unsigned long size, into, i;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &into));
	KUNIT_ASSERT_EQ(test, into, 0);
	for (i = 0; i < size; i++) {
		p.addr = (void *)(start + i);
		expect_same(test, &p);
	}
}

static int some_data;

static void check_arguments(struct kunit *test)
{
	const struct kprobe probes[] = {
		{ },
		{ .symbol_name = "kp_check_target", .addr = (void *)kp_check_target },
		{ .symbol_name = "kp_check_target" },
		{ .symbol_name = "kp_check_target", .offset = 1 },
		{ .symbol_name = "kp_check_no_such_function" },
		{ .symbol_name = "no_module:kp_check_target" },
		{ .symbol_name = "kprobe_busy_begin" },
		{ .addr = (void *)&some_data },
		{ .addr = (void *)PAGE_SIZE },
		{ .addr = (void *)~0ul },
		{ .symbol_name = "kp_check_target",
		  .flags = KPROBE_FLAG_DISABLED },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		expect_same(test, &probes[i]);
	KUNIT_EXPECT_EQ(test, kprobe_check(NULL), -EINVAL);
}

static void check_of_a_registered_probe(struct kunit *test)
{
	struct kprobe p = { .symbol_name = "kp_check_target", .pre_handler = kp_nothing_pre };
	struct kprobe_verdict v;

	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	/* Both the symbol and the address are set now. */
	KUNIT_EXPECT_EQ(test, kprobe_check(&p), -EINVAL);
	p.symbol_name = NULL;
	kprobe_check_probe(&p, false, &v);
	KUNIT_EXPECT_EQ(test, v.why, KPROBE_REFUSAL_IN_USE);
	KUNIT_EXPECT_EQ(test, kprobe_check(&p), -EINVAL);
	unregister_kprobe(&p);
}

/* What is said of an address is about a probe that is alone there. */
static void check_beside_a_post_handler(struct kunit *test)
{
	struct kprobe asked = { .symbol_name = "kp_check_target" }, p;
	struct kprobe_verdict before, after;

	/* The first address where there would be a breakpoint. */
	do {
		asked.offset++;
		kprobe_check_probe(&asked, false, &before);
		KUNIT_ASSERT_LT(test, asked.offset, 64);
	} while (before.why || before.where.kind != KPROBE_SITE_BREAKPOINT);
	p = asked;
	p.post_handler = kp_nothing_post;
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	kprobe_check_probe(&asked, false, &after);
	unregister_kprobe(&p);
	KUNIT_EXPECT_STREQ(test, before.mode, after.mode);
}

#ifdef CONFIG_KRETPROBES
static int nothing_ret(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

static void check_returns(struct kunit *test)
{
	const struct kretprobe returns[] = {
		{ .kp.symbol_name = "kp_check_target" },
		{ .kp.symbol_name = "kp_check_target", .kp.offset = 32 },
		{ .kp.symbol_name = "kp_check_target",
		  .data_size = KRETPROBE_MAX_DATA_SIZE + 1 },
		{ .kp.symbol_name = "kp_check_no_such_function" },
		{ .kp.symbol_name = "kprobe_busy_begin" },
	};
	struct kretprobe checked, registered;
	struct kprobe_verdict v;
	enum kprobe_refusal why;
	unsigned int i;
	int said, ret;

	for (i = 0; i < ARRAY_SIZE(returns); i++) {
		checked = returns[i];
		checked.handler = nothing_ret;
		registered = checked;
		said = kretprobe_check(&checked);
		kprobe_check_probe(&checked.kp, true, &v);
		KUNIT_EXPECT_MEMEQ(test, &checked, &registered, sizeof(checked));
		ret = register_kretprobe(&registered);
		why = ret ? kprobe_why_refused(&registered.kp) : KPROBE_REFUSAL_NONE;
		if (!ret)
			unregister_kretprobe(&registered);
		KUNIT_EXPECT_EQ_MSG(test, said, ret, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, v.why, why, "%u", i);
	}
}
#else
KP_SKIPPED(check_returns, "needs KRETPROBES")
#endif

/* helpers.c has another function of this name. */
static noinline __noclone __used int kp_twin(int v)
{
	KP_PADDING;
	OPTIMIZER_HIDE_VAR(v);
	return v + 1;
}

int kp_candidate_one(int v);
int kp_candidate_two(int v);

/* The names of both are similar to a third one. */
noinline __noclone int kp_candidate_one(int v)
{
	KP_PADDING;
	return v + 1;
}

noinline __noclone int kp_candidate_two(int v)
{
	KP_PADDING;
	return v + 2;
}

struct twins {
	unsigned int	nr, stop_after;
	unsigned long	addr[4];
};

static int note_twin(unsigned long addr, void *data)
{
	struct twins *t = data;

	if (t->nr < ARRAY_SIZE(t->addr))
		t->addr[t->nr] = addr;
	return ++t->nr == t->stop_after ? 7 : 0;
}

static void check_symbols_of_one_name(struct kunit *test)
{
	unsigned long here = (unsigned long)dereference_symbol_descriptor(kp_twin);
	char name[MODULE_NAME_LEN + 16];
	struct twins t = { };

	KUNIT_EXPECT_EQ(test, kprobe_for_each_symbol("kp_twin", note_twin, &t), 0);
	KUNIT_ASSERT_EQ(test, t.nr, 2);
	KUNIT_EXPECT_NE(test, t.addr[0], t.addr[1]);
	KUNIT_EXPECT_TRUE(test, t.addr[0] == here || t.addr[1] == here);

	t = (struct twins){ .stop_after = 1 };
	KUNIT_EXPECT_EQ(test, kprobe_for_each_symbol("kp_twin", note_twin, &t), 7);
	KUNIT_EXPECT_EQ(test, t.nr, 1);

	t = (struct twins){ };
	KUNIT_EXPECT_EQ(test, kprobe_for_each_symbol("kp_check_target", note_twin, &t), 0);
	KUNIT_EXPECT_EQ(test, t.nr, 1);
	KUNIT_EXPECT_EQ(test, kprobe_for_each_symbol("kp_no_such_twin", note_twin, &t), 0);
	KUNIT_EXPECT_EQ(test, kprobe_for_each_symbol("no_module:kp_twin", note_twin, &t), 0);
	memset(name, 'm', sizeof(name));
	strscpy(name + MODULE_NAME_LEN, ":kp_twin", sizeof(name) - MODULE_NAME_LEN);
	KUNIT_EXPECT_EQ(test, kprobe_for_each_symbol(name, note_twin, &t), 0);
	KUNIT_EXPECT_EQ(test, t.nr, 1);
}

/* How many candidates a name has; they are in @s. */
static int candidates_of(struct seq_buf *s, const char *name)
{
	seq_buf_clear(s);
	return kprobe_print_candidates(name, s);
}

static void check_candidates_of_a_name(struct kunit *test)
{
	unsigned long twin = (unsigned long)dereference_symbol_descriptor(kp_twin);
	char *text = kunit_kzalloc(test, SZ_4K, GFP_KERNEL);
	static const char * const wrong[] = {
		"kp_chekc_target",		/* swapped */
		"kp_check_targt",		/* removed */
		"kp_check_tarrget",		/* inserted */
		"kb_check_target",		/* replaced */
		"kpp_check_targe",		/* two edits */
		"kp_check_target.isra.7",
	};
	struct seq_buf s;
	char name[301];
	int i;

	KUNIT_ASSERT_NOT_NULL(test, text);
	seq_buf_init(&s, text, SZ_4K);

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		KUNIT_EXPECT_GE(test, candidates_of(&s, wrong[i]), 1);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(seq_buf_str(&s), "kp_check_target"),
					  "%s: %s", wrong[i], text);
		/* An address is of use only where the name is that of several. */
		KUNIT_EXPECT_NULL(test, strchr(text, '+'));
	}
	/* Those that differ less come first. */
	KUNIT_EXPECT_EQ(test, candidates_of(&s, "kp_candidate_ono"), 2);
	KUNIT_EXPECT_STREQ(test, seq_buf_str(&s), "kp_candidate_one,kp_candidate_two");

	KUNIT_EXPECT_EQ(test, candidates_of(&s, "kp_twin"), 2);
	snprintf(name, sizeof(name), "_text+0x%lx", twin - (unsigned long)_text);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(seq_buf_str(&s), name), "%s", text);
	/* As many as fit are complete. */
	seq_buf_init(&s, text, strlen(text) + 1);
	KUNIT_EXPECT_EQ(test, candidates_of(&s, "kp_twin"), 1);
	KUNIT_EXPECT_NULL(test, strchr(seq_buf_str(&s), ','));
	seq_buf_init(&s, text, SZ_4K);

	KUNIT_EXPECT_EQ(test, candidates_of(&s, "kp_no_such_name_at_all"), 0);
	KUNIT_EXPECT_EQ(test, candidates_of(&s, "no_module:kp_twin"), 0);
	KUNIT_EXPECT_EQ(test, candidates_of(&s, ""), 0);
	/* Everything is similar to one or two characters. */
	KUNIT_EXPECT_EQ(test, candidates_of(&s, "kq"), 0);
	KUNIT_EXPECT_EQ(test, candidates_of(&s, "\xff\x01\x80"), 0);
	memset(name, 'm', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	KUNIT_EXPECT_EQ(test, candidates_of(&s, name), 0);
	name[200] = ':';
	KUNIT_EXPECT_EQ(test, candidates_of(&s, name), 0);
}

/* Only a guest script can load the module, and then runs this suite again. */
static void check_names_in_a_module(struct kunit *test)
{
	struct kprobe p = {
		.symbol_name	= "kprobe_test_target:kprobe_test_no_trace",
		.flags		= KPROBE_FLAG_UNIQUE,
	};
	struct twins t = { };

	KUNIT_EXPECT_EQ(test, kprobe_for_each_symbol(p.symbol_name, note_twin, &t), 0);
	if (!t.nr) {
		KUNIT_EXPECT_EQ(test, register_kprobe(&p), -ENOENT);
		return;
	}
	kunit_info(test, "the module is there\n");
	KUNIT_EXPECT_EQ(test, t.nr, 1);
	KUNIT_EXPECT_EQ(test, register_kprobe(&p), 0);
	/* It may be after a landing pad. */
	KUNIT_EXPECT_LT(test, (unsigned long)p.addr - t.addr[0], 16);
	unregister_kprobe(&p);
}

static void check_unique_names(struct kunit *test)
{
	struct kprobe p = { .symbol_name = "kp_twin", .flags = KPROBE_FLAG_UNIQUE };

	KUNIT_EXPECT_EQ(test, kprobe_check(&p), -EADDRNOTAVAIL);
	KUNIT_EXPECT_EQ(test, register_kprobe(&p), -EADDRNOTAVAIL);
	KUNIT_EXPECT_EQ(test, kprobe_why_refused(&p), KPROBE_REFUSAL_AMBIGUOUS);
	KUNIT_EXPECT_EQ(test, p.flags, KPROBE_FLAG_UNIQUE);
	KUNIT_EXPECT_PTR_EQ(test, p.addr, NULL);

	/* By default the first one is probed. */
	p.flags = 0;
	KUNIT_EXPECT_NE(test, kprobe_check(&p), -EADDRNOTAVAIL);
	KUNIT_EXPECT_EQ(test, register_kprobe(&p), 0);
	unregister_kprobe(&p);

	p = (struct kprobe){
		.symbol_name	= "kp_check_target",
		.flags		= KPROBE_FLAG_UNIQUE | KPROBE_FLAG_DISABLED,
	};
	KUNIT_EXPECT_NE(test, kprobe_check(&p), -EADDRNOTAVAIL);
	KUNIT_EXPECT_EQ(test, register_kprobe(&p), 0);
	KUNIT_EXPECT_EQ(test, p.flags & (KPROBE_FLAG_UNIQUE | KPROBE_FLAG_DISABLED),
			KPROBE_FLAG_DISABLED);
	unregister_kprobe(&p);

	/* An address is always unique. */
	p = (struct kprobe){ .addr = (void *)kp_twin, .flags = KPROBE_FLAG_UNIQUE };
	KUNIT_EXPECT_EQ(test, register_kprobe(&p), 0);
	unregister_kprobe(&p);
}

/* The probes of a thread share a record of it, which goes with the last of them. */
static void check_who_has_registered(struct kunit *test)
{
	struct kprobe a = { .symbol_name = "kp_check_target" }, b = a;
	struct kprobe c = a, refused = { .symbol_name = "kp_no_such_function" };
	struct kprobe *both[] = { &a, &b }, *bad[] = { &c, &refused };
	struct kprobe_origin *origin;
	char comm[TASK_COMM_LEN], other[TASK_COMM_LEN] = "kp_other_name";

	KUNIT_ASSERT_EQ(test, register_kprobes(both, 2), 0);
	origin = a.origin;
	KUNIT_EXPECT_PTR_EQ(test, b.origin, origin);
	KUNIT_EXPECT_EQ(test, origin->users, 2);
	KUNIT_EXPECT_EQ(test, origin->tgid, task_tgid_nr(current));
	KUNIT_EXPECT_STREQ(test, origin->comm, current->comm);

	KUNIT_EXPECT_EQ(test, register_kprobe(&c), 0);
	KUNIT_EXPECT_PTR_EQ(test, c.origin, origin);
	KUNIT_EXPECT_EQ(test, origin->users, 3);
	unregister_kprobe(&c);
	KUNIT_EXPECT_PTR_EQ(test, c.origin, NULL);

	/* Under another name, it is another one. */
	get_task_comm(comm, current);
	set_task_comm(current, other);
	c = (struct kprobe){ .symbol_name = "kp_check_target" };
	KUNIT_EXPECT_EQ(test, register_kprobe(&c), 0);
	set_task_comm(current, comm);
	KUNIT_EXPECT_PTR_NE(test, c.origin, origin);
	KUNIT_EXPECT_STREQ(test, c.origin->comm, other);
	unregister_kprobe(&c);

	c = (struct kprobe){ .symbol_name = "kp_check_target" };
	KUNIT_EXPECT_NE(test, register_kprobes(bad, 2), 0);
	KUNIT_EXPECT_PTR_EQ(test, c.origin, NULL);

	unregister_kprobe(&a);
	KUNIT_EXPECT_PTR_EQ(test, a.origin, NULL);
	KUNIT_EXPECT_EQ(test, origin->users, 1);
	KUNIT_EXPECT_PTR_EQ(test, b.origin, origin);
	unregister_kprobe(&b);
}

/* A process that registers a probe, and exits while the probe stays registered. */
struct registrar {
	struct kprobe		kp;
	struct completion	done;
	int			ret;
};

static int registrar_thread(void *data)
{
	struct registrar *r = data;

	r->ret = register_kprobe(&r->kp);
	complete(&r->done);
	return kp_await_stop();
}

/*
 * A PID namespace lives as long as there is a reference to one of its processes. The number of
 * references to a process that runs may change at any moment, so this one has ended.
 */
static void check_who_has_registered_and_is_gone(struct kunit *test)
{
	struct registrar *r = kp_zalloc(test, sizeof(*r));
	unsigned long end = jiffies + 20 * HZ;
	struct task_struct *task;
	struct pid *pid;
	pid_t tgid;

	r->kp.symbol_name = "kp_check_target";
	init_completion(&r->done);
	task = kthread_run(registrar_thread, r, "kp_registrar");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	wait_for_completion(&r->done);
	pid = get_pid(task_tgid(task));
	tgid = task_tgid_nr(task);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, r->ret, 0);
	if (r->ret)
		goto out;

	/* The last reference but this one is dropped after a grace period. */
	while (refcount_read(&pid->count) > 1 && time_before(jiffies, end)) {
		rcu_barrier();
		schedule_timeout_uninterruptible(1);
	}
	KUNIT_EXPECT_EQ(test, refcount_read(&pid->count), 1);
	KUNIT_EXPECT_EQ(test, r->kp.origin->tgid, tgid);
	KUNIT_EXPECT_STREQ(test, r->kp.origin->comm, "kp_registrar");
	unregister_kprobe(&r->kp);
out:
	put_pid(pid);
}

static struct kunit_case check_cases[] = {
	KUNIT_CASE(check_each_reason_is_described),
	KUNIT_CASE(check_each_byte_of_a_function),
	KUNIT_CASE(check_arguments),
	KUNIT_CASE(check_of_a_registered_probe),
	KUNIT_CASE(check_beside_a_post_handler),
	KUNIT_CASE(check_returns),
	KUNIT_CASE(check_symbols_of_one_name),
	KUNIT_CASE(check_candidates_of_a_name),
	KUNIT_CASE(check_names_in_a_module),
	KUNIT_CASE(check_unique_names),
	KUNIT_CASE(check_who_has_registered),
	KUNIT_CASE(check_who_has_registered_and_is_gone),
	{}
};

KP_SUITE(check_cases, .name = "kprobes_check");
