/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of the handlers of jprobes once more. The Makefile renames the functions, and moves
 * them to where they can be probed.
 */

#include "../jprobe_call.S"
