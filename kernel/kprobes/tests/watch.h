/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes that record their hits, for suites of hits.
 */
#ifndef _KERNEL_KPROBES_TESTS_WATCH_H
#define _KERNEL_KPROBES_TESTS_WATCH_H

#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/kprobes.h>
#include <linux/kprobes-test.h>

#include "../copy.h"

struct kunit;
struct kunit_suite;

/**
 * struct kp_watch - a probe that records its hits
 * @kp: the probe
 * @pre: calls of kp_watch_pre()
 * @post: calls of kp_watch_post()
 * @faults: calls of kp_watch_fault()
 * @ip: the instruction pointer that the last pre handler saw
 * @post_ip: that of the last post handler
 * @trapnr: what the last fault handler was called for
 * @trapped: whether the last hit was in the context of an NMI, as a breakpoint of x86 is
 */
struct kp_watch {
	struct kprobe	kp;
	atomic_t	pre, post, faults;
	unsigned long	ip;
	unsigned long	post_ip;
	int		trapnr;
	bool		trapped;
};

/* The function in which kprobe_opt_wait_for_tasks() waits. */
#ifdef CONFIG_TASKS_RCU
#define KP_WAITS_FOR_TASKS	"synchronize_rcu_tasks"
#else
#define KP_WAITS_FOR_TASKS	"synchronize_rcu"
#endif

/* Its initializers: with a pre handler, a post handler, or both. */
#define KP_WATCH(at)		{ .kp = { .addr = (void *)(at), .pre_handler = kp_watch_pre } }
#define KP_WATCH_POST(at)	{ .kp = { .addr = (void *)(at), .post_handler = kp_watch_post } }
#define KP_WATCH_BOTH(at)						\
	{ .kp = { .addr = (void *)(at), .pre_handler = kp_watch_pre,	\
		  .post_handler = kp_watch_post } }

#define KP_WATCH_BY_NAME(symbol)					\
	{ .kp = { .symbol_name = (symbol), .pre_handler = kp_watch_pre } }

/* How the instruction under the breakpoint at an address is executed. */
static inline const char *kp_mode(void *addr)
{
	guard(kprobe_test)();

	return kprobe_mode(get_kprobe(addr));
}

/*
 * A probe that a case registers is unregistered when the case ends, however it ends, if it has
 * not been before. So its memory is not on the stack.
 */
int kp_add(struct kunit *test, struct kprobe *p);
int kp_add_return(struct kunit *test, struct kretprobe *rp);

#define KP_ADD(test, p)		KUNIT_ASSERT_EQ(test, kp_add(test, p), 0)
#define KP_ADD_RETURN(test, rp)	KUNIT_ASSERT_EQ(test, kp_add_return(test, rp), 0)

/* The same with memory of the case, initialized as a struct kprobe would be. */
struct kprobe *kp_add_copy(struct kunit *test, const struct kprobe *p);
struct kretprobe *kp_add_return_copy(struct kunit *test, const struct kretprobe *rp);
struct kp_watch *kp_add_watch(struct kunit *test, const struct kprobe *p);

#define KP_PROBE(test, ...)	kp_add_copy(test, &(const struct kprobe) { __VA_ARGS__ })
#define KP_RETURN_PROBE(test, ...)					\
	kp_add_return_copy(test, &(const struct kretprobe) { __VA_ARGS__ })
/* One that records its hits; @post: has it a post handler? */
#define KP_WATCHED(test, post, ...)					\
	kp_add_watch(test, &(const struct kprobe) {			\
		.pre_handler = kp_watch_pre,				\
		.post_handler = (post) ? kp_watch_post : NULL,		\
		__VA_ARGS__						\
	})

/* Memory of the case, which ends if there is none. */
void *kp_zalloc(struct kunit *test, size_t size);
void *kp_calloc(struct kunit *test, size_t n, size_t size);

/* The end of a thread that kthread_stop() is called for, and that returns 0. */
int kp_await_stop(void);

/* Waits until no slot is dirty. */
struct kprobe_slot_cache;
void kp_flush_slots(struct kprobe_slot_cache *cache);

int kp_watch_pre(struct kprobe *p, struct pt_regs *regs);
void kp_watch_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags);
int kp_watch_fault(struct kprobe *p, struct pt_regs *regs, int trapnr);
int kp_nothing_pre(struct kprobe *p, struct pt_regs *regs);
void kp_nothing_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags);

/*
 * NMIs that a CPU raises for itself, where the architecture has them: kp_nmi_begin() returns
 * whether kp_nmi_raise() can be used, up to kp_nmi_end(). It need not wait for the NMI. A task
 * calls kp_nmi_ready() before, on the same CPU.
 */
bool kp_nmi_begin(void);
void kp_nmi_ready(void);
void kp_nmi_raise(void (*fn)(void *arg), void *arg);
void kp_nmi_end(void);

/* Hits have to come through breakpoints, not through jumps. */
int kp_without_jumps(struct kunit_suite *suite);
void kp_with_jumps(struct kunit_suite *suite);
void kp_allow_jumps(struct kunit *test);

#endif /* _KERNEL_KPROBES_TESTS_WATCH_H */
