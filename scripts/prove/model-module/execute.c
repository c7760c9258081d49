// SPDX-License-Identifier: GPL-2.0-only
/*
 * Executes the operations of a sequence and records their results.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/umh.h>

#include "model.h"

/*
 * Probed functions
 */

int model_text(int v);
int model_inner(int v);
int model_f0(int v);
int model_f1(int v);
int model_f2(int v);
int model_black(int v);

MODEL_TEXT(model_text);
MODEL_TEXT(model_inner);
MODEL_TRACED(model_f0)
MODEL_TRACED(model_f1)
MODEL_TRACED(model_f2)
MODEL_TRACED(model_black)
NOKPROBE_SYMBOL(model_black);

#define CROWD_FN(n)	static MODEL_TRACED(model_crowd_##n)
#define CROWD_TEN(n)							\
	CROWD_FN(n##0) CROWD_FN(n##1) CROWD_FN(n##2) CROWD_FN(n##3)	\
	CROWD_FN(n##4) CROWD_FN(n##5) CROWD_FN(n##6) CROWD_FN(n##7)	\
	CROWD_FN(n##8) CROWD_FN(n##9)
#define CROWD_NAME(n)	model_crowd_##n
#define CROWD_NAMES(n)							\
	CROWD_NAME(n##0), CROWD_NAME(n##1), CROWD_NAME(n##2),		\
	CROWD_NAME(n##3), CROWD_NAME(n##4), CROWD_NAME(n##5),		\
	CROWD_NAME(n##6), CROWD_NAME(n##7), CROWD_NAME(n##8),		\
	CROWD_NAME(n##9)

CROWD_TEN(0) CROWD_TEN(1) CROWD_TEN(2) CROWD_TEN(3)

typedef int (*model_call_t)(int v);

static const model_call_t crowd_fns[MODEL_CROWD] = {
	CROWD_NAMES(0), CROWD_NAMES(1), CROWD_NAMES(2), CROWD_NAMES(3),
};

/* The first instruction after the landing pad and the call to ftrace. */
#define BODY	(ENDBR_INSN_SIZE + MCOUNT_INSN_SIZE)

/* For each target, its symbol, the offset of the instruction, 0 for an entry, and the function. */
static const struct {
	const char	*symbol;
	unsigned int	offset;
	enum model_fn	fn;
} model_targets[NR_WHERE] = {
	[T_TEXT]	= { "model_text", 0, FN_TEXT },
	[T_TEXT_NEXT]	= { "model_text", TEXT_NEXT, FN_TEXT },
	[T_TEXT_TWO]	= { "model_text", TEXT_TWO, FN_TEXT },
	[T_TEXT_FAR]	= { "model_text", TEXT_FAR, FN_TEXT },
	[T_INNER]	= { "model_inner", 0, FN_INNER },
	[T_F0]		= { "model_f0", 0, FN_F0 },
	[T_F0_BODY]	= { "model_f0", BODY, FN_F0 },
	[T_F1]		= { "model_f1", 0, FN_F1 },
	[T_F2]		= { "model_f2", 0, FN_F2 },
	[T_M_TEXT]	= { "model_m_text", 0, FN_M_TEXT },
	[T_M_FAR]	= { "model_m_text", TEXT_FAR, FN_M_TEXT },
	[T_M_TRACED]	= { "model_m_traced", 0, FN_M_TRACED },
	[T_BLACK]	= { "model_black", 0, FN_CROWD },
	[T_SPLIT]	= { "model_text", TEXT_SPLIT, FN_TEXT },
	[T_UNKNOWN]	= { "model_does_not_exist", 0, FN_CROWD },
	[T_NOWHERE]	= { NULL, 0, FN_CROWD },
};

/* The module that comes and goes. */
static const struct model_coming *coming;
static DECLARE_RWSEM(coming_sem);

void kprobe_model_coming(const struct model_coming *c)
{
	guard(rwsem_write)(&coming_sem);
	coming = c;
}
EXPORT_SYMBOL_GPL(kprobe_model_coming);

static model_call_t function(enum model_fn fn)
{
	static const model_call_t fns[] = {
		[FN_TEXT]	= model_text,
		[FN_INNER]	= model_inner,
		[FN_F0]		= model_f0,
		[FN_F1]		= model_f1,
		[FN_F2]		= model_f2,
	};

	if (fn < ARRAY_SIZE(fns))
		return fns[fn];
	if (!coming)
		return NULL;
	return fn == FN_M_TEXT ? coming->text : coming->traced;
}

unsigned long model_target_addr(enum model_where t)
{
	unsigned long start;

	if (t == T_BLACK)
		return (unsigned long)model_black;
	if (t == T_NOWHERE)
		return 0x1000;
	if (t == T_UNKNOWN)
		return 0;
	start = (unsigned long)function(model_targets[t].fn);
	return start ? start + (model_targets[t].offset ?: ENDBR_INSN_SIZE) : 0;
}

/*
 * Probes and their handlers
 */

struct model_probe model_probes[MODEL_PROBES];

static struct kprobe crowd[MODEL_CROWD];
static atomic_t crowd_hits[MODEL_SLOTS], crowd_posts[MODEL_SLOTS];
static struct task_struct *slot_tasks[MODEL_SLOTS];

void model_slot_set(unsigned int slot, struct task_struct *task)
{
	WRITE_ONCE(slot_tasks[slot], task);
}

/* Which thread called the probed function; the last slot is for the checks. */
static unsigned int this_slot(void)
{
	unsigned int i;

	for (i = 0; i < MODEL_THREADS; i++) {
		if (READ_ONCE(slot_tasks[i]) == current)
			return i;
	}
	return MODEL_THREADS;
}

static struct model_probe *of_kprobe(struct kprobe *kp)
{
	return container_of(kp, struct model_probe, rp.kp);
}

static void enter(struct model_probe *p)
{
	atomic_inc(&p->running);
	/* Long enough for another thread to unregister it meanwhile. */
	if (p < model_probes + MODEL_SHARED)
		udelay(20);
}

static void leave(struct model_probe *p)
{
	atomic_dec(&p->running);
}

static int model_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct model_probe *p = of_kprobe(kp);

	enter(p);
	p->hits[this_slot()]++;
	if (p->variant & V_NEST)
		model_inner(1);
	leave(p);
	return 0;
}

static void model_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct model_probe *p = of_kprobe(kp);

	enter(p);
	p->posts[this_slot()]++;
	leave(p);
}

static int model_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	return 0;
}

static int model_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);
	struct model_probe *p;

	if (!rp)
		return 1;
	p = container_of(rp, struct model_probe, rp);
	p->posts[this_slot()]++;
	return !!(p->variant & V_SKIP);
}

/* get_kretprobe() returns NULL as soon as unregistering begins. */
static int model_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);
	struct model_probe *p;

	if (!rp)
		return 0;
	p = container_of(rp, struct model_probe, rp);
	enter(p);
	p->hits[this_slot()]++;
	leave(p);
	return 0;
}

static int crowd_pre(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_inc(&crowd_hits[this_slot()]);
	return 0;
}

static void crowd_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	atomic_inc(&crowd_posts[this_slot()]);
}

/* Only for a structure that is not registered and that no other thread uses. */
void model_fill(unsigned int nr, u8 where, u8 variant)
{
	struct model_probe *p = &model_probes[nr];
	struct kprobe *kp = &p->rp.kp;

	memset(&p->rp, 0, sizeof(p->rp));
	INIT_LIST_HEAD(&kp->list);
	p->where = where;
	p->variant = variant;

	if (variant & (V_SYMBOL | V_BOTH)) {
		kp->symbol_name = model_targets[where].symbol;
		kp->offset = model_targets[where].offset;
	}
	if (variant & V_BOTH || !(variant & V_SYMBOL))
		kp->addr = (void *)model_target_addr(where);
	if (variant & V_OFF)
		kp->flags = KPROBE_FLAG_DISABLED;

	if (nr >= MODEL_KPROBES) {
		p->rp.handler = model_return;
		if (variant & (V_ENTRY | V_SKIP))
			p->rp.entry_handler = model_entry;
		p->rp.data_size = variant & V_BIG ? KRETPROBE_MAX_DATA_SIZE + 1 : 8;
		return;
	}
	if (!(variant & V_NO_PRE))
		kp->pre_handler = model_pre;
	if (variant & V_POST)
		kp->post_handler = model_post;
	if (variant & V_FAULT)
		kp->fault_handler = model_fault;
}

/*
 * Allocations that fail
 */

#ifdef CONFIG_FAULT_INJECTION
static void fail_begin(unsigned int nth)
{
	WRITE_ONCE(current->fail_nth, nth);
}

static bool fail_end(unsigned int nth)
{
	bool failed = nth && !READ_ONCE(current->fail_nth);

	WRITE_ONCE(current->fail_nth, 0);
	return failed;
}
#else
static void fail_begin(unsigned int nth)
{
}

static bool fail_end(unsigned int nth)
{
	return false;
}
#endif

/*
 * Other users of ftrace
 */

static void notrace look_on(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			    struct ftrace_regs *fregs)
{
}

/* Claims on functions, like those of livepatch. */
static struct ftrace_ops claims[NR_SITES];
static bool claimed[NR_SITES];

static int claim(enum model_where t)
{
	struct ftrace_ops *ops = &claims[t];
	int ret;

	if (claimed[t])
		return -EEXIST;
	ops->func = look_on;
	ops->flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY;
	ret = ftrace_set_filter_ip(ops, model_target_addr(t), 0, 0);
	if (ret)
		return ret;
	ret = register_ftrace_function(ops);
	if (ret) {
		ftrace_free_filter(ops);
		memset(ops, 0, sizeof(*ops));
	}
	claimed[t] = !ret;
	return ret;
}

static int release(enum model_where t)
{
	struct ftrace_ops *ops = &claims[t];
	int ret;

	if (!claimed[t])
		return -ENOENT;
	ret = unregister_ftrace_function(ops);
	ftrace_free_filter(ops);
	memset(ops, 0, sizeof(*ops));
	claimed[t] = false;
	return ret;
}

/*
 * Each change of the text synchronizes all CPUs a few times, whatever the number of its sites,
 * so this shows whether sites are armed in batches. A thread's count does not include what
 * others do, such as the optimizer.
 */
static unsigned int syncs[MODEL_THREADS];

static void notrace count_sync(unsigned long ip, unsigned long parent,
			       struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	unsigned int slot = this_slot();

	/* Another CPU may have interrupted the thread in order to synchronize. */
	if (slot < MODEL_THREADS && !in_hardirq())
		syncs[slot]++;
}

static struct ftrace_ops sync_ops = { .func = count_sync };

/*
 * Changes of the text call it on each CPU, the CPU of the caller included. No operation changes
 * its ftrace_ops. TLB flushes are not counted: ftrace has some for each trampoline it allocates.
 */
#define SYNC_FUNCTION	"do_sync_core"

static int helper(char *program, char *arg)
{
	char *argv[] = { program, arg, NULL };
	char *envp[] = { "PATH=/bin", NULL };

	return call_usermodehelper(program, argv, envp, UMH_WAIT_PROC) ? -EIO : 0;
}

static int load(void)
{
	return helper("/bin/insmod", "/bin/kprobe_model_target.ko");
}

static int unload(void)
{
	return helper("/bin/rmmod", "kprobe_model_target");
}

/*
 * Operations
 */

/* Fills in structures; only their owner does so. */
static void take_items(struct model_op *op, struct kprobe **kps)
{
	u32 seen = 0;
	int i;

	for (i = 0; i < op->n; i++) {
		struct model_item *item = &op->item[i];
		struct model_probe *p;

		kps[i] = NULL;
		if (item->probe == MODEL_NO_PROBE)
			continue;
		p = &model_probes[item->probe];
		item->fresh &= op->kind == OP_REGISTER && !p->up && !(seen & BIT(item->probe));
		if (item->fresh)
			model_fill(item->probe, item->where, item->variant);
		seen |= BIT(item->probe);
		item->where = p->where;
		item->variant = p->variant;
		kps[i] = &p->rp.kp;
	}
}

/* @kps also is an array of return probes, as kp is their first member. */
static int register_items(struct model_op *op, struct kprobe **kps)
{
	struct kretprobe **rps = (struct kretprobe **)kps;
	int ret, i;

	if (op->batch)
		ret = op->returns ? register_kretprobes(rps, op->n) :
				register_kprobes(kps, op->n);
	else
		ret = op->returns ? register_kretprobe(rps[0]) : register_kprobe(kps[0]);
	for (i = 0; i < op->n && !ret; i++)
		of_kprobe(kps[i])->up = true;
	return ret;
}

/* Records whether a structure is still in use after the call. */
static void unregister_items(struct model_op *op, struct kprobe **kps)
{
	struct kretprobe **rps = (struct kretprobe **)kps;
	int i;

	if (op->batch && op->returns)
		unregister_kretprobes(rps, op->n);
	else if (op->batch)
		unregister_kprobes(kps, op->n);
	else if (op->returns)
		unregister_kretprobe(rps[0]);
	else
		unregister_kprobe(kps[0]);

	for (i = 0; i < op->n; i++) {
		struct model_probe *p = kps[i] ? of_kprobe(kps[i]) : NULL;

		if (!p)
			continue;
		op->item[i].linked = !list_empty(&kps[i]->list);
		op->item[i].running = atomic_read(&p->running);
		p->up = false;
	}
}

static int call_crowd(struct model_op *op, unsigned int slot)
{
	unsigned int hits = atomic_read(&crowd_hits[slot]);
	unsigned int posts = atomic_read(&crowd_posts[slot]);
	int i, wrong = 0;

	for (i = 0; i < MODEL_CROWD; i++) {
		model_call_t fn = READ_ONCE(crowd_fns[i]);

		wrong += fn(i) != MODEL_RESULT(i);
	}
	op->hits[MODEL_PROBES] = atomic_read(&crowd_hits[slot]) - hits;
	op->posts[MODEL_PROBES] = atomic_read(&crowd_posts[slot]) - posts;
	return wrong ? -EIO : 0;
}

static int call_one(struct model_op *op, unsigned int slot)
{
	unsigned int hits[MODEL_PROBES], posts[MODEL_PROBES];
	model_call_t fn;
	int i, ret;

	guard(rwsem_read)(&coming_sem);
	fn = function(op->arg);
	if (!fn)
		return -ENODEV;

	for (i = 0; i < MODEL_PROBES; i++) {
		hits[i] = model_probes[i].hits[slot];
		posts[i] = model_probes[i].posts[slot];
	}
	ret = fn(slot) == MODEL_RESULT(slot) ? 0 : -EIO;
	for (i = 0; i < MODEL_PROBES; i++) {
		op->hits[i] = model_probes[i].hits[slot] - hits[i];
		op->posts[i] = model_probes[i].posts[slot] - posts[i];
	}
	return ret;
}

static int call(struct model_op *op, unsigned int slot)
{
	return op->arg == FN_CROWD ? call_crowd(op, slot) : call_one(op, slot);
}

static struct kprobe *crowd_kps[MODEL_CROWD];

static int register_crowd(bool post)
{
	int i;

	for (i = 0; i < MODEL_CROWD; i++) {
		/* Registered already, which is an error that the model expects. */
		if (!list_empty(&crowd[i].list))
			continue;
		crowd[i] = (struct kprobe) {
			.addr = (void *)crowd_fns[i],
			.pre_handler = crowd_pre,
			.post_handler = post ? crowd_post : NULL,
		};
		INIT_LIST_HEAD(&crowd[i].list);
	}
	return register_kprobes(crowd_kps, MODEL_CROWD);
}

static int do_op(struct model_op *op, struct kprobe **kps)
{
	switch (op->kind) {
	case OP_REGISTER:
		return register_items(op, kps);
	case OP_UNREGISTER:
		unregister_items(op, kps);
		return 0;
	case OP_ENABLE:
		return enable_kprobe(kps[0]);
	case OP_DISABLE:
		return disable_kprobe(kps[0]);
	case OP_SWITCH:
		return model_write(false, op->arg, op->thread);
	case OP_SYSCTL:
		return model_write(true, op->arg, op->thread);
	case OP_CLAIM:
		return claim(op->arg);
	case OP_RELEASE:
		return release(op->arg);
	case OP_LOAD:
		return load();
	case OP_UNLOAD:
		return unload();
	case OP_CALL:
		return call(op, op->thread);
	case OP_CROWD:
		return register_crowd(op->arg);
	case OP_UNCROWD:
		unregister_kprobes(crowd_kps, MODEL_CROWD);
		return 0;
	default:
		return -EINVAL;
	}
}

/* Orders the operations of all threads. */
static atomic64_t model_clock;

void model_execute(struct model_op *op)
{
	struct kprobe *kps[MODEL_BATCH];
	unsigned int before = syncs[op->thread];

	take_items(op, kps);
	op->begin = atomic64_inc_return(&model_clock);
	fail_begin(op->fail);
	op->err = do_op(op, kps);
	op->failed = fail_end(op->fail);
	op->end = atomic64_inc_return(&model_clock);
	op->syncs = syncs[op->thread] - before;
}

/* A call of a function, or a claim that is released again. */
void model_check(struct model_op *check, unsigned int slot)
{
	if (check->kind == OP_CALL) {
		check->err = call(check, slot);
		return;
	}
	check->err = claim(check->arg);
	if (!check->err)
		release(check->arg);
}

/* Undoes whatever a sequence has left. */
void model_take_back(void)
{
	int i;

	for (i = 0; i < MODEL_PROBES; i++) {
		if (i >= MODEL_KPROBES)
			unregister_kretprobe(&model_probes[i].rp);
		else
			unregister_kprobe(&model_probes[i].rp.kp);
		model_probes[i].up = false;
	}
	unregister_kprobes(crowd_kps, MODEL_CROWD);
	for (i = 0; i < NR_SITES; i++)
		release(i);
	if (READ_ONCE(coming))
		unload();
}

int model_execute_init(void)
{
	int i, ret;

	for (i = 0; i < MODEL_CROWD; i++) {
		INIT_LIST_HEAD(&crowd[i].list);
		crowd_kps[i] = &crowd[i];
	}
	for (i = 0; i < MODEL_PROBES; i++)
		model_fill(i, T_TEXT, 0);
	for (i = 0; i < NR_SITES; i++)
		pr_info("target %d %s+%#x\n", i, model_targets[i].symbol,
			model_targets[i].offset ?: (int)ENDBR_INSN_SIZE);

	ret = ftrace_set_filter(&sync_ops, SYNC_FUNCTION, strlen(SYNC_FUNCTION), 1);
	return ret ?: register_ftrace_function(&sync_ops);
}

void model_execute_exit(void)
{
	unregister_ftrace_function(&sync_ops);
	ftrace_free_filter(&sync_ops);
}
