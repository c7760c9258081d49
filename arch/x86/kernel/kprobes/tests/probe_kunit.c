// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes on single instructions, from end to end: each in every mode that it has, and
 * those that are refused. Functions shared with other suites are declared in
 * breakpoints.h.
 */

#include "suite.h"

#include <linux/execmem.h>
#include <linux/fs.h>
#include <linux/kdebug.h>
#include <linux/kexec.h>
#include <linux/pgtable.h>

#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/msr.h>
#include <asm/nospec-branch.h>
#include <asm/sections.h>

#include "../../../../../kernel/kprobes/slots.h"
#include "../insn.h"
#include "breakpoints.h"
#include "targets.h"
#include "kgdb.h"

unsigned long kpx_pointer = (unsigned long)kpx_callee;
unsigned long kpx_data = 0x1234567;

KP_UNPROBED(kpx_callee, "add $100, %eax");

FUNCTION(nop, "777: nop; add $1, %eax");
FUNCTION(mov, "777: mov %eax, %ecx; lea 3(%ecx), %eax");
FUNCTION(push, "777: push " AX "; pop %" _ASM_CX "; lea 1(%ecx), %eax");
FUNCTION(pop, "push " AX "; xor %eax, %eax; 777: pop " AX);
FUNCTION(sub, "777: sub $5, %eax; sbb $0, %eax");
FUNCTION(add_sp, "push " AX "; 777: add $" __stringify(__SIZEOF_LONG__) ", " SP);
FUNCTION(bt, "777: bt $3, %eax; sbb %eax, %eax");
FUNCTION(load, "777: mov " PTR(kpx_data) ", %ecx; add %ecx, %eax");
FUNCTION(cmp_mem, "777: cmpl $0x1234567, " PTR(kpx_data) "; sete %al");
FUNCTION(jcc, "test %eax, %eax; 777: je 1f; add $7, %eax; 1:");
FUNCTION(jmp, "777: jmp 1f; add $7, %eax; 1:");
FUNCTION(padded, "cmp $5, %eax; je 1f; jmp 2f; int3; int3; 1: add $1, %eax\n"
	 "777: add $2, %eax; 2:");
FUNCTION(hidden, "jmp 1f; int3; int3; 777: or $0x100, %esp; 1: add $1, %eax");
FUNCTION(call, "777: call kpx_callee; add $1, %eax");
FUNCTION(call_cs, "777: .byte 0x2e; call kpx_callee; add $1, %eax");
FUNCTION(call_reg, "mov $kpx_callee, %" _ASM_CX "\n" ANNOTATE_RETPOLINE_SAFE "\n"
	 "777: call *%" _ASM_CX "; add $1, %eax");
FUNCTION(call_mem, ANNOTATE_RETPOLINE_SAFE "\n"
	 "777: call *" PTR(kpx_pointer) "; add $1, %eax");
FUNCTION(jmp_mem, "push $1f\n" ANNOTATE_RETPOLINE_SAFE "\n"
	 "777: jmp *" PTR(kpx_pointer) "; ud2; 1: add $2, %eax");
FUNCTION(ret_imm, "push " AX "; call 2f; add $4, %eax; jmp 1f\n"
	 "2: add $10, %eax\n" ANNOTATE_RETPOLINE_SAFE "\n"
	 "777: .byte 0xc2, " __stringify(__SIZEOF_LONG__) ", 0\n"
	 "1:");
FUNCTION(loop, "mov $4, %ecx; 1: add $1, %eax; 777: loop 1b; add %ecx, %eax");
FUNCTION(pushf, "cmp %eax, %eax; 777: pushf; pop " AX "; and $0x8d5, %eax");
FUNCTION(popfw, "pushfw; 777: popfw; add $1, %eax");
FUNCTION(cli, "pushf; 777: cli; add $1, %eax; popf");
FUNCTION(endbr, "777: .byte 0xf3, 0x0f, 0x1e, 0xfa; add $1, %eax");
FUNCTION(rep_movs, "mov $kpx_data, %" _ASM_SI "; push %" _ASM_DI "; push %" _ASM_DI
	 "; mov " SP ", %" _ASM_DI "; mov $4, %ecx; 777: rep movsb; pop " AX
	 "; pop %" _ASM_DI "; and $0xffffff, %eax");

#define BOOSTED(name, watched) { #name, TARGET(name), "boosted", watched, 1 }
#define ALWAYS(name, mode, hits) { #name, TARGET(name), mode, mode, hits }

const struct kp_form kp_forms[] = {
	BOOSTED(nop, "emulated"),
	BOOSTED(mov, "emulated"),
	BOOSTED(push, "emulated"),
	BOOSTED(pop, "emulated"),
	BOOSTED(sub, "emulated"),
#ifdef CONFIG_X86_64
	BOOSTED(add_sp, "emulated"),
#else
	BOOSTED(add_sp, "stepped"),
#endif
	BOOSTED(bt, "stepped"),
	BOOSTED(load, "stepped"),
	BOOSTED(cmp_mem, "stepped"),
	BOOSTED(rep_movs, "stepped"),
	ALWAYS(jcc, "emulated", 1),
	ALWAYS(jmp, "emulated", 1),
	ALWAYS(call, "emulated", 1),
	ALWAYS(call_cs, "emulated", 1),
	ALWAYS(call_reg, "emulated", 1),
	ALWAYS(call_mem, "stepped", 1),
	ALWAYS(jmp_mem, "stepped", 1),
	ALWAYS(ret_imm, "emulated", 1),
	ALWAYS(loop, "emulated", 4),
	ALWAYS(pushf, "emulated", 1),
	ALWAYS(popfw, "emulated", 1),
	ALWAYS(cli, "emulated", 1),
	BOOSTED(endbr, "stepped"),
};

const unsigned int nr_kp_forms = ARRAY_SIZE(kp_forms);

static void expect_next(struct kunit *test, void (*fn)(void), u8 *addr, unsigned long next)
{
	struct kp_watch w = KP_WATCH_POST(addr);

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	kp_run(fn, 1);
	KUNIT_EXPECT_EQ(test, w.post_ip, next);
	unregister_kprobe(&w.kp);
}

/* A post handler sees where execution continues. */
static void probe_post_handler_sees_next_ip(struct kunit *test)
{
	expect_next(test, kpx_call_cs, AT(call_cs), (unsigned long)kpx_callee);
	expect_next(test, kpx_bt, AT(bt), (unsigned long)AT(bt) + 4);
}

#ifdef CONFIG_KRETPROBES
/* A function that ends with a jump to another one returns once, for both. */
FUNCTION(tail, "777: add $10, %eax; jmp kpx_callee");

static struct kretprobe tail_rp, callee_rp;
static char returns[8];
static unsigned int nr_returns;

static int note_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (nr_returns < ARRAY_SIZE(returns) - 1)
		returns[nr_returns++] = get_kretprobe(ri) == &tail_rp ? 't' : 'c';
	return 0;
}

static void probe_tail_call_returns_once(struct kunit *test)
{
	tail_rp = (struct kretprobe) { .handler = note_return, .kp.symbol_name = "kpx_tail" };
	callee_rp = (struct kretprobe) { .handler = note_return, .kp.symbol_name = "kpx_callee" };
	memset(returns, 0, sizeof(returns));
	nr_returns = 0;

	KUNIT_ASSERT_EQ(test, register_kretprobe(&tail_rp), 0);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&callee_rp), 0);
	KUNIT_EXPECT_EQ(test, kp_run(kpx_tail, 1), 111);
	KUNIT_EXPECT_STREQ(test, returns, "ct");
	KUNIT_EXPECT_EQ(test, kp_run(kpx_callee, 1), 101);
	KUNIT_EXPECT_STREQ(test, returns, "ctc");

	unregister_kretprobe(&tail_rp);
	KUNIT_EXPECT_EQ(test, kp_run(kpx_tail, 1), 111);
	KUNIT_EXPECT_STREQ(test, returns, "ctcc");
	unregister_kretprobe(&callee_rp);
}
#endif

/*
 * Refusals
 */

FUNCTION(refuse_hlt, "jmp 1f; 777: hlt; 1:");
FUNCTION(refuse_ud2, "jmp 1f; 777: ud2; 1:");
FUNCTION(refuse_int3, "jmp 1f; 777: int3; 1:");
FUNCTION(refuse_swapgs, "jmp 1f; 777: .byte 0x0f, 0x01, 0xf8; 1:");
FUNCTION(refuse_iret, "jmp 1f; 777: iretl; 1:");
FUNCTION(refuse_middle, ".byte 0x05; 777: .byte 1, 0, 0, 0");
FUNCTION(refuse_zeropad, "777: mov (" AX "), " AX "; 1:\n"
	 _ASM_EXTABLE_TYPE(777b, 1b, EX_TYPE_ZEROPAD));
/*
 * In the middle of a no-op that the base's decoder takes to be shorter; and after it.
 */
FUNCTION(refuse_in_unknown, "jmp 1f; .byte 0x0f, 0x19; 777: .byte 0xf8; 1: add $1, %eax");
FUNCTION(refuse_after_unknown, "jmp 1f; .byte 0x0f, 0x19, 0xf8; 1: 777: add $1, %eax");
FUNCTION(refuse_static_call, "jmp 1f; 777: .byte 0xe9, 0, 0, 0, 0, 0x0f, 0xb9, 0xcc; 1:");

struct refusal {
	const char	*name;
	struct kp_place	place;
	int		err;
};

static const struct refusal refusals[] = {
	{ "hlt",		PLACE(refuse_hlt),	-EINVAL },
	{ "ud2",		PLACE(refuse_ud2),	-EILSEQ },
	{ "int3",		PLACE(refuse_int3),	-EILSEQ },
#ifdef CONFIG_X86_64
	{ "swapgs",		PLACE(refuse_swapgs),	-EINVAL },
#endif
	{ "iret",		PLACE(refuse_iret),	-EOPNOTSUPP },
	{ "middle",		PLACE(refuse_middle),	-EILSEQ },
	{ "fixup that reads the text",	PLACE(refuse_zeropad),	-EINVAL },
	{ "in an instruction of unknown length", PLACE(refuse_in_unknown), -EILSEQ },
	{ "after one of unknown length", PLACE(refuse_after_unknown), -EILSEQ },
	{ "trampoline of a static call", PLACE(refuse_static_call), -EINVAL },
};
KUNIT_ARRAY_PARAM_DESC(refusal, refusals, name);

static void probe_is_refused(struct kunit *test)
{
	const struct refusal *r = test->param_value;
	u8 *addr = kp_at(&r->place), before = *addr;
	struct kprobe kp = { .addr = addr, .pre_handler = kp_watch_pre };

	KUNIT_EXPECT_EQ(test, register_kprobe(&kp), r->err);
	KUNIT_EXPECT_EQ(test, *addr, before);
	KUNIT_EXPECT_PTR_EQ(test, get_kprobe(addr), NULL);
}

/*
 * The trampoline of a static call of a module, which does nothing yet; but objtool would
 * not accept the return that it begins with.
 */
asm(".pushsection .text\n"
	".balign 16\n"
	".globl __SCT__kpx_null\n"
	".type __SCT__kpx_null, @function\n"
	"__SCT__kpx_null:\n"
	ANNOTATE_NOENDBR "\n"
	"	nop; int3; nop; nop; nop\n"
	"	.byte 0x0f, 0xb9, 0xcc\n"
	".size __SCT__kpx_null, . - __SCT__kpx_null\n"
	".popsection\n");
void __SCT__kpx_null(void);
STACK_FRAME_NON_STANDARD(__SCT__kpx_null);

/* A call will replace all of its instructions, not only the first one. */
static void probe_keeps_off_static_call(struct kunit *test)
{
	static const u8 offsets[] = { 0, 2, 3, 4 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		unsigned long addr = (unsigned long)__SCT__kpx_null;
		struct kprobe kp = { .pre_handler = kp_watch_pre };

		OPTIMIZER_HIDE_VAR(addr);
		kp.addr = (kprobe_opcode_t *)(addr + offsets[i]);
		KUNIT_EXPECT_EQ_MSG(test, register_kprobe(&kp), -EINVAL, "at %u", offsets[i]);
		if (get_kprobe((void *)(addr + offsets[i])))
			unregister_kprobe(&kp);
	}
}

asm(".pushsection .text\n"
	".globl kpx_gap\n"
	".type kpx_gap, @function\n"
	"kpx_gap:\n"
	ANNOTATE_NOENDBR "\n"
	"	nop\n"
	ASM_RET
	"	.fill 9000, 1, 0xcc\n"
	"	nop\n"
	ASM_RET
	".size kpx_gap, . - kpx_gap\n"
	".popsection\n");
void kpx_gap(void);
STACK_FRAME_NON_STANDARD(kpx_gap);

/* Decoding all of a long padding would take long, and be of no use. */
static void probe_does_not_look_after_a_gap(struct kunit *test)
{
	struct kprobe before = { .addr = (kprobe_opcode_t *)kpx_gap };
	struct kprobe after = { };
	u8 *at = (u8 *)kpx_gap;

	while (memchr_inv(at, INT3_INSN_OPCODE, 16))
		at++;
	while (*at == INT3_INSN_OPCODE)
		at++;
	after.addr = (kprobe_opcode_t *)at;
	KUNIT_EXPECT_EQ(test, register_kprobe(&before), 0);
	unregister_kprobe(&before);
	KUNIT_EXPECT_EQ(test, register_kprobe(&after), -EILSEQ);
}

static void *alloc_no_page(void)
{
	return NULL;
}

/* All slots are taken, and there is no memory for more. Only what is emulated does without. */
static void probe_needs_a_slot(struct kunit *test)
{
	void *(*alloc)(void) = kprobe_insn_slots.alloc;
	struct kprobe p = { .addr = AT(bt), .pre_handler = kp_watch_pre };
	struct kprobe mov = { .addr = AT(mov), .pre_handler = kp_watch_pre };
	unsigned int nr = 0, max = 4 * PAGE_SIZE / KPROBE_INSN_SLOT_SIZE;
	kprobe_opcode_t **slot;

	slot = kp_calloc(test, max, sizeof(*slot));

	/* Slots that are still waited for would come back in the meantime. */
	kp_flush_slots(&kprobe_insn_slots);
	scoped_guard(mutex, &kprobe_insn_slots.mutex)
		kprobe_insn_slots.alloc = alloc_no_page;
	while (nr < max && (slot[nr] = get_insn_slot()))
		nr++;
	KUNIT_EXPECT_LT(test, nr, max);
	KUNIT_EXPECT_EQ(test, register_kprobe(&p), -ENOMEM);
	KUNIT_EXPECT_EQ(test, register_kprobe(&mov), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(mov.addr), "emulated");
	unregister_kprobe(&mov);

	while (nr)
		free_insn_slot(slot[--nr], 0);
	scoped_guard(mutex, &kprobe_insn_slots.mutex)
		kprobe_insn_slots.alloc = alloc;
	KUNIT_EXPECT_EQ(test, register_kprobe(&p), 0);
	unregister_kprobe(&p);
}

/* Text in which this architecture allows no probes. */
const struct kp_area kp_areas[] = {
	{ "entry text", __entry_text_start, __entry_text_end },
#ifdef CONFIG_HAVE_STATIC_CALL
	{ "static calls", __static_call_text_start, __static_call_text_end },
#endif
#ifdef CONFIG_KEXEC_CORE
	{ "relocate_kernel", (const char *)relocate_kernel,
	  .size = KEXEC_CONTROL_CODE_MAX_SIZE },
#endif
};

const unsigned int nr_kp_areas = ARRAY_SIZE(kp_areas);

bool kp_area_exists(const struct kp_area *a)
{
	return true;
}

/*
 * What a CPU calls before it has loaded its IDT, and whether this kernel has it. Some of
 * these are inlined, unless they are the default of a hypervisor's hook.
 */
const struct kp_protected kp_waking_path[] = {
	{ "native_write_cr4",		true },
	{ "native_write_cr0",		true },
	{ "cr4_update_irqsoff",		true },
	{ "get_cpu_entry_area",		true },
	{ "load_current_idt",		true },
	{ "do_trace_write_msr",		IS_ENABLED(CONFIG_TRACEPOINTS) },
	{ "restore_processor_state",	IS_ENABLED(CONFIG_PM_SLEEP) },
	{ "__restore_processor_state",	false },
#ifdef CONFIG_PARAVIRT_XXL
	/* Elsewhere, it is inline, or has a copy in each object that uses it. */
	{ "native_write_msr",		true },
#endif
	{ "native_write_cr3",		IS_ENABLED(CONFIG_PARAVIRT_XXL) },
	{ "native_load_idt",		IS_ENABLED(CONFIG_PARAVIRT_XXL) },
	{ "native_load_tr_desc",	IS_ENABLED(CONFIG_PARAVIRT_XXL) },
	{ "native_write_gdt_entry",	IS_ENABLED(CONFIG_PARAVIRT_XXL) },
	{ "cpu_init_fred_exceptions",	IS_ENABLED(CONFIG_X86_FRED) },
	{ "setup_ghcb",			IS_ENABLED(CONFIG_AMD_MEM_ENCRYPT) },
	{ "load_ucode_ap",		IS_ENABLED(CONFIG_SMP) && IS_ENABLED(CONFIG_MICROCODE) },
	{ "startup_64_load_idt",	false },
	{ "__pi_startup_64_load_idt",	false },
#ifdef CONFIG_X86_32
	{ "__flush_tlb_all",		true },
	{ "native_flush_tlb_global",	false },
	{ "native_flush_tlb_local",	false },
#endif
	{}
};

/* load_ucode_ap(), which is not followed, verifies a digest. */
static void probe_accepts_what_loads_of_microcode_call(struct kunit *test)
{
	unsigned long addr = kallsyms_lookup_name("__sha256_update") ?:
			     kallsyms_lookup_name("sha256_update");

	KP_SKIP_IF(test, !addr, "needs CRYPTO_LIB_SHA256");
	KUNIT_EXPECT_FALSE(test, within_kprobe_blacklist(addr));
}

/* What an INT3 calls before a hit is known to be nested. */
const struct kp_protected kp_hit_path[] = {
	{ "asm_exc_int3",		true },
	{ "exc_int3",			true },
	{ "do_int3",			false },
	{ "kgdb_ll_trap",		false },
	{ "kprobe_int3_handler",	true },
	{ "kprobe_is_kgdb_breakpoint",	false },
	{ "kgdb_has_hit_break",		IS_ENABLED(CONFIG_KGDB) },
	{}
};

/* Of two, the second is never checked. */
static int failing_thread(void *data)
{
	unsigned long *wrong = data;

	while (!kthread_should_stop()) {
		struct kp_watch bad = { .kp = { .addr = AT(refuse_middle) } };
		struct kp_watch good = { .kp = { .addr = AT(bt) } };
		struct kprobe *kps[] = { &bad.kp, &good.kp };

		bad.kp.pre_handler = kp_watch_pre;
		good.kp.pre_handler = kp_watch_pre;
		if (register_kprobes(kps, 2) != -EILSEQ)
			++*wrong;
		if (atomic_read(&bad.pre) || atomic_read(&good.pre))
			++*wrong;
		cond_resched();
	}

	return 0;
}

/* The leftovers of a failed batch must not be reused by others. */
static void probe_beside_failures(struct kunit *test)
{
	unsigned long end = jiffies + HZ / 2, wrong = 0;
	struct task_struct *task[2];
	u8 before = *AT(bt);
	int i;

	for (i = 0; i < ARRAY_SIZE(task); i++) {
		task[i] = kthread_run(failing_thread, &wrong, "kpx/%d", i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(task[i]));
	}

	while (time_before(jiffies, end) && !wrong) {
		struct kp_watch w = KP_WATCH(AT(bt));

		if (register_kprobe(&w.kp))
			break;
		kp_run(kpx_bt, 1);
		wrong += atomic_read(&w.pre) != 1;
		wrong += get_kprobe(AT(bt))->opcode != before;
		unregister_kprobe(&w.kp);
		cond_resched();
	}
	KUNIT_EXPECT_FALSE(test, time_before(jiffies, end));

	for (i = 0; i < ARRAY_SIZE(task); i++)
		kthread_stop(task[i]);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, *AT(bt), before);
}

/* Stepping does not use the trap flag, and so does not disturb others that do. */

static atomic_t debug_traps, trap_flags;

static int on_die(struct notifier_block *nb, unsigned long why, void *data)
{
	if (why == DIE_DEBUG)
		atomic_inc(&debug_traps);
	return NOTIFY_DONE;
}

static int trap_flag_pre(struct kprobe *p, struct pt_regs *regs)
{
	if (regs->flags & X86_EFLAGS_TF)
		atomic_inc(&trap_flags);
	return kp_watch_pre(p, regs);
}

static void trap_flag_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	trap_flag_pre(p, regs);
}

static void probe_steps_without_trap_flag(struct kunit *test)
{
	struct notifier_block nb = { .notifier_call = on_die };
	struct kp_watch w = {
		.kp = {
			.addr = AT(bt),
			.pre_handler = trap_flag_pre,
			.post_handler = trap_flag_post,
		},
	};
	u32 before[2] = {}, after[2] = {};

	atomic_set(&debug_traps, 0);
	atomic_set(&trap_flags, 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, kp_mode(AT(bt)), "stepped");
	KUNIT_EXPECT_EQ(test, register_die_notifier(&nb), 0);

	preempt_disable();
	rdmsr_safe(MSR_IA32_DEBUGCTLMSR, &before[0], &before[1]);
	kp_run(kpx_bt, 8);
	rdmsr_safe(MSR_IA32_DEBUGCTLMSR, &after[0], &after[1]);
	preempt_enable();

	unregister_die_notifier(&nb);
	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&trap_flags), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&debug_traps), 0);
	KUNIT_EXPECT_MEMEQ(test, after, before, sizeof(after));
}

/* Padding that looks like breakpoints does not prevent probes after it. */
static void probe_after_padding(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(AT(padded));

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, kp_run(kpx_padded, 5), 8);
	KUNIT_EXPECT_EQ(test, kp_run(kpx_padded, 6), 6);
	KP_UNWATCH(test, w, 1);
}

/*
 * Breakpoints of others
 */

FUNCTION(foreign, "777: int3; add $1, %eax");

static int claim_int3(struct notifier_block *nb, unsigned long why, void *data)
{
	struct die_args *args = data;

	if (why != DIE_INT3 || args->regs->ip != (unsigned long)AT(foreign) + INT3_INSN_SIZE)
		return NOTIFY_DONE;
	atomic_inc(&debug_traps);
	return NOTIFY_STOP;
}

static void probe_passes_on_foreign_breakpoints(struct kunit *test)
{
	struct notifier_block nb = { .notifier_call = claim_int3 };
	struct kp_watch w = KP_WATCH(AT(nop));
	unsigned long ip = (unsigned long)AT(nop) + INT3_INSN_SIZE;
	struct pt_regs user = { .cs = __USER_CS };

	atomic_set(&debug_traps, 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);

	/* In the kernel, its owner handles it. */
	KUNIT_EXPECT_EQ(test, register_die_notifier(&nb), 0);
	KUNIT_EXPECT_EQ(test, kp_run(kpx_foreign, 1), 2);
	unregister_die_notifier(&nb);
	KUNIT_EXPECT_EQ(test, atomic_read(&debug_traps), 1);

	/*
	 * A breakpoint of a program is left to the program. With 32 bits, it may seem to have any
	 * address, and on a 64-bit kernel one of 32 bits.
	 */
	if (IS_ENABLED(CONFIG_X86_64))
		ip = (u32)ip;
	user.ip = ip;
	preempt_disable();
	KUNIT_EXPECT_EQ(test, kprobe_int3_handler(&user), 0);
	preempt_enable();
	KUNIT_EXPECT_EQ(test, user.ip, ip);

	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 0);
}

/* A breakpoint at an ftrace site: ftrace calls the probe, so it is not the probe's. */
#ifdef CONFIG_KPROBES_ON_FTRACE
static void poke_byte(unsigned long addr, u8 byte)
{
	guard(mutex)(&text_mutex);
	text_poke((void *)addr, &byte, 1);
	smp_text_poke_sync_each_cpu();
}

static KP_TRACED(int, kpx_traced, v * 3)

static unsigned long traced_site;

/* As if the call of ftrace had returned. */
static int skip_traced_site(struct notifier_block *nb, unsigned long why, void *data)
{
	struct die_args *args = data;

	if (why != DIE_INT3 || args->regs->ip != traced_site + INT3_INSN_SIZE)
		return NOTIFY_DONE;
	args->regs->ip = traced_site + MCOUNT_INSN_SIZE;
	atomic_inc(&debug_traps);
	return NOTIFY_STOP;
}

static void probe_leaves_breakpoints_at_ftrace_sites(struct kunit *test)
{
	struct notifier_block nb = { .notifier_call = skip_traced_site };
	struct kp_watch w = KP_WATCH_BY_NAME("kpx_traced");
	u8 byte;

	atomic_set(&debug_traps, 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&w.kp));
	KUNIT_EXPECT_EQ(test, kpx_traced(2), 6);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);

	traced_site = (unsigned long)w.kp.addr;
	byte = *w.kp.addr;
	KUNIT_EXPECT_EQ(test, register_die_notifier(&nb), 0);
	poke_byte(traced_site, INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, kpx_traced(3), 9);
	/* For unwinders, too, it is not the breakpoint of a probe. */
	KUNIT_EXPECT_EQ(test, kprobe_unwind_trap_ip(traced_site + INT3_INSN_SIZE, NULL),
			traced_site + INT3_INSN_SIZE);
	poke_byte(traced_site, byte);
	unregister_die_notifier(&nb);

	KUNIT_EXPECT_EQ(test, atomic_read(&debug_traps), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	KUNIT_EXPECT_EQ(test, kpx_traced(4), 12);
	KP_UNWATCH(test, w, 2);
}
#endif

/* Copies are executed, and never written in place. */
static void probe_slot_is_read_only(struct kunit *test)
{
	struct kp_watch w = KP_WATCH(AT(bt));
	const struct kprobe *p;
	unsigned int level;
	pte_t *pte;

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	p = get_kprobe(AT(bt));
	pte = lookup_address((unsigned long)p->ainsn.insn, &level);
	KUNIT_EXPECT_NOT_NULL(test, pte);
	if (pte) {
		KUNIT_EXPECT_FALSE(test, pte_write(*pte));
		KUNIT_EXPECT_TRUE(test, pte_exec(*pte));
	}
	unregister_kprobe(&w.kp);
}

/* How often the task has made pages writable. Others may do so, too. */
static struct {
	struct task_struct	*by;
	unsigned int		times;
} made_writable;

static int count_mine(struct kprobe *p, struct pt_regs *regs)
{
	made_writable.times += current == made_writable.by;
	return 0;
}

/* A page as alloc_insn_page() returns it, and as the next user of executable memory finds it. */
static void probe_slot_page_is_full_of_breakpoints(struct kunit *test)
{
	struct kprobe p = { .symbol_name = "set_memory_rw", .pre_handler = count_mine };
	bool shared = execmem_is_rox(EXECMEM_KPROBES);
	unsigned int level = 0;
	u8 *page, *text;
	pte_t *pte;

	made_writable.by = current;
	made_writable.times = 0;
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	page = alloc_insn_page();
	unregister_kprobe(&p);
	text = kp_zalloc(test, PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, page);

	pte = lookup_address((unsigned long)page, &level);
	KUNIT_ASSERT_NOT_NULL(test, pte);
	KUNIT_EXPECT_FALSE(test, pte_write(*pte));
	KUNIT_EXPECT_TRUE(test, pte_exec(*pte));
	/*
	 * What others execute there keeps its large page. A split page may be joined again, so
	 * its level alone proves nothing.
	 */
	KUNIT_EXPECT_EQ(test, level, shared ? PG_LEVEL_2M : PG_LEVEL_4K);
	KUNIT_EXPECT_EQ(test, made_writable.times, shared ? 0 : 1);
	KUNIT_EXPECT_NULL(test, memchr_inv(page, INT3_INSN_OPCODE, PAGE_SIZE));

	text_poke_set(page, RET_INSN_OPCODE, PAGE_SIZE);
	KUNIT_EXPECT_NULL(test, memchr_inv(page, RET_INSN_OPCODE, PAGE_SIZE));
	execmem_free(page);
	if (!shared || copy_from_kernel_nofault(text, page, PAGE_SIZE))
		return;
	KUNIT_EXPECT_NULL(test, memchr_inv(text, INT3_INSN_OPCODE, PAGE_SIZE));
}

/* A copy can refer to anything near the original. */
static bool reaches(const void *from, unsigned long to)
{
	long distance = to - (unsigned long)from;

	return distance == (s32)distance;
}

static void expect_near(struct kunit *test, const void *slot)
{
	KUNIT_EXPECT_TRUE(test, reaches(slot, (unsigned long)_stext));
	KUNIT_EXPECT_TRUE(test, reaches(slot, (unsigned long)_end));
	KUNIT_EXPECT_TRUE(test, reaches(slot, MODULES_VADDR));
	KUNIT_EXPECT_TRUE(test, reaches(slot, MODULES_END - 1));
}

#ifdef CONFIG_OPTPROBES
static void expect_near_detours(struct kunit *test)
{
	void *slot = get_optinsn_slot();

	KUNIT_ASSERT_NOT_NULL(test, slot);
	expect_near(test, slot);
	free_optinsn_slot(slot, 0);
}
#else
static void expect_near_detours(struct kunit *test)
{
}
#endif

static void probe_slots_reach_kernel_and_modules(struct kunit *test)
{
	void *slot = get_insn_slot();

	KUNIT_ASSERT_NOT_NULL(test, slot);
	expect_near(test, slot);
	free_insn_slot(slot, 0);
	expect_near_detours(test);
	/* Other memory is out of reach. */
	KUNIT_EXPECT_FALSE(test, IS_ENABLED(CONFIG_X86_64) && reaches(test, MODULES_VADDR));
}

#ifdef CONFIG_KGDB
/* kgdb may have a breakpoint on the way, so the instructions after it are unknown. */
static void probe_shares_text_with_kgdb(struct kunit *test)
{
	unsigned long start = (unsigned long)AT(bt);
	struct kp_watch w = KP_WATCH(AT(bt) + 4);
	unsigned long want = kp_run(kpx_bt, 8);

	kgdb_set_break(test, start);
	KUNIT_EXPECT_EQ(test, *(u8 *)start, INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), -EILSEQ);
	kgdb_remove_break(test, start);
	KUNIT_EXPECT_NE(test, *(u8 *)start, INT3_INSN_OPCODE);

	/*
	 * After padding, too, where the breakpoint hides an instruction whose second byte
	 * looks like one more.
	 */
	memset(&w, 0, sizeof(w));
	w.kp.addr = AT(hidden) + 2;
	KUNIT_ASSERT_EQ(test, *(u8 *)(AT(hidden) + 1), INT3_INSN_OPCODE);
	kgdb_set_break(test, (unsigned long)AT(hidden));
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), -EILSEQ);
	kgdb_remove_break(test, (unsigned long)AT(hidden));

	/*
	 * And the other way around: kgdb sets and removes a breakpoint where a probe
	 * is.
	 */
	memset(&w, 0, sizeof(w));
	w.kp.addr = AT(bt);
	w.kp.pre_handler = kp_watch_pre;
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	kgdb_set_break(test, (unsigned long)AT(bt));
	KUNIT_EXPECT_EQ(test, kp_run(kpx_bt, 8), want);
	kgdb_remove_break(test, (unsigned long)AT(bt));
	KUNIT_EXPECT_EQ(test, kp_run(kpx_bt, 8), want);
	KP_UNWATCH(test, w, 2);
	KUNIT_EXPECT_EQ(test, kp_run(kpx_bt, 8), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
}

/* In place of the no-op, which needs no emulation. */
static int claim_nop(struct notifier_block *nb, unsigned long why, void *data)
{
	struct die_args *args = data;

	if (why != DIE_INT3 || args->regs->ip != (unsigned long)AT(nop) + INT3_INSN_SIZE)
		return NOTIFY_DONE;
	atomic_inc(&debug_traps);
	return NOTIFY_STOP;
}

/* Where a disabled probe has no breakpoint, a breakpoint is that of kgdb. */
static void probe_leaves_kgdb_its_breakpoint(struct kunit *test)
{
	struct notifier_block nb = { .notifier_call = claim_nop };
	struct kp_watch w = {
		.kp = {
			.addr		= AT(nop),
			.pre_handler	= kp_watch_pre,
			.flags		= KPROBE_FLAG_DISABLED,
		},
	};
	unsigned long addr = (unsigned long)AT(nop);

	atomic_set(&debug_traps, 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, register_die_notifier(&nb), 0);
	kgdb_set_break(test, addr);
	KUNIT_EXPECT_EQ(test, kp_run(kpx_nop, 1), 2);
	kgdb_remove_break(test, addr);
	unregister_die_notifier(&nb);
	KUNIT_EXPECT_EQ(test, atomic_read(&debug_traps), 1);

	/* Without it, the probe works as before. */
	KUNIT_EXPECT_EQ(test, enable_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, kp_run(kpx_nop, 1), 2);
	KP_UNWATCH(test, w, 1);
}
#else
KP_SKIPPED(probe_shares_text_with_kgdb, "needs KGDB")

KP_SKIPPED(probe_leaves_kgdb_its_breakpoint, "needs KGDB")
#endif

/* With an armed probe before it, the function is still decoded correctly. */
static void probe_next_to_armed_probe(struct kunit *test)
{
	struct kp_watch a = KP_WATCH(AT(bt));
	struct kp_watch b = KP_WATCH(AT(bt) + 4);
	struct kprobe middle = { .addr = AT(bt) + 1 };
	unsigned long want = kp_run(kpx_bt, 8);

	KUNIT_ASSERT_EQ(test, register_kprobe(&a.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&middle), -EILSEQ);
	KUNIT_EXPECT_EQ(test, register_kprobe(&b.kp), 0);
	KUNIT_EXPECT_EQ(test, kp_run(kpx_bt, 8), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&a.pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&b.pre), 1);
	unregister_kprobe(&a.kp);
	unregister_kprobe(&b.kp);
}

/* The part of the function that is probed, byte by byte. */
#define WHOLE_SIZE	300

static void sweep_function(struct kunit *test, unsigned long start, unsigned long size,
			   const u8 *text)
{
	unsigned int begins = 0, accepted = 0;
	unsigned long i, next = 0;
	struct kprobe_insn ki;
	bool is_start, is_trap;
	struct kprobe kp;
	int ret;

	for (i = 0; i < size; i++) {
		is_start = i == next;
		if (is_start) {
			KUNIT_ASSERT_EQ(test, insn_decode_kernel(&ki.insn, text + i), 0);
			memcpy(ki.bytes, text + i, ki.insn.length);
			next = i + kprobe_skip(&ki, start + i);
			begins++;
		}
		/* Registered disabled: everything but arming. */
		kp = (struct kprobe) {
			.addr = (kprobe_opcode_t *)(start + i),
			.pre_handler = kp_watch_pre,
			.flags = KPROBE_FLAG_DISABLED,
		};
		ret = register_kprobe(&kp);
		if (!ret)
			unregister_kprobe(&kp);
		if (!is_start) {
			KUNIT_EXPECT_NE_MSG(test, ret, 0, "%lu is inside", i);
			continue;
		}
		is_trap = text[i] == INT3_INSN_OPCODE ||
			  (text[i] == 0x0f && text[i + 1] == 0x0b);
		if (!is_trap)
			KUNIT_EXPECT_NE_MSG(test, ret, -EILSEQ, "%lu is a start", i);
		accepted += !ret;
	}

	/* Most of them can be probed. */
	KUNIT_EXPECT_GT(test, begins, 30);
	KUNIT_EXPECT_GT(test, accepted, begins * 3 / 4);
}

/* Accepted only where instructions start, according to a decoder without probes. */
static void probe_only_where_instructions_start(struct kunit *test)
{
	struct kprobe traced = { .symbol_name = "vfs_read" };
	unsigned long start = (unsigned long)vfs_read, size, into;
	u8 *text = kp_zalloc(test, WHOLE_SIZE + MAX_INSN_SIZE);

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &into));
	KUNIT_ASSERT_EQ(test, into, 0);
	size = min(size, WHOLE_SIZE);
	memcpy(text, (void *)start, size + MAX_INSN_SIZE);
	sweep_function(test, start, size, text);

	/* With a breakpoint in it, or a call at its ftrace site. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&traced), 0);
	KUNIT_EXPECT_NE(test, memcmp(text, (void *)start, size), 0);
	sweep_function(test, start, size, text);
	unregister_kprobe(&traced);
	KUNIT_EXPECT_EQ(test, memcmp(text, (void *)start, size), 0);
}

static struct kunit_case probe_cases[] = {
	KUNIT_CASE(probe_post_handler_sees_next_ip),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(probe_tail_call_returns_once),
#endif
	KUNIT_CASE_PARAM(probe_is_refused, refusal_gen_params),
	KUNIT_CASE(probe_keeps_off_static_call),
	KUNIT_CASE(probe_accepts_what_loads_of_microcode_call),
	KUNIT_CASE(probe_beside_failures),
	KUNIT_CASE(probe_steps_without_trap_flag),
	KUNIT_CASE(probe_after_padding),
	KUNIT_CASE(probe_does_not_look_after_a_gap),
	KUNIT_CASE(probe_needs_a_slot),
	KUNIT_CASE(probe_passes_on_foreign_breakpoints),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(probe_leaves_breakpoints_at_ftrace_sites),
#endif
	KUNIT_CASE(probe_slot_is_read_only),
	KUNIT_CASE(probe_slot_page_is_full_of_breakpoints),
	KUNIT_CASE(probe_slots_reach_kernel_and_modules),
	KUNIT_CASE(probe_shares_text_with_kgdb),
	KUNIT_CASE(probe_leaves_kgdb_its_breakpoint),
	KUNIT_CASE(probe_next_to_armed_probe),
	KUNIT_CASE(probe_only_where_instructions_start),
	{}
};

KP_SUITE(probe_cases, .name = "kprobes_x86_probe",
	 .suite_init = kp_without_jumps, .suite_exit = kp_with_jumps);
