// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hit path of optimized probes on x86: what a detour begins with, and what
 * it calls.
 */

#include <linux/kprobes.h>
#include <linux/objtool.h>
#include <linux/stringify.h>

#include <asm/nospec-branch.h>
#include <asm/orc_types.h>
#include <asm/segment.h>
#include <asm/unwind_hints.h>

#include "common.h"

#ifndef ANNOTATE_NOENDBR
#define ANNOTATE_NOENDBR
#endif

/* Fields of struct pt_regs. */
#ifdef CONFIG_X86_64
#define REGS_ORIG_AX	120
#define REGS_IP		128
#define REGS_FLAGS	144
#define REGS_SP		152
#else
#define REGS_ORIG_AX	44
#define REGS_IP		48
#define REGS_FLAGS	56
#define REGS_SP		60
#endif

static_assert(offsetof(struct pt_regs, orig_ax) == REGS_ORIG_AX);
static_assert(offsetof(struct pt_regs, ip) == REGS_IP);
static_assert(offsetof(struct pt_regs, flags) == REGS_FLAGS);
static_assert(offsetof(struct pt_regs, sp) == REGS_SP);

#define AT_SP(field)	__stringify(field) "(%" _ASM_SP ")"

#ifdef CONFIG_X86_64
/* What C code may change, and what it puts back. */
#define PUSH_SCRATCH							\
	"	pushq %rdi; pushq %rsi; pushq %rdx; pushq %rcx\n"	\
	"	pushq %rax; pushq %r8; pushq %r9; pushq %r10\n"		\
	"	pushq %r11\n"
#define PUSH_SAVED							\
	"	pushq %rbx; pushq %rbp; pushq %r12\n"			\
	"	pushq %r13; pushq %r14; pushq %r15\n"
#define POP_SAVED							\
	"	popq %r15; popq %r14; popq %r13; popq %r12\n"		\
	"	popq %rbp; popq %rbx\n"
#define POP_SCRATCH							\
	"	popq %r11; popq %r10; popq %r9; popq %r8\n"		\
	"	popq %rax; popq %rcx; popq %rdx; popq %rsi; popq %rdi\n"
/* The rest of the frame, up to the stack of the program. */
#define POP_FLAGS							\
	"	leaq 24(%rsp), %rsp\n"		/* orig_ax, ip, cs */	\
	"	popfq\n"						\
	"	leaq 16(%rsp), %rsp\n"		/* sp, ss */
#endif

/*
 * The beginning of each detour is a copy of this, with the blanks filled in; the
 * copies of the program's instructions follow. It makes a struct pt_regs of the
 * moment before the probed instruction, complete with what only unwinders want,
 * which may come in an NMI between any two instructions.
 *
 * Before PUSHF nothing changes the flags, nor behind POPF. The addition makes the
 * saved stack pointer that of the program. Handlers are C, and may have come
 * from between STAC and CLAC, or from a copy that goes backwards.
 *
 * It is never executed here: but so objtool describes its stack, from which
 * kprobe_detour_place() derives that of the detours.
 */
asm(
	".text\n"
	".global kprobe_detour_template\n"
	".type kprobe_detour_template, @function\n"
	"kprobe_detour_template:\n"
	ANNOTATE_NOENDBR
#ifdef CONFIG_X86_64
	"	pushq $" __stringify(__KERNEL_DS) "\n"
	"	pushq %rsp\n"
	"	pushfq\n"
	"	addq $8, 8(%rsp)\n"
	"	pushq $" __stringify(__KERNEL_CS) "\n"
	"	.byte 0x68\n"			/* pushq $ip */
	".Ldetour_ip:\n"
	"	.long 0\n"
	"	pushq $-1\n"			/* orig_ax */
	PUSH_SCRATCH
	PUSH_SAVED
#else
	"	pushl %ss\n"
	"	pushl %esp\n"
	"	pushfl\n"
	"	addl $4, 4(%esp)\n"
	"	pushl $" __stringify(__KERNEL_CS) "\n"
	"	.byte 0x68\n"			/* pushl $ip */
	".Ldetour_ip:\n"
	"	.long 0\n"
	"	pushl $-1\n"			/* orig_ax */
	"	pushl $0\n"			/* gs */
	"	pushl %fs; pushl %es; pushl %ds\n"
	"	pushl %eax; pushl %ebp; pushl %edi; pushl %esi\n"
	"	pushl %edx; pushl %ecx; pushl %ebx\n"
#endif
	ENCODE_FRAME_POINTER
	".Ldetour_regs:\n"
	"	nop\n"				/* cld */
	".Ldetour_clac:\n"
	"	.byte 0x0f, 0x1f, 0x00\n"	/* clac */
#ifdef CONFIG_X86_64
	"	.byte 0x48, 0xbf\n"		/* movabsq $op, %rdi */
	".Ldetour_op:\n"
	"	.quad 0\n"
	"	movq %rsp, %rsi\n"
#else
	"	.byte 0xb8\n"			/* movl $op, %eax */
	".Ldetour_op:\n"
	"	.long 0\n"
	"	movl %esp, %edx\n"
#endif
	".Ldetour_call:\n"
	"	call kprobe_detour_callback\n"
	"	testl %eax, %eax\n"
	".Ldetour_leave:\n"
	"	.byte 0x0f, 0x85\n"		/* jnz kprobe_detour_leave */
	"	.long 0\n"
	".Ldetour_restore:\n"
#ifdef CONFIG_X86_64
	POP_SAVED
	POP_SCRATCH
	POP_FLAGS
#else
	"	popl %ebx; popl %ecx; popl %edx; popl %esi\n"
	"	popl %edi; popl %ebp; popl %eax\n"
	"	leal 28(%esp), %esp\n"		/* ds ... cs: nobody changes them */
	"	popfl\n"
	"	leal 8(%esp), %esp\n"		/* sp, ss */
#endif
	".Ldetour_end:\n"
	ASM_RET
	".size kprobe_detour_template, . - kprobe_detour_template\n"

	/*
	 * A handler wants to go on elsewhere, or with another stack pointer. Its
	 * ip and flags go right below that, where the returns find them; the
	 * place of orig_ax takes the stack pointer there.
	 */
	".global kprobe_detour_leave\n"
	".type kprobe_detour_leave, @function\n"
	"kprobe_detour_leave:\n"
	ANNOTATE_NOENDBR
	"	mov " AT_SP(REGS_SP) ", %" _ASM_AX "\n"
	"	mov " AT_SP(REGS_IP) ", %" _ASM_CX "\n"
	"	mov " AT_SP(REGS_FLAGS) ", %" _ASM_DX "\n"
#ifdef CONFIG_X86_64
	"	leaq -16(%rax), %rax\n"
	"	movq %rcx, 8(%rax)\n"
	"	movq %rdx, (%rax)\n"
	"	movq %rax, " AT_SP(REGS_ORIG_AX) "\n"
	POP_SAVED
	POP_SCRATCH
	"	popq %rsp\n"
	"	popfq\n"
#else
	"	leal -8(%eax), %eax\n"
	"	movl %ecx, 4(%eax)\n"
	"	movl %edx, (%eax)\n"
	"	movl %eax, " AT_SP(REGS_ORIG_AX) "\n"
	"	popl %ebx; popl %ecx; popl %edx; popl %esi\n"
	"	popl %edi; popl %ebp; popl %eax\n"
	"	leal 16(%esp), %esp\n"		/* ds, es, fs, gs */
	"	popl %esp\n"
	"	popfl\n"
#endif
	ASM_RET
	".size kprobe_detour_leave, . - kprobe_detour_leave\n"

	".pushsection .rodata\n"
	".global kprobe_detour_layout\n"
	"kprobe_detour_layout:\n"
	"	.byte .Ldetour_ip - kprobe_detour_template\n"
	"	.byte .Ldetour_regs - kprobe_detour_template\n"
	"	.byte .Ldetour_clac - kprobe_detour_template\n"
	"	.byte .Ldetour_op - kprobe_detour_template\n"
	"	.byte .Ldetour_call - kprobe_detour_template\n"
	"	.byte .Ldetour_leave - kprobe_detour_template\n"
	"	.byte .Ldetour_restore - kprobe_detour_template\n"
	"	.byte .Ldetour_end - kprobe_detour_template\n"
	".popsection\n"
);
NOKPROBE_SYMBOL(kprobe_detour_template);
NOKPROBE_SYMBOL(kprobe_detour_leave);

/* What is saved is complete. */
static_assert(sizeof(struct pt_regs) == (IS_ENABLED(CONFIG_X86_64) ? 168 : 68));

/* With frame pointers, that of the callback leads to the registers. */
STACK_FRAME_NON_STANDARD_FP(kprobe_detour_template);
/* Nobody could say what its stack is like. */
STACK_FRAME_NON_STANDARD(kprobe_detour_leave);

#ifdef KPROBE_DETOURS_OF_RETURNS
/* Fields of struct optimized_kprobe, and of the frame without PUSH_SAVED. */
#define OP_ADDR		40
#define RETURN_FRAME	120

static_assert(offsetof(struct optimized_kprobe, kp) == 0);
static_assert(offsetof(struct optimized_kprobe, kp.addr) == OP_ADDR);
static_assert(sizeof(struct pt_regs) - offsetof(struct pt_regs, r11) == RETURN_FRAME);

/*
 * The beginning of a detour at the entry of a function that has a return probe,
 * and nothing else: the upper part of a struct pt_regs, of which only the flags and
 * what C code changes are set.
 */
asm(
	".text\n"
	".global kretprobe_detour_template\n"
	".type kretprobe_detour_template, @function\n"
	"kretprobe_detour_template:\n"
	ANNOTATE_NOENDBR
	"	leaq -16(%rsp), %rsp\n"		/* sp, ss */
	"	pushfq\n"
	"	leaq -24(%rsp), %rsp\n"		/* orig_ax, ip, cs */
	PUSH_SCRATCH
	".Lreturn_regs:\n"
	"	nop\n"				/* cld */
	".Lreturn_clac:\n"
	"	.byte 0x0f, 0x1f, 0x00\n"	/* clac */
	"	.byte 0x48, 0xbf\n"		/* movabsq $op, %rdi */
	".Lreturn_op:\n"
	"	.quad 0\n"
	"	leaq " __stringify(RETURN_FRAME) "(%rsp), %rsi\n"
	".Lreturn_call:\n"
	"	call kretprobe_native_entry\n"
	"	testq %rax, %rax\n"
	".Lreturn_leave:\n"
	"	.byte 0x0f, 0x85\n"		/* jnz kretprobe_detour_complete */
	"	.long 0\n"
	".Lreturn_restore:\n"
	POP_SCRATCH
	POP_FLAGS
	".Lreturn_end:\n"
	ASM_RET
	".size kretprobe_detour_template, . - kretprobe_detour_template\n"

	/*
	 * More is to be done than that: the frame becomes complete, and all that it
	 * needs is at hand. It is code like that of an exception, not a function.
	 */
	".global kretprobe_detour_complete\n"
	"kretprobe_detour_complete:\n"
	ANNOTATE_NOENDBR
	UNWIND_HINT(UNWIND_HINT_TYPE_CALL, ORC_REG_SP, RETURN_FRAME + 8, 0)
	PUSH_SAVED
	"	movq " __stringify(OP_ADDR) "(%rax), %rcx\n"
	"	leaq 1(%rcx), %rcx\n"
	"	leaq 168(%rsp), %rdx\n"
	"	movq $" __stringify(__KERNEL_DS) ", 160(%rsp)\n"
	"	movq %rdx, " AT_SP(REGS_SP) "\n"
	"	movq $" __stringify(__KERNEL_CS) ", 136(%rsp)\n"
	"	movq %rcx, " AT_SP(REGS_IP) "\n"
	"	movq $-1, " AT_SP(REGS_ORIG_AX) "\n"
	UNWIND_HINT(UNWIND_HINT_TYPE_REGS, ORC_REG_SP, 0, 0)
	"	movq %rax, %rdi\n"
	"	movq %rsp, %rsi\n"
	"	call kretprobe_detour_callback\n"
	"	jmp kprobe_detour_leave\n"
	".size kretprobe_detour_complete, . - kretprobe_detour_complete\n"
	".Lcomplete_end:\n"

	".pushsection .rodata\n"
	".balign 4\n"
	".global kretprobe_detour_complete_size\n"
	"kretprobe_detour_complete_size:\n"
	"	.long .Lcomplete_end - kretprobe_detour_complete\n"
	".global kretprobe_detour_layout\n"
	"kretprobe_detour_layout:\n"
	"	.byte 0\n"			/* no ip */
	"	.byte .Lreturn_regs - kretprobe_detour_template\n"
	"	.byte .Lreturn_clac - kretprobe_detour_template\n"
	"	.byte .Lreturn_op - kretprobe_detour_template\n"
	"	.byte .Lreturn_call - kretprobe_detour_template\n"
	"	.byte .Lreturn_leave - kretprobe_detour_template\n"
	"	.byte .Lreturn_restore - kretprobe_detour_template\n"
	"	.byte .Lreturn_end - kretprobe_detour_template\n"
	".popsection\n"
);
NOKPROBE_SYMBOL(kretprobe_detour_template);
NOKPROBE_SYMBOL(kretprobe_detour_complete);

/**
 * kretprobe_detour_callback() - kretprobe_native_entry() was not enough
 * @op: the probe
 * @regs: state before the probed instruction; set to where to go on
 *
 * Context: as kprobe_detour_callback().
 */
__visible void kretprobe_detour_callback(struct optimized_kprobe *op,
					 struct pt_regs *regs)
{
	const struct arch_optimized_insn *o = &op->optinsn;

	if (!kprobe_detour_callback(op, regs))
		regs->ip = (unsigned long)o->insn + o->to[0];
}
NOKPROBE_SYMBOL(kretprobe_detour_callback);

/**
 * kprobe_is_completion() - is the frame of a detour being completed here?
 * @addr: a text address
 *
 * For unwinders: the probed function has been left, and nothing on the stack
 * names it yet.
 *
 * Return: true if it is.
 */
bool kprobe_is_completion(unsigned long addr)
{
	return addr - (unsigned long)kretprobe_detour_complete <
	       kretprobe_detour_complete_size;
}

static nokprobe_inline const void *template_of(const struct arch_optimized_insn *o)
{
	return o->of_return ? kretprobe_detour_template : kprobe_detour_template;
}

#else

bool kprobe_is_completion(unsigned long addr)
{
	return false;
}

static nokprobe_inline const void *template_of(const struct arch_optimized_insn *o)
{
	return kprobe_detour_template;
}

#endif

/* If a jump was or will be written over @ip, where the same is done. */
static nokprobe_inline unsigned long detour_of_ip(const struct kprobe *p,
						  unsigned long ip)
{
	const struct arch_optimized_insn *o = kprobe_detour_of(p);
	unsigned int i;

	for (i = 1; i < o->nr; i++) {
		if ((unsigned long)p->addr + o->from[i] == ip)
			return (unsigned long)o->insn + o->to[i];
	}

	/* No instruction begins there, so it is as wrong as it was. */
	return ip;
}

/**
 * kprobe_avoid_jump() - a handler has set the instruction pointer
 * @regs: with it
 *
 * It may lead to the middle of what an optimized probe near there replaces.
 *
 * Context: hit path.
 */
void kprobe_avoid_jump(struct pt_regs *regs)
{
	unsigned int i;

	for (i = 1; i < JMP32_INSN_SIZE; i++) {
		struct kprobe *p = find_kprobe(regs->ip - i);

		if (p && READ_ONCE(p->flags) & KPROBE_FLAG_DETOUR) {
			regs->ip = detour_of_ip(p, regs->ip);
			return;
		}
	}
}
NOKPROBE_SYMBOL(kprobe_avoid_jump);

/* Not by the end of the detour: a handler has changed more than registers. */
static noinline int leave_detour(struct pt_regs *regs, bool redirected)
{
	const struct arch_optimized_insn *o = kprobe_detour_of(kprobe_running());

	if (redirected)
		kprobe_avoid_jump(regs);
	else
		regs->ip = (unsigned long)o->insn + o->to[0];
	return 1;
}
NOKPROBE_SYMBOL(leave_detour);

/**
 * kprobe_detour_callback() - a detour was entered
 * @op: its probe
 * @regs: state before the probed instruction
 *
 * Handlers see what they would see behind a breakpoint. They may take something
 * off the stack; what they would put on it has no room here.
 *
 * Context: hit path; any context, interrupts as they were.
 * Return: 0 to go on with the copies in the detour; else @regs tells where and
 *	   with which stack pointer.
 */
__visible int kprobe_detour_callback(struct optimized_kprobe *op,
				     struct pt_regs *regs)
{
	struct kprobe *p = &op->kp;
	int ret = 0;

	preempt_disable_notrace();

	if (unlikely(kprobe_running())) {
		kprobes_inc_nmissed_count(p);
	} else if (unlikely(!kprobe_rcu_is_watching())) {
		kprobe_miss_unwatched(p);
	} else {
		kprobe_hit_begin(p);
		ret = kprobe_call_pre(p, regs);
		if (unlikely(ret || regs->sp != (unsigned long)(regs + 1)))
			ret = leave_detour(regs, ret);
		reset_current_kprobe();
	}

	preempt_enable_notrace();
	return ret;
}
NOKPROBE_SYMBOL(kprobe_detour_callback);

/* Which of the copies a place in a detour belongs to, and how far it has got. */
static nokprobe_inline void place_in_copies(const struct optimized_kprobe *op,
					    unsigned int offset,
					    struct kprobe_detour_place *place)
{
	const struct arch_optimized_insn *o = &op->optinsn;
	unsigned int i = o->nr - 1;

	while (o->to[i] > offset)
		i--;

	place->ip = (unsigned long)op->kp.addr + o->from[i];
	/* Only of a call the first of two instructions is a push like this. */
	if (o->insn[o->to[i]] == 0x68 && offset >= o->to[i] + 5)
		place->pushed = sizeof(long);
}

/**
 * kprobe_detour_place() - what an address in a detour means
 * @ip: the address, perhaps in a detour
 * @place: set to what it means
 *
 * Context: any, also NMI; preemption off.
 * Return: true if it is in a detour.
 */
bool kprobe_detour_place(unsigned long ip, struct kprobe_detour_place *place)
{
	struct optimized_kprobe *op = kprobe_optinsn_owner(ip);
	const struct kprobe_detour_layout *l;
	const kprobe_opcode_t *slot;
	unsigned long offset;

	if (!op) {
		op = kprobe_hop_owner(ip);
		if (!op)
			return false;
		/* As at the beginning of the detour. */
		ip = (unsigned long)READ_ONCE(op->optinsn.insn);
	}
	/* It may just be given back. */
	slot = READ_ONCE(op->optinsn.insn);
	offset = ip - (unsigned long)slot;
	if (!slot || offset >= MAX_OPTINSN_SIZE)
		return false;

	l = kprobe_layout_of(&op->optinsn);
	*place = (struct kprobe_detour_place) { .ip = (unsigned long)op->kp.addr };

	if (offset >= op->optinsn.end)
		place->ip += op->optinsn.size;
	else if (offset >= l->size)
		place_in_copies(op, offset, place);
	else if (!op->optinsn.of_return && offset >= l->regs && offset <= l->restore)
		place->regs = true;
	else
		place->template = (unsigned long)template_of(&op->optinsn) + offset;

	return true;
}
NOKPROBE_SYMBOL(kprobe_detour_place);
