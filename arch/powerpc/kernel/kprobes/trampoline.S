/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The return trampolines of powerpc: hooked functions return to one of them instead of to
 * their caller. It saves the registers and calls the core of return probes, or rethook.
 * kprobe_ftrace_redirected() is no return trampoline: it enters the function to which a handler
 * at an ftrace site redirects.
 */

#include <linux/linkage.h>

#include "regs.h"

	/* NOKPROBE() would end at the next symbol. */
	.section .kprobes.text, "ax"

/* The slot for LR in the frame of the caller. */
#define CALLER_SLOT	(INT_FRAME_SIZE + LRSAVE)

/*
 * Functions return by blr, so LR is the address of the trampoline. Store it in the caller's LR save
 * slot first, since a leaf function has not done so: that is where unwinders look until the handler
 * has stored the real address there and in regs->link. If the function is a helper that compilers
 * call before the caller has a frame of its own, such as _savegpr0_31(), the slot holds the return
 * address of the caller. So what was there is put back.
 *
 * Translation is on, because no function is hooked without it, and those that switch it off are
 * refused.
 */
.macro	return_trampoline handler:req
	PPC_STLU r1, -INT_FRAME_SIZE(r1)
	SAVE_GPR(0, r1)
	PPC_LL	r0, CALLER_SLOT(r1)
	PPC_STL	r0, _DAR(r1)
	mflr	r0
	PPC_STL	r0, CALLER_SLOT(r1)
	PPC_STL	r0, _LINK(r1)
	save_most_regs
	save_special_regs
	describe_regs
	load_kernel_regs

	addi	r3, r1, STACK_INT_FRAME_REGS
	bl	CFUNC(\handler)

	PPC_LL	r0, _LINK(r1)
	mtlr	r0
	restore_special_regs
	restore_most_regs
	PPC_LL	r0, _DAR(r1)
	PPC_STL	r0, CALLER_SLOT(r1)
	REST_GPR(0, r1)
	addi	r1, r1, INT_FRAME_SIZE
	blr
.endm

#if defined(CONFIG_PPC_FTRACE_OUT_OF_LINE) && !defined(CONFIG_LIVEPATCH_64)
/* From an ftrace site to the address in r12, with the return address in r0. */
SYM_CODE_START(kprobe_ftrace_redirected)
	mtlr	r0
	mtctr	r12
	bctr
SYM_CODE_END(kprobe_ftrace_redirected)
#endif

#ifdef CONFIG_KRETPROBE_NATIVE
SYM_CODE_START(__kretprobe_trampoline)
	return_trampoline kretprobe_native_handler
SYM_INNER_LABEL(kretprobe_trampoline_end, SYM_L_GLOBAL)
SYM_CODE_END(__kretprobe_trampoline)
#endif

#ifdef CONFIG_RETHOOK
SYM_CODE_START(arch_rethook_trampoline)
	return_trampoline arch_rethook_trampoline_callback
SYM_CODE_END(arch_rethook_trampoline)
#endif
