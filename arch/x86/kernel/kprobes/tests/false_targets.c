// SPDX-License-Identifier: GPL-2.0-only
/*
 * The branch analysis looks for branches at each byte of the text. So bytes in other code may look
 * like a branch into a function of the tests: of 3,000 bytes, one is taken for a target without
 * being one, and which one depends on where the linker puts everything. But the tests expect jumps
 * at certain places. Before the suites run, such targets are removed from their functions.
 */

#include "suite.h"

#include <linux/bitmap.h>
#include <linux/kallsyms.h>
#include <linux/text-patching.h>
#include <linux/vmalloc.h>

#include <asm/sections.h>

#include "../common.h"

#define PIECE		1024
/* Of the longest instruction that is looked for, and more. */
#define OVERHANG	16

static struct {
	struct kprobe_branch_map	*map;
	struct kprobe_branch_map	from_tests, from_others;
	unsigned long			start;	/* of the function that was seen last */
	bool				is_test;
	unsigned int			nr;
	u8				buf[PIECE + OVERHANG];
} forget __initdata;

/* Functions of the kernel itself begin with the whole word. */
static bool __init is_of_tests(const char *name)
{
	return strstarts(name, "kp") && !strstarts(name, "kprobe");
}

static void __init scan(unsigned long start, unsigned long end)
{
	struct kprobe_branch_map *to = forget.is_test ? &forget.from_tests : &forget.from_others;
	unsigned int len;

	for (; start < end; start += len) {
		len = min_t(unsigned long, end - start, PIECE);
		memset(forget.buf, INT3_INSN_OPCODE, sizeof(forget.buf));
		if (!kprobe_read_text(start, forget.buf, len + OVERHANG))
			kprobe_map_scan(to, forget.buf, len, start);
		cond_resched();
	}
}

static void __init forget_targets(unsigned long start, unsigned long end)
{
	struct kprobe_branch_map *map = forget.map;
	unsigned long bit;

	if (!forget.is_test)
		return;
	for (bit = start + 1 - map->start; bit < end - map->start; bit++) {
		if (!test_bit(bit, map->targets) || !test_bit(bit, forget.from_others.targets) ||
		    test_bit(bit, forget.from_tests.targets))
			continue;
		__clear_bit(bit, map->targets);
		forget.nr++;
	}
}

/* Symbols come in the order of their addresses. */
static int __init visit(void *look, const char *name, unsigned long addr)
{
	const struct kprobe_branch_map *map = forget.map;
	void (*fn)(unsigned long start, unsigned long end) = look;

	if (addr < map->start || addr > map->start + map->size)
		return 0;
	if (forget.start && addr > forget.start)
		fn(forget.start, addr);
	/* A function may have several names. */
	forget.is_test = is_of_tests(name) || (addr == forget.start && forget.is_test);
	forget.start = addr;
	return 0;
}

static int __init kprobe_test_forget_false_targets(void)
{
	unsigned long addr = (unsigned long)_stext;
	size_t size;

	if (!kunit_enabled())
		return 0;
	guard(mutex)(&kprobe_mutex);

	while (arch_optimizer_begin(addr))
		cond_resched();
	forget.map = kprobe_map_at(addr);
	if (!forget.map)
		return -ENOMEM;
	size = BITS_TO_LONGS(forget.map->size) * sizeof(long);
	forget.from_tests = *forget.map;
	forget.from_others = *forget.map;
	forget.from_tests.targets = vzalloc(size);
	forget.from_others.targets = vzalloc(size);
	if (forget.from_tests.targets && forget.from_others.targets) {
		kallsyms_on_each_symbol(visit, scan);
		forget.start = 0;
		kallsyms_on_each_symbol(visit, forget_targets);
		pr_info("kprobes: tests: %u false branch targets\n", forget.nr);
	}
	vfree(forget.from_tests.targets);
	vfree(forget.from_others.targets);
	return 0;
}
late_initcall(kprobe_test_forget_false_targets);
