// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes on single instructions, from end to end: each in every mode that it
 * has, with its faults, and inside NMIs.
 */

#include <kunit/test.h>
#include <linux/cfi.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/kdebug.h>
#include <linux/kexec.h>
#include <linux/kgdb.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/linkage.h>
#include <linux/mman.h>
#include <linux/objtool.h>
#include <linux/pgtable.h>
#include <linux/uaccess.h>

#include <asm/alternative.h>
#include <asm/apic.h>
#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/irq_vectors.h>
#include <asm/msr.h>
#include <asm/nmi.h>
#include <asm/nospec-branch.h>
#include <asm/sections.h>
#include <asm/smap.h>
#include <asm/trapnr.h>

#include "../common.h"
#include "hit.h"
#include "optimizer.h"
#ifdef CONFIG_KGDB
#include "../../../../../kernel/debug/debug_core.h"
#endif

/*
 * FUNCTION(name, code): a function of one argument in ax, which gives its
 * result there. The probed instruction is behind the label 777.
 */
#define FUNCTION(name, code)						\
asm(".pushsection .text\n"						\
	".balign 16\n"							\
	".globl kpx_" #name "\n"						\
	".type kpx_" #name ", @function\n"					\
	"kpx_" #name ":\n"							\
	ASM_ENDBR								\
	code "\n"								\
	ASM_RET								\
	".size kpx_" #name ", . - kpx_" #name "\n"				\
	".popsection\n"							\
	".pushsection .rodata\n"						\
	".balign 4\n"							\
	".globl kpx_off_" #name "\n"					\
	"kpx_off_" #name ": .long 777b - kpx_" #name "\n"			\
	".popsection\n");							\
void kpx_##name(void);					\
extern const u32 kpx_off_##name;					\
STACK_FRAME_NON_STANDARD(kpx_##name)

/* A pointer into the middle of a function is nothing for static data. */
struct place {
	void		(*fn)(void);
	const u32	*offset;
};

#define PLACE(name)	{ kpx_##name, &kpx_off_##name }
#define AT(name)	at(&(struct place)PLACE(name))

static noinline u8 *at(const struct place *p)
{
	return (u8 *)p->fn + *p->offset;
}

#define AX	"%" _ASM_AX
#define SP	"%" _ASM_SP

/* Where indirect branches of the tests find their target. */
extern unsigned long kpx_pointer, kpx_data;

unsigned long kpx_pointer;
unsigned long kpx_data = 0x1234567;

#ifdef CONFIG_X86_64
#define PTR(sym)	#sym "(%rip)"
#else
#define PTR(sym)	#sym
#endif

asm(".pushsection .text\n"
	".globl kpx_callee\n"
	".type kpx_callee, @function\n"
	"kpx_callee:\n"
	ASM_ENDBR
	"	add $100, %eax\n"
	ASM_RET
	".size kpx_callee, . - kpx_callee\n"
	".popsection\n");
void kpx_callee(void);

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
FUNCTION(call, "777: call kpx_callee; add $1, %eax");
FUNCTION(call_cs, "777: .byte 0x2e; call kpx_callee; add $1, %eax");
FUNCTION(call_reg, "mov $kpx_callee, %" _ASM_CX "\n" ANNOTATE_RETPOLINE_SAFE
	 "777: call *%" _ASM_CX "; add $1, %eax");
FUNCTION(call_mem, ANNOTATE_RETPOLINE_SAFE
	 "777: call *" PTR(kpx_pointer) "; add $1, %eax");
FUNCTION(jmp_mem, "push $1f\n" ANNOTATE_RETPOLINE_SAFE
	 "777: jmp *" PTR(kpx_pointer) "; ud2; 1: add $2, %eax");
FUNCTION(ret_imm, "push " AX "; call 2f; add $4, %eax; jmp 1f\n"
	 "2: add $10, %eax; 777: .byte 0xc2, " __stringify(__SIZEOF_LONG__) ", 0\n"
	 "1:");
FUNCTION(loop, "mov $4, %ecx; 1: add $1, %eax; 777: loop 1b; add %ecx, %eax");
FUNCTION(pushf, "cmp %eax, %eax; 777: pushf; pop " AX "; and $0x8d5, %eax");
FUNCTION(popfw, "pushfw; 777: popfw; add $1, %eax");
FUNCTION(cli, "pushf; 777: cli; add $1, %eax; popf");
FUNCTION(endbr, "777: .byte 0xf3, 0x0f, 0x1e, 0xfa; add $1, %eax");
FUNCTION(rep_movs, "mov $kpx_data, %" _ASM_SI "; push %" _ASM_DI "; push %" _ASM_DI
	 "; mov " SP ", %" _ASM_DI "; mov $4, %ecx; 777: rep movsb; pop " AX
	 "; pop %" _ASM_DI "; and $0xffffff, %eax");

struct form {
	const char	*name;
	struct place	place;
	const char	*alone;		/* mode of a pre handler */
	const char	*watched;	/* mode of a post handler */
	unsigned int	hits;		/* of one call */
};

#define BOOSTED(name, watched) { #name, PLACE(name), "boosted", watched, 1 }
#define ALWAYS(name, mode, hits) { #name, PLACE(name), mode, mode, hits }

static const struct form forms[] = {
	BOOSTED(nop, "emulated"),
	BOOSTED(mov, "emulated"),
	{ "p_x86_17_push", PLACE(push), "boosted", "emulated", 1 },
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
	{ "p_x86_03_call_cs", PLACE(call_cs), "emulated", "emulated", 1 },
	ALWAYS(call_reg, "emulated", 1),
	ALWAYS(call_mem, "stepped", 1),
	ALWAYS(jmp_mem, "stepped", 1),
	{ "p_base_03_ret_imm", PLACE(ret_imm), "emulated", "emulated", 1 },
	{ "p_base_01_loop", PLACE(loop), "emulated", "emulated", 4 },
	ALWAYS(pushf, "emulated", 1),
	{ "p_base_04_popfw", PLACE(popfw), "emulated", "emulated", 1 },
	ALWAYS(cli, "emulated", 1),
	{ "p_x86_14_endbr", PLACE(endbr), "boosted", "stepped", 1 },
};
KUNIT_ARRAY_PARAM_DESC(form, forms, name);

static noinline unsigned long run(void (*fn)(void), unsigned long arg)
{
	asm volatile(CALL_NOSPEC
		     : "+a" (arg), ASM_CALL_CONSTRAINT
		     : [thunk_target] "D" (fn)
		     : "cx", "dx", "si", "cc", "memory"
#ifdef CONFIG_X86_64
		     , "r8", "r9", "r10", "r11"
#endif
		     );
	return arg;
}

struct watch {
	struct kprobe	kp;
	atomic_t	pre, post, faults;
	unsigned long	post_ip;
	int		trapnr;
};

static int watch_pre(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&container_of(p, struct watch, kp)->pre);
	return 0;
}

static void watch_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	struct watch *w = container_of(p, struct watch, kp);

	WRITE_ONCE(w->post_ip, regs->ip);
	atomic_inc(&w->post);
}

static void expect_same(struct kunit *test, const struct form *f,
			const unsigned long *args, const unsigned long *want,
			unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ_MSG(test, run(f->place.fn, args[i]), want[i],
				    "argument %lx", args[i]);
}

/* The same results without, with a pre handler, and with a late post handler. */
static void probe_modes(struct kunit *test)
{
	static const unsigned long args[] = { 0, 1, 5, 8, 0x7fffffff, 0x12345678 };
	const struct form *f = test->param_value;
	unsigned long want[ARRAY_SIZE(args)];
	struct watch first = {
		.kp = { .addr = at(&f->place), .pre_handler = watch_pre },
	};
	struct watch late = {
		.kp = { .addr = at(&f->place), .post_handler = watch_post },
	};
	bool boosts = IS_ENABLED(CONFIG_PREEMPTION) || !IS_ENABLED(CONFIG_PREEMPT_COUNT);
	unsigned int hits = ARRAY_SIZE(args) * f->hits;
	int i;

	kpx_pointer = (unsigned long)kpx_callee;
	for (i = 0; i < ARRAY_SIZE(args); i++)
		want[i] = run(f->place.fn, args[i]);

	KUNIT_ASSERT_EQ(test, register_kprobe(&first.kp), 0);
	KUNIT_EXPECT_STREQ(test, arch_kprobe_mode(get_kprobe(at(&f->place))),
			   boosts ? f->alone : f->watched);
	expect_same(test, f, args, want, ARRAY_SIZE(args));
	KUNIT_EXPECT_EQ(test, atomic_read(&first.pre), hits);

	KUNIT_EXPECT_EQ(test, register_kprobe(&late.kp), 0);
	KUNIT_EXPECT_STREQ(test, arch_kprobe_mode(get_kprobe(at(&f->place))), f->watched);
	expect_same(test, f, args, want, ARRAY_SIZE(args));
	KUNIT_EXPECT_EQ(test, atomic_read(&first.pre), 2 * hits);
	KUNIT_EXPECT_EQ(test, atomic_read(&late.post), hits);

	unregister_kprobe(&late.kp);
	unregister_kprobe(&first.kp);
	expect_same(test, f, args, want, ARRAY_SIZE(args));
	KUNIT_EXPECT_EQ(test, atomic_read(&first.pre), 2 * hits);
	KUNIT_EXPECT_EQ(test, first.kp.nmissed, 0);
}

/* A post handler sees where the program goes on. */
static void probe_post_ip(struct kunit *test)
{
	struct watch w = { .kp.post_handler = watch_post };

	w.kp.addr = AT(call_cs);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	run(kpx_call_cs, 1);
	KUNIT_EXPECT_EQ(test, w.post_ip, (unsigned long)kpx_callee);
	unregister_kprobe(&w.kp);

	memset(&w.kp, 0, sizeof(w.kp));
	w.kp.post_handler = watch_post;
	w.kp.addr = AT(bt);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	run(kpx_bt, 1);
	KUNIT_EXPECT_EQ(test, w.post_ip, (unsigned long)AT(bt) + 4);
	unregister_kprobe(&w.kp);
}

/*
 * Faults.
 */

/* Nothing is ever mapped at the end; a user's address would not be looked up. */
#define BAD_ADDRESS	(-PAGE_SIZE)

/* A page fault with a fixup, a protection fault and traps with one. */
FUNCTION(bad_load, "777: mov (" AX "), %eax; jmp 2f; 1: mov $-14, %eax; 2:\n"
	 _ASM_EXTABLE(777b, 1b));
FUNCTION(bad_segment, "777: mov %eax, %es; jmp 2f; 1: mov $-22, %eax; 2:\n"
	 _ASM_EXTABLE(777b, 1b));

FUNCTION(bad_divide, "777: div %al; jmp 2f; 1: mov $-33, %eax; 2:\n"
	 _ASM_EXTABLE(777b, 1b));
/* Nobody has set up VMX. */
FUNCTION(bad_vmread, "777: vmread " AX ", " AX "; 1: mov $-95, %eax\n"
	 _ASM_EXTABLE(777b, 1b));

struct fault_form {
	const char	*name;
	struct place	place;
	unsigned long	bad;
	int		err;
	int		trapnr;
};

static const struct fault_form fault_forms[] = {
	{ "page fault", PLACE(bad_load), BAD_ADDRESS, -EFAULT,
	  X86_TRAP_PF },
	{ "protection fault", PLACE(bad_segment), 0xfff8, -EINVAL,
	  X86_TRAP_GP },
	{ "divide error", PLACE(bad_divide), 0, -EDOM, X86_TRAP_DE },
	{ "invalid opcode", PLACE(bad_vmread), 0, -EOPNOTSUPP, X86_TRAP_UD },
};
KUNIT_ARRAY_PARAM_DESC(fault_form, fault_forms, name);

static int watch_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	struct watch *w = container_of(p, struct watch, kp);

	w->trapnr = trapnr;
	atomic_inc(&w->faults);
	return 0;
}

/* The entry in the exception table is that of the instruction. */
static void probe_p_hit_09_p_hit_12_fixup(struct kunit *test)
{
	const struct fault_form *f = test->param_value;
	struct watch w = {
		.kp = {
			.addr = at(&f->place),
			.pre_handler = watch_pre,
			.post_handler = watch_post,
		},
	};

	KUNIT_ASSERT_EQ(test, (int)run(f->place.fn, f->bad), f->err);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, arch_kprobe_mode(get_kprobe(at(&f->place))), "stepped");
	KUNIT_EXPECT_EQ(test, (int)run(f->place.fn, f->bad), f->err);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.post), 0);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
	unregister_kprobe(&w.kp);

	/* Offered to a fault handler before, which does not want it. */
	memset(&w, 0, sizeof(w));
	w.kp.addr = at(&f->place);
	w.kp.fault_handler = watch_fault;
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, (int)run(f->place.fn, f->bad), f->err);
	/* Others than page faults come only if there is no fixup for the copy. */
	KUNIT_EXPECT_EQ(test, atomic_read(&w.faults), 1);
	KUNIT_EXPECT_EQ(test, w.trapnr, f->trapnr);
	unregister_kprobe(&w.kp);
}

/* The fault of a copy that runs by itself would be nobody's. */
static void probe_p_blk_13_fixup_is_not_boosted(struct kunit *test)
{
	const struct fault_form *f = test->param_value;
	struct watch w = { .kp.pre_handler = watch_pre };
	int balance = preempt_count();

	w.kp.addr = at(&f->place);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, arch_kprobe_mode(get_kprobe(at(&f->place))), "stepped");
	KUNIT_EXPECT_EQ(test, (int)run(f->place.fn, f->bad), f->err);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	KUNIT_EXPECT_EQ(test, preempt_count(), balance);
	unregister_kprobe(&w.kp);
}

/* The step stays on its CPU because interrupts are off. */
/* Reads from a user's page, as get_user() does. */
FUNCTION(user_load, ALTERNATIVE("", __ASM_STAC, X86_FEATURE_SMAP) "\n"
	 "777: mov (" AX "), %eax; jmp 2f; 1: mov $-14, %eax; 2:\n"
	 ALTERNATIVE("", __ASM_CLAC, X86_FEATURE_SMAP) "\n"
	 _ASM_EXTABLE(777b, 1b));

static struct task_struct *faulting_task;

/* The page is found with interrupts on, and may sleep for it. */
static int page_in_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct watch *w = container_of(p, struct watch, kp);

	if (current == faulting_task)
		atomic_inc(regs->flags & X86_EFLAGS_IF ? &w->pre : &w->faults);
	return 0;
}

/* The step ends with the fault, and begins anew when there is a page. */
static void probe_p_hit_10_fault_that_sleeps(struct kunit *test)
{
	struct watch w = {
		.kp = {
			.addr = AT(user_load),
			.pre_handler = watch_pre,
			.post_handler = watch_post,
		},
	};
	struct watch page_in = {
		.kp = { .symbol_name = "handle_mm_fault", .pre_handler = page_in_pre },
	};
	unsigned long page;
	int count = preempt_count();

	page = kunit_vm_mmap(test, NULL, 0, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_LT(test, page, TASK_SIZE);
	KUNIT_ASSERT_NE(test, page, 0);
	/* As it is without probes. */
	KUNIT_ASSERT_EQ(test, (int)run(kpx_user_load, page), 0);

	faulting_task = current;
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&page_in.kp), 0);
	KUNIT_EXPECT_STREQ(test, arch_kprobe_mode(get_kprobe(w.kp.addr)), "stepped");
	KUNIT_EXPECT_EQ(test, (int)run(kpx_user_load, page + PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.post), 1);
	/* It was not inside a hit any more. */
	KUNIT_EXPECT_EQ(test, atomic_read(&page_in.pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&page_in.faults), 0);
	KUNIT_EXPECT_EQ(test, page_in.kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, preempt_count(), count);
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);

	/* Now that it is there, nothing faults. */
	KUNIT_EXPECT_EQ(test, put_user(77, (int __user *)(page + PAGE_SIZE)), 0);
	KUNIT_EXPECT_EQ(test, (int)run(kpx_user_load, page + PAGE_SIZE), 77);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 3);
	unregister_kprobe(&page_in.kp);
	unregister_kprobe(&w.kp);
}

static bool interrupts_in_step;

static int repair(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	interrupts_in_step = regs->flags & X86_EFLAGS_IF;
	atomic_inc(&container_of(p, struct watch, kp)->faults);
	regs->ax = (unsigned long)&kpx_data;
	return 1;
}

static int redirect(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	atomic_inc(&container_of(p, struct watch, kp)->faults);
	regs->ip = (unsigned long)kpx_callee;
	regs->ax = 1;
	return 1;
}

static int fault_again(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	long v;

	atomic_inc(&container_of(p, struct watch, kp)->faults);
	return !get_kernel_nofault(v, (long *)BAD_ADDRESS);
}

struct fault_action {
	const char		*name;
	kprobe_fault_handler_t	handler;
	long			result;
	int			posts;
};

static const struct fault_action fault_actions[] = {
	{ "repaired, the step goes on", repair, 0x1234567, 1 },
	{ "redirected, the step is given up", redirect, 101, 0 },
	{ "its own fault is not told", fault_again, -EFAULT, 0 },
};
KUNIT_ARRAY_PARAM_DESC(fault_action, fault_actions, name);

static void probe_fault_of_step(struct kunit *test)
{
	const struct fault_action *a = test->param_value;
	struct watch w = {
		.kp = {
			.addr = AT(bad_load),
			.pre_handler = watch_pre,
			.post_handler = watch_post,
			.fault_handler = a->handler,
		},
	};

	interrupts_in_step = false;
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, (int)run(kpx_bad_load, BAD_ADDRESS), a->result);
	KUNIT_EXPECT_FALSE(test, interrupts_in_step);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.faults), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.post), a->posts);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());

	/* Nothing is left behind: no fault, no handler. */
	KUNIT_EXPECT_EQ(test, (int)run(kpx_bad_load, (unsigned long)&kpx_data), 0x1234567);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.faults), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.post), a->posts + 1);
	KUNIT_EXPECT_EQ(test, w.kp.nmissed, 0);
	unregister_kprobe(&w.kp);
}

/* Faults at a bad address, which it survives. */
static int faulting_pre(struct kprobe *p, struct pt_regs *regs)
{
	long v;

	if (get_kernel_nofault(v, (long *)BAD_ADDRESS))
		atomic_inc(&container_of(p, struct watch, kp)->pre);
	return 0;
}

static void faulting_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	faulting_pre(p, regs);
}

/* A handler's fault is for its own probe, not for others on the site. */
static void probe_p_hit_11_fault_of_handler(struct kunit *test)
{
	struct watch other = {
		.kp = {
			.addr = AT(mov),
			.pre_handler = watch_pre,
			.fault_handler = watch_fault,
		},
	};
	struct watch w = {
		.kp = {
			.addr = AT(mov),
			.pre_handler = faulting_pre,
			.post_handler = faulting_post,
			.fault_handler = watch_fault,
		},
	};

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, run(kpx_mov, 4), 7);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.faults), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	KUNIT_EXPECT_EQ(test, w.trapnr, X86_TRAP_PF);

	KUNIT_EXPECT_EQ(test, register_kprobe(&other.kp), 0);
	KUNIT_EXPECT_EQ(test, run(kpx_mov, 4), 7);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.faults), 4);
	KUNIT_EXPECT_EQ(test, atomic_read(&other.faults), 0);
	unregister_kprobe(&other.kp);
	unregister_kprobe(&w.kp);
}

/* Other traps, which only the die chain reports; #SS comes the same way as #DE. */

static int dividing_pre(struct kprobe *p, struct pt_regs *regs)
{
	unsigned int ax = 1, zero = 0;

	asm volatile("divb %b[zero]" : "+a" (ax) : [zero] "c" (zero) : "cc");
	atomic_inc(&container_of(p, struct watch, kp)->pre);
	return 0;
}

static int undefined_pre(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long dx = 0;

	/* Nobody has set up VMX. */
	asm volatile("vmread %[dx], %[dx]" : [dx] "+d" (dx) : : "cc");
	atomic_inc(&container_of(p, struct watch, kp)->pre);
	return 0;
}

static int fixed_up_pre(struct kprobe *p, struct pt_regs *regs)
{
	unsigned int ax = 1, zero = 0;

	asm volatile("1: divb %b[zero]; 2:\n" _ASM_EXTABLE(1b, 2b)
		     : "+a" (ax) : [zero] "c" (zero) : "cc");
	atomic_inc(&container_of(p, struct watch, kp)->pre);
	return 0;
}

struct handler_trap {
	const char		*name;
	kprobe_pre_handler_t	handler;
	int			trapnr, faults;
};

static const struct handler_trap handler_traps[] = {
	{ "divide error", dividing_pre, X86_TRAP_DE, 1 },
	{ "invalid opcode", undefined_pre, X86_TRAP_UD, 1 },
	{ "its own fixup comes first", fixed_up_pre, 0, 0 },
};
KUNIT_ARRAY_PARAM_DESC(handler_trap, handler_traps, name);

static int skip_insn(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	struct watch *w = container_of(p, struct watch, kp);
	struct insn insn;

	w->trapnr = trapnr;
	atomic_inc(&w->faults);
	if (insn_decode_kernel(&insn, (void *)regs->ip))
		return 0;
	regs->ip += insn.length;
	return 1;
}

static void probe_p_hit_11_trap_of_handler(struct kunit *test)
{
	const struct handler_trap *t = test->param_value;
	struct watch w = {
		.kp = {
			.addr = AT(mov),
			.pre_handler = t->handler,
			.fault_handler = skip_insn,
		},
	};

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, run(kpx_mov, 4), 7);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.faults), t->faults);
	KUNIT_EXPECT_EQ(test, w.trapnr, t->trapnr);
	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
}

#if defined(CONFIG_KRETPROBES) && defined(CONFIG_IRQ_WORK)
static atomic_t told, own_faults, irq_faults;

static int count_told(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	atomic_inc(&told);
	return 0;
}

static void fault_in_irq(struct irq_work *work)
{
	long v;

	if (get_kernel_nofault(v, (long *)BAD_ADDRESS))
		atomic_inc(&irq_faults);
}

static struct irq_work faulting_work = IRQ_WORK_INIT_HARD(fault_in_irq);

static int interrupted_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned int i;
	long v;

	irq_work_queue(&faulting_work);
	for (i = 0; i < 100000000 && irq_work_is_busy(&faulting_work); i++)
		cpu_relax();
	/* This one is its own. */
	if (get_kernel_nofault(v, (long *)BAD_ADDRESS))
		atomic_inc(&own_faults);
	return 0;
}

/* What interrupts a handler has faults of its own; and later, nobody is told. */
static void probe_p_hit_11_fault_of_interrupt(struct kunit *test)
{
	struct kretprobe rp = {
		.kp = { .symbol_name = "kpx_callee", .fault_handler = count_told },
		.handler = interrupted_return,
	};
	int cpu;

	if (!arch_irq_work_has_interrupt())
		kunit_skip(test, "needs interrupts to oneself");

	atomic_set(&told, 0);
	atomic_set(&own_faults, 0);
	atomic_set(&irq_faults, 0);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	KUNIT_EXPECT_EQ(test, run(kpx_callee, 1), 101);
	unregister_kretprobe(&rp);
	KUNIT_EXPECT_EQ(test, atomic_read(&irq_faults), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&own_faults), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&told), 1);
	for_each_possible_cpu(cpu)
		KUNIT_EXPECT_NULL(test, per_cpu(kprobe_fault_owner.user, cpu));
}
#endif

#ifdef CONFIG_X86_64
/*
 * IBT with FRED: an indirect branch came to the breakpoint, and the exception has
 * saved that. QEMU has neither, so the frames are made here, and what is judged is
 * where they would return to, and what the CPU would then wait for.
 */

struct branch_hit {
	struct watch	w;
	struct pt_regs	regs;
};

static int redirect_pre(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&container_of(p, struct watch, kp)->pre);
	regs->ip = (unsigned long)kpx_callee + ENDBR_INSN_SIZE;
	return 1;
}

/* As if the CPU had come to a breakpoint, waiting for a landing pad or not. */
static int hit_by_branch(struct branch_hit *h, unsigned long addr, bool waits)
{
	int ret;

	h->regs.cs = __KERNEL_CS;
	h->regs.fred_cs.wfe = waits;
	h->regs.ip = addr + INT3_INSN_SIZE;
	h->regs.sp = (unsigned long)&h->regs;
	h->regs.flags = X86_EFLAGS_FIXED;

	scoped_guard(irqsave)
		ret = kprobe_int3_handler(&h->regs);
	return ret;
}

/* Execution continues with a copy of the landing pad, which then is found. */
static void probe_branch_to_landing_pad(struct kunit *test)
{
	struct branch_hit h = { .w.kp = { .addr = AT(endbr), .pre_handler = watch_pre } };
	struct watch late = { .kp = { .addr = AT(endbr), .post_handler = watch_post } };
	const u8 endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct pt_regs at_copy;
	int round, first, second;
	bool stepped;

	/* Alone, and with its end watched. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&h.w.kp), 0);
	for (round = 0; round < 2; round++) {
		if (round)
			KUNIT_ASSERT_EQ(test, register_kprobe(&late.kp), 0);

		/* A step ends at its second breakpoint; there nothing is waited for. */
		scoped_guard(irqsave) {
			first = hit_by_branch(&h, (unsigned long)AT(endbr), true);
			at_copy = h.regs;
			stepped = kprobe_running();
			second = stepped ?
				hit_by_branch(&h, h.regs.ip + sizeof(endbr), false) : 1;
		}
		KUNIT_EXPECT_EQ(test, first, 1);
		KUNIT_EXPECT_TRUE(test, at_copy.fred_cs.wfe);
		KUNIT_EXPECT_NE(test, at_copy.ip, (unsigned long)AT(endbr) + sizeof(endbr));
		KUNIT_EXPECT_EQ(test, memcmp((void *)at_copy.ip, endbr, sizeof(endbr)), 0);
		KUNIT_EXPECT_EQ(test, second, 1);
	}
	KUNIT_EXPECT_TRUE(test, stepped);
	KUNIT_EXPECT_EQ(test, h.regs.ip, (unsigned long)AT(endbr) + sizeof(endbr));
	KUNIT_EXPECT_EQ(test, atomic_read(&h.w.pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&late.post), 1);
	unregister_kprobe(&late.kp);
	unregister_kprobe(&h.w.kp);
	KUNIT_EXPECT_PTR_EQ(test, raw_cpu_read(current_kprobe), NULL);
}

/* No branch goes to where a handler redirects. */
static void probe_branch_is_redirected(struct kunit *test)
{
	struct branch_hit h = { .w.kp = { .addr = AT(endbr), .pre_handler = redirect_pre } };

	KUNIT_ASSERT_EQ(test, register_kprobe(&h.w.kp), 0);
	KUNIT_EXPECT_EQ(test, hit_by_branch(&h, (unsigned long)AT(endbr), true), 1);
	KUNIT_EXPECT_EQ(test, h.regs.ip, (unsigned long)kpx_callee + ENDBR_INSN_SIZE);
	KUNIT_EXPECT_FALSE(test, h.regs.fred_cs.wfe);
	KUNIT_EXPECT_EQ(test, h.regs.cs, __KERNEL_CS);
	KUNIT_EXPECT_EQ(test, atomic_read(&h.w.pre), 1);
	unregister_kprobe(&h.w.kp);
}

/* What is no landing pad is not made one by the probe: that is for IBT to refuse. */
static void probe_branch_elsewhere(struct kunit *test)
{
	struct branch_hit h = {
		.w.kp = { .addr = AT(nop), .pre_handler = watch_pre, .post_handler = watch_post },
	};

	KUNIT_ASSERT_EQ(test, register_kprobe(&h.w.kp), 0);
	KUNIT_EXPECT_EQ(test, hit_by_branch(&h, (unsigned long)AT(nop), true), 1);
	KUNIT_EXPECT_EQ(test, h.regs.ip, (unsigned long)AT(nop) + 1);
	KUNIT_EXPECT_TRUE(test, h.regs.fred_cs.wfe);
	unregister_kprobe(&h.w.kp);
}
#endif

#ifdef CONFIG_KRETPROBES
/*
 * A function that jumps to another instead of returning returns with it, once.
 */

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

static void probe_p_ret_11_tail_call(struct kunit *test)
{
	tail_rp = (struct kretprobe) { .handler = note_return, .kp.symbol_name = "kpx_tail" };
	callee_rp = (struct kretprobe) { .handler = note_return, .kp.symbol_name = "kpx_callee" };
	memset(returns, 0, sizeof(returns));
	nr_returns = 0;

	KUNIT_ASSERT_EQ(test, register_kretprobe(&tail_rp), 0);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&callee_rp), 0);
	KUNIT_EXPECT_EQ(test, run(kpx_tail, 1), 111);
	KUNIT_EXPECT_STREQ(test, returns, "ct");
	KUNIT_EXPECT_EQ(test, run(kpx_callee, 1), 101);
	KUNIT_EXPECT_STREQ(test, returns, "ctc");

	unregister_kretprobe(&tail_rp);
	KUNIT_EXPECT_EQ(test, run(kpx_tail, 1), 111);
	KUNIT_EXPECT_STREQ(test, returns, "ctcc");
	unregister_kretprobe(&callee_rp);
}
#endif

/*
 * Refusals.
 */

FUNCTION(refuse_hlt, "jmp 1f; 777: hlt; 1:");
FUNCTION(refuse_ud2, "jmp 1f; 777: ud2; 1:");
FUNCTION(refuse_int3, "jmp 1f; 777: int3; 1:");
FUNCTION(refuse_swapgs, "jmp 1f; 777: .byte 0x0f, 0x01, 0xf8; 1:");
FUNCTION(refuse_iret, "jmp 1f; 777: iretl; 1:");
FUNCTION(refuse_middle, ".byte 0x05; 777: .byte 1, 0, 0, 0");
FUNCTION(refuse_zeropad, "777: mov (" AX "), " AX "; 1:\n"
	 _ASM_EXTABLE_TYPE(777b, 1b, EX_TYPE_ZEROPAD));
/* In the middle of a no-op that the base's decoder thinks is shorter; and after it. */
FUNCTION(refuse_in_unknown, "jmp 1f; .byte 0x0f, 0x19; 777: .byte 0xf8; 1: add $1, %eax");
FUNCTION(refuse_after_unknown, "jmp 1f; .byte 0x0f, 0x19, 0xf8; 1: 777: add $1, %eax");
FUNCTION(refuse_static_call, "jmp 1f; 777: .byte 0xe9, 0, 0, 0, 0, 0x0f, 0xb9, 0xcc; 1:");

struct refusal {
	const char	*name;
	struct place	place;
	int		err;
};

static const struct refusal refusals[] = {
	{ "p_x86_14_hlt",		PLACE(refuse_hlt),	-EINVAL },
	{ "p_blk_08_ud2",		PLACE(refuse_ud2),	-EILSEQ },
	{ "p_blk_08_int3",		PLACE(refuse_int3),	-EILSEQ },
#ifdef CONFIG_X86_64
	{ "p_x86_14_swapgs",		PLACE(refuse_swapgs),	-EINVAL },
#endif
	{ "p_x86_06_iret",		PLACE(refuse_iret),	-EOPNOTSUPP },
	{ "p_reg_16_middle",		PLACE(refuse_middle),	-EILSEQ },
	{ "fixup that reads the text",	PLACE(refuse_zeropad),	-EINVAL },
	{ "in an instruction of unknown length", PLACE(refuse_in_unknown), -EILSEQ },
	{ "after one of unknown length", PLACE(refuse_after_unknown), -EILSEQ },
	{ "trampoline of a static call", PLACE(refuse_static_call), -EINVAL },
};
KUNIT_ARRAY_PARAM_DESC(refusal, refusals, name);

static void probe_refused(struct kunit *test)
{
	const struct refusal *r = test->param_value;
	u8 *addr = at(&r->place), before = *addr;
	struct kprobe kp = { .addr = addr, .pre_handler = watch_pre };

	KUNIT_EXPECT_EQ(test, register_kprobe(&kp), r->err);
	KUNIT_EXPECT_EQ(test, *addr, before);
	KUNIT_EXPECT_PTR_EQ(test, get_kprobe(addr), NULL);
}

/* Text in which this architecture lets nobody plant anything. */
static const struct area {
	const char	*name;
	const char	*start, *end;
} areas[] = {
	{ "entry text", __entry_text_start, __entry_text_end },
#ifdef CONFIG_HAVE_STATIC_CALL
	{ "static calls", __static_call_text_start, __static_call_text_end },
#endif
#ifdef CONFIG_KEXEC_CORE
	{ "relocate_kernel", (const char *)relocate_kernel,
	  (const char *)relocate_kernel + KEXEC_CONTROL_CODE_MAX_SIZE },
#endif
};
KUNIT_ARRAY_PARAM_DESC(area, areas, name);

static void probe_area_is_blacklisted(struct kunit *test)
{
	const struct area *a = test->param_value;
	unsigned long start = (unsigned long)a->start, end = (unsigned long)a->end;
	struct kprobe kp = { .addr = (kprobe_opcode_t *)start, .pre_handler = watch_pre };

	KUNIT_ASSERT_LT(test, start, end);
	KUNIT_EXPECT_TRUE(test, within_kprobe_blacklist(start));
	KUNIT_EXPECT_TRUE(test, within_kprobe_blacklist(start + (end - start) / 2));
	KUNIT_EXPECT_TRUE(test, within_kprobe_blacklist(end - 1));
	KUNIT_EXPECT_EQ(test, register_kprobe(&kp), -EINVAL);
}

/* Of two, the second never gets as far as to be looked at. */
static int failing_thread(void *data)
{
	unsigned long *wrong = data;

	while (!kthread_should_stop()) {
		struct watch bad = { .kp = { .addr = AT(refuse_middle) } };
		struct watch good = { .kp = { .addr = AT(bt) } };
		struct kprobe *kps[] = { &bad.kp, &good.kp };

		bad.kp.pre_handler = watch_pre;
		good.kp.pre_handler = watch_pre;
		if (register_kprobes(kps, 2) != -EILSEQ)
			++*wrong;
		if (atomic_read(&bad.pre) || atomic_read(&good.pre))
			++*wrong;
		cond_resched();
	}

	return 0;
}

/* What is left of it for a moment is of no use to those who come then. */
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
		struct watch w = { .kp = { .addr = AT(bt), .pre_handler = watch_pre } };

		if (register_kprobe(&w.kp))
			break;
		run(kpx_bt, 1);
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

/*
 * Stepping does not use the trap flag, so whoever else does is not disturbed.
 */

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
	return watch_pre(p, regs);
}

static void trap_flag_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	trap_flag_pre(p, regs);
}

static void probe_p_x86_15_no_trap_flag(struct kunit *test)
{
	struct notifier_block nb = { .notifier_call = on_die };
	struct watch w = {
		.kp = {
			.addr = AT(bt),
			.pre_handler = trap_flag_pre,
			.post_handler = trap_flag_post,
		},
	};
	u64 before = 0, after = 0;

	atomic_set(&debug_traps, 0);
	atomic_set(&trap_flags, 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_STREQ(test, arch_kprobe_mode(get_kprobe(AT(bt))), "stepped");
	KUNIT_EXPECT_EQ(test, register_die_notifier(&nb), 0);

	preempt_disable();
	rdmsrl_safe(MSR_IA32_DEBUGCTLMSR, &before);
	run(kpx_bt, 8);
	rdmsrl_safe(MSR_IA32_DEBUGCTLMSR, &after);
	preempt_enable();

	unregister_die_notifier(&nb);
	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&trap_flags), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&debug_traps), 0);
	KUNIT_EXPECT_EQ(test, after, before);
}

/* Padding that looks like breakpoints is no reason not to probe behind it. */
static void probe_p_reg_17_behind_padding(struct kunit *test)
{
	struct watch w = { .kp = { .addr = AT(padded), .pre_handler = watch_pre } };

	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, run(kpx_padded, 5), 8);
	KUNIT_EXPECT_EQ(test, run(kpx_padded, 6), 6);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 1);
	unregister_kprobe(&w.kp);
}

/*
 * Breakpoints of others.
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

static void probe_p_hit_23_foreign_breakpoint(struct kunit *test)
{
	struct notifier_block nb = { .notifier_call = claim_int3 };
	struct watch w = { .kp = { .addr = AT(nop), .pre_handler = watch_pre } };
	struct pt_regs user = { .cs = __USER_CS, .ip = (unsigned long)AT(nop) + INT3_INSN_SIZE };

	atomic_set(&debug_traps, 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);

	/* In the kernel, whoever has put it there is asked. */
	KUNIT_EXPECT_EQ(test, register_die_notifier(&nb), 0);
	KUNIT_EXPECT_EQ(test, run(kpx_foreign, 1), 2);
	unregister_die_notifier(&nb);
	KUNIT_EXPECT_EQ(test, atomic_read(&debug_traps), 1);

	/* A program's is the program's, whatever its address. */
	preempt_disable();
	KUNIT_EXPECT_EQ(test, kprobe_int3_handler(&user), 0);
	preempt_enable();
	KUNIT_EXPECT_EQ(test, user.ip, (unsigned long)AT(nop) + INT3_INSN_SIZE);

	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 0);
}

/* Copies are executed, and never written to where they are. */
static void probe_p_mem_01_slot_is_read_only(struct kunit *test)
{
	struct watch w = { .kp = { .addr = AT(bt), .pre_handler = watch_pre } };
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

/* A copy that refers to something near the original reaches it from there. */
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

static void probe_p_mem_05_slots_are_near(struct kunit *test)
{
	void *slot = get_insn_slot();

	KUNIT_ASSERT_NOT_NULL(test, slot);
	expect_near(test, slot);
	free_insn_slot(slot, 0);
#ifdef CONFIG_OPTPROBES
	slot = get_optinsn_slot();
	KUNIT_ASSERT_NOT_NULL(test, slot);
	expect_near(test, slot);
	free_optinsn_slot(slot, 0);
#endif
	/* What is told apart from them. */
	KUNIT_EXPECT_FALSE(test, IS_ENABLED(CONFIG_X86_64) && reaches(test, MODULES_VADDR));
}

/* A caller's check is read backwards from its trap, when that has gone off. */
#ifdef CONFIG_CFI_CLANG
static noinline __noclone notrace int kpx_indirect(int (*fn)(int v), int v)
{
	return fn(v) + 1;
}

static noinline __noclone notrace int kpx_direct(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v * 2;
}

/* Lengths of the instructions that load the type and that compare it. */
#define CFI_LOAD_TO_TRAP	12
#define CFI_ADD_TO_TRAP		6

static void probe_p_reg_10_cfi_check(struct kunit *test)
{
	int (*fn)(int v) = kpx_direct;
	unsigned long size, into, trap = 0, i, hits = 0;
	unsigned long start = (unsigned long)kpx_indirect;
	struct watch w;
	int ret;

	OPTIMIZER_HIDE_VAR(fn);
	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &into));
	for (i = CFI_LOAD_TO_TRAP; i < size && !trap; i++)
		trap = is_cfi_trap(start + i) ? start + i : 0;
	KUNIT_ASSERT_NE(test, trap, 0);

	for (i = 0; i < size; i++) {
		w = (struct watch){
			.kp = { .addr = (void *)(start + i), .pre_handler = watch_pre },
		};
		ret = register_kprobe(&w.kp);
		KUNIT_EXPECT_EQ(test, kpx_indirect(fn, 5), 11);
		if (start + i == trap - CFI_LOAD_TO_TRAP || start + i == trap - CFI_ADD_TO_TRAP)
			KUNIT_EXPECT_EQ(test, ret, -EINVAL);
		else if (start + i == trap)
			KUNIT_EXPECT_NE(test, ret, 0);
		if (ret)
			continue;
		/* Padding behind the return may be probed, too. */
		KUNIT_EXPECT_LE_MSG(test, atomic_read(&w.pre), 1, "at %lu", i);
		hits += atomic_read(&w.pre);
		unregister_kprobe(&w.kp);
	}
	/* The jump over the trap, the call, and what is done with its result. */
	KUNIT_EXPECT_GE(test, hits, 4);
}
#else
static void probe_p_reg_10_cfi_check(struct kunit *test)
{
	kunit_skip(test, "needs CFI_CLANG");
}
#endif

#ifdef CONFIG_KGDB
/* Somebody may sit at a breakpoint of kgdb: what is behind it is not known. */
static void probe_p_hit_24_breakpoint_of_kgdb(struct kunit *test)
{
	unsigned long start = (unsigned long)kpx_bt;
	struct watch w = { .kp = { .addr = AT(bt), .pre_handler = watch_pre } };
	unsigned long want = run(kpx_bt, 8);

	KUNIT_ASSERT_LT(test, start, (unsigned long)AT(bt));
	KUNIT_ASSERT_EQ(test, dbg_set_sw_break(start), 0);
	KUNIT_ASSERT_EQ(test, dbg_activate_sw_breakpoints(), 0);
	KUNIT_EXPECT_EQ(test, *(u8 *)start, INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, register_kprobe(&w.kp), -EILSEQ);
	dbg_deactivate_sw_breakpoints();
	KUNIT_EXPECT_EQ(test, dbg_remove_sw_break(start), 0);
	KUNIT_EXPECT_NE(test, *(u8 *)start, INT3_INSN_OPCODE);

	/* And the other way around: kgdb comes and goes where a probe is. */
	memset(&w, 0, sizeof(w));
	w.kp.addr = AT(bt);
	w.kp.pre_handler = watch_pre;
	KUNIT_ASSERT_EQ(test, register_kprobe(&w.kp), 0);
	KUNIT_EXPECT_EQ(test, dbg_set_sw_break((unsigned long)AT(bt)), 0);
	KUNIT_EXPECT_EQ(test, dbg_activate_sw_breakpoints(), 0);
	KUNIT_EXPECT_EQ(test, run(kpx_bt, 8), want);
	dbg_deactivate_sw_breakpoints();
	KUNIT_EXPECT_EQ(test, dbg_remove_sw_break((unsigned long)AT(bt)), 0);
	KUNIT_EXPECT_EQ(test, run(kpx_bt, 8), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
	unregister_kprobe(&w.kp);
	KUNIT_EXPECT_EQ(test, run(kpx_bt, 8), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&w.pre), 2);
}
#else
static void probe_p_hit_24_breakpoint_of_kgdb(struct kunit *test)
{
	kunit_skip(test, "needs KGDB");
}
#endif

/* With an armed probe in front of it, the way there is still decoded right. */
static void probe_p_reg_18_neighbours(struct kunit *test)
{
	struct watch a = { .kp = { .addr = AT(bt), .pre_handler = watch_pre } };
	struct watch b = { .kp = { .addr = AT(bt) + 4, .pre_handler = watch_pre } };
	struct kprobe middle = { .addr = AT(bt) + 1 };
	unsigned long want = run(kpx_bt, 8);

	KUNIT_ASSERT_EQ(test, register_kprobe(&a.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&middle), -EILSEQ);
	KUNIT_EXPECT_EQ(test, register_kprobe(&b.kp), 0);
	KUNIT_EXPECT_EQ(test, run(kpx_bt, 8), want);
	KUNIT_EXPECT_EQ(test, atomic_read(&a.pre), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&b.pre), 1);
	unregister_kprobe(&a.kp);
	unregister_kprobe(&b.kp);
}

/* Looked at that far, with a probe on every byte of it. */
#define WHOLE_SIZE	300

static void sweep_function(struct kunit *test, unsigned long start, unsigned long size,
			   const u8 *text)
{
	unsigned int begins = 0, accepted = 0;
	unsigned long i, next = 0;
	struct insn insn = {};
	struct kprobe kp;
	bool is_trap;
	int ret;

	for (i = 0; i < size; i++) {
		if (i == next) {
			KUNIT_ASSERT_EQ(test, insn_decode_kernel(&insn, text + i), 0);
			next = i + insn.length;
			begins++;
		}
		/* It never gets armed, but all else is as ever. */
		kp = (struct kprobe) {
			.addr = (kprobe_opcode_t *)(start + i),
			.pre_handler = watch_pre,
			.flags = KPROBE_FLAG_DISABLED,
		};
		ret = register_kprobe(&kp);
		if (!ret)
			unregister_kprobe(&kp);
		if (i + insn.length != next) {
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

/* Only where instructions begin, says who decodes the function without probes. */
static void probe_p_reg_16_whole_function(struct kunit *test)
{
	struct kprobe traced = { .symbol_name = "vfs_read" };
	unsigned long start = (unsigned long)vfs_read, size, into;
	u8 *text = kunit_kzalloc(test, WHOLE_SIZE + MAX_INSN_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &into));
	KUNIT_ASSERT_EQ(test, into, 0);
	size = min(size, WHOLE_SIZE);
	memcpy(text, (void *)start, size + MAX_INSN_SIZE);
	sweep_function(test, start, size, text);

	/* With a breakpoint in it, or a call where its site of ftrace is. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&traced), 0);
	KUNIT_EXPECT_NE(test, memcmp(text, (void *)start, size), 0);
	sweep_function(test, start, size, text);
	unregister_kprobe(&traced);
	KUNIT_EXPECT_EQ(test, memcmp(text, (void *)start, size), 0);
}

#ifdef CONFIG_X86_LOCAL_APIC
/*
 * NMIs, sent by another CPU, that run into probes wherever this CPU is: in
 * handlers, in steps, and between.
 */
#define NMI_ROUNDS	20000
#define NMI_SECONDS	60

/* Inside another probe, one is boosted, the other has to be stepped. */
FUNCTION(in_nmi, "777: bt $2, %eax; sbb %eax, %eax");
FUNCTION(call_mem_nmi, ANNOTATE_RETPOLINE_SAFE
	 "777: call *" PTR(kpx_pointer) "; add $2, %eax");

static atomic_t nmis, nmis_wrong;
static unsigned int nmi_target;

static void (*work_in_nmi)(void);

static int on_nmi(unsigned int cmd, struct pt_regs *regs)
{
	work_in_nmi();
	atomic_inc(&nmis);
	/* Whoever else waits for an NMI is asked, too. */
	return NMI_DONE;
}

/* Hits in a step, and in the step of a missed probe. */
static atomic_t in_step, third_level;

static void hit_in_nmi(void)
{
	if (kprobe_running() && get_kprobe_ctlblk()->kprobe_status == KPROBE_HIT_SS)
		atomic_inc(&in_step);
	if ((int)run(kpx_in_nmi, 4) != -1 || (int)run(kpx_in_nmi, 1) != 0 ||
	    run(kpx_call_mem_nmi, 1) != 103)
		atomic_inc(&nmis_wrong);
}

/*
 * The sleep lets the target run, and ends wherever that has come to. Sent one
 * by one without it, NMIs would come where the target waits for them, or where
 * an emulator of both CPUs in turn stops one of them, which is hardly ever.
 */
static int send_nmis(void *unused)
{
	while (!kthread_should_stop()) {
		int before = atomic_read(&nmis);

		__apic_send_IPI(nmi_target, NMI_VECTOR);
		while (atomic_read(&nmis) == before && !kthread_should_stop()) {
			cpu_relax();
			cond_resched();
		}
		usleep_range(20, 60);
	}
	return 0;
}

/* The NMI is nobody's else, so the kernel would complain about it. */
static int claim_nmi(unsigned int cmd, struct pt_regs *regs)
{
	return NMI_HANDLED;
}

/* Before anything is registered. */
static void need_two_cpus(struct kunit *test)
{
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
}

/* Run @body on this CPU, while another one sends NMIs to it. */
static void under_nmis(struct kunit *test, void (*in_them)(void),
		       void (*body)(struct kunit *test))
{
	struct task_struct *sender;

	atomic_set(&nmis, 0);
	atomic_set(&nmis_wrong, 0);
	work_in_nmi = in_them;
	KUNIT_ASSERT_EQ(test, register_nmi_handler(NMI_LOCAL, on_nmi, 0, "kprobes_test"), 0);
	KUNIT_EXPECT_EQ(test, register_nmi_handler(NMI_LOCAL, claim_nmi, 0,
						   "kprobes_test_claim"), 0);

	migrate_disable();
	nmi_target = smp_processor_id();
	sender = kthread_create(send_nmis, NULL, "kprobes_nmi");
	KUNIT_EXPECT_FALSE(test, IS_ERR(sender));
	if (!IS_ERR(sender)) {
		kthread_bind(sender, cpumask_any_but(cpu_online_mask, nmi_target));
		wake_up_process(sender);
		body(test);
		kthread_stop(sender);
	}
	migrate_enable();

	unregister_nmi_handler(NMI_LOCAL, "kprobes_test_claim");
	unregister_nmi_handler(NMI_LOCAL, "kprobes_test");
	KUNIT_EXPECT_GT(test, atomic_read(&nmis), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&nmis_wrong), 0);
}

static struct watch in_nmi, here;

static void hit_under_nmis(struct kunit *test)
{
	unsigned long end = jiffies + NMI_SECONDS * HZ;
	unsigned int wrong = 0;
	int i;

	/* Some will come in the step. */
	for (i = 0; time_before(jiffies, end); i++) {
		if (i >= NMI_ROUNDS && atomic_read(&nmis) >= 1000 && atomic_read(&in_step) >= 3)
			break;
		wrong += (int)run(kpx_bt, 8) != -1 || irqs_disabled();
		if (i % 64 == 0)
			cond_resched();
	}

	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_GE(test, atomic_read(&in_step), 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&here.pre), i);
	KUNIT_EXPECT_EQ(test, atomic_read(&here.post), i);
}

static void probe_p_hit_02_p_hit_03_p_hit_06_nmi(struct kunit *test)
{
	struct watch stepped = {
		.kp = { .addr = AT(call_mem_nmi), .pre_handler = watch_pre,
			.post_handler = watch_post },
	};
	int hits;

	need_two_cpus(test);
	kpx_pointer = (unsigned long)kpx_callee;
	atomic_set(&in_step, 0);
	in_nmi = (struct watch) {
		.kp = { .addr = AT(in_nmi), .pre_handler = watch_pre,
			.post_handler = watch_post },
	};
	here = (struct watch) {
		.kp = { .addr = AT(bt), .pre_handler = watch_pre,
			.post_handler = watch_post },
	};
	KUNIT_ASSERT_EQ(test, (int)run(kpx_bt, 8), -1);
	KUNIT_ASSERT_EQ(test, register_kprobe(&in_nmi.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&stepped.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&here.kp), 0);

	under_nmis(test, hit_in_nmi, hit_under_nmis);

	/* Each of the two hits of an NMI had its handler, or was counted. */
	hits = atomic_read(&in_nmi.pre) + in_nmi.kp.nmissed;
	KUNIT_EXPECT_EQ(test, hits, 2 * atomic_read(&nmis));
	KUNIT_EXPECT_GT(test, in_nmi.kp.nmissed, 0);
	hits = atomic_read(&stepped.pre) + stepped.kp.nmissed;
	KUNIT_EXPECT_EQ(test, hits, atomic_read(&nmis));
	unregister_kprobe(&here.kp);
	unregister_kprobe(&stepped.kp);
	unregister_kprobe(&in_nmi.kp);
}

/*
 * Three levels: in a handler another probe is missed and stepped, and in the step
 * comes an NMI that runs into a third one, which has to be stepped, too.
 */

static atomic_t nested_wrong;

static void third_in_nmi(void)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();
	unsigned int depth = kcb->depth;

	if (kprobe_running() && kcb->kprobe_status == KPROBE_REENTER)
		atomic_inc(&third_level);
	if (run(kpx_call_mem_nmi, 1) != 103 || kcb->depth != depth)
		atomic_inc(&nmis_wrong);
}

static int nested_pre(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&container_of(p, struct watch, kp)->pre);
	if (run(kpx_call_mem, 1) != 102)
		atomic_inc(&nested_wrong);
	return 0;
}

static void nest_under_nmis(struct kunit *test)
{
	unsigned long end = jiffies + NMI_SECONDS * HZ;
	int i;

	for (i = 0; time_before(jiffies, end) && atomic_read(&third_level) < 3; i++) {
		run(kpx_nop, 1);
		if (i % 64 == 0)
			cond_resched();
	}
	KUNIT_EXPECT_GE(test, atomic_read(&third_level), 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&here.pre), i);
}

static void probe_p_hit_04_third_level(struct kunit *test)
{
	struct watch missed = { .kp = { .addr = AT(call_mem), .pre_handler = watch_pre } };

	need_two_cpus(test);
	in_nmi = (struct watch) {
		.kp = { .addr = AT(call_mem_nmi), .pre_handler = watch_pre },
	};
	here = (struct watch) { .kp = { .addr = AT(nop), .pre_handler = nested_pre } };
	kpx_pointer = (unsigned long)kpx_callee;
	atomic_set(&third_level, 0);
	atomic_set(&nested_wrong, 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&in_nmi.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&missed.kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&here.kp), 0);

	under_nmis(test, third_in_nmi, nest_under_nmis);

	KUNIT_EXPECT_EQ(test, atomic_read(&nested_wrong), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&missed.pre), 0);
	KUNIT_EXPECT_EQ(test, missed.kp.nmissed, atomic_read(&here.pre));
	KUNIT_EXPECT_EQ(test, atomic_read(&in_nmi.pre) + in_nmi.kp.nmissed, atomic_read(&nmis));
	unregister_kprobe(&here.kp);
	unregister_kprobe(&missed.kp);
	unregister_kprobe(&in_nmi.kp);
}

#ifdef CONFIG_KRETPROBES
/*
 * Returns: NMIs call the same function, also while its entry or return is followed.
 */

static struct kretprobe followed;
static atomic_t nr_followed;
static unsigned int nr_calls;

static int follow_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (regs_return_value(regs) != 101)
		atomic_inc(&nmis_wrong);
	atomic_inc(&nr_followed);
	return 0;
}

/* Are there calls of this task that have not returned? */
static bool some_in_flight(void)
{
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	return current->rethooks.first;
#else
	return current->kretprobe_instances.first;
#endif
}

static void call_in_nmi(void)
{
	if (run(kpx_callee, 1) != 101)
		atomic_inc(&nmis_wrong);
}

static void call_under_nmis(struct kunit *test)
{
	unsigned long end = jiffies + NMI_SECONDS * HZ;
	unsigned int wrong = 0;

	for (nr_calls = 0; time_before(jiffies, end); nr_calls++) {
		/* Some will come in a hit. */
		if (nr_calls >= NMI_ROUNDS && atomic_read(&nmis) >= 1000 &&
		    READ_ONCE(followed.kp.nmissed) >= 3)
			break;
		wrong += run(kpx_callee, 1) != 101 || some_in_flight();
		if (nr_calls % 64 == 0)
			cond_resched();
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_GE(test, followed.kp.nmissed, 3);
}

static void probe_p_ret_08_nmi(struct kunit *test)
{
	unsigned long accounted;

	need_two_cpus(test);
	followed = (struct kretprobe) {
		.kp.symbol_name	= "kpx_callee",
		.handler	= follow_return,
		.maxactive	= 4,
	};
	atomic_set(&nr_followed, 0);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&followed), 0);

	under_nmis(test, call_in_nmi, call_under_nmis);

	/* Each call was followed, or counted. */
	accounted = atomic_read(&nr_followed) + followed.kp.nmissed + followed.nmissed;
	KUNIT_EXPECT_EQ(test, accounted, nr_calls + atomic_read(&nmis));
	KUNIT_EXPECT_GT(test, atomic_read(&nr_followed), nr_calls);
	unregister_kretprobe(&followed);
	KUNIT_EXPECT_EQ(test, run(kpx_callee, 1), 101);
}
#endif
#endif

static struct kunit_case probe_cases[] = {
	KUNIT_CASE_PARAM(probe_modes, form_gen_params),
	KUNIT_CASE(probe_post_ip),
	KUNIT_CASE_PARAM(probe_p_hit_09_p_hit_12_fixup, fault_form_gen_params),
	KUNIT_CASE_PARAM(probe_p_blk_13_fixup_is_not_boosted, fault_form_gen_params),
	KUNIT_CASE(probe_p_hit_10_fault_that_sleeps),
	KUNIT_CASE_PARAM(probe_fault_of_step, fault_action_gen_params),
	KUNIT_CASE(probe_p_hit_11_fault_of_handler),
	KUNIT_CASE_PARAM(probe_p_hit_11_trap_of_handler, handler_trap_gen_params),
#if defined(CONFIG_KRETPROBES) && defined(CONFIG_IRQ_WORK)
	KUNIT_CASE(probe_p_hit_11_fault_of_interrupt),
#endif
#ifdef CONFIG_X86_64
	KUNIT_CASE(probe_branch_to_landing_pad),
	KUNIT_CASE(probe_branch_is_redirected),
	KUNIT_CASE(probe_branch_elsewhere),
#endif
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(probe_p_ret_11_tail_call),
#endif
	KUNIT_CASE_PARAM(probe_refused, refusal_gen_params),
	KUNIT_CASE_PARAM(probe_area_is_blacklisted, area_gen_params),
	KUNIT_CASE(probe_beside_failures),
	KUNIT_CASE(probe_p_x86_15_no_trap_flag),
	KUNIT_CASE(probe_p_reg_17_behind_padding),
	KUNIT_CASE(probe_p_hit_23_foreign_breakpoint),
	KUNIT_CASE(probe_p_mem_01_slot_is_read_only),
	KUNIT_CASE(probe_p_mem_05_slots_are_near),
	KUNIT_CASE(probe_p_reg_10_cfi_check),
	KUNIT_CASE(probe_p_hit_24_breakpoint_of_kgdb),
	KUNIT_CASE(probe_p_reg_18_neighbours),
	KUNIT_CASE(probe_p_reg_16_whole_function),
#ifdef CONFIG_X86_LOCAL_APIC
	KUNIT_CASE_SLOW(probe_p_hit_02_p_hit_03_p_hit_06_nmi),
	KUNIT_CASE_SLOW(probe_p_hit_04_third_level),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_SLOW(probe_p_ret_08_nmi),
#endif
#endif
	{}
};

/* All about breakpoints. */
static int probe_suite_init(struct kunit_suite *suite)
{
	kprobe_opt_allow(false);
	return 0;
}

static void probe_suite_exit(struct kunit_suite *suite)
{
	kprobe_opt_allow(true);
}

static struct kunit_suite probe_suite = {
	.name		= "kprobes_x86_probe",
	.suite_init	= probe_suite_init,
	.suite_exit	= probe_suite_exit,
	.test_cases	= probe_cases,
};
kunit_test_suite(probe_suite);
