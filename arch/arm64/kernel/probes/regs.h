/* SPDX-License-Identifier: GPL-2.0-only */
/* Building a struct pt_regs on the stack of probed code, without an exception. For assembly. */
#ifndef _ARM64_KERNEL_PROBES_REGS_H
#define _ARM64_KERNEL_PROBES_REGS_H

#include <asm/alternative.h>
#include <asm/asm-offsets.h>
#include <asm/asm-uaccess.h>
#include <asm/assembler.h>
#include <asm/ptrace.h>
#include <asm/sysreg.h>

/*
 * Exceptions from EL1 use neither this member nor orig_x0. Handlers may change the general
 * registers, NZCV and pc; the other members belong to the code that has saved them.
 */
#define S_UACCESS	S_SDEI_TTBR1

/* The first two registers are at the start, so one instruction also makes room for the rest. */
.macro	push_first_regs
	stp	x0, x1, [sp, #-PT_REGS_SIZE]!
.endm

.macro	pop_first_regs
	ldp	x0, x1, [sp], #PT_REGS_SIZE
.endm

/* What C code may change, and x19; x0, x1, x29 and x30 are saved separately. */
.macro	save_caller_regs
	stp	x2, x3, [sp, #S_X2]
	stp	x4, x5, [sp, #S_X4]
	stp	x6, x7, [sp, #S_X6]
	stp	x8, x9, [sp, #S_X8]
	stp	x10, x11, [sp, #S_X10]
	stp	x12, x13, [sp, #S_X12]
	stp	x14, x15, [sp, #S_X14]
	stp	x16, x17, [sp, #S_X16]
	stp	x18, x19, [sp, #S_X18]
.endm

/* What C code preserves, but x19. */
.macro	save_callee_regs
	stp	x20, x21, [sp, #S_X20]
	stp	x22, x23, [sp, #S_X22]
	stp	x24, x25, [sp, #S_X24]
	stp	x26, x27, [sp, #S_X26]
	str	x28, [sp, #S_X28]
.endm

.macro	restore_caller_regs
	ldp	x2, x3, [sp, #S_X2]
	ldp	x4, x5, [sp, #S_X4]
	ldp	x6, x7, [sp, #S_X6]
	ldp	x8, x9, [sp, #S_X8]
	ldp	x10, x11, [sp, #S_X10]
	ldp	x12, x13, [sp, #S_X12]
	ldp	x14, x15, [sp, #S_X14]
	ldp	x16, x17, [sp, #S_X16]
	ldp	x18, x19, [sp, #S_X18]
.endm

.macro	restore_callee_regs
	ldp	x20, x21, [sp, #S_X20]
	ldp	x22, x23, [sp, #S_X22]
	ldp	x24, x25, [sp, #S_X24]
	ldp	x26, x27, [sp, #S_X26]
	ldr	x28, [sp, #S_X28]
.endm

/* x2 to x28. */
.macro	save_most_regs
	save_caller_regs
	save_callee_regs
.endm

.macro	restore_most_regs
	restore_caller_regs
	restore_callee_regs
.endm

/*
 * The state that an exception would have saved, as far as it can be read: NZCV, DAIF, the
 * exception level and the stack pointer that it uses. The other bits are zero.
 */
.macro	pstate_from_nzcv, pstate:req, tmp:req
	mrs	\tmp, daif
	orr	\pstate, \pstate, \tmp
alternative_if_not ARM64_HAS_VIRT_HOST_EXTN
	add	\pstate, \pstate, #PSR_MODE_EL1h
alternative_else
	add	\pstate, \pstate, #PSR_MODE_EL2h
alternative_endif
.endm

/* Handlers also see a copy of the interrupt priority mask. */
.macro	save_pmr, xtmp:req, wtmp:req
#ifdef CONFIG_ARM64_PSEUDO_NMI
alternative_if ARM64_HAS_GIC_PRIO_MASKING
	mrs_s	\xtmp, SYS_ICC_PMR_EL1
	str	\wtmp, [sp, #S_PMR]
alternative_else_nop_endif
#endif
.endm

/*
 * Handlers are C code and must not inherit access to user memory. The entry from an exception
 * disables it, and so does this. It does not nest. With software PAN, an ASID of 0 in TTBR0
 * shows that access was disabled already.
 */
.macro	user_access_off, tmp1:req, tmp2:req
alternative_if ARM64_HAS_PAN
	mrs_s	\tmp1, SYS_PSTATE_PAN
	str	\tmp1, [sp, #S_UACCESS]
	SET_PSTATE_PAN(1)
alternative_else_nop_endif
#ifdef CONFIG_ARM64_SW_TTBR0_PAN
alternative_if ARM64_HAS_PAN
	b	.Loff\@
alternative_else_nop_endif
	mrs	\tmp1, ttbr0_el1
	and	\tmp1, \tmp1, #TTBRx_EL1_ASID_MASK
	str	\tmp1, [sp, #S_UACCESS]
	cbz	\tmp1, .Loff\@
	save_and_disable_irq \tmp2
	__uaccess_ttbr0_disable \tmp1
	restore_irq \tmp2
.Loff\@:
#endif
.endm

/*
 * Handlers run with tag checks on, as C code may rely on them. The task may be preempted at the
 * end of the callback, and must not pass TCO on to the next task. TCO is saved in a member of
 * struct pt_regs that only exceptions from EL0 use.
 */
#define S_TCO		S_SYSCALLNO
#define SYS_PSTATE_TCO	sys_reg(3, 3, 4, 2, 7)

.macro	tag_checks_on, xtmp:req, wtmp:req
#ifdef CONFIG_ARM64_MTE
alternative_if ARM64_MTE
	mrs_s	\xtmp, SYS_PSTATE_TCO
	str	\wtmp, [sp, #S_TCO]
	SET_PSTATE_TCO(0)
alternative_else_nop_endif
#endif
.endm

.macro	tag_checks_restore, xtmp:req, wtmp:req
#ifdef CONFIG_ARM64_MTE
alternative_if ARM64_MTE
	ldr	\wtmp, [sp, #S_TCO]
	msr_s	SYS_PSTATE_TCO, \xtmp
alternative_else_nop_endif
#endif
.endm

/* The task may have been given a new ASID, so TTBR0 is that of its thread_info. */
.macro	user_access_restore, tmp1:req, tmp2:req, tmp3:req
alternative_if ARM64_HAS_PAN
	ldr	\tmp1, [sp, #S_UACCESS]
	cbnz	\tmp1, .Lpan\@
	SET_PSTATE_PAN(0)
.Lpan\@:
alternative_else_nop_endif
#ifdef CONFIG_ARM64_SW_TTBR0_PAN
alternative_if ARM64_HAS_PAN
	b	.Lttbr\@
alternative_else_nop_endif
	ldr	\tmp1, [sp, #S_UACCESS]
	cbz	\tmp1, .Lttbr\@
	save_and_disable_irq \tmp3
	__uaccess_ttbr0_enable \tmp1, \tmp2
	restore_irq \tmp3
.Lttbr\@:
#endif
.endm

#endif /* _ARM64_KERNEL_PROBES_REGS_H */
