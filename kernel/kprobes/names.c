// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of states, reasons and causes, as debugfs and messages show them. Tools
 * parse them: names are added, not changed.
 */

#include "names.h"

static const char * const site_state_names[NR_KPROBE_SITE_STATES] = {
	[KPROBE_SITE_NEW]	= "new",
	[KPROBE_SITE_READY]	= "disarmed",
	[KPROBE_SITE_ARMED]	= "armed",
	[KPROBE_SITE_GONE]	= "gone",
	[KPROBE_SITE_DEAD]	= "dead",
};

/**
 * kprobe_site_state_name() - name of a site's state
 * @state: the state
 *
 * Context: any.
 * Return: a word.
 */
const char *kprobe_site_state_name(enum kprobe_site_state state)
{
	return site_state_names[state];
}

static const char * const miss_names[NR_KPROBE_MISSES] = {
	[KPROBE_MISS_NESTED]	= "nested",
	[KPROBE_MISS_POOL]	= "pool",
	[KPROBE_MISS_RCU]	= "rcu",
};

/**
 * kprobe_miss_name() - name of the cause of a miss
 * @cause: the cause
 *
 * Context: any.
 * Return: a word.
 */
const char *kprobe_miss_name(enum kprobe_miss cause)
{
	return miss_names[cause];
}

#ifdef CONFIG_OPTPROBES
static const char * const opt_state_names[NR_KPROBE_OPT_STATES] = {
	[KPROBE_OPT_NONE]	= "none",
	[KPROBE_OPT_PREPARED]	= "prepared",
	[KPROBE_OPT_QUEUED]	= "queued",
	[KPROBE_OPT_WAITING]	= "waiting",
	[KPROBE_OPT_LIVE]	= "live",
	[KPROBE_OPT_REVERTING]	= "reverting",
	[KPROBE_OPT_RECLAIMING]	= "reclaiming",
};

/**
 * kprobe_opt_state_name() - name of the state of a site's jump
 * @state: the state
 *
 * Context: any.
 * Return: a word.
 */
const char *kprobe_opt_state_name(enum kprobe_opt_state state)
{
	return opt_state_names[state];
}

static const char * const noopt_names[NR_KPROBE_NOOPTS] = {
	[KPROBE_NOOPT_NONE]	= "-",
	[KPROBE_NOOPT_FTRACE]	= "ftrace",
	[KPROBE_NOOPT_DISARMED]	= "disarmed",
	[KPROBE_NOOPT_OFF]	= "switched-off",
	[KPROBE_NOOPT_POST]	= "post-handler",
	[KPROBE_NOOPT_FAULT]	= "fault-handler",
	[KPROBE_NOOPT_NEIGHBOUR]	= "other-probe",
	[KPROBE_NOOPT_INIT]	= "init-text",
	[KPROBE_NOOPT_LIVEPATCH]	= "livepatch",
	[KPROBE_NOOPT_NOMEM]	= "no-memory",
	[KPROBE_NOOPT_CHANGED]	= "text-changed",
	[KPROBE_NOOPT_ARCH]	= "architecture",
	[KPROBE_NOOPT_RANGE]	= "out-of-reach",
	[KPROBE_NOOPT_END]	= "end-of-function",
	[KPROBE_NOOPT_INSN]	= "instruction",
	[KPROBE_NOOPT_CALL]	= "short-call",
	[KPROBE_NOOPT_EXTABLE]	= "exception-table",
	[KPROBE_NOOPT_PATCHED]	= "patched-text",
	[KPROBE_NOOPT_TARGET]	= "jump-target",
	[KPROBE_NOOPT_LANDING]	= "landing-pad",
	[KPROBE_NOOPT_INDIRECT]	= "indirect-jump",
	[KPROBE_NOOPT_SEGMENT]	= "segment",
	[KPROBE_NOOPT_STACK]	= "stack",
	[KPROBE_NOOPT_UNDECODED]	= "undecodable",
};

/**
 * kprobe_noopt_name() - name of a reason why there is no jump
 * @why: the reason
 *
 * Context: any.
 * Return: a word.
 */
const char *kprobe_noopt_name(enum kprobe_noopt why)
{
	return noopt_names[why];
}
#endif
