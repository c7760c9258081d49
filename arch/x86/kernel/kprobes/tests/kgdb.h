/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Breakpoints of kgdb, for suites of what else is in the text.
 */
#ifndef _X86_KERNEL_KPROBES_TESTS_KGDB_H
#define _X86_KERNEL_KPROBES_TESTS_KGDB_H

#ifdef CONFIG_KGDB
#include <kunit/test.h>
#include <linux/kgdb.h>

#include "../../../../../kernel/debug/debug_core.h"

static inline void kgdb_set_break(struct kunit *test, unsigned long addr)
{
	KUNIT_EXPECT_EQ(test, dbg_set_sw_break(addr), 0);
	KUNIT_EXPECT_EQ(test, dbg_activate_sw_breakpoints(), 0);
}

static inline void kgdb_remove_break(struct kunit *test, unsigned long addr)
{
	dbg_deactivate_sw_breakpoints();
	KUNIT_EXPECT_EQ(test, dbg_remove_sw_break(addr), 0);
}
#endif

#endif /* _X86_KERNEL_KPROBES_TESTS_KGDB_H */
