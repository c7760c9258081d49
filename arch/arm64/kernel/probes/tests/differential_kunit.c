// SPDX-License-Identifier: GPL-2.0-only
/*
 * The differential test of arm64: how the instructions of differential_forms.S are run,
 * and what has to be the same with and without a probe. Registers, the condition flags, the
 * masks of exceptions, stack, memory, vector registers with their control and status, where
 * the program continues, and what handlers are shown. kernel/kprobes/tests/differential.c
 * has the engine.
 */

#define pr_fmt(fmt) "kprobes_arm64_differential: " fmt

#include "suite.h"

#include <linux/bitfield.h>
#include <linux/cpufeature.h>

#include <asm/daifflags.h>
#include <asm/fpsimd.h>
#include <asm/fpu.h>
#include <asm/insn.h>
#include <asm/ptrace.h>
#include <asm/sysreg.h>

#include "../decode-insn.h"
#include "differential.h"
#include "differential_forms.h"

#define MIN_FORMS	400
#define HAS_KIND(kind)	true

#define STACK_WORDS	160
#define STACK_START	96

#define NZCV		(PSR_N_BIT | PSR_Z_BIT | PSR_C_BIT | PSR_V_BIT)

/* The bits of FPCR and FPSR that do not trap. */
#define FPCR_RANDOM	(BIT(26) | BIT(25) | BIT(24) | GENMASK(23, 22) | BIT(19))
#define FPSR_RANDOM	(BIT(27) | BIT(7) | GENMASK(4, 0))

#define ZERO_REG	31

/* What differential_forms.S accesses by DIFF_*. */
struct kpd_machine {
	u64	r[DIFF_NR_REGS];
	u64	sp;
	u64	nzcv;
	u64	daif;
	u64	exit;
	u64	code;
	u64	host_sp;
	u64	host_daif;
};

static_assert(offsetof(struct kpd_machine, sp) == DIFF_SP);
static_assert(offsetof(struct kpd_machine, host_daif) == DIFF_HOST_DAIF);

extern const struct kpd_form kpd_forms[], kpd_forms_end[];
extern int (* const kpd_landings[])(void);
extern int (* const kpd_landings_end[])(void);
extern struct kpd_machine kpd_machine;
extern u8 kpd_data[];

/* In one page: forms address it by the page. */
struct kpd_machine kpd_machine __aligned(512);
/* Blocks of up to half of its size start in the middle. */
u8 kpd_data[DIFF_DATA_SIZE] __aligned(DIFF_DATA_SIZE);

/*
 * Below the words that are compared, there is room for exceptions. The bit of the stack
 * pointer that tells exceptions of an overflow is clear. In .bss, so large an alignment would
 * move the start of what KVM needs to be first there.
 */
static struct {
	u8	room[THREAD_SIZE - STACK_WORDS * sizeof(u64)];
	u64	words[STACK_WORDS];
	u8	beyond[THREAD_SIZE];
} stack __aligned(2 * THREAD_SIZE) __section(".data");

/* Everything that an instruction can change. */
struct kpd_state {
	struct kpd_machine		m;
	u64				stack[STACK_WORDS];
	u8				data[DIFF_DATA_SIZE];
	struct user_fpsimd_state	fpsimd;
};

#define FORM_SUITE	"kprobes_arm64_differential"
#define FORM_INSN	u32

static u32 read_insn(const void *at)
{
	return le32_to_cpup(at);
}

static u32 first_word(u32 insn)
{
	return insn;
}

#include "differential_words.h"

static unsigned int rd_of(const struct kpd_form *f)
{
	return word_of(f) & 31;
}

static unsigned int rn_of(const struct kpd_form *f)
{
	return word_of(f) >> 5 & 31;
}

static bool is_b_cond(u32 insn)
{
	return (insn & 0xff000010) == 0x54000000;
}

static bool is_cbz(u32 insn)
{
	return (insn & 0x7e000000) == 0x34000000;
}

static bool is_tbz(u32 insn)
{
	return (insn & 0x7e000000) == 0x36000000;
}

static bool is_casp(u32 insn)
{
	return (insn & 0xbfa07c00) == 0x08207c00;
}

/*
 * A random state to start from
 */

static u8 *data_middle(void)
{
	return &kpd_data[DIFF_DATA_SIZE / 2];
}

static void random_vectors(struct rnd_state *rnd, struct user_fpsimd_state *v)
{
	memset(v, 0, sizeof(*v));
	kpd_random_words(rnd, v->vregs, sizeof(v->vregs));
	v->fpcr = prandom_u32_state(rnd) & FPCR_RANDOM;
	v->fpsr = prandom_u32_state(rnd) & FPSR_RANDOM;
}

/* What CAS and CASP compare with memory. */
static void equal_state(const struct kpd_form *f, struct kpd_machine *m)
{
	void *mem = (void *)m->r[1];
	u32 insn = word_of(f);

	if (is_casp(insn)) {
		m->r[2] = insn & BIT(30) ? ((u64 *)mem)[0] : ((u32 *)mem)[0];
		m->r[3] = insn & BIT(30) ? ((u64 *)mem)[1] : ((u32 *)mem)[1];
		return;
	}

	switch (insn >> 30) {
	case 0:
		m->r[2] = *(u8 *)mem;
		break;
	case 1:
		m->r[2] = *(u16 *)mem;
		break;
	case 2:
		m->r[2] = *(u32 *)mem;
		break;
	case 3:
		m->r[2] = *(u64 *)mem;
		break;
	}
}

/* In the first rounds, every condition is seen to hold and not to hold. */
static void condition_state(unsigned int round, const struct kpd_form *f,
			    struct kpd_machine *m)
{
	static const u64 flags[] = { 0, NZCV, PSR_C_BIT, PSR_N_BIT };
	static const u64 values[] = { 0, 1, BIT(32), -1L };
	u32 insn = word_of(f);
	u64 bit;

	if (round >= ARRAY_SIZE(flags))
		return;

	if (is_cbz(insn)) {
		m->r[rd_of(f)] = values[round];
	} else if (is_tbz(insn)) {
		bit = BIT((insn >> 31) << 5 | (insn >> 19 & 31));
		m->r[rd_of(f)] = (round & 1 ? bit : 0) ^ (round & 2 ? -1L : 0);
	} else {
		m->nzcv = flags[round];
	}
}

static void memory_state(struct rnd_state *rnd, const struct kpd_form *f,
			 struct kpd_machine *m)
{
	long offset = 0;

	if (!(f->with & FILLS))
		offset += 16 * ((long)kpd_random_below(rnd, 16) - 8);
	if (f->with & ODD)
		offset += kpd_random_below(rnd, 16);
	m->r[1] = (unsigned long)data_middle() + offset;

	if (f->with & INDEX)
		m->r[2] = (long)kpd_random_below(rnd, 32) - 16;
	if (f->with & WINDEX)
		m->r[2] = (m->r[2] & ~(u64)U32_MAX) | kpd_random_below(rnd, 16);
	if (f->with & EQUAL && kpd_random_below(rnd, 2))
		equal_state(f, m);
}

/* The keys of pointer authentication, in the order of the encodings. */
enum { KEY_IA, KEY_IB, KEY_DA, KEY_DB };

static u64 sign(unsigned int key, u64 value, u64 modifier)
{
	register u64 x16 asm("x16") = modifier;
	register u64 x17 asm("x17") = value;

	switch (key) {
	case KEY_IA:
		asm("hint #8" : "+r" (x17) : "r" (x16));	/* pacia1716 */
		break;
	case KEY_IB:
		asm("hint #10" : "+r" (x17) : "r" (x16));	/* pacib1716 */
		break;
	case KEY_DA:
		asm(".inst 0xdac10a11" : "+r" (x17) : "r" (x16));	/* pacda x17, x16 */
		break;
	case KEY_DB:
		asm(".inst 0xdac10e11" : "+r" (x17) : "r" (x16));	/* pacdb x17, x16 */
		break;
	}
	return x17;
}

/* Where authentication fails, some CPUs raise an exception, which nothing survives. */
static void sign_operand(const struct kpd_form *f, struct kpd_machine *m)
{
	u32 insn = word_of(f), op;
	u64 addr = (unsigned long)kpd_data;

	if (f->with & MEM) {
		/* LDRAA, LDRAB */
		m->r[1] = sign(insn & BIT(23) ? KEY_DB : KEY_DA, m->r[1], 0);
	} else if (aarch64_insn_is_hint(insn)) {
		op = FIELD_GET(GENMASK(11, 5), insn);
		if (op < 16)
			m->r[17] = sign(op & 2 ? KEY_IB : KEY_IA, addr, m->r[16]);
		else
			m->r[30] = sign(op & 2 ? KEY_IB : KEY_IA, addr, op & 1 ? m->sp : 0);
	} else {
		u64 modifier = rn_of(f) == AARCH64_INSN_REG_SP ? m->sp : m->r[rn_of(f)];

		op = FIELD_GET(GENMASK(15, 10), insn);
		m->r[rd_of(f)] = sign(op & 3, addr, op & 8 ? 0 : modifier);
	}
}

static void fill(const struct kpd_form *f, unsigned int round, struct rnd_state *rnd,
		 struct kpd_state *start)
{
	struct kpd_machine *m = &start->m;
	u64 masks;

	memset(m, 0, sizeof(*m));
	kpd_random_words(rnd, m->r, sizeof(m->r));
	kpd_random_words(rnd, stack.words, sizeof(stack.words));
	kpd_random_words(rnd, kpd_data, sizeof(kpd_data));
	random_vectors(rnd, &start->fpsimd);
	m->sp = (unsigned long)&stack.words[STACK_START + 2 * kpd_random_below(rnd, 4)];
	m->nzcv = kpd_random_value(rnd) & NZCV;
	/* The kernel never has F without I. */
	masks = round & 1 ? PSR_D_BIT | PSR_A_BIT : PSR_D_BIT | PSR_A_BIT | PSR_F_BIT;
	m->daif = (prandom_u32_state(rnd) & masks) | (round & 1 ? 0 : PSR_I_BIT);
	m->code = (unsigned long)f->entry;

	if (f->with & CONDITION)
		condition_state(round, f, m);
	if (f->with & MEM)
		memory_state(rnd, f, m);
	if (f->with & STACK)
		m->r[1] = m->sp + 16 * ((long)kpd_random_below(rnd, 8) - 4);
	if (f->with & TARGET)
		m->r[rn_of(f)] = (unsigned long)f->taken;
	if (f->with & CALLEE && aarch64_insn_is_blr(word_of(f)))
		m->r[rn_of(f)] = (unsigned long)kpd_callee;
	if (f->with & SIGNED)
		sign_operand(f, m);
	memcpy(start->stack, stack.words, sizeof(stack.words));
	memcpy(start->data, kpd_data, sizeof(kpd_data));
}

/*
 * Before and after a run. Interrupts may use vector registers; then they save these, but
 * the code of probes does not.
 */

static void load(const struct kpd_form *f, const struct kpd_state *start)
{
	kpd_machine = start->m;
	kernel_fpu_begin();
	fpsimd_load_state((struct user_fpsimd_state *)&start->fpsimd);
}

static void save(const struct kpd_form *f, struct kpd_state *out)
{
	fpsimd_save_state(&out->fpsimd);
	kernel_fpu_end();
	out->m = kpd_machine;
	memcpy(out->stack, stack.words, sizeof(out->stack));
	memcpy(out->data, kpd_data, sizeof(out->data));
}

/*
 * Comparing
 */

static const char * const reg_names[DIFF_NR_REGS] = {
	"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10",
	"x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20",
	"x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30",
};

/* That of the shadow call stack depends on the depth of calls. */
static bool is_compared(unsigned int reg)
{
	return !IS_ENABLED(CONFIG_SHADOW_CALL_STACK) || reg != 18;
}

/* It differs from run to run. */
static bool is_result(const struct kpd_form *f, unsigned int reg)
{
	return f->with & VARIES && reg == 0;
}

static void same_regs(struct kpd_judge *j, struct pt_regs *regs, bool post,
		      const struct kpd_state *want, const struct kpd_state *start)
{
	u64 mask = NZCV | DAIF_MASK | PSR_MODE_MASK | PSR_MODE32_BIT | PSR_BTYPE_MASK;
	const struct kpd_form *f = j->f;
	u64 pstate;
	int i;

	for (i = 0; i < DIFF_NR_REGS; i++) {
		if (is_compared(i) && !(post && is_result(f, i)))
			kpd_shown(j, post, reg_names[i], regs->regs[i], want->m.r[i]);
	}
	kpd_shown(j, post, "sp", regs->sp, want->m.sp);

	pstate = want->m.nzcv | want->m.daif | read_sysreg(CurrentEL) | 1;
	/* Landing pads: the target of an indirect branch is about to be checked. */
	if (post && system_supports_bti_kernel())
		pstate |= regs->pstate & PSR_BTYPE_MASK;
	/* By a jump, the rest is zero, and not what the CPU has. */
	if (!post && aarch64_insn_is_b(le32_to_cpup(kpd_insn(f))))
		mask = U64_MAX;
	kpd_shown(j, post, "pstate", regs->pstate & mask, pstate);

	if (post)
		kpd_same(j, "exit in the post handler", exit_of(f, regs->pc), want->m.exit);
	else
		kpd_same(j, "pc in the pre handler", regs->pc, (unsigned long)kpd_insn(f));
}

/*
 * What is below the stack pointer has been overwritten by exceptions and interrupts.
 * What was below it before counts if the form wrote to it.
 */
static void same_stack(struct kpd_judge *j, const struct kpd_state *got,
		       const struct kpd_state *want, const struct kpd_state *start)
{
	bool clean = !(j->f->with & ALLOCATES) || start->m.daif & PSR_I_BIT;
	unsigned long at;
	int i;

	for (i = 0; i < STACK_WORDS; i++) {
		at = (unsigned long)&stack.words[i];
		if (at < want->m.sp)
			continue;
		if (at < start->m.sp && (!clean || want->stack[i] == start->stack[i]))
			continue;
		kpd_same(j, "the stack", got->stack[i], want->stack[i]);
	}
}

static void same_vectors(struct kpd_judge *j, const struct user_fpsimd_state *got,
			 const struct user_fpsimd_state *want)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(got->vregs); i++) {
		if (memcmp(&got->vregs[i], &want->vregs[i], sizeof(got->vregs[i])))
			kpd_complain(j, "v%d is %llx:%llx, not %llx:%llx", i,
				     (u64)(got->vregs[i] >> 64), (u64)got->vregs[i],
				     (u64)(want->vregs[i] >> 64), (u64)want->vregs[i]);
	}
	kpd_same(j, "fpcr", got->fpcr, want->fpcr);
	kpd_same(j, "fpsr", got->fpsr, want->fpsr);
}

static void same(struct kpd_judge *j, const struct kpd_state *got,
		 const struct kpd_state *want, const struct kpd_state *start)
{
	const struct kpd_form *f = j->f;
	int i;

	for (i = 0; i < DIFF_NR_REGS; i++) {
		if (is_compared(i) && !is_result(f, i))
			kpd_same(j, reg_names[i], got->m.r[i], want->m.r[i]);
	}
	kpd_same(j, "sp", got->m.sp, want->m.sp);
	kpd_same(j, "nzcv", got->m.nzcv, want->m.nzcv);
	kpd_same(j, "daif", got->m.daif, want->m.daif);
	kpd_same(j, "the exit", got->m.exit, want->m.exit);
	same_stack(j, got, want, start);
	same_data(j, got, want);
	same_vectors(j, &got->fpsimd, &want->fpsimd);
}

/*
 * Which forms are executed, and how
 */

static bool has_field(u64 reg, u16 cpu)
{
	return cpuid_feature_extract_unsigned_field(reg, DIFF_CPU_SHIFT(cpu)) >=
	       DIFF_CPU_LEAST(cpu);
}

/* What the CPU itself says; the kernel may hide it, but does not disable it. */
static bool has_feature(u16 cpu)
{
	u64 isar1 = read_sysreg_s(SYS_ID_AA64ISAR1_EL1);
	u64 isar2 = read_sysreg_s(SYS_ID_AA64ISAR2_EL1);

	switch (DIFF_CPU_REG(cpu)) {
	case 0:
		return true;
	case ISAR0:
		return has_field(read_sysreg_s(SYS_ID_AA64ISAR0_EL1), cpu);
	case ISAR1:
		return has_field(isar1, cpu);
	case ISAR2:
		return has_field(isar2, cpu);
	case ISAR3:
		return has_field(read_sysreg_s(SYS_ID_AA64ISAR3_EL1), cpu);
	case PFR0:
		return has_field(read_sysreg_s(SYS_ID_AA64PFR0_EL1), cpu);
	case PFR1:
		return has_field(read_sysreg_s(SYS_ID_AA64PFR1_EL1), cpu);
	case MMFR1:
		return has_field(read_sysreg_s(SYS_ID_AA64MMFR1_EL1), cpu);
	case KERNEL_SVE:
		return system_supports_sve();
	case ANY_PAUTH:
		return isar1 & (ID_AA64ISAR1_EL1_APA_MASK | ID_AA64ISAR1_EL1_API_MASK) ||
		       isar2 & ID_AA64ISAR2_EL1_APA3_MASK;
	case ANY_PACGA:
		return isar1 & (ID_AA64ISAR1_EL1_GPA_MASK | ID_AA64ISAR1_EL1_GPI_MASK) ||
		       isar2 & ID_AA64ISAR2_EL1_GPA3_MASK;
	default:
		return false;
	}
}

static const char *executed(const struct kpd_form *f, bool watched)
{
	return executed_copy(f, watched);
}

/* Handlers run with interrupts off, and must not enable them. */
static bool applies(const struct kpd_form *f, const struct kpd_mode *m)
{
	return m->inside == KPD_NOT_INSIDE || !(f->with & IRQ_ON);
}

static bool jumps(const struct kpd_form *f)
{
	if (f->with & NO_JUMP_BTI && system_supports_bti_kernel())
		return false;
	return !(f->with & NO_JUMP);
}

/* With landing pads, it begins with one. */
static bool callee_jumps(void)
{
	return !system_supports_bti_kernel();
}

/*
 * Handlers that write to registers
 */

static void change_all(u64 *r, u64 *flags)
{
	int i;

	for (i = 0; i < DIFF_NR_REGS; i++) {
		if (is_compared(i))
			r[i] ^= 0x4b5a69784b5a6978 ^ 0x0102030401020304 * i;
	}
	*flags ^= NZCV;
}

/* Not the stack pointer. */
static void change(struct kpd_state *state)
{
	change_all(state->m.r, &state->m.nzcv);
}

/* A handler that writes to the stack pointer changes nothing. */
static void change_regs(struct pt_regs *regs)
{
	change_all(regs->regs, &regs->pstate);
	regs->sp += 64;
}

/*
 * Cases
 */

static const struct group groups[] = {
	{ "conditions",			0xff000010, 0x54000000, 32 },
	{ "compare_and_branch",		0x7e000000, 0x34000000, 20 },
	{ "test_and_branch",		0x7e000000, 0x36000000, 140 },
	{ "branches",			0xfc000000, 0x14000000, 5 },
	{ "links",			0xfc000000, 0x94000000, 6 },
	{ "branches_to_registers",	0xfffffc1f, 0xd61f0000, 8 },
	{ "links_to_registers",		0xfffffc1f, 0xd63f0000, 12 },
	{ "returns",			0xfffffc1f, 0xd65f0000, 7 },
	{ "addresses",			0x1f000000, 0x10000000, 18 },
	{ "literals",			0x3b000000, 0x18000000, 13 },
	{ "masks_set",			0xfffff0ff, 0xd50340df, 8 },
	{ "masks_cleared",		0xfffff0ff, 0xd50340ff, 8 },
	{ "masks_read",			0xffffffe0, 0xd53b4220, 4 },
	{ "masks_written",		0xffffffe0, 0xd51b4220, 3 },
	{ "hints",			0xfffff01f, 0xd503201f, 12 },
	{ "moves",			0x7fe0ffe0, 0x2a0003e0, 8 },
	{ "records_of_frames",		0xffc07fff, 0xa9807bfd, 3 },
	{ "atomics",			0x3b200c00, 0x38200000, 30 },
	{ "compare_and_swap",		0x3fa07c00, 0x08a07c00, 4 },
	{ "loads_of_vectors",		0x0e000000, 0x0c000000, 12 },
	{ "vectors",			0x0e000000, 0x0e000000, 30 },
};
KUNIT_ARRAY_PARAM_DESC(group, groups, name);

static const struct kpd_mode writing_modes[] = {
	{ "breakpoint", 1, .pre = 1 },
	{ "post handler", 1, .pre = 1, .post = 1 },
	{ "jump", 1, .pre = 1, .jumps = true },
};
KUNIT_ARRAY_PARAM_DESC(writing_mode, writing_modes, name);

/* The instruction sees what a handler has written, except for the stack pointer. */
static void handlers_write_registers(struct kunit *test)
{
	unsigned int kinds[NR_DIFF_KINDS] = {}, i;

	kpd_compare_changed(test, &d, test->param_value, kinds);
	for (i = 0; i < NR_DIFF_KINDS; i++)
		KUNIT_EXPECT_GT(test, kinds[i], 0);
}

/* Which rows of the table have no form: the effect cannot be set up in general. */
static const u32 without_form[] = {
	0x19219040, 0x1921b040,		/* rcwclrp, rcwsetp: need descriptors */
	0x19200841, 0x19200c82,		/* rcwcas, rcwcasp */
	0x38209041, 0x3820a041,		/* rcwclr, rcwswp */
	0xf83f9020, 0xf820b022,		/* st64b, st64bv: need devices */
	0xd91f0c20,			/* gcsstr: needs a shadow stack of the CPU */
};

static bool row_has(const struct probe_insn_row *row, u32 insn)
{
	return probe_insn_decode(insn) == row;
}

/* Each row that accepts instructions has a form, and each form such a row. */
static void differential_rows(struct kunit *test)
{
	unsigned int i, k, nr, nr_usable, rows = 0, usable_rows = 0;
	const struct probe_insn_row *row;
	const struct kpd_form *f;

	for (row = probe_insn_rows; row < probe_insn_rows + nr_probe_insn_rows; row++) {
		for (nr = 0, f = kpd_forms; f < kpd_forms_end; f++)
			nr += row_has(row, word_of(f));
		if (row->form == PROBE_FORM_REJECT) {
			KUNIT_EXPECT_EQ_MSG(test, nr, 0, "row %08x", row->value);
			continue;
		}
		for (nr_usable = 0, i = 0; i < d.nr_usable; i++)
			nr_usable += row_has(row, word_of(kpd_usable(&d, i)));
		for (k = 0, i = 0; i < ARRAY_SIZE(without_form); i++)
			k += row_has(row, without_form[i]);
		KUNIT_EXPECT_EQ_MSG(test, nr > 0, k == 0, "row %08x", row->value);
		usable_rows += nr_usable > 0;
		rows++;
	}
	kunit_info(test, "%u rows, %u with forms for this CPU\n", rows, usable_rows);
	KUNIT_EXPECT_GT(test, usable_rows, rows / 2);
}

static unsigned int insn_len(const struct kpd_form *f)
{
	return AARCH64_INSN_SIZE;
}

static bool is_at_end_of_page(const struct kpd_form *f)
{
	return offset_in_page(kpd_insn(f)) % SZ_4K == SZ_4K - AARCH64_INSN_SIZE;
}

/* Addresses are relative, so there the words need not say it. */
static bool is_same_form(const struct kpd_form *a, const struct kpd_form *b)
{
	return word_of(a) == word_of(b) && a->with == b->with &&
	       is_at_end_of_page(a) == is_at_end_of_page(b) &&
	       (a->kind != DIFF_EMULATED || !strcmp(a->text, b->text));
}

static void differential_ends_of_pages(struct kunit *test)
{
	const struct kpd_form *f;
	unsigned int nr = 0;

	for (f = kpd_forms; f < kpd_forms_end; f++)
		nr += is_at_end_of_page(f);
	KUNIT_EXPECT_GE(test, nr, 20);
}

/* AL and NV always hold, and the zero register is always zero. */
static bool is_conditional(const struct kpd_form *f)
{
	u32 insn = word_of(f);

	if (is_b_cond(insn))
		return (insn & 15) < AARCH64_INSN_COND_AL && f->with & CONDITION;
	return (is_cbz(insn) || is_tbz(insn)) && rd_of(f) != ZERO_REG;
}

static bool depends_on_flags(const struct kpd_form *f)
{
	return is_b_cond(word_of(f)) && f->with & CONDITION;
}

static void set_flags(struct kpd_state *state, unsigned int flags)
{
	state->m.nzcv = (u64)flags << 28;
}

static void all_flags_of_conditional_branches(struct kunit *test)
{
	KUNIT_EXPECT_GE(test, kpd_check_flags(test, &d, depends_on_flags, 4, set_flags), 32);
}

/*
 * PSTATE.BTYPE: what an indirect branch leaves for the instruction that it leads to. That
 * instruction clears it. So it is seen by a probe there, and by none on the next one.
 */

/* What the probes of two consecutive instructions have seen. */
struct landing {
	struct kprobe	kps[2];
	u64		btype[2];
	u64		after;
	bool		redirect;
};

static int landing_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct landing *l = container_of(p, struct landing, kps[0]);

	l->btype[0] = regs->pstate & PSR_BTYPE_MASK;
	if (!l->redirect)
		return 0;
	instruction_pointer_set(regs, (unsigned long)p->addr + AARCH64_INSN_SIZE);
	return 1;
}

static int landed_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct landing *l = container_of(p, struct landing, kps[1]);

	l->btype[1] = regs->pstate & PSR_BTYPE_MASK;
	return 0;
}

static void landing_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	container_of(p, struct landing, kps[0])->after |= regs->pstate & PSR_BTYPE_MASK;
}

static void __nocfi land_on(struct kunit *test, struct landing *l, int (*landing)(void),
			    kprobe_post_handler_t post, bool redirect)
{
	u64 want = has_feature(DIFF_CPU(PFR1, 0, 1)) ? PSR_BTYPE_C : PSR_BTYPE_NONE;
	struct kprobe *kps[] = { &l->kps[0], &l->kps[1] };

	memset(l, 0, sizeof(*l));
	l->redirect = redirect;
	l->btype[1] = -1;
	l->kps[0].addr = (kprobe_opcode_t *)landing;
	l->kps[0].pre_handler = landing_pre;
	l->kps[0].post_handler = post;
	l->kps[1].addr = l->kps[0].addr + 1;
	l->kps[1].pre_handler = landed_pre;
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), 0);
	KUNIT_EXPECT_EQ(test, landing(), 0);
	unregister_kprobes(kps, ARRAY_SIZE(kps));
	KUNIT_EXPECT_EQ_MSG(test, l->btype[0], want, "%pS", landing);
	KUNIT_EXPECT_EQ_MSG(test, l->btype[1], 0, "%pS", landing);
	KUNIT_EXPECT_EQ_MSG(test, l->after, 0, "%pS", landing);
}

static void indirect_branches_are_forgotten(struct kunit *test)
{
	struct landing *l = kp_zalloc(test, sizeof(*l));
	unsigned int i, landed = 0, nr = kpd_landings_end - kpd_landings;

	for (i = 0; i < nr; i++) {
		/* In this kernel, the branch may not lead to others. */
		if (system_supports_bti_kernel() &&
		    !probe_insn_is_landing_pad(le32_to_cpup((__le32 *)kpd_landings[i])))
			continue;
		land_on(test, l, kpd_landings[i], NULL, false);
		land_on(test, l, kpd_landings[i], landing_post, false);
		land_on(test, l, kpd_landings[i], NULL, true);
		landed++;
	}
	KUNIT_EXPECT_GE(test, landed, system_supports_bti_kernel() ? 1 : 10);
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
	KUNIT_CASE(differential_ends_of_pages),
	KUNIT_CASE(differential_rows),
	KUNIT_CASE(all_flags_of_conditional_branches),
	KUNIT_CASE(indirect_branches_are_forgotten),
	KUNIT_CASE_PARAM(handlers_write_registers, writing_mode_gen_params),
	{}
};

KP_SUITE(differential_cases, .name = "kprobes_arm64_differential",
	 .suite_init = differential_init, .suite_exit = differential_exit);
