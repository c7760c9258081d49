/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_SITE_H
#define _KERNEL_KPROBES_SITE_H

#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/rbtree.h>

#include "address.h"
#include "lock.h"
#include "refusal.h"

/**
 * DOC: kprobes sites
 *
 * A *site* is one probed address. It records the state of the text there, and embeds the
 * struct kprobe that architectures see, in a struct kprobe_head, to which the table points.
 * The probes that users register are entries on the list of a site.
 *
 * States of a site::
 *
 *             published          armed
 *      NEW ------------> READY <========> ARMED
 *       |                 |  |  disarmed    |
 *       | undone          |  +----> GONE <--+  the code is freed
 *       v                 v          |
 *      DEAD <------------------------+         last user left, drained
 *
 * All sites are in the tree, DEAD ones for as long as a task may be in their detour. READY and
 * ARMED sites are also in the table where hits find them, and GONE sites for one more grace period.
 * A READY site without users drains: it stays findable until every CPU that may have trapped on
 * it is done. A user that comes in the meantime takes it over.
 */
enum kprobe_site_state {
	KPROBE_SITE_NEW,
	KPROBE_SITE_READY,
	KPROBE_SITE_ARMED,
	/* From here on, the text has nothing of the site. */
	KPROBE_SITE_GONE,
	KPROBE_SITE_DEAD,
	NR_KPROBE_SITE_STATES,
} __packed;

/* State of a site's jump; optimizer.c has the transitions. Packed: each probed address has one. */
enum kprobe_opt_state {
	KPROBE_OPT_NONE,
	KPROBE_OPT_PREPARED,
	KPROBE_OPT_QUEUED,
	KPROBE_OPT_WAITING,
	KPROBE_OPT_LIVE,
	KPROBE_OPT_RECLAIMING,
	NR_KPROBE_OPT_STATES,
} __packed;

/* In kprobe_site.opt_until. */
#define KPROBE_OPT_FOREVER	U32_MAX

struct kprobe_ftrace_ops;

/*
 * One probed address. All changes need kprobe_mutex. Hits read @head and what is marked as such
 * without it.
 */
struct kprobe_site {
	struct list_head		users;		/* all users, newest first; hits read it */
	unsigned int			nr_enabled;	/* users that are not disabled */
#ifdef CONFIG_OPTPROBES
	/*
	 * The number of the grace period of tasks-RCU whose end shows that the detour is empty, see
	 * tasks_begun. It counts only while hits do not enter the detour. 0: no hit ever did;
	 * KPROBE_OPT_FOREVER: the jump cannot be removed.
	 */
	u32				opt_until;
#endif
	enum kprobe_site_state		state;		/* only kprobe_site_move() changes it */
	enum kprobe_site_kind		kind;		/* never changes */
	enum kprobe_opt_state		opt;		/* only opt_move() changes it */
	/* Why there is no jump, enum kprobe_noopt. */
	u8				opt_why;
	/* Why the architecture refuses it, enum kprobe_refusal. */
	u8				refusal;
	/* A return trampoline, whose handler does not need RCU; never changes. */
	bool				trampoline;
	/* The architecture has resources for head.kp. */
	bool				prepared : 1;
	/*
	 * A move is not complete: @ftrace is another ops, but the address is still in the filter
	 * of kprobe_ftrace_shared.
	 */
	bool				in_shared : 1;
	kprobe_opcode_t			saved;		/* the text before preparation */
	/*
	 * The ops whose calls count, or NULL; with KPROBE_FTRACE_MOVES while that changes; hits
	 * read it.
	 */
	struct kprobe_ftrace_ops	*ftrace;
	union {
		struct rb_node		node;		/* in the tree of sites */
		struct rcu_head		rcu;		/* once out of the tree, until freed */
	};
	/* What architectures and hit paths see. Last, as it is shorter at sites of ftrace. */
	struct kprobe_head		head;
};

/*
 * Private bits of kprobe.flags, far from the public ones. Architectures see more of them:
 * KPROBE_FLAG_DETOUR, KPROBE_FLAG_JUMP and KPROBE_FLAG_BOOSTED, bits 29 to 27.
 */
#define KPROBE_FLAG_SITE	BIT(31)	/* embedded in a struct kprobe_site */

/* The handlers of a site's own probe; documented at their definitions. */
int kprobe_site_pre_users(struct kprobe *kp, struct pt_regs *regs);
void kprobe_site_post_users(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);

/* The hit paths of <linux/kprobes-breakpoint.h> ask whether RCU watches. Others do not. */
#ifdef KPROBE_MAX_NESTING
#define KPROBE_SITE_PRE		kprobe_site_pre_users
#define KPROBE_SITE_POST	kprobe_site_post_users
#else
#define KPROBE_SITE_PRE		kprobe_site_pre_handler
#define KPROBE_SITE_POST	kprobe_site_post_handler
#endif

static nokprobe_inline struct kprobe_site *kprobe_to_site(struct kprobe *kp)
{
	return container_of(kp, struct kprobe_site, head.kp);
}

/* Its address tells kretprobes from other probes. hit_stack.c and hit_rethook.c define it. */
int kretprobe_pre_handler(struct kprobe *p, struct pt_regs *regs);

static inline bool is_kretprobe(const struct kprobe *p)
{
	return IS_ENABLED(CONFIG_KRETPROBES) && p->pre_handler == kretprobe_pre_handler;
}

/* Calls that were not followed for lack of instances. */
static inline unsigned int kretprobe_missed(const struct kprobe *p)
{
	return is_kretprobe(p) ? container_of(p, struct kretprobe, kp)->nmissed : 0;
}

static inline void kretprobe_set_missed(struct kprobe *p, unsigned int missed)
{
	if (is_kretprobe(p))
		container_of(p, struct kretprobe, kp)->nmissed = missed;
}

static inline unsigned long kprobe_site_addr(const struct kprobe_site *site)
{
	return (unsigned long)site->head.kp.addr;
}

/* Flags are read without kprobe_mutex by hit paths and tracers. */
static inline void kprobe_publish_flag(struct kprobe *p, u32 flag, bool on)
{
	lockdep_assert_held(&kprobe_mutex);
	WRITE_ONCE(p->flags, on ? p->flags | flag : p->flags & ~flag);
}

void kprobe_site_init(void);

bool kprobe_site_may_move(enum kprobe_site_state from, enum kprobe_site_state to);
void kprobe_site_move(struct kprobe_site *site, enum kprobe_site_state to);

struct kprobe_site *kprobe_site_alloc(unsigned long addr, enum kprobe_site_kind kind);
struct kprobe_site *kprobe_site_create(unsigned long addr, enum kprobe_site_kind kind);
void kprobe_site_release(struct kprobe_site *site);
void kprobe_site_remove(struct kprobe_site *site);
void kprobe_site_free(struct kprobe_site *site);

struct kprobe_site *kprobe_site_at(unsigned long addr);
struct kprobe_site *kprobe_site_from(unsigned long addr);
struct kprobe_site *kprobe_site_next(struct kprobe_site *site);
struct kprobe_site *kprobe_site_of_user(struct kprobe *p);
void kprobe_sites_unlink(struct list_head *kps);

#define __for_each_kprobe_site(site, first, cond)			\
	for ((site) = (first); (site) && (cond); (site) = kprobe_site_next(site))

/* All sites, by address. */
#define for_each_kprobe_site(site)					\
	__for_each_kprobe_site(site, kprobe_site_from(0), true)

/* Those from an address up to, but not including, another. */
#define for_each_kprobe_site_in(site, start, end)			\
	__for_each_kprobe_site(site, kprobe_site_from(start),		\
			       kprobe_site_addr(site) < (end))

void kprobe_site_add_user(struct kprobe_site *site, struct kprobe *p);
void kprobe_site_del_user(struct kprobe_site *site, struct kprobe *p);
bool kprobe_site_has_post(const struct kprobe_site *site);
bool kprobe_site_has_fault(const struct kprobe_site *site);
void kprobe_site_enable_user(struct kprobe_site *site, struct kprobe *p, bool on);

#endif /* _KERNEL_KPROBES_SITE_H */
