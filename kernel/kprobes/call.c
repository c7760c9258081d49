// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of the API that use structures of their users after they have dropped
 * kprobe_mutex. While they do, another call on the same structure has to wait, or
 * is refused. A claimed structure names its call in a field that nothing else
 * uses.
 */

#include <linux/wait.h>

#include "call.h"

/* Oldest first; kprobe_mutex. */
static LIST_HEAD(calls);
static u64 calls_begun;

/* All calls with lower numbers have ended. Changed under kprobe_mutex. */
static atomic64_t oldest_call = ATOMIC64_INIT(1);
static DECLARE_WAIT_QUEUE_HEAD(call_ended);

/**
 * kprobe_call_claim() - a call begins to use a structure
 * @call: the call
 * @p: the structure; if another call uses it, this one waits for the other's end
 *
 * Context: kprobe_mutex held.
 */
void kprobe_call_claim(struct kprobe_call *call, struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);

	if (!call->nr) {
		call->nr = ++calls_begun;
		list_add_tail(&call->list, &calls);
	}
	p->call = call;
}

/**
 * kprobe_call_of() - find the call that uses a structure
 * @p: the structure, which may hold anything
 *
 * Context: kprobe_mutex held.
 * Return: the call, or NULL.
 */
struct kprobe_call *kprobe_call_of(const struct kprobe *p)
{
	struct kprobe_call *call;

	lockdep_assert_held(&kprobe_mutex);

	list_for_each_entry(call, &calls, list) {
		if (p->call == call)
			return call;
	}
	return NULL;
}

/**
 * kprobe_call_end() - a call has no more use for its structures
 * @call: the call, which has claimed at least one
 * @kps: structures that it may have claimed
 * @num: how many
 *
 * Context: kprobe_mutex held.
 */
void kprobe_call_end(struct kprobe_call *call, struct kprobe **kps, int num)
{
	struct kprobe_call *oldest;
	int i;

	lockdep_assert_held(&kprobe_mutex);

	for (i = 0; i < num; i++) {
		if (kps[i] && kps[i]->call == call)
			kps[i]->call = NULL;
	}

	list_del(&call->list);
	oldest = list_first_entry_or_null(&calls, struct kprobe_call, list);
	/* Pairs with kprobe_call_wait(): the structures are no longer touched. */
	atomic64_set_release(&oldest_call, oldest ? oldest->nr : calls_begun + 1);
	wake_up_all(&call_ended);
}

/**
 * kprobe_call_wait() - wait until calls have ended
 * @last: number of the last of these calls; 0 for none
 *
 * A call waits only for calls that are older, so they cannot wait for each other.
 *
 * Context: process context, sleeps; kprobe_mutex not held.
 */
void kprobe_call_wait(u64 last)
{
	/* Pairs with kprobe_call_end(). */
	wait_event(call_ended, atomic64_read_acquire(&oldest_call) > last);
}
