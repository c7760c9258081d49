// SPDX-License-Identifier: GPL-2.0-only
/*
 * The differential test of powerpc: how the instructions of differential_forms.S are run, and
 * what has to be the same with and without a probe. Registers, the machine state, the soft
 * interrupt mask, stack with its red zone, memory, some special registers, where the program
 * continues, and what handlers are shown. kernel/kprobes/tests/differential.c has the engine.
 */

#define pr_fmt(fmt) "kprobes_powerpc_differential: " fmt

#include "suite.h"

#include <linux/text-patching.h>
#include <linux/thread_info.h>

#include <asm/cputable.h>
#include <asm/disassemble.h>
#include <asm/hw_irq.h>
#include <asm/inst.h>
#include <asm/interrupt.h>
#include <asm/ptrace.h>
#include <asm/reg.h>

#ifdef CONFIG_PPC64
#include <asm/paca.h>
#endif

#include "../common.h"
#include "differential.h"
#include "differential_forms.h"

#define MIN_FORMS	(IS_ENABLED(CONFIG_PPC64) ? 600 : 450)

/* Where functions have no site of ftrace, nothing is called from there. */
#define HAS_KIND(kind)	((kind) != DIFF_FTRACE || IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))

#define NR_GPRS		32

#define STACK_WORDS	160
#define STACK_START	96
/* A frame for the back chain to lead to. */
#define STACK_LAST	(STACK_WORDS - 8)

#define XER_SO		0x80000000
#define XER_OV		0x40000000
#define XER_CA		0x20000000
#define XER_OV32	0x00080000
#define XER_CA32	0x00040000
#define XER_COUNT	0x0000007f

/* The bits of MSR that matter here. An exception replaces some others by its reason. */
#ifdef CONFIG_PPC64
#define MSR_COMPARED	(MSR_64BIT | MSR_HV | MSR_STATE)
#elif defined(CONFIG_BOOKE)
#define MSR_COMPARED	(MSR_CE | MSR_DE | MSR_STATE)
#else
#define MSR_COMPARED	MSR_STATE
#endif
#define MSR_STATE	(MSR_EE | MSR_PR | MSR_ME | MSR_SE | MSR_BE | MSR_IR | MSR_DR | MSR_RI | \
			 MSR_LE)

/* The fields of CR that functions preserve. */
#define CR_PRESERVED	0x00fff000

/* Words of an extended opcode, without the bit that asks for a record of overflows. */
#define XOP_NO_OE	0x1ff

#define XOP_ISEL	15
#define XOP_DIVD	489
#define XOP_DIVDE	425
#define XOP_DIVDEU	393
#define XOP_DIVWE	427
#define XOP_DIVWEU	395
#define XOP_DIVW	491
#define XOP_DIVWU	459
#define XOP_MODSW	779
#define XOP_MODUW	267
#define XOP_MULHW	75
#define XOP_MULHWU	11
#define XOP_MFCR	19
#define XOP_BCLR	16
#define XOP_BCCTR	528

/* What differential_forms.S accesses by DIFF_*. */
struct kpd_machine {
	unsigned long	r[NR_GPRS];
	unsigned long	cr;
	unsigned long	xer;
	unsigned long	ctr;
	unsigned long	lr;
	unsigned long	msr;
	unsigned long	exit;
	unsigned long	code;
	unsigned long	host_sp;
};

static_assert(offsetof(struct kpd_machine, cr) == DIFF_CR);
static_assert(offsetof(struct kpd_machine, host_sp) == DIFF_HOST_SP);

extern const struct kpd_form kpd_forms[], kpd_forms_end[];
extern struct kpd_machine kpd_machine;
extern u8 kpd_data[];

#ifdef CONFIG_KPROBES_ON_FTRACE
/* Its only content is what the compiler puts at the start, for the tracer. */
asmlinkage void kpd_traced(void);
asmlinkage void kpd_traced(void)
{
	asm volatile("b kpd_next");
	unreachable();
}
#endif

struct kpd_machine kpd_machine;
u8 kpd_data[DIFF_DATA_SIZE] __aligned(256);

/*
 * Below the words that are compared, there is room for exceptions. The bit of the stack pointer
 * that tells exceptions of an overflow is clear.
 */
static struct {
	u8		room[THREAD_SIZE - STACK_WORDS * sizeof(long)];
	unsigned long	words[STACK_WORDS];
	u8		beyond[THREAD_SIZE];
} stack __aligned(2 * THREAD_SIZE);

/* Registers that only the program uses; each only if the CPU has it. */
struct special_regs {
	unsigned long	vrsave;
	unsigned long	tar;
	unsigned long	dscr;
};

/* Everything that an instruction can change. */
struct kpd_state {
	struct kpd_machine	m;
	struct special_regs	special;
	unsigned long		mask;
	unsigned long		stack[STACK_WORDS];
	u8			data[DIFF_DATA_SIZE];
};

#define FORM_SUITE	"kprobes_powerpc_differential"
#define FORM_INSN	ppc_inst_t

static ppc_inst_t read_insn(const void *at)
{
	return ppc_inst_read(at);
}

static u32 first_word(ppc_inst_t insn)
{
	return ppc_inst_val(insn);
}

#include "differential_words.h"

/* With and without a link. */
static bool is_bclr(u32 word)
{
	return get_op(word) == OP_19 && get_xop(word) == XOP_BCLR;
}

static bool is_bcctr(u32 word)
{
	return get_op(word) == OP_19 && get_xop(word) == XOP_BCCTR;
}

/* The register that has the result. */
static bool is_result(const struct kpd_form *f, unsigned int reg)
{
	return get_rt(word_of(f)) == reg;
}

/* The bits of the result that the architecture leaves undefined. */
static unsigned long undefined_bits(const struct kpd_form *f)
{
	const unsigned long upper = ~0xffffffffUL;
	u32 word = word_of(f), fields;

	if (f->with & VARIES)
		return ~0UL;
	if (get_op(word) != OP_31)
		return 0;

	/* MFOCRF */
	if (get_xop(word) == XOP_MFCR && word & BIT(20)) {
		fields = word >> 12 & 0xff;
		return ~(0xfUL << 4 * (fls(fields) - 1));
	}

	switch (get_xop(word) & XOP_NO_OE) {
	case XOP_DIVW:
	case XOP_DIVWU:
	case XOP_DIVWE:
	case XOP_DIVWEU:
	case XOP_MULHW:
	case XOP_MULHWU:
	case XOP_MODUW:
		return upper;
	}
	return 0;
}

/*
 * A random state to start from
 */

#ifdef CONFIG_PPC64
static const unsigned long masks[] = {
	IRQS_ALL_DISABLED, IRQS_ENABLED, IRQS_DISABLED, IRQS_ENABLED,
};

static unsigned long soft_mask(void)
{
	return irq_soft_mask_return();
}
#else
static const unsigned long masks[] = { 1, 0, 1, 0 };

static unsigned long soft_mask(void)
{
	return irqs_disabled();
}
#endif

static unsigned long mask_of(unsigned int round)
{
	return masks[round % ARRAY_SIZE(masks)];
}

/* The kernel relies on this register at all times. */
#ifdef CONFIG_PPC64
#define FIXED_REG	13

static unsigned long fixed_value(void)
{
	return (unsigned long)local_paca;
}
#else
#define FIXED_REG	2

static unsigned long fixed_value(void)
{
	return (unsigned long)current;
}
#endif

static unsigned long defined_xer(void)
{
	unsigned long bits = XER_SO | XER_OV | XER_CA | XER_COUNT;

	return cpu_has_feature(CPU_FTR_ARCH_300) ? bits | XER_OV32 | XER_CA32 : bits;
}

static void special_state(struct rnd_state *rnd, struct special_regs *special)
{
	/* Without the fields that are not in all of them, or that change more than themselves. */
	special->vrsave = prandom_u32_state(rnd);
	special->tar = kpd_random_value(rnd) & ~3UL;
	special->dscr = prandom_u32_state(rnd) & 7;
}

static u8 *data_middle(void)
{
	return &kpd_data[DIFF_DATA_SIZE / 2];
}

static void memory_state(struct rnd_state *rnd, const struct kpd_form *f,
			 struct kpd_machine *m)
{
	long offset = 16 * ((long)kpd_random_below(rnd, 16) - 8);

	if (f->with & ODD)
		offset += kpd_random_below(rnd, 16);
	m->r[4] = (unsigned long)data_middle() + offset;
	if (f->with & INDEX)
		m->r[5] = 16 * ((long)kpd_random_below(rnd, 8) - 4);
}

/* In the first rounds, each condition is seen with each count, so that branches go either way. */
static void condition_state(unsigned int round, const struct kpd_form *f,
			    struct kpd_machine *m)
{
	static const struct {
		bool		bit;
		unsigned long	ctr;
	} states[] = {
		{ false, 1 }, { true, 2 }, { false, 2 }, { true, 1 },
	};
	unsigned long bit = BIT(31 - (word_of(f) >> 16 & 31));

	if (round >= ARRAY_SIZE(states))
		return;

	m->cr = states[round].bit ? m->cr | bit : m->cr & ~bit;
	m->ctr = states[round].ctr;
}

/* The least significant bits of a target are ignored. */
static void target_state(struct rnd_state *rnd, const struct kpd_form *f,
			 struct kpd_machine *m)
{
	unsigned long target = (unsigned long)f->taken | kpd_random_below(rnd, 4);

	if (f->with & CALLEE)
		target = ppc_function_entry(kpd_callee);
	if (is_bclr(word_of(f)))
		m->lr = target;
	if (is_bcctr(word_of(f)))
		m->ctr = target;
}

/* No division by zero, and no quotient that is too large. */
static void divisor_state(const struct kpd_form *f, struct kpd_machine *m)
{
	m->r[5] = (m->r[5] & 0x7fffffff) | 0x100000;
	if (m->r[6] & 1)
		m->r[5] = -m->r[5];

	switch (get_xop(word_of(f)) & XOP_NO_OE) {
	case XOP_DIVWE:
	case XOP_DIVWEU:
	case XOP_DIVDE:
	case XOP_DIVDEU:
		m->r[4] &= 0x7f;
	}
}

static void stack_state(struct rnd_state *rnd, const struct kpd_form *f,
			struct kpd_machine *m)
{
	unsigned long *last = &stack.words[STACK_LAST], *sp;

	sp = &stack.words[STACK_START] + 16 / sizeof(*sp) * kpd_random_below(rnd, 4);
	*sp = (unsigned long)last;
	*last = 0;
	m->r[1] = (unsigned long)sp;
	if (f->with & STACK)
		m->r[4] = m->r[1] + 16 * ((long)kpd_random_below(rnd, 8) - 4);
	if (f->with & STEP)
		m->r[5] = -16 * (long)(1 + kpd_random_below(rnd, 16));
}

/* It is entered by kpd_run(), and LR has been moved before. */
static void traced_state(struct kpd_machine *m)
{
	m->r[0] = m->lr;
	m->r[12] = (unsigned long)&kpd_machine;
	m->ctr = m->code;
}

static void fill(const struct kpd_form *f, unsigned int round, struct rnd_state *rnd,
		 struct kpd_state *start)
{
	struct kpd_machine *m = &start->m;

	memset(start, 0, sizeof(*start));
	kpd_random_words(rnd, m->r, sizeof(m->r));
	kpd_random_words(rnd, stack.words, sizeof(stack.words));
	kpd_random_words(rnd, kpd_data, sizeof(kpd_data));
	m->cr = (u32)kpd_random_value(rnd);
	m->xer = prandom_u32_state(rnd) & defined_xer() & ~XER_COUNT;
	m->ctr = kpd_random_value(rnd);
	m->lr = kpd_random_value(rnd);
	m->code = (unsigned long)f->entry;
	start->mask = mask_of(round);
	/*
	 * On BookE, a system call runs without these until it is interrupted, and so does a thread
	 * that it starts; handlers have them.
	 */
	if (IS_ENABLED(CONFIG_BOOKE))
		mtmsr(mfmsr() | (MSR_KERNEL & MSR_COMPARED));
	m->msr = mfmsr() & ~MSR_EE;
	if (round & 1)
		m->msr |= MSR_EE;
	m->r[FIXED_REG] = fixed_value();
	special_state(rnd, &start->special);
	stack_state(rnd, f, m);

	if (f->with & CONDITION)
		condition_state(round, f, m);
	if (f->with & TRACED)
		traced_state(m);
	if (f->with & MEM)
		memory_state(rnd, f, m);
	if (f->with & (TARGET | CALLEE))
		target_state(rnd, f, m);
	if (f->with & DIVIDES)
		divisor_state(f, m);
	if (f->with & COUNTED)
		m->xer |= 1 + kpd_random_below(rnd, 24);
	/* They are masked at least as they have been. */
	if (f->with & MASKS)
		m->r[3] = (m->r[3] & ~0xffUL) | start->mask | (round & 2 ? 3 : 1);
	if (f->with & PREEMPTION) {
		m->r[3] = (u32)current_thread_info()->preempt_count;
		m->r[4] = (unsigned long)&current_thread_info()->preempt_count;
	}
	if (f->with & KEEPS_CURRENT)
		m->r[3] = (unsigned long)current;
#ifdef CONFIG_PPC_BOOK3S_64
	if (f->with & KEEPS_SPR)
		m->r[3] = mfspr(SPRN_AMR);
#endif

	memcpy(start->stack, stack.words, sizeof(stack.words));
	memcpy(start->data, kpd_data, sizeof(kpd_data));
}

/*
 * Before and after a run
 */

/* It is USPRG0 on BookE. */
static bool has_vrsave(void)
{
	return IS_ENABLED(CONFIG_BOOKE) || cpu_has_feature(CPU_FTR_ALTIVEC);
}

#ifdef CONFIG_PPC64
static bool has_tar(void)
{
	return IS_ENABLED(CONFIG_PPC_BOOK3S_64) && cpu_has_feature(CPU_FTR_ARCH_207S);
}
#endif

static void write_special(const struct special_regs *special)
{
	if (has_vrsave())
		mtspr(SPRN_VRSAVE, special->vrsave);
#ifdef CONFIG_PPC64
	if (has_tar()) {
		mtspr(SPRN_TAR, special->tar);
		mtspr(SPRN_DSCR, special->dscr);
	}
#endif
}

static void read_special(struct special_regs *special)
{
	memset(special, 0, sizeof(*special));
	if (has_vrsave())
		special->vrsave = mfspr(SPRN_VRSAVE);
#ifdef CONFIG_PPC64
	if (has_tar()) {
		special->tar = mfspr(SPRN_TAR);
		special->dscr = mfspr(SPRN_DSCR);
	}
#endif
}

/* Those of the task. */
static struct special_regs host_special;

static void load(const struct kpd_form *f, const struct kpd_state *start)
{
	kpd_machine = start->m;
	read_special(&host_special);
	write_special(&start->special);
	if (!start->mask)
		return;

	local_irq_disable();
#ifdef CONFIG_PPC64
	/* In every other such round, also in MSR. */
	if (start->mask == IRQS_ALL_DISABLED)
		hard_irq_disable();
#endif
}

static void save(const struct kpd_form *f, struct kpd_state *out)
{
	out->mask = soft_mask();
	/* A form that masks them does not tell those who keep track of it. */
	if (f->with & MASKS)
		raw_local_irq_enable();
	if (d.start->mask)
		local_irq_enable();
	read_special(&out->special);
	write_special(&host_special);
	out->m = kpd_machine;
	memcpy(out->stack, stack.words, sizeof(out->stack));
	memcpy(out->data, kpd_data, sizeof(out->data));
}

/*
 * Comparing
 */

static const char * const reg_names[NR_GPRS] = {
	"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10",
	"r11", "r12", "r13", "r14", "r15", "r16", "r17", "r18", "r19", "r20",
	"r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31",
};

/* An interrupt that comes while they are soft-masked may clear MSR[EE]. */
static unsigned long compared_msr(unsigned long msr, unsigned long mask)
{
	return msr & (mask ? MSR_COMPARED & ~MSR_EE : MSR_COMPARED);
}

static unsigned long compared_gpr(const struct kpd_form *f, unsigned int reg, unsigned long value,
				  const struct kpd_state *start)
{
	if (!is_result(f, reg))
		return value;
	if (f->with & SHOWS_MSR)
		return compared_msr(value, start->mask);
	return value & ~undefined_bits(f);
}

/* The tracer does not restore what functions need not preserve. */
static unsigned long compared_cr(const struct kpd_form *f, unsigned long cr)
{
	return f->with & TRACED ? cr & CR_PRESERVED : cr;
}

static void same_regs(struct kpd_judge *j, struct pt_regs *regs, bool post,
		      const struct kpd_state *want, const struct kpd_state *start)
{
	const struct kpd_form *f = j->f;
	unsigned long shown_cr;
	unsigned int i;

	for (i = 0; i < NR_GPRS; i++) {
		if (post)
			kpd_shown(j, post, reg_names[i],
				  compared_gpr(f, i, regs->gpr[i], start),
				  compared_gpr(f, i, want->m.r[i], start));
		else
			kpd_shown(j, post, reg_names[i], regs->gpr[i], want->m.r[i]);
	}
	/* The tracer uses CR0 before it saves CR. */
	shown_cr = f->with & TRACED ? 0x0fffffff : 0xffffffff;
	kpd_shown(j, post, "CR", regs->ccr & shown_cr, want->m.cr & shown_cr);
	kpd_shown(j, post, "XER", regs->xer & defined_xer(), want->m.xer & defined_xer());
	kpd_shown(j, post, "CTR", regs->ctr, want->m.ctr);
	kpd_shown(j, post, "LR", regs->link, want->m.lr);
	kpd_shown(j, post, "MSR", compared_msr(regs->msr, start->mask),
		  compared_msr(want->m.msr, start->mask));
#ifdef CONFIG_PPC64
	/* The tracer does not know it, and post handlers are called before it is written. */
	if (!(f->with & TRACED) && (!post || !(f->with & MASKS)))
		kpd_shown(j, post, "the soft mask", regs->softe, want->mask);
#endif

	if (post) {
		kpd_same(j, "exit in the post handler", exit_of(f, regs->nip), want->m.exit);
	} else {
		if (!(f->with & TRACED))
			kpd_shown(j, post, "the trap", TRAP(regs), INTERRUPT_PROGRAM);
		kpd_same(j, "nip in the pre handler", regs->nip, (unsigned long)kpd_insn(f));
	}
}

/*
 * What is below the red zone has been overwritten by exceptions and interrupts. What was below it
 * before counts if the form wrote to it. At the start of a function, there is no red zone, and the
 * tracer saves LR where the function could do so.
 */
static void same_stack(struct kpd_judge *j, const struct kpd_state *got,
		       const struct kpd_state *want, const struct kpd_state *start)
{
	unsigned long red_zone = j->f->with & TRACED ? 0 : KERNEL_REDZONE_SIZE;
	unsigned long limit = want->m.r[1] - red_zone;
	unsigned long before = start->m.r[1] - red_zone;
	unsigned long saved = start->m.r[1] + STACK_FRAME_LR_SAVE * sizeof(long);
	bool clean = !(j->f->with & ALLOCATES) || start->mask;
	unsigned long at;
	int i;

	for (i = 0; i < STACK_WORDS; i++) {
		at = (unsigned long)&stack.words[i];
		if (at < limit)
			continue;
		if (at < before && (!clean || want->stack[i] == start->stack[i]))
			continue;
		if (j->f->with & TRACED && at == saved)
			continue;
		kpd_same(j, "the stack", got->stack[i], want->stack[i]);
	}
}

static void same(struct kpd_judge *j, const struct kpd_state *got,
		 const struct kpd_state *want, const struct kpd_state *start)
{
	const struct kpd_form *f = j->f;
	unsigned int i;

	for (i = 0; i < NR_GPRS; i++)
		kpd_same(j, reg_names[i], compared_gpr(f, i, got->m.r[i], start),
			 compared_gpr(f, i, want->m.r[i], start));
	kpd_same(j, "CR", compared_cr(f, got->m.cr), compared_cr(f, want->m.cr));
	if (!(f->with & TRACED)) {
		kpd_same(j, "XER", got->m.xer & defined_xer(), want->m.xer & defined_xer());
		kpd_same(j, "CTR", got->m.ctr, want->m.ctr);
	}
	kpd_same(j, "LR", got->m.lr, want->m.lr);
	kpd_same(j, "MSR", compared_msr(got->m.msr, want->mask),
		 compared_msr(want->m.msr, want->mask));
	kpd_same(j, "the interrupt mask", got->mask, want->mask);
	kpd_same(j, "VRSAVE", got->special.vrsave, want->special.vrsave);
	kpd_same(j, "TAR", got->special.tar, want->special.tar);
	kpd_same(j, "DSCR", got->special.dscr, want->special.dscr);
	kpd_same(j, "the exit", got->m.exit, want->m.exit);
	same_stack(j, got, want, start);
	same_data(j, got, want);
}

/*
 * Which forms are executed, and how
 */

static bool has_feature(u16 cpu)
{
	switch (cpu) {
	case CPU_ANY:
		return true;
	case CPU_206:
		return cpu_has_feature(CPU_FTR_ARCH_206);
	case CPU_207:
		return cpu_has_feature(CPU_FTR_ARCH_207S);
	case CPU_300:
		return cpu_has_feature(CPU_FTR_ARCH_300);
	case CPU_310:
		return cpu_has_feature(CPU_FTR_ARCH_31);
	case CPU_ISEL:
		return IS_ENABLED(CONFIG_PPC_E500) || cpu_has_feature(CPU_FTR_ARCH_206);
	case CPU_STRING:
		return IS_ENABLED(CONFIG_PPC_BOOK3S);
	case CPU_SEGMENTS:
		return IS_ENABLED(CONFIG_PPC_BOOK3S_32);
	case CPU_BOOKE:
		return IS_ENABLED(CONFIG_BOOKE);
	case CPU_MCRXR:
		return IS_ENABLED(CONFIG_PPC32);
	case CPU_VRSAVE:
		return has_vrsave();
	case CPU_LWSYNC:
		return IS_ENABLED(CONFIG_PPC64) || IS_ENABLED(CONFIG_PPC_E500MC);
	default:
		return false;
	}
}

/* In a handler, the mask is that of the exception, and the count that of the handler. */
static bool applies(const struct kpd_form *f, const struct kpd_mode *m)
{
	return m->inside == KPD_NOT_INSIDE || !(f->with & (MASKS | SHOWS_MASK | PREEMPTION));
}

static const char *executed(const struct kpd_form *f, bool watched)
{
	return f->kind == DIFF_FTRACE ? "ftrace" : executed_copy(f, watched);
}

static bool jumps(const struct kpd_form *f)
{
	return !(f->with & (NO_JUMP | TRACED));
}

static bool callee_jumps(void)
{
	return true;
}

/*
 * Handlers that write to registers
 */

/* A detour is left in another way if a handler has changed the stack pointer. */
static bool sp_is_changed;

static unsigned long changed(unsigned int reg, unsigned long value)
{
	switch (reg) {
	case 1:
		return sp_is_changed ? value + 64 : value;
	case FIXED_REG:
		return value;
	}
	return value ^ 0x4b5a6978UL * (~0UL / 0xffffffff) ^ 0x01020304UL * reg;
}

static void change(struct kpd_state *state)
{
	struct kpd_machine *m = &state->m;
	unsigned int i;

	for (i = 0; i < NR_GPRS; i++)
		m->r[i] = changed(i, m->r[i]);
	m->cr ^= 0xffffffff;
	m->xer ^= XER_SO | XER_OV | XER_CA;
	m->ctr = ~m->ctr;
	m->lr = ~m->lr;
}

static void change_regs(struct pt_regs *regs)
{
	unsigned int i;

	for (i = 0; i < NR_GPRS; i++)
		regs->gpr[i] = changed(i, regs->gpr[i]);
	regs->ccr ^= 0xffffffff;
	regs->xer ^= XER_SO | XER_OV | XER_CA;
	regs->ctr = ~regs->ctr;
	regs->link = ~regs->link;
}

/*
 * Cases
 */

/* Some forms exist only on 64 bits, or only in big-endian kernels. */
#define ON_64(least)	(IS_ENABLED(CONFIG_PPC64) ? (least) : 0)
#define ON_BE(least)	(IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) ? (least) : 0)

static const struct group groups[] = {
	{ "branches",			0xfc000001, 0x48000000, 3 },
	{ "links",			0xfc000001, 0x48000001, 4 },
	{ "conditional_branches",	0xfc000001, 0x40000000, 90 },
	{ "conditional_links",		0xfc000001, 0x40000001, 20 },
	{ "branches_to_lr",		0xfc0007ff, 0x4c000020, 20 },
	{ "links_to_lr",		0xfc0007ff, 0x4c000021, 10 },
	{ "branches_to_ctr",		0xfc0007ff, 0x4c000420, 10 },
	{ "links_to_ctr",		0xfc0007ff, 0x4c000421, 10 },
	{ "counters",			0xfc400000, 0x40000000, 40 },
	{ "condition_logic",		0xfc00003e, 0x4c000002, 24 },
	{ "conditions_read",		0xfc0007fe, 0x7c000026, 11 },
	{ "conditions_written",		0xfc0007fe, 0x7c000120, 12 },
	{ "special_registers_read",	0xfc0007fe, 0x7c0002a6, 20 },
	{ "special_registers_written",	0xfc0007fe, 0x7c0003a6, 16 },
	{ "carries_of_immediates",	0xf8000000, 0x30000000, 4 },
	{ "rotations",			0xf8000000, 0x50000000, 7 },
	{ "rotations_of_64_bits",	0xfc000000, 0x78000000, ON_64(13) },
	{ "frames",			0xffff0000,
					IS_ENABLED(CONFIG_PPC64) ? 0xf8210000 : 0x94210000, 4 },
	{ "reversed_bytes",		0xfc0004fe, 0x7c00042c, 8 },
	{ "multiples",			0xf8000000, 0xb8000000, ON_BE(9) },
	{ "cpu_data",			0xfc1f0000, 0x880d0000, ON_64(2) },
	{ "next_address",		0xfc00003e, 0x4c000004, ON_64(7) },
	{ "prefixed",			0xfc000000, 0x04000000, ON_64(30) },
};
KUNIT_ARRAY_PARAM_DESC(group, groups, name);

static const struct writing_mode {
	struct kpd_mode	m;
	bool		sp;
} writing_modes[] = {
	{ { "breakpoint", 1, .pre = 1 } },
	{ { "breakpoint, with the stack pointer", 1, .pre = 1 }, true },
	{ { "post handler", 1, .pre = 1, .post = 1 } },
	{ { "post handler, with the stack pointer", 1, .pre = 1, .post = 1 }, true },
	{ { "jump", 1, .pre = 1, .jumps = true } },
	{ { "jump, with the stack pointer", 1, .pre = 1, .jumps = true }, true },
};
KUNIT_ARRAY_PARAM_DESC(writing_mode, writing_modes, m.name);

/* The instruction sees what a handler has written. */
static void handlers_write_registers(struct kunit *test)
{
	const struct writing_mode *mode = test->param_value;
	unsigned int kinds[NR_DIFF_KINDS] = {}, i;

	sp_is_changed = mode->sp;
	kpd_compare_changed(test, &d, &mode->m, kinds);
	for (i = 0; i < NR_DIFF_KINDS; i++) {
		if (i != DIFF_FTRACE)
			KUNIT_EXPECT_GT(test, kinds[i], 0);
	}
}

static bool is_same_form(const struct kpd_form *a, const struct kpd_form *b)
{
	return ppc_inst_equal(insn_of(a), insn_of(b)) && a->with == b->with;
}

static unsigned int insn_len(const struct kpd_form *f)
{
	return ppc_inst_len(insn_of(f));
}

static bool is_conditional(const struct kpd_form *f)
{
	return f->with & CONDITION;
}

static struct kunit_case differential_cases[] = {
	KUNIT_CASE(differential_forms),
	KUNIT_CASE(differential_branches),
	KUNIT_CASE_PARAM(differential, kpd_mode_gen_params),
	KUNIT_CASE_PARAM(differential_stepped, stepped_mode_gen_params),
	KUNIT_CASE_PARAM(differential_missed_jumps, missed_mode_gen_params),
	KUNIT_CASE_PARAM(differential_group, group_gen_params),
	KUNIT_CASE(shown_to_handlers),
	KUNIT_CASE(nothing_is_left),
	KUNIT_CASE_PARAM(handlers_write_registers, writing_mode_gen_params),
	{}
};

KP_SUITE(differential_cases, .name = "kprobes_powerpc_differential",
	 .suite_init = differential_init, .suite_exit = differential_exit);
