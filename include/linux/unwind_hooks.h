/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Return addresses that were replaced, for unwinders.
 *
 * Function graph tracing, rethook and return probes replace return addresses, and each
 * keeps the real ones of a task in a list of its own, newest first. All three may have
 * replaced the same address, in any order, and each of them more than once.
 */
#ifndef _LINUX_UNWIND_HOOKS_H
#define _LINUX_UNWIND_HOOKS_H

#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/rethook.h>

/**
 * struct unwind_hooks - positions in the lists of a task
 * @graph: position in the list of function graph tracing
 * @rethook: position in the list of rethook, NULL at first
 * @kretprobe: position in the list of return probes, NULL at first
 */
struct unwind_hooks {
	int			graph;
	struct llist_node	*rethook;
	struct llist_node	*kretprobe;
};

/* More replacements than this at one return address mean a loop. */
#define UNWIND_MAX_HOOKS	32

#ifdef CONFIG_RETHOOK
static inline bool unwind_is_rethook(unsigned long addr)
{
	return is_rethook_trampoline(addr);
}

static inline unsigned long unwind_rethook(struct task_struct *task,
					   struct unwind_hooks *hooks, void *fp)
{
	return rethook_find_ret_addr(task, (unsigned long)fp, &hooks->rethook);
}
#else
static inline bool unwind_is_rethook(unsigned long addr) { return false; }

static inline unsigned long unwind_rethook(struct task_struct *task,
					   struct unwind_hooks *hooks, void *fp)
{
	return 0;
}
#endif

/* Return probes on rethook have been handled as such. */
#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
static inline bool unwind_is_kretprobe(unsigned long addr)
{
	return is_kretprobe_trampoline(addr);
}
#else
static inline bool unwind_is_kretprobe(unsigned long addr) { return false; }
#endif

/**
 * unwind_recover_hooks() - find the real return address of a frame
 * @task: the task; it is current or does not run
 * @hooks: positions after the newer frames of @task; zero before the first frame
 * @addr: return address of the frame, which may have been replaced
 * @retp: location of the return address, as function graph tracing stores it
 * @fp: the frame, as rethook and return probes store it
 * @error: set to true if the hooks form a loop
 *
 * Context: any.
 * Return: the real address; 0 if one of the lists does not have it.
 */
static inline
unsigned long unwind_recover_hooks(struct task_struct *task, struct unwind_hooks *hooks,
				   unsigned long addr, unsigned long *retp, void *fp,
				   bool *error)
{
	unsigned long next;
	int i;

	for (i = 0; i < UNWIND_MAX_HOOKS; i++) {
		next = ftrace_graph_ret_addr(task, &hooks->graph, addr, retp);
		if (next == addr && unwind_is_rethook(addr))
			next = unwind_rethook(task, hooks, fp);
		else if (next == addr && unwind_is_kretprobe(addr))
			next = kretprobe_find_ret_addr(task, fp, &hooks->kretprobe);
		if (next == addr)
			return addr;
		addr = next;
	}

	*error = true;
	return addr;
}

/**
 * unwind_peek_hooks() - unwind_recover_hooks() outside of an ordered walk
 * @task: the task; it is current or does not run
 * @addr: a word of its stack, which may be a return address
 * @retp: as for unwind_recover_hooks()
 * @fp: as for unwind_recover_hooks()
 *
 * Context: any.
 * Return: the real address; @addr if it is none, or if it is in no list.
 */
static inline
unsigned long unwind_peek_hooks(struct task_struct *task, unsigned long addr,
				unsigned long *retp, void *fp)
{
	struct unwind_hooks hooks = {};
	bool error = false;

	return unwind_recover_hooks(task, &hooks, addr, retp, fp, &error) ?: addr;
}

#endif /* _LINUX_UNWIND_HOOKS_H */
