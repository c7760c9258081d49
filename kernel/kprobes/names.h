/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_NAMES_H
#define _KERNEL_KPROBES_NAMES_H

#include "site.h"

const char *kprobe_site_state_name(enum kprobe_site_state state);
const char *kprobe_miss_name(enum kprobe_miss cause);
#ifdef CONFIG_OPTPROBES
const char *kprobe_opt_state_name(enum kprobe_opt_state state);
const char *kprobe_noopt_name(enum kprobe_noopt why);
#endif

#endif /* _KERNEL_KPROBES_NAMES_H */
