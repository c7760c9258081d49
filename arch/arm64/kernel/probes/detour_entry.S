/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all detours of arm64 have in common. A detour itself, which optimize.c writes, makes
 * room for a struct pt_regs, saves x0, x1, x29 and x30, loads the probe into x0, and calls
 * this. After that it restores x30, x0 and x1, and executes the instruction. x29 is restored
 * here, so that the frame record is never seen from within the detour, whose addresses
 * already stand for the probe.
 */

#include <linux/linkage.h>

#include <asm/brk-imm.h>
#include <asm/stacktrace/frame.h>

#include "detour.h"
#include "regs.h"

/* What optimize.c copies to each detour, before the call and after it. */
	.section .rodata, "a"
	.balign	4
SYM_DATA_START(kprobe_detour_enter)
	push_first_regs
	stp	x29, x30, [sp, #S_FP]
SYM_INNER_LABEL(kprobe_detour_leave, SYM_L_GLOBAL)
	ldr	x30, [sp, #S_LR]
	pop_first_regs
SYM_INNER_LABEL(kprobe_detour_leave_end, SYM_L_GLOBAL)
SYM_DATA_END(kprobe_detour_enter)

	/* NOKPROBE() would end at the next symbol. */
	.section .kprobes.text, "ax"

/* From a detour that is too far away for BL. */
.macro	FAR_ENTRY name:req, near:req
SYM_CODE_START(\name)
	bti	c
SYM_INNER_LABEL(\near, SYM_L_GLOBAL)
.endm

/*
 * As at the entry of an exception: a metadata frame record refers unwinders to the registers, in
 * which pc is the probed address. Traces past it are not reliable, since x30 may still hold
 * a return address that is in no frame record.
 */
.macro	make_record, tmp1:req, tmp2:req
	ldr	\tmp1, [x0, #OPTPROBE_ADDR]
	add	\tmp2, sp, #PT_REGS_SIZE
	stp	\tmp2, \tmp1, [sp, #S_SP]		// and the probed address in S_PC
	mov	\tmp1, #FRAME_META_TYPE_PT_REGS
	str	\tmp1, [sp, #S_STACKFRAME_TYPE]
	stp	xzr, xzr, [sp, #S_STACKFRAME]
	add	x29, sp, #S_STACKFRAME
.endm

FAR_ENTRY kprobe_detour_far, kprobe_detour_near
	save_most_regs
	make_record x1, x2
SYM_INNER_LABEL(kprobe_detour_framed, SYM_L_GLOBAL)
	mrs	x2, nzcv
.Lcomplete:
	pstate_from_nzcv x2, x3
	stp	x2, x30, [sp, #S_PSTATE]	// and the address in the detour in orig_x0
	save_pmr x2, w2
	tag_checks_on x1, w1
	user_access_off x1, x2

	mov	x1, sp
	bl	kprobe_detour_callback

	/* After preemption is on again: the task may have been given a new ASID. */
	user_access_restore x1, x2, x3
	tag_checks_restore x1, w1
	cbnz	w0, .Lleave
	ldp	x1, x30, [sp, #S_PSTATE]
	msr	nzcv, x1
	restore_most_regs
	ldr	x29, [sp, #S_FP]
SYM_INNER_LABEL(kprobe_detour_restored, SYM_L_GLOBAL)
	ret

/*
 * A handler has redirected execution. If the target is the caller, its address is in x30.
 * Otherwise, interrupts are masked, and the handler of the BRK reads a per-CPU variable.
 */
.Lleave:
	ldr	x1, [sp, #S_PSTATE]
	cmp	w0, #KPROBE_DETOUR_RETURN
	b.ne	.Lredirect
	msr	nzcv, x1
	restore_most_regs
	ldp	x29, x30, [sp, #S_FP]
SYM_INNER_LABEL(kprobe_detour_unframed, SYM_L_GLOBAL)
	pop_first_regs
	ret
SYM_INNER_LABEL(kprobe_detour_end, SYM_L_GLOBAL)

.Lredirect:
	msr	nzcv, x1
	restore_most_regs
	ldp	x29, x30, [sp, #S_FP]
	pop_first_regs
SYM_INNER_LABEL(kprobe_detour_brk, SYM_L_GLOBAL)
	brk	#KPROBES_BRK_SS_IMM
SYM_CODE_END(kprobe_detour_far)

/*
 * At the entry of a function that has only a return probe: save what C code may change. If
 * that is not enough, save the rest as well, and call the handlers.
 *
 * At the entry, x30 holds the return address. So x29 and x30, where the detour has saved them,
 * are a frame record of the caller. The record before it, with the probed address, is where the
 * other registers would be saved.
 */
#define S_ENTRY_RECORD	S_X20

FAR_ENTRY kretprobe_detour_far, kretprobe_detour_near
	save_caller_regs
	ldr	x2, [x0, #OPTPROBE_ADDR]
	add	x1, sp, #S_FP
	stp	x1, x2, [sp, #S_ENTRY_RECORD]
	add	x29, sp, #S_ENTRY_RECORD
SYM_INNER_LABEL(kretprobe_detour_framed, SYM_L_GLOBAL)
	mrs	x2, nzcv
	stp	x2, x30, [sp, #S_PSTATE]	// and the address in the detour in orig_x0
	tag_checks_on x2, w2
	user_access_off x2, x3
	bl	kretprobe_native_entry
	/* It may have been preempted at its end. */
	user_access_restore x1, x2, x3
	tag_checks_restore x1, w1
	ldp	x2, x30, [sp, #S_PSTATE]
	cbnz	x0, .Lincomplete
	msr	nzcv, x2
	restore_caller_regs
	ldr	x29, [sp, #S_FP]
SYM_INNER_LABEL(kretprobe_detour_restored, SYM_L_GLOBAL)
	ret

.Lincomplete:
	make_record x1, x3
	save_callee_regs
	b	.Lcomplete
SYM_CODE_END(kretprobe_detour_far)
