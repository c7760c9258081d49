// SPDX-License-Identifier: GPL-2.0-only
/*
 * The emulator against the CPU: each instruction is executed natively and emulated,
 * both from the same random state, and the results are compared: registers, flags,
 * stack, and the address where execution continues.
 *
 * The instructions run on a stack of their own, with interrupts off.
 */

#include "suite.h"

#include <asm/ibt.h>
#include <asm/processor-flags.h>

#include "../common.h"

#ifdef CONFIG_X86_64
#define NR_REGS		16
#else
#define NR_REGS		8
#endif
#define REG_CX		1
#define REG_CX		1
#define REG_SP		4

/* Registers in the order of their encoding, then the flags. */
struct machine {
	unsigned long	r[NR_REGS];
	unsigned long	flags;
};

/* Set by the assembly below; read by it and by the tests. */
extern struct machine kp_emu_state;
extern unsigned long kp_emu_code, kp_emu_sp;
extern u32 kp_emu_taken;

struct machine kp_emu_state;
unsigned long kp_emu_code, kp_emu_sp;
u32 kp_emu_taken;

/* Run @kp_emu_code in @kp_emu_state; sets it and @kp_emu_taken. */
asmlinkage void kp_emu_run(void);

/*
 * Nothing between the load of the flags and their store changes them. The
 * state is addressed absolutely, as all registers are in use.
 */
#ifdef CONFIG_X86_64
#define R(n)		"kp_emu_state+8*" #n "(%rip)"
#define LOAD(n, reg)	"	movq " R(n) ", " reg "\n"
#define STORE(n, reg)	"	movq " reg ", " R(n) "\n"
#define EACH_REG(op)							\
	op(0, "%rax") op(1, "%rcx") op(2, "%rdx") op(3, "%rbx")	\
	op(5, "%rbp") op(6, "%rsi") op(7, "%rdi")			\
	op(8, "%r8") op(9, "%r9") op(10, "%r10") op(11, "%r11")	\
	op(12, "%r12") op(13, "%r13") op(14, "%r14") op(15, "%r15")	\
	op(4, "%rsp")
asm(".pushsection .text\n"
	".globl kp_emu_run\n"
	".type kp_emu_run, @function\n"
	"kp_emu_run:\n"
	"	pushq %rbx; pushq %rbp; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n"
	"	pushfq\n"
	"	movq %rsp, kp_emu_sp(%rip)\n"
	"	pushq " R(16) "\n"
	"	popfq\n"
	EACH_REG(LOAD)
	ANNOTATE_RETPOLINE_SAFE "\n"
	"	jmp *kp_emu_code(%rip)\n"
	"kp_emu_next:\n"
	"	movl $0, kp_emu_taken(%rip)\n"
	"	jmp 1f\n"
	"kp_emu_target:\n"
	"	movl $1, kp_emu_taken(%rip)\n"
	"1:\n"
	EACH_REG(STORE)
	"	movq kp_emu_sp(%rip), %rsp\n"
	"	pushfq\n"
	"	popq " R(16) "\n"
	"	popfq\n"
	"	popq %r15; popq %r14; popq %r13; popq %r12; popq %rbp; popq %rbx\n"
	ASM_RET
	".size kp_emu_run, . - kp_emu_run\n"
	".popsection\n");
#else
#define R(n)		"kp_emu_state+4*" #n
#define LOAD(n, reg)	"	movl " R(n) ", " reg "\n"
#define STORE(n, reg)	"	movl " reg ", " R(n) "\n"
#define EACH_REG(op)							\
	op(0, "%eax") op(1, "%ecx") op(2, "%edx") op(3, "%ebx")	\
	op(5, "%ebp") op(6, "%esi") op(7, "%edi") op(4, "%esp")
asm(".pushsection .text\n"
	".globl kp_emu_run\n"
	".type kp_emu_run, @function\n"
	"kp_emu_run:\n"
	"	pushl %ebx; pushl %ebp; pushl %esi; pushl %edi\n"
	"	pushfl\n"
	"	movl %esp, kp_emu_sp\n"
	"	pushl " R(8) "\n"
	"	popfl\n"
	EACH_REG(LOAD)
	ANNOTATE_RETPOLINE_SAFE "\n"
	"	jmp *kp_emu_code\n"
	"kp_emu_next:\n"
	"	movl $0, kp_emu_taken\n"
	"	jmp 1f\n"
	"kp_emu_target:\n"
	"	movl $1, kp_emu_taken\n"
	"1:\n"
	EACH_REG(STORE)
	"	movl kp_emu_sp, %esp\n"
	"	pushfl\n"
	"	popl " R(8) "\n"
	"	popfl\n"
	"	popl %edi; popl %esi; popl %ebp; popl %ebx\n"
	ASM_RET
	".size kp_emu_run, . - kp_emu_run\n"
	".popsection\n");
#endif

/*
 * FORM(name, instruction): "1f" in it is the target of a branch. The entry of the stub
 * is for an indirect jump, so the instruction follows a landing pad.
 */
#define FORMS_ANY(FORM)							\
	FORM(nop, "nop")						\
	FORM(nopl, "nopl 8(%" _ASM_AX ",%" _ASM_AX ",2)")		\
	FORM(push_ax, "push %" _ASM_AX)					\
	FORM(push_sp, "push %" _ASM_SP)					\
	FORM(pop_ax, "pop %" _ASM_AX)					\
	FORM(pop_bp, "pop %" _ASM_BP)					\
	FORM(mov_ax_bx, "mov %eax, %ebx")				\
	FORM(mov_sp_bp, "mov %" _ASM_SP ", %" _ASM_BP)			\
	FORM(mov_load_form, ".byte 0x8b, 0xd8")				\
	FORM(mov_imm, "mov $0x89abcdef, %ecx")				\
	FORM(mov_imm_c7, ".byte 0xc7, 0xc2, 0xff, 0xff, 0xff, 0xff")	\
	FORM(lea_disp8, "lea -8(%" _ASM_BX "), %" _ASM_AX)		\
	FORM(lea_disp32, "lea 0x12345(%" _ASM_SI "), %" _ASM_DI)	\
	FORM(lea_sib, "lea (%" _ASM_CX ",%" _ASM_DX ",4), %" _ASM_AX)	\
	FORM(lea_sib_disp, "lea 0x10(%" _ASM_BP ",%" _ASM_DX ",8), %eax") \
	FORM(lea_no_base, "lea 0x100(,%" _ASM_DI ",2), %" _ASM_AX)	\
	FORM(lea_bp, "lea (%" _ASM_BP "), %" _ASM_AX)			\
	FORM(lea_sp, "lea 0x18(%" _ASM_SP "), %" _ASM_AX)		\
	FORM(add_rr, "add %eax, %edx")					\
	FORM(add_rr_load, ".byte 0x03, 0xc2")				\
	FORM(add_i8, "add $-1, %ecx")					\
	FORM(add_i32, "add $0x12345678, %ebx")				\
	FORM(add_eax_i32, "add $0x12345678, %eax")			\
	FORM(or_rr, "or %ebx, %esi")					\
	FORM(or_i8, "or $-128, %ebx")					\
	FORM(and_rr, "and %ebx, %esi")					\
	FORM(and_i8, "and $-16, %ebx")					\
	FORM(sub_rr, "sub %ecx, %edi")					\
	FORM(sub_rr_load, ".byte 0x2b, 0xca")				\
	FORM(sub_i8, "sub $127, %edx")					\
	FORM(sub_eax_i32, "sub $0x80000000, %eax")			\
	FORM(xor_rr, "xor %ecx, %edi")					\
	FORM(xor_self, "xor %eax, %eax")				\
	FORM(xor_i32, "xor $0x55555555, %edx")				\
	FORM(cmp_rr, "cmp %ecx, %edi")					\
	FORM(cmp_rr_load, ".byte 0x3b, 0xca")				\
	FORM(cmp_self, "cmp %eax, %eax")				\
	FORM(cmp_i8, "cmp $0, %esi")					\
	FORM(cmp_eax_i32, "cmp $0x7fffffff, %eax")			\
	FORM(cmp_sp, "cmp $8, %" _ASM_SP)				\
	FORM(test_rr, "test %ecx, %edi")				\
	FORM(test_self, "test %edx, %edx")				\
	FORM(test_i32, "test $0x80000001, %esi")			\
	FORM(test_eax_i32, "test $0x10, %eax")				\
	FORM(jmp_short, "jmp 1f")					\
	FORM(jmp_near, ".byte 0xe9; .long 1f - . - 4")			\
	FORM(jo, "jo 1f") FORM(jno, "jno 1f")				\
	FORM(jb, "jb 1f") FORM(jae, "jae 1f")				\
	FORM(je, "je 1f") FORM(jne, "jne 1f")				\
	FORM(jbe, "jbe 1f") FORM(ja, "ja 1f")				\
	FORM(js, "js 1f") FORM(jns, "jns 1f")				\
	FORM(jp, "jp 1f") FORM(jnp, "jnp 1f")				\
	FORM(jl, "jl 1f") FORM(jge, "jge 1f")				\
	FORM(jle, "jle 1f") FORM(jg, "jg 1f")				\
	FORM(je_near, ".byte 0x0f, 0x84; .long 1f - . - 4")		\
	FORM(jg_near, ".byte 0x0f, 0x8f; .long 1f - . - 4")		\
	FORM(je_hint, ".byte 0x3e, 0x74; .byte 1f - . - 1")		\
	FORM(loop, "loop 1f")						\
	FORM(loope, "loope 1f")						\
	FORM(loopne, "loopne 1f")					\
	FORM(jcxz, ".byte 0xe3; .byte 1f - . - 1")			\
	FORM(loop_67, ".byte 0x67, 0xe2; .byte 1f - . - 1")		\
	FORM(loope_67, ".byte 0x67, 0xe1; .byte 1f - . - 1")		\
	FORM(jcxz_67, ".byte 0x67, 0xe3; .byte 1f - . - 1")		\
	FORM(call, "call 1f")						\
	FORM(call_cs, ".byte 0x2e; call 1f")				\
	FORM(pushf, "pushf")						\
	FORM(pushfw, "pushfw")

#define FORMS_64(FORM)							\
	FORM(push_r12, "pushq %r12") FORM(pop_r13, "popq %r13")		\
	FORM(pop_rsp, "popq %rsp")					\
	FORM(mov_r8_r15, "movq %r8, %r15")				\
	FORM(mov_r9d_eax, "movl %r9d, %eax")				\
	FORM(mov_bp_sp, "movq %rbp, %rsp")				\
	FORM(mov_i32_r64, "movq $-2, %r10")				\
	FORM(movabs, "movabsq $0x123456789abcdef0, %r11")		\
	FORM(lea_rip, "leaq kp_emu_state+0x1000(%rip), %rsi")			\
	FORM(lea_rip_32, "leal kp_emu_state+0x1000(%rip), %esi")			\
	FORM(lea_r12, "leaq 8(%r12), %rax")				\
	FORM(lea_r13, "leaq (%r13), %rax")				\
	FORM(lea_r12_index, "leaq 4(%rax,%r12,8), %rcx")		\
	FORM(lea_to_sp, "leaq -0x40(%rsp), %rsp")			\
	FORM(add_sp, "addq $0x28, %rsp")				\
	FORM(sub_sp, "subq $0x28, %rsp")				\
	FORM(sub_sp_i32, "subq $0x108, %rsp")				\
	FORM(and_sp, "andq $-32, %rsp")					\
	FORM(add_64, "addq %r8, %r9") FORM(sub_64, "subq %r14, %rax")	\
	FORM(or_64, "orq %r8, %r9") FORM(and_64, "andq %rcx, %r10")	\
	FORM(xor_64, "xorq %rbx, %r11") FORM(cmp_64, "cmpq %rbx, %r11")	\
	FORM(test_64, "testq %r8, %r8")					\
	FORM(test_64_i, "testq $-0x80000000, %rbx")			\
	FORM(cmp_64_i, "cmpq $-1, %r15")				\
	FORM(xor_r8d, "xorl %r8d, %r8d")

/* The target is in a register, or on the stack. */
#define FORMS_REG(FORM)							\
	FORM(jmp_reg, ANNOTATE_RETPOLINE_SAFE "\njmp *%" _ASM_DX)		\
	FORM(call_reg, ANNOTATE_RETPOLINE_SAFE "\ncall *%" _ASM_DX)

#define FORMS_RET(FORM)							\
	FORM(ret, ANNOTATE_RETPOLINE_SAFE "\n.byte 0xc3")		\
	FORM(ret_8, ANNOTATE_RETPOLINE_SAFE "\n.byte 0xc2, 8, 0")	\
	FORM(rep_ret, ANNOTATE_RETPOLINE_SAFE "\n.byte 0xf3, 0xc3")

/* Some flags must not be random here: these get a safe image. */
#define FORMS_POPF(FORM)						\
	FORM(popf, "popf")						\
	FORM(popfw, "popfw")

#define STUB(name, insn)						\
	"kp_emu_entry_" #name ":\n"					\
	ASM_ENDBR							\
	"	" insn "\n"						\
	"	jmp kp_emu_next\n"					\
	"kp_emu_taken_" #name ":\n"					\
	"1:\n"								\
	ASM_ENDBR							\
	"	jmp kp_emu_target\n"

#ifndef __CHECKER__	/* sparse does not accept strings of this length */
asm(".pushsection .text\n"
	".globl kp_emu_stubs\n"
	".type kp_emu_stubs, @function\n"
	"kp_emu_stubs:\n"
	FORMS_ANY(STUB)
#ifdef CONFIG_X86_64
	FORMS_64(STUB)
#endif
	FORMS_REG(STUB)
	FORMS_RET(STUB)
	FORMS_POPF(STUB)
	".size kp_emu_stubs, . - kp_emu_stubs\n"
	".popsection\n");
#endif

/* objtool cannot follow what it does to the stack. */
asmlinkage void kp_emu_stubs(void);
STACK_FRAME_NON_STANDARD(kp_emu_run);
STACK_FRAME_NON_STANDARD(kp_emu_stubs);

enum special {
	NOTHING,
	TARGET_IN_DX,
	TARGET_ON_STACK,
	FLAGS_ON_STACK,
};

struct form {
	const char	*name;
	u8		*entry;
	u8		*taken;
	enum special	special;
};

#define DECLARE(name, insn)						\
	extern u8 kp_emu_entry_##name[], kp_emu_taken_##name[];
#define ROW(name, special)						\
	{ #name, kp_emu_entry_##name, kp_emu_taken_##name, special },
#define ROW_ANY(name, insn)	ROW(name, NOTHING)
#define ROW_REG(name, insn)	ROW(name, TARGET_IN_DX)
#define ROW_RET(name, insn)	ROW(name, TARGET_ON_STACK)
#define ROW_POPF(name, insn)	ROW(name, FLAGS_ON_STACK)

FORMS_ANY(DECLARE)
#ifdef CONFIG_X86_64
FORMS_64(DECLARE)
#endif
FORMS_REG(DECLARE)
FORMS_RET(DECLARE)
FORMS_POPF(DECLARE)

static const struct form forms[] = {
	FORMS_ANY(ROW_ANY)
#ifdef CONFIG_X86_64
	FORMS_64(ROW_ANY)
#endif
	FORMS_REG(ROW_REG)
	FORMS_RET(ROW_RET)
	FORMS_POPF(ROW_POPF)
};
KUNIT_ARRAY_PARAM_DESC(form, forms, name);

static const u8 offsets[NR_REGS] = {
	offsetof(struct pt_regs, ax), offsetof(struct pt_regs, cx),
	offsetof(struct pt_regs, dx), offsetof(struct pt_regs, bx),
	offsetof(struct pt_regs, sp), offsetof(struct pt_regs, bp),
	offsetof(struct pt_regs, si), offsetof(struct pt_regs, di),
#ifdef CONFIG_X86_64
	offsetof(struct pt_regs, r8), offsetof(struct pt_regs, r9),
	offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
	offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13),
	offsetof(struct pt_regs, r14), offsetof(struct pt_regs, r15),
#endif
};

static unsigned long *reg(struct pt_regs *regs, int i)
{
	return (void *)regs + offsets[i];
}

#define ARITHMETIC	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |	\
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)
/* Set in all images: the bit that is always set. */
#define FLAGS_SAFE	(ARITHMETIC | X86_EFLAGS_DF | X86_EFLAGS_ID)

#define STACK_WORDS	128
#define ROUNDS		64

struct emulate_test {
	unsigned long		stack[STACK_WORDS];
	unsigned long		before[STACK_WORDS];
	unsigned long		emulated[STACK_WORDS];
	struct rnd_state	rnd;
};

/* Values at the edges are more frequent than chance would make them. */
static unsigned long random_value(struct rnd_state *rnd)
{
	static const unsigned long edges[] = {
		0, 1, 2, -1, 0x7fffffff, 0x80000000, 0xffffffff,
		LONG_MAX, LONG_MIN, 0x10000, 0xffff, 0x10,
	};
	u64 v = (u64)prandom_u32_state(rnd) << 32 | prandom_u32_state(rnd);

	if (v % 3 == 0)
		return edges[(v >> 8) % ARRAY_SIZE(edges)];
	return v;
}

/* Counters that are about to reach zero, in all widths. */
static const unsigned long last_counts[] = {
	0, 1, 2, -1, 0xffff0001,
#ifdef CONFIG_X86_64
	0xffffffff00000001, 0xffffffff00000000,
#endif
};

static void random_machine(struct emulate_test *t, const struct form *f,
			   struct machine *m)
{
	unsigned long *sp = &t->stack[STACK_WORDS / 2];
	int i;

	for (i = 0; i < STACK_WORDS; i++)
		t->stack[i] = random_value(&t->rnd);
	for (i = 0; i < NR_REGS; i++)
		m->r[i] = random_value(&t->rnd);
	if (m->r[REG_CX] & 4)
		m->r[REG_CX] = last_counts[m->r[REG_CX] % ARRAY_SIZE(last_counts)];
	m->r[REG_SP] = (unsigned long)sp;
	m->flags = X86_EFLAGS_FIXED | (random_value(&t->rnd) & FLAGS_SAFE);

	switch (f->special) {
	case TARGET_IN_DX:
		m->r[2] = (unsigned long)f->taken;
		break;
	case TARGET_ON_STACK:
		sp[0] = (unsigned long)f->taken;
		break;
	case FLAGS_ON_STACK:
		sp[0] = (sp[0] & FLAGS_SAFE) | X86_EFLAGS_FIXED;
		break;
	default:
		break;
	}
}

static void run_native(const struct form *f, struct machine *m, u32 *taken)
{
	unsigned long flags;

	preempt_disable();
	local_irq_save(flags);
	kp_emu_state = *m;
	kp_emu_code = (unsigned long)f->entry;
	kp_emu_run();
	*m = kp_emu_state;
	*taken = kp_emu_taken;
	local_irq_restore(flags);
	preempt_enable();
}

static void run_emulated(struct kprobe *p, struct machine *m, unsigned long *ip)
{
	struct pt_regs regs = {};
	int i;

	for (i = 0; i < NR_REGS; i++)
		*reg(&regs, i) = m->r[i];
	regs.flags = m->flags;
	regs.ip = (unsigned long)p->addr + INT3_INSN_SIZE;

	kprobe_emulate(p, &regs);

	for (i = 0; i < NR_REGS; i++)
		m->r[i] = *reg(&regs, i);
	m->flags = regs.flags;
	*ip = regs.ip;
}

static void one_round(struct kunit *test, struct emulate_test *t,
		      const struct form *f, struct kprobe *p, unsigned int *taken)
{
	unsigned long next = (unsigned long)p->addr + p->ainsn.len, ip;
	struct machine start, native, emulated;
	u32 jumped;
	int i;

	random_machine(t, f, &start);
	memcpy(t->before, t->stack, sizeof(t->stack));

	emulated = start;
	run_emulated(p, &emulated, &ip);
	memcpy(t->emulated, t->stack, sizeof(t->stack));

	memcpy(t->stack, t->before, sizeof(t->stack));
	native = start;
	run_native(f, &native, &jumped);
	*taken += jumped;

	for (i = 0; i < NR_REGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, emulated.r[i], native.r[i],
				    "register %d, was %lx", i, start.r[i]);
	KUNIT_EXPECT_EQ_MSG(test, emulated.flags, native.flags,
			    "flags, were %lx", start.flags);
	KUNIT_EXPECT_EQ_MSG(test, ip, jumped ? (unsigned long)f->taken : next,
			    "jumped: %u", jumped);
	KUNIT_EXPECT_EQ_MSG(test, memcmp(t->stack, t->emulated, sizeof(t->stack)), 0,
			    "the stack differs");
}

static void emulate_form(struct kunit *test)
{
	const struct form *f = test->param_value;
	struct kprobe p = { .addr = f->entry + ENDBR_INSN_SIZE };
	struct emulate_test *t;
	struct kprobe_insn ki;
	unsigned int taken = 0;
	int i;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	prandom_seed_state(&t->rnd, (unsigned long)(f - forms) + 1);

	memcpy(ki.bytes, p.addr, MAX_INSN_SIZE);
	KUNIT_ASSERT_EQ(test, insn_decode(&ki.insn, ki.bytes, MAX_INSN_SIZE,
					  INSN_MODE_KERN), 0);
	scoped_guard(mutex, &text_mutex)
		i = kprobe_classify(&ki, (unsigned long)p.addr, &p.ainsn);
	KUNIT_ASSERT_EQ(test, i, 0);
	KUNIT_ASSERT_TRUE_MSG(test, kprobe_op_is_emulated(p.ainsn.op),
			      "not emulated: operation %u", p.ainsn.op);

	for (i = 0; i < ROUNDS; i++)
		one_round(test, t, f, &p, &taken);

	/* A conditional branch was seen to go both ways. */
	switch (p.ainsn.op) {
	case KPROBE_OP_JCC:
	case KPROBE_OP_LOOP:
	case KPROBE_OP_LOOPE:
	case KPROBE_OP_LOOPNE:
	case KPROBE_OP_JCXZ:
		KUNIT_EXPECT_GT(test, taken, 0);
		KUNIT_EXPECT_LT(test, taken, ROUNDS);
	}
}

/*
 * Interrupts cannot be enabled while another stack is in use, so these cases are
 * separate.
 */
static void emulate_interrupt_flag(struct kunit *test)
{
	struct pt_regs regs = { .flags = X86_EFLAGS_FIXED | X86_EFLAGS_CF };
	struct kprobe p = { .addr = (void *)0x1000, .ainsn.len = 1 };

	p.ainsn.op = KPROBE_OP_STI;
	kprobe_emulate(&p, &regs);
	KUNIT_EXPECT_EQ(test, regs.flags,
			X86_EFLAGS_FIXED | X86_EFLAGS_CF | X86_EFLAGS_IF);
	KUNIT_EXPECT_EQ(test, regs.ip, 0x1001ul);

	p.ainsn.op = KPROBE_OP_CLI;
	kprobe_emulate(&p, &regs);
	KUNIT_EXPECT_EQ(test, regs.flags, X86_EFLAGS_FIXED | X86_EFLAGS_CF);
}

/* POPF keeps what belongs to the CPU's mode, except for RF. */
static void emulate_popf_sticky(struct kunit *test)
{
	unsigned long stack[2] = {
		X86_EFLAGS_FIXED | X86_EFLAGS_IF | X86_EFLAGS_VM | X86_EFLAGS_NT, 0,
	};
	struct pt_regs regs = {
		.flags = X86_EFLAGS_FIXED | X86_EFLAGS_RF | X86_EFLAGS_VIP | X86_EFLAGS_AC,
		.sp = (unsigned long)stack,
	};
	struct kprobe p = {
		.addr = (void *)0x1000,
		.ainsn = { .op = KPROBE_OP_POPF, .len = 1, .width = sizeof(long) },
	};

	kprobe_emulate(&p, &regs);
	KUNIT_EXPECT_EQ(test, regs.flags,
			X86_EFLAGS_FIXED | X86_EFLAGS_IF | X86_EFLAGS_NT | X86_EFLAGS_VIP);
	KUNIT_EXPECT_EQ(test, regs.sp, (unsigned long)&stack[1]);
}

/* PUSHF never stores RF or VM. */
static void emulate_pushf_image(struct kunit *test)
{
	unsigned long stack[2] = {};
	struct pt_regs regs = {
		.flags = X86_EFLAGS_FIXED | X86_EFLAGS_RF | X86_EFLAGS_VM | X86_EFLAGS_IF |
			 X86_EFLAGS_CF | X86_EFLAGS_VIP,
		.sp = (unsigned long)&stack[1],
	};
	struct kprobe p = {
		.addr = (void *)0x1000,
		.ainsn = { .op = KPROBE_OP_PUSHF, .len = 1, .width = sizeof(long) },
	};

	kprobe_emulate(&p, &regs);
	KUNIT_EXPECT_EQ(test, stack[0], X86_EFLAGS_FIXED | X86_EFLAGS_IF | X86_EFLAGS_CF |
			X86_EFLAGS_VIP);
	KUNIT_EXPECT_EQ(test, regs.sp, (unsigned long)stack);
}

/*
 * CALL *%rsp branches to the value of the stack pointer before the push. The stack is
 * not executable, so the result is compared with the manuals.
 */
static void emulate_call_through_stack_pointer(struct kunit *test)
{
	static const u8 call[MAX_INSN_SIZE] = { 0xff, 0xd4 };
	struct kprobe p = { .addr = (u8 *)call };
	struct pt_regs regs = { .flags = X86_EFLAGS_FIXED };
	unsigned long stack[2] = {};
	struct kprobe_insn ki;
	int ret;

	memcpy(ki.bytes, call, sizeof(call));
	KUNIT_ASSERT_EQ(test, kprobe_decode(&ki, MAX_INSN_SIZE), 0);
	scoped_guard(mutex, &text_mutex)
		ret = kprobe_classify(&ki, (unsigned long)call, &p.ainsn);
	KUNIT_ASSERT_EQ(test, ret, 0);
	KUNIT_ASSERT_EQ(test, p.ainsn.op, KPROBE_OP_CALL_REG);

	regs.sp = (unsigned long)&stack[1];
	kprobe_emulate(&p, &regs);
	KUNIT_EXPECT_EQ(test, regs.ip, (unsigned long)&stack[1]);
	KUNIT_EXPECT_EQ(test, regs.sp, (unsigned long)&stack[0]);
	KUNIT_EXPECT_EQ(test, stack[0], (unsigned long)call + 2);
	KUNIT_EXPECT_EQ(test, stack[1], 0);
}

static struct kunit_case emulate_cases[] = {
	KUNIT_CASE_PARAM(emulate_form, form_gen_params),
	KUNIT_CASE(emulate_interrupt_flag),
	KUNIT_CASE(emulate_popf_sticky),
	KUNIT_CASE(emulate_pushf_image),
	KUNIT_CASE(emulate_call_through_stack_pointer),
	{}
};

static struct kunit_suite emulate_suite = {
	.name		= "kprobes_x86_emulate",
	.test_cases	= emulate_cases,
};
kunit_test_suite(emulate_suite);
