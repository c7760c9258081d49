/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The return trampoline of x86: probed functions return to it instead of to their
 * caller. It saves the registers and calls the core.
 */

#include <linux/linkage.h>
#include <linux/objtool.h>
#include <linux/stringify.h>

#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include <asm/unwind_hints.h>

#include "regs.h"

	.text

/*
 * RET has just popped the address of the trampoline. Push it again: until the core
 * stores the real return address there, the slot tells unwinders to look it up. A
 * struct pt_regs with the state after the return follows below the slot.
 *
 * The function may return to code between STAC and CLAC. Handlers are C code and
 * must not inherit the access to user memory; POPF restores it for the caller.
 * objtool expects CLAC only after STAC.
 */
SYM_START(__kretprobe_trampoline, SYM_L_GLOBAL, SYM_F_ALIGN)
	ANNOTATE_NOENDBR	/* only RET gets here */
	push	$__kretprobe_trampoline
	UNWIND_HINT_FUNC
	PUSH_PROGRAM_STATE above=__ASM_SEL(4, 8)
	push	$__kretprobe_trampoline
	PUSH_REST_OF_REGS
	ALTERNATIVE "", __stringify(ANNOTATE_IGNORE_ALTERNATIVE; clac), X86_FEATURE_SMAP
	mov	%_ASM_SP, %__ASM_SEL_RAW(eax, rdi)
	call	kretprobe_native_handler
	POP_GENERAL_REGS
	POP_PROGRAM_STATE
	RET
SYM_FUNC_END(__kretprobe_trampoline)
_ASM_NOKPROBE(__kretprobe_trampoline)

/*
 * The trampoline sets up no frame of its own: the frame pointer refers to the saved
 * registers, and through them to the caller.
 */
#ifdef CONFIG_FRAME_POINTER
STACK_FRAME_NON_STANDARD __kretprobe_trampoline
#endif
