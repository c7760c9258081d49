// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of sites: their states, their users, and how the dispatcher treats both. The
 * addresses are outside of the kernel, and nothing is ever armed.
 */

#include "suite.h"

#include "../hit.h"
#include "../site.h"
#include "../table.h"

#define FAKE_ADDR	0x20000ul
/* Where a case creates sites of its own. */
#define BARE_ADDR	0x30000ul
#define NR_USERS	4

struct site_user {
	struct kprobe		kp;
	struct site_test	*t;
	char			id;
	int			ret;
};

/* The fixture of a case: a READY site at FAKE_ADDR, and others. Handlers log their calls. */
struct site_test {
	struct kprobe_site	*site, *sites[4];
	struct site_user		user[NR_USERS];
	struct pt_regs		regs;
	char			log[32];
	unsigned int		len;
};

static void site_test_log(struct site_test *t, char id)
{
	if (t->len < sizeof(t->log) - 1)
		t->log[t->len++] = id;
}

static int log_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct site_user *u = container_of(p, struct site_user, kp);

	site_test_log(u->t, u->id);
	return u->ret;
}

static void log_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	struct site_user *u = container_of(p, struct site_user, kp);

	site_test_log(u->t, u->id + 'A' - 'a');
}

/* What the dispatcher has called since the last time. */
static const char *dispatched_pre(struct site_test *t, struct kprobe_site *site)
{
	memset(t->log, 0, sizeof(t->log));
	t->len = 0;
	scoped_guard(preempt)
		kprobe_site_pre_handler(&site->head.kp, &t->regs);
	return t->log;
}

static const char *dispatched_post(struct site_test *t, struct kprobe_site *site)
{
	memset(t->log, 0, sizeof(t->log));
	t->len = 0;
	scoped_guard(preempt)
		kprobe_site_post_handler(&site->head.kp, &t->regs, 0);
	return t->log;
}

/* Written again from the diagram, not copied from the table. */
static const struct {
	enum kprobe_site_state from, to;
} legal_moves[] = {
	{ KPROBE_SITE_NEW,	KPROBE_SITE_READY },	/* prepared */
	{ KPROBE_SITE_NEW,	KPROBE_SITE_DEAD },	/* its batch failed */
	{ KPROBE_SITE_READY,	KPROBE_SITE_ARMED },	/* armed */
	{ KPROBE_SITE_ARMED,	KPROBE_SITE_READY },	/* disarmed */
	{ KPROBE_SITE_READY,	KPROBE_SITE_GONE },	/* code freed, disarmed */
	{ KPROBE_SITE_ARMED,	KPROBE_SITE_GONE },	/* code freed, armed */
	{ KPROBE_SITE_READY,	KPROBE_SITE_DEAD },	/* last user left */
	{ KPROBE_SITE_GONE,	KPROBE_SITE_DEAD },	/* ditto, without code */
};

static void site_moves_are_the_legal_ones(struct kunit *test)
{
	int from, to, i;
	bool legal;

	for (from = 0; from < NR_KPROBE_SITE_STATES; from++) {
		for (to = 0; to < NR_KPROBE_SITE_STATES; to++) {
			legal = false;
			for (i = 0; i < ARRAY_SIZE(legal_moves); i++)
				legal |= legal_moves[i].from == from &&
					 legal_moves[i].to == to;
			KUNIT_EXPECT_EQ_MSG(test, kprobe_site_may_move(from, to), legal,
					    "from %d to %d", from, to);
		}
	}
}

static void site_new_is_not_found_by_hits(struct kunit *test)
{
	struct site_test *t = test->priv;
	struct kprobe_site *site;

	guard(mutex)(&kprobe_mutex);

	KUNIT_EXPECT_NULL(test, kprobe_site_at(BARE_ADDR));
	site = kprobe_site_create(BARE_ADDR, KPROBE_SITE_BREAKPOINT);
	KUNIT_EXPECT_NOT_NULL(test, site);
	if (!site)
		return;
	t->sites[0] = site;

	KUNIT_EXPECT_EQ(test, site->state, KPROBE_SITE_NEW);
	KUNIT_EXPECT_EQ(test, site->head.kp.flags, KPROBE_FLAG_SITE | KPROBE_FLAG_DISABLED);
	KUNIT_EXPECT_PTR_EQ(test, site->head.kp.pre_handler, &KPROBE_SITE_PRE);
	KUNIT_EXPECT_NULL(test, site->head.kp.post_handler);
	KUNIT_EXPECT_EQ(test, (unsigned long)site->head.kp.addr, BARE_ADDR);
	KUNIT_EXPECT_PTR_EQ(test, kprobe_site_at(BARE_ADDR), site);
	KUNIT_EXPECT_NULL(test, get_kprobe((void *)BARE_ADDR));

	KUNIT_EXPECT_EQ(test, kprobe_table_reserve(1), 0);
	kprobe_site_move(site, KPROBE_SITE_READY);
	KUNIT_EXPECT_PTR_EQ(test, get_kprobe((void *)BARE_ADDR), &site->head.kp);
	KUNIT_EXPECT_NULL(test, get_kprobe((void *)(BARE_ADDR + 1)));
}

static void site_of_ftrace_says_so(struct kunit *test)
{
	struct site_test *t = test->priv;

	guard(mutex)(&kprobe_mutex);

	t->sites[0] = kprobe_site_create(BARE_ADDR, KPROBE_SITE_FTRACE);
	KUNIT_EXPECT_NOT_NULL(test, t->sites[0]);
	if (!t->sites[0])
		return;
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&t->sites[0]->head.kp));

	kprobe_site_add_user(t->sites[0], &t->user[0].kp);
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&t->user[0].kp));
}

static void site_gone_makes_room_for_another(struct kunit *test)
{
	struct site_test *t = test->priv;
	struct kprobe_site *old = t->site, *new;

	guard(mutex)(&kprobe_mutex);

	kprobe_site_add_user(old, &t->user[0].kp);
	kprobe_site_move(old, KPROBE_SITE_GONE);

	KUNIT_EXPECT_TRUE(test, kprobe_gone(&old->head.kp));
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&t->user[0].kp));
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&t->user[0].kp));
	KUNIT_EXPECT_NULL(test, kprobe_site_at(FAKE_ADDR));
	KUNIT_EXPECT_PTR_EQ(test, kprobe_site_of_user(&t->user[0].kp), old);
	/* For hits that had begun; released a grace period later. */
	KUNIT_EXPECT_PTR_EQ(test, get_kprobe((void *)FAKE_ADDR), &old->head.kp);
	kprobe_site_release(old);
	KUNIT_EXPECT_NULL(test, get_kprobe((void *)FAKE_ADDR));

	/* The code came back: the address gets a new site with its own life cycle. */
	new = kprobe_site_create(FAKE_ADDR, KPROBE_SITE_BREAKPOINT);
	KUNIT_EXPECT_NOT_NULL(test, new);
	t->sites[0] = new;
	if (new) {
		KUNIT_EXPECT_EQ(test, kprobe_table_reserve(1), 0);
		kprobe_site_move(new, KPROBE_SITE_READY);
		kprobe_site_add_user(new, &t->user[1].kp);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_site_at(FAKE_ADDR), new);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_site_of_user(&t->user[0].kp), old);
		KUNIT_EXPECT_PTR_EQ(test, kprobe_site_of_user(&t->user[1].kp), new);
		KUNIT_EXPECT_FALSE(test, kprobe_gone(&t->user[1].kp));
		kprobe_site_del_user(new, &t->user[1].kp);
	}
	kprobe_site_del_user(old, &t->user[0].kp);

	/* The end of the old site does not remove the new one from the table. */
	kprobe_site_remove(old);
	kprobe_site_free(old);
	t->site = NULL;
	KUNIT_EXPECT_PTR_EQ(test, get_kprobe((void *)FAKE_ADDR), &new->head.kp);
}

static void site_walk_is_in_order_of_addresses(struct kunit *test)
{
	static const unsigned long order[] = { 0x300, 0x100, 0x200, 0x0 };
	struct site_test *t = test->priv;
	struct kprobe_site *site;
	unsigned long addr = BARE_ADDR;
	int i;

	guard(mutex)(&kprobe_mutex);

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		t->sites[i] = kprobe_site_create(BARE_ADDR + order[i],
						 KPROBE_SITE_BREAKPOINT);
		KUNIT_EXPECT_NOT_NULL(test, t->sites[i]);
	}

	site = kprobe_site_from(BARE_ADDR);
	for (i = 0; i < ARRAY_SIZE(order) && site; i++) {
		KUNIT_EXPECT_EQ(test, kprobe_site_addr(site), addr);
		addr += 0x100;
		site = kprobe_site_next(site);
	}
	KUNIT_EXPECT_EQ(test, i, ARRAY_SIZE(order));

	site = kprobe_site_from(BARE_ADDR + 0x101);
	KUNIT_EXPECT_PTR_EQ(test, site, t->sites[2]);
	KUNIT_EXPECT_NULL(test, kprobe_site_at(BARE_ADDR + 0x101));
}

/* The only user whose handlers are called directly, or NULL. With lockdep, there is none. */
static struct kprobe *only_callee(struct kprobe_site *site)
{
	struct kprobe *p = rcu_access_pointer(site->head.callee);

	return p == &site->head.kp ? NULL : p;
}

#define EXPECT_USERS(site, nr, enabled, only) do {					\
	KUNIT_EXPECT_EQ(test, list_count_nodes(&(site)->users), nr);			\
	KUNIT_EXPECT_EQ(test, (site)->nr_enabled, enabled);				\
	KUNIT_EXPECT_PTR_EQ(test, only_callee(site),					\
			    IS_ENABLED(CONFIG_PROVE_LOCKING) ? NULL : only);		\
	KUNIT_EXPECT_EQ(test, kprobe_disabled(&(site)->head.kp), !(enabled));		\
} while (0)

static void site_counts_its_users(struct kunit *test)
{
	struct site_test *t = test->priv;
	struct kprobe *a = &t->user[0].kp, *b = &t->user[1].kp, *c = &t->user[2].kp;
	struct kprobe_site *site = t->site;

	guard(mutex)(&kprobe_mutex);

	EXPECT_USERS(site, 0, 0, NULL);
	kprobe_site_add_user(site, a);
	EXPECT_USERS(site, 1, 1, a);

	b->flags = KPROBE_FLAG_DISABLED;
	kprobe_site_add_user(site, b);
	EXPECT_USERS(site, 2, 1, a);
	kprobe_site_add_user(site, c);
	EXPECT_USERS(site, 3, 2, NULL);

	kprobe_site_enable_user(site, a, false);
	kprobe_site_enable_user(site, c, false);
	EXPECT_USERS(site, 3, 0, NULL);
	kprobe_site_enable_user(site, b, true);
	EXPECT_USERS(site, 3, 1, b);

	kprobe_site_del_user(site, a);
	EXPECT_USERS(site, 2, 1, b);
	kprobe_site_del_user(site, b);
	EXPECT_USERS(site, 1, 0, NULL);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(b));
	KUNIT_EXPECT_NULL(test, kprobe_site_of_user(b));
	/* Without a pre handler there is nothing to call directly. */
	kprobe_site_enable_user(site, c, true);
	EXPECT_USERS(site, 1, 1, c);
	kprobe_site_del_user(site, c);
	EXPECT_USERS(site, 0, 0, NULL);
	c->pre_handler = NULL;
	c->flags = 0;
	kprobe_site_add_user(site, c);
	EXPECT_USERS(site, 1, 1, NULL);
}

static void site_takes_only_flags_of_users(struct kunit *test)
{
	struct site_test *t = test->priv;
	struct kprobe *p = &t->user[0].kp;
	struct kprobe_site *site = t->site;

	guard(mutex)(&kprobe_mutex);

	kprobe_publish_flag(&site->head.kp, KPROBE_FLAG_ON_FUNC_ENTRY, true);

	memset(&p->flags, 0xff, sizeof(p->flags));
	p->nmissed = 17;
	kprobe_site_add_user(site, p);
	KUNIT_EXPECT_EQ(test, p->flags,
			KPROBE_FLAG_DISABLED | KPROBE_FLAG_ON_FUNC_ENTRY |
			KPROBE_FLAG_REENTRANT);
	KUNIT_EXPECT_EQ(test, p->nmissed, 0);
	KUNIT_EXPECT_PTR_EQ(test, p->addr, site->head.kp.addr);
	KUNIT_EXPECT_FALSE(test, list_empty(&p->list));
}

static void site_post_handler_stays(struct kunit *test)
{
	struct site_test *t = test->priv;
	struct kprobe *plain = &t->user[0].kp, *post = &t->user[1].kp;
	struct kprobe_site *site = t->site;

	guard(mutex)(&kprobe_mutex);

	kprobe_site_add_user(site, plain);
	KUNIT_EXPECT_NULL(test, site->head.kp.post_handler);
	KUNIT_EXPECT_FALSE(test, kprobe_site_has_post(site));

	post->post_handler = log_post;
	kprobe_site_add_user(site, post);
	KUNIT_EXPECT_PTR_EQ(test, site->head.kp.post_handler, &KPROBE_SITE_POST);
	KUNIT_EXPECT_TRUE(test, kprobe_site_has_post(site));

	kprobe_site_del_user(site, post);
	KUNIT_EXPECT_PTR_EQ(test, site->head.kp.post_handler, &KPROBE_SITE_POST);
	KUNIT_EXPECT_FALSE(test, kprobe_site_has_post(site));
}

static int log_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	struct site_user *u = container_of(p, struct site_user, kp);

	site_test_log(u->t, u->id);
	return u->ret;
}

/*
 * Faults in a handler are reported to its probe, so such a user is not called
 * directly.
 */
static void site_fault_handler_stays(struct kunit *test)
{
	struct site_test *t = test->priv;
	struct kprobe *plain = &t->user[0].kp, *fault = &t->user[1].kp;
	struct kprobe_site *site = t->site;

	guard(mutex)(&kprobe_mutex);

	kprobe_site_add_user(site, plain);
	KUNIT_EXPECT_NULL(test, site->head.kp.fault_handler);
	KUNIT_EXPECT_FALSE(test, kprobe_site_has_fault(site));
	kprobe_site_del_user(site, plain);

	fault->fault_handler = log_fault;
	kprobe_site_add_user(site, fault);
	KUNIT_EXPECT_PTR_EQ(test, site->head.kp.fault_handler, &kprobe_site_fault_handler);
	KUNIT_EXPECT_NULL(test, site->head.kp.post_handler);
	KUNIT_EXPECT_TRUE(test, kprobe_site_has_fault(site));
	KUNIT_EXPECT_NULL(test, only_callee(site));
	KUNIT_EXPECT_STREQ(test, dispatched_pre(t, site), "b");

	kprobe_site_del_user(site, fault);
	KUNIT_EXPECT_PTR_EQ(test, site->head.kp.fault_handler, &kprobe_site_fault_handler);
	KUNIT_EXPECT_FALSE(test, kprobe_site_has_fault(site));
}

/* What the dispatcher called for a fault, and whether it was handled. */
static const char *dispatched_fault(struct site_test *t, struct kprobe_site *site,
				    int *settled)
{
	memset(t->log, 0, sizeof(t->log));
	t->len = 0;
	scoped_guard(preempt)
		*settled = kprobe_site_fault_handler(&site->head.kp, &t->regs, 14);
	return t->log;
}

/* All enabled users are asked, newest first, until one handles it. */
static void site_dispatches_faults(struct kunit *test)
{
	struct site_test *t = test->priv;
	struct kprobe_site *site = t->site;
	int i, settled;

	guard(mutex)(&kprobe_mutex);

	for (i = 0; i < NR_USERS; i++) {
		t->user[i].kp.fault_handler = i == 1 ? NULL : log_fault;
		kprobe_site_add_user(site, &t->user[i].kp);
	}
	KUNIT_EXPECT_STREQ(test, dispatched_fault(t, site, &settled), "dca");
	KUNIT_EXPECT_EQ(test, settled, 0);
	kprobe_site_enable_user(site, &t->user[3].kp, false);
	t->user[2].ret = 5;
	KUNIT_EXPECT_STREQ(test, dispatched_fault(t, site, &settled), "c");
	KUNIT_EXPECT_EQ(test, settled, 1);
}

static void site_dispatches_newest_first(struct kunit *test)
{
	struct site_test *t = test->priv;
	struct kprobe_site *site = t->site;
	int i;

	guard(mutex)(&kprobe_mutex);

	KUNIT_EXPECT_STREQ(test, dispatched_pre(t, site), "");
	for (i = 0; i < 3; i++) {
		t->user[i].kp.post_handler = log_post;
		kprobe_site_add_user(site, &t->user[i].kp);
	}
	KUNIT_EXPECT_STREQ(test, dispatched_pre(t, site), "cba");
	KUNIT_EXPECT_STREQ(test, dispatched_post(t, site), "CBA");

	/* A non-zero result ends the walk, and is returned to the backend. */
	t->user[1].ret = 1;
	KUNIT_EXPECT_STREQ(test, dispatched_pre(t, site), "cb");
	scoped_guard(preempt)
		i = kprobe_site_pre_handler(&site->head.kp, &t->regs);
	KUNIT_EXPECT_EQ(test, i, 1);
	t->user[1].ret = 0;
	scoped_guard(preempt)
		i = kprobe_site_pre_handler(&site->head.kp, &t->regs);
	KUNIT_EXPECT_EQ(test, i, 0);

	/* Users that are disabled, or have no handler, are skipped. */
	kprobe_site_enable_user(site, &t->user[2].kp, false);
	KUNIT_EXPECT_STREQ(test, dispatched_pre(t, site), "ba");
	KUNIT_EXPECT_STREQ(test, dispatched_post(t, site), "BA");
	t->user[1].kp.pre_handler = NULL;
	t->user[0].kp.post_handler = NULL;
	KUNIT_EXPECT_STREQ(test, dispatched_pre(t, site), "a");
	KUNIT_EXPECT_STREQ(test, dispatched_post(t, site), "B");

	/* A single user: the fast path. */
	kprobe_site_del_user(site, &t->user[2].kp);
	kprobe_site_del_user(site, &t->user[1].kp);
	KUNIT_EXPECT_STREQ(test, dispatched_pre(t, site), "a");
	kprobe_site_enable_user(site, &t->user[0].kp, false);
	KUNIT_EXPECT_STREQ(test, dispatched_pre(t, site), "");
}

static void site_only_enabled_users_are_charged(struct kunit *test)
{
	struct site_test *t = test->priv;
	struct kprobe_site *site = t->site;
	struct kprobe alone = {};
	int i;

	guard(mutex)(&kprobe_mutex);

	for (i = 0; i < 3; i++)
		kprobe_site_add_user(site, &t->user[i].kp);
	kprobe_site_enable_user(site, &t->user[1].kp, false);

	scoped_guard(preempt) {
		for (i = 0; i < 5; i++)
			kprobes_inc_nmissed_count(&site->head.kp);
	}
	KUNIT_EXPECT_EQ(test, t->user[0].kp.nmissed, 5);
	KUNIT_EXPECT_EQ(test, t->user[1].kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, t->user[2].kp.nmissed, 5);
	KUNIT_EXPECT_EQ(test, t->user[0].kp.nmissed_rcu, 0);

	/* A backend may have a probe of its own. */
	scoped_guard(preempt)
		kprobes_inc_nmissed_count(&alone);
	KUNIT_EXPECT_EQ(test, alone.nmissed, 1);
}

static void site_draining_takes_a_new_user(struct kunit *test)
{
	struct site_test *t = test->priv;
	struct kprobe_site *site = t->site;
	LIST_HEAD(reap);

	guard(mutex)(&kprobe_mutex);

	kprobe_site_add_user(site, &t->user[0].kp);
	kprobe_site_del_user(site, &t->user[0].kp);
	list_move_tail(&site->head.kp.reap, &reap);

	/* Still found by hits that trapped before. */
	KUNIT_EXPECT_PTR_EQ(test, get_kprobe((void *)FAKE_ADDR), &site->head.kp);

	kprobe_site_add_user(site, &t->user[1].kp);
	KUNIT_EXPECT_TRUE_MSG(test, list_empty(&reap), "it would be freed in use");
}

static int site_test_init(struct kunit *test)
{
	struct site_test *t = kp_zalloc(test, sizeof(*t));
	int i;

	for (i = 0; i < NR_USERS; i++) {
		t->user[i].kp.pre_handler = log_pre;
		t->user[i].t = t;
		t->user[i].id = 'a' + i;
		INIT_LIST_HEAD(&t->user[i].kp.list);
	}
	test->priv = t;

	guard(mutex)(&kprobe_mutex);

	t->site = kprobe_site_create(FAKE_ADDR, KPROBE_SITE_BREAKPOINT);
	if (!t->site || kprobe_table_reserve(1))
		return -ENOMEM;
	kprobe_site_move(t->site, KPROBE_SITE_READY);
	return 0;
}

static void destroy(struct kprobe_site *site)
{
	if (!site)
		return;
	kprobe_site_remove(site);
	kprobe_site_free(site);
}

static void site_test_exit(struct kunit *test)
{
	struct site_test *t = test->priv;
	struct kprobe_site *site;
	int i;

	if (!t)
		return;

	scoped_guard(mutex, &kprobe_mutex) {
		for (i = 0; i < NR_USERS; i++) {
			site = kprobe_site_of_user(&t->user[i].kp);
			if (site)
				kprobe_site_del_user(site, &t->user[i].kp);
		}
		for (i = 0; i < ARRAY_SIZE(t->sites); i++)
			destroy(t->sites[i]);
		destroy(t->site);
	}
	synchronize_rcu();
}

static struct kunit_case site_cases[] = {
	KUNIT_CASE(site_moves_are_the_legal_ones),
	KUNIT_CASE(site_new_is_not_found_by_hits),
	KUNIT_CASE(site_of_ftrace_says_so),
	KUNIT_CASE(site_gone_makes_room_for_another),
	KUNIT_CASE(site_walk_is_in_order_of_addresses),
	KUNIT_CASE(site_counts_its_users),
	KUNIT_CASE(site_takes_only_flags_of_users),
	KUNIT_CASE(site_post_handler_stays),
	KUNIT_CASE(site_fault_handler_stays),
	KUNIT_CASE(site_dispatches_faults),
	KUNIT_CASE(site_dispatches_newest_first),
	KUNIT_CASE(site_only_enabled_users_are_charged),
	KUNIT_CASE(site_draining_takes_a_new_user),
	{}
};

KP_SUITE(site_cases, .name = "kprobes_site",
	 .init = site_test_init, .exit = site_test_exit);
