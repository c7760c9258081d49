/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The return trampoline of arm64: probed functions return to it instead of to their
 * caller. It saves the registers and calls the core.
 */

#include <linux/linkage.h>

#include "regs.h"

	/* NOKPROBE() would end at the next symbol. */
	.section .kprobes.text, "ax"

/*
 * Entered by RET, so it needs no landing pad. First comes a frame record with the address of
 * the trampoline, which unwinders look up. Until the record is complete, they treat any
 * address here as the start of the trampoline. After x29 has been restored, they take the
 * return address from x30 of the interrupted code.
 */
SYM_CODE_START(__kretprobe_trampoline)
	push_first_regs
	adr	x0, __kretprobe_trampoline
	stp	x29, x0, [sp, #S_FP]
	stp	x29, x0, [sp, #S_STACKFRAME]
	add	x29, sp, #S_STACKFRAME
SYM_INNER_LABEL(kretprobe_trampoline_framed, SYM_L_GLOBAL)
	save_most_regs
	add	x0, sp, #PT_REGS_SIZE
	str	x0, [sp, #S_SP]
	mrs	x0, nzcv
	pstate_from_nzcv x0, x1
	str	x0, [sp, #S_PSTATE]
	save_pmr x0, w0
	tag_checks_on x0, w0
	user_access_off x0, x1

	mov	x0, sp
	bl	kretprobe_native_handler

	user_access_restore x0, x1, x2
	tag_checks_restore x0, w0
	ldr	x0, [sp, #S_PSTATE]
	msr	nzcv, x0
	restore_most_regs
	ldp	x29, x30, [sp, #S_FP]
SYM_INNER_LABEL(kretprobe_trampoline_unframed, SYM_L_GLOBAL)
	pop_first_regs
	ret
SYM_INNER_LABEL(kretprobe_trampoline_end, SYM_L_GLOBAL)
SYM_CODE_END(__kretprobe_trampoline)
