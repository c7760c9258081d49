// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the optimizer: the states of a site, and everything that can happen to it
 * in each of them.
 */

#include "suite.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/jump_label.h>

#if KPROBES_TEST_HAS_TEXT_POKE
#include <linux/text-patching.h>
#endif

#include "../arm.h"
#include "../optimizer.h"
#include "../site.h"
#include "../slots.h"
#include "files.h"
#include "helpers.h"
#include "optimizer_helpers.h"
#include "scenario.h"

KP_UNTRACED(u32, kp_opt_first, v + 3)

KP_UNTRACED(u32, kp_opt_second, v + 5)

static KP_TRACED(u32, kp_opt_claimed, v + 9)

struct opt_test {
	struct kp_scene		scene;
#ifdef CONFIG_KPROBES_ON_FTRACE
	/* Another user of ftrace claims the third function. */
	struct ftrace_ops	ops;
#endif
	/* A thread that does not leave its CPU holds up grace periods. */
	struct task_struct	*holder;
	struct completion	holds;
	bool			may_go;
};

static void play(struct kunit *test, const char *script)
{
	struct opt_test *t = test->priv;

	kp_play(test, &t->scene, script);
}

static struct kprobe *probe(struct kunit *test, char name)
{
	struct opt_test *t = test->priv;

	return kp_scene_probe(&t->scene, name);
}

static bool says_optimized(struct kprobe *p)
{
	guard(mutex)(&kprobe_mutex);

	return kprobe_optimized(&site_of(p)->head.kp);
}

/*
 * Words: jumps are finished, allowed and not; "is:a=STATE", perhaps with the reason for no jump;
 * "soon:a=STATE", which may take a moment; the flag that tools look for; no grace period ends
 * until they are let go; and the locks of a registration, a static key, a module and tracing are
 * free.
 */

static int settle(struct kunit *test, struct kp_scene *s, const char *arg)
{
	wait_for_kprobe_optimizer();
	return 0;
}

static int jumps(struct kunit *test, struct kp_scene *s, const char *arg)
{
	kprobe_opt_allow(true);
	return 0;
}

static int no_jumps(struct kunit *test, struct kp_scene *s, const char *arg)
{
	kprobe_opt_allow(false);
	return 0;
}

static const char * const state_names[NR_KPROBE_OPT_STATES] = {
	[KPROBE_OPT_NONE]	= "none",
	[KPROBE_OPT_PREPARED]	= "prepared",
	[KPROBE_OPT_QUEUED]	= "queued",
	[KPROBE_OPT_WAITING]	= "waiting",
	[KPROBE_OPT_LIVE]	= "live",
};

static int is(struct kunit *test, struct kp_scene *s, const char *arg)
{
	struct kprobe *p = kp_scene_probe(s, arg[0]);
	const char *state = state_names[state_of(p)] ?: "none of these";
	size_t len = strlen(state);

	arg += 2;
	if (strncmp(arg, state, len))
		return -EINVAL;
	if (arg[len] == '/')
		KUNIT_EXPECT_STREQ(test, kprobe_noopt_name(why_of(p)), arg + len + 1);
	return 0;
}

static int soon(struct kunit *test, struct kp_scene *s, const char *arg)
{
	unsigned long end = jiffies + 8 * HZ;

	while (is(test, s, arg) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	return is(test, s, arg);
}

static int has_flag(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return !says_optimized(kp_scene_probe(s, *arg));
}

static int has_no_flag(struct kunit *test, struct kp_scene *s, const char *arg)
{
	return says_optimized(kp_scene_probe(s, *arg));
}

/* Longer than any script takes, but not so long that the kernel would complain. */
#define HOLD_TIME	(15 * HZ)

static int holder_thread(void *data)
{
	struct opt_test *t = data;
	unsigned long end = jiffies + HOLD_TIME;

	complete(&t->holds);
	while (!READ_ONCE(t->may_go) && time_before(jiffies, end))
		cpu_relax();
	return READ_ONCE(t->may_go) ? 0 : -ETIMEDOUT;
}

static void hold_grace_periods(struct kunit *test, struct opt_test *t)
{
	struct task_struct *task;

	KP_SKIP_IF(test, num_online_cpus() < 2, "needs two CPUs");

	wait_for_kprobe_optimizer();
	init_completion(&t->holds);
	task = kthread_create_on_cpu(holder_thread, t, cpumask_last(cpu_online_mask), "kp_opt/%u");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	t->holder = get_task_struct(task);
	/* Stay on another CPU. */
	set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));
	wake_up_process(t->holder);
	wait_for_completion(&t->holds);
}

static int hold(struct kunit *test, struct kp_scene *s, const char *arg)
{
	hold_grace_periods(test, container_of(s, struct opt_test, scene));
	return 0;
}

static int let_go(struct kunit *test, struct kp_scene *s, const char *arg)
{
	struct opt_test *t = container_of(s, struct opt_test, scene);

	WRITE_ONCE(t->may_go, true);
	/* It was there all the time. */
	KUNIT_EXPECT_EQ(test, kthread_stop_put(t->holder), 0);
	t->holder = NULL;
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	wait_for_kprobe_optimizer();
	return 0;
}

static DEFINE_STATIC_KEY_FALSE(opt_key);

static int take_all_locks(struct kunit *test, struct kp_scene *s, const char *arg)
{
	static_branch_enable(&opt_key);
	KUNIT_EXPECT_TRUE(test, static_branch_unlikely(&opt_key));
	static_branch_disable(&opt_key);
	KUNIT_EXPECT_FALSE(test, static_branch_unlikely(&opt_key));

	mutex_lock(&kprobe_mutex);
	mutex_unlock(&kprobe_mutex);
	mutex_lock(&text_mutex);
	mutex_unlock(&text_mutex);
	return 0;
}

static const struct kp_word words[] = {
	{ "settle", settle },
	{ "jumps", jumps },
	{ "no-jumps", no_jumps },
	{ "is:", is },
	{ "soon:", soon },
	{ "flag:", has_flag },
	{ "no-flag:", has_no_flag },
	{ "hold", hold },
	{ "let-go", let_go },
	{ "take-locks", take_all_locks },
	{}
};

/* Nothing that prevents a jump is left at the site. */
#define LIVE_AGAIN							\
	"settle is:a=live hit:a off:a is:a=prepared on:a settle is:a=live hit:a"

static const struct kp_script scripts[] = {
	{ "goes_live",
	  "+a1 flag:a hit:a settle is:a=live flag:a hit:a "
	  "off:a is:a=prepared/disarmed no-flag:a on:a settle is:a=live hit:a" },
	{ "follows_global_switch",
	  "+a1 settle off is:a=prepared hit: on settle is:a=live hit:a" },
	/* With another one that is registered in the meantime. */
	{ "reverts_when_switched_off",
	  "+a1 settle no-jumps is:a=prepared/switched-off no-flag:a hit:a "
	  "+b2 settle is:b=none/switched-off jumps settle is:a=live is:b=live hit:ab" },
	/* Being disabled makes no difference. */
	{ "reverts_for_post_handler",
	  "+c1p +a1 settle is:a=none/post-handler off:c settle is:a=none/post-handler "
	  "-c settle is:a=live hit:a" },
	/* An error undoes what a batch has done to other probes. */
	{ "failed_batch", "+a1 settle +c1p,d9!NOENT " LIVE_AGAIN },
	/* One of two users: it is still a jump. Not even hits before the text changes. */
	{ "reverts_disabled_probe", "+a1 +b1 settle is:a=live off:b is:a=live hit:a off:a hit:" },
};
KUNIT_ARRAY_PARAM_DESC(script, scripts, name);

/* While a grace period runs. Hits are handled in the meantime. */
static const struct kp_script waiting_scripts[] = {
	{ "holds_no_lock",
	  "+b2 is:b=queued off:b is:b=none on:b take-locks is:a=waiting hit:ab "
	  "let-go is:a=live is:b=live hit:ab" },
	/* This grace period is not the one that it needs. */
	{ "is_cancelled",
	  "off:a is:a=prepared on:a is:a=queued flag:a hit:a let-go is:a=live hit:a" },
	{ "post_handler_comes",
	  "+c1p is:a=prepared/post-handler hit:ac let-go is:a=prepared -c settle is:a=live" },
	{ "switched_off",
	  "no-jumps is:a=prepared hit:a jumps is:a=queued hit:a let-go is:a=live" },
	{ "global_switch", "off is:a=prepared on is:a=queued hit:a let-go is:a=live" },
};
KUNIT_ARRAY_PARAM_DESC(waiting, waiting_scripts, name);

static void optimizer_script(struct kunit *test)
{
	const struct kp_script *script = test->param_value;

	play(test, script->text);
}

/* Returns when a site of the test is WAITING and the worker is in its wait, and keeps it there. */
static void hold_waiting(struct kunit *test)
{
	struct kprobe at = { .addr = kprobe_lookup_name(KP_WAITS_FOR_TASKS, 0) };
	struct kp_watch *wait;
	unsigned long end;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_HAVE_OPTPROBES_RANGE),
		   "jumps of one instruction do not wait");

	/* Nothing of it waits for the same: it is no site of ftrace, and never gets a jump. */
	while (ftrace_location((unsigned long)at.addr) || kprobe_check(&at))
		at.addr++;
	wait = KP_WATCHED(test, true, .addr = at.addr);
	play(test, "hold");
	/* Until now, the worker may have waited for the detour that kp_opt_init() has left. */
	atomic_set(&wait->pre, 0);
	play(test, "+a1 soon:a=waiting hit:a");
	end = jiffies + 8 * HZ;
	while (!atomic_read(&wait->pre) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_NE(test, atomic_read(&wait->pre), 0);
}

static void optimizer_while_waiting(struct kunit *test)
{
	const struct kp_script *script = test->param_value;

	hold_waiting(test);
	play(test, script->text);
}

/* A jump that replaces only the probed instruction is written at once. */
static void optimizer_waits_for_long_jumps_only(struct kunit *test)
{
	play(test, "hold +a1");
	play(test, IS_ENABLED(CONFIG_HAVE_OPTPROBES_RANGE) ? "soon:a=waiting" : "soon:a=live");
	play(test, "hit:a let-go is:a=live hit:a");
}

/*
 * States
 */

static void optimizer_moves_are_the_legal_ones(struct kunit *test)
{
	static const struct {
		enum kprobe_opt_state from, to;
	} legal[] = {
		{ KPROBE_OPT_NONE,	 KPROBE_OPT_QUEUED },
		{ KPROBE_OPT_PREPARED,	 KPROBE_OPT_QUEUED },
		{ KPROBE_OPT_PREPARED,	 KPROBE_OPT_RECLAIMING },
		{ KPROBE_OPT_PREPARED,	 KPROBE_OPT_NONE },
		{ KPROBE_OPT_QUEUED,	 KPROBE_OPT_NONE },
		{ KPROBE_OPT_QUEUED,	 KPROBE_OPT_PREPARED },
		{ KPROBE_OPT_QUEUED,	 KPROBE_OPT_WAITING },
		{ KPROBE_OPT_WAITING,	 KPROBE_OPT_PREPARED },
		{ KPROBE_OPT_WAITING,	 KPROBE_OPT_LIVE },
		{ KPROBE_OPT_LIVE,	 KPROBE_OPT_PREPARED },
		{ KPROBE_OPT_RECLAIMING, KPROBE_OPT_NONE },
	};
	bool want[NR_KPROBE_OPT_STATES][NR_KPROBE_OPT_STATES] = {};
	int from, to, i;

	for (i = 0; i < ARRAY_SIZE(legal); i++)
		want[legal[i].from][legal[i].to] = true;

	for (from = 0; from < NR_KPROBE_OPT_STATES; from++) {
		for (to = 0; to < NR_KPROBE_OPT_STATES; to++)
			KUNIT_EXPECT_EQ_MSG(test, kprobe_opt_may_move(from, to),
					    want[from][to], "%d to %d", from, to);
	}
}

/* What the text holds now: the instruction, the breakpoint or the jump. */
static kprobe_opcode_t text_of(struct kunit *test, struct kprobe *p)
{
	kprobe_opcode_t text = 0;

	KUNIT_EXPECT_EQ(test, copy_from_kernel_nofault(&text, p->addr, sizeof(text)), 0);
	return text;
}

/*
 * The text has changed, not only the state. Without a breakpoint, hits take the
 * detour.
 */
static void optimizer_jump_in_the_text(struct kunit *test)
{
	struct kprobe *kp = probe(test, 'a');
	kprobe_opcode_t insn, breakpoint, jump;

	play(test, "+a1d");
	insn = text_of(test, kp);
	play(test, "no-jumps on:a");
	breakpoint = text_of(test, kp);
	play(test, "jumps settle");
	jump = text_of(test, kp);
	KUNIT_EXPECT_TRUE(test, breakpoint != insn);
	KUNIT_EXPECT_TRUE(test, jump != insn);
	KUNIT_EXPECT_TRUE(test, jump != breakpoint);

	play(test, "hit:a no-jumps");
	KUNIT_EXPECT_TRUE(test, text_of(test, kp) == breakpoint);
	play(test, "hit:a jumps settle");
	KUNIT_EXPECT_TRUE(test, text_of(test, kp) == jump);
	play(test, "hit:a -a");
	KUNIT_EXPECT_TRUE(test, text_of(test, kp) == insn);
	KUNIT_EXPECT_EQ(test, kp_opt_first(1), 4);
}

static bool file_says(struct kunit *test, const char *name, const char *what)
{
	return kp_file_says(test, name, "kp_opt_first+", what);
}

/* Tools parse the tag. */
static void optimizer_files_say_so(struct kunit *test)
{
	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_DEBUG_FS), "needs debugfs");

	play(test, "+a1 settle");
	KUNIT_EXPECT_TRUE(test, file_says(test, "kprobes/list", "[OPTIMIZED]"));
	KUNIT_EXPECT_TRUE(test, file_says(test, "kprobes/sites", "kind=optimized "));
	KUNIT_EXPECT_TRUE(test, file_says(test, "kprobes/sites", " opt=live why=-"));

	play(test, "+c1p");
	KUNIT_EXPECT_FALSE(test, file_says(test, "kprobes/list", "[OPTIMIZED]"));
	KUNIT_EXPECT_TRUE(test, file_says(test, "kprobes/sites", " opt=prepared why=post-handler"));
}

static struct cred *creds_without_syslog(struct kunit *test)
{
	struct cred *cred = prepare_creds();

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cap_lower(cred->cap_effective, CAP_SYSLOG);
	return cred;
}

/* The address that a file shows for the first function. */
static unsigned long shown_address(struct kunit *test, const struct cred *opener,
				   const struct cred *reader, const char *name)
{
	unsigned long addr = 1;
	char *buf, *rest, *line;

	buf = kp_zalloc(test, KP_FILE_SIZE);
	KUNIT_EXPECT_GT(test, kp_read_debugfs(opener, reader, name, buf, KP_FILE_SIZE - 1), 0);
	for (rest = buf; (line = strsep(&rest, "\n")); ) {
		if (strstr(line, "kp_opt_first+"))
			KUNIT_EXPECT_EQ(test, sscanf(line, "%lx ", &addr), 1);
	}
	kunit_kfree(test, buf);
	return addr;
}

/* Does the blacklist show any address? */
static bool blacklist_tells(struct kunit *test, const struct cred *opener)
{
	unsigned long start, end, reported = 0;
	char *buf, *rest, *line;

	buf = kp_zalloc(test, KP_FILE_SIZE);
	KUNIT_EXPECT_GT(test, kp_read_debugfs(opener, NULL, "kprobes/blacklist", buf,
					      KP_FILE_SIZE - 1), 0);
	for (rest = buf; (line = strsep(&rest, "\n")); ) {
		if (sscanf(line, "0x%lx-0x%lx", &start, &end) == 2)
			reported |= start | end;
	}
	kunit_kfree(test, buf);
	return reported;
}

/*
 * Addresses are shown if whoever opens the file may see them; who reads it does not
 * matter.
 */
static void optimizer_addresses_in_files(struct kunit *test)
{
	static const char * const files[] = { "kprobes/list", "kprobes/sites" };
	int i, restrict_before = kptr_restrict;
	unsigned long addr;
	struct cred *low;

	KP_SKIP_IF(test, !IS_ENABLED(CONFIG_DEBUG_FS), "needs debugfs");

	play(test, "+a1");
	addr = (unsigned long)probe(test, 'a')->addr;
	low = creds_without_syslog(test);
	kptr_restrict = 1;
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		KUNIT_EXPECT_EQ(test, shown_address(test, NULL, NULL, files[i]), addr);
		KUNIT_EXPECT_EQ(test, shown_address(test, low, NULL, files[i]), 0);
		KUNIT_EXPECT_EQ(test, shown_address(test, NULL, low, files[i]), addr);
	}
	KUNIT_EXPECT_TRUE(test, blacklist_tells(test, NULL));
	KUNIT_EXPECT_FALSE(test, blacklist_tells(test, low));
	/* Hidden from every reader. */
	kptr_restrict = 2;
	for (i = 0; i < ARRAY_SIZE(files); i++)
		KUNIT_EXPECT_EQ(test, shown_address(test, NULL, NULL, files[i]), 0);
	KUNIT_EXPECT_FALSE(test, blacklist_tells(test, NULL));
	kptr_restrict = restrict_before;
	abort_creds(low);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
static void claiming_func(unsigned long ip, unsigned long parent_ip,
			  struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

/* So probe d, which has a post handler, is refused, but only when it is armed. */
static void claim(struct kunit *test)
{
	unsigned long ip = ftrace_location(kp_code(kp_opt_claimed));
	struct opt_test *t = test->priv;

	play(test, "set:d3p");
	probe(test, 'd')->symbol_name = NULL;
	probe(test, 'd')->addr = (kprobe_opcode_t *)ip;
	t->ops.func = claiming_func;
	t->ops.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY;
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&t->ops, ip, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_function(&t->ops), 0);
}

static void disclaim(struct kunit *test)
{
	struct opt_test *t = test->priv;

	unregister_ftrace_function(&t->ops);
	ftrace_free_filter(&t->ops);
}

/* Until then, the post handler was a user of the site. */
static void optimizer_failed_arming(struct kunit *test)
{
	claim(test);
	play(test, "+a1 settle +c1p,d!BUSY");
	disclaim(test);
	play(test, LIVE_AGAIN);
}

/* A neighbour whose registration fails no longer blocks a jump. */
static void optimizer_failed_neighbour(struct kunit *test)
{
	int i;

	claim(test);
	play(test, "+a1 set:b1 set:c1p");
	probe(test, 'b')->symbol_name = NULL;
	probe(test, 'b')->addr = probe(test, 'a')->addr + 1;
	/*
	 * Over an existing jump, and over one that is to come. They are unregistered from the end:
	 * when the second goes, the first is still there.
	 */
	for (i = 0; i < 5; i++)
		play(test, "settle +b,c,d!BUSY no-jumps jumps +b,c,d!BUSY settle is:a=live");
	disclaim(test);
	play(test, LIVE_AGAIN);
}
#else
KP_SKIPPED(optimizer_failed_arming, "needs KPROBES_ON_FTRACE")

KP_SKIPPED(optimizer_failed_neighbour, "needs KPROBES_ON_FTRACE")
#endif

#if KPROBES_TEST_HAS_TEXT_POKE
/* Another one-byte instruction that does not change the result, or the nop again. */
static void poke_byte(void *at, u8 byte)
{
	guard(mutex)(&text_mutex);
	text_poke(at, &byte, 1);
	smp_text_poke_sync_each_cpu();
}

/*
 * The detour has copies of instructions that other code may patch in the meantime. Then
 * there must be no jump, which would execute the old ones.
 */
static void optimizer_text_changed_while_waiting(struct kunit *test)
{
	u8 *text;

	hold_waiting(test);
	text = (u8 *)probe(test, 'a')->addr;
	KUNIT_EXPECT_EQ(test, text[3], 0x90);
	poke_byte(text + 3, 0xf8);			/* clc */
	play(test, "hit:a let-go is:a=prepared/text-changed hit:a");

	poke_byte(text + 3, 0x90);
	play(test, "off:a on:a settle is:a=live hit:a");
}
#endif

/* The site, its detour and the worker are released in the right order. */
static void optimizer_unregister_at_once(struct kunit *test)
{
	int i;

	for (i = 0; i < 20; i++) {
		play(test, "+a1");
		if (i % 2)
			schedule_timeout_uninterruptible(i / 4);
		play(test, "hit:a -a");
	}
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kp_opt_first(1), 4);
}

/*
 * Init text is freed without being disarmed first. A probe there that has just been
 * registered is in the queue.
 */
static void optimizer_kills_what_is_queued(struct kunit *test)
{
	struct kprobe_site *site;
	LIST_HEAD(revert);

	play(test, "+a1 settle");

	/* With the mutex held, the worker cannot get at it. */
	scoped_guard(mutex, &kprobe_mutex) {
		site = site_of(probe(test, 'a'));
		KUNIT_EXPECT_EQ(test, site->opt, KPROBE_OPT_LIVE);
		list_move_tail(&site->head.op.list, &revert);
		kprobe_opt_revert(&revert);
		KUNIT_EXPECT_EQ(test, site->opt, KPROBE_OPT_PREPARED);
		kprobe_opt_update(site, NULL);
		KUNIT_EXPECT_EQ(test, site->opt, KPROBE_OPT_QUEUED);

		site->state = KPROBE_SITE_GONE;
		kprobe_opt_update(site, NULL);
		KUNIT_EXPECT_EQ(test, site->opt, KPROBE_OPT_PREPARED);
		KUNIT_EXPECT_EQ(test, site->opt_why, KPROBE_NOOPT_DISARMED);
		KUNIT_EXPECT_TRUE(test, list_empty(&site->head.op.list));
		/* Nothing is left to be cancelled. */
		kprobe_opt_update(site, NULL);
		KUNIT_EXPECT_EQ(test, site->opt, KPROBE_OPT_PREPARED);
		site->state = KPROBE_SITE_ARMED;
		kprobe_opt_update(site, NULL);
	}

	play(test, "settle is:a=live hit:a");
}

static unsigned int slots_in_use(void)
{
	wait_for_kprobe_optimizer();
	kp_flush_slots(&kprobe_optinsn_slots);
	return kprobe_slots_taken(&kprobe_optinsn_slots);
}

/* Slots of sites that are refused, that are not used, and that are. */
static void optimizer_no_slot_leaks(struct kunit *test)
{
	unsigned int before = slots_in_use();
	int i;

	for (i = 0; i < 20; i++)
		play(test, i % 2 ? "+c1p +a1 settle -c settle -a" : "+c1p +a1 settle -c -a");
	KUNIT_EXPECT_EQ(test, slots_in_use(), before);
}

/* What the architecture has once found is found out again after 0 and 1 in the sysctl. */
static void optimizer_examines_again_when_switched_on(struct kunit *test)
{
	play(test, "+a1d");
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_site_of_user(probe(test, 'a'))->head.op.why = KPROBE_NOOPT_UNDECODED;
	play(test, "on:a settle");
	KUNIT_EXPECT_EQ(test, why_of(probe(test, 'a')), KPROBE_NOOPT_UNDECODED);
	play(test, "no-jumps jumps settle is:a=live hit:a");
}

static void *(*real_alloc)(void);
static void *(*real_alloc_near)(unsigned long start);

static void *alloc_nothing(void)
{
	return NULL;
}

static void *alloc_nothing_near(unsigned long start)
{
	return NULL;
}

/* Take all free slots, so that the next one would need a page. */
static unsigned int take_all_slots(struct kunit *test, kprobe_opcode_t **slot, unsigned int max)
{
	unsigned long at = (unsigned long)kp_opt_first;
	unsigned int nr = 0;

	scoped_guard(mutex, &kprobe_optinsn_slots.mutex) {
		real_alloc = kprobe_optinsn_slots.alloc;
		real_alloc_near = kprobe_optinsn_slots.alloc_near;
		kprobe_optinsn_slots.alloc = alloc_nothing;
		kprobe_optinsn_slots.alloc_near = alloc_nothing_near;
	}
	while (nr < max && (slot[nr] = kprobe_slot_get(&kprobe_optinsn_slots, at)))
		nr++;
	KUNIT_EXPECT_LT(test, nr, max);
	return nr;
}

static void give_back_slots(kprobe_opcode_t **slot, unsigned int nr)
{
	scoped_guard(mutex, &kprobe_optinsn_slots.mutex) {
		kprobe_optinsn_slots.alloc = real_alloc;
		kprobe_optinsn_slots.alloc_near = real_alloc_near;
	}
	while (nr)
		free_optinsn_slot(slot[--nr], 0);
}

/* It stays a breakpoint until slots are free again, and some time has passed. */
static void optimizer_does_without_slot(struct kunit *test)
{
	unsigned int max = 4 * PAGE_SIZE / kprobe_optinsn_slots.slot_size, nr;
	kprobe_opcode_t **slot = kp_calloc(test, max, sizeof(*slot));

	slots_in_use();
	/* If an earlier case has started its delay, it would examine the site at any moment. */
	cancel_delayed_work_sync(&kprobe_opt_retry_work);
	nr = take_all_slots(test, slot, max);
	play(test, "+a1 settle is:a=none/no-memory no-flag:a");
	if (IS_ENABLED(CONFIG_DEBUG_FS))
		KUNIT_EXPECT_TRUE(test, file_says(test, "kprobes/sites",
						  " opt=none why=no-memory"));
	play(test, "hit:a");

	give_back_slots(slot, nr);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&kprobe_opt_retry_work));
	mod_delayed_work(system_dfl_wq, &kprobe_opt_retry_work, 0);
	flush_delayed_work(&kprobe_opt_retry_work);
	play(test, "settle is:a=live hit:a");
}

/* It can be probed while it exists, but is not worth a jump. */
static noinline int __init __used notrace kp_opt_in_init_text(void)
{
	KP_PADDING;
	return 0;
}

static void optimizer_leaves_init_text_alone(struct kunit *test)
{
	struct kprobe p = { .symbol_name = "kp_opt_in_init_text" };
	int err = register_kprobe(&p);

	KP_SKIP_IF(test, err == -ENOENT, "the init text has been freed");
	KUNIT_ASSERT_EQ(test, err, 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_of(&p), KPROBE_OPT_NONE);
	KUNIT_EXPECT_EQ(test, why_of(&p), KPROBE_NOOPT_INIT);
	unregister_kprobe(&p);
}

/* If the architecture cannot optimize these functions, there is nothing to test. */
int kp_opt_init(struct kunit *test)
{
	struct kprobe p = { .symbol_name = "kp_opt_first", .pre_handler = kp_nothing_pre };
	u8 why;

	if (register_kprobe(&p))
		return -EINVAL;
	wait_for_kprobe_optimizer();
	why = state_of(&p) == KPROBE_OPT_LIVE ? KPROBE_NOOPT_NONE : why_of(&p);
	unregister_kprobe(&p);
	KP_SKIP_IF(test, why, "the function is not optimized here: %u", why);
	return 0;
}

static int optimizer_init(struct kunit *test)
{
	struct opt_test *t = kp_zalloc(test, sizeof(*t));

	t->scene = (struct kp_scene) {
		.words	= words,
		.symbol	= { "kp_opt_first", "kp_opt_second", "kp_opt_claimed" },
		.fn	= { kp_opt_first, kp_opt_second, kp_opt_claimed },
	};
	test->priv = t;
	return kp_opt_init(test);
}

static void optimizer_exit(struct kunit *test)
{
	struct opt_test *t = test->priv;

	if (!t)
		return;
	if (t->holder)
		let_go(test, &t->scene, NULL);
	kprobe_opt_allow(true);
	kp_scene_end(&t->scene);
	wait_for_kprobe_optimizer();
}

static struct kunit_case optimizer_cases[] = {
	KUNIT_CASE_PARAM(optimizer_script, script_gen_params),
	KUNIT_CASE_PARAM(optimizer_while_waiting, waiting_gen_params),
	KUNIT_CASE(optimizer_waits_for_long_jumps_only),
	KUNIT_CASE(optimizer_moves_are_the_legal_ones),
	KUNIT_CASE(optimizer_jump_in_the_text),
	KUNIT_CASE(optimizer_files_say_so),
	KUNIT_CASE_SLOW(optimizer_addresses_in_files),
	KUNIT_CASE(optimizer_failed_arming),
	KUNIT_CASE(optimizer_failed_neighbour),
#if KPROBES_TEST_HAS_TEXT_POKE
	KUNIT_CASE(optimizer_text_changed_while_waiting),
#endif
	KUNIT_CASE(optimizer_unregister_at_once),
	KUNIT_CASE(optimizer_kills_what_is_queued),
	KUNIT_CASE(optimizer_no_slot_leaks),
	KUNIT_CASE(optimizer_examines_again_when_switched_on),
	KUNIT_CASE(optimizer_does_without_slot),
	KUNIT_CASE(optimizer_leaves_init_text_alone),
	{}
};

KP_SUITE(optimizer_cases, .name = "kprobes_optimizer",
	 .init = optimizer_init, .exit = optimizer_exit);
