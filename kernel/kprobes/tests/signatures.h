/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Callbacks of the suites whose parameters have changed over time, and how else the hooks
 * of returns differ between kernels. Another kernel needs another version of this file, and
 * no other change.
 */
#ifndef _KERNEL_KPROBES_TESTS_SIGNATURES_H
#define _KERNEL_KPROBES_TESTS_SIGNATURES_H

/* A generator of parameters of test cases, which sees @prev and @desc. */
#define KP_GENERATOR(name)						\
	const void *name(struct kunit *test, const void *prev, char *desc)

/* Calls one from another generator. */
#define KP_GENERATE(name, prev, desc)					\
	name(test, prev, desc)

/* The handlers of an fprobe, which see the address of the function as @ip. */
#define KP_FPROBE_ENTRY(name)						\
	int name(struct fprobe *fp, unsigned long ip, unsigned long ret_ip, \
		 struct ftrace_regs *fregs, void *data)
#define KP_FPROBE_EXIT(name)						\
	void name(struct fprobe *fp, unsigned long ip, unsigned long ret_ip, \
		  struct ftrace_regs *fregs, void *data)

/* An fprobe diverts returns by the function graph tracer, and not by a rethook. */
#define KP_FPROBE_IS_GRAPH	true

/* The handlers of the function graph tracer. */
#define KP_GRAPH_ENTRY(name)						\
	int name(struct ftrace_graph_ent *ent, struct fgraph_ops *ops,	\
		 struct ftrace_regs *fregs)
#define KP_GRAPH_RETURN(name)						\
	void name(struct ftrace_graph_ret *ret, struct fgraph_ops *ops,	\
		  struct ftrace_regs *fregs)

/* What ftrace asks a direct call when another user wants to change where a function continues. */
#define KP_OPS_FUNC(name)						\
	int name(struct ftrace_ops *ops, unsigned long ip, enum ftrace_ops_cmd cmd)

#endif /* _KERNEL_KPROBES_TESTS_SIGNATURES_H */
