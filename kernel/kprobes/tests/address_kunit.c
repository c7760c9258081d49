// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of where a probe is placed, and whether it may be. Probes are registered only
 * on code that never runs.
 */

#include "suite.h"

#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/static_call.h>
#include <asm/sections.h>

#if KPROBES_TEST_HAS_GATE_AREA
#include <asm/vsyscall.h>
#endif

#include "../address.h"
#include "../refusal.h"
#include "../lock.h"
#include "../module.h"
#include "helpers.h"
#include "weak.h"

static noinline __noclone __used notrace int kp_addr_plain(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v * 3 + 1;
}

static KP_TRACED(int, kp_addr_traced, v * 3 + 2)

static noinline __noclone __used notrace int kp_addr_with__pfx_inside(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v * 3 + 3;
}

static noinline __noclone __used notrace int kp_addr_warns(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	WARN_ON(v == 12345);
	return v * 3 + 4;
}

static DEFINE_STATIC_KEY_FALSE(kp_addr_key);

static noinline __noclone __used notrace int kp_addr_branches(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	if (static_branch_unlikely(&kp_addr_key))
		v += 17;
	return v;
}

/* The other one is in weak.c. */
KP_TRACED(int, kp_addr_weak, v * 5)

static int kp_addr_data = 1;

static int resolve(const void *addr, const char *sym, unsigned long offset,
		   struct kprobe_where *w)
{
	memset(w, 0, sizeof(*w));
	return kprobe_refusal_error(kprobe_address_resolve(addr, sym, offset, w));
}

struct error_case {
	const char	*name;
	bool		addr;
	const char	*sym;
	int		want;
};

static const struct error_case error_cases[] = {
	{ "neither",		false,	NULL,			-EINVAL },
	{ "both",		true,	"kp_addr_plain",	-EINVAL },
	{ "address",		true,	NULL,			0 },
	{ "symbol",		false,	"kp_addr_plain",	0 },
	{ "unknown symbol",	false,	"kp_addr_no_such_name",	-ENOENT },
	{ "empty symbol",	false,	"",			-ENOENT },
	{ "unknown module",	false,	"nomod:kp_addr_plain",	-ENOENT },
};
KUNIT_ARRAY_PARAM_DESC(error, error_cases, name);

static void address_is_given_by_address_or_symbol(struct kunit *test)
{
	const struct error_case *c = test->param_value;
	void *addr = c->addr ? (void *)kp_code(kp_addr_plain) : NULL;
	struct kprobe p = { .addr = addr, .symbol_name = c->sym };
	struct kprobe_where w;

	KUNIT_EXPECT_EQ(test, resolve(addr, c->sym, 0, &w), c->want);
	KUNIT_EXPECT_EQ(test, kprobe_on_func_entry(addr, c->sym, 0), c->want);

	if (c->want) {
		KUNIT_EXPECT_EQ(test, register_kprobe(&p), c->want);
		KUNIT_EXPECT_PTR_EQ(test, p.addr, addr);
	}
}

static void address_symbol_and_address_agree(struct kunit *test)
{
	struct kprobe_where a, b;

	KUNIT_ASSERT_EQ(test, resolve(NULL, "kp_addr_plain", 0, &a), 0);
	KUNIT_EXPECT_TRUE(test, a.on_entry);

	/* The result resolves to itself. */
	KUNIT_ASSERT_EQ(test, resolve((void *)a.addr, NULL, 0, &b), 0);
	KUNIT_EXPECT_EQ(test, a.addr, b.addr);
	KUNIT_EXPECT_EQ(test, a.on_entry, b.on_entry);

	KUNIT_ASSERT_EQ(test, resolve((void *)kp_code(kp_addr_plain), NULL, 0, &b), 0);
	KUNIT_EXPECT_TRUE(test, b.on_entry);
	if (KPROBES_TEST_HAS_SINGLE_ENTRY)
		KUNIT_EXPECT_EQ(test, a.addr, b.addr);
}

static void address_landing_pad_is_skipped(struct kunit *test)
{
	unsigned long fn = kp_code(kp_addr_plain);
	struct kprobe_where w;
	int i;

	KP_SKIP_IF(test, !KPROBES_TEST_HAS_LANDING_PADS, "needs landing pads");

	/* objtool must not follow where this points. */
	OPTIMIZER_HIDE_VAR(fn);
	for (i = 0; i <= 4; i++) {
		KUNIT_ASSERT_EQ(test, resolve((void *)fn, NULL, i, &w), 0);
		KUNIT_EXPECT_EQ(test, w.on_entry, i == 0 || i == 4);
		KUNIT_EXPECT_EQ(test, w.addr, i ? fn + i : fn + 4);
		KUNIT_EXPECT_EQ(test, kprobe_on_func_entry(NULL, "kp_addr_plain", i),
				i == 0 || i == 4 ? 0 : -EINVAL);
	}
}

static void address_offset_into_the_next_symbol(struct kunit *test)
{
	unsigned long fn = kp_code(kp_addr_plain), size;
	struct kprobe_where a, b;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(fn, &size, NULL));
	KUNIT_ASSERT_EQ(test, resolve((void *)fn, NULL, size, &a), 0);
	KUNIT_ASSERT_EQ(test, resolve((void *)(fn + size), NULL, 0, &b), 0);
	KUNIT_EXPECT_EQ(test, a.addr, b.addr);
	KUNIT_EXPECT_GE(test, a.addr, fn + size);
	KUNIT_EXPECT_TRUE(test, a.on_entry);
	KUNIT_EXPECT_TRUE(test, b.on_entry);
}

static void address_knows_entries(struct kunit *test)
{
	unsigned long size;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(kp_code(kp_addr_traced),
							   &size, NULL));
	KUNIT_EXPECT_EQ(test, kprobe_on_func_entry(NULL, "kp_addr_traced", 0), 0);
	KUNIT_EXPECT_EQ(test, kprobe_on_func_entry(NULL, "kp_addr_traced", size - 1),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, kprobe_on_func_entry(NULL, "kp_addr_no_such_name", 0),
			-ENOENT);
}

static void address_without_symbol(struct kunit *test)
{
	/* Other memory may once have been init text, which symbols still cover. */
	void *data = vmalloc(PAGE_SIZE);
	struct kprobe_where w;

	KUNIT_ASSERT_NOT_NULL(test, data);
	KUNIT_EXPECT_EQ(test, resolve((void *)1, NULL, 0, &w), -ENOENT);
	KUNIT_EXPECT_EQ(test, resolve(data, NULL, 0, &w), -ENOENT);
	vfree(data);
}

static void address_of_text(struct kunit *test)
{
	struct kprobe_where w;

	KUNIT_ASSERT_EQ(test, resolve(NULL, "kp_addr_plain", 0, &w), 0);
	KUNIT_EXPECT_EQ(test, kp_vet(w.addr), 0);
	KUNIT_ASSERT_EQ(test, resolve(NULL, "kp_addr_with__pfx_inside", 0, &w), 0);
	KUNIT_EXPECT_EQ(test, kp_vet(w.addr), 0);
}

static void address_refuses_what_is_not_text(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kp_vet((unsigned long)&kp_addr_data), KPROBE_REFUSAL_NOT_TEXT);
	KUNIT_EXPECT_EQ(test, kp_vet((unsigned long)&error_cases), KPROBE_REFUSAL_NOT_TEXT);
	KUNIT_EXPECT_EQ(test, kp_vet((unsigned long)test), KPROBE_REFUSAL_NOT_TEXT);
	KUNIT_EXPECT_EQ(test, kp_vet(0), KPROBE_REFUSAL_NOT_TEXT);
	KUNIT_EXPECT_EQ(test, kp_vet(PAGE_SIZE), KPROBE_REFUSAL_NOT_TEXT);
	KUNIT_EXPECT_EQ(test, kp_vet(~0ul), KPROBE_REFUSAL_NOT_TEXT);
}

#if KPROBES_TEST_HAS_GATE_AREA
static void address_refuses_gate_area(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kp_vet(VSYSCALL_ADDR), KPROBE_REFUSAL_NOT_TEXT);
}
#else
KP_SKIPPED(address_refuses_gate_area, "needs a gate area")
#endif

static void address_refuses_warnings(struct kunit *test)
{
	unsigned long fn = kp_code(kp_addr_warns), size, i;
	unsigned int found = 0;

	if (!IS_ENABLED(CONFIG_BUG) || !IS_ENABLED(CONFIG_GENERIC_BUG))
		kunit_skip(test, "needs GENERIC_BUG");

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(fn, &size, NULL));
	for (i = 0; i < size; i++) {
		if (!find_bug(fn + i))
			continue;
		found++;
		KUNIT_EXPECT_EQ(test, kp_vet(fn + i), KPROBE_REFUSAL_BUG);
	}
	/*
	 * The compiler may have moved the warning to a separate part of the function.
	 */
	KP_SKIP_IF(test, !found, "no warning inside the symbol");
}

#ifdef CONFIG_JUMP_LABEL
static void address_refuses_jump_labels(struct kunit *test)
{
	unsigned long fn = kp_code(kp_addr_branches), size, i;
	unsigned int found = 0;
	void *at;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(fn, &size, NULL));
	for (i = 0; i < size; i++) {
		at = (void *)fn + i;
		jump_label_lock();
		found += jump_label_text_reserved(at, at);
		jump_label_unlock();
		if (found)
			break;
	}
	KUNIT_ASSERT_EQ(test, found, 1);
	KUNIT_EXPECT_EQ(test, kp_vet(fn + i), KPROBE_REFUSAL_JUMP_LABEL);
	KUNIT_EXPECT_EQ(test, kp_vet(fn + i + 1), KPROBE_REFUSAL_JUMP_LABEL);
}
#else
KP_SKIPPED(address_refuses_jump_labels, "needs JUMP_LABEL")
#endif

/* Searched the same way in kernels whose functions have no preambles. */
asm(".pushsection .text\n"
	"	.balign 16\n"
	"__pfx_kp_addr_made:\n"
	ANNOTATE_NOENDBR "\n"
	"	nop\n	nop\n	nop\n	nop\n"
	"	.size __pfx_kp_addr_made, . - __pfx_kp_addr_made\n"
	"	.popsection\n");
extern char kp_addr_made[] asm("__pfx_kp_addr_made");

static void address_preamble(struct kunit *test)
{
	unsigned long pfx = kallsyms_lookup_name("__pfx_kp_addr_plain");
	unsigned long cfi = kallsyms_lookup_name("__cfi_kp_addr_plain");
	unsigned long made = (unsigned long)kp_addr_made;

	/* Keep objtool from seeing a pointer into the middle of a function. */
	OPTIMIZER_HIDE_VAR(made);
	if (kallsyms_lookup_name("__pfx_kp_addr_made"))
		KUNIT_EXPECT_EQ(test, kp_vet(made), KPROBE_REFUSAL_PREAMBLE);
	else if (!pfx && !cfi)
		kunit_skip(test, "kallsyms knows no preamble");
	if (pfx)
		KUNIT_EXPECT_EQ(test, kp_vet(pfx), KPROBE_REFUSAL_PREAMBLE);
	if (cfi)
		KUNIT_EXPECT_EQ(test, kp_vet(cfi), KPROBE_REFUSAL_PREAMBLE);
}

/* Refused or not, it must do no harm, not even to the function that has won. */
static void address_weak_function_that_lost(struct kunit *test)
{
	int (*volatile winner)(int v) = kp_addr_weak;
	unsigned long at, left = kp_addr_leftover;
	unsigned long fn = kp_code(kp_addr_weak);
	struct kprobe_where w;
	u8 before[64], after[64];
	struct kprobe p;
	int ret;

	KUNIT_ASSERT_EQ(test, resolve(NULL, "kp_addr_weak", 0, &w), 0);
	KUNIT_EXPECT_GE(test, w.addr, fn);
	KUNIT_EXPECT_LT(test, w.addr, fn + 16);
	KUNIT_EXPECT_TRUE(test, left < fn || left > fn + 64);
	KUNIT_EXPECT_EQ(test, kp_addr_after_weak(1), 3);

	memcpy(before, (void *)(left - 32), sizeof(before));
	for (at = left - 16; at <= left; at++) {
		memset(&p, 0, sizeof(p));
		p.addr = (kprobe_opcode_t *)at;
		ret = register_kprobe(&p);
		KUNIT_EXPECT_EQ(test, winner(3), 15);
		if (!ret)
			unregister_kprobe(&p);
	}
	memcpy(after, (void *)(left - 32), sizeof(after));
	KUNIT_EXPECT_MEMEQ(test, after, before, sizeof(before));
}

static void address_decides_on_ftrace_site(struct kunit *test)
{
	struct kprobe_where w = {};
	enum kprobe_refusal why;
	unsigned long site;

	site = ftrace_location(kp_code(kp_addr_traced));
	KP_SKIP_IF(test, !site, "functions have no ftrace sites");

	w.addr = site;
	jump_label_lock();
	scoped_guard(preempt)
		why = kprobe_address_vet(&w);
	jump_label_unlock();

	if (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE)) {
		KUNIT_EXPECT_EQ(test, why, KPROBE_REFUSAL_NONE);
		KUNIT_EXPECT_EQ(test, w.kind, KPROBE_SITE_FTRACE);
	} else {
		KUNIT_EXPECT_EQ(test, why, KPROBE_REFUSAL_TRACED);
	}

	/* Inside the patched instruction, where that is longer than one unit. */
	if (ftrace_location(site + 1) == site && KPROBES_TEST_HAS_VARIABLE_INSNS) {
		struct kprobe p = { .addr = (void *)(site + 1) };

		KUNIT_EXPECT_NE(test, register_kprobe(&p), 0);
	}
}

static void address_kind_of_a_plain_function(struct kunit *test)
{
	enum kprobe_refusal why;
	struct kprobe_where w;

	KUNIT_ASSERT_EQ(test, resolve(NULL, "kp_addr_plain", 0, &w), 0);
	w.kind = KPROBE_SITE_FTRACE;
	jump_label_lock();
	scoped_guard(preempt)
		why = kprobe_address_vet(&w);
	jump_label_unlock();
	KUNIT_EXPECT_EQ(test, why, KPROBE_REFUSAL_NONE);
	KUNIT_EXPECT_EQ(test, w.kind, KPROBE_SITE_BREAKPOINT);
}

#ifdef CONFIG_MODULES
/*
 * Only the decision, for a module that no notifier knows about.
 * scripts/test/guest/module.sh loads real modules and refuses them.
 */
static void address_module_that_comes(struct kunit *test)
{
	struct module *mod = kp_zalloc(test, sizeof(*mod));

	guard(mutex)(&kprobe_mutex);

	mod->state = MODULE_STATE_COMING;
	KUNIT_EXPECT_FALSE(test, kprobe_module_known(mod));
	mod->state = MODULE_STATE_LIVE;
	KUNIT_EXPECT_TRUE(test, kprobe_module_known(mod));
	mod->state = MODULE_STATE_GOING;
	KUNIT_EXPECT_FALSE(test, kprobe_module_known(mod));
}
#endif

static struct kunit_case address_cases[] = {
	KUNIT_CASE_PARAM(address_is_given_by_address_or_symbol, error_gen_params),
	KUNIT_CASE(address_symbol_and_address_agree),
	KUNIT_CASE(address_landing_pad_is_skipped),
	KUNIT_CASE(address_offset_into_the_next_symbol),
	KUNIT_CASE(address_knows_entries),
	KUNIT_CASE(address_without_symbol),
	KUNIT_CASE(address_of_text),
	KUNIT_CASE(address_refuses_what_is_not_text),
	KUNIT_CASE(address_refuses_gate_area),
	KUNIT_CASE(address_refuses_warnings),
	KUNIT_CASE(address_refuses_jump_labels),
	KUNIT_CASE(address_preamble),
	KUNIT_CASE(address_weak_function_that_lost),
	KUNIT_CASE(address_decides_on_ftrace_site),
	KUNIT_CASE(address_kind_of_a_plain_function),
#ifdef CONFIG_MODULES
	KUNIT_CASE(address_module_that_comes),
#endif
	{}
};

KP_SUITE(address_cases, .name = "kprobes_address");
