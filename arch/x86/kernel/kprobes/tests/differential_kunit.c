// SPDX-License-Identifier: GPL-2.0-only
/*
 * The differential test of x86: how the instructions of differential_forms.S are run,
 * and what has to be the same with and without a probe. Registers, flags, stack,
 * memory, vector registers, where the program continues, and what handlers are shown.
 * kernel/kprobes/tests/differential.c has the engine.
 */

#define pr_fmt(fmt) "kprobes_x86_differential: " fmt

#include "suite.h"

#include <linux/kdebug.h>
#include <linux/sort.h>
#include <linux/wordpart.h>

#include <asm/fpu/api.h>
#include <asm/fpu/types.h>
#include <asm/insn.h>
#include <asm/msr.h>
#include <asm/processor-flags.h>

#include "../common.h"
#include "differential.h"
#include "differential_forms.h"
#include "differential_insn.h"

#define MIN_FORMS	300
/* Firmware writes its progress to this port; otherwise a write only takes time. */
#define QUIET_PORT	0x80

#define STACK_WORDS	64
#define STACK_START	24

#define ARITHMETIC	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |	\
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)
#define FLAGS_RANDOM	(ARITHMETIC | X86_EFLAGS_DF | X86_EFLAGS_AC | X86_EFLAGS_ID)
#define FLAGS_POPPED	(FLAGS_RANDOM | X86_EFLAGS_NT | X86_EFLAGS_IOPL)

extern const struct kpd_form kpd_forms[], kpd_forms_end[];

extern u32 kpd_mxcsr;
DECLARE_PER_CPU(unsigned long, kpd_percpu);

struct kpd_machine kpd_machine;
u8 kpd_data[DIFF_DATA_SIZE] __aligned(64);
u32 kpd_mxcsr = 0x1f80;
DEFINE_PER_CPU(unsigned long, kpd_percpu);

extern u8 kpd_taken[], kpd_back[];

#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_X86_64)
/* Its only content is what the compiler puts at the start, for the tracer. */
__attribute__((naked)) void kpd_traced(void);
__attribute__((naked)) void kpd_traced(void)
{
	asm volatile("jmp kpd_next");
}

STACK_FRAME_NON_STANDARD(kpd_traced);
#endif

/* Below the words that are compared, there is room for exceptions. */
static struct {
	u8		room[16384];
	unsigned long	words[STACK_WORDS];
} stack __aligned(64);

/* The part of the XSAVE area with a fixed layout: x87, SSE, and AVX. */
struct fpu_image {
	struct fxregs_state	fx;
	struct xstate_header	header;
	u8			ymm_high[256];
} __aligned(64);

/* Everything that an instruction can change. */
struct kpd_state {
	struct kpd_machine	m;
	unsigned long		stack[STACK_WORDS];
	u8			data[DIFF_DATA_SIZE];
	unsigned long		percpu;
	struct fpu_image	fpu;
};

static const struct kpd_arch differential_arch;

static struct kpd d = {
	.name	= "kprobes_x86_differential",
	.arch	= &differential_arch,
	.forms	= kpd_forms,
	.end	= kpd_forms_end,
};

/* What the bytes of each form say. */
static struct form_info *infos;

static struct form_info *info_of(const struct kpd_form *f)
{
	return &infos[f - kpd_forms];
}

/*
 * A random state to start from
 */

/* Small indices, whether of 32 or of 64 bits. */
static void small_indices(struct rnd_state *rnd, struct fpu_image *in)
{
	int i;

	for (i = 0; i < 4; i++) {
		in->fx.xmm_space[4 * 2 + i] = i & 1 ? 0 : kpd_random_below(rnd, 32);
		((u32 *)in->ymm_high)[4 * 2 + i] = i & 1 ? 0 : kpd_random_below(rnd, 32);
	}
}

static void random_fpu(struct rnd_state *rnd, struct fpu_image *in)
{
	int i;

	memset(in, 0, sizeof(*in));
	in->fx.cwd = 0x37f;
	in->fx.twd = 0xf;
	in->fx.mxcsr = 0x1f80 | kpd_random_below(rnd, 4) << 13;
	kpd_random_words(rnd, in->fx.xmm_space, sizeof(in->fx.xmm_space));
	kpd_random_words(rnd, in->ymm_high, sizeof(in->ymm_high));
	/* Four numbers of moderate size; each takes four words. */
	for (i = 0; i < 4; i++) {
		in->fx.st_space[4 * i] = prandom_u32_state(rnd);
		in->fx.st_space[4 * i + 1] = prandom_u32_state(rnd) | BIT(31);
		in->fx.st_space[4 * i + 2] = 0x3ff0 + kpd_random_below(rnd, 0x20);
	}
	in->header.xfeatures = XFEATURE_MASK_FPSSE;
	if (boot_cpu_has(X86_FEATURE_AVX))
		in->header.xfeatures |= XFEATURE_MASK_YMM;
}

static u8 *data_middle(void)
{
	return &kpd_data[DIFF_DATA_SIZE / 2];
}

/* The address of the operand in memory, once the registers are set. */
static void *operand(const struct kpd_form *f, struct form_info *info,
		     const struct kpd_machine *m)
{
	struct insn insn = info->insn;
	long addr = insn.displacement.value;

	if (insn_rip_relative(&insn))
		addr += (long)kpd_insn(f) + f->len;
	if (info->base >= 0)
		addr += m->r[info->base];
	if (info->index >= 0)
		addr += m->r[info->index] << X86_SIB_SCALE(insn.sib.value);
	return (void *)addr;
}

/* Gives indirect branches their target. */
static void aim(const struct kpd_form *f, struct form_info *info,
		struct kpd_machine *m)
{
	unsigned long taken = (unsigned long)f->taken;
	u8 modrm = info->insn.modrm.value;

	if (!opcode_is(&info->insn, 0xff))
		*(unsigned long *)m->r[REG_SP] = taken;
	else if (is_memory_form(&info->insn))
		*(unsigned long *)operand(f, info, m) = taken;
	else
		m->r[X86_MODRM_RM(modrm) | (info->insn.rex_prefix.nbytes ? 8 : 0)] = taken;
}

static void string_state(struct rnd_state *rnd, struct kpd_machine *m)
{
	u8 filling = prandom_u32_state(rnd);

	m->r[REG_SI] = (unsigned long)data_middle() + kpd_random_below(rnd, 32) - 16;
	m->r[REG_DI] = (unsigned long)data_middle() + kpd_random_below(rnd, 32) - 16;
	m->r[REG_CX] = kpd_random_below(rnd, 9);
	/* Comparisons that continue for a while. */
	if (kpd_random_below(rnd, 2)) {
		memset(kpd_data, filling, sizeof(kpd_data));
		m->r[REG_AX] = filling * REPEAT_BYTE(1);
		data_middle()[kpd_random_below(rnd, 32)] ^= kpd_random_below(rnd, 2);
	}
}

static void equal_state(const struct kpd_form *f, struct form_info *info,
			struct kpd_machine *m)
{
	u8 *mem = is_memory_form(&info->insn) ? operand(f, info, m) : NULL;

	m->r[REG_AX] = *(u64 *)mem;
	if (opcode_0f_is(&info->insn, 0xc7))
		m->r[REG_DX] = info->insn.rex_prefix.nbytes ? *(u64 *)(mem + 8) :
							       *(u32 *)(mem + 4);
}

/* Truncated to 16 or 32 bits, some are equal to others. */
static const unsigned long counts[] = {
	0, 2, 1, -1, 0xffff0001, 0xffff0000,
#ifdef CONFIG_X86_64
	0xffffffff00000001, 0xffffffff00000000,
#endif
};

/* In the first rounds, every condition is seen to hold and not to hold. */
static void condition_state(unsigned int round, const struct kpd_form *f,
			    struct kpd_machine *m)
{
	static const unsigned long flags[] = { 0, ARITHMETIC, X86_EFLAGS_SF };

	if (round < ARRAY_SIZE(flags))
		m->flags = (m->flags & ~ARITHMETIC) | flags[round];
	if (f->with & SHORT_COUNT && round < 2 * ARRAY_SIZE(counts))
		m->r[REG_CX] = counts[round % ARRAY_SIZE(counts)];
}

static void special_state(struct rnd_state *rnd, const struct kpd_form *f,
			  struct kpd_state *start)
{
	struct kpd_machine *m = &start->m;
	unsigned long *top = (unsigned long *)m->r[REG_SP];
	struct form_info *info = info_of(f);

	if (f->with & TRACED)
		m->flags &= ~X86_EFLAGS_DF;
	if (f->with & STRING)
		string_state(rnd, m);
	if (f->with & BP_STACK)
		m->r[REG_BP] = (unsigned long)&top[2 + kpd_random_below(rnd, 8)];
	if (f->with & STACK_ADDR)
		*top = (unsigned long)&top[2 + kpd_random_below(rnd, 8)];
	if (f->with & DIVIDE) {
		m->r[REG_AX] &= 0x3f;
		m->r[REG_DX] = 0;
		m->r[REG_CX] |= 1;
	}
	if (f->with & TABLE)
		m->r[REG_BX] = (unsigned long)data_middle();
	if (f->with & GATHER)
		small_indices(rnd, &start->fpu);
	if (f->with & BITS)
		m->r[REG_AX] = (long)kpd_random_below(rnd, 2048) - 1024;
	if (f->with & EQUAL && kpd_random_below(rnd, 2))
		equal_state(f, info, m);
	if (f->with & ZEROS) {
		m->r[REG_AX] = 0;
		m->r[REG_CX] = 0;
		*top = 0;
	}
	if (f->with & (MSR | SAME_MSR))
		m->r[REG_CX] = MSR_EFER;
	if (f->with & SAME_MSR)
		rdmsr(MSR_EFER, m->r[REG_AX], m->r[REG_DX]);
	if (f->with & AREA) {
		m->r[REG_BX] = (unsigned long)kpd_data;
		memcpy(kpd_data, &start->fpu, offsetof(struct fpu_image, ymm_high));
		/* FP and SSE, for instructions that have a mask of what to save. */
		m->r[REG_AX] = XFEATURE_MASK_FPSSE;
		m->r[REG_DX] = 0;
	}
	if (f->with & PORT)
		m->r[REG_DX] = QUIET_PORT;
	if (f->with & SELECTOR)
		memset(operand(f, info, m) + sizeof(u32), 0, sizeof(u32));
	if (f->with & RANGE) {
		unsigned int half = info->insn.opnd_bytes;
		u8 *mem = operand(f, info, m);

		memset(mem, 0, 2 * half);
		mem[half - 1] = 0x80;
		memset(mem + half, 0xff, half);
		mem[2 * half - 1] = 0x7f;
	}
	if (f->with & PERCPU) {
		m->r[REG_BX] = (unsigned long)&kpd_percpu;
		m->r[REG_SI] = m->r[REG_BX];
	}
	if (f->with & INDIRECT)
		aim(f, info, m);
	if (opcode_is(&info->insn, 0x9d)) {
		*top = X86_EFLAGS_FIXED | (*top & FLAGS_POPPED);
		*top |= m->flags & kpd_random_value(rnd) & X86_EFLAGS_IF;
	}
}

static void fill(const struct kpd_form *f, unsigned int round, struct rnd_state *rnd,
		 struct kpd_state *start)
{
	struct form_info *info = info_of(f);
	struct kpd_machine *m = &start->m;
	long index;

	memset(m, 0, sizeof(*m));
	kpd_random_words(rnd, m->r, sizeof(m->r));
	kpd_random_words(rnd, stack.words, sizeof(stack.words));
	kpd_random_words(rnd, kpd_data, sizeof(kpd_data));
	m->r[REG_SP] = (unsigned long)&stack.words[STACK_START + kpd_random_below(rnd, 4)];
	m->flags = X86_EFLAGS_FIXED | (kpd_random_value(rnd) & FLAGS_RANDOM);
	if (round & 1)
		m->flags |= X86_EFLAGS_IF;
	m->code = (unsigned long)f->entry;
	/* String instructions need it on 32 bit. */
	m->es = IS_ENABLED(CONFIG_X86_64) ? 0 : __USER_DS;
	__this_cpu_write(kpd_percpu, kpd_random_value(rnd));
	random_fpu(rnd, &start->fpu);

	if (info->memory) {
		index = kpd_random_below(rnd, 8);
		/* Nothing is defined below the stack pointer. */
		if (info->base != REG_SP)
			index -= kpd_random_below(rnd, 8);
		if (info->index >= 0)
			m->r[info->index] = index;
		if (info->base >= 0 && info->base != REG_SP)
			m->r[info->base] = (unsigned long)data_middle();
	}
	condition_state(round, f, m);
	special_state(rnd, f, start);
	memcpy(start->stack, stack.words, sizeof(stack.words));
}

/* The trap flag: single-stepping, as a debugger would do. */
static void trap(struct kpd_state *state)
{
	state->m.flags |= X86_EFLAGS_TF;
}

static int on_debug(struct notifier_block *nb, unsigned long why, void *data)
{
	if (why != DIE_DEBUG || !d.trapped)
		return NOTIFY_DONE;

	d.traps++;
	return NOTIFY_STOP;
}

static struct notifier_block debug_notifier = { .notifier_call = on_debug };

/*
 * Before and after a run
 */

#ifdef CONFIG_X86_64
#define XSAVE	"xsave64"
#define XRSTOR	"xrstor64"
#else
#define XSAVE	"xsave"
#define XRSTOR	"xrstor"
#endif

static void load_fpu(const struct fpu_image *image)
{
	asm volatile(XRSTOR " %0" : : "m" (*image), "a" (-1), "d" (0));
}

static void save_fpu(struct fpu_image *image)
{
	memset(image, 0, sizeof(*image));
	asm volatile(XSAVE " %0" : "+m" (*image)
		     : "a" ((u32)XFEATURE_MASK_FPSSE | XFEATURE_MASK_YMM), "d" (0));
	/* The address of the last x87 instruction, which is in the copy. */
	image->fx.rip = 0;
	image->fx.rdp = 0;
	/* Which parts were in use depends on the CPU, and so does the rest. */
	memset(&image->header, 0, sizeof(image->header));
	memset(image->fx.padding, 0, sizeof(image->fx.padding));
	memset(image->fx.sw_reserved, 0, sizeof(image->fx.sw_reserved));
}

static void load(const struct kpd_form *f, const struct kpd_state *start)
{
	kpd_machine = start->m;
	if (f->with & FPU) {
		kernel_fpu_begin_mask(KFPU_387 | KFPU_MXCSR);
		load_fpu(&start->fpu);
	}
}

static void save(const struct kpd_form *f, struct kpd_state *out)
{
	if (f->with & FPU) {
		save_fpu(&out->fpu);
		kernel_fpu_end();
	}
	out->m = kpd_machine;
	memcpy(out->stack, stack.words, sizeof(out->stack));
	memcpy(out->data, kpd_data, sizeof(out->data));
	/* As in save_fpu(); the same bytes are part of what FNSAVE stores. */
	if (f->with & AREA)
		memset(out->data + offsetof(struct fxregs_state, rip), 0, 16);
	out->percpu = __this_cpu_read(kpd_percpu);
}

/*
 * Comparing
 */

static const struct {
	const char	*name;
	int		offset;
} reg_names[NR_REGS] = {
	{ "ax",  offsetof(struct pt_regs, ax) },  { "cx",  offsetof(struct pt_regs, cx) },
	{ "dx",  offsetof(struct pt_regs, dx) },  { "bx",  offsetof(struct pt_regs, bx) },
	{ "sp",  offsetof(struct pt_regs, sp) },  { "bp",  offsetof(struct pt_regs, bp) },
	{ "si",  offsetof(struct pt_regs, si) },  { "di",  offsetof(struct pt_regs, di) },
#ifdef CONFIG_X86_64
	{ "r8",  offsetof(struct pt_regs, r8) },  { "r9",  offsetof(struct pt_regs, r9) },
	{ "r10", offsetof(struct pt_regs, r10) }, { "r11", offsetof(struct pt_regs, r11) },
	{ "r12", offsetof(struct pt_regs, r12) }, { "r13", offsetof(struct pt_regs, r13) },
	{ "r14", offsetof(struct pt_regs, r14) }, { "r15", offsetof(struct pt_regs, r15) },
#endif
};

/* It differs from run to run. */
static bool shows_clock(const struct kpd_form *f, int reg)
{
	return f->with & CLOCK && (reg == REG_AX || reg == REG_DX);
}

static int exit_of(const struct kpd_form *f, unsigned long ip)
{
	u8 *at = (u8 *)ip;

	if (at == kpd_insn(f) + f->len)
		return DIFF_NEXT;
	if (at == f->taken || at == kpd_taken)
		return DIFF_TAKEN;
	return at == f->back || at == kpd_back ? DIFF_BACK : -1;
}

static void same_regs(struct kpd_judge *j, struct pt_regs *regs, bool post,
		      const struct kpd_state *want, const struct kpd_state *start)
{
	const struct kpd_form *f = j->f;
	int i;

	for (i = 0; i < NR_REGS; i++) {
		if (!post || !shows_clock(f, i))
			kpd_shown(j, post, reg_names[i].name,
				  regs_get_register(regs, reg_names[i].offset), want->m.r[i]);
	}
	/* The CPU sets RF when an exception or interrupt comes before the instruction. */
	kpd_shown(j, post, "flags", regs->flags & ~X86_EFLAGS_RF, want->m.flags & ~X86_EFLAGS_RF);
	kpd_shown(j, post, "cs", regs->cs, __KERNEL_CS);
	/* The tracer stores something of its own there. */
	if (f->kind != DIFF_FTRACE)
		kpd_shown(j, post, "orig_ax", regs->orig_ax, -1);
	if (post)
		kpd_same(j, "exit in the post handler", exit_of(f, regs->ip), want->m.exit);
	else
		kpd_same(j, "ip in the pre handler", regs->ip,
			 (unsigned long)kpd_insn(f) + INT3_INSN_SIZE);
}

/*
 * What is below the stack pointer has been overwritten by exceptions and interrupts.
 * What was below it before counts if the form wrote to it.
 */
static void same_stack(struct kpd_judge *j, const struct kpd_state *got,
		       const struct kpd_state *want, const struct kpd_state *start)
{
	unsigned long at, sp = want->m.r[REG_SP];
	bool clean = !(j->f->with & ALLOCATES) || !(start->m.flags & X86_EFLAGS_IF);
	int i, shift;

	for (i = 0; i < STACK_WORDS; i++) {
		at = (unsigned long)&stack.words[i];
		if (at < round_down(sp, sizeof(long)))
			continue;
		if (at < start->m.r[REG_SP] && (!clean || want->stack[i] == start->stack[i]))
			continue;
		/* Of a word that the stack pointer points into, only the upper part. */
		shift = at < sp ? BITS_PER_BYTE * (sp - at) : 0;
		kpd_same(j, "the stack", got->stack[i] >> shift, want->stack[i] >> shift);
	}
}

/* The tracer does not restore R11, which is undefined on entry to a function. */
static bool is_kept(const struct kpd_form *f, int reg)
{
	return !shows_clock(f, reg) && (f->kind != DIFF_FTRACE || reg != 11);
}

/* It writes halves of 32 bits, and on 64 bit clears the upper part. */
static u64 clock_of(const struct kpd_machine *m)
{
	return (u64)m->r[REG_DX] << 32 | m->r[REG_AX];
}

/*
 * A return thunk that counts the call depth changes the flags. ftrace and the callees of
 * forms return through it, and so do copies of returns in a detour.
 */
static bool keeps_flags(const struct kpd_form *f)
{
	return !cpu_feature_enabled(X86_FEATURE_CALL_DEPTH) ||
	       (f->kind != DIFF_FTRACE && !(f->with & CALLEE) && !is_ret(&info_of(f)->insn));
}

static void same(struct kpd_judge *j, const struct kpd_state *got,
		 const struct kpd_state *want, const struct kpd_state *start)
{
	const struct kpd_form *f = j->f;
	int i;

	for (i = 0; i < NR_REGS; i++) {
		if (is_kept(f, i))
			kpd_same(j, reg_names[i].name, got->m.r[i], want->m.r[i]);
	}
	if (f->with & CLOCK && clock_of(&got->m) <= clock_of(&want->m))
		kpd_complain(j, "the clock is %llx, which was before %llx", clock_of(&got->m),
			     clock_of(&want->m));
	if (keeps_flags(f))
		kpd_same(j, "flags", got->m.flags, want->m.flags);
	kpd_same(j, "es", got->m.es, want->m.es);
	kpd_same(j, "the exit", got->m.exit, want->m.exit);
	kpd_same(j, "per-CPU data", got->percpu, want->percpu);
	same_stack(j, got, want, start);
	for (i = 0; i < DIFF_DATA_SIZE; i++) {
		if (got->data[i] != want->data[i])
			kpd_complain(j, "byte %d of the data is %x, not %x",
				     i - DIFF_DATA_SIZE / 2, got->data[i], want->data[i]);
	}
	if (f->with & FPU && memcmp(&got->fpu, &want->fpu, sizeof(got->fpu)))
		kpd_complain(j, "vector registers differ");
}

static bool branched(const struct kpd_state *out)
{
	return out->m.exit != DIFF_NEXT;
}

/*
 * Which forms are executed, and how
 */

static const char *skip(const struct kpd_form *f)
{
	if (f->with & FPU && !boot_cpu_has(X86_FEATURE_OSXSAVE))
		return "no XSAVE";
	return boot_cpu_has(f->cpu) ? NULL : "not for this CPU";
}

/*
 * Handlers run with interrupts off, and must not enable them. PUSHF and POPF would
 * show the trap flag, and it would step through a tracer.
 */
static bool applies(const struct kpd_form *f, const struct kpd_mode *m)
{
	if (m->trapped && (f->with & TRACED || is_flags(&info_of(f)->insn)))
		return false;
	return m->inside == KPD_NOT_INSIDE || !(f->with & IRQ_ON);
}

static bool calls(const struct kpd_form *f)
{
	return f->with & CALLEE;
}

static const char *executed(const struct kpd_form *f, bool watched)
{
	bool boosts = IS_ENABLED(CONFIG_PREEMPTION) || !IS_ENABLED(CONFIG_PREEMPT_COUNT);

	switch (f->kind) {
	case DIFF_FAST:
		return boosts && !watched ? "boosted" : "emulated";
	case DIFF_PLAIN:
		return boosts && !watched ? "boosted" : "stepped";
	case DIFF_EMULATED:
		return "emulated";
	case DIFF_STEPPED:
		return "stepped";
	default:
		return "ftrace";
	}
}

/*
 * Handlers that write to registers
 */

/* Its result depends only on registers. */
static bool takes_any(const struct kpd_form *f)
{
	struct form_info *info = info_of(f);

	return !f->with && !info->memory && !insn_rip_relative(&info->insn) &&
	       !opcode_is(&info->insn, 0x9d);
}

static void change_machine(struct kpd_machine *m)
{
	/* Not the same for all of the 64 bits. */
	const unsigned long other = 0x4b5a6978UL * (ULONG_MAX / U32_MAX) ^ 0x01020304;
	int i;

	for (i = 0; i < NR_REGS; i++)
		m->r[i] = i == REG_SP ? m->r[i] + 16 : m->r[i] ^ other;
	m->flags ^= ARITHMETIC;
}

static void change(struct kpd_state *state)
{
	change_machine(&state->m);
}

static void change_regs(struct pt_regs *regs)
{
	struct kpd_machine m = { .flags = regs->flags };
	int i;

	for (i = 0; i < NR_REGS; i++)
		m.r[i] = regs_get_register(regs, reg_names[i].offset);
	change_machine(&m);
	for (i = 0; i < NR_REGS; i++)
		*(unsigned long *)((void *)regs + reg_names[i].offset) = m.r[i];
	regs->flags = m.flags;
}

static const struct kpd_arch differential_arch = {
	.state_size	= sizeof(struct kpd_state),
	.min_forms	= MIN_FORMS,
	.min_jumps	= IS_ENABLED(CONFIG_OPTPROBES) ? MIN_FORMS : 0,
	/* One of the form, and one for each register that is loaded. */
	.min_traps	= NR_REGS,
	.skip		= skip,
	.applies	= applies,
	.calls		= calls,
	.executed	= executed,
	.fill		= fill,
	.load		= load,
	.save		= save,
	.same		= same,
	.same_regs	= same_regs,
	.trap		= trap,
	.branched	= branched,
	.takes_any	= takes_any,
	.change		= change,
	.change_regs	= change_regs,
};

/*
 * Cases
 */

/* All forms in one mode give the same result as without a probe. */
static void differential(struct kunit *test)
{
	kpd_compare(test, &d, test->param_value);
}

/* Pitfalls that concern some of the forms: these are checked in all modes. */

struct group {
	const char	*name;
	bool		(*has)(struct insn *insn);
	unsigned int	least;
};

/* There are fewer forms on 32 bit. */
#define LEAST(wide, narrow)	(IS_ENABLED(CONFIG_X86_64) ? (wide) : (narrow))

static const struct group groups[] = {
	{ "conditions", is_jcc, 32 },
	{ "displacements", is_relative, 40 },
	{ "calls_of_any_length", is_call, 5 },
	{ "branches_through_registers", is_indirect_reg, 7 },
	{ "branches_through_memory", is_indirect_mem, LEAST(15, 13) },
	{ "counters", is_counted, 10 },
	{ "flags_of_all_kinds", is_flags, 6 },
	{ "returns", is_ret, 4 },
#ifdef CONFIG_X86_64
	{ "relative_addresses", is_rip_relative, 30 },
#endif
	{ "prefixes", has_prefixes, 80 },
	{ "groups", is_group, 150 },
	{ "maps", is_of_another_map, LEAST(40, 30) },
	{ "longest", is_longest, 1 },
	{ "strings_in_either_direction", is_string, LEAST(25, 20) },
};
KUNIT_ARRAY_PARAM_DESC(group, groups, name);

static bool is_in_group(const struct kpd_form *f, const void *group)
{
	return ((const struct group *)group)->has(&info_of(f)->insn);
}

static void differential_group(struct kunit *test)
{
	const struct group *g = test->param_value;

	KUNIT_EXPECT_GE(test, kpd_check_group(test, &d, is_in_group, g), g->least);
}

/* Registers and flags are those of the program, whatever the mode. */
static void shown_to_handlers(struct kunit *test)
{
	kpd_check_shown(test, &d);
}

/* Whatever the mode, preemption is as before, and no probe is current. */
static void nothing_is_left(struct kunit *test)
{
	kpd_check_balance(test, &d);
}

/* The instruction sees what a handler has written. */
static void handlers_write_registers(struct kunit *test)
{
	static const struct kpd_mode mode = { "handlers that write", 1, .pre = 1 };
	unsigned int kinds[NR_DIFF_KINDS] = {};

	kpd_compare_changed(test, &d, &mode, kinds);
	KUNIT_EXPECT_GT(test, kinds[DIFF_FAST], 0);
	KUNIT_EXPECT_GT(test, kinds[DIFF_PLAIN], 0);
	KUNIT_EXPECT_GT(test, kinds[DIFF_EMULATED], 0);
}

/* Each row is one instruction, and no two have the same form. */
static void differential_forms(struct kunit *test)
{
	unsigned int i, kinds[NR_DIFF_KINDS] = {}, nr_forms = d.end - d.forms, distinct = 1;
	struct form_key *keys;

	keys = kp_calloc(test, nr_forms, sizeof(*keys));

	for (i = 0; i < nr_forms; i++) {
		const struct kpd_form *f = &kpd_forms[i];

		KUNIT_EXPECT_EQ_MSG(test, infos[i].insn.length, f->len, "%s", f->text);
		KUNIT_ASSERT_LT(test, f->kind, NR_DIFF_KINDS);
		make_key(&keys[i], f, &infos[i]);
	}
	for (i = 0; i < d.nr_usable; i++)
		kinds[kpd_usable(&d, i)->kind]++;

	sort(keys, nr_forms, sizeof(*keys), cmp_keys, NULL);
	for (i = 1; i < nr_forms; i++) {
		distinct += cmp_keys(&keys[i - 1], &keys[i]) != 0;
		if (!cmp_keys(&keys[i - 1], &keys[i]))
			KUNIT_FAIL(test, "of the same form: %s and %s",
				   keys[i - 1].form->text, keys[i].form->text);
	}

	for (i = 0; i < NR_DIFF_KINDS; i++) {
		if (i != DIFF_FTRACE || (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) &&
					 IS_ENABLED(CONFIG_X86_64)))
			KUNIT_EXPECT_GT(test, kinds[i], 0);
	}
	KUNIT_EXPECT_GE(test, distinct, MIN_FORMS);
	KUNIT_EXPECT_EQ(test, distinct, nr_forms);
	kunit_info(test, "%u forms, %u usable\n", nr_forms, d.nr_usable);
	kunit_info(test, "%u fast, %u plain, %u emulated, %u stepped, %u traced\n",
		   kinds[DIFF_FAST], kinds[DIFF_PLAIN], kinds[DIFF_EMULATED],
		   kinds[DIFF_STEPPED], kinds[DIFF_FTRACE]);
}

static bool is_conditional(const struct kpd_form *f)
{
	struct insn *insn = &info_of(f)->insn;

	return is_jcc(insn) || is_counted(insn);
}

/* The states are diverse: every condition was seen to hold and not to hold. */
static void differential_branches(struct kunit *test)
{
	kpd_check_branches(test, &d, is_conditional);
}

static bool depends_on_flags(const struct kpd_form *f)
{
	return is_jcc(&info_of(f)->insn);
}

static void set_flags(struct kpd_state *state, unsigned int flags)
{
	static const unsigned long bits[] = {
		X86_EFLAGS_CF, X86_EFLAGS_PF, X86_EFLAGS_ZF, X86_EFLAGS_SF, X86_EFLAGS_OF,
	};
	unsigned int b;

	for (b = 0; b < ARRAY_SIZE(bits); b++)
		__assign_bit(__ffs(bits[b]), &state->m.flags, flags & BIT(b));
}

/* Each condition, in both lengths, with all combinations of flags it depends on. */
static void all_flags_of_conditional_jumps(struct kunit *test)
{
	KUNIT_EXPECT_GE(test, kpd_check_flags(test, &d, depends_on_flags, 5, set_flags), 32);
}

static void differential_exit(struct kunit_suite *suite)
{
	kpd_exit(&d);
	unregister_die_notifier(&debug_notifier);
	kvfree(infos);
	infos = NULL;
}

static void write_notrack_prefix(u8 *insn)
{
	static const u8 prefix = 0x3e;

	guard(mutex)(&text_mutex);
	text_poke(insn, &prefix, 1);
	smp_text_poke_sync_each_cpu();
}

static int decode_all(void)
{
	const struct kpd_form *f;
	int ret;

	for (f = kpd_forms; f < kpd_forms_end; f++) {
		if (f->with & NOTRACK)
			write_notrack_prefix(kpd_insn(f));
		ret = insn_decode_kernel(&info_of(f)->insn, kpd_insn(f));
		if (ret) {
			pr_err("cannot decode %s\n", f->text);
			return ret;
		}
		decode_address(info_of(f));
	}

	return 0;
}

static int differential_init(struct kunit_suite *suite)
{
	int ret;

	infos = kvzalloc_objs(*infos, kpd_forms_end - kpd_forms);
	if (!infos)
		return -ENOMEM;

	ret = decode_all();
	if (ret)
		goto out_free;
	ret = register_die_notifier(&debug_notifier);
	if (ret)
		goto out_free;
	ret = kpd_init(&d);
	if (ret)
		goto out_unregister;
	return 0;

out_unregister:
	unregister_die_notifier(&debug_notifier);
out_free:
	kvfree(infos);
	infos = NULL;
	return ret;
}

static struct kunit_case differential_cases[] = {
	KUNIT_CASE(differential_forms),
	KUNIT_CASE(differential_branches),
	KUNIT_CASE_PARAM(differential, kpd_mode_gen_params),
	KUNIT_CASE_PARAM(differential_group, group_gen_params),
	KUNIT_CASE(all_flags_of_conditional_jumps),
	KUNIT_CASE(shown_to_handlers),
	KUNIT_CASE(nothing_is_left),
	KUNIT_CASE(handlers_write_registers),
	{}
};

KP_SUITE(differential_cases, .name = "kprobes_x86_differential",
	 .suite_init = differential_init, .suite_exit = differential_exit);
