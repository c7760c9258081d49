// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes on single instructions, from end to end: each in every mode that it has, and
 * those that are refused.
 */

#include "suite.h"

#include <kunit/static_stub.h>
#include <linux/cpufeature.h>
#include <linux/lockdep.h>

#include <asm/alternative.h>
#include <asm/arch_gicv3.h>
#include <asm/asm-extable.h>
#include <asm/debug-monitors.h>
#include <asm/fpu.h>
#include <asm/sections.h>
#include <asm/virt.h>

#include "forms.h"
#include "helpers.h"
#include "targets.h"

/* What exclusive accesses access. */
u64 kpb_pointer;

static const struct kpb_next nexts[] = {
	{ "after a step", KPB_PLACE(add) },
	{ "after a move", KPB_PLACE(mov) },
	{ "after a call", KPB_PLACE(bl), kpb_callee },
	{ "after a jump", KPB_PLACE(br), kpb_callee },
};
KUNIT_ARRAY_PARAM_DESC(next, nexts, name);

static void probe_post_handler_sees_next_pc(struct kunit *test)
{
	kp_check_next(test, test->param_value);
}

/*
 * Refusals
 */

KPB_FUNCTION(refuse_udf, "b 1f\n 777: .inst 0x00000000\n1:");
KPB_FUNCTION(refuse_unallocated, "b 1f\n 777: .inst 0x5ac0fc00\n1:");
KPB_FUNCTION(refuse_svc, "b 1f\n 777: svc #0\n1:");
KPB_FUNCTION(refuse_hvc, "b 1f\n 777: hvc #0\n1:");
KPB_FUNCTION(refuse_brk, "b 1f\n 777: brk #0x123\n1:");
KPB_FUNCTION(refuse_wfi, "b 1f\n 777: wfi\n1:");
KPB_FUNCTION(refuse_eret, "b 1f\n 777: eret\n1:");
KPB_FUNCTION(refuse_esr, "b 1f\n 777: mrs x1, esr_el1\n1:");
KPB_FUNCTION(refuse_msr, "b 1f\n 777: msr tpidr_el0, x1\n1:");
KPB_FUNCTION(refuse_ldr_q, "b 1f\n 777: .inst 0x9c000040\n1: ret\n .quad 0\n1:");
KPB_FUNCTION(refuse_fixup, "777: ldr x0, [x0]\n1:\n" _ASM_EXTABLE_KACCESS(777b, 1b));

struct refusal {
	const char		*name;
	struct kpb_place	place;
	enum kprobe_refusal	why;
	int			err;
};

#define REFUSED(name, why, err)	{ #name, KPB_PLACE(refuse_##name), KPROBE_REFUSAL_##why, err }

static const struct refusal refusals[] = {
	REFUSED(udf, INVALID, -EILSEQ),
	REFUSED(unallocated, ENCODING, -EOPNOTSUPP),
	REFUSED(svc, TRAP, -EILSEQ),
	REFUSED(hvc, TRAP, -EILSEQ),
	REFUSED(brk, TRAP, -EILSEQ),
	REFUSED(wfi, SLEEP, -EINVAL),
	REFUSED(eret, FAR, -EOPNOTSUPP),
	REFUSED(esr, SYNDROME, -EINVAL),
	REFUSED(msr, CONTROL, -EINVAL),
	REFUSED(ldr_q, REACH, -EINVAL),
	REFUSED(fixup, FIXUP, -EINVAL),
};
KUNIT_ARRAY_PARAM_DESC(refusal, refusals, name);

static void probe_is_refused(struct kunit *test)
{
	const struct refusal *r = test->param_value;

	kp_expect_refused(test, *r->place.at, r->why, r->err);
}

/*
 * Literals at the end of a mapping: how many bytes before the end they begin. Nothing is
 * mapped after it.
 */
static const struct literal {
	const char		*name;
	u32			insn;
	unsigned int		before;
	enum kprobe_refusal	why;
} literals[] = {
	{ "8 bytes before the end", 0x58000001, 8, KPROBE_REFUSAL_NONE },
	{ "8 bytes across the end", 0x58000001, 4, KPROBE_REFUSAL_INVALID },
	{ "8 bytes after the end", 0x58000001, 0, KPROBE_REFUSAL_INVALID },
	{ "4 bytes before the end", 0x18000001, 4, KPROBE_REFUSAL_NONE },
	{ "4 bytes after the end", 0x18000001, 0, KPROBE_REFUSAL_INVALID },
	{ "4 signed bytes before the end", 0x98000001, 4, KPROBE_REFUSAL_NONE },
	{ "4 signed bytes after the end", 0x98000001, 0, KPROBE_REFUSAL_INVALID },
	{ "a prefetch after the end", 0xd8000000, 0, KPROBE_REFUSAL_NONE },
};
KUNIT_ARRAY_PARAM_DESC(literal, literals, name);

/* How far from the end the instruction is. */
#define LITERAL_DISTANCE	64

/* The instruction would fault by itself; its simulation would fault in the exception. */
static void probe_needs_all_of_a_literal(struct kunit *test)
{
	const struct literal *l = test->param_value;
	__le32 *insn;
	void *page;

	page = vmalloc(PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, page);
	insn = page + PAGE_SIZE - LITERAL_DISTANCE;
	*insn = cpu_to_le32(l->insn | (LITERAL_DISTANCE - l->before) / AARCH64_INSN_SIZE << 5);
	KUNIT_EXPECT_EQ(test, kp_decide((unsigned long)insn), l->why);
	vfree(page);
}

/*
 * Exclusive accesses: increments of what x1 points to. With a probe between them, the store
 * would fail forever.
 */
KPB_FUNCTION(exclusive,
	     "adrp x1, kpb_pointer\n add x1, x1, :lo12:kpb_pointer\n"
	     "777: ldxr x2, [x1]\n add x2, x2, #1\n nop\n stxr w3, x2, [x1]\n cbnz w3, 777b");
KPB_FUNCTION(exclusive_pair,
	     "sub sp, sp, #16\n"
	     "777: ldaxp x2, x3, [sp]\n add x2, x2, #1\n nop\n stlxp w4, x0, x3, [sp]\n"
	     "cbnz w4, 777b\n add sp, sp, #16");
/* As in the kernel's cmpxchg(): the store may be skipped. */
KPB_FUNCTION(exclusive_byte,
	     "adrp x1, kpb_pointer\n add x1, x1, :lo12:kpb_pointer\n"
	     "777: ldxrb w2, [x1]\n eor w4, w2, w2\n cbnz w4, 1f\n stxrb w3, w2, [x1]\n"
	     "cbnz w3, 777b\n1:");

static const struct kpb_place exclusives[] = {
	KPB_PLACE(exclusive), KPB_PLACE(exclusive_pair), KPB_PLACE(exclusive_byte),
};

static void exclusive_to_desc(const struct kpb_place *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%ps", p->fn);
}
KUNIT_ARRAY_PARAM(exclusive, exclusives, exclusive_to_desc);

static void probe_keeps_off_exclusive_sequences(struct kunit *test)
{
	const struct kpb_place *p = test->param_value;

	/* What surrounds it can be probed, and the sequence ends. */
	kp_check_sequence(test, p, (unsigned long)p->fn, *p->at + 5 * AARCH64_INSN_SIZE);
}

/* What looks like an exclusive load belongs to another function, or is none. */
KPB_FUNCTION(ends_with_load, "adrp x1, kpb_pointer\n add x1, x1, :lo12:kpb_pointer\n"
	     "ldaxr x2, [x1]\n clrex\n b 1f\n 777: ldaxr x2, [x1]\n1:");
KPB_FUNCTION(acquires, "adrp x1, kpb_pointer\n add x1, x1, :lo12:kpb_pointer\n"
	     "ldar x2, [x1]\n 777: add x0, x0, #1\n stlr x2, [x1]");
/* As in the kernel's cmpwait(), except that it never waits. */
KPB_FUNCTION(waits, "adrp x1, kpb_pointer\n add x1, x1, :lo12:kpb_pointer\n"
	     "ldxr x2, [x1]\n cbz wzr, 1f\n wfe\n1: 777: add x0, x0, #1");

static void probe_after_a_load_acquire(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(acquires));
	unsigned long addr;

	KUNIT_ASSERT_LT(test, (unsigned long)kpb_acquires - (unsigned long)KPB_AT(ends_with_load),
			64);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_acquires, 1), 2);
	KP_UNWATCH(test, w, 1);

	/* All of it, including what comes after another function's sequence. */
	for (addr = (unsigned long)kpb_acquires; addr <= (unsigned long)KPB_AT(acquires);
	     addr += AARCH64_INSN_SIZE)
		kp_expect_accepted(test, addr);
}

static void probe_after_a_wait(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(waits));
	unsigned long at = (unsigned long)KPB_AT(waits);

	kp_expect_refused(test, at - 2 * AARCH64_INSN_SIZE, KPROBE_REFUSAL_SEQUENCE, -EINVAL);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_waits, 1), 2);
	KP_UNWATCH(test, w, 1);
}

/*
 * Function entries
 */

static KP_TRACED(int, kpb_traced, v * 3)

#ifdef CONFIG_DYNAMIC_FTRACE
static void probe_keeps_off_the_word_of_ftrace(struct kunit *test)
{
	unsigned long entry = (unsigned long)kpb_traced, site = ftrace_location(entry);
	struct kp_watch w = KP_WATCH(entry);

	KUNIT_ASSERT_NE(test, site, 0);
	KUNIT_ASSERT_LE(test, site - entry, 2 * AARCH64_INSN_SIZE);
	kp_expect_refused(test, site, KPROBE_REFUSAL_TRACED, -EINVAL);

	/* The word before it is written only once, and stays. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, kpb_traced(2), 6);
	KP_UNWATCH(test, w, 1);
}
#else
KP_SKIPPED(probe_keeps_off_the_word_of_ftrace, "needs DYNAMIC_FTRACE")
#endif

#ifdef CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS
/* The address of an ops, whose two words may look like instructions. */
static void probe_keeps_off_the_ops_of_ftrace(struct kunit *test)
{
	unsigned long entry = (unsigned long)kpb_traced, before, into, size;

	OPTIMIZER_HIDE_VAR(entry);
	before = *(unsigned long *)(entry - sizeof(long));
	KUNIT_ASSERT_TRUE(test, IS_ALIGNED(entry, sizeof(long)));
	kp_expect_refused(test, entry - 8, KPROBE_REFUSAL_PREAMBLE, -EINVAL);
	kp_expect_refused(test, entry - 4, KPROBE_REFUSAL_PREAMBLE, -EINVAL);
	KUNIT_EXPECT_EQ(test, *(unsigned long *)(entry - sizeof(long)), before);

	/* For kallsyms, they belong to the function before. */
	KUNIT_EXPECT_TRUE(test, kallsyms_lookup_size_offset(entry - 4, &size, &into));
	KUNIT_EXPECT_NE(test, into, 0);

	/* Before a function that is not traced, there are none. */
	KUNIT_ASSERT_EQ(test, ftrace_location((unsigned long)kpb_mov), 0);
	kp_expect_accepted(test, (unsigned long)kpb_mov - AARCH64_INSN_SIZE);
}
#else
KP_SKIPPED(probe_keeps_off_the_ops_of_ftrace, "needs DYNAMIC_FTRACE_WITH_CALL_OPS")
#endif

#ifdef CONFIG_CFI
static KP_TRACED(int, kpb_traced_twin, v * 5)

/* The RET of the first, which has 16 bytes, comes directly before the second. */
KPB_FUNCTION(before_untyped, "777: add x0, x0, #1\n nop");
KPB_FUNCTION(untyped, "777: add x0, x0, #2");

static void probe_keeps_off_type_hashes(struct kunit *test)
{
	unsigned long entry = (unsigned long)kpb_traced, untyped = (unsigned long)kpb_untyped;
	int (*fn)(int v) = kpb_traced;
	unsigned long hash = entry - AARCH64_INSN_SIZE;
	u32 before = kpb_word((void *)hash);

	/* Functions of one type have the same. */
	KUNIT_EXPECT_EQ(test, before,
			kpb_word((void *)kpb_traced_twin - AARCH64_INSN_SIZE));
	kp_expect_refused(test, hash, KPROBE_REFUSAL_PREAMBLE, -EINVAL);
	kp_expect_accepted(test, entry);
	/* Calls through pointers compare it. */
	OPTIMIZER_HIDE_VAR(fn);
	KUNIT_EXPECT_EQ(test, fn(2), 6);

	/* There is none before a function that has no type. */
	KUNIT_ASSERT_EQ(test, untyped - (unsigned long)kpb_before_untyped, 4 * AARCH64_INSN_SIZE);
	kp_expect_accepted(test, untyped - AARCH64_INSN_SIZE);
}
#else
KP_SKIPPED(probe_keeps_off_type_hashes, "needs CONFIG_CFI")
#endif

/* The first word of a function is a move. What follows takes a single exception. */
static void probe_emulates_entries(struct kunit *test)
{
	unsigned long entry = (unsigned long)kpb_traced;
	struct kp_watch w = KP_WATCH_BOTH(entry);

	if (!IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_ARGS))
		kunit_skip(test, "functions begin with other instructions");

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), "emulated");
	KUNIT_EXPECT_EQ(test, kpb_traced(2), 6);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.post), 1);
	KUNIT_EXPECT_EQ(test, w.post_ip, entry + AARCH64_INSN_SIZE);
	unregister_kprobe(&w.kp);
}

/*
 * Vector registers, which an exception leaves alone. In .inst, since the assembler is told
 * that the kernel does not use them: LDR D0 and UMOV.
 */
KPB_FUNCTION(vector, "adrp x1, kpb_data\n add x1, x1, :lo12:kpb_data\n"
	     "777: .inst 0xfd400020\n .inst 0x4e083c02\n add x0, x0, x2");

#ifdef CONFIG_KERNEL_MODE_NEON
static unsigned long run_with_vectors(void (*fn)(void), unsigned long arg)
{
	unsigned long ret;

	kernel_fpu_begin();
	ret = kpb_run(fn, arg);
	kernel_fpu_end();
	return ret;
}

static void probe_on_vector_loads(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(KPB_AT(vector));
	struct kp_watch late = KP_WATCH_POST(KPB_AT(vector));

	KUNIT_ASSERT_EQ(test, run_with_vectors(kpb_vector, 1), 1 + kpb_data);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, run_with_vectors(kpb_vector, 2), 2 + kpb_data);
	KUNIT_EXPECT_EQ(test, register_kprobe(&late.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(w.kp.addr), "stepped");
	KUNIT_EXPECT_EQ(test, run_with_vectors(kpb_vector, 3), 3 + kpb_data);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&late.post), 1);
	unregister_kprobe(&late.kp);
	unregister_kprobe(&w.kp);
}
#else
KP_SKIPPED(probe_on_vector_loads, "needs KERNEL_MODE_NEON")
#endif

/*
 * With pseudo-NMI, interrupts are switched off by the mask that this reads: MRS X1,
 * ICC_PMR_EL1. An exception has another one.
 */
KPB_FUNCTION(mrs_pmr, "777: .inst 0xd5384601\n mov x0, x1");

#define MASK_READER	"kpb_mrs_pmr"
#define MASK_READER_AT	kpb_mrs_pmr_at
#define MASK_OF(regs)	((regs)->pmr)

static unsigned long read_mask(void)
{
	return kpb_run(kpb_mrs_pmr, 0);
}

static unsigned long current_mask(void)
{
	return gic_read_pmr();
}

#include "masks_words.h"

static void probe_reads_the_priority_mask(struct kunit *test)
{
	KP_SKIP_IF(test, !system_uses_irq_prio_masking(), "needs pseudo-NMI");
	check_read_mask(test);
}

#ifdef CONFIG_KRETPROBES
/*
 * What compilers do with return addresses: sign them, PACIASP and AUTIASP, and keep them on a
 * stack of their own, which x18 points to. Both begin after the entry, and so find the
 * address of the trampoline.
 */
KPB_FUNCTION(signing, "777: hint #25\n stp x29, x30, [sp, #-16]!\n mov x29, sp\n"
	     "bl kpb_callee\n ldp x29, x30, [sp], #16\n hint #29");
#ifdef CONFIG_SHADOW_CALL_STACK
#define SHADOW_STACK	""
#else
static unsigned long kpb_shadow_stack[2] __used;

#define SHADOW_STACK	"adrp x18, kpb_shadow_stack\n add x18, x18, :lo12:kpb_shadow_stack\n"
#endif
KPB_FUNCTION(shadowed, SHADOW_STACK "777: str x30, [x18], #8\n"
	     "stp x29, x30, [sp, #-16]!\n mov x29, sp\n mov x30, #0\n add x0, x0, #100\n"
	     "ldp x29, x30, [sp], #16\n ldr x30, [x18, #-8]!");
KPB_FUNCTION(leaf, "777: add x0, x0, #100");

struct returning {
	const char	*name;
	void		(*fn)(void);
};

static const struct returning returnings[] = {
	{ "kpb_signing", kpb_signing },
	{ "kpb_shadowed", kpb_shadowed },
	{ "kpb_leaf", kpb_leaf },
};
KUNIT_ARRAY_PARAM_DESC(returning, returnings, name);

static unsigned int nr_returns;

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	nr_returns += regs->regs[0] == 101 && regs->regs[30] == instruction_pointer(regs);
	return 0;
}

/* First by breakpoints, and then without any. */
static void probe_returns_of_each_kind(struct kunit *test)
{
	const struct returning *r = test->param_value;
	struct kretprobe rp = { .kp.symbol_name = r->name, .handler = count_return };
	unsigned int i, round, wrong = 0;

	nr_returns = 0;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 1000; i++)
			wrong += kpb_run(r->fn, 1) != 101;
		KUNIT_EXPECT_EQ(test, wrong, 0);
		KUNIT_EXPECT_EQ(test, nr_returns, 1000 * (round + 1));
		kprobe_test_allow_optimization(true);
		wait_for_kprobe_optimizer();
	}
	unregister_kretprobe(&rp);
	kprobe_test_allow_optimization(false);
	KUNIT_EXPECT_EQ(test, kpb_run(r->fn, 1), 101);
	KUNIT_EXPECT_EQ(test, nr_returns, 2000);
	KUNIT_EXPECT_EQ(test, rp.nmissed, 0);
}
#endif

/*
 * Alternatives
 */

KPB_FUNCTION(alternative, "777:\n" ALTERNATIVE("nop", "add x0, x0, #1", ARM64_ALWAYS_SYSTEM)
	     "\n add x0, x0, #2");

static bool not_yet(void)
{
	return false;
}

/* Early in boot, as long as alternatives may be applied. */
static void probe_waits_for_alternatives(struct kunit *test)
{
	unsigned long addr = (unsigned long)KPB_AT(alternative);

	kunit_activate_static_stub(test, kprobe_alternatives_are_final, not_yet);
	kp_expect_refused(test, addr, KPROBE_REFUSAL_ALTERNATIVE, -EAGAIN);
	kp_expect_accepted(test, addr - AARCH64_INSN_SIZE);
	kp_expect_accepted(test, addr + AARCH64_INSN_SIZE);
	kunit_deactivate_static_stub(test, kprobe_alternatives_are_final);

	kp_expect_accepted(test, addr);
	KUNIT_EXPECT_EQ(test, kpb_run(kpb_alternative, 1), 4);
}

/*
 * Text in which this architecture allows no probes
 */

#define AREA(name, symbol)	\
	{ name, __##symbol##_start, __##symbol##_end, KPROBE_REFUSAL_ARCH_LISTED }

const struct kp_area kp_areas[] = {
	AREA("entry text", entry_text),
	AREA("irqentry text", irqentry_text),
	AREA("hyp text", hyp_text),
	AREA("hyp idmap text", hyp_idmap_text),
};

const unsigned int nr_kp_areas = ARRAY_SIZE(kp_areas);

/* At EL2, the kernel does not enter hypervisor code by the idmap. */
bool kp_area_exists(const struct kp_area *a)
{
	return a->start != a->end &&
	       !(a->start == __hyp_idmap_text_start && is_kernel_in_hyp_mode());
}

/* It is executed where it is mapped to itself, and is not text where the kernel is. */
static void probe_keeps_off_the_idmap(struct kunit *test)
{
	KUNIT_ASSERT_LT(test, (unsigned long)__idmap_text_start,
			(unsigned long)__idmap_text_end);
	kp_expect_refused(test, (unsigned long)__idmap_text_start, KPROBE_REFUSAL_NOT_TEXT,
			  -EINVAL);
	kp_expect_refused(test, (unsigned long)__idmap_text_end - AARCH64_INSN_SIZE,
			  KPROBE_REFUSAL_NOT_TEXT, -EINVAL);
}

/*
 * What a CPU executes before exceptions can be handled, or when nobody waits for it any
 * more, and whether this kernel must have it. The compiler may inline the others, which
 * are static; scripts/prove/hitpath knows them from the source.
 */
const struct kp_protected kp_waking_path[] = {
	{ "__secondary_switched",	IS_ENABLED(CONFIG_SMP) },
	{ "__secondary_too_slow",	IS_ENABLED(CONFIG_SMP) },
	{ "set_cpu_boot_mode_flag",	true },
	{ "finalise_el2",		true },
	{ "secondary_start_kernel",	IS_ENABLED(CONFIG_SMP) },
	{ "init_gic_priority_masking",	false },
	{ "_cpu_resume",		IS_ENABLED(CONFIG_CPU_PM) },
	{ "cpu_do_resume",		IS_ENABLED(CONFIG_CPU_PM) },
	{ "cpu_die",			IS_ENABLED(CONFIG_HOTPLUG_CPU) },
	{ "cpu_die_early",		IS_ENABLED(CONFIG_SMP) },
	{ "__cpu_try_die",		false },
	{ "cpu_psci_cpu_die",		IS_ENABLED(CONFIG_HOTPLUG_CPU) },
	{ "psci_0_1_cpu_off",		true },
	{ "psci_0_2_cpu_off",		true },
	{ "__psci_cpu_off",		false },
	{ "__invoke_psci_fn_hvc",	true },
	{ "__invoke_psci_fn_smc",	true },
	{ "__arm_smccc_hvc",		true },
	{ "__arm_smccc_smc",		true },
	{ "__efi_rt_asm_wrapper",	IS_ENABLED(CONFIG_EFI) },
	{ "__efi_rt_asm_recover",	IS_ENABLED(CONFIG_EFI) },
	{}
};

/* What a kernel at EL2 executes near a guest; the list in the backend is longer. */
static const struct kp_protected guest_path[] = {
	{ "__kvm_hyp_vector",			true },
	{ "__guest_enter",			true },
	{ "__guest_exit",			true },
	{ "__guest_exit_panic",			true },
	/* Not in Linux 7.3. */
	{ "__fpsimd_restore_state",		false },
	{ "__debug_switch_to_guest",		true },
	{ "__debug_switch_to_host",		true },
	{ "__kvm_adjust_pc",			true },
	{ "__vgic_v3_perform_cpuif_access",	true },
	{ "kvm_unexpected_el2_exception",	false },
	{ "fixup_guest_exit",			false },
	{}
};

static void probe_keeps_off_guest_path(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_KVM) || !is_kernel_in_hyp_mode())
		kunit_skip(test, "needs KVM, and a kernel that runs at EL2");

	kp_expect_protected(test, guest_path);
}

/* What a hit executes before it is guarded against recursion, or in a detour. */
const struct kp_protected kp_hit_path[] = {
	{ "kprobe_brk_handler",		true },
	{ "kprobe_ss_brk_handler",	true },
	{ "kprobe_leave_slot",		true },
	{ "kprobe_unwind_pc",		true },
	{ "arch_leave_detour",		IS_ENABLED(CONFIG_OPTPROBES) },
	{ "kprobe_detour_far",		IS_ENABLED(CONFIG_OPTPROBES) },
	{ "kprobe_detour_near",		IS_ENABLED(CONFIG_OPTPROBES) },
	{ "kretprobe_detour_far",	IS_ENABLED(CONFIG_OPTPROBES) },
	{ "el1h_64_sync",		true },
	{ "el1h_64_sync_handler",	true },
	{ "el1_abort",			true },
	{ "el1_brk64",			true },
	{ "do_el1_brk64",		true },
	{ "debug_exception_enter",	true },
	{ "debug_exception_exit",	true },
	{}
};

/*
 * Compilers make functions of these nevertheless when they optimize for size, or if lockdep or a
 * sanitizer has made them large: several of each name, perhaps with a suffix.
 */
static const char * const inlines[] = {
	"__kern_my_cpu_offset", "__percpu_read_32", "__preempt_count_add",
	"__preempt_count_dec_and_test", "__preempt_count_sub", "arch_irqs_disabled_flags",
	"arch_local_save_flags", "trace_rcu_watching",
};

static bool is_inline(const char *name)
{
	unsigned int i;
	size_t len;

	for (i = 0; i < ARRAY_SIZE(inlines); i++) {
		len = str_has_prefix(name, inlines[i]);
		if (len && (!name[len] || name[len] == '.'))
			return true;
	}
	return false;
}

static bool is_entry_of_inline(unsigned long addr)
{
	unsigned long size, offset;
	char buf[KSYM_NAME_LEN];
	const char *name;
	char *modname;

	name = kallsyms_lookup(addr, &size, &offset, &modname, buf);
	return name && !offset && is_inline(name);
}

/* The functions that the compiler has made of them, some at a time. */
struct copies {
	struct kunit	*test;
	struct kp_watch	there[32];
	struct kprobe	*kps[32];
	unsigned int	nr, total, refused, called;
};

/* If a breakpoint led to a call of one with a probe, hits would recurse without end. */
static void expect_no_recursion(struct copies *c)
{
	struct kp_watch here = KP_WATCH_BOTH(KPB_AT(add));
	struct kunit *test = c->test;
	int ret;

	ret = register_kprobe(&here.kp);
	KUNIT_EXPECT_EQ(test, ret, 0);
	if (!ret) {
		KUNIT_EXPECT_EQ(test, kpb_run(kpb_add, 1), 4);
		unregister_kprobe(&here.kp);
		KUNIT_EXPECT_EQ(test, atomic_read(&here.pre), 1);
	}
	unregister_kprobes(c->kps, c->nr);
	c->nr = 0;
}

static int probe_copy(void *data, const char *name, unsigned long addr)
{
	struct copies *c = data;
	struct kp_watch *w = &c->there[c->nr];

	/* Init text is about to be freed. */
	if (!is_inline(name) || !is_kernel_text(addr))
		return 0;

	c->total++;
	*w = (struct kp_watch)KP_WATCH_BOTH(addr);
	if (register_kprobe(&w->kp)) {
		KUNIT_EXPECT_TRUE_MSG(c->test, within_kprobe_blacklist(addr), "%pS", (void *)addr);
		c->refused++;
		return 0;
	}
	c->kps[c->nr++] = &w->kp;
	if (c->nr == ARRAY_SIZE(c->kps))
		expect_no_recursion(c);
	return 0;
}

/* Whatever the compiler has made of them, direct callees of the hit path are on the blacklist. */
static void expect_callees_refused(struct copies *c, const char *function)
{
	unsigned long at = kallsyms_lookup_name(function), target, size, offset, end;
	u32 insn;

	if (!at || !kallsyms_lookup_size_offset(at, &size, &offset))
		return;
	for (end = at + size; at < end; at += AARCH64_INSN_SIZE) {
		insn = le32_to_cpu(*(__le32 *)at);
		if (!aarch64_insn_is_branch_imm(insn))
			continue;
		target = at + aarch64_get_branch_offset(insn);
		if (!is_entry_of_inline(target))
			continue;
		KUNIT_EXPECT_TRUE_MSG(c->test, within_kprobe_blacklist(target), "%s calls %pS",
				      function, (void *)target);
		c->called++;
	}
}

/* Entry code calls some of them for each breakpoint. */
static void probe_keeps_off_inline_functions(struct kunit *test)
{
	struct copies *c = kp_zalloc(test, sizeof(*c));
	const struct kp_protected *p;

	c->test = test;
	for (p = kp_hit_path; p->name; p++)
		expect_callees_refused(c, p->name);

	kallsyms_on_each_symbol(probe_copy, c);
	if (c->nr)
		expect_no_recursion(c);

	kunit_info(test, "%u functions, %u of them refused; %u calls\n", c->total, c->refused,
		   c->called);
	KP_SKIP_IF(test, !c->total, "the compiler has inlined them all");
}

/*
 * Slots
 */

/* The copy cannot branch back, so it is stepped, or called if it only computes. */
static void probe_without_a_slot_in_reach(struct kunit *test)
{
	static const struct kp_target load = KPB_TARGET(load), mov = KPB_TARGET(mov);
	struct kp_hog hog;

	KP_SKIP_IF(test, !kprobe_boosts(), "no copy branches back");

	kp_hog_slots(test, &hog, false);
	kp_expect_executed(test, &load, "stepped");
	kp_expect_executed(test, &kp_target_add, "emulated");
	/* This one needs no copy. */
	kp_expect_executed(test, &mov, "emulated");
	kp_release_slots(&hog);
	kp_expect_executed(test, &kp_target_add, "boosted");
}

static void probe_without_any_slot(struct kunit *test)
{
	kp_check_without_any_slot(test, kpb_add_at, kpb_b_at, kpb_mov_at);
}

static void probe_without_a_detour(struct kunit *test)
{
	kp_check_without_a_detour(test);
}

/*
 * Breakpoints of others
 */

/* By handlers that are called as by the exception. */
static void expect_foreign(struct kunit *test, struct pt_regs *regs)
{
	unsigned long pc = regs->pc;

	guard(preempt)();
	KUNIT_EXPECT_EQ(test, kprobe_brk_handler(regs, 0), DBG_HOOK_ERROR);
	KUNIT_EXPECT_EQ(test, kprobe_ss_brk_handler(regs, 0), DBG_HOOK_ERROR);
	KUNIT_EXPECT_EQ(test, regs->pc, pc);
	KUNIT_EXPECT_EQ(test, regs->pstate, PSR_MODE_EL1h);
}

static void probe_passes_on_foreign_breakpoints(struct kunit *test)
{
	struct kp_watch w = KP_WATCH_POST(KPB_AT(add));
	struct pt_regs regs = { .pstate = PSR_MODE_EL1h, .pc = (unsigned long)KPB_AT(nop) };

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	expect_foreign(test, &regs);

	/* That of a slot that this CPU does not execute. */
	regs.pc = (unsigned long)get_kprobe(w.kp.addr)->ainsn.insn + KPROBE_STEP_OFFSET +
		  AARCH64_INSN_SIZE;
	expect_foreign(test, &regs);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre) + atomic_read(&w.post), 0);
	unregister_kprobe(&w.kp);
}

#ifdef CONFIG_PROVE_LOCKING
/*
 * What the exit from an exception calls when it informs tracers and lockdep of interrupts. In some
 * builds, hits call the first one, too, so that it cannot be probed.
 */
static const char * const irq_observers[] = { "memset", "lockdep_hardirqs_on_prepare" };

static int skip_pre(struct kprobe *p, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)p->addr + AARCH64_INSN_SIZE);
	return 1;
}

/* As in a function that lockdep calls: interrupts are masked, and lockdep ignores that. */
static unsigned long run_inside_lockdep(void)
{
	unsigned long flags, result;

	raw_local_irq_save(flags);
	__this_cpu_inc(lockdep_recursion);
	result = kpb_run(kpb_add, 4);
	__this_cpu_dec(lockdep_recursion);
	raw_local_irq_restore(flags);
	return result;
}

static void probe_inside_lockdep(struct kunit *test)
{
	struct kp_watch on_add = KP_WATCH_BY_NAME("kpb_add");
	struct kprobe redirects = { .addr = KPB_AT(add), .pre_handler = skip_pre };
	struct kp_watch observers[ARRAY_SIZE(irq_observers)] = {};
	struct kprobe *kps[ARRAY_SIZE(observers) + 1];
	unsigned int i, nr = 0;

	for (i = 0; i < ARRAY_SIZE(observers); i++) {
		if (!i && within_kprobe_blacklist((unsigned long)
						  kprobe_lookup_name(irq_observers[i], 0)))
			continue;
		observers[i].kp.symbol_name = irq_observers[i];
		observers[i].kp.pre_handler = kp_watch_pre;
		/* So that it keeps its breakpoint. */
		observers[i].kp.post_handler = kp_watch_post;
		kps[nr++] = &observers[i].kp;
	}
	kps[nr] = &on_add.kp;
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, nr + 1), 0);
	KUNIT_EXPECT_EQ(test, run_inside_lockdep(), 7);
	unregister_kprobe(&on_add.kp);

	/* A redirected detour ends with an exception, too. */
	kprobe_test_allow_optimization(true);
	KUNIT_EXPECT_EQ(test, register_kprobe(&redirects), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, kpb_has_jump(redirects.addr) || !IS_ENABLED(CONFIG_OPTPROBES));
	KUNIT_EXPECT_EQ(test, run_inside_lockdep(), 4);
	unregister_kprobe(&redirects);
	kprobe_test_allow_optimization(false);

	unregister_kprobes(kps, nr);
	KUNIT_EXPECT_EQ(test, atomic_read(&on_add.pre), 1);
	KUNIT_EXPECT_GT(test, atomic_read(&observers[1].pre), 0);
}
#else
KP_SKIPPED(probe_inside_lockdep, "needs PROVE_LOCKING")
#endif

static struct kunit_case probe_cases[] = {
	KUNIT_CASE_PARAM(probe_post_handler_sees_next_pc, next_gen_params),
	KUNIT_CASE_PARAM(probe_is_refused, refusal_gen_params),
	KUNIT_CASE_PARAM(probe_needs_all_of_a_literal, literal_gen_params),
	KUNIT_CASE_PARAM(probe_keeps_off_exclusive_sequences, exclusive_gen_params),
	KUNIT_CASE(probe_after_a_load_acquire),
	KUNIT_CASE(probe_after_a_wait),
	KUNIT_CASE(probe_keeps_off_the_word_of_ftrace),
	KUNIT_CASE(probe_keeps_off_the_ops_of_ftrace),
	KUNIT_CASE(probe_keeps_off_type_hashes),
	KUNIT_CASE(probe_emulates_entries),
	KUNIT_CASE(probe_on_vector_loads),
	KUNIT_CASE_PARAM(probe_reads_the_priority_mask, mask_user_gen_params),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_PARAM(probe_returns_of_each_kind, returning_gen_params),
#endif
	KUNIT_CASE(probe_waits_for_alternatives),
	KUNIT_CASE(probe_keeps_off_the_idmap),
	KUNIT_CASE(probe_keeps_off_guest_path),
	KUNIT_CASE(probe_keeps_off_inline_functions),
	KUNIT_CASE(probe_without_a_slot_in_reach),
	KUNIT_CASE(probe_without_any_slot),
	KUNIT_CASE(probe_without_a_detour),
	KUNIT_CASE(probe_passes_on_foreign_breakpoints),
	KUNIT_CASE(probe_inside_lockdep),
	{}
};

KP_SUITE(probe_cases, .name = "kprobes_arm64_probe",
	 .suite_init = kp_without_jumps, .suite_exit = kp_with_jumps);
