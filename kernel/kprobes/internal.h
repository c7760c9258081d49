/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the components of the kprobes core; neither for architectures nor for modules.
 *
 * Components, from the lowest. Each uses only those above it in this list and those on
 * its own line. Its interface is in its header, or in <linux/kprobes-arch.h>. A site holds the
 * addresses of the functions of the hit path that call its users, but does not call them.
 *
 *   refusal     why probes are refused
 *   lock        the locks and their order
 *   table       address to site, for hits
 *   slots       executable memory for copies and detours
 *   reach       what a function calls, directly or not
 *   blacklist   where no probe may be
 *   address     where a probe is to be, and whether it may be there
 *   site        sites and their users
 *   copy        text without probes, and copies of its instructions in slots
 *   branch      pages in reach and detours, where a branch is one word
 *   pool        instances of return probes
 *   hit, hit_*  the hit path
 *   optimizer   jumps
 *   ftrace      filters of ftrace
 *   arm         arming and disarming, the global switch
 *   module      text that comes and goes, and its probes
 *   register    registration and unregistration
 *   kprobes, kretprobe, jprobe   the API, and what each kind of probes adds
 *   check       what registration would decide
 *   files       text interfaces
 */
#ifndef _KERNEL_KPROBES_INTERNAL_H
#define _KERNEL_KPROBES_INTERNAL_H

#include <linux/kprobes.h>

#include "lock.h"

/* Probes can be registered; set at early_initcall. */
extern bool kprobes_initialized;

#endif /* _KERNEL_KPROBES_INTERNAL_H */
