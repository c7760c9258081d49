// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The differential test: each instruction of differential_forms.S is executed
 * without a probe and then in every mode that a probe on it can have, from the same
 * random states. Registers, flags, stack, memory, vector registers and where the
 * program goes on have to be the same, and so has what handlers are shown.
 *
 * A mode is a row of modes[]. What is random follows from a seed, which is printed;
 * kprobes.differential_seed= on the command line repeats a run, and
 * kprobes.differential_rounds= says how many states each instruction is given.
 */

#define pr_fmt(fmt) "kprobes_x86_differential: " fmt

#include <kunit/test.h>
#include <linux/bitfield.h>
#include <linux/hash.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/kprobes-test.h>
#include <linux/linkage.h>
#include <linux/moduleparam.h>
#include <linux/objtool.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/sort.h>
#include <linux/string_choices.h>
#include <linux/vmalloc.h>

#include <asm/fpu/api.h>
#include <asm/fpu/types.h>
#include <asm/insn.h>
#include <asm/processor-flags.h>

#include "../common.h"
#include "differential.h"
#include "differential_insn.h"

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "kprobes."

static unsigned long long seed;
module_param_named(differential_seed, seed, ullong, 0400);
MODULE_PARM_DESC(differential_seed, "Seed of the differential test, 0 for a new one");

static unsigned int rounds = 16;
module_param_named(differential_rounds, rounds, uint, 0400);
MODULE_PARM_DESC(differential_rounds, "States in which each instruction is executed");

#define MIN_FORMS	300
/* Firmware writes its progress to this port; otherwise a write only takes time. */
#define QUIET_PORT	0x80

#define STACK_WORDS	64
#define STACK_START	24

#define ARITHMETIC	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |	\
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)
#define FLAGS_RANDOM	(ARITHMETIC | X86_EFLAGS_DF | X86_EFLAGS_AC | X86_EFLAGS_ID)
#define FLAGS_POPPED	(FLAGS_RANDOM | X86_EFLAGS_NT | X86_EFLAGS_IOPL)

extern const struct form kpd_forms[], kpd_forms_end[];

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
struct outcome {
	struct kpd_machine	m;
	unsigned long		stack[STACK_WORDS];
	u8			data[DIFF_DATA_SIZE];
	unsigned long		percpu;
	long			balance;	/* what is left behind */
	struct fpu_image	fpu;
};

/*
 * State of the suite
 */

static struct {
	int			cpu;		/* some registers belong to it */
	unsigned int		nr_forms;
	struct form_info	*info;
	unsigned int		*usable;	/* numbers of the forms in use */
	unsigned int		nr_usable;
	struct outcome		*native;	/* of each form in each round */
	struct outcome		probed;
	unsigned long		shown;		/* states that handlers saw */
	unsigned long		shown_wrong;
	unsigned long		unbalanced;	/* runs that left something behind */
	unsigned long		before[STACK_WORDS];
	struct fpu_image	fpu_in;
	bool			trapped;	/* the trap flag is set while a form runs */
	unsigned long		traps;
	struct outcome		wanted;		/* the random state, then */
} d;

static struct outcome *native_outcome(unsigned int i, unsigned int round)
{
	return &d.native[(size_t)i * rounds + round];
}

/*
 * A random state to start from
 */

static void random_bytes(struct rnd_state *rnd, void *buf, size_t size)
{
	unsigned long *words = buf;
	int i;

	for (i = 0; i < size / sizeof(*words); i++)
		words[i] = random_value(rnd);
}

static u32 random_below(struct rnd_state *rnd, u32 ceil)
{
	return prandom_u32_state(rnd) % ceil;
}

/* Small indices, whether of 32 or of 64 bits. */
static void small_indices(struct rnd_state *rnd)
{
	int i;

	for (i = 0; i < 4; i++) {
		d.fpu_in.fx.xmm_space[4 * 2 + i] = i & 1 ? 0 : random_below(rnd, 32);
		((u32 *)d.fpu_in.ymm_high)[4 * 2 + i] = i & 1 ? 0 : random_below(rnd, 32);
	}
}

static void random_fpu(struct rnd_state *rnd)
{
	struct fpu_image *in = &d.fpu_in;
	int i;

	memset(in, 0, sizeof(*in));
	in->fx.cwd = 0x37f;
	in->fx.twd = 0xf;
	in->fx.mxcsr = 0x1f80 | random_below(rnd, 4) << 13;
	random_bytes(rnd, in->fx.xmm_space, sizeof(in->fx.xmm_space));
	random_bytes(rnd, in->ymm_high, sizeof(in->ymm_high));
	/* Four numbers of moderate size; each takes four words. */
	for (i = 0; i < 4; i++) {
		in->fx.st_space[4 * i] = prandom_u32_state(rnd);
		in->fx.st_space[4 * i + 1] = prandom_u32_state(rnd) | BIT(31);
		in->fx.st_space[4 * i + 2] = 0x3ff0 + random_below(rnd, 0x20);
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
static void *operand(const struct form *f, struct form_info *info,
		     const struct kpd_machine *m)
{
	struct insn insn = info->insn;
	long addr = insn.displacement.value;

	if (insn_rip_relative(&insn))
		addr += (long)insn_addr(f) + f->len;
	if (info->base >= 0)
		addr += m->r[info->base];
	if (info->index >= 0)
		addr += m->r[info->index] << X86_SIB_SCALE(insn.sib.value);
	return (void *)addr;
}

/* Gives indirect branches their target. */
static void aim(const struct form *f, struct form_info *info,
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

	m->r[REG_SI] = (unsigned long)data_middle() + random_below(rnd, 32) - 16;
	m->r[REG_DI] = (unsigned long)data_middle() + random_below(rnd, 32) - 16;
	m->r[REG_CX] = random_below(rnd, 9);
	/* Comparisons that continue for a while. */
	if (random_below(rnd, 2)) {
		memset(kpd_data, filling, sizeof(kpd_data));
		m->r[REG_AX] = filling * REPEAT_BYTE(1);
		data_middle()[random_below(rnd, 32)] ^= random_below(rnd, 2);
	}
}

static void equal_state(const struct form *f, struct form_info *info,
			struct kpd_machine *m)
{
	u8 *mem = is_memory_form(&info->insn) ? operand(f, info, m) : NULL;

	m->r[REG_AX] = *(u64 *)mem;
	if (opcode_0f_is(&info->insn, 0xc7))
		m->r[REG_DX] = info->insn.rex_prefix.nbytes ? *(u64 *)(mem + 8) :
							       *(u32 *)(mem + 4);
}

/* In the first rounds, every condition is seen to hold and not to hold. */
static void condition_state(unsigned int round, const struct form *f,
			    struct kpd_machine *m)
{
	static const unsigned long counts[] = {
		0, 2, 1, -1, 0xffff0001, 0xffff0000,
#ifdef CONFIG_X86_64
		0xffffffff00000001, 0xffffffff00000000,
#endif
	};
	static const unsigned long flags[] = { 0, ARITHMETIC, X86_EFLAGS_SF };

	if (round < ARRAY_SIZE(flags))
		m->flags = (m->flags & ~ARITHMETIC) | flags[round];
	if (f->with & SHORT_COUNT && round < 2 * ARRAY_SIZE(counts))
		m->r[REG_CX] = counts[round % ARRAY_SIZE(counts)];
}

static void special_state(struct rnd_state *rnd, const struct form *f,
			  struct form_info *info, struct kpd_machine *m)
{
	unsigned long *top = (unsigned long *)m->r[REG_SP];

	if (f->with & TRACED)
		m->flags &= ~X86_EFLAGS_DF;
	if (f->with & STRING)
		string_state(rnd, m);
	if (f->with & BP_STACK)
		m->r[REG_BP] = (unsigned long)&top[2 + random_below(rnd, 8)];
	if (f->with & STACK_ADDR)
		*top = (unsigned long)&top[2 + random_below(rnd, 8)];
	if (f->with & DIVIDE) {
		m->r[REG_AX] &= 0x3f;
		m->r[REG_DX] = 0;
		m->r[REG_CX] |= 1;
	}
	if (f->with & TABLE)
		m->r[REG_BX] = (unsigned long)data_middle();
	if (f->with & GATHER)
		small_indices(rnd);
	if (f->with & BITS)
		m->r[REG_AX] = (long)random_below(rnd, 2048) - 1024;
	if (f->with & EQUAL && random_below(rnd, 2))
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
		memcpy(kpd_data, &d.fpu_in, offsetof(struct fpu_image, ymm_high));
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
		*top |= m->flags & random_value(rnd) & X86_EFLAGS_IF;
	}
}

/* Always the same for a given form and round. Every other one has interrupts on. */
static void set_state(unsigned int i, unsigned int round)
{
	struct form_info *info = &d.info[i];
	const struct form *f = &kpd_forms[i];
	struct kpd_machine *m = &kpd_machine;
	struct rnd_state rnd;
	long index;

	prandom_seed_state(&rnd, (seed + ((u64)i << 16) + round) * GOLDEN_RATIO_64);

	memset(m, 0, sizeof(*m));
	random_bytes(&rnd, m->r, sizeof(m->r));
	random_bytes(&rnd, stack.words, sizeof(stack.words));
	random_bytes(&rnd, kpd_data, sizeof(kpd_data));
	m->r[REG_SP] = (unsigned long)&stack.words[STACK_START + random_below(&rnd, 4)];
	m->flags = X86_EFLAGS_FIXED | (random_value(&rnd) & FLAGS_RANDOM);
	if (round & 1)
		m->flags |= X86_EFLAGS_IF;
	m->code = (unsigned long)f->entry;
	/* String instructions need it on 32 bit. */
	m->es = IS_ENABLED(CONFIG_X86_64) ? 0 : __USER_DS;
	__this_cpu_write(kpd_percpu, random_value(&rnd));
	random_fpu(&rnd);

	if (info->memory) {
		index = random_below(&rnd, 8);
		/* Nothing is defined below the stack pointer. */
		if (info->base != REG_SP)
			index -= random_below(&rnd, 8);
		if (info->index >= 0)
			m->r[info->index] = index;
		if (info->base >= 0 && info->base != REG_SP)
			m->r[info->base] = (unsigned long)data_middle();
	}
	condition_state(round, f, m);
	special_state(&rnd, f, info, m);
	memcpy(d.before, stack.words, sizeof(stack.words));
}

/* Handlers. Each is shown a state, which is compared later. */

enum inside {
	NOT_INSIDE,
	IN_PRE_HANDLER,
	IN_POST_HANDLER,
};

/**
 * struct mode - the probes on all forms
 * @name: what is special about them
 * @users: how many there are on each
 * @pre: bit mask of the users with a pre handler
 * @post: bit mask of the users with a post handler
 * @fault: bit mask of the users with a fault handler
 * @trapped: the trap flag is set: there is a debug exception after each instruction
 * @inside: the form is executed in the handler of another probe, so that these miss
 * @kinds: how the kinds of forms are to be executed, as the "sites" file shows it
 */
struct mode {
	const char	*name;
	unsigned int	users;
	unsigned int	pre;
	unsigned int	post;
	unsigned int	fault;
	bool		trapped;
	enum inside	inside;
	const char	*kinds[NR_DIFF_KINDS];
};

#define MAX_USERS	2

struct probe_user {
	struct kprobe	kp;
	int		nr;
};

static struct {
	const u8	*addr;
	unsigned int	pre[MAX_USERS];
	unsigned int	post[MAX_USERS];
	unsigned int	strange;		/* hits of another form, faults */
	struct pt_regs	at_pre;
	struct pt_regs	at_post;
} seen;

static int on_pre(struct kprobe *p, struct pt_regs *regs)
{
	if (p->addr != seen.addr)
		seen.strange++;
	seen.pre[container_of(p, struct probe_user, kp)->nr]++;
	seen.at_pre = *regs;
	return 0;
}

static void on_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	if (p->addr != seen.addr)
		seen.strange++;
	seen.post[container_of(p, struct probe_user, kp)->nr]++;
	seen.at_post = *regs;
}

static int on_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	seen.strange++;
	return 0;
}

/* Single-stepping, as a debugger would do. */
static int on_debug(struct notifier_block *nb, unsigned long why, void *data)
{
	if (why != DIE_DEBUG || !d.trapped)
		return NOTIFY_DONE;

	d.traps++;
	return NOTIFY_STOP;
}

static struct notifier_block debug_notifier = { .notifier_call = on_debug };

static unsigned int outer_runs;

static int outer_pre(struct kprobe *p, struct pt_regs *regs)
{
	outer_runs++;
	kpd_run();
	return 0;
}

static void outer_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	outer_pre(p, regs);
}

/*
 * Running a form, with or without probes
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

static void run(unsigned int i, unsigned int round, enum inside inside,
		struct outcome *out)
{
	bool fpu = kpd_forms[i].with & FPU;
	int count;

	preempt_disable();
	set_state(i, round);
	if (fpu) {
		kernel_fpu_begin_mask(KFPU_387 | KFPU_MXCSR);
		load_fpu(&d.fpu_in);
	}

	if (d.trapped)
		kpd_machine.flags |= X86_EFLAGS_TF;
	count = preempt_count();
	if (inside == NOT_INSIDE)
		kpd_run();
	else
		kpd_outer();
	out->balance = preempt_count() - count;
	out->balance |= (long)raw_cpu_read(current_kprobe);

	if (fpu) {
		save_fpu(&out->fpu);
		kernel_fpu_end();
	}
	out->m = kpd_machine;
	memcpy(out->stack, stack.words, sizeof(out->stack));
	memcpy(out->data, kpd_data, sizeof(out->data));
	/* As in save_fpu(); the same bytes are part of what FNSAVE stores. */
	if (kpd_forms[i].with & AREA)
		memset(out->data + offsetof(struct fxregs_state, rip), 0, 16);
	out->percpu = __this_cpu_read(kpd_percpu);
	preempt_enable();
}

/*
 * Comparing
 */

struct judge {
	struct kunit	*test;
	const char	*text;
	unsigned int	round;
	unsigned int	wrong;
};

/* Limit the output: a broken kind of form fails in hundreds of ways. */
#define MAX_COMPLAINTS	20

static void __printf(2, 3) complain(struct judge *j, const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	if (j->wrong++ >= MAX_COMPLAINTS)
		return;

	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	KUNIT_FAIL(j->test, "%s, round %u of seed %llu: %pV", j->text, j->round, seed, &vaf);
	va_end(args);
}

static void same(struct judge *j, const char *what, unsigned long got, unsigned long want)
{
	if (got != want)
		complain(j, "%s is %lx, not %lx", what, got, want);
}

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
static bool shows_clock(const struct form *f, int reg)
{
	return f->with & CLOCK && (reg == REG_AX || reg == REG_DX);
}

static void same_shown(struct judge *j, const struct form *f, const char *handler,
		       struct pt_regs *regs, const struct kpd_machine *m,
		       const struct kpd_machine *start)
{
	unsigned int before = j->wrong;
	unsigned long value;
	int i;

	for (i = 0; i < NR_REGS; i++) {
		value = regs_get_register(regs, reg_names[i].offset);
		if (value != m->r[i] && (m == start || !shows_clock(f, i)))
			complain(j, "the %s handler is shown %s = %lx, not %lx", handler,
				 reg_names[i].name, value, m->r[i]);
	}
	if (regs->flags != m->flags)
		complain(j, "the %s handler is shown flags = %lx, not %lx", handler,
			 regs->flags, m->flags);
	if (regs->cs != __KERNEL_CS)
		complain(j, "the %s handler is shown cs = %x", handler, regs->cs);
	/* The tracer stores something of its own there. */
	if (f->kind != DIFF_FTRACE && regs->orig_ax != -1)
		complain(j, "the %s handler is shown orig_ax = %lx", handler, regs->orig_ax);
	d.shown++;
	d.shown_wrong += j->wrong - before;
}

static int exit_of(const struct form *f, unsigned long ip)
{
	u8 *at = (u8 *)ip;

	if (at == insn_addr(f) + f->len)
		return DIFF_NEXT;
	if (at == f->taken || at == kpd_taken)
		return DIFF_TAKEN;
	return at == f->back || at == kpd_back ? DIFF_BACK : -1;
}

/*
 * What is below the stack pointer has been overwritten by exceptions and interrupts.
 * What was below it before counts if the form wrote to it.
 */
static void same_stack(struct judge *j, const struct form *f,
		       const struct outcome *got, const struct outcome *want,
		       const struct kpd_machine *start)
{
	unsigned long at, sp = want->m.r[REG_SP];
	bool clean = !(f->with & ALLOCATES) || !(start->flags & X86_EFLAGS_IF);
	int i, shift;

	for (i = 0; i < STACK_WORDS; i++) {
		at = (unsigned long)&stack.words[i];
		if (at < round_down(sp, sizeof(long)))
			continue;
		if (at < start->r[REG_SP] && (!clean || want->stack[i] == d.before[i]))
			continue;
		/* Of a word that the stack pointer points into, only the upper part. */
		shift = at < sp ? BITS_PER_BYTE * (sp - at) : 0;
		same(j, "the stack", got->stack[i] >> shift, want->stack[i] >> shift);
	}
}

/* The tracer does not restore R11, which is undefined on entry to a function. */
static bool is_kept(const struct form *f, int reg)
{
	return !shows_clock(f, reg) && (f->kind != DIFF_FTRACE || reg != 11);
}

/* It writes halves of 32 bits, and on 64 bit clears the upper part. */
static u64 clock_of(const struct kpd_machine *m)
{
	return (u64)m->r[REG_DX] << 32 | m->r[REG_AX];
}

static void same_outcome(struct judge *j, const struct form *f,
			 const struct outcome *got, const struct outcome *want,
			 const struct kpd_machine *start)
{
	int i;

	for (i = 0; i < NR_REGS; i++) {
		if (is_kept(f, i))
			same(j, reg_names[i].name, got->m.r[i], want->m.r[i]);
	}
	if (f->with & CLOCK && clock_of(&got->m) <= clock_of(&want->m))
		complain(j, "the clock is %llx, which was before %llx", clock_of(&got->m),
			 clock_of(&want->m));
	/* The flags neither, which a return thunk that counts the depth changes. */
	if (f->kind != DIFF_FTRACE || !cpu_feature_enabled(X86_FEATURE_CALL_DEPTH))
		same(j, "flags", got->m.flags, want->m.flags);
	same(j, "es", got->m.es, want->m.es);
	same(j, "the way out", got->m.exit, want->m.exit);
	same(j, "per-CPU data", got->percpu, want->percpu);
	same(j, "what is left of preemption or of the probe", got->balance, 0);
	d.unbalanced += got->balance != 0;
	same_stack(j, f, got, want, start);
	for (i = 0; i < DIFF_DATA_SIZE; i++) {
		if (got->data[i] != want->data[i])
			complain(j, "byte %d of the data is %x, not %x",
				 i - DIFF_DATA_SIZE / 2, got->data[i], want->data[i]);
	}
	if (f->with & FPU && memcmp(&got->fpu, &want->fpu, sizeof(got->fpu)))
		complain(j, "vector registers differ");
}

static void same_hits(struct judge *j, const struct form *f, const struct mode *m,
		      const struct kpd_machine *start, const struct outcome *want)
{
	bool hit = m->inside == NOT_INSIDE;
	int u;

	for (u = 0; u < m->users; u++) {
		same(j, "number of pre handlers", seen.pre[u], hit && m->pre & BIT(u));
		same(j, "number of post handlers", seen.post[u], hit && m->post & BIT(u));
	}
	same(j, "number of strange hits", seen.strange, 0);
	same(j, "number of outer hits", outer_runs, !hit);

	if (hit && m->pre) {
		same_shown(j, f, "pre", &seen.at_pre, start, start);
		same(j, "ip in the pre handler", seen.at_pre.ip,
		     (unsigned long)insn_addr(f) + INT3_INSN_SIZE);
	}
	if (hit && m->post) {
		same_shown(j, f, "post", &seen.at_post, &want->m, start);
		same(j, "way out in the post handler", exit_of(f, seen.at_post.ip),
		     want->m.exit);
	}
}

/*
 * Probes on all forms at once
 */

struct probes {
	struct probe_user	*users;
	struct kprobe	**kps;
	unsigned int	nr;
	struct kprobe	outer;
};

/*
 * Handlers run with interrupts off, and must not enable them. PUSHF and POPF would
 * show the trap flag, and it would step through a tracer.
 */
static bool applies(const struct mode *m, const struct form *f)
{
	if (m->trapped && (f->with & TRACED || is_flags(&d.info[f - kpd_forms].insn)))
		return false;
	return m->inside == NOT_INSIDE || !(f->with & IRQ_ON);
}

static void say_who(struct kunit *test, struct probes *p)
{
	unsigned int i;
	int ret;

	for (i = 0; i < p->nr; i++) {
		ret = register_kprobe(p->kps[i]);
		if (ret)
			kunit_err(test, "%pS: error %d\n", p->kps[i]->addr, ret);
		else
			unregister_kprobe(p->kps[i]);
	}
}

static void register_all(struct kunit *test, const struct mode *m, struct probes *p)
{
	struct probe_user *user;
	unsigned int i, u;
	int ret;

	memset(p, 0, sizeof(*p));
	if (!m->users)
		return;

	p->users = kunit_kcalloc(test, d.nr_usable * m->users, sizeof(*p->users), GFP_KERNEL);
	p->kps = kunit_kcalloc(test, d.nr_usable * m->users, sizeof(*p->kps), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p->users);
	KUNIT_ASSERT_NOT_NULL(test, p->kps);

	for (u = 0; u < m->users; u++) {
		for (i = 0; i < d.nr_usable; i++) {
			user = &p->users[p->nr];
			user->nr = u;
			user->kp.addr = insn_addr(&kpd_forms[d.usable[i]]);
			user->kp.pre_handler = m->pre & BIT(u) ? on_pre : NULL;
			user->kp.post_handler = m->post & BIT(u) ? on_post : NULL;
			user->kp.fault_handler = m->fault & BIT(u) ? on_fault : NULL;
			p->kps[p->nr++] = &user->kp;
		}
	}

	/* One user after the other: later ones join the site of the first. */
	for (u = 0; u < m->users; u++) {
		ret = register_kprobes(p->kps + u * d.nr_usable, d.nr_usable);
		if (ret)
			say_who(test, p);
		KUNIT_ASSERT_EQ(test, ret, 0);
	}

	p->outer.addr = kpd_outer_insn;
	if (m->inside == IN_PRE_HANDLER)
		p->outer.pre_handler = outer_pre;
	else
		p->outer.post_handler = outer_post;
	if (m->inside != NOT_INSIDE)
		KUNIT_ASSERT_EQ(test, register_kprobe(&p->outer), 0);
}

static void unregister_all(const struct mode *m, struct probes *p)
{
	if (m->inside != NOT_INSIDE)
		unregister_kprobe(&p->outer);
	unregister_kprobes(p->kps, p->nr);
}

/* What the "sites" file shows. */
static const char *kind_of_site(const struct form *f)
{
	const struct kprobe *p = get_kprobe(insn_addr(f));

	if (!p)
		return "nothing";
	return kprobe_ftrace((struct kprobe *)p) ? "ftrace" : arch_kprobe_mode(p);
}

static const char *kind_wanted(const struct mode *m, const struct form *f)
{
	bool boosts = IS_ENABLED(CONFIG_PREEMPTION) || !IS_ENABLED(CONFIG_PREEMPT_COUNT);
	const char *kind = m->users ? m->kinds[f->kind] : "nothing";

	if (boosts || strcmp(kind, "boosted"))
		return kind;
	return f->kind == DIFF_FAST ? "emulated" : "stepped";
}

static void run_and_judge(struct judge *j, const struct mode *m, unsigned int i)
{
	const struct outcome *want = native_outcome(i, j->round);
	const struct form *f = &kpd_forms[i];
	unsigned int before = j->wrong;
	struct kpd_machine start;

	memset(&seen, 0, sizeof(seen));
	seen.addr = insn_addr(f);
	outer_runs = 0;

	preempt_disable();
	set_state(i, j->round);
	start = kpd_machine;
	preempt_enable();
	if (m->trapped) {
		start.flags |= X86_EFLAGS_TF;
		d.wanted = *want;
		d.wanted.m.flags |= X86_EFLAGS_TF;
		want = &d.wanted;
	}

	d.trapped = m->trapped;
	run(i, j->round, m->inside, &d.probed);
	d.trapped = false;
	same_outcome(j, f, &d.probed, want, &start);
	same_hits(j, f, m, &start, want);
	d.info[i].wrong += j->wrong - before;
}

/* All forms in one mode give the same result as without a probe. */
static void differential(struct kunit *test)
{
	const struct mode *m = test->param_value;
	unsigned int i, step = m->trapped ? 4 : m->inside == NOT_INSIDE ? 1 : 2;
	unsigned long nr_forms = 0, nr_runs = 0, missed = 0;
	struct judge j = { .test = test };
	const struct form *f;
	struct probes p;

	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(d.cpu)), 0);
	register_all(test, m, &p);
	d.traps = 0;
	for (i = 0; i < d.nr_usable; i++) {
		f = &kpd_forms[d.usable[i]];
		j.text = f->text;
		if (!applies(m, f))
			continue;
		if (strcmp(kind_of_site(f), kind_wanted(m, f)))
			complain(&j, "the site is %s, not %s", kind_of_site(f),
				 kind_wanted(m, f));
		for (j.round = 0; j.round < rounds; j.round += step) {
			run_and_judge(&j, m, d.usable[i]);
			nr_runs++;
		}
		d.info[d.usable[i]].modes++;
		nr_forms++;
		cond_resched();
	}
	unregister_all(m, &p);

	for (i = 0; i < p.nr; i++)
		missed += p.users[i].kp.nmissed;
	KUNIT_EXPECT_EQ(test, missed, m->inside == NOT_INSIDE ? 0 : m->users * nr_runs);
	KUNIT_EXPECT_EQ(test, j.wrong, 0);
	KUNIT_EXPECT_GE(test, nr_forms, MIN_FORMS);
	/* One of the form, and one for each register that is loaded. */
	KUNIT_EXPECT_GE(test, d.traps, m->trapped ? nr_runs * NR_REGS : 0);
	kunit_info(test, "%s: %lu forms, %lu runs\n", m->name, nr_forms, nr_runs);
}

#define ALONE	{ "boosted", "boosted", "emulated", "stepped", "ftrace" }
#define WATCHED	{ "emulated", "stepped", "emulated", "stepped", "ftrace" }

static const struct mode modes[] = {
	{ "pre handler", 1, .pre = 1, .kinds = ALONE },
	{ "post handler", 1, .post = 1, .kinds = WATCHED },
	{ "both handlers", 1, .pre = 1, .post = 1, .kinds = WATCHED },
	{ "fault handler", 1, .pre = 1, .fault = 1, .kinds = WATCHED },
	{ "two users", 2, .pre = 3, .kinds = ALONE },
	{ "two users, one with a post handler", 2, .pre = 1, .post = 2, .kinds = WATCHED },
	{ "in a pre handler", 1, .pre = 1, .inside = IN_PRE_HANDLER, .kinds = ALONE },
	{ "in a post handler", 1, .pre = 1, .inside = IN_POST_HANDLER, .kinds = ALONE },
	{ "two watched users in a pre handler", 2, .pre = 1, .post = 2,
	  .inside = IN_PRE_HANDLER, .kinds = WATCHED },
	{ "with the trap flag", 1, .pre = 1, .trapped = true, .kinds = ALONE },
	{ "watched, with the trap flag", 1, .pre = 1, .post = 1, .trapped = true,
	  .kinds = WATCHED },
	{ "no probe any more" },
};
KUNIT_ARRAY_PARAM_DESC(mode, modes, name);

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

static void differential_group(struct kunit *test)
{
	const struct group *g = test->param_value;
	unsigned int i, nr = 0;
	struct form_info *info;

	for (i = 0; i < d.nr_usable; i++) {
		info = &d.info[d.usable[i]];
		if (!g->has(&info->insn))
			continue;
		nr++;
		KUNIT_EXPECT_GT_MSG(test, info->modes, 0, "%s", kpd_forms[d.usable[i]].text);
		KUNIT_EXPECT_EQ_MSG(test, info->wrong, 0, "%s", kpd_forms[d.usable[i]].text);
	}
	KUNIT_EXPECT_GE(test, nr, g->least);
}

/* Registers and flags are those of the program, whatever the mode. */
static void shown_to_handlers(struct kunit *test)
{
	KUNIT_EXPECT_GT(test, d.shown, MIN_FORMS * rounds);
	KUNIT_EXPECT_EQ(test, d.shown_wrong, 0);
}

/* Whatever the mode, preemption is as before, and no probe is current. */
static void nothing_is_left(struct kunit *test)
{
	KUNIT_EXPECT_GT(test, d.shown, MIN_FORMS * rounds);
	KUNIT_EXPECT_EQ(test, d.unbalanced, 0);
}

/*
 * Handlers that write to registers
 */

/* Its result depends only on registers. */
static bool takes_anything(const struct form *f, struct form_info *info)
{
	return !f->with && !info->memory && !insn_rip_relative(&info->insn) &&
	       !opcode_is(&info->insn, 0x9d);
}

static void change(struct kpd_machine *m)
{
	/* Not the same for all of the 64 bits. */
	const unsigned long other = 0x4b5a6978UL * (ULONG_MAX / U32_MAX) ^ 0x01020304;
	int i;

	for (i = 0; i < NR_REGS; i++)
		m->r[i] = i == REG_SP ? m->r[i] + 16 : m->r[i] ^ other;
	m->flags ^= ARITHMETIC;
}

static int on_pre_change(struct kprobe *p, struct pt_regs *regs)
{
	struct kpd_machine m = { .flags = regs->flags };
	int i;

	for (i = 0; i < NR_REGS; i++)
		m.r[i] = regs_get_register(regs, reg_names[i].offset);
	change(&m);
	for (i = 0; i < NR_REGS; i++)
		*(unsigned long *)((void *)regs + reg_names[i].offset) = m.r[i];
	regs->flags = m.flags;
	seen.pre[0]++;
	return 0;
}

static void change_and_judge(struct kunit *test, struct judge *j, struct kprobe *kp,
			     unsigned int i)
{
	struct kpd_machine want;
	int r;

	preempt_disable();
	set_state(i, 0);
	change(&kpd_machine);
	kpd_run();
	want = kpd_machine;
	preempt_enable();

	memset(&seen, 0, sizeof(seen));
	memset(kp, 0, sizeof(*kp));
	kp->addr = insn_addr(&kpd_forms[i]);
	kp->pre_handler = on_pre_change;
	KUNIT_ASSERT_EQ(test, register_kprobe(kp), 0);
	preempt_disable();
	set_state(i, 0);
	kpd_run();
	preempt_enable();
	unregister_kprobe(kp);

	for (r = 0; r < NR_REGS; r++)
		same(j, reg_names[r].name, kpd_machine.r[r], want.r[r]);
	same(j, "flags", kpd_machine.flags, want.flags);
	same(j, "the way out", kpd_machine.exit, want.exit);
	same(j, "number of hits", seen.pre[0], 1);
}

/* The instruction sees what a handler has written. */
static void handlers_write_registers(struct kunit *test)
{
	struct kprobe *kp = kunit_kzalloc(test, sizeof(*kp), GFP_KERNEL);
	unsigned int i, kinds[NR_DIFF_KINDS] = {};
	struct judge j = { .test = test };

	KUNIT_ASSERT_NOT_NULL(test, kp);
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(d.cpu)), 0);

	/* Some of them suffice. */
	for (i = 0; i < d.nr_usable; i += 4) {
		const struct form *f = &kpd_forms[d.usable[i]];

		if (!takes_anything(f, &d.info[d.usable[i]]))
			continue;
		j.text = f->text;
		change_and_judge(test, &j, kp, d.usable[i]);
		kinds[f->kind]++;
	}

	KUNIT_EXPECT_EQ(test, j.wrong, 0);
	KUNIT_EXPECT_GT(test, kinds[DIFF_FAST], 0);
	KUNIT_EXPECT_GT(test, kinds[DIFF_PLAIN], 0);
	KUNIT_EXPECT_GT(test, kinds[DIFF_EMULATED], 0);
}

/* Each row is one instruction, and no two have the same form. */
static void differential_forms(struct kunit *test)
{
	unsigned int i, kinds[NR_DIFF_KINDS] = {}, distinct = 1;
	struct form_key *keys;

	keys = kunit_kcalloc(test, d.nr_forms, sizeof(*keys), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, keys);

	for (i = 0; i < d.nr_forms; i++) {
		KUNIT_EXPECT_EQ_MSG(test, d.info[i].insn.length, kpd_forms[i].len, "%s",
				    kpd_forms[i].text);
		KUNIT_ASSERT_LT(test, kpd_forms[i].kind, NR_DIFF_KINDS);
		kinds[kpd_forms[i].kind] += d.info[i].usable;
		make_key(&keys[i], &kpd_forms[i], &d.info[i]);
	}

	sort(keys, d.nr_forms, sizeof(*keys), cmp_keys, NULL);
	for (i = 1; i < d.nr_forms; i++) {
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
	KUNIT_EXPECT_EQ(test, distinct, d.nr_forms);
	kunit_info(test, "%u forms, %u usable: %u fast, %u plain, %u emulated, %u stepped, %u traced\n",
		   d.nr_forms, d.nr_usable, kinds[DIFF_FAST], kinds[DIFF_PLAIN],
		   kinds[DIFF_EMULATED], kinds[DIFF_STEPPED], kinds[DIFF_FTRACE]);
}

/* The states are diverse: every condition was seen to hold and not to hold. */
static void differential_branches(struct kunit *test)
{
	unsigned int i, round, taken;
	const struct form *f;

	for (i = 0; i < d.nr_usable; i++) {
		struct insn *insn = &d.info[d.usable[i]].insn;

		f = &kpd_forms[d.usable[i]];
		if (!is_jcc(insn) && !is_counted(insn))
			continue;
		for (taken = 0, round = 0; round < rounds; round++)
			taken += native_outcome(d.usable[i], round)->m.exit != DIFF_NEXT;
		KUNIT_EXPECT_GT_MSG(test, taken, 0, "%s", f->text);
		KUNIT_EXPECT_LT_MSG(test, taken, rounds, "%s", f->text);
	}
}

static u32 ways_out(unsigned int i)
{
	static const unsigned long bits[] = {
		X86_EFLAGS_CF, X86_EFLAGS_PF, X86_EFLAGS_ZF, X86_EFLAGS_SF, X86_EFLAGS_OF,
	};
	unsigned int flags, b;
	u32 taken = 0;

	for (flags = 0; flags < BIT(ARRAY_SIZE(bits)); flags++) {
		preempt_disable();
		set_state(i, 0);
		for (b = 0; b < ARRAY_SIZE(bits); b++) {
			if (flags & BIT(b))
				kpd_machine.flags |= bits[b];
		}
		kpd_run();
		if (kpd_machine.exit != DIFF_NEXT)
			taken |= BIT(flags);
		preempt_enable();
	}

	return taken;
}

/* Each condition, in both lengths, with all combinations of flags it depends on. */
static void all_flags_of_conditional_jumps(struct kunit *test)
{
	struct kprobe *kp = kunit_kzalloc(test, sizeof(*kp), GFP_KERNEL);
	unsigned int i, nr = 0;
	u32 taken;

	KUNIT_ASSERT_NOT_NULL(test, kp);
	for (i = 0; i < d.nr_usable; i++) {
		const struct form *f = &kpd_forms[d.usable[i]];

		if (!is_jcc(&d.info[d.usable[i]].insn))
			continue;
		taken = ways_out(d.usable[i]);
		memset(kp, 0, sizeof(*kp));
		kp->addr = insn_addr(f);
		KUNIT_ASSERT_EQ(test, register_kprobe(kp), 0);
		KUNIT_EXPECT_EQ_MSG(test, ways_out(d.usable[i]), taken, "%s", f->text);
		unregister_kprobe(kp);
		nr++;
	}
	KUNIT_EXPECT_GE(test, nr, 32);
}

static bool is_usable(const struct form *f)
{
	if (f->with & FPU && !boot_cpu_has(X86_FEATURE_OSXSAVE))
		return false;
	return boot_cpu_has(f->cpu);
}

static void free_all(void)
{
	kvfree(d.info);
	kvfree(d.usable);
	vfree(d.native);
	memset(&d, 0, sizeof(d));
}

/* Decode a form and record what it does without probes. */
static int learn(unsigned int i)
{
	unsigned int round;
	int ret;

	ret = insn_decode_kernel(&d.info[i].insn, insn_addr(&kpd_forms[i]));
	if (ret) {
		pr_err("cannot decode %s\n", kpd_forms[i].text);
		return ret;
	}

	decode_address(&d.info[i]);
	d.info[i].usable = is_usable(&kpd_forms[i]);
	if (!d.info[i].usable) {
		pr_info("not for this CPU: %s\n", kpd_forms[i].text);
		return 0;
	}

	d.usable[d.nr_usable++] = i;
	for (round = 0; round < rounds; round++)
		run(i, round, NOT_INSIDE, native_outcome(i, round));
	return 0;
}

static void differential_exit(struct kunit_suite *suite)
{
	unregister_die_notifier(&debug_notifier);
	kprobe_test_allow_optimization(true);
	free_all();
}

static int differential_init(struct kunit_suite *suite)
{
	unsigned int i;
	int ret = 0;

	/* None of the modes uses a jump, which would be set up in the middle. */
	kprobe_test_allow_optimization(false);
	if (!seed)
		seed = get_random_u32();
	/* The first few are required. */
	rounds = max(rounds, 4u);
	pr_info("seed %llu, %u rounds\n", seed, rounds);

	ret = register_die_notifier(&debug_notifier);
	if (ret)
		goto out_allow;

	d.nr_forms = kpd_forms_end - kpd_forms;
	d.info = kvcalloc(d.nr_forms, sizeof(*d.info), GFP_KERNEL);
	d.usable = kvcalloc(d.nr_forms, sizeof(*d.usable), GFP_KERNEL);
	d.native = vzalloc(array3_size(d.nr_forms, rounds, sizeof(*d.native)));
	if (!d.info || !d.usable || !d.native) {
		differential_exit(suite);
		return -ENOMEM;
	}

	migrate_disable();
	d.cpu = smp_processor_id();
	for (i = 0; i < d.nr_forms && !ret; i++)
		ret = learn(i);
	migrate_enable();
	if (ret)
		differential_exit(suite);
	return ret;

out_allow:
	kprobe_test_allow_optimization(true);
	return ret;
}

static struct kunit_case differential_cases[] = {
	KUNIT_CASE(differential_forms),
	KUNIT_CASE(differential_branches),
	KUNIT_CASE_PARAM(differential, mode_gen_params),
	KUNIT_CASE_PARAM(differential_group, group_gen_params),
	KUNIT_CASE(all_flags_of_conditional_jumps),
	KUNIT_CASE(shown_to_handlers),
	KUNIT_CASE(nothing_is_left),
	KUNIT_CASE(handlers_write_registers),
	{}
};

static struct kunit_suite differential_suite = {
	.name		= "kprobes_x86_differential",
	.suite_init	= differential_init,
	.suite_exit	= differential_exit,
	.test_cases	= differential_cases,
};
kunit_test_suite(differential_suite);
